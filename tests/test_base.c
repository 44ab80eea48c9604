// SPDX-License-Identifier: MIT
// lib/base: memory, numbers, text, random numbers, digests, CPUs and quotas, clocks. Files and threads have tests of
// their own (test_file.c, test_thread.c).
#define _GNU_SOURCE // sched_setaffinity
#include "base/base.h"
#include "base/file.h"
#include "base/random.h"
#include "base/sha256.h"
#include "base/thread.h"
#include "scratch.h"

#include <check.h>
#include <float.h>
#include <locale.h>
#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

START_TEST(sizes_are_checked)
{
	size_t result = 7;
	ck_assert(!pfld_mul_size(SIZE_MAX / 2, 3, &result) && result == 7);
	ck_assert(!pfld_add_size(SIZE_MAX, 1, &result) && result == 7);
	ck_assert(pfld_mul_size(SIZE_MAX / 3, 3, &result) && result == SIZE_MAX / 3 * 3);
	ck_assert(pfld_mul_size(0, SIZE_MAX, &result) && result == 0);
	ck_assert(pfld_add_size(SIZE_MAX - 1, 1, &result) && result == SIZE_MAX);
	volatile size_t half = SIZE_MAX / 2; // hidden from the compiler's own warning
	ck_assert_ptr_null(pfld_calloc(half, 4));
	void *none = pfld_calloc(0, 4);
	ck_assert_ptr_nonnull(none);
	free(none);
}
END_TEST

START_TEST(arrays_grow)
{
	int32_t *array = NULL;
	size_t capacity = 0;
	for (int32_t i = 0; i < 1000; i++) {
		ck_assert(pfld_grow(&array, &capacity, (size_t)i + 1, sizeof *array));
		array[i] = i;
	}
	for (int32_t i = 0; i < 1000; i++) ck_assert_int_eq(array[i], i);
	ck_assert_uint_ge(capacity, 1000);
	size_t before = capacity;
	const int32_t *same = array;
	ck_assert(!pfld_grow(&array, &capacity, SIZE_MAX / 2, sizeof *array));
	ck_assert(capacity == before && array == same);
	free(array);

	char *text = pfld_strprintf("%s-%d", "a", 12);
	ck_assert_str_eq(text, "a-12");
	char *copy = pfld_strdup(text);
	ck_assert_str_eq(copy, "a-12");
	ck_assert_ptr_null(pfld_strdup(NULL));
	free(copy);
	free(text);
}
END_TEST

