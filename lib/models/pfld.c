// SPDX-License-Identifier: MIT
// PFLD in the three forms in use (see <pfld/models.h>), and the auxiliary net that predicts head angles in training. The
// forms differ in padding, activation, batch norm, the second convolution, where strides sit, and the tail.
#include "net/net.h"
#include <pfld/models.h>

#include <stdio.h>
#include <string.h>

static const char *const preset_names[] = {"paper", "pt", "tf"};

const char *pfld_preset_name(enum pfld_preset preset)
{
	return preset_names[preset];
}

bool pfld_preset_from_name(const char *name, enum pfld_preset *preset)
{
	for (int i = 0; name && i < 3; i++)
		if (!strcmp(name, preset_names[i])) {
			*preset = (enum pfld_preset)i;
			return true;
		}
	return false;
}

struct build {
	struct pfld_net *net;
	bool tf;
	double width;
};

static int32_t scaled(const struct build *b, int32_t channels)
{
	return (int32_t)(channels * b->width);
}

enum act { NONE, BACKBONE_ACT, RELU };

// name_bn, and the activation behind it.
static pfld_value norm(const struct build *b, pfld_value x, const char *name, enum act act)
{
	char text[96];
	snprintf(text, sizeof text, "%s_bn", name);
	struct pfld_batch_norm_options options = {.name = text};
	if (b->tf) {
		options.epsilon = 1e-3;
		options.momentum = 0.005;
		options.no_gamma = options.biased_moving_variance = true;
	}
	x = pfld_batch_norm(b->net, x, &options);
	snprintf(text, sizeof text, "%s_act", name);
	if (act == NONE) return x;
	return act == BACKBONE_ACT && b->tf ? pfld_relu6(b->net, x, text) : pfld_relu(b->net, x, text);
}

// Convolution (filters > 0) or depthwise convolution (filters 0) with batch norm.
static pfld_value unit(const struct build *b, pfld_value x, const char *name, int32_t filters, int32_t kernel,
                       int32_t stride, enum pfld_padding padding, enum act act)
{
	int32_t pad = padding == PFLD_EXPLICIT ? kernel / 2 : 0;
	enum pfld_initializer init = b->tf ? PFLD_INIT_TRUNCATED_NORMAL : PFLD_INIT_DEFAULT;
	if (filters) {
		x = pfld_conv2d(b->net, x,
		                &(struct pfld_conv2d_options){.name = name,
		                                              .filters = filters,
		                                              .kernel = {kernel, kernel},
		                                              .stride = {stride, stride},
		                                              .padding = padding,
		                                              .pad = {pad, pad},
		                                              .no_bias = true,
		                                              .kernel_init = init});
	} else {
		x = pfld_depthwise_conv2d(b->net, x,
		                          &(struct pfld_depthwise_options){.name = name,
		                                                           .kernel = {kernel, kernel},
		                                                           .stride = {stride, stride},
		                                                           .padding = padding,
		                                                           .pad = {pad, pad},
		                                                           .no_bias = true,
		                                                           .kernel_init = init});
	}
	return norm(b, x, name, act);
}

// Symmetric padding in the PyTorch form, TensorFlow's SAME in the other.
static enum pfld_padding around(const struct build *b)
{
	return b->tf ? PFLD_SAME : PFLD_EXPLICIT;
}

// 1 x 1 to expansion times the channels, 3 x 3 depthwise, 1 x 1 to `channels` with no activation; `residual`: plus the input.
static pfld_value bottleneck(const struct build *b, pfld_value x, const char *name, int32_t expansion, int32_t channels,
                             int32_t stride, bool residual)
{
	int32_t in;
	pfld_net_shape(b->net, x, NULL, NULL, &in);
	char text[96];
	snprintf(text, sizeof text, "%s_expand", name);
	pfld_value y = unit(b, x, text, in * expansion, 1, b->tf ? stride : 1, PFLD_VALID, BACKBONE_ACT);
	snprintf(text, sizeof text, "%s_depthwise", name);
	y = unit(b, y, text, 0, 3, b->tf ? 1 : stride, around(b), BACKBONE_ACT);
	snprintf(text, sizeof text, "%s_project", name);
	y = unit(b, y, text, channels, 1, 1, PFLD_VALID, NONE);
	snprintf(text, sizeof text, "%s_add", name);
	return residual ? pfld_add(b->net, (pfld_value[]){x, y}, 2, NULL, text) : y;
}

// A stage of blocks name_1, name_2, ...: the first without residual, the others with.
static pfld_value stage(const struct build *b, pfld_value x, const char *name, int32_t num_blocks, int32_t expansion,
                        int32_t channels, int32_t stride)
{
	for (int32_t i = 0; i < num_blocks; i++) {
		char text[32];
		snprintf(text, sizeof text, "%s_%d", name, i + 1);
		x = bottleneck(b, x, text, expansion, channels, i == 0 ? stride : 1, i > 0);
	}
	return x;
}

static pfld_value linear(const struct build *b, pfld_value x, const char *name, int32_t units, bool no_bias)
{
	return pfld_linear(b->net, x,
	                   &(struct pfld_linear_options){.name = name,
	                                                 .units = units,
	                                                 .no_bias = no_bias,
	                                                 .kernel_init = b->tf ? PFLD_INIT_TRUNCATED_NORMAL : PFLD_INIT_DEFAULT});
}

