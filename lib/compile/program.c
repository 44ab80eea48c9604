// SPDX-License-Identifier: MIT
// Programs: compiled nets with memory. Creation takes everything; runs only enqueue.
#include "compile/program.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// ---- creation ----

// The place of every operand, now that there is memory.
static void resolve_operand(struct pfld_program *program, struct pfld_operand *operand)
{
	if (!pfld_operand_present(operand)) return;
	const struct pfld_emit_tensor *tensor = &program->compiled.emit.tensors[operand->tensor];
	operand->region = tensor->region;
	operand->offset_bytes = tensor->offset_bytes + (size_t)operand->channel * sizeof(pfld_real);
}

static void resolve(struct pfld_program *program)
{
	struct pfld_compiled *compiled = &program->compiled;
	struct pfld_emit *emit = &compiled->emit;
	struct pfld_region *homes[PFLD_NUM_HOMES] = {
	    [PFLD_HOME_WEIGHTS] = &program->weights->region,
	    [PFLD_HOME_GRADIENTS] = &program->gradients,
	    [PFLD_HOME_BATCH] = &program->batch,
	    [PFLD_HOME_ARENA] = program->arena->pieces,
	};
	size_t piece = pfld_arena_piece_bytes(program->weights->device);
	for (size_t i = 0; i < emit->num_tensors; i++) {
		struct pfld_emit_tensor *tensor = &emit->tensors[i];
		tensor->region = homes[compiled->homes[i]];
		if (compiled->homes[i] != PFLD_HOME_ARENA || tensor->last_op < 0) continue;
		tensor->region += tensor->offset_bytes / piece;
		tensor->offset_bytes %= piece;
	}
	for (size_t i = 0; i < emit->num_pendings; i++)
		for (int32_t j = 0; j < PFLD_PENDING_PARTS; j++)
			resolve_operand(program, pfld_pending_part(emit->pendings[i], j));
	for (size_t i = 0; i < emit->num_ops; i++) {
		struct pfld_op *op = &emit->ops[i];
		for (int32_t j = 0; j < PFLD_OP_MAX_SRC; j++) resolve_operand(program, &op->src[j]);
		for (int32_t j = 0; j < PFLD_OP_MAX_DST; j++) resolve_operand(program, &op->dst[j]);
		resolve_operand(program, &op->workspace);
	}
	resolve_operand(program, &compiled->sums);
}

static enum pfld_status take_memory(struct pfld_program *program, struct pfld_error *error)
{
	struct pfld_device *device = program->weights->device;
	const size_t *bytes = program->compiled.home_bytes;
	enum pfld_status status = pfld_arena_acquire(&program->arena, device, PFLD_MAX(bytes[PFLD_HOME_ARENA], 1), error);
	if (status == PFLD_OK && bytes[PFLD_HOME_GRADIENTS])
		status = pfld_device_region_create(device, bytes[PFLD_HOME_GRADIENTS], PFLD_MEMORY_GRADIENTS, "gradients",
		                                   &program->gradients, error);
	if (status == PFLD_OK && bytes[PFLD_HOME_BATCH])
		status = pfld_device_region_create(device, bytes[PFLD_HOME_BATCH], PFLD_MEMORY_BATCH, "inputs and targets",
		                                   &program->batch, error);
	return status;
}

static enum pfld_status still_here(const void *owner, struct pfld_error *error)
{
	const struct pfld_program *program = owner;
	if (program->arena->occupant == program) return PFLD_OK;
	if (!program->arena->occupant)
		return pfld_fail(error, PFLD_ERR_STATE, "program %s has not run yet", program->name);
	return pfld_fail(error, PFLD_ERR_STATE, "the activations of program %s are gone: program %s has run in between",
	                 program->name, program->arena->occupant->name);
}

// (N, h, w, c) of an operand, (N, c) where it is no picture.
static struct pfld_shape batch_shape(const struct pfld_operand *operand, int32_t batch)
{
	if (operand->h == 1 && operand->w == 1) return (struct pfld_shape){2, {batch, operand->c}};
	return (struct pfld_shape){4, {batch, operand->h, operand->w, operand->c}};
}

static enum pfld_status wrap(struct pfld_program *program, struct pfld_tensor **tensor, struct pfld_operand operand,
                             const struct pfld_shape *shape, struct pfld_error *error)
{
	resolve_operand(program, &operand);
	bool lasting = program->compiled.emit.tensors[operand.tensor].persistent;
	return pfld_tensor_wrap(tensor, program->weights->device, shape, operand.region, operand.offset_bytes,
	                        lasting ? NULL : still_here, program, error);
}

