// SPDX-License-Identifier: MIT
// Blocks: stretches of layers between two points where exactly one tensor is live. What lies inside a block can be kept for
// backward, or be computed again from the tensor that enters it.
#ifndef PFLD_COMPILE_BLOCKS_H
#define PFLD_COMPILE_BLOCKS_H

#include "net/emit.h"

struct pfld_block {
	int32_t first_layer, last_layer; // both included
	int32_t cut;                     // tensor that leaves the block; PFLD_NO_TENSOR: the last block
	bool has_inside;                 // something could be computed again
	bool again;                      // it is
};
struct pfld_blocks {
	struct pfld_block *blocks;
	int32_t num;
	int32_t *layer_block; // by layer; -1: not live
	int32_t *defined;     // by tensor of forward: the layer whose output it first is
	int32_t num_tensors;
};

// After the forward ops have been emitted. All blocks are kept.
enum pfld_status pfld_blocks_find(struct pfld_blocks *blocks, const struct pfld_emit *emit,
                                  struct pfld_error *error) PFLD_MUST_USE;
void pfld_blocks_finish(struct pfld_blocks *blocks);
// The forward ops of what lies inside the block, into new tensors, which stand for its values from then on.
void pfld_block_emit_again(const struct pfld_blocks *blocks, int32_t block, struct pfld_emit *emit);

#endif
