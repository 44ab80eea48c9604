// SPDX-License-Identifier: MIT
// Replacing a file so that at every moment the old or the new one stands there whole: written beside it, flushed,
// renamed over it. Reading is file.c.
#define _POSIX_C_SOURCE 200809L
#include "file.h"
#include "posix.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

struct pfld_file_writer {
	int descriptor;
	bool failed;
	char *path;      // as given, for messages
	char *target;    // behind symbolic links
	char *folder;    // of the target
	char *temporary; // in that folder
};

// A write beyond RLIMIT_FSIZE raises SIGXFSZ in the thread that writes. Its handlers belong to the host, so the signal
// is held back in this thread while we write, and taken away if it came from us.
struct held_signal {
	sigset_t before, set;
	bool was_pending;
};

static void hold_signal(struct held_signal *held)
{
	sigset_t pending;
	sigemptyset(&held->set);
	sigaddset(&held->set, SIGXFSZ);
	pthread_sigmask(SIG_BLOCK, &held->set, &held->before);
	sigpending(&pending);
	held->was_pending = sigismember(&pending, SIGXFSZ) == 1;
}

static void release_signal(const struct held_signal *held)
{
	const struct timespec now = {0};
	if (!held->was_pending) {
		while (sigtimedwait(&held->set, NULL, &now) < 0 && errno == EINTR) continue;
	}
	pthread_sigmask(SIG_SETMASK, &held->before, NULL);
}

// Where a symbolic link leads, one step: a fresh path, or NULL with errno.
static char *follow_link(const char *path)
{
	size_t capacity = 256;
	for (;; capacity *= 2) {
		char *text = malloc(capacity);
		if (!text) {
			errno = ENOMEM;
			return NULL;
		}
		ssize_t length = readlink(path, text, capacity);
		if (length >= 0 && (size_t)length < capacity) {
			text[length] = '\0';
			char *folder = pfld_path_folder(path);
			char *joined = folder ? pfld_path_join(folder, text) : NULL;
			free(folder);
			free(text);
			if (!joined) errno = ENOMEM;
			return joined;
		}
		int reason = errno;
		free(text);
		errno = reason;
		if (length < 0) return NULL;
	}
}

#define NO_MODE ((mode_t)-1)

// The file that stands (or would stand) behind `path`, links followed, and its mode or NO_MODE.
static enum pfld_status resolve(const char *path, char **target, mode_t *mode, struct pfld_error *error)
{
	char *current = pfld_strdup(path);
	if (!current) return pfld_fail_memory(error, strlen(path), "a path");
	int reason = ELOOP;
	for (int hops = 0; hops < 40; hops++) {
		struct stat info;
		if (lstat(current, &info) != 0) {
			reason = errno == ENOENT && *pfld_path_base(current) ? 0 : errno;
			break;
		}
		if (!S_ISLNK(info.st_mode)) {
			reason = 0;
			*mode = info.st_mode;
			break;
		}
		char *next = follow_link(current);
		if (!next) {
			reason = errno;
			break;
		}
		free(current);
		current = next;
	}
	enum pfld_status status = PFLD_OK;
	if (reason) status = pfld_fail_path(error, "write", path, reason);
	// Renaming over a device or a FIFO would destroy it.
	else if (*mode != NO_MODE && !S_ISREG(*mode))
		status = pfld_fail_kind(error, "write", path, *mode);
	if (status)
		free(current);
	else
		*target = current;
	return status;
}

// A new file beside the target under a name that no other call or process uses.
static enum pfld_status create_temporary(struct pfld_file_writer *writer, struct pfld_error *error)
{
	int attempt = 0;
	for (;;) {
		struct timespec now;
		clock_gettime(CLOCK_REALTIME, &now);
		char name[96];
		snprintf(name, sizeof name, ".pfld-%lx-%llx-%lx.tmp", (long)getpid(), (unsigned long long)now.tv_sec,
				 (unsigned long)now.tv_nsec);
		free(writer->temporary);
		writer->temporary = pfld_path_join(writer->folder, name);
		if (!writer->temporary) return pfld_fail_memory(error, strlen(writer->folder), "a path");
		writer->descriptor = open(writer->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOCTTY, 0666);
		if (writer->descriptor >= 0) return PFLD_OK;
		if (errno != EEXIST && !pfld_retry(errno, &attempt)) return pfld_fail_path(error, "write", writer->path, errno);
	}
}

static void destroy(struct pfld_file_writer **writer)
{
	struct pfld_file_writer *old = *writer;
	if (old->descriptor >= 0) close(old->descriptor);
	free(old->path);
	free(old->target);
	free(old->folder);
	free(old->temporary);
	free(old);
	*writer = NULL;
}

