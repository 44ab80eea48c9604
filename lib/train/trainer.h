// SPDX-License-Identifier: MIT
// Inside of trainers, for checkpoints.
#ifndef PFLD_TRAIN_TRAINER_H
#define PFLD_TRAIN_TRAINER_H

#include "train/optimizer.h"
#include <pfld/trainer.h>

enum { PFLD_MAX_SLOTS = 16 };

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
	float *statistics;           // moving statistics before the step, to go back to
	size_t num_statistics;
};

#endif
