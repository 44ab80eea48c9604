// SPDX-License-Identifier: MIT
// Optimizers: state beside the gradients of one program, and the two ops of a step: the joint norm, the update.
#include "train/optimizer.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const struct {
	const char *name;
	int32_t num_states;
	const char *states[2];
	double epsilon;
} kinds[] = {
    [PFLD_SGD] = {"sgd", 1, {"velocity"}, 0}, // no state without momentum
    [PFLD_ADAGRAD] = {"adagrad", 1, {"sum"}, 1e-7},
    [PFLD_ADADELTA] = {"adadelta", 2, {"square", "delta"}, 1e-6},
    [PFLD_RMSPROP] = {"rmsprop", 1, {"square"}, 1e-8},
    [PFLD_ADAM] = {"adam", 2, {"m", "v"}, 1e-8},
    [PFLD_ADAMW] = {"adamw", 2, {"m", "v"}, 1e-8},
};

const char *pfld_optimizer_name(enum pfld_optimizer_kind kind)
{
	return kinds[kind].name;
}

bool pfld_optimizer_from_name(const char *name, enum pfld_optimizer_kind *kind)
{
	for (size_t i = 0; name && i < PFLD_COUNT(kinds); i++)
		if (!strcmp(name, kinds[i].name)) {
			*kind = (enum pfld_optimizer_kind)i;
			return true;
		}
	return false;
}

static double or_default(double value, double otherwise)
{
	return value > 0 ? value : otherwise;
}

static enum pfld_status fill_attr(struct pfld_optimizer_attr *attr, const struct pfld_optimizer_options *o,
                                  struct pfld_error *error)
{
	if ((size_t)o->kind >= PFLD_COUNT(kinds))
		return pfld_fail(error, PFLD_ERR_ARGUMENT, "optimizer: unknown kind %d", (int)o->kind);
	if (!(o->momentum >= 0 && o->momentum < 1) || !(o->beta1 >= 0 && o->beta1 < 1) || !(o->beta2 >= 0 && o->beta2 < 1) ||
	    !(o->rho >= 0 && o->rho < 1) || !(o->epsilon >= 0) || !(o->weight_decay >= 0) || !(o->clip_norm >= 0) ||
	    !(o->clip_value >= 0))
		return pfld_fail(error, PFLD_ERR_ARGUMENT,
		                 "optimizer: momentum, betas and rho must lie in 0 <= x < 1, the other numbers not below 0");
	*attr = (struct pfld_optimizer_attr){
	    .kind = (int32_t)o->kind,
	    .momentum = o->momentum,
	    .nesterov = o->nesterov,
	    .beta1 = or_default(o->beta1, 0.9),
	    .beta2 = or_default(o->beta2, 0.999),
	    .rho = or_default(o->rho, 0.9),
	    .epsilon = or_default(o->epsilon, kinds[o->kind].epsilon),
	    .epsilon_inside = o->tensorflow_epsilon,
	    .decoupled_decay = o->kind == PFLD_ADAMW,
	    .clip_norm = o->clip_norm,
	    .clip_value = o->clip_value,
	};
	return PFLD_OK;
}

int32_t pfld_optimizer_num_states(const struct pfld_optimizer_options *options)
{
	return options->kind == PFLD_SGD && options->momentum == 0 ? 0 : kinds[options->kind].num_states;
}

size_t pfld_optimizer_block_bytes(const struct pfld_compiled *compiled, const struct pfld_optimizer_options *options)
{
	size_t alignment = compiled->device->limits.alignment_bytes;
	return (size_t)pfld_optimizer_num_states(options) * compiled->home_bytes[PFLD_HOME_GRADIENTS] +
	       pfld_align(sizeof(pfld_real), alignment);
}

static struct pfld_operand block(int32_t tensor, struct pfld_region *region, size_t offset_bytes, size_t bytes)
{
	int32_t elements = (int32_t)(bytes / sizeof(pfld_real));
	return (struct pfld_operand){.tensor = tensor,
	                             .h = 1,
	                             .w = 1,
	                             .c = elements,
	                             .pixel_stride = elements,
	                             .region = region,
	                             .offset_bytes = offset_bytes};
}

