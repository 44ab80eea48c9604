// SPDX-License-Identifier: MIT
// Pixels of a crop, and the public calls for one sample by hand. Geometry is crop.c and augment.c.
#include "data/sample.h"
#include "base/base.h"
#include "data/augment.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEFAULT_SIZE 112
#define MAX_SIZE 8192

void pfld_sample_scratch_finish(struct pfld_sample_scratch *scratch)
{
	pfld_image_finish(&scratch->cut);
	pfld_image_finish(&scratch->resized);
	free(scratch->row);
	*scratch = (struct pfld_sample_scratch){0};
}

uint64_t pfld_sample_scratch_bytes(const struct pfld_sample_scratch *scratch)
{
	return scratch->cut.capacity_bytes + scratch->resized.capacity_bytes + scratch->row_capacity * sizeof *scratch->row;
}

int32_t pfld_sample_size(const struct pfld_sample_options *options)
{
	return options->size ? options->size : DEFAULT_SIZE;
}

bool pfld_sample_failure_stops(const struct pfld_error *error)
{
	return error->status == PFLD_ERR_MEMORY || error->transient;
}

void pfld_sample_name_failure(const struct pfld_face *face, struct pfld_error *error)
{
	const struct pfld_error reason = *error;
	char shown[PFLD_SHOWN_BYTES], line[48] = "";
	if (face->line) snprintf(line, sizeof line, ", line %lld of the list", (long long)face->line);
	(void)pfld_fail(error, reason.status, "\"%s\"%s: %s", pfld_show(shown, face->image_path, 400), line,
					reason.message);
}

enum pfld_status pfld_sample_check(const struct pfld_sample_options *options, int32_t num_points,
								   struct pfld_error *error)
{
	if (num_points < 1) return pfld_fail(error, PFLD_ERR_ARGUMENT, "%d points: there is no such face", (int)num_points);
	if (options->size < 0 || options->size > MAX_SIZE)
		return pfld_fail(error, PFLD_ERR_ARGUMENT, "input size %d is outside 1..%d", (int)options->size, MAX_SIZE);
	if ((unsigned)options->crop > PFLD_CROP_INTEGER || (unsigned)options->augment > PFLD_AUGMENT_PT ||
		(unsigned)options->scaling > PFLD_SCALE_NONE)
		return pfld_fail(error, PFLD_ERR_ARGUMENT, "unknown crop %d, augmentation %d or scaling %d", (int)options->crop,
						 (int)options->augment, (int)options->scaling);
	const int32_t *map = options->mirror_map;
	for (int32_t i = 0; map && i < num_points; i++) {
		if (map[i] < 0 || map[i] >= num_points || map[map[i]] != i)
			return pfld_fail(error, PFLD_ERR_ARGUMENT,
							 "the mirror map does not pair point %d: it says %d, and a pair must name each other",
							 (int)i, (int)map[i]);
	}
	return PFLD_OK;
}

// The picture turned into the cut's whole pixels, row by row, rounded to 8 bits as the originals' rotation does.
static enum pfld_status rotate_cut(const struct pfld_crop *crop, const struct pfld_image *image,
								   struct pfld_sample_scratch *scratch, struct pfld_error *error)
{
	// The part of the cut that the canvas covers; the cut is black already.
	const int32_t x0 = PFLD_MAX(0, -crop->left), x1 = PFLD_MIN(crop->side, crop->canvas_width - crop->left);
	const int32_t y0 = PFLD_MAX(0, -crop->top), y1 = PFLD_MIN(crop->side, crop->canvas_height - crop->top);
	if (x0 >= x1 || y0 >= y1) return PFLD_OK;
	const size_t row_values = 3 * (size_t)(x1 - x0);
	if (!pfld_grow(&scratch->row, &scratch->row_capacity, row_values, sizeof *scratch->row))
		return pfld_fail_memory(error, row_values * sizeof *scratch->row, "a row of a crop");

