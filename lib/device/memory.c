// SPDX-License-Identifier: MIT
// Memory of a device: regions by class with the limit kept and everything counted, and copies of elements between host
// and regions with conversion. Called by tensor.c, lib/compile and lib/train.
#include "base/float_mode.h"
#include "device/device.h"

#include <string.h>

enum { CHUNK_ELEMENTS = 1024 }; // converted at a time, on the stack

const char *pfld_memory_class_name(enum pfld_memory_class memory_class)
{
	static const char *const names[PFLD_MEMORY_NUM_CLASSES] = {
		[PFLD_MEMORY_PARAMETERS] = "parameters", [PFLD_MEMORY_GRADIENTS] = "gradients",
		[PFLD_MEMORY_OPTIMIZER] = "optimizer",   [PFLD_MEMORY_ACTIVATIONS] = "activations",
		[PFLD_MEMORY_WORKSPACE] = "workspace",   [PFLD_MEMORY_BATCH] = "batch",
		[PFLD_MEMORY_OTHER] = "other",
	};
	return (unsigned)memory_class < PFLD_MEMORY_NUM_CLASSES ? names[memory_class] : "unknown";
}

void pfld_device_memory(const struct pfld_device *device, struct pfld_memory *memory)
{
	*memory = device->memory;
	pfld_chunks_count_free(device, memory);
}

void pfld_device_memory_room(const struct pfld_device *device, uint64_t beside_bytes, struct pfld_memory_room *room)
{
	uint64_t taken = device->memory.current_bytes, limit = device->limit_bytes;
	uint64_t left = limit ? limit - PFLD_MIN(taken, limit) : UINT64_MAX;
	uint64_t system = device->backend->bytes_left ? device->backend->bytes_left(device->state) : UINT64_MAX;
	*room = (struct pfld_memory_room){device->bound, limit, left};
	if (system == UINT64_MAX) return;
	system -= PFLD_MIN(beside_bytes, system / 4);
	system += device->memory.reserved_bytes - taken; // held already, and unused
	if (system < left) *room = (struct pfld_memory_room){PFLD_BOUND_SYSTEM, limit, system};
}

// Whether `bytes` more may be taken. Chunks keep the limit themselves.
static enum pfld_status check_room(const struct pfld_device *device, size_t bytes, const char *what,
								   struct pfld_error *error)
{
	uint64_t taken = device->memory.current_bytes, limit = device->limit_bytes;
	if (device->limits.max_region_bytes && bytes > device->limits.max_region_bytes) {
		return pfld_fail(
			error, PFLD_ERR_MEMORY,
			"out of memory: %s needs %zu bytes in one piece; the largest piece device %s gives is %llu bytes", what,
			bytes, device->info.name, (unsigned long long)device->limits.max_region_bytes);
	}
	if (!limit || (bytes <= limit && taken <= limit - bytes)) return PFLD_OK;
	return pfld_fail(error, PFLD_ERR_MEMORY,
					 "out of memory: %s needs %zu bytes; %s is %llu bytes, of which %llu are taken (device %s)", what,
					 bytes, limit == device->limits.memory_bytes ? "the memory of the device" : "the limit",
					 (unsigned long long)limit, (unsigned long long)taken, device->info.name);
}

static bool has_chunks(const struct pfld_device *device)
{
	return device->reserves || device->grows;
}

static void count(struct pfld_device *device, enum pfld_memory_class memory_class, size_t bytes)
{
	struct pfld_memory *memory = &device->memory;
	memory->current_bytes += bytes;
	memory->peak_bytes = PFLD_MAX(memory->peak_bytes, memory->current_bytes);
	memory->by_class[memory_class] += bytes;
	memory->peak_by_class[memory_class] = PFLD_MAX(memory->peak_by_class[memory_class], memory->by_class[memory_class]);
	memory->num_regions++;
	if (has_chunks(device)) return;
	memory->reserved_bytes = memory->current_bytes;
	memory->peak_reserved_bytes = memory->peak_bytes;
}

static void reserve_more(struct pfld_device *device, size_t bytes)
{
	struct pfld_memory *memory = &device->memory;
	memory->reserved_bytes += bytes;
	memory->peak_reserved_bytes = PFLD_MAX(memory->peak_reserved_bytes, memory->reserved_bytes);
}

// A region of its own, not carved from a chunk.
typedef enum pfld_status region_maker(struct pfld_backend_device *device, size_t bytes, struct pfld_region *region,
									  struct pfld_error *error);

