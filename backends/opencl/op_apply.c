// SPDX-License-Identifier: MIT
// apply and apply_gradient: an activation behind a scale and shift per channel, and back. Kernels: elementwise.cl.
#include "opencl/merge.h"

// prelu's slopes: one for each channel, or for each element of a sample.
static bool slopes_per_element(const struct pfld_operand *slopes, const struct pfld_operand *x)
{
	return pfld_operand_present(slopes) && pfld_operand_elements(slopes) != (size_t)x->c;
}

// Pixels after which slopes repeat; 0: they are the same for all pixels.
static int32_t slope_pixels(const struct pfld_operand *slopes, const struct pfld_operand *x)
{
	return slopes_per_element(slopes, x) ? x->h * x->w : 0;
}

// ---- forward ----

static void bind_end(struct pfld_op_state *state, int32_t num_channels)
{
	pfld_cl_bind_int(state, num_channels);
	pfld_cl_bind_int(state, state->device->class.pixels_per_item);
}

static void prepare_prelu(struct pfld_op_state *state, const struct pfld_op *op)
{
	pfld_cl_begin(state, PFLD_CL_ELEMENTWISE, "prelu", 1);
	pfld_cl_bind(state, &op->dst[0]);
	for (int32_t i = 0; i < 4; i++) pfld_cl_bind(state, &op->src[i]);
	pfld_cl_bind_int(state, slope_pixels(&op->src[3], &op->src[0]));
	bind_end(state, op->src[0].c);
}

// y is what a reader of x pending would read.
static void prepare_apply(struct pfld_op_state *state, const struct pfld_op *op)
{
	if (op->attr.act.act == PFLD_ACT_PRELU) {
		prepare_prelu(state, op);
		return;
	}
	struct pfld_pending pending = {
		.kind = PFLD_PENDING_VALUE,
		.act = op->attr.act.act,
		.slope = op->attr.act.slope,
		.scale = op->src[1],
		.shift = op->src[2],
	};
	struct pfld_operand x = op->src[0];
	x.pending = &pending;
	pfld_cl_begin(state, PFLD_CL_ELEMENTWISE, "sum", 2);
	pfld_cl_bind(state, &op->dst[0]);
	pfld_cl_bind_source(state, &x);
	pfld_cl_bind_source(state, NULL);
	pfld_cl_bind_float(state, 1);
	pfld_cl_bind_float(state, 0);
	bind_end(state, x.c);
}

static void enqueue_apply(struct pfld_op_state *state, const struct pfld_op *op, const struct pfld_run *run)
{
	int32_t num_pixels = pfld_cl_num_pixels(&op->src[0], run->n);
	pfld_cl_run_int(state, num_pixels);
	if (op->attr.act.act != PFLD_ACT_PRELU) pfld_cl_run_int(state, pfld_cl_adds(op, 0, run));
	pfld_cl_go(state, pfld_cl_pass_items(state->device, num_pixels, op->src[0].c));
}

const struct pfld_cl_op pfld_cl_apply = {.prepare = prepare_apply, .enqueue = enqueue_apply};

// ---- gradient ----

static size_t gradient_bytes(const struct pfld_backend_device *device, const struct pfld_op *op, int32_t batch)
{
	const struct pfld_operand *dy = &op->src[0];
	if (!pfld_operand_present(&op->dst[1]) || slopes_per_element(&op->src[4], dy)) return 0;
	struct pfld_cl_slabs slabs = pfld_cl_slabs(device, pfld_cl_num_pixels(dy, batch));
	return pfld_cl_merge_elements(device, slabs.num_slabs, dy->c) * sizeof(float);
}

