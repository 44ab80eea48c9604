// SPDX-License-Identifier: MIT
// Text lists, one face a line: prepared rows (path first) and WFLW's raw rows (path last). Lines end in LF, CR LF or
// CR; tokens are separated by blanks and tabs; a byte order mark and blank lines are passed over, line numbers count
// them. The file is read in pieces, so that a list of any size costs no more than its longest line. Called by
// pfld_dataset_open().
#include "dataset.h"
#include "base/file.h"
#include <stdlib.h>
#include <string.h>

// ---- lines ----

#define PIECE_BYTES ((size_t)64 << 10)
#define MAX_LINE_BYTES ((size_t)1 << 20)

struct line_reader {
	struct pfld_file_reader *file;
	const char *path;
	uint64_t num_bytes, offset; // of the file, and how much of it is in the buffer or behind
	char *buffer;
	size_t capacity, begin, end; // buffer[begin, end) is not yet handed out
	int64_t line;                // of the line handed out last, 1-based
	bool after_return;           // that line ended in CR: an LF that follows belongs to it
};

// More of the file behind what is in the buffer.
static enum pfld_status read_piece(struct line_reader *lines, struct pfld_error *error)
{
	char shown[PFLD_SHOWN_BYTES];
	size_t kept = lines->end - lines->begin;
	if (kept > MAX_LINE_BYTES)
		return pfld_fail(error, PFLD_ERR_DATA, "%s:%lld: the line is longer than %zu bytes: not a list",
						 pfld_show(shown, lines->path, 0), (long long)lines->line + 1, MAX_LINE_BYTES);
	if (kept) memmove(lines->buffer, lines->buffer + lines->begin, kept);
	lines->begin = 0;
	lines->end = kept;
	uint64_t left = lines->num_bytes - lines->offset;
	size_t wanted = left < PIECE_BYTES ? (size_t)left : PIECE_BYTES;
	if (!pfld_grow(&lines->buffer, &lines->capacity, kept + wanted + 1, 1))
		return pfld_fail_memory(error, kept + wanted + 1, "a line of a list");
	enum pfld_status status = pfld_file_reader_read(lines->file, lines->offset, lines->buffer + kept, wanted, error);
	if (status) return status;
	lines->offset += wanted;
	lines->end += wanted;
	return PFLD_OK;
}

// The next line, terminated and without its end, in the reader's buffer until the next call. PFLD_END behind the last.
static enum pfld_status next_line(struct line_reader *lines, char **text, size_t *num_bytes, struct pfld_error *error)
{
	size_t scanned = 0;
	for (;;) {
		if (lines->after_return && lines->begin < lines->end) {
			lines->begin += lines->buffer[lines->begin] == '\n';
			lines->after_return = false;
		}
		for (; lines->begin + scanned < lines->end; scanned++) {
			char c = lines->buffer[lines->begin + scanned];
			if (c == '\n' || c == '\r') break;
		}
		bool found = lines->begin + scanned < lines->end;
		if (found || lines->offset == lines->num_bytes) {
			if (!found && !scanned) return PFLD_END;
			*text = lines->buffer + lines->begin;
			*num_bytes = scanned;
			lines->after_return = found && (*text)[scanned] == '\r';
			(*text)[scanned] = '\0';
			lines->begin += scanned + found;
			lines->line++;
			return PFLD_OK;
		}
		enum pfld_status status = read_piece(lines, error);
		if (status) return status;
	}
}

// A list that is no UTF-8 text is refused as a whole.
static enum pfld_status refuse_binary(const struct line_reader *lines, const char *text, size_t num_bytes,
									  struct pfld_error *error)
{
	char shown[PFLD_SHOWN_BYTES];
	bool mark = num_bytes >= 2 && (!memcmp(text, "\xFF\xFE", 2) || !memcmp(text, "\xFE\xFF", 2));
	bool half_zero = num_bytes >= 2 && !text[0] != !text[1];
	if (lines->line == 1 && (mark || half_zero))
		return pfld_fail(error, PFLD_ERR_DATA, "%s:1: the list is UTF-16 text; save it as UTF-8",
						 pfld_show(shown, lines->path, 0));
	if (memchr(text, '\0', num_bytes))
		return pfld_fail(error, PFLD_ERR_DATA, "%s:%lld: the line holds a zero byte: not a text list",
						 pfld_show(shown, lines->path, 0), (long long)lines->line);
	return PFLD_OK;
}

// ---- rows ----

// A stretch of a line between blanks.
struct token {
	char *start;
	size_t num_bytes;
	double value;
	bool is_number; // all of it
};

