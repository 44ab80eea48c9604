// SPDX-License-Identifier: MIT
// The loop of a training run: batches to steps, epochs to rows, checkpoints that lose nothing. run.json is written
// before last.safetensors: after a crash in between, the epoch is run again and its row replaced by the same one.
#include "say.h"
#include "training.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

volatile sig_atomic_t training_stop;

// Clocks and counters of the epoch in progress.
struct epoch_clock {
	double start, test_seconds;
	int64_t num_samples, num_batches; // trained on since start
	struct pfld_loader_stats loader;  // at start
};

enum epoch_end { EPOCH_DONE, EPOCH_INTERRUPTED, EPOCH_FAILED };

static enum pfld_status predict_with_trainer(void *context, const struct pfld_batch *batch, float *predictions,
											 struct pfld_error *error)
{
	return pfld_trainer_predict(context, batch, predictions, error);
}

// ---- saving ----

static void add_metadata(struct metadata *metadata, const char *key, const char *value)
{
	metadata->pairs[metadata->num][0] = key;
	metadata->pairs[metadata->num][1] = value;
	metadata->num++;
}

static enum pfld_status save_last(struct training *training, struct pfld_error *error)
{
	struct metadata metadata;
	char path[PATH_BYTES], *state = run_state_text(&training->state, &training->values, training->loader);
	if (!state) return fail(error, PFLD_ERR_MEMORY, "out of memory for a checkpoint");
	model_metadata(&training->config.model, &metadata);
	add_metadata(&metadata, RUN_STATE_KEY, state);
	snprintf(path, sizeof path, "%s/last.safetensors", training->values.model_dir);
	enum pfld_status status =
		pfld_trainer_save(training->trainer, path, (const char *const(*)[2])metadata.pairs, metadata.num, error);
	free(state);
	return status;
}

static enum pfld_status save_best(struct training *training, struct pfld_error *error)
{
	struct metadata metadata;
	char path[PATH_BYTES], epoch[16];
	model_metadata(&training->config.model, &metadata);
	snprintf(epoch, sizeof epoch, "%d", (int)training->state.best_epoch);
	add_metadata(&metadata, "epoch", epoch);
	snprintf(path, sizeof path, "%s/best.safetensors", training->values.model_dir);
	return pfld_weights_save(training->network.weights, path, (const char *const(*)[2])metadata.pairs, metadata.num,
							 error);
}

// Rows left out at open and images that failed, of both lists, as one list.
static enum pfld_status report_skips(struct training *training, struct pfld_error *error)
{
	const struct pfld_skip *rows[2] = {NULL, NULL};
	const struct pfld_skipped_sample *samples[2] = {NULL, NULL};
	size_t num_rows[2] = {pfld_dataset_skips(training->train, &rows[0]), 0}, num = 0;
	size_t num_samples[2] = {pfld_loader_skips(training->loader, &samples[0]), 0};
	if (training->test) num_rows[1] = pfld_dataset_skips(training->test, &rows[1]);
	if (training->evaluator) num_samples[1] = evaluator_skips(training->evaluator, &samples[1]);
	size_t total = num_rows[0] + num_rows[1] + num_samples[0] + num_samples[1];
	struct pfld_report_skip *skips = calloc(total + 1, sizeof(*skips));
	if (!skips) return fail(error, PFLD_ERR_MEMORY, "out of memory for %zu skipped files", total);
	for (int list = 0; list < 2; list++) {
		for (size_t i = 0; i < num_rows[list]; i++)
			skips[num++] = (struct pfld_report_skip){rows[list][i].path, rows[list][i].reason, rows[list][i].line};
		for (size_t i = 0; i < num_samples[list]; i++) {
			const struct pfld_skip *skip = &samples[list][i].skip;
			skips[num++] = (struct pfld_report_skip){skip->path, skip->reason, skip->line};
		}
	}
	enum pfld_status status = pfld_report_skips(training->report, skips, num, error);
	free(skips);
	return status;
}

static enum pfld_status report_memory(struct training *training, struct pfld_error *error)
{
	struct pfld_plan_summary plan;
	struct pfld_memory memory;
	pfld_plan_summary(pfld_trainer_plan(training->trainer), &plan);
	pfld_device_memory(training->network.device, &memory);
	enum pfld_status status =
		pfld_report_number(training->report, "reserved_peak_bytes", (double)memory.peak_reserved_bytes, error);
	if (status) return status;
	return pfld_report_memory(training->report, plan.planned_peak_bytes, memory.peak_bytes, plan.by_class, error);
}

