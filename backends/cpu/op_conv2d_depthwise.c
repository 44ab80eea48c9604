// SPDX-License-Identifier: MIT
// Depthwise convolutions (one filter per channel), directly: a worker walks down a picture, keeps the few source rows
// in use as blocks of channels in a ring of its own, and writes whole rows of results. The data gradient is the same
// walk over dy by stride phase; with the filter gradient it reads x and dy once. Called by op_conv2d.c.
#include "cpu/op_conv2d.h"

#include <string.h>

enum { MAX_GROUPS = 16, WANTED_ITEMS = 16, MIN_SLAB_ROWS = 8, GATHER_ELEMENTS = 1 << 15 };

// Rows of one picture in blocked form, loaded when first asked for. Positions left of `first` or outside the picture
// are zeros.
struct ring {
	int32_t num_rows, first, width; // width: positions [first, first + width) of the picture's columns
	int32_t h, w, c;
	const struct pfld_cpu_kernels *kernels;
	struct pfld_cpu_source source;
	int64_t first_pixel; // of the picture
	pfld_real *loaded;   // (w, c): a row of a pending source
	pfld_real *rows;     // (num_rows, blocks, width, channels)
	int32_t *held;   // which row of the picture each place holds; -1: none
};

struct depthwise {
	const struct pfld_backend_device *device;
	const struct pfld_cpu_conv *conv;
	const struct pfld_cpu_depthwise_kernels *kernels;
	int32_t num_blocks, num_taps;                   // blocks of channels; kernel_h kernel_w
	bool gradient;                                  // dy and x are read, dx and sums written; else x read, y written
	bool needs_x;                                   // forward, or a filter gradient
	struct ring x, dy;                              // shapes; each worker has places of its own
	int32_t slabs_per_sample, slab_rows, num_items; // slabs are rows of y
	int32_t gather_rows;                            // rows of y whose results are gathered at once; divides slab_rows
	size_t weights_bytes, sums_elements, sums_bytes, x_bytes, dy_bytes, loaded_bytes, held_bytes, taps_bytes, scratch_bytes;
	char *workspace;
};

// Integers divided towards minus infinity.
static int32_t floor_div(int32_t a, int32_t b)
{
	return a >= 0 ? a / b : -((-a + b - 1) / b);
}

// ---- how it is cut ----
static int32_t rows_at_once(int32_t kernel, int32_t dilation)
{
	return (kernel - 1) * dilation + 1;
}

// x as the forward walk reads it.
static struct ring x_ring(const struct depthwise *d, const struct pfld_cpu_kernels *kernels)
{
	const struct pfld_cpu_conv *conv = d->conv;
	const struct pfld_conv_attr *attr = &conv->attr;
	return (struct ring){
		.num_rows = PFLD_MIN(rows_at_once(attr->kernel_h, attr->dilation_h), conv->h),
		.first = -attr->pad_left,
		.width = (conv->out_w - 1) * attr->stride_w + rows_at_once(attr->kernel_w, attr->dilation_w),
		.h = conv->h,
		.w = conv->w,
		.c = conv->c,
		.kernels = kernels,
		.source = {conv->x, conv->x_stride, conv->x_pending},
	};
}

// dy as the data gradient of rows [oy stride, (oy + 1) stride), and the filter gradient of row oy, read it.
static struct ring dy_ring(const struct depthwise *d, const struct pfld_cpu_kernels *kernels)
{
	const struct pfld_cpu_conv *conv = d->conv;
	const struct pfld_conv_attr *attr = &conv->attr;
	int32_t above = floor_div(attr->pad_top - (attr->kernel_h - 1) * attr->dilation_h, attr->stride_h);
	int32_t below = floor_div(attr->pad_top + attr->stride_h - 1, attr->stride_h);
	int32_t left = floor_div(attr->pad_left - (attr->kernel_w - 1) * attr->dilation_w, attr->stride_w);
	int32_t right = floor_div(attr->pad_left + conv->w - 1, attr->stride_w);
	int32_t num_rows = PFLD_MAX(below, 0) - PFLD_MIN(above, 0) + 1;
	left = PFLD_MIN(left, 0);
	right = PFLD_MAX(right, conv->out_w - 1);
	return (struct ring){
		.num_rows = PFLD_MIN(num_rows, conv->out_h),
		.first = left,
		.width = right - left + 1,
		.h = conv->out_h,
		.w = conv->out_w,
		.c = conv->c,
		.kernels = kernels,
		.source = {conv->dy, conv->y_stride, conv->dy_pending},
	};
}