	const double step = 1.0 / crop->side;
	const double cells[6] = {step, 0, (x0 + 0.5) * step, 0, step, 0.5 * step};
	double map[6];
	pfld_affine_compose(map, crop->to_pixels, cells);
	for (int32_t y = y0; y < y1; y++) {
		const double row_map[6] = {map[0], 0, map[1] * y + map[2], map[3], 0, map[4] * y + map[5]};
		pfld_image_sample(image, row_map, scratch->row, x1 - x0, 1);
		uint8_t *row = scratch->cut.pixels + 3 * ((size_t)y * (size_t)crop->side + (size_t)x0);
		for (size_t i = 0; i < row_values; i++) row[i] = (uint8_t)(scratch->row[i] + 0.5f);
	}
	return PFLD_OK;
}

static void mirror_picture(struct pfld_image *image)
{
	for (int32_t y = 0; y < image->height; y++) {
		uint8_t *left = image->pixels + 3 * (size_t)y * (size_t)image->width;
		uint8_t *right = left + 3 * (size_t)(image->width - 1);
		for (; left < right; left += 3, right -= 3) {
			uint8_t kept[3];
			memcpy(kept, left, 3);
			memcpy(left, right, 3);
			memcpy(right, kept, 3);
		}
	}
}

enum pfld_status pfld_sample_picture(const struct pfld_crop *crop, const struct pfld_image *image, int32_t size,
									 struct pfld_sample_scratch *scratch, struct pfld_error *error)
{
	const struct pfld_image *source = image;
	enum pfld_status status = PFLD_OK;
	if (crop->way != PFLD_CROP_WHOLE) {
		source = &scratch->cut;
		status = pfld_image_resize_buffer(&scratch->cut, crop->side, crop->side, error);
		if (status) return status;
		memset(scratch->cut.pixels, 0, 3 * (size_t)crop->side * (size_t)crop->side);
		if (crop->way == PFLD_CROP_CUT)
			pfld_image_paste(&scratch->cut, image, -crop->left, -crop->top);
		else
			status = rotate_cut(crop, image, scratch, error);
	}
	if (!status) status = pfld_image_resize(&scratch->resized, source, size, size, error);
	if (!status && crop->mirror) mirror_picture(&scratch->resized);
	return status;
}

// 0..255 to what a net reads, in place; channels in the order asked for.
static void scale_inputs(float *inputs, int32_t size, const struct pfld_sample_options *options)
{
	static const float divisors[] = {
		[PFLD_SCALE_255] = 255.0f, [PFLD_SCALE_256] = 256.0f, [PFLD_SCALE_SIGNED] = 127.5f, [PFLD_SCALE_NONE] = 1.0f};
	const float divisor = divisors[options->scaling], offset = options->scaling == PFLD_SCALE_SIGNED ? 1.0f : 0.0f;
	const size_t num_values = 3 * (size_t)size * (size_t)size;
	for (size_t i = 0; i < num_values; i++) inputs[i] = inputs[i] / divisor - offset;
	if (!options->bgr) return;
	for (size_t i = 0; i < num_values; i += 3) {
		const float red = inputs[i];
		inputs[i] = inputs[i + 2];
		inputs[i + 2] = red;
	}
}

static void mirror_inputs(float *inputs, int32_t size)
{
	for (int32_t y = 0; y < size; y++) {
		float *left = inputs + 3 * (size_t)y * (size_t)size, *right = left + 3 * (size_t)(size - 1);
		for (; left < right; left += 3, right -= 3) {
			float kept[3];
			memcpy(kept, left, sizeof kept);
			memcpy(left, right, sizeof kept);
			memcpy(right, kept, sizeof kept);
		}
	}
}

// `to_pixels` maps crop-relative points; the centre of cell (i, j) is ((i + 1/2) / size, (j + 1/2) / size).
static void sample_inputs(const double to_pixels[6], const struct pfld_image *image, float *inputs, int32_t size)
{
	const double step = 1.0 / size;
	const double cells[6] = {step, 0, 0.5 * step, 0, step, 0.5 * step};
	double map[6];
	pfld_affine_compose(map, to_pixels, cells);
	pfld_image_sample(image, map, inputs, size, size);
}

