// SPDX-License-Identifier: MIT
// Launches: kernels with their arguments, bound once in prepare(), and put onto the queue in enqueue(), which allocates
// nothing. Called by op_*.c, merge.c and, for the calls themselves, device.c.
#include "opencl/cl.h"

#include <assert.h>

static void note(struct pfld_op_state *state, cl_int code, const char *call)
{
	if (state->status == PFLD_OK && code != CL_SUCCESS) state->status = pfld_cl_fail(state->error, code, call);
}

// ---- binding ----

void pfld_cl_begin(struct pfld_op_state *state, enum pfld_cl_family family, const char *name, cl_uint num_run_args)
{
	if (state->status != PFLD_OK) return;
	if (!pfld_grow(&state->launches, &state->capacity, state->num_launches + 1, sizeof *state->launches)) {
		state->status = pfld_fail_memory(state->error, sizeof *state->launches, "a launch");
		return;
	}
	struct pfld_cl_launch *launch = &state->launches[state->num_launches];
	*launch = (struct pfld_cl_launch){
		.num_run_args = num_run_args, .num_args = num_run_args, .local = {1, 1, 1}};
	state->status = pfld_cl_kernel_create(state->device, family, name, &launch->kernel, state->error);
	if (state->status != PFLD_OK) return;
	state->num_launches++;
	// What a kernel needs of registers may leave it smaller groups.
	size_t most = state->device->class.max_group_items;
	note(state, clGetKernelWorkGroupInfo(launch->kernel, state->device->id, CL_KERNEL_WORK_GROUP_SIZE, sizeof most, &most, NULL),
	     "clGetKernelWorkGroupInfo");
	launch->local[0] = PFLD_MAX(PFLD_MIN((size_t)state->device->class.group_items, most), 1);
}

void pfld_cl_local(struct pfld_op_state *state, size_t x, size_t y, size_t z)
{
	if (state->status != PFLD_OK) return;
	struct pfld_cl_launch *launch = &state->launches[state->num_launches - 1];
	launch->local[0] = x;
	launch->local[1] = y;
	launch->local[2] = z;
}

static void bind(struct pfld_op_state *state, size_t bytes, const void *value)
{
	if (state->status != PFLD_OK) return;
	struct pfld_cl_launch *launch = &state->launches[state->num_launches - 1];
	note(state, clSetKernelArg(launch->kernel, launch->num_args++, bytes, value), "clSetKernelArg");
}

void pfld_cl_bind_int(struct pfld_op_state *state, int32_t value)
{
	cl_int number = value;
	bind(state, sizeof number, &number);
}

void pfld_cl_bind_float(struct pfld_op_state *state, double value)
{
	cl_float number = (cl_float)value;
	bind(state, sizeof number, &number);
}

void pfld_cl_bind_local(struct pfld_op_state *state, size_t bytes)
{
	bind(state, bytes, NULL);
}

static void bind_place(struct pfld_op_state *state, cl_mem buffer, uint64_t first, int32_t stride)
{
	cl_ulong element = first;
	bind(state, sizeof buffer, &buffer);
	bind(state, sizeof element, &element);
	pfld_cl_bind_int(state, stride);
}

// Element of its cl_mem at which a place lies.
static uint64_t element_of(const struct pfld_region *region, size_t offset_bytes)
{
	return ((region->chunk ? region->chunk_offset : 0) + offset_bytes) / sizeof(pfld_real);
}

void pfld_cl_bind(struct pfld_op_state *state, const struct pfld_operand *operand)
{
	if (!operand || !pfld_operand_present(operand)) {
		bind_place(state, state->device->nothing, 0, 0);
		return;
	}
	bind_place(state, operand->region->handle, element_of(operand->region, operand->offset_bytes), operand->pixel_stride);
}

void pfld_cl_bind_workspace(struct pfld_op_state *state, const struct pfld_op *op, size_t first, size_t stride)
{
	const struct pfld_operand *workspace = &op->workspace;
	bind_place(state, workspace->region->handle, element_of(workspace->region, workspace->offset_bytes) + first,
	           (int32_t)stride);
}

