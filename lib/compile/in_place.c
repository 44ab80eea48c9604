// SPDX-License-Identifier: MIT
// Working in place: where an op goes element by element and a source ends with it, the result goes on in the source's
// memory. Called once lifetimes are known, before tensors get their places.
#include "compile/compile.h"

// Whether result 0 of the op may lie where this source does.
static bool may_overwrite(const struct pfld_op *op, int32_t source)
{
	switch (op->kind) {
	case PFLD_OP_APPLY:
	case PFLD_OP_APPLY_GRADIENT:
	case PFLD_OP_BN_GRADIENT:
	case PFLD_OP_DROPOUT: return source == 0;
	case PFLD_OP_ADD: return source < op->attr.add.num_src;
	default: return false;
	}
}

// A whole tensor, not channels of wider pixels.
static bool is_whole(const struct pfld_emit_tensor *tensor, const struct pfld_operand *operand)
{
	return operand->channel == 0 && operand->pixel_stride == operand->c && operand->per_sample &&
	       pfld_operand_elements(operand) == tensor->elements;
}

static int32_t uses_in(const struct pfld_op *op, int32_t tensor)
{
	int32_t num = 0;
	for (int32_t i = 0; i < PFLD_OP_MAX_SRC; i++) {
		const struct pfld_operand *source = &op->src[i];
		if (!pfld_operand_present(source)) continue;
		num += source->tensor == tensor;
		if (!source->pending) continue;
		struct pfld_pending pending = *source->pending;
		for (int32_t j = 0; j < PFLD_PENDING_PARTS; j++) num += pfld_pending_part(&pending, j)->tensor == tensor;
	}
	return num;
}

static void overwrite(struct pfld_emit *emit, int32_t index)
{
	const struct pfld_op *op = &emit->ops[index];
	const struct pfld_operand *dst = &op->dst[0];
	if (!pfld_operand_present(dst) || op->accumulate[0]) return;
	struct pfld_emit_tensor *result = &emit->tensors[dst->tensor];
	if (result->persistent || result->first_op != index || !is_whole(result, dst)) return;
	for (int32_t i = 0; i < PFLD_OP_MAX_SRC; i++) {
		const struct pfld_operand *src = &op->src[i];
		if (!pfld_operand_present(src) || src->pending || !may_overwrite(op, i)) continue;
		struct pfld_emit_tensor *source = &emit->tensors[src->tensor];
		bool ends = !source->persistent && source->last_op == index && source->first_op < index;
		if (!ends || !is_whole(source, src) || source->bytes != result->bytes || uses_in(op, src->tensor) != 1) continue;
		source->last_op = index - 1;
		result->continues = src->tensor;
		return;
	}
}

void pfld_work_in_place(struct pfld_emit *emit)
{
	for (int32_t i = 0; i < (int32_t)emit->num_ops; i++) overwrite(emit, i);
}
