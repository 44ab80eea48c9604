// SPDX-License-Identifier: MIT
// linear (fully connected, dense): one matrix product over all numbers of a sample; a 1 x 1 convolution of one pixel.
#include "net/emit.h"

enum { KERNEL, BIAS };

// All numbers of a sample as the channels of one pixel.
static struct pfld_operand flat(struct pfld_operand operand)
{
	if (!pfld_operand_present(&operand)) return operand;
	operand.c = operand.pixel_stride = operand.h * operand.w * operand.c;
	operand.h = operand.w = 1;
	return operand;
}

static const struct pfld_conv_attr one_by_one = {
    .kernel_h = 1, .kernel_w = 1, .stride_h = 1, .stride_w = 1, .dilation_h = 1, .dilation_w = 1, .groups = 1};

static void forward(struct pfld_emit *emit, const struct pfld_layer *layer)
{
	struct pfld_operand output = pfld_emit_output(emit, layer);
	struct pfld_op *op = pfld_emit_op(emit, PFLD_OP_CONV2D, layer);
	op->src[0] = flat(pfld_emit_input(emit, layer, 0));
	op->src[1] = pfld_emit_param(emit, layer, KERNEL);
	op->src[2] = pfld_emit_param(emit, layer, BIAS);
	op->dst[0] = output;
	op->attr.conv = one_by_one;
}

static void backward(struct pfld_emit *emit, const struct pfld_layer *layer)
{
	bool accumulate;
	struct pfld_operand dx = pfld_emit_input_gradient(emit, layer, 0, &accumulate);
	struct pfld_operand dkernel = pfld_emit_param_gradient(emit, layer, KERNEL);
	struct pfld_operand dbias = pfld_emit_param_gradient(emit, layer, BIAS);
	if (!pfld_operand_present(&dx) && !pfld_operand_present(&dkernel) && !pfld_operand_present(&dbias)) return;
	struct pfld_op *op = pfld_emit_op(emit, PFLD_OP_CONV2D_GRADIENT, layer);
	if (pfld_operand_present(&dkernel)) op->src[0] = flat(pfld_emit_input(emit, layer, 0));
	op->src[1] = pfld_emit_param(emit, layer, KERNEL);
	op->src[2] = pfld_emit_output_gradient(emit, layer);
	op->dst[0] = flat(dx);
	op->dst[1] = dkernel;
	op->dst[2] = dbias;
	op->accumulate[0] = accumulate;
	op->gradient[1] = op->gradient[2] = true;
	op->attr.conv = one_by_one;
}

const struct pfld_layer_kind pfld_layer_linear = {.name = "linear", .forward = forward, .backward = backward};

pfld_value pfld_linear(struct pfld_net *net, pfld_value x, const struct pfld_linear_options *options)
{
	struct pfld_layer *layer = pfld_net_add_layer(net, &pfld_layer_linear, options ? options->name : NULL, &x, 1);
	if (!layer) return (pfld_value){0};
	if (!options || options->units < 1) return pfld_net_fail(net, layer, PFLD_ERR_ARGUMENT, "units must be at least 1");
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
