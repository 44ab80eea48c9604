// SPDX-License-Identifier: MIT
// pfld predict: points of faces in images, as JSON, .pts files and pictures with the points drawn.
#include "commands.h"
#include "json_out.h"
#include "predictor.h"
#include "say.h"
#include "train_config.h"

#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

struct predict_values {
	const char *model, *file_list, *list_format, *image_dir, *out, *box, *device, *cpu_level, *kernel_cache;
	double max_bad;
	int32_t points, pts_base, threads;
	uint64_t memory_limit;
	double memory_fraction;
	bool allow_growth, quiet;
};

#define AT(field) offsetof(struct predict_values, field)
// clang-format off
static const struct option OPTIONS[] = {
	{"model", OPTION_STRING, AT(model), "FILE", .help = "model file, or the folder of a run (its best, else its last)"},
	{"out", OPTION_STRING, AT(out), "DIR", .help = "gets NAME.json, NAME.pts and NAME.png for each face; without it JSON goes to standard output"},
	{"box", OPTION_STRING, AT(box), "X0,Y0,X1,Y1", .help = "the face in the images, in pixels; without it the centred square"},
	{"file_list", OPTION_STRING, AT(file_list), "LIST", .help = "faces of a list instead of images: their boxes, or where it has none squares about their points"},
	{"list_format", OPTION_CHOICE, AT(list_format), .choices = FORMAT_CHOICES, .help = "of the list"},
	{"image_dir", OPTION_STRING, AT(image_dir), "DIR", .help = "where the list's images are looked up first"},
	{"max_bad", OPTION_DOUBLE, AT(max_bad), "SHARE", .low = 0, .high = 1, .help = "share of bad rows that is too many"},
	{"points", OPTION_INT, AT(points), "N", .low = 0, .high = 100000, .help = "landmarks of a face in the list (0: what it says)"},
	{"pts_base", OPTION_INT, AT(pts_base), "0|1", .low = 0, .high = 1, .help = "number of the first pixel in .pts files"},
	{"device", OPTION_STRING, AT(device), "NAME", .help = "pfld devices lists them"},
	{"threads", OPTION_INT, AT(threads), "N", .low = 0, .high = 4096, .help = "for arithmetic (0: the CPUs of this process)"},
	MEMORY_POLICY_OPTIONS,
	{"cpu_level", OPTION_STRING, AT(cpu_level), "LEVEL", .help = "instruction set, such as c or avx2 (best)"},
	KERNEL_CACHE_OPTION,
	{"quiet", OPTION_FLAG, AT(quiet), .help = "do not name the files written"},
	{.name = NULL},
};
// clang-format on

struct predict {
	const struct command *command;
	struct predict_values values;
	double box[4];
	struct model model;
	struct network network;
	struct predictor predictor;
	struct pfld_dataset *dataset;
	struct pfld_image image;
	float *inputs, *points; // of one face: (size, size, 3), (P, 2) crop-relative
	double *pixels;         // (P, 2) of the image
	json_t *results;        // what goes to standard output; NULL with --out
	char **names;           // file names given out
	size_t num_names;
	int64_t num_done, num_failed;
	bool said_square;
};

// ---- writing ----

// What is written is whole or absent: beside, then renamed.
static bool write_text(struct predict *predict, const char *path, const char *text)
{
	char beside[PATH_BYTES + 8], shown[SHOWN_BYTES];
	snprintf(beside, sizeof beside, "%s.tmp", path);
	FILE *file = fopen(beside, "wb");
	bool good = file && fputs(text, file) >= 0 && fflush(file) == 0;
	int reason = errno;
	if (file && fclose(file) != 0 && good) {
		reason = errno;
		good = false;
	}
	if (good && rename(beside, path) == 0) return true;
	if (good) reason = errno;
	remove(beside);
	say_error(predict->command->name, "%s cannot be written: %s", show(shown, path), strerror(reason));
	return false;
}

