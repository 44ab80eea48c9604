// SPDX-License-Identifier: MIT
// Augmented samples (lib/data/augment.c): what each recipe draws, read back from the labels, and pixels that follow it.
#include "crop_pictures.h"

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static float inputs[SIZE * SIZE * 3];

// The affine map that takes the first three source points to their labels: label = m (x, y, 1).
static void solve(const float *source, const double *label, double m[6])
{
	const double ax = (double)source[2] - (double)source[0], ay = (double)source[3] - (double)source[1];
	const double bx = (double)source[4] - (double)source[0], by = (double)source[5] - (double)source[1];
	const double det = ax * by - ay * bx;
	for (int r = 0; r < 2; r++) {
		const double u = label[2 + r] - label[r], v = label[4 + r] - label[r];
		m[3 * r] = (u * by - v * ay) / det;
		m[3 * r + 1] = (v * ax - u * bx) / det;
		m[3 * r + 2] = label[r] - m[3 * r] * (double)source[0] - m[3 * r + 1] * (double)source[1];
	}
}

// What was drawn, read back from the labels of one sample.
struct drawn {
	bool mirror;
	double degrees, scale, x, y; // of a label unit in pixels; the picture's place at the crop's centre
	double m[6];                 // picture to unmirrored crop
};

static struct drawn read_draw(const float *targets)
{
	struct drawn drawn = {0};
	double labels[10];
	for (int i = 0; i < 10; i++) labels[i] = (double)targets[i];
	solve(points5, labels, drawn.m);
	if (fabs(drawn.m[0] - drawn.m[4]) > 1e-5 || fabs(drawn.m[1] + drawn.m[3]) > 1e-5) {
		drawn.mirror = true;
		for (int p = 0; p < 5; p++) {
			labels[2 * p] = 1 - (double)targets[2 * map5[p]];
			labels[2 * p + 1] = (double)targets[2 * map5[p] + 1];
		}
		solve(points5, labels, drawn.m);
	}
	// A similarity without reflection.
	ck_assert_double_eq_tol(drawn.m[0], drawn.m[4], 1e-6);
	ck_assert_double_eq_tol(drawn.m[1], -drawn.m[3], 1e-6);
	const double unit = hypot(drawn.m[0], drawn.m[1]);
	drawn.scale = 1 / unit;
	drawn.degrees = atan2(drawn.m[1], drawn.m[0]) * 180 / 3.14159265358979323846;
	const double u = 0.5 - drawn.m[2], v = 0.5 - drawn.m[5], det = unit * unit;
	drawn.x = (drawn.m[4] * u - drawn.m[1] * v) / det;
	drawn.y = (drawn.m[0] * v - drawn.m[3] * u) / det;
	return drawn;
}

// A light on point k of a black picture must lie where the label of a point says it is, mirrored or not.
START_TEST(labels_follow_pixels)
{
	struct pfld_image image = {0};
	const uint8_t white[3] = {255, 255, 255};
	float relative[10];
	for (int i = 0; i < 10; i++) relative[i] = (points5[i] + 0.5f) / 160.0f;
	for (int prepared = 0; prepared < 2; prepared++) {
		const struct pfld_face face = {.points = prepared ? relative : points5, .crop_relative = prepared};
		for (int variant = 0; variant < 8; variant++) {
			const struct pfld_sample_options options = {.crop = (enum pfld_crop_kind)(variant / 4),
														.augment = (enum pfld_augment_kind)(variant % 4),
														.mirror_map = map5};
			int seen[2] = {0, 0};
			for (uint32_t index = 0; index < 60; index++) {
				const int k = (int)(index % 5);
				float targets[10];
				double centre[2];
				fill_black(&image, 160, 160);
				pfld_image_draw_disc(&image, (double)points5[2 * k], (double)points5[2 * k + 1], 2.5, white);
				make_sample(&image, &face, 5, &options, index, inputs, targets, NULL);
				const bool mirrored = read_draw(targets).mirror;
				const int label = mirrored ? map5[k] : k;
				if (!light(inputs, centre)) continue;
				if (fabs((double)targets[2 * label] - 0.5) > 0.42 || fabs((double)targets[2 * label + 1] - 0.5) > 0.42)
					continue; // cut by the edge
				seen[mirrored]++;
				// The originals' labels lie half a pixel of the picture off, towards the top left before mirroring.
				const double slack = options.crop == PFLD_CROP_INTEGER ? 1.2 * 0.5 / 30 : 0.004;
				ck_assert_msg(fabs(centre[0] - (double)targets[2 * label]) < slack &&
								  fabs(centre[1] - (double)targets[2 * label + 1]) < slack,
							  "prepared %d variant %d index %u: light at %.4f %.4f, label %.4f %.4f", prepared, variant,
							  index, centre[0], centre[1], (double)targets[2 * label], (double)targets[2 * label + 1]);
			}
			ck_assert_int_gt(seen[0], 10);
			if (variant % 4)
				ck_assert_int_gt(seen[1], 10);
			else
				ck_assert_int_eq(seen[1], 0);
		}
	}
	pfld_image_finish(&image);
}
END_TEST

