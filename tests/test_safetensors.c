// SPDX-License-Identifier: MIT
// lib/io/safetensors.h. Hostile files are made here, one for each promise of the format.
#include "base/file.h"
#include "base/thread.h"
#include "io/safetensors.h"
#include "scratch.h"

#include <check.h>
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

// A file of a header as given and num_data zero bytes.
static void put_safetensors(const char *header, size_t num_data)
{
	size_t length = strlen(header);
	uint8_t *bytes = calloc(8 + length + num_data, 1);
	ck_assert_ptr_nonnull(bytes);
	for (int i = 0; i < 8; i++) bytes[i] = (uint8_t)((uint64_t)length >> (8 * i));
	memcpy(bytes + 8, header, length);
	put_bytes(folder, "file", bytes, 8 + length + num_data);
	free(bytes);
}

static void expect_open_fails(enum pfld_status status, const char *reason)
{
	struct pfld_safetensors *file = NULL;
	error.message[0] = '\0';
	enum pfld_status got = pfld_safetensors_open(&file, path, &error);
	ck_assert_msg(got == status && strstr(error.message, reason), "%s instead of %s: \"%s\"", pfld_status_name(got),
				  reason, error.message);
	ck_assert_msg(status == PFLD_ERR_IO || strstr(error.message, path), "%s", error.message);
	ck_assert_ptr_null(file);
}

#define ONE(type, shape, offsets)                                                                                      \
	"{\"a\":{\"dtype\":\"" type "\",\"shape\":[" shape "],\"data_offsets\":[" offsets "]}}"
#define TWO(offsets1, offsets2)                                                                                        \
	"{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[" offsets1 "]},"                                        \
	"\"b\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[" offsets2 "]}}"

static const struct {
	const char *header;
	size_t num_data;
	enum pfld_status status;
	const char *reason;
} hostile[] = {
	{ONE("F32", "2,3", "24,0"), 24, PFLD_ERR_DATA, "ends before it begins"},
	{ONE("F32", "1000,1000", "0,4000000"), 24, PFLD_ERR_DATA, "behind the end of the file"},
	{ONE("F32", "1000,1000", "0,24"), 24, PFLD_ERR_DATA, "another number of bytes"},
	{ONE("F32", "2,3", "0,2.4e1"), 24, PFLD_ERR_DATA, "two whole numbers"},
	{ONE("F32", "2,3", "-24,0"), 24, PFLD_ERR_DATA, "two whole numbers"},
	{ONE("F32", "2,3", "0"), 24, PFLD_ERR_DATA, "two whole numbers"},
	{ONE("F32", "2,3", "0,24,24"), 24, PFLD_ERR_DATA, "two whole numbers"},
	{ONE("F32", "2,3", "0,\"24\""), 24, PFLD_ERR_DATA, "two whole numbers"},
	{ONE("F32", "2,3", "0,18446744073709551640"), 24, PFLD_ERR_DATA, "not the JSON it should be"},
	{ONE("F32", "4294967296,4294967296", "0,24"), 24, PFLD_ERR_DATA, "too large"},
	{ONE("F32", "4294967296,4294967296,0", "0,24"), 24, PFLD_ERR_DATA, "too large"},
	{ONE("F32", "4611686018427387905,4", "0,16"), 16, PFLD_ERR_DATA, "too large"},
	{ONE("F32", "-2,-3", "0,24"), 24, PFLD_ERR_DATA, "a dimension"},
	{ONE("F32", "2.0,3", "0,24"), 24, PFLD_ERR_DATA, "a dimension"},
	{ONE("F32", "true,6", "0,24"), 24, PFLD_ERR_DATA, "a dimension"},
	{ONE("F32", "[6]", "0,24"), 24, PFLD_ERR_DATA, "a dimension"},
	{ONE("F32", "2,3", "0,24"), 25, PFLD_ERR_DATA, "behind its last tensor"},
	{ONE("F32", "2,3", "8,32"), 32, PFLD_ERR_DATA, "a hole before it"},
	{ONE("F32", "2,3", "0,24") "x", 24, PFLD_ERR_DATA, "not the JSON it should be"},
	{" " ONE("F32", "2,3", "0,24"), 24, PFLD_ERR_DATA, "not a JSON object"},
	{ONE("X32", "2,3", "0,24"), 24, PFLD_ERR_UNSUPPORTED, "the element type X32"},
	{ONE("", "2,3", "0,24"), 24, PFLD_ERR_UNSUPPORTED, "the element type"},
	{ONE("F32", "1,1,1,1,1,1,1,1,6", "0,24"), 24, PFLD_ERR_UNSUPPORTED, "more than 8 dimensions"},
	{TWO("0,8", "16,24"), 24, PFLD_ERR_DATA, "\"b\": there is a hole"},
	{TWO("8,16", "8,16"), 16, PFLD_ERR_DATA, "a hole before it"},
	{TWO("0,8", "0,8"), 8, PFLD_ERR_DATA, "\"b\": it overlaps"},
	{TWO("4,12", "0,8"), 12, PFLD_ERR_DATA, "\"a\": it overlaps"},
	{TWO("0,8", "8,16"), 17, PFLD_ERR_DATA, "behind its last tensor"},
	{"{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]},"
	 "\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}",
	 4, PFLD_ERR_DATA, "duplicate object key"},
	{"{\"a\":{\"dtype\":\"F32\",\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}", 4, PFLD_ERR_DATA,
	 "duplicate"},
	{"{\"a\":{\"shape\":[1],\"data_offsets\":[0,4]}}", 4, PFLD_ERR_DATA, "no element type"},
	{"{\"a\":{\"dtype\":1,\"shape\":[1],\"data_offsets\":[0,4]}}", 4, PFLD_ERR_DATA, "no element type"},
	{"{\"a\":{\"dtype\":\"F32\",\"data_offsets\":[0,4]}}", 4, PFLD_ERR_DATA, "no shape"},
	{"{\"a\":{\"dtype\":\"F32\",\"shape\":1,\"data_offsets\":[0,4]}}", 4, PFLD_ERR_DATA, "no shape"},
	{"{\"a\":{\"dtype\":\"F32\",\"shape\":[1]}}", 4, PFLD_ERR_DATA, "two whole numbers"},
	{"{\"a\":[1]}", 4, PFLD_ERR_DATA, "not described by a JSON object"},
	{"{\"__metadata__\":[]}", 0, PFLD_ERR_DATA, "metadata is not"},
	{"{\"__metadata__\":{\"k\":1}}", 0, PFLD_ERR_DATA, "other than text"},
	{"{}", 1, PFLD_ERR_DATA, "behind its last tensor"},
	{"[]", 0, PFLD_ERR_DATA, "not a JSON object"},
	{"", 0, PFLD_ERR_DATA, "not the JSON it should be"},
	{"{\"a\xff\":1}", 0, PFLD_ERR_DATA, "not the JSON it should be"},
	{"{\"a\\u0000b\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}", 4, PFLD_ERR_DATA, "not the JSON"},
};

