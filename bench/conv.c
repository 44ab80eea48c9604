// SPDX-License-Identifier: MIT
// Measures convolutions on a device: each of forward, data gradient, filter gradient and both gradients as one op is
// timed in turn, round by round, with the machine's peaks measured in the same rounds; medians are shown. Called by the
// small programs conv_*.c.
#define _GNU_SOURCE // getopt_long
#include "conv.h"

#include "base/base.h"
#include "device/device.h"
#include "peak.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_ROUNDS = 101, NUM_OPS = 4 };
static const char *const op_names[NUM_OPS] = {"forward", "data", "filter", "both"};

struct options {
	const char *device, *cpu_level, *only;
	int32_t threads, rounds, batch;
	bool json;
};

// Tensors of one shape on the device.
enum { X, KERNEL, Y, DX, DKERNEL, WORKSPACE, NUM_TENSORS };
struct place {
	struct pfld_region region;
	struct pfld_operand operand;
	bool exists;
};
struct problem {
	struct pfld_device *device;
	const struct conv_shape *shape;
	int32_t batch;
	struct place places[NUM_TENSORS];
	struct pfld_op ops[NUM_OPS];
	struct pfld_op_state *states[NUM_OPS];
};

struct rounds {
	double values[MAX_ROUNDS];
	int32_t num;
};

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

static double median(struct rounds *rounds)
{
	qsort(rounds->values, (size_t)rounds->num, sizeof(double), compare);
	return rounds->values[rounds->num / 2];
}

// ---- one shape on the device ----
static int32_t out_size(const struct conv_shape *shape, int32_t size)
{
	return (size + 2 * (shape->kernel / 2) - shape->kernel) / shape->stride + 1;
}

static enum pfld_status make_place(struct problem *p, int index, int32_t h, int32_t w, int32_t c, bool per_sample,
                                   struct pfld_error *error)
{
	struct place *place = &p->places[index];
	size_t elements = (size_t)(per_sample ? p->batch : 1) * (size_t)h * (size_t)w * (size_t)c;
	enum pfld_status status = pfld_device_region_create(p->device, elements * sizeof(pfld_real), PFLD_MEMORY_OTHER,
	                                                    "a tensor", &place->region, error);
	if (status) return status;
	place->exists = true;
	place->operand = (struct pfld_operand){
		.tensor = index,
		.h = h,
		.w = w,
		.c = c,
		.pixel_stride = c,
		.per_sample = per_sample,
		.region = &place->region,
	};
	return pfld_device_fill(p->device, &place->region, 0, 0.25, elements, error);
}

static void make_op(struct problem *p, int index)
{
	const struct conv_shape *shape = p->shape;
	struct pfld_op *op = &p->ops[index];
	*op = (struct pfld_op){.kind = index == 0 ? PFLD_OP_CONV2D : PFLD_OP_CONV2D_GRADIENT, .layer = -1};
	for (int i = 0; i < PFLD_OP_MAX_SRC; i++) op->src[i].tensor = PFLD_NO_TENSOR;
	for (int i = 0; i < PFLD_OP_MAX_DST; i++) op->dst[i].tensor = PFLD_NO_TENSOR;
	op->workspace.tensor = PFLD_NO_TENSOR;
	op->attr.conv = (struct pfld_conv_attr){
		.kernel_h = shape->kernel,
		.kernel_w = shape->kernel,
		.stride_h = shape->stride,
		.stride_w = shape->stride,
		.dilation_h = 1,
		.dilation_w = 1,
		.pad_top = shape->kernel / 2,
		.pad_left = shape->kernel / 2,
		.groups = shape->groups,
	};
	bool is_data = index == 1 || index == 3, is_filter = index == 2 || index == 3;
	if (index == 0 || is_filter) op->src[0] = p->places[X].operand;
	if (index == 0 || is_data) op->src[1] = p->places[KERNEL].operand;
	if (index == 0) {
		op->dst[0] = p->places[Y].operand;
		return;
	}
	op->src[2] = p->places[Y].operand;
	if (is_data) op->dst[0] = p->places[DX].operand;
	if (is_filter) op->dst[1] = p->places[DKERNEL].operand;
}

