// SPDX-License-Identifier: MIT
// dlib's imglab XML: <dataset><images><image file><box top left width height><part name x y/>. Every box with its parts
// is a face (boxes marked ignore='1' are none); the parts in the order of their names (numbers by value, else by
// bytes), which every box must have alike. Entities of the file's own are refused, so no file can blow up; encodings
// are expat's. Called by pfld_dataset_open().
#include "dataset.h"
#include "base/file.h"
#include <expat.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PIECE_BYTES (64 << 10)
#define MAX_DEPTH 64

struct part {
	char *name;
	int64_t number; // that the name is
	bool is_number;
	double x, y;
};

struct parts {
	struct part *items;
	size_t num, capacity;
};

struct parser {
	XML_Parser expat;
	struct pfld_list *list;
	struct pfld_error *error;
	enum pfld_status status; // once set, nothing more is done
	int depth;
	char *image; // file name of the current image; NULL outside and where it has none
	bool in_box, has_box;
	const char *complaint; // about the current box
	double box[4];
	int64_t box_line;
	struct parts parts;     // of the current box
	struct parts reference; // of the first good one: the names that every box must have
	double *points;
	size_t points_capacity;
};

static void stop(struct parser *parser, enum pfld_status status)
{
	parser->status = status;
	if (status) XML_StopParser(parser->expat, XML_FALSE);
}

static const char *attribute(const char **attributes, const char *name)
{
	for (; attributes[0]; attributes += 2)
		if (!strcmp(attributes[0], name)) return attributes[1];
	return NULL;
}

static bool number_attribute(const char **attributes, const char *name, double *value)
{
	const char *text = attribute(attributes, name);
	return text && pfld_parse_number(text, value);
}

// Numbers by value, before names, by bytes.
static int compare_parts(const void *a, const void *b)
{
	const struct part *x = a, *y = b;
	if (x->is_number != y->is_number) return x->is_number ? -1 : 1;
	if (x->is_number && x->number != y->number) return x->number < y->number ? -1 : 1;
	return x->is_number ? 0 : strcmp(x->name, y->name);
}

static void forget_parts(struct parts *parts)
{
	for (size_t i = 0; i < parts->num; i++) free(parts->items[i].name);
	parts->num = 0;
}

static void begin_image(struct parser *parser, const char **attributes)
{
	const char *name = attribute(attributes, "file");
	free(parser->image);
	parser->image = pfld_strdup(name);
	if (name && !parser->image) stop(parser, pfld_fail_memory(parser->error, strlen(name), "the name of an image"));
}

static void begin_box(struct parser *parser, const char **attributes)
{
	const char *ignore = attribute(attributes, "ignore");
	double left, top, width, height;
	forget_parts(&parser->parts);
	parser->complaint = NULL;
	parser->in_box = !ignore || !strcmp(ignore, "0");
	parser->box_line = (int64_t)XML_GetCurrentLineNumber(parser->expat);
	parser->has_box = number_attribute(attributes, "left", &left) && number_attribute(attributes, "top", &top) &&
					  number_attribute(attributes, "width", &width) && number_attribute(attributes, "height", &height);
	if (!parser->has_box) return;
	// A box of width 1 is one column of pixels.
	parser->box[0] = left;
	parser->box[1] = top;
	parser->box[2] = left + width - 1;
	parser->box[3] = top + height - 1;
}

static void add_part(struct parser *parser, const char **attributes)
{
	struct parts *parts = &parser->parts;
	struct part part = {0};
	const char *name = attribute(attributes, "name");
	if (!name || !number_attribute(attributes, "x", &part.x) || !number_attribute(attributes, "y", &part.y)) {
		parser->complaint = "a part lacks its name or a number x or y";
		return;
	}
	part.name = pfld_strdup(name);
	part.is_number = pfld_parse_int(name, &part.number);
	if (!part.name || !pfld_grow(&parts->items, &parts->capacity, parts->num + 1, sizeof(*parts->items))) {
		free(part.name);
		stop(parser, pfld_fail_memory(parser->error, sizeof(part), "the parts of a face"));
		return;
	}
	parts->items[parts->num++] = part;
}

