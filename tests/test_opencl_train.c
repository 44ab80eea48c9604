// SPDX-License-Identifier: MIT
// Training on an OpenCL device: planned equals measured to the byte under every memory policy, the device does the work and
// nobody waits inside a step, the cpu's losses, the same bits at every run, and bad steps that leave the weights alone.
// Buffers, kernels and waits are counted by counting_opencl.c. Skips where there is no OpenCL device.
#define _POSIX_C_SOURCE 200809L
#include "base/file.h"
#include "counting_opencl.h"
#include "scratch.h"
#include "zoo.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SKIPPED = 77, NUM_NETS = 4, NUM_COMBINATIONS = 20 };

static struct pfld_net *make_net(int32_t which)
{
	if (which == 0) return norm_net(9);
	if (which == 1) return small_net();
	if (which == 2) return zoo_net();
	struct pfld_net *net = pfld_net_create();
	pfld_model_pfld(net, &(struct pfld_model_options){.width = 0.25, .num_points = 3, .size = 48, .angles = true});
	ck_pfld(pfld_net_check(net, error));
	return net;
}

static struct pfld_device *open_named(const char *name, const struct pfld_device_options *options)
{
	struct pfld_device *device = NULL;
	ck_pfld(pfld_device_open(&device, name, options, error));
	return device;
}

struct fixture {
	struct pfld_device *device;
	struct pfld_net *net;
	struct pfld_weights *weights;
	struct pfld_trainer *trainer;
	struct pfld_batch *batch;
};

// False: the net has ops that the device does not do yet.
static bool make(struct fixture *f, struct pfld_device *device, struct pfld_net *net,
                 const struct pfld_trainer_options *options)
{
	struct pfld_error error = {0};
	*f = (struct fixture){.device = device, .net = net};
	ck_pfld(pfld_weights_create(&f->weights, device, net, 3, error));
	enum pfld_status status = pfld_trainer_create(&f->trainer, f->weights, options, &error);
	if (status == PFLD_ERR_UNSUPPORTED) return false;
	ck_assert_msg(status == PFLD_OK, "%s", error.message);
	f->batch = pfld_trainer_slots(f->trainer, NULL);
	return true;
}

static void finish(struct fixture *f)
{
	pfld_trainer_destroy(&f->trainer);
	pfld_weights_destroy(&f->weights);
	pfld_net_destroy(&f->net);
	pfld_device_close(&f->device);
}

// ---- planned is measured ----

static struct pfld_trainer_options options_of(int32_t i)
{
	static const enum pfld_optimizer_kind optimizers[] = {PFLD_ADAM, PFLD_SGD, PFLD_RMSPROP, PFLD_ADADELTA};
	enum pfld_optimizer_kind kind = optimizers[i % 4];
	return (struct pfld_trainer_options){
	    .batch = 2 + i % 5,
	    .loss = {.kind = i % 2 || i % NUM_NETS == 1 ? PFLD_LOSS_L2 : PFLD_LOSS_PFLD},
	    .optimizer = {.kind = kind, .learning_rate = 1e-4, .momentum = kind == PFLD_SGD ? 0.9 : 0, .clip_norm = i % 2},
	    .num_slots = i % 4,
	    .accumulate = 1 + i % 2,
	};
}

static uint64_t budget_of(struct pfld_device *device, struct pfld_net *net, int32_t i)
{
	struct pfld_trainer_options options = options_of(i);
	struct pfld_plan *plan = NULL;
	struct pfld_plan_summary summary;
	if (i % 3 == 0) return 0;
	ck_pfld(pfld_trainer_plan_create(&plan, device, net, &options, error));
	pfld_plan_summary(plan, &summary);
	pfld_plan_destroy(&plan);
	return i % 3 == 1 ? summary.smallest_budget_bytes : (summary.smallest_budget_bytes + summary.planned_peak_bytes) / 2;
}

