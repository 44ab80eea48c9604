// SPDX-License-Identifier: MIT
// Convolution ops of the cpu backend against double-precision loops: every instruction-set level, shapes with every kind
// of tail, operands inside wider pixels, NaN in everything that must not be read, guard pages behind every buffer, and
// equal bits for every thread count, order of items, and n below the batch. Goes through the op entries, so no device
// layer is needed. Also built in double precision.
#define _DEFAULT_SOURCE // MAP_ANONYMOUS
#include "cpu/cpu.h"
#include "cpu/kernels.h"
#include "pfld_config.h"

#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define SEED 20240607u

// Relative to the sum of the absolute terms of an element. In float the reference's rounding is nothing beside it.
static const double tolerance = sizeof(pfld_real) == sizeof(double) ? 1e-14 : 1e-6;

static uint32_t random_state = SEED;

static double random_value(void)
{
	random_state = random_state * 1664525u + 1013904223u;
	return (double)(random_state >> 8) / (1 << 23) - 1;
}

// ---- buffers that end at a page nobody may touch ----
struct buffer {
	char *mapped, *data;
	size_t mapped_bytes, bytes;
};

static void poison(struct buffer *buffer)
{
	memset(buffer->mapped, 0xff, (size_t)(buffer->data - buffer->mapped) + buffer->bytes); // all ones: a NaN
}

static struct buffer buffer_create(size_t bytes)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE), whole = (bytes + page - 1) / page * page;
	struct buffer buffer = {.mapped_bytes = whole + 2 * page, .bytes = bytes};
	buffer.mapped = mmap(NULL, buffer.mapped_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ck_assert(buffer.mapped != MAP_FAILED);
	ck_assert_int_eq(mprotect(buffer.mapped + whole + page, page, PROT_NONE), 0);
	buffer.data = buffer.mapped + whole + page - bytes;
	poison(&buffer);
	return buffer;
}

static void buffer_destroy(struct buffer *buffer)
{
	for (char *byte = buffer->mapped; byte < buffer->data; byte++)
		if ((unsigned char)*byte != 0xff) ck_abort_msg("written in front of a buffer");
	munmap(buffer->mapped, buffer->mapped_bytes);
}

// A tensor of n samples inside wider pixels; what is not its own stays poisoned.
struct tensor {
	struct buffer buffer;
	struct pfld_region region;
	struct pfld_operand operand;
	int32_t n;
};

static void tensor_create(struct tensor *tensor, int32_t n, int32_t h, int32_t w, int32_t c, int32_t channel, int32_t behind)
{
	int32_t stride = channel + c + behind;
	size_t elements = (size_t)n * (size_t)h * (size_t)w * (size_t)stride - (size_t)behind;
	tensor->n = n;
	tensor->buffer = buffer_create(elements * sizeof(pfld_real));
	tensor->region = (struct pfld_region){.bytes = tensor->buffer.bytes, .host = tensor->buffer.data};
	tensor->operand = (struct pfld_operand){
		.tensor = 0,
		.h = h,
		.w = w,
		.c = c,
		.pixel_stride = stride,
		.channel = channel,
		.per_sample = true,
		.region = &tensor->region,
		.offset_bytes = (size_t)channel * sizeof(pfld_real),
	};
}

static pfld_real *element(const struct tensor *tensor, int32_t s, int32_t y, int32_t x, int32_t c)
{
	const struct pfld_operand *o = &tensor->operand;
	size_t pixel = ((size_t)s * (size_t)o->h + (size_t)y) * (size_t)o->w + (size_t)x;
	return (pfld_real *)tensor->buffer.data + pixel * (size_t)o->pixel_stride + (size_t)o->channel + (size_t)c;
}

#define FOR_EACH(tensor, s, i, j, k)                          \
	for (int32_t s = 0; s < (tensor)->n; s++)                 \
		for (int32_t i = 0; i < (tensor)->operand.h; i++)     \
			for (int32_t j = 0; j < (tensor)->operand.w; j++) \
				for (int32_t k = 0; k < (tensor)->operand.c; k++)

static void fill_random(struct tensor *tensor)
{
	FOR_EACH(tensor, s, y, x, c) *element(tensor, s, y, x, c) = (pfld_real)random_value();
}

