// SPDX-License-Identifier: MIT
// See conv_problem.h. Also built in double precision.
#include "conv_problem.h"
#include "pfld_config.h"

#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

const double tolerance = sizeof(pfld_real) == sizeof(double) ? 1e-14 : 1e-6;

// ---- levels and threads ----
const struct pfld_cpu_kernels conv_levels[] = {
	{.level = "c", .gemm = &pfld_cpu_gemm_c, .depthwise = &pfld_cpu_depthwise_c, .rows = &pfld_cpu_rows_c},
#if PFLD_HAVE_AVX2 && !defined(PFLD_DOUBLE)
	{.level = "avx2", .gemm = &pfld_cpu_gemm_avx2, .depthwise = &pfld_cpu_depthwise_avx2, .rows = &pfld_cpu_rows_avx2},
#endif
};

size_t num_conv_levels(void)
{
#if PFLD_HAVE_AVX2 && !defined(PFLD_DOUBLE)
	return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") ? 2 : 1;
#else
	return 1;
#endif
}

// Workers take items in another order than they are numbered, and not in turn.
struct scramble {
	int32_t num_threads;
};
static bool coprime(int32_t a, int32_t b)
{
	while (b) {
		int32_t rest = a % b;
		a = b;
		b = rest;
	}
	return a == 1;
}
static void scrambled(void *context, int32_t num_items, pfld_task *fn, void *arg)
{
	const struct scramble *scramble = context;
	int32_t step = scramble->num_threads == 1 ? 1 : num_items / 3 + 1;
	while (!coprime(step, num_items)) step++;
	for (int32_t i = 0, item = num_items - 1; i < num_items; i++, item = (item + step) % num_items)
		fn(arg, item, (i / 2 * 3 + 1) % scramble->num_threads);
}

void run_op(const struct pfld_cpu_op *entry, struct pfld_op *op, const struct setting *setting, int32_t batch,
                   const struct pfld_run *run)
{
	struct scramble scramble = {setting->num_threads};
	struct pfld_backend_device device = {
		.kernels = setting->kernels,
		.parallel_for = scrambled,
		.parallel_for_context = &scramble,
		.num_threads = setting->num_threads,
	};
	size_t bytes = entry->workspace_bytes(&device, op, batch);
	for (int32_t n = 1; n < batch; n++) ck_assert_uint_le(entry->workspace_bytes(&device, op, n), bytes);
	struct buffer workspace = buffer_create(bytes / sizeof(pfld_real) * sizeof(pfld_real));
	struct pfld_region region = {.bytes = workspace.bytes, .host = workspace.data};
	op->workspace = (struct pfld_operand){.tensor = 99, .region = &region};
	entry->enqueue(&device, op, run);
	buffer_destroy(&workspace);
}

// ---- shapes ----
static int32_t out_size(int32_t size, int32_t before, int32_t behind, int32_t kernel, int32_t stride, int32_t dilation)
{
	return (size + before + behind - (kernel - 1) * dilation - 1) / stride + 1;
}
int32_t out_h(const struct shape *shape)
{
	return out_size(shape->h, shape->top, shape->bottom, shape->kernel_h, shape->stride_h, shape->dilation_h);
}
int32_t out_w(const struct shape *shape)
{
	return out_size(shape->w, shape->left, shape->right, shape->kernel_w, shape->stride_w, shape->dilation_w);
}

