// SPDX-License-Identifier: MIT
// Lists in other formats than text: folders of .pts files, dlib's XML; and the maps that go with a number of points.
#include "list_files.h"
#include "base/random.h"
#include <math.h>

static const struct pfld_dataset_options any_bad = {.max_bad = 1};

// ---- .pts ----

// A file of `claimed` points with `rows` of them: text 1-based.
static void put_pts(const char *name, const char *before, const char *claimed, int rows, const char *after)
{
	struct pfld_text text = {0};
	pfld_text_printf(&text, "%s%s", before, claimed);
	for (int i = 0; i < rows; i++) {
		pfld_text_number(&text, i == 0 ? 1 : coordinate(i, 0) * 60 + 1, 9);
		pfld_text_append(&text, " ");
		pfld_text_number(&text, i == 0 ? 1 : coordinate(i, 1) * 60 + 1, 9);
		pfld_text_append(&text, "\n");
	}
	pfld_text_append(&text, after);
	write_list(name, &text);
}

START_TEST(pts_writers)
{
	put_pts("a.pts", "version: 1\nn_points: ", "68\n{\n", 68, "}\n");
	put_pts("b.pts", "\xEF\xBB\xBFVersion:1\r\nN_POINTS:", "68\r\n\r\n { \r\n", 68, "\r\n}\r\n\r\n");
	put_pts("c.PTS", "# made by hand\nn_points :  ", "68\r{\r", 68, "\t}");
	make_image("a.png");
	make_image("b.JPG");
	make_image("c.jpeg");
	make_image("d.png"); // a picture without points is none of the list
	put_file(sandbox, "._a.pts", "dropping of another system");
	open_good(".", NULL, 3);
	ck_assert_int_eq(pfld_dataset_format(dataset), PFLD_LIST_PTS);
	ck_assert_int_eq(pfld_dataset_num_points(dataset), 68);
	ck_assert(!pfld_dataset_has_attributes(dataset) && pfld_dataset_has_angles(dataset));
	struct pfld_face face = face_at(0);
	ck_assert(face.points[0] == 0 && face.points[1] == 0); // the text says 1 1: the first pixel
	ck_assert_float_eq_tol(face.points[2], (float)(coordinate(1, 0) * 60), 1e-4);
	ck_assert_str_eq(face.image_path, in_sandbox("./a.png"));
	ck_assert_int_eq(face.line, 0);
	ck_assert(!face.has_box && !face.crop_relative && !face.present);
	for (int i = 1; i < 3; i++) ck_assert_mem_eq(face_at(i).points, face.points, 136 * sizeof(float));
	open_good(".", &(struct pfld_dataset_options){.pts_base = -1}, 3);
	ck_assert(face_at(0).points[0] == 1 && face_at(0).points[1] == 1);
	open_good("a.pts", NULL, 1); // one file by its name
	ck_assert_str_eq(face_at(0).image_path, in_sandbox("a.png"));
}
END_TEST

