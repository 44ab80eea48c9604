// SPDX-License-Identifier: MIT
// flatten: the same memory, seen as one pixel. No op.
#include "net/emit.h"

static void forward(struct pfld_emit *emit, const struct pfld_layer *layer)
{
	struct pfld_operand x = pfld_emit_input_row(emit, layer, 0);
	pfld_emit_alias(emit, layer, &x);
}

static void backward(struct pfld_emit *emit, const struct pfld_layer *layer)
{
	struct pfld_operand dy = pfld_emit_output_gradient(emit, layer);
	pfld_emit_share_gradient(emit, layer, 0, &dy);
}

const struct pfld_layer_kind pfld_layer_flatten = {.name = "flatten", .forward = forward, .backward = backward};

pfld_value pfld_flatten(struct pfld_net *net, pfld_value x, const char *name)
{
	struct pfld_layer *layer = pfld_net_add_layer(net, &pfld_layer_flatten, name, &x, 1);
	if (!layer) return (pfld_value){0};
	struct pfld_value_info in = *pfld_net_value(net, x.id);
	return pfld_net_finish_layer(net, layer, 1, 1, in.h * in.w * in.c);
}
