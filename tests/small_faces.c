// SPDX-License-Identifier: MIT
// See small_faces.h.
#define _XOPEN_SOURCE 700 // truncate
#include "small_faces.h"

#include "base/base.h"
#include "base/random.h"

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void join(char path[1024], const char *folder, const char *name)
{
	ck_assert_int_lt(snprintf(path, 1024, "%s/%s", folder, name), 1024);
}

void put_noise_picture(const char *folder, const char *name, int32_t width, int32_t height, uint64_t seed)
{
	char path[1024];
	join(path, folder, name);
	for (char *at = path + strlen(folder) + 1; (at = strchr(at, '/')); at++) {
		*at = '\0';
		(void)mkdir(path, 0777);
		*at = '/';
	}
	struct pfld_image image = {0};
	struct pfld_error error = {0};
	ck_assert_int_eq(pfld_image_resize_buffer(&image, width, height, &error), PFLD_OK);
	struct pfld_random random = pfld_random_stream(seed, PFLD_RANDOM_TEST, 1, 0);
	for (int32_t i = 0; i < 3 * width * height; i++) image.pixels[i] = (uint8_t)pfld_random_u32(&random);
	ck_assert_msg(pfld_image_write_png(&image, path, &error) == PFLD_OK, "%s", error.message);
	pfld_image_finish(&image);
}

void put_raw_row(const char *folder, const char *name, int32_t num_points, double x, double y, double radius,
				 uint64_t seed)
{
	char path[1024], number[PFLD_NUMBER_BYTES];
	join(path, folder, "raw.txt");
	FILE *file = fopen(path, "a");
	ck_assert_ptr_nonnull(file);
	struct pfld_random random = pfld_random_stream(seed, PFLD_RANDOM_TEST, 2, 0);
	const double squeeze = pfld_random_range(&random, 0.7, 1), tilt = pfld_random_range(&random, -0.4, 0.4);
	for (int32_t i = 0; i < num_points; i++) {
		const double angle = 6.28318530717958647692 * i / num_points;
		const double px = squeeze * radius * sin(angle), py = radius * cos(angle) * (0.8 + 0.2 * sin(3 * angle));
		fprintf(file, "%s ", pfld_format_double(number, x + cos(tilt) * px - sin(tilt) * py, 8));
		fprintf(file, "%s ", pfld_format_double(number, y + sin(tilt) * px + cos(tilt) * py, 8));
	}
	const int odd = (int)(seed % 2);
	fprintf(file, "%d %d %d %d %d %d %d %d %d %d %s\n", (int)(x - radius), (int)(y - radius), (int)(x + radius),
			(int)(y + radius), !odd, odd, !odd, odd, !odd, odd, name);
	ck_assert_int_eq(fclose(file), 0);
}

struct pfld_dataset *open_list(const char *folder, const char *list, int32_t num_points)
{
	char path[1024];
	join(path, folder, list);
	struct pfld_dataset *dataset = NULL;
	struct pfld_error error = {0};
	const struct pfld_dataset_options options = {.num_points = num_points, .max_bad = 1};
	ck_assert_msg(pfld_dataset_open(&dataset, path, &options, &error) == PFLD_OK, "%s", error.message);
	return dataset;
}

struct pfld_dataset *open_small_faces(const char *folder, int num, int32_t num_points)
{
	for (int i = 0; i < num; i++) {
		char name[64];
		snprintf(name, sizeof name, "imgs/%d.png", i);
		put_noise_picture(folder, name, 48, 40, (uint64_t)i);
		put_raw_row(folder, name, num_points, 20 + i % 7, 18 + i % 5, 10 + i % 4, (uint64_t)i);
	}
	struct pfld_dataset *dataset = open_list(folder, "raw.txt", num_points);
	ck_assert_int_eq(pfld_dataset_size(dataset), num);
	return dataset;
}

void truncate_file(const char *folder, const char *name, long num_bytes)
{
	char path[1024];
	join(path, folder, name);
	ck_assert_int_eq(truncate(path, num_bytes), 0);
}

void ring_mirror_map(int32_t num_points, int32_t *map)
{
	for (int32_t i = 0; i < num_points; i++) map[i] = (num_points - i) % num_points;
}
