// SPDX-License-Identifier: MIT
// What the loader's threads do: take the next sample of the epoch, decode, crop, write it into its place. The
// consumer's side, which puts finished batches into the world in order, is loader.c.
#include "data/loader.h"
#include "base/base.h"

#include <string.h>

// Batches of a whole epoch, whatever max_batches says.
static int64_t epoch_batches(const struct pfld_loader *loader, int64_t num_samples)
{
	const int64_t whole = num_samples / loader->capacity;
	const bool rest = num_samples % loader->capacity && !loader->options.drop_last;
	return whole + rest;
}

int64_t pfld_loader_count_batches(const struct pfld_loader *loader, int64_t num_samples)
{
	const int64_t batches = epoch_batches(loader, num_samples), limit = loader->options.max_batches;
	return limit ? PFLD_MIN(batches, limit) : batches;
}

// Where batch `position` begins in the epoch's order. Batches of an epoch differ by one sample at most: a last batch of
// five where the others hold 32 would move a batch norm's statistics as much as they do.
static int64_t batch_start(const struct pfld_loader *loader, int64_t position)
{
	if (loader->options.drop_last) return position * loader->capacity;
	return position * loader->num_ordered / epoch_batches(loader, loader->num_ordered);
}

void pfld_loader_begin(struct pfld_loader *loader, int32_t epoch, int64_t position)
{
	uint32_t *order = loader->order;
	if (loader->options.shuffle) {
		struct pfld_random random = pfld_random_stream(loader->options.seed, PFLD_RANDOM_SHUFFLE, (uint64_t)epoch, 0);
		pfld_random_permutation(&random, order, (size_t)loader->num_samples);
	} else {
		for (int64_t i = 0; i < loader->num_samples; i++) order[i] = (uint32_t)i;
	}
	// What failed in this very epoch keeps its position, so that a resumed epoch has the batches that it had.
	int64_t kept = 0;
	for (int64_t i = 0; i < loader->num_samples; i++) {
		const int32_t failed = loader->failed_epoch[order[i]];
		if (failed == 0 || failed >= epoch) order[kept++] = order[i];
	}
	loader->num_ordered = kept;
	loader->num_batches = pfld_loader_count_batches(loader, kept);
	loader->issue_epoch = epoch;
	loader->issue_position = position;
}

struct pfld_slot *pfld_loader_front(struct pfld_loader *loader)
{
	return loader->queue_length ? &loader->slots[loader->queue[loader->queue_head]] : NULL;
}

void pfld_loader_pop(struct pfld_loader *loader)
{
	loader->queue_head = (loader->queue_head + 1) % loader->num_slots;
	loader->queue_length--;
}

static struct pfld_slot *queue_back(struct pfld_loader *loader)
{
	if (!loader->queue_length) return NULL;
	return &loader->slots[loader->queue[(loader->queue_head + loader->queue_length - 1) % loader->num_slots]];
}

// Put the next batch into a free slot at the end of the queue. NULL: there is no slot, or no batch yet.
static struct pfld_slot *queue_batch(struct pfld_loader *loader)
{
	if (loader->issue_position == loader->num_batches) {
		// The order of the next epoch depends on every failure of this one.
		if (loader->outstanding > 0) return NULL;
		pfld_loader_begin(loader, loader->issue_epoch + 1, 0);
	}
	int32_t free_slot = 0;
	while (free_slot < loader->num_slots && loader->slots[free_slot].state != PFLD_SLOT_FREE) free_slot++;
	if (free_slot == loader->num_slots || loader->num_batches == 0) return NULL;

	struct pfld_slot *slot = &loader->slots[free_slot];
	const int64_t first = batch_start(loader, loader->issue_position);
	const int64_t end = batch_start(loader, loader->issue_position + 1);
	slot->state = PFLD_SLOT_QUEUED;
	slot->epoch = loader->issue_epoch;
	slot->position = loader->issue_position++;
	slot->num_places = (int32_t)(end - first);
	slot->num_issued = slot->num_done = 0;
	slot->stop_place = -1;
	for (int32_t i = 0; i < slot->num_places; i++)
		slot->places[i] = (struct pfld_place){.index = loader->order[first + i]};
	loader->queue[(loader->queue_head + loader->queue_length++) % loader->num_slots] = free_slot;
	return slot;
}

