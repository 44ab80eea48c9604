// SPDX-License-Identifier: MIT
// The draws of each recipe: the default one about the plain crop, and the originals' on whole pixels.
// Called by sample.c for a loader's samples and by prepare.c for the copies of a crop.
#include "data/augment.h"
#include "base/base.h"

#include <math.h>
#include <string.h>

#define PI 3.14159265358979323846
// Draws of the originals' recipes until every point is inside; then the plain crop is taken.
#define MAX_TRIES 100

// Of an angle up to a quarter turn, by their series: the C library's differ in the last bit between processors, and a
// sample must not.
static void sine_cosine(double degrees, double *sine, double *cosine)
{
	const double x = degrees * (PI / 180);
	double term = 1, parts[2] = {0, 0}; // even powers, odd powers
	for (int i = 0; i < 26; i++) {
		parts[i & 1] += i & 2 ? -term : term;
		term *= x / (i + 1);
	}
	*cosine = parts[0];
	*sine = parts[1];
}

// Rotate +-30 degrees, shift +-10 % of the side, scale 0.95 .. 1.25, each uniform: in the unit square of `crop`.
static void draw_default(struct pfld_crop *crop, struct pfld_random *random)
{
	const double degrees = pfld_random_range(random, -30, 30);
	const double x = 0.5 + pfld_random_range(random, -0.1, 0.1);
	const double y = 0.5 + pfld_random_range(random, -0.1, 0.1);
	const double scale = pfld_random_range(random, 0.95, 1.25);
	double s, c;
	sine_cosine(degrees, &s, &c);

	// From the drawn square to the plain one and back: plain = (x, y) + scale R (u - 1/2).
	const double out[6] = {
		scale * c, -scale * s, x - scale * (c - s) / 2, scale * s, scale * c, y - scale * (s + c) / 2,
	};
	const double back[6] = {
		c / scale, s / scale, 0.5 - (c * x + s * y) / scale, -s / scale, c / scale, 0.5 - (c * y - s * x) / scale,
	};
	const double unit[6] = {1 / crop->label_side, 0, 0, 0, 1 / crop->label_side, 0};
	pfld_affine_compose(crop->to_pixels, crop->to_pixels, out);
	pfld_affine_compose(crop->to_labels, unit, crop->to_labels);
	pfld_affine_compose(crop->to_labels, back, crop->to_labels);
	crop->label_side = 1;
	crop->way = PFLD_CROP_SAMPLED;
	crop->degrees = degrees;
}

// What the originals' recipes need to know of a face, in pixels of the picture.
struct pixel_face {
	const struct pfld_face *face;
	int32_t num_points;
	double to_picture[6]; // the face's points to pixels
	struct pfld_whole_square square;
};

static enum pfld_status find_pixel_face(struct pixel_face *found, const struct pfld_face *face, int32_t num_points,
										double half, int32_t width, int32_t height, struct pfld_error *error)
{
	*found = (struct pixel_face){.face = face, .num_points = num_points, .to_picture = {1, 0, 0, 0, 1, 0}};
	if (face->crop_relative) {
		const double whole[6] = {width, 0, -half, 0, height, -half};
		pfld_affine_compose(found->to_picture, whole, found->to_picture);
		found->square.centre_x = width / 2;
		found->square.centre_y = height / 2;
		found->square.side = PFLD_MAX(width, height);
		return PFLD_OK;
	}
	struct pfld_extent extent;
	enum pfld_status status = pfld_crop_extent(&extent, face, num_points, error);
	if (status) return status;
	found->square = pfld_crop_whole_square(&extent);
	return PFLD_OK;
}

static struct pfld_extent mapped_extent(const struct pixel_face *pixels, const double m[6])
{
	struct pfld_extent extent = {INFINITY, INFINITY, -INFINITY, -INFINITY};
	for (int32_t i = 0; i < pixels->num_points; i++) {
		if (pixels->face->present && !pixels->face->present[i]) continue;
		const double px = (double)pixels->face->points[2 * i], py = (double)pixels->face->points[2 * i + 1];
		const double x = m[0] * px + m[1] * py + m[2], y = m[3] * px + m[4] * py + m[5];
		extent.x_min = fmin(extent.x_min, x);
		extent.y_min = fmin(extent.y_min, y);
		extent.x_max = fmax(extent.x_max, x);
		extent.y_max = fmax(extent.y_max, y);
	}
	return extent;
}

