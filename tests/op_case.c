// SPDX-License-Identifier: MIT
#include "op_case.h"

#include <check.h>
#include <fenv.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#if defined(__SSE2__)
#include <xmmintrin.h>
#endif

enum { MAX_LEVELS = 4, NUM_KINDS = 5, GUARD_BYTES = 256, MARK = 0xa5 };

static struct pfld_device *devices[MAX_LEVELS * NUM_KINDS];
static int32_t num_devices;

// A host's own "threads": items from last to first, on changing workers.
static void reversed(void *context, int32_t num_items, pfld_task *fn, void *arg)
{
	for (int32_t item = num_items - 1; item >= 0; item--) fn(arg, item, item % 3);
}

void open_devices(void)
{
	static const int32_t threads[NUM_KINDS] = {1, 2, 3, 7, 3};
	struct pfld_device_info info;
	pfld_device_list(NULL, &info, 1, NULL, 0);
	for (char *level = strtok(info.levels, " "); level; level = strtok(NULL, " ")) {
		for (int32_t i = 0; i < NUM_KINDS; i++) {
			struct pfld_device_options options = {.num_threads = threads[i], .cpu_level = level};
			if (i == NUM_KINDS - 1) options.parallel_for = reversed;
			ck_assert_int_eq(pfld_device_open(&devices[num_devices++], "cpu", &options, NULL), PFLD_OK);
		}
	}
}

void close_devices(void)
{
	while (num_devices) pfld_device_close(&devices[--num_devices]);
}

// ---- making a case ----

struct op_case new_case(enum pfld_op_kind kind, int32_t n, uint64_t seed)
{
	struct op_case op_case = {
		.op = {.kind = kind, .layer = -1},
		.run = {.n = n, .loss_scale = 1, .gradient_scale = 1, .learning_rate = 1, .optimizer_step = 1},
		.tolerance = sizeof(pfld_real) == 4 ? 2e-6 : 1e-13,
		.alias_dst0 = -1,
		.random = pfld_random_stream(seed, PFLD_RANDOM_TEST, kind, (uint64_t)n),
	};
	for (int32_t i = 0; i < PFLD_OP_MAX_SRC; i++) op_case.op.src[i].tensor = PFLD_NO_TENSOR;
	for (int32_t i = 0; i < PFLD_OP_MAX_DST; i++) op_case.op.dst[i].tensor = PFLD_NO_TENSOR;
	op_case.op.workspace.tensor = PFLD_NO_TENSOR;
	return op_case;
}

void free_case(struct op_case *op_case)
{
	for (int32_t i = 0; i < PFLD_OP_MAX_SRC; i++) free(op_case->src[i]);
	for (int32_t i = 0; i < PFLD_OP_MAX_DST; i++) {
		free(op_case->before[i]);
		free(op_case->expected[i]);
		free(op_case->got[i]);
	}
}

size_t case_elements(const struct op_case *op_case, const struct pfld_operand *operand)
{
	return pfld_operand_elements(operand) * (operand->per_sample ? (size_t)op_case->run.n : 1);
}

static double *numbers(struct op_case *op_case, const struct pfld_operand *operand, double low, double high)
{
	size_t count = case_elements(op_case, operand);
	double *values = malloc(count * sizeof *values);
	ck_assert_ptr_nonnull(values);
	for (size_t i = 0; i < count; i++) values[i] = (float)pfld_random_range(&op_case->random, low, high);
	return values;
}

static struct pfld_operand operand_of(int32_t h, int32_t w, int32_t c, int32_t extra, bool per_sample)
{
	return (struct pfld_operand){
		.tensor = 1, .h = h, .w = w, .c = c, .pixel_stride = c + extra, .channel = extra / 2, .per_sample = per_sample};
}

double *add_src(struct op_case *op_case, int32_t index, int32_t h, int32_t w, int32_t c, int32_t extra, double low,
				double high)
{
	op_case->op.src[index] = operand_of(h, w, c, extra, true);
	return op_case->src[index] = numbers(op_case, &op_case->op.src[index], low, high);
}

