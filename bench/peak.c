// SPDX-License-Identifier: MIT
// The machine's peaks. With AVX2 where the processor has it, as the kernels it is a measure for; else plain C, which
// the compiler may or may not turn into the best that there is. Called by the benches.
#include "peak.h"

#include <stdlib.h>
#include <string.h>

#if defined(__x86_64__) && defined(__GNUC__)
#define HAS_AVX2_LOOP 1
#include <immintrin.h>
#else
#define HAS_AVX2_LOOP 0
#endif

enum { ROUNDS = 400000, CHAINS = 12, LANES = 8, THREAD_BYTES = 24 << 20 };

// Sums come from the end of the thread's memory and go back there, so that no compiler can leave work out or share it
// between chains.
static void plain_chains(float *place)
{
	float sums[CHAINS * LANES];
	memcpy(sums, place, sizeof(sums));
	for (int round = 0; round < ROUNDS; round++)
		for (int i = 0; i < CHAINS * LANES; i++) sums[i] = sums[i] * 0.999f + 0.5f;
	memcpy(place, sums, sizeof(sums));
}

#if HAS_AVX2_LOOP
__attribute__((target("avx2,fma"))) static void avx2_chains(float *place)
{
	const __m256 factor = _mm256_set1_ps(0.999f), term = _mm256_set1_ps(0.5f);
	__m256 sums[CHAINS];
#pragma GCC unroll 12
	for (int i = 0; i < CHAINS; i++) sums[i] = _mm256_loadu_ps(place + i * LANES);
	for (int round = 0; round < ROUNDS; round++) {
#pragma GCC unroll 12
		for (int i = 0; i < CHAINS; i++) sums[i] = _mm256_fmadd_ps(sums[i], factor, term);
	}
#pragma GCC unroll 12
	for (int i = 0; i < CHAINS; i++) _mm256_storeu_ps(place + i * LANES, sums[i]);
}
#endif

static void compute_item(void *arg, int32_t item, int32_t worker)
{
	const struct peak *peak = arg;
	float *place = (float *)(peak->to + (size_t)(item + 1) * peak->thread_bytes) - CHAINS * LANES;
#if HAS_AVX2_LOOP
	if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
		avx2_chains(place);
		return;
	}
#endif
	plain_chains(place);
}

static void copy_item(void *arg, int32_t item, int32_t worker)
{
	const struct peak *peak = arg;
	size_t at = (size_t)item * peak->thread_bytes;
	memcpy(peak->to + at, peak->from + at, peak->thread_bytes);
}

enum pfld_status peak_create(struct peak *peak, int32_t num_threads, struct pfld_error *error)
{
	*peak = (struct peak){.thread_bytes = THREAD_BYTES};
	enum pfld_status status = pfld_pool_create(&peak->pool, num_threads, error);
	if (status) return status;
	size_t bytes = (size_t)num_threads * peak->thread_bytes;
	peak->from = malloc(bytes);
	peak->to = malloc(bytes);
	if (!peak->from || !peak->to) {
		peak_destroy(peak);
		return pfld_fail_memory(error, 2 * bytes, "measuring the peaks");
	}
	memset(peak->from, 1, bytes);
	memset(peak->to, 2, bytes);
	return PFLD_OK;
}

void peak_destroy(struct peak *peak)
{
	pfld_pool_destroy(&peak->pool);
	free(peak->from);
	free(peak->to);
	*peak = (struct peak){0};
}

static double seconds(struct peak *peak, pfld_pool_fn *fn)
{
	uint64_t start = pfld_now_ns();
	pfld_pool_run(peak->pool, pfld_pool_num_threads(peak->pool), fn, peak);
	return (double)(pfld_now_ns() - start) * 1e-9;
}

double peak_gflops(struct peak *peak)
{
	double operations = 2.0 * ROUNDS * CHAINS * LANES * pfld_pool_num_threads(peak->pool);
	return operations / seconds(peak, compute_item) * 1e-9;
}

double peak_gbytes(struct peak *peak)
{
	double bytes = 2.0 * (double)peak->thread_bytes * pfld_pool_num_threads(peak->pool);
	return bytes / seconds(peak, copy_item) * 1e-9;
}
