// SPDX-License-Identifier: MIT
// Tensors: a shape over a place on a device. A tensor owns its region, views part of another tensor's, or wraps memory
// of a program or of weights. Files of tensors: tensor_file.c.
#include "device/device.h"

#include <stdlib.h>

struct pfld_tensor {
	struct pfld_device *device;
	struct pfld_shape shape;
	int64_t num_elements;
	struct pfld_region own;     // of pfld_tensor_create()
	struct pfld_region *region; // &own, or somebody else's
	size_t offset_bytes;
	pfld_owner_check *owner_valid;
	const void *owner;
};

size_t pfld_type_bytes(enum pfld_type type)
{
	return type == PFLD_F64 ? sizeof(double) : sizeof(float);
}

// The number of elements of a shape whose bytes fit a size_t.
static enum pfld_status count_elements(const struct pfld_shape *shape, int64_t *num_elements, struct pfld_error *error)
{
	if (shape->num_dims < 0 || shape->num_dims > PFLD_MAX_DIMS) {
		return pfld_fail(error, PFLD_ERR_ARGUMENT, "a shape has %d dimensions; it can have 0 to %d",
						 (int)shape->num_dims, (int)PFLD_MAX_DIMS);
	}
	size_t num = 1, num_bytes;
	for (int32_t i = 0; i < shape->num_dims; i++) {
		if (shape->dims[i] < 1) {
			return pfld_fail(error, PFLD_ERR_ARGUMENT, "dimension %d of a shape is %lld; it must be at least 1", (int)i,
							 (long long)shape->dims[i]);
		}
		if ((uint64_t)shape->dims[i] > SIZE_MAX || !pfld_mul_size(num, (size_t)shape->dims[i], &num)) num = SIZE_MAX;
	}
	if (!pfld_mul_size(num, sizeof(double), &num_bytes) || num_bytes > INT64_MAX) {
		return pfld_fail(error, PFLD_ERR_ARGUMENT, "a shape has more elements than memory can hold");
	}
	*num_elements = (int64_t)num;
	return PFLD_OK;
}

// A tensor without a place.
static enum pfld_status make(struct pfld_tensor **tensor, struct pfld_device *device, const struct pfld_shape *shape,
							 struct pfld_error *error)
{
	int64_t num_elements;
	enum pfld_status status = count_elements(shape, &num_elements, error);
	if (status) return status;
	struct pfld_tensor *made = pfld_calloc(1, sizeof *made);
	if (!made) return pfld_fail_memory(error, sizeof *made, "a tensor");
	made->device = device;
	made->shape = *shape;
	made->num_elements = num_elements;
	*tensor = made;
	return PFLD_OK;
}

enum pfld_status pfld_tensor_create(struct pfld_tensor **tensor, struct pfld_device *device, enum pfld_type type,
									const struct pfld_shape *shape, struct pfld_error *error)
{
	if (!tensor || !device || !shape) {
		return pfld_fail(error, PFLD_ERR_ARGUMENT,
						 "pfld_tensor_create needs a place for the tensor, a device and a shape");
	}
	if (type != PFLD_REAL_TYPE) {
		return pfld_fail(error, PFLD_ERR_UNSUPPORTED, "device %s holds no elements of type %s", device->info.name,
						 type == PFLD_F64   ? "F64"
						 : type == PFLD_F32 ? "F32"
											: "unknown");
	}
	struct pfld_tensor *made = NULL;
	enum pfld_status status = make(&made, device, shape, error);
	if (status) return status;
	size_t num_bytes = (size_t)made->num_elements * sizeof(pfld_real);
	status = pfld_device_region_create(device, num_bytes, PFLD_MEMORY_OTHER, "a tensor", &made->own, error);
	if (status) {
		free(made);
		return status;
	}
	made->region = &made->own;
	device->num_users++;
	*tensor = made;
	return PFLD_OK;
}

enum pfld_status pfld_tensor_wrap(struct pfld_tensor **tensor, struct pfld_device *device,
								  const struct pfld_shape *shape, struct pfld_region *region, size_t offset_bytes,
								  pfld_owner_check *owner_valid, const void *owner, struct pfld_error *error)
{
	struct pfld_tensor *made = NULL;
	enum pfld_status status = make(&made, device, shape, error);
	if (status) return status;
	made->region = region;
	made->offset_bytes = offset_bytes;
	made->owner_valid = owner_valid;
	made->owner = owner;
	device->num_users++;
	*tensor = made;
	return PFLD_OK;
}

