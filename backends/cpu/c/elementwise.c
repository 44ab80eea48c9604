// SPDX-License-Identifier: MIT
// Activations, their gradients, and sums of tensors in plain C: the reference of every other level, and in double
// precision the oracle of the tests. The contract of each function is in kernels_rows.h.
#include "cpu/c/activation.h"
#include "cpu/kernels_rows.h"

#include <string.h>

// Called with literal act.
static inline void apply_rows(const struct pfld_cpu_apply *apply, const enum pfld_act act)
{
	const pfld_real *x = apply->x, *slopes = apply->slopes;
	pfld_real *y = apply->y;
	for (int64_t p = 0; p < apply->num_pixels; p++, x += apply->x_stride, y += apply->y_stride) {
		for (int32_t j = 0; j < apply->num_channels; j++) {
			pfld_real z = apply->scale ? pfld_cpu_fma(apply->scale[j], x[j], apply->shift[j]) : x[j];
			y[j] = pfld_cpu_act(act, z, act == PFLD_ACT_PRELU ? slopes[j] : apply->slope);
		}
		if (act == PFLD_ACT_PRELU) slopes += apply->slopes_stride;
	}
}

void pfld_cpu_apply_c(const struct pfld_cpu_apply *apply)
{
	switch (apply->act) {
	case PFLD_ACT_NONE: apply_rows(apply, PFLD_ACT_NONE); break;
	case PFLD_ACT_RELU: apply_rows(apply, PFLD_ACT_RELU); break;
	case PFLD_ACT_RELU6: apply_rows(apply, PFLD_ACT_RELU6); break;
	case PFLD_ACT_LEAKY: apply_rows(apply, PFLD_ACT_LEAKY); break;
	case PFLD_ACT_PRELU: apply_rows(apply, PFLD_ACT_PRELU); break;
	case PFLD_ACT_SIGMOID: apply_rows(apply, PFLD_ACT_SIGMOID); break;
	case PFLD_ACT_TANH: apply_rows(apply, PFLD_ACT_TANH); break;
	}
}

// Called with literal act.
static inline void gradient_rows(const struct pfld_cpu_gradient *gradient, const enum pfld_act act)
{
	const pfld_real *dy = gradient->dy, *x = gradient->x, *slopes = gradient->slopes;
	pfld_real *dx = gradient->dx;
	for (int64_t p = 0; p < gradient->num_pixels; p++, dy += gradient->dy_stride, dx += gradient->dx_stride) {
		for (int32_t j = 0; j < gradient->num_channels; j++) {
			pfld_real dz = pfld_cpu_dz(gradient, act, dy, x, slopes, j);
			pfld_real value = gradient->scale ? gradient->scale[j] * dz : dz;
			dx[j] = gradient->add ? dx[j] + value : value;
		}
		if (act != PFLD_ACT_NONE) x += gradient->x_stride;
		if (act == PFLD_ACT_PRELU) slopes += gradient->slopes_stride;
	}
}

void pfld_cpu_apply_gradient_c(const struct pfld_cpu_gradient *gradient)
{
	switch (gradient->act) {
	case PFLD_ACT_NONE: gradient_rows(gradient, PFLD_ACT_NONE); break;
	case PFLD_ACT_RELU: gradient_rows(gradient, PFLD_ACT_RELU); break;
	case PFLD_ACT_RELU6: gradient_rows(gradient, PFLD_ACT_RELU6); break;
	case PFLD_ACT_LEAKY: gradient_rows(gradient, PFLD_ACT_LEAKY); break;
	case PFLD_ACT_PRELU: gradient_rows(gradient, PFLD_ACT_PRELU); break;
	case PFLD_ACT_SIGMOID: gradient_rows(gradient, PFLD_ACT_SIGMOID); break;
	case PFLD_ACT_TANH: gradient_rows(gradient, PFLD_ACT_TANH); break;
	}
}

void pfld_cpu_slopes_gradient_c(const struct pfld_cpu_gradient *gradient, pfld_real *sums, ptrdiff_t sums_stride)
{
	const pfld_real *dy = gradient->dy, *x = gradient->x;
	for (int64_t p = 0; p < gradient->num_pixels; p++) {
		for (int32_t j = 0; j < gradient->num_channels; j++) {
			pfld_real z = pfld_cpu_z(gradient, x, j);
			if (!(z > 0)) sums[j] += dy[j] * z;
		}
		dy += gradient->dy_stride;
		x += gradient->x_stride;
		sums += sums_stride;
	}
}

void pfld_cpu_add_c(const struct pfld_cpu_add *add)
{
	for (int64_t p = 0; p < add->num_pixels; p++) {
		pfld_real *y = add->y + p * add->y_stride;
		for (int32_t j = 0; j < add->num_channels; j++) {
			pfld_real sum = add->scale[0] * add->x[0][p * add->x_stride[0] + j];
			if (add->add) sum = y[j] + sum;
			for (int32_t i = 1; i < add->num_src; i++) sum += add->scale[i] * add->x[i][p * add->x_stride[i] + j];
			y[j] = sum;
		}
	}
}
