// SPDX-License-Identifier: MIT
// What the opencl backend does beside ops: memory of every policy on each device found, copies at odd places, memory for
// the host, what is pending read with the bits of what is materialised, and words for what is missing. Skips where there
// is no OpenCL device; ops are tested by test_ops*.c.
#define _GNU_SOURCE
#include "base/random.h"
#include "device/device.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_DEVICES = 8, SKIPPED = 77, MIB = 1 << 20 };
static char names[MAX_DEVICES][24];
static int32_t num_names;

static struct pfld_device *open_named(const char *name, const struct pfld_device_options *options)
{
	struct pfld_device *device = NULL;
	struct pfld_error error = {0};
	ck_assert_msg(pfld_device_open(&device, name, options, &error) == PFLD_OK, "%s: %s", name, error.message);
	return device;
}

static void take(struct pfld_device *device, size_t bytes, struct pfld_region *region)
{
	struct pfld_error error = {0};
	ck_assert_msg(!pfld_device_region_create(device, bytes, PFLD_MEMORY_OTHER, "a test", region, &error), "%s", error.message);
}

static void give(struct pfld_device *device, struct pfld_region *region)
{
	pfld_device_region_destroy(device, PFLD_MEMORY_OTHER, region);
}

static void check_filled(struct pfld_device *device, const struct pfld_region *region, size_t first, size_t num, float value)
{
	float *numbers = malloc(num * sizeof *numbers);
	ck_assert_int_eq(pfld_device_download(device, region, first * sizeof(float), PFLD_F32, numbers, num, NULL), PFLD_OK);
	for (size_t i = 0; i < num; i++)
		if (numbers[i] != value) ck_abort_msg("element %zu is not what it should be", first + i);
	free(numbers);
}

// ---- memory ----

static void check_region(struct pfld_device *device)
{
	struct pfld_region a, b;
	take(device, 3 * MIB, &a);
	take(device, 1000, &b);
	check_filled(device, &a, 0, 3 * MIB / 4, 0);
	ck_assert_int_eq(pfld_device_fill(device, &a, 12, 2.5, 77, NULL), PFLD_OK);
	check_filled(device, &a, 0, 3, 0);
	check_filled(device, &a, 3, 77, 2.5f);
	check_filled(device, &a, 80, 100, 0);
	double sent[3] = {1, -2, 0.5}, got[3];
	ck_assert_int_eq(pfld_device_upload(device, &b, 20, PFLD_F64, sent, 3, NULL), PFLD_OK);
	ck_assert_int_eq(pfld_device_download(device, &b, 20, PFLD_F64, got, 3, NULL), PFLD_OK);
	ck_assert_int_eq(memcmp(sent, got, sizeof got), 0);
	check_filled(device, &b, 0, 5, 0);
	check_filled(device, &b, 8, 242, 0);
	give(device, &a);
	take(device, 2 * MIB, &a); // what was there before is not seen
	check_filled(device, &a, 0, 2 * MIB / 4, 0);
	give(device, &b);
	give(device, &a);
}

START_TEST(memory)
{
	struct pfld_device *device = open_named(names[_i], NULL);
	struct pfld_memory memory;
	check_region(device);
	pfld_device_memory(device, &memory);
	ck_assert_uint_eq(memory.current_bytes, 0);
	ck_assert_uint_eq(memory.peak_bytes, 3 * MIB + 1000);
	ck_assert_uint_eq(memory.reserved_bytes, 0);
	pfld_device_close(&device);
}
END_TEST

START_TEST(chunks)
{
	struct pfld_device *device = open_named(names[_i], &(struct pfld_device_options){.allow_growth = true});
	struct pfld_memory memory;
	check_region(device);
	pfld_device_memory(device, &memory);
	ck_assert_uint_eq(memory.reserved_bytes, 64 * MIB);
	pfld_device_close(&device);
	double fraction = 24.0 * MIB / (double)pfld_device_get_info(device = open_named(names[_i], NULL))->memory_bytes;
	pfld_device_close(&device);
	device = open_named(names[_i], &(struct pfld_device_options){.memory_fraction = fraction});
	check_region(device);
	pfld_device_memory(device, &memory);
	ck_assert_uint_le(memory.reserved_bytes, 24 * MIB);
	ck_assert_uint_ge(memory.reserved_bytes, 24 * MIB - 4096);
	pfld_device_close(&device);
}
END_TEST

