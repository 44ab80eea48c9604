// SPDX-License-Identifier: MIT
// Philox 4x32-10 (Salmon, Moraes, Dror, Shaw: Parallel random numbers: as easy as 1, 2, 3, SC 2011) and what is drawn
// with it. No state but what the caller holds.
#include "random.h"

#include <math.h>

static void philox_round(uint32_t x[4], const uint32_t key[2])
{
	uint64_t a = (uint64_t)0xd2511f53u * x[0], b = (uint64_t)0xcd9e8d57u * x[2];
	uint32_t x1 = x[1], x3 = x[3];
	x[0] = (uint32_t)(b >> 32) ^ x1 ^ key[0];
	x[1] = (uint32_t)b;
	x[2] = (uint32_t)(a >> 32) ^ x3 ^ key[1];
	x[3] = (uint32_t)a;
}

void pfld_philox(uint32_t out[4], const uint32_t counter[4], const uint32_t key[2])
{
	uint32_t x[4] = {counter[0], counter[1], counter[2], counter[3]}, k[2] = {key[0], key[1]};
	for (int round = 0; round < 10; round++) {
		philox_round(x, k);
		k[0] += 0x9e3779b9u;
		k[1] += 0xbb67ae85u;
	}
	for (int i = 0; i < 4; i++) out[i] = x[i];
}

static uint32_t low(uint64_t x)
{
	return (uint32_t)x;
}

static uint32_t high(uint64_t x)
{
	return (uint32_t)(x >> 32);
}

// The seed and the purpose make a key; under it (a, b) is encrypted, one to one, into the key and the upper half of
// the counter of the stream. So streams of one seed and purpose never meet within 2^64 blocks.
struct pfld_random pfld_random_stream(uint64_t seed, enum pfld_random_purpose purpose, uint64_t a, uint64_t b)
{
	uint32_t key[4], place[4];
	pfld_philox(key, (uint32_t[4]){(uint32_t)purpose, 0, 0, 0}, (uint32_t[2]){low(seed), high(seed)});
	pfld_philox(place, (uint32_t[4]){low(a), high(a), low(b), high(b)}, key);
	return (struct pfld_random){
		.key = {place[0], place[1]},
		.counter = {0, 0, place[2], place[3]},
		.used = 4,
	};
}

uint32_t pfld_random_u32(struct pfld_random *random)
{
	if (random->used >= 4) {
		pfld_philox(random->block, random->counter, random->key);
		if (++random->counter[0] == 0) random->counter[1]++;
		random->used = 0;
	}
	return random->block[random->used++];
}

static uint64_t random_u64(struct pfld_random *random)
{
	uint64_t first = pfld_random_u32(random);
	return first << 32 | pfld_random_u32(random);
}

double pfld_random_unit(struct pfld_random *random)
{
	return (double)(random_u64(random) >> 11) * 0x1p-53;
}

double pfld_random_range(struct pfld_random *random, double low, double high)
{
	double value = low + (high - low) * pfld_random_unit(random);
	// The sum may round up to the end that is not in the range.
	return value < high || high <= low ? value : nextafter(high, low);
}

int64_t pfld_random_int(struct pfld_random *random, int64_t low, int64_t high)
{
	uint64_t range = (uint64_t)high - (uint64_t)low;
	// 2^64 mod range: that many draws are one too many for some remainders, and are thrown away.
	uint64_t surplus = (0 - range) % range, drawn;
	do {
		drawn = random_u64(random);
	} while (drawn < surplus);
	return (int64_t)((uint64_t)low + drawn % range);
}

double pfld_random_normal(struct pfld_random *random)
{
	double radius = sqrt(-2 * log(1 - pfld_random_unit(random))); // 1 - [0, 1) is never 0
	return radius * cos(6.283185307179586476925 * pfld_random_unit(random));
}

void pfld_random_permutation(struct pfld_random *random, uint32_t *order, size_t num)
{
	for (size_t i = 0; i < num; i++) order[i] = (uint32_t)i;
	for (size_t i = num; i > 1; i--) {
		size_t j = (size_t)pfld_random_int(random, 0, (int64_t)i);
		uint32_t kept = order[i - 1];
		order[i - 1] = order[j];
		order[j] = kept;
	}
}
