// SPDX-License-Identifier: MIT
// The contract between the library and a backend: one constant table of functions per backend, listed in
// backends/backends.c, the only file that names them. lib/device calls through it; siblings never see each other.
// A backend's calls come from one thread at a time per device.
#ifndef PFLD_DEVICE_BACKEND_H
#define PFLD_DEVICE_BACKEND_H

#include "device/op.h"
#include <pfld/device.h>

// A piece of device memory. On `cpu` host points at it; elsewhere host is NULL but for what host_region_create() made.
struct pfld_region {
	size_t bytes;
	void *host;
	void *handle; // the backend's own
	struct pfld_chunk *chunk; // that it was carved from (chunks.c); NULL: a region of its own
	size_t chunk_offset;
};

// Device state of a backend, made by open().
struct pfld_backend_device;
// What prepare() made of one op.
struct pfld_op_state;

struct pfld_backend {
	const char *name; // "cpu", "opencl"

	// ---- devices ----
	// Devices this backend sees, unmasked, in a fixed order; `infos` may be NULL to count. Never fails: what cannot be
	// used is listed with `unusable` saying why.
	int32_t (*list)(struct pfld_device_info *infos, int32_t capacity);
	// What is missing where list() finds nothing, and how to get it; static text. NULL: it always finds something.
	const char *(*why_none)(void);
	// index as in list().
	enum pfld_status (*open)(struct pfld_backend_device **device, int32_t index, const struct pfld_device_options *options,
	                         struct pfld_error *error);
	void (*close)(struct pfld_backend_device **device);
	// Numbers that planning needs: alignment of tensors in bytes (a power of two), largest single region, device size.
	void (*limits)(const struct pfld_backend_device *device, struct pfld_device_limits *limits);
	int32_t (*num_threads)(const struct pfld_backend_device *device); // host threads that compute; 1 elsewhere
	const char *(*level)(const struct pfld_backend_device *device);   // instruction set in use; "" elsewhere

	// ---- memory ----
	// Memory that is really there (committed) when it returns; zeroed. PFLD_ERR_MEMORY otherwise.
	enum pfld_status (*region_create)(struct pfld_backend_device *device, size_t bytes, struct pfld_region *region,
	                                  struct pfld_error *error);
	void (*region_destroy)(struct pfld_backend_device *device, struct pfld_region *region);
	// Memory that the host writes and uploads from, where `host` points at it for good; zeroed. Ops do not read it. Destroyed
	// like any region. NULL: every region is the host's.
	enum pfld_status (*host_region_create)(struct pfld_backend_device *device, size_t bytes, struct pfld_region *region,
	                                       struct pfld_error *error);
	// Bytes that this process could still take, as far as the system tells; UINT64_MAX: unknown. NULL: it never does.
	uint64_t (*bytes_left)(const struct pfld_backend_device *device);
	// Space that regions are carved from where a share of the device is reserved, or grows by chunks: on `cpu` address space
	// with nothing behind it, elsewhere one committed piece, no larger than a region may be. NULL: regions of their own are
	// all there is.
	enum pfld_status (*chunk_create)(struct pfld_backend_device *device, size_t bytes, struct pfld_region *chunk,
	                                 struct pfld_error *error);
	void (*chunk_destroy)(struct pfld_backend_device *device, struct pfld_region *chunk);
	// Give back what lies behind the first `bytes` of a chunk, where no region is; chunk->bytes is then `bytes`. NULL: cannot.
	void (*chunk_shrink)(struct pfld_backend_device *device, struct pfld_region *chunk, size_t bytes);
	// A part of a chunk: committed and zeroed; and given back.
	enum pfld_status (*region_carve)(struct pfld_backend_device *device, const struct pfld_region *chunk, size_t offset_bytes,
	                                 size_t bytes, struct pfld_region *region, struct pfld_error *error);
	void (*region_return)(struct pfld_backend_device *device, struct pfld_region *region);
	// Blocking copies between host and region; they wait for the ops enqueued before.
	enum pfld_status (*upload)(struct pfld_backend_device *device, struct pfld_region *region, size_t offset_bytes,
	                           const void *source, size_t bytes, struct pfld_error *error);
	enum pfld_status (*download)(struct pfld_backend_device *device, const struct pfld_region *region, size_t offset_bytes,
	                             void *destination, size_t bytes, struct pfld_error *error);
	// Set `count` elements of `element_bytes` (4 or 8) to the pattern.
	enum pfld_status (*fill)(struct pfld_backend_device *device, struct pfld_region *region, size_t offset_bytes,
	                         const void *pattern, size_t element_bytes, size_t count, struct pfld_error *error);
	// Of a device that works beside the host, else all NULL. send: a copy from host memory, begun beside the ops, to a region
	// that only copies read; it waits for the copies enqueued before it. sent: waits until all that was sent is there, and its
	// source may change. copy: between regions, in the order of the ops, behind all that was sent before. fetch: a download
	// that is done when finish() returns.
	enum pfld_status (*send)(struct pfld_backend_device *device, struct pfld_region *region, size_t offset_bytes,
	                         const void *source, size_t bytes, struct pfld_error *error);
	enum pfld_status (*sent)(struct pfld_backend_device *device, struct pfld_error *error);
	enum pfld_status (*copy)(struct pfld_backend_device *device, const struct pfld_region *from, size_t from_offset_bytes,
	                         struct pfld_region *to, size_t to_offset_bytes, size_t bytes, struct pfld_error *error);
	enum pfld_status (*fetch)(struct pfld_backend_device *device, const struct pfld_region *region, size_t offset_bytes,
	                          void *destination, size_t bytes, struct pfld_error *error);
	// Wait until everything enqueued is done.
	enum pfld_status (*finish)(struct pfld_backend_device *device, struct pfld_error *error);

	// ---- ops ----
	// False with a reason (static text) when this op, with these shapes and pending operands, is not done here.
	bool (*supports)(const struct pfld_backend_device *device, const struct pfld_op *op, const char **reason);
	// Scratch that enqueue() needs for batch samples; never grows as n falls.
	size_t (*workspace_bytes)(const struct pfld_backend_device *device, const struct pfld_op *op, int32_t batch);
	// Time that the op is expected to take, in units of the backend's own: for choosing what to compute again, and for ratios.
	double (*cost)(const struct pfld_backend_device *device, const struct pfld_op *op, int32_t batch);
	// Kernel choice and what else can be done once; presence and places of operands are those that enqueue() will see.
	enum pfld_status (*prepare)(struct pfld_backend_device *device, const struct pfld_op *op, int32_t batch,
	                            struct pfld_op_state **state, struct pfld_error *error);
	void (*release)(struct pfld_backend_device *device, struct pfld_op_state **state);
	// In order. Allocates nothing.
	enum pfld_status (*enqueue)(struct pfld_backend_device *device, const struct pfld_op *op, struct pfld_op_state *state,
	                            const struct pfld_run *run, struct pfld_error *error);
};

// All backends of this build, in enumeration order; ends with NULL. Defined in backends/backends.c.
extern const struct pfld_backend *const pfld_backends[];

#endif
