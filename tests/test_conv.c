// SPDX-License-Identifier: MIT
// Convolution ops of the cpu backend against double-precision loops: every instruction-set level, shapes with every
// kind of tail, operands inside wider pixels, NaN in everything that must not be read, guard pages behind every buffer,
// and equal bits for every thread count, order of items, and n below the batch. Goes through the op entries, so no
// device layer is needed. Also built in double precision.
#include "conv_problem.h"

#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

START_TEST(values)
{
	for (int32_t n = 1; n <= 5; n += 2) {
		bool wide = n == 3;
		struct problem p;
		problem_create(&p, &conv_shapes[_i], n, wide);
		for (size_t level = 0; level < 2 * num_conv_levels(); level++) {
			struct setting setting = {&conv_levels[level / 2], 2};
			bool add = level % 2 == 1;
			struct tensor y;
			struct gradients g;
			check_forward(&p, &setting, n, wide, true, add, &y);
			check_backward(&p, &setting, n, wide, ALL, add, &g);
			tensor_destroy(&y);
			gradients_destroy(&g);
		}
		problem_destroy(&p);
	}
}
END_TEST

START_TEST(optional_results)
{
	struct problem p;
	problem_create(&p, &conv_shapes[_i], 2, true);
	for (size_t level = 0; level < num_conv_levels(); level++) {
		struct setting setting = {&conv_levels[level], 3};
		struct tensor y;
		check_forward(&p, &setting, 2, true, false, false, &y);
		FOR_EACH(&y, s, i, j, c) if (isnan(*element(&y, s, i, j, c))) ck_abort_msg("y holds what was there before");
		tensor_destroy(&y);
		for (int wanted = 1; wanted < ALL; wanted++) {
			struct gradients g;
			check_backward(&p, &setting, 2, true, wanted, false, &g);
			gradients_destroy(&g);
		}
	}
	problem_destroy(&p);
}
END_TEST

// Runs again on other threads, with room for a larger batch, into wider pixels where asked for: the same bits.
static void check_same(struct problem *p, const struct setting *setting, int32_t batch, bool wide,
                       const struct tensor *y, const struct gradients *g)
{
	struct tensor other_y;
	struct gradients other;
	check_forward(p, setting, batch, wide, true, false, &other_y);
	check_backward(p, setting, batch, wide, ALL, false, &other);
	check_equal(y, &other_y, p->n, "y");
	check_equal(&g->dx, &other.dx, p->n, "dx");
	check_equal(&g->dkernel, &other.dkernel, 1, "dkernel");
	check_equal(&g->dbias, &other.dbias, 1, "dbias");
	tensor_destroy(&other_y);
	gradients_destroy(&other);
}

START_TEST(bits)
{
	struct problem p, one;
	problem_create(&p, &conv_shapes[_i], 5, false);
	problem_create_from(&one, &p, 3);
	for (size_t level = 0; level < num_conv_levels(); level++) {
		const struct pfld_cpu_kernels *kernels = &conv_levels[level];
		struct tensor y, one_y;
		struct gradients g, one_g;
		check_forward(&p, &(struct setting){kernels, 1}, 5, false, true, false, &y);
		check_backward(&p, &(struct setting){kernels, 1}, 5, false, ALL, false, &g);
		check_same(&p, &(struct setting){kernels, 2}, 5, false, &y, &g);
		check_same(&p, &(struct setting){kernels, 3}, 7, false, &y, &g);
		check_same(&p, &(struct setting){kernels, 7}, 20, false, &y, &g);
		// A sample's bits do not depend on its batch mates.
		check_forward(&one, &(struct setting){kernels, 2}, 4, false, true, false, &one_y);
		check_backward(&one, &(struct setting){kernels, 2}, 4, false, DX, false, &one_g);
		check_equal_sample(&y, 3, &one_y, 0, "y beside no others");
		check_equal_sample(&g.dx, 3, &one_g.dx, 0, "dx beside no others");
		tensor_destroy(&one_y);
		gradients_destroy(&one_g);
		tensor_destroy(&y);
		gradients_destroy(&g);
	}
	problem_destroy(&one);
	problem_destroy(&p);
}
END_TEST

// Large enough for several slabs, blocks of steps, column blocks and groups at once.
static const struct shape large_shapes[] = {
	{28, 28, 24, 40, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0},  {20, 20, 72, 20, 1, 3, 3, 1, 1, 1, 1, 1, 1, 1, 1},
	{40, 40, 3, 20, 1, 3, 3, 2, 2, 1, 1, 1, 1, 1, 1},   {28, 28, 16, 12, 1, 3, 3, 2, 2, 1, 1, 1, 1, 1, 1},
	{40, 40, 20, 20, 20, 3, 3, 1, 1, 1, 1, 1, 1, 1, 1}, {41, 40, 20, 20, 20, 3, 3, 2, 2, 1, 1, 1, 1, 1, 1},
};

START_TEST(large)
{
	struct problem p;
	problem_create(&p, &large_shapes[_i], 2, false);
	for (size_t level = 0; level < num_conv_levels(); level++) {
		struct tensor y;
		struct gradients g;
		check_forward(&p, &(struct setting){&conv_levels[level], 1}, 2, false, true, false, &y);
		check_backward(&p, &(struct setting){&conv_levels[level], 1}, 2, false, ALL, false, &g);
		check_same(&p, &(struct setting){&conv_levels[level], 5}, 20, true, &y, &g);
		tensor_destroy(&y);
		gradients_destroy(&g);
	}
	problem_destroy(&p);
}
END_TEST

int main(void)
{
	TCase *tests = tcase_create("conv");
	tcase_set_timeout(tests, 60);
	tcase_add_loop_test(tests, values, 0, NUM_CONV_SHAPES);
	tcase_add_loop_test(tests, optional_results, 0, NUM_CONV_SHAPES);
	tcase_add_loop_test(tests, bits, 0, NUM_CONV_SHAPES);
	tcase_add_loop_test(tests, large, 0, PFLD_COUNT(large_shapes));
	Suite *suite = suite_create("conv");
	suite_add_tcase(suite, tests);
	SRunner *runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	int failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
