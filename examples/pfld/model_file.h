// SPDX-License-Identifier: MIT
// What a model file says of itself, and the net, weights and device made from it. The metadata of the file holds all
// that prediction needs; nobody has to remember how a net was trained. Called by every command that reads or writes a
// model.
#ifndef PFLD_PROGRAM_MODEL_FILE_H
#define PFLD_PROGRAM_MODEL_FILE_H

#include <pfld/data.h>
#include <pfld/models.h>
#include <pfld/weights.h>

struct model {
	struct pfld_model_options net;     // without the angle net
	struct pfld_sample_options sample; // size, crop, scaling, bgr
	bool has_corners;
	int32_t corners[2]; // whose distance normalises NME
	char loss[24];      // it was trained with
};

// Names of the values of an option, in the order of the enum.
extern const char SCALING_CHOICES[], CROP_CHOICES[], CHANNEL_CHOICES[], PRESET_CHOICES[], FORMAT_CHOICES[],
	MODEL_CHOICES[];
// The place of `name` in "a|b|c"; 0 when it is not there.
int choice_index(const char *choices, const char *name);

// The metadata of a model, as pairs of key and value for pfld_weights_save() and pfld_trainer_save(); pairs[num] is
// free for one more.
enum { MAX_METADATA = 20, METADATA_BYTES = 64 };
struct metadata {
	const char *pairs[MAX_METADATA][2];
	int32_t num;
	char values[MAX_METADATA][METADATA_BYTES];
};
void model_metadata(const struct model *model, struct metadata *metadata);

// "M" or "M/best.safetensors", else "M/last.safetensors", when M is a folder. Into buffer, which is returned.
enum { PATH_BYTES = 4352 };
const char *model_path(char buffer[PATH_BYTES], const char *path);

// What the file at `path` says. PFLD_ERR_DATA: it is no PFLD of this program.
enum pfld_status model_read(struct model *model, const char *path, struct pfld_error *error);

// A net on a device with weights.
struct network {
	struct pfld_device *device;
	struct pfld_net *net;
	struct pfld_weights *weights;
};
struct network_options {
	const char *device, *cpu_level; // NULL: "auto", the best
	int32_t threads;
	struct pfld_log log;
	uint64_t memory_limit; // 0: none
	double memory_fraction;
	bool allow_growth;
	const char *kernel_cache; // folder; NULL: the user's; "none"
};
// The device alone, with the masks of the environment.
enum pfld_status network_open_device(struct network *network, const struct network_options *options,
									 struct pfld_error *error);
// Device, net and weights of a model file, for inference on `batch` images at a time. Where the weights do not fit, the
// out-of-memory page goes to standard error.
enum pfld_status network_open(struct network *network, const char *path, const struct model *model, int32_t batch,
							  const struct network_options *options, struct pfld_error *error);
void network_close(struct network *network);

#endif
