// SPDX-License-Identifier: MIT
// Activations, batch norm, sums and dropout on every level and thread count against loops in double.
#include "op_case.h"

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SEED = 20240611 };

// n, h, w, c: tails of vectors, slabs that end inside a sample, one pixel, one channel.
static const struct {
	int32_t n, h, w, c, extra;
} shapes[] = {
	{1, 1, 1, 1, 0},   {3, 1, 1, 10, 0},   {2, 3, 5, 7, 3},    {2, 7, 7, 8, 0},
	{5, 9, 11, 17, 2}, {3, 20, 19, 33, 0}, {2, 24, 24, 64, 8}, {2, 5, 4, 130, 1},
};

static double act(enum pfld_act kind, double z, double slope)
{
	switch (kind) {
	case PFLD_ACT_NONE: return z;
	case PFLD_ACT_RELU: return z > 0 ? z : 0;
	case PFLD_ACT_RELU6: return z > 6 ? 6 : z > 0 ? z : 0;
	case PFLD_ACT_LEAKY:
	case PFLD_ACT_PRELU: return z > 0 ? z : slope * z;
	case PFLD_ACT_SIGMOID: return 1 / (1 + exp(-z));
	case PFLD_ACT_TANH: return tanh(z);
	}
	return NAN;
}

static double slope_of_act(enum pfld_act kind, double z, double slope)
{
	switch (kind) {
	case PFLD_ACT_NONE: return 1;
	case PFLD_ACT_RELU: return z > 0;
	case PFLD_ACT_RELU6: return z > 0 && z < 6;
	case PFLD_ACT_LEAKY:
	case PFLD_ACT_PRELU: return z > 0 ? 1 : slope;
	case PFLD_ACT_SIGMOID: return act(kind, z, 0) * (1 - act(kind, z, 0));
	case PFLD_ACT_TANH: return 1 - tanh(z) * tanh(z);
	}
	return NAN;
}

// fma(scale, x, shift) with the rounding that the gate sees: the sign of z decides.
static double z_of(double scale, double x, double shift)
{
	return (pfld_real)fma(scale, x, shift);
}

static const char *case_name(const char *what, int32_t shape, enum pfld_act kind)
{
	static char name[96];
	snprintf(name, sizeof name, "%s, shape %d, %s, seed %d", what, (int)shape, pfld_act_name(kind), SEED);
	return name;
}

// ---- apply ----

static void apply_one(int32_t s, enum pfld_act kind, bool scaled, int32_t slopes, bool in_place)
{
	int32_t n = shapes[s].n, h = shapes[s].h, w = shapes[s].w, c = shapes[s].c;
	struct op_case t = new_case(PFLD_OP_APPLY, n, SEED);
	t.op.attr.act = (struct pfld_act_attr){.act = kind, .slope = 0.25};
	double *x = add_src(&t, 0, h, w, c, shapes[s].extra, -4, 8);
	double *scale = scaled ? add_shared(&t, 1, c, -2, 2) : NULL, *shift = scaled ? add_shared(&t, 2, c, -1, 1) : NULL;
	double *slope = slopes ? add_shared(&t, 3, slopes, -1, 1) : NULL;
	double *y = add_dst(&t, 0, h, w, c, in_place ? shapes[s].extra : 2 * shapes[s].extra);
	if (in_place) t.alias_dst0 = 0;
	for (int32_t i = 0; i < n * h * w * c; i++) {
		double z = scaled ? z_of(scale[i % c], x[i], shift[i % c]) : x[i];
		y[i] = act(kind, z, slopes ? slope[i % slopes] : 0.25);
	}
	check_case(&t, case_name("apply", s, kind));
	free_case(&t);
}

START_TEST(apply)
{
	for (int32_t s = 0; s < (int32_t)PFLD_COUNT(shapes); s++) {
		for (int32_t kind = PFLD_ACT_NONE; kind <= PFLD_ACT_TANH; kind++) {
			if (kind == PFLD_ACT_PRELU) {
				apply_one(s, kind, true, shapes[s].c, false);
				apply_one(s, kind, false, shapes[s].h * shapes[s].w * shapes[s].c, true);
				continue;
			}
			apply_one(s, kind, false, 0, false);
			apply_one(s, kind, true, 0, false);
			apply_one(s, kind, true, 0, true);
		}
	}
}
END_TEST

