// SPDX-License-Identifier: MIT
// What an op is: one unit of work that a backend performs with one enqueue. The compiler (lib/compile) makes ops, the
// planner gives their operands places, backends (backends/*) perform them. Arguments are checked once, by
// pfld_op_check(), before a backend sees them. Not here: layers and graphs (lib/net), memory (device.h).
//
// Shapes are per sample, channels last: a tensor (h, w, c) holds n x h x w pixels of c elements, samples one after the
// other; an operand may lie inside wider pixels (pixel_stride > c), so parts of a concat are written in place. n comes
// with each enqueue and is at most the batch the op was compiled for.
#ifndef PFLD_DEVICE_OP_H
#define PFLD_DEVICE_OP_H

#include "base/base.h"

struct pfld_region; // backend memory, see backend.h

// An activation, applied as act(x); `slope` is leaky's. PReLU has its slopes in an operand instead.
enum pfld_act { PFLD_ACT_NONE, PFLD_ACT_RELU, PFLD_ACT_RELU6, PFLD_ACT_LEAKY, PFLD_ACT_PRELU, PFLD_ACT_SIGMOID, PFLD_ACT_TANH };

enum pfld_op_kind {
	// y = conv(x, kernel) + bias. Linear is the case h = w = kh = kw = 1, depthwise the case groups = c.
	// src: 0 x, 1 kernel (kh, kw, c / groups, filters), 2 bias (filters) or absent. dst: 0 y; of y as BN_STATISTICS has them, or
	// absent: 1 mean, 2 m2. attr.conv
	PFLD_OP_CONV2D,
	// src: 0 x, 1 kernel, 2 dy. dst: 0 dx, 1 dkernel, 2 dbias; each may be absent. x is absent when dkernel is. When dx, as it is
	// after this op, is the gradient behind a batch norm, also what BN_GRADIENT_SUMS computes: src: 3 the norm's x, 4 scale, 5
	// shift, 6 mean, 7 inv_std; dst: 3 mean_dz, 4 slope_x, 5 dbeta, 6 dgamma; or all absent. attr.conv
	PFLD_OP_CONV2D_GRADIENT,
	// Per channel over n x h x w. src: 0 x. dst: 0 mean (c), 1 m2 (c): sum of squared distances to the mean.
	PFLD_OP_BN_STATISTICS,
	// src: 0 mean, 1 m2, 2 gamma or absent (1), 3 beta or absent (0). dst: 0 scale, 1 shift, 2 inv_std, 3 moving_mean, 4
	// moving_variance (both read and written; absent: kept). inv_std = 1 / sqrt(m2 / count + epsilon), scale = gamma inv_std, shift
	// = beta - mean scale; moving = (1 - momentum) moving + momentum batch. attr.bn, attr.bn.num_pixels = h w
	PFLD_OP_BN_TRAIN,
	// The same numbers from moving statistics. src: 0 moving_mean, 1 moving_variance, 2 gamma, 3 beta. dst: 0 scale, 1
	// shift, 2 inv_std (or absent). attr.bn
	PFLD_OP_BN_INFER,
	// A batch norm taken into the convolution before it, for inference. src: 0 kernel, 1 bias (filters) or absent (0), 2 scale
	// (filters), 3 shift. dst: 0 kernel scale, 1 bias scale + shift (filters)
	PFLD_OP_FOLD,
	// y = act(fma(scale, x, shift)); with scale and shift absent y = act(x). src: 0 x, 1 scale, 2 shift, 3 prelu slopes (c) or
	// (h w c) or absent. dst: 0 y (may be the place of x). attr.act
	PFLD_OP_APPLY,
	// With dz = dy act'(fma(scale, x, shift)) and xhat = (x - mean) inv_std: src: 0 dy, 1 x, 2 scale, 3 shift, 4 mean, 5 inv_std.
	// dst: 0 mean_dz (c): the mean of dz, 1 slope_x (c): inv_std times the mean of dz xhat, 2 dbeta: sum of dz, 3 dgamma: sum of
	// dz xhat (gradients; or absent). attr.act
	PFLD_OP_BN_GRADIENT_SUMS,
	// dx = scale ((dz - mean_dz) - (x - mean) slope_x). src: 0 to 4 as above, 5 mean_dz, 6 slope_x. dst: 0 dx. attr.act
	PFLD_OP_BN_GRADIENT,
	// dx = scale dz (scale absent: 1). src: 0 dy, 1 x or, when attr.act.from_output, y, 2 scale, 3 shift, 4 prelu slopes.
	// dst: 0 dx, 1 dslopes (gradient, prelu only; or absent). attr.act
	PFLD_OP_APPLY_GRADIENT,
	// Over channels of each pixel. src: 0 x. dst: 0 y
	PFLD_OP_SOFTMAX,
	// src: 0 dy, 1 y. dst: 0 dx
	PFLD_OP_SOFTMAX_GRADIENT,
	// Windows; global pooling is the window of the whole picture. Average leaves padding out of the mean. src: 0 x. dst: 0 y.
	// attr.pool
	PFLD_OP_POOL,
	// src: 0 dy, 1 x (max only; the first largest in row order takes the gradient). dst: 0 dx. attr.pool
	PFLD_OP_POOL_GRADIENT,
	// y = sum of scale[i] x[i] over num_src sources of one shape; with one source a (strided) copy. src: 0.. . dst: 0 y. attr.add
	PFLD_OP_ADD,
	// y = x / (1 - rate) where kept, else 0; kept is drawn from (run.seed, run.step, stream, element). Its own gradient. src: 0 x.
	// dst: 0 y. attr.dropout
	PFLD_OP_DROPOUT,
	// src: 0 prediction (t), 1 target (t), 2 mask (t), 3 sample_weights (1), 4 attributes (6), 5 predicted angles (3), 6 angles (3)
	// in degrees; 2 to 6 may be absent. dst: 0 loss per sample (1), 1 dprediction (t), 2 dangles (3) or absent. Gradients are of the
	// mean over the n samples times run.loss_scale. Softmax cross-entropy is over the channels of each pixel. attr.loss
	PFLD_OP_LOSS,
	// Adds the batch to running sums, in sample order, compensated; a batch whose mean is not finite leaves loss and samples
	// as they are and is marked bad. src: 0 loss per sample. dst: 0 sums (PFLD_SUMS_COUNT
	// elements, read and written).
	PFLD_OP_LOSS_SUMS,
	// Sum of squares of a block of gradients. src: 0 gradients (count). dst: 0 norm2 (1)
	PFLD_OP_GRADIENT_NORM,
	// One step over a block of parameters that lie side by side. Does nothing when norm2 is not finite, or the sums say that this
	// batch's loss is not. src: 0 gradients (count), 1 norm2 (1), 2 sums or absent. dst: 0 parameters (count), 1 state, 2 second state
	// (each count, or absent). attr.optimizer, run
	PFLD_OP_OPTIMIZER,
	PFLD_OP_NUM_KINDS,
};

