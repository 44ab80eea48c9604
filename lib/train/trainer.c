// SPDX-License-Identifier: MIT
// The trainer: one training program, one for inference, an optimizer and the slots, planned together. The step itself:
// step.c.
#include "train/trainer.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

// ---- slots ----

// Numbers per sample of each field of a batch; 0: the field is not used.
struct slot_layout {
	size_t inputs, targets, target_mask, sample_weights, attributes, angles;
};

static size_t input_elements(const struct pfld_compiled *compiled, const char *name)
{
	for (int32_t i = 0; i < compiled->num_inputs; i++)
		if (!strcmp(compiled->inputs[i].name, name)) return pfld_operand_elements(&compiled->inputs[i].operand);
	return 0;
}

static struct slot_layout make_layout(const struct pfld_compiled *train)
{
	return (struct slot_layout){
	    .inputs = pfld_operand_elements(&train->inputs[0].operand),
	    .targets = input_elements(train, "targets"),
	    .target_mask = input_elements(train, "target_mask"),
	    .sample_weights = input_elements(train, "sample_weights"),
	    .attributes = input_elements(train, "attributes"),
	    .angles = input_elements(train, "angles_truth"),
	};
}

// Host memory: floats, whatever the device computes in, and the indices behind them.
static size_t slot_bytes(const struct slot_layout *l, int32_t batch, size_t alignment)
{
	const size_t fields[] = {l->inputs, l->targets, l->target_mask, l->sample_weights, l->attributes, l->angles, 1};
	size_t bytes = 0;
	for (size_t i = 0; i < PFLD_COUNT(fields); i++)
		bytes += pfld_align(fields[i] * (size_t)batch * sizeof(float), alignment);
	return bytes;
}

static float *take(char **memory, size_t elements, int32_t batch, size_t alignment)
{
	if (!elements) return NULL;
	float *field = (float *)*memory;
	*memory += pfld_align(elements * (size_t)batch * sizeof(float), alignment);
	return field;
}

static void fill_ones(float *numbers, size_t num)
{
	for (size_t i = 0; numbers && i < num; i++) numbers[i] = 1;
}

static enum pfld_status make_slots(struct pfld_trainer *trainer, int32_t num_slots, struct pfld_error *error)
{
	struct pfld_device *device = trainer->weights->device;
	struct slot_layout layout = make_layout(&trainer->train->compiled);
	int32_t batch = trainer->train->compiled.batch;
	size_t alignment = device->limits.alignment_bytes, bytes = slot_bytes(&layout, batch, alignment);
	enum pfld_status status = pfld_device_host_region_create(device, bytes * (size_t)num_slots, PFLD_MEMORY_BATCH,
	                                                         "batches in flight", &trainer->slot_memory, error);
	if (status != PFLD_OK) return status;
	for (int32_t i = 0; i < num_slots; i++) {
		char *memory = (char *)trainer->slot_memory.host + bytes * (size_t)i;
		trainer->slots[i] = (struct pfld_batch){
		    .slot = i,
		    .capacity = batch,
		    .inputs = take(&memory, layout.inputs, batch, alignment),
		    .targets = take(&memory, layout.targets, batch, alignment),
		    .target_mask = take(&memory, layout.target_mask, batch, alignment),
		    .sample_weights = take(&memory, layout.sample_weights, batch, alignment),
		    .attributes = take(&memory, layout.attributes, batch, alignment),
		    .angles = take(&memory, layout.angles, batch, alignment),
		    .indices = (uint32_t *)memory,
		};
		fill_ones(trainer->slots[i].target_mask, layout.target_mask * (size_t)batch);
		fill_ones(trainer->slots[i].sample_weights, layout.sample_weights * (size_t)batch);
	}
	trainer->num_slots = num_slots;
	return PFLD_OK;
}

// ---- creation ----

static struct pfld_program_options train_options(const struct pfld_trainer_options *o, const char *const *outputs,
                                                 int32_t num_outputs)
{
	return (struct pfld_program_options){
	    .batch = o->batch,
	    .mode = PFLD_TRAIN,
	    .outputs = outputs,
	    .num_outputs = num_outputs,
	    .loss = &o->loss,
	    .unfused = o->unfused,
	};
}