START_TEST(not_a_number_comes_through)
{
	for (int32_t kind = PFLD_ACT_NONE; kind <= PFLD_ACT_TANH; kind++) {
		struct op_case t = new_case(PFLD_OP_APPLY, 1, SEED);
		t.op.attr.act = (struct pfld_act_attr){.act = kind, .slope = 0.25};
		double *x = add_src(&t, 0, 1, 1, 19, 0, -1, 1),
			   *slopes = kind == PFLD_ACT_PRELU ? add_shared(&t, 3, 19, 0, 1) : NULL;
		double *y = add_dst(&t, 0, 1, 1, 19, 0);
		x[3] = x[17] = NAN;
		x[4] = INFINITY;
		x[5] = -INFINITY;
		for (int32_t i = 0; i < 19; i++) y[i] = isnan(x[i]) ? NAN : act(kind, x[i], slopes ? slopes[i] : 0.25);
		check_case(&t, case_name("NaN", 0, kind));
		free_case(&t);
	}
}
END_TEST

static void apply_gradient_one(int32_t s, enum pfld_act kind, bool scaled, bool from_output, bool add)
{
	int32_t n = shapes[s].n, h = shapes[s].h, w = shapes[s].w, c = shapes[s].c, extra = shapes[s].extra;
	struct op_case t = new_case(PFLD_OP_APPLY_GRADIENT, n, SEED);
	t.op.attr.act = (struct pfld_act_attr){.act = kind, .slope = 0.25, .from_output = from_output};
	double *dy = add_src(&t, 0, h, w, c, extra, -1, 1), *x = add_src(&t, 1, h, w, c, 2 * extra, -4, 8);
	double *scale = scaled ? add_shared(&t, 2, c, -2, 2) : NULL;
	double *shift = scaled && !from_output ? add_shared(&t, 3, c, -1, 1) : NULL;
	double *dx = add_dst(&t, 0, h, w, c, extra), *before = add ? fill_dst(&t, 0, -1, 1) : NULL;
	t.op.accumulate[0] = add;
	for (int32_t i = 0; i < n * h * w * c; i++) {
		double z = shift ? z_of(scale[i % c], x[i], shift[i % c]) : x[i];
		if (from_output) { // z stands for what led to an output that floats can hold
			x[i] = (float)act(kind, z, 0.25);
			z = x[i];
		}
		double slope = slope_of_act(kind, z, 0.25);
		if (from_output && kind == PFLD_ACT_SIGMOID) slope = x[i] * (1 - x[i]);
		if (from_output && kind == PFLD_ACT_TANH) slope = 1 - x[i] * x[i];
		dx[i] = (add ? before[i] : 0) + (scaled ? scale[i % c] : 1) * dy[i] * slope;
	}
	check_case(&t, case_name(from_output ? "gradient from output" : "gradient", s, kind));
	free_case(&t);
}

START_TEST(apply_gradient)
{
	for (int32_t s = 0; s < (int32_t)PFLD_COUNT(shapes); s++) {
		for (int32_t kind = PFLD_ACT_NONE; kind <= PFLD_ACT_TANH; kind++) {
			if (kind == PFLD_ACT_PRELU) continue;
			apply_gradient_one(s, kind, false, false, false);
			apply_gradient_one(s, kind, true, false, true);
			apply_gradient_one(s, kind, false, true, true);
			apply_gradient_one(s, kind, true, true, false);
		}
	}
}
END_TEST

