// SPDX-License-Identifier: MIT
// The loader: the same batches whatever the threads, slots and interruptions. Also to be run under -fsanitize=thread.
#define _XOPEN_SOURCE 700
#include "loader_runs.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

START_TEST(threads_and_slots_do_not_matter)
{
	struct pfld_dataset *dataset = open_small_faces(folder, 23, POINTS);
	static struct record first, record;
	for (int broken = 0; broken < 2; broken++) {
		if (broken) break_some();
		first.num = 0;
		for (int num_slots = 1; num_slots <= MAX_SLOTS; num_slots++) {
			for (int threads = 1; threads <= 7; threads += threads == 3 ? 4 : 1) {
				struct pfld_loader *loader = open_loader(dataset, num_slots, 4, threads, &usual);
				ck_assert_int_eq(pfld_loader_num_batches(loader), 6);
				record_batches(loader, 3, &record);
				if (!first.num) first = record;
				ck_assert_int_eq(record.num, first.num);
				ck_assert_mem_eq(&record, &first, sizeof record);
				struct pfld_loader_stats stats;
				pfld_loader_stats(loader, &stats);
				ck_assert_int_eq(stats.num_samples, broken ? 3 * 19 : 3 * 23);
				ck_assert(stats.decode_ns > 0 && stats.augment_ns > 0 && stats.buffer_bytes >= 48 * 40 * 3);
				pfld_loader_close(&loader);
				ck_assert_ptr_null(loader);
			}
		}
		// Epochs differ, and hold every sample once.
		ck_assert_int_eq(first.batches[0].position, 0);
		for (int i = 1; i < first.num; i++) ck_assert_uint_ne(first.batches[i].hash, first.batches[0].hash);
		int samples = 0;
		for (int i = 0; i < first.num && first.batches[i].epoch == 1; i++) samples += first.batches[i].num_samples;
		ck_assert_int_eq(samples, broken ? 19 : 23);
		// 19 samples are 5 batches once the bad ones are known, 23 are 6.
		ck_assert_int_eq(first.batches[first.num - 1].position, broken ? 4 : 5);
	}
	pfld_dataset_close(&dataset);
}
END_TEST

START_TEST(a_sample_is_that_of_its_index)
{
	struct pfld_dataset *dataset = open_small_faces(folder, 9, POINTS);
	struct pfld_loader *loader = open_loader(dataset, 2, 4, 2, &usual);
	struct pfld_sample_options options = usual.sample;
	options.mirror_map = mirror_map;
	struct pfld_image image = {0};
	struct pfld_error error = {0};
	int seen[9] = {0};
	for (struct pfld_batch *batch; pfld_loader_next(loader, &batch, &error) == PFLD_OK;) {
		for (int i = 0; i < batch->num_samples; i++) {
			const uint32_t index = batch->indices[i];
			seen[index]++;
			float inputs[SIZE * SIZE * 3], targets[2 * POINTS], mask[2 * POINTS];
			struct pfld_face face;
			pfld_dataset_face(dataset, index, &face);
			ck_assert_int_eq(pfld_dataset_image(dataset, index, &image, &error), PFLD_OK);
			ck_assert_int_eq(
				pfld_sample_make(&image, &face, POINTS, &options, 77, 1, index, inputs, targets, mask, &error),
				PFLD_OK);
			ck_assert_mem_eq(batch->inputs + i * SIZE * SIZE * 3, inputs, sizeof inputs);
			ck_assert_mem_eq(batch->targets + i * 2 * POINTS, targets, sizeof targets);
			ck_assert_mem_eq(batch->target_mask + i * 2 * POINTS, mask, sizeof mask);
			ck_assert_mem_eq(batch->attributes + i * 6, face.attributes, sizeof face.attributes);
			ck_assert_float_eq(batch->attributes[i * 6], (float)(index % 2 == 0));
			ck_assert_float_eq(batch->sample_weights[i], 1.0f);
		}
		pfld_loader_release(loader, batch);
	}
	for (int i = 0; i < 9; i++) ck_assert_int_eq(seen[i], 1);
	pfld_image_finish(&image);
	pfld_loader_close(&loader);

	// Fields that nobody wants, and the plain order.
	const struct pfld_loader_options plain = {.sample = {.size = SIZE}};
	loader = open_loader(dataset, 1, 8, 3, &plain);
	slots[0].targets = slots[0].target_mask = slots[0].attributes = slots[0].angles = slots[0].sample_weights = NULL;
	struct pfld_batch *batch = NULL;
	ck_assert_int_eq(pfld_loader_next(loader, &batch, &error), PFLD_OK);
	ck_assert_int_eq(batch->num_samples, 4); // of nine: four and five
	for (uint32_t i = 0; i < 4; i++) ck_assert_uint_eq(batch->indices[i], i);
	pfld_loader_close(&loader);
	pfld_dataset_close(&dataset);
}
END_TEST