double *add_shared(struct op_case *op_case, int32_t index, int32_t count, double low, double high)
{
	op_case->op.src[index] = operand_of(1, 1, count, 0, false);
	return op_case->src[index] = numbers(op_case, &op_case->op.src[index], low, high);
}

double *add_dst(struct op_case *op_case, int32_t index, int32_t h, int32_t w, int32_t c, int32_t extra)
{
	op_case->op.dst[index] = operand_of(h, w, c, extra, true);
	return op_case->expected[index] = numbers(op_case, &op_case->op.dst[index], 0, 0);
}

double *add_shared_dst(struct op_case *op_case, int32_t index, int32_t count)
{
	op_case->op.dst[index] = operand_of(1, 1, count, 0, false);
	return op_case->expected[index] = numbers(op_case, &op_case->op.dst[index], 0, 0);
}

double *fill_dst(struct op_case *op_case, int32_t index, double low, double high)
{
	return op_case->before[index] = numbers(op_case, &op_case->op.dst[index], low, high);
}

// ---- running it ----

// The memory of one operand: guard, pixels of the samples of `batch`, guard.
struct place {
	struct pfld_region region;
	size_t data_bytes;
};

static size_t num_pixels(const struct pfld_operand *operand, int32_t samples)
{
	return (size_t)operand->h * (size_t)operand->w * (operand->per_sample ? (size_t)samples : 1);
}

static pfld_real *pixel(const struct place *place, const struct pfld_operand *operand, size_t index)
{
	return (pfld_real *)(void *)((char *)place->region.host + GUARD_BYTES) + index * (size_t)operand->pixel_stride +
		   operand->channel;
}

static void put_operand(struct pfld_device *device, const struct op_case *op_case, struct pfld_operand *operand,
						const double *values, int32_t batch, struct place *place)
{
	size_t pixels = num_pixels(operand, batch), filled = num_pixels(operand, op_case->run.n);
	place->data_bytes = pixels * (size_t)operand->pixel_stride * sizeof(pfld_real);
	ck_assert_int_eq(pfld_device_region_create(device, place->data_bytes + 2 * GUARD_BYTES, PFLD_MEMORY_OTHER,
											   "an operand", &place->region, NULL),
					 PFLD_OK);
	memset(place->region.host, MARK, place->region.bytes);
	for (size_t p = 0; p < pixels; p++) {
		for (int32_t j = 0; j < operand->c; j++) {
			bool known = values && p < filled;
			pixel(place, operand, p)[j] =
				known ? (pfld_real)values[p * (size_t)operand->c + (size_t)j] : (pfld_real)NAN;
		}
	}
	operand->region = &place->region;
	operand->offset_bytes = GUARD_BYTES + (size_t)operand->channel * sizeof(pfld_real);
}

// Check notes down where each assertion stands: too slow for every element.
static void require(bool holds, const char *name, const char *otherwise)
{
	if (!holds) ck_abort_msg("%s: %s", name, otherwise);
}

// Every byte that is no element of the n samples is as it was.
static void check_guards(const struct op_case *op_case, const struct pfld_operand *operand, const struct place *place,
						 int32_t batch, const char *name)
{
	const unsigned char *bytes = place->region.host;
	for (size_t i = 0; i < GUARD_BYTES; i++) {
		require(bytes[i] == MARK && bytes[place->region.bytes - 1 - i] == MARK, name, "a guard was written");
	}
	size_t pixels = num_pixels(operand, batch), filled = num_pixels(operand, op_case->run.n);
	for (size_t p = 0; p < pixels; p++) {
		const pfld_real *first = pixel(place, operand, p) - operand->channel;
		for (int32_t j = 0; j < operand->pixel_stride; j++) {
			bool own = j >= operand->channel && j < operand->channel + operand->c;
			const unsigned char *element = (const unsigned char *)&first[j];
			if (!own)
				require(element[0] == MARK && element[3] == MARK, name, "a gap between pixels was written");
			else if (p >= filled)
				require(isnan(first[j]), name, "a sample behind n was written");
		}
	}
}

