// SPDX-License-Identifier: MIT
// Windows of pooling in plain C: the reference of every other level, and in double precision the oracle of the tests.
// The contract of each function is in kernels_rows.h.
#include "cpu/kernels_rows.h"

enum { CHANNELS = 16 }; // at a time: a cache line of floats

void pfld_cpu_pool_average_c(const struct pfld_cpu_window *window, pfld_real *y)
{
	pfld_real num_pixels = (pfld_real)((int64_t)window->num_rows * window->num_columns);
	for (int32_t first = 0; first < window->num_channels; first += CHANNELS) {
		int32_t num = PFLD_MIN(CHANNELS, window->num_channels - first);
		pfld_real total[CHANNELS] = {0};
		for (int32_t row = 0; row < window->num_rows; row++) {
			const pfld_real *x = window->x + first + row * window->x_row_stride;
			pfld_real sum[CHANNELS] = {0};
			for (int32_t column = 0; column < window->num_columns; column++, x += window->x_stride) {
				for (int32_t j = 0; j < num; j++) sum[j] += x[j];
			}
			for (int32_t j = 0; j < num; j++) total[j] += sum[j];
		}
		for (int32_t j = 0; j < num; j++) y[first + j] = total[j] / num_pixels;
	}
}

// Whether x takes the place of the largest so far; a NaN does, and keeps it.
static bool is_larger(pfld_real x, pfld_real largest)
{
	return x > largest || x != x;
}

void pfld_cpu_pool_max_c(const struct pfld_cpu_window *window, pfld_real *y)
{
	for (int32_t first = 0; first < window->num_channels; first += CHANNELS) {
		int32_t num = PFLD_MIN(CHANNELS, window->num_channels - first);
		pfld_real largest[CHANNELS];
		for (int32_t j = 0; j < num; j++) largest[j] = window->x[first + j];
		for (int32_t row = 0; row < window->num_rows; row++) {
			const pfld_real *x = window->x + first + row * window->x_row_stride;
			for (int32_t column = 0; column < window->num_columns; column++, x += window->x_stride) {
				for (int32_t j = 0; j < num; j++) largest[j] = is_larger(x[j], largest[j]) ? x[j] : largest[j];
			}
		}
		for (int32_t j = 0; j < num; j++) y[first + j] = largest[j];
	}
}

void pfld_cpu_pool_average_gradient_c(const struct pfld_cpu_window *window, const pfld_real *dy)
{
	pfld_real num_pixels = (pfld_real)((int64_t)window->num_rows * window->num_columns);
	for (int32_t row = 0; row < window->num_rows; row++) {
		pfld_real *dx = window->dx + row * window->dx_row_stride;
		for (int32_t column = 0; column < window->num_columns; column++, dx += window->dx_stride) {
			for (int32_t j = 0; j < window->num_channels; j++) dx[j] += dy[j] / num_pixels;
		}
	}
}

void pfld_cpu_pool_max_gradient_c(const struct pfld_cpu_window *window, const pfld_real *dy)
{
	for (int32_t j = 0; j < window->num_channels; j++) {
		pfld_real largest = window->x[j];
		int32_t at_row = 0, at_column = 0;
		bool is_nan = largest != largest; // the first NaN is the largest
		for (int32_t row = 0; row < window->num_rows && !is_nan; row++) {
			const pfld_real *x = window->x + row * window->x_row_stride + j;
			for (int32_t column = 0; column < window->num_columns && !is_nan; column++, x += window->x_stride) {
				if (!is_larger(*x, largest)) continue;
				largest = *x;
				at_row = row;
				at_column = column;
				is_nan = largest != largest;
			}
		}
		window->dx[at_row * window->dx_row_stride + at_column * window->dx_stride + j] += dy[j];
	}
}
