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

// Sums go to the end of the thread's memory, so that no compiler can leave the work out.
static void plain_chains(float *out)
{
	float sums[CHAINS * LANES];
	for (int i = 0; i < CHAINS * LANES; i++) sums[i] = (float)i;
	for (int round = 0; round < ROUNDS; round++)
		for (int i = 0; i < CHAINS * LANES; i++) sums[i] = sums[i] * 0.999f + 0.5f;
	memcpy(out, sums, sizeof(sums));
}

#if HAS_AVX2_LOOP
__attribute__((target("avx2,fma"))) static void avx2_chains(float *out)
{
	__m256 factor = _mm256_set1_ps(0.999f), term = _mm256_set1_ps(0.5f);
	__m256 s0 = term, s1 = term, s2 = term, s3 = term, s4 = term, s5 = term, s6 = term, s7 = term, s8 = term, s9 = term;
	__m256 s10 = term, s11 = term;
	for (int round = 0; round < ROUNDS; round++) {
		s0 = _mm256_fmadd_ps(s0, factor, term);
		s1 = _mm256_fmadd_ps(s1, factor, term);
		s2 = _mm256_fmadd_ps(s2, factor, term);
		s3 = _mm256_fmadd_ps(s3, factor, term);
		s4 = _mm256_fmadd_ps(s4, factor, term);
		s5 = _mm256_fmadd_ps(s5, factor, term);
		s6 = _mm256_fmadd_ps(s6, factor, term);
		s7 = _mm256_fmadd_ps(s7, factor, term);
		s8 = _mm256_fmadd_ps(s8, factor, term);
		s9 = _mm256_fmadd_ps(s9, factor, term);
		s10 = _mm256_fmadd_ps(s10, factor, term);
		s11 = _mm256_fmadd_ps(s11, factor, term);
	}
	s0 = _mm256_add_ps(_mm256_add_ps(s0, s1), _mm256_add_ps(s2, s3));
	s4 = _mm256_add_ps(_mm256_add_ps(s4, s5), _mm256_add_ps(s6, s7));
	s8 = _mm256_add_ps(_mm256_add_ps(s8, s9), _mm256_add_ps(s10, s11));
	_mm256_storeu_ps(out, _mm256_add_ps(s0, _mm256_add_ps(s4, s8)));
}
#endif

static void compute_item(void *arg, int32_t item, int32_t worker)
{
	const struct peak *peak = arg;
	float *out = (float *)(peak->to + (size_t)(item + 1) * peak->thread_bytes) - CHAINS * LANES;
#if HAS_AVX2_LOOP
	if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
		avx2_chains(out);
		return;
	}
#endif
	plain_chains(out);
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
