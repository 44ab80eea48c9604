// SPDX-License-Identifier: MIT
// add: sums of tensors with a factor each, and copies between pixels of different widths. One or two sources may be
// pending; more are read as they are. Kernels: elementwise.cl.
#include "opencl/cl.h"

static bool reads_pending(const struct pfld_op *op, int32_t source)
{
	return op->attr.add.num_src <= 2;
}

static void prepare(struct pfld_op_state *state, const struct pfld_op *op)
{
	int32_t num_src = op->attr.add.num_src, most = num_src <= 2 ? 2 : PFLD_OP_MAX_ADD;
	const double *scale = op->attr.add.scale;
	pfld_cl_begin(state, PFLD_CL_ELEMENTWISE, num_src <= 2 ? "sum" : "sum_of_many", 2);
	pfld_cl_bind(state, &op->dst[0]);
	for (int32_t i = 0; i < most; i++) {
		const struct pfld_operand *source = i < num_src ? &op->src[i] : NULL;
		if (num_src <= 2) {
			pfld_cl_bind_source(state, source);
			continue;
		}
		pfld_cl_bind(state, source);
		pfld_cl_bind_float(state, source ? scale[i] : 0);
	}
	if (num_src <= 2) {
		pfld_cl_bind_float(state, scale[0]);
		pfld_cl_bind_float(state, num_src == 2 ? scale[1] : 0);
	}
	pfld_cl_bind_int(state, op->dst[0].c);
	pfld_cl_bind_int(state, state->device->class.pixels_per_item);
}

static void enqueue(struct pfld_op_state *state, const struct pfld_op *op, const struct pfld_run *run)
{
	int32_t num_pixels = pfld_cl_num_pixels(&op->dst[0], run->n);
	pfld_cl_run_int(state, num_pixels);
	pfld_cl_run_int(state, pfld_cl_adds(op, 0, run));
	pfld_cl_go(state, pfld_cl_pass_items(state->device, num_pixels, op->dst[0].c));
}

const struct pfld_cl_op pfld_cl_add = {.reads_pending = reads_pending, .prepare = prepare, .enqueue = enqueue};
