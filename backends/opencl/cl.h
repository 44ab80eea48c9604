// SPDX-License-Identifier: MIT
// Inside of the opencl backend: the device, errors, programs, and the few calls by which an op file gets its kernels
// onto the queue. An op is one entry of the table in ops.c: op_<family>.c says what is launched with which operands,
// kernels/<family>.cl does it; kernels/common.cl is the other side of the bindings here.
#ifndef PFLD_OPENCL_CL_H
#define PFLD_OPENCL_CL_H

#define CL_TARGET_OPENCL_VERSION 120
#include "device/backend.h"

#include <CL/cl.h>

// ---- programs (program.c) ----

// One program a file of kernels/, built when the first op needs one of its kernels.
enum pfld_cl_family {
	PFLD_CL_BATCH_NORM,
	PFLD_CL_ELEMENTWISE,
	PFLD_CL_HEAD,
	PFLD_CL_LOSS,
	PFLD_CL_MERGE,
	PFLD_CL_OPTIMIZER,
	PFLD_CL_POOL,
	PFLD_CL_NUM_FAMILIES,
};

// The text of kernels/, made part of the library by embed.py.
struct pfld_cl_source {
	const char *name, *text;
};
extern const struct pfld_cl_source pfld_cl_sources[PFLD_CL_NUM_FAMILIES];
// In front of each of them: common.cl, and formulas.cl once for single numbers and once for vectors.
extern const struct pfld_cl_source pfld_cl_common, pfld_cl_formulas;

// A kernel of its own for one place it is called from, so that its arguments stay. Builds the program where it is the
// first of its family.
enum pfld_status pfld_cl_kernel_create(struct pfld_backend_device *device, enum pfld_cl_family family, const char *name,
                                       cl_kernel *kernel, struct pfld_error *error);

// Programs kept on disk (cache.c). key: the digest of all that one depends on. load: built, or NULL.
enum { PFLD_CL_MOST_KERNELS = 64 }; // of a program
void pfld_cl_cache_open(struct pfld_backend_device *device, const char *folder);
void pfld_cl_cache_key(const struct pfld_backend_device *device, const char *const *texts, size_t num_texts,
                       const char *options, char key[65]);
cl_program pfld_cl_cache_load(struct pfld_backend_device *device, const char *key, const char *options);
// What was built from source goes there when the device closes: some drivers compile all kernels when they are asked for a
// program, which would delay the first step by seconds.
void pfld_cl_cache_store(struct pfld_backend_device *device);

// ---- device ----

// What chooses kernels, tiles and slabs: numbers that the device tells, or that go with its kind. Results depend on them
// and on nothing else of the device.
struct pfld_cl_class {
	bool is_cpu;
	bool has_fma;            // fused multiply-adds in hardware
	int32_t vector_width;    // channels that an item takes at once: V in the kernels
	int32_t pixels_per_item; // of passes over pixels
	int32_t slab_pixels;     // most of a slab (see below)
	int32_t merge_rows;      // partial results that an item merges; INT32_MAX: all
	int32_t group_items;     // of a one-dimensional work group
	size_t max_group_items;  // that the device allows
	uint64_t local_bytes;    // of a work group
	int32_t num_units;
};

struct pfld_backend_device {
	cl_platform_id platform;
	cl_device_id id;
	cl_context context;
	cl_command_queue queue;     // in order: all ops, and the copies that wait for them
	cl_command_queue transfers; // in order, beside it: memory that no op can be using
	cl_event sent, copied;      // the last of each, NULL where nobody need wait for one (memory.c)
	cl_mem nothing;             // bound where an operand is absent
	cl_program programs[PFLD_CL_NUM_FAMILIES];
	char *cache_folder; // of programs; NULL: none are kept
	char unkept[PFLD_CL_NUM_FAMILIES][65]; // keys of programs that were built from source
	struct pfld_cl_class class;
	struct pfld_device_limits limits;
	struct pfld_log log;
};

// The numbers that go with a device (class.c).
struct pfld_cl_class pfld_cl_class_of(cl_device_id id);

// Devices of all platforms (list.c).
int32_t pfld_cl_list(struct pfld_device_info *infos, int32_t capacity);
const char *pfld_cl_why_none(void);
// The device of that index in the list. False: there is none any more.
bool pfld_cl_find(int32_t index, cl_platform_id *platform, cl_device_id *id);

// ---- errors (error.c) ----

