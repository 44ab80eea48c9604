// SPDX-License-Identifier: MIT
// Whether a plan fits, and the out-of-memory page where it does not: numbers from plans alone. The page's words are the
// program's. Called where programs and trainers are made, and by question.c and lib/train/question.c.
#include "compile/plan.h"
#include "net/weights.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

// For threads of a loader, images and small objects.
enum { BESIDE_BYTES = 192 << 20 };

enum pfld_status pfld_plan_check_room(const struct pfld_plan *plan, const struct pfld_weights *weights, const char *what,
                                      struct pfld_error *error)
{
	const struct pfld_device *device = weights->device;
	struct pfld_plan_summary summary;
	struct pfld_memory_room room;
	pfld_plan_summary(plan, &summary);
	pfld_device_memory_room(device, 0, &room);
	uint64_t needed = summary.planned_peak_bytes - PFLD_MIN(summary.planned_peak_bytes, weights->region.bytes);
	// An arena that is there already may be large enough for these programs, too.
	if (device->arenas || needed <= room.free_bytes) return PFLD_OK;
	return pfld_fail(error, PFLD_ERR_MEMORY,
	                 "out of memory: %s needs %" PRIu64 " bytes; %" PRIu64 " are free (device %s)", what, needed,
	                 room.free_bytes, device->info.name);
}

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
		page->largest[at].memory_class = tensor.memory_class;
		page->largest[at].bytes = tensor.bytes;
	}
}

// A budget for the same batch: all the room there is, where computing again brings the plan under it.
static enum pfld_status propose_budget(struct pfld_memory_page *page, pfld_plan_maker *make, void *context, int32_t batch,
                                       uint64_t room, struct pfld_error *error)
{
	struct pfld_plan *plan = NULL;
	if (page->plan.smallest_budget_bytes > room || page->plan.smallest_budget_bytes == page->plan.planned_peak_bytes)
		return PFLD_OK;
	enum pfld_status status = make(&plan, context, batch, room, error);
	if (status != PFLD_OK) return status;
	struct pfld_plan_summary summary;
	pfld_plan_summary(plan, &summary);
	pfld_plan_destroy(&plan);
	if (summary.planned_peak_bytes > room) return PFLD_OK;
	page->budget_bytes = room;
	page->budget_time_ratio = summary.predicted_time_ratio;
	return PFLD_OK;
}

enum pfld_status pfld_memory_page_fill(struct pfld_memory_page *page, const struct pfld_device *device,
                                       const struct pfld_weights *weights, pfld_plan_maker *make, void *context,
                                       int32_t batch, uint64_t budget_bytes, struct pfld_error *error)
{
	struct pfld_plan *plan = NULL;
	enum pfld_status status = make(&plan, context, batch, budget_bytes, error);
	if (status != PFLD_OK) return status;
	struct pfld_memory_page fresh = {.needed_bytes = 0};
	uint64_t there = weights ? weights->region.bytes : 0;
	pfld_device_memory_room(device, BESIDE_BYTES, &fresh.room);
	memcpy(fresh.taken_bytes, device->memory.by_class, sizeof fresh.taken_bytes);
	pfld_plan_summary(plan, &fresh.plan);
	fresh.needed_bytes = fresh.plan.planned_peak_bytes - PFLD_MIN(there, fresh.plan.planned_peak_bytes);
	find_largest(&fresh, plan);
	pfld_plan_destroy(&plan);
	// Plans count the weights.
	uint64_t room = fresh.room.free_bytes > UINT64_MAX - there ? UINT64_MAX : fresh.room.free_bytes + there;
	if (budget_bytes) room = PFLD_MIN(room, budget_bytes);
	struct pfld_largest_batch largest = {0};
	status = pfld_find_largest_batch(&largest, make, context, room, budget_bytes != 0, error);
	if (status != PFLD_OK) return status;
	fresh.batch = largest.batch;
	status = propose_budget(&fresh, make, context, batch, room, error);
	if (status == PFLD_OK) *page = fresh;
	return status;
}
