// SPDX-License-Identifier: MIT
// What convolutions do beside convolving: sources that are pending give the bits of the same numbers in memory, and what is
// gathered from results for batch norms equals loops in double precision. Also built in double precision.
#include "conv_problem.h"

#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

// ---- sources that are pending ----

// What x and dy of a problem are computed from.
struct origin {
	struct tensor x, dy, dy_x, numbers[6];
	struct pfld_pending x_pending, dy_pending;
};

static struct pfld_operand random_numbers(struct tensor *tensor, int32_t num)
{
	tensor_create(tensor, 1, 1, 1, num, 0, 0);
	fill_random(tensor);
	return tensor->operand;
}

static void origin_create(struct origin *o, const struct problem *p)
{
	int32_t c = p->shape.c, filters = p->shape.filters;
	const struct pfld_operand *dy = &p->dy.operand;
	tensor_create(&o->x, p->n, p->shape.h, p->shape.w, c, 2, 1);
	tensor_create(&o->dy, p->n, dy->h, dy->w, filters, 0, 3);
	tensor_create(&o->dy_x, p->n, dy->h, dy->w, filters, 1, 0);
	fill_random(&o->x);
	fill_random(&o->dy);
	fill_random(&o->dy_x);
	o->x_pending = (struct pfld_pending){
		.kind = PFLD_PENDING_VALUE,
		.act = PFLD_ACT_LEAKY,
		.slope = 0.25,
		.scale = random_numbers(&o->numbers[0], c),
		.shift = random_numbers(&o->numbers[1], c),
	};
	o->dy_pending = (struct pfld_pending){
		.kind = PFLD_PENDING_GRADIENT,
		.act = PFLD_ACT_RELU,
		.x = o->dy_x.operand,
		.scale = random_numbers(&o->numbers[2], filters),
		.shift = random_numbers(&o->numbers[3], filters),
		.mean = random_numbers(&o->numbers[4], filters),
	};
	o->dy_pending.mean_dz = o->dy_pending.slope_x = random_numbers(&o->numbers[5], filters);
	o->x.operand.pending = &o->x_pending;
	o->dy.operand.pending = &o->dy_pending;
}

static void origin_destroy(struct origin *o)
{
	tensor_destroy(&o->x);
	tensor_destroy(&o->dy);
	tensor_destroy(&o->dy_x);
	for (size_t i = 0; i < PFLD_COUNT(o->numbers); i++) tensor_destroy(&o->numbers[i]);
}

// The tensor that a pending one stands for.
static void materialise(const struct pfld_cpu_kernels *kernels, const struct tensor *pending, struct tensor *out)
{
	struct pfld_cpu_source source = pfld_cpu_source(&pending->operand);
	int64_t num_pixels = pfld_cpu_num_pixels(&pending->operand, pending->n);
	struct pfld_cpu_piece piece = {0, num_pixels, 1, 0, pending->operand.c};
	pfld_cpu_load(kernels, &source, &piece, pfld_cpu_at(&out->operand), out->operand.pixel_stride);
}

START_TEST(pending)
{
	for (size_t level = 0; level < num_conv_levels(); level++) {
		struct setting setting = {&conv_levels[level], 2};
		struct problem p;
		struct origin origin;
		problem_allocate(&p, &conv_shapes[_i], 3, false);
		fill_random(&p.kernel);
		fill_random(&p.bias);
		origin_create(&origin, &p);
		materialise(setting.kernels, &origin.x, &p.x);
		materialise(setting.kernels, &origin.dy, &p.dy);
		FOR_EACH(&p.dy, s, y, x, f) reference_at(&p, s, y, x, f);
		struct tensor y[2];
		struct gradients g[2];
		check_forward(&p, &setting, 3, false, true, false, &y[0]);
		check_backward(&p, &setting, 3, false, ALL, false, &g[0]);
		struct problem q = p;
		struct pfld_op op = op_of(&p, PFLD_OP_CONV2D), back = op_of(&p, PFLD_OP_CONV2D_GRADIENT);
		op.src[0] = back.src[0] = origin.x.operand;
		op.dst[0] = p.dy.operand;
		back.src[2] = origin.dy.operand;
		back.dst[0] = p.x.operand;
		// Groups are not read so, nor a window as large as the picture, which becomes a linear layer over its elements.
		bool reads_x = pfld_cpu_conv2d.reads_pending(&op, 0);
		ck_assert(reads_x == pfld_cpu_conv2d_gradient.reads_pending(&back, 0));
		ck_assert(reads_x || p.shape.groups > 1 || p.shape.kernel_h == p.shape.h);
		if (reads_x) q.x = origin.x;
		if (pfld_cpu_conv2d_gradient.reads_pending(&back, 2)) q.dy = origin.dy;
		check_forward(&q, &setting, 3, false, true, false, &y[1]);
		check_backward(&q, &setting, 3, false, ALL, false, &g[1]);
		check_equal(&y[0], &y[1], 3, "y of pending x");
		check_equal(&g[0].dx, &g[1].dx, 3, "dx of pending dy");
		check_equal(&g[0].dkernel, &g[1].dkernel, 1, "dkernel of pending x and dy");
		check_equal(&g[0].dbias, &g[1].dbias, 1, "dbias of pending dy");
		for (int i = 0; i < 2; i++) {
			tensor_destroy(&y[i]);
			gradients_destroy(&g[i]);
		}
		origin_destroy(&origin);
		problem_destroy(&p);
	}
}
END_TEST

// ---- what is gathered from results ----

