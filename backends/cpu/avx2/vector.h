// SPDX-License-Identifier: MIT
// What the AVX2 kernels share: eight floats, or the first few of eight.
#ifndef PFLD_CPU_AVX2_VECTOR_H
#define PFLD_CPU_AVX2_VECTOR_H

#include <immintrin.h>
#include <stdbool.h>
#include <stdint.h>

// Bodies that are specialised by literal arguments: inlined everywhere, or they run at a fraction of their speed.
#define PFLD_SPECIALISED static inline __attribute__((always_inline))

enum { PFLD_LANES = 8 };

// True in the first `count` lanes, 0 <= count <= 8.
PFLD_SPECIALISED __m256i pfld_first_lanes(int32_t count)
{
	static const int32_t bits[2 * PFLD_LANES] = {-1, -1, -1, -1, -1, -1, -1, -1};
	return _mm256_loadu_si256((const __m256i *)(bits + PFLD_LANES - count));
}

// `is_whole`: all lanes are there and `lanes` is not looked at. Lanes that are not there read as zero, and are not
// written.
PFLD_SPECIALISED __m256 pfld_load(const float *place, bool is_whole, __m256i lanes)
{
	return is_whole ? _mm256_loadu_ps(place) : _mm256_maskload_ps(place, lanes);
}
PFLD_SPECIALISED void pfld_store(float *place, __m256 value, bool is_whole, __m256i lanes)
{
	if (is_whole)
		_mm256_storeu_ps(place, value);
	else
		_mm256_maskstore_ps(place, lanes, value);
}

#endif