// "clBuildProgram: CL_OUT_OF_HOST_MEMORY (-6): what it means and what to do". Returns the status that goes with the code.
enum pfld_status pfld_cl_fail(struct pfld_error *error, cl_int code, const char *call);
// Whether the code is how drivers say that there is no room.
bool pfld_cl_means_no_memory(cl_int code);

// ---- memory (memory.c) ----
// A region's handle is a cl_mem; one that was carved from a chunk has the chunk's, and lies chunk_offset bytes behind its
// begin. `host` is NULL but for memory made for the host, which stays mapped.
enum pfld_status pfld_cl_region_create(struct pfld_backend_device *device, size_t bytes, struct pfld_region *region,
                                       struct pfld_error *error);
enum pfld_status pfld_cl_host_region_create(struct pfld_backend_device *device, size_t bytes, struct pfld_region *region,
                                            struct pfld_error *error);
void pfld_cl_region_destroy(struct pfld_backend_device *device, struct pfld_region *region);
enum pfld_status pfld_cl_region_carve(struct pfld_backend_device *device, const struct pfld_region *chunk,
                                      size_t offset_bytes, size_t bytes, struct pfld_region *region,
                                      struct pfld_error *error);
void pfld_cl_region_return(struct pfld_backend_device *device, struct pfld_region *region);
enum pfld_status pfld_cl_upload(struct pfld_backend_device *device, struct pfld_region *region, size_t offset_bytes,
                                const void *source, size_t bytes, struct pfld_error *error);
enum pfld_status pfld_cl_download(struct pfld_backend_device *device, const struct pfld_region *region,
                                  size_t offset_bytes, void *destination, size_t bytes, struct pfld_error *error);
enum pfld_status pfld_cl_fill(struct pfld_backend_device *device, struct pfld_region *region, size_t offset_bytes,
                              const void *pattern, size_t element_bytes, size_t count, struct pfld_error *error);
enum pfld_status pfld_cl_send(struct pfld_backend_device *device, struct pfld_region *region, size_t offset_bytes,
                              const void *source, size_t bytes, struct pfld_error *error);
enum pfld_status pfld_cl_sent(struct pfld_backend_device *device, struct pfld_error *error);
enum pfld_status pfld_cl_copy(struct pfld_backend_device *device, const struct pfld_region *from, size_t from_offset_bytes,
                              struct pfld_region *to, size_t to_offset_bytes, size_t bytes, struct pfld_error *error);
enum pfld_status pfld_cl_fetch(struct pfld_backend_device *device, const struct pfld_region *region, size_t offset_bytes,
                               void *destination, size_t bytes, struct pfld_error *error);
enum pfld_status pfld_cl_finish(struct pfld_backend_device *device, struct pfld_error *error);

// ---- launches (launch.c) ----

// One call of a kernel. Its first arguments are those that change from run to run; the others are bound once.
struct pfld_cl_launch {
	cl_kernel kernel;
	cl_uint num_run_args, num_args; // num_args: so far, run's among them
	size_t local[3];
	int32_t rows_in_one; // merges: rows that become one (merge.h)
	bool is_last;        // merges: of its kind
};

// What prepare() makes of an op: its launches in the order in which enqueue() goes through them. The first failure of
// either call stays here and is its result; what comes after it does nothing, so op files check nothing.
struct pfld_op_state {
	struct pfld_backend_device *device;
	int32_t batch; // prepared for
	struct pfld_cl_launch *launches;
	size_t num_launches, capacity;
	size_t next;          // launch that enqueue() is at
	cl_uint next_run_arg; // of that launch
	void *own;            // what else an op keeps: one block, freed with this
	enum pfld_status status;
	struct pfld_error *error; // of the call that is running
};

// In prepare(). begin: a launch of this kernel, with `num_run_args` arguments at first that enqueue() sets. Groups are one-
// dimensional, of the class's size, unless pfld_cl_local() says otherwise. Then each argument behind those, in order.
void pfld_cl_begin(struct pfld_op_state *state, enum pfld_cl_family family, const char *name, cl_uint num_run_args);
void pfld_cl_local(struct pfld_op_state *state, size_t x, size_t y, size_t z);
void pfld_cl_bind_int(struct pfld_op_state *state, int32_t value);
void pfld_cl_bind_float(struct pfld_op_state *state, double value);
void pfld_cl_bind_local(struct pfld_op_state *state, size_t bytes); // local memory
// INPUT or OUTPUT of common.cl: memory, first element, pixel stride (0: absent). NULL or an operand that is not there:
// absent. What is pending is not looked at.
void pfld_cl_bind(struct pfld_op_state *state, const struct pfld_operand *operand);
// The same for elements [first, ...) of the op's workspace, rows `stride` apart.
void pfld_cl_bind_workspace(struct pfld_op_state *state, const struct pfld_op *op, size_t first, size_t stride);
// SOURCE of common.cl: an operand that may be pending. NULL: absent.
void pfld_cl_bind_source(struct pfld_op_state *state, const struct pfld_operand *operand);

