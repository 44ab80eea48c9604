// SPDX-License-Identifier: MIT
// Learning-rate schedules against values worked out by hand and by the frameworks' rules.
#include <pfld/schedule.h>

#include <check.h>
#include <math.h>

static double rate(const struct pfld_schedule *schedule, int32_t epoch)
{
	return pfld_schedule_rate(schedule, epoch, 1000000);
}

START_TEST(constant)
{
	struct pfld_schedule schedule = {.rate = 0.25};
	ck_assert_double_eq(rate(&schedule, 1), 0.25);
	ck_assert_double_eq(rate(&schedule, 900), 0.25);
}
END_TEST

START_TEST(steps_drop_after_the_epoch_named)
{
	struct pfld_schedule schedule = {.kind = PFLD_SCHEDULE_STEPS, .rate = 1e-3, .steps = {10, 20}, .num_steps = 2};
	ck_assert_double_eq(rate(&schedule, 1), 1e-3);
	ck_assert_double_eq(rate(&schedule, 10), 1e-3);
	ck_assert_double_eq_tol(rate(&schedule, 11), 1e-4, 1e-18);
	ck_assert_double_eq_tol(rate(&schedule, 20), 1e-4, 1e-18);
	ck_assert_double_eq_tol(rate(&schedule, 21), 1e-5, 1e-18);
	schedule.factor = 0.5;
	ck_assert_double_eq_tol(rate(&schedule, 21), 2.5e-4, 1e-18);
	schedule.min_rate = 3e-4;
	ck_assert_double_eq(rate(&schedule, 21), 3e-4);
}
END_TEST

START_TEST(exponential)
{
	struct pfld_schedule schedule = {.kind = PFLD_SCHEDULE_EXPONENTIAL, .rate = 2};
	ck_assert_double_eq(rate(&schedule, 1), 2);
	ck_assert_double_eq_tol(rate(&schedule, 3), 2 * 0.95 * 0.95, 1e-15);
	schedule.factor = 0.5;
	ck_assert_double_eq_tol(rate(&schedule, 4), 0.25, 1e-15);
}
END_TEST

START_TEST(cosine)
{
	struct pfld_schedule schedule = {.kind = PFLD_SCHEDULE_COSINE, .rate = 0.2, .num_epochs = 4};
	const double want[] = {0.2, 0.1 * (1 + sqrt(0.5)), 0.1, 0.1 * (1 - sqrt(0.5)), 0, 0};
	for (int i = 0; i < 6; i++) ck_assert_double_eq_tol(rate(&schedule, i + 1), want[i], 1e-15);
	schedule.min_rate = 0.1;
	ck_assert_double_eq_tol(rate(&schedule, 3), 0.15, 1e-15);
	ck_assert_double_eq_tol(rate(&schedule, 5), 0.1, 1e-15);
}
END_TEST

START_TEST(plateau_as_pytorch_does_it)
{
	struct pfld_schedule schedule = {.kind = PFLD_SCHEDULE_PLATEAU, .rate = 1, .patience = 2};
	ck_assert_double_eq(rate(&schedule, 1), 1);
	// torch.optim.lr_scheduler.ReduceLROnPlateau(factor=0.1, patience=2) over these metrics
	const double metrics[] = {5, 4, 4.5, 3.9999, 4, 4, 4, 4, NAN, 3};
	const double rates[] = {1, 1, 1, 1, 0.1, 0.1, 0.1, 0.01, 0.01, 0.01};
	for (int i = 0; i < 10; i++) {
		pfld_schedule_epoch_end(&schedule, metrics[i]);
		ck_assert_double_eq_tol(rate(&schedule, i + 2), rates[i], 1e-15);
	}
	ck_assert_double_eq(schedule.best, 3);
	ck_assert_int_eq(schedule.num_bad_epochs, 0);
}
END_TEST

START_TEST(plateau_goes_on_from_saved_fields)
{
	struct pfld_schedule whole = {.kind = PFLD_SCHEDULE_PLATEAU, .rate = 1, .patience = 1};
	struct pfld_schedule resumed = whole;
	for (int i = 0; i < 9; i++) {
		pfld_schedule_epoch_end(&whole, 1);
		struct pfld_schedule fresh = {.kind = PFLD_SCHEDULE_PLATEAU,
									  .rate = 1,
									  .patience = 1,
									  .has_best = resumed.has_best,
									  .best = resumed.best,
									  .plateau_rate = resumed.plateau_rate,
									  .num_bad_epochs = resumed.num_bad_epochs};
		pfld_schedule_epoch_end(&fresh, 1);
		resumed = fresh;
		ck_assert_double_eq(rate(&resumed, i + 2), rate(&whole, i + 2));
	}
	ck_assert_double_eq_tol(rate(&whole, 11), 1e-4, 1e-18);
}
END_TEST

START_TEST(plateau_stops_at_the_floor)
{
	struct pfld_schedule schedule = {.kind = PFLD_SCHEDULE_PLATEAU, .rate = 1e-3, .min_rate = 5e-4, .patience = 1};
	for (int i = 0; i < 20; i++) pfld_schedule_epoch_end(&schedule, 1);
	ck_assert_double_eq(rate(&schedule, 21), 5e-4);
}
END_TEST

START_TEST(warm_up_rises_in_a_line)
{
	struct pfld_schedule schedule = {.kind = PFLD_SCHEDULE_CONSTANT, .rate = 1, .warmup_steps = 4};
	const double want[] = {0.25, 0.5, 0.75, 1, 1};
	for (int i = 0; i < 5; i++) ck_assert_double_eq_tol(pfld_schedule_rate(&schedule, 1, i), want[i], 1e-15);
}
END_TEST

START_TEST(names)
{
	enum pfld_schedule_kind kind;
	for (int i = PFLD_SCHEDULE_CONSTANT; i <= PFLD_SCHEDULE_PLATEAU; i++) {
		ck_assert(pfld_schedule_from_name(pfld_schedule_name((enum pfld_schedule_kind)i), &kind));
		ck_assert_int_eq((int)kind, i);
	}
	ck_assert(!pfld_schedule_from_name("Cosine", &kind));
	ck_assert(!pfld_schedule_from_name(NULL, &kind));
	ck_assert_str_eq(pfld_schedule_name((enum pfld_schedule_kind)99), "unknown");
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("schedule");
	TCase *tests = tcase_create("schedule");
	tcase_add_test(tests, constant);
	tcase_add_test(tests, steps_drop_after_the_epoch_named);
	tcase_add_test(tests, exponential);
	tcase_add_test(tests, cosine);
	tcase_add_test(tests, plateau_as_pytorch_does_it);
	tcase_add_test(tests, plateau_goes_on_from_saved_fields);
	tcase_add_test(tests, plateau_stops_at_the_floor);
	tcase_add_test(tests, warm_up_rises_in_a_line);
	tcase_add_test(tests, names);
	suite_add_tcase(suite, tests);
	SRunner *runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	int failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed != 0;
}
