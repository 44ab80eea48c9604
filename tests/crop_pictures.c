// SPDX-License-Identifier: MIT
// See crop_pictures.h.
#include "crop_pictures.h"

#include "base/random.h"

#include <check.h>
#include <math.h>
#include <string.h>

const int32_t map5[5] = {1, 0, 2, 4, 3};
const float points5[10] = {40.25f, 50.5f, 80.75f, 47.0f, 61.0f, 70.25f, 45.5f, 92.0f, 77.0f, 90.75f};

void fill_noise(struct pfld_image *image, int32_t width, int32_t height, uint64_t seed)
{
	struct pfld_error error;
	ck_assert_int_eq(pfld_image_resize_buffer(image, width, height, &error), PFLD_OK);
	struct pfld_random random = pfld_random_stream(seed, PFLD_RANDOM_TEST, 0, 0);
	for (int32_t i = 0; i < 3 * width * height; i++) image->pixels[i] = (uint8_t)pfld_random_u32(&random);
}

void fill_black(struct pfld_image *image, int32_t width, int32_t height)
{
	struct pfld_error error;
	ck_assert_int_eq(pfld_image_resize_buffer(image, width, height, &error), PFLD_OK);
	memset(image->pixels, 0, 3 * (size_t)width * (size_t)height);
}

static double pixel(const struct pfld_image *image, int32_t x, int32_t y, int channel)
{
	if (x < 0 || y < 0 || x >= image->width || y >= image->height) return 0;
	return image->pixels[3 * (y * image->width + x) + channel];
}

int count_other(const float *values, const struct pfld_image *expected)
{
	int num = 0;
	for (int i = 0; i < 3 * expected->width * expected->height; i++) num += values[i] != (float)expected->pixels[i];
	return num;
}

double bilinear(const struct pfld_image *image, double x, double y, int channel)
{
	const int32_t left = (int32_t)floor(x), top = (int32_t)floor(y);
	const double right = x - left, down = y - top;
	return (1 - down) *
			   ((1 - right) * pixel(image, left, top, channel) + right * pixel(image, left + 1, top, channel)) +
		   down *
			   ((1 - right) * pixel(image, left, top + 1, channel) + right * pixel(image, left + 1, top + 1, channel));
}

void make_sample(const struct pfld_image *image, const struct pfld_face *face, int32_t num_points,
				 const struct pfld_sample_options *options, uint32_t index, float *inputs, float *targets, float *mask)
{
	struct pfld_error error = {0};
	const enum pfld_status status =
		pfld_sample_make(image, face, num_points, options, SEED, 3, index, inputs, targets, mask, &error);
	ck_assert_msg(status == PFLD_OK, "%s", error.message);
}

bool light(const float *values, double centre[2])
{
	double sum = 0, x = 0, y = 0;
	for (int j = 0; j < SIZE; j++) {
		for (int i = 0; i < SIZE; i++) {
			const double v = (double)values[3 * (j * SIZE + i)];
			sum += v;
			x += v * (i + 0.5) / SIZE;
			y += v * (j + 0.5) / SIZE;
		}
	}
	if (sum < 1) return false;
	centre[0] = x / sum;
	centre[1] = y / sum;
	return true;
}
