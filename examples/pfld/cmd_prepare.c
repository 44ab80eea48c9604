// SPDX-License-Identifier: MIT
// pfld prepare: crops and a prepared list from any list of faces, as the originals' scripts wrote them.
#include "commands.h"
#include "json_out.h"
#include "model_file.h"
#include "say.h"
#include "train_config.h"

#include <pfld/data.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct prepare_values {
	const char *file_list, *list_format, *image_dir, *out, *augment, *mirror_map;
	double max_bad;
	int32_t copies, image_size, points, pts_base, threads;
	uint64_t seed;
	bool quiet, json;
};

#define AT(field) offsetof(struct prepare_values, field)
// clang-format off
static const struct option OPTIONS[] = {
	{"file_list", OPTION_STRING, AT(file_list), "LIST", .help = "faces: a list, a folder of images and .pts, dlib XML, or builtin:train[:N]"},
	{"list_format", OPTION_CHOICE, AT(list_format), .choices = FORMAT_CHOICES, .help = "of the list"},
	{"image_dir", OPTION_STRING, AT(image_dir), "DIR", .help = "where images are looked up first"},
	{"max_bad", OPTION_DOUBLE, AT(max_bad), "SHARE", .low = 0, .high = 1, .help = "share of bad rows or images that is too many"},
	{"points", OPTION_INT, AT(points), "N", .low = 0, .high = 100000, .help = "landmarks of a face (0: what the list says)"},
	{"pts_base", OPTION_INT, AT(pts_base), "0|1", .low = 0, .high = 1, .help = "number of the first pixel in .pts files"},
	{"out", OPTION_STRING, AT(out), "DIR", .help = "gets list.txt and imgs/"},
	{"copies", OPTION_INT, AT(copies), "N", .low = 1, .high = 10000, .help = "of each face: the plain crop, the others augmented"},
	{"image_size", OPTION_INT, AT(image_size), "N", .low = 16, .high = 4096, .help = "side of the crops"},
	{"augment", OPTION_CHOICE, AT(augment), .choices = "tf|pt", .help = "whose rotations: -20..20 or -30..30 degrees"},
	{"mirror_map", OPTION_STRING, AT(mirror_map), "FILE", .help = "which point becomes which in the mirror, one line of numbers"},
	{"seed", OPTION_SEED, AT(seed), "N", .help = "of the augmented copies"},
	{"threads", OPTION_INT, AT(threads), "N", .low = 0, .high = 4096, .help = "(0: the CPUs of this process)"},
	{"quiet", OPTION_FLAG, AT(quiet), .help = "no progress"},
	{"json", OPTION_FLAG, AT(json), .help = "print the result as JSON"},
	{.name = NULL},
};
// clang-format on

static void show_progress(void *context, int64_t done, int64_t total)
{
	if (done != total && done % 50 != 0) return;
	printf("\r\033[K%lld/%lld faces", (long long)done, (long long)total);
	say_progress_open(done != total);
	if (done == total) printf("\r\033[K");
	fflush(stdout);
}

// The mirror map to use, NULL for none; *own is freed by the caller.
static enum pfld_status choose_mirror_map(const struct command *command, const struct prepare_values *values,
										  int32_t num_points, const int32_t **map, int32_t **own,
										  struct pfld_error *error)
{
	*map = pfld_mirror_map(num_points);
	if (values->mirror_map) {
		*map = *own = calloc((size_t)num_points, sizeof(int32_t));
		if (!*own) return fail(error, PFLD_ERR_MEMORY, "out of memory for a mirror map");
		return pfld_mirror_map_read(values->mirror_map, num_points, *own, error);
	}
	if (!*map && values->copies > 1)
		say_warning(command->name,
					"no mirror map is known for %d points, so faces are not mirrored; --mirror_map FILE "
					"gives one",
					(int)num_points);
	return PFLD_OK;
}

