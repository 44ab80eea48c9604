// SPDX-License-Identifier: MIT
// What `pfld train` is told.
#include "train_config.h"
#include "say.h"

#include <stdio.h>
#include <string.h>

const struct train_values TRAIN_DEFAULTS = {
	.model_dir = "pfld_model",
	.list_format = "auto",
	.preset = "paper",
	.loss = "wing",
	.optimizer = "adam",
	.schedule = "cosine",
	.augment = "default",
	.crop = "float",
	.scaling = "255",
	.channels = "rgb",
	.device = "auto",
	.max_bad = 0.1,
	.learning_rate = 1e-3,
	.weight_decay = 1e-6,
	.width = 1,
	.momentum = 0.9,
	.batch_size = 32,
	.image_size = 112,
	.max_epoch = 120,
	.validation_freq = 1,
	.pts_base = 1,
	.accumulate = 1,
	.lr_patience = 40,
	.seed = 666,
};

#define AT(field) offsetof(struct train_values, field)
// clang-format off
const struct option TRAIN_OPTIONS[] = {
	{"file_list", OPTION_STRING, AT(file_list), "LIST", .help = "faces to train on: a list, a folder of images and .pts, dlib XML, or builtin:train[:N]", .shapes_result = true},
	{"test_list", OPTION_STRING, AT(test_list), "LIST", .help = "faces to measure on after each epoch", .shapes_result = true},
	{"list_format", OPTION_CHOICE, AT(list_format), .choices = FORMAT_CHOICES, .help = "of both lists", .shapes_result = true},
	{"image_dir", OPTION_STRING, AT(image_dir), "DIR", .help = "where images are looked up first"},
	{"max_bad", OPTION_DOUBLE, AT(max_bad), "SHARE", .low = 0, .high = 1, .help = "share of bad rows or images that stops the run"},
	{"model_dir", OPTION_STRING, AT(model_dir), "DIR", .help = "gets checkpoints, run.json, log.csv, report.html"},
	{"resume", OPTION_FLAG, AT(resume), .help = "go on with the run in --model_dir; options not given are those of the run"},
	{"pretrained_model", OPTION_STRING, AT(pretrained_model), "FILE", .help = "start from these weights; a folder: from its last.safetensors, at the next epoch"},
	{"recipe", OPTION_CHOICE, AT(recipe), .choices = "tf|pt", .help = "set everything as the TensorFlow or the PyTorch trainer; options given win", .shapes_result = true},
	{"batch_size", OPTION_INT, AT(batch_size), "N", .low = 1, .high = 65536, .help = "faces in a batch", .shapes_result = true},
	{"accumulate", OPTION_INT, AT(accumulate), "N", .low = 1, .high = 65536, .help = "batches to an optimizer step", .shapes_result = true},
	{"drop_last", OPTION_FLAG, AT(drop_last), .help = "whole batches only; else batches of an epoch differ by one face at most", .shapes_result = true},
	{"image_size", OPTION_INT, AT(image_size), "N", .low = 32, .high = 4096, .help = "side of the square input, a multiple of 16", .shapes_result = true},
	{"max_epoch", OPTION_INT, AT(max_epoch), "N", .low = 1, .high = 1000000, .help = "epochs in all", .shapes_result = true},
	{"stop_epoch", OPTION_INT, AT(stop_epoch), "N", .low = 0, .high = 1000000, .help = "save and stop after this epoch, to go on with --resume (0: off)"},
	{"validation_freq", OPTION_INT, AT(validation_freq), "N", .low = 1, .high = 1000000, .help = "measure on --test_list every so many epochs", .shapes_result = true},
	{"test_initial", OPTION_FLAG, AT(test_initial), .help = "measure before the first epoch too"},
	{"seed", OPTION_SEED, AT(seed), "N", .help = "of weights, order and augmentation", .shapes_result = true},
	{"preset", OPTION_CHOICE, AT(preset), .choices = PRESET_CHOICES, .help = "form of PFLD", .shapes_result = true},
	{"width", OPTION_DOUBLE, AT(width), "W", .low = 0.0625, .high = 16, .help = "times every channel count", .shapes_result = true},
	{"points", OPTION_INT, AT(points), "N", .low = 0, .high = 100000, .help = "landmarks of a face (0: what the list says)", .shapes_result = true},
	{"flatten_head", OPTION_FLAG, AT(flatten_head), .help = "flatten the first two scales instead of pooling them", .shapes_result = true},
	{"loss", OPTION_CHOICE, AT(loss), .choices = "wing|pfld|pfld_compat|l1|l2|smooth_l1", .help = "pfld, pfld_compat need attributes in the list", .shapes_result = true},
	{"optimizer", OPTION_CHOICE, AT(optimizer), .choices = "sgd|adagrad|adadelta|rmsprop|adam|adamw", .help = "kind", .shapes_result = true},
	{"momentum", OPTION_DOUBLE, AT(momentum), "X", .low = 0, .high = 1, .help = "of sgd", .shapes_result = true},
	{"clip_norm", OPTION_DOUBLE, AT(clip_norm), "X", .low = 0, .high = 1e30, .help = "scale gradients down to this joint norm (0: off)", .shapes_result = true},
	{"weight_decay", OPTION_DOUBLE, AT(weight_decay), "X", .low = 0, .high = 1, .help = "added to the gradient (adamw: decoupled)", .shapes_result = true},
	{"learning_rate", OPTION_DOUBLE, AT(learning_rate), "X", .low = 0, .high = 1e38, .help = "to start with", .shapes_result = true},
	{"min_learning_rate", OPTION_DOUBLE, AT(min_learning_rate), "X", .low = 0, .high = 1e38, .help = "floor of the schedule", .shapes_result = true},
	{"schedule", OPTION_CHOICE, AT(schedule), .choices = "constant|steps|exponential|cosine|plateau", .help = "of the learning rate", .shapes_result = true},
	{"lr_epoch", OPTION_INTS, AT(lr_epoch), "E,E,...", .low = 1, .high = 1000000, .help = "epochs after which the rate drops (implies --schedule steps)", .shapes_result = true},
	{"lr_factor", OPTION_DOUBLE, AT(lr_factor), "X", .low = 0, .high = 1, .help = "of steps, plateau and exponential (0: 0.1, exponential 0.95)", .shapes_result = true},
	{"lr_patience", OPTION_INT, AT(lr_patience), "N", .low = 1, .high = 1000000, .help = "of plateau, in epochs", .shapes_result = true},
	{"warmup_steps", OPTION_INT, AT(warmup_steps), "N", .low = 0, .high = 1000000000, .help = "let the rate rise over so many steps first", .shapes_result = true},
	{"augment", OPTION_CHOICE, AT(augment), .choices = "none|default|tf|pt", .help = "of training faces", .shapes_result = true},
	{"crop", OPTION_CHOICE, AT(crop), .choices = CROP_CHOICES, .help = "integer: whole pixels, as the originals", .shapes_result = true},
	{"scaling", OPTION_CHOICE, AT(scaling), .choices = SCALING_CHOICES, .help = "what pixels are divided by; signed: x / 127.5 - 1", .shapes_result = true},
	{"channels", OPTION_CHOICE, AT(channels), .choices = CHANNEL_CHOICES, .help = "order of colours", .shapes_result = true},
	{"mirror_map", OPTION_STRING, AT(mirror_map), "FILE", .help = "which point becomes which in the mirror, one line of numbers", .shapes_result = true},
	{"nme_points", OPTION_INTS, AT(nme_points), "A,B", .low = 0, .high = 100000, .help = "the two points, from 0, whose distance normalises the error", .shapes_result = true},
	{"pts_base", OPTION_INT, AT(pts_base), "0|1", .low = 0, .high = 1, .help = "number of the first pixel in .pts files", .shapes_result = true},
	{"device", OPTION_STRING, AT(device), "NAME", .help = "pfld devices lists them"},
	{"threads", OPTION_INT, AT(threads), "N", .low = 0, .high = 4096, .help = "for arithmetic (0: the CPUs of this process)"},
	{"loader_threads", OPTION_INT, AT(loader_threads), "N", .low = 0, .high = 4096, .help = "for decoding and cropping (0: the CPUs of this process)"},
	{"cpu_level", OPTION_STRING, AT(cpu_level), "LEVEL", .help = "instruction set, such as c or avx2 (best)", .shapes_result = true},
	KERNEL_CACHE_OPTION,
	MEMORY_POLICY_OPTIONS,
	{"memory_budget", OPTION_BYTES, AT(memory_budget), "SIZE", .help = "keep the peak within this by computing again what is not kept, to the same bits (0: off)"},
	{"trace", OPTION_STRING, AT(trace), "FILE", .help = "time and memory of every op of the first ten steps, for chrome://tracing"},
	{"debug", OPTION_BOOL, AT(debug), "True|False", .help = "ten batches an epoch", .shapes_result = true},
	{"quiet", OPTION_FLAG, AT(quiet), .help = "no progress, only warnings and errors"},
	{"json", OPTION_FLAG, AT(json), .help = "progress as one JSON object a line"},
	{"level", OPTION_UNUSED, 0, "X", .help = "without effect, as in the TensorFlow trainer"},
	{"image_channels", OPTION_UNUSED, 0, "3", .help = "without effect: always 3"},
	{"save_image_example", OPTION_UNUSED_FLAG, 0, .help = "without effect, as in the TensorFlow trainer"},
	{.name = NULL},
};
// clang-format on