// NULL: carved from chunks.
static enum pfld_status make_region(struct pfld_device *device, region_maker *maker, size_t bytes,
									enum pfld_memory_class memory_class, const char *what, struct pfld_region *region,
									struct pfld_error *error)
{
	enum pfld_status status = pfld_device_check_lost(device, error);
	if (!status) status = check_room(device, bytes, what, error);
	if (status) return status;
	struct pfld_error refusal = {0};
	struct pfld_region created = {0};
	status = maker ? maker(device->state, bytes, &created, &refusal)
	               : pfld_chunks_carve(device, bytes, what, &created, &refusal);
	if (status == PFLD_ERR_MEMORY && maker) {
		return pfld_fail(error, status, "out of memory: %s needs %zu bytes, %llu are taken (device %s): %s", what,
						 bytes, (unsigned long long)device->memory.current_bytes, device->info.name, refusal.message);
	}
	if (status) {
		if (error) *error = refusal;
		return pfld_device_note_status(device, status);
	}
	*region = created;
	count(device, memory_class, bytes);
	if (maker && has_chunks(device)) reserve_more(device, bytes);
	return PFLD_OK;
}

enum pfld_status pfld_device_region_create(struct pfld_device *device, size_t bytes,
										   enum pfld_memory_class memory_class, const char *what,
										   struct pfld_region *region, struct pfld_error *error)
{
	region_maker *maker = has_chunks(device) ? NULL : device->backend->region_create;
	return make_region(device, maker, bytes, memory_class, what, region, error);
}

enum pfld_status pfld_device_host_region_create(struct pfld_device *device, size_t bytes,
												enum pfld_memory_class memory_class, const char *what,
												struct pfld_region *region, struct pfld_error *error)
{
	region_maker *maker = device->backend->host_region_create;
	if (!maker) return pfld_device_region_create(device, bytes, memory_class, what, region, error);
	return make_region(device, maker, bytes, memory_class, what, region, error);
}

void pfld_device_region_destroy(struct pfld_device *device, enum pfld_memory_class memory_class,
								struct pfld_region *region)
{
	struct pfld_memory *memory = &device->memory;
	memory->current_bytes -= region->bytes;
	memory->by_class[memory_class] -= region->bytes;
	memory->num_regions--;
	if (region->chunk) {
		pfld_chunks_return(device, region);
	} else {
		device->backend->region_destroy(device->state, region);
		memory->reserved_bytes -= region->bytes;
	}
	memset(region, 0, sizeof *region);
}

// ---- copies ----

static void convert(enum pfld_type to_type, void *to, enum pfld_type from_type, const void *from, size_t num)
{
	double *to_f64 = to;
	float *to_f32 = to;
	const double *from_f64 = from;
	const float *from_f32 = from;
	for (size_t i = 0; i < num; i++) {
		double value = from_type == PFLD_F64 ? from_f64[i] : (double)from_f32[i];
		if (to_type == PFLD_F64)
			to_f64[i] = value;
		else
			to_f32[i] = (float)value;
	}
}

static enum pfld_status upload_converted(struct pfld_device *device, struct pfld_region *region, size_t offset_bytes,
										 enum pfld_type type, const char *source, size_t num, struct pfld_error *error)
{
	pfld_real chunk[CHUNK_ELEMENTS];
	struct pfld_float_mode mode;
	for (size_t first = 0; first < num; first += CHUNK_ELEMENTS) {
		size_t count = PFLD_MIN(num - first, CHUNK_ELEMENTS);
		pfld_float_mode_enter(&mode);
		convert(PFLD_REAL_TYPE, chunk, type, source + first * pfld_type_bytes(type), count);
		pfld_float_mode_leave(&mode);
		enum pfld_status status = device->backend->upload(device->state, region, offset_bytes + first * sizeof *chunk,
														  chunk, count * sizeof *chunk, error);
		if (status) return status;
	}
	return PFLD_OK;
}

