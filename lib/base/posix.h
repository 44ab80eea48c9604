// SPDX-License-Identifier: MIT
// Shared by the files of lib/base that call the operating system; nobody else includes it.
#ifndef PFLD_BASE_POSIX_H
#define PFLD_BASE_POSIX_H

#include "base.h"

// The system's reason for an errno, in English whatever the host's locale. Returns buffer.
#define PFLD_REASON_BYTES 128
char *pfld_reason(char buffer[PFLD_REASON_BYTES], int error_number);

// 'cannot VERB "PATH": REASON', PFLD_ERR_IO (PFLD_ERR_MEMORY for ENOMEM).
enum pfld_status pfld_fail_path(struct pfld_error *error, const char *verb, const char *path, int error_number);

// 'cannot VERB "PATH": it is a FIFO, not a file' and the like, from the mode of stat(). PFLD_ERR_IO.
enum pfld_status pfld_fail_kind(struct pfld_error *error, const char *verb, const char *path, unsigned mode);

// True when `error_number` may pass on its own (descriptors or memory short, interrupted) and *attempt allows
// another try; waits a little longer each time.
bool pfld_retry(int error_number, int *attempt);

// Open for reading and check that it is a regular file, without ever waiting for a FIFO or waking a device.
enum pfld_status pfld_open_regular(const char *path, int *descriptor, uint64_t *num_bytes, struct pfld_error *error);

// read() of at most num_bytes, repeated when interrupted; -1 with errno set.
int64_t pfld_read_some(int descriptor, void *bytes, size_t num_bytes);

#endif
