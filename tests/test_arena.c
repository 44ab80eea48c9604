// SPDX-License-Identifier: MIT
// The plan is true of the memory itself: in a poisoned arena a whole step changes bytes of planned tensors only, reads
// nothing that it has not written (NaN would spread), and reaches the plan's last byte.
#include "compile/program.h"
#include "train/trainer.h"
#include "zoo.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { BATCH = 3, POISON = 0xff }; // all ones: NaN in every element

struct fixture {
	struct pfld_device *device;
	struct pfld_net *net;
	struct pfld_weights *weights;
	struct pfld_trainer *trainer;
};

static struct fixture make(struct pfld_net *net, const struct pfld_trainer_options *options, int32_t num_threads)
{
	struct fixture f = {.device = zoo_device(num_threads), .net = net};
	ck_pfld(pfld_weights_create(&f.weights, f.device, net, 5, error));
	ck_pfld(pfld_trainer_create(&f.trainer, f.weights, options, error));
	return f;
}

static void finish(struct fixture *f)
{
	pfld_trainer_destroy(&f->trainer);
	pfld_weights_destroy(&f->weights);
	pfld_net_destroy(&f->net);
	pfld_device_close(&f->device);
}

// Bytes that belong to tensors of the program, as a map of the arena.
static unsigned char *map_tensors(const struct pfld_program *program, size_t *end)
{
	const struct pfld_emit *emit = &program->compiled.emit;
	size_t bytes = program->arena->bytes;
	unsigned char *map = calloc(bytes, 1);
	ck_assert_ptr_nonnull(map);
	*end = 0;
	for (size_t i = 0; i < emit->num_tensors; i++) {
		const struct pfld_emit_tensor *tensor = &emit->tensors[i];
		if (tensor->persistent || tensor->last_op < 0) continue;
		ck_assert_uint_le(tensor->offset_bytes + tensor->bytes, bytes);
		memset(map + tensor->offset_bytes, 1, tensor->bytes);
		if (tensor->offset_bytes + tensor->bytes > *end) *end = tensor->offset_bytes + tensor->bytes;
	}
	return map;
}

// Only bytes of tensors were written; returns the highest. `end`: of the plan's last tensor.
static size_t check_written(const struct pfld_program *program, size_t *end)
{
	const unsigned char *arena = program->arena->pieces[0].host;
	size_t bytes = program->arena->bytes, highest = 0;
	unsigned char *map = map_tensors(program, end);
	for (size_t i = 0; i < bytes; i++) {
		if (arena[i] == POISON) continue;
		highest = i;
		if (!map[i]) ck_abort_msg("%s: byte %zu of %zu belongs to no tensor and was written", program->name, i, bytes);
	}
	free(map);
	return highest;
}

static void check_arena(const struct pfld_program *program)
{
	size_t end, highest = check_written(program, &end);
	size_t alignment = program->weights->device->limits.alignment_bytes;
	ck_assert_uint_le(pfld_align(end, alignment), program->compiled.home_bytes[PFLD_HOME_ARENA]);
	ck_assert_uint_gt(program->compiled.home_bytes[PFLD_HOME_ARENA], pfld_align(end, alignment) - alignment);
	// The last tensor's last bytes may be worth all ones, but not a whole line of them.
	ck_assert_msg(highest + 2 * alignment >= end, "%s: the highest byte written is %zu, the plan ends at %zu",
	              program->name, highest, end);
}

static void poison(const struct pfld_program *program)
{
	memset(program->arena->pieces[0].host, POISON, program->arena->bytes);
}

static void step_in_poison(struct pfld_net *net, struct pfld_trainer_options options, int32_t num_threads)
{
	struct fixture f = make(net, &options, num_threads);
	struct pfld_batch *batch = pfld_trainer_slots(f.trainer, NULL);
	zoo_batch(batch, net, BATCH, 7);
	double loss = NAN;
	poison(f.trainer->train);
	ck_pfld(pfld_trainer_step(f.trainer, batch, &loss, error));
	ck_assert(isfinite(loss));
	check_arena(f.trainer->train);
	poison(f.trainer->infer);
	float *predictions = calloc(BATCH * 1024, sizeof *predictions);
	ck_pfld(pfld_trainer_predict(f.trainer, batch, predictions, error));
	for (size_t i = 0; i < BATCH * pfld_operand_elements(&f.trainer->infer->compiled.outputs[0].operand); i++)
		ck_assert(isfinite(predictions[i]));
	size_t end;
	check_written(f.trainer->infer, &end);
	free(predictions);
	finish(&f);
}

static struct pfld_net *pfld(enum pfld_preset preset)
{
	struct pfld_net *net = pfld_net_create();
	pfld_model_pfld(net, &(struct pfld_model_options){
	                         .preset = preset, .width = 0.25, .num_points = 5, .size = 32, .angles = true});
	return net;
}

