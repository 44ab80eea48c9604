// SPDX-License-Identifier: MIT
// The OpenCL device: context, queues, and the table of the contract. Memory: memory.c. Ops are led to their files by the
// table in ops.c.
#include "opencl/backend.h"
#include "opencl/cl.h"

#include <assert.h>
#include <stdlib.h>

enum { LEAST_ALIGNMENT_BYTES = 64, NOTHING_BYTES = 64 };

// ---- device ----

static void close_device(struct pfld_backend_device **device)
{
	struct pfld_backend_device *d = *device;
	if (!d) return;
	if (d->queue) clFinish(d->queue);
	if (d->transfers) clFinish(d->transfers);
	if (d->sent) clReleaseEvent(d->sent);
	if (d->copied) clReleaseEvent(d->copied);
	pfld_cl_cache_store(d);
	for (int32_t i = 0; i < PFLD_CL_NUM_FAMILIES; i++)
		if (d->programs[i]) clReleaseProgram(d->programs[i]);
	if (d->nothing) clReleaseMemObject(d->nothing);
	if (d->transfers) clReleaseCommandQueue(d->transfers);
	if (d->queue) clReleaseCommandQueue(d->queue);
	if (d->context) clReleaseContext(d->context);
	free(d->cache_folder);
	free(d);
	*device = NULL;
}

static struct pfld_device_limits limits_of(cl_device_id id)
{
	cl_uint align_bits = 0;
	cl_ulong memory_bytes = 0, max_bytes = 0;
	clGetDeviceInfo(id, CL_DEVICE_MEM_BASE_ADDR_ALIGN, sizeof align_bits, &align_bits, NULL);
	clGetDeviceInfo(id, CL_DEVICE_GLOBAL_MEM_SIZE, sizeof memory_bytes, &memory_bytes, NULL);
	clGetDeviceInfo(id, CL_DEVICE_MAX_MEM_ALLOC_SIZE, sizeof max_bytes, &max_bytes, NULL);
	return (struct pfld_device_limits){
		.alignment_bytes = PFLD_MAX(align_bits / 8, LEAST_ALIGNMENT_BYTES),
		.memory_bytes = memory_bytes,
		.max_region_bytes = max_bytes,
	};
}

// Context, queues, and what stands for operands that are not there.
static enum pfld_status fill_device(struct pfld_backend_device *d, struct pfld_error *error)
{
	const cl_context_properties properties[] = {CL_CONTEXT_PLATFORM, (cl_context_properties)d->platform, 0};
	cl_int code;
	d->context = clCreateContext(properties, 1, &d->id, NULL, NULL, &code);
	if (code != CL_SUCCESS) return pfld_cl_fail(error, code, "clCreateContext");
	d->queue = clCreateCommandQueue(d->context, d->id, 0, &code);
	if (code != CL_SUCCESS) return pfld_cl_fail(error, code, "clCreateCommandQueue");
	d->transfers = clCreateCommandQueue(d->context, d->id, 0, &code);
	if (code != CL_SUCCESS) return pfld_cl_fail(error, code, "clCreateCommandQueue");
	d->nothing = clCreateBuffer(d->context, CL_MEM_READ_WRITE, NOTHING_BYTES, NULL, &code);
	return code == CL_SUCCESS ? PFLD_OK : pfld_cl_fail(error, code, "clCreateBuffer");
}

static enum pfld_status open_device(struct pfld_backend_device **device, int32_t index,
                                    const struct pfld_device_options *options, struct pfld_error *error)
{
	struct pfld_backend_device *opened = pfld_calloc(1, sizeof *opened);
	if (!opened) return pfld_fail_memory(error, sizeof *opened, "a device");
	opened->log = options->log;
	enum pfld_status status = PFLD_OK;
	if (!pfld_cl_find(index, &opened->platform, &opened->id)) {
		status = pfld_fail(error, PFLD_ERR_NO_DEVICE, "OpenCL device %d is gone", (int)index);
	} else {
		opened->class = pfld_cl_class_of(opened->id);
		opened->limits = limits_of(opened->id);
		status = fill_device(opened, error);
		pfld_cl_cache_open(opened, options->kernel_cache);
	}
	if (status != PFLD_OK) {
		close_device(&opened);
		return status;
	}
	*device = opened;
	return PFLD_OK;
}

static void limits(const struct pfld_backend_device *device, struct pfld_device_limits *limits)
{
	*limits = device->limits;
}

static int32_t num_threads(const struct pfld_backend_device *device)
{
	return 1;
}

static const char *level(const struct pfld_backend_device *device)
{
	return "";
}

// ---- ops ----

