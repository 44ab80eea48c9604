// SPDX-License-Identifier: MIT
// Learning-rate schedules: the rate of a step from its epoch and number. Pure functions of a small struct.
#ifndef PFLD_SCHEDULE_H
#define PFLD_SCHEDULE_H

#include <pfld/status.h>
#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum pfld_schedule_kind {
	PFLD_SCHEDULE_CONSTANT = 0,
	PFLD_SCHEDULE_STEPS,       // times `factor` from each of `steps` epochs on (TensorFlow's piecewise: after epoch s)
	PFLD_SCHEDULE_EXPONENTIAL, // rate factor^(epoch - 1)
	PFLD_SCHEDULE_COSINE,      // min + (rate - min) (1 + cos(pi (epoch - 1) / num_epochs)) / 2, as CosineAnnealingLR by epoch
	PFLD_SCHEDULE_PLATEAU,     // times `factor` when the metric has not improved for more than `patience` epochs (PyTorch)
};
enum { PFLD_SCHEDULE_MAX_STEPS = 32 };
struct pfld_schedule {
	enum pfld_schedule_kind kind;
	double rate;         // to start with
	double min_rate;     // floor
	double factor;       // 0 means 0.1 (exponential: 0.95)
	int32_t num_epochs;  // cosine
	int32_t steps[PFLD_SCHEDULE_MAX_STEPS], num_steps; // ascending epochs
	int32_t patience;    // plateau; 0 means 10
	double threshold;    // plateau: relative improvement that counts; 0 means 1e-4
	int64_t warmup_steps; // linear from rate / warmup_steps up, over the first so many steps of training
	// plateau's memory: save and restore it to resume
	bool has_best;
	double best, plateau_rate;
	int32_t num_bad_epochs;
};
// The rate of step `step` (from 0, over the whole training) in epoch `epoch` (from 1).
PFLD_API double pfld_schedule_rate(const struct pfld_schedule *schedule, int32_t epoch, int64_t step);
// Tell plateau the metric (lower is better) of an epoch that has ended; nothing for the others.
PFLD_API void pfld_schedule_epoch_end(struct pfld_schedule *schedule, double metric);
PFLD_API const char *pfld_schedule_name(enum pfld_schedule_kind kind);
PFLD_API bool pfld_schedule_from_name(const char *name, enum pfld_schedule_kind *kind);

#ifdef __cplusplus
}
#endif
#endif