// One draw: rotate about a shifted centre, then a square of random side about it. False when a point is outside.
static bool draw_whole_pixels(struct pfld_crop *crop, const struct pixel_face *pixels, int32_t max_degrees, double half,
							  struct pfld_random *random)
{
	const int32_t degrees = (int32_t)pfld_random_int(random, -max_degrees, max_degrees);
	const int32_t reach = pixels->square.side / 10;
	const int32_t cx = pixels->square.centre_x + (int32_t)pfld_random_int(random, -reach, reach + 1);
	const int32_t cy = pixels->square.centre_y + (int32_t)pfld_random_int(random, -reach, reach + 1);
	double s, c;
	sine_cosine(degrees, &s, &c);
	const double turn[6] = {c, s, (1 - c) * cx - s * cy, -s, c, s * cx + (1 - c) * cy};
	const double back[6] = {c, -s, (1 - c) * cx + s * cy, s, c, (1 - c) * cy - s * cx};

	double to_canvas[6];
	pfld_affine_compose(to_canvas, turn, pixels->to_picture);
	const struct pfld_extent extent = mapped_extent(pixels, to_canvas);
	const double wide = floor(extent.x_max - extent.x_min) + 1, high = floor(extent.y_max - extent.y_min) + 1;
	const int32_t side =
		(int32_t)pfld_random_int(random, (int64_t)fmin(wide, high), (int64_t)ceil(1.25 * fmax(wide, high)));
	const int32_t left = cx - side / 2, top = cy - side / 2;
	const double shift[6] = {1, 0, half - left, 0, 1, half - top};
	double to_labels[6];
	pfld_affine_compose(to_labels, shift, to_canvas);
	const struct pfld_extent placed = mapped_extent(pixels, to_labels);
	if (placed.x_min < 0 || placed.y_min < 0 || placed.x_max > side || placed.y_max > side) return false;

	const double square[6] = {side, 0, left - 0.5, 0, side, top - 0.5};
	pfld_affine_compose(crop->to_pixels, back, square);
	memcpy(crop->to_labels, to_labels, sizeof to_labels);
	crop->label_side = side;
	crop->side = side;
	crop->left = left;
	crop->top = top;
	crop->degrees = degrees;
	return true;
}

static enum pfld_status draw_original(struct pfld_crop *crop, const struct pfld_face *face, int32_t num_points,
									  enum pfld_crop_kind kind, int32_t max_degrees, int32_t width, int32_t height,
									  struct pfld_random *random, struct pfld_error *error)
{
	// Where crop-relative 0 lies before the centre of the first pixel: the originals put it on the centre.
	const double half = kind == PFLD_CROP_INTEGER ? 0 : 0.5;
	struct pixel_face pixels;
	enum pfld_status status = find_pixel_face(&pixels, face, num_points, half, width, height, error);
	if (status) return status;
	int tries = 0;
	while (tries < MAX_TRIES && !draw_whole_pixels(crop, &pixels, max_degrees, half, random)) tries++;
	if (tries == MAX_TRIES) return PFLD_OK; // the plain crop that is there
	if (crop->side > PFLD_CROP_MAX_SIDE)
		return pfld_fail(error, PFLD_ERR_DATA, "the points ask for a square of %d pixels: over the limit of %d",
						 (int)crop->side, PFLD_CROP_MAX_SIDE);
	crop->way = kind == PFLD_CROP_INTEGER ? PFLD_CROP_ROTATED : PFLD_CROP_SAMPLED;
	crop->canvas_width = (int32_t)(width * 1.1);
	crop->canvas_height = (int32_t)(height * 1.1);
	return PFLD_OK;
}

enum pfld_status pfld_augment_crop(struct pfld_crop *crop, const struct pfld_face *face, int32_t num_points,
								   enum pfld_crop_kind kind, enum pfld_augment_kind augment, bool can_mirror,
								   int32_t width, int32_t height, struct pfld_random *random, struct pfld_error *error)
{
	struct pfld_crop drawn;
	enum pfld_status status = pfld_crop_plain(&drawn, face, num_points, kind, width, height, error);
	if (status) return status;
	switch (augment) {
	case PFLD_AUGMENT_NONE: break;
	case PFLD_AUGMENT_DEFAULT: draw_default(&drawn, random); break;
	case PFLD_AUGMENT_TF:
	case PFLD_AUGMENT_PT:
		status = draw_original(&drawn, face, num_points, kind, augment == PFLD_AUGMENT_TF ? 20 : 30, width, height,
							   random, error);
		break;
	}
	if (status) return status;
	if (augment != PFLD_AUGMENT_NONE) drawn.mirror = (pfld_random_u32(random) & 1) && can_mirror;
	*crop = drawn;
	return PFLD_OK;
}