enum pfld_status pfld_tensor_view(struct pfld_tensor **view, struct pfld_tensor *tensor, int64_t first,
								  const struct pfld_shape *shape, struct pfld_error *error)
{
	if (!view || !tensor || !shape) {
		return pfld_fail(error, PFLD_ERR_ARGUMENT, "pfld_tensor_view needs a place for the view, a tensor and a shape");
	}
	int64_t num_elements;
	enum pfld_status status = count_elements(shape, &num_elements, error);
	if (status) return status;
	if (first < 0 || num_elements > tensor->num_elements || first > tensor->num_elements - num_elements) {
		return pfld_fail(error, PFLD_ERR_SHAPE,
						 "a view of %lld elements from element %lld on leaves its tensor of %lld elements",
						 (long long)num_elements, (long long)first, (long long)tensor->num_elements);
	}
	return pfld_tensor_wrap(view, tensor->device, shape, tensor->region,
							tensor->offset_bytes + (size_t)first * sizeof(pfld_real), tensor->owner_valid,
							tensor->owner, error);
}

void pfld_tensor_destroy(struct pfld_tensor **tensor)
{
	if (!tensor || !*tensor) return;
	struct pfld_tensor *gone = *tensor;
	if (gone->region == &gone->own) pfld_device_region_destroy(gone->device, PFLD_MEMORY_OTHER, &gone->own);
	gone->device->num_users--;
	free(gone);
	*tensor = NULL;
}

const struct pfld_shape *pfld_tensor_shape(const struct pfld_tensor *tensor)
{
	return &tensor->shape;
}

enum pfld_type pfld_tensor_type(const struct pfld_tensor *tensor)
{
	return PFLD_REAL_TYPE;
}

int64_t pfld_tensor_elements(const struct pfld_tensor *tensor)
{
	return tensor->num_elements;
}

struct pfld_region *pfld_tensor_region(const struct pfld_tensor *tensor)
{
	return tensor->region;
}

size_t pfld_tensor_offset_bytes(const struct pfld_tensor *tensor)
{
	return tensor->offset_bytes;
}

struct pfld_device *pfld_tensor_device(const struct pfld_tensor *tensor)
{
	return tensor->device;
}

// Whether the memory is still the tensor's, and holds so many elements.
static enum pfld_status check_access(const struct pfld_tensor *tensor, enum pfld_type type, const void *host,
									 int64_t num_elements, struct pfld_error *error)
{
	if (!tensor || !host || (type != PFLD_F32 && type != PFLD_F64)) {
		return pfld_fail(error, PFLD_ERR_ARGUMENT, "a copy needs a tensor, and host memory of type F32 or F64");
	}
	if (num_elements < 0 || num_elements > tensor->num_elements) {
		return pfld_fail(error, PFLD_ERR_SHAPE, "a copy of %lld elements; the tensor has %lld", (long long)num_elements,
						 (long long)tensor->num_elements);
	}
	return tensor->owner_valid ? tensor->owner_valid(tensor->owner, error) : PFLD_OK;
}

enum pfld_status pfld_tensor_upload(struct pfld_tensor *tensor, enum pfld_type type, const void *source,
									int64_t num_elements, struct pfld_error *error)
{
	enum pfld_status status = check_access(tensor, type, source, num_elements, error);
	if (status) return status;
	return pfld_device_upload(tensor->device, tensor->region, tensor->offset_bytes, type, source, (size_t)num_elements,
							  error);
}

enum pfld_status pfld_tensor_download(const struct pfld_tensor *tensor, enum pfld_type type, void *destination,
									  int64_t num_elements, struct pfld_error *error)
{
	enum pfld_status status = check_access(tensor, type, destination, num_elements, error);
	if (status) return status;
	return pfld_device_download(tensor->device, tensor->region, tensor->offset_bytes, type, destination,
								(size_t)num_elements, error);
}

enum pfld_status pfld_tensor_fill(struct pfld_tensor *tensor, double value, struct pfld_error *error)
{
	if (!tensor) return pfld_fail(error, PFLD_ERR_ARGUMENT, "pfld_tensor_fill needs a tensor");
	enum pfld_status status = tensor->owner_valid ? tensor->owner_valid(tensor->owner, error) : PFLD_OK;
	if (status) return status;
	return pfld_device_fill(tensor->device, tensor->region, tensor->offset_bytes, value, (size_t)tensor->num_elements,
							error);
}

void *pfld_tensor_host(struct pfld_tensor *tensor)
{
	if (!tensor->region->host) return NULL;
	return (char *)tensor->region->host + tensor->offset_bytes;
}
