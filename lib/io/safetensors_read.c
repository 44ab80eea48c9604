// SPDX-License-Identifier: MIT
// Reading safetensors: the header is checked completely before anything is believed; data is read only when asked for.
#include "base/file.h"
#include "safetensors.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_HEADER_BYTES ((uint64_t)100 << 20)
#define METADATA_KEY "__metadata__"

struct pfld_safetensors {
	struct pfld_file_reader *reader;
	char *path;
	json_t *header;                         // owns every string
	json_t *metadata;                       // part of header, or NULL
	uint64_t data_begin, data_bytes;        // in the file
	struct pfld_safetensors_entry *entries; // by begin
	size_t num_entries;
};

// 'FILE is not a valid safetensors file: ...' with the reason, which may cite a name from the file.
static enum pfld_status refuse(const struct pfld_safetensors *file, const char *name, const char *reason,
							   struct pfld_error *error)
{
	char path[PFLD_SHOWN_BYTES], tensor[PFLD_SHOWN_BYTES];
	pfld_show(path, file->path, 400);
	if (!name) return pfld_fail(error, PFLD_ERR_DATA, "\"%s\" is not a valid safetensors file: %s", path, reason);
	return pfld_fail(error, PFLD_ERR_DATA, "\"%s\" is not a valid safetensors file: tensor \"%s\": %s", path,
					 pfld_show(tensor, name, 200), reason);
}

static enum pfld_status read_header_length(struct pfld_safetensors *file, uint64_t file_bytes, uint64_t *header_bytes,
										   struct pfld_error *error)
{
	uint8_t bytes[8];
	if (file_bytes < sizeof bytes)
		return refuse(file, NULL, "it is shorter than the 8 bytes of its header's length", error);
	enum pfld_status status = pfld_file_reader_read(file->reader, 0, bytes, sizeof bytes, error);
	if (status) return status;
	uint64_t length = 0;
	for (int i = 7; i >= 0; i--) length = length << 8 | bytes[i];
	if (length > file_bytes - sizeof bytes)
		return refuse(file, NULL, "its header is said to be longer than the file", error);
	if (length > MOST_HEADER_BYTES) return refuse(file, NULL, "its header is larger than 100 MiB", error);
	file->data_begin = sizeof bytes + length;
	file->data_bytes = file_bytes - file->data_begin;
	*header_bytes = length;
	return PFLD_OK;
}

static enum pfld_status parse_header(struct pfld_safetensors *file, uint64_t file_bytes, struct pfld_error *error)
{
	uint64_t num_bytes = 0;
	enum pfld_status status = read_header_length(file, file_bytes, &num_bytes, error);
	if (status) return status;
	char *text = malloc((size_t)num_bytes + 1);
	if (!text) return pfld_fail_memory(error, num_bytes, "the header of a safetensors file");
	status = pfld_file_reader_read(file->reader, 8, text, (size_t)num_bytes, error);
	json_error_t reason;
	if (!status) {
		errno = 0;
		file->header = json_loadb(text, (size_t)num_bytes, JSON_REJECT_DUPLICATES, &reason);
		if (!file->header && errno == ENOMEM) { // jansson itself takes a lack of memory for bad JSON
			status = pfld_fail_memory(error, num_bytes, "the header of a safetensors file");
		} else if (!file->header) {
			char why[sizeof reason.text + 64], *cited = strstr(reason.text, " near "); // bytes of the file: not shown
			if (cited) *cited = '\0';
			snprintf(why, sizeof why, "its header is not the JSON it should be: %s", reason.text);
			status = refuse(file, NULL, why, error);
		} else if (!json_is_object(file->header) || text[0] != '{') {
			status = refuse(file, NULL, "its header is not a JSON object", error);
		}
	}
	free(text);
	return status;
}

static enum pfld_status check_metadata(struct pfld_safetensors *file, json_t *metadata, struct pfld_error *error)
{
	const char *key;
	json_t *value;
	if (!json_is_object(metadata)) return refuse(file, NULL, "its metadata is not a JSON object", error);
	json_object_foreach(metadata, key, value)
	{
		if (!json_is_string(value)) return refuse(file, NULL, "its metadata holds something other than text", error);
	}
	file->metadata = metadata;
	return PFLD_OK;
}

// A whole number from 0 to INT64_MAX.
static bool read_size(const json_t *value, int64_t *size)
{
	if (!json_is_integer(value) || json_integer_value(value) < 0) return false;
	*size = json_integer_value(value);
	return true;
}

