// SPDX-License-Identifier: MIT
// See loader_runs.h.
#define _XOPEN_SOURCE 700
#include "loader_runs.h"

#include "scratch.h"

#include <check.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define MAX_CAPACITY 8

char folder[32];
int32_t mirror_map[POINTS];

void set_up(void)
{
	strcpy(folder, "loader-XXXXXX");
	make_scratch(folder);
	ring_mirror_map(POINTS, mirror_map);
}

void tear_down(void)
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
struct pfld_batch slots[MAX_SLOTS];

void make_slots(int32_t capacity)
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

const struct pfld_loader_options usual = {
	.sample = {.size = SIZE, .augment = PFLD_AUGMENT_DEFAULT}, .shuffle = true, .seed = 77, .max_bad = 1};

struct pfld_loader *open_loader(const struct pfld_dataset *dataset, int32_t num_slots, int32_t capacity,
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

uint64_t hash_batch(const struct pfld_batch *batch)
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

void record_batches(struct pfld_loader *loader, int32_t last_epoch, struct record *record)
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

void break_some(void)
{
	truncate_file(folder, "imgs/3.png", 200);
	truncate_file(folder, "imgs/11.png", 1500);
	put_file(folder, "imgs/12.png", "this is no picture");
	char path[64];
	snprintf(path, sizeof path, "%s/imgs/20.png", folder);
	ck_assert_int_eq(unlink(path), 0);
}