static enum pfld_status make_tensors(struct pfld_program *program, struct pfld_error *error)
{
	struct pfld_compiled *compiled = &program->compiled;
	enum pfld_status status = PFLD_OK;
	for (int32_t i = 0; status == PFLD_OK && i < compiled->num_inputs; i++) {
		struct pfld_shape shape = batch_shape(&compiled->inputs[i].operand, compiled->batch);
		status = wrap(program, &program->inputs[i], compiled->inputs[i].operand, &shape, error);
		const char *name = compiled->inputs[i].name;
		bool ones = !strcmp(name, "target_mask") || !strcmp(name, "sample_weights");
		if (status == PFLD_OK && ones) status = pfld_tensor_fill(program->inputs[i], 1, error);
	}
	for (int32_t i = 0; status == PFLD_OK && i < compiled->num_outputs; i++) {
		struct pfld_shape shape = batch_shape(&compiled->outputs[i].operand, compiled->batch);
		status = wrap(program, &program->outputs[i], compiled->outputs[i].operand, &shape, error);
		if (status == PFLD_OK && compiled->mode == PFLD_TRAIN)
			status = wrap(program, &program->output_gradients[i], compiled->output_gradients[i].operand, &shape, error);
	}
	for (size_t i = 0; status == PFLD_OK && i < compiled->net->num_params; i++)
		if (pfld_operand_present(&compiled->emit.param_gradients[i]))
			status = wrap(program, &program->param_gradients[i], compiled->emit.param_gradients[i],
			              &compiled->net->params[i].info.shape, error);
	return status;
}

static enum pfld_status prepare(struct pfld_program *program, struct pfld_error *error)
{
	struct pfld_emit *emit = &program->compiled.emit;
	for (size_t i = 0; i < emit->num_ops; i++) {
		enum pfld_status status = pfld_device_prepare(program->weights->device, &emit->ops[i], program->compiled.batch,
		                                              &program->states[i], error);
		if (status != PFLD_OK) return status;
		program->num_prepared++;
	}
	return PFLD_OK;
}

static enum pfld_status commit(struct pfld_program *program, uint64_t budget_bytes, struct pfld_error *error)
{
	program->plan = pfld_plan_create_empty();
	if (!program->plan) return pfld_fail_memory(error, 1, "the plan");
	pfld_plan_set_budget(program->plan, budget_bytes);
	enum pfld_status status = pfld_plan_add_program(program->plan, &program->compiled, program->name, error);
	if (status == PFLD_OK) status = pfld_plan_close(program->plan, error);
	if (status != PFLD_OK) return status;
	program->states = pfld_calloc(program->compiled.emit.num_ops + 1, sizeof *program->states);
	program->param_gradients = pfld_calloc(program->compiled.net->num_params + 1, sizeof *program->param_gradients);
	if (!program->states || !program->param_gradients)
		return pfld_fail_memory(error, program->compiled.emit.num_ops * sizeof *program->states, "a program");
	status = pfld_plan_check_room(program->plan, program->weights, program->name, error);
	if (status == PFLD_OK) status = take_memory(program, error);
	if (status != PFLD_OK) return status;
	resolve(program);
	status = make_tensors(program, error);
	return status == PFLD_OK ? prepare(program, error) : status;
}

enum pfld_status pfld_program_create(struct pfld_program **program, struct pfld_weights *weights,
                                     const struct pfld_program_options *options, struct pfld_error *error)
{
	if (!program || !weights || !options)
		return pfld_fail(error, PFLD_ERR_ARGUMENT, "pfld_program_create() needs weights and options");
	struct pfld_program *fresh = pfld_calloc(1, sizeof *fresh);
	if (!fresh) return pfld_fail_memory(error, sizeof *fresh, "a program");
	fresh->weights = weights;
	const char *name = options->name ? options->name : options->mode == PFLD_TRAIN ? "train" : "infer";
	snprintf(fresh->name, sizeof fresh->name, "%s", name);
	enum pfld_status status = pfld_compile(&fresh->compiled, weights->device, weights->net, options, error);
	if (status == PFLD_OK && !fresh->compiled.fits)
		status = pfld_fail(error, PFLD_ERR_MEMORY,
		                   "program %s needs %" PRIu64 " bytes even with all that can be computed again; the budget is %" PRIu64,
		                   fresh->name, fresh->compiled.smallest_bytes, options->memory_budget_bytes);
	if (status == PFLD_OK) status = commit(fresh, options->memory_budget_bytes, error);
	if (status != PFLD_OK) {
		pfld_program_destroy(&fresh);
		return status;
	}
	*program = fresh;
	return PFLD_OK;
}

