// SPDX-License-Identifier: MIT
// lib/base/file.h: reading with limits, replacing without loss, listing folders, paths.
#define _GNU_SOURCE // unshare
#include "base/file.h"
#include "base/thread.h"
#include "scratch.h"

#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char folder[32];
static struct pfld_error error;

static void set_up(void)
{
	strcpy(folder, "file-XXXXXX");
	make_scratch(folder);
	memset(&error, 0, sizeof error);
}

static void tear_down(void)
{
	remove_tree(folder);
}

// A path in the scratch folder; valid until the fourth call after.
static const char *in_folder(const char *name)
{
	static char paths[4][256];
	static int next;
	next = (next + 1) % 4;
	snprintf(paths[next], sizeof paths[next], "%s/%s", folder, name);
	return paths[next];
}

static void expect_content(const char *path, const char *text)
{
	uint8_t *data = NULL;
	size_t num_bytes = 0;
	enum pfld_status status = pfld_file_read(path, 0, &data, &num_bytes, &error);
	ck_assert_msg(status == PFLD_OK, "%s", error.message);
	ck_assert_uint_eq(num_bytes, strlen(text));
	ck_assert_str_eq((char *)data, text);
	free(data);
}

static size_t num_entries(const char *path)
{
	char **names;
	size_t num_names;
	ck_assert_int_eq(pfld_list_folder(path, &names, &num_names, &error), PFLD_OK);
	pfld_names_destroy(&names, num_names);
	return num_names;
}

START_TEST(files_are_read_whole)
{
	put_file(folder, "text", "hello");
	put_file(folder, "empty", "");
	expect_content(in_folder("text"), "hello");
	expect_content(in_folder("empty"), "");
	uint8_t *data = (uint8_t *)&error;
	size_t num_bytes = 77;
	ck_assert_int_eq(pfld_file_read(in_folder("text"), 5, &data, &num_bytes, &error), PFLD_OK);
	ck_assert_uint_eq(num_bytes, 5);
	free(data);
	data = (uint8_t *)&error;
	ck_assert_int_eq(pfld_file_read(in_folder("text"), 4, &data, &num_bytes, &error), PFLD_ERR_DATA);
	ck_assert(strstr(error.message, "4 bytes") && strstr(error.message, "text"));
	ck_assert(data == (uint8_t *)&error && num_bytes == 5);
	ck_assert_int_eq(pfld_file_read(NULL, 4, &data, &num_bytes, &error), PFLD_ERR_ARGUMENT);
	// A file that does not tell its size.
	ck_assert_int_eq(pfld_file_read("/proc/self/maps", 0, &data, &num_bytes, &error), PFLD_OK);
	ck_assert_uint_gt(num_bytes, 100);
	ck_assert_uint_eq(strlen((char *)data), num_bytes);
	free(data);
	ck_assert_int_eq(pfld_file_read("/proc/self/maps", 100, &data, &num_bytes, &error), PFLD_ERR_DATA);
}
END_TEST

START_TEST(a_buffer_is_kept)
{
	put_file(folder, "long", "0123456789");
	put_file(folder, "short", "abc");
	uint8_t *data = NULL;
	size_t capacity = 0, num_bytes;
	ck_assert_int_eq(pfld_file_read_into(in_folder("long"), 0, &data, &capacity, &num_bytes, &error), PFLD_OK);
	const uint8_t *first = data;
	ck_assert_int_eq(pfld_file_read_into(in_folder("short"), 0, &data, &capacity, &num_bytes, &error), PFLD_OK);
	ck_assert(data == first && num_bytes == 3 && capacity >= 11);
	ck_assert_str_eq((char *)data, "abc");
	ck_assert_int_eq(pfld_file_read_into(in_folder("none"), 0, &data, &capacity, &num_bytes, &error), PFLD_ERR_IO);
	ck_assert(data == first);
	free(data);
}
END_TEST

