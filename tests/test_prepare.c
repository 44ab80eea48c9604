// SPDX-License-Identifier: MIT
// pfld_prepare(): what is written, against arithmetic of its own; the same again on a second run and for any threads.
#define _XOPEN_SOURCE 700
#include "base/base.h"
#include "base/file.h"
#include "scratch.h"
#include "small_faces.h"

#include <pfld/data.h>

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define POINTS 98
#define TOKENS (1 + 2 * POINTS + 6 + 3)

static char folder[32], out[64];

static void set_up(void)
{
	strcpy(folder, "prepare-XXXXXX");
	make_scratch(folder);
	snprintf(out, sizeof out, "%s/out", folder);
}

static void tear_down(void)
{
	(void)chmod(out, 0777);
	remove_tree(folder);
}

static struct pfld_prepare_result prepare(const struct pfld_dataset *dataset,
										  const struct pfld_prepare_options *options)
{
	struct pfld_prepare_result result = {0};
	struct pfld_error error = {0};
	ck_assert_msg(pfld_prepare(dataset, out, options, &result, &error) == PFLD_OK, "%s", error.message);
	return result;
}

static char *read_text(const char *name)
{
	char path[256];
	snprintf(path, sizeof path, "%s/%s", out, name);
	uint8_t *data = NULL;
	size_t num_bytes;
	struct pfld_error error = {0};
	ck_assert_msg(pfld_file_read(path, 0, &data, &num_bytes, &error) == PFLD_OK, "%s", error.message);
	return (char *)data;
}

// Rows of out/list.txt taken apart in place: (rows, TOKENS).
#define MAX_ROWS 128
static char *tokens[MAX_ROWS][TOKENS];
static int split_list(char *text)
{
	int num_rows = 0;
	char *line_state;
	for (char *line = strtok_r(text, "\n", &line_state); line; line = strtok_r(NULL, "\n", &line_state)) {
		ck_assert_int_lt(num_rows, MAX_ROWS);
		int num = 0;
		char *state;
		for (char *token = strtok_r(line, " ", &state); token; token = strtok_r(NULL, " ", &state)) {
			ck_assert_int_lt(num, TOKENS);
			tokens[num_rows][num++] = token;
		}
		ck_assert_int_eq(num, TOKENS);
		num_rows++;
	}
	return num_rows;
}

static double number(const char *token)
{
	double value = NAN;
	ck_assert_msg(pfld_parse_number(token, &value), "not a number: %s", token);
	return value;
}

static int count_pictures(void)
{
	char path[128], **names = NULL;
	size_t num = 0;
	snprintf(path, sizeof path, "%s/imgs", out);
	ck_assert_int_eq(pfld_list_folder(path, &names, &num, NULL), PFLD_OK);
	pfld_names_destroy(&names, num);
	return (int)num;
}

// A digest of everything in the output folder.
static uint64_t digest(void)
{
	char path[512], **names = NULL;
	size_t num = 0, num_bytes;
	uint64_t hash = 14695981039346656037u;
	snprintf(path, sizeof path, "%s/imgs", out);
	ck_assert_int_eq(pfld_list_folder(path, &names, &num, NULL), PFLD_OK);
	for (size_t i = 0; i <= num; i++) {
		if (i < num)
			snprintf(path, sizeof path, "%s/imgs/%s", out, names[i]);
		else
			snprintf(path, sizeof path, "%s/list.txt", out);
		uint8_t *data = NULL;
		ck_assert_int_eq(pfld_file_read(path, 0, &data, &num_bytes, NULL), PFLD_OK);
		for (size_t j = 0; j < strlen(path); j++) hash = (hash ^ (uint8_t)path[j]) * 1099511628211u;
		for (size_t j = 0; j < num_bytes; j++) hash = (hash ^ data[j]) * 1099511628211u;
		free(data);
	}
	pfld_names_destroy(&names, num);
	return hash;
}

