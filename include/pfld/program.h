// SPDX-License-Identifier: MIT
// Programs: a net compiled on weights for a largest batch and a mode: a flat list of ops with planned addresses, all
// memory taken at creation. This level is open: run forward, give your own output gradient, run backward, take the
// gradients by name, step an optimizer. The trainer is built on it. Thread safety: as the device's.
//
// Programs of one device share one arena: running one makes another's activations invalid. Asking for them, or running
// its backward, is then PFLD_ERR_STATE and names who ran in between.
#ifndef PFLD_PROGRAM_H
#define PFLD_PROGRAM_H

#include <pfld/loss.h>
#include <pfld/optimizer.h>
#include <pfld/plan.h>
#include <pfld/weights.h>

#ifdef __cplusplus
extern "C" {
#endif

enum pfld_mode {
	PFLD_TRAIN = 0, // batch statistics, dropout, backward
	PFLD_INFER,     // moving statistics, no dropout, forward only
};
struct pfld_program_options {
	const char *name;           // in messages and reports; NULL: "train" or "infer"
	int32_t batch;              // most samples in one run; required
	enum pfld_mode mode;
	const char *const *outputs; // names of the outputs wanted; what they do not need is left out. NULL: all
	int32_t num_outputs;
	// Train: a loss over the outputs, so that pfld_program_loss() fills their gradients. The first output is the prediction; a
	// loss that uses angles takes the output named "angles". NULL: the caller fills pfld_program_output_gradient().
	const struct pfld_loss_options *loss;
	bool unfused;               // keep batch norm and activation apart (tests, debugging)
	// Planned peak of this program, weights included, kept by computing blocks again in backward, to the same bits; 0: none.
	// One that cannot be kept is PFLD_ERR_MEMORY, which names the smallest that can.
	uint64_t memory_budget_bytes;
};

struct pfld_program;
// Compiles, plans, allocates. Errors: the net's, PFLD_ERR_UNSUPPORTED (an op this device lacks, with the reason),
// PFLD_ERR_MEMORY (with what is needed and what there is).
PFLD_API_STATUS enum pfld_status pfld_program_create(struct pfld_program **program, struct pfld_weights *weights,
                                                     const struct pfld_program_options *options, struct pfld_error *error);
// The plan of a program that is not made: no device memory is taken. pfld_plan_destroy() it.
PFLD_API_STATUS enum pfld_status pfld_program_plan_create(struct pfld_plan **plan, struct pfld_device *device,
                                                          const struct pfld_net *net,
                                                          const struct pfld_program_options *options,
                                                          struct pfld_error *error);
// The largest batch whose plan keeps to limit_bytes: its planned peak, or, with compute_again, its smallest budget, as if
// limit_bytes were the budget too. The options' batch and budget are not looked at. No device memory is taken.
PFLD_API_STATUS enum pfld_status pfld_program_largest_batch(struct pfld_largest_batch *largest, struct pfld_device *device,
                                                            const struct pfld_net *net,
                                                            const struct pfld_program_options *options,
                                                            uint64_t limit_bytes, bool compute_again,
                                                            struct pfld_error *error);
// Why a program with these options does not fit, and what does. `weights` exist already and are not needed once more; NULL:
// not yet.
PFLD_API_STATUS enum pfld_status pfld_program_memory_page(struct pfld_memory_page *page, struct pfld_device *device,
                                                          const struct pfld_net *net, const struct pfld_weights *weights,
                                                          const struct pfld_program_options *options,
                                                          struct pfld_error *error);
PFLD_API void pfld_program_destroy(struct pfld_program **program);
// Belongs to the program.
PFLD_API const struct pfld_plan *pfld_program_plan(const struct pfld_program *program);

// Inputs of the net by name, and, with a loss, "targets" (N, T), "target_mask" (N, T; starts as ones), "sample_weights" (N;
// starts as ones), "attributes" (N, 6), "angles_truth" (N, 3). Fill them with pfld_tensor_upload(). NULL: no such input.
PFLD_API struct pfld_tensor *pfld_program_input(struct pfld_program *program, const char *name);
PFLD_API struct pfld_tensor *pfld_program_output(struct pfld_program *program, const char *name);
// Filled by the caller between forward and backward when there is no loss: d(loss) / d(output).
PFLD_API struct pfld_tensor *pfld_program_output_gradient(struct pfld_program *program, const char *name);
// A parameter's gradient; NULL when it has none (frozen, a statistic, or not reached by the outputs).
PFLD_API struct pfld_tensor *pfld_program_gradient(struct pfld_program *program, const char *parameter);

// What a run may vary. NULL means zeroes.
struct pfld_run_options {
	uint64_t seed, step;       // of dropout
	bool accumulate_gradients; // backward adds to the gradients instead of writing them
	double loss_scale;         // 0 means 1
};
// The first n samples of the inputs, 1 <= n <= batch.
PFLD_API_STATUS enum pfld_status pfld_program_forward(struct pfld_program *program, int32_t n,
                                                      const struct pfld_run_options *options, struct pfld_error *error);
// After forward: the loss of each sample and the gradients of the outputs. `mean_loss` (may be NULL: nobody waits).
PFLD_API_STATUS enum pfld_status pfld_program_loss(struct pfld_program *program, const struct pfld_run_options *options,
                                                   double *mean_loss, struct pfld_error *error);
// After forward (and loss): gradients of all trainable parameters.
PFLD_API_STATUS enum pfld_status pfld_program_backward(struct pfld_program *program, const struct pfld_run_options *options,
                                                       struct pfld_error *error);

// Sum of the losses of all samples since the last reset, and their number; they live on the device.
struct pfld_loss_sums {
	double loss;
	int64_t num_samples;
	double batch_loss; // mean of the last batch
	bool last_was_bad; // the last batch's loss was not finite
};
PFLD_API_STATUS enum pfld_status pfld_program_loss_sums(struct pfld_program *program, struct pfld_loss_sums *sums,
                                                        struct pfld_error *error);
PFLD_API_STATUS enum pfld_status pfld_program_reset_loss_sums(struct pfld_program *program, struct pfld_error *error);

// ---- watching ----
// One op that has run. Strings belong to the program; "" where there is none.
struct pfld_op_event {
	const char *program, *layer, *op; // "train", "conv1", "conv2d"
	int32_t index;                    // among the program's ops
	bool backward, again;             // again: computed before, once more because of a memory budget
	uint64_t start_ns, end_ns;        // of a clock that only goes forward
	uint64_t live_bytes;              // of the shared arena, at this op, as planned
};
typedef void pfld_observer(void *context, const struct pfld_op_event *event);
// From the next run on `observer` is called after every op, which then is waited for; NULL: no longer.
PFLD_API_STATUS enum pfld_status pfld_program_observe(struct pfld_program *program, pfld_observer *observer, void *context,
                                                      struct pfld_error *error);

// Runs forward op by op on the inputs as they stand (same n, same options) and names the first layer whose output is not
// finite: PFLD_ERR_DATA; PFLD_OK when all are finite. Statistics do not move.
PFLD_API_STATUS enum pfld_status pfld_program_find_bad_layer(struct pfld_program *program, struct pfld_error *error);

// ---- optimizer ----
struct pfld_optimizer;
// State for every parameter that has a gradient in `program`, zeroed.
PFLD_API_STATUS enum pfld_status pfld_optimizer_create(struct pfld_optimizer **optimizer, struct pfld_program *program,
                                                       const struct pfld_optimizer_options *options,
                                                       struct pfld_error *error);
PFLD_API void pfld_optimizer_destroy(struct pfld_optimizer **optimizer);
// One step with the program's gradients times gradient_scale (0 means 1; 1 / k after k accumulated batches). When the joint
// norm of the gradients, or the last loss, is not finite, nothing is changed on the device and *stepped (may be NULL: nobody
// waits) is false.
PFLD_API_STATUS enum pfld_status pfld_optimizer_step(struct pfld_optimizer *optimizer, double learning_rate,
                                                     double gradient_scale, bool *stepped, struct pfld_error *error);
// Steps taken; set it to go on from a checkpoint.
PFLD_API uint64_t pfld_optimizer_num_steps(const struct pfld_optimizer *optimizer);
PFLD_API void pfld_optimizer_set_num_steps(struct pfld_optimizer *optimizer, uint64_t num_steps);
// State tensors for checkpoints: names such as "optimizer/m/conv1/kernel".
PFLD_API int32_t pfld_optimizer_num_tensors(const struct pfld_optimizer *optimizer);
PFLD_API struct pfld_tensor *pfld_optimizer_tensor(struct pfld_optimizer *optimizer, int32_t index, const char **name);

#ifdef __cplusplus
}
#endif
#endif
