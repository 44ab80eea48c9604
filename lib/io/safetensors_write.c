// SPDX-License-Identifier: MIT
// Writing safetensors: a header of the tensors as they come, padded with blanks to 8 bytes, then their data.
#include "base/file.h"
#include "json.h"
#include "safetensors.h"

#include <stdlib.h>
#include <string.h>

// Owns `value` in every case. False: out of memory, or a name that is no valid UTF-8.
static bool add(json_t *object, const char *name, json_t *value)
{
	return json_object_set_new(object, name, value) == 0;
}

static json_t *describe(const struct pfld_io_array *array, uint64_t begin, uint64_t end)
{
	json_t *shape = json_array(), *entry = json_object();
	bool ok = shape && entry;
	for (int32_t i = 0; ok && i < array->num_dims; i++) {
		ok = json_array_append_new(shape, json_integer(array->dims[i])) == 0;
	}
	ok = ok && add(entry, "dtype", json_string(pfld_io_type_name(array->type)));
	ok = ok && json_object_set(entry, "shape", shape) == 0;
	ok = ok && add(entry, "data_offsets", json_pack("[I,I]", (json_int_t)begin, (json_int_t)end));
	json_decref(shape);
	if (ok) return entry;
	json_decref(entry);
	return NULL;
}

static enum pfld_status fail_argument(struct pfld_error *error, const char *name, const char *why)
{
	char shown[PFLD_SHOWN_BYTES];
	return pfld_fail(error, PFLD_ERR_ARGUMENT, "\"%s\" cannot be written to a safetensors file: %s",
					 pfld_show(shown, name, 200), why);
}

// Names and keys: valid UTF-8, in use once, and not the format's own.
static enum pfld_status check_name(const json_t *object, const char *name, struct pfld_error *error)
{
	const char *why = NULL;
	if (!name)
		why = "a name is missing";
	else if (!strcmp(name, "__metadata__"))
		why = "the format uses this name itself";
	else if (json_object_get(object, name))
		why = "the name is given twice";
	else if (!pfld_is_utf8(name))
		why = "the name is not valid UTF-8";
	return why ? fail_argument(error, name, why) : PFLD_OK;
}

static enum pfld_status add_pairs(json_t *header, const struct pfld_safetensors_pair *pairs, size_t num_pairs,
								  struct pfld_error *error)
{
	if (num_pairs == 0) return PFLD_OK;
	json_t *metadata = json_object();
	enum pfld_status status = PFLD_OK;
	for (size_t i = 0; metadata && !status && i < num_pairs; i++) {
		status = check_name(metadata, pairs[i].key, error);
		if (!status && !pairs[i].value) status = fail_argument(error, pairs[i].key, "it has no value");
		if (!status && !add(metadata, pairs[i].key, pfld_json_string(pairs[i].value)))
			status = pfld_fail_memory(error, strlen(pairs[i].key), "the header of a safetensors file");
	}
	if (!status && json_object_set(header, "__metadata__", metadata) != 0)
		status = pfld_fail_memory(error, num_pairs, "the header of a safetensors file");
	json_decref(metadata);
	return status;
}

static enum pfld_status add_items(json_t *header, const struct pfld_safetensors_item *items, size_t num_items,
								  struct pfld_error *error)
{
	uint64_t at = 0, num_bytes;
	for (size_t i = 0; i < num_items; i++) {
		const struct pfld_io_array *array = &items[i].array;
		enum pfld_status status = check_name(header, array->name, error);
		if (status) return status;
		if (!pfld_io_array_size(array, NULL, &num_bytes) || num_bytes > (uint64_t)INT64_MAX - at)
			return fail_argument(error, array->name, "its shape is not possible");
		if (num_bytes && !items[i].data) return fail_argument(error, array->name, "it has no data");
		if (!add(header, array->name, describe(array, at, at + num_bytes)))
			return pfld_fail_memory(error, strlen(array->name), "the header of a safetensors file");
		at += num_bytes;
	}
	return PFLD_OK;
}

static enum pfld_status build_header(struct pfld_text *text, const struct pfld_safetensors_item *items,
									 size_t num_items, const struct pfld_safetensors_pair *pairs, size_t num_pairs,
									 struct pfld_error *error)
{
	json_t *header = json_object();
	if (!header) return pfld_fail_memory(error, num_items, "the header of a safetensors file");
	enum pfld_status status = add_pairs(header, pairs, num_pairs, error);
	if (!status) status = add_items(header, items, num_items, error);
	char *json = status ? NULL : json_dumps(header, JSON_COMPACT);
	json_decref(header);
	if (status) return status;
	uint8_t length[8] = {0};
	pfld_text_append_bytes(text, length, sizeof length);
	if (json) pfld_text_append(text, json);
	while (text->length % 8 && !text->failed) pfld_text_append(text, " ");
	if (!json || text->failed) status = pfld_fail_memory(error, num_items, "the header of a safetensors file");
	free(json);
	if (status) return status;
	for (int i = 0; i < 8; i++) text->data[i] = (char)((uint64_t)(text->length - 8) >> (8 * i) & 255);
	return PFLD_OK;
}

static enum pfld_status write_file(const char *path, const struct pfld_text *header,
								   const struct pfld_safetensors_item *items, size_t num_items,
								   struct pfld_error *error)
{
	struct pfld_file_writer *writer = NULL;
	enum pfld_status status = pfld_file_writer_open(&writer, path, error);
	if (status) return status;
	status = pfld_file_writer_write(writer, header->data, header->length, error);
	for (size_t i = 0; !status && i < num_items; i++) {
		uint64_t num_bytes = 0;
		pfld_io_array_size(&items[i].array, NULL, &num_bytes);
		status = pfld_file_writer_write(writer, items[i].data, (size_t)num_bytes, error);
	}
	if (status)
		pfld_file_writer_abandon(&writer);
	else
		status = pfld_file_writer_commit(&writer, error);
	return status;
}

enum pfld_status pfld_safetensors_write(const char *path, const struct pfld_safetensors_item *items, size_t num_items,
										const struct pfld_safetensors_pair *pairs, size_t num_pairs,
										struct pfld_error *error)
{
	struct pfld_text header = {0};
	enum pfld_status status = build_header(&header, items, num_items, pairs, num_pairs, error);
	if (!status) status = write_file(path, &header, items, num_items, error);
	pfld_text_finish(&header);
	return status;
}
