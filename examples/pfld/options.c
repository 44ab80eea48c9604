// SPDX-License-Identifier: MIT
// Command line options from one table per command.
#include "options.h"
#include "say.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *number_text(char buffer[NUMBER_TEXT_BYTES], double value)
{
	for (int digits = 6; digits <= 17; digits++) {
		snprintf(buffer, NUMBER_TEXT_BYTES, "%.*g", digits, value);
		if (strtod(buffer, NULL) == value) break;
	}
	return buffer;
}

static void *place(const struct option *option, void *values)
{
	return (char *)values + option->offset;
}

static bool takes_value(const struct option *option)
{
	return option->type != OPTION_FLAG && option->type != OPTION_UNUSED_FLAG;
}

// The number that `text` is from its first to its last letter.
static bool read_number(const char *text, double *value)
{
	char *end;
	errno = 0;
	*value = strtod(text, &end);
	return end != text && *end == '\0' && text[0] != ' ' && isfinite(*value);
}

static bool read_int(const struct option *option, const char *text, int32_t *value)
{
	double number;
	if (!read_number(text, &number) || number != floor(number) || number < option->low || number > option->high)
		return false;
	*value = (int32_t)number;
	return true;
}

static bool read_ints(const struct option *option, const char *text, struct int_list *list)
{
	struct int_list fresh = {.num = 0};
	while (*text) {
		char item[16];
		size_t length = strcspn(text, ",");
		if (length == 0 || length >= sizeof item || fresh.num == MAX_INTS) return false;
		memcpy(item, text, length);
		item[length] = '\0';
		if (!read_int(option, item, &fresh.values[fresh.num++])) return false;
		text += length;
		if (*text == ',' && *++text == '\0') return false;
	}
	*list = fresh;
	return fresh.num > 0;
}

// Whether text is one of "a|b|c".
static bool is_choice(const char *choices, const char *text)
{
	size_t length = strlen(text);
	for (const char *choice = choices; choice; choice = strchr(choice, '|')) {
		choice += *choice == '|';
		size_t span = strcspn(choice, "|");
		if (span == length && strncmp(choice, text, length) == 0) return true;
	}
	return false;
}

static bool read_bool(const char *text, bool *value)
{
	bool yes = strcmp(text, "True") == 0 || strcmp(text, "true") == 0 || strcmp(text, "1") == 0;
	bool no = strcmp(text, "False") == 0 || strcmp(text, "false") == 0 || strcmp(text, "0") == 0;
	if (yes || no) *value = yes;
	return yes || no;
}

static bool read_seed(const char *text, uint64_t *value)
{
	char *end;
	if (text[0] < '0' || text[0] > '9') return false;
	errno = 0;
	unsigned long long number = strtoull(text, &end, 10);
	if (*end != '\0' || errno != 0) return false;
	*value = number;
	return true;
}

// A size is rounded up to whole bytes.
static bool read_bytes(const char *text, uint64_t *value)
{
	static const char units[] = "KMGT";
	char *end;
	errno = 0;
	if ((text[0] < '0' || text[0] > '9') && text[0] != '.') return false;
	double number = strtod(text, &end);
	const char *unit = *end ? strchr(units, *end >= 'a' ? *end - 'a' + 'A' : *end) : NULL;
	if (unit) {
		number = ldexp(number, 10 * (int)(unit - units + 1));
		end++;
		if (strcmp(end, "iB") == 0) end += 2;
	}
	if (*end != '\0' || errno != 0 || !(number < 0x1p63)) return false;
	*value = (uint64_t)ceil(number);
	return true;
}

static bool read_double(const struct option *option, const char *text, double *value)
{
	double number;
	if (!read_number(text, &number) || number < option->low || number > option->high) return false;
	*value = number;
	return true;
}