static void prelu_gradient_one(int32_t s, int32_t num_slopes, bool scaled, bool accumulate)
{
	int32_t n = shapes[s].n, h = shapes[s].h, w = shapes[s].w, c = shapes[s].c;
	struct op_case t = new_case(PFLD_OP_APPLY_GRADIENT, n, SEED);
	t.op.attr.act.act = PFLD_ACT_PRELU;
	double *dy = add_src(&t, 0, h, w, c, 1, -1, 1), *x = add_src(&t, 1, h, w, c, 0, -2, 2);
	double *scale = scaled ? add_shared(&t, 2, c, -2, 2) : NULL, *shift = scaled ? add_shared(&t, 3, c, -1, 1) : NULL;
	double *slopes = add_shared(&t, 4, num_slopes, -1, 1);
	double *dx = add_dst(&t, 0, h, w, c, 0), *dslopes = add_shared_dst(&t, 1, num_slopes);
	double *before = accumulate ? fill_dst(&t, 1, -1, 1) : NULL;
	t.op.gradient[1] = true;
	t.run.accumulate_gradients = accumulate;
	t.tolerance *= 2 + sqrt(n * h * w); // long sums
	for (int32_t i = 0; accumulate && i < num_slopes; i++) dslopes[i] = before[i];
	for (int32_t i = 0; i < n * h * w * c; i++) {
		double z = scaled ? z_of(scale[i % c], x[i], shift[i % c]) : x[i];
		dx[i] = (scaled ? scale[i % c] : 1) * dy[i] * (z > 0 ? 1 : slopes[i % num_slopes]);
		if (!(z > 0)) dslopes[i % num_slopes] += dy[i] * z;
	}
	check_case(&t, case_name("gradient of slopes", s, PFLD_ACT_PRELU));
	free_case(&t);
}

START_TEST(prelu_gradient)
{
	for (int32_t s = 0; s < (int32_t)PFLD_COUNT(shapes); s++) {
		int32_t elements = shapes[s].h * shapes[s].w * shapes[s].c;
		prelu_gradient_one(s, shapes[s].c, false, false);
		prelu_gradient_one(s, shapes[s].c, true, true);
		prelu_gradient_one(s, elements, false, true);
		prelu_gradient_one(s, elements, true, false);
	}
}
END_TEST

// ---- batch norm ----

static void statistics_of(const double *x, int32_t count, int32_t c, int32_t j, double *mean, double *m2)
{
	*mean = *m2 = 0;
	for (int32_t p = 0; p < count; p++) *mean += x[p * c + j] / count;
	for (int32_t p = 0; p < count; p++) *m2 += (x[p * c + j] - *mean) * (x[p * c + j] - *mean);
}

START_TEST(bn_statistics)
{
	// The last offsets: a mean of 1000 and 3000 deviations must not cost the variance its digits.
	static const double offsets[] = {0, 3, 300, 1000};
	for (int32_t s = 0; s < (int32_t)PFLD_COUNT(shapes); s++) {
		for (int32_t o = 0; o < (int32_t)PFLD_COUNT(offsets); o++) {
			int32_t n = shapes[s].n, h = shapes[s].h, w = shapes[s].w, c = shapes[s].c, count = n * h * w;
			struct op_case t = new_case(PFLD_OP_BN_STATISTICS, n, SEED);
			double *x = add_src(&t, 0, h, w, c, shapes[s].extra, offsets[o] - 0.6, offsets[o] + 0.6);
			double *mean = add_shared_dst(&t, 0, c), *m2 = add_shared_dst(&t, 1, c);
			for (int32_t j = 0; j < c; j++) x[j] = (float)(o == 1 ? -50 : x[j]); // a corner unlike the rest
			for (int32_t j = 0; j < c; j++) statistics_of(x, count, c, j, &mean[j], &m2[j]);
			t.tolerance = sizeof(pfld_real) == 8 ? 1e-11 : offsets[o] > 100 ? 2e-5 : 6e-6;
			check_case(&t, case_name("statistics", s, PFLD_ACT_NONE));
			free_case(&t);
		}
	}
}
END_TEST

