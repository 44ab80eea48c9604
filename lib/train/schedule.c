// SPDX-License-Identifier: MIT
// Learning-rate schedules: pure functions of a small struct that the caller owns. The trainer is told the rate; it
// knows no schedule. Called by programs once a step.
#include <pfld/schedule.h>

#include "base/base.h"

#include <math.h>
#include <string.h>

static const double PI = 3.14159265358979323846;
static const double SMALLEST_CHANGE = 1e-8; // plateau leaves a rate alone that would move by no more (PyTorch)

static const char *const NAMES[] = {
	[PFLD_SCHEDULE_CONSTANT] = "constant",       [PFLD_SCHEDULE_STEPS] = "steps",
	[PFLD_SCHEDULE_EXPONENTIAL] = "exponential", [PFLD_SCHEDULE_COSINE] = "cosine",
	[PFLD_SCHEDULE_PLATEAU] = "plateau",
};

static double factor_or_default(const struct pfld_schedule *schedule)
{
	if (schedule->factor != 0) return schedule->factor;
	return schedule->kind == PFLD_SCHEDULE_EXPONENTIAL ? 0.95 : 0.1;
}

static double rate_of_epoch(const struct pfld_schedule *schedule, int32_t epoch)
{
	double rate = schedule->rate;
	switch (schedule->kind) {
	case PFLD_SCHEDULE_CONSTANT: break;
	case PFLD_SCHEDULE_STEPS:
		for (int32_t i = 0; i < PFLD_MIN(schedule->num_steps, (int32_t)PFLD_SCHEDULE_MAX_STEPS); i++)
			if (epoch > schedule->steps[i]) rate *= factor_or_default(schedule);
		break;
	case PFLD_SCHEDULE_EXPONENTIAL: rate *= pow(factor_or_default(schedule), epoch - 1); break;
	case PFLD_SCHEDULE_COSINE:
		if (schedule->num_epochs > 0) {
			double done = PFLD_MIN((double)(epoch - 1) / schedule->num_epochs, 1.0);
			rate = schedule->min_rate + (rate - schedule->min_rate) * (1 + cos(PI * done)) / 2;
		}
		break;
	case PFLD_SCHEDULE_PLATEAU:
		if (schedule->has_best) rate = schedule->plateau_rate;
		break;
	}
	return PFLD_MAX(rate, schedule->min_rate);
}

double pfld_schedule_rate(const struct pfld_schedule *schedule, int32_t epoch, int64_t step)
{
	double rate = rate_of_epoch(schedule, epoch);
	if (step < schedule->warmup_steps) rate *= (double)(step + 1) / (double)schedule->warmup_steps;
	return rate;
}

void pfld_schedule_epoch_end(struct pfld_schedule *schedule, double metric)
{
	if (schedule->kind != PFLD_SCHEDULE_PLATEAU) return;
	if (!schedule->has_best) {
		schedule->has_best = true;
		schedule->best = INFINITY;
		schedule->plateau_rate = schedule->rate;
		schedule->num_bad_epochs = 0;
	}
	double threshold = schedule->threshold != 0 ? schedule->threshold : 1e-4;
	if (metric < schedule->best * (1 - threshold)) {
		schedule->best = metric;
		schedule->num_bad_epochs = 0;
		return;
	}
	schedule->num_bad_epochs++;
	if (schedule->num_bad_epochs <= (schedule->patience != 0 ? schedule->patience : 10)) return;
	double lower = PFLD_MAX(schedule->plateau_rate * factor_or_default(schedule), schedule->min_rate);
	if (schedule->plateau_rate - lower > SMALLEST_CHANGE) schedule->plateau_rate = lower;
	schedule->num_bad_epochs = 0;
}

const char *pfld_schedule_name(enum pfld_schedule_kind kind)
{
	return (size_t)kind < PFLD_COUNT(NAMES) ? NAMES[kind] : "unknown";
}

bool pfld_schedule_from_name(const char *name, enum pfld_schedule_kind *kind)
{
	for (size_t i = 0; name && i < PFLD_COUNT(NAMES); i++) {
		if (strcmp(name, NAMES[i]) == 0) {
			*kind = (enum pfld_schedule_kind)i;
			return true;
		}
	}
	return false;
}
