// SPDX-License-Identifier: MIT
// What a checkpoint must hold besides the trainer's own state.
#include "run_state.h"
#include "say.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static json_t *options_json(const struct train_values *values)
{
	char text[OPTION_TEXT_BYTES];
	json_t *options = json_object();
	for (const struct option *option = TRAIN_OPTIONS; option->name; option++) {
		if (!option->shapes_result) continue;
		if (json_object_set_new(options, option->name, json_utf8(option_text(option, values, text))) == 0) continue;
		json_decref(options);
		return NULL;
	}
	return options;
}

static json_t *skips_json(const struct pfld_loader *loader)
{
	const struct pfld_skipped_sample *skipped;
	size_t num = pfld_loader_skips(loader, &skipped);
	json_t *list = json_array();
	for (size_t i = 0; i < num; i++) {
		json_t *skip = json_pack("{s:I, s:i, s:o}", "index", (json_int_t)skipped[i].index, "epoch",
								 (int)skipped[i].epoch, "reason", json_utf8(skipped[i].skip.reason));
		if (json_array_append_new(list, skip) == 0) continue;
		json_decref(list);
		return NULL;
	}
	return list;
}

char *run_state_text(const struct run_state *state, const struct train_values *values, const struct pfld_loader *loader)
{
	const struct pfld_schedule *schedule = &state->schedule;
	json_t *root = json_pack(
		"{s:i, s:I, s:o, s:i, s:o, s:I, s:s, s:{s:b, s:o, s:o, s:i}, s:o, s:o}", "epoch", (int)state->epoch, "position",
		(json_int_t)state->position, "learning_rate", json_finite(state->learning_rate), "best_epoch",
		(int)state->best_epoch, "best", json_finite(state->best), "num_faces", (json_int_t)state->num_faces, "device",
		state->device, "schedule", "has_best", (int)schedule->has_best, "best", json_finite(schedule->best), "rate",
		json_finite(schedule->plateau_rate), "bad_epochs", (int)schedule->num_bad_epochs, "options",
		options_json(values), "skipped", skips_json(loader));
	char *text = root ? json_dumps(root, JSON_COMPACT | JSON_REAL_PRECISION(17)) : NULL;
	json_decref(root);
	return text;
}

enum pfld_status run_state_read(json_t **root, const char *path, struct pfld_error *error)
{
	char *text = NULL, shown[SHOWN_BYTES];
	enum pfld_status status = pfld_file_metadata(path, RUN_STATE_KEY, &text, error);
	if (status) return status;
	json_t *fresh = text ? json_loads(text, 0, NULL) : NULL;
	pfld_free(text);
	if (!json_is_object(fresh)) {
		json_decref(fresh);
		return fail(error, PFLD_ERR_DATA, "%s is no checkpoint of pfld train: its metadata has no \"%s\"",
					show(shown, path), RUN_STATE_KEY);
	}
	*root = fresh;
	return PFLD_OK;
}

// Options that were not given take the run's values.
static bool take_missing(const struct command *command, const struct arguments *arguments, struct train_values *values,
						 const json_t *options)
{
	char reason[SHOWN_BYTES + 256];
	for (const struct option *option = TRAIN_OPTIONS; option->name; option++) {
		const char *was = json_string_value(json_object_get(options, option->name));
		if (!option->shapes_result || !was || was[0] == '\0' || arguments->given[option - TRAIN_OPTIONS]) continue;
		if (option_set(option, values, was, reason, sizeof reason)) continue;
		say_error(command->name, "the checkpoint's --%s cannot be read: %s", option->name, reason);
		return false;
	}
	return true;
}

// max_epoch only shapes the result where the rate depends on it.
static bool may_differ(const struct option *option, const struct train_values *values)
{
	return strcmp(option->name, "max_epoch") == 0 && strcmp(values->schedule, "cosine") != 0;
}

bool run_state_take_options(const struct command *command, const struct arguments *arguments,
							struct train_values *values, const json_t *root)
{
	const json_t *options = json_object_get(root, "options");
	char differing[1024] = "", text[OPTION_TEXT_BYTES], shown[SHOWN_BYTES], shown_was[SHOWN_BYTES];
	size_t used = 0;
	if (!take_missing(command, arguments, values, options)) return false;
	for (const struct option *option = TRAIN_OPTIONS; option->name; option++) {
		const char *was = json_string_value(json_object_get(options, option->name));
		if (!option->shapes_result || !was || !arguments->given[option - TRAIN_OPTIONS]) continue;
		if (strcmp(option_text(option, values, text), was) == 0 || may_differ(option, values)) continue;
		int bytes = snprintf(differing + used, sizeof differing - used, "%s--%s is %s, was %s", used > 0 ? "; " : "",
							 option->name, show(shown, text), was[0] ? show(shown_was, was) : "not given");
		used += (size_t)bytes;
		if (used >= sizeof differing) break;
	}
	if (used == 0) return true;
	say_error(command->name, "cannot resume to the same result with other options: %s", differing);
	return false;
}

static double real_or_nan(const json_t *value)
{
	return json_is_number(value) ? json_number_value(value) : NAN;
}

enum pfld_status run_state_take(struct run_state *state, const json_t *root, struct pfld_error *error)
{
	const json_t *schedule = json_object_get(root, "schedule");
	json_int_t epoch = json_integer_value(json_object_get(root, "epoch"));
	json_int_t position = json_integer_value(json_object_get(root, "position"));
	if (epoch < 1 || epoch > INT32_MAX || position < 0 || !json_is_object(schedule))
		return fail(error, PFLD_ERR_DATA, "the checkpoint does not say where its run stands");
	const char *device = json_string_value(json_object_get(root, "device"));
	state->epoch = (int32_t)epoch;
	state->position = position;
	state->learning_rate = real_or_nan(json_object_get(root, "learning_rate"));
	state->best_epoch = (int32_t)json_integer_value(json_object_get(root, "best_epoch"));
	state->best = real_or_nan(json_object_get(root, "best"));
	state->num_faces = json_integer_value(json_object_get(root, "num_faces"));
	snprintf(state->device, sizeof state->device, "%s", device ? device : "");
	state->schedule.has_best = json_is_true(json_object_get(schedule, "has_best"));
	state->schedule.best = real_or_nan(json_object_get(schedule, "best"));
	if (state->schedule.has_best && isnan(state->schedule.best)) state->schedule.best = INFINITY;
	state->schedule.plateau_rate = real_or_nan(json_object_get(schedule, "rate"));
	state->schedule.num_bad_epochs = (int32_t)json_integer_value(json_object_get(schedule, "bad_epochs"));
	return PFLD_OK;
}

enum pfld_status run_state_take_skips(struct pfld_loader *loader, const json_t *root, struct pfld_error *error)
{
	size_t i;
	const json_t *skip;
	json_array_foreach(json_object_get(root, "skipped"), i, skip)
	{
		json_int_t index = json_integer_value(json_object_get(skip, "index"));
		json_int_t epoch = json_integer_value(json_object_get(skip, "epoch"));
		const char *reason = json_string_value(json_object_get(skip, "reason"));
		if (index < 0 || index > UINT32_MAX || epoch < 1 || epoch > INT32_MAX || !reason)
			return fail(error, PFLD_ERR_DATA, "entry %zu of the checkpoint's skipped faces is damaged", i + 1);
		enum pfld_status status = pfld_loader_skip(loader, (uint32_t)index, (int32_t)epoch, reason, error);
		if (status) return status;
	}
	return PFLD_OK;
}
