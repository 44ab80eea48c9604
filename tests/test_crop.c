// SPDX-License-Identifier: MIT
// Plain crops, labels, boxes and angles of one sample (lib/data/crop.c, sample.c), against arithmetic of its own.
#include "crop_pictures.h"
#include "data/crop.h"
#include "data/sample.h"

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static float inputs[SIZE * SIZE * 3];

// The plain crop: square of 1.2 x the extent about the centre, sampled at cell centres.
START_TEST(plain_crop)
{
	struct pfld_image image = {0};
	fill_noise(&image, 131, 97, 1);
	const struct pfld_face face = {.points = points5};
	const struct pfld_sample_options options = {.scaling = PFLD_SCALE_NONE};
	float targets[10], mask[10];
	make_sample(&image, &face, 5, &options, 0, inputs, targets, mask);

	const double side = 1.2 * (92.0 - 47.0), cx = (40.25 + 80.75) / 2, cy = (47.0 + 92.0) / 2; // 45 high, 40.5 wide
	for (int p = 0; p < 5; p++) {
		ck_assert_double_eq_tol((double)targets[2 * p], ((double)points5[2 * p] - cx) / side + 0.5, 1e-7);
		ck_assert_double_eq_tol((double)targets[2 * p + 1], ((double)points5[2 * p + 1] - cy) / side + 0.5, 1e-7);
		ck_assert_float_eq(mask[2 * p] + mask[2 * p + 1], 2.0f);
	}
	double worst = 0;
	bool black = false;
	for (int j = 0; j < SIZE; j++) {
		for (int i = 0; i < SIZE; i++) {
			const double x = cx + side * ((i + 0.5) / SIZE - 0.5), y = cy + side * ((j + 0.5) / SIZE - 0.5);
			black |= y > image.height;
			for (int c = 0; c < 3; c++)
				worst = fmax(worst, fabs((double)inputs[3 * (j * SIZE + i) + c] - bilinear(&image, x, y, c)));
		}
	}
	ck_assert_double_lt(worst, 1e-3);
	ck_assert(!black); // this face lies inside

	const float low[10] = {40.25f, 80.5f, 80.75f, 77.0f, 61.0f, 95.25f, 45.5f, 122.0f, 77.0f, 120.75f};
	const struct pfld_face partly = {.points = low};
	make_sample(&image, &partly, 5, &options, 0, inputs, targets, mask);
	double below = 0;
	for (int i = 0; i < 3 * SIZE * 10; i++) below += (double)inputs[3 * SIZE * SIZE - 1 - i];
	ck_assert_double_eq(below, 0);
	pfld_image_finish(&image);
}
END_TEST

// The originals' square, worked out by hand: points x 40.25 .. 80.75 and y 47 .. 92, so whole pixels 40 .. 80 and
// 47 .. 92: 41 x 46, centre 60 (60.5 cut), 70; side 55; top left 60 - 27, 70 - 27.
START_TEST(crop_on_whole_pixels)
{
	struct pfld_image image = {0}, cut = {0}, resized = {0};
	struct pfld_error error = {0};
	fill_noise(&image, 131, 90, 2);
	const struct pfld_face face = {.points = points5};
	const struct pfld_sample_options options = {.crop = PFLD_CROP_INTEGER, .scaling = PFLD_SCALE_NONE};
	float targets[10];
	make_sample(&image, &face, 5, &options, 0, inputs, targets, NULL);
	for (int p = 0; p < 5; p++) {
		ck_assert_double_eq_tol((double)targets[2 * p], ((double)points5[2 * p] - 33) / 55, 1e-7);
		ck_assert_double_eq_tol((double)targets[2 * p + 1], ((double)points5[2 * p + 1] - 43) / 55, 1e-7);
	}
	fill_black(&cut, 55, 55);
	for (int y = 0; y < 55; y++)
		for (int x = 0; x < 55; x++)
			for (int c = 0; c < 3; c++) cut.pixels[3 * (55 * y + x) + c] = (uint8_t)bilinear(&image, 33 + x, 43 + y, c);
	ck_assert_int_eq(pfld_image_resize(&resized, &cut, SIZE, SIZE, &error), PFLD_OK);
	ck_assert_int_eq(count_other(inputs, &resized), 0);

	// Partly outside to the left and above: floor, not truncation.
	float shifted[10];
	for (int i = 0; i < 10; i++) shifted[i] = points5[i] - 60.0f;
	struct pfld_extent extent;
	const struct pfld_face outside = {.points = shifted};
	ck_assert_int_eq(pfld_crop_extent(&extent, &outside, 5, &error), PFLD_OK);
	const struct pfld_whole_square square = pfld_crop_whole_square(&extent);
	ck_assert_int_eq(square.left, 33 - 60);
	ck_assert_int_eq(square.top, 43 - 60);
	ck_assert_int_eq(square.side, 55);
	pfld_image_finish(&image);
	pfld_image_finish(&cut);
	pfld_image_finish(&resized);
}
END_TEST