// What is true of numbers under any locale of the host.
static void check_numbers(void)
{
	static const struct {
		const char *text;
		double value;
		const char *rest;
	} parsed[] = {
		{"1.5", 1.5, ""},
		{"-.25e1x", -2.5, "x"},
		{"+5.", 5, ""},
		{"0001.50", 1.5, ""},
		{"1,5", 1, ",5"},
		{"1.5e", 1.5, "e"},
		{"1.5e+", 1.5, "e+"},
		{"0x10", 0, "x10"},
		{"1e400", (double)INFINITY, ""},
		{"-1e400", -(double)INFINITY, ""},
		{"1e-400", 0, ""},
		{"0e99999999999999999999", 0, ""},
		{"1e-99999999999999999999", 0, ""},
		{"Infinity", (double)INFINITY, ""},
		{"-inf", -(double)INFINITY, ""},
		{"1.7976931348623157e308", DBL_MAX, ""},
		{"2.2250738585072014e-308", DBL_MIN, ""},
		{"4.9406564584124654e-324", 4.9406564584124654e-324, ""},
		{"9007199254740993", 9007199254740992, ""},
		{"9007199254740993.00000000000000000000000000000000000000001", 9007199254740994, ""},
		{"1 ", 1, " "},
	};
	for (size_t i = 0; i < PFLD_COUNT(parsed); i++) {
		const char *end;
		double value = pfld_parse_double(parsed[i].text, &end);
		ck_assert_msg(value == parsed[i].value, "%s", parsed[i].text);
		ck_assert_str_eq(end, parsed[i].rest);
	}
	static const char *const refused[] = {"",   ".",   "e5",   "-",     "+.e1", " 1",
										  "1 ", "1,5", "0x10", "1e5.0", "1.5f", "--1"};
	double value = 42;
	for (size_t i = 0; i < PFLD_COUNT(refused); i++)
		ck_assert_msg(!pfld_parse_number(refused[i], &value), "%s", refused[i]);
	ck_assert(!pfld_parse_number(NULL, &value) && value == 42);
	ck_assert(pfld_parse_number("-1.25e-3", &value) && value == -1.25e-3);
	ck_assert(pfld_parse_number("nan", &value) && isnan(value));

	static const struct {
		double value;
		int digits;
		const char *text;
	} printed[] = {
		{0.5, 17, "0.5"},
		{0.1, 17, "0.1"},
		{1.0 / 3, 17, "0.3333333333333333"},
		{1.0 / 3, 3, "0.333"},
		{-1.25, 6, "-1.25"},
		{1e-5, 9, "1e-05"},
		{1234567.5, 3, "1.23e+06"},
		{0.1f, 0, "0.1"},
		{0.1f, 9, "0.100000001"},
		{2.75f, 0, "2.75"},
		{16777217.0 / 3, 17, "5592405.666666667"},
		{-0.0, 17, "-0"},
		{(double)INFINITY, 17, "inf"},
		{-(double)INFINITY, 0, "-inf"},
		{(double)NAN, 6, "nan"},
		{-(double)NAN, 6, "nan"},
		{5e300, 17, "5e+300"},
		{0.1 + 0.2, 17, "0.30000000000000004"},
		{1, 1, "1"},
		{123, 99, "123"},
	};
	for (size_t i = 0; i < PFLD_COUNT(printed); i++) {
		char buffer[PFLD_NUMBER_BYTES];
		ck_assert_str_eq(pfld_format_double(buffer, printed[i].value, printed[i].digits), printed[i].text);
	}
	struct pfld_text text = {0};
	pfld_text_number(&text, 1.5, 6);
	ck_assert_str_eq(text.data, "1.5");
	pfld_text_finish(&text);
}

START_TEST(numbers_in_the_c_locale)
{
	check_numbers();
}
END_TEST

// The mark of the host's locale must not show, and the locale must be the host's own afterwards.
START_TEST(numbers_under_a_decimal_comma)
{
	if (!comma_locale_set()) return;
	char before[256], sample[16];
	snprintf(before, sizeof before, "%s", setlocale(LC_ALL, NULL));
	snprintf(sample, sizeof sample, "%.1f", 1.5);
	ck_assert_str_eq(sample, "1,5");
	check_numbers();
	ck_assert_str_eq(setlocale(LC_ALL, NULL), before);
}
END_TEST

START_TEST(numbers_survive_the_way_through_text)
{
	struct pfld_random random = pfld_random_stream(1, PFLD_RANDOM_TEST, 0, 0);
	for (int i = 0; i < 20000; i++) {
		uint64_t bits = (uint64_t)pfld_random_u32(&random) << 32 | pfld_random_u32(&random);
		uint32_t float_bits = pfld_random_u32(&random);
		double value, again;
		float value_f;
		memcpy(&value, &bits, sizeof value);
		memcpy(&value_f, &float_bits, sizeof value_f);
		char buffer[PFLD_NUMBER_BYTES];
		if (isfinite(value)) {
			ck_assert(pfld_parse_number(pfld_format_double(buffer, value, 17), &again));
			ck_assert_msg(again == value, "%s", buffer);
			// The C library's own reading, in the C locale.
			snprintf(buffer, sizeof buffer, "%.12e", value);
			ck_assert(pfld_parse_number(buffer, &again) && again == strtod(buffer, NULL));
		}
		if (isfinite(value_f)) {
			ck_assert(pfld_parse_number(pfld_format_double(buffer, (double)value_f, 0), &again));
			ck_assert_msg((float)again == value_f, "%s", buffer);
		}
	}
}
END_TEST

