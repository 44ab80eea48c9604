// SPDX-License-Identifier: MIT
// Reading files: whole with a limit, or parts by offset. Writing is file_write.c, folders and names are path.c.
#define _POSIX_C_SOURCE 200809L
#include "file.h"
#include "posix.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

static enum pfld_status fail_limit(struct pfld_error *error, const char *path, size_t limit_bytes)
{
	char shown[PFLD_SHOWN_BYTES];
	return pfld_fail(error, PFLD_ERR_DATA, "\"%s\" is larger than the limit of %zu bytes", pfld_show(shown, path, 400),
					 limit_bytes);
}

// Room for num_bytes and the zero byte behind them.
static enum pfld_status reserve(uint8_t **data, size_t *capacity, uint64_t num_bytes, struct pfld_error *error)
{
	if (num_bytes < *capacity) return PFLD_OK;
	uint8_t *grown = num_bytes < SIZE_MAX ? realloc(*data, (size_t)num_bytes + 1) : NULL;
	if (!grown) return pfld_fail_memory(error, num_bytes, "the content of a file");
	*data = grown;
	*capacity = (size_t)num_bytes + 1;
	return PFLD_OK;
}

// Read up to the end of the file. Its size is only a hint: files of /proc say 0, others may be growing.
static enum pfld_status read_all(int descriptor, const char *path, size_t limit_bytes, uint8_t **data, size_t *capacity,
								 size_t *num_bytes, struct pfld_error *error)
{
	size_t length = 0;
	for (;;) {
		uint8_t extra; // a full buffer is only grown when there is more
		size_t room = *capacity - 1 - length;
		int64_t got = room ? pfld_read_some(descriptor, *data + length, room) : pfld_read_some(descriptor, &extra, 1);
		if (got < 0) return pfld_fail_path(error, "read", path, errno);
		if (got == 0) break;
		if (limit_bytes && (uint64_t)got > limit_bytes - length) return fail_limit(error, path, limit_bytes);
		if (!room) {
			enum pfld_status status = reserve(data, capacity, PFLD_MAX((uint64_t)length * 2, 4096), error);
			if (status) return status;
			(*data)[length] = extra;
		}
		length += (size_t)got;
	}
	(*data)[length] = 0;
	*num_bytes = length;
	return PFLD_OK;
}

enum pfld_status pfld_file_read_into(const char *path, size_t limit_bytes, uint8_t **data, size_t *capacity,
									 size_t *num_bytes, struct pfld_error *error)
{
	if (!path) return pfld_fail(error, PFLD_ERR_ARGUMENT, "no path of a file to read was given");
	int descriptor;
	uint64_t size;
	enum pfld_status status = pfld_open_regular(path, &descriptor, &size, error);
	if (status) return status;
	if (limit_bytes && size > limit_bytes) status = fail_limit(error, path, limit_bytes);
	if (!status) status = reserve(data, capacity, size, error);
	if (!status) status = read_all(descriptor, path, limit_bytes, data, capacity, num_bytes, error);
	close(descriptor);
	return status;
}

enum pfld_status pfld_file_read(const char *path, size_t limit_bytes, uint8_t **data, size_t *num_bytes,
								struct pfld_error *error)
{
	uint8_t *fresh = NULL;
	size_t capacity = 0;
	enum pfld_status status = pfld_file_read_into(path, limit_bytes, &fresh, &capacity, num_bytes, error);
	if (status)
		free(fresh);
	else
		*data = fresh;
	return status;
}

struct pfld_file_reader {
	int descriptor;
	uint64_t num_bytes;
	char *path;
};

enum pfld_status pfld_file_reader_open(struct pfld_file_reader **reader, const char *path, uint64_t *num_bytes,
									   struct pfld_error *error)
{
	if (!path) return pfld_fail(error, PFLD_ERR_ARGUMENT, "no path of a file to read was given");
	struct pfld_file_reader *fresh = pfld_calloc(1, sizeof *fresh);
	char *copy = pfld_strdup(path);
	enum pfld_status status = fresh && copy ? pfld_open_regular(path, &fresh->descriptor, &fresh->num_bytes, error)
											: pfld_fail_memory(error, sizeof *fresh, "a file reader");
	if (status) {
		free(copy);
		free(fresh);
		return status;
	}
	fresh->path = copy;
	*num_bytes = fresh->num_bytes;
	*reader = fresh;
	return PFLD_OK;
}

enum pfld_status pfld_file_reader_read(struct pfld_file_reader *reader, uint64_t offset, void *bytes, size_t num_bytes,
									   struct pfld_error *error)
{
	char shown[PFLD_SHOWN_BYTES];
	if (offset > reader->num_bytes || num_bytes > reader->num_bytes - offset) {
		return pfld_fail(error, PFLD_ERR_DATA, "\"%s\" has %llu bytes: %zu bytes at offset %llu are not in it",
						 pfld_show(shown, reader->path, 400), (unsigned long long)reader->num_bytes, num_bytes,
						 (unsigned long long)offset);
	}
	int attempt = 0;
	for (size_t done = 0; done < num_bytes;) {
		size_t part = PFLD_MIN(num_bytes - done, (size_t)1 << 30);
		ssize_t got = pread(reader->descriptor, (uint8_t *)bytes + done, part, (off_t)(offset + done));
		if (got > 0) {
			done += (size_t)got;
		} else if (got == 0) {
			return pfld_fail(error, PFLD_ERR_DATA, "\"%s\" became shorter while it was read",
							 pfld_show(shown, reader->path, 400));
		} else if (!pfld_retry(errno, &attempt)) {
			return pfld_fail_path(error, "read", reader->path, errno);
		}
	}
	return PFLD_OK;
}

void pfld_file_reader_close(struct pfld_file_reader **reader)
{
	if (!reader || !*reader) return;
	close((*reader)->descriptor);
	free((*reader)->path);
	free(*reader);
	*reader = NULL;
}
