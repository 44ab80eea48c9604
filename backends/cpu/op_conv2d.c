// SPDX-License-Identifier: MIT
// The convolution ops of the cpu backend: reads the op into plain numbers and picks the way to perform it by shape
// alone. The ways are in op_conv2d_gemm.c, _filter.c, _depthwise.c and _grouped.c. Called through the table in ops.c.
#include "cpu/op_conv2d.h"

struct way {
	struct pfld_cpu_slabs (*slabs)(const struct pfld_cpu_conv *conv, bool gradient); // NULL: gathers nothing
	size_t (*bytes)(const struct pfld_backend_device *device, const struct pfld_cpu_conv *conv);
	void (*run)(struct pfld_backend_device *device, const struct pfld_cpu_conv *conv);
	size_t (*gradient_bytes)(const struct pfld_backend_device *device, const struct pfld_cpu_conv *conv);
	void (*gradient)(struct pfld_backend_device *device, const struct pfld_cpu_conv *conv);
};
static const struct way way_gemm = {
	.slabs = pfld_cpu_conv_gemm_slabs,
	.bytes = pfld_cpu_conv_gemm_bytes,
	.run = pfld_cpu_conv_gemm,
	.gradient_bytes = pfld_cpu_conv_gemm_gradient_bytes,
	.gradient = pfld_cpu_conv_gemm_gradient,
};
static const struct way way_depthwise = {
	.slabs = pfld_cpu_conv_depthwise_slabs,
	.bytes = pfld_cpu_conv_depthwise_bytes,
	.run = pfld_cpu_conv_depthwise,
	.gradient_bytes = pfld_cpu_conv_depthwise_gradient_bytes,
	.gradient = pfld_cpu_conv_depthwise_gradient,
};
static const struct way way_grouped = {
	.bytes = pfld_cpu_conv_grouped_bytes,
	.run = pfld_cpu_conv_grouped,
	.gradient_bytes = pfld_cpu_conv_grouped_gradient_bytes,
	.gradient = pfld_cpu_conv_grouped_gradient,
};

static const struct way *pick_way(const struct pfld_cpu_conv *conv)
{
	if (conv->groups == 1) return &way_gemm;
	return conv->groups == conv->c && conv->groups == conv->filters ? &way_depthwise : &way_grouped;
}

static bool is_whole_picture(const struct pfld_cpu_conv *conv)
{
	const struct pfld_conv_attr *attr = &conv->attr;
	return conv->groups == 1 && conv->out_h == 1 && conv->out_w == 1 && attr->kernel_h == conv->h &&
	       attr->kernel_w == conv->w && attr->pad_top == 0 && attr->pad_left == 0 && attr->dilation_h == 1 &&
	       attr->dilation_w == 1 && conv->h * conv->w > 1;
}

// A window that is the whole picture, as in a flattened head, is a linear layer over its elements where they lie side
// by side.
static void flatten(struct pfld_cpu_conv *conv)
{
	if (!is_whole_picture(conv) || conv->x_stride != conv->c || conv->dx_stride != conv->c) return;
	conv->c *= conv->h * conv->w;
	conv->h = conv->w = 1;
	conv->x_stride = conv->dx_stride = conv->c;
	conv->attr.kernel_h = conv->attr.kernel_w = 1;
	conv->attr.stride_h = conv->attr.stride_w = 1;
}

static struct pfld_cpu_conv read_shapes(const struct pfld_op *op, int32_t n, const struct pfld_operand *x,
                                        const struct pfld_operand *dx, const struct pfld_operand *y)
{
	const struct pfld_operand *in = pfld_operand_present(x) ? x : dx;
	struct pfld_cpu_conv conv = {
		.n = n,
		.h = in->h,
		.w = in->w,
		.c = in->c,
		.out_h = y->h,
		.out_w = y->w,
		.filters = y->c,
		.groups = op->attr.conv.groups,
		.attr = op->attr.conv,
		.x_stride = in->pixel_stride,
		.y_stride = y->pixel_stride,
		.dx_stride = pfld_operand_present(dx) ? dx->pixel_stride : in->pixel_stride,
		.kernel_stride = y->c,
	};
	flatten(&conv);
	return conv;
}