// One kernel: rows are slabs, which are merged, or the pixels of a sample, which go through all samples.
static void prepare_slopes(struct pfld_op_state *state, const struct pfld_op *op)
{
	const struct pfld_operand *dy = &op->src[0];
	int32_t step = slope_pixels(&op->src[4], dy);
	struct pfld_cl_slabs slabs = pfld_cl_slabs(state->device, pfld_cl_num_pixels(dy, state->batch));
	struct pfld_operand dslopes = op->dst[1];
	dslopes.pixel_stride = dy->c; // also where they are one long pixel
	pfld_cl_begin(state, PFLD_CL_ELEMENTWISE, "slopes_gradient", 3);
	if (step) pfld_cl_bind(state, &dslopes);
	else pfld_cl_bind_workspace(state, op, 0, (size_t)dy->c);
	for (int32_t i = 0; i < 4; i++) pfld_cl_bind(state, &op->src[i]);
	pfld_cl_bind_int(state, slabs.pixels_per_slab);
	pfld_cl_bind_int(state, step ? step : 1);
	pfld_cl_bind_int(state, dy->c);
	if (!step) pfld_cl_prepare_merge(state, op, 0, slabs.num_slabs, dy->c, &op->dst[1]);
}

static void enqueue_slopes(struct pfld_op_state *state, const struct pfld_op *op, const struct pfld_run *run)
{
	const struct pfld_operand *dy = &op->src[0];
	int32_t num_pixels = pfld_cl_num_pixels(dy, run->n), step = slope_pixels(&op->src[4], dy);
	struct pfld_cl_slabs slabs = pfld_cl_slabs(state->device, num_pixels);
	int32_t num_rows = step ? step : slabs.num_slabs;
	bool add = pfld_cl_adds(op, 1, run);
	pfld_cl_run_int(state, num_rows);
	pfld_cl_run_int(state, num_pixels);
	pfld_cl_run_int(state, step && add);
	pfld_cl_go(state, (int64_t)num_rows * pfld_cl_vectors(state->device, dy->c));
	if (!step) pfld_cl_enqueue_merge(state, num_rows, dy->c, add);
}

static void prepare_gradient(struct pfld_op_state *state, const struct pfld_op *op)
{
	const struct pfld_act_attr *attr = &op->attr.act;
	const struct pfld_operand *dy = &op->src[0], *slopes = attr->act == PFLD_ACT_PRELU ? &op->src[4] : NULL;
	// Slopes first: dx may lie where dy does.
	if (pfld_operand_present(&op->dst[1])) prepare_slopes(state, op);
	pfld_cl_begin(state, PFLD_CL_ELEMENTWISE, "apply_gradient", 2);
	pfld_cl_bind(state, &op->dst[0]);
	pfld_cl_bind(state, dy);
	pfld_cl_bind(state, attr->act == PFLD_ACT_NONE ? NULL : &op->src[1]);
	pfld_cl_bind(state, &op->src[2]);
	pfld_cl_bind(state, attr->from_output || attr->act == PFLD_ACT_NONE ? NULL : &op->src[3]);
	pfld_cl_bind(state, slopes);
	pfld_cl_bind_int(state, (int32_t)attr->act);
	pfld_cl_bind_float(state, attr->slope);
	pfld_cl_bind_int(state, attr->from_output);
	pfld_cl_bind_int(state, slopes ? slope_pixels(slopes, dy) : 0);
	bind_end(state, dy->c);
}

static void enqueue_gradient(struct pfld_op_state *state, const struct pfld_op *op, const struct pfld_run *run)
{
	int32_t num_pixels = pfld_cl_num_pixels(&op->src[0], run->n);
	if (pfld_operand_present(&op->dst[1])) enqueue_slopes(state, op, run);
	pfld_cl_run_int(state, num_pixels);
	pfld_cl_run_int(state, pfld_cl_adds(op, 0, run));
	pfld_cl_go(state, pfld_cl_pass_items(state->device, num_pixels, op->src[0].c));
}

const struct pfld_cl_op pfld_cl_apply_gradient = {
	.workspace_bytes = gradient_bytes,
	.prepare = prepare_gradient,
	.enqueue = enqueue_gradient,
};
