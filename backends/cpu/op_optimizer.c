// SPDX-License-Identifier: MIT
// gradient_norm and optimizer: what a step needs of all gradients, and the step. Scalars are computed in double and
// rounded once. Kernels: optimizer.c.
#include "cpu/cpu.h"
#include "cpu/math.h"
#include <pfld/optimizer.h>

#include <math.h>

enum { CHUNK = 1 << 14 }; // elements of an item

static int32_t num_chunks(const struct pfld_operand *gradients)
{
	return (int32_t)((pfld_operand_elements(gradients) + CHUNK - 1) / CHUNK);
}

// ---- norm ----

struct norm_job {
	struct pfld_backend_device *device;
	const struct pfld_operand *gradients;
	double *parts; // (num_chunks)
};

static void norm_item(void *arg, int32_t item, int32_t worker)
{
	const struct norm_job *job = arg;
	int64_t first = (int64_t)item * CHUNK, count = (int64_t)pfld_operand_elements(job->gradients) - first;
	count = PFLD_MIN(count, CHUNK);
	job->parts[item] = job->device->kernels->rows->sum_of_squares(pfld_cpu_at(job->gradients) + first, count);
}

static size_t norm_bytes(const struct pfld_backend_device *device, const struct pfld_op *op, int32_t batch)
{
	return (size_t)num_chunks(&op->src[0]) * sizeof(double);
}

static void gradient_norm(struct pfld_backend_device *device, const struct pfld_op *op, const struct pfld_run *run)
{
	struct norm_job job = {
		.device = device,
		.gradients = &op->src[0],
		.parts = (double *)(void *)pfld_cpu_at(&op->workspace),
	};
	pfld_real *norm2 = pfld_cpu_at(&op->dst[0]);
	int32_t num = num_chunks(job.gradients);
	double total = 0;
	pfld_cpu_parallel(device, num, norm_item, &job);
	for (int32_t i = 0; i < num; i++) total += job.parts[i];
	*norm2 = pfld_cpu_adds(op, 0, run) ? *norm2 + (pfld_real)total : (pfld_real)total;
}

const struct pfld_cpu_op pfld_cpu_gradient_norm = {.workspace_bytes = norm_bytes, .enqueue = gradient_norm};

// ---- step ----

struct step_job {
	struct pfld_backend_device *device;
	const struct pfld_optimizer_attr *attr;
	struct pfld_cpu_step common; // pointers at the first elements
	int64_t count;
	double learning_rate, bias1, bias2; // Adam: 1 - beta^t
};

// The factors of one run of elements.
static void set_factors(const struct step_job *job, const struct pfld_parameter_factor *factor,
						struct pfld_cpu_step *step)
{
	double rate = job->learning_rate * factor->learning_rate;
	bool adam = job->attr->kind == PFLD_ADAM || job->attr->kind == PFLD_ADAMW;
	step->weight_decay = job->attr->decoupled_decay ? 0 : (pfld_real)factor->weight_decay;
	step->keep = job->attr->decoupled_decay ? (pfld_real)(1 - rate * factor->weight_decay) : 1;
	step->second_correction = 1;
	if (adam && job->attr->epsilon_inside) {
		rate *= sqrt(job->bias2) / job->bias1;
	} else if (adam) {
		rate /= job->bias1;
		step->second_correction = (pfld_real)sqrt(job->bias2);
	}
	step->learning_rate = (pfld_real)rate;
}

// The first factor that ends behind element `first`.
static int32_t find_factor(const struct pfld_optimizer_attr *attr, int64_t first)
{
	int32_t low = 0, high = attr->num_factors;
	while (low < high) {
		int32_t middle = low + (high - low) / 2;
		if (attr->factors[middle].first + attr->factors[middle].count > first)
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

static void step_item(void *arg, int32_t item, int32_t worker)
{
	const struct step_job *job = arg;
	int64_t begin = (int64_t)item * CHUNK, end = PFLD_MIN(begin + CHUNK, job->count);
	for (int32_t i = find_factor(job->attr, begin); i < job->attr->num_factors; i++) {
		const struct pfld_parameter_factor *factor = &job->attr->factors[i];
		int64_t first = PFLD_MAX(begin, factor->first), behind = PFLD_MIN(end, factor->first + factor->count);
		if (factor->first >= end) break;
		struct pfld_cpu_step step = job->common;
		set_factors(job, factor, &step);
		step.count = behind - first;
		step.p += factor->parameter_first + (first - factor->first);
		step.g += first;
		if (step.state) step.state += first;
		if (step.second) step.second += first;
		job->device->kernels->rows->optimizer_step(&step);
	}
}

// What gradients are multiplied by: the run's factor, and so much less that their joint norm is at most clip_norm (as
// PyTorch's clip_grad_norm_ does it).
static double gradient_factor(const struct pfld_optimizer_attr *attr, double norm2, const struct pfld_run *run)
{
	if (attr->clip_norm == 0) return run->gradient_scale;
	double norm = sqrt(norm2) * fabs(run->gradient_scale), clip = attr->clip_norm / (norm + 1e-6);
	return clip < 1 ? run->gradient_scale * clip : run->gradient_scale;
}

static void optimizer(struct pfld_backend_device *device, const struct pfld_op *op, const struct pfld_run *run)
{
	const struct pfld_optimizer_attr *attr = &op->attr.optimizer;
	const pfld_real *norm2 = pfld_cpu_at(&op->src[1]), *sums = pfld_cpu_at(&op->src[2]);
	if (!isfinite(*norm2) || (sums && sums[PFLD_SUMS_BAD] != 0)) return;
	struct step_job job = {
		.device = device,
		.attr = attr,
		.count = (int64_t)pfld_operand_elements(&op->src[0]),
		.learning_rate = run->learning_rate,
		.bias1 = 1 - pfld_cpu_power(attr->beta1, run->optimizer_step),
		.bias2 = 1 - pfld_cpu_power(attr->beta2, run->optimizer_step),
		.common =
			{
				.p = pfld_cpu_at(&op->dst[0]),
				.g = pfld_cpu_at(&op->src[0]),
				.state = pfld_cpu_at(&op->dst[1]),
				.second = pfld_cpu_at(&op->dst[2]),
				.kind = attr->kind,
				.nesterov = attr->nesterov,
				.epsilon_inside = attr->epsilon_inside,
				.gradient_scale = (pfld_real)gradient_factor(attr, *norm2, run),
				.clip_value = attr->clip_value > 0 ? (pfld_real)attr->clip_value : (pfld_real)INFINITY,
				.momentum = (pfld_real)attr->momentum,
				.beta1 = (pfld_real)attr->beta1,
				.beta2 = (pfld_real)attr->beta2,
				.rho = (pfld_real)attr->rho,
				.beta1_rest = (pfld_real)(1 - attr->beta1),
				.beta2_rest = (pfld_real)(1 - attr->beta2),
				.rho_rest = (pfld_real)(1 - attr->rho),
				.epsilon = (pfld_real)attr->epsilon,
			},
	};
	pfld_cpu_parallel(device, num_chunks(&op->src[0]), step_item, &job);
}

const struct pfld_cpu_op pfld_cpu_optimizer = {.enqueue = optimizer};
