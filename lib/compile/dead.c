// SPDX-License-Identifier: MIT
// Ops whose results nobody reads are left out: what is computed again for a gradient that nobody wants, for one.
#include "compile/compile.h"

#include <stdlib.h>

static void need(bool *needed, const struct pfld_operand *operand)
{
	if (!pfld_operand_present(operand)) return;
	needed[operand->tensor] = true;
	if (!operand->pending) return;
	struct pfld_pending pending = *operand->pending;
	for (int32_t i = 0; i < PFLD_PENDING_PARTS; i++) need(needed, pfld_pending_part(&pending, i));
}

static bool is_wanted(const struct pfld_emit *emit, const bool *needed, const struct pfld_op *op)
{
	for (int32_t i = 0; i < PFLD_OP_MAX_DST; i++) {
		if (!pfld_operand_present(&op->dst[i])) continue;
		if (needed[op->dst[i].tensor] || emit->tensors[op->dst[i].tensor].persistent) return true;
	}
	return false;
}

enum pfld_status pfld_drop_dead(struct pfld_compiled *compiled, struct pfld_error *error)
{
	struct pfld_emit *emit = &compiled->emit;
	bool *needed = pfld_calloc(emit->num_tensors + 1, sizeof *needed), *wanted = pfld_calloc(emit->num_ops + 1, sizeof *wanted);
	if (!needed || !wanted) {
		free(needed);
		free(wanted);
		return pfld_fail_memory(error, emit->num_ops, "compiling the net");
	}
	for (int32_t i = 0; i < compiled->num_outputs; i++) need(needed, &compiled->outputs[i].operand);
	for (size_t i = emit->num_ops; i-- > 0;) {
		const struct pfld_op *op = &emit->ops[i];
		// Forward and loss stay as they are: whoever looks for a bad layer looks at all of them.
		wanted[i] = (int32_t)i < compiled->num_loss || is_wanted(emit, needed, op);
		for (int32_t j = 0; wanted[i] && j < PFLD_OP_MAX_SRC; j++) need(needed, &op->src[j]);
	}
	size_t kept = 0;
	for (size_t i = 0; i < emit->num_ops; i++)
		if (wanted[i]) emit->ops[kept++] = emit->ops[i];
	emit->num_ops = kept;
	free(needed);
	free(wanted);
	return PFLD_OK;
}