enum pfld_status pfld_sample_fill(const struct pfld_sample *sample, const struct pfld_image *image,
								  const struct pfld_face *face, int32_t num_points,
								  const struct pfld_sample_options *options, struct pfld_random *random,
								  struct pfld_sample_scratch *scratch, struct pfld_error *error)
{
	const int32_t size = pfld_sample_size(options);
	struct pfld_crop crop;
	enum pfld_status status =
		pfld_augment_crop(&crop, face, num_points, options->crop, options->augment, options->mirror_map != NULL,
						  image->width, image->height, random, error);
	if (status) return status;
	if (crop.way == PFLD_CROP_SAMPLED) {
		sample_inputs(crop.to_pixels, image, sample->inputs, size);
		if (crop.mirror) mirror_inputs(sample->inputs, size);
	} else {
		status = pfld_sample_picture(&crop, image, size, scratch, error);
		if (status) return status;
		const size_t num_values = 3 * (size_t)size * (size_t)size;
		for (size_t i = 0; i < num_values; i++) sample->inputs[i] = scratch->resized.pixels[i];
	}
	scale_inputs(sample->inputs, size, options);
	pfld_crop_labels(&crop, face, num_points, options->mirror_map, sample->targets, sample->target_mask);
	if (sample->angles) pfld_crop_angles(&crop, face->angles, sample->angles);
	return PFLD_OK;
}

enum pfld_status pfld_sample_make(const struct pfld_image *image, const struct pfld_face *face, int32_t num_points,
								  const struct pfld_sample_options *options, uint64_t seed, int32_t epoch,
								  uint32_t index, float *inputs, float *targets, float *target_mask,
								  struct pfld_error *error)
{
	if (!image || !image->pixels || image->width < 1 || image->height < 1 || !face || !options || !inputs)
		return pfld_fail(error, PFLD_ERR_ARGUMENT, "a picture, a face, options and room for the inputs are needed");
	enum pfld_status status = pfld_sample_check(options, num_points, error);
	if (status) return status;
	struct pfld_random random = pfld_random_stream(seed, PFLD_RANDOM_AUGMENT, (uint64_t)(uint32_t)epoch, index);
	struct pfld_sample_scratch scratch = {0};
	const struct pfld_sample sample = {.inputs = inputs, .targets = targets, .target_mask = target_mask};
	status = pfld_sample_fill(&sample, image, face, num_points, options, &random, &scratch, error);
	pfld_sample_scratch_finish(&scratch);
	return status;
}

enum pfld_status pfld_sample_box(const struct pfld_image *image, const float box[4],
								 const struct pfld_sample_options *options, float *inputs, double map[6],
								 struct pfld_error *error)
{
	if (!image || !image->pixels || image->width < 1 || image->height < 1 || !box || !options || !inputs)
		return pfld_fail(error, PFLD_ERR_ARGUMENT, "a picture, a box, options and room for the inputs are needed");
	struct pfld_sample_options plain = *options;
	plain.mirror_map = NULL; // nothing is mirrored here, whatever the number of points
	enum pfld_status status = pfld_sample_check(&plain, 1, error);
	if (status) return status;
	const double width = (double)box[2] - (double)box[0], height = (double)box[3] - (double)box[1];
	const double x = ((double)box[0] + (double)box[2]) / 2, y = ((double)box[1] + (double)box[3]) / 2;
	const double side = 1.1 * fmax(width, height);
	// Written so that NaN fails too.
	if (!(width > 0 && height > 0 && fabs(x) + side <= PFLD_CROP_MAX_COORDINATE &&
		  fabs(y) + side <= PFLD_CROP_MAX_COORDINATE))
		return pfld_fail(error, PFLD_ERR_ARGUMENT, "the face box has no area, or is no place in a picture");

	const int32_t size = pfld_sample_size(options);
	double square[6] = {side, 0, x - side / 2, 0, side, y - side / 2};
	sample_inputs(square, image, inputs, size);
	scale_inputs(inputs, size, options);
	if (!map) return PFLD_OK;
	// The originals' labels count from the centre of the first pixel, not from its edge.
	const double late = options->crop == PFLD_CROP_INTEGER ? 0.5 : 0;
	square[2] += late;
	square[5] += late;
	memcpy(map, square, sizeof square);
	return PFLD_OK;
}
