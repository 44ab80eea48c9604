// SPDX-License-Identifier: MIT
// include/pfld/program.h, the open level: gradients against finite differences, accumulation, any n up to the batch, thread
// counts, freezing, the shared arena, and the plan. Built twice: float, and double for the finite differences.
#include "zoo.h"

#include "compile/program.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct fixture {
	struct pfld_device *device;
	struct pfld_net *net;
	struct pfld_weights *weights;
	struct pfld_program *program;
};

static struct fixture make(struct pfld_net *net, int32_t threads, const struct pfld_program_options *options)
{
	struct fixture f = {.device = zoo_device(threads), .net = net};
	ck_pfld(pfld_weights_create(&f.weights, f.device, net, 5, error));
	ck_pfld(pfld_program_create(&f.program, f.weights, options, error));
	return f;
}

static void finish(struct fixture *f)
{
	pfld_program_destroy(&f->program);
	pfld_weights_destroy(&f->weights);
	pfld_net_destroy(&f->net);
	pfld_device_close(&f->device);
}

static const struct pfld_run_options run = {.seed = 3, .step = 4};

static void forward_backward(struct pfld_program *program, int32_t n, bool accumulate)
{
	struct pfld_run_options options = run;
	options.accumulate_gradients = accumulate;
	ck_pfld(pfld_program_forward(program, n, &options, error));
	zoo_fill(pfld_program_output_gradient(program, "points"), 21);
	struct pfld_tensor *angles = pfld_program_output_gradient(program, "angles");
	if (angles) zoo_fill(angles, 22);
	ck_pfld(pfld_program_backward(program, &options, error));
}

static double *download(const struct pfld_tensor *tensor, int64_t num)
{
	double *numbers = calloc((size_t)num, sizeof *numbers);
	ck_assert_ptr_nonnull(numbers);
	ck_pfld(pfld_tensor_download(tensor, PFLD_F64, numbers, num, error));
	return numbers;
}

#ifdef PFLD_DOUBLE
// sum of output x fixed numbers: its gradient by the outputs is those numbers.
static double objective(struct pfld_program *program, int32_t n)
{
	ck_pfld(pfld_program_forward(program, n, &run, error));
	static const char *const names[] = {"points", "angles"};
	double sum = 0;
	for (int i = 0; i < 2; i++) {
		struct pfld_tensor *output = pfld_program_output(program, names[i]);
		int64_t num = pfld_tensor_elements(output);
		double *values = download(output, num), *factors = calloc((size_t)num, sizeof *factors);
		zoo_numbers(factors, (size_t)num, 21 + (uint64_t)i);
		for (int64_t j = 0; j < num; j++) sum += values[j] * factors[j];
		free(values);
		free(factors);
	}
	return sum;
}

static void check_differences(struct fixture *f, const char *name, int32_t n)
{
	struct pfld_tensor *tensor = pfld_weights_tensor(f->weights, name);
	int64_t num = pfld_tensor_elements(tensor);
	double *gradient = download(pfld_program_gradient(f->program, name), num), *value = download(tensor, num);
	double norm = 0;
	for (int64_t i = 0; i < num; i++) norm = fmax(norm, fabs(gradient[i]));
	for (int64_t i = 0; i < num; i += num / 7 + 1) {
		const double step = 1e-6, at = value[i];
		double sums[2];
		for (int side = 0; side < 2; side++) {
			value[i] = side ? at + step : at - step;
			ck_pfld(pfld_tensor_upload(tensor, PFLD_F64, value, num, error));
			sums[side] = objective(f->program, n);
		}
		value[i] = at;
		ck_pfld(pfld_tensor_upload(tensor, PFLD_F64, value, num, error));
		double difference = (sums[1] - sums[0]) / (2 * step);
		ck_assert_msg(fabs(difference - gradient[i]) <= 2e-6 * fmax(norm, 1e-2), "%s[%lld]: %.9g, by differences %.9g", name,
		              (long long)i, gradient[i], difference);
	}
	free(gradient);
	free(value);
}

