// SPDX-License-Identifier: MIT
// VGG16 and VGG19: blocks of 3 x 3 convolutions with bias and relu, a 2 x 2 maximum behind each block.
#include "models/backbone.h"

static pfld_value features(struct pfld_backbone_build *build, pfld_value x)
{
	static const int32_t filters[5] = {64, 128, 256, 512, 512};
	static const int32_t num_convs[2][5] = {{2, 2, 3, 3, 3}, {2, 2, 4, 4, 4}};
	const int32_t *num = num_convs[build->options->backbone == PFLD_VGG19];
	for (int block = 0; block < 5; block++) {
		for (int i = 0; i < num[block]; i++) {
			struct pfld_layer_name name = pfld_layer_name("block%d_conv%d", block + 1, i + 1);
			x = pfld_keras_conv(build, x,
								&(struct pfld_keras_conv){.name = name.text,
														  .filters = filters[block],
														  .kernel_h = 3,
														  .kernel_w = 3,
														  .padding = PFLD_SAME,
														  .bias = true});
			x = pfld_relu(build->net, x, pfld_layer_name("%s_relu", name.text).text);
		}
		x = pfld_keras_max_pool(build, x, pfld_layer_name("block%d_pool", block + 1).text, 2, 2, PFLD_VALID);
	}
	return x;
}

static pfld_value top(struct pfld_backbone_build *build, pfld_value x)
{
	x = pfld_flatten(build->net, x, "flatten");
	x = pfld_relu(build->net, pfld_keras_dense(build, x, "fc1", 4096), "fc1_relu");
	x = pfld_relu(build->net, pfld_keras_dense(build, x, "fc2", 4096), "fc2_relu");
	x = pfld_keras_dense(build, x, "predictions", build->options->num_classes);
	return pfld_keras_softmax(build, x, "predictions_softmax");
}

const struct pfld_backbone_family pfld_vgg_family = {features, top};