// Note the current box as left out.
static enum pfld_status skip_box(struct parser *parser, const char *reason)
{
	char shown[PFLD_SHOWN_BYTES];
	return pfld_list_skip(parser->list, parser->list->path, parser->box_line, parser->image, parser->error,
						  "\"%s\": %s", pfld_show(shown, parser->image ? parser->image : "", 0), reason);
}

// Other names than the first good box has: say which one is missing, or too many.
static enum pfld_status skip_unequal(struct parser *parser)
{
	const struct parts *found = &parser->parts, *expected = &parser->reference;
	size_t i = 0;
	while (i < found->num && i < expected->num && !compare_parts(&found->items[i], &expected->items[i])) i++;
	bool missing = i == found->num || (i < expected->num && compare_parts(&expected->items[i], &found->items[i]) < 0);
	char shown[PFLD_SHOWN_BYTES], reason[PFLD_SHOWN_BYTES + 200];
	snprintf(reason, sizeof(reason), "%zu parts found, %zu expected as in the first box: \"%s\" is %s", found->num,
			 expected->num, pfld_show(shown, (missing ? expected : found)->items[i].name, 80),
			 missing ? "missing" : "not among them");
	return skip_box(parser, reason);
}

// The sorted parts of the current box have the names of the first good one.
static bool agrees(const struct parser *parser)
{
	const struct parts *found = &parser->parts, *expected = &parser->reference;
	if (found->num != expected->num) return false;
	for (size_t i = 0; i < found->num; i++)
		if (compare_parts(&found->items[i], &expected->items[i])) return false;
	return true;
}

static enum pfld_status skip_count(struct parser *parser)
{
	char expected[96], reason[200];
	snprintf(reason, sizeof(reason), "%zu parts found, %s expected", parser->parts.num,
			 pfld_list_expected(parser->list, expected));
	return skip_box(parser, reason);
}

static enum pfld_status add_face(struct parser *parser)
{
	struct parts *parts = &parser->parts;
	if (!pfld_grow(&parser->points, &parser->points_capacity, 2 * parts->num, sizeof(*parser->points)))
		return pfld_fail_memory(parser->error, 2 * parts->num * sizeof(*parser->points), "the parts of a face");
	for (size_t i = 0; i < parts->num; i++) {
		parser->points[2 * i] = parts->items[i].x;
		parser->points[2 * i + 1] = parts->items[i].y;
	}
	struct pfld_row row = {
		.file = parser->list->path,
		.line = parser->box_line,
		.name = parser->image,
		.points = parser->points,
		.num_points = (int32_t)parts->num,
		.has_box = parser->has_box,
	};
	memcpy(row.box, parser->box, sizeof(row.box));
	if (!parser->reference.num) {
		parser->reference = *parts;
		*parts = (struct parts){0};
	}
	return pfld_list_add(parser->list, &row, parser->error);
}

static enum pfld_status end_box(struct parser *parser)
{
	struct parts *parts = &parser->parts;
	if (!parser->image) return skip_box(parser, "the image has no file name");
	if (parser->complaint) return skip_box(parser, parser->complaint);
	if (!parts->num) return skip_box(parser, "the box has no parts");
	qsort(parts->items, parts->num, sizeof(*parts->items), compare_parts);
	for (size_t i = 1; i < parts->num; i++)
		if (!compare_parts(&parts->items[i - 1], &parts->items[i]))
			return skip_box(parser, "two parts have the same name");
	if (parser->reference.num) return agrees(parser) ? add_face(parser) : skip_unequal(parser);
	if (parts->num > INT32_MAX || !pfld_list_takes(parser->list, (int32_t)parts->num)) return skip_count(parser);
	return add_face(parser);
}

