// SPDX-License-Identifier: MIT
// Windows of pooling with AVX2, eight channels at a time. The contract of each function is in kernels_rows.h.
#include "cpu/avx2/vector.h"
#include "cpu/kernels_rows.h"

// Where x takes the place of the largest so far; a NaN does, and keeps it.
PFLD_SPECIALISED __m256 is_larger(__m256 x, __m256 largest)
{
	return _mm256_or_ps(_mm256_cmp_ps(x, largest, _CMP_GT_OQ), _mm256_cmp_ps(x, x, _CMP_UNORD_Q));
}

void pfld_cpu_pool_average_avx2(const struct pfld_cpu_window *window, float *y)
{
	__m256 num_pixels = _mm256_set1_ps((float)((int64_t)window->num_rows * window->num_columns));
	for (int32_t j = 0; j < window->num_channels; j += PFLD_LANES) {
		bool is_whole = j + PFLD_LANES <= window->num_channels;
		__m256i lanes = is_whole ? _mm256_setzero_si256() : pfld_first_lanes(window->num_channels - j);
		__m256 total = _mm256_setzero_ps();
		for (int32_t row = 0; row < window->num_rows; row++) {
			const float *x = window->x + row * window->x_row_stride + j;
			__m256 sum = _mm256_setzero_ps();
			for (int32_t column = 0; column < window->num_columns; column++, x += window->x_stride) {
				sum = _mm256_add_ps(sum, pfld_load(x, is_whole, lanes));
			}
			total = _mm256_add_ps(total, sum);
		}
		pfld_store(y + j, _mm256_div_ps(total, num_pixels), is_whole, lanes);
	}
}

void pfld_cpu_pool_max_avx2(const struct pfld_cpu_window *window, float *y)
{
	for (int32_t j = 0; j < window->num_channels; j += PFLD_LANES) {
		bool is_whole = j + PFLD_LANES <= window->num_channels;
		__m256i lanes = is_whole ? _mm256_setzero_si256() : pfld_first_lanes(window->num_channels - j);
		__m256 largest = pfld_load(window->x + j, is_whole, lanes);
		for (int32_t row = 0; row < window->num_rows; row++) {
			const float *at = window->x + row * window->x_row_stride + j;
			for (int32_t column = 0; column < window->num_columns; column++, at += window->x_stride) {
				__m256 x = pfld_load(at, is_whole, lanes);
				largest = _mm256_blendv_ps(largest, x, is_larger(x, largest));
			}
		}
		pfld_store(y + j, largest, is_whole, lanes);
	}
}

void pfld_cpu_pool_average_gradient_avx2(const struct pfld_cpu_window *window, const float *dy)
{
	__m256 num_pixels = _mm256_set1_ps((float)((int64_t)window->num_rows * window->num_columns));
	for (int32_t j = 0; j < window->num_channels; j += PFLD_LANES) {
		bool is_whole = j + PFLD_LANES <= window->num_channels;
		__m256i lanes = is_whole ? _mm256_setzero_si256() : pfld_first_lanes(window->num_channels - j);
		__m256 share = _mm256_div_ps(pfld_load(dy + j, is_whole, lanes), num_pixels);
		for (int32_t row = 0; row < window->num_rows; row++) {
			float *dx = window->dx + row * window->dx_row_stride + j;
			for (int32_t column = 0; column < window->num_columns; column++, dx += window->dx_stride) {
				pfld_store(dx, _mm256_add_ps(pfld_load(dx, is_whole, lanes), share), is_whole, lanes);
			}
		}
	}
}

// The number of the pixel in the window (row by row) that holds the first largest, per channel.
PFLD_SPECIALISED __m256i find_largest(const struct pfld_cpu_window *window, int32_t j, bool is_whole, __m256i lanes)
{
	__m256 largest = pfld_load(window->x + j, is_whole, lanes);
	// Nothing replaces a NaN.
	__m256 is_final = _mm256_cmp_ps(largest, largest, _CMP_UNORD_Q);
	__m256i found = _mm256_setzero_si256(), number = _mm256_setzero_si256();
	for (int32_t row = 0; row < window->num_rows; row++) {
		const float *at = window->x + row * window->x_row_stride + j;
		for (int32_t column = 0; column < window->num_columns; column++, at += window->x_stride) {
			__m256 x = pfld_load(at, is_whole, lanes), takes = _mm256_andnot_ps(is_final, is_larger(x, largest));
			largest = _mm256_blendv_ps(largest, x, takes);
			found = _mm256_blendv_epi8(found, number, _mm256_castps_si256(takes));
			is_final = _mm256_cmp_ps(largest, largest, _CMP_UNORD_Q);
			number = _mm256_add_epi32(number, _mm256_set1_epi32(1));
		}
	}
	return found;
}

void pfld_cpu_pool_max_gradient_avx2(const struct pfld_cpu_window *window, const float *dy)
{
	for (int32_t j = 0; j < window->num_channels; j += PFLD_LANES) {
		bool is_whole = j + PFLD_LANES <= window->num_channels;
		__m256i lanes = is_whole ? _mm256_setzero_si256() : pfld_first_lanes(window->num_channels - j);
		__m256i found = find_largest(window, j, is_whole, lanes), number = _mm256_setzero_si256();
		__m256 given = pfld_load(dy + j, is_whole, lanes);
		for (int32_t row = 0; row < window->num_rows; row++) {
			float *dx = window->dx + row * window->dx_row_stride + j;
			for (int32_t column = 0; column < window->num_columns; column++, dx += window->dx_stride) {
				__m256 mine = _mm256_and_ps(given, _mm256_castsi256_ps(_mm256_cmpeq_epi32(found, number)));
				pfld_store(dx, _mm256_add_ps(pfld_load(dx, is_whole, lanes), mine), is_whole, lanes);
				number = _mm256_add_epi32(number, _mm256_set1_epi32(1));
			}
		}
	}
}
