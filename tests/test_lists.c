// SPDX-License-Identifier: MIT
// Text lists of faces: line ends, layouts and counts, paths and where images are looked for, missing points, bad rows
// and how many of them are too many, hostile names. Other formats are test_list_formats.c.
#include "list_files.h"
#include <locale.h>
#include <math.h>
#include <unistd.h>

static const struct pfld_dataset_options any_bad = {.max_bad = 1};

// ---- lines ----

static void check_two_records(const char *name, int64_t second_line)
{
	open_good(name, NULL, 2);
	ck_assert_int_eq(pfld_dataset_num_points(dataset), 98);
	ck_assert_int_eq(pfld_dataset_format(dataset), PFLD_LIST_PREPARED);
	ck_assert(pfld_dataset_has_attributes(dataset) && pfld_dataset_has_angles(dataset));
	ck_assert_uint_eq(pfld_dataset_skips(dataset, NULL), 0);
	struct pfld_face first = face_at(0), second = face_at(1);
	ck_assert_str_eq(first.image_path, in_sandbox("a.png"));
	ck_assert_str_eq(second.image_path, in_sandbox("b.png"));
	ck_assert_int_eq(first.line, 1);
	ck_assert_int_eq(second.line, second_line);
	for (int32_t i = 0; i < 196; i++) ck_assert(first.points[i] == (float)coordinate(i / 2, i % 2));
	ck_assert_mem_eq(first.points, second.points, 196 * sizeof(float));
	ck_assert(first.crop_relative && !first.has_box && !first.present);
	ck_assert(first.attributes[1] == 1 && first.attributes[2] == 0 && first.attributes[4] == 1);
	ck_assert(first.angles[0] == 0.5f && first.angles[1] == -1.25f && first.angles[2] == 2.75f);
	ck_assert(second.angles[0] == 4 && second.angles[1] == 5 && second.angles[2] == 6);
}

// Text with every newline made into `line_end` and every blank into `blank`.
static void write_variant(const char *name, const char *text, const char *before, const char *line_end,
						  const char *blank)
{
	struct pfld_text variant = {0};
	pfld_text_append(&variant, before);
	for (; *text; text++) {
		if (*text == '\n')
			pfld_text_append(&variant, line_end);
		else if (*text == ' ')
			pfld_text_append(&variant, blank);
		else
			pfld_text_append_bytes(&variant, text, 1);
	}
	write_list(name, &variant);
}

START_TEST(line_ends_and_blanks)
{
	struct pfld_text text = {0};
	make_image("a.png");
	make_image("b.png");
	add_prepared(&text, "a.png", 98, ATTRIBUTES " " ANGLES);
	add_prepared(&text, "b.png", 98, ATTRIBUTES " 4 5 6");
	write_variant("lf.txt", text.data, "", "\n", " ");
	write_variant("crlf.txt", text.data, "", "\r\n", " ");
	write_variant("cr.txt", text.data, "", "\r", " ");
	write_variant("bom.txt", text.data, "\xEF\xBB\xBF", "\n", " ");
	write_variant("tabs.txt", text.data, "", "\n", "\t");
	write_variant("trail.txt", text.data, "", "  \n  \n", " ");
	write_variant("trail_crlf.txt", text.data, "", " \r\n\r\n", "  ");
	text.data[text.length - 1] = '\0';
	write_variant("noeol.txt", text.data, "", "\n", " ");
	pfld_text_finish(&text);
	check_two_records("lf.txt", 2);
	check_two_records("crlf.txt", 2);
	check_two_records("cr.txt", 2);
	check_two_records("bom.txt", 2);
	check_two_records("tabs.txt", 2);
	check_two_records("trail.txt", 3);
	check_two_records("trail_crlf.txt", 3);
	check_two_records("noeol.txt", 2);
}
END_TEST

