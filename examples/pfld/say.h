// SPDX-License-Identifier: MIT
// How the program ends and speaks: exit codes, one line on stderr for an error or a warning, foreign text made
// printable.
#ifndef PFLD_PROGRAM_SAY_H
#define PFLD_PROGRAM_SAY_H

#include <pfld/status.h>
#include <stdbool.h>

enum { EXIT_GOOD = 0, EXIT_BAD = 1, EXIT_USAGE = 2, EXIT_INTERRUPTED = 130 };

// "pfld COMMAND: text" on stderr, after the end of an unfinished progress line.
void say_error(const char *command, const char *format, ...) PFLD_PRINTF(2, 3);
void say_warning(const char *command, const char *format, ...) PFLD_PRINTF(2, 3);
// The library's error as the one line; returns EXIT_BAD.
int say_failure(const char *command, const struct pfld_error *error);
// A failure of the program's own in the library's form: fills `error` and returns `status`.
enum pfld_status fail(struct pfld_error *error, enum pfld_status status, const char *format, ...) PFLD_PRINTF(3, 4);
// A log whose warnings and errors are said; `command` must outlive it.
struct pfld_log say_log(const char *command);

// A progress line without an end stands on the terminal (or no longer): the next line said clears it first.
void say_progress_open(bool open);

// Text for one line of a terminal: control bytes as \xNN, shortened in the middle. Returns buffer.
enum { SHOWN_BYTES = 512 };
const char *show(char buffer[SHOWN_BYTES], const char *text);

#endif
