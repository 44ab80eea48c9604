// SPDX-License-Identifier: MIT
// gradient_norm and optimizer: what a step needs of all gradients, and the step. Kernels: optimizer.cl.
#include "opencl/merge.h"
#include <pfld/optimizer.h>

#include <math.h>
#include <string.h>

// ---- norm ----

// Vectors of one item: on a CPU a stretch of memory, elsewhere items side by side read what lies side by side.
static int32_t part_vectors(const struct pfld_backend_device *device)
{
	return device->class.is_cpu ? 1024 : 32;
}

static int32_t num_parts(const struct pfld_backend_device *device, const struct pfld_operand *gradients)
{
	int64_t part = (int64_t)part_vectors(device) * device->class.vector_width;
	return pfld_cl_parts((int64_t)pfld_operand_elements(gradients), part);
}

static size_t norm_bytes(const struct pfld_backend_device *device, const struct pfld_op *op, int32_t batch)
{
	return pfld_cl_merge_elements(device, num_parts(device, &op->src[0]), 1) * sizeof(float);
}

static void prepare_norm(struct pfld_op_state *state, const struct pfld_op *op)
{
	int32_t parts = num_parts(state->device, &op->src[0]), vectors = part_vectors(state->device);
	bool is_cpu = state->device->class.is_cpu;
	pfld_cl_begin(state, PFLD_CL_OPTIMIZER, "sum_of_squares", 0);
	pfld_cl_bind_workspace(state, op, 0, 1);
	pfld_cl_bind(state, &op->src[0]);
	pfld_cl_bind_int(state, (int32_t)pfld_operand_elements(&op->src[0]));
	pfld_cl_bind_int(state, parts);
	pfld_cl_bind_int(state, vectors);
	pfld_cl_bind_int(state, is_cpu ? vectors : 1);
	pfld_cl_bind_int(state, is_cpu ? 1 : parts);
	pfld_cl_prepare_merge(state, op, 0, parts, 1, &op->dst[0]);
}

static void enqueue_norm(struct pfld_op_state *state, const struct pfld_op *op, const struct pfld_run *run)
{
	int32_t parts = num_parts(state->device, &op->src[0]);
	pfld_cl_go(state, parts);
	pfld_cl_enqueue_merge(state, parts, 1, pfld_cl_adds(op, 0, run));
}

const struct pfld_cl_op pfld_cl_gradient_norm = {
	.workspace_bytes = norm_bytes,
	.prepare = prepare_norm,
	.enqueue = enqueue_norm,
};

// ---- step ----

// Runs of elements cut into tiles, one a work group; the table of them goes to the workspace before each step.
enum { TILE_ELEMENTS = 4096 };
union number {
	cl_int integer;
	cl_float real;
};
struct tile {
	union number first, parameter_first, count, learning_rate, weight_decay; // as in optimizer.cl
};
enum { TILE_NUMBERS = sizeof(struct tile) / sizeof(union number) };

struct own {
	size_t num_tiles, num_factors;
	struct pfld_parameter_factor *factors; // that the tiles were made of
	struct tile tiles[];
};

// Each run may end in a tile that is not full.
static size_t most_tiles(const struct pfld_op *op)
{
	return pfld_operand_elements(&op->src[0]) / TILE_ELEMENTS + (size_t)op->attr.optimizer.num_factors;
}

static size_t step_bytes(const struct pfld_backend_device *device, const struct pfld_op *op, int32_t batch)
{
	return most_tiles(op) * sizeof(struct tile);
}

static void make_tiles(struct own *own, const struct pfld_optimizer_attr *attr)
{
	own->num_tiles = 0;
	for (int32_t i = 0; i < attr->num_factors; i++) {
		const struct pfld_parameter_factor *factor = &attr->factors[i];
		for (int64_t done = 0; done < factor->count; done += TILE_ELEMENTS) {
			own->tiles[own->num_tiles++] = (struct tile){
				.first.integer = (cl_int)(factor->first + done),
				.parameter_first.integer = (cl_int)(factor->parameter_first + done),
				.count.integer = (cl_int)PFLD_MIN(factor->count - done, TILE_ELEMENTS),
				.learning_rate.real = (cl_float)factor->learning_rate,
				.weight_decay.real = (cl_float)factor->weight_decay,
			};
		}
	}
	memcpy(own->factors, attr->factors, own->num_factors * sizeof *own->factors);
}

