// SPDX-License-Identifier: MIT
// Masking by PFLD_VISIBLE_DEVICES and CUDA_VISIBLE_DEVICES over lists of devices that are made up: what is left, in
// which order, and that each cut is explained.
#define _POSIX_C_SOURCE 200809L // setenv
#include "base/base.h"
#include <pfld/device.h>

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NUM_INFOS = 5 };

static struct pfld_device_info infos[NUM_INFOS]; // cpu, GPU 0, GPU 1, an OpenCL CPU 2, an accelerator 3

static void make_infos(void)
{
	static const char *const names[] = {"cpu", "opencl:0", "opencl:1", "opencl:2", "opencl:3"};
	static const char *const uuids[] = {"", "GPU-8932f937-d72c", "GPU-89abcdef-0000", "CPU-1234", "GPU-77777777-1111"};
	memset(infos, 0, sizeof infos);
	for (int i = 0; i < NUM_INFOS; i++) {
		strcpy(infos[i].name, names[i]);
		strcpy(infos[i].uuid, uuids[i]);
		snprintf(infos[i].description, sizeof infos[i].description, "board %d", i);
		infos[i].is_cpu = i == 0 || i == 3;
		infos[i].is_accelerator = i == 1 || i == 2 || i == 4;
	}
}

static struct pfld_device_mask mask_of(const char *visible, const char *cuda)
{
	struct pfld_device_mask mask = {.has_visible_devices = visible != NULL, .has_cuda_visible_devices = cuda != NULL};
	if (visible) snprintf(mask.visible_devices, sizeof mask.visible_devices, "%s", visible);
	if (cuda) snprintf(mask.cuda_visible_devices, sizeof mask.cuda_visible_devices, "%s", cuda);
	return mask;
}

static char notes[4096];

// `expected`: the digits of the OpenCL devices that are left, in order. `note`: a text that the notes must hold, or
// NULL.
static void check_mask(const char *visible, const char *cuda, const char *expected, const char *note)
{
	struct pfld_device_mask mask = mask_of(visible, cuda);
	int32_t order[NUM_INFOS];
	char left[NUM_INFOS + 1] = "";
	int32_t num = pfld_device_mask_apply(&mask, infos, NUM_INFOS, order, notes, sizeof notes);
	ck_assert_int_ge(num, 1);
	ck_assert_int_eq(order[0], 0); // cpu is never masked
	for (int32_t i = 1; i < num; i++) left[i - 1] = (char)('0' + order[i] - 1);
	ck_assert_msg(!strcmp(left, expected), "PFLD \"%s\" CUDA \"%s\": left \"%s\", expected \"%s\"",
				  visible ? visible : "unset", cuda ? cuda : "unset", left, expected);
	ck_assert_msg(!note || strstr(notes, note), "PFLD \"%s\" CUDA \"%s\": no \"%s\" in:\n%s",
				  visible ? visible : "unset", cuda ? cuda : "unset", note ? note : "", notes);
	if (strlen(expected) < 4) ck_assert_str_ne(notes, "");
}

START_TEST(unset_hides_nothing)
{
	int32_t order[NUM_INFOS];
	check_mask(NULL, NULL, "0123", NULL);
	ck_assert_str_eq(notes, "");
	ck_assert_int_eq(pfld_device_mask_apply(NULL, infos, NUM_INFOS, order, notes, sizeof notes), NUM_INFOS);
	ck_assert_int_eq(pfld_device_mask_apply(NULL, infos, 1, order, NULL, 0), 1);
	ck_assert_int_eq(pfld_device_mask_apply(NULL, infos, 0, order, NULL, 0), 0);
}
END_TEST

START_TEST(numbers)
{
	check_mask("0,1,2,3", NULL, "0123", NULL);
	check_mask("2,0", NULL, "20", "hides opencl:1 (board 2)");
	check_mask(" 1 ,\t3 ", NULL, "13", NULL);
	check_mask("1gpu2,2ampere", NULL, "12", NULL);
	check_mask("+1", NULL, "1", NULL);
	check_mask("00", NULL, "0", NULL);
	check_mask("", NULL, "", "is empty");
	check_mask("  ", NULL, "", "is empty");
	check_mask("-1", NULL, "", "entry 1, \"-1\", is negative");
	check_mask("0,2,-1,1", NULL, "02", "entry 3, \"-1\", is negative: the list ends before it, with 2 devices");
	check_mask("1,4,0", NULL, "1",
			   "entry 2, \"4\", is above the last device's number: the list ends before it, with 1 device\n");
	check_mask("0,x,1", NULL, "0", "entry 2, \"x\", is no number");
	check_mask("0,,1", NULL, "0", "entry 2, \"\", is empty");
	check_mask("0,", NULL, "0", "entry 2");
	check_mask("99999999999999999999", NULL, "", "above the last");
	check_mask("1,0,1", NULL, "", "entry 3, \"1\", names the device of entry 1 again: a duplicate leaves no device");
	check_mask("1, 1x", NULL, "", "duplicate");
	check_mask("0,-1,0", NULL, "0", "entry 2"); // what stands behind the end is not read
	check_mask("no\033devices", NULL, "", "\\x1b");
}
END_TEST

