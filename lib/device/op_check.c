// SPDX-License-Identifier: MIT
// The arguments of an op against the table in op.h, once, before a backend sees them: presence, shapes, attributes. The
// first thing wrong is kept and named; the functions here read on, so that a check is a plain list.
#include "device/op.h"
#include <pfld/loss.h>
#include <pfld/optimizer.h>

#include <stdio.h>

struct check {
	const struct pfld_op *op;
	struct pfld_error *error;
	enum pfld_status status;
};

#define refuse(check, status_, ...)                                                                                    \
	do {                                                                                                               \
		if (!(check)->status) (check)->status = pfld_fail((check)->error, status_, __VA_ARGS__);                       \
	} while (0)

static const char *kind_name(const struct check *check)
{
	return pfld_op_name(check->op->kind);
}

static void require_true(struct check *check, bool holds, const char *rule)
{
	if (!holds) refuse(check, PFLD_ERR_ARGUMENT, "%s: %s", kind_name(check), rule);
}

static bool present(const struct pfld_operand *operand)
{
	return pfld_operand_present(operand);
}

// ---- operands ----

// Positive sizes and a pixel stride that holds the channels, where the operand is there at all.
static void operand(struct check *check, const struct pfld_operand *operand, const char *name)
{
	if (!present(operand)) return;
	if (operand->h < 1 || operand->w < 1 || operand->c < 1 || operand->channel < 0) {
		refuse(check, PFLD_ERR_SHAPE, "%s: operand %s has the shape (%d, %d, %d)", kind_name(check), name,
			   (int)operand->h, (int)operand->w, (int)operand->c);
	} else if (operand->pixel_stride < operand->c || operand->channel > operand->pixel_stride - operand->c) {
		refuse(check, PFLD_ERR_SHAPE, "%s: operand %s: %d channels from channel %d on do not fit pixels of %d",
			   kind_name(check), name, (int)operand->c, (int)operand->channel, (int)operand->pixel_stride);
	}
}

static void needed(struct check *check, const struct pfld_operand *checked, const char *name)
{
	if (!present(checked)) refuse(check, PFLD_ERR_ARGUMENT, "%s: operand %s is absent", kind_name(check), name);
	operand(check, checked, name);
}

// A tensor with n samples.
static void samples(struct check *check, const struct pfld_operand *checked, const char *name)
{
	needed(check, checked, name);
	if (present(checked) && !checked->per_sample) {
		refuse(check, PFLD_ERR_SHAPE, "%s: operand %s must have a part for every sample", kind_name(check), name);
	}
}

// One dense run of numbers that all samples share: `count` of them, where the operand is there at all.
static void numbers(struct check *check, const struct pfld_operand *checked, const char *name, int64_t count)
{
	if (!present(checked)) return;
	operand(check, checked, name);
	if (checked->per_sample) {
		refuse(check, PFLD_ERR_SHAPE, "%s: operand %s must be shared by the samples", kind_name(check), name);
	}
	// Of one pixel they do, whatever wider one it is a part of.
	if (checked->pixel_stride != checked->c && (checked->h != 1 || checked->w != 1)) {
		refuse(check, PFLD_ERR_SHAPE, "%s: operand %s must lie side by side", kind_name(check), name);
	}
	if ((int64_t)pfld_operand_elements(checked) != count) {
		refuse(check, PFLD_ERR_SHAPE, "%s: operand %s has %lld elements where %lld belong", kind_name(check), name,
			   (long long)pfld_operand_elements(checked), (long long)count);
	}
}

static void needed_numbers(struct check *check, const struct pfld_operand *checked, const char *name, int64_t count)
{
	needed(check, checked, name);
	numbers(check, checked, name, count);
}

static void same_shape(struct check *check, const struct pfld_operand *a, const char *name_a,
					   const struct pfld_operand *b, const char *name_b)
{
	if (!present(a) || !present(b)) return;
	if (a->h != b->h || a->w != b->w || a->c != b->c) {
		refuse(check, PFLD_ERR_SHAPE, "%s: operand %s is (%d, %d, %d) where %s is (%d, %d, %d)", kind_name(check),
			   name_a, (int)a->h, (int)a->w, (int)a->c, name_b, (int)b->h, (int)b->w, (int)b->c);
	}
}

