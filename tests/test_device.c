// SPDX-License-Identifier: MIT
// include/pfld/device.h: enumeration, opening, options, memory counters, limits, and the host's floating-point mode.
#include "base/system.h"
#include "device/device.h"
#include "scratch.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>

static struct pfld_device *open_cpu(const struct pfld_device_options *options)
{
	struct pfld_device *device = NULL;
	struct pfld_error error = {0};
	ck_assert_msg(pfld_device_open(&device, "cpu", options, &error) == PFLD_OK, "%s", error.message);
	return device;
}

START_TEST(the_list_begins_with_cpu)
{
	struct pfld_device_info infos[8];
	int32_t num = pfld_device_list(NULL, infos, 8, NULL, 0);
	ck_assert_int_ge(num, 1);
	ck_assert_int_eq(pfld_device_list(NULL, NULL, 0, NULL, 0), num);
	ck_assert_str_eq(infos[0].name, "cpu");
	ck_assert_str_ne(infos[0].description, "");
	ck_assert_str_eq(infos[0].unusable, "");
	ck_assert(infos[0].is_cpu && !infos[0].is_accelerator);
	ck_assert_int_eq(infos[0].levels[0], 'c');
	ck_assert_int_ge(infos[0].num_units, 1);
	ck_assert_int_eq(infos[0].num_units, pfld_default_num_threads());
	ck_assert_uint_gt(infos[0].memory_bytes, 1 << 20);
	// A mask that hides everything leaves cpu, and is explained.
	struct pfld_device_mask mask = {
		.has_visible_devices = true, .has_cuda_visible_devices = true, .cuda_visible_devices = "-1"};
	char notes[1024];
	ck_assert_int_eq(pfld_device_list(&mask, infos, 8, notes, sizeof notes), 1);
	ck_assert_str_eq(infos[0].name, "cpu");
	ck_assert_ptr_nonnull(strstr(notes, "PFLD_VISIBLE_DEVICES is empty"));
	ck_assert_ptr_nonnull(strstr(notes, "CUDA_VISIBLE_DEVICES is \"-1\""));
}
END_TEST

START_TEST(opens_by_name)
{
	struct pfld_device *device = NULL;
	struct pfld_error error = {0};
	const struct pfld_device_mask none = {.has_visible_devices = true};
	ck_assert_int_eq(pfld_device_open(&device, "auto", &(struct pfld_device_options){.mask = &none}, &error), PFLD_OK);
	ck_assert_str_eq(pfld_device_get_info(device)->name, "cpu");
	ck_assert_int_eq(pfld_device_num_threads(device), pfld_default_num_threads());
	ck_assert_ptr_nonnull(strstr(pfld_device_get_info(device)->levels, pfld_device_level(device)));
	struct pfld_device_limits limits;
	pfld_device_get_limits(device, &limits);
	ck_assert_uint_ge(limits.alignment_bytes, 64);
	ck_assert_uint_eq(limits.alignment_bytes & (limits.alignment_bytes - 1), 0);
	pfld_device_close(&device);
	ck_assert_ptr_null(device);
	pfld_device_close(&device);
	pfld_device_close(NULL);
	static const char *const names[] = {"opencl:99", "gpu", "", "cpu:0"};
	for (size_t i = 0; i < PFLD_COUNT(names); i++) {
		ck_assert_int_eq(pfld_device_open(&device, names[i], NULL, &error), PFLD_ERR_NO_DEVICE);
		ck_assert_ptr_null(device);
		ck_assert_ptr_nonnull(strstr(error.message, "there is: cpu"));
	}
	// The reason stands in the message when masking hid it.
	struct pfld_device_options masked = {
		.mask = &(struct pfld_device_mask){.has_visible_devices = true, .visible_devices = "7"}};
	ck_assert_int_eq(pfld_device_open(&device, "opencl:0", &masked, &error), PFLD_ERR_NO_DEVICE);
	ck_assert_ptr_nonnull(strstr(error.message, "entry 1, \"7\""));
}
END_TEST

