// SPDX-License-Identifier: MIT
// MobileNetV1: 13 blocks of a depthwise 3 x 3 and a 1 x 1 convolution, batch norm and relu6 behind each. A stride of 2
// is padded below and on the right whatever the size; that is SAME for even sizes and VALID for odd ones.
#include "models/backbone.h"

static pfld_value norm_relu6(const struct pfld_backbone_build *build, pfld_value x, const char *name)
{
	x = pfld_keras_norm(build, x, pfld_layer_name("%s_bn", name).text);
	return pfld_relu6(build->net, x, pfld_layer_name("%s_relu", name).text);
}

static pfld_value block(const struct pfld_backbone_build *build, pfld_value x, int number, int32_t filters,
						int32_t stride)
{
	struct pfld_layer_name name = pfld_layer_name("conv_dw_%d", number);
	struct pfld_keras_conv depthwise = {.name = name.text, .kernel_h = 3, .kernel_w = 3, .stride = stride};
	depthwise.padding = stride == 1 ? PFLD_SAME : PFLD_EXPLICIT;
	depthwise.pad_extra[0] = depthwise.pad_extra[1] = stride == 1 ? 0 : 1;
	x = norm_relu6(build, pfld_keras_conv(build, x, &depthwise), name.text);
	name = pfld_layer_name("conv_pw_%d", number);
	struct pfld_keras_conv pointwise = {.name = name.text, .filters = filters, .kernel_h = 1, .kernel_w = 1};
	return norm_relu6(build, pfld_keras_conv(build, x, &pointwise), name.text);
}

static pfld_value features(struct pfld_backbone_build *build, pfld_value x)
{
	static const int32_t filters[13] = {64, 128, 128, 256, 256, 512, 512, 512, 512, 512, 512, 1024, 1024};
	double alpha = build->options->alpha;
	struct pfld_keras_conv stem = {.name = "conv1",
								   .filters = (int32_t)(32 * alpha),
								   .kernel_h = 3,
								   .kernel_w = 3,
								   .stride = 2,
								   .padding = PFLD_SAME};
	x = norm_relu6(build, pfld_keras_conv(build, x, &stem), "conv1");
	for (int i = 0; i < 13; i++) {
		bool halves = i == 1 || i == 3 || i == 5 || i == 11;
		x = block(build, x, i + 1, (int32_t)(filters[i] * alpha), halves ? 2 : 1);
	}
	return x;
}

static pfld_value top(struct pfld_backbone_build *build, pfld_value x)
{
	x = pfld_global_avg_pool(build->net, x, "avg_pool");
	x = pfld_dropout(build->net, x, 1e-3, "dropout");
	struct pfld_keras_conv conv = {
		.name = "conv_preds", .filters = build->options->num_classes, .kernel_h = 1, .kernel_w = 1, .bias = true};
	return pfld_keras_softmax(build, pfld_keras_conv(build, x, &conv), "predictions");
}

const struct pfld_backbone_family pfld_mobilenet_v1_family = {features, top};
