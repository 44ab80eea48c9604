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

// ---- image classifiers, as Keras builds them ----
// Layer and parameter names are Keras's, numbered as in a fresh process (conv2d, conv2d_1, ...), and layers with weights
// stand in the order of Keras's layer list, which its files without names count by. Padding layers have melted into the
// convolutions behind them. Kernels start Glorot uniform, biases at 0; batch norms have Keras's epsilon and momenta.
enum pfld_backbone {
	PFLD_VGG16 = 0, // Simonyan & Zisserman 2014, arXiv 1409.1556
	PFLD_VGG19,
	PFLD_XCEPTION,            // Chollet 2016, arXiv 1610.02357
	PFLD_INCEPTION_RESNET_V2, // Szegedy et al. 2016, arXiv 1602.07261
	PFLD_MOBILENET_V1,        // Howard et al. 2017, arXiv 1704.04861
	PFLD_MOBILENET_V2,        // Sandler et al. 2018, arXiv 1801.04381
	PFLD_SQUEEZENET,          // 1.1; Iandola et al. 2016, arXiv 1602.07360
	PFLD_NUM_BACKBONES,
};
// What preprocess_input does to RGB numbers 0..255 before they enter a net.
enum pfld_preprocessing {
	PFLD_PREPROCESS_NONE = 0, // nothing
	PFLD_PREPROCESS_TF,       // x / 127.5 - 1
	PFLD_PREPROCESS_CAFFE,    // BGR, less 103.939, 116.779, 123.68
	PFLD_PREPROCESS_TORCH,    // x / 255, less 0.485, 0.456, 0.406, by 0.229, 0.224, 0.225
	PFLD_NUM_PREPROCESSINGS,
};
struct pfld_backbone_info {
	const char *name;                      // "mobilenet_v2"; static
	int32_t default_size, minimum_size;    // of the input, pixels
	bool has_alpha;                        // a factor on the channels
	enum pfld_preprocessing preprocessing; // of the official weights; belongs to the model wherever it goes
};
// False: no such backbone.
PFLD_API bool pfld_backbone_get_info(enum pfld_backbone backbone, struct pfld_backbone_info *info);
PFLD_API bool pfld_backbone_from_name(const char *name, enum pfld_backbone *backbone);
PFLD_API const char *pfld_preprocessing_name(enum pfld_preprocessing preprocessing); // "none", "tf", "caffe", "torch"
PFLD_API bool pfld_preprocessing_from_name(const char *name, enum pfld_preprocessing *preprocessing);
// num_pixels pixels of RGB, 0..255, in place. Apply it once.
PFLD_API void pfld_preprocess(enum pfld_preprocessing preprocessing, float *rgb, size_t num_pixels);

enum pfld_pooling {
	PFLD_POOLING_NONE = 0, // the feature map (H, W, C)
	PFLD_POOLING_AVG,      // its mean over the picture, (1, 1, C)
	PFLD_POOLING_MAX,
};
struct pfld_backbone_options {
	enum pfld_backbone backbone;
	double alpha;              // MobileNets: channels times this, 0.05 to 8; 0 means 1
	int32_t height, width;     // of the input, from minimum_size to 4096; 0 means default_size
	enum pfld_pooling pooling; // without top
	bool include_top;          // with the classifier of the original
	int32_t num_classes;       // of the top; 0 means 1000
	bool logits;               // of the top: leave out the softmax at the end
};
struct pfld_backbone_values {
	pfld_value image;    // input "image" (N, height, width, 3), preprocessed
	pfld_value features; // the last feature map, before pooling and top
	pfld_value output;   // what was asked for: the map, its pooled form, or (N, num_classes)
};
// Adds the layers; names no output: pfld_net_output() is the caller's, behind a head of its own or not. An input below the
// minimum or an alpha where there is none is PFLD_ERR_ARGUMENT in the net.
PFLD_API struct pfld_backbone_values pfld_model_backbone(struct pfld_net *net, const struct pfld_backbone_options *options);

#ifdef __cplusplus
}
#endif
#endif
