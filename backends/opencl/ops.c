// SPDX-License-Identifier: MIT
// The table from op kinds to the files that perform them; read by device.c.
#include "opencl/cl.h"

const struct pfld_cl_op *const pfld_cl_ops[PFLD_OP_NUM_KINDS] = {
	[PFLD_OP_BN_STATISTICS] = &pfld_cl_bn_statistics,
	[PFLD_OP_BN_TRAIN] = &pfld_cl_bn_train,
	[PFLD_OP_BN_INFER] = &pfld_cl_bn_infer,
	[PFLD_OP_FOLD] = &pfld_cl_fold,
	[PFLD_OP_APPLY] = &pfld_cl_apply,
	[PFLD_OP_BN_GRADIENT_SUMS] = &pfld_cl_bn_gradient_sums,
	[PFLD_OP_BN_GRADIENT] = &pfld_cl_bn_gradient,
	[PFLD_OP_APPLY_GRADIENT] = &pfld_cl_apply_gradient,
	[PFLD_OP_ADD] = &pfld_cl_add,
	[PFLD_OP_SOFTMAX] = &pfld_cl_softmax,
	[PFLD_OP_SOFTMAX_GRADIENT] = &pfld_cl_softmax_gradient,
	[PFLD_OP_POOL] = &pfld_cl_pool,
	[PFLD_OP_POOL_GRADIENT] = &pfld_cl_pool_gradient,
	[PFLD_OP_DROPOUT] = &pfld_cl_dropout,
	[PFLD_OP_LOSS] = &pfld_cl_loss,
	[PFLD_OP_LOSS_SUMS] = &pfld_cl_loss_sums,
	[PFLD_OP_GRADIENT_NORM] = &pfld_cl_gradient_norm,
	[PFLD_OP_OPTIMIZER] = &pfld_cl_optimizer,
};
