// SPDX-License-Identifier: MIT
// The loader among bad files and shortages. Also to be run under -fsanitize=thread.
#define _XOPEN_SOURCE 700
#include "loader_runs.h"

#include <check.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

static bool batch_has(const struct pfld_batch *batch, uint32_t index)
{
	for (int i = 0; i < batch->num_samples; i++) {
		if (batch->indices[i] == index) return true;
	}
	return false;
}

// The next epoch is not begun before the last failure of this one is known, however long the file takes to fail.
START_TEST(a_slow_failure_counts)
{
	for (int i = 0; i < 6; i++) {
		char name[32];
		snprintf(name, sizeof name, "imgs/%d.png", i);
		const int32_t side = i == 5 ? 1500 : 40;
		put_noise_picture(folder, name, side, side, (uint64_t)i);
		put_raw_row(folder, name, POINTS, 20, 20, 12, (uint64_t)i);
	}
	truncate_file(folder, "imgs/5.png", 6700000);
	struct pfld_dataset *dataset = open_list(folder, "raw.txt", POINTS);
	struct pfld_loader_options options = usual;
	options.shuffle = false;
	struct pfld_loader *loader = open_loader(dataset, 4, 2, 3, &options);
	static struct record record;
	record_batches(loader, 3, &record);
	ck_assert_int_eq(record.num, 9);
	// The last batch of epoch 1 has a gap at its end; later epochs are of five samples: one, two and two.
	for (int i = 0; i < 9; i++) ck_assert_int_eq(record.batches[i].num_samples, i == 2 || (i > 2 && i % 3 == 0) ? 1 : 2);
	ck_assert_uint_eq(record.batches[2].num_skips, 1);
	const struct pfld_skipped_sample *skipped;
	ck_assert_uint_eq(pfld_loader_skips(loader, &skipped), 1);
	ck_assert_int_eq(skipped[0].epoch, 1);
	pfld_loader_close(&loader);
	pfld_dataset_close(&dataset);
}
END_TEST

// What was told to have failed stays out, even if the file is good by now; and what failed in batches that nobody was
// handed is tried again after a seek.
START_TEST(files_that_are_mended)
{
	struct pfld_dataset *dataset = open_small_faces(folder, 8, POINTS);
	struct pfld_loader_options options = usual;
	options.shuffle = false;
	struct pfld_error error = {0};
	struct pfld_loader *loader = open_loader(dataset, 3, 2, 2, &options);
	ck_assert_int_eq(pfld_loader_skip(loader, 3, 2, "failed in epoch 2", &error), PFLD_OK);
	struct pfld_batch *batch = NULL;
	for (int epoch = 1; epoch <= 3; epoch++) {
		bool found = false;
		int64_t num_batches = 0;
		for (; pfld_loader_next(loader, &batch, &error) == PFLD_OK; num_batches++) {
			found |= batch_has(batch, 3);
			// In epoch 2 it leaves a gap, from epoch 3 on the others move up.
			if (epoch == 2) ck_assert_int_eq(batch->num_samples, batch->position == 1 ? 1 : 2);
			if (epoch == 3) ck_assert_int_eq(batch->num_samples, batch->position == 0 ? 1 : 2);
			pfld_loader_release(loader, batch);
		}
		ck_assert_int_eq(num_batches, 4);
		ck_assert(found == (epoch == 1));
	}
	pfld_loader_close(&loader);

	truncate_file(folder, "imgs/5.png", 500);
	loader = open_loader(dataset, 4, 2, 2, &options);
	ck_assert_int_eq(pfld_loader_next(loader, &batch, &error), PFLD_OK);
	pfld_loader_release(loader, batch);
	// Let the threads find the bad file; they have four slots.
	for (int i = 0; i < 20; i++) nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL);
	put_noise_picture(folder, "imgs/5.png", 48, 40, 5);
	ck_assert_uint_eq(pfld_loader_skips(loader, NULL), 0);
	ck_assert_int_eq(pfld_loader_seek(loader, 1, 2, &error), PFLD_OK);
	ck_assert_int_eq(pfld_loader_next(loader, &batch, &error), PFLD_OK);
	ck_assert(batch_has(batch, 5));
	pfld_loader_close(&loader);
	pfld_dataset_close(&dataset);
}
END_TEST

