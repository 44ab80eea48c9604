// SPDX-License-Identifier: MIT
// The public face of a dataset: which format a list has, opening, closing, looking things up. Rows are read by
// dataset_text.c, dataset_pts.c, dataset_dlib.c and dataset_builtin.c and checked in dataset_row.c; crops, batches and
// threads are the loader's. Called by the loader and the programs.
#include "dataset.h"
#include "base/file.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_POINTS 10000

static enum pfld_status check_options(const char *path, const struct pfld_dataset_options *options,
									  struct pfld_error *error)
{
	if (!path || !*path) return pfld_fail(error, PFLD_ERR_ARGUMENT, "no list was named");
	if (options->format < PFLD_LIST_AUTO || options->format > PFLD_LIST_BUILTIN)
		return pfld_fail(error, PFLD_ERR_ARGUMENT, "unknown list format %d", (int)options->format);
	if (options->num_points < 0 || options->num_points > MAX_POINTS)
		return pfld_fail(error, PFLD_ERR_ARGUMENT, "%d points: a face has 1 to %d, or 0 for what the data says",
						 options->num_points, MAX_POINTS);
	if (options->pts_base < -1 || options->pts_base > 1)
		return pfld_fail(error, PFLD_ERR_ARGUMENT,
						 "the first pixel of .pts files is 1 (or 0 for that) or -1 for zero-based, not %d",
						 options->pts_base);
	if (!(options->max_bad >= 0 && options->max_bad <= 1))
		return pfld_fail(error, PFLD_ERR_ARGUMENT, "the share of bad rows allowed lies in 0..1");
	if (options->max_samples < 0)
		return pfld_fail(error, PFLD_ERR_ARGUMENT, "the number of samples cannot be negative");
	return PFLD_OK;
}

// What the name of the list and the file system say; a text list stays AUTO until its rows are seen.
static enum pfld_status detect_format(const char *path, enum pfld_list_format *format, struct pfld_error *error)
{
	char shown[PFLD_SHOWN_BYTES];
	if (*format == PFLD_LIST_AUTO && pfld_list_is_builtin(path)) *format = PFLD_LIST_BUILTIN;
	if (*format == PFLD_LIST_BUILTIN) return PFLD_OK;
	enum pfld_path_kind kind = pfld_path_kind(path);
	if (kind == PFLD_PATH_ABSENT)
		return pfld_fail(error, PFLD_ERR_IO, "cannot open the list \"%s\": no such file or folder",
						 pfld_show(shown, path, 0));
	if (kind == PFLD_PATH_OTHER)
		return pfld_fail(error, PFLD_ERR_IO, "the list \"%s\" is neither a file nor a folder",
						 pfld_show(shown, path, 0));
	if (*format == PFLD_LIST_AUTO && (kind == PFLD_PATH_FOLDER || pfld_has_extension(path, "pts")))
		*format = PFLD_LIST_PTS;
	if (*format == PFLD_LIST_AUTO && pfld_has_extension(path, "xml")) *format = PFLD_LIST_DLIB;
	if (kind == PFLD_PATH_FOLDER && *format != PFLD_LIST_PTS)
		return pfld_fail(error, PFLD_ERR_IO, "the list \"%s\" is a folder: only .pts files come in one",
						 pfld_show(shown, path, 0));
	return PFLD_OK;
}

static bool add_folder(struct pfld_list *list, const char *folder, const char *inside)
{
	char *joined = inside ? pfld_path_join(folder, inside) : pfld_strdup(folder);
	list->folders[list->num_folders] = joined;
	list->num_folders += joined != NULL;
	return joined != NULL;
}

// image_dir, beside the list, WFLW_images beside the list's folder (WFLW's own layout) or in it, the current folder.
static enum pfld_status set_folders(struct pfld_list *list, struct pfld_error *error)
{
	const char *image_dir = list->options->image_dir;
	char *beside = pfld_path_folder(list->path);
	bool good = beside && (!image_dir || add_folder(list, image_dir, NULL)) && add_folder(list, beside, NULL) &&
				add_folder(list, beside, "../WFLW_images") && add_folder(list, beside, "WFLW_images") &&
				(!*beside || add_folder(list, "", NULL));
	free(beside);
	return good ? PFLD_OK : pfld_fail_memory(error, strlen(list->path), "the folders of images");
}

static enum pfld_status read_rows(struct pfld_list *list, struct pfld_error *error)
{
	switch (list->dataset->format) {
	case PFLD_LIST_PTS: return pfld_list_read_pts(list, error);
	case PFLD_LIST_DLIB: return pfld_list_read_dlib(list, error);
	case PFLD_LIST_BUILTIN: return pfld_list_read_builtin(list, error);
	default: return pfld_list_read_text(list, error);
	}
}

