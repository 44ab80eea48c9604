// SPDX-License-Identifier: MIT
// Finding blocks, and emitting one once more. Which blocks are computed again is decided in budget.c.
#include "compile/blocks.h"

#include <stdlib.h>

// For each tensor of forward the layer that it first comes from, and the last that reads it.
struct uses {
	int32_t *defined, *last; // by tensor
	int32_t num;
};

static int32_t tensor_of(const struct pfld_emit *emit, int32_t value)
{
	return emit->values[value - 1].tensor;
}

static void find_uses(const struct pfld_emit *emit, struct uses *uses)
{
	const struct pfld_net *net = emit->net;
	for (int32_t i = 0; i < uses->num; i++) uses->defined[i] = uses->last[i] = -1;
	for (int32_t i = 0; i < (int32_t)net->num_layers; i++) {
		const struct pfld_layer *layer = &net->layers[i];
		if (!emit->live[i]) continue;
		int32_t output = tensor_of(emit, layer->output);
		if (output >= 0 && uses->defined[output] < 0) uses->defined[output] = i;
		for (int32_t j = 0; j < layer->num_inputs; j++) {
			int32_t input = tensor_of(emit, layer->inputs[j]);
			if (input >= 0) uses->last[input] = i;
		}
	}
}

// The one tensor that is live behind `layer`; PFLD_NO_TENSOR: there are none or several. What is always there (the input)
// does not count.
static int32_t only_live(const struct pfld_emit *emit, const struct uses *uses, int32_t layer)
{
	int32_t found = PFLD_NO_TENSOR;
	for (int32_t i = 0; i < uses->num; i++) {
		bool is_live = uses->defined[i] >= 0 && uses->defined[i] <= layer && uses->last[i] > layer;
		if (!is_live || emit->tensors[i].persistent) continue;
		if (found != PFLD_NO_TENSOR) return PFLD_NO_TENSOR;
		found = i;
	}
	return found;
}

static bool has_inside(const struct pfld_emit *emit, const struct uses *uses, const struct pfld_block *block)
{
	for (int32_t i = 0; i < uses->num; i++)
		if (uses->defined[i] >= block->first_layer && uses->defined[i] <= block->last_layer && i != block->cut &&
		    !emit->tensors[i].persistent)
			return true;
	return false;
}

// A batch norm and an activation are pending on the tensor of the layer before them, and belong to its block: a block ends
// at the last of the points where its tensor is the only one.
static void cut(struct pfld_blocks *blocks, const struct pfld_emit *emit, const struct uses *uses)
{
	int32_t num_layers = (int32_t)emit->net->num_layers, start = 0, before = PFLD_NO_TENSOR, end = 0;
	for (int32_t i = 0; i <= num_layers; i++) {
		if (i < num_layers && !emit->live[i]) continue;
		int32_t tensor = i < num_layers ? only_live(emit, uses, i) : PFLD_NO_TENSOR;
		if (before != PFLD_NO_TENSOR && tensor != before && i < num_layers) {
			blocks->blocks[blocks->num++] = (struct pfld_block){.first_layer = start, .last_layer = end, .cut = before};
			start = end + 1;
		}
		before = tensor;
		end = i;
	}
	blocks->blocks[blocks->num++] =
	    (struct pfld_block){.first_layer = start, .last_layer = num_layers - 1, .cut = PFLD_NO_TENSOR};
}

// Blocks of one tensor each, in a chain without branches, have nothing inside. Where the tensor does not grow from one to the
// next, both are one block, and the larger tensor is inside: so of an inverted bottleneck the narrow ends are cut.
static void merge(struct pfld_blocks *blocks, const struct pfld_emit *emit, const struct uses *uses)
{
	int32_t num = 0;
	bool grows = true; // the block before ends in a smaller tensor, or has an inside of its own
	for (int32_t b = 0; b < blocks->num; b++) {
		struct pfld_block block = blocks->blocks[b];
		bool is_single = b + 1 < blocks->num && !has_inside(emit, uses, &block);
		if (!grows && is_single) block.first_layer = blocks->blocks[--num].first_layer;
		const struct pfld_block *next = &blocks->blocks[b + 1];
		grows = !is_single || b + 2 >= blocks->num || has_inside(emit, uses, next) ||
		        emit->tensors[block.cut].elements < emit->tensors[next->cut].elements;
		blocks->blocks[num++] = block;
	}
	blocks->num = num;
}

static void note(struct pfld_blocks *blocks, const struct pfld_emit *emit, const struct uses *uses)
{
	for (int32_t b = 0; b < blocks->num; b++) {
		struct pfld_block *block = &blocks->blocks[b];
		// The last one's inside is still there when backward begins.
		block->has_inside = b + 1 < blocks->num && has_inside(emit, uses, block);
		for (int32_t i = block->first_layer; i <= block->last_layer; i++) blocks->layer_block[i] = emit->live[i] ? b : -1;
	}
}

enum pfld_status pfld_blocks_find(struct pfld_blocks *blocks, const struct pfld_emit *emit, struct pfld_error *error)
{
	size_t num_layers = emit->net->num_layers;
	struct uses uses = {.num = (int32_t)emit->num_tensors};
	*blocks = (struct pfld_blocks){.num_tensors = uses.num};
	uses.defined = pfld_calloc(emit->num_tensors + 1, sizeof *uses.defined);
	uses.last = pfld_calloc(emit->num_tensors + 1, sizeof *uses.last);
	blocks->blocks = pfld_calloc(num_layers + 1, sizeof *blocks->blocks);
	blocks->layer_block = pfld_calloc(num_layers + 1, sizeof *blocks->layer_block);
	blocks->defined = uses.defined;
	if (!uses.defined || !uses.last || !blocks->blocks || !blocks->layer_block) {
		free(uses.last);
		pfld_blocks_finish(blocks);
		return pfld_fail_memory(error, num_layers * sizeof *blocks->blocks, "compiling the net");
	}
	find_uses(emit, &uses);
	cut(blocks, emit, &uses);
	merge(blocks, emit, &uses);
	note(blocks, emit, &uses);
	free(uses.last);
	return PFLD_OK;
}

void pfld_blocks_finish(struct pfld_blocks *blocks)
{
	free(blocks->blocks);
	free(blocks->layer_block);
	free(blocks->defined);
	*blocks = (struct pfld_blocks){0};
}

void pfld_block_emit_again(const struct pfld_blocks *blocks, int32_t index, struct pfld_emit *emit)
{
	const struct pfld_block *block = &blocks->blocks[index];
	emit->again = true;
	for (int32_t i = block->first_layer; i <= block->last_layer && emit->error.status == PFLD_OK; i++) {
		const struct pfld_layer *layer = &emit->net->layers[i];
		int32_t tensor = tensor_of(emit, layer->output);
		bool is_there = tensor == block->cut || tensor < 0 || emit->tensors[tensor].persistent ||
		                blocks->defined[tensor] < block->first_layer;
		if (emit->live[i] && !is_there) pfld_emit_forward(emit, layer);
	}
	emit->again = false;
}
