// SPDX-License-Identifier: MIT
// Landmark metrics, on the host. NME of a face: mean over the points that count of the distance between prediction and
// truth, divided by the distance of two true points (the outer eye corners, see pfld_nme_points()). Means are over faces,
// whatever the batches.
#ifndef PFLD_METRICS_H
#define PFLD_METRICS_H

#include <pfld/status.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

// Points (P, 2) in any unit; mask (P, 2) as in a batch, or NULL. NaN when no point counts, a corner is missing, or the
// corners coincide: such faces are counted apart, never averaged in. Infinite when a prediction is not finite: a failure.
PFLD_API double pfld_nme(const float *prediction, const float *truth, const float *mask, int32_t num_points,
                         const int32_t corners[2]);

struct pfld_landmark_metrics {
	int64_t num_images;   // faces with a defined NME
	int64_t num_undefined;
	double nme, nme_median; // as shares (0.05 is 5 %); NaN when there are none
	double failure_rate;    // share of faces with NME above `failure_threshold`
	double auc;             // area under the cumulative error curve up to the threshold, divided by it: 1001 samples, Simpson's rule
};
// nmes: one per face, NaN where undefined. threshold 0 means 0.1. Allocates scratch: PFLD_ERR_MEMORY.
PFLD_API_STATUS enum pfld_status pfld_landmark_metrics(const double *nmes, int64_t num, double failure_threshold,
                                                       struct pfld_landmark_metrics *metrics, struct pfld_error *error);

#ifdef __cplusplus
}
#endif
#endif
