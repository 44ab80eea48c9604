// SPDX-License-Identifier: MIT
// pfld memory: what training or inference would take, planned to the byte, before anything is taken.
#include "commands.h"
#include "json_out.h"
#include "say.h"
#include "train_config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct memory_values {
	const char *preset, *loss, *optimizer, *mode, *device;
	double width;
	int32_t batch_size, image_size, points, accumulate, threads;
	bool flatten_head, all, json;
};

#define AT(field) offsetof(struct memory_values, field)
// clang-format off
static const struct option OPTIONS[] = {
	{"preset", OPTION_CHOICE, AT(preset), .choices = PRESET_CHOICES, .help = "form of PFLD"},
	{"width", OPTION_DOUBLE, AT(width), "W", .low = 0.0625, .high = 16, .help = "times every channel count"},
	{"points", OPTION_INT, AT(points), "N", .low = 1, .high = 100000, .help = "landmarks of a face"},
	{"flatten_head", OPTION_FLAG, AT(flatten_head), .help = "flatten the first two scales instead of pooling them"},
	{"batch_size", OPTION_INT, AT(batch_size), "N", .low = 1, .high = 1048576, .help = "faces in a batch"},
	{"image_size", OPTION_INT, AT(image_size), "N", .low = 32, .high = 4096, .help = "side of the square input, a multiple of 16"},
	{"loss", OPTION_CHOICE, AT(loss), .choices = "wing|pfld|pfld_compat|l1|l2|smooth_l1", .help = "pfld, pfld_compat bring the angle net"},
	{"optimizer", OPTION_CHOICE, AT(optimizer), .choices = "sgd|adagrad|adadelta|rmsprop|adam|adamw", .help = "kind"},
	{"accumulate", OPTION_INT, AT(accumulate), "N", .low = 1, .high = 65536, .help = "batches to an optimizer step"},
	{"mode", OPTION_CHOICE, AT(mode), .choices = "train|infer", .help = "what is planned"},
	{"device", OPTION_STRING, AT(device), "NAME", .help = "pfld devices lists them"},
	{"threads", OPTION_INT, AT(threads), "N", .low = 0, .high = 4096, .help = "(0: the CPUs of this process); workspace grows with them"},
	{"all", OPTION_FLAG, AT(all), .help = "every tensor: where it lies and how long it lives"},
	{"json", OPTION_FLAG, AT(json), .help = "print JSON"},
	{.name = NULL},
};
// clang-format on

static enum pfld_status make_plan(struct pfld_plan **plan, struct network *network, const struct memory_values *values,
								  struct pfld_error *error)
{
	static const char *const OUTPUTS[] = {"points"};
	struct pfld_trainer_options trainer = {
		.batch = values->batch_size, .accumulate = values->accumulate, .output = "points"};
	struct pfld_program_options program = {
		.batch = values->batch_size, .mode = PFLD_INFER, .outputs = OUTPUTS, .num_outputs = 1};
	bool train = strcmp(values->mode, "train") == 0;
	pfld_loss_from_name(values->loss, &trainer.loss.kind);
	pfld_optimizer_from_name(values->optimizer, &trainer.optimizer.kind);
	trainer.optimizer.momentum = trainer.optimizer.kind == PFLD_SGD ? TRAIN_DEFAULTS.momentum : 0;
	struct pfld_model_options model = {.width = values->width,
									   .num_points = values->points,
									   .size = values->image_size,
									   .flatten_head = values->flatten_head,
									   .angles = train && pfld_loss_uses_angles(trainer.loss.kind)};
	pfld_preset_from_name(values->preset, &model.preset);
	network->net = pfld_net_create();
	if (!network->net) return fail(error, PFLD_ERR_MEMORY, "out of memory for a net");
	pfld_model_pfld(network->net, &model);
	return train ? pfld_trainer_plan_create(plan, network->device, network->net, &trainer, error)
				 : pfld_program_plan_create(plan, network->device, network->net, &program, error);
}

static json_t *tensors_json(const struct pfld_plan *plan, int32_t num)
{
	json_t *tensors = json_array();
	for (int32_t i = 0; i < num; i++) {
		struct pfld_plan_tensor tensor;
		pfld_plan_tensor(plan, i, &tensor);
		json_array_append_new(tensors, json_pack("{s:s, s:s, s:s, s:b, s:i, s:I, s:I, s:i, s:i}", "name", tensor.name,
												 "layer", tensor.layer, "class",
												 pfld_memory_class_name(tensor.memory_class), "persistent",
												 (int)tensor.persistent, "region", (int)tensor.region, "offset_bytes",
												 (json_int_t)tensor.offset_bytes, "bytes", (json_int_t)tensor.bytes,
												 "first_op", (int)tensor.first_op, "last_op", (int)tensor.last_op));
	}
	return tensors;
}