const struct shape conv_shapes[NUM_CONV_SHAPES] = {
	// 1x1 and linear
	{5, 7, 3, 5, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0},
	{14, 14, 33, 17, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0},
	{9, 11, 64, 48, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0},
	{1, 1, 40, 21, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0},
	{1, 1, 1100, 36, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0},
	{1, 1, 7, 600, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0},
	{6, 5, 16, 8, 1, 1, 1, 2, 2, 1, 1, 0, 0, 0, 0},
	{7, 7, 1, 1, 1, 1, 1, 3, 2, 1, 1, 0, 0, 0, 0},
	{4, 4, 2, 3, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1},
	// dense windows
	{9, 8, 3, 16, 1, 3, 3, 2, 2, 1, 1, 1, 1, 1, 1},
	{9, 8, 3, 16, 1, 3, 3, 2, 2, 1, 1, 0, 0, 1, 1},
	{8, 9, 7, 5, 1, 3, 3, 1, 1, 1, 1, 1, 1, 1, 1},
	{12, 13, 17, 33, 1, 3, 3, 1, 1, 1, 1, 1, 1, 1, 1},
	{12, 13, 70, 33, 1, 3, 3, 1, 1, 1, 1, 0, 1, 2, 0},
	{17, 6, 5, 3, 1, 1, 7, 1, 1, 1, 1, 0, 3, 0, 3},
	{6, 17, 5, 3, 1, 7, 1, 1, 1, 1, 1, 3, 0, 3, 0},
	{13, 14, 3, 9, 1, 7, 7, 2, 2, 1, 1, 3, 3, 3, 3},
	{10, 11, 4, 6, 1, 3, 3, 1, 2, 1, 1, 1, 1, 1, 1},
	{10, 11, 4, 6, 1, 3, 3, 3, 1, 1, 1, 1, 0, 0, 2},
	{15, 15, 6, 7, 1, 3, 3, 1, 1, 2, 2, 2, 2, 2, 2},
	{15, 15, 6, 7, 1, 3, 3, 2, 2, 2, 2, 2, 1, 2, 3},
	{15, 14, 5, 8, 1, 4, 3, 2, 3, 3, 2, 2, 1, 2, 3},
	{7, 7, 24, 20, 1, 7, 7, 1, 1, 1, 1, 0, 0, 0, 0},
	{7, 7, 24, 20, 1, 7, 7, 1, 1, 1, 1, 1, 1, 1, 1},
	{3, 2, 5, 4, 1, 5, 5, 1, 1, 1, 1, 2, 2, 2, 2},
	{2, 2, 3, 4, 1, 3, 3, 2, 2, 1, 1, 3, 3, 3, 3},
	{5, 5, 600, 9, 1, 3, 3, 1, 1, 1, 1, 1, 1, 1, 1},
	// groups
	{8, 7, 6, 10, 2, 3, 3, 1, 1, 1, 1, 1, 1, 1, 1},
	{8, 7, 9, 6, 3, 3, 3, 2, 2, 1, 1, 1, 1, 1, 1},
	{8, 7, 5, 15, 5, 3, 3, 2, 1, 1, 1, 1, 1, 1, 1},
	{6, 7, 10, 4, 2, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0},
	// depthwise
	{9, 10, 8, 8, 8, 3, 3, 1, 1, 1, 1, 1, 1, 1, 1},
	{14, 14, 33, 33, 33, 3, 3, 1, 1, 1, 1, 1, 1, 1, 1},
	{14, 15, 17, 17, 17, 3, 3, 2, 2, 1, 1, 1, 1, 1, 1},
	{14, 14, 24, 24, 24, 3, 3, 2, 2, 1, 1, 0, 0, 1, 1},
	{28, 27, 3, 3, 3, 3, 3, 2, 2, 1, 1, 0, 1, 1, 1},
	{11, 10, 7, 7, 7, 5, 5, 1, 1, 1, 1, 2, 2, 2, 2},
	{11, 10, 7, 7, 7, 5, 5, 2, 3, 1, 1, 1, 2, 2, 1},
	{13, 12, 5, 5, 5, 3, 3, 1, 1, 2, 3, 2, 3, 2, 3},
	{13, 12, 5, 5, 5, 3, 3, 2, 2, 2, 3, 2, 3, 2, 3},
	{9, 9, 12, 12, 12, 1, 7, 1, 1, 1, 1, 0, 3, 0, 3},
	{9, 9, 12, 12, 12, 7, 1, 1, 2, 1, 1, 3, 0, 3, 0},
	{7, 7, 40, 40, 40, 7, 7, 1, 1, 1, 1, 0, 0, 0, 0},
	{4, 5, 9, 9, 9, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0},
	{5, 4, 9, 9, 9, 1, 1, 2, 3, 1, 1, 0, 0, 0, 0},
	{3, 3, 2, 2, 2, 3, 3, 1, 1, 1, 1, 2, 2, 2, 2},
	{2, 2, 3, 3, 3, 3, 3, 2, 2, 1, 1, 3, 3, 3, 3},
	{1, 37, 16, 16, 16, 1, 3, 1, 1, 1, 1, 0, 1, 0, 1},
};

