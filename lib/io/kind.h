// SPDX-License-Identifier: MIT
// What a file of weights is, by content and never by name; files that would run code are told from the others.
#ifndef PFLD_IO_KIND_H
#define PFLD_IO_KIND_H

#include "base/file.h"

enum pfld_file_kind {
	PFLD_FILE_OTHER,
	PFLD_FILE_SAFETENSORS,
	PFLD_FILE_HDF5,
	PFLD_FILE_KERAS, // a zip file with HDF5 inside, at [begin, begin + num_bytes)
};
// PFLD_ERR_UNSUPPORTED: a pickled file (.pt, .pth, .pkl), with the reason and the way out; a zip file that holds no
// weights or packed ones. PFLD_ERR_DATA: a damaged zip file; a page or a pointer in place of the file.
enum pfld_status pfld_file_kind(const char *path, enum pfld_file_kind *kind, uint64_t *begin, uint64_t *num_bytes,
								struct pfld_error *error) PFLD_MUST_USE;

#endif