static void run_steps(struct fixture *f, int32_t capacity)
{
	float predictions[64];
	for (int32_t i = 0; i < 3; i++) {
		int64_t kernels = calls_now().num_kernels;
		zoo_batch(f->batch, f->net, i ? capacity : 2, 5 + (uint64_t)i);
		ck_pfld(pfld_trainer_step(f->trainer, f->batch, NULL, error));
		ck_assert_int_gt(calls_now().num_kernels, kernels);
		ck_pfld(pfld_trainer_predict(f->trainer, f->batch, predictions, error));
	}
}

// Policy: as it comes, growth, a share, a limit of just what is needed.
START_TEST(planned_is_measured)
{
	struct pfld_device_options policy = {.allow_growth = _i % 5 == 3, .memory_fraction = _i % 5 == 4 ? 0.02 : 0};
	struct pfld_device *device = open_named("opencl:0", &policy);
	struct pfld_net *net = make_net(_i % NUM_NETS);
	struct pfld_trainer_options options = options_of(_i);
	struct pfld_plan_summary summary;
	struct pfld_memory memory;
	struct fixture f;
	options.memory_budget_bytes = budget_of(device, net, _i);
	bool exact = !policy.allow_growth && policy.memory_fraction == 0;
	size_t opened = calls_now().buffer_bytes; // what stands for absent operands, and what a share reserves
	if (!make(&f, device, net, &options)) {
		finish(&f);
		return;
	}
	int64_t created = calls_now().num_created;
	run_steps(&f, options.batch);
	ck_assert_int_eq(calls_now().num_created, created);
	pfld_plan_summary(pfld_trainer_plan(f.trainer), &summary);
	pfld_device_memory(device, &memory);
	ck_assert_uint_eq(memory.peak_bytes, summary.planned_peak_bytes);
	if (exact) ck_assert_uint_eq(calls_now().peak_bytes - opened, summary.planned_peak_bytes);
	// The few bytes beside are those that stand for absent operands.
	ck_assert_uint_le(calls_now().peak_bytes - memory.peak_reserved_bytes, 64);
	if (options.memory_budget_bytes) ck_assert_uint_le(memory.peak_bytes, options.memory_budget_bytes);
	finish(&f);
	ck_assert_uint_eq(calls_now().buffer_bytes, 0);
}
END_TEST

START_TEST(limits)
{
	struct pfld_trainer_options options = options_of(0);
	struct pfld_error error = {0};
	struct pfld_plan *plan = NULL;
	struct pfld_plan_summary summary;
	struct fixture f;
	struct pfld_device *device = open_named("opencl:0", NULL);
	struct pfld_net *net = make_net(0);
	ck_pfld(pfld_trainer_plan_create(&plan, device, net, &options, error));
	pfld_plan_summary(plan, &summary);
	pfld_plan_destroy(&plan);
	pfld_device_close(&device);
	struct pfld_device_options policy = {.limit_bytes = summary.planned_peak_bytes};
	ck_assert(make(&f, open_named("opencl:0", &policy), net, &options));
	run_steps(&f, options.batch);
	finish(&f);
	policy.limit_bytes--;
	f = (struct fixture){.device = open_named("opencl:0", &policy), .net = make_net(0)};
	ck_pfld(pfld_weights_create(&f.weights, f.device, f.net, 3, error));
	ck_assert_int_eq(pfld_trainer_create(&f.trainer, f.weights, &options, &error), PFLD_ERR_MEMORY);
	finish(&f);
	ck_assert_uint_eq(calls_now().buffer_bytes, 0);
}
END_TEST

// The driver's own limit: the page comes before anything is taken.
START_TEST(a_device_that_is_too_small)
{
	setenv("POCL_MEMORY_LIMIT", "1", 1); // GiB
	struct pfld_device_limits device_limits;
	struct pfld_error error = {0};
	struct fixture f = {.device = open_named("opencl:0", NULL), .net = norm_net(256)};
	pfld_device_get_limits(f.device, &device_limits);
	if (device_limits.memory_bytes <= (uint64_t)1 << 30) { // this driver looks at it
		struct pfld_trainer_options options = options_of(0);
		options.batch = 400;
		ck_pfld(pfld_weights_create(&f.weights, f.device, f.net, 3, error));
		size_t taken = calls_now().buffer_bytes;
		ck_assert_int_eq(pfld_trainer_create(&f.trainer, f.weights, &options, &error), PFLD_ERR_MEMORY);
		ck_assert_uint_eq(calls_now().buffer_bytes, taken);
		ck_assert_ptr_nonnull(strstr(error.message, "opencl:0"));
	}
	finish(&f);
}
END_TEST