static void check_all_differences(bool unfused, const char *frozen)
{
	const int32_t n = 3;
	struct pfld_net *net = zoo_net();
	if (frozen) pfld_net_set_trainable(net, frozen, false);
	struct fixture f = make(net, 2, &(struct pfld_program_options){.batch = 3, .unfused = unfused});
	zoo_fill(pfld_program_input(f.program, "image"), 20);
	forward_backward(f.program, n, false);
	int32_t checked = 0;
	for (int32_t i = 0; i < pfld_net_num_parameters(f.net); i++) {
		struct pfld_parameter_info info;
		pfld_net_parameter(f.net, i, &info);
		if (!pfld_program_gradient(f.program, info.name)) continue;
		forward_backward(f.program, n, false);
		check_differences(&f, info.name, n);
		checked++;
	}
	ck_assert_int_ge(checked, 8);
	finish(&f);
}

START_TEST(gradients_equal_finite_differences)
{
	check_all_differences(false, NULL);
	check_all_differences(true, NULL);
	// A frozen batch norm by its moving statistics; gradients above and below it.
	check_all_differences(false, "batch_norm/moving*,grouped/*");
}
END_TEST
#else

// All gradients one after the other.
static double *all_gradients(struct fixture *f, size_t *num)
{
	double *all = NULL;
	*num = 0;
	for (int32_t i = 0; i < pfld_net_num_parameters(f->net); i++) {
		struct pfld_parameter_info info;
		pfld_net_parameter(f->net, i, &info);
		struct pfld_tensor *gradient = pfld_program_gradient(f->program, info.name);
		if (!gradient) continue;
		double *part = download(gradient, info.elements);
		all = realloc(all, (*num + (size_t)info.elements) * sizeof *all);
		ck_assert_ptr_nonnull(all);
		memcpy(all + *num, part, (size_t)info.elements * sizeof *all);
		*num += (size_t)info.elements;
		free(part);
	}
	return all;
}

static double *gradients_with(int32_t threads, int32_t batch, int32_t n, bool twice, size_t *num)
{
	struct fixture f = make(zoo_net(), threads, &(struct pfld_program_options){.batch = batch});
	zoo_fill(pfld_program_input(f.program, "image"), 20);
	forward_backward(f.program, n, false);
	if (twice) forward_backward(f.program, n, true);
	double *gradients = all_gradients(&f, num);
	finish(&f);
	return gradients;
}

START_TEST(thread_counts_and_larger_batches_change_no_bit)
{
	static const int32_t cases[][3] = {{2, 5, 5}, {3, 5, 5}, {7, 5, 5}, {2, 9, 5}, {1, 64, 5}};
	size_t num, other;
	double *one = gradients_with(1, 5, 5, false, &num);
	for (size_t i = 0; i < PFLD_COUNT(cases); i++) {
		double *some = gradients_with(cases[i][0], cases[i][1], cases[i][2], false, &other);
		ck_assert_uint_eq(num, other);
		ck_assert_msg(!memcmp(one, some, num * sizeof *one), "threads %d, batch %d, n %d", cases[i][0], cases[i][1],
		              cases[i][2]);
		free(some);
	}
	free(one);
}
END_TEST

START_TEST(accumulating_twice_is_double)
{
	size_t num;
	double *once = gradients_with(2, 4, 4, false, &num), *twice = gradients_with(2, 4, 4, true, &num);
	for (size_t i = 0; i < num; i++) ck_assert_double_eq(2 * once[i], twice[i]);
	free(once);
	free(twice);
}
END_TEST

START_TEST(fused_equals_unfused)
{
	double *both[2];
	size_t num;
	for (int i = 0; i < 2; i++) {
		struct fixture f = make(zoo_net(), 1, &(struct pfld_program_options){.batch = 4, .unfused = i == 1});
		zoo_fill(pfld_program_input(f.program, "image"), 20);
		forward_backward(f.program, 4, false);
		both[i] = all_gradients(&f, &num);
		finish(&f);
	}
	double distance = 0, norm = 0;
	for (size_t i = 0; i < num; i++) {
		distance += pow(both[0][i] - both[1][i], 2);
		norm += pow(both[1][i], 2);
	}
	ck_assert_double_le(sqrt(distance / norm), 1e-6);
	free(both[0]);
	free(both[1]);
}
END_TEST