enum pfld_status pfld_program_plan_create(struct pfld_plan **plan, struct pfld_device *device, const struct pfld_net *net,
                                          const struct pfld_program_options *options, struct pfld_error *error)
{
	if (!plan || !device || !net || !options)
		return pfld_fail(error, PFLD_ERR_ARGUMENT, "pfld_program_plan_create() needs a device, a net and options");
	struct pfld_compiled compiled;
	enum pfld_status status = pfld_compile(&compiled, device, net, options, error);
	if (status != PFLD_OK) return status;
	struct pfld_plan *fresh = pfld_plan_create_empty();
	if (!fresh) status = pfld_fail_memory(error, 1, "the plan");
	const char *name = options->name ? options->name : options->mode == PFLD_TRAIN ? "train" : "infer";
	if (status == PFLD_OK) pfld_plan_set_budget(fresh, options->memory_budget_bytes);
	if (status == PFLD_OK) status = pfld_plan_add_program(fresh, &compiled, name, error);
	if (status == PFLD_OK) status = pfld_plan_close(fresh, error);
	if (status == PFLD_OK) *plan = fresh;
	else pfld_plan_destroy(&fresh);
	pfld_compiled_finish(&compiled);
	return status;
}

void pfld_program_destroy(struct pfld_program **program)
{
	if (!program || !*program) return;
	struct pfld_program *p = *program;
	struct pfld_device *device = p->weights->device;
	for (int32_t i = 0; i < p->num_prepared; i++) pfld_device_release(device, &p->states[i]);
	for (int32_t i = 0; i < PFLD_MAX_NAMED; i++) pfld_tensor_destroy(&p->inputs[i]);
	for (int32_t i = 0; i < PFLD_NET_MAX_OUTPUTS; i++) {
		pfld_tensor_destroy(&p->outputs[i]);
		pfld_tensor_destroy(&p->output_gradients[i]);
	}
	for (size_t i = 0; p->param_gradients && i < p->weights->net->num_params; i++)
		pfld_tensor_destroy(&p->param_gradients[i]);
	if (p->gradients.bytes) pfld_device_region_destroy(device, PFLD_MEMORY_GRADIENTS, &p->gradients);
	if (p->batch.bytes) pfld_device_region_destroy(device, PFLD_MEMORY_BATCH, &p->batch);
	pfld_arena_release(&p->arena, device, p);
	pfld_plan_destroy(&p->plan);
	pfld_compiled_finish(&p->compiled);
	free(p->states);
	free(p->param_gradients);
	free(p->live_bytes);
	free(p);
	*program = NULL;
}

// ---- access ----

const struct pfld_plan *pfld_program_plan(const struct pfld_program *program)
{
	return program->plan;
}

static int32_t find(const struct pfld_named_tensor *list, int32_t num, const char *name)
{
	for (int32_t i = 0; name && i < num; i++)
		if (!strcmp(list[i].name, name)) return i;
	return -1;
}

struct pfld_tensor *pfld_program_input(struct pfld_program *program, const char *name)
{
	int32_t index = find(program->compiled.inputs, program->compiled.num_inputs, name);
	return index < 0 ? NULL : program->inputs[index];
}

struct pfld_tensor *pfld_program_output(struct pfld_program *program, const char *name)
{
	int32_t index = find(program->compiled.outputs, program->compiled.num_outputs, name);
	return index < 0 ? NULL : program->outputs[index];
}

struct pfld_tensor *pfld_program_output_gradient(struct pfld_program *program, const char *name)
{
	int32_t index = find(program->compiled.outputs, program->compiled.num_outputs, name);
	return index < 0 ? NULL : program->output_gradients[index];
}

struct pfld_tensor *pfld_program_gradient(struct pfld_program *program, const char *parameter)
{
	int32_t index = parameter ? pfld_net_find_param(program->compiled.net, parameter) : -1;
	return index < 0 ? NULL : program->param_gradients[index];
}

// ---- running ----

static struct pfld_run make_run(const struct pfld_program *program, const struct pfld_run_options *options)
{
	struct pfld_run_options o = options ? *options : (struct pfld_run_options){0};
	return (struct pfld_run){.n = program->n,
	                         .accumulate_gradients = o.accumulate_gradients,
	                         .seed = o.seed,
	                         .step = o.step,
	                         .loss_scale = o.loss_scale > 0 ? o.loss_scale : 1};
}

