// SPDX-License-Identifier: MIT
// Sampling, resizing and drawing, each against a plain loop in double written from its definition.
#include "image_maker.h"

#include <check.h>
#include <math.h>
#include <pfld/image.h>
#include <stdlib.h>
#include <string.h>

static struct pfld_error error;

static struct pfld_image noise(int32_t width, int32_t height, uint64_t seed)
{
	struct pfld_image image = {0};
	ck_assert_int_eq(pfld_image_resize_buffer(&image, width, height, &error), PFLD_OK);
	for (size_t i = 0; i < (size_t)width * (size_t)height * 3; i++) image.pixels[i] = (uint8_t)next_random(&seed);
	return image;
}

// The pixel, or 0 outside.
static double pixel_or_black(const struct pfld_image *image, double x, double y, int channel)
{
	if (!(x >= 0 && y >= 0 && x < image->width && y < image->height)) return 0.0;
	return image->pixels[((int32_t)y * image->width + (int32_t)x) * 3 + channel];
}

// grid_sample's definition: four neighbours, weighted by the area of the opposite rectangle.
static double sample_by_definition(const struct pfld_image *image, double x, double y, int channel)
{
	double left = floor(x), top = floor(y), right = x - left, down = y - top;
	return pixel_or_black(image, left, top, channel) * (1 - right) * (1 - down) +
	       pixel_or_black(image, left + 1, top, channel) * right * (1 - down) +
	       pixel_or_black(image, left, top + 1, channel) * (1 - right) * down +
	       pixel_or_black(image, left + 1, top + 1, channel) * right * down;
}

static void check_sample(const struct pfld_image *source, const double m[6], int32_t size_x, int32_t size_y)
{
	float *destination = malloc((size_t)size_x * (size_t)size_y * 3 * sizeof(float));
	ck_assert_ptr_nonnull(destination);
	pfld_image_sample(source, m, destination, size_x, size_y);
	for (int32_t j = 0; j < size_y; j++) {
		for (int32_t i = 0; i < size_x; i++) {
			double x = m[0] * i + m[1] * j + m[2], y = m[3] * i + m[4] * j + m[5];
			for (int c = 0; c < 3; c++) {
				double expected = sample_by_definition(source, x, y, c);
				float value = destination[(j * size_x + i) * 3 + c];
				ck_assert_msg(fabs(value - expected) < 1e-4, "(%d, %d): %.9g, not %.9g", i, j, (double)value, expected);
			}
		}
	}
	free(destination);
}

START_TEST(sample_follows_its_definition)
{
	static const double maps[][6] = {
		{1, 0, 0, 0, 1, 0},       // the picture itself and beyond
		{1, 0, -5, 0, 1, -3},     // whole pixels, partly outside
		{1, 0, 0.25, 0, 1, 0.75}, // between pixels
		{0.37, 0.11, -1.3, -0.2, 0.41, 3.9},
		{-1, 0, 16, 0, 1, 0},          // mirror
		{0, 1, 0, 1, 0, 0},            // transpose
		{2.5, -1.5, -4, 1.5, 2.5, -9}, // turned and far outside
		{0, 0, 16, 0, 0, 10},          // the last pixel
		{0, 0, -0.999, 0, 0, 10.999},  // barely inside
	};
	struct pfld_image source = noise(17, 11, 1), thin = noise(9, 1, 2), one = noise(1, 1, 3);
	for (size_t i = 0; i < sizeof maps / sizeof maps[0]; i++) {
		check_sample(&source, maps[i], 21, 15);
		check_sample(&thin, maps[i], 21, 15);
		check_sample(&one, maps[i], 3, 3);
	}
	pfld_image_finish(&source);
	pfld_image_finish(&thin);
	pfld_image_finish(&one);
}
END_TEST

START_TEST(sample_is_exact_where_it_can_be)
{
	static const double identity[6] = {1, 0, 0, 0, 1, 0}, turned[6] = {0.3, 0.2, 2.1, -0.2, 0.3, 5.7};
	struct pfld_image source = noise(17, 11, 1);
	float destination[17 * 11 * 3];
	pfld_image_sample(&source, identity, destination, 17, 11);
	for (int i = 0; i < 17 * 11 * 3; i++) ck_assert(destination[i] == source.pixels[i]);
	memset(source.pixels, 77, 17 * 11 * 3);
	pfld_image_sample(&source, turned, destination, 12, 9);
	for (int i = 0; i < 12 * 9 * 3; i++) ck_assert(destination[i] == 77.0f);
	pfld_image_finish(&source);
}
END_TEST

START_TEST(sample_takes_any_number)
{
	static const double strange[] = {NAN, INFINITY, -INFINITY, 1e300, -1e300, 1e18, -2147483649.0, 2147483648.0};
	struct pfld_image source = noise(17, 11, 1);
	for (size_t k = 0; k < 6 * (sizeof strange / sizeof strange[0]); k++) {
		double m[6] = {1, 0, 0, 0, 1, 0};
		m[k % 6] = strange[k / 6];
		float destination[4 * 4 * 3];
		pfld_image_sample(&source, m, destination, 4, 4);
		for (int i = 0; i < 4 * 4 * 3; i++) ck_assert(destination[i] >= 0.0f && destination[i] <= 255.0f);
	}
	pfld_image_finish(&source);
}
END_TEST