static const struct {
	const char *recipe, *option, *value;
} RECIPES[] = {
	{"tf", "preset", "tf"},          {"tf", "loss", "pfld_compat"},  {"tf", "optimizer", "adam"},
	{"tf", "learning_rate", "1e-3"}, {"tf", "schedule", "steps"},    {"tf", "lr_epoch", "10,20,30,40,200,500"},
	{"tf", "lr_factor", "0.1"},      {"tf", "weight_decay", "5e-5"}, {"tf", "scaling", "256"},
	{"tf", "channels", "rgb"},       {"tf", "crop", "integer"},      {"tf", "augment", "tf"},
	{"tf", "batch_size", "64"},      {"tf", "max_epoch", "1000"},    {"pt", "preset", "pt"},
	{"pt", "loss", "pfld_compat"},   {"pt", "optimizer", "adam"},    {"pt", "learning_rate", "1e-4"},
	{"pt", "schedule", "plateau"},   {"pt", "lr_factor", "0.1"},     {"pt", "lr_patience", "40"},
	{"pt", "weight_decay", "1e-6"},  {"pt", "scaling", "255"},       {"pt", "channels", "bgr"},
	{"pt", "crop", "integer"},       {"pt", "augment", "pt"},        {"pt", "batch_size", "256"},
	{"pt", "max_epoch", "500"},
};

