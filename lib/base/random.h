// SPDX-License-Identifier: MIT
// Counter-based random numbers: the n-th number of a stream depends on (key, n) alone, so a sample or an element
// can be drawn by any thread, in any order, again after a resume. Philox 4x32-10 (Salmon et al., SC 2011).
#ifndef PFLD_BASE_RANDOM_H
#define PFLD_BASE_RANDOM_H

#include "base.h"

// Four numbers of 32 bits for one counter.
void pfld_philox(uint32_t out[4], const uint32_t counter[4], const uint32_t key[2]);

// A stream: draws one after the other from (seed, a, b).
struct pfld_random {
	uint32_t key[2], counter[4], block[4];
	int32_t used; // of block
};
// What the stream is for keeps streams apart that share a seed.
enum pfld_random_purpose {
	PFLD_RANDOM_INIT = 1,
	PFLD_RANDOM_SHUFFLE,
	PFLD_RANDOM_AUGMENT,
	PFLD_RANDOM_DROPOUT,
	PFLD_RANDOM_FACES,
	PFLD_RANDOM_PREPARE,
	PFLD_RANDOM_TEST,
};
struct pfld_random pfld_random_stream(uint64_t seed, enum pfld_random_purpose purpose, uint64_t a, uint64_t b);
uint32_t pfld_random_u32(struct pfld_random *random);
double pfld_random_unit(struct pfld_random *random);                            // [0, 1), 53 bits
double pfld_random_range(struct pfld_random *random, double low, double high);  // [low, high)
int64_t pfld_random_int(struct pfld_random *random, int64_t low, int64_t high); // [low, high), high > low, unbiased
double pfld_random_normal(struct pfld_random *random);                          // mean 0, deviation 1 (Box-Muller)
// Fisher-Yates of 0..num-1 into order.
void pfld_random_permutation(struct pfld_random *random, uint32_t *order, size_t num);

#endif
