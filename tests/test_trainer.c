// SPDX-License-Identifier: MIT
// include/pfld/trainer.h: a hand-written loop gives its bits, checkpoints go on to the same bits, thread counts change
// nothing, bad steps leave the weights alone, and learning happens.
#include "scratch.h"
#include "zoo.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char folder[32];

static const char *in_folder(const char *name)
{
	static char paths[4][64];
	static int next;
	next = (next + 1) % 4;
	snprintf(paths[next], sizeof paths[next], "%s/%s", folder, name);
	return paths[next];
}

static void open_folder(void)
{
	strcpy(folder, "trainer_XXXXXX");
	make_scratch(folder);
}

static void close_folder(void)
{
	remove_tree(folder);
}

struct fixture {
	struct pfld_device *device;
	struct pfld_net *net;
	struct pfld_weights *weights;
	struct pfld_trainer *trainer;
	struct pfld_batch *batch;
};

static const struct pfld_trainer_options base = {
    .batch = 6,
    .loss = {.kind = PFLD_LOSS_WING, .point_scale = 8},
    .optimizer = {.kind = PFLD_ADAM, .learning_rate = 1e-2, .weight_decay = 1e-6},
    .seed = 11,
};

static struct fixture make(struct pfld_net *net, int32_t threads, const struct pfld_trainer_options *options)
{
	struct fixture f = {.device = zoo_device(threads), .net = net};
	ck_pfld(pfld_weights_create(&f.weights, f.device, net, 5, error));
	ck_pfld(pfld_trainer_create(&f.trainer, f.weights, options, error));
	f.batch = pfld_trainer_slots(f.trainer, NULL);
	return f;
}

static void finish(struct fixture *f)
{
	pfld_trainer_destroy(&f->trainer);
	pfld_weights_destroy(&f->weights);
	pfld_net_destroy(&f->net);
	pfld_device_close(&f->device);
}

static void train(struct fixture *f, int first, int end)
{
	for (int i = first; i < end; i++) {
		zoo_batch(f->batch, f->net, 6 - i % 3, (uint64_t)i);
		ck_pfld(pfld_trainer_step(f->trainer, f->batch, NULL, error));
	}
}

static void expect_digest(const struct pfld_weights *weights, const char *expected)
{
	char hex[65];
	ck_pfld(pfld_weights_sha256(weights, hex, error));
	ck_assert_str_eq(hex, expected);
}

START_TEST(threads_change_no_bit)
{
	char expected[65];
	for (int32_t threads = 1; threads <= 7; threads += threads == 3 ? 4 : 1) {
		struct fixture f = make(zoo_net(), threads, &base);
		train(&f, 0, 4);
		if (threads == 1) ck_pfld(pfld_weights_sha256(f.weights, expected, error));
		expect_digest(f.weights, expected);
		finish(&f);
	}
}
END_TEST

// The same steps through program.h and an optimizer of one's own.
START_TEST(a_loop_by_hand_gives_the_same_bits)
{
	struct fixture f = make(small_net(), 2, &base);
	char expected[65];
	train(&f, 0, 5);
	ck_pfld(pfld_weights_sha256(f.weights, expected, error));

	struct pfld_weights *weights = NULL;
	struct pfld_program *program = NULL;
	struct pfld_optimizer *optimizer = NULL;
	ck_pfld(pfld_weights_create(&weights, f.device, f.net, 5, error));
	ck_pfld(pfld_program_create(&program, weights, &(struct pfld_program_options){.batch = 6, .loss = &base.loss}, error));
	ck_pfld(pfld_optimizer_create(&optimizer, program, &base.optimizer, error));
	for (int i = 0; i < 5; i++) {
		struct pfld_run_options run = {.seed = 11, .step = (uint64_t)i};
		bool stepped;
		int32_t n = 6 - i % 3;
		zoo_batch(f.batch, f.net, n, (uint64_t)i);
		ck_pfld(pfld_tensor_upload(pfld_program_input(program, "image"), PFLD_F32, f.batch->inputs, n * 192, error));
		ck_pfld(pfld_tensor_upload(pfld_program_input(program, "targets"), PFLD_F32, f.batch->targets, n * 6, error));
		ck_pfld(pfld_program_forward(program, n, &run, error));
		ck_pfld(pfld_program_loss(program, &run, NULL, error));
		ck_pfld(pfld_program_backward(program, &run, error));
		ck_pfld(pfld_optimizer_step(optimizer, 1e-2, 0, &stepped, error));
		ck_assert(stepped);
	}
	expect_digest(weights, expected);
	pfld_optimizer_destroy(&optimizer);
	pfld_program_destroy(&program);
	pfld_weights_destroy(&weights);
	finish(&f);
}
END_TEST

