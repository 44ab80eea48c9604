// SPDX-License-Identifier: MIT
// How many threads this process should use: what its affinity mask and the CPU quotas of its control groups leave it.
// A quota that cannot be read is none.
#define _GNU_SOURCE // sched_getaffinity
#include "cgroup.h"
#include "thread.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int32_t pfld_affinity_cpus(void)
{
	// The kernel refuses masks that are smaller than its own.
	for (int capacity = 1024; capacity <= 1 << 20; capacity *= 4) {
		cpu_set_t *set = CPU_ALLOC(capacity);
		if (!set) break;
		size_t bytes = CPU_ALLOC_SIZE(capacity);
		CPU_ZERO_S(bytes, set);
		int failed = sched_getaffinity(0, bytes, set) ? errno : 0;
		int count = CPU_COUNT_S(bytes, set);
		CPU_FREE(set);
		if (!failed && count > 0) return count;
		if (failed != EINVAL) break;
	}
	long online = sysconf(_SC_NPROCESSORS_ONLN);
	return online > 0 ? (int32_t)online : 1;
}

// The whole number at *text, which is moved behind it and the blank that follows. False when there is none ("max").
static bool next_number(const char **text, int64_t *value)
{
	char digits[24];
	size_t length = strcspn(*text, " \n");
	if (length >= sizeof digits) return false;
	memcpy(digits, *text, length);
	digits[length] = '\0';
	*text += length + ((*text)[length] != '\0');
	return pfld_parse_int(digits, value);
}

// CPUs that a quota of microseconds in each period allows, rounded up; INT32_MAX: no limit.
static int32_t quota_cpus(int64_t quota, int64_t period)
{
	if (quota <= 0 || period <= 0) return INT32_MAX;
	int64_t cpus = quota / period + (quota % period != 0);
	return (int32_t)PFLD_MIN(cpus, INT32_MAX);
}

// Lower *arg, a number of CPUs, to what the quota of one group allows: "150000 100000" or "max 100000" in version 2,
// two files in version 1.
static void apply_quota(void *arg, const char *folder, enum pfld_cgroup_version version)
{
	bool v2 = version == PFLD_CGROUP_V2;
	char *text = pfld_cgroup_read(folder, v2 ? "cpu.max" : "cpu.cfs_quota_us");
	char *second = v2 ? NULL : pfld_cgroup_read(folder, "cpu.cfs_period_us");
	const char *quota_at = text, *period_at = second;
	int64_t quota, period;
	bool limited = text && next_number(&quota_at, &quota);
	if (v2) period_at = quota_at;
	limited = limited && period_at && next_number(&period_at, &period);
	int32_t *cpus = arg, allowed = limited ? quota_cpus(quota, period) : INT32_MAX;
	*cpus = PFLD_MIN(*cpus, allowed);
	free(second);
	free(text);
}

int32_t pfld_default_threads_at(const char *root, int32_t num_cpus)
{
	int32_t cpus = num_cpus > 0 ? num_cpus : pfld_affinity_cpus();
	pfld_cgroup_visit(root, "cpu", apply_quota, &cpus);
	return PFLD_MAX(cpus, 1);
}

int32_t pfld_default_threads(void)
{
	return pfld_default_threads_at("", 0);
}
