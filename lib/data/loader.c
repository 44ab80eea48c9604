// SPDX-License-Identifier: MIT
// The loader as its consumer sees it: open, seek, next, release, what was skipped. The threads' side is
// loader_queue.c, one sample is sample.c.
#include "base/base.h"
#include "data/loader.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static enum pfld_status check_slots(const struct pfld_batch *slots, int32_t num_slots, struct pfld_error *error)
{
	if (!slots || num_slots < 1) return pfld_fail(error, PFLD_ERR_ARGUMENT, "a loader needs at least one slot");
	for (int32_t i = 0; i < num_slots; i++) {
		if (slots[i].capacity < 1 || slots[i].capacity != slots[0].capacity || !slots[i].inputs)
			return pfld_fail(error, PFLD_ERR_ARGUMENT,
							 "slot %d: every slot needs inputs and one and the same capacity (%d here, %d in slot 0)",
							 (int)i, (int)slots[i].capacity, (int)slots[0].capacity);
	}
	return PFLD_OK;
}

static enum pfld_status check_options(const struct pfld_loader_options *options, int64_t num_samples,
									  int32_t num_points, struct pfld_error *error)
{
	if (options->num_threads < 0 || options->max_batches < 0 || !(options->max_bad >= 0 && options->max_bad <= 1))
		return pfld_fail(error, PFLD_ERR_ARGUMENT,
						 "threads and batches cannot be negative, and the share of bad samples is 0 to 1");
	if (num_samples < 1 || num_samples > UINT32_MAX)
		return pfld_fail(error, PFLD_ERR_ARGUMENT, "a data set of %" PRId64 " samples cannot be loaded", num_samples);
	return pfld_sample_check(&options->sample, num_points, error);
}

static enum pfld_status allocate(struct pfld_loader *loader, struct pfld_error *error)
{
	const size_t num_samples = (size_t)loader->num_samples, num_slots = (size_t)loader->num_slots;
	loader->mutex = pfld_mutex_create();
	loader->work = pfld_cond_create();
	loader->done = pfld_cond_create();
	loader->order = pfld_calloc(num_samples, sizeof *loader->order);
	loader->failed_epoch = pfld_calloc(num_samples, sizeof *loader->failed_epoch);
	loader->slots = pfld_calloc(num_slots, sizeof *loader->slots);
	loader->queue = pfld_calloc(num_slots, sizeof *loader->queue);
	loader->workers = pfld_calloc((size_t)loader->num_workers, sizeof *loader->workers);
	bool complete = loader->mutex && loader->work && loader->done && loader->order && loader->failed_epoch &&
					loader->slots && loader->queue && loader->workers;
	for (size_t i = 0; complete && i < num_slots; i++) {
		loader->slots[i].places = pfld_calloc((size_t)loader->capacity, sizeof *loader->slots[i].places);
		complete = loader->slots[i].places != NULL;
	}
	if (complete) return PFLD_OK;
	return pfld_fail_memory(error, num_samples * 8 + num_slots * (size_t)loader->capacity * sizeof(struct pfld_place),
							"a loader");
}

static enum pfld_status copy_mirror_map(struct pfld_loader *loader, struct pfld_error *error)
{
	struct pfld_sample_options *sample = &loader->options.sample;
	if (!sample->mirror_map) {
		if (sample->augment != PFLD_AUGMENT_NONE)
			pfld_log_write(&loader->options.log, PFLD_LOG_WARNING,
						   "no mirror map for %d points: faces are not mirrored in augmentation",
						   (int)loader->num_points);
		return PFLD_OK;
	}
	const size_t bytes = (size_t)loader->num_points * sizeof *loader->mirror_map;
	loader->mirror_map = pfld_calloc(1, bytes);
	if (!loader->mirror_map) return pfld_fail_memory(error, bytes, "a mirror map");
	memcpy(loader->mirror_map, sample->mirror_map, bytes);
	sample->mirror_map = loader->mirror_map;
	return PFLD_OK;
}

static int32_t choose_threads(const struct pfld_loader *loader)
{
	const int64_t places = (int64_t)loader->capacity * loader->num_slots;
	const int32_t wanted = loader->options.num_threads ? loader->options.num_threads : pfld_default_threads();
	return (int32_t)PFLD_MIN((int64_t)wanted, PFLD_MIN(places, loader->num_samples));
}