static void problem_destroy(struct problem *p)
{
	for (int i = 0; i < NUM_OPS; i++) pfld_device_release(p->device, &p->states[i]);
	for (int i = 0; i < NUM_TENSORS; i++)
		if (p->places[i].exists) pfld_device_region_destroy(p->device, PFLD_MEMORY_OTHER, &p->places[i].region);
}

static enum pfld_status problem_create(struct problem *p, struct pfld_error *error)
{
	const struct conv_shape *s = p->shape;
	int32_t kernel = s->kernel * s->kernel * (s->c / s->groups) * s->filters;
	enum pfld_status status = make_place(p, X, s->h, s->w, s->c, true, error);
	if (!status) status = make_place(p, DX, s->h, s->w, s->c, true, error);
	if (!status) status = make_place(p, Y, out_size(s, s->h), out_size(s, s->w), s->filters, true, error);
	if (!status) status = make_place(p, KERNEL, 1, 1, kernel, false, error);
	if (!status) status = make_place(p, DKERNEL, 1, 1, kernel, false, error);
	size_t bytes = 0;
	for (int i = 0; i < NUM_OPS; i++) {
		make_op(p, i);
		bytes = PFLD_MAX(bytes, p->device->backend->workspace_bytes(p->device->state, &p->ops[i], p->batch));
	}
	if (!status) status = make_place(p, WORKSPACE, 1, 1, (int32_t)(bytes / sizeof(pfld_real) + 1), false, error);
	for (int i = 0; !status && i < NUM_OPS; i++) {
		p->ops[i].workspace = p->places[WORKSPACE].operand;
		status = pfld_device_prepare(p->device, &p->ops[i], p->batch, &p->states[i], error);
	}
	return status;
}

// ---- measuring ----
static enum pfld_status run_op(struct problem *p, int index, double *seconds, struct pfld_error *error)
{
	struct pfld_run run = {.n = p->batch};
	uint64_t start = pfld_now_ns();
	enum pfld_status status = pfld_device_enqueue(p->device, &p->ops[index], p->states[index], &run, error);
	if (!status) status = pfld_device_finish(p->device, error);
	*seconds = (double)(pfld_now_ns() - start) * 1e-9;
	return status;
}

struct result {
	double seconds[NUM_OPS], gflops, gbytes; // medians; the last two are the machine's peaks
};

static enum pfld_status measure(struct problem *p, struct peak *peak, int32_t num_rounds, struct result *result,
                                struct pfld_error *error)
{
	struct rounds times[NUM_OPS] = {0}, gflops = {0}, gbytes = {0};
	for (int32_t round = -1; round < num_rounds; round++) { // the first warms up and is not counted
		double compute = peak_gflops(peak), copy = peak_gbytes(peak);
		if (round >= 0) {
			gflops.values[gflops.num++] = compute;
			gbytes.values[gbytes.num++] = copy;
		}
		for (int i = 0; i < NUM_OPS; i++) {
			double seconds;
			enum pfld_status status = run_op(p, i, &seconds, error);
			if (status) return status;
			if (round >= 0) times[i].values[times[i].num++] = seconds;
		}
	}
	for (int i = 0; i < NUM_OPS; i++) result->seconds[i] = median(&times[i]);
	result->gflops = median(&gflops);
	result->gbytes = median(&gbytes);
	return PFLD_OK;
}

// Multiply-adds count as two; windows that stand over the edge count whole.
static double operations(const struct problem *p, int index)
{
	double one = 2.0 * p->batch * (double)pfld_op_macs(&p->ops[0]);
	return index == 3 ? 2 * one : one;
}

// What must at least be read and written.
static double bytes(const struct problem *p, int index)
{
	static const int moved[NUM_OPS][NUM_TENSORS] = {
		{[X] = 1, [KERNEL] = 1, [Y] = 1},
		{[KERNEL] = 1, [Y] = 1, [DX] = 1},
		{[X] = 1, [Y] = 1, [DKERNEL] = 1},
		{[X] = 1, [KERNEL] = 1, [Y] = 1, [DX] = 1, [DKERNEL] = 1},
	};
	double sum = 0;
	for (int i = 0; i < NUM_TENSORS; i++)
		if (moved[index][i]) sum += (double)p->places[i].region.bytes;
	return sum;
}

