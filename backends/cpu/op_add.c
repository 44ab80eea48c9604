// SPDX-License-Identifier: MIT
// add: sums of tensors with a factor each, and copies between pixels of different widths. Sources that are pending are
// loaded some pixels at a time, into scratch that stays in the nearest cache. Kernel: elementwise.c.
#include "cpu/cpu.h"

enum { PIECE_ELEMENTS = 2048 };

struct job {
	struct pfld_backend_device *device;
	struct pfld_cpu_slabs slabs;
	struct pfld_cpu_source sources[PFLD_OP_MAX_ADD];
	struct pfld_cpu_add add;
	bool dense;           // pixels lie side by side everywhere: a slab is one long pixel
	int64_t piece_pixels; // 0: nothing is pending
	pfld_real *scratch;   // (num_threads, num_src, piece_pixels, c)
};

static int64_t piece_pixels(const struct pfld_op *op)
{
	for (int32_t i = 0; i < op->attr.add.num_src; i++)
		if (op->src[i].pending) return PFLD_MAX(PIECE_ELEMENTS / op->dst[0].c, 1);
	return 0;
}

static size_t piece_elements(const struct pfld_op *op)
{
	return (size_t)op->attr.add.num_src * (size_t)piece_pixels(op) * (size_t)op->dst[0].c;
}

static size_t workspace_bytes(const struct pfld_backend_device *device, const struct pfld_op *op, int32_t batch)
{
	return (size_t)device->num_threads * piece_elements(op) * sizeof(pfld_real);
}

static bool reads_pending(const struct pfld_op *op, int32_t source)
{
	return true;
}

// Pixels [first, first + num_pixels).
static void add_piece(const struct job *job, int64_t first, int64_t num_pixels, pfld_real *scratch)
{
	struct pfld_cpu_add add = job->add;
	struct pfld_cpu_piece piece = {first, num_pixels, 1, 0, add.num_channels};
	for (int32_t i = 0; i < add.num_src; i++) {
		const struct pfld_cpu_source *source = &job->sources[i];
		add.x[i] = source->at + first * source->stride;
		add.x_stride[i] = source->stride;
		if (!source->pending) continue;
		pfld_cpu_load(job->device->kernels, source, &piece, scratch, add.num_channels);
		add.x[i] = scratch;
		add.x_stride[i] = add.num_channels;
		scratch += job->piece_pixels * add.num_channels;
	}
	add.y += first * add.y_stride;
	add.num_pixels = job->dense ? 1 : num_pixels;
	if (job->dense) add.num_channels *= (int32_t)num_pixels;
	job->device->kernels->rows->add(&add);
}

static void add_item(void *arg, int32_t item, int32_t worker)
{
	const struct job *job = arg;
	int64_t first = pfld_cpu_slab_first(&job->slabs, item), end = first + pfld_cpu_slab_pixels(&job->slabs, item);
	int64_t step = job->piece_pixels ? job->piece_pixels : end - first;
	pfld_real *scratch = job->scratch; // absent where nothing is pending
	if (scratch) scratch += worker * job->add.num_src * job->piece_pixels * job->add.num_channels;
	for (; first < end; first += step) add_piece(job, first, PFLD_MIN(step, end - first), scratch);
}

static void add(struct pfld_backend_device *device, const struct pfld_op *op, const struct pfld_run *run)
{
	const struct pfld_operand *y = &op->dst[0];
	struct job job = {
		.device = device,
		.slabs = pfld_cpu_slabs(pfld_cpu_num_pixels(y, run->n), y->c),
		.dense = y->pixel_stride == y->c,
		.piece_pixels = piece_pixels(op),
		.scratch = pfld_cpu_at(&op->workspace),
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
		job.sources[i] = pfld_cpu_source(&op->src[i]);
		job.add.scale[i] = (pfld_real)op->attr.add.scale[i];
		job.dense = job.dense && (op->src[i].pending || op->src[i].pixel_stride == y->c);
	}
	pfld_cpu_parallel(device, job.slabs.num_slabs, add_item, &job);
}

const struct pfld_cpu_op pfld_cpu_add = {
	.reads_pending = reads_pending,
	.workspace_bytes = workspace_bytes,
	.enqueue = add,
};
