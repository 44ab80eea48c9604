// SPDX-License-Identifier: MIT
// pfld memory: what training or inference would take, planned to the byte, before anything is taken.
#include "commands.h"
#include "json_out.h"
#include "memory_plan.h"
#include "say.h"
#include "train_config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define AT(field) offsetof(struct memory_values, field)
// clang-format off
static const struct option OPTIONS[] = {
	{"model", OPTION_CHOICE, AT(model), .choices = MODEL_CHOICES, .help = "net; the image classifiers without their top, and a head behind them"},
	{"alpha", OPTION_DOUBLE, AT(alpha), "A", .low = 0.05, .high = 8, .help = "MobileNets: times every channel count"},
	{"classes", OPTION_INT, AT(classes), "N", .low = 1, .high = 1000000, .help = "of the head of an image classifier"},
	{"preset", OPTION_CHOICE, AT(preset), .choices = PRESET_CHOICES, .help = "form of PFLD"},
	{"width", OPTION_DOUBLE, AT(width), "W", .low = 0.0625, .high = 16, .help = "times every channel count"},
	{"points", OPTION_INT, AT(points), "N", .low = 1, .high = 100000, .help = "landmarks of a face"},
	{"flatten_head", OPTION_FLAG, AT(flatten_head), .help = "flatten the first two scales instead of pooling them"},
	{"batch_size", OPTION_INT, AT(batch_size), "N", .low = 1, .high = 1048576, .help = "faces in a batch"},
	{"image_size", OPTION_INT, AT(image_size), "N", .low = 32, .high = 4096, .help = "side of the square input; a multiple of 16 for pfld"},
	{"loss", OPTION_CHOICE, AT(loss), .choices = "wing|pfld|pfld_compat|l1|l2|smooth_l1", .help = "pfld, pfld_compat bring the angle net"},
	{"optimizer", OPTION_CHOICE, AT(optimizer), .choices = "sgd|adagrad|adadelta|rmsprop|adam|adamw", .help = "kind"},
	{"accumulate", OPTION_INT, AT(accumulate), "N", .low = 1, .high = 65536, .help = "batches to an optimizer step; batch norm sees each by itself"},
	{"freeze", OPTION_STRING, AT(freeze), "PATTERN", .help = "parameters that do not train, by name: conv1/*,stage3_*; all: an image classifier's, but for the head"},
	{"mode", OPTION_CHOICE, AT(mode), .choices = "train|infer", .help = "what is planned"},
	{"slots", OPTION_INT, AT(slots), "N", .low = 1, .high = 16, .help = "batches in flight"},
	{"device", OPTION_STRING, AT(device), "NAME", .help = "pfld devices lists them"},
	{"threads", OPTION_INT, AT(threads), "N", .low = 0, .high = 4096, .help = "(0: the CPUs of this process); workspace grows with them"},
	MEMORY_POLICY_OPTIONS,
	{"memory_budget", OPTION_BYTES, AT(memory_budget), "SIZE", .help = "keep the peak within this by computing again what is not kept, to the same bits (0: off)"},
	{"all", OPTION_FLAG, AT(all), .help = "every layer, region and tensor: where it lies and how long it lives"},
	{"svg", OPTION_STRING, AT(svg), "FILE", .help = "draw the plan: time across, addresses up"},
	{"fit", OPTION_BYTES, AT(fit), "SIZE", .help = "the largest batch that fits in this, such as 2G"},
	{"sweep", OPTION_FLAG, AT(sweep), .help = "the peak for batches of 8 to 128 and image sizes 96, 112, 128"},
	{"json", OPTION_FLAG, AT(json), .help = "print JSON"},
	{.name = NULL},
};
// clang-format on

struct session {
	const struct command *command;
	const struct memory_values *values;
	struct pfld_device *device;
};

// ---- one plan ----

