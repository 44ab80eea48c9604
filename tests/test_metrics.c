// SPDX-License-Identifier: MIT
// NME of a face and the metrics of many: values worked out by hand, the choice of corners, faces without a normaliser.
#include <pfld/metrics.h>

#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

// A face whose outer eye corners a, b are 100 apart and whose pupils (when it has them) are 60 apart.
static void make_face(float *points, int32_t num_points, int32_t a, int32_t b)
{
	for (int32_t i = 0; i < num_points; i++) {
		points[2 * i] = 3.0f * (float)i;
		points[2 * i + 1] = 200.0f - (float)i;
	}
	points[2 * a] = 100;
	points[2 * a + 1] = 120;
	points[2 * b] = 180;
	points[2 * b + 1] = 180;
	if (num_points > 97) {
		points[2 * 96] = 110;
		points[2 * 96 + 1] = 140;
		points[2 * 97] = 158;
		points[2 * 97 + 1] = 176;
	}
}

static void shift(float *to, const float *from, int32_t num_points, float dx, float dy)
{
	for (int32_t i = 0; i < num_points; i++) {
		to[2 * i] = from[2 * i] + dx;
		to[2 * i + 1] = from[2 * i + 1] + dy;
	}
}

START_TEST(corners_decide_the_normaliser)
{
	float truth[2 * 98], prediction[2 * 98];
	make_face(truth, 98, 60, 72);
	shift(prediction, truth, 98, 3, 4);
	ck_assert_double_eq_tol(pfld_nme(prediction, truth, NULL, 98, (int32_t[]){60, 72}), 0.05, 1e-9);
	ck_assert_double_eq_tol(pfld_nme(prediction, truth, NULL, 98, (int32_t[]){96, 97}), 5.0 / 60, 1e-9);
	make_face(truth, 68, 36, 45);
	shift(prediction, truth, 68, 3, 4);
	ck_assert_double_eq_tol(pfld_nme(prediction, truth, NULL, 68, (int32_t[]){36, 45}), 0.05, 1e-9);
}
END_TEST

START_TEST(missing_points_do_not_count)
{
	float truth[8] = {0, 0, 10, 0, 5, 5, 7, 7}, prediction[8] = {1, 0, 10, 0, 5, 5, 900, 7};
	float mask[8] = {1, 1, 1, 1, 1, 1, 0, 0};
	int32_t corners[2] = {0, 1};
	ck_assert_double_eq_tol(pfld_nme(prediction, truth, mask, 4, corners), 1.0 / 3 / 10, 1e-12);
	mask[2] = mask[3] = 0;
	ck_assert(isnan(pfld_nme(prediction, truth, mask, 4, corners)));
}
END_TEST

START_TEST(faces_without_a_normaliser_are_undefined)
{
	float truth[6] = {4, 4, 4, 4, 9, 9}, prediction[6] = {4, 4, 4, 4, 9, 9};
	ck_assert(isnan(pfld_nme(prediction, truth, NULL, 3, (int32_t[]){0, 1})));
	ck_assert(isnan(pfld_nme(prediction, truth, NULL, 3, (int32_t[]){0, 3})));
	ck_assert(isnan(pfld_nme(prediction, truth, NULL, 3, (int32_t[]){-1, 1})));
	ck_assert(isnan(pfld_nme(prediction, truth, NULL, 0, (int32_t[]){0, 0})));
	prediction[5] = NAN;
	ck_assert(isinf(pfld_nme(prediction, truth, NULL, 3, (int32_t[]){0, 2})));
}
END_TEST

START_TEST(means_are_over_faces)
{
	const double nmes[] = {0.09, 0.09, 0.42};
	struct pfld_landmark_metrics metrics;
	struct pfld_error error;
	ck_assert_int_eq(pfld_landmark_metrics(nmes, 3, 0, &metrics, &error), PFLD_OK);
	ck_assert_int_eq(metrics.num_images, 3);
	ck_assert_int_eq(metrics.num_undefined, 0);
	ck_assert_double_eq_tol(metrics.nme, 0.2, 1e-12);
	ck_assert_double_eq(metrics.nme_median, 0.09);
	ck_assert_double_eq_tol(metrics.failure_rate, 1.0 / 3, 1e-15);
	ck_assert_int_eq(pfld_landmark_metrics(nmes, 3, 0.08, &metrics, &error), PFLD_OK);
	ck_assert_double_eq(metrics.failure_rate, 1);
	ck_assert_double_eq(metrics.auc, 0);
}
END_TEST

