// SPDX-License-Identifier: MIT
// dropout: in training each number is kept or not by a draw from (seed, step, layer, element), drawn again in backward. In
// inference nothing at all.
#include "net/emit.h"

static void emit_dropout(struct pfld_emit *emit, const struct pfld_layer *layer, const struct pfld_operand *dst,
                         const struct pfld_operand *src, bool accumulate)
{
	struct pfld_op *op = pfld_emit_op(emit, PFLD_OP_DROPOUT, layer);
	op->src[0] = *src;
	op->dst[0] = *dst;
	op->accumulate[0] = accumulate;
	op->attr.dropout = layer->attr.dropout;
}

static void forward(struct pfld_emit *emit, const struct pfld_layer *layer)
{
	struct pfld_operand x = pfld_emit_input(emit, layer, 0);
	if (!emit->training) {
		pfld_emit_alias(emit, layer, &x);
		return;
	}
	struct pfld_operand y = pfld_emit_output(emit, layer);
	emit_dropout(emit, layer, &y, &x, false);
}

static void backward(struct pfld_emit *emit, const struct pfld_layer *layer)
{
	bool accumulate;
	struct pfld_operand dx = pfld_emit_input_gradient(emit, layer, 0, &accumulate);
	if (!pfld_operand_present(&dx)) return;
	struct pfld_operand dy = pfld_emit_output_gradient(emit, layer);
	emit_dropout(emit, layer, &dx, &dy, accumulate);
}

const struct pfld_layer_kind pfld_layer_dropout = {.name = "dropout", .forward = forward, .backward = backward};

pfld_value pfld_dropout(struct pfld_net *net, pfld_value x, double rate, const char *name)
{
	struct pfld_layer *layer = pfld_net_add_layer(net, &pfld_layer_dropout, name, &x, 1);
	if (!layer) return (pfld_value){0};
	if (!(rate >= 0 && rate < 1)) return pfld_net_fail(net, layer, PFLD_ERR_ARGUMENT, "the rate must lie in 0 <= rate < 1");
	struct pfld_value_info in = *pfld_net_value(net, x.id);
	layer->attr.dropout = (struct pfld_dropout_attr){.rate = rate, .stream = (uint32_t)layer->index};
	return pfld_net_finish_layer(net, layer, in.h, in.w, in.c);
}
