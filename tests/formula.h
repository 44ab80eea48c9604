// SPDX-License-Identifier: MIT
// Weights and pictures from a formula by name, as golden/make_keras_backbones.py makes them for Keras.
#ifndef PFLD_TESTS_FORMULA_H
#define PFLD_TESTS_FORMULA_H

#include <pfld/pfld.h>

// All parameters and statistics. Fails the test on an error.
void formula_fill(struct pfld_weights *weights);
// (num, size, size, 3) numbers in -1..1.
void formula_pictures(double *pixels, int32_t num, int32_t size);
// Keras 3 calls a depthwise layer's parameter "kernel": our name for a name of its, into `own`, which is returned.
const char *formula_own_name(const struct pfld_net *net, const char *name, char own[128]);

#endif
