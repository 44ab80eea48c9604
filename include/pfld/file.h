// SPDX-License-Identifier: MIT
// What a file of weights holds, without loading it: for programs that show files. Thread safety: any thread.
#ifndef PFLD_FILE_H
#define PFLD_FILE_H

#include <pfld/tensor.h>

#ifdef __cplusplus
extern "C" {
#endif

// Strings live for the call that hands them out.
struct pfld_file_tensor {
	const char *name;
	const char *type; // as the file writes it: "F32", "I64" ...
	int32_t num_dims; // at most PFLD_MAX_DIMS
	int64_t dims[PFLD_MAX_DIMS];
	uint64_t num_bytes;
};
// Either function may be NULL.
struct pfld_file_visitor {
	void *context;
	void (*metadata)(void *context, const char *key, const char *value);
	void (*tensor)(void *context, const struct pfld_file_tensor *tensor);
};
// A .safetensors file, or one of Keras's HDF5 files (see pfld_weights_load(); its only metadata is "layout"), by content.
// Calls the visitor for each pair of metadata, then for each tensor, in the order of the file. All descriptions are checked
// before the first call, the data is not read. PFLD_ERR_DATA with the reason: neither, or a damaged one; PFLD_ERR_IO,
// PFLD_ERR_UNSUPPORTED (a pickled file, too), PFLD_ERR_MEMORY.
PFLD_API_STATUS enum pfld_status pfld_file_list(const char *path, const struct pfld_file_visitor *visitor,
                                                struct pfld_error *error);

#ifdef __cplusplus
}
#endif
#endif
