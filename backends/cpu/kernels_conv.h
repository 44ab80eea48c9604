// SPDX-License-Identifier: MIT
// The kernels that convolutions stand on, one table per instruction-set level: panels of a matrix product, and rows of
// a depthwise convolution. What they have in common: every output element is one chain of additions over its terms, in
// order, whatever the shape of the tile or row it lies in, so that a sample's bits do not depend on its neighbours; no
// byte beyond the given elements is read or written. Callers: op_conv2d_*.c, which do blocking and threading.
#ifndef PFLD_CPU_KERNELS_CONV_H
#define PFLD_CPU_KERNELS_CONV_H

#include "base/base.h"

// C = A B, for as many columns as a register tile is wide. An element's value is its sum (from zero, steps in order),
// plus bias, and then added to what C holds if `add`; without `add` what C holds is never looked at.
struct pfld_cpu_gemm_panel {
	int32_t num_rows, num_columns, num_steps; // 1 <= num_columns <= columns of the table; num_steps may be 0
	const pfld_real *a;                       // (num_rows, num_steps); multiply_transposed: (num_steps, num_rows)
	ptrdiff_t a_stride;                       // elements from one row of `a` as it lies in memory to the next
	const pfld_real *b;                       // (num_steps, columns), packed
	pfld_real *c;                             // (num_rows, num_columns)
	ptrdiff_t c_stride;
	const pfld_real *bias; // (num_columns) or NULL
	bool add;
};

struct pfld_cpu_gemm_kernels {
	int32_t columns; // of a panel
	void (*multiply)(const struct pfld_cpu_gemm_panel *panel);
	void (*multiply_transposed)(const struct pfld_cpu_gemm_panel *panel);
	// Columns of B, (num_steps, num_columns) with rows b_stride apart, to packed panels, each (num_steps, columns), one
	// behind the other; zeros fill up the last.
	void (*pack)(pfld_real *packed, const pfld_real *b, ptrdiff_t b_stride, int32_t num_steps, int32_t num_columns);
	// The same from B transposed: (num_columns, num_steps) with rows b_stride apart.
	void (*pack_transposed)(pfld_real *packed, const pfld_real *b, ptrdiff_t b_stride, int32_t num_steps,
	                        int32_t num_columns);
};

// One row of a picture, copied to blocked form: (blocks, pixels, channels), each block of channels by itself, with
// zeros for the pixels beyond the picture's sides and for the channels that fill up the last block.
struct pfld_cpu_depthwise_load {
	const pfld_real *x; // (num_pixels, num_channels)
	ptrdiff_t x_stride;
	int32_t num_pixels, num_channels, num_left, num_right; // left and right: zero pixels before and behind
	pfld_real *blocked;
};

// One row of outputs, all channels: out[p] = sum over taps of weights[t] taps[t][p], plus bias, and added to `out` if
// `add`. Taps point at what the first output reads in the first block of channels.
struct pfld_cpu_depthwise_row {
	const pfld_real *const *taps; // (num_taps)
	ptrdiff_t step;               // elements from what one output reads to what the next reads
	ptrdiff_t block_step;         // and from one block of channels to the next
	int32_t num_taps, num_pixels, num_channels;
	const pfld_real *weights; // (blocks, num_taps, channels), blocks weights_step apart
	ptrdiff_t weights_step;
	const pfld_real *bias; // (num_channels) or NULL
	pfld_real *out;        // (num_pixels, num_channels)
	ptrdiff_t out_stride;
	bool add;
};

// The filter gradient of one row of one block of channels: sums[t] += sum over pixels of dy[p] taps[t][p], where the
// inner sum starts from zero.
struct pfld_cpu_depthwise_sums {
	const pfld_real *const *taps; // (num_taps)
	ptrdiff_t offset;             // added to every tap: the block of channels
	ptrdiff_t step;               // as above
	int32_t num_taps, num_pixels;
	const pfld_real *dy; // (num_pixels, channels), blocked
	pfld_real *sums;     // (num_taps, channels)
};

struct pfld_cpu_depthwise_kernels {
	int32_t channels; // of a block
	void (*load)(const struct pfld_cpu_depthwise_load *load);
	void (*row)(const struct pfld_cpu_depthwise_row *row);
	void (*sums)(const struct pfld_cpu_depthwise_sums *sums);
};

extern const struct pfld_cpu_gemm_kernels pfld_cpu_gemm_c, pfld_cpu_gemm_avx2;
extern const struct pfld_cpu_depthwise_kernels pfld_cpu_depthwise_c, pfld_cpu_depthwise_avx2;

#endif