// A prepared row: the picture and the numbers as they stand.
START_TEST(prepared_crop)
{
	struct pfld_image image = {0}, resized = {0};
	struct pfld_error error = {0};
	const float points[6] = {0.1f, 0.25f, 0.9f, 0.3f, 0.5f, 1.25f};
	const struct pfld_face face = {.points = points, .crop_relative = true};
	for (int side = 64; side <= 112; side += 48) {
		fill_noise(&image, side, side, 3);
		for (int kind = PFLD_CROP_FLOAT; kind <= PFLD_CROP_INTEGER; kind++) {
			const struct pfld_sample_options options = {.crop = (enum pfld_crop_kind)kind, .scaling = PFLD_SCALE_NONE};
			float targets[6];
			make_sample(&image, &face, 3, &options, 0, inputs, targets, NULL);
			ck_assert_mem_eq(targets, points, sizeof points);
			ck_assert_int_eq(pfld_image_resize(&resized, &image, SIZE, SIZE, &error), PFLD_OK);
			ck_assert_int_eq(count_other(inputs, &resized), 0);
		}
	}
	pfld_image_finish(&image);
	pfld_image_finish(&resized);
}
END_TEST

START_TEST(missing_points)
{
	struct pfld_image image = {0};
	struct pfld_error error = {0};
	fill_noise(&image, 128, 128, 4);
	float points[12], targets[12], mask[12], without[10];
	memcpy(points, points5, sizeof points5);
	points[10] = points[11] = 0; // where a missing point stands must not matter
	const uint8_t present[6] = {1, 1, 1, 1, 1, 0};
	const int32_t map[6] = {1, 0, 2, 4, 3, 5};
	const struct pfld_face face = {.points = points, .present = present}, five = {.points = points5};
	for (int augment = PFLD_AUGMENT_NONE; augment <= PFLD_AUGMENT_PT; augment++) {
		struct pfld_sample_options options = {.augment = (enum pfld_augment_kind)augment, .mirror_map = map};
		for (uint32_t index = 0; index < 20; index++) {
			options.mirror_map = map;
			make_sample(&image, &face, 6, &options, index, inputs, targets, mask);
			options.mirror_map = map5;
			make_sample(&image, &five, 5, &options, index, inputs, without, NULL);
			ck_assert_mem_eq(targets, without, sizeof without);
			ck_assert_float_eq(targets[10], 0.0f);
			ck_assert_float_eq(targets[11], 0.0f);
			for (int i = 0; i < 12; i++) ck_assert_float_eq(mask[i], i < 10 ? 1.0f : 0.0f);
		}
	}
	// The mask changes places with the points.
	const uint8_t one_eye[5] = {1, 0, 1, 1, 1};
	const struct pfld_face winking = {.points = points5, .present = one_eye};
	const struct pfld_sample_options options = {.augment = PFLD_AUGMENT_DEFAULT, .mirror_map = map5};
	bool seen[2] = {false, false};
	for (uint32_t index = 0; index < 40; index++) {
		make_sample(&image, &winking, 5, &options, index, inputs, targets, mask);
		ck_assert_float_eq(mask[0] + mask[2], 1.0f);
		seen[mask[0] > 0] = true;
		ck_assert_float_eq(mask[0] > 0 ? targets[2] : targets[0], 0.0f);
	}
	ck_assert(seen[0] && seen[1]);

	const uint8_t none[5] = {0};
	const struct pfld_face empty = {.points = points5, .present = none};
	inputs[0] = targets[0] = -7;
	ck_assert_int_eq(pfld_sample_make(&image, &empty, 5, &options, 1, 1, 1, inputs, targets, mask, &error),
					 PFLD_ERR_DATA);
	ck_assert(strstr(error.message, "missing"));
	ck_assert(inputs[0] == -7 && targets[0] == -7);
	pfld_image_finish(&image);
}
END_TEST

