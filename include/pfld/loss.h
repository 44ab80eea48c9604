// SPDX-License-Identifier: MIT
// Losses. All are means over the samples of a batch of a sum over the targets of a sample that count (target_mask), times
// the sample's weight. x is prediction - target.
#ifndef PFLD_LOSS_H
#define PFLD_LOSS_H

#include <pfld/status.h>
#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

enum pfld_loss_kind {
	PFLD_LOSS_NONE = 0, // the caller gives the output gradient
	// Wing (Feng et al., CVPR 2018): w ln(1 + |x| / epsilon) below w, |x| - c above, on pixels of the crop.
	PFLD_LOSS_WING,
	// PFLD (Guo et al. 2019) as written there: sum over 3 angles of 1 - cos(a - e) in radians, times max(1, sum over
	// attribute columns 0..5 of the reciprocal share of the attribute in the batch), times the squared distance.
	PFLD_LOSS_PFLD,
	// The same as both public trainers do it: cos of degrees, columns 1..5 only, no floor: a sample without attributes
	// weighs nothing.
	PFLD_LOSS_PFLD_COMPAT,
	PFLD_LOSS_L1,
	PFLD_LOSS_L2,        // sum of squares, without a half
	PFLD_LOSS_SMOOTH_L1, // x^2 / (2 beta) below beta, |x| - beta / 2 above, on pixels of the crop
	PFLD_LOSS_SOFTMAX_CROSS_ENTROPY, // predictions are logits, targets are shares that sum to 1
	PFLD_LOSS_SIGMOID_CROSS_ENTROPY, // predictions are logits, targets in 0..1
};
struct pfld_loss_options {
	enum pfld_loss_kind kind;
	double wing_w, wing_epsilon; // 0 means 10 and 2
	double point_scale;          // 0 means 1; the size of the crop turns crop-relative points to pixels
	double beta;                 // smooth L1; 0 means 1
	double label_smoothing;      // softmax cross-entropy, 0..1
	bool mean_over_targets;      // divide by the number of targets that count
};
// "wing", "pfld", ... and back; false when the name is unknown. Static storage.
PFLD_API const char *pfld_loss_name(enum pfld_loss_kind kind);
PFLD_API bool pfld_loss_from_name(const char *name, enum pfld_loss_kind *kind);
PFLD_API bool pfld_loss_uses_angles(enum pfld_loss_kind kind); // pfld, pfld_compat

#ifdef __cplusplus
}
#endif
#endif
