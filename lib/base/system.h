// SPDX-License-Identifier: MIT
// What the operating system says of this machine and this process: memory there is, the processor's name, and large
// aligned memory. Threads and CPU quotas: thread.h.
#ifndef PFLD_BASE_SYSTEM_H
#define PFLD_BASE_SYSTEM_H

#include "base.h"

// Bytes of memory that this process can have: the smallest of RAM, the limits of its control groups (v2 memory.max, v1
// memory.limit_in_bytes, of the group and its parents) and RLIMIT_AS. 0 where nothing is known.
uint64_t pfld_memory_bytes(void);
// The control groups' part with the root of the file system given, for tests; UINT64_MAX: no limit.
uint64_t pfld_cgroup_memory_bytes_at(const char *root);

// Bytes that this process can take beyond what it holds now: RAM and control groups less its resident pages, and what
// RLIMIT_AS leaves of its address space. UINT64_MAX where nothing is known.
struct pfld_memory_left {
	uint64_t resident_bytes, address_bytes;
};
void pfld_memory_left(struct pfld_memory_left *left);

// The processor's name as the system has it, "unknown processor" where it has none. Returns buffer.
char *pfld_cpu_name(char *buffer, size_t num_bytes);

// Zeroed memory whose pages are there when this returns, for tensors: aligned to 64 bytes at least, to a page from one
// page on, and where it is large to 2 MiB with huge pages asked for. NULL: out of memory. Free with pfld_pages_free().
void *pfld_pages_alloc(size_t num_bytes);
void pfld_pages_free(void *pages);

// Address space without memory behind it, aligned to a page, and to 2 MiB where it is large and there is room. NULL: the
// system gives no more.
void *pfld_reserve(size_t num_bytes);
void pfld_unreserve(void *space, size_t num_bytes);
// Give back what lies behind the first `keep_bytes`, whole pages of it.
void pfld_reserve_shrink(void *space, size_t num_bytes, size_t keep_bytes);
// Put memory behind a part of it: zeroed, there when this returns. False: out of memory. Pages may be shared with
// neighbours; decommitting takes those that lie wholly inside.
bool pfld_commit(void *part, size_t num_bytes);
void pfld_decommit(void *part, size_t num_bytes);

#endif
