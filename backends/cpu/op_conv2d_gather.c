// SPDX-License-Identifier: MIT
// Which source pixels an output of a convolution reads (axes), and copying them side by side for the matrix product,
// one slab of outputs at a time. Integer arithmetic and copies only: nothing here depends on the instruction set.
#include "cpu/op_conv2d.h"

#include <string.h>

struct pfld_cpu_conv_axis pfld_cpu_conv_forward_axis(const struct pfld_cpu_conv *conv, int axis)
{
	const struct pfld_conv_attr *attr = &conv->attr;
	return (struct pfld_cpu_conv_axis){
		.num_taps = axis == 0 ? attr->kernel_h : attr->kernel_w,
		.first_tap = 0,
		.tap_step = 1,
		.first_offset = axis == 0 ? -attr->pad_top : -attr->pad_left,
		.offset_step = axis == 0 ? attr->dilation_h : attr->dilation_w,
		.source_step = axis == 0 ? attr->stride_h : attr->stride_w,
		.source_size = axis == 0 ? conv->h : conv->w,
		.out_first = 0,
		.out_step = 1,
		.count = axis == 0 ? conv->out_h : conv->out_w,
	};
}

static int32_t common_divisor(int32_t a, int32_t b)
{
	while (b) {
		int32_t rest = a % b;
		a = b;
		b = rest;
	}
	return a;
}

// Input i and output o meet in tap k where i + pad = o stride + k dilation.
struct pfld_cpu_conv_axis pfld_cpu_conv_gradient_axis(const struct pfld_cpu_conv *conv, int axis, int32_t phase)
{
	const struct pfld_conv_attr *attr = &conv->attr;
	int32_t kernel = axis == 0 ? attr->kernel_h : attr->kernel_w, stride = axis == 0 ? attr->stride_h : attr->stride_w;
	int32_t dilation = axis == 0 ? attr->dilation_h : attr->dilation_w;
	int32_t pad = axis == 0 ? attr->pad_top : attr->pad_left, size = axis == 0 ? conv->h : conv->w;
	int32_t period = stride / common_divisor(stride, dilation); // of the taps that meet one phase
	struct pfld_cpu_conv_axis result = {
		.source_step = 1,
		.source_size = axis == 0 ? conv->out_h : conv->out_w,
		.out_first = phase,
		.out_step = stride,
		.count = phase < size ? (size - phase + stride - 1) / stride : 0,
	};
	int32_t lowest = 0;
	while (lowest < PFLD_MIN(period, kernel) && (phase + pad - lowest * dilation) % stride != 0) lowest++;
	if (lowest == PFLD_MIN(period, kernel)) return result;
	result.num_taps = (kernel - 1 - lowest) / period + 1;
	result.first_tap = lowest + (result.num_taps - 1) * period;
	result.tap_step = -period;
	result.first_offset = (phase + pad - result.first_tap * dilation) / stride;
	result.offset_step = period * dilation / stride;
	return result;
}

void pfld_cpu_conv_axis_taps(const struct pfld_cpu_conv_axis *axis, int32_t index, int32_t *begin, int32_t *end)
{
	int32_t source = index * axis->source_step + axis->first_offset;
	int32_t first = 0, last = axis->num_taps;
	while (first < last && source + first * axis->offset_step < 0) first++;
	while (last > first && source + (last - 1) * axis->offset_step >= axis->source_size) last--;
	*begin = first;
	*end = last;
}

struct pfld_cpu_conv_blocks pfld_cpu_conv_cut(const struct pfld_cpu_conv_pass *pass, int64_t steps)
{
	int32_t c = pass->source_c;
	struct pfld_cpu_conv_blocks blocks = {
		.num_taps = pass->y.num_taps * pass->x.num_taps,
		.row_taps = pass->x.num_taps,
		.source_c = c,
		.num_blocks = 1,
		.block_c = c,
	};
	blocks.block_taps = blocks.num_taps;
	if (blocks.num_taps * (int64_t)c <= steps) return blocks;
	if (blocks.num_taps == 1) {
		int64_t wanted = pfld_cpu_conv_ceil(c, steps);
		blocks.block_c = (int32_t)(pfld_cpu_conv_ceil(pfld_cpu_conv_ceil(c, wanted), 8) * 8);
		blocks.num_blocks = (int32_t)pfld_cpu_conv_ceil(c, blocks.block_c);
		return blocks;
	}
	// Whole kernel rows where they fit: their taps mostly lie side by side in the source.
	int64_t unit = (int64_t)c * pass->x.num_taps <= steps ? pass->x.num_taps : 1, units = blocks.num_taps / unit;
	int64_t wanted = pfld_cpu_conv_ceil(units, PFLD_MAX(1, steps / (c * unit)));
	blocks.block_taps = (int32_t)(pfld_cpu_conv_ceil(units, wanted) * unit);
	blocks.num_blocks = (int32_t)pfld_cpu_conv_ceil(blocks.num_taps, blocks.block_taps);
	return blocks;
}

