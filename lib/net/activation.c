// SPDX-License-Identifier: MIT
// Element-wise activations: relu, relu6, leaky_relu, prelu, sigmoid, tanh. Behind a batch norm most of them melt into it
// (lib/compile/fuse.c) and are never emitted.
#include "net/emit.h"

enum { SLOPES };

// The readers of a piecewise linear one compute it from the input, which is kept anyway; the output is never in memory.
static bool is_pending(const struct pfld_emit *emit, const struct pfld_layer *layer)
{
	enum pfld_act act = layer->attr.act.act;
	if (emit->unfused || pfld_emit_input(emit, layer, 0).pending) return false;
	return act == PFLD_ACT_RELU || act == PFLD_ACT_RELU6 || act == PFLD_ACT_LEAKY;
}

static void forward(struct pfld_emit *emit, const struct pfld_layer *layer)
{
	const struct pfld_operand absent = {.tensor = PFLD_NO_TENSOR};
	struct pfld_operand x = pfld_emit_input(emit, layer, 0);
	const struct pfld_act_attr *act = &layer->attr.act;
	if (is_pending(emit, layer)) {
		struct pfld_pending pending = {.act = act->act, .slope = act->slope, .scale = absent, .shift = absent};
		emit->values[layer->output - 1] = pfld_emit_pending(emit, &x, &pending);
		return;
	}
	// Behind a batch norm that did not take it in, one op does both.
	const struct pfld_pending *norm = x.pending && x.pending->act == PFLD_ACT_NONE ? x.pending : NULL;
	if (norm) x.pending = NULL;
	struct pfld_operand y = pfld_emit_output(emit, layer);
	struct pfld_op *op = pfld_emit_op(emit, PFLD_OP_APPLY, layer);
	op->src[0] = x;
	op->src[1] = norm ? norm->scale : absent;
	op->src[2] = norm ? norm->shift : absent;
	op->src[3] = pfld_emit_param(emit, layer, SLOPES);
	op->dst[0] = y;
	op->attr.act = *act;
}

static void backward(struct pfld_emit *emit, const struct pfld_layer *layer)
{
	bool accumulate;
	struct pfld_operand dx = pfld_emit_input_gradient(emit, layer, 0, &accumulate);
	struct pfld_operand dslopes = pfld_emit_param_gradient(emit, layer, SLOPES);
	if (!pfld_operand_present(&dx) && !pfld_operand_present(&dslopes)) return;
	struct pfld_op *op = pfld_emit_op(emit, PFLD_OP_APPLY_GRADIENT, layer);
	op->attr.act = layer->attr.act;
	// The output tells the slope for all but PReLU, whose slopes may be negative; then the input need not be kept.
	op->attr.act.from_output = layer->attr.act.act != PFLD_ACT_PRELU && !is_pending(emit, layer);
	op->src[0] = pfld_emit_output_gradient(emit, layer);
	op->src[1] = op->attr.act.from_output ? emit->values[layer->output - 1] : pfld_emit_input(emit, layer, 0);
	op->src[4] = pfld_emit_param(emit, layer, SLOPES);
	op->dst[0] = dx;
	op->dst[1] = dslopes;
	op->accumulate[0] = accumulate;
	op->gradient[1] = true;
}

const struct pfld_layer_kind pfld_layer_activation = {.name = "activation", .forward = forward, .backward = backward};

static pfld_value add(struct pfld_net *net, pfld_value x, enum pfld_act act, double slope, const char *name)
{
	struct pfld_layer *layer = pfld_net_add_layer(net, &pfld_layer_activation, name, &x, 1);
	if (!layer) return (pfld_value){0};
	layer->attr.act = (struct pfld_act_attr){.act = act, .slope = slope};
	struct pfld_value_info in = *pfld_net_value(net, x.id);
	if (act == PFLD_ACT_LEAKY && !(slope > 0))
		return pfld_net_fail(net, layer, PFLD_ERR_ARGUMENT, "the slope must be above 0");
	struct pfld_shape shape = {1, {in.c}};
	struct pfld_init init = {.rule = PFLD_INIT_ZERO, .constant = 0.25};
	if (act == PFLD_ACT_PRELU && !pfld_net_add_param(net, layer, SLOPES, "alpha", &shape, &init, false))
		return (pfld_value){0};
	return pfld_net_finish_layer(net, layer, in.h, in.w, in.c);
}

pfld_value pfld_relu(struct pfld_net *net, pfld_value x, const char *name)
{
	return add(net, x, PFLD_ACT_RELU, 0, name);
}

pfld_value pfld_relu6(struct pfld_net *net, pfld_value x, const char *name)
{
	return add(net, x, PFLD_ACT_RELU6, 0, name);
}

pfld_value pfld_leaky_relu(struct pfld_net *net, pfld_value x, double slope, const char *name)
{
	return add(net, x, PFLD_ACT_LEAKY, slope, name);
}

pfld_value pfld_prelu(struct pfld_net *net, pfld_value x, const char *name)
{
	return add(net, x, PFLD_ACT_PRELU, 0, name);
}

pfld_value pfld_sigmoid(struct pfld_net *net, pfld_value x, const char *name)
{
	return add(net, x, PFLD_ACT_SIGMOID, 0, name);
}

pfld_value pfld_tanh(struct pfld_net *net, pfld_value x, const char *name)
{
	return add(net, x, PFLD_ACT_TANH, 0, name);
}
