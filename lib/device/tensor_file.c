// SPDX-License-Identifier: MIT
// Tensors in files: .npy and .safetensors through host memory. The formats are lib/io's; weights of a net are
// lib/train/files.c's.
#include "device/device.h"
#include "io/npy.h"
#include "io/safetensors.h"

#include <stdlib.h>
#include <string.h>

static const enum pfld_io_type real_io_type = PFLD_REAL_TYPE == PFLD_F32 ? PFLD_IO_F32 : PFLD_IO_F64;

_Static_assert(PFLD_IO_MAX_DIMS == PFLD_MAX_DIMS, "a tensor has as many dimensions as an array in a file");

// ---- writing ----

// A copy of a tensor's numbers (free() it, also after a failure).
static enum pfld_status copy_numbers(const struct pfld_tensor *tensor, void **copy, struct pfld_error *error)
{
	int64_t num = pfld_tensor_elements(tensor);
	size_t bytes = (size_t)num * sizeof(pfld_real);
	*copy = malloc(bytes);
	if (!*copy) return pfld_fail_memory(error, bytes, "a copy of a tensor");
	return pfld_tensor_download(tensor, PFLD_REAL_TYPE, *copy, num, error);
}

static struct pfld_io_array describe(const struct pfld_tensor *tensor, const char *name)
{
	const struct pfld_shape *shape = pfld_tensor_shape(tensor);
	struct pfld_io_array array = {.name = name, .type = real_io_type, .num_dims = shape->num_dims};
	memcpy(array.dims, shape->dims, sizeof array.dims);
	return array;
}

enum pfld_status pfld_tensor_save_npy(const struct pfld_tensor *tensor, const char *path, struct pfld_error *error)
{
	if (!tensor || !path) return pfld_fail(error, PFLD_ERR_ARGUMENT, "pfld_tensor_save_npy needs a tensor and a path");
	void *copy;
	enum pfld_status status = copy_numbers(tensor, &copy, error);
	struct pfld_io_array array = describe(tensor, NULL);
	if (!status) status = pfld_npy_write(path, &array, copy, error);
	free(copy);
	return status;
}

enum pfld_status pfld_tensors_save(const char *path, const char *const *names, struct pfld_tensor *const *tensors,
                                   int32_t num_tensors, struct pfld_error *error)
{
	bool complete = path && num_tensors >= 0 && (num_tensors == 0 || (names && tensors));
	for (int32_t i = 0; complete && i < num_tensors; i++) complete = names[i] && tensors[i];
	if (!complete)
		return pfld_fail(error, PFLD_ERR_ARGUMENT, "pfld_tensors_save needs a path, and a name for each of the tensors");
	struct pfld_safetensors_item *items = pfld_calloc((size_t)num_tensors + 1, sizeof *items);
	void **copies = pfld_calloc((size_t)num_tensors + 1, sizeof *copies);
	enum pfld_status status = items && copies ? PFLD_OK : pfld_fail_memory(error, num_tensors, "a list of tensors");
	for (int32_t i = 0; !status && i < num_tensors; i++) {
		items[i].array = describe(tensors[i], names[i]);
		status = copy_numbers(tensors[i], &copies[i], error);
		items[i].data = copies[i];
	}
	if (!status) status = pfld_safetensors_write(path, items, (size_t)num_tensors, NULL, 0, error);
	for (int32_t i = 0; copies && i < num_tensors; i++) free(copies[i]);
	free(copies);
	free(items);
	return status;
}

// ---- reading ----

// A tensor with the shape of an array and these numbers of `type`.
static enum pfld_status make_tensor(struct pfld_tensor **tensor, struct pfld_device *device,
                                    const struct pfld_io_array *array, enum pfld_type type, const void *numbers,
                                    struct pfld_error *error)
{
	struct pfld_shape shape = {.num_dims = array->num_dims};
	struct pfld_tensor *fresh = NULL;
	memcpy(shape.dims, array->dims, sizeof shape.dims);
	enum pfld_status status = pfld_tensor_create(&fresh, device, PFLD_REAL_TYPE, &shape, error);
	if (!status) status = pfld_tensor_upload(fresh, type, numbers, pfld_tensor_elements(fresh), error);
	if (!status) *tensor = fresh;
	else pfld_tensor_destroy(&fresh);
	return status;
}