static enum pfld_status start_threads(struct pfld_loader *loader, struct pfld_error *error)
{
	enum pfld_status status = PFLD_OK;
	for (int32_t i = 0; !status && i < loader->num_workers; i++) {
		struct pfld_worker *worker = &loader->workers[i];
		worker->loader = loader;
		status = pfld_thread_create(&worker->thread, pfld_loader_work, worker, error);
	}
	return status;
}

enum pfld_status pfld_loader_open(struct pfld_loader **loader, const struct pfld_dataset *dataset,
								  struct pfld_batch *slots, int32_t num_slots,
								  const struct pfld_loader_options *options, struct pfld_error *error)
{
	if (!loader || !dataset)
		return pfld_fail(error, PFLD_ERR_ARGUMENT, "a loader needs a place for it, and a data set");
	const int64_t num_samples = pfld_dataset_size(dataset);
	const int32_t num_points = pfld_dataset_num_points(dataset);
	const struct pfld_loader_options chosen = options ? *options : (struct pfld_loader_options){0};
	enum pfld_status status = check_slots(slots, num_slots, error);
	if (!status) status = check_options(&chosen, num_samples, num_points, error);
	if (status) return status;
	if (chosen.drop_last && num_samples < slots[0].capacity)
		return pfld_fail(error, PFLD_ERR_ARGUMENT,
						 "%" PRId64 " samples make no whole batch of %d, and drop_last leaves out the rest",
						 num_samples, (int)slots[0].capacity);

	struct pfld_loader *fresh = pfld_calloc(1, sizeof *fresh);
	if (!fresh) return pfld_fail_memory(error, sizeof *fresh, "a loader");
	fresh->dataset = dataset;
	fresh->options = chosen;
	fresh->num_points = num_points;
	fresh->capacity = slots[0].capacity;
	fresh->num_slots = num_slots;
	fresh->num_samples = num_samples;
	const size_t size = (size_t)pfld_sample_size(&chosen.sample);
	fresh->input_values = size * size * 3;
	fresh->num_workers = choose_threads(fresh);
	status = allocate(fresh, error);
	if (!status) status = copy_mirror_map(fresh, error);
	for (int32_t i = 0; !status && i < num_slots; i++) fresh->slots[i].batch = &slots[i];
	if (!status) status = start_threads(fresh, error);
	if (status)
		pfld_loader_close(&fresh);
	else
		*loader = fresh;
	return status;
}

static void free_reasons(struct pfld_slot *slot)
{
	for (int32_t i = 0; i < slot->num_places; i++) {
		free(slot->places[i].reason);
		slot->places[i].reason = NULL;
	}
}

static void join_threads(struct pfld_loader *loader)
{
	pfld_mutex_lock(loader->mutex);
	loader->closing = true;
	pfld_cond_broadcast(loader->work);
	pfld_mutex_unlock(loader->mutex);
	for (int32_t i = 0; i < loader->num_workers; i++) {
		if (loader->workers[i].thread) pfld_thread_join(&loader->workers[i].thread);
		pfld_image_finish(&loader->workers[i].image);
		pfld_sample_scratch_finish(&loader->workers[i].scratch);
	}
}

void pfld_loader_close(struct pfld_loader **loader)
{
	if (!loader || !*loader) return;
	struct pfld_loader *old = *loader;
	// Threads are the last thing that opening makes; where they lack, there may be no lock either.
	if (old->workers && old->workers[0].loader) join_threads(old);
	for (int32_t i = 0; old->slots && i < old->num_slots; i++) {
		if (old->slots[i].places) free_reasons(&old->slots[i]);
		free(old->slots[i].places);
	}
	for (size_t i = 0; i < old->num_skipped; i++) free((char *)old->skipped[i].skip.reason);
	free(old->skipped);
	free(old->workers);
	free(old->queue);
	free(old->slots);
	free(old->failed_epoch);
	free(old->order);
	free(old->mirror_map);
	pfld_cond_destroy(&old->done);
	pfld_cond_destroy(&old->work);
	pfld_mutex_destroy(&old->mutex);
	free(old);
	*loader = NULL;
}

