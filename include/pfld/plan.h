// SPDX-License-Identifier: MIT
// Plans: where everything that a program touches lies, and from which op to which it lives. Made before anything is
// allocated; the program then takes exactly this much.
#ifndef PFLD_PLAN_H
#define PFLD_PLAN_H

#include <pfld/device.h>

#ifdef __cplusplus
extern "C" {
#endif

struct pfld_plan;

struct pfld_plan_tensor {
	const char *name;  // "conv1", "conv1 gradient", ...; belongs to the plan
	const char *layer; // "" where there is none
	enum pfld_memory_class memory_class;
	bool persistent;    // lives as long as its owner: parameters, gradients, optimizer state, batch
	int32_t region;     // 0: persistent, 1 ...: arena
	uint64_t offset_bytes, bytes;
	int32_t first_op, last_op; // lifetime, both included
};
struct pfld_plan_summary {
	uint64_t planned_peak_bytes; // everything: persistent and arena
	uint64_t lower_bound_bytes;  // the largest sum of live tensors at any op, of the same
	uint64_t by_class[PFLD_MEMORY_NUM_CLASSES]; // at the moment of the peak; they sum to planned_peak_bytes
	uint64_t arena_bytes;        // the part that programs share
	uint64_t host_bytes;         // graph, op list, names: beside the plan, bounded and constant
	int32_t num_ops, num_tensors;
	uint64_t budget_bytes;          // asked for; 0: none
	uint64_t smallest_budget_bytes; // with as much computed again as can be
	double predicted_time_ratio;    // of a step, to one without a budget
};
PFLD_API void pfld_plan_summary(const struct pfld_plan *plan, struct pfld_plan_summary *summary);
PFLD_API void pfld_plan_tensor(const struct pfld_plan *plan, int32_t index, struct pfld_plan_tensor *tensor);
// "conv2d conv1" and such, for each op.
PFLD_API const char *pfld_plan_op_name(const struct pfld_plan *plan, int32_t op);
PFLD_API void pfld_plan_destroy(struct pfld_plan **plan);

#ifdef __cplusplus
}
#endif
#endif
