// SPDX-License-Identifier: MIT
// Batch norm: statistics of a batch, the numbers per channel that come from them, and the gradient. Kernels:
// batch_norm.cl, and for what goes element by element elementwise.cl.
#include "opencl/merge.h"

// ---- what is gathered, by an op of its own ----

static struct pfld_cl_slabs slabs_of(const struct pfld_backend_device *device, const struct pfld_op *op, int32_t n)
{
	return pfld_cl_slabs(device, pfld_cl_num_pixels(&op->src[0], n));
}

static int64_t slab_items(const struct pfld_op_state *state, const struct pfld_cl_slabs *slabs, int32_t num_channels)
{
	return (int64_t)slabs->num_slabs * pfld_cl_vectors(state->device, num_channels);
}

static size_t statistics_bytes(const struct pfld_backend_device *device, const struct pfld_op *op, int32_t batch)
{
	struct pfld_cl_slabs slabs = slabs_of(device, op, batch);
	return pfld_cl_statistics_elements(device, &slabs, op->src[0].c) * sizeof(float);
}

static void prepare_statistics(struct pfld_op_state *state, const struct pfld_op *op)
{
	const struct pfld_operand *x = &op->src[0];
	struct pfld_cl_slabs slabs = slabs_of(state->device, op, state->batch);
	pfld_cl_begin(state, PFLD_CL_BATCH_NORM, "bn_statistics", 1);
	pfld_cl_bind_workspace(state, op, 0, 2 * (size_t)x->c);
	pfld_cl_bind(state, x);
	pfld_cl_bind_int(state, x->c);
	pfld_cl_bind_int(state, slabs.pixels_per_slab);
	pfld_cl_prepare_statistics(state, op, 0, &slabs, op->dst);
}

static void enqueue_statistics(struct pfld_op_state *state, const struct pfld_op *op, const struct pfld_run *run)
{
	struct pfld_cl_slabs slabs = slabs_of(state->device, op, run->n);
	pfld_cl_run_int(state, slabs.num_pixels);
	pfld_cl_go(state, slab_items(state, &slabs, op->src[0].c));
	pfld_cl_enqueue_statistics(state, &slabs, op->src[0].c);
}

const struct pfld_cl_op pfld_cl_bn_statistics = {
	.workspace_bytes = statistics_bytes,
	.prepare = prepare_statistics,
	.enqueue = enqueue_statistics,
};

static size_t sums_bytes(const struct pfld_backend_device *device, const struct pfld_op *op, int32_t batch)
{
	struct pfld_cl_slabs slabs = slabs_of(device, op, batch);
	return pfld_cl_sums_elements(device, &slabs, op->src[0].c) * sizeof(float);
}

static void prepare_sums(struct pfld_op_state *state, const struct pfld_op *op)
{
	const struct pfld_operand *dy = &op->src[0];
	struct pfld_cl_slabs slabs = slabs_of(state->device, op, state->batch);
	pfld_cl_begin(state, PFLD_CL_BATCH_NORM, "bn_gradient_sums", 1);
	pfld_cl_bind_workspace(state, op, 0, 2 * (size_t)dy->c);
	for (int32_t i = 0; i < 5; i++) pfld_cl_bind(state, &op->src[i]);
	pfld_cl_bind_int(state, (int32_t)op->attr.act.act);
	pfld_cl_bind_float(state, op->attr.act.slope);
	pfld_cl_bind_int(state, dy->c);
	pfld_cl_bind_int(state, slabs.pixels_per_slab);
	pfld_cl_prepare_sums(state, op, 0, &slabs, &op->src[5], 0);
}

static void enqueue_sums(struct pfld_op_state *state, const struct pfld_op *op, const struct pfld_run *run)
{
	struct pfld_cl_slabs slabs = slabs_of(state->device, op, run->n);
	pfld_cl_run_int(state, slabs.num_pixels);
	pfld_cl_go(state, slab_items(state, &slabs, op->src[0].c));
	pfld_cl_enqueue_sums(state, op, &slabs, op->src[0].c, 0, run);
}

const struct pfld_cl_op pfld_cl_bn_gradient_sums = {
	.workspace_bytes = sums_bytes,
	.prepare = prepare_sums,
	.enqueue = enqueue_sums,
};

// ---- numbers per channel ----

