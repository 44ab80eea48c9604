// SPDX-License-Identifier: MIT
// How many threads this process should use: what its affinity mask and the CPU quotas of its control groups leave it.
// A quota that cannot be read is none.
#define _GNU_SOURCE // sched_getaffinity
#include "file.h"
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

// A small text file below root, or NULL. Free with free().
static char *read_text(const char *root, const char *folder, const char *group, const char *name)
{
	char *path = pfld_strprintf("%s%s%s/%s", root, folder, group, name);
	uint8_t *data = NULL;
	size_t num_bytes;
	if (path && pfld_file_read(path, 1 << 16, &data, &num_bytes, NULL)) data = NULL;
	free(path);
	return (char *)data;
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

// "150000 100000" or "max 100000".
static int32_t quota_v2(const char *root, const char *folder, const char *group)
{
	char *text = read_text(root, folder, group, "cpu.max");
	const char *at = text;
	int64_t quota, period;
	bool limited = text && next_number(&at, &quota) && next_number(&at, &period);
	free(text);
	return limited ? quota_cpus(quota, period) : INT32_MAX;
}

static int32_t quota_v1(const char *root, const char *folder, const char *group)
{
	char *quota_text = read_text(root, folder, group, "cpu.cfs_quota_us");
	char *period_text = read_text(root, folder, group, "cpu.cfs_period_us");
	const char *quota_at = quota_text, *period_at = period_text;
	int64_t quota, period;
	bool limited = quota_text && period_text && next_number(&quota_at, &quota) && next_number(&period_at, &period);
	free(quota_text);
	free(period_text);
	return limited ? quota_cpus(quota, period) : INT32_MAX;
}

typedef int32_t quota_fn(const char *root, const char *folder, const char *group);

// The least of the quotas of a group and its parents, up to the folder where the hierarchy is mounted: inside a
// container that folder is the container's own group, while the group's name may be one that only the host can see.
static int32_t least_quota(const char *root, const char *folder, const char *group, quota_fn *quota)
{
	char *part = pfld_strdup(strstr(group, "..") ? "" : group); // a group outside what is mounted here: "/../other"
	if (!part) return INT32_MAX;
	int32_t least = INT32_MAX;
	for (size_t length = strlen(part);; length--) {
		if (length && part[length] != '\0' && part[length] != '/') continue;
		part[length] = '\0';
		int32_t allowed = length == 1 ? INT32_MAX : quota(root, folder, part); // "/" is "" again
		least = PFLD_MIN(least, allowed);
		if (length == 0) break;
	}
	free(part);
	return least;
}

static bool names_cpu(const char *controllers)
{
	for (const char *at = controllers; *at; at += strcspn(at, ","), at += *at == ',') {
		if (strcspn(at, ",") == 3 && !memcmp(at, "cpu", 3)) return true;
	}
	return false;
}

// One line of /proc/self/cgroup, "ID:CONTROLLERS:GROUP"; the line is cut up.
static int32_t line_quota(const char *root, char *line)
{
	char *controllers = strchr(line, ':');
	char *group = controllers ? strchr(controllers + 1, ':') : NULL;
	if (!group) return INT32_MAX;
	*controllers++ = '\0';
	*group++ = '\0';
	if (!*controllers) {
		int32_t plain = least_quota(root, "/sys/fs/cgroup", group, quota_v2);
		int32_t hybrid = least_quota(root, "/sys/fs/cgroup/unified", group, quota_v2);
		return PFLD_MIN(plain, hybrid);
	}
	if (!names_cpu(controllers)) return INT32_MAX;
	char *folder = pfld_strprintf("/sys/fs/cgroup/%s", controllers);
	int32_t least = least_quota(root, "/sys/fs/cgroup/cpu", group, quota_v1); // usually a link to the other
	int32_t other = folder ? least_quota(root, folder, group, quota_v1) : INT32_MAX;
	free(folder);
	return PFLD_MIN(least, other);
}

int32_t pfld_default_threads_at(const char *root, int32_t num_cpus)
{
	int32_t least = num_cpus > 0 ? num_cpus : pfld_affinity_cpus();
	char *text = read_text(root, "/proc/self", "", "cgroup");
	for (char *line = text, *end; line && *line; line = end) {
		end = line + strcspn(line, "\n");
		if (*end) *end++ = '\0';
		int32_t quota = line_quota(root, line);
		least = PFLD_MIN(least, quota);
	}
	free(text);
	return PFLD_MAX(least, 1);
}

int32_t pfld_default_threads(void)
{
	return pfld_default_threads_at("", 0);
}
