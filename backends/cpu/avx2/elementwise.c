// SPDX-License-Identifier: MIT
// Activations, their gradients, and sums of tensors with AVX2 and FMA. Sigmoid and tanh are left to plain C. The
// contract of each function is in kernels_rows.h.
#include "cpu/avx2/activation.h"
#include "cpu/kernels_rows.h"

// Called with literal act and is_scaled.
PFLD_SPECIALISED void apply_rows(const struct pfld_cpu_apply *apply, const enum pfld_act act, const bool is_scaled)
{
	const float *x = apply->x, *slopes = apply->slopes;
	float *y = apply->y;
	__m256 slope = _mm256_set1_ps(apply->slope);
	for (int64_t p = 0; p < apply->num_pixels; p++, x += apply->x_stride, y += apply->y_stride) {
		for (int32_t j = 0; j < apply->num_channels; j += PFLD_LANES) {
			bool is_whole = j + PFLD_LANES <= apply->num_channels;
			__m256i lanes = is_whole ? _mm256_setzero_si256() : pfld_first_lanes(apply->num_channels - j);
			__m256 z = pfld_load(x + j, is_whole, lanes);
			if (is_scaled) {
				z = _mm256_fmadd_ps(pfld_load(apply->scale + j, is_whole, lanes), z,
									pfld_load(apply->shift + j, is_whole, lanes));
			}
			if (act == PFLD_ACT_PRELU) slope = pfld_load(slopes + j, is_whole, lanes);
			pfld_store(y + j, pfld_act8(act, z, slope), is_whole, lanes);
		}
		if (act == PFLD_ACT_PRELU) slopes += apply->slopes_stride;
	}
}

PFLD_SPECIALISED void apply_as(const struct pfld_cpu_apply *apply, const enum pfld_act act)
{
	if (apply->scale)
		apply_rows(apply, act, true);
	else
		apply_rows(apply, act, false);
}

void pfld_cpu_apply_avx2(const struct pfld_cpu_apply *apply)
{
	switch (apply->act) {
	case PFLD_ACT_NONE: apply_as(apply, PFLD_ACT_NONE); break;
	case PFLD_ACT_RELU: apply_as(apply, PFLD_ACT_RELU); break;
	case PFLD_ACT_RELU6: apply_as(apply, PFLD_ACT_RELU6); break;
	case PFLD_ACT_LEAKY: apply_as(apply, PFLD_ACT_LEAKY); break;
	case PFLD_ACT_PRELU: apply_as(apply, PFLD_ACT_PRELU); break;
	case PFLD_ACT_SIGMOID:
	case PFLD_ACT_TANH: pfld_cpu_apply_c(apply); break;
	}
}

// Called with literal act.
PFLD_SPECIALISED void gradient_rows(const struct pfld_cpu_gradient *gradient, const enum pfld_act act)
{
	const float *dy = gradient->dy, *x = gradient->x, *slopes = gradient->slopes;
	float *dx = gradient->dx;
	__m256 slope = _mm256_set1_ps(gradient->slope);
	for (int64_t p = 0; p < gradient->num_pixels; p++, dy += gradient->dy_stride, dx += gradient->dx_stride) {
		for (int32_t j = 0; j < gradient->num_channels; j += PFLD_LANES) {
			bool is_whole = j + PFLD_LANES <= gradient->num_channels;
			__m256i lanes = is_whole ? _mm256_setzero_si256() : pfld_first_lanes(gradient->num_channels - j);
			__m256 dz = pfld_load(dy + j, is_whole, lanes);
			if (act != PFLD_ACT_NONE) {
				__m256 z = pfld_load(x + j, is_whole, lanes);
				if (gradient->shift) {
					z = _mm256_fmadd_ps(pfld_load(gradient->scale + j, is_whole, lanes), z,
										pfld_load(gradient->shift + j, is_whole, lanes));
				}
				if (act == PFLD_ACT_PRELU) slope = pfld_load(slopes + j, is_whole, lanes);
				dz = pfld_gate8(act, dz, z, slope);
			}
			if (gradient->scale) dz = _mm256_mul_ps(pfld_load(gradient->scale + j, is_whole, lanes), dz);
			if (gradient->add) dz = _mm256_add_ps(pfld_load(dx + j, is_whole, lanes), dz);
			pfld_store(dx + j, dz, is_whole, lanes);
		}
		if (act != PFLD_ACT_NONE) x += gradient->x_stride;
		if (act == PFLD_ACT_PRELU) slopes += gradient->slopes_stride;
	}
}

