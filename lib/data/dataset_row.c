// SPDX-License-Identifier: MIT
// One row of a list on its way into the dataset: its numbers are checked, its image is looked for, missing angles are
// made, and the face is kept, or the reason why not. Opens no list (dataset_text.c and its sisters do) and decodes no
// image. Called by the list readers.
#include "dataset.h"
#include "crop.h"
#include "base/file.h"
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const int32_t pfld_known_points[PFLD_NUM_KNOWN_POINTS] = {98, 68, 106, 29, 21, 19};

bool pfld_list_takes(const struct pfld_list *list, int32_t num_points)
{
	if (list->dataset->num_points) return num_points == list->dataset->num_points;
	for (size_t i = 0; i < PFLD_COUNT(pfld_known_points); i++)
		if (num_points == pfld_known_points[i]) return true;
	return false;
}

const char *pfld_list_expected(const struct pfld_list *list, char buffer[96])
{
	if (list->dataset->num_points)
		snprintf(buffer, 96, "%d", list->dataset->num_points);
	else
		snprintf(buffer, 96, "98, 68, 106, 29, 21 or 19 (another number must be asked for)");
	return buffer;
}

// ---- memory of the dataset ----

#define CHUNK_BYTES ((size_t)256 << 10)

struct pfld_dataset_chunk {
	struct pfld_dataset_chunk *next;
	size_t capacity, used;
	max_align_t data[];
};

void *pfld_dataset_store(struct pfld_dataset *dataset, size_t num_bytes)
{
	size_t rounded;
	if (!pfld_add_size(num_bytes, sizeof(max_align_t) - 1, &rounded)) return NULL;
	rounded -= rounded % sizeof(max_align_t);
	struct pfld_dataset_chunk *chunk = dataset->chunks;
	if (!chunk || chunk->capacity - chunk->used < rounded) {
		size_t capacity = PFLD_MAX(rounded, CHUNK_BYTES), total;
		if (!pfld_add_size(capacity, sizeof(*chunk), &total)) return NULL;
		chunk = malloc(total);
		if (!chunk) return NULL;
		*chunk = (struct pfld_dataset_chunk){.next = dataset->chunks, .capacity = capacity};
		dataset->chunks = chunk;
	}
	void *result = (char *)chunk->data + chunk->used;
	chunk->used += rounded;
	return result;
}

void pfld_dataset_free_store(struct pfld_dataset *dataset)
{
	while (dataset->chunks) {
		struct pfld_dataset_chunk *next = dataset->chunks->next;
		free(dataset->chunks);
		dataset->chunks = next;
	}
}

static const char *store_string(struct pfld_dataset *dataset, const char *text)
{
	size_t num_bytes = strlen(text) + 1;
	char *copy = pfld_dataset_store(dataset, num_bytes);
	return copy ? memcpy(copy, text, num_bytes) : NULL;
}

// ---- rows left out ----

enum pfld_status pfld_list_skip(struct pfld_list *list, const char *file, int64_t line, const char *subject,
								struct pfld_error *error, const char *format, ...)
{
	struct pfld_dataset *dataset = list->dataset;
	char reason[1400];
	va_list arguments;
	va_start(arguments, format);
	vsnprintf(reason, sizeof(reason), format, arguments);
	va_end(arguments);
	if (!dataset->num_skips) {
		char shown[PFLD_SHOWN_BYTES], where[32] = "";
		if (line) snprintf(where, sizeof(where), ":%lld", (long long)line);
		snprintf(list->first_reason, sizeof(list->first_reason), "%s%s: %.250s", pfld_show(shown, file, 200), where,
				 reason);
	}
	const char *path = store_string(dataset, subject ? subject : file), *kept = store_string(dataset, reason);
	if (!path || !kept ||
		!pfld_grow(&dataset->skips, &dataset->skips_capacity, dataset->num_skips + 1, sizeof(*dataset->skips)))
		return pfld_fail_memory(error, strlen(reason), "the report of rows left out");
	dataset->skips[dataset->num_skips++] = (struct pfld_skip){.path = path, .line = line, .reason = kept};
	return PFLD_OK;
}

// ---- images ----

bool pfld_has_extension(const char *path, const char *lower)
{
	const char *extension = pfld_path_extension(path);
	size_t i = 0;
	for (; extension[i] && lower[i]; i++) {
		char c = (char)(extension[i] >= 'A' && extension[i] <= 'Z' ? extension[i] - 'A' + 'a' : extension[i]);
		if (c != lower[i]) return false;
	}
	return extension[i] == lower[i];
}

static bool named_as_image(const char *path)
{
	return pfld_has_extension(path, "jpg") || pfld_has_extension(path, "jpeg") || pfld_has_extension(path, "png");
}

