// SPDX-License-Identifier: MIT
// Decimal numbers to text and back with '.' as the mark, correctly rounded, whatever locale the host has set: the
// C library does the arithmetic, but never gets to see or keep a decimal mark of its own.
#include "base.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

// The length of `word` when text starts with it, in whichever case; else 0.
static size_t starts_with(const char *text, const char *word)
{
	size_t length = 0;
	for (; word[length]; length++) {
		char c = text[length];
		if (c >= 'A' && c <= 'Z') c = (char)(c - 'A' + 'a');
		if (c != word[length]) return 0;
	}
	return length;
}

// No double lies so near the middle of two others that more digits than this decide (767 do), once it is known
// whether anything but zeros follows.
#define MAX_DIGITS 800

// A decimal number taken apart: digits * 10^exponent, with no mark in it.
struct decimal {
	char digits[MAX_DIGITS + 1];
	int num_digits;
	int64_t exponent;
	bool dropped; // digits other than 0 beyond MAX_DIGITS
};

static void add_digit(struct decimal *decimal, char digit, bool behind_mark)
{
	if (decimal->num_digits == 0 && digit == '0') {
		decimal->exponent -= behind_mark;
	} else if (decimal->num_digits < MAX_DIGITS) {
		decimal->digits[decimal->num_digits++] = digit;
		decimal->exponent -= behind_mark;
	} else {
		decimal->dropped |= digit != '0';
		decimal->exponent += !behind_mark;
	}
}

// Scan digits, mark and exponent at `text` (behind the sign). Returns the end, or NULL when there is no number.
static const char *scan_decimal(struct decimal *decimal, const char *text)
{
	decimal->num_digits = 0;
	decimal->exponent = 0;
	decimal->dropped = false;
	bool any = false;
	for (; is_digit(*text); text++, any = true) add_digit(decimal, *text, false);
	if (*text == '.' && (any || is_digit(text[1]))) {
		for (text++; is_digit(*text); text++, any = true) add_digit(decimal, *text, true);
	}
	if (!any) return NULL;
	if (*text != 'e' && *text != 'E') return text;
	const char *power = text + 1;
	bool negative = *power == '-';
	if (*power == '-' || *power == '+') power++;
	if (!is_digit(*power)) return text;
	int64_t exponent = 0;
	for (; is_digit(*power); power++) {
		if (exponent < INT64_C(1000000000000000)) exponent = exponent * 10 + (*power - '0');
	}
	decimal->exponent += negative ? -exponent : exponent;
	return power;
}

// Up to 15 digits and 10^22 are doubles without rounding, so that one operation on them rounds once, correctly. This is
// what lists are made of, and many times faster. False: it is another number, or this machine rounds twice.
static bool simple_value(const struct decimal *decimal, double *value)
{
	static const double power[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
	                               1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
	if (FLT_EVAL_METHOD != 0 || decimal->num_digits > 15 || decimal->exponent < -22 || decimal->exponent > 22) return false;
	int64_t digits = 0;
	for (int i = 0; i < decimal->num_digits; i++) digits = digits * 10 + (decimal->digits[i] - '0');
	double number = (double)digits;
	*value = decimal->exponent < 0 ? number / power[-decimal->exponent] : number * power[decimal->exponent];
	return true;
}

static double decimal_value(const struct decimal *decimal)
{
	if (decimal->num_digits == 0) return 0;
	double simple;
	if (simple_value(decimal, &simple)) return simple;
	char text[MAX_DIGITS + 32];
	int64_t exponent = decimal->exponent;
	size_t length = (size_t)decimal->num_digits;
	memcpy(text, decimal->digits, length);
	if (decimal->dropped) {
		text[length++] = '1';
		exponent--;
	}
	// Beyond +-10000 every number of at most 801 digits is infinite or zero.
	exponent = PFLD_MAX(PFLD_MIN(exponent, 10000), -10000);
	snprintf(text + length, sizeof text - length, "e%d", (int)exponent);
	return strtod(text, NULL); // sees digits and an exponent only
}

double pfld_parse_double(const char *text, const char **end)
{
	const char *at = text;
	bool negative = *at == '-';
	if (*at == '-' || *at == '+') at++;
	double value;
	size_t word;
	if ((word = starts_with(at, "infinity")) != 0 || (word = starts_with(at, "inf")) != 0) {
		value = (double)INFINITY;
		at += word;
	} else if ((word = starts_with(at, "nan")) != 0) {
		value = (double)NAN;
		at += word;
	} else {
		struct decimal decimal;
		at = scan_decimal(&decimal, at);
		if (!at) {
			if (end) *end = text;
			return 0;
		}
		value = decimal_value(&decimal);
	}
	if (end) *end = at;
	return negative ? -value : value;
}

bool pfld_parse_number(const char *text, double *value)
{
	if (!text) return false;
	const char *end;
	double parsed = pfld_parse_double(text, &end);
	if (end == text || *end) return false;
	*value = parsed;
	return true;
}

bool pfld_parse_int(const char *text, int64_t *value)
{
	if (!text) return false;
	bool negative = *text == '-';
	if (*text == '-' || *text == '+') text++;
	if (!is_digit(*text)) return false;
	// Gathered below zero, where there is one number more.
	int64_t parsed = 0;
	for (; is_digit(*text); text++) {
		int digit = *text - '0';
		if (parsed < (INT64_MIN + digit) / 10) return false;
		parsed = parsed * 10 - digit;
	}
	if (*text || (!negative && parsed == INT64_MIN)) return false;
	*value = negative ? parsed : -parsed;
	return true;
}

// Put '.' where the locale's mark is: the only bytes of %g that are no digit, sign or 'e'.
static void normalise_mark(char *text)
{
	size_t start = strspn(text, "0123456789+-e");
	if (!text[start]) return;
	size_t rest = start + strcspn(text + start, "0123456789");
	text[start] = '.';
	memmove(text + start + 1, text + rest, strlen(text + rest) + 1);
}

char *pfld_format_double(char buffer[PFLD_NUMBER_BYTES], double value, int digits)
{
	if (isnan(value)) return strcpy(buffer, "nan");
	if (isinf(value)) return strcpy(buffer, value < 0 ? "-inf" : "inf");
	bool is_float = digits <= 0;
	int most = is_float ? 9 : PFLD_MIN(digits, 17);
	// Any number that has a form of 6 (float) or 15 (double) digits is printed so by that many; only above may fewer
	// digits than asked for do.
	for (int tried = PFLD_MIN(most, is_float ? 6 : 15);; tried++) {
		snprintf(buffer, PFLD_NUMBER_BYTES, "%.*g", tried, value);
		normalise_mark(buffer);
		if (tried == most) return buffer;
		double again = pfld_parse_double(buffer, NULL);
		if (is_float ? (float)again == (float)value : again == value) return buffer;
	}
}