// The host's side of the table: the tiles, and behind them the factors that they came from.
static void make_own(struct pfld_op_state *state, const struct pfld_op *op)
{
	size_t tiles = most_tiles(op), num = (size_t)op->attr.optimizer.num_factors;
	size_t bytes = pfld_align(sizeof(struct own) + tiles * sizeof(struct tile), sizeof(int64_t));
	struct own *own = pfld_calloc(1, bytes + num * sizeof *own->factors);
	if (!own) {
		state->status = pfld_fail_memory(state->error, bytes, "an optimizer's table");
		return;
	}
	own->num_factors = num;
	own->factors = (struct pfld_parameter_factor *)(void *)((char *)own + bytes);
	state->own = own;
	make_tiles(own, &op->attr.optimizer);
}

static size_t step_items(const struct pfld_backend_device *device)
{
	return PFLD_MIN((size_t)device->class.group_items, device->class.max_group_items);
}

static void prepare_step(struct pfld_op_state *state, const struct pfld_op *op)
{
	const struct pfld_optimizer_attr *attr = &op->attr.optimizer;
	const double numbers[] = {attr->clip_norm,  attr->clip_value > 0 ? attr->clip_value : INFINITY,
	                          attr->momentum,   attr->beta1,
	                          attr->beta2,      attr->rho,
	                          1 - attr->beta1,  1 - attr->beta2,
	                          1 - attr->rho,    attr->epsilon};
	make_own(state, op);
	pfld_cl_begin(state, PFLD_CL_OPTIMIZER, "optimizer_step", 4);
	pfld_cl_local(state, step_items(state->device), 1, 1);
	for (int32_t i = 0; i < 3; i++) pfld_cl_bind(state, &op->dst[i]);
	for (int32_t i = 0; i < 3; i++) pfld_cl_bind(state, &op->src[i]);
	pfld_cl_bind_workspace(state, op, 0, TILE_NUMBERS);
	pfld_cl_bind_int(state, attr->kind);
	pfld_cl_bind_int(state, attr->nesterov);
	pfld_cl_bind_int(state, attr->epsilon_inside);
	pfld_cl_bind_int(state, attr->decoupled_decay);
	for (size_t i = 0; i < PFLD_COUNT(numbers); i++) pfld_cl_bind_float(state, numbers[i]);
}

static double power(double base, uint64_t exponent)
{
	double result = 1;
	for (; exponent; exponent >>= 1, base *= base) {
		if (exponent & 1) result *= base;
	}
	return result;
}

static void enqueue_step(struct pfld_op_state *state, const struct pfld_op *op, const struct pfld_run *run)
{
	const struct pfld_optimizer_attr *attr = &op->attr.optimizer;
	struct own *own = state->own;
	double step_rate = run->learning_rate, second_correction = 1;
	if (memcmp(own->factors, attr->factors, own->num_factors * sizeof *own->factors) != 0) {
		pfld_cl_wait(state); // a copy of the old table may be on its way
		make_tiles(own, attr);
	}
	if (attr->kind == PFLD_ADAM || attr->kind == PFLD_ADAMW) {
		double bias1 = 1 - power(attr->beta1, run->optimizer_step), bias2 = 1 - power(attr->beta2, run->optimizer_step);
		step_rate *= attr->epsilon_inside ? sqrt(bias2) / bias1 : 1 / bias1;
		if (!attr->epsilon_inside) second_correction = sqrt(bias2);
	}
	pfld_cl_write(state, &op->workspace, own->tiles, own->num_tiles * sizeof *own->tiles);
	pfld_cl_run_float(state, run->learning_rate);
	pfld_cl_run_float(state, step_rate);
	pfld_cl_run_float(state, second_correction);
	pfld_cl_run_float(state, run->gradient_scale);
	pfld_cl_go(state, (int64_t)own->num_tiles * (int64_t)step_items(state->device));
}

const struct pfld_cl_op pfld_cl_optimizer = {
	.workspace_bytes = step_bytes,
	.prepare = prepare_step,
	.enqueue = enqueue_step,
};
