// SPDX-License-Identifier: MIT
// Reading HDF5. See hdf5.h.
#include "hdf5.h"
#include "pfld_config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool pfld_names_add(struct pfld_names *list, const char *name, size_t length)
{
	char *copy = pfld_calloc(length + 1, 1);
	if (!copy || !pfld_grow(&list->names, &list->capacity, list->num + 1, sizeof *list->names)) {
		free(copy);
		return false;
	}
	if (length) memcpy(copy, name, length);
	list->names[list->num++] = copy;
	return true;
}

void pfld_names_finish(struct pfld_names *list)
{
	for (size_t i = 0; i < list->num; i++) free(list->names[i]);
	free(list->names);
	*list = (struct pfld_names){0};
}

#if PFLD_HAVE_HDF5
#include "hdf5_store.h"

// Lists of names are kilobytes; more is no file of Keras's.
enum { MAX_STRINGS_BYTES = 1 << 24 };

struct pfld_hdf5 {
	char *path;
	struct pfld_hdf5_store store;
};

static enum pfld_status open_file(struct pfld_hdf5 *file, uint64_t begin, uint64_t num_bytes, struct pfld_error *error)
{
	uint64_t file_bytes;
	char shown[PFLD_SHOWN_BYTES];
	enum pfld_status status = pfld_file_reader_open(&file->store.reader, file->path, &file_bytes, error);
	if (status) return status;
	if (begin > file_bytes || num_bytes > file_bytes - begin)
		return pfld_fail(error, PFLD_ERR_DATA, "%s: it ends before its HDF5 part does",
						 pfld_show(shown, file->path, 0));
	file->store.begin = begin;
	file->store.num_bytes = num_bytes ? num_bytes : file_bytes - begin;
	struct pfld_hdf5_quiet quiet;
	pfld_hdf5_enter(&quiet);
	if (!pfld_hdf5_store_open(&file->store, false))
		status = pfld_hdf5_fail(&file->store, file->path, "damaged, or no HDF5 file", error);
	pfld_hdf5_leave(&quiet);
	return status;
}

enum pfld_status pfld_hdf5_open(struct pfld_hdf5 **file, const char *path, uint64_t begin, uint64_t num_bytes,
								struct pfld_error *error)
{
	struct pfld_hdf5 *fresh = pfld_calloc(1, sizeof *fresh);
	if (!fresh) return pfld_fail_memory(error, sizeof *fresh, "an HDF5 file");
	fresh->store.file = -1;
	fresh->path = pfld_strdup(path);
	enum pfld_status status =
		fresh->path ? open_file(fresh, begin, num_bytes, error) : pfld_fail_memory(error, strlen(path), "a path");
	if (status)
		pfld_hdf5_close(&fresh);
	else
		*file = fresh;
	return status;
}

void pfld_hdf5_close(struct pfld_hdf5 **file)
{
	if (!file || !*file) return;
	if ((*file)->store.file >= 0) {
		struct pfld_hdf5_quiet quiet;
		pfld_hdf5_enter(&quiet);
		pfld_hdf5_store_close(&(*file)->store);
		pfld_hdf5_leave(&quiet);
	}
	pfld_file_reader_close(&(*file)->store.reader);
	free((*file)->path);
	free(*file);
	*file = NULL;
}

// The object at a path, through hard links alone: others lead to other files, or nowhere. Negative: not there.
static hid_t open_object(const struct pfld_hdf5 *file, const char *path)
{
	char part[1024];
	size_t length = strlen(path);
	if (length == 0) return H5Oopen(file->store.file, "/", H5P_DEFAULT);
	if (length >= sizeof part) return -1;
	for (size_t end = 1; end <= length; end++) {
		if (path[end] != '/' && path[end] != '\0') continue;
		memcpy(part, path, end);
		part[end] = '\0';
		H5L_info_t info;
		if (H5Lexists(file->store.file, part, H5P_DEFAULT) <= 0 ||
			H5Lget_info(file->store.file, part, &info, H5P_DEFAULT) < 0 || info.type != H5L_TYPE_HARD)
			return -1;
	}
	return H5Oopen(file->store.file, path, H5P_DEFAULT);
}

