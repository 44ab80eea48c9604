// SPDX-License-Identifier: MIT
// What every file of the library may use: errors, checked sizes, locale-free numbers, growable text.
// Not here: files (file.h), threads (thread.h), random numbers (random.h), digests (sha256.h).
#ifndef PFLD_BASE_BASE_H
#define PFLD_BASE_BASE_H

#include <pfld/status.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// The element type of tensors. A test build (-DPFLD_DOUBLE) computes in double: the oracle for whole nets.
#ifdef PFLD_DOUBLE
typedef double pfld_real;
#else
typedef float pfld_real;
#endif

// Fill `error` (may be NULL) and return `status`, so that `return pfld_fail(...)` is one line. The text is cut at
// the size of the message, at a UTF-8 boundary. Numbers: never %f/%g/%e (they follow the host's locale), use
// pfld_format_double().
#define pfld_fail(error, status, ...) pfld_fail_at(error, status, __FILE__, __LINE__, __VA_ARGS__)
enum pfld_status pfld_fail_at(struct pfld_error *error, enum pfld_status status, const char *file, int line,
                              const char *format, ...) PFLD_PRINTF(5, 6);

// "out of memory (N bytes for WHAT)".
#define pfld_fail_memory(error, bytes, what) \
	pfld_fail(error, PFLD_ERR_MEMORY, "out of memory: %zu bytes for %s", (size_t)(bytes), what)

// Text to `log` at `level`; nothing when log or its callback is NULL.
void pfld_log_write(const struct pfld_log *log, enum pfld_log_level level, const char *format, ...) PFLD_PRINTF(3, 4);

// Sizes that may come from files or users: false on overflow, result untouched.
bool pfld_mul_size(size_t a, size_t b, size_t *result);
bool pfld_add_size(size_t a, size_t b, size_t *result);

// Bytes rounded up to a multiple of the alignment.
static inline size_t pfld_align(size_t bytes, size_t alignment)
{
	return (bytes + alignment - 1) / alignment * alignment;
}
// Zeroed array of num * bytes, or NULL (also on overflow). Free with free().
void *pfld_calloc(size_t num, size_t bytes);
// Grow an array to at least `needed` elements (doubling); *capacity and *array are updated. False: out of memory,
// array untouched and still valid.
bool pfld_grow(void *array, size_t *capacity, size_t needed, size_t element_bytes);
// Give back what such an array has in reserve; it stays as it is where that fails.
void pfld_trim(void *array, size_t *capacity, size_t num, size_t element_bytes);
// Copy of a string, NULL when out of memory or text is NULL.
char *pfld_strdup(const char *text);
// Printed into a fresh string; NULL when out of memory.
char *pfld_strprintf(const char *format, ...) PFLD_PRINTF(1, 2);

// Arguments may be evaluated twice.
#define PFLD_MIN(a, b) ((a) < (b) ? (a) : (b))
#define PFLD_MAX(a, b) ((a) > (b) ? (a) : (b))
#define PFLD_COUNT(array) (sizeof(array) / sizeof((array)[0]))

// ---- numbers, whatever the host's locale ----
// Parse a decimal number at `text`; *end (may be NULL) is set behind it (or to text when there is none). Accepts an
// optional sign, digits, '.', exponent; also inf, infinity and nan in either case. No blanks, no hexadecimal. The
// decimal mark is always '.'. Correctly rounded; too large is infinite.
double pfld_parse_double(const char *text, const char **end);
// True when the whole of `text` is one number (no blanks around it), written to *value.
bool pfld_parse_number(const char *text, double *value);
// The same for a whole number; false also when it does not fit.
bool pfld_parse_int(const char *text, int64_t *value);
#define PFLD_NUMBER_BYTES 40
// As %.{digits}g prints it, but with '.' as mark and "nan", "inf", "-inf"; digits 1..17. Where fewer digits read back
// as the same number those are printed (0.1, not 0.10000000000000001): 17 keeps every double, 0 keeps what was a float.
// Returns buffer.
char *pfld_format_double(char buffer[PFLD_NUMBER_BYTES], double value, int digits);

// ---- growable text ----
// Starts as {0}; appending to a text that has failed does nothing. finish frees it and makes it {0} again.
struct pfld_text {
	char *data; // terminated; NULL while empty
	size_t length, capacity;
	bool failed; // out of memory at some point: the content is incomplete
};
void pfld_text_append(struct pfld_text *text, const char *string);
void pfld_text_append_bytes(struct pfld_text *text, const void *bytes, size_t num_bytes);
// Locale-free for %d %s %c %x %zu and so on; doubles go through pfld_text_number().
void pfld_text_printf(struct pfld_text *text, const char *format, ...) PFLD_PRINTF(2, 3);
void pfld_text_number(struct pfld_text *text, double value, int digits);
void pfld_text_finish(struct pfld_text *text);

// Bytes of the UTF-8 character at text (1 to 4), or 0 when the num_bytes there do not begin with a valid one.
size_t pfld_utf8_bytes(const char *text, size_t num_bytes);
bool pfld_is_utf8(const char *text); // the whole of it

// File names and other foreign text made safe to print: control bytes, quotes, backslashes and invalid UTF-8 become
// \xNN, and what is then over `limit` bytes (0: 200; 16 at least) is shortened with "..." in the middle, between
// characters. NULL is shown as "". Returns buffer.
#define PFLD_SHOWN_BYTES 1024
char *pfld_show(char buffer[PFLD_SHOWN_BYTES], const char *text, size_t limit);

#endif