START_TEST(default_draws)
{
	struct pfld_image image = {0};
	fill_noise(&image, 128, 128, 6);
	const struct pfld_face face = {.points = points5};
	const struct pfld_sample_options options = {.size = 16, .augment = PFLD_AUGMENT_DEFAULT, .mirror_map = map5};
	const double side = 1.2 * 45, cx = 60.5, cy = 69.5;
	enum { NUM = 2000 };
	double low[4] = {9, 9, 9, 9}, high[4] = {-9, -9, -9, -9}, mean[4] = {0};
	int mirrored = 0;
	for (uint32_t index = 0; index < NUM; index++) {
		float targets[10];
		make_sample(&image, &face, 5, &options, index, inputs, targets, NULL);
		const struct drawn drawn = read_draw(targets);
		const double draw[4] = {drawn.degrees / 30, (drawn.x - cx) / side / 0.1, (drawn.y - cy) / side / 0.1,
								(drawn.scale / side - 1.1) / 0.15};
		mirrored += drawn.mirror;
		for (int i = 0; i < 4; i++) {
			low[i] = fmin(low[i], draw[i]);
			high[i] = fmax(high[i], draw[i]);
			mean[i] += draw[i] / NUM;
		}
	}
	// Uniform in -1 .. 1, each: nearly filled, never left; the mean's deviation is 0.013.
	for (int i = 0; i < 4; i++) {
		ck_assert_double_ge(low[i], -1.0001);
		ck_assert_double_le(low[i], -0.98);
		ck_assert_double_le(high[i], 1.0001);
		ck_assert_double_ge(high[i], 0.98);
		ck_assert_double_le(fabs(mean[i]), 0.06);
	}
	ck_assert_int_ge(mirrored, NUM / 2 - 100);
	ck_assert_int_le(mirrored, NUM / 2 + 100);
	pfld_image_finish(&image);
}
END_TEST

// Pixels of an augmented crop: bilinear where the labels' own map says, mirrored with them.
START_TEST(default_pixels)
{
	struct pfld_image image = {0};
	fill_noise(&image, 100, 128, 7);
	const struct pfld_face face = {.points = points5};
	const struct pfld_sample_options options = {
		.augment = PFLD_AUGMENT_DEFAULT, .mirror_map = map5, .scaling = PFLD_SCALE_SIGNED, .bgr = true};
	for (uint32_t index = 0; index < 8; index++) {
		float targets[10];
		make_sample(&image, &face, 5, &options, index, inputs, targets, NULL);
		const struct drawn drawn = read_draw(targets);
		const double *m = drawn.m, det = m[0] * m[4] - m[1] * m[3];
		double sum = 0;
		for (int j = 0; j < SIZE; j++) {
			for (int i = 0; i < SIZE; i++) {
				const double u = (drawn.mirror ? SIZE - 0.5 - i : i + 0.5) / SIZE - m[2], v = (j + 0.5) / SIZE - m[5];
				const double x = (m[4] * u - m[1] * v) / det, y = (m[0] * v - m[3] * u) / det;
				for (int c = 0; c < 3; c++) {
					const double want = bilinear(&image, x, y, 2 - c) / 127.5 - 1;
					sum += fabs((double)inputs[3 * (j * SIZE + i) + c] - want);
				}
			}
		}
		ck_assert_double_lt(sum / (3.0 * SIZE * SIZE), 1e-3); // labels are floats, noise is steep
	}
	pfld_image_finish(&image);
}
END_TEST