// The option of this name, which is in the table.
static const struct option *find_option(const char *name)
{
	const struct option *option = TRAIN_OPTIONS;
	while (option->name && strcmp(option->name, name) != 0) option++;
	return option;
}

void train_apply_recipe(const struct command *command, const struct arguments *arguments, struct train_values *values)
{
	char reason[256];
	for (size_t i = 0; values->recipe && i < sizeof RECIPES / sizeof *RECIPES; i++) {
		if (strcmp(RECIPES[i].recipe, values->recipe) != 0 || option_given(command, arguments, RECIPES[i].option))
			continue;
		option_set(find_option(RECIPES[i].option), values, RECIPES[i].value, reason, sizeof reason);
	}
	if (option_given(command, arguments, "lr_epoch") && !option_given(command, arguments, "schedule"))
		values->schedule = "steps";
}

static bool check_values(const char *command, const struct train_values *values)
{
	if (!values->file_list) {
		say_error(command, "--file_list is missing; --file_list builtin:train takes the built-in faces");
		return false;
	}
	if (values->image_size % 16 != 0) {
		say_error(command, "--image_size: a multiple of 16 is expected, got %d", (int)values->image_size);
		return false;
	}
	if (strcmp(values->schedule, "steps") == 0 && values->lr_epoch.num == 0) {
		say_error(command, "--schedule steps needs --lr_epoch, such as --lr_epoch 40,80");
		return false;
	}
	for (int32_t i = 1; i < values->lr_epoch.num; i++) {
		if (values->lr_epoch.values[i] > values->lr_epoch.values[i - 1]) continue;
		say_error(command, "--lr_epoch: epochs must ascend, %d follows %d", (int)values->lr_epoch.values[i],
				  (int)values->lr_epoch.values[i - 1]);
		return false;
	}
	if (values->nme_points.num != 0 && values->nme_points.num != 2) {
		say_error(command, "--nme_points: two numbers are expected, such as 36,45, got %d",
				  (int)values->nme_points.num);
		return false;
	}
	if (values->batch_size == 1) {
		say_error(command, "--batch_size 1 cannot be trained: batch norm needs at least two faces in a batch");
		return false;
	}
	return true;
}