START_TEST(hostile_headers_are_refused)
{
	put_safetensors(hostile[_i].header, hostile[_i].num_data);
	expect_open_fails(hostile[_i].status, hostile[_i].reason);
}
END_TEST

START_TEST(hostile_lengths_are_refused)
{
	static const uint64_t lengths[] = {UINT64_C(1) << 63, UINT64_MAX - 3, UINT64_MAX, 5000, 69};
	for (size_t i = 0; i < PFLD_COUNT(lengths); i++) {
		uint8_t bytes[8 + 68] = {0};
		memcpy(bytes, &lengths[i], 8);
		put_bytes(folder, "file", bytes, sizeof bytes);
		expect_open_fails(PFLD_ERR_DATA, "longer than the file");
	}
	put_bytes(folder, "file", "\1\0\0\0\0\0\0", 7);
	expect_open_fails(PFLD_ERR_DATA, "shorter than the 8 bytes");
	remove(path);
	expect_open_fails(PFLD_ERR_IO, "No such file");

	// JSON nested deeper than any stack.
	enum { DEPTH = 4000000 };
	char *deep = malloc(DEPTH + 1);
	ck_assert_ptr_nonnull(deep);
	memset(deep, '[', DEPTH);
	memcpy(deep, "{\"a\":", 5);
	deep[DEPTH] = '\0';
	put_safetensors(deep, 0);
	free(deep);
	expect_open_fails(PFLD_ERR_DATA, "depth");
}
END_TEST

// A header above the limit, in a file that takes no space: refused before it is read.
START_TEST(huge_headers_are_refused_unread)
{
	FILE *out = fopen(path, "wb");
	uint64_t length = UINT64_C(4) << 30;
	ck_assert_uint_eq(fwrite(&length, 1, 8, out), 8);
	ck_assert_int_eq(fseek(out, (long)length + 8, SEEK_SET), 0);
	ck_assert_int_eq(fputc(0, out), 0);
	fclose(out);
	uint64_t before = pfld_process_peak_bytes();
	expect_open_fails(PFLD_ERR_DATA, "larger than 100 MiB");
	ck_assert_uint_lt(pfld_process_peak_bytes() - before, 16 << 20);
}
END_TEST