START_TEST(pts_that_lie)
{
	static const struct {
		const char *name, *claimed;
		int rows;
		const char *after, *reason;
	} cases[] = {
		{"d.pts", "68\n{\n", 67, "}\n", "d.pts:1: n_points says 68, 67 points found"},
		{"e.pts", "68\n{\n", 69, "}\n", "e.pts:1: n_points says 68, 69 points found"},
		{"f.pts", "999999999\n{\n", 68, "}\n", "n_points says 999999999, 68 points found"},
		{"g.pts", "68\n{\n", 68, "", "g.pts:70: the closing brace is missing after 68 points"},
		{"h.pts", "-1\n{\n", 68, "}\n", "n_points says -1, 68 points found"},
		{"i.pts", "99999999999999999999\n{\n", 68, "}\n", "not a number"},
		{"j.pts", "many\n{\n", 68, "}\n", "n_points is \"many\""},
		{"k.pts", "68\n", 68, "}\n", "no opening brace"},
		{"l.pts", "68\n{\nx 5\n", 68, "}\n", "l.pts:3: two numbers expected, \"x 5\" found"},
		{"m.pts", "68\n{\n1 2 3\n", 68, "}\n", "m.pts:3: two numbers expected"},
		{"n.pts", "51\n{\n", 51, "}\n", "51 points found, 98, 68, 106, 29, 21 or 19"},
		{"o.pts", "0\n{\n", 0, "}\n", "0 points found"},
	};
	for (size_t i = 0; i < PFLD_COUNT(cases); i++) {
		char image[8] = "?.png";
		image[0] = cases[i].name[0];
		make_image(image);
		put_pts(cases[i].name, "n_points: ", cases[i].claimed, cases[i].rows, cases[i].after);
		open_bad(cases[i].name, NULL, PFLD_ERR_DATA, TEXTS(cases[i].reason));
	}
	put_file(sandbox, "p.pts", "{\n1 1\n}\n");
	open_bad("p.pts", NULL, PFLD_ERR_DATA, TEXTS("p.pts", "no n_points"));
	put_pts("q.pts", "n_points: ", "68\n{\n", 68, "}");
	open_bad("q.pts", NULL, PFLD_ERR_DATA, TEXTS("q.pts: cannot open its image"));
	make_image("q.png");
	open_good(".", &any_bad, 1);
	ck_assert_uint_eq(pfld_dataset_skips(dataset, NULL), PFLD_COUNT(cases) + 1);
	open_bad(".", NULL, PFLD_ERR_DATA, TEXTS("d.pts:1: ", "13 of 14 rows"));
	open_good("n.pts", &(struct pfld_dataset_options){.num_points = 51}, 1);
	open_bad("q.pts", &(struct pfld_dataset_options){.num_points = 51}, PFLD_ERR_DATA, TEXTS("68 points found, 51"));
	put_file(sandbox, "nothing/here.txt", "");
	open_bad("nothing", NULL, PFLD_ERR_DATA, TEXTS("nothing", "no .pts files"));
}
END_TEST

START_TEST(pts_missing_points_and_image_dir)
{
	struct pfld_text text = {0};
	pfld_text_append(&text, "version: 1\nn_points: 19\n{\n-1 -1\n-5 3\nnan nan\n");
	for (int i = 3; i < 19; i++) pfld_text_printf(&text, "%d %d\n", i, 2 * i);
	pfld_text_append(&text, "}\n");
	write_list("faces/a.pts", &text);
	make_image("pictures/a.jpg");
	open_bad("faces", NULL, PFLD_ERR_DATA, TEXTS("a.pts"));
	open_good("faces", &(struct pfld_dataset_options){.image_dir = in_sandbox("pictures")}, 1);
	struct pfld_face face = face_at(0);
	ck_assert_str_eq(face.image_path, in_sandbox("pictures/a.jpg"));
	ck_assert(!face.present[0] && face.present[1] && !face.present[2] && face.present[18]);
	ck_assert(face.points[0] == 0 && face.points[2] == -6 && face.points[3] == 2);
}
END_TEST

// ---- dlib ----

#define HEAD "<?xml version='1.0' encoding='UTF-8'?>\n<dataset>\n<name>t</name>\n<images>\n"
#define TAIL "</images>\n</dataset>\n"

// A box with parts 00 to num_parts - 1 without `absent` (-1: none).
static void add_box(struct pfld_text *text, int num_parts, int absent, double shift)
{
	pfld_text_append(text, "<box top='2' left='3' width='60' height='50'>");
	for (int i = num_parts - 1; i >= 0; i--) {
		if (i == absent) continue;
		pfld_text_printf(text, "<part name='%02d' x='", i);
		pfld_text_number(text, coordinate(i, 0) * 60 + shift, 9);
		pfld_text_append(text, "' y='");
		pfld_text_number(text, coordinate(i, 1) * 60 + shift, 9);
		pfld_text_append(text, "'/>");
	}
	pfld_text_append(text, "</box>");
}

static void add_image(struct pfld_text *text, const char *file, int num_parts, int absent)
{
	pfld_text_printf(text, "<image file='%s'>", file);
	add_box(text, num_parts, absent, 0.5);
	pfld_text_append(text, "</image>\n");
}

