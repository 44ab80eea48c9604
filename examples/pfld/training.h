// SPDX-License-Identifier: MIT
// A training run: what cmd_train.c sets up, in this order, and train_loop.c runs.
#ifndef PFLD_PROGRAM_TRAINING_H
#define PFLD_PROGRAM_TRAINING_H

#include "evaluate.h"
#include "progress.h"
#include "run_state.h"
#include "trace.h"

#include <pfld/pfld.h>

struct training {
	const struct command *command;
	struct train_values values;
	struct train_config config;
	char *command_line;
	json_t *resumed;                   // what the checkpoint says; owns the strings of values that came from it
	struct pfld_dataset *train, *test; // test may be NULL
	int32_t *own_mirror_map;
	struct network network;
	struct pfld_trainer *trainer;
	struct trace *trace; // NULL: not asked for
	struct pfld_loader *loader;
	struct evaluator *evaluator; // NULL without a test list
	struct pfld_report *report;
	struct run_state state;
	struct progress progress;
	int32_t num_tests; // runs of the evaluator
	bool replaces_run; // another one in the same folder, at the end of the first epoch
	bool said_single;  // that a batch of one face was left out
};

// Set by SIGINT, SIGTERM and SIGHUP: finish the step, save, end. A second signal ends the program at once.
extern volatile sig_atomic_t training_stop;

// From the state as it stands to the last epoch. Returns an exit code; errors are said.
int training_run(struct training *training);
// The faces and rows left out so far, run.json and its companions into model_dir.
enum pfld_status training_write_report(struct training *training, const char *how_it_stands, struct pfld_error *error);

#endif