// A run stopped after any batch and begun again gives the rest of the batches.
START_TEST(resume_gives_the_same_batches)
{
	struct pfld_dataset *dataset = open_small_faces(folder, 23, POINTS);
	break_some();
	static struct record whole, rest;
	struct pfld_error error = {0};
	struct pfld_loader *loader = open_loader(dataset, 3, 4, 3, &usual);
	record_batches(loader, 3, &whole);
	pfld_loader_close(&loader);
	ck_assert_uint_eq(whole.batches[whole.num - 1].num_skips, 4);
	for (int cut = 0; cut < whole.num; cut++) {
		loader = open_loader(dataset, 3, 4, 1 + cut % 3, &usual);
		for (size_t i = 0; i < whole.batches[cut].num_skips; i++)
			ck_assert_int_eq(pfld_loader_skip(loader, whole.batches[cut].skips[i].index,
											  whole.batches[cut].skips[i].epoch, "told", &error),
							 PFLD_OK);
		ck_assert_int_eq(pfld_loader_seek(loader, whole.batches[cut].epoch, whole.batches[cut].position + 1, &error),
						 PFLD_OK);
		record_batches(loader, 3, &rest);
		// When the cut is the last batch, one END comes and then epoch 4.
		const int expected = whole.num - cut - 1;
		for (int i = 0; i < expected; i++)
			ck_assert_mem_eq(&rest.batches[i], &whole.batches[cut + 1 + i], sizeof rest.batches[i]);
		if (expected) ck_assert_int_eq(rest.num, expected);
		pfld_loader_close(&loader);
	}
	// Jumping about within one loader.
	loader = open_loader(dataset, 3, 4, 2, &usual);
	for (int round = 0; round < 4; round++) {
		record_batches(loader, 3, &rest);
		ck_assert_int_eq(rest.num, whole.num);
		for (int i = 0; i < rest.num; i++) ck_assert_uint_eq(rest.batches[i].hash, whole.batches[i].hash);
		ck_assert_int_eq(pfld_loader_seek(loader, 2, 3, &error), PFLD_OK);
		struct pfld_batch *batch = NULL;
		ck_assert_int_eq(pfld_loader_next(loader, &batch, &error), PFLD_OK);
		pfld_loader_release(loader, batch);
		ck_assert_int_eq(pfld_loader_seek(loader, 1, 0, &error), PFLD_OK);
	}
	pfld_loader_close(&loader);
	pfld_dataset_close(&dataset);
}
END_TEST

// Batches of an epoch differ by one sample at most.
START_TEST(even_batches)
{
	struct pfld_dataset *dataset = open_small_faces(folder, 10, POINTS);
	static struct record record;
	struct pfld_loader_options options = usual;
	options.drop_last = true;
	struct pfld_loader *loader = open_loader(dataset, 2, 4, 2, &options);
	ck_assert_int_eq(pfld_loader_num_batches(loader), 2);
	record_batches(loader, 2, &record);
	ck_assert_int_eq(record.num, 4);
	for (int i = 0; i < 4; i++) ck_assert_int_eq(record.batches[i].num_samples, 4);
	pfld_loader_close(&loader);

	options.drop_last = false;
	loader = open_loader(dataset, 2, 4, 2, &options);
	record_batches(loader, 1, &record);
	ck_assert_int_eq(record.num, 3);
	for (int i = 0; i < 3; i++) ck_assert_int_eq(record.batches[i].num_samples, i == 2 ? 4 : 3);
	pfld_loader_close(&loader);

	options.max_batches = 2;
	loader = open_loader(dataset, 2, 4, 2, &options);
	ck_assert_int_eq(pfld_loader_num_batches(loader), 2);
	record_batches(loader, 3, &record);
	ck_assert_int_eq(record.num, 6);
	pfld_loader_close(&loader);
	pfld_dataset_close(&dataset);
}
END_TEST

