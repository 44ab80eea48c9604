// SPDX-License-Identifier: MIT
// The memory policies that hold more than is in use: a share of the device reserved at open, and growth by whole chunks.
// Regions are carved out of chunks, first fit; chunks stay until the device closes, or until a limit would refuse what
// they hold unused. The default policy (exact) has no chunks. Called by memory.c and device.c.
#include "device/device.h"

#include <stdlib.h>
#include <string.h>

enum { CHUNK_BYTES = 64 << 20 };

// A part of a chunk that is taken.
struct piece {
	size_t offset, bytes;
};
struct pfld_chunk {
	struct pfld_chunk *next;
	struct pfld_region space;
	struct piece *pieces; // by rising offset
	size_t num_pieces, capacity;
};

// The gap in front of piece `index`, or behind the last.
static struct piece gap_before(const struct pfld_chunk *chunk, size_t index)
{
	const struct piece *before = index ? &chunk->pieces[index - 1] : NULL;
	size_t begin = before ? before->offset + before->bytes : 0;
	size_t end = index < chunk->num_pieces ? chunk->pieces[index].offset : chunk->space.bytes;
	return (struct piece){begin, end - begin};
}

static enum pfld_status add_chunk(struct pfld_device *device, uint64_t bytes, const char *what, struct pfld_chunk **chunk,
                                  struct pfld_error *error)
{
	struct pfld_chunk *fresh = pfld_calloc(1, sizeof *fresh);
	if (!fresh) return pfld_fail_memory(error, sizeof *fresh, "a chunk of memory");
	struct pfld_error refusal = {0};
	enum pfld_status status = bytes > SIZE_MAX ? PFLD_ERR_MEMORY
	                                           : device->backend->chunk_create(device->state, (size_t)bytes, &fresh->space, &refusal);
	if (status != PFLD_OK) {
		free(fresh);
		return pfld_fail(error, status, "out of memory: %s: device %s does not give %llu bytes: %s", what, device->info.name,
		                 (unsigned long long)bytes, refusal.message);
	}
	struct pfld_chunk **last = &device->chunks;
	while (*last) last = &(*last)->next;
	*last = *chunk = fresh;
	device->memory.reserved_bytes += bytes;
	device->memory.peak_reserved_bytes = PFLD_MAX(device->memory.peak_reserved_bytes, device->memory.reserved_bytes);
	return PFLD_OK;
}

static void drop_chunk(struct pfld_device *device, struct pfld_chunk **link)
{
	struct pfld_chunk *chunk = *link;
	*link = chunk->next;
	device->memory.reserved_bytes -= chunk->space.bytes;
	device->backend->chunk_destroy(device->state, &chunk->space);
	free(chunk->pieces);
	free(chunk);
}

void pfld_chunks_close(struct pfld_device *device)
{
	while (device->chunks) drop_chunk(device, &device->chunks);
}

// The whole share, in as few pieces as the device gives it.
static enum pfld_status reserve(struct pfld_device *device, uint64_t bytes, struct pfld_error *error)
{
	uint64_t most = device->limits.max_region_bytes / device->limits.alignment_bytes * device->limits.alignment_bytes;
	struct pfld_chunk *chunk;
	do {
		uint64_t part = most ? PFLD_MIN(bytes, most) : bytes;
		enum pfld_status status = add_chunk(device, part, "memory_fraction", &chunk, error);
		if (status != PFLD_OK) {
			pfld_chunks_close(device);
			return status;
		}
		bytes -= part;
	} while (bytes > 0);
	return PFLD_OK;
}

enum pfld_status pfld_chunks_open(struct pfld_device *device, const struct pfld_device_options *options,
                                  struct pfld_error *error)
{
	double fraction = options->memory_fraction;
	if (!(fraction >= 0 && fraction <= 1))
		return pfld_fail(error, PFLD_ERR_ARGUMENT, "memory_fraction must lie in 0..1");
	uint64_t memory = device->limits.memory_bytes, limit = options->limit_bytes;
	if (fraction > 0 && !memory)
		return pfld_fail(error, PFLD_ERR_UNSUPPORTED, "device %s does not tell its memory, so no share of it can be taken",
		                 device->info.name);
	device->bound = limit ? PFLD_BOUND_LIMIT : PFLD_BOUND_NONE;
	if (memory && (!limit || memory < limit)) {
		limit = memory;
		device->bound = PFLD_BOUND_DEVICE;
	}
	uint64_t share = (uint64_t)((double)memory * fraction);
	share = share / device->limits.alignment_bytes * device->limits.alignment_bytes;
	if (fraction > 0 && share <= limit) {
		limit = share;
		device->bound = PFLD_BOUND_FRACTION;
	}
	device->limit_bytes = limit;
	device->grows = options->allow_growth;
	device->reserves = fraction > 0 && !options->allow_growth;
	if ((device->grows || device->reserves) && !device->backend->chunk_create)
		return pfld_fail(error, PFLD_ERR_UNSUPPORTED, "device %s cannot reserve memory", device->info.name);
	return device->reserves ? reserve(device, limit, error) : PFLD_OK;
}