// Rows that straddle the pieces in which the file is read; CR LF pairs too.
START_TEST(long_lists)
{
	struct pfld_text text = {0};
	make_image("a.png");
	for (int i = 0; i < 800; i++) {
		pfld_text_printf(&text, "a.png ");
		add_points(&text, 19, 1, 1e-3 * i);
		pfld_text_append(&text, "\r\n");
	}
	ck_assert_uint_gt(text.length, 2 * 65536);
	write_list("list.txt", &text);
	open_good("list.txt", NULL, 800);
	for (int i = 0; i < 800; i++) {
		struct pfld_face face = face_at(i);
		ck_assert_int_eq(face.line, i + 1);
		ck_assert(fabs((double)face.points[37] - coordinate(18, 1) - 1e-3 * i) < 1e-6);
		ck_assert_ptr_eq(face.image_path, face_at(0).image_path); // kept once
	}
}
END_TEST

START_TEST(what_is_no_text)
{
	make_image("a.png");
	put_bytes(sandbox, "le.txt",
			  "\xFF\xFE"
			  "a\0.\0p\0n\0g\0 \0",
			  14);
	put_bytes(sandbox, "be.txt", "\xFE\xFF\0a\0.\0p\0n\0g", 12);
	put_bytes(sandbox, "unmarked.txt", "a\0.\0p\0n\0g\0\n\0", 12);
	put_bytes(sandbox, "zero.txt", "a.png 1 2 3\nb.png \0 4\n", 22);
	open_bad("le.txt", NULL, PFLD_ERR_DATA, TEXTS("UTF-16", "le.txt"));
	open_bad("be.txt", NULL, PFLD_ERR_DATA, TEXTS("UTF-16"));
	open_bad("unmarked.txt", NULL, PFLD_ERR_DATA, TEXTS("UTF-16"));
	open_bad("zero.txt", NULL, PFLD_ERR_DATA, TEXTS("zero.txt:2", "zero byte"));
	put_file(sandbox, "empty.txt", "");
	put_file(sandbox, "blank.txt", "\n \n\t\r\n");
	open_bad("empty.txt", NULL, PFLD_ERR_DATA, TEXTS("empty.txt", "no faces"));
	open_bad("blank.txt", NULL, PFLD_ERR_DATA, TEXTS("no faces"));
	open_bad("absent.txt", NULL, PFLD_ERR_IO, TEXTS("absent.txt", "no such file"));
	char *line = malloc((2 << 20) + 1);
	memset(line, '1', 2 << 20);
	put_bytes(sandbox, "line.txt", line, 2 << 20);
	free(line);
	open_bad("line.txt", NULL, PFLD_ERR_DATA, TEXTS("line.txt:1", "longer than"));
}
END_TEST

// ---- layouts ----

START_TEST(rows_in_the_wrong_reader)
{
	const struct pfld_dataset_options prepared = {.format = PFLD_LIST_PREPARED}, raw = {.format = PFLD_LIST_RAW};
	struct pfld_text text = {0};
	make_image("a.png");
	add_prepared(&text, "a.png", 98, ATTRIBUTES " " ANGLES);
	write_list("good206.txt", &text);
	add_raw(&text, "a.png", 98, ATTRIBUTES);
	write_list("raw207.txt", &text);
	add_prepared(&text, "a.png", 98, ATTRIBUTES " 1 2");
	write_list("short205.txt", &text);
	open_good("good206.txt", &prepared, 1);
	open_good("raw207.txt", &raw, 1);
	open_good("raw207.txt", NULL, 1);
	ck_assert_int_eq(pfld_dataset_format(dataset), PFLD_LIST_RAW);
	open_bad("good206.txt", &raw, PFLD_ERR_DATA,
			 TEXTS("good206.txt:1: ", "206", "207", "looks like the prepared layout"));
	open_bad("raw207.txt", &prepared, PFLD_ERR_DATA,
			 TEXTS("raw207.txt:1: ", "207", "206", "looks like the raw layout"));
	open_bad("short205.txt", &prepared, PFLD_ERR_DATA, TEXTS("short205.txt:1: ", "205", "206"));
	open_bad("short205.txt", &raw, PFLD_ERR_DATA, TEXTS("short205.txt:1: ", "205", "207"));
	open_bad("short205.txt", NULL, PFLD_ERR_DATA, TEXTS("short205.txt:1: ", "205", "206"));
}
END_TEST