// The prediction first, and the angles where the loss uses them.
static int32_t wanted_outputs(const struct pfld_net *net, const struct pfld_trainer_options *o, const char *outputs[2],
                              struct pfld_error *error)
{
	if (!net->num_outputs) {
		pfld_fail(error, PFLD_ERR_ARGUMENT, "the net names no output");
		return 0;
	}
	outputs[0] = o->output ? o->output : net->outputs[0].name;
	outputs[1] = "angles";
	return pfld_loss_uses_angles(o->loss.kind) ? 2 : 1;
}

static enum pfld_status check_options(const struct pfld_net *net, const struct pfld_trainer_options *o,
                                      struct pfld_error *error)
{
	enum pfld_status status = pfld_net_check(net, error);
	if (status != PFLD_OK) return status;
	if (o->loss.kind == PFLD_LOSS_NONE)
		return pfld_fail(error, PFLD_ERR_ARGUMENT, "the trainer needs a loss; without one use a program (program.h)");
	if (o->num_slots < 0 || o->num_slots > PFLD_MAX_SLOTS || o->accumulate < 0)
		return pfld_fail(error, PFLD_ERR_ARGUMENT, "num_slots must lie in 0..%d, accumulate not below 0", PFLD_MAX_SLOTS);
	return PFLD_OK;
}

static enum pfld_status add_slots(struct pfld_plan *plan, const struct pfld_compiled *train,
                                  const struct pfld_trainer_options *o, struct pfld_error *error)
{
	struct slot_layout layout = make_layout(train);
	size_t bytes = slot_bytes(&layout, o->batch, train->device->limits.alignment_bytes);
	int32_t region = 0;
	enum pfld_status status = pfld_plan_add_region(plan, "batches in flight", PFLD_MEMORY_BATCH, &region, error);
	for (int32_t i = 0; status == PFLD_OK && i < (o->num_slots ? o->num_slots : 3); i++)
		status = pfld_plan_add_block(plan, region, "batch in flight", bytes, error);
	return status;
}

static enum pfld_status add_own_region(struct pfld_plan *plan, const char *name, enum pfld_memory_class memory_class,
                                       size_t bytes, struct pfld_error *error)
{
	int32_t region = 0;
	enum pfld_status status = pfld_plan_add_region(plan, name, memory_class, &region, error);
	return status == PFLD_OK ? pfld_plan_add_block(plan, region, name, bytes, error) : status;
}

// Of a device that works beside the host: where a batch waits for the step before it, and the moving statistics for what the
// step comes to. Elsewhere both are the host's.
static size_t staging_bytes(const struct pfld_compiled *train)
{
	return pfld_device_works_beside(train->device) ? train->home_bytes[PFLD_HOME_BATCH] : 0;
}

static size_t backup_bytes(const struct pfld_compiled *train)
{
	if (!pfld_device_works_beside(train->device)) return 0;
	return pfld_weights_statistics_bytes(train->net, train->device->limits.alignment_bytes);
}

static const char staging_name[] = "batch on its way", backup_name[] = "moving statistics put aside";

static enum pfld_status make_plan(struct pfld_plan **plan, const struct pfld_compiled *train,
                                  const struct pfld_compiled *infer, const struct pfld_trainer_options *o,
                                  struct pfld_error *error)
{
	struct pfld_plan *fresh = pfld_plan_create_empty();
	if (!fresh) return pfld_fail_memory(error, 1, "the plan");
	enum pfld_status status = add_slots(fresh, train, o, error);
	if (status == PFLD_OK)
		status = add_own_region(fresh, "optimizer state", PFLD_MEMORY_OPTIMIZER,
		                        pfld_optimizer_block_bytes(train, &o->optimizer), error);
	pfld_plan_set_budget(fresh, o->memory_budget_bytes);
	size_t scratch = pfld_optimizer_workspace_bytes(train, &o->optimizer);
	if (status == PFLD_OK && scratch)
		status = add_own_region(fresh, "optimizer workspace", PFLD_MEMORY_WORKSPACE, scratch, error);
	size_t staging = staging_bytes(train), backup = backup_bytes(train);
	if (status == PFLD_OK && staging) status = add_own_region(fresh, staging_name, PFLD_MEMORY_BATCH, staging, error);
	if (status == PFLD_OK && backup) status = add_own_region(fresh, backup_name, PFLD_MEMORY_PARAMETERS, backup, error);
	if (status == PFLD_OK) status = pfld_plan_add_program(fresh, train, "train", error);
	if (status == PFLD_OK) status = pfld_plan_add_program(fresh, infer, "infer", error);
	if (status == PFLD_OK) status = pfld_plan_close(fresh, error);
	if (status != PFLD_OK) pfld_plan_destroy(&fresh);
	else *plan = fresh;
	return status;
}

