// SPDX-License-Identifier: MIT
// See gather.h. Slabs are gathered in any order by any worker, and merged in theirs.
#include "cpu/gather.h"

struct pfld_cpu_gather pfld_cpu_gather_statistics(const struct pfld_operand *x, const struct pfld_operand *dst)
{
	return (struct pfld_cpu_gather){
		.kind = PFLD_CPU_GATHER_STATISTICS,
		.num_channels = x->c,
		.gradient = {.x = pfld_cpu_at(x), .x_stride = x->pixel_stride},
		.dst = {pfld_cpu_at(&dst[0]), pfld_cpu_at(&dst[1])},
	};
}

struct pfld_cpu_gather pfld_cpu_gather_sums(const struct pfld_op *op, const struct pfld_operand *dy,
                                            const struct pfld_operand *src, int32_t first_dst, struct pfld_act_attr act,
                                            const struct pfld_run *run)
{
	const struct pfld_operand *dst = &op->dst[first_dst];
	return (struct pfld_cpu_gather){
		.kind = PFLD_CPU_GATHER_SUMS,
		.num_channels = dy->c,
		.gradient =
			{
				.num_channels = dy->c,
				.act = act.act,
				.slope = (pfld_real)act.slope,
				.dy = pfld_cpu_at(dy),
				.dy_stride = dy->pixel_stride,
				.x = pfld_cpu_at(&src[0]),
				.x_stride = src[0].pixel_stride,
				.scale = pfld_cpu_at(&src[1]),
				.shift = pfld_cpu_at(&src[2]),
				.mean = pfld_cpu_at(&src[3]),
			},
		.inv_std = pfld_cpu_at(&src[4]),
		.dst = {pfld_cpu_at(&dst[0]), pfld_cpu_at(&dst[1])},
		.dbeta = pfld_cpu_at(&dst[2]),
		.dgamma = pfld_cpu_at(&dst[3]),
		.add_dbeta = pfld_cpu_adds(op, first_dst + 2, run),
		.add_dgamma = pfld_cpu_adds(op, first_dst + 3, run),
	};
}

size_t pfld_cpu_gather_bytes(const struct pfld_backend_device *device, const struct pfld_cpu_gather *gather)
{
	size_t rows = (size_t)gather->slabs.num_slabs + (size_t)device->num_threads;
	return gather->kind == PFLD_CPU_GATHER_NOTHING ? 0 : rows * 2 * (size_t)gather->num_channels * sizeof(pfld_real);
}

void pfld_cpu_gather_slab(const struct pfld_backend_device *device, const struct pfld_cpu_gather *gather, int32_t slab,
                          int32_t worker)
{
	const struct pfld_cpu_row_kernels *rows = device->kernels->rows;
	int64_t num_channels = gather->num_channels, first = pfld_cpu_slab_first(&gather->slabs, slab);
	pfld_real *part = gather->parts + slab * 2 * num_channels;
	pfld_real *scratch = gather->parts + (gather->slabs.num_slabs + worker) * 2 * num_channels;
	struct pfld_cpu_gradient gradient = gather->gradient;
	gradient.num_pixels = pfld_cpu_slab_pixels(&gather->slabs, slab);
	gradient.x += first * gradient.x_stride;
	if (gather->kind == PFLD_CPU_GATHER_STATISTICS) {
		rows->bn_statistics(gradient.x, gradient.x_stride, gradient.num_pixels, gather->num_channels, part,
		                    part + num_channels, scratch);
		return;
	}
	gradient.dy += first * gradient.dy_stride;
	rows->bn_gradient_sums(&gradient, part, part + num_channels, scratch);
}

enum { MERGE_CHANNELS = 64 }; // an item

// Chan's formula over the slabs in order, in double.
static void merge_statistics_item(void *arg, int32_t item, int32_t worker)
{
	const struct pfld_cpu_gather *gather = arg;
	int64_t num_channels = gather->num_channels;
	int32_t first = item * MERGE_CHANNELS, num = PFLD_MIN(MERGE_CHANNELS, gather->num_channels - first);
	double mean[MERGE_CHANNELS] = {0}, m2[MERGE_CHANNELS] = {0}, before = 0;
	for (int32_t slab = 0; slab < gather->slabs.num_slabs; slab++) {
		const pfld_real *part = gather->parts + slab * 2 * num_channels + first;
		double count = (double)pfld_cpu_slab_pixels(&gather->slabs, slab), share = count / (before + count);
		for (int32_t j = 0; j < num; j++) {
			double distance = part[j] - mean[j];
			mean[j] += distance * share;
			m2[j] += part[num_channels + j] + distance * distance * before * share;
		}
		before += count;
	}
	for (int32_t j = 0; j < num; j++) {
		gather->dst[0][first + j] = (pfld_real)mean[j];
		gather->dst[1][first + j] = (pfld_real)m2[j];
	}
}

// The sum over slabs into dst[which], and into the gradient of beta or gamma that goes with it.
static void merge_sums(struct pfld_backend_device *device, const struct pfld_cpu_gather *gather, int32_t which)
{
	pfld_cpu_merge(device, &(struct pfld_cpu_merge){
							   .parts = gather->parts + (int64_t)which * gather->num_channels,
							   .part_stride = 2 * (ptrdiff_t)gather->num_channels,
							   .num_parts = gather->slabs.num_slabs,
							   .num_columns = gather->num_channels,
							   .factor = which ? gather->inv_std : NULL, // xhat = (x - mean) inv_std
							   .dst = gather->dst[which],
							   .second = which ? gather->dgamma : gather->dbeta,
							   .add_second = which ? gather->add_dgamma : gather->add_dbeta,
						   });
}

void pfld_cpu_gather_finish(struct pfld_backend_device *device, const struct pfld_cpu_gather *gather)
{
	if (gather->kind == PFLD_CPU_GATHER_NOTHING) return;
	if (gather->kind == PFLD_CPU_GATHER_STATISTICS) {
		struct pfld_cpu_gather job = *gather;
		int32_t num_items = (gather->num_channels + MERGE_CHANNELS - 1) / MERGE_CHANNELS;
		pfld_cpu_parallel(device, num_items, merge_statistics_item, &job);
		return;
	}
	merge_sums(device, gather, 0);
	merge_sums(device, gather, 1);
	const struct pfld_cpu_slabs *slabs = &gather->slabs;
	double count = (double)(slabs->num_pixels * (slabs->num_slabs / slabs->slabs_per_picture));
	for (int32_t j = 0; j < gather->num_channels; j++) {
		gather->dst[0][j] = (pfld_real)(gather->dst[0][j] / count);
		gather->dst[1][j] = (pfld_real)((double)gather->inv_std[j] * gather->dst[1][j] / count);
	}
}
