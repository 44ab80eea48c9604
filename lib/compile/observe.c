// SPDX-License-Identifier: MIT
// Watching a program: what each op took, and what was live then. Nothing of this costs anything while nobody watches.
#include "base/thread.h"
#include "compile/program.h"

#include <stdlib.h>

static enum pfld_status find_live(struct pfld_program *program, struct pfld_error *error)
{
	const struct pfld_emit *emit = &program->compiled.emit;
	size_t alignment = program->weights->device->limits.alignment_bytes;
	uint64_t *live = pfld_calloc(emit->num_ops + 1, sizeof *live);
	if (!live) return pfld_fail_memory(error, emit->num_ops * sizeof *live, "watching a program");
	for (size_t i = 0; i < emit->num_tensors; i++) {
		const struct pfld_emit_tensor *tensor = &emit->tensors[i];
		for (int32_t op = tensor->first_op; !tensor->persistent && op <= tensor->last_op; op++)
			live[op] += pfld_align(tensor->bytes, alignment);
	}
	program->live_bytes = live;
	return PFLD_OK;
}

enum pfld_status pfld_program_observe(struct pfld_program *program, pfld_observer *observer, void *context,
                                      struct pfld_error *error)
{
	if (!program) return pfld_fail(error, PFLD_ERR_ARGUMENT, "the program is NULL");
	enum pfld_status status = observer && !program->live_bytes ? find_live(program, error) : PFLD_OK;
	if (status != PFLD_OK) return status;
	program->observer = observer;
	program->observer_context = context;
	return PFLD_OK;
}

enum pfld_status pfld_program_enqueue_watched(struct pfld_program *program, int32_t index, const struct pfld_run *run,
                                              struct pfld_error *error)
{
	struct pfld_device *device = program->weights->device;
	const struct pfld_op *op = &program->compiled.emit.ops[index];
	struct pfld_op_event event = {
	    .program = program->name,
	    .layer = op->layer >= 0 ? program->compiled.net->layers[op->layer].name : "",
	    .op = pfld_op_name(op->kind),
	    .index = index,
	    .backward = index >= program->compiled.num_loss,
	    .again = op->again,
	    .live_bytes = program->live_bytes[index],
	    .start_ns = pfld_now_ns(),
	};
	enum pfld_status status = pfld_device_enqueue(device, op, program->states[index], run, error);
	if (status == PFLD_OK) status = pfld_device_finish(device, error);
	if (status != PFLD_OK) return status;
	event.end_ns = pfld_now_ns();
	program->observer(program->observer_context, &event);
	return PFLD_OK;
}
