// SPDX-License-Identifier: MIT
// Inside of trainers, for the step and for checkpoints.
#ifndef PFLD_TRAIN_TRAINER_H
#define PFLD_TRAIN_TRAINER_H

#include "train/optimizer.h"
#include <pfld/trainer.h>

enum { PFLD_MAX_SLOTS = 16 };

// The last step, until its outcome has been looked at.
struct pfld_step {
	bool waits;     // for that; the numbers below may still be on their way
	bool optimized; // it was one of the optimizer's as well
	pfld_real sums[PFLD_SUMS_COUNT], norm2;
};

struct pfld_trainer {
	struct pfld_weights *weights;
	struct pfld_program *train, *infer;
	struct pfld_optimizer *optimizer;
	struct pfld_plan *plan;
	struct pfld_region slot_memory;
	struct pfld_batch slots[PFLD_MAX_SLOTS];
	int32_t num_slots;
	double learning_rate;
	int32_t accumulate, pending; // batches whose gradients wait for the optimizer
	uint64_t seed, num_batches;  // trained so far: dropout's step
	// Moving statistics before the step, to go back to: on the device where it works beside the host, else in memory.
	struct pfld_region backup;
	pfld_real *statistics;
	size_t statistics_bytes;
	struct pfld_region staging; // inputs and targets of the next step, as they lie in the program's own; or nothing
	struct pfld_step step;
};

// step.c. Waits for the last step, if nobody has yet. PFLD_ERR_DATA: it came to numbers that are not finite; all is as
// before it.
enum pfld_status pfld_trainer_settle(struct pfld_trainer *trainer, struct pfld_error *error) PFLD_MUST_USE;
enum pfld_status pfld_trainer_check_batch(const struct pfld_trainer *trainer, const struct pfld_batch *batch,
                                          struct pfld_error *error) PFLD_MUST_USE;
enum pfld_status pfld_trainer_fail_none(struct pfld_error *error);

#endif
