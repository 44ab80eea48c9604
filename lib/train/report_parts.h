// SPDX-License-Identifier: MIT
// What the files of the report share: the object, and the pieces that each output is written from. Not public.
#ifndef PFLD_TRAIN_REPORT_PARTS_H
#define PFLD_TRAIN_REPORT_PARTS_H

#include <pfld/report.h>

#include "base/base.h"

// A named value: a text, or a number where text is NULL.
struct pfld_report_entry {
	char *name, *text;
	double number;
};
struct pfld_report_entries {
	struct pfld_report_entry *items;
	size_t num, capacity;
};

// A face as it is shown: the encoded crop, and the points in pixels of it.
struct pfld_report_picture {
	uint8_t *bytes;
	size_t num_bytes;
	const char *media_type; // "image/jpeg"; static storage
	int32_t width, height, num_points;
	float *truth, *prediction; // (P, 2)
	double nme;
};

struct pfld_report_kept_skip {
	char *path, *reason;
	int64_t line;
};

struct pfld_report {
	char *title, *command;
	struct pfld_report_entries options, facts;
	bool has_memory;
	uint64_t planned_peak_bytes, measured_peak_bytes, by_class[PFLD_MEMORY_NUM_CLASSES];
	struct pfld_report_epoch *epochs;
	size_t num_epochs, epochs_capacity;
	struct pfld_report_kept_skip *skips;
	size_t num_skips;
	struct pfld_report_picture *pictures;
	size_t num_pictures;
};

// The numbers of an epoch, one table for run.json, log.csv and reading back.
struct pfld_report_column {
	const char *name;
	size_t offset; // of a double in struct pfld_report_epoch
};
extern const struct pfld_report_column pfld_report_columns[];
extern const size_t pfld_report_num_columns;
double pfld_report_cell(const struct pfld_report_epoch *epoch, const struct pfld_report_column *column);

// Over all epochs, weighted by training time; NaN when there are none.
double pfld_report_images_per_second(const struct pfld_report *report);
double pfld_report_data_wait_share(const struct pfld_report *report);

enum pfld_status pfld_report_write_json(const struct pfld_report *report, const char *path, struct pfld_error *error);
void pfld_report_append_csv(struct pfld_text *text, const struct pfld_report *report);
void pfld_report_append_html(struct pfld_text *text, const struct pfld_report *report);

// Text for HTML: markup characters escaped, what is not UTF-8 replaced.
void pfld_report_append_escaped(struct pfld_text *text, const char *string);

// One line chart over the epochs as an inline SVG. Values that are not finite are left out.
struct pfld_report_series {
	const char *name, *css_class; // "a" or "b"
	size_t offset;                // of a double in struct pfld_report_epoch
};
void pfld_report_append_chart(struct pfld_text *text, const struct pfld_report *report, const char *title,
							  const struct pfld_report_series *series, size_t num_series);

#endif
