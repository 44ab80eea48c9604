// SPDX-License-Identifier: MIT
// Dense convolutions as matrix products: forward, and the data gradient as one product per stride phase. The left
// matrix is the source itself (1x1) or a slab of it gathered per worker; the right one is the kernel, packed into
// panels. The filter gradient is in op_conv2d_filter.c. Called by op_conv2d.c and op_conv2d_grouped.c.
#include "cpu/op_conv2d.h"

#include <string.h>

// Few rows at a time, so that their steps stay in the nearest cache while the kernel streams by from the next; more
// rows where the kernel is too large for that.
enum {
	MAX_STEPS = 512,
	SLAB_ROWS = 24,
	NEAR_KERNEL = 65536, // elements
	FAR_SLAB_ROWS = 96,
	ROW_GAP = 16,
	WANTED_ITEMS = 16,
};

// One product: C (rows of the lattice, columns) = gathered source x kernel.
struct product {
	struct pfld_cpu_conv_pass pass;
	struct pfld_cpu_conv_blocks blocks;
	const struct pfld_cpu_gemm_kernels *kernels;
	const pfld_real *kernel; // (kernel taps, c, filters) with kernel_stride between rows of filters
	ptrdiff_t kernel_stride;
	int32_t kernel_w, kernel_c;
	bool transposed; // steps run over (tap, filter), columns over c: the data gradient
	int32_t num_columns, dst_h, dst_w;
	pfld_real *dst;
	ptrdiff_t dst_stride;
	const pfld_real *bias;
	bool add;
	const struct pfld_backend_device *device;
	const struct pfld_cpu_gather *gather; // of the destination; NULL: nothing

	// How it is cut; from shapes and n alone.
	bool in_place, scattered, packed_ahead;
	int32_t slab_rows, num_slabs, num_column_blocks, block_panels, num_panels;
	int32_t most_steps;                                // of any block
	size_t packed_bytes;                               // all panels of the kernel, when they are packed ahead
	size_t gathered_bytes, panel_bytes, scratch_bytes; // of one worker
	char *workspace;
};

static int32_t num_steps_of(const struct pfld_cpu_conv_block *block)
{
	return block->num_taps * block->num_channels;
}

static void cut(struct product *p)
{
	int64_t rows = pfld_cpu_conv_rows(&p->pass);
	int32_t columns = p->kernels->columns;
	p->blocks = pfld_cpu_conv_cut(&p->pass, MAX_STEPS);
	struct pfld_cpu_conv_block first = pfld_cpu_conv_block_at(&p->blocks, 0);
	p->most_steps = num_steps_of(&first);
	p->in_place = pfld_cpu_conv_in_place(&p->pass);
	p->scattered = p->pass.y.out_step != 1 || p->pass.x.out_step != 1;

	size_t all_steps = (size_t)p->blocks.num_taps * (size_t)p->blocks.source_c;
	bool is_near = all_steps * (size_t)p->num_columns <= NEAR_KERNEL;
	p->slab_rows = (int32_t)PFLD_MIN(is_near ? SLAB_ROWS : FAR_SLAB_ROWS, rows);
	p->num_slabs = (int32_t)pfld_cpu_conv_ceil(rows, PFLD_MAX(p->slab_rows, 1));
	p->num_panels = (int32_t)pfld_cpu_conv_ceil(p->num_columns, columns);
	int64_t wanted = pfld_cpu_conv_ceil(WANTED_ITEMS, PFLD_MAX(p->num_slabs, 1));
	p->block_panels = (int32_t)pfld_cpu_conv_ceil(p->num_panels, PFLD_MIN(wanted, p->num_panels));
	p->num_column_blocks = (int32_t)pfld_cpu_conv_ceil(p->num_panels, p->block_panels);

	// A panel that few slabs use is packed by the worker that uses it, and never lies in memory as a whole.
	p->packed_ahead = p->num_slabs >= 4;
	p->packed_bytes = p->packed_ahead ? pfld_cpu_conv_bytes(all_steps * (size_t)p->num_panels * (size_t)columns) : 0;
	p->panel_bytes = pfld_cpu_conv_bytes((size_t)p->most_steps * (size_t)columns);
	p->gathered_bytes = p->in_place ? 0 : pfld_cpu_conv_bytes((size_t)p->slab_rows * ((size_t)p->most_steps + ROW_GAP));
	size_t scattered_bytes =
		p->scattered ? pfld_cpu_conv_bytes((size_t)p->slab_rows * (size_t)(p->block_panels * columns)) : 0;
	p->scratch_bytes = p->panel_bytes + p->gathered_bytes + scattered_bytes;
}

