// SPDX-License-Identifier: MIT
// pfld_prepare(): crops of every face as PNG files and a prepared list of them, as the originals' preparation writes
// (plain crop on whole pixels, augmented copies). Not the loader: nothing here is trained on directly.
#include "base/base.h"
#include "base/file.h"
#include "base/thread.h"
#include "data/augment.h"
#include "data/sample.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FACES_PER_THREAD 16 // between two writes of the list
#define MAX_STEM_BYTES 100

struct prepare_worker {
	struct pfld_image image;
	struct pfld_sample_scratch scratch;
	float *labels; // (2P), then the same in pixels
};

// One face on its way: what a thread made of it, until its rows are written in order.
struct prepare_item {
	struct pfld_text rows;
	enum pfld_status status;
	bool stops; // the failure is not the face's
	struct pfld_error error;
};

struct prepare {
	const struct pfld_dataset *dataset;
	struct pfld_prepare_options options; // defaults put in
	struct pfld_sample_options sample;
	int32_t num_points;
	int64_t num_faces, first; // of the items
	char *image_folder, *list_path;
	struct pfld_pool *pool;
	struct prepare_worker *workers;
	struct prepare_item *items;
	int32_t num_workers, num_items; // items that there is room for
	struct pfld_file_writer *list;
	char first_bad[PFLD_ERROR_MESSAGE_BYTES];
	struct pfld_prepare_result result;
};

static enum pfld_status check(struct prepare *prepare, struct pfld_error *error)
{
	struct pfld_prepare_options *options = &prepare->options;
	if (!options->copies) options->copies = 1;
	if (!options->augment) options->augment = PFLD_AUGMENT_TF;
	if (!options->max_bad) options->max_bad = 0.1;
	if (options->copies < 1 || options->num_threads < 0 || !(options->max_bad > 0 && options->max_bad <= 1))
		return pfld_fail(error, PFLD_ERR_ARGUMENT,
						 "copies are at least 1, threads at least 0, the share of bad faces is 0 to 1");
	if (options->augment != PFLD_AUGMENT_TF && options->augment != PFLD_AUGMENT_PT)
		return pfld_fail(error, PFLD_ERR_ARGUMENT, "crops are prepared with the augmentation of TF or PT");
	prepare->sample = (struct pfld_sample_options){
		.size = options->size, .crop = PFLD_CROP_INTEGER, .mirror_map = options->mirror_map};
	enum pfld_status status = pfld_sample_check(&prepare->sample, prepare->num_points, error);
	prepare->sample.size = pfld_sample_size(&prepare->sample);
	if (!status && options->copies > 1 && !options->mirror_map)
		pfld_log_write(&options->log, PFLD_LOG_WARNING,
					   "no mirror map for %d points: faces are not mirrored in augmentation", (int)prepare->num_points);
	return status;
}

static enum pfld_status open_output(struct prepare *prepare, const char *folder, struct pfld_error *error)
{
	prepare->image_folder = pfld_path_join(folder, "imgs");
	prepare->list_path = pfld_path_join(folder, "list.txt");
	if (!prepare->image_folder || !prepare->list_path) return pfld_fail_memory(error, strlen(folder), "a path");
	enum pfld_status status = pfld_make_folder(prepare->image_folder, error);
	if (!status) status = pfld_file_writer_open(&prepare->list, prepare->list_path, error);
	return status;
}

static enum pfld_status start_workers(struct prepare *prepare, struct pfld_error *error)
{
	const int32_t wanted = prepare->options.num_threads ? prepare->options.num_threads : pfld_default_threads();
	prepare->num_workers = (int32_t)PFLD_MIN((int64_t)wanted, prepare->num_faces);
	prepare->num_items = (int32_t)PFLD_MIN((int64_t)prepare->num_workers * FACES_PER_THREAD, prepare->num_faces);
	prepare->workers = pfld_calloc((size_t)prepare->num_workers, sizeof *prepare->workers);
	prepare->items = pfld_calloc((size_t)prepare->num_items, sizeof *prepare->items);
	bool complete = prepare->workers && prepare->items;
	for (int32_t i = 0; complete && i < prepare->num_workers; i++) {
		prepare->workers[i].labels = pfld_calloc((size_t)prepare->num_points, 4 * sizeof(float));
		complete = prepare->workers[i].labels != NULL;
	}
	if (!complete)
		return pfld_fail_memory(error, (size_t)prepare->num_items * sizeof *prepare->items, "the faces in work");
	return pfld_pool_create(&prepare->pool, prepare->num_workers, error);
}