START_TEST(limits)
{
	struct pfld_device *device = open_named(names[_i], &(struct pfld_device_options){.limit_bytes = 4 * MIB});
	struct pfld_device_limits limits;
	struct pfld_region region = {0};
	struct pfld_error error = {0};
	pfld_device_get_limits(device, &limits);
	ck_assert_uint_ge(limits.alignment_bytes, 64);
	ck_assert_uint_eq(limits.alignment_bytes & (limits.alignment_bytes - 1), 0);
	ck_assert_uint_ge(limits.max_region_bytes, 128 * MIB);
	ck_assert_uint_ge(limits.memory_bytes, limits.max_region_bytes);
	enum pfld_status status = pfld_device_region_create(device, 4 * MIB + 1, PFLD_MEMORY_OTHER, "a test", &region, &error);
	ck_assert_int_eq(status, PFLD_ERR_MEMORY);
	ck_assert_ptr_null(region.handle);
	check_region(device);
	pfld_device_close(&device);
}
END_TEST

// The host writes it, uploads come from it; it is counted whatever the policy.
START_TEST(host_memory)
{
	for (int grows = 0; grows < 2; grows++) {
		struct pfld_device *device = open_named(names[_i], &(struct pfld_device_options){.allow_growth = grows});
		struct pfld_region host, region;
		struct pfld_memory memory;
		ck_assert_int_eq(pfld_device_host_region_create(device, 4000, PFLD_MEMORY_BATCH, "slots", &host, NULL), PFLD_OK);
		float *numbers = host.host;
		for (int i = 0; i < 1000; i++) {
			ck_assert(numbers[i] == 0);
			numbers[i] = 3;
		}
		take(device, 4096, &region);
		ck_assert_int_eq(pfld_device_upload(device, &region, 8, PFLD_F32, numbers, 1000, NULL), PFLD_OK);
		check_filled(device, &region, 2, 1000, 3);
		pfld_device_memory(device, &memory);
		ck_assert_uint_eq(memory.by_class[PFLD_MEMORY_BATCH], 4000);
		ck_assert_uint_eq(memory.reserved_bytes, grows ? 64 * MIB + 4000 : 4096 + 4000);
		give(device, &region);
		pfld_device_region_destroy(device, PFLD_MEMORY_BATCH, &host);
		pfld_device_memory(device, &memory);
		ck_assert_uint_eq(memory.current_bytes, 0);
		pfld_device_close(&device);
	}
}
END_TEST

// ---- pending ----

enum { N = 3, H = 5, W = 7, C = 37, PIXELS = N * H * W };

// Operands of one size each in one region, filled with random numbers.
struct bench {
	struct pfld_device *device;
	struct pfld_region region;
	size_t used_bytes;
	struct pfld_random random;
};

static struct pfld_operand add_operand(struct bench *bench, bool picture, int32_t stride)
{
	struct pfld_operand operand = {.tensor = 1, .h = picture ? H : 1, .w = picture ? W : 1, .c = C, .pixel_stride = stride};
	size_t count = (size_t)stride * (picture ? PIXELS : 1);
	float *numbers = malloc(count * sizeof *numbers);
	for (size_t i = 0; i < count; i++) numbers[i] = (float)pfld_random_range(&bench->random, -2, 2);
	operand.per_sample = picture;
	operand.region = &bench->region;
	operand.offset_bytes = bench->used_bytes;
	ck_assert_int_eq(pfld_device_upload(bench->device, &bench->region, bench->used_bytes, PFLD_F32, numbers, count, NULL), PFLD_OK);
	bench->used_bytes += pfld_align(count * sizeof *numbers, 64) + 4; // never aligned for long
	free(numbers);
	return operand;
}

static struct pfld_op new_op(enum pfld_op_kind kind)
{
	struct pfld_op op = {.kind = kind, .layer = -1};
	for (int32_t i = 0; i < PFLD_OP_MAX_SRC; i++) op.src[i].tensor = PFLD_NO_TENSOR;
	for (int32_t i = 0; i < PFLD_OP_MAX_DST; i++) op.dst[i].tensor = PFLD_NO_TENSOR;
	op.workspace.tensor = PFLD_NO_TENSOR;
	return op;
}

