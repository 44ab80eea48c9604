// SPDX-License-Identifier: MIT
// Lists made in a fresh folder, for the tests of datasets: files, rows of any layout, opening with one call.
#ifndef PFLD_TESTS_LIST_FILES_H
#define PFLD_TESTS_LIST_FILES_H

#include "base/base.h"
#include "scratch.h"
#include <check.h>
#include <pfld/data.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char sandbox[64];
static struct pfld_dataset *dataset;
static struct pfld_error failure;

static inline void make_sandbox(void)
{
	strcpy(sandbox, "lists-XXXXXX");
	make_scratch(sandbox);
}

static inline void remove_sandbox(void)
{
	pfld_dataset_close(&dataset);
	remove_tree(sandbox);
}

// "sandbox/name" in one of a few static buffers.
static inline const char *in_sandbox(const char *name)
{
	static char buffers[8][4400];
	static int next;
	char *buffer = buffers[next++ % 8];
	snprintf(buffer, sizeof(buffers[0]), "%s/%s", sandbox, name);
	return buffer;
}

// Opening looks whether an image is there, no more.
static inline void make_image(const char *name)
{
	put_file(sandbox, name, "not looked into");
}

// Coordinate `axis` of point i: a spread in 0..1 that is a face to nobody but has an extent.
static inline double coordinate(int32_t i, int axis)
{
	return axis ? 0.1 + 0.0075 * (i * 31 % 100) : 0.05 + 0.008 * (i * 17 % 100);
}

static inline void add_points(struct pfld_text *text, int32_t num_points, double scale, double shift)
{
	for (int32_t i = 0; i < 2 * num_points; i++) {
		pfld_text_append(text, i ? " " : "");
		pfld_text_number(text, coordinate(i / 2, i % 2) * scale + shift, 9);
	}
}

// path, points[, attributes[, angles]] and a newline. `tail` is what follows the points.
static inline void add_prepared(struct pfld_text *text, const char *path, int32_t num_points, const char *tail)
{
	pfld_text_printf(text, "%s ", path);
	add_points(text, num_points, 1, 0);
	pfld_text_printf(text, "%s%s\n", *tail ? " " : "", tail);
}

#define ATTRIBUTES "0 1 0 0 1 0"
#define ANGLES "0.5 -1.25 2.75"

// points in pixels, box, attributes (may be ""), path.
static inline void add_raw(struct pfld_text *text, const char *path, int32_t num_points, const char *attributes)
{
	add_points(text, num_points, 100, 20);
	pfld_text_printf(text, " 25 30 115 117 %s%s%s\n", attributes, *attributes ? " " : "", path);
}

static inline void write_list(const char *name, struct pfld_text *text)
{
	ck_assert(!text->failed);
	put_bytes(sandbox, name, text->data, text->length);
	pfld_text_finish(text);
}

static inline enum pfld_status open_list(const char *name, const struct pfld_dataset_options *options)
{
	pfld_dataset_close(&dataset);
	failure.message[0] = '\0';
	enum pfld_status status = pfld_dataset_open(&dataset, in_sandbox(name), options, &failure);
	if (status) ck_assert_ptr_null(dataset);
	if (status) ck_assert_int_eq(failure.status, status);
	return status;
}

static inline void open_good(const char *name, const struct pfld_dataset_options *options, int64_t num_faces)
{
	enum pfld_status status = open_list(name, options);
	ck_assert_msg(!status, "%s", failure.message);
	ck_assert_int_eq(pfld_dataset_size(dataset), num_faces);
}

// Opening fails with this status and a message that holds all of the texts (up to a NULL).
static inline void open_bad(const char *name, const struct pfld_dataset_options *options, enum pfld_status expected,
							const char *const *texts)
{
	ck_assert_int_eq(open_list(name, options), expected);
	for (; *texts; texts++)
		ck_assert_msg(strstr(failure.message, *texts), "\"%s\" is not in: %s", *texts, failure.message);
}
#define TEXTS(...) ((const char *const[]){__VA_ARGS__, NULL})

static inline struct pfld_face face_at(int64_t index)
{
	struct pfld_face face;
	pfld_dataset_face(dataset, index, &face);
	return face;
}

static inline const char *skip_reason(size_t index)
{
	const struct pfld_skip *skips;
	ck_assert_uint_lt(index, pfld_dataset_skips(dataset, &skips));
	return skips[index].reason;
}

#endif