static void read_picture(struct pfld_image *image, const char *where, const char *name)
{
	char path[256];
	struct pfld_error error = {0};
	snprintf(path, sizeof path, "%s/%s", where, name);
	ck_assert_msg(pfld_image_read(image, path, NULL, NULL, &error) == PFLD_OK, "%s", error.message);
}

// The plain crop: rows, labels and pixels as the originals' preparation defines them.
START_TEST(plain_copies)
{
	struct pfld_dataset *dataset = open_small_faces(folder, 7, POINTS);
	const struct pfld_prepare_options options = {.num_threads = 2};
	const struct pfld_prepare_result result = prepare(dataset, &options);
	ck_assert_int_eq(result.num_faces, 7);
	ck_assert_int_eq(result.num_crops, 7);
	ck_assert_int_eq(result.num_skipped, 0);
	ck_assert_int_eq(count_pictures(), 7);
	char *text = read_text("list.txt");
	ck_assert_int_eq(split_list(text), 7);
	struct pfld_image crop = {0}, picture = {0}, cut = {0}, resized = {0};
	for (int row = 0; row < 7; row++) {
		char name[64];
		snprintf(name, sizeof name, "imgs/%d_%d_0.png", row, row);
		ck_assert_str_eq(tokens[row][0], name);
		struct pfld_face face;
		pfld_dataset_face(dataset, row, &face);
		double low[2] = {1e9, 1e9}, high[2] = {-1e9, -1e9};
		for (int i = 0; i < 2 * POINTS; i++) {
			low[i % 2] = fmin(low[i % 2], (double)face.points[i]);
			high[i % 2] = fmax(high[i % 2], (double)face.points[i]);
		}
		int first[2], wide[2], top_left[2];
		for (int axis = 0; axis < 2; axis++) {
			first[axis] = (int)floor(low[axis]);
			wide[axis] = (int)floor(high[axis]) - first[axis] + 1;
		}
		const int side = (wide[0] > wide[1] ? wide[0] : wide[1]) * 12 / 10;
		for (int axis = 0; axis < 2; axis++) top_left[axis] = (int)floor(first[axis] + wide[axis] / 2.0) - side / 2;
		for (int i = 0; i < 2 * POINTS; i++) {
			const double label = number(tokens[row][1 + i]);
			ck_assert_double_eq_tol(label, ((double)face.points[i] - top_left[i % 2]) / side, 1e-6);
			ck_assert(label >= 0 && label <= 1);
		}
		for (int i = 0; i < 6; i++)
			ck_assert_double_eq(number(tokens[row][1 + 2 * POINTS + i]), (double)face.attributes[i]);
		float pixels[2 * POINTS], angles[3] = {0};
		for (int i = 0; i < 2 * POINTS; i++) pixels[i] = (float)number(tokens[row][1 + i]) * 112;
		ck_assert(pfld_pose_from_points(pixels, NULL, POINTS, 112, 112, angles));
		for (int i = 0; i < 3; i++)
			ck_assert_double_eq_tol(number(tokens[row][1 + 2 * POINTS + 6 + i]), (double)angles[i], 1e-3);

		read_picture(&crop, out, tokens[row][0]);
		snprintf(name, sizeof name, "imgs/%d.png", row);
		read_picture(&picture, folder, name);
		ck_assert_int_eq(pfld_image_resize_buffer(&cut, side, side, NULL), PFLD_OK);
		for (int i = 0; i < 3 * side * side; i++) {
			const int x = i / 3 % side + top_left[0], y = i / 3 / side + top_left[1];
			const bool inside = x >= 0 && y >= 0 && x < picture.width && y < picture.height;
			cut.pixels[i] = inside ? picture.pixels[3 * (y * picture.width + x) + i % 3] : 0;
		}
		ck_assert_int_eq(pfld_image_resize(&resized, &cut, 112, 112, NULL), PFLD_OK);
		ck_assert_int_eq(crop.width, 112);
		ck_assert_int_eq(crop.height, 112);
		ck_assert_mem_eq(crop.pixels, resized.pixels, 3 * 112 * 112);
	}
	free(text);
	pfld_image_finish(&crop);
	pfld_image_finish(&picture);
	pfld_image_finish(&cut);
	pfld_image_finish(&resized);
	pfld_dataset_close(&dataset);
}
END_TEST

