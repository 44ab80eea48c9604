// SPDX-License-Identifier: MIT
// What the files of the convolution share: the numbers of one convolution, and how forward and data gradient are the
// same walk. Included by op_conv2d*.c and nothing else.
//
// Every pass (forward, or one phase of the data gradient) computes outputs on a lattice; output i of an axis reads
// source position i * source_step + first_offset + t * offset_step for its taps t, which carry kernel index first_tap +
// t * tap_step. Forward is one lattice, all outputs. The gradient of stride s is s lattices, the outputs o with o % s =
// phase: each reads the taps that meet it, and no division is left in the inner loops. Offsets ascend with t.
#ifndef PFLD_CPU_OP_CONV2D_H
#define PFLD_CPU_OP_CONV2D_H

#include "cpu/gather.h"
#include "cpu/kernels.h"

// One convolution, or one group of one. Pointers are NULL where absent, and all NULL when only sizes are asked for;
// which results are wanted is said by the flags.
struct pfld_cpu_conv {
	int32_t n, h, w, c, out_h, out_w, filters, groups; // c and filters of all groups
	struct pfld_conv_attr attr;
	ptrdiff_t x_stride, y_stride, dx_stride; // of pixels; y's is dy's in the gradient
	ptrdiff_t kernel_stride;                 // from one (kh, kw, c / groups) to the next: the filters of the whole op
	bool has_dx, has_dkernel, has_dbias;
	bool add_y, add_dx, add_dkernel, add_dbias;
	const pfld_real *x, *kernel, *bias, *dy;
	const struct pfld_pending *x_pending, *dy_pending; // NULL: in memory
	pfld_real *y, *dx, *dkernel, *dbias;
	struct pfld_cpu_gather gather; // from y, or dx
	char *workspace; // aligned to PFLD_CPU_CONV_ALIGNMENT
};

enum { PFLD_CPU_CONV_ALIGNMENT = 64 };

struct pfld_cpu_conv_axis {
	int32_t num_taps, first_tap, tap_step;
	int32_t first_offset, offset_step, source_step, source_size;
	int32_t out_first, out_step, count; // output i of the lattice is output out_first + i * out_step of the tensor
};

// axis 0: rows, 1: columns.
struct pfld_cpu_conv_axis pfld_cpu_conv_forward_axis(const struct pfld_cpu_conv *conv, int axis);
struct pfld_cpu_conv_axis pfld_cpu_conv_gradient_axis(const struct pfld_cpu_conv *conv, int axis, int32_t phase);
// The first and the one behind the last tap that read inside the source at output `index`.
void pfld_cpu_conv_axis_taps(const struct pfld_cpu_conv_axis *axis, int32_t index, int32_t *begin, int32_t *end);

// Bytes rounded up, so that what follows is aligned.
static inline size_t pfld_cpu_conv_bytes(size_t num_elements)
{
	size_t bytes = num_elements * sizeof(pfld_real), alignment = PFLD_CPU_CONV_ALIGNMENT;
	return (bytes + alignment - 1) / alignment * alignment;
}
static inline int64_t pfld_cpu_conv_ceil(int64_t a, int64_t b)
{
	return (a + b - 1) / b;
}

