// SPDX-License-Identifier: MIT
// Weights and their files. Writing replaces a file whole; reading changes nothing before all of it has been understood.
#include "train/files.h"

#include <stdlib.h>
#include <string.h>

static const enum pfld_io_type real_io_type = PFLD_REAL_TYPE == PFLD_F32 ? PFLD_IO_F32 : PFLD_IO_F64;

// ---- writing ----

enum pfld_status pfld_tensor_list_add(struct pfld_tensor_list *list, const char *name, struct pfld_tensor *tensor,
                                      struct pfld_error *error)
{
	if (!pfld_grow(&list->items, &list->capacity, list->num + 1, sizeof *list->items) ||
	    !pfld_grow(&list->copies, &list->copies_capacity, list->num + 1, sizeof *list->copies))
		return pfld_fail_memory(error, sizeof *list->items, "a list of tensors");
	struct pfld_safetensors_item item = {.array = {.name = name, .type = real_io_type}};
	const struct pfld_shape *shape = pfld_tensor_shape(tensor);
	item.array.num_dims = shape->num_dims;
	memcpy(item.array.dims, shape->dims, sizeof shape->dims);
	item.data = pfld_tensor_host(tensor);
	void *copy = NULL;
	if (!item.data) {
		size_t bytes = (size_t)pfld_tensor_elements(tensor) * sizeof(pfld_real);
		item.data = copy = malloc(bytes);
		if (!copy) return pfld_fail_memory(error, bytes, name);
		enum pfld_status status =
		    pfld_tensor_download(tensor, PFLD_REAL_TYPE, copy, pfld_tensor_elements(tensor), error);
		if (status != PFLD_OK) {
			free(copy);
			return status;
		}
	}
	list->items[list->num] = item;
	list->copies[list->num++] = copy;
	return PFLD_OK;
}

enum pfld_status pfld_tensor_list_add_weights(struct pfld_tensor_list *list, const struct pfld_weights *weights,
                                              struct pfld_error *error)
{
	enum pfld_status status = PFLD_OK;
	for (size_t i = 0; status == PFLD_OK && i < weights->net->num_params; i++)
		status = pfld_tensor_list_add(list, weights->net->params[i].info.name, weights->tensors[i], error);
	return status;
}

void pfld_tensor_list_finish(struct pfld_tensor_list *list)
{
	for (size_t i = 0; i < list->num; i++) free(list->copies[i]);
	free(list->items);
	free(list->copies);
	*list = (struct pfld_tensor_list){0};
}

enum pfld_status pfld_weights_save(const struct pfld_weights *weights, const char *path, const char *const (*metadata)[2],
                                   int32_t num_metadata, struct pfld_error *error)
{
	if (!weights || !path || num_metadata < 0 || (num_metadata && !metadata))
		return pfld_fail(error, PFLD_ERR_ARGUMENT, "pfld_weights_save() needs weights and a path");
	struct pfld_tensor_list list = {0};
	struct pfld_safetensors_pair *pairs = pfld_calloc((size_t)num_metadata + 1, sizeof *pairs);
	enum pfld_status status = pairs ? PFLD_OK : pfld_fail_memory(error, sizeof *pairs, "metadata");
	for (int32_t i = 0; status == PFLD_OK && i < num_metadata; i++)
		pairs[i] = (struct pfld_safetensors_pair){metadata[i][0], metadata[i][1]};
	if (status == PFLD_OK) status = pfld_tensor_list_add_weights(&list, weights, error);
	if (status == PFLD_OK)
		status = pfld_safetensors_write(path, list.items, list.num, pairs, (size_t)num_metadata, error);
	pfld_tensor_list_finish(&list);
	free(pairs);
	return status;
}

// ---- reading ----

bool pfld_same_shape(const struct pfld_io_array *array, const struct pfld_shape *shape)
{
	if (array->num_dims != shape->num_dims) return false;
	for (int32_t i = 0; i < shape->num_dims; i++)
		if (array->dims[i] != shape->dims[i]) return false;
	return true;
}

enum pfld_status pfld_tensor_reads_take(struct pfld_tensor_reads *reads, struct pfld_tensor *tensor, void *numbers,
                                        struct pfld_error *error)
{
	if (!pfld_grow(&reads->reads, &reads->capacity, reads->num + 1, sizeof *reads->reads)) {
		free(numbers);
		return pfld_fail_memory(error, sizeof *reads->reads, "reading tensors");
	}
	reads->reads[reads->num++] = (struct pfld_pending_read){tensor, numbers};
	return PFLD_OK;
}

enum pfld_status pfld_tensor_reads_add(struct pfld_tensor_reads *reads, struct pfld_safetensors *file,
                                       const struct pfld_safetensors_entry *entry, struct pfld_tensor *tensor,
                                       struct pfld_error *error)
{
	size_t bytes = (size_t)pfld_tensor_elements(tensor) * sizeof(pfld_real);
	void *numbers = malloc(bytes);
	if (!numbers) return pfld_fail_memory(error, bytes, entry->array.name);
	enum pfld_status status = pfld_safetensors_read_as(file, entry, real_io_type, numbers, error);
	if (status != PFLD_OK) {
		free(numbers);
		return status;
	}
	return pfld_tensor_reads_take(reads, tensor, numbers, error);
}

enum pfld_status pfld_tensor_reads_upload(struct pfld_tensor_reads *reads, struct pfld_error *error)
{
	enum pfld_status status = PFLD_OK;
	for (size_t i = 0; status == PFLD_OK && i < reads->num; i++)
		status = pfld_tensor_upload(reads->reads[i].tensor, PFLD_REAL_TYPE, reads->reads[i].numbers,
		                            pfld_tensor_elements(reads->reads[i].tensor), error);
	return status;
}

void pfld_tensor_reads_finish(struct pfld_tensor_reads *reads)
{
	for (size_t i = 0; i < reads->num; i++) free(reads->reads[i].numbers);
	free(reads->reads);
	*reads = (struct pfld_tensor_reads){0};
}

enum pfld_status pfld_file_metadata(const char *path, const char *key, char **value, struct pfld_error *error)
{
	if (!path || !key || !value) return pfld_fail(error, PFLD_ERR_ARGUMENT, "pfld_file_metadata() needs a path and a key");
	struct pfld_safetensors *file = NULL;
	enum pfld_status status = pfld_safetensors_open(&file, path, error);
	if (status != PFLD_OK) return status;
	const char *found = pfld_safetensors_metadata(file, key);
	char *copy = pfld_strdup(found);
	pfld_safetensors_close(&file);
	if (found && !copy) return pfld_fail_memory(error, 1, "metadata");
	*value = copy;
	return PFLD_OK;
}