// The list that was written is read again, and its rows are the crops that the loader makes of the raw list.
START_TEST(written_lists_are_read)
{
	struct pfld_dataset *dataset = open_small_faces(folder, 6, POINTS), *prepared;
	const struct pfld_prepare_options options = {.size = 64, .num_threads = 1};
	(void)prepare(dataset, &options);
	prepared = open_list(out, "list.txt", 0);
	ck_assert_int_eq(pfld_dataset_size(prepared), 6);
	ck_assert_int_eq(pfld_dataset_num_points(prepared), POINTS);
	ck_assert_int_eq(pfld_dataset_format(prepared), PFLD_LIST_PREPARED);
	ck_assert(pfld_dataset_has_attributes(prepared) && pfld_dataset_has_angles(prepared));
	static float inputs[2][64 * 64 * 3], targets[2][2 * POINTS], mask[2][2 * POINTS];
	struct pfld_image image = {0};
	const struct pfld_sample_options sample = {.size = 64, .crop = PFLD_CROP_INTEGER};
	for (int64_t i = 0; i < 6; i++) {
		for (int j = 0; j < 2; j++) {
			struct pfld_face face;
			pfld_dataset_face(j ? prepared : dataset, i, &face);
			ck_assert_int_eq(pfld_dataset_image(j ? prepared : dataset, i, &image, NULL), PFLD_OK);
			ck_assert_int_eq(
				pfld_sample_make(&image, &face, POINTS, &sample, 0, 1, 0, inputs[j], targets[j], mask[j], NULL),
				PFLD_OK);
		}
		ck_assert_mem_eq(inputs[0], inputs[1], sizeof inputs[0]);
		ck_assert_mem_eq(targets[0], targets[1], sizeof targets[0]); // nine digits bring the same floats back
		ck_assert_mem_eq(mask[0], mask[1], sizeof mask[0]);
	}
	// A prepared list can be prepared again.
	char first_out[64];
	strcpy(first_out, out);
	snprintf(out, sizeof out, "%s/again", folder);
	(void)prepare(prepared, &options);
	struct pfld_dataset *again = open_list(out, "list.txt", 0);
	for (int64_t i = 0; i < 6; i++) {
		struct pfld_face a, b;
		pfld_dataset_face(prepared, i, &a);
		pfld_dataset_face(again, i, &b);
		ck_assert_mem_eq(a.points, b.points, 2 * POINTS * sizeof(float));
	}
	pfld_dataset_close(&again);
	pfld_dataset_close(&prepared);
	pfld_dataset_close(&dataset);
	pfld_image_finish(&image);
}
END_TEST

