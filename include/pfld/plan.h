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
	int32_t region;     // that it lies in, by index; tensors of one region that live at the same op lie apart
	uint64_t offset_bytes, bytes; // from the region's begin; alignment included
	int32_t first_op, last_op; // lifetime, both included
};
// One allocation. The regions together are planned_peak_bytes.
struct pfld_plan_region {
	const char *name; // "parameters", "arena", "batches in flight", ...; belongs to the plan
	enum pfld_memory_class memory_class;
	uint64_t bytes;
};
// What a layer has at the moment of the peak, of all classes.
struct pfld_plan_layer {
	const char *name; // belongs to the plan; "": all that has no layer, and what packing leaves unused
	uint64_t bytes;
};
struct pfld_plan_summary {
	uint64_t planned_peak_bytes; // everything: persistent and arena
	uint64_t lower_bound_bytes;  // the largest sum of live tensors at any op, of the same
	uint64_t by_class[PFLD_MEMORY_NUM_CLASSES]; // at the moment of the peak; they sum to planned_peak_bytes
	uint64_t arena_bytes;        // the part that programs share
	uint64_t host_bytes;         // graph, op list, names: beside the plan, bounded and constant
	int32_t num_ops, num_tensors, num_regions, num_layers;
	int32_t peak_op;        // the first op at which the most is live
	int32_t smallest_batch; // that can be run: 2 where training uses batch statistics, else 1
	uint64_t budget_bytes;          // asked for; 0: none
	uint64_t smallest_budget_bytes; // with as much computed again as can be
	double predicted_time_ratio;    // of a step, to one without a budget
};
PFLD_API void pfld_plan_summary(const struct pfld_plan *plan, struct pfld_plan_summary *summary);
// Indices run from 0 to below the summary's numbers.
PFLD_API void pfld_plan_region(const struct pfld_plan *plan, int32_t index, struct pfld_plan_region *region);
// Most bytes first, what has no layer last; layers that have nothing at the peak are left out. They sum to planned_peak_bytes.
PFLD_API void pfld_plan_layer(const struct pfld_plan *plan, int32_t index, struct pfld_plan_layer *layer);
PFLD_API void pfld_plan_tensor(const struct pfld_plan *plan, int32_t index, struct pfld_plan_tensor *tensor);
// "train conv2d conv1" and such, for each op.
PFLD_API const char *pfld_plan_op_name(const struct pfld_plan *plan, int32_t op);
// ---- out of memory ----
// What is needed, what there is, who has the rest, and what would fit. Filled from plans; nothing is taken.
enum { PFLD_PAGE_TENSORS = 5 };
struct pfld_memory_page {
	uint64_t needed_bytes;        // beyond what is taken already
	struct pfld_memory_room room; // 192 MiB of the system's are set aside for a loader and small objects
	uint64_t taken_bytes[PFLD_MEMORY_NUM_CLASSES]; // by objects that live on the device
	struct pfld_plan_summary plan;
	struct {
		char name[64];
		enum pfld_memory_class memory_class;
		uint64_t bytes;
	} largest[PFLD_PAGE_TENSORS]; // tensors of the plan, largest first; bytes 0: fewer
	int32_t batch;                // largest that fits as asked; 0: none
	uint64_t budget_bytes;        // that fits with the batch asked for; 0: none
	double budget_time_ratio;     // predicted
};
PFLD_API void pfld_plan_destroy(struct pfld_plan **plan);

// ---- the largest batch that fits ----
// An edge, found by pfld_program_largest_batch() and pfld_trainer_largest_batch(): `batch` fits and one more does not.
struct pfld_largest_batch {
	int32_t batch;          // 0: not even the smallest one fits
	int32_t smallest_batch; // that can be run at all: 2 where training uses batch statistics, else 1
	uint64_t bytes;         // planned peak of `batch`, or its smallest budget; 0 where it is 0
	uint64_t next_bytes;    // the same of the next one: batch + 1, or the smallest; 0 above 2^20, where the search ends
};

#ifdef __cplusplus
}
#endif
#endif
