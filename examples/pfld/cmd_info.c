// SPDX-License-Identifier: MIT
// pfld info: what a file is. An image is decoded whole; a model is read to its last layer; either may be refused, with
// the reason. By content, not by name.
#include "commands.h"
#include "json_out.h"
#include "model_file.h"
#include "say.h"

#include <pfld/digest.h>
#include <pfld/file.h>
#include <pfld/image.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct info_values {
	double alpha;
	int32_t image_size;
	bool json;
};
static const struct option OPTIONS[] = {
	{"alpha", OPTION_DOUBLE, offsetof(struct info_values, alpha), "A", .low = 0.05, .high = 8,
	 .help = "MobileNets by name: times every channel count"},
	{"image_size", OPTION_INT, offsetof(struct info_values, image_size), "N", .low = 0, .high = 4096,
	 .help = "image classifiers by name: side of the square input (0: as their makers have it)"},
	{"json", OPTION_FLAG, offsetof(struct info_values, json), .help = "print JSON"},
	{.name = NULL},
};

// ---- images ----

static const char *format_name(enum pfld_image_format format)
{
	return format == PFLD_IMAGE_JPEG ? "JPEG" : format == PFLD_IMAGE_PNG ? "PNG" : "unknown";
}

static int print_image(const struct command *command, const char *path, const struct pfld_image *image,
					   const struct pfld_image_info *info, bool json)
{
	char sha256[65];
	pfld_sha256_hex(image->pixels, (size_t)image->width * (size_t)image->height * 3, sha256);
	if (json) {
		json_t *root = json_pack("{s:o, s:s, s:s, s:i, s:i, s:i, s:i, s:i, s:s}", "file", json_utf8(path), "kind",
								 "image", "format", format_name(info->format), "width", (int)info->width, "height",
								 (int)info->height, "orientation", (int)info->orientation, "channels",
								 (int)info->channels, "bits", (int)info->bits, "pixels_sha256", sha256);
		return json_print(command->name, root) ? EXIT_GOOD : EXIT_BAD;
	}
	printf("format %s\nsize %d x %d\norientation %d\nchannels %d\nbits %d\npixels_sha256 %s\n",
		   format_name(info->format), (int)info->width, (int)info->height, (int)info->orientation, (int)info->channels,
		   (int)info->bits, sha256);
	return EXIT_GOOD;
}

static int info_image(const struct command *command, const char *path, bool json)
{
	struct pfld_image image = {0};
	struct pfld_image_info info;
	struct pfld_error error;
	int code = pfld_image_read(&image, path, NULL, &info, &error) ? say_failure(command->name, &error)
																  : print_image(command, path, &image, &info, json);
	pfld_image_finish(&image);
	return code;
}

// ---- models ----

struct listing {
	json_t *metadata, *tensors;
};

static void list_metadata(void *context, const char *key, const char *value)
{
	struct listing *listing = context;
	json_object_set_new(listing->metadata, key, json_utf8(value));
}

static void list_tensor(void *context, const struct pfld_file_tensor *tensor)
{
	struct listing *listing = context;
	json_t *shape = json_array();
	for (int32_t i = 0; i < tensor->num_dims; i++)
		json_array_append_new(shape, json_integer((json_int_t)tensor->dims[i]));
	json_array_append_new(listing->tensors,
						  json_pack("{s:o, s:s, s:o, s:I}", "name", json_utf8(tensor->name), "type", tensor->type,
									"shape", shape, "bytes", (json_int_t)tensor->num_bytes));
}

static json_t *layers_json(const struct pfld_net *net)
{
	json_t *layers = json_array();
	for (int32_t i = 0; i < pfld_net_num_layers(net); i++) {
		struct pfld_layer_info layer;
		pfld_net_layer(net, i, &layer);
		json_array_append_new(layers,
							  json_pack("{s:s, s:s, s:[i, i, i], s:I, s:I, s:I}", "name", layer.name, "kind",
										layer.kind, "output", (int)layer.height, (int)layer.width, (int)layer.channels,
										"parameters", (json_int_t)layer.parameters, "statistics",
										(json_int_t)layer.statistics, "macs", (json_int_t)layer.macs));
	}
	return layers;
}