static void XMLCALL on_start(void *context, const char *name, const char **attributes)
{
	struct parser *parser = context;
	char where[PFLD_SHOWN_BYTES], shown[PFLD_SHOWN_BYTES];
	long long line = (long long)XML_GetCurrentLineNumber(parser->expat);
	if (parser->status) return;
	if (parser->depth++ == 0 && strcmp(name, "dataset") != 0) {
		stop(parser, pfld_fail(parser->error, PFLD_ERR_DATA, "%s:%lld: the root element is <%s>, <dataset> expected",
							   pfld_show(where, parser->list->path, 0), line, pfld_show(shown, name, 80)));
	} else if (parser->depth > MAX_DEPTH) {
		stop(parser, pfld_fail(parser->error, PFLD_ERR_DATA, "%s:%lld: more than %d elements inside each other",
							   pfld_show(where, parser->list->path, 0), line, MAX_DEPTH));
	} else if (!strcmp(name, "image")) {
		begin_image(parser, attributes);
	} else if (!strcmp(name, "box")) {
		begin_box(parser, attributes);
	} else if (!strcmp(name, "part") && parser->in_box) {
		add_part(parser, attributes);
	}
}

static void XMLCALL on_end(void *context, const char *name)
{
	struct parser *parser = context;
	if (parser->status) return;
	parser->depth--;
	if (strcmp(name, "box") != 0 || !parser->in_box) return;
	parser->in_box = false;
	stop(parser, end_box(parser));
}

// Entities of one's own can expand without end, and no such list needs any.
static void XMLCALL on_entity(void *context, const char *name, int is_parameter, const char *value, int value_length,
							  const char *base, const char *system_id, const char *public_id, const char *notation)
{
	struct parser *parser = context;
	char where[PFLD_SHOWN_BYTES], shown[PFLD_SHOWN_BYTES];
	if (parser->status) return;
	stop(parser, pfld_fail(parser->error, PFLD_ERR_DATA, "%s:%lld: the file declares an entity (\"%s\"): refused",
						   pfld_show(where, parser->list->path, 0), (long long)XML_GetCurrentLineNumber(parser->expat),
						   pfld_show(shown, name, 80)));
}

static enum pfld_status fail_xml(const struct parser *parser)
{
	char where[PFLD_SHOWN_BYTES];
	enum XML_Error code = XML_GetErrorCode(parser->expat);
	if (parser->status) return parser->status;
	if (code == XML_ERROR_NO_MEMORY) return pfld_fail_memory(parser->error, PIECE_BYTES, "an XML file");
	return pfld_fail(parser->error, PFLD_ERR_DATA, "%s:%lld: not well-formed XML: %s",
					 pfld_show(where, parser->list->path, 0), (long long)XML_GetCurrentLineNumber(parser->expat),
					 XML_ErrorString(code));
}

static enum pfld_status parse(struct parser *parser, struct pfld_file_reader *file, uint64_t num_bytes)
{
	for (uint64_t offset = 0;;) {
		size_t piece = (size_t)PFLD_MIN(num_bytes - offset, (uint64_t)PIECE_BYTES);
		void *buffer = XML_GetBuffer(parser->expat, PIECE_BYTES);
		if (!buffer) return fail_xml(parser);
		enum pfld_status status = pfld_file_reader_read(file, offset, buffer, piece, parser->error);
		if (status) return status;
		offset += piece;
		if (XML_ParseBuffer(parser->expat, (int)piece, offset == num_bytes) != XML_STATUS_OK) return fail_xml(parser);
		if (offset == num_bytes) return PFLD_OK;
	}
}

enum pfld_status pfld_list_read_dlib(struct pfld_list *list, struct pfld_error *error)
{
	struct pfld_file_reader *file = NULL;
	uint64_t num_bytes = 0;
	enum pfld_status status = pfld_file_reader_open(&file, list->path, &num_bytes, error);
	if (status) return status;
	struct parser parser = {.expat = XML_ParserCreate(NULL), .list = list, .error = error};
	if (parser.expat) {
		XML_SetUserData(parser.expat, &parser);
		XML_SetElementHandler(parser.expat, on_start, on_end);
		XML_SetEntityDeclHandler(parser.expat, on_entity);
		status = parse(&parser, file, num_bytes);
		XML_ParserFree(parser.expat);
	} else {
		status = pfld_fail_memory(error, PIECE_BYTES, "an XML parser");
	}
	pfld_file_reader_close(&file);
	forget_parts(&parser.parts);
	forget_parts(&parser.reference);
	free(parser.parts.items);
	free(parser.reference.items);
	free(parser.image);
	free(parser.points);
	return status;
}
