// SPDX-License-Identifier: MIT
// Average and maximum over windows; global pooling is the window of the whole picture.
#include "net/emit.h"

static void forward(struct pfld_emit *emit, const struct pfld_layer *layer)
{
	struct pfld_operand y = pfld_emit_output(emit, layer);
	struct pfld_op *op = pfld_emit_op(emit, PFLD_OP_POOL, layer);
	op->src[0] = pfld_emit_input(emit, layer, 0);
	op->dst[0] = y;
	op->attr.pool = layer->attr.pool;
}

static void backward(struct pfld_emit *emit, const struct pfld_layer *layer)
{
	bool accumulate;
	struct pfld_operand dx = pfld_emit_input_gradient(emit, layer, 0, &accumulate);
	if (!pfld_operand_present(&dx)) return;
	struct pfld_op *op = pfld_emit_op(emit, PFLD_OP_POOL_GRADIENT, layer);
	op->src[0] = pfld_emit_output_gradient(emit, layer);
	if (layer->attr.pool.max) op->src[1] = pfld_emit_input(emit, layer, 0);
	op->dst[0] = dx;
	op->accumulate[0] = accumulate;
	op->attr.pool = layer->attr.pool;
}

const struct pfld_layer_kind pfld_layer_pool = {.name = "pool", .forward = forward, .backward = backward};

static pfld_value add(struct pfld_net *net, pfld_value x, bool max, const struct pfld_pool_options *o, bool global)
{
	struct pfld_layer *layer = pfld_net_add_layer(net, &pfld_layer_pool, o ? o->name : NULL, &x, 1);
	if (!layer) return (pfld_value){0};
	if (!o) return pfld_net_fail(net, layer, PFLD_ERR_ARGUMENT, "a kernel size is required");
	struct pfld_value_info in = *pfld_net_value(net, x.id);
	struct pfld_pool_attr *attr = &layer->attr.pool;
	*attr = (struct pfld_pool_attr){
	    .max = max,
	    .kernel_h = global ? in.h : o->kernel[0],
	    .kernel_w = global ? in.w : o->kernel[1],
	};
	attr->stride_h = o->stride[0] ? o->stride[0] : attr->kernel_h;
	attr->stride_w = o->stride[1] ? o->stride[1] : attr->kernel_w;
	int32_t h, w;
	if (!pfld_window(in.h, attr->kernel_h, attr->stride_h, 1, o->padding, o->pad[0], &h, &attr->pad_top) ||
	    !pfld_window(in.w, attr->kernel_w, attr->stride_w, 1, o->padding, o->pad[1], &w, &attr->pad_left))
		return pfld_net_fail(net, layer, PFLD_ERR_SHAPE, "a %d x %d window does not fit the input (%d, %d, %d)",
		                     attr->kernel_h, attr->kernel_w, in.h, in.w, in.c);
	if (o->padding == PFLD_EXPLICIT && (attr->pad_top >= attr->kernel_h || attr->pad_left >= attr->kernel_w))
		return pfld_net_fail(net, layer, PFLD_ERR_ARGUMENT, "the padding must be smaller than the window");
	return pfld_net_finish_layer(net, layer, h, w, in.c);
}

pfld_value pfld_max_pool(struct pfld_net *net, pfld_value x, const struct pfld_pool_options *options)
{
	return add(net, x, true, options, false);
}

pfld_value pfld_avg_pool(struct pfld_net *net, pfld_value x, const struct pfld_pool_options *options)
{
	return add(net, x, false, options, false);
}

pfld_value pfld_global_avg_pool(struct pfld_net *net, pfld_value x, const char *name)
{
	return add(net, x, false, &(struct pfld_pool_options){.name = name}, true);
}

pfld_value pfld_global_max_pool(struct pfld_net *net, pfld_value x, const char *name)
{
	return add(net, x, true, &(struct pfld_pool_options){.name = name}, true);
}
