// SPDX-License-Identifier: MIT
// apply and apply_gradient: an activation behind a scale and shift per channel, and back. Kernels: elementwise.c.
#include "cpu/cpu.h"

struct job {
	struct pfld_backend_device *device;
	struct pfld_cpu_slabs slabs;
	struct pfld_cpu_apply apply;
	struct pfld_cpu_gradient gradient;
	bool dense;      // nothing is per channel and pixels lie side by side: a slab is one long pixel
	pfld_real *sums; // of slopes
	int64_t sums_per_slab;
};

// prelu's slopes: one for each channel, or for each element of a sample.
static bool slopes_per_element(const struct pfld_operand *slopes, const struct pfld_operand *x)
{
	return pfld_operand_present(slopes) && pfld_operand_elements(slopes) != (size_t)x->c;
}

// With slopes for each element a slab is a sample, so that it begins where the slopes do.
static struct pfld_cpu_slabs cut(const struct pfld_operand *slopes, const struct pfld_operand *x, int32_t n)
{
	if (!slopes_per_element(slopes, x)) return pfld_cpu_slabs(pfld_cpu_num_pixels(x, n), x->c);
	int64_t pixels = (int64_t)x->h * x->w;
	return (struct pfld_cpu_slabs){
	    .num_pixels = pixels, .pixels_per_slab = pixels, .num_slabs = n, .slabs_per_picture = 1};
}

// ---- forward ----

static void apply_item(void *arg, int32_t item, int32_t worker)
{
	const struct job *job = arg;
	struct pfld_cpu_apply apply = job->apply;
	int64_t first = pfld_cpu_slab_first(&job->slabs, item);
	apply.x += first * apply.x_stride;
	apply.y += first * apply.y_stride;
	apply.num_pixels = pfld_cpu_slab_pixels(&job->slabs, item);
	if (job->dense) {
		apply.num_channels *= (int32_t)apply.num_pixels;
		apply.num_pixels = 1;
	}
	job->device->kernels->rows->apply(&apply);
}

static void apply(struct pfld_backend_device *device, const struct pfld_op *op, const struct pfld_run *run)
{
	const struct pfld_operand *x = &op->src[0], *y = &op->dst[0], *slopes = &op->src[3];
	bool prelu = op->attr.act.act == PFLD_ACT_PRELU;
	struct job job = {
		.device = device,
		.apply =
			{
				.num_channels = x->c,
				.act = op->attr.act.act,
				.slope = (pfld_real)op->attr.act.slope,
				.x = pfld_cpu_at(x),
				.x_stride = x->pixel_stride,
				.scale = pfld_cpu_at(&op->src[1]),
				.shift = pfld_cpu_at(&op->src[2]),
				.slopes = prelu ? pfld_cpu_at(slopes) : NULL,
				.slopes_stride = prelu && slopes_per_element(slopes, x) ? x->c : 0,
				.y = pfld_cpu_at(y),
				.y_stride = y->pixel_stride,
			},
	};
	job.slabs = cut(prelu ? slopes : &(struct pfld_operand){.tensor = PFLD_NO_TENSOR}, x, run->n);
	job.dense = !job.apply.scale && !prelu && x->pixel_stride == x->c && y->pixel_stride == x->c;
	pfld_cpu_parallel(device, job.slabs.num_slabs, apply_item, &job);
}

const struct pfld_cpu_op pfld_cpu_apply = {.enqueue = apply};

// ---- gradient ----

static void gradient_item(void *arg, int32_t item, int32_t worker)
{
	const struct job *job = arg;
	struct pfld_cpu_gradient gradient = job->gradient;
	int64_t first = pfld_cpu_slab_first(&job->slabs, item);
	gradient.dy += first * gradient.dy_stride;
	if (gradient.x) gradient.x += first * gradient.x_stride;
	gradient.dx += first * gradient.dx_stride;
	gradient.num_pixels = pfld_cpu_slab_pixels(&job->slabs, item);
	if (job->dense) {
		gradient.num_channels *= (int32_t)gradient.num_pixels;
		gradient.num_pixels = 1;
	}
	job->device->kernels->rows->apply_gradient(&gradient);
}

// Slopes of channels: each slab sums over its pixels into its own row.
static void channel_slopes_item(void *arg, int32_t item, int32_t worker)
{
	const struct job *job = arg;
	struct pfld_cpu_gradient gradient = job->gradient;
	int64_t first = pfld_cpu_slab_first(&job->slabs, item);
	pfld_real *sums = job->sums + item * job->sums_per_slab;
	gradient.dy += first * gradient.dy_stride;
	gradient.x += first * gradient.x_stride;
	gradient.num_pixels = pfld_cpu_slab_pixels(&job->slabs, item);
	for (int64_t j = 0; j < job->sums_per_slab; j++) sums[j] = 0;
	job->device->kernels->rows->slopes_gradient(&gradient, sums, 0);
}