static void numbers_per_channel(bool train, bool affine, bool moving, bool unbiased, int32_t n, int32_t num_pixels)
{
	int32_t c = 13;
	struct op_case t = new_case(train ? PFLD_OP_BN_TRAIN : PFLD_OP_BN_INFER, n, SEED);
	t.op.attr.bn =
		(struct pfld_bn_attr){.epsilon = 1e-3, .momentum = 0.1, .unbiased = unbiased, .num_pixels = num_pixels};
	double count = (double)n * num_pixels, *mean = add_shared(&t, 0, c, -1, 1), *m2 = add_shared(&t, 1, c, 0, 5);
	double *gamma = affine ? add_shared(&t, 2, c, -1, 1) : NULL, *beta = affine ? add_shared(&t, 3, c, -1, 1) : NULL;
	double *scale = add_shared_dst(&t, 0, c), *shift = add_shared_dst(&t, 1, c), *inv_std = add_shared_dst(&t, 2, c);
	double *moved_mean = NULL, *moved_variance = NULL;
	if (moving) {
		moved_mean = add_shared_dst(&t, 3, c);
		moved_variance = add_shared_dst(&t, 4, c);
		fill_dst(&t, 3, -1, 1);
		fill_dst(&t, 4, 0, 1);
	}
	for (int32_t j = 0; j < c; j++) {
		double variance = train ? m2[j] / count : m2[j];
		inv_std[j] = 1 / sqrt(variance + 1e-3);
		scale[j] = (affine ? gamma[j] : 1) * inv_std[j];
		shift[j] = (affine ? beta[j] : 0) - mean[j] * scale[j];
		if (!moving) continue;
		moved_mean[j] = 0.9 * t.before[3][j] + 0.1 * mean[j];
		moved_variance[j] = 0.9 * t.before[4][j] + 0.1 * m2[j] / (unbiased ? count - 1 : count);
	}
	check_case(&t, train ? "bn_train" : "bn_infer");
	free_case(&t);
}

START_TEST(folding)
{
	for (int has_bias = 0; has_bias < 2; has_bias++) {
		int32_t filters = 13, rows = 9;
		struct op_case t = new_case(PFLD_OP_FOLD, 1, SEED);
		double *kernel = add_shared(&t, 0, rows * filters, -1, 1);
		double *bias = has_bias ? add_shared(&t, 1, filters, -1, 1) : NULL;
		double *scale = add_shared(&t, 2, filters, -2, 2), *shift = add_shared(&t, 3, filters, -1, 1);
		double *folded_kernel = add_shared_dst(&t, 0, rows * filters), *folded_bias = add_shared_dst(&t, 1, filters);
		for (int32_t i = 0; i < rows * filters; i++) folded_kernel[i] = kernel[i] * scale[i % filters];
		for (int32_t j = 0; j < filters; j++) folded_bias[j] = scale[j] * (bias ? bias[j] : 0) + shift[j];
		check_case(&t, "fold");
		free_case(&t);
	}
}
END_TEST

START_TEST(bn_numbers)
{
	numbers_per_channel(true, true, true, true, 3, 49);
	numbers_per_channel(true, false, true, false, 2, 1);
	numbers_per_channel(true, true, false, false, 1, 4);
	numbers_per_channel(false, true, false, false, 1, 1);
	numbers_per_channel(false, false, false, false, 5, 1);
}
END_TEST

// What bn_gradient_sums and bn_gradient read, with values that belong together.
struct bn_inputs {
	double *dy, *x, *scale, *shift, *mean, *inv_std;
};

static struct bn_inputs bn_gradient_inputs(struct op_case *t, int32_t s, bool sums)
{
	int32_t n = shapes[s].n, h = shapes[s].h, w = shapes[s].w, c = shapes[s].c, extra = shapes[s].extra;
	struct bn_inputs in = {
		.dy = add_src(t, 0, h, w, c, extra, -1, 1),
		.x = add_src(t, 1, h, w, c, 2 * extra, -2, 3),
		.scale = add_shared(t, 2, c, -2, 2),
		.shift = add_shared(t, 3, c, -1, 1),
		.mean = add_shared(t, 4, c, 0, 0),
		.inv_std = sums ? add_shared(t, 5, c, 0, 0) : NULL,
	};
	for (int32_t j = 0; j < c; j++) {
		double m2;
		statistics_of(in.x, n * h * w, c, j, &in.mean[j], &m2);
		in.mean[j] = (float)in.mean[j];
		if (sums) in.inv_std[j] = (float)(1 / sqrt(m2 / (n * h * w) + 1e-2));
	}
	return in;
}