static struct pfld_schedule make_schedule(const struct train_values *values)
{
	struct pfld_schedule schedule = {.rate = values->learning_rate,
									 .min_rate = values->min_learning_rate,
									 .factor = values->lr_factor,
									 .num_epochs = values->max_epoch,
									 .patience = values->lr_patience,
									 .warmup_steps = values->warmup_steps,
									 .num_steps = values->lr_epoch.num};
	pfld_schedule_from_name(values->schedule, &schedule.kind);
	for (int32_t i = 0; i < values->lr_epoch.num; i++) schedule.steps[i] = values->lr_epoch.values[i];
	return schedule;
}

bool train_configure(const char *command, const struct train_values *values, struct train_config *config)
{
	if (!check_values(command, values)) return false;
	*config =
		(struct train_config){.schedule = make_schedule(values),
							  .augment = (enum pfld_augment_kind)choice_index("none|default|tf|pt", values->augment),
							  .as_tensorflow = values->recipe && strcmp(values->recipe, "tf") == 0};
	struct model *model = &config->model;
	model->net = (struct pfld_model_options){.width = values->width,
											 .num_points = values->points,
											 .size = values->image_size,
											 .flatten_head = values->flatten_head};
	pfld_preset_from_name(values->preset, &model->net.preset);
	model->sample =
		(struct pfld_sample_options){.size = values->image_size,
									 .crop = (enum pfld_crop_kind)choice_index(CROP_CHOICES, values->crop),
									 .scaling = (enum pfld_scaling)choice_index(SCALING_CHOICES, values->scaling),
									 .bgr = choice_index(CHANNEL_CHOICES, values->channels) == 1};
	snprintf(model->loss, sizeof model->loss, "%s", values->loss);
	struct pfld_trainer_options *trainer = &config->trainer;
	trainer->batch = values->batch_size;
	trainer->accumulate = values->accumulate;
	trainer->seed = values->seed;
	trainer->memory_budget_bytes = values->memory_budget;
	trainer->output = "points";
	pfld_loss_from_name(values->loss, &trainer->loss.kind);
	trainer->loss.point_scale = values->image_size;
	pfld_optimizer_from_name(values->optimizer, &trainer->optimizer.kind);
	trainer->optimizer.learning_rate = values->learning_rate;
	trainer->optimizer.momentum = trainer->optimizer.kind == PFLD_SGD ? values->momentum : 0;
	trainer->optimizer.clip_norm = values->clip_norm;
	trainer->optimizer.weight_decay = config->as_tensorflow ? 0 : values->weight_decay;
	trainer->optimizer.tensorflow_epsilon = config->as_tensorflow;
	return true;
}

double share_or_none(double share)
{
	return share > 0 ? share : 1e-12;
}

struct pfld_dataset_options train_dataset_options(const char *command, const struct train_values *values)
{
	return (struct pfld_dataset_options){.format =
											 (enum pfld_list_format)choice_index(FORMAT_CHOICES, values->list_format),
										 .image_dir = values->image_dir,
										 .num_points = values->points,
										 .pts_base = values->pts_base == 0 ? -1 : 1,
										 .max_bad = share_or_none(values->max_bad),
										 .log = say_log(command)};
}