START_TEST(dlib_boxes)
{
	struct pfld_text text = {0};
	make_image("a.png");
	make_image("b.png");
	make_image("sub/c.png");
	pfld_text_append(&text, "\xEF\xBB\xBF" HEAD "<image file='a.png' width='9' height='9'>\n");
	add_box(&text, 68, -1, 0.5);
	pfld_text_append(&text, "\n<box top='1' left='1' width='5' height='5' ignore='1'/>\n");
	add_box(&text, 68, -1, 7);
	pfld_text_append(&text, "</image>\n<image file='b.png'/>\n");
	add_image(&text, "sub\\c.png", 68, -1);
	pfld_text_append(&text, TAIL);
	write_list("list.xml", &text);
	open_good("list.xml", NULL, 3);
	ck_assert_uint_eq(pfld_dataset_skips(dataset, NULL), 0);
	ck_assert_int_eq(pfld_dataset_format(dataset), PFLD_LIST_DLIB);
	ck_assert(!pfld_dataset_has_attributes(dataset) && pfld_dataset_has_angles(dataset));
	struct pfld_face first = face_at(0), second = face_at(1), third = face_at(2);
	ck_assert_ptr_eq(first.image_path, second.image_path);
	ck_assert_str_eq(first.image_path, in_sandbox("a.png"));
	ck_assert_str_eq(third.image_path, in_sandbox("sub/c.png"));
	ck_assert(first.line == 6 && second.line == 8 && third.line == 10);
	for (int i = 0; i < 136; i++) {
		ck_assert_float_eq_tol(first.points[i], (float)(coordinate(i / 2, i % 2) * 60 + 0.5), 1e-5);
		ck_assert_float_eq_tol(second.points[i], (float)(coordinate(i / 2, i % 2) * 60 + 7), 1e-5);
	}
	// A box of 60 x 50 pixels from (3, 2) ends at (62, 51).
	ck_assert(first.has_box && first.box[0] == 3 && first.box[1] == 2 && first.box[2] == 62 && first.box[3] == 51);
}
END_TEST

START_TEST(dlib_names_and_encodings)
{
	struct pfld_text text = {0};
	make_image("a&b.png");
	make_image("caf\xC3\xA9.png");
	pfld_text_append(&text, "<?xml version='1.0' encoding='ISO-8859-1'?>\n<dataset><images>");
	add_image(&text, "a&amp;b.png", 68, -1);
	add_image(&text, "caf\xE9.png", 68, -1);
	pfld_text_append(&text, TAIL);
	write_list("latin1.xml", &text);
	open_good("latin1.xml", NULL, 2);
	ck_assert_str_eq(face_at(0).image_path, in_sandbox("a&b.png"));
	ck_assert_str_eq(face_at(1).image_path, in_sandbox("caf\xC3\xA9.png"));
	// Names without leading zeros count by value, words by bytes after the numbers.
	pfld_text_append(&text, HEAD "<image file='a&amp;b.png'><box>");
	for (int i = 0; i < 19; i++) pfld_text_printf(&text, "<part name='%d' x='%d' y='0'/>", i, i);
	pfld_text_append(&text, "<part name='nose' x='20' y='5'/><part name='chin' x='19' y='5'/></box></image>" TAIL);
	write_list("names.xml", &text);
	open_good("names.xml", NULL, 1);
	ck_assert(!face_at(0).has_box);
	for (int i = 0; i < 21; i++) ck_assert(face_at(0).points[2 * i] == (float)i);
}
END_TEST

