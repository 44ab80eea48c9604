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

// RAM, or what control groups allow of it; UINT64_MAX where nothing is known.
static uint64_t physical_bytes(void)
{
	uint64_t bytes = pfld_cgroup_memory_bytes_at("");
	long num_pages = sysconf(_SC_PHYS_PAGES), page_bytes = sysconf(_SC_PAGESIZE);
	if (num_pages > 0 && page_bytes > 0) bytes = PFLD_MIN(bytes, (uint64_t)num_pages * (uint64_t)page_bytes);
	return bytes;
}

static uint64_t address_limit_bytes(void)
{
	struct rlimit limit;
	bool limited = !getrlimit(RLIMIT_AS, &limit) && limit.rlim_cur != RLIM_INFINITY;
	return limited ? (uint64_t)limit.rlim_cur : UINT64_MAX;
}

uint64_t pfld_memory_bytes(void)
{
	uint64_t physical = physical_bytes(), address = address_limit_bytes(), bytes = PFLD_MIN(physical, address);
	return bytes == UINT64_MAX ? 0 : bytes;
}

static uint64_t less(uint64_t bytes, uint64_t taken)
{
	return bytes == UINT64_MAX ? bytes : bytes > taken ? bytes - taken : 0;
}

void pfld_memory_left(struct pfld_memory_left *left)
{
	char *text = NULL;
	size_t text_bytes;
	uint64_t pages[2] = {0, 0}; // address space and resident, see proc(5)
	if (!pfld_file_read("/proc/self/statm", 4096, (uint8_t **)&text, &text_bytes, NULL)) {
		char *at = text;
		for (int i = 0; i < 2; i++) pages[i] = strtoull(at, &at, 10);
	}
	free(text);
	long page_bytes = sysconf(_SC_PAGESIZE);
	uint64_t unit = page_bytes > 0 ? (uint64_t)page_bytes : PAGE_BYTES;
	left->address_bytes = less(address_limit_bytes(), pages[0] * unit);
	left->resident_bytes = less(physical_bytes(), pages[1] * unit);
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

// ---- address space ----

static size_t page_size(void)
{
	long bytes = sysconf(_SC_PAGESIZE);
	return bytes > 0 ? (size_t)bytes : PAGE_BYTES;
}

static char *align_up(const void *address, size_t alignment)
{
	return (char *)(((uintptr_t)address + alignment - 1) / alignment * alignment);
}

static char *align_down(const void *address, size_t alignment)
{
	return (char *)((uintptr_t)address / alignment * alignment);
}

static void *map_nothing(void *place, size_t num_bytes, int flags)
{
	return mmap(place, num_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | flags, -1, 0);
}

void *pfld_reserve(size_t num_bytes)
{
	size_t page = page_size();
	if (num_bytes > SIZE_MAX / 2) return NULL;
	size_t wanted = (PFLD_MAX(num_bytes, 1) + page - 1) / page * page;
	size_t asked = wanted + HUGE_PAGE_BYTES;
	char *space = wanted >= HUGE_PAGE_BYTES ? map_nothing(NULL, asked, 0) : MAP_FAILED;
	if (space == MAP_FAILED) { // small, or no space to spare
		space = map_nothing(NULL, wanted, 0);
		return space == MAP_FAILED ? NULL : space;
	}
	// A little too much, and the ends given back, is how mmap() is made to align.
	char *first = align_up(space, HUGE_PAGE_BYTES), *end = first + wanted;
	if (first > space) (void)munmap(space, (size_t)(first - space));
	if (end < space + asked) (void)munmap(end, (size_t)(space + asked - end));
	return first;
}

void pfld_unreserve(void *space, size_t num_bytes)
{
	pfld_reserve_shrink(space, PFLD_MAX(num_bytes, 1), 0);
}

void pfld_reserve_shrink(void *space, size_t num_bytes, size_t keep_bytes)
{
	size_t page = page_size();
	char *first = align_up((char *)space + keep_bytes, page), *end = align_up((char *)space + num_bytes, page);
	if (first < end) (void)munmap(first, (size_t)(end - first));
}

bool pfld_commit(void *part, size_t num_bytes)
{
	size_t page = page_size();
	char *first = align_down(part, page), *end = align_up((char *)part + num_bytes, page);
	if (mprotect(first, (size_t)(end - first), PROT_READ | PROT_WRITE)) return false;
#ifdef MADV_HUGEPAGE
	if (num_bytes >= 2 * (size_t)HUGE_PAGE_BYTES) (void)madvise(first, (size_t)(end - first), MADV_HUGEPAGE);
#endif
	memset(part, 0, num_bytes);
	return true;
}

void pfld_decommit(void *part, size_t num_bytes)
{
	size_t page = page_size();
	char *first = align_up(part, page), *end = align_down((char *)part + num_bytes, page);
	// Mapped anew: the old pages go, and the address space stays ours.
	if (first < end) (void)map_nothing(first, (size_t)(end - first), MAP_FIXED);
}