static size_t ring_elements(const struct depthwise *d, const struct ring *ring)
{
	return (size_t)ring->num_rows * (size_t)d->num_blocks * (size_t)ring->width * (size_t)d->kernels->channels;
}

// As many as about GATHER_ELEMENTS results come from.
static int32_t gather_rows(const struct pfld_cpu_conv *conv, bool gradient)
{
	if (conv->gather.kind == PFLD_CPU_GATHER_NOTHING) return 1;
	int64_t elements = (int64_t)conv->c * (gradient ? conv->w * conv->attr.stride_h : conv->out_w);
	return (int32_t)PFLD_MIN(PFLD_MAX(GATHER_ELEMENTS / elements, 1), conv->out_h);
}

struct pfld_cpu_slabs pfld_cpu_conv_depthwise_slabs(const struct pfld_cpu_conv *conv, bool gradient)
{
	int32_t h = gradient ? conv->h : conv->out_h, w = gradient ? conv->w : conv->out_w;
	int32_t rows = gather_rows(conv, gradient) * (gradient ? conv->attr.stride_h : 1), num = (h + rows - 1) / rows;
	return (struct pfld_cpu_slabs){
		.num_pixels = (int64_t)h * w,
		.pixels_per_slab = (int64_t)rows * w,
		.num_slabs = conv->n * num,
		.slabs_per_picture = num,
	};
}

static struct depthwise cut(const struct pfld_backend_device *device, const struct pfld_cpu_conv *conv, bool gradient)
{
	struct depthwise d = {
		.device = device,
		.conv = conv,
		.kernels = device->kernels->depthwise,
		.gradient = gradient,
		.workspace = conv->workspace,
	};
	size_t channels = (size_t)d.kernels->channels;
	bool has_sums = gradient && (conv->has_dkernel || conv->has_dbias);
	d.needs_x = !gradient || conv->has_dkernel;
	d.num_blocks = (int32_t)pfld_cpu_conv_ceil(conv->c, d.kernels->channels);
	d.num_taps = conv->attr.kernel_h * conv->attr.kernel_w;
	d.x = x_ring(&d, device->kernels);
	d.dy = dy_ring(&d, device->kernels);
	int64_t wanted = pfld_cpu_conv_ceil(WANTED_ITEMS, conv->n);
	wanted = PFLD_MIN(wanted, pfld_cpu_conv_ceil(conv->out_h, MIN_SLAB_ROWS));
	d.gather_rows = gather_rows(conv, gradient);
	d.slab_rows = (int32_t)pfld_cpu_conv_ceil(pfld_cpu_conv_ceil(conv->out_h, wanted), d.gather_rows) * d.gather_rows;
	d.slabs_per_sample = (int32_t)pfld_cpu_conv_ceil(conv->out_h, d.slab_rows);
	d.num_items = conv->n * d.slabs_per_sample;
	if (has_sums) d.num_items = PFLD_MIN(d.num_items, MAX_GROUPS);

	size_t block_elements = (size_t)d.num_blocks * channels;
	d.weights_bytes = gradient && !conv->has_dx ? 0 : pfld_cpu_conv_bytes(block_elements * (size_t)d.num_taps);
	d.sums_elements = block_elements * ((size_t)d.num_taps + 1);
	d.sums_bytes = has_sums ? pfld_cpu_conv_bytes(d.sums_elements) : 0;
	d.x_bytes = d.needs_x ? pfld_cpu_conv_bytes(ring_elements(&d, &d.x)) : 0;
	d.dy_bytes = gradient ? pfld_cpu_conv_bytes(ring_elements(&d, &d.dy)) : 0;
	int32_t loaded_pixels = PFLD_MAX(d.needs_x && conv->x_pending ? conv->w : 0, conv->dy_pending ? conv->out_w : 0);
	d.loaded_bytes = pfld_cpu_conv_bytes((size_t)loaded_pixels * (size_t)conv->c);
	d.held_bytes = pfld_cpu_conv_bytes((size_t)(d.x.num_rows + d.dy.num_rows)); // an element is at least an int32_t
	d.taps_bytes = (size_t)(d.num_taps + 1) * sizeof(pfld_real *);
	d.taps_bytes = pfld_cpu_conv_bytes(d.taps_bytes / sizeof(pfld_real) + 1);
	d.scratch_bytes = d.taps_bytes + d.held_bytes + d.loaded_bytes + d.x_bytes + d.dy_bytes;
	return d;
}