enum pfld_hdf5_kind pfld_hdf5_kind_of(struct pfld_hdf5 *file, const char *path)
{
	struct pfld_hdf5_quiet quiet;
	enum pfld_hdf5_kind kind = PFLD_HDF5_ABSENT;
	pfld_hdf5_enter(&quiet);
	hid_t object = open_object(file, path);
	if (object >= 0) {
		H5I_type_t type = H5Iget_type(object);
		kind = type == H5I_GROUP ? PFLD_HDF5_GROUP : type == H5I_DATASET ? PFLD_HDF5_DATASET : PFLD_HDF5_ABSENT;
		H5Oclose(object);
	}
	pfld_hdf5_leave(&quiet);
	return kind;
}

static enum pfld_status list_children(struct pfld_hdf5 *file, hid_t group, struct pfld_names *list,
									  struct pfld_error *error)
{
	H5G_info_t info;
	if (H5Gget_info(group, &info) < 0) return pfld_hdf5_fail(&file->store, file->path, "a group cannot be read", error);
	for (hsize_t i = 0; i < info.nlinks; i++) {
		char name[512];
		ssize_t length = H5Lget_name_by_idx(group, ".", H5_INDEX_NAME, H5_ITER_INC, i, name, sizeof name, H5P_DEFAULT);
		if (length < 0) return pfld_hdf5_fail(&file->store, file->path, "a group cannot be read", error);
		if ((size_t)length >= sizeof name)
			return pfld_fail(error, PFLD_ERR_UNSUPPORTED, "an object's name in a group is %zd bytes long", length);
		if (!pfld_names_add(list, name, (size_t)length)) return pfld_fail_memory(error, (size_t)length, "a name");
	}
	return PFLD_OK;
}

enum pfld_status pfld_hdf5_children(struct pfld_hdf5 *file, const char *path, struct pfld_names *list,
									struct pfld_error *error)
{
	struct pfld_hdf5_quiet quiet;
	pfld_hdf5_enter(&quiet);
	hid_t object = open_object(file, path);
	enum pfld_status status = object >= 0 && H5Iget_type(object) == H5I_GROUP
								  ? list_children(file, object, list, error)
								  : pfld_hdf5_fail(&file->store, file->path, "a group cannot be opened", error);
	if (object >= 0) H5Oclose(object);
	pfld_hdf5_leave(&quiet);
	return status;
}

// ---- strings ----

static bool add_fixed(struct pfld_names *list, hid_t type, const char *bytes, size_t num, size_t width)
{
	bool spaces = H5Tget_strpad(type) == H5T_STR_SPACEPAD;
	for (size_t i = 0; i < num; i++, bytes += width) {
		const char *end = memchr(bytes, '\0', width);
		size_t length = end ? (size_t)(end - bytes) : width;
		while (spaces && length && bytes[length - 1] == ' ') length--;
		if (!pfld_names_add(list, bytes, length)) return false;
	}
	return true;
}

static enum pfld_status read_fixed(struct pfld_hdf5 *file, hid_t attribute, hid_t type, size_t num,
								   struct pfld_names *list, struct pfld_error *error)
{
	size_t width = H5Tget_size(type), bytes;
	if (width == 0 || !pfld_mul_size(width, num, &bytes) || bytes > MAX_STRINGS_BYTES)
		return pfld_hdf5_fail(&file->store, file->path, "a list of names is too long", error);
	char *buffer = pfld_calloc(bytes, 1);
	if (!buffer) return pfld_fail_memory(error, bytes, "names in an HDF5 file");
	enum pfld_status status = PFLD_OK;
	if (H5Aread(attribute, type, buffer) < 0)
		status = pfld_hdf5_fail(&file->store, file->path, "a list of names cannot be read", error);
	else if (!add_fixed(list, type, buffer, num, width))
		status = pfld_fail_memory(error, bytes, "names in an HDF5 file");
	free(buffer);
	return status;
}

