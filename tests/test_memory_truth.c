// SPDX-License-Identifier: MIT
// Planned equals measured, to the byte, for many nets, batches, optimizers, budgets and thread counts; what a device takes is
// counted by counting_memory.c. Steps take nothing at all.
#include "counting_memory.h"
#include "zoo.h"

#include <stdio.h>
#include <stdlib.h>

enum { MOST_HEAP_BYTES = 4 << 20 };

struct combination {
	int32_t net, batch, threads, slots, accumulate;
	enum pfld_optimizer_kind optimizer;
	int32_t budget; // 0: none; else percent of what can be spared
	bool frozen, unfused;
};

static struct pfld_net *make_net(int32_t which)
{
	if (which == 3) return zoo_net();
	if (which == 4) return small_net();
	struct pfld_net *net = pfld_net_create();
	pfld_model_pfld(net, &(struct pfld_model_options){.preset = (enum pfld_preset)which,
	                                                  .width = 0.25,
	                                                  .num_points = 5 + which,
	                                                  .size = which ? 32 : 48,
	                                                  .angles = true});
	ck_pfld(pfld_net_check(net, error));
	return net;
}

static struct pfld_trainer_options options_of(const struct combination *c)
{
	return (struct pfld_trainer_options){
	    .batch = c->batch,
	    .loss = {.kind = c->net < 3 ? PFLD_LOSS_PFLD : PFLD_LOSS_L2},
	    .optimizer = {.kind = c->optimizer, .learning_rate = 1e-4, .momentum = c->optimizer == PFLD_SGD ? 0.9 : 0},
	    .num_slots = c->slots,
	    .accumulate = c->accumulate,
	    .unfused = c->unfused,
	};
}

static uint64_t budget_of(struct pfld_device *device, struct pfld_net *net, const struct combination *c)
{
	struct pfld_trainer_options options = options_of(c);
	struct pfld_plan *plan = NULL;
	struct pfld_plan_summary summary;
	ck_pfld(pfld_trainer_plan_create(&plan, device, net, &options, error));
	pfld_plan_summary(plan, &summary);
	pfld_plan_destroy(&plan);
	uint64_t spared = summary.planned_peak_bytes - summary.smallest_budget_bytes;
	return c->budget ? summary.smallest_budget_bytes + spared * (uint64_t)(c->budget - 1) / 100 : 0;
}

static void check(const struct combination *c)
{
	struct pfld_device *device = zoo_device(c->threads);
	struct pfld_net *net = make_net(c->net);
	struct pfld_weights *weights = NULL;
	struct pfld_trainer *trainer = NULL;
	struct pfld_trainer_options options = options_of(c);
	if (c->frozen) pfld_net_set_trainable(net, "conv*,stage3*", false);
	options.memory_budget_bytes = budget_of(device, net, c);
	struct counted before = counting_now();
	counting_begin();
	ck_pfld(pfld_weights_create(&weights, device, net, 3, error));
	ck_pfld(pfld_trainer_create(&trainer, weights, &options, error));
	struct pfld_batch *batch = pfld_trainer_slots(trainer, NULL);
	float *predictions = calloc((size_t)c->batch * 64, sizeof *predictions);
	for (int32_t i = 0; i < 3; i++) {
		zoo_batch(batch, net, i ? c->batch : PFLD_MIN(c->batch, 2), 5 + (uint64_t)i);
		// Check takes memory for each assertion, so none stands between.
		struct counted start = counting_now();
		enum pfld_status stepped = pfld_trainer_step(trainer, batch, NULL, NULL);
		enum pfld_status predicted = pfld_trainer_predict(trainer, batch, predictions, NULL);
		struct counted end = counting_now();
		ck_assert(stepped == PFLD_OK && predicted == PFLD_OK);
		ck_assert_int_eq(end.num_requests, start.num_requests);
	}
	struct counted after = counting_now();
	struct pfld_plan_summary summary;
	struct pfld_memory memory;
	pfld_plan_summary(pfld_trainer_plan(trainer), &summary);
	pfld_device_memory(device, &memory);
	ck_assert_msg(after.device_peak_bytes - before.device_bytes == summary.planned_peak_bytes,
	              "net %d, batch %d, %d threads, optimizer %d, budget %d: %zu bytes were taken, %llu planned", (int)c->net,
	              (int)c->batch, (int)c->threads, (int)c->optimizer, (int)c->budget,
	              after.device_peak_bytes - before.device_bytes, (unsigned long long)summary.planned_peak_bytes);
	ck_assert_uint_eq(memory.peak_bytes, summary.planned_peak_bytes);
	ck_assert_uint_le(after.heap_peak_bytes - before.heap_bytes, MOST_HEAP_BYTES);
	if (options.memory_budget_bytes) ck_assert_uint_le(memory.peak_bytes, options.memory_budget_bytes);
	free(predictions);
	pfld_trainer_destroy(&trainer);
	pfld_weights_destroy(&weights);
	ck_assert_uint_eq(counting_now().device_bytes, before.device_bytes);
	pfld_net_destroy(&net);
	pfld_device_close(&device);
}