static void expect_refused(const char *path, const char *reason)
{
	uint8_t *data;
	size_t num_bytes;
	uint64_t size;
	struct pfld_file_reader *reader;
	error.message[0] = '\0';
	ck_assert_int_eq(pfld_file_read(path, 0, &data, &num_bytes, &error), PFLD_ERR_IO);
	ck_assert_msg(strstr(error.message, reason) && strstr(error.message, path), "%s", error.message);
	ck_assert_int_eq(pfld_file_reader_open(&reader, path, &size, &error), PFLD_ERR_IO);
	ck_assert_msg(strstr(error.message, reason) != NULL, "%s", error.message);
}

START_TEST(what_is_no_file_is_refused)
{
	put_file(folder, "sub/x", "");
	ck_assert_int_eq(mkfifo(in_folder("fifo"), 0600), 0);
	ck_assert_int_eq(symlink("fifo", in_folder("link")), 0);
	ck_assert_int_eq(symlink("loop", in_folder("loop")), 0);
	expect_refused(in_folder("none"), "No such file");
	expect_refused(in_folder("sub"), "a folder");
	expect_refused(in_folder("fifo"), "a FIFO");
	expect_refused(in_folder("link"), "a FIFO");
	expect_refused(in_folder("loop"), "symbolic links");
	expect_refused("/dev/zero", "a device");
	if (geteuid() != 0) {
		put_file(folder, "closed", "");
		ck_assert_int_eq(chmod(in_folder("closed"), 0), 0);
		expect_refused(in_folder("closed"), "Permission denied");
	}
	uint8_t *data;
	size_t num_bytes;
	ck_assert_int_eq(pfld_file_read("bad\n\"name\xff", 0, &data, &num_bytes, &error), PFLD_ERR_IO);
	ck_assert_msg(strstr(error.message, "bad\\x0a\\x22name\\xff") != NULL, "%s", error.message);
	// In English whatever the host speaks.
	if (!comma_locale_set()) return;
	expect_refused(in_folder("none"), "No such file");
}
END_TEST

// Descriptors run out for a moment.
START_TEST(passing_shortages_are_sat_out)
{
	put_file(folder, "text", "hello");
	struct rlimit before, tight;
	ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &before), 0);
	tight = before;
	tight.rlim_cur = 3;
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &tight), 0);
	uint64_t start = pfld_now_ns();
	uint8_t *data;
	size_t num_bytes;
	enum pfld_status status = pfld_file_read(in_folder("text"), 0, &data, &num_bytes, &error);
	uint64_t waited = pfld_now_ns() - start;
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &before), 0);
	ck_assert_int_eq(status, PFLD_ERR_IO);
	ck_assert(strstr(error.message, "Too many open files") != NULL);
	ck_assert_uint_ge(waited, 300000000);
	expect_content(in_folder("text"), "hello");
}
END_TEST

START_TEST(parts_are_read_by_offset)
{
	put_file(folder, "text", "0123456789");
	struct pfld_file_reader *reader = NULL;
	uint64_t size;
	char bytes[11] = "";
	ck_assert_int_eq(pfld_file_reader_open(&reader, in_folder("text"), &size, &error), PFLD_OK);
	ck_assert_uint_eq(size, 10);
	ck_assert_int_eq(pfld_file_reader_read(reader, 3, bytes, 4, &error), PFLD_OK);
	ck_assert_str_eq(bytes, "3456");
	ck_assert_int_eq(pfld_file_reader_read(reader, 10, bytes, 0, &error), PFLD_OK);
	ck_assert_int_eq(pfld_file_reader_read(reader, 7, bytes, 4, &error), PFLD_ERR_DATA);
	ck_assert_int_eq(pfld_file_reader_read(reader, UINT64_MAX - 2, bytes, 4, &error), PFLD_ERR_DATA);
	ck_assert_int_eq(pfld_file_reader_read(reader, 3, bytes, SIZE_MAX, &error), PFLD_ERR_DATA);
	ck_assert_int_eq(truncate(in_folder("text"), 5), 0);
	ck_assert_int_eq(pfld_file_reader_read(reader, 3, bytes, 4, &error), PFLD_ERR_DATA);
	ck_assert(strstr(error.message, "shorter") != NULL);
	pfld_file_reader_close(&reader);
	ck_assert_ptr_null(reader);
	pfld_file_reader_close(&reader);
	pfld_file_reader_close(NULL);
}
END_TEST