enum pfld_status training_write_report(struct training *training, const char *how_it_stands, struct pfld_error *error)
{
	struct pfld_report *report = training->report;
	char sha256[65];
	enum pfld_status status = pfld_weights_sha256(training->network.weights, sha256, error);
	if (!status) status = pfld_report_text(report, "weights_sha256", sha256, error);
	if (!status) status = pfld_report_text(report, "status", how_it_stands, error);
	if (!status) status = pfld_report_number(report, "steps", (double)pfld_trainer_num_steps(training->trainer), error);
	if (!status && training->state.best_epoch > 0) {
		status = pfld_report_number(report, "best_epoch", training->state.best_epoch, error);
		if (!status) status = pfld_report_number(report, "best", training->state.best, error);
	}
	if (!status) status = report_memory(training, error);
	if (!status) status = report_skips(training, error);
	if (!status) status = pfld_report_write(report, training->values.model_dir, error);
	return status;
}

// ---- one epoch ----

static void begin_clock(struct training *training, struct epoch_clock *clock)
{
	*clock = (struct epoch_clock){.start = clock_seconds()};
	pfld_loader_stats(training->loader, &clock->loader);
}

static void show_progress(struct training *training, const struct epoch_clock *clock)
{
	struct pfld_error error;
	int64_t num_samples;
	double elapsed = clock_seconds() - clock->start;
	struct progress_place place = {.epoch = training->state.epoch,
								   .num_epochs = training->values.max_epoch,
								   .batch = training->state.position,
								   .num_batches = pfld_loader_num_batches(training->loader)};
	if (pfld_trainer_mean_loss(training->trainer, &place.loss, &num_samples, &error)) place.loss = NAN;
	place.images_per_second = elapsed > 0 ? (double)clock->num_samples / elapsed : NAN;
	double batches_left = (double)(place.num_batches - place.batch) +
						  (double)(place.num_epochs - place.epoch) * (double)place.num_batches;
	place.seconds_left = clock->num_batches > 0 ? elapsed / (double)clock->num_batches * batches_left : NAN;
	progress_show(&training->progress, &place);
}

static enum pfld_status train_batch(struct training *training, struct epoch_clock *clock,
									const struct pfld_batch *batch, struct pfld_error *error)
{
	if (batch->num_samples == 1 && pfld_trainer_needs_two_samples(training->trainer)) {
		if (!training->said_single)
			say_warning(training->command->name,
						"batch %lld of epoch %d holds one face: left out, as batch norm needs two",
						(long long)batch->position + 1, (int)batch->epoch);
		training->said_single = true;
		return PFLD_OK;
	}
	training->state.learning_rate = pfld_schedule_rate(&training->state.schedule, training->state.epoch,
													   (int64_t)pfld_trainer_num_steps(training->trainer));
	pfld_trainer_set_learning_rate(training->trainer, training->state.learning_rate);
	clock->num_samples += batch->num_samples;
	clock->num_batches++;
	return pfld_trainer_step(training->trainer, batch, NULL, error);
}

static enum pfld_status run_batches(struct training *training, struct epoch_clock *clock, struct pfld_error *error)
{
	while (!training_stop) {
		struct pfld_batch *batch;
		enum pfld_status status = pfld_loader_next(training->loader, &batch, error);
		if (status) return status;
		status = train_batch(training, clock, batch, error);
		training->state.position = batch->position + 1;
		pfld_loader_release(training->loader, batch);
		if (status) return status;
		if (progress_is_due(&training->progress)) show_progress(training, clock);
	}
	return PFLD_ERR_CANCELLED;
}

// Tell the faces that failed to load in an epoch of the loader's; returns how many.
static int64_t say_failed(const struct training *training, const struct pfld_skipped_sample *skipped, size_t num,
						  int32_t epoch)
{
	enum { MAX_SAID = 10 };
	int64_t num_failed = 0;
	for (size_t i = 0; i < num; i++) {
		if (skipped[i].epoch != epoch) continue;
		if (++num_failed <= MAX_SAID) say_warning(training->command->name, "left out: %s", skipped[i].skip.reason);
	}
	if (num_failed > MAX_SAID)
		say_warning(training->command->name, "left out: %lld more; run.json lists them all",
					(long long)num_failed - MAX_SAID);
	return num_failed;
}

static bool is_test_epoch(const struct training *training)
{
	int32_t epoch = training->state.epoch;
	return training->evaluator &&
		   (epoch % training->values.validation_freq == 0 || epoch == training->values.max_epoch);
}