// A tensor with n samples and the shape of another.
static void like(struct check *check, const struct pfld_operand *checked, const char *name,
				 const struct pfld_operand *other, const char *other_name)
{
	samples(check, checked, name);
	same_shape(check, checked, name, other, other_name);
}

static void both_or_none(struct check *check, const struct pfld_operand *a, const struct pfld_operand *b,
						 const char *names)
{
	if (present(a) != present(b)) refuse(check, PFLD_ERR_ARGUMENT, "%s: one of %s is absent", kind_name(check), names);
}

// What a pending operand is computed from.
static void pending(struct check *check, const struct pfld_operand *checked)
{
	const struct pfld_pending *pending = checked->pending;
	bool is_gradient = pending->kind == PFLD_PENDING_GRADIENT;
	samples(check, checked, "that is pending");
	require_true(check, (unsigned)pending->act <= PFLD_ACT_TANH && pending->act != PFLD_ACT_PRELU,
				 "a pending operand has no such activation");
	both_or_none(check, &pending->scale, &pending->shift, "scale and shift of a pending operand");
	numbers(check, &pending->scale, "scale", checked->c);
	numbers(check, &pending->shift, "shift", checked->c);
	if (!is_gradient) return;
	needed(check, &pending->scale, "scale");
	like(check, &pending->x, "x of a pending gradient", checked, "dy");
	needed_numbers(check, &pending->mean, "mean", checked->c);
	needed_numbers(check, &pending->mean_dz, "mean_dz", checked->c);
	needed_numbers(check, &pending->slope_x, "slope_x", checked->c);
}

static void pending_operands(struct check *check)
{
	const struct pfld_op *op = check->op;
	for (int32_t i = 0; i < PFLD_OP_MAX_SRC; i++)
		if (present(&op->src[i]) && op->src[i].pending) pending(check, &op->src[i]);
	for (int32_t i = 0; i < PFLD_OP_MAX_DST; i++)
		require_true(check, !present(&op->dst[i]) || !op->dst[i].pending, "a result cannot be pending");
}

// ---- convolution ----

static void conv_attributes(struct check *check, const struct pfld_conv_attr *conv)
{
	require_true(check, conv->kernel_h >= 1 && conv->kernel_w >= 1, "the kernel must be at least 1 x 1");
	require_true(check, conv->stride_h >= 1 && conv->stride_w >= 1, "strides must be at least 1");
	require_true(check, conv->dilation_h >= 1 && conv->dilation_w >= 1, "dilations must be at least 1");
	require_true(check, conv->pad_top >= 0 && conv->pad_left >= 0, "padding must not be negative");
	require_true(check, conv->groups >= 1, "groups must be at least 1");
}

static void conv_kernel(struct check *check, const struct pfld_operand *kernel, const char *name, int32_t channels,
						int32_t filters)
{
	const struct pfld_conv_attr *conv = &check->op->attr.conv;
	if (check->status) return;
	require_true(check, channels % conv->groups == 0 && filters % conv->groups == 0,
				 "groups must divide the channels and the filters");
	numbers(check, kernel, name, (int64_t)conv->kernel_h * conv->kernel_w * (channels / conv->groups) * filters);
}

static void check_conv2d(struct check *check)
{
	const struct pfld_operand *src = check->op->src, *dst = check->op->dst;
	conv_attributes(check, &check->op->attr.conv);
	samples(check, &src[0], "x");
	samples(check, &dst[0], "y");
	needed(check, &src[1], "kernel");
	conv_kernel(check, &src[1], "kernel", src[0].c, dst[0].c);
	numbers(check, &src[2], "bias", dst[0].c);
	both_or_none(check, &dst[1], &dst[2], "mean and m2");
	numbers(check, &dst[1], "mean", dst[0].c);
	numbers(check, &dst[2], "m2", dst[0].c);
}