START_TEST(dlib_unequal_parts)
{
	struct pfld_text text = {0};
	make_image("s1.png");
	make_image("s2.png");
	pfld_text_append(&text, HEAD);
	add_image(&text, "s1.png", 68, -1);
	add_image(&text, "s2.png", 68, 33);
	pfld_text_append(&text, TAIL);
	write_list("unequal.xml", &text);
	open_bad("unequal.xml", NULL, PFLD_ERR_DATA, TEXTS("unequal.xml:6: \"s2.png\"", "67", "68", "\"33\" is missing"));
	open_good("unequal.xml", &any_bad, 1);
	pfld_text_append(&text, HEAD);
	add_image(&text, "s1.png", 68, -1);
	add_image(&text, "s2.png", 69, -1);
	pfld_text_append(&text, TAIL);
	write_list("more.xml", &text);
	open_bad("more.xml", NULL, PFLD_ERR_DATA, TEXTS("69 parts found, 68", "\"68\" is not among them"));
	pfld_text_append(&text, HEAD);
	add_image(&text, "s1.png", 68, -1);
	pfld_text_append(&text, "<image file='s2.png'><box top='2' left='2' width='60' height='60'/></image>\n" TAIL);
	write_list("noparts.xml", &text);
	open_bad("noparts.xml", NULL, PFLD_ERR_DATA, TEXTS("noparts.xml:6: \"s2.png\": the box has no parts"));
	pfld_text_append(&text, HEAD);
	add_image(&text, "s1.png", 5, -1);
	pfld_text_append(&text, TAIL);
	write_list("five.xml", &text);
	open_bad("five.xml", NULL, PFLD_ERR_DATA, TEXTS("five.xml:5: \"s1.png\": 5 parts found, 98, 68"));
	open_good("five.xml", &(struct pfld_dataset_options){.num_points = 5}, 1);
}
END_TEST

static void check_xml(const char *content, const char *reason)
{
	put_file(sandbox, "list.xml", content);
	open_bad("list.xml", NULL, PFLD_ERR_DATA, TEXTS("list.xml:", reason));
}

START_TEST(dlib_bad_files)
{
	make_image("a.png");
	check_xml("", ":1: not well-formed XML");
	check_xml("<?xml version='1.0'?>\n<images></images>", ":2: the root element is <images>, <dataset> expected");
	check_xml(HEAD "<image file='a.png'><box><part name='00' x='5' y='6'/>\n<part name=", ":6: not well-formed XML");
	check_xml(HEAD "<image file='a.png'></box></image>" TAIL, ":5: not well-formed XML: mismatched tag");
	check_xml(HEAD TAIL, "no faces");
	check_xml(HEAD "<image file='a.png'><box><part name='0' x='5'/></box></image>" TAIL, "lacks its name or a number");
	check_xml(HEAD "<image file='a.png'><box><part name='0' x='5' y='1,5'/></box></image>" TAIL, "lacks its name");
	check_xml(HEAD "<image><box><part name='0' x='5' y='1'/></box></image>" TAIL, "no file name");
	check_xml(HEAD
			  "<image file='a.png'><box><part name='0' x='5' y='1'/><part name='00' x='5' y='1'/></box></image>" TAIL,
			  "same name");
	check_xml(HEAD "<image file='a&undeclared;.png'/>" TAIL, "not well-formed XML: undefined entity");
	struct pfld_text text = {0};
	for (int i = 0; i < 100; i++) pfld_text_append(&text, i ? "<a>" : "<dataset>");
	write_list("deep.xml", &text);
	open_bad("deep.xml", NULL, PFLD_ERR_DATA, TEXTS("deep.xml:1: more than 64 elements"));
	pfld_text_append(&text, HEAD);
	add_image(&text, "absent.png", 68, -1);
	pfld_text_append(&text, TAIL);
	write_list("absent.xml", &text);
	open_bad("absent.xml", NULL, PFLD_ERR_DATA, TEXTS("absent.xml:5: cannot open \"absent.png\""));
}
END_TEST

// Ten entities, each ten of the one before; and one that names a file.
START_TEST(dlib_entities)
{
	struct pfld_text text = {0};
	pfld_text_append(&text, "<?xml version='1.0'?>\n<!DOCTYPE dataset [<!ENTITY a 'aaaaaaaaaa'>");
	for (char c = 'b'; c <= 'j'; c++) {
		pfld_text_printf(&text, "<!ENTITY %c '", c);
		for (int i = 0; i < 10; i++) pfld_text_printf(&text, "&%c;", c - 1);
		pfld_text_append(&text, "'>");
	}
	pfld_text_append(&text, "]>\n<dataset><name>&j;</name><images></images></dataset>\n");
	write_list("bomb.xml", &text);
	open_bad("bomb.xml", NULL, PFLD_ERR_DATA, TEXTS("bomb.xml:2: ", "declares an entity"));
	check_xml("<!DOCTYPE dataset [<!ENTITY x SYSTEM '/etc/passwd'>]><dataset>&x;</dataset>", "declares an entity");
}
END_TEST

