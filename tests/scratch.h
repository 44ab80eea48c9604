// SPDX-License-Identifier: MIT
// What several tests need around files: a fresh folder, files in it, the way back, and a locale with a decimal comma.
// Failures end the test (ck_assert).
#ifndef PFLD_TESTS_SCRATCH_H
#define PFLD_TESTS_SCRATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Make a fresh folder below the current one; name ends in XXXXXX, which is replaced.
void make_scratch(char *name);
// Everything in it and itself.
void remove_tree(const char *path);
// "folder/name" with this content; folders in name are made. NULL bytes never occur in text, put_bytes takes any.
void put_file(const char *folder, const char *name, const char *text);
void put_bytes(const char *folder, const char *name, const void *bytes, size_t num_bytes);

// Calls attempt with the content of the file cut off after every byte, then with up to three bytes changed, some
// hundred times, always the same.
void damage_file(const char *path, void (*attempt)(const uint8_t *bytes, size_t num_bytes));

// setlocale() to one with a decimal comma, made by localedef when the system has none. False, with a line on stderr
// that says so, when there is no way to get one: the test then returns.
bool comma_locale_set(void);

#endif
