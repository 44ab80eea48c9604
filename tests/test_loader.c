// SPDX-License-Identifier: MIT
// The loader: the same batches whatever the threads, slots and interruptions; bad files; errors. Also to be run under
// -fsanitize=thread.
#define _XOPEN_SOURCE 700
#include "base/base.h"
#include "scratch.h"
#include "small_faces.h"

#include <pfld/data.h>

#include <check.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#define POINTS 5
#define SIZE 24
#define MAX_SLOTS 4
#define MAX_CAPACITY 8

static char folder[32];
static int32_t mirror_map[POINTS];

static void set_up(void)
{
	strcpy(folder, "loader-XXXXXX");
	make_scratch(folder);
	ring_mirror_map(POINTS, mirror_map);
}

static void tear_down(void)
{
	remove_tree(folder);
}

// Memory of the slots, poisoned before use.
struct memory {
	float inputs[MAX_CAPACITY * SIZE * SIZE * 3], targets[MAX_CAPACITY * 2 * POINTS], mask[MAX_CAPACITY * 2 * POINTS];
	float weights[MAX_CAPACITY], attributes[MAX_CAPACITY * 6], angles[MAX_CAPACITY * 3];
	uint32_t indices[MAX_CAPACITY];
};
static struct memory memory[MAX_SLOTS];
static struct pfld_batch slots[MAX_SLOTS];

static void make_slots(int32_t capacity)
{
	memset(memory, 0x7f, sizeof memory);
	for (int i = 0; i < MAX_SLOTS; i++)
		slots[i] = (struct pfld_batch){.slot = i,
									   .capacity = capacity,
									   .inputs = memory[i].inputs,
									   .targets = memory[i].targets,
									   .target_mask = memory[i].mask,
									   .sample_weights = memory[i].weights,
									   .attributes = memory[i].attributes,
									   .angles = memory[i].angles,
									   .indices = memory[i].indices};
}

static const struct pfld_loader_options usual = {
	.sample = {.size = SIZE, .augment = PFLD_AUGMENT_DEFAULT}, .shuffle = true, .seed = 77, .max_bad = 1};

static struct pfld_loader *open_loader(const struct pfld_dataset *dataset, int32_t num_slots, int32_t capacity,
									   int32_t num_threads, const struct pfld_loader_options *options)
{
	struct pfld_loader_options chosen = *options;
	chosen.num_threads = num_threads;
	chosen.sample.mirror_map = mirror_map;
	make_slots(capacity);
	struct pfld_loader *loader = NULL;
	struct pfld_error error = {0};
	ck_assert_msg(pfld_loader_open(&loader, dataset, slots, num_slots, &chosen, &error) == PFLD_OK, "%s",
				  error.message);
	return loader;
}

static uint64_t mix(uint64_t hash, const void *bytes, size_t num_bytes)
{
	for (size_t i = 0; i < num_bytes; i++) hash = (hash ^ ((const uint8_t *)bytes)[i]) * 1099511628211u;
	return hash;
}

static uint64_t hash_batch(const struct pfld_batch *batch)
{
	const size_t n = (size_t)batch->num_samples;
	uint64_t hash = 14695981039346656037u;
	hash = mix(hash, &batch->num_samples, sizeof batch->num_samples);
	hash = mix(hash, &batch->epoch, sizeof batch->epoch);
	hash = mix(hash, &batch->position, sizeof batch->position);
	hash = mix(hash, batch->indices, n * sizeof *batch->indices);
	hash = mix(hash, batch->inputs, n * SIZE * SIZE * 3 * sizeof(float));
	hash = mix(hash, batch->targets, n * 2 * POINTS * sizeof(float));
	hash = mix(hash, batch->target_mask, n * 2 * POINTS * sizeof(float));
	hash = mix(hash, batch->sample_weights, n * sizeof(float));
	hash = mix(hash, batch->attributes, n * 6 * sizeof(float));
	return mix(hash, batch->angles, n * 3 * sizeof(float));
}

