// SPDX-License-Identifier: MIT
// The numbers by which kernels, tiles and slabs are chosen, one set a kind of device. Called at open.
#include "opencl/cl.h"

// A CPU runs an item a core at a time and vectorises inside of it: wide vectors, much work an item, groups of one (PoCL
// compiles a kernel once more for each size of a group). A GPU hides memory behind many small items.
struct pfld_cl_class pfld_cl_class_of(cl_device_id id)
{
	cl_device_type type = 0;
	cl_device_fp_config floats = 0;
	cl_ulong local_bytes = 0;
	cl_uint num_units = 1;
	size_t max_items = 1;
	clGetDeviceInfo(id, CL_DEVICE_TYPE, sizeof type, &type, NULL);
	clGetDeviceInfo(id, CL_DEVICE_SINGLE_FP_CONFIG, sizeof floats, &floats, NULL);
	clGetDeviceInfo(id, CL_DEVICE_LOCAL_MEM_SIZE, sizeof local_bytes, &local_bytes, NULL);
	clGetDeviceInfo(id, CL_DEVICE_MAX_COMPUTE_UNITS, sizeof num_units, &num_units, NULL);
	clGetDeviceInfo(id, CL_DEVICE_MAX_WORK_GROUP_SIZE, sizeof max_items, &max_items, NULL);
	bool is_cpu = type & CL_DEVICE_TYPE_CPU;
	return (struct pfld_cl_class){
		.is_cpu = is_cpu,
		.has_fma = floats & CL_FP_FMA,
		.vector_width = is_cpu ? 16 : 4,
		.pixels_per_item = is_cpu ? 64 : 4,
		.slab_pixels = is_cpu ? 512 : 128,
		.merge_rows = is_cpu ? INT32_MAX : 32,
		.group_items = is_cpu ? 1 : 128,
		.max_group_items = max_items,
		.local_bytes = local_bytes,
		.num_units = (int32_t)num_units,
	};
}
