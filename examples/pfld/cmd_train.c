// SPDX-License-Identifier: MIT
// pfld train: from the command line to a training run that stands ready; train_loop.c runs it.
#include "commands.h"
#include "memory_page.h"
#include "say.h"
#include "training.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { NUM_SHOWN_FACES = 12 };

static void on_signal(int number)
{
	(void)number;
	training_stop = 1;
}

static void catch_signals(void)
{
	struct sigaction action = {.sa_handler = on_signal, .sa_flags = (int)SA_RESETHAND};
	sigemptyset(&action.sa_mask);
	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	sigaction(SIGHUP, &action, NULL);
}

// "pfld train ..." as it was given; NULL when out of memory.
static char *join_arguments(int argc, char **argv)
{
	size_t length = sizeof "pfld train", used;
	for (int i = 0; i < argc; i++) length += strlen(argv[i]) + 1;
	char *line = malloc(length);
	if (!line) return NULL;
	used = (size_t)snprintf(line, length, "pfld train");
	for (int i = 0; i < argc; i++) used += (size_t)snprintf(line + used, length - used, " %s", argv[i]);
	return line;
}

static void say_unused(const struct command *command, const struct arguments *arguments)
{
	char names[256] = "";
	size_t used = 0;
	for (const struct option *option = command->options; option->name; option++) {
		if (!arguments->given[option - command->options] ||
			(option->type != OPTION_UNUSED && option->type != OPTION_UNUSED_FLAG))
			continue;
		used += (size_t)snprintf(names + used, sizeof names - used, "%s--%s", used > 0 ? ", " : "", option->name);
	}
	if (used > 0) say_warning(command->name, "%s: without effect here", names);
}

// ---- the run's place: new, resumed, or on from another run's folder ----

static bool is_there(const char *path)
{
	struct stat info;
	return stat(path, &info) == 0;
}