// The batch norm whose sums are gathered from dx.
static void conv_norm(struct check *check)
{
	static const char *const names[] = {"scale", "shift", "mean", "inv_std"};
	const struct pfld_operand *src = check->op->src, *dst = check->op->dst;
	int32_t channels = dst[0].c;
	samples(check, &dst[0], "dx");
	like(check, &src[3], "the norm's x", &dst[0], "dx");
	require_true(check, !present(&src[3]) || !src[3].pending, "the norm's x must be in memory");
	for (int32_t i = 0; i < 4; i++) needed_numbers(check, &src[4 + i], names[i], channels);
	needed_numbers(check, &dst[3], "mean_dz", channels);
	needed_numbers(check, &dst[4], "slope_x", channels);
	numbers(check, &dst[5], "dbeta", channels);
	numbers(check, &dst[6], "dgamma", channels);
}

static void check_conv2d_gradient(struct check *check)
{
	const struct pfld_operand *src = check->op->src, *dst = check->op->dst;
	conv_attributes(check, &check->op->attr.conv);
	samples(check, &src[2], "dy");
	require_true(check, present(&dst[0]) || present(&dst[1]) || present(&dst[2]), "there is nothing to compute");
	if (present(&dst[0])) {
		samples(check, &dst[0], "dx");
		needed(check, &src[1], "kernel");
		conv_kernel(check, &src[1], "kernel", dst[0].c, src[2].c);
	}
	if (present(&dst[1])) {
		samples(check, &src[0], "x");
		same_shape(check, &dst[0], "dx", &src[0], "x");
		conv_kernel(check, &dst[1], "dkernel", src[0].c, src[2].c);
	}
	numbers(check, &dst[2], "dbias", src[2].c);
	if (present(&dst[3])) conv_norm(check);
	else require_true(check, !present(&dst[4]) && !present(&dst[5]) && !present(&dst[6]), "sums without mean_dz");
}

// ---- batch norm and activations ----

static void check_bn_statistics(struct check *check)
{
	const struct pfld_operand *src = check->op->src, *dst = check->op->dst;
	samples(check, &src[0], "x");
	needed_numbers(check, &dst[0], "mean", src[0].c);
	needed_numbers(check, &dst[1], "m2", src[0].c);
}

static void bn_attributes(struct check *check)
{
	require_true(check, check->op->attr.bn.epsilon >= 0, "epsilon must not be negative");
}

static void check_bn_train(struct check *check)
{
	const struct pfld_operand *src = check->op->src, *dst = check->op->dst;
	const struct pfld_bn_attr *bn = &check->op->attr.bn;
	int64_t channels = src[0].c;
	bn_attributes(check);
	require_true(check, bn->momentum >= 0 && bn->momentum <= 1, "momentum must be in 0..1");
	require_true(check, bn->num_pixels >= 1, "num_pixels must be at least 1");
	needed_numbers(check, &src[0], "mean", channels);
	needed_numbers(check, &src[1], "m2", channels);
	numbers(check, &src[2], "gamma", channels);
	numbers(check, &src[3], "beta", channels);
	needed_numbers(check, &dst[0], "scale", channels);
	needed_numbers(check, &dst[1], "shift", channels);
	needed_numbers(check, &dst[2], "inv_std", channels);
	both_or_none(check, &dst[3], &dst[4], "moving_mean and moving_variance");
	numbers(check, &dst[3], "moving_mean", channels);
	numbers(check, &dst[4], "moving_variance", channels);
}

static void check_bn_infer(struct check *check)
{
	const struct pfld_operand *src = check->op->src, *dst = check->op->dst;
	int64_t channels = src[0].c;
	bn_attributes(check);
	needed_numbers(check, &src[0], "moving_mean", channels);
	needed_numbers(check, &src[1], "moving_variance", channels);
	numbers(check, &src[2], "gamma", channels);
	numbers(check, &src[3], "beta", channels);
	needed_numbers(check, &dst[0], "scale", channels);
	needed_numbers(check, &dst[1], "shift", channels);
	numbers(check, &dst[2], "inv_std", channels);
}

static void check_fold(struct check *check)
{
	const struct pfld_operand *src = check->op->src, *dst = check->op->dst;
	int64_t filters = src[2].c, count = (int64_t)pfld_operand_elements(&src[0]);
	needed_numbers(check, &src[0], "kernel", count);
	numbers(check, &src[1], "bias", filters);
	needed_numbers(check, &src[2], "scale", filters);
	needed_numbers(check, &src[3], "shift", filters);
	needed_numbers(check, &dst[0], "folded kernel", count);
	needed_numbers(check, &dst[1], "folded bias", filters);
	if (!check->status) require_true(check, count % filters == 0, "the kernel must hold whole rows of filters");
}

