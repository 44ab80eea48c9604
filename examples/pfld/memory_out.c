// SPDX-License-Identifier: MIT
// A plan as tables and as JSON.
#include "json_out.h"
#include "memory_plan.h"

#include <string.h>

enum { TOP_LAYERS = 10 };

double memory_mib(uint64_t bytes)
{
	return (double)bytes / (1 << 20);
}

// ---- tables ----

static void print_row(const char *name, uint64_t bytes)
{
	printf("%-28s%16llu%12.2f\n", name, (unsigned long long)bytes, memory_mib(bytes));
}

// The ten with the most, the others together, and what belongs to none.
static void print_layers(const struct pfld_plan *plan, int32_t num, bool all)
{
	struct pfld_plan_layer layer, last = {"-", 0};
	uint64_t rest = 0;
	int32_t num_shown = all || num < TOP_LAYERS ? num : TOP_LAYERS;
	if (num > 0) pfld_plan_layer(plan, num - 1, &last);
	bool has_none = last.name[0] == '\0';
	printf("\n%-28s%16s%12s\n", "by layer, at the peak", "bytes", "MiB");
	for (int32_t i = 0; i < num - has_none; i++) {
		pfld_plan_layer(plan, i, &layer);
		if (i < num_shown)
			print_row(layer.name, layer.bytes);
		else
			rest += layer.bytes;
	}
	if (rest > 0) print_row("(the other layers)", rest);
	if (has_none) print_row("(of no layer)", last.bytes);
}

static void print_tensors(const struct pfld_plan *plan, const struct pfld_plan_summary *summary)
{
	printf("\n%-28s%16s%12s\n", "region", "bytes", "MiB");
	for (int32_t i = 0; i < summary->num_regions; i++) {
		struct pfld_plan_region region;
		char name[64];
		pfld_plan_region(plan, i, &region);
		snprintf(name, sizeof name, "%d %s", (int)i, region.name);
		print_row(name, region.bytes);
	}
	printf("\n%-44s%-14s%8s%16s%14s%8s%8s\n", "tensor", "class", "region", "offset", "bytes", "from", "to");
	for (int32_t i = 0; i < summary->num_tensors; i++) {
		struct pfld_plan_tensor tensor;
		pfld_plan_tensor(plan, i, &tensor);
		printf("%-44s%-14s%8d%16llu%14llu%8d%8d\n", tensor.name, pfld_memory_class_name(tensor.memory_class),
			   (int)tensor.region, (unsigned long long)tensor.offset_bytes, (unsigned long long)tensor.bytes,
			   (int)tensor.first_op, (int)tensor.last_op);
	}
}

void memory_print_plan(const struct pfld_plan *plan, bool all)
{
	struct pfld_plan_summary s;
	pfld_plan_summary(plan, &s);
	printf("%-28s%16s%12s\n", "by class, at the peak", "bytes", "MiB");
	for (int i = 0; i < PFLD_MEMORY_NUM_CLASSES; i++)
		if (s.by_class[i] > 0) print_row(pfld_memory_class_name((enum pfld_memory_class)i), s.by_class[i]);
	print_row("peak", s.planned_peak_bytes);
	print_row("lower bound", s.lower_bound_bytes);
	if (s.budget_bytes) print_row("budget", s.budget_bytes);
	print_row("smallest budget", s.smallest_budget_bytes);
	print_layers(plan, s.num_layers, all);
	printf("\nThe peak is %.4f times the lower bound and comes at op %d of %d, \"%s\".\n",
		   (double)s.planned_peak_bytes / (double)s.lower_bound_bytes, (int)s.peak_op, (int)s.num_ops,
		   pfld_plan_op_name(plan, s.peak_op));
	if (s.budget_bytes)
		printf("With this budget a step is predicted to take %.2f times as long.\n", s.predicted_time_ratio);
	if (s.smallest_batch > 1)
		printf("Training needs batches of at least %d: batch norm is in it.\n", (int)s.smallest_batch);
	printf("%d tensors. Small host objects beside the plan: %.2f MiB.\n", (int)s.num_tensors, memory_mib(s.host_bytes));
	if (all) print_tensors(plan, &s);
}

