// SPDX-License-Identifier: MIT
// pool and pool_gradient: largest and mean of windows, global pooling being the window of the whole picture. Kernels:
// pool.c.
#include "cpu/cpu.h"

#include <string.h>

enum { BLOCK_CHANNELS = 256 }; // of an item of the gradient

struct job {
	struct pfld_backend_device *device;
	const struct pfld_op *op;
	const struct pfld_operand *x, *y; // or their gradients
	bool add;
};

// The part inside 0 .. size of a window that starts at first.
static void clip_window(int32_t first, int32_t kernel, int32_t size, int32_t *begin, int32_t *count)
{
	int32_t end = PFLD_MIN(first + kernel, size);
	*begin = PFLD_MAX(first, 0);
	*count = end - *begin;
}

// The window of output (row, column), and the pixel of the sample that it starts at.
static struct pfld_cpu_window window_at(const struct job *job, int32_t row, int32_t column, int64_t *first_pixel)
{
	const struct pfld_pool_attr *pool = &job->op->attr.pool;
	struct pfld_cpu_window window = {0};
	int32_t first_row, first_column;
	clip_window(row * pool->stride_h - pool->pad_top, pool->kernel_h, job->x->h, &first_row, &window.num_rows);
	clip_window(column * pool->stride_w - pool->pad_left, pool->kernel_w, job->x->w, &first_column,
				&window.num_columns);
	*first_pixel = (int64_t)first_row * job->x->w + first_column;
	return window;
}

// An item is one row of outputs of one sample.
static void pool_item(void *arg, int32_t item, int32_t worker)
{
	const struct job *job = arg;
	const struct pfld_cpu_row_kernels *rows = job->device->kernels->rows;
	const struct pfld_operand *x = job->x, *y = job->y;
	int32_t sample = item / y->h, row = item % y->h;
	const pfld_real *sample_x = pfld_cpu_at(x) + pfld_cpu_num_pixels(x, sample) * x->pixel_stride;
	pfld_real *out = pfld_cpu_at(y) + (int64_t)item * y->w * y->pixel_stride;
	for (int32_t column = 0; column < y->w; column++, out += y->pixel_stride) {
		int64_t first_pixel;
		struct pfld_cpu_window window = window_at(job, row, column, &first_pixel);
		window.num_channels = x->c;
		window.x = sample_x + first_pixel * x->pixel_stride;
		window.x_stride = x->pixel_stride;
		window.x_row_stride = (ptrdiff_t)x->w * x->pixel_stride;
		if (job->op->attr.pool.max)
			rows->pool_max(&window, out);
		else
			rows->pool_average(&window, out);
	}
}

static void pool(struct pfld_backend_device *device, const struct pfld_op *op, const struct pfld_run *run)
{
	struct job job = {.device = device, .op = op, .x = &op->src[0], .y = &op->dst[0]};
	pfld_cpu_parallel(device, run->n * job.y->h, pool_item, &job);
}

const struct pfld_cpu_op pfld_cpu_pool = {.enqueue = pool};

static int32_t num_blocks(const struct pfld_operand *x)
{
	return (x->c + BLOCK_CHANNELS - 1) / BLOCK_CHANNELS;
}

static void clear(pfld_real *x, const struct pfld_operand *operand, int32_t num_channels)
{
	int64_t num_pixels = pfld_cpu_num_pixels(operand, 1);
	for (int64_t p = 0; p < num_pixels; p++) memset(x + p * operand->pixel_stride, 0, (size_t)num_channels * sizeof *x);
}

// An item is some channels of one sample: windows add to its pixels in the order of outputs.
static void gradient_item(void *arg, int32_t item, int32_t worker)
{
	const struct job *job = arg;
	const struct pfld_cpu_row_kernels *rows = job->device->kernels->rows;
	const struct pfld_operand *dx = job->x, *dy = job->y, *x = &job->op->src[1];
	int32_t sample = item / num_blocks(dx), channel = item % num_blocks(dx) * BLOCK_CHANNELS;
	int32_t num_channels = PFLD_MIN(BLOCK_CHANNELS, dx->c - channel);
	bool max = job->op->attr.pool.max;
	pfld_real *sample_dx = pfld_cpu_at(dx) + pfld_cpu_num_pixels(dx, sample) * dx->pixel_stride + channel;
	const pfld_real *in = pfld_cpu_at(dy) + pfld_cpu_num_pixels(dy, sample) * dy->pixel_stride + channel;
	const pfld_real *sample_x =
		max ? pfld_cpu_at(x) + pfld_cpu_num_pixels(x, sample) * x->pixel_stride + channel : NULL;
	if (!job->add) clear(sample_dx, dx, num_channels);
	for (int32_t pixel = 0; pixel < dy->h * dy->w; pixel++, in += dy->pixel_stride) {
		int64_t first_pixel;
		struct pfld_cpu_window window = window_at(job, pixel / dy->w, pixel % dy->w, &first_pixel);
		window.num_channels = num_channels;
		window.dx = sample_dx + first_pixel * dx->pixel_stride;
		window.dx_stride = dx->pixel_stride;
		window.dx_row_stride = (ptrdiff_t)dx->w * dx->pixel_stride;
		if (!max) {
			rows->pool_average_gradient(&window, in);
			continue;
		}
		window.x = sample_x + first_pixel * x->pixel_stride;
		window.x_stride = x->pixel_stride;
		window.x_row_stride = (ptrdiff_t)x->w * x->pixel_stride;
		rows->pool_max_gradient(&window, in);
	}
}

static void pool_gradient(struct pfld_backend_device *device, const struct pfld_op *op, const struct pfld_run *run)
{
	struct job job = {.device = device, .op = op, .x = &op->dst[0], .y = &op->src[0], .add = pfld_cpu_adds(op, 0, run)};
	pfld_cpu_parallel(device, run->n * num_blocks(job.x), gradient_item, &job);
}

const struct pfld_cpu_op pfld_cpu_pool_gradient = {.enqueue = pool_gradient};
