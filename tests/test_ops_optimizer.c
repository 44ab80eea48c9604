// SPDX-License-Identifier: MIT
// Optimizer steps on every level and thread count against the formulas of <pfld/optimizer.h> in double.
#include "op_case.h"
#include <pfld/optimizer.h>

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SEED = 31, COUNT = 40013, NUM_PARAMETERS = COUNT + 100 };

// Padding between runs, an empty run, runs over several chunks, parameters in another order than gradients.
static const struct pfld_parameter_factor factors[] = {
	{0, 3, 40050, 1, 0},
	{5, 1, 0, 2, 0.5},
	{8, 17000, 1, 1, 0.01},
	{17010, 0, 5, 1, 1},
	{17010, 22999, 17010, 0.25, 0.1},
	{40010, 3, 17005, 1, 0},
};

struct state {
	double p, s1, s2;
};

// One element's step in double, straight from the header.
static struct state step_one(const struct pfld_optimizer_attr *a, const struct pfld_run *run,
							 const struct pfld_parameter_factor *f, struct state x, double g, double norm)
{
	double lr = run->learning_rate * f->learning_rate, t = (double)run->optimizer_step;
	g *= run->gradient_scale;
	if (a->clip_norm > 0) g *= fmin(1, a->clip_norm / (norm * run->gradient_scale + 1e-6));
	if (a->clip_value > 0) g = fmax(-a->clip_value, fmin(a->clip_value, g));
	if (a->decoupled_decay)
		x.p -= lr * f->weight_decay * x.p;
	else
		g += f->weight_decay * x.p;
	double c1 = 1 - pow(a->beta1, t), c2 = 1 - pow(a->beta2, t), d;
	switch ((enum pfld_optimizer_kind)a->kind) {
	case PFLD_SGD:
		x.s1 = a->momentum * x.s1 + g;
		x.p -= lr * (a->nesterov ? g + a->momentum * x.s1 : x.s1);
		break;
	case PFLD_ADAGRAD:
		x.s1 += g * g;
		x.p -= lr * g / (sqrt(x.s1) + a->epsilon);
		break;
	case PFLD_ADADELTA:
		x.s1 = a->rho * x.s1 + (1 - a->rho) * g * g;
		d = g * sqrt(x.s2 + a->epsilon) / sqrt(x.s1 + a->epsilon);
		x.s2 = a->rho * x.s2 + (1 - a->rho) * d * d;
		x.p -= lr * d;
		break;
	case PFLD_RMSPROP:
		x.s1 = a->rho * x.s1 + (1 - a->rho) * g * g;
		x.p -= lr * g / (a->epsilon_inside ? sqrt(x.s1 + a->epsilon) : sqrt(x.s1) + a->epsilon);
		break;
	case PFLD_ADAM:
	case PFLD_ADAMW:
		x.s1 = a->beta1 * x.s1 + (1 - a->beta1) * g;
		x.s2 = a->beta2 * x.s2 + (1 - a->beta2) * g * g;
		if (a->epsilon_inside)
			x.p -= lr * sqrt(c2) / c1 * x.s1 / (sqrt(x.s2) + a->epsilon);
		else
			x.p -= lr * (x.s1 / c1) / (sqrt(x.s2 / c2) + a->epsilon);
		break;
	}
	return x;
}

static int32_t num_states(const struct pfld_optimizer_attr *a)
{
	if (a->kind == PFLD_SGD) return a->momentum != 0;
	return a->kind == PFLD_ADAGRAD || a->kind == PFLD_RMSPROP ? 1 : 2;
}

// The case without expectations: everything as it was.
static struct op_case optimizer_case(const struct pfld_optimizer_attr *attr, double norm2)
{
	struct op_case t = new_case(PFLD_OP_OPTIMIZER, 1, SEED);
	t.op.attr.optimizer = *attr;
	t.op.attr.optimizer.factors = factors;
	t.op.attr.optimizer.num_factors = (int32_t)PFLD_COUNT(factors);
	t.run.learning_rate = 0.01;
	t.run.optimizer_step = 3;
	t.run.gradient_scale = 0.5;
	add_shared(&t, 0, COUNT, -1, 1);
	add_shared(&t, 1, 1, 0, 0)[0] = norm2;
	add_shared(&t, 2, PFLD_SUMS_COUNT, 0, 0);
	for (int32_t i = 0; i <= num_states(attr); i++) {
		int32_t count = i ? COUNT : NUM_PARAMETERS;
		double *expected = add_shared_dst(&t, i, count), *before = fill_dst(&t, i, i ? 0.01 : -1, 1);
		memcpy(expected, before, (size_t)count * sizeof *before);
	}
	return t;
}