START_TEST(every_layout_and_count)
{
	static const int32_t known[] = {98, 68, 106, 29, 21, 19};
	static const char *const tails[] = {"", ATTRIBUTES, ATTRIBUTES " " ANGLES};
	make_image("a.png");
	for (size_t i = 0; i < PFLD_COUNT(known); i++)
		for (int layout = 0; layout < 5; layout++) {
			struct pfld_text text = {0};
			if (layout < 3)
				add_prepared(&text, "a.png", known[i], tails[layout]);
			else
				add_raw(&text, "a.png", known[i], layout == 3 ? "" : ATTRIBUTES);
			write_list("list.txt", &text);
			open_good("list.txt", NULL, 1);
			struct pfld_face face = face_at(0);
			ck_assert_int_eq(pfld_dataset_num_points(dataset), known[i]);
			ck_assert_int_eq(pfld_dataset_format(dataset), layout < 3 ? PFLD_LIST_PREPARED : PFLD_LIST_RAW);
			ck_assert(pfld_dataset_has_attributes(dataset) == (layout != 0 && layout != 3));
			bool derivable = known[i] == 98 || known[i] == 68 || known[i] == 106;
			ck_assert(pfld_dataset_has_angles(dataset) == (layout == 2 || derivable));
			ck_assert(face.crop_relative == (layout < 3) && face.has_box == (layout >= 3));
			ck_assert(face.attributes[1] == (layout != 0 && layout != 3));
			ck_assert(layout != 2 || face.angles[2] == 2.75f);
			ck_assert(layout == 2 || derivable || (face.angles[0] == 0 && face.angles[2] == 0));
			ck_assert(layout < 3 ||
					  (face.box[0] == 25 && face.box[1] == 30 && face.box[2] == 115 && face.box[3] == 117));
			double last = coordinate(known[i] - 1, 1);
			ck_assert(face.points[2 * known[i] - 1] == (float)(layout < 3 ? last : last * 100 + 20));
		}
}
END_TEST

START_TEST(numbers_of_points)
{
	struct pfld_text text = {0};
	make_image("a.png");
	add_prepared(&text, "a.png", 51, "");
	write_list("51.txt", &text);
	open_bad("51.txt", NULL, PFLD_ERR_DATA, TEXTS("51.txt:1", "103 tokens"));
	open_good("51.txt", &(struct pfld_dataset_options){.num_points = 51}, 1);
	ck_assert_int_eq(pfld_dataset_num_points(dataset), 51);
	ck_assert(!pfld_dataset_has_angles(dataset));
	ck_assert_ptr_null(pfld_mirror_map(51));
	add_prepared(&text, "a.png", 68, "");
	write_list("68.txt", &text);
	open_bad("68.txt", &(struct pfld_dataset_options){.num_points = 98}, PFLD_ERR_DATA,
			 TEXTS("68.txt:1", "137", "197", "98"));
	// The first good row says how many; others are left out.
	for (int i = 0; i < 20; i++) add_prepared(&text, "a.png", i == 7 ? 98 : 68, i == 9 ? ATTRIBUTES : "");
	write_list("mixed.txt", &text);
	open_good("mixed.txt", NULL, 19);
	const struct pfld_skip *skips;
	ck_assert_uint_eq(pfld_dataset_skips(dataset, &skips), 1);
	ck_assert_int_eq(skips[0].line, 8);
	ck_assert_str_eq(skips[0].path, in_sandbox("mixed.txt"));
	ck_assert_ptr_nonnull(strstr(skips[0].reason, "197 tokens found"));
}
END_TEST