// ---- one convolution: operands, and the reference as values and sums of absolute terms ----
static struct sums sums_create(size_t num)
{
	struct sums sums = {calloc(num, sizeof(double)), calloc(num, sizeof(double)), num};
	ck_assert(sums.value && sums.size);
	return sums;
}
static void sums_destroy(struct sums *sums)
{
	free(sums->value);
	free(sums->size);
}
static void add_term(struct sums *sums, size_t at, double term)
{
	sums->value[at] += term;
	sums->size[at] += fabs(term);
}

static size_t kernel_at(const struct shape *shape, int32_t ky, int32_t kx, int32_t c, int32_t f)
{
	size_t tap = (size_t)ky * (size_t)shape->kernel_w + (size_t)kx;
	return (tap * (size_t)(shape->c / shape->groups) + (size_t)c) * (size_t)shape->filters + (size_t)f;
}

// Every product that the convolution and its gradients are sums of, at one output element.
void reference_at(struct problem *p, int32_t s, int32_t oy, int32_t ox, int32_t f)
{
	const struct shape *shape = &p->shape;
	int32_t group_c = shape->c / shape->groups, group = f / (shape->filters / shape->groups);
	size_t out =
		(((size_t)s * (size_t)out_h(shape) + (size_t)oy) * (size_t)out_w(shape) + (size_t)ox) * (size_t)shape->filters +
		(size_t)f;
	double dy = *element(&p->dy, s, oy, ox, f);
	add_term(&p->y, out, *element(&p->bias, 0, 0, 0, f));
	add_term(&p->dbias, (size_t)f, dy);
	for (int32_t ky = 0; ky < shape->kernel_h; ky++)
		for (int32_t kx = 0; kx < shape->kernel_w; kx++) {
			int32_t iy = oy * shape->stride_h - shape->top + ky * shape->dilation_h;
			int32_t ix = ox * shape->stride_w - shape->left + kx * shape->dilation_w;
			if (iy < 0 || iy >= shape->h || ix < 0 || ix >= shape->w) continue;
			for (int32_t c = 0; c < group_c; c++) {
				size_t weight = kernel_at(shape, ky, kx, c, f);
				int32_t channel = group * group_c + c;
				size_t in =
					(((size_t)s * (size_t)shape->h + (size_t)iy) * (size_t)shape->w + (size_t)ix) * (size_t)shape->c +
					(size_t)channel;
				double x = *element(&p->x, s, iy, ix, channel), k = *element(&p->kernel, 0, 0, 0, (int32_t)weight);
				add_term(&p->y, out, x * k);
				add_term(&p->dx, in, dy * k);
				add_term(&p->dkernel, weight, dy * x);
			}
		}
}

void problem_allocate(struct problem *p, const struct shape *shape, int32_t n, bool wide)
{
	int32_t taps = shape->kernel_h * shape->kernel_w, kernel = taps * (shape->c / shape->groups) * shape->filters;
	*p = (struct problem){.shape = *shape, .n = n};
	tensor_create(&p->x, n, shape->h, shape->w, shape->c, wide ? 3 : 0, wide ? 2 : 0);
	tensor_create(&p->kernel, 1, 1, 1, kernel, 0, 0);
	tensor_create(&p->bias, 1, 1, 1, shape->filters, 0, 0);
	tensor_create(&p->dy, n, out_h(shape), out_w(shape), shape->filters, wide ? 1 : 0, wide ? 4 : 0);
	p->y = sums_create((size_t)n * pfld_operand_elements(&p->dy.operand));
	p->dx = sums_create((size_t)n * pfld_operand_elements(&p->x.operand));
	p->dkernel = sums_create((size_t)kernel);
	p->dbias = sums_create((size_t)shape->filters);
}

