// SPDX-License-Identifier: MIT
// concat along channels: each input is copied to its channels of the output, and back.
#include "net/emit.h"

static struct pfld_operand channels_of(struct pfld_operand whole, int32_t first, int32_t num)
{
	if (!pfld_operand_present(&whole)) return whole;
	whole.channel += first;
	whole.c = num;
	return whole;
}

// The channels of input i inside the output's pixels; where that is pending, of all that it is computed from.
static struct pfld_operand part(struct pfld_emit *emit, const struct pfld_layer *layer, int32_t input,
                                struct pfld_operand whole)
{
	int32_t first = 0, num = pfld_net_value(emit->net, layer->inputs[input])->c;
	for (int32_t i = 0; i < input; i++) first += pfld_net_value(emit->net, layer->inputs[i])->c;
	struct pfld_operand some = channels_of(whole, first, num);
	if (!whole.pending) return some;
	struct pfld_pending pending = *whole.pending;
	for (int32_t i = 0; i < PFLD_PENDING_PARTS; i++) {
		struct pfld_operand *numbers = pfld_pending_part(&pending, i);
		*numbers = channels_of(*numbers, first, num);
	}
	return pfld_emit_pending(emit, &some, &pending);
}

static void forward(struct pfld_emit *emit, const struct pfld_layer *layer)
{
	struct pfld_operand y = pfld_emit_output(emit, layer);
	for (int32_t i = 0; i < layer->num_inputs; i++) {
		struct pfld_operand dst = part(emit, layer, i, y), src = pfld_emit_input(emit, layer, i);
		pfld_emit_copy(emit, layer, &dst, &src, 1, false);
	}
}

static void backward(struct pfld_emit *emit, const struct pfld_layer *layer)
{
	for (int32_t i = 0; i < layer->num_inputs; i++) {
		bool accumulate;
		struct pfld_operand dx = pfld_emit_input_gradient(emit, layer, i, &accumulate);
		if (!pfld_operand_present(&dx)) continue;
		struct pfld_operand dy = part(emit, layer, i, pfld_emit_output_gradient(emit, layer));
		pfld_emit_copy(emit, layer, &dx, &dy, 1, accumulate);
	}
}

const struct pfld_layer_kind pfld_layer_concat = {.name = "concat", .forward = forward, .backward = backward};

pfld_value pfld_concat(struct pfld_net *net, const pfld_value *x, int32_t num, const char *name)
{
	struct pfld_layer *layer = pfld_net_add_layer(net, &pfld_layer_concat, name, x, num);
	if (!layer) return (pfld_value){0};
	if (num < 1) return pfld_net_fail(net, layer, PFLD_ERR_ARGUMENT, "at least one value is needed");
	struct pfld_value_info first = *pfld_net_value(net, x[0].id);
	int64_t channels = 0;
	for (int32_t i = 0; i < num; i++) {
		const struct pfld_value_info *in = pfld_net_value(net, x[i].id);
		if (in->h != first.h || in->w != first.w)
			return pfld_net_fail(net, layer, PFLD_ERR_SHAPE, "value %d is (%d, %d, %d), value 0 is (%d, %d, %d)", i, in->h,
			                     in->w, in->c, first.h, first.w, first.c);
		channels += in->c;
	}
	if (channels > INT32_MAX) return pfld_net_fail(net, layer, PFLD_ERR_SHAPE, "too many channels");
	return pfld_net_finish_layer(net, layer, first.h, first.w, (int32_t)channels);
}
