// SPDX-License-Identifier: MIT
// Threads, slabs, and the addition of partial results in the order of slabs: what keeps the bits of every op the same
// for every thread count. Called by all op files.
#include "base/float_mode.h"
#include "cpu/cpu.h"

// The host's threads compute in our floating-point mode and get their own back.
struct guest_job {
	pfld_pool_fn *fn;
	void *arg;
};

static void run_guest_item(void *arg, int32_t item, int32_t worker)
{
	const struct guest_job *job = arg;
	struct pfld_float_mode mode;
	pfld_float_mode_enter(&mode);
	job->fn(job->arg, item, worker);
	pfld_float_mode_leave(&mode);
}

void pfld_cpu_parallel(struct pfld_backend_device *device, int32_t num_items, pfld_pool_fn *fn, void *arg)
{
	if (num_items <= 1 || device->num_threads == 1) {
		for (int32_t item = 0; item < num_items; item++) fn(arg, item, 0);
	} else if (device->parallel_for) {
		struct guest_job job = {.fn = fn, .arg = arg};
		device->parallel_for(device->parallel_for_context, num_items, run_guest_item, &job);
	} else {
		pfld_pool_run(device->pool, num_items, fn, arg);
	}
}

struct pfld_cpu_slabs pfld_cpu_slabs(int64_t num_pixels, int32_t num_channels)
{
	enum { MAX_ELEMENTS = 1 << 16, MAX_PIXELS = 1024 };
	int64_t pixels = PFLD_MIN(PFLD_MAX(MAX_ELEMENTS / num_channels, 1), MAX_PIXELS);
	pixels = PFLD_MAX(pixels, (num_pixels + INT32_MAX - 1) / INT32_MAX);
	int32_t num_slabs = (int32_t)((num_pixels + pixels - 1) / pixels);
	return (struct pfld_cpu_slabs){
		.num_pixels = num_pixels,
		.pixels_per_slab = pixels,
		.num_slabs = num_slabs,
		.slabs_per_picture = num_slabs,
	};
}

// ---- merging ----

enum { MERGE_COLUMNS = 64 }; // an item

static void merge_item(void *arg, int32_t item, int32_t worker)
{
	const struct pfld_cpu_merge *merge = arg;
	int32_t first = item * MERGE_COLUMNS, num = PFLD_MIN(MERGE_COLUMNS, merge->num_columns - first);
	double total[MERGE_COLUMNS] = {0};
	for (int32_t part = 0; part < merge->num_parts; part++) {
		const pfld_real *values = merge->parts + part * merge->part_stride + first;
		for (int32_t j = 0; j < num; j++) total[j] += values[j];
	}
	for (int32_t j = 0; j < num; j++) {
		pfld_real value = (pfld_real)(merge->factor ? total[j] * merge->factor[first + j] : total[j]);
		pfld_real *dst = &merge->dst[first + j];
		*dst = merge->add ? *dst + value : value;
		if (!merge->second) continue;
		dst = &merge->second[first + j];
		*dst = merge->add_second ? *dst + value : value;
	}
}

void pfld_cpu_merge(struct pfld_backend_device *device, const struct pfld_cpu_merge *merge)
{
	struct pfld_cpu_merge job = *merge;
	pfld_cpu_parallel(device, (job.num_columns + MERGE_COLUMNS - 1) / MERGE_COLUMNS, merge_item, &job);
}
