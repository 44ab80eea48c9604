// SPDX-License-Identifier: MIT
// Augmentation: one crop drawn at random by one of the recipes. Geometry only: no recipe changes colours.
#ifndef PFLD_DATA_AUGMENT_H
#define PFLD_DATA_AUGMENT_H

#include "base/random.h"
#include "data/crop.h"

// The crop of `face` in a picture of width x height; numbers are taken from `random` unless `augment` is NONE.
// can_mirror: a mirror map is there (the number that decides is drawn all the same). Errors as pfld_crop_plain().
enum pfld_status pfld_augment_crop(struct pfld_crop *crop, const struct pfld_face *face, int32_t num_points,
								   enum pfld_crop_kind kind, enum pfld_augment_kind augment, bool can_mirror,
								   int32_t width, int32_t height, struct pfld_random *random,
								   struct pfld_error *error) PFLD_MUST_USE;

#endif