// The mirror image of pixel x is width - 1 - x, of a point 1 - u: a point on a white pixel stays on it, and twice is
// the same again.
START_TEST(mirror_is_exact)
{
	struct pfld_image image = {0};
	struct pfld_error error = {0};
	struct pfld_sample_scratch once = {0}, twice = {0};
	fill_black(&image, 10, 10);
	memset(image.pixels + 3 * (5 * 10 + 3), 255, 3);
	const struct pfld_crop crop = {
		.way = PFLD_CROP_WHOLE, .to_labels = {1, 0, 0, 0, 1, 0}, .label_side = 1, .mirror = true};
	ck_assert_int_eq(pfld_sample_picture(&crop, &image, 10, &once, &error), PFLD_OK);
	ck_assert_int_eq(pfld_sample_picture(&crop, &once.resized, 10, &twice, &error), PFLD_OK);
	ck_assert_mem_eq(twice.resized.pixels, image.pixels, 300);

	const float points[6] = {3.5f / 10, 5.5f / 10, 0.8125f, 0.25f, 0.1875f, 0.25f};
	const int32_t map[3] = {0, 2, 1};
	float labels[6], back[6];
	const struct pfld_face face = {.points = points, .crop_relative = true}, turned = {.points = labels};
	pfld_crop_labels(&crop, &face, 3, map, labels, NULL);
	const int x = (int)floor((double)labels[0] * 10), y = (int)floor((double)labels[1] * 10);
	ck_assert(x == 6 && y == 5);
	ck_assert_uint_eq(once.resized.pixels[3 * (y * 10 + x)], 255);
	ck_assert_mem_eq(labels + 2, points + 2, 4 * sizeof(float)); // a pair that mirrors into each other
	pfld_crop_labels(&crop, &turned, 3, map, back, NULL);
	for (int i = 0; i < 6; i++) ck_assert_float_eq_tol(back[i], points[i], 1e-7f);
	pfld_sample_scratch_finish(&once);
	pfld_sample_scratch_finish(&twice);
	pfld_image_finish(&image);
}
END_TEST

START_TEST(scalings)
{
	struct pfld_image image = {0};
	const float points[4] = {0, 0, 1, 1};
	const struct pfld_face face = {.points = points, .crop_relative = true};
	fill_noise(&image, 4, 4, 12);
	for (int scaling = PFLD_SCALE_255; scaling <= PFLD_SCALE_NONE; scaling++) {
		for (int bgr = 0; bgr < 2; bgr++) {
			const struct pfld_sample_options options = {.size = 4, .scaling = (enum pfld_scaling)scaling, .bgr = bgr};
			make_sample(&image, &face, 2, &options, 0, inputs, NULL, NULL);
			for (int i = 0; i < 48; i++) {
				const float v = image.pixels[bgr ? i - i % 3 + 2 - i % 3 : i];
				const float want[4] = {v / 255.0f, v / 256.0f, v / 127.5f - 1.0f, v};
				ck_assert_float_eq(inputs[i], want[scaling]);
			}
		}
	}
	pfld_image_finish(&image);
}
END_TEST

