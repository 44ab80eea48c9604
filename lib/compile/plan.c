// SPDX-License-Identifier: MIT
// The planner (lifetimes to offsets) and the plan as something to read. Takes no device memory.
#include "compile/plan.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct plan_item {
	char *name;
	char *layer;
	struct pfld_plan_tensor tensor; // its strings point at the two above
};

struct pfld_plan {
	struct plan_item *items;
	char **op_names;
	size_t num_items, items_capacity, num_ops, ops_capacity;
	size_t arena_bytes;
	bool has_parameters;
	uint64_t spared_bytes; // that could be computed again
	double time_ratio;
	struct pfld_plan_summary summary;
};

// ---- layout ----

static bool in_arena(const struct pfld_emit_tensor *tensor)
{
	return !tensor->persistent && tensor->last_op >= 0;
}

struct sort_item {
	size_t bytes;
	int32_t first_op, index;
};

static int larger_first(const void *a, const void *b)
{
	const struct sort_item *x = a, *y = b;
	if (x->bytes != y->bytes) return x->bytes > y->bytes ? -1 : 1;
	if (x->first_op != y->first_op) return x->first_op < y->first_op ? -1 : 1;
	return x->index < y->index ? -1 : 1;
}

static int lower_first(const void *a, const void *b)
{
	const struct pfld_emit_tensor *const *x = a, *const *y = b;
	if ((*x)->offset_bytes != (*y)->offset_bytes) return (*x)->offset_bytes < (*y)->offset_bytes ? -1 : 1;
	return 0;
}

// The lowest offset where `tensor` meets none of the placed ones that live with it; `near` is scratch.
static size_t lowest_gap(const struct pfld_emit_tensor *tensor, const struct pfld_emit_tensor **placed, size_t num_placed,
                         const struct pfld_emit_tensor **near, size_t alignment)
{
	size_t num_near = 0, offset = 0;
	for (size_t i = 0; i < num_placed; i++)
		if (placed[i]->first_op <= tensor->last_op && tensor->first_op <= placed[i]->last_op) near[num_near++] = placed[i];
	qsort(near, num_near, sizeof *near, lower_first);
	size_t bytes = pfld_align(tensor->bytes, alignment);
	for (size_t i = 0; i < num_near; i++) {
		if (near[i]->offset_bytes >= offset + bytes) break;
		offset = PFLD_MAX(offset, near[i]->offset_bytes + pfld_align(near[i]->bytes, alignment));
	}
	return offset;
}

enum pfld_status pfld_plan_layout(struct pfld_emit_tensor *tensors, size_t num_tensors, size_t alignment,
                                  size_t *arena_bytes, struct pfld_error *error)
{
	struct sort_item *order = pfld_calloc(num_tensors + 1, sizeof *order);
	const struct pfld_emit_tensor **placed = pfld_calloc(2 * num_tensors + 1, sizeof *placed);
	if (!order || !placed) {
		free(order);
		free(placed);
		return pfld_fail_memory(error, num_tensors * sizeof *order, "planning");
	}
	size_t num = 0, end = 0;
	for (size_t i = 0; i < num_tensors; i++)
		if (in_arena(&tensors[i])) order[num++] = (struct sort_item){tensors[i].bytes, tensors[i].first_op, (int32_t)i};
	qsort(order, num, sizeof *order, larger_first);
	for (size_t i = 0; i < num; i++) {
		struct pfld_emit_tensor *tensor = &tensors[order[i].index];
		tensor->offset_bytes = lowest_gap(tensor, placed, i, placed + num_tensors, alignment);
		placed[i] = tensor;
		end = PFLD_MAX(end, tensor->offset_bytes + pfld_align(tensor->bytes, alignment));
	}
	free(order);
	free(placed);
	*arena_bytes = end;
	return PFLD_OK;
}

// ---- the plan ----

struct pfld_plan *pfld_plan_create_empty(void)
{
	return pfld_calloc(1, sizeof(struct pfld_plan));
}