static void finish(struct prepare *prepare)
{
	pfld_pool_destroy(&prepare->pool);
	for (int32_t i = 0; prepare->workers && i < prepare->num_workers; i++) {
		pfld_image_finish(&prepare->workers[i].image);
		pfld_sample_scratch_finish(&prepare->workers[i].scratch);
		free(prepare->workers[i].labels);
	}
	for (int32_t i = 0; prepare->items && i < prepare->num_items; i++) pfld_text_finish(&prepare->items[i].rows);
	free(prepare->workers);
	free(prepare->items);
	free(prepare->image_folder);
	free(prepare->list_path);
	pfld_file_writer_abandon(&prepare->list);
}

// INDEX_STEM_COPY.png: the index keeps equal base names apart; bytes that could trouble a list become '_'.
static void name_crop(char *name, size_t bytes, const char *image_path, int64_t index, int32_t copy)
{
	const char *base = pfld_path_base(image_path), *extension = pfld_path_extension(base);
	size_t length = *extension ? (size_t)(extension - base) - 1 : strlen(base);
	char stem[MAX_STEM_BYTES + 1];
	length = PFLD_MIN(length, MAX_STEM_BYTES);
	for (size_t i = 0; i < length; i++) {
		const char c = base[i];
		const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
						   c == '-' || c == '_';
		stem[i] = plain ? c : '_';
	}
	stem[length] = '\0';
	snprintf(name, bytes, "%" PRId64 "_%s_%" PRId32 ".png", index, stem, copy);
}

// path, 2P crop-relative numbers (-1 -1: missing), 6 attributes, 3 angles.
static void append_row(const struct prepare *prepare, const struct prepare_worker *worker, const struct pfld_crop *crop,
					   const struct pfld_face *face, const char *name, struct pfld_text *rows)
{
	const int32_t num_points = prepare->num_points;
	const int32_t *map = prepare->sample.mirror_map;
	const size_t num_labels = 2 * (size_t)num_points;
	float *pixels = worker->labels + num_labels;
	pfld_crop_labels(crop, face, num_points, map, worker->labels, NULL);
	bool all_present = true;
	pfld_text_printf(rows, "imgs/%s", name);
	for (int32_t i = 0; i < num_points; i++) {
		const int32_t from = crop->mirror ? map[i] : i;
		const bool present = !face->present || face->present[from];
		all_present = all_present && present;
		for (int32_t j = 2 * i; j < 2 * i + 2; j++) {
			pfld_text_append(rows, " ");
			pfld_text_number(rows, present ? (double)worker->labels[j] : -1, 9);
			pixels[j] = worker->labels[j] * (float)prepare->sample.size;
		}
	}
	float angles[3];
	if (!all_present ||
		!pfld_pose_from_points(pixels, NULL, num_points, prepare->sample.size, prepare->sample.size, angles))
		pfld_crop_angles(crop, face->angles, angles);
	for (int i = 0; i < 9; i++) {
		pfld_text_append(rows, " ");
		pfld_text_number(rows, (double)(i < 6 ? face->attributes[i] : angles[i - 6]), 9);
	}
	pfld_text_append(rows, "\n");
}

static enum pfld_status write_copy(const struct prepare *prepare, struct prepare_worker *worker,
								   const struct pfld_face *face, int64_t index, int32_t copy, struct prepare_item *item)
{
	struct pfld_random random =
		pfld_random_stream(prepare->options.seed, PFLD_RANDOM_PREPARE, (uint64_t)index, (uint64_t)copy);
	struct pfld_crop crop;
	enum pfld_status status = pfld_augment_crop(
		&crop, face, prepare->num_points, PFLD_CROP_INTEGER, copy ? prepare->options.augment : PFLD_AUGMENT_NONE,
		prepare->sample.mirror_map != NULL, worker->image.width, worker->image.height, &random, &item->error);
	if (!status)
		status = pfld_sample_picture(&crop, &worker->image, prepare->sample.size, &worker->scratch, &item->error);
	if (status) return status;

	char name[MAX_STEM_BYTES + 48];
	name_crop(name, sizeof name, face->image_path, index, copy);
	char *path = pfld_path_join(prepare->image_folder, name);
	if (!path) return pfld_fail_memory(&item->error, strlen(prepare->image_folder), "a path");
	uint8_t *bytes = NULL;
	size_t num_bytes = 0;
	status = pfld_image_encode_png(&worker->scratch.resized, &bytes, &num_bytes, &item->error);
	if (!status) status = pfld_file_replace_unflushed(path, bytes, num_bytes, &item->error);
	pfld_free(bytes);
	free(path);
	item->stops = status != PFLD_OK; // what cannot be written is no fault of the face
	if (status) return status;
	append_row(prepare, worker, &crop, face, name, &item->rows);
	return item->rows.failed ? pfld_fail_memory(&item->error, item->rows.length, "rows of a list") : PFLD_OK;
}

