// SPDX-License-Identifier: MIT
// Weights in the HDF5 files of Keras, as a list of arrays and what the file says of each. Three layouts, told apart by
// content: the old one (layer_names, weight_names), the same inside a full model (model_weights), and the one of Keras
// 3 and late 2 (layers/CLASS/vars/0), alone or in a .keras file. Which of them is which parameter of a net is
// lib/train's business.
#ifndef PFLD_IO_KERAS_H
#define PFLD_IO_KERAS_H

#include "hdf5.h"

// An array. Strings belong to the file.
struct pfld_keras_entry {
	const char *layer;          // its layer's name; NULL: the file does not tell
	const char *scope;          // old layout: what stands before the variable in the weight's own name; NULL: nothing
	const char *variable;       // "kernel"; NULL: the file does not tell
	const char *kind;           // new layout: the layer's class, "conv2d"; NULL: the file does not tell
	int32_t rank;               // new layout: the layer's place among those of its class
	int32_t index, num;         // its place in the layer, and how many there are
	struct pfld_io_array array; // its name is the path in the file
};
struct pfld_keras_file;
// begin, num_bytes: as pfld_hdf5_open(). PFLD_ERR_DATA: damaged, or in none of the layouts.
enum pfld_status pfld_keras_open(struct pfld_keras_file **file, const char *path, uint64_t begin, uint64_t num_bytes,
								 struct pfld_error *error) PFLD_MUST_USE;
void pfld_keras_close(struct pfld_keras_file **file);
size_t pfld_keras_num_entries(const struct pfld_keras_file *file);
const struct pfld_keras_entry *pfld_keras_entry(const struct pfld_keras_file *file, size_t index);
// "Keras's old layout" or "Keras's new layout". Static.
const char *pfld_keras_layout(const struct pfld_keras_file *file);
// The array's numbers as F32 or F64. PFLD_ERR_SHAPE: it holds no floats.
enum pfld_status pfld_keras_read_as(struct pfld_keras_file *file, size_t index, enum pfld_io_type type, void *numbers,
									struct pfld_error *error) PFLD_MUST_USE;

// A name without its number: "conv2d_12" is "conv2d" and 12, "conv2d" the same and 0. Returns the length of the former.
size_t pfld_keras_split_number(const char *name, int64_t *number);

// ---- between keras.c and keras_v3.c ----
struct pfld_keras_file {
	struct pfld_hdf5 *hdf5;
	const char *layout;
	struct pfld_keras_entry *entries;
	size_t num, capacity;
	struct pfld_names strings; // everything that entries point at
};
// A copy that lives as long as the file; NULL: out of memory.
const char *pfld_keras_keep(struct pfld_keras_file *file, const char *text, size_t length);
// Adds an entry with the array at `path`.
enum pfld_status pfld_keras_add(struct pfld_keras_file *file, const struct pfld_keras_entry *entry, const char *path,
								struct pfld_error *error) PFLD_MUST_USE;
// All entries of the new layout below the group at `path`.
enum pfld_status pfld_keras_read_v3(struct pfld_keras_file *file, const char *path,
									struct pfld_error *error) PFLD_MUST_USE;

#endif
