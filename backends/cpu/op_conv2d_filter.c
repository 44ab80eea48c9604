// SPDX-License-Identifier: MIT
// The filter and bias gradients of dense convolutions: dkernel = gathered x (transposed) x dy. Rows are cut into slabs;
// slabs form a few groups whose sums are kept apart and added in order, so the bits do not depend on who did what.
// Called by op_conv2d_gemm.c.
#include "cpu/op_conv2d.h"

// Groups are as many as balance the work, but no more than keep their sums small. ROW_GAP keeps rows whose stride is a
// power of two from meeting in few cache sets.
enum {
	MAX_GROUPS = 16,
	GROUPED_ELEMENTS = 1 << 20,
	WANTED_ITEMS = 16,
	MAX_STEPS = 576,
	MIN_STEPS = 96,
	MAX_COLUMNS = 512,
	MAX_SLAB_ROWS = 96,
	MIN_SLAB_ROWS = 48,
	SLAB_ELEMENTS = 131072,
	ROW_GAP = 16,
	IN_PLACE_PANELS = 2,
	MERGE_ELEMENTS = 16384,
};

struct filter {
	const struct pfld_cpu_conv *conv;
	const struct pfld_cpu_gemm_kernels *kernels;
	struct pfld_cpu_conv_pass pass;
	struct pfld_cpu_conv_blocks blocks; // of dkernel's rows
	int64_t num_rows;                   // output pixels of all samples
	int32_t num_steps;                  // rows of dkernel
	int32_t num_groups, slab_rows, num_slabs;
	int32_t num_column_blocks, block_columns;
	int32_t merge_rows; // of dkernel, per item
	bool direct;        // one group, which writes the results themselves
	bool in_place;      // x is read where it lies
	size_t gathered_stride, gathered_bytes, dy_bytes, scratch_bytes; // dy_bytes: of a slab of dy, when it is pending
	size_t sums_elements, sums_bytes; // of one group: (num_steps, filters), then (filters)
	char *workspace;
};

static struct filter cut(const struct pfld_backend_device *device, const struct pfld_cpu_conv *conv)
{
	struct filter f = {
		.conv = conv,
		.kernels = device->kernels->gemm,
		.pass =
			{
				.y = pfld_cpu_conv_forward_axis(conv, 0),
				.x = pfld_cpu_conv_forward_axis(conv, 1),
				.n = conv->n,
				.source_c = conv->c,
				.source = {conv->x, conv->x_stride, conv->x_pending},
				.kernels = device->kernels,
			},
		.workspace = conv->workspace,
	};
	f.num_rows = pfld_cpu_conv_rows(&f.pass);
	f.num_steps = conv->has_dkernel ? f.pass.y.num_taps * f.pass.x.num_taps * conv->c : 0;
	int64_t columns = conv->filters, elements = f.num_steps * columns;

	int64_t slab = SLAB_ELEMENTS / (PFLD_MIN(f.num_steps, MAX_STEPS) + PFLD_MIN(columns, MAX_COLUMNS));
	slab = PFLD_MIN(PFLD_MAX(slab, MIN_SLAB_ROWS), MAX_SLAB_ROWS);
	f.slab_rows = (int32_t)PFLD_MIN(slab, f.num_rows);
	f.num_slabs = (int32_t)pfld_cpu_conv_ceil(f.num_rows, f.slab_rows);
	int64_t groups = PFLD_MIN(MAX_GROUPS, GROUPED_ELEMENTS / PFLD_MAX(elements, 1));
	f.num_groups = (int32_t)PFLD_MAX(PFLD_MIN(groups, f.num_slabs), 1);
	f.direct = f.num_groups == 1;

	int32_t tile = f.kernels->columns;
	int64_t column_blocks = pfld_cpu_conv_ceil(columns, MAX_COLUMNS);
	f.block_columns = (int32_t)(pfld_cpu_conv_ceil(pfld_cpu_conv_ceil(columns, column_blocks), tile) * tile);
	f.num_column_blocks = (int32_t)pfld_cpu_conv_ceil(columns, f.block_columns);
	int64_t wanted = pfld_cpu_conv_ceil(WANTED_ITEMS, f.num_groups * f.num_column_blocks);
	int64_t steps = PFLD_MAX(pfld_cpu_conv_ceil(f.num_steps, wanted), MIN_STEPS);
	f.blocks = pfld_cpu_conv_cut(&f.pass, PFLD_MIN(steps, MAX_STEPS));
	if (!conv->has_dkernel) f.blocks.num_blocks = 1;

