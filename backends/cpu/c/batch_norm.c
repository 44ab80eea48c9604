// SPDX-License-Identifier: MIT
// Batch norm's passes over pixels in plain C: the reference of every other level, and in double precision the oracle of
// the tests. The contract of each function is in kernels_rows.h.
#include "cpu/c/activation.h"
#include "cpu/kernels_rows.h"

#include <string.h>

// Sums of x - pivot and of its square. The pivot is the mean of the first pixels, an eighth of them and at least eight:
// so it takes away the digits that a large mean would cost, and as those pixels count among the squared distances
// themselves, sums about it are at most nine times as large as sums about the true mean, however odd they are.
void pfld_cpu_bn_statistics_c(const pfld_real *x, ptrdiff_t x_stride, int64_t num_pixels, int32_t num_channels,
							  pfld_real *mean, pfld_real *m2, pfld_real *pivot)
{
	size_t bytes = (size_t)num_channels * sizeof *pivot;
	int64_t num_first = pfld_cpu_pivot_pixels(num_pixels);
	memset(pivot, 0, bytes);
	memset(mean, 0, bytes);
	memset(m2, 0, bytes);
	for (int64_t p = 0; p < num_first; p++) {
		for (int32_t j = 0; j < num_channels; j++) pivot[j] += x[p * x_stride + j];
	}
	for (int32_t j = 0; j < num_channels; j++) pivot[j] /= (pfld_real)num_first;
	for (int64_t p = 0; p < num_pixels; p++) {
		for (int32_t j = 0; j < num_channels; j++) {
			pfld_real distance = x[p * x_stride + j] - pivot[j];
			mean[j] += distance;
			m2[j] += distance * distance;
		}
	}
	pfld_cpu_finish_statistics(num_pixels, num_channels, pivot, mean, m2);
}

// Called with literal act. Sums of some pixels first, then of those sums: shorter chains lose less.
static inline void sum_rows(const struct pfld_cpu_gradient *gradient, const enum pfld_act act, pfld_real *sum_dz,
							pfld_real *sum_dz_x, pfld_real *scratch)
{
	enum { STEP = 32 };
	int32_t num_channels = gradient->num_channels;
	size_t bytes = (size_t)num_channels * sizeof *scratch;
	pfld_real *part_dz = scratch, *part_dz_x = scratch + num_channels;
	memset(sum_dz, 0, bytes);
	memset(sum_dz_x, 0, bytes);
	for (int64_t first = 0; first < gradient->num_pixels; first += STEP) {
		int64_t end = PFLD_MIN(first + STEP, gradient->num_pixels);
		memset(scratch, 0, 2 * bytes);
		for (int64_t p = first; p < end; p++) {
			const pfld_real *dy = gradient->dy + p * gradient->dy_stride, *x = gradient->x + p * gradient->x_stride;
			for (int32_t j = 0; j < num_channels; j++) {
				pfld_real dz = pfld_cpu_dz(gradient, act, dy, x, NULL, j);
				part_dz[j] += dz;
				part_dz_x[j] += dz * (x[j] - gradient->mean[j]);
			}
		}
		for (int32_t j = 0; j < num_channels; j++) {
			sum_dz[j] += part_dz[j];
			sum_dz_x[j] += part_dz_x[j];
		}
	}
}

void pfld_cpu_bn_gradient_sums_c(const struct pfld_cpu_gradient *gradient, pfld_real *sum_dz, pfld_real *sum_dz_x,
								 pfld_real *scratch)
{
	switch (gradient->act) {
	case PFLD_ACT_NONE: sum_rows(gradient, PFLD_ACT_NONE, sum_dz, sum_dz_x, scratch); break;
	case PFLD_ACT_RELU: sum_rows(gradient, PFLD_ACT_RELU, sum_dz, sum_dz_x, scratch); break;
	case PFLD_ACT_RELU6: sum_rows(gradient, PFLD_ACT_RELU6, sum_dz, sum_dz_x, scratch); break;
	case PFLD_ACT_LEAKY: sum_rows(gradient, PFLD_ACT_LEAKY, sum_dz, sum_dz_x, scratch); break;
	default: sum_rows(gradient, gradient->act, sum_dz, sum_dz_x, scratch); break;
	}
}

// Called with literal act.
static inline void gradient_rows(const struct pfld_cpu_gradient *gradient, const enum pfld_act act,
								 const pfld_real *mean_dz, const pfld_real *slope_x)
{
	for (int64_t p = 0; p < gradient->num_pixels; p++) {
		const pfld_real *dy = gradient->dy + p * gradient->dy_stride, *x = gradient->x + p * gradient->x_stride;
		pfld_real *dx = gradient->dx + p * gradient->dx_stride;
		for (int32_t j = 0; j < gradient->num_channels; j++) {
			pfld_real dz = pfld_cpu_dz(gradient, act, dy, x, NULL, j);
			pfld_real value = gradient->scale[j] * ((dz - mean_dz[j]) - (x[j] - gradient->mean[j]) * slope_x[j]);
			dx[j] = gradient->add ? dx[j] + value : value;
		}
	}
}

void pfld_cpu_bn_gradient_c(const struct pfld_cpu_gradient *gradient, const pfld_real *mean_dz,
							const pfld_real *slope_x)
{
	switch (gradient->act) {
	case PFLD_ACT_NONE: gradient_rows(gradient, PFLD_ACT_NONE, mean_dz, slope_x); break;
	case PFLD_ACT_RELU: gradient_rows(gradient, PFLD_ACT_RELU, mean_dz, slope_x); break;
	case PFLD_ACT_RELU6: gradient_rows(gradient, PFLD_ACT_RELU6, mean_dz, slope_x); break;
	case PFLD_ACT_LEAKY: gradient_rows(gradient, PFLD_ACT_LEAKY, mean_dz, slope_x); break;
	default: gradient_rows(gradient, gradient->act, mean_dz, slope_x); break;
	}
}
