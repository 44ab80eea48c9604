// SPDX-License-Identifier: MIT
// Batch norm: statistics of a batch, the numbers per channel that come from them, and the gradient. Passes over pixels
// are kernels (batch_norm.c); numbers per channel are computed here, in double.
#include "cpu/cpu.h"
#include "cpu/math.h"

#include <math.h>

struct job {
	struct pfld_backend_device *device;
	struct pfld_cpu_slabs slabs;
	int32_t num_channels;
	struct pfld_cpu_gradient gradient; // or of statistics its x
	const pfld_real *mean_dz, *slope_x;
	pfld_real *parts;   // (num_slabs, 2, c)
	pfld_real *scratch; // (num_threads, 2, c)
	pfld_real *mean, *m2;
};

// Partial results of all slabs, and scratch for all threads.
static size_t reduction_bytes(const struct pfld_backend_device *device, const struct pfld_op *op, int32_t batch)
{
	const struct pfld_operand *x = &op->src[0];
	size_t num_slabs = (size_t)pfld_cpu_slabs(pfld_cpu_num_pixels(x, batch), x->c).num_slabs;
	return (num_slabs + (size_t)device->num_threads) * 2 * (size_t)x->c * sizeof(pfld_real);
}

static void lay_out(struct job *job, const struct pfld_op *op, const struct pfld_run *run)
{
	const struct pfld_operand *x = &op->src[0];
	job->num_channels = x->c;
	job->slabs = pfld_cpu_slabs(pfld_cpu_num_pixels(x, run->n), x->c);
	job->parts = pfld_cpu_at(&op->workspace);
	job->scratch = job->parts + (int64_t)job->slabs.num_slabs * 2 * x->c;
}

// ---- statistics ----

static void statistics_item(void *arg, int32_t item, int32_t worker)
{
	const struct job *job = arg;
	int64_t num_channels = job->num_channels, first = pfld_cpu_slab_first(&job->slabs, item);
	pfld_real *part = job->parts + item * 2 * num_channels, *scratch = job->scratch + worker * 2 * num_channels;
	job->device->kernels->rows->bn_statistics(job->gradient.x + first * job->gradient.x_stride, job->gradient.x_stride,
											  pfld_cpu_slab_pixels(&job->slabs, item), job->num_channels, part,
											  part + num_channels, scratch);
}

enum { MERGE_CHANNELS = 64 }; // an item

// Chan's formula over the slabs in order, in double.
static void merge_statistics_item(void *arg, int32_t item, int32_t worker)
{
	const struct job *job = arg;
	int64_t num_channels = job->num_channels;
	int32_t first = item * MERGE_CHANNELS, num = PFLD_MIN(MERGE_CHANNELS, job->num_channels - first);
	double mean[MERGE_CHANNELS] = {0}, m2[MERGE_CHANNELS] = {0}, before = 0;
	for (int32_t slab = 0; slab < job->slabs.num_slabs; slab++) {
		const pfld_real *part = job->parts + slab * 2 * num_channels + first;
		double count = (double)pfld_cpu_slab_pixels(&job->slabs, slab), share = count / (before + count);
		for (int32_t j = 0; j < num; j++) {
			double distance = part[j] - mean[j];
			mean[j] += distance * share;
			m2[j] += part[num_channels + j] + distance * distance * before * share;
		}
		before += count;
	}
	for (int32_t j = 0; j < num; j++) {
		job->mean[first + j] = (pfld_real)mean[j];
		job->m2[first + j] = (pfld_real)m2[j];
	}
}

static void statistics(struct pfld_backend_device *device, const struct pfld_op *op, const struct pfld_run *run)
{
	struct job job = {
		.device = device,
		.gradient = {.x = pfld_cpu_at(&op->src[0]), .x_stride = op->src[0].pixel_stride},
		.mean = pfld_cpu_at(&op->dst[0]),
		.m2 = pfld_cpu_at(&op->dst[1]),
	};
	lay_out(&job, op, run);
	pfld_cpu_parallel(device, job.slabs.num_slabs, statistics_item, &job);
	pfld_cpu_parallel(device, (job.num_channels + MERGE_CHANNELS - 1) / MERGE_CHANNELS, merge_statistics_item, &job);
}

