// SPDX-License-Identifier: MIT
// A net's parameters as Keras sees them, layer by layer, and which array of a Keras file is which. Called by
// weights_load.c and weights_keras.c.
#ifndef PFLD_TRAIN_KERAS_MATCH_H
#define PFLD_TRAIN_KERAS_MATCH_H

#include "io/keras.h"
#include "net/net.h"

// Parameters of one layer of Keras's: what stands before the last slash of their names. Two layers of ours may be one
// of Keras's (separable convolutions).
struct pfld_keras_group {
	const char *name; // `length` bytes of it; belongs to the net
	size_t length;
	int32_t first, num; // parameters, side by side
	const char *kind;   // Keras's class in its files: "conv2d"; static
};
// A fresh array (free() it), in the order of the net.
enum pfld_status pfld_keras_groups(struct pfld_keras_group **groups, size_t *num, const struct pfld_net *net,
								   struct pfld_error *error) PFLD_MUST_USE;

// The entry that each parameter's numbers are in, -1 where there is none.
enum pfld_status pfld_keras_match(const struct pfld_keras_file *file, const struct pfld_net *net,
								  int32_t *entry_of_param, struct pfld_error *error) PFLD_MUST_USE;

#endif
