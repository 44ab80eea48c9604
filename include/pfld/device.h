// SPDX-License-Identifier: MIT
// Devices: what there is, what is masked, opening one, and the memory it has handed out.
// Thread safety: enumeration from any thread. A device and all that was made from it is used by one thread at a time;
// different devices in different threads need no lock.
#ifndef PFLD_DEVICE_H
#define PFLD_DEVICE_H

#include <pfld/status.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct pfld_device_info {
	char name[24];           // "cpu", "opencl:0": as pfld_device_open() takes it; after masking
	char description[128];   // the processor or board
	char vendor[64], driver[64];
	char uuid[48];           // "" where the driver tells none
	char levels[64];         // cpu: instruction-set levels usable here, best last, "c avx2"
	uint64_t memory_bytes;   // cpu: the smallest of RAM, cgroup limit and address-space limit
	uint64_t max_region_bytes;
	int32_t num_units;       // cpu: threads by default; OpenCL: compute units
	bool is_cpu;             // an OpenCL device that is the CPU itself is only used when it is named
	bool is_accelerator;     // OpenCL GPU or accelerator
	char unusable[128];      // why it cannot be opened; "" when it can
};

// ---- masking ----
// Which OpenCL devices are visible, by CUDA's rules over our own list: PFLD_VISIBLE_DEVICES holds numbers or UUID
// prefixes; their order is the new order; the first invalid entry ends the list; "" or "-1" leaves none; a duplicate
// empties it. CUDA_VISIBLE_DEVICES set to "" or "-1" hides OpenCL GPUs and accelerators; other values are the NVIDIA
// driver's to apply. `cpu` is never masked. NULL strings: variable not set.
struct pfld_device_mask {
	bool has_visible_devices, has_cuda_visible_devices;
	char visible_devices[512], cuda_visible_devices[512];
};
// Reads the two variables of this process. The only place in the library that reads the environment.
PFLD_API void pfld_device_mask_from_env(struct pfld_device_mask *mask);

// The devices visible under `mask` (NULL: all), `cpu` first, into `infos` (may be NULL to count); returns how many
// there are. `notes` (may be NULL) receives one line per thing that masking did or could not do: which entry hid or
// cut what.
PFLD_API int32_t pfld_device_list(const struct pfld_device_mask *mask, struct pfld_device_info *infos, int32_t capacity,
                                  char *notes, size_t notes_bytes);
// The masking rule alone over any list of devices: fills order (indices into infos) and returns how many remain. A name
// without ':' ("cpu") is never masked; the others are numbered as they come.
PFLD_API int32_t pfld_device_mask_apply(const struct pfld_device_mask *mask, const struct pfld_device_info *infos,
                                        int32_t num_infos, int32_t *order, char *notes, size_t notes_bytes);

// ---- opening ----
// Runs fn(arg, item, worker) for all items in [0, num_items) with worker in [0, num_threads), and returns when all are
// done. For hosts that bring their own threads.
typedef void pfld_task(void *arg, int32_t item, int32_t worker);
typedef void pfld_parallel_for(void *context, int32_t num_items, pfld_task *fn, void *arg);

struct pfld_device_options {
	const struct pfld_device_mask *mask; // NULL: nothing masked
	// Memory policy. Default: each object takes exactly what its plan says, when it is made.
	uint64_t limit_bytes;                // hard limit on memory taken from the device; 0: none
	double memory_fraction;              // in 0..1: reserve this share of the device at open, and take no more (on cpu: of
	                                     // address space; pages come with use); 0: reserve nothing
	bool allow_growth;                   // take whole chunks of 64 MiB as they are needed, and keep them until close, or until
	                                     // a limit would refuse what they hold unused; with memory_fraction: up to
	                                     // that share, of which nothing is reserved at open
	int32_t num_threads;                 // cpu: 0 means affinity and cgroup quota decide (not with parallel_for); up to 4096
	const char *cpu_level;               // cpu: "c" or "avx2"; NULL means the best that the processor has
	pfld_parallel_for *parallel_for;     // cpu: the host's threads (num_threads of them) instead of our own
	void *parallel_for_context;
	const char *kernel_cache;            // OpenCL: folder for compiled kernels, made if it is not there; it must be this user's
	                                     // alone. NULL: none are kept
	struct pfld_log log;
};

