// SPDX-License-Identifier: MIT
// Weights from files of any kind: which array of the file is which parameter, what is missing, left over or of another
// shape, and then all of it or nothing.
#include "io/kind.h"
#include "train/files.h"
#include "train/keras_match.h"

#include <stdlib.h>
#include <string.h>

static const enum pfld_io_type real_io_type = PFLD_REAL_TYPE == PFLD_F32 ? PFLD_IO_F32 : PFLD_IO_F64;

// The arrays of a file, whatever its kind.
struct source {
	const char *path;
	struct pfld_safetensors *safetensors; // or
	struct pfld_keras_file *keras;
};

static size_t num_arrays(const struct source *source)
{
	return source->keras ? pfld_keras_num_entries(source->keras) : pfld_safetensors_num_entries(source->safetensors);
}

static const struct pfld_io_array *array_at(const struct source *source, size_t index)
{
	return source->keras ? &pfld_keras_entry(source->keras, index)->array
						 : &pfld_safetensors_entry(source->safetensors, index)->array;
}

static enum pfld_status read_array(const struct source *source, size_t index, void *numbers, struct pfld_error *error)
{
	if (source->keras) return pfld_keras_read_as(source->keras, index, real_io_type, numbers, error);
	return pfld_safetensors_read_as(source->safetensors, pfld_safetensors_entry(source->safetensors, index),
									real_io_type, numbers, error);
}

// ---- the report ----

static void note(int32_t *count, char first[128], const char *name)
{
	if ((*count)++ == 0) {
		strncpy(first, name, 127);
		first[127] = '\0';
	}
}

static struct pfld_shape shape_of(const struct pfld_io_array *array)
{
	struct pfld_shape shape = {.num_dims = PFLD_MIN(array->num_dims, PFLD_MAX_DIMS)};
	for (int32_t i = 0; i < shape.num_dims; i++) shape.dims[i] = array->dims[i];
	return shape;
}

static void count(struct pfld_load_report *report, const struct pfld_load_options *options,
				  enum pfld_load_outcome outcome, const struct pfld_parameter_info *info,
				  const struct pfld_io_array *array)
{
	const char *name = info ? info->name : array->name;
	switch (outcome) {
	case PFLD_LOADED: report->num_loaded++; break;
	case PFLD_LOAD_MISSING: note(&report->num_missing, report->first_missing, name); break;
	case PFLD_LOAD_OTHER_SHAPE: note(&report->num_other_shape, report->first_other_shape, name); break;
	case PFLD_LOAD_LEFT_OVER: note(&report->num_left_over, report->first_left_over, name); break;
	case PFLD_LOAD_SKIPPED: break;
	}
	if (!options->tensor) return;
	struct pfld_load_tensor tensor = {.outcome = outcome};
	if (info) {
		tensor.parameter = info->name;
		tensor.shape = info->shape;
	}
	if (array) {
		tensor.in_file = array->name;
		tensor.file_shape = shape_of(array);
	}
	options->tensor(options->context, &tensor);
}

// What would become of every tensor. `used` (one per array) are those that a parameter has taken, or that are no
// weights.
static void judge(const struct source *source, const struct pfld_net *net, const struct pfld_load_options *options,
				  int32_t *matches, bool *used, struct pfld_load_report *report)
{
	for (size_t i = 0; i < net->num_params; i++) {
		const struct pfld_parameter_info *info = &net->params[i].info;
		const struct pfld_io_array *array = matches[i] >= 0 ? array_at(source, (size_t)matches[i]) : NULL;
		enum pfld_load_outcome outcome = !array                                 ? PFLD_LOAD_MISSING
										 : pfld_same_shape(array, &info->shape) ? PFLD_LOADED
																				: PFLD_LOAD_OTHER_SHAPE;
		if (options->skip && pfld_pattern_matches(options->skip, info->name)) {
			outcome = PFLD_LOAD_SKIPPED;
			array = NULL;
		}
		if (array) used[matches[i]] = true;
		if (outcome != PFLD_LOADED) matches[i] = -1;
		count(report, options, outcome, info, array);
	}
	for (size_t i = 0; i < num_arrays(source); i++) {
		const struct pfld_io_array *array = array_at(source, i);
		bool state = !strncmp(array->name, "optimizer/", 10) || !strncmp(array->name, "trainer/", 8); // a checkpoint's
		if (!used[i] && !state) count(report, options, PFLD_LOAD_LEFT_OVER, NULL, array);
	}
}

static enum pfld_status check(const struct source *source, const struct pfld_net *net, enum pfld_load_mode mode,
							  const struct pfld_load_report *found, struct pfld_error *error)
{
	char shown[PFLD_SHOWN_BYTES], left_over[PFLD_SHOWN_BYTES];
	const char *path = pfld_show(shown, source->path, 0);
	if (!found->num_loaded)
		return pfld_fail(error, PFLD_ERR_DATA, "%s holds no tensor of this net; %d others are in it%s%s", path,
						 (int)found->num_left_over, found->num_left_over ? ", first " : "",
						 pfld_show(left_over, found->first_left_over, 0));
	if (mode == PFLD_LOAD_ALL && (found->num_missing || found->num_other_shape))
		return pfld_fail(error, PFLD_ERR_DATA,
						 "%s: %d tensors are missing%s%s and %d have another shape%s%s; %zu are expected", path,
						 (int)found->num_missing, found->num_missing ? ", first " : "", found->first_missing,
						 (int)found->num_other_shape, found->num_other_shape ? ", first " : "",
						 found->first_other_shape, net->num_params);
	return PFLD_OK;
}