static bool write_pts(struct predict *predict, const char *path)
{
	int32_t num = predict->model.net.num_points;
	size_t capacity = 64 + (size_t)num * 64, used;
	char *text = malloc(capacity);
	if (!text) {
		say_error(predict->command->name, "out of memory for %s", path);
		return false;
	}
	used = (size_t)snprintf(text, capacity, "version: 1\nn_points: %d\n{\n", (int)num);
	for (int32_t i = 0; i < num; i++) // .pts files count pixels from 1
		used += (size_t)snprintf(text + used, capacity - used, "%.3f %.3f\n", predict->pixels[2 * i] + 1,
								 predict->pixels[2 * i + 1] + 1);
	snprintf(text + used, capacity - used, "}\n");
	bool good = write_text(predict, path, text);
	free(text);
	return good;
}

static bool write_picture(struct predict *predict, const char *path, double box_side)
{
	static const uint8_t COLOUR[3] = {60, 230, 90};
	double radius = box_side / 130 < 0.8 ? 0.8 : box_side / 130;
	struct pfld_error error;
	for (int32_t i = 0; i < predict->model.net.num_points; i++)
		pfld_image_draw_disc(&predict->image, predict->pixels[2 * i], predict->pixels[2 * i + 1], radius, COLOUR);
	if (pfld_image_write_png(&predict->image, path, &error) == PFLD_OK) return true;
	say_failure(predict->command->name, &error);
	return false;
}

// The stem of a path; for a list with the face's number before it. Distinct from the names given out before.
static const char *choose_name(struct predict *predict, const char *path, int64_t index)
{
	const char *base = strrchr(path, '/') && strncmp(path, "builtin:", 8) != 0 ? strrchr(path, '/') + 1 : path;
	const char *dot = strrchr(base, '.');
	int length = dot && dot != base ? (int)(dot - base) : (int)strlen(base);
	char number[32] = "", name[PATH_BYTES];
	if (index >= 0) snprintf(number, sizeof number, "%lld_", (long long)index);
	for (int copy = 1;; copy++) {
		char copy_text[16] = "";
		bool taken = false;
		if (copy > 1) snprintf(copy_text, sizeof copy_text, "_%d", copy);
		snprintf(name, sizeof name, "%s%.*s%s", number, length > 200 ? 200 : length, base, copy_text);
		// The number keeps the faces of a list apart.
		for (size_t i = 0; index < 0 && i < predict->num_names && !taken; i++)
			taken = strcmp(predict->names[i], name) == 0;
		if (!taken) break;
	}
	for (char *c = name; *c; c++)
		if (*c == '/' || *c == ':') *c = '_';
	char **grown = realloc(predict->names, (predict->num_names + 1) * sizeof(*grown));
	char *copy = grown ? strdup(name) : NULL;
	if (grown) predict->names = grown;
	if (copy) predict->names[predict->num_names++] = copy;
	return copy;
}

static json_t *result_json(const struct predict *predict, const char *path, const double box[4])
{
	json_t *points = json_array();
	for (int32_t i = 0; i < predict->model.net.num_points; i++)
		json_array_append_new(
			points, json_pack("[o, o]", json_finite(predict->pixels[2 * i]), json_finite(predict->pixels[2 * i + 1])));
	return json_pack("{s:o, s:i, s:i, s:[o, o, o, o], s:o}", "image", json_utf8(path), "width",
					 (int)predict->image.width, "height", (int)predict->image.height, "box", json_finite(box[0]),
					 json_finite(box[1]), json_finite(box[2]), json_finite(box[3]), "points", points);
}

static bool write_files(struct predict *predict, const char *path, int64_t index, const double box[4], json_t *result)
{
	char file[PATH_BYTES + 64];
	const char *name = choose_name(predict, path, index), *out = predict->values.out;
	char *text = json_dumps(result, JSON_INDENT(1) | JSON_REAL_PRECISION(9));
	bool good = name && text;
	if (!good) say_error(predict->command->name, "out of memory for the points of %s", path);
	if (good) {
		snprintf(file, sizeof file, "%s/%s.json", out, name);
		good = write_text(predict, file, text);
	}
	if (good) {
		snprintf(file, sizeof file, "%s/%s.pts", out, name);
		good = write_pts(predict, file);
	}
	if (good) {
		double width = box[2] - box[0], height = box[3] - box[1];
		snprintf(file, sizeof file, "%s/%s.png", out, name);
		good = write_picture(predict, file, width > height ? width : height);
	}
	if (good && !predict->values.quiet) printf("%s\n", file);
	free(text);
	return good;
}

