// SPDX-License-Identifier: MIT
// The trainer's step. A device that works beside the host gets the batch while it is still busy with the step before,
// whose outcome is looked at only then; so nobody waits for a step but who asks for its loss.
#include "train/trainer.h"

#include <math.h>

// ---- the batch ----

struct field {
	const char *name;
	const float *numbers;
	bool optional; // ones where the batch lacks it; else that is an error where net or loss use it
};
enum { NUM_FIELDS = 6 };

static void list_fields(const struct pfld_program *program, const struct pfld_batch *batch, struct field fields[NUM_FIELDS])
{
	fields[0] = (struct field){program->compiled.inputs[0].name, batch->inputs, false};
	fields[1] = (struct field){"targets", batch->targets, false};
	fields[2] = (struct field){"target_mask", batch->target_mask, true};
	fields[3] = (struct field){"sample_weights", batch->sample_weights, true};
	fields[4] = (struct field){"attributes", batch->attributes, false};
	fields[5] = (struct field){"angles_truth", batch->angles, false};
}

// The field's tensor, NULL where nobody uses it, and its elements in n samples.
static struct pfld_tensor *tensor_of(struct pfld_program *program, const struct field *field, int32_t n, int64_t *elements)
{
	struct pfld_tensor *tensor = pfld_program_input(program, field->name);
	if (tensor) *elements = pfld_tensor_elements(tensor) / program->compiled.batch * n;
	return tensor;
}

// Begin to send what the batch has; on other devices nothing is done yet.
static enum pfld_status send_batch(struct pfld_trainer *trainer, const struct pfld_batch *batch, struct pfld_error *error)
{
	struct pfld_device *device = trainer->weights->device;
	struct field fields[NUM_FIELDS];
	enum pfld_status status = PFLD_OK;
	list_fields(trainer->train, batch, fields);
	for (int32_t i = 0; i < NUM_FIELDS && status == PFLD_OK; i++) {
		int64_t elements = 0;
		struct pfld_tensor *tensor = tensor_of(trainer->train, &fields[i], batch->num_samples, &elements);
		if (!tensor) continue;
		if (!fields[i].numbers && !fields[i].optional)
			return pfld_fail(error, PFLD_ERR_ARGUMENT, "the batch has no %s, which net or loss use", fields[i].name);
		if (fields[i].numbers && trainer->staging.bytes)
			status = pfld_device_send(device, &trainer->staging, pfld_tensor_offset_bytes(tensor), fields[i].numbers,
			                          (size_t)elements, error);
	}
	return status;
}

// Into the program's inputs: from where it was sent to, or from the host.
static enum pfld_status place_batch(struct pfld_trainer *trainer, const struct pfld_batch *batch, struct pfld_error *error)
{
	struct pfld_device *device = trainer->weights->device;
	struct field fields[NUM_FIELDS];
	enum pfld_status status = PFLD_OK;
	list_fields(trainer->train, batch, fields);
	for (int32_t i = 0; i < NUM_FIELDS && status == PFLD_OK; i++) {
		int64_t elements = 0;
		struct pfld_tensor *tensor = tensor_of(trainer->train, &fields[i], batch->num_samples, &elements);
		if (!tensor) continue;
		size_t offset = pfld_tensor_offset_bytes(tensor);
		if (!fields[i].numbers) status = pfld_tensor_fill(tensor, 1, error);
		else if (!trainer->staging.bytes) status = pfld_tensor_upload(tensor, PFLD_F32, fields[i].numbers, elements, error);
		else
			status = pfld_device_copy(device, &trainer->staging, offset, pfld_tensor_region(tensor), offset,
			                          (size_t)elements * sizeof(float), error);
	}
	return status;
}

enum pfld_status pfld_trainer_fail_none(struct pfld_error *error)
{
	return pfld_fail(error, PFLD_ERR_ARGUMENT, "the trainer is NULL");
}

enum pfld_status pfld_trainer_check_batch(const struct pfld_trainer *trainer, const struct pfld_batch *batch,
                                          struct pfld_error *error)
{
	if (!trainer) return pfld_trainer_fail_none(error);
	int32_t most = trainer->train->compiled.batch;
	if (!batch || !batch->inputs) return pfld_fail(error, PFLD_ERR_ARGUMENT, "the batch has no inputs");
	if (batch->num_samples < 1 || batch->num_samples > most)
		return pfld_fail(error, PFLD_ERR_ARGUMENT, "a batch of %d samples; 1 to %d are possible", batch->num_samples, most);
	return PFLD_OK;
}

// ---- what a step came to ----

// Copy the moving statistics out (save) or back.
static enum pfld_status move_statistics(struct pfld_trainer *trainer, bool save, struct pfld_error *error)
{
	struct pfld_region *weights = &trainer->weights->region, *backup = &trainer->backup;
	struct pfld_device *device = trainer->weights->device;
	size_t bytes = trainer->statistics_bytes, offset = trainer->train->compiled.home_bytes[PFLD_HOME_WEIGHTS] - bytes;
	if (backup->bytes && save) return pfld_device_copy(device, weights, offset, backup, 0, bytes, error);
	if (backup->bytes) return pfld_device_copy(device, backup, 0, weights, offset, bytes, error);
	size_t num = bytes / sizeof(pfld_real);
	if (save) return pfld_device_download(device, weights, offset, PFLD_REAL_TYPE, trainer->statistics, num, error);
	return pfld_device_upload(device, weights, offset, PFLD_REAL_TYPE, trainer->statistics, num, error);
}