// Ops have no list of their own: the tensor numbers only say "present".
static struct pfld_op absent_op(enum pfld_op_kind kind)
{
	struct pfld_op op = {.kind = kind, .layer = -1, .workspace = {.tensor = PFLD_NO_TENSOR}};
	for (int32_t i = 0; i < PFLD_OP_MAX_SRC; i++) op.src[i].tensor = PFLD_NO_TENSOR;
	for (int32_t i = 0; i < PFLD_OP_MAX_DST; i++) op.dst[i].tensor = PFLD_NO_TENSOR;
	return op;
}

static enum pfld_status make_factors(struct pfld_optimizer *optimizer, const struct pfld_optimizer_options *options,
                                     struct pfld_error *error)
{
	const struct pfld_compiled *compiled = &optimizer->program->compiled;
	const struct pfld_net *net = compiled->net;
	optimizer->factors = pfld_calloc(net->num_params + 1, sizeof *optimizer->factors);
	optimizer->params = pfld_calloc(net->num_params + 1, sizeof *optimizer->params);
	if (!optimizer->factors || !optimizer->params)
		return pfld_fail_memory(error, net->num_params * sizeof *optimizer->factors, "the optimizer");
	for (size_t i = 0; i < net->num_params; i++) {
		const struct pfld_operand *gradient = &compiled->emit.param_gradients[i];
		if (!pfld_operand_present(gradient)) continue;
		const struct pfld_emit_tensor *place = &compiled->emit.tensors[gradient->tensor];
		const struct pfld_emit_tensor *value = &compiled->emit.tensors[compiled->emit.params[i].tensor];
		const struct pfld_parameter_info *info = &net->params[i].info;
		optimizer->params[optimizer->num_params] = (int32_t)i;
		optimizer->factors[optimizer->num_params++] = (struct pfld_parameter_factor){
		    .first = (int64_t)(place->offset_bytes / sizeof(pfld_real)),
		    .count = info->elements,
		    .parameter_first = (int64_t)(value->offset_bytes / sizeof(pfld_real)),
		    .learning_rate = info->learning_rate,
		    .weight_decay = info->weight_decay >= 0 ? info->weight_decay : options->weight_decay,
		};
	}
	if (!optimizer->num_params)
		return pfld_fail(error, PFLD_ERR_ARGUMENT, "optimizer: program %s has no trainable parameter",
		                 optimizer->program->name);
	return PFLD_OK;
}

static enum pfld_status make_tensors(struct pfld_optimizer *optimizer, struct pfld_error *error)
{
	const struct pfld_net *net = optimizer->program->compiled.net;
	size_t num = (size_t)optimizer->num_params * (size_t)optimizer->num_states;
	optimizer->tensors = pfld_calloc(num + 1, sizeof *optimizer->tensors);
	optimizer->names = pfld_calloc(num + 1, sizeof *optimizer->names);
	if (!optimizer->tensors || !optimizer->names)
		return pfld_fail_memory(error, num * sizeof *optimizer->tensors, "the optimizer");
	for (int32_t s = 0; s < optimizer->num_states; s++)
		for (int32_t i = 0; i < optimizer->num_params; i++) {
			const struct pfld_parameter_info *info = &net->params[optimizer->params[i]].info;
			size_t offset = (size_t)s * optimizer->block_bytes + (size_t)optimizer->factors[i].first * sizeof(pfld_real);
			int32_t index = optimizer->num_tensors;
			optimizer->names[index] =
			    pfld_strprintf("optimizer/%s/%s", kinds[optimizer->update.attr.optimizer.kind].states[s], info->name);
			if (!optimizer->names[index]) return pfld_fail_memory(error, 1, "the optimizer");
			enum pfld_status status = pfld_tensor_wrap(&optimizer->tensors[index], optimizer->program->weights->device,
			                                           &info->shape, &optimizer->region, offset, NULL, NULL, error);
			if (status != PFLD_OK) {
				free(optimizer->names[index]);
				optimizer->names[index] = NULL;
				return status;
			}
			optimizer->num_tensors++;
		}
	return PFLD_OK;
}

static enum pfld_status add_workspace(struct pfld_optimizer *optimizer, struct pfld_op *op, int32_t index,
                                      struct pfld_error *error)
{
	struct pfld_device *device = optimizer->program->weights->device;
	size_t bytes = device->backend->workspace_bytes(device->state, op, 1);
	if (!bytes) return PFLD_OK;
	enum pfld_status status = pfld_device_region_create(device, bytes, PFLD_MEMORY_WORKSPACE, "the optimizer's workspace",
	                                                    &optimizer->workspaces[index], error);
	if (status == PFLD_OK) op->workspace = block(5, &optimizer->workspaces[index], 0, sizeof(pfld_real));
	return status;
}