// A file that is not named as a picture (a list may name any file of the machine) must begin as one.
static enum pfld_status begins_as_image(const char *path, bool *image, struct pfld_error *error)
{
	struct pfld_file_reader *reader = NULL;
	uint64_t num_bytes;
	uint8_t head[8];
	struct pfld_error reason;
	*image = false;
	enum pfld_status status = pfld_file_reader_open(&reader, path, &num_bytes, &reason);
	if (!status && num_bytes >= sizeof(head)) {
		status = pfld_file_reader_read(reader, 0, head, sizeof(head), &reason);
		*image = !status && (!memcmp(head, "\x89PNG\r\n\x1a\n", 8) || !memcmp(head, "\xff\xd8\xff", 3));
	}
	pfld_file_reader_close(&reader);
	return status == PFLD_ERR_MEMORY ? pfld_fail(error, status, "%s", reason.message) : PFLD_OK;
}

// The first folder that has the file: *path is a fresh string, NULL when there is none.
static enum pfld_status look_up(const struct pfld_list *list, const char *name, char **path, struct pfld_error *error)
{
	*path = NULL;
	for (size_t i = 0; i < list->num_folders; i++) {
		char *candidate = pfld_path_join(list->folders[i], name);
		if (!candidate) return pfld_fail_memory(error, strlen(name), "the path of an image");
		if (pfld_path_kind(candidate) == PFLD_PATH_FILE) {
			*path = candidate;
			return PFLD_OK;
		}
		free(candidate);
	}
	return PFLD_OK;
}

// Lists written on Windows have backslashes: these are tried as they stand, then as slashes.
static enum pfld_status find_image(const struct pfld_list *list, const char *name, char **path,
								   struct pfld_error *error)
{
	enum pfld_status status = look_up(list, name, path, error);
	if (status || *path || !strchr(name, '\\')) return status;
	char *slashes = pfld_strdup(name);
	if (!slashes) return pfld_fail_memory(error, strlen(name), "the name of an image");
	for (char *c = slashes; *c; c++)
		if (*c == '\\') *c = '/';
	status = look_up(list, slashes, path, error);
	free(slashes);
	return status;
}

// Where the row's image lies (a fresh string), or NULL when the row has been left out for want of it.
static enum pfld_status locate_image(struct pfld_list *list, const struct pfld_row *row, char **path,
									 struct pfld_error *error)
{
	char shown[PFLD_SHOWN_BYTES];
	enum pfld_status status = find_image(list, row->name, path, error);
	if (status) return status;
	if (!*path)
		return pfld_list_skip(list, row->file, row->line, row->name, error, "cannot open \"%s\": no such file",
							  pfld_show(shown, row->name, 0));
	bool image = named_as_image(*path);
	if (!image) status = begins_as_image(*path, &image, error);
	if (!status && image) return PFLD_OK;
	free(*path);
	*path = NULL;
	if (status) return status;
	return pfld_list_skip(list, row->file, row->line, row->name, error, "cannot open \"%s\": not a JPEG or PNG file",
						  pfld_show(shown, row->name, 0));
}

// The image's path in the dataset's memory, or NULL when the row has been left out for want of it.
static enum pfld_status resolve_image(struct pfld_list *list, const struct pfld_row *row, const char **image,
									  struct pfld_error *error)
{
	struct pfld_dataset *dataset = list->dataset;
	char *found = NULL;
	*image = NULL;
	enum pfld_status status = row->name ? locate_image(list, row, &found, error) : PFLD_OK;
	const char *path = row->name ? found : row->image;
	if (status || !path) return status;
	const char *before = dataset->num_faces ? dataset->faces[dataset->num_faces - 1].image_path : NULL;
	// Several faces of one picture share its path.
	*image = before && !strcmp(before, path) ? before : store_string(dataset, path);
	if (!*image) status = pfld_fail_memory(error, strlen(path), "the path of an image");
	free(found);
	return status;
}

// ---- numbers ----

// A point is missing when a coordinate is not a number, or when both are the same sentinel: -1, or -100 and less.
static bool is_missing(const double point[2])
{
	if (isnan(point[0]) || isnan(point[1])) return true;
	return point[0] == point[1] && (point[0] == -1 || point[0] <= -100);
}

// The smallest rectangle of the points that are there; returns how many that are.
static int32_t extent(const struct pfld_row *row, double low[2], double high[2])
{
	int32_t num_present = 0;
	for (int32_t i = 0; i < row->num_points; i++) {
		const double *point = row->points + 2 * i;
		if (is_missing(point)) continue;
		for (int axis = 0; axis < 2; axis++) {
			double x = point[axis] + row->offset;
			low[axis] = num_present ? PFLD_MIN(low[axis], x) : x;
			high[axis] = num_present ? PFLD_MAX(high[axis], x) : x;
		}
		num_present++;
	}
	return num_present;
}

static bool all_finite(const double *numbers, int count)
{
	for (int i = 0; i < count; i++)
		if (!isfinite(numbers[i])) return false;
	return true;
}

