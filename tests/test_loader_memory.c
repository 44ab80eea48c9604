// SPDX-License-Identifier: MIT
// Every allocation of a loader's epoch and of a preparation fails once: the call says so, no file is blamed for it,
// nothing leaks (the sanitizer build looks), and the next try gives what an undisturbed one gives.
// The linker puts the functions below in place of malloc and its sisters (see meson.build).
#include "scratch.h"
#include "small_faces.h"

#include <check.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void *__real_malloc(size_t num_bytes);
void *__real_calloc(size_t num, size_t num_bytes);
void *__real_realloc(void *pointer, size_t num_bytes);

// The allocation that fails counts down to 1; 0 or less: none.
static atomic_long countdown;

static bool fails(void)
{
	return atomic_load(&countdown) > 0 && atomic_fetch_sub(&countdown, 1) == 1;
}

void *__wrap_malloc(size_t num_bytes)
{
	return fails() ? NULL : __real_malloc(num_bytes);
}

void *__wrap_calloc(size_t num, size_t num_bytes)
{
	return fails() ? NULL : __real_calloc(num, num_bytes);
}

void *__wrap_realloc(void *pointer, size_t num_bytes)
{
	return fails() ? NULL : __real_realloc(pointer, num_bytes);
}

#define POINTS 5
#define FACES 6
#define SIZE 16

static char folder[32];
static struct pfld_dataset *dataset;
static int32_t mirror_map[POINTS];

static void set_up(void)
{
	strcpy(folder, "loader-XXXXXX");
	make_scratch(folder);
	dataset = open_small_faces(folder, FACES, POINTS);
	truncate_file(folder, "imgs/4.png", 500);
	ring_mirror_map(POINTS, mirror_map);
}

static void tear_down(void)
{
	pfld_dataset_close(&dataset);
	remove_tree(folder);
}

static float inputs[2][4 * SIZE * SIZE * 3];
static uint32_t indices[2][4];

// Open and run one epoch; the sum of all pixels, in `sum`.
static enum pfld_status run_epoch(struct pfld_loader *loader, double *sum, struct pfld_error *error)
{
	enum pfld_status status;
	struct pfld_batch *batch;
	*sum = 0;
	while ((status = pfld_loader_next(loader, &batch, error)) == PFLD_OK) {
		for (int i = 0; i < batch->num_samples * SIZE * SIZE * 3; i++) *sum += (double)batch->inputs[i];
		pfld_loader_release(loader, batch);
	}
	return status;
}

static void check_loader(int32_t num_threads, enum pfld_crop_kind crop)
{
	struct pfld_batch slots[2] = {{.capacity = 4, .inputs = inputs[0], .indices = indices[0]},
								  {.capacity = 4, .inputs = inputs[1], .indices = indices[1]}};
	const struct pfld_loader_options options = {
		.sample = {.size = SIZE, .crop = crop, .augment = PFLD_AUGMENT_PT, .mirror_map = mirror_map},
		.num_threads = num_threads,
		.shuffle = true,
		.max_bad = 1};
	struct pfld_loader *loader = NULL;
	struct pfld_error error = {0};
	double whole, sum;
	ck_assert_int_eq(pfld_loader_open(&loader, dataset, slots, 2, &options, &error), PFLD_OK);
	ck_assert_int_eq(run_epoch(loader, &whole, &error), PFLD_END);
	pfld_loader_close(&loader);
	int opens_failed = 0, epochs_failed = 0;
	for (long nth = 1;; nth++) {
		memset(&error, 0, sizeof error);
		atomic_store(&countdown, nth);
		enum pfld_status status = pfld_loader_open(&loader, dataset, slots, 2, &options, &error);
		if (status) {
			ck_assert_int_eq(status, PFLD_ERR_MEMORY);
			ck_assert_ptr_null(loader);
			opens_failed++;
			continue;
		}
		status = run_epoch(loader, &sum, &error);
		const bool through = atomic_exchange(&countdown, 0) > 0;
		if (status != PFLD_END) {
			ck_assert_int_eq(status, PFLD_ERR_MEMORY);
			ck_assert_ptr_nonnull(strstr(error.message, "memory"));
			epochs_failed++;
			ck_assert_int_eq(pfld_loader_seek(loader, 1, 0, &error), PFLD_OK);
			ck_assert_int_eq(run_epoch(loader, &sum, &error), PFLD_END);
		}
		ck_assert_double_eq(sum, whole);
		ck_assert_uint_eq(pfld_loader_skips(loader, NULL), 1);
		pfld_loader_close(&loader);
		if (through) break;
	}
	printf("%d threads: %d opens and %d epochs failed\n", (int)num_threads, opens_failed, epochs_failed);
	ck_assert_int_gt(opens_failed, 10);
	ck_assert_int_gt(epochs_failed, 3 * num_threads);
}

START_TEST(loaders)
{
	check_loader(1, PFLD_CROP_INTEGER);
	check_loader(2, PFLD_CROP_INTEGER);
	check_loader(2, PFLD_CROP_FLOAT);
}
END_TEST

START_TEST(preparation)
{
	char out[64];
	snprintf(out, sizeof out, "%s/out", folder);
	const struct pfld_prepare_options options = {
		.size = SIZE, .copies = 2, .mirror_map = mirror_map, .num_threads = 2, .max_bad = 1};
	int failed = 0;
	for (long nth = 1;; nth++) {
		struct pfld_prepare_result result = {0};
		struct pfld_error error = {0};
		atomic_store(&countdown, nth);
		const enum pfld_status status = pfld_prepare(dataset, out, &options, &result, &error);
		const bool through = atomic_exchange(&countdown, 0) > 0;
		if (status) {
			ck_assert_msg(status == PFLD_ERR_MEMORY, "%ld: %s", nth, error.message);
			failed++;
		} else {
			ck_assert_int_eq(result.num_faces, FACES - 1);
			ck_assert_int_eq(result.num_skipped, 1);
		}
		if (through) break;
	}
	printf("%d preparations failed\n", failed);
	ck_assert_int_gt(failed, 50);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("loader_memory");
	TCase *plain = tcase_create("plain");
	tcase_set_timeout(plain, 120);
	tcase_add_checked_fixture(plain, set_up, tear_down);
	tcase_add_test(plain, loaders);
	tcase_add_test(plain, preparation);
	suite_add_tcase(suite, plain);
	SRunner *runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	int failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