#define MAX_BATCHES 64
#define MAX_SKIPS 100
// What a run gave: one entry per batch, and the failures known after it.
struct record {
	int num;
	struct {
		uint64_t hash;
		int32_t epoch;
		int64_t position;
		int num_samples;
		size_t num_skips;
		struct {
			uint32_t index;
			int32_t epoch;
		} skips[MAX_SKIPS];
	} batches[MAX_BATCHES];
};

static void record_batches(struct pfld_loader *loader, int32_t last_epoch, struct record *record)
{
	struct pfld_error error = {0};
	*record = (struct record){0};
	int32_t epoch = 0;
	for (;;) {
		struct pfld_batch *batch = NULL;
		const enum pfld_status status = pfld_loader_next(loader, &batch, &error);
		if (status == PFLD_END) {
			if (epoch >= last_epoch) return;
			continue;
		}
		ck_assert_msg(status == PFLD_OK, "%s", error.message);
		ck_assert_int_lt(record->num, MAX_BATCHES);
		epoch = batch->epoch;
		record->batches[record->num].hash = hash_batch(batch);
		record->batches[record->num].epoch = epoch;
		record->batches[record->num].position = batch->position;
		record->batches[record->num].num_samples = batch->num_samples;
		const struct pfld_skipped_sample *skipped;
		const size_t num = pfld_loader_skips(loader, &skipped);
		ck_assert_uint_le(num, MAX_SKIPS);
		record->batches[record->num].num_skips = num;
		for (size_t i = 0; i < num; i++) {
			record->batches[record->num].skips[i].index = skipped[i].index;
			record->batches[record->num].skips[i].epoch = skipped[i].epoch;
			if (i) ck_assert_uint_lt(skipped[i - 1].index, skipped[i].index);
		}
		record->num++;
		pfld_loader_release(loader, batch);
	}
}

static void break_some(void)
{
	truncate_file(folder, "imgs/3.png", 200);
	truncate_file(folder, "imgs/11.png", 1500);
	put_file(folder, "imgs/12.png", "this is no picture");
	char path[64];
	snprintf(path, sizeof path, "%s/imgs/20.png", folder);
	ck_assert_int_eq(unlink(path), 0);
}

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
	for (uint32_t i = 0; i < 8; i++) ck_assert_uint_eq(batch->indices[i], i);
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
	for (int i = 0; i < 9; i++) ck_assert_int_eq(record.batches[i].num_samples, i % 3 == 2 ? 1 : 2);
	// The last batch of epoch 1 has a gap at its end; later ones are of five samples.
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
			if (epoch == 3) ck_assert_int_eq(batch->num_samples, batch->position == 3 ? 1 : 2);
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

START_TEST(short_batches)
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
	ck_assert_int_eq(record.batches[2].num_samples, 2);
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
	ck_assert_int_eq(open_descriptors(), before);
	pfld_loader_close(&loader);
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
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
	Suite *suite = suite_create("loader");
	TCase *plain = tcase_create("plain");
	tcase_set_timeout(plain, 120);
	tcase_add_checked_fixture(plain, set_up, tear_down);
	tcase_add_test(plain, threads_and_slots_do_not_matter);
	tcase_add_test(plain, a_sample_is_that_of_its_index);
	tcase_add_test(plain, resume_gives_the_same_batches);
	tcase_add_test(plain, a_slow_failure_counts);
	tcase_add_test(plain, files_that_are_mended);
	tcase_add_test(plain, short_batches);
	tcase_add_test(plain, bad_files_are_told);
	tcase_add_test(plain, empty_batches);
	tcase_add_test(plain, wrong_calls);
	tcase_add_test(plain, shortage_is_no_bad_file);
	tcase_add_test(plain, bad_files_cost_no_descriptor);
	tcase_add_test(plain, closing_is_prompt);
	tcase_add_test(plain, log_lines);
	suite_add_tcase(suite, plain);
	SRunner *runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	int failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
