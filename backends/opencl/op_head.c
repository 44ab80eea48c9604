// SPDX-License-Identifier: MIT
// softmax, softmax_gradient and dropout. Kernels: head.cl.
#include "base/random.h"
#include "opencl/cl.h"

// ---- softmax ----

static void prepare_softmax(struct pfld_op_state *state, const struct pfld_op *op)
{
	pfld_cl_begin(state, PFLD_CL_HEAD, "softmax", 1);
	pfld_cl_bind(state, &op->dst[0]);
	pfld_cl_bind(state, &op->src[0]);
	pfld_cl_bind_int(state, op->src[0].c);
}

static void enqueue_softmax(struct pfld_op_state *state, const struct pfld_op *op, const struct pfld_run *run)
{
	int32_t num_pixels = pfld_cl_num_pixels(&op->src[0], run->n);
	pfld_cl_run_int(state, num_pixels);
	pfld_cl_go(state, num_pixels);
}

const struct pfld_cl_op pfld_cl_softmax = {.prepare = prepare_softmax, .enqueue = enqueue_softmax};

static void prepare_softmax_gradient(struct pfld_op_state *state, const struct pfld_op *op)
{
	pfld_cl_begin(state, PFLD_CL_HEAD, "softmax_gradient", 2);
	pfld_cl_bind(state, &op->dst[0]);
	pfld_cl_bind(state, &op->src[0]);
	pfld_cl_bind(state, &op->src[1]);
	pfld_cl_bind_int(state, op->src[0].c);
}

static void enqueue_softmax_gradient(struct pfld_op_state *state, const struct pfld_op *op, const struct pfld_run *run)
{
	int32_t num_pixels = pfld_cl_num_pixels(&op->src[0], run->n);
	pfld_cl_run_int(state, num_pixels);
	pfld_cl_run_int(state, pfld_cl_adds(op, 0, run));
	pfld_cl_go(state, num_pixels);
}

const struct pfld_cl_op pfld_cl_softmax_gradient = {
	.prepare = prepare_softmax_gradient,
	.enqueue = enqueue_softmax_gradient,
};

// ---- dropout ----

// The numbers drawn are those of every other backend.
static void prepare_dropout(struct pfld_op_state *state, const struct pfld_op *op)
{
	const struct pfld_dropout_attr *dropout = &op->attr.dropout;
	pfld_cl_begin(state, PFLD_CL_HEAD, "dropout", 4);
	pfld_cl_bind(state, &op->dst[0]);
	pfld_cl_bind(state, &op->src[0]);
	pfld_cl_bind_int(state, (int32_t)(dropout->stream ^ ((uint32_t)PFLD_RANDOM_DROPOUT << 24)));
	pfld_cl_bind_int(state, (int32_t)(uint32_t)(dropout->rate * 4294967296.0));
	pfld_cl_bind_float(state, 1 / (1 - dropout->rate));
	pfld_cl_bind_int(state, op->src[0].c);
	pfld_cl_bind_int(state, state->device->class.pixels_per_item);
}

static void enqueue_dropout(struct pfld_op_state *state, const struct pfld_op *op, const struct pfld_run *run)
{
	int32_t num_pixels = pfld_cl_num_pixels(&op->src[0], run->n);
	pfld_cl_run_int(state, num_pixels);
	pfld_cl_run_int(state, pfld_cl_adds(op, 0, run));
	pfld_cl_run_ulong(state, run->seed);
	pfld_cl_run_ulong(state, run->step);
	pfld_cl_go(state, pfld_cl_pass_items(state->device, num_pixels, op->src[0].c));
}

const struct pfld_cl_op pfld_cl_dropout = {.prepare = prepare_dropout, .enqueue = enqueue_dropout};