// Halfway between two doubles, with the digit that decides far behind.
START_TEST(long_numbers_are_rounded_correctly)
{
	char text[3000];
	const char *half = "1.00000000000000011102230246251565404236316680908203125"; // 1 + 2^-53
	double value;
	ck_assert(pfld_parse_number(half, &value) && value == 1);
	size_t length = (size_t)snprintf(text, sizeof text, "%s", half);
	memset(text + length, '0', 2000);
	memcpy(text + length + 2000, "1", 2);
	ck_assert(pfld_parse_number(text, &value) && value == 1 + DBL_EPSILON);
	memcpy(text + length + 2000, "0", 2);
	ck_assert(pfld_parse_number(text, &value) && value == 1);
	// 1 followed by 1999 zeros and as large an exponent below zero.
	memset(text, '0', sizeof text);
	text[0] = '1';
	memcpy(text + 2000, "e-1999", 7);
	ck_assert(pfld_parse_number(text, &value) && value == 1);
	memcpy(text, "0.", 2);
	memcpy(text + 2000, "25e1999", 8);
	ck_assert(pfld_parse_number(text, &value) && value == 2.5);
}
END_TEST

START_TEST(whole_numbers)
{
	int64_t value = 5;
	ck_assert(pfld_parse_int("-9223372036854775808", &value) && value == INT64_MIN);
	ck_assert(pfld_parse_int("9223372036854775807", &value) && value == INT64_MAX);
	ck_assert(pfld_parse_int("+007", &value) && value == 7);
	static const char *const refused[] = {"9223372036854775808",
										  "-9223372036854775809",
										  "99999999999999999999999",
										  "",
										  "-",
										  "1.0",
										  " 1",
										  "1 ",
										  "0x1",
										  "1e3"};
	for (size_t i = 0; i < PFLD_COUNT(refused); i++)
		ck_assert_msg(!pfld_parse_int(refused[i], &value), "%s", refused[i]);
	ck_assert_int_eq(value, 7);
}
END_TEST

START_TEST(text_grows)
{
	struct pfld_text text = {0};
	for (int i = 0; i < 1000; i++) {
		pfld_text_append(&text, "ab");
		pfld_text_printf(&text, "%03d", i);
	}
	pfld_text_append_bytes(&text, "\0x", 2);
	ck_assert(!text.failed);
	ck_assert_uint_eq(text.length, 5002);
	ck_assert_int_eq(memcmp(text.data + 4990, "ab998ab999\0x", 13), 0);
	pfld_text_finish(&text);
	ck_assert(!text.data && !text.length && !text.capacity);
	text.failed = true;
	pfld_text_append(&text, "x");
	ck_assert_ptr_null(text.data);
}
END_TEST

START_TEST(utf8_is_told_apart)
{
	static const char *const valid[] = {"a",
										"\x7f",
										"\xc2\x80",
										"\xdf\xbf",
										"\xe0\xa0\x80",
										"\xed\x9f\xbf",
										"\xef\xbf\xbf",
										"\xf0\x90\x80\x80",
										"\xf4\x8f\xbf\xbf"};
	static const char *const invalid[] = {"\x80",
										  "\xc0\x80",
										  "\xc1\xbf",
										  "\xe0\x9f\xbf",
										  "\xed\xa0\x80",
										  "\xf0\x8f\xbf\xbf",
										  "\xf4\x90\x80\x80",
										  "\xf5\x80\x80\x80",
										  "\xff",
										  "\xc3",
										  "\xe2\x82",
										  "\xe2\x28\xa1"};
	for (size_t i = 0; i < PFLD_COUNT(valid); i++)
		ck_assert_uint_eq(pfld_utf8_bytes(valid[i], strlen(valid[i])), strlen(valid[i]));
	for (size_t i = 0; i < PFLD_COUNT(invalid); i++)
		ck_assert_msg(pfld_utf8_bytes(invalid[i], strlen(invalid[i])) == 0, "invalid %zu", i);
	ck_assert_uint_eq(pfld_utf8_bytes("", 0), 0);
}
END_TEST

