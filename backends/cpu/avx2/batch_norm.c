// SPDX-License-Identifier: MIT
// Batch norm's passes over pixels with AVX2 and FMA: four pixels at a time, so that numbers per channel are loaded once
// for four and chains of additions are a quarter as long. The contract of each function is in kernels_rows.h.
#include "cpu/avx2/activation.h"
#include "cpu/kernels_rows.h"

#include <string.h>

enum { PIXELS = 4 };

// The sum of the vectors of `count` pixels, in pairs. Called with literal count.
PFLD_SPECIALISED __m256 sum_pixels(const __m256 value[PIXELS], const int count)
{
	if (count == 1) return value[0];
	return _mm256_add_ps(_mm256_add_ps(value[0], value[1]), _mm256_add_ps(value[2], value[3]));
}

// ---- statistics ----

// sums[c] += x of `count` pixels. Called with literal count.
PFLD_SPECIALISED void add_pixels(const float *x, ptrdiff_t x_stride, int32_t num_channels, float *sums, const int count)
{
	for (int32_t j = 0; j < num_channels; j += PFLD_LANES) {
		bool is_whole = j + PFLD_LANES <= num_channels;
		__m256i lanes = is_whole ? _mm256_setzero_si256() : pfld_first_lanes(num_channels - j);
		__m256 value[PIXELS];
		for (int i = 0; i < count; i++) value[i] = pfld_load(x + i * x_stride + j, is_whole, lanes);
		__m256 sum = _mm256_add_ps(pfld_load(sums + j, is_whole, lanes), sum_pixels(value, count));
		pfld_store(sums + j, sum, is_whole, lanes);
	}
}

// The sums about the pivot of `count` pixels. Called with literal count.
PFLD_SPECIALISED void add_distances(const float *x, ptrdiff_t x_stride, int32_t num_channels, const float *pivot,
									float *sums, float *squares, const int count)
{
	for (int32_t j = 0; j < num_channels; j += PFLD_LANES) {
		bool is_whole = j + PFLD_LANES <= num_channels;
		__m256i lanes = is_whole ? _mm256_setzero_si256() : pfld_first_lanes(num_channels - j);
		__m256 distance[PIXELS], square[PIXELS], about = pfld_load(pivot + j, is_whole, lanes);
		for (int i = 0; i < count; i++) {
			distance[i] = _mm256_sub_ps(pfld_load(x + i * x_stride + j, is_whole, lanes), about);
			square[i] = _mm256_mul_ps(distance[i], distance[i]);
		}
		__m256 sum = _mm256_add_ps(pfld_load(sums + j, is_whole, lanes), sum_pixels(distance, count));
		__m256 sum2 = _mm256_add_ps(pfld_load(squares + j, is_whole, lanes), sum_pixels(square, count));
		pfld_store(sums + j, sum, is_whole, lanes);
		pfld_store(squares + j, sum2, is_whole, lanes);
	}
}

void pfld_cpu_bn_statistics_avx2(const float *x, ptrdiff_t x_stride, int64_t num_pixels, int32_t num_channels,
								 float *mean, float *m2, float *pivot)
{
	size_t bytes = (size_t)num_channels * sizeof *pivot;
	int64_t num_first = pfld_cpu_pivot_pixels(num_pixels), p = 0;
	memset(pivot, 0, bytes);
	memset(mean, 0, bytes);
	memset(m2, 0, bytes);
	for (; p + PIXELS <= num_first; p += PIXELS) add_pixels(x + p * x_stride, x_stride, num_channels, pivot, PIXELS);
	for (; p < num_first; p++) add_pixels(x + p * x_stride, x_stride, num_channels, pivot, 1);
	for (int32_t j = 0; j < num_channels; j++) pivot[j] /= (float)num_first;
	for (p = 0; p + PIXELS <= num_pixels; p += PIXELS) {
		add_distances(x + p * x_stride, x_stride, num_channels, pivot, mean, m2, PIXELS);
	}
	for (; p < num_pixels; p++) add_distances(x + p * x_stride, x_stride, num_channels, pivot, mean, m2, 1);
	pfld_cpu_finish_statistics(num_pixels, num_channels, pivot, mean, m2);
}

// ---- gradient ----

// Eight channels of what the gradient's passes read per channel.
struct channels {
	bool is_whole;
	__m256i lanes;
	__m256 scale, shift, mean, slope;
};

PFLD_SPECIALISED struct channels load_channels(const struct pfld_cpu_gradient *gradient, int32_t j)
{
	struct channels at = {.is_whole = j + PFLD_LANES <= gradient->num_channels,
						  .slope = _mm256_set1_ps(gradient->slope)};
	at.lanes = at.is_whole ? _mm256_setzero_si256() : pfld_first_lanes(gradient->num_channels - j);
	at.scale = pfld_load(gradient->scale + j, at.is_whole, at.lanes);
	at.shift = pfld_load(gradient->shift + j, at.is_whole, at.lanes);
	at.mean = pfld_load(gradient->mean + j, at.is_whole, at.lanes);
	return at;
}

// dz, and x - mean, of one pixel.
PFLD_SPECIALISED __m256 load_dz(const struct pfld_cpu_gradient *gradient, const struct channels *at, int64_t pixel,
								int32_t j, const enum pfld_act act, __m256 *distance)
{
	__m256 dy = pfld_load(gradient->dy + pixel * gradient->dy_stride + j, at->is_whole, at->lanes);
	__m256 x = pfld_load(gradient->x + pixel * gradient->x_stride + j, at->is_whole, at->lanes);
	*distance = _mm256_sub_ps(x, at->mean);
	return pfld_gate8(act, dy, _mm256_fmadd_ps(at->scale, x, at->shift), at->slope);
}

