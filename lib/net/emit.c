// SPDX-License-Identifier: MIT
// Building the op list: tensors, ops, and the book-keeping of gradients (who writes first, who adds, who shares).
#include "net/emit.h"

#include <stdlib.h>
#include <string.h>

static void keep_memory_error(struct pfld_emit *emit)
{
	if (emit->error.status == PFLD_OK) pfld_fail_memory(&emit->error, emit->num_ops * sizeof *emit->ops, "the op list");
}

static const struct pfld_operand absent = {.tensor = PFLD_NO_TENSOR};

static struct pfld_operand *absent_operands(size_t num)
{
	struct pfld_operand *operands = pfld_calloc(num + 1, sizeof *operands);
	for (size_t i = 0; operands && i < num; i++) operands[i] = absent;
	return operands;
}

enum pfld_status pfld_emit_init(struct pfld_emit *emit, const struct pfld_net *net, struct pfld_error *error)
{
	*emit = (struct pfld_emit){.net = net};
	emit->values = absent_operands(net->num_values);
	emit->gradients = absent_operands(net->num_values);
	emit->params = absent_operands(net->num_params);
	emit->param_gradients = absent_operands(net->num_params);
	emit->saved = pfld_calloc(net->num_layers + 1, sizeof *emit->saved);
	emit->needs_gradient = pfld_calloc(net->num_values + 1, sizeof *emit->needs_gradient);
	emit->gradient_done = pfld_calloc(net->num_values + 1, sizeof *emit->gradient_done);
	emit->live = pfld_calloc(net->num_layers + 1, sizeof *emit->live);
	emit->is_fused = pfld_calloc(net->num_layers + 1, sizeof *emit->is_fused);
	emit->fused_layer = pfld_calloc(net->num_layers + 1, sizeof *emit->fused_layer);
	emit->folded_norm = pfld_calloc(net->num_layers + 1, sizeof *emit->folded_norm);
	if (!emit->values || !emit->gradients || !emit->params || !emit->param_gradients || !emit->saved ||
	    !emit->needs_gradient || !emit->gradient_done || !emit->live || !emit->is_fused || !emit->fused_layer ||
	    !emit->folded_norm) {
		pfld_emit_finish(emit);
		return pfld_fail_memory(error, net->num_values * sizeof *emit->values, "compiling the net");
	}
	for (size_t i = 0; i < net->num_layers; i++) emit->fused_layer[i] = emit->folded_norm[i] = -1;
	return PFLD_OK;
}

void pfld_emit_trim(struct pfld_emit *emit)
{
	pfld_trim(&emit->ops, &emit->ops_capacity, emit->num_ops, sizeof *emit->ops);
	pfld_trim(&emit->tensors, &emit->tensors_capacity, emit->num_tensors, sizeof *emit->tensors);
	pfld_trim(&emit->pendings, &emit->pendings_capacity, emit->num_pendings, sizeof *emit->pendings);
}

void pfld_emit_finish(struct pfld_emit *emit)
{
	free(emit->ops);
	free(emit->tensors);
	free(emit->values);
	free(emit->gradients);
	free(emit->params);
	free(emit->param_gradients);
	free(emit->saved);
	free(emit->needs_gradient);
	free(emit->gradient_done);
	free(emit->live);
	free(emit->is_fused);
	free(emit->fused_layer);
	free(emit->folded_norm);
	for (size_t i = 0; i < emit->num_pendings; i++) free(emit->pendings[i]);
	free(emit->pendings);
	*emit = (struct pfld_emit){0};
}

struct pfld_operand pfld_emit_tensor(struct pfld_emit *emit, int32_t layer, const char *role,
                                     enum pfld_memory_class memory_class, bool per_sample, int32_t h, int32_t w, int32_t c)
{
	if (!pfld_grow(&emit->tensors, &emit->tensors_capacity, emit->num_tensors + 1, sizeof *emit->tensors)) {
		keep_memory_error(emit);
		return absent;
	}
	emit->tensors[emit->num_tensors] = (struct pfld_emit_tensor){
	    .role = role,
	    .layer = layer,
	    .param = -1,
	    .continues = -1,
	    .memory_class = memory_class,
	    .per_sample = per_sample,
	    .elements = (size_t)h * (size_t)w * (size_t)c,
	};
	return (struct pfld_operand){.tensor = (int32_t)emit->num_tensors++,
	                             .h = h,
	                             .w = w,
	                             .c = c,
	                             .pixel_stride = c,
	                             .per_sample = per_sample};
}

