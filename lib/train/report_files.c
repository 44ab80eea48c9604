// SPDX-License-Identifier: MIT
// run.json and log.csv: written from one table of columns, and the epochs of run.json read back. Called by report.c.
#include "report_parts.h"

#include "base/file.h"
#include "io/json.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

// clang-format off
#define COLUMN(field) {#field, offsetof(struct pfld_report_epoch, field)}
const struct pfld_report_column pfld_report_columns[] = {
	COLUMN(train_loss), COLUMN(test_loss), COLUMN(nme), COLUMN(nme_median), COLUMN(failure_rate), COLUMN(auc),
	COLUMN(learning_rate), COLUMN(seconds), COLUMN(seconds_test), COLUMN(images_per_second), COLUMN(data_wait_share),
	COLUMN(decode_seconds), COLUMN(augment_seconds),
};
// clang-format on
const size_t pfld_report_num_columns = PFLD_COUNT(pfld_report_columns);

// As many as run.json has: what is read back from there prints the same again.
enum { NUMBER_DIGITS = 15, MAX_RUN_JSON_BYTES = 256 << 20 };

double pfld_report_cell(const struct pfld_report_epoch *epoch, const struct pfld_report_column *column)
{
	double value;
	memcpy(&value, (const char *)epoch + column->offset, sizeof(value));
	return value;
}

// Mean of a number of the epochs, weighted by their training time; epochs that lack it are left out.
static double mean_by_time(const struct pfld_report *report, size_t offset)
{
	double sum = 0, seconds = 0;
	struct pfld_report_column column = {.offset = offset};
	for (size_t i = 0; i < report->num_epochs; i++) {
		const struct pfld_report_epoch *epoch = &report->epochs[i];
		double training = epoch->seconds - (epoch->seconds_test > 0 ? epoch->seconds_test : 0);
		double value = pfld_report_cell(epoch, &column);
		if (!(training > 0) || !isfinite(value)) continue;
		sum += value * training;
		seconds += training;
	}
	return seconds > 0 ? sum / seconds : NAN;
}

double pfld_report_images_per_second(const struct pfld_report *report)
{
	return mean_by_time(report, offsetof(struct pfld_report_epoch, images_per_second));
}

double pfld_report_data_wait_share(const struct pfld_report *report)
{
	return mean_by_time(report, offsetof(struct pfld_report_epoch, data_wait_share));
}

// Every setter reports failure as it goes; one flag collects them: a tree that failed is not written.
struct tree {
	json_t *object;
	bool failed;
};

static void set(struct tree *tree, const char *name, json_t *value)
{
	json_t *key = pfld_json_string(name); // names of options may hold any bytes
	tree->failed |=
		!key || !json_is_string(key) || json_object_set_new(tree->object, json_string_value(key), value) < 0;
	json_decref(key);
}

// Counts as whole numbers, "threads": 2.
static json_t *fact_json(double number)
{
	return number == floor(number) && fabs(number) < 9007199254740992.0 ? json_integer((json_int_t)number)
																		: pfld_json_number(number);
}

static void set_entries(struct tree *tree, const struct pfld_report_entries *entries)
{
	for (size_t i = 0; i < entries->num; i++) {
		const struct pfld_report_entry *entry = &entries->items[i];
		set(tree, entry->name, entry->text ? pfld_json_string(entry->text) : fact_json(entry->number));
	}
}

static json_t *options_json(const struct pfld_report *report, bool *failed)
{
	struct tree options = {.object = json_object()};
	set_entries(&options, &report->options);
	*failed |= options.failed;
	return options.object;
}

static json_t *memory_json(const struct pfld_report *report, bool *failed)
{
	struct tree memory = {.object = json_object()};
	for (int i = 0; i < PFLD_MEMORY_NUM_CLASSES; i++)
		set(&memory, pfld_memory_class_name((enum pfld_memory_class)i), json_integer((json_int_t)report->by_class[i]));
	*failed |= memory.failed;
	return memory.object;
}

static json_t *epochs_json(const struct pfld_report *report, bool *failed)
{
	json_t *epochs = json_array();
	for (size_t i = 0; i < report->num_epochs; i++) {
		struct tree epoch = {.object = json_object()};
		set(&epoch, "epoch", json_integer(report->epochs[i].epoch));
		for (size_t c = 0; c < pfld_report_num_columns; c++)
			set(&epoch, pfld_report_columns[c].name,
				pfld_json_number(pfld_report_cell(&report->epochs[i], &pfld_report_columns[c])));
		*failed |= epoch.failed || json_array_append_new(epochs, epoch.object) < 0;
	}
	return epochs;
}

static json_t *skips_json(const struct pfld_report *report, bool *failed)
{
	json_t *skips = json_array();
	for (size_t i = 0; i < report->num_skips; i++) {
		struct tree skip = {.object = json_object()};
		set(&skip, "path", pfld_json_string(report->skips[i].path));
		set(&skip, "line", json_integer(report->skips[i].line));
		set(&skip, "reason", pfld_json_string(report->skips[i].reason));
		*failed |= skip.failed || json_array_append_new(skips, skip.object) < 0;
	}
	return skips;
}