START_TEST(augmented_copies)
{
	struct pfld_dataset *dataset = open_small_faces(folder, 5, POINTS);
	struct pfld_prepare_options options = {
		.copies = 10, .num_threads = 2, .mirror_map = pfld_mirror_map(POINTS), .seed = 5};
	const struct pfld_prepare_result result = prepare(dataset, &options);
	ck_assert_int_eq(result.num_crops, 50);
	ck_assert_int_eq(count_pictures(), 50);
	char *text = read_text("list.txt");
	ck_assert_int_eq(split_list(text), 50);
	int orders[2] = {0, 0};
	for (int row = 0; row < 50; row++) {
		char name[64];
		snprintf(name, sizeof name, "imgs/%d_%d_%d.png", row / 10, row / 10, row % 10);
		ck_assert_str_eq(tokens[row][0], name);
		double area = 0; // of the ring: its sign tells a mirrored one whose points were not exchanged
		for (int i = 0; i < 2 * POINTS; i++) {
			const double label = number(tokens[row][1 + i]);
			ck_assert(label >= 0 && label <= 1);
		}
		for (int i = 0; i < POINTS; i++) {
			const int next = (i + 1) % POINTS;
			area += number(tokens[row][1 + 2 * i]) * number(tokens[row][2 + 2 * next]) -
					number(tokens[row][1 + 2 * next]) * number(tokens[row][2 + 2 * i]);
		}
		// The map of 98 points is not the ring's, so a mirrored ring is no ring any more: its area is far smaller.
		orders[fabs(area) < 0.3]++;
		for (int i = 0; i < 6; i++)
			ck_assert_str_eq(tokens[row][1 + 2 * POINTS + i], tokens[row / 10 * 10][1 + 2 * POINTS + i]);
		if (row % 10) ck_assert_str_ne(tokens[row][1], tokens[row / 10 * 10][1]);
	}
	ck_assert_int_gt(orders[0], 15);
	ck_assert_int_gt(orders[1], 10);
	free(text);

	// The same bytes on a second run and for other threads; others for another seed.
	const uint64_t first = digest();
	for (int threads = 1; threads <= 5; threads += 2) {
		options.num_threads = threads;
		(void)prepare(dataset, &options);
		ck_assert_uint_eq(digest(), first);
	}
	options.seed = 6;
	(void)prepare(dataset, &options);
	ck_assert_int_eq(count_pictures(), 50);
	ck_assert_uint_ne(digest(), first);
	pfld_dataset_close(&dataset);
}
END_TEST

// A face partly outside its picture is cut as if the picture were larger and black.
START_TEST(outside_is_black)
{
	struct pfld_image small = {0}, big = {0}, crop[2] = {{0}};
	put_noise_picture(folder, "small.png", 64, 64, 3);
	read_picture(&small, folder, "small.png");
	ck_assert_int_eq(pfld_image_resize_buffer(&big, 144, 144, NULL), PFLD_OK);
	memset(big.pixels, 0, 3 * 144 * 144);
	pfld_image_paste(&big, &small, 40, 40);
	char path[128];
	snprintf(path, sizeof path, "%s/big.png", folder);
	ck_assert_int_eq(pfld_image_write_png(&big, path, NULL), PFLD_OK);
	put_raw_row(folder, "small.png", POINTS, 14.75, 15.5, 30.25, 1);
	put_raw_row(folder, "big.png", POINTS, 54.75, 55.5, 30.25, 1);
	struct pfld_dataset *dataset = open_list(folder, "raw.txt", POINTS);
	const struct pfld_prepare_options options = {.num_threads = 1};
	(void)prepare(dataset, &options);
	char *text = read_text("list.txt");
	ck_assert_int_eq(split_list(text), 2);
	bool negative = false;
	struct pfld_face face;
	pfld_dataset_face(dataset, 0, &face);
	for (int i = 0; i < 2 * POINTS; i++) negative |= face.points[i] < 0;
	ck_assert(negative);
	for (int i = 1; i < TOKENS; i++)
		ck_assert_double_eq_tol(number(tokens[0][i]), number(tokens[1][i]), i <= 2 * POINTS ? 1e-6 : 1e-3);
	for (int i = 0; i < 2; i++) read_picture(&crop[i], out, tokens[i][0]);
	ck_assert_mem_eq(crop[0].pixels, crop[1].pixels, 3 * 112 * 112);
	for (int i = 0; i < 2; i++) pfld_image_finish(&crop[i]);
	pfld_image_finish(&small);
	pfld_image_finish(&big);
	free(text);
	pfld_dataset_close(&dataset);
}
END_TEST

