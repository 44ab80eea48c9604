// SPDX-License-Identifier: MIT
// The cpu device: what the processor is, which kernels it gets, its threads, and memory that is the host's. Ops are led
// to their files by the table in ops.c.
#include "base/float_mode.h"
#include "base/system.h"
#include "cpu/backend.h"
#include "cpu/cpu.h"
#include "pfld_config.h"

#include <stdlib.h>
#include <string.h>

enum { ALIGNMENT_BYTES = 64 }; // a cache line, and the widest vector

// ---- instruction-set levels ----

#if PFLD_HAVE_AVX2 && !defined(PFLD_DOUBLE)
#define HAS_AVX2_KERNELS 1
static bool has_avx2(void)
{
	return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
}
#else
#define HAS_AVX2_KERNELS 0
#endif

static bool has_c(void)
{
	return true;
}

// From plain to best.
static const struct {
	const struct pfld_cpu_kernels *kernels;
	bool (*is_usable)(void);
} levels[] = {
	{&pfld_cpu_kernels_c, has_c},
#if HAS_AVX2_KERNELS
	{&pfld_cpu_kernels_avx2, has_avx2},
#endif
};

static void name_levels(char *names, size_t num_bytes)
{
	names[0] = '\0';
	for (size_t i = 0; i < PFLD_COUNT(levels); i++) {
		if (!levels[i].is_usable()) continue;
		size_t length = strlen(names), added = strlen(levels[i].kernels->level);
		if (length + added + 2 > num_bytes) return;
		if (length) names[length++] = ' ';
		memcpy(names + length, levels[i].kernels->level, added + 1);
	}
}

// The level of that name, or the best for NULL; NULL when this processor or build has none of that name.
static const struct pfld_cpu_kernels *find_level(const char *name)
{
	const struct pfld_cpu_kernels *found = NULL;
	for (size_t i = 0; i < PFLD_COUNT(levels); i++) {
		if (levels[i].is_usable() && (!name || !strcmp(name, levels[i].kernels->level))) found = levels[i].kernels;
	}
	return found;
}

// ---- device ----

static int32_t list(struct pfld_device_info *infos, int32_t capacity)
{
	if (!infos || capacity < 1) return 1;
	struct pfld_device_info *info = infos;
	memset(info, 0, sizeof *info);
	memcpy(info->name, "cpu", sizeof "cpu");
	pfld_cpu_name(info->description, sizeof info->description);
	name_levels(info->levels, sizeof info->levels);
	info->memory_bytes = pfld_memory_bytes();
	info->max_region_bytes = info->memory_bytes;
	info->num_units = pfld_default_threads();
	info->is_cpu = true;
	return 1;
}

static void close_device(struct pfld_backend_device **device)
{
	if (!*device) return;
	pfld_pool_destroy(&(*device)->pool);
	free(*device);
	*device = NULL;
}

static enum pfld_status open_device(struct pfld_backend_device **device, int32_t index,
									const struct pfld_device_options *options, struct pfld_error *error)
{
	const struct pfld_cpu_kernels *kernels = find_level(options->cpu_level);
	if (!kernels) {
		char shown[PFLD_SHOWN_BYTES], names[64];
		name_levels(names, sizeof names);
		return pfld_fail(error, PFLD_ERR_ARGUMENT, "there is no cpu level \"%s\" here; there is: %s",
						 pfld_show(shown, options->cpu_level, 64), names);
	}
	struct pfld_backend_device *opened = pfld_calloc(1, sizeof *opened);
	if (!opened) return pfld_fail_memory(error, sizeof *opened, "a device");
	opened->kernels = kernels;
	opened->log = options->log;
	opened->parallel_for = options->parallel_for;
	opened->parallel_for_context = options->parallel_for_context;
	opened->num_threads = options->num_threads ? options->num_threads : pfld_default_threads();
	if (!opened->parallel_for) {
		enum pfld_status status = pfld_pool_create(&opened->pool, opened->num_threads, error);
		if (status) {
			close_device(&opened);
			return status;
		}
	}
	*device = opened;
	return PFLD_OK;
}

static void limits(const struct pfld_backend_device *device, struct pfld_device_limits *limits)
{
	limits->alignment_bytes = ALIGNMENT_BYTES;
	limits->memory_bytes = pfld_memory_bytes();
	limits->max_region_bytes = limits->memory_bytes;
}

static int32_t num_threads(const struct pfld_backend_device *device)
{
	return device->num_threads;
}

static const char *level(const struct pfld_backend_device *device)
{
	return device->kernels->level;
}

// ---- memory ----

static enum pfld_status region_create(struct pfld_backend_device *device, size_t bytes, struct pfld_region *region,
									  struct pfld_error *error)
{
	void *pages = pfld_pages_alloc(bytes);
	if (!pages) return pfld_fail_memory(error, bytes, "a region");
	*region = (struct pfld_region){.bytes = bytes, .host = pages};
	return PFLD_OK;
}

static void region_destroy(struct pfld_backend_device *device, struct pfld_region *region)
{
	pfld_pages_free(region->host);
}

