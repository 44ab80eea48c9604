// SPDX-License-Identifier: MIT
// Memory with checked sizes: arrays, growing arrays, copies of strings. Everything may fail and says so by NULL or
// false. Used everywhere; device memory is not here (lib/device).
#include "base.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool pfld_mul_size(size_t a, size_t b, size_t *result)
{
	if (b != 0 && a > SIZE_MAX / b) return false;
	*result = a * b;
	return true;
}

bool pfld_add_size(size_t a, size_t b, size_t *result)
{
	if (a > SIZE_MAX - b) return false;
	*result = a + b;
	return true;
}

void *pfld_calloc(size_t num, size_t bytes)
{
	size_t total;
	if (!pfld_mul_size(num, bytes, &total)) return NULL;
	return calloc(total ? total : 1, 1); // of 0 bytes it may be NULL, which would read as "out of memory"
}

bool pfld_grow(void *array, size_t *capacity, size_t needed, size_t element_bytes)
{
	if (needed <= *capacity) return true;
	size_t wanted = *capacity < 8 ? 8 : *capacity;
	while (wanted < needed) {
		if (wanted > SIZE_MAX / 2) {
			wanted = needed;
			break;
		}
		wanted *= 2;
	}
	size_t bytes;
	if (!pfld_mul_size(wanted, element_bytes, &bytes)) return false;
	// `array` points to a pointer of any type: copied as bytes, which aliasing rules allow.
	void *old;
	memcpy(&old, array, sizeof old);
	void *grown = realloc(old, bytes);
	if (!grown) return false;
	memcpy(array, &grown, sizeof grown);
	*capacity = wanted;
	return true;
}

void pfld_trim(void *array, size_t *capacity, size_t num, size_t element_bytes)
{
	void *old;
	memcpy(&old, array, sizeof old);
	void *smaller = num && num < *capacity ? realloc(old, num * element_bytes) : NULL;
	if (!smaller) return;
	memcpy(array, &smaller, sizeof smaller);
	*capacity = num;
}

char *pfld_strdup(const char *text)
{
	if (!text) return NULL;
	size_t bytes = strlen(text) + 1;
	char *copy = malloc(bytes);
	if (copy) memcpy(copy, text, bytes);
	return copy;
}

char *pfld_strprintf(const char *format, ...)
{
	va_list args, again;
	va_start(args, format);
	va_copy(again, args);
	int length = vsnprintf(NULL, 0, format, args);
	va_end(args);
	char *text = length < 0 ? NULL : malloc((size_t)length + 1);
	if (text) vsnprintf(text, (size_t)length + 1, format, again);
	va_end(again);
	return text;
}