static void bn_sums_one(int32_t s, enum pfld_act kind, bool accumulate)
{
	int32_t n = shapes[s].n, c = shapes[s].c, count = n * shapes[s].h * shapes[s].w;
	struct op_case t = new_case(PFLD_OP_BN_GRADIENT_SUMS, n, SEED);
	t.op.attr.act = (struct pfld_act_attr){.act = kind, .slope = 0.25};
	struct bn_inputs in = bn_gradient_inputs(&t, s, true);
	for (int32_t i = 0; i < 4; i++) add_shared_dst(&t, i, c);
	t.op.gradient[2] = t.op.gradient[3] = true;
	t.run.accumulate_gradients = accumulate;
	for (int32_t i = 2; accumulate && i < 4; i++) fill_dst(&t, i, -1, 1);
	for (int32_t i = 0; i < count * c; i++) {
		int32_t j = i % c;
		double dz = in.dy[i] * slope_of_act(kind, z_of(in.scale[j], in.x[i], in.shift[j]), 0.25);
		t.expected[0][j] += dz;
		t.expected[1][j] += dz * (in.x[i] - in.mean[j]) * in.inv_std[j];
	}
	for (int32_t j = 0; j < c; j++) {
		t.expected[2][j] = t.expected[0][j] + (accumulate ? t.before[2][j] : 0);
		t.expected[3][j] = t.expected[1][j] + (accumulate ? t.before[3][j] : 0);
		t.expected[0][j] /= count;
		t.expected[1][j] *= in.inv_std[j] / count;
	}
	t.tolerance *= sqrt(count) / 4 + 2;
	check_case(&t, case_name("bn_gradient_sums", s, kind));
	free_case(&t);
}

static void bn_gradient_one(int32_t s, enum pfld_act kind, bool add)
{
	int32_t n = shapes[s].n, h = shapes[s].h, w = shapes[s].w, c = shapes[s].c, count = n * h * w;
	struct op_case t = new_case(PFLD_OP_BN_GRADIENT, n, SEED);
	t.op.attr.act = (struct pfld_act_attr){.act = kind, .slope = 0.25};
	struct bn_inputs in = bn_gradient_inputs(&t, s, false);
	double *mean_dz = add_shared(&t, 5, c, -1, 1), *slope_x = add_shared(&t, 6, c, -1, 1);
	double *dx = add_dst(&t, 0, h, w, c, shapes[s].extra), *before = add ? fill_dst(&t, 0, -1, 1) : NULL;
	t.op.accumulate[0] = add;
	for (int32_t i = 0; i < count * c; i++) {
		int32_t j = i % c;
		double dz = in.dy[i] * slope_of_act(kind, z_of(in.scale[j], in.x[i], in.shift[j]), 0.25);
		dx[i] = (add ? before[i] : 0) + in.scale[j] * (dz - mean_dz[j] - (in.x[i] - in.mean[j]) * slope_x[j]);
	}
	t.tolerance *= 8;
	check_case(&t, case_name("bn_gradient", s, kind));
	free_case(&t);
}

START_TEST(bn_gradients)
{
	static const enum pfld_act kinds[] = {PFLD_ACT_NONE, PFLD_ACT_RELU, PFLD_ACT_RELU6, PFLD_ACT_LEAKY, PFLD_ACT_TANH};
	for (int32_t s = 0; s < (int32_t)PFLD_COUNT(shapes); s++) {
		for (int32_t k = 0; k < (int32_t)PFLD_COUNT(kinds); k++) {
			bn_sums_one(s, kinds[k], k % 2);
			bn_gradient_one(s, kinds[k], k % 2);
		}
	}
}
END_TEST

// ---- sums, softmax, dropout ----

