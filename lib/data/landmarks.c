// SPDX-License-Identifier: MIT
// What is known of a number of points: which point is which in the mirror, which two normalise the error. No list is
// read here (dataset_*.c), nothing is cropped. Called by the loader and the programs.
#include "base/base.h"
#include "base/file.h"
#include <pfld/data.h>
#include <stdlib.h>
#include <string.h>

// WFLW: contour 0..32, brows 33..50, nose 51..59, eyes 60..75, mouth 76..95, pupils 96 and 97.
static const int32_t mirror_98[98] = {
	32, 31, 30, 29, 28, 27, 26, 25, 24, 23, 22, 21, 20, 19, 18, 17, 16, 15, 14, 13, 12, 11, 10, 9,  8,
	7,  6,  5,  4,  3,  2,  1,  0,  46, 45, 44, 43, 42, 50, 49, 48, 47, 37, 36, 35, 34, 33, 41, 40, 39,
	38, 51, 52, 53, 54, 59, 58, 57, 56, 55, 72, 71, 70, 69, 68, 75, 74, 73, 64, 63, 62, 61, 60, 67, 66,
	65, 82, 81, 80, 79, 78, 77, 76, 87, 86, 85, 84, 83, 92, 91, 90, 89, 88, 95, 94, 93, 97, 96,
};
// 300W: contour 0..16, brows 17..26, nose 27..35, eyes 36..47, mouth 48..67.
static const int32_t mirror_68[68] = {
	16, 15, 14, 13, 12, 11, 10, 9,  8,  7,  6,  5,  4,  3,  2,  1,  0,  26, 25, 24, 23, 22, 21,
	20, 19, 18, 17, 27, 28, 29, 30, 35, 34, 33, 32, 31, 45, 44, 43, 42, 47, 46, 39, 38, 37, 36,
	41, 40, 54, 53, 52, 51, 50, 49, 48, 59, 58, 57, 56, 55, 64, 63, 62, 61, 60, 67, 66, 65,
};

const int32_t *pfld_mirror_map(int32_t num_points)
{
	return num_points == 98 ? mirror_98 : num_points == 68 ? mirror_68 : NULL;
}

// The next integer of a comma separated line into *value; *cursor moves behind it and the comma. False: none there.
static bool next_index(char **cursor, int64_t *value)
{
	char *token = *cursor + strspn(*cursor, " \t\r\n");
	size_t length = strcspn(token, ", \t\r\n");
	char *behind = token + length + strspn(token + length, " \t\r\n");
	bool last = *behind == '\0';
	if (!length || (!last && *behind != ',')) return false;
	token[length] = '\0';
	*cursor = last ? behind : behind + 1;
	return pfld_parse_int(token, value);
}

static enum pfld_status parse_mirror_map(const char *shown, char *text, int32_t num_points, int32_t *map,
										 struct pfld_error *error)
{
	static const char byte_order_mark[] = "\xEF\xBB\xBF";
	char *cursor = text;
	if (!strncmp(cursor, byte_order_mark, 3)) cursor += 3;
	int32_t found = 0;
	for (; *cursor; found++) {
		int64_t value;
		if (!next_index(&cursor, &value))
			return pfld_fail(error, PFLD_ERR_DATA, "%s:1: entry %d of the mirror map is not an integer", shown, found);
		if (found == num_points)
			return pfld_fail(error, PFLD_ERR_DATA, "%s:1: the mirror map has more than %d entries", shown, num_points);
		if (value < 0 || value >= num_points)
			return pfld_fail(error, PFLD_ERR_DATA, "%s:1: entry %d of the mirror map is %lld, outside 0..%d", shown,
							 found, (long long)value, num_points - 1);
		map[found] = (int32_t)value;
	}
	if (found != num_points)
		return pfld_fail(error, PFLD_ERR_DATA, "%s:1: the mirror map has %d entries, %d expected", shown, found,
						 num_points);
	for (int32_t i = 0; i < num_points; i++)
		if (map[map[i]] != i)
			return pfld_fail(error, PFLD_ERR_DATA,
							 "%s:1: not a mirror map: point %d goes to %d, but %d goes to %d and not back", shown, i,
							 map[i], map[i], map[map[i]]);
	return PFLD_OK;
}

enum pfld_status pfld_mirror_map_read(const char *path, int32_t num_points, int32_t *map, struct pfld_error *error)
{
	if (!path || !map || num_points < 1)
		return pfld_fail(error, PFLD_ERR_ARGUMENT, "a mirror map needs a path, a number of points and room for it");
	uint8_t *text = NULL;
	size_t num_bytes = 0;
	int32_t *read = pfld_calloc((size_t)num_points, sizeof(*read));
	if (!read) return pfld_fail_memory(error, (size_t)num_points * sizeof(*read), "a mirror map");
	enum pfld_status status = pfld_file_read(path, 1 << 20, &text, &num_bytes, error);
	if (!status) {
		char shown[PFLD_SHOWN_BYTES];
		status = parse_mirror_map(pfld_show(shown, path, 0), (char *)text, num_points, read, error);
	}
	if (!status) memcpy(map, read, (size_t)num_points * sizeof(*map));
	free(read);
	free(text);
	return status;
}

bool pfld_nme_points(int32_t num_points, int32_t corners[2])
{
	static const int32_t known[][3] = {{98, 60, 72}, {68, 36, 45}, {106, 35, 93}, {29, 8, 9}};
	for (size_t i = 0; i < PFLD_COUNT(known); i++)
		if (known[i][0] == num_points) {
			corners[0] = known[i][1];
			corners[1] = known[i][2];
			return true;
		}
	return false;
}