static double *take_operand(const struct op_case *op_case, const struct pfld_operand *operand,
							const struct place *place)
{
	size_t filled = num_pixels(operand, op_case->run.n);
	double *values = malloc(filled * (size_t)operand->c * sizeof *values);
	for (size_t p = 0; p < filled; p++) {
		for (int32_t j = 0; j < operand->c; j++)
			values[p * (size_t)operand->c + (size_t)j] = pixel(place, operand, p)[j];
	}
	return values;
}

static void put_workspace(struct pfld_device *device, struct pfld_op *op, int32_t n, int32_t batch, struct place *place)
{
	size_t bytes = device->backend->workspace_bytes(device->state, op, batch);
	ck_assert_uint_le(device->backend->workspace_bytes(device->state, op, n), bytes);
	if (!bytes) return;
	place->data_bytes = (bytes + sizeof(pfld_real) - 1) / sizeof(pfld_real) * sizeof(pfld_real);
	op->workspace = operand_of(1, 1, (int32_t)(place->data_bytes / sizeof(pfld_real)), 0, false);
	ck_assert_int_eq(pfld_device_region_create(device, bytes + 2 * GUARD_BYTES, PFLD_MEMORY_WORKSPACE, "workspace",
											   &place->region, NULL),
					 PFLD_OK);
	memset(place->region.host, MARK, place->region.bytes);
	memset((char *)place->region.host + GUARD_BYTES, 0xff, bytes); // NaNs
	op->workspace.region = &place->region;
	op->workspace.offset_bytes = GUARD_BYTES;
}

static void enter_odd_mode(void)
{
	fesetround(FE_UPWARD);
#if defined(__SSE2__)
	_mm_setcsr(_mm_getcsr() | 0x8040); // flush to zero, denormals are zero
#endif
}

// The mode must be the host's again.
static void leave_odd_mode(void)
{
	int mode = fegetround();
#if defined(__SSE2__)
	bool flushes = (_mm_getcsr() & 0x8040) == 0x8040;
#else
	bool flushes = true;
#endif
	fesetenv(FE_DFL_ENV);
	ck_assert(mode == FE_UPWARD && flushes);
}

static void run_on(struct pfld_device *device, struct op_case *op_case, int32_t batch, const char *name)
{
	struct pfld_op op = op_case->op;
	struct place src[PFLD_OP_MAX_SRC] = {{{0}, 0}}, dst[PFLD_OP_MAX_DST] = {{{0}, 0}}, workspace = {{0}, 0};
	struct pfld_error error = {0};
	struct pfld_op_state *state = NULL;
	for (int32_t i = 0; i < PFLD_OP_MAX_SRC; i++) {
		if (pfld_operand_present(&op.src[i])) put_operand(device, op_case, &op.src[i], op_case->src[i], batch, &src[i]);
	}
	for (int32_t i = 0; i < PFLD_OP_MAX_DST; i++) {
		if (!pfld_operand_present(&op.dst[i])) continue;
		if (i == 0 && op_case->alias_dst0 >= 0) {
			op.dst[0] = op.src[op_case->alias_dst0];
			continue;
		}
		put_operand(device, op_case, &op.dst[i], op_case->before[i], batch, &dst[i]);
	}
	put_workspace(device, &op, op_case->run.n, batch, &workspace);
	ck_assert_msg(pfld_device_prepare(device, &op, batch, &state, &error) == PFLD_OK, "%s: %s", name, error.message);
	if (op_case->odd_host) enter_odd_mode();
	enum pfld_status status = pfld_device_enqueue(device, &op, state, &op_case->run, &error);
	if (op_case->odd_host) leave_odd_mode();
	ck_assert_msg(status == PFLD_OK, "%s: %s", name, error.message);
	ck_assert_int_eq(pfld_device_finish(device, &error), PFLD_OK);
	pfld_device_release(device, &state);
	for (int32_t i = 0; i < PFLD_OP_MAX_SRC; i++) {
		if (pfld_operand_present(&op.src[i])) check_guards(op_case, &op.src[i], &src[i], batch, name);
	}
	for (int32_t i = 0; i < PFLD_OP_MAX_DST; i++) {
		if (!pfld_operand_present(&op.dst[i])) continue;
		const struct place *place = i == 0 && op_case->alias_dst0 >= 0 ? &src[op_case->alias_dst0] : &dst[i];
		check_guards(op_case, &op.dst[i], place, batch, name);
		free(op_case->got[i]);
		op_case->got[i] = take_operand(op_case, &op.dst[i], place);
	}
	for (int32_t i = 0; workspace.region.host && i < GUARD_BYTES; i++) {
		const unsigned char *bytes = workspace.region.host;
		require(bytes[i] == MARK && bytes[workspace.region.bytes - 1 - (size_t)i] == MARK, name,
				"the workspace was overrun");
	}
	for (int32_t i = 0; i < PFLD_OP_MAX_SRC; i++)
		if (src[i].region.host) pfld_device_region_destroy(device, PFLD_MEMORY_OTHER, &src[i].region);
	for (int32_t i = 0; i < PFLD_OP_MAX_DST; i++)
		if (dst[i].region.host) pfld_device_region_destroy(device, PFLD_MEMORY_OTHER, &dst[i].region);
	if (workspace.region.host) pfld_device_region_destroy(device, PFLD_MEMORY_WORKSPACE, &workspace.region);
}

