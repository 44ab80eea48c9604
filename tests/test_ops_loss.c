// SPDX-License-Identifier: MIT
// Losses: values against the formulas of <pfld/loss.h> in double with the C library's functions, gradients against
// finite differences of those formulas, running sums; and the functions of backends/cpu/math.h against the C library's.
#include "cpu/math.h"
#include "op_case.h"
#include <pfld/loss.h>

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SEED = 4711 };

// What the loss of a batch reads, in double; NULL where absent.
struct batch {
	struct pfld_loss_attr attr;
	int32_t n, num_targets, num_channels;
	double *prediction, *target, *mask, *weights, *attributes, *angles, *true_angles;
};

static double target_loss(const struct pfld_loss_attr *a, double p, double t)
{
	double x = p - t, scaled = fabs(x) * a->point_scale;
	switch (a->kind) {
	case PFLD_LOSS_WING: return scaled < a->wing_w ? a->wing_w * log(1 + scaled / a->wing_epsilon) : scaled - a->wing_c;
	case PFLD_LOSS_L1: return scaled;
	case PFLD_LOSS_SMOOTH_L1: return scaled < a->beta ? scaled * scaled / (2 * a->beta) : scaled - a->beta / 2;
	case PFLD_LOSS_SIGMOID_CROSS_ENTROPY: return fmax(p, 0) - p * t + log1p(exp(-fabs(p)));
	default: return x * x;
	}
}

static double weight_of(const struct batch *b, int32_t m)
{
	if (b->attr.kind != PFLD_LOSS_PFLD && b->attr.kind != PFLD_LOSS_PFLD_COMPAT) return 1;
	bool compat = b->attr.kind == PFLD_LOSS_PFLD_COMPAT;
	double k = 0, w = 0;
	for (int32_t i = 0; i < 3; i++) {
		k += 1 - cos(b->angles[m * 3 + i] - b->true_angles[m * 3 + i] * (compat ? 1 : acos(-1) / 180));
	}
	if (!b->attributes) return k;
	for (int32_t c = compat ? 1 : 0; c < 6; c++) {
		double share = 0;
		for (int32_t i = 0; i < b->n; i++) share += b->attributes[i * 6 + c] / b->n;
		if (share > 0) w += b->attributes[m * 6 + c] / share;
	}
	return k * (compat ? w : fmax(1, w));
}

static double sample_loss(const struct batch *b, int32_t m)
{
	double sum = 0, count = 0;
	for (int32_t i = 0; i < b->num_targets; i++) {
		int32_t at = m * b->num_targets + i;
		if (b->mask && b->mask[at] == 0) continue;
		count++;
		if (b->attr.kind != PFLD_LOSS_SOFTMAX_CROSS_ENTROPY) {
			sum += target_loss(&b->attr, b->prediction[at], b->target[at]);
			continue;
		}
		double total = 0,
			   share = (1 - b->attr.label_smoothing) * b->target[at] + b->attr.label_smoothing / b->num_channels;
		const double *pixel = b->prediction + at - i % b->num_channels;
		for (int32_t j = 0; j < b->num_channels; j++) total += exp(pixel[j] - pixel[i % b->num_channels]);
		sum += share * log(total);
	}
	if (b->attr.mean_over_targets) sum /= fmax(count, 1);
	return sum * weight_of(b, m) * (b->weights ? b->weights[m] : 1);
}

static double batch_loss(const struct batch *b)
{
	double sum = 0;
	for (int32_t m = 0; m < b->n; m++) sum += sample_loss(b, m) / b->n;
	return sum;
}

// d(loss) / d(values[i]) by the five-point rule.
static double slope_at(const struct batch *b, double *values, int32_t i)
{
	double kept = values[i], step = 1e-3, sum = 0;
	static const double places[] = {-2, -1, 1, 2}, factors[] = {1, -8, 8, -1};
	for (int32_t k = 0; k < 4; k++) {
		values[i] = kept + places[k] * step;
		sum += factors[k] * batch_loss(b);
	}
	values[i] = kept;
	return sum / (12 * step);
}

static void make_binary(double *values, int32_t count)
{
	for (int32_t i = 0; i < count; i++) values[i] = values[i] > 0.6;
}

