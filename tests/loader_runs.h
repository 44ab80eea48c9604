// SPDX-License-Identifier: MIT
// A folder, slots and records of what a loader gave, for the tests of the loader.
#ifndef PFLD_TESTS_LOADER_RUNS_H
#define PFLD_TESTS_LOADER_RUNS_H

#include "small_faces.h"

#define POINTS 5
#define SIZE 24
#define MAX_SLOTS 4

// A fresh folder for each test.
extern char folder[32];
void set_up(void);
void tear_down(void);

extern struct pfld_batch slots[MAX_SLOTS];
void make_slots(int32_t capacity); // at most 8; poisoned

extern const struct pfld_loader_options usual; // shuffled, augmented, any share may be bad
extern int32_t mirror_map[POINTS];
// Over fresh slots, with the mirror map; it must succeed.
struct pfld_loader *open_loader(const struct pfld_dataset *dataset, int32_t num_slots, int32_t capacity,
								int32_t num_threads, const struct pfld_loader_options *options);

uint64_t hash_batch(const struct pfld_batch *batch);

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
// Everything from here to the end of last_epoch, each batch given back at once.
void record_batches(struct pfld_loader *loader, int32_t last_epoch, struct record *record);

// Of 23 small faces: 3 and 11 cut short, 12 no picture, 20 gone.
void break_some(void);

#endif
