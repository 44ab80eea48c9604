// SPDX-License-Identifier: MIT
// What reading and writing files have in common: reasons in words, patience with passing shortages, opening.
#define _POSIX_C_SOURCE 200809L
#include "posix.h"

#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

_Static_assert(sizeof(off_t) == 8, "files above 2 GiB need 64-bit offsets: _FILE_OFFSET_BITS=64");

char *pfld_reason(char buffer[PFLD_REASON_BYTES], int error_number)
{
	// strerror() shares its buffer between threads and speaks the host's language; this does neither.
	locale_t plain = newlocale(LC_ALL_MASK, "C", (locale_t)0);
	if (plain == (locale_t)0) {
		snprintf(buffer, PFLD_REASON_BYTES, "error %d", error_number);
		return buffer;
	}
	snprintf(buffer, PFLD_REASON_BYTES, "%s", strerror_l(error_number, plain));
	freelocale(plain);
	return buffer;
}

static bool is_passing(int error_number)
{
	return error_number == EMFILE || error_number == ENFILE || error_number == ENOMEM || error_number == EINTR ||
		   error_number == EAGAIN;
}

enum pfld_status pfld_fail_path(struct pfld_error *error, const char *verb, const char *path, int error_number)
{
	char shown[PFLD_SHOWN_BYTES], reason[PFLD_REASON_BYTES];
	enum pfld_status status = error_number == ENOMEM ? PFLD_ERR_MEMORY : PFLD_ERR_IO;
	(void)pfld_fail(error, status, "cannot %s \"%s\": %s", verb, pfld_show(shown, path, 400),
					pfld_reason(reason, error_number));
	if (error) error->transient = is_passing(error_number);
	return status;
}

bool pfld_retry(int error_number, int *attempt)
{
	if (!is_passing(error_number) || *attempt >= 5) return false;
	struct timespec wait = {.tv_nsec = 1000000L << (2 * *attempt)}; // 1, 4, 16, 64, 256 ms
	nanosleep(&wait, NULL);
	(*attempt)++;
	return true;
}

enum pfld_status pfld_fail_kind(struct pfld_error *error, const char *verb, const char *path, unsigned mode)
{
	char shown[PFLD_SHOWN_BYTES];
	const char *kind = S_ISDIR(mode)    ? "a folder"
					   : S_ISFIFO(mode) ? "a FIFO"
					   : S_ISSOCK(mode) ? "a socket"
										: "a device";
	return pfld_fail(error, PFLD_ERR_IO, "cannot %s \"%s\": it is %s, not a file", verb, pfld_show(shown, path, 400),
					 kind);
}

enum pfld_status pfld_open_regular(const char *path, int *descriptor, uint64_t *num_bytes, struct pfld_error *error)
{
	struct stat info;
	int attempt = 0;
	while (stat(path, &info) != 0) {
		if (!pfld_retry(errno, &attempt)) return pfld_fail_path(error, "open", path, errno);
	}
	if (!S_ISREG(info.st_mode)) return pfld_fail_kind(error, "read", path, info.st_mode);

	// Looked at again once open: another process may have put something else there.
	int opened;
	while ((opened = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY)) < 0) {
		if (!pfld_retry(errno, &attempt)) return pfld_fail_path(error, "open", path, errno);
	}
	if (fstat(opened, &info) != 0 || !S_ISREG(info.st_mode)) {
		close(opened);
		return pfld_fail_kind(error, "read", path, info.st_mode);
	}
	*descriptor = opened;
	*num_bytes = (uint64_t)info.st_size;
	return PFLD_OK;
}

int64_t pfld_read_some(int descriptor, void *bytes, size_t num_bytes)
{
	int attempt = 0;
	for (;;) {
		ssize_t got = read(descriptor, bytes, PFLD_MIN(num_bytes, (size_t)1 << 30));
		if (got >= 0 || !pfld_retry(errno, &attempt)) return got;
	}
}