// Elements of the running sums of PFLD_OP_LOSS_SUMS.
enum {
	PFLD_SUMS_LOSS,       // sum of the losses of all samples, and
	PFLD_SUMS_LOSS_LOW,   // what its rounding left over (add both)
	PFLD_SUMS_SAMPLES,    // samples added; exact up to 2^24 in float
	PFLD_SUMS_BATCH_LOSS, // mean loss of the last batch
	PFLD_SUMS_BAD,        // 1 when the last batch's loss was not finite, else 0
	PFLD_SUMS_COUNT,
};

enum { PFLD_OP_MAX_SRC = 8, PFLD_OP_MAX_DST = 7, PFLD_OP_MAX_ADD = 8 };
#define PFLD_NO_TENSOR (-1)

struct pfld_pending;

// A tensor as an op sees it. The compiler fills the upper part, the planner the place.
struct pfld_operand {
	int32_t tensor;       // of the op list; PFLD_NO_TENSOR: absent
	int32_t h, w, c;      // per sample; numbers that are no pictures: (1, 1, count)
	int32_t pixel_stride; // elements from one pixel to the next, >= c
	int32_t channel;      // first channel inside the wider pixel
	bool per_sample;      // false: parameters, statistics, sums: one copy, not n
	const struct pfld_pending *pending; // NULL: the numbers are those in memory
	struct pfld_region *region;
	size_t offset_bytes; // of the first element, `channel` included
};

// Said of a source that is not in memory as such: its reader computes it on load, by the formula and with the bits of the op
// that would write it. A backend that cannot says so in supports(), and the compiler puts that op before the reader.
enum pfld_pending_kind {
	PFLD_PENDING_VALUE,    // of PFLD_OP_APPLY: act(fma(scale, x, shift)); x is in memory; scale and shift (c) or both absent
	PFLD_PENDING_GRADIENT, // of PFLD_OP_BN_GRADIENT; dy is in memory; `x` and all the numbers per channel are there
};
struct pfld_pending {
	enum pfld_pending_kind kind;
	enum pfld_act act; // no PReLU
	double slope;
	struct pfld_operand scale, shift;
	struct pfld_operand x, mean, mean_dz, slope_x; // gradient only
};
enum { PFLD_PENDING_PARTS = 6 };
// The operands of a pending one, absent or not, by index.
static inline struct pfld_operand *pfld_pending_part(struct pfld_pending *pending, int32_t part)
{
	struct pfld_operand *parts[PFLD_PENDING_PARTS] = {&pending->scale, &pending->shift,   &pending->x,
	                                                  &pending->mean,  &pending->mean_dz, &pending->slope_x};
	return parts[part];
}