static bool write_svg(const struct session *s, const struct pfld_plan *plan)
{
	const struct memory_values *v = s->values;
	struct pfld_plan_summary summary;
	char title[256], shown[SHOWN_BYTES];
	pfld_plan_summary(plan, &summary);
	enum pfld_backbone backbone;
	bool is_pfld = !memory_backbone(v, &backbone);
	snprintf(title, sizeof title, "%s%s%s, %s %g, %s, batch %d, %d x %d%s%s: %.2f MiB", v->model, is_pfld ? " " : "",
			 is_pfld ? v->preset : "", is_pfld ? "width" : "alpha", is_pfld ? v->width : v->alpha, v->mode, (int)v->batch_size, (int)v->image_size, (int)v->image_size, memory_trains(v) ? ", " : "",
			 memory_trains(v) ? v->optimizer : "", memory_mib(summary.planned_peak_bytes));
	FILE *file = fopen(v->svg, "w");
	bool done = file && memory_write_svg(plan, title, file);
	if (file && fclose(file) != 0) done = false;
	if (!done) say_error(s->command->name, "%s cannot be written: %s", show(shown, v->svg), strerror(errno));
	return done;
}

static int show_plan(const struct session *s, struct pfld_error *error)
{
	const struct memory_values *v = s->values;
	struct pfld_plan *plan = NULL;
	if (memory_plan(&plan, s->device, v, v->batch_size, v->image_size, error))
		return say_failure(s->command->name, error);
	bool done = true;
	if (v->json)
		done = json_print(s->command->name, memory_plan_json(plan, v->all));
	else
		memory_print_plan(plan, v->all);
	if (done && v->svg) done = write_svg(s, plan);
	struct pfld_plan_summary summary;
	pfld_plan_summary(plan, &summary);
	pfld_plan_destroy(&plan);
	if (done && v->memory_budget && summary.planned_peak_bytes > v->memory_budget) {
		say_error(s->command->name, "a memory budget of %llu bytes cannot be kept; the smallest that can is %llu bytes",
				  (unsigned long long)v->memory_budget, (unsigned long long)summary.smallest_budget_bytes);
		done = false;
	}
	return done ? EXIT_GOOD : EXIT_BAD;
}

// ---- --fit ----

static json_t *largest_json(const struct pfld_largest_batch *l)
{
	return json_pack("{s:i, s:i, s:I, s:I}", "batch", (int)l->batch, "smallest_batch", (int)l->smallest_batch, "bytes",
					 (json_int_t)l->bytes, "next_bytes", (json_int_t)l->next_bytes);
}

static void print_largest(const char *how, const struct pfld_largest_batch *l)
{
	if (l->batch == 0)
		printf("%s: none fits; a batch of %d takes %llu bytes (%.2f MiB)%s\n", how, (int)l->smallest_batch,
			   (unsigned long long)l->next_bytes, memory_mib(l->next_bytes),
			   l->smallest_batch > 1 ? ", and batch norm needs two faces" : "");
	else if (l->next_bytes == 0)
		printf("%s: batch %d, where the search ends, takes %.2f MiB\n", how, (int)l->batch, memory_mib(l->bytes));
	else
		printf("%s: batch %d takes %llu bytes (%.2f MiB), %d would take %llu\n", how, (int)l->batch,
			   (unsigned long long)l->bytes, memory_mib(l->bytes), (int)l->batch + 1,
			   (unsigned long long)l->next_bytes);
}

static int show_fit(const struct session *s, struct pfld_error *error)
{
	const struct memory_values *v = s->values;
	struct pfld_largest_batch kept, again;
	enum pfld_status status = memory_largest(&kept, s->device, v, false, error);
	if (!status) status = memory_largest(&again, s->device, v, true, error);
	if (status) return say_failure(s->command->name, error);
	if (!v->json) {
		printf("The largest batch in %llu bytes (%.2f MiB):\n", (unsigned long long)v->fit, memory_mib(v->fit));
		print_largest("  at full speed", &kept);
		if (memory_trains(v)) print_largest("  with that as --memory_budget", &again);
		return EXIT_GOOD;
	}
	json_t *root = json_pack("{s:I, s:o}", "fit_bytes", (json_int_t)v->fit, "largest", largest_json(&kept));
	if (root && memory_trains(v)) json_object_set_new(root, "largest_with_budget", largest_json(&again));
	return json_print(s->command->name, root) ? EXIT_GOOD : EXIT_BAD;
}

