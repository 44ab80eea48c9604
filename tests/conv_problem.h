// SPDX-License-Identifier: MIT
// One convolution as tests see it: operands with guards, the reference as loops in double precision, runs in every
// instruction-set level with threads that take items in another order.
#ifndef PFLD_TESTS_CONV_PROBLEM_H
#define PFLD_TESTS_CONV_PROBLEM_H

#include "cpu/cpu.h"
#include "guarded.h"

// Relative to the sum of the absolute terms of an element. In float the reference's rounding is nothing beside it.
extern const double tolerance;

// ---- levels and threads ----
extern const struct pfld_cpu_kernels conv_levels[];
size_t num_conv_levels(void); // that this processor has

struct setting {
	const struct pfld_cpu_kernels *kernels;
	int32_t num_threads;
};
void run_op(const struct pfld_cpu_op *entry, struct pfld_op *op, const struct setting *setting, int32_t batch,
            const struct pfld_run *run);

// ---- shapes ----
struct shape {
	int32_t h, w, c, filters, groups;
	int32_t kernel_h, kernel_w, stride_h, stride_w, dilation_h, dilation_w;
	int32_t top, left, bottom, right;
};
enum { NUM_CONV_SHAPES = 48 };
extern const struct shape conv_shapes[NUM_CONV_SHAPES];
int32_t out_h(const struct shape *shape);
int32_t out_w(const struct shape *shape);

// ---- operands, and the reference as values and sums of absolute terms ----
struct sums {
	double *value, *size;
	size_t num;
};
struct problem {
	struct shape shape;
	int32_t n;
	struct tensor x, kernel, bias, dy; // inputs
	struct sums y, dx, dkernel, dbias; // reference; without what was there before
};
void problem_allocate(struct problem *p, const struct shape *shape, int32_t n, bool wide);
void problem_create(struct problem *p, const struct shape *shape, int32_t n, bool wide); // random inputs
// One sample of another problem by itself.
void problem_create_from(struct problem *p, const struct problem *all, int32_t sample);
void problem_destroy(struct problem *p);
// Every product that the convolution and its gradients are sums of, at one output element.
void reference_at(struct problem *p, int32_t s, int32_t oy, int32_t ox, int32_t f);
struct pfld_op op_of(const struct problem *p, enum pfld_op_kind kind); // with no operands yet

// ---- runs ----
void result_create(struct tensor *result, const struct tensor *like, bool wide);
void check_equal_sample(const struct tensor *a, int32_t s, const struct tensor *b, int32_t t, const char *what);
void check_equal(const struct tensor *a, const struct tensor *b, int32_t n, const char *what); // the bits of n samples
// Forward into NaN, or added to what was there, against the reference. The result is handed on for comparing bits.
void check_forward(struct problem *p, const struct setting *setting, int32_t batch, bool wide, bool has_bias, bool add,
                   struct tensor *y);

struct gradients {
	struct tensor dx, dkernel, dbias;
};
enum { DX = 1, DKERNEL = 2, DBIAS = 4, ALL = 7 };
void gradients_destroy(struct gradients *g);
void check_backward(struct problem *p, const struct setting *setting, int32_t batch, bool wide, int wanted, bool add,
                    struct gradients *g);

#endif
