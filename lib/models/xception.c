// SPDX-License-Identifier: MIT
// Xception: separable convolutions in residual blocks. The shortcuts with a convolution have automatic names, and stand
// behind the block's last separable convolution, as in Keras's list of layers.
#include "models/backbone.h"

static pfld_value separable_norm(const struct pfld_backbone_build *build, pfld_value x, int block, int number,
								 int32_t filters)
{
	struct pfld_layer_name name = pfld_layer_name("block%d_sepconv%d", block, number);
	x = pfld_separable_conv2d(build->net, x,
							  &(struct pfld_separable_options){.name = name.text,
															   .filters = filters,
															   .kernel = {3, 3},
															   .padding = PFLD_SAME,
															   .no_bias = true,
															   .kernel_init = PFLD_INIT_GLOROT_UNIFORM});
	return pfld_keras_norm(build, x, pfld_layer_name("block%d_sepconv%d_bn", block, number).text);
}

static pfld_value act(const struct pfld_backbone_build *build, pfld_value x, int block, int number)
{
	return pfld_relu(build->net, x, pfld_layer_name("block%d_sepconv%d_act", block, number).text);
}

// Two separable convolutions, a maximum over 3 x 3 that halves the picture, and the shortcut.
static pfld_value halving_block(struct pfld_backbone_build *build, pfld_value x, int block, int32_t first,
								int32_t second)
{
	struct pfld_layer_name conv_name = pfld_automatic_name("conv2d", &build->num_convs);
	struct pfld_layer_name norm_name = pfld_automatic_name("batch_normalization", &build->num_norms);
	pfld_value y = block == 2 ? x : act(build, x, block, 1);
	y = act(build, separable_norm(build, y, block, 1, first), block, 2);
	y = separable_norm(build, y, block, 2, second);
	pfld_value shortcut = pfld_keras_conv(build, x,
										  &(struct pfld_keras_conv){.name = conv_name.text,
																	.filters = second,
																	.kernel_h = 1,
																	.kernel_w = 1,
																	.stride = 2,
																	.padding = PFLD_SAME});
	y = pfld_keras_max_pool(build, y, pfld_layer_name("block%d_pool", block).text, 3, 2, PFLD_SAME);
	shortcut = pfld_keras_norm(build, shortcut, norm_name.text);
	return pfld_add(build->net, (pfld_value[]){y, shortcut}, 2, NULL, NULL);
}

static pfld_value middle_block(const struct pfld_backbone_build *build, pfld_value x, int block)
{
	pfld_value y = x;
	for (int i = 1; i <= 3; i++) y = separable_norm(build, act(build, y, block, i), block, i, 728);
	return pfld_add(build->net, (pfld_value[]){y, x}, 2, NULL, NULL);
}

static pfld_value stem(const struct pfld_backbone_build *build, pfld_value x, const char *name, int32_t filters,
					   int32_t stride)
{
	struct pfld_keras_conv conv = {.name = name, .filters = filters, .kernel_h = 3, .kernel_w = 3, .stride = stride};
	x = pfld_keras_norm(build, pfld_keras_conv(build, x, &conv), pfld_layer_name("%s_bn", name).text);
	return pfld_relu(build->net, x, pfld_layer_name("%s_act", name).text);
}

static pfld_value features(struct pfld_backbone_build *build, pfld_value x)
{
	x = stem(build, stem(build, x, "block1_conv1", 32, 2), "block1_conv2", 64, 1);
	x = halving_block(build, x, 2, 128, 128);
	x = halving_block(build, x, 3, 256, 256);
	x = halving_block(build, x, 4, 728, 728);
	for (int block = 5; block <= 12; block++) x = middle_block(build, x, block);
	x = halving_block(build, x, 13, 728, 1024);
	x = act(build, separable_norm(build, x, 14, 1, 1536), 14, 1);
	return act(build, separable_norm(build, x, 14, 2, 2048), 14, 2);
}

const struct pfld_backbone_family pfld_xception_family = {features, pfld_keras_top};
