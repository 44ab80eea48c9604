// SPDX-License-Identifier: MIT
// SHA-256, to tell whether two machines hold the same pixels or weights. Thread safety: any thread.
#ifndef PFLD_DIGEST_H
#define PFLD_DIGEST_H

#include <pfld/status.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

// The SHA-256 (FIPS 180-4) of num_bytes bytes as 64 hexadecimal digits and a zero byte.
PFLD_API void pfld_sha256_hex(const void *bytes, size_t num_bytes, char hex[65]);

#ifdef __cplusplus
}
#endif
#endif
