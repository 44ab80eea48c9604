// SPDX-License-Identifier: MIT
// The directory at the end of a zip file, with the 64-bit forms. See zip.h.
#include "zip.h"

#include <stdlib.h>
#include <string.h>

enum {
	END_BYTES = 22,     // end of central directory, without its comment
	LOCATOR_BYTES = 20, // of the 64-bit end
	END64_BYTES = 56,
	ENTRY_BYTES = 46, // of the central directory, without names
	LOCAL_BYTES = 30,
	MAX_DIRECTORY = 1 << 24,
};

struct directory {
	uint64_t begin, num_bytes, num_entries;
};

static uint64_t number(const uint8_t *at, int num_bytes)
{
	uint64_t value = 0;
	for (int i = num_bytes - 1; i >= 0; i--) value = value << 8 | at[i];
	return value;
}

static enum pfld_status damaged(const char *path, const char *what, struct pfld_error *error)
{
	char shown[PFLD_SHOWN_BYTES];
	return pfld_fail(error, PFLD_ERR_DATA, "%s: a damaged zip file: %s", pfld_show(shown, path, 0), what);
}

// The end record is the last thing but for a comment of up to 65535 bytes.
static enum pfld_status find_end(struct pfld_file_reader *reader, uint64_t file_bytes, const char *path,
								 uint8_t end[END_BYTES], uint64_t *at, struct pfld_error *error)
{
	size_t num = (size_t)PFLD_MIN(file_bytes, END_BYTES + 65535);
	if (num < END_BYTES) return damaged(path, "it is too short", error);
	uint8_t *tail = malloc(num);
	if (!tail) return pfld_fail_memory(error, num, "the end of a zip file");
	enum pfld_status status = pfld_file_reader_read(reader, file_bytes - num, tail, num, error);
	bool found = false;
	for (size_t i = num - END_BYTES + 1; !status && !found && i-- > 0;) {
		if (memcmp(tail + i, "PK\5\6", 4) != 0 || number(tail + i + 20, 2) != num - END_BYTES - i) continue;
		memcpy(end, tail + i, END_BYTES);
		*at = file_bytes - num + i;
		found = true;
	}
	free(tail);
	if (!status && !found) return damaged(path, "it has no directory at its end (cut off?)", error);
	return status;
}

static enum pfld_status find_directory(struct pfld_file_reader *reader, uint64_t file_bytes, const char *path,
									   struct directory *directory, struct pfld_error *error)
{
	uint8_t end[END_BYTES], locator[LOCATOR_BYTES], end64[END64_BYTES];
	uint64_t at = 0;
	enum pfld_status status = find_end(reader, file_bytes, path, end, &at, error);
	if (status) return status;
	*directory = (struct directory){number(end + 16, 4), number(end + 12, 4), number(end + 10, 2)};
	if (directory->begin == UINT32_MAX || directory->num_bytes == UINT32_MAX || directory->num_entries == UINT16_MAX) {
		if (at < LOCATOR_BYTES) return damaged(path, "its directory lies nowhere", error);
		status = pfld_file_reader_read(reader, at - LOCATOR_BYTES, locator, LOCATOR_BYTES, error);
		if (status) return status;
		uint64_t at64 = number(locator + 8, 8);
		if (memcmp(locator, "PK\6\7", 4) != 0 || at64 > file_bytes || file_bytes - at64 < END64_BYTES)
			return damaged(path, "its directory lies nowhere", error);
		status = pfld_file_reader_read(reader, at64, end64, END64_BYTES, error);
		if (status) return status;
		*directory = (struct directory){number(end64 + 48, 8), number(end64 + 40, 8), number(end64 + 32, 8)};
	}
	if (directory->begin > file_bytes || directory->num_bytes > file_bytes - directory->begin)
		return damaged(path, "its directory lies beyond its end", error);
	if (directory->num_bytes > MAX_DIRECTORY) return damaged(path, "its directory is too large", error);
	return PFLD_OK;
}