struct text_row {
	struct token *tokens;
	size_t num, capacity;
	size_t leading, trailing; // how many numbers the row begins and ends with
	double *points;           // scratch of pfld_row.points
	size_t points_capacity;
};

// A layout: numbers on one side of the path.
struct layout {
	enum pfld_list_format format;
	const char *name;
	bool path_first;
	size_t extra[3]; // numbers besides the coordinates, in the order of preference
	size_t num_extra;
	const char *content;
};
static const struct layout prepared_layout = {
	.format = PFLD_LIST_PREPARED,
	.name = "prepared",
	.path_first = true,
	.extra = {9, 6, 0},
	.num_extra = 3,
	.content = "path, coordinates, 6 attributes, 3 angles; the last two may be absent",
};
static const struct layout raw_layout = {
	.format = PFLD_LIST_RAW,
	.name = "raw",
	.path_first = false,
	.extra = {10, 4},
	.num_extra = 2,
	.content = "coordinates, box of 4, 6 attributes, path; the attributes may be absent",
};

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\v' || c == '\f';
}

static bool split(struct text_row *row, char *text)
{
	row->num = 0;
	for (char *at = text;;) {
		while (is_blank(*at)) at++;
		if (!*at) break;
		if (!pfld_grow(&row->tokens, &row->capacity, row->num + 1, sizeof(*row->tokens))) return false;
		struct token *token = &row->tokens[row->num++];
		token->start = at;
		while (*at && !is_blank(*at)) at++;
		token->num_bytes = (size_t)(at - token->start);
		const char *end;
		token->value = pfld_parse_double(token->start, &end);
		token->is_number = end == at;
	}
	for (row->leading = 0; row->leading < row->num && row->tokens[row->leading].is_number;) row->leading++;
	for (row->trailing = 0; row->trailing < row->num && row->tokens[row->num - 1 - row->trailing].is_number;)
		row->trailing++;
	return true;
}

// Where the path stands, by what is no number. NULL: it stands nowhere.
static const struct layout *layout_of(const struct text_row *row)
{
	if (!row->tokens[0].is_number) return &prepared_layout;
	return row->tokens[row->num - 1].is_number ? NULL : &raw_layout;
}

// Does the row hold so many numbers and a path? A path of several tokens (blanks in it) must not end (prepared) or
// begin (raw) in a number, or nobody can tell where it stops.
static bool fits(const struct text_row *row, const struct layout *layout, size_t num_numbers)
{
	size_t run = layout->path_first ? row->trailing : row->leading;
	if (row->num <= num_numbers || run < num_numbers) return false;
	return row->num == num_numbers + 1 || run == num_numbers;
}

static bool fits_points(const struct text_row *row, const struct layout *layout, int32_t num_points, size_t *extra)
{
	for (size_t i = 0; i < layout->num_extra; i++)
		if (fits(row, layout, 2 * (size_t)num_points + layout->extra[i])) {
			*extra = layout->extra[i];
			return true;
		}
	return false;
}

// How many points the row has, 0 when it fits no number that may be taken; *extra the numbers besides.
static int32_t points_of(const struct pfld_list *list, const struct text_row *row, const struct layout *layout,
						 size_t *extra)
{
	int32_t told = list->dataset->num_points;
	if (told) return fits_points(row, layout, told, extra) ? told : 0;
	for (size_t i = 0; i < PFLD_NUM_KNOWN_POINTS; i++)
		if (fits_points(row, layout, pfld_known_points[i], extra)) return pfld_known_points[i];
	return 0;
}

// The number of tokens nearest to the row's that the layout has, and for how many points.
static size_t nearest_count(const struct pfld_list *list, const struct text_row *row, const struct layout *layout,
							int32_t *num_points)
{
	size_t best = 0, best_distance = SIZE_MAX;
	int32_t told = list->dataset->num_points;
	for (size_t i = 0; i < (told ? 1 : PFLD_NUM_KNOWN_POINTS); i++)
		for (size_t j = 0; j < layout->num_extra; j++) {
			int32_t points = told ? told : pfld_known_points[i];
			size_t count = 2 * (size_t)points + layout->extra[j] + 1;
			size_t distance = count > row->num ? count - row->num : row->num - count;
			if (distance >= best_distance) continue;
			best_distance = distance;
			best = count;
			*num_points = points;
		}
	return best;
}