struct pfld_op *pfld_emit_op(struct pfld_emit *emit, enum pfld_op_kind kind, const struct pfld_layer *layer)
{
	struct pfld_op *op = &emit->spare_op;
	if (emit->error.status == PFLD_OK && pfld_grow(&emit->ops, &emit->ops_capacity, emit->num_ops + 1, sizeof *emit->ops))
		op = &emit->ops[emit->num_ops++];
	else keep_memory_error(emit);
	*op = (struct pfld_op){
	    .kind = kind, .layer = layer ? layer->index : -1, .again = emit->again, .workspace = absent};
	for (int32_t i = 0; i < PFLD_OP_MAX_SRC; i++) op->src[i] = absent;
	for (int32_t i = 0; i < PFLD_OP_MAX_DST; i++) op->dst[i] = absent;
	return op;
}

void pfld_emit_forward(struct pfld_emit *emit, const struct pfld_layer *layer)
{
	if (!emit->is_fused[layer->index]) {
		layer->kind->forward(emit, layer);
		return;
	}
	struct pfld_operand x = pfld_emit_input(emit, layer, 0);
	pfld_emit_alias(emit, layer, &x);
}

struct pfld_operand pfld_emit_pending(struct pfld_emit *emit, const struct pfld_operand *operand,
                                      const struct pfld_pending *pending)
{
	struct pfld_operand result = *operand;
	struct pfld_pending *kept = pfld_calloc(1, sizeof *kept);
	if (!kept || !pfld_grow(&emit->pendings, &emit->pendings_capacity, emit->num_pendings + 1, sizeof *emit->pendings)) {
		free(kept);
		keep_memory_error(emit);
		return result;
	}
	*kept = *pending;
	emit->pendings[emit->num_pendings++] = kept;
	result.pending = kept;
	return result;
}

void pfld_emit_materialise(struct pfld_emit *emit, const struct pfld_layer *layer, const struct pfld_operand *operand,
                           const struct pfld_operand *dst, bool accumulate)
{
	const struct pfld_pending *pending = operand->pending;
	if (!pending) return; // memory ran out
	bool is_value = pending->kind == PFLD_PENDING_VALUE;
	struct pfld_op *op = pfld_emit_op(emit, is_value ? PFLD_OP_APPLY : PFLD_OP_BN_GRADIENT, layer);
	op->src[0] = *operand;
	op->src[0].pending = NULL;
	op->attr.act = (struct pfld_act_attr){.act = pending->act, .slope = pending->slope};
	op->dst[0] = *dst;
	op->accumulate[0] = accumulate;
	if (is_value) {
		op->src[1] = pending->scale;
		op->src[2] = pending->shift;
		return;
	}
	op->src[1] = pending->x;
	op->src[2] = pending->scale;
	op->src[3] = pending->shift;
	op->src[4] = pending->mean;
	op->src[5] = pending->mean_dz;
	op->src[6] = pending->slope_x;
}

struct pfld_operand pfld_emit_plain(struct pfld_emit *emit, const struct pfld_layer *layer,
                                    const struct pfld_operand *operand)
{
	if (!pfld_operand_present(operand) || !operand->pending) return *operand;
	struct pfld_operand plain = pfld_emit_tensor(emit, layer ? layer->index : -1, "materialised",
	                                             PFLD_MEMORY_ACTIVATIONS, true, operand->h, operand->w, operand->c);
	pfld_emit_materialise(emit, layer, operand, &plain, false);
	return plain;
}

struct pfld_operand pfld_emit_input(const struct pfld_emit *emit, const struct pfld_layer *layer, int32_t input)
{
	return emit->values[layer->inputs[input] - 1];
}

struct pfld_operand pfld_emit_input_row(struct pfld_emit *emit, const struct pfld_layer *layer, int32_t input)
{
	struct pfld_operand x = pfld_emit_input(emit, layer, input);
	if (x.h != 1 || x.w != 1) x = pfld_emit_plain(emit, layer, &x);
	return x.pending ? x : pfld_operand_row(x);
}

struct pfld_operand pfld_emit_output(struct pfld_emit *emit, const struct pfld_layer *layer)
{
	const struct pfld_value_info *info = pfld_net_value(emit->net, layer->output);
	struct pfld_operand output =
	    pfld_emit_tensor(emit, layer->index, "output", PFLD_MEMORY_ACTIVATIONS, true, info->h, info->w, info->c);
	emit->values[layer->output - 1] = output;
	return output;
}

// The same memory in the shape of a value. Only whole tensors may change shape.
static struct pfld_operand reshaped(const struct pfld_operand *operand, const struct pfld_value_info *info)
{
	struct pfld_operand result = *operand;
	if (result.h == info->h && result.w == info->w && result.c == info->c) return result;
	result.h = info->h;
	result.w = info->w;
	result.c = result.pixel_stride = info->c;
	return result;
}

