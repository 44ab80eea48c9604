// SPDX-License-Identifier: MIT
// The measuring behind conv_dw, conv_pw and conv_3x3, which differ in their shapes alone.
#ifndef PFLD_BENCH_CONV_H
#define PFLD_BENCH_CONV_H

#include <stdint.h>

// SAME padding as PyTorch has it: kernel / 2 on all sides.
struct conv_shape {
	const char *net;
	int32_t h, w, c, filters, groups, kernel, stride;
};

struct conv_bench {
	const char *program, *about;
	const struct conv_shape *shapes;
	int32_t num_shapes, batch; // batch: samples unless --batch_size says otherwise
};

// Reads the options, measures, prints. Returns the program's exit status.
int conv_bench(const struct conv_bench *bench, int argc, char **argv);

#endif
