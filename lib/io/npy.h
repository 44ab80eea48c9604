// SPDX-License-Identifier: MIT
// One array in a .npy file (numpy.lib.format, versions 1.0 to 3.0). Host bytes only; tensors are lib/device's business.
#ifndef PFLD_IO_NPY_H
#define PFLD_IO_NPY_H

#include "types.h"

// Reads an array of any type of types.h but BF16, little-endian, in C order, into a fresh buffer (free() it). The name
// in `array` is NULL. PFLD_ERR_UNSUPPORTED: other types, big-endian, Fortran order; PFLD_ERR_DATA: a damaged header, or
// more or fewer bytes than the shape needs; PFLD_ERR_IO, PFLD_ERR_MEMORY.
enum pfld_status pfld_npy_read(const char *path, struct pfld_io_array *array, void **data,
							   struct pfld_error *error) PFLD_MUST_USE;
// Replaces the file at path (version 1.0). PFLD_ERR_ARGUMENT: BF16, which numpy does not know, or no possible shape.
enum pfld_status pfld_npy_write(const char *path, const struct pfld_io_array *array, const void *data,
								struct pfld_error *error) PFLD_MUST_USE;

#endif