// ---- training ----

// Losses of some steps; of every other one nobody asks.
static void losses_of(const char *name, int32_t net, double *losses, int32_t num)
{
	struct pfld_trainer_options options = options_of(0);
	struct fixture f;
	options.batch = 6;
	options.optimizer.learning_rate = 1e-2;
	options.loss.kind = net == 1 ? PFLD_LOSS_L2 : PFLD_LOSS_PFLD;
	memset(losses, 0, (size_t)num * sizeof *losses);
	if (make(&f, open_named(name, NULL), make_net(net), &options)) {
		for (int32_t i = 0; i < num; i++) {
			zoo_batch(f.batch, f.net, 6 - i % 3, (uint64_t)i);
			ck_pfld(pfld_trainer_step(f.trainer, f.batch, i % 2 ? &losses[i] : NULL, error));
		}
		ck_pfld(pfld_trainer_mean_loss(f.trainer, &losses[0], NULL, error));
	}
	finish(&f);
}

START_TEST(the_cpus_losses_and_the_same_bits)
{
	enum { NUM_STEPS = 12 };
	double here[NUM_STEPS], again[NUM_STEPS], cpu[NUM_STEPS];
	losses_of("cpu", _i, cpu, NUM_STEPS);
	losses_of("opencl:0", _i, here, NUM_STEPS);
	losses_of("opencl:0", _i, again, NUM_STEPS);
	losses_of("cpu", _i, cpu, NUM_STEPS);
	ck_assert_int_eq(memcmp(here, again, sizeof here), 0);
	if (here[0] == 0) return; // it does not do this net yet
	for (int32_t i = 0; i < NUM_STEPS; i++)
		if (fabs(here[i] - cpu[i]) > 2e-3 * fabs(cpu[i])) ck_abort_msg("loss %d is %g, the cpu's %g", (int)i, here[i], cpu[i]);
}
END_TEST

START_TEST(nobody_waits)
{
	struct pfld_trainer_options options = options_of(0);
	struct fixture f;
	double loss;
	ck_assert(make(&f, open_named("opencl:0", NULL), make_net(0), &options));
	zoo_batch(f.batch, f.net, 2, 1);
	ck_pfld(pfld_trainer_step(f.trainer, f.batch, NULL, error));
	struct counted_calls before = calls_now();
	ck_pfld(pfld_trainer_step(f.trainer, f.batch, NULL, error));
	// For the step before, and for the batch to have been sent.
	ck_assert_int_eq(calls_now().num_waits - before.num_waits, 2);
	before = calls_now();
	ck_pfld(pfld_trainer_step(f.trainer, f.batch, &loss, error));
	ck_assert_int_eq(calls_now().num_waits - before.num_waits, 3);
	printf("%d kernels a step\n", (int)(calls_now().num_kernels - before.num_kernels));
	finish(&f);
}
END_TEST

static void read_weights(const struct fixture *f, char digest[65])
{
	ck_pfld(pfld_weights_sha256(f->weights, digest, error));
}

START_TEST(a_bad_step_is_told_by_the_next_call)
{
	struct pfld_trainer_options options = options_of(0);
	struct pfld_error error = {0};
	struct fixture f;
	char before[65], after[65];
	ck_assert(make(&f, open_named("opencl:0", NULL), make_net(0), &options));
	zoo_batch(f.batch, f.net, 2, 1);
	ck_pfld(pfld_trainer_step(f.trainer, f.batch, NULL, error));
	read_weights(&f, before);
	f.batch->inputs[5] = NAN;
	ck_pfld(pfld_trainer_step(f.trainer, f.batch, NULL, error));
	zoo_batch(f.batch, f.net, 2, 2);
	ck_assert_int_eq(pfld_trainer_step(f.trainer, f.batch, NULL, &error), PFLD_ERR_DATA);
	ck_assert_ptr_nonnull(strstr(error.message, "input \"image\""));
	read_weights(&f, after);
	ck_assert_str_eq(before, after);
	ck_assert_uint_eq(pfld_trainer_num_steps(f.trainer), 1);
	ck_pfld(pfld_trainer_step(f.trainer, f.batch, NULL, error));
	f.batch->inputs[7] = INFINITY;
	double loss;
	ck_assert_int_eq(pfld_trainer_step(f.trainer, f.batch, &loss, &error), PFLD_ERR_DATA);
	ck_assert_uint_eq(pfld_trainer_num_steps(f.trainer), 2);
	finish(&f);
}
END_TEST

