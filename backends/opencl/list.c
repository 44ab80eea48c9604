// SPDX-License-Identifier: MIT
// The devices of all OpenCL platforms, in the order in which the loader gives them. Listing takes nothing from a device.
// Called by device.c.
#include "opencl/cl.h"

#include <stdio.h>
#include <string.h>

enum { MAX_PLATFORMS = 32, MAX_DEVICES = 64, UUID_BYTES = 16 };
#define CL_DEVICE_UUID_KHR_VALUE 0x106A // cl_khr_device_uuid

const char *pfld_cl_why_none(void)
{
	return "no OpenCL device: no driver is installed that the OpenCL loader finds (in /etc/OpenCL/vendors). On Debian and "
	       "Ubuntu: pocl-opencl-icd (any CPU), intel-opencl-icd, mesa-opencl-icd (AMD), or the driver of NVIDIA with "
	       "nvidia-opencl-icd";
}

static int32_t get_platforms(cl_platform_id platforms[MAX_PLATFORMS])
{
	cl_uint num = 0;
	if (clGetPlatformIDs(MAX_PLATFORMS, platforms, &num) != CL_SUCCESS) return 0;
	return PFLD_MIN((int32_t)num, MAX_PLATFORMS);
}

static int32_t get_devices(cl_platform_id platform, cl_device_id devices[MAX_DEVICES])
{
	cl_uint num = 0;
	if (clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, MAX_DEVICES, devices, &num) != CL_SUCCESS) return 0;
	return PFLD_MIN((int32_t)num, MAX_DEVICES);
}

bool pfld_cl_find(int32_t index, cl_platform_id *platform, cl_device_id *id)
{
	cl_platform_id platforms[MAX_PLATFORMS];
	cl_device_id devices[MAX_DEVICES];
	int32_t num_platforms = get_platforms(platforms);
	for (int32_t p = 0; p < num_platforms; p++) {
		int32_t num = get_devices(platforms[p], devices);
		*platform = platforms[p];
		*id = devices[index < num ? index : 0];
		if (index < num) return true;
		index -= num;
	}
	return false;
}

// Text of any length, cut to the field.
static void get_text(cl_device_id id, cl_device_info what, char *field, size_t field_bytes)
{
	char text[1024];
	size_t length = 0;
	field[0] = '\0';
	if (clGetDeviceInfo(id, what, sizeof text - 1, text, &length) != CL_SUCCESS) return;
	text[PFLD_MIN(length, sizeof text - 1)] = '\0';
	const char *begin = text + strspn(text, " ");
	snprintf(field, field_bytes, "%s", begin);
	for (size_t end = strlen(field); end && field[end - 1] == ' '; end--) field[end - 1] = '\0';
}

// As the tools of NVIDIA write it, which masking by UUID goes by.
static void get_uuid(cl_device_id id, bool is_gpu, char *field, size_t field_bytes)
{
	char extensions[8192];
	unsigned char u[UUID_BYTES];
	size_t length = 0;
	if (clGetDeviceInfo(id, CL_DEVICE_EXTENSIONS, sizeof extensions - 1, extensions, &length) != CL_SUCCESS) return;
	extensions[PFLD_MIN(length, sizeof extensions - 1)] = '\0';
	if (!strstr(extensions, "cl_khr_device_uuid")) return;
	if (clGetDeviceInfo(id, CL_DEVICE_UUID_KHR_VALUE, sizeof u, u, NULL) != CL_SUCCESS) return;
	snprintf(field, field_bytes, "%s%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x",
	         is_gpu ? "GPU-" : "", u[0], u[1], u[2], u[3], u[4], u[5], u[6], u[7], u[8], u[9], u[10], u[11], u[12], u[13],
	         u[14], u[15]);
}

static const char *why_unusable(cl_device_id id)
{
	cl_bool available = CL_FALSE, compiler = CL_FALSE, little_endian = CL_FALSE;
	char version[64];
	clGetDeviceInfo(id, CL_DEVICE_AVAILABLE, sizeof available, &available, NULL);
	clGetDeviceInfo(id, CL_DEVICE_COMPILER_AVAILABLE, sizeof compiler, &compiler, NULL);
	clGetDeviceInfo(id, CL_DEVICE_ENDIAN_LITTLE, sizeof little_endian, &little_endian, NULL);
	get_text(id, CL_DEVICE_OPENCL_C_VERSION, version, sizeof version);
	if (!available) return "its driver says that it is not available";
	if (!compiler) return "its driver has no compiler for kernels";
	if (!little_endian) return "its numbers have the other order of bytes";
	if (!strncmp(version, "OpenCL C 1.0", 12) || !strncmp(version, "OpenCL C 1.1", 12))
		return "its driver is older than OpenCL 1.2";
	return "";
}

static void describe(cl_device_id id, int32_t number, struct pfld_device_info *info)
{
	cl_device_type type = 0;
	cl_ulong memory_bytes = 0, max_bytes = 0;
	cl_uint num_units = 0;
	memset(info, 0, sizeof *info);
	snprintf(info->name, sizeof info->name, "opencl:%d", (int)number);
	clGetDeviceInfo(id, CL_DEVICE_TYPE, sizeof type, &type, NULL);
	clGetDeviceInfo(id, CL_DEVICE_GLOBAL_MEM_SIZE, sizeof memory_bytes, &memory_bytes, NULL);
	clGetDeviceInfo(id, CL_DEVICE_MAX_MEM_ALLOC_SIZE, sizeof max_bytes, &max_bytes, NULL);
	clGetDeviceInfo(id, CL_DEVICE_MAX_COMPUTE_UNITS, sizeof num_units, &num_units, NULL);
	get_text(id, CL_DEVICE_NAME, info->description, sizeof info->description);
	get_text(id, CL_DEVICE_VENDOR, info->vendor, sizeof info->vendor);
	get_text(id, CL_DRIVER_VERSION, info->driver, sizeof info->driver);
	get_uuid(id, type & CL_DEVICE_TYPE_GPU, info->uuid, sizeof info->uuid);
	info->memory_bytes = memory_bytes;
	info->max_region_bytes = max_bytes;
	info->num_units = (int32_t)num_units;
	info->is_cpu = type & CL_DEVICE_TYPE_CPU;
	info->is_accelerator = type & (CL_DEVICE_TYPE_GPU | CL_DEVICE_TYPE_ACCELERATOR);
	snprintf(info->unusable, sizeof info->unusable, "%s", why_unusable(id));
}

int32_t pfld_cl_list(struct pfld_device_info *infos, int32_t capacity)
{
	cl_platform_id platforms[MAX_PLATFORMS];
	cl_device_id devices[MAX_DEVICES];
	int32_t num_platforms = get_platforms(platforms), num = 0;
	for (int32_t p = 0; p < num_platforms; p++) {
		int32_t num_devices = get_devices(platforms[p], devices);
		for (int32_t d = 0; d < num_devices; d++, num++)
			if (infos && num < capacity) describe(devices[d], num, &infos[num]);
	}
	return num;
}