// In inference all batch norms of PFLD go into the kernels before them.
START_TEST(folded_equals_unfused)
{
	double *both[2];
	int32_t num_ops[2], num_norms = 0; // that are not folded
	for (int i = 0; i < 2; i++) {
		struct pfld_net *net = pfld_net_create();
		pfld_model_pfld(net, &(struct pfld_model_options){.width = 0.25, .num_points = 5, .size = 32});
		struct fixture f = make(net, 1, &(struct pfld_program_options){.batch = 3, .mode = PFLD_INFER, .unfused = i == 1});
		for (int32_t j = 0; j < pfld_net_num_parameters(net); j++) {
			struct pfld_parameter_info info;
			pfld_net_parameter(net, j, &info);
			if (!info.is_statistic) continue;
			num_norms += i == 0 && strstr(info.name, "moving_mean");
			double *numbers = calloc((size_t)info.elements, sizeof *numbers);
			zoo_numbers(numbers, (size_t)info.elements, 50 + (uint64_t)j);
			for (int64_t k = 0; k < info.elements; k++) numbers[k] = 1 + 0.5 * numbers[k];
			ck_pfld(pfld_tensor_upload(pfld_weights_tensor(f.weights, info.name), PFLD_F64, numbers, info.elements, error));
			free(numbers);
		}
		zoo_fill(pfld_program_input(f.program, "image"), 20);
		ck_pfld(pfld_program_forward(f.program, 3, NULL, error));
		both[i] = download(pfld_program_output(f.program, "points"), 3 * 10);
		struct pfld_plan_summary summary;
		pfld_plan_summary(pfld_program_plan(f.program), &summary);
		num_ops[i] = summary.num_ops;
		for (int32_t j = 0; i == 0 && j < summary.num_ops; j++)
			num_norms -= strstr(pfld_plan_op_name(pfld_program_plan(f.program), j), " fold ") != NULL;
		finish(&f);
	}
	ck_assert_int_lt(num_ops[0], num_ops[1]);
	ck_assert_int_eq(num_norms, 0);
	double distance = 0, norm = 0;
	for (size_t i = 0; i < 3 * 10; i++) {
		distance += pow(both[0][i] - both[1][i], 2);
		norm += pow(both[1][i], 2);
	}
	ck_assert_double_le(sqrt(distance / norm), sizeof(pfld_real) == 8 ? 1e-12 : 1e-5);
	free(both[0]);
	free(both[1]);
}
END_TEST

START_TEST(inference_of_a_sample_ignores_its_batch)
{
	struct fixture f = make(zoo_net(), 2, &(struct pfld_program_options){.batch = 7, .mode = PFLD_INFER});
	struct pfld_tensor *image = pfld_program_input(f.program, "image"), *points = pfld_program_output(f.program, "points");
	zoo_fill(image, 20);
	ck_pfld(pfld_program_forward(f.program, 7, NULL, error));
	double *all = download(points, 7 * 6), *pictures = download(image, 7 * 192);
	for (int64_t i = 0; i < 7; i++) {
		ck_pfld(pfld_tensor_upload(image, PFLD_F64, pictures + i * 192, 192, error));
		ck_pfld(pfld_program_forward(f.program, 1, NULL, error));
		double *one = download(points, 6);
		ck_assert(!memcmp(one, all + i * 6, 6 * sizeof *one));
		free(one);
	}
	free(all);
	free(pictures);
	finish(&f);
}
END_TEST
#endif

START_TEST(only_what_is_wanted_is_computed)
{
	static const char *const points[] = {"points"};
	struct fixture all = make(zoo_net(), 1, &(struct pfld_program_options){.batch = 2, .mode = PFLD_INFER});
	struct fixture one = make(zoo_net(), 1,
	                          &(struct pfld_program_options){
	                              .batch = 2, .mode = PFLD_INFER, .outputs = points, .num_outputs = 1});
	struct pfld_plan_summary a, b;
	pfld_plan_summary(pfld_program_plan(all.program), &a);
	pfld_plan_summary(pfld_program_plan(one.program), &b);
	ck_assert_int_eq(a.num_ops, b.num_ops + 1);
	ck_assert_ptr_nonnull(pfld_program_output(all.program, "angles"));
	ck_assert_ptr_null(pfld_program_output(one.program, "angles"));
	ck_assert_ptr_null(pfld_program_output_gradient(one.program, "points"));
	finish(&all);
	finish(&one);
	struct fixture f = {.device = zoo_device(1), .net = zoo_net()};
	ck_pfld(pfld_weights_create(&f.weights, f.device, f.net, 5, error));
	static const char *const wrong[] = {"nose"};
	struct pfld_error error;
	ck_assert_int_eq(pfld_program_create(&f.program, f.weights,
	                                     &(struct pfld_program_options){.batch = 2, .outputs = wrong, .num_outputs = 1}, &error),
	                 PFLD_ERR_ARGUMENT);
	ck_assert_ptr_nonnull(strstr(error.message, "nose"));
	ck_assert_int_eq(pfld_program_create(&f.program, f.weights, &(struct pfld_program_options){0}, &error), PFLD_ERR_ARGUMENT);
	ck_assert_ptr_null(f.program);
	finish(&f);
}
END_TEST

