// SPDX-License-Identifier: MIT
// What a checkpoint must hold besides the trainer's own state, so that training goes on to the same bits: where it
// stands, the best so far, the schedule's memory, the samples that failed, and the options. Kept as JSON in the
// metadata key "pfld_run" of last.safetensors. Called by cmd_train.c and train_loop.c.
#ifndef PFLD_PROGRAM_RUN_STATE_H
#define PFLD_PROGRAM_RUN_STATE_H

#include "json_out.h"
#include "train_config.h"

#define RUN_STATE_KEY "pfld_run"

struct run_state {
	int32_t epoch;        // in progress, from 1
	int64_t position;     // batches of it that are done
	double learning_rate; // of the last batch
	int32_t best_epoch;   // 0: none yet
	double best;
	int64_t num_faces; // of the training list
	char device[24];
	struct pfld_schedule schedule;
};

// The whole as text, freed with free(); NULL when out of memory.
char *run_state_text(const struct run_state *state, const struct train_values *values,
					 const struct pfld_loader *loader);

// Read from a checkpoint; *root owns all strings and is freed with json_decref().
enum pfld_status run_state_read(json_t **root, const char *path, struct pfld_error *error);
// Options that were not given take the run's values (strings belong to root). False, with the error said, when one that
// was given differs and shapes the result.
bool run_state_take_options(const struct command *command, const struct arguments *arguments,
							struct train_values *values, const json_t *root);
// The rest. `schedule` gets its memory only.
enum pfld_status run_state_take(struct run_state *state, const json_t *root, struct pfld_error *error);
enum pfld_status run_state_take_skips(struct pfld_loader *loader, const json_t *root, struct pfld_error *error);

#endif