// Slopes of elements: each slab holds some pixels of all samples, one after the other.
static void element_slopes_item(void *arg, int32_t item, int32_t worker)
{
	const struct job *job = arg;
	int64_t first = pfld_cpu_slab_first(&job->slabs, item), num_samples = job->sums_per_slab;
	int64_t num_channels = job->gradient.num_channels;
	for (int64_t sample = 0; sample < num_samples; sample++) {
		struct pfld_cpu_gradient gradient = job->gradient;
		int64_t pixel = sample * job->slabs.num_pixels + first;
		gradient.dy += pixel * gradient.dy_stride;
		gradient.x += pixel * gradient.x_stride;
		gradient.num_pixels = pfld_cpu_slab_pixels(&job->slabs, item);
		job->device->kernels->rows->slopes_gradient(&gradient, job->sums + first * num_channels, num_channels);
	}
}

static void slopes_gradient(struct pfld_backend_device *device, const struct pfld_op *op, const struct job *parent,
							const struct pfld_run *run)
{
	const struct pfld_operand *dy = &op->src[0];
	struct job job = *parent;
	bool add = pfld_cpu_adds(op, 1, run);
	pfld_real *dslopes = pfld_cpu_at(&op->dst[1]);
	if (slopes_per_element(&op->src[4], dy)) {
		size_t count = pfld_operand_elements(&op->dst[1]);
		for (size_t i = 0; !add && i < count; i++) dslopes[i] = 0;
		job.sums = dslopes;
		job.sums_per_slab = run->n;
		job.slabs = pfld_cpu_slabs((int64_t)dy->h * dy->w, dy->c);
		pfld_cpu_parallel(device, job.slabs.num_slabs, element_slopes_item, &job);
		return;
	}
	job.sums = pfld_cpu_at(&op->workspace);
	job.sums_per_slab = dy->c;
	pfld_cpu_parallel(device, job.slabs.num_slabs, channel_slopes_item, &job);
	pfld_cpu_merge(device, &(struct pfld_cpu_merge){
							   .parts = job.sums,
							   .part_stride = dy->c,
							   .num_parts = job.slabs.num_slabs,
							   .num_columns = dy->c,
							   .dst = dslopes,
							   .add = add,
						   });
}

static size_t gradient_workspace_bytes(const struct pfld_backend_device *device, const struct pfld_op *op,
									   int32_t batch)
{
	const struct pfld_operand *dy = &op->src[0];
	if (!pfld_operand_present(&op->dst[1]) || slopes_per_element(&op->src[4], dy)) return 0;
	return (size_t)cut(&op->src[4], dy, batch).num_slabs * (size_t)dy->c * sizeof(pfld_real);
}

static void apply_gradient(struct pfld_backend_device *device, const struct pfld_op *op, const struct pfld_run *run)
{
	const struct pfld_operand *dy = &op->src[0], *x = &op->src[1], *slopes = &op->src[4], *dx = &op->dst[0];
	bool prelu = op->attr.act.act == PFLD_ACT_PRELU, none = op->attr.act.act == PFLD_ACT_NONE;
	struct job job = {
		.device = device,
		.gradient =
			{
				.num_channels = dy->c,
				.act = op->attr.act.act,
				.slope = (pfld_real)op->attr.act.slope,
				.from_output = op->attr.act.from_output,
				.dy = pfld_cpu_at(dy),
				.dy_stride = dy->pixel_stride,
				.x = none ? NULL : pfld_cpu_at(x),
				.x_stride = x->pixel_stride,
				.scale = pfld_cpu_at(&op->src[2]),
				.shift = op->attr.act.from_output ? NULL : pfld_cpu_at(&op->src[3]),
				.slopes = prelu ? pfld_cpu_at(slopes) : NULL,
				.slopes_stride = prelu && slopes_per_element(slopes, dy) ? dy->c : 0,
				.dx = pfld_cpu_at(dx),
				.dx_stride = dx->pixel_stride,
				.add = pfld_cpu_adds(op, 0, run),
			},
	};
	job.slabs = cut(prelu ? slopes : &(struct pfld_operand){.tensor = PFLD_NO_TENSOR}, dy, run->n);
	job.dense = !job.gradient.scale && !prelu && dy->pixel_stride == dy->c && dx->pixel_stride == dy->c &&
				(none || x->pixel_stride == dy->c);
	// Slopes first: dx may lie where dy does.
	if (pfld_operand_present(&op->dst[1])) slopes_gradient(device, op, &job, run);
	pfld_cpu_parallel(device, job.slabs.num_slabs, gradient_item, &job);
}

const struct pfld_cpu_op pfld_cpu_apply_gradient = {
	.workspace_bytes = gradient_workspace_bytes,
	.enqueue = apply_gradient,
};