static int64_t count_batches(const struct pfld_loader *loader, int32_t epoch)
{
	int64_t left_out = 0;
	for (size_t i = 0; i < loader->num_skipped; i++) left_out += loader->skipped[i].epoch < epoch;
	return pfld_loader_count_batches(loader, loader->num_samples - left_out);
}

// Put a failure on record; takes `reason` over, also on failure.
static enum pfld_status record_skip(struct pfld_loader *loader, uint32_t index, int32_t epoch, char *reason,
									struct pfld_error *error)
{
	size_t at = 0;
	while (at < loader->num_skipped && loader->skipped[at].index < index) at++;
	if (at < loader->num_skipped && loader->skipped[at].index == index) {
		struct pfld_skipped_sample *known = &loader->skipped[at];
		known->epoch = PFLD_MIN(known->epoch, epoch);
		free(reason);
		return PFLD_OK;
	}
	if (!pfld_grow(&loader->skipped, &loader->skipped_capacity, loader->num_skipped + 1, sizeof *loader->skipped)) {
		free(reason);
		return pfld_fail_memory(error, (loader->num_skipped + 1) * sizeof *loader->skipped, "skipped samples");
	}
	struct pfld_face face;
	pfld_dataset_face(loader->dataset, index, &face);
	memmove(&loader->skipped[at + 1], &loader->skipped[at], (loader->num_skipped - at) * sizeof *loader->skipped);
	loader->skipped[at] = (struct pfld_skipped_sample){
		.index = index, .epoch = epoch, .skip = {.path = face.image_path, .line = face.line, .reason = reason}};
	if (loader->num_skipped++ == 0) loader->first_skipped = index;
	return PFLD_OK;
}

static enum pfld_status check_skips(const struct pfld_loader *loader, struct pfld_error *error)
{
	const double max_bad = loader->options.max_bad > 0 ? loader->options.max_bad : 0.1;
	if ((double)loader->num_skipped <= max_bad * (double)loader->num_samples) return PFLD_OK;
	size_t first = 0;
	while (loader->skipped[first].index != loader->first_skipped) first++;
	char share[PFLD_NUMBER_BYTES];
	return pfld_fail(error, PFLD_ERR_DATA,
					 "%zu of %" PRId64 " samples failed to load, more than the share of %s that --max_bad allows; the "
					 "first was: %s",
					 loader->num_skipped, loader->num_samples, pfld_format_double(share, max_bad, 6),
					 loader->skipped[first].skip.reason);
}

enum pfld_status pfld_loader_skip(struct pfld_loader *loader, uint32_t index, int32_t epoch, const char *reason,
								  struct pfld_error *error)
{
	if (!loader) return pfld_fail(error, PFLD_ERR_ARGUMENT, "pfld_loader_skip needs a loader");
	if (index >= loader->num_samples || epoch < 1)
		return pfld_fail(error, PFLD_ERR_ARGUMENT, "sample %" PRIu32 " of %" PRId64 " cannot have failed in epoch %d",
						 index, loader->num_samples, (int)epoch);
	if (loader->epoch)
		return pfld_fail(error, PFLD_ERR_STATE, "samples can be marked as failed before the first batch only");
	char *copy = pfld_strdup(reason ? reason : "failed before");
	if (!copy) return pfld_fail_memory(error, strlen(reason), "a reason");
	return record_skip(loader, index, epoch, copy, error);
}

size_t pfld_loader_skips(const struct pfld_loader *loader, const struct pfld_skipped_sample **skipped)
{
	if (skipped) *skipped = loader->skipped;
	return loader->num_skipped;
}

// Stop the threads, forget what they filled ahead, and go on at another place. Needs the lock.
static void restart(struct pfld_loader *loader, int32_t epoch, int64_t position)
{
	loader->running = false;
	while (loader->outstanding > 0) pfld_cond_wait(loader->done, loader->mutex);
	for (struct pfld_slot *slot; (slot = pfld_loader_front(loader)) != NULL; pfld_loader_pop(loader)) {
		free_reasons(slot);
		slot->state = PFLD_SLOT_FREE;
	}
	// Failures in batches that nobody was handed will be found again.
	memset(loader->failed_epoch, 0, (size_t)loader->num_samples * sizeof *loader->failed_epoch);
	for (size_t i = 0; i < loader->num_skipped; i++)
		loader->failed_epoch[loader->skipped[i].index] = loader->skipped[i].epoch;
	loader->epoch = epoch;
	loader->stop.status = PFLD_OK;
	pfld_loader_begin(loader, epoch, position);
	loader->running = true;
	pfld_cond_broadcast(loader->work);
}