static void activation(struct check *check, const struct pfld_operand *slopes, const struct pfld_operand *x)
{
	const struct pfld_act_attr *attr = &check->op->attr.act;
	require_true(check, (unsigned)attr->act <= PFLD_ACT_TANH, "there is no such activation");
	require_true(check, attr->act != PFLD_ACT_LEAKY || (attr->slope >= 0 && attr->slope <= 1),
				 "leaky's slope must be in 0..1");
	if (attr->act != PFLD_ACT_PRELU) return;
	if (!slopes) {
		refuse(check, PFLD_ERR_ARGUMENT, "%s: prelu's slopes are no operand of it", kind_name(check));
		return;
	}
	needed(check, slopes, "slopes");
	bool of_channels = present(slopes) && pfld_operand_elements(slopes) == (size_t)x->c;
	numbers(check, slopes, "slopes", of_channels ? x->c : (int64_t)pfld_operand_elements(x));
}

static void check_apply(struct check *check)
{
	const struct pfld_operand *src = check->op->src, *dst = check->op->dst;
	samples(check, &src[0], "x");
	both_or_none(check, &src[1], &src[2], "scale and shift");
	numbers(check, &src[1], "scale", src[0].c);
	numbers(check, &src[2], "shift", src[0].c);
	like(check, &dst[0], "y", &src[0], "x");
	activation(check, &src[3], &src[0]);
}

static void bn_gradient_sources(struct check *check)
{
	static const char *const names[] = {"dy", "x", "scale", "shift", "mean"};
	const struct pfld_operand *src = check->op->src;
	samples(check, &src[0], "dy");
	like(check, &src[1], "x", &src[0], "dy");
	for (int32_t i = 2; i < 5; i++) needed_numbers(check, &src[i], names[i], src[0].c);
	activation(check, NULL, NULL);
	require_true(check, !check->op->attr.act.from_output, "it reads x, not the output");
}

static void check_bn_gradient_sums(struct check *check)
{
	const struct pfld_operand *dst = check->op->dst;
	int64_t channels = check->op->src[0].c;
	bn_gradient_sources(check);
	needed_numbers(check, &check->op->src[5], "inv_std", channels);
	needed_numbers(check, &dst[0], "mean_dz", channels);
	needed_numbers(check, &dst[1], "slope_x", channels);
	numbers(check, &dst[2], "dbeta", channels);
	numbers(check, &dst[3], "dgamma", channels);
}

static void check_bn_gradient(struct check *check)
{
	const struct pfld_operand *src = check->op->src, *dst = check->op->dst;
	bn_gradient_sources(check);
	needed_numbers(check, &src[5], "mean_dz", src[0].c);
	needed_numbers(check, &src[6], "slope_x", src[0].c);
	like(check, &dst[0], "dx", &src[0], "dy");
}

static void check_apply_gradient(struct check *check)
{
	const struct pfld_operand *src = check->op->src, *dst = check->op->dst;
	const struct pfld_act_attr *attr = &check->op->attr.act;
	bool reads_x = attr->act != PFLD_ACT_NONE;
	samples(check, &src[0], "dy");
	if (reads_x || present(&src[1])) like(check, &src[1], attr->from_output ? "y" : "x", &src[0], "dy");
	numbers(check, &src[2], "scale", src[0].c);
	numbers(check, &src[3], "shift", src[0].c);
	if (reads_x && !attr->from_output) both_or_none(check, &src[2], &src[3], "scale and shift");
	like(check, &dst[0], "dx", &src[0], "dy");
	activation(check, &src[4], &src[0]);
	if (attr->act == PFLD_ACT_PRELU) {
		require_true(check, !attr->from_output, "prelu's gradient reads x, not the output");
		numbers(check, &dst[1], "dslopes", (int64_t)pfld_operand_elements(&src[4]));
	} else {
		require_true(check, !present(&dst[1]), "only prelu has slopes");
	}
}

// ---- softmax, pooling, sums, dropout ----

static void check_softmax(struct check *check)
{
	samples(check, &check->op->src[0], "x");
	like(check, &check->op->dst[0], "y", &check->op->src[0], "x");
}

