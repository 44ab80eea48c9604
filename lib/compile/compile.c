// SPDX-License-Identifier: MIT
// The way from a net to ops with places: mark what is wanted, emit forward, loss and backward, ask the backend for
// workspaces, and lay everything out. Called by program.c and, for plans alone, by plan.c.
#include "compile/compile.h"

#include "compile/budget.h"
#include "compile/plan.h"

#include <stdlib.h>
#include <string.h>

// The wanted outputs (all when none are named) and everything they need.
static enum pfld_status mark_wanted(struct pfld_compiled *compiled, const struct pfld_program_options *options,
                                    struct pfld_error *error)
{
	const struct pfld_net *net = compiled->net;
	int32_t wanted = options->num_outputs ? options->num_outputs : net->num_outputs;
	if (wanted < 1 || wanted > PFLD_NET_MAX_OUTPUTS)
		return pfld_fail(error, PFLD_ERR_ARGUMENT, "the net names no output, or more than %d are wanted",
		                 PFLD_NET_MAX_OUTPUTS);
	for (int32_t i = 0; i < wanted; i++) {
		int32_t index = options->num_outputs ? pfld_net_find_output(net, options->outputs[i]) : i;
		if (index < 0)
			return pfld_fail(error, PFLD_ERR_ARGUMENT, "the net has no output named %s", options->outputs[i]);
		compiled->outputs[compiled->num_outputs++].name = net->outputs[index].name;
		compiled->emit.live[pfld_net_value(net, net->outputs[index].value)->layer] = true;
	}
	pfld_net_mark_live(net, compiled->emit.live);
	return PFLD_OK;
}

static int32_t output_value(const struct pfld_compiled *compiled, int32_t output)
{
	const struct pfld_net *net = compiled->net;
	return net->outputs[pfld_net_find_output(net, compiled->outputs[output].name)].value;
}

// Parameters of live layers and, in training, the gradients of those that train.
static void add_params(struct pfld_compiled *compiled)
{
	struct pfld_emit *emit = &compiled->emit;
	for (size_t i = 0; i < compiled->net->num_params; i++) {
		const struct pfld_parameter *param = &compiled->net->params[i];
		emit->params[i] = pfld_emit_tensor(emit, param->layer, "parameter", PFLD_MEMORY_PARAMETERS, false, 1, 1,
		                                   (int32_t)param->info.elements);
		if (!pfld_operand_present(&emit->params[i])) return;
		emit->tensors[emit->params[i].tensor].persistent = true;
		emit->tensors[emit->params[i].tensor].param = (int32_t)i;
		if (compiled->mode != PFLD_TRAIN || !param->info.trainable || param->info.is_statistic || !emit->live[param->layer])
			continue;
		emit->param_gradients[i] = pfld_emit_tensor(emit, param->layer, "parameter gradient", PFLD_MEMORY_GRADIENTS,
		                                            false, 1, 1, (int32_t)param->info.elements);
		if (!pfld_operand_present(&emit->param_gradients[i])) return;
		emit->tensors[emit->param_gradients[i].tensor].persistent = true;
		emit->tensors[emit->param_gradients[i].tensor].param = (int32_t)i;
	}
}

static enum pfld_status emit_forward(struct pfld_compiled *compiled, struct pfld_error *error)
{
	struct pfld_emit *emit = &compiled->emit;
	const struct pfld_net *net = compiled->net;
	for (size_t i = 0; i < net->num_layers; i++) {
		const struct pfld_layer *layer = &net->layers[i];
		if (!emit->live[i]) continue;
		pfld_emit_forward(emit, layer);
		if (layer->kind == &pfld_layer_batch_norm && emit->training)
			compiled->uses_batch_statistics |= net->params[layer->params[2]].info.trainable;
		if (layer->kind != &pfld_layer_input) continue;
		if (compiled->num_inputs == PFLD_NET_MAX_OUTPUTS)
			return pfld_fail(error, PFLD_ERR_ARGUMENT, "the net has more than %d inputs", PFLD_NET_MAX_OUTPUTS);
		compiled->inputs[compiled->num_inputs++] =
		    (struct pfld_named_tensor){layer->name, emit->values[layer->output - 1]};
	}
	for (int32_t i = 0; i < compiled->num_outputs; i++) {
		int32_t value = output_value(compiled, i) - 1;
		const struct pfld_layer *layer = &net->layers[net->values[value].layer];
		compiled->outputs[i].operand = pfld_emit_plain(emit, layer, &emit->values[value]);
	}
	compiled->num_forward = (int32_t)emit->num_ops;
	return PFLD_OK;
}

