// SPDX-License-Identifier: MIT
// The safetensors format (github.com/huggingface/safetensors, "Format"): 8 bytes of header length, a JSON header, the
// data. Bytes and names only: weights of nets are lib/train's and lib/net's business. Nothing in a file is trusted.
#ifndef PFLD_IO_SAFETENSORS_H
#define PFLD_IO_SAFETENSORS_H

#include "types.h"

// A file open for reading. Its strings live as long as it.
struct pfld_safetensors;
struct pfld_safetensors_entry {
	struct pfld_io_array array;
	uint64_t begin, num_bytes; // from the start of the data
};

// Reads and checks the whole header, none of the data. PFLD_ERR_DATA with the reason: anything the format forbids (also
// holes, overlaps, duplicate names, bytes that belong to no tensor). PFLD_ERR_UNSUPPORTED: an element type or a number
// of dimensions that this library does not know. PFLD_ERR_IO, PFLD_ERR_MEMORY.
enum pfld_status pfld_safetensors_open(struct pfld_safetensors **file, const char *path,
									   struct pfld_error *error) PFLD_MUST_USE;
void pfld_safetensors_close(struct pfld_safetensors **file);

// In the order of the data.
size_t pfld_safetensors_num_entries(const struct pfld_safetensors *file);
const struct pfld_safetensors_entry *pfld_safetensors_entry(const struct pfld_safetensors *file, size_t index);
// By name; NULL when there is none.
const struct pfld_safetensors_entry *pfld_safetensors_find(const struct pfld_safetensors *file, const char *name);
// The value of a metadata key; NULL when there is none.
const char *pfld_safetensors_metadata(const struct pfld_safetensors *file, const char *key);
// All metadata in the order of the file; false behind the last.
bool pfld_safetensors_metadata_at(const struct pfld_safetensors *file, size_t index, const char **key,
								  const char **value);

// The bytes of one tensor as they are (entry->num_bytes), or its numbers converted to F32 or F64 (PFLD_ERR_SHAPE when
// it holds no floats). On failure the buffer's content is unspecified.
enum pfld_status pfld_safetensors_read(struct pfld_safetensors *file, const struct pfld_safetensors_entry *entry,
									   void *bytes, struct pfld_error *error) PFLD_MUST_USE;
enum pfld_status pfld_safetensors_read_as(struct pfld_safetensors *file, const struct pfld_safetensors_entry *entry,
										  enum pfld_io_type type, void *numbers,
										  struct pfld_error *error) PFLD_MUST_USE;

// What to write: an array (with a name) and its bytes.
struct pfld_safetensors_item {
	struct pfld_io_array array;
	const void *data; // may be NULL when there are no elements
};
struct pfld_safetensors_pair {
	const char *key, *value;
};
// Replaces the file at path as a whole (see pfld_file_writer), tensors in the order given. Metadata values may be any
// text (invalid UTF-8 is replaced); names and keys must be valid and differ, else PFLD_ERR_ARGUMENT.
enum pfld_status pfld_safetensors_write(const char *path, const struct pfld_safetensors_item *items, size_t num_items,
										const struct pfld_safetensors_pair *pairs, size_t num_pairs,
										struct pfld_error *error) PFLD_MUST_USE;

#endif