static void check_resume(const struct pfld_trainer_options *options, int stop)
{
	const char *path = in_folder("checkpoint.safetensors");
	char expected[65];
	double expected_loss, loss;
	struct fixture f = make(zoo_net(), 2, options);
	train(&f, 0, stop);
	const char *const metadata[][2] = {{"note", "half way"}};
	ck_pfld(pfld_trainer_save(f.trainer, path, metadata, 1, error));
	train(&f, stop, 9);
	ck_pfld(pfld_weights_sha256(f.weights, expected, error));
	ck_pfld(pfld_trainer_mean_loss(f.trainer, &expected_loss, NULL, error));
	finish(&f);

	f = make(zoo_net(), 1, options);
	train(&f, 3, 5);
	ck_pfld(pfld_trainer_load(f.trainer, path, error));
	train(&f, stop, 9);
	expect_digest(f.weights, expected);
	ck_pfld(pfld_trainer_mean_loss(f.trainer, &loss, NULL, error));
	ck_assert_double_eq(loss, expected_loss);
	char *note;
	ck_pfld(pfld_file_metadata(path, "note", &note, error));
	ck_assert_str_eq(note, "half way");
	pfld_free(note);
	finish(&f);
}

START_TEST(checkpoints_go_on_to_the_same_bits)
{
	struct pfld_trainer_options options = base;
	check_resume(&options, 4);
	// In the middle of accumulating, with another optimizer.
	options.accumulate = 4;
	options.optimizer = (struct pfld_optimizer_options){.kind = PFLD_SGD, .momentum = 0.9, .learning_rate = 1e-3};
	check_resume(&options, 6);
}
END_TEST

START_TEST(wrong_checkpoints_change_nothing)
{
	struct fixture f = make(zoo_net(), 1, &base);
	struct fixture other = make(small_net(), 1, &base);
	const char *weights_only = in_folder("weights.safetensors"), *checkpoint = in_folder("other.safetensors");
	char before[65];
	struct pfld_error error;
	train(&f, 0, 2);
	ck_pfld(pfld_weights_sha256(f.weights, before, error));
	ck_pfld(pfld_weights_save(f.weights, weights_only, NULL, 0, error));
	ck_pfld(pfld_trainer_save(other.trainer, checkpoint, NULL, 0, error));
	ck_assert_int_eq(pfld_trainer_load(f.trainer, weights_only, &error), PFLD_ERR_DATA);
	ck_assert_ptr_nonnull(strstr(error.message, "weights only"));
	ck_assert_int_eq(pfld_trainer_load(f.trainer, checkpoint, &error), PFLD_ERR_DATA);
	ck_assert_int_eq(pfld_weights_load(f.weights, checkpoint, PFLD_LOAD_ALL, NULL, &error), PFLD_ERR_DATA);
	ck_assert_ptr_nonnull(strstr(error.message, "are missing"));
	ck_assert_int_eq(pfld_trainer_load(f.trainer, in_folder("none"), &error), PFLD_ERR_IO);
	expect_digest(f.weights, before);
	// A file with weights of its own shape loads what fits and says what did not.
	struct pfld_load_report report;
	ck_pfld(pfld_weights_load(other.weights, weights_only, PFLD_LOAD_MATCHING, &report, error));
	ck_assert_int_ge(report.num_missing, 1);
	ck_assert_int_eq(report.num_loaded, 1); // fc2/bias
	ck_assert_int_eq(report.num_other_shape, 2);
	ck_assert_str_eq(report.first_other_shape, "conv/kernel");
	ck_assert_int_ge(report.num_left_over, 1);
	finish(&f);
	finish(&other);
}
END_TEST