static size_t product_bytes(const struct pfld_backend_device *device, const struct product *p)
{
	return p->packed_bytes + (size_t)device->num_threads * p->scratch_bytes;
}

// ---- the right matrix ----
static void pack_panel(const struct product *p, const struct pfld_cpu_conv_block *block, int32_t panel,
                       pfld_real *packed)
{
	const struct pfld_cpu_conv_axis *y = &p->pass.y, *x = &p->pass.x;
	int32_t columns = p->kernels->columns, column = panel * columns;
	int32_t num_columns = PFLD_MIN(columns, p->num_columns - column);
	for (int32_t t = 0; t < block->num_taps; t++, packed += (ptrdiff_t)block->num_channels * columns) {
		int32_t i = (block->tap + t) / x->num_taps, j = (block->tap + t) % x->num_taps;
		ptrdiff_t tap = (ptrdiff_t)(y->first_tap + i * y->tap_step) * p->kernel_w + x->first_tap + j * x->tap_step;
		const pfld_real *kernel = p->kernel + tap * p->kernel_c * p->kernel_stride;
		if (p->transposed)
			p->kernels->pack_transposed(packed, kernel + column * p->kernel_stride + block->channel, p->kernel_stride,
			                            block->num_channels, num_columns);
		else
			p->kernels->pack(packed, kernel + block->channel * p->kernel_stride + column, p->kernel_stride,
			                 block->num_channels, num_columns);
	}
}

// Where a panel lies among those packed ahead: block by block, panel by panel.
static pfld_real *packed_at(const struct product *p, const struct pfld_cpu_conv_block *block, int32_t panel)
{
	ptrdiff_t columns = p->kernels->columns;
	ptrdiff_t step = (ptrdiff_t)block->tap * p->blocks.source_c + block->channel;
	return (pfld_real *)p->workspace + step * p->num_panels * columns + panel * columns * num_steps_of(block);
}

static void pack_item(void *arg, int32_t item, int32_t worker)
{
	const struct product *p = arg;
	struct pfld_cpu_conv_block block = pfld_cpu_conv_block_at(&p->blocks, item / p->num_panels);
	int32_t panel = item % p->num_panels;
	pack_panel(p, &block, panel, packed_at(p, &block, panel));
}

// ---- the product ----
// A slab's result from scratch to the places of its lattice.
static void scatter(const struct product *p, int64_t row, int32_t num_rows, int32_t column, int32_t num_columns,
                    const pfld_real *from)
{
	const struct pfld_cpu_conv_axis *y = &p->pass.y, *x = &p->pass.x;
	for (int32_t r = 0; r < num_rows; r++, row++, from += num_columns) {
		int64_t at_x = x->out_first + row % x->count * x->out_step;
		int64_t at_y = y->out_first + row / x->count % y->count * y->out_step, sample = row / x->count / y->count;
		pfld_real *to = p->dst + ((sample * p->dst_h + at_y) * p->dst_w + at_x) * p->dst_stride + column;
		if (!p->add) {
			memcpy(to, from, (size_t)num_columns * sizeof(*to));
			continue;
		}
		for (int32_t j = 0; j < num_columns; j++) to[j] += from[j];
	}
}

