// SPDX-License-Identifier: MIT
// The search for the blocks to compute again. What a set of blocks needs is bounded from below by sums over blocks: in
// the region of block k, everything that the plan with all blocks computed again has live there, and the insides of the
// blocks before k that are kept. Sets are tried in the order of their cost, and planned only when the bound allows them.
#include "compile/budget.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_TRIED_ALL = 12, MAX_PLANS = 64 };

// One block, by its number in the net's order.
struct choice {
	bool is_free;       // it has an inside
	uint64_t inside, live; // bytes: kept for backward; most that is live in its region when nothing is kept
	double cost;           // of computing it again
};
struct search {
	struct choice *choices;
	int32_t num, num_free;
	uint64_t fixed; // bytes of all homes but the arena
	uint64_t budget;
	double cost; // of a step that keeps everything
};

static double op_cost(const struct pfld_compiled *compiled, const struct pfld_op *op)
{
	return compiled->device->backend->cost(compiled->device->state, op, compiled->batch);
}

static double total_cost(const struct pfld_compiled *compiled)
{
	double cost = 0;
	for (size_t i = 0; i < compiled->emit.num_ops; i++) cost += op_cost(compiled, &compiled->emit.ops[i]);
	return cost;
}

// The block that an op belongs to; what belongs to no layer, as the loss does, comes last.
static int32_t block_of(const struct pfld_compiled *compiled, const struct pfld_op *op)
{
	int32_t block = op->layer < 0 ? -1 : compiled->blocks.layer_block[op->layer];
	return block < 0 ? compiled->blocks.num - 1 : block;
}

// Bytes live at each op.
static enum pfld_status find_live(const struct pfld_compiled *compiled, int64_t **live, struct pfld_error *error)
{
	const struct pfld_emit *emit = &compiled->emit;
	size_t alignment = compiled->device->limits.alignment_bytes;
	int64_t *change = pfld_calloc(emit->num_ops + 2, sizeof *change);
	if (!change) return pfld_fail_memory(error, emit->num_ops * sizeof *change, "planning");
	for (size_t i = 0; i < emit->num_tensors; i++) {
		const struct pfld_emit_tensor *tensor = &emit->tensors[i];
		if (tensor->persistent || tensor->last_op < 0) continue;
		change[tensor->first_op] += (int64_t)pfld_align(tensor->bytes, alignment);
		change[tensor->last_op + 1] -= (int64_t)pfld_align(tensor->bytes, alignment);
	}
	for (size_t i = 1; i <= emit->num_ops; i++) change[i] += change[i - 1];
	*live = change;
	return PFLD_OK;
}

// What is kept of a block beyond its region, in the plan that keeps everything.
static void find_insides(const struct pfld_compiled *kept, struct search *search)
{
	const struct pfld_emit *emit = &kept->emit;
	for (int32_t i = 0; i < kept->blocks.num_tensors; i++) {
		const struct pfld_emit_tensor *tensor = &emit->tensors[i];
		int32_t layer = kept->blocks.defined[i], block = layer < 0 ? -1 : kept->blocks.layer_block[layer];
		if (block < 0 || tensor->persistent || i == kept->blocks.blocks[block].cut) continue;
		if (tensor->last_op >= kept->num_loss)
			search->choices[block].inside += pfld_align(tensor->bytes, kept->device->limits.alignment_bytes);
	}
}

static enum pfld_status measure(const struct pfld_compiled *kept, const struct pfld_compiled *again, struct search *search,
                                struct pfld_error *error)
{
	int64_t *live = NULL;
	enum pfld_status status = find_live(again, &live, error);
	if (status != PFLD_OK) return status;
	for (size_t i = 0; i < again->emit.num_ops; i++) {
		const struct pfld_op *op = &again->emit.ops[i];
		struct choice *choice = &search->choices[block_of(again, op)];
		choice->live = PFLD_MAX(choice->live, (uint64_t)live[i]);
		if (op->again) choice->cost += op_cost(again, op);
	}
	free(live);
	find_insides(kept, search);
	search->fixed = pfld_compiled_bytes(again) - again->home_bytes[PFLD_HOME_ARENA];
	search->cost = total_cost(kept);
	for (int32_t i = 0; i < search->num; i++) {
		struct choice *choice = &search->choices[i];
		choice->is_free = kept->blocks.blocks[i].has_inside && choice->inside > 0 && choice->cost > 0;
		search->num_free += choice->is_free;
	}
	return PFLD_OK;
}

// ---- sets of blocks ----

