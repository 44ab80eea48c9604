// SPDX-License-Identifier: MIT
// Gathering: what a batch norm needs to know of a tensor (statistics of its input, sums over its output's gradient) is
// computed by the convolution that writes the tensor, where the device can, and not by an op that reads it once more.
#include "compile/compile.h"

// The last op before `end` that writes the whole tensor as its result 0; -1: none, or another result is it.
static int32_t find_writer(const struct pfld_emit *emit, const struct pfld_operand *written, int32_t end)
{
	for (int32_t i = end - 1; i >= 0; i--) {
		const struct pfld_op *op = &emit->ops[i];
		for (int32_t j = 0; j < PFLD_OP_MAX_DST; j++) {
			if (op->dst[j].tensor != written->tensor) continue;
			const struct pfld_operand *dst = &op->dst[0];
			bool is_whole = j == 0 && dst->h == written->h && dst->w == written->w && dst->c == written->c &&
			                dst->pixel_stride == written->pixel_stride && dst->channel == written->channel;
			return is_whole ? i : -1;
		}
	}
	return -1;
}

static bool takes_statistics(struct pfld_op *writer, const struct pfld_op *statistics)
{
	if (writer->kind != PFLD_OP_CONV2D || pfld_operand_present(&writer->dst[1])) return false;
	writer->dst[1] = statistics->dst[0];
	writer->dst[2] = statistics->dst[1];
	return true;
}

static bool takes_sums(struct pfld_op *writer, const struct pfld_op *sums)
{
	if (writer->kind != PFLD_OP_CONV2D_GRADIENT || pfld_operand_present(&writer->dst[3])) return false;
	for (int32_t i = 0; i < 5; i++) writer->src[3 + i] = sums->src[1 + i];
	for (int32_t i = 0; i < 4; i++) {
		writer->dst[3 + i] = sums->dst[i];
		writer->gradient[3 + i] = sums->gradient[i];
	}
	writer->attr.conv.norm_act = sums->attr.act.act;
	writer->attr.conv.norm_slope = sums->attr.act.slope;
	return true;
}

// What a norm is of must be there when the gradient behind it is written, whichever blocks are computed again: whether sums
// are gathered is part of the bits.
static bool is_there(const struct pfld_compiled *compiled, const struct pfld_op *writer, const struct pfld_operand *x)
{
	const struct pfld_blocks *blocks = &compiled->blocks;
	int32_t layer = compiled->emit.tensors[x->tensor].layer, block = layer < 0 ? -1 : blocks->layer_block[layer];
	if (block < 0 || writer->layer < 0) return false;
	return x->tensor == blocks->blocks[block].cut || block == blocks->layer_block[writer->layer];
}

// Op `index` becomes part of the op that writes what it reads. False: it stays.
static bool give_away(struct pfld_compiled *compiled, int32_t index)
{
	struct pfld_emit *emit = &compiled->emit;
	const struct pfld_op *op = &emit->ops[index];
	if (op->kind != PFLD_OP_BN_STATISTICS && op->kind != PFLD_OP_BN_GRADIENT_SUMS) return false;
	int32_t writer = find_writer(emit, &op->src[0], index);
	if (writer < 0) return false;
	struct pfld_op both = emit->ops[writer];
	bool taken = op->kind == PFLD_OP_BN_STATISTICS
	                 ? takes_statistics(&both, op)
	                 : is_there(compiled, &both, &op->src[1]) && takes_sums(&both, op);
	if (!taken || !pfld_device_supports(compiled->device, &both)) return false;
	emit->ops[writer] = both;
	return true;
}

void pfld_gather(struct pfld_compiled *compiled)
{
	struct pfld_emit *emit = &compiled->emit;
	int32_t kept = 0, num_forward = compiled->num_forward, num_loss = compiled->num_loss;
	for (int32_t i = 0; i <= (int32_t)emit->num_ops; i++) {
		if (i == num_forward) compiled->num_forward = kept;
		if (i == num_loss) compiled->num_loss = kept;
		if (i == (int32_t)emit->num_ops) break;
		emit->ops[kept] = emit->ops[i];
		if (!give_away(compiled, kept)) kept++;
	}
	emit->num_ops = (size_t)kept;
}