static void multiply_rows(const struct product *p, int64_t row, int32_t num_rows, int32_t first_panel,
                          int32_t last_panel, int32_t worker)
{
	int32_t columns = p->kernels->columns, column = first_panel * columns;
	int32_t num_columns = PFLD_MIN(last_panel * columns, p->num_columns) - column;
	char *scratch = p->workspace + p->packed_bytes + (size_t)worker * p->scratch_bytes;
	pfld_real *own_panel = (pfld_real *)scratch, *gathered = (pfld_real *)(scratch + p->panel_bytes);
	pfld_real *c = p->scattered ? (pfld_real *)(scratch + p->panel_bytes + p->gathered_bytes)
	                            : p->dst + row * p->dst_stride + column;
	struct pfld_cpu_gemm_panel task = {
		.num_rows = num_rows,
		.c_stride = p->scattered ? num_columns : p->dst_stride,
	};
	for (int32_t b = 0; b < p->blocks.num_blocks; b++) {
		struct pfld_cpu_conv_block block = pfld_cpu_conv_block_at(&p->blocks, b);
		task.num_steps = num_steps_of(&block);
		task.a = gathered;
		task.a_stride = p->most_steps + ROW_GAP;
		if (p->in_place) {
			task.a = p->pass.source.at + row * p->pass.source.stride + block.channel;
			task.a_stride = p->pass.source.stride;
		} else {
			pfld_cpu_conv_gather(&p->pass, &block, row, num_rows, gathered, task.a_stride);
		}
		task.add = b > 0 || (p->add && !p->scattered);
		for (int32_t panel = first_panel; panel < last_panel; panel++) {
			task.b = p->packed_ahead ? packed_at(p, &block, panel) : own_panel;
			if (!p->packed_ahead) pack_panel(p, &block, panel, own_panel);
			task.c = c + (panel - first_panel) * columns;
			task.num_columns = PFLD_MIN(columns, p->num_columns - panel * columns);
			task.bias = p->bias && b == p->blocks.num_blocks - 1 ? p->bias + panel * columns : NULL;
			p->kernels->multiply(&task);
		}
	}
	if (p->scattered) scatter(p, row, num_rows, column, num_columns, c);
}

static void multiply_item(void *arg, int32_t item, int32_t worker)
{
	const struct product *p = arg;
	int32_t first_panel = item % p->num_column_blocks * p->block_panels;
	int32_t last_panel = PFLD_MIN(first_panel + p->block_panels, p->num_panels);
	int64_t row = (int64_t)(item / p->num_column_blocks) * p->slab_rows;
	int32_t num_rows = (int32_t)PFLD_MIN(p->slab_rows, pfld_cpu_conv_rows(&p->pass) - row);
	multiply_rows(p, row, num_rows, first_panel, last_panel, worker);
}

// One slab of what is gathered, some rows at a time.
static void multiply_and_gather_item(void *arg, int32_t item, int32_t worker)
{
	const struct product *p = arg;
	int64_t row = pfld_cpu_slab_first(&p->gather->slabs, item), end = row + pfld_cpu_slab_pixels(&p->gather->slabs, item);
	for (; row < end; row += p->slab_rows)
		multiply_rows(p, row, (int32_t)PFLD_MIN(p->slab_rows, end - row), 0, p->num_panels, worker);
	pfld_cpu_gather_slab(p->device, p->gather, item, worker);
}

static void run_product(struct pfld_backend_device *device, struct product *p)
{
	if (p->num_slabs == 0) return;
	if (p->packed_ahead) pfld_cpu_parallel(device, p->blocks.num_blocks * p->num_panels, pack_item, p);
	if (p->gather)
		pfld_cpu_parallel(device, p->gather->slabs.num_slabs, multiply_and_gather_item, p);
	else
		pfld_cpu_parallel(device, p->num_slabs * p->num_column_blocks, multiply_item, p);
}

struct pfld_cpu_slabs pfld_cpu_conv_gemm_slabs(const struct pfld_cpu_conv *conv, bool gradient)
{
	int64_t pixels = gradient ? (int64_t)conv->h * conv->w : (int64_t)conv->out_h * conv->out_w;
	return pfld_cpu_slabs(conv->n * pixels, gradient ? conv->c : conv->filters);
}