static void check_gaps(const struct tensor *tensor)
{
	const struct pfld_operand *o = &tensor->operand;
	size_t num = tensor->buffer.bytes / sizeof(pfld_real);
	for (size_t i = 0; i < num; i++) {
		int32_t channel = (int32_t)(i % (size_t)o->pixel_stride);
		if (channel >= o->channel && channel < o->channel + o->c) continue;
		pfld_real value;
		memcpy(&value, tensor->buffer.data + i * sizeof(value), sizeof(value));
		unsigned char ones[sizeof(value)];
		memset(ones, 0xff, sizeof(ones));
		if (memcmp(&value, ones, sizeof(ones)) != 0) ck_abort_msg("written between the channels at %zu", i);
	}
}

static void tensor_destroy(struct tensor *tensor)
{
	check_gaps(tensor);
	buffer_destroy(&tensor->buffer);
}

// ---- levels and threads ----
static const struct pfld_cpu_kernels levels[] = {
	{.level = "c", .gemm = &pfld_cpu_gemm_c, .depthwise = &pfld_cpu_depthwise_c},
#if PFLD_HAVE_AVX2 && !defined(PFLD_DOUBLE)
	{.level = "avx2", .gemm = &pfld_cpu_gemm_avx2, .depthwise = &pfld_cpu_depthwise_avx2},
#endif
};

// Levels that this processor has.
static size_t num_levels(void)
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

struct setting {
	const struct pfld_cpu_kernels *kernels;
	int32_t num_threads;
};

static void run_op(const struct pfld_cpu_op *entry, struct pfld_op *op, const struct setting *setting, int32_t batch,
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
	const char *reason = NULL;
	ck_assert(entry->supports(op, &reason));
	entry->enqueue(&device, op, run);
	buffer_destroy(&workspace);
}

// ---- shapes ----
struct shape {
	int32_t h, w, c, filters, groups;
	int32_t kernel_h, kernel_w, stride_h, stride_w, dilation_h, dilation_w;
	int32_t top, left, bottom, right;
};

static int32_t out_size(int32_t size, int32_t before, int32_t behind, int32_t kernel, int32_t stride, int32_t dilation)
{
	return (size + before + behind - (kernel - 1) * dilation - 1) / stride + 1;
}
static int32_t out_h(const struct shape *shape)
{
	return out_size(shape->h, shape->top, shape->bottom, shape->kernel_h, shape->stride_h, shape->dilation_h);
}
static int32_t out_w(const struct shape *shape)
{
	return out_size(shape->w, shape->left, shape->right, shape->kernel_w, shape->stride_w, shape->dilation_w);
}

static const struct shape shapes[] = {
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
struct sums {
	double *value, *size;
	size_t num;
};

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

struct problem {
	struct shape shape;
	int32_t n;
	struct tensor x, kernel, bias, dy; // inputs
	struct sums y, dx, dkernel, dbias; // reference; without what was there before
};

static size_t kernel_at(const struct shape *shape, int32_t ky, int32_t kx, int32_t c, int32_t f)
{
	size_t tap = (size_t)ky * (size_t)shape->kernel_w + (size_t)kx;
	return (tap * (size_t)(shape->c / shape->groups) + (size_t)c) * (size_t)shape->filters + (size_t)f;
}

// Every product that the convolution and its gradients are sums of, at one output element.
static void reference_at(struct problem *p, int32_t s, int32_t oy, int32_t ox, int32_t f)
{
	const struct shape *shape = &p->shape;
	int32_t group_c = shape->c / shape->groups, group = f / (shape->filters / shape->groups);
	size_t out = (((size_t)s * (size_t)out_h(shape) + (size_t)oy) * (size_t)out_w(shape) + (size_t)ox) *
	                 (size_t)shape->filters + (size_t)f;
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
				size_t in = (((size_t)s * (size_t)shape->h + (size_t)iy) * (size_t)shape->w + (size_t)ix) *
				                (size_t)shape->c + (size_t)channel;
				double x = *element(&p->x, s, iy, ix, channel), k = *element(&p->kernel, 0, 0, 0, (int32_t)weight);
				add_term(&p->y, out, x * k);
				add_term(&p->dx, in, dy * k);
				add_term(&p->dkernel, weight, dy * x);
			}
		}
}

