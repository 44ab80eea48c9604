// SPDX-License-Identifier: MIT
// Rows of depthwise convolutions in plain C: the reference of every other level, and in double precision the oracle of
// the tests. The contract of each function is in kernels_conv.h.
#include "cpu/kernels_conv.h"

#include <string.h>

enum { CHANNELS = 8 };

static void load_c(const struct pfld_cpu_depthwise_load *load)
{
	size_t width = (size_t)load->num_left + (size_t)load->num_pixels + (size_t)load->num_right;
	pfld_real *block = load->blocked;
	for (int32_t channel = 0; channel < load->num_channels; channel += CHANNELS, block += width * CHANNELS) {
		int32_t num_channels = PFLD_MIN(CHANNELS, load->num_channels - channel);
		const pfld_real *x = load->x + channel;
		pfld_real *out = block + (size_t)load->num_left * CHANNELS;
		memset(block, 0, (size_t)load->num_left * CHANNELS * sizeof(*block));
		for (int32_t p = 0; p < load->num_pixels; p++, x += load->x_stride, out += CHANNELS)
			for (int32_t j = 0; j < CHANNELS; j++) out[j] = j < num_channels ? x[j] : 0;
		memset(out, 0, (size_t)load->num_right * CHANNELS * sizeof(*block));
	}
}

// One pixel of one block.
static void pixel_c(const struct pfld_cpu_depthwise_row *row, int32_t p, int32_t block)
{
	pfld_real sum[CHANNELS] = {0}, *out = row->out + p * row->out_stride + (ptrdiff_t)block * CHANNELS;
	ptrdiff_t place = block * row->block_step + p * row->step;
	for (int32_t t = 0; t < row->num_taps; t++) {
		const pfld_real *x = row->taps[t] + place;
		const pfld_real *weight = row->weights + block * row->weights_step + (ptrdiff_t)t * CHANNELS;
		for (int32_t j = 0; j < CHANNELS; j++) sum[j] += weight[j] * x[j];
	}
	for (int32_t j = 0; j < PFLD_MIN(CHANNELS, row->num_channels - block * CHANNELS); j++) {
		pfld_real value = row->bias ? sum[j] + row->bias[block * CHANNELS + j] : sum[j];
		out[j] = row->add ? out[j] + value : value;
	}
}

static void row_c(const struct pfld_cpu_depthwise_row *row)
{
	for (int32_t p = 0; p < row->num_pixels; p++)
		for (int32_t block = 0; block * CHANNELS < row->num_channels; block++) pixel_c(row, p, block);
}

static void sums_c(const struct pfld_cpu_depthwise_sums *sums)
{
	for (int32_t t = 0; t < sums->num_taps; t++) {
		const pfld_real *x = sums->taps[t] + sums->offset, *dy = sums->dy;
		pfld_real sum[CHANNELS] = {0}, *total = sums->sums + (ptrdiff_t)t * CHANNELS;
		for (int32_t p = 0; p < sums->num_pixels; p++, x += sums->step, dy += CHANNELS)
			for (int32_t j = 0; j < CHANNELS; j++) sum[j] += dy[j] * x[j];
		for (int32_t j = 0; j < CHANNELS; j++) total[j] += sum[j];
	}
}

const struct pfld_cpu_depthwise_kernels pfld_cpu_depthwise_c = {
	.channels = CHANNELS,
	.load = load_c,
	.row = row_c,
	.sums = sums_c,
};