static struct pfld_cpu_conv read_forward(const struct pfld_op *op, int32_t n)
{
	struct pfld_cpu_conv conv = read_shapes(op, n, &op->src[0], &op->src[0], &op->dst[0]);
	conv.x_pending = op->src[0].pending;
	return conv;
}

static struct pfld_cpu_conv read_gradient(const struct pfld_op *op, int32_t n)
{
	struct pfld_cpu_conv conv = read_shapes(op, n, &op->src[0], &op->dst[0], &op->src[2]);
	conv.x_pending = op->src[0].pending;
	conv.dy_pending = op->src[2].pending;
	conv.has_dx = pfld_operand_present(&op->dst[0]);
	conv.has_dkernel = pfld_operand_present(&op->dst[1]);
	conv.has_dbias = pfld_operand_present(&op->dst[2]);
	// The gradient of the bias alone is sums of dy, and nothing may be known of x.
	if (!conv.has_dx && !conv.has_dkernel) conv.groups = 1;
	return conv;
}

// Not what may be flattened: numbers per channel are known of the channels as they are. Groups are seen as convolutions
// of their own.
static bool reads_x_pending(const struct pfld_op *op, const struct pfld_operand *y)
{
	struct pfld_cpu_conv conv = read_shapes(op, 1, &op->src[0], &op->src[0], y);
	return conv.c == op->src[0].c && !is_whole_picture(&conv) && pick_way(&conv) != &way_grouped;
}

static bool forward_reads_pending(const struct pfld_op *op, int32_t source)
{
	return source == 0 && reads_x_pending(op, &op->dst[0]);
}

static bool gradient_reads_pending(const struct pfld_op *op, int32_t source)
{
	if (source == 0) return reads_x_pending(op, &op->src[2]);
	struct pfld_cpu_conv conv = read_gradient(op, 1);
	return source == 2 && pick_way(&conv) != &way_grouped;
}

static bool forward_supports(const struct pfld_op *op, const char **reason)
{
	struct pfld_cpu_conv conv = read_forward(op, 1);
	*reason = "grouped convolutions gather nothing";
	return !pfld_operand_present(&op->dst[1]) || pick_way(&conv)->slabs;
}

static bool gradient_supports(const struct pfld_op *op, const char **reason)
{
	struct pfld_cpu_conv conv = read_gradient(op, 1);
	bool in_phases = conv.attr.stride_h > 1 || conv.attr.stride_w > 1;
	*reason = "only depthwise convolutions and dense ones of stride 1 gather from dx";
	if (!pfld_operand_present(&op->dst[3])) return true;
	return conv.c == op->dst[0].c && pick_way(&conv)->slabs && (pick_way(&conv) == &way_depthwise || !in_phases);
}

// Regions may begin anywhere that elements may.
static char *aligned(pfld_real *workspace)
{
	size_t beyond = (uintptr_t)workspace % PFLD_CPU_CONV_ALIGNMENT;
	return (char *)workspace + (beyond ? PFLD_CPU_CONV_ALIGNMENT - beyond : 0);
}

// What is gathered lies in front of what the way needs.
static size_t gather_bytes(const struct pfld_backend_device *device, const struct pfld_cpu_conv *conv)
{
	return pfld_cpu_conv_bytes(pfld_cpu_gather_bytes(device, &conv->gather) / sizeof(pfld_real));
}

static void lay_out(const struct pfld_backend_device *device, struct pfld_cpu_conv *conv, const struct pfld_op *op)
{
	conv->workspace = aligned(pfld_cpu_at(&op->workspace));
	conv->gather.parts = (pfld_real *)conv->workspace;
	conv->workspace += gather_bytes(device, conv);
}

static void gather_statistics(struct pfld_cpu_conv *conv, const struct pfld_op *op)
{
	if (!pfld_operand_present(&op->dst[1])) return;
	conv->gather = pfld_cpu_gather_statistics(&op->dst[0], &op->dst[1]);
	conv->gather.slabs = pick_way(conv)->slabs(conv, false);
}