// What lies beside the training program and its arena.
static uint64_t bytes_beside(const struct pfld_compiled *train, const struct pfld_compiled *infer,
                             const struct pfld_trainer_options *o)
{
	struct slot_layout layout = make_layout(train);
	size_t slot = slot_bytes(&layout, o->batch, train->device->limits.alignment_bytes);
	return slot * (uint64_t)(o->num_slots ? o->num_slots : 3) + pfld_optimizer_block_bytes(train, &o->optimizer) +
	       pfld_optimizer_workspace_bytes(train, &o->optimizer) + infer->home_bytes[PFLD_HOME_BATCH] + staging_bytes(train) +
	       backup_bytes(train);
}

// Both programs of a trainer; what the training program may take goes into the options it is compiled with.
struct both {
	struct pfld_program_options train_options, infer_options;
	const char *outputs[2];
	struct pfld_compiled train, infer;
};

static void finish_both(struct both *both)
{
	pfld_compiled_finish(&both->train);
	pfld_compiled_finish(&both->infer);
}

static enum pfld_status compile_both(struct both *both, struct pfld_device *device, const struct pfld_net *net,
                                     const struct pfld_trainer_options *o, struct pfld_error *error)
{
	int32_t num = wanted_outputs(net, o, both->outputs, error);
	if (!num) return PFLD_ERR_ARGUMENT;
	both->train_options = train_options(o, both->outputs, num);
	both->infer_options = (struct pfld_program_options){
	    .batch = o->batch, .mode = PFLD_INFER, .outputs = both->outputs, .num_outputs = 1};
	enum pfld_status status = pfld_compile(&both->infer, device, net, &both->infer_options, error);
	if (status != PFLD_OK) return status;
	status = pfld_compile(&both->train, device, net, &both->train_options, error);
	if (status == PFLD_OK && o->memory_budget_bytes) {
		uint64_t beside = bytes_beside(&both->train, &both->infer, o), budget = o->memory_budget_bytes;
		both->train_options.memory_budget_bytes = budget > beside ? budget - beside : 1;
		pfld_compiled_finish(&both->train);
		status = pfld_compile(&both->train, device, net, &both->train_options, error);
	}
	if (status != PFLD_OK) pfld_compiled_finish(&both->infer);
	return status;
}

enum pfld_status pfld_trainer_plan_create(struct pfld_plan **plan, struct pfld_device *device, const struct pfld_net *net,
                                          const struct pfld_trainer_options *options, struct pfld_error *error)
{
	if (!plan || !device || !options)
		return pfld_fail(error, PFLD_ERR_ARGUMENT, "pfld_trainer_plan_create() needs a device and options");
	enum pfld_status status = check_options(net, options, error);
	if (status != PFLD_OK) return status;
	struct both both;
	status = compile_both(&both, device, net, options, error);
	if (status != PFLD_OK) return status;
	status = make_plan(plan, &both.train, &both.infer, options, error);
	finish_both(&both);
	return status;
}

// Before anything is taken: what the training program may take, and whether that is enough.
static enum pfld_status fit(struct pfld_program_options *train_options, struct pfld_trainer *trainer,
                            const struct pfld_trainer_options *o, struct pfld_error *error)
{
	struct both both;
	enum pfld_status status = compile_both(&both, trainer->weights->device, trainer->weights->net, o, error);
	if (status != PFLD_OK) return status;
	train_options->memory_budget_bytes = both.train_options.memory_budget_bytes;
	status = make_plan(&trainer->plan, &both.train, &both.infer, o, error);
	finish_both(&both);
	if (status != PFLD_OK) return status;
	struct pfld_plan_summary summary;
	pfld_plan_summary(trainer->plan, &summary);
	if (!o->memory_budget_bytes || summary.planned_peak_bytes <= o->memory_budget_bytes)
		return pfld_plan_check_room(trainer->plan, trainer->weights, "training", error);
	return pfld_fail(error, PFLD_ERR_MEMORY,
	                 "a memory budget of %" PRIu64 " bytes cannot be kept: with all computed again that can be, %" PRIu64
	                 " bytes are needed",
	                 o->memory_budget_bytes, summary.smallest_budget_bytes);
}