struct pfld_cpu_conv_block pfld_cpu_conv_block_at(const struct pfld_cpu_conv_blocks *blocks, int32_t index)
{
	if (blocks->block_c < blocks->source_c) {
		int32_t channel = index * blocks->block_c;
		return (struct pfld_cpu_conv_block){
			.num_taps = 1,
			.channel = channel,
			.num_channels = PFLD_MIN(blocks->block_c, blocks->source_c - channel),
		};
	}
	int32_t tap = index * blocks->block_taps;
	return (struct pfld_cpu_conv_block){
		.tap = tap,
		.first_row = tap / PFLD_MAX(blocks->row_taps, 1),
		.first_column = tap % PFLD_MAX(blocks->row_taps, 1),
		.num_taps = PFLD_MIN(blocks->block_taps, blocks->num_taps - tap),
		.num_channels = blocks->source_c,
	};
}

static bool reads_in_order(const struct pfld_cpu_conv_axis *axis)
{
	return axis->num_taps == 1 && axis->first_offset == 0 && axis->source_step == 1 && axis->count == axis->source_size;
}

bool pfld_cpu_conv_in_place(const struct pfld_cpu_conv_pass *pass)
{
	return !pass->source.pending && reads_in_order(&pass->y) && reads_in_order(&pass->x);
}

// Channels of a block of `num` source pixels, `step` apart, to out.
static void copy_pixels(const struct pfld_cpu_conv_pass *pass, const struct pfld_cpu_conv_block *block, int64_t pixel,
                        int32_t num, int32_t step, pfld_real *out)
{
	const struct pfld_cpu_source *source = &pass->source;
	if (source->pending) {
		struct pfld_cpu_piece piece = {pixel, num, step, block->channel, block->num_channels};
		pfld_cpu_load(pass->kernels, source, &piece, out, block->num_channels);
		return;
	}
	const pfld_real *from = source->at + pixel * source->stride + block->channel;
	size_t bytes = (size_t)block->num_channels * sizeof *out;
	if (step * source->stride == block->num_channels) {
		memcpy(out, from, (size_t)num * bytes);
		return;
	}
	for (int32_t i = 0; i < num; i++) memcpy(out + (ptrdiff_t)i * block->num_channels, from + i * step * source->stride, bytes);
}

// Taps [begin, end) of one kernel row at one output; tap 0 reads `pixel`, taps outside [first, last) read beside the picture.
static void gather_taps(const struct pfld_cpu_conv_pass *pass, const struct pfld_cpu_conv_block *block, int64_t pixel,
                        int32_t first, int32_t last, int32_t begin, int32_t end, pfld_real *out)
{
	int32_t num_channels = block->num_channels, step = pass->x.offset_step;
	size_t bytes = (size_t)num_channels * sizeof(*out);
	first = PFLD_MIN(PFLD_MAX(first, begin), end);
	last = PFLD_MAX(PFLD_MIN(last, end), first);
	if (first > begin) memset(out, 0, (size_t)(first - begin) * bytes);
	pfld_real *to = out + (ptrdiff_t)(first - begin) * num_channels;
	if (last > first) copy_pixels(pass, block, pixel + (int64_t)first * step, last - first, step, to);
	if (end > last) memset(out + (ptrdiff_t)(last - begin) * num_channels, 0, (size_t)(end - last) * bytes);
}

// All taps of a block at one output.
static void gather_output(const struct pfld_cpu_conv_pass *pass, const struct pfld_cpu_conv_block *block,
                          int64_t sample, int32_t line, int32_t column, pfld_real *out)
{
	const struct pfld_cpu_conv_axis *y = &pass->y, *x = &pass->x;
	int32_t first, last;
	pfld_cpu_conv_axis_taps(x, column, &first, &last);
	int64_t left = sample * y->source_size * x->source_size + column * x->source_step + x->first_offset;
	int32_t begin = block->first_column,
			at = line * y->source_step + y->first_offset + block->first_row * y->offset_step;
	for (int32_t num_taps = block->num_taps; num_taps > 0; at += y->offset_step) {
		int32_t end = PFLD_MIN(x->num_taps, begin + num_taps);
		if (at >= 0 && at < y->source_size)
			gather_taps(pass, block, left + (int64_t)at * x->source_size, first, last, begin, end, out);
		else
			memset(out, 0, (size_t)(end - begin) * (size_t)block->num_channels * sizeof(*out));
		out += (ptrdiff_t)(end - begin) * block->num_channels;
		num_taps -= end - begin;
		begin = 0;
	}
}

void pfld_cpu_conv_gather(const struct pfld_cpu_conv_pass *pass, const struct pfld_cpu_conv_block *block, int64_t row,
                          int32_t num_rows, pfld_real *out, ptrdiff_t out_stride)
{
	const struct pfld_cpu_conv_axis *y = &pass->y, *x = &pass->x;
	if (pass->source.pending && reads_in_order(y) && reads_in_order(x)) {
		struct pfld_cpu_piece piece = {row, num_rows, 1, block->channel, block->num_channels};
		pfld_cpu_load(pass->kernels, &pass->source, &piece, out, out_stride);
		return;
	}
	int32_t column = (int32_t)(row % x->count), line = (int32_t)(row / x->count % y->count);
	int64_t sample = row / x->count / y->count;
	for (int32_t r = 0; r < num_rows; r++, out += out_stride) {
		gather_output(pass, block, sample, line, column, out);
		if (++column < x->count) continue;
		column = 0;
		if (++line < y->count) continue;
		line = 0;
		sample++;
	}
}