START_TEST(frozen_layers_have_no_gradient_ops)
{
	struct pfld_net *net = zoo_net();
	pfld_net_set_trainable(net, "*", false);
	pfld_net_set_trainable(net, "fc2/*", true);
	struct fixture f = make(net, 1, &(struct pfld_program_options){.batch = 2});
	// Backward is the gradient of fc2's kernel and bias and nothing else.
	ck_assert_int_eq((int)f.program->compiled.emit.num_ops - f.program->compiled.num_loss, 1);
	ck_assert(!f.program->compiled.uses_batch_statistics);
	ck_assert_ptr_null(pfld_program_gradient(f.program, "fc1/kernel"));
	ck_assert_ptr_nonnull(pfld_program_gradient(f.program, "fc2/bias"));
	struct pfld_tensor *mean = pfld_weights_tensor(f.weights, "batch_norm/moving_mean");
	zoo_fill(mean, 9);
	double *before = download(mean, 8);
	zoo_fill(pfld_program_input(f.program, "image"), 20);
	forward_backward(f.program, 2, false);
	double *after = download(mean, 8);
	ck_assert(!memcmp(before, after, 8 * sizeof *before));
	free(before);
	free(after);
	finish(&f);
}
END_TEST

START_TEST(programs_share_an_arena_and_say_so)
{
	struct fixture f = make(small_net(), 1, &(struct pfld_program_options){.name = "first", .batch = 4});
	struct pfld_program *second = NULL;
	struct pfld_memory before, after;
	pfld_device_memory(f.device, &before);
	ck_pfld(pfld_program_create(&second, f.weights,
	                            &(struct pfld_program_options){.name = "second", .batch = 4, .mode = PFLD_INFER}, error));
	pfld_device_memory(f.device, &after);
	ck_assert_uint_eq(after.by_class[PFLD_MEMORY_ACTIVATIONS], before.by_class[PFLD_MEMORY_ACTIVATIONS]);
	struct pfld_error error;
	double numbers[24];
	struct pfld_tensor *output = pfld_program_output(f.program, "points");
	ck_assert_int_eq(pfld_tensor_download(output, PFLD_F64, numbers, 24, &error), PFLD_ERR_STATE);
	ck_assert_int_eq(pfld_program_backward(f.program, NULL, &error), PFLD_ERR_STATE);
	ck_pfld(pfld_program_forward(f.program, 4, NULL, error));
	ck_pfld(pfld_tensor_download(output, PFLD_F64, numbers, 24, error));
	ck_pfld(pfld_program_forward(second, 4, NULL, error));
	ck_assert_int_eq(pfld_program_backward(f.program, NULL, &error), PFLD_ERR_STATE);
	ck_assert_ptr_nonnull(strstr(error.message, "second has run in between"));
	ck_assert_int_eq(pfld_tensor_download(output, PFLD_F64, numbers, 24, &error), PFLD_ERR_STATE);
	ck_assert_int_eq(pfld_program_backward(second, NULL, &error), PFLD_ERR_STATE);
	ck_assert_int_eq(pfld_program_forward(second, 5, NULL, &error), PFLD_ERR_ARGUMENT);
	ck_assert_int_eq(pfld_program_loss(f.program, NULL, NULL, &error), PFLD_ERR_STATE);
	pfld_program_destroy(&second);
	finish(&f);
}
END_TEST