START_TEST(bad_steps_leave_the_weights_alone)
{
	struct fixture f = make(zoo_net(), 1, &base);
	char before[65];
	struct pfld_error error;
	train(&f, 0, 2);
	ck_pfld(pfld_weights_sha256(f.weights, before, error));
	zoo_batch(f.batch, f.net, 6, 7);
	f.batch->inputs[100] = NAN;
	ck_assert_int_eq(pfld_trainer_step(f.trainer, f.batch, NULL, &error), PFLD_ERR_DATA);
	ck_assert_ptr_nonnull(strstr(error.message, "input \"image\""));
	expect_digest(f.weights, before);
	zoo_batch(f.batch, f.net, 6, 7);
	f.batch->targets[3] = INFINITY;
	ck_assert_int_eq(pfld_trainer_step(f.trainer, f.batch, NULL, &error), PFLD_ERR_DATA);
	expect_digest(f.weights, before);
	// A weight that is not finite is found in its layer.
	struct pfld_tensor *kernel = pfld_weights_tensor(f.weights, "grouped/kernel");
	ck_pfld(pfld_tensor_fill(kernel, INFINITY, error));
	zoo_batch(f.batch, f.net, 6, 7);
	ck_assert_int_eq(pfld_trainer_step(f.trainer, f.batch, NULL, &error), PFLD_ERR_DATA);
	ck_assert_msg(strstr(error.message, "layer grouped (conv2d)") != NULL, "%s", error.message);
	finish(&f);
}
END_TEST

START_TEST(wrong_batches_are_refused)
{
	struct fixture f = make(small_net(), 1, &base);
	struct pfld_error error;
	f.batch->num_samples = 0;
	ck_assert_int_eq(pfld_trainer_step(f.trainer, f.batch, NULL, &error), PFLD_ERR_ARGUMENT);
	f.batch->num_samples = 7;
	ck_assert_int_eq(pfld_trainer_step(f.trainer, f.batch, NULL, &error), PFLD_ERR_ARGUMENT);
	f.batch->num_samples = 1;
	ck_assert(pfld_trainer_needs_two_samples(f.trainer));
	ck_assert_int_eq(pfld_trainer_step(f.trainer, f.batch, NULL, &error), PFLD_ERR_ARGUMENT);
	ck_assert_int_eq(pfld_trainer_step(f.trainer, NULL, NULL, &error), PFLD_ERR_ARGUMENT);
	struct pfld_trainer *none = NULL;
	struct pfld_trainer_options options = base;
	options.loss.kind = PFLD_LOSS_PFLD; // small_net has no angles
	ck_assert_int_eq(pfld_trainer_create(&none, f.weights, &options, &error), PFLD_ERR_ARGUMENT);
	options = base;
	options.optimizer.momentum = 1;
	ck_assert_int_eq(pfld_trainer_create(&none, f.weights, &options, &error), PFLD_ERR_ARGUMENT);
	options = base;
	options.batch = 0;
	ck_assert_int_eq(pfld_trainer_create(&none, f.weights, &options, &error), PFLD_ERR_ARGUMENT);
	ck_assert_ptr_null(none);
	finish(&f);
}
END_TEST

