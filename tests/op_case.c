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

enum { MAX_GROUPS = 12, NUM_KINDS = 5, GUARD_BYTES = 256, MARK = 0xa5 };

// Devices that must give the same bits: a level of the cpu with several counts of threads, or another device, alone.
struct group {
	struct pfld_device *devices[NUM_KINDS];
	int32_t num_devices;
	bool lacks[PFLD_OP_NUM_KINDS]; // ops that were asked for and are not done there
};
static struct group groups[MAX_GROUPS];
static int32_t num_groups, num_levels; // levels of the cpu come first

// A host's own "threads": items from last to first, on changing workers.
static void reversed(void *context, int32_t num_items, pfld_task *fn, void *arg)
{
	for (int32_t item = num_items - 1; item >= 0; item--) fn(arg, item, item % 3);
}

static void open_level(const char *level)
{
	static const int32_t threads[NUM_KINDS] = {1, 2, 3, 7, 3};
	struct group *group = &groups[num_groups++];
	*group = (struct group){.num_devices = NUM_KINDS};
	for (int32_t i = 0; i < NUM_KINDS; i++) {
		struct pfld_device_options options = {.num_threads = threads[i], .cpu_level = level};
		if (i == NUM_KINDS - 1) options.parallel_for = reversed;
		ck_assert_int_eq(pfld_device_open(&group->devices[i], "cpu", &options, NULL), PFLD_OK);
	}
}

static void open_other(const char *name)
{
	struct group *group = &groups[num_groups++];
	struct pfld_error error = {0};
	*group = (struct group){.num_devices = 1};
	ck_assert_msg(pfld_device_open(&group->devices[0], name, NULL, &error) == PFLD_OK, "%s", error.message);
}

void open_devices(void)
{
	static struct pfld_device_info infos[MAX_GROUPS];
	int32_t num = pfld_device_list(NULL, infos, MAX_GROUPS, NULL, 0);
	num_groups = 0;
	for (char *level = strtok(infos[0].levels, " "); level; level = strtok(NULL, " ")) open_level(level);
	num_levels = num_groups;
	for (int32_t i = 1; i < num && num_groups < MAX_GROUPS; i++)
		if (!infos[i].unusable[0]) open_other(infos[i].name);
}

static void close_group(struct group *group)
{
	const char *name = pfld_device_get_info(group->devices[0])->name;
	for (int32_t kind = 0; kind < PFLD_OP_NUM_KINDS; kind++)
		if (group->lacks[kind]) printf("not done by %s: %s\n", name, pfld_op_name((enum pfld_op_kind)kind));
	for (int32_t i = 0; i < group->num_devices; i++) pfld_device_close(&group->devices[i]);
}