static size_t workspace_bytes(const struct pfld_backend_device *device, const struct depthwise *d)
{
	return d->weights_bytes + MAX_GROUPS * d->sums_bytes + (size_t)device->num_threads * d->scratch_bytes;
}

// ---- one worker's places ----
struct worker {
	const struct depthwise *d;
	int32_t index;
	const pfld_real **taps; // (num_taps + 1)
	struct ring x, dy;
	pfld_real *sums; // (blocks, taps, channels), then (blocks, channels) of the bias
};

static struct worker worker_at(const struct depthwise *d, int32_t item, int32_t index)
{
	char *sums = d->workspace + d->weights_bytes;
	char *scratch = sums + MAX_GROUPS * d->sums_bytes + (size_t)index * d->scratch_bytes;
	struct worker worker = {
		.d = d,
		.index = index,
		.taps = (const pfld_real **)scratch,
		.x = d->x,
		.dy = d->dy,
		.sums = d->sums_bytes ? (pfld_real *)(sums + (size_t)item * d->sums_bytes) : NULL,
	};
	scratch += d->taps_bytes;
	worker.x.held = (int32_t *)scratch;
	worker.dy.held = worker.x.held + worker.x.num_rows;
	scratch += d->held_bytes;
	worker.x.loaded = worker.dy.loaded = (pfld_real *)scratch;
	scratch += d->loaded_bytes;
	worker.x.rows = (pfld_real *)scratch;
	worker.dy.rows = (pfld_real *)(scratch + d->x_bytes);
	return worker;
}

static void ring_begin(struct ring *ring, int32_t sample)
{
	ring->first_pixel = (int64_t)sample * ring->h * ring->w;
	for (int32_t i = 0; i < ring->num_rows; i++) ring->held[i] = -1;
}

// Row y of the picture; its blocks are ring_block() apart. Valid until num_rows other rows were asked for.
static const pfld_real *ring_row(struct ring *ring, ptrdiff_t num_elements, int32_t y)
{
	int32_t place = y % ring->num_rows;
	pfld_real *row = ring->rows + place * num_elements;
	if (ring->held[place] == y) return row;
	int32_t begin = PFLD_MAX(ring->first, 0), end = PFLD_MIN(ring->first + ring->width, ring->w);
	end = PFLD_MAX(end, begin);
	int64_t pixel = ring->first_pixel + (int64_t)y * ring->w + begin;
	struct pfld_cpu_depthwise_load load = {
		.x = ring->source.pending ? ring->loaded : ring->source.at + pixel * ring->source.stride,
		.x_stride = ring->source.pending ? ring->c : ring->source.stride,
		.num_pixels = end - begin,
		.num_channels = ring->c,
		.num_left = begin - ring->first,
		.num_right = ring->first + ring->width - end,
		.blocked = row,
	};
	if (ring->source.pending) {
		struct pfld_cpu_piece piece = {pixel, end - begin, 1, 0, ring->c};
		pfld_cpu_load(ring->kernels, &ring->source, &piece, ring->loaded, ring->c);
	}
	ring->kernels->depthwise->load(&load);
	ring->held[place] = y;
	return row;
}

static ptrdiff_t ring_block(const struct depthwise *d, const struct ring *ring)
{
	return (ptrdiff_t)ring->width * d->kernels->channels;
}

