// SPDX-License-Identifier: MIT
// Tensors: a shape, an element type and a place on a device. Thread safety: as the device's.
#ifndef PFLD_TENSOR_H
#define PFLD_TENSOR_H

#include <pfld/device.h>

#ifdef __cplusplus
extern "C" {
#endif

enum pfld_type { PFLD_F32 = 0, PFLD_F64 };
PFLD_API size_t pfld_type_bytes(enum pfld_type type);

enum { PFLD_MAX_DIMS = 8 };
struct pfld_shape {
	int32_t num_dims; // 0: a single number
	int64_t dims[PFLD_MAX_DIMS];
};

struct pfld_tensor;
// A zeroed tensor with memory of its own (class "other"). Pictures are (N, H, W, C), channels last. PFLD_ERR_MEMORY,
// PFLD_ERR_ARGUMENT (a dimension below 1, an overflow), PFLD_ERR_UNSUPPORTED (element type of this device: F32; the
// double test build: F64).
PFLD_API_STATUS enum pfld_status pfld_tensor_create(struct pfld_tensor **tensor, struct pfld_device *device,
                                                    enum pfld_type type, const struct pfld_shape *shape,
                                                    struct pfld_error *error);
// Another shape over part of the same memory, from element `first` on. The viewed tensor must live longer.
PFLD_API_STATUS enum pfld_status pfld_tensor_view(struct pfld_tensor **view, struct pfld_tensor *tensor, int64_t first,
                                                  const struct pfld_shape *shape, struct pfld_error *error);
PFLD_API void pfld_tensor_destroy(struct pfld_tensor **tensor);

PFLD_API const struct pfld_shape *pfld_tensor_shape(const struct pfld_tensor *tensor);
PFLD_API enum pfld_type pfld_tensor_type(const struct pfld_tensor *tensor);
PFLD_API int64_t pfld_tensor_elements(const struct pfld_tensor *tensor);

// Blocking copies of `num_elements` host numbers of `type` (F32 or F64, converted where the tensor's differs), which must
// be at most the tensor's elements. They wait for work enqueued before. Errors: PFLD_ERR_SHAPE, PFLD_ERR_DEVICE_LOST.
PFLD_API_STATUS enum pfld_status pfld_tensor_upload(struct pfld_tensor *tensor, enum pfld_type type, const void *source,
                                                    int64_t num_elements, struct pfld_error *error);
PFLD_API_STATUS enum pfld_status pfld_tensor_download(const struct pfld_tensor *tensor, enum pfld_type type,
                                                      void *destination, int64_t num_elements, struct pfld_error *error);
PFLD_API_STATUS enum pfld_status pfld_tensor_fill(struct pfld_tensor *tensor, double value, struct pfld_error *error);
// Where the memory is the host's (cpu): its address, valid as long as the tensor. NULL elsewhere.
PFLD_API void *pfld_tensor_host(struct pfld_tensor *tensor);

// numpy's .npy, version 1.0, little-endian, C order. Reading takes f4 and f8 and converts to the device's type.
PFLD_API_STATUS enum pfld_status pfld_tensor_save_npy(const struct pfld_tensor *tensor, const char *path,
                                                      struct pfld_error *error);
PFLD_API_STATUS enum pfld_status pfld_tensor_load_npy(struct pfld_tensor **tensor, struct pfld_device *device,
                                                      const char *path, struct pfld_error *error);
// Several named tensors in one .safetensors file.
PFLD_API_STATUS enum pfld_status pfld_tensors_save(const char *path, const char *const *names,
                                                   struct pfld_tensor *const *tensors, int32_t num_tensors,
                                                   struct pfld_error *error);
// One tensor of a .safetensors file by name. PFLD_ERR_DATA names the file and what it holds instead.
PFLD_API_STATUS enum pfld_status pfld_tensor_load(struct pfld_tensor **tensor, struct pfld_device *device,
                                                  const char *path, const char *name, struct pfld_error *error);

#ifdef __cplusplus
}
#endif
#endif
