// SPDX-License-Identifier: MIT
// input: a picture or a row of numbers that the caller fills.
#include "net/emit.h"

static void forward(struct pfld_emit *emit, const struct pfld_layer *layer)
{
	struct pfld_operand x = pfld_emit_output(emit, layer);
	if (!pfld_operand_present(&x)) return;
	emit->tensors[x.tensor].role = "input";
	emit->tensors[x.tensor].memory_class = PFLD_MEMORY_BATCH;
	emit->tensors[x.tensor].persistent = true;
}

const struct pfld_layer_kind pfld_layer_input = {.name = "input", .forward = forward};

pfld_value pfld_input(struct pfld_net *net, const char *name, int32_t height, int32_t width, int32_t channels)
{
	struct pfld_layer *layer = pfld_net_add_layer(net, &pfld_layer_input, name, NULL, 0);
	return layer ? pfld_net_finish_layer(net, layer, height, width, channels) : (pfld_value){0};
}