// Pitch, yaw and roll from the feature map behind stage 3.
static pfld_value angle_net(const struct build *b, pfld_value x, enum pfld_preset preset, int32_t size)
{
	int32_t kernel = size / 16;
	x = unit(b, x, "angles_conv1", scaled(b, 128), 3, 2, around(b), RELU);
	x = unit(b, x, "angles_conv2", scaled(b, 128), 3, 1, around(b), RELU);
	x = unit(b, x, "angles_conv3", scaled(b, 32), 3, 2, around(b), RELU);
	struct pfld_conv2d_options conv = {.name = "angles_conv4",
	                                   .filters = scaled(b, 128),
	                                   .kernel = {kernel, kernel},
	                                   .padding = b->tf ? PFLD_SAME : preset == PFLD_PRESET_PT ? PFLD_EXPLICIT : PFLD_VALID,
	                                   .pad = {1, 1},
	                                   .no_bias = true,
	                                   .kernel_init = b->tf ? PFLD_INIT_TRUNCATED_NORMAL : PFLD_INIT_DEFAULT};
	x = norm(b, pfld_conv2d(b->net, x, &conv), "angles_conv4", RELU);
	if (b->tf)
		x = pfld_max_pool(b->net, x,
		                  &(struct pfld_pool_options){
		                      .name = "angles_pool", .kernel = {3, 3}, .stride = {1, 1}, .padding = PFLD_SAME});
	else if (preset == PFLD_PRESET_PT)
		x = pfld_max_pool(b->net, x, &(struct pfld_pool_options){.name = "angles_pool", .kernel = {3, 3}, .stride = {3, 3}});
	x = linear(b, x, "angles_fc1", 32, b->tf);
	if (b->tf) x = norm(b, x, "angles_fc1", NONE);
	x = linear(b, x, "angles_fc2", 3, b->tf);
	return b->tf ? norm(b, x, "angles_fc2", NONE) : x;
}

// conv8 sees the whole map of conv7: 128 numbers.
static pfld_value tail(const struct build *b, pfld_value x, enum pfld_preset preset, int32_t size)
{
	int32_t kernel = size / 16;
	if (preset != PFLD_PRESET_PT) return unit(b, x, "conv8", scaled(b, 128), kernel, 1, PFLD_VALID, BACKBONE_ACT);
	x = pfld_conv2d(b->net, x,
	                &(struct pfld_conv2d_options){.name = "conv8", .filters = scaled(b, 128), .kernel = {kernel, kernel}});
	return pfld_relu(b->net, x, "conv8_act");
}

struct pfld_model_values pfld_model_pfld(struct pfld_net *net, const struct pfld_model_options *options)
{
	struct pfld_model_options o = options ? *options : (struct pfld_model_options){0};
	if (o.width == 0) o.width = 1;
	if (!o.num_points) o.num_points = 98;
	if (!o.size) o.size = 112;
	struct build build = {.net = net, .tf = o.preset == PFLD_PRESET_TF, .width = o.width}, *b = &build;
	struct pfld_model_values values = {0};
	if (!net) return values;
	if (o.size < 32 || o.size % 16 || o.size > 4096)
		pfld_net_fail(net, NULL, PFLD_ERR_ARGUMENT, "PFLD's input size is %d; a multiple of 16 in 32..4096 is expected",
		              o.size);
	if (!(o.width * 16 >= 1 && o.width <= 16))
		pfld_net_fail(net, NULL, PFLD_ERR_ARGUMENT, "PFLD's width must lie in 0.0625..16");
	if (o.num_points < 1 || o.num_points > 100000)
		pfld_net_fail(net, NULL, PFLD_ERR_ARGUMENT, "PFLD needs 1 to 100000 points, got %d", o.num_points);
	values.image = pfld_input(net, "image", o.size, o.size, 3);
	pfld_value x = unit(b, values.image, "conv1", scaled(b, 64), 3, 2, around(b), BACKBONE_ACT);
	x = unit(b, x, "conv2", o.preset == PFLD_PRESET_PT ? scaled(b, 64) : 0, 3, 1, around(b), BACKBONE_ACT);
	pfld_value tap = x = stage(b, x, "stage3", 5, 2, scaled(b, 64), 2);
	// Here, so that nothing but the feature map lies across it.
	if (o.angles) values.angles = angle_net(b, tap, o.preset, o.size);
	x = stage(b, x, "stage4", 1, 2, scaled(b, 128), 2);
	x = stage(b, x, "stage5", 6, 4, scaled(b, 128), 1);
	pfld_value s1 = stage(b, x, "stage6", 1, 2, scaled(b, 16), 1);
	pfld_value s2 = unit(b, s1, "conv7", scaled(b, 32), 3, 2, around(b), BACKBONE_ACT);
	pfld_value s3 = tail(b, s2, o.preset, o.size);
	pfld_value scales[3] = {s1, s2, s3};
	for (int i = 0; i < 3; i++)
		scales[i] = o.flatten_head ? pfld_flatten(net, scales[i], NULL)
		            : i < 2        ? pfld_global_avg_pool(net, scales[i], i ? "pool2" : "pool1")
		                           : scales[i];
	x = pfld_concat(net, scales, 3, "scales");
	values.points = pfld_linear(net, x,
	                            &(struct pfld_linear_options){.name = "fc",
	                                                          .units = 2 * o.num_points,
	                                                          .kernel_init = b->tf ? PFLD_INIT_GLOROT_UNIFORM
	                                                                               : PFLD_INIT_DEFAULT,
	                                                          .bias_init = b->tf ? PFLD_INIT_ZERO : PFLD_INIT_DEFAULT});
	pfld_net_output(net, values.points, "points");
	if (o.angles) pfld_net_output(net, values.angles, "angles");
	return values;
}
