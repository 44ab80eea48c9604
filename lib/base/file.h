// SPDX-License-Identifier: MIT
// Files and folders: whole reads with a limit, writes that never lose the old file, folder listings, paths. With
// thread.h the only place that calls POSIX. Every message names the path (made printable) and the system's reason.
#ifndef PFLD_BASE_FILE_H
#define PFLD_BASE_FILE_H

#include "base.h"

// The whole file in a fresh buffer (free() it) with a terminating zero byte behind it that is not counted.
// PFLD_ERR_IO: cannot be opened or read (a folder, a FIFO and a device are refused without opening them for reading);
// PFLD_ERR_DATA: larger than limit_bytes (0: no limit). Transient errors (EMFILE, ENFILE, ENOMEM, EINTR, EAGAIN) are
// retried a few times.
enum pfld_status pfld_file_read(const char *path, size_t limit_bytes, uint8_t **data, size_t *num_bytes,
                                struct pfld_error *error) PFLD_MUST_USE;
// As above into a buffer that is kept and grown: *data / *capacity belong to the caller (free() at the end).
enum pfld_status pfld_file_read_into(const char *path, size_t limit_bytes, uint8_t **data, size_t *capacity,
                                     size_t *num_bytes, struct pfld_error *error) PFLD_MUST_USE;

// A file being replaced: written under a name of its own in the same folder (unique to process and call), then
// flushed to the disk, renamed over the target, and the folder flushed. A target that is a symbolic link has the
// file that it points to replaced. Until commit the old file stands untouched; abandon removes the new one.
struct pfld_file_writer;
enum pfld_status pfld_file_writer_open(struct pfld_file_writer **writer, const char *path,
                                       struct pfld_error *error) PFLD_MUST_USE;
enum pfld_status pfld_file_writer_write(struct pfld_file_writer *writer, const void *bytes, size_t num_bytes,
                                        struct pfld_error *error) PFLD_MUST_USE;
// Flush, rename, close; the writer is destroyed whether or not it succeeds, *writer becomes NULL.
enum pfld_status pfld_file_writer_commit(struct pfld_file_writer **writer, struct pfld_error *error) PFLD_MUST_USE;
void pfld_file_writer_abandon(struct pfld_file_writer **writer);
// open + write + commit. A file size limit (SIGXFSZ) and a full disk both come back as PFLD_ERR_IO; no signal kills.
enum pfld_status pfld_file_replace(const char *path, const void *bytes, size_t num_bytes,
                                   struct pfld_error *error) PFLD_MUST_USE;

// The same without waiting for the disk, for thousands of files that can be made again: readers see the old or the new
// file whole, but after a power cut it may be empty.
enum pfld_status pfld_file_replace_unflushed(const char *path, const void *bytes, size_t num_bytes,
											 struct pfld_error *error) PFLD_MUST_USE;

// Random access reading of large files (64-bit offsets).
struct pfld_file_reader;
enum pfld_status pfld_file_reader_open(struct pfld_file_reader **reader, const char *path, uint64_t *num_bytes,
                                       struct pfld_error *error) PFLD_MUST_USE;
enum pfld_status pfld_file_reader_read(struct pfld_file_reader *reader, uint64_t offset, void *bytes, size_t num_bytes,
                                       struct pfld_error *error) PFLD_MUST_USE;
void pfld_file_reader_close(struct pfld_file_reader **reader);

enum pfld_path_kind { PFLD_PATH_ABSENT, PFLD_PATH_FILE, PFLD_PATH_FOLDER, PFLD_PATH_OTHER };
enum pfld_path_kind pfld_path_kind(const char *path); // follows links
// Make the folder and its parents; no error when it is there. PFLD_ERR_IO otherwise.
enum pfld_status pfld_make_folder(const char *path, struct pfld_error *error) PFLD_MUST_USE;
// The same for one that is this user's alone: made with that mode, and refused where another owns it or may write to it.
enum pfld_status pfld_make_private_folder(const char *path, struct pfld_error *error) PFLD_MUST_USE;
// Names (not paths) in a folder, sorted by bytes, without "." and ".."; free with pfld_names_destroy().
enum pfld_status pfld_list_folder(const char *path, char ***names, size_t *num_names,
                                  struct pfld_error *error) PFLD_MUST_USE;
void pfld_names_destroy(char ***names, size_t num_names);

// "folder/name" in a fresh string (name alone when it is absolute or folder is "" or NULL); NULL: out of memory.
char *pfld_path_join(const char *folder, const char *name);
// The folder of a path ("" when it has none) in a fresh string.
char *pfld_path_folder(const char *path);
const char *pfld_path_base(const char *path);      // behind the last '/'
const char *pfld_path_extension(const char *path); // behind the last '.' of the base name, "" when none

#endif