void problem_create(struct problem *p, const struct shape *shape, int32_t n, bool wide)
{
	problem_allocate(p, shape, n, wide);
	fill_random(&p->x);
	fill_random(&p->kernel);
	fill_random(&p->bias);
	fill_random(&p->dy);
	FOR_EACH(&p->dy, s, y, x, f) reference_at(p, s, y, x, f);
}

// One sample of another problem by itself.
void problem_create_from(struct problem *p, const struct problem *all, int32_t sample)
{
	problem_allocate(p, &all->shape, 1, false);
	FOR_EACH(&p->x, s, y, x, c) * element(&p->x, s, y, x, c) = *element(&all->x, sample, y, x, c);
	FOR_EACH(&p->dy, s, y, x, c) * element(&p->dy, s, y, x, c) = *element(&all->dy, sample, y, x, c);
	memcpy(p->kernel.buffer.data, all->kernel.buffer.data, all->kernel.buffer.bytes);
	memcpy(p->bias.buffer.data, all->bias.buffer.data, all->bias.buffer.bytes);
	FOR_EACH(&p->dy, s, y, x, f) reference_at(p, s, y, x, f);
}

void problem_destroy(struct problem *p)
{
	sums_destroy(&p->y);
	sums_destroy(&p->dx);
	sums_destroy(&p->dkernel);
	sums_destroy(&p->dbias);
	tensor_destroy(&p->x);
	tensor_destroy(&p->kernel);
	tensor_destroy(&p->bias);
	tensor_destroy(&p->dy);
}

struct pfld_op op_of(const struct problem *p, enum pfld_op_kind kind)
{
	const struct shape *s = &p->shape;
	struct pfld_op op = {.kind = kind, .layer = -1};
	for (int i = 0; i < PFLD_OP_MAX_SRC; i++) op.src[i].tensor = PFLD_NO_TENSOR;
	for (int i = 0; i < PFLD_OP_MAX_DST; i++) op.dst[i].tensor = PFLD_NO_TENSOR;
	op.attr.conv = (struct pfld_conv_attr){
		.kernel_h = s->kernel_h,
		.kernel_w = s->kernel_w,
		.stride_h = s->stride_h,
		.stride_w = s->stride_w,
		.dilation_h = s->dilation_h,
		.dilation_w = s->dilation_w,
		.pad_top = s->top,
		.pad_left = s->left,
		.groups = s->groups,
	};
	return op;
}

// `before`: what the result was before the op, NULL when it must not count.
static void check_result(const struct problem *p, const char *level, const char *what, const struct tensor *result,
                         const struct sums *reference, const struct tensor *before)
{
	const struct shape *h = &p->shape;
	size_t at = 0;
	FOR_EACH(result, s, y, x, c)
	{
		double old = before ? *element(before, s, y, x, c) : 0, value = *element(result, s, y, x, c);
		double want = reference->value[at] + old, size = reference->size[at] + fabs(old);
		if (!(fabs(value - want) <= tolerance * size))
			ck_abort_msg(
				"%s %s: sample %d row %d column %d channel %d is off by %d e-9 of its terms (%dx%dx%d to %d, kernel "
				"%dx%d, stride %d %d, groups %d, n %d)",
				level, what, (int)s, (int)y, (int)x, (int)c, (int)(fabs(value - want) / size * 1e9), (int)h->h,
				(int)h->w, (int)h->c, (int)h->filters, (int)h->kernel_h, (int)h->kernel_w, (int)h->stride_h,
				(int)h->stride_w, (int)h->groups, (int)p->n);
		at++;
	}
}

void check_equal_sample(const struct tensor *a, int32_t s, const struct tensor *b, int32_t t, const char *what)
{
	size_t bytes = (size_t)a->operand.c * sizeof(pfld_real);
	for (int32_t y = 0; y < a->operand.h; y++)
		for (int32_t x = 0; x < a->operand.w; x++)
			if (memcmp(element(a, s, y, x, 0), element(b, t, y, x, 0), bytes) != 0)
				ck_abort_msg("%s: other bits", what);
}

