// SPDX-License-Identifier: MIT
// HDF5 files through libhdf5: objects by path, lists of strings, arrays of numbers. Nothing in a file is trusted: only
// hard links are followed, data in other files and filters that would load code are refused. Every call goes through
// one lock, and the library's own error printing is off while it runs. What Keras makes of such files is keras.h.
// Without libhdf5 opening and creating are PFLD_ERR_UNSUPPORTED.
#ifndef PFLD_IO_HDF5_H
#define PFLD_IO_HDF5_H

#include "types.h"

// A growing list of strings.
struct pfld_names {
	char **names;
	size_t num, capacity;
};
// A copy of the first `length` bytes of name at the end. False: out of memory.
bool pfld_names_add(struct pfld_names *list, const char *name, size_t length);
void pfld_names_finish(struct pfld_names *list);

// ---- reading ----
struct pfld_hdf5;
// Bytes [begin, begin + num_bytes) of the file at path are an HDF5 file (a member of a zip file); num_bytes 0: to the
// end.
enum pfld_status pfld_hdf5_open(struct pfld_hdf5 **file, const char *path, uint64_t begin, uint64_t num_bytes,
								struct pfld_error *error) PFLD_MUST_USE;
void pfld_hdf5_close(struct pfld_hdf5 **file);

enum pfld_hdf5_kind { PFLD_HDF5_ABSENT, PFLD_HDF5_GROUP, PFLD_HDF5_DATASET };
// What is at a path such as "layers/conv2d/vars"; "" is the root.
enum pfld_hdf5_kind pfld_hdf5_kind_of(struct pfld_hdf5 *file, const char *path);
// Names in a group, ascending by bytes.
enum pfld_status pfld_hdf5_children(struct pfld_hdf5 *file, const char *path, struct pfld_names *list,
									struct pfld_error *error) PFLD_MUST_USE;
// The strings of an attribute, fixed or variable in length; long lists that are split over NAME0, NAME1, ... as one.
// *found is false when there is none. An empty attribute of any type is an empty list.
enum pfld_status pfld_hdf5_strings(struct pfld_hdf5 *file, const char *path, const char *attribute,
								   struct pfld_names *list, bool *found, struct pfld_error *error) PFLD_MUST_USE;
// Type and shape of a dataset; the array's name is not set.
enum pfld_status pfld_hdf5_describe(struct pfld_hdf5 *file, const char *path, struct pfld_io_array *array,
									struct pfld_error *error) PFLD_MUST_USE;
// All numbers of a dataset as F32 or F64. PFLD_ERR_SHAPE: it holds no floats.
enum pfld_status pfld_hdf5_read_as(struct pfld_hdf5 *file, const char *path, const struct pfld_io_array *array,
								   enum pfld_io_type type, void *numbers, struct pfld_error *error) PFLD_MUST_USE;

// ---- writing: in memory, until it replaces the file at a path as a whole ----
struct pfld_hdf5_writer;
enum pfld_status pfld_hdf5_writer_create(struct pfld_hdf5_writer **writer, struct pfld_error *error) PFLD_MUST_USE;
// A string, or (num >= 0) a list of strings, at a group that is made where it is not there; "" is the root. Lists too
// long for one attribute are split as Keras does.
enum pfld_status pfld_hdf5_writer_string(struct pfld_hdf5_writer *writer, const char *group, const char *attribute,
										 const char *value, struct pfld_error *error) PFLD_MUST_USE;
enum pfld_status pfld_hdf5_writer_strings(struct pfld_hdf5_writer *writer, const char *group, const char *attribute,
										  const char *const *values, size_t num,
										  struct pfld_error *error) PFLD_MUST_USE;
// An array of F32 or F64 at the path, stored as F32; groups on the way are made.
enum pfld_status pfld_hdf5_writer_array(struct pfld_hdf5_writer *writer, const char *path,
										const struct pfld_io_array *array, const void *data,
										struct pfld_error *error) PFLD_MUST_USE;
// Writes and destroys; *writer becomes NULL in any case.
enum pfld_status pfld_hdf5_writer_commit(struct pfld_hdf5_writer **writer, const char *path,
										 struct pfld_error *error) PFLD_MUST_USE;
void pfld_hdf5_writer_abandon(struct pfld_hdf5_writer **writer);

#endif
