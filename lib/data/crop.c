// SPDX-License-Identifier: MIT
// The plain crop of a face, and labels and angles of any crop. Called by augment.c and sample.c.
#include "data/crop.h"
#include "base/base.h"

#include <math.h>
#include <string.h>

void pfld_affine_compose(double result[6], const double outer[6], const double inner[6])
{
	const double composed[6] = {
		outer[0] * inner[0] + outer[1] * inner[3],
		outer[0] * inner[1] + outer[1] * inner[4],
		outer[0] * inner[2] + outer[1] * inner[5] + outer[2],
		outer[3] * inner[0] + outer[4] * inner[3],
		outer[3] * inner[1] + outer[4] * inner[4],
		outer[3] * inner[2] + outer[4] * inner[5] + outer[5],
	};
	memcpy(result, composed, sizeof composed);
}

enum pfld_status pfld_crop_extent(struct pfld_extent *extent, const struct pfld_face *face, int32_t num_points,
								  struct pfld_error *error)
{
	const double limit = face->crop_relative ? PFLD_CROP_MAX_RELATIVE : PFLD_CROP_MAX_COORDINATE;
	struct pfld_extent found = {INFINITY, INFINITY, -INFINITY, -INFINITY};
	for (int32_t i = 0; i < num_points; i++) {
		if (face->present && !face->present[i]) continue;
		const double x = (double)face->points[2 * i], y = (double)face->points[2 * i + 1];
		// Written so that NaN fails too.
		if (!(fabs(x) <= limit && fabs(y) <= limit))
			return pfld_fail(error, PFLD_ERR_DATA, "point %d is not a place in a picture", (int)i);
		found.x_min = fmin(found.x_min, x);
		found.y_min = fmin(found.y_min, y);
		found.x_max = fmax(found.x_max, x);
		found.y_max = fmax(found.y_max, y);
	}
	if (found.x_min > found.x_max) return pfld_fail(error, PFLD_ERR_DATA, "all %d points are missing", (int)num_points);
	*extent = found;
	return PFLD_OK;
}

// Floor and not truncation, so that a face partly outside the picture is cut as if the picture were larger.
struct pfld_whole_square pfld_crop_whole_square(const struct pfld_extent *extent)
{
	const double x = floor(extent->x_min), y = floor(extent->y_min);
	const double width = floor(extent->x_max) - x + 1, height = floor(extent->y_max) - y + 1;
	struct pfld_whole_square square = {
		.centre_x = (int32_t)floor(x + width / 2),
		.centre_y = (int32_t)floor(y + height / 2),
		.side = (int32_t)(fmax(width, height) * 1.2),
	};
	square.left = square.centre_x - square.side / 2;
	square.top = square.centre_y - square.side / 2;
	return square;
}

static void set_whole_picture(struct pfld_crop *crop, int32_t width, int32_t height)
{
	*crop = (struct pfld_crop){
		.way = PFLD_CROP_WHOLE,
		.to_pixels = {width, 0, -0.5, 0, height, -0.5},
		.to_labels = {1, 0, 0, 0, 1, 0}, // the row's numbers as they stand
		.label_side = 1,
	};
}

static enum pfld_status set_float(struct pfld_crop *crop, const struct pfld_extent *extent, struct pfld_error *error)
{
	const double side = 1.2 * fmax(extent->x_max - extent->x_min, extent->y_max - extent->y_min);
	if (!(side > 0)) return pfld_fail(error, PFLD_ERR_DATA, "all points are at one place");
	const double left = (extent->x_min + extent->x_max) / 2 - side / 2;
	const double top = (extent->y_min + extent->y_max) / 2 - side / 2;
	*crop = (struct pfld_crop){
		.way = PFLD_CROP_SAMPLED,
		.to_pixels = {side, 0, left, 0, side, top},
		.to_labels = {1, 0, -left, 0, 1, -top},
		.label_side = side,
	};
	return PFLD_OK;
}

// The labels are the originals' (point - top left pixel) / side: half a pixel of the cut less than where the point is
// seen. Lists that they and `pfld prepare` write have them so.
static enum pfld_status set_whole_pixels(struct pfld_crop *crop, const struct pfld_extent *extent,
										 struct pfld_error *error)
{
	const struct pfld_whole_square square = pfld_crop_whole_square(extent);
	if (square.side > PFLD_CROP_MAX_SIDE)
		return pfld_fail(error, PFLD_ERR_DATA, "the points ask for a square of %d pixels: over the limit of %d",
						 (int)square.side, PFLD_CROP_MAX_SIDE);
	const double side = square.side;
	*crop = (struct pfld_crop){
		.way = PFLD_CROP_CUT,
		.to_pixels = {side, 0, square.left - 0.5, 0, side, square.top - 0.5},
		.to_labels = {1, 0, -square.left, 0, 1, -square.top},
		.label_side = side,
		.side = square.side,
		.left = square.left,
		.top = square.top,
	};
	return PFLD_OK;
}

enum pfld_status pfld_crop_plain(struct pfld_crop *crop, const struct pfld_face *face, int32_t num_points,
								 enum pfld_crop_kind kind, int32_t width, int32_t height, struct pfld_error *error)
{
	struct pfld_extent extent;
	enum pfld_status status = pfld_crop_extent(&extent, face, num_points, error);
	if (status) return status;
	if (face->crop_relative) {
		set_whole_picture(crop, width, height);
		return PFLD_OK;
	}
	return kind == PFLD_CROP_INTEGER ? set_whole_pixels(crop, &extent, error) : set_float(crop, &extent, error);
}

void pfld_crop_labels(const struct pfld_crop *crop, const struct pfld_face *face, int32_t num_points,
					  const int32_t *map, float *targets, float *target_mask)
{
	const double *m = crop->to_labels;
	for (int32_t i = 0; i < num_points; i++) {
		const int32_t from = crop->mirror ? map[i] : i;
		const bool present = !face->present || face->present[from];
		if (target_mask) target_mask[2 * i] = target_mask[2 * i + 1] = present ? 1.0f : 0.0f;
		if (!targets) continue;
		const double x = (double)face->points[2 * from], y = (double)face->points[2 * from + 1];
		const double u = (m[0] * x + m[1] * y + m[2]) / crop->label_side;
		const double v = (m[3] * x + m[4] * y + m[5]) / crop->label_side;
		targets[2 * i] = present ? (float)(crop->mirror ? 1 - u : u) : 0.0f;
		targets[2 * i + 1] = present ? (float)v : 0.0f;
	}
}

void pfld_crop_angles(const struct pfld_crop *crop, const float angles[3], float turned[3])
{
	const double sign = crop->mirror ? -1 : 1;
	const double roll = remainder((double)angles[2] - crop->degrees, 360);
	turned[0] = angles[0];
	turned[1] = (float)(sign * (double)angles[1]);
	turned[2] = (float)(sign * roll);
}