// Memory for what waits beside the step.
static enum pfld_status make_aside(struct pfld_trainer *trainer, struct pfld_error *error)
{
	struct pfld_device *device = trainer->weights->device;
	const struct pfld_compiled *train = &trainer->train->compiled;
	size_t staging = staging_bytes(train), backup = backup_bytes(train);
	trainer->statistics_bytes = pfld_weights_statistics_bytes(train->net, device->limits.alignment_bytes);
	enum pfld_status status = PFLD_OK;
	if (staging)
		status = pfld_device_region_create(device, staging, PFLD_MEMORY_BATCH, staging_name, &trainer->staging, error);
	if (status == PFLD_OK && backup)
		status = pfld_device_region_create(device, backup, PFLD_MEMORY_PARAMETERS, backup_name, &trainer->backup, error);
	if (status != PFLD_OK || pfld_device_works_beside(device)) return status;
	trainer->statistics = pfld_calloc(trainer->statistics_bytes + 1, 1);
	return trainer->statistics ? PFLD_OK : pfld_fail_memory(error, trainer->statistics_bytes, backup_name);
}

// Both programs in one arena, which is as large as the larger one needs.
static enum pfld_status make_programs(struct pfld_trainer *trainer, const struct pfld_program_options *train,
                                      const struct pfld_program_options *infer, struct pfld_error *error)
{
	struct pfld_device *device = trainer->weights->device;
	struct pfld_plan_summary summary;
	struct pfld_arena *arena = NULL;
	pfld_plan_summary(trainer->plan, &summary);
	enum pfld_status status = pfld_arena_acquire(&arena, device, PFLD_MAX(summary.arena_bytes, 1), error);
	if (status != PFLD_OK) return status;
	status = pfld_program_create(&trainer->train, trainer->weights, train, error);
	if (status == PFLD_OK) status = pfld_program_create(&trainer->infer, trainer->weights, infer, error);
	pfld_arena_release(&arena, device, NULL);
	return status;
}

static enum pfld_status fill(struct pfld_trainer *trainer, const struct pfld_trainer_options *o, struct pfld_error *error)
{
	const char *outputs[2];
	int32_t num = wanted_outputs(trainer->weights->net, o, outputs, error);
	if (!num) return PFLD_ERR_ARGUMENT;
	struct pfld_program_options train = train_options(o, outputs, num);
	struct pfld_program_options infer = {.batch = o->batch, .mode = PFLD_INFER, .outputs = outputs, .num_outputs = 1};
	enum pfld_status status = fit(&train, trainer, o, error);
	if (status == PFLD_OK) status = make_programs(trainer, &train, &infer, error);
	if (status == PFLD_OK) status = pfld_optimizer_create(&trainer->optimizer, trainer->train, &o->optimizer, error);
	if (status == PFLD_OK) status = make_slots(trainer, o->num_slots ? o->num_slots : 3, error);
	return status == PFLD_OK ? make_aside(trainer, error) : status;
}

enum pfld_status pfld_trainer_create(struct pfld_trainer **trainer, struct pfld_weights *weights,
                                     const struct pfld_trainer_options *options, struct pfld_error *error)
{
	if (!trainer || !weights || !options)
		return pfld_fail(error, PFLD_ERR_ARGUMENT, "pfld_trainer_create() needs weights and options");
	enum pfld_status status = check_options(weights->net, options, error);
	if (status != PFLD_OK) return status;
	struct pfld_trainer *fresh = pfld_calloc(1, sizeof *fresh);
	if (!fresh) return pfld_fail_memory(error, sizeof *fresh, "a trainer");
	fresh->weights = weights;
	fresh->learning_rate = options->optimizer.learning_rate;
	fresh->accumulate = options->accumulate ? options->accumulate : 1;
	fresh->seed = options->seed;
	status = fill(fresh, options, error);
	if (status != PFLD_OK) {
		pfld_trainer_destroy(&fresh);
		return status;
	}
	*trainer = fresh;
	return PFLD_OK;
}