// Several faces in one picture, equal base names, names that need cleaning.
START_TEST(names_are_kept_apart)
{
	static const char *const names[] = {"g.png", "g.png", "a/x.png", "b/x.png", "c/two words;$(x).tar.png", "d/noext"};
	enum { NUM = 6 };
	put_noise_picture(folder, "g.png", 60, 40, 1);
	for (int i = 2; i < NUM; i++) put_noise_picture(folder, names[i], 50, 50, (uint64_t)i);
	for (int i = 0; i < NUM; i++) put_raw_row(folder, names[i], POINTS, 18 + 10 * i % 20, 20, 12, (uint64_t)i);
	struct pfld_dataset *dataset = open_list(folder, "raw.txt", POINTS);
	ck_assert_int_eq(pfld_dataset_size(dataset), NUM);
	const struct pfld_prepare_options options = {.num_threads = 3};
	for (int run = 0; run < 2; run++) {
		(void)prepare(dataset, &options);
		ck_assert_int_eq(count_pictures(), NUM);
		char *text = read_text("list.txt");
		ck_assert_int_eq(split_list(text), NUM);
		static const char *const written[] = {"0_g_0",    "1_g_0", "2_x_0", "3_x_0", "4_two_words___x_.tar_0",
											  "5_noext_0"};
		for (int i = 0; i < NUM; i++) {
			char name[64];
			snprintf(name, sizeof name, "imgs/%s.png", written[i]);
			ck_assert_str_eq(tokens[i][0], name);
		}
		free(text);
	}
	struct pfld_image a = {0}, b = {0};
	read_picture(&a, out, "imgs/2_x_0.png");
	read_picture(&b, out, "imgs/3_x_0.png");
	ck_assert_mem_ne(a.pixels, b.pixels, 3 * 112 * 112);
	pfld_image_finish(&a);
	pfld_image_finish(&b);
	pfld_dataset_close(&dataset);
}
END_TEST

START_TEST(missing_points_stay_missing)
{
	put_noise_picture(folder, "p.png", 50, 50, 1);
	char row[4096] = "";
	for (int i = 0; i < POINTS; i++)
		snprintf(row + strlen(row), sizeof row - strlen(row), i % 10 == 3 ? "-1 -1 " : "%d %d ", 10 + i % 30,
				 5 + i % 33);
	strcat(row, "0 0 9 9 1 0 0 0 0 1 p.png\n");
	put_file(folder, "raw.txt", row);
	struct pfld_dataset *dataset = open_list(folder, "raw.txt", POINTS);
	const struct pfld_prepare_options options = {.copies = 6, .mirror_map = pfld_mirror_map(POINTS), .num_threads = 1};
	(void)prepare(dataset, &options);
	struct pfld_dataset *prepared = open_list(out, "list.txt", 0);
	ck_assert_int_eq(pfld_dataset_size(prepared), 6);
	for (int64_t copy = 0; copy < 6; copy++) {
		struct pfld_face face;
		pfld_dataset_face(prepared, copy, &face);
		ck_assert_ptr_nonnull(face.present);
		int direct = 0, mirrored = 0;
		for (int i = 0; i < POINTS; i++) {
			direct += face.present[i] == (i % 10 != 3);
			mirrored += face.present[i] == (pfld_mirror_map(POINTS)[i] % 10 != 3);
		}
		ck_assert(direct == POINTS || (copy && mirrored == POINTS));
	}
	pfld_dataset_close(&prepared);
	pfld_dataset_close(&dataset);
}
END_TEST

static void note_progress(void *context, int64_t done, int64_t total)
{
	int64_t *last = context;
	ck_assert_int_gt(done, *last);
	ck_assert_int_eq(total, 40);
	*last = done;
}