START_TEST(boxes)
{
	struct pfld_image image = {0};
	struct pfld_error error = {0};
	const uint8_t white[3] = {255, 255, 255};
	fill_black(&image, 200, 150);
	pfld_image_draw_disc(&image, 83.25, 61.5, 2.5, white);
	const float box[4] = {50, 40, 130, 100};
	struct pfld_sample_options options = {.mirror_map = map5}; // of other points: not looked at
	double map[6], centre[2];
	ck_assert_int_eq(pfld_sample_box(&image, box, &options, inputs, map, &error), PFLD_OK);
	ck_assert_double_eq_tol(map[0], 88, 1e-4);
	ck_assert_double_eq_tol(map[2], 90 - 44, 1e-4);
	ck_assert_double_eq_tol(map[5], 70 - 44, 1e-4);
	ck_assert(light(inputs, centre));
	ck_assert_double_eq_tol(map[0] * centre[0] + map[1] * centre[1] + map[2], 83.25, 0.1);
	ck_assert_double_eq_tol(map[3] * centre[0] + map[4] * centre[1] + map[5], 61.5, 0.1);
	options.crop = PFLD_CROP_INTEGER; // the labels it learned lie half a pixel early
	ck_assert_int_eq(pfld_sample_box(&image, box, &options, inputs, map, &error), PFLD_OK);
	ck_assert_double_eq_tol(map[2], 46.5, 1e-4);

	const float wrong[5][4] = {{5, 5, 5, 9}, {9, 5, 5, 9}, {NAN, 0, 5, 5}, {0, 0, INFINITY, 5}, {0, 0, 1e30f, 1e30f}};
	for (int i = 0; i < 5; i++)
		ck_assert_int_eq(pfld_sample_box(&image, wrong[i], &options, inputs, map, &error), PFLD_ERR_ARGUMENT);
	pfld_image_finish(&image);
}
END_TEST

START_TEST(bad_arguments)
{
	struct pfld_image image = {0};
	struct pfld_error error = {0};
	fill_noise(&image, 20, 20, 13);
	float targets[10];
	const struct pfld_face face = {.points = points5};
	const int32_t no_pairs[5] = {1, 2, 0, 3, 4}, outside[5] = {0, 1, 2, 3, 5};
	const struct pfld_sample_options wrong[] = {{.size = -1},
												{.size = 1 << 20},
												{.crop = (enum pfld_crop_kind)2},
												{.augment = (enum pfld_augment_kind)9},
												{.scaling = (enum pfld_scaling)4},
												{.mirror_map = no_pairs},
												{.mirror_map = outside}};
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
		ck_assert_int_eq(pfld_sample_make(&image, &face, 5, &wrong[i], 0, 1, 0, inputs, targets, NULL, &error),
						 PFLD_ERR_ARGUMENT);

	const struct pfld_sample_options plain = {.crop = PFLD_CROP_INTEGER}, sampled = {0};
	const struct {
		float far;
		const struct pfld_sample_options *options;
		enum pfld_status status;
	} bad[] = {{NAN, &sampled, PFLD_ERR_DATA},
			   {INFINITY, &plain, PFLD_ERR_DATA},
			   {1e9f, &sampled, PFLD_ERR_DATA},
			   {30000.0f, &plain, PFLD_ERR_DATA},
			   {30000.0f, &sampled, PFLD_OK}};
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		float points[10];
		memcpy(points, points5, sizeof points);
		points[3] = bad[i].far;
		const struct pfld_face wild = {.points = points};
		ck_assert_int_eq(pfld_sample_make(&image, &wild, 5, bad[i].options, 0, 1, 0, inputs, targets, NULL, &error),
						 bad[i].status);
	}
	const float same[10] = {3, 3, 3, 3, 3, 3, 3, 3, 3, 3};
	const struct pfld_face flat = {.points = same};
	ck_assert_int_eq(pfld_sample_make(&image, &flat, 5, &sampled, 0, 1, 0, inputs, targets, NULL, &error),
					 PFLD_ERR_DATA);
	ck_assert_int_eq(pfld_sample_make(&image, &flat, 5, &plain, 0, 1, 0, inputs, targets, NULL, &error), PFLD_OK);
	pfld_image_finish(&image);
}
END_TEST

