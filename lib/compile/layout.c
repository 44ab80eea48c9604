// SPDX-License-Identifier: MIT
// The planner: lifetimes to offsets, by nothing but numbers. Greedy in several orders (Pisarchyk and Lee, arXiv
// 2001.03288, for the first), of which the best is kept. Called by compile.c.
#include "compile/plan.h"

#include <stdlib.h>

struct sort_item {
	double weight;
	size_t bytes;
	int32_t first_op, index;
};

static int heavier_then_larger_first(const void *a, const void *b)
{
	const struct sort_item *x = a, *y = b;
	if (x->weight != y->weight) return x->weight > y->weight ? -1 : 1;
	if (x->bytes != y->bytes) return x->bytes > y->bytes ? -1 : 1;
	if (x->first_op != y->first_op) return x->first_op < y->first_op ? -1 : 1;
	return x->index < y->index ? -1 : 1;
}

// By size alone, which is best where most is computed again; by lifetime; what lives for more ops than so many by
// lifetime and the rest by size, which is best where all is kept; by both multiplied.
enum { NUM_ORDERS = 5 };
static double weigh(int32_t order, int32_t ops, size_t bytes)
{
	static const int32_t long_lives[NUM_ORDERS - 1] = {INT32_MAX, 0, 8, 40};
	if (order == NUM_ORDERS - 1) return (double)ops * (double)bytes;
	return ops > long_lives[order] ? ops : 0;
}

struct placed {
	size_t begin, end; // bytes
	int32_t first_op, last_op;
};

struct layout {
	struct sort_item *order;
	struct placed *placed;  // by rising begin
	int32_t *last_op;       // by place in tensors: of the tensor and all that continue it
	size_t *offsets, *best; // by place in tensors
	size_t num, alignment, piece_bytes;
};

static bool in_arena(const struct pfld_emit_tensor *tensor)
{
	return !tensor->persistent && tensor->last_op >= 0;
}

// The tensor whose memory this one lies in: itself, or the first of those that it continues.
static size_t owner_of(const struct pfld_emit_tensor *tensors, size_t index)
{
	while (tensors[index].continues >= 0) index = (size_t)tensors[index].continues;
	return index;
}

// The lowest offset where the tensor meets none of the placed ones that live with it, and no edge of a piece.
static size_t lowest_gap(const struct layout *layout, const struct placed *tensor, size_t num_placed, size_t bytes)
{
	size_t offset = 0, piece = layout->piece_bytes;
	for (size_t i = 0; i < num_placed && layout->placed[i].begin < offset + bytes; i++) {
		const struct placed *other = &layout->placed[i];
		if (other->first_op > tensor->last_op || tensor->first_op > other->last_op) continue;
		offset = PFLD_MAX(offset, other->end);
		if (bytes > piece - offset % piece) offset += piece - offset % piece;
	}
	return offset;
}

// One way of packing into layout->offsets; returns the bytes in all.
static size_t pack(struct layout *layout, const struct pfld_emit_tensor *tensors)
{
	size_t end = 0;
	qsort(layout->order, layout->num, sizeof *layout->order, heavier_then_larger_first);
	for (size_t i = 0; i < layout->num; i++) {
		int32_t index = layout->order[i].index;
		size_t bytes = pfld_align(tensors[index].bytes, layout->alignment);
		struct placed fresh = {.first_op = tensors[index].first_op, .last_op = layout->last_op[index]};
		fresh.begin = lowest_gap(layout, &fresh, i, bytes);
		fresh.end = fresh.begin + bytes;
		size_t at = i;
		for (; at > 0 && layout->placed[at - 1].begin > fresh.begin; at--) layout->placed[at] = layout->placed[at - 1];
		layout->placed[at] = fresh;
		layout->offsets[index] = fresh.begin;
		end = PFLD_MAX(end, fresh.end);
	}
	return end;
}

// Every order once; layout->best becomes the offsets of the best one, whose bytes in all are returned.
static size_t pack_best(struct layout *layout, const struct pfld_emit_tensor *tensors, size_t num_tensors)
{
	size_t least = SIZE_MAX;
	for (int32_t way = 0; way < NUM_ORDERS; way++) {
		layout->num = 0;
		for (size_t i = 0; i < num_tensors; i++) {
			const struct pfld_emit_tensor *t = &tensors[i];
			if (!in_arena(t) || t->continues >= 0) continue;
			double weight = weigh(way, layout->last_op[i] - t->first_op + 1, t->bytes);
			layout->order[layout->num++] = (struct sort_item){weight, t->bytes, t->first_op, (int32_t)i};
		}
		size_t bytes = pack(layout, tensors);
		if (bytes >= least) continue;
		least = bytes;
		size_t *swap = layout->best;
		layout->best = layout->offsets;
		layout->offsets = swap;
	}
	return least;
}

enum pfld_status pfld_plan_layout(struct pfld_emit_tensor *tensors, size_t num_tensors, size_t alignment,
								  size_t piece_bytes, size_t *arena_bytes, struct pfld_error *error)
{
	struct layout layout = {.alignment = alignment,
							.piece_bytes = piece_bytes,
							.order = pfld_calloc(num_tensors + 1, sizeof *layout.order),
							.placed = pfld_calloc(num_tensors + 1, sizeof *layout.placed),
							.last_op = pfld_calloc(num_tensors + 1, sizeof *layout.last_op),
							.offsets = pfld_calloc(num_tensors + 1, sizeof *layout.offsets),
							.best = pfld_calloc(num_tensors + 1, sizeof *layout.best)};
	enum pfld_status status = PFLD_OK;
	if (layout.order && layout.placed && layout.last_op && layout.offsets && layout.best) {
		for (size_t i = 0; i < num_tensors; i++) {
			size_t owner = owner_of(tensors, i);
			layout.last_op[owner] = PFLD_MAX(layout.last_op[owner], tensors[i].last_op);
		}
		*arena_bytes = pack_best(&layout, tensors, num_tensors);
		for (size_t i = 0; i < num_tensors; i++)
			if (in_arena(&tensors[i])) tensors[i].offset_bytes = layout.best[owner_of(tensors, i)];
	} else {
		status = pfld_fail_memory(error, num_tensors * sizeof *layout.order, "planning");
	}
	free(layout.order);
	free(layout.placed);
	free(layout.last_op);
	free(layout.offsets);
	free(layout.best);
	return status;
}
