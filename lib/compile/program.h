// SPDX-License-Identifier: MIT
// Inside of programs, for the optimizer and the trainer.
#ifndef PFLD_COMPILE_PROGRAM_H
#define PFLD_COMPILE_PROGRAM_H

#include "compile/compile.h"
#include "compile/plan.h"

// The memory that programs of one device share. The program that ran last is its occupant.
struct pfld_arena {
	struct pfld_arena *next;
	struct pfld_region *pieces; // of pfld_arena_piece_bytes(), the last one of what is left
	size_t num_pieces, bytes;
	int32_t num_users;
	const struct pfld_program *occupant;
};
// An arena of the device with at least so many bytes: one that is there, or a new one.
enum pfld_status pfld_arena_acquire(struct pfld_arena **arena, struct pfld_device *device, size_t bytes,
                                    struct pfld_error *error) PFLD_MUST_USE;
void pfld_arena_release(struct pfld_arena **arena, struct pfld_device *device, const struct pfld_program *program);

enum pfld_phase { PFLD_PHASE_IDLE, PFLD_PHASE_FORWARD, PFLD_PHASE_LOSS, PFLD_PHASE_BACKWARD };

struct pfld_program {
	struct pfld_compiled compiled;
	struct pfld_weights *weights;
	char name[32];
	struct pfld_arena *arena;
	struct pfld_region gradients, batch;
	struct pfld_op_state **states; // by op
	int32_t num_prepared;
	struct pfld_tensor *inputs[PFLD_MAX_NAMED], *outputs[PFLD_NET_MAX_OUTPUTS], *output_gradients[PFLD_NET_MAX_OUTPUTS];
	struct pfld_tensor **param_gradients; // by parameter, NULL: none
	struct pfld_plan *plan;
	enum pfld_phase phase;
	int32_t n; // of the last forward
	pfld_observer *observer;
	void *observer_context;
	uint64_t *live_bytes; // by op; NULL until somebody watches
};

// observe.c: one op, watched.
enum pfld_status pfld_program_enqueue_watched(struct pfld_program *program, int32_t index, const struct pfld_run *run,
                                              struct pfld_error *error) PFLD_MUST_USE;

// Ops [first, end) for n samples.
enum pfld_status pfld_program_enqueue(struct pfld_program *program, int32_t first, int32_t end,
                                      const struct pfld_run_options *options, struct pfld_error *error) PFLD_MUST_USE;

#endif
