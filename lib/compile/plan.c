// SPDX-License-Identifier: MIT
// The plan as something to read: regions, tensors, ops, and what they come to at the peak. Takes no device memory;
// offsets within programs are layout.c's. Called by program.c and the trainer.
#include "compile/plan.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_PIECES = 64 }; // of an arena; a device gives at least a 64th of its memory at once

struct plan_item {
	char *name;
	char *layer;
	struct pfld_plan_tensor tensor; // its strings point at the two above
};

struct pfld_plan {
	struct plan_item *items;
	struct pfld_plan_region *regions; // their names are the plan's own
	struct pfld_plan_layer *layers;   // their names are those of items
	char **op_names;
	size_t num_items, items_capacity, num_regions, regions_capacity, num_ops, ops_capacity;
	size_t num_layers;
	int32_t arena[MAX_PIECES], num_pieces; // regions of the arena
	int32_t parameters;                    // region, -1: not there yet
	size_t piece_bytes;
	uint64_t arena_bytes, smallest_arena; // smallest: with all computed again that can be
	double time_ratio;
	struct pfld_plan_summary summary;
};

struct pfld_plan *pfld_plan_create_empty(void)
{
	struct pfld_plan *plan = pfld_calloc(1, sizeof *plan);
	if (plan) {
		plan->parameters = -1;
		plan->summary.smallest_batch = 1;
	}
	return plan;
}

void pfld_plan_destroy(struct pfld_plan **plan)
{
	if (!plan || !*plan) return;
	struct pfld_plan *p = *plan;
	for (size_t i = 0; i < p->num_items; i++) {
		free(p->items[i].name);
		free(p->items[i].layer);
	}
	for (size_t i = 0; i < p->num_regions; i++) free((char *)p->regions[i].name);
	for (size_t i = 0; i < p->num_ops; i++) free(p->op_names[i]);
	free(p->items);
	free(p->regions);
	free(p->layers);
	free(p->op_names);
	free(p);
	*plan = NULL;
}

// ---- adding ----

static enum pfld_status take_region(struct pfld_plan *plan, char *name, enum pfld_memory_class memory_class,
									size_t bytes, int32_t *region, struct pfld_error *error)
{
	if (!name || !pfld_grow(&plan->regions, &plan->regions_capacity, plan->num_regions + 1, sizeof *plan->regions)) {
		free(name);
		return pfld_fail_memory(error, sizeof *plan->regions, "the plan");
	}
	*region = (int32_t)plan->num_regions;
	plan->regions[plan->num_regions++] = (struct pfld_plan_region){name, memory_class, bytes};
	return PFLD_OK;
}