static void prepare_numbers(struct pfld_op_state *state, const struct pfld_op *op)
{
	const struct pfld_bn_attr *bn = &op->attr.bn;
	bool train = op->kind == PFLD_OP_BN_TRAIN;
	pfld_cl_begin(state, PFLD_CL_BATCH_NORM, "bn_numbers", 2);
	for (int32_t i = 0; i < 3; i++) pfld_cl_bind(state, &op->dst[i]);
	for (int32_t i = 3; i < 5; i++) pfld_cl_bind(state, train ? &op->dst[i] : NULL);
	for (int32_t i = 0; i < 4; i++) pfld_cl_bind(state, &op->src[i]);
	pfld_cl_bind_float(state, bn->epsilon);
	pfld_cl_bind_float(state, bn->momentum);
	pfld_cl_bind_float(state, 1 - bn->momentum);
	pfld_cl_bind_int(state, bn->unbiased);
	pfld_cl_bind_int(state, op->src[0].c);
}

static void enqueue_numbers(struct pfld_op_state *state, const struct pfld_op *op, const struct pfld_run *run)
{
	bool train = op->kind == PFLD_OP_BN_TRAIN;
	pfld_cl_run_float(state, train ? (double)run->n * op->attr.bn.num_pixels : 0);
	pfld_cl_run_int(state, !run->keep_statistics);
	pfld_cl_go(state, op->src[0].c);
}

const struct pfld_cl_op pfld_cl_bn_train = {.prepare = prepare_numbers, .enqueue = enqueue_numbers};
const struct pfld_cl_op pfld_cl_bn_infer = {.prepare = prepare_numbers, .enqueue = enqueue_numbers};

static void prepare_fold(struct pfld_op_state *state, const struct pfld_op *op)
{
	pfld_cl_begin(state, PFLD_CL_ELEMENTWISE, "fold", 0);
	pfld_cl_bind(state, &op->dst[0]);
	pfld_cl_bind(state, &op->dst[1]);
	for (int32_t i = 0; i < 4; i++) pfld_cl_bind(state, &op->src[i]);
	pfld_cl_bind_int(state, (int32_t)pfld_operand_elements(&op->src[0]));
	pfld_cl_bind_int(state, op->src[2].c);
}

static void enqueue_fold(struct pfld_op_state *state, const struct pfld_op *op, const struct pfld_run *run)
{
	pfld_cl_go(state, (int64_t)pfld_operand_elements(&op->src[0]) + op->src[2].c);
}

const struct pfld_cl_op pfld_cl_fold = {.prepare = prepare_fold, .enqueue = enqueue_fold};

// ---- gradient ----

// dx is what a reader of dy pending would read.
static void prepare_gradient(struct pfld_op_state *state, const struct pfld_op *op)
{
	struct pfld_pending pending = {
		.kind = PFLD_PENDING_GRADIENT,
		.act = op->attr.act.act,
		.slope = op->attr.act.slope,
		.scale = op->src[2],
		.shift = op->src[3],
		.x = op->src[1],
		.mean = op->src[4],
		.mean_dz = op->src[5],
		.slope_x = op->src[6],
	};
	struct pfld_operand dy = op->src[0];
	dy.pending = &pending;
	pfld_cl_begin(state, PFLD_CL_ELEMENTWISE, "sum", 2);
	pfld_cl_bind(state, &op->dst[0]);
	pfld_cl_bind_source(state, &dy);
	pfld_cl_bind_source(state, NULL);
	pfld_cl_bind_float(state, 1);
	pfld_cl_bind_float(state, 0);
	pfld_cl_bind_int(state, dy.c);
	pfld_cl_bind_int(state, state->device->class.pixels_per_item);
}

static void enqueue_gradient(struct pfld_op_state *state, const struct pfld_op *op, const struct pfld_run *run)
{
	int32_t num_pixels = pfld_cl_num_pixels(&op->src[0], run->n);
	pfld_cl_run_int(state, num_pixels);
	pfld_cl_run_int(state, pfld_cl_adds(op, 0, run));
	pfld_cl_go(state, pfld_cl_pass_items(state->device, num_pixels, op->src[0].c));
}

const struct pfld_cl_op pfld_cl_bn_gradient = {.prepare = prepare_gradient, .enqueue = enqueue_gradient};
