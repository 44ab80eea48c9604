// SPDX-License-Identifier: MIT
// Fusing: an activation whose only input is a batch norm that nobody else reads becomes part of what is pending behind the
// norm; neither value is then ever in memory.
#include "compile/compile.h"

static bool is_output(const struct pfld_net *net, int32_t value)
{
	for (int32_t i = 0; i < net->num_outputs; i++)
		if (net->outputs[i].value == value) return true;
	return false;
}

static bool melts(enum pfld_act act)
{
	return act != PFLD_ACT_PRELU; // whose slopes have a gradient of their own
}

void pfld_fuse(struct pfld_emit *emit)
{
	const struct pfld_net *net = emit->net;
	for (size_t i = 0; i < net->num_layers; i++) {
		const struct pfld_layer *layer = &net->layers[i];
		if (layer->kind != &pfld_layer_activation || !melts(layer->attr.act.act)) continue;
		const struct pfld_value_info *in = pfld_net_value(net, layer->inputs[0]);
		if (net->layers[in->layer].kind != &pfld_layer_batch_norm || in->num_consumers != 1) continue;
		if (is_output(net, layer->inputs[0])) continue;
		emit->fused_layer[in->layer] = layer->index;
		emit->is_fused[i] = true;
	}
}
