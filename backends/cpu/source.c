// SPDX-License-Identifier: MIT
// Reading sources that are pending: pieces of them into scratch, by the kernels of the ops that would write them, so with
// the same bits. Called by op_*.c.
#include "cpu/cpu.h"

struct pfld_cpu_source pfld_cpu_source(const struct pfld_operand *operand)
{
	return (struct pfld_cpu_source){pfld_cpu_at(operand), operand->pixel_stride, operand->pending};
}

static const pfld_real *numbers(const struct pfld_operand *operand, int32_t channel)
{
	const pfld_real *at = pfld_cpu_at(operand);
	return at ? at + channel : NULL;
}

static void load_value(const struct pfld_cpu_kernels *kernels, const struct pfld_cpu_source *source,
                       const struct pfld_cpu_piece *piece, pfld_real *out, ptrdiff_t out_stride)
{
	const struct pfld_pending *pending = source->pending;
	kernels->rows->apply(&(struct pfld_cpu_apply){
		.num_pixels = piece->num_pixels,
		.num_channels = piece->num_channels,
		.act = pending->act,
		.slope = (pfld_real)pending->slope,
		.x = source->at + piece->pixel * source->stride + piece->channel,
		.x_stride = piece->step * source->stride,
		.scale = numbers(&pending->scale, piece->channel),
		.shift = numbers(&pending->shift, piece->channel),
		.y = out,
		.y_stride = out_stride,
	});
}

static void load_gradient(const struct pfld_cpu_kernels *kernels, const struct pfld_cpu_source *source,
                          const struct pfld_cpu_piece *piece, pfld_real *out, ptrdiff_t out_stride)
{
	const struct pfld_pending *pending = source->pending;
	ptrdiff_t x_stride = pending->x.pixel_stride;
	struct pfld_cpu_gradient gradient = {
		.num_pixels = piece->num_pixels,
		.num_channels = piece->num_channels,
		.act = pending->act,
		.slope = (pfld_real)pending->slope,
		.dy = source->at + piece->pixel * source->stride + piece->channel,
		.dy_stride = piece->step * source->stride,
		.x = pfld_cpu_at(&pending->x) + piece->pixel * x_stride + piece->channel,
		.x_stride = piece->step * x_stride,
		.scale = numbers(&pending->scale, piece->channel),
		.shift = numbers(&pending->shift, piece->channel),
		.mean = numbers(&pending->mean, piece->channel),
		.dx = out,
		.dx_stride = out_stride,
	};
	kernels->rows->bn_gradient(&gradient, numbers(&pending->mean_dz, piece->channel),
	                           numbers(&pending->slope_x, piece->channel));
}

void pfld_cpu_load(const struct pfld_cpu_kernels *kernels, const struct pfld_cpu_source *source,
                   const struct pfld_cpu_piece *piece, pfld_real *out, ptrdiff_t out_stride)
{
	if (source->pending->kind == PFLD_PENDING_VALUE)
		load_value(kernels, source, piece, out, out_stride);
	else
		load_gradient(kernels, source, piece, out, out_stride);
}