static enum pfld_status read_variable(struct pfld_hdf5 *file, hid_t attribute, hid_t type, hid_t space, size_t num,
									  struct pfld_names *list, struct pfld_error *error)
{
	char **strings = num <= MAX_STRINGS_BYTES / sizeof *strings ? pfld_calloc(num, sizeof *strings) : NULL;
	if (!strings) return pfld_fail_memory(error, num, "names in an HDF5 file");
	enum pfld_status status = PFLD_OK;
	if (H5Aread(attribute, type, strings) < 0)
		status = pfld_hdf5_fail(&file->store, file->path, "a list of names cannot be read", error);
	for (size_t i = 0; !status && i < num; i++)
		if (!pfld_names_add(list, strings[i] ? strings[i] : "", strings[i] ? strlen(strings[i]) : 0))
			status = pfld_fail_memory(error, num, "names in an HDF5 file");
	H5Dvlen_reclaim(type, space, H5P_DEFAULT, strings);
	free(strings);
	return status;
}

static enum pfld_status read_strings(struct pfld_hdf5 *file, hid_t object, const char *name, struct pfld_names *list,
									 struct pfld_error *error)
{
	hid_t attribute = H5Aopen(object, name, H5P_DEFAULT), type = -1, space = -1;
	enum pfld_status status = PFLD_OK;
	if (attribute >= 0) {
		type = H5Aget_type(attribute);
		space = H5Aget_space(attribute);
	}
	hssize_t num = space >= 0 ? H5Sget_simple_extent_npoints(space) : -1;
	if (type < 0 || num < 0)
		status = pfld_hdf5_fail(&file->store, file->path, "an attribute cannot be read", error);
	else if (num == 0)
		status = PFLD_OK;
	else if (H5Tget_class(type) != H5T_STRING)
		status = pfld_hdf5_fail(&file->store, file->path, "a list of names holds no text", error);
	else if (H5Tis_variable_str(type) > 0)
		status = read_variable(file, attribute, type, space, (size_t)num, list, error);
	else
		status = read_fixed(file, attribute, type, (size_t)num, list, error);
	if (space >= 0) H5Sclose(space);
	if (type >= 0) H5Tclose(type);
	if (attribute >= 0) H5Aclose(attribute);
	return status;
}

enum pfld_status pfld_hdf5_strings(struct pfld_hdf5 *file, const char *path, const char *attribute,
								   struct pfld_names *list, bool *found, struct pfld_error *error)
{
	struct pfld_hdf5_quiet quiet;
	enum pfld_status status = PFLD_OK;
	*found = false;
	pfld_hdf5_enter(&quiet);
	hid_t object = open_object(file, path);
	if (object >= 0 && H5Aexists(object, attribute) > 0) {
		*found = true;
		status = read_strings(file, object, attribute, list, error);
	}
	for (int i = 0; object >= 0 && !status && (i == 0 ? !*found : *found) && i < 10000; i++) {
		char part[80];
		snprintf(part, sizeof part, "%.60s%d", attribute, i);
		if (H5Aexists(object, part) <= 0) break;
		*found = true;
		status = read_strings(file, object, part, list, error);
	}
	if (object >= 0) H5Oclose(object);
	pfld_hdf5_leave(&quiet);
	return status;
}

// ---- arrays ----