// Points the taps of output row `index` of an axis pair into the ring; taps above and below the picture are left out.
// Returns the first kernel row (in taps order) that is there and how many are.
static int32_t point_taps(struct worker *worker, struct ring *ring, const struct pfld_cpu_conv_axis *y,
                          const struct pfld_cpu_conv_axis *x, int32_t index, int32_t *num_rows)
{
	const struct depthwise *d = worker->d;
	int32_t begin, end;
	pfld_cpu_conv_axis_taps(y, index, &begin, &end);
	const pfld_real **tap = worker->taps;
	for (int32_t i = begin; i < end; i++) {
		const pfld_real *row = ring_row(ring, d->num_blocks * ring_block(d, ring),
		                                index * y->source_step + y->first_offset + i * y->offset_step);
		for (int32_t j = 0; j < x->num_taps; j++)
			*tap++ = row + (ptrdiff_t)(x->first_offset + j * x->offset_step - ring->first) * d->kernels->channels;
	}
	*num_rows = end - begin;
	return begin;
}

// ---- weights, packed once per call: for each phase (blocks, taps of the phase, channels) ----
static void pack_phase(const struct depthwise *d, const struct pfld_cpu_conv_axis *y,
                       const struct pfld_cpu_conv_axis *x, pfld_real *out)
{
	int32_t channels = d->kernels->channels, c = d->conv->c;
	for (int32_t block = 0; block < d->num_blocks; block++)
		for (int32_t i = 0; i < y->num_taps; i++)
			for (int32_t j = 0; j < x->num_taps; j++, out += channels) {
				int32_t tap =
					(y->first_tap + i * y->tap_step) * d->conv->attr.kernel_w + x->first_tap + j * x->tap_step;
				const pfld_real *kernel = d->conv->kernel + tap * d->conv->kernel_stride;
				for (int32_t k = 0; k < channels; k++) {
					int32_t channel = block * channels + k;
					out[k] = channel < c ? kernel[channel] : 0;
				}
			}
}

static void axes_of(const struct depthwise *d, int32_t phase_y, int32_t phase_x, struct pfld_cpu_conv_axis *y,
                    struct pfld_cpu_conv_axis *x)
{
	*y = d->gradient ? pfld_cpu_conv_gradient_axis(d->conv, 0, phase_y) : pfld_cpu_conv_forward_axis(d->conv, 0);
	*x = d->gradient ? pfld_cpu_conv_gradient_axis(d->conv, 1, phase_x) : pfld_cpu_conv_forward_axis(d->conv, 1);
}

static int32_t num_phases(const struct depthwise *d, int axis)
{
	if (!d->gradient) return 1;
	return axis == 0 ? d->conv->attr.stride_h : d->conv->attr.stride_w;
}

// Where a phase's weights begin: phases lie row by row, each as long as its taps.
static pfld_real *phase_weights(const struct depthwise *d, int32_t phase_y, int32_t phase_x)
{
	ptrdiff_t taps = 0;
	struct pfld_cpu_conv_axis y, x;
	for (int32_t i = 0; i < phase_y; i++) {
		axes_of(d, i, 0, &y, &x);
		taps += (ptrdiff_t)y.num_taps * d->conv->attr.kernel_w;
	}
	axes_of(d, phase_y, 0, &y, &x);
	for (int32_t j = 0; j < phase_x; j++) {
		axes_of(d, phase_y, j, &y, &x);
		taps += (ptrdiff_t)y.num_taps * x.num_taps;
	}
	return (pfld_real *)d->workspace + taps * d->num_blocks * d->kernels->channels;
}

static void pack_weights(const struct depthwise *d)
{
	struct pfld_cpu_conv_axis y, x;
	for (int32_t i = 0; i < num_phases(d, 0); i++)
		for (int32_t j = 0; j < num_phases(d, 1); j++) {
			axes_of(d, i, j, &y, &x);
			pack_phase(d, &y, &x, phase_weights(d, i, j));
		}
}

