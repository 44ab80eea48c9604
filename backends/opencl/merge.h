// SPDX-License-Identifier: MIT
// Partial results, one row a slab, and their merging in a fixed order: no atomics, the same bits at every run. A kernel
// writes the rows to the workspace, from element `first` on, what is here makes results of them; each prepare function adds
// launches, and the enqueue function of the same name goes through them. Included by op_*.c.
#ifndef PFLD_OPENCL_MERGE_H
#define PFLD_OPENCL_MERGE_H

#include "opencl/cl.h"

// Pixels cut into pieces whose bounds depend on the counts and the class of device alone: pictures one after the other,
// each into as many slabs, of which the last may be smaller.
struct pfld_cl_slabs {
	int32_t num_pixels, pixels_per_slab; // of a picture
	int32_t num_slabs, slabs_per_picture;
};
// All pixels as one picture.
struct pfld_cl_slabs pfld_cl_slabs(const struct pfld_backend_device *device, int32_t num_pixels);

// Elements of workspace for so many rows, and for merging them.
size_t pfld_cl_merge_elements(const struct pfld_backend_device *device, int32_t num_rows, int32_t num_columns);

// Sums over rows of num_columns numbers, to the operand (or added to it). num_rows: for the batch.
void pfld_cl_prepare_merge(struct pfld_op_state *state, const struct pfld_op *op, size_t first, int32_t num_rows,
                           int32_t num_columns, const struct pfld_operand *dst);
void pfld_cl_enqueue_merge(struct pfld_op_state *state, int32_t num_rows, int32_t num_columns, bool add);

// Statistics of a tensor. Rows: (2, c), mean and m2 of a slab. slabs: for the batch, then for n samples. To dst[0], dst[1].
size_t pfld_cl_statistics_elements(const struct pfld_backend_device *device, const struct pfld_cl_slabs *slabs,
                                   int32_t num_channels);
void pfld_cl_prepare_statistics(struct pfld_op_state *state, const struct pfld_op *op, size_t first,
                                const struct pfld_cl_slabs *slabs, const struct pfld_operand *dst);
void pfld_cl_enqueue_statistics(struct pfld_op_state *state, const struct pfld_cl_slabs *slabs, int32_t num_channels);

// What a batch norm's gradient needs. Rows: (2, c), sums of dz and of dz (x - mean) of a slab. To the results first_dst
// .. first_dst + 3 of the op: mean_dz, slope_x, dbeta, dgamma.
size_t pfld_cl_sums_elements(const struct pfld_backend_device *device, const struct pfld_cl_slabs *slabs,
                             int32_t num_channels);
void pfld_cl_prepare_sums(struct pfld_op_state *state, const struct pfld_op *op, size_t first,
                          const struct pfld_cl_slabs *slabs, const struct pfld_operand *inv_std, int32_t first_dst);
void pfld_cl_enqueue_sums(struct pfld_op_state *state, const struct pfld_op *op, const struct pfld_cl_slabs *slabs,
                          int32_t num_channels, int32_t first_dst, const struct pfld_run *run);

#endif