static bool type_of(hid_t dataset, hid_t type, enum pfld_io_type *found)
{
	static const enum pfld_io_type floats[4] = {PFLD_IO_NUM_TYPES, PFLD_IO_F16, PFLD_IO_F32, PFLD_IO_F64},
								   signeds[4] = {PFLD_IO_I8, PFLD_IO_I16, PFLD_IO_I32, PFLD_IO_I64},
								   unsigneds[4] = {PFLD_IO_U8, PFLD_IO_U16, PFLD_IO_U32, PFLD_IO_U64};
	size_t size = H5Tget_size(type);
	int power = size == 1 ? 0 : size == 2 ? 1 : size == 4 ? 2 : size == 8 ? 3 : -1;
	switch (H5Tget_class(type)) {
	case H5T_FLOAT: *found = power < 0 ? PFLD_IO_NUM_TYPES : floats[power]; break;
	case H5T_INTEGER:
		*found = power < 0 ? PFLD_IO_NUM_TYPES : H5Tget_sign(type) == H5T_SGN_NONE ? unsigneds[power] : signeds[power];
		break;
	// Keras has no type of HDF5's for bfloat16, and says so in an attribute.
	case H5T_OPAQUE: *found = size == 2 && H5Aexists(dataset, "dtype") > 0 ? PFLD_IO_BF16 : PFLD_IO_NUM_TYPES; break;
	default: *found = PFLD_IO_NUM_TYPES; break;
	}
	return *found != PFLD_IO_NUM_TYPES;
}

// What reading the dataset would do beyond this file; NULL: nothing.
static const char *foreign(hid_t dataset)
{
	hid_t creation = H5Dget_create_plist(dataset);
	if (creation < 0) return "a dataset's description cannot be read";
	const char *what = NULL;
	H5D_layout_t layout = H5Pget_layout(creation);
	if (layout == H5D_VIRTUAL || H5Pget_external_count(creation) > 0) what = "a dataset lies in other files; refused";
	if (layout < 0) what = "a dataset's layout cannot be read";
	int num = H5Pget_nfilters(creation);
	for (int i = 0; !what && i < num; i++) {
		unsigned flags, config;
		size_t num_values = 0;
		H5Z_filter_t filter = H5Pget_filter2(creation, (unsigned)i, &flags, &num_values, NULL, 0, NULL, &config);
		if (filter != H5Z_FILTER_DEFLATE && filter != H5Z_FILTER_SHUFFLE && filter != H5Z_FILTER_FLETCHER32)
			what = "a dataset is packed by a filter that would have to be loaded as code; refused";
	}
	H5Pclose(creation);
	return what;
}

static enum pfld_status describe(struct pfld_hdf5 *file, const char *path, hid_t dataset, struct pfld_io_array *array,
								 struct pfld_error *error)
{
	char shown[PFLD_SHOWN_BYTES], shown_path[PFLD_SHOWN_BYTES];
	const char *wrong = foreign(dataset);
	if (wrong) return pfld_hdf5_fail(&file->store, file->path, wrong, error);
	hid_t type = H5Dget_type(dataset), space = H5Dget_space(dataset);
	hsize_t dims[H5S_MAX_RANK] = {0};
	bool known = type >= 0 && type_of(dataset, type, &array->type);
	int num =
		space >= 0 && H5Sget_simple_extent_type(space) != H5S_NULL ? H5Sget_simple_extent_dims(space, dims, NULL) : -1;
	if (type >= 0) H5Tclose(type);
	if (space >= 0) H5Sclose(space);
	array->num_dims = num;
	for (int i = 0; i < num && i < PFLD_IO_MAX_DIMS; i++) array->dims[i] = dims[i] <= INT64_MAX ? (int64_t)dims[i] : -1;
	if (known && num >= 0 && pfld_io_array_size(array, NULL, NULL)) return PFLD_OK;
	return pfld_fail(error, PFLD_ERR_UNSUPPORTED, "%s: \"%s\" is no array of numbers",
					 pfld_show(shown, file->path, 300), pfld_show(shown_path, path, 200));
}

enum pfld_status pfld_hdf5_describe(struct pfld_hdf5 *file, const char *path, struct pfld_io_array *array,
									struct pfld_error *error)
{
	struct pfld_hdf5_quiet quiet;
	pfld_hdf5_enter(&quiet);
	hid_t object = open_object(file, path);
	enum pfld_status status = object >= 0 && H5Iget_type(object) == H5I_DATASET
								  ? describe(file, path, object, array, error)
								  : pfld_hdf5_fail(&file->store, file->path, "a dataset cannot be opened", error);
	if (object >= 0) H5Oclose(object);
	pfld_hdf5_leave(&quiet);
	return status;
}