static void problem_create(struct problem *p, const struct shape *shape, int32_t n, bool wide)
{
	int32_t kernel = (int32_t)kernel_at(shape, shape->kernel_h - 1, shape->kernel_w - 1, shape->c / shape->groups - 1,
	                                    shape->filters - 1) + 1;
	*p = (struct problem){.shape = *shape, .n = n};
	tensor_create(&p->x, n, shape->h, shape->w, shape->c, wide ? 3 : 0, wide ? 2 : 0);
	tensor_create(&p->kernel, 1, 1, 1, kernel, 0, 0);
	tensor_create(&p->bias, 1, 1, 1, shape->filters, 0, 0);
	tensor_create(&p->dy, n, out_h(shape), out_w(shape), shape->filters, wide ? 1 : 0, wide ? 4 : 0);
	fill_random(&p->x);
	fill_random(&p->kernel);
	fill_random(&p->bias);
	fill_random(&p->dy);
	p->y = sums_create((size_t)n * pfld_operand_elements(&p->dy.operand));
	p->dx = sums_create((size_t)n * pfld_operand_elements(&p->x.operand));
	p->dkernel = sums_create((size_t)kernel);
	p->dbias = sums_create((size_t)shape->filters);
	FOR_EACH(&p->dy, s, y, x, f) reference_at(p, s, y, x, f);
}

static void problem_destroy(struct problem *p)
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

static struct pfld_op op_of(const struct problem *p, enum pfld_op_kind kind)
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
			ck_abort_msg("%s %s: sample %d row %d column %d channel %d is off by %d e-9 of its terms (%dx%dx%d to %d, kernel "
		              "%dx%d, stride %d %d, groups %d, n %d, seed %u)",
		              level, what, (int)s, (int)y, (int)x, (int)c, (int)(fabs(value - want) / size * 1e9), (int)h->h,
		              (int)h->w, (int)h->c, (int)h->filters, (int)h->kernel_h, (int)h->kernel_w, (int)h->stride_h,
		              (int)h->stride_w, (int)h->groups, (int)p->n, SEED);
		at++;
	}
}

static void check_equal_sample(const struct tensor *a, int32_t s, const struct tensor *b, int32_t t, const char *what)
{
	size_t bytes = (size_t)a->operand.c * sizeof(pfld_real);
	for (int32_t y = 0; y < a->operand.h; y++)
		for (int32_t x = 0; x < a->operand.w; x++)
			if (memcmp(element(a, s, y, x, 0), element(b, t, y, x, 0), bytes) != 0) ck_abort_msg("%s: other bits", what);
}

static void check_equal(const struct tensor *a, const struct tensor *b, int32_t n, const char *what)
{
	for (int32_t s = 0; s < n; s++) check_equal_sample(a, s, b, s, what);
}

static void result_create(struct tensor *result, const struct tensor *like, bool wide)
{
	const struct pfld_operand *o = &like->operand;
	wide = wide && o->h * o->w > 1;
	tensor_create(result, like->n, o->h, o->w, o->c, wide ? 2 : 0, wide ? 1 : 0);
}