// A gradient tensor for every output that depends on something trainable; the loss or the caller fills it.
static void add_output_gradients(struct pfld_compiled *compiled)
{
	struct pfld_emit *emit = &compiled->emit;
	for (int32_t i = 0; i < compiled->num_outputs; i++) {
		int32_t value = output_value(compiled, i) - 1;
		const struct pfld_value_info *info = &compiled->net->values[value];
		struct pfld_operand gradient = pfld_emit_tensor(emit, info->layer, "output gradient", PFLD_MEMORY_ACTIVATIONS,
		                                                true, info->h, info->w, info->c);
		if (emit->needs_gradient[value]) emit->gradients[value] = gradient;
		compiled->output_gradients[i] = (struct pfld_named_tensor){compiled->outputs[i].name, gradient};
	}
}

// What lives where, how large it is, and from which op to which it lives.
static enum pfld_status measure(struct pfld_compiled *compiled, struct pfld_error *error)
{
	struct pfld_emit *emit = &compiled->emit;
	compiled->homes = pfld_calloc(emit->num_tensors + emit->num_ops + 1, sizeof *compiled->homes);
	if (!compiled->homes) return pfld_fail_memory(error, emit->num_tensors, "compiling the net");
	for (size_t i = 0; i < emit->num_ops; i++) {
		size_t bytes = compiled->device->backend->workspace_bytes(compiled->device->state, &emit->ops[i], compiled->batch);
		if (!bytes) continue;
		struct pfld_operand workspace =
		    pfld_emit_tensor(emit, emit->ops[i].layer, "workspace", PFLD_MEMORY_WORKSPACE, false, 1, 1, 1);
		if (!pfld_operand_present(&workspace)) break;
		emit->tensors[workspace.tensor].bytes = bytes;
		emit->ops[i].workspace = workspace;
	}
	for (size_t i = 0; i < emit->num_tensors; i++) {
		struct pfld_emit_tensor *tensor = &emit->tensors[i];
		size_t elements = tensor->elements;
		if ((tensor->per_sample && !pfld_mul_size(elements, (size_t)compiled->batch, &elements)) ||
		    (!tensor->bytes && !pfld_mul_size(elements, sizeof(pfld_real), &tensor->bytes)))
			return pfld_fail(error, PFLD_ERR_MEMORY, "a batch of %d is too large to address", compiled->batch);
		tensor->first_op = INT32_MAX;
		tensor->last_op = -1;
		compiled->homes[i] = !tensor->persistent                              ? PFLD_HOME_ARENA
		                     : tensor->memory_class == PFLD_MEMORY_PARAMETERS ? PFLD_HOME_WEIGHTS
		                     : tensor->memory_class == PFLD_MEMORY_GRADIENTS  ? PFLD_HOME_GRADIENTS
		                                                                      : PFLD_HOME_BATCH;
	}
	if (emit->error.status != PFLD_OK && error) *error = emit->error;
	return emit->error.status;
}

static void extend(struct pfld_emit *emit, const struct pfld_operand *operand, int32_t op)
{
	if (!pfld_operand_present(operand)) return;
	struct pfld_emit_tensor *tensor = &emit->tensors[operand->tensor];
	tensor->first_op = PFLD_MIN(tensor->first_op, op);
	tensor->last_op = PFLD_MAX(tensor->last_op, op);
	if (!operand->pending) return;
	struct pfld_pending pending = *operand->pending;
	for (int32_t i = 0; i < PFLD_PENDING_PARTS; i++) extend(emit, pfld_pending_part(&pending, i), op);
}