struct pfld_conv_attr {
	int32_t kernel_h, kernel_w, stride_h, stride_w, dilation_h, dilation_w;
	int32_t pad_top, pad_left; // bottom and right follow from the output's shape
	int32_t groups;
	enum pfld_act norm_act; // of the batch norm that dx is the gradient behind
	double norm_slope;
};
struct pfld_bn_attr {
	double epsilon, momentum; // momentum: share of the batch in the moving statistics
	bool unbiased;            // moving variance takes m2 / (count - 1), as PyTorch; else m2 / count, as TensorFlow
	int32_t num_pixels;       // h w: count = n num_pixels
};
struct pfld_act_attr {
	enum pfld_act act;
	double slope;
	bool from_output; // the gradient reads y where it would read x (not for PReLU)
};
struct pfld_pool_attr {
	bool max;
	int32_t kernel_h, kernel_w, stride_h, stride_w, pad_top, pad_left;
};
struct pfld_add_attr {
	int32_t num_src;
	double scale[PFLD_OP_MAX_ADD];
};
struct pfld_dropout_attr {
	double rate;
	uint32_t stream; // one per dropout layer
};
// Kinds and constants as in <pfld/loss.h>.
struct pfld_loss_attr {
	int32_t kind;        // enum pfld_loss_kind
	double wing_w, wing_epsilon, wing_c; // c = w - w ln(1 + w / epsilon)
	double point_scale;  // predictions and targets are multiplied by this before wing, L1, smooth L1 (pixels of the crop)
	double beta;         // smooth L1
	double label_smoothing;
	bool mean_over_targets; // divide a sample's loss by the number of targets that count; else the sum
};
// One run of elements with factors of their own. Gradients and state of trainable parameters lie side by side; the
// parameters themselves may have frozen ones between them, so they have an index of their own. Elements of the block that
// no factor covers are padding.
struct pfld_parameter_factor {
	int64_t first, count;    // elements of gradients and state
	int64_t parameter_first; // element of dst 0
	double learning_rate, weight_decay;
};
struct pfld_optimizer_attr {
	int32_t kind; // enum pfld_optimizer_kind
	double momentum, beta1, beta2, rho, epsilon;
	bool nesterov, epsilon_inside, decoupled_decay;
	double clip_norm, clip_value;                // 0: none
	const struct pfld_parameter_factor *factors; // belongs to the optimizer, may change between steps
	int32_t num_factors;
};

struct pfld_op {
	enum pfld_op_kind kind;
	int32_t layer; // of the net, for messages and profiles; -1: none
	bool again;    // computed before, and once more for backward
	struct pfld_operand src[PFLD_OP_MAX_SRC], dst[PFLD_OP_MAX_DST];
	bool accumulate[PFLD_OP_MAX_DST]; // add to what is there instead of writing
	bool gradient[PFLD_OP_MAX_DST];   // a parameter's gradient: added when run.accumulate_gradients, else written
	struct pfld_operand workspace;    // bytes asked for by workspace_bytes(); absent when 0
	union {
		struct pfld_conv_attr conv;
		struct pfld_bn_attr bn;
		struct pfld_act_attr act;
		struct pfld_pool_attr pool;
		struct pfld_add_attr add;
		struct pfld_dropout_attr dropout;
		struct pfld_loss_attr loss;
		struct pfld_optimizer_attr optimizer;
	} attr;
};

// What changes from one enqueue to the next.
struct pfld_run {
	int32_t n; // samples, 1 <= n <= batch
	bool accumulate_gradients;
	bool keep_statistics; // BN_TRAIN leaves the moving ones as they are
	uint64_t seed, step; // of dropout
	double loss_scale;
	double learning_rate;     // optimizer
	uint64_t optimizer_step;  // 1 for the first
	double gradient_scale;    // gradients are multiplied by this before anything else (1 / accumulated batches)
};

// An operand's element count per sample, and of the whole for n samples.
static inline size_t pfld_operand_elements(const struct pfld_operand *operand)
{
	return (size_t)operand->h * (size_t)operand->w * (size_t)operand->c;
}
static inline bool pfld_operand_present(const struct pfld_operand *operand)
{
	return operand->tensor != PFLD_NO_TENSOR;
}

// All numbers of a sample as the channels of one pixel; the operand must be whole (pixel_stride = c) and in memory.
static inline struct pfld_operand pfld_operand_row(struct pfld_operand operand)
{
	if (!pfld_operand_present(&operand)) return operand;
	operand.c = operand.pixel_stride = operand.h * operand.w * operand.c;
	operand.h = operand.w = 1;
	return operand;
}

const char *pfld_op_name(enum pfld_op_kind kind); // "conv2d", ...
const char *pfld_act_name(enum pfld_act act);
// Shapes, presence and attributes of an op against the table above. PFLD_ERR_SHAPE or PFLD_ERR_ARGUMENT names the operand.
enum pfld_status pfld_op_check(const struct pfld_op *op, struct pfld_error *error) PFLD_MUST_USE;
// Multiply-adds of one sample (conv only), for reports and predicted times.
int64_t pfld_op_macs(const struct pfld_op *op);

#endif
