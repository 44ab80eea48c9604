// SPDX-License-Identifier: MIT
// What the image classifiers here share: Keras's layers with Keras's defaults, and the ends of nets. One file a family;
// backbone.c chooses among them.
#ifndef PFLD_MODELS_BACKBONE_H
#define PFLD_MODELS_BACKBONE_H

#include "net/net.h"
#include <pfld/models.h>

struct pfld_backbone_build {
	struct pfld_net *net;
	const struct pfld_backbone_options *options; // complete: nothing is 0 that means a default
	double bn_momentum;                          // share of the batch
	bool bn_no_gamma;
	int32_t num_convs, num_norms, num_acts; // automatic names so far
};

// Each family: from the image to the features, and what lies behind them. Layer names are Keras's.
struct pfld_backbone_family {
	pfld_value (*features)(struct pfld_backbone_build *build, pfld_value image);
	pfld_value (*top)(struct pfld_backbone_build *build, pfld_value features);
};
extern const struct pfld_backbone_family pfld_vgg_family, pfld_xception_family, pfld_inception_resnet_v2_family,
    pfld_mobilenet_v1_family, pfld_mobilenet_v2_family, pfld_squeezenet_family;

// A printed name, for the call it is made in.
struct pfld_layer_name {
	char text[64];
};
struct pfld_layer_name pfld_layer_name(const char *format, ...) PFLD_PRINTF(1, 2);

// Glorot uniform, biases 0.
struct pfld_keras_conv {
	const char *name;
	int32_t filters; // 0: depthwise
	int32_t kernel_h, kernel_w, stride;
	enum pfld_padding padding;
	int32_t pad_extra[2];
	bool bias;
};
pfld_value pfld_keras_conv(const struct pfld_backbone_build *build, pfld_value x, const struct pfld_keras_conv *conv);
pfld_value pfld_keras_norm(const struct pfld_backbone_build *build, pfld_value x, const char *name);
pfld_value pfld_keras_max_pool(const struct pfld_backbone_build *build, pfld_value x, const char *name, int32_t kernel,
                               int32_t stride, enum pfld_padding padding);
pfld_value pfld_keras_dense(const struct pfld_backbone_build *build, pfld_value x, const char *name, int32_t units);
// "predictions": a dense layer on the pooled features, and softmax.
pfld_value pfld_keras_top(struct pfld_backbone_build *build, pfld_value features);
// Softmax where it is wanted.
pfld_value pfld_keras_softmax(const struct pfld_backbone_build *build, pfld_value x, const char *name);
// The next automatic name: "conv2d", "conv2d_1", ...
struct pfld_layer_name pfld_automatic_name(const char *kind, int32_t *count);

#endif