// The 64-bit numbers of an entry whose 32-bit ones are full; `extra` are its extra fields.
static void widen(const uint8_t *extra, size_t num, uint64_t *unpacked, uint64_t *packed, uint64_t *local)
{
	while (num >= 4) {
		size_t kind = (size_t)number(extra, 2), size = (size_t)number(extra + 2, 2);
		if (size > num - 4) return;
		uint64_t *values[3] = {unpacked, packed, local};
		size_t at = 4;
		for (int i = 0; kind == 1 && i < 3; i++) {
			if (*values[i] != UINT32_MAX || at + 8 > 4 + size) continue;
			*values[i] = number(extra + at, 8);
			at += 8;
		}
		extra += 4 + size;
		num -= 4 + size;
	}
}

static bool is_named(const char *entry, size_t length, const char *name, bool any_folder)
{
	size_t wanted = strlen(name);
	if (length < wanted || memcmp(entry + length - wanted, name, wanted) != 0) return false;
	return length == wanted || (any_folder && entry[length - wanted - 1] == '/');
}

static enum pfld_status place(struct pfld_file_reader *reader, uint64_t file_bytes, const char *path,
							  const uint8_t *entry, struct pfld_zip_member *member, struct pfld_error *error)
{
	char shown[PFLD_SHOWN_BYTES];
	uint8_t head[LOCAL_BYTES];
	uint64_t packed = number(entry + 20, 4), unpacked = number(entry + 24, 4), local = number(entry + 42, 4);
	size_t name_bytes = (size_t)number(entry + 28, 2), extra_bytes = (size_t)number(entry + 30, 2);
	widen(entry + ENTRY_BYTES + name_bytes, extra_bytes, &unpacked, &packed, &local);
	if (number(entry + 8, 2) & 1)
		return pfld_fail(error, PFLD_ERR_UNSUPPORTED, "%s: its parts are encrypted", pfld_show(shown, path, 0));
	if (local > file_bytes || file_bytes - local < LOCAL_BYTES)
		return damaged(path, "a part lies beyond its end", error);
	enum pfld_status status = pfld_file_reader_read(reader, local, head, LOCAL_BYTES, error);
	if (status) return status;
	if (memcmp(head, "PK\3\4", 4) != 0) return damaged(path, "a part is not where the directory says", error);
	*member = (struct pfld_zip_member){.begin = local + LOCAL_BYTES + number(head + 26, 2) + number(head + 28, 2),
									   .num_bytes = packed,
									   .stored = number(entry + 10, 2) == 0 && packed == unpacked};
	if (member->begin > file_bytes || packed > file_bytes - member->begin)
		return damaged(path, "a part lies beyond its end", error);
	return PFLD_OK;
}

enum pfld_status pfld_zip_find(struct pfld_file_reader *reader, uint64_t file_bytes, const char *path, const char *name,
							   bool any_folder, struct pfld_zip_member *member, bool *found, struct pfld_error *error)
{
	struct directory directory;
	*found = false;
	enum pfld_status status = find_directory(reader, file_bytes, path, &directory, error);
	if (status) return status;
	size_t num = (size_t)directory.num_bytes;
	uint8_t *bytes = malloc(num + 1);
	if (!bytes) return pfld_fail_memory(error, num, "the directory of a zip file");
	status = pfld_file_reader_read(reader, directory.begin, bytes, num, error);
	size_t at = 0;
	for (uint64_t i = 0; !status && !*found && i < directory.num_entries; i++) {
		const uint8_t *entry = bytes + at;
		size_t left = num - at;
		size_t size =
			left < ENTRY_BYTES
				? SIZE_MAX
				: (size_t)(ENTRY_BYTES + number(entry + 28, 2) + number(entry + 30, 2) + number(entry + 32, 2));
		if (size > left || memcmp(entry, "PK\1\2", 4) != 0) {
			status = damaged(path, "its directory does not hold what it says", error);
		} else if (is_named((const char *)entry + ENTRY_BYTES, (size_t)number(entry + 28, 2), name, any_folder)) {
			*found = true;
			status = place(reader, file_bytes, path, entry, member, error);
		}
		at += size;
	}
	free(bytes);
	return status;
}
