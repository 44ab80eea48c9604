// SPDX-License-Identifier: MIT
// The tables of the AVX2 level. Chosen in device.c.
#include "cpu/kernels.h"

const struct pfld_cpu_row_kernels pfld_cpu_rows_avx2 = {
	.apply = pfld_cpu_apply_avx2,
	.apply_gradient = pfld_cpu_apply_gradient_avx2,
	.slopes_gradient = pfld_cpu_slopes_gradient_avx2,
	.bn_statistics = pfld_cpu_bn_statistics_avx2,
	.bn_gradient_sums = pfld_cpu_bn_gradient_sums_avx2,
	.bn_gradient = pfld_cpu_bn_gradient_avx2,
	.add = pfld_cpu_add_avx2,
	.pool_average = pfld_cpu_pool_average_avx2,
	.pool_max = pfld_cpu_pool_max_avx2,
	.pool_average_gradient = pfld_cpu_pool_average_gradient_avx2,
	.pool_max_gradient = pfld_cpu_pool_max_gradient_avx2,
	.sum_of_squares = pfld_cpu_sum_of_squares_avx2,
	.optimizer_step = pfld_cpu_optimizer_step_avx2,
};

const struct pfld_cpu_kernels pfld_cpu_kernels_avx2 = {
	.level = "avx2",
	.gemm = &pfld_cpu_gemm_avx2,
	.depthwise = &pfld_cpu_depthwise_avx2,
	.rows = &pfld_cpu_rows_avx2,
};
