// SPDX-License-Identifier: MIT
// pfld eval: how far a model's points are off, over a list and over its attribute subsets.
#include "commands.h"
#include "evaluate.h"
#include "json_out.h"
#include "predictor.h"
#include "say.h"
#include "train_config.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct eval_values {
	const char *model, *file_list, *list_format, *image_dir, *device, *cpu_level, *kernel_cache;
	double max_bad;
	int32_t batch_size, points, pts_base, threads, loader_threads;
	struct int_list nme_points;
	uint64_t memory_limit;
	double memory_fraction;
	bool allow_growth, json;
};

#define AT(field) offsetof(struct eval_values, field)
// clang-format off
static const struct option OPTIONS[] = {
	{"model", OPTION_STRING, AT(model), "FILE", .help = "model file, or the folder of a run (its best, else its last)"},
	{"file_list", OPTION_STRING, AT(file_list), "LIST", .help = "faces: a list, a folder of images and .pts, dlib XML, or builtin:test[:N]"},
	{"list_format", OPTION_CHOICE, AT(list_format), .choices = FORMAT_CHOICES, .help = "of the list"},
	{"image_dir", OPTION_STRING, AT(image_dir), "DIR", .help = "where images are looked up first"},
	{"max_bad", OPTION_DOUBLE, AT(max_bad), "SHARE", .low = 0, .high = 1, .help = "share of bad rows or images that is too many"},
	{"points", OPTION_INT, AT(points), "N", .low = 0, .high = 100000, .help = "landmarks of a face (0: those of the model)"},
	{"pts_base", OPTION_INT, AT(pts_base), "0|1", .low = 0, .high = 1, .help = "number of the first pixel in .pts files"},
	{"nme_points", OPTION_INTS, AT(nme_points), "A,B", .low = 0, .high = 100000, .help = "the two points, from 0, whose distance normalises the error"},
	{"batch_size", OPTION_INT, AT(batch_size), "N", .low = 1, .high = 65536, .help = "faces at a time; the answer does not depend on it"},
	{"device", OPTION_STRING, AT(device), "NAME", .help = "pfld devices lists them"},
	{"threads", OPTION_INT, AT(threads), "N", .low = 0, .high = 4096, .help = "for arithmetic (0: the CPUs of this process)"},
	{"loader_threads", OPTION_INT, AT(loader_threads), "N", .low = 0, .high = 4096, .help = "for decoding and cropping (0: the CPUs of this process)"},
	MEMORY_POLICY_OPTIONS,
	{"cpu_level", OPTION_STRING, AT(cpu_level), "LEVEL", .help = "instruction set, such as c or avx2 (best)"},
	KERNEL_CACHE_OPTION,
	{"json", OPTION_FLAG, AT(json), .help = "print JSON"},
	{.name = NULL},
};
// clang-format on

struct eval {
	const struct command *command;
	struct eval_values values;
	struct model model;
	struct pfld_dataset *dataset;
	struct network network;
	struct predictor predictor;
	struct evaluator *evaluator;
};

static enum pfld_status choose_corners(struct eval *eval, struct pfld_error *error)
{
	const struct int_list *given = &eval->values.nme_points;
	if (given->num == 2) {
		eval->model.has_corners = true;
		eval->model.corners[0] = given->values[0];
		eval->model.corners[1] = given->values[1];
	}
	for (int i = 0; eval->model.has_corners && i < 2; i++)
		if (eval->model.corners[i] < 0 || eval->model.corners[i] >= eval->model.net.num_points)
			return fail(error, PFLD_ERR_ARGUMENT, "--nme_points: point %d of %d points (they are numbered from 0)",
						(int)eval->model.corners[i], (int)eval->model.net.num_points);
	if (!eval->model.has_corners)
		return fail(error, PFLD_ERR_ARGUMENT, "no eye corners are known for %d points; --nme_points A,B names them",
					(int)eval->model.net.num_points);
	return PFLD_OK;
}

static enum pfld_status set_up(struct eval *eval, struct pfld_error *error)
{
	const struct eval_values *values = &eval->values;
	char path[PATH_BYTES], shown[SHOWN_BYTES];
	struct pfld_log log = say_log(eval->command->name);
	enum pfld_status status = model_read(&eval->model, model_path(path, values->model), error);
	if (status) return status;
	struct pfld_dataset_options options = {
		.format = (enum pfld_list_format)choice_index(FORMAT_CHOICES, values->list_format),
		.image_dir = values->image_dir,
		.num_points = values->points > 0 ? values->points : eval->model.net.num_points,
		.pts_base = values->pts_base == 0 ? -1 : 1,
		.max_bad = share_or_none(values->max_bad),
		.log = log};
	status = pfld_dataset_open(&eval->dataset, values->file_list, &options, error);
	if (status) return status;
	if (pfld_dataset_num_points(eval->dataset) != eval->model.net.num_points)
		return fail(error, PFLD_ERR_DATA, "%s has %d points a face, the model %d", show(shown, values->file_list),
					(int)pfld_dataset_num_points(eval->dataset), (int)eval->model.net.num_points);
	status = choose_corners(eval, error);
	struct network_options network = {values->device,       values->cpu_level,       values->threads,     log,
									  values->memory_limit, values->memory_fraction, values->allow_growth,
									  values->kernel_cache};
	if (!status) status = network_open(&eval->network, path, &eval->model, values->batch_size, &network, error);
	if (!status) status = predictor_create(&eval->predictor, &eval->network, &eval->model, values->batch_size, error);
	struct evaluator_options evaluator = {.dataset = eval->dataset,
										  .sample = eval->model.sample,
										  .batch = values->batch_size,
										  .num_threads = values->loader_threads,
										  .max_bad = share_or_none(values->max_bad),
										  .has_corners = true,
										  .corners = {eval->model.corners[0], eval->model.corners[1]},
										  .loss = {.point_scale = eval->model.net.size},
										  .log = log};
	pfld_loss_from_name(eval->model.loss, &evaluator.loss.kind);
	if (!status) status = evaluator_create(&eval->evaluator, &evaluator, error);
	return status;
}

