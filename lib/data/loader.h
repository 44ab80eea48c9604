// SPDX-License-Identifier: MIT
// Inside of the loader, shared by loader.c (the consumer's calls) and loader_queue.c (what the threads do).
//
// The life of a slot: free -> queued (its batch is issued sample by sample to the threads) -> lent to the consumer ->
// free. Samples are issued in the order of the epoch: batch k, place j is position kB + j of it, so which thread fills
// which place, and when, cannot matter.
#ifndef PFLD_DATA_LOADER_H
#define PFLD_DATA_LOADER_H

#include "base/thread.h"
#include "data/sample.h"

// One place of a batch in the making.
struct pfld_place {
	uint32_t index; // of the dataset
	bool failed;
	char *reason; // of the failure; NULL when it is on record already
};

struct pfld_slot {
	struct pfld_batch *batch;  // the caller's
	struct pfld_place *places; // (capacity)
	enum { PFLD_SLOT_FREE, PFLD_SLOT_QUEUED, PFLD_SLOT_LENT } state;
	int32_t epoch;
	int64_t position;
	int32_t num_places, num_issued, num_done;
	int32_t stop_place; // the first whose failure stops the run, or -1
	struct pfld_error stop_error;
};

struct pfld_worker {
	struct pfld_loader *loader;
	struct pfld_thread *thread;
	struct pfld_image image; // every picture is decoded into this one
	struct pfld_sample_scratch scratch;
	uint64_t buffer_bytes; // of both; guarded by the loader's mutex
};

struct pfld_loader {
	// Constant once open.
	const struct pfld_dataset *dataset;
	struct pfld_loader_options options;
	int32_t *mirror_map; // own copy, in options.sample
	int32_t num_points, capacity;
	size_t input_values; // of one sample
	int64_t num_samples; // of the dataset
	struct pfld_worker *workers;
	int32_t num_workers;

	struct pfld_mutex *mutex; // guards all below
	struct pfld_cond *work;   // there may be something to issue, or an end
	struct pfld_cond *done;   // a sample is done
	bool running;             // samples may be issued
	bool closing;

	// What is issued next.
	int32_t issue_epoch;
	int64_t issue_position, num_batches; // of issue_epoch
	uint32_t *order;                     // (num_samples): of issue_epoch, num_ordered of them
	int64_t num_ordered;
	int32_t outstanding;   // issued and not done
	int32_t *failed_epoch; // (num_samples): when a sample failed, 0: never; found ahead of the consumer

	struct pfld_slot *slots;
	int32_t num_slots;
	int32_t *queue; // (num_slots): ring of slots in the order of issue
	int32_t queue_head, queue_length;

	// What the consumer has been told so far.
	int32_t epoch;                       // of the next batch; 0: not begun
	struct pfld_skipped_sample *skipped; // ordered by index
	size_t num_skipped, skipped_capacity;
	uint32_t first_skipped; // the one that was noticed first
	struct pfld_error stop; // status not OK: every next() returns it
	struct pfld_loader_stats stats;
};

// What a thread runs until the loader closes; `worker` is a struct pfld_worker.
void pfld_loader_work(void *worker);

// The calls below need the lock. The first slot of the queue, or NULL.
struct pfld_slot *pfld_loader_front(struct pfld_loader *loader);
void pfld_loader_pop(struct pfld_loader *loader);
// Batches that so many samples make, with drop_last and max_batches.
int64_t pfld_loader_count_batches(const struct pfld_loader *loader, int64_t num_samples);
// Go on with batch `position` of `epoch`, its order from the failures known. Nothing may be outstanding.
void pfld_loader_begin(struct pfld_loader *loader, int32_t epoch, int64_t position);

#endif
