// SPDX-License-Identifier: MIT
// lib/io but safetensors (test_safetensors.c): element types, .npy and JSON.
#include "base/file.h"
#include "io/json.h"
#include "io/npy.h"
#include "scratch.h"

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char folder[32], path[64];
static struct pfld_error error;

static void set_up(void)
{
	strcpy(folder, "io-XXXXXX");
	make_scratch(folder);
	snprintf(path, sizeof path, "%s/file", folder);
	memset(&error, 0, sizeof error);
}

static void tear_down(void)
{
	remove_tree(folder);
}

// ---- element types ----

START_TEST(sizes_of_arrays)
{
	uint64_t elements = 1, bytes = 1;
	ck_assert(pfld_io_array_size(&(struct pfld_io_array){.type = PFLD_IO_F64}, &elements, &bytes));
	ck_assert(elements == 1 && bytes == 8);
	struct pfld_io_array array = {.type = PFLD_IO_F16, .num_dims = 3, .dims = {2, 3, 4}};
	ck_assert(pfld_io_array_size(&array, &elements, &bytes) && elements == 24 && bytes == 48);
	array.dims[1] = 0;
	ck_assert(pfld_io_array_size(&array, &elements, &bytes) && elements == 0 && bytes == 0);
	array.dims[2] = -1;
	ck_assert(!pfld_io_array_size(&array, &elements, &bytes));
	array = (struct pfld_io_array){.type = PFLD_IO_F32, .num_dims = 2, .dims = {INT64_C(1) << 32, INT64_C(1) << 32}};
	ck_assert(!pfld_io_array_size(&array, NULL, NULL));
	array = (struct pfld_io_array){.type = PFLD_IO_F32, .num_dims = 3, .dims = {0, INT64_C(1) << 32, INT64_C(1) << 32}};
	ck_assert(!pfld_io_array_size(&array, NULL, NULL));
	array = (struct pfld_io_array){.type = PFLD_IO_F32, .num_dims = 1, .dims = {INT64_MAX / 4}};
	ck_assert(pfld_io_array_size(&array, NULL, &bytes) && bytes == INT64_MAX / 4 * 4);
	array.dims[0]++;
	ck_assert(!pfld_io_array_size(&array, NULL, NULL));
	array = (struct pfld_io_array){.type = PFLD_IO_U8, .num_dims = 9};
	ck_assert(!pfld_io_array_size(&array, NULL, NULL));
	for (int type = 0; type < PFLD_IO_NUM_TYPES; type++) {
		const char *name = pfld_io_type_name((enum pfld_io_type)type);
		size_t bits = (size_t)atoi(name + strcspn(name, "0123456789"));
		ck_assert_uint_eq(pfld_io_type_bytes((enum pfld_io_type)type), bits ? bits / 8 : 1);
		ck_assert(pfld_io_type_is_float((enum pfld_io_type)type) == (strchr(name, 'F') != NULL));
	}
}
END_TEST

// All 65536 of both 16-bit types against their definitions.
START_TEST(half_floats)
{
	int num_wrong = 0; // an assertion each would take seconds
	for (uint32_t bits = 0; bits < 65536; bits++) {
		uint8_t unaligned[3] = {0, (uint8_t)bits, (uint8_t)(bits >> 8)};
		double sign = bits >> 15 ? -1 : 1, as_double;
		float as_float;
		int exponent = (int)(bits >> 10 & 31), fraction = (int)(bits & 1023);
		num_wrong += !pfld_io_convert(&as_double, PFLD_IO_F64, unaligned + 1, PFLD_IO_F16, 1);
		num_wrong += !pfld_io_convert(&as_float, PFLD_IO_F32, unaligned + 1, PFLD_IO_F16, 1);
		double wanted = exponent == 0 ? ldexp(fraction, -24) : ldexp(1024 + fraction, exponent - 25);
		if (exponent == 31) wanted = (double)INFINITY;
		if (exponent == 31 && fraction)
			num_wrong += !isnan(as_double) || !isnan(as_float);
		else
			num_wrong += as_double != sign * wanted || (double)as_float != as_double;
		num_wrong += !signbit(as_double) != (sign > 0);

		uint32_t wide = bits << 16, again;
		num_wrong += !pfld_io_convert(&as_float, PFLD_IO_F32, unaligned + 1, PFLD_IO_BF16, 1);
		memcpy(&again, &as_float, sizeof again);
		num_wrong += again != wide && !isnan(as_float);
	}
	ck_assert_int_eq(num_wrong, 0);
}
END_TEST

