// SPDX-License-Identifier: MIT
// An inference program on a network.
#include "predictor.h"
#include "memory_page.h"

struct pfld_program_options inference_options(int32_t batch)
{
	static const char *const OUTPUTS[] = {"points"};
	return (struct pfld_program_options){.batch = batch, .mode = PFLD_INFER, .outputs = OUTPUTS, .num_outputs = 1};
}

enum pfld_status predictor_create(struct predictor *predictor, struct network *network, const struct model *model,
								  int32_t batch, struct pfld_error *error)
{
	struct pfld_program_options options = inference_options(batch);
	enum pfld_status status = pfld_program_create(&predictor->program, network->weights, &options, error);
	if (status == PFLD_ERR_MEMORY) memory_page_of_inference(network, batch);
	if (status) return status;
	predictor->image = pfld_program_input(predictor->program, "image");
	predictor->points = pfld_program_output(predictor->program, "points");
	predictor->image_elements = (int64_t)model->net.size * model->net.size * 3;
	predictor->points_elements = (int64_t)model->net.num_points * 2;
	return PFLD_OK;
}

void predictor_destroy(struct predictor *predictor)
{
	pfld_program_destroy(&predictor->program);
}

enum pfld_status predictor_run(void *context, const struct pfld_batch *batch, float *predictions,
							   struct pfld_error *error)
{
	struct predictor *predictor = context;
	int64_t n = batch->num_samples;
	enum pfld_status status =
		pfld_tensor_upload(predictor->image, PFLD_F32, batch->inputs, n * predictor->image_elements, error);
	if (!status) status = pfld_program_forward(predictor->program, batch->num_samples, NULL, error);
	if (!status)
		status = pfld_tensor_download(predictor->points, PFLD_F32, predictions, n * predictor->points_elements, error);
	return status;
}