static void perform(struct pfld_device *device, const struct pfld_op *op)
{
	struct pfld_op_state *state = NULL;
	struct pfld_run run = {.n = N, .loss_scale = 1};
	struct pfld_error error = {0};
	ck_assert_msg(pfld_device_prepare(device, op, N + 1, &state, &error) == PFLD_OK, "%s", error.message);
	for (int twice = 0; twice < 2; twice++) ck_assert_int_eq(pfld_device_enqueue(device, op, state, &run, &error), PFLD_OK);
	pfld_device_release(device, &state);
	ck_assert_int_eq(pfld_device_finish(device, &error), PFLD_OK);
}

static void materialise(struct bench *bench, const struct pfld_operand *from, const struct pfld_pending *pending,
                        const struct pfld_operand *to)
{
	bool gradient = pending->kind == PFLD_PENDING_GRADIENT;
	struct pfld_op op = new_op(gradient ? PFLD_OP_BN_GRADIENT : PFLD_OP_APPLY);
	op.attr.act = (struct pfld_act_attr){.act = pending->act, .slope = pending->slope};
	op.src[0] = *from;
	op.dst[0] = *to;
	if (gradient) {
		const struct pfld_operand rest[] = {pending->x, pending->scale, pending->shift, pending->mean, pending->mean_dz,
		                                    pending->slope_x};
		memcpy(op.src + 1, rest, sizeof rest);
	} else {
		op.src[1] = pending->scale;
		op.src[2] = pending->shift;
	}
	perform(bench->device, &op);
}

static void add_two(struct bench *bench, const struct pfld_operand *a, const struct pfld_operand *b,
                    const struct pfld_operand *to)
{
	struct pfld_op op = new_op(PFLD_OP_ADD);
	op.attr.add = (struct pfld_add_attr){.num_src = 2, .scale = {0.75, -1.5}};
	op.src[0] = *a;
	op.src[1] = *b;
	op.dst[0] = *to;
	perform(bench->device, &op);
}

static void check_pending(struct bench *bench, enum pfld_act act)
{
	const struct pfld_operand absent = {.tensor = PFLD_NO_TENSOR};
	struct pfld_operand a = add_operand(bench, true, C + 3), b = add_operand(bench, true, C), numbers[6];
	struct pfld_operand a_there = add_operand(bench, true, C), b_there = add_operand(bench, true, C + 1);
	struct pfld_operand first = add_operand(bench, true, C), second = add_operand(bench, true, C);
	for (int i = 0; i < 6; i++) numbers[i] = add_operand(bench, i == 2, C);
	struct pfld_pending value = {PFLD_PENDING_VALUE, act, 0.25, numbers[0], numbers[1], absent, absent, absent, absent};
	struct pfld_pending gradient = {PFLD_PENDING_GRADIENT, act,        0.25,       numbers[0], numbers[1],
	                                numbers[2],            numbers[3], numbers[4], numbers[5]};
	static float got[2][PIXELS * C];
	materialise(bench, &a, &value, &a_there);
	materialise(bench, &b, &gradient, &b_there);
	add_two(bench, &a_there, &b_there, &first);
	a.pending = &value;
	b.pending = &gradient;
	add_two(bench, &a, &b, &second);
	for (int i = 0; i < 2; i++)
		ck_assert_int_eq(pfld_device_download(bench->device, &bench->region, (i ? &second : &first)->offset_bytes, PFLD_F32,
		                                      got[i], PIXELS * C, NULL),
		                 PFLD_OK);
	ck_assert_msg(!memcmp(got[0], got[1], sizeof got[0]), "%s: other bits when pending", pfld_act_name(act));
}

START_TEST(pending_or_not)
{
	struct bench bench = {.device = open_named(names[_i], &(struct pfld_device_options){.allow_growth = true}),
	                      .random = pfld_random_stream(5, PFLD_RANDOM_TEST, 0, 0)};
	struct pfld_region before; // so that the region is carved at an offset
	take(bench.device, 1000, &before);
	take(bench.device, 4 * MIB, &bench.region);
	for (enum pfld_act act = PFLD_ACT_NONE; act <= PFLD_ACT_TANH; act++)
		if (act != PFLD_ACT_PRELU) check_pending(&bench, act);
	give(bench.device, &bench.region);
	give(bench.device, &before);
	pfld_device_close(&bench.device);
}
END_TEST