// Beyond what 32 bits hold, in a file that takes no space.
START_TEST(offsets_have_64_bits)
{
	int descriptor = open(in_folder("big"), O_WRONLY | O_CREAT, 0600);
	off_t far = (off_t)5 << 30;
	ck_assert_int_eq(pwrite(descriptor, "end", 3, far), 3);
	close(descriptor);
	struct pfld_file_reader *reader = NULL;
	uint64_t size;
	char bytes[4] = "";
	ck_assert_int_eq(pfld_file_reader_open(&reader, in_folder("big"), &size, &error), PFLD_OK);
	ck_assert_uint_eq(size, (uint64_t)far + 3);
	ck_assert_int_eq(pfld_file_reader_read(reader, (uint64_t)far, bytes, 3, &error), PFLD_OK);
	ck_assert_str_eq(bytes, "end");
	pfld_file_reader_close(&reader);
}
END_TEST

START_TEST(files_are_replaced)
{
	const char *path = in_folder("text");
	ck_assert_int_eq(pfld_file_replace(path, "old", 3, &error), PFLD_OK);
	expect_content(path, "old");
	ck_assert_int_eq(chmod(path, 0640), 0);
	struct pfld_file_writer *writer = NULL;
	ck_assert_int_eq(pfld_file_writer_open(&writer, path, &error), PFLD_OK);
	ck_assert_int_eq(pfld_file_writer_write(writer, "ne", 2, &error), PFLD_OK);
	ck_assert_int_eq(pfld_file_writer_write(writer, "", 0, &error), PFLD_OK);
	ck_assert_int_eq(pfld_file_writer_write(writer, "wer", 3, &error), PFLD_OK);
	expect_content(path, "old");
	ck_assert_uint_eq(num_entries(folder), 2);
	ck_assert_int_eq(pfld_file_writer_commit(&writer, &error), PFLD_OK);
	ck_assert_ptr_null(writer);
	expect_content(path, "newer");
	ck_assert_uint_eq(num_entries(folder), 1);
	struct stat info;
	ck_assert(stat(path, &info) == 0 && (info.st_mode & 0777) == 0640);

	ck_assert_int_eq(pfld_file_writer_open(&writer, path, &error), PFLD_OK);
	ck_assert_int_eq(pfld_file_writer_write(writer, "lost", 4, &error), PFLD_OK);
	pfld_file_writer_abandon(&writer);
	ck_assert_ptr_null(writer);
	pfld_file_writer_abandon(&writer);
	pfld_file_writer_abandon(NULL);
	expect_content(path, "newer");
	ck_assert_uint_eq(num_entries(folder), 1);
	ck_assert_int_eq(pfld_file_replace_unflushed(path, "quick", 5, &error), PFLD_OK);
	expect_content(path, "quick");
	ck_assert_uint_eq(num_entries(folder), 1);
	// Without a folder in its name.
	ck_assert_int_eq(chdir(folder), 0);
	ck_assert_int_eq(pfld_file_replace("text", "here", 4, &error), PFLD_OK);
	expect_content("text", "here");
	ck_assert_int_eq(chdir(".."), 0);
}
END_TEST

