// SPDX-License-Identifier: MIT
// Memory on an OpenCL device. Drivers give it when it is first touched, so a region counts only once it has been filled
// and the queue is empty. Called through the table in device.c.
#include "opencl/cl.h"

#include <string.h>

static size_t begin_of(const struct pfld_region *region)
{
	return region->chunk ? region->chunk_offset : 0;
}

static enum pfld_status fail_memory(struct pfld_error *error, cl_int code, const char *call)
{
	enum pfld_status status = pfld_cl_fail(error, code, call);
	if (!pfld_cl_means_no_memory(code)) return status;
	if (error) error->status = PFLD_ERR_MEMORY;
	return PFLD_ERR_MEMORY;
}

static enum pfld_status make_buffer(struct pfld_backend_device *device, cl_mem_flags flags, size_t bytes, cl_mem *buffer,
                                    struct pfld_error *error)
{
	cl_int code;
	*buffer = clCreateBuffer(device->context, CL_MEM_READ_WRITE | flags, bytes, NULL, &code);
	return code == CL_SUCCESS ? PFLD_OK : fail_memory(error, code, "clCreateBuffer");
}

// Zeroes, and so commits.
static enum pfld_status commit(cl_command_queue queue, cl_mem buffer, size_t offset_bytes, size_t bytes,
                               struct pfld_error *error)
{
	const cl_uint zero = 0;
	size_t pattern_bytes = (offset_bytes | bytes) % sizeof zero ? 1 : sizeof zero;
	cl_int code = clEnqueueFillBuffer(queue, buffer, &zero, pattern_bytes, offset_bytes, bytes, 0, NULL, NULL);
	if (code != CL_SUCCESS) return fail_memory(error, code, "clEnqueueFillBuffer");
	code = clFinish(queue);
	return code == CL_SUCCESS ? PFLD_OK : fail_memory(error, code, "clFinish");
}

enum pfld_status pfld_cl_region_create(struct pfld_backend_device *device, size_t bytes, struct pfld_region *region,
                                       struct pfld_error *error)
{
	cl_mem buffer;
	enum pfld_status status = make_buffer(device, 0, bytes, &buffer, error);
	if (status != PFLD_OK) return status;
	status = commit(device->transfers, buffer, 0, bytes, error);
	if (status != PFLD_OK) {
		clReleaseMemObject(buffer);
		return status;
	}
	*region = (struct pfld_region){.bytes = bytes, .handle = buffer};
	return PFLD_OK;
}

// Memory from which the device copies fast (pinned, where that means something), mapped for good: no kernel reads it.
enum pfld_status pfld_cl_host_region_create(struct pfld_backend_device *device, size_t bytes, struct pfld_region *region,
                                            struct pfld_error *error)
{
	cl_mem buffer;
	cl_int code;
	enum pfld_status status = make_buffer(device, CL_MEM_ALLOC_HOST_PTR, bytes, &buffer, error);
	if (status != PFLD_OK) return status;
	void *host = clEnqueueMapBuffer(device->transfers, buffer, CL_TRUE, CL_MAP_READ | CL_MAP_WRITE, 0, bytes, 0, NULL, NULL,
	                                &code);
	if (code != CL_SUCCESS) {
		clReleaseMemObject(buffer);
		return fail_memory(error, code, "clEnqueueMapBuffer");
	}
	memset(host, 0, bytes);
	*region = (struct pfld_region){.bytes = bytes, .host = host, .handle = buffer};
	return PFLD_OK;
}

// What is enqueued still holds the buffer until it is done.
void pfld_cl_region_destroy(struct pfld_backend_device *device, struct pfld_region *region)
{
	if (region->host) {
		clEnqueueUnmapMemObject(device->transfers, region->handle, region->host, 0, NULL, NULL);
		clFinish(device->transfers);
	}
	clReleaseMemObject(region->handle);
}

// In the queue of the ops: those before may still use what was carved there.
enum pfld_status pfld_cl_region_carve(struct pfld_backend_device *device, const struct pfld_region *chunk,
                                      size_t offset_bytes, size_t bytes, struct pfld_region *region,
                                      struct pfld_error *error)
{
	enum pfld_status status = commit(device->queue, chunk->handle, offset_bytes, bytes, error);
	if (status == PFLD_OK) *region = (struct pfld_region){.bytes = bytes, .handle = chunk->handle};
	return status;
}

void pfld_cl_region_return(struct pfld_backend_device *device, struct pfld_region *region)
{
}