START_TEST(offsets_above_4_gib)
{
	const char *header = "{\"pad\":{\"dtype\":\"U8\",\"shape\":[5368709120],\"data_offsets\":[0,5368709120]},"
						 "\"tail\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[5368709120,5368709128]}}";
	uint64_t length = strlen(header);
	FILE *out = fopen(path, "wb");
	ck_assert(fwrite(&length, 1, 8, out) == 8 && fputs(header, out) >= 0);
	ck_assert_int_eq(fseek(out, (long)(8 + length + 5368709120), SEEK_SET), 0);
	ck_assert_uint_eq(fwrite((float[2]){1, 2}, 1, 8, out), 8);
	fclose(out);
	uint64_t before = pfld_process_peak_bytes();
	struct pfld_safetensors *file = NULL;
	ck_assert_int_eq(pfld_safetensors_open(&file, path, &error), PFLD_OK);
	double tail[2] = {0, 0};
	const struct pfld_safetensors_entry *entry = pfld_safetensors_find(file, "tail");
	ck_assert_int_eq(pfld_safetensors_read_as(file, entry, PFLD_IO_F64, tail, &error), PFLD_OK);
	ck_assert(tail[0] == 1 && tail[1] == 2);
	pfld_safetensors_close(&file);
	ck_assert_uint_lt(pfld_process_peak_bytes() - before, 16 << 20);
}
END_TEST

START_TEST(unusual_headers_are_accepted)
{
	static const struct {
		const char *header;
		size_t num_data, num_entries;
	} cases[] = {
		{"{}", 0, 0},
		{"{}      \n", 0, 0},
		{"{\"__metadata__\":{}}", 0, 0},
		{ONE("F32", "", "0,4"), 4, 1},
		{ONE("F32", "0", "0,0"), 0, 1},
		{ONE("F32", "5,0,3", "0,0"), 0, 1},
		{ONE("BOOL", "1,1,1,1,1,1,1,3", "0,3"), 3, 1},
		{TWO("8,16", "0,8"), 16, 2},
		{"{\"e\":{\"dtype\":\"I8\",\"shape\":[0],\"data_offsets\":[1,1]},\"a\":{\"shape\":[1],\"data_offsets\":[0,1],"
		 "\"dtype\":\"U8\"},\"f\":{\"dtype\":\"I8\",\"shape\":[0],\"data_offsets\":[1,1]},"
		 "\"b\":{\"shape\":[1],\"data_offsets\":[1,2],\"dtype\":\"U8\"}}",
		 2, 4},
	};
	for (size_t i = 0; i < PFLD_COUNT(cases); i++) {
		put_safetensors(cases[i].header, cases[i].num_data);
		struct pfld_safetensors *file = NULL;
		enum pfld_status status = pfld_safetensors_open(&file, path, &error);
		ck_assert_msg(status == PFLD_OK, "%s", error.message);
		ck_assert_uint_eq(pfld_safetensors_num_entries(file), cases[i].num_entries);
		ck_assert_ptr_null(pfld_safetensors_find(file, "none"));
		ck_assert_ptr_null(pfld_safetensors_metadata(file, "none"));
		pfld_safetensors_close(&file);
		ck_assert_ptr_null(file);
	}
	pfld_safetensors_close(NULL);
}
END_TEST

static const float floats[6] = {1.5f, -2.25f, 0.125f, 4, -8, 0.5f};
static const uint16_t halves[3] = {0x3c00, 0xc000, 0x0001};
static const int64_t count = -5;
static const struct pfld_safetensors_item items[] = {
	{{"z/kernel", PFLD_IO_F32, 2, {2, 3}}, floats},
	{{"a/half", PFLD_IO_F16, 1, {3}}, halves},
	{{"count", PFLD_IO_I64, 0, {0}}, &count},
	{{"empty", PFLD_IO_F64, 2, {0, 3}}, NULL},
	{{"name \"\\\n\xc3\xa4", PFLD_IO_U8, 1, {2}}, "ab"},
};
static const struct pfld_safetensors_pair pairs[] = {
	{"version", "1"}, {"class", "a\"b\\c\nd"}, {"bad", "x\xffy"}, {"", ""}};