static void check_softmax_gradient(struct check *check)
{
	const struct pfld_operand *src = check->op->src;
	samples(check, &src[0], "dy");
	like(check, &src[1], "y", &src[0], "dy");
	like(check, &check->op->dst[0], "dx", &src[0], "dy");
}

// Every window must hold a pixel, or its mean and its largest are of nothing.
static void windows(struct check *check, const struct pfld_operand *x, const struct pfld_operand *y)
{
	const struct pfld_pool_attr *pool = &check->op->attr.pool;
	if (check->status) return;
	require_true(check, pool->kernel_h >= 1 && pool->kernel_w >= 1, "the window must be at least 1 x 1");
	require_true(check, pool->stride_h >= 1 && pool->stride_w >= 1, "strides must be at least 1");
	require_true(check, pool->pad_top >= 0 && pool->pad_left >= 0, "padding must not be negative");
	require_true(check, pool->pad_top < pool->kernel_h && pool->pad_left < pool->kernel_w,
				 "padding must be smaller than the window");
	if (x->c != y->c) {
		refuse(check, PFLD_ERR_SHAPE, "%s: %d channels go in and %d come out", kind_name(check), (int)x->c, (int)y->c);
	}
	if (((int64_t)y->h - 1) * pool->stride_h - pool->pad_top >= x->h ||
		((int64_t)y->w - 1) * pool->stride_w - pool->pad_left >= x->w) {
		refuse(check, PFLD_ERR_SHAPE, "%s: a window of the output (%d, %d) lies outside the input (%d, %d)",
			   kind_name(check), (int)y->h, (int)y->w, (int)x->h, (int)x->w);
	}
}

static void check_pool(struct check *check)
{
	samples(check, &check->op->src[0], "x");
	samples(check, &check->op->dst[0], "y");
	windows(check, &check->op->src[0], &check->op->dst[0]);
}

static void check_pool_gradient(struct check *check)
{
	const struct pfld_operand *src = check->op->src, *dst = check->op->dst;
	samples(check, &src[0], "dy");
	samples(check, &dst[0], "dx");
	if (check->op->attr.pool.max) like(check, &src[1], "x", &dst[0], "dx");
	windows(check, &dst[0], &src[0]);
}

static void check_add(struct check *check)
{
	const struct pfld_operand *src = check->op->src, *dst = check->op->dst;
	int32_t num = check->op->attr.add.num_src;
	require_true(check, num >= 1 && num <= PFLD_OP_MAX_ADD, "it takes 1 to 8 sources");
	if (check->status) return;
	samples(check, &dst[0], "y");
	for (int32_t i = 0; i < num; i++) {
		char name[16];
		snprintf(name, sizeof name, "x[%d]", (int)i);
		like(check, &src[i], name, &dst[0], "y");
	}
}

static void check_dropout(struct check *check)
{
	double rate = check->op->attr.dropout.rate;
	samples(check, &check->op->src[0], "x");
	like(check, &check->op->dst[0], "y", &check->op->src[0], "x");
	require_true(check, rate >= 0 && rate < 1, "the rate must be in 0..1, and not 1");
}

// ---- loss and optimizer ----

static void sample_numbers(struct check *check, const struct pfld_operand *checked, const char *name, int64_t count)
{
	if (!present(checked)) return;
	samples(check, checked, name);
	if ((int64_t)pfld_operand_elements(checked) != count) {
		refuse(check, PFLD_ERR_SHAPE, "%s: operand %s has %lld numbers a sample where %lld belong", kind_name(check),
			   name, (long long)pfld_operand_elements(checked), (long long)count);
	}
	if (checked->pixel_stride != checked->c) {
		refuse(check, PFLD_ERR_SHAPE, "%s: operand %s must lie side by side", kind_name(check), name);
	}
}