// Two writers at once, each with a file of its own; the last to commit wins.
START_TEST(writers_do_not_meet)
{
	struct pfld_file_writer *first = NULL, *second = NULL;
	ck_assert_int_eq(pfld_file_writer_open(&first, in_folder("text"), &error), PFLD_OK);
	ck_assert_int_eq(pfld_file_writer_open(&second, in_folder("text"), &error), PFLD_OK);
	ck_assert_int_eq(pfld_file_writer_write(first, "first", 5, &error), PFLD_OK);
	ck_assert_int_eq(pfld_file_writer_write(second, "second", 6, &error), PFLD_OK);
	ck_assert_int_eq(pfld_file_writer_commit(&second, &error), PFLD_OK);
	expect_content(in_folder("text"), "second");
	ck_assert_int_eq(pfld_file_writer_commit(&first, &error), PFLD_OK);
	expect_content(in_folder("text"), "first");
	ck_assert_uint_eq(num_entries(folder), 1);
}
END_TEST

// Two processes save to one path; whoever reads meanwhile always finds one of them whole.
START_TEST(readers_see_whole_files)
{
	enum { LENGTH = 30000, ROUNDS = 100 };
	static char text[LENGTH];
	const char *path = in_folder("text");
	memset(text, 'a', sizeof text);
	ck_assert_int_eq(pfld_file_replace(path, text, sizeof text, &error), PFLD_OK);
	pid_t children[2];
	for (int i = 0; i < 2; i++) {
		children[i] = fork();
		if (children[i]) continue;
		memset(text, 'b' + i, sizeof text);
		for (int round = 0; round < ROUNDS; round++) {
			if (pfld_file_replace(path, text, sizeof text, NULL)) _exit(1);
		}
		_exit(0);
	}
	int running = 2;
	while (running) {
		uint8_t *data = NULL;
		size_t num_bytes;
		ck_assert_int_eq(pfld_file_read(path, 0, &data, &num_bytes, &error), PFLD_OK);
		ck_assert_uint_eq(num_bytes, LENGTH);
		ck_assert(data[0] == data[LENGTH - 1] && data[0] >= 'a' && data[0] <= 'c');
		free(data);
		int state;
		pid_t ended = waitpid(-1, &state, WNOHANG);
		if (ended <= 0) continue;
		ck_assert(WIFEXITED(state) && WEXITSTATUS(state) == 0);
		running--;
	}
	ck_assert_uint_eq(num_entries(folder), 1);
}
END_TEST

START_TEST(links_stay_links)
{
	put_file(folder, "sub/target", "old");
	ck_assert_int_eq(symlink("sub/target", in_folder("link")), 0);
	ck_assert_int_eq(symlink("link", in_folder("link2")), 0);
	ck_assert_int_eq(pfld_file_replace(in_folder("link2"), "new", 3, &error), PFLD_OK);
	struct stat info;
	ck_assert(lstat(in_folder("link"), &info) == 0 && S_ISLNK(info.st_mode));
	ck_assert(lstat(in_folder("link2"), &info) == 0 && S_ISLNK(info.st_mode));
	expect_content(in_folder("sub/target"), "new");
	ck_assert_uint_eq(num_entries(in_folder("sub")), 1);
	// What it points to need not be there yet.
	ck_assert_int_eq(symlink("sub/later", in_folder("dangling")), 0);
	ck_assert_int_eq(pfld_file_replace(in_folder("dangling"), "later", 5, &error), PFLD_OK);
	expect_content(in_folder("sub/later"), "later");
	ck_assert(lstat(in_folder("dangling"), &info) == 0 && S_ISLNK(info.st_mode));
	// A loop, and a target so long that one read of the link is not enough.
	ck_assert_int_eq(symlink("loop", in_folder("loop")), 0);
	ck_assert_int_eq(pfld_file_replace(in_folder("loop"), "x", 1, &error), PFLD_ERR_IO);
	char target[900] = "";
	while (strlen(target) < 800) strcat(target, "sub/../");
	strcat(target, "sub/target");
	ck_assert_int_eq(symlink(target, in_folder("far")), 0);
	ck_assert_int_eq(pfld_file_replace(in_folder("far"), "far", 3, &error), PFLD_OK);
	expect_content(in_folder("sub/target"), "far");
}
END_TEST

