// SPDX-License-Identifier: MIT
// Layer constructors. Each takes values, adds one layer and returns its output (id 0 after an error, see net.h). `name`
// in the options names the layer and its parameters ("name/kernel"); NULL makes one from the kind and a number. Options
// need only live for the call; NULL options mean all defaults where no field is required. Pictures are (N, H, W, C).
#ifndef PFLD_LAYERS_H
#define PFLD_LAYERS_H

#include <pfld/net.h>

#ifdef __cplusplus
extern "C" {
#endif

// An input of the program: (N, height, width, channels).
PFLD_API pfld_value pfld_input(struct pfld_net *net, const char *name, int32_t height, int32_t width, int32_t channels);

enum pfld_padding {
	PFLD_VALID = 0, // none
	PFLD_SAME,      // TensorFlow: output = ceil(input / stride), the odd pixel behind
	PFLD_EXPLICIT,  // pad[0] rows above and below, pad[1] columns left and right (PyTorch); convolutions: see pad_extra
};
enum pfld_initializer {
	PFLD_INIT_DEFAULT = 0,      // kernels as PyTorch: uniform in +-1 / sqrt(fan_in); biases uniform in the same bound
	PFLD_INIT_ZERO,
	PFLD_INIT_GLOROT_UNIFORM,   // +-sqrt(6 / (fan_in + fan_out)); of depthwise kernels kh kw C and kh kw multiplier, as Keras
	PFLD_INIT_HE_NORMAL,        // truncated at two deviations, variance 2 / fan_in
	PFLD_INIT_TRUNCATED_NORMAL, // mean 0, deviation init_deviation, cut at two deviations
};

struct pfld_conv2d_options {
	const char *name;
	int32_t filters;      // required
	int32_t kernel[2];    // height, width; required
	int32_t stride[2];    // 0 means 1
	int32_t dilation[2];  // 0 means 1
	enum pfld_padding padding;
	int32_t pad[2];
	int32_t pad_extra[2]; // PFLD_EXPLICIT: so many more rows below and columns on the right (Keras's ZeroPadding2D)
	int32_t groups;       // 0 means 1; input and filters must divide by it
	bool no_bias;
	enum pfld_initializer kernel_init, bias_init;
	double init_deviation; // PFLD_INIT_TRUNCATED_NORMAL; 0 means 0.01
};
// y[n, i, j, f] = bias[f] + sum over window and channels of x kernel. Parameters: kernel, bias.
PFLD_API pfld_value pfld_conv2d(struct pfld_net *net, pfld_value x, const struct pfld_conv2d_options *options);

struct pfld_depthwise_options {
	const char *name;
	int32_t kernel[2], stride[2], dilation[2];
	enum pfld_padding padding;
	int32_t pad[2], pad_extra[2]; // as of pfld_conv2d()
	int32_t multiplier;           // filters per channel; 0 means 1
	bool no_bias;
	enum pfld_initializer kernel_init, bias_init;
	double init_deviation;
};
// One kernel per channel. Parameters: depthwise_kernel (kh, kw, C, multiplier), bias.
PFLD_API pfld_value pfld_depthwise_conv2d(struct pfld_net *net, pfld_value x, const struct pfld_depthwise_options *options);

struct pfld_separable_options {
	const char *name;
	int32_t filters; // required
	int32_t kernel[2], stride[2];
	enum pfld_padding padding;
	int32_t pad[2], pad_extra[2];
	bool no_bias;
	enum pfld_initializer kernel_init, bias_init; // of both kernels
	double init_deviation;
};
// A depthwise convolution and a 1 x 1 convolution behind it, with nothing between (Keras's SeparableConv2D): the layers
// `name` and `name_pointwise`. Parameters: depthwise_kernel (kh, kw, C, 1), pointwise_kernel (1, 1, C, filters), bias; all
// belong to `name`, which is required.
PFLD_API pfld_value pfld_separable_conv2d(struct pfld_net *net, pfld_value x, const struct pfld_separable_options *options);

struct pfld_linear_options {
	const char *name;
	int32_t units; // required
	bool no_bias;
	enum pfld_initializer kernel_init, bias_init;
	double init_deviation;
};
// y = x kernel + bias over all H W C numbers of a sample (a picture is flattened first). Output (1, 1, units).
PFLD_API pfld_value pfld_linear(struct pfld_net *net, pfld_value x, const struct pfld_linear_options *options);

struct pfld_batch_norm_options {
	const char *name;
	double epsilon;  // 0 means 1e-5 (PyTorch; Keras has 1e-3)
	double momentum; // share of the batch in the moving statistics; 0 means 0.1 (PyTorch; Keras's 0.99 is 0.01 here)
	bool biased_moving_variance; // TensorFlow keeps the biased variance, PyTorch the unbiased one
	bool no_gamma, no_beta;
};
// y = gamma (x - mean) / sqrt(variance + epsilon) + beta per channel, by the batch's statistics (biased variance) in
// training, by moving ones in inference and where it is frozen. Parameters: gamma, beta; statistics: moving_mean,
// moving_variance. Ioffe & Szegedy 2015.
PFLD_API pfld_value pfld_batch_norm(struct pfld_net *net, pfld_value x, const struct pfld_batch_norm_options *options);

// Element-wise; `name` may be NULL.
PFLD_API pfld_value pfld_relu(struct pfld_net *net, pfld_value x, const char *name);    // max(x, 0)
PFLD_API pfld_value pfld_relu6(struct pfld_net *net, pfld_value x, const char *name);   // min(max(x, 0), 6)
PFLD_API pfld_value pfld_leaky_relu(struct pfld_net *net, pfld_value x, double slope, const char *name); // x < 0: slope x
PFLD_API pfld_value pfld_prelu(struct pfld_net *net, pfld_value x, const char *name);   // slopes per channel: "alpha", 0.25
PFLD_API pfld_value pfld_sigmoid(struct pfld_net *net, pfld_value x, const char *name); // 1 / (1 + exp(-x))
PFLD_API pfld_value pfld_tanh(struct pfld_net *net, pfld_value x, const char *name);
PFLD_API pfld_value pfld_softmax(struct pfld_net *net, pfld_value x, const char *name); // over channels

struct pfld_pool_options {
	const char *name;
	int32_t kernel[2]; // required
	int32_t stride[2]; // 0 means the kernel's size
	enum pfld_padding padding;
	int32_t pad[2];
};
// Padding never counts: not in the maximum, not in the mean.
PFLD_API pfld_value pfld_max_pool(struct pfld_net *net, pfld_value x, const struct pfld_pool_options *options);
PFLD_API pfld_value pfld_avg_pool(struct pfld_net *net, pfld_value x, const struct pfld_pool_options *options);
PFLD_API pfld_value pfld_global_avg_pool(struct pfld_net *net, pfld_value x, const char *name); // (1, 1, C)
PFLD_API pfld_value pfld_global_max_pool(struct pfld_net *net, pfld_value x, const char *name); // (1, 1, C)

// Sum of scale[i] x[i] over values of one shape; scale NULL means ones. 1 <= num <= 8.
PFLD_API pfld_value pfld_add(struct pfld_net *net, const pfld_value *x, int32_t num, const double *scale, const char *name);
// Along channels; heights and widths agree. 1 <= num <= 8.
PFLD_API pfld_value pfld_concat(struct pfld_net *net, const pfld_value *x, int32_t num, const char *name);
// (1, 1, H W C) in memory order: rows, columns, channels.
PFLD_API pfld_value pfld_flatten(struct pfld_net *net, pfld_value x, const char *name);
// In training each number is kept with probability 1 - rate and scaled by 1 / (1 - rate); else untouched. 0 <= rate < 1.
PFLD_API pfld_value pfld_dropout(struct pfld_net *net, pfld_value x, double rate, const char *name);

#ifdef __cplusplus
}
#endif
#endif
