// SPDX-License-Identifier: MIT
// Weights to Keras: its old HDF5 layout, which every release loads. One group a layer, weights under their own names.
#include "io/hdf5.h"
#include "train/files.h"
#include "train/keras_match.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAME_BYTES = 256 };

// The names of a layer's weights, "Conv1/kernel:0", and their arrays.
static enum pfld_status write_layer(struct pfld_hdf5_writer *writer, const struct pfld_keras_group *group,
									const struct pfld_tensor_list *list, struct pfld_error *error)
{
	char names[PFLD_LAYER_MAX_PARAMS + 1][NAME_BYTES], layer[NAME_BYTES], path[3 * NAME_BYTES];
	const char *pointers[PFLD_LAYER_MAX_PARAMS + 1];
	enum pfld_status status = PFLD_OK;
	snprintf(layer, sizeof layer, "%.*s", (int)group->length, group->name);
	int32_t num = PFLD_MIN(group->num, PFLD_LAYER_MAX_PARAMS + 1);
	for (int32_t i = 0; !status && i < num; i++) {
		const struct pfld_safetensors_item *item = &list->items[group->first + i];
		snprintf(names[i], NAME_BYTES, "%s:0", item->array.name);
		pointers[i] = names[i];
		snprintf(path, sizeof path, "%s/%s", layer, names[i]);
		status = pfld_hdf5_writer_array(writer, path, &item->array, item->data, error);
	}
	if (!status) status = pfld_hdf5_writer_strings(writer, layer, "weight_names", pointers, (size_t)num, error);
	return status;
}

static enum pfld_status write_layer_names(struct pfld_hdf5_writer *writer, const struct pfld_keras_group *groups,
										  size_t num, struct pfld_error *error)
{
	char(*texts)[NAME_BYTES] = pfld_calloc(num + 1, sizeof *texts);
	const char **names = pfld_calloc(num + 1, sizeof *names);
	enum pfld_status status = texts && names ? PFLD_OK : pfld_fail_memory(error, num * NAME_BYTES, "names of layers");
	for (size_t i = 0; !status && i < num; i++) {
		snprintf(texts[i], NAME_BYTES, "%.*s", (int)groups[i].length, groups[i].name);
		names[i] = texts[i];
	}
	if (!status) status = pfld_hdf5_writer_strings(writer, "", "layer_names", names, num, error);
	free(texts);
	free(names);
	return status;
}

enum pfld_status pfld_weights_save_keras(const struct pfld_weights *weights, const char *path, struct pfld_error *error)
{
	if (!weights || !path)
		return pfld_fail(error, PFLD_ERR_ARGUMENT, "pfld_weights_save_keras() needs weights and a path");
	struct pfld_hdf5_writer *writer = NULL;
	struct pfld_keras_group *groups = NULL;
	struct pfld_tensor_list list = {0};
	size_t num = 0;
	enum pfld_status status = pfld_hdf5_writer_create(&writer, error);
	if (!status) status = pfld_keras_groups(&groups, &num, weights->net, error);
	if (!status) status = pfld_tensor_list_add_weights(&list, weights, error);
	if (!status) status = write_layer_names(writer, groups, num, error);
	// A version that readers know as one with channels last and names ending in :0.
	if (!status) status = pfld_hdf5_writer_string(writer, "", "backend", "tensorflow", error);
	if (!status) status = pfld_hdf5_writer_string(writer, "", "keras_version", "2.15.0", error);
	for (size_t i = 0; !status && i < num; i++) status = write_layer(writer, &groups[i], &list, error);
	if (!status) status = pfld_hdf5_writer_commit(&writer, path, error);
	pfld_hdf5_writer_abandon(&writer);
	pfld_tensor_list_finish(&list);
	free(groups);
	return status;
}