// Where a loss has a corner its slope cannot be had from differences: targets keep off it.
static void keep_off_corners(struct batch *b, int32_t count)
{
	double corner = 0, near = 0.005;
	if (b->attr.kind == PFLD_LOSS_WING) corner = b->attr.wing_w / b->attr.point_scale;
	if (b->attr.kind == PFLD_LOSS_SMOOTH_L1) corner = b->attr.beta / b->attr.point_scale;
	for (int32_t i = 0; i < count; i++) {
		double distance = fabs(b->prediction[i] - b->target[i]);
		if (distance < near || fabs(distance - corner) < near) b->target[i] = (float)(b->target[i] + 3 * near);
	}
}

enum { MASK = 1, WEIGHTS = 2, ATTRIBUTES = 4, MEAN = 8, SMOOTH = 16 };

static void loss_one(enum pfld_loss_kind kind, int32_t n, int32_t h, int32_t c, int32_t with)
{
	struct op_case t = new_case(PFLD_OP_LOSS, n, SEED + (uint64_t)kind);
	struct batch b = {.n = n, .num_targets = h * c, .num_channels = c};
	bool angles = pfld_loss_uses_angles(kind), points = kind < PFLD_LOSS_SOFTMAX_CROSS_ENTROPY;
	b.attr = t.op.attr.loss = (struct pfld_loss_attr){.kind = kind,
													  .wing_w = 10,
													  .wing_epsilon = 2,
													  .wing_c = 10 - 10 * log(6),
													  .point_scale = points ? 20 : 1,
													  .beta = 3,
													  .label_smoothing = with & SMOOTH ? 0.1 : 0,
													  .mean_over_targets = with & MEAN};
	t.run.loss_scale = 8;
	b.prediction = add_src(&t, 0, h, 1, c, 0, points ? 0 : -4, points ? 1 : 4);
	b.target = add_src(&t, 1, h, 1, c, 0, 0, 1);
	if (points) keep_off_corners(&b, n * h * c);
	if (with & MASK) make_binary(b.mask = add_src(&t, 2, h, 1, c, 0, 0, 1), n * h * c);
	if (with & WEIGHTS) b.weights = add_src(&t, 3, 1, 1, 1, 0, 0, 2);
	if (with & ATTRIBUTES) make_binary(b.attributes = add_src(&t, 4, 1, 1, 6, 0, 0, 1), n * 6);
	if (angles) b.angles = add_src(&t, 5, 1, 1, 3, 0, -2, 2);
	if (angles) b.true_angles = add_src(&t, 6, 1, 1, 3, 0, -90, 90);
	for (int32_t i = 0; (with & MASK) && i < n * h * c; i++)
		if (b.mask[i] == 0 && points) b.target[i] = NAN; // missing
	double *loss = add_dst(&t, 0, 1, 1, 1, 0), *dprediction = add_dst(&t, 1, h, 1, c, 0);
	double *dangles = angles ? add_dst(&t, 2, 1, 1, 3, 0) : NULL;
	for (int32_t m = 0; m < n; m++) loss[m] = sample_loss(&b, m);
	for (int32_t i = 0; i < n * h * c; i++) dprediction[i] = 8 * slope_at(&b, b.prediction, i);
	for (int32_t i = 0; angles && i < 3 * n; i++) dangles[i] = 8 * slope_at(&b, b.angles, i);
	if (sizeof(pfld_real) == 8)
		t.tolerance = 1e-6; // of the differences
	else
		t.tolerance = 4e-6;
	char name[80];
	snprintf(name, sizeof name, "loss %d with %d, seed %d", (int)kind, (int)with, SEED);
	check_case(&t, name);
	if (sizeof(pfld_real) == 8) { // values alone, exactly
		t.tolerance = 1e-13;
		free(t.expected[1]);
		free(t.expected[2]);
		t.expected[1] = t.expected[2] = NULL;
		check_case(&t, name);
	}
	free_case(&t);
}

START_TEST(losses)
{
	for (int32_t kind = PFLD_LOSS_WING; kind <= PFLD_LOSS_SIGMOID_CROSS_ENTROPY; kind++) {
		for (int32_t with = 0; with < 32; with++) {
			if ((with & ATTRIBUTES) && !pfld_loss_uses_angles(kind)) continue;
			if ((with & SMOOTH) && kind != PFLD_LOSS_SOFTMAX_CROSS_ENTROPY) continue;
			loss_one(kind, 5, 1, 14, with);
		}
		loss_one(kind, 3, 4, 3, MASK | WEIGHTS); // more pixels than one
	}
}
END_TEST