// The next place to fill. False: nothing for now.
static bool take_place(struct pfld_loader *loader, struct pfld_slot **slot, int32_t *place)
{
	for (;;) {
		struct pfld_slot *back = queue_back(loader);
		if (!back || back->num_issued == back->num_places) back = queue_batch(loader);
		if (!back) return false;
		const int32_t next = back->num_issued++;
		if (loader->failed_epoch[back->places[next].index] != back->epoch) {
			loader->outstanding++;
			*slot = back;
			*place = next;
			return true;
		}
		// It failed in this epoch before the epoch was entered again: nothing to decode.
		back->places[next].failed = true;
		back->num_done++;
		pfld_cond_signal(loader->done);
	}
}

// Into its place of the batch; nobody else looks there before it is done.
static enum pfld_status fill_place(struct pfld_worker *worker, const struct pfld_slot *slot, int32_t place,
								   uint64_t spent_ns[2], struct pfld_error *error)
{
	struct pfld_loader *loader = worker->loader;
	const struct pfld_batch *batch = slot->batch;
	const uint32_t index = slot->places[place].index;
	const size_t row = (size_t)place, num_targets = 2 * (size_t)loader->num_points;
	struct pfld_face face;
	pfld_dataset_face(loader->dataset, index, &face);

	const uint64_t start = pfld_now_ns();
	enum pfld_status status = pfld_dataset_image(loader->dataset, index, &worker->image, error);
	const uint64_t decoded = pfld_now_ns();
	spent_ns[0] = decoded - start;
	if (status) return status;

	const struct pfld_sample sample = {
		.inputs = batch->inputs + row * loader->input_values,
		.targets = batch->targets ? batch->targets + row * num_targets : NULL,
		.target_mask = batch->target_mask ? batch->target_mask + row * num_targets : NULL,
		.angles = batch->angles ? batch->angles + row * 3 : NULL,
	};
	struct pfld_random random =
		pfld_random_stream(loader->options.seed, PFLD_RANDOM_AUGMENT, (uint64_t)slot->epoch, index);
	status = pfld_sample_fill(&sample, &worker->image, &face, loader->num_points, &loader->options.sample, &random,
							  &worker->scratch, error);
	spent_ns[1] = pfld_now_ns() - decoded;
	if (status == PFLD_ERR_DATA) pfld_sample_name_failure(&face, error);
	if (status) return status;
	if (batch->attributes) memcpy(batch->attributes + row * 6, face.attributes, sizeof face.attributes);
	if (batch->sample_weights) batch->sample_weights[row] = 1.0f;
	if (batch->indices) batch->indices[row] = index;
	return PFLD_OK;
}

static void note_failure(struct pfld_loader *loader, struct pfld_slot *slot, int32_t place,
						 const struct pfld_error *error)
{
	struct pfld_place *failed = &slot->places[place];
	failed->failed = true;
	struct pfld_error stop = *error;
	bool stops = pfld_sample_failure_stops(error);
	if (!stops) {
		loader->failed_epoch[failed->index] = slot->epoch;
		failed->reason = pfld_strdup(error->message);
		if (failed->reason) return;
		stops = true;
		(void)pfld_fail_memory(&stop, strlen(error->message), "the reason of a failure");
	}
	if (slot->stop_place >= 0 && slot->stop_place < place) return;
	slot->stop_place = place;
	slot->stop_error = stop;
}

void pfld_loader_work(void *argument)
{
	struct pfld_worker *worker = argument;
	struct pfld_loader *loader = worker->loader;
	pfld_mutex_lock(loader->mutex);
	while (!loader->closing) {
		struct pfld_slot *slot;
		int32_t place;
		if (!loader->running || !take_place(loader, &slot, &place)) {
			pfld_cond_wait(loader->work, loader->mutex);
			continue;
		}
		pfld_mutex_unlock(loader->mutex);

		struct pfld_error error = {0};
		uint64_t spent_ns[2] = {0};
		const enum pfld_status status = fill_place(worker, slot, place, spent_ns, &error);

		pfld_mutex_lock(loader->mutex);
		if (status) note_failure(loader, slot, place, &error);
		slot->num_done++;
		worker->buffer_bytes = worker->image.capacity_bytes + pfld_sample_scratch_bytes(&worker->scratch);
		loader->stats.decode_ns += spent_ns[0];
		loader->stats.augment_ns += spent_ns[1];
		pfld_cond_signal(loader->done);
		// The last sample of an epoch opens the next one to the threads that wait for it.
		if (--loader->outstanding == 0) pfld_cond_broadcast(loader->work);
	}
	pfld_mutex_unlock(loader->mutex);
}
