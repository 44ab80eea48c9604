// SPDX-License-Identifier: MIT
// What the opencl backend shows to backends.c.
#ifndef PFLD_OPENCL_BACKEND_H
#define PFLD_OPENCL_BACKEND_H

#include "device/backend.h"

extern const struct pfld_backend pfld_opencl_backend;

#endif
