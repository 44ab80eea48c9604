// SPDX-License-Identifier: MIT
// add: a weighted sum of values of one shape (residual connections). Where the weight is 1 the gradient is passed on, not
// copied.
#include "net/emit.h"

static void forward(struct pfld_emit *emit, const struct pfld_layer *layer)
{
	struct pfld_operand y = pfld_emit_output(emit, layer);
	struct pfld_op *op = pfld_emit_op(emit, PFLD_OP_ADD, layer);
	for (int32_t i = 0; i < layer->num_inputs; i++) op->src[i] = pfld_emit_input(emit, layer, i);
	op->dst[0] = y;
	op->attr.add = layer->attr.add;
}

static void backward(struct pfld_emit *emit, const struct pfld_layer *layer)
{
	struct pfld_operand dy = pfld_emit_output_gradient(emit, layer);
	for (int32_t i = 0; i < layer->num_inputs; i++) {
		double scale = layer->attr.add.scale[i];
		if (scale == 1) {
			pfld_emit_share_gradient(emit, layer, i, &dy);
			continue;
		}
		bool accumulate;
		struct pfld_operand dx = pfld_emit_input_gradient(emit, layer, i, &accumulate);
		if (!pfld_operand_present(&dx)) continue;
		pfld_emit_copy(emit, layer, &dx, &dy, scale, accumulate);
	}
}

const struct pfld_layer_kind pfld_layer_add = {.name = "add", .forward = forward, .backward = backward};

pfld_value pfld_add(struct pfld_net *net, const pfld_value *x, int32_t num, const double *scale, const char *name)
{
	struct pfld_layer *layer = pfld_net_add_layer(net, &pfld_layer_add, name, x, num);
	if (!layer) return (pfld_value){0};
	if (num < 1) return pfld_net_fail(net, layer, PFLD_ERR_ARGUMENT, "at least one value is needed");
	struct pfld_value_info first = *pfld_net_value(net, x[0].id);
	layer->attr.add.num_src = num;
	for (int32_t i = 0; i < num; i++) {
		const struct pfld_value_info *in = pfld_net_value(net, x[i].id);
		if (in->h != first.h || in->w != first.w || in->c != first.c)
			return pfld_net_fail(net, layer, PFLD_ERR_SHAPE, "value %d is (%d, %d, %d), value 0 is (%d, %d, %d)", i, in->h,
			                     in->w, in->c, first.h, first.w, first.c);
		layer->attr.add.scale[i] = scale ? scale[i] : 1;
	}
	return pfld_net_finish_layer(net, layer, first.h, first.w, first.c);
}