START_TEST(options_are_checked)
{
	struct pfld_device *device = NULL;
	struct pfld_error error = {0};
	struct pfld_device_options level = {.cpu_level = "avx9000"};
	ck_assert_int_eq(pfld_device_open(&device, "cpu", &level, &error), PFLD_ERR_ARGUMENT);
	ck_assert_ptr_nonnull(strstr(error.message, "avx9000"));
	ck_assert_ptr_nonnull(strstr(error.message, "there is: c"));
	struct pfld_device_options negative = {.num_threads = -1}, many = {.num_threads = 1 << 20};
	ck_assert_int_eq(pfld_device_open(&device, "cpu", &negative, &error), PFLD_ERR_ARGUMENT);
	ck_assert_int_eq(pfld_device_open(&device, "cpu", &many, &error), PFLD_ERR_ARGUMENT);
	ck_assert_ptr_nonnull(strstr(error.message, "num_threads"));
	ck_assert_int_eq(pfld_device_open(NULL, "cpu", NULL, &error), PFLD_ERR_ARGUMENT);
	ck_assert_int_eq(pfld_device_open(&device, NULL, NULL, &error), PFLD_ERR_ARGUMENT);
	ck_assert_ptr_null(device);
	device = open_cpu(&(struct pfld_device_options){.cpu_level = "c", .num_threads = 3});
	ck_assert_str_eq(pfld_device_level(device), "c");
	ck_assert_int_eq(pfld_device_num_threads(device), 3);
	pfld_device_close(&device);
}
END_TEST

START_TEST(memory_is_counted_and_limited)
{
	struct pfld_device *device = open_cpu(&(struct pfld_device_options){.limit_bytes = 100000});
	struct pfld_region a = {0}, b = {0};
	struct pfld_error error = {0};
	struct pfld_memory memory;
	ck_assert_int_eq(pfld_device_region_create(device, 60000, PFLD_MEMORY_PARAMETERS, "weights", &a, &error), PFLD_OK);
	ck_assert_int_eq((uintptr_t)a.host % 64, 0);
	for (size_t i = 0; i < a.bytes; i++)
		if (((char *)a.host)[i]) ck_abort_msg("byte %zu is not zero", i);
	ck_assert_int_eq(pfld_device_region_create(device, 40001, PFLD_MEMORY_OTHER, "a picture", &b, &error),
					 PFLD_ERR_MEMORY);
	ck_assert_ptr_nonnull(strstr(error.message, "a picture needs 40001 bytes"));
	ck_assert_ptr_nonnull(strstr(error.message, "100000"));
	ck_assert_ptr_nonnull(strstr(error.message, "60000 are taken"));
	ck_assert_ptr_null(b.host);
	ck_assert_int_eq(pfld_device_region_create(device, 40000, PFLD_MEMORY_BATCH, "a batch", &b, &error), PFLD_OK);
	pfld_device_memory(device, &memory);
	ck_assert_uint_eq(memory.current_bytes, 100000);
	ck_assert_uint_eq(memory.by_class[PFLD_MEMORY_BATCH], 40000);
	ck_assert_uint_eq(memory.num_regions, 2);
	pfld_device_region_destroy(device, PFLD_MEMORY_PARAMETERS, &a);
	pfld_device_memory(device, &memory);
	ck_assert_uint_eq(memory.current_bytes, 40000);
	ck_assert_uint_eq(memory.peak_bytes, 100000);
	ck_assert_uint_eq(memory.by_class[PFLD_MEMORY_PARAMETERS], 0);
	pfld_device_region_destroy(device, PFLD_MEMORY_BATCH, &b);
	pfld_device_close(&device);
	// Without a limit the device itself is one.
	device = open_cpu(NULL);
	ck_assert_int_eq(pfld_device_region_create(device, SIZE_MAX / 2, PFLD_MEMORY_OTHER, "the moon", &a, &error),
					 PFLD_ERR_MEMORY);
	ck_assert_ptr_nonnull(strstr(error.message, "the moon needs"));
	pfld_device_memory(device, &memory);
	ck_assert_uint_eq(memory.current_bytes, 0);
	// A large one is aligned for huge pages.
	ck_assert_int_eq(pfld_device_region_create(device, 9 << 20, PFLD_MEMORY_OTHER, "a large one", &a, &error), PFLD_OK);
	ck_assert_int_eq((uintptr_t)a.host % (2 << 20), 0);
	pfld_device_region_destroy(device, PFLD_MEMORY_OTHER, &a);
	pfld_device_close(&device);
	ck_assert_str_eq(pfld_memory_class_name(PFLD_MEMORY_WORKSPACE), "workspace");
}
END_TEST

