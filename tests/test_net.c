// SPDX-License-Identifier: MIT
// include/pfld/net.h, layers.h, models.h: shapes, parameters, counts, patterns, and errors that stay in the net.
#include "zoo.h"

#include "net/net.h"
#include <string.h>

static void expect_shape(const struct pfld_net *net, pfld_value value, int32_t h, int32_t w, int32_t c)
{
	int32_t shape[3];
	pfld_net_shape(net, value, &shape[0], &shape[1], &shape[2]);
	ck_assert_msg(shape[0] == h && shape[1] == w && shape[2] == c, "(%d, %d, %d), expected (%d, %d, %d)", shape[0],
	              shape[1], shape[2], h, w, c);
}

START_TEST(windows_follow_the_frameworks)
{
	static const struct {
		int32_t input, kernel, stride, dilation;
		enum pfld_padding padding;
		int32_t pad, output, before;
	} rows[] = {
	    {112, 3, 2, 1, PFLD_SAME, 0, 56, 0}, // TensorFlow: the odd pixel behind
	    {14, 3, 2, 1, PFLD_SAME, 0, 7, 0},     {7, 7, 1, 1, PFLD_SAME, 0, 7, 3},  {28, 1, 2, 1, PFLD_SAME, 0, 14, 0},
	    {7, 3, 2, 1, PFLD_SAME, 0, 4, 1},      {8, 3, 1, 2, PFLD_SAME, 0, 8, 2},  {112, 3, 2, 1, PFLD_EXPLICIT, 1, 56, 1},
	    {7, 7, 1, 1, PFLD_EXPLICIT, 1, 3, 1},  {7, 7, 1, 1, PFLD_VALID, 0, 1, 0}, {7, 3, 3, 1, PFLD_VALID, 5, 2, 0},
	    {5, 2, 1, 3, PFLD_VALID, 0, 2, 0},
	};
	for (size_t i = 0; i < PFLD_COUNT(rows); i++) {
		int32_t output = -1, before = -1;
		ck_assert(pfld_window(rows[i].input, rows[i].kernel, rows[i].stride, rows[i].dilation, rows[i].padding, rows[i].pad,
		                      &output, &before));
		ck_assert_msg(output == rows[i].output && before == rows[i].before, "row %zu: %d %d", i, output, before);
	}
	int32_t output, before;
	ck_assert(!pfld_window(6, 7, 1, 1, PFLD_VALID, 0, &output, &before));
	ck_assert(!pfld_window(6, 0, 1, 1, PFLD_SAME, 0, &output, &before));
	ck_assert(!pfld_window(6, 3, 1, 1, PFLD_EXPLICIT, -1, &output, &before));
}
END_TEST

START_TEST(keras_has_ways_of_its_own)
{
	struct pfld_net *net = pfld_net_create();
	pfld_value x = pfld_input(net, "image", 9, 8, 5);
	// ZeroPadding2D(((0, 1), (0, 1))) and VALID: for even sizes SAME, for odd ones VALID.
	struct pfld_depthwise_options depthwise = {.name = "dw",
	                                           .kernel = {3, 3},
	                                           .stride = {2, 2},
	                                           .padding = PFLD_EXPLICIT,
	                                           .pad_extra = {1, 1},
	                                           .kernel_init = PFLD_INIT_GLOROT_UNIFORM};
	expect_shape(net, pfld_depthwise_conv2d(net, x, &depthwise), 4, 4, 5);
	const struct pfld_init *init = &net->params[pfld_net_find_param(net, "dw/depthwise_kernel")].init;
	ck_assert(init->fan_in == 9 * 5 && init->fan_out == 9);
	struct pfld_separable_options separable = {.name = "sep", .filters = 7, .kernel = {3, 3}, .padding = PFLD_SAME};
	expect_shape(net, pfld_separable_conv2d(net, x, &separable), 9, 8, 7);
	ck_assert_int_ge(pfld_net_find_param(net, "sep/depthwise_kernel"), 0);
	ck_assert_int_ge(pfld_net_find_param(net, "sep/pointwise_kernel"), 0);
	ck_assert_int_ge(pfld_net_find_param(net, "sep/bias"), 0);
	depthwise.name = "too_much";
	depthwise.pad_extra[0] = 3;
	pfld_depthwise_conv2d(net, x, &depthwise);
	ck_assert_int_eq(pfld_net_check(net, NULL), PFLD_ERR_SHAPE);
	pfld_net_destroy(&net);
}
END_TEST

START_TEST(every_kind_of_layer_is_in_the_zoo)
{
	struct pfld_net *net = zoo_net();
	for (int32_t kind = 0; pfld_layer_kinds[kind]; kind++) {
		bool found = false;
		for (int32_t i = 0; i < pfld_net_num_layers(net); i++) {
			struct pfld_layer_info info;
			pfld_net_layer(net, i, &info);
			found |= !strcmp(info.kind, pfld_layer_kinds[kind]->name);
		}
		ck_assert_msg(found, "no %s", pfld_layer_kinds[kind]->name);
	}
	pfld_net_destroy(&net);
	ck_assert_ptr_null(net);
}
END_TEST