// Losses of one number each: what exp and log are good for, from the smallest to the largest.
START_TEST(losses_of_single_numbers)
{
	enum { NUM = 4000 };
	for (int32_t kind = 0; kind < 3; kind++) {
		struct op_case t = new_case(PFLD_OP_LOSS, NUM, SEED);
		struct batch b = {.n = NUM, .num_targets = 1 + (kind == 2), .num_channels = 1 + (kind == 2)};
		b.attr = (struct pfld_loss_attr){.wing_w = 1e9, .wing_epsilon = 2, .point_scale = 1};
		b.attr.kind = kind == 0 ? PFLD_LOSS_WING : kind == 1 ? PFLD_LOSS_SIGMOID_CROSS_ENTROPY : PFLD_LOSS_SOFTMAX_CROSS_ENTROPY;
		t.op.attr.loss = b.attr;
		b.prediction = add_src(&t, 0, 1, 1, b.num_channels, 0, 0, 0);
		b.target = add_src(&t, 1, 1, 1, b.num_channels, 0, 0, 0);
		for (int32_t i = 0; i < NUM * b.num_channels; i++) {
			double size = pfld_random_range(&t.random, -18, kind ? 4 : 18);
			b.prediction[i] = (float)(i % 2 ? -exp(size) : exp(size));
			if (kind == 2) b.target[i] = i % 2;
		}
		double *loss = add_dst(&t, 0, 1, 1, 1, 0);
		free(add_dst(&t, 1, 1, 1, b.num_channels, 0));
		t.expected[1] = NULL;
		for (int32_t m = 0; m < NUM; m++) loss[m] = sample_loss(&b, m);
		t.tolerance = sizeof(pfld_real) == 4 ? 4e-7 : 1e-13;
		check_case(&t, "single numbers");
		free_case(&t);
	}
}
END_TEST

// No kink of a loss is hit by chance, so they are looked at here: where it is 0, and at the joints.
START_TEST(losses_at_kinks)
{
	static const double x[] = {0, 0.5, -0.5, 3, -3, 1e-30};
	static const double wing[] = {0, 10 / 2.5, -10 / 2.5, 1, -1, 5}, l1[] = {0, 1, -1, 1, -1, 1};
	static const double smooth[] = {0, 0.5 / 3, -0.5 / 3, 1, -1, 0};
	for (int32_t k = 0; k < 3; k++) {
		struct op_case t = new_case(PFLD_OP_LOSS, 1, SEED);
		t.op.attr.loss = (struct pfld_loss_attr){.wing_w = 3, .wing_epsilon = 2, .point_scale = 1, .beta = 3};
		t.op.attr.loss.kind = k == 0 ? PFLD_LOSS_WING : k == 1 ? PFLD_LOSS_L1 : PFLD_LOSS_SMOOTH_L1;
		memcpy(add_src(&t, 0, 1, 1, 6, 0, 0, 0), x, sizeof x);
		add_src(&t, 1, 1, 1, 6, 0, 0, 0);
		free(add_dst(&t, 0, 1, 1, 1, 0));
		t.expected[0] = NULL;
		double *gradient = add_dst(&t, 1, 1, 1, 6, 0);
		for (int32_t i = 0; i < 6; i++)
			gradient[i] = k == 0 ? wing[i] * (fabs(x[i]) < 3 ? 0.3 : 1) : k == 1 ? l1[i] : smooth[i];
		check_case(&t, "kinks");
		free_case(&t);
	}
}
END_TEST

START_TEST(a_wrong_loss_is_refused)
{
	struct op_case t = new_case(PFLD_OP_LOSS, 2, SEED);
	struct pfld_error error;
	t.op.attr.loss = (struct pfld_loss_attr){.kind = PFLD_LOSS_PFLD};
	add_src(&t, 0, 1, 1, 4, 0, 0, 1);
	add_src(&t, 1, 1, 1, 4, 0, 0, 1);
	add_dst(&t, 0, 1, 1, 1, 0);
	add_dst(&t, 1, 1, 1, 4, 0);
	ck_assert_int_eq(check_op(&t, &error), PFLD_ERR_ARGUMENT);
	ck_assert_ptr_nonnull(strstr(error.message, "predicted angles"));
	t.op.attr.loss.kind = PFLD_LOSS_L2;
	ck_assert_int_eq(check_op(&t, &error), PFLD_OK);
	t.op.src[1].c = 5;
	t.op.src[1].pixel_stride = 5;
	ck_assert_int_eq(check_op(&t, &error), PFLD_ERR_SHAPE);
	ck_assert_ptr_nonnull(strstr(error.message, "target"));
	free_case(&t);
}
END_TEST

