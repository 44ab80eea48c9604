// SPDX-License-Identifier: MIT
// Weights: the values of a net's parameters and statistics on a device. Any number of programs read them, one optimizer
// writes them. The net must live as long as the weights. Thread safety: as the device's.
#ifndef PFLD_WEIGHTS_H
#define PFLD_WEIGHTS_H

#include <pfld/net.h>

#ifdef __cplusplus
extern "C" {
#endif

struct pfld_weights;

// Allocated and initialised by each layer's rule from `seed`: the same seed, the same bits. Errors: the net's own,
// PFLD_ERR_MEMORY.
PFLD_API_STATUS enum pfld_status pfld_weights_create(struct pfld_weights **weights, struct pfld_device *device,
                                                     const struct pfld_net *net, uint64_t seed, struct pfld_error *error);
PFLD_API void pfld_weights_destroy(struct pfld_weights **weights);
PFLD_API struct pfld_device *pfld_weights_device(const struct pfld_weights *weights);
PFLD_API const struct pfld_net *pfld_weights_net(const struct pfld_weights *weights);
// By parameter name; belongs to the weights. NULL when there is none.
PFLD_API struct pfld_tensor *pfld_weights_tensor(const struct pfld_weights *weights, const char *name);

// What a load did.
struct pfld_load_report {
	int32_t num_loaded, num_missing, num_other_shape, num_left_over; // left over: in the file, not in the net
	char first_missing[128], first_other_shape[128], first_left_over[128];
};
enum pfld_load_mode {
	PFLD_LOAD_ALL = 0, // every parameter must be there with its shape; else nothing is loaded and it is PFLD_ERR_DATA
	PFLD_LOAD_MATCHING, // what is missing or of another shape keeps its value and is reported
};
// A .safetensors file, names as in the net, F32 or F64 or F16 or BF16. All or nothing: on failure the weights are as before.
PFLD_API_STATUS enum pfld_status pfld_weights_load(struct pfld_weights *weights, const char *path,
                                                   enum pfld_load_mode mode, struct pfld_load_report *report,
                                                   struct pfld_error *error);
// Written beside the old file, flushed, renamed. `metadata`: num_metadata pairs key, value; may be NULL.
PFLD_API_STATUS enum pfld_status pfld_weights_save(const struct pfld_weights *weights, const char *path,
                                                   const char *const (*metadata)[2], int32_t num_metadata,
                                                   struct pfld_error *error);
// SHA-256 over the little-endian float32 bytes of all parameters and statistics, names ascending by bytes.
PFLD_API_STATUS enum pfld_status pfld_weights_sha256(const struct pfld_weights *weights, char hex[65],
                                                     struct pfld_error *error);

// The metadata of any .safetensors file, one value by key, in a fresh string (pfld_free()); NULL in *value when the key is
// absent.
PFLD_API_STATUS enum pfld_status pfld_file_metadata(const char *path, const char *key, char **value,
                                                    struct pfld_error *error);

#ifdef __cplusplus
}
#endif
#endif
