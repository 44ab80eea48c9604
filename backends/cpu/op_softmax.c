// SPDX-License-Identifier: MIT
// softmax over the channels of each pixel, and its gradient. Heads are small: scalar code, in double inside a pixel.
#include "cpu/cpu.h"
#include "cpu/math.h"

struct job {
	const struct pfld_op *op;
	struct pfld_cpu_slabs slabs;
	bool add;
};

static void softmax_pixel(const pfld_real *x, pfld_real *y, int32_t num_channels)
{
	double largest = -INFINITY, sum = 0;
	for (int32_t j = 0; j < num_channels; j++) largest = x[j] > largest ? x[j] : largest;
	for (int32_t j = 0; j < num_channels; j++) sum += pfld_cpu_exp(x[j] - largest);
	for (int32_t j = 0; j < num_channels; j++) y[j] = (pfld_real)(pfld_cpu_exp(x[j] - largest) / sum);
}

static void softmax_item(void *arg, int32_t item, int32_t worker)
{
	const struct job *job = arg;
	const struct pfld_operand *x = &job->op->src[0], *y = &job->op->dst[0];
	int64_t first = pfld_cpu_slab_first(&job->slabs, item), end = first + pfld_cpu_slab_pixels(&job->slabs, item);
	for (int64_t p = first; p < end; p++) {
		softmax_pixel(pfld_cpu_at(x) + p * x->pixel_stride, pfld_cpu_at(y) + p * y->pixel_stride, x->c);
	}
}

static void run_slabs(struct pfld_backend_device *device, const struct pfld_op *op, const struct pfld_run *run,
					  pfld_pool_fn *item)
{
	const struct pfld_operand *x = &op->src[0];
	struct job job = {
		.op = op,
		.slabs = pfld_cpu_slabs(pfld_cpu_num_pixels(x, run->n), x->c),
		.add = pfld_cpu_adds(op, 0, run),
	};
	pfld_cpu_parallel(device, job.slabs.num_slabs, item, &job);
}

static void softmax(struct pfld_backend_device *device, const struct pfld_op *op, const struct pfld_run *run)
{
	run_slabs(device, op, run, softmax_item);
}

const struct pfld_cpu_op pfld_cpu_softmax = {.enqueue = softmax};

// dx = y (dy - sum of dy y)
static void gradient_item(void *arg, int32_t item, int32_t worker)
{
	const struct job *job = arg;
	const struct pfld_operand *dy = &job->op->src[0], *y = &job->op->src[1], *dx = &job->op->dst[0];
	int64_t first = pfld_cpu_slab_first(&job->slabs, item), end = first + pfld_cpu_slab_pixels(&job->slabs, item);
	for (int64_t p = first; p < end; p++) {
		const pfld_real *from = pfld_cpu_at(dy) + p * dy->pixel_stride, *out = pfld_cpu_at(y) + p * y->pixel_stride;
		pfld_real *to = pfld_cpu_at(dx) + p * dx->pixel_stride;
		double sum = 0;
		for (int32_t j = 0; j < dy->c; j++) sum += (double)from[j] * out[j];
		for (int32_t j = 0; j < dy->c; j++) {
			pfld_real value = (pfld_real)(out[j] * (from[j] - sum));
			to[j] = job->add ? to[j] + value : value;
		}
	}
}

static void softmax_gradient(struct pfld_backend_device *device, const struct pfld_op *op, const struct pfld_run *run)
{
	run_slabs(device, op, run, gradient_item);
}

const struct pfld_cpu_op pfld_cpu_softmax_gradient = {.enqueue = softmax_gradient};