enum pfld_status pfld_plan_add_region(struct pfld_plan *plan, const char *name, enum pfld_memory_class memory_class,
									  int32_t *region, struct pfld_error *error)
{
	return take_region(plan, pfld_strdup(name), memory_class, 0, region, error);
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

enum pfld_status pfld_plan_add_block(struct pfld_plan *plan, int32_t region, const char *name, size_t bytes,
									 struct pfld_error *error)
{
	struct pfld_plan_tensor tensor = {.memory_class = plan->regions[region].memory_class,
									  .persistent = true,
									  .region = region,
									  .offset_bytes = plan->regions[region].bytes,
									  .bytes = bytes,
									  .last_op = INT32_MAX};
	enum pfld_status status = add_item(plan, pfld_strdup(name), pfld_strdup(""), &tensor, error);
	if (status == PFLD_OK) plan->regions[region].bytes += bytes;
	return status;
}

static enum pfld_status add_tensor(struct pfld_plan *plan, const struct pfld_compiled *compiled, size_t index,
								   const int32_t *regions, int32_t op_base, struct pfld_error *error)
{
	const struct pfld_emit_tensor *t = &compiled->emit.tensors[index];
	enum pfld_home home = compiled->homes[index];
	if (home == PFLD_HOME_ARENA ? t->last_op < 0 : regions[home] < 0) return PFLD_OK;
	const char *layer = t->layer >= 0 ? compiled->net->layers[t->layer].name : "";
	size_t piece = home == PFLD_HOME_ARENA ? t->offset_bytes / plan->piece_bytes : 0;
	struct pfld_plan_tensor tensor = {
		.memory_class = t->memory_class,
		.persistent = t->persistent,
		.region = home == PFLD_HOME_ARENA ? plan->arena[piece] : regions[home],
		.offset_bytes = t->offset_bytes - piece * plan->piece_bytes,
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

// As many pieces as the largest of the programs needs; all but the last are whole.
static enum pfld_status extend_arena(struct pfld_plan *plan, const struct pfld_compiled *compiled, struct pfld_error *error)
{
	size_t bytes = compiled->home_bytes[PFLD_HOME_ARENA];
	plan->piece_bytes = pfld_arena_piece_bytes(compiled->device);
	plan->arena_bytes = PFLD_MAX(plan->arena_bytes, bytes);
	for (int32_t i = 0; (uint64_t)i * plan->piece_bytes < plan->arena_bytes; i++) {
		uint64_t left = plan->arena_bytes - (uint64_t)i * plan->piece_bytes;
		if (i == MAX_PIECES)
			return pfld_fail(error, PFLD_ERR_MEMORY, "out of memory: %zu bytes are more than %d pieces of %zu, which is all that "
							 "device %s gives", bytes, MAX_PIECES, plan->piece_bytes, compiled->device->info.name);
		if (i == plan->num_pieces) {
			char *name = i ? pfld_strprintf("arena %d", (int)i + 1) : pfld_strdup("arena");
			enum pfld_status status = take_region(plan, name, PFLD_MEMORY_ACTIVATIONS, 0, &plan->arena[i], error);
			if (status != PFLD_OK) return status;
			plan->num_pieces++;
		}
		plan->regions[plan->arena[i]].bytes = PFLD_MIN(left, plan->piece_bytes);
	}
	return PFLD_OK;
}

// Where the program's tensors go, by home: parameters are one region for all programs, the others their own. -1: counted
// already, nothing there, or in the arena.
static enum pfld_status add_homes(struct pfld_plan *plan, const struct pfld_compiled *compiled, const char *name,
								  int32_t regions[PFLD_NUM_HOMES], struct pfld_error *error)
{
	static const struct {
		const char *name;
		enum pfld_memory_class memory_class;
	} homes[PFLD_NUM_HOMES] = {
		[PFLD_HOME_WEIGHTS] = {"parameters", PFLD_MEMORY_PARAMETERS},
		[PFLD_HOME_GRADIENTS] = {"gradients", PFLD_MEMORY_GRADIENTS},
		[PFLD_HOME_BATCH] = {"inputs and targets", PFLD_MEMORY_BATCH},
	};
	enum pfld_status status = PFLD_OK;
	for (int32_t home = 0; status == PFLD_OK && home < PFLD_HOME_ARENA; home++) {
		size_t bytes = compiled->home_bytes[home];
		bool shared = home == PFLD_HOME_WEIGHTS;
		regions[home] = -1;
		if (!bytes || (shared && plan->parameters >= 0)) continue;
		char *text = shared ? pfld_strdup(homes[home].name) : pfld_strprintf("%s of %s", homes[home].name, name);
		status = take_region(plan, text, homes[home].memory_class, bytes, &regions[home], error);
	}
	if (status != PFLD_OK) return status;
	if (regions[PFLD_HOME_WEIGHTS] >= 0) plan->parameters = regions[PFLD_HOME_WEIGHTS];
	return extend_arena(plan, compiled, error);
}

enum pfld_status pfld_plan_add_program(struct pfld_plan *plan, const struct pfld_compiled *compiled, const char *name,
									   struct pfld_error *error)
{
	int32_t op_base = (int32_t)plan->num_ops, regions[PFLD_NUM_HOMES];
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
	enum pfld_status status = add_homes(plan, compiled, name, regions, error);
	for (size_t i = 0; status == PFLD_OK && i < compiled->emit.num_tensors; i++)
		status = add_tensor(plan, compiled, i, regions, op_base, error);
	if (status != PFLD_OK) return status;
	uint64_t bytes = pfld_compiled_bytes(compiled), spared = bytes - PFLD_MIN(bytes, compiled->smallest_bytes);
	plan->smallest_arena = PFLD_MAX(plan->smallest_arena, compiled->home_bytes[PFLD_HOME_ARENA] - spared);
	if (compiled->mode == PFLD_TRAIN) plan->time_ratio = compiled->time_ratio;
	if (compiled->uses_batch_statistics) plan->summary.smallest_batch = 2;
	plan->summary.host_bytes += compiled->emit.ops_capacity * sizeof(struct pfld_op) +
								compiled->emit.tensors_capacity * sizeof(struct pfld_emit_tensor);
	return PFLD_OK;
}

void pfld_plan_set_budget(struct pfld_plan *plan, uint64_t budget_bytes)
{
	plan->summary.budget_bytes = budget_bytes;
}

// ---- sums ----

static bool lives_at(const struct pfld_plan_tensor *tensor, int32_t op)
{
	return tensor->first_op <= op && op <= tensor->last_op;
}

// The first op at which the most is live, and how much that is.
static enum pfld_status find_peak(const struct pfld_plan *plan, int32_t *peak_op, uint64_t *most,
								  struct pfld_error *error)
{
	// By adding where tensors begin and taking away behind their end.
	int64_t *change = pfld_calloc(plan->num_ops + 2, sizeof *change), live = 0;
	if (!change) return pfld_fail_memory(error, plan->num_ops * sizeof *change, "the plan");
	for (size_t i = 0; i < plan->num_items; i++) {
		const struct pfld_plan_tensor *t = &plan->items[i].tensor;
		change[t->first_op] += (int64_t)t->bytes;
		change[PFLD_MIN((size_t)t->last_op, plan->num_ops) + 1] -= (int64_t)t->bytes;
	}
	*most = 0;
	*peak_op = 0;
	for (size_t i = 0; i < plan->num_ops; i++) {
		live += change[i];
		if ((uint64_t)live > *most) {
			*most = (uint64_t)live;
			*peak_op = (int32_t)i;
		}
	}
	free(change);
	return PFLD_OK;
}

static void add_to_layer(struct pfld_plan *plan, const char *name, uint64_t bytes)
{
	size_t i = 0;
	while (i < plan->num_layers && strcmp(plan->layers[i].name, name) != 0) i++;
	if (i == plan->num_layers) plan->layers[plan->num_layers++] = (struct pfld_plan_layer){name, 0};
	plan->layers[i].bytes += bytes;
}

static int most_first(const void *a, const void *b)
{
	const struct pfld_plan_layer *x = a, *y = b;
	if (!*x->name || !*y->name) return !*x->name - !*y->name;
	if (x->bytes != y->bytes) return x->bytes > y->bytes ? -1 : 1;
	return strcmp(x->name, y->name);
}

// What lives at the peak, by class and by layer. What packing leaves unused between live tensors belongs to the
// activations that it is between, and to no layer.
static enum pfld_status sum_up(struct pfld_plan *plan, int32_t peak_op, uint64_t unused, struct pfld_error *error)
{
	plan->layers = pfld_calloc(plan->num_items + 1, sizeof *plan->layers);
	if (!plan->layers) return pfld_fail_memory(error, plan->num_items * sizeof *plan->layers, "the plan");
	for (size_t i = 0; i < plan->num_items; i++) {
		const struct plan_item *item = &plan->items[i];
		if (!lives_at(&item->tensor, peak_op)) continue;
		plan->summary.by_class[item->tensor.memory_class] += item->tensor.bytes;
		add_to_layer(plan, item->layer, item->tensor.bytes);
	}
	plan->summary.by_class[PFLD_MEMORY_ACTIVATIONS] += unused;
	if (unused) add_to_layer(plan, "", unused);
	qsort(plan->layers, plan->num_layers, sizeof *plan->layers, most_first);
	return PFLD_OK;
}

enum pfld_status pfld_plan_close(struct pfld_plan *plan, struct pfld_error *error)
{
	struct pfld_plan_summary *s = &plan->summary;
	enum pfld_status status = find_peak(plan, &s->peak_op, &s->lower_bound_bytes, error);
	if (status != PFLD_OK) return status;
	for (size_t i = 0; i < plan->num_regions; i++) s->planned_peak_bytes += plan->regions[i].bytes;
	status = sum_up(plan, s->peak_op, s->planned_peak_bytes - s->lower_bound_bytes, error);
	if (status != PFLD_OK) return status;
	s->arena_bytes = plan->arena_bytes;
	s->host_bytes += plan->items_capacity * sizeof *plan->items;
	s->smallest_budget_bytes = s->planned_peak_bytes - s->arena_bytes + plan->smallest_arena;
	s->predicted_time_ratio = plan->time_ratio > 0 ? plan->time_ratio : 1;
	s->num_ops = (int32_t)plan->num_ops;
	s->num_tensors = (int32_t)plan->num_items;
	s->num_regions = (int32_t)plan->num_regions;
	s->num_layers = (int32_t)plan->num_layers;
	return PFLD_OK;
}

// ---- access ----

void pfld_plan_summary(const struct pfld_plan *plan, struct pfld_plan_summary *summary)
{
	*summary = plan->summary;
}

void pfld_plan_region(const struct pfld_plan *plan, int32_t index, struct pfld_plan_region *region)
{
	*region = plan->regions[index];
}

void pfld_plan_layer(const struct pfld_plan *plan, int32_t index, struct pfld_plan_layer *layer)
{
	*layer = plan->layers[index];
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
