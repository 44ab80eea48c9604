// SPDX-License-Identifier: MIT
// Fusing: an activation whose only input is a batch norm that nobody else reads becomes part of what is pending behind the
// norm; neither value is then ever in memory. In inference a batch norm goes into the kernel before it.
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

static bool has_kernel(const struct pfld_layer *layer)
{
	return layer->kind == &pfld_layer_conv2d || layer->kind == &pfld_layer_depthwise_conv2d ||
	       layer->kind == &pfld_layer_linear;
}

// In inference: batch norms whose only input nobody else reads and comes from a convolution.
static void fold(struct pfld_emit *emit)
{
	const struct pfld_net *net = emit->net;
	for (size_t i = 0; i < net->num_layers; i++) {
		const struct pfld_layer *layer = &net->layers[i];
		if (layer->kind != &pfld_layer_batch_norm) continue;
		const struct pfld_value_info *in = pfld_net_value(net, layer->inputs[0]);
		if (in->num_consumers == 1 && has_kernel(&net->layers[in->layer]) && !is_output(net, layer->inputs[0]))
			emit->folded_norm[in->layer] = layer->index;
	}
}

void pfld_fuse(struct pfld_emit *emit)
{
	const struct pfld_net *net = emit->net;
	if (!emit->training) fold(emit);
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
