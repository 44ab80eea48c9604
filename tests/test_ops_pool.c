// SPDX-License-Identifier: MIT
// Pooling and its gradients on every level and thread count against loops in double.
#include "op_case.h"

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { SEED = 77 };

static const struct {
	int32_t n, h, w, c, extra;
	int32_t kernel_h, kernel_w, stride_h, stride_w, pad_top, pad_left, out_h, out_w;
} shapes[] = {
	{1, 1, 1, 1, 0, 1, 1, 1, 1, 0, 0, 1, 1},   {3, 4, 6, 5, 2, 2, 2, 2, 2, 0, 0, 2, 3}, // side by side
	{2, 7, 9, 17, 0, 3, 3, 2, 2, 1, 1, 4, 5},  // overlapping, padded on both sides
	{2, 8, 8, 33, 3, 3, 2, 1, 3, 2, 0, 9, 3},  // more padding than the picture needs, uneven
	{4, 7, 7, 290, 0, 7, 7, 1, 1, 0, 0, 1, 1}, // global, channels over one block
	{2, 3, 5, 16, 1, 9, 9, 4, 4, 4, 4, 1, 2},  // windows larger than the picture
	{2, 6, 6, 8, 0, 2, 2, 3, 3, 0, 0, 2, 2},   // gaps between windows
};

static void set_attributes(struct op_case *t, int32_t s, bool max)
{
	t->op.attr.pool = (struct pfld_pool_attr){
		.max = max,
		.kernel_h = shapes[s].kernel_h,
		.kernel_w = shapes[s].kernel_w,
		.stride_h = shapes[s].stride_h,
		.stride_w = shapes[s].stride_w,
		.pad_top = shapes[s].pad_top,
		.pad_left = shapes[s].pad_left,
	};
}

// The index in x (n, h, w, c) that tap (i, j) of output (sample, row, column, channel) reads, or -1 for padding.
static int32_t tap(int32_t s, int32_t sample, int32_t row, int32_t column, int32_t channel, int32_t i, int32_t j)
{
	int32_t y = row * shapes[s].stride_h - shapes[s].pad_top + i,
			x = column * shapes[s].stride_w - shapes[s].pad_left + j;
	if (y < 0 || x < 0 || y >= shapes[s].h || x >= shapes[s].w) return -1;
	return ((sample * shapes[s].h + y) * shapes[s].w + x) * shapes[s].c + channel;
}

// One output: its value, and what it gives back to x.
static double window(int32_t s, bool max, const double *x, int32_t output, double dy, double *dx)
{
	int32_t channel = output % shapes[s].c, pixel = output / shapes[s].c, column = pixel % shapes[s].out_w;
	int32_t row = pixel / shapes[s].out_w % shapes[s].out_h, sample = pixel / shapes[s].out_w / shapes[s].out_h;
	int32_t best = -1, count = 0;
	double sum = 0;
	for (int32_t i = 0; i < shapes[s].kernel_h; i++) {
		for (int32_t j = 0; j < shapes[s].kernel_w; j++) {
			int32_t at = tap(s, sample, row, column, channel, i, j);
			if (at < 0) continue;
			count++;
			if (best < 0 || (x && x[at] > x[best])) best = at;
			if (x) sum += x[at];
		}
	}
	for (int32_t i = 0; dx && !max && i < shapes[s].kernel_h; i++) {
		for (int32_t j = 0; j < shapes[s].kernel_w; j++) {
			int32_t at = tap(s, sample, row, column, channel, i, j);
			if (at >= 0) dx[at] += dy / count;
		}
	}
	if (dx && max) dx[best] += dy;
	return max ? x[best] : sum / count;
}

static const char *case_name(const char *what, int32_t shape, bool max)
{
	static char name[64];
	snprintf(name, sizeof name, "%s, shape %d, %s, seed %d", what, (int)shape, max ? "max" : "average", SEED);
	return name;
}

static void pool_one(int32_t s, bool max)
{
	struct op_case t = new_case(PFLD_OP_POOL, shapes[s].n, SEED);
	set_attributes(&t, s, max);
	double *x = add_src(&t, 0, shapes[s].h, shapes[s].w, shapes[s].c, shapes[s].extra, -2, 1);
	double *y = add_dst(&t, 0, shapes[s].out_h, shapes[s].out_w, shapes[s].c, shapes[s].extra);
	for (int32_t i = 0; i < (int32_t)case_elements(&t, &t.op.dst[0]); i++) y[i] = window(s, max, x, i, 0, NULL);
	check_case(&t, case_name("pool", s, max));
	free_case(&t);
}

