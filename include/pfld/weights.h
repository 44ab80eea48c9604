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
// A file, of a kind that its content tells, with floats of 16, 32 or 64 bits:
// - safetensors, names as in the net;
// - Keras's HDF5, where the library was built with it: old weight files and full models (by layer name; weights by name
//   in the layer, by order where names say nothing), and .weights.h5 and .keras of Keras 2.12 and later (by name where
//   the file has names, else the k-th layer of a class is the k-th in the net, if there are as many). Automatic names
//   (conv2d_203) may begin at any number.
// All or nothing: on failure the weights are as before. PFLD_ERR_UNSUPPORTED: pickled files (.pt, .pth, .pkl), which run
// code when they are opened; what this library was built without.
PFLD_API_STATUS enum pfld_status pfld_weights_load(struct pfld_weights *weights, const char *path,
                                                   enum pfld_load_mode mode, struct pfld_load_report *report,
                                                   struct pfld_error *error);
// What became of one tensor. Strings live for the call that hands them out.
enum pfld_load_outcome {
	PFLD_LOADED = 0,
	PFLD_LOAD_MISSING,     // in the net, not in the file
	PFLD_LOAD_OTHER_SHAPE, // in both
	PFLD_LOAD_LEFT_OVER,   // in the file, not in the net
	PFLD_LOAD_SKIPPED,     // not asked for
};
struct pfld_load_tensor {
	enum pfld_load_outcome outcome;
	const char *parameter; // "Conv1/kernel"; NULL: left over
	const char *in_file;   // "Conv1/Conv1/kernel:0"; NULL: missing or skipped
	struct pfld_shape shape, file_shape; // no dimensions where there is none
};
struct pfld_load_options {
	enum pfld_load_mode mode;
	const char *skip; // parameters that keep their value whatever the file holds (a new head): patterns, see net.h
	// Called for every tensor of net and file before anything is loaded, also when the load then fails. May be NULL.
	void (*tensor)(void *context, const struct pfld_load_tensor *tensor);
	void *context;
};
// The same with more to say. report: may be NULL.
PFLD_API_STATUS enum pfld_status pfld_weights_load_with(struct pfld_weights *weights, const char *path,
                                                        const struct pfld_load_options *options,
                                                        struct pfld_load_report *report, struct pfld_error *error);
// For Keras: HDF5 in its old layout, float32, which load_weights("x.h5") of every release reads. Layers are in the order of
// the net, which for the backbones of models.h is Keras's. Written beside the old file, flushed, renamed; the bytes are in
// memory once until then. PFLD_ERR_UNSUPPORTED: the library was built without HDF5.
PFLD_API_STATUS enum pfld_status pfld_weights_save_keras(const struct pfld_weights *weights, const char *path,
                                                         struct pfld_error *error);
// A .safetensors file. Written beside the old file, flushed, renamed. `metadata`: num_metadata pairs key, value; may be NULL.
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