// A device that is not there is answered with what there is.
START_TEST(words)
{
	struct pfld_device *device = NULL;
	struct pfld_error error = {0};
	ck_assert_int_eq(pfld_device_open(&device, "opencl:99", NULL, &error), PFLD_ERR_NO_DEVICE);
	ck_assert_ptr_nonnull(strstr(error.message, names[_i]));
}
END_TEST

static bool driver_is_loaded(void)
{
	char line[1024];
	bool found = false;
	FILE *file = fopen("/proc/self/maps", "r");
	while (file && fgets(line, sizeof line, file)) found = found || strstr(line, "libpocl");
	if (file) fclose(file);
	return found;
}

// Drivers start threads and take memory: who asks for the cpu gets none of that.
START_TEST(the_cpu_needs_no_driver)
{
	struct pfld_device *device = open_named("cpu", NULL);
	ck_assert(!driver_is_loaded());
	pfld_device_close(&device);
}
END_TEST

// The list as it would be without drivers: the loader reads the variable when it is first asked, so this comes in a
// process of its own.
START_TEST(no_driver)
{
	struct pfld_device *device = NULL;
	struct pfld_error error = {0};
	char notes[1024] = "";
	setenv("OCL_ICD_VENDORS", "/nonexistent", 1);
	ck_assert_int_eq(pfld_device_list(NULL, NULL, 0, notes, sizeof notes), 1);
	ck_assert_ptr_nonnull(strstr(notes, "pocl-opencl-icd"));
	ck_assert_int_eq(pfld_device_open(&device, "opencl:0", NULL, &error), PFLD_ERR_NO_DEVICE);
	ck_assert_ptr_nonnull(strstr(error.message, "pocl-opencl-icd"));
	ck_assert_int_eq(pfld_device_open(&device, "auto", NULL, &error), PFLD_OK);
	pfld_device_close(&device);
}
END_TEST

// In a process of its own as well: drivers stay loaded, and do not like being forked.
START_TEST(count)
{
	static struct pfld_device_info infos[MAX_DEVICES + 1];
	int32_t num = pfld_device_list(NULL, infos, MAX_DEVICES + 1, NULL, 0);
	FILE *file = fopen("opencl_devices.txt", "w");
	ck_assert_ptr_nonnull(file);
	for (int32_t i = 1; i < PFLD_MIN(num, MAX_DEVICES + 1); i++)
		if (!infos[i].unusable[0]) fprintf(file, "%s\n", infos[i].name);
	ck_assert_int_eq(fclose(file), 0);
}
END_TEST

static int run(TCase *tests)
{
	Suite *suite = suite_create("opencl");
	suite_add_tcase(suite, tests);
	SRunner *runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	int failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed;
}

static void read_names(void)
{
	FILE *file = fopen("opencl_devices.txt", "r");
	while (file && num_names < MAX_DEVICES && fscanf(file, "%23s", names[num_names]) == 1) num_names++;
	if (file) fclose(file);
	remove("opencl_devices.txt");
}

int main(void)
{
	TCase *before = tcase_create("before"), *tests = tcase_create("opencl");
	tcase_add_test(before, the_cpu_needs_no_driver);
	tcase_add_test(before, no_driver);
	tcase_add_test(before, count);
	int failed = run(before);
	read_names();
	if (!num_names) printf("skipped: there is no OpenCL device here\n");
	tcase_set_timeout(tests, 120);
	tcase_add_loop_test(tests, memory, 0, num_names);
	tcase_add_loop_test(tests, chunks, 0, num_names);
	tcase_add_loop_test(tests, limits, 0, num_names);
	tcase_add_loop_test(tests, host_memory, 0, num_names);
	tcase_add_loop_test(tests, pending_or_not, 0, num_names);
	tcase_add_loop_test(tests, words, 0, num_names);
	failed += run(tests);
	return failed ? EXIT_FAILURE : num_names ? EXIT_SUCCESS : SKIPPED;
}