void pfld_plan_destroy(struct pfld_plan **plan)
{
	if (!plan || !*plan) return;
	for (size_t i = 0; i < (*plan)->num_items; i++) {
		free((*plan)->items[i].name);
		free((*plan)->items[i].layer);
	}
	for (size_t i = 0; i < (*plan)->num_ops; i++) free((*plan)->op_names[i]);
	free((*plan)->items);
	free((*plan)->op_names);
	free(*plan);
	*plan = NULL;
}

static enum pfld_status add_item(struct pfld_plan *plan, char *name, char *layer, const struct pfld_plan_tensor *tensor,
                                 struct pfld_error *error)
{
	if (!name || !layer || !pfld_grow(&plan->items, &plan->items_capacity, plan->num_items + 1, sizeof *plan->items)) {
		free(name);
		free(layer);
		return pfld_fail_memory(error, sizeof *plan->items, "the plan");
	}
	plan->items[plan->num_items++] = (struct plan_item){name, layer, *tensor};
	return PFLD_OK;
}

enum pfld_status pfld_plan_add_block(struct pfld_plan *plan, const char *name, enum pfld_memory_class memory_class,
                                     size_t bytes, struct pfld_error *error)
{
	struct pfld_plan_tensor tensor = {.memory_class = memory_class, .persistent = true, .bytes = bytes, .last_op = INT32_MAX};
	return add_item(plan, pfld_strdup(name), pfld_strdup(""), &tensor, error);
}

static enum pfld_status add_tensor(struct pfld_plan *plan, const struct pfld_compiled *compiled, size_t index,
                                   int32_t op_base, struct pfld_error *error)
{
	const struct pfld_emit_tensor *t = &compiled->emit.tensors[index];
	enum pfld_home home = compiled->homes[index];
	if (home == PFLD_HOME_ARENA ? t->last_op < 0 : home == PFLD_HOME_WEIGHTS && plan->has_parameters) return PFLD_OK;
	const char *layer = t->layer >= 0 ? compiled->net->layers[t->layer].name : "";
	struct pfld_plan_tensor tensor = {
	    .memory_class = t->memory_class,
	    .persistent = t->persistent,
	    .region = t->persistent ? 0 : 1,
	    .offset_bytes = t->offset_bytes,
	    .bytes = pfld_align(t->bytes, compiled->device->limits.alignment_bytes),
	    .first_op = t->persistent ? 0 : op_base + t->first_op,
	    .last_op = t->persistent ? INT32_MAX : op_base + t->last_op,
	};
	char *name = t->param >= 0 ? pfld_strprintf("%s%s", compiled->net->params[t->param].info.name,
	                                            t->memory_class == PFLD_MEMORY_GRADIENTS ? " gradient" : "")
	             : *layer      ? pfld_strprintf("%s %s", layer, t->role)
	                           : pfld_strdup(t->role);
	return add_item(plan, name, pfld_strdup(layer), &tensor, error);
}

static uint64_t compiled_bytes(const struct pfld_compiled *compiled)
{
	uint64_t bytes = 0;
	for (int32_t i = 0; i < PFLD_NUM_HOMES; i++) bytes += compiled->home_bytes[i];
	return bytes;
}

