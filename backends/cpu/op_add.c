// SPDX-License-Identifier: MIT
// add: sums of tensors with a factor each, and copies between pixels of different widths. Kernel: elementwise.c.
#include "cpu/cpu.h"

struct job {
	struct pfld_backend_device *device;
	struct pfld_cpu_slabs slabs;
	struct pfld_cpu_add add;
	bool dense; // pixels lie side by side everywhere: a slab is one long pixel
};

static void add_item(void *arg, int32_t item, int32_t worker)
{
	const struct job *job = arg;
	struct pfld_cpu_add add = job->add;
	int64_t first = pfld_cpu_slab_first(&job->slabs, item);
	for (int32_t i = 0; i < add.num_src; i++) add.x[i] += first * add.x_stride[i];
	add.y += first * add.y_stride;
	add.num_pixels = pfld_cpu_slab_pixels(&job->slabs, item);
	if (job->dense) {
		add.num_channels *= (int32_t)add.num_pixels;
		add.num_pixels = 1;
	}
	job->device->kernels->rows->add(&add);
}

static void add(struct pfld_backend_device *device, const struct pfld_op *op, const struct pfld_run *run)
{
	const struct pfld_operand *y = &op->dst[0];
	struct job job = {
		.device = device,
		.slabs = pfld_cpu_slabs(pfld_cpu_num_pixels(y, run->n), y->c),
		.dense = y->pixel_stride == y->c,
		.add =
			{
				.num_channels = y->c,
				.num_src = op->attr.add.num_src,
				.y = pfld_cpu_at(y),
				.y_stride = y->pixel_stride,
				.add = pfld_cpu_adds(op, 0, run),
			},
	};
	for (int32_t i = 0; i < job.add.num_src; i++) {
		job.add.x[i] = pfld_cpu_at(&op->src[i]);
		job.add.x_stride[i] = op->src[i].pixel_stride;
		job.add.scale[i] = (pfld_real)op->attr.add.scale[i];
		job.dense = job.dense && op->src[i].pixel_stride == y->c;
	}
	pfld_cpu_parallel(device, job.slabs.num_slabs, add_item, &job);
}

const struct pfld_cpu_op pfld_cpu_add = {.enqueue = add};
