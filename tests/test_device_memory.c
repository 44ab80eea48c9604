// SPDX-License-Identifier: MIT
// Every allocation while devices are listed and opened and tensors made fails once: the call says so, its outputs stay
// untouched, and nothing leaks (the sanitizer build looks). The linker puts the functions below in place of malloc and
// its sisters (see meson.build).
#include <pfld/tensor.h>

#include <check.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

void *__real_malloc(size_t num_bytes);
void *__real_calloc(size_t num, size_t num_bytes);
void *__real_realloc(void *pointer, size_t num_bytes);
int __real_posix_memalign(void **pointer, size_t alignment, size_t num_bytes);

static long allocations_left = -1; // -1: as many as they like

static bool fails(void)
{
	if (allocations_left > 0) allocations_left--;
	return allocations_left == 0;
}

void *__wrap_malloc(size_t num_bytes)
{
	return fails() ? NULL : __real_malloc(num_bytes);
}

void *__wrap_calloc(size_t num, size_t num_bytes)
{
	return fails() ? NULL : __real_calloc(num, num_bytes);
}

void *__wrap_realloc(void *pointer, size_t num_bytes)
{
	return fails() ? NULL : __real_realloc(pointer, num_bytes);
}

int __wrap_posix_memalign(void **pointer, size_t alignment, size_t num_bytes)
{
	return fails() ? ENOMEM : __real_posix_memalign(pointer, alignment, num_bytes);
}

START_TEST(devices)
{
	struct pfld_device_options options = {.num_threads = 3};
	struct pfld_device *device = NULL;
	long enough = 1;
	for (;; enough++) {
		struct pfld_error error = {0};
		allocations_left = enough;
		enum pfld_status status = pfld_device_open(&device, "cpu", &options, &error);
		long left = allocations_left;
		allocations_left = -1;
		if (left > 0) {
			ck_assert_int_eq(status, PFLD_OK);
			break;
		}
		// What is not needed may fail unnoticed: the processor's name, a control group's limit.
		if (!status)
			pfld_device_close(&device);
		else
			ck_assert(status == PFLD_ERR_MEMORY && error.message[0]);
		ck_assert_ptr_null(device);
	}
	ck_assert_int_gt(enough, 8);
	pfld_device_close(&device);
}
END_TEST

START_TEST(tensors)
{
	struct pfld_device *device = NULL;
	ck_assert_int_eq(pfld_device_open(&device, "cpu", NULL, NULL), PFLD_OK);
	struct pfld_tensor *tensor = NULL, *view = NULL;
	struct pfld_memory memory;
	for (long enough = 1; enough <= 3; enough++) {
		struct pfld_error error = {0};
		struct pfld_shape shape = {2, {1000, 1000}};
		allocations_left = enough;
		enum pfld_status status = pfld_tensor_create(&tensor, device, PFLD_F32, &shape, &error);
		allocations_left = -1;
		ck_assert_int_eq(status, enough < 3 ? PFLD_ERR_MEMORY : PFLD_OK); // the struct, the memory
		ck_assert_int_eq(tensor != NULL, enough == 3);
		if (enough == 2) ck_assert_ptr_nonnull(strstr(error.message, "a tensor needs 4000000 bytes"));
		pfld_device_memory(device, &memory);
		ck_assert_uint_eq(memory.current_bytes, enough == 3 ? 4000000 : 0);
	}
	allocations_left = 1;
	enum pfld_status status = pfld_tensor_view(&view, tensor, 0, &(struct pfld_shape){1, {5}}, NULL);
	allocations_left = -1;
	ck_assert_int_eq(status, PFLD_ERR_MEMORY);
	ck_assert_ptr_null(view);
	pfld_tensor_destroy(&tensor);
	pfld_device_close(&device);
}
END_TEST

START_TEST(lists)
{
	struct pfld_device_mask mask = {.has_visible_devices = true};
	struct pfld_device_info info;
	char notes[256];
	for (long enough = 1; enough < 40; enough++) {
		allocations_left = enough;
		int32_t num = pfld_device_list(&mask, &info, 1, notes, sizeof notes);
		allocations_left = -1;
		ck_assert(num == 0 || num == 1);
		if (num == 0) ck_assert_ptr_nonnull(strstr(notes, "out of memory"));
	}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("device_memory");
	TCase *tests = tcase_create("device_memory");
	suite_add_tcase(suite, tests);
	tcase_add_test(tests, devices);
	tcase_add_test(tests, tensors);
	tcase_add_test(tests, lists);
	SRunner *runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	int failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
