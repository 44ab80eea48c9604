// SPDX-License-Identifier: MIT
// Matrix product panels in plain C: the reference of every other level, and in double precision the oracle of the
// tests. The contract of each function is in kernels_conv.h.
#include "cpu/kernels_conv.h"

enum { ROWS = 4, COLUMNS = 8 };

// Rows [row, row + num_rows) of C; element (i, k) of A lies at a[i * a_row + k * a_step]. Called with literal num_rows.
static inline void multiply_tile(const struct pfld_cpu_gemm_panel *panel, int32_t row, const int32_t num_rows,
                                 ptrdiff_t a_row, ptrdiff_t a_step)
{
	pfld_real sum[ROWS][COLUMNS] = {{0}};
	const pfld_real *a = panel->a + row * a_row, *b = panel->b;
	for (int32_t k = 0; k < panel->num_steps; k++, a += a_step, b += COLUMNS)
		for (int32_t i = 0; i < num_rows; i++)
			for (int32_t j = 0; j < COLUMNS; j++) sum[i][j] += a[i * a_row] * b[j];
	for (int32_t i = 0; i < num_rows; i++) {
		pfld_real *c = panel->c + (row + i) * panel->c_stride;
		for (int32_t j = 0; j < panel->num_columns; j++) {
			pfld_real value = sum[i][j];
			if (panel->bias) value += panel->bias[j];
			c[j] = panel->add ? c[j] + value : value;
		}
	}
}

static void multiply_c(const struct pfld_cpu_gemm_panel *panel)
{
	int32_t row = 0;
	for (; row + ROWS <= panel->num_rows; row += ROWS) multiply_tile(panel, row, ROWS, panel->a_stride, 1);
	for (; row < panel->num_rows; row++) multiply_tile(panel, row, 1, panel->a_stride, 1);
}

static void multiply_transposed_c(const struct pfld_cpu_gemm_panel *panel)
{
	int32_t row = 0;
	for (; row + ROWS <= panel->num_rows; row += ROWS) multiply_tile(panel, row, ROWS, 1, panel->a_stride);
	for (; row < panel->num_rows; row++) multiply_tile(panel, row, 1, 1, panel->a_stride);
}

static void pack_c(pfld_real *packed, const pfld_real *b, ptrdiff_t b_stride, int32_t num_steps, int32_t num_columns)
{
	for (int32_t column = 0; column < num_columns; column += COLUMNS) {
		int32_t num = PFLD_MIN(COLUMNS, num_columns - column);
		for (int32_t k = 0; k < num_steps; k++, packed += COLUMNS)
			for (int32_t j = 0; j < COLUMNS; j++) packed[j] = j < num ? b[k * b_stride + column + j] : 0;
	}
}

static void pack_transposed_c(pfld_real *packed, const pfld_real *b, ptrdiff_t b_stride, int32_t num_steps,
                              int32_t num_columns)
{
	for (int32_t column = 0; column < num_columns; column += COLUMNS) {
		int32_t num = PFLD_MIN(COLUMNS, num_columns - column);
		for (int32_t k = 0; k < num_steps; k++, packed += COLUMNS)
			for (int32_t j = 0; j < COLUMNS; j++) packed[j] = j < num ? b[(column + j) * b_stride + k] : 0;
	}
}

const struct pfld_cpu_gemm_kernels pfld_cpu_gemm_c = {
	.columns = COLUMNS,
	.multiply = multiply_c,
	.multiply_transposed = multiply_transposed_c,
	.pack = pack_c,
	.pack_transposed = pack_transposed_c,
};