static void check_round_trip(void)
{
	enum pfld_status status = pfld_safetensors_write(path, items, PFLD_COUNT(items), pairs, PFLD_COUNT(pairs), &error);
	ck_assert_msg(status == PFLD_OK, "%s", error.message);
	struct pfld_safetensors *file = NULL;
	status = pfld_safetensors_open(&file, path, &error);
	ck_assert_msg(status == PFLD_OK, "%s", error.message);
	ck_assert_uint_eq(pfld_safetensors_num_entries(file), PFLD_COUNT(items));
	for (size_t i = 0; i < PFLD_COUNT(items); i++) {
		const struct pfld_safetensors_entry *entry = pfld_safetensors_find(file, items[i].array.name);
		ck_assert_ptr_nonnull(entry);
		ck_assert(entry->array.type == items[i].array.type && entry->array.num_dims == items[i].array.num_dims);
		for (int k = 0; k < entry->array.num_dims; k++) ck_assert(entry->array.dims[k] == items[i].array.dims[k]);
		uint8_t bytes[64];
		ck_assert_int_eq(pfld_safetensors_read(file, entry, bytes, &error), PFLD_OK);
		ck_assert(!entry->num_bytes || !memcmp(bytes, items[i].data, entry->num_bytes));
	}
	ck_assert_str_eq(pfld_safetensors_entry(file, 0)->array.name, "z/kernel");
	ck_assert_str_eq(pfld_safetensors_metadata(file, "class"), "a\"b\\c\nd");
	ck_assert_str_eq(pfld_safetensors_metadata(file, "bad"), "x\xef\xbf\xbdy");
	const char *key, *value;
	for (size_t i = 0; i < PFLD_COUNT(pairs); i++) {
		ck_assert(pfld_safetensors_metadata_at(file, i, &key, &value));
		ck_assert_str_eq(key, pairs[i].key);
	}
	ck_assert(!pfld_safetensors_metadata_at(file, PFLD_COUNT(pairs), &key, &value));

	float single[6];
	double twice[6];
	const struct pfld_safetensors_entry *half = pfld_safetensors_find(file, "a/half");
	ck_assert_int_eq(pfld_safetensors_read_as(file, half, PFLD_IO_F32, single, &error), PFLD_OK);
	ck_assert(single[0] == 1 && single[1] == -2 && single[2] == 0x1p-24f);
	ck_assert_int_eq(pfld_safetensors_read_as(file, pfld_safetensors_entry(file, 0), PFLD_IO_F64, twice, &error),
					 PFLD_OK);
	ck_assert(twice[0] == 1.5 && twice[5] == 0.5);
	const struct pfld_safetensors_entry *whole = pfld_safetensors_find(file, "count");
	ck_assert_int_eq(pfld_safetensors_read_as(file, whole, PFLD_IO_F32, single, &error), PFLD_ERR_SHAPE);
	ck_assert_msg(strstr(error.message, "count") && strstr(error.message, "I64"), "%s", error.message);
	pfld_safetensors_close(&file);
}

START_TEST(safetensors_round_trip)
{
	check_round_trip();
	// The layout that the format asks for: '{' first, blanks up to 8 bytes, the data packed behind.
	uint8_t *bytes;
	size_t num_bytes;
	uint64_t length;
	ck_assert_int_eq(pfld_file_read(path, 0, &bytes, &num_bytes, &error), PFLD_OK);
	memcpy(&length, bytes, 8);
	ck_assert(length % 8 == 0 && bytes[8] == '{' && num_bytes == 8 + length + 24 + 6 + 8 + 2);
	ck_assert_int_eq(memcmp(bytes + 8 + length, floats, sizeof floats), 0);
	free(bytes);
	// Nothing at all.
	ck_assert_int_eq(pfld_safetensors_write(path, NULL, 0, NULL, 0, &error), PFLD_OK);
	struct pfld_safetensors *file = NULL;
	ck_assert_int_eq(pfld_safetensors_open(&file, path, &error), PFLD_OK);
	ck_assert_uint_eq(pfld_safetensors_num_entries(file), 0);
	pfld_safetensors_close(&file);
}
END_TEST

// More numbers than are converted at a time.
START_TEST(long_tensors_are_converted_in_parts)
{
	enum { NUM = 50001 };
	static float from[NUM];
	static double to[NUM];
	for (int i = 0; i < NUM; i++) from[i] = (float)i * 0.25f;
	struct pfld_safetensors_item item = {{"x", PFLD_IO_F32, 1, {NUM}}, from};
	ck_assert_int_eq(pfld_safetensors_write(path, &item, 1, NULL, 0, &error), PFLD_OK);
	struct pfld_safetensors *file = NULL;
	ck_assert_int_eq(pfld_safetensors_open(&file, path, &error), PFLD_OK);
	ck_assert_int_eq(pfld_safetensors_read_as(file, pfld_safetensors_entry(file, 0), PFLD_IO_F64, to, &error), PFLD_OK);
	for (int i = 0; i < NUM; i++) ck_assert(to[i] == i * 0.25);
	pfld_safetensors_close(&file);
}
END_TEST