// ---- --sweep ----

static const int32_t BATCHES[] = {8, 16, 32, 64, 128}, SIZES[] = {96, 112, 128};
enum { NUM_BATCHES = 5, NUM_SIZES = 3 };

static bool add_cell(json_t *cells, int32_t batch, int32_t size, const struct pfld_plan_summary *p, bool fits)
{
	return json_array_append_new(cells, json_pack("{s:i, s:i, s:I, s:I, s:I, s:f, s:b}", "batch_size", (int)batch,
												  "image_size", (int)size, "planned_peak_bytes",
												  (json_int_t)p->planned_peak_bytes, "lower_bound_bytes",
												  (json_int_t)p->lower_bound_bytes, "smallest_budget_bytes",
												  (json_int_t)p->smallest_budget_bytes, "predicted_time_ratio",
												  p->predicted_time_ratio, "fits", (int)fits)) == 0;
}

static enum pfld_status sweep(const struct session *s, json_t *cells, struct pfld_error *error)
{
	if (!cells) {
		printf("%-12s", "MiB");
		for (int i = 0; i < NUM_SIZES; i++) printf("%8d x %d", (int)SIZES[i], (int)SIZES[i]);
		printf("\n");
	}
	for (int b = 0; b < NUM_BATCHES; b++) {
		if (!cells) printf("batch %-6d", (int)BATCHES[b]);
		for (int i = 0; i < NUM_SIZES; i++) {
			struct pfld_plan *plan = NULL;
			struct pfld_plan_summary summary;
			enum pfld_status status = memory_plan(&plan, s->device, s->values, BATCHES[b], SIZES[i], error);
			if (status) return status;
			pfld_plan_summary(plan, &summary);
			pfld_plan_destroy(&plan);
			bool fits = !summary.budget_bytes || summary.planned_peak_bytes <= summary.budget_bytes;
			if (cells && !add_cell(cells, BATCHES[b], SIZES[i], &summary, fits))
				return fail(error, PFLD_ERR_MEMORY, "out of memory for JSON");
			if (!cells) printf("%13.2f%c", memory_mib(summary.planned_peak_bytes), fits ? ' ' : '*');
		}
		if (!cells) printf("\n");
	}
	if (!cells && s->values->memory_budget) printf("* the budget cannot be kept; this is the smallest that can\n");
	return PFLD_OK;
}

static int show_sweep(const struct session *s, struct pfld_error *error)
{
	json_t *cells = s->values->json ? json_array() : NULL;
	if (s->values->json && !cells) return json_print(s->command->name, NULL) ? EXIT_GOOD : EXIT_BAD;
	if (sweep(s, cells, error)) {
		json_decref(cells);
		return say_failure(s->command->name, error);
	}
	if (!cells) return EXIT_GOOD;
	return json_print(s->command->name, json_pack("{s:o}", "sweep", cells)) ? EXIT_GOOD : EXIT_BAD;
}

// ---- the command ----

