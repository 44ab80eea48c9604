// SPDX-License-Identifier: MIT
// A folder of pictures with a .pts file of the same base name beside each (300W), or one such file. The format: lines
// "version: 1", "n_points: 68", "{", one "x y" a line, "}"; the first pixel is 1. Keys in any case, blanks and blank
// lines anywhere. A file whose count is not that of its rows, or without its closing brace, is left out: it may have
// been cut. Called by pfld_dataset_open().
#include "dataset.h"
#include "base/file.h"
#include <stdlib.h>
#include <string.h>

#define MAX_FILE_BYTES ((size_t)4 << 20)

// One file while it is read. Memory is kept from file to file and bounded by what the file holds, not what it claims.
struct pts_file {
	const char *path;
	uint8_t *data;
	size_t capacity;
	char *cursor; // of the next line
	int64_t line; // of the one handed out last
	double *points;
	size_t points_capacity;
	size_t num_points; // rows seen
};

// The next line that is not blank, without blanks around it; NULL behind the last.
static char *next_line(struct pts_file *file)
{
	while (*file->cursor) {
		char *text = file->cursor, *end = text + strcspn(text, "\r\n");
		file->cursor = end + (*end == '\r' && end[1] == '\n' ? 2 : *end != '\0');
		file->line++;
		*end = '\0';
		text += strspn(text, " \t");
		while (end > text && (end[-1] == ' ' || end[-1] == '\t')) *--end = '\0';
		if (*text) return text;
	}
	return NULL;
}

// The text behind "key:", or NULL when the line is another.
static char *value_of(char *text, const char *key)
{
	for (; *key; key++, text++) {
		char c = (char)(*text >= 'A' && *text <= 'Z' ? *text - 'A' + 'a' : *text);
		if (c != *key) return NULL;
	}
	text += strspn(text, " \t");
	if (*text != ':') return NULL;
	text++;
	return text + strspn(text, " \t");
}

static bool parse_point(const char *text, double point[2])
{
	const char *end;
	point[0] = pfld_parse_double(text, &end);
	const char *second = end + strspn(end, " \t");
	if (end == text || second == end) return false;
	point[1] = pfld_parse_double(second, &end);
	return end != second && !*end;
}

// The rows between the braces. *left_out: the file has been noted as bad.
static enum pfld_status parse_points(struct pfld_list *list, struct pts_file *file, bool *left_out,
									 struct pfld_error *error)
{
	char shown[PFLD_SHOWN_BYTES], *text;
	file->num_points = 0;
	*left_out = true;
	while ((text = next_line(file)) && strcmp(text, "}") != 0) {
		size_t needed = 2 * (file->num_points + 1);
		if (!pfld_grow(&file->points, &file->points_capacity, needed, sizeof(*file->points)))
			return pfld_fail_memory(error, needed * sizeof(*file->points), "the points of a .pts file");
		if (!parse_point(text, file->points + needed - 2))
			return pfld_list_skip(list, file->path, file->line, NULL, error, "two numbers expected, \"%s\" found",
								  pfld_show(shown, text, 80));
		file->num_points++;
	}
	*left_out = text == NULL;
	if (text) return PFLD_OK;
	return pfld_list_skip(list, file->path, file->line, NULL, error,
						  "the closing brace is missing after %zu points: the file may have been cut",
						  file->num_points);
}

static enum pfld_status parse_file(struct pfld_list *list, struct pts_file *file, bool *left_out,
								   struct pfld_error *error)
{
	char shown[PFLD_SHOWN_BYTES], expected[96], *text, *count = NULL;
	int64_t claimed = 0, count_line = 0;
	*left_out = true;
	while ((text = next_line(file)) && strcmp(text, "{") != 0) {
		char *value = value_of(text, "n_points");
		if (!value) continue;
		count = value;
		count_line = file->line;
	}
	if (!text || !count)
		return pfld_list_skip(list, file->path, file->line, NULL, error, "not a .pts file: no %s",
							  count ? "opening brace" : "n_points");
	if (!pfld_parse_int(count, &claimed))
		return pfld_list_skip(list, file->path, count_line, NULL, error, "n_points is \"%s\", not a number",
							  pfld_show(shown, count, 80));
	enum pfld_status status = parse_points(list, file, left_out, error);
	if (status || *left_out) return status;
	*left_out = true;
	if (claimed < 0 || (uint64_t)claimed != file->num_points)
		return pfld_list_skip(list, file->path, count_line, NULL, error, "n_points says %lld, %zu points found",
							  (long long)claimed, file->num_points);
	if (claimed > INT32_MAX || !pfld_list_takes(list, (int32_t)claimed))
		return pfld_list_skip(list, file->path, count_line, NULL, error, "%zu points found, %s expected",
							  file->num_points, pfld_list_expected(list, expected));
	*left_out = false;
	return PFLD_OK;
}