static enum pfld_status download_converted(struct pfld_device *device, const struct pfld_region *region,
										   size_t offset_bytes, enum pfld_type type, char *destination, size_t num,
										   struct pfld_error *error)
{
	pfld_real chunk[CHUNK_ELEMENTS];
	struct pfld_float_mode mode;
	for (size_t first = 0; first < num; first += CHUNK_ELEMENTS) {
		size_t count = PFLD_MIN(num - first, CHUNK_ELEMENTS);
		enum pfld_status status = device->backend->download(device->state, region, offset_bytes + first * sizeof *chunk,
															chunk, count * sizeof *chunk, error);
		if (status) return status;
		pfld_float_mode_enter(&mode);
		convert(type, destination + first * pfld_type_bytes(type), PFLD_REAL_TYPE, chunk, count);
		pfld_float_mode_leave(&mode);
	}
	return PFLD_OK;
}

enum pfld_status pfld_device_upload(struct pfld_device *device, struct pfld_region *region, size_t offset_bytes,
									enum pfld_type type, const void *source, size_t num_elements,
									struct pfld_error *error)
{
	enum pfld_status status = pfld_device_check_lost(device, error);
	if (status || !num_elements) return status;
	if (type != PFLD_REAL_TYPE) {
		status = upload_converted(device, region, offset_bytes, type, source, num_elements, error);
	} else {
		status = device->backend->upload(device->state, region, offset_bytes, source, num_elements * sizeof(pfld_real),
										 error);
	}
	return pfld_device_note_status(device, status);
}

enum pfld_status pfld_device_download(struct pfld_device *device, const struct pfld_region *region, size_t offset_bytes,
									  enum pfld_type type, void *destination, size_t num_elements,
									  struct pfld_error *error)
{
	enum pfld_status status = pfld_device_check_lost(device, error);
	if (status || !num_elements) return status;
	if (type != PFLD_REAL_TYPE) {
		status = download_converted(device, region, offset_bytes, type, destination, num_elements, error);
	} else {
		status = device->backend->download(device->state, region, offset_bytes, destination,
										   num_elements * sizeof(pfld_real), error);
	}
	return pfld_device_note_status(device, status);
}

enum pfld_status pfld_device_fill(struct pfld_device *device, struct pfld_region *region, size_t offset_bytes,
								  double value, size_t num_elements, struct pfld_error *error)
{
	enum pfld_status status = pfld_device_check_lost(device, error);
	if (status || !num_elements) return status;
	struct pfld_float_mode mode;
	pfld_float_mode_enter(&mode);
	pfld_real pattern = (pfld_real)value;
	pfld_float_mode_leave(&mode);
	status = device->backend->fill(device->state, region, offset_bytes, &pattern, sizeof pattern, num_elements, error);
	return pfld_device_note_status(device, status);
}

// ---- copies beside the host ----

bool pfld_device_works_beside(const struct pfld_device *device)
{
	return device->backend->send != NULL;
}

enum pfld_status pfld_device_send(struct pfld_device *device, struct pfld_region *region, size_t offset_bytes,
								  const float *source, size_t num_elements, struct pfld_error *error)
{
	enum pfld_status status = pfld_device_check_lost(device, error);
	if (status || !num_elements) return status;
	size_t bytes = num_elements * sizeof *source;
	return pfld_device_note_status(device, device->backend->send(device->state, region, offset_bytes, source, bytes, error));
}

enum pfld_status pfld_device_sent(struct pfld_device *device, struct pfld_error *error)
{
	enum pfld_status status = pfld_device_check_lost(device, error);
	if (status || !device->backend->sent) return status;
	return pfld_device_note_status(device, device->backend->sent(device->state, error));
}

enum pfld_status pfld_device_copy(struct pfld_device *device, const struct pfld_region *from, size_t from_offset_bytes,
								  struct pfld_region *to, size_t to_offset_bytes, size_t bytes, struct pfld_error *error)
{
	enum pfld_status status = pfld_device_check_lost(device, error);
	if (status || !bytes) return status;
	status = device->backend->copy(device->state, from, from_offset_bytes, to, to_offset_bytes, bytes, error);
	return pfld_device_note_status(device, status);
}

enum pfld_status pfld_device_fetch(struct pfld_device *device, const struct pfld_region *region, size_t offset_bytes,
								   pfld_real *destination, size_t num_elements, struct pfld_error *error)
{
	if (!device->backend->fetch)
		return pfld_device_download(device, region, offset_bytes, PFLD_REAL_TYPE, destination, num_elements, error);
	enum pfld_status status = pfld_device_check_lost(device, error);
	if (status) return status;
	status = device->backend->fetch(device->state, region, offset_bytes, destination, num_elements * sizeof *destination, error);
	return pfld_device_note_status(device, status);
}
