// SPDX-License-Identifier: MIT
// dropout: which elements are kept is drawn from (seed, step, stream, element) by a counter-based generator, so the
// draw is the same for every n, thread and recomputation, and in the gradient.
#include "base/random.h"
#include "cpu/cpu.h"

struct job {
	const struct pfld_op *op;
	struct pfld_cpu_slabs slabs;
	uint32_t key[2], step[2];
	uint64_t threshold; // kept when the drawn number is at least this
	pfld_real factor;
	bool add;
};

// The four numbers for elements 4 block .. 4 block + 3. The purpose stands beside the stream, so that no other use of
// the seed meets these counters.
static void draw(const struct job *job, uint64_t block, uint32_t drawn[4])
{
	uint32_t counter[4] = {
		(uint32_t)block,
		job->step[0],
		(uint32_t)(block >> 32) ^ (job->step[1] << 16),
		job->op->attr.dropout.stream ^ ((uint32_t)PFLD_RANDOM_DROPOUT << 24),
	};
	pfld_philox(drawn, counter, job->key);
}

static void dropout_item(void *arg, int32_t item, int32_t worker)
{
	const struct job *job = arg;
	const struct pfld_operand *x = &job->op->src[0], *y = &job->op->dst[0];
	int64_t first = pfld_cpu_slab_first(&job->slabs, item), end = first + pfld_cpu_slab_pixels(&job->slabs, item);
	uint64_t element = (uint64_t)(first * x->c), drawn_block = UINT64_MAX;
	uint32_t drawn[4];
	for (int64_t p = first; p < end; p++) {
		const pfld_real *from = pfld_cpu_at(x) + p * x->pixel_stride;
		pfld_real *to = pfld_cpu_at(y) + p * y->pixel_stride;
		for (int32_t j = 0; j < x->c; j++, element++) {
			if (element / 4 != drawn_block) draw(job, drawn_block = element / 4, drawn);
			pfld_real value = drawn[element % 4] >= job->threshold ? from[j] * job->factor : 0;
			to[j] = job->add ? to[j] + value : value;
		}
	}
}

static void dropout(struct pfld_backend_device *device, const struct pfld_op *op, const struct pfld_run *run)
{
	const struct pfld_operand *x = &op->src[0];
	double rate = op->attr.dropout.rate;
	struct job job = {
		.op = op,
		.slabs = pfld_cpu_slabs(pfld_cpu_num_pixels(x, run->n), x->c),
		.key = {(uint32_t)run->seed, (uint32_t)(run->seed >> 32)},
		.step = {(uint32_t)run->step, (uint32_t)(run->step >> 32)},
		.threshold = (uint64_t)(rate * 4294967296.0),
		.factor = (pfld_real)(1 / (1 - rate)),
		.add = pfld_cpu_adds(op, 0, run),
	};
	pfld_cpu_parallel(device, job.slabs.num_slabs, dropout_item, &job);
}

const struct pfld_cpu_op pfld_cpu_dropout = {.enqueue = dropout};