// The picture beside the .pts file (or in image_dir): a fresh string, NULL when there is none.
static enum pfld_status find_beside(const char *folder, const char *base, char **image, struct pfld_error *error)
{
	static const char *const extensions[] = {".jpg", ".jpeg", ".png", ".JPG", ".JPEG", ".PNG"};
	for (size_t i = 0; i < PFLD_COUNT(extensions); i++) {
		char *name = pfld_strprintf("%s%s", base, extensions[i]),
			 *candidate = name ? pfld_path_join(folder, name) : NULL;
		free(name);
		if (!candidate) return pfld_fail_memory(error, strlen(base), "the path of an image");
		if (pfld_path_kind(candidate) == PFLD_PATH_FILE) {
			*image = candidate;
			return PFLD_OK;
		}
		free(candidate);
	}
	return PFLD_OK;
}

static enum pfld_status find_image(const struct pfld_list *list, const char *folder, const char *name, char **image,
								   struct pfld_error *error)
{
	char *base = pfld_strdup(name);
	if (!base) return pfld_fail_memory(error, strlen(name), "the name of an image");
	base[strlen(base) - strlen(".pts")] = '\0';
	enum pfld_status status = PFLD_OK;
	*image = NULL;
	if (list->options->image_dir) status = find_beside(list->options->image_dir, base, image, error);
	if (!status && !*image) status = find_beside(folder, base, image, error);
	free(base);
	return status;
}

// One file of the folder: parse it, find its picture, hand it over.
static enum pfld_status read_file(struct pfld_list *list, struct pts_file *file, const char *folder, const char *name,
								  struct pfld_error *error)
{
	char *image = NULL;
	size_t num_bytes = 0;
	bool left_out;
	struct pfld_error reason;
	enum pfld_status status =
		pfld_file_read_into(file->path, MAX_FILE_BYTES, &file->data, &file->capacity, &num_bytes, &reason);
	if (status == PFLD_ERR_MEMORY) return pfld_fail(error, status, "%s", reason.message);
	if (status) return pfld_list_skip(list, file->path, 0, NULL, error, "%s", reason.message);
	file->cursor = (char *)file->data;
	file->line = 0;
	if (!strncmp(file->cursor, "\xEF\xBB\xBF", 3)) file->cursor += 3;
	status = parse_file(list, file, &left_out, error);
	if (status || left_out) return status;
	status = find_image(list, folder, name, &image, error);
	if (status) return status;
	if (!image)
		return pfld_list_skip(list, file->path, 0, NULL, error,
							  "cannot open its image: no .jpg, .jpeg or .png of that name");
	struct pfld_row row = {
		.file = file->path,
		.image = image,
		.points = file->points,
		.num_points = (int32_t)file->num_points,
		.offset = list->options->pts_base < 0 ? 0 : -1,
	};
	status = pfld_list_add(list, &row, error);
	free(image);
	return status;
}

static enum pfld_status read_files(struct pfld_list *list, const char *folder, char **names, size_t num_names,
								   struct pfld_error *error)
{
	struct pts_file file = {0};
	enum pfld_status status = PFLD_OK;
	for (size_t i = 0; i < num_names && !status; i++) {
		if (names[i][0] == '.' || !pfld_has_extension(names[i], "pts")) continue;
		char *path = pfld_path_join(folder, names[i]);
		if (!path) {
			status = pfld_fail_memory(error, strlen(names[i]), "the path of a .pts file");
			break;
		}
		file.path = path;
		status = read_file(list, &file, folder, names[i], error);
		free(path);
	}
	free(file.data);
	free(file.points);
	return status;
}

enum pfld_status pfld_list_read_pts(struct pfld_list *list, struct pfld_error *error)
{
	if (pfld_path_kind(list->path) == PFLD_PATH_FOLDER) {
		char **names = NULL;
		size_t num_names = 0;
		enum pfld_status status = pfld_list_folder(list->path, &names, &num_names, error);
		if (status) return status;
		status = read_files(list, list->path, names, num_names, error);
		pfld_names_destroy(&names, num_names);
		return status;
	}
	char *folder = pfld_path_folder(list->path), *name = pfld_strdup(pfld_path_base(list->path));
	enum pfld_status status = folder && name ? PFLD_OK : pfld_fail_memory(error, strlen(list->path), "a path");
	if (!status && !pfld_has_extension(name, "pts")) {
		char shown[PFLD_SHOWN_BYTES];
		status = pfld_fail(error, PFLD_ERR_DATA, "\"%s\" is neither a folder nor a .pts file",
						   pfld_show(shown, list->path, 0));
	}
	if (!status) status = read_files(list, folder, &name, 1, error);
	free(folder);
	free(name);
	return status;
}
