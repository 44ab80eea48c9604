// SPDX-License-Identifier: MIT
// What can be asked about a program before it is made: the largest batch that fits, and why one does not fit. Both plan it
// for several batches and budgets, see largest.c and page.c.
#include "compile/plan.h"

struct context {
	struct pfld_device *device;
	const struct pfld_net *net;
	struct pfld_program_options options;
};

static enum pfld_status plan_program(struct pfld_plan **plan, void *context, int32_t batch, uint64_t budget_bytes,
                                     struct pfld_error *error)
{
	struct context *c = context;
	c->options.batch = batch;
	c->options.memory_budget_bytes = budget_bytes;
	return pfld_program_plan_create(plan, c->device, c->net, &c->options, error);
}

enum pfld_status pfld_program_largest_batch(struct pfld_largest_batch *largest, struct pfld_device *device,
                                            const struct pfld_net *net, const struct pfld_program_options *options,
                                            uint64_t limit_bytes, bool compute_again, struct pfld_error *error)
{
	if (!largest || !device || !options)
		return pfld_fail(error, PFLD_ERR_ARGUMENT,
		                 "pfld_program_largest_batch() needs a device, options and a place for the result");
	struct context context = {device, net, *options};
	return pfld_find_largest_batch(largest, plan_program, &context, limit_bytes, compute_again, error);
}

enum pfld_status pfld_program_memory_page(struct pfld_memory_page *page, struct pfld_device *device,
                                          const struct pfld_net *net, const struct pfld_weights *weights,
                                          const struct pfld_program_options *options, struct pfld_error *error)
{
	if (!page || !device || !options)
		return pfld_fail(error, PFLD_ERR_ARGUMENT, "pfld_program_memory_page() needs a page, a device and options");
	struct context context = {device, net, *options};
	return pfld_memory_page_fill(page, device, weights, plan_program, &context, options->batch,
	                             options->memory_budget_bytes, error);
}