// The originals' draws: whole degrees, whole centres and sides, all points inside.
START_TEST(original_draws)
{
	struct pfld_image image = {0};
	fill_noise(&image, 128, 128, 8);
	const struct pfld_face face = {.points = points5};
	for (int variant = 0; variant < 4; variant++) {
		const struct pfld_sample_options options = {.size = 16,
													.crop = (enum pfld_crop_kind)(variant & 1),
													.augment = variant & 2 ? PFLD_AUGMENT_PT : PFLD_AUGMENT_TF,
													.mirror_map = map5};
		const int max_degrees = variant & 2 ? 30 : 20;
		int lowest = 99, highest = -99, mirrored = 0;
		for (uint32_t index = 0; index < 800; index++) {
			float targets[10];
			make_sample(&image, &face, 5, &options, index, inputs, targets, NULL);
			bool inside = true;
			for (int i = 0; i < 10; i++) inside &= targets[i] >= 0 && targets[i] <= 1;
			ck_assert(inside);
			const struct drawn drawn = read_draw(targets);
			const double degrees = round(drawn.degrees), side = round(drawn.scale);
			ck_assert_double_eq_tol(drawn.degrees, degrees, 1e-3);
			ck_assert_double_eq_tol(drawn.scale, side, 1e-3);
			ck_assert(side >= 40 && side < 1.25 * 65);
			// The crop's centre is c - side // 2 + side / 2 (label units begin half a pixel before in the float form),
			// turned about c: undo the turn.
			const double back = degrees * 3.14159265358979323846 / 180;
			const double off = fmod(side, 2) / 2 - (options.crop == PFLD_CROP_FLOAT ? 0.5 : 0);
			const double cx = drawn.x - off * (cos(back) - sin(back)), cy = drawn.y - off * (sin(back) + cos(back));
			ck_assert_double_eq_tol(cx, round(cx), 2e-3);
			ck_assert_double_eq_tol(cy, round(cy), 2e-3);
			ck_assert(fabs(cx - 60) <= 5.01 && fabs(cy - 70) <= 5.01);
			lowest = (int)fmin(lowest, degrees);
			highest = (int)fmax(highest, degrees);
			mirrored += drawn.mirror;
		}
		ck_assert_int_ge(lowest, -max_degrees);
		ck_assert_int_le(lowest, 2 - max_degrees);
		ck_assert_int_lt(highest, max_degrees);
		ck_assert_int_ge(highest, max_degrees - 3);
		ck_assert(mirrored > 330 && mirrored < 470);
	}
	pfld_image_finish(&image);
}
END_TEST

// Rotated on a canvas of 1.1 x the picture that starts at its top left: what is turned out of it is black.
START_TEST(original_pixels)
{
	struct pfld_image image = {0};
	struct pfld_error error = {0};
	fill_noise(&image, 90, 100, 9);
	const struct pfld_face face = {.points = points5};
	const struct pfld_sample_options options = {
		.crop = PFLD_CROP_INTEGER, .augment = PFLD_AUGMENT_PT, .mirror_map = map5, .scaling = PFLD_SCALE_NONE};
	for (uint32_t index = 0; index < 12; index++) {
		float targets[10];
		make_sample(&image, &face, 5, &options, index, inputs, targets, NULL);
		const struct drawn drawn = read_draw(targets);
		const int side = (int)round(drawn.scale);
		const double angle = round(drawn.degrees) * 3.14159265358979323846 / 180, c = cos(angle), s = sin(angle);
		const double off = side % 2 / 2.0;
		const double cx = round(drawn.x - off * (c - s)), cy = round(drawn.y - off * (s + c));
		struct pfld_image cut = {0}, resized = {0};
		fill_black(&cut, side, side);
		for (int y = 0; y < side; y++) {
			for (int x = 0; x < side; x++) {
				const double px = cx - side / 2 + x, py = cy - side / 2 + y;
				if (px < 0 || py < 0 || px >= 99 || py >= 110) continue; // int(1.1 * 90), int(1.1 * 100)
				const double sx = c * (px - cx) - s * (py - cy) + cx, sy = s * (px - cx) + c * (py - cy) + cy;
				for (int ch = 0; ch < 3; ch++)
					cut.pixels[3 * (side * y + x) + ch] = (uint8_t)floor(bilinear(&image, sx, sy, ch) + 0.5);
			}
		}
		ck_assert_int_eq(pfld_image_resize(&resized, &cut, SIZE, SIZE, &error), PFLD_OK);
		double worst = 0;
		for (int j = 0; j < SIZE; j++)
			for (int i = 0; i < SIZE; i++)
				for (int ch = 0; ch < 3; ch++)
					worst = fmax(worst, fabs((double)inputs[3 * (j * SIZE + (drawn.mirror ? SIZE - 1 - i : i)) + ch] -
											 (double)resized.pixels[3 * (j * SIZE + i) + ch]));
		ck_assert_double_le(worst, 1.01); // a value on the edge of rounding
		pfld_image_finish(&cut);
		pfld_image_finish(&resized);
	}
	pfld_image_finish(&image);
}
END_TEST

