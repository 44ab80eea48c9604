// SPDX-License-Identifier: MIT
// The tables of the plain C level. Chosen in device.c.
#include "cpu/kernels.h"

const struct pfld_cpu_row_kernels pfld_cpu_rows_c = {
	.apply = pfld_cpu_apply_c,
	.apply_gradient = pfld_cpu_apply_gradient_c,
	.slopes_gradient = pfld_cpu_slopes_gradient_c,
	.bn_statistics = pfld_cpu_bn_statistics_c,
	.bn_gradient_sums = pfld_cpu_bn_gradient_sums_c,
	.bn_gradient = pfld_cpu_bn_gradient_c,
	.add = pfld_cpu_add_c,
	.pool_average = pfld_cpu_pool_average_c,
	.pool_max = pfld_cpu_pool_max_c,
	.pool_average_gradient = pfld_cpu_pool_average_gradient_c,
	.pool_max_gradient = pfld_cpu_pool_max_gradient_c,
	.sum_of_squares = pfld_cpu_sum_of_squares_c,
	.optimizer_step = pfld_cpu_optimizer_step_c,
};

const struct pfld_cpu_kernels pfld_cpu_kernels_c = {
	.level = "c",
	.gemm = &pfld_cpu_gemm_c,
	.depthwise = &pfld_cpu_depthwise_c,
	.rows = &pfld_cpu_rows_c,
};