// ---- printing; never %f, which follows the locale ----
static const char *number(char buffer[PFLD_NUMBER_BYTES], double value, int digits)
{
	return pfld_format_double(buffer, value, digits);
}

static void print_row(const struct problem *p, const struct result *r, int index)
{
	const struct conv_shape *s = p->shape;
	double gflops = operations(p, index) / r->seconds[index] * 1e-9,
		   gbytes = bytes(p, index) / r->seconds[index] * 1e-9;
	char shape[64], a[PFLD_NUMBER_BYTES], b[PFLD_NUMBER_BYTES], c[PFLD_NUMBER_BYTES];
	snprintf(shape, sizeof(shape), "%dx%dx%d-%d k%d s%d", (int)s->h, (int)s->w, (int)s->c, (int)s->filters,
	         (int)s->kernel, (int)s->stride);
	printf("%-13s %-24s %-8s %9s %9s %5d%% %9s %5d%%\n", s->net, shape, op_names[index],
	       number(a, r->seconds[index] * 1e3, 3), number(b, gflops, 3), (int)(100 * gflops / r->gflops + 0.5),
	       number(c, gbytes, 3), (int)(100 * gbytes / r->gbytes + 0.5));
}

static void print_json(const struct problem *p, const struct result *r, int index, bool first)
{
	const struct conv_shape *s = p->shape;
	double gflops = operations(p, index) / r->seconds[index] * 1e-9,
		   gbytes = bytes(p, index) / r->seconds[index] * 1e-9;
	const struct {
		const char *name;
		double value;
	} numbers[] = {
		{"ms", r->seconds[index] * 1e3},
		{"gflops", gflops},
		{"gbytes_per_s", gbytes},
		{"peak_gflops", r->gflops},
		{"peak_gbytes_per_s", r->gbytes},
		{"share_of_peak_gflops", gflops / r->gflops},
		{"share_of_peak_gbytes", gbytes / r->gbytes},
	};
	printf(
		"%s\n    {\"net\": \"%s\", \"op\": \"%s\", \"h\": %d, \"w\": %d, \"c\": %d, \"filters\": %d, \"groups\": %d, "
		"\"kernel\": %d, \"stride\": %d",
		first ? "" : ",", s->net, op_names[index], (int)s->h, (int)s->w, (int)s->c, (int)s->filters, (int)s->groups,
		(int)s->kernel, (int)s->stride);
	for (size_t i = 0; i < PFLD_COUNT(numbers); i++) {
		char text[PFLD_NUMBER_BYTES];
		printf(", \"%s\": %s", numbers[i].name, number(text, numbers[i].value, 5));
	}
	printf("}");
}

// ---- the program ----
static void print_help(const struct conv_bench *bench)
{
	printf("Usage: %s [options]\n"
	       "Measures %s: forward, data gradient, filter gradient, and\n"
	       "both gradients as one op. Medians of interleaved rounds; percentages are of this machine's peaks (fused\n"
	       "multiply-adds, copying) measured in the same rounds. GB/s counts each tensor once.\n\n"
	       "  --device NAME      device to run on (cpu)\n"
	       "  --cpu_level NAME   instruction-set level of the cpu, c or avx2 (the best there is)\n"
	       "  --threads N        threads of the cpu (as many as this process may use)\n"
	       "  --batch_size N     samples (%d)\n"
	       "  --repeat N         rounds, 1 to %d (9)\n"
	       "  --net NAME         only shapes of this net\n"
	       "  --json             print JSON\n"
	       "  --help             print this\n\n"
	       "Examples:\n"
	       "  %s --threads 1\n"
	       "  %s --batch_size 64 --net pfld --json > %s.json\n",
	       bench->program, bench->about, (int)bench->batch, MAX_ROUNDS, bench->program, bench->program, bench->program);
}

static bool read_count(const char *text, int32_t most, int32_t *value)
{
	int64_t number;
	if (!pfld_parse_int(text, &number) || number < 1 || number > most) return false;
	*value = (int32_t)number;
	return true;
}

