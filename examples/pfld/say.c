// SPDX-License-Identifier: MIT
// How the program speaks.
#include "say.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

// Written by the main thread; a loader thread that warns may read a stale value and leave a line's rest on the
// terminal.
static atomic_bool progress_is_open;

void say_progress_open(bool open)
{
	progress_is_open = open;
}

static void say(const char *command, const char *kind, const char *format, va_list args)
{
	char text[2048];
	vsnprintf(text, sizeof text, format, args);
	for (char *c = text; *c; c++)
		if (*c == '\n') *c = ' ';
	fflush(stdout);
	fprintf(stderr, "%spfld%s%s: %s%s\n", progress_is_open ? "\r\033[K" : "", command ? " " : "",
			command ? command : "", kind, text);
	progress_is_open = false;
}

void say_error(const char *command, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	say(command, "", format, args);
	va_end(args);
}

void say_warning(const char *command, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	say(command, "warning: ", format, args);
	va_end(args);
}

int say_failure(const char *command, const struct pfld_error *error)
{
	say_error(command, "%s", error->message);
	return EXIT_BAD;
}

enum pfld_status fail(struct pfld_error *error, enum pfld_status status, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	vsnprintf(error->message, sizeof error->message, format, args);
	va_end(args);
	error->status = status;
	error->source_file = "";
	error->source_line = 0;
	return status;
}

static void write_log(void *context, enum pfld_log_level level, const char *text)
{
	if (level != PFLD_LOG_INFO) say_warning(context, "%s", text);
}

struct pfld_log say_log(const char *command)
{
	return (struct pfld_log){.write = write_log, .context = (void *)(uintptr_t)command};
}

const char *show(char buffer[SHOWN_BYTES], const char *text)
{
	enum { LIMIT = 200 };
	size_t used = 0, length = strlen(text);
	for (size_t i = 0; i < length; i++) {
		unsigned char c = (unsigned char)text[i];
		if (length > LIMIT && i == LIMIT / 2) {
			used += (size_t)snprintf(buffer + used, SHOWN_BYTES - used, "...");
			i = length - LIMIT / 2 - 1;
		} else if (c < 0x20 || c == 0x7f) {
			used += (size_t)snprintf(buffer + used, SHOWN_BYTES - used, "\\x%02x", (unsigned)c);
		} else if (used + 1 < SHOWN_BYTES) {
			buffer[used++] = (char)c;
		}
		if (used + 5 > SHOWN_BYTES) break;
	}
	buffer[used] = '\0';
	return buffer;
}
