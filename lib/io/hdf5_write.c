// SPDX-License-Identifier: MIT
// Writing HDF5: built in memory, then the file at the path is replaced as a whole. See hdf5.h.
#include "hdf5.h"
#include "pfld_config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if PFLD_HAVE_HDF5
#include "hdf5_store.h"

// An attribute must fit into an object header of 64 KiB; Keras cuts its lists here.
enum { MAX_ATTRIBUTE_BYTES = 64512 };

struct pfld_hdf5_writer {
	struct pfld_hdf5_store store;
};

static const char written[] = "an HDF5 file cannot be built";

enum pfld_status pfld_hdf5_writer_create(struct pfld_hdf5_writer **writer, struct pfld_error *error)
{
	struct pfld_hdf5_writer *fresh = pfld_calloc(1, sizeof *fresh);
	if (!fresh) return pfld_fail_memory(error, sizeof *fresh, "an HDF5 file");
	struct pfld_hdf5_quiet quiet;
	enum pfld_status status = PFLD_OK;
	pfld_hdf5_enter(&quiet);
	if (!pfld_hdf5_store_open(&fresh->store, true))
		status = pfld_hdf5_fail(&fresh->store, written, "HDF5 gave no file", error);
	pfld_hdf5_leave(&quiet);
	if (status)
		pfld_hdf5_writer_abandon(&fresh);
	else
		*writer = fresh;
	return status;
}

// Closed, all bytes are in the store.
static bool close_file(struct pfld_hdf5_writer *writer)
{
	if (writer->store.file < 0) return true;
	struct pfld_hdf5_quiet quiet;
	pfld_hdf5_enter(&quiet);
	bool done = pfld_hdf5_store_close(&writer->store);
	pfld_hdf5_leave(&quiet);
	return done;
}

void pfld_hdf5_writer_abandon(struct pfld_hdf5_writer **writer)
{
	if (!writer || !*writer) return;
	close_file(*writer);
	free((*writer)->store.memory);
	free(*writer);
	*writer = NULL;
}

enum pfld_status pfld_hdf5_writer_commit(struct pfld_hdf5_writer **writer, const char *path, struct pfld_error *error)
{
	struct pfld_hdf5_writer *w = *writer;
	enum pfld_status status;
	if (!close_file(w)) {
		char shown[PFLD_SHOWN_BYTES];
		if (error) *error = w->store.error;
		status = w->store.error.status ? w->store.error.status
									   : pfld_fail(error, PFLD_ERR_IO, "%s: %s", pfld_show(shown, path, 0), written);
	} else {
		status = pfld_file_replace(path, w->store.memory, (size_t)w->store.num_bytes, error);
	}
	pfld_hdf5_writer_abandon(writer);
	return status;
}

// ---- attributes ----