// |got - want| in units of `size`.
static void check_number(const struct problem *p, const char *what, int32_t channel, double got, double want, double size)
{
	if (fabs(got - want) <= 4 * tolerance * size) return;
	ck_abort_msg("%s of channel %d is %.9g, not %.9g (%dx%dx%d to %d, n %d)", what, (int)channel, got, want,
	             (int)p->shape.h, (int)p->shape.w, (int)p->shape.c, (int)p->shape.filters, (int)p->n);
}

static bool is_depthwise(const struct shape *shape)
{
	return shape->groups > 1 && shape->groups == shape->c && shape->groups == shape->filters;
}

static void check_statistics(struct problem *p, const struct setting *setting)
{
	struct tensor y, mean, m2;
	result_create(&y, &p->dy, true);
	result_create(&mean, &p->bias, false);
	result_create(&m2, &p->bias, false);
	struct pfld_op op = op_of(p, PFLD_OP_CONV2D);
	op.src[0] = p->x.operand;
	op.src[1] = p->kernel.operand;
	op.dst[0] = y.operand;
	op.dst[1] = mean.operand;
	op.dst[2] = m2.operand;
	const char *reason;
	if (pfld_cpu_conv2d.supports(&op, &reason)) {
		run_op(&pfld_cpu_conv2d, &op, setting, p->n + 1, &(struct pfld_run){.n = p->n});
		for (int32_t f = 0; f < y.operand.c; f++) {
			double sum = 0, size = 0, square = 0, count = (double)pfld_cpu_num_pixels(&y.operand, p->n);
			FOR_EACH(&y, s, i, j, k) if (k == f) sum += *element(&y, s, i, j, k), size += fabs(*element(&y, s, i, j, k));
			FOR_EACH(&y, s, i, j, k) if (k == f) square += pow(*element(&y, s, i, j, k) - sum / count, 2);
			check_number(p, "mean", f, *element(&mean, 0, 0, 0, f), sum / count, size / count);
			check_number(p, "m2", f, *element(&m2, 0, 0, 0, f), square, square + size * size / count);
		}
	} else {
		ck_assert(p->shape.groups > 1 && !is_depthwise(&p->shape));
	}
	tensor_destroy(&y);
	tensor_destroy(&mean);
	tensor_destroy(&m2);
}

static void check_sums(struct problem *p, const struct setting *setting)
{
	struct tensor dx, x, numbers[4], results[4];
	int32_t c = p->shape.c;
	result_create(&dx, &p->x, true);
	result_create(&x, &p->x, true);
	fill_random(&x);
	struct pfld_op op = op_of(p, PFLD_OP_CONV2D_GRADIENT);
	op.src[1] = p->kernel.operand;
	op.src[2] = p->dy.operand;
	op.src[3] = x.operand;
	for (int i = 0; i < 4; i++) {
		op.src[4 + i] = random_numbers(&numbers[i], c);
		tensor_create(&results[i], 1, 1, 1, c, 0, 0);
		fill_random(&results[i]);
		op.dst[3 + i] = results[i].operand;
	}
	op.dst[0] = dx.operand;
	op.gradient[5] = op.gradient[6] = true;
	op.attr.conv.norm_act = PFLD_ACT_RELU;
	const char *reason;
	if (pfld_cpu_conv2d_gradient.supports(&op, &reason)) {
		run_op(&pfld_cpu_conv2d_gradient, &op, setting, p->n + 1, &(struct pfld_run){.n = p->n});
		double count = (double)pfld_cpu_num_pixels(&dx.operand, p->n);
		for (int32_t k = 0; k < c; k++) {
			double sum[2] = {0}, size[2] = {0}, number[4];
			for (int i = 0; i < 4; i++) number[i] = *element(&numbers[i], 0, 0, 0, k);
			FOR_EACH(&dx, s, i, j, l)
			{
				double at = *element(&x, s, i, j, l), dz = *element(&dx, s, i, j, l), far = (at - number[2]) * number[3];
				if (l != k || number[0] * at + number[1] <= 0) continue;
				sum[0] += dz;
				sum[1] += dz * far;
				size[0] += fabs(dz);
				size[1] += fabs(dz * far);
			}
			check_number(p, "mean_dz", k, *element(&results[0], 0, 0, 0, k), sum[0] / count, size[0] / count);
			check_number(p, "slope_x", k, *element(&results[1], 0, 0, 0, k), number[3] * sum[1] / count,
			             fabs(number[3]) * size[1] / count);
			check_number(p, "dbeta", k, *element(&results[2], 0, 0, 0, k), sum[0], size[0]);
			check_number(p, "dgamma", k, *element(&results[3], 0, 0, 0, k), sum[1], size[1]);
		}
	} else {
		ck_assert(!is_depthwise(&p->shape));
	}
	tensor_destroy(&dx);
	tensor_destroy(&x);
	for (int i = 0; i < 4; i++) {
		tensor_destroy(&numbers[i]);
		tensor_destroy(&results[i]);
	}
}

START_TEST(gathered)
{
	for (int32_t n = 1; n <= 3; n += 2) {
		struct problem p;
		problem_create(&p, &conv_shapes[_i], n, false);
		for (size_t level = 0; level < num_conv_levels(); level++) {
			check_statistics(&p, &(struct setting){&conv_levels[level], 2});
			check_sums(&p, &(struct setting){&conv_levels[level], 3});
		}
		problem_destroy(&p);
	}
}
END_TEST

int main(void)
{
	TCase *tests = tcase_create("conv_pending");
	tcase_set_timeout(tests, 60);
	tcase_add_loop_test(tests, pending, 0, NUM_CONV_SHAPES);
	tcase_add_loop_test(tests, gathered, 0, NUM_CONV_SHAPES);
	Suite *suite = suite_create("conv_pending");
	suite_add_tcase(suite, tests);
	SRunner *runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	int failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
