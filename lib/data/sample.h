// SPDX-License-Identifier: MIT
// One sample from one decoded picture: pixels, labels, mask, angles. The loader and prepare call it in threads, each
// with a scratch of its own.
#ifndef PFLD_DATA_SAMPLE_H
#define PFLD_DATA_SAMPLE_H

#include "base/random.h"
#include "data/crop.h"

// What crops on whole pixels need beside the picture; kept and grown. Start from zeroes.
struct pfld_sample_scratch {
	struct pfld_image cut, resized;
	float *row; // (width of a cut, 3)
	size_t row_capacity;
};
void pfld_sample_scratch_finish(struct pfld_sample_scratch *scratch);
uint64_t pfld_sample_scratch_bytes(const struct pfld_sample_scratch *scratch);

// PFLD_ERR_ARGUMENT: the options of a sample are outside their range, or the mirror map is no involution.
enum pfld_status pfld_sample_check(const struct pfld_sample_options *options, int32_t num_points,
								   struct pfld_error *error) PFLD_MUST_USE;
int32_t pfld_sample_size(const struct pfld_sample_options *options); // with the default put in

// Where a sample goes; NULL where it is not wanted.
struct pfld_sample {
	float *inputs;                // (size, size, 3)
	float *targets, *target_mask; // (2P)
	float *angles;                // (3)
};
// As pfld_sample_make() with checked options. Nothing is written on failure.
enum pfld_status pfld_sample_fill(const struct pfld_sample *sample, const struct pfld_image *image,
								  const struct pfld_face *face, int32_t num_points,
								  const struct pfld_sample_options *options, struct pfld_random *random,
								  struct pfld_sample_scratch *scratch, struct pfld_error *error) PFLD_MUST_USE;

// A failure that says nothing about the file or face, such as want of memory or descriptors: it must not be left out.
bool pfld_sample_failure_stops(const struct pfld_error *error);
// What is wrong with a face does not say whose it is: put path and line before it.
void pfld_sample_name_failure(const struct pfld_face *face, struct pfld_error *error);

// The pixels of a crop on whole pixels (any way but PFLD_CROP_SAMPLED) as scratch->resized, size x size, mirrored
// where the crop says so.
enum pfld_status pfld_sample_picture(const struct pfld_crop *crop, const struct pfld_image *image, int32_t size,
									 struct pfld_sample_scratch *scratch, struct pfld_error *error) PFLD_MUST_USE;

#endif
