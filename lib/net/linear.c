// SPDX-License-Identifier: MIT
// linear (fully connected, dense): one matrix product over all numbers of a sample; the convolution of one pixel
// by a 1 x 1 kernel (conv2d.c emits it).
#include "net/emit.h"

enum { KERNEL, BIAS };

static void forward(struct pfld_emit *emit, const struct pfld_layer *layer)
{
	pfld_emit_conv2d(emit, layer, true);
}

static void backward(struct pfld_emit *emit, const struct pfld_layer *layer)
{
	pfld_emit_conv2d_gradient(emit, layer, true);
}

const struct pfld_layer_kind pfld_layer_linear = {.name = "linear", .forward = forward, .backward = backward};

pfld_value pfld_linear(struct pfld_net *net, pfld_value x, const struct pfld_linear_options *options)
{
	struct pfld_layer *layer = pfld_net_add_layer(net, &pfld_layer_linear, options ? options->name : NULL, &x, 1);
	if (!layer) return (pfld_value){0};
	if (!options || options->units < 1) return pfld_net_fail(net, layer, PFLD_ERR_ARGUMENT, "units must be at least 1");
	layer->attr.conv = (struct pfld_conv_attr){
	    .kernel_h = 1, .kernel_w = 1, .stride_h = 1, .stride_w = 1, .dilation_h = 1, .dilation_w = 1, .groups = 1};
	const struct pfld_value_info *in = pfld_net_value(net, x.id);
	int64_t numbers = (int64_t)in->h * in->w * in->c;
	struct pfld_init init = {.rule = options->kernel_init,
	                         .deviation = options->init_deviation,
	                         .fan_in = numbers,
	                         .fan_out = options->units};
	struct pfld_shape kernel_shape = {2, {numbers, options->units}}, bias_shape = {1, {options->units}};
	if (!pfld_net_add_param(net, layer, KERNEL, "kernel", &kernel_shape, &init, false)) return (pfld_value){0};
	init.rule = options->bias_init;
	if (!options->no_bias && !pfld_net_add_param(net, layer, BIAS, "bias", &bias_shape, &init, false))
		return (pfld_value){0};
	return pfld_net_finish_layer(net, layer, 1, 1, options->units);
}