bool option_set(const struct option *option, void *values, const char *text, char *reason, size_t reason_bytes)
{
	char shown[SHOWN_BYTES], low[NUMBER_TEXT_BYTES], high[NUMBER_TEXT_BYTES];
	void *value = place(option, values);
	number_text(low, option->low);
	number_text(high, option->high);
	show(shown, text);
	switch (option->type) {
	case OPTION_FLAG:
	case OPTION_BOOL:
		if (read_bool(text, value)) return true;
		snprintf(reason, reason_bytes, "True or False is expected, got \"%s\"", shown);
		return false;
	case OPTION_INT:
		if (read_int(option, text, value)) return true;
		snprintf(reason, reason_bytes, "a whole number in %s..%s is expected, got \"%s\"", low, high, shown);
		return false;
	case OPTION_SEED:
		if (read_seed(text, value)) return true;
		snprintf(reason, reason_bytes, "a whole number from 0 on is expected, got \"%s\"", shown);
		return false;
	case OPTION_DOUBLE:
		if (read_double(option, text, value)) return true;
		snprintf(reason, reason_bytes, "a number in %s..%s is expected, got \"%s\"", low, high, shown);
		return false;
	case OPTION_BYTES:
		if (read_bytes(text, value)) return true;
		snprintf(reason, reason_bytes, "a size such as 440M, 0.5G or 1048576 is expected, got \"%s\"", shown);
		return false;
	case OPTION_CHOICE:
		if (is_choice(option->choices, text)) break;
		snprintf(reason, reason_bytes, "one of %s is expected, got \"%s\"", option->choices, shown);
		return false;
	case OPTION_INTS:
		if (read_ints(option, text, value)) return true;
		snprintf(reason, reason_bytes,
				 "at most %d whole numbers in %s..%s with commas between are expected, got \"%s\"", (int)MAX_INTS, low,
				 high, shown);
		return false;
	case OPTION_STRING: break;
	case OPTION_UNUSED:
	case OPTION_UNUSED_FLAG: return true;
	}
	*(const char **)value = text;
	return true;
}

const char *option_text(const struct option *option, const void *values, char buffer[OPTION_TEXT_BYTES])
{
	const void *value = (const char *)values + option->offset;
	const struct int_list *list = value;
	const char *text = NULL;
	size_t used = 0;
	buffer[0] = '\0';
	switch (option->type) {
	case OPTION_FLAG:
	case OPTION_BOOL: snprintf(buffer, OPTION_TEXT_BYTES, "%s", *(const bool *)value ? "true" : "false"); break;
	case OPTION_INT: snprintf(buffer, OPTION_TEXT_BYTES, "%d", (int)*(const int32_t *)value); break;
	case OPTION_BYTES:
	case OPTION_SEED: snprintf(buffer, OPTION_TEXT_BYTES, "%llu", (unsigned long long)*(const uint64_t *)value); break;
	case OPTION_DOUBLE: number_text(buffer, *(const double *)value); break;
	case OPTION_STRING:
	case OPTION_CHOICE:
		text = *(const char *const *)value;
		snprintf(buffer, OPTION_TEXT_BYTES, "%s", text ? text : "");
		break;
	case OPTION_INTS:
		for (int32_t i = 0; i < list->num; i++)
			used += (size_t)snprintf(buffer + used, OPTION_TEXT_BYTES - used, "%s%d", i > 0 ? "," : "",
									 (int)list->values[i]);
		break;
	case OPTION_UNUSED:
	case OPTION_UNUSED_FLAG: break;
	}
	return buffer;
}

// ---- names ----

static char spelled(char c)
{
	return c == '-' ? '_' : c;
}

// Whether text (length letters, either spelling) is the name.
static bool is_name(const char *name, const char *text, size_t length)
{
	if (strlen(name) != length) return false;
	for (size_t i = 0; i < length; i++)
		if (spelled(text[i]) != name[i]) return false;
	return true;
}

static const struct option *find_option(const struct command *command, const char *text, size_t length)
{
	for (const struct option *option = command->options; option->name; option++)
		if (is_name(option->name, text, length)) return option;
	return NULL;
}

bool option_given(const struct command *command, const struct arguments *arguments, const char *name)
{
	const struct option *option = find_option(command, name, strlen(name));
	return option && arguments->given[option - command->options];
}

// Letters to insert, drop or replace to make one word from the other (Levenshtein 1966).
static size_t edit_distance(const char *a, size_t num_a, const char *b)
{
	enum { MAX_LETTERS = 48 };
	size_t row[MAX_LETTERS + 1], num_b = strlen(b);
	if (num_a > MAX_LETTERS || num_b > MAX_LETTERS) return MAX_LETTERS;
	for (size_t j = 0; j <= num_b; j++) row[j] = j;
	for (size_t i = 1; i <= num_a; i++) {
		size_t diagonal = row[0];
		row[0] = i;
		for (size_t j = 1; j <= num_b; j++) {
			size_t best = diagonal + (spelled(a[i - 1]) != b[j - 1]);
			diagonal = row[j];
			if (row[j] + 1 < best) best = row[j] + 1;
			if (row[j - 1] + 1 < best) best = row[j - 1] + 1;
			row[j] = best;
		}
	}
	return row[num_b];
}

