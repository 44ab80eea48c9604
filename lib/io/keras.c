// SPDX-License-Identifier: MIT
// Opening Keras's files, and the old layout: each layer is a group whose weight_names are paths below it. See keras.h.
#include "keras.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *pfld_keras_keep(struct pfld_keras_file *file, const char *text, size_t length)
{
	return pfld_names_add(&file->strings, text, length) ? file->strings.names[file->strings.num - 1] : NULL;
}

enum pfld_status pfld_keras_add(struct pfld_keras_file *file, const struct pfld_keras_entry *entry, const char *path,
								struct pfld_error *error)
{
	struct pfld_keras_entry fresh = *entry;
	fresh.array.name = pfld_keras_keep(file, path, strlen(path));
	if (!fresh.array.name || !pfld_grow(&file->entries, &file->capacity, file->num + 1, sizeof *file->entries))
		return pfld_fail_memory(error, sizeof *file->entries, "the list of arrays in a Keras file");
	const char *name = fresh.array.name;
	enum pfld_status status = pfld_hdf5_describe(file->hdf5, path, &fresh.array, error);
	fresh.array.name = name;
	if (!status) file->entries[file->num++] = fresh;
	return status;
}

size_t pfld_keras_split_number(const char *name, int64_t *number)
{
	size_t length = strlen(name), digits = 0;
	while (digits < length && name[length - 1 - digits] >= '0' && name[length - 1 - digits] <= '9') digits++;
	*number = 0;
	if (digits == 0 || digits > 9 || digits + 1 >= length || name[length - 1 - digits] != '_') return length;
	if (!pfld_parse_int(name + length - digits, number)) return length;
	return length - digits - 1;
}

// ---- the old layout ----

// "Conv1/kernel:0" is kernel in Conv1. Other names than these say nothing: the order does then.
static bool split_weight_name(struct pfld_keras_file *file, const char *name, struct pfld_keras_entry *entry)
{
	static const char *const known[] = {"kernel", "bias", "depthwise_kernel", "pointwise_kernel",
										"gamma",  "beta", "moving_mean",      "moving_variance",
										"alpha"};
	const char *slash = strrchr(name, '/'), *tail = slash ? slash + 1 : name;
	size_t length = strcspn(tail, ":");
	entry->variable = entry->scope = NULL;
	for (size_t i = 0; i < PFLD_COUNT(known); i++)
		if (strlen(known[i]) == length && !strncmp(known[i], tail, length)) entry->variable = known[i];
	if (!slash || slash == name) return true;
	entry->scope = pfld_keras_keep(file, name, (size_t)(slash - name));
	return entry->scope != NULL;
}

// Layers inside a model that is a layer have but their own names to go by.
static bool is_nested(const struct pfld_keras_entry *entries, size_t num)
{
	for (size_t i = 1; i < num; i++)
		if (!entries[i].scope != !entries[0].scope ||
			(entries[i].scope && strcmp(entries[i].scope, entries[0].scope) != 0))
			return true;
	return false;
}

static enum pfld_status read_layer(struct pfld_keras_file *file, const char *root, const char *layer,
								   struct pfld_error *error)
{
	char group[1024], path[2048];
	struct pfld_names weights = {0};
	bool found;
	snprintf(group, sizeof group, "%s%s%.900s", root, *root ? "/" : "", layer);
	enum pfld_status status = pfld_hdf5_strings(file->hdf5, group, "weight_names", &weights, &found, error);
	size_t first = file->num;
	const char *kept = pfld_keras_keep(file, layer, strlen(layer));
	if (!status && !kept) status = pfld_fail_memory(error, strlen(layer), "names in a Keras file");
	for (size_t i = 0; !status && i < weights.num; i++) {
		struct pfld_keras_entry entry = {.layer = kept, .index = (int32_t)i, .num = (int32_t)weights.num};
		if (!split_weight_name(file, weights.names[i], &entry)) {
			status = pfld_fail_memory(error, 1, "names in a Keras file");
		} else {
			snprintf(path, sizeof path, "%s/%.1000s", group, weights.names[i]);
			status = pfld_keras_add(file, &entry, path, error);
		}
	}
	if (!status && is_nested(file->entries + first, file->num - first))
		for (size_t i = first; i < file->num; i++)
			if (file->entries[i].scope && file->entries[i].variable) file->entries[i].layer = file->entries[i].scope;
	pfld_names_finish(&weights);
	return status;
}

static enum pfld_status read_old(struct pfld_keras_file *file, const char *root, const struct pfld_names *layers,
								 struct pfld_error *error)
{
	enum pfld_status status = PFLD_OK;
	file->layout = "Keras's old layout";
	for (size_t i = 0; !status && i < layers->num; i++) status = read_layer(file, root, layers->names[i], error);
	return status;
}

// ---- any layout ----

static enum pfld_status read_entries(struct pfld_keras_file *file, const char *path, struct pfld_error *error)
{
	static const char *const roots[] = {"", "model_weights"}, *const containers[] = {"layers",
																					 "_layer_checkpoint_dependencies"};
	char shown[PFLD_SHOWN_BYTES];
	for (size_t i = 0; i < PFLD_COUNT(roots); i++) {
		struct pfld_names layers = {0};
		bool found;
		enum pfld_status status = pfld_hdf5_strings(file->hdf5, roots[i], "layer_names", &layers, &found, error);
		if (!status && found) status = read_old(file, roots[i], &layers, error);
		pfld_names_finish(&layers);
		if (status || found) return status;
	}
	file->layout = "Keras's new layout";
	for (size_t i = 0; i < PFLD_COUNT(containers); i++)
		if (pfld_hdf5_kind_of(file->hdf5, containers[i]) == PFLD_HDF5_GROUP)
			return pfld_keras_read_v3(file, containers[i], error);
	return pfld_fail(error, PFLD_ERR_DATA,
					 "%s: an HDF5 file, but not one of Keras's weights: neither layer_names nor layers "
					 "are in it",
					 pfld_show(shown, path, 300));
}

enum pfld_status pfld_keras_open(struct pfld_keras_file **file, const char *path, uint64_t begin, uint64_t num_bytes,
								 struct pfld_error *error)
{
	struct pfld_keras_file *fresh = pfld_calloc(1, sizeof *fresh);
	if (!fresh) return pfld_fail_memory(error, sizeof *fresh, "a Keras file");
	enum pfld_status status = pfld_hdf5_open(&fresh->hdf5, path, begin, num_bytes, error);
	if (!status) status = read_entries(fresh, path, error);
	if (status)
		pfld_keras_close(&fresh);
	else
		*file = fresh;
	return status;
}

void pfld_keras_close(struct pfld_keras_file **file)
{
	if (!file || !*file) return;
	pfld_hdf5_close(&(*file)->hdf5);
	pfld_names_finish(&(*file)->strings);
	free((*file)->entries);
	free(*file);
	*file = NULL;
}

size_t pfld_keras_num_entries(const struct pfld_keras_file *file)
{
	return file->num;
}

const struct pfld_keras_entry *pfld_keras_entry(const struct pfld_keras_file *file, size_t index)
{
	return &file->entries[index];
}

const char *pfld_keras_layout(const struct pfld_keras_file *file)
{
	return file->layout;
}

enum pfld_status pfld_keras_read_as(struct pfld_keras_file *file, size_t index, enum pfld_io_type type, void *numbers,
									struct pfld_error *error)
{
	const struct pfld_io_array *array = &file->entries[index].array;
	return pfld_hdf5_read_as(file->hdf5, array->name, array, type, numbers, error);
}
