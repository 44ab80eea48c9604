// SPDX-License-Identifier: MIT
// The geometry of one face's crop: which part of the picture, and where its points lie in it. Numbers only: the draws
// of augmentation are augment.c, pixels are sample.c.
#ifndef PFLD_DATA_CROP_H
#define PFLD_DATA_CROP_H

#include <pfld/data.h>

// The largest side of a square cut on whole pixels, so that wild points cannot ask for any amount of memory.
#define PFLD_CROP_MAX_SIDE 16384
// Points further from the origin than this are refused: they are no places in a picture.
#define PFLD_CROP_MAX_COORDINATE 16777216.0 // pixels
#define PFLD_CROP_MAX_RELATIVE 256.0        // of a prepared crop

enum pfld_crop_way {
	PFLD_CROP_SAMPLED, // bilinear straight from the picture
	PFLD_CROP_CUT,     // a square of whole pixels copied, then resized
	PFLD_CROP_ROTATED, // the picture rotated onto whole pixels of a canvas, cut there, then resized
	PFLD_CROP_WHOLE,   // the picture is the crop: resized
};

// Affine maps are {a, b, c, d, e, f}: x' = a x + b y + c, y' = d x + e y + f. Both leave mirroring out, which comes
// last: u becomes 1 - u and the points change places.
struct pfld_crop {
	enum pfld_crop_way way;
	double to_pixels[6]; // crop-relative to pixel centres of the picture
	double to_labels[6]; // a face's points, as they stand in struct pfld_face, to crop-relative x label_side
	double label_side;   // divided by last, so that points on the edge are 0 or 1 exactly
	int32_t side;        // PFLD_CROP_CUT, _ROTATED: of the square on whole pixels
	int32_t left, top;   // its top left pixel, of the picture or of the rotated canvas
	int32_t canvas_width, canvas_height; // PFLD_CROP_ROTATED: outside it is black
	double degrees;                      // the content is rotated by, counter-clockwise as seen
	bool mirror;
};

// The box about a face's present points, in the coordinates of struct pfld_face.
struct pfld_extent {
	double x_min, y_min, x_max, y_max;
};
// PFLD_ERR_DATA: no point is present, or one is not finite or too far off.
enum pfld_status pfld_crop_extent(struct pfld_extent *extent, const struct pfld_face *face, int32_t num_points,
								  struct pfld_error *error) PFLD_MUST_USE;

// The originals' square on whole pixels about an extent in pixels.
struct pfld_whole_square {
	int32_t centre_x, centre_y, side, left, top;
};
struct pfld_whole_square pfld_crop_whole_square(const struct pfld_extent *extent);

// The crop without augmentation. For prepared rows the whole picture of width x height.
enum pfld_status pfld_crop_plain(struct pfld_crop *crop, const struct pfld_face *face, int32_t num_points,
								 enum pfld_crop_kind kind, int32_t width, int32_t height,
								 struct pfld_error *error) PFLD_MUST_USE;

// targets (2P) and mask (2P), either may be NULL; missing points are 0 in both. With crop->mirror, `map` must be given.
void pfld_crop_labels(const struct pfld_crop *crop, const struct pfld_face *face, int32_t num_points,
					  const int32_t *map, float *targets, float *target_mask);

// Pitch, yaw and roll of the face in the crop: in-plane rotation changes roll alone, mirroring the signs of yaw, roll.
void pfld_crop_angles(const struct pfld_crop *crop, const float angles[3], float turned[3]);

// result = outer after inner.
void pfld_affine_compose(double result[6], const double outer[6], const double inner[6]);

#endif