START_TEST(planned_is_measured)
{
	static const enum pfld_optimizer_kind optimizers[] = {PFLD_ADAM, PFLD_SGD, PFLD_RMSPROP, PFLD_ADADELTA};
	static const int32_t threads[] = {1, 2, 5}, batches[] = {2, 3, 8}, budgets[] = {0, 1, 40, 80};
	int32_t net = _i % 5;
	struct combination c = {
	    .net = net,
	    .batch = batches[_i % 3],
	    .threads = threads[_i / 5 % 3],
	    .slots = _i % 4,
	    .accumulate = 1 + _i % 2,
	    .optimizer = optimizers[_i / 3 % 4],
	    .budget = budgets[_i / 2 % 4],
	    .frozen = _i / 4 % 3 == 1,
	    .unfused = _i % 11 == 10,
	};
	check(&c);
}
END_TEST

// The first step may touch what it never had; the thousandth takes nothing that the second did not have.
START_TEST(a_thousand_steps_take_nothing)
{
	struct pfld_device *device = zoo_device(2);
	struct pfld_net *net = small_net();
	struct pfld_weights *weights = NULL;
	struct pfld_trainer *trainer = NULL;
	struct combination c = {.batch = 4, .net = 4};
	struct pfld_trainer_options options = options_of(&c);
	ck_pfld(pfld_weights_create(&weights, device, net, 3, error));
	ck_pfld(pfld_trainer_create(&trainer, weights, &options, error));
	struct pfld_batch *batch = pfld_trainer_slots(trainer, NULL);
	static float predictions[64];
	zoo_batch(batch, net, 4, 1);
	counting_begin();
	struct counted start = counting_now();
	enum pfld_status status = PFLD_OK;
	for (int32_t i = 0; i < 1000 && status == PFLD_OK; i++) {
		double loss;
		status = pfld_trainer_step(trainer, batch, i % 10 ? NULL : &loss, NULL);
		if (status == PFLD_OK && i % 100 == 99) status = pfld_trainer_predict(trainer, batch, predictions, NULL);
	}
	struct counted end = counting_now();
	ck_assert_int_eq(status, PFLD_OK);
	ck_assert_int_eq(end.num_requests, 0);
	ck_assert_uint_eq(end.device_bytes, start.device_bytes);
	ck_assert_uint_eq(end.heap_bytes, start.heap_bytes);
	pfld_trainer_destroy(&trainer);
	pfld_weights_destroy(&weights);
	pfld_net_destroy(&net);
	pfld_device_close(&device);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("memory truth");
	TCase *cases = tcase_create("memory truth");
	tcase_set_timeout(cases, 120);
	tcase_add_loop_test(cases, planned_is_measured, 0, 60);
	tcase_add_test(cases, a_thousand_steps_take_nothing);
	suite_add_tcase(suite, cases);
	SRunner *runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	int failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