static enum pfld_status unsupported(const struct pfld_safetensors *file, const char *name, const char *what,
									struct pfld_error *error)
{
	char path[PFLD_SHOWN_BYTES], tensor[PFLD_SHOWN_BYTES], shown[PFLD_SHOWN_BYTES];
	return pfld_fail(error, PFLD_ERR_UNSUPPORTED, "\"%s\": tensor \"%s\" has %s, which is not supported",
					 pfld_show(path, file->path, 400), pfld_show(tensor, name, 200), pfld_show(shown, what, 40));
}

static enum pfld_status read_shape(const struct pfld_safetensors *file, const json_t *entry,
								   struct pfld_io_array *array, struct pfld_error *error)
{
	const json_t *type = json_object_get(entry, "dtype"), *shape = json_object_get(entry, "shape");
	if (!json_is_string(type)) return refuse(file, array->name, "it has no element type", error);
	int known = 0;
	while (known < PFLD_IO_NUM_TYPES &&
		   strcmp(json_string_value(type), pfld_io_type_name((enum pfld_io_type)known)) != 0) {
		known++;
	}
	if (known == PFLD_IO_NUM_TYPES) {
		char what[64];
		snprintf(what, sizeof what, "the element type %.32s", json_string_value(type));
		return unsupported(file, array->name, what, error);
	}
	array->type = (enum pfld_io_type)known;
	if (!json_is_array(shape)) return refuse(file, array->name, "it has no shape", error);
	if (json_array_size(shape) > PFLD_IO_MAX_DIMS)
		return unsupported(file, array->name, "more than 8 dimensions", error);
	array->num_dims = (int32_t)json_array_size(shape);
	for (int32_t i = 0; i < array->num_dims; i++) {
		if (!read_size(json_array_get(shape, (size_t)i), &array->dims[i]))
			return refuse(file, array->name, "a dimension is not a whole number of 0 or more", error);
	}
	return PFLD_OK;
}

static enum pfld_status read_entry(const struct pfld_safetensors *file, const char *name, const json_t *json,
								   struct pfld_safetensors_entry *entry, struct pfld_error *error)
{
	entry->array.name = name;
	if (!json_is_object(json)) return refuse(file, name, "it is not described by a JSON object", error);
	enum pfld_status status = read_shape(file, json, &entry->array, error);
	if (status) return status;
	const json_t *offsets = json_object_get(json, "data_offsets");
	int64_t begin, end;
	if (json_array_size(offsets) != 2 || !read_size(json_array_get(offsets, 0), &begin) ||
		!read_size(json_array_get(offsets, 1), &end))
		return refuse(file, name, "its offsets are not two whole numbers of 0 or more", error);
	if (begin > end) return refuse(file, name, "it ends before it begins", error);
	if ((uint64_t)end > file->data_bytes) return refuse(file, name, "it ends behind the end of the file", error);
	if (!pfld_io_array_size(&entry->array, NULL, &entry->num_bytes))
		return refuse(file, name, "its shape is too large", error);
	if (entry->num_bytes != (uint64_t)(end - begin))
		return refuse(file, name, "its shape and type need another number of bytes than its offsets give", error);
	entry->begin = (uint64_t)begin;
	return PFLD_OK;
}

static int compare_entries(const void *a, const void *b)
{
	const struct pfld_safetensors_entry *x = a, *y = b;
	if (x->begin != y->begin) return x->begin < y->begin ? -1 : 1;
	if (x->num_bytes != y->num_bytes) return x->num_bytes < y->num_bytes ? -1 : 1;
	return strcmp(x->array.name, y->array.name); // several empty ones in one place
}

// One tensor must begin where the one before ends, and the last end with the file.
static enum pfld_status check_order(const struct pfld_safetensors *file, struct pfld_error *error)
{
	uint64_t at = 0;
	for (size_t i = 0; i < file->num_entries; i++) {
		const struct pfld_safetensors_entry *entry = &file->entries[i];
		if (entry->begin < at) return refuse(file, entry->array.name, "it overlaps another", error);
		if (entry->begin > at) return refuse(file, entry->array.name, "there is a hole before it", error);
		at += entry->num_bytes;
	}
	if (at != file->data_bytes) return refuse(file, NULL, "there are bytes behind its last tensor", error);
	return PFLD_OK;
}

static enum pfld_status read_entries(struct pfld_safetensors *file, struct pfld_error *error)
{
	size_t num = json_object_size(file->header);
	file->entries = pfld_calloc(num, sizeof *file->entries);
	if (!file->entries) return pfld_fail_memory(error, num * sizeof *file->entries, "the table of a safetensors file");
	const char *name;
	json_t *value;
	enum pfld_status status = PFLD_OK;
	json_object_foreach(file->header, name, value)
	{
		if (!strcmp(name, METADATA_KEY)) {
			status = check_metadata(file, value, error);
		} else {
			status = read_entry(file, name, value, &file->entries[file->num_entries++], error);
		}
		if (status) return status;
	}
	qsort(file->entries, file->num_entries, sizeof *file->entries, compare_entries);
	return check_order(file, error);
}