// Adds "layers", "parameters", "statistics", "macs" of a net, as far as `output` needs it.
static enum pfld_status add_layers(json_t *root, const struct pfld_net *net, const char *output,
								   struct pfld_error *error)
{
	int64_t parameters, statistics, macs;
	enum pfld_status status = pfld_net_count(net, output, &parameters, &statistics, &macs, error);
	if (!status) {
		json_object_set_new(root, "parameters", json_integer((json_int_t)parameters));
		json_object_set_new(root, "statistics", json_integer((json_int_t)statistics));
		json_object_set_new(root, "macs", json_integer((json_int_t)macs));
		json_object_set_new(root, "layers", layers_json(net));
	}
	return status;
}

// The same of the net that the file is the weights of.
static enum pfld_status add_net(json_t *root, const struct model *model, struct pfld_error *error)
{
	struct pfld_net *net = pfld_net_create();
	if (!net) return fail(error, PFLD_ERR_MEMORY, "out of memory for a net");
	pfld_model_pfld(net, &model->net);
	enum pfld_status status = add_layers(root, net, "points", error);
	pfld_net_destroy(&net);
	return status;
}

static void print_text(const json_t *root)
{
	const char *key;
	json_t *item;
	size_t i;
	json_object_foreach(json_object_get(root, "metadata"), key, item)
	{
		const char *value = json_string_value(item);
		printf("%s: %.100s%s\n", key, value, strlen(value) > 100 ? " ..." : "");
	}
	if (json_array_size(json_object_get(root, "layers")) > 0)
		printf("\n%-24s%-18s%16s%12s%14s\n", "layer", "kind", "output", "parameters", "MACs");
	json_array_foreach(json_object_get(root, "layers"), i, item)
	{
		const json_t *output = json_object_get(item, "output");
		char shape[64];
		snprintf(shape, sizeof shape, "%lld x %lld x %lld", (long long)json_integer_value(json_array_get(output, 0)),
				 (long long)json_integer_value(json_array_get(output, 1)),
				 (long long)json_integer_value(json_array_get(output, 2)));
		printf("%-24s%-18s%16s%12lld%14lld\n", json_string_value(json_object_get(item, "name")),
			   json_string_value(json_object_get(item, "kind")), shape,
			   (long long)json_integer_value(json_object_get(item, "parameters")),
			   (long long)json_integer_value(json_object_get(item, "macs")));
	}
	printf("\n");
	if (json_object_get(root, "parameters"))
		printf("parameters %lld, batch-norm statistics %lld, multiply-adds %lld\n",
			   (long long)json_integer_value(json_object_get(root, "parameters")),
			   (long long)json_integer_value(json_object_get(root, "statistics")),
			   (long long)json_integer_value(json_object_get(root, "macs")));
	if (json_object_get(root, "tensors"))
		printf("tensors in the file: %zu (--json lists them)\n", json_array_size(json_object_get(root, "tensors")));
}

static int info_model(const struct command *command, const char *path, bool json)
{
	struct listing listing = {.metadata = json_object(), .tensors = json_array()};
	struct pfld_file_visitor visitor = {.context = &listing, .metadata = list_metadata, .tensor = list_tensor};
	struct model model;
	struct pfld_error error;
	int code = EXIT_GOOD;
	enum pfld_status status = pfld_file_list(path, &visitor, &error);
	json_t *root = json_pack("{s:o, s:s, s:s, s:O, s:O}", "file", json_utf8(path), "kind", "model", "format",
							 json_object_get(listing.metadata, "layout") ? "keras_h5" : "safetensors", "metadata",
							 listing.metadata, "tensors", listing.tensors);
	// A file of weights that is no PFLD is listed without layers.
	if (!status && json_object_get(listing.metadata, "model")) {
		status = model_read(&model, path, &error);
		if (!status) status = add_net(root, &model, &error);
	}
	if (status)
		code = say_failure(command->name, &error);
	else if (!json)
		print_text(root);
	else if (!json_print(command->name, json_incref(root)))
		code = EXIT_BAD;
	json_decref(root);
	json_decref(listing.metadata);
	json_decref(listing.tensors);
	return code;
}