START_TEST(parameters_have_names_shapes_and_factors)
{
	struct pfld_net *net = zoo_net();
	int32_t index = pfld_net_find_param(net, "grouped/kernel");
	ck_assert_int_ge(index, 0);
	struct pfld_parameter_info info;
	pfld_net_parameter(net, index, &info);
	ck_assert_int_eq(info.shape.num_dims, 4);
	const int64_t dims[] = {1, 3, 4, 8};
	for (int i = 0; i < 4; i++) ck_assert_int_eq(info.shape.dims[i], dims[i]);
	ck_assert(info.trainable && !info.is_statistic && info.learning_rate == 1 && info.weight_decay < 0);
	ck_assert_int_ge(pfld_net_find_param(net, "depthwise/depthwise_kernel"), 0);
	ck_assert_int_ge(pfld_net_find_param(net, "batch_norm/moving_mean"), 0);
	ck_assert_int_ge(pfld_net_find_param(net, "batch_norm_1/gamma"), 0);

	ck_assert_int_eq(pfld_net_set_trainable(net, "conv/*,batch_norm/*", false), 5);
	pfld_net_parameter(net, pfld_net_find_param(net, "batch_norm/moving_variance"), &info);
	ck_assert(!info.trainable && info.is_statistic);
	ck_assert_int_eq(pfld_net_set_learning_rate(net, "fc?/*", 0.1), 5);
	ck_assert_int_eq(pfld_net_set_weight_decay(net, "*/bias", 0), pfld_net_set_weight_decay(net, "*bias", 0));
	ck_assert_int_eq(pfld_net_set_trainable(net, "nothing", true), 0);
	ck_assert_int_eq(pfld_net_set_trainable(net, "", true), 0);
	pfld_net_destroy(&net);
}
END_TEST

START_TEST(patterns_match_as_globs)
{
	ck_assert(pfld_pattern_matches("*", "a/b"));
	ck_assert(pfld_pattern_matches("a*b*c", "axxbyybzzc"));
	ck_assert(!pfld_pattern_matches("a*b", "axxbc"));
	ck_assert(pfld_pattern_matches("x,a?c", "abc"));
	ck_assert(!pfld_pattern_matches("a?c", "ac"));
	ck_assert(pfld_pattern_matches("**", ""));
	ck_assert(!pfld_pattern_matches(",", ""));
}
END_TEST

START_TEST(the_first_error_stays)
{
	struct pfld_net *net = pfld_net_create();
	pfld_value x = pfld_input(net, "image", 8, 8, 3);
	pfld_value y = pfld_conv2d(net, x, &(struct pfld_conv2d_options){.name = "big", .filters = 4, .kernel = {9, 9}});
	ck_assert_int_eq(y.id, 0);
	ck_assert_int_eq(pfld_relu(net, y, "after").id, 0);
	pfld_net_output(net, y, "out");
	struct pfld_error error = {0};
	ck_assert_int_eq(pfld_net_check(net, &error), PFLD_ERR_SHAPE);
	ck_assert_ptr_nonnull(strstr(error.message, "layer big (conv2d)"));
	ck_assert_ptr_nonnull(strstr(error.message, "(8, 8, 3)"));
	pfld_net_destroy(&net);
	ck_assert_int_eq(pfld_net_check(NULL, &error), PFLD_ERR_ARGUMENT);
}
END_TEST

// Each makes one mistake and names what the message must hold.
static const char *mistake(struct pfld_net *net, pfld_value x, int which)
{
	pfld_value other = pfld_conv2d(net, x, &(struct pfld_conv2d_options){.filters = 4, .kernel = {3, 3}});
	switch (which) {
	case 0: pfld_add(net, (pfld_value[]){x, other}, 2, NULL, "sum"); return "(8, 8, 3)";
	case 1: pfld_concat(net, (pfld_value[]){x, other}, 2, "cat"); return "(6, 6, 4)";
	case 2: pfld_conv2d(net, x, &(struct pfld_conv2d_options){.filters = 4, .kernel = {1, 1}, .groups = 2}); return "groups";
	case 3: pfld_linear(net, x, NULL); return "units";
	case 4: pfld_dropout(net, x, 1, NULL); return "rate";
	case 5: pfld_relu(net, x, "image"); return "used once";
	case 6: pfld_relu(net, (pfld_value){99}, NULL); return "not a value";
	case 7: pfld_leaky_relu(net, x, 0, NULL); return "slope";
	case 8: pfld_max_pool(net, x, NULL); return "kernel";
	case 9: pfld_batch_norm(net, x, &(struct pfld_batch_norm_options){.momentum = 2}); return "momentum";
	case 10: pfld_add(net, NULL, 0, NULL, NULL); return "at least one";
	case 11: pfld_input(net, "x", 100000, 100000, 3); return "too large";
	case 12: pfld_net_output(net, x, ""); return "name";
	default: return NULL;
	}
}

