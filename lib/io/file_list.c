// SPDX-License-Identifier: MIT
// The public view of a .safetensors file's header. Called by programs.
#include <pfld/file.h>

#include "io/safetensors.h"

#include <string.h>

_Static_assert(PFLD_IO_MAX_DIMS == (int)PFLD_MAX_DIMS, "the dimensions of a file's array must fit a tensor's");

enum pfld_status pfld_file_list(const char *path, const struct pfld_file_visitor *visitor, struct pfld_error *error)
{
	if (!path || !visitor) return pfld_fail(error, PFLD_ERR_ARGUMENT, "pfld_file_list() needs a path and a visitor");
	struct pfld_safetensors *file = NULL;
	enum pfld_status status = pfld_safetensors_open(&file, path, error);
	if (status) return status;
	const char *key, *value;
	for (size_t i = 0; visitor->metadata && pfld_safetensors_metadata_at(file, i, &key, &value); i++)
		visitor->metadata(visitor->context, key, value);
	for (size_t i = 0; visitor->tensor && i < pfld_safetensors_num_entries(file); i++) {
		const struct pfld_safetensors_entry *entry = pfld_safetensors_entry(file, i);
		struct pfld_file_tensor tensor = {.name = entry->array.name,
		                                  .type = pfld_io_type_name(entry->array.type),
		                                  .num_dims = entry->array.num_dims,
		                                  .num_bytes = entry->num_bytes};
		memcpy(tensor.dims, entry->array.dims, sizeof tensor.dims);
		visitor->tensor(visitor->context, &tensor);
	}
	pfld_safetensors_close(&file);
	return PFLD_OK;
}
