// SPDX-License-Identifier: MIT
// Element types of files, and arrays in files. Not the element types of devices (pfld/tensor.h): files hold more.
// Bytes in files are little-endian, and so is every host this library runs on.
#ifndef PFLD_IO_TYPES_H
#define PFLD_IO_TYPES_H

#include "base/base.h"

#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "files are read into memory as they are: a big-endian host would need every element swapped"
#endif

enum pfld_io_type {
	PFLD_IO_F32 = 0,
	PFLD_IO_F64,
	PFLD_IO_F16,
	PFLD_IO_BF16,
	PFLD_IO_I64,
	PFLD_IO_I32,
	PFLD_IO_I16,
	PFLD_IO_I8,
	PFLD_IO_U64,
	PFLD_IO_U32,
	PFLD_IO_U16,
	PFLD_IO_U8,
	PFLD_IO_BOOL,
	PFLD_IO_NUM_TYPES,
};
size_t pfld_io_type_bytes(enum pfld_io_type type);
// "F32", as safetensors writes it. Static.
const char *pfld_io_type_name(enum pfld_io_type type);
bool pfld_io_type_is_float(enum pfld_io_type type);

// An array in a file: row-major, the last dimension runs fastest.
#define PFLD_IO_MAX_DIMS 8
struct pfld_io_array {
	const char *name;
	enum pfld_io_type type;
	int32_t num_dims;               // 0: a single number
	int64_t dims[PFLD_IO_MAX_DIMS]; // 0 is allowed: no elements
};
// Elements and bytes of an array (either may be NULL). False: a negative dimension, too many, or 2^63 bytes and more.
bool pfld_io_array_size(const struct pfld_io_array *array, uint64_t *num_elements, uint64_t *num_bytes);

// num numbers of a float type into F32 or F64, rounded to nearest; NaN stays NaN, what is too large becomes infinite.
// The bytes need no alignment and may lie in the same place only when the types are equal. False: not such types.
bool pfld_io_convert(void *to, enum pfld_io_type to_type, const void *from, enum pfld_io_type from_type, size_t num);

#endif
