// SPDX-License-Identifier: MIT
// Checkpoints: everything that training needs to go on to the same bits, in one .safetensors file that is also a model
// file. Beside the weights: "optimizer/..." (state), "trainer/sums" (running loss), "trainer/gradient/..." (batches that wait
// for the optimizer), and the counts in the metadata key "pfld_trainer".
#include "train/files.h"
#include "train/trainer.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char counts_key[] = "pfld_trainer";

struct counts {
	uint64_t steps, batches;
	int32_t pending;
};

static enum pfld_status wrap_sums(const struct pfld_trainer *trainer, struct pfld_tensor **sums, struct pfld_error *error)
{
	const struct pfld_operand *place = &trainer->train->compiled.sums;
	struct pfld_shape shape = {1, {PFLD_SUMS_COUNT}};
	return pfld_tensor_wrap(sums, trainer->weights->device, &shape, place->region, place->offset_bytes, NULL, NULL, error);
}

// "trainer/gradient/NAME" by parameter; NULL where there is no gradient or none waits.
static char *gradient_name(const struct pfld_trainer *trainer, int32_t pending, size_t param)
{
	if (!pending || !trainer->train->param_gradients[param]) return NULL;
	return pfld_strprintf("trainer/gradient/%s", trainer->weights->net->params[param].info.name);
}

static enum pfld_status add_state(struct pfld_tensor_list *list, struct pfld_trainer *trainer, struct pfld_tensor *sums,
                                  char **gradient_names, struct pfld_error *error)
{
	enum pfld_status status = pfld_tensor_list_add_weights(list, trainer->weights, error);
	for (int32_t i = 0; status == PFLD_OK && i < pfld_optimizer_num_tensors(trainer->optimizer); i++) {
		const char *name;
		struct pfld_tensor *tensor = pfld_optimizer_tensor(trainer->optimizer, i, &name);
		status = pfld_tensor_list_add(list, name, tensor, error);
	}
	if (status == PFLD_OK) status = pfld_tensor_list_add(list, "trainer/sums", sums, error);
	for (size_t i = 0; status == PFLD_OK && trainer->pending && i < trainer->weights->net->num_params; i++) {
		if (!trainer->train->param_gradients[i]) continue;
		gradient_names[i] = gradient_name(trainer, trainer->pending, i);
		if (!gradient_names[i]) return pfld_fail_memory(error, 1, "a checkpoint");
		status = pfld_tensor_list_add(list, gradient_names[i], trainer->train->param_gradients[i], error);
	}
	return status;
}

enum pfld_status pfld_trainer_save(struct pfld_trainer *trainer, const char *path, const char *const (*metadata)[2],
                                   int32_t num_metadata, struct pfld_error *error)
{
	if (!trainer || !path || num_metadata < 0 || (num_metadata && !metadata))
		return pfld_fail(error, PFLD_ERR_ARGUMENT, "pfld_trainer_save() needs a trainer and a path");
	enum pfld_status status = pfld_trainer_settle(trainer, error);
	if (status != PFLD_OK) return status;
	size_t num_params = trainer->weights->net->num_params;
	struct pfld_tensor_list list = {0};
	struct pfld_tensor *sums = NULL;
	struct pfld_safetensors_pair *pairs = pfld_calloc((size_t)num_metadata + 1, sizeof *pairs);
	char **gradient_names = pfld_calloc(num_params + 1, sizeof *gradient_names), counts[96];
	snprintf(counts, sizeof counts, "%" PRIu64 " %" PRIu64 " %" PRId32, pfld_trainer_num_steps(trainer),
	         trainer->num_batches, trainer->pending);
	status = pairs && gradient_names ? PFLD_OK : pfld_fail_memory(error, num_params, "a checkpoint");
	for (int32_t i = 0; status == PFLD_OK && i < num_metadata; i++)
		pairs[i] = (struct pfld_safetensors_pair){metadata[i][0], metadata[i][1]};
	if (status == PFLD_OK) pairs[num_metadata] = (struct pfld_safetensors_pair){counts_key, counts};
	if (status == PFLD_OK) status = wrap_sums(trainer, &sums, error);
	if (status == PFLD_OK) status = add_state(&list, trainer, sums, gradient_names, error);
	if (status == PFLD_OK)
		status = pfld_safetensors_write(path, list.items, list.num, pairs, (size_t)num_metadata + 1, error);
	pfld_tensor_list_finish(&list);
	pfld_tensor_destroy(&sums);
	for (size_t i = 0; gradient_names && i < num_params; i++) free(gradient_names[i]);
	free(gradient_names);
	free(pairs);
	return status;
}

