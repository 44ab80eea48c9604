// SPDX-License-Identifier: MIT
// How fast 1x1 convolutions are: the shapes of PFLD and MobileNetV2, forward and both gradients. Measuring: conv.c.
#include "conv.h"

#include "base/base.h"

static const struct conv_shape shapes[] = {
	{"pfld", 56, 56, 64, 128, 1, 1, 1},         {"pfld", 28, 28, 128, 64, 1, 1, 1},
	{"pfld", 28, 28, 64, 128, 1, 1, 1},         {"pfld", 14, 14, 128, 128, 1, 1, 1},
	{"pfld", 14, 14, 128, 512, 1, 1, 1},        {"pfld", 14, 14, 512, 128, 1, 1, 1},
	{"pfld", 14, 14, 256, 16, 1, 1, 1},         {"mobilenet_v2", 112, 112, 16, 96, 1, 1, 1},
	{"mobilenet_v2", 56, 56, 24, 144, 1, 1, 1}, {"mobilenet_v2", 56, 56, 144, 24, 1, 1, 1},
	{"mobilenet_v2", 28, 28, 192, 32, 1, 1, 1}, {"mobilenet_v2", 14, 14, 384, 64, 1, 1, 1},
	{"mobilenet_v2", 7, 7, 160, 960, 1, 1, 1},  {"mobilenet_v2", 7, 7, 320, 1280, 1, 1, 1},
	{"linear", 1, 1, 1280, 1000, 1, 1, 1},
};

int main(int argc, char **argv)
{
	struct conv_bench bench = {
		.program = "conv_pw",
		.about = "1x1 convolutions of PFLD (112 x 112) and MobileNetV2 (224 x 224)",
		.shapes = shapes,
		.num_shapes = PFLD_COUNT(shapes),
		.batch = 16,
	};
	return conv_bench(&bench, argc, argv);
}