// ---- reading ----

static enum pfld_status read_weights(struct pfld_tensor_reads *reads, const struct source *source,
									 const struct pfld_weights *weights, const int32_t *matches,
									 struct pfld_error *error)
{
	for (size_t i = 0; i < weights->net->num_params; i++) {
		if (matches[i] < 0) continue;
		size_t bytes = (size_t)weights->net->params[i].info.elements * sizeof(pfld_real);
		void *numbers = malloc(bytes);
		if (!numbers) return pfld_fail_memory(error, bytes, weights->net->params[i].info.name);
		enum pfld_status status = read_array(source, (size_t)matches[i], numbers, error);
		if (status) {
			free(numbers);
			return status;
		}
		status = pfld_tensor_reads_take(reads, weights->tensors[i], numbers, error);
		if (status) return status;
	}
	return PFLD_OK;
}

static enum pfld_status match(const struct source *source, const struct pfld_net *net, int32_t *matches,
							  struct pfld_error *error)
{
	if (source->keras) return pfld_keras_match(source->keras, net, matches, error);
	for (size_t i = 0; i < net->num_params; i++) {
		const struct pfld_safetensors_entry *entry =
			pfld_safetensors_find(source->safetensors, net->params[i].info.name);
		matches[i] = entry ? (int32_t)(entry - pfld_safetensors_entry(source->safetensors, 0)) : -1;
	}
	return PFLD_OK;
}

static enum pfld_status add_weights(struct pfld_tensor_reads *reads, const struct source *source,
									struct pfld_weights *weights, const struct pfld_load_options *options,
									struct pfld_load_report *report, struct pfld_error *error)
{
	struct pfld_load_report found = {0};
	int32_t *matches = pfld_calloc(weights->net->num_params + 1, sizeof *matches);
	bool *used = pfld_calloc(num_arrays(source) + 1, sizeof *used);
	enum pfld_status status =
		matches && used ? PFLD_OK
						: pfld_fail_memory(error, weights->net->num_params * sizeof *matches, "loading weights");
	if (!status) status = match(source, weights->net, matches, error);
	if (!status) {
		judge(source, weights->net, options, matches, used, &found);
		status = check(source, weights->net, options->mode, &found, error);
	}
	if (!status) status = read_weights(reads, source, weights, matches, error);
	free(matches);
	free(used);
	if (!status && report) *report = found;
	return status;
}

enum pfld_status pfld_tensor_reads_add_weights(struct pfld_tensor_reads *reads, struct pfld_safetensors *file,
											   const char *path, struct pfld_weights *weights, enum pfld_load_mode mode,
											   struct pfld_load_report *report, struct pfld_error *error)
{
	struct source source = {.path = path, .safetensors = file};
	return add_weights(reads, &source, weights, &(struct pfld_load_options){.mode = mode}, report, error);
}

enum pfld_status pfld_weights_load_with(struct pfld_weights *weights, const char *path,
										const struct pfld_load_options *options, struct pfld_load_report *report,
										struct pfld_error *error)
{
	if (!weights || !path) return pfld_fail(error, PFLD_ERR_ARGUMENT, "pfld_weights_load() needs weights and a path");
	const struct pfld_load_options none = {.mode = PFLD_LOAD_ALL};
	struct source source = {.path = path};
	struct pfld_tensor_reads reads = {0};
	struct pfld_load_report found = {0};
	enum pfld_file_kind kind;
	uint64_t begin, num_bytes;
	enum pfld_status status = pfld_file_kind(path, &kind, &begin, &num_bytes, error);
	if (!status && (kind == PFLD_FILE_HDF5 || kind == PFLD_FILE_KERAS))
		status = pfld_keras_open(&source.keras, path, begin, num_bytes, error);
	else if (!status)
		status = pfld_safetensors_open(&source.safetensors, path, error);
	if (!status) status = add_weights(&reads, &source, weights, options ? options : &none, &found, error);
	if (!status) status = pfld_tensor_reads_upload(&reads, error);
	if (!status && report) *report = found;
	pfld_tensor_reads_finish(&reads);
	pfld_keras_close(&source.keras);
	pfld_safetensors_close(&source.safetensors);
	return status;
}

enum pfld_status pfld_weights_load(struct pfld_weights *weights, const char *path, enum pfld_load_mode mode,
								   struct pfld_load_report *report, struct pfld_error *error)
{
	return pfld_weights_load_with(weights, path, &(struct pfld_load_options){.mode = mode}, report, error);
}