const struct pfld_cpu_op pfld_cpu_bn_statistics = {.workspace_bytes = reduction_bytes, .enqueue = statistics};

// ---- numbers per channel ----

// scale, shift and inverse deviation of channel j.
static void normalise(const struct pfld_op *op, int32_t j, double mean, double variance)
{
	const pfld_real *gamma = pfld_cpu_at(&op->src[2]), *beta = pfld_cpu_at(&op->src[3]);
	pfld_real *inv_std = pfld_cpu_at(&op->dst[2]);
	double inverse = 1 / sqrt(variance + op->attr.bn.epsilon);
	pfld_real scale = (pfld_real)(gamma ? gamma[j] * inverse : inverse);
	pfld_cpu_at(&op->dst[0])[j] = scale;
	pfld_cpu_at(&op->dst[1])[j] = (pfld_real)((beta ? beta[j] : 0) - mean * scale);
	if (inv_std) inv_std[j] = (pfld_real)inverse;
}

static void train(struct pfld_backend_device *device, const struct pfld_op *op, const struct pfld_run *run)
{
	const struct pfld_bn_attr *bn = &op->attr.bn;
	const pfld_real *mean = pfld_cpu_at(&op->src[0]), *m2 = pfld_cpu_at(&op->src[1]);
	pfld_real *moving_mean = pfld_cpu_at(&op->dst[3]), *moving_variance = pfld_cpu_at(&op->dst[4]);
	double count = (double)run->n * bn->num_pixels, kept = 1 - bn->momentum;
	double moving_count = bn->unbiased && count > 1 ? count - 1 : count;
	for (int32_t j = 0; j < op->src[0].c; j++) {
		normalise(op, j, mean[j], m2[j] / count);
		if (!moving_mean) continue;
		moving_mean[j] = (pfld_real)(kept * moving_mean[j] + bn->momentum * mean[j]);
		moving_variance[j] = (pfld_real)(kept * moving_variance[j] + bn->momentum * (m2[j] / moving_count));
	}
}

const struct pfld_cpu_op pfld_cpu_bn_train = {.enqueue = train};

static void infer(struct pfld_backend_device *device, const struct pfld_op *op, const struct pfld_run *run)
{
	const pfld_real *moving_mean = pfld_cpu_at(&op->src[0]), *moving_variance = pfld_cpu_at(&op->src[1]);
	for (int32_t j = 0; j < op->src[0].c; j++) normalise(op, j, moving_mean[j], moving_variance[j]);
}

const struct pfld_cpu_op pfld_cpu_bn_infer = {.enqueue = infer};

// ---- gradient ----

static struct pfld_cpu_gradient sources(const struct pfld_op *op)
{
	return (struct pfld_cpu_gradient){
		.num_channels = op->src[0].c,
		.act = op->attr.act.act,
		.slope = (pfld_real)op->attr.act.slope,
		.dy = pfld_cpu_at(&op->src[0]),
		.dy_stride = op->src[0].pixel_stride,
		.x = pfld_cpu_at(&op->src[1]),
		.x_stride = op->src[1].pixel_stride,
		.scale = pfld_cpu_at(&op->src[2]),
		.shift = pfld_cpu_at(&op->src[3]),
		.mean = pfld_cpu_at(&op->src[4]),
	};
}

static struct pfld_cpu_gradient slab_of(const struct job *job, int32_t item)
{
	struct pfld_cpu_gradient gradient = job->gradient;
	int64_t first = pfld_cpu_slab_first(&job->slabs, item);
	gradient.num_pixels = pfld_cpu_slab_pixels(&job->slabs, item);
	gradient.dy += first * gradient.dy_stride;
	gradient.x += first * gradient.x_stride;
	if (gradient.dx) gradient.dx += first * gradient.dx_stride;
	return gradient;
}

