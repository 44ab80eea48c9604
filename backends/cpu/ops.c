// SPDX-License-Identifier: MIT
// The table from op kinds to the files that perform them; read by device.c.
#include "cpu/cpu.h"

const struct pfld_cpu_op *const pfld_cpu_ops[PFLD_OP_NUM_KINDS] = {
	[PFLD_OP_CONV2D] = &pfld_cpu_conv2d,
	[PFLD_OP_CONV2D_GRADIENT] = &pfld_cpu_conv2d_gradient,
	[PFLD_OP_BN_STATISTICS] = &pfld_cpu_bn_statistics,
	[PFLD_OP_BN_TRAIN] = &pfld_cpu_bn_train,
	[PFLD_OP_BN_INFER] = &pfld_cpu_bn_infer,
	[PFLD_OP_FOLD] = &pfld_cpu_fold,
	[PFLD_OP_APPLY] = &pfld_cpu_apply,
	[PFLD_OP_BN_GRADIENT_SUMS] = &pfld_cpu_bn_gradient_sums,
	[PFLD_OP_BN_GRADIENT] = &pfld_cpu_bn_gradient,
	[PFLD_OP_APPLY_GRADIENT] = &pfld_cpu_apply_gradient,
	[PFLD_OP_SOFTMAX] = &pfld_cpu_softmax,
	[PFLD_OP_SOFTMAX_GRADIENT] = &pfld_cpu_softmax_gradient,
	[PFLD_OP_POOL] = &pfld_cpu_pool,
	[PFLD_OP_POOL_GRADIENT] = &pfld_cpu_pool_gradient,
	[PFLD_OP_ADD] = &pfld_cpu_add,
	[PFLD_OP_DROPOUT] = &pfld_cpu_dropout,
	[PFLD_OP_LOSS] = &pfld_cpu_loss,
	[PFLD_OP_LOSS_SUMS] = &pfld_cpu_loss_sums,
	[PFLD_OP_GRADIENT_NORM] = &pfld_cpu_gradient_norm,
	[PFLD_OP_OPTIMIZER] = &pfld_cpu_optimizer,
};