// The step came to numbers that are not finite: put the statistics back, and say where it began.
static enum pfld_status explain_bad_step(struct pfld_trainer *trainer, struct pfld_error *error)
{
	enum pfld_status status = move_statistics(trainer, false, error);
	if (status != PFLD_OK) return status;
	trainer->pending = 0;
	struct pfld_error found = {0};
	status = pfld_program_find_bad_layer(trainer->train, &found);
	if (status != PFLD_OK && status != PFLD_ERR_DATA) {
		if (error) *error = found;
		return status;
	}
	return pfld_fail(error, PFLD_ERR_DATA,
	                 "the loss or its gradients are not finite: %s. The weights are those before this step; a smaller "
	                 "learning rate or gradient clipping may help",
	                 status == PFLD_OK ? "all layers are finite in forward, the loss or a gradient is not" : found.message);
}

// The numbers that tell it, on their way to the host when the step is enqueued.
static enum pfld_status fetch_outcome(struct pfld_trainer *trainer, struct pfld_error *error)
{
	struct pfld_device *device = trainer->weights->device;
	const struct pfld_operand *sums = &trainer->train->compiled.sums, *norm2 = &trainer->optimizer->norm.dst[0];
	trainer->step.waits = true;
	trainer->step.norm2 = 0;
	enum pfld_status status =
	    pfld_device_fetch(device, sums->region, sums->offset_bytes, trainer->step.sums, PFLD_SUMS_COUNT, error);
	if (status != PFLD_OK || !trainer->step.optimized) return status;
	return pfld_device_fetch(device, norm2->region, norm2->offset_bytes, &trainer->step.norm2, 1, error);
}

enum pfld_status pfld_trainer_settle(struct pfld_trainer *trainer, struct pfld_error *error)
{
	struct pfld_step *step = &trainer->step;
	if (!step->waits) return PFLD_OK;
	enum pfld_status status = pfld_device_finish(trainer->weights->device, error);
	if (status != PFLD_OK) return status;
	step->waits = false;
	if (step->sums[PFLD_SUMS_BAD] == 0 && isfinite(step->norm2)) return PFLD_OK;
	trainer->num_batches--;
	if (step->optimized)
		pfld_optimizer_set_num_steps(trainer->optimizer, pfld_optimizer_num_steps(trainer->optimizer) - 1);
	return explain_bad_step(trainer, error);
}

// ---- the step ----

// Counts go on as if it will be good: pfld_trainer_settle() takes that back.
static enum pfld_status enqueue_step(struct pfld_trainer *trainer, int32_t n, struct pfld_error *error)
{
	struct pfld_program *program = trainer->train;
	struct pfld_run_options run = {
	    .seed = trainer->seed, .step = trainer->num_batches, .accumulate_gradients = trainer->pending > 0};
	enum pfld_status status = pfld_program_forward(program, n, &run, error);
	if (status == PFLD_OK) status = pfld_program_loss(program, &run, NULL, error);
	if (status == PFLD_OK) status = pfld_program_backward(program, &run, error);
	if (status != PFLD_OK) return status;
	trainer->step.optimized = trainer->pending + 1 == trainer->accumulate;
	if (trainer->step.optimized)
		status = pfld_optimizer_step(trainer->optimizer, trainer->learning_rate, 1.0 / trainer->accumulate, NULL, error);
	if (status == PFLD_OK) status = fetch_outcome(trainer, error);
	if (status != PFLD_OK) return status;
	trainer->pending = trainer->step.optimized ? 0 : trainer->pending + 1;
	trainer->num_batches++;
	return PFLD_OK;
}

static enum pfld_status run_step(struct pfld_trainer *trainer, const struct pfld_batch *batch, struct pfld_error *error)
{
	enum pfld_status status = send_batch(trainer, batch, error);
	if (status == PFLD_OK) status = pfld_trainer_settle(trainer, error);
	if (status == PFLD_OK) status = place_batch(trainer, batch, error);
	if (status == PFLD_OK) status = move_statistics(trainer, true, error);
	return status == PFLD_OK ? enqueue_step(trainer, batch->num_samples, error) : status;
}

enum pfld_status pfld_trainer_step(struct pfld_trainer *trainer, const struct pfld_batch *batch, double *loss,
                                   struct pfld_error *error)
{
	enum pfld_status status = pfld_trainer_check_batch(trainer, batch, error);
	if (status != PFLD_OK) return status;
	if (batch->num_samples == 1 && trainer->train->compiled.uses_batch_statistics)
		return pfld_fail(error, PFLD_ERR_ARGUMENT, "a batch of one sample has no batch statistics to train on");
	status = run_step(trainer, batch, error);
	// The caller may refill the batch, whatever came of it.
	enum pfld_status sent = pfld_device_sent(trainer->weights->device, status == PFLD_OK ? error : NULL);
	if (status == PFLD_OK) status = sent;
	if (status == PFLD_OK && (loss || !pfld_device_works_beside(trainer->weights->device)))
		status = pfld_trainer_settle(trainer, error);
	if (status == PFLD_OK && loss) *loss = trainer->step.sums[PFLD_SUMS_BATCH_LOSS];
	return status;
}
