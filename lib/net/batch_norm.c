// SPDX-License-Identifier: MIT
// batch_norm, with the activation behind it where the compiler lets one melt into it. Statistics become two numbers per
// channel, scale and shift; the output and the gradient of the input are pending: whoever reads them computes them.
#include "net/emit.h"

enum { GAMMA, BETA, MEAN, VARIANCE };                // parameters
enum { SAVED_X, SAVED_MEAN, SAVED_INV_STD, SAVED_SCALE, SAVED_SHIFT }; // left for backward

// In training, by the batch's statistics; frozen (its statistics do not move) as in inference.
static bool by_batch(const struct pfld_emit *emit, const struct pfld_layer *layer)
{
	return emit->training && pfld_emit_param_trains(emit, layer, MEAN);
}

static struct pfld_operand per_channel(struct pfld_emit *emit, const struct pfld_layer *layer, const char *role)
{
	int32_t c = pfld_net_value(emit->net, layer->output)->c;
	return pfld_emit_tensor(emit, layer->index, role, PFLD_MEMORY_ACTIVATIONS, false, 1, 1, c);
}

static void emit_batch_numbers(struct pfld_emit *emit, const struct pfld_layer *layer, const struct pfld_operand *x,
                               struct pfld_operand *saved)
{
	struct pfld_operand m2 = per_channel(emit, layer, "m2");
	saved[SAVED_MEAN] = per_channel(emit, layer, "mean");
	struct pfld_op *op = pfld_emit_op(emit, PFLD_OP_BN_STATISTICS, layer);
	op->src[0] = *x;
	op->dst[0] = saved[SAVED_MEAN];
	op->dst[1] = m2;
	op = pfld_emit_op(emit, PFLD_OP_BN_TRAIN, layer);
	op->src[0] = saved[SAVED_MEAN];
	op->src[1] = m2;
	op->src[2] = pfld_emit_param(emit, layer, GAMMA);
	op->src[3] = pfld_emit_param(emit, layer, BETA);
	op->dst[0] = saved[SAVED_SCALE];
	op->dst[1] = saved[SAVED_SHIFT];
	op->dst[2] = saved[SAVED_INV_STD];
	op->dst[3] = pfld_emit_param(emit, layer, MEAN);
	op->dst[4] = pfld_emit_param(emit, layer, VARIANCE);
	op->attr.bn = layer->attr.bn;
}

static void emit_moving_numbers(struct pfld_emit *emit, const struct pfld_layer *layer, struct pfld_operand *saved)
{
	saved[SAVED_MEAN] = pfld_emit_param(emit, layer, MEAN);
	struct pfld_op *op = pfld_emit_op(emit, PFLD_OP_BN_INFER, layer);
	op->src[0] = saved[SAVED_MEAN];
	op->src[1] = pfld_emit_param(emit, layer, VARIANCE);
	op->src[2] = pfld_emit_param(emit, layer, GAMMA);
	op->src[3] = pfld_emit_param(emit, layer, BETA);
	op->dst[0] = saved[SAVED_SCALE];
	op->dst[1] = saved[SAVED_SHIFT];
	op->dst[2] = saved[SAVED_INV_STD];
	op->attr.bn = layer->attr.bn;
}

static void emit_numbers(struct pfld_emit *emit, const struct pfld_layer *layer, const struct pfld_operand *x,
                         struct pfld_operand *saved)
{
	saved[SAVED_SCALE] = per_channel(emit, layer, "scale");
	saved[SAVED_SHIFT] = per_channel(emit, layer, "shift");
	saved[SAVED_INV_STD] = per_channel(emit, layer, "inverse deviation");
	if (by_batch(emit, layer)) emit_batch_numbers(emit, layer, x, saved);
	else emit_moving_numbers(emit, layer, saved);
}

