// SPDX-License-Identifier: MIT
// Optimizer steps over runs of parameters, and the norm of gradients, in plain C: the reference of every other level,
// and in double precision the oracle of the tests. Formulas and their order are PyTorch's. The contract of each
// function is in kernels_rows.h.
#include "cpu/kernels_rows.h"
#include "cpu/math.h"
#include <pfld/optimizer.h>

double pfld_cpu_sum_of_squares_c(const pfld_real *x, int64_t count)
{
	enum { LANES = 8 };
	double sums[LANES] = {0}, total = 0;
	int64_t i = 0;
	for (; i + LANES <= count; i += LANES) {
		for (int lane = 0; lane < LANES; lane++) sums[lane] += (double)x[i + lane] * (double)x[i + lane];
	}
	for (int lane = 0; lane < LANES; lane++) total += sums[lane];
	for (; i < count; i++) total += (double)x[i] * (double)x[i];
	return total;
}

// The gradient of element i as the formulas take it: scaled, cut, decayed.
static inline pfld_real gradient_of(const struct pfld_cpu_step *step, int64_t i)
{
	pfld_real g = step->g[i] * step->gradient_scale;
	g = g > step->clip_value ? step->clip_value : g < -step->clip_value ? -step->clip_value : g;
	return g + step->weight_decay * step->p[i];
}

static void sgd(const struct pfld_cpu_step *step)
{
	for (int64_t i = 0; i < step->count; i++) {
		pfld_real g = gradient_of(step, i), direction = g;
		if (step->state) {
			pfld_real velocity = step->momentum * step->state[i] + g;
			step->state[i] = velocity;
			direction = step->nesterov ? g + step->momentum * velocity : velocity;
		}
		step->p[i] = step->p[i] * step->keep - step->learning_rate * direction;
	}
}

static void adagrad(const struct pfld_cpu_step *step)
{
	for (int64_t i = 0; i < step->count; i++) {
		pfld_real g = gradient_of(step, i), sum = step->state[i] + g * g;
		step->state[i] = sum;
		step->p[i] = step->p[i] * step->keep - step->learning_rate * g / (pfld_cpu_sqrt(sum) + step->epsilon);
	}
}

static void adadelta(const struct pfld_cpu_step *step)
{
	for (int64_t i = 0; i < step->count; i++) {
		pfld_real g = gradient_of(step, i);
		pfld_real square = step->rho * step->state[i] + step->rho_rest * g * g;
		pfld_real delta = pfld_cpu_sqrt(step->second[i] + step->epsilon) / pfld_cpu_sqrt(square + step->epsilon) * g;
		step->state[i] = square;
		step->second[i] = step->rho * step->second[i] + step->rho_rest * delta * delta;
		step->p[i] = step->p[i] * step->keep - step->learning_rate * delta;
	}
}

static void rmsprop(const struct pfld_cpu_step *step)
{
	for (int64_t i = 0; i < step->count; i++) {
		pfld_real g = gradient_of(step, i), square = step->rho * step->state[i] + step->rho_rest * g * g;
		pfld_real root =
			step->epsilon_inside ? pfld_cpu_sqrt(square + step->epsilon) : pfld_cpu_sqrt(square) + step->epsilon;
		step->state[i] = square;
		step->p[i] = step->p[i] * step->keep - step->learning_rate * g / root;
	}
}

static void adam(const struct pfld_cpu_step *step)
{
	for (int64_t i = 0; i < step->count; i++) {
		pfld_real g = gradient_of(step, i), p = step->p[i] * step->keep;
		pfld_real m = step->beta1 * step->state[i] + step->beta1_rest * g;
		pfld_real v = step->beta2 * step->second[i] + step->beta2_rest * g * g;
		step->state[i] = m;
		step->second[i] = v;
		step->p[i] = p - step->learning_rate * m / (pfld_cpu_sqrt(v) / step->second_correction + step->epsilon);
	}
}

void pfld_cpu_optimizer_step_c(const struct pfld_cpu_step *step)
{
	switch ((enum pfld_optimizer_kind)step->kind) {
	case PFLD_SGD: sgd(step); break;
	case PFLD_ADAGRAD: adagrad(step); break;
	case PFLD_ADADELTA: adadelta(step); break;
	case PFLD_RMSPROP: rmsprop(step); break;
	case PFLD_ADAM:
	case PFLD_ADAMW: adam(step); break;
	}
}
