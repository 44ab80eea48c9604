// SPDX-License-Identifier: MIT
// One face of five points in pictures of noise, for the tests of crops and of augmentation.
#ifndef PFLD_TESTS_CROP_PICTURES_H
#define PFLD_TESTS_CROP_PICTURES_H

#include <pfld/data.h>

#define SEED 20240611u
#define SIZE 112 // of the crops

// Eyes, nose, corners of the mouth. Eyes and corners change places in a mirror.
extern const int32_t map5[5];
extern const float points5[10];

void fill_noise(struct pfld_image *image, int32_t width, int32_t height, uint64_t seed);
void fill_black(struct pfld_image *image, int32_t width, int32_t height);
// Bilinear value of the picture, black outside.
double bilinear(const struct pfld_image *image, double x, double y, int channel);
// How many of the values are not those pixels. (One assertion a pixel takes seconds.)
int count_other(const float *values, const struct pfld_image *expected);
// Where the light of a crop lies, crop-relative. False: hardly any is inside.
bool light(const float *values, double centre[2]);
// pfld_sample_make() with SEED in epoch 3; it must succeed.
void make_sample(const struct pfld_image *image, const struct pfld_face *face, int32_t num_points,
				 const struct pfld_sample_options *options, uint32_t index, float *inputs, float *targets, float *mask);

#endif