// Note a row that does not fit the layout: what was found, what was expected, and what it may be instead.
static enum pfld_status skip_misfit(struct pfld_list *list, const struct text_row *row, const struct layout *layout,
									int64_t line, struct pfld_error *error)
{
	int32_t num_points = 0;
	size_t expected = nearest_count(list, row, layout, &num_points);
	const struct layout *looks = layout_of(row);
	const char *hint = looks == layout || !looks ? ""
					   : looks->path_first       ? "; the row looks like the prepared layout (path first)"
												 : "; the row looks like the raw layout (path last)";
	if (row->num != expected || looks != layout)
		return pfld_list_skip(list, list->path, line, NULL, error,
							  "%zu tokens found, %zu expected for %d points in the %s layout (%s)%s", row->num,
							  expected, num_points, layout->name, layout->content, hint);
	size_t bad = layout->path_first ? row->num - 1 - row->trailing : row->leading;
	char shown[PFLD_SHOWN_BYTES], *text = row->tokens[bad].start;
	text[row->tokens[bad].num_bytes] = '\0';
	return pfld_list_skip(list, list->path, line, NULL, error, "token %zu of %zu is not a number: \"%s\"", bad + 1,
						  row->num, pfld_show(shown, text, 80));
}

static void copy_numbers(double *destination, const struct token *tokens, size_t num)
{
	for (size_t i = 0; i < num; i++) destination[i] = tokens[i].value;
}

// Hand the row over in the layout that it fits.
static enum pfld_status add_row(struct pfld_list *list, struct text_row *row, const struct layout *layout, int64_t line,
								struct pfld_error *error)
{
	size_t extra = 0;
	int32_t num_points = points_of(list, row, layout, &extra);
	if (!num_points) return skip_misfit(list, row, layout, line, error);
	size_t num_coordinates = 2 * (size_t)num_points, num_numbers = num_coordinates + extra;
	if (!pfld_grow(&row->points, &row->points_capacity, num_coordinates, sizeof(*row->points)))
		return pfld_fail_memory(error, num_coordinates * sizeof(*row->points), "a row of a list");
	const struct token *numbers = row->tokens + (layout->path_first ? row->num - num_numbers : 0);
	struct token *path_begin = row->tokens + (layout->path_first ? 0 : num_numbers);
	struct token *path_last = row->tokens + row->num - 1 - (layout->path_first ? num_numbers : 0);
	path_last->start[path_last->num_bytes] = '\0';
	struct pfld_row found = {
		.file = list->path,
		.line = line,
		.name = path_begin->start,
		.points = row->points,
		.num_points = num_points,
		.crop_relative = layout->path_first,
		.has_box = !layout->path_first,
		.has_attributes = layout->path_first ? extra >= 6 : extra == 10,
		.has_angles = layout->path_first && extra == 9,
	};
	copy_numbers(row->points, numbers, num_coordinates);
	numbers += num_coordinates;
	if (found.has_box) copy_numbers(found.box, numbers, 4);
	numbers += found.has_box ? 4 : 0;
	if (found.has_attributes) copy_numbers(found.attributes, numbers, 6);
	if (found.has_angles) copy_numbers(found.angles, numbers + 6, 3);
	list->dataset->format = layout->format;
	return pfld_list_add(list, &found, error);
}

static enum pfld_status read_row(struct pfld_list *list, struct text_row *row, char *text, int64_t line,
								 struct pfld_error *error)
{
	if (!split(row, text)) return pfld_fail_memory(error, row->num * sizeof(*row->tokens), "a row of a list");
	if (!row->num) return PFLD_OK;
	const struct layout *layout = list->dataset->format == PFLD_LIST_PREPARED ? &prepared_layout
								  : list->dataset->format == PFLD_LIST_RAW    ? &raw_layout
																			  : layout_of(row);
	if (layout) return add_row(list, row, layout, line, error);
	return pfld_list_skip(list, list->path, line, NULL, error, "%zu tokens found, all of them numbers: no path",
						  row->num);
}

enum pfld_status pfld_list_read_text(struct pfld_list *list, struct pfld_error *error)
{
	struct line_reader lines = {.path = list->path};
	struct text_row row = {0};
	char *text = NULL;
	size_t num_bytes = 0;
	enum pfld_status status = pfld_file_reader_open(&lines.file, list->path, &lines.num_bytes, error);
	while (!status) {
		status = next_line(&lines, &text, &num_bytes, error);
		if (status == PFLD_END) {
			status = PFLD_OK;
			break;
		}
		if (!status) status = refuse_binary(&lines, text, num_bytes, error);
		if (!status && lines.line == 1 && !strncmp(text, "\xEF\xBB\xBF", 3)) text += 3;
		if (!status) status = read_row(list, &row, text, lines.line, error);
	}
	pfld_file_reader_close(&lines.file);
	free(lines.buffer);
	free(row.tokens);
	free(row.points);
	return status;
}