void pfld_emit_alias(struct pfld_emit *emit, const struct pfld_layer *layer, const struct pfld_operand *operand)
{
	emit->values[layer->output - 1] = reshaped(operand, pfld_net_value(emit->net, layer->output));
}

struct pfld_operand pfld_emit_param(const struct pfld_emit *emit, const struct pfld_layer *layer, int32_t role)
{
	return layer->params[role] < 0 ? absent : emit->params[layer->params[role]];
}

bool pfld_emit_param_trains(const struct pfld_emit *emit, const struct pfld_layer *layer, int32_t role)
{
	return layer->params[role] >= 0 && emit->net->params[layer->params[role]].info.trainable;
}

struct pfld_operand pfld_emit_param_gradient(struct pfld_emit *emit, const struct pfld_layer *layer, int32_t role)
{
	return layer->params[role] < 0 ? absent : emit->param_gradients[layer->params[role]];
}

struct pfld_operand pfld_emit_output_gradient(const struct pfld_emit *emit, const struct pfld_layer *layer)
{
	return emit->gradients[layer->output - 1];
}

bool pfld_emit_input_needs_gradient(const struct pfld_emit *emit, const struct pfld_layer *layer, int32_t input)
{
	return emit->needs_gradient[layer->inputs[input] - 1];
}

// A gradient may be the memory of others' gradients, too. It may be added to in place only when those have been used up.
static bool is_shared(const struct pfld_emit *emit, int32_t value)
{
	for (size_t i = 0; i < emit->net->num_values; i++)
		if ((int32_t)i != value && emit->gradients[i].tensor == emit->gradients[value].tensor && !emit->gradient_done[i])
			return true;
	return false;
}

static struct pfld_operand new_gradient(struct pfld_emit *emit, int32_t value)
{
	const struct pfld_value_info *info = &emit->net->values[value];
	return pfld_emit_tensor(emit, info->layer, "gradient", PFLD_MEMORY_ACTIVATIONS, true, info->h, info->w, info->c);
}

void pfld_emit_copy(struct pfld_emit *emit, const struct pfld_layer *layer, const struct pfld_operand *dst,
                    const struct pfld_operand *src, double scale, bool accumulate)
{
	struct pfld_op *op = pfld_emit_op(emit, PFLD_OP_ADD, layer);
	op->src[0] = *src;
	op->dst[0] = *dst;
	op->accumulate[0] = accumulate;
	op->attr.add.num_src = 1;
	op->attr.add.scale[0] = scale;
}

struct pfld_operand pfld_emit_input_gradient(struct pfld_emit *emit, const struct pfld_layer *layer, int32_t input,
                                             bool *accumulate)
{
	int32_t value = layer->inputs[input] - 1;
	*accumulate = false;
	if (!emit->needs_gradient[value]) return absent;
	struct pfld_operand *gradient = &emit->gradients[value];
	if (!pfld_operand_present(gradient)) {
		*gradient = new_gradient(emit, value);
		return *gradient;
	}
	*accumulate = true;
	if (gradient->pending || is_shared(emit, value)) {
		struct pfld_operand own = new_gradient(emit, value);
		pfld_emit_copy(emit, layer, &own, gradient, 1, false);
		emit->gradients[value] = own;
	}
	return emit->gradients[value];
}

void pfld_emit_share_gradient(struct pfld_emit *emit, const struct pfld_layer *layer, int32_t input,
                              const struct pfld_operand *gradient)
{
	int32_t value = layer->inputs[input] - 1;
	if (!emit->needs_gradient[value]) return;
	const struct pfld_value_info *info = &emit->net->values[value];
	bool same_shape = gradient->h == info->h && gradient->w == info->w && gradient->c == info->c;
	struct pfld_operand contribution = same_shape ? *gradient : pfld_emit_plain(emit, layer, gradient);
	contribution = reshaped(&contribution, info);
	if (!pfld_operand_present(&emit->gradients[value])) {
		emit->gradients[value] = contribution;
		return;
	}
	bool accumulate;
	struct pfld_operand target = pfld_emit_input_gradient(emit, layer, input, &accumulate);
	pfld_emit_copy(emit, layer, &target, &contribution, 1, accumulate);
}

struct pfld_act_attr pfld_emit_fused_act(const struct pfld_emit *emit, const struct pfld_layer *layer)
{
	int32_t fused = emit->fused_layer[layer->index];
	return fused < 0 ? (struct pfld_act_attr){.act = PFLD_ACT_NONE} : emit->net->layers[fused].attr.act;
}