START_TEST(conversions)
{
	double doubles[5] = {0.1, 1e300, -1e300, 1e-300, 1 + 0x1p-24}, doubles_again[2];
	float floats[5], floats_again[2];
	ck_assert(pfld_io_convert(floats, PFLD_IO_F32, doubles, PFLD_IO_F64, 5));
	ck_assert(floats[0] == 0.1f && floats[1] == INFINITY && floats[2] == -INFINITY && floats[3] == 0 && floats[4] == 1);
	ck_assert(pfld_io_convert(doubles_again, PFLD_IO_F64, floats, PFLD_IO_F32, 2));
	ck_assert(doubles_again[0] == (double)0.1f && doubles_again[1] == (double)INFINITY);
	ck_assert(pfld_io_convert(floats_again, PFLD_IO_F32, floats, PFLD_IO_F32, 2) && floats_again[0] == floats[0]);
	ck_assert(pfld_io_convert(doubles_again, PFLD_IO_F64, doubles, PFLD_IO_F64, 2) && doubles_again[1] == 1e300);
	ck_assert(!pfld_io_convert(floats, PFLD_IO_F32, doubles, PFLD_IO_I64, 1));
	ck_assert(!pfld_io_convert(floats, PFLD_IO_F16, doubles, PFLD_IO_F64, 1));
}
END_TEST

// ---- npy ----

static const float floats[6] = {1.5f, -2.25f, 0.125f, 4, -8, 0.5f};

static void check_npy(const struct pfld_io_array *array, const void *data, size_t num_bytes)
{
	ck_assert_int_eq(pfld_npy_write(path, array, data, &error), PFLD_OK);
	struct pfld_io_array again = {.num_dims = -1};
	void *bytes = NULL;
	enum pfld_status status = pfld_npy_read(path, &again, &bytes, &error);
	ck_assert_msg(status == PFLD_OK, "%s", error.message);
	ck_assert(again.type == array->type && again.num_dims == array->num_dims && !again.name);
	for (int i = 0; i < array->num_dims; i++) ck_assert(again.dims[i] == array->dims[i]);
	ck_assert(!num_bytes || !memcmp(bytes, data, num_bytes));
	free(bytes);
}

START_TEST(npy_round_trip)
{
	uint8_t bytes[64];
	for (size_t i = 0; i < sizeof bytes; i++) bytes[i] = (uint8_t)(i * 37);
	for (int type = 0; type < PFLD_IO_NUM_TYPES; type++) {
		struct pfld_io_array array = {.type = (enum pfld_io_type)type, .num_dims = 3, .dims = {2, 1, 4}};
		if (type == PFLD_IO_BF16)
			ck_assert_int_eq(pfld_npy_write(path, &array, bytes, &error), PFLD_ERR_ARGUMENT);
		else
			check_npy(&array, bytes, 8 * pfld_io_type_bytes(array.type));
	}
	check_npy(&(struct pfld_io_array){.type = PFLD_IO_F32}, bytes, 4);
	check_npy(&(struct pfld_io_array){.type = PFLD_IO_F64, .num_dims = 1, .dims = {3}}, bytes, 24);
	check_npy(&(struct pfld_io_array){.type = PFLD_IO_F32, .num_dims = 8, .dims = {1, 1, 1, 1, 1, 1, 1, 2}}, bytes, 8);
	check_npy(&(struct pfld_io_array){.type = PFLD_IO_F32, .num_dims = 2, .dims = {0, 7}}, NULL, 0);
	struct pfld_io_array impossible = {.type = PFLD_IO_F32, .num_dims = 1, .dims = {-1}};
	ck_assert_int_eq(pfld_npy_write(path, &impossible, bytes, &error), PFLD_ERR_ARGUMENT);
	// The very bytes that numpy.save() writes for numpy.array([[1, 2], [3, 4]], "float32").
	float four[4] = {1, 2, 3, 4};
	check_npy(&(struct pfld_io_array){.type = PFLD_IO_F32, .num_dims = 2, .dims = {2, 2}}, four, 16);
	char wanted[129];
	snprintf(wanted, sizeof wanted, "\x93NUMPY\1%c%c%c%-117s\n", 1, 118, 1,
			 "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 2), }");
	wanted[7] = wanted[9] = '\0';
	uint8_t *written;
	size_t num_written;
	ck_assert_int_eq(pfld_file_read(path, 0, &written, &num_written, &error), PFLD_OK);
	ck_assert_uint_eq(num_written, 128 + 16);
	ck_assert_int_eq(memcmp(written, wanted, 128), 0);
	ck_assert_int_eq(memcmp(written + 128, four, 16), 0);
	free(written);
}
END_TEST