static bool read_numbers(hid_t dataset, const struct pfld_io_array *array, enum pfld_io_type type, void *numbers)
{
	uint64_t num, bytes;
	// Where nothing was ever written HDF5 would hand out zeroes.
	H5D_space_status_t written;
	if (!pfld_io_array_size(array, &num, &bytes) ||
		(num && (H5Dget_space_status(dataset, &written) < 0 || written != H5D_SPACE_STATUS_ALLOCATED)))
		return false;
	if (array->type != PFLD_IO_BF16)
		return H5Dread(dataset, type == PFLD_IO_F64 ? H5T_NATIVE_DOUBLE : H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL,
					   H5P_DEFAULT, numbers) >= 0;
	void *raw = pfld_calloc((size_t)bytes + 1, 1);
	hid_t own = raw ? H5Dget_type(dataset) : -1;
	bool done = own >= 0 && H5Dread(dataset, own, H5S_ALL, H5S_ALL, H5P_DEFAULT, raw) >= 0 &&
				pfld_io_convert(numbers, type, raw, PFLD_IO_BF16, (size_t)num);
	if (own >= 0) H5Tclose(own);
	free(raw);
	return done;
}

enum pfld_status pfld_hdf5_read_as(struct pfld_hdf5 *file, const char *path, const struct pfld_io_array *array,
								   enum pfld_io_type type, void *numbers, struct pfld_error *error)
{
	char shown[PFLD_SHOWN_BYTES], shown_path[PFLD_SHOWN_BYTES];
	if (!pfld_io_type_is_float(array->type))
		return pfld_fail(error, PFLD_ERR_SHAPE, "%s: \"%s\" holds %s, not floating-point numbers",
						 pfld_show(shown, file->path, 300), pfld_show(shown_path, path, 200),
						 pfld_io_type_name(array->type));
	struct pfld_hdf5_quiet quiet;
	enum pfld_status status = PFLD_OK;
	pfld_hdf5_enter(&quiet);
	hid_t dataset = open_object(file, path);
	if (dataset < 0 || !read_numbers(dataset, array, type, numbers))
		status = pfld_hdf5_fail(&file->store, file->path, "an array cannot be read: the file is damaged", error);
	if (dataset >= 0) H5Oclose(dataset);
	pfld_hdf5_leave(&quiet);
	return status;
}

#else

enum pfld_status pfld_hdf5_open(struct pfld_hdf5 **file, const char *path, uint64_t begin, uint64_t num_bytes,
								struct pfld_error *error)
{
	char shown[PFLD_SHOWN_BYTES];
	return pfld_fail(error, PFLD_ERR_UNSUPPORTED, "%s: this library was built without HDF5", pfld_show(shown, path, 0));
}

// Nothing below can be called: there is no open file.
void pfld_hdf5_close(struct pfld_hdf5 **file)
{
}

enum pfld_hdf5_kind pfld_hdf5_kind_of(struct pfld_hdf5 *file, const char *path)
{
	return PFLD_HDF5_ABSENT;
}

static enum pfld_status absent(struct pfld_error *error)
{
	return pfld_fail(error, PFLD_ERR_UNSUPPORTED, "this library was built without HDF5");
}

enum pfld_status pfld_hdf5_children(struct pfld_hdf5 *file, const char *path, struct pfld_names *list,
									struct pfld_error *error)
{
	return absent(error);
}

enum pfld_status pfld_hdf5_strings(struct pfld_hdf5 *file, const char *path, const char *attribute,
								   struct pfld_names *list, bool *found, struct pfld_error *error)
{
	return absent(error);
}

enum pfld_status pfld_hdf5_describe(struct pfld_hdf5 *file, const char *path, struct pfld_io_array *array,
									struct pfld_error *error)
{
	return absent(error);
}

enum pfld_status pfld_hdf5_read_as(struct pfld_hdf5 *file, const char *path, const struct pfld_io_array *array,
								   enum pfld_io_type type, void *numbers, struct pfld_error *error)
{
	return absent(error);
}
#endif
