// SPDX-License-Identifier: MIT
// The list of backends of this build: the only file that names them. Read by lib/device/device.c.
#include "cpu/backend.h"

const struct pfld_backend *const pfld_backends[] = {
	&pfld_cpu_backend,
	NULL,
};
