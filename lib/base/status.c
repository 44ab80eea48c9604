// SPDX-License-Identifier: MIT
// Names of statuses, error text, version.
#include "base.h"
#include <pfld/image.h>

#include "pfld_config.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

const char *pfld_version(void)
{
	return PFLD_VERSION_STRING;
}

const char *pfld_status_name(enum pfld_status status)
{
	switch (status) {
	case PFLD_OK: return "ok";
	case PFLD_ERR_MEMORY: return "out of memory";
	case PFLD_ERR_ARGUMENT: return "invalid argument";
	case PFLD_ERR_STATE: return "wrong state";
	case PFLD_ERR_SHAPE: return "shape mismatch";
	case PFLD_ERR_UNSUPPORTED: return "unsupported";
	case PFLD_ERR_NO_DEVICE: return "no device";
	case PFLD_ERR_DATA: return "bad data";
	case PFLD_ERR_IO: return "input/output error";
	case PFLD_ERR_DEVICE_LOST: return "device lost";
	case PFLD_ERR_CANCELLED: return "cancelled";
	case PFLD_END: return "end";
	}
	return "unknown status";
}

// Cut a text that did not fit at the last whole UTF-8 character.
static void trim_utf8(char *text, size_t length)
{
	while (length > 0 && ((unsigned char)text[length - 1] & 0xc0) == 0x80) length--;
	if (length > 0 && (unsigned char)text[length - 1] >= 0xc0) length--;
	text[length] = '\0';
}

enum pfld_status pfld_fail_at(struct pfld_error *error, enum pfld_status status, const char *file, int line,
                              const char *format, ...)
{
	if (!error) return status;
	va_list args;
	va_start(args, format);
	int length = vsnprintf(error->message, sizeof error->message, format, args);
	va_end(args);
	if (length < 0) error->message[0] = '\0';
	else if ((size_t)length >= sizeof error->message) trim_utf8(error->message, sizeof error->message - 1);
	error->status = status;
	error->source_file = file;
	error->source_line = line;
	error->transient = false;
	return status;
}

void pfld_log_write(const struct pfld_log *log, enum pfld_log_level level, const char *format, ...)
{
	if (!log || !log->write) return;
	char text[PFLD_ERROR_MESSAGE_BYTES];
	va_list args;
	va_start(args, format);
	int length = vsnprintf(text, sizeof text, format, args);
	va_end(args);
	if (length < 0) return;
	if ((size_t)length >= sizeof text) trim_utf8(text, sizeof text - 1);
	log->write(log->context, level, text);
}

void pfld_free(void *pointer)
{
	free(pointer);
}
