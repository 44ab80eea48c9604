// SPDX-License-Identifier: MIT
// Activations and their gradients for eight elements, included by the files of avx2/ that need them. `act` is a literal
// wherever these are called, and none of those that are left to plain C. The same numbers as c/activation.h, NaN
// included.
#ifndef PFLD_CPU_AVX2_ACTIVATION_H
#define PFLD_CPU_AVX2_ACTIVATION_H

#include "cpu/avx2/vector.h"
#include "device/op.h"

PFLD_SPECIALISED __m256 pfld_act8(const enum pfld_act act, __m256 z, __m256 slope)
{
	__m256 zero = _mm256_setzero_ps();
	switch (act) {
	case PFLD_ACT_RELU: return _mm256_max_ps(zero, z); // of a NaN: the second
	case PFLD_ACT_RELU6: return _mm256_min_ps(_mm256_set1_ps(6), _mm256_max_ps(zero, z));
	case PFLD_ACT_LEAKY:
	case PFLD_ACT_PRELU: return _mm256_blendv_ps(_mm256_mul_ps(slope, z), z, _mm256_cmp_ps(z, zero, _CMP_GT_OQ));
	default: return z;
	}
}

PFLD_SPECIALISED __m256 pfld_gate8(const enum pfld_act act, __m256 dy, __m256 z, __m256 slope)
{
	__m256 is_positive = _mm256_cmp_ps(z, _mm256_setzero_ps(), _CMP_GT_OQ);
	switch (act) {
	case PFLD_ACT_RELU: return _mm256_and_ps(dy, is_positive);
	case PFLD_ACT_RELU6:
		return _mm256_and_ps(dy, _mm256_and_ps(is_positive, _mm256_cmp_ps(z, _mm256_set1_ps(6), _CMP_LT_OQ)));
	case PFLD_ACT_LEAKY:
	case PFLD_ACT_PRELU: return _mm256_blendv_ps(_mm256_mul_ps(slope, dy), dy, is_positive);
	default: return dy;
	}
}

#endif