// An option of the one kind of net, given for the other; NULL: none.
static const char *check_model(const struct command *command, const struct memory_values *values,
							   const struct arguments *arguments)
{
	static const char *const of_pfld[] = {"preset", "width", "points", "flatten_head", "loss"},
							 *const of_backbones[] = {"alpha", "classes"};
	enum pfld_backbone backbone;
	if (memory_backbone(values, &backbone)) {
		for (size_t i = 0; i < sizeof of_pfld / sizeof *of_pfld; i++)
			if (option_given(command, arguments, of_pfld[i]))
				return "--preset, --width, --points, --flatten_head and --loss are pfld's";
	} else {
		for (size_t i = 0; i < sizeof of_backbones / sizeof *of_backbones; i++)
			if (option_given(command, arguments, of_backbones[i]))
				return "--alpha and --classes are the image classifiers'; name one with --model";
	}
	return NULL;
}

static bool check_values(const struct command *command, const struct memory_values *values,
						 const struct arguments *arguments)
{
	const char *wrong = check_model(command, values, arguments);
	if (values->fit && values->sweep) wrong = "--fit and --sweep are two questions; ask one";
	if ((values->fit || values->sweep) && (values->all || values->svg))
		wrong = "--all and --svg show one plan, not many";
	if (values->fit && values->memory_budget)
		wrong = "--fit tells the batch with and without a budget; leave --memory_budget out";
	if (!memory_trains(values) && values->memory_budget)
		wrong = "--memory_budget is for training: inference keeps nothing";
	if (!memory_trains(values) && values->freeze) wrong = "--freeze is for training";
	if (wrong) say_error(command->name, "%s", wrong);
	return !wrong;
}

static int run(const struct command *command, int argc, char **argv)
{
	struct memory_values values = {.model = "pfld",
								   .preset = TRAIN_DEFAULTS.preset,
								   .loss = TRAIN_DEFAULTS.loss,
								   .optimizer = TRAIN_DEFAULTS.optimizer,
								   .mode = "train",
								   .device = TRAIN_DEFAULTS.device,
								   .width = TRAIN_DEFAULTS.width,
								   .batch_size = TRAIN_DEFAULTS.batch_size,
								   .image_size = TRAIN_DEFAULTS.image_size,
								   .points = 98,
								   .alpha = 1,
								   .classes = 1,
								   .accumulate = 1,
								   .slots = 3};
	struct arguments arguments;
	struct network network = {NULL, NULL, NULL};
	struct pfld_error error;
	int code;
	if (!options_parse(command, argc, argv, &values, &arguments, &code)) return code;
	if (option_given(command, &arguments, "fit") && values.fit == 0) {
		say_error(command->name, "--fit: a size above 0 is expected");
		return EXIT_USAGE;
	}
	if (!check_values(command, &values, &arguments)) return EXIT_USAGE;
	enum pfld_backbone backbone;
	struct pfld_backbone_info info;
	if (memory_backbone(&values, &backbone) && pfld_backbone_get_info(backbone, &info) &&
		!option_given(command, &arguments, "image_size"))
		values.image_size = info.default_size;
	struct network_options options = {.device = values.device,
									  .threads = values.threads,
									  .log = say_log(command->name),
									  .memory_limit = values.memory_limit,
									  .memory_fraction = values.memory_fraction,
									  .allow_growth = values.allow_growth};
	if (network_open_device(&network, &options, &error)) return say_failure(command->name, &error);
	struct session session = {command, &values, network.device};
	code = values.fit     ? show_fit(&session, &error)
		   : values.sweep ? show_sweep(&session, &error)
						  : show_plan(&session, &error);
	network_close(&network);
	return code;
}

const struct command MEMORY_COMMAND = {
	.name = "memory",
	.summary = "plan the memory of training or inference, before anything is taken",
	.operands = "",
	.examples = "  pfld memory --batch_size 64\n"
				"  pfld memory --preset pt --loss pfld --batch_size 64 --memory_budget 440M --svg plan.svg\n"
				"  pfld memory --fit 2G\n"
				"  pfld memory --model vgg16 --batch_size 8 --freeze all\n"
				"  pfld memory --sweep --memory_budget 1G\n"
				"  pfld memory --mode infer --width 0.25 --batch_size 1 --json\n",
	.options = OPTIONS,
	.run = run,
};
