// SPDX-License-Identifier: MIT
// What an op is expected to cost: arithmetic of convolutions, and bytes that go to and come from memory. Only ratios are used
// of it: for choosing what to compute again, and for telling what that costs.
#include "opencl/cl.h"

// Of a device that computes on the CPU as prototypes did on PoCL (two cores), and of a GPU by common proportions.
static const struct rates {
	double dense_macs_per_ns, depthwise_macs_per_ns, bytes_per_ns;
} cpu_rates = {60, 8, 20}, gpu_rates = {2000, 200, 500};

static double operand_bytes(const struct pfld_operand *operand, int32_t batch)
{
	if (!pfld_operand_present(operand)) return 0;
	double bytes = (double)pfld_operand_elements(operand) * (operand->per_sample ? batch : 1) * sizeof(pfld_real);
	bool reads_two = operand->pending && operand->pending->kind == PFLD_PENDING_GRADIENT;
	return reads_two ? 2 * bytes : bytes;
}

double pfld_cl_cost(const struct pfld_backend_device *device, const struct pfld_op *op, int32_t batch)
{
	const struct rates *rates = device->class.is_cpu ? &cpu_rates : &gpu_rates;
	double bytes = 0, macs = (double)pfld_op_macs(op) * batch;
	for (int32_t i = 0; i < PFLD_OP_MAX_SRC; i++) bytes += operand_bytes(&op->src[i], batch);
	for (int32_t i = 0; i < PFLD_OP_MAX_DST; i++) bytes += operand_bytes(&op->dst[i], batch);
	double memory_ns = bytes / rates->bytes_per_ns;
	if (macs == 0) return memory_ns;
	return macs / (op->attr.conv.groups == 1 ? rates->dense_macs_per_ns : rates->depthwise_macs_per_ns) + memory_ns;
}
