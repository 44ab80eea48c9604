// SPDX-License-Identifier: MIT
// The report of a run: takes plain numbers, texts and faces, keeps copies, writes three files into a folder. What they
// hold is in report_files.c (run.json, log.csv) and report_html.c. Called by programs; knows no trainer and no loader.
#include "report_parts.h"

#include "base/file.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { JPEG_QUALITY = 92 };

static void entries_finish(struct pfld_report_entries *entries)
{
	for (size_t i = 0; i < entries->num; i++) {
		free(entries->items[i].name);
		free(entries->items[i].text);
	}
	free(entries->items);
}

static void skips_destroy(struct pfld_report_kept_skip *skips, size_t num)
{
	for (size_t i = 0; skips && i < num; i++) {
		free(skips[i].path);
		free(skips[i].reason);
	}
	free(skips);
}

static void pictures_destroy(struct pfld_report_picture *pictures, size_t num)
{
	for (size_t i = 0; pictures && i < num; i++) {
		pfld_free(pictures[i].bytes);
		free(pictures[i].truth);
		free(pictures[i].prediction);
	}
	free(pictures);
}

enum pfld_status pfld_report_create(struct pfld_report **report, const struct pfld_report_options *options,
									struct pfld_error *error)
{
	if (!report) return pfld_fail(error, PFLD_ERR_ARGUMENT, "pfld_report_create() needs a place for the report");
	struct pfld_report *fresh = pfld_calloc(1, sizeof(*fresh));
	if (!fresh) return pfld_fail_memory(error, sizeof(*fresh), "a report");
	fresh->title = pfld_strdup(options && options->title ? options->title : "Training report");
	fresh->command = pfld_strdup(options && options->command ? options->command : "");
	if (!fresh->title || !fresh->command) {
		pfld_report_destroy(&fresh);
		return pfld_fail(error, PFLD_ERR_MEMORY, "out of memory for the title of a report");
	}
	*report = fresh;
	return PFLD_OK;
}

void pfld_report_destroy(struct pfld_report **report)
{
	if (!report || !*report) return;
	struct pfld_report *old = *report;
	free(old->title);
	free(old->command);
	entries_finish(&old->options);
	entries_finish(&old->facts);
	free(old->epochs);
	skips_destroy(old->skips, old->num_skips);
	pictures_destroy(old->pictures, old->num_pictures);
	free(old);
	*report = NULL;
}

static struct pfld_report_entry *find_entry(struct pfld_report_entries *entries, const char *name)
{
	for (size_t i = 0; i < entries->num; i++)
		if (strcmp(entries->items[i].name, name) == 0) return &entries->items[i];
	return NULL;
}

// Set name to a text (copied) or, where text is NULL, to a number.
static enum pfld_status set_entry(struct pfld_report_entries *entries, const char *name, const char *text,
								  double number, struct pfld_error *error)
{
	char *text_copy = pfld_strdup(text);
	if (text && !text_copy) return pfld_fail_memory(error, strlen(text) + 1, "a text of the report");
	struct pfld_report_entry *entry = find_entry(entries, name);
	if (!entry) {
		char *name_copy = pfld_strdup(name);
		if (!name_copy || !pfld_grow(&entries->items, &entries->capacity, entries->num + 1, sizeof(*entries->items))) {
			free(name_copy);
			free(text_copy);
			return pfld_fail(error, PFLD_ERR_MEMORY, "out of memory for \"%s\" of the report", name);
		}
		entry = &entries->items[entries->num++];
		*entry = (struct pfld_report_entry){.name = name_copy};
	}
	free(entry->text);
	entry->text = text_copy;
	entry->number = number;
	return PFLD_OK;
}

enum pfld_status pfld_report_option(struct pfld_report *report, const char *name, const char *value,
									struct pfld_error *error)
{
	if (!report || !name) return pfld_fail(error, PFLD_ERR_ARGUMENT, "an option of a report needs a name");
	return set_entry(&report->options, name, value ? value : "", 0, error);
}

enum pfld_status pfld_report_text(struct pfld_report *report, const char *name, const char *value,
								  struct pfld_error *error)
{
	if (!report || !name) return pfld_fail(error, PFLD_ERR_ARGUMENT, "a text of a report needs a name");
	return set_entry(&report->facts, name, value ? value : "", 0, error);
}

enum pfld_status pfld_report_number(struct pfld_report *report, const char *name, double value,
									struct pfld_error *error)
{
	if (!report || !name) return pfld_fail(error, PFLD_ERR_ARGUMENT, "a number of a report needs a name");
	return set_entry(&report->facts, name, NULL, value, error);
}

enum pfld_status pfld_report_memory(struct pfld_report *report, uint64_t planned_peak_bytes,
									uint64_t measured_peak_bytes, const uint64_t by_class[PFLD_MEMORY_NUM_CLASSES],
									struct pfld_error *error)
{
	if (!report || !by_class) return pfld_fail(error, PFLD_ERR_ARGUMENT, "the memory of a report needs its classes");
	report->has_memory = true;
	report->planned_peak_bytes = planned_peak_bytes;
	report->measured_peak_bytes = measured_peak_bytes;
	memcpy(report->by_class, by_class, sizeof(report->by_class));
	return PFLD_OK;
}