// The group at a path, made with those on the way where it is not there.
static hid_t open_group(const struct pfld_hdf5_writer *writer, const char *path)
{
	if (!*path) return H5Gopen2(writer->store.file, "/", H5P_DEFAULT);
	char part[1024];
	hid_t group = -1;
	size_t length = strlen(path);
	for (size_t end = 1; length < sizeof part && end <= length; end++) {
		if (path[end] != '/' && path[end] != '\0') continue;
		memcpy(part, path, end);
		part[end] = '\0';
		if (group >= 0) H5Gclose(group);
		group = H5Lexists(writer->store.file, part, H5P_DEFAULT) > 0
					? H5Gopen2(writer->store.file, part, H5P_DEFAULT)
					: H5Gcreate2(writer->store.file, part, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
		if (group < 0) break;
	}
	return group;
}

// `num` strings of `width` bytes, or one without a list (num < 0).
static bool write_attribute(hid_t group, const char *name, const char *bytes, int64_t num, size_t width)
{
	hsize_t dim = (hsize_t)num;
	hid_t type = H5Tcopy(H5T_C_S1), space = num < 0 ? H5Screate(H5S_SCALAR) : H5Screate_simple(1, &dim, NULL);
	hid_t attribute = -1;
	if (type >= 0 && space >= 0 && H5Tset_size(type, width) >= 0 && H5Tset_strpad(type, H5T_STR_NULLPAD) >= 0)
		attribute = H5Acreate2(group, name, type, space, H5P_DEFAULT, H5P_DEFAULT);
	bool done = attribute >= 0 && (num == 0 || H5Awrite(attribute, type, bytes) >= 0);
	if (attribute >= 0) H5Aclose(attribute);
	if (space >= 0) H5Sclose(space);
	if (type >= 0) H5Tclose(type);
	return done;
}

// In one attribute, or in NAME0, NAME1, ... when it is too long for one.
static bool write_list(hid_t group, const char *name, const char *bytes, size_t num, size_t width)
{
	if (num * width <= MAX_ATTRIBUTE_BYTES) return write_attribute(group, name, bytes, (int64_t)num, width);
	size_t most = MAX_ATTRIBUTE_BYTES / width, part = 0;
	if (most == 0) return false;
	for (size_t first = 0; first < num; first += most) {
		char part_name[80];
		snprintf(part_name, sizeof part_name, "%.60s%zu", name, part++);
		int64_t here = (int64_t)PFLD_MIN(most, num - first);
		if (!write_attribute(group, part_name, bytes + first * width, here, width)) return false;
	}
	return true;
}

static enum pfld_status write_strings(struct pfld_hdf5_writer *writer, const char *group, const char *attribute,
									  const char *bytes, int64_t num, size_t width, struct pfld_error *error)
{
	struct pfld_hdf5_quiet quiet;
	pfld_hdf5_enter(&quiet);
	hid_t object = open_group(writer, group);
	bool done = object >= 0 && (num < 0 ? write_attribute(object, attribute, bytes, num, width)
										: write_list(object, attribute, bytes, (size_t)num, width));
	enum pfld_status status = done ? PFLD_OK : pfld_hdf5_fail(&writer->store, written, attribute, error);
	if (object >= 0) H5Gclose(object);
	pfld_hdf5_leave(&quiet);
	return status;
}

enum pfld_status pfld_hdf5_writer_string(struct pfld_hdf5_writer *writer, const char *group, const char *attribute,
										 const char *value, struct pfld_error *error)
{
	return write_strings(writer, group, attribute, value, -1, PFLD_MAX(strlen(value), 1), error);
}

enum pfld_status pfld_hdf5_writer_strings(struct pfld_hdf5_writer *writer, const char *group, const char *attribute,
										  const char *const *values, size_t num, struct pfld_error *error)
{
	size_t width = 1, bytes;
	for (size_t i = 0; i < num; i++) width = PFLD_MAX(width, strlen(values[i]));
	char *buffer = pfld_mul_size(width, num, &bytes) ? pfld_calloc(bytes + 1, 1) : NULL;
	if (!buffer) return pfld_fail_memory(error, num, "names of an HDF5 file");
	for (size_t i = 0; i < num; i++) memcpy(buffer + i * width, values[i], strlen(values[i]));
	enum pfld_status status = write_strings(writer, group, attribute, buffer, (int64_t)num, width, error);
	free(buffer);
	return status;
}

// ---- arrays ----

static bool write_array(struct pfld_hdf5_writer *writer, const char *path, const struct pfld_io_array *array,
						const void *data)
{
	char group[1024];
	const char *slash = strrchr(path, '/');
	size_t length = slash ? (size_t)(slash - path) : 0;
	if (length >= sizeof group) return false;
	memcpy(group, path, length);
	group[length] = '\0';
	hsize_t dims[PFLD_IO_MAX_DIMS];
	for (int32_t i = 0; i < array->num_dims; i++) dims[i] = (hsize_t)array->dims[i];
	hid_t parent = open_group(writer, group), space = H5Screate_simple(array->num_dims, dims, NULL), dataset = -1;
	if (parent >= 0 && space >= 0)
		dataset =
			H5Dcreate2(parent, slash ? slash + 1 : path, H5T_IEEE_F32LE, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
	hid_t own = array->type == PFLD_IO_F64 ? H5T_NATIVE_DOUBLE : H5T_NATIVE_FLOAT;
	bool done = dataset >= 0 && H5Dwrite(dataset, own, H5S_ALL, H5S_ALL, H5P_DEFAULT, data) >= 0;
	if (dataset >= 0) H5Dclose(dataset);
	if (space >= 0) H5Sclose(space);
	if (parent >= 0) H5Gclose(parent);
	return done;
}

enum pfld_status pfld_hdf5_writer_array(struct pfld_hdf5_writer *writer, const char *path,
										const struct pfld_io_array *array, const void *data, struct pfld_error *error)
{
	struct pfld_hdf5_quiet quiet;
	pfld_hdf5_enter(&quiet);
	enum pfld_status status =
		write_array(writer, path, array, data) ? PFLD_OK : pfld_hdf5_fail(&writer->store, written, path, error);
	pfld_hdf5_leave(&quiet);
	return status;
}

#else

enum pfld_status pfld_hdf5_writer_create(struct pfld_hdf5_writer **writer, struct pfld_error *error)
{
	return pfld_fail(error, PFLD_ERR_UNSUPPORTED, "this library was built without HDF5");
}

static enum pfld_status absent(struct pfld_error *error)
{
	return pfld_fail(error, PFLD_ERR_UNSUPPORTED, "this library was built without HDF5");
}

// Nothing below can be called: there is no writer.
enum pfld_status pfld_hdf5_writer_string(struct pfld_hdf5_writer *writer, const char *group, const char *attribute,
										 const char *value, struct pfld_error *error)
{
	return absent(error);
}

enum pfld_status pfld_hdf5_writer_strings(struct pfld_hdf5_writer *writer, const char *group, const char *attribute,
										  const char *const *values, size_t num, struct pfld_error *error)
{
	return absent(error);
}

enum pfld_status pfld_hdf5_writer_array(struct pfld_hdf5_writer *writer, const char *path,
										const struct pfld_io_array *array, const void *data, struct pfld_error *error)
{
	return absent(error);
}

enum pfld_status pfld_hdf5_writer_commit(struct pfld_hdf5_writer **writer, const char *path, struct pfld_error *error)
{
	return absent(error);
}

void pfld_hdf5_writer_abandon(struct pfld_hdf5_writer **writer)
{
}
#endif