static bool is_folder(const char *path)
{
	struct stat info;
	return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

static bool read_resumed(struct training *training, const struct arguments *arguments)
{
	const char *name = training->command->name;
	char path[PATH_BYTES];
	struct pfld_error error;
	snprintf(path, sizeof path, "%s/last.safetensors", training->values.model_dir);
	if (!is_there(path)) {
		char shown[SHOWN_BYTES];
		say_error(name, "--resume: there is no %s to go on from", show(shown, path));
		return false;
	}
	if (run_state_read(&training->resumed, path, &error) ||
		run_state_take(&training->state, training->resumed, &error)) {
		say_failure(name, &error);
		return false;
	}
	if (training->values.pretrained_model) say_warning(name, "--pretrained_model: without effect with --resume");
	return run_state_take_options(training->command, arguments, &training->values, training->resumed);
}

static bool make_folder(const char *name, const char *path)
{
	char part[PATH_BYTES], shown[SHOWN_BYTES];
	if (path[0] == '\0' || strlen(path) + 32 > sizeof part) {
		say_error(name, "--model_dir: a path of 1 to %zu bytes is expected", sizeof part - 32);
		return false;
	}
	snprintf(part, sizeof part, "%s", path);
	for (char *slash = strchr(part + 1, '/');; slash = strchr(slash + 1, '/')) {
		if (slash) *slash = '\0';
		if (mkdir(part, 0777) != 0 && errno != EEXIST) break;
		if (!slash) break;
		*slash = '/';
	}
	if (is_folder(path) && access(path, W_OK | X_OK) == 0) return true;
	int reason = is_there(path) && !is_folder(path) ? ENOTDIR : errno;
	say_error(name, "%s cannot be written to: %s", show(shown, path), strerror(reason));
	return false;
}

// ---- data ----

static enum pfld_status open_lists(struct training *training, struct pfld_error *error)
{
	const struct train_values *values = &training->values;
	struct pfld_dataset_options options = train_dataset_options(training->command->name, values);
	enum pfld_status status = pfld_dataset_open(&training->train, values->file_list, &options, error);
	if (status) return status;
	training->config.model.net.num_points = pfld_dataset_num_points(training->train);
	if (values->test_list) {
		options.num_points = pfld_dataset_num_points(training->train);
		status = pfld_dataset_open(&training->test, values->test_list, &options, error);
	}
	if (status) return status;
	char shown[SHOWN_BYTES];
	if (pfld_loss_uses_angles(training->config.trainer.loss.kind) && !pfld_dataset_has_attributes(training->train))
		return fail(error, PFLD_ERR_DATA, "--loss %s needs attributes, and %s has none; --loss wing does without",
					values->loss, show(shown, values->file_list));
	if (training->resumed && training->state.num_faces != pfld_dataset_size(training->train))
		return fail(error, PFLD_ERR_DATA, "cannot resume to the same result: %s holds %lld faces now and held %lld",
					show(shown, values->file_list), (long long)pfld_dataset_size(training->train),
					(long long)training->state.num_faces);
	training->state.num_faces = pfld_dataset_size(training->train);
	return PFLD_OK;
}

static enum pfld_status choose_corners(struct training *training, struct pfld_error *error)
{
	struct model *model = &training->config.model;
	const struct int_list *given = &training->values.nme_points;
	model->has_corners = given->num == 2 || pfld_nme_points(model->net.num_points, model->corners);
	for (int i = 0; i < given->num; i++) {
		model->corners[i] = given->values[i];
		if (given->values[i] >= model->net.num_points)
			return fail(error, PFLD_ERR_ARGUMENT, "--nme_points: point %d of %d points (they are numbered from 0)",
						(int)given->values[i], (int)model->net.num_points);
	}
	if (!model->has_corners && training->test)
		say_warning(training->command->name,
					"no eye corners are known for %d points, so no NME is told; --nme_points A,B "
					"names them",
					(int)model->net.num_points);
	return PFLD_OK;
}

static enum pfld_status choose_mirror_map(struct training *training, const int32_t **map, struct pfld_error *error)
{
	int32_t num_points = training->config.model.net.num_points;
	*map = pfld_mirror_map(num_points);
	if (training->values.mirror_map) {
		training->own_mirror_map = calloc((size_t)num_points, sizeof(int32_t));
		if (!training->own_mirror_map) return fail(error, PFLD_ERR_MEMORY, "out of memory for a mirror map");
		*map = training->own_mirror_map;
		return pfld_mirror_map_read(training->values.mirror_map, num_points, training->own_mirror_map, error);
	}
	if (!*map && training->config.augment != PFLD_AUGMENT_NONE)
		say_warning(training->command->name,
					"no mirror map is known for %d points, so faces are not mirrored; "
					"--mirror_map FILE gives one",
					(int)num_points);
	return PFLD_OK;
}

// ---- net and weights ----

static enum pfld_status make_net(struct training *training, struct pfld_error *error)
{
	struct network_options options = {.device = training->values.device,
									  .cpu_level = training->values.cpu_level,
									  .kernel_cache = training->values.kernel_cache,
									  .threads = training->values.threads,
									  .memory_limit = training->values.memory_limit,
									  .memory_fraction = training->values.memory_fraction,
									  .allow_growth = training->values.allow_growth,
									  .log = say_log(training->command->name)};
	enum pfld_status status = network_open_device(&training->network, &options, error);
	if (status) return status;
	struct pfld_net *net = training->network.net = pfld_net_create();
	if (!net) return fail(error, PFLD_ERR_MEMORY, "out of memory for a net");
	struct pfld_model_options model = training->config.model.net;
	model.angles = pfld_loss_uses_angles(training->config.trainer.loss.kind);
	pfld_model_pfld(net, &model);
	if (training->config.as_tensorflow) {
		pfld_net_set_weight_decay(net, "*kernel", training->values.weight_decay);
		pfld_net_set_weight_decay(net, "fc/*", 0);
	}
	status = pfld_weights_create(&training->network.weights, training->network.device, net, training->values.seed, error);
	if (status == PFLD_ERR_MEMORY) memory_page_of_training(&training->network, &training->config);
	return status;
}

// Net forms that cannot share weights are refused by name, before shapes are looked at.
static enum pfld_status compare_models(const struct model *ours, const struct model *file, const char *path,
									   struct pfld_error *error)
{
	char shown[SHOWN_BYTES], a[NUMBER_TEXT_BYTES], b[NUMBER_TEXT_BYTES];
	show(shown, path);
	if (ours->net.preset != file->net.preset)
		return fail(error, PFLD_ERR_DATA, "%s is of preset %s, this run of %s", shown,
					pfld_preset_name(file->net.preset), pfld_preset_name(ours->net.preset));
	if (ours->net.width != file->net.width)
		return fail(error, PFLD_ERR_DATA, "%s is of width %s, this run of %s", shown, number_text(a, file->net.width),
					number_text(b, ours->net.width));
	if (ours->net.size != file->net.size)
		return fail(error, PFLD_ERR_DATA, "%s is for pictures of %d, this run of %d (--image_size)", shown,
					(int)file->net.size, (int)ours->net.size);
	if (ours->net.flatten_head != file->net.flatten_head)
		return fail(error, PFLD_ERR_DATA, "%s has a %s head, this run a %s one (--flatten_head)", shown,
					file->net.flatten_head ? "flattened" : "pooled", ours->net.flatten_head ? "flattened" : "pooled");
	return PFLD_OK;
}

static bool begins_with(const char *text, const char *start)
{
	return strncmp(text, start, strlen(start)) == 0;
}

static int32_t num_angle_parameters(const struct pfld_net *net)
{
	int32_t num = 0;
	for (int32_t i = 0; i < pfld_net_num_parameters(net); i++) {
		struct pfld_parameter_info info;
		pfld_net_parameter(net, i, &info);
		num += begins_with(info.name, "angles_");
	}
	return num;
}

// All but the last layer (of another number of points) and the angle net (of another loss) must be in the file.
static enum pfld_status load_pretrained(struct training *training, const char *path, struct pfld_error *error)
{
	struct model file;
	struct pfld_load_report report;
	char shown[SHOWN_BYTES];
	show(shown, path);
	bool known = model_read(&file, path, error) == PFLD_OK;
	if (!known && error->status != PFLD_ERR_DATA) return error->status;
	enum pfld_status status = known ? compare_models(&training->config.model, &file, path, error) : PFLD_OK;
	if (!status) status = pfld_weights_load(training->network.weights, path, PFLD_LOAD_MATCHING, &report, error);
	if (status) return status;
	bool angles_only = report.num_missing <= num_angle_parameters(training->network.net) &&
					   begins_with(report.first_missing, "angles_");
	if (report.num_missing > 0 && !angles_only)
		return fail(error, PFLD_ERR_DATA, "%s lacks %s", shown, report.first_missing);
	if (report.num_other_shape > 2 || (report.num_other_shape > 0 && !begins_with(report.first_other_shape, "fc/")))
		return fail(error, PFLD_ERR_DATA, "%s: %s has another shape than in this run's net", shown,
					report.first_other_shape);
	if (report.num_other_shape > 0 && known)
		progress_note(&training->progress,
					  "weights from %s: all but the last layer, as it has %d points and this run %d", shown,
					  (int)file.net.num_points, (int)training->config.model.net.num_points);
	else
		progress_note(&training->progress, "weights from %s%s", shown,
					  report.num_other_shape > 0 ? ": all but the last layer, as it has another number of points" : "");
	if (report.num_missing > 0) progress_note(&training->progress, "the angle net is not in it and starts afresh");
	return PFLD_OK;
}

static bool same_folder(const char *a, const char *b)
{
	struct stat info_a, info_b;
	return stat(a, &info_a) == 0 && stat(b, &info_b) == 0 && info_a.st_dev == info_b.st_dev &&
		   info_a.st_ino == info_b.st_ino;
}

// A file: its weights. A folder: those of its last.safetensors, and the epoch behind its last one.
static enum pfld_status start_from(struct training *training, struct pfld_error *error)
{
	const char *given = training->values.pretrained_model;
	char path[PATH_BYTES], shown[SHOWN_BYTES];
	snprintf(path, sizeof path, "%s%s", given, is_folder(given) ? "/last.safetensors" : "");
	enum pfld_status status = load_pretrained(training, path, error);
	if (status || !is_folder(given)) return status;
	json_t *root = NULL;
	struct run_state other = {.epoch = 1};
	status = run_state_read(&root, path, error);
	if (!status) status = run_state_take(&other, root, error);
	json_decref(root);
	if (status) return status;
	if (other.epoch > training->values.max_epoch)
		return fail(error, PFLD_ERR_ARGUMENT,
					"%s has trained %d epochs already; --max_epoch must be above that, got %d", show(shown, given),
					(int)other.epoch - 1, (int)training->values.max_epoch);
	training->state.epoch = other.epoch;
	if (same_folder(given, training->values.model_dir)) {
		training->state.best = other.best;
		training->state.best_epoch = other.best_epoch;
	}
	progress_note(&training->progress, "going on at epoch %d", (int)other.epoch);
	return PFLD_OK;
}

// ---- trainer, loader, evaluator ----

static enum pfld_status open_loader(struct training *training, const int32_t *mirror_map, struct pfld_error *error)
{
	const struct train_values *values = &training->values;
	int32_t num_slots;
	struct pfld_batch *slots = pfld_trainer_slots(training->trainer, &num_slots);
	struct pfld_loader_options options = {.sample = training->config.model.sample,
										  .num_threads = values->loader_threads,
										  .shuffle = true,
										  .drop_last = values->drop_last,
										  .seed = values->seed,
										  .max_batches = values->debug ? 10 : 0,
										  .max_bad = share_or_none(values->max_bad),
										  .log = say_log(training->command->name)};
	options.sample.augment = training->config.augment;
	options.sample.mirror_map = mirror_map;
	enum pfld_status status = pfld_loader_open(&training->loader, training->train, slots, num_slots, &options, error);
	if (!status && training->resumed) status = run_state_take_skips(training->loader, training->resumed, error);
	if (!status) status = pfld_loader_seek(training->loader, training->state.epoch, training->state.position, error);
	return status;
}

static enum pfld_status open_evaluator(struct training *training, struct pfld_error *error)
{
	const struct train_values *values = &training->values;
	if (!training->test) return PFLD_OK;
	struct evaluator_options options = {
		.dataset = training->test,
		.sample = training->config.model.sample,
		.batch = values->batch_size,
		.num_threads = values->loader_threads,
		.max_bad = share_or_none(values->max_bad),
		.has_corners = training->config.model.has_corners,
		.corners = {training->config.model.corners[0], training->config.model.corners[1]},
		.loss = training->config.trainer.loss,
		.num_shown = NUM_SHOWN_FACES,
		.stop = &training_stop,
		.log = say_log(training->command->name)};
	return evaluator_create(&training->evaluator, &options, error);
}

static enum pfld_status make_trainer(struct training *training, struct pfld_error *error)
{
	enum pfld_status status =
		pfld_trainer_create(&training->trainer, training->network.weights, &training->config.trainer, error);
	if (status == PFLD_ERR_MEMORY) memory_page_of_training(&training->network, &training->config);
	if (status || !training->resumed) return status;
	char path[PATH_BYTES];
	snprintf(path, sizeof path, "%s/last.safetensors", training->values.model_dir);
	return pfld_trainer_load(training->trainer, path, error);
}

// ---- report ----

static int32_t num_threads(const struct training *training)
{
	return training->values.threads > 0 ? training->values.threads
										: pfld_device_get_info(training->network.device)->num_units;
}

static enum pfld_status fill_report(struct training *training, struct pfld_error *error)
{
	const struct pfld_device_info *device = pfld_device_get_info(training->network.device);
	char text[OPTION_TEXT_BYTES];
	enum pfld_status status = PFLD_OK;
	for (const struct option *option = TRAIN_OPTIONS; option->name && !status; option++) {
		if (option->type == OPTION_UNUSED || option->type == OPTION_UNUSED_FLAG) continue;
		status =
			pfld_report_option(training->report, option->name, option_text(option, &training->values, text), error);
	}
	if (!status) status = pfld_report_text(training->report, "device", device->name, error);
	if (!status) status = pfld_report_text(training->report, "device_description", device->description, error);
	if (!status) status = pfld_report_number(training->report, "threads", num_threads(training), error);
	if (!status)
		status = pfld_report_number(training->report, "num_points", training->config.model.net.num_points, error);
	if (!status) status = pfld_report_number(training->report, "train_faces", (double)training->state.num_faces, error);
	if (!status && training->test)
		status = pfld_report_number(training->report, "test_faces", (double)pfld_dataset_size(training->test), error);
	return status;
}

static enum pfld_status make_report(struct training *training, struct pfld_error *error)
{
	const struct train_values *values = &training->values;
	char title[SHOWN_BYTES + 32], shown[SHOWN_BYTES];
	snprintf(title, sizeof title, "PFLD on %s", show(shown, values->file_list));
	struct pfld_report_options options = {.title = title, .command = training->command_line};
	enum pfld_status status = pfld_report_create(&training->report, &options, error);
	if (!status) status = fill_report(training, error);
	bool goes_on =
		training->resumed || (training->state.epoch > 1 && same_folder(values->pretrained_model, values->model_dir));
	if (status || !goes_on) return status;
	struct pfld_error reason;
	if (pfld_report_resume(training->report, values->model_dir, training->state.epoch - 1, &reason))
		say_warning(training->command->name, "%s The log begins anew.", reason.message);
	return PFLD_OK;
}

static void say_start(struct training *training)
{
	const struct pfld_device_info *device = pfld_device_get_info(training->network.device);
	const struct model *model = &training->config.model;
	struct pfld_plan_summary plan;
	int64_t parameters = 0, statistics, macs;
	char width[NUMBER_TEXT_BYTES];
	struct pfld_error error;
	pfld_plan_summary(pfld_trainer_plan(training->trainer), &plan);
	if (pfld_net_count(training->network.net, "points", &parameters, &statistics, &macs, &error)) return;
	progress_note(&training->progress, "pfld %s on %s (%s, %d threads)", pfld_version(), device->name,
				  device->description, (int)num_threads(training));
	progress_note(&training->progress, "training faces: %lld, test faces: %lld, points: %d",
				  (long long)training->state.num_faces,
				  training->test ? (long long)pfld_dataset_size(training->test) : 0LL, (int)model->net.num_points);
	progress_note(&training->progress, "preset %s, width %s: %lld parameters, %.1f million multiply-adds a face",
				  pfld_preset_name(model->net.preset), number_text(width, model->net.width), (long long)parameters,
				  (double)macs * 1e-6);
	progress_note(&training->progress, "memory planned: %.1f MiB", (double)plan.planned_peak_bytes / (1 << 20));
	if (training->resumed)
		progress_note(&training->progress, "going on in epoch %d after batch %lld", (int)training->state.epoch,
					  (long long)training->state.position);
}

// ---- all of it ----

enum { NUM_TRACED_STEPS = 10 };

static enum pfld_status open_trace(struct training *training, struct pfld_error *error)
{
	if (!training->values.trace) return PFLD_OK;
	enum pfld_status status = trace_open(&training->trace, training->values.trace, NUM_TRACED_STEPS, error);
	return status ? status : pfld_trainer_observe(training->trainer, trace_op, training->trace, error);
}

static enum pfld_status set_up(struct training *training, struct pfld_error *error)
{
	const int32_t *mirror_map = NULL;
	enum pfld_status status = open_lists(training, error);
	if (status) return status;
	status = choose_corners(training, error);
	if (!status) status = choose_mirror_map(training, &mirror_map, error);
	if (!status) status = make_net(training, error);
	if (!status && training->values.pretrained_model && !training->resumed) status = start_from(training, error);
	if (!status) status = make_trainer(training, error);
	if (!status) status = open_trace(training, error);
	if (!status) status = open_loader(training, mirror_map, error);
	if (!status) status = open_evaluator(training, error);
	if (!status) status = make_report(training, error);
	return status;
}

static void check_device(struct training *training)
{
	const struct pfld_device_info *device = pfld_device_get_info(training->network.device);
	if (training->resumed && strcmp(training->state.device, device->name) != 0)
		say_warning(training->command->name,
					"the run was on %s and goes on on %s: the result will not be the same to the bit",
					training->state.device, device->name);
	snprintf(training->state.device, sizeof training->state.device, "%s", device->name);
}

static void finish(struct training *training)
{
	if (!trace_close(&training->trace))
		say_warning(training->command->name, "%s could not be written: %s", training->values.trace, strerror(errno));
	pfld_report_destroy(&training->report);
	evaluator_destroy(&training->evaluator);
	pfld_loader_close(&training->loader);
	pfld_trainer_destroy(&training->trainer);
	network_close(&training->network);
	pfld_dataset_close(&training->test);
	pfld_dataset_close(&training->train);
	free(training->own_mirror_map);
	json_decref(training->resumed);
	free(training->command_line);
}

// Whether the folder holds a run that this one neither resumes nor goes on from.
static bool find_replaced(const struct training *training)
{
	const struct train_values *values = &training->values;
	char last[PATH_BYTES], shown[SHOWN_BYTES];
	snprintf(last, sizeof last, "%s/last.safetensors", values->model_dir);
	if (training->resumed || !is_there(last)) return false;
	if (values->pretrained_model && same_folder(values->pretrained_model, values->model_dir)) return false;
	say_warning(training->command->name,
				"%s holds an earlier run, which this one replaces when its first epoch is done",
				show(shown, values->model_dir));
	return true;
}

static int run_training(struct training *training)
{
	struct pfld_error error;
	if (set_up(training, &error)) return say_failure(training->command->name, &error);
	check_device(training);
	say_start(training);
	if (training->state.epoch > training->values.max_epoch) {
		progress_note(&training->progress, "all %d epochs are done: nothing to do", (int)training->values.max_epoch);
		return EXIT_GOOD;
	}
	training->replaces_run = find_replaced(training);
	catch_signals();
	return training_run(training);
}

// Where the schedule of the checkpoint stood goes into the one that the options make.
static void begin_schedule(struct training *training)
{
	struct pfld_schedule memory = training->state.schedule;
	training->state.schedule = training->config.schedule;
	training->state.schedule.has_best = memory.has_best;
	training->state.schedule.best = memory.best;
	training->state.schedule.plateau_rate = memory.plateau_rate;
	training->state.schedule.num_bad_epochs = memory.num_bad_epochs;
}

static int train(struct training *training, const struct arguments *arguments)
{
	const char *name = training->command->name;
	if (!training->values.resume)
		train_apply_recipe(training->command, arguments, &training->values);
	else if (!read_resumed(training, arguments))
		return EXIT_BAD;
	if (!train_configure(name, &training->values, &training->config)) return EXIT_USAGE;
	if (!make_folder(name, training->values.model_dir)) return EXIT_BAD;
	begin_schedule(training);
	progress_init(&training->progress, name, training->values.quiet, training->values.json);
	return run_training(training);
}

static int run(const struct command *command, int argc, char **argv)
{
	struct training training = {.command = command, .values = TRAIN_DEFAULTS, .state = {.epoch = 1, .best = NAN}};
	struct arguments arguments;
	int code;
	training.command_line = join_arguments(argc, argv);
	if (options_parse(command, argc, argv, &training.values, &arguments, &code)) {
		say_unused(command, &arguments);
		code = train(&training, &arguments);
	}
	finish(&training);
	return code;
}

const struct command TRAIN_COMMAND = {
	.name = "train",
	.summary = "train PFLD on a list of faces",
	.operands = "",
	.examples =
		"  pfld train --file_list builtin:train --test_list builtin:test --width 0.25 --max_epoch 10 --model_dir m\n"
		"  pfld train --file_list WFLW/list_98pt_rect_attr_train.txt --test_list WFLW/list_98pt_rect_attr_test.txt\n"
		"  pfld train --recipe tf --file_list train_data/list.txt --test_list test_data/list.txt --model_dir m\n"
		"  pfld train --resume --model_dir m\n"
		"  pfld train --file_list builtin:train:100 --max_epoch 1 --trace trace.json --model_dir m\n",
	.options = TRAIN_OPTIONS,
	.run = run,
};