static void expect_not_written(const struct pfld_safetensors_item *item, size_t num_items,
							   const struct pfld_safetensors_pair *pair, size_t num_pairs, const char *reason)
{
	error.message[0] = '\0';
	ck_assert_int_eq(pfld_safetensors_write(path, item, num_items, pair, num_pairs, &error), PFLD_ERR_ARGUMENT);
	ck_assert_msg(strstr(error.message, reason) != NULL, "%s", error.message);
	ck_assert_int_eq(pfld_path_kind(path), PFLD_PATH_ABSENT);
}

START_TEST(what_the_format_forbids_is_not_written)
{
	struct pfld_safetensors_item twice[2] = {items[0], items[0]};
	expect_not_written(twice, 2, NULL, 0, "twice");
	twice[0].array.name = "__metadata__";
	expect_not_written(twice, 1, NULL, 0, "itself");
	twice[0].array.name = "\xff";
	expect_not_written(twice, 1, NULL, 0, "UTF-8");
	twice[0].array.name = NULL;
	expect_not_written(twice, 1, NULL, 0, "missing");
	twice[0] = items[0];
	twice[0].data = NULL;
	expect_not_written(twice, 1, NULL, 0, "no data");
	twice[0].array.dims[0] = -1;
	expect_not_written(twice, 1, NULL, 0, "not possible");
	struct pfld_safetensors_pair same[2] = {pairs[0], pairs[0]};
	expect_not_written(NULL, 0, same, 2, "twice");
	same[0].value = NULL;
	expect_not_written(NULL, 0, same, 1, "no value");
	// The old file stands when the new one cannot be written.
	put_file(folder, "old/file", "old");
	snprintf(path, sizeof path, "%s/old/file/new", folder);
	ck_assert_int_eq(pfld_safetensors_write(path, items, 1, NULL, 0, &error), PFLD_ERR_IO);
}
END_TEST

// Whatever a damaged file says, opening it either fails with a reason or yields tensors that lie in it.
static void try_safetensors(const uint8_t *bytes, size_t num_bytes)
{
	put_bytes(folder, "file", bytes, num_bytes);
	struct pfld_safetensors *file = NULL;
	error.message[0] = '\0';
	if (pfld_safetensors_open(&file, path, &error)) {
		ck_assert(error.message[0] && pfld_is_utf8(error.message));
		return;
	}
	for (size_t i = 0; i < pfld_safetensors_num_entries(file); i++) {
		const struct pfld_safetensors_entry *entry = pfld_safetensors_entry(file, i);
		ck_assert_uint_le(entry->num_bytes, num_bytes);
		uint8_t *data = malloc(entry->num_bytes ? entry->num_bytes : 1);
		ck_assert_int_eq(pfld_safetensors_read(file, entry, data, &error), PFLD_OK);
		free(data);
	}
	pfld_safetensors_close(&file);
}

START_TEST(damaged_safetensors)
{
	ck_assert_int_eq(pfld_safetensors_write(path, items, PFLD_COUNT(items), pairs, PFLD_COUNT(pairs), &error), PFLD_OK);
	damage_file(path, try_safetensors);
}
END_TEST

START_TEST(safetensors_under_a_decimal_comma)
{
	if (comma_locale_set()) check_round_trip();
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("safetensors");
	TCase *plain = tcase_create("plain");
	tcase_set_timeout(plain, 60);
	tcase_add_checked_fixture(plain, set_up, tear_down);
	tcase_add_loop_test(plain, hostile_headers_are_refused, 0, (int)PFLD_COUNT(hostile));
	tcase_add_test(plain, hostile_lengths_are_refused);
	tcase_add_test(plain, huge_headers_are_refused_unread);
	tcase_add_test(plain, offsets_above_4_gib);
	tcase_add_test(plain, unusual_headers_are_accepted);
	tcase_add_test(plain, safetensors_round_trip);
	tcase_add_test(plain, long_tensors_are_converted_in_parts);
	tcase_add_test(plain, what_the_format_forbids_is_not_written);
	tcase_add_test(plain, damaged_safetensors);
	tcase_add_test(plain, safetensors_under_a_decimal_comma);
	suite_add_tcase(suite, plain);
	SRunner *runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	int failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
