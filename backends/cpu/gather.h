// SPDX-License-Identifier: MIT
// Numbers per channel that are gathered from a tensor slab by slab: a batch's statistics, or the sums that the gradient of
// a batch norm needs. The op that writes the tensor does it while the slab is still in the cache, or an op of their own.
// Included by op_conv2d*.c and op_batch_norm.c.
#ifndef PFLD_CPU_GATHER_H
#define PFLD_CPU_GATHER_H

#include "cpu/cpu.h"

enum pfld_cpu_gather_kind { PFLD_CPU_GATHER_NOTHING, PFLD_CPU_GATHER_STATISTICS, PFLD_CPU_GATHER_SUMS };

struct pfld_cpu_gather {
	enum pfld_cpu_gather_kind kind;
	struct pfld_cpu_slabs slabs; // of the tensor; for n samples
	int32_t num_channels;
	struct pfld_cpu_gradient gradient; // statistics: its x is the tensor; sums: its dy
	pfld_real *dst[2];                 // mean and m2, or mean_dz and slope_x
	const pfld_real *inv_std;          // the rest: sums only
	pfld_real *dbeta, *dgamma;
	bool add_dbeta, add_dgamma;
	pfld_real *parts; // (num_slabs, 2, c), then scratch (num_threads, 2, c)
};

// Statistics of x, to dst[0] and [1] of the op; sums of dy, by the operands src[0 .. 4] (x, scale, shift, mean, inv_std) to
// dst[0 .. 3] (mean_dz, slope_x, dbeta, dgamma), of which the last two are results first_dst + 2 and + 3 of the op.
struct pfld_cpu_gather pfld_cpu_gather_statistics(const struct pfld_operand *x, const struct pfld_operand *dst);
struct pfld_cpu_gather pfld_cpu_gather_sums(const struct pfld_op *op, const struct pfld_operand *dy,
                                            const struct pfld_operand *src, int32_t first_dst, struct pfld_act_attr act,
                                            const struct pfld_run *run);
size_t pfld_cpu_gather_bytes(const struct pfld_backend_device *device, const struct pfld_cpu_gather *gather);
// One slab, which has been written.
void pfld_cpu_gather_slab(const struct pfld_backend_device *device, const struct pfld_cpu_gather *gather, int32_t slab,
                          int32_t worker);
// All slabs are done: the results.
void pfld_cpu_gather_finish(struct pfld_backend_device *device, const struct pfld_cpu_gather *gather);

#endif
