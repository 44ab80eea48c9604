// SPDX-License-Identifier: MIT
// What a training run says while it goes: a live line on a terminal, plain lines in a file, JSON objects with --json,
// nothing with --quiet. Called by train_loop.c.
#ifndef PFLD_PROGRAM_PROGRESS_H
#define PFLD_PROGRAM_PROGRESS_H

#include "json_out.h"

#include <pfld/report.h>

enum progress_style { PROGRESS_QUIET, PROGRESS_PLAIN, PROGRESS_LIVE, PROGRESS_JSON };

struct progress {
	const char *command;
	enum progress_style style;
	double last_shown; // clock
};

// Now, in seconds, from some start; never goes back.
double clock_seconds(void);

// LIVE when stdout is a terminal.
void progress_init(struct progress *progress, const char *command, bool quiet, bool json);
// A line for people; nothing in the other styles.
void progress_note(struct progress *progress, const char *format, ...) PFLD_PRINTF(2, 3);
// True when it is time to show where the run stands (asking costs nothing, showing may wait for the device).
bool progress_is_due(const struct progress *progress);
struct progress_place {
	int32_t epoch, num_epochs;
	int64_t batch, num_batches;
	double loss, images_per_second, seconds_left;
};
void progress_show(struct progress *progress, const struct progress_place *place);
void progress_epoch(struct progress *progress, const struct pfld_report_epoch *epoch, int32_t num_epochs, bool is_best);
// "before training: NME 41 % ..."; also the JSON event "initial".
void progress_initial(struct progress *progress, const struct pfld_landmark_metrics *metrics, double test_loss);
// One JSON event in --json style; takes the reference. Nothing in the other styles.
void progress_event(struct progress *progress, json_t *event);

#endif
