// SPDX-License-Identifier: MIT
// Small nets for tests that hold every kind of layer, and what tests do with nets again and again.
#ifndef PFLD_TESTS_ZOO_H
#define PFLD_TESTS_ZOO_H

#include "device/device.h"
#include <check.h>
#include <pfld/pfld.h>

#define ck_pfld(call) \
	do { \
		struct pfld_error ck_error_ = {0}; \
		struct pfld_error *error = &ck_error_; \
		enum pfld_status ck_status_ = (call); \
		ck_assert_msg(ck_status_ == PFLD_OK, "%s: %s: %s", #call, pfld_status_name(ck_status_), ck_error_.message); \
	} while (0)

// "image" (8, 8, 3) through every kind of layer to "points" (6) and, from half way, "angles" (3).
struct pfld_net *zoo_net(void);
// A convolution, batch norm, ReLU, pooling, linear: "image" (8, 8, 3) to "points" (6).
struct pfld_net *small_net(void);

// Every layer but those that are convolutions inside: "image" (size, size, 3) to "points" (6) and "angles" (3).
struct pfld_net *norm_net(int32_t size);

struct pfld_device *zoo_device(int32_t num_threads);
// Numbers in -1..1 from a seed.
void zoo_numbers(double *numbers, size_t num, uint64_t seed);
// Fill a batch's used fields for num_samples, from a seed.
void zoo_batch(struct pfld_batch *batch, const struct pfld_net *net, int32_t num_samples, uint64_t seed);
void zoo_fill(struct pfld_tensor *tensor, uint64_t seed);

#endif
