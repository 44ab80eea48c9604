// SPDX-License-Identifier: MIT
// JSON that every strict reader accepts, through jansson: numbers that are not finite become null, text that is not
// UTF-8 is made so, and the host's locale has no say. For reports, and for headers of files.
#ifndef PFLD_IO_JSON_H
#define PFLD_IO_JSON_H

#include "base/base.h"
#include <jansson.h>

// New references; NULL: out of memory.
json_t *pfld_json_number(double value);     // null when it is not finite
json_t *pfld_json_string(const char *text); // each byte that is no UTF-8 becomes U+FFFD; null when text is NULL

// Replace the file at path by the value, indented, with a newline at the end. Numbers have 15 digits.
enum pfld_status pfld_json_write(const char *path, const json_t *value, struct pfld_error *error) PFLD_MUST_USE;

#endif
