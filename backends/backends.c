// SPDX-License-Identifier: MIT
// The list of backends of this build: the only file that names them. Read by lib/device/device.c.
#include "cpu/backend.h"
#include "pfld_config.h"
#if PFLD_HAVE_OPENCL && !defined(PFLD_DOUBLE) // the double build is the cpu's alone
#include "opencl/backend.h"
#define HAS_OPENCL 1
#else
#define HAS_OPENCL 0
#endif

const struct pfld_backend *const pfld_backends[] = {
	&pfld_cpu_backend,
#if HAS_OPENCL
	&pfld_opencl_backend,
#endif
	NULL,
};