// In enqueue(), launch by launch: the run's arguments in order, then go over so many items (rounded up to whole groups:
// kernels return where there is no work), which goes on to the next launch. skip: this one is not needed.
void pfld_cl_run_int(struct pfld_op_state *state, int32_t value);
void pfld_cl_run_float(struct pfld_op_state *state, double value);
void pfld_cl_run_ulong(struct pfld_op_state *state, uint64_t value);
void pfld_cl_go(struct pfld_op_state *state, int64_t num_items);
void pfld_cl_go_3d(struct pfld_op_state *state, int64_t x, int64_t y, int64_t z);
void pfld_cl_skip(struct pfld_op_state *state);
// Between launches. write: a copy of host memory, which must stay as it is until the queue has got there; wait: until it has.
void pfld_cl_write(struct pfld_op_state *state, const struct pfld_operand *to, const void *from, size_t bytes);
void pfld_cl_wait(struct pfld_op_state *state);
const struct pfld_cl_launch *pfld_cl_next(const struct pfld_op_state *state);

// ---- ops ----

// One entry per op kind; ops.c holds the table.
struct pfld_cl_op {
	// False with a reason when it lacks something for this op, pending sources apart. NULL: always true.
	bool (*supports)(const struct pfld_backend_device *device, const struct pfld_op *op, const char **reason);
	// Whether source `source`, which is pending, is read so. NULL: none is.
	bool (*reads_pending)(const struct pfld_op *op, int32_t source);
	size_t (*workspace_bytes)(const struct pfld_backend_device *device, const struct pfld_op *op, int32_t batch); // NULL: 0
	void (*prepare)(struct pfld_op_state *state, const struct pfld_op *op);
	void (*enqueue)(struct pfld_op_state *state, const struct pfld_op *op, const struct pfld_run *run);
};
extern const struct pfld_cl_op *const pfld_cl_ops[PFLD_OP_NUM_KINDS];

// Each family's entries, defined in op_<family>.c.
extern const struct pfld_cl_op pfld_cl_bn_statistics, pfld_cl_bn_train, pfld_cl_bn_infer, pfld_cl_fold;
extern const struct pfld_cl_op pfld_cl_bn_gradient_sums, pfld_cl_bn_gradient;
extern const struct pfld_cl_op pfld_cl_apply, pfld_cl_apply_gradient, pfld_cl_add;
extern const struct pfld_cl_op pfld_cl_softmax, pfld_cl_softmax_gradient, pfld_cl_dropout, pfld_cl_pool, pfld_cl_pool_gradient;
extern const struct pfld_cl_op pfld_cl_loss, pfld_cl_loss_sums, pfld_cl_gradient_norm, pfld_cl_optimizer;

// Nanoseconds, roughly (cost.c).
double pfld_cl_cost(const struct pfld_backend_device *device, const struct pfld_op *op, int32_t batch);

// Pixels of n samples. prepare() has seen that those of the batch fit.
static inline int32_t pfld_cl_num_pixels(const struct pfld_operand *operand, int32_t n)
{
	return n * operand->h * operand->w;
}
static inline int32_t pfld_cl_parts(int64_t whole, int64_t part)
{
	return (int32_t)((whole + part - 1) / part);
}
// Vectors of channels.
static inline int32_t pfld_cl_vectors(const struct pfld_backend_device *device, int32_t num_channels)
{
	return pfld_cl_parts(num_channels, device->class.vector_width);
}
// Items of a pass over pixels: so many pixels and one vector of channels each.
static inline int64_t pfld_cl_pass_items(const struct pfld_backend_device *device, int32_t num_pixels,
                                         int32_t num_channels)
{
	return (int64_t)pfld_cl_parts(num_pixels, device->class.pixels_per_item) * pfld_cl_vectors(device, num_channels);
}

// Whether result `dst` is added to what is there.
static inline bool pfld_cl_adds(const struct pfld_op *op, int32_t dst, const struct pfld_run *run)
{
	return op->accumulate[dst] || (op->gradient[dst] && run->accumulate_gradients);
}

#endif