static json_t *skip_json(const struct pfld_skip *skip)
{
	return json_pack("{s:o, s:I, s:o}", "path", json_utf8(skip->path), "line", (json_int_t)skip->line, "reason",
					 json_utf8(skip->reason));
}

static json_t *skips_json(const struct eval *eval)
{
	const struct pfld_skip *rows;
	const struct pfld_skipped_sample *samples;
	size_t num_rows = pfld_dataset_skips(eval->dataset, &rows),
		   num_samples = evaluator_skips(eval->evaluator, &samples);
	json_t *list = json_array();
	for (size_t i = 0; i < num_rows; i++) json_array_append_new(list, skip_json(&rows[i]));
	for (size_t i = 0; i < num_samples; i++) json_array_append_new(list, skip_json(&samples[i].skip));
	return list;
}

static json_t *subsets_json(const struct evaluation *evaluation)
{
	json_t *subsets = json_object();
	for (int i = 0; evaluation->has_subsets && i < NUM_ATTRIBUTES; i++) {
		json_t *subset = json_object();
		json_set_metrics(subset, &evaluation->subsets[i]);
		json_object_set_new(subsets, ATTRIBUTE_NAMES[i], subset);
	}
	return subsets;
}

static bool print_json(const struct eval *eval, const struct evaluation *evaluation)
{
	json_t *root = json_object();
	bool good = json_set_metrics(root, &evaluation->all) &&
				json_object_set_new(root, "undefined", json_integer(evaluation->all.num_undefined)) == 0 &&
				json_object_set_new(root, "loss", json_finite(evaluation->loss)) == 0 &&
				json_object_set_new(root, "subsets", subsets_json(evaluation)) == 0 &&
				json_object_set_new(root, "skipped", skips_json(eval)) == 0;
	if (!good) {
		json_decref(root);
		root = NULL;
	}
	return json_print(eval->command->name, root);
}

static void print_row(const char *name, const struct pfld_landmark_metrics *metrics)
{
	printf("%-14s%8lld", name, (long long)metrics->num_images);
	if (metrics->num_images > 0)
		printf("%11.3f %%%9.3f %%%10.2f %%%9.4f", metrics->nme * 100, metrics->nme_median * 100,
			   metrics->failure_rate * 100, metrics->auc);
	printf("\n");
}

static void print_table(const struct eval *eval, const struct evaluation *evaluation)
{
	const struct pfld_skip *rows;
	const struct pfld_skipped_sample *samples;
	size_t skipped = pfld_dataset_skips(eval->dataset, &rows) + evaluator_skips(eval->evaluator, &samples);
	printf("%-14s%8s%13s%11s%12s%9s\n", "", "images", "mean NME", "median", "failures", "AUC");
	print_row("all", &evaluation->all);
	for (int i = 0; evaluation->has_subsets && i < NUM_ATTRIBUTES; i++)
		print_row(ATTRIBUTE_NAMES[i], &evaluation->subsets[i]);
	if (evaluation->all.num_undefined > 0)
		printf("%lld faces have no eye distance and are not counted\n", (long long)evaluation->all.num_undefined);
	if (skipped > 0) printf("%zu rows or images were skipped (--json lists them)\n", skipped);
}

static bool check(const struct command *command, const struct eval_values *values)
{
	const char *missing = !values->model ? "model" : !values->file_list ? "file_list" : NULL;
	if (missing)
		say_error(command->name, "--%s is missing; pfld %s --help shows examples", missing, command->name);
	else if (values->nme_points.num != 0 && values->nme_points.num != 2)
		say_error(command->name, "--nme_points: two numbers are expected, such as 36,45");
	else
		return true;
	return false;
}

static int run(const struct command *command, int argc, char **argv)
{
	struct eval eval = {
		.command = command,
		.values = {.list_format = "auto", .device = "auto", .max_bad = 0.1, .batch_size = 32, .pts_base = 1}};
	struct arguments arguments;
	struct evaluation evaluation;
	struct pfld_error error;
	int code;
	if (!options_parse(command, argc, argv, &eval.values, &arguments, &code)) return code;
	if (!check(command, &eval.values)) return EXIT_USAGE;
	enum pfld_status status = set_up(&eval, &error);
	if (!status) status = evaluator_run(eval.evaluator, predictor_run, &eval.predictor, &evaluation, &error);
	code = EXIT_GOOD;
	if (status)
		code = say_failure(command->name, &error);
	else if (!eval.values.json)
		print_table(&eval, &evaluation);
	else if (!print_json(&eval, &evaluation))
		code = EXIT_BAD;
	evaluator_destroy(&eval.evaluator);
	predictor_destroy(&eval.predictor);
	network_close(&eval.network);
	pfld_dataset_close(&eval.dataset);
	return code;
}

const struct command EVAL_COMMAND = {
	.name = "eval",
	.summary = "measure a model on a list of faces",
	.operands = "",
	.examples = "  pfld eval --model m --file_list builtin:test\n"
				"  pfld eval --model m/best.safetensors --file_list WFLW/list_98pt_rect_attr_test.txt --json\n",
	.options = OPTIONS,
	.run = run,
};