enum pfld_status pfld_file_writer_open(struct pfld_file_writer **writer, const char *path, struct pfld_error *error)
{
	if (!path || !*path) return pfld_fail(error, PFLD_ERR_ARGUMENT, "no path of a file to write was given");
	struct pfld_file_writer *fresh = pfld_calloc(1, sizeof *fresh);
	if (!fresh) return pfld_fail_memory(error, sizeof *fresh, "a file writer");
	fresh->descriptor = -1;
	fresh->path = pfld_strdup(path);
	mode_t mode = NO_MODE;
	enum pfld_status status =
		fresh->path ? resolve(path, &fresh->target, &mode, error) : pfld_fail_memory(error, strlen(path), "a path");
	if (!status && !(fresh->folder = pfld_path_folder(fresh->target)))
		status = pfld_fail_memory(error, strlen(path), "a path");
	if (!status) status = create_temporary(fresh, error);
	if (status) {
		destroy(&fresh);
		return status;
	}
	// The new file may be read and written by whom the old one could. A file system without modes is no reason to fail.
	if (mode != NO_MODE) (void)fchmod(fresh->descriptor, mode & 0777);
	*writer = fresh;
	return PFLD_OK;
}

// Write all of it; 0 or an errno.
static int write_all(int descriptor, const uint8_t *bytes, size_t num_bytes)
{
	int attempt = 0;
	while (num_bytes) {
		ssize_t done = write(descriptor, bytes, PFLD_MIN(num_bytes, (size_t)1 << 30));
		if (done > 0) {
			bytes += done;
			num_bytes -= (size_t)done;
		} else if (done == 0) {
			return EIO;
		} else if (!pfld_retry(errno, &attempt)) {
			return errno;
		}
	}
	return 0;
}

enum pfld_status pfld_file_writer_write(struct pfld_file_writer *writer, const void *bytes, size_t num_bytes,
										struct pfld_error *error)
{
	if (writer->failed) return pfld_fail(error, PFLD_ERR_STATE, "an earlier write to this file failed");
	struct held_signal held;
	hold_signal(&held);
	int reason = write_all(writer->descriptor, bytes, num_bytes);
	release_signal(&held);
	if (!reason) return PFLD_OK;
	writer->failed = true;
	return pfld_fail_path(error, "write", writer->path, reason);
}

// Make the renaming itself lasting. A folder that may be written but not read, or a file system that cannot flush
// folders, is no failure: the content is on the disk.
static int flush_folder(const char *folder)
{
	int descriptor = open(*folder ? folder : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (descriptor < 0) return 0;
	int reason = fsync(descriptor) == 0 || errno == EINVAL || errno == ENOTSUP ? 0 : errno;
	close(descriptor);
	return reason;
}

static enum pfld_status commit(struct pfld_file_writer **writer, bool flush, struct pfld_error *error)
{
	struct pfld_file_writer *w = *writer;
	if (w->failed) {
		pfld_file_writer_abandon(writer);
		return pfld_fail(error, PFLD_ERR_STATE, "the file was not replaced: an earlier write to it failed");
	}
	int reason = !flush || fsync(w->descriptor) == 0 ? 0 : errno;
	// On network file systems a full disk may only show here.
	if (close(w->descriptor) != 0 && !reason && errno != EINTR) reason = errno;
	w->descriptor = -1;
	if (!reason && rename(w->temporary, w->target) != 0) reason = errno;
	if (reason)
		unlink(w->temporary);
	else if (flush)
		reason = flush_folder(w->folder);
	enum pfld_status status = reason ? pfld_fail_path(error, "write", w->path, reason) : PFLD_OK;
	destroy(writer);
	return status;
}

enum pfld_status pfld_file_writer_commit(struct pfld_file_writer **writer, struct pfld_error *error)
{
	return commit(writer, true, error);
}

void pfld_file_writer_abandon(struct pfld_file_writer **writer)
{
	if (!writer || !*writer) return;
	unlink((*writer)->temporary);
	destroy(writer);
}

static enum pfld_status replace(const char *path, const void *bytes, size_t num_bytes, bool flush,
								struct pfld_error *error)
{
	struct pfld_file_writer *writer = NULL;
	enum pfld_status status = pfld_file_writer_open(&writer, path, error);
	if (status) return status;
	status = pfld_file_writer_write(writer, bytes, num_bytes, error);
	if (status)
		pfld_file_writer_abandon(&writer);
	else
		status = commit(&writer, flush, error);
	return status;
}

enum pfld_status pfld_file_replace(const char *path, const void *bytes, size_t num_bytes, struct pfld_error *error)
{
	return replace(path, bytes, num_bytes, true, error);
}

enum pfld_status pfld_file_replace_unflushed(const char *path, const void *bytes, size_t num_bytes,
											 struct pfld_error *error)
{
	return replace(path, bytes, num_bytes, false, error);
}