// ---- one face ----

// The image is in predict->image. False: the error is said.
static bool predict_face(struct predict *predict, const char *path, int64_t index, const double box[4])
{
	struct pfld_error error;
	double map[6];
	float corners[4] = {(float)box[0], (float)box[1], (float)box[2], (float)box[3]};
	struct pfld_batch batch = {.slot = -1, .num_samples = 1, .capacity = 1, .inputs = predict->inputs};
	enum pfld_status status =
		pfld_sample_box(&predict->image, corners, &predict->model.sample, predict->inputs, map, &error);
	if (!status) status = predictor_run(&predict->predictor, &batch, predict->points, &error);
	if (status) {
		char shown[SHOWN_BYTES];
		say_error(predict->command->name, "%s: %s", show(shown, path), error.message);
		return false;
	}
	for (int32_t i = 0; i < predict->model.net.num_points; i++) {
		double u = predict->points[2 * i], v = predict->points[2 * i + 1];
		predict->pixels[2 * i] = map[0] * u + map[1] * v + map[2];
		predict->pixels[2 * i + 1] = map[3] * u + map[4] * v + map[5];
	}
	json_t *result = result_json(predict, path, box);
	bool good = result != NULL;
	if (!good) say_error(predict->command->name, "out of memory for the points of %s", path);
	if (good && predict->values.out) good = write_files(predict, path, index, box, result);
	if (good && !predict->values.out) good = json_array_append(predict->results, result) == 0;
	json_decref(result);
	return good;
}

static void count(struct predict *predict, bool good)
{
	predict->num_done += good;
	predict->num_failed += !good;
}

// The centred square of a picture as a face box.
static void square_box(const struct pfld_image *image, double share, double box[4])
{
	double side = (image->width < image->height ? image->width : image->height) * share;
	double x = (image->width - 1) / 2.0, y = (image->height - 1) / 2.0;
	box[0] = x - side / 2;
	box[1] = y - side / 2;
	box[2] = x + side / 2;
	box[3] = y + side / 2;
}

static void predict_image(struct predict *predict, const char *path)
{
	struct pfld_error error;
	double box[4];
	if (pfld_image_read(&predict->image, path, NULL, NULL, &error)) {
		say_failure(predict->command->name, &error);
		count(predict, false);
		return;
	}
	square_box(&predict->image, 1, box);
	if (predict->values.box)
		memcpy(box, predict->box, sizeof box);
	else if (!predict->said_square)
		say_warning(predict->command->name, "no --box: the centred square of each picture is taken as the face");
	predict->said_square = true;
	count(predict, predict_face(predict, path, -1, box));
}

// ---- images, folders, lists ----

static int is_picture(const struct dirent *entry)
{
	const char *dot = strrchr(entry->d_name, '.');
	return dot && entry->d_name[0] != '.' &&
		   (strcasecmp(dot, ".jpg") == 0 || strcasecmp(dot, ".jpeg") == 0 || strcasecmp(dot, ".png") == 0);
}