START_TEST(wrong_calls)
{
	struct pfld_dataset *dataset = open_small_faces(folder, 6, POINTS);
	struct pfld_error error = {0};
	struct pfld_loader *loader = open_loader(dataset, 2, 2, 2, &usual);
	ck_assert_int_eq(pfld_loader_seek(loader, 0, 0, &error), PFLD_ERR_ARGUMENT);
	ck_assert_int_eq(pfld_loader_seek(loader, 1, -1, &error), PFLD_ERR_ARGUMENT);
	ck_assert_int_eq(pfld_loader_seek(loader, 1, 4, &error), PFLD_ERR_ARGUMENT);
	ck_assert_int_eq(pfld_loader_skip(loader, 6, 1, "none", &error), PFLD_ERR_ARGUMENT);
	ck_assert_int_eq(pfld_loader_skip(loader, 5, 0, "none", &error), PFLD_ERR_ARGUMENT);
	struct pfld_batch *a = NULL, *b = NULL, *c = NULL;
	ck_assert_int_eq(pfld_loader_next(loader, &a, &error), PFLD_OK);
	ck_assert_int_eq(pfld_loader_skip(loader, 5, 1, "late", &error), PFLD_ERR_STATE);
	ck_assert_int_eq(pfld_loader_next(loader, &b, &error), PFLD_OK);
	ck_assert_int_eq(pfld_loader_next(loader, &c, &error), PFLD_ERR_STATE); // and it does not hang
	ck_assert_ptr_null(c);
	pfld_loader_release(loader, b);
	pfld_loader_release(loader, b); // twice is harmless
	ck_assert_int_eq(pfld_loader_next(loader, &c, &error), PFLD_OK);
	ck_assert_ptr_eq(c, b);
	ck_assert_int_eq(c->position, 2);
	// All lent, but the epoch is over.
	ck_assert_int_eq(pfld_loader_next(loader, &b, &error), PFLD_END);
	// A seek leaves lent batches alone.
	const uint64_t before = hash_batch(a);
	ck_assert_int_eq(pfld_loader_seek(loader, 1, 0, &error), PFLD_OK);
	pfld_loader_release(loader, c);
	ck_assert_int_eq(pfld_loader_next(loader, &b, &error), PFLD_OK);
	ck_assert_uint_eq(hash_batch(b), before);
	ck_assert_uint_eq(hash_batch(a), before);
	ck_assert_int_eq(pfld_loader_seek(loader, 1, 3, &error), PFLD_OK);
	ck_assert_int_eq(pfld_loader_next(loader, &c, &error), PFLD_END);
	pfld_loader_close(&loader);
	pfld_loader_close(&loader);
	pfld_loader_close(NULL);

	struct pfld_loader_options options = usual;
	ck_assert_int_eq(pfld_loader_open(&loader, NULL, slots, 1, &options, &error), PFLD_ERR_ARGUMENT);
	ck_assert_int_eq(pfld_loader_open(&loader, dataset, NULL, 1, &options, &error), PFLD_ERR_ARGUMENT);
	ck_assert_int_eq(pfld_loader_open(&loader, dataset, slots, 0, &options, &error), PFLD_ERR_ARGUMENT);
	options.max_bad = 1.5;
	ck_assert_int_eq(pfld_loader_open(&loader, dataset, slots, 1, &options, &error), PFLD_ERR_ARGUMENT);
	options = usual;
	options.num_threads = -1;
	ck_assert_int_eq(pfld_loader_open(&loader, dataset, slots, 1, &options, &error), PFLD_ERR_ARGUMENT);
	options = usual;
	options.drop_last = true;
	make_slots(7);
	ck_assert_int_eq(pfld_loader_open(&loader, dataset, slots, 1, &options, &error), PFLD_ERR_ARGUMENT);
	make_slots(4);
	slots[1].capacity = 3;
	ck_assert_int_eq(pfld_loader_open(&loader, dataset, slots, 2, &usual, &error), PFLD_ERR_ARGUMENT);
	ck_assert_ptr_null(loader);
	pfld_dataset_close(&dataset);
}
END_TEST

START_TEST(closing_is_prompt)
{
	for (int i = 0; i < 64; i++) {
		char name[32];
		snprintf(name, sizeof name, "imgs/%d.png", i);
		if (i < 4) put_noise_picture(folder, name, 400, 300, (uint64_t)i);
		snprintf(name, sizeof name, "imgs/%d.png", i % 4);
		put_raw_row(folder, name, POINTS, 200, 150, 100, (uint64_t)i);
	}
	struct pfld_dataset *dataset = open_list(folder, "raw.txt", POINTS);
	struct timespec start, end;
	clock_gettime(CLOCK_MONOTONIC, &start);
	for (int i = 0; i < 30; i++) {
		struct pfld_loader *loader = open_loader(dataset, 4, 8, 1 + i % 5, &usual);
		struct pfld_batch *batch;
		struct pfld_error error;
		if (i % 3) ck_assert_int_eq(pfld_loader_seek(loader, 1 + i, i % 3, &error), PFLD_OK);
		if (i % 2) ck_assert_int_eq(pfld_loader_next(loader, &batch, &error), PFLD_OK);
		pfld_loader_close(&loader);
	}
	clock_gettime(CLOCK_MONOTONIC, &end);
	// One sample in flight per thread at most, not a batch each: 15 rounds wait for a first batch of 8 pictures.
	printf("30 loaders opened and closed in %.2f s\n",
		   (double)(end.tv_sec - start.tv_sec) + 1e-9 * (double)(end.tv_nsec - start.tv_nsec));
	pfld_dataset_close(&dataset);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("loader");
	TCase *plain = tcase_create("plain");
	tcase_set_timeout(plain, 120);
	tcase_add_checked_fixture(plain, set_up, tear_down);
	tcase_add_test(plain, threads_and_slots_do_not_matter);
	tcase_add_test(plain, a_sample_is_that_of_its_index);
	tcase_add_test(plain, resume_gives_the_same_batches);
	tcase_add_test(plain, even_batches);
	tcase_add_test(plain, wrong_calls);
	tcase_add_test(plain, closing_is_prompt);
	suite_add_tcase(suite, plain);
	SRunner *runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	int failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
