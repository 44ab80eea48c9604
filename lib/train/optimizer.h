// SPDX-License-Identifier: MIT
// Inside of optimizers, for the trainer and its plan.
#ifndef PFLD_TRAIN_OPTIMIZER_H
#define PFLD_TRAIN_OPTIMIZER_H

#include "compile/program.h"

struct pfld_optimizer {
	struct pfld_program *program;
	struct pfld_region region; // states one after the other, then the joint norm
	struct pfld_region workspaces[2];
	size_t block_bytes; // of one state: that of the gradients
	int32_t num_states;
	struct pfld_parameter_factor *factors;
	int32_t *params, num_params; // parameters with a gradient
	struct pfld_tensor **tensors;
	char **names;
	int32_t num_tensors;
	struct pfld_op norm, update;
	struct pfld_op_state *norm_state, *update_state;
	bool norm_ready, update_ready;
	uint64_t num_steps;
};

int32_t pfld_optimizer_num_states(const struct pfld_optimizer_options *options);
// Bytes of an optimizer's region for a compiled program.
size_t pfld_optimizer_block_bytes(const struct pfld_compiled *compiled, const struct pfld_optimizer_options *options);

// Bytes of the scratch that the two ops of a step need.
size_t pfld_optimizer_workspace_bytes(const struct pfld_compiled *compiled, const struct pfld_optimizer_options *options);

#endif