static enum pfld_status measure(struct training *training, struct epoch_clock *clock, struct pfld_report_epoch *row,
								struct pfld_error *error)
{
	struct evaluation evaluation;
	double start = clock_seconds();
	enum pfld_status status =
		evaluator_run(training->evaluator, predict_with_trainer, training->trainer, &evaluation, error);
	if (status) return status;
	const struct pfld_skipped_sample *skipped;
	size_t num_skipped = evaluator_skips(training->evaluator, &skipped);
	say_failed(training, skipped, num_skipped, ++training->num_tests);
	clock->test_seconds = clock_seconds() - start;
	row->test_loss = evaluation.loss;
	row->nme = evaluation.all.nme;
	row->nme_median = evaluation.all.nme_median;
	row->failure_rate = evaluation.all.failure_rate;
	row->auc = evaluation.all.auc;
	return pfld_report_faces(training->report, evaluation.shown, evaluation.num_shown, error);
}

static void fill_times(struct training *training, const struct epoch_clock *clock, struct pfld_report_epoch *row)
{
	struct pfld_loader_stats loader;
	pfld_loader_stats(training->loader, &loader);
	row->seconds = clock_seconds() - clock->start;
	row->seconds_test = clock->test_seconds;
	double seconds = row->seconds - row->seconds_test;
	row->images_per_second = seconds > 0 ? (double)clock->num_samples / seconds : NAN;
	row->data_wait_share = seconds > 0 ? (double)(loader.wait_ns - clock->loader.wait_ns) * 1e-9 / seconds : NAN;
	row->decode_seconds = (double)(loader.decode_ns - clock->loader.decode_ns) * 1e-9;
	row->augment_seconds = (double)(loader.augment_ns - clock->loader.augment_ns) * 1e-9;
}

// What decides which epoch is best, lower is better: NME, else the test loss, else the train loss. NaN: not this one.
static double score(const struct training *training, const struct pfld_report_epoch *row)
{
	if (!training->evaluator) return row->train_loss;
	return training->config.model.has_corners ? row->nme : row->test_loss;
}

// The state moves on to the next epoch; true when this one is the best so far.
static bool take_score(struct training *training, const struct pfld_report_epoch *row)
{
	struct run_state *state = &training->state;
	double value = score(training, row);
	bool is_best = isfinite(value) && (state->best_epoch == 0 || value < state->best);
	if (is_best) {
		state->best = value;
		state->best_epoch = state->epoch;
	}
	if (!training->evaluator || is_test_epoch(training))
		pfld_schedule_epoch_end(&state->schedule, training->evaluator ? row->test_loss : row->train_loss);
	state->epoch++;
	state->position = 0;
	return is_best;
}

static enum pfld_status end_epoch(struct training *training, struct epoch_clock *clock, struct pfld_error *error)
{
	struct pfld_report_epoch row = {.epoch = training->state.epoch,
									.test_loss = NAN,
									.nme = NAN,
									.nme_median = NAN,
									.failure_rate = NAN,
									.auc = NAN,
									.learning_rate = training->state.learning_rate};
	int64_t num_samples;
	const struct pfld_skipped_sample *skipped;
	size_t num_skipped = pfld_loader_skips(training->loader, &skipped);
	enum pfld_status status = pfld_trainer_mean_loss(training->trainer, &row.train_loss, &num_samples, error);
	// Gaps left by faces that failed are closed in the next epoch; without any, nothing would ever change.
	int64_t num_failed = say_failed(training, skipped, num_skipped, training->state.epoch);
	if (!status && num_samples == 0 && num_failed == 0)
		status = fail(error, PFLD_ERR_DATA, "no batch of this epoch holds two faces or more: nothing to train on");
	if (!status && is_test_epoch(training)) status = measure(training, clock, &row, error);
	if (status) return status;
	fill_times(training, clock, &row);
	bool is_best = take_score(training, &row);
	status = pfld_report_epoch(training->report, &row, error);
	if (!status) status = training_write_report(training, "running", error);
	if (!status && is_best) status = save_best(training, error);
	if (!status) status = save_last(training, error);
	if (!status) progress_epoch(&training->progress, &row, training->values.max_epoch, is_best);
	return status;
}

// The reason goes into run.json as well, if that can still be written.
static void end_failed(struct training *training, const struct pfld_error *error)
{
	struct pfld_error ignored;
	say_failure(training->command->name, error);
	enum pfld_status status = pfld_report_text(training->report, "error", error->message, &ignored);
	if (!status) status = training_write_report(training, "failed", &ignored);
	(void)status;
}

