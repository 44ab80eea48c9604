// SPDX-License-Identifier: MIT
// Ready-made nets. Each builder adds layers to a net and returns the values of interest; errors stay in the net.
#ifndef PFLD_MODELS_H
#define PFLD_MODELS_H

#include <pfld/layers.h>

#ifdef __cplusplus
extern "C" {
#endif

// PFLD (Guo et al. 2019, arXiv 1902.10859) in three forms: `paper` (depthwise conv2, conv8 with batch norm), `pt` as the
// PyTorch repository builds it (dense conv2, conv8 with bias), `tf` as the TensorFlow repository does (ReLU6, SAME padding,
// stride on the expanding 1x1, no gamma). 98 points at width 1: 1,228,388, 1,264,548 and 1,218,676 parameters.
enum pfld_preset { PFLD_PRESET_PAPER = 0, PFLD_PRESET_PT, PFLD_PRESET_TF };
struct pfld_model_options {
	enum pfld_preset preset;
	double width;       // of every channel count, int(c width); 0 means 1
	int32_t num_points; // 0 means 98
	int32_t size;       // of the square input, a multiple of 16; 0 means 112
	bool flatten_head;  // flatten the first two scales instead of pooling them
	bool angles;        // add the auxiliary net that predicts pitch, yaw, roll (training only)
};
struct pfld_model_values {
	pfld_value image;  // input "image" (N, size, size, 3)
	pfld_value points; // output "points" (N, 2 num_points): x0, y0, x1, ... crop-relative
	pfld_value angles; // output "angles" (N, 3) radians (pfld) or the label's unit (pfld_compat); id 0 without
};
PFLD_API struct pfld_model_values pfld_model_pfld(struct pfld_net *net, const struct pfld_model_options *options);
PFLD_API const char *pfld_preset_name(enum pfld_preset preset);
PFLD_API bool pfld_preset_from_name(const char *name, enum pfld_preset *preset);

#ifdef __cplusplus
}
#endif
#endif