START_TEST(foreign_text_is_safe_to_show)
{
	char buffer[PFLD_SHOWN_BYTES];
	ck_assert_str_eq(pfld_show(buffer, "a b/\xc3\xa4.png", 0), "a b/\xc3\xa4.png");
	ck_assert_str_eq(pfld_show(buffer, "a\nb\t\x1b[31m\"'\\\xff\x7f", 0),
					 "a\\x0ab\\x09\\x1b[31m\\x22\\x27\\x5c\\xff\\x7f");
	ck_assert_str_eq(pfld_show(buffer, "\xc2\x9b", 0), "\\xc2\\x9b"); // a control character that terminals obey
	ck_assert_str_eq(pfld_show(buffer, NULL, 0), "");
	ck_assert_str_eq(pfld_show(buffer, "0123456789abcdefghijklmnop", 20), "01234567...hijklmnop");
	ck_assert_str_eq(pfld_show(buffer, "0123456789abcdefghij", 20), "0123456789abcdefghij");
	char text[5000];
	memset(text, 1, sizeof text - 1);
	text[sizeof text - 1] = '\0';
	ck_assert_uint_le(strlen(pfld_show(buffer, text, SIZE_MAX)), PFLD_SHOWN_BYTES - 1);
	ck_assert_uint_le(strlen(pfld_show(buffer, text, 0)), 200);
	for (size_t i = 0; i + 2 < sizeof text; i += 2) memcpy(text + i, "\xc3\xa4", 2);
	text[4998] = '\0';
	pfld_show(buffer, text, 101); // never cut inside a character
	for (size_t at = 0, bytes; buffer[at]; at += bytes) {
		bytes = pfld_utf8_bytes(buffer + at, strlen(buffer + at));
		ck_assert_uint_gt(bytes, 0);
	}
}
END_TEST

static void take_text(void *context, enum pfld_log_level level, const char *text)
{
	snprintf(context, 64, "%d:%.32s", (int)level, text);
}

START_TEST(errors_and_log)
{
	struct pfld_error error = {0};
	ck_assert_int_eq(pfld_fail(&error, PFLD_ERR_DATA, "line %d", 7), PFLD_ERR_DATA);
	ck_assert(error.status == PFLD_ERR_DATA && !strcmp(error.message, "line 7") && error.source_line > 0);
	ck_assert_int_eq(pfld_fail(NULL, PFLD_ERR_IO, "x"), PFLD_ERR_IO);
	char text[2000];
	memset(text, 'a', sizeof text);
	memcpy(text + PFLD_ERROR_MESSAGE_BYTES - 2, "\xc3\xa4", 3);
	(void)pfld_fail(&error, PFLD_ERR_DATA, "%s", text); // the last character has half a place left
	ck_assert_uint_eq(strlen(error.message), PFLD_ERROR_MESSAGE_BYTES - 2);
	char seen[64] = "";
	pfld_log_write(NULL, PFLD_LOG_INFO, "x");
	pfld_log_write(&(struct pfld_log){0}, PFLD_LOG_INFO, "x");
	pfld_log_write(&(struct pfld_log){.write = take_text, .context = seen}, PFLD_LOG_WARNING, "%s", "careful");
	ck_assert_str_eq(seen, "1:careful");
}
END_TEST

// The known answers of the Random123 distribution (kat_vectors, philox4x32 10).
START_TEST(philox_known_answers)
{
	static const uint32_t cases[3][10] = {
		{0, 0, 0, 0, 0, 0, 0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8},
		{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff, 0x408f276d, 0x41c83b0e, 0xa20bc7c6,
		 0x6d5451fd},
		{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344, 0xa4093822, 0x299f31d0, 0xd16cfe09, 0x94fdcceb, 0x5001e420,
		 0x24126ea1},
	};
	for (int i = 0; i < 3; i++) {
		uint32_t out[4];
		pfld_philox(out, cases[i], cases[i] + 4);
		ck_assert_int_eq(memcmp(out, cases[i] + 6, sizeof out), 0);
	}
}
END_TEST

START_TEST(streams_differ_and_repeat)
{
	static const uint64_t ids[8][4] = {{1, PFLD_RANDOM_TEST, 0, 0},
									   {2, PFLD_RANDOM_TEST, 0, 0},
									   {1, PFLD_RANDOM_INIT, 0, 0},
									   {1, PFLD_RANDOM_TEST, 1, 0},
									   {1, PFLD_RANDOM_TEST, 0, 1},
									   {1, PFLD_RANDOM_TEST, UINT64_C(1) << 32, 0},
									   {1, PFLD_RANDOM_TEST, 0, UINT64_C(1) << 32},
									   {UINT64_C(1) << 32, PFLD_RANDOM_TEST, 0, 0}};
	uint32_t drawn[8][6];
	for (int i = 0; i < 8; i++) {
		for (int again = 0; again < 2; again++) {
			struct pfld_random random =
				pfld_random_stream(ids[i][0], (enum pfld_random_purpose)ids[i][1], ids[i][2], ids[i][3]);
			for (int n = 0; n < 6; n++) {
				uint32_t number = pfld_random_u32(&random);
				ck_assert(!again || number == drawn[i][n]);
				drawn[i][n] = number;
			}
		}
		for (int j = 0; j < i; j++) ck_assert_int_ne(memcmp(drawn[i], drawn[j], sizeof drawn[i]), 0);
	}
}
END_TEST