enum pfld_status pfld_cl_upload(struct pfld_backend_device *device, struct pfld_region *region, size_t offset_bytes,
                                const void *source, size_t bytes, struct pfld_error *error)
{
	cl_int code = clEnqueueWriteBuffer(device->queue, region->handle, CL_TRUE, begin_of(region) + offset_bytes, bytes, source,
	                                   0, NULL, NULL);
	return code == CL_SUCCESS ? PFLD_OK : pfld_cl_fail(error, code, "clEnqueueWriteBuffer");
}

enum pfld_status pfld_cl_download(struct pfld_backend_device *device, const struct pfld_region *region,
                                  size_t offset_bytes, void *destination, size_t bytes, struct pfld_error *error)
{
	cl_int code = clEnqueueReadBuffer(device->queue, region->handle, CL_TRUE, begin_of(region) + offset_bytes, bytes,
	                                  destination, 0, NULL, NULL);
	return code == CL_SUCCESS ? PFLD_OK : pfld_cl_fail(error, code, "clEnqueueReadBuffer");
}

enum pfld_status pfld_cl_fill(struct pfld_backend_device *device, struct pfld_region *region, size_t offset_bytes,
                              const void *pattern, size_t element_bytes, size_t count, struct pfld_error *error)
{
	cl_int code = clEnqueueFillBuffer(device->queue, region->handle, pattern, element_bytes, begin_of(region) + offset_bytes,
	                                  element_bytes * count, 0, NULL, NULL);
	return code == CL_SUCCESS ? PFLD_OK : pfld_cl_fail(error, code, "clEnqueueFillBuffer");
}

// ---- beside the host ----
// What is sent goes through the queue of transfers while ops run; a copy in the queue of the ops takes it from there. Each
// queue waits for the last of the other's. Commands that another queue waits for must have been flushed.

static void replace(cl_event *kept, cl_event event)
{
	if (*kept) clReleaseEvent(*kept);
	*kept = event;
}

enum pfld_status pfld_cl_send(struct pfld_backend_device *device, struct pfld_region *region, size_t offset_bytes,
                              const void *source, size_t bytes, struct pfld_error *error)
{
	cl_event event;
	cl_int code = clEnqueueWriteBuffer(device->transfers, region->handle, CL_FALSE, begin_of(region) + offset_bytes, bytes,
	                                   source, device->copied ? 1 : 0, device->copied ? &device->copied : NULL, &event);
	if (code != CL_SUCCESS) return pfld_cl_fail(error, code, "clEnqueueWriteBuffer");
	replace(&device->sent, event);
	code = clFlush(device->transfers);
	return code == CL_SUCCESS ? PFLD_OK : pfld_cl_fail(error, code, "clFlush");
}

enum pfld_status pfld_cl_sent(struct pfld_backend_device *device, struct pfld_error *error)
{
	cl_int code = clFinish(device->transfers);
	return code == CL_SUCCESS ? PFLD_OK : pfld_cl_fail(error, code, "clFinish");
}

enum pfld_status pfld_cl_copy(struct pfld_backend_device *device, const struct pfld_region *from, size_t from_offset_bytes,
                              struct pfld_region *to, size_t to_offset_bytes, size_t bytes, struct pfld_error *error)
{
	cl_event event;
	cl_int code = clEnqueueCopyBuffer(device->queue, from->handle, to->handle, begin_of(from) + from_offset_bytes,
	                                  begin_of(to) + to_offset_bytes, bytes, device->sent ? 1 : 0,
	                                  device->sent ? &device->sent : NULL, &event);
	if (code != CL_SUCCESS) return pfld_cl_fail(error, code, "clEnqueueCopyBuffer");
	replace(&device->copied, event);
	code = clFlush(device->queue);
	return code == CL_SUCCESS ? PFLD_OK : pfld_cl_fail(error, code, "clFlush");
}

enum pfld_status pfld_cl_fetch(struct pfld_backend_device *device, const struct pfld_region *region, size_t offset_bytes,
                               void *destination, size_t bytes, struct pfld_error *error)
{
	cl_int code = clEnqueueReadBuffer(device->queue, region->handle, CL_FALSE, begin_of(region) + offset_bytes, bytes,
	                                  destination, 0, NULL, NULL);
	if (code != CL_SUCCESS) return pfld_cl_fail(error, code, "clEnqueueReadBuffer");
	code = clFlush(device->queue);
	return code == CL_SUCCESS ? PFLD_OK : pfld_cl_fail(error, code, "clFlush");
}

enum pfld_status pfld_cl_finish(struct pfld_backend_device *device, struct pfld_error *error)
{
	cl_int code = clFinish(device->queue);
	return code == CL_SUCCESS ? PFLD_OK : pfld_cl_fail(error, code, "clFinish");
}
