// SPDX-License-Identifier: MIT
// include/pfld/tensor.h: making, viewing, copying and converting, what is refused; and tensors over others' memory.
// Files of tensors: test_tensor_file.c.
#include "base/float_mode.h"
#include "device/device.h"

#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static struct pfld_device *device;
static struct pfld_error error;

static void open_device(void)
{
	ck_assert_int_eq(pfld_device_open(&device, "cpu", &(struct pfld_device_options){.num_threads = 1}, NULL), PFLD_OK);
	memset(&error, 0, sizeof error);
}

static void close_device(void)
{
	pfld_device_close(&device);
}

static struct pfld_tensor *make(struct pfld_shape shape)
{
	struct pfld_tensor *tensor = NULL;
	ck_assert_msg(!pfld_tensor_create(&tensor, device, PFLD_F32, &shape, &error), "%s", error.message);
	return tensor;
}

START_TEST(made_and_destroyed)
{
	struct pfld_tensor *tensor = make((struct pfld_shape){4, {2, 3, 5, 7}}),
					   *number = make((struct pfld_shape){0, {0}});
	struct pfld_memory memory;
	ck_assert_int_eq(pfld_tensor_elements(tensor), 210);
	ck_assert_int_eq(pfld_tensor_elements(number), 1);
	ck_assert_int_eq(pfld_tensor_type(tensor), PFLD_F32);
	ck_assert_int_eq(pfld_tensor_shape(tensor)->num_dims, 4);
	ck_assert_int_eq(pfld_tensor_shape(tensor)->dims[3], 7);
	const float *host = pfld_tensor_host(tensor);
	for (int i = 0; i < 210; i++) ck_assert(host[i] == 0);
	pfld_device_memory(device, &memory);
	ck_assert_uint_eq(memory.by_class[PFLD_MEMORY_OTHER], 211 * sizeof(float));
	ck_assert_int_eq(device->num_users, 2);
	pfld_tensor_destroy(&tensor);
	pfld_tensor_destroy(&number);
	ck_assert_ptr_null(tensor);
	pfld_tensor_destroy(&tensor);
	pfld_tensor_destroy(NULL);
	pfld_device_memory(device, &memory);
	ck_assert_uint_eq(memory.current_bytes, 0);
	ck_assert_int_eq(device->num_users, 0);
}
END_TEST

START_TEST(wrong_shapes_are_refused)
{
	static const struct pfld_shape wrong[] = {{1, {0}},
											  {2, {3, -1}},
											  {9, {1}},
											  {-1, {1}},
											  {2, {INT64_MAX, 4}},
											  {3, {1 << 30, 1 << 30, 1 << 30}},
											  {1, {INT64_MAX / 4}}};
	struct pfld_tensor *tensor = NULL;
	for (size_t i = 0; i < PFLD_COUNT(wrong); i++) {
		ck_assert_int_eq(pfld_tensor_create(&tensor, device, PFLD_F32, &wrong[i], &error), PFLD_ERR_ARGUMENT);
		ck_assert_str_ne(error.message, "");
	}
	ck_assert_int_eq(pfld_tensor_create(&tensor, device, PFLD_F64, &(struct pfld_shape){1, {3}}, &error),
					 PFLD_ERR_UNSUPPORTED);
	ck_assert_int_eq(pfld_tensor_create(&tensor, device, PFLD_F32, &(struct pfld_shape){1, {INT64_MAX / 64}}, &error),
					 PFLD_ERR_MEMORY);
	ck_assert_ptr_null(tensor);
	ck_assert_int_eq(device->num_users, 0);
}
END_TEST