enum pfld_status pfld_loader_seek(struct pfld_loader *loader, int32_t epoch, int64_t position, struct pfld_error *error)
{
	if (!loader) return pfld_fail(error, PFLD_ERR_ARGUMENT, "pfld_loader_seek needs a loader");
	if (epoch < 1 || epoch > INT32_MAX / 2)
		return pfld_fail(error, PFLD_ERR_ARGUMENT, "there is no epoch %d: they count from 1", (int)epoch);
	enum pfld_status status = PFLD_OK;
	pfld_mutex_lock(loader->mutex);
	const int64_t num_batches = count_batches(loader, epoch);
	if (position < 0 || position > num_batches)
		status = pfld_fail(error, PFLD_ERR_ARGUMENT, "epoch %d has %" PRId64 " batches: it has no position %" PRId64,
						   (int)epoch, num_batches, position);
	else
		restart(loader, epoch, position);
	pfld_mutex_unlock(loader->mutex);
	return status;
}

// Close the gaps that failures left, in the order of places.
static int32_t compact(const struct pfld_loader *loader, struct pfld_slot *slot)
{
	struct pfld_batch *batch = slot->batch;
	const struct {
		void *rows;
		size_t bytes;
	} fields[] = {
		{batch->inputs, loader->input_values * sizeof(float)},
		{batch->targets, 2 * (size_t)loader->num_points * sizeof(float)},
		{batch->target_mask, 2 * (size_t)loader->num_points * sizeof(float)},
		{batch->sample_weights, sizeof(float)},
		{batch->attributes, 6 * sizeof(float)},
		{batch->angles, 3 * sizeof(float)},
		{batch->indices, sizeof(uint32_t)},
	};
	int32_t kept = 0;
	for (int32_t from = 0; from < slot->num_places; from++) {
		if (slot->places[from].failed) continue;
		for (size_t i = 0; from != kept && i < PFLD_COUNT(fields); i++) {
			if (!fields[i].rows) continue;
			char *rows = fields[i].rows;
			memcpy(rows + (size_t)kept * fields[i].bytes, rows + (size_t)from * fields[i].bytes, fields[i].bytes);
		}
		kept++;
	}
	return kept;
}

// The failures of a batch that is through become known, in the order of its places.
static enum pfld_status settle_failures(struct pfld_loader *loader, struct pfld_slot *slot, struct pfld_error *error)
{
	if (slot->stop_place >= 0) {
		*error = slot->stop_error;
		return error->status;
	}
	enum pfld_status status = PFLD_OK;
	for (int32_t i = 0; !status && i < slot->num_places; i++) {
		struct pfld_place *place = &slot->places[i];
		char *reason = place->reason;
		if (!reason) continue;
		pfld_log_write(&loader->options.log, PFLD_LOG_INFO, "left out from epoch %d on: %s", (int)slot->epoch, reason);
		place->reason = NULL;
		status = record_skip(loader, place->index, slot->epoch, reason, error);
	}
	return status ? status : check_skips(loader, error);
}

// Hand over the batch at the front if it holds samples. *batch stays NULL when it is empty.
static enum pfld_status hand_over(struct pfld_loader *loader, struct pfld_slot *slot, struct pfld_batch **batch,
								  struct pfld_error *error)
{
	pfld_loader_pop(loader);
	slot->state = PFLD_SLOT_FREE;
	enum pfld_status status = settle_failures(loader, slot, error);
	free_reasons(slot);
	if (status) return status;
	const int32_t kept = compact(loader, slot);
	if (kept == 0) {
		pfld_cond_broadcast(loader->work);
		return PFLD_OK;
	}
	slot->state = PFLD_SLOT_LENT;
	slot->batch->num_samples = kept;
	slot->batch->epoch = slot->epoch;
	slot->batch->position = slot->position;
	loader->stats.num_samples += kept;
	*batch = slot->batch;
	return PFLD_OK;
}