void pfld_cl_bind_source(struct pfld_op_state *state, const struct pfld_operand *operand)
{
	const struct pfld_pending *pending = operand ? operand->pending : NULL;
	bool gradient = pending && pending->kind == PFLD_PENDING_GRADIENT;
	pfld_cl_bind(state, operand);
	pfld_cl_bind_int(state, !pending ? 0 : gradient ? 2 : 1); // IN_MEMORY, PENDING_VALUE, PENDING_GRADIENT
	pfld_cl_bind_int(state, pending ? (int32_t)pending->act : 0);
	pfld_cl_bind_float(state, pending ? pending->slope : 0);
	pfld_cl_bind(state, pending ? &pending->scale : NULL);
	pfld_cl_bind(state, pending ? &pending->shift : NULL);
	pfld_cl_bind(state, gradient ? &pending->x : NULL);
	pfld_cl_bind(state, gradient ? &pending->mean : NULL);
	pfld_cl_bind(state, gradient ? &pending->mean_dz : NULL);
	pfld_cl_bind(state, gradient ? &pending->slope_x : NULL);
}

// ---- running ----

const struct pfld_cl_launch *pfld_cl_next(const struct pfld_op_state *state)
{
	return &state->launches[state->next];
}

static void set(struct pfld_op_state *state, size_t bytes, const void *value)
{
	if (state->status != PFLD_OK) return;
	note(state, clSetKernelArg(pfld_cl_next(state)->kernel, state->next_run_arg++, bytes, value), "clSetKernelArg");
}

void pfld_cl_run_int(struct pfld_op_state *state, int32_t value)
{
	cl_int number = value;
	set(state, sizeof number, &number);
}

void pfld_cl_run_float(struct pfld_op_state *state, double value)
{
	cl_float number = (cl_float)value;
	set(state, sizeof number, &number);
}

void pfld_cl_run_ulong(struct pfld_op_state *state, uint64_t value)
{
	cl_ulong number = value;
	set(state, sizeof number, &number);
}

void pfld_cl_skip(struct pfld_op_state *state)
{
	state->next++;
	state->next_run_arg = 0;
}

void pfld_cl_write(struct pfld_op_state *state, const struct pfld_operand *to, const void *from, size_t bytes)
{
	if (state->status != PFLD_OK || !bytes) return;
	size_t offset = element_of(to->region, to->offset_bytes) * sizeof(pfld_real);
	note(state, clEnqueueWriteBuffer(state->device->queue, to->region->handle, CL_FALSE, offset, bytes, from, 0, NULL, NULL),
	     "clEnqueueWriteBuffer");
}

void pfld_cl_wait(struct pfld_op_state *state)
{
	if (state->status == PFLD_OK) note(state, clFinish(state->device->queue), "clFinish");
}

static void enqueue(struct pfld_op_state *state, cl_uint dimensions, const int64_t items[3])
{
	const struct pfld_cl_launch *launch = pfld_cl_next(state);
	assert(state->next < state->num_launches && state->next_run_arg == launch->num_run_args);
	size_t global[3];
	for (cl_uint i = 0; i < dimensions; i++) global[i] = pfld_align((size_t)items[i], launch->local[i]);
	if (state->status == PFLD_OK)
		note(state, clEnqueueNDRangeKernel(state->device->queue, launch->kernel, dimensions, NULL, global, launch->local, 0,
		                                   NULL, NULL),
		     "clEnqueueNDRangeKernel");
	pfld_cl_skip(state);
}

void pfld_cl_go(struct pfld_op_state *state, int64_t num_items)
{
	enqueue(state, 1, (const int64_t[3]){num_items, 1, 1});
}

void pfld_cl_go_3d(struct pfld_op_state *state, int64_t x, int64_t y, int64_t z)
{
	enqueue(state, 3, (const int64_t[3]){x, y, z});
}
