// SPDX-License-Identifier: MIT
// conv2d and depthwise_conv2d: windows over pictures. Both become the same ops; depthwise is the case of one group per
// channel, whose kernel (kh, kw, c, multiplier) has the same memory as (kh, kw, 1, c multiplier).
#include "net/emit.h"

#include <stdio.h>

enum { KERNEL, BIAS };

void pfld_emit_conv2d(struct pfld_emit *emit, const struct pfld_layer *layer, bool as_row)
{
	struct pfld_operand x = as_row ? pfld_emit_input_row(emit, layer, 0) : pfld_emit_input(emit, layer, 0);
	struct pfld_operand kernel = pfld_emit_param(emit, layer, KERNEL), bias = pfld_emit_param(emit, layer, BIAS);
	pfld_emit_fold(emit, layer, &kernel, &bias);
	struct pfld_operand output = pfld_emit_output(emit, layer);
	struct pfld_op *op = pfld_emit_op(emit, PFLD_OP_CONV2D, layer);
	op->src[0] = x;
	op->src[1] = kernel;
	op->src[2] = bias;
	op->dst[0] = output;
	op->attr.conv = layer->attr.conv;
}

void pfld_emit_conv2d_gradient(struct pfld_emit *emit, const struct pfld_layer *layer, bool as_row)
{
	bool accumulate;
	struct pfld_operand dx = pfld_emit_input_gradient(emit, layer, 0, &accumulate);
	struct pfld_operand dkernel = pfld_emit_param_gradient(emit, layer, KERNEL);
	struct pfld_operand dbias = pfld_emit_param_gradient(emit, layer, BIAS);
	if (!pfld_operand_present(&dx) && !pfld_operand_present(&dkernel) && !pfld_operand_present(&dbias)) return;
	struct pfld_operand x = {.tensor = PFLD_NO_TENSOR};
	if (pfld_operand_present(&dkernel))
		x = as_row ? pfld_emit_input_row(emit, layer, 0) : pfld_emit_input(emit, layer, 0);
	struct pfld_op *op = pfld_emit_op(emit, PFLD_OP_CONV2D_GRADIENT, layer);
	op->src[0] = x;
	op->src[1] = pfld_emit_param(emit, layer, KERNEL);
	op->src[2] = pfld_emit_output_gradient(emit, layer);
	op->dst[0] = as_row ? pfld_operand_row(dx) : dx;
	op->dst[1] = dkernel;
	op->dst[2] = dbias;
	op->accumulate[0] = accumulate;
	op->gradient[1] = op->gradient[2] = true;
	op->attr.conv = layer->attr.conv;
}

static void forward(struct pfld_emit *emit, const struct pfld_layer *layer)
{
	pfld_emit_conv2d(emit, layer, false);
}

static void backward(struct pfld_emit *emit, const struct pfld_layer *layer)
{
	pfld_emit_conv2d_gradient(emit, layer, false);
}

const struct pfld_layer_kind pfld_layer_conv2d = {.name = "conv2d", .forward = forward, .backward = backward};
const struct pfld_layer_kind pfld_layer_depthwise_conv2d = {
    .name = "depthwise_conv2d", .forward = forward, .backward = backward};

// Input and what is padded on one side of it alone, which a window sees as more of the input.
static int32_t extended(int32_t size, const struct pfld_conv2d_options *o, int axis)
{
	int32_t extra = o->padding == PFLD_EXPLICIT ? o->pad_extra[axis] : 0;
	return extra >= 0 && extra < o->kernel[axis] ? size + extra : INT32_MIN;
}

// Shape of the output and window of both kinds. False: the net has an error.
static bool place_window(struct pfld_net *net, struct pfld_layer *layer, const struct pfld_value_info *in,
                         const struct pfld_conv2d_options *o, int32_t *h, int32_t *w)
{
	struct pfld_conv_attr *attr = &layer->attr.conv;
	*attr = (struct pfld_conv_attr){
	    .kernel_h = o->kernel[0],
	    .kernel_w = o->kernel[1],
	    .stride_h = o->stride[0] ? o->stride[0] : 1,
	    .stride_w = o->stride[1] ? o->stride[1] : 1,
	    .dilation_h = o->dilation[0] ? o->dilation[0] : 1,
	    .dilation_w = o->dilation[1] ? o->dilation[1] : 1,
	    .groups = o->groups ? o->groups : 1,
	};
	int32_t in_h = extended(in->h, o, 0), in_w = extended(in->w, o, 1);
	if (pfld_window(in_h, attr->kernel_h, attr->stride_h, attr->dilation_h, o->padding, o->pad[0], h, &attr->pad_top) &&
	    pfld_window(in_w, attr->kernel_w, attr->stride_w, attr->dilation_w, o->padding, o->pad[1], w, &attr->pad_left))
		return true;
	pfld_net_fail(net, layer, PFLD_ERR_SHAPE, "a %d x %d kernel does not fit the input (%d, %d, %d)", attr->kernel_h,
	              attr->kernel_w, in->h, in->w, in->c);
	return false;
}