// ---- rows ----
// Row `row` of y (forward) or dx (gradient) of one sample.
static void output_row(struct worker *worker, int32_t sample, int32_t row)
{
	const struct depthwise *d = worker->d;
	const struct pfld_cpu_conv *conv = d->conv;
	struct ring *ring = d->gradient ? &worker->dy : &worker->x;
	int32_t channels = d->kernels->channels, phases = num_phases(d, 0), w = d->gradient ? conv->w : conv->out_w;
	ptrdiff_t stride = d->gradient ? conv->dx_stride : conv->y_stride;
	pfld_real *out = (d->gradient ? conv->dx : conv->y) +
	                 ((ptrdiff_t)sample * (d->gradient ? conv->h : conv->out_h) + row) * w * stride;
	for (int32_t phase = 0; phase < num_phases(d, 1); phase++) {
		struct pfld_cpu_conv_axis y, x;
		axes_of(d, row % phases, phase, &y, &x);
		int32_t num_rows, first = point_taps(worker, ring, &y, &x, row / phases, &num_rows);
		ptrdiff_t weights = (ptrdiff_t)first * x.num_taps * channels;
		struct pfld_cpu_depthwise_row task = {
			.taps = worker->taps,
			.step = (ptrdiff_t)x.source_step * channels,
			.block_step = ring_block(d, ring),
			.num_taps = num_rows * x.num_taps,
			.num_pixels = x.count,
			.num_channels = conv->c,
			.weights = phase_weights(d, row % phases, phase) + weights,
			.weights_step = (ptrdiff_t)y.num_taps * x.num_taps * channels,
			.bias = d->gradient ? NULL : conv->bias,
			.out = out + x.out_first * stride,
			.out_stride = stride * x.out_step,
			.add = d->gradient ? conv->add_dx : conv->add_y,
		};
		d->kernels->row(&task);
	}
}

// The share of row `row` of dy in the filter and bias gradients.
static void sum_row(struct worker *worker, int32_t row)
{
	static const pfld_real ones[] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
	const struct depthwise *d = worker->d;
	const struct pfld_cpu_conv *conv = d->conv;
	ptrdiff_t channels = d->kernels->channels, x_block = ring_block(d, &worker->x),
			  dy_block = ring_block(d, &worker->dy);
	struct pfld_cpu_conv_axis y = pfld_cpu_conv_forward_axis(conv, 0), x = pfld_cpu_conv_forward_axis(conv, 1);
	const pfld_real *dy = ring_row(&worker->dy, d->num_blocks * dy_block, row) - worker->dy.first * channels;
	struct pfld_cpu_depthwise_sums task = {
		.taps = worker->taps,
		.num_pixels = conv->out_w,
	};
	if (conv->has_dkernel) {
		int32_t num_rows, first = point_taps(worker, &worker->x, &y, &x, row, &num_rows);
		task.step = x.source_step * channels;
		task.num_taps = num_rows * x.num_taps;
		for (int32_t block = 0; block < d->num_blocks; block++) {
			task.offset = block * x_block;
			task.dy = dy + block * dy_block;
			task.sums = worker->sums + (block * (ptrdiff_t)d->num_taps + (ptrdiff_t)first * x.num_taps) * channels;
			d->kernels->sums(&task);
		}
	}
	if (!conv->has_dbias) return;
	worker->taps[0] = ones;
	task.step = task.offset = 0;
	task.num_taps = 1;
	for (int32_t block = 0; block < d->num_blocks; block++) {
		task.dy = dy + block * dy_block;
		task.sums = worker->sums + ((ptrdiff_t)d->num_blocks * d->num_taps + block) * channels;
		d->kernels->sums(&task);
	}
}

// Row `row` of y or dx is there: where it ends a slab of what is gathered, the slab is.
static void gather_row(const struct worker *worker, int32_t sample, int32_t row)
{
	const struct depthwise *d = worker->d;
	const struct pfld_cpu_gather *gather = &d->conv->gather;
	if (gather->kind == PFLD_CPU_GATHER_NOTHING) return;
	int32_t h = d->gradient ? d->conv->h : d->conv->out_h;
	int32_t rows = d->gather_rows * (d->gradient ? d->conv->attr.stride_h : 1);
	if ((row + 1) % rows != 0 && row + 1 != h) return;
	pfld_cpu_gather_slab(d->device, gather, sample * gather->slabs.slabs_per_picture + row / rows, worker->index);
}