START_TEST(uuids)
{
	check_mask("GPU-77777777-1111", NULL, "3", NULL);
	check_mask("GPU-7,GPU-893", NULL, "30", NULL);
	check_mask("CPU-1,GPU-89a", NULL, "21", NULL);
	check_mask("GPU-7,GPU-89", NULL, "3", "entry 2, \"GPU-89\", begins the UUIDs of several devices");
	check_mask("GPU-7,GPU-1", NULL, "3", "entry 2, \"GPU-1\", begins the UUID of no device");
	check_mask("GPU-7,0", NULL, "3", "entry 2, \"0\", is not a UUID");
	check_mask("0,GPU-7", NULL, "0", "entry 2, \"GPU-7\", is no number");
	check_mask("GPU-7,GPU-777", NULL, "", "duplicate");
	check_mask("GPU-", NULL, "", "is no number");
	check_mask("gpu-7", NULL, "", "begins the UUID of no device");
}
END_TEST

START_TEST(cuda_hides_gpus)
{
	check_mask(NULL, "", "2", "CUDA_VISIBLE_DEVICES is \"\": it hides opencl:0 (board 1)");
	check_mask(NULL, "-1", "2", "CUDA_VISIBLE_DEVICES is \"-1\": it hides opencl:3 (board 4)");
	check_mask(NULL, " -1 ", "2", NULL);
	check_mask(NULL, "0", "0123", "left to the NVIDIA driver");
	check_mask(NULL, "-1,0", "0123", "left to the NVIDIA driver");
	check_mask("3,2,0", "", "2", "it hides opencl:3");
	check_mask("2", "-1", "2", "there is none to hide");
	check_mask("7", "-1", "", "entry 1, \"7\"");
}
END_TEST

START_TEST(only_cpu_is_explained_too)
{
	int32_t order[1];
	struct pfld_device_mask mask = mask_of("0", "-1");
	ck_assert_int_eq(pfld_device_mask_apply(&mask, infos, 1, order, notes, sizeof notes), 1);
	ck_assert_ptr_nonnull(strstr(notes, "entry 1, \"0\", names a device where there is none to mask"));
	ck_assert_ptr_nonnull(strstr(notes, "there is none to hide"));
	// Room for a part of the notes only.
	char few[12];
	memset(few, 'x', sizeof few);
	pfld_device_mask_apply(&mask, infos, 1, order, few, sizeof few);
	ck_assert_str_eq(few, "PFLD_VISIBL");
	pfld_device_mask_apply(&mask, infos, 1, order, few, 0);
	ck_assert_str_eq(few, "PFLD_VISIBL");
}
END_TEST

START_TEST(from_the_environment)
{
	struct pfld_device_mask mask;
	unsetenv("PFLD_VISIBLE_DEVICES");
	setenv("CUDA_VISIBLE_DEVICES", "", 1);
	pfld_device_mask_from_env(&mask);
	ck_assert(!mask.has_visible_devices && mask.has_cuda_visible_devices);
	ck_assert_str_eq(mask.cuda_visible_devices, "");
	char entries[700];
	for (size_t i = 0; i + 2 < sizeof entries; i += 2) memcpy(entries + i, "0,", 3);
	setenv("PFLD_VISIBLE_DEVICES", entries, 1);
	unsetenv("CUDA_VISIBLE_DEVICES");
	pfld_device_mask_from_env(&mask);
	ck_assert(mask.has_visible_devices && !mask.has_cuda_visible_devices);
	ck_assert_uint_eq(strlen(mask.visible_devices), sizeof mask.visible_devices - 1);
	check_mask(mask.visible_devices, NULL, "", "the rest is not read");
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("mask");
	TCase *tests = tcase_create("mask");
	suite_add_tcase(suite, tests);
	tcase_add_checked_fixture(tests, make_infos, NULL);
	tcase_add_test(tests, unset_hides_nothing);
	tcase_add_test(tests, numbers);
	tcase_add_test(tests, uuids);
	tcase_add_test(tests, cuda_hides_gpus);
	tcase_add_test(tests, only_cpu_is_explained_too);
	tcase_add_test(tests, from_the_environment);
	SRunner *runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	int failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