static enum pfld_status add_read(struct pfld_tensor_reads *reads, struct pfld_safetensors *file, const char *path,
                                 const char *name, struct pfld_tensor *tensor, struct pfld_error *error)
{
	char shown[PFLD_SHOWN_BYTES];
	const struct pfld_safetensors_entry *entry = pfld_safetensors_find(file, name);
	if (!entry || !pfld_same_shape(&entry->array, pfld_tensor_shape(tensor)))
		return pfld_fail(error, PFLD_ERR_DATA, "%s is no checkpoint of this training: %s %s", pfld_show(shown, path, 0), name,
		                 entry ? "has another shape" : "is missing");
	return pfld_tensor_reads_add(reads, file, entry, tensor, error);
}

static enum pfld_status read_counts(struct pfld_safetensors *file, const char *path, struct counts *counts,
                                    struct pfld_error *error)
{
	char shown[PFLD_SHOWN_BYTES];
	const char *text = pfld_safetensors_metadata(file, counts_key);
	if (!text || sscanf(text, "%" SCNu64 " %" SCNu64 " %" SCNd32, &counts->steps, &counts->batches, &counts->pending) != 3)
		return pfld_fail(error, PFLD_ERR_DATA, "%s holds weights only: training cannot go on from it",
		                 pfld_show(shown, path, 0));
	return PFLD_OK;
}

static enum pfld_status read_state(struct pfld_tensor_reads *reads, struct pfld_safetensors *file, const char *path,
                                   struct pfld_trainer *trainer, struct pfld_tensor *sums, int32_t pending,
                                   struct pfld_error *error)
{
	enum pfld_status status =
	    pfld_tensor_reads_add_weights(reads, file, path, trainer->weights, PFLD_LOAD_ALL, NULL, error);
	for (int32_t i = 0; status == PFLD_OK && i < pfld_optimizer_num_tensors(trainer->optimizer); i++) {
		const char *name;
		struct pfld_tensor *tensor = pfld_optimizer_tensor(trainer->optimizer, i, &name);
		status = add_read(reads, file, path, name, tensor, error);
	}
	if (status == PFLD_OK) status = add_read(reads, file, path, "trainer/sums", sums, error);
	for (size_t i = 0; status == PFLD_OK && pending && i < trainer->weights->net->num_params; i++) {
		if (!trainer->train->param_gradients[i]) continue;
		char *name = gradient_name(trainer, pending, i);
		if (!name) return pfld_fail_memory(error, 1, "a checkpoint");
		status = add_read(reads, file, path, name, trainer->train->param_gradients[i], error);
		free(name);
	}
	return status;
}

enum pfld_status pfld_trainer_load(struct pfld_trainer *trainer, const char *path, struct pfld_error *error)
{
	if (!trainer || !path) return pfld_fail(error, PFLD_ERR_ARGUMENT, "pfld_trainer_load() needs a trainer and a path");
	struct pfld_safetensors *file = NULL;
	struct pfld_tensor_reads reads = {0};
	struct pfld_tensor *sums = NULL;
	struct counts counts = {0};
	enum pfld_status status = pfld_device_finish(trainer->weights->device, error);
	if (status != PFLD_OK) return status;
	trainer->step.waits = false; // what it came to no longer matters
	status = pfld_safetensors_open(&file, path, error);
	if (status == PFLD_OK) status = read_counts(file, path, &counts, error);
	if (status == PFLD_OK) status = wrap_sums(trainer, &sums, error);
	if (status == PFLD_OK) status = read_state(&reads, file, path, trainer, sums, counts.pending, error);
	if (status == PFLD_OK) status = pfld_tensor_reads_upload(&reads, error);
	if (status == PFLD_OK) {
		pfld_optimizer_set_num_steps(trainer->optimizer, counts.steps);
		trainer->num_batches = counts.batches;
		trainer->pending = counts.pending;
	}
	pfld_tensor_reads_finish(&reads);
	pfld_tensor_destroy(&sums);
	pfld_safetensors_close(&file);
	return status;
}
