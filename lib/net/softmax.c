// SPDX-License-Identifier: MIT
// softmax over the channels of each pixel. Its gradient reads the output.
#include "net/emit.h"

static void forward(struct pfld_emit *emit, const struct pfld_layer *layer)
{
	struct pfld_operand y = pfld_emit_output(emit, layer);
	struct pfld_op *op = pfld_emit_op(emit, PFLD_OP_SOFTMAX, layer);
	op->src[0] = pfld_emit_input(emit, layer, 0);
	op->dst[0] = y;
}

static void backward(struct pfld_emit *emit, const struct pfld_layer *layer)
{
	bool accumulate;
	struct pfld_operand dx = pfld_emit_input_gradient(emit, layer, 0, &accumulate);
	if (!pfld_operand_present(&dx)) return;
	struct pfld_op *op = pfld_emit_op(emit, PFLD_OP_SOFTMAX_GRADIENT, layer);
	op->src[0] = pfld_emit_output_gradient(emit, layer);
	op->src[1] = emit->values[layer->output - 1];
	op->dst[0] = dx;
	op->accumulate[0] = accumulate;
}

const struct pfld_layer_kind pfld_layer_softmax = {.name = "softmax", .forward = forward, .backward = backward};

pfld_value pfld_softmax(struct pfld_net *net, pfld_value x, const char *name)
{
	struct pfld_layer *layer = pfld_net_add_layer(net, &pfld_layer_softmax, name, &x, 1);
	if (!layer) return (pfld_value){0};
	struct pfld_value_info in = *pfld_net_value(net, x.id);
	return pfld_net_finish_layer(net, layer, in.h, in.w, in.c);
}