START_TEST(bad_numbers)
{
	static const struct {
		const char *token, *reason;
	} cases[] = {
		{"0,5", "token 4 of 59 is not a number: \"0,5\""},
		{"0x10", "token 4 of 59 is not a number"},
		{"1e", "token 4 of 59"},
		{"--1", "token 4 of 59"},
		{"153.5", "not pixels"},
		{"inf", "not pixels"},
	};
	make_image("a.png");
	for (size_t i = 0; i < PFLD_COUNT(cases); i++) {
		struct pfld_text text = {0};
		pfld_text_printf(&text, "a.png 0.25 0.5 %s", cases[i].token);
		for (int j = 3; j < 58; j++) pfld_text_printf(&text, " 0.%d", j);
		write_list("list.txt", &text);
		open_bad("list.txt", NULL, PFLD_ERR_DATA, TEXTS("list.txt:1: ", cases[i].reason));
	}
	put_file(sandbox, "all.txt", "1 2 3 4\n");
	open_bad("all.txt", NULL, PFLD_ERR_DATA, TEXTS("all.txt:1: 4 tokens found", "no path"));
	struct pfld_text text = {0};
	for (int j = 0; j < 38; j++) pfld_text_append(&text, "5 ");
	pfld_text_append(&text, "1 1 9 9 a.png\n");
	write_list("same.txt", &text);
	open_bad("same.txt", NULL, PFLD_ERR_DATA, TEXTS("same.txt:1: all points are the same"));
	add_points(&text, 19, 100, 0);
	pfld_text_append(&text, " 1 1 nan 9 a.png\n");
	write_list("box.txt", &text);
	open_bad("box.txt", NULL, PFLD_ERR_DATA, TEXTS("box.txt:1: the face box"));
	add_prepared(&text, "a.png", 19, "0 0 0 0 0 inf");
	write_list("attribute.txt", &text);
	open_bad("attribute.txt", NULL, PFLD_ERR_DATA, TEXTS("attribute.txt:1: an attribute"));
}
END_TEST

// ---- points ----

START_TEST(missing_and_outside)
{
	struct pfld_text text = {0};
	make_image("a.png");
	pfld_text_append(&text, "-15 -3 -1 -1 nan 7 -256 -256 -100 -100 -99 -99 -1 -2 -120 -130");
	for (int i = 8; i < 19; i++) pfld_text_printf(&text, " %d 45", i);
	pfld_text_append(&text, " -15 -15 45 45 a.png\n");
	write_list("list.txt", &text);
	open_good("list.txt", NULL, 1);
	struct pfld_face face = face_at(0);
	static const uint8_t expected[] = {1, 0, 0, 0, 0, 1, 1, 1, 1};
	ck_assert_ptr_nonnull(face.present);
	ck_assert_mem_eq(face.present, expected, sizeof(expected));
	ck_assert(face.points[0] == -15 && face.points[1] == -3 && face.points[2] == 0 && face.points[5] == 0);
	ck_assert(face.points[10] == -99 && face.box[0] == -15);
	for (int i = 0; i < 38; i++) pfld_text_append(&text, "-1 ");
	pfld_text_append(&text, "1 1 9 9 a.png\n");
	write_list("none.txt", &text);
	open_bad("none.txt", NULL, PFLD_ERR_DATA, TEXTS("none.txt:1: all points are missing"));
}
END_TEST

// A face shifted on a larger canvas has the same angles; missing ones come from the points.
START_TEST(angles_from_points)
{
	struct pfld_text text = {0};
	make_image("a.png");
	for (int i = 0; i < 3; i++) {
		add_points(&text, 68, 100, i == 1 ? 40 : i == 2 ? -60 : 0);
		pfld_text_append(&text, " 1 1 9 9 a.png\n");
	}
	write_list("raw.txt", &text);
	open_good("raw.txt", NULL, 3);
	struct pfld_face face = face_at(0);
	ck_assert(face.angles[0] != 0 && face.angles[1] != 0 && face.angles[2] != 0);
	for (int i = 1; i < 3; i++)
		for (int j = 0; j < 3; j++) ck_assert_float_eq_tol(face_at(i).angles[j], face.angles[j], 1e-3);
	// The whole-pixel crop: points from 5 to 84.2 and from 10 to 84.25 make a square of 96 from (-3, -1).
	float pixels[136], expected[3];
	for (int i = 0; i < 136; i++) pixels[i] = (face.points[i] - (i % 2 ? -1 : -3)) / 96 * 112;
	ck_assert(pfld_pose_from_points(pixels, NULL, 68, 112, 112, expected));
	for (int j = 0; j < 3; j++) ck_assert_float_eq_tol(face.angles[j], expected[j], 1e-3);
	add_prepared(&text, "a.png", 68, "");
	write_list("prepared.txt", &text);
	open_good("prepared.txt", NULL, 1);
	face = face_at(0);
	for (int i = 0; i < 136; i++) pixels[i] = face.points[i] * 112;
	ck_assert(pfld_pose_from_points(pixels, NULL, 68, 112, 112, expected));
	for (int j = 0; j < 3; j++) ck_assert_float_eq_tol(face.angles[j], expected[j], 1e-3);
}
END_TEST

