// SPDX-License-Identifier: MIT
// The commands, one file each; main.c is the only one that lists them.
#ifndef PFLD_PROGRAM_COMMANDS_H
#define PFLD_PROGRAM_COMMANDS_H

#include "options.h"

extern const struct command TRAIN_COMMAND, EVAL_COMMAND, PREDICT_COMMAND, PREPARE_COMMAND, INFO_COMMAND,
	DEVICES_COMMAND, MEMORY_COMMAND;

#endif
