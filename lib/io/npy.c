// SPDX-License-Identifier: MIT
// .npy: a magic string, a version, the length of a header that is a Python dictionary, the data from a multiple of 64.
#include "npy.h"
#include "base/file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_HEADER_BYTES 65536 // numpy itself refuses more than 10000 characters

static const char *const descriptions[PFLD_IO_NUM_TYPES] = {
	[PFLD_IO_F32] = "<f4", [PFLD_IO_F64] = "<f8", [PFLD_IO_F16] = "<f2", [PFLD_IO_I64] = "<i8",
	[PFLD_IO_I32] = "<i4", [PFLD_IO_I16] = "<i2", [PFLD_IO_I8] = "|i1",  [PFLD_IO_U64] = "<u8",
	[PFLD_IO_U32] = "<u4", [PFLD_IO_U16] = "<u2", [PFLD_IO_U8] = "|u1",  [PFLD_IO_BOOL] = "|b1",
};

// What the dictionary says.
struct header {
	char description[16];
	bool has_description, has_order, fortran_order, has_shape;
	struct pfld_io_array array;
};

static enum pfld_status refuse(enum pfld_status status, const char *path, const char *reason, struct pfld_error *error)
{
	char shown[PFLD_SHOWN_BYTES];
	return pfld_fail(error, status, "cannot read \"%s\" as a .npy file: %s", pfld_show(shown, path, 400), reason);
}

static const char *skip_blanks(const char *at)
{
	return at + strspn(at, " \t\r\n");
}

// Behind the character when it is the next one but for blanks; else NULL.
static const char *expect(const char *at, char wanted)
{
	at = skip_blanks(at);
	return *at == wanted ? at + 1 : NULL;
}

// A text in either quotes, without escapes, cut to the buffer; returns what is behind it.
static const char *parse_text(const char *at, char text[16])
{
	at = skip_blanks(at);
	char quote = *at;
	if (quote != '\'' && quote != '"') return NULL;
	const char *end = strchr(++at, quote);
	if (!end) return NULL;
	size_t length = (size_t)(end - at);
	length = PFLD_MIN(length, 15);
	memcpy(text, at, length);
	text[length] = '\0';
	return end + 1;
}

static const char *parse_bool(const char *at, bool *value)
{
	at = skip_blanks(at);
	if (!strncmp(at, "True", 4)) {
		*value = true;
		return at + 4;
	}
	*value = false;
	return strncmp(at, "False", 5) == 0 ? at + 5 : NULL;
}

// "(2, 3)", "(2,)", "()"; Python 2 wrote "2L".
static const char *parse_shape(const char *at, struct pfld_io_array *array)
{
	if (!(at = expect(at, '('))) return NULL;
	array->num_dims = 0;
	for (;;) {
		at = skip_blanks(at);
		if (*at == ')') return at + 1;
		char digits[24];
		size_t length = strspn(at, "0123456789");
		if (length == 0 || length >= sizeof digits || array->num_dims == PFLD_IO_MAX_DIMS) return NULL;
		memcpy(digits, at, length);
		digits[length] = '\0';
		if (!pfld_parse_int(digits, &array->dims[array->num_dims++])) return NULL;
		at += length;
		at = skip_blanks(at + (*at == 'L'));
		if (*at != ',' && *at != ')') return NULL;
		at += *at == ',';
	}
}

// The dictionary; false when it is not of the form that numpy writes.
static bool parse_dictionary(const char *at, struct header *header)
{
	*header = (struct header){0};
	if (!(at = expect(at, '{'))) return false;
	for (;;) {
		char key[16];
		if (*skip_blanks(at) == '}') break;
		at = parse_text(at, key);
		if (at) at = expect(at, ':');
		if (!at) return false;
		if (!strcmp(key, "descr") && !header->has_description) {
			header->has_description = true;
			at = parse_text(at, header->description);
		} else if (!strcmp(key, "fortran_order") && !header->has_order) {
			header->has_order = true;
			at = parse_bool(at, &header->fortran_order);
		} else if (!strcmp(key, "shape") && !header->has_shape) {
			header->has_shape = true;
			at = parse_shape(at, &header->array);
		} else {
			return false;
		}
		if (!at) return false;
		at = skip_blanks(at);
		if (*at != ',' && *at != '}') return false;
		at += *at == ',';
	}
	at = skip_blanks(skip_blanks(at) + 1);
	return *at == '\0' && header->has_description && header->has_order && header->has_shape;
}

// Type and order of what the dictionary describes.
static enum pfld_status check_kind(const char *path, struct header *header, struct pfld_error *error)
{
	const char *description = header->description;
	for (int type = 0; type < PFLD_IO_NUM_TYPES; type++) {
		const char *known = descriptions[type];
		if (!known || strcmp(known + 1, description + (*description != '\0')) != 0) continue;
		bool one_byte = known[0] == '|';
		if (!one_byte && description[0] == '>')
			return refuse(PFLD_ERR_UNSUPPORTED, path, "its numbers are big-endian", error);
		if (description[0] != '<' && description[0] != known[0]) continue;
		header->array.type = (enum pfld_io_type)type;
		if (header->fortran_order && header->array.num_dims > 1)
			return refuse(PFLD_ERR_UNSUPPORTED, path, "it is in Fortran order (use numpy.ascontiguousarray)", error);
		return PFLD_OK;
	}
	char shown[PFLD_SHOWN_BYTES], reason[128];
	snprintf(reason, sizeof reason, "its element type \"%.64s\" is not supported", pfld_show(shown, description, 40));
	return refuse(PFLD_ERR_UNSUPPORTED, path, reason, error);
}

