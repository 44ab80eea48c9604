// SPDX-License-Identifier: MIT
// The table of kernels of one instruction-set level. A device points at one of these for its whole life (device.c); op
// files reach kernels through nothing else.
#ifndef PFLD_CPU_KERNELS_H
#define PFLD_CPU_KERNELS_H

#include "cpu/kernels_conv.h"

struct pfld_cpu_kernels {
	const char *level; // "c", "avx2"

	// ---- convolutions (kernels_conv.h) ----
	const struct pfld_cpu_gemm_kernels *gemm;
	const struct pfld_cpu_depthwise_kernels *depthwise;
};

#endif