void pfld_trainer_destroy(struct pfld_trainer **trainer)
{
	if (!trainer || !*trainer) return;
	struct pfld_trainer *t = *trainer;
	// Numbers may be on their way into it; a device that is lost sends none.
	if (t->step.waits && pfld_device_finish(t->weights->device, NULL) != PFLD_OK) t->step.waits = false;
	if (t->staging.bytes) pfld_device_region_destroy(t->weights->device, PFLD_MEMORY_BATCH, &t->staging);
	if (t->backup.bytes) pfld_device_region_destroy(t->weights->device, PFLD_MEMORY_PARAMETERS, &t->backup);
	if (t->slot_memory.bytes) pfld_device_region_destroy(t->weights->device, PFLD_MEMORY_BATCH, &t->slot_memory);
	pfld_optimizer_destroy(&t->optimizer);
	pfld_program_destroy(&t->infer);
	pfld_program_destroy(&t->train);
	pfld_plan_destroy(&t->plan);
	free(t->statistics);
	free(t);
	*trainer = NULL;
}

struct pfld_batch *pfld_trainer_slots(struct pfld_trainer *trainer, int32_t *num_slots)
{
	if (num_slots) *num_slots = trainer->num_slots;
	return trainer->slots;
}

const struct pfld_plan *pfld_trainer_plan(const struct pfld_trainer *trainer)
{
	return trainer->plan;
}

// ---- beside the step ----

void pfld_trainer_set_learning_rate(struct pfld_trainer *trainer, double learning_rate)
{
	trainer->learning_rate = learning_rate;
}

enum pfld_status pfld_trainer_mean_loss(struct pfld_trainer *trainer, double *mean_loss, int64_t *num_samples,
                                        struct pfld_error *error)
{
	if (!trainer) return pfld_trainer_fail_none(error);
	struct pfld_loss_sums sums;
	enum pfld_status status = pfld_trainer_settle(trainer, error);
	if (status == PFLD_OK) status = pfld_program_loss_sums(trainer->train, &sums, error);
	if (status != PFLD_OK) return status;
	if (mean_loss) *mean_loss = sums.num_samples ? sums.loss / (double)sums.num_samples : NAN;
	if (num_samples) *num_samples = sums.num_samples;
	return PFLD_OK;
}

enum pfld_status pfld_trainer_reset_loss(struct pfld_trainer *trainer, struct pfld_error *error)
{
	if (!trainer) return pfld_trainer_fail_none(error);
	enum pfld_status status = pfld_trainer_settle(trainer, error);
	return status == PFLD_OK ? pfld_program_reset_loss_sums(trainer->train, error) : status;
}

bool pfld_trainer_needs_two_samples(const struct pfld_trainer *trainer)
{
	return trainer->train->compiled.uses_batch_statistics;
}

enum pfld_status pfld_trainer_predict(struct pfld_trainer *trainer, const struct pfld_batch *batch, float *predictions,
                                      struct pfld_error *error)
{
	enum pfld_status status = pfld_trainer_check_batch(trainer, batch, error);
	if (status == PFLD_OK) status = pfld_trainer_settle(trainer, error);
	if (status != PFLD_OK) return status;
	struct pfld_program *program = trainer->infer;
	int64_t num = (int64_t)pfld_operand_elements(&program->compiled.inputs[0].operand) * batch->num_samples;
	status = pfld_tensor_upload(program->inputs[0], PFLD_F32, batch->inputs, num, error);
	if (status == PFLD_OK) status = pfld_program_forward(program, batch->num_samples, NULL, error);
	if (status != PFLD_OK) return status;
	int64_t elements = (int64_t)pfld_operand_elements(&program->compiled.outputs[0].operand) * batch->num_samples;
	return pfld_tensor_download(program->outputs[0], PFLD_F32, predictions, elements, error);
}

enum pfld_status pfld_trainer_observe(struct pfld_trainer *trainer, pfld_observer *observer, void *context,
                                      struct pfld_error *error)
{
	if (!trainer) return pfld_trainer_fail_none(error);
	enum pfld_status status = pfld_program_observe(trainer->train, observer, context, error);
	return status == PFLD_OK ? pfld_program_observe(trainer->infer, observer, context, error) : status;
}

uint64_t pfld_trainer_num_steps(const struct pfld_trainer *trainer)
{
	return pfld_optimizer_num_steps(trainer->optimizer);
}
