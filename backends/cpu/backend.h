// SPDX-License-Identifier: MIT
// What the cpu backend shows to backends.c.
#ifndef PFLD_CPU_BACKEND_H
#define PFLD_CPU_BACKEND_H

#include "device/backend.h"

extern const struct pfld_backend pfld_cpu_backend;

#endif
