// SPDX-License-Identifier: MIT
// Memory budgets: kept to the byte, to the same bits whatever is computed again and by how many threads, at the least
// predicted time; the edges that are named are edges.
#include "compile/compile.h"
#include "zoo.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BATCH = 4, SIZE = 32, STEPS = 4 };

// ---- nets ----

static pfld_value unit(struct pfld_net *net, pfld_value x, int32_t filters)
{
	x = pfld_conv2d(net, x, &(struct pfld_conv2d_options){.filters = filters, .kernel = {3, 3}, .padding = PFLD_SAME});
	return pfld_leaky_relu(net, pfld_batch_norm(net, x, NULL), 0.1, NULL);
}

// Residual blocks with dropout inside, pooling between them, one without a batch norm.
static struct pfld_net *residual_net(int32_t num_blocks)
{
	struct pfld_net *net = pfld_net_create();
	pfld_value x = unit(net, pfld_input(net, "image", SIZE, SIZE, 3), 8);
	for (int32_t i = 0; i < num_blocks; i++) {
		pfld_value y = pfld_dropout(net, unit(net, x, 4 + 4 * (i % 3)), 0.2, NULL);
		y = i % 2 ? pfld_sigmoid(net, unit(net, y, 8), NULL)
		          : pfld_relu(net, pfld_conv2d(net, y, &(struct pfld_conv2d_options){.filters = 8, .kernel = {1, 1}}), NULL);
		x = pfld_add(net, (pfld_value[]){x, y}, 2, NULL, NULL);
		if (i == 2) x = pfld_max_pool(net, x, &(struct pfld_pool_options){.kernel = {2, 2}});
	}
	x = pfld_linear(net, pfld_global_avg_pool(net, x, NULL), &(struct pfld_linear_options){.units = 6});
	pfld_net_output(net, x, "points");
	ck_pfld(pfld_net_check(net, error));
	return net;
}

static struct pfld_net *pfld(enum pfld_preset preset)
{
	struct pfld_net *net = pfld_net_create();
	pfld_model_pfld(net, &(struct pfld_model_options){
	                         .preset = preset, .width = 0.25, .num_points = 5, .size = SIZE, .angles = true});
	ck_pfld(pfld_net_check(net, error));
	return net;
}

static struct pfld_trainer_options options_of(bool angles)
{
	return (struct pfld_trainer_options){
	    .batch = BATCH,
	    .loss = {.kind = angles ? PFLD_LOSS_PFLD : PFLD_LOSS_L2},
	    .optimizer = {.kind = PFLD_ADAM, .learning_rate = 1e-3},
	    .seed = 3,
	};
}

static struct pfld_plan_summary plan_of(struct pfld_device *device, const struct pfld_net *net,
                                        const struct pfld_trainer_options *options)
{
	struct pfld_plan *plan = NULL;
	struct pfld_plan_summary summary;
	ck_pfld(pfld_trainer_plan_create(&plan, device, net, options, error));
	pfld_plan_summary(plan, &summary);
	pfld_plan_destroy(&plan);
	return summary;
}

// ---- bits ----

struct result {
	double losses[STEPS];
	char sha256[65];
};

static struct result train(struct pfld_net *net, struct pfld_trainer_options options, int32_t threads)
{
	struct result result = {0};
	struct pfld_device *device = zoo_device(threads);
	struct pfld_weights *weights = NULL;
	struct pfld_trainer *trainer = NULL;
	ck_pfld(pfld_weights_create(&weights, device, net, 5, error));
	ck_pfld(pfld_trainer_create(&trainer, weights, &options, error));
	struct pfld_batch *batch = pfld_trainer_slots(trainer, NULL);
	for (int32_t i = 0; i < STEPS; i++) {
		zoo_batch(batch, net, i % 2 ? BATCH : BATCH - 1, 40 + (uint64_t)i);
		ck_pfld(pfld_trainer_step(trainer, batch, &result.losses[i], error));
	}
	ck_pfld(pfld_weights_sha256(weights, result.sha256, error));
	struct pfld_plan_summary summary;
	struct pfld_memory memory;
	pfld_plan_summary(pfld_trainer_plan(trainer), &summary);
	pfld_device_memory(device, &memory);
	ck_assert_uint_eq(memory.peak_bytes, summary.planned_peak_bytes);
	if (options.memory_budget_bytes) ck_assert_uint_le(memory.peak_bytes, options.memory_budget_bytes);
	pfld_trainer_destroy(&trainer);
	pfld_weights_destroy(&weights);
	pfld_device_close(&device);
	return result;
}

