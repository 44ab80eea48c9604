// SPDX-License-Identifier: MIT
// See merge.h. Where a device likes many small items, rows are merged in levels, so many into one; each level's rows lie
// behind those of the level before. A level that finds one row passes it on unchanged, so results do not depend on how
// many levels the batch asked for.
#include "opencl/merge.h"

struct pfld_cl_slabs pfld_cl_slabs(const struct pfld_backend_device *device, int32_t num_pixels)
{
	int32_t pixels = device->class.slab_pixels, num = pfld_cl_parts(num_pixels, pixels);
	return (struct pfld_cl_slabs){num_pixels, pixels, num, num};
}

size_t pfld_cl_merge_elements(const struct pfld_backend_device *device, int32_t num_rows, int32_t num_columns)
{
	size_t rows = (size_t)num_rows;
	while (num_rows > device->class.merge_rows) {
		num_rows = pfld_cl_parts(num_rows, device->class.merge_rows);
		rows += (size_t)num_rows;
	}
	return rows * (size_t)num_columns;
}

// Behind pfld_cl_begin(): notes down what the enqueue function needs. Returns the rows that are left.
static int32_t end_level(struct pfld_op_state *state, int32_t num_rows)
{
	if (state->status != PFLD_OK) return 1;
	struct pfld_cl_launch *launch = &state->launches[state->num_launches - 1];
	launch->rows_in_one = state->device->class.merge_rows;
	num_rows = pfld_cl_parts(num_rows, launch->rows_in_one);
	launch->is_last = num_rows == 1;
	return num_rows;
}

// The rows that this level's launch makes of so many.
static int32_t go_level(struct pfld_op_state *state, int32_t num_rows, int32_t num_columns)
{
	num_rows = pfld_cl_parts(num_rows, pfld_cl_next(state)->rows_in_one);
	pfld_cl_go(state, (int64_t)num_rows * pfld_cl_vectors(state->device, num_columns));
	return num_rows;
}

// ---- sums ----

// To the operand, or, where it is NULL, to a row behind all levels, which is returned.
static size_t prepare_sums(struct pfld_op_state *state, const struct pfld_op *op, size_t first, int32_t num_rows,
                           int32_t num_columns, const struct pfld_operand *dst)
{
	int32_t most = state->device->class.merge_rows, left = num_rows;
	do {
		size_t behind = first + (size_t)left * (size_t)num_columns;
		bool last = left <= most;
		pfld_cl_begin(state, PFLD_CL_MERGE, "merge_rows", 2);
		if (last && dst) pfld_cl_bind(state, dst);
		else pfld_cl_bind_workspace(state, op, behind, (size_t)num_columns);
		pfld_cl_bind_workspace(state, op, first, (size_t)num_columns);
		pfld_cl_bind_int(state, num_columns);
		pfld_cl_bind_int(state, most);
		left = end_level(state, left);
		first = behind;
	} while (left > 1);
	return first;
}

void pfld_cl_prepare_merge(struct pfld_op_state *state, const struct pfld_op *op, size_t first, int32_t num_rows,
                           int32_t num_columns, const struct pfld_operand *dst)
{
	prepare_sums(state, op, first, num_rows, num_columns, dst);
}

void pfld_cl_enqueue_merge(struct pfld_op_state *state, int32_t num_rows, int32_t num_columns, bool add)
{
	for (bool last = false; !last;) {
		last = pfld_cl_next(state)->is_last;
		pfld_cl_run_int(state, num_rows);
		pfld_cl_run_int(state, last && add);
		num_rows = go_level(state, num_rows, num_columns);
	}
}

// ---- statistics ----

size_t pfld_cl_statistics_elements(const struct pfld_backend_device *device, const struct pfld_cl_slabs *slabs,
                                   int32_t num_channels)
{
	return pfld_cl_merge_elements(device, slabs->num_slabs, 2 * num_channels);
}

void pfld_cl_prepare_statistics(struct pfld_op_state *state, const struct pfld_op *op, size_t first,
                                const struct pfld_cl_slabs *slabs, const struct pfld_operand *dst)
{
	int32_t most = state->device->class.merge_rows, left = slabs->num_slabs, num_channels = dst[0].c, span = 1;
	size_t stride = 2 * (size_t)num_channels;
	do {
		size_t behind = first + (size_t)left * stride;
		bool last = left <= most;
		pfld_cl_begin(state, PFLD_CL_MERGE, "merge_statistics", 4);
		if (last) {
			pfld_cl_bind(state, &dst[0]);
			pfld_cl_bind(state, &dst[1]);
		} else {
			pfld_cl_bind_workspace(state, op, behind, stride);
			pfld_cl_bind_workspace(state, op, behind + (size_t)num_channels, stride);
		}
		pfld_cl_bind_workspace(state, op, first, stride);
		pfld_cl_bind_int(state, num_channels);
		pfld_cl_bind_int(state, slabs->pixels_per_slab);
		pfld_cl_bind_int(state, span);
		pfld_cl_bind_int(state, most);
		left = end_level(state, left);
		first = behind;
		if (left > 1) span *= most;
	} while (left > 1);
}

void pfld_cl_enqueue_statistics(struct pfld_op_state *state, const struct pfld_cl_slabs *slabs, int32_t num_channels)
{
	int32_t num_rows = slabs->num_slabs;
	for (bool last = false; !last;) {
		last = pfld_cl_next(state)->is_last;
		pfld_cl_run_int(state, num_rows);
		pfld_cl_run_int(state, slabs->num_slabs);
		pfld_cl_run_int(state, slabs->slabs_per_picture);
		pfld_cl_run_int(state, slabs->num_pixels);
		num_rows = go_level(state, num_rows, num_channels);
	}
}

// ---- what a batch norm's gradient needs ----

size_t pfld_cl_sums_elements(const struct pfld_backend_device *device, const struct pfld_cl_slabs *slabs,
                             int32_t num_channels)
{
	return pfld_cl_merge_elements(device, slabs->num_slabs, 2 * num_channels) + 2 * (size_t)num_channels;
}

void pfld_cl_prepare_sums(struct pfld_op_state *state, const struct pfld_op *op, size_t first,
                          const struct pfld_cl_slabs *slabs, const struct pfld_operand *inv_std, int32_t first_dst)
{
	const struct pfld_operand *dst = &op->dst[first_dst];
	size_t sums = prepare_sums(state, op, first, slabs->num_slabs, 2 * inv_std->c, NULL);
	pfld_cl_begin(state, PFLD_CL_BATCH_NORM, "bn_finish_sums", 3);
	for (int32_t i = 0; i < 4; i++) pfld_cl_bind(state, &dst[i]);
	pfld_cl_bind_workspace(state, op, sums, 2 * (size_t)inv_std->c);
	pfld_cl_bind(state, inv_std);
	pfld_cl_bind_int(state, inv_std->c);
}

void pfld_cl_enqueue_sums(struct pfld_op_state *state, const struct pfld_op *op, const struct pfld_cl_slabs *slabs,
                          int32_t num_channels, int32_t first_dst, const struct pfld_run *run)
{
	pfld_cl_enqueue_merge(state, slabs->num_slabs, 2 * num_channels, false);
	pfld_cl_run_float(state, (double)slabs->num_pixels * (slabs->num_slabs / slabs->slabs_per_picture));
	pfld_cl_run_int(state, pfld_cl_adds(op, first_dst + 2, run));
	pfld_cl_run_int(state, pfld_cl_adds(op, first_dst + 3, run));
	pfld_cl_go(state, num_channels);
}