// ---- items: one slab of a sample (forward, data gradient alone), or a group of slabs with sums of its own ----
static void slab_rows(struct worker *worker, int32_t slab)
{
	const struct depthwise *d = worker->d;
	const struct pfld_cpu_conv *conv = d->conv;
	int32_t sample = slab / d->slabs_per_sample, begin = slab % d->slabs_per_sample * d->slab_rows;
	int32_t end = PFLD_MIN(begin + d->slab_rows, conv->out_h), stride = conv->attr.stride_h;
	if (d->needs_x) ring_begin(&worker->x, sample);
	if (d->gradient) ring_begin(&worker->dy, sample);
	for (int32_t row = begin; row < end; row++) {
		if (!d->gradient) {
			output_row(worker, sample, row);
			gather_row(worker, sample, row);
			continue;
		}
		if (worker->sums) sum_row(worker, row);
		int32_t last = row == conv->out_h - 1 ? conv->h : PFLD_MIN((row + 1) * stride, conv->h);
		for (int32_t i = row * stride; conv->has_dx && i < last; i++) {
			output_row(worker, sample, i);
			gather_row(worker, sample, i);
		}
	}
}

static void run_item(void *arg, int32_t item, int32_t index)
{
	const struct depthwise *d = arg;
	struct worker worker = worker_at(d, item, index);
	int64_t num_slabs = (int64_t)d->conv->n * d->slabs_per_sample;
	int32_t begin = (int32_t)(item * num_slabs / d->num_items), end = (int32_t)((item + 1) * num_slabs / d->num_items);
	if (worker.sums) memset(worker.sums, 0, d->sums_elements * sizeof(*worker.sums));
	for (int32_t slab = begin; slab < end; slab++) slab_rows(&worker, slab);
}

// Adds the groups' sums in order, for one block of channels.
static void merge_item(void *arg, int32_t item, int32_t index)
{
	const struct depthwise *d = arg;
	const struct pfld_cpu_conv *conv = d->conv;
	int32_t channels = d->kernels->channels, first = item * channels,
			num_channels = PFLD_MIN(channels, conv->c - first);
	const char *sums = d->workspace + d->weights_bytes;
	for (int32_t tap = 0; tap <= d->num_taps; tap++) {
		bool is_bias = tap == d->num_taps, add = is_bias ? conv->add_dbias : conv->add_dkernel;
		pfld_real *out = is_bias ? conv->dbias : conv->dkernel;
		if (!out) continue;
		out += (is_bias ? 0 : tap * conv->kernel_stride) + first;
		ptrdiff_t at = is_bias ? (ptrdiff_t)d->num_blocks * d->num_taps + item : (ptrdiff_t)item * d->num_taps + tap;
		for (int32_t k = 0; k < num_channels; k++) {
			pfld_real sum = 0;
			for (int32_t group = 0; group < d->num_items; group++)
				sum += ((const pfld_real *)(sums + (size_t)group * d->sums_bytes))[at * channels + k];
			out[k] = add ? out[k] + sum : sum;
		}
	}
}

size_t pfld_cpu_conv_depthwise_bytes(const struct pfld_backend_device *device, const struct pfld_cpu_conv *conv)
{
	struct depthwise d = cut(device, conv, false);
	return workspace_bytes(device, &d);
}

void pfld_cpu_conv_depthwise(struct pfld_backend_device *device, const struct pfld_cpu_conv *conv)
{
	struct depthwise d = cut(device, conv, false);
	pack_weights(&d);
	pfld_cpu_parallel(device, d.num_items, run_item, &d);
}

size_t pfld_cpu_conv_depthwise_gradient_bytes(const struct pfld_backend_device *device,
                                              const struct pfld_cpu_conv *conv)
{
	struct depthwise d = cut(device, conv, true);
	return workspace_bytes(device, &d);
}

void pfld_cpu_conv_depthwise_gradient(struct pfld_backend_device *device, const struct pfld_cpu_conv *conv)
{
	struct depthwise d = cut(device, conv, true);
	if (conv->has_dx) pack_weights(&d);
	pfld_cpu_parallel(device, d.num_items, run_item, &d);
	if (d.sums_bytes) pfld_cpu_parallel(device, d.num_blocks, merge_item, &d);
}