static void loss_attributes(struct check *check, const struct pfld_loss_attr *loss)
{
	require_true(check, loss->kind > PFLD_LOSS_NONE && loss->kind <= PFLD_LOSS_SIGMOID_CROSS_ENTROPY,
				 "there is no such loss");
	if (loss->kind == PFLD_LOSS_WING)
		require_true(check, loss->wing_w > 0 && loss->wing_epsilon > 0, "wing needs w and epsilon above 0");
	if (loss->kind == PFLD_LOSS_SMOOTH_L1) require_true(check, loss->beta > 0, "smooth L1 needs beta above 0");
	if (loss->kind == PFLD_LOSS_WING || loss->kind == PFLD_LOSS_L1 || loss->kind == PFLD_LOSS_SMOOTH_L1) {
		require_true(check, loss->point_scale > 0, "point_scale must be above 0");
	}
	require_true(check, loss->label_smoothing >= 0 && loss->label_smoothing <= 1, "label_smoothing must be in 0..1");
}

static void check_loss(struct check *check)
{
	const struct pfld_operand *src = check->op->src, *dst = check->op->dst;
	const struct pfld_loss_attr *loss = &check->op->attr.loss;
	bool uses_angles = loss->kind == PFLD_LOSS_PFLD || loss->kind == PFLD_LOSS_PFLD_COMPAT;
	loss_attributes(check, loss);
	samples(check, &src[0], "prediction");
	int64_t num_targets = (int64_t)pfld_operand_elements(&src[0]);
	sample_numbers(check, &src[0], "prediction", num_targets);
	needed(check, &src[1], "target");
	sample_numbers(check, &src[1], "target", num_targets);
	sample_numbers(check, &src[2], "mask", num_targets);
	sample_numbers(check, &src[3], "sample_weights", 1);
	sample_numbers(check, &src[4], "attributes", 6);
	if (uses_angles) {
		needed(check, &src[5], "predicted angles");
		needed(check, &src[6], "angles");
	}
	sample_numbers(check, &src[5], "predicted angles", 3);
	sample_numbers(check, &src[6], "angles", 3);
	needed(check, &dst[0], "loss");
	sample_numbers(check, &dst[0], "loss", 1);
	needed(check, &dst[1], "dprediction");
	sample_numbers(check, &dst[1], "dprediction", num_targets);
	sample_numbers(check, &dst[2], "dangles", 3);
	require_true(check, !present(&dst[2]) || uses_angles, "this loss has no gradient of angles");
}

static void check_loss_sums(struct check *check)
{
	needed(check, &check->op->src[0], "loss");
	sample_numbers(check, &check->op->src[0], "loss", 1);
	needed_numbers(check, &check->op->dst[0], "sums", PFLD_SUMS_COUNT);
}

static void check_gradient_norm(struct check *check)
{
	const struct pfld_operand *gradients = &check->op->src[0];
	needed_numbers(check, gradients, "gradients", (int64_t)pfld_operand_elements(gradients));
	needed_numbers(check, &check->op->dst[0], "norm2", 1);
}

static void optimizer_factors(struct check *check, int64_t count, int64_t num_parameters)
{
	const struct pfld_optimizer_attr *attr = &check->op->attr.optimizer;
	int64_t behind = 0;
	for (int32_t i = 0; i < attr->num_factors && !check->status; i++) {
		const struct pfld_parameter_factor *factor = &attr->factors[i];
		require_true(check, factor->count >= 0 && factor->first >= behind && factor->count <= count - factor->first,
					 "the factors must be sorted and inside the block");
		require_true(check, factor->parameter_first >= 0 && factor->count <= num_parameters - factor->parameter_first,
					 "the factors must lie inside the parameters");
		behind = factor->first + factor->count;
	}
}

// State tensors that each kind keeps.
static int32_t num_states(const struct pfld_optimizer_attr *attr)
{
	switch ((enum pfld_optimizer_kind)attr->kind) {
	case PFLD_SGD: return attr->momentum != 0;
	case PFLD_ADAGRAD:
	case PFLD_RMSPROP: return 1;
	case PFLD_ADADELTA:
	case PFLD_ADAM:
	case PFLD_ADAMW: return 2;
	}
	return 0;
}

