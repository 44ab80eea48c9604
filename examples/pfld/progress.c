// SPDX-License-Identifier: MIT
// What a training run says while it goes.
#include "progress.h"
#include "say.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

double clock_seconds(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

void progress_init(struct progress *progress, const char *command, bool quiet, bool json)
{
	*progress = (struct progress){.command = command, .last_shown = clock_seconds()};
	progress->style = quiet                   ? PROGRESS_QUIET
					  : json                  ? PROGRESS_JSON
					  : isatty(STDOUT_FILENO) ? PROGRESS_LIVE
											  : PROGRESS_PLAIN;
}

static bool for_people(const struct progress *progress)
{
	return progress->style == PROGRESS_PLAIN || progress->style == PROGRESS_LIVE;
}

// Clear the live line, so that a whole line can take its place.
static void begin_line(const struct progress *progress)
{
	if (progress->style == PROGRESS_LIVE) printf("\r\033[K");
	say_progress_open(false);
}

static void end_line(void)
{
	putchar('\n');
	fflush(stdout);
}

void progress_note(struct progress *progress, const char *format, ...)
{
	va_list args;
	if (!for_people(progress)) return;
	begin_line(progress);
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	end_line();
}

bool progress_is_due(const struct progress *progress)
{
	static const double SECONDS[] = {
		[PROGRESS_QUIET] = INFINITY, [PROGRESS_PLAIN] = 10, [PROGRESS_LIVE] = 0.2, [PROGRESS_JSON] = 10};
	return clock_seconds() - progress->last_shown >= SECONDS[progress->style];
}

// "1:02:03" or "2:03".
static void print_duration(double seconds)
{
	long long whole = seconds > 0 && seconds < 1e12 ? (long long)(seconds + 0.5) : 0;
	if (whole >= 3600)
		printf("%lld:%02lld:%02lld", whole / 3600, whole / 60 % 60, whole % 60);
	else
		printf("%lld:%02lld", whole / 60, whole % 60);
}

void progress_show(struct progress *progress, const struct progress_place *place)
{
	progress->last_shown = clock_seconds();
	if (progress->style == PROGRESS_JSON) {
		progress_event(progress,
					   json_pack("{s:s, s:i, s:i, s:I, s:I, s:o, s:o, s:o}", "event", "progress", "epoch",
								 (int)place->epoch, "max_epoch", (int)place->num_epochs, "batch",
								 (json_int_t)place->batch, "batches", (json_int_t)place->num_batches, "loss",
								 json_finite(place->loss), "images_per_second", json_finite(place->images_per_second),
								 "seconds_left", json_finite(place->seconds_left)));
		return;
	}
	if (!for_people(progress)) return;
	begin_line(progress);
	printf("epoch %d/%d  batch %lld/%lld  loss %.5g  %.4g images/s  ", (int)place->epoch, (int)place->num_epochs,
		   (long long)place->batch, (long long)place->num_batches, place->loss, place->images_per_second);
	print_duration(place->seconds_left);
	printf(" left");
	if (progress->style == PROGRESS_PLAIN) {
		end_line();
	} else {
		say_progress_open(true);
		fflush(stdout);
	}
}

static void print_metrics(double nme, double median, double failure_rate, double auc)
{
	if (isnan(nme)) return;
	printf("  NME %.2f %%  median %.2f %%  failures %.1f %%  AUC %.3f", nme * 100, median * 100, failure_rate * 100,
		   auc);
}

static json_t *epoch_event(const struct pfld_report_epoch *epoch, int32_t num_epochs, bool is_best)
{
	return json_pack("{s:s, s:i, s:i, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:b}", "event", "epoch",
					 "epoch", (int)epoch->epoch, "max_epoch", (int)num_epochs, "train_loss",
					 json_finite(epoch->train_loss), "test_loss", json_finite(epoch->test_loss), "nme",
					 json_finite(epoch->nme), "nme_median", json_finite(epoch->nme_median), "failure_rate",
					 json_finite(epoch->failure_rate), "auc", json_finite(epoch->auc), "learning_rate",
					 json_finite(epoch->learning_rate), "images_per_second", json_finite(epoch->images_per_second),
					 "data_wait_share", json_finite(epoch->data_wait_share), "seconds", json_finite(epoch->seconds),
					 "best", (int)is_best);
}

void progress_epoch(struct progress *progress, const struct pfld_report_epoch *epoch, int32_t num_epochs, bool is_best)
{
	progress->last_shown = clock_seconds();
	if (progress->style == PROGRESS_JSON) progress_event(progress, epoch_event(epoch, num_epochs, is_best));
	if (!for_people(progress)) return;
	begin_line(progress);
	printf("epoch %d/%d  loss %.5g", (int)epoch->epoch, (int)num_epochs, epoch->train_loss);
	if (!isnan(epoch->test_loss)) printf("  test %.5g", epoch->test_loss);
	print_metrics(epoch->nme, epoch->nme_median, epoch->failure_rate, epoch->auc);
	printf("  rate %.3g  %.4g images/s  data wait %.0f %%  %.1f s%s", epoch->learning_rate, epoch->images_per_second,
		   epoch->data_wait_share * 100, epoch->seconds, is_best ? "  *" : "");
	end_line();
}

void progress_initial(struct progress *progress, const struct pfld_landmark_metrics *metrics, double test_loss)
{
	if (progress->style == PROGRESS_JSON) {
		json_t *event = json_pack("{s:s, s:o}", "event", "initial", "test_loss", json_finite(test_loss));
		if (event && json_set_metrics(event, metrics))
			progress_event(progress, event);
		else
			json_decref(event);
	}
	if (!for_people(progress)) return;
	begin_line(progress);
	printf("before training:  test %.5g", test_loss);
	print_metrics(metrics->nme, metrics->nme_median, metrics->failure_rate, metrics->auc);
	end_line();
}

void progress_event(struct progress *progress, json_t *event)
{
	if (progress->style == PROGRESS_JSON)
		json_print_line(progress->command, event);
	else
		json_decref(event);
}