START_TEST(planned_tensors_and_no_more)
{
	struct pfld_trainer_options options = {
	    .batch = BATCH,
	    .loss = {.kind = _i == 3 ? PFLD_LOSS_L1 : PFLD_LOSS_PFLD},
	    .optimizer = {.kind = PFLD_ADAM, .learning_rate = 1e-3},
	};
	for (int budget = 0; budget < 3; budget++) {
		struct pfld_net *net = _i == 3 ? zoo_net() : pfld((enum pfld_preset)_i);
		if (budget == 1) {
			struct pfld_device *device = zoo_device(2);
			struct pfld_plan *plan = NULL;
			struct pfld_plan_summary summary;
			ck_pfld(pfld_trainer_plan_create(&plan, device, net, &options, error));
			pfld_plan_summary(plan, &summary);
			pfld_plan_destroy(&plan);
			pfld_device_close(&device);
			options.memory_budget_bytes = summary.smallest_budget_bytes;
		} else {
			options.memory_budget_bytes = 0;
		}
		options.unfused = budget == 2;
		step_in_poison(net, options, 2);
	}
}
END_TEST

// Three steps on a device that gives no more than `piece` bytes at once (0: all); the weights' check sum into hex.
static void train_in_pieces(struct pfld_trainer_options options, uint64_t piece, char hex[65])
{
	struct pfld_device *device = zoo_device(2);
	if (piece) device->limits.max_region_bytes = piece;
	struct pfld_net *net = pfld(PFLD_PRESET_PT);
	struct pfld_weights *weights = NULL;
	struct pfld_trainer *trainer = NULL;
	ck_pfld(pfld_weights_create(&weights, device, net, 5, error));
	ck_pfld(pfld_trainer_create(&trainer, weights, &options, error));
	struct pfld_plan_summary summary;
	struct pfld_memory memory;
	pfld_plan_summary(pfld_trainer_plan(trainer), &summary);
	pfld_device_memory(device, &memory);
	ck_assert_uint_eq(memory.current_bytes, summary.planned_peak_bytes);
	ck_assert_uint_eq(memory.num_regions, (uint64_t)summary.num_regions);
	int32_t num_arenas = 0;
	for (int32_t i = 0; i < summary.num_regions; i++) {
		struct pfld_plan_region region;
		pfld_plan_region(pfld_trainer_plan(trainer), i, &region);
		if (piece) ck_assert_uint_le(region.bytes, piece);
		num_arenas += !strncmp(region.name, "arena", 5);
	}
	ck_assert_int_eq(num_arenas > 1, piece > 0);
	struct pfld_batch *batch = pfld_trainer_slots(trainer, NULL);
	for (int step = 0; step < 3; step++) {
		zoo_batch(batch, net, BATCH, 7 + (uint64_t)step);
		ck_pfld(pfld_trainer_step(trainer, batch, NULL, error));
	}
	ck_pfld(pfld_weights_sha256(weights, hex, error));
	pfld_trainer_destroy(&trainer);
	pfld_weights_destroy(&weights);
	pfld_net_destroy(&net);
	pfld_device_close(&device);
}

START_TEST(pieces_change_no_bit)
{
	struct pfld_trainer_options options = {
	    .batch = BATCH, .loss = {.kind = PFLD_LOSS_PFLD}, .optimizer = {.kind = PFLD_ADAM, .learning_rate = 1e-3}};
	char whole[65], pieces[65];
	train_in_pieces(options, 0, whole);
	for (uint64_t kib = 750; kib <= 1000; kib += 125) {
		train_in_pieces(options, kib << 10, pieces);
		ck_assert_str_eq(pieces, whole);
	}
}
END_TEST

START_TEST(a_tensor_larger_than_a_piece_is_named)
{
	struct pfld_device *device = zoo_device(1);
	device->limits.max_region_bytes = 64 << 10;
	struct pfld_net *net = pfld(PFLD_PRESET_PT);
	struct pfld_plan *plan = NULL;
	struct pfld_error error = {0};
	struct pfld_trainer_options options = {.batch = BATCH, .loss = {.kind = PFLD_LOSS_PFLD}};
	ck_assert_int_eq(pfld_trainer_plan_create(&plan, device, net, &options, &error), PFLD_ERR_MEMORY);
	ck_assert_msg(strstr(error.message, "in one piece with a batch of 3"), "%s", error.message);
	ck_assert_ptr_null(plan);
	pfld_net_destroy(&net);
	pfld_device_close(&device);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("arena");
	TCase *cases = tcase_create("arena");
	tcase_set_timeout(cases, 120);
	tcase_add_loop_test(cases, planned_tensors_and_no_more, 0, 4);
	tcase_add_test(cases, pieces_change_no_bit);
	tcase_add_test(cases, a_tensor_larger_than_a_piece_is_named);
	suite_add_tcase(suite, cases);
	SRunner *runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	int failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