static uint64_t bytes_left(const struct pfld_backend_device *device)
{
	struct pfld_memory_left left;
	pfld_memory_left(&left);
	return PFLD_MIN(left.resident_bytes, left.address_bytes);
}

static enum pfld_status chunk_create(struct pfld_backend_device *device, size_t bytes, struct pfld_region *chunk,
									 struct pfld_error *error)
{
	void *space = pfld_reserve(bytes);
	if (!space) return pfld_fail_memory(error, bytes, "address space");
	*chunk = (struct pfld_region){.bytes = bytes, .host = space};
	return PFLD_OK;
}

static void chunk_destroy(struct pfld_backend_device *device, struct pfld_region *chunk)
{
	pfld_unreserve(chunk->host, chunk->bytes);
}

static void chunk_shrink(struct pfld_backend_device *device, struct pfld_region *chunk, size_t bytes)
{
	pfld_reserve_shrink(chunk->host, chunk->bytes, bytes);
	chunk->bytes = bytes;
}

static enum pfld_status region_carve(struct pfld_backend_device *device, const struct pfld_region *chunk,
									 size_t offset_bytes, size_t bytes, struct pfld_region *region,
									 struct pfld_error *error)
{
	char *part = (char *)chunk->host + offset_bytes;
	if (!pfld_commit(part, bytes)) return pfld_fail_memory(error, bytes, "a region");
	*region = (struct pfld_region){.bytes = bytes, .host = part};
	return PFLD_OK;
}

static void region_return(struct pfld_backend_device *device, struct pfld_region *region)
{
	pfld_decommit(region->host, region->bytes);
}

static enum pfld_status upload(struct pfld_backend_device *device, struct pfld_region *region, size_t offset_bytes,
							   const void *source, size_t bytes, struct pfld_error *error)
{
	memcpy((char *)region->host + offset_bytes, source, bytes);
	return PFLD_OK;
}

static enum pfld_status download(struct pfld_backend_device *device, const struct pfld_region *region,
								 size_t offset_bytes, void *destination, size_t bytes, struct pfld_error *error)
{
	memcpy(destination, (const char *)region->host + offset_bytes, bytes);
	return PFLD_OK;
}

static enum pfld_status fill(struct pfld_backend_device *device, struct pfld_region *region, size_t offset_bytes,
							 const void *pattern, size_t element_bytes, size_t count, struct pfld_error *error)
{
	char *at = (char *)region->host + offset_bytes;
	for (size_t i = 0; i < count; i++) memcpy(at + i * element_bytes, pattern, element_bytes);
	return PFLD_OK;
}

static enum pfld_status finish(struct pfld_backend_device *device, struct pfld_error *error)
{
	return PFLD_OK; // enqueue() returns when the op is done
}

// ---- ops ----

static bool supports(const struct pfld_backend_device *device, const struct pfld_op *op, const char **reason)
{
	const struct pfld_cpu_op *entry = pfld_cpu_ops[op->kind];
	if (!entry) {
		*reason = "this build has no such op";
		return false;
	}
	for (int32_t i = 0; i < PFLD_OP_MAX_SRC; i++) {
		const struct pfld_operand *source = &op->src[i];
		if (!pfld_operand_present(source) || !source->pending) continue;
		if (entry->reads_pending && entry->reads_pending(op, i)) continue;
		*reason = "it does not read this operand when it is pending";
		return false;
	}
	return !entry->supports || entry->supports(op, reason);
}

static size_t workspace_bytes(const struct pfld_backend_device *device, const struct pfld_op *op, int32_t batch)
{
	const struct pfld_cpu_op *entry = pfld_cpu_ops[op->kind];
	return entry && entry->workspace_bytes ? entry->workspace_bytes(device, op, batch) : 0;
}

// Which kernel serves an op is a function of its shapes and found out at each enqueue: there is nothing to keep.
static enum pfld_status prepare(struct pfld_backend_device *device, const struct pfld_op *op, int32_t batch,
								struct pfld_op_state **state, struct pfld_error *error)
{
	*state = NULL;
	return PFLD_OK;
}

static void release(struct pfld_backend_device *device, struct pfld_op_state **state)
{
	*state = NULL;
}

static enum pfld_status enqueue(struct pfld_backend_device *device, const struct pfld_op *op,
								struct pfld_op_state *state, const struct pfld_run *run, struct pfld_error *error)
{
	pfld_cpu_ops[op->kind]->enqueue(device, op, run);
	return PFLD_OK;
}

const struct pfld_backend pfld_cpu_backend = {
	.name = "cpu",
	.list = list,
	.open = open_device,
	.close = close_device,
	.limits = limits,
	.num_threads = num_threads,
	.level = level,
	.region_create = region_create,
	.region_destroy = region_destroy,
	.bytes_left = bytes_left,
	.chunk_create = chunk_create,
	.chunk_destroy = chunk_destroy,
	.chunk_shrink = chunk_shrink,
	.region_carve = region_carve,
	.region_return = region_return,
	.upload = upload,
	.download = download,
	.fill = fill,
	.finish = finish,
	.supports = supports,
	.workspace_bytes = workspace_bytes,
	.cost = pfld_cpu_cost,
	.prepare = prepare,
	.release = release,
	.enqueue = enqueue,
};
