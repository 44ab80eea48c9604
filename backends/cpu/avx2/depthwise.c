// SPDX-License-Identifier: MIT
// Rows of depthwise convolutions with AVX2 and FMA: up to eight pixels of eight channels at a time. The contract of
// each function is in kernels_conv.h. Compiled with flags of its own; only reached after the processor has been asked.
#include "cpu/kernels_conv.h"

#include "cpu/avx2/vector.h"

#include <string.h>

enum { CHANNELS = PFLD_LANES, MAX_PIXELS = 8, MAX_TAPS = 9 };

// Pixel by pixel, so that the picture is read from front to back.
static void load_avx2(const struct pfld_cpu_depthwise_load *load)
{
	ptrdiff_t width = (ptrdiff_t)load->num_left + load->num_pixels + load->num_right, block = width * CHANNELS;
	int32_t whole = load->num_channels / CHANNELS, rest = load->num_channels % CHANNELS;
	int32_t num_blocks = whole + (rest > 0);
	__m256i lanes = pfld_first_lanes(rest);
	const float *x = load->x;
	for (ptrdiff_t p = 0; p < width; p++) {
		float *out = load->blocked + p * CHANNELS;
		if (p < load->num_left || p >= load->num_left + load->num_pixels) {
			for (int32_t i = 0; i < num_blocks; i++) _mm256_storeu_ps(out + i * block, _mm256_setzero_ps());
			continue;
		}
		for (int32_t i = 0; i < whole; i++) _mm256_storeu_ps(out + i * block, _mm256_loadu_ps(x + i * CHANNELS));
		if (rest) _mm256_storeu_ps(out + whole * block, _mm256_maskload_ps(x + whole * CHANNELS, lanes));
		x += load->x_stride;
	}
}

// Some pixels of one block. num_pixels is a literal at every call, and step mostly.
PFLD_SPECIALISED void block_pixels(const struct pfld_cpu_depthwise_row *row, int32_t block, ptrdiff_t first,
                                   const int num_pixels, ptrdiff_t step)
{
	__m256 sums[MAX_PIXELS];
	for (int i = 0; i < num_pixels; i++) sums[i] = _mm256_setzero_ps();
	ptrdiff_t place = block * row->block_step + first * step;
	const float *weights = row->weights + block * row->weights_step;
	for (int32_t t = 0; t < row->num_taps; t++) {
		const float *x = row->taps[t] + place;
		__m256 weight = _mm256_loadu_ps(weights + (ptrdiff_t)t * CHANNELS);
		for (int i = 0; i < num_pixels; i++) sums[i] = _mm256_fmadd_ps(weight, _mm256_loadu_ps(x + i * step), sums[i]);
	}
	int32_t channel = block * CHANNELS, num_channels = PFLD_MIN(row->num_channels - channel, CHANNELS);
	bool is_whole = num_channels == CHANNELS;
	__m256i lanes = pfld_first_lanes(num_channels);
	float *out = row->out + first * row->out_stride + channel;
	for (int i = 0; i < num_pixels; i++, out += row->out_stride) {
		__m256 value = sums[i];
		if (row->bias) value = _mm256_add_ps(value, pfld_load(row->bias + channel, is_whole, lanes));
		if (row->add) value = _mm256_add_ps(pfld_load(out, is_whole, lanes), value);
		pfld_store(out, value, is_whole, lanes);
	}
}

// Block after block, so that each pixel is written from front to back.
PFLD_SPECIALISED void row_pixels(const struct pfld_cpu_depthwise_row *row, ptrdiff_t first, const int num_pixels,
                                 ptrdiff_t step)
{
	for (int32_t block = 0; block * CHANNELS < row->num_channels; block++)
		block_pixels(row, block, first, num_pixels, step);
}

// Pixels are shared out evenly: 14 are 7 and 7.
PFLD_SPECIALISED void row_steps(const struct pfld_cpu_depthwise_row *row, ptrdiff_t step)
{
	for (int32_t first = 0; first < row->num_pixels;) {
		int32_t left = row->num_pixels - first, parts = (left + MAX_PIXELS - 1) / MAX_PIXELS;
		int32_t num_pixels = (left + parts - 1) / parts;
		switch (num_pixels) {
		case 1: row_pixels(row, first, 1, step); break;
		case 2: row_pixels(row, first, 2, step); break;
		case 3: row_pixels(row, first, 3, step); break;
		case 4: row_pixels(row, first, 4, step); break;
		case 5: row_pixels(row, first, 5, step); break;
		case 6: row_pixels(row, first, 6, step); break;
		case 7: row_pixels(row, first, 7, step); break;
		default: row_pixels(row, first, MAX_PIXELS, step); break;
		}
		first += num_pixels;
	}
}

static void row_avx2(const struct pfld_cpu_depthwise_row *row)
{
	if (row->step == CHANNELS)
		row_steps(row, CHANNELS);
	else if (row->step == 2 * CHANNELS)
		row_steps(row, 2 * CHANNELS);
	else
		row_steps(row, row->step);
}

// num_taps is a literal at every call.
PFLD_SPECIALISED void sums_taps(const struct pfld_cpu_depthwise_sums *task, int32_t first, const int num_taps)
{
	const float *x[MAX_TAPS], *dy = task->dy;
	__m256 sums[MAX_TAPS];
	for (int t = 0; t < num_taps; t++) {
		x[t] = task->taps[first + t] + task->offset;
		sums[t] = _mm256_setzero_ps();
	}
	ptrdiff_t place = 0;
	for (int32_t p = 0; p < task->num_pixels; p++, place += task->step, dy += CHANNELS) {
		__m256 gradient = _mm256_loadu_ps(dy);
		for (int t = 0; t < num_taps; t++) sums[t] = _mm256_fmadd_ps(gradient, _mm256_loadu_ps(x[t] + place), sums[t]);
	}
	float *out = task->sums + (ptrdiff_t)first * CHANNELS;
	for (int t = 0; t < num_taps; t++, out += CHANNELS)
		_mm256_storeu_ps(out, _mm256_add_ps(_mm256_loadu_ps(out), sums[t]));
}

static void sums_avx2(const struct pfld_cpu_depthwise_sums *task)
{
	for (int32_t first = 0; first < task->num_taps; first += MAX_TAPS) {
		switch (task->num_taps - first) {
		case 1: sums_taps(task, first, 1); break;
		case 2: sums_taps(task, first, 2); break;
		case 3: sums_taps(task, first, 3); break;
		case 4: sums_taps(task, first, 4); break;
		case 5: sums_taps(task, first, 5); break;
		case 6: sums_taps(task, first, 6); break;
		case 7: sums_taps(task, first, 7); break;
		case 8: sums_taps(task, first, 8); break;
		default: sums_taps(task, first, MAX_TAPS); break;
		}
	}
}

const struct pfld_cpu_depthwise_kernels pfld_cpu_depthwise_avx2 = {
	.channels = CHANNELS,
	.load = load_avx2,
	.row = row_avx2,
	.sums = sums_avx2,
};
