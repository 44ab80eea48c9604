// SPDX-License-Identifier: MIT
// What OpenCL's codes are called, what they mean for the caller, and what can be done.
#include "opencl/cl.h"

static const struct meaning {
	cl_int code;
	enum pfld_status status;
	const char *name, *advice;
} meanings[] = {
	{CL_DEVICE_NOT_FOUND, PFLD_ERR_NO_DEVICE, "CL_DEVICE_NOT_FOUND", "the driver sees no device"},
	{CL_DEVICE_NOT_AVAILABLE, PFLD_ERR_DEVICE_LOST, "CL_DEVICE_NOT_AVAILABLE",
     "the device is in use by another process or has been switched off"},
	{CL_COMPILER_NOT_AVAILABLE, PFLD_ERR_UNSUPPORTED, "CL_COMPILER_NOT_AVAILABLE",
     "the driver comes without its compiler; install the full driver"},
	{CL_MEM_OBJECT_ALLOCATION_FAILURE, PFLD_ERR_MEMORY, "CL_MEM_OBJECT_ALLOCATION_FAILURE",
     "the device has no room; other programs may hold its memory"},
	{CL_OUT_OF_RESOURCES, PFLD_ERR_DEVICE_LOST, "CL_OUT_OF_RESOURCES",
     "the device ran out of memory, or a kernel failed or ran too long on it"},
	{CL_OUT_OF_HOST_MEMORY, PFLD_ERR_MEMORY, "CL_OUT_OF_HOST_MEMORY", "the driver found no memory on the host"},
	{CL_BUILD_PROGRAM_FAILURE, PFLD_ERR_UNSUPPORTED, "CL_BUILD_PROGRAM_FAILURE",
     "the driver's compiler refuses a kernel; a newer driver may help"},
	{CL_MAP_FAILURE, PFLD_ERR_MEMORY, "CL_MAP_FAILURE", "the host cannot see this memory of the device"},
	{CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST, PFLD_ERR_DEVICE_LOST, "CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST",
     "a command before this one failed"},
	{CL_INVALID_VALUE, PFLD_ERR_DEVICE_LOST, "CL_INVALID_VALUE", ""},
	{CL_INVALID_DEVICE, PFLD_ERR_NO_DEVICE, "CL_INVALID_DEVICE", "the device is gone"},
	{CL_INVALID_CONTEXT, PFLD_ERR_DEVICE_LOST, "CL_INVALID_CONTEXT", "the driver has given up on the device"},
	{CL_INVALID_COMMAND_QUEUE, PFLD_ERR_DEVICE_LOST, "CL_INVALID_COMMAND_QUEUE",
     "the driver has given up on the device after an earlier failure"},
	{CL_INVALID_BINARY, PFLD_ERR_UNSUPPORTED, "CL_INVALID_BINARY", "the kernels kept on disk are another driver's"},
	{CL_INVALID_BUILD_OPTIONS, PFLD_ERR_UNSUPPORTED, "CL_INVALID_BUILD_OPTIONS",
     "the driver knows no OpenCL C 1.2; a newer driver may help"},
	{CL_INVALID_KERNEL_NAME, PFLD_ERR_UNSUPPORTED, "CL_INVALID_KERNEL_NAME", ""},
	{CL_INVALID_ARG_INDEX, PFLD_ERR_DEVICE_LOST, "CL_INVALID_ARG_INDEX", ""},
	{CL_INVALID_ARG_VALUE, PFLD_ERR_DEVICE_LOST, "CL_INVALID_ARG_VALUE", ""},
	{CL_INVALID_ARG_SIZE, PFLD_ERR_DEVICE_LOST, "CL_INVALID_ARG_SIZE", ""},
	{CL_INVALID_KERNEL_ARGS, PFLD_ERR_DEVICE_LOST, "CL_INVALID_KERNEL_ARGS", ""},
	{CL_INVALID_WORK_GROUP_SIZE, PFLD_ERR_UNSUPPORTED, "CL_INVALID_WORK_GROUP_SIZE",
     "the device takes smaller work groups than it said"},
	{CL_INVALID_BUFFER_SIZE, PFLD_ERR_MEMORY, "CL_INVALID_BUFFER_SIZE", "the device gives no piece that large"},
	{-1001, PFLD_ERR_NO_DEVICE, "CL_PLATFORM_NOT_FOUND_KHR", "no OpenCL driver is installed"},
};

enum pfld_status pfld_cl_fail(struct pfld_error *error, cl_int code, const char *call)
{
	for (size_t i = 0; i < PFLD_COUNT(meanings); i++) {
		const struct meaning *meaning = &meanings[i];
		if (meaning->code != code) continue;
		return pfld_fail(error, meaning->status, "%s: %s (%d)%s%s", call, meaning->name, (int)code,
		                 meaning->advice[0] ? ": " : "", meaning->advice);
	}
	return pfld_fail(error, PFLD_ERR_DEVICE_LOST, "%s: OpenCL error %d", call, (int)code);
}

bool pfld_cl_means_no_memory(cl_int code)
{
	return code == CL_MEM_OBJECT_ALLOCATION_FAILURE || code == CL_OUT_OF_RESOURCES || code == CL_OUT_OF_HOST_MEMORY ||
	       code == CL_INVALID_BUFFER_SIZE || code == CL_MAP_FAILURE;
}