static const char *nearest_name(const struct command *command, const char *text, size_t length)
{
	const char *nearest = NULL;
	size_t least = length / 3 + 2;
	for (const struct option *option = command->options; option->name; option++) {
		size_t distance = edit_distance(text, length, option->name);
		if (distance >= least) continue;
		least = distance;
		nearest = option->name;
	}
	return nearest;
}

static void say_unknown(const struct command *command, const char *text, size_t length)
{
	char name[64], shown[SHOWN_BYTES];
	snprintf(name, sizeof name, "%.*s", (int)(length < 60 ? length : 60), text);
	const char *nearest = nearest_name(command, text, length);
	show(shown, name);
	if (nearest)
		say_error(command->name, "unknown option --%s; did you mean --%s?", shown, nearest);
	else
		say_error(command->name, "unknown option --%s; pfld %s --help lists them", shown, command->name);
}

// ---- help ----

static void print_option(const struct option *option, const void *defaults)
{
	char left[160], text[OPTION_TEXT_BYTES];
	const char *value = option->type == OPTION_CHOICE ? option->choices : option->value;
	snprintf(left, sizeof left, "--%s%s%s", option->name, takes_value(option) ? " " : "",
			 takes_value(option) ? (value ? value : "X") : "");
	printf("  %-34s%s%s", left, strlen(left) > 33 ? "\n                                    " : "", option->help);
	option_text(option, defaults, text);
	if (takes_value(option) && option->type != OPTION_UNUSED && text[0] != '\0') printf(" [%s]", text);
	printf("\n");
}

static void print_help(const struct command *command, const void *defaults)
{
	printf("pfld %s: %s\n\n  pfld %s [options]%s%s\n\n", command->name, command->summary, command->name,
		   command->operands[0] ? " " : "", command->operands);
	for (const struct option *option = command->options; option->name; option++) print_option(option, defaults);
	printf("\nDefaults stand in brackets. --batch_size and --batch-size are the same.\n\nExamples:\n%s",
		   command->examples);
}

// ---- parsing ----

// One "--name[=value]" at argv[*at]; moves *at on over a value that stands apart.
static bool parse_option(const struct command *command, int argc, char **argv, int *at, void *values,
						 struct arguments *arguments)
{
	char reason[SHOWN_BYTES + 256];
	const char *text = argv[*at] + 2;
	size_t length = strcspn(text, "=");
	const struct option *option = find_option(command, text, length);
	if (!option) {
		say_unknown(command, text, length);
		return false;
	}
	const char *value = text[length] == '=' ? text + length + 1 : NULL;
	if (!takes_value(option)) {
		if (value) {
			say_error(command->name, "--%s takes no value", option->name);
			return false;
		}
		value = "true";
	} else if (!value) {
		if (*at + 1 >= argc || strncmp(argv[*at + 1], "--", 2) == 0) {
			say_error(command->name, "--%s needs a value", option->name);
			return false;
		}
		value = argv[++*at];
	}
	if (!option_set(option, values, value, reason, sizeof reason)) {
		say_error(command->name, "--%s: %s", option->name, reason);
		return false;
	}
	if (strlen(value) >= OPTION_TEXT_BYTES) {
		say_error(command->name, "--%s: the value is longer than %d bytes", option->name, OPTION_TEXT_BYTES - 1);
		return false;
	}
	arguments->given[option - command->options] = true;
	return true;
}

bool options_parse(const struct command *command, int argc, char **argv, void *values, struct arguments *arguments,
				   int *exit_code)
{
	bool only_operands = false;
	int32_t num_operands = 0;
	*arguments = (struct arguments){.operands = (const char *const *)argv};
	*exit_code = EXIT_USAGE;
	for (int at = 0; at < argc; at++) {
		if (only_operands || strncmp(argv[at], "--", 2) != 0) {
			argv[num_operands++] = argv[at];
		} else if (argv[at][2] == '\0') {
			only_operands = true;
		} else if (strcmp(argv[at], "--help") == 0) {
			print_help(command, values);
			*exit_code = EXIT_GOOD;
			return false;
		} else if (!parse_option(command, argc, argv, &at, values, arguments)) {
			return false;
		}
	}
	arguments->num_operands = num_operands;
	if (num_operands < command->min_operands) {
		say_error(command->name, "%s is missing; pfld %s --help shows examples", command->operands, command->name);
		return false;
	}
	if (num_operands > command->max_operands) {
		char shown[SHOWN_BYTES];
		say_error(command->name, "\"%s\" is not expected here; options begin with --",
				  show(shown, argv[command->max_operands]));
		return false;
	}
	return true;
}
