// SPDX-License-Identifier: MIT
// Text that grows, and foreign text made safe to show. Who builds text checks `failed` once at the end. Writing it
// into a file is file.h.
#include "base.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// Room for `more` bytes and the terminator; false (and failed) when there is none.
static bool reserve(struct pfld_text *text, size_t more)
{
	size_t needed;
	if (text->failed) return false;
	if (!pfld_add_size(text->length, more, &needed) || !pfld_add_size(needed, 1, &needed) ||
		!pfld_grow(&text->data, &text->capacity, needed, 1)) {
		text->failed = true;
		return false;
	}
	return true;
}

void pfld_text_append_bytes(struct pfld_text *text, const void *bytes, size_t num_bytes)
{
	if (!reserve(text, num_bytes)) return;
	if (num_bytes) memcpy(text->data + text->length, bytes, num_bytes);
	text->length += num_bytes;
	text->data[text->length] = '\0';
}

void pfld_text_append(struct pfld_text *text, const char *string)
{
	pfld_text_append_bytes(text, string, strlen(string));
}

void pfld_text_printf(struct pfld_text *text, const char *format, ...)
{
	va_list args, again;
	va_start(args, format);
	va_copy(again, args);
	int length = vsnprintf(NULL, 0, format, args);
	va_end(args);
	if (length < 0) {
		text->failed = true;
	} else if (reserve(text, (size_t)length)) {
		vsnprintf(text->data + text->length, (size_t)length + 1, format, again);
		text->length += (size_t)length;
	}
	va_end(again);
}

void pfld_text_number(struct pfld_text *text, double value, int digits)
{
	char buffer[PFLD_NUMBER_BYTES];
	pfld_text_append(text, pfld_format_double(buffer, value, digits));
}

void pfld_text_finish(struct pfld_text *text)
{
	free(text->data);
	*text = (struct pfld_text){0};
}

size_t pfld_utf8_bytes(const char *text, size_t num_bytes)
{
	if (num_bytes == 0) return 0;
	const unsigned char *byte = (const unsigned char *)text;
	if (byte[0] < 0x80) return 1;
	size_t length = byte[0] >= 0xf0 ? 4 : byte[0] >= 0xe0 ? 3 : 2;
	if (byte[0] < 0xc2 || byte[0] > 0xf4 || length > num_bytes) return 0;
	for (size_t i = 1; i < length; i++) {
		if ((byte[i] & 0xc0) != 0x80) return 0;
	}
	// Overlong forms, halves of UTF-16 pairs, and what lies above U+10FFFF.
	if (byte[0] == 0xe0 && byte[1] < 0xa0) return 0;
	if (byte[0] == 0xed && byte[1] > 0x9f) return 0;
	if (byte[0] == 0xf0 && byte[1] < 0x90) return 0;
	if (byte[0] == 0xf4 && byte[1] > 0x8f) return 0;
	return length;
}

bool pfld_is_utf8(const char *text)
{
	for (size_t left = strlen(text), bytes; left; text += bytes, left -= bytes) {
		if ((bytes = pfld_utf8_bytes(text, left)) == 0) return false;
	}
	return true;
}

// One character (or one byte that is none) as it is shown, without terminator; returns the bytes shown and how many
// bytes of text they stand for.
static size_t show_one(char shown[4], const char *text, size_t num_bytes, size_t *taken)
{
	size_t length = pfld_utf8_bytes(text, num_bytes);
	unsigned char first = (unsigned char)text[0];
	bool control = first < 0x20 || first == 0x7f || (first == 0xc2 && length == 2 && (unsigned char)text[1] < 0xa0);
	if (length == 0 || control || first == '"' || first == '\'' || first == '\\') {
		static const char hex[] = "0123456789abcdef";
		memcpy(shown, (char[4]){'\\', 'x', hex[first >> 4], hex[first & 15]}, 4);
		*taken = 1;
		return 4;
	}
	memcpy(shown, text, length);
	*taken = length;
	return length;
}

char *pfld_show(char buffer[PFLD_SHOWN_BYTES], const char *text, size_t limit)
{
	if (!text) text = "";
	size_t most = PFLD_MIN(limit ? PFLD_MAX(limit, 16) : 200, PFLD_SHOWN_BYTES - 1);
	size_t num_bytes = strlen(text), taken, total = 0;
	char shown[4];
	for (size_t at = 0; at < num_bytes; at += taken) total += show_one(shown, text + at, num_bytes - at, &taken);

	bool cut = total > most, skipped = false;
	size_t head = (most - 3) / 2, tail = most - 3 - head;
	size_t length = 0, passed = 0;
	for (size_t at = 0; at < num_bytes; at += taken) {
		size_t bytes = show_one(shown, text + at, num_bytes - at, &taken);
		passed += bytes;
		bool keep = !cut || (!skipped && passed <= head) || (skipped && total - passed + bytes <= tail);
		if (keep) {
			memcpy(buffer + length, shown, bytes);
			length += bytes;
		} else if (!skipped) {
			memcpy(buffer + length, "...", 3);
			length += 3;
			skipped = true;
		}
	}
	buffer[length] = '\0';
	return buffer;
}