// ---- built-in faces ----

START_TEST(builtin_faces)
{
	struct pfld_error error;
	struct pfld_image image = {0}, again = {0};
	ck_assert_int_eq(pfld_dataset_open(&dataset, "builtin:test", NULL, &error), PFLD_OK);
	ck_assert_int_eq(pfld_dataset_size(dataset), 300);
	ck_assert_int_eq(pfld_dataset_num_points(dataset), 98);
	ck_assert_int_eq(pfld_dataset_format(dataset), PFLD_LIST_BUILTIN);
	ck_assert(pfld_dataset_has_attributes(dataset) && pfld_dataset_has_angles(dataset));
	struct pfld_face face = face_at(17), same;
	ck_assert_str_eq(face.image_path, "builtin:test/17");
	ck_assert(face.has_box && !face.crop_relative && !face.present);
	ck_assert_int_eq(pfld_dataset_image(dataset, 17, &image, &error), PFLD_OK);
	for (int i = 0; i < 196; i++) ck_assert(face.points[i] >= 0 && face.points[i] < (float)image.width);
	struct pfld_dataset *small = NULL;
	ck_assert_int_eq(pfld_dataset_open(&small, "builtin:test:20", NULL, &error), PFLD_OK);
	ck_assert_int_eq(pfld_dataset_size(small), 20);
	pfld_dataset_face(small, 17, &same);
	ck_assert_mem_eq(same.points, face.points, 196 * sizeof(float));
	ck_assert_int_eq(pfld_dataset_image(small, 17, &again, &error), PFLD_OK);
	ck_assert_mem_eq(again.pixels, image.pixels, (size_t)image.width * (size_t)image.height * 3);
	pfld_dataset_close(&small);
	// Another seed, another split: another face.
	struct pfld_dataset_options options = {.seed = 5, .max_samples = 18};
	ck_assert_int_eq(pfld_dataset_open(&small, "builtin:test", &options, &error), PFLD_OK);
	ck_assert_int_eq(pfld_dataset_size(small), 18);
	pfld_dataset_face(small, 17, &same);
	ck_assert_mem_ne(same.points, face.points, 196 * sizeof(float));
	pfld_dataset_close(&small);
	ck_assert_int_eq(pfld_dataset_open(&small, "builtin:train", NULL, &error), PFLD_OK);
	ck_assert_int_eq(pfld_dataset_size(small), 2000);
	pfld_dataset_face(small, 17, &same);
	ck_assert_str_eq(same.image_path, "builtin:train/17");
	ck_assert_mem_ne(same.points, face.points, 196 * sizeof(float));
	pfld_dataset_close(&small);
	pfld_image_finish(&image);
	pfld_image_finish(&again);
}
END_TEST

START_TEST(builtin_names)
{
	static const char *const bad[] = {"builtin:",        "builtin:trains",  "builtin:train:",
									  "builtin:train:0", "builtin:test:-3", "builtin:test:1000001",
									  "builtin:test:5x", "builtin:TEST",    "elsewhere"};
	struct pfld_dataset_options options = {.format = PFLD_LIST_BUILTIN};
	for (size_t i = 0; i < PFLD_COUNT(bad); i++) {
		ck_assert_int_eq(pfld_dataset_open(&dataset, bad[i], &options, &failure), PFLD_ERR_ARGUMENT);
		ck_assert_ptr_nonnull(strstr(failure.message, "builtin:train[:N]"));
	}
	options.num_points = 68;
	ck_assert_int_eq(pfld_dataset_open(&dataset, "builtin:test", &options, &failure), PFLD_ERR_ARGUMENT);
	ck_assert_ptr_nonnull(strstr(failure.message, "98 points, not 68"));
}
END_TEST

