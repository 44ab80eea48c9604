// SPDX-License-Identifier: MIT
// Inside of weights: one region, parameters and statistics side by side in the net's order.
#ifndef PFLD_NET_WEIGHTS_H
#define PFLD_NET_WEIGHTS_H

#include "net/net.h"
#include <pfld/weights.h>

struct pfld_weights {
	struct pfld_device *device;
	const struct pfld_net *net;
	struct pfld_region region;
	struct pfld_tensor **tensors; // by parameter
	size_t *offsets;              // bytes, by parameter
};

// Offsets of all parameters and the bytes in all; offsets may be NULL.
size_t pfld_weights_layout(const struct pfld_net *net, size_t alignment_bytes, size_t *offsets);
// The bytes at the end, where all moving statistics lie.
size_t pfld_weights_statistics_bytes(const struct pfld_net *net, size_t alignment_bytes);

#endif