START_TEST(bad_files_are_told)
{
	struct pfld_dataset *dataset = open_small_faces(folder, 23, POINTS);
	break_some();
	static struct record record;
	struct pfld_loader *loader = open_loader(dataset, 3, 4, 3, &usual);
	record_batches(loader, 2, &record);
	const struct pfld_skipped_sample *skipped;
	ck_assert_uint_eq(pfld_loader_skips(loader, &skipped), 4);
	const uint32_t indices[4] = {3, 11, 12, 20};
	for (int i = 0; i < 4; i++) {
		char name[32];
		snprintf(name, sizeof name, "imgs/%u.png", indices[i]);
		ck_assert_uint_eq(skipped[i].index, indices[i]);
		ck_assert_int_eq(skipped[i].epoch, 1);
		ck_assert_ptr_nonnull(strstr(skipped[i].skip.path, name));
		ck_assert_ptr_nonnull(strstr(skipped[i].skip.reason, name));
		ck_assert_int_eq(skipped[i].skip.line, (int64_t)indices[i] + 1);
	}
	pfld_loader_close(&loader);

	// Too many: 4 of 23 are more than 0.1 (the default), and it is said once and for all.
	struct pfld_loader_options options = usual;
	options.max_bad = 0;
	struct pfld_error error = {0}, again = {0}, first_error = {0};
	for (int threads = 1; threads < 5; threads++) {
		loader = open_loader(dataset, 3, 4, threads, &options);
		enum pfld_status status;
		struct pfld_batch *batch = NULL;
		while ((status = pfld_loader_next(loader, &batch, &error)) == PFLD_OK) pfld_loader_release(loader, batch);
		ck_assert_int_eq(status, PFLD_ERR_DATA);
		ck_assert_ptr_nonnull(strstr(error.message, "4 of 23"));
		ck_assert_ptr_nonnull(strstr(error.message, "--max_bad"));
		ck_assert_ptr_nonnull(strstr(error.message, ".png"));
		ck_assert_ptr_nonnull(strstr(error.message, "0.1"));
		ck_assert_int_eq(pfld_loader_next(loader, &batch, &again), PFLD_ERR_DATA);
		ck_assert_str_eq(error.message, again.message);
		if (threads == 1) first_error = error;
		ck_assert_str_eq(error.message, first_error.message);
		pfld_loader_close(&loader);
	}
	// A resumed run that is told of too many.
	loader = open_loader(dataset, 3, 4, 2, &options);
	for (uint32_t i = 0; i < 3; i++) ck_assert_int_eq(pfld_loader_skip(loader, i, 1, "x.png is bad", &error), PFLD_OK);
	struct pfld_batch *batch = NULL;
	ck_assert_int_eq(pfld_loader_next(loader, &batch, &error), PFLD_ERR_DATA);
	ck_assert_ptr_nonnull(strstr(error.message, "x.png"));
	pfld_loader_close(&loader);
	pfld_dataset_close(&dataset);
}
END_TEST

// All samples of a batch bad: it is passed over. All of the list: the next epoch says so.
START_TEST(empty_batches)
{
	struct pfld_dataset *dataset = open_small_faces(folder, 6, POINTS);
	struct pfld_loader_options options = usual;
	options.shuffle = false;
	static struct record record;
	truncate_file(folder, "imgs/2.png", 100);
	truncate_file(folder, "imgs/3.png", 100);
	struct pfld_loader *loader = open_loader(dataset, 2, 2, 2, &options);
	record_batches(loader, 2, &record);
	ck_assert_int_eq(record.num, 4);
	ck_assert_int_eq(record.batches[1].position, 2);
	ck_assert_int_eq(record.batches[3].position, 1);
	pfld_loader_close(&loader);

	for (int i = 0; i < 6; i++) {
		char name[32];
		snprintf(name, sizeof name, "imgs/%d.png", i);
		truncate_file(folder, name, 100);
	}
	loader = open_loader(dataset, 2, 2, 2, &options);
	struct pfld_batch *batch = NULL;
	struct pfld_error error = {0};
	ck_assert_int_eq(pfld_loader_next(loader, &batch, &error), PFLD_END);
	ck_assert_ptr_null(batch);
	ck_assert_int_eq(pfld_loader_next(loader, &batch, &error), PFLD_ERR_DATA);
	ck_assert_ptr_nonnull(strstr(error.message, "6 of 6"));
	pfld_loader_close(&loader);

	// drop_last with too few left.
	options.drop_last = true;
	for (int i = 0; i < 3; i++) {
		char name[32];
		snprintf(name, sizeof name, "imgs/%d.png", i);
		put_noise_picture(folder, name, 48, 40, (uint64_t)i);
	}
	loader = open_loader(dataset, 2, 4, 2, &options);
	for (int epoch = 1; epoch <= 3; epoch++) { // each finds one of the three that are bad
		ck_assert_int_eq(pfld_loader_next(loader, &batch, &error), PFLD_OK);
		ck_assert_int_eq(batch->num_samples, 3);
		pfld_loader_release(loader, batch);
		ck_assert_int_eq(pfld_loader_next(loader, &batch, &error), PFLD_END);
	}
	ck_assert_int_eq(pfld_loader_next(loader, &batch, &error), PFLD_ERR_DATA);
	pfld_loader_close(&loader);
	pfld_dataset_close(&dataset);
}
END_TEST