// ---- damage ----

// Bytes changed, cut out and doubled at random: a list is read or refused, whatever stands in it.
static void check_damaged(const char *name, const struct pfld_text *whole)
{
	struct pfld_random random = pfld_random_stream(3, PFLD_RANDOM_TEST, whole->length, 0);
	char *bytes = malloc(2 * whole->length);
	ck_assert_ptr_nonnull(bytes);
	for (int round = 0; round < 150; round++) {
		size_t num_bytes = whole->length;
		memcpy(bytes, whole->data, num_bytes);
		for (int64_t i = pfld_random_int(&random, 1, 5); i > 0; i--)
			bytes[pfld_random_int(&random, 0, (int64_t)num_bytes)] =
				"\0\n\r <>/'&{}x9-.\xff"[pfld_random_int(&random, 0, 17)];
		size_t begin = (size_t)pfld_random_int(&random, 0, (int64_t)num_bytes);
		size_t length = (size_t)pfld_random_int(&random, 0, (int64_t)(num_bytes - begin) + 1) / 4;
		if (round % 3 == 0) { // a stretch twice
			memmove(bytes + begin + length, bytes + begin, num_bytes - begin);
			num_bytes += length;
		} else if (round % 3 == 1) { // and cut out
			memmove(bytes + begin, bytes + begin + length, num_bytes - begin - length);
			num_bytes -= length;
		}
		put_bytes(sandbox, name, bytes, num_bytes);
		enum pfld_status status = open_list(name, &any_bad);
		ck_assert_msg(!status || status == PFLD_ERR_DATA, "round %d: %s", round, failure.message);
		ck_assert(status || pfld_dataset_size(dataset) > 0);
	}
	free(bytes);
}

START_TEST(damaged_lists)
{
	struct pfld_text text = {0};
	make_image("a.png");
	make_image("b.png");
	for (int i = 0; i < 4; i++) add_prepared(&text, i % 2 ? "a.png" : "b.png", 19, i ? ATTRIBUTES " " ANGLES : "");
	check_damaged("list.txt", &text);
	text.length = 0;
	for (int i = 0; i < 4; i++) add_raw(&text, i % 2 ? "a.png" : "b.png", 19, i ? ATTRIBUTES : "");
	check_damaged("raw.txt", &text);
	text.length = 0;
	pfld_text_append(&text, HEAD);
	for (int i = 0; i < 3; i++) add_image(&text, i % 2 ? "a.png" : "b.png", 19, -1);
	pfld_text_append(&text, TAIL);
	check_damaged("list.xml", &text);
	text.length = 0;
	pfld_text_append(&text, "version: 1\nn_points: 19\n{\n");
	for (int i = 0; i < 19; i++) pfld_text_printf(&text, "%d %d\n", i, i * i);
	pfld_text_append(&text, "}\n");
	check_damaged("a.pts", &text);
	pfld_text_finish(&text);
}
END_TEST

// ---- maps ----

static void check_mirror(int32_t num_points, int num_fixed)
{
	const int32_t *map = pfld_mirror_map(num_points);
	int fixed = 0;
	ck_assert_ptr_nonnull(map);
	for (int32_t i = 0; i < num_points; i++) {
		ck_assert(map[i] >= 0 && map[i] < num_points);
		ck_assert_int_eq(map[map[i]], i);
		fixed += map[i] == i;
	}
	ck_assert_int_eq(fixed, num_fixed);
}

START_TEST(mirror_maps)
{
	static const int32_t pairs[][2] = {
		{0, 32},  {15, 17}, {33, 46}, {37, 42}, {38, 50}, {41, 47}, {60, 72}, {61, 71}, {64, 68}, {65, 75}, {67, 73},
		{55, 59}, {76, 82}, {87, 83}, {88, 92}, {95, 93}, {96, 97}, {16, 16}, {54, 54}, {57, 57}, {85, 85},
	};
	check_mirror(98, 10);
	check_mirror(68, 10);
	for (size_t i = 0; i < PFLD_COUNT(pairs); i++) ck_assert_int_eq(pfld_mirror_map(98)[pairs[i][0]], pairs[i][1]);
	ck_assert_int_eq(pfld_mirror_map(68)[36], 45);
	ck_assert_int_eq(pfld_mirror_map(68)[60], 64);
	for (int32_t i = 0; i < 200; i++) ck_assert((pfld_mirror_map(i) != NULL) == (i == 98 || i == 68));
}
END_TEST

