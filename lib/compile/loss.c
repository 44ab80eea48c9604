// SPDX-License-Identifier: MIT
// Losses on the compiler's side: names, defaults, and the op that turns outputs and targets into a loss per sample and the
// gradients of the outputs.
#include "compile/compile.h"

#include <math.h>
#include <string.h>

static const struct {
	const char *name;
	bool uses_angles, uses_mask;
} kinds[] = {
    [PFLD_LOSS_NONE] = {"none", false, false},
    [PFLD_LOSS_WING] = {"wing", false, true},
    [PFLD_LOSS_PFLD] = {"pfld", true, true},
    [PFLD_LOSS_PFLD_COMPAT] = {"pfld_compat", true, true},
    [PFLD_LOSS_L1] = {"l1", false, true},
    [PFLD_LOSS_L2] = {"l2", false, true},
    [PFLD_LOSS_SMOOTH_L1] = {"smooth_l1", false, true},
    [PFLD_LOSS_SOFTMAX_CROSS_ENTROPY] = {"softmax_cross_entropy", false, false},
    [PFLD_LOSS_SIGMOID_CROSS_ENTROPY] = {"sigmoid_cross_entropy", false, true},
};

const char *pfld_loss_name(enum pfld_loss_kind kind)
{
	return kinds[kind].name;
}

bool pfld_loss_from_name(const char *name, enum pfld_loss_kind *kind)
{
	for (size_t i = 1; name && i < PFLD_COUNT(kinds); i++)
		if (!strcmp(name, kinds[i].name)) {
			*kind = (enum pfld_loss_kind)i;
			return true;
		}
	return false;
}

bool pfld_loss_uses_angles(enum pfld_loss_kind kind)
{
	return kinds[kind].uses_angles;
}

static enum pfld_status fill_attr(struct pfld_loss_attr *attr, const struct pfld_loss_options *o, struct pfld_error *error)
{
	if (!(o->wing_w >= 0 && o->wing_epsilon >= 0 && o->point_scale >= 0 && o->beta >= 0))
		return pfld_fail(error, PFLD_ERR_ARGUMENT, "loss: w, epsilon, point_scale and beta must not be negative");
	if (!(o->label_smoothing >= 0 && o->label_smoothing <= 1))
		return pfld_fail(error, PFLD_ERR_ARGUMENT, "loss: label_smoothing must lie in 0..1");
	*attr = (struct pfld_loss_attr){
	    .kind = (int32_t)o->kind,
	    .wing_w = o->wing_w > 0 ? o->wing_w : 10,
	    .wing_epsilon = o->wing_epsilon > 0 ? o->wing_epsilon : 2,
	    .point_scale = o->point_scale > 0 ? o->point_scale : 1,
	    .beta = o->beta > 0 ? o->beta : 1,
	    .label_smoothing = o->label_smoothing,
	    .mean_over_targets = o->mean_over_targets,
	};
	attr->wing_c = attr->wing_w - attr->wing_w * log(1 + attr->wing_w / attr->wing_epsilon);
	return PFLD_OK;
}

// A target that the caller fills: another input of the program.
static struct pfld_operand add_target(struct pfld_compiled *compiled, const char *name, int32_t c)
{
	struct pfld_emit *emit = &compiled->emit;
	struct pfld_operand operand = pfld_emit_tensor(emit, -1, name, PFLD_MEMORY_BATCH, true, 1, 1, c);
	if (pfld_operand_present(&operand)) emit->tensors[operand.tensor].persistent = true;
	compiled->inputs[compiled->num_inputs++] = (struct pfld_named_tensor){name, operand};
	return operand;
}

static const struct pfld_named_tensor *find(const struct pfld_named_tensor *list, int32_t num, const char *name)
{
	for (int32_t i = 0; i < num; i++)
		if (!strcmp(list[i].name, name)) return &list[i];
	return NULL;
}

enum pfld_status pfld_emit_loss(struct pfld_compiled *compiled, const struct pfld_loss_options *options,
                                struct pfld_error *error)
{
	struct pfld_emit *emit = &compiled->emit;
	if (options->kind <= PFLD_LOSS_NONE || (size_t)options->kind >= PFLD_COUNT(kinds))
		return pfld_fail(error, PFLD_ERR_ARGUMENT, "loss: unknown kind %d", (int)options->kind);
	struct pfld_loss_attr attr;
	enum pfld_status status = fill_attr(&attr, options, error);
	if (status != PFLD_OK) return status;
	const struct pfld_named_tensor *angles = NULL, *dangles = NULL;
	if (kinds[options->kind].uses_angles) {
		angles = find(compiled->outputs, compiled->num_outputs, "angles");
		dangles = find(compiled->output_gradients, compiled->num_outputs, "angles");
		if (!angles || pfld_operand_elements(&angles->operand) != 3)
			return pfld_fail(error, PFLD_ERR_ARGUMENT, "loss %s needs an output named angles with 3 numbers",
			                 kinds[options->kind].name);
	}
	struct pfld_operand prediction = pfld_operand_row(compiled->outputs[0].operand);
	struct pfld_operand targets = add_target(compiled, "targets", prediction.c);
	struct pfld_operand mask = {.tensor = PFLD_NO_TENSOR}, attributes = mask, truth = mask;
	if (kinds[options->kind].uses_mask) mask = add_target(compiled, "target_mask", prediction.c);
	struct pfld_operand weights = add_target(compiled, "sample_weights", 1);
	if (angles) {
		attributes = add_target(compiled, "attributes", 6);
		truth = add_target(compiled, "angles_truth", 3);
	}
	struct pfld_operand loss = pfld_emit_tensor(emit, -1, "loss", PFLD_MEMORY_ACTIVATIONS, true, 1, 1, 1);
	compiled->sums = pfld_emit_tensor(emit, -1, "loss sums", PFLD_MEMORY_BATCH, false, 1, 1, PFLD_SUMS_COUNT);
	if (pfld_operand_present(&compiled->sums)) emit->tensors[compiled->sums.tensor].persistent = true;
	struct pfld_op *op = pfld_emit_op(emit, PFLD_OP_LOSS, NULL);
	op->src[0] = prediction;
	op->src[1] = targets;
	op->src[2] = mask;
	op->src[3] = weights;
	op->src[4] = attributes;
	if (angles) op->src[5] = pfld_operand_row(angles->operand);
	op->src[6] = truth;
	op->dst[0] = loss;
	op->dst[1] = pfld_operand_row(compiled->output_gradients[0].operand);
	if (dangles) op->dst[2] = pfld_operand_row(dangles->operand);
	op->attr.loss = attr;
	op = pfld_emit_op(emit, PFLD_OP_LOSS_SUMS, NULL);
	op->src[0] = loss;
	op->dst[0] = compiled->sums;
	return PFLD_OK;
}
