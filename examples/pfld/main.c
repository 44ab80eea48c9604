// SPDX-License-Identifier: MIT
// The program pfld: everything the library does for landmarks, from the command line. Uses the public headers only.
#include "commands.h"
#include "say.h"

#include <pfld/status.h>
#include <stdio.h>
#include <string.h>

static const struct command *const COMMANDS[] = {&TRAIN_COMMAND, &EVAL_COMMAND,    &PREDICT_COMMAND, &PREPARE_COMMAND,
												 &INFO_COMMAND,  &DEVICES_COMMAND, &MEMORY_COMMAND};
enum { NUM_COMMANDS = sizeof COMMANDS / sizeof *COMMANDS };

static void print_help(void)
{
	printf("pfld %s: face landmarks, trained in C\n\n  pfld COMMAND [options]\n\n", pfld_version());
	for (int i = 0; i < NUM_COMMANDS; i++) printf("  %-10s%s\n", COMMANDS[i]->name, COMMANDS[i]->summary);
	printf("\npfld COMMAND --help tells a command's options. A first run, without any data:\n\n"
		   "  pfld train --file_list builtin:train --test_list builtin:test --width 0.25 --max_epoch 10 --model_dir m\n"
		   "  pfld predict --model m --file_list builtin:test:8 --out faces\n");
}

int main(int argc, char **argv)
{
	const char *name = argc > 1 ? argv[1] : "--help";
	if (strcmp(name, "--help") == 0 || strcmp(name, "help") == 0 || strcmp(name, "-h") == 0) {
		print_help();
		return argc > 1 ? EXIT_GOOD : EXIT_USAGE;
	}
	if (strcmp(name, "--version") == 0) {
		printf("pfld %s\n", pfld_version());
		return EXIT_GOOD;
	}
	for (int i = 0; i < NUM_COMMANDS; i++)
		if (strcmp(name, COMMANDS[i]->name) == 0) return COMMANDS[i]->run(COMMANDS[i], argc - 2, argv + 2);
	char shown[SHOWN_BYTES];
	say_error(NULL, "there is no command \"%s\"; pfld --help lists them", show(shown, name));
	return EXIT_USAGE;
}
