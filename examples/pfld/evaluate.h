// SPDX-License-Identifier: MIT
// Measuring a net on a list: NME and its kin, the loss, the six attribute subsets, some faces to show. Knows nothing of
// how predictions are made: cmd_eval.c hands in a program, the training loop its trainer.
#ifndef PFLD_PROGRAM_EVALUATE_H
#define PFLD_PROGRAM_EVALUATE_H

#include <pfld/data.h>
#include <pfld/loss.h>
#include <pfld/metrics.h>
#include <pfld/report.h>
#include <signal.h>

enum { NUM_ATTRIBUTES = 6 };
extern const char *const ATTRIBUTE_NAMES[NUM_ATTRIBUTES]; // "pose", "expression", ...

// Predictions (num_samples, 2P) of a batch's inputs.
typedef enum pfld_status predict_fn(void *context, const struct pfld_batch *batch, float *predictions,
									struct pfld_error *error);

struct evaluator_options {
	const struct pfld_dataset *dataset;
	struct pfld_sample_options sample; // without augmentation
	int32_t batch, num_threads;
	double max_bad;
	bool has_corners;
	int32_t corners[2]; // whose distance normalises NME
	// wing, l1, l2, smooth_l1: as in training; pfld, pfld_compat: the squared distance alone, as both public trainers
	// report it for their test set.
	struct pfld_loss_options loss;
	int32_t num_shown;                 // faces to keep for the report
	const volatile sig_atomic_t *stop; // may be NULL; when it becomes set, evaluation ends with PFLD_ERR_CANCELLED
	struct pfld_log log;
};

struct evaluation {
	struct pfld_landmark_metrics all, subsets[NUM_ATTRIBUTES];
	bool has_subsets;
	double loss; // mean over the faces; NaN when there are none
	int64_t num_faces;
	int32_t num_shown;
	const struct pfld_report_face *shown; // belong to the evaluator, until the next run
};

struct evaluator;
enum pfld_status evaluator_create(struct evaluator **evaluator, const struct evaluator_options *options,
								  struct pfld_error *error);
void evaluator_destroy(struct evaluator **evaluator);
// Every face of the list once, in its order: the same answer for every batch size and number of threads.
enum pfld_status evaluator_run(struct evaluator *evaluator, predict_fn *predict, void *context,
							   struct evaluation *evaluation, struct pfld_error *error);
// Faces that could not be loaded so far. Belongs to the evaluator.
size_t evaluator_skips(const struct evaluator *evaluator, const struct pfld_skipped_sample **skipped);

#endif
