// SPDX-License-Identifier: MIT
// The drawing that reports and `pfld predict` need: points on pictures, and pictures side by side. Not a graphics
// library; nothing that trains uses it.
#include "base/base.h"
#include <math.h>
#include <pfld/image.h>
#include <string.h>

// NaN becomes low.
static int32_t clamp_to_int(double value, int32_t low, int32_t high)
{
	if (!(value > low)) return low;
	return value < high ? (int32_t)value : high;
}

// Coverage falls from 1 to 0 over the one pixel about the rim.
void pfld_image_draw_disc(struct pfld_image *image, double x, double y, double radius, const uint8_t rgb[3])
{
	double reach = radius + 0.5;
	int32_t left = clamp_to_int(ceil(x - reach), 0, image->width);
	int32_t right = clamp_to_int(floor(x + reach) + 1.0, 0, image->width);
	int32_t top = clamp_to_int(ceil(y - reach), 0, image->height);
	int32_t bottom = clamp_to_int(floor(y + reach) + 1.0, 0, image->height);
	for (int32_t py = top; py < bottom; py++) {
		uint8_t *pixel = image->pixels + ((size_t)py * (size_t)image->width + (size_t)left) * 3;
		for (int32_t px = left; px < right; px++, pixel += 3) {
			double coverage = reach - hypot(px - x, py - y);
			if (!(coverage > 0.0)) continue;
			if (coverage > 1.0) coverage = 1.0;
			for (int c = 0; c < 3; c++) pixel[c] = (uint8_t)(pixel[c] + coverage * (rgb[c] - pixel[c]) + 0.5);
		}
	}
}

void pfld_image_paste(struct pfld_image *image, const struct pfld_image *source, int32_t x, int32_t y)
{
	// 64 bits: x + width may be beyond int32_t.
	int64_t left = PFLD_MAX(x, 0), right = PFLD_MIN((int64_t)x + source->width, image->width);
	int64_t top = PFLD_MAX(y, 0), bottom = PFLD_MIN((int64_t)y + source->height, image->height);
	if (left >= right) return;
	for (int64_t row = top; row < bottom; row++) {
		uint8_t *to = image->pixels + ((size_t)row * (size_t)image->width + (size_t)left) * 3;
		const uint8_t *from = source->pixels + ((size_t)(row - y) * (size_t)source->width + (size_t)(left - x)) * 3;
		memcpy(to, from, (size_t)(right - left) * 3);
	}
}
