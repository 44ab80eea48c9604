// SPDX-License-Identifier: MIT
// Tensors to .npy and .safetensors and back: the same shape, the same bits; what does not fit is refused with a reason.
#include "scratch.h"
#include "zoo.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char folder[] = "tensor_file_XXXXXX";
static struct pfld_device *device;

static void begin(void)
{
	make_scratch(strcpy(folder, "tensor_file_XXXXXX"));
	device = zoo_device(1);
}

static void end(void)
{
	pfld_device_close(&device);
	remove_tree(folder);
}

static const char *in_folder(const char *name)
{
	static char path[256];
	snprintf(path, sizeof path, "%s/%s", folder, name);
	return path;
}

static const struct pfld_shape shapes[] = {{0, {0}}, {1, {1}}, {2, {3, 5}}, {4, {2, 3, 4, 5}}, {8, {1, 2, 1, 2, 1, 2, 1, 3}}};
enum { NUM_SHAPES = sizeof shapes / sizeof *shapes, MOST = 128 };

static struct pfld_tensor *make(int i)
{
	struct pfld_tensor *tensor = NULL;
	ck_pfld(pfld_tensor_create(&tensor, device, PFLD_F32, &shapes[i], error));
	float numbers[MOST];
	int64_t num = pfld_tensor_elements(tensor);
	ck_assert_int_le(num, MOST);
	for (int64_t j = 0; j < num; j++) numbers[j] = (float)j / 3 - 1;
	numbers[0] = i == 2 ? INFINITY : i == 3 ? NAN : -0.0f;
	ck_pfld(pfld_tensor_upload(tensor, PFLD_F32, numbers, num, error));
	return tensor;
}

static void check_equal(const struct pfld_tensor *a, const struct pfld_tensor *b)
{
	float numbers_a[MOST], numbers_b[MOST];
	int64_t num = pfld_tensor_elements(a);
	ck_assert_mem_eq(pfld_tensor_shape(a), pfld_tensor_shape(b), sizeof(struct pfld_shape));
	ck_pfld(pfld_tensor_download(a, PFLD_F32, numbers_a, num, error));
	ck_pfld(pfld_tensor_download(b, PFLD_F32, numbers_b, num, error));
	ck_assert_mem_eq(numbers_a, numbers_b, (size_t)num * sizeof(float));
}

START_TEST(npy_round_trip)
{
	struct pfld_tensor *tensor = make(_i), *back = NULL;
	ck_pfld(pfld_tensor_save_npy(tensor, in_folder("a.npy"), error));
	ck_pfld(pfld_tensor_load_npy(&back, device, in_folder("a.npy"), error));
	check_equal(tensor, back);
	pfld_tensor_destroy(&back);
	pfld_tensor_destroy(&tensor);
}
END_TEST

START_TEST(safetensors_round_trip)
{
	static const char *const names[NUM_SHAPES] = {"number", "one", "table/kernel", "picture", "deep"};
	struct pfld_tensor *tensors[NUM_SHAPES], *back = NULL;
	for (int i = 0; i < NUM_SHAPES; i++) tensors[i] = make(i);
	ck_pfld(pfld_tensors_save(in_folder("a.safetensors"), names, tensors, NUM_SHAPES, error));
	for (int i = 0; i < NUM_SHAPES; i++) {
		ck_pfld(pfld_tensor_load(&back, device, in_folder("a.safetensors"), names[i], error));
		check_equal(tensors[i], back);
		pfld_tensor_destroy(&back);
		pfld_tensor_destroy(&tensors[i]);
	}
	struct pfld_error error = {0};
	ck_assert_int_eq(pfld_tensor_load(&back, device, in_folder("a.safetensors"), "none", &error), PFLD_ERR_DATA);
	ck_assert_ptr_nonnull(strstr(error.message, "a.safetensors"));
	ck_assert_ptr_nonnull(strstr(error.message, "\"none\""));
	ck_assert_ptr_nonnull(strstr(error.message, "such as"));
	ck_assert_ptr_null(back);
}
END_TEST

static void write_npy(const char *name, const char *type, const void *data, size_t num_bytes)
{
	char bytes[256] = "\x93NUMPY\x01";
	int length = snprintf(bytes + 10, 118, "{'descr': '%s', 'fortran_order': False, 'shape': (2,), }", type);
	memset(bytes + 10 + length, ' ', (size_t)(117 - length));
	bytes[127] = '\n';
	bytes[8] = 118;
	memcpy(bytes + 128, data, num_bytes);
	put_bytes(folder, name, bytes, 128 + num_bytes);
}

START_TEST(other_types)
{
	struct pfld_tensor *tensor = NULL;
	struct pfld_error error = {0};
	float numbers[2];
	const double doubles[2] = {0.1, 1e300};
	const int64_t integers[2] = {1, 2};
	write_npy("double.npy", "<f8", doubles, sizeof doubles);
	ck_pfld(pfld_tensor_load_npy(&tensor, device, in_folder("double.npy"), error));
	ck_pfld(pfld_tensor_download(tensor, PFLD_F32, numbers, 2, error));
	ck_assert(numbers[0] == 0.1f && isinf(numbers[1]));
	pfld_tensor_destroy(&tensor);
	write_npy("integer.npy", "<i8", integers, sizeof integers);
	ck_assert_int_eq(pfld_tensor_load_npy(&tensor, device, in_folder("integer.npy"), &error), PFLD_ERR_UNSUPPORTED);
	ck_assert_ptr_nonnull(strstr(error.message, "I64"));
	ck_assert_int_eq(pfld_tensor_load_npy(&tensor, device, in_folder("absent.npy"), &error), PFLD_ERR_IO);
	ck_assert_int_eq(pfld_tensor_load(&tensor, device, in_folder("absent.safetensors"), "a", &error), PFLD_ERR_IO);
	ck_assert_ptr_null(tensor);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("tensor files");
	TCase *cases = tcase_create("tensor files");
	tcase_add_checked_fixture(cases, begin, end);
	tcase_add_loop_test(cases, npy_round_trip, 0, NUM_SHAPES);
	tcase_add_test(cases, safetensors_round_trip);
	tcase_add_test(cases, other_types);
	suite_add_tcase(suite, cases);
	SRunner *runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	int failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
