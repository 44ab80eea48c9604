// SPDX-License-Identifier: MIT
// From the options of pfld memory to plans.
#include "memory_plan.h"
#include "say.h"
#include "train_config.h"

#include <string.h>

static const char *const OUTPUTS[] = {"points"}, *const BACKBONE_OUTPUTS[] = {"scores"};

bool memory_trains(const struct memory_values *values)
{
	return strcmp(values->mode, "train") == 0;
}

bool memory_backbone(const struct memory_values *values, enum pfld_backbone *backbone)
{
	return pfld_backbone_from_name(values->model, backbone);
}

static const char *const *outputs(const struct memory_values *values)
{
	enum pfld_backbone backbone;
	return memory_backbone(values, &backbone) ? BACKBONE_OUTPUTS : OUTPUTS;
}

static struct pfld_trainer_options trainer_options(const struct memory_values *values)
{
	struct pfld_trainer_options options = {.batch = values->batch_size,
										   .accumulate = values->accumulate,
										   .num_slots = values->slots,
										   .output = outputs(values)[0],
										   .memory_budget_bytes = values->memory_budget};
	pfld_loss_from_name(values->loss, &options.loss.kind);
	if (outputs(values) == BACKBONE_OUTPUTS)
		options.loss.kind = values->classes > 1 ? PFLD_LOSS_SOFTMAX_CROSS_ENTROPY : PFLD_LOSS_SIGMOID_CROSS_ENTROPY;
	pfld_optimizer_from_name(values->optimizer, &options.optimizer.kind);
	options.optimizer.momentum = options.optimizer.kind == PFLD_SGD ? TRAIN_DEFAULTS.momentum : 0;
	return options;
}

static struct pfld_program_options program_options(const struct memory_values *values)
{
	return (struct pfld_program_options){
		.batch = values->batch_size, .mode = PFLD_INFER, .outputs = outputs(values), .num_outputs = 1};
}

// Freezes what --freeze says; something must be left to train.
static enum pfld_status freeze(struct pfld_net *net, const struct memory_values *values, struct pfld_error *error)
{
	char shown[SHOWN_BYTES];
	if (pfld_net_set_trainable(net, values->freeze, false) == 0)
		return fail(error, PFLD_ERR_ARGUMENT,
					"--freeze: no parameter matches \"%s\"; a pattern is such as conv1/*,stage3_*",
					show(shown, values->freeze));
	for (int32_t i = 0; i < pfld_net_num_parameters(net); i++) {
		struct pfld_parameter_info info;
		pfld_net_parameter(net, i, &info);
		if (info.trainable && !info.is_statistic) return PFLD_OK;
	}
	return fail(error, PFLD_ERR_ARGUMENT, "--freeze \"%s\" leaves nothing to train", show(shown, values->freeze));
}

// Everything below the head of an image classifier.
static bool freezes_all(const struct memory_values *values)
{
	return values->freeze && strcmp(values->freeze, "all") == 0 && outputs(values) == BACKBONE_OUTPUTS;
}

// An image classifier without its top, and a linear layer named head behind its mean features.
static void add_backbone(struct pfld_net *net, enum pfld_backbone backbone, const struct memory_values *values,
						 int32_t size)
{
	struct pfld_backbone_options options = {.backbone = backbone,
											.alpha = values->alpha,
											.height = size,
											.width = size,
											.pooling = PFLD_POOLING_AVG};
	pfld_value x = pfld_model_backbone(net, &options).output;
	if (freezes_all(values)) pfld_net_set_trainable(net, "*", false);
	x = pfld_linear(net, x, &(struct pfld_linear_options){.name = "head", .units = values->classes});
	pfld_net_output(net, x, BACKBONE_OUTPUTS[0]);
}

static void add_pfld(struct pfld_net *net, const struct memory_values *values, int32_t size)
{
	struct pfld_trainer_options trainer = trainer_options(values);
	struct pfld_model_options model = {.width = values->width,
									   .num_points = values->points,
									   .size = size,
									   .flatten_head = values->flatten_head,
									   .angles = memory_trains(values) && pfld_loss_uses_angles(trainer.loss.kind)};
	pfld_preset_from_name(values->preset, &model.preset);
	pfld_model_pfld(net, &model);
}

static enum pfld_status make_net(struct pfld_net **net, const struct memory_values *values, int32_t size,
								 struct pfld_error *error)
{
	enum pfld_backbone backbone;
	*net = pfld_net_create();
	if (!*net) return fail(error, PFLD_ERR_MEMORY, "out of memory for a net");
	if (memory_backbone(values, &backbone))
		add_backbone(*net, backbone, values, size);
	else
		add_pfld(*net, values, size);
	enum pfld_status status = pfld_net_check(*net, error);
	if (!status && values->freeze && !freezes_all(values)) status = freeze(*net, values, error);
	if (status) pfld_net_destroy(net);
	return status;
}

enum pfld_status memory_plan(struct pfld_plan **plan, struct pfld_device *device, const struct memory_values *values,
							 int32_t batch, int32_t size, struct pfld_error *error)
{
	struct pfld_net *net;
	enum pfld_status status = make_net(&net, values, size, error);
	if (status) return status;
	struct pfld_trainer_options trainer = trainer_options(values);
	struct pfld_program_options program = program_options(values);
	trainer.batch = program.batch = batch;
	status = memory_trains(values) ? pfld_trainer_plan_create(plan, device, net, &trainer, error)
								   : pfld_program_plan_create(plan, device, net, &program, error);
	pfld_net_destroy(&net);
	return status;
}

enum pfld_status memory_largest(struct pfld_largest_batch *largest, struct pfld_device *device,
								const struct memory_values *values, bool compute_again, struct pfld_error *error)
{
	struct pfld_net *net;
	enum pfld_status status = make_net(&net, values, values->image_size, error);
	if (status) return status;
	struct pfld_trainer_options trainer = trainer_options(values);
	struct pfld_program_options program = program_options(values);
	status = memory_trains(values)
				 ? pfld_trainer_largest_batch(largest, device, net, &trainer, values->fit, compute_again, error)
				 : pfld_program_largest_batch(largest, device, net, &program, values->fit, false, error);
	pfld_net_destroy(&net);
	return status;
}