static void step_all(struct op_case *t, double norm)
{
	const struct pfld_optimizer_attr *attr = &t->op.attr.optimizer;
	int32_t states = num_states(attr);
	for (int32_t f = 0; f < attr->num_factors; f++) {
		for (int64_t i = 0; i < factors[f].count; i++) {
			int64_t at = factors[f].first + i, place = factors[f].parameter_first + i;
			struct state x = {t->before[0][place], states > 0 ? t->before[1][at] : 0,
							  states > 1 ? t->before[2][at] : 0};
			x = step_one(attr, &t->run, &factors[f], x, t->src[0][at], norm);
			t->expected[0][place] = x.p;
			if (states > 0) t->expected[1][at] = x.s1;
			if (states > 1) t->expected[2][at] = x.s2;
		}
	}
}

static void step_case(const struct pfld_optimizer_attr *attr)
{
	static int32_t number;
	struct op_case t = optimizer_case(attr, 900);
	char name[64];
	snprintf(name, sizeof name, "optimizer %d, variant %d, seed %d", (int)attr->kind, (int)number++, SEED);
	step_all(&t, 30);
	check_case(&t, name);
	free_case(&t);
}

START_TEST(steps)
{
	for (int32_t kind = PFLD_SGD; kind <= PFLD_ADAMW; kind++) {
		struct pfld_optimizer_attr attr = {.kind = kind, .beta1 = 0.9, .beta2 = 0.999, .rho = 0.9, .epsilon = 1e-3};
		step_case(&attr);
		attr.epsilon_inside = true;
		step_case(&attr);
		attr.decoupled_decay = true;
		step_case(&attr);
		attr.momentum = 0.9;
		attr.clip_norm = 5;
		step_case(&attr);
		attr.nesterov = true;
		attr.clip_norm = 1000; // more than there is
		attr.clip_value = 0.25;
		attr.epsilon_inside = attr.decoupled_decay = false;
		step_case(&attr);
	}
}
END_TEST

START_TEST(nothing_happens_when_not_finite)
{
	static const double bad[] = {INFINITY, NAN};
	for (int32_t i = 0; i < 3; i++) {
		struct op_case t =
			optimizer_case(&(struct pfld_optimizer_attr){.kind = PFLD_ADAM, .epsilon = 1e-8}, i < 2 ? bad[i] : 1);
		t.src[2][PFLD_SUMS_BAD] = i == 2;
		t.tolerance = 0;
		check_case(&t, "a step that must not be taken");
		free_case(&t);
	}
}
END_TEST

START_TEST(norms)
{
	static const int32_t counts[] = {1, 7, 8, 16384, 16385, 50001};
	for (size_t i = 0; i < 2 * PFLD_COUNT(counts); i++) {
		struct op_case t = new_case(PFLD_OP_GRADIENT_NORM, 1, SEED);
		double *g = add_shared(&t, 0, counts[i / 2], -1, 1), *norm2 = add_shared_dst(&t, 0, 1);
		t.op.accumulate[0] = i % 2;
		if (i % 2) *norm2 = *fill_dst(&t, 0, 1, 2);
		for (int32_t k = 0; k < counts[i / 2]; k++) *norm2 += g[k] * g[k];
		check_case(&t, "norm");
		g[counts[i / 2] - 1] = NAN;
		*norm2 = NAN;
		check_case(&t, "norm of NaN");
		free_case(&t);
	}
}
END_TEST

START_TEST(wrong_optimizers_are_refused)
{
	struct pfld_error error;
	struct op_case t = optimizer_case(&(struct pfld_optimizer_attr){.kind = PFLD_ADAM, .epsilon = 1e-8}, 1);
	ck_assert_int_eq(check_op(&t, &error), PFLD_OK);
	struct pfld_parameter_factor moved[PFLD_COUNT(factors)];
	memcpy(moved, factors, sizeof factors);
	moved[5].count = 4;
	t.op.attr.optimizer.factors = moved;
	ck_assert_int_eq(check_op(&t, &error), PFLD_ERR_ARGUMENT);
	moved[5].count = 3;
	moved[1].first = 2;
	ck_assert_int_eq(check_op(&t, &error), PFLD_ERR_ARGUMENT);
	moved[1].first = 5;
	moved[2].parameter_first = NUM_PARAMETERS - 5;
	ck_assert_int_eq(check_op(&t, &error), PFLD_ERR_ARGUMENT);
	t.op.attr.optimizer.factors = factors;
	t.op.dst[2].tensor = PFLD_NO_TENSOR;
	ck_assert_int_eq(check_op(&t, &error), PFLD_ERR_ARGUMENT);
	ck_assert_ptr_nonnull(strstr(error.message, "second state"));
	free_case(&t);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("ops_optimizer");
	TCase *tests = tcase_create("ops_optimizer");
	suite_add_tcase(suite, tests);
	tcase_set_timeout(tests, 300);
	tcase_add_checked_fixture(tests, open_devices, close_devices);
	tcase_add_test(tests, steps);
	tcase_add_test(tests, nothing_happens_when_not_finite);
	tcase_add_test(tests, norms);
	tcase_add_test(tests, wrong_optimizers_are_refused);
	SRunner *runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	int failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