static void add_one(int32_t s, int32_t num_src, bool accumulate, int32_t extra)
{
	int32_t n = shapes[s].n, h = shapes[s].h, w = shapes[s].w, c = shapes[s].c;
	struct op_case t = new_case(PFLD_OP_ADD, n, SEED);
	t.op.attr.add.num_src = num_src;
	double *y = add_dst(&t, 0, h, w, c, extra);
	t.op.accumulate[0] = accumulate;
	if (accumulate) fill_dst(&t, 0, -1, 1);
	for (int32_t i = 0; i < num_src; i++) {
		t.op.attr.add.scale[i] = i == 0 ? 1 : 0.5 * i - 1;
		const double *x = add_src(&t, i, h, w, c, i % 2 ? extra : 0, -1, 1);
		for (int32_t k = 0; k < n * h * w * c; k++) y[k] += t.op.attr.add.scale[i] * x[k];
	}
	for (int32_t k = 0; accumulate && k < n * h * w * c; k++) y[k] += t.before[0][k];
	check_case(&t, case_name("add", s, PFLD_ACT_NONE));
	free_case(&t);
}

START_TEST(add)
{
	for (int32_t s = 0; s < (int32_t)PFLD_COUNT(shapes); s++) {
		for (int32_t num_src = 1; num_src <= 8; num_src += num_src < 3 ? 1 : 5) {
			add_one(s, num_src, false, 0);
			add_one(s, num_src, true, 5);
		}
	}
}
END_TEST

START_TEST(softmax)
{
	for (int32_t s = 0; s < (int32_t)PFLD_COUNT(shapes); s++) {
		int32_t n = shapes[s].n, h = shapes[s].h, w = shapes[s].w, c = shapes[s].c;
		struct op_case t = new_case(PFLD_OP_SOFTMAX, n, SEED), g = new_case(PFLD_OP_SOFTMAX_GRADIENT, n, SEED);
		double *x = add_src(&t, 0, h, w, c, shapes[s].extra, -90, 90), *y = add_dst(&t, 0, h, w, c, 1);
		double *dy = add_src(&g, 0, h, w, c, 0, -1, 1), *out = add_src(&g, 1, h, w, c, 3, 0, 1);
		double *dx = add_dst(&g, 0, h, w, c, 2), *before = fill_dst(&g, 0, -1, 1);
		g.op.accumulate[0] = true;
		for (int32_t p = 0; p < n * h * w * c; p += c) {
			double largest = -INFINITY, sum = 0, product = 0;
			for (int32_t j = 0; j < c; j++) largest = fmax(largest, x[p + j]);
			for (int32_t j = 0; j < c; j++) sum += exp(x[p + j] - largest);
			for (int32_t j = 0; j < c; j++) product += dy[p + j] * out[p + j];
			for (int32_t j = 0; j < c; j++) y[p + j] = exp(x[p + j] - largest) / sum;
			for (int32_t j = 0; j < c; j++) dx[p + j] = before[p + j] + out[p + j] * (dy[p + j] - product);
		}
		check_case(&t, case_name("softmax", s, PFLD_ACT_NONE));
		g.tolerance *= 8;
		check_case(&g, case_name("softmax_gradient", s, PFLD_ACT_NONE));
		free_case(&t);
		free_case(&g);
	}
}
END_TEST

static void dropout_counts(struct op_case *t, const double *x, double rate, int32_t *num_kept)
{
	size_t count = case_elements(t, &t->op.src[0]);
	*num_kept = 0;
	for (size_t i = 0; i < count; i++) {
		bool kept = t->got[0][i] != 0;
		*num_kept += kept;
		if (kept) ck_assert_double_eq_tol(t->got[0][i], x[i] / (1 - rate), 1e-5);
	}
}