static int open_descriptors(void)
{
	int num = 0;
	DIR *dir = opendir("/proc/self/fd");
	if (!dir) return -1;
	while (readdir(dir)) num++;
	closedir(dir);
	return num;
}

// Want of descriptors stops the run and marks no file; after a seek it goes on.
START_TEST(shortage_is_no_bad_file)
{
	struct pfld_dataset *dataset = open_small_faces(folder, 8, POINTS);
	static struct record whole, rest;
	struct pfld_error error = {0};
	struct pfld_loader *loader = open_loader(dataset, 2, 4, 2, &usual);
	record_batches(loader, 1, &whole);
	pfld_loader_close(&loader);

	loader = open_loader(dataset, 2, 4, 2, &usual);
	struct rlimit before, none;
	ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &before), 0);
	none = before;
	none.rlim_cur = 0;
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &none), 0);
	struct pfld_batch *batch = NULL;
	const enum pfld_status status = pfld_loader_next(loader, &batch, &error);
	const enum pfld_status again = pfld_loader_next(loader, &batch, NULL);
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &before), 0);
	ck_assert_int_eq(status, PFLD_ERR_IO);
	ck_assert_int_eq(again, PFLD_ERR_IO);
	ck_assert(error.transient);
	ck_assert_ptr_nonnull(strstr(error.message, "Too many open files"));
	ck_assert_uint_eq(pfld_loader_skips(loader, NULL), 0);
	ck_assert_int_eq(pfld_loader_seek(loader, 1, 0, &error), PFLD_OK);
	record_batches(loader, 1, &rest);
	ck_assert_mem_eq(&rest, &whole, sizeof rest);
	pfld_loader_close(&loader);
	pfld_dataset_close(&dataset);
}
END_TEST

// Many bad files: no descriptor is lost, and few are ever open.
START_TEST(bad_files_cost_no_descriptor)
{
	for (int i = 0; i < 120; i++) {
		char name[32];
		snprintf(name, sizeof name, "imgs/%d.png", i);
		put_noise_picture(folder, name, 48, 40, (uint64_t)i);
		put_raw_row(folder, name, POINTS, 24, 20, 12, (uint64_t)i);
		if (i % 6) truncate_file(folder, name, 40 + i % 90);
	}
	struct pfld_dataset *dataset = open_list(folder, "raw.txt", POINTS);
	const int before = open_descriptors();
	struct rlimit limit, few;
	ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &limit), 0);
	few = limit;
	few.rlim_cur = 64;
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &few), 0);
	struct pfld_loader *loader = open_loader(dataset, 3, 8, 4, &usual);
	static struct record record;
	record_batches(loader, 2, &record);
	ck_assert_uint_eq(pfld_loader_skips(loader, NULL) + 20, 120);
	pfld_loader_close(&loader); // whose threads read ahead until now
	ck_assert_int_eq(open_descriptors(), before);
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
	pfld_dataset_close(&dataset);
}
END_TEST

static void count_lines(void *context, enum pfld_log_level level, const char *text)
{
	int *counts = context;
	counts[level]++;
	if (level == PFLD_LOG_WARNING) ck_assert_ptr_nonnull(strstr(text, "mirror"));
}

START_TEST(log_lines)
{
	struct pfld_dataset *dataset = open_small_faces(folder, 23, POINTS);
	break_some();
	int counts[3] = {0};
	struct pfld_loader_options options = usual;
	options.log = (struct pfld_log){.write = count_lines, .context = counts};
	make_slots(4);
	struct pfld_loader *loader = NULL;
	ck_assert_int_eq(pfld_loader_open(&loader, dataset, slots, 2, &options, NULL), PFLD_OK);
	static struct record record;
	record_batches(loader, 3, &record);
	pfld_loader_close(&loader);
	ck_assert_int_eq(counts[PFLD_LOG_WARNING], 1); // no mirror map
	ck_assert_int_eq(counts[PFLD_LOG_INFO], 4);    // each bad file once
	pfld_dataset_close(&dataset);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("loader_failures");
	TCase *plain = tcase_create("plain");
	tcase_set_timeout(plain, 120);
	tcase_add_checked_fixture(plain, set_up, tear_down);
	tcase_add_test(plain, a_slow_failure_counts);
	tcase_add_test(plain, files_that_are_mended);
	tcase_add_test(plain, bad_files_are_told);
	tcase_add_test(plain, empty_batches);
	tcase_add_test(plain, shortage_is_no_bad_file);
	tcase_add_test(plain, bad_files_cost_no_descriptor);
	tcase_add_test(plain, log_lines);
	suite_add_tcase(suite, plain);
	SRunner *runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	int failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
