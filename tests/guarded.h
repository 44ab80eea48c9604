// SPDX-License-Identifier: MIT
// Tensors for testing kernels: what is not the tensor's own is poisoned with NaN and watched, and behind its last
// element lies a page that nobody may touch.
#ifndef PFLD_TESTS_GUARDED_H
#define PFLD_TESTS_GUARDED_H

#include "device/backend.h"

// Bytes that end where their last page ends.
struct buffer {
	char *mapped, *data;
	size_t mapped_bytes, bytes;
};
struct buffer buffer_create(size_t bytes);  // all ones: NaN in every element
void buffer_destroy(struct buffer *buffer); // fails the test when something was written in front

// n samples inside wider pixels.
struct tensor {
	struct buffer buffer;
	struct pfld_region region;
	struct pfld_operand operand;
	int32_t n;
};
// `channel` and `behind`: foreign elements before and behind the tensor's own in each pixel.
void tensor_create(struct tensor *tensor, int32_t n, int32_t h, int32_t w, int32_t c, int32_t channel, int32_t behind);
void tensor_destroy(struct tensor *tensor); // with check_gaps()
pfld_real *element(const struct tensor *tensor, int32_t s, int32_t y, int32_t x, int32_t c);
void fill_random(struct tensor *tensor);      // [-1, 1), the same numbers in every run
void check_gaps(const struct tensor *tensor); // fails the test when something was written between the channels

#define FOR_EACH(tensor, s, i, j, k)                                                                                   \
	for (int32_t s = 0; s < (tensor)->n; s++)                                                                          \
		for (int32_t i = 0; i < (tensor)->operand.h; i++)                                                              \
			for (int32_t j = 0; j < (tensor)->operand.w; j++)                                                          \
				for (int32_t k = 0; k < (tensor)->operand.c; k++)

#endif