START_TEST(dropout)
{
	int32_t kept[4], total = 6 * 10 * 10 * 33;
	double *first = NULL;
	for (int32_t variant = 0; variant < 4; variant++) {
		struct op_case t = new_case(PFLD_OP_DROPOUT, 6, SEED);
		t.op.attr.dropout = (struct pfld_dropout_attr){.rate = 0.3, .stream = variant == 3};
		t.run.seed = 5 + (variant == 1);
		t.run.step = 9 + ((uint64_t)(variant == 2) << 32);
		double *x = add_src(&t, 0, 10, 10, 33, 2, 1, 2);
		free(add_dst(&t, 0, 10, 10, 33, 0));
		t.expected[0] = NULL;
		check_case(&t, "dropout");
		dropout_counts(&t, x, 0.3, &kept[variant]);
		ck_assert_int_lt(abs(kept[variant] - total * 7 / 10), 400); // six deviations
		t.expected[0] = t.got[0]; // the same are dropped everywhere
		t.got[0] = NULL;
		check_case(&t, "dropout elsewhere");
		if (first)
			ck_assert_int_ne(memcmp(first, t.got[0], (size_t)total * sizeof *first), 0);
		else {
			first = t.got[0];
			t.got[0] = NULL;
		}
		free_case(&t);
	}
	free(first);
	// Nothing is dropped at rate 0, and what is dropped does not depend on n.
	struct op_case all = new_case(PFLD_OP_DROPOUT, 2, SEED);
	double *x = add_src(&all, 0, 3, 3, 5, 0, 1, 2);
	memcpy(add_dst(&all, 0, 3, 3, 5, 0), x, 90 * sizeof *x);
	check_case(&all, "dropout of nothing");
	free_case(&all);
	struct op_case many = new_case(PFLD_OP_DROPOUT, 3, SEED), one = new_case(PFLD_OP_DROPOUT, 1, SEED);
	many.op.attr.dropout.rate = one.op.attr.dropout.rate = 0.5;
	double *more = add_src(&many, 0, 3, 3, 5, 0, 1, 2), *less = add_src(&one, 0, 3, 3, 5, 0, 1, 2);
	memcpy(less, more, 45 * sizeof *less);
	add_dst(&many, 0, 3, 3, 5, 0);
	add_dst(&one, 0, 3, 3, 5, 0);
	run_case(&many);
	run_case(&one);
	ck_assert_int_eq(memcmp(many.got[0], one.got[0], 45 * sizeof *less), 0);
	free_case(&many);
	free_case(&one);
}
END_TEST

// Computed with the host rounding upwards and flushing denormal numbers, on our threads and on the host's own.
START_TEST(the_hosts_mode_is_not_ours)
{
	struct op_case t = new_case(PFLD_OP_APPLY, 3, SEED);
	t.op.attr.act.act = PFLD_ACT_RELU;
	double *x = add_src(&t, 0, 40, 40, 33, 0, 0, 1), *scale = add_shared(&t, 1, 33, 0, 1),
		   *shift = add_shared(&t, 2, 33, 0, 1);
	double *y = add_dst(&t, 0, 40, 40, 33, 0);
	for (int32_t j = 0; j < 33; j++) shift[j] = 0;
	for (int32_t i = 0; i < 3 * 40 * 40 * 33; i++) {
		if (i % 7 == 0) x[i] = 0x1p-130; // no normal float
		y[i] = (pfld_real)(x[i] * scale[i % 33]);
	}
	t.tolerance = 0;
	t.odd_host = true;
	check_case(&t, "with the host's mode");
	free_case(&t);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("ops");
	TCase *tests = tcase_create("ops");
	suite_add_tcase(suite, tests);
	tcase_set_timeout(tests, 300);
	tcase_add_checked_fixture(tests, open_devices, close_devices);
	tcase_add_test(tests, apply);
	tcase_add_test(tests, not_a_number_comes_through);
	tcase_add_test(tests, apply_gradient);
	tcase_add_test(tests, prelu_gradient);
	tcase_add_test(tests, bn_statistics);
	tcase_add_test(tests, folding);
	tcase_add_test(tests, bn_numbers);
	tcase_add_test(tests, bn_gradients);
	tcase_add_test(tests, add);
	tcase_add_test(tests, softmax);
	tcase_add_test(tests, dropout);
	tcase_add_test(tests, the_hosts_mode_is_not_ours);
	SRunner *runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	int failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
