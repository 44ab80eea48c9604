// SPDX-License-Identifier: MIT
// The table of the AVX2 level: convolutions have kernels of their own, all else is bound by memory and uses the plain ones.
// Chosen in device.c.
#include "cpu/kernels.h"

const struct pfld_cpu_kernels pfld_cpu_kernels_avx2 = {
	.level = "avx2",
	.gemm = &pfld_cpu_gemm_avx2,
	.depthwise = &pfld_cpu_depthwise_avx2,
	.rows = &pfld_cpu_rows_c,
};