// The first bytes: where the dictionary begins and how long it is.
static enum pfld_status read_prefix(struct pfld_file_reader *reader, const char *path, uint64_t file_bytes,
									size_t *begin, size_t *length, struct pfld_error *error)
{
	uint8_t prefix[12];
	if (file_bytes < sizeof prefix) return refuse(PFLD_ERR_DATA, path, "it is too short", error);
	enum pfld_status status = pfld_file_reader_read(reader, 0, prefix, sizeof prefix, error);
	if (status) return status;
	if (memcmp(prefix, "\x93NUMPY", 6) != 0) return refuse(PFLD_ERR_DATA, path, "it does not begin as one", error);
	if (prefix[6] < 1 || prefix[6] > 3)
		return refuse(PFLD_ERR_UNSUPPORTED, path, "its version is not 1, 2 or 3", error);
	uint32_t bytes = (uint32_t)prefix[8] | (uint32_t)prefix[9] << 8;
	if (prefix[6] > 1) bytes |= (uint32_t)prefix[10] << 16 | (uint32_t)prefix[11] << 24;
	*begin = prefix[6] > 1 ? 12 : 10;
	*length = bytes;
	if (bytes > file_bytes - *begin)
		return refuse(PFLD_ERR_DATA, path, "its header is said to be longer than the file", error);
	if (bytes > MOST_HEADER_BYTES) return refuse(PFLD_ERR_DATA, path, "its header is larger than 64 KiB", error);
	return PFLD_OK;
}

static enum pfld_status read_header(struct pfld_file_reader *reader, const char *path, uint64_t file_bytes,
									struct header *header, uint64_t *data_begin, struct pfld_error *error)
{
	size_t begin = 0, length = 0;
	enum pfld_status status = read_prefix(reader, path, file_bytes, &begin, &length, error);
	if (status) return status;
	char *text = pfld_calloc(length + 1, 1);
	if (!text) return pfld_fail_memory(error, length, "the header of a .npy file");
	status = pfld_file_reader_read(reader, begin, text, length, error);
	if (!status && (strlen(text) != length || !parse_dictionary(text, header)))
		status = refuse(PFLD_ERR_DATA, path, "its header is not what numpy writes for a plain array", error);
	free(text);
	*data_begin = begin + length;
	return status ? status : check_kind(path, header, error);
}

static enum pfld_status read_array(struct pfld_file_reader *reader, const char *path, uint64_t file_bytes,
								   struct pfld_io_array *array, void **data, struct pfld_error *error)
{
	struct header header;
	uint64_t data_begin = 0, num_bytes;
	enum pfld_status status = read_header(reader, path, file_bytes, &header, &data_begin, error);
	if (status) return status;
	if (!pfld_io_array_size(&header.array, NULL, &num_bytes) || num_bytes != file_bytes - data_begin)
		return refuse(PFLD_ERR_DATA, path, "its shape needs another number of bytes than it has", error);
	void *fresh = num_bytes <= SIZE_MAX ? malloc(num_bytes ? (size_t)num_bytes : 1) : NULL;
	if (!fresh) return pfld_fail_memory(error, num_bytes, "an array of a .npy file");
	status = pfld_file_reader_read(reader, data_begin, fresh, (size_t)num_bytes, error);
	if (status) {
		free(fresh);
		return status;
	}
	*array = header.array;
	*data = fresh;
	return PFLD_OK;
}

enum pfld_status pfld_npy_read(const char *path, struct pfld_io_array *array, void **data, struct pfld_error *error)
{
	struct pfld_file_reader *reader = NULL;
	uint64_t file_bytes;
	enum pfld_status status = pfld_file_reader_open(&reader, path, &file_bytes, error);
	if (status) return status;
	status = read_array(reader, path, file_bytes, array, data, error);
	pfld_file_reader_close(&reader);
	return status;
}

enum pfld_status pfld_npy_write(const char *path, const struct pfld_io_array *array, const void *data,
								struct pfld_error *error)
{
	uint64_t num_bytes;
	if (!descriptions[array->type] || !pfld_io_array_size(array, NULL, &num_bytes) || num_bytes > SIZE_MAX) {
		return pfld_fail(error, PFLD_ERR_ARGUMENT, "a .npy file cannot hold an array of this type (%s) or shape",
						 pfld_io_type_name(array->type));
	}
	struct pfld_text header = {0};
	pfld_text_append_bytes(&header, "\x93NUMPY\1\0\0\0", 10);
	pfld_text_printf(&header, "{'descr': '%s', 'fortran_order': False, 'shape': (", descriptions[array->type]);
	for (int32_t i = 0; i < array->num_dims; i++) {
		pfld_text_printf(&header, "%s%lld", i ? ", " : "", (long long)array->dims[i]);
	}
	pfld_text_append(&header, array->num_dims == 1 ? ",), }" : "), }");
	while (header.length % 64 != 63 && !header.failed) pfld_text_append(&header, " ");
	pfld_text_append(&header, "\n");
	struct pfld_file_writer *writer = NULL;
	enum pfld_status status = header.failed ? pfld_fail_memory(error, 256, "the header of a .npy file")
											: pfld_file_writer_open(&writer, path, error);
	if (!status) {
		header.data[8] = (char)((header.length - 10) & 255);
		header.data[9] = (char)((header.length - 10) >> 8);
		status = pfld_file_writer_write(writer, header.data, header.length, error);
		if (!status) status = pfld_file_writer_write(writer, data, (size_t)num_bytes, error);
		if (status)
			pfld_file_writer_abandon(&writer);
		else
			status = pfld_file_writer_commit(&writer, error);
	}
	pfld_text_finish(&header);
	return status;
}