// by block: computed again. What is not free is kept, as far as the set goes.
static bool may_fit(const struct search *search, const bool *again)
{
	uint64_t kept = search->fixed;
	for (int32_t i = 0; i < search->num; i++) {
		const struct choice *choice = &search->choices[i];
		if (kept + choice->live > search->budget) return false;
		if (choice->is_free && !again[i]) kept += choice->inside;
	}
	return true;
}

static enum pfld_status compile_set(struct pfld_compiled *fresh, const struct pfld_compiled *like,
                                    const struct pfld_program_options *options, const bool *again,
                                    struct pfld_error *error)
{
	return pfld_compile_once(fresh, like->device, like->net, options, again, error);
}

// The set planned: if it keeps the budget, *best becomes it. `over`: by how much it does not.
static enum pfld_status try_set(struct pfld_compiled *best, const struct pfld_program_options *options,
                                const struct search *search, const bool *again, uint64_t *over, struct pfld_error *error)
{
	struct pfld_compiled fresh;
	enum pfld_status status = compile_set(&fresh, best, options, again, error);
	if (status != PFLD_OK) return status;
	uint64_t bytes = pfld_compiled_bytes(&fresh);
	*over = bytes > search->budget ? bytes - search->budget : 0;
	if (*over) {
		pfld_compiled_finish(&fresh);
		return PFLD_OK;
	}
	pfld_compiled_finish(best);
	*best = fresh;
	return PFLD_OK;
}

struct ranked {
	uint32_t mask; // of the free blocks, those computed again
	double cost;
};

static int cheaper_first(const void *a, const void *b)
{
	const struct ranked *x = a, *y = b;
	if (x->cost != y->cost) return x->cost < y->cost ? -1 : 1;
	return x->mask < y->mask ? -1 : x->mask > y->mask;
}

static void read_mask(const struct search *search, uint32_t mask, bool *again)
{
	for (int32_t i = 0, bit = 0; i < search->num; i++)
		again[i] = search->choices[i].is_free && (mask >> bit++ & 1);
}

// Few blocks: all sets, cheapest first.
static enum pfld_status search_all(struct pfld_compiled *best, const struct pfld_program_options *options,
                                   const struct search *search, bool *again, bool *found, struct pfld_error *error)
{
	uint32_t num_sets = 1u << search->num_free;
	struct ranked *sets = pfld_calloc(num_sets, sizeof *sets);
	if (!sets) return pfld_fail_memory(error, num_sets * sizeof *sets, "planning");
	for (uint32_t mask = 0; mask < num_sets; mask++) {
		sets[mask].mask = mask;
		for (int32_t i = 0, bit = 0; i < search->num; i++)
			if (search->choices[i].is_free && (mask >> bit++ & 1)) sets[mask].cost += search->choices[i].cost;
	}
	qsort(sets, num_sets, sizeof *sets, cheaper_first);
	enum pfld_status status = PFLD_OK;
	for (uint32_t i = 0; status == PFLD_OK && !*found && i < num_sets; i++) {
		uint64_t over = 1;
		read_mask(search, sets[i].mask, again);
		if (may_fit(search, again)) status = try_set(best, options, search, again, &over, error);
		*found = status == PFLD_OK && over == 0;
	}
	free(sets);
	return status;
}

// ---- many blocks: by the bound, exactly, and planned ----

// A way to decide the blocks so far. No other has both fewer bytes and less cost.
struct way {
	uint64_t kept;
	double cost;
	int32_t before; // way of the block before
	bool again;
};
struct ways {
	struct way *ways;
	size_t num, capacity;
	size_t *first; // of each block's
};

static int fewer_bytes_first(const void *a, const void *b)
{
	const struct way *x = a, *y = b;
	if (x->kept != y->kept) return x->kept < y->kept ? -1 : 1;
	if (x->cost != y->cost) return x->cost < y->cost ? -1 : 1;
	return x->before < y->before ? -1 : x->before > y->before;
}

static bool add_way(struct ways *ways, struct way way)
{
	if (!pfld_grow(&ways->ways, &ways->capacity, ways->num + 1, sizeof *ways->ways)) return false;
	ways->ways[ways->num++] = way;
	return true;
}

// The ways of block `index` from those of the block before.
static bool extend_ways(struct ways *ways, const struct search *search, int32_t index)
{
	const struct choice *choice = &search->choices[index];
	size_t begin = index ? ways->first[index - 1] : 0, end = ways->num, first = end;
	for (size_t i = begin; i < end || (index == 0 && i == 0); i++) {
		struct way before = index ? ways->ways[i] : (struct way){.kept = search->fixed};
		if (before.kept + choice->live > search->budget) continue;
		before.before = (int32_t)i;
		before.again = false;
		struct way kept = before;
		kept.kept += choice->is_free ? choice->inside : 0;
		if (!add_way(ways, kept)) return false;
		before.again = true;
		before.cost += choice->cost;
		if (choice->is_free && !add_way(ways, before)) return false;
	}
	ways->first[index] = first;
	if (ways->num == first) return true; // nothing fits
	qsort(ways->ways + first, ways->num - first, sizeof *ways->ways, fewer_bytes_first);
	size_t kept = first;
	for (size_t i = first; i < ways->num; i++)
		if (kept == first || ways->ways[i].cost < ways->ways[kept - 1].cost) ways->ways[kept++] = ways->ways[i];
	ways->num = kept;
	return true;
}