START_TEST(copied_and_converted)
{
	enum { NUM = 3001 }; // more than a chunk
	static double numbers[NUM], back[NUM];
	static float floats[NUM];
	struct pfld_tensor *tensor = make((struct pfld_shape){1, {NUM}});
	for (int i = 0; i < NUM; i++) numbers[i] = 1.0 / (i + 1);
	ck_assert_int_eq(pfld_tensor_upload(tensor, PFLD_F64, numbers, NUM, &error), PFLD_OK);
	ck_assert_int_eq(pfld_tensor_download(tensor, PFLD_F64, back, NUM, &error), PFLD_OK);
	ck_assert_int_eq(pfld_tensor_download(tensor, PFLD_F32, floats, NUM, &error), PFLD_OK);
	for (int i = 0; i < NUM; i++) {
		if (back[i] != (float)numbers[i] || floats[i] != (float)numbers[i]) ck_abort_msg("element %d", i);
	}
	// Some of it only.
	floats[0] = 5;
	floats[1] = NAN;
	ck_assert_int_eq(pfld_tensor_upload(tensor, PFLD_F32, floats, 2, &error), PFLD_OK);
	ck_assert_int_eq(pfld_tensor_upload(tensor, PFLD_F32, floats, 0, &error), PFLD_OK);
	ck_assert_int_eq(pfld_tensor_download(tensor, PFLD_F64, back, 3, &error), PFLD_OK);
	ck_assert(back[0] == 5 && isnan(back[1]) && back[2] == (float)numbers[2]);
	ck_assert_int_eq(pfld_tensor_upload(tensor, PFLD_F32, floats, NUM + 1, &error), PFLD_ERR_SHAPE);
	ck_assert_int_eq(pfld_tensor_download(tensor, PFLD_F32, floats, -1, &error), PFLD_ERR_SHAPE);
	ck_assert_int_eq(pfld_tensor_fill(tensor, -2.5, &error), PFLD_OK);
	ck_assert_int_eq(pfld_tensor_download(tensor, PFLD_F32, floats, NUM, &error), PFLD_OK);
	for (int i = 0; i < NUM; i++)
		if (floats[i] != -2.5f) ck_abort_msg("element %d", i);
	pfld_tensor_destroy(&tensor);
}
END_TEST

START_TEST(viewed)
{
	float numbers[24], two[2];
	struct pfld_tensor *tensor = make((struct pfld_shape){2, {4, 6}}), *row = NULL, *part = NULL, *none = NULL;
	for (int i = 0; i < 24; i++) numbers[i] = (float)i;
	ck_assert_int_eq(pfld_tensor_upload(tensor, PFLD_F32, numbers, 24, &error), PFLD_OK);
	ck_assert_int_eq(pfld_tensor_view(&row, tensor, 18, &(struct pfld_shape){1, {6}}, &error), PFLD_OK);
	ck_assert_int_eq(pfld_tensor_view(&part, row, 4, &(struct pfld_shape){2, {1, 2}}, &error), PFLD_OK);
	ck_assert_int_eq(pfld_tensor_download(part, PFLD_F32, two, 2, &error), PFLD_OK);
	ck_assert(two[0] == 22 && two[1] == 23);
	ck_assert_int_eq(pfld_tensor_fill(part, 7, &error), PFLD_OK);
	ck_assert_int_eq(pfld_tensor_download(tensor, PFLD_F32, numbers, 24, &error), PFLD_OK);
	ck_assert(numbers[21] == 21 && numbers[22] == 7 && numbers[23] == 7);
	ck_assert_ptr_eq(pfld_tensor_host(part), (float *)pfld_tensor_host(tensor) + 22);
	ck_assert_int_eq(pfld_tensor_view(&none, tensor, 19, &(struct pfld_shape){1, {6}}, &error), PFLD_ERR_SHAPE);
	ck_assert_int_eq(pfld_tensor_view(&none, tensor, -1, &(struct pfld_shape){1, {6}}, &error), PFLD_ERR_SHAPE);
	ck_assert_int_eq(pfld_tensor_view(&none, tensor, 0, &(struct pfld_shape){1, {25}}, &error), PFLD_ERR_SHAPE);
	ck_assert_ptr_null(none);
	pfld_tensor_destroy(&part);
	pfld_tensor_destroy(&row);
	pfld_tensor_destroy(&tensor);
}
END_TEST

static enum pfld_status check_owner(const void *owner, struct pfld_error *why)
{
	return *(const bool *)owner ? PFLD_OK : pfld_fail(why, PFLD_ERR_STATE, "another program ran");
}

