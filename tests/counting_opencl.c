// SPDX-License-Identifier: MIT
#define CL_TARGET_OPENCL_VERSION 120
#include "counting_opencl.h"

#include <CL/cl.h>

enum { MOST_BUFFERS = 4096 };
static struct {
	cl_mem buffer;
	size_t bytes;
} buffers[MOST_BUFFERS];
static struct counted_calls calls;

struct counted_calls calls_now(void)
{
	return calls;
}

cl_mem __real_clCreateBuffer(cl_context context, cl_mem_flags flags, size_t bytes, void *host, cl_int *code);
cl_mem __wrap_clCreateBuffer(cl_context context, cl_mem_flags flags, size_t bytes, void *host, cl_int *code);
cl_mem __wrap_clCreateBuffer(cl_context context, cl_mem_flags flags, size_t bytes, void *host, cl_int *code)
{
	cl_mem buffer = __real_clCreateBuffer(context, flags, bytes, host, code);
	for (int i = 0; buffer && i < MOST_BUFFERS; i++) {
		if (buffers[i].buffer) continue;
		buffers[i].buffer = buffer;
		buffers[i].bytes = bytes;
		calls.num_created++;
		calls.buffer_bytes += bytes;
		if (calls.buffer_bytes > calls.peak_bytes) calls.peak_bytes = calls.buffer_bytes;
		break;
	}
	return buffer;
}

cl_int __real_clReleaseMemObject(cl_mem buffer);
cl_int __wrap_clReleaseMemObject(cl_mem buffer);
cl_int __wrap_clReleaseMemObject(cl_mem buffer)
{
	for (int i = 0; i < MOST_BUFFERS; i++) {
		if (buffers[i].buffer != buffer) continue;
		calls.buffer_bytes -= buffers[i].bytes;
		buffers[i].buffer = NULL;
		break;
	}
	return __real_clReleaseMemObject(buffer);
}

cl_int __real_clEnqueueNDRangeKernel(cl_command_queue queue, cl_kernel kernel, cl_uint dimensions, const size_t *offset,
                                     const size_t *global, const size_t *local, cl_uint num, const cl_event *wait, cl_event *event);
cl_int __wrap_clEnqueueNDRangeKernel(cl_command_queue queue, cl_kernel kernel, cl_uint dimensions, const size_t *offset,
                                     const size_t *global, const size_t *local, cl_uint num, const cl_event *wait, cl_event *event);
cl_int __wrap_clEnqueueNDRangeKernel(cl_command_queue queue, cl_kernel kernel, cl_uint dimensions, const size_t *offset,
                                     const size_t *global, const size_t *local, cl_uint num, const cl_event *wait, cl_event *event)
{
	calls.num_kernels++;
	return __real_clEnqueueNDRangeKernel(queue, kernel, dimensions, offset, global, local, num, wait, event);
}

cl_int __real_clFinish(cl_command_queue queue);
cl_int __wrap_clFinish(cl_command_queue queue);
cl_int __wrap_clFinish(cl_command_queue queue)
{
	calls.num_waits++;
	return __real_clFinish(queue);
}

cl_int __real_clEnqueueReadBuffer(cl_command_queue queue, cl_mem buffer, cl_bool blocks, size_t offset, size_t bytes, void *to,
                                  cl_uint num, const cl_event *wait, cl_event *event);
cl_int __wrap_clEnqueueReadBuffer(cl_command_queue queue, cl_mem buffer, cl_bool blocks, size_t offset, size_t bytes, void *to,
                                  cl_uint num, const cl_event *wait, cl_event *event);
cl_int __wrap_clEnqueueReadBuffer(cl_command_queue queue, cl_mem buffer, cl_bool blocks, size_t offset, size_t bytes, void *to,
                                  cl_uint num, const cl_event *wait, cl_event *event)
{
	calls.num_waits += blocks == CL_TRUE;
	return __real_clEnqueueReadBuffer(queue, buffer, blocks, offset, bytes, to, num, wait, event);
}

cl_int __real_clEnqueueWriteBuffer(cl_command_queue queue, cl_mem buffer, cl_bool blocks, size_t offset, size_t bytes,
                                   const void *from, cl_uint num, const cl_event *wait, cl_event *event);
cl_int __wrap_clEnqueueWriteBuffer(cl_command_queue queue, cl_mem buffer, cl_bool blocks, size_t offset, size_t bytes,
                                   const void *from, cl_uint num, const cl_event *wait, cl_event *event);
cl_int __wrap_clEnqueueWriteBuffer(cl_command_queue queue, cl_mem buffer, cl_bool blocks, size_t offset, size_t bytes,
                                   const void *from, cl_uint num, const cl_event *wait, cl_event *event)
{
	calls.num_waits += blocks == CL_TRUE;
	return __real_clEnqueueWriteBuffer(queue, buffer, blocks, offset, bytes, from, num, wait, event);
}

cl_program __real_clCreateProgramWithSource(cl_context context, cl_uint num, const char **texts, const size_t *bytes, cl_int *code);
cl_program __wrap_clCreateProgramWithSource(cl_context context, cl_uint num, const char **texts, const size_t *bytes, cl_int *code);
cl_program __wrap_clCreateProgramWithSource(cl_context context, cl_uint num, const char **texts, const size_t *bytes, cl_int *code)
{
	calls.num_built++;
	return __real_clCreateProgramWithSource(context, num, texts, bytes, code);
}
