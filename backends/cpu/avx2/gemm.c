// SPDX-License-Identifier: MIT
// Matrix product panels with AVX2 and FMA: tiles of 6 rows by 16 columns, twelve sums in registers. The contract of
// each function is in kernels_conv.h. Compiled with flags of its own; only reached after the processor has been asked.
#include "cpu/kernels_conv.h"

#include "cpu/avx2/vector.h"

enum { ROWS = 6, COLUMNS = 16, MAX_VECTORS = COLUMNS / PFLD_LANES };

struct tile {
	const float *a, *b;
	float *c;
	ptrdiff_t a_row, a_step; // element (i, k) of A is a[i * a_row + k * a_step]
};

// Sums to C for one row: one vector of columns.
PFLD_SPECIALISED void finish(const struct pfld_cpu_gemm_panel *panel, float *c, __m256 sum, int32_t column,
                             bool is_whole, __m256i lanes)
{
	if (panel->bias) sum = _mm256_add_ps(sum, pfld_load(panel->bias + column, is_whole, lanes));
	if (panel->add) sum = _mm256_add_ps(pfld_load(c + column, is_whole, lanes), sum);
	pfld_store(c + column, sum, is_whole, lanes);
}

// num_rows and num_vectors are literals at every call.
PFLD_SPECIALISED void multiply_tile(const struct pfld_cpu_gemm_panel *panel, struct tile tile, const int num_rows,
                                    const int num_vectors)
{
	__m256 sums[ROWS][MAX_VECTORS];
	for (int i = 0; i < num_rows; i++)
		for (int j = 0; j < num_vectors; j++) sums[i][j] = _mm256_setzero_ps();
#pragma GCC unroll 2 // few processors issue more than the loop needs besides
	for (int32_t k = 0; k < panel->num_steps; k++) {
		__m256 b[MAX_VECTORS];
		for (int j = 0; j < num_vectors; j++) b[j] = _mm256_loadu_ps(tile.b + j * PFLD_LANES);
		for (int i = 0; i < num_rows; i++) {
			__m256 a = _mm256_broadcast_ss(tile.a + i * tile.a_row);
			for (int j = 0; j < num_vectors; j++) sums[i][j] = _mm256_fmadd_ps(a, b[j], sums[i][j]);
		}
		tile.a += tile.a_step;
		tile.b += COLUMNS;
	}
	int32_t last = panel->num_columns - (num_vectors - 1) * PFLD_LANES;
	bool is_whole = last == PFLD_LANES;
	__m256i lanes = pfld_first_lanes(last);
#pragma GCC unroll 6 // or the sums go through memory
	for (int i = 0; i < num_rows; i++, tile.c += panel->c_stride)
		for (int j = 0; j < num_vectors; j++)
			finish(panel, tile.c, sums[i][j], j * PFLD_LANES, is_whole || j < num_vectors - 1, lanes);
}

PFLD_SPECIALISED void multiply_rows(const struct pfld_cpu_gemm_panel *panel, struct tile tile, int32_t num_rows,
                                    const int num_vectors)
{
	switch (num_rows) {
	case 1: multiply_tile(panel, tile, 1, num_vectors); break;
	case 2: multiply_tile(panel, tile, 2, num_vectors); break;
	case 3: multiply_tile(panel, tile, 3, num_vectors); break;
	case 4: multiply_tile(panel, tile, 4, num_vectors); break;
	case 5: multiply_tile(panel, tile, 5, num_vectors); break;
	default: multiply_tile(panel, tile, ROWS, num_vectors); break;
	}
}

// What is left over is shared out evenly: 8 rows are 4 and 4, since few rows do not keep the multipliers busy.
PFLD_SPECIALISED void multiply_panel(const struct pfld_cpu_gemm_panel *panel, ptrdiff_t a_row, ptrdiff_t a_step)
{
	struct tile tile = {panel->a, panel->b, panel->c, a_row, a_step};
	for (int32_t left = panel->num_rows; left > 0;) {
		int32_t num_rows = left >= 2 * ROWS ? ROWS : left > ROWS ? (left + 1) / 2 : left;
		if (panel->num_columns > PFLD_LANES)
			multiply_rows(panel, tile, num_rows, 2);
		else
			multiply_rows(panel, tile, num_rows, 1);
		tile.a += num_rows * a_row;
		tile.c += num_rows * panel->c_stride;
		left -= num_rows;
	}
}

