// SPDX-License-Identifier: MIT
// The largest batch that a trainer fits: the search is lib/compile/largest.c's, over plans of trainers.
#include "train/trainer.h"

struct context {
	struct pfld_device *device;
	const struct pfld_net *net;
	struct pfld_trainer_options options;
};

static enum pfld_status plan_trainer(struct pfld_plan **plan, void *context, int32_t batch, struct pfld_error *error)
{
	struct context *c = context;
	c->options.batch = batch;
	return pfld_trainer_plan_create(plan, c->device, c->net, &c->options, error);
}

enum pfld_status pfld_trainer_largest_batch(struct pfld_largest_batch *largest, struct pfld_device *device,
											const struct pfld_net *net, const struct pfld_trainer_options *options,
											uint64_t limit_bytes, bool compute_again, struct pfld_error *error)
{
	if (!largest || !options)
		return pfld_fail(error, PFLD_ERR_ARGUMENT,
						 "pfld_trainer_largest_batch() needs options and a place for the result");
	struct context context = {device, net, *options};
	context.options.memory_budget_bytes = 0;
	return pfld_find_largest_batch(largest, plan_trainer, &context, limit_bytes, compute_again, error);
}
