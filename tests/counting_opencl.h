// SPDX-License-Identifier: MIT
// OpenCL calls of this process as the linker wraps them (--wrap), counted beside what the library counts.
#ifndef PFLD_TESTS_COUNTING_OPENCL_H
#define PFLD_TESTS_COUNTING_OPENCL_H

#include <stddef.h>
#include <stdint.h>

struct counted_calls {
	size_t buffer_bytes, peak_bytes; // in buffers now, and the most at once
	int64_t num_created;             // buffers, since the beginning
	int64_t num_kernels;             // enqueued
	int64_t num_waits;               // for queues, and copies that block
	int64_t num_built;               // programs, from source
};
struct counted_calls calls_now(void);

#endif
