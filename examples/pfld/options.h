// SPDX-License-Identifier: MIT
// Command line options from one table per command: parsing, help, and values as text and back. Long options only, in
// both spellings (--batch_size, --batch-size), as "--name value" or "--name=value". Called by every cmd_*.c.
//
// The program never calls setlocale(): numbers are read and printed with a decimal point in every locale.
#ifndef PFLD_PROGRAM_OPTIONS_H
#define PFLD_PROGRAM_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum option_type {
	OPTION_FLAG,   // bool; takes no value
	OPTION_BOOL,   // bool; takes True or False
	OPTION_INT,    // int32_t in low..high
	OPTION_SEED,   // uint64_t
	OPTION_DOUBLE, // double in low..high
	OPTION_BYTES,  // uint64_t; "440M", "0.5G", "1048576": K, M, G, T are powers of 1024
	OPTION_STRING, // const char *
	OPTION_CHOICE, // const char *, one of `choices`
	OPTION_INTS,   // struct int_list, comma separated, each in low..high
	OPTION_UNUSED, // taken with a value and dropped
	OPTION_UNUSED_FLAG,
};

enum { MAX_OPTIONS = 64, MAX_INTS = 32 };
struct int_list {
	int32_t values[MAX_INTS], num;
};

struct option {
	const char *name; // with underscores
	enum option_type type;
	size_t offset;       // in the command's struct of values
	const char *value;   // what help calls it: "N", "FILE"
	const char *choices; // "a|b|c"
	double low, high;
	const char *help;
	bool shapes_result; // training to the same bits needs the same value
};

struct command {
	const char *name;
	const char *summary;  // one line
	const char *operands; // "FILE", "" when it takes none
	int32_t min_operands, max_operands;
	const char *examples;         // lines
	const struct option *options; // behind the last one stands a name of NULL
	int (*run)(const struct command *command, int argc, char **argv);
};

struct arguments {
	bool given[MAX_OPTIONS]; // by place in the table
	const char *const *operands;
	int32_t num_operands;
};

// Rows of a command's table for the memory policy of its device; AT() is the table's own.
#define MEMORY_POLICY_OPTIONS \
	{"memory_limit", OPTION_BYTES, AT(memory_limit), "SIZE", .help = "take no more than this from the device, such as 440M or 0.5G (0: no limit)"}, \
	{"memory_fraction", OPTION_DOUBLE, AT(memory_fraction), "X", .low = 0, .high = 1, .help = "reserve this share of the device and take no more (0: reserve nothing)"}, \
	{"allow_growth", OPTION_FLAG, AT(allow_growth), .help = "take memory in chunks of 64 MiB as it is needed"}

// The same for the kernels that its driver compiles.
#define KERNEL_CACHE_OPTION \
	{"kernel_cache", OPTION_STRING, AT(kernel_cache), "DIR|none", .help = "folder for compiled OpenCL kernels (without it ~/.cache/libpfld, or under XDG_CACHE_HOME)"}

// `values` holds the defaults and gets what is given. True: go on. False: *exit_code says how to end: 0 after --help, 2
// after an error, of which one line is on stderr. Moves the operands to the end of argv.
bool options_parse(const struct command *command, int argc, char **argv, void *values, struct arguments *arguments,
				   int *exit_code);
// Set one value from its text; false with a reason ("a number in 1..4096 is expected, got \"x\"").
bool option_set(const struct option *option, void *values, const char *text, char *reason, size_t reason_bytes);
// The value as text that option_set() takes again. Returns buffer.
enum { OPTION_TEXT_BYTES = 4096 };
const char *option_text(const struct option *option, const void *values, char buffer[OPTION_TEXT_BYTES]);
// Whether the option of this name was given; the name must be in the table.
bool option_given(const struct command *command, const struct arguments *arguments, const char *name);

// A double with as few digits as read back as the same. Returns buffer.
enum { NUMBER_TEXT_BYTES = 32 };
const char *number_text(char buffer[NUMBER_TEXT_BYTES], double value);

#endif