// Back to the system: chunks with nothing in them, and what lies behind the last region of the others.
static void return_unused(struct pfld_device *device)
{
	for (struct pfld_chunk **link = &device->chunks; *link;) {
		struct pfld_chunk *chunk = *link;
		if (!chunk->num_pieces) {
			drop_chunk(device, link);
			continue;
		}
		struct piece tail = gap_before(chunk, chunk->num_pieces);
		if (tail.bytes && device->backend->chunk_shrink) {
			device->backend->chunk_shrink(device->state, &chunk->space, tail.offset);
			device->memory.reserved_bytes -= tail.bytes;
		}
		link = &chunk->next;
	}
}

// Takes the first gap of the chunk that is large enough. `found`: there is one.
static enum pfld_status carve_from(struct pfld_device *device, struct pfld_chunk *chunk, size_t bytes, size_t aligned,
                                   bool *found, struct pfld_region *region, struct pfld_error *error)
{
	size_t index = 0;
	while (index <= chunk->num_pieces && gap_before(chunk, index).bytes < aligned) index++;
	*found = index <= chunk->num_pieces;
	if (!*found) return PFLD_OK;
	size_t offset = gap_before(chunk, index).offset;
	if (!pfld_grow(&chunk->pieces, &chunk->capacity, chunk->num_pieces + 1, sizeof *chunk->pieces))
		return pfld_fail_memory(error, sizeof *chunk->pieces, "a region");
	enum pfld_status status = device->backend->region_carve(device->state, &chunk->space, offset, bytes, region, error);
	if (status != PFLD_OK) return status;
	memmove(chunk->pieces + index + 1, chunk->pieces + index, (chunk->num_pieces - index) * sizeof *chunk->pieces);
	chunk->pieces[index] = (struct piece){offset, aligned};
	chunk->num_pieces++;
	region->chunk = chunk;
	region->chunk_offset = offset;
	return PFLD_OK;
}

static uint64_t unreserved(const struct pfld_device *device)
{
	return device->limit_bytes ? device->limit_bytes - device->memory.reserved_bytes : UINT64_MAX;
}

// Whole chunks, but for the last ones below a limit. What the limit allows is never refused for what lies unused.
static enum pfld_status grow(struct pfld_device *device, size_t bytes, const char *what, struct pfld_chunk **chunk,
                             struct pfld_error *error)
{
	if (device->grows && bytes > unreserved(device)) return_unused(device);
	uint64_t left = unreserved(device);
	if (!device->grows || bytes > left)
		return pfld_fail(error, PFLD_ERR_MEMORY,
		                 "out of memory: %s needs %zu bytes in one piece; of %llu bytes reserved %llu are taken, and %llu more "
		                 "may be (device %s)",
		                 what, bytes, (unsigned long long)device->memory.reserved_bytes,
		                 (unsigned long long)device->memory.current_bytes, (unsigned long long)(device->grows ? left : 0),
		                 device->info.name);
	uint64_t wanted = ((uint64_t)bytes + CHUNK_BYTES - 1) / CHUNK_BYTES * CHUNK_BYTES;
	uint64_t most = device->limits.max_region_bytes ? device->limits.max_region_bytes : UINT64_MAX;
	return add_chunk(device, PFLD_MIN(wanted, PFLD_MIN(left, most)), what, chunk, error);
}

enum pfld_status pfld_chunks_carve(struct pfld_device *device, size_t bytes, const char *what, struct pfld_region *region,
                                   struct pfld_error *error)
{
	size_t aligned = pfld_align(bytes, device->limits.alignment_bytes);
	enum pfld_status status = PFLD_OK;
	bool found = false;
	for (struct pfld_chunk *chunk = device->chunks; chunk && !found && status == PFLD_OK; chunk = chunk->next)
		status = carve_from(device, chunk, bytes, aligned, &found, region, error);
	if (found || status != PFLD_OK) return status;
	struct pfld_chunk *fresh;
	status = grow(device, aligned, what, &fresh, error);
	return status == PFLD_OK ? carve_from(device, fresh, bytes, aligned, &found, region, error) : status;
}

void pfld_chunks_return(struct pfld_device *device, struct pfld_region *region)
{
	struct pfld_chunk *chunk = region->chunk;
	size_t index = 0;
	while (chunk->pieces[index].offset != region->chunk_offset) index++;
	chunk->num_pieces--;
	memmove(chunk->pieces + index, chunk->pieces + index + 1, (chunk->num_pieces - index) * sizeof *chunk->pieces);
	device->backend->region_return(device->state, region);
}

void pfld_chunks_count_free(const struct pfld_device *device, struct pfld_memory *memory)
{
	for (const struct pfld_chunk *chunk = device->chunks; chunk; chunk = chunk->next)
		for (size_t i = 0; i <= chunk->num_pieces; i++) {
			uint64_t bytes = gap_before(chunk, i).bytes;
			memory->num_free_pieces += bytes > 0;
			memory->largest_free_bytes = PFLD_MAX(memory->largest_free_bytes, bytes);
		}
}