static void expect_not_written(const char *path, const char *reason)
{
	error.message[0] = '\0';
	ck_assert_int_eq(pfld_file_replace(path, "x", 1, &error), PFLD_ERR_IO);
	ck_assert_msg(strstr(error.message, reason) && strstr(error.message, path), "%s", error.message);
}

START_TEST(targets_that_are_no_files_are_refused)
{
	put_file(folder, "sub/x", "");
	ck_assert_int_eq(mkfifo(in_folder("fifo"), 0600), 0);
	expect_not_written(in_folder("none/x"), "No such file");
	expect_not_written(in_folder("sub"), "a folder");
	expect_not_written(in_folder("new/"), "No such file");
	expect_not_written(in_folder("fifo"), "a FIFO");
	expect_not_written("/dev/null", "a device");
	expect_not_written(in_folder("sub/x/y"), "Not a directory");
	ck_assert_int_eq(pfld_file_replace("", "x", 1, &error), PFLD_ERR_ARGUMENT);
	ck_assert_int_eq(pfld_file_replace(NULL, "x", 1, &error), PFLD_ERR_ARGUMENT);
	if (geteuid() != 0) {
		ck_assert_int_eq(chmod(in_folder("sub"), 0500), 0);
		expect_not_written(in_folder("sub/x"), "Permission denied");
		ck_assert_int_eq(chmod(in_folder("sub"), 0700), 0);
	}
	ck_assert_uint_eq(num_entries(folder), 2);
}
END_TEST

static volatile sig_atomic_t num_signals;

static void count_signal(int number)
{
	num_signals++;
}

// ulimit -f: the signal neither kills nor reaches the host's handler; one the host held back itself stays with it.
START_TEST(a_size_limit_is_an_error)
{
	static char big[100000];
	put_file(folder, "text", "old");
	struct rlimit before, tight;
	ck_assert_int_eq(getrlimit(RLIMIT_FSIZE, &before), 0);
	tight = before;
	tight.rlim_cur = 50000;
	ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &tight), 0);
	for (int handled = 0; handled < 3; handled++) {
		sigset_t set, pending;
		sigemptyset(&set);
		sigaddset(&set, SIGXFSZ);
		signal(SIGXFSZ, handled ? count_signal : SIG_DFL);
		if (handled == 2) {
			sigprocmask(SIG_BLOCK, &set, NULL);
			raise(SIGXFSZ);
		}
		enum pfld_status status = pfld_file_replace(in_folder("text"), big, sizeof big, &error);
		ck_assert_int_eq(status, PFLD_ERR_IO);
		ck_assert_msg(strstr(error.message, "File too large") != NULL, "%s", error.message);
		expect_content(in_folder("text"), "old");
		ck_assert_uint_eq(num_entries(folder), 1);
		ck_assert_int_eq(num_signals, 0);
		sigpending(&pending);
		ck_assert_int_eq(sigismember(&pending, SIGXFSZ), handled == 2);
		sigprocmask(SIG_SETMASK, NULL, &set);
		ck_assert_int_eq(sigismember(&set, SIGXFSZ), handled == 2);
	}
	ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &before), 0);
	// A writer that has failed cannot be committed.
	ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &tight), 0);
	struct pfld_file_writer *writer = NULL;
	ck_assert_int_eq(pfld_file_writer_open(&writer, in_folder("text"), &error), PFLD_OK);
	ck_assert_int_eq(pfld_file_writer_write(writer, big, sizeof big, &error), PFLD_ERR_IO);
	ck_assert_int_eq(pfld_file_writer_write(writer, big, 1, &error), PFLD_ERR_STATE);
	ck_assert_int_eq(pfld_file_writer_commit(&writer, &error), PFLD_ERR_STATE);
	ck_assert_ptr_null(writer);
	ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &before), 0);
	expect_content(in_folder("text"), "old");
	ck_assert_uint_eq(num_entries(folder), 1);
}
END_TEST