// Called with literal act and count.
PFLD_SPECIALISED void sum_gradients(const struct pfld_cpu_gradient *gradient, int64_t pixel, float *sum_dz,
									float *sum_dz_x, const enum pfld_act act, const int count)
{
	for (int32_t j = 0; j < gradient->num_channels; j += PFLD_LANES) {
		struct channels at = load_channels(gradient, j);
		__m256 dz[PIXELS], product[PIXELS];
		for (int i = 0; i < count; i++) {
			__m256 distance;
			dz[i] = load_dz(gradient, &at, pixel + i, j, act, &distance);
			product[i] = _mm256_mul_ps(dz[i], distance);
		}
		__m256 sum = _mm256_add_ps(pfld_load(sum_dz + j, at.is_whole, at.lanes), sum_pixels(dz, count));
		__m256 sum_x = _mm256_add_ps(pfld_load(sum_dz_x + j, at.is_whole, at.lanes), sum_pixels(product, count));
		pfld_store(sum_dz + j, sum, at.is_whole, at.lanes);
		pfld_store(sum_dz_x + j, sum_x, at.is_whole, at.lanes);
	}
}

PFLD_SPECIALISED void sum_rows(const struct pfld_cpu_gradient *gradient, float *sum_dz, float *sum_dz_x,
							   const enum pfld_act act)
{
	int64_t p = 0;
	memset(sum_dz, 0, (size_t)gradient->num_channels * sizeof *sum_dz);
	memset(sum_dz_x, 0, (size_t)gradient->num_channels * sizeof *sum_dz_x);
	for (; p + PIXELS <= gradient->num_pixels; p += PIXELS) sum_gradients(gradient, p, sum_dz, sum_dz_x, act, PIXELS);
	for (; p < gradient->num_pixels; p++) sum_gradients(gradient, p, sum_dz, sum_dz_x, act, 1);
}

void pfld_cpu_bn_gradient_sums_avx2(const struct pfld_cpu_gradient *gradient, float *sum_dz, float *sum_dz_x,
									float *scratch)
{
	switch (gradient->act) {
	case PFLD_ACT_NONE: sum_rows(gradient, sum_dz, sum_dz_x, PFLD_ACT_NONE); break;
	case PFLD_ACT_RELU: sum_rows(gradient, sum_dz, sum_dz_x, PFLD_ACT_RELU); break;
	case PFLD_ACT_RELU6: sum_rows(gradient, sum_dz, sum_dz_x, PFLD_ACT_RELU6); break;
	case PFLD_ACT_LEAKY: sum_rows(gradient, sum_dz, sum_dz_x, PFLD_ACT_LEAKY); break;
	default: pfld_cpu_bn_gradient_sums_c(gradient, sum_dz, sum_dz_x, scratch); break;
	}
}

// Called with literal act and count.
PFLD_SPECIALISED void write_gradients(const struct pfld_cpu_gradient *gradient, int64_t pixel, const float *mean_dz,
									  const float *slope_x, const enum pfld_act act, const int count)
{
	for (int32_t j = 0; j < gradient->num_channels; j += PFLD_LANES) {
		struct channels at = load_channels(gradient, j);
		__m256 dz_mean = pfld_load(mean_dz + j, at.is_whole, at.lanes);
		__m256 x_slope = pfld_load(slope_x + j, at.is_whole, at.lanes);
		for (int i = 0; i < count; i++) {
			float *dx = gradient->dx + (pixel + i) * gradient->dx_stride + j;
			__m256 distance, dz = load_dz(gradient, &at, pixel + i, j, act, &distance);
			__m256 value = _mm256_mul_ps(at.scale, _mm256_fnmadd_ps(distance, x_slope, _mm256_sub_ps(dz, dz_mean)));
			if (gradient->add) value = _mm256_add_ps(pfld_load(dx, at.is_whole, at.lanes), value);
			pfld_store(dx, value, at.is_whole, at.lanes);
		}
	}
}

PFLD_SPECIALISED void gradient_rows(const struct pfld_cpu_gradient *gradient, const float *mean_dz,
									const float *slope_x, const enum pfld_act act)
{
	int64_t p = 0;
	for (; p + PIXELS <= gradient->num_pixels; p += PIXELS) write_gradients(gradient, p, mean_dz, slope_x, act, PIXELS);
	for (; p < gradient->num_pixels; p++) write_gradients(gradient, p, mean_dz, slope_x, act, 1);
}

void pfld_cpu_bn_gradient_avx2(const struct pfld_cpu_gradient *gradient, const float *mean_dz, const float *slope_x)
{
	switch (gradient->act) {
	case PFLD_ACT_NONE: gradient_rows(gradient, mean_dz, slope_x, PFLD_ACT_NONE); break;
	case PFLD_ACT_RELU: gradient_rows(gradient, mean_dz, slope_x, PFLD_ACT_RELU); break;
	case PFLD_ACT_RELU6: gradient_rows(gradient, mean_dz, slope_x, PFLD_ACT_RELU6); break;
	case PFLD_ACT_LEAKY: gradient_rows(gradient, mean_dz, slope_x, PFLD_ACT_LEAKY); break;
	default: pfld_cpu_bn_gradient_c(gradient, mean_dz, slope_x); break;
	}
}
