// SPDX-License-Identifier: MIT
// Pending operands that a device cannot read: the op that writes them goes in before each reader, into memory that lives
// no longer than the reader needs it. Called once all ops have been emitted.
#include "compile/compile.h"

#include <stdlib.h>
#include <string.h>

// Whether the device can do the op when this one source is pending.
static bool can_read(const struct pfld_device *device, const struct pfld_op *op, int32_t source)
{
	struct pfld_op alone = *op;
	for (int32_t i = 0; i < PFLD_OP_MAX_SRC; i++)
		if (i != source) alone.src[i].pending = NULL;
	return pfld_device_supports(device, &alone);
}

static void append(struct pfld_compiled *compiled, const struct pfld_op *op)
{
	struct pfld_emit *emit = &compiled->emit;
	struct pfld_op made = *op;
	const struct pfld_layer *layer = op->layer >= 0 ? &compiled->net->layers[op->layer] : NULL;
	emit->again = op->again; // what it needs is, too
	for (int32_t i = 0; i < PFLD_OP_MAX_SRC; i++)
		if (pfld_operand_present(&op->src[i]) && op->src[i].pending && !can_read(compiled->device, op, i))
			made.src[i] = pfld_emit_plain(emit, layer, &op->src[i]);
	*pfld_emit_op(emit, op->kind, layer) = made;
	emit->again = false;
}

enum pfld_status pfld_make_readable(struct pfld_compiled *compiled, struct pfld_error *error)
{
	struct pfld_emit *emit = &compiled->emit;
	struct pfld_op *ops = emit->ops;
	size_t num_ops = emit->num_ops, num_forward = (size_t)compiled->num_forward, num_loss = (size_t)compiled->num_loss;
	emit->ops = NULL;
	emit->num_ops = emit->ops_capacity = 0;
	for (size_t i = 0; i <= num_ops; i++) {
		if (i == num_forward) compiled->num_forward = (int32_t)emit->num_ops;
		if (i == num_loss) compiled->num_loss = (int32_t)emit->num_ops;
		if (i < num_ops) append(compiled, &ops[i]);
	}
	free(ops);
	if (emit->error.status != PFLD_OK && error) *error = emit->error;
	return emit->error.status;
}