enum pfld_status pfld_safetensors_open(struct pfld_safetensors **file, const char *path, struct pfld_error *error)
{
	if (!path) return pfld_fail(error, PFLD_ERR_ARGUMENT, "no path of a safetensors file was given");
	struct pfld_safetensors *fresh = pfld_calloc(1, sizeof *fresh);
	if (!fresh) return pfld_fail_memory(error, sizeof *fresh, "a safetensors file");
	uint64_t file_bytes = 0;
	enum pfld_status status = PFLD_OK;
	fresh->path = pfld_strdup(path);
	if (!fresh->path) status = pfld_fail_memory(error, strlen(path), "a path");
	if (!status) status = pfld_file_reader_open(&fresh->reader, path, &file_bytes, error);
	if (!status) status = parse_header(fresh, file_bytes, error);
	if (!status) status = read_entries(fresh, error);
	if (status)
		pfld_safetensors_close(&fresh);
	else
		*file = fresh;
	return status;
}

void pfld_safetensors_close(struct pfld_safetensors **file)
{
	if (!file || !*file) return;
	pfld_file_reader_close(&(*file)->reader);
	json_decref((*file)->header);
	free((*file)->entries);
	free((*file)->path);
	free(*file);
	*file = NULL;
}

size_t pfld_safetensors_num_entries(const struct pfld_safetensors *file)
{
	return file->num_entries;
}

const struct pfld_safetensors_entry *pfld_safetensors_entry(const struct pfld_safetensors *file, size_t index)
{
	return &file->entries[index];
}

const struct pfld_safetensors_entry *pfld_safetensors_find(const struct pfld_safetensors *file, const char *name)
{
	for (size_t i = 0; i < file->num_entries; i++) {
		if (!strcmp(file->entries[i].array.name, name)) return &file->entries[i];
	}
	return NULL;
}

const char *pfld_safetensors_metadata(const struct pfld_safetensors *file, const char *key)
{
	return json_string_value(json_object_get(file->metadata, key)); // both take NULL
}

bool pfld_safetensors_metadata_at(const struct pfld_safetensors *file, size_t index, const char **key,
								  const char **value)
{
	const char *name;
	json_t *text;
	json_object_foreach(file->metadata, name, text)
	{
		if (index-- > 0) continue;
		*key = name;
		*value = json_string_value(text);
		return true;
	}
	return false;
}

enum pfld_status pfld_safetensors_read(struct pfld_safetensors *file, const struct pfld_safetensors_entry *entry,
									   void *bytes, struct pfld_error *error)
{
	if (entry->num_bytes > SIZE_MAX) return pfld_fail_memory(error, SIZE_MAX, entry->array.name);
	return pfld_file_reader_read(file->reader, file->data_begin + entry->begin, bytes, (size_t)entry->num_bytes, error);
}

enum pfld_status pfld_safetensors_read_as(struct pfld_safetensors *file, const struct pfld_safetensors_entry *entry,
										  enum pfld_io_type type, void *numbers, struct pfld_error *error)
{
	const struct pfld_io_array *array = &entry->array;
	char path[PFLD_SHOWN_BYTES], name[PFLD_SHOWN_BYTES];
	if (!pfld_io_type_is_float(array->type)) {
		return pfld_fail(error, PFLD_ERR_SHAPE, "\"%s\": tensor \"%s\" holds %s, not floating-point numbers",
						 pfld_show(path, file->path, 400), pfld_show(name, array->name, 200),
						 pfld_io_type_name(array->type));
	}
	if (type == array->type) return pfld_safetensors_read(file, entry, numbers, error);
	uint8_t part[16384];
	uint64_t num_bytes = entry->num_bytes, from = file->data_begin + entry->begin;
	size_t width = pfld_io_type_bytes(array->type);
	for (uint8_t *to = numbers; num_bytes;) {
		size_t part_bytes = (size_t)PFLD_MIN(num_bytes, sizeof part);
		enum pfld_status status = pfld_file_reader_read(file->reader, from, part, part_bytes, error);
		if (status) return status;
		pfld_io_convert(to, type, part, array->type, part_bytes / width);
		to += part_bytes / width * pfld_io_type_bytes(type);
		from += part_bytes;
		num_bytes -= part_bytes;
	}
	return PFLD_OK;
}