static void pool_gradient_one(int32_t s, bool max, bool add)
{
	struct op_case t = new_case(PFLD_OP_POOL_GRADIENT, shapes[s].n, SEED);
	set_attributes(&t, s, max);
	double *dy = add_src(&t, 0, shapes[s].out_h, shapes[s].out_w, shapes[s].c, shapes[s].extra, -2, 1), *x = NULL;
	if (max) {
		x = add_src(&t, 1, shapes[s].h, shapes[s].w, shapes[s].c, 1, 0, 1);
		// Few different values: the first of equals takes the gradient.
		for (size_t i = 0; i < case_elements(&t, &t.op.src[1]); i++) x[i] = floor(x[i] * 3);
	}
	double *dx = add_dst(&t, 0, shapes[s].h, shapes[s].w, shapes[s].c, shapes[s].extra);
	t.op.accumulate[0] = add;
	double *before = add ? fill_dst(&t, 0, -1, 1) : NULL;
	for (int32_t i = 0; i < (int32_t)case_elements(&t, &t.op.src[0]); i++) window(s, max, x, i, dy[i], dx);
	for (size_t i = 0; add && i < case_elements(&t, &t.op.dst[0]); i++) dx[i] += before[i];
	check_case(&t, case_name("pool_gradient", s, max));
	free_case(&t);
}

START_TEST(pool)
{
	for (int32_t s = 0; s < (int32_t)PFLD_COUNT(shapes); s++) {
		pool_one(s, false);
		pool_one(s, true);
	}
}
END_TEST

START_TEST(pool_gradient)
{
	for (int32_t s = 0; s < (int32_t)PFLD_COUNT(shapes); s++) {
		for (int32_t variant = 0; variant < 4; variant++) pool_gradient_one(s, variant & 1, variant & 2);
	}
}
END_TEST

START_TEST(not_a_number_comes_through)
{
	for (int32_t max = 0; max < 2; max++) {
		struct op_case t = new_case(PFLD_OP_POOL, 1, SEED);
		t.op.attr.pool =
			(struct pfld_pool_attr){.max = max, .kernel_h = 1, .kernel_w = 4, .stride_h = 1, .stride_w = 4};
		double *x = add_src(&t, 0, 1, 4, 21, 0, 0, 1), *y = add_dst(&t, 0, 1, 1, 21, 0);
		for (int32_t j = 0; j < 21; j++) {
			if (j % 5 != 4) x[j % 5 * 21 + j] = NAN; // first, in between, last
			y[j] = j % 5 != 4 ? NAN : fmax(fmax(x[j], x[21 + j]), fmax(x[42 + j], x[63 + j]));
			if (j % 5 == 4 && !max) y[j] = (x[j] + x[21 + j] + x[42 + j] + x[63 + j]) / 4;
		}
		check_case(&t, case_name("NaN", 0, max));
		free_case(&t);
	}
}
END_TEST

START_TEST(windows_of_nothing_are_refused)
{
	struct op_case t = new_case(PFLD_OP_POOL, 1, SEED);
	struct pfld_error error;
	t.op.attr.pool = (struct pfld_pool_attr){.kernel_h = 2, .kernel_w = 2, .stride_h = 2, .stride_w = 2};
	add_src(&t, 0, 4, 4, 3, 0, 0, 1);
	add_dst(&t, 0, 3, 2, 3, 0);
	ck_assert_int_eq(check_op(&t, &error), PFLD_ERR_SHAPE);
	t.op.dst[0].h = 2;
	ck_assert_int_eq(check_op(&t, &error), PFLD_OK);
	t.op.attr.pool.pad_left = 2;
	ck_assert_int_eq(check_op(&t, &error), PFLD_ERR_ARGUMENT);
	free_case(&t);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("ops_pool");
	TCase *tests = tcase_create("ops_pool");
	suite_add_tcase(suite, tests);
	tcase_set_timeout(tests, 300);
	tcase_add_checked_fixture(tests, open_devices, close_devices);
	tcase_add_test(tests, pool);
	tcase_add_test(tests, pool_gradient);
	tcase_add_test(tests, not_a_number_comes_through);
	tcase_add_test(tests, windows_of_nothing_are_refused);
	SRunner *runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	int failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