size_t pfld_optimizer_workspace_bytes(const struct pfld_compiled *compiled, const struct pfld_optimizer_options *options)
{
	const struct pfld_device *device = compiled->device;
	size_t bytes = compiled->home_bytes[PFLD_HOME_GRADIENTS];
	struct pfld_op norm = absent_op(PFLD_OP_GRADIENT_NORM), update = absent_op(PFLD_OP_OPTIMIZER);
	norm.src[0] = update.src[0] = block(0, NULL, 0, bytes);
	update.dst[0] = block(2, NULL, 0, compiled->home_bytes[PFLD_HOME_WEIGHTS]);
	for (int32_t i = 0; i < pfld_optimizer_num_states(options); i++) update.dst[1 + i] = block(3 + i, NULL, 0, bytes);
	for (size_t i = 0; i < compiled->net->num_params; i++)
		update.attr.optimizer.num_factors += pfld_operand_present(&compiled->emit.param_gradients[i]);
	return device->backend->workspace_bytes(device->state, &norm, 1) +
	       device->backend->workspace_bytes(device->state, &update, 1);
}

static enum pfld_status make_ops(struct pfld_optimizer *optimizer, struct pfld_error *error)
{
	struct pfld_program *program = optimizer->program;
	struct pfld_device *device = program->weights->device;
	size_t bytes = optimizer->block_bytes;
	struct pfld_operand gradients = block(0, &program->gradients, 0, bytes);
	struct pfld_operand norm2 = block(1, &optimizer->region, bytes * (size_t)optimizer->num_states, sizeof(pfld_real));
	optimizer->norm = absent_op(PFLD_OP_GRADIENT_NORM);
	optimizer->norm.src[0] = gradients;
	optimizer->norm.dst[0] = norm2;
	struct pfld_op *update = &optimizer->update;
	update->src[0] = gradients;
	update->src[1] = norm2;
	if (pfld_operand_present(&program->compiled.sums)) update->src[2] = program->compiled.sums;
	update->dst[0] = block(2, &program->weights->region, 0, program->compiled.home_bytes[PFLD_HOME_WEIGHTS]);
	for (int32_t i = 0; i < optimizer->num_states; i++)
		update->dst[1 + i] = block(3 + i, &optimizer->region, bytes * (size_t)i, bytes);
	update->attr.optimizer.factors = optimizer->factors;
	update->attr.optimizer.num_factors = optimizer->num_params;
	enum pfld_status status = add_workspace(optimizer, &optimizer->norm, 0, error);
	if (status == PFLD_OK) status = add_workspace(optimizer, update, 1, error);
	if (status == PFLD_OK) status = pfld_device_prepare(device, &optimizer->norm, 1, &optimizer->norm_state, error);
	if (status != PFLD_OK) return status;
	optimizer->norm_ready = true;
	status = pfld_device_prepare(device, update, 1, &optimizer->update_state, error);
	optimizer->update_ready = status == PFLD_OK;
	return status;
}

static enum pfld_status fill(struct pfld_optimizer *optimizer, const struct pfld_optimizer_options *options,
                             struct pfld_error *error)
{
	struct pfld_program *program = optimizer->program;
	optimizer->update = absent_op(PFLD_OP_OPTIMIZER);
	enum pfld_status status = fill_attr(&optimizer->update.attr.optimizer, options, error);
	if (status != PFLD_OK) return status;
	optimizer->num_states = pfld_optimizer_num_states(options);
	optimizer->block_bytes = program->compiled.home_bytes[PFLD_HOME_GRADIENTS];
	status = make_factors(optimizer, options, error);
	if (status == PFLD_OK)
		status = pfld_device_region_create(program->weights->device, pfld_optimizer_block_bytes(&program->compiled, options),
		                                   PFLD_MEMORY_OPTIMIZER, "optimizer state", &optimizer->region, error);
	if (status == PFLD_OK) status = make_tensors(optimizer, error);
	return status == PFLD_OK ? make_ops(optimizer, error) : status;
}