	// A copy of x pays when several panels read it.
	f.in_place = pfld_cpu_conv_in_place(&f.pass) && f.block_columns <= IN_PLACE_PANELS * tile;
	struct pfld_cpu_conv_block first = pfld_cpu_conv_block_at(&f.blocks, 0);
	f.gathered_stride = (size_t)first.num_taps * (size_t)first.num_channels + ROW_GAP;
	f.gathered_bytes =
		conv->has_dkernel && !f.in_place ? pfld_cpu_conv_bytes((size_t)f.slab_rows * f.gathered_stride) : 0;
	size_t packed_bytes = pfld_cpu_conv_bytes((size_t)f.slab_rows * (size_t)f.block_columns);
	f.dy_bytes = conv->dy_pending ? packed_bytes : 0;
	f.scratch_bytes = f.gathered_bytes + f.dy_bytes + packed_bytes;
	f.sums_elements = ((size_t)f.num_steps + 1) * (size_t)columns;
	f.sums_bytes = f.direct ? 0 : pfld_cpu_conv_bytes(f.sums_elements);
	f.merge_rows = (int32_t)PFLD_MAX(MERGE_ELEMENTS / columns, 1);
	return f;
}

size_t pfld_cpu_conv_filter_bytes(const struct pfld_backend_device *device, const struct pfld_cpu_conv *conv)
{
	struct filter f = cut(device, conv);
	return (size_t)f.num_groups * f.sums_bytes + (size_t)device->num_threads * f.scratch_bytes;
}

static pfld_real *group_sums(const struct filter *f, int32_t group)
{
	return (pfld_real *)(f->workspace + (size_t)group * f->sums_bytes);
}

// One item's part of the results, and where it adds up.
struct part {
	struct pfld_cpu_conv_block block;
	int32_t column, num_columns;
	pfld_real *dkernel, *dbias; // NULL: not this item's
	ptrdiff_t dkernel_stride;
	pfld_real *gathered, *dy, *packed; // scratch
};

// Adds one slab. The inner sums start from zero in each slab, which also keeps long sums accurate.
static void add_slab(const struct filter *f, const struct part *part, int32_t slab, bool add_dkernel, bool add_dbias)
{
	static const pfld_real one = 1;
	const struct pfld_cpu_conv *conv = f->conv;
	int64_t row = (int64_t)slab * f->slab_rows;
	int32_t num_rows = (int32_t)PFLD_MIN(f->slab_rows, f->num_rows - row), tile = f->kernels->columns;
	const pfld_real *x = part->gathered;
	ptrdiff_t x_stride = (ptrdiff_t)f->gathered_stride;
	if (part->dkernel && f->in_place) {
		x = conv->x + row * conv->x_stride + part->block.channel;
		x_stride = conv->x_stride;
	} else if (part->dkernel) {
		pfld_cpu_conv_gather(&f->pass, &part->block, row, num_rows, part->gathered, x_stride);
	}
	const pfld_real *dy = conv->dy + row * conv->y_stride + part->column;
	ptrdiff_t dy_stride = conv->y_stride;
	if (conv->dy_pending) {
		struct pfld_cpu_source source = {conv->dy, conv->y_stride, conv->dy_pending};
		struct pfld_cpu_piece piece = {row, num_rows, 1, part->column, part->num_columns};
		dy = part->dy;
		dy_stride = part->num_columns;
		pfld_cpu_load(f->pass.kernels, &source, &piece, part->dy, dy_stride);
	}
	f->kernels->pack(part->packed, dy, dy_stride, num_rows, part->num_columns);
	for (int32_t j = 0; j < part->num_columns; j += tile) {
		struct pfld_cpu_gemm_panel task = {
			.num_columns = PFLD_MIN(tile, part->num_columns - j),
			.num_steps = num_rows,
			.b = part->packed + (ptrdiff_t)j * num_rows,
		};
		if (part->dkernel) {
			task.num_rows = part->block.num_taps * part->block.num_channels;
			task.a = x;
			task.a_stride = x_stride;
			task.c = part->dkernel + j;
			task.c_stride = part->dkernel_stride;
			task.add = add_dkernel;
			f->kernels->multiply_transposed(&task);
		}
		if (part->dbias) {
			task.num_rows = 1;
			task.a = &one;
			task.a_stride = 0;
			task.c = part->dbias + j;
			task.add = add_dbias;
			f->kernels->multiply_transposed(&task);
		}
	}
}

