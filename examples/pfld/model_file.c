// SPDX-License-Identifier: MIT
// What a model file says of itself, and the net, weights and device made from it.
#include "model_file.h"
#include "memory_page.h"
#include "options.h"
#include "say.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

const char SCALING_CHOICES[] = "255|256|signed|none";
const char CROP_CHOICES[] = "float|integer";
const char CHANNEL_CHOICES[] = "rgb|bgr";
const char PRESET_CHOICES[] = "paper|pt|tf";
const char MODEL_CHOICES[] = "pfld|vgg16|vgg19|xception|inception_resnet_v2|mobilenet_v1|mobilenet_v2|squeezenet";
const char FORMAT_CHOICES[] = "auto|prepared|raw|pts|dlib";

static const char POINTS_UNIT[] = "crop-relative 0..1";

int choice_index(const char *choices, const char *name)
{
	int index = 0;
	size_t length = strlen(name);
	for (const char *choice = choices; choice; choice = strchr(choice, '|'), index++) {
		choice += *choice == '|';
		if (strcspn(choice, "|") == length && strncmp(choice, name, length) == 0) return index;
	}
	return 0;
}

// Choice number `index` of "a|b|c" into value.
static void choice_name(char value[METADATA_BYTES], const char *choices, int index)
{
	for (; index > 0 && strchr(choices, '|'); index--) choices = strchr(choices, '|') + 1;
	snprintf(value, METADATA_BYTES, "%.*s", (int)strcspn(choices, "|"), choices);
}

// The next value, to be written; its key is in the list then.
static char *add(struct metadata *metadata, const char *key)
{
	char *value = metadata->values[metadata->num];
	metadata->pairs[metadata->num][0] = key;
	metadata->pairs[metadata->num][1] = value;
	metadata->num++;
	return value;
}

void model_metadata(const struct model *model, struct metadata *metadata)
{
	char number[NUMBER_TEXT_BYTES];
	metadata->num = 0;
	snprintf(add(metadata, "model"), METADATA_BYTES, "pfld");
	snprintf(add(metadata, "version"), METADATA_BYTES, "%s", pfld_version());
	snprintf(add(metadata, "preset"), METADATA_BYTES, "%s", pfld_preset_name(model->net.preset));
	snprintf(add(metadata, "width"), METADATA_BYTES, "%s", number_text(number, model->net.width));
	snprintf(add(metadata, "num_points"), METADATA_BYTES, "%d", (int)model->net.num_points);
	snprintf(add(metadata, "size"), METADATA_BYTES, "%d", (int)model->net.size);
	snprintf(add(metadata, "head"), METADATA_BYTES, "%s", model->net.flatten_head ? "flattened" : "pooled");
	choice_name(add(metadata, "crop"), CROP_CHOICES, (int)model->sample.crop);
	choice_name(add(metadata, "scaling"), SCALING_CHOICES, (int)model->sample.scaling);
	choice_name(add(metadata, "channels"), CHANNEL_CHOICES, model->sample.bgr);
	snprintf(add(metadata, "points"), METADATA_BYTES, "%s", POINTS_UNIT);
	snprintf(add(metadata, "loss"), METADATA_BYTES, "%s", model->loss);
	if (model->has_corners)
		snprintf(add(metadata, "nme_points"), METADATA_BYTES, "%d,%d", (int)model->corners[0], (int)model->corners[1]);
}