// Every row has been seen: were there too many bad ones?
static enum pfld_status judge(const struct pfld_list *list, struct pfld_error *error)
{
	const struct pfld_dataset *dataset = list->dataset;
	size_t num_bad = dataset->num_skips, num_rows = num_bad + dataset->num_faces;
	double max_bad = list->options->max_bad > 0 ? list->options->max_bad : 0.1;
	char shown[PFLD_SHOWN_BYTES], number[PFLD_NUMBER_BYTES];
	if (!num_rows)
		return pfld_fail(error, PFLD_ERR_DATA, "%s: no faces%s", pfld_show(shown, list->path, 0),
						 dataset->format == PFLD_LIST_PTS ? ": the folder has no .pts files" : " in the list");
	if (!dataset->num_faces && num_bad == 1) return pfld_fail(error, PFLD_ERR_DATA, "%s", list->first_reason);
	if (!dataset->num_faces)
		return pfld_fail(error, PFLD_ERR_DATA, "%s (none of %zu rows can be used)", list->first_reason, num_rows);
	if ((double)num_bad > max_bad * (double)num_rows)
		return pfld_fail(error, PFLD_ERR_DATA, "%s (%zu of %zu rows cannot be used; allowed is a share of %s)",
						 list->first_reason, num_bad, num_rows, pfld_format_double(number, max_bad, 4));
	if (num_bad)
		pfld_log_write(&list->options->log, PFLD_LOG_WARNING, "%s: %zu of %zu rows left out; the first: %s",
					   pfld_show(shown, list->path, 0), num_bad, num_rows, list->first_reason);
	return PFLD_OK;
}

static enum pfld_status fill(struct pfld_list *list, struct pfld_error *error)
{
	struct pfld_dataset *dataset = list->dataset;
	enum pfld_status status = detect_format(list->path, &dataset->format, error);
	if (!status) status = set_folders(list, error);
	if (!status) status = read_rows(list, error);
	if (status == PFLD_END) status = PFLD_OK;
	if (!status) status = judge(list, error);
	int32_t num_points = dataset->num_points;
	dataset->has_angles |= num_points == 98 || num_points == 68 || num_points == 106;
	return status;
}

enum pfld_status pfld_dataset_open(struct pfld_dataset **dataset, const char *path,
								   const struct pfld_dataset_options *options, struct pfld_error *error)
{
	static const struct pfld_dataset_options defaults;
	if (!options) options = &defaults;
	if (!dataset) return pfld_fail(error, PFLD_ERR_ARGUMENT, "pfld_dataset_open needs a place for the dataset");
	enum pfld_status status = check_options(path, options, error);
	if (status) return status;
	struct pfld_dataset *opened = pfld_calloc(1, sizeof(*opened));
	if (!opened) return pfld_fail_memory(error, sizeof(*opened), "a dataset");
	opened->format = options->format;
	opened->num_points = options->num_points;
	opened->limits = options->limits;
	opened->seed = options->seed;
	struct pfld_list list = {.dataset = opened, .path = path, .options = options};
	status = fill(&list, error);
	for (size_t i = 0; i < list.num_folders; i++) free(list.folders[i]);
	if (status)
		pfld_dataset_close(&opened);
	else
		*dataset = opened;
	return status;
}

void pfld_dataset_close(struct pfld_dataset **dataset)
{
	if (!dataset || !*dataset) return;
	pfld_dataset_free_store(*dataset);
	free((*dataset)->faces);
	free((*dataset)->skips);
	free(*dataset);
	*dataset = NULL;
}

int64_t pfld_dataset_size(const struct pfld_dataset *dataset)
{
	return (int64_t)dataset->num_faces;
}

int32_t pfld_dataset_num_points(const struct pfld_dataset *dataset)
{
	return dataset->num_points;
}

enum pfld_list_format pfld_dataset_format(const struct pfld_dataset *dataset)
{
	return dataset->format;
}

bool pfld_dataset_has_attributes(const struct pfld_dataset *dataset)
{
	return dataset->has_attributes;
}

bool pfld_dataset_has_angles(const struct pfld_dataset *dataset)
{
	return dataset->has_angles;
}

void pfld_dataset_face(const struct pfld_dataset *dataset, int64_t index, struct pfld_face *face)
{
	*face = dataset->faces[index];
}

enum pfld_status pfld_dataset_image(const struct pfld_dataset *dataset, int64_t index, struct pfld_image *image,
									struct pfld_error *error)
{
	if (!dataset || !image || index < 0 || index >= pfld_dataset_size(dataset))
		return pfld_fail(error, PFLD_ERR_ARGUMENT, "a picture of a dataset needs a dataset, one of its indices, and an image");
	if (dataset->format == PFLD_LIST_BUILTIN)
		return pfld_faces_render(dataset->seed, dataset->split, (uint64_t)index, image, error);
	return pfld_image_read(image, dataset->faces[index].image_path, &dataset->limits, NULL, error);
}

size_t pfld_dataset_skips(const struct pfld_dataset *dataset, const struct pfld_skip **skips)
{
	if (skips) *skips = dataset->skips;
	return dataset->num_skips;
}