void pfld_emit_fold(struct pfld_emit *emit, const struct pfld_layer *layer, struct pfld_operand *kernel,
                    struct pfld_operand *bias)
{
	int32_t index = emit->folded_norm[layer->index];
	if (index < 0) return;
	const struct pfld_layer *norm = &emit->net->layers[index];
	struct pfld_operand *saved = emit->saved[index];
	emit_numbers(emit, norm, &(struct pfld_operand){.tensor = PFLD_NO_TENSOR}, saved);
	struct pfld_operand folded_kernel = *kernel, folded_bias = per_channel(emit, norm, "folded bias");
	folded_kernel.tensor = pfld_emit_tensor(emit, norm->index, "folded kernel", PFLD_MEMORY_ACTIVATIONS, false, kernel->h,
	                                        kernel->w, kernel->c)
	                           .tensor;
	struct pfld_op *op = pfld_emit_op(emit, PFLD_OP_FOLD, norm);
	op->src[0] = *kernel;
	op->src[1] = *bias;
	op->src[2] = saved[SAVED_SCALE];
	op->src[3] = saved[SAVED_SHIFT];
	op->dst[0] = *kernel = folded_kernel;
	op->dst[1] = *bias = folded_bias;
}

static bool is_folded(const struct pfld_emit *emit, const struct pfld_layer *layer)
{
	int32_t producer = pfld_net_value(emit->net, layer->inputs[0])->layer;
	return emit->folded_norm[producer] == layer->index;
}

// What is left of a batch norm whose numbers are in the kernel before it: its activation.
static void forward_folded(struct pfld_emit *emit, const struct pfld_layer *layer)
{
	const struct pfld_operand absent = {.tensor = PFLD_NO_TENSOR};
	struct pfld_act_attr act = pfld_emit_fused_act(emit, layer);
	struct pfld_pending pending = {.act = act.act, .slope = act.slope, .scale = absent, .shift = absent};
	struct pfld_operand x = pfld_emit_input(emit, layer, 0);
	emit->values[layer->output - 1] = act.act == PFLD_ACT_NONE ? x : pfld_emit_pending(emit, &x, &pending);
}

static void forward(struct pfld_emit *emit, const struct pfld_layer *layer)
{
	if (is_folded(emit, layer)) {
		forward_folded(emit, layer);
		return;
	}
	struct pfld_operand *saved = emit->saved[layer->index];
	struct pfld_operand x = pfld_emit_input(emit, layer, 0);
	x = saved[SAVED_X] = pfld_emit_plain(emit, layer, &x);
	if (!emit->again) emit_numbers(emit, layer, &x, saved);
	struct pfld_act_attr act = pfld_emit_fused_act(emit, layer);
	struct pfld_pending pending = {
	    .act = act.act, .slope = act.slope, .scale = saved[SAVED_SCALE], .shift = saved[SAVED_SHIFT]};
	x = pfld_emit_pending(emit, &x, &pending);
	if (!emit->unfused) {
		emit->values[layer->output - 1] = x;
		return;
	}
	struct pfld_operand y = pfld_emit_output(emit, layer);
	pfld_emit_materialise(emit, layer, &x, &y, false);
}

static void emit_gradient_sums(struct pfld_emit *emit, const struct pfld_layer *layer, const struct pfld_operand *dy,
                               struct pfld_pending *pending)
{
	pending->mean_dz = per_channel(emit, layer, "mean dz");
	pending->slope_x = per_channel(emit, layer, "slope x");
	struct pfld_op *op = pfld_emit_op(emit, PFLD_OP_BN_GRADIENT_SUMS, layer);
	op->src[0] = *dy;
	op->src[1] = pending->x;
	op->src[2] = pending->scale;
	op->src[3] = pending->shift;
	op->src[4] = pending->mean;
	op->src[5] = emit->saved[layer->index][SAVED_INV_STD];
	op->dst[0] = pending->mean_dz;
	op->dst[1] = pending->slope_x;
	op->dst[2] = pfld_emit_param_gradient(emit, layer, BETA);
	op->dst[3] = pfld_emit_param_gradient(emit, layer, GAMMA);
	op->gradient[2] = op->gradient[3] = true;
	op->attr.act = pfld_emit_fused_act(emit, layer);
}

// By moving statistics nothing but scale and activation lies between the gradients.
static void emit_frozen_gradient(struct pfld_emit *emit, const struct pfld_layer *layer, const struct pfld_operand *dy)
{
	const struct pfld_operand *saved = emit->saved[layer->index];
	bool accumulate;
	struct pfld_operand dx = pfld_emit_input_gradient(emit, layer, 0, &accumulate);
	struct pfld_op *op = pfld_emit_op(emit, PFLD_OP_APPLY_GRADIENT, layer);
	op->src[0] = *dy;
	op->src[1] = saved[SAVED_X];
	op->src[2] = saved[SAVED_SCALE];
	op->src[3] = saved[SAVED_SHIFT];
	op->dst[0] = dx;
	op->accumulate[0] = accumulate;
	op->attr.act = pfld_emit_fused_act(emit, layer);
}