static bool is_folder(const char *path)
{
	struct stat info;
	return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

const char *model_path(char buffer[PATH_BYTES], const char *path)
{
	struct stat info;
	snprintf(buffer, PATH_BYTES, "%s", path);
	if (!is_folder(path)) return buffer;
	snprintf(buffer, PATH_BYTES, "%s/best.safetensors", path);
	if (stat(buffer, &info) != 0) snprintf(buffer, PATH_BYTES, "%s/last.safetensors", path);
	return buffer;
}

// A metadata value into text; "" when the key is absent.
static enum pfld_status get(const char *path, const char *key, char text[METADATA_BYTES], struct pfld_error *error)
{
	char *value = NULL;
	enum pfld_status status = pfld_file_metadata(path, key, &value, error);
	if (status) return status;
	snprintf(text, METADATA_BYTES, "%s", value ? value : "");
	pfld_free(value);
	return PFLD_OK;
}

// A metadata value that must be a whole number in low..high.
static enum pfld_status get_int(const char *path, const char *key, int32_t low, int32_t high, int32_t *number,
								struct pfld_error *error)
{
	char text[METADATA_BYTES], shown[SHOWN_BYTES], *end;
	enum pfld_status status = get(path, key, text, error);
	if (status) return status;
	long value = strtol(text, &end, 10);
	if (text[0] == '\0' || *end != '\0' || value < low || value > high)
		return fail(error, PFLD_ERR_DATA, "%s: its metadata says \"%s\" for %s, which is no model of this program's",
					show(shown, path), text, key);
	*number = (int32_t)value;
	return PFLD_OK;
}

// A metadata value that must be one of "a|b|c".
static enum pfld_status get_choice(const char *path, const char *key, const char *choices, int *index,
								   struct pfld_error *error)
{
	char text[METADATA_BYTES], name[METADATA_BYTES], shown[SHOWN_BYTES];
	enum pfld_status status = get(path, key, text, error);
	if (status) return status;
	*index = choice_index(choices, text);
	choice_name(name, choices, *index);
	if (strcmp(name, text) != 0)
		return fail(error, PFLD_ERR_DATA, "%s: its metadata says \"%s\" for %s, expected is one of %s",
					show(shown, path), text, key, choices);
	return PFLD_OK;
}

static enum pfld_status read_net(struct model *model, const char *path, struct pfld_error *error)
{
	char text[METADATA_BYTES], shown[SHOWN_BYTES], *end;
	int preset, head;
	enum pfld_status status = get(path, "model", text, error);
	if (!status && strcmp(text, "pfld") != 0)
		return fail(error, PFLD_ERR_DATA, "%s: its metadata names no model of this program's (\"model\": \"pfld\")",
					show(shown, path));
	if (!status) status = get_choice(path, "preset", PRESET_CHOICES, &preset, error);
	if (!status) status = get_choice(path, "head", "pooled|flattened", &head, error);
	if (!status) status = get_int(path, "num_points", 1, 100000, &model->net.num_points, error);
	if (!status) status = get_int(path, "size", 32, 4096, &model->net.size, error);
	if (!status) status = get(path, "width", text, error);
	if (status) return status;
	model->net.preset = (enum pfld_preset)preset;
	model->net.flatten_head = head == 1;
	model->net.width = strtod(text, &end);
	if (text[0] == '\0' || *end != '\0' || !(model->net.width > 0 && model->net.width <= 16))
		return fail(error, PFLD_ERR_DATA, "%s: its metadata says \"%s\" for width", show(shown, path), text);
	return PFLD_OK;
}

static enum pfld_status read_sample(struct model *model, const char *path, struct pfld_error *error)
{
	char text[METADATA_BYTES], shown[SHOWN_BYTES];
	int crop, scaling, channels;
	enum pfld_status status = get_choice(path, "crop", CROP_CHOICES, &crop, error);
	if (!status) status = get_choice(path, "scaling", SCALING_CHOICES, &scaling, error);
	if (!status) status = get_choice(path, "channels", CHANNEL_CHOICES, &channels, error);
	if (!status) status = get(path, "points", text, error);
	if (status) return status;
	if (strcmp(text, POINTS_UNIT) != 0)
		return fail(error, PFLD_ERR_DATA, "%s: its points are \"%s\", this program knows \"%s\"", show(shown, path),
					text, POINTS_UNIT);
	model->sample = (struct pfld_sample_options){.size = model->net.size,
												 .crop = (enum pfld_crop_kind)crop,
												 .scaling = (enum pfld_scaling)scaling,
												 .bgr = channels == 1};
	return PFLD_OK;
}

enum pfld_status model_read(struct model *model, const char *path, struct pfld_error *error)
{
	char text[METADATA_BYTES];
	struct model fresh = {.has_corners = false};
	enum pfld_status status = read_net(&fresh, path, error);
	if (!status) status = read_sample(&fresh, path, error);
	if (!status) status = get(path, "loss", text, error);
	if (status) return status;
	snprintf(fresh.loss, sizeof fresh.loss, "%.20s", text);
	status = get(path, "nme_points", text, error);
	if (status) return status;
	int a, b;
	if (sscanf(text, "%d,%d", &a, &b) == 2) {
		fresh.has_corners = true;
		fresh.corners[0] = a;
		fresh.corners[1] = b;
	}
	*model = fresh;
	return PFLD_OK;
}

// Where kernels are kept when nobody says so; NULL: there is no home.
static const char *own_cache(char *buffer, size_t num_bytes)
{
	const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
	bool is_set = cache && cache[0] == '/'; // others are to be ignored, says the XDG specification
	int length = is_set                    ? snprintf(buffer, num_bytes, "%s/libpfld", cache)
				 : home && home[0] == '/' ? snprintf(buffer, num_bytes, "%s/.cache/libpfld", home)
										   : -1;
	return length > 0 && (size_t)length < num_bytes ? buffer : NULL;
}

enum pfld_status network_open_device(struct network *network, const struct network_options *options,
									 struct pfld_error *error)
{
	struct pfld_device_mask mask;
	pfld_device_mask_from_env(&mask);
	char buffer[PATH_BYTES];
	const char *cache = options->kernel_cache ? options->kernel_cache : own_cache(buffer, sizeof buffer);
	struct pfld_device_options device = {.mask = &mask,
										 .limit_bytes = options->memory_limit,
										 .memory_fraction = options->memory_fraction,
										 .allow_growth = options->allow_growth,
										 .num_threads = options->threads,
										 .cpu_level = options->cpu_level,
										 .kernel_cache = cache && strcmp(cache, "none") != 0 ? cache : NULL,
										 .log = options->log};
	return pfld_device_open(&network->device, options->device ? options->device : "auto", &device, error);
}

enum pfld_status network_open(struct network *network, const char *path, const struct model *model, int32_t batch,
							  const struct network_options *options, struct pfld_error *error)
{
	struct pfld_load_report report;
	enum pfld_status status = network_open_device(network, options, error);
	if (status) return status;
	network->net = pfld_net_create();
	if (!network->net) return fail(error, PFLD_ERR_MEMORY, "out of memory for a net");
	pfld_model_pfld(network->net, &model->net);
	status = pfld_weights_create(&network->weights, network->device, network->net, 0, error);
	if (status == PFLD_ERR_MEMORY) memory_page_of_inference(network, batch);
	if (!status) status = pfld_weights_load(network->weights, path, PFLD_LOAD_ALL, &report, error);
	return status;
}

void network_close(struct network *network)
{
	pfld_weights_destroy(&network->weights);
	pfld_net_destroy(&network->net);
	pfld_device_close(&network->device);
}
