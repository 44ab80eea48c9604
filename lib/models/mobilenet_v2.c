// SPDX-License-Identifier: MIT
// MobileNetV2: inverted residuals, 1 x 1 that expands, depthwise 3 x 3, 1 x 1 that projects, linear. Keras pads a
// stride of 2 by the parity of the size, which is TensorFlow's SAME.
#include "models/backbone.h"

// The nearest multiple of 8, not under nine tenths.
static int32_t channels(double wanted)
{
	int32_t rounded = (int32_t)(wanted + 4) / 8 * 8;
	if (rounded < 8) rounded = 8;
	return rounded < 0.9 * wanted ? rounded + 8 : rounded;
}

// Convolution (filters > 0) or depthwise; the names of norm and activation are not always of one form.
static pfld_value unit(const struct pfld_backbone_build *build, pfld_value x, const char *name, int32_t filters,
					   int32_t kernel, int32_t stride, const char *norm, const char *act)
{
	struct pfld_keras_conv conv = {.name = name,
								   .filters = filters,
								   .kernel_h = kernel,
								   .kernel_w = kernel,
								   .stride = stride,
								   .padding = PFLD_SAME};
	x = pfld_keras_norm(build, pfld_keras_conv(build, x, &conv), norm);
	return act ? pfld_relu6(build->net, x, act) : x;
}

// The part of a block: PREFIX_part, PREFIX_part_BN, PREFIX_part_relu.
static pfld_value part(const struct pfld_backbone_build *build, pfld_value x, const char *prefix, const char *name,
					   int32_t filters, int32_t kernel, int32_t stride, bool linear)
{
	struct pfld_layer_name conv = pfld_layer_name("%s_%s", prefix, name);
	struct pfld_layer_name act = pfld_layer_name("%s_relu", conv.text);
	return unit(build, x, conv.text, filters, kernel, stride, pfld_layer_name("%s_BN", conv.text).text,
				linear ? NULL : act.text);
}

static pfld_value block(const struct pfld_backbone_build *build, pfld_value x, int number, int32_t filters,
						int32_t stride)
{
	int32_t in;
	pfld_net_shape(build->net, x, NULL, NULL, &in);
	struct pfld_layer_name prefix = number ? pfld_layer_name("block_%d", number) : pfld_layer_name("expanded_conv");
	int32_t out = channels((int32_t)(filters * build->options->alpha));
	pfld_value y = number ? part(build, x, prefix.text, "expand", 6 * in, 1, 1, false) : x;
	y = part(build, y, prefix.text, "depthwise", 0, 3, stride, false);
	y = part(build, y, prefix.text, "project", out, 1, 1, true);
	if (stride != 1 || in != out) return y;
	return pfld_add(build->net, (pfld_value[]){x, y}, 2, NULL, pfld_layer_name("%s_add", prefix.text).text);
}

static pfld_value features(struct pfld_backbone_build *build, pfld_value x)
{
	static const struct {
		int32_t filters, num, stride;
	} stages[] = {{16, 1, 1}, {24, 2, 2}, {32, 3, 2}, {64, 4, 2}, {96, 3, 1}, {160, 3, 2}, {320, 1, 1}};
	double alpha = build->options->alpha;
	int number = 0;
	x = unit(build, x, "Conv1", channels(32 * alpha), 3, 2, "bn_Conv1", "Conv1_relu");
	for (size_t i = 0; i < PFLD_COUNT(stages); i++)
		for (int32_t j = 0; j < stages[i].num; j++)
			x = block(build, x, number++, stages[i].filters, j ? 1 : stages[i].stride);
	return unit(build, x, "Conv_1", alpha > 1 ? channels(1280 * alpha) : 1280, 1, 1, "Conv_1_bn", "out_relu");
}

const struct pfld_backbone_family pfld_mobilenet_v2_family = {features, pfld_keras_top};