// ---- bad rows ----

static void count_log(void *context, enum pfld_log_level level, const char *text)
{
	ck_assert_int_eq(level, PFLD_LOG_WARNING);
	ck_assert_ptr_nonnull(strstr(text, "list.txt:3: "));
	++*(int *)context;
}

static void write_bad_share(int num_rows, int num_bad)
{
	struct pfld_text text = {0};
	for (int i = 0; i < num_rows; i++) {
		bool bad = i >= 2 && i < 2 + num_bad;
		add_prepared(&text, bad && i % 2 ? "absent.png" : "a.png", 19, bad && i % 2 == 0 ? "1" : "");
	}
	write_list("list.txt", &text);
}

START_TEST(bad_rows_up_to_a_share)
{
	int num_logged = 0;
	struct pfld_dataset_options options = {.log = {count_log, &num_logged}};
	make_image("a.png");
	write_bad_share(20, 2);
	open_good("list.txt", &options, 18);
	ck_assert_int_eq(num_logged, 1);
	const struct pfld_skip *skips;
	ck_assert_uint_eq(pfld_dataset_skips(dataset, &skips), 2);
	ck_assert_int_eq(skips[0].line, 3);
	ck_assert_str_eq(skips[0].path, in_sandbox("list.txt"));
	ck_assert_int_eq(skips[1].line, 4);
	ck_assert_str_eq(skips[1].path, "absent.png");
	ck_assert_str_eq(skips[1].reason, "cannot open \"absent.png\": no such file");
	write_bad_share(20, 3);
	open_bad("list.txt", &options, PFLD_ERR_DATA, TEXTS("list.txt:3: ", "40 tokens", "3 of 20 rows", "0.1"));
	options.max_bad = 0.15;
	open_good("list.txt", &options, 17);
	write_bad_share(10, 8);
	options.max_bad = 1;
	open_good("list.txt", &options, 2);
	put_file(sandbox, "none.txt", "a b c\nd e f\n");
	open_bad("none.txt", &any_bad, PFLD_ERR_DATA, TEXTS("none.txt:1: ", "none of 2 rows"));
}
END_TEST

START_TEST(a_few_samples)
{
	make_image("a.png");
	write_bad_share(20, 1);
	open_good("list.txt", &(struct pfld_dataset_options){.max_samples = 12}, 12);
	ck_assert_int_eq(face_at(11).line, 13);
	open_good("list.txt", &(struct pfld_dataset_options){.max_samples = 100}, 19);
}
END_TEST

START_TEST(wrong_options)
{
	make_image("a.png");
	write_bad_share(5, 0);
	open_good("list.txt", NULL, 5);
	open_bad("list.txt", &(struct pfld_dataset_options){.num_points = -1}, PFLD_ERR_ARGUMENT, TEXTS("points"));
	open_bad("list.txt", &(struct pfld_dataset_options){.num_points = 999999999}, PFLD_ERR_ARGUMENT, TEXTS("points"));
	open_bad("list.txt", &(struct pfld_dataset_options){.max_bad = 1.5}, PFLD_ERR_ARGUMENT, TEXTS("share"));
	open_bad("list.txt", &(struct pfld_dataset_options){.max_bad = NAN}, PFLD_ERR_ARGUMENT, TEXTS("share"));
	open_bad("list.txt", &(struct pfld_dataset_options){.pts_base = 2}, PFLD_ERR_ARGUMENT, TEXTS("first pixel"));
	open_bad("list.txt", &(struct pfld_dataset_options){.max_samples = -1}, PFLD_ERR_ARGUMENT, TEXTS("negative"));
	open_bad("list.txt", &(struct pfld_dataset_options){.format = (enum pfld_list_format)77}, PFLD_ERR_ARGUMENT,
			 TEXTS("77"));
	ck_assert_int_eq(pfld_dataset_open(&dataset, NULL, NULL, NULL), PFLD_ERR_ARGUMENT);
	open_bad(".", &(struct pfld_dataset_options){.format = PFLD_LIST_RAW}, PFLD_ERR_IO, TEXTS("folder"));
	pfld_dataset_close(&dataset);
	pfld_dataset_close(NULL);
}
END_TEST