START_TEST(running_sums)
{
	struct op_case t = new_case(PFLD_OP_LOSS_SUMS, 300, SEED);
	double *loss = add_src(&t, 0, 1, 1, 1, 0, 0, 1), total = 0;
	double *sums = add_shared_dst(&t, 0, PFLD_SUMS_COUNT), *before = fill_dst(&t, 0, 0, 0);
	before[PFLD_SUMS_LOSS] = 1 << 20;
	before[PFLD_SUMS_SAMPLES] = 7;
	before[PFLD_SUMS_BAD] = 1;
	for (int32_t i = 0; i < 300; i++) total += loss[i];
	free(t.expected[0]);
	t.expected[0] = NULL;
	check_case(&t, "sums");
	// Each addition rounds to a sixteenth in float; what is lost is in the second number.
	ck_assert_double_eq_tol(t.got[0][PFLD_SUMS_LOSS] + t.got[0][PFLD_SUMS_LOSS_LOW], (1 << 20) + total, 1e-3);
	ck_assert_double_eq_tol(t.got[0][PFLD_SUMS_BATCH_LOSS], total / 300, 1e-6);
	ck_assert_double_eq(t.got[0][PFLD_SUMS_SAMPLES], 307);
	ck_assert_double_eq(t.got[0][PFLD_SUMS_BAD], 0);
	loss[5] = INFINITY;
	check_case(&t, "sums of a bad batch");
	ck_assert_double_eq(t.got[0][PFLD_SUMS_LOSS], 1 << 20);
	ck_assert_double_eq(t.got[0][PFLD_SUMS_SAMPLES], 7);
	ck_assert_double_eq(t.got[0][PFLD_SUMS_BAD], 1);
	(void)sums;
	free_case(&t);
}
END_TEST

// ---- functions ----

static void near_by(const char *name, double x, double got, double expected, double ulps)
{
	double distance = fabs(got - expected), unit = nextafter(fabs(expected), INFINITY) - fabs(expected);
	if (got == expected || (isnan(got) && isnan(expected)) || distance <= ulps * unit) return;
	ck_abort_msg("%s(%.17g) is %.17g, expected %.17g", name, x, got, expected);
}

START_TEST(functions)
{
	struct pfld_random random = pfld_random_stream(SEED, PFLD_RANDOM_TEST, 0, 0);
	static const double special[] = {0,    1,    -1,   0.625,  1e-300, 1e-17,    709.7,     710,
									 -708, -745, -746, 5e-324, 1e300,  INFINITY, -INFINITY, NAN};
	for (int32_t i = 0; i < 200000; i++) {
		double range = i % 3 == 0 ? 1 : i % 3 == 1 ? 30 : 700, x = pfld_random_range(&random, -range, range), s, c;
		if (i < (int32_t)PFLD_COUNT(special)) x = special[i];
		near_by("exp", x, pfld_cpu_exp(x), exp(x), 2);
		near_by("log", fabs(x), pfld_cpu_log(fabs(x)), log(fabs(x)), 2);
		near_by("tanh", x, pfld_cpu_tanh(x), tanh(x), 4);
		near_by("sigmoid", x, pfld_cpu_sigmoid(x), x < -700 ? exp(x) : 1 / (1 + exp(-x)), 4);
		if (fabs(x) > 1e9 && isfinite(x)) continue;
		pfld_cpu_sincos(x, &s, &c);
		if (isnan(sin(x)))
			ck_assert(isnan(s) && isnan(c));
		else if (fabs(s - sin(x)) > 2e-16 + 1e-16 * fabs(x) || fabs(c - cos(x)) > 2e-16 + 1e-16 * fabs(x))
			ck_abort_msg("sincos(%.17g)", x);
	}
	ck_assert(isnan(pfld_cpu_log(-1)));
	near_by("power", 0.999, pfld_cpu_power(0.999, 1000), pow(0.999, 1000), 2000);
	ck_assert_double_eq(pfld_cpu_power(0.9, 0), 1);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("ops_loss");
	TCase *tests = tcase_create("ops_loss");
	suite_add_tcase(suite, tests);
	tcase_set_timeout(tests, 300);
	tcase_add_checked_fixture(tests, open_devices, close_devices);
	tcase_add_test(tests, losses);
	tcase_add_test(tests, losses_of_single_numbers);
	tcase_add_test(tests, losses_at_kinks);
	tcase_add_test(tests, a_wrong_loss_is_refused);
	tcase_add_test(tests, running_sums);
	tcase_add_test(tests, functions);
	SRunner *runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	int failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
