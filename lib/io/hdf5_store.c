// SPDX-License-Identifier: MIT
// Where libhdf5 gets its bytes from: a driver of our own on the library's file reader, so that a member of a zip file
// is read in place, nothing is locked, and errors are the system's; or memory, so that a file is written whole or not
// at all.
#include "pfld_config.h"

#if PFLD_HAVE_HDF5
#include "base/thread.h"
#include "hdf5_store.h"

#include <stdlib.h>
#include <string.h>
#if H5_VERSION_GE(1, 13, 0)
#include <H5FDdevelop.h>
#endif

void pfld_hdf5_enter(struct pfld_hdf5_quiet *quiet)
{
	pfld_foreign_lock();
	*quiet = (struct pfld_hdf5_quiet){NULL, NULL};
	H5Eget_auto2(H5E_DEFAULT, &quiet->print, &quiet->data);
	H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
}

void pfld_hdf5_leave(const struct pfld_hdf5_quiet *quiet)
{
	H5Eset_auto2(H5E_DEFAULT, quiet->print, quiet->data);
	pfld_foreign_unlock();
}

// The first of a walk from the innermost is what went wrong.
static herr_t take_description(unsigned depth, const H5E_error2_t *entry, void *context)
{
	const char **text = context;
	if (depth == 0) *text = entry->desc;
	return 0;
}

enum pfld_status pfld_hdf5_fail(const struct pfld_hdf5_store *store, const char *path, const char *what,
								struct pfld_error *error)
{
	if (store->error.status) {
		if (error) *error = store->error;
		return store->error.status;
	}
	const char *said = NULL;
	char shown[PFLD_SHOWN_BYTES], shown_said[PFLD_SHOWN_BYTES];
	H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, take_description, &said);
	return pfld_fail(error, PFLD_ERR_DATA, "%s: %s%s%s", pfld_show(shown, path, 300), what, said ? "; HDF5 says: " : "",
					 said ? pfld_show(shown_said, said, 200) : "");
}

// ---- the driver ----

struct driver_file {
	H5FD_t base; // HDF5's part, first
	struct pfld_hdf5_store *store;
	haddr_t end_of_allocation;
};

static H5FD_t *driver_open(const char *name, unsigned flags, hid_t access, haddr_t largest)
{
	struct pfld_hdf5_store *const *store = H5Pget_driver_info(access);
	if (!store) return NULL;
	struct driver_file *file = pfld_calloc(1, sizeof *file);
	if (!file) {
		pfld_fail_memory(&(*store)->error, sizeof *file, "an HDF5 file");
		return NULL;
	}
	file->store = *store;
	return &file->base;
}

static herr_t driver_close(H5FD_t *file)
{
	free(file);
	return 0;
}

static herr_t driver_query(const H5FD_t *file, unsigned long *flags)
{
	if (flags) *flags = H5FD_FEAT_AGGREGATE_METADATA | H5FD_FEAT_DATA_SIEVE | H5FD_FEAT_AGGREGATE_SMALLDATA;
	return 0;
}

static haddr_t driver_get_eoa(const H5FD_t *file, H5FD_mem_t type)
{
	return ((const struct driver_file *)file)->end_of_allocation;
}

static herr_t driver_set_eoa(H5FD_t *file, H5FD_mem_t type, haddr_t address)
{
	((struct driver_file *)file)->end_of_allocation = address;
	return 0;
}

static haddr_t driver_get_eof(const H5FD_t *file, H5FD_mem_t type)
{
	return ((const struct driver_file *)file)->store->num_bytes;
}

static herr_t driver_read(H5FD_t *file, H5FD_mem_t type, hid_t transfer, haddr_t address, size_t size, void *buffer)
{
	struct pfld_hdf5_store *store = ((struct driver_file *)file)->store;
	uint64_t there = address < store->num_bytes ? PFLD_MIN(size, store->num_bytes - address) : 0;
	if (!store->reader) {
		// What has not been written yet is zero.
		memset((uint8_t *)buffer + there, 0, size - there);
		if (there) memcpy(buffer, store->memory + address, (size_t)there);
		return 0;
	}
	if (there < size) return -1;
	struct pfld_error error = {0};
	if (!pfld_file_reader_read(store->reader, store->begin + address, buffer, size, &error)) return 0;
	if (!store->error.status) store->error = error;
	return -1;
}

static herr_t driver_write(H5FD_t *file, H5FD_mem_t type, hid_t transfer, haddr_t address, size_t size,
						   const void *buffer)
{
	struct pfld_hdf5_store *store = ((struct driver_file *)file)->store;
	size_t end;
	if (store->reader || address > SIZE_MAX || !pfld_add_size((size_t)address, size, &end)) return -1;
	if (!pfld_grow(&store->memory, &store->capacity, end, 1)) {
		pfld_fail_memory(&store->error, end, "an HDF5 file");
		return -1;
	}
	if (address > store->num_bytes) memset(store->memory + store->num_bytes, 0, (size_t)(address - store->num_bytes));
	memcpy(store->memory + address, buffer, size);
	store->num_bytes = PFLD_MAX(store->num_bytes, end);
	return 0;
}

static const H5FD_class_t driver_class = {
#ifdef H5FD_CLASS_VERSION
	.version = H5FD_CLASS_VERSION,
	.value = (H5FD_class_value_t)(H5_VFD_RESERVED + 200), // for drivers that are not registered with the HDF Group
#endif
	.name = "pfld",
	.maxaddr = INT64_MAX,
	.fc_degree = H5F_CLOSE_STRONG,
	.fapl_size = sizeof(struct pfld_hdf5_store *),
	.open = driver_open,
	.close = driver_close,
	.query = driver_query,
	.get_eoa = driver_get_eoa,
	.set_eoa = driver_set_eoa,
	.get_eof = driver_get_eof,
	.read = driver_read,
	.write = driver_write,
	.fl_map = H5FD_FLMAP_DICHOTOMY,
};

bool pfld_hdf5_store_open(struct pfld_hdf5_store *store, bool create)
{
	hid_t access = H5Pcreate(H5P_FILE_ACCESS);
	store->driver = H5FDregister(&driver_class);
	store->file = -1;
	if (store->driver >= 0 && access >= 0 && H5Pset_driver(access, store->driver, &store) >= 0)
		store->file =
			create ? H5Fcreate("pfld", H5F_ACC_TRUNC, H5P_DEFAULT, access) : H5Fopen("pfld", H5F_ACC_RDONLY, access);
	if (access >= 0) H5Pclose(access);
	if (store->file >= 0) return true;
	if (store->driver >= 0) H5FDunregister(store->driver);
	return false;
}

bool pfld_hdf5_store_close(struct pfld_hdf5_store *store)
{
	bool done = H5Fclose(store->file) >= 0;
	// Not before: closing a file still asks its driver after it has let go of it.
	H5FDunregister(store->driver);
	store->file = -1;
	return done;
}
#endif