static void prepare_face(void *argument, int32_t i, int32_t worker_index)
{
	struct prepare *prepare = argument;
	struct prepare_worker *worker = &prepare->workers[worker_index];
	struct prepare_item *item = &prepare->items[i];
	const int64_t index = prepare->first + i;
	item->rows.length = 0;
	item->stops = false;
	struct pfld_face face;
	pfld_dataset_face(prepare->dataset, index, &face);
	item->status = pfld_dataset_image(prepare->dataset, index, &worker->image, &item->error);
	const bool read = !item->status;
	for (int32_t copy = 0; !item->status && copy < prepare->options.copies; copy++)
		item->status = write_copy(prepare, worker, &face, index, copy, item);
	if (!item->status) return;
	item->stops = item->stops || pfld_sample_failure_stops(&item->error);
	if (read && !item->stops) pfld_sample_name_failure(&face, &item->error);
}

// The rows of one face go into the list, or its failure onto the account.
static enum pfld_status settle(struct prepare *prepare, const struct prepare_item *item, struct pfld_error *error)
{
	if (!item->status) {
		prepare->result.num_faces++;
		prepare->result.num_crops += prepare->options.copies;
		return pfld_file_writer_write(prepare->list, item->rows.data, item->rows.length, error);
	}
	if (item->stops) {
		if (error) *error = item->error;
		return item->status;
	}
	pfld_log_write(&prepare->options.log, PFLD_LOG_WARNING, "left out: %s", item->error.message);
	if (prepare->result.num_skipped++ == 0) memcpy(prepare->first_bad, item->error.message, sizeof prepare->first_bad);
	if ((double)prepare->result.num_skipped <= prepare->options.max_bad * (double)prepare->num_faces) return PFLD_OK;
	char share[PFLD_NUMBER_BYTES];
	return pfld_fail(error, PFLD_ERR_DATA,
					 "%" PRId64 " of %" PRId64 " faces cannot be prepared, more than the share of %s that --max_bad "
					 "allows; the first was: %s",
					 prepare->result.num_skipped, prepare->num_faces,
					 pfld_format_double(share, prepare->options.max_bad, 6), prepare->first_bad);
}

static enum pfld_status run(struct prepare *prepare, struct pfld_error *error)
{
	const struct pfld_prepare_options *options = &prepare->options;
	enum pfld_status status = PFLD_OK;
	while (!status && prepare->first < prepare->num_faces) {
		const int32_t num = (int32_t)PFLD_MIN((int64_t)prepare->num_items, prepare->num_faces - prepare->first);
		pfld_pool_run(prepare->pool, num, prepare_face, prepare);
		for (int32_t i = 0; !status && i < num; i++) status = settle(prepare, &prepare->items[i], error);
		prepare->first += num;
		if (!status && options->progress)
			options->progress(options->progress_context, prepare->first, prepare->num_faces);
	}
	if (!status && !prepare->result.num_crops)
		status = pfld_fail(error, PFLD_ERR_DATA, "no face could be prepared; the first reason: %s", prepare->first_bad);
	if (!status) status = pfld_file_writer_commit(&prepare->list, error);
	return status;
}

enum pfld_status pfld_prepare(const struct pfld_dataset *dataset, const char *folder,
							  const struct pfld_prepare_options *options, struct pfld_prepare_result *result,
							  struct pfld_error *error)
{
	if (!dataset || !folder || !*folder)
		return pfld_fail(error, PFLD_ERR_ARGUMENT, "preparing needs a data set and a folder");
	struct prepare prepare = {
		.dataset = dataset,
		.options = options ? *options : (struct pfld_prepare_options){0},
		.num_points = pfld_dataset_num_points(dataset),
		.num_faces = pfld_dataset_size(dataset),
	};
	enum pfld_status status = check(&prepare, error);
	if (!status) status = open_output(&prepare, folder, error);
	if (!status) status = start_workers(&prepare, error);
	if (!status) status = run(&prepare, error);
	finish(&prepare);
	if (!status && result) *result = prepare.result;
	return status;
}