static size_t forward_bytes(const struct pfld_backend_device *device, const struct pfld_op *op, int32_t batch)
{
	struct pfld_cpu_conv conv = read_forward(op, batch);
	if (pfld_operand_present(&op->dst[1])) {
		conv.gather.kind = PFLD_CPU_GATHER_STATISTICS;
		conv.gather.num_channels = op->dst[0].c;
		conv.gather.slabs = pick_way(&conv)->slabs(&conv, false);
	}
	return pick_way(&conv)->bytes(device, &conv) + gather_bytes(device, &conv) + PFLD_CPU_CONV_ALIGNMENT;
}

static void forward(struct pfld_backend_device *device, const struct pfld_op *op, const struct pfld_run *run)
{
	struct pfld_cpu_conv conv = read_forward(op, run->n);
	conv.x = pfld_cpu_at(&op->src[0]);
	conv.kernel = pfld_cpu_at(&op->src[1]);
	conv.bias = pfld_cpu_at(&op->src[2]);
	conv.y = pfld_cpu_at(&op->dst[0]);
	conv.add_y = op->accumulate[0];
	gather_statistics(&conv, op);
	lay_out(device, &conv, op);
	pick_way(&conv)->run(device, &conv);
	pfld_cpu_gather_finish(device, &conv.gather);
}

static void gather_sums(struct pfld_cpu_conv *conv, const struct pfld_op *op, const struct pfld_run *run)
{
	if (!pfld_operand_present(&op->dst[3])) return;
	struct pfld_act_attr act = {.act = op->attr.conv.norm_act, .slope = op->attr.conv.norm_slope};
	conv->gather = pfld_cpu_gather_sums(op, &op->dst[0], &op->src[3], 3, act, run);
	conv->gather.slabs = pick_way(conv)->slabs(conv, true);
}

static size_t gradient_bytes(const struct pfld_backend_device *device, const struct pfld_op *op, int32_t batch)
{
	struct pfld_cpu_conv conv = read_gradient(op, batch);
	if (pfld_operand_present(&op->dst[3])) {
		conv.gather.kind = PFLD_CPU_GATHER_SUMS;
		conv.gather.num_channels = op->dst[0].c;
		conv.gather.slabs = pick_way(&conv)->slabs(&conv, true);
	}
	return pick_way(&conv)->gradient_bytes(device, &conv) + gather_bytes(device, &conv) + PFLD_CPU_CONV_ALIGNMENT;
}

static void gradient(struct pfld_backend_device *device, const struct pfld_op *op, const struct pfld_run *run)
{
	struct pfld_cpu_conv conv = read_gradient(op, run->n);
	conv.x = pfld_cpu_at(&op->src[0]);
	conv.kernel = pfld_cpu_at(&op->src[1]);
	conv.dy = pfld_cpu_at(&op->src[2]);
	conv.dx = pfld_cpu_at(&op->dst[0]);
	conv.dkernel = pfld_cpu_at(&op->dst[1]);
	conv.dbias = pfld_cpu_at(&op->dst[2]);
	conv.add_dx = pfld_cpu_adds(op, 0, run);
	conv.add_dkernel = pfld_cpu_adds(op, 1, run);
	conv.add_dbias = pfld_cpu_adds(op, 2, run);
	gather_sums(&conv, op, run);
	lay_out(device, &conv, op);
	pick_way(&conv)->gradient(device, &conv);
	pfld_cpu_gather_finish(device, &conv.gather);
}

const struct pfld_cpu_op pfld_cpu_conv2d = {
	.supports = forward_supports,
	.reads_pending = forward_reads_pending,
	.workspace_bytes = forward_bytes,
	.enqueue = forward,
};
const struct pfld_cpu_op pfld_cpu_conv2d_gradient = {
	.supports = gradient_supports,
	.reads_pending = gradient_reads_pending,
	.workspace_bytes = gradient_bytes,
	.enqueue = gradient,
};