// Every loss and optimizer brings the loss of one batch down.
START_TEST(losses_fall)
{
	static const enum pfld_loss_kind losses[] = {PFLD_LOSS_WING, PFLD_LOSS_PFLD, PFLD_LOSS_PFLD_COMPAT, PFLD_LOSS_L1,
	                                             PFLD_LOSS_L2, PFLD_LOSS_SMOOTH_L1, PFLD_LOSS_SIGMOID_CROSS_ENTROPY};
	static const struct pfld_optimizer_options optimizers[] = {
	    {.kind = PFLD_ADAM, .learning_rate = 3e-3},
	    {.kind = PFLD_ADAM, .learning_rate = 3e-3, .tensorflow_epsilon = true, .clip_norm = 1},
	    {.kind = PFLD_ADAMW, .learning_rate = 3e-3, .weight_decay = 1e-2},
	    {.kind = PFLD_SGD, .learning_rate = 1e-3, .momentum = 0.9, .nesterov = true, .clip_value = 1},
	    {.kind = PFLD_SGD, .learning_rate = 3e-3},
	    {.kind = PFLD_ADAGRAD, .learning_rate = 1e-2},
	    {.kind = PFLD_ADADELTA, .learning_rate = 1, .epsilon = 1e-4},
	    {.kind = PFLD_RMSPROP, .learning_rate = 1e-3},
	};
	for (size_t i = 0; i < sizeof losses / sizeof *losses + sizeof optimizers / sizeof *optimizers; i++) {
		size_t num_losses = sizeof losses / sizeof *losses;
		struct pfld_trainer_options options = base;
		options.loss.kind = losses[i < num_losses ? i : 0];
		options.optimizer = optimizers[i < num_losses ? 0 : i - num_losses];
		struct fixture f = make(zoo_net(), 2, &options);
		zoo_batch(f.batch, f.net, 6, 1);
		double first = 0, loss = 0;
		for (int step = 0; step < 25; step++) {
			ck_pfld(pfld_trainer_step(f.trainer, f.batch, &loss, error));
			if (step == 0) first = loss;
		}
		ck_assert_msg(loss < 0.97 * first, "loss %s, optimizer %s: from %g to %g", pfld_loss_name(options.loss.kind),
		              pfld_optimizer_name(options.optimizer.kind), first, loss);
		finish(&f);
	}
}
END_TEST

START_TEST(the_plan_is_what_is_taken)
{
	for (int optimizer = PFLD_SGD; optimizer <= PFLD_ADAMW; optimizer++) {
		struct pfld_trainer_options options = base;
		options.optimizer.kind = (enum pfld_optimizer_kind)optimizer;
		options.num_slots = 1 + optimizer % 4;
		struct fixture f = make(zoo_net(), 1 + optimizer % 3, &options);
		struct pfld_plan *plan = NULL;
		struct pfld_plan_summary before, made;
		struct pfld_memory memory;
		ck_pfld(pfld_trainer_plan_create(&plan, f.device, f.net, &options, error));
		pfld_plan_summary(plan, &before);
		pfld_plan_summary(pfld_trainer_plan(f.trainer), &made);
		pfld_device_memory(f.device, &memory);
		ck_assert_uint_eq(before.planned_peak_bytes, made.planned_peak_bytes);
		ck_assert_uint_eq(memory.current_bytes, made.planned_peak_bytes);
		pfld_plan_destroy(&plan);
		finish(&f);
	}
}
END_TEST

static uint64_t planned(struct pfld_device *device, const struct pfld_net *net, int32_t batch, bool smallest)
{
	struct pfld_trainer_options options = base;
	struct pfld_plan *plan = NULL;
	struct pfld_plan_summary summary;
	options.batch = batch;
	ck_pfld(pfld_trainer_plan_create(&plan, device, net, &options, error));
	pfld_plan_summary(plan, &summary);
	pfld_plan_destroy(&plan);
	return smallest ? summary.smallest_budget_bytes : summary.planned_peak_bytes;
}