// Without a map nothing is mirrored, and all else is drawn as with it.
START_TEST(mirror_alone)
{
	struct pfld_image image = {0};
	fill_noise(&image, 128, 128, 10);
	const struct pfld_face face = {.points = points5};
	struct pfld_sample_options options = {.augment = PFLD_AUGMENT_DEFAULT, .scaling = PFLD_SCALE_NONE};
	static float plain[SIZE * SIZE * 3];
	float targets[10], turned[10];
	int mirrored = 0;
	for (uint32_t index = 0; index < 30; index++) {
		options.mirror_map = NULL;
		make_sample(&image, &face, 5, &options, index, plain, targets, NULL);
		ck_assert(!read_draw(targets).mirror);
		options.mirror_map = map5;
		make_sample(&image, &face, 5, &options, index, inputs, turned, NULL);
		if (!memcmp(targets, turned, sizeof targets)) {
			ck_assert_mem_eq(plain, inputs, sizeof plain);
			continue;
		}
		mirrored++;
		for (int p = 0; p < 5; p++) {
			ck_assert_float_eq_tol(turned[2 * p], 1 - targets[2 * map5[p]], 1e-7f);
			ck_assert_float_eq(turned[2 * p + 1], targets[2 * map5[p] + 1]);
		}
		int other = 0;
		for (int j = 0; j < SIZE; j++)
			for (int i = 0; i < SIZE; i++)
				other +=
					memcmp(&inputs[3 * (j * SIZE + i)], &plain[3 * (j * SIZE + SIZE - 1 - i)], 3 * sizeof(float)) != 0;
		ck_assert_int_eq(other, 0);
	}
	ck_assert_int_gt(mirrored, 5);
	pfld_image_finish(&image);
}
END_TEST

START_TEST(samples_depend_on_seed_epoch_and_index)
{
	struct pfld_image image = {0};
	fill_noise(&image, 128, 128, 11);
	const struct pfld_face face = {.points = points5};
	const struct pfld_sample_options options = {.size = 32, .augment = PFLD_AUGMENT_DEFAULT, .mirror_map = map5};
	float targets[5][10];
	const struct {
		uint64_t seed;
		int32_t epoch;
		uint32_t index;
	} keys[5] = {{1, 1, 1}, {2, 1, 1}, {1, 2, 1}, {1, 1, 2}, {1, 1, 1}};
	for (int i = 0; i < 5; i++)
		ck_assert_int_eq(pfld_sample_make(&image, &face, 5, &options, keys[i].seed, keys[i].epoch, keys[i].index,
										  inputs, targets[i], NULL, NULL),
						 PFLD_OK);
	for (int i = 1; i < 4; i++) ck_assert_mem_ne(targets[0], targets[i], sizeof targets[0]);
	ck_assert_mem_eq(targets[0], targets[4], sizeof targets[0]);
	pfld_image_finish(&image);
}
END_TEST

int main(void)
{
	printf("seed %u\n", SEED);
	Suite *suite = suite_create("augment");
	TCase *plain = tcase_create("plain");
	tcase_set_timeout(plain, 60);
	tcase_add_test(plain, labels_follow_pixels);
	tcase_add_test(plain, default_draws);
	tcase_add_test(plain, default_pixels);
	tcase_add_test(plain, original_draws);
	tcase_add_test(plain, original_pixels);
	tcase_add_test(plain, mirror_alone);
	tcase_add_test(plain, samples_depend_on_seed_epoch_and_index);
	suite_add_tcase(suite, plain);
	SRunner *runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	int failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
