// SPDX-License-Identifier: MIT
// Names of ops and activations, and the work an op is. The checks of an op's arguments are in op_check.c.
#include "device/op.h"

const char *pfld_op_name(enum pfld_op_kind kind)
{
	static const char *const names[PFLD_OP_NUM_KINDS] = {
		[PFLD_OP_CONV2D] = "conv2d",
		[PFLD_OP_CONV2D_GRADIENT] = "conv2d_gradient",
		[PFLD_OP_BN_STATISTICS] = "bn_statistics",
		[PFLD_OP_BN_TRAIN] = "bn_train",
		[PFLD_OP_BN_INFER] = "bn_infer",
		[PFLD_OP_APPLY] = "apply",
		[PFLD_OP_FOLD] = "fold",
		[PFLD_OP_BN_GRADIENT_SUMS] = "bn_gradient_sums",
		[PFLD_OP_BN_GRADIENT] = "bn_gradient",
		[PFLD_OP_APPLY_GRADIENT] = "apply_gradient",
		[PFLD_OP_SOFTMAX] = "softmax",
		[PFLD_OP_SOFTMAX_GRADIENT] = "softmax_gradient",
		[PFLD_OP_POOL] = "pool",
		[PFLD_OP_POOL_GRADIENT] = "pool_gradient",
		[PFLD_OP_ADD] = "add",
		[PFLD_OP_DROPOUT] = "dropout",
		[PFLD_OP_LOSS] = "loss",
		[PFLD_OP_LOSS_SUMS] = "loss_sums",
		[PFLD_OP_GRADIENT_NORM] = "gradient_norm",
		[PFLD_OP_OPTIMIZER] = "optimizer",
	};
	return (unsigned)kind < PFLD_OP_NUM_KINDS ? names[kind] : "unknown op";
}

const char *pfld_act_name(enum pfld_act act)
{
	switch (act) {
	case PFLD_ACT_NONE: return "none";
	case PFLD_ACT_RELU: return "relu";
	case PFLD_ACT_RELU6: return "relu6";
	case PFLD_ACT_LEAKY: return "leaky";
	case PFLD_ACT_PRELU: return "prelu";
	case PFLD_ACT_SIGMOID: return "sigmoid";
	case PFLD_ACT_TANH: return "tanh";
	}
	return "unknown activation";
}

// Each weight of the kernel is used once per output pixel.
static int64_t conv_macs(const struct pfld_operand *output, int64_t kernel_elements)
{
	return (int64_t)output->h * output->w * kernel_elements;
}

int64_t pfld_op_macs(const struct pfld_op *op)
{
	const struct pfld_operand *dst = op->dst, *src = op->src;
	if (op->kind == PFLD_OP_CONV2D) return conv_macs(&dst[0], (int64_t)pfld_operand_elements(&src[1]));
	if (op->kind != PFLD_OP_CONV2D_GRADIENT) return 0;
	int64_t macs = 0;
	if (pfld_operand_present(&dst[0])) macs += conv_macs(&src[2], (int64_t)pfld_operand_elements(&src[1]));
	if (pfld_operand_present(&dst[1])) macs += conv_macs(&src[2], (int64_t)pfld_operand_elements(&dst[1]));
	return macs;
}