// ---- tests ----
// Forward into NaN, and added to what was there. Results of the first setting are handed on for comparing bits.
static void forward(struct problem *p, const struct setting *setting, int32_t batch, bool wide, bool has_bias, bool add,
                    struct tensor *y)
{
	struct tensor before;
	result_create(y, &p->dy, wide);
	result_create(&before, &p->dy, wide);
	fill_random(&before);
	if (add) FOR_EACH(y, s, i, j, c) *element(y, s, i, j, c) = *element(&before, s, i, j, c);
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

struct gradients {
	struct tensor dx, dkernel, dbias;
};

static void gradients_destroy(struct gradients *g)
{
	tensor_destroy(&g->dx);
	tensor_destroy(&g->dkernel);
	tensor_destroy(&g->dbias);
}

enum { DX = 1, DKERNEL = 2, DBIAS = 4, ALL = 7 };

static void backward(struct problem *p, const struct setting *setting, int32_t batch, bool wide, int wanted, bool add,
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
		FOR_EACH(&g->dx, s, i, j, c) *element(&g->dx, s, i, j, c) = *element(&before.dx, s, i, j, c);
		FOR_EACH(&g->dkernel, s, i, j, c) *element(&g->dkernel, s, i, j, c) = *element(&before.dkernel, s, i, j, c);
		FOR_EACH(&g->dbias, s, i, j, c) *element(&g->dbias, s, i, j, c) = *element(&before.dbias, s, i, j, c);
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
	run_op(&pfld_cpu_conv2d_gradient, &op, setting, batch,
	       &(struct pfld_run){.n = p->n, .accumulate_gradients = add});
	const char *level = setting->kernels->level;
	if (wanted & DX) check_result(p, level, "dx", &g->dx, &p->dx, add ? &before.dx : NULL);
	if (wanted & DKERNEL) check_result(p, level, "dkernel", &g->dkernel, &p->dkernel, add ? &before.dkernel : NULL);
	if (wanted & DBIAS) check_result(p, level, "dbias", &g->dbias, &p->dbias, add ? &before.dbias : NULL);
	gradients_destroy(&before);
}

START_TEST(values)
{
	const struct shape *shape = &shapes[_i];
	for (int32_t n = 1; n <= 5; n += 2)
		for (size_t level = 0; level < num_levels(); level++) {
			struct setting setting = {&levels[level], 2};
			bool wide = n == 3;
			struct problem p;
			problem_create(&p, shape, n, wide);
			for (int add = 0; add < 2; add++) {
				struct tensor y;
				struct gradients g;
				forward(&p, &setting, n, wide, true, add, &y);
				backward(&p, &setting, n, wide, ALL, add, &g);
				tensor_destroy(&y);
				gradients_destroy(&g);
			}
			problem_destroy(&p);
		}
}
END_TEST

START_TEST(optional_results)
{
	for (size_t level = 0; level < num_levels(); level++) {
		struct setting setting = {&levels[level], 3};
		struct problem p;
		problem_create(&p, &shapes[_i], 2, true);
		struct tensor y;
		forward(&p, &setting, 2, true, false, false, &y);
		FOR_EACH(&y, s, i, j, c) if (isnan(*element(&y, s, i, j, c))) ck_abort_msg("y holds what was there before");
		tensor_destroy(&y);
		for (int wanted = 1; wanted < ALL; wanted++) {
			struct gradients g;
			backward(&p, &setting, 2, true, wanted, false, &g);
			gradients_destroy(&g);
		}
		problem_destroy(&p);
	}
}
END_TEST

START_TEST(bits)
{
	static const int32_t threads[] = {1, 2, 3, 7};
	for (size_t level = 0; level < num_levels(); level++) {
		struct problem p;
		problem_create(&p, &shapes[_i], 5, false);
		struct tensor y, other_y;
		struct gradients g, other;
		forward(&p, &(struct setting){&levels[level], 1}, 5, false, true, false, &y);
		backward(&p, &(struct setting){&levels[level], 1}, 5, false, ALL, false, &g);
		for (size_t i = 1; i < PFLD_COUNT(threads); i++) {
			struct setting setting = {&levels[level], threads[i]};
			forward(&p, &setting, 5 + (int32_t)i, false, true, false, &other_y); // a larger batch, too
			backward(&p, &setting, 5 + (int32_t)i, false, ALL, false, &other);
			check_equal(&y, &other_y, 5, "y");
			check_equal(&g.dx, &other.dx, 5, "dx");
			check_equal(&g.dkernel, &other.dkernel, 1, "dkernel");
			check_equal(&g.dbias, &other.dbias, 1, "dbias");
			tensor_destroy(&other_y);
			gradients_destroy(&other);
		}
		// A sample's bits do not depend on its batch mates.
		struct problem one;
		problem_create(&one, &shapes[_i], 1, false);
		FOR_EACH(&one.x, s, i, j, c) *element(&one.x, s, i, j, c) = *element(&p.x, 3, i, j, c);
		FOR_EACH(&one.dy, s, i, j, c) *element(&one.dy, s, i, j, c) = *element(&p.dy, 3, i, j, c);
		memcpy(one.kernel.buffer.data, p.kernel.buffer.data, p.kernel.buffer.bytes);
		memcpy(one.bias.buffer.data, p.bias.buffer.data, p.bias.buffer.bytes);
		memset(one.y.value, 0, one.y.num * sizeof(double));
		memset(one.y.size, 0, one.y.num * sizeof(double));
		memset(one.dx.value, 0, one.dx.num * sizeof(double));
		memset(one.dx.size, 0, one.dx.num * sizeof(double));
		FOR_EACH(&one.dy, s, i, j, f) reference_at(&one, s, i, j, f);
		forward(&one, &(struct setting){&levels[level], 2}, 4, false, true, false, &other_y);
		backward(&one, &(struct setting){&levels[level], 2}, 4, false, DX, false, &other);
		check_equal_sample(&y, 3, &other_y, 0, "y beside no others");
		check_equal_sample(&g.dx, 3, &other.dx, 0, "dx beside no others");
		tensor_destroy(&other_y);
		gradients_destroy(&other);
		problem_destroy(&one);
		tensor_destroy(&y);
		gradients_destroy(&g);
		problem_destroy(&p);
	}
}
END_TEST

// Large enough for several slabs, blocks of steps, column blocks and groups at once.
static const struct shape large_shapes[] = {
	{28, 28, 24, 40, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0},
	{28, 28, 72, 24, 1, 3, 3, 1, 1, 1, 1, 1, 1, 1, 1},
	{56, 56, 3, 20, 1, 3, 3, 2, 2, 1, 1, 1, 1, 1, 1},
	{28, 28, 16, 12, 1, 3, 3, 2, 2, 1, 1, 1, 1, 1, 1},
	{40, 40, 20, 20, 20, 3, 3, 1, 1, 1, 1, 1, 1, 1, 1},
	{41, 40, 20, 20, 20, 3, 3, 2, 2, 1, 1, 1, 1, 1, 1},
};

START_TEST(large)
{
	for (size_t level = 0; level < num_levels(); level++) {
		struct problem p;
		problem_create(&p, &large_shapes[_i], 3, false);
		struct tensor y, other_y;
		struct gradients g, other;
		forward(&p, &(struct setting){&levels[level], 1}, 3, false, true, false, &y);
		backward(&p, &(struct setting){&levels[level], 1}, 3, false, ALL, false, &g);
		forward(&p, &(struct setting){&levels[level], 5}, 20, true, true, false, &other_y);
		backward(&p, &(struct setting){&levels[level], 5}, 20, true, ALL, false, &other);
		check_equal(&y, &other_y, 3, "y");
		check_equal(&g.dx, &other.dx, 3, "dx");
		check_equal(&g.dkernel, &other.dkernel, 1, "dkernel");
		check_equal(&g.dbias, &other.dbias, 1, "dbias");
		tensor_destroy(&other_y);
		gradients_destroy(&other);
		tensor_destroy(&y);
		gradients_destroy(&g);
		problem_destroy(&p);
	}
}
END_TEST

START_TEST(pending_is_refused)
{
	struct problem p;
	problem_create(&p, &shapes[0], 1, false);
	struct pfld_op op = op_of(&p, PFLD_OP_CONV2D);
	op.src[0] = p.x.operand;
	op.src[0].pending.is_pending = true;
	const char *reason = NULL;
	ck_assert(!pfld_cpu_conv2d.supports(&op, &reason));
	ck_assert_ptr_nonnull(reason);
	problem_destroy(&p);
}
END_TEST

int main(void)
{
	TCase *tests = tcase_create("conv");
	tcase_set_timeout(tests, 60);
	tcase_add_loop_test(tests, values, 0, PFLD_COUNT(shapes));
	tcase_add_loop_test(tests, optional_results, 0, PFLD_COUNT(shapes));
	tcase_add_loop_test(tests, bits, 0, PFLD_COUNT(shapes));
	tcase_add_loop_test(tests, large, 0, PFLD_COUNT(large_shapes));
	tcase_add_test(tests, pending_is_refused);
	Suite *suite = suite_create("conv");
	suite_add_tcase(suite, tests);
	SRunner *runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	int failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
