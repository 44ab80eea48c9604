// SPDX-License-Identifier: MIT
// The built-in faces: a small software renderer that draws heads with 98 landmarks (WFLW order), known pose,
// expression, light, make-up, occlusion and blur, so that a first training run, tests and benches need no download.
// They are a demonstration: a net that does well on them has learned to invert this renderer, and no figure measured
// on them says anything about photographs. Called by the dataset behind `builtin:train` and `builtin:test`.
//
// Face `index` of a split depends on (seed, split, index) alone; the two splits share no identity. The arithmetic is
// + - * / and sqrt (no C library functions whose last bits differ between machines). Both functions are safe to call
// from any thread and keep nothing between calls.
#ifndef PFLD_DATA_FACES_H
#define PFLD_DATA_FACES_H

#include <pfld/image.h>
#include <stdint.h>

enum pfld_faces_split { PFLD_FACES_TRAIN, PFLD_FACES_TEST };

#define PFLD_FACES_POINTS 98
// Pictures are square; sides are even and lie in this range (both included).
#define PFLD_FACES_MIN_SIDE 160
#define PFLD_FACES_MAX_SIDE 176

struct pfld_faces_sample {
	float points[PFLD_FACES_POINTS * 2]; // x, y in pixel centres of the picture; all inside it
	float attributes[6]; // pose, expression, illumination, make-up, occlusion, blur: 1 where strong, else 0
	// The pose the head was drawn with, in degrees: pitch (positive: nose down), yaw (positive: nose towards the left of
	// the picture), roll (positive: clockwise in the picture); 0, 0, 0 looks straight at the camera. The signs are those
	// of pfld_pose_from_points(), whose generic head makes of a straight look a pitch of about 10.
	float angles[3];
	float box[4]; // x_min, y_min, x_max, y_max of the points
	int32_t side; // width and height of the picture
};

// What face `index` is, without drawing it (a small fraction of the time).
void pfld_faces_describe(uint64_t seed, enum pfld_faces_split split, uint64_t index, struct pfld_faces_sample *sample);

// Draw it into `image` (side x side). PFLD_ERR_MEMORY: no room for the picture or for the canvas, which is taken at
// the start (under 2 MiB) and given back at the end; `image` then has undefined pixels.
enum pfld_status pfld_faces_render(uint64_t seed, enum pfld_faces_split split, uint64_t index, struct pfld_image *image,
								   struct pfld_error *error);

#endif