// A .npy file with this dictionary and num_data bytes 0, 1, 2...
static void put_npy(int version, const char *dictionary, size_t num_data)
{
	struct pfld_text text = {0};
	size_t length = strlen(dictionary);
	pfld_text_append_bytes(&text, "\x93NUMPY", 6);
	pfld_text_append_bytes(&text, (char[2]){(char)version, 0}, 2);
	pfld_text_append_bytes(&text, (char[4]){(char)(length & 255), (char)(length >> 8), 0, 0}, version == 1 ? 2 : 4);
	pfld_text_append(&text, dictionary);
	for (size_t i = 0; i < num_data; i++) pfld_text_append_bytes(&text, (char[1]){(char)i}, 1);
	put_bytes(folder, "file", text.data, text.length);
	pfld_text_finish(&text);
}

#define DICTIONARY(descr, order, shape) "{'descr': '" descr "', 'fortran_order': " order ", 'shape': " shape ", }\n"

START_TEST(npy_versions_and_spellings)
{
	static const char *const good[] = {
		DICTIONARY("|u1", "False", "(2, 3)"),
		DICTIONARY("<u1", "False", "(2L, 3L)"),
		"{\"shape\":(2,3),\"descr\":\"|u1\",\"fortran_order\":False}",
		" {'shape': (2,3,), 'fortran_order': False, 'descr': '|u1'} \n",
	};
	for (int version = 1; version <= 3; version++) {
		for (size_t i = 0; i < PFLD_COUNT(good); i++) {
			put_npy(version, good[i], 6);
			struct pfld_io_array array;
			void *data = NULL;
			enum pfld_status status = pfld_npy_read(path, &array, &data, &error);
			ck_assert_msg(status == PFLD_OK, "%s", error.message);
			ck_assert(array.type == PFLD_IO_U8 && array.num_dims == 2 && array.dims[0] == 2 && array.dims[1] == 3);
			ck_assert_int_eq(memcmp(data, "\0\1\2\3\4\5", 6), 0);
			free(data);
		}
	}
	put_npy(1, DICTIONARY("|u1", "True", "(6,)"), 6); // one dimension has one order
	struct pfld_io_array array;
	void *data = NULL;
	ck_assert_int_eq(pfld_npy_read(path, &array, &data, &error), PFLD_OK);
	free(data);
}
END_TEST

START_TEST(npy_refusals)
{
	static const struct {
		const char *dictionary;
		size_t num_data;
		enum pfld_status status;
		const char *reason;
	} cases[] = {
		{DICTIONARY(">f4", "False", "(2, 3)"), 24, PFLD_ERR_UNSUPPORTED, "big-endian"},
		{DICTIONARY("<f4", "True", "(2, 3)"), 24, PFLD_ERR_UNSUPPORTED, "Fortran"},
		{DICTIONARY("<c8", "False", "(3,)"), 24, PFLD_ERR_UNSUPPORTED, "<c8"},
		{DICTIONARY("|O", "False", "(3,)"), 24, PFLD_ERR_UNSUPPORTED, "|O"},
		{DICTIONARY("", "False", "(3,)"), 24, PFLD_ERR_UNSUPPORTED, "element type"},
		{DICTIONARY("<f4", "False", "(2, 3)"), 23, PFLD_ERR_DATA, "number of bytes"},
		{DICTIONARY("<f4", "False", "(2, 3)"), 25, PFLD_ERR_DATA, "number of bytes"},
		{DICTIONARY("<f4", "False", "(4294967296, 4294967296)"), 0, PFLD_ERR_DATA, "number of bytes"},
		{DICTIONARY("<f4", "False", "(99999999999999999999,)"), 0, PFLD_ERR_DATA, "header"},
		{DICTIONARY("<f4", "False", "(-1,)"), 4, PFLD_ERR_DATA, "header"},
		{DICTIONARY("<f4", "False", "(1,1,1,1,1,1,1,1,1)"), 4, PFLD_ERR_DATA, "header"},
		{DICTIONARY("<f4", "False", "(1 2)"), 8, PFLD_ERR_DATA, "header"},
		{DICTIONARY("<f4", "Maybe", "(1,)"), 4, PFLD_ERR_DATA, "header"},
		{"{'descr': '<f4', 'fortran_order': False}", 4, PFLD_ERR_DATA, "header"},
		{"{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': ()}", 4, PFLD_ERR_DATA, "header"},
		{"{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,)}", 4, PFLD_ERR_DATA, "plain array"},
		{DICTIONARY("<f4", "False", "(1,)") "x", 4, PFLD_ERR_DATA, "header"},
		{"", 4, PFLD_ERR_DATA, "header"},
	};
	struct pfld_io_array array = {.num_dims = 77};
	void *data = NULL;
	for (size_t i = 0; i < PFLD_COUNT(cases); i++) {
		put_npy(1, cases[i].dictionary, cases[i].num_data);
		ck_assert_msg(pfld_npy_read(path, &array, &data, &error) == cases[i].status, "%s", cases[i].dictionary);
		ck_assert_msg(strstr(error.message, cases[i].reason) && strstr(error.message, path), "%s", error.message);
		ck_assert(!data && array.num_dims == 77);
	}
	put_npy(4, DICTIONARY("|u1", "False", "(1,)"), 1);
	ck_assert_int_eq(pfld_npy_read(path, &array, &data, &error), PFLD_ERR_UNSUPPORTED);
	put_file(folder, "file", "\x93NUMPX                    ");
	ck_assert_int_eq(pfld_npy_read(path, &array, &data, &error), PFLD_ERR_DATA);
	put_bytes(folder, "file", "\x93NUMPY\2\0\xff\xff\xff\xff              ", 26);
	ck_assert_int_eq(pfld_npy_read(path, &array, &data, &error), PFLD_ERR_DATA);
	ck_assert_int_eq(pfld_npy_read(folder, &array, &data, &error), PFLD_ERR_IO);
}
END_TEST