// Any two tensors of a region that live at the same op lie apart; sums and bounds are recomputed here.
START_TEST(plans_do_not_overlap)
{
	struct fixture f = make(zoo_net(), 1, &(struct pfld_program_options){.batch = 6});
	const struct pfld_plan *plan = pfld_program_plan(f.program);
	struct pfld_plan_summary s;
	pfld_plan_summary(plan, &s);
	uint64_t persistent = 0, end = 0, most = 0, classes = 0, regions = 0, layers = 0, ends[4] = {0};
	ck_assert_int_le(s.num_regions, 4);
	for (int32_t i = 0; i < s.num_tensors; i++) {
		struct pfld_plan_tensor a;
		pfld_plan_tensor(plan, i, &a);
		ck_assert_str_ne(a.name, "");
		ck_assert_int_le(a.first_op, a.last_op);
		ck_assert_int_lt(a.region, s.num_regions);
		ends[a.region] = PFLD_MAX(ends[a.region], a.offset_bytes + a.bytes);
		if (a.persistent) persistent += a.bytes;
		else end = PFLD_MAX(end, a.offset_bytes + a.bytes);
		for (int32_t j = 0; j < i; j++) {
			struct pfld_plan_tensor b;
			pfld_plan_tensor(plan, j, &b);
			bool together = a.region == b.region && a.first_op <= b.last_op && b.first_op <= a.last_op;
			bool apart = a.offset_bytes + a.bytes <= b.offset_bytes || b.offset_bytes + b.bytes <= a.offset_bytes;
			ck_assert_msg(!together || apart, "%s and %s overlap", a.name, b.name);
		}
	}
	for (int32_t op = 0; op < s.num_ops; op++) {
		uint64_t live = 0;
		for (int32_t i = 0; i < s.num_tensors; i++) {
			struct pfld_plan_tensor a;
			pfld_plan_tensor(plan, i, &a);
			if (!a.persistent && a.first_op <= op && op <= a.last_op) live += a.bytes;
		}
		most = PFLD_MAX(most, live);
		ck_assert_str_ne(pfld_plan_op_name(plan, op), "");
	}
	for (int i = 0; i < PFLD_MEMORY_NUM_CLASSES; i++) classes += s.by_class[i];
	for (int32_t i = 0; i < s.num_regions; i++) {
		struct pfld_plan_region region;
		pfld_plan_region(plan, i, &region);
		ck_assert_uint_eq(region.bytes, ends[i]);
		regions += region.bytes;
	}
	for (int32_t i = 0; i < s.num_layers; i++) {
		struct pfld_plan_layer layer;
		pfld_plan_layer(plan, i, &layer);
		ck_assert(layer.bytes > 0 && (*layer.name || i + 1 == s.num_layers));
		layers += layer.bytes;
	}
	ck_assert_uint_eq(regions, s.planned_peak_bytes);
	ck_assert_uint_eq(layers, s.planned_peak_bytes);
	ck_assert_int_eq(s.smallest_batch, 2);
	ck_assert_uint_eq(s.arena_bytes, end);
	ck_assert_uint_eq(s.planned_peak_bytes, persistent + end);
	ck_assert_uint_eq(s.lower_bound_bytes, persistent + most);
	ck_assert_uint_eq(classes, s.planned_peak_bytes);
	struct pfld_memory memory;
	pfld_device_memory(f.device, &memory);
	ck_assert_uint_eq(memory.current_bytes, s.planned_peak_bytes);
	finish(&f);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("program");
	TCase *tcase = tcase_create("program");
	tcase_set_timeout(tcase, 120);
#ifdef PFLD_DOUBLE
	tcase_add_test(tcase, gradients_equal_finite_differences);
#else
	tcase_add_test(tcase, thread_counts_and_larger_batches_change_no_bit);
	tcase_add_test(tcase, accumulating_twice_is_double);
	tcase_add_test(tcase, fused_equals_unfused);
	tcase_add_test(tcase, folded_equals_unfused);
	tcase_add_test(tcase, inference_of_a_sample_ignores_its_batch);
#endif
	tcase_add_test(tcase, only_what_is_wanted_is_computed);
	tcase_add_test(tcase, frozen_layers_have_no_gradient_ops);
	tcase_add_test(tcase, programs_share_an_arena_and_say_so);
	tcase_add_test(tcase, plans_do_not_overlap);
	suite_add_tcase(suite, tcase);
	SRunner *runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	int failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? 1 : 0;
}
