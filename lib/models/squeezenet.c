// SPDX-License-Identifier: MIT
// SqueezeNet 1.1: fire modules, a 1 x 1 convolution that squeezes and two that expand, 1 x 1 and 3 x 3, side by side.
// All convolutions have a bias, there is no batch norm. Layer names hold a slash, as in the public Keras port.
#include "models/backbone.h"

static pfld_value conv(const struct pfld_backbone_build *build, pfld_value x, const char *name, int32_t filters,
					   int32_t kernel, int32_t stride, enum pfld_padding padding)
{
	return pfld_keras_conv(build, x,
						   &(struct pfld_keras_conv){.name = name,
													 .filters = filters,
													 .kernel_h = kernel,
													 .kernel_w = kernel,
													 .stride = stride,
													 .padding = padding,
													 .bias = true});
}

static pfld_value fire(const struct pfld_backbone_build *build, pfld_value x, int number, int32_t squeeze,
					   int32_t expand)
{
	x = conv(build, x, pfld_layer_name("fire%d/squeeze1x1", number).text, squeeze, 1, 1, PFLD_VALID);
	x = pfld_relu(build->net, x, pfld_layer_name("fire%d/relu_squeeze1x1", number).text);
	pfld_value y[2] = {
		conv(build, x, pfld_layer_name("fire%d/expand1x1", number).text, expand, 1, 1, PFLD_VALID),
		conv(build, x, pfld_layer_name("fire%d/expand3x3", number).text, expand, 3, 1, PFLD_SAME),
	};
	y[0] = pfld_relu(build->net, y[0], pfld_layer_name("fire%d/relu_expand1x1", number).text);
	y[1] = pfld_relu(build->net, y[1], pfld_layer_name("fire%d/relu_expand3x3", number).text);
	return pfld_concat(build->net, y, 2, pfld_layer_name("fire%d/concat", number).text);
}

static pfld_value features(struct pfld_backbone_build *build, pfld_value x)
{
	x = pfld_relu(build->net, conv(build, x, "conv1", 64, 3, 2, PFLD_VALID), "relu_conv1");
	x = pfld_keras_max_pool(build, x, "pool1", 3, 2, PFLD_VALID);
	x = fire(build, fire(build, x, 2, 16, 64), 3, 16, 64);
	x = pfld_keras_max_pool(build, x, "pool3", 3, 2, PFLD_VALID);
	x = fire(build, fire(build, x, 4, 32, 128), 5, 32, 128);
	x = pfld_keras_max_pool(build, x, "pool5", 3, 2, PFLD_VALID);
	x = fire(build, fire(build, x, 6, 48, 192), 7, 48, 192);
	return fire(build, fire(build, x, 8, 64, 256), 9, 64, 256);
}

static pfld_value top(struct pfld_backbone_build *build, pfld_value x)
{
	x = pfld_dropout(build->net, x, 0.5, "drop9");
	x = pfld_relu(build->net, conv(build, x, "conv10", build->options->num_classes, 1, 1, PFLD_VALID), "relu_conv10");
	x = pfld_global_avg_pool(build->net, x, "avg_pool");
	return pfld_keras_softmax(build, x, "loss");
}

const struct pfld_backbone_family pfld_squeezenet_family = {features, top};
