// SPDX-License-Identifier: MIT
// How fast depthwise convolutions are: the shapes of PFLD and MobileNetV2, forward and both gradients. Measuring:
// conv.c.
#include "conv.h"

#include "base/base.h"

static const struct conv_shape shapes[] = {
	{"pfld", 56, 56, 64, 64, 64, 3, 1},
	{"pfld", 56, 56, 128, 128, 128, 3, 2},
	{"pfld", 28, 28, 128, 128, 128, 3, 1},
	{"pfld", 28, 28, 128, 128, 128, 3, 2},
	{"pfld", 14, 14, 512, 512, 512, 3, 1},
	{"pfld", 14, 14, 256, 256, 256, 3, 1},
	{"mobilenet_v2", 112, 112, 32, 32, 32, 3, 1},
	{"mobilenet_v2", 112, 112, 96, 96, 96, 3, 2},
	{"mobilenet_v2", 56, 56, 144, 144, 144, 3, 1},
	{"mobilenet_v2", 56, 56, 144, 144, 144, 3, 2},
	{"mobilenet_v2", 28, 28, 192, 192, 192, 3, 1},
	{"mobilenet_v2", 28, 28, 192, 192, 192, 3, 2},
	{"mobilenet_v2", 14, 14, 384, 384, 384, 3, 1},
	{"mobilenet_v2", 14, 14, 576, 576, 576, 3, 1},
	{"mobilenet_v2", 14, 14, 576, 576, 576, 3, 2},
	{"mobilenet_v2", 7, 7, 960, 960, 960, 3, 1},
};

int main(int argc, char **argv)
{
	struct conv_bench bench = {
		.program = "conv_dw",
		.about = "depthwise convolutions of PFLD (112 x 112) and MobileNetV2 (224 x 224)",
		.shapes = shapes,
		.num_shapes = PFLD_COUNT(shapes),
		.batch = 16,
	};
	return conv_bench(&bench, argc, argv);
}