// The cheapest set that the bound allows. False: none.
static bool cheapest(const struct search *search, struct ways *ways, bool *again, bool *out_of_memory)
{
	ways->num = 0;
	for (int32_t i = 0; i < search->num; i++)
		if (!extend_ways(ways, search, i)) {
			*out_of_memory = true;
			return false;
		}
	if (ways->num == ways->first[search->num - 1]) return false;
	size_t at = ways->num - 1; // most bytes, least cost
	for (int32_t i = search->num; i-- > 0; at = (size_t)ways->ways[at].before) again[i] = ways->ways[at].again;
	return true;
}

static enum pfld_status search_bound(struct pfld_compiled *best, const struct pfld_program_options *options,
                                     const struct search *search, bool *again, bool *found, struct pfld_error *error)
{
	struct search narrowed = *search;
	struct ways ways = {.first = pfld_calloc((size_t)search->num + 1, sizeof *ways.first)};
	bool out_of_memory = !ways.first;
	enum pfld_status status = PFLD_OK;
	for (int32_t i = 0; i < MAX_PLANS && !out_of_memory && status == PFLD_OK && !*found; i++) {
		uint64_t over = 1;
		if (!cheapest(&narrowed, &ways, again, &out_of_memory)) break;
		status = try_set(best, options, search, again, &over, error);
		*found = status == PFLD_OK && over == 0;
		// What packing leaves unused is taken off the budget of the bound.
		narrowed.budget = narrowed.budget > over ? narrowed.budget - over : 0;
	}
	free(ways.ways);
	free(ways.first);
	return out_of_memory ? pfld_fail_memory(error, (size_t)search->num * sizeof(struct way), "planning") : status;
}

// ---- both ends ----

static enum pfld_status choose(struct pfld_compiled *compiled, struct pfld_compiled *smallest,
                               const struct pfld_program_options *options, bool *again, struct pfld_error *error)
{
	struct search search = {.num = compiled->blocks.num, .budget = options->memory_budget_bytes};
	search.choices = pfld_calloc((size_t)search.num, sizeof *search.choices);
	if (!search.choices) return pfld_fail_memory(error, (size_t)search.num * sizeof *search.choices, "planning");
	enum pfld_status status = measure(compiled, smallest, &search, error);
	bool found = false;
	if (status == PFLD_OK && search.num_free <= MAX_TRIED_ALL)
		status = search_all(compiled, options, &search, again, &found, error);
	else if (status == PFLD_OK)
		status = search_bound(compiled, options, &search, again, &found, error);
	if (status == PFLD_OK && !found) {
		struct pfld_compiled kept = *compiled;
		*compiled = *smallest;
		*smallest = kept;
	}
	if (status == PFLD_OK) compiled->time_ratio = total_cost(compiled) / search.cost;
	free(search.choices);
	return status;
}

enum pfld_status pfld_keep_budget(struct pfld_compiled *compiled, const struct pfld_program_options *options,
                                  struct pfld_error *error)
{
	struct pfld_compiled smallest;
	bool *again = pfld_calloc((size_t)compiled->blocks.num + 1, sizeof *again);
	if (!again) return pfld_fail_memory(error, (size_t)compiled->blocks.num, "planning");
	for (int32_t i = 0; i < compiled->blocks.num; i++) again[i] = compiled->blocks.blocks[i].has_inside;
	enum pfld_status status = compile_set(&smallest, compiled, options, again, error);
	if (status == PFLD_OK) {
		uint64_t smallest_bytes = PFLD_MIN(pfld_compiled_bytes(&smallest), pfld_compiled_bytes(compiled));
		uint64_t budget = options->memory_budget_bytes;
		compiled->time_ratio = 1;
		if (budget && budget < pfld_compiled_bytes(compiled)) status = choose(compiled, &smallest, options, again, error);
		if (status == PFLD_OK) {
			compiled->smallest_bytes = smallest_bytes;
			compiled->fits = !budget || pfld_compiled_bytes(compiled) <= budget;
		}
		pfld_compiled_finish(&smallest);
	}
	free(again);
	return status;
}
