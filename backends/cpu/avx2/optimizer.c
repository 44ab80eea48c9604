// SPDX-License-Identifier: MIT
// The steps of SGD and Adam, and the norm of gradients, with AVX2 and FMA; other optimizers are left to plain C. The
// contract of each function is in kernels_rows.h.
#include "cpu/avx2/vector.h"
#include "cpu/kernels_rows.h"
#include <pfld/optimizer.h>

double pfld_cpu_sum_of_squares_avx2(const float *x, int64_t count)
{
	__m256d low = _mm256_setzero_pd(), high = _mm256_setzero_pd();
	for (int64_t i = 0; i < count; i += PFLD_LANES) {
		bool is_whole = i + PFLD_LANES <= count;
		__m256i lanes = is_whole ? _mm256_setzero_si256() : pfld_first_lanes((int32_t)(count - i));
		__m256 value = pfld_load(x + i, is_whole, lanes);
		__m256d a = _mm256_cvtps_pd(_mm256_castps256_ps128(value)),
				b = _mm256_cvtps_pd(_mm256_extractf128_ps(value, 1));
		low = _mm256_fmadd_pd(a, a, low);
		high = _mm256_fmadd_pd(b, b, high);
	}
	double sums[4];
	_mm256_storeu_pd(sums, _mm256_add_pd(low, high));
	return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

// The gradient as the formulas take it: scaled, cut, decayed.
PFLD_SPECIALISED __m256 load_gradient(const struct pfld_cpu_step *step, int64_t i, __m256 p, bool is_whole,
									  __m256i lanes)
{
	__m256 g = _mm256_mul_ps(pfld_load(step->g + i, is_whole, lanes), _mm256_set1_ps(step->gradient_scale));
	g = _mm256_min_ps(_mm256_set1_ps(step->clip_value), _mm256_max_ps(_mm256_set1_ps(-step->clip_value), g));
	return _mm256_fmadd_ps(_mm256_set1_ps(step->weight_decay), p, g);
}

static void sgd(const struct pfld_cpu_step *step)
{
	__m256 rate = _mm256_set1_ps(step->learning_rate), momentum = _mm256_set1_ps(step->momentum);
	for (int64_t i = 0; i < step->count; i += PFLD_LANES) {
		bool is_whole = i + PFLD_LANES <= step->count;
		__m256i lanes = is_whole ? _mm256_setzero_si256() : pfld_first_lanes((int32_t)(step->count - i));
		__m256 p = pfld_load(step->p + i, is_whole, lanes), g = load_gradient(step, i, p, is_whole, lanes),
			   direction = g;
		if (step->state) {
			__m256 velocity = _mm256_fmadd_ps(momentum, pfld_load(step->state + i, is_whole, lanes), g);
			pfld_store(step->state + i, velocity, is_whole, lanes);
			direction = step->nesterov ? _mm256_fmadd_ps(momentum, velocity, g) : velocity;
		}
		p = _mm256_fnmadd_ps(rate, direction, _mm256_mul_ps(p, _mm256_set1_ps(step->keep)));
		pfld_store(step->p + i, p, is_whole, lanes);
	}
}

static void adam(const struct pfld_cpu_step *step)
{
	__m256 beta1 = _mm256_set1_ps(step->beta1), beta1_rest = _mm256_set1_ps(step->beta1_rest);
	__m256 beta2 = _mm256_set1_ps(step->beta2), beta2_rest = _mm256_set1_ps(step->beta2_rest);
	__m256 correction = _mm256_set1_ps(step->second_correction), epsilon = _mm256_set1_ps(step->epsilon);
	__m256 rate = _mm256_set1_ps(step->learning_rate), keep = _mm256_set1_ps(step->keep);
	for (int64_t i = 0; i < step->count; i += PFLD_LANES) {
		bool is_whole = i + PFLD_LANES <= step->count;
		__m256i lanes = is_whole ? _mm256_setzero_si256() : pfld_first_lanes((int32_t)(step->count - i));
		__m256 p = pfld_load(step->p + i, is_whole, lanes), g = load_gradient(step, i, p, is_whole, lanes);
		__m256 m = pfld_load(step->state + i, is_whole, lanes), v = pfld_load(step->second + i, is_whole, lanes);
		m = _mm256_add_ps(_mm256_mul_ps(beta1, m), _mm256_mul_ps(beta1_rest, g));
		v = _mm256_add_ps(_mm256_mul_ps(beta2, v), _mm256_mul_ps(_mm256_mul_ps(beta2_rest, g), g));
		__m256 root = _mm256_add_ps(_mm256_div_ps(_mm256_sqrt_ps(v), correction), epsilon);
		p = _mm256_sub_ps(_mm256_mul_ps(p, keep), _mm256_div_ps(_mm256_mul_ps(rate, m), root));
		pfld_store(step->state + i, m, is_whole, lanes);
		pfld_store(step->second + i, v, is_whole, lanes);
		pfld_store(step->p + i, p, is_whole, lanes);
	}
}

void pfld_cpu_optimizer_step_avx2(const struct pfld_cpu_step *step)
{
	switch ((enum pfld_optimizer_kind)step->kind) {
	case PFLD_SGD: sgd(step); break;
	case PFLD_ADAM:
	case PFLD_ADAMW: adam(step); break;
	default: pfld_cpu_optimizer_step_c(step); break;
	}
}
