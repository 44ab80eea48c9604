// SPDX-License-Identifier: MIT
// Zip files: where a member lies that is stored as it is. Nothing is unpacked. (PKWARE's APPNOTE.TXT.)
#ifndef PFLD_IO_ZIP_H
#define PFLD_IO_ZIP_H

#include "base/file.h"

struct pfld_zip_member {
	uint64_t begin, num_bytes; // of its data in the file
	bool stored;               // as it is; else packed
};
// The member whose name is, or (any_folder) ends in "/" and, `name`. *found is false when there is none. PFLD_ERR_DATA:
// damaged; PFLD_ERR_UNSUPPORTED: encrypted, or in several files.
enum pfld_status pfld_zip_find(struct pfld_file_reader *reader, uint64_t file_bytes, const char *path, const char *name,
							   bool any_folder, struct pfld_zip_member *member, bool *found,
							   struct pfld_error *error) PFLD_MUST_USE;

#endif
