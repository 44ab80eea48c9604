// SPDX-License-Identifier: MIT
// Convolutions in groups that are neither one nor one per channel: each group is a dense convolution over its slices of
// the channels, one group after the other in the same workspace. Called by op_conv2d.c.
#include "cpu/op_conv2d.h"

static const pfld_real *moved(const pfld_real *place, ptrdiff_t elements)
{
	return place ? place + elements : NULL;
}

static pfld_real *moved_out(pfld_real *place, ptrdiff_t elements)
{
	return place ? place + elements : NULL;
}

static struct pfld_cpu_conv group_of(const struct pfld_cpu_conv *conv, int32_t group)
{
	struct pfld_cpu_conv one = *conv;
	one.c = conv->c / conv->groups;
	one.filters = conv->filters / conv->groups;
	one.groups = 1;
	ptrdiff_t channel = (ptrdiff_t)group * one.c, filter = (ptrdiff_t)group * one.filters;
	one.x = moved(conv->x, channel);
	one.dx = moved_out(conv->dx, channel);
	one.kernel = moved(conv->kernel, filter);
	one.dkernel = moved_out(conv->dkernel, filter);
	one.bias = moved(conv->bias, filter);
	one.dbias = moved_out(conv->dbias, filter);
	one.y = moved_out(conv->y, filter);
	one.dy = moved(conv->dy, filter);
	return one;
}

size_t pfld_cpu_conv_grouped_bytes(const struct pfld_backend_device *device, const struct pfld_cpu_conv *conv)
{
	struct pfld_cpu_conv one = group_of(conv, 0);
	return pfld_cpu_conv_gemm_bytes(device, &one);
}

void pfld_cpu_conv_grouped(struct pfld_backend_device *device, const struct pfld_cpu_conv *conv)
{
	for (int32_t group = 0; group < conv->groups; group++) {
		struct pfld_cpu_conv one = group_of(conv, group);
		pfld_cpu_conv_gemm(device, &one);
	}
}

size_t pfld_cpu_conv_grouped_gradient_bytes(const struct pfld_backend_device *device, const struct pfld_cpu_conv *conv)
{
	struct pfld_cpu_conv one = group_of(conv, 0);
	return pfld_cpu_conv_gemm_gradient_bytes(device, &one);
}

void pfld_cpu_conv_grouped_gradient(struct pfld_backend_device *device, const struct pfld_cpu_conv *conv)
{
	for (int32_t group = 0; group < conv->groups; group++) {
		struct pfld_cpu_conv one = group_of(conv, group);
		pfld_cpu_conv_gemm_gradient(device, &one);
	}
}
