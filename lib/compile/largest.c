// SPDX-License-Identifier: MIT
// The largest batch whose plan fits: plans for some batches, none of which takes device memory, and an edge between two
// neighbours. Called by question.c and lib/train/question.c.
#include "compile/plan.h"

struct probe {
	int32_t batch;
	bool fits;
	uint64_t bytes;
};
struct search {
	pfld_plan_maker *make;
	void *context;
	uint64_t limit_bytes;
	bool compute_again;
	int32_t smallest_batch;
};

static enum pfld_status plan_for(struct search *search, int32_t batch, struct probe *probe, struct pfld_error *error)
{
	struct pfld_plan *plan = NULL;
	struct pfld_plan_summary summary;
	enum pfld_status status = search->make(&plan, search->context, batch, 0, error);
	if (status != PFLD_OK) return status;
	pfld_plan_summary(plan, &summary);
	pfld_plan_destroy(&plan);
	uint64_t bytes = search->compute_again ? summary.smallest_budget_bytes : summary.planned_peak_bytes;
	search->smallest_batch = summary.smallest_batch;
	*probe = (struct probe){batch, bytes <= search->limit_bytes, bytes};
	return PFLD_OK;
}

// Between a batch that fits and one that does not: where the straight line through both meets the limit, or, in every
// other round, the middle.
static int32_t between(const struct search *search, const struct probe *low, const struct probe *high, int32_t round)
{
	double middle = (double)low->batch + (high->batch - low->batch) / 2;
	if (round % 2 == 0 && high->bytes > low->bytes && search->limit_bytes > low->bytes)
		middle = low->batch + (double)(search->limit_bytes - low->bytes) / (double)(high->bytes - low->bytes) *
								  (high->batch - low->batch);
	return (int32_t)PFLD_MIN(PFLD_MAX(middle, (double)low->batch + 1), (double)high->batch - 1);
}

// From a batch that fits up to one that does not, by the slope so far and a little more.
static enum pfld_status climb(struct search *search, struct probe *low, struct probe *high, struct pfld_error *error)
{
	enum pfld_status status = PFLD_OK;
	struct probe before = {0, true, 0};
	while (status == PFLD_OK && low->batch < PFLD_MOST_BATCH) {
		double slope =
			low->bytes > before.bytes ? (double)(low->bytes - before.bytes) / (low->batch - before.batch) : 1;
		double next = low->batch + PFLD_MAX(1.0, (double)(search->limit_bytes - low->bytes) / slope);
		if (before.batch == 0) next = 2.0 * low->batch; // the first slope has the parameters in it
		status = plan_for(search, (int32_t)PFLD_MIN(next, (double)PFLD_MOST_BATCH), high, error);
		if (status != PFLD_OK || !high->fits) return status;
		before = *low;
		*low = *high;
	}
	return status;
}

enum pfld_status pfld_find_largest_batch(struct pfld_largest_batch *largest, pfld_plan_maker *make, void *context,
										 uint64_t limit_bytes, bool compute_again, struct pfld_error *error)
{
	struct search search = {make, context, limit_bytes, compute_again, 1};
	struct probe low, high = {0};
	enum pfld_status status = plan_for(&search, 1, &low, error);
	if (status == PFLD_OK && search.smallest_batch > 1) status = plan_for(&search, search.smallest_batch, &low, error);
	if (status != PFLD_OK) return status;
	if (!low.fits) {
		*largest = (struct pfld_largest_batch){.smallest_batch = low.batch, .next_bytes = low.bytes};
		return PFLD_OK;
	}
	status = climb(&search, &low, &high, error);
	for (int32_t round = 0; status == PFLD_OK && high.batch - low.batch > 1; round++) {
		struct probe probe;
		status = plan_for(&search, between(&search, &low, &high, round), &probe, error);
		if (status == PFLD_OK && probe.fits)
			low = probe;
		else if (status == PFLD_OK)
			high = probe;
	}
	if (status != PFLD_OK) return status;
	*largest = (struct pfld_largest_batch){low.batch, search.smallest_batch, low.bytes, high.fits ? 0 : high.bytes};
	return PFLD_OK;
}
