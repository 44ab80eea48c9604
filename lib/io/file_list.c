// SPDX-License-Identifier: MIT
// The public view of a file of weights: its tensors, and its metadata where it has some. Called by programs.
#include <pfld/file.h>

#include "io/keras.h"
#include "io/kind.h"
#include "io/safetensors.h"

#include <string.h>

_Static_assert(PFLD_IO_MAX_DIMS == (int)PFLD_MAX_DIMS, "the dimensions of a file's array must fit a tensor's");

static void show(const struct pfld_file_visitor *visitor, const struct pfld_io_array *array)
{
	struct pfld_file_tensor tensor = {
		.name = array->name, .type = pfld_io_type_name(array->type), .num_dims = array->num_dims};
	memcpy(tensor.dims, array->dims, sizeof tensor.dims);
	if (visitor->tensor && pfld_io_array_size(array, NULL, &tensor.num_bytes))
		visitor->tensor(visitor->context, &tensor);
}

static enum pfld_status list_safetensors(const char *path, const struct pfld_file_visitor *visitor,
										 struct pfld_error *error)
{
	struct pfld_safetensors *file = NULL;
	enum pfld_status status = pfld_safetensors_open(&file, path, error);
	if (status) return status;
	const char *key, *value;
	for (size_t i = 0; visitor->metadata && pfld_safetensors_metadata_at(file, i, &key, &value); i++)
		visitor->metadata(visitor->context, key, value);
	for (size_t i = 0; i < pfld_safetensors_num_entries(file); i++)
		show(visitor, &pfld_safetensors_entry(file, i)->array);
	pfld_safetensors_close(&file);
	return PFLD_OK;
}

enum pfld_status pfld_file_list(const char *path, const struct pfld_file_visitor *visitor, struct pfld_error *error)
{
	if (!path || !visitor) return pfld_fail(error, PFLD_ERR_ARGUMENT, "pfld_file_list() needs a path and a visitor");
	enum pfld_file_kind kind;
	uint64_t begin, num_bytes;
	enum pfld_status status = pfld_file_kind(path, &kind, &begin, &num_bytes, error);
	if (status) return status;
	if (kind != PFLD_FILE_HDF5 && kind != PFLD_FILE_KERAS) return list_safetensors(path, visitor, error);
	struct pfld_keras_file *file = NULL;
	status = pfld_keras_open(&file, path, begin, num_bytes, error);
	if (status) return status;
	if (visitor->metadata) visitor->metadata(visitor->context, "layout", pfld_keras_layout(file));
	for (size_t i = 0; i < pfld_keras_num_entries(file); i++) show(visitor, &pfld_keras_entry(file, i)->array);
	pfld_keras_close(&file);
	return PFLD_OK;
}