static void try_npy(const uint8_t *bytes, size_t num_bytes)
{
	put_bytes(folder, "file", bytes, num_bytes);
	struct pfld_io_array array;
	void *data;
	uint64_t array_bytes;
	error.message[0] = '\0';
	if (pfld_npy_read(path, &array, &data, &error)) {
		ck_assert(error.message[0] && pfld_is_utf8(error.message));
		return;
	}
	ck_assert(pfld_io_array_size(&array, NULL, &array_bytes) && array_bytes < num_bytes);
	free(data);
}

START_TEST(damaged_npy)
{
	struct pfld_io_array array = {.type = PFLD_IO_F32, .num_dims = 2, .dims = {2, 3}};
	ck_assert_int_eq(pfld_npy_write(path, &array, floats, &error), PFLD_OK);
	damage_file(path, try_npy);
}
END_TEST

// ---- JSON ----

static void check_json(void)
{
	json_t *report = json_object();
	ck_assert(json_object_set_new(report, "loss", pfld_json_number(0.1)) == 0);
	ck_assert(json_object_set_new(report, "best", pfld_json_number((double)INFINITY)) == 0);
	ck_assert(json_object_set_new(report, "grad", pfld_json_number((double)NAN)) == 0);
	ck_assert(json_object_set_new(report, "large", pfld_json_number(-1.5e300)) == 0);
	ck_assert(json_object_set_new(report, "class", pfld_json_string("a\"b\\c\nd\xff\xc3(\xc3\xa4")) == 0);
	ck_assert(json_object_set_new(report, "none", pfld_json_string(NULL)) == 0);
	ck_assert_int_eq(pfld_json_write(path, report, &error), PFLD_OK);
	json_decref(report);
	uint8_t *text;
	size_t num_bytes;
	ck_assert_int_eq(pfld_file_read(path, 0, &text, &num_bytes, &error), PFLD_OK);
	ck_assert_str_eq((char *)text, "{\n"
								   "  \"loss\": 0.1,\n"
								   "  \"best\": null,\n"
								   "  \"grad\": null,\n"
								   "  \"large\": -1.5e300,\n"
								   "  \"class\": \"a\\\"b\\\\c\\nd\xef\xbf\xbd\xef\xbf\xbd(\xc3\xa4\",\n"
								   "  \"none\": null\n"
								   "}\n");
	free(text);
}

START_TEST(json_is_strict)
{
	check_json();
}
END_TEST

START_TEST(all_of_it_under_a_decimal_comma)
{
	if (!comma_locale_set()) return;
	check_json();
	check_npy(&(struct pfld_io_array){.type = PFLD_IO_F32, .num_dims = 2, .dims = {2, 3}}, floats, sizeof floats);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("io");
	TCase *plain = tcase_create("plain");
	tcase_set_timeout(plain, 60);
	tcase_add_checked_fixture(plain, set_up, tear_down);
	tcase_add_test(plain, sizes_of_arrays);
	tcase_add_test(plain, half_floats);
	tcase_add_test(plain, conversions);
	tcase_add_test(plain, npy_round_trip);
	tcase_add_test(plain, npy_versions_and_spellings);
	tcase_add_test(plain, npy_refusals);
	tcase_add_test(plain, damaged_npy);
	tcase_add_test(plain, json_is_strict);
	tcase_add_test(plain, all_of_it_under_a_decimal_comma);
	suite_add_tcase(suite, plain);
	SRunner *runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	int failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