// False: wrong usage, already said.
static bool read_options(const struct conv_bench *bench, int argc, char **argv, struct options *options, bool *help)
{
	static const struct option known[] = {
		{"device", required_argument, NULL, 'd'},
		{"cpu_level", required_argument, NULL, 'l'},
		{"cpu-level", required_argument, NULL, 'l'},
		{"threads", required_argument, NULL, 't'},
		{"batch_size", required_argument, NULL, 'b'},
		{"batch-size", required_argument, NULL, 'b'},
		{"repeat", required_argument, NULL, 'r'},
		{"net", required_argument, NULL, 'n'},
		{"json", no_argument, NULL, 'j'},
		{"help", no_argument, NULL, 'h'},
		{0},
	};
	int key;
	bool good = true;
	while (good && (key = getopt_long(argc, argv, "", known, NULL)) != -1) {
		switch (key) {
		case 'd': options->device = optarg; break;
		case 'l': options->cpu_level = optarg; break;
		case 'n': options->only = optarg; break;
		case 'j': options->json = true; break;
		case 'h': *help = true; break;
		case 't': good = read_count(optarg, 1024, &options->threads); break;
		case 'b': good = read_count(optarg, 4096, &options->batch); break;
		case 'r': good = read_count(optarg, MAX_ROUNDS, &options->rounds); break;
		default: return false;
		}
	}
	if (!good) fprintf(stderr, "%s: \"%s\" is not a count in range; see --help\n", bench->program, optarg);
	if (good && optind < argc) fprintf(stderr, "%s: what is \"%s\"? See --help\n", bench->program, argv[optind]);
	return good && optind == argc;
}

static enum pfld_status run_shapes(const struct conv_bench *bench, const struct options *options,
                                   struct pfld_device *device, struct peak *peak, struct pfld_error *error)
{
	bool first = true;
	if (!options->json)
		printf("%-13s %-24s %-8s %9s %9s %6s %9s %6s\n", "net", "shape", "op", "ms", "GFLOP/s", "peak", "GB/s", "peak");
	for (int32_t i = 0; i < bench->num_shapes; i++) {
		if (options->only && strcmp(options->only, bench->shapes[i].net) != 0) continue;
		struct problem p = {.device = device, .shape = &bench->shapes[i], .batch = options->batch};
		struct result result;
		enum pfld_status status = problem_create(&p, error);
		if (!status) status = measure(&p, peak, options->rounds, &result, error);
		for (int op = 0; !status && op < NUM_OPS; op++) {
			if (options->json)
				print_json(&p, &result, op, first);
			else
				print_row(&p, &result, op);
			first = false;
		}
		problem_destroy(&p);
		if (status) return status;
	}
	return PFLD_OK;
}

int conv_bench(const struct conv_bench *bench, int argc, char **argv)
{
	struct options options = {.device = "cpu", .rounds = 9, .batch = bench->batch};
	bool help = false;
	if (!read_options(bench, argc, argv, &options, &help)) return EXIT_FAILURE;
	if (help) {
		print_help(bench);
		return EXIT_SUCCESS;
	}
	struct pfld_error error = {0};
	struct pfld_device *device = NULL;
	struct peak peak = {0};
	struct pfld_device_options device_options = {.num_threads = options.threads, .cpu_level = options.cpu_level};
	enum pfld_status status = pfld_device_open(&device, options.device, &device_options, &error);
	if (!status) status = peak_create(&peak, pfld_device_num_threads(device), &error);
	if (!status) {
		printf(options.json
		           ? "{\n  \"device\": \"%s\", \"level\": \"%s\", \"threads\": %d, \"batch\": %d,\n  \"results\": ["
		           : "device %s, level %s, threads %d, batch %d\n",
		       options.device, pfld_device_level(device), (int)pfld_device_num_threads(device), (int)options.batch);
		status = run_shapes(bench, &options, device, &peak, &error);
		if (options.json) printf("\n  ]\n}\n");
	}
	if (status) fprintf(stderr, "%s: %s\n", bench->program, error.message);
	peak_destroy(&peak);
	pfld_device_close(&device);
	return status ? EXIT_FAILURE : EXIT_SUCCESS;
}
