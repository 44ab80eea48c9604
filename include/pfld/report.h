// SPDX-License-Identifier: MIT
// What a run leaves behind for people and programs: run.json, log.csv and report.html in a folder, from plain numbers. Host
// only. Files are replaced whole; numbers are written with a decimal point whatever the locale; what is not finite is null
// in JSON and an empty cell in CSV. Thread safety: each report belongs to one thread.
#ifndef PFLD_REPORT_H
#define PFLD_REPORT_H

#include <pfld/device.h>
#include <pfld/image.h>

#ifdef __cplusplus
extern "C" {
#endif

struct pfld_report_epoch {
	int32_t epoch; // from 1
	double train_loss, test_loss, nme, nme_median, failure_rate, auc; // NaN: not measured in this epoch
	double learning_rate;
	double seconds, seconds_test; // the whole epoch; the part of it that went into testing
	double images_per_second; // of training
	double data_wait_share;   // of training time
	double decode_seconds, augment_seconds; // summed over loader threads
};
// A row or file that was left out.
struct pfld_report_skip {
	const char *path, *reason;
	int64_t line;
};
// A test face for report.html: the crop, and points in pixels of it.
struct pfld_report_face {
	const struct pfld_image *image;
	const float *truth, *prediction; // (P, 2)
	int32_t num_points;
	double nme;
};
struct pfld_report_options {
	const char *title;
	const char *command; // the command line as given
};
struct pfld_report;
PFLD_API_STATUS enum pfld_status pfld_report_create(struct pfld_report **report,
                                                    const struct pfld_report_options *options, struct pfld_error *error);
PFLD_API void pfld_report_destroy(struct pfld_report **report);
// run.json's "options", and other top-level facts ("device", "threads", "weights_sha256" ...). A later value replaces an
// earlier one. Strings may hold any bytes; what is not UTF-8 is written as U+FFFD.
PFLD_API_STATUS enum pfld_status pfld_report_option(struct pfld_report *report, const char *name, const char *value,
                                                    struct pfld_error *error);
PFLD_API_STATUS enum pfld_status pfld_report_text(struct pfld_report *report, const char *name, const char *value,
                                                  struct pfld_error *error);
PFLD_API_STATUS enum pfld_status pfld_report_number(struct pfld_report *report, const char *name, double value,
                                                    struct pfld_error *error);
// planned_peak_bytes, measured_peak_bytes and "memory" by class.
PFLD_API_STATUS enum pfld_status pfld_report_memory(struct pfld_report *report, uint64_t planned_peak_bytes,
                                                    uint64_t measured_peak_bytes,
                                                    const uint64_t by_class[PFLD_MEMORY_NUM_CLASSES],
                                                    struct pfld_error *error);
// One row; an epoch that is there already is replaced, later ones are dropped (a resumed run).
PFLD_API_STATUS enum pfld_status pfld_report_epoch(struct pfld_report *report, const struct pfld_report_epoch *epoch,
                                                   struct pfld_error *error);
// Replaces the list of what was left out. Strings are copied.
PFLD_API_STATUS enum pfld_status pfld_report_skips(struct pfld_report *report, const struct pfld_report_skip *skips,
                                                   size_t num_skips, struct pfld_error *error);
// Replaces the faces shown so far. Pixels and points are copied.
PFLD_API_STATUS enum pfld_status pfld_report_faces(struct pfld_report *report, const struct pfld_report_face *faces,
                                                   int32_t num_faces, struct pfld_error *error);
// Read the epochs of folder/run.json back (to resume), those after `last_epoch` left out. PFLD_ERR_IO: cannot be read;
// PFLD_ERR_DATA: not a run.json.
PFLD_API_STATUS enum pfld_status pfld_report_resume(struct pfld_report *report, const char *folder, int32_t last_epoch,
                                                    struct pfld_error *error);
// Write folder/run.json, folder/log.csv and folder/report.html. Besides what was given, run.json holds "version", and
// "images_per_second" and "data_wait_share" over all epochs, weighted by their training time.
PFLD_API_STATUS enum pfld_status pfld_report_write(const struct pfld_report *report, const char *folder,
                                                   struct pfld_error *error);

#ifdef __cplusplus
}
#endif
#endif