static bool supports(const struct pfld_backend_device *device, const struct pfld_op *op, const char **reason)
{
	const struct pfld_cl_op *entry = pfld_cl_ops[op->kind];
	if (!entry) {
		*reason = "this backend has no such op yet";
		return false;
	}
	for (int32_t i = 0; i < PFLD_OP_MAX_SRC; i++) {
		const struct pfld_operand *source = &op->src[i];
		if (!pfld_operand_present(source) || !source->pending) continue;
		if (entry->reads_pending && entry->reads_pending(op, i)) continue;
		*reason = "it does not read this operand when it is pending";
		return false;
	}
	return !entry->supports || entry->supports(device, op, reason);
}

static size_t workspace_bytes(const struct pfld_backend_device *device, const struct pfld_op *op, int32_t batch)
{
	const struct pfld_cl_op *entry = pfld_cl_ops[op->kind];
	return entry && entry->workspace_bytes ? entry->workspace_bytes(device, op, batch) : 0;
}

static void release(struct pfld_backend_device *device, struct pfld_op_state **state)
{
	if (!*state) return;
	for (size_t i = 0; i < (*state)->num_launches; i++) clReleaseKernel((*state)->launches[i].kernel);
	free((*state)->launches);
	free((*state)->own);
	free(*state);
	*state = NULL;
}

// Kernels count pixels in int.
static enum pfld_status check_counts(const struct pfld_op *op, int32_t batch, struct pfld_error *error)
{
	for (int32_t i = 0; i < PFLD_OP_MAX_SRC + PFLD_OP_MAX_DST; i++) {
		const struct pfld_operand *operand = i < PFLD_OP_MAX_SRC ? &op->src[i] : &op->dst[i - PFLD_OP_MAX_SRC];
		if (!pfld_operand_present(operand)) continue;
		int64_t pixels = (int64_t)operand->h * operand->w;
		if (pixels > INT32_MAX / (operand->per_sample ? batch : 1))
			return pfld_fail(error, PFLD_ERR_UNSUPPORTED, "%s: %d samples of %d x %d pixels are more than 2^31 pixels",
			                 pfld_op_name(op->kind), (int)batch, (int)operand->h, (int)operand->w);
	}
	return PFLD_OK;
}

static enum pfld_status prepare(struct pfld_backend_device *device, const struct pfld_op *op, int32_t batch,
                                struct pfld_op_state **state, struct pfld_error *error)
{
	enum pfld_status status = check_counts(op, batch, error);
	if (status != PFLD_OK) return status;
	struct pfld_op_state *made = pfld_calloc(1, sizeof *made);
	if (!made) return pfld_fail_memory(error, sizeof *made, "an op");
	made->device = device;
	made->batch = batch;
	made->error = error;
	pfld_cl_ops[op->kind]->prepare(made, op);
	status = made->status;
	if (status != PFLD_OK) release(device, &made);
	else *state = made;
	return status;
}

static enum pfld_status enqueue(struct pfld_backend_device *device, const struct pfld_op *op,
                                struct pfld_op_state *state, const struct pfld_run *run, struct pfld_error *error)
{
	state->status = PFLD_OK;
	state->error = error;
	state->next = 0;
	state->next_run_arg = 0;
	pfld_cl_ops[op->kind]->enqueue(state, op, run);
	assert(state->next == state->num_launches);
	return state->status;
}

const struct pfld_backend pfld_opencl_backend = {
	.name = "opencl",
	.list = pfld_cl_list,
	.why_none = pfld_cl_why_none,
	.open = open_device,
	.close = close_device,
	.limits = limits,
	.num_threads = num_threads,
	.level = level,
	.region_create = pfld_cl_region_create,
	.region_destroy = pfld_cl_region_destroy,
	.host_region_create = pfld_cl_host_region_create,
	// A chunk is committed as a whole, in one buffer; what is carved from it lies at an offset.
	.chunk_create = pfld_cl_region_create,
	.chunk_destroy = pfld_cl_region_destroy,
	.region_carve = pfld_cl_region_carve,
	.region_return = pfld_cl_region_return,
	.upload = pfld_cl_upload,
	.download = pfld_cl_download,
	.fill = pfld_cl_fill,
	.send = pfld_cl_send,
	.sent = pfld_cl_sent,
	.copy = pfld_cl_copy,
	.fetch = pfld_cl_fetch,
	.finish = pfld_cl_finish,
	.supports = supports,
	.workspace_bytes = workspace_bytes,
	.cost = pfld_cl_cost,
	.prepare = prepare,
	.release = release,
	.enqueue = enqueue,
};