// ---- names ----

START_TEST(where_images_are)
{
	struct pfld_text text = {0};
	make_image("WFLW_images/0--Parade/a.jpg");
	add_raw(&text, "0--Parade/a.jpg", 19, "");
	write_list("WFLW_annotations/list.txt", &text);
	open_good("WFLW_annotations/list.txt", NULL, 1);
	ck_assert_str_eq(face_at(0).image_path, in_sandbox("WFLW_annotations/../WFLW_images/0--Parade/a.jpg"));
	add_raw(&text, "0--Parade/a.jpg", 19, "");
	write_list("list.txt", &text);
	open_good("list.txt", NULL, 1); // WFLW_images in the list's own folder
	// image_dir comes first, then beside the list.
	add_raw(&text, "b.jpg", 19, "");
	write_list("b.txt", &text);
	make_image("elsewhere/b.jpg");
	struct pfld_dataset_options options = {.image_dir = in_sandbox("elsewhere")};
	open_bad("b.txt", NULL, PFLD_ERR_DATA, TEXTS("b.txt:1: cannot open \"b.jpg\""));
	open_good("b.txt", &options, 1);
	make_image("b.jpg");
	open_good("b.txt", &options, 1);
	ck_assert_str_eq(face_at(0).image_path, in_sandbox("elsewhere/b.jpg"));
	open_good("b.txt", NULL, 1);
	ck_assert_str_eq(face_at(0).image_path, in_sandbox("b.jpg"));
	// From the current folder, and by the full path.
	add_raw(&text, in_sandbox("b.jpg"), 19, "");
	write_list("elsewhere/c.txt", &text);
	open_good("elsewhere/c.txt", NULL, 1);
	ck_assert_str_eq(face_at(0).image_path, in_sandbox("b.jpg"));
	char full[4096];
	ck_assert_ptr_nonnull(getcwd(full, sizeof(full)));
	char *path = pfld_strprintf("%s/%s", full, in_sandbox("b.jpg"));
	add_raw(&text, path, 19, "");
	write_list("elsewhere/d.txt", &text);
	open_good("elsewhere/d.txt", NULL, 1);
	ck_assert_str_eq(face_at(0).image_path, path);
	free(path);
}
END_TEST

START_TEST(blanks_and_backslashes_in_names)
{
	struct pfld_text text = {0};
	make_image("my faces/no 1.png");
	add_prepared(&text, "my faces/no 1.png", 98, ATTRIBUTES " " ANGLES);
	add_prepared(&text, "my faces\\no 1.png", 98, ATTRIBUTES);
	write_list("prepared.txt", &text);
	open_good("prepared.txt", NULL, 2);
	ck_assert_str_eq(face_at(0).image_path, in_sandbox("my faces/no 1.png"));
	ck_assert_str_eq(face_at(1).image_path, in_sandbox("my faces/no 1.png"));
	ck_assert(face_at(0).points[0] == (float)coordinate(0, 0));
	add_raw(&text, "my faces/no 1.png", 98, ATTRIBUTES);
	write_list("raw.txt", &text);
	open_good("raw.txt", NULL, 1);
	ck_assert_str_eq(face_at(0).image_path, in_sandbox("my faces/no 1.png"));
	// A name that is a number, where the format is told.
	put_bytes(sandbox, "17", "\x89PNG\r\n\x1a\n", 8);
	add_prepared(&text, "17", 19, "");
	write_list("number.txt", &text);
	open_good("number.txt", &(struct pfld_dataset_options){.format = PFLD_LIST_PREPARED}, 1);
}
END_TEST