void close_devices(void)
{
	while (num_groups) close_group(&groups[--num_groups]);
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

// The memory of one operand: guard, pixels of the samples of `batch`, guard; as the host sees it, and on the device.
struct place {
	struct pfld_region region;
	unsigned char *bytes;
};

static void create_place(struct pfld_device *device, struct place *place, size_t data_bytes)
{
	ck_assert_int_eq(pfld_device_region_create(device, data_bytes + 2 * GUARD_BYTES, PFLD_MEMORY_OTHER, "a place",
											   &place->region, NULL),
					 PFLD_OK);
	place->bytes = place->region.host ? place->region.host : malloc(place->region.bytes);
	ck_assert_ptr_nonnull(place->bytes);
	memset(place->bytes, MARK, place->region.bytes);
}

static void destroy_place(struct pfld_device *device, struct place *place)
{
	if (!place->bytes) return;
	if (place->bytes != place->region.host) free(place->bytes);
	pfld_device_region_destroy(device, PFLD_MEMORY_OTHER, &place->region);
}

// To the device before the op, back after it; nothing to do where the host's memory is the device's.
static void move_place(struct pfld_device *device, struct place *place, bool upload)
{
	const struct pfld_backend *backend = device->backend;
	if (!place->bytes || place->bytes == place->region.host) return;
	enum pfld_status status =
		upload ? backend->upload(device->state, &place->region, 0, place->bytes, place->region.bytes, NULL)
			   : backend->download(device->state, &place->region, 0, place->bytes, place->region.bytes, NULL);
	ck_assert_int_eq(status, PFLD_OK);
}

static size_t num_pixels(const struct pfld_operand *operand, int32_t samples)
{
	return (size_t)operand->h * (size_t)operand->w * (operand->per_sample ? (size_t)samples : 1);
}

static pfld_real *pixel(const struct place *place, const struct pfld_operand *operand, size_t index)
{
	return (pfld_real *)(void *)(place->bytes + GUARD_BYTES) + index * (size_t)operand->pixel_stride + operand->channel;
}

static void put_operand(struct pfld_device *device, const struct op_case *op_case, struct pfld_operand *operand,
						const double *values, int32_t batch, struct place *place)
{
	size_t pixels = num_pixels(operand, batch), filled = num_pixels(operand, op_case->run.n);
	create_place(device, place, pixels * (size_t)operand->pixel_stride * sizeof(pfld_real));
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
	const unsigned char *bytes = place->bytes;
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
	op->workspace = operand_of(1, 1, (int32_t)((bytes + sizeof(pfld_real) - 1) / sizeof(pfld_real)), 0, false);
	create_place(device, place, bytes);
	memset(place->bytes + GUARD_BYTES, 0xff, bytes); // NaNs
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

// The operands of one run, and its workspace.
struct places {
	struct place src[PFLD_OP_MAX_SRC], dst[PFLD_OP_MAX_DST], workspace;
};

static void move_places(struct pfld_device *device, struct places *places, bool upload)
{
	for (int32_t i = 0; i < PFLD_OP_MAX_SRC; i++) move_place(device, &places->src[i], upload);
	for (int32_t i = 0; i < PFLD_OP_MAX_DST; i++) move_place(device, &places->dst[i], upload);
	move_place(device, &places->workspace, upload);
}

static void destroy_places(struct pfld_device *device, struct places *places)
{
	for (int32_t i = 0; i < PFLD_OP_MAX_SRC; i++) destroy_place(device, &places->src[i]);
	for (int32_t i = 0; i < PFLD_OP_MAX_DST; i++) destroy_place(device, &places->dst[i]);
	destroy_place(device, &places->workspace);
}

static void perform(struct pfld_device *device, struct op_case *op_case, const struct pfld_op *op, int32_t batch,
					const char *name)
{
	struct pfld_error error = {0};
	struct pfld_op_state *state = NULL;
	ck_assert_msg(pfld_device_prepare(device, op, batch, &state, &error) == PFLD_OK, "%s: %s", name, error.message);
	if (op_case->odd_host) enter_odd_mode();
	enum pfld_status status = pfld_device_enqueue(device, op, state, &op_case->run, &error);
	if (op_case->odd_host) leave_odd_mode();
	ck_assert_msg(status == PFLD_OK, "%s: %s", name, error.message);
	ck_assert_int_eq(pfld_device_finish(device, &error), PFLD_OK);
	pfld_device_release(device, &state);
}

static void run_on(struct pfld_device *device, struct op_case *op_case, int32_t batch, const char *name)
{
	struct pfld_op op = op_case->op;
	struct places places = {.workspace = {.bytes = NULL}};
	struct place *src = places.src, *dst = places.dst;
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
	put_workspace(device, &op, op_case->run.n, batch, &places.workspace);
	move_places(device, &places, true);
	perform(device, op_case, &op, batch, name);
	move_places(device, &places, false);
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
	const unsigned char *bytes = places.workspace.bytes;
	for (size_t i = 0; bytes && i < GUARD_BYTES; i++)
		require(bytes[i] == MARK && bytes[places.workspace.region.bytes - 1 - i] == MARK, name,
				"the workspace was overrun");
	destroy_places(device, &places);
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
			ck_abort_msg("%s (%s %s): result %d element %zu is %.17g, expected %.17g", name,
						 pfld_device_get_info(device)->name, pfld_device_level(device), (int)i, k, got, expected);
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

// Every device of the group once more, with n below the batch: the same bits.
static void check_bits(struct group *group, struct op_case *op_case, const char *name)
{
	double *kept[PFLD_OP_MAX_DST];
	keep_results(op_case, kept);
	for (int32_t k = group->num_devices > 1; k < group->num_devices; k++) {
		run_on(group->devices[k], op_case, op_case->run.n + 2, name);
		for (int32_t i = 0; i < PFLD_OP_MAX_DST; i++) {
			if (!kept[i]) continue;
			size_t bytes = case_elements(op_case, &op_case->op.dst[i]) * sizeof *kept[i];
			ck_assert_msg(!memcmp(kept[i], op_case->got[i], bytes), "%s (%s %s): result %d differs with %d threads", name,
						  pfld_device_get_info(group->devices[k])->name, pfld_device_level(group->devices[k]), (int)i,
						  (int)pfld_device_num_threads(group->devices[k]));
		}
	}
	for (int32_t i = 0; i < PFLD_OP_MAX_DST; i++) free(kept[i]);
}

void check_case(struct op_case *op_case, const char *name)
{
	for (int32_t g = num_groups - 1; g >= 0; g--) {
		struct group *group = &groups[g];
		if (g >= num_levels && !pfld_device_supports(group->devices[0], &op_case->op)) {
			group->lacks[op_case->op.kind] = true;
			continue;
		}
		run_on(group->devices[0], op_case, op_case->run.n, name);
		compare(op_case, group->devices[0], name);
		check_bits(group, op_case, name);
	}
}

void run_case(struct op_case *op_case)
{
	run_on(groups[num_levels - 1].devices[1], op_case, op_case->run.n, "one run");
}

enum pfld_status check_op(const struct op_case *op_case, struct pfld_error *error)
{
	return pfld_op_check(&op_case->op, error);
}
