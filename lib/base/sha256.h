// SPDX-License-Identifier: MIT
// SHA-256 (FIPS 180-4), for weights, pixels and cache keys.
#ifndef PFLD_BASE_SHA256_H
#define PFLD_BASE_SHA256_H

#include "base.h"

struct pfld_sha256 {
	uint32_t state[8];
	uint64_t num_bytes;
	uint8_t block[64];
};
void pfld_sha256_init(struct pfld_sha256 *sha);
void pfld_sha256_update(struct pfld_sha256 *sha, const void *bytes, size_t num_bytes);
// Writes 64 hexadecimal digits and a zero byte.
void pfld_sha256_finish(struct pfld_sha256 *sha, char hex[65]);

#endif