START_TEST(hostile_names)
{
	static const char *const names[] = {
		"x;touch${IFS}PWNED1;.png", "$(touch${IFS}PWNED2).png", "-rf.png", "%n%n%s%s.png", "\"q'.png", "tab\x1b[2J.png",
	};
	struct pfld_text text = {0};
	char long_name[3001];
	for (int i = 0; i < 3000; i++) long_name[i] = i % 100 == 99 ? '/' : 'd';
	long_name[3000] = '\0';
	make_image("ok.png");
	put_file(sandbox, "secret", "root:x:0:0");
	add_prepared(&text, long_name, 19, "");
	for (size_t i = 0; i < PFLD_COUNT(names); i++) add_prepared(&text, names[i], 19, "");
	add_prepared(&text, "../secret", 19, "");
	add_prepared(&text, "secret", 19, "");
	add_prepared(&text, ".", 19, "");
	add_prepared(&text, "ok.png", 19, "");
	write_list("list.txt", &text);
	open_good("list.txt", &any_bad, 1);
	const struct pfld_skip *skips;
	size_t num_skips = pfld_dataset_skips(dataset, &skips);
	ck_assert_uint_eq(num_skips, 10);
	for (size_t i = 0; i < num_skips; i++) {
		ck_assert_msg(!strncmp(skips[i].reason, "cannot open \"", 13), "%s", skips[i].reason);
		ck_assert_int_eq(skips[i].line, (int64_t)i + 1);
		ck_assert_ptr_null(strchr(skips[i].reason, '\x1b'));
	}
	ck_assert_str_eq(skips[0].path, long_name);
	ck_assert_ptr_nonnull(strstr(skip_reason(0), "..."));
	ck_assert_ptr_nonnull(strstr(skip_reason(4), "%n%n%s%s.png"));
	ck_assert_ptr_nonnull(strstr(skip_reason(8), "not a JPEG or PNG file"));
	ck_assert_str_eq(face_at(0).image_path, in_sandbox("ok.png"));
}
END_TEST

// A host that has set a decimal comma gets the same numbers.
START_TEST(decimal_comma)
{
	if (!comma_locale_set()) return;
	char before[128];
	snprintf(before, sizeof(before), "%s", setlocale(LC_ALL, NULL));
	struct pfld_text text = {0};
	make_image("a.png");
	add_prepared(&text, "a.png", 98, ATTRIBUTES " " ANGLES);
	write_list("list.txt", &text);
	open_good("list.txt", NULL, 1);
	struct pfld_face face = face_at(0);
	ck_assert(face.angles[0] == 0.5f && face.angles[1] == -1.25f && face.angles[2] == 2.75f);
	ck_assert(face.points[0] == (float)coordinate(0, 0));
	ck_assert_str_eq(setlocale(LC_ALL, NULL), before);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("lists");
	TCase *cases = tcase_create("text");
	tcase_set_timeout(cases, 60);
	tcase_add_checked_fixture(cases, make_sandbox, remove_sandbox);
	tcase_add_test(cases, line_ends_and_blanks);
	tcase_add_test(cases, long_lists);
	tcase_add_test(cases, what_is_no_text);
	tcase_add_test(cases, rows_in_the_wrong_reader);
	tcase_add_test(cases, every_layout_and_count);
	tcase_add_test(cases, numbers_of_points);
	tcase_add_test(cases, bad_numbers);
	tcase_add_test(cases, missing_and_outside);
	tcase_add_test(cases, angles_from_points);
	tcase_add_test(cases, bad_rows_up_to_a_share);
	tcase_add_test(cases, a_few_samples);
	tcase_add_test(cases, wrong_options);
	tcase_add_test(cases, where_images_are);
	tcase_add_test(cases, blanks_and_backslashes_in_names);
	tcase_add_test(cases, hostile_names);
	suite_add_tcase(suite, cases);
	cases = tcase_create("locale");
	tcase_set_timeout(cases, 60); // a locale may have to be compiled first
	tcase_add_checked_fixture(cases, make_sandbox, remove_sandbox);
	tcase_add_test(cases, decimal_comma);
	suite_add_tcase(suite, cases);
	SRunner *runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	int failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