START_TEST(mistakes_are_named)
{
	for (int which = 0;; which++) {
		struct pfld_net *net = pfld_net_create();
		const char *expected = mistake(net, pfld_input(net, "image", 8, 8, 3), which);
		struct pfld_error error = {0};
		enum pfld_status status = pfld_net_check(net, &error);
		pfld_net_destroy(&net);
		if (!expected) break;
		ck_assert_msg(status != PFLD_OK && strstr(error.message, expected), "mistake %d: \"%s\" lacks \"%s\"", which,
		              error.message, expected);
	}
}
END_TEST

START_TEST(pfld_has_the_published_counts)
{
	static const struct {
		enum pfld_preset preset;
		double width;
		int32_t points;
		int64_t parameters;
		double mmacs;
		int64_t with_angles;
	} rows[] = {
	    {PFLD_PRESET_PAPER, 1, 98, 1228388, 272.79, 463811}, {PFLD_PRESET_PAPER, 0.25, 98, 94412, 20.40, 0},
	    {PFLD_PRESET_PT, 1, 98, 1264548, 386.59, 463811},    {PFLD_PRESET_PT, 0.25, 98, 96540, 27.17, 0},
	    {PFLD_PRESET_TF, 1, 98, 1218676, 248.71, 660003},    {PFLD_PRESET_TF, 0.25, 98, 91984, 18.90, 0},
	    {PFLD_PRESET_PT, 1, 68, 1253928, 386.58, 0},         {PFLD_PRESET_TF, 1, 68, 1208056, 248.70, 0},
	    {PFLD_PRESET_PT, 0.5, 98, 339380, 100.66, 0},        {PFLD_PRESET_TF, 0.75, 98, 701224, 143.25, 0},
	};
	for (size_t i = 0; i < PFLD_COUNT(rows); i++) {
		struct pfld_net *net = pfld_net_create();
		struct pfld_model_options options = {
		    .preset = rows[i].preset, .width = rows[i].width, .num_points = rows[i].points, .angles = rows[i].with_angles};
		struct pfld_model_values values = pfld_model_pfld(net, &options);
		int64_t parameters, macs, all;
		ck_pfld(pfld_net_count(net, "points", &parameters, NULL, &macs, error));
		ck_pfld(pfld_net_count(net, NULL, &all, NULL, NULL, error));
		ck_assert_int_eq(parameters, rows[i].parameters);
		ck_assert_int_eq(all - parameters, rows[i].with_angles);
		ck_assert_msg(macs > (rows[i].mmacs - 0.0051) * 1e6 && macs < (rows[i].mmacs + 0.0051) * 1e6, "row %zu: %lld MACs",
		              i, (long long)macs);
		expect_shape(net, values.points, 1, 1, 2 * rows[i].points);
		pfld_net_destroy(&net);
	}
}
END_TEST

START_TEST(pfld_takes_other_sizes_and_heads)
{
	for (int32_t size = 32; size <= 224; size += 16)
		for (int preset = 0; preset < 3; preset++) {
			struct pfld_net *net = pfld_net_create();
			struct pfld_model_options options = {.preset = (enum pfld_preset)preset,
			                                     .size = size,
			                                     .width = 0.25,
			                                     .num_points = 21,
			                                     .flatten_head = size % 32 == 0,
			                                     .angles = true};
			struct pfld_model_values values = pfld_model_pfld(net, &options);
			ck_pfld(pfld_net_check(net, error));
			expect_shape(net, values.angles, 1, 1, 3);
			pfld_net_destroy(&net);
		}
	// The flattened head of facts: 4832 numbers to 136 and 196.
	struct pfld_net *net = pfld_net_create();
	pfld_model_pfld(net, &(struct pfld_model_options){.preset = PFLD_PRESET_PT, .flatten_head = true, .num_points = 68});
	int64_t parameters;
	ck_pfld(pfld_net_count(net, NULL, &parameters, NULL, NULL, error));
	ck_assert_int_eq(parameters, 1887400 - 256);
	pfld_net_destroy(&net);
	static const struct pfld_model_options wrong[] = {{.size = 100}, {.size = 16}, {.width = 0.01}, {.num_points = -1}};
	for (size_t i = 0; i < PFLD_COUNT(wrong); i++) {
		struct pfld_error error;
		net = pfld_net_create();
		pfld_model_pfld(net, &wrong[i]);
		ck_assert_int_eq(pfld_net_check(net, &error), PFLD_ERR_ARGUMENT);
		ck_assert_ptr_nonnull(strstr(error.message, "PFLD"));
		pfld_net_destroy(&net);
	}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("net");
	TCase *tcase = tcase_create("net");
	tcase_add_test(tcase, windows_follow_the_frameworks);
	tcase_add_test(tcase, keras_has_ways_of_its_own);
	tcase_add_test(tcase, every_kind_of_layer_is_in_the_zoo);
	tcase_add_test(tcase, parameters_have_names_shapes_and_factors);
	tcase_add_test(tcase, patterns_match_as_globs);
	tcase_add_test(tcase, the_first_error_stays);
	tcase_add_test(tcase, mistakes_are_named);
	tcase_add_test(tcase, pfld_has_the_published_counts);
	tcase_add_test(tcase, pfld_takes_other_sizes_and_heads);
	suite_add_tcase(suite, tcase);
	SRunner *runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	int failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? 1 : 0;
}