static int by_bytes(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

static void predict_folder(struct predict *predict, const char *folder)
{
	struct dirent **entries;
	char path[PATH_BYTES], shown[SHOWN_BYTES];
	int num = scandir(folder, &entries, is_picture, by_bytes);
	if (num <= 0) {
		say_error(predict->command->name, "%s: %s", show(shown, folder),
				  num < 0 ? strerror(errno) : "no .jpg, .jpeg or .png in this folder");
		count(predict, false);
	}
	for (int i = 0; i < num; i++) {
		snprintf(path, sizeof path, "%s/%s", folder, entries[i]->d_name);
		predict_image(predict, path);
		free(entries[i]);
	}
	if (num >= 0) free(entries);
}

// The face's box in its image: the list's own; the whole picture where it is the crop already; else a square about the
// points, of the size that training crops. pfld_sample_box() takes 1.1 x the box, training 1.2 x the points' extent.
static void face_box(const struct predict *predict, const struct pfld_face *face, double box[4])
{
	double low[2] = {INFINITY, INFINITY}, high[2] = {-INFINITY, -INFINITY};
	for (int i = 0; i < 4; i++) box[i] = face->box[i];
	if (face->crop_relative) square_box(&predict->image, 1 / 1.1, box);
	if (face->crop_relative || face->has_box) return;
	for (int32_t i = 0; i < pfld_dataset_num_points(predict->dataset); i++) {
		if (face->present && !face->present[i]) continue;
		for (int c = 0; c < 2; c++) {
			low[c] = fmin(low[c], face->points[2 * i + c]);
			high[c] = fmax(high[c], face->points[2 * i + c]);
		}
	}
	double side = fmax(high[0] - low[0], high[1] - low[1]) * 1.2 / 1.1;
	for (int c = 0; c < 2; c++) {
		box[c] = (low[c] + high[c]) / 2 - side / 2;
		box[c + 2] = (low[c] + high[c]) / 2 + side / 2;
	}
}

static void predict_list_face(struct predict *predict, int64_t index)
{
	struct pfld_face face;
	struct pfld_error error;
	double box[4];
	pfld_dataset_face(predict->dataset, index, &face);
	if (pfld_dataset_image(predict->dataset, index, &predict->image, &error)) {
		say_failure(predict->command->name, &error);
		count(predict, false);
		return;
	}
	face_box(predict, &face, box);
	count(predict, predict_face(predict, face.image_path, index, box));
}

static enum pfld_status open_list(struct predict *predict, struct pfld_error *error)
{
	const struct predict_values *values = &predict->values;
	struct pfld_dataset_options options = {.format =
											   (enum pfld_list_format)choice_index(FORMAT_CHOICES, values->list_format),
										   .image_dir = values->image_dir,
										   .num_points = values->points,
										   .pts_base = values->pts_base == 0 ? -1 : 1,
										   .max_bad = share_or_none(values->max_bad),
										   .log = say_log(predict->command->name)};
	enum pfld_status status = pfld_dataset_open(&predict->dataset, values->file_list, &options, error);
	if (status) return status;
	const struct pfld_skip *skips;
	size_t num = pfld_dataset_skips(predict->dataset, &skips);
	for (size_t i = 0; i < num; i++) {
		say_error(predict->command->name, "%s", skips[i].reason);
		count(predict, false);
	}
	return PFLD_OK;
}

static bool is_folder(const char *path)
{
	struct stat info;
	return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

static enum pfld_status predict_all(struct predict *predict, const struct arguments *arguments,
									struct pfld_error *error)
{
	if (predict->values.file_list) {
		enum pfld_status status = open_list(predict, error);
		if (status) return status;
		for (int64_t i = 0; i < pfld_dataset_size(predict->dataset); i++) predict_list_face(predict, i);
	}
	for (int32_t i = 0; i < arguments->num_operands; i++) {
		if (is_folder(arguments->operands[i]))
			predict_folder(predict, arguments->operands[i]);
		else
			predict_image(predict, arguments->operands[i]);
	}
	return PFLD_OK;
}

// ---- all of it ----

static enum pfld_status set_up(struct predict *predict, struct pfld_error *error)
{
	const struct predict_values *values = &predict->values;
	char path[PATH_BYTES], shown[SHOWN_BYTES];
	enum pfld_status status = model_read(&predict->model, model_path(path, values->model), error);
	struct network_options network = {.device = values->device,
									  .cpu_level = values->cpu_level,
									  .kernel_cache = values->kernel_cache,
									  .threads = values->threads,
									  .log = say_log(predict->command->name),
									  .memory_limit = values->memory_limit,
									  .memory_fraction = values->memory_fraction,
									  .allow_growth = values->allow_growth};
	if (!status) status = network_open(&predict->network, path, &predict->model, 1, &network, error);
	if (!status) status = predictor_create(&predict->predictor, &predict->network, &predict->model, 1, error);
	if (status) return status;
	predict->inputs = calloc((size_t)predict->predictor.image_elements, sizeof(float));
	predict->points = calloc((size_t)predict->predictor.points_elements, sizeof(float));
	predict->pixels = calloc((size_t)predict->predictor.points_elements, sizeof(double));
	predict->results = values->out ? NULL : json_array();
	if (!predict->inputs || !predict->points || !predict->pixels || (!values->out && !predict->results))
		return fail(error, PFLD_ERR_MEMORY, "out of memory for a face");
	if (values->out && mkdir(values->out, 0777) != 0 && !is_folder(values->out))
		return fail(error, PFLD_ERR_IO, "%s cannot be made: %s", show(shown, values->out), strerror(errno));
	return PFLD_OK;
}

static void finish(struct predict *predict)
{
	for (size_t i = 0; i < predict->num_names; i++) free(predict->names[i]);
	free(predict->names);
	free(predict->inputs);
	free(predict->points);
	free(predict->pixels);
	pfld_image_finish(&predict->image);
	predictor_destroy(&predict->predictor);
	network_close(&predict->network);
	pfld_dataset_close(&predict->dataset);
}

// "X0,Y0,X1,Y1" with X0 < X1 and Y0 < Y1.
static bool read_box(const char *text, double box[4])
{
	char *end;
	for (int i = 0; i < 4; i++) {
		box[i] = strtod(text, &end);
		if (end == text || *end != (i < 3 ? ',' : '\0') || !isfinite(box[i])) return false;
		text = end + 1;
	}
	return box[0] < box[2] && box[1] < box[3];
}

static bool check(struct predict *predict, const struct arguments *arguments)
{
	const char *name = predict->command->name;
	if (!predict->values.model)
		say_error(name, "--model is missing; pfld predict --help shows examples");
	else if (arguments->num_operands == 0 && !predict->values.file_list)
		say_error(name, "no images: name files or folders, or a --file_list");
	else if (predict->values.box && !read_box(predict->values.box, predict->box))
		say_error(name, "--box: four numbers X0,Y0,X1,Y1 with X0 < X1 and Y0 < Y1 are expected");
	else
		return true;
	return false;
}

static int run(const struct command *command, int argc, char **argv)
{
	struct predict predict = {.command = command,
							  .values = {.list_format = "auto", .device = "auto", .max_bad = 0.1, .pts_base = 1}};
	struct arguments arguments;
	struct pfld_error error;
	int code;
	if (!options_parse(command, argc, argv, &predict.values, &arguments, &code)) return code;
	if (!check(&predict, &arguments)) return EXIT_USAGE;
	enum pfld_status status = set_up(&predict, &error);
	if (!status) status = predict_all(&predict, &arguments, &error);
	code = EXIT_GOOD;
	if (status) code = say_failure(command->name, &error);
	if (!status && predict.results && !json_print(command->name, json_incref(predict.results))) code = EXIT_BAD;
	if (predict.num_failed > 0) code = EXIT_BAD;
	if (predict.num_failed > 0 && predict.num_done > 0)
		say_error(command->name, "%lld of %lld faces failed", (long long)predict.num_failed,
				  (long long)(predict.num_failed + predict.num_done));
	json_decref(predict.results);
	finish(&predict);
	return code;
}

const struct command PREDICT_COMMAND = {
	.name = "predict",
	.summary = "find the points of faces in images",
	.operands = "[IMAGE or FOLDER ...]",
	.max_operands = INT32_MAX,
	.examples = "  pfld predict --model m face.jpg\n"
				"  pfld predict --model m --box 40,30,200,190 photo.png --out points\n"
				"  pfld predict --model m --file_list builtin:test:8 --out faces\n",
	.options = OPTIONS,
	.run = run,
};
