// SPDX-License-Identifier: MIT
// What this machine can do at this moment, measured beside whatever is judged by it: fused multiply-adds in registers,
// and copying of memory that no cache holds, on all threads at once.
#ifndef PFLD_BENCH_PEAK_H
#define PFLD_BENCH_PEAK_H

#include "base/thread.h"

struct peak {
	struct pfld_pool *pool;
	char *from, *to; // of all threads
	size_t thread_bytes;
};

enum pfld_status peak_create(struct peak *peak, int32_t num_threads, struct pfld_error *error) PFLD_MUST_USE;
void peak_destroy(struct peak *peak);
// One short look of some milliseconds each: 1e9 floating-point operations a second; 1e9 bytes read or written a second.
double peak_gflops(struct peak *peak);
double peak_gbytes(struct peak *peak);

#endif