START_TEST(random_numbers_keep_their_ranges)
{
	struct pfld_random random = pfld_random_stream(3, PFLD_RANDOM_TEST, 0, 0);
	enum { NUM = 200000 };
	double sum = 0, squares = 0, normal_sum = 0, normal_squares = 0, fourth = 0;
	int counts[7] = {0}, num_outside = 0; // an assertion each would take seconds
	for (int i = 0; i < NUM; i++) {
		double unit = pfld_random_unit(&random), range = pfld_random_range(&random, -3, 5);
		num_outside += !(unit >= 0 && unit < 1 && range >= -3 && range < 5);
		sum += unit, squares += unit * unit;
		double normal = pfld_random_normal(&random);
		normal_sum += normal, normal_squares += normal * normal, fourth += normal * normal * normal * normal;
		int64_t drawn = pfld_random_int(&random, -3, 4);
		ck_assert(drawn >= -3 && drawn < 4);
		counts[drawn + 3]++;
		num_outside += pfld_random_range(&random, 1, 1 + DBL_EPSILON) != 1;
	}
	ck_assert_int_eq(num_outside, 0);
	// Five standard errors each.
	double root = 5 / sqrt(NUM);
	ck_assert(fabs(sum / NUM - 0.5) < root * 0.289 && fabs(squares / NUM - 1.0 / 3) < root * 0.299);
	ck_assert(fabs(normal_sum / NUM) < root && fabs(normal_squares / NUM - 1) < root * 1.42);
	ck_assert(fabs(fourth / NUM - 3) < root * 9.8);
	for (int i = 0; i < 7; i++) ck_assert(fabs(counts[i] / (double)NUM - 1.0 / 7) < root * 0.35);
	for (int i = 0; i < 100; i++) {
		ck_assert_int_eq(pfld_random_int(&random, 9, 10), 9);
		int64_t wide = pfld_random_int(&random, INT64_MIN, INT64_MAX);
		ck_assert(wide < INT64_MAX);
	}
}
END_TEST

START_TEST(permutations_are_fair)
{
	struct pfld_random random = pfld_random_stream(4, PFLD_RANDOM_TEST, 0, 0);
	int counts[24] = {0};
	for (int i = 0; i < 24000; i++) {
		uint32_t order[4];
		pfld_random_permutation(&random, order, 4);
		uint32_t seen = 0, rank = 0;
		for (uint32_t k = 0; k < 4; k++) {
			uint32_t less = 0;
			for (uint32_t j = k + 1; j < 4; j++) less += order[j] < order[k];
			rank = rank * (4 - k) + less;
			seen |= 1u << order[k];
		}
		ck_assert_uint_eq(seen, 15);
		counts[rank]++;
	}
	for (int i = 0; i < 24; i++) ck_assert(abs(counts[i] - 1000) < 160);
	pfld_random_permutation(&random, NULL, 0);
}
END_TEST

