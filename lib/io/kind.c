// SPDX-License-Identifier: MIT
// See kind.h.
#include "kind.h"
#include "zip.h"

#include <string.h>

static const char pickle_advice[] = "a pickled file, which runs whatever code its maker put in as soon as it is "
									"opened, so this library does not; in Python, "
									"once, where you trust it: safetensors.torch.save_file(torch.load(FILE, "
									"weights_only=True), \"weights.safetensors\")";

static enum pfld_status refuse(const char *path, enum pfld_status status, const char *what, struct pfld_error *error)
{
	char shown[PFLD_SHOWN_BYTES];
	return pfld_fail(error, status, "%s: %s", pfld_show(shown, path, 300), what);
}

// The signature stands at 0, 512, 1024, 2048, ...
static bool is_hdf5(struct pfld_file_reader *reader, uint64_t file_bytes)
{
	uint8_t bytes[8];
	for (uint64_t at = 0; at + 8 <= file_bytes && at <= 1u << 20; at = at ? 2 * at : 512)
		if (!pfld_file_reader_read(reader, at, bytes, sizeof bytes, NULL) && !memcmp(bytes, "\211HDF\r\n\032\n", 8))
			return true;
	return false;
}

static enum pfld_status kind_of_zip(struct pfld_file_reader *reader, uint64_t file_bytes, const char *path,
									uint64_t *begin, uint64_t *num_bytes, struct pfld_error *error)
{
	struct pfld_zip_member member = {0};
	bool found;
	enum pfld_status status =
		pfld_zip_find(reader, file_bytes, path, "model.weights.h5", false, &member, &found, error);
	if (!status && found) {
		if (!member.stored || member.num_bytes == 0)
			return refuse(path, PFLD_ERR_UNSUPPORTED, "its weights are packed; Keras stores them as they are", error);
		*begin = member.begin;
		*num_bytes = member.num_bytes;
		return PFLD_OK;
	}
	if (!status) status = pfld_zip_find(reader, file_bytes, path, "data.pkl", true, &member, &found, error);
	if (status) return status;
	if (found) return refuse(path, PFLD_ERR_UNSUPPORTED, pickle_advice, error);
	return refuse(path, PFLD_ERR_UNSUPPORTED, "a zip file without model.weights.h5, so not Keras's", error);
}

// Protocols 2 to 5 begin with their number; older ones do not, but files of weights are not that old.
static bool is_pickle(const uint8_t *head, size_t num)
{
	return num >= 2 && head[0] == 0x80 && head[1] >= 2 && head[1] <= 5;
}

enum pfld_status pfld_file_kind(const char *path, enum pfld_file_kind *kind, uint64_t *begin, uint64_t *num_bytes,
								struct pfld_error *error)
{
	struct pfld_file_reader *reader = NULL;
	uint64_t file_bytes = 0;
	uint8_t head[16] = {0};
	*begin = *num_bytes = 0;
	*kind = PFLD_FILE_OTHER;
	enum pfld_status status = pfld_file_reader_open(&reader, path, &file_bytes, error);
	size_t num = (size_t)PFLD_MIN(file_bytes, sizeof head);
	if (!status) status = pfld_file_reader_read(reader, 0, head, num, error);
	if (!status) {
		if (is_hdf5(reader, file_bytes))
			*kind = PFLD_FILE_HDF5;
		else if (num >= 9 && head[8] == '{')
			*kind = PFLD_FILE_SAFETENSORS;
		else if (is_pickle(head, num))
			status = refuse(path, PFLD_ERR_UNSUPPORTED, pickle_advice, error);
		else if (num >= 4 && !memcmp(head, "PK\3\4", 4)) {
			*kind = PFLD_FILE_KERAS;
			status = kind_of_zip(reader, file_bytes, path, begin, num_bytes, error);
		}
	}
	pfld_file_reader_close(&reader);
	return status;
}