static void compare(const struct op_case *op_case, const struct pfld_device *device, const char *name)
{
	for (int32_t i = 0; i < PFLD_OP_MAX_DST; i++) {
		if (!op_case->expected[i]) continue;
		size_t count = case_elements(op_case, &op_case->op.dst[i]);
		for (size_t k = 0; k < count; k++) {
			double got = op_case->got[i][k], expected = op_case->expected[i][k];
			bool equal = got == expected || (isnan(got) && isnan(expected)) ||
						 fabs(got - expected) <= op_case->tolerance * (1 + fabs(expected));
			if (equal) continue;
			ck_abort_msg("%s (%s): result %d element %zu is %.17g, expected %.17g", name, pfld_device_level(device),
						 (int)i, k, got, expected);
		}
	}
}

static void keep_results(struct op_case *op_case, double *kept[PFLD_OP_MAX_DST])
{
	for (int32_t i = 0; i < PFLD_OP_MAX_DST; i++) {
		kept[i] = op_case->got[i];
		op_case->got[i] = NULL;
	}
}

void check_case(struct op_case *op_case, const char *name)
{
	for (int32_t d = 0; d < num_devices; d += NUM_KINDS) {
		double *kept[PFLD_OP_MAX_DST];
		run_on(devices[d], op_case, op_case->run.n, name);
		compare(op_case, devices[d], name);
		keep_results(op_case, kept);
		for (int32_t k = 1; k < NUM_KINDS; k++) {
			run_on(devices[d + k], op_case, op_case->run.n + 2, name); // n below the batch
			for (int32_t i = 0; i < PFLD_OP_MAX_DST; i++) {
				if (!kept[i]) continue;
				size_t bytes = case_elements(op_case, &op_case->op.dst[i]) * sizeof *kept[i];
				ck_assert_msg(!memcmp(kept[i], op_case->got[i], bytes), "%s (%s): result %d differs with %d threads",
							  name, pfld_device_level(devices[d]), (int)i,
							  (int)pfld_device_num_threads(devices[d + k]));
			}
		}
		for (int32_t i = 0; i < PFLD_OP_MAX_DST; i++) free(kept[i]);
	}
}

void run_case(struct op_case *op_case)
{
	run_on(devices[num_devices - NUM_KINDS + 1], op_case, op_case->run.n, "one run");
}

enum pfld_status check_op(const struct op_case *op_case, struct pfld_error *error)
{
	return pfld_op_check(&op_case->op, error);
}