// Angles of a turned or mirrored face against the pose of its turned or mirrored points.
START_TEST(angles_follow)
{
	static const int tracked[14] = {17, 21, 22, 26, 36, 39, 42, 45, 31, 35, 48, 54, 57, 8};
	static const float at[28] = {.1002f, .2855f, .4147f, .2622f, .5693f, .2622f, .8838f, .2855f, .1975f, .3734f,
								 .3678f, .3857f, .6163f, .3857f, .7868f, .3734f, .3936f, .6701f, .5907f, .6701f,
								 .3036f, .8243f, .6808f, .8243f, .4921f, .9274f, .4921f, .9850f};
	float points[136], labels[136], angles[3], turned[3], posed[3];
	for (int i = 0; i < 136; i++) points[i] = 0.5f;
	for (int i = 0; i < 28; i++) points[2 * tracked[i / 2] + i % 2] = at[i];
	const struct pfld_face face = {.points = points, .crop_relative = true};
	const int32_t *map = pfld_mirror_map(68);
	for (int i = 0; i < 136; i++) labels[i] = points[i] * 112;
	ck_assert(pfld_pose_from_points(labels, NULL, 68, 112, 112, angles));
	for (int mirror = 0; mirror < 2; mirror++) {
		for (int degrees = -30; degrees <= 30; degrees += 15) {
			const double c = cos(degrees * 3.14159265358979323846 / 180),
						 s = sin(degrees * 3.14159265358979323846 / 180);
			const struct pfld_crop crop = {.to_labels = {c, s, 0.5 - (c + s) / 2, -s, c, 0.5 + (s - c) / 2},
										   .label_side = 1,
										   .degrees = degrees,
										   .mirror = mirror};
			pfld_crop_labels(&crop, &face, 68, map, labels, NULL);
			for (int i = 0; i < 136; i++) labels[i] *= 112;
			ck_assert(pfld_pose_from_points(labels, NULL, 68, 112, 112, posed));
			pfld_crop_angles(&crop, angles, turned);
			for (int i = 0; i < 3; i++)
				ck_assert_msg(fabsf(posed[i] - turned[i]) < 0.05f, "mirror %d, %d degrees, angle %d: %f, points say %f",
							  mirror, degrees, i, (double)turned[i], (double)posed[i]);
		}
	}
	const struct pfld_crop far = {.degrees = 30};
	const float upside_down[3] = {1, 2, -170};
	pfld_crop_angles(&far, upside_down, turned);
	ck_assert_float_eq(turned[2], 160.0f);
}
END_TEST

int main(void)
{
	printf("seed %u\n", SEED);
	Suite *suite = suite_create("crop");
	TCase *plain = tcase_create("plain");
	tcase_set_timeout(plain, 60);
	tcase_add_test(plain, plain_crop);
	tcase_add_test(plain, crop_on_whole_pixels);
	tcase_add_test(plain, prepared_crop);
	tcase_add_test(plain, missing_points);
	tcase_add_test(plain, mirror_is_exact);
	tcase_add_test(plain, scalings);
	tcase_add_test(plain, boxes);
	tcase_add_test(plain, bad_arguments);
	tcase_add_test(plain, angles_follow);
	suite_add_tcase(suite, plain);
	SRunner *runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	int failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