// The edge is one: that batch fits, the next does not, to the byte.
START_TEST(the_largest_batch_is_an_edge)
{
	struct pfld_device *device = zoo_device(1);
	struct pfld_net *net = zoo_net();
	struct pfld_trainer_options options = base;
	struct pfld_largest_batch largest;
	struct pfld_error error;
	for (int again = 0; again < 2; again++)
		for (int32_t batch = 2; batch < 2000; batch = batch * 3 + 1) {
			uint64_t bytes = planned(device, net, batch, again), next = planned(device, net, batch + 1, again);
			options.memory_budget_bytes = 1;
			for (int byte = 0; byte < 2; byte++) {
				ck_pfld(pfld_trainer_largest_batch(&largest, device, net, &options, byte ? next - 1 : bytes, again, error));
				ck_assert_int_eq(largest.batch, batch);
				ck_assert_int_eq(largest.smallest_batch, 2);
				ck_assert_uint_eq(largest.bytes, bytes);
				ck_assert_uint_eq(largest.next_bytes, next);
			}
		}
	uint64_t least = planned(device, net, 2, false);
	ck_pfld(pfld_trainer_largest_batch(&largest, device, net, &options, least - 1, false, error));
	ck_assert_int_eq(largest.batch, 0);
	ck_assert_uint_eq(largest.next_bytes, least);
	ck_pfld(pfld_trainer_largest_batch(&largest, device, net, &options, UINT64_MAX, false, error));
	ck_assert_int_eq(largest.batch, 1 << 20);
	ck_assert_uint_eq(largest.next_bytes, 0);
	struct pfld_program_options program = {.mode = PFLD_INFER};
	ck_pfld(pfld_program_largest_batch(&largest, device, net, &program, least, false, error));
	ck_assert_int_gt(largest.batch, 2);
	ck_assert_int_eq(largest.smallest_batch, 1);
	ck_assert(largest.bytes <= least && least < largest.next_bytes);
	options.loss.kind = PFLD_LOSS_NONE;
	ck_assert_int_eq(pfld_trainer_largest_batch(&largest, device, net, &options, least, false, &error), PFLD_ERR_ARGUMENT);
	pfld_net_destroy(&net);
	pfld_device_close(&device);
}
END_TEST

START_TEST(predictions_do_not_depend_on_the_batch)
{
	struct fixture f = make(zoo_net(), 2, &base);
	float all[36], one[6];
	train(&f, 0, 3);
	zoo_batch(f.batch, f.net, 6, 1);
	ck_pfld(pfld_trainer_predict(f.trainer, f.batch, all, error));
	struct pfld_batch single = *f.batch;
	single.num_samples = 1;
	single.inputs += 4 * 192;
	ck_pfld(pfld_trainer_predict(f.trainer, &single, one, error));
	ck_assert(!memcmp(one, all + 4 * 6, sizeof one));
	finish(&f);
}
END_TEST

// Its gradient is pending where the concat's parts are added to others'.
START_TEST(a_norm_behind_a_concat)
{
	double losses[2][6];
	for (int unfused = 0; unfused < 2; unfused++) {
		struct pfld_trainer_options options = base;
		options.loss.kind = PFLD_LOSS_PFLD;
		options.unfused = unfused;
		struct fixture f = make(norm_net(9), 2, &options);
		for (int32_t i = 0; i < 6; i++) {
			zoo_batch(f.batch, f.net, 6 - i % 3, (uint64_t)i);
			ck_pfld(pfld_trainer_step(f.trainer, f.batch, &losses[unfused][i], error));
		}
		finish(&f);
	}
	for (int32_t i = 0; i < 6; i++) ck_assert_double_eq_tol(losses[0][i], losses[1][i], 1e-4 * losses[1][i]);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("trainer");
	TCase *tcase = tcase_create("trainer");
	tcase_set_timeout(tcase, 60);
	tcase_add_checked_fixture(tcase, open_folder, close_folder);
	tcase_add_test(tcase, a_norm_behind_a_concat);
	tcase_add_test(tcase, threads_change_no_bit);
	tcase_add_test(tcase, a_loop_by_hand_gives_the_same_bits);
	tcase_add_test(tcase, checkpoints_go_on_to_the_same_bits);
	tcase_add_test(tcase, wrong_checkpoints_change_nothing);
	tcase_add_test(tcase, bad_steps_leave_the_weights_alone);
	tcase_add_test(tcase, wrong_batches_are_refused);
	tcase_add_test(tcase, losses_fall);
	tcase_add_test(tcase, the_plan_is_what_is_taken);
	tcase_add_test(tcase, the_largest_batch_is_an_edge);
	tcase_add_test(tcase, predictions_do_not_depend_on_the_batch);
	suite_add_tcase(suite, tcase);
	SRunner *runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	int failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? 1 : 0;
}
