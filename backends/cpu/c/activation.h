// SPDX-License-Identifier: MIT
// Activations and their gradients for one element, in plain C; included by the files of c/ that need them. `act` is a
// literal wherever these are called in a loop. A NaN comes out as NaN, so that a broken net shows.
#ifndef PFLD_CPU_C_ACTIVATION_H
#define PFLD_CPU_C_ACTIVATION_H

#include "cpu/kernels_rows.h"
#include "cpu/math.h"

static inline pfld_real pfld_cpu_act(enum pfld_act act, pfld_real z, pfld_real slope)
{
	switch (act) {
	case PFLD_ACT_NONE: return z;
	case PFLD_ACT_RELU: return z < 0 ? 0 : z;
	case PFLD_ACT_RELU6: return z < 0 ? 0 : z > 6 ? 6 : z;
	case PFLD_ACT_LEAKY:
	case PFLD_ACT_PRELU: return z > 0 ? z : slope * z;
	case PFLD_ACT_SIGMOID: return (pfld_real)pfld_cpu_sigmoid(z);
	case PFLD_ACT_TANH: return (pfld_real)pfld_cpu_tanh(z);
	}
	return z;
}

// dy act'(z), or with act' taken from the output y = act(z) that `z` then is.
static inline pfld_real pfld_cpu_gate(enum pfld_act act, pfld_real dy, pfld_real z, pfld_real slope, bool from_output)
{
	pfld_real y;
	switch (act) {
	case PFLD_ACT_NONE: return dy;
	case PFLD_ACT_RELU: return z > 0 ? dy : 0;
	case PFLD_ACT_RELU6: return z > 0 && z < 6 ? dy : 0;
	case PFLD_ACT_LEAKY:
	case PFLD_ACT_PRELU: return z > 0 ? dy : slope * dy;
	case PFLD_ACT_SIGMOID: y = from_output ? z : (pfld_real)pfld_cpu_sigmoid(z); return dy * (y * (1 - y));
	case PFLD_ACT_TANH: y = from_output ? z : (pfld_real)pfld_cpu_tanh(z); return dy * (1 - y * y);
	}
	return dy;
}

// What the activation was applied to at channel j of the pixel that x points at.
static inline pfld_real pfld_cpu_z(const struct pfld_cpu_gradient *gradient, const pfld_real *x, int32_t j)
{
	return gradient->shift ? pfld_cpu_fma(gradient->scale[j], x[j], gradient->shift[j]) : x[j];
}

// dz at channel j. x is not looked at without an activation, slopes not but for prelu.
static inline pfld_real pfld_cpu_dz(const struct pfld_cpu_gradient *gradient, const enum pfld_act act,
									const pfld_real *dy, const pfld_real *x, const pfld_real *slopes, int32_t j)
{
	if (act == PFLD_ACT_NONE) return dy[j];
	pfld_real slope = act == PFLD_ACT_PRELU ? slopes[j] : gradient->slope;
	return pfld_cpu_gate(act, dy[j], pfld_cpu_z(gradient, x, j), slope, gradient->from_output);
}

#endif