enum pfld_status pfld_plan_add_program(struct pfld_plan *plan, const struct pfld_compiled *compiled, const char *name,
                                       struct pfld_error *error)
{
	int32_t op_base = (int32_t)plan->num_ops;
	for (size_t i = 0; i < compiled->emit.num_ops; i++) {
		const struct pfld_op *op = &compiled->emit.ops[i];
		const char *layer = op->layer >= 0 ? compiled->net->layers[op->layer].name : "";
		char *text = pfld_strprintf("%s %s%s%s", name, pfld_op_name(op->kind), *layer ? " " : "", layer);
		if (!text || !pfld_grow(&plan->op_names, &plan->ops_capacity, plan->num_ops + 1, sizeof *plan->op_names)) {
			free(text);
			return pfld_fail_memory(error, sizeof *plan->op_names, "the plan");
		}
		plan->op_names[plan->num_ops++] = text;
	}
	for (size_t i = 0; i < compiled->emit.num_tensors; i++) {
		enum pfld_status status = add_tensor(plan, compiled, i, op_base, error);
		if (status != PFLD_OK) return status;
	}
	plan->has_parameters = true;
	if (compiled->mode == PFLD_TRAIN) {
		plan->spared_bytes = compiled_bytes(compiled) - compiled->smallest_bytes;
		plan->time_ratio = compiled->time_ratio;
	}
	plan->arena_bytes = PFLD_MAX(plan->arena_bytes, compiled->home_bytes[PFLD_HOME_ARENA]);
	plan->summary.host_bytes += compiled->emit.ops_capacity * sizeof(struct pfld_op) +
	                            compiled->emit.tensors_capacity * sizeof(struct pfld_emit_tensor);
	return PFLD_OK;
}

void pfld_plan_set_budget(struct pfld_plan *plan, uint64_t budget_bytes)
{
	plan->summary.budget_bytes = budget_bytes;
}

enum pfld_status pfld_plan_close(struct pfld_plan *plan, struct pfld_error *error)
{
	// Bytes live at each op, by adding where tensors begin and taking away behind their end.
	int64_t *change = pfld_calloc(plan->num_ops + 2, sizeof *change);
	if (!change) return pfld_fail_memory(error, plan->num_ops * sizeof *change, "the plan");
	struct pfld_plan_summary *s = &plan->summary;
	uint64_t persistent = 0;
	for (size_t i = 0; i < plan->num_items; i++) {
		const struct pfld_plan_tensor *t = &plan->items[i].tensor;
		if (t->persistent) {
			persistent += t->bytes;
			s->by_class[t->memory_class] += t->bytes;
		} else {
			change[t->first_op] += (int64_t)t->bytes;
			change[t->last_op + 1] -= (int64_t)t->bytes;
		}
	}
	int64_t live = 0, most = 0;
	int32_t peak_op = 0;
	for (size_t i = 0; i < plan->num_ops; i++) {
		live += change[i];
		if (live > most) {
			most = live;
			peak_op = (int32_t)i;
		}
	}
	free(change);
	for (size_t i = 0; i < plan->num_items; i++) {
		const struct pfld_plan_tensor *t = &plan->items[i].tensor;
		if (!t->persistent && t->first_op <= peak_op && peak_op <= t->last_op) s->by_class[t->memory_class] += t->bytes;
	}
	// What packing leaves unused between live tensors belongs to the activations that it is between.
	s->by_class[PFLD_MEMORY_ACTIVATIONS] += plan->arena_bytes - (uint64_t)most;
	s->arena_bytes = plan->arena_bytes;
	s->planned_peak_bytes = persistent + plan->arena_bytes;
	s->lower_bound_bytes = persistent + (uint64_t)most;
	s->host_bytes += plan->items_capacity * sizeof *plan->items;
	s->smallest_budget_bytes = s->planned_peak_bytes - plan->spared_bytes;
	s->predicted_time_ratio = plan->time_ratio > 0 ? plan->time_ratio : 1;
	s->num_ops = (int32_t)plan->num_ops;
	s->num_tensors = (int32_t)plan->num_items;
	return PFLD_OK;
}

void pfld_plan_summary(const struct pfld_plan *plan, struct pfld_plan_summary *summary)
{
	*summary = plan->summary;
}

void pfld_plan_tensor(const struct pfld_plan *plan, int32_t index, struct pfld_plan_tensor *tensor)
{
	*tensor = plan->items[index].tensor;
	tensor->name = plan->items[index].name;
	tensor->layer = plan->items[index].layer;
	tensor->last_op = PFLD_MIN(tensor->last_op, (int32_t)plan->num_ops - 1);
}

const char *pfld_plan_op_name(const struct pfld_plan *plan, int32_t op)
{
	return plan->op_names[op];
}
