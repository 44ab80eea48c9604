// SPDX-License-Identifier: MIT
// The sum of squares of all gradients, in parts that merge.cl adds up, and the step over all parameters. Host:
// op_optimizer.c.

// An item's vectors: so many, from item x item_step on, `step` apart. V sums side by side, then these in their order.
kernel void sum_of_squares(OUTPUT(parts), INPUT(x), const int num_elements, const int num_parts, const int num_vectors,
                           const int item_step, const int step)
{
	const int item = get_global_id(0);
	if (item >= num_parts) return;
	vec high = (vec)(0.0f), low = (vec)(0.0f);
	for (int i = 0; i < num_vectors; i++) {
		const long first = ((long)item * item_step + (long)i * step) * V;
		if (first >= num_elements) break;
		const vec x = load_vec(AT(x) + first, (int)min((long)V, num_elements - first)), square = x * x;
		ADD_TO_PAIR(high, low, square);
	}
	float sums[V], sum = 0.0f, rest = 0.0f;
	STORE_VEC(high + low, 0, sums);
	for (int j = 0; j < V; j++) ADD_TO_NUMBER_PAIR(sum, rest, sums[j]);
	AT(parts)[item] = sum + rest;
}

enum { SGD, ADAGRAD, ADADELTA, RMSPROP, ADAM, ADAMW }; // pfld_optimizer_kind
enum { BAD = 4 };                                      // PFLD_SUMS_BAD
// Of a row of tiles: elements side by side that share their factors. Integers lie there as such.
enum { TILE_FIRST, TILE_PARAMETER, TILE_COUNT, TILE_LEARNING_RATE, TILE_WEIGHT_DECAY, TILE_NUMBERS };

struct step {
	int kind, nesterov, epsilon_inside, has_state;
	float learning_rate, keep, weight_decay, gradient_scale, clip_value;
	float momentum, beta1, beta2, rho, beta1_rest, beta2_rest, rho_rest, epsilon, second_correction;
};

// The parameters after the step; the states are changed in place. Formulas and their order: <pfld/optimizer.h>, and
// backends/cpu/c/optimizer.c.
static inline vec step_vec(const struct step *step, vec p, vec g, vec *state, vec *second)
{
	const float epsilon = step->epsilon;
	g *= step->gradient_scale;
	g = g > (vec)(step->clip_value) ? (vec)(step->clip_value) : g;
	g = g < (vec)(-step->clip_value) ? (vec)(-step->clip_value) : g;
	g += step->weight_decay * p;
	p *= step->keep;
	if (step->kind == SGD) {
		if (!step->has_state) return p - step->learning_rate * g;
		*state = step->momentum * *state + g;
		return p - step->learning_rate * (step->nesterov ? g + step->momentum * *state : *state);
	}
	if (step->kind == ADAGRAD) {
		*state += g * g;
		return p - step->learning_rate * g / (sqrt(*state) + epsilon);
	}
	if (step->kind == ADADELTA) {
		*state = step->rho * *state + step->rho_rest * g * g;
		const vec delta = sqrt(*second + epsilon) / sqrt(*state + epsilon) * g;
		*second = step->rho * *second + step->rho_rest * delta * delta;
		return p - step->learning_rate * delta;
	}
	if (step->kind == RMSPROP) {
		*state = step->rho * *state + step->rho_rest * g * g;
		return p - step->learning_rate * g / (step->epsilon_inside ? sqrt(*state + epsilon) : sqrt(*state) + epsilon);
	}
	*state = step->beta1 * *state + step->beta1_rest * g;
	*second = step->beta2 * *second + step->beta2_rest * g * g;
	return p - step->learning_rate * *state / (sqrt(*second) / step->second_correction + epsilon);
}

// What gradients are multiplied by: the run's factor, and so much less that their joint norm is at most clip_norm (as
// PyTorch's clip_grad_norm_ does it).
static inline float gradient_factor(float norm2, float gradient_scale, float clip_norm)
{
	if (clip_norm == 0.0f) return gradient_scale;
	const float clip = clip_norm / (sqrt(norm2) * fabs(gradient_scale) + 1e-6f);
	return clip < 1.0f ? gradient_scale * clip : gradient_scale;
}

// A group a tile. decay_rate is the learning rate, step_rate the same with Adam's corrections. Does nothing when norm2 is
// not finite, or the sums say that the batch's loss is not.
kernel void optimizer_step(const float decay_rate, const float step_rate, const float second_correction,
                           const float gradient_scale, OUTPUT(p), OUTPUT(state), OUTPUT(second), INPUT(g), INPUT(norm2),
                           INPUT(loss_sums), INPUT(tiles), const int kind, const int nesterov, const int epsilon_inside,
                           const int decoupled_decay, const float clip_norm, const float clip_value, const float momentum,
                           const float beta1, const float beta2, const float rho, const float beta1_rest,
                           const float beta2_rest, const float rho_rest, const float epsilon)
{
	const float norm2 = *AT(norm2);
	if (!(fabs(norm2) < INFINITY) || (PRESENT(loss_sums) && AT(loss_sums)[BAD] != 0.0f)) return;
	global const float *tile = AT(tiles) + (ulong)get_group_id(0) * tiles_stride;
	const int first = as_int(tile[TILE_FIRST]), count = as_int(tile[TILE_COUNT]);
	const float weight_decay = tile[TILE_WEIGHT_DECAY], rate = tile[TILE_LEARNING_RATE];
	const struct step step = {
		kind, nesterov, epsilon_inside, PRESENT(state), step_rate * rate,
		decoupled_decay ? 1.0f - decay_rate * rate * weight_decay : 1.0f, decoupled_decay ? 0.0f : weight_decay,
		gradient_factor(norm2, gradient_scale, clip_norm), clip_value, momentum, beta1, beta2, rho, beta1_rest, beta2_rest,
		rho_rest, epsilon, second_correction,
	};
	global float *p = AT(p) + as_int(tile[TILE_PARAMETER]);
	for (int i = get_local_id(0) * V; i < count; i += get_local_size(0) * V) {
		const int num = min(count - i, V);
		vec state = (vec)(0.0f), second = (vec)(0.0f);
		if (PRESENT(state)) state = load_vec(AT(state) + first + i, num);
		if (PRESENT(second)) second = load_vec(AT(second) + first + i, num);
		store_vec(step_vec(&step, load_vec(p + i, num), load_vec(AT(g) + first + i, num), &state, &second), p + i, num);
		if (PRESENT(state)) store_vec(state, AT(state) + first + i, num);
		if (PRESENT(second)) store_vec(second, AT(second) + first + i, num);
	}
}