// ---- JSON ----

static json_t *classes_json(const struct pfld_plan_summary *summary)
{
	json_t *classes = json_object();
	for (int i = 0; i < PFLD_MEMORY_NUM_CLASSES; i++)
		json_object_set_new(classes, pfld_memory_class_name((enum pfld_memory_class)i),
							json_integer((json_int_t)summary->by_class[i]));
	return classes;
}

static json_t *layers_json(const struct pfld_plan *plan, int32_t num)
{
	json_t *layers = json_array();
	for (int32_t i = 0; i < num; i++) {
		struct pfld_plan_layer layer;
		pfld_plan_layer(plan, i, &layer);
		json_array_append_new(layers, json_pack("{s:s, s:I}", "name", layer.name, "bytes", (json_int_t)layer.bytes));
	}
	return layers;
}

static json_t *regions_json(const struct pfld_plan *plan, int32_t num)
{
	json_t *regions = json_array();
	for (int32_t i = 0; i < num; i++) {
		struct pfld_plan_region region;
		pfld_plan_region(plan, i, &region);
		json_array_append_new(regions, json_pack("{s:s, s:s, s:I}", "name", region.name, "class",
												 pfld_memory_class_name(region.memory_class), "bytes",
												 (json_int_t)region.bytes));
	}
	return regions;
}

static json_t *tensors_json(const struct pfld_plan *plan, int32_t num)
{
	json_t *tensors = json_array();
	for (int32_t i = 0; i < num; i++) {
		struct pfld_plan_tensor tensor;
		pfld_plan_tensor(plan, i, &tensor);
		json_array_append_new(tensors,
							  json_pack("{s:s, s:s, s:s, s:b, s:i, s:I, s:I, s:i, s:i}", "name", tensor.name, "layer",
										tensor.layer, "class", pfld_memory_class_name(tensor.memory_class),
										"persistent", (int)tensor.persistent, "region", (int)tensor.region, "offset",
										(json_int_t)tensor.offset_bytes, "bytes", (json_int_t)tensor.bytes, "first_op",
										(int)tensor.first_op, "last_op", (int)tensor.last_op));
	}
	return tensors;
}

static json_t *ops_json(const struct pfld_plan *plan, int32_t num)
{
	json_t *ops = json_array();
	for (int32_t i = 0; i < num; i++) json_array_append_new(ops, json_string(pfld_plan_op_name(plan, i)));
	return ops;
}

json_t *memory_plan_json(const struct pfld_plan *plan, bool all)
{
	struct pfld_plan_summary s;
	pfld_plan_summary(plan, &s);
	json_t *root = json_pack(
		"{s:I, s:I, s:f, s:o, s:o, s:I, s:I, s:f, s:I, s:I, s:i, s:i, s:i, s:i}", "planned_peak_bytes",
		(json_int_t)s.planned_peak_bytes, "lower_bound_bytes", (json_int_t)s.lower_bound_bytes, "ratio",
		(double)s.planned_peak_bytes / (double)s.lower_bound_bytes, "by_class", classes_json(&s), "layers",
		layers_json(plan, s.num_layers), "budget_bytes", (json_int_t)s.budget_bytes, "smallest_budget_bytes",
		(json_int_t)s.smallest_budget_bytes, "predicted_time_ratio", s.predicted_time_ratio, "arena_bytes",
		(json_int_t)s.arena_bytes, "host_bytes", (json_int_t)s.host_bytes, "peak_op", (int)s.peak_op, "num_ops",
		(int)s.num_ops, "num_tensors", (int)s.num_tensors, "smallest_batch", (int)s.smallest_batch);
	if (root && all) {
		json_object_set_new(root, "regions", regions_json(plan, s.num_regions));
		json_object_set_new(root, "ops", ops_json(plan, s.num_ops));
		json_object_set_new(root, "tensors", tensors_json(plan, s.num_tensors));
	}
	return root;
}
