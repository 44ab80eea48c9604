// SPDX-License-Identifier: MIT
// Ops tested alone: a case holds an op with its operands' values in double, in dense order; check_case() runs it on
// every level and thread count and compares. Around and between operands lie guards that must survive, results and
// workspace are NaN before, and samples behind n are NaN and must stay as they were.
#ifndef PFLD_TESTS_OP_CASE_H
#define PFLD_TESTS_OP_CASE_H

#include "base/random.h"
#include "device/device.h"

struct op_case {
	struct pfld_op op;
	struct pfld_run run;
	double tolerance;                  // of double_loops: relative to 1 + |expected|; set by new_case()
	double *src[PFLD_OP_MAX_SRC];      // n samples each, or one copy
	double *before[PFLD_OP_MAX_DST];   // what is there before; NULL: NaN
	double *expected[PFLD_OP_MAX_DST]; // NULL: not compared
	double *got[PFLD_OP_MAX_DST];      // after check_case() or run_case()
	int32_t alias_dst0;                // source that dst 0 lies upon (-1: none)
	bool odd_host;                     // the host rounds upwards and flushes denormal numbers while the op runs
	struct pfld_random random;
};

// An op of this kind without operands.
struct op_case new_case(enum pfld_op_kind kind, int32_t n, uint64_t seed);
void free_case(struct op_case *op_case);
// Adds a source filled with uniform numbers in [low, high), each representable as float. `extra`: how much wider its
// pixels are than its channels.
double *add_src(struct op_case *op_case, int32_t index, int32_t h, int32_t w, int32_t c, int32_t extra, double low,
				double high);
// The same, of numbers that all samples share: (1, 1, count).
double *add_shared(struct op_case *op_case, int32_t index, int32_t count, double low, double high);
// Adds a result and returns where what is expected goes (zeroes).
double *add_dst(struct op_case *op_case, int32_t index, int32_t h, int32_t w, int32_t c, int32_t extra);
double *add_shared_dst(struct op_case *op_case, int32_t index, int32_t count);
// Gives a result random content to be added to or read.
double *fill_dst(struct op_case *op_case, int32_t index, double low, double high);
// Elements of an operand of this case, all samples.
size_t case_elements(const struct op_case *op_case, const struct pfld_operand *operand);

// Runs on all devices; got[] are the last one's results.
void check_case(struct op_case *op_case, const char *name);
// Runs on one device (the best level, two threads) and compares nothing.
void run_case(struct op_case *op_case);
enum pfld_status check_op(const struct op_case *op_case, struct pfld_error *error);

void open_devices(void);
void close_devices(void);

#endif
