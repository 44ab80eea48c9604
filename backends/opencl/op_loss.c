// SPDX-License-Identifier: MIT
// loss and loss_sums. Kernels: loss.cl.
#include "opencl/cl.h"
#include <pfld/loss.h>

enum { MOST_ITEMS = 256 }; // of a group, in the kernel

static size_t group_items(const struct pfld_backend_device *device)
{
	return PFLD_MIN((size_t)PFLD_MIN(device->class.group_items, MOST_ITEMS), device->class.max_group_items);
}

static void prepare_loss(struct pfld_op_state *state, const struct pfld_op *op)
{
	const struct pfld_loss_attr *loss = &op->attr.loss;
	const double numbers[] = {loss->wing_w,      loss->wing_epsilon, loss->wing_c,
	                          loss->point_scale, loss->beta,         loss->label_smoothing};
	pfld_cl_begin(state, PFLD_CL_LOSS, "loss", 2);
	pfld_cl_local(state, group_items(state->device), 1, 1);
	for (int32_t i = 0; i < 3; i++) pfld_cl_bind(state, &op->dst[i]);
	for (int32_t i = 0; i < 7; i++) pfld_cl_bind(state, &op->src[i]);
	pfld_cl_bind_int(state, loss->kind);
	for (size_t i = 0; i < PFLD_COUNT(numbers); i++) pfld_cl_bind_float(state, numbers[i]);
	pfld_cl_bind_int(state, loss->mean_over_targets);
	pfld_cl_bind_int(state, (int32_t)pfld_operand_elements(&op->src[0]));
	pfld_cl_bind_int(state, op->src[0].c);
}

static void enqueue_loss(struct pfld_op_state *state, const struct pfld_op *op, const struct pfld_run *run)
{
	pfld_cl_run_int(state, run->n);
	pfld_cl_run_float(state, run->loss_scale / run->n);
	pfld_cl_go(state, (int64_t)run->n * (int64_t)group_items(state->device));
}

const struct pfld_cl_op pfld_cl_loss = {.prepare = prepare_loss, .enqueue = enqueue_loss};

static void prepare_sums(struct pfld_op_state *state, const struct pfld_op *op)
{
	pfld_cl_begin(state, PFLD_CL_LOSS, "loss_sums", 1);
	pfld_cl_local(state, 1, 1, 1);
	pfld_cl_bind(state, &op->dst[0]);
	pfld_cl_bind(state, &op->src[0]);
}

static void enqueue_sums(struct pfld_op_state *state, const struct pfld_op *op, const struct pfld_run *run)
{
	pfld_cl_run_int(state, run->n);
	pfld_cl_go(state, 1);
}

const struct pfld_cl_op pfld_cl_loss_sums = {.prepare = prepare_sums, .enqueue = enqueue_sums};