// Why the row's numbers cannot be used; NULL when they can.
static const char *complaint(const struct pfld_row *row)
{
	// Crop-relative points lie in 0..1 or a little outside; pixel numbers there are a mistake of the list.
	double limit = row->crop_relative ? 10 : 1e6;
	for (int32_t i = 0; i < row->num_points; i++) {
		const double *point = row->points + 2 * i;
		if (is_missing(point)) continue;
		if (fabs(point[0]) <= limit && fabs(point[1]) <= limit) continue;
		return row->crop_relative ? "points of a prepared row are shares of the crop (0..1), not pixels"
								  : "a coordinate is not finite or beyond a million pixels";
	}
	double low[2], high[2];
	if (!extent(row, low, high)) return "all points are missing";
	if (!row->crop_relative && !(high[0] > low[0] || high[1] > low[1])) return "all points are the same: no face";
	if (row->has_box && (!all_finite(row->box, 4) || fabs(row->box[0]) > 1e6 || fabs(row->box[1]) > 1e6 ||
						 fabs(row->box[2]) > 1e6 || fabs(row->box[3]) > 1e6))
		return "the face box is not finite or beyond a million pixels";
	if (row->has_attributes && !all_finite(row->attributes, 6)) return "an attribute is not finite";
	if (row->has_angles && !all_finite(row->angles, 3)) return "an angle is not finite";
	return NULL;
}

#define ANGLE_CROP 112 // pixels

// Angles that the list does not give come from the points in the originals' whole-pixel crop where the recipe knows
// them, else they are 0.
static void fill_angles(const struct pfld_row *row, struct pfld_face *face)
{
	float pixels[2 * 106];
	struct pfld_crop crop;
	if (row->has_angles) {
		for (int i = 0; i < 3; i++) face->angles[i] = (float)row->angles[i];
		return;
	}
	if (row->num_points > 106) return;
	if (pfld_crop_plain(&crop, face, row->num_points, PFLD_CROP_INTEGER, ANGLE_CROP, ANGLE_CROP, NULL)) return;
	pfld_crop_labels(&crop, face, row->num_points, NULL, pixels, NULL);
	for (int32_t i = 0; i < 2 * row->num_points; i++) pixels[i] *= ANGLE_CROP;
	pfld_pose_from_points(pixels, face->present, row->num_points, ANGLE_CROP, ANGLE_CROP, face->angles);
}

// Copy the row into the dataset's memory.
static enum pfld_status keep(struct pfld_list *list, const struct pfld_row *row, const char *image,
							 struct pfld_error *error)
{
	struct pfld_dataset *dataset = list->dataset;
	size_t num_points = (size_t)row->num_points, num_bytes = 2 * num_points * sizeof(float);
	bool missing = false;
	for (size_t i = 0; i < num_points; i++) missing |= is_missing(row->points + 2 * i);
	float *points = pfld_dataset_store(dataset, num_bytes);
	uint8_t *present = missing ? pfld_dataset_store(dataset, num_points) : NULL;
	if (!points || (missing && !present) ||
		!pfld_grow(&dataset->faces, &dataset->faces_capacity, dataset->num_faces + 1, sizeof(*dataset->faces)))
		return pfld_fail_memory(error, num_bytes + sizeof(*dataset->faces), "the rows of a list");
	for (size_t i = 0; i < num_points; i++) {
		bool there = !is_missing(row->points + 2 * i);
		if (present) present[i] = there;
		for (size_t axis = 0; axis < 2; axis++)
			points[2 * i + axis] = there ? (float)(row->points[2 * i + axis] + row->offset) : 0;
	}
	struct pfld_face face = {
		.image_path = image,
		.line = row->line,
		.points = points,
		.present = present,
		.crop_relative = row->crop_relative,
		.has_box = row->has_box,
	};
	for (int i = 0; i < 4 && row->has_box; i++) face.box[i] = (float)row->box[i];
	for (int i = 0; i < 6 && row->has_attributes; i++) face.attributes[i] = (float)row->attributes[i];
	fill_angles(row, &face);
	dataset->faces[dataset->num_faces++] = face;
	dataset->num_points = row->num_points;
	dataset->has_attributes |= row->has_attributes;
	dataset->has_angles |= row->has_angles;
	return PFLD_OK;
}

enum pfld_status pfld_list_add(struct pfld_list *list, const struct pfld_row *row, struct pfld_error *error)
{
	const char *wrong = complaint(row), *image = NULL;
	if (wrong) return pfld_list_skip(list, row->file, row->line, NULL, error, "%s", wrong);
	enum pfld_status status = resolve_image(list, row, &image, error);
	if (status || !image) return status;
	status = keep(list, row, image, error);
	if (status) return status;
	int64_t wanted = list->options->max_samples;
	return wanted && (int64_t)list->dataset->num_faces >= wanted ? PFLD_END : PFLD_OK;
}
