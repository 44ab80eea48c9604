// SPDX-License-Identifier: MIT
// Bilinear sampling: through an affine map (augmentation, crops) and to another size. Every output pixel is a function
// of the source and its own coordinates alone, so results do not depend on how the work is cut. Called by the loader.
#include "base/base.h"
#include <math.h>
#include <pfld/image.h>

// The bilinear value inside the square of four pixels, by two lerps: flat areas stay exactly flat, and nothing leaves
// the range of its neighbours.
static float lerp_square(float top_left, float top_right, float bottom_left, float bottom_right, float right,
                         float down)
{
	float top = top_left + right * (top_right - top_left);
	float bottom = bottom_left + right * (bottom_right - bottom_left);
	return top + down * (bottom - top);
}

static void sample_inside(float rgb[3], const uint8_t *top_left, size_t row_bytes, float right, float down)
{
	const uint8_t *bottom_left = top_left + row_bytes;
	for (int c = 0; c < 3; c++)
		rgb[c] = lerp_square(top_left[c], top_left[c + 3], bottom_left[c], bottom_left[c + 3], right, down);
}

// Anywhere: neighbours outside count as 0. Written so that NaN is outside.
static void sample_anywhere(float rgb[3], const struct pfld_image *source, double x, double y)
{
	rgb[0] = rgb[1] = rgb[2] = 0.0f;
	if (!(x > -1.0 && y > -1.0 && x < source->width && y < source->height)) return;
	double left = floor(x), top = floor(y);
	float right = (float)(x - left), down = (float)(y - top);
	float square[2][2][3] = {{{0}}};
	for (int v = 0; v < 2; v++) {
		for (int u = 0; u < 2; u++) {
			int32_t px = (int32_t)left + u, py = (int32_t)top + v;
			if (px < 0 || py < 0 || px >= source->width || py >= source->height) continue;
			const uint8_t *pixel = source->pixels + ((size_t)py * (size_t)source->width + (size_t)px) * 3;
			for (int c = 0; c < 3; c++) square[v][u][c] = pixel[c];
		}
	}
	for (int c = 0; c < 3; c++)
		rgb[c] = lerp_square(square[0][0][c], square[0][1][c], square[1][0][c], square[1][1][c], right, down);
}

void pfld_image_sample(const struct pfld_image *source, const double m[6], float *destination, int32_t size_x,
                       int32_t size_y)
{
	size_t row_bytes = (size_t)source->width * 3;
	double last_x = source->width - 1.0, last_y = source->height - 1.0;
	for (int32_t j = 0; j < size_y; j++) {
		double x_of_row = m[1] * j + m[2], y_of_row = m[4] * j + m[5];
		for (int32_t i = 0; i < size_x; i++, destination += 3) {
			double x = m[0] * i + x_of_row, y = m[3] * i + y_of_row;
			if (x >= 0.0 && y >= 0.0 && x < last_x && y < last_y) {
				// Not negative, so cutting off is rounding down.
				int32_t left = (int32_t)x, top = (int32_t)y;
				const uint8_t *top_left = source->pixels + (size_t)top * row_bytes + (size_t)left * 3;
				sample_inside(destination, top_left, row_bytes, (float)(x - left), (float)(y - top));
			} else {
				sample_anywhere(destination, source, x, y);
			}
		}
	}
}

// Where destination index i of `num` lies among `num_source` pixels, half-pixel centres: the lower neighbour, the share
// of the upper one, and the step to it (0 at the edge, which is repeated).
struct position {
	int32_t lower, step;
	float share;
};

static struct position find_position(int32_t i, int32_t num, int32_t num_source)
{
	double at = (i + 0.5) * num_source / num - 0.5;
	if (at < 0.0) at = 0.0;
	struct position position = {.lower = (int32_t)at};
	if (position.lower >= num_source - 1) {
		position.lower = num_source - 1;
		return position;
	}
	position.step = 1;
	position.share = (float)(at - position.lower);
	return position;
}

enum pfld_status pfld_image_resize(struct pfld_image *destination, const struct pfld_image *source, int32_t width,
                                   int32_t height, struct pfld_error *error)
{
	if (source == destination || source->width < 1 || source->height < 1)
		return pfld_fail(error, PFLD_ERR_ARGUMENT, "Resizing needs a source with pixels that is not the destination.");
	enum pfld_status status = pfld_image_resize_buffer(destination, width, height, error);
	if (status != PFLD_OK) return status;
	size_t row_bytes = (size_t)source->width * 3;
	uint8_t *rgb = destination->pixels;
	for (int32_t j = 0; j < height; j++) {
		struct position row = find_position(j, height, source->height);
		const uint8_t *top = source->pixels + (size_t)row.lower * row_bytes, *bottom = top + row.step * row_bytes;
		for (int32_t i = 0; i < width; i++, rgb += 3) {
			struct position column = find_position(i, width, source->width);
			size_t left = (size_t)column.lower * 3, right = left + (size_t)column.step * 3;
			for (int c = 0; c < 3; c++) {
				float value = lerp_square(top[left + c], top[right + c], bottom[left + c], bottom[right + c],
				                          column.share, row.share);
				rgb[c] = (uint8_t)(value + 0.5f);
			}
		}
	}
	return PFLD_OK;
}
