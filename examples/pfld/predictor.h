// SPDX-License-Identifier: MIT
// An inference program on a network, in the form that the evaluator takes. Called by cmd_eval.c and cmd_predict.c.
#ifndef PFLD_PROGRAM_PREDICTOR_H
#define PFLD_PROGRAM_PREDICTOR_H

#include "model_file.h"

#include <pfld/batch.h>
#include <pfld/program.h>

struct predictor {
	struct pfld_program *program;
	struct pfld_tensor *image, *points;      // belong to the program
	int64_t image_elements, points_elements; // of one sample
};
struct pfld_program_options inference_options(int32_t batch);
// Where it does not fit, the out-of-memory page goes to standard error.
enum pfld_status predictor_create(struct predictor *predictor, struct network *network, const struct model *model,
								  int32_t batch, struct pfld_error *error);
void predictor_destroy(struct predictor *predictor);
// A predict_fn whose context is the predictor.
enum pfld_status predictor_run(void *context, const struct pfld_batch *batch, float *predictions,
							   struct pfld_error *error);

#endif
