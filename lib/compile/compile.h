// SPDX-License-Identifier: MIT
// Compiling: from a net to a flat list of ops with planned places. No device memory is taken here, so a plan can be made
// for anything; program.c commits it.
#ifndef PFLD_COMPILE_COMPILE_H
#define PFLD_COMPILE_COMPILE_H

#include "compile/blocks.h"
#include "net/emit.h"
#include "net/weights.h"
#include <pfld/program.h>

// Where a tensor's memory comes from.
enum pfld_home { PFLD_HOME_WEIGHTS, PFLD_HOME_GRADIENTS, PFLD_HOME_BATCH, PFLD_HOME_ARENA, PFLD_NUM_HOMES };

// A tensor that programs hand out by name: input, output, target.
struct pfld_named_tensor {
	const char *name; // belongs to the net, or static
	struct pfld_operand operand;
};
enum { PFLD_MAX_NAMED = PFLD_NET_MAX_OUTPUTS + 16 };

struct pfld_compiled {
	struct pfld_emit emit;
	const struct pfld_net *net;
	struct pfld_device *device;
	enum pfld_mode mode;
	int32_t batch;
	int32_t num_forward, num_loss; // ops [0, num_forward) forward, [num_forward, num_loss) loss, then backward
	enum pfld_home *homes;         // by tensor
	size_t home_bytes[PFLD_NUM_HOMES];
	struct pfld_named_tensor inputs[PFLD_MAX_NAMED], outputs[PFLD_NET_MAX_OUTPUTS], output_gradients[PFLD_NET_MAX_OUTPUTS];
	int32_t num_inputs, num_outputs;
	struct pfld_operand sums; // running loss; absent without a loss
	bool uses_batch_statistics;
	struct pfld_blocks blocks;
	bool fits;               // the budget, where one was given
	uint64_t smallest_bytes; // of all homes, with as much computed again as can be
	double time_ratio;       // predicted, to keeping everything
};

enum pfld_status pfld_compile(struct pfld_compiled *compiled, struct pfld_device *device, const struct pfld_net *net,
                              const struct pfld_program_options *options, struct pfld_error *error) PFLD_MUST_USE;
// With the blocks that `again` names (by block; NULL: none) computed again, whatever the budget.
enum pfld_status pfld_compile_once(struct pfld_compiled *compiled, struct pfld_device *device, const struct pfld_net *net,
                                   const struct pfld_program_options *options, const bool *again,
                                   struct pfld_error *error) PFLD_MUST_USE;
// The arena comes in pieces of so many bytes, the last one as large as it must be.
size_t pfld_arena_piece_bytes(const struct pfld_device *device);
// Of all homes.
uint64_t pfld_compiled_bytes(const struct pfld_compiled *compiled);
void pfld_compiled_finish(struct pfld_compiled *compiled);

// fuse.c: mark activations that melt into the batch norm before them.
void pfld_fuse(struct pfld_emit *emit);
// backward.c: which values need a gradient; then the gradient ops of all live layers, last to first.
void pfld_mark_gradients(struct pfld_emit *emit);
void pfld_emit_backward(struct pfld_emit *emit, const struct pfld_blocks *blocks);
// readable.c: where the device cannot read an operand that is pending, an op before the reader that writes it.
enum pfld_status pfld_make_readable(struct pfld_compiled *compiled, struct pfld_error *error) PFLD_MUST_USE;
// dead.c: leave out what backward computes and nobody reads.
enum pfld_status pfld_drop_dead(struct pfld_compiled *compiled, struct pfld_error *error) PFLD_MUST_USE;
// in_place.c: results that go on in the memory of a source.
void pfld_work_in_place(struct pfld_emit *emit);
// gather.c: statistics and sums by the ops that write what they are of.
void pfld_gather(struct pfld_compiled *compiled);
// loss.c: the loss op over the outputs, its targets as inputs.
enum pfld_status pfld_emit_loss(struct pfld_compiled *compiled, const struct pfld_loss_options *options,
                                struct pfld_error *error) PFLD_MUST_USE;

#endif