void check_equal(const struct tensor *a, const struct tensor *b, int32_t n, const char *what)
{
	for (int32_t s = 0; s < n; s++) check_equal_sample(a, s, b, s, what);
}

void result_create(struct tensor *result, const struct tensor *like, bool wide)
{
	const struct pfld_operand *o = &like->operand;
	wide = wide && o->h * o->w > 1;
	tensor_create(result, like->n, o->h, o->w, o->c, wide ? 2 : 0, wide ? 1 : 0);
}

// ---- runs ----
void check_forward(struct problem *p, const struct setting *setting, int32_t batch, bool wide, bool has_bias, bool add,
                    struct tensor *y)
{
	struct tensor before;
	result_create(y, &p->dy, wide);
	result_create(&before, &p->dy, wide);
	fill_random(&before);
	if (add) FOR_EACH(y, s, i, j, c) * element(y, s, i, j, c) = *element(&before, s, i, j, c);
	struct pfld_op op = op_of(p, PFLD_OP_CONV2D);
	op.src[0] = p->x.operand;
	op.src[1] = p->kernel.operand;
	if (has_bias) op.src[2] = p->bias.operand;
	op.dst[0] = y->operand;
	op.accumulate[0] = add;
	run_op(&pfld_cpu_conv2d, &op, setting, batch, &(struct pfld_run){.n = p->n});
	if (has_bias) check_result(p, setting->kernels->level, "y", y, &p->y, add ? &before : NULL);
	check_gaps(y);
	tensor_destroy(&before);
}

void gradients_destroy(struct gradients *g)
{
	tensor_destroy(&g->dx);
	tensor_destroy(&g->dkernel);
	tensor_destroy(&g->dbias);
}

void check_backward(struct problem *p, const struct setting *setting, int32_t batch, bool wide, int wanted, bool add,
                     struct gradients *g)
{
	struct gradients before;
	result_create(&g->dx, &p->x, wide);
	result_create(&g->dkernel, &p->kernel, false);
	result_create(&g->dbias, &p->bias, false);
	result_create(&before.dx, &p->x, wide);
	result_create(&before.dkernel, &p->kernel, false);
	result_create(&before.dbias, &p->bias, false);
	fill_random(&before.dx);
	fill_random(&before.dkernel);
	fill_random(&before.dbias);
	if (add) {
		FOR_EACH(&g->dx, s, i, j, c) * element(&g->dx, s, i, j, c) = *element(&before.dx, s, i, j, c);
		FOR_EACH(&g->dkernel, s, i, j, c) * element(&g->dkernel, s, i, j, c) = *element(&before.dkernel, s, i, j, c);
		FOR_EACH(&g->dbias, s, i, j, c) * element(&g->dbias, s, i, j, c) = *element(&before.dbias, s, i, j, c);
	}
	struct pfld_op op = op_of(p, PFLD_OP_CONV2D_GRADIENT);
	if (wanted & DKERNEL) op.src[0] = p->x.operand;
	if (wanted & DX) op.src[1] = p->kernel.operand;
	op.src[2] = p->dy.operand;
	if (wanted & DX) op.dst[0] = g->dx.operand;
	if (wanted & DKERNEL) op.dst[1] = g->dkernel.operand;
	if (wanted & DBIAS) op.dst[2] = g->dbias.operand;
	op.accumulate[0] = add;
	op.gradient[1] = op.gradient[2] = true;
	run_op(&pfld_cpu_conv2d_gradient, &op, setting, batch, &(struct pfld_run){.n = p->n, .accumulate_gradients = add});
	const char *level = setting->kernels->level;
	if (wanted & DX) check_result(p, level, "dx", &g->dx, &p->dx, add ? &before.dx : NULL);
	if (wanted & DKERNEL) check_result(p, level, "dkernel", &g->dkernel, &p->dkernel, add ? &before.dkernel : NULL);
	if (wanted & DBIAS) check_result(p, level, "dbias", &g->dbias, &p->dbias, add ? &before.dbias : NULL);
	gradients_destroy(&before);
}
