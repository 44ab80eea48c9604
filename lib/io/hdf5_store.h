// SPDX-License-Identifier: MIT
// What both directions of HDF5 share: where the bytes are, the lock, and silence. Only for lib/io/hdf5_*.c.
#ifndef PFLD_IO_HDF5_STORE_H
#define PFLD_IO_HDF5_STORE_H

#include "base/file.h"
#include "hdf5.h"

#include <hdf5.h>

// The bytes of an HDF5 file: a part of a file that is read, or memory that grows.
struct pfld_hdf5_store {
	struct pfld_file_reader *reader; // NULL: memory
	uint64_t begin, num_bytes;       // of the file; num_bytes also of the memory
	uint8_t *memory;
	size_t capacity;
	hid_t file, driver;      // while it is open
	struct pfld_error error; // the first one of the reader
};

// Between enter and leave the lock is held and HDF5 prints nothing; the host's own setting is put back.
struct pfld_hdf5_quiet {
	H5E_auto2_t print;
	void *data;
};
void pfld_hdf5_enter(struct pfld_hdf5_quiet *quiet);
void pfld_hdf5_leave(const struct pfld_hdf5_quiet *quiet);

// Opens (or creates in memory) store->file through a driver of our own; false on failure. Between enter and leave.
bool pfld_hdf5_store_open(struct pfld_hdf5_store *store, bool create);
// False: not all was written. Between enter and leave.
bool pfld_hdf5_store_close(struct pfld_hdf5_store *store);
// PFLD_ERR_DATA "PATH: WHAT (what HDF5 says)"; the reader's own error where it had one. Between enter and leave.
enum pfld_status pfld_hdf5_fail(const struct pfld_hdf5_store *store, const char *path, const char *what,
								struct pfld_error *error);

#endif