enum pfld_status pfld_optimizer_create(struct pfld_optimizer **optimizer, struct pfld_program *program,
                                       const struct pfld_optimizer_options *options, struct pfld_error *error)
{
	if (!optimizer || !program || !options)
		return pfld_fail(error, PFLD_ERR_ARGUMENT, "pfld_optimizer_create() needs a program and options");
	if (program->compiled.mode != PFLD_TRAIN)
		return pfld_fail(error, PFLD_ERR_STATE, "program %s is for inference: it has no gradients", program->name);
	struct pfld_optimizer *fresh = pfld_calloc(1, sizeof *fresh);
	if (!fresh) return pfld_fail_memory(error, sizeof *fresh, "an optimizer");
	fresh->program = program;
	enum pfld_status status = fill(fresh, options, error);
	if (status != PFLD_OK) {
		pfld_optimizer_destroy(&fresh);
		return status;
	}
	*optimizer = fresh;
	return PFLD_OK;
}

void pfld_optimizer_destroy(struct pfld_optimizer **optimizer)
{
	if (!optimizer || !*optimizer) return;
	struct pfld_optimizer *o = *optimizer;
	struct pfld_device *device = o->program->weights->device;
	if (o->norm_ready) pfld_device_release(device, &o->norm_state);
	if (o->update_ready) pfld_device_release(device, &o->update_state);
	for (int32_t i = 0; i < o->num_tensors; i++) {
		pfld_tensor_destroy(&o->tensors[i]);
		free(o->names[i]);
	}
	for (int32_t i = 0; i < 2; i++)
		if (o->workspaces[i].bytes) pfld_device_region_destroy(device, PFLD_MEMORY_WORKSPACE, &o->workspaces[i]);
	if (o->region.bytes) pfld_device_region_destroy(device, PFLD_MEMORY_OPTIMIZER, &o->region);
	free(o->tensors);
	free(o->names);
	free(o->factors);
	free(o->params);
	free(o);
	*optimizer = NULL;
}

enum pfld_status pfld_optimizer_step(struct pfld_optimizer *optimizer, double learning_rate, double gradient_scale,
                                     bool *stepped, struct pfld_error *error)
{
	if (!optimizer) return pfld_fail(error, PFLD_ERR_ARGUMENT, "the optimizer is NULL");
	if (!(learning_rate >= 0) || !isfinite(learning_rate))
		return pfld_fail(error, PFLD_ERR_ARGUMENT, "the learning rate must be a finite number not below 0");
	struct pfld_device *device = optimizer->program->weights->device;
	struct pfld_run run = {.n = 1,
	                       .learning_rate = learning_rate,
	                       .optimizer_step = optimizer->num_steps + 1,
	                       .gradient_scale = gradient_scale > 0 ? gradient_scale : 1};
	enum pfld_status status = pfld_device_enqueue(device, &optimizer->norm, optimizer->norm_state, &run, error);
	if (status == PFLD_OK)
		status = pfld_device_enqueue(device, &optimizer->update, optimizer->update_state, &run, error);
	if (status != PFLD_OK) return status;
	if (!stepped) {
		optimizer->num_steps++;
		return PFLD_OK;
	}
	double norm2;
	const struct pfld_operand *place = &optimizer->norm.dst[0];
	status = pfld_device_download(device, place->region, place->offset_bytes, PFLD_F64, &norm2, 1, error);
	if (status != PFLD_OK) return status;
	struct pfld_loss_sums sums = {0};
	if (pfld_operand_present(&optimizer->update.src[2]))
		status = pfld_program_loss_sums(optimizer->program, &sums, error);
	if (status != PFLD_OK) return status;
	*stepped = isfinite(norm2) && !sums.last_was_bad;
	if (*stepped) optimizer->num_steps++;
	return PFLD_OK;
}

uint64_t pfld_optimizer_num_steps(const struct pfld_optimizer *optimizer)
{
	return optimizer->num_steps;
}

void pfld_optimizer_set_num_steps(struct pfld_optimizer *optimizer, uint64_t num_steps)
{
	optimizer->num_steps = num_steps;
}

int32_t pfld_optimizer_num_tensors(const struct pfld_optimizer *optimizer)
{
	return optimizer->num_tensors;
}

struct pfld_tensor *pfld_optimizer_tensor(struct pfld_optimizer *optimizer, int32_t index, const char **name)
{
	if (index < 0 || index >= optimizer->num_tensors) return NULL;
	if (name) *name = optimizer->names[index];
	return optimizer->tensors[index];
}