static void find_lifetimes(struct pfld_compiled *compiled)
{
	struct pfld_emit *emit = &compiled->emit;
	for (int32_t i = 0; i < (int32_t)emit->num_ops; i++) {
		const struct pfld_op *op = &emit->ops[i];
		for (int32_t j = 0; j < PFLD_OP_MAX_SRC; j++) extend(emit, &op->src[j], i);
		for (int32_t j = 0; j < PFLD_OP_MAX_DST; j++) extend(emit, &op->dst[j], i);
		extend(emit, &op->workspace, i);
	}
	// Outputs may be read when all is done; their gradients are written by the caller between forward and backward.
	for (int32_t i = 0; i < compiled->num_outputs; i++) {
		extend(emit, &compiled->outputs[i].operand, (int32_t)emit->num_ops - 1);
		if (compiled->mode == PFLD_TRAIN) extend(emit, &compiled->output_gradients[i].operand, compiled->num_forward - 1);
	}
}

size_t pfld_arena_piece_bytes(const struct pfld_device *device)
{
	const struct pfld_device_limits *limits = &device->limits;
	uint64_t bytes = limits->max_region_bytes ? limits->max_region_bytes : SIZE_MAX;
	bytes = PFLD_MIN(bytes, SIZE_MAX / 2) / limits->alignment_bytes * limits->alignment_bytes;
	return (size_t)PFLD_MAX(bytes, limits->alignment_bytes);
}

static enum pfld_status check_pieces(const struct pfld_compiled *compiled, struct pfld_error *error)
{
	size_t piece = pfld_arena_piece_bytes(compiled->device);
	for (size_t i = 0; i < compiled->emit.num_tensors; i++) {
		const struct pfld_emit_tensor *tensor = &compiled->emit.tensors[i];
		if (compiled->homes[i] != PFLD_HOME_ARENA || tensor->last_op < 0 || tensor->bytes <= piece) continue;
		const char *layer = tensor->layer >= 0 ? compiled->net->layers[tensor->layer].name : "the net";
		return pfld_fail(error, PFLD_ERR_MEMORY,
		                 "out of memory: %s of %s needs %zu bytes in one piece with a batch of %d; the largest piece device %s "
		                 "gives is %zu bytes",
		                 tensor->role, layer, tensor->bytes, (int)compiled->batch, compiled->device->info.name, piece);
	}
	return PFLD_OK;
}

// Persistent homes are packed in order; the arena by lifetimes.
static enum pfld_status place(struct pfld_compiled *compiled, struct pfld_error *error)
{
	struct pfld_emit *emit = &compiled->emit;
	size_t alignment = compiled->device->limits.alignment_bytes;
	size_t *offsets = pfld_calloc(compiled->net->num_params + 1, sizeof *offsets);
	if (!offsets) return pfld_fail_memory(error, compiled->net->num_params * sizeof *offsets, "compiling the net");
	compiled->home_bytes[PFLD_HOME_WEIGHTS] = pfld_weights_layout(compiled->net, alignment, offsets);
	for (size_t i = 0; i < emit->num_tensors; i++) {
		struct pfld_emit_tensor *tensor = &emit->tensors[i];
		enum pfld_home home = compiled->homes[i];
		if (home == PFLD_HOME_WEIGHTS) {
			tensor->offset_bytes = offsets[tensor->param];
		} else if (home != PFLD_HOME_ARENA) {
			tensor->offset_bytes = compiled->home_bytes[home];
			compiled->home_bytes[home] += pfld_align(tensor->bytes, alignment);
		}
	}
	free(offsets);
	enum pfld_status status = check_pieces(compiled, error);
	if (status != PFLD_OK) return status;
	return pfld_plan_layout(emit->tensors, emit->num_tensors, alignment, pfld_arena_piece_bytes(compiled->device),
	                        &compiled->home_bytes[PFLD_HOME_ARENA], error);
}