// The names of the parameters may be full ones, of another layer, see pfld_net_add_param().
static pfld_value add_conv(struct pfld_net *net, struct pfld_layer *layer, const struct pfld_conv2d_options *o,
                           const char *kernel_name, const char *bias_name, const struct pfld_shape *kernel_shape,
                           int32_t filters)
{
	const struct pfld_value_info *in = pfld_net_value(net, layer->inputs[0]);
	int32_t h, w;
	if (!place_window(net, layer, in, o, &h, &w)) return (pfld_value){0};
	int64_t window = (int64_t)o->kernel[0] * o->kernel[1];
	struct pfld_init init = {.rule = o->kernel_init,
	                         .deviation = o->init_deviation,
	                         .fan_in = window * (in->c / layer->attr.conv.groups),
	                         .fan_out = window * (filters / layer->attr.conv.groups)};
	// Keras takes fans from the shape (kh, kw, C, multiplier), whatever it is the kernel of.
	if (layer->kind == &pfld_layer_depthwise_conv2d && o->kernel_init == PFLD_INIT_GLOROT_UNIFORM)
		init.fan_in = window * in->c;
	if (!pfld_net_add_param(net, layer, KERNEL, kernel_name, kernel_shape, &init, false)) return (pfld_value){0};
	init.rule = o->bias_init;
	struct pfld_shape bias_shape = {1, {filters}};
	if (!o->no_bias && !pfld_net_add_param(net, layer, BIAS, bias_name, &bias_shape, &init, false))
		return (pfld_value){0};
	return pfld_net_finish_layer(net, layer, h, w, filters);
}

pfld_value pfld_conv2d(struct pfld_net *net, pfld_value x, const struct pfld_conv2d_options *options)
{
	struct pfld_layer *layer = pfld_net_add_layer(net, &pfld_layer_conv2d, options ? options->name : NULL, &x, 1);
	if (!layer) return (pfld_value){0};
	const struct pfld_value_info *in = pfld_net_value(net, x.id);
	int32_t groups = options && options->groups ? options->groups : 1;
	if (!options || options->filters < 1 || groups < 1)
		return pfld_net_fail(net, layer, PFLD_ERR_ARGUMENT, "filters and groups must be at least 1");
	if (in->c % groups || options->filters % groups)
		return pfld_net_fail(net, layer, PFLD_ERR_SHAPE, "%d input channels and %d filters do not divide into %d groups",
		                     in->c, options->filters, groups);
	struct pfld_shape shape = {4, {options->kernel[0], options->kernel[1], in->c / groups, options->filters}};
	return add_conv(net, layer, options, "kernel", "bias", &shape, options->filters);
}

pfld_value pfld_depthwise_conv2d(struct pfld_net *net, pfld_value x, const struct pfld_depthwise_options *options)
{
	struct pfld_layer *layer =
	    pfld_net_add_layer(net, &pfld_layer_depthwise_conv2d, options ? options->name : NULL, &x, 1);
	if (!layer) return (pfld_value){0};
	const struct pfld_value_info *in = pfld_net_value(net, x.id);
	int32_t multiplier = options && options->multiplier ? options->multiplier : 1;
	if (!options || multiplier < 1 || multiplier > INT32_MAX / in->c)
		return pfld_net_fail(net, layer, PFLD_ERR_ARGUMENT, "the multiplier must be at least 1");
	struct pfld_conv2d_options conv = {
	    .kernel = {options->kernel[0], options->kernel[1]},
	    .stride = {options->stride[0], options->stride[1]},
	    .dilation = {options->dilation[0], options->dilation[1]},
	    .padding = options->padding,
	    .pad = {options->pad[0], options->pad[1]},
	    .pad_extra = {options->pad_extra[0], options->pad_extra[1]},
	    .groups = in->c,
	    .no_bias = options->no_bias,
	    .kernel_init = options->kernel_init,
	    .bias_init = options->bias_init,
	    .init_deviation = options->init_deviation,
	};
	struct pfld_shape shape = {4, {options->kernel[0], options->kernel[1], in->c, multiplier}};
	return add_conv(net, layer, &conv, "depthwise_kernel", "bias", &shape, in->c * multiplier);
}

static pfld_value add_pointwise(struct pfld_net *net, pfld_value x, const struct pfld_separable_options *o)
{
	char name[256], kernel_name[256], bias_name[256];
	snprintf(name, sizeof name, "%.110s_pointwise", o->name);
	snprintf(kernel_name, sizeof kernel_name, "%.110s/pointwise_kernel", o->name);
	snprintf(bias_name, sizeof bias_name, "%.110s/bias", o->name);
	struct pfld_layer *layer = pfld_net_add_layer(net, &pfld_layer_conv2d, name, &x, 1);
	if (!layer) return (pfld_value){0};
	if (o->filters < 1) return pfld_net_fail(net, layer, PFLD_ERR_ARGUMENT, "filters must be at least 1");
	struct pfld_conv2d_options conv = {
	    .filters = o->filters,
	    .kernel = {1, 1},
	    .no_bias = o->no_bias,
	    .kernel_init = o->kernel_init,
	    .bias_init = o->bias_init,
	    .init_deviation = o->init_deviation,
	};
	struct pfld_shape shape = {4, {1, 1, pfld_net_value(net, x.id)->c, o->filters}};
	return add_conv(net, layer, &conv, kernel_name, bias_name, &shape, o->filters);
}

pfld_value pfld_separable_conv2d(struct pfld_net *net, pfld_value x, const struct pfld_separable_options *options)
{
	if (!net) return (pfld_value){0};
	if (!options || !options->name)
		return pfld_net_fail(net, NULL, PFLD_ERR_ARGUMENT, "a separable convolution needs options with a name");
	struct pfld_depthwise_options depthwise = {
	    .name = options->name,
	    .kernel = {options->kernel[0], options->kernel[1]},
	    .stride = {options->stride[0], options->stride[1]},
	    .padding = options->padding,
	    .pad = {options->pad[0], options->pad[1]},
	    .pad_extra = {options->pad_extra[0], options->pad_extra[1]},
	    .no_bias = true,
	    .kernel_init = options->kernel_init,
	    .init_deviation = options->init_deviation,
	};
	return add_pointwise(net, pfld_depthwise_conv2d(net, x, &depthwise), options);
}