static void check_bits(struct pfld_net *net, bool angles)
{
	static const int32_t threads[] = {1, 2, 5};
	struct pfld_trainer_options options = options_of(angles);
	struct result first = train(net, options, 1);
	for (size_t t = 0; t < PFLD_COUNT(threads); t++) {
		struct pfld_device *device = zoo_device(threads[t]);
		options.memory_budget_bytes = 0;
		struct pfld_plan_summary free_plan = plan_of(device, net, &options);
		pfld_device_close(&device);
		ck_assert_uint_lt(free_plan.smallest_budget_bytes, free_plan.planned_peak_bytes);
		for (int32_t i = 0; i <= 3; i++) {
			uint64_t spared = free_plan.planned_peak_bytes - free_plan.smallest_budget_bytes;
			options.memory_budget_bytes = i == 3 ? 0 : free_plan.smallest_budget_bytes + spared * (uint64_t)i / 3;
			struct result result = train(net, options, threads[t]);
			ck_assert_msg(!memcmp(result.losses, first.losses, sizeof first.losses), "losses: %d threads, budget %d",
			              (int)threads[t], (int)i);
			ck_assert_str_eq(result.sha256, first.sha256);
		}
	}
	pfld_net_destroy(&net);
}

START_TEST(same_bits_residual)
{
	check_bits(residual_net(6), false);
}
END_TEST

START_TEST(same_bits_pfld)
{
	check_bits(pfld(PFLD_PRESET_PT), true);
	check_bits(pfld(PFLD_PRESET_TF), true);
}
END_TEST

// ---- edges ----

START_TEST(the_smallest_is_the_edge)
{
	struct pfld_device *device = zoo_device(2);
	struct pfld_net *nets[] = {residual_net(5), pfld(PFLD_PRESET_PAPER)};
	for (size_t i = 0; i < PFLD_COUNT(nets); i++) {
		struct pfld_trainer_options options = options_of(i == 1);
		struct pfld_weights *weights = NULL;
		struct pfld_trainer *trainer = NULL;
		struct pfld_error error = {0};
		char number[32];
		ck_pfld(pfld_weights_create(&weights, device, nets[i], 5, error));
		uint64_t smallest = plan_of(device, nets[i], &options).smallest_budget_bytes;
		options.memory_budget_bytes = smallest;
		ck_pfld(pfld_trainer_create(&trainer, weights, &options, error));
		pfld_trainer_destroy(&trainer);
		options.memory_budget_bytes = smallest - 1;
		ck_assert_int_eq(pfld_trainer_create(&trainer, weights, &options, &error), PFLD_ERR_MEMORY);
		snprintf(number, sizeof number, "%llu", (unsigned long long)smallest);
		ck_assert_ptr_nonnull(strstr(error.message, number));
		ck_assert_uint_eq(plan_of(device, nets[i], &options).planned_peak_bytes, smallest);
		pfld_weights_destroy(&weights);
		pfld_net_destroy(&nets[i]);
	}
	pfld_device_close(&device);
}
END_TEST

START_TEST(more_budget_costs_no_more_time)
{
	struct pfld_device *device = zoo_device(1);
	struct pfld_net *nets[] = {residual_net(6), residual_net(20), pfld(PFLD_PRESET_PT)};
	for (size_t i = 0; i < PFLD_COUNT(nets); i++) {
		struct pfld_trainer_options options = options_of(i == 2);
		struct pfld_plan_summary free_plan = plan_of(device, nets[i], &options);
		uint64_t spared = free_plan.planned_peak_bytes - free_plan.smallest_budget_bytes;
		double before = 10;
		for (uint64_t k = 0; k <= 16; k++) {
			options.memory_budget_bytes = free_plan.smallest_budget_bytes + spared * k / 16;
			struct pfld_plan_summary plan = plan_of(device, nets[i], &options);
			ck_assert_uint_le(plan.planned_peak_bytes, options.memory_budget_bytes);
			ck_assert_uint_eq(plan.smallest_budget_bytes, free_plan.smallest_budget_bytes);
			ck_assert(plan.predicted_time_ratio <= before && plan.predicted_time_ratio >= 1);
			before = plan.predicted_time_ratio;
		}
		ck_assert(before == 1);
		pfld_net_destroy(&nets[i]);
	}
	pfld_device_close(&device);
}
END_TEST

// ---- against all sets ----

static double cost_of(const struct pfld_compiled *compiled)
{
	double cost = 0;
	for (size_t i = 0; i < compiled->emit.num_ops; i++)
		cost += compiled->device->backend->cost(compiled->device->state, &compiled->emit.ops[i], compiled->batch);
	return cost;
}