static void sum_item(void *arg, int32_t item, int32_t worker)
{
	const struct filter *f = arg;
	const struct pfld_cpu_conv *conv = f->conv;
	int32_t column_block = item % f->num_column_blocks, block = item / f->num_column_blocks % f->blocks.num_blocks;
	int32_t group = item / f->num_column_blocks / f->blocks.num_blocks;
	char *scratch = f->workspace + (size_t)f->num_groups * f->sums_bytes + (size_t)worker * f->scratch_bytes;
	struct part part = {
		.block = pfld_cpu_conv_block_at(&f->blocks, block),
		.column = column_block * f->block_columns,
		.gathered = (pfld_real *)scratch,
		.dy = (pfld_real *)(scratch + f->gathered_bytes),
		.packed = (pfld_real *)(scratch + f->gathered_bytes + f->dy_bytes),
		.dkernel_stride = f->direct ? conv->kernel_stride : conv->filters,
	};
	part.num_columns = PFLD_MIN(f->block_columns, conv->filters - part.column);
	if (conv->has_dkernel) {
		ptrdiff_t first = (ptrdiff_t)part.block.tap * conv->c + part.block.channel;
		part.dkernel = (f->direct ? conv->dkernel : group_sums(f, group)) + first * part.dkernel_stride + part.column;
	}
	if (conv->has_dbias && block == 0) {
		ptrdiff_t first = (ptrdiff_t)f->num_steps * conv->filters;
		part.dbias = (f->direct ? conv->dbias : group_sums(f, group) + first) + part.column;
	}
	int32_t begin = (int32_t)((int64_t)group * f->num_slabs / f->num_groups);
	int32_t end = (int32_t)((int64_t)(group + 1) * f->num_slabs / f->num_groups);
	for (int32_t slab = begin; slab < end; slab++)
		add_slab(f, &part, slab, slab > begin || (f->direct && conv->add_dkernel),
		         slab > begin || (f->direct && conv->add_dbias));
}

// One row of results from the groups' sums, in the order of groups.
static void merge_row(const struct filter *f, size_t first, pfld_real *out, bool add)
{
	int32_t columns = f->conv->filters;
	for (int32_t j = 0; j < columns; j++) {
		pfld_real sum = group_sums(f, 0)[first + (size_t)j];
		for (int32_t group = 1; group < f->num_groups; group++) sum += group_sums(f, group)[first + (size_t)j];
		out[j] = add ? out[j] + sum : sum;
	}
}

static void merge_item(void *arg, int32_t item, int32_t worker)
{
	const struct filter *f = arg;
	const struct pfld_cpu_conv *conv = f->conv;
	int32_t begin = item * f->merge_rows, end = PFLD_MIN(begin + f->merge_rows, f->num_steps + 1);
	for (int32_t row = begin; row < end; row++) {
		size_t first = (size_t)row * (size_t)conv->filters;
		if (row < f->num_steps)
			merge_row(f, first, conv->dkernel + row * conv->kernel_stride, conv->add_dkernel);
		else if (conv->has_dbias)
			merge_row(f, first, conv->dbias, conv->add_dbias);
	}
}

void pfld_cpu_conv_filter(struct pfld_backend_device *device, const struct pfld_cpu_conv *conv)
{
	struct filter f = cut(device, conv);
	pfld_cpu_parallel(device, f.num_groups * f.blocks.num_blocks * f.num_column_blocks, sum_item, &f);
	if (!f.direct)
		pfld_cpu_parallel(device, (int32_t)pfld_cpu_conv_ceil(f.num_steps + 1, f.merge_rows), merge_item, &f);
}