enum pfld_status pfld_tensor_load_npy(struct pfld_tensor **tensor, struct pfld_device *device, const char *path,
                                      struct pfld_error *error)
{
	if (!tensor || !device || !path)
		return pfld_fail(error, PFLD_ERR_ARGUMENT, "pfld_tensor_load_npy needs a place for the tensor, a device and a path");
	struct pfld_io_array array;
	void *data = NULL;
	char shown[PFLD_SHOWN_BYTES];
	enum pfld_status status = pfld_npy_read(path, &array, &data, error);
	if (status) return status;
	if (array.type == PFLD_IO_F32 || array.type == PFLD_IO_F64) {
		status = make_tensor(tensor, device, &array, array.type == PFLD_IO_F32 ? PFLD_F32 : PFLD_F64, data, error);
	} else {
		status = pfld_fail(error, PFLD_ERR_UNSUPPORTED, "%s holds elements of type %s; a tensor takes F32 and F64",
		                   pfld_show(shown, path, 0), pfld_io_type_name(array.type));
	}
	free(data);
	return status;
}

static enum pfld_status fail_no_entry(const struct pfld_safetensors *file, const char *path, const char *name,
                                      struct pfld_error *error)
{
	char shown_path[PFLD_SHOWN_BYTES], shown_name[PFLD_SHOWN_BYTES], shown_first[PFLD_SHOWN_BYTES];
	size_t num = pfld_safetensors_num_entries(file);
	pfld_show(shown_path, path, 0);
	pfld_show(shown_name, name, 0);
	if (num == 0)
		return pfld_fail(error, PFLD_ERR_DATA, "%s holds no tensor \"%s\", nor any other", shown_path, shown_name);
	return pfld_fail(error, PFLD_ERR_DATA, "%s holds no tensor \"%s\"; it holds %zu, such as \"%s\"", shown_path, shown_name,
	                 num, pfld_show(shown_first, pfld_safetensors_entry(file, 0)->array.name, 0));
}

static enum pfld_status load_entry(struct pfld_tensor **tensor, struct pfld_device *device, struct pfld_safetensors *file,
                                   const struct pfld_safetensors_entry *entry, struct pfld_error *error)
{
	uint64_t num;
	if (!pfld_io_array_size(&entry->array, &num, NULL) || num > SIZE_MAX / sizeof(pfld_real))
		return pfld_fail(error, PFLD_ERR_DATA, "%s has more elements than memory can hold", entry->array.name);
	void *numbers = malloc((size_t)num * sizeof(pfld_real) + 1);
	if (!numbers) return pfld_fail_memory(error, (size_t)num * sizeof(pfld_real), entry->array.name);
	enum pfld_status status = pfld_safetensors_read_as(file, entry, real_io_type, numbers, error);
	if (!status) status = make_tensor(tensor, device, &entry->array, PFLD_REAL_TYPE, numbers, error);
	free(numbers);
	return status;
}

enum pfld_status pfld_tensor_load(struct pfld_tensor **tensor, struct pfld_device *device, const char *path,
                                  const char *name, struct pfld_error *error)
{
	if (!tensor || !device || !path || !name)
		return pfld_fail(error, PFLD_ERR_ARGUMENT,
		                 "pfld_tensor_load needs a place for the tensor, a device, a path and a name");
	struct pfld_safetensors *file = NULL;
	enum pfld_status status = pfld_safetensors_open(&file, path, error);
	if (status) return status;
	const struct pfld_safetensors_entry *entry = pfld_safetensors_find(file, name);
	status = entry ? load_entry(tensor, device, file, entry, error) : fail_no_entry(file, path, name, error);
	pfld_safetensors_close(&file);
	return status;
}