void pfld_cpu_apply_gradient_avx2(const struct pfld_cpu_gradient *gradient)
{
	switch (gradient->act) {
	case PFLD_ACT_NONE: gradient_rows(gradient, PFLD_ACT_NONE); break;
	case PFLD_ACT_RELU: gradient_rows(gradient, PFLD_ACT_RELU); break;
	case PFLD_ACT_RELU6: gradient_rows(gradient, PFLD_ACT_RELU6); break;
	case PFLD_ACT_LEAKY: gradient_rows(gradient, PFLD_ACT_LEAKY); break;
	case PFLD_ACT_PRELU: gradient_rows(gradient, PFLD_ACT_PRELU); break;
	case PFLD_ACT_SIGMOID:
	case PFLD_ACT_TANH: pfld_cpu_apply_gradient_c(gradient); break;
	}
}

void pfld_cpu_slopes_gradient_avx2(const struct pfld_cpu_gradient *gradient, float *sums, ptrdiff_t sums_stride)
{
	const float *dy = gradient->dy, *x = gradient->x;
	__m256 zero = _mm256_setzero_ps();
	for (int64_t p = 0; p < gradient->num_pixels; p++) {
		for (int32_t j = 0; j < gradient->num_channels; j += PFLD_LANES) {
			bool is_whole = j + PFLD_LANES <= gradient->num_channels;
			__m256i lanes = is_whole ? _mm256_setzero_si256() : pfld_first_lanes(gradient->num_channels - j);
			__m256 z = pfld_load(x + j, is_whole, lanes);
			if (gradient->shift) {
				z = _mm256_fmadd_ps(pfld_load(gradient->scale + j, is_whole, lanes), z,
									pfld_load(gradient->shift + j, is_whole, lanes));
			}
			__m256 product = _mm256_mul_ps(pfld_load(dy + j, is_whole, lanes), z);
			product = _mm256_andnot_ps(_mm256_cmp_ps(z, zero, _CMP_GT_OQ), product);
			pfld_store(sums + j, _mm256_add_ps(pfld_load(sums + j, is_whole, lanes), product), is_whole, lanes);
		}
		dy += gradient->dy_stride;
		x += gradient->x_stride;
		sums += sums_stride;
	}
}

// Called with literal num_src where it is small.
PFLD_SPECIALISED void add_rows(const struct pfld_cpu_add *add, const int32_t num_src)
{
	for (int64_t p = 0; p < add->num_pixels; p++) {
		float *y = add->y + p * add->y_stride;
		for (int32_t j = 0; j < add->num_channels; j += PFLD_LANES) {
			bool is_whole = j + PFLD_LANES <= add->num_channels;
			__m256i lanes = is_whole ? _mm256_setzero_si256() : pfld_first_lanes(add->num_channels - j);
			__m256 sum = _mm256_mul_ps(_mm256_set1_ps(add->scale[0]),
									   pfld_load(add->x[0] + p * add->x_stride[0] + j, is_whole, lanes));
			if (add->add) sum = _mm256_add_ps(pfld_load(y + j, is_whole, lanes), sum);
			for (int32_t i = 1; i < num_src; i++) {
				__m256 x = pfld_load(add->x[i] + p * add->x_stride[i] + j, is_whole, lanes);
				sum = _mm256_add_ps(sum, _mm256_mul_ps(_mm256_set1_ps(add->scale[i]), x));
			}
			pfld_store(y + j, sum, is_whole, lanes);
		}
	}
}

void pfld_cpu_add_avx2(const struct pfld_cpu_add *add)
{
	switch (add->num_src) {
	case 1: add_rows(add, 1); break;
	case 2: add_rows(add, 2); break;
	default: add_rows(add, add->num_src); break;
	}
}
