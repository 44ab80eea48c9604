// SPDX-License-Identifier: MIT
// The out-of-memory page of a trainer: numbers from plans alone. Words are the program's.
#include "train/trainer.h"

#include <stdio.h>
#include <string.h>

// For threads of a loader, images and small objects.
enum { BESIDE_BYTES = 192 << 20 };

// The largest tensors, by insertion.
static void find_largest(struct pfld_memory_page *page, const struct pfld_plan *plan)
{
	for (int32_t i = 0; i < page->plan.num_tensors; i++) {
		struct pfld_plan_tensor tensor;
		pfld_plan_tensor(plan, i, &tensor);
		int32_t at = PFLD_PAGE_TENSORS;
		while (at > 0 && tensor.bytes > page->largest[at - 1].bytes) at--;
		if (at == PFLD_PAGE_TENSORS) continue;
		memmove(page->largest + at + 1, page->largest + at, (size_t)(PFLD_PAGE_TENSORS - 1 - at) * sizeof *page->largest);
		snprintf(page->largest[at].name, sizeof page->largest[at].name, "%s", tensor.name);
		page->largest[at].bytes = tensor.bytes;
	}
}

static enum pfld_status plan_with(struct pfld_plan **plan, const struct pfld_weights *weights,
                                  const struct pfld_trainer_options *options, uint64_t budget_bytes,
                                  struct pfld_error *error)
{
	struct pfld_trainer_options o = *options;
	o.memory_budget_bytes = budget_bytes;
	return pfld_trainer_plan_create(plan, weights->device, weights->net, &o, error);
}

// A budget for the same batch: all that is free, with the weights, which the plan counts too.
static enum pfld_status propose_budget(struct pfld_memory_page *page, const struct pfld_weights *weights,
                                       const struct pfld_trainer_options *options, uint64_t room, struct pfld_error *error)
{
	struct pfld_plan *plan = NULL;
	if (page->plan.smallest_budget_bytes > room) return PFLD_OK;
	enum pfld_status status = plan_with(&plan, weights, options, room, error);
	if (status != PFLD_OK) return status;
	struct pfld_plan_summary summary;
	pfld_plan_summary(plan, &summary);
	pfld_plan_destroy(&plan);
	if (summary.planned_peak_bytes > room) return PFLD_OK;
	page->budget_bytes = room;
	page->budget_time_ratio = summary.predicted_time_ratio;
	return PFLD_OK;
}

enum pfld_status pfld_trainer_memory_page(struct pfld_memory_page *page, const struct pfld_weights *weights,
                                          const struct pfld_trainer_options *options, struct pfld_error *error)
{
	if (!page || !weights || !options)
		return pfld_fail(error, PFLD_ERR_ARGUMENT, "pfld_trainer_memory_page() needs a page, weights and options");
	struct pfld_device *device = weights->device;
	struct pfld_plan *plan = NULL;
	enum pfld_status status = plan_with(&plan, weights, options, options->memory_budget_bytes, error);
	if (status != PFLD_OK) return status;
	struct pfld_memory_page fresh = {
	    .limit_bytes = device->limit_bytes, .taken_bytes = device->memory.current_bytes, .free_bytes = pfld_device_room(device, BESIDE_BYTES)};
	pfld_plan_summary(plan, &fresh.plan);
	fresh.needed_bytes = fresh.plan.planned_peak_bytes - PFLD_MIN(weights->region.bytes, fresh.plan.planned_peak_bytes);
	find_largest(&fresh, plan);
	pfld_plan_destroy(&plan);
	uint64_t room = fresh.free_bytes > UINT64_MAX - weights->region.bytes ? UINT64_MAX
	                                                                       : fresh.free_bytes + weights->region.bytes;
	if (options->memory_budget_bytes) room = PFLD_MIN(room, options->memory_budget_bytes);
	struct pfld_largest_batch largest = {0};
	status = pfld_trainer_largest_batch(&largest, device, weights->net, options, room, options->memory_budget_bytes != 0,
	                                    error);
	if (status != PFLD_OK) return status;
	fresh.batch = largest.batch;
	status = propose_budget(&fresh, weights, options, room, error);
	if (status == PFLD_OK) *page = fresh;
	return status;
}
