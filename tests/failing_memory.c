// SPDX-License-Identifier: MIT
// See failing_memory.h. Blocks are known by their address, as other libraries hand out and free some of their own.
#include "failing_memory.h"

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

void *__real_malloc(size_t num_bytes);
void *__real_calloc(size_t num, size_t num_bytes);
void *__real_realloc(void *block, size_t num_bytes);
void *__real_aligned_alloc(size_t alignment, size_t num_bytes);
int __real_posix_memalign(void **block, size_t alignment, size_t num_bytes);
void __real_free(void *block);
int __real_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *), void *argument);

enum { NUM_PLACES = 1 << 17, NO_MEMORY = 12, NO_THREAD = 11 };
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static long num_requests, failing_request, num_held;
static void *held[NUM_PLACES]; // open addressing, linear probing
static char removed;           // stands where a block was

static bool fails(void)
{
	pthread_mutex_lock(&mutex);
	bool now = ++num_requests == failing_request;
	pthread_mutex_unlock(&mutex);
	return now;
}

static void **find(const void *block)
{
	size_t place = ((uintptr_t)block >> 4) * 2654435761u % NUM_PLACES;
	for (size_t tries = 0; tries < NUM_PLACES; tries++, place = (place + 1) % NUM_PLACES) {
		if (held[place] == block) return &held[place];
		if (!held[place]) return NULL;
	}
	return NULL;
}

static void *keep(void *block)
{
	if (!block) return NULL;
	pthread_mutex_lock(&mutex);
	size_t place = ((uintptr_t)block >> 4) * 2654435761u % NUM_PLACES;
	while (held[place] && held[place] != &removed) place = (place + 1) % NUM_PLACES;
	held[place] = block;
	num_held++;
	pthread_mutex_unlock(&mutex);
	return block;
}

static void forget(void *block)
{
	if (!block) return;
	pthread_mutex_lock(&mutex);
	void **place = find(block);
	if (place) {
		*place = &removed;
		num_held--;
	}
	pthread_mutex_unlock(&mutex);
}

void *__wrap_malloc(size_t num_bytes)
{
	return fails() ? NULL : keep(__real_malloc(num_bytes));
}

void *__wrap_calloc(size_t num, size_t num_bytes)
{
	return fails() ? NULL : keep(__real_calloc(num, num_bytes));
}

void *__wrap_realloc(void *block, size_t num_bytes)
{
	if (fails()) return NULL;
	forget(block); // before its address can be given to somebody else
	void *moved = __real_realloc(block, num_bytes);
	keep(moved ? moved : block);
	return moved;
}

void *__wrap_aligned_alloc(size_t alignment, size_t num_bytes)
{
	return fails() ? NULL : keep(__real_aligned_alloc(alignment, num_bytes));
}

int __wrap_posix_memalign(void **block, size_t alignment, size_t num_bytes)
{
	if (fails()) return NO_MEMORY;
	int failed = __real_posix_memalign(block, alignment, num_bytes);
	if (!failed) keep(*block);
	return failed;
}

void __wrap_free(void *block)
{
	forget(block);
	__real_free(block);
}

int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *), void *argument)
{
	return fails() ? NO_THREAD : __real_pthread_create(thread, attributes, run, argument);
}

void memory_fails_at(long n)
{
	pthread_mutex_lock(&mutex);
	num_requests = 0;
	failing_request = n;
	pthread_mutex_unlock(&mutex);
}

long memory_works_again(void)
{
	pthread_mutex_lock(&mutex);
	long num = num_requests;
	failing_request = 0;
	pthread_mutex_unlock(&mutex);
	return num;
}

long memory_num_held(void)
{
	pthread_mutex_lock(&mutex);
	long num = num_held;
	pthread_mutex_unlock(&mutex);
	return num;
}