static void sums_item(void *arg, int32_t item, int32_t worker)
{
	const struct job *job = arg;
	int64_t num_channels = job->num_channels;
	struct pfld_cpu_gradient gradient = slab_of(job, item);
	pfld_real *part = job->parts + item * 2 * num_channels, *scratch = job->scratch + worker * 2 * num_channels;
	job->device->kernels->rows->bn_gradient_sums(&gradient, part, part + num_channels, scratch);
}

// The sum over slabs into dst[which], and into the gradient of beta or gamma that goes with it.
static void merge_sums(struct pfld_backend_device *device, const struct pfld_op *op, const struct job *job,
					   int32_t which, const struct pfld_run *run)
{
	pfld_cpu_merge(device, &(struct pfld_cpu_merge){
							   .parts = job->parts + (int64_t)which * job->num_channels,
							   .part_stride = 2 * (ptrdiff_t)job->num_channels,
							   .num_parts = job->slabs.num_slabs,
							   .num_columns = job->num_channels,
							   .factor = which ? pfld_cpu_at(&op->src[5]) : NULL, // xhat = (x - mean) inv_std
							   .dst = pfld_cpu_at(&op->dst[which]),
							   .second = pfld_cpu_at(&op->dst[2 + which]),
							   .add_second = pfld_cpu_adds(op, 2 + which, run),
						   });
}

static void gradient_sums(struct pfld_backend_device *device, const struct pfld_op *op, const struct pfld_run *run)
{
	struct job job = {.device = device, .gradient = sources(op)};
	lay_out(&job, op, run);
	pfld_cpu_parallel(device, job.slabs.num_slabs, sums_item, &job);
	merge_sums(device, op, &job, 0, run);
	merge_sums(device, op, &job, 1, run);
	const pfld_real *inv_std = pfld_cpu_at(&op->src[5]);
	pfld_real *mean_dz = pfld_cpu_at(&op->dst[0]), *slope_x = pfld_cpu_at(&op->dst[1]);
	double count = (double)pfld_cpu_num_pixels(&op->src[0], run->n);
	for (int32_t j = 0; j < job.num_channels; j++) {
		mean_dz[j] = (pfld_real)(mean_dz[j] / count);
		slope_x[j] = (pfld_real)((double)inv_std[j] * slope_x[j] / count);
	}
}

const struct pfld_cpu_op pfld_cpu_bn_gradient_sums = {.workspace_bytes = reduction_bytes, .enqueue = gradient_sums};

static void gradient_item(void *arg, int32_t item, int32_t worker)
{
	const struct job *job = arg;
	struct pfld_cpu_gradient gradient = slab_of(job, item);
	job->device->kernels->rows->bn_gradient(&gradient, job->mean_dz, job->slope_x);
}

static void gradient(struct pfld_backend_device *device, const struct pfld_op *op, const struct pfld_run *run)
{
	const struct pfld_operand *dy = &op->src[0], *dx = &op->dst[0];
	struct job job = {
		.device = device,
		.gradient = sources(op),
		.mean_dz = pfld_cpu_at(&op->src[5]),
		.slope_x = pfld_cpu_at(&op->src[6]),
	};
	job.slabs = pfld_cpu_slabs(pfld_cpu_num_pixels(dy, run->n), dy->c);
	job.gradient.dx = pfld_cpu_at(dx);
	job.gradient.dx_stride = dx->pixel_stride;
	job.gradient.add = pfld_cpu_adds(op, 0, run);
	pfld_cpu_parallel(device, job.slabs.num_slabs, gradient_item, &job);
}

const struct pfld_cpu_op pfld_cpu_bn_gradient = {.enqueue = gradient};