struct pfld_device;
// `name` is "cpu", "opencl:N" or "auto" (the best OpenCL GPU or accelerator, else cpu). PFLD_ERR_NO_DEVICE names what
// there is; PFLD_ERR_ARGUMENT names the option.
PFLD_API_STATUS enum pfld_status pfld_device_open(struct pfld_device **device, const char *name,
                                                  const struct pfld_device_options *options, struct pfld_error *error);
// Everything made from the device must be destroyed before; while something lives, the memory stays and the log says so.
PFLD_API void pfld_device_close(struct pfld_device **device);
PFLD_API const struct pfld_device_info *pfld_device_get_info(const struct pfld_device *device);
PFLD_API int32_t pfld_device_num_threads(const struct pfld_device *device); // cpu; 1 elsewhere
PFLD_API const char *pfld_device_level(const struct pfld_device *device);   // "c", "avx2"; "" elsewhere
// Threads the library would use by default in this process: affinity mask and cgroup quota. At least 1.
PFLD_API int32_t pfld_default_num_threads(void);

struct pfld_device_limits {
	size_t alignment_bytes;    // of tensors
	uint64_t max_region_bytes; // largest single allocation
	uint64_t memory_bytes;     // of the device
};
PFLD_API void pfld_device_get_limits(const struct pfld_device *device, struct pfld_device_limits *limits);

// ---- memory counters ----
enum pfld_memory_class {
	PFLD_MEMORY_PARAMETERS,
	PFLD_MEMORY_GRADIENTS,
	PFLD_MEMORY_OPTIMIZER,
	PFLD_MEMORY_ACTIVATIONS,
	PFLD_MEMORY_WORKSPACE,
	PFLD_MEMORY_BATCH,
	PFLD_MEMORY_OTHER, // tensors that the caller made
	PFLD_MEMORY_NUM_CLASSES,
};
PFLD_API const char *pfld_memory_class_name(enum pfld_memory_class memory_class); // "parameters", ...
struct pfld_memory {
	uint64_t current_bytes; // taken from the device now, all classes
	uint64_t peak_bytes;    // the most that was taken at once since open
	uint64_t by_class[PFLD_MEMORY_NUM_CLASSES];      // now
	uint64_t peak_by_class[PFLD_MEMORY_NUM_CLASSES]; // each by itself
	uint64_t num_regions;   // allocations now
	uint64_t reserved_bytes, peak_reserved_bytes; // held from the system; without fraction or growth what is taken
	uint64_t num_free_pieces, largest_free_bytes; // inside of what is reserved
};
PFLD_API void pfld_device_memory(const struct pfld_device *device, struct pfld_memory *memory);
// What can still be taken, and which bound it meets first.
enum pfld_memory_bound {
	PFLD_BOUND_NONE,     // none is known
	PFLD_BOUND_LIMIT,    // limit_bytes of the options
	PFLD_BOUND_FRACTION, // memory_fraction of the options
	PFLD_BOUND_DEVICE,   // the device's memory; cpu: RAM, a control group or the limit on address space
	PFLD_BOUND_SYSTEM,   // cpu: what the process may still take of these, all that it has taken elsewhere left out
};
struct pfld_memory_room {
	enum pfld_memory_bound bound;
	uint64_t limit_bytes; // the smallest of device, share and limit; 0: none is known
	uint64_t free_bytes;  // UINT64_MAX: no bound is known
};
// Of what the system has left, `beside_bytes` but no more than a quarter are set aside.
PFLD_API void pfld_device_memory_room(const struct pfld_device *device, uint64_t beside_bytes,
                                      struct pfld_memory_room *room);

#ifdef __cplusplus
}
#endif
#endif