static uint64_t bytes_of(const struct pfld_compiled *compiled)
{
	uint64_t bytes = 0;
	for (int32_t i = 0; i < PFLD_NUM_HOMES; i++) bytes += compiled->home_bytes[i];
	return bytes;
}

struct set {
	uint64_t bytes;
	double cost;
};

// Every set of blocks with an inside, planned.
static int32_t plan_all_sets(struct pfld_device *device, const struct pfld_net *net,
                             const struct pfld_program_options *options, struct set *sets)
{
	struct pfld_compiled kept;
	bool again[64];
	int32_t inside[64], num_inside = 0;
	ck_pfld(pfld_compile_once(&kept, device, net, options, NULL, error));
	for (int32_t i = 0; i < kept.blocks.num; i++)
		if (kept.blocks.blocks[i].has_inside) inside[num_inside++] = i;
	ck_assert_int_le(num_inside, 8);
	for (int32_t mask = 0; mask < 1 << num_inside; mask++) {
		struct pfld_compiled compiled;
		memset(again, 0, sizeof again);
		for (int32_t i = 0; i < num_inside; i++) again[inside[i]] = mask >> i & 1;
		ck_pfld(pfld_compile_once(&compiled, device, net, options, again, error));
		sets[mask] = (struct set){bytes_of(&compiled), cost_of(&compiled) / cost_of(&kept)};
		pfld_compiled_finish(&compiled);
	}
	pfld_compiled_finish(&kept);
	return 1 << num_inside;
}

START_TEST(the_best_of_all_sets)
{
	static struct set sets[256];
	struct pfld_device *device = zoo_device(1);
	struct pfld_net *net = residual_net(6);
	struct pfld_loss_options loss = {.kind = PFLD_LOSS_L2};
	struct pfld_program_options options = {.batch = BATCH, .mode = PFLD_TRAIN, .loss = &loss};
	int32_t num = plan_all_sets(device, net, &options, sets);
	ck_assert_int_ge(num, 32);
	for (int32_t i = 0; i < num; i++) {
		struct pfld_compiled compiled;
		double best = 100;
		options.memory_budget_bytes = sets[i].bytes;
		for (int32_t j = 0; j < num; j++)
			if (sets[j].bytes <= sets[i].bytes && sets[j].cost < best) best = sets[j].cost;
		ck_pfld(pfld_compile(&compiled, device, net, &options, error));
		if (compiled.fits) {
			ck_assert_uint_le(bytes_of(&compiled), sets[i].bytes);
			ck_assert_msg(compiled.time_ratio <= best * (1 + 1e-9), "budget %llu: %.6f where %.6f is possible",
			              (unsigned long long)sets[i].bytes, compiled.time_ratio, best);
		} else {
			ck_assert_uint_gt(compiled.smallest_bytes, sets[i].bytes);
		}
		pfld_compiled_finish(&compiled);
	}
	pfld_net_destroy(&net);
	pfld_device_close(&device);
}
END_TEST

// Below the lowest trainable layer nothing is kept, and nothing is computed again.
START_TEST(frozen_layers_are_not_computed_again)
{
	struct pfld_device *device = zoo_device(1);
	struct pfld_net *net = residual_net(6);
	struct pfld_trainer_options options = options_of(false);
	uint64_t all = plan_of(device, net, &options).planned_peak_bytes;
	ck_assert_int_gt(pfld_net_set_trainable(net, "*", false), 0);
	ck_assert_int_gt(pfld_net_set_trainable(net, "linear*", true), 0);
	struct pfld_plan_summary frozen = plan_of(device, net, &options);
	ck_assert_uint_lt(frozen.planned_peak_bytes, all / 2);
	ck_assert_uint_eq(frozen.smallest_budget_bytes, frozen.planned_peak_bytes);
	pfld_net_destroy(&net);
	pfld_device_close(&device);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("budget");
	TCase *cases = tcase_create("budget");
	tcase_set_timeout(cases, 120);
	tcase_add_test(cases, same_bits_residual);
	tcase_add_test(cases, same_bits_pfld);
	tcase_add_test(cases, the_smallest_is_the_edge);
	tcase_add_test(cases, more_budget_costs_no_more_time);
	tcase_add_test(cases, the_best_of_all_sets);
	tcase_add_test(cases, frozen_layers_are_not_computed_again);
	suite_add_tcase(suite, cases);
	SRunner *runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	int failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