enum pfld_status pfld_report_epoch(struct pfld_report *report, const struct pfld_report_epoch *epoch,
								   struct pfld_error *error)
{
	if (!report || !epoch || epoch->epoch < 1)
		return pfld_fail(error, PFLD_ERR_ARGUMENT, "epochs of a report are numbered from 1");
	size_t num = 0;
	while (num < report->num_epochs && report->epochs[num].epoch < epoch->epoch) num++;
	if (!pfld_grow(&report->epochs, &report->epochs_capacity, num + 1, sizeof(*report->epochs)))
		return pfld_fail(error, PFLD_ERR_MEMORY, "out of memory for epoch %d of the report", (int)epoch->epoch);
	report->epochs[num] = *epoch;
	report->num_epochs = num + 1;
	return PFLD_OK;
}

enum pfld_status pfld_report_skips(struct pfld_report *report, const struct pfld_report_skip *skips, size_t num_skips,
								   struct pfld_error *error)
{
	if (!report || (num_skips > 0 && !skips))
		return pfld_fail(error, PFLD_ERR_ARGUMENT, "the list of skipped files is missing");
	struct pfld_report_kept_skip *kept = pfld_calloc(num_skips + 1, sizeof(*kept));
	if (!kept) return pfld_fail_memory(error, (num_skips + 1) * sizeof(*kept), "skipped files in the report");
	for (size_t i = 0; i < num_skips; i++) {
		kept[i] = (struct pfld_report_kept_skip){.path = pfld_strdup(skips[i].path ? skips[i].path : ""),
												 .reason = pfld_strdup(skips[i].reason ? skips[i].reason : ""),
												 .line = skips[i].line};
		if (!kept[i].path || !kept[i].reason) {
			skips_destroy(kept, i + 1);
			return pfld_fail(error, PFLD_ERR_MEMORY, "out of memory for %zu skipped files in the report", num_skips);
		}
	}
	skips_destroy(report->skips, report->num_skips);
	report->skips = kept;
	report->num_skips = num_skips;
	return PFLD_OK;
}

static float *copy_points(const float *points, int32_t num_points)
{
	float *copy = pfld_calloc((size_t)num_points * 2 + 1, sizeof(*copy));
	if (copy) memcpy(copy, points, (size_t)num_points * 2 * sizeof(*copy));
	return copy;
}

// JPEG where this build writes it, else PNG.
static enum pfld_status keep_picture(struct pfld_report_picture *picture, const struct pfld_report_face *face,
									 struct pfld_error *error)
{
	*picture = (struct pfld_report_picture){.media_type = "image/jpeg",
											.width = face->image->width,
											.height = face->image->height,
											.num_points = face->num_points,
											.nme = face->nme};
	enum pfld_status status =
		pfld_image_encode_jpeg(face->image, JPEG_QUALITY, &picture->bytes, &picture->num_bytes, error);
	if (status == PFLD_ERR_UNSUPPORTED) {
		picture->media_type = "image/png";
		status = pfld_image_encode_png(face->image, &picture->bytes, &picture->num_bytes, error);
	}
	if (status) return status;
	picture->truth = copy_points(face->truth, face->num_points);
	picture->prediction = copy_points(face->prediction, face->num_points);
	if (!picture->truth || !picture->prediction)
		return pfld_fail(error, PFLD_ERR_MEMORY, "out of memory for %d points of the report", (int)face->num_points);
	return PFLD_OK;
}

enum pfld_status pfld_report_faces(struct pfld_report *report, const struct pfld_report_face *faces, int32_t num_faces,
								   struct pfld_error *error)
{
	if (!report || num_faces < 0 || (num_faces > 0 && !faces))
		return pfld_fail(error, PFLD_ERR_ARGUMENT, "the faces of a report are missing");
	struct pfld_report_picture *kept = pfld_calloc((size_t)num_faces + 1, sizeof(*kept));
	if (!kept) return pfld_fail_memory(error, ((size_t)num_faces + 1) * sizeof(*kept), "faces in the report");
	for (int32_t i = 0; i < num_faces; i++) {
		enum pfld_status status = keep_picture(&kept[i], &faces[i], error);
		if (status) {
			pictures_destroy(kept, (size_t)i + 1);
			return status;
		}
	}
	pictures_destroy(report->pictures, report->num_pictures);
	report->pictures = kept;
	report->num_pictures = (size_t)num_faces;
	return PFLD_OK;
}

static enum pfld_status write_text(const struct pfld_report *report, const char *path,
								   void (*append)(struct pfld_text *text, const struct pfld_report *report),
								   struct pfld_error *error)
{
	struct pfld_text text = {0};
	append(&text, report);
	enum pfld_status status = text.failed ? pfld_fail_memory(error, text.length, "a report")
										  : pfld_file_replace(path, text.data, text.length, error);
	pfld_text_finish(&text);
	return status;
}

enum pfld_status pfld_report_write(const struct pfld_report *report, const char *folder, struct pfld_error *error)
{
	if (!report || !folder) return pfld_fail(error, PFLD_ERR_ARGUMENT, "a report needs a folder to be written to");
	char *csv = pfld_path_join(folder, "log.csv"), *html = pfld_path_join(folder, "report.html");
	char *json = pfld_path_join(folder, "run.json");
	enum pfld_status status = PFLD_OK;
	if (!csv || !html || !json) status = pfld_fail(error, PFLD_ERR_MEMORY, "out of memory for the paths of a report");
	if (!status) status = write_text(report, csv, pfld_report_append_csv, error);
	if (!status) status = write_text(report, html, pfld_report_append_html, error);
	if (!status) status = pfld_report_write_json(report, json, error);
	free(csv);
	free(html);
	free(json);
	return status;
}