// ---- kernels kept on disk ----

static int64_t num_built(const char *folder)
{
	struct pfld_device_options options = {.kernel_cache = folder};
	struct pfld_trainer_options trainer = options_of(0);
	struct fixture f;
	double loss;
	int64_t before = calls_now().num_built;
	ck_assert(make(&f, open_named("opencl:0", &options), make_net(0), &trainer));
	zoo_batch(f.batch, f.net, 2, 1);
	ck_pfld(pfld_trainer_step(f.trainer, f.batch, &loss, error));
	finish(&f);
	return calls_now().num_built - before;
}

// Cut, spoil or swap the files; returns how many there are.
static int64_t harm_files(const char *folder, int32_t how)
{
	char **names = NULL, path[2][512];
	size_t num = 0;
	ck_pfld(pfld_list_folder(folder, &names, &num, error));
	for (size_t i = 0; i < num; i++) {
		uint8_t *bytes = NULL;
		size_t num_bytes = 0;
		snprintf(path[0], sizeof path[0], "%s/%s", folder, names[i]);
		snprintf(path[1], sizeof path[1], "%s/%s", folder, names[(i + 1) % num]);
		ck_pfld(pfld_file_read(path[how == 2], 0, &bytes, &num_bytes, error));
		if (how == 0) num_bytes /= 2;
		if (how == 1) bytes[num_bytes - 7] ^= 1;
		if (how < 3) ck_pfld(pfld_file_replace(path[0], bytes, num_bytes, error));
		free(bytes);
	}
	pfld_names_destroy(&names, num);
	return (int64_t)num;
}

START_TEST(kernels_are_kept)
{
	char folder[64] = "kernels_XXXXXX";
	make_scratch(folder);
	chmod(folder, 0700);
	int64_t all = num_built(NULL);
	ck_assert_int_gt(all, 0);
	ck_assert_int_eq(num_built(folder), all);
	ck_assert_int_eq(harm_files(folder, 3), all);
	ck_assert_int_eq(num_built(folder), 0);
	for (int32_t how = 0; how < 3; how++) {
		harm_files(folder, how);
		ck_assert_int_gt(num_built(folder), 0); // and written anew
		ck_assert_int_eq(num_built(folder), 0);
	}
	chmod(folder, 0770); // others may have put something there
	ck_assert_int_eq(num_built(folder), all);
	chmod(folder, 0700);
	remove_tree(folder);
}
END_TEST

// In a process of its own: drivers do not like being forked.
static bool has_device(void)
{
	pid_t child = fork();
	if (child == 0) _exit(pfld_device_list(NULL, NULL, 0, NULL, 0) > 1);
	int status = 0;
	return child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 1;
}

int main(void)
{
	if (!has_device()) {
		printf("skipped: there is no OpenCL device here\n");
		return SKIPPED;
	}
	Suite *suite = suite_create("opencl_train");
	TCase *tests = tcase_create("opencl_train");
	suite_add_tcase(suite, tests);
	tcase_set_timeout(tests, 120);
	tcase_add_loop_test(tests, planned_is_measured, 0, NUM_COMBINATIONS);
	tcase_add_test(tests, limits);
	tcase_add_test(tests, a_device_that_is_too_small);
	tcase_add_loop_test(tests, the_cpus_losses_and_the_same_bits, 0, NUM_NETS);
	tcase_add_test(tests, nobody_waits);
	tcase_add_test(tests, a_bad_step_is_told_by_the_next_call);
	tcase_add_test(tests, kernels_are_kept);
	SRunner *runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	int failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