START_TEST(mirror_maps_from_files)
{
	static const struct {
		const char *content, *reason;
	} bad[] = {
		{"", "0 entries, 4 expected"},    {"1,0,2", "3 entries, 4 expected"},
		{"1,0,3,2,4", "more than 4"},     {"1,0,3,x", "entry 3"},
		{"1,0,3,4", "outside 0..3"},      {"1,0,3,-2", "outside 0..3"},
		{"1,2,0,3", "point 0 goes to 1"}, {"1,,0,3", "entry 1"},
		{"1 0 3 2", "entry 0"},           {"1,0,99999999999999999999,2", "entry 2"},
	};
	int32_t map[4] = {7, 7, 7, 7};
	static const int32_t expected[] = {1, 0, 3, 2};
	for (size_t i = 0; i < PFLD_COUNT(bad); i++) {
		put_file(sandbox, "map.txt", bad[i].content);
		ck_assert_int_eq(pfld_mirror_map_read(in_sandbox("map.txt"), 4, map, &failure), PFLD_ERR_DATA);
		ck_assert_msg(strstr(failure.message, bad[i].reason), "%s", failure.message);
		ck_assert_ptr_nonnull(strstr(failure.message, "map.txt:1: "));
		ck_assert_int_eq(map[0], 7);
	}
	put_file(sandbox, "map.txt", "\xEF\xBB\xBF 1, 0 ,3,2\r\n");
	ck_assert_int_eq(pfld_mirror_map_read(in_sandbox("map.txt"), 4, map, &failure), PFLD_OK);
	ck_assert_mem_eq(map, expected, sizeof(map));
	ck_assert_int_eq(pfld_mirror_map_read(in_sandbox("absent"), 4, map, &failure), PFLD_ERR_IO);
	ck_assert_int_eq(pfld_mirror_map_read(NULL, 4, map, &failure), PFLD_ERR_ARGUMENT);
	ck_assert_int_eq(pfld_mirror_map_read(in_sandbox("map.txt"), 0, map, &failure), PFLD_ERR_ARGUMENT);
}
END_TEST

START_TEST(eye_corners)
{
	static const int32_t known[][3] = {{98, 60, 72}, {68, 36, 45}, {106, 35, 93}, {29, 8, 9}};
	int32_t corners[2] = {-1, -1};
	ck_assert(!pfld_nme_points(19, corners) && corners[0] == -1);
	for (size_t i = 0; i < PFLD_COUNT(known); i++) {
		ck_assert(pfld_nme_points(known[i][0], corners));
		ck_assert(corners[0] == known[i][1] && corners[1] == known[i][2]);
	}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("list formats");
	TCase *cases = tcase_create("formats");
	tcase_set_timeout(cases, 60);
	tcase_add_checked_fixture(cases, make_sandbox, remove_sandbox);
	tcase_add_test(cases, pts_writers);
	tcase_add_test(cases, pts_that_lie);
	tcase_add_test(cases, pts_missing_points_and_image_dir);
	tcase_add_test(cases, dlib_boxes);
	tcase_add_test(cases, dlib_names_and_encodings);
	tcase_add_test(cases, dlib_unequal_parts);
	tcase_add_test(cases, dlib_bad_files);
	tcase_add_test(cases, dlib_entities);
	tcase_add_test(cases, builtin_faces);
	tcase_add_test(cases, builtin_names);
	tcase_add_test(cases, damaged_lists);
	tcase_add_test(cases, mirror_maps);
	tcase_add_test(cases, mirror_maps_from_files);
	tcase_add_test(cases, eye_corners);
	suite_add_tcase(suite, cases);
	SRunner *runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	int failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