enum pfld_status pfld_program_enqueue(struct pfld_program *program, int32_t first, int32_t end,
                                      const struct pfld_run_options *options, struct pfld_error *error)
{
	struct pfld_run run = make_run(program, options);
	for (int32_t i = first; i < end; i++) {
		enum pfld_status status = program->observer
		                              ? pfld_program_enqueue_watched(program, i, &run, error)
		                              : pfld_device_enqueue(program->weights->device, &program->compiled.emit.ops[i],
		                                                    program->states[i], &run, error);
		if (status != PFLD_OK) return status;
	}
	return PFLD_OK;
}

static enum pfld_status fail_no_program(struct pfld_error *error)
{
	return pfld_fail(error, PFLD_ERR_ARGUMENT, "the program is NULL");
}

enum pfld_status pfld_program_forward(struct pfld_program *program, int32_t n, const struct pfld_run_options *options,
                                      struct pfld_error *error)
{
	if (!program) return fail_no_program(error);
	if (n < 1 || n > program->compiled.batch)
		return pfld_fail(error, PFLD_ERR_ARGUMENT, "program %s runs 1 to %d samples, got %d", program->name,
		                 program->compiled.batch, n);
	program->n = n;
	program->phase = PFLD_PHASE_IDLE;
	program->arena->occupant = program;
	enum pfld_status status = pfld_program_enqueue(program, 0, program->compiled.num_forward, options, error);
	if (status == PFLD_OK) program->phase = PFLD_PHASE_FORWARD;
	return status;
}

// The activations of the last forward are still there, and the program has got so far.
static enum pfld_status check_phase(const struct pfld_program *program, enum pfld_phase wanted, const char *what,
                                    struct pfld_error *error)
{
	if (program->compiled.mode != PFLD_TRAIN)
		return pfld_fail(error, PFLD_ERR_STATE, "program %s is for inference: it has no %s", program->name, what);
	enum pfld_status status = still_here(program, error);
	if (status != PFLD_OK) return status;
	if (program->phase != wanted)
		return pfld_fail(error, PFLD_ERR_STATE, "program %s: %s needs a %s before it", program->name, what,
		                 wanted == PFLD_PHASE_FORWARD ? "forward" : "forward and a loss");
	return PFLD_OK;
}

enum pfld_status pfld_program_loss(struct pfld_program *program, const struct pfld_run_options *options,
                                   double *mean_loss, struct pfld_error *error)
{
	if (!program) return fail_no_program(error);
	if (!pfld_operand_present(&program->compiled.sums))
		return pfld_fail(error, PFLD_ERR_STATE, "program %s was created without a loss", program->name);
	enum pfld_status status = check_phase(program, PFLD_PHASE_FORWARD, "loss", error);
	if (status == PFLD_OK)
		status = pfld_program_enqueue(program, program->compiled.num_forward, program->compiled.num_loss, options, error);
	if (status != PFLD_OK) return status;
	program->phase = PFLD_PHASE_LOSS;
	if (!mean_loss) return PFLD_OK;
	struct pfld_loss_sums sums;
	status = pfld_program_loss_sums(program, &sums, error);
	if (status == PFLD_OK) *mean_loss = sums.batch_loss;
	return status;
}

enum pfld_status pfld_program_backward(struct pfld_program *program, const struct pfld_run_options *options,
                                       struct pfld_error *error)
{
	if (!program) return fail_no_program(error);
	bool has_loss = pfld_operand_present(&program->compiled.sums);
	enum pfld_status status =
	    check_phase(program, has_loss ? PFLD_PHASE_LOSS : PFLD_PHASE_FORWARD, "backward", error);
	if (status == PFLD_OK)
		status = pfld_program_enqueue(program, program->compiled.num_loss, (int32_t)program->compiled.emit.num_ops, options,
		                              error);
	if (status == PFLD_OK) program->phase = PFLD_PHASE_BACKWARD;
	return status;
}

