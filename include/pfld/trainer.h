// SPDX-License-Identifier: MIT
// The trainer: a training program with a loss, an optimizer, an inference program in the same arena, and the batches in
// flight. Everything is taken at creation; step() and predict() allocate nothing. Built on program.h alone. Thread
// safety: as the device's.
#ifndef PFLD_TRAINER_H
#define PFLD_TRAINER_H

#include <pfld/batch.h>
#include <pfld/program.h>

#ifdef __cplusplus
extern "C" {
#endif

struct pfld_trainer_options {
	int32_t batch; // required
	struct pfld_loss_options loss;
	struct pfld_optimizer_options optimizer;
	const char *output; // the prediction; NULL: the net's first output
	int32_t num_slots;  // batches in flight; 0 means 3
	int32_t accumulate; // batches per optimizer step; 0 means 1. Batch norm sees each batch by itself.
	uint64_t seed;      // of dropout
	// Planned peak of everything, kept by computing blocks again in backward, to the same bits. 0: none. A budget that
	// cannot be kept is PFLD_ERR_MEMORY, which names the smallest that can.
	uint64_t memory_budget_bytes;
	bool unfused; // keep batch norm and activation apart (tests, benchmarks)
};
struct pfld_trainer;
PFLD_API_STATUS enum pfld_status pfld_trainer_create(struct pfld_trainer **trainer, struct pfld_weights *weights,
                                                     const struct pfld_trainer_options *options, struct pfld_error *error);
// The plan of a trainer that is not made: no device memory is taken. pfld_plan_destroy() it.
PFLD_API_STATUS enum pfld_status pfld_trainer_plan_create(struct pfld_plan **plan, struct pfld_device *device,
                                                          const struct pfld_net *net,
                                                          const struct pfld_trainer_options *options,
                                                          struct pfld_error *error);
// Why a trainer with these options does not fit, and what does. `weights` exist already and are not needed once more; NULL:
// not yet.
PFLD_API_STATUS enum pfld_status pfld_trainer_memory_page(struct pfld_memory_page *page, struct pfld_device *device,
                                                          const struct pfld_net *net, const struct pfld_weights *weights,
                                                          const struct pfld_trainer_options *options,
                                                          struct pfld_error *error);
// The largest batch whose plan keeps to limit_bytes: its planned peak, or, with compute_again, its smallest budget, as if
// limit_bytes were memory_budget_bytes too. The options' batch and budget are not looked at. No device memory is taken.
PFLD_API_STATUS enum pfld_status pfld_trainer_largest_batch(struct pfld_largest_batch *largest, struct pfld_device *device,
                                                            const struct pfld_net *net,
                                                            const struct pfld_trainer_options *options,
                                                            uint64_t limit_bytes, bool compute_again,
                                                            struct pfld_error *error);
PFLD_API void pfld_trainer_destroy(struct pfld_trainer **trainer);

// The slots: host memory in the plan, for pfld_loader_open() or to fill by hand. Fields that net and loss do not use are
// NULL. target_mask and sample_weights start as ones. Belong to the trainer.
PFLD_API struct pfld_batch *pfld_trainer_slots(struct pfld_trainer *trainer, int32_t *num_slots);

// One training step on a batch (a slot or the caller's own memory with the same fields): forward, loss, backward, and,
// every `accumulate` batches, the optimizer. The batch may be refilled on return. `loss` (may be NULL: nobody waits) gets
// the batch's mean loss. PFLD_ERR_DATA when loss or gradients are not finite: names the first layer concerned; the weights
// are those before the step. Where nobody waits and the device works beside the host (OpenCL), this is told by the next
// call for this trainer instead, which then does nothing else. PFLD_ERR_ARGUMENT: num_samples out of range, or 1 where batch statistics are needed.
PFLD_API_STATUS enum pfld_status pfld_trainer_step(struct pfld_trainer *trainer, const struct pfld_batch *batch,
                                                   double *loss, struct pfld_error *error);
PFLD_API void pfld_trainer_set_learning_rate(struct pfld_trainer *trainer, double learning_rate);
// Mean loss over all samples since the last reset (NaN when none).
PFLD_API_STATUS enum pfld_status pfld_trainer_mean_loss(struct pfld_trainer *trainer, double *mean_loss,
                                                        int64_t *num_samples, struct pfld_error *error);
PFLD_API_STATUS enum pfld_status pfld_trainer_reset_loss(struct pfld_trainer *trainer, struct pfld_error *error);
// True when training uses batch statistics, so that a batch of one sample cannot be trained on.
PFLD_API bool pfld_trainer_needs_two_samples(const struct pfld_trainer *trainer);

// Inference on a batch's inputs: predictions (num_samples, T) into the caller's memory. A sample's bits do not depend on
// its batch.
PFLD_API_STATUS enum pfld_status pfld_trainer_predict(struct pfld_trainer *trainer, const struct pfld_batch *batch,
                                                      float *predictions, struct pfld_error *error);

// Of both programs, see pfld_program_observe(); the optimizer's ops are not among them.
PFLD_API_STATUS enum pfld_status pfld_trainer_observe(struct pfld_trainer *trainer, pfld_observer *observer, void *context,
                                                      struct pfld_error *error);
// Steps of the optimizer so far.
PFLD_API uint64_t pfld_trainer_num_steps(const struct pfld_trainer *trainer);
PFLD_API const struct pfld_plan *pfld_trainer_plan(const struct pfld_trainer *trainer); // of everything

// A checkpoint holds weights, optimizer state, step counts and the running loss: training goes on to the same bits. It is
// also a model file for pfld_weights_load(). Written whole beside the old one, then renamed.
PFLD_API_STATUS enum pfld_status pfld_trainer_save(struct pfld_trainer *trainer, const char *path,
                                                   const char *const (*metadata)[2], int32_t num_metadata,
                                                   struct pfld_error *error);
// All or nothing. PFLD_ERR_DATA names what does not fit; a file without optimizer state is PFLD_ERR_DATA.
PFLD_API_STATUS enum pfld_status pfld_trainer_load(struct pfld_trainer *trainer, const char *path,
                                                   struct pfld_error *error);

#ifdef __cplusplus
}
#endif
#endif