// OpenCV's definition of INTER_LINEAR, rounded to nearest.
static void check_resize(const struct pfld_image *source, int32_t width, int32_t height)
{
	struct pfld_image image = {0};
	ck_assert_int_eq(pfld_image_resize(&image, source, width, height, &error), PFLD_OK);
	ck_assert_int_eq(image.width, width);
	ck_assert_int_eq(image.height, height);
	for (int32_t j = 0; j < height; j++) {
		double y = (j + 0.5) * source->height / height - 0.5;
		y = fmin(fmax(y, 0), source->height - 1);
		for (int32_t i = 0; i < width; i++) {
			double x = (i + 0.5) * source->width / width - 0.5;
			x = fmin(fmax(x, 0), source->width - 1);
			for (int c = 0; c < 3; c++) {
				double expected = sample_by_definition(source, x, y, c);
				int value = image.pixels[(j * width + i) * 3 + c];
				ck_assert_msg(fabs(value - expected) < 0.5001, "(%d, %d): %d, not %.9g", i, j, value, expected);
			}
		}
	}
	pfld_image_finish(&image);
}

START_TEST(resize_follows_its_definition)
{
	struct pfld_image source = noise(17, 11, 4), one = noise(1, 1, 5), thin = noise(400, 1, 6);
	check_resize(&source, 17, 11);
	check_resize(&source, 34, 22);
	check_resize(&source, 5, 3);
	check_resize(&source, 16, 40);
	check_resize(&source, 1, 1);
	check_resize(&one, 8, 9);
	check_resize(&thin, 112, 112);
	struct pfld_image same = {0};
	ck_assert_int_eq(pfld_image_resize(&same, &source, 17, 11, &error), PFLD_OK);
	ck_assert_mem_eq(same.pixels, source.pixels, 17 * 11 * 3);
	ck_assert_int_eq(pfld_image_resize(&same, &same, 5, 5, &error), PFLD_ERR_ARGUMENT);
	ck_assert_int_eq(pfld_image_resize(&same, &source, 0, 5, &error), PFLD_ERR_ARGUMENT);
	ck_assert_int_eq(same.width, 17);
	struct pfld_image empty = {0};
	ck_assert_int_eq(pfld_image_resize(&same, &empty, 5, 5, &error), PFLD_ERR_ARGUMENT);
	pfld_image_finish(&same);
	pfld_image_finish(&source);
	pfld_image_finish(&one);
	pfld_image_finish(&thin);
}
END_TEST

START_TEST(a_disc_covers_its_area)
{
	static const uint8_t white[3] = {255, 255, 255}, red[3] = {255, 0, 0};
	struct pfld_image image = {0};
	ck_assert_int_eq(pfld_image_resize_buffer(&image, 41, 31, &error), PFLD_OK);
	memset(image.pixels, 0, 41 * 31 * 3);
	pfld_image_draw_disc(&image, 20.3, 14.6, 6.0, white);
	double covered = 0, x = 0, y = 0;
	for (int i = 0; i < 41 * 31; i++) {
		covered += image.pixels[i * 3] / 255.0;
		x += image.pixels[i * 3] / 255.0 * (i % 41);
		y += image.pixels[i * 3] / 255.0 * (double)(i / 41);
	}
	ck_assert_double_eq_tol(covered, 3.14159265 * 36, 1.5);
	ck_assert_double_eq_tol(x / covered, 20.3, 0.02);
	ck_assert_double_eq_tol(y / covered, 14.6, 0.02);
	memset(image.pixels, 0, 41 * 31 * 3);
	pfld_image_draw_disc(&image, 5, 7, 1.0, red);
	ck_assert_mem_eq(image.pixels + (7 * 41 + 5) * 3, red, 3);
	ck_assert_int_eq(image.pixels[(7 * 41 + 7) * 3], 0);
	// Partly and wholly outside, and strange numbers: nothing is written that is not in the picture.
	static const double strange[] = {-3, 40, 45, -1e300, 1e300, NAN, INFINITY};
	for (size_t i = 0; i < 7 * 7 * 7; i++)
		pfld_image_draw_disc(&image, strange[i % 7], strange[i / 7 % 7], strange[i / 49], red);
	pfld_image_finish(&image);
}
END_TEST

START_TEST(paste_leaves_out_what_is_outside)
{
	static const int32_t places[][2] = {{0, 0},         {3, 2},         {-2, -1}, {7, 5},
	                                    {-5, 0},        {10, 0},        {0, 8},   {0, -4},
	                                    {INT32_MAX, 0}, {0, INT32_MAX}, {-1, 6},  {INT32_MIN, INT32_MIN}};
	struct pfld_image source = noise(5, 4, 7);
	for (size_t k = 0; k < sizeof places / sizeof places[0]; k++) {
		struct pfld_image image = noise(10, 8, 8), before = noise(10, 8, 8);
		pfld_image_paste(&image, &source, places[k][0], places[k][1]);
		for (int i = 0; i < 80; i++) {
			int64_t x = i % 10 - (int64_t)places[k][0], y = i / 10 - (int64_t)places[k][1];
			const uint8_t *expected = before.pixels + i * 3;
			if (x >= 0 && x < 5 && y >= 0 && y < 4) expected = source.pixels + (y * 5 + x) * 3;
			ck_assert_mem_eq(image.pixels + i * 3, expected, 3);
		}
		pfld_image_finish(&image);
		pfld_image_finish(&before);
	}
	pfld_image_finish(&source);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("image_pixels");
	TCase *pixels = tcase_create("pixels");
	tcase_add_test(pixels, sample_follows_its_definition);
	tcase_add_test(pixels, sample_is_exact_where_it_can_be);
	tcase_add_test(pixels, sample_takes_any_number);
	tcase_add_test(pixels, resize_follows_its_definition);
	tcase_add_test(pixels, a_disc_covers_its_area);
	tcase_add_test(pixels, paste_leaves_out_what_is_outside);
	suite_add_tcase(suite, pixels);
	SRunner *runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	int num_failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return num_failed ? 1 : 0;
}
