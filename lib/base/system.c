// SPDX-License-Identifier: MIT
// Memory and processor as the operating system tells them. What cannot be read is no limit.
#define _GNU_SOURCE // MADV_HUGEPAGE
#include "system.h"
#include "file.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

enum { CACHE_LINE_BYTES = 64, PAGE_BYTES = 4096, HUGE_PAGE_BYTES = 2 << 20 };

// The limit that "root folder group/name" holds; UINT64_MAX for "max", none, or what cannot be read.
static uint64_t read_limit(const char *root, const char *folder, const char *group, const char *name)
{
	char *path = pfld_strprintf("%s%s%s/%s", root, folder, group, name);
	uint8_t *text = NULL;
	size_t num_bytes;
	int64_t value;
	uint64_t limit = UINT64_MAX;
	if (path && pfld_file_read(path, 4096, &text, &num_bytes, NULL) == PFLD_OK) {
		text[strcspn((char *)text, "\n")] = '\0';
		if (pfld_parse_int((char *)text, &value) && value >= 0) limit = (uint64_t)value;
		free(text);
	}
	free(path);
	return limit;
}

// The least limit of a group and its parents, up to the folder where the hierarchy is mounted: inside a container that
// folder is the container's own group, while the group's name may be one that only the host can see.
static uint64_t least_limit(const char *root, const char *folder, const char *group, const char *name)
{
	char *part = pfld_strdup(strstr(group, "..") ? "" : group);
	if (!part) return UINT64_MAX;
	uint64_t least = UINT64_MAX;
	for (;;) {
		uint64_t limit = read_limit(root, folder, part, name);
		least = PFLD_MIN(least, limit);
		char *slash = strrchr(part, '/');
		if (!slash) break;
		*slash = '\0';
	}
	free(part);
	return least;
}

static bool names_memory(const char *controllers)
{
	for (const char *at = controllers; *at; at += strcspn(at, ","), at += *at == ',') {
		if (strcspn(at, ",") == 6 && !memcmp(at, "memory", 6)) return true;
	}
	return false;
}

// One line of /proc/self/cgroup, "ID:CONTROLLERS:GROUP"; the line is cut up.
static uint64_t line_limit(const char *root, char *line)
{
	char *controllers = strchr(line, ':');
	char *group = controllers ? strchr(controllers + 1, ':') : NULL;
	if (!group) return UINT64_MAX;
	*controllers++ = '\0';
	*group++ = '\0';
	if (*controllers) {
		if (!names_memory(controllers)) return UINT64_MAX;
		return least_limit(root, "/sys/fs/cgroup/memory", group, "memory.limit_in_bytes");
	}
	uint64_t plain = least_limit(root, "/sys/fs/cgroup", group, "memory.max");
	uint64_t hybrid = least_limit(root, "/sys/fs/cgroup/unified", group, "memory.max");
	return PFLD_MIN(plain, hybrid);
}

uint64_t pfld_cgroup_memory_bytes_at(const char *root)
{
	char *path = pfld_strprintf("%s/proc/self/cgroup", root);
	uint8_t *text = NULL;
	size_t num_bytes;
	uint64_t least = UINT64_MAX;
	if (path && pfld_file_read(path, 1 << 16, &text, &num_bytes, NULL) == PFLD_OK) {
		for (char *line = (char *)text, *end; *line; line = end) {
			end = line + strcspn(line, "\n");
			if (*end) *end++ = '\0';
			uint64_t limit = line_limit(root, line);
			least = PFLD_MIN(least, limit);
		}
		free(text);
	}
	free(path);
	return least;
}

uint64_t pfld_memory_bytes(void)
{
	uint64_t bytes = pfld_cgroup_memory_bytes_at("");
	long num_pages = sysconf(_SC_PHYS_PAGES), page_bytes = sysconf(_SC_PAGESIZE);
	if (num_pages > 0 && page_bytes > 0) bytes = PFLD_MIN(bytes, (uint64_t)num_pages * (uint64_t)page_bytes);
	struct rlimit limit;
	if (!getrlimit(RLIMIT_AS, &limit) && limit.rlim_cur != RLIM_INFINITY) bytes = PFLD_MIN(bytes, (uint64_t)limit.rlim_cur);
	return bytes == UINT64_MAX ? 0 : bytes;
}

char *pfld_cpu_name(char *buffer, size_t num_bytes)
{
	uint8_t *text = NULL;
	size_t text_bytes;
	const char *name = "unknown processor";
	size_t length = strlen(name);
	// /proc tells no size, so the file is read whole; its first processor names them all.
	if (pfld_file_read("/proc/cpuinfo", 16 << 20, &text, &text_bytes, NULL) == PFLD_OK) {
		const char *line = strstr((char *)text, "model name");
		const char *colon = line ? strchr(line, ':') : NULL;
		if (colon) {
			colon += 1 + strspn(colon + 1, " \t");
			length = strcspn(colon, "\n");
			name = colon;
		}
	}
	length = PFLD_MIN(length, num_bytes - 1);
	memcpy(buffer, name, length);
	buffer[length] = '\0';
	free(text);
	return buffer;
}

void *pfld_pages_alloc(size_t num_bytes)
{
	size_t alignment = num_bytes >= 2 * (size_t)HUGE_PAGE_BYTES ? HUGE_PAGE_BYTES
	                   : num_bytes >= PAGE_BYTES               ? PAGE_BYTES
	                                                           : CACHE_LINE_BYTES;
	void *pages = NULL;
	if (posix_memalign(&pages, alignment, PFLD_MAX(num_bytes, 1))) return NULL;
#ifdef MADV_HUGEPAGE
	if (alignment == HUGE_PAGE_BYTES) {
		// Only whole huge pages: what lies behind may be somebody else's.
		(void)madvise(pages, num_bytes / HUGE_PAGE_BYTES * HUGE_PAGE_BYTES, MADV_HUGEPAGE);
	}
#endif
	memset(pages, 0, num_bytes);
	return pages;
}

void pfld_pages_free(void *pages)
{
	free(pages);
}
