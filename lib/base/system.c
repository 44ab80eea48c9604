// SPDX-License-Identifier: MIT
// Memory and processor as the operating system tells them. What cannot be read is no limit.
#define _GNU_SOURCE // MADV_HUGEPAGE
#include "system.h"
#include "cgroup.h"
#include "file.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

enum { CACHE_LINE_BYTES = 64, PAGE_BYTES = 4096, HUGE_PAGE_BYTES = 2 << 20 };

// Lower *arg, bytes, to the limit of one group; "max" is none.
static void apply_limit(void *arg, const char *folder, enum pfld_cgroup_version version)
{
	char *text = pfld_cgroup_read(folder, version == PFLD_CGROUP_V2 ? "memory.max" : "memory.limit_in_bytes");
	uint64_t *bytes = arg;
	int64_t limit;
	if (text) text[strcspn(text, "\n")] = '\0';
	if (pfld_parse_int(text, &limit) && limit >= 0) *bytes = PFLD_MIN(*bytes, (uint64_t)limit);
	free(text);
}

uint64_t pfld_cgroup_memory_bytes_at(const char *root)
{
	uint64_t bytes = UINT64_MAX;
	pfld_cgroup_visit(root, "memory", apply_limit, &bytes);
	return bytes;
}

uint64_t pfld_memory_bytes(void)
{
	uint64_t bytes = pfld_cgroup_memory_bytes_at("");
	long num_pages = sysconf(_SC_PHYS_PAGES), page_bytes = sysconf(_SC_PAGESIZE);
	if (num_pages > 0 && page_bytes > 0) bytes = PFLD_MIN(bytes, (uint64_t)num_pages * (uint64_t)page_bytes);
	struct rlimit limit;
	if (!getrlimit(RLIMIT_AS, &limit) && limit.rlim_cur != RLIM_INFINITY)
		bytes = PFLD_MIN(bytes, (uint64_t)limit.rlim_cur);
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
					   : num_bytes >= PAGE_BYTES                ? PAGE_BYTES
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