START_TEST(over_memory_of_others)
{
	struct pfld_region region = {0};
	struct pfld_tensor *tensor = NULL, *view = NULL;
	bool is_valid = true;
	float number = 3;
	ck_assert_int_eq(pfld_device_region_create(device, 256, PFLD_MEMORY_ACTIVATIONS, "activations", &region, &error),
					 PFLD_OK);
	ck_assert_int_eq(
		pfld_tensor_wrap(&tensor, device, &(struct pfld_shape){1, {8}}, &region, 64, check_owner, &is_valid, &error),
		PFLD_OK);
	ck_assert_int_eq(pfld_tensor_view(&view, tensor, 2, &(struct pfld_shape){1, {1}}, &error), PFLD_OK);
	ck_assert_int_eq(pfld_tensor_upload(view, PFLD_F32, &number, 1, &error), PFLD_OK);
	ck_assert(((float *)region.host)[18] == 3);
	is_valid = false;
	ck_assert_int_eq(pfld_tensor_upload(view, PFLD_F32, &number, 1, &error), PFLD_ERR_STATE);
	ck_assert_int_eq(pfld_tensor_download(tensor, PFLD_F32, &number, 1, &error), PFLD_ERR_STATE);
	ck_assert_int_eq(pfld_tensor_fill(tensor, 0, &error), PFLD_ERR_STATE);
	ck_assert_str_eq(error.message, "another program ran");
	pfld_tensor_destroy(&view);
	pfld_tensor_destroy(&tensor);
	ck_assert_ptr_nonnull(region.host); // not the tensor's
	pfld_device_region_destroy(device, PFLD_MEMORY_ACTIVATIONS, &region);
}
END_TEST

START_TEST(a_lost_device_stays_lost)
{
	struct pfld_tensor *tensor = make((struct pfld_shape){1, {4}}), *none = NULL;
	float number = 3;
	device->lost = true;
	ck_assert_int_eq(pfld_tensor_upload(tensor, PFLD_F32, &number, 1, &error), PFLD_ERR_DEVICE_LOST);
	ck_assert_int_eq(pfld_tensor_download(tensor, PFLD_F32, &number, 1, &error), PFLD_ERR_DEVICE_LOST);
	ck_assert_int_eq(pfld_tensor_fill(tensor, 0, &error), PFLD_ERR_DEVICE_LOST);
	ck_assert_int_eq(pfld_tensor_create(&none, device, PFLD_F32, &(struct pfld_shape){1, {4}}, &error),
					 PFLD_ERR_DEVICE_LOST);
	ck_assert_int_eq(pfld_device_finish(device, &error), PFLD_ERR_DEVICE_LOST);
	ck_assert_ptr_nonnull(strstr(error.message, "cpu"));
	pfld_tensor_destroy(&tensor);
}
END_TEST

START_TEST(the_hosts_rounding_is_not_ours)
{
	double numbers[2] = {1 + 0x1p-30, -1 - 0x1p-30};
	float rounded[2];
	struct pfld_tensor *tensor = make((struct pfld_shape){1, {2}});
	fesetround(FE_UPWARD);
	enum pfld_status status = pfld_tensor_upload(tensor, PFLD_F64, numbers, 2, &error);
	int mode = fegetround();
	fesetround(FE_TONEAREST);
	ck_assert_int_eq(status, PFLD_OK);
	ck_assert_int_eq(mode, FE_UPWARD);
	ck_assert_int_eq(pfld_tensor_download(tensor, PFLD_F32, rounded, 2, &error), PFLD_OK);
	ck_assert(rounded[0] == 1 && rounded[1] == -1);
	pfld_tensor_destroy(&tensor);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("tensor");
	TCase *tests = tcase_create("tensor");
	suite_add_tcase(suite, tests);
	tcase_add_checked_fixture(tests, open_device, close_device);
	tcase_add_test(tests, made_and_destroyed);
	tcase_add_test(tests, wrong_shapes_are_refused);
	tcase_add_test(tests, copied_and_converted);
	tcase_add_test(tests, viewed);
	tcase_add_test(tests, over_memory_of_others);
	tcase_add_test(tests, a_lost_device_stays_lost);
	tcase_add_test(tests, the_hosts_rounding_is_not_ours);
	SRunner *runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	int failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
