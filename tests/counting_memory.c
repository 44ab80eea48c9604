// SPDX-License-Identifier: MIT
// See counting_memory.h. Blocks are known by their address, as other libraries hand out and free some of their own.
#include "counting_memory.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/mman.h>

void *__real_malloc(size_t num_bytes);
void *__real_calloc(size_t num, size_t num_bytes);
void *__real_realloc(void *block, size_t num_bytes);
void *__real_aligned_alloc(size_t alignment, size_t num_bytes);
int __real_posix_memalign(void **block, size_t alignment, size_t num_bytes);
void __real_free(void *block);
void *__real_mmap(void *place, size_t num_bytes, int protection, int flags, int file, off_t offset);
int __real_munmap(void *place, size_t num_bytes);

enum { NUM_PLACES = 1 << 17 };
struct block {
	void *address; // NULL: never used; `removed`: free again
	size_t bytes;
	bool is_device;
};
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct block blocks[NUM_PLACES]; // open addressing, linear probing
static char removed;
static struct counted counted;

static size_t place_of(const void *address)
{
	return ((uintptr_t)address >> 4) * 2654435761u % NUM_PLACES;
}

static void *keep(void *address, size_t bytes, bool is_device)
{
	pthread_mutex_lock(&mutex);
	counted.num_requests++;
	if (address) {
		size_t place = place_of(address);
		while (blocks[place].address && blocks[place].address != &removed) place = (place + 1) % NUM_PLACES;
		blocks[place] = (struct block){address, bytes, is_device};
		size_t *now = is_device ? &counted.device_bytes : &counted.heap_bytes;
		size_t *peak = is_device ? &counted.device_peak_bytes : &counted.heap_peak_bytes;
		*now += bytes;
		if (*now > *peak) *peak = *now;
	}
	pthread_mutex_unlock(&mutex);
	return address;
}

static void forget(const void *address)
{
	if (!address) return;
	pthread_mutex_lock(&mutex);
	for (size_t place = place_of(address); blocks[place].address; place = (place + 1) % NUM_PLACES) {
		if (blocks[place].address != address) continue;
		*(blocks[place].is_device ? &counted.device_bytes : &counted.heap_bytes) -= blocks[place].bytes;
		blocks[place].address = &removed;
		break;
	}
	pthread_mutex_unlock(&mutex);
}

void *__wrap_malloc(size_t num_bytes)
{
	return keep(__real_malloc(num_bytes), num_bytes, false);
}

void *__wrap_calloc(size_t num, size_t num_bytes)
{
	return keep(__real_calloc(num, num_bytes), num * num_bytes, false);
}

void *__wrap_realloc(void *block, size_t num_bytes)
{
	forget(block); // before its address can be given to somebody else
	return keep(__real_realloc(block, num_bytes), num_bytes, false);
}

void *__wrap_aligned_alloc(size_t alignment, size_t num_bytes)
{
	return keep(__real_aligned_alloc(alignment, num_bytes), num_bytes, true);
}

int __wrap_posix_memalign(void **block, size_t alignment, size_t num_bytes)
{
	int result = __real_posix_memalign(block, alignment, num_bytes);
	keep(result ? NULL : *block, num_bytes, true);
	return result;
}

void __wrap_free(void *block)
{
	forget(block);
	__real_free(block);
}

void *__wrap_mmap(void *place, size_t num_bytes, int protection, int flags, int file, off_t offset)
{
	void *map = __real_mmap(place, num_bytes, protection, flags, file, offset);
	return map == MAP_FAILED ? map : keep(map, num_bytes, true);
}

int __wrap_munmap(void *place, size_t num_bytes)
{
	forget(place);
	return __real_munmap(place, num_bytes);
}

void counting_begin(void)
{
	pthread_mutex_lock(&mutex);
	counted.device_peak_bytes = counted.device_bytes;
	counted.heap_peak_bytes = counted.heap_bytes;
	counted.num_requests = 0;
	pthread_mutex_unlock(&mutex);
}

struct counted counting_now(void)
{
	pthread_mutex_lock(&mutex);
	struct counted now = counted;
	pthread_mutex_unlock(&mutex);
	return now;
}