// Nothing of the consumer's epoch is left.
static bool epoch_is_over(struct pfld_loader *loader)
{
	const struct pfld_slot *front = pfld_loader_front(loader);
	if (front) return front->epoch > loader->epoch;
	return loader->issue_epoch > loader->epoch ||
		   (loader->issue_epoch == loader->epoch && loader->issue_position == loader->num_batches);
}

static bool all_lent(const struct pfld_loader *loader)
{
	for (int32_t i = 0; i < loader->num_slots; i++) {
		if (loader->slots[i].state != PFLD_SLOT_LENT) return false;
	}
	return true;
}

// The next batch, PFLD_END, or what stops the loader (into *stop). Needs the lock; waits.
static enum pfld_status find_batch(struct pfld_loader *loader, struct pfld_batch **batch, struct pfld_error *stop)
{
	enum pfld_status status = check_skips(loader, stop); // a resumed run may be told of too many
	if (status) return status;
	if (count_batches(loader, loader->epoch) == 0)
		return pfld_fail(stop, PFLD_ERR_DATA, "%zu of %" PRId64 " samples failed to load: no batch is left",
						 loader->num_skipped, loader->num_samples);
	while (!*batch) {
		struct pfld_slot *front = pfld_loader_front(loader);
		if (epoch_is_over(loader)) {
			loader->epoch++;
			return PFLD_END;
		}
		if (front && front->num_done == front->num_places) {
			status = hand_over(loader, front, batch, stop);
			if (status) return status;
			continue;
		}
		if (all_lent(loader))
			return pfld_fail(stop, PFLD_ERR_STATE, "all %d slots are handed out: release a batch first",
							 (int)loader->num_slots);
		const uint64_t start = pfld_now_ns();
		pfld_cond_wait(loader->done, loader->mutex);
		loader->stats.wait_ns += pfld_now_ns() - start;
	}
	return PFLD_OK;
}

enum pfld_status pfld_loader_next(struct pfld_loader *loader, struct pfld_batch **batch, struct pfld_error *error)
{
	struct pfld_batch *found = NULL;
	if (!loader || !batch)
		return pfld_fail(error, PFLD_ERR_ARGUMENT, "pfld_loader_next needs a loader and a place for the batch");
	pfld_mutex_lock(loader->mutex);
	if (loader->epoch == 0) restart(loader, 1, 0);
	struct pfld_error stop = loader->stop;
	enum pfld_status status = stop.status;
	if (!status) status = find_batch(loader, &found, &stop);
	if (status && status != PFLD_END && status != PFLD_ERR_STATE) {
		loader->stop = stop;
		loader->running = false;
	}
	pfld_mutex_unlock(loader->mutex);
	if (status && status != PFLD_END && error) *error = stop;
	if (!status) *batch = found;
	return status;
}

void pfld_loader_release(struct pfld_loader *loader, struct pfld_batch *batch)
{
	pfld_mutex_lock(loader->mutex);
	for (int32_t i = 0; i < loader->num_slots; i++) {
		struct pfld_slot *slot = &loader->slots[i];
		if (slot->batch == batch && slot->state == PFLD_SLOT_LENT) slot->state = PFLD_SLOT_FREE;
	}
	pfld_cond_broadcast(loader->work);
	pfld_mutex_unlock(loader->mutex);
}

int64_t pfld_loader_num_batches(struct pfld_loader *loader)
{
	pfld_mutex_lock(loader->mutex);
	const int64_t num_batches = count_batches(loader, PFLD_MAX(loader->epoch, 1));
	pfld_mutex_unlock(loader->mutex);
	return num_batches;
}

void pfld_loader_stats(struct pfld_loader *loader, struct pfld_loader_stats *stats)
{
	pfld_mutex_lock(loader->mutex);
	*stats = loader->stats;
	stats->buffer_bytes = 0;
	for (int32_t i = 0; i < loader->num_workers; i++) stats->buffer_bytes += loader->workers[i].buffer_bytes;
	pfld_mutex_unlock(loader->mutex);
}