// An image classifier with its top, by name, without a file.
static int info_backbone(const struct command *command, const char *name, enum pfld_backbone backbone,
						 const struct info_values *values)
{
	struct pfld_error error;
	struct pfld_backbone_info info = {.name = name};
	struct pfld_backbone_options options = {.backbone = backbone,
											.alpha = values->alpha,
											.height = values->image_size,
											.width = values->image_size,
											.include_top = true};
	struct pfld_net *net = pfld_net_create();
	pfld_model_backbone(net, &options);
	pfld_backbone_get_info(backbone, &info);
	json_t *root = json_pack("{s:s, s:s, s:{s:s, s:s}}", "kind", "model", "format", "built-in", "metadata", "model",
							 info.name, "preprocessing", pfld_preprocessing_name(info.preprocessing));
	enum pfld_status status = add_layers(root, net, NULL, &error);
	int code = EXIT_GOOD;
	if (status)
		code = say_failure(command->name, &error);
	else if (!values->json)
		print_text(root);
	else if (!json_print(command->name, json_incref(root)))
		code = EXIT_BAD;
	json_decref(root);
	pfld_net_destroy(&net);
	return code;
}

// ---- which of the two ----

// A safetensors file begins with the length of its header and "{", one of Keras's with HDF5's signature or zip's; where a
// damaged one does not, its name still says so.
static bool looks_like_model(const char *path)
{
	unsigned char head[9] = {0};
	struct stat info;
	// A pipe would be waited for.
	FILE *file = stat(path, &info) == 0 && S_ISREG(info.st_mode) ? fopen(path, "rb") : NULL;
	size_t num = file ? fread(head, 1, sizeof head, file) : 0;
	if (file) fclose(file);
	const char *dot = strrchr(path, '.');
	static const char *const endings[] = {".safetensors", ".h5", ".keras", ".pt", ".pth", ".pkl"};
	for (size_t i = 0; dot && i < sizeof endings / sizeof *endings; i++)
		if (strcmp(dot, endings[i]) == 0) return true;
	return (num == sizeof head && head[8] == '{') ||
		   (num >= 8 && (memcmp(head, "\211HDF\r\n\032\n", 8) == 0 || memcmp(head, "PK\3\4", 4) == 0));
}

static int run(const struct command *command, int argc, char **argv)
{
	struct info_values values = {.alpha = 0};
	enum pfld_backbone backbone;
	struct stat info;
	struct arguments arguments;
	char path[PATH_BYTES];
	int code;
	if (!options_parse(command, argc, argv, &values, &arguments, &code)) return code;
	if (pfld_backbone_from_name(arguments.operands[0], &backbone) && stat(arguments.operands[0], &info) != 0)
		return info_backbone(command, arguments.operands[0], backbone, &values);
	if (option_given(command, &arguments, "alpha") || option_given(command, &arguments, "image_size")) {
		say_error(command->name, "--alpha and --image_size belong to the name of an image classifier, such as mobilenet_v2");
		return EXIT_USAGE;
	}
	model_path(path, arguments.operands[0]);
	return looks_like_model(path) ? info_model(command, path, values.json) : info_image(command, path, values.json);
}

const struct command INFO_COMMAND = {
	.name = "info",
	.summary = "tell what an image or a model file is, or why it cannot be read",
	.operands = "FILE",
	.min_operands = 1,
	.max_operands = 1,
	.examples = "  pfld info face.jpg\n  pfld info m/best.safetensors --json\n"
				"  pfld info weights.h5\n  pfld info mobilenet_v2 --alpha 0.35\n",
	.options = OPTIONS,
	.run = run,
};
