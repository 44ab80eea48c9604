// SPDX-License-Identifier: MIT
// Every allocation while a list is read fails once: the call says so, and nothing leaks (the sanitizer build looks).
// The linker puts the functions below in place of malloc and its sisters (see meson.build).
#include "list_files.h"

void *__real_malloc(size_t num_bytes);
void *__real_calloc(size_t num, size_t num_bytes);
void *__real_realloc(void *pointer, size_t num_bytes);

static long allocations_left = -1; // -1: as many as they like

static bool fails(void)
{
	if (allocations_left > 0) allocations_left--;
	return allocations_left == 0;
}

void *__wrap_malloc(size_t num_bytes)
{
	return fails() ? NULL : __real_malloc(num_bytes);
}

void *__wrap_calloc(size_t num, size_t num_bytes)
{
	return fails() ? NULL : __real_calloc(num, num_bytes);
}

void *__wrap_realloc(void *pointer, size_t num_bytes)
{
	return fails() ? NULL : __real_realloc(pointer, num_bytes);
}

// With n allocations the opening fails cleanly, for every n up to the one that is enough.
static void check_every_allocation(const char *path, const struct pfld_dataset_options *options, int64_t num_faces)
{
	long enough = 1;
	for (;; enough++) {
		pfld_dataset_close(&dataset);
		memset(&failure, 0, sizeof(failure));
		allocations_left = enough;
		enum pfld_status status = pfld_dataset_open(&dataset, path, options, &failure);
		allocations_left = -1;
		if (!status) break;
		ck_assert_int_eq(status, PFLD_ERR_MEMORY);
		ck_assert_ptr_null(dataset);
		ck_assert(failure.message[0] != 0);
	}
	ck_assert_int_gt(enough, 5);
	ck_assert_int_eq(pfld_dataset_size(dataset), num_faces);
}

START_TEST(text_lists)
{
	struct pfld_text text = {0};
	make_image("a b.png");
	put_file(sandbox, "odd", "no picture");
	add_prepared(&text, "a\\b.png", 68, "");
	add_prepared(&text, "a b.png", 68, ATTRIBUTES);
	add_prepared(&text, "odd", 68, "");
	pfld_text_append(&text, "short row\n");
	write_list("list.txt", &text);
	check_every_allocation(in_sandbox("list.txt"), &(struct pfld_dataset_options){.max_bad = 1, .image_dir = "x"}, 1);
	ck_assert_uint_eq(pfld_dataset_skips(dataset, NULL), 3);
}
END_TEST

START_TEST(pts_folders)
{
	struct pfld_text text = {0};
	pfld_text_append(&text, "n_points: 19\n{\n-1 -1\n");
	for (int i = 1; i < 19; i++) pfld_text_printf(&text, "%d %d\n", i, i);
	pfld_text_append(&text, "}\n");
	put_file(sandbox, "a.pts", text.data);
	put_file(sandbox, "b.pts", text.data);
	write_list("c.pts", &text);
	put_file(sandbox, "d.pts", "none");
	make_image("a.png");
	make_image("b.png");
	check_every_allocation(in_sandbox("."), &(struct pfld_dataset_options){.max_bad = 1}, 2);
	ck_assert_uint_eq(pfld_dataset_skips(dataset, NULL), 2);
	check_every_allocation(in_sandbox("a.pts"), NULL, 1);
}
END_TEST

START_TEST(dlib_files)
{
	struct pfld_text text = {0};
	make_image("a.png");
	pfld_text_append(&text, "<dataset><images>");
	for (int face = 0; face < 3; face++) {
		pfld_text_append(&text, "<image file='a.png'><box>");
		for (int i = 0; i < 19 + (face == 1); i++) pfld_text_printf(&text, "<part name='%d' x='%d' y='1'/>", i, i);
		pfld_text_append(&text, "</box></image>");
	}
	pfld_text_append(&text, "</images></dataset>");
	write_list("list.xml", &text);
	check_every_allocation(in_sandbox("list.xml"), &(struct pfld_dataset_options){.max_bad = 1}, 2);
}
END_TEST

START_TEST(builtin_faces)
{
	check_every_allocation("builtin:train:3", NULL, 3);
}
END_TEST

START_TEST(mirror_map)
{
	int32_t map[4];
	long enough = 1;
	put_file(sandbox, "map.txt", "1,0,3,2");
	for (;; enough++) {
		allocations_left = enough;
		enum pfld_status status = pfld_mirror_map_read(in_sandbox("map.txt"), 4, map, &failure);
		allocations_left = -1;
		if (!status) break;
		ck_assert_int_eq(status, PFLD_ERR_MEMORY);
	}
	ck_assert_int_gt(enough, 2);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("lists without memory");
	TCase *cases = tcase_create("memory");
	tcase_set_timeout(cases, 60);
	tcase_add_checked_fixture(cases, make_sandbox, remove_sandbox);
	tcase_add_test(cases, text_lists);
	tcase_add_test(cases, pts_folders);
	tcase_add_test(cases, dlib_files);
	tcase_add_test(cases, builtin_faces);
	tcase_add_test(cases, mirror_map);
	suite_add_tcase(suite, cases);
	SRunner *runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	int failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
