// SPDX-License-Identifier: MIT
// Inside of devices and tensors, for lib/net, lib/compile and lib/train: memory by class, places, and running ops
// through the backend's table. Not here: what a backend does (backends/*).
#ifndef PFLD_DEVICE_DEVICE_H
#define PFLD_DEVICE_DEVICE_H

#include "device/backend.h"
#include <pfld/tensor.h>

struct pfld_device {
	const struct pfld_backend *backend;
	struct pfld_backend_device *state;
	struct pfld_device_info info;
	struct pfld_device_limits limits;
	struct pfld_log log;
	uint64_t limit_bytes;      // the smallest of limit, share and device
	enum pfld_memory_bound bound; // which of them that is
	bool reserves, grows;      // memory policy
	struct pfld_chunk *chunks; // chunks.c
	struct pfld_memory memory;
	bool lost; // sticky: every later call fails at once
	struct pfld_arena *arenas; // shared by programs, a list owned by lib/compile/arena.c
	int32_t num_users;         // objects made from this device that still live
};

// Memory of one class, counted. `what` names it in messages. PFLD_ERR_MEMORY names bytes needed, the limit and what is
// taken. The region struct belongs to the caller and must stay where it is.
enum pfld_status pfld_device_region_create(struct pfld_device *device, size_t bytes, enum pfld_memory_class memory_class,
                                           const char *what, struct pfld_region *region, struct pfld_error *error) PFLD_MUST_USE;
// The same where the host writes (region->host is not NULL) and no op reads: what is uploaded from. Where the device's memory
// is not the host's it lies beside what is reserved.
enum pfld_status pfld_device_host_region_create(struct pfld_device *device, size_t bytes, enum pfld_memory_class memory_class,
                                                const char *what, struct pfld_region *region,
                                                struct pfld_error *error) PFLD_MUST_USE;
void pfld_device_region_destroy(struct pfld_device *device, enum pfld_memory_class memory_class,
                                struct pfld_region *region);

// chunks.c: the policy's own, called by memory.c and device.c.
enum pfld_status pfld_chunks_open(struct pfld_device *device, const struct pfld_device_options *options,
                                  struct pfld_error *error) PFLD_MUST_USE;
void pfld_chunks_close(struct pfld_device *device);
// A region out of what is reserved, or of a new chunk. PFLD_ERR_MEMORY: neither has room.
enum pfld_status pfld_chunks_carve(struct pfld_device *device, size_t bytes, const char *what, struct pfld_region *region,
                                   struct pfld_error *error) PFLD_MUST_USE;
void pfld_chunks_return(struct pfld_device *device, struct pfld_region *region);
void pfld_chunks_count_free(const struct pfld_device *device, struct pfld_memory *memory);

// A tensor over memory that something else owns (a program, weights). `owner_valid`, if not NULL, is asked before every
// access (a program's activations may have been overwritten by another program).
typedef enum pfld_status pfld_owner_check(const void *owner, struct pfld_error *error);
enum pfld_status pfld_tensor_wrap(struct pfld_tensor **tensor, struct pfld_device *device, const struct pfld_shape *shape,
                                  struct pfld_region *region, size_t offset_bytes, pfld_owner_check *owner_valid,
                                  const void *owner, struct pfld_error *error) PFLD_MUST_USE;
struct pfld_region *pfld_tensor_region(const struct pfld_tensor *tensor);
size_t pfld_tensor_offset_bytes(const struct pfld_tensor *tensor);
struct pfld_device *pfld_tensor_device(const struct pfld_tensor *tensor);

// The element type of every tensor on devices: F32, or F64 in the double test build.
#ifdef PFLD_DOUBLE
#define PFLD_REAL_TYPE PFLD_F64
#else
#define PFLD_REAL_TYPE PFLD_F32
#endif

// The sticky failure: PFLD_ERR_DEVICE_LOST once the device has failed; and remembering what a backend returned.
enum pfld_status pfld_device_check_lost(const struct pfld_device *device, struct pfld_error *error) PFLD_MUST_USE;
enum pfld_status pfld_device_note_status(struct pfld_device *device, enum pfld_status status) PFLD_MUST_USE;

// Copies of elements between host (any type) and a place; blocking.
enum pfld_status pfld_device_upload(struct pfld_device *device, struct pfld_region *region, size_t offset_bytes,
                                    enum pfld_type type, const void *source, size_t num_elements,
                                    struct pfld_error *error) PFLD_MUST_USE;
enum pfld_status pfld_device_download(struct pfld_device *device, const struct pfld_region *region, size_t offset_bytes,
                                      enum pfld_type type, void *destination, size_t num_elements,
                                      struct pfld_error *error) PFLD_MUST_USE;
enum pfld_status pfld_device_fill(struct pfld_device *device, struct pfld_region *region, size_t offset_bytes,
                                  double value, size_t num_elements, struct pfld_error *error) PFLD_MUST_USE;

// Whether the device works beside the host, and these calls of the backend's (see there) of elements of its own type.
bool pfld_device_works_beside(const struct pfld_device *device);
enum pfld_status pfld_device_send(struct pfld_device *device, struct pfld_region *region, size_t offset_bytes,
                                  const float *source, size_t num_elements, struct pfld_error *error) PFLD_MUST_USE;
enum pfld_status pfld_device_sent(struct pfld_device *device, struct pfld_error *error) PFLD_MUST_USE;
enum pfld_status pfld_device_copy(struct pfld_device *device, const struct pfld_region *from, size_t from_offset_bytes,
                                  struct pfld_region *to, size_t to_offset_bytes, size_t bytes,
                                  struct pfld_error *error) PFLD_MUST_USE;
// On every device; one that does not work beside the host has done it on return.
enum pfld_status pfld_device_fetch(struct pfld_device *device, const struct pfld_region *region, size_t offset_bytes,
                                   pfld_real *destination, size_t num_elements, struct pfld_error *error) PFLD_MUST_USE;

// Whether the device does the op, with operands pending as they are.
bool pfld_device_supports(const struct pfld_device *device, const struct pfld_op *op);
// Ops through the backend, with the sticky failure checked. prepare() runs pfld_op_check() and supports() first; an op
// that the backend lacks is PFLD_ERR_UNSUPPORTED with the reason.
enum pfld_status pfld_device_prepare(struct pfld_device *device, const struct pfld_op *op, int32_t batch,
                                     struct pfld_op_state **state, struct pfld_error *error) PFLD_MUST_USE;
void pfld_device_release(struct pfld_device *device, struct pfld_op_state **state);
enum pfld_status pfld_device_enqueue(struct pfld_device *device, const struct pfld_op *op, struct pfld_op_state *state,
                                     const struct pfld_run *run, struct pfld_error *error) PFLD_MUST_USE;
enum pfld_status pfld_device_finish(struct pfld_device *device, struct pfld_error *error) PFLD_MUST_USE;

#endif
