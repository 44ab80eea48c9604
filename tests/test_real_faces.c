// SPDX-License-Identifier: MIT
// Lists of real photographs that lie beside the project: 300W .pts folders, WFLW's raw lists, dlib's XML. Skipped where
// they are absent. They hold what no made-up list can: other people's files, and faces whose points can be judged.
#include "base/base.h"
#include "base/file.h"
#include <check.h>
#include <math.h>
#include <pfld/data.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *folder; // of all the faces
static struct pfld_dataset *dataset;

static const char *in_folder(const char *name)
{
	static char path[4096];
	snprintf(path, sizeof(path), "%s/%s", folder, name);
	return path;
}

static void open_faces(const char *name, enum pfld_list_format format, int32_t num_points, int64_t num_faces)
{
	struct pfld_error error;
	enum pfld_status status = pfld_dataset_open(&dataset, in_folder(name), NULL, &error);
	ck_assert_msg(!status, "%s", error.message);
	ck_assert_int_eq(pfld_dataset_format(dataset), format);
	ck_assert_int_eq(pfld_dataset_num_points(dataset), num_points);
	ck_assert_int_eq(pfld_dataset_size(dataset), num_faces);
	ck_assert_uint_eq(pfld_dataset_skips(dataset, NULL), 0);
}

// Points in their picture, eyes above the mouth in the head's own frame, and a head that could belong to somebody.
static void check_face(const struct pfld_face *face, const struct pfld_image *image)
{
	int32_t num_points = pfld_dataset_num_points(dataset), corners[2], chin = num_points == 98 ? 16 : 8;
	ck_assert(pfld_nme_points(num_points, corners));
	double x = 0, y = 0;
	int num_inside = 0;
	for (int32_t i = 0; i < num_points; i++) {
		num_inside += face->points[2 * i] >= 0 && face->points[2 * i] <= (float)(image->width - 1) &&
					  face->points[2 * i + 1] >= 0 && face->points[2 * i + 1] <= (float)(image->height - 1);
	}
	ck_assert_msg(num_inside * 10 >= num_points * 8, "%s: %d points inside", face->image_path, num_inside);
	for (int i = 0; i < 2; i++) {
		x += (double)(face->points[2 * chin] - face->points[2 * corners[i]]);
		y += (double)(face->points[2 * chin + 1] - face->points[2 * corners[i] + 1]);
	}
	// The recipe's roll is the angle by which the face leans, give or take its perspective.
	double lean = -atan2(-x, y) * 180 / 3.14159265358979323846;
	ck_assert_msg(fabs(remainder(lean + (double)face->angles[2], 360)) < 35, "%s: lean %d, roll %d", face->image_path,
				  (int)lean, (int)face->angles[2]);
	ck_assert(fabsf(face->angles[0]) < 90 && fabsf(face->angles[1]) < 90);
}

static void check_faces(int64_t step)
{
	struct pfld_image image = {0};
	for (int64_t i = 0; i < pfld_dataset_size(dataset); i += step) {
		struct pfld_face face;
		struct pfld_error error;
		pfld_dataset_face(dataset, i, &face);
		ck_assert_msg(!pfld_dataset_image(dataset, i, &image, &error), "%s", error.message);
		check_face(&face, &image);
	}
	pfld_image_finish(&image);
	pfld_dataset_close(&dataset);
}

START_TEST(lfpw_folders)
{
	open_faces("lfpw68/train", PFLD_LIST_PTS, 68, 805);
	check_faces(16);
	open_faces("lfpw68/test", PFLD_LIST_PTS, 68, 150);
	check_faces(8);
	open_faces("lfpw68/originals", PFLD_LIST_PTS, 68, 12);
	check_faces(1);
}
END_TEST

START_TEST(wflw_lists)
{
	open_faces("wflw/WFLW_annotations/list_98pt_rect_attr_test.txt", PFLD_LIST_RAW, 98, 94);
	ck_assert(pfld_dataset_has_attributes(dataset));
	check_faces(2);
	open_faces("wflw/WFLW_annotations/list_68pt_rect_attr_test.txt", PFLD_LIST_RAW, 68, 127);
	check_faces(3);
}
END_TEST

START_TEST(dlib_files)
{
	open_faces("dlib68/training_with_face_landmarks.xml", PFLD_LIST_DLIB, 68, 18);
	check_faces(1);
	open_faces("dlib68/testing_with_face_landmarks.xml", PFLD_LIST_DLIB, 68, 25);
	check_faces(1);
}
END_TEST

START_TEST(published_mirror_maps)
{
	int32_t map[98];
	struct pfld_error error;
	enum pfld_status status = pfld_mirror_map_read(in_folder("wflw/WFLW_annotations/Mirror98.txt"), 98, map, &error);
	ck_assert_msg(!status, "%s", error.message);
	ck_assert_mem_eq(map, pfld_mirror_map(98), 98 * sizeof(int32_t));
	status = pfld_mirror_map_read(in_folder("wflw/WFLW_annotations/Mirror68.txt"), 68, map, &error);
	ck_assert_msg(!status, "%s", error.message);
	ck_assert_mem_eq(map, pfld_mirror_map(68), 68 * sizeof(int32_t));
}
END_TEST

int main(int argc, char **argv)
{
	folder = argc > 1 ? argv[1] : "../shared/data/faces";
	if (pfld_path_kind(folder) != PFLD_PATH_FOLDER) {
		printf("skipped: %s is absent (meson option test_data)\n", folder);
		return 77;
	}
	Suite *suite = suite_create("real faces");
	TCase *cases = tcase_create("faces");
	tcase_set_timeout(cases, 60);
	tcase_add_test(cases, lfpw_folders);
	tcase_add_test(cases, wflw_lists);
	tcase_add_test(cases, dlib_files);
	tcase_add_test(cases, published_mirror_maps);
	suite_add_tcase(suite, cases);
	SRunner *runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	int failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
