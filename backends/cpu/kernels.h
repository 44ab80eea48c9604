// SPDX-License-Identifier: MIT
// The table of kernels of one instruction-set level. A device points at one of these for its whole life (device.c); op
// files reach kernels through nothing else.
#ifndef PFLD_CPU_KERNELS_H
#define PFLD_CPU_KERNELS_H

#include "cpu/kernels_conv.h"
#include "cpu/kernels_rows.h"

struct pfld_cpu_kernels {
	const char *level; // "c", "avx2"

	// ---- convolutions (kernels_conv.h) ----
	const struct pfld_cpu_gemm_kernels *gemm;
	const struct pfld_cpu_depthwise_kernels *depthwise;

	// ---- all else (kernels_rows.h) ----
	const struct pfld_cpu_row_kernels *rows;
};

extern const struct pfld_cpu_kernels pfld_cpu_kernels_c, pfld_cpu_kernels_avx2;

#endif