static enum epoch_end run_epoch(struct training *training)
{
	struct pfld_error error;
	struct epoch_clock clock;
	enum pfld_status status = PFLD_OK;
	begin_clock(training, &clock);
	if (training->state.position == 0) status = pfld_trainer_reset_loss(training->trainer, &error);
	if (!status) status = run_batches(training, &clock, &error);
	if (status == PFLD_END) status = end_epoch(training, &clock, &error);
	if (status == PFLD_ERR_CANCELLED) return EPOCH_INTERRUPTED;
	if (status == PFLD_OK) return EPOCH_DONE;
	end_failed(training, &error);
	return EPOCH_FAILED;
}

// ---- the run ----

static int end_interrupted(struct training *training)
{
	struct pfld_error error;
	enum pfld_status status = training_write_report(training, "interrupted", &error);
	if (!status) status = save_last(training, &error);
	if (status) return say_failure(training->command->name, &error);
	say_error(training->command->name,
			  "interrupted in epoch %d after batch %lld; saved. Go on with: pfld train --resume "
			  "--model_dir %s",
			  (int)training->state.epoch, (long long)training->state.position, training->values.model_dir);
	return EXIT_INTERRUPTED;
}

static void say_best(struct training *training)
{
	const struct run_state *state = &training->state;
	const char *folder = training->values.model_dir;
	if (state->best_epoch == 0) return;
	if (training->evaluator && training->config.model.has_corners)
		progress_note(&training->progress, "best: epoch %d, NME %.2f %%, %s/best.safetensors", (int)state->best_epoch,
					  state->best * 100, folder);
	else
		progress_note(&training->progress, "best: epoch %d, %s loss %.5g, %s/best.safetensors", (int)state->best_epoch,
					  training->evaluator ? "test" : "train", state->best, folder);
}

static int end_finished(struct training *training)
{
	struct pfld_error error;
	bool stopped = training->state.epoch <= training->values.max_epoch;
	if (training_write_report(training, stopped ? "stopped" : "finished", &error))
		return say_failure(training->command->name, &error);
	say_best(training);
	struct pfld_memory memory;
	pfld_device_memory(training->network.device, &memory);
	progress_note(&training->progress, "memory: %.1f MiB at the peak, %.1f MiB reserved",
				  (double)memory.peak_bytes / (1 << 20), (double)memory.peak_reserved_bytes / (1 << 20));
	progress_note(&training->progress, "report: %s/report.html", training->values.model_dir);
	if (stopped)
		progress_note(&training->progress, "go on with: pfld train --resume --model_dir %s",
					  training->values.model_dir);
	progress_event(&training->progress,
				   json_pack("{s:s, s:i, s:o, s:o}", "event", "end", "best_epoch", (int)training->state.best_epoch,
							 "best", json_finite(training->state.best), "model_dir",
							 json_utf8(training->values.model_dir)));
	return EXIT_GOOD;
}

static int test_initially(struct training *training)
{
	struct pfld_error error;
	struct evaluation evaluation;
	enum pfld_status status =
		evaluator_run(training->evaluator, predict_with_trainer, training->trainer, &evaluation, &error);
	training->num_tests++;
	if (!status) status = pfld_report_number(training->report, "initial_nme", evaluation.all.nme, &error);
	if (!status) status = pfld_report_number(training->report, "initial_test_loss", evaluation.loss, &error);
	if (status == PFLD_ERR_CANCELLED) return EXIT_GOOD; // the loop will see it
	if (status) return say_failure(training->command->name, &error);
	progress_initial(&training->progress, &evaluation.all, evaluation.loss);
	return EXIT_GOOD;
}

// The start is a checkpoint too: a run that is killed in its first epoch can be resumed, and a folder that cannot be
// written to shows before the work, not after it. The checkpoint of an earlier run stays until an epoch is done, so
// that a wrong start does not cost it.
static int save_start(struct training *training)
{
	struct pfld_error error;
	enum pfld_status status = training_write_report(training, "running", &error);
	if (!status) status = save_last(training, &error);
	return status ? say_failure(training->command->name, &error) : EXIT_GOOD;
}

int training_run(struct training *training)
{
	const struct train_values *values = &training->values;
	int code = training->replaces_run || training->resumed ? EXIT_GOOD : save_start(training);
	if (code != EXIT_GOOD) return code;
	int32_t last =
		values->stop_epoch > 0 && values->stop_epoch < values->max_epoch ? values->stop_epoch : values->max_epoch;
	if (values->test_initial && training->evaluator && training->state.epoch == 1 && training->state.position == 0) {
		code = test_initially(training);
		if (code != EXIT_GOOD) return code;
	}
	while (training->state.epoch <= last) {
		enum epoch_end end = run_epoch(training);
		if (end == EPOCH_INTERRUPTED) return end_interrupted(training);
		if (end == EPOCH_FAILED) return EXIT_BAD;
	}
	return end_finished(training);
}
