// SPDX-License-Identifier: MIT
// The floating-point mode of the calling thread: ours while we compute (round to nearest, denormal numbers kept, no
// traps), the host's own again on return.
#ifndef PFLD_BASE_FLOAT_MODE_H
#define PFLD_BASE_FLOAT_MODE_H

#include <fenv.h>

struct pfld_float_mode {
	fenv_t host;
};
static inline void pfld_float_mode_enter(struct pfld_float_mode *mode)
{
	fegetenv(&mode->host);
	fesetenv(FE_DFL_ENV);
}
static inline void pfld_float_mode_leave(const struct pfld_float_mode *mode)
{
	fesetenv(&mode->host);
}

#endif
