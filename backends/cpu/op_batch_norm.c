// SPDX-License-Identifier: MIT
// Batch norm: statistics of a batch, the numbers per channel that come from them, and the gradient. Passes over pixels
// are kernels (batch_norm.c); numbers per channel are computed here, in double.
#include "cpu/gather.h"
#include "cpu/math.h"

#include <math.h>

// ---- what is gathered, by an op of its own ----

struct gather_job {
	struct pfld_backend_device *device;
	struct pfld_cpu_gather gather;
};

static size_t gather_bytes(const struct pfld_backend_device *device, const struct pfld_op *op, int32_t batch)
{
	const struct pfld_operand *x = &op->src[0];
	struct pfld_cpu_gather gather = {
		.kind = PFLD_CPU_GATHER_STATISTICS, // or sums: the same
		.slabs = pfld_cpu_slabs(pfld_cpu_num_pixels(x, batch), x->c),
		.num_channels = x->c,
	};
	return pfld_cpu_gather_bytes(device, &gather);
}

static void gather_item(void *arg, int32_t item, int32_t worker)
{
	const struct gather_job *job = arg;
	pfld_cpu_gather_slab(job->device, &job->gather, item, worker);
}

static void gather(struct pfld_backend_device *device, const struct pfld_op *op, struct pfld_cpu_gather gather, int32_t n)
{
	const struct pfld_operand *x = &op->src[0];
	gather.slabs = pfld_cpu_slabs(pfld_cpu_num_pixels(x, n), x->c);
	gather.parts = pfld_cpu_at(&op->workspace);
	struct gather_job job = {device, gather};
	pfld_cpu_parallel(device, gather.slabs.num_slabs, gather_item, &job);
	pfld_cpu_gather_finish(device, &gather);
}

static void statistics(struct pfld_backend_device *device, const struct pfld_op *op, const struct pfld_run *run)
{
	gather(device, op, pfld_cpu_gather_statistics(&op->src[0], op->dst), run->n);
}

const struct pfld_cpu_op pfld_cpu_bn_statistics = {.workspace_bytes = gather_bytes, .enqueue = statistics};

static void gradient_sums(struct pfld_backend_device *device, const struct pfld_op *op, const struct pfld_run *run)
{
	gather(device, op, pfld_cpu_gather_sums(op, &op->src[0], &op->src[1], 0, op->attr.act, run), run->n);
}

const struct pfld_cpu_op pfld_cpu_bn_gradient_sums = {.workspace_bytes = gather_bytes, .enqueue = gradient_sums};

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
		if (!moving_mean || run->keep_statistics) continue;
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

static void fold(struct pfld_backend_device *device, const struct pfld_op *op, const struct pfld_run *run)
{
	const pfld_real *kernel = pfld_cpu_at(&op->src[0]), *bias = pfld_cpu_at(&op->src[1]);
	const pfld_real *scale = pfld_cpu_at(&op->src[2]), *shift = pfld_cpu_at(&op->src[3]);
	pfld_real *folded_kernel = pfld_cpu_at(&op->dst[0]), *folded_bias = pfld_cpu_at(&op->dst[1]);
	int32_t filters = op->src[2].c;
	size_t count = pfld_operand_elements(&op->src[0]);
	for (size_t first = 0; first < count; first += (size_t)filters)
		for (int32_t j = 0; j < filters; j++) folded_kernel[first + (size_t)j] = kernel[first + (size_t)j] * scale[j];
	for (int32_t j = 0; j < filters; j++) folded_bias[j] = (pfld_real)((double)scale[j] * (bias ? bias[j] : 0) + shift[j]);
}

const struct pfld_cpu_op pfld_cpu_fold = {.enqueue = fold};

// ---- gradient ----

struct gradient_job {
	struct pfld_backend_device *device;
	struct pfld_cpu_slabs slabs;
	struct pfld_cpu_gradient gradient;
	const pfld_real *mean_dz, *slope_x;
};

static void gradient_item(void *arg, int32_t item, int32_t worker)
{
	const struct gradient_job *job = arg;
	struct pfld_cpu_gradient gradient = job->gradient;
	int64_t first = pfld_cpu_slab_first(&job->slabs, item);
	gradient.num_pixels = pfld_cpu_slab_pixels(&job->slabs, item);
	gradient.dy += first * gradient.dy_stride;
	gradient.x += first * gradient.x_stride;
	gradient.dx += first * gradient.dx_stride;
	job->device->kernels->rows->bn_gradient(&gradient, job->mean_dz, job->slope_x);
}

static void gradient(struct pfld_backend_device *device, const struct pfld_op *op, const struct pfld_run *run)
{
	const struct pfld_operand *dy = &op->src[0], *dx = &op->dst[0];
	struct gradient_job job = {
		.device = device,
		.slabs = pfld_cpu_slabs(pfld_cpu_num_pixels(dy, run->n), dy->c),
		.gradient =
			{
				.num_channels = dy->c,
				.act = op->attr.act.act,
				.slope = (pfld_real)op->attr.act.slope,
				.dy = pfld_cpu_at(dy),
				.dy_stride = dy->pixel_stride,
				.x = pfld_cpu_at(&op->src[1]),
				.x_stride = op->src[1].pixel_stride,
				.scale = pfld_cpu_at(&op->src[2]),
				.shift = pfld_cpu_at(&op->src[3]),
				.mean = pfld_cpu_at(&op->src[4]),
				.dx = pfld_cpu_at(dx),
				.dx_stride = dx->pixel_stride,
				.add = pfld_cpu_adds(op, 0, run),
			},
		.mean_dz = pfld_cpu_at(&op->src[5]),
		.slope_x = pfld_cpu_at(&op->src[6]),
	};
	pfld_cpu_parallel(device, job.slabs.num_slabs, gradient_item, &job);
}

const struct pfld_cpu_op pfld_cpu_bn_gradient = {.enqueue = gradient};
