// SPDX-License-Identifier: MIT
// Tensors on devices to .safetensors files and back, for weights and checkpoints. All or nothing on both ways.
#ifndef PFLD_TRAIN_FILES_H
#define PFLD_TRAIN_FILES_H

#include "io/safetensors.h"
#include "net/weights.h"

// A list of tensors with names, for writing.
struct pfld_tensor_list {
	struct pfld_safetensors_item *items;
	void **copies; // host copies of what is not in host memory; by item, NULL where none was needed
	size_t num, capacity, copies_capacity;
};
// The name must live as long as the list.
enum pfld_status pfld_tensor_list_add(struct pfld_tensor_list *list, const char *name, struct pfld_tensor *tensor,
                                      struct pfld_error *error) PFLD_MUST_USE;
enum pfld_status pfld_tensor_list_add_weights(struct pfld_tensor_list *list, const struct pfld_weights *weights,
                                              struct pfld_error *error) PFLD_MUST_USE;
void pfld_tensor_list_finish(struct pfld_tensor_list *list);

// Tensors to be read: nothing is uploaded before everything has been read and checked.
struct pfld_pending_read {
	struct pfld_tensor *tensor;
	void *numbers; // of the device's type, by malloc()
};
struct pfld_tensor_reads {
	struct pfld_pending_read *reads;
	size_t num, capacity;
};
enum pfld_status pfld_tensor_reads_add(struct pfld_tensor_reads *reads, struct pfld_safetensors *file,
                                       const struct pfld_safetensors_entry *entry, struct pfld_tensor *tensor,
                                       struct pfld_error *error) PFLD_MUST_USE;
// Takes the numbers, also on failure.
enum pfld_status pfld_tensor_reads_take(struct pfld_tensor_reads *reads, struct pfld_tensor *tensor, void *numbers,
                                        struct pfld_error *error) PFLD_MUST_USE;
enum pfld_status pfld_tensor_reads_upload(struct pfld_tensor_reads *reads, struct pfld_error *error) PFLD_MUST_USE;
void pfld_tensor_reads_finish(struct pfld_tensor_reads *reads);

// Whether a file's array has a parameter's shape.
bool pfld_same_shape(const struct pfld_io_array *array, const struct pfld_shape *shape);
// Every parameter of the weights from the file, as pfld_weights_load(). weights_load.c
enum pfld_status pfld_tensor_reads_add_weights(struct pfld_tensor_reads *reads, struct pfld_safetensors *file,
                                               const char *path, struct pfld_weights *weights, enum pfld_load_mode mode,
                                               struct pfld_load_report *report, struct pfld_error *error) PFLD_MUST_USE;

#endif