static enum pfld_status prepare(const struct command *command, const struct prepare_values *values,
								const struct pfld_dataset *dataset, struct pfld_prepare_result *result,
								struct pfld_error *error)
{
	int32_t *own_map = NULL;
	bool show = !values->quiet && !values->json && isatty(STDOUT_FILENO);
	struct pfld_prepare_options options = {.size = values->image_size,
										   .copies = values->copies,
										   .augment =
											   strcmp(values->augment, "pt") == 0 ? PFLD_AUGMENT_PT : PFLD_AUGMENT_TF,
										   .seed = values->seed,
										   .num_threads = values->threads,
										   .max_bad = share_or_none(values->max_bad),
										   .log = say_log(command->name),
										   .progress = show ? show_progress : NULL};
	enum pfld_status status =
		choose_mirror_map(command, values, pfld_dataset_num_points(dataset), &options.mirror_map, &own_map, error);
	if (!status) status = pfld_prepare(dataset, values->out, &options, result, error);
	free(own_map);
	return status;
}

static bool print_result(const struct command *command, const struct prepare_values *values,
						 const struct pfld_dataset *dataset, const struct pfld_prepare_result *result)
{
	const struct pfld_skip *skips;
	size_t num_rows = pfld_dataset_skips(dataset, &skips);
	if (values->json)
		return json_print(command->name,
						  json_pack("{s:I, s:I, s:I, s:I, s:o}", "faces", (json_int_t)result->num_faces, "crops",
									(json_int_t)result->num_crops, "skipped", (json_int_t)result->num_skipped,
									"bad_rows", (json_int_t)num_rows, "out", json_utf8(values->out)));
	for (size_t i = 0; i < num_rows; i++)
		say_warning(command->name, "left out: line %lld: %s", (long long)skips[i].line, skips[i].reason);
	if (!values->quiet)
		printf("faces: %lld, crops: %lld, left out: %lld; %s/list.txt\n", (long long)result->num_faces,
			   (long long)result->num_crops, (long long)result->num_skipped + (long long)num_rows, values->out);
	return true;
}

static int run(const struct command *command, int argc, char **argv)
{
	struct prepare_values values = {.list_format = "auto",
									.augment = "tf",
									.max_bad = 0.1,
									.copies = 1,
									.image_size = 112,
									.pts_base = 1,
									.seed = 666};
	struct arguments arguments;
	struct pfld_prepare_result result;
	struct pfld_dataset *dataset = NULL;
	struct pfld_error error;
	int code;
	if (!options_parse(command, argc, argv, &values, &arguments, &code)) return code;
	if (!values.file_list || !values.out) {
		say_error(command->name, "--%s is missing; pfld %s --help shows examples",
				  values.file_list ? "out" : "file_list", command->name);
		return EXIT_USAGE;
	}
	struct pfld_dataset_options options = {.format =
											   (enum pfld_list_format)choice_index(FORMAT_CHOICES, values.list_format),
										   .image_dir = values.image_dir,
										   .num_points = values.points,
										   .pts_base = values.pts_base == 0 ? -1 : 1,
										   .max_bad = share_or_none(values.max_bad),
										   .log = say_log(command->name)};
	enum pfld_status status = pfld_dataset_open(&dataset, values.file_list, &options, &error);
	if (!status) status = prepare(command, &values, dataset, &result, &error);
	code = EXIT_GOOD;
	if (status)
		code = say_failure(command->name, &error);
	else if (!print_result(command, &values, dataset, &result))
		code = EXIT_BAD;
	pfld_dataset_close(&dataset);
	return code;
}

const struct command PREPARE_COMMAND = {
	.name = "prepare",
	.summary = "write crops and a prepared list, as the originals' scripts did",
	.operands = "",
	.examples = "  pfld prepare --file_list WFLW/list_98pt_rect_attr_test.txt --out test_data\n"
				"  pfld prepare --file_list WFLW/list_98pt_rect_attr_train.txt --out train_data --copies 10\n",
	.options = OPTIONS,
	.run = run,
};
