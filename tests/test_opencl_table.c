// SPDX-License-Identifier: MIT
// The opencl backend's table of ops has no hole: every kind of op.h is done there.
#include "opencl/cl.h"

#include <check.h>
#include <stdlib.h>

// Kinds that are still to come, and the end; it fails where one is named that is there.
static const enum pfld_op_kind missing[] = {PFLD_OP_CONV2D, PFLD_OP_CONV2D_GRADIENT, PFLD_OP_NUM_KINDS};

static bool may_miss(int32_t kind)
{
	for (size_t i = 0; i < PFLD_COUNT(missing); i++)
		if ((int32_t)missing[i] == kind) return true;
	return false;
}

START_TEST(no_hole)
{
	for (int32_t kind = 0; kind < PFLD_OP_NUM_KINDS; kind++) {
		const struct pfld_cl_op *op = pfld_cl_ops[kind];
		const char *name = pfld_op_name((enum pfld_op_kind)kind);
		ck_assert_msg(may_miss(kind) == !op, "%s: %s", name, op ? "is there, and named as missing" : "is not done");
		ck_assert_msg(!op || (op->prepare && op->enqueue), "%s: an entry without functions", name);
	}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("opencl_table");
	TCase *tests = tcase_create("opencl_table");
	suite_add_tcase(suite, tests);
	tcase_add_test(tests, no_hole);
	SRunner *runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	int failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