enum pfld_status pfld_program_loss_sums(struct pfld_program *program, struct pfld_loss_sums *sums,
                                        struct pfld_error *error)
{
	if (!program || !sums)
		return pfld_fail(error, PFLD_ERR_ARGUMENT, "pfld_program_loss_sums() needs a program and a place for the sums");
	const struct pfld_operand *place = &program->compiled.sums;
	if (!pfld_operand_present(place))
		return pfld_fail(error, PFLD_ERR_STATE, "program %s was created without a loss", program->name);
	double numbers[PFLD_SUMS_COUNT];
	enum pfld_status status = pfld_device_download(program->weights->device, place->region, place->offset_bytes, PFLD_F64,
	                                               numbers, PFLD_SUMS_COUNT, error);
	if (status != PFLD_OK) return status;
	*sums = (struct pfld_loss_sums){.loss = numbers[PFLD_SUMS_LOSS] + numbers[PFLD_SUMS_LOSS_LOW],
	                                .num_samples = (int64_t)numbers[PFLD_SUMS_SAMPLES],
	                                .batch_loss = numbers[PFLD_SUMS_BATCH_LOSS],
	                                .last_was_bad = numbers[PFLD_SUMS_BAD] != 0};
	return PFLD_OK;
}

enum pfld_status pfld_program_reset_loss_sums(struct pfld_program *program, struct pfld_error *error)
{
	if (!program) return fail_no_program(error);
	const struct pfld_operand *place = &program->compiled.sums;
	if (!pfld_operand_present(place))
		return pfld_fail(error, PFLD_ERR_STATE, "program %s was created without a loss", program->name);
	return pfld_device_fill(program->weights->device, place->region, place->offset_bytes, 0, PFLD_SUMS_COUNT, error);
}

// ---- finding the layer that went wrong ----

static enum pfld_status all_finite(struct pfld_program *program, const struct pfld_operand *operand, bool *finite,
                                   struct pfld_error *error)
{
	double chunk[512];
	size_t elements = pfld_operand_elements(operand) * (operand->per_sample ? (size_t)program->n : 1);
	// Operands of ops that write a part of wider pixels (concat) are read by the layer behind; whole ones are enough here.
	if (operand->pixel_stride != operand->c) elements = 0;
	*finite = true;
	for (size_t first = 0; first < elements; first += PFLD_COUNT(chunk)) {
		size_t num = PFLD_MIN(PFLD_COUNT(chunk), elements - first);
		enum pfld_status status =
		    pfld_device_download(program->weights->device, operand->region,
		                         operand->offset_bytes + first * sizeof(pfld_real), PFLD_F64, chunk, num, error);
		if (status != PFLD_OK) return status;
		for (size_t i = 0; i < num; i++)
			if (!isfinite(chunk[i])) {
				*finite = false;
				return PFLD_OK;
			}
	}
	return PFLD_OK;
}

// One op of the forward half again, without moving statistics.
static enum pfld_status run_checked(struct pfld_program *program, int32_t index, const struct pfld_run *run,
                                    struct pfld_error *error)
{
	const struct pfld_op *op = &program->compiled.emit.ops[index];
	enum pfld_status status = pfld_device_enqueue(program->weights->device, op, program->states[index], run, error);
	bool finite = true;
	for (int32_t i = 0; status == PFLD_OK && finite && i < PFLD_OP_MAX_DST; i++) {
		bool moving = op->kind == PFLD_OP_BN_TRAIN && i >= 3;
		if (!moving && pfld_operand_present(&op->dst[i])) status = all_finite(program, &op->dst[i], &finite, error);
	}
	if (status != PFLD_OK || finite) return status;
	const struct pfld_layer *layer = op->layer >= 0 ? &program->compiled.net->layers[op->layer] : NULL;
	return pfld_fail(error, PFLD_ERR_DATA, "layer %s (%s) is the first whose numbers are not finite",
	                 layer ? layer->name : "?", layer ? layer->kind->name : pfld_op_name(op->kind));
}

enum pfld_status pfld_program_find_bad_layer(struct pfld_program *program, struct pfld_error *error)
{
	if (!program) return fail_no_program(error);
	if (program->n < 1) return pfld_fail(error, PFLD_ERR_STATE, "program %s has not run yet", program->name);
	for (int32_t i = 0; i < program->compiled.num_inputs; i++) {
		struct pfld_operand input = program->compiled.inputs[i].operand;
		resolve_operand(program, &input);
		bool finite;
		enum pfld_status status = all_finite(program, &input, &finite, error);
		if (status != PFLD_OK) return status;
		if (!finite)
			return pfld_fail(error, PFLD_ERR_DATA, "the input \"%s\" of the batch holds numbers that are not finite",
			                 program->compiled.inputs[i].name);
	}
	program->phase = PFLD_PHASE_IDLE;
	program->arena->occupant = program;
	struct pfld_run run = make_run(program, NULL);
	run.keep_statistics = true;
	for (int32_t i = 0; i < program->compiled.num_forward; i++) {
		enum pfld_status status = run_checked(program, i, &run, error);
		if (status != PFLD_OK) return status;
	}
	return PFLD_OK;
}