START_TEST(undefined_faces_are_counted_apart)
{
	const double nmes[] = {NAN, 0.02, INFINITY, 0.04};
	struct pfld_landmark_metrics metrics;
	ck_assert_int_eq(pfld_landmark_metrics(nmes, 2, 0, &metrics, NULL), PFLD_OK);
	ck_assert_int_eq(metrics.num_images, 1);
	ck_assert_int_eq(metrics.num_undefined, 1);
	ck_assert_double_eq(metrics.nme, 0.02);
	ck_assert_int_eq(pfld_landmark_metrics(nmes, 4, 0, &metrics, NULL), PFLD_OK);
	ck_assert_double_eq(metrics.nme_median, 0.04);
	ck_assert_double_eq_tol(metrics.failure_rate, 1.0 / 3, 1e-15);
	ck_assert(isinf(metrics.nme));
	ck_assert_int_eq(pfld_landmark_metrics(nmes, 1, 0, &metrics, NULL), PFLD_OK);
	ck_assert_int_eq(metrics.num_images, 0);
	ck_assert(isnan(metrics.nme) && isnan(metrics.nme_median) && isnan(metrics.failure_rate) && isnan(metrics.auc));
	ck_assert_int_eq(pfld_landmark_metrics(NULL, 0, 0, &metrics, NULL), PFLD_OK);
	ck_assert_int_eq(metrics.num_images, 0);
}
END_TEST

START_TEST(area_under_the_curve)
{
	struct pfld_landmark_metrics metrics;
	// A step at 0.05: Simpson's rule over 1000 intervals is off by less than one of them.
	const double half[] = {0.05, 0.05, 0.05};
	ck_assert_int_eq(pfld_landmark_metrics(half, 3, 0.1, &metrics, NULL), PFLD_OK);
	ck_assert_double_eq_tol(metrics.auc, 0.5, 1e-3);
	const double perfect[] = {0, 0};
	ck_assert_int_eq(pfld_landmark_metrics(perfect, 2, 0.1, &metrics, NULL), PFLD_OK);
	ck_assert_double_eq_tol(metrics.auc, 1, 1e-12);
	// Errors spread evenly: the curve is a straight line.
	enum { NUM = 1000 };
	double *line = malloc(NUM * sizeof(*line));
	ck_assert_ptr_nonnull(line);
	for (int i = 0; i < NUM; i++) line[i] = 0.1 * (i + 0.5) / NUM;
	ck_assert_int_eq(pfld_landmark_metrics(line, NUM, 0.1, &metrics, NULL), PFLD_OK);
	ck_assert_double_eq_tol(metrics.auc, 0.5, 1e-3);
	ck_assert_double_eq(metrics.failure_rate, 0);
	free(line);
}
END_TEST

START_TEST(wrong_arguments)
{
	struct pfld_landmark_metrics metrics = {.nme = 7};
	struct pfld_error error;
	ck_assert_int_eq(pfld_landmark_metrics(NULL, 3, 0, &metrics, &error), PFLD_ERR_ARGUMENT);
	ck_assert_int_eq(pfld_landmark_metrics((double[]){1}, 1, NAN, &metrics, &error), PFLD_ERR_ARGUMENT);
	ck_assert_int_eq(pfld_landmark_metrics((double[]){1}, -1, 0, &metrics, &error), PFLD_ERR_ARGUMENT);
	ck_assert_double_eq(metrics.nme, 7);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("metrics");
	TCase *tests = tcase_create("metrics");
	tcase_add_test(tests, corners_decide_the_normaliser);
	tcase_add_test(tests, missing_points_do_not_count);
	tcase_add_test(tests, faces_without_a_normaliser_are_undefined);
	tcase_add_test(tests, means_are_over_faces);
	tcase_add_test(tests, undefined_faces_are_counted_apart);
	tcase_add_test(tests, area_under_the_curve);
	tcase_add_test(tests, wrong_arguments);
	suite_add_tcase(suite, tests);
	SRunner *runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	int failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed != 0;
}
