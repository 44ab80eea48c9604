// SPDX-License-Identifier: MIT
// What the list readers share: the open dataset, and the list while it is being read. Each reader (dataset_text.c,
// dataset_pts.c, dataset_dlib.c, dataset_builtin.c) turns its format into rows; dataset_row.c checks a row, finds its
// image and keeps it, or notes why not; dataset.c opens and closes. Private to lib/data; users see pfld/data.h.
#ifndef PFLD_DATA_DATASET_H
#define PFLD_DATA_DATASET_H

#include "base/base.h"
#include "faces.h"
#include <pfld/data.h>

struct pfld_dataset_chunk;

struct pfld_dataset {
	enum pfld_list_format format; // AUTO until a row of a text list has told which
	int32_t num_points;           // 0 until asked for or told by the first good row
	struct pfld_face *faces;
	size_t num_faces, faces_capacity;
	struct pfld_skip *skips;
	size_t num_skips, skips_capacity;
	bool has_attributes, has_angles;
	struct pfld_image_limits limits;
	uint64_t seed; // of built-in faces, and which they are
	enum pfld_faces_split split;
	struct pfld_dataset_chunk *chunks; // strings, points: never moved, freed together
};

// A list while it is read.
struct pfld_list {
	struct pfld_dataset *dataset;
	const char *path;
	const struct pfld_dataset_options *options;
	char *folders[5]; // where images are looked for, in this order
	size_t num_folders;
	char first_reason[512]; // of the first row left out: "file:line: reason"
};

// One face as its reader found it; only lent to pfld_list_add().
struct pfld_row {
	const char *file; // where it stands, and the line there (0: none), for messages
	int64_t line;
	const char *name;     // of the image as written, looked for in the folders; or NULL and
	const char *image;    // the path itself
	const double *points; // (num_points, 2); missing ones carry a sentinel (see data.h)
	int32_t num_points;
	double offset; // added to every coordinate that is there
	bool crop_relative, has_box, has_attributes, has_angles;
	double box[4], attributes[6], angles[3];
};

// The known numbers of points (98, 68, 106, 29, 21, 19).
#define PFLD_NUM_KNOWN_POINTS 6
extern const int32_t pfld_known_points[PFLD_NUM_KNOWN_POINTS];
// May a row of so many points be taken: as asked for, else as the first good row had, else a known number.
bool pfld_list_takes(const struct pfld_list *list, int32_t num_points);
// "98", or "98, 68, 106, 29, 21 or 19 (another number must be asked for)".
const char *pfld_list_expected(const struct pfld_list *list, char buffer[96]);

bool pfld_list_is_builtin(const char *path);
// Is this the path's extension (given in lower case), in whichever case?
bool pfld_has_extension(const char *path, const char *lower);

// Memory that lives as long as the dataset, aligned for any type; NULL: out of memory.
void *pfld_dataset_store(struct pfld_dataset *dataset, size_t num_bytes);
void pfld_dataset_free_store(struct pfld_dataset *dataset);

// Check a row, find its image and keep it; or note why not. PFLD_END: enough rows (max_samples). PFLD_ERR_MEMORY.
enum pfld_status pfld_list_add(struct pfld_list *list, const struct pfld_row *row,
							   struct pfld_error *error) PFLD_MUST_USE;
// Note a row that is left out. `subject` is what pfld_skip.path shows (NULL: file). PFLD_ERR_MEMORY.
enum pfld_status pfld_list_skip(struct pfld_list *list, const char *file, int64_t line, const char *subject,
								struct pfld_error *error, const char *format, ...) PFLD_PRINTF(6, 7) PFLD_MUST_USE;

// The readers: PFLD_OK at the end of the list, PFLD_END when pfld_list_add() said so, else an error that ends it all.
enum pfld_status pfld_list_read_text(struct pfld_list *list, struct pfld_error *error) PFLD_MUST_USE;
enum pfld_status pfld_list_read_pts(struct pfld_list *list, struct pfld_error *error) PFLD_MUST_USE;
enum pfld_status pfld_list_read_dlib(struct pfld_list *list, struct pfld_error *error) PFLD_MUST_USE;
enum pfld_status pfld_list_read_builtin(struct pfld_list *list, struct pfld_error *error) PFLD_MUST_USE;

#endif
