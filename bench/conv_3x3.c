// SPDX-License-Identifier: MIT
// How fast dense windows are: the shapes of PFLD, its angle net and VGG16, forward and both gradients. Measuring:
// conv.c.
#include "conv.h"

#include "base/base.h"

static const struct conv_shape shapes[] = {
	{"pfld", 112, 112, 3, 64, 1, 3, 2},         {"pfld", 56, 56, 64, 64, 1, 3, 1},
	{"pfld", 14, 14, 16, 32, 1, 3, 2},          {"pfld angles", 28, 28, 64, 128, 1, 3, 2},
	{"pfld angles", 14, 14, 128, 128, 1, 3, 1}, {"vgg16", 56, 56, 256, 256, 1, 3, 1},
	{"vgg16", 14, 14, 512, 512, 1, 3, 1},
};

int main(int argc, char **argv)
{
	struct conv_bench bench = {
		.program = "conv_3x3",
		.about = "dense 3x3 convolutions of PFLD (112 x 112), its angle net and VGG16 (224 x 224)",
		.shapes = shapes,
		.num_shapes = PFLD_COUNT(shapes),
		.batch = 16,
	};
	return conv_bench(&bench, argc, argv);
}
