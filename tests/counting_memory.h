// SPDX-License-Identifier: MIT
// What is taken from the system, counted by nothing of the library's own: the linker puts these in place of malloc and its
// sisters and of mmap (counting_memory_args in meson.build). Aligned blocks and maps are what a device's memory is made of;
// all else is heap.
#ifndef PFLD_TESTS_COUNTING_MEMORY_H
#define PFLD_TESTS_COUNTING_MEMORY_H

#include <stddef.h>

struct counted {
	size_t device_bytes, heap_bytes;           // held now, as asked for
	size_t device_peak_bytes, heap_peak_bytes; // most held since the last counting_begin()
	long num_requests;                         // since then, of any kind
};
void counting_begin(void); // peaks and requests from here on
struct counted counting_now(void);

#endif
