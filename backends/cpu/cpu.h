// SPDX-License-Identifier: MIT
// Inside of the cpu backend: the device, the table that leads from op kinds to their files, and the slabs that keep
// results the same for every thread count. Op files (op_*.c) hold checks, blocking and threading and no intrinsics;
// kernels lie per instruction set in c/ and avx2/ under the same file names and are chosen once, at open.
#ifndef PFLD_CPU_CPU_H
#define PFLD_CPU_CPU_H

#include "base/thread.h"
#include "cpu/kernels.h"
#include "device/backend.h"

struct pfld_backend_device {
	const struct pfld_cpu_kernels *kernels;
	struct pfld_pool *pool;              // our own threads, or NULL when the host brings its
	pfld_parallel_for *parallel_for;
	void *parallel_for_context;
	int32_t num_threads;
	struct pfld_log log;
};

// What may depend on what: which slab, kernel and order of additions serves an op is a function of the op, its shapes,
// n and the level; never of the thread count. run() hands out items in any order to any worker; an item writes only its
// own part of the results, or its own partial result that is merged afterwards in item order.
void pfld_cpu_parallel(struct pfld_backend_device *device, int32_t num_items, pfld_pool_fn *fn, void *arg);

// Pixels cut into pieces whose bounds depend on the counts alone: pictures one after the other, each into as many slabs, of
// which the last may be smaller.
struct pfld_cpu_slabs {
	int64_t num_pixels, pixels_per_slab; // of a picture
	int32_t num_slabs, slabs_per_picture;
};
// All pixels as one picture: about 64 Ki elements a slab, at most 1024 pixels.
struct pfld_cpu_slabs pfld_cpu_slabs(int64_t num_pixels, int32_t num_channels);
static inline int64_t pfld_cpu_slab_first(const struct pfld_cpu_slabs *slabs, int32_t slab)
{
	return slab / slabs->slabs_per_picture * slabs->num_pixels + slab % slabs->slabs_per_picture * slabs->pixels_per_slab;
}
static inline int64_t pfld_cpu_slab_pixels(const struct pfld_cpu_slabs *slabs, int32_t slab)
{
	int64_t before = slab % slabs->slabs_per_picture * slabs->pixels_per_slab;
	return PFLD_MIN(slabs->pixels_per_slab, slabs->num_pixels - before);
}
static inline int64_t pfld_cpu_num_pixels(const struct pfld_operand *operand, int32_t n)
{
	return (int64_t)n * operand->h * operand->w;
}

// A source as ops read it, pending or not: `pending` NULL means that the numbers are those in memory.
struct pfld_cpu_source {
	const pfld_real *at; // first pixel
	ptrdiff_t stride;    // of pixels
	const struct pfld_pending *pending;
};
struct pfld_cpu_source pfld_cpu_source(const struct pfld_operand *operand);
// Channels [channel, channel + num_channels) of num_pixels pixels, `step` pixels apart from `pixel` on, to out. Only for
// sources that are pending.
struct pfld_cpu_piece {
	int64_t pixel, num_pixels, step;
	int32_t channel, num_channels;
};
void pfld_cpu_load(const struct pfld_cpu_kernels *kernels, const struct pfld_cpu_source *source,
                   const struct pfld_cpu_piece *piece, pfld_real *out, ptrdiff_t out_stride);

// The sum of partial results in their order, in double: dst[j] = factor[j] times the sum over parts of
// parts[part * part_stride + j], written or added.
struct pfld_cpu_merge {
	const pfld_real *parts;
	ptrdiff_t part_stride;
	int32_t num_parts, num_columns;
	const pfld_real *factor; // or NULL: 1
	pfld_real *dst;
	pfld_real *second; // also goes there, or NULL
	bool add, add_second;
};
void pfld_cpu_merge(struct pfld_backend_device *device, const struct pfld_cpu_merge *merge);

// Whether result `dst` is added to what is there.
static inline bool pfld_cpu_adds(const struct pfld_op *op, int32_t dst, const struct pfld_run *run)
{
	return op->accumulate[dst] || (op->gradient[dst] && run->accumulate_gradients);
}

// One entry per op kind; ops.c holds the table.
struct pfld_cpu_op {
	// False with a reason when it lacks something for this op, pending sources apart. NULL: always true.
	bool (*supports)(const struct pfld_op *op, const char **reason);
	// Whether source `source`, which is pending, is read so. NULL: none is.
	bool (*reads_pending)(const struct pfld_op *op, int32_t source);
	// NULL: 0. Per-thread scratch is num_threads times what one needs.
	size_t (*workspace_bytes)(const struct pfld_backend_device *device, const struct pfld_op *op, int32_t batch);
	void (*enqueue)(struct pfld_backend_device *device, const struct pfld_op *op, const struct pfld_run *run);
};
extern const struct pfld_cpu_op *const pfld_cpu_ops[PFLD_OP_NUM_KINDS];

// Nanoseconds of one thread, roughly (cost.c).
double pfld_cpu_cost(const struct pfld_backend_device *device, const struct pfld_op *op, int32_t batch);

// Each family's entries, defined in op_<family>.c.
extern const struct pfld_cpu_op pfld_cpu_conv2d, pfld_cpu_conv2d_gradient;
extern const struct pfld_cpu_op pfld_cpu_bn_statistics, pfld_cpu_bn_train, pfld_cpu_bn_infer, pfld_cpu_fold;
extern const struct pfld_cpu_op pfld_cpu_bn_gradient_sums, pfld_cpu_bn_gradient;
extern const struct pfld_cpu_op pfld_cpu_apply, pfld_cpu_apply_gradient;
extern const struct pfld_cpu_op pfld_cpu_softmax, pfld_cpu_softmax_gradient;
extern const struct pfld_cpu_op pfld_cpu_pool, pfld_cpu_pool_gradient;
extern const struct pfld_cpu_op pfld_cpu_add, pfld_cpu_dropout;
extern const struct pfld_cpu_op pfld_cpu_loss, pfld_cpu_loss_sums;
extern const struct pfld_cpu_op pfld_cpu_gradient_norm, pfld_cpu_optimizer;

// Address of an operand's first element; NULL when absent.
static inline pfld_real *pfld_cpu_at(const struct pfld_operand *operand)
{
	if (!pfld_operand_present(operand)) return NULL;
	return (pfld_real *)((char *)operand->region->host + operand->offset_bytes);
}

#endif