static const struct pfld_cpu_gather *gather_of(const struct pfld_cpu_conv *conv, enum pfld_cpu_gather_kind kind)
{
	return conv->gather.kind == kind ? &conv->gather : NULL;
}

// ---- forward ----
static struct product forward_product(const struct pfld_backend_device *device, const struct pfld_cpu_conv *conv)
{
	struct product p = {
		.pass =
			{
				.y = pfld_cpu_conv_forward_axis(conv, 0),
				.x = pfld_cpu_conv_forward_axis(conv, 1),
				.n = conv->n,
				.source_c = conv->c,
				.source = {conv->x, conv->x_stride, conv->x_pending},
				.kernels = device->kernels,
			},
		.kernels = device->kernels->gemm,
		.kernel = conv->kernel,
		.kernel_stride = conv->kernel_stride,
		.kernel_w = conv->attr.kernel_w,
		.kernel_c = conv->c,
		.num_columns = conv->filters,
		.dst_h = conv->out_h,
		.dst_w = conv->out_w,
		.dst = conv->y,
		.dst_stride = conv->y_stride,
		.bias = conv->bias,
		.add = conv->add_y,
		.device = device,
		.gather = gather_of(conv, PFLD_CPU_GATHER_STATISTICS),
		.workspace = conv->workspace,
	};
	cut(&p);
	return p;
}

size_t pfld_cpu_conv_gemm_bytes(const struct pfld_backend_device *device, const struct pfld_cpu_conv *conv)
{
	struct product p = forward_product(device, conv);
	return product_bytes(device, &p);
}

void pfld_cpu_conv_gemm(struct pfld_backend_device *device, const struct pfld_cpu_conv *conv)
{
	struct product p = forward_product(device, conv);
	run_product(device, &p);
}

// ---- data gradient ----
static struct product gradient_product(const struct pfld_backend_device *device, const struct pfld_cpu_conv *conv,
                                       int32_t phase_y, int32_t phase_x)
{
	struct product p = {
		.pass =
			{
				.y = pfld_cpu_conv_gradient_axis(conv, 0, phase_y),
				.x = pfld_cpu_conv_gradient_axis(conv, 1, phase_x),
				.n = conv->n,
				.source_c = conv->filters,
				.source = {conv->dy, conv->y_stride, conv->dy_pending},
				.kernels = device->kernels,
			},
		.kernels = device->kernels->gemm,
		.kernel = conv->kernel,
		.kernel_stride = conv->kernel_stride,
		.kernel_w = conv->attr.kernel_w,
		.kernel_c = conv->c,
		.transposed = true,
		.num_columns = conv->c,
		.dst_h = conv->h,
		.dst_w = conv->w,
		.dst = conv->dx,
		.dst_stride = conv->dx_stride,
		.add = conv->add_dx,
		.device = device,
		.gather = gather_of(conv, PFLD_CPU_GATHER_SUMS),
		.workspace = conv->workspace,
	};
	cut(&p);
	return p;
}

size_t pfld_cpu_conv_gemm_gradient_bytes(const struct pfld_backend_device *device, const struct pfld_cpu_conv *conv)
{
	size_t bytes = conv->has_dkernel || conv->has_dbias ? pfld_cpu_conv_filter_bytes(device, conv) : 0;
	if (!conv->has_dx) return bytes;
	for (int32_t y = 0; y < conv->attr.stride_h; y++)
		for (int32_t x = 0; x < conv->attr.stride_w; x++) {
			struct product p = gradient_product(device, conv, y, x);
			bytes = PFLD_MAX(bytes, product_bytes(device, &p));
		}
	return bytes;
}

void pfld_cpu_conv_gemm_gradient(struct pfld_backend_device *device, const struct pfld_cpu_conv *conv)
{
	for (int32_t y = 0; conv->has_dx && y < conv->attr.stride_h; y++)
		for (int32_t x = 0; x < conv->attr.stride_w; x++) {
			struct product p = gradient_product(device, conv, y, x);
			run_product(device, &p);
		}
	if (conv->has_dkernel || conv->has_dbias) pfld_cpu_conv_filter(device, conv);
}