static void backward(struct pfld_emit *emit, const struct pfld_layer *layer)
{
	const struct pfld_operand *saved = emit->saved[layer->index];
	struct pfld_act_attr act = pfld_emit_fused_act(emit, layer);
	struct pfld_operand dgamma = pfld_emit_param_gradient(emit, layer, GAMMA);
	struct pfld_operand dbeta = pfld_emit_param_gradient(emit, layer, BETA);
	struct pfld_operand dy = pfld_emit_output_gradient(emit, layer);
	dy = pfld_emit_plain(emit, layer, &dy);
	struct pfld_pending pending = {
	    .kind = PFLD_PENDING_GRADIENT,
	    .act = act.act,
	    .slope = act.slope,
	    .x = saved[SAVED_X],
	    .scale = saved[SAVED_SCALE],
	    .shift = saved[SAVED_SHIFT],
	    .mean = saved[SAVED_MEAN],
	};
	bool batch = by_batch(emit, layer), dx_wanted = pfld_emit_input_needs_gradient(emit, layer, 0);
	if ((batch && dx_wanted) || pfld_operand_present(&dgamma) || pfld_operand_present(&dbeta))
		emit_gradient_sums(emit, layer, &dy, &pending);
	if (!dx_wanted) return;
	if (!batch) {
		emit_frozen_gradient(emit, layer, &dy);
		return;
	}
	struct pfld_operand gradient = pfld_emit_pending(emit, &dy, &pending);
	if (!emit->unfused) {
		pfld_emit_share_gradient(emit, layer, 0, &gradient);
		return;
	}
	bool accumulate;
	struct pfld_operand dx = pfld_emit_input_gradient(emit, layer, 0, &accumulate);
	pfld_emit_materialise(emit, layer, &gradient, &dx, accumulate);
}

const struct pfld_layer_kind pfld_layer_batch_norm = {.name = "batch_norm", .forward = forward, .backward = backward};

static bool add_channel_param(struct pfld_net *net, struct pfld_layer *layer, int32_t role, const char *name, int32_t c,
                              double value, bool is_statistic)
{
	struct pfld_shape shape = {1, {c}};
	struct pfld_init init = {.rule = PFLD_INIT_ZERO, .constant = value};
	return pfld_net_add_param(net, layer, role, name, &shape, &init, is_statistic);
}

pfld_value pfld_batch_norm(struct pfld_net *net, pfld_value x, const struct pfld_batch_norm_options *options)
{
	struct pfld_batch_norm_options o = options ? *options : (struct pfld_batch_norm_options){0};
	struct pfld_layer *layer = pfld_net_add_layer(net, &pfld_layer_batch_norm, o.name, &x, 1);
	if (!layer) return (pfld_value){0};
	if (!(o.epsilon >= 0) || !(o.momentum >= 0 && o.momentum <= 1))
		return pfld_net_fail(net, layer, PFLD_ERR_ARGUMENT, "epsilon must not be negative, momentum lie in 0..1");
	struct pfld_value_info in = *pfld_net_value(net, x.id);
	layer->attr.bn = (struct pfld_bn_attr){
	    .epsilon = o.epsilon > 0 ? o.epsilon : 1e-5,
	    .momentum = o.momentum > 0 ? o.momentum : 0.1,
	    .unbiased = !o.biased_moving_variance,
	    .num_pixels = in.h * in.w,
	};
	if ((!o.no_gamma && !add_channel_param(net, layer, GAMMA, "gamma", in.c, 1, false)) ||
	    (!o.no_beta && !add_channel_param(net, layer, BETA, "beta", in.c, 0, false)) ||
	    !add_channel_param(net, layer, MEAN, "moving_mean", in.c, 0, true) ||
	    !add_channel_param(net, layer, VARIANCE, "moving_variance", in.c, 1, true))
		return (pfld_value){0};
	return pfld_net_finish_layer(net, layer, in.h, in.w, in.c);
}