// FIPS 180-4's examples, and every way of cutting a message up.
START_TEST(sha256_known_answers)
{
	static const struct {
		const char *text;
		int repeat;
		const char *hex;
	} cases[] = {
		{"", 0, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
		{"abc", 1, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
		{"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", 1,
		 "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"},
		{"aaaaaaaaaa", 100000, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0"},
	};
	char hex[65];
	struct pfld_sha256 sha;
	for (size_t i = 0; i < PFLD_COUNT(cases); i++) {
		pfld_sha256_init(&sha);
		for (int k = 0; k < cases[i].repeat; k++) pfld_sha256_update(&sha, cases[i].text, strlen(cases[i].text));
		pfld_sha256_finish(&sha, hex);
		ck_assert_str_eq(hex, cases[i].hex);
	}
	uint8_t bytes[200];
	for (size_t i = 0; i < sizeof bytes; i++) bytes[i] = (uint8_t)(i * 7);
	for (size_t length = 0; length <= sizeof bytes; length++) {
		char whole[65];
		pfld_sha256_init(&sha);
		pfld_sha256_update(&sha, bytes, length);
		pfld_sha256_finish(&sha, whole);
		for (size_t cut = 0; cut <= length; cut += 9) {
			pfld_sha256_init(&sha);
			pfld_sha256_update(&sha, bytes, cut);
			pfld_sha256_update(&sha, bytes + cut, length - cut);
			pfld_sha256_finish(&sha, hex);
			ck_assert_str_eq(hex, whole);
		}
	}
}
END_TEST

// ---- CPUs and quotas, in made-up file systems ----

static int32_t threads_with(const char *cgroup, const char *file1, const char *text1, const char *file2,
							const char *text2)
{
	char root[] = "cpus-XXXXXX";
	make_scratch(root);
	put_file(root, "proc/self/cgroup", cgroup);
	if (file1) put_file(root, file1, text1);
	if (file2) put_file(root, file2, text2);
	int32_t count = pfld_default_threads_at(root, 8);
	remove_tree(root);
	return count;
}

START_TEST(threads_follow_the_quota)
{
	// Group version 2.
	ck_assert_int_eq(threads_with("0::/a/b\n", "sys/fs/cgroup/a/b/cpu.max", "150000 100000\n", NULL, NULL), 2);
	ck_assert_int_eq(threads_with("0::/a/b\n", "sys/fs/cgroup/a/b/cpu.max", "200000 100000\n", NULL, NULL), 2);
	ck_assert_int_eq(threads_with("0::/a/b\n", "sys/fs/cgroup/a/b/cpu.max", "max 100000\n", NULL, NULL), 8);
	ck_assert_int_eq(threads_with("0::/a/b\n", "sys/fs/cgroup/a/b/cpu.max", "1000 100000\n", NULL, NULL), 1);
	ck_assert_int_eq(threads_with("0::/a/b\n", "sys/fs/cgroup/a/b/cpu.max", "6400000 100000\n", NULL, NULL), 8);
	ck_assert_int_eq(threads_with("0::/a/b\n", "sys/fs/cgroup/a/cpu.max", "300000 100000\n", NULL, NULL), 3);
	ck_assert_int_eq(threads_with("0::/a/b\n", "sys/fs/cgroup/a/cpu.max", "300000 100000\n",
								  "sys/fs/cgroup/a/b/cpu.max", "500000 100000\n"),
					 3);
	// Inside a container the mount is the container's own group.
	ck_assert_int_eq(threads_with("0::/\n", "sys/fs/cgroup/cpu.max", "150000 100000\n", NULL, NULL), 2);
	ck_assert_int_eq(threads_with("0::/docker/1234\n", "sys/fs/cgroup/cpu.max", "150000 100000\n", NULL, NULL), 2);
	ck_assert_int_eq(threads_with("0::/../other\n", "sys/fs/cgroup/cpu.max", "150000 100000\n", NULL, NULL), 2);
	// Version 1, and both at once.
	ck_assert_int_eq(threads_with("5:memory:/\n4:cpu,cpuacct:/docker/1\n", "sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us",
								  "150000\n", "sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000\n"),
					 2);
	ck_assert_int_eq(threads_with("4:cpu:/x\n0::/\n", "sys/fs/cgroup/cpu/x/cpu.cfs_quota_us", "50000\n",
								  "sys/fs/cgroup/cpu/x/cpu.cfs_period_us", "10000\n"),
					 5);
	ck_assert_int_eq(threads_with("4:cpu:/x\n", "sys/fs/cgroup/cpu/x/cpu.cfs_quota_us", "-1\n",
								  "sys/fs/cgroup/cpu/x/cpu.cfs_period_us", "100000\n"),
					 8);
	ck_assert_int_eq(threads_with("4:cpuset:/x\n", "sys/fs/cgroup/cpu/x/cpu.cfs_quota_us", "100000\n",
								  "sys/fs/cgroup/cpu/x/cpu.cfs_period_us", "100000\n"),
					 8);
	ck_assert_int_eq(
		threads_with("4:cpu:/x\n0::/y\n", "sys/fs/cgroup/unified/y/cpu.max", "100000 100000\n", NULL, NULL), 1);
	// Nothing readable, or nonsense.
	ck_assert_int_eq(threads_with("0::/a\n", NULL, NULL, NULL, NULL), 8);
	ck_assert_int_eq(threads_with("garbage\n::\n0::", "sys/fs/cgroup/cpu.max", "x y\n", NULL, NULL), 8);
	ck_assert_int_eq(threads_with("0::/\n", "sys/fs/cgroup/cpu.max", "0 0\n", NULL, NULL), 8);
	ck_assert_int_eq(threads_with("0::/\n", "sys/fs/cgroup/cpu.max", "9999999999999999999999999 1\n", NULL, NULL), 8);
	ck_assert_int_eq(threads_with("", NULL, NULL, NULL, NULL), 8);
	ck_assert_int_eq(pfld_default_threads_at("/nonexistent", 8), 8);
	ck_assert_int_eq(pfld_default_threads_at("/nonexistent", 0), pfld_affinity_cpus());
	ck_assert_int_ge(pfld_default_threads(), 1);
	ck_assert_int_le(pfld_default_threads(), pfld_affinity_cpus());
}
END_TEST

// As under taskset -c.
START_TEST(threads_follow_the_affinity_mask)
{
	cpu_set_t before, one;
	ck_assert_int_eq(sched_getaffinity(0, sizeof before, &before), 0);
	ck_assert_int_eq(pfld_affinity_cpus(), CPU_COUNT(&before));
	int cpu = 0;
	while (!CPU_ISSET(cpu, &before)) cpu++;
	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	ck_assert_int_eq(sched_setaffinity(0, sizeof one, &one), 0);
	ck_assert_int_eq(pfld_affinity_cpus(), 1);
	ck_assert_int_eq(pfld_default_threads(), 1);
	ck_assert_int_eq(sched_setaffinity(0, sizeof before, &before), 0);
}
END_TEST

START_TEST(clocks_and_counters)
{
	uint64_t start = pfld_now_ns(), cpu = pfld_process_cpu_ns();
	ck_assert_uint_gt(start, 0);
	while (pfld_process_cpu_ns() - cpu < 2000000) continue;
	ck_assert_uint_ge(pfld_now_ns() - start, 1000000);
	uint64_t before = pfld_process_peak_bytes();
	ck_assert_uint_gt(before, 0);
	size_t bytes = (size_t)64 << 20;
	char *touched = malloc(bytes);
	ck_assert_ptr_nonnull(touched);
	for (size_t i = 0; i < bytes; i += 4096) *(volatile char *)(touched + i) = 1;
	ck_assert_uint_ge(pfld_process_peak_bytes(), bytes);
	ck_assert_uint_lt(pfld_process_peak_bytes(), (size_t)64 << 30);
	free(touched);
	(void)pfld_process_bytes_read();
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("base");
	TCase *plain = tcase_create("plain");
	tcase_set_timeout(plain, 60);
	tcase_add_test(plain, sizes_are_checked);
	tcase_add_test(plain, arrays_grow);
	tcase_add_test(plain, numbers_in_the_c_locale);
	tcase_add_test(plain, numbers_under_a_decimal_comma);
	tcase_add_test(plain, numbers_survive_the_way_through_text);
	tcase_add_test(plain, long_numbers_are_rounded_correctly);
	tcase_add_test(plain, whole_numbers);
	tcase_add_test(plain, text_grows);
	tcase_add_test(plain, utf8_is_told_apart);
	tcase_add_test(plain, foreign_text_is_safe_to_show);
	tcase_add_test(plain, errors_and_log);
	tcase_add_test(plain, philox_known_answers);
	tcase_add_test(plain, streams_differ_and_repeat);
	tcase_add_test(plain, random_numbers_keep_their_ranges);
	tcase_add_test(plain, permutations_are_fair);
	tcase_add_test(plain, sha256_known_answers);
	tcase_add_test(plain, threads_follow_the_quota);
	tcase_add_test(plain, threads_follow_the_affinity_mask);
	tcase_add_test(plain, clocks_and_counters);
	suite_add_tcase(suite, plain);
	SRunner *runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	int failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