static void multiply_avx2(const struct pfld_cpu_gemm_panel *panel)
{
	multiply_panel(panel, panel->a_stride, 1);
}

static void multiply_transposed_avx2(const struct pfld_cpu_gemm_panel *panel)
{
	multiply_panel(panel, 1, panel->a_stride);
}

// Row by row, so that B is read from front to back.
static void pack_avx2(float *packed, const float *b, ptrdiff_t b_stride, int32_t num_steps, int32_t num_columns)
{
	int32_t whole = num_columns / COLUMNS, rest = num_columns % COLUMNS;
	ptrdiff_t panel = (ptrdiff_t)num_steps * COLUMNS;
	__m256i low = pfld_first_lanes(PFLD_MIN(rest, PFLD_LANES)), high = pfld_first_lanes(PFLD_MAX(rest - PFLD_LANES, 0));
	for (int32_t k = 0; k < num_steps; k++, packed += COLUMNS, b += b_stride) {
		const float *from = b;
		float *to = packed;
		for (int32_t i = 0; i < whole; i++, from += COLUMNS, to += panel) {
			_mm256_storeu_ps(to, _mm256_loadu_ps(from));
			_mm256_storeu_ps(to + PFLD_LANES, _mm256_loadu_ps(from + PFLD_LANES));
		}
		if (rest) {
			_mm256_storeu_ps(to, _mm256_maskload_ps(from, low));
			_mm256_storeu_ps(to + PFLD_LANES, _mm256_maskload_ps(from + PFLD_LANES, high));
		}
	}
}

// 8 rows of 8 elements, b_stride apart, to columns of 8, COLUMNS apart.
static void transpose_8x8(float *packed, const float *b, ptrdiff_t b_stride)
{
	__m256 r[8], s[8];
	for (int i = 0; i < 8; i++) r[i] = _mm256_loadu_ps(b + i * b_stride);
	for (int i = 0; i < 8; i += 2) {
		s[i] = _mm256_unpacklo_ps(r[i], r[i + 1]);
		s[i + 1] = _mm256_unpackhi_ps(r[i], r[i + 1]);
	}
	for (int i = 0; i < 8; i += 4) {
		r[i] = _mm256_shuffle_ps(s[i], s[i + 2], 0x44);
		r[i + 1] = _mm256_shuffle_ps(s[i], s[i + 2], 0xee);
		r[i + 2] = _mm256_shuffle_ps(s[i + 1], s[i + 3], 0x44);
		r[i + 3] = _mm256_shuffle_ps(s[i + 1], s[i + 3], 0xee);
	}
	for (int i = 0; i < 4; i++) {
		_mm256_storeu_ps(packed + i * COLUMNS, _mm256_permute2f128_ps(r[i], r[i + 4], 0x20));
		_mm256_storeu_ps(packed + (i + 4) * COLUMNS, _mm256_permute2f128_ps(r[i], r[i + 4], 0x31));
	}
}

static void pack_transposed_avx2(float *packed, const float *b, ptrdiff_t b_stride, int32_t num_steps,
                                 int32_t num_columns)
{
	int32_t num_panels = (num_columns + COLUMNS - 1) / COLUMNS;
	for (int32_t column = 0; column < num_panels * COLUMNS; column += PFLD_LANES) {
		int32_t num = PFLD_MIN(PFLD_MAX(num_columns - column, 0), PFLD_LANES), k = 0;
		float *to = packed + (ptrdiff_t)(column / COLUMNS) * num_steps * COLUMNS + column % COLUMNS;
		const float *rows = b + (num ? column * b_stride : 0);
		for (; num == PFLD_LANES && k + PFLD_LANES <= num_steps; k += PFLD_LANES)
			transpose_8x8(to + k * COLUMNS, rows + k, b_stride);
		for (; k < num_steps; k++)
			for (int32_t j = 0; j < PFLD_LANES; j++) to[k * COLUMNS + j] = j < num ? rows[j * b_stride + k] : 0;
	}
}

const struct pfld_cpu_gemm_kernels pfld_cpu_gemm_avx2 = {
	.columns = COLUMNS,
	.multiply = multiply_avx2,
	.multiply_transposed = multiply_transposed_avx2,
	.pack = pack_avx2,
	.pack_transposed = pack_transposed_avx2,
};