static int num_errors;
static void count_errors(void *context, enum pfld_log_level level, const char *text)
{
	num_errors += level == PFLD_LOG_ERROR && strstr(text, "1 objects") != NULL;
}

START_TEST(close_refuses_while_tensors_live)
{
	struct pfld_device *device = open_cpu(&(struct pfld_device_options){.log = {.write = count_errors}}),
					   *kept = device;
	struct pfld_tensor *tensor = NULL;
	ck_assert_int_eq(pfld_tensor_create(&tensor, device, PFLD_REAL_TYPE, &(struct pfld_shape){1, {3}}, NULL), PFLD_OK);
	num_errors = 0;
	pfld_device_close(&device);
	ck_assert_int_eq(num_errors, 1);
	ck_assert_ptr_null(device);
	ck_assert_int_eq(pfld_tensor_fill(tensor, 1, NULL), PFLD_OK); // still there
	pfld_tensor_destroy(&tensor);
	pfld_device_close(&kept);
}
END_TEST

START_TEST(control_groups_limit_memory)
{
	char root[] = "cgroupXXXXXX";
	make_scratch(root);
	ck_assert_uint_eq(pfld_cgroup_memory_bytes_at(root), UINT64_MAX);
	put_file(root, "proc/self/cgroup", "0::/a/b\n");
	put_file(root, "sys/fs/cgroup/a/b/memory.max", "max\n");
	ck_assert_uint_eq(pfld_cgroup_memory_bytes_at(root), UINT64_MAX);
	put_file(root, "sys/fs/cgroup/a/memory.max", "3000000\n");
	ck_assert_uint_eq(pfld_cgroup_memory_bytes_at(root), 3000000);
	put_file(root, "sys/fs/cgroup/memory.max", "2000000\n"); // of the container's own root
	ck_assert_uint_eq(pfld_cgroup_memory_bytes_at(root), 2000000);
	put_file(root, "proc/self/cgroup", "5:cpu,cpuacct:/x\n4:memory:/docker/1\n");
	put_file(root, "sys/fs/cgroup/memory/docker/1/memory.limit_in_bytes", "1000000\n");
	put_file(root, "sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
	ck_assert_uint_eq(pfld_cgroup_memory_bytes_at(root), 1000000);
	put_file(root, "proc/self/cgroup", "rubbish\n\n:::\n7:memory:/../elsewhere\n");
	ck_assert_uint_eq(pfld_cgroup_memory_bytes_at(root), 9223372036854771712u);
	remove_tree(root);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("device");
	TCase *tests = tcase_create("device");
	suite_add_tcase(suite, tests);
	tcase_add_test(tests, the_list_begins_with_cpu);
	tcase_add_test(tests, opens_by_name);
	tcase_add_test(tests, options_are_checked);
	tcase_add_test(tests, memory_is_counted_and_limited);
	tcase_add_test(tests, close_refuses_while_tensors_live);
	tcase_add_test(tests, control_groups_limit_memory);
	SRunner *runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	int failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