START_TEST(bad_files_are_left_out)
{
	struct pfld_dataset *dataset = open_small_faces(folder, 40, POINTS);
	truncate_file(folder, "imgs/3.png", 300);
	truncate_file(folder, "imgs/30.png", 300);
	int64_t done = 0;
	struct pfld_prepare_options options = {.num_threads = 2, .progress = note_progress, .progress_context = &done};
	const struct pfld_prepare_result result = prepare(dataset, &options);
	ck_assert_int_eq(done, 40);
	ck_assert_int_eq(result.num_faces, 38);
	ck_assert_int_eq(result.num_crops, 38);
	ck_assert_int_eq(result.num_skipped, 2);
	char *text = read_text("list.txt");
	ck_assert_int_eq(split_list(text), 38);
	ck_assert_str_eq(tokens[3][0], "imgs/4_4_0.png"); // other faces keep their names
	free(text);
	const uint64_t before = digest();

	// Too many: an error, and the earlier list untouched.
	for (int i = 4; i < 8; i++) {
		char name[32];
		snprintf(name, sizeof name, "imgs/%d.png", i);
		truncate_file(folder, name, 300);
	}
	done = 0;
	for (int threads = 1; threads < 4; threads++) {
		struct pfld_prepare_result untouched = {-1, -1, -1};
		struct pfld_error error = {0};
		options.num_threads = threads;
		options.progress = NULL;
		ck_assert_int_eq(pfld_prepare(dataset, out, &options, &untouched, &error), PFLD_ERR_DATA);
		ck_assert_int_eq(untouched.num_faces, -1);
		ck_assert_ptr_nonnull(strstr(error.message, "imgs/3.png"));
		ck_assert_ptr_nonnull(strstr(error.message, "5 of 40"));
		ck_assert_ptr_nonnull(strstr(error.message, "--max_bad"));
		ck_assert_uint_eq(digest(), before);
	}
	pfld_dataset_close(&dataset);
}
END_TEST

START_TEST(failures)
{
	struct pfld_dataset *dataset = open_small_faces(folder, 3, POINTS);
	struct pfld_error error = {0};
	put_file(folder, "file", "in the way");
	char path[128];
	snprintf(path, sizeof path, "%s/file", folder);
	ck_assert_int_eq(pfld_prepare(dataset, path, NULL, NULL, &error), PFLD_ERR_IO);
	ck_assert_ptr_nonnull(strstr(error.message, "file"));
	ck_assert_int_eq(pfld_prepare(dataset, "", NULL, NULL, &error), PFLD_ERR_ARGUMENT);
	ck_assert_int_eq(pfld_prepare(NULL, out, NULL, NULL, &error), PFLD_ERR_ARGUMENT);
	const struct pfld_prepare_options wrong[] = {
		{.copies = -1}, {.num_threads = -1}, {.augment = PFLD_AUGMENT_DEFAULT}, {.max_bad = 2}, {.size = -5}};
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
		ck_assert_int_eq(pfld_prepare(dataset, out, &wrong[i], NULL, &error), PFLD_ERR_ARGUMENT);

	for (int i = 0; i < 3; i++) {
		char name[32];
		snprintf(name, sizeof name, "imgs/%d.png", i);
		truncate_file(folder, name, 100);
	}
	const struct pfld_prepare_options all_bad = {.max_bad = 1};
	ck_assert_int_eq(pfld_prepare(dataset, out, &all_bad, NULL, &error), PFLD_ERR_DATA);
	snprintf(path, sizeof path, "%s/list.txt", out);
	ck_assert_int_eq(pfld_path_kind(path), PFLD_PATH_ABSENT);
	pfld_dataset_close(&dataset);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("prepare");
	TCase *plain = tcase_create("plain");
	tcase_set_timeout(plain, 120);
	tcase_add_checked_fixture(plain, set_up, tear_down);
	tcase_add_test(plain, plain_copies);
	tcase_add_test(plain, written_lists_are_read);
	tcase_add_test(plain, augmented_copies);
	tcase_add_test(plain, outside_is_black);
	tcase_add_test(plain, names_are_kept_apart);
	tcase_add_test(plain, missing_points_stay_missing);
	tcase_add_test(plain, bad_files_are_left_out);
	tcase_add_test(plain, failures);
	suite_add_tcase(suite, plain);
	SRunner *runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	int failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