// A file system of 64 KiB in a mount namespace of our own (the test runs in a process of its own).
START_TEST(a_full_disk_is_an_error)
{
	int flags = geteuid() == 0 ? CLONE_NEWNS : CLONE_NEWUSER | CLONE_NEWNS;
	if (unshare(flags) != 0 || (geteuid() == 0 && mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0) ||
		mount("tmpfs", folder, "tmpfs", 0, "size=64k") != 0) {
		fprintf(stderr, "skipped in part: no small file system can be mounted here: %s\n", strerror(errno));
		return;
	}
	static char big[200000];
	ck_assert_int_eq(pfld_file_replace(in_folder("text"), "old", 3, &error), PFLD_OK);
	ck_assert_int_eq(pfld_file_replace(in_folder("text"), big, sizeof big, &error), PFLD_ERR_IO);
	ck_assert_msg(strstr(error.message, "No space left on device") && strstr(error.message, in_folder("text")), "%s",
				  error.message);
	expect_content(in_folder("text"), "old");
	ck_assert_uint_eq(num_entries(folder), 1);
	ck_assert_int_eq(pfld_file_replace(in_folder("text"), "new", 3, &error), PFLD_OK);
	expect_content(in_folder("text"), "new");
	ck_assert_int_eq(umount(folder), 0);
}
END_TEST

START_TEST(folders_are_made_and_listed)
{
	ck_assert_int_eq(pfld_make_folder(in_folder("a/b/c/"), &error), PFLD_OK);
	ck_assert_int_eq(pfld_make_folder(in_folder("a/b//c"), &error), PFLD_OK);
	ck_assert_int_eq(pfld_make_folder("/", &error), PFLD_OK);
	ck_assert_int_eq(pfld_make_folder("", &error), PFLD_ERR_ARGUMENT);
	ck_assert_int_eq(pfld_path_kind(in_folder("a/b/c")), PFLD_PATH_FOLDER);
	put_file(folder, "file", "");
	ck_assert_int_eq(pfld_make_folder(in_folder("file"), &error), PFLD_ERR_IO);
	for (int again = 0; again < 2; again++) {
		ck_assert_int_eq(pfld_make_private_folder(in_folder("deep/own"), &error), PFLD_OK);
		struct stat info;
		ck_assert(stat(in_folder("deep/own"), &info) == 0 && (info.st_mode & 0777) == 0700);
	}
	ck_assert_int_eq(chmod(in_folder("deep/own"), 0720), 0);
	ck_assert_int_eq(pfld_make_private_folder(in_folder("deep/own"), &error), PFLD_ERR_IO);
	ck_assert_int_eq(pfld_make_private_folder(in_folder("file"), &error), PFLD_ERR_IO);
	ck_assert_int_eq(pfld_make_private_folder("", &error), PFLD_ERR_ARGUMENT);
	ck_assert_int_eq(pfld_make_folder(in_folder("file/x"), &error), PFLD_ERR_IO);
	ck_assert_int_eq(symlink("a", in_folder("link")), 0);
	ck_assert_int_eq(pfld_make_folder(in_folder("link/d"), &error), PFLD_OK);
	ck_assert_int_eq(pfld_path_kind(in_folder("a/d")), PFLD_PATH_FOLDER);
	ck_assert_int_eq(pfld_path_kind(in_folder("file")), PFLD_PATH_FILE);
	ck_assert_int_eq(pfld_path_kind(in_folder("none")), PFLD_PATH_ABSENT);
	ck_assert_int_eq(pfld_path_kind("/dev/null"), PFLD_PATH_OTHER);

	static const char *const names[] = {"10", "2", "B", "_", "a b", "b", "\xc3\xa4", "\xff"};
	for (size_t i = PFLD_COUNT(names); i-- > 0;)
		put_file(folder, "names/.x", ""), put_file(in_folder("names"), names[i], "");
	char **found = NULL;
	size_t num_found = 0;
	ck_assert_int_eq(pfld_list_folder(in_folder("names"), &found, &num_found, &error), PFLD_OK);
	ck_assert_uint_eq(num_found, PFLD_COUNT(names) + 1);
	ck_assert_str_eq(found[0], ".x");
	for (size_t i = 0; i < PFLD_COUNT(names); i++) ck_assert_str_eq(found[i + 1], names[i]);
	pfld_names_destroy(&found, num_found);
	ck_assert_ptr_null(found);
	ck_assert_int_eq(pfld_list_folder(in_folder("none"), &found, &num_found, &error), PFLD_ERR_IO);
	ck_assert_int_eq(pfld_list_folder(in_folder("file"), &found, &num_found, &error), PFLD_ERR_IO);
	ck_assert_int_eq(pfld_list_folder(in_folder("a/b/c"), &found, &num_found, &error), PFLD_OK);
	ck_assert_uint_eq(num_found, 0);
	pfld_names_destroy(&found, num_found);
}
END_TEST

