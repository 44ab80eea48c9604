// SPDX-License-Identifier: MIT
// pool and pool_gradient. The gradient of largest ones first notes where in each window the largest is. Kernels: pool.cl.
#include "opencl/cl.h"

// Numbers of a window's pixels are kept as floats.
enum { MOST_WINDOW_PIXELS = 1 << 24 };

static bool supports(const struct pfld_backend_device *device, const struct pfld_op *op, const char **reason)
{
	const struct pfld_pool_attr *pool = &op->attr.pool;
	if (!pool->max || (int64_t)pool->kernel_h * pool->kernel_w <= MOST_WINDOW_PIXELS) return true;
	*reason = "windows of more than 2^24 pixels";
	return false;
}

static void bind_windows(struct pfld_op_state *state, const struct pfld_op *op, const struct pfld_operand *x,
                         const struct pfld_operand *y)
{
	const struct pfld_pool_attr *pool = &op->attr.pool;
	const int32_t numbers[] = {x->h,           x->w,           y->h,           y->w,          pool->kernel_h,
	                           pool->kernel_w, pool->stride_h, pool->stride_w, pool->pad_top, pool->pad_left};
	for (size_t i = 0; i < PFLD_COUNT(numbers); i++) pfld_cl_bind_int(state, numbers[i]);
	pfld_cl_bind_int(state, x->c);
	pfld_cl_bind_int(state, state->device->class.pixels_per_item);
}

// y, or, where it is NULL, the places of the largest to the workspace.
static void prepare_windows(struct pfld_op_state *state, const struct pfld_op *op, const struct pfld_operand *x,
                            const struct pfld_operand *y, const struct pfld_operand *dy)
{
	pfld_cl_begin(state, PFLD_CL_POOL, "pool", 1);
	pfld_cl_bind(state, y);
	if (y) pfld_cl_bind(state, NULL);
	else pfld_cl_bind_workspace(state, op, 0, (size_t)x->c);
	pfld_cl_bind(state, x);
	pfld_cl_bind_int(state, op->attr.pool.max);
	bind_windows(state, op, x, y ? y : dy);
}

static void go(struct pfld_op_state *state, const struct pfld_operand *operand, int32_t n)
{
	pfld_cl_go(state, pfld_cl_pass_items(state->device, pfld_cl_num_pixels(operand, n), operand->c));
}

// ---- forward ----

static void prepare(struct pfld_op_state *state, const struct pfld_op *op)
{
	prepare_windows(state, op, &op->src[0], &op->dst[0], NULL);
}

static void enqueue(struct pfld_op_state *state, const struct pfld_op *op, const struct pfld_run *run)
{
	pfld_cl_run_int(state, pfld_cl_num_pixels(&op->dst[0], run->n));
	go(state, &op->dst[0], run->n);
}

const struct pfld_cl_op pfld_cl_pool = {.supports = supports, .prepare = prepare, .enqueue = enqueue};

// ---- gradient ----

static size_t gradient_bytes(const struct pfld_backend_device *device, const struct pfld_op *op, int32_t batch)
{
	return op->attr.pool.max ? pfld_operand_elements(&op->src[0]) * (size_t)batch * sizeof(float) : 0;
}

static void prepare_gradient(struct pfld_op_state *state, const struct pfld_op *op)
{
	const struct pfld_operand *dy = &op->src[0], *dx = &op->dst[0];
	if (op->attr.pool.max) prepare_windows(state, op, &op->src[1], NULL, dy);
	pfld_cl_begin(state, PFLD_CL_POOL, "pool_gradient", 2);
	pfld_cl_bind(state, dx);
	pfld_cl_bind(state, dy);
	if (op->attr.pool.max) pfld_cl_bind_workspace(state, op, 0, (size_t)dx->c);
	else pfld_cl_bind(state, NULL);
	bind_windows(state, op, dx, dy);
}

static void enqueue_gradient(struct pfld_op_state *state, const struct pfld_op *op, const struct pfld_run *run)
{
	const struct pfld_operand *dy = &op->src[0], *dx = &op->dst[0];
	if (op->attr.pool.max) {
		pfld_cl_run_int(state, pfld_cl_num_pixels(dy, run->n));
		go(state, dy, run->n);
	}
	pfld_cl_run_int(state, pfld_cl_num_pixels(dx, run->n));
	pfld_cl_run_int(state, pfld_cl_adds(op, 0, run));
	go(state, dx, run->n);
}

const struct pfld_cl_op pfld_cl_pool_gradient = {
	.supports = supports,
	.workspace_bytes = gradient_bytes,
	.prepare = prepare_gradient,
	.enqueue = enqueue_gradient,
};