static json_t *ops_json(const struct pfld_plan *plan, int32_t num)
{
	json_t *ops = json_array();
	for (int32_t i = 0; i < num; i++) json_array_append_new(ops, json_string(pfld_plan_op_name(plan, i)));
	return ops;
}

static bool print_json(const struct command *command, const struct pfld_plan *plan, bool all)
{
	struct pfld_plan_summary summary;
	pfld_plan_summary(plan, &summary);
	json_t *classes = json_object();
	for (int i = 0; i < PFLD_MEMORY_NUM_CLASSES; i++)
		json_object_set_new(classes, pfld_memory_class_name((enum pfld_memory_class)i),
							json_integer((json_int_t)summary.by_class[i]));
	json_t *root =
		json_pack("{s:I, s:I, s:o, s:I, s:I, s:i, s:i}", "planned_peak_bytes", (json_int_t)summary.planned_peak_bytes,
				  "lower_bound_bytes", (json_int_t)summary.lower_bound_bytes, "by_class", classes, "arena_bytes",
				  (json_int_t)summary.arena_bytes, "host_bytes", (json_int_t)summary.host_bytes, "num_ops",
				  (int)summary.num_ops, "num_tensors", (int)summary.num_tensors);
	if (root && all) {
		json_object_set_new(root, "ops", ops_json(plan, summary.num_ops));
		json_object_set_new(root, "tensors", tensors_json(plan, summary.num_tensors));
	}
	return json_print(command->name, root);
}

static double mib(uint64_t bytes)
{
	return (double)bytes / (1 << 20);
}

static void print_tensors(const struct pfld_plan *plan, int32_t num)
{
	printf("\n%-44s%-14s%8s%16s%14s%8s%8s\n", "tensor", "class", "region", "offset", "bytes", "from", "to");
	for (int32_t i = 0; i < num; i++) {
		struct pfld_plan_tensor tensor;
		pfld_plan_tensor(plan, i, &tensor);
		printf("%-44s%-14s%8d%16llu%14llu%8d%8d\n", tensor.name, pfld_memory_class_name(tensor.memory_class),
			   (int)tensor.region, (unsigned long long)tensor.offset_bytes, (unsigned long long)tensor.bytes,
			   (int)tensor.first_op, (int)tensor.last_op);
	}
}

static void print_table(const struct pfld_plan *plan, bool all)
{
	struct pfld_plan_summary summary;
	pfld_plan_summary(plan, &summary);
	printf("%-16s%16s%12s\n", "", "bytes", "MiB");
	for (int i = 0; i < PFLD_MEMORY_NUM_CLASSES; i++)
		if (summary.by_class[i] > 0)
			printf("%-16s%16llu%12.2f\n", pfld_memory_class_name((enum pfld_memory_class)i),
				   (unsigned long long)summary.by_class[i], mib(summary.by_class[i]));
	printf("%-16s%16llu%12.2f\n", "peak", (unsigned long long)summary.planned_peak_bytes,
		   mib(summary.planned_peak_bytes));
	printf("%-16s%16llu%12.2f\n", "lower bound", (unsigned long long)summary.lower_bound_bytes,
		   mib(summary.lower_bound_bytes));
	printf("\n%d ops, %d tensors; beside the plan %.2f MiB of small host objects\n", (int)summary.num_ops,
		   (int)summary.num_tensors, mib(summary.host_bytes));
	if (all) print_tensors(plan, summary.num_tensors);
}

static int run(const struct command *command, int argc, char **argv)
{
	struct memory_values values = {.preset = "paper",
								   .loss = "wing",
								   .optimizer = "adam",
								   .mode = "train",
								   .device = "auto",
								   .width = 1,
								   .batch_size = 32,
								   .image_size = 112,
								   .points = 98,
								   .accumulate = 1};
	struct arguments arguments;
	struct network network = {NULL, NULL, NULL};
	struct pfld_plan *plan = NULL;
	struct pfld_error error;
	int code;
	if (!options_parse(command, argc, argv, &values, &arguments, &code)) return code;
	struct network_options options = {values.device, NULL, values.threads, say_log(command->name)};
	enum pfld_status status = network_open_device(&network, &options, &error);
	if (!status) status = make_plan(&plan, &network, &values, &error);
	code = EXIT_GOOD;
	if (status)
		code = say_failure(command->name, &error);
	else if (!values.json)
		print_table(plan, values.all);
	else if (!print_json(command, plan, values.all))
		code = EXIT_BAD;
	pfld_plan_destroy(&plan);
	network_close(&network);
	return code;
}

const struct command MEMORY_COMMAND = {
	.name = "memory",
	.summary = "plan the memory of training or inference, before anything is taken",
	.operands = "",
	.examples = "  pfld memory --batch_size 64\n  pfld memory --mode infer --width 0.25 --batch_size 1 --json\n",
	.options = OPTIONS,
	.run = run,
};