// ---- rows of taps side by side, for the matrix product (op_conv2d_gather.c) ----
// A pass as a matrix product: rows are the lattice's outputs over all samples, steps are (tap, source channel).
struct pfld_cpu_conv_pass {
	struct pfld_cpu_conv_axis y, x;
	int32_t n, source_c;
	struct pfld_cpu_source source;
	const struct pfld_cpu_kernels *kernels; // that load a pending source
};
// Steps are cut into blocks of whole taps, or, where there is one tap, of channels.
struct pfld_cpu_conv_blocks {
	int32_t num_taps, row_taps, source_c;    // of the pass, of one kernel row
	int32_t num_blocks, block_taps, block_c; // the last block may be smaller
};
struct pfld_cpu_conv_block {
	int32_t tap, num_taps, channel, num_channels; // the first tap and channel, and how many
	int32_t first_row, first_column;              // of the first tap in the kernel
};
static inline int64_t pfld_cpu_conv_rows(const struct pfld_cpu_conv_pass *pass)
{
	return (int64_t)pass->n * pass->y.count * pass->x.count;
}
// Blocks of at most `steps` steps, or one tap if that is more.
struct pfld_cpu_conv_blocks pfld_cpu_conv_cut(const struct pfld_cpu_conv_pass *pass, int64_t steps);
struct pfld_cpu_conv_block pfld_cpu_conv_block_at(const struct pfld_cpu_conv_blocks *blocks, int32_t index);
// True when the matrix lies in memory as it is: one tap that reads each source pixel once, in order, and nothing pending.
bool pfld_cpu_conv_in_place(const struct pfld_cpu_conv_pass *pass);
// Rows [row, row + num_rows) of the matrix, the steps of one block, to out (num_rows, steps of the block); zeros where
// a tap reads outside the source.
void pfld_cpu_conv_gather(const struct pfld_cpu_conv_pass *pass, const struct pfld_cpu_conv_block *block, int64_t row,
                          int32_t num_rows, pfld_real *out, ptrdiff_t out_stride);

// ---- the ways to perform a convolution; conv->n is the batch when bytes are asked for ----
// Each gathers conv->gather from what it writes; the slabs must be those of its _slabs function.
// groups = 1 (op_conv2d_gemm.c, op_conv2d_filter.c).
struct pfld_cpu_slabs pfld_cpu_conv_gemm_slabs(const struct pfld_cpu_conv *conv, bool gradient);
size_t pfld_cpu_conv_gemm_bytes(const struct pfld_backend_device *device, const struct pfld_cpu_conv *conv);
void pfld_cpu_conv_gemm(struct pfld_backend_device *device, const struct pfld_cpu_conv *conv);
size_t pfld_cpu_conv_gemm_gradient_bytes(const struct pfld_backend_device *device, const struct pfld_cpu_conv *conv);
void pfld_cpu_conv_gemm_gradient(struct pfld_backend_device *device, const struct pfld_cpu_conv *conv);
size_t pfld_cpu_conv_filter_bytes(const struct pfld_backend_device *device, const struct pfld_cpu_conv *conv);
void pfld_cpu_conv_filter(struct pfld_backend_device *device, const struct pfld_cpu_conv *conv);
// groups = c = filters (op_conv2d_depthwise.c).
struct pfld_cpu_slabs pfld_cpu_conv_depthwise_slabs(const struct pfld_cpu_conv *conv, bool gradient);
size_t pfld_cpu_conv_depthwise_bytes(const struct pfld_backend_device *device, const struct pfld_cpu_conv *conv);
void pfld_cpu_conv_depthwise(struct pfld_backend_device *device, const struct pfld_cpu_conv *conv);
size_t pfld_cpu_conv_depthwise_gradient_bytes(const struct pfld_backend_device *device,
                                              const struct pfld_cpu_conv *conv);
void pfld_cpu_conv_depthwise_gradient(struct pfld_backend_device *device, const struct pfld_cpu_conv *conv);
// Any groups, one after the other (op_conv2d_grouped.c).
size_t pfld_cpu_conv_grouped_bytes(const struct pfld_backend_device *device, const struct pfld_cpu_conv *conv);
void pfld_cpu_conv_grouped(struct pfld_backend_device *device, const struct pfld_cpu_conv *conv);
size_t pfld_cpu_conv_grouped_gradient_bytes(const struct pfld_backend_device *device, const struct pfld_cpu_conv *conv);
void pfld_cpu_conv_grouped_gradient(struct pfld_backend_device *device, const struct pfld_cpu_conv *conv);

#endif