static void expect_text(char *text, const char *wanted)
{
	ck_assert_str_eq(text, wanted);
	free(text);
}

START_TEST(paths_are_taken_apart)
{
	expect_text(pfld_path_join("a", "b"), "a/b");
	expect_text(pfld_path_join("a/", "b"), "a/b");
	expect_text(pfld_path_join("/", "b"), "/b");
	expect_text(pfld_path_join("", "b"), "b");
	expect_text(pfld_path_join(NULL, "b"), "b");
	expect_text(pfld_path_join("a", "/b"), "/b");
	expect_text(pfld_path_folder("a/b"), "a");
	expect_text(pfld_path_folder("a//b"), "a");
	expect_text(pfld_path_folder("/b"), "/");
	expect_text(pfld_path_folder("b"), "");
	expect_text(pfld_path_folder(""), "");
	ck_assert_str_eq(pfld_path_base("a/b.c"), "b.c");
	ck_assert_str_eq(pfld_path_base("b.c"), "b.c");
	ck_assert_str_eq(pfld_path_base("a/"), "");
	ck_assert_str_eq(pfld_path_extension("a.x/b.tar.gz"), "gz");
	ck_assert_str_eq(pfld_path_extension("a.x/b"), "");
	ck_assert_str_eq(pfld_path_extension(".hidden"), "");
	ck_assert_str_eq(pfld_path_extension("b."), "");
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("file");
	TCase *plain = tcase_create("plain");
	tcase_set_timeout(plain, 60);
	tcase_add_checked_fixture(plain, set_up, tear_down);
	tcase_add_test(plain, files_are_read_whole);
	tcase_add_test(plain, a_buffer_is_kept);
	tcase_add_test(plain, what_is_no_file_is_refused);
	tcase_add_test(plain, passing_shortages_are_sat_out);
	tcase_add_test(plain, parts_are_read_by_offset);
	tcase_add_test(plain, offsets_have_64_bits);
	tcase_add_test(plain, files_are_replaced);
	tcase_add_test(plain, writers_do_not_meet);
	tcase_add_test(plain, readers_see_whole_files);
	tcase_add_test(plain, links_stay_links);
	tcase_add_test(plain, targets_that_are_no_files_are_refused);
	tcase_add_test(plain, a_size_limit_is_an_error);
	tcase_add_test(plain, a_full_disk_is_an_error);
	tcase_add_test(plain, folders_are_made_and_listed);
	tcase_add_test(plain, paths_are_taken_apart);
	suite_add_tcase(suite, plain);
	SRunner *runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	int failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