static void check_optimizer(struct check *check)
{
	const struct pfld_operand *src = check->op->src, *dst = check->op->dst;
	const struct pfld_optimizer_attr *attr = &check->op->attr.optimizer;
	int64_t count = (int64_t)pfld_operand_elements(&src[0]);
	require_true(check, attr->kind >= PFLD_SGD && attr->kind <= PFLD_ADAMW, "there is no such optimizer");
	require_true(check, attr->epsilon >= 0 && attr->clip_norm >= 0 && attr->clip_value >= 0,
				 "epsilon and the clips must not be negative");
	require_true(check,
				 attr->beta1 >= 0 && attr->beta1 < 1 && attr->beta2 >= 0 && attr->beta2 < 1 && attr->rho >= 0 &&
					 attr->rho < 1,
				 "beta1, beta2 and rho must be in 0..1, and not 1");
	needed_numbers(check, &src[0], "gradients", count);
	needed_numbers(check, &src[1], "norm2", 1);
	numbers(check, &src[2], "sums", PFLD_SUMS_COUNT);
	needed_numbers(check, &dst[0], "parameters", (int64_t)pfld_operand_elements(&dst[0]));
	for (int32_t i = 1; i <= 2; i++) {
		const char *name = i == 1 ? "state" : "second state";
		if (i <= num_states(attr)) needed(check, &dst[i], name);
		numbers(check, &dst[i], name, count);
	}
	optimizer_factors(check, count, (int64_t)pfld_operand_elements(&dst[0]));
}

// Results that can be added to what is there, a bit each.
static uint32_t addable(enum pfld_op_kind kind)
{
	switch (kind) {
	case PFLD_OP_CONV2D:
	case PFLD_OP_BN_GRADIENT:
	case PFLD_OP_SOFTMAX_GRADIENT:
	case PFLD_OP_POOL_GRADIENT:
	case PFLD_OP_ADD:
	case PFLD_OP_DROPOUT:
	case PFLD_OP_GRADIENT_NORM: return 1;
	case PFLD_OP_APPLY_GRADIENT: return 3;
	case PFLD_OP_CONV2D_GRADIENT: return 7 | 1 << 5 | 1 << 6;
	case PFLD_OP_BN_GRADIENT_SUMS: return 12;
	default: return 0;
	}
}

static void accumulation(struct check *check)
{
	for (int32_t i = 0; i < PFLD_OP_MAX_DST; i++) {
		bool adds = check->op->accumulate[i] || check->op->gradient[i];
		if (adds && !(addable(check->op->kind) & 1u << i)) {
			refuse(check, PFLD_ERR_ARGUMENT, "%s: result %d cannot be added to", kind_name(check), (int)i);
		}
	}
}

enum pfld_status pfld_op_check(const struct pfld_op *op, struct pfld_error *error)
{
	static void (*const checks[PFLD_OP_NUM_KINDS])(struct check *) = {
		[PFLD_OP_CONV2D] = check_conv2d,
		[PFLD_OP_CONV2D_GRADIENT] = check_conv2d_gradient,
		[PFLD_OP_BN_STATISTICS] = check_bn_statistics,
		[PFLD_OP_BN_TRAIN] = check_bn_train,
		[PFLD_OP_BN_INFER] = check_bn_infer,
		[PFLD_OP_FOLD] = check_fold,
		[PFLD_OP_APPLY] = check_apply,
		[PFLD_OP_BN_GRADIENT_SUMS] = check_bn_gradient_sums,
		[PFLD_OP_BN_GRADIENT] = check_bn_gradient,
		[PFLD_OP_APPLY_GRADIENT] = check_apply_gradient,
		[PFLD_OP_SOFTMAX] = check_softmax,
		[PFLD_OP_SOFTMAX_GRADIENT] = check_softmax_gradient,
		[PFLD_OP_POOL] = check_pool,
		[PFLD_OP_POOL_GRADIENT] = check_pool_gradient,
		[PFLD_OP_ADD] = check_add,
		[PFLD_OP_DROPOUT] = check_dropout,
		[PFLD_OP_LOSS] = check_loss,
		[PFLD_OP_LOSS_SUMS] = check_loss_sums,
		[PFLD_OP_GRADIENT_NORM] = check_gradient_norm,
		[PFLD_OP_OPTIMIZER] = check_optimizer,
	};
	if ((unsigned)op->kind >= PFLD_OP_NUM_KINDS) {
		return pfld_fail(error, PFLD_ERR_ARGUMENT, "there is no op of kind %d", (int)op->kind);
	}
	struct check check = {.op = op, .error = error};
	checks[op->kind](&check);
	pending_operands(&check);
	accumulation(&check);
	return check.status;
}
