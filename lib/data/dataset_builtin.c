// SPDX-License-Identifier: MIT
// Built-in faces as a list: `builtin:train`, `builtin:test`, each with `:N` behind it for another count. Rows come from
// faces.h, which also draws the pictures; here is only what makes a dataset of them. Called by pfld_dataset_open().
#include "dataset.h"
#include <stdio.h>
#include <string.h>

#define PREFIX "builtin:"
#define DEFAULT_TRAIN 2000
#define DEFAULT_TEST 300
#define MAX_FACES 1000000

bool pfld_list_is_builtin(const char *path)
{
	return !strncmp(path, PREFIX, strlen(PREFIX));
}

// "train", "test" and the count behind them.
static bool parse_name(const char *path, enum pfld_faces_split *split, int64_t *num_faces)
{
	if (!pfld_list_is_builtin(path)) return false;
	const char *name = path + strlen(PREFIX), *count = name + strcspn(name, ":");
	size_t length = (size_t)(count - name);
	if (length == 5 && !strncmp(name, "train", length)) {
		*split = PFLD_FACES_TRAIN;
		*num_faces = DEFAULT_TRAIN;
	} else if (length == 4 && !strncmp(name, "test", length)) {
		*split = PFLD_FACES_TEST;
		*num_faces = DEFAULT_TEST;
	} else {
		return false;
	}
	return !*count || (pfld_parse_int(count + 1, num_faces) && *num_faces >= 1 && *num_faces <= MAX_FACES);
}

static enum pfld_status add_face(struct pfld_list *list, int64_t index, struct pfld_error *error)
{
	struct pfld_faces_sample sample;
	double points[2 * PFLD_FACES_POINTS];
	char name[64];
	bool train = list->dataset->split == PFLD_FACES_TRAIN;
	pfld_faces_describe(list->dataset->seed, list->dataset->split, (uint64_t)index, &sample);
	snprintf(name, sizeof(name), PREFIX "%s/%lld", train ? "train" : "test", (long long)index);
	for (size_t i = 0; i < PFLD_COUNT(points); i++) points[i] = (double)sample.points[i];
	struct pfld_row row = {
		.file = list->path,
		.image = name,
		.points = points,
		.num_points = PFLD_FACES_POINTS,
		.has_box = true,
		.has_attributes = true,
		.has_angles = true,
	};
	for (int i = 0; i < 4; i++) row.box[i] = (double)sample.box[i];
	for (int i = 0; i < 6; i++) row.attributes[i] = (double)sample.attributes[i];
	for (int i = 0; i < 3; i++) row.angles[i] = (double)sample.angles[i];
	return pfld_list_add(list, &row, error);
}

enum pfld_status pfld_list_read_builtin(struct pfld_list *list, struct pfld_error *error)
{
	char shown[PFLD_SHOWN_BYTES];
	int64_t num_faces = 0;
	if (!parse_name(list->path, &list->dataset->split, &num_faces))
		return pfld_fail(error, PFLD_ERR_ARGUMENT,
						 "\"%s\": built-in faces are builtin:train[:N] and builtin:test[:N] with N from 1 to %d",
						 pfld_show(shown, list->path, 0), MAX_FACES);
	if (!pfld_list_takes(list, PFLD_FACES_POINTS))
		return pfld_fail(error, PFLD_ERR_ARGUMENT, "built-in faces have %d points, not %d", PFLD_FACES_POINTS,
						 list->dataset->num_points);
	enum pfld_status status = PFLD_OK;
	for (int64_t i = 0; i < num_faces && !status; i++) status = add_face(list, i, error);
	return status;
}
