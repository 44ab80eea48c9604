// SPDX-License-Identifier: MIT
// Landmark metrics on the host: NME of one face, and what is said of many faces. Not here: the corners that normalise
// (lib/data/landmarks.c). Called by programs after inference; plain loops in double, one fixed order of additions.
#include <pfld/metrics.h>

#include "base/base.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { NUM_CURVE_INTERVALS = 1000 }; // of the cumulative error curve; even, as Simpson's rule wants it

static bool counts(const float *mask, int32_t point)
{
	return !mask || (mask[2 * point] != 0 && mask[2 * point + 1] != 0);
}

double pfld_nme(const float *prediction, const float *truth, const float *mask, int32_t num_points,
				const int32_t corners[2])
{
	for (int i = 0; i < 2; i++)
		if (corners[i] < 0 || corners[i] >= num_points || !counts(mask, corners[i])) return NAN;
	double dx = (double)truth[2 * corners[0]] - truth[2 * corners[1]];
	double dy = (double)truth[2 * corners[0] + 1] - truth[2 * corners[1] + 1];
	double normaliser = sqrt(dx * dx + dy * dy);
	if (!(normaliser > 0) || !isfinite(normaliser)) return NAN;
	double sum = 0;
	int32_t num = 0;
	for (int32_t i = 0; i < num_points; i++) {
		if (!counts(mask, i)) continue;
		dx = (double)prediction[2 * i] - truth[2 * i];
		dy = (double)prediction[2 * i + 1] - truth[2 * i + 1];
		sum += sqrt(dx * dx + dy * dy);
		num++;
	}
	double nme = sum / num / normaliser; // num >= 2: the corners count
	return isfinite(nme) ? nme : INFINITY;
}

static int compare_doubles(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

// How many of the sorted errors are at most `limit`, counting on from `within`.
static int64_t count_within(const double *sorted, int64_t num, double limit, int64_t within)
{
	while (within < num && sorted[within] <= limit) within++;
	return within;
}

// Simpson's rule over the cumulative error curve from 0 to `threshold`, divided by it.
static double area_under_curve(const double *sorted, int64_t num, double threshold)
{
	double sum = 0;
	int64_t within = 0;
	for (int32_t i = 0; i <= NUM_CURVE_INTERVALS; i++) {
		double weight = i == 0 || i == NUM_CURVE_INTERVALS ? 1 : i % 2 ? 4 : 2;
		within = count_within(sorted, num, threshold * i / NUM_CURVE_INTERVALS, within);
		sum += weight * (double)within;
	}
	return sum / (3.0 * NUM_CURVE_INTERVALS * (double)num);
}

enum pfld_status pfld_landmark_metrics(const double *nmes, int64_t num, double failure_threshold,
									   struct pfld_landmark_metrics *metrics, struct pfld_error *error)
{
	if (num < 0 || (num > 0 && !nmes) || !metrics || !(failure_threshold >= 0) || !isfinite(failure_threshold))
		return pfld_fail(error, PFLD_ERR_ARGUMENT, "metrics need errors to look at and a threshold of 0 or more");
	double threshold = failure_threshold > 0 ? failure_threshold : 0.1;
	double *sorted = pfld_calloc((size_t)num + 1, sizeof(*sorted));
	if (!sorted) return pfld_fail_memory(error, ((size_t)num + 1) * sizeof(*sorted), "sorted errors");
	int64_t defined = 0;
	double sum = 0;
	for (int64_t i = 0; i < num; i++) {
		if (isnan(nmes[i])) continue;
		sum += nmes[i];
		sorted[defined++] = nmes[i];
	}
	qsort(sorted, (size_t)defined, sizeof(*sorted), compare_doubles);
	struct pfld_landmark_metrics result = {.num_images = defined,
										   .num_undefined = num - defined,
										   .nme = NAN,
										   .nme_median = NAN,
										   .failure_rate = NAN,
										   .auc = NAN};
	if (defined > 0) {
		result.nme = sum / (double)defined;
		result.nme_median = (sorted[(defined - 1) / 2] + sorted[defined / 2]) / 2;
		result.failure_rate = (double)(defined - count_within(sorted, defined, threshold, 0)) / (double)defined;
		result.auc = area_under_curve(sorted, defined, threshold);
	}
	free(sorted);
	*metrics = result;
	return PFLD_OK;
}