static enum pfld_status emit_all(struct pfld_compiled *compiled, const struct pfld_program_options *options,
                                 const bool *again, struct pfld_error *error)
{
	struct pfld_emit *emit = &compiled->emit;
	emit->training = options->mode == PFLD_TRAIN;
	enum pfld_status status = mark_wanted(compiled, options, error);
	if (status != PFLD_OK) return status;
	emit->unfused = options->unfused;
	if (!options->unfused) pfld_fuse(emit);
	add_params(compiled);
	status = emit_forward(compiled, error);
	if (status == PFLD_OK) status = pfld_blocks_find(&compiled->blocks, emit, error);
	if (status != PFLD_OK) return status;
	for (int32_t i = 0; again && i < compiled->blocks.num; i++) compiled->blocks.blocks[i].again = again[i];
	if (emit->training) {
		pfld_mark_gradients(emit);
		add_output_gradients(compiled);
		if (options->loss && emit->error.status == PFLD_OK) status = pfld_emit_loss(compiled, options->loss, error);
		if (status != PFLD_OK) return status;
	}
	compiled->num_loss = (int32_t)emit->num_ops;
	if (emit->training) pfld_emit_backward(emit, &compiled->blocks);
	if (emit->error.status != PFLD_OK && error) *error = emit->error;
	return emit->error.status;
}

enum pfld_status pfld_compile_once(struct pfld_compiled *compiled, struct pfld_device *device, const struct pfld_net *net,
                                   const struct pfld_program_options *options, const bool *again,
                                   struct pfld_error *error)
{
	*compiled = (struct pfld_compiled){
	    .net = net,
	    .device = device,
	    .sums = {.tensor = PFLD_NO_TENSOR},
	    .mode = options->mode,
	    .batch = options->batch,
	    .fits = true,
	    .time_ratio = 1,
	};
	enum pfld_status status = pfld_emit_init(&compiled->emit, net, error);
	if (status == PFLD_OK) status = emit_all(compiled, options, again, error);
	if (status == PFLD_OK) status = pfld_make_readable(compiled, error);
	if (status == PFLD_OK && !options->unfused) pfld_gather(compiled);
	if (status == PFLD_OK) status = pfld_drop_dead(compiled, error);
	if (status == PFLD_OK) status = measure(compiled, error);
	if (status == PFLD_OK) find_lifetimes(compiled);
	if (status == PFLD_OK) pfld_work_in_place(&compiled->emit);
	if (status == PFLD_OK) status = place(compiled, error);
	if (status == PFLD_OK) pfld_emit_trim(&compiled->emit);
	else pfld_compiled_finish(compiled);
	return status;
}

enum pfld_status pfld_compile(struct pfld_compiled *compiled, struct pfld_device *device, const struct pfld_net *net,
                              const struct pfld_program_options *options, struct pfld_error *error)
{
	enum pfld_status status = pfld_net_check(net, error);
	if (status != PFLD_OK) return status;
	if (!options || options->batch < 1)
		return pfld_fail(error, PFLD_ERR_ARGUMENT, "the batch must be at least 1, got %d", options ? options->batch : 0);
	status = pfld_compile_once(compiled, device, net, options, NULL, error);
	if (status != PFLD_OK) return status;
	status = pfld_keep_budget(compiled, options, error);
	if (status != PFLD_OK) pfld_compiled_finish(compiled);
	return status;
}

uint64_t pfld_compiled_bytes(const struct pfld_compiled *compiled)
{
	uint64_t bytes = 0;
	for (int32_t i = 0; i < PFLD_NUM_HOMES; i++) bytes += compiled->home_bytes[i];
	return bytes;
}

void pfld_compiled_finish(struct pfld_compiled *compiled)
{
	pfld_emit_finish(&compiled->emit);
	pfld_blocks_finish(&compiled->blocks);
	free(compiled->homes);
	compiled->homes = NULL;
}