enum pfld_status pfld_report_write_json(const struct pfld_report *report, const char *path, struct pfld_error *error)
{
	struct tree run = {.object = json_object()};
	set(&run, "version", json_string(pfld_version()));
	set(&run, "command", pfld_json_string(report->command));
	set(&run, "options", options_json(report, &run.failed));
	set_entries(&run, &report->facts);
	if (report->has_memory) {
		set(&run, "planned_peak_bytes", json_integer((json_int_t)report->planned_peak_bytes));
		set(&run, "measured_peak_bytes", json_integer((json_int_t)report->measured_peak_bytes));
		set(&run, "memory", memory_json(report, &run.failed));
	}
	set(&run, "images_per_second", pfld_json_number(pfld_report_images_per_second(report)));
	set(&run, "data_wait_share", pfld_json_number(pfld_report_data_wait_share(report)));
	set(&run, "epochs", epochs_json(report, &run.failed));
	set(&run, "skipped", skips_json(report, &run.failed));
	enum pfld_status status = run.failed ? pfld_fail(error, PFLD_ERR_MEMORY, "out of memory for the text of run.json")
										 : pfld_json_write(path, run.object, error);
	json_decref(run.object);
	return status;
}

void pfld_report_append_csv(struct pfld_text *text, const struct pfld_report *report)
{
	pfld_text_append(text, "epoch");
	for (size_t c = 0; c < pfld_report_num_columns; c++) pfld_text_printf(text, ",%s", pfld_report_columns[c].name);
	pfld_text_append(text, "\n");
	for (size_t i = 0; i < report->num_epochs; i++) {
		pfld_text_printf(text, "%d", (int)report->epochs[i].epoch);
		for (size_t c = 0; c < pfld_report_num_columns; c++) {
			double value = pfld_report_cell(&report->epochs[i], &pfld_report_columns[c]);
			pfld_text_append(text, ",");
			if (isfinite(value)) pfld_text_number(text, value, NUMBER_DIGITS);
		}
		pfld_text_append(text, "\n");
	}
}

// One object of run.json's "epochs"; false when it is not one.
static bool read_epoch(struct pfld_report_epoch *epoch, const json_t *object)
{
	const json_t *number = json_object_get(object, "epoch");
	if (!json_is_integer(number) || json_integer_value(number) < 1 || json_integer_value(number) > INT32_MAX)
		return false;
	epoch->epoch = (int32_t)json_integer_value(number);
	for (size_t c = 0; c < pfld_report_num_columns; c++) {
		const json_t *cell = json_object_get(object, pfld_report_columns[c].name);
		if (cell && !json_is_number(cell) && !json_is_null(cell)) return false;
		double value = json_is_number(cell) ? json_number_value(cell) : NAN;
		memcpy((char *)epoch + pfld_report_columns[c].offset, &value, sizeof(value));
	}
	return true;
}

static enum pfld_status read_epochs(struct pfld_report *report, const json_t *root, const char *path,
									int32_t last_epoch, struct pfld_error *error)
{
	char shown[PFLD_SHOWN_BYTES];
	const json_t *epochs = json_object_get(root, "epochs");
	if (!json_is_array(epochs))
		return pfld_fail(error, PFLD_ERR_DATA, "%s has no list of epochs", pfld_show(shown, path, 0));
	for (size_t i = 0; i < json_array_size(epochs); i++) {
		struct pfld_report_epoch epoch = {0};
		if (!read_epoch(&epoch, json_array_get(epochs, i)))
			return pfld_fail(error, PFLD_ERR_DATA, "%s: entry %zu of its epochs is not one", pfld_show(shown, path, 0),
							 i + 1);
		if (epoch.epoch > last_epoch) continue;
		enum pfld_status status = pfld_report_epoch(report, &epoch, error);
		if (status) return status;
	}
	return PFLD_OK;
}

enum pfld_status pfld_report_resume(struct pfld_report *report, const char *folder, int32_t last_epoch,
									struct pfld_error *error)
{
	if (!report || !folder) return pfld_fail(error, PFLD_ERR_ARGUMENT, "a report is resumed from a folder");
	char *path = pfld_path_join(folder, "run.json");
	if (!path) return pfld_fail(error, PFLD_ERR_MEMORY, "out of memory for a path");
	uint8_t *data = NULL;
	size_t num_bytes = 0;
	enum pfld_status status = pfld_file_read(path, MAX_RUN_JSON_BYTES, &data, &num_bytes, error);
	if (status == PFLD_OK) {
		json_error_t reason;
		char shown[PFLD_SHOWN_BYTES];
		json_t *root = json_loadb((const char *)data, num_bytes, 0, &reason);
		if (root)
			status = read_epochs(report, root, path, last_epoch, error);
		else
			status = pfld_fail(error, PFLD_ERR_DATA, "%s is not JSON: line %d: %s", pfld_show(shown, path, 0),
							   reason.line, reason.text);
		json_decref(root);
	}
	free(data);
	free(path);
	return status;
}
