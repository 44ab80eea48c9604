// SPDX-License-Identifier: MIT
// The backward half: what needs a gradient, and the layers' gradient ops in reverse order, in front of them what is computed
// again for them. Nothing below the lowest trainable layer is differentiated.
#include "compile/compile.h"

void pfld_mark_gradients(struct pfld_emit *emit)
{
	const struct pfld_net *net = emit->net;
	for (size_t i = 0; i < net->num_layers; i++) {
		const struct pfld_layer *layer = &net->layers[i];
		bool needs = false;
		for (int32_t j = 0; j < layer->num_inputs; j++) needs |= emit->needs_gradient[layer->inputs[j] - 1];
		for (int32_t j = 0; j < PFLD_LAYER_MAX_PARAMS; j++) {
			if (layer->params[j] < 0) continue;
			const struct pfld_parameter_info *info = &net->params[layer->params[j]].info;
			needs |= info->trainable && !info->is_statistic;
		}
		emit->needs_gradient[layer->output - 1] = needs && emit->live[i];
	}
}

void pfld_emit_backward(struct pfld_emit *emit, const struct pfld_blocks *blocks)
{
	const struct pfld_net *net = emit->net;
	for (size_t i = net->num_layers; i-- > 0;) {
		const struct pfld_layer *layer = &net->layers[i];
		int32_t value = layer->output - 1, block = blocks->layer_block[i];
		// On the way back a block is entered at its end.
		if (block >= 0 && blocks->blocks[block].again && blocks->blocks[block].last_layer == (int32_t)i)
			pfld_block_emit_again(blocks, block, emit);
		if (emit->live[i] && layer->kind->backward && pfld_operand_present(&emit->gradients[value])) {
			if (emit->is_fused[i]) pfld_emit_share_gradient(emit, layer, 0, &emit->gradients[value]);
			else layer->kind->backward(emit, layer);
		}
		emit->gradient_done[value] = true;
	}
}
