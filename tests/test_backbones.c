// SPDX-License-Identifier: MIT
// Image classifiers against Keras's double-precision run with weights from a formula (golden/make_keras_backbones.py
// made the values): counts, names, sizes, features, gradients.
#include "formula.h"

#include "net/net.h"
#include <check.h>
#include <jansson.h>
#include <math.h>
#include <pfld/pfld.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *golden_folder;

#define ck_pfld(call)                                                                                                  \
	do {                                                                                                               \
		struct pfld_error ck_error_ = {0};                                                                             \
		struct pfld_error *error = &ck_error_;                                                                         \
		enum pfld_status ck_status_ = (call);                                                                          \
		ck_assert_msg(ck_status_ == PFLD_OK, "%s: %s", #call, ck_error_.message);                                      \
	} while (0)

#ifndef PFLD_DOUBLE
// ---- counts ----

static const struct {
	enum pfld_backbone backbone;
	double alpha;
	int32_t features;
	int64_t without_top, with_top, statistics, macs; // parameters with statistics, as Keras counts them
	int32_t arrays;                                  // without top
} counts[] = {
	{PFLD_VGG16, 0, 512, 14714688, 138357544, 0, 15346630656, 26},
	{PFLD_VGG19, 0, 512, 20024384, 143667240, 0, 19508428800, 32},
	{PFLD_XCEPTION, 0, 2048, 20861480, 22910480, 54528, 8355355496, 234},
	{PFLD_INCEPTION_RESNET_V2, 0, 1536, 54336736, 55873736, 60544, 13154258016, 896},
	{PFLD_MOBILENET_V2, 0.35, 1280, 410208, 1691208, 14080, 58005808, 260},
	{PFLD_MOBILENET_V2, 0.5, 1280, 706224, 1987224, 18544, 95851840, 260},
	{PFLD_MOBILENET_V2, 0.75, 1280, 1382064, 2663064, 26640, 207789792, 260},
	{PFLD_MOBILENET_V2, 1, 1280, 2257984, 3538984, 34112, 299494272, 260},
	{PFLD_MOBILENET_V2, 1.3, 1664, 3766048, 5431048, 44256, 507710560, 260},
	{PFLD_MOBILENET_V2, 1.4, 1792, 4363712, 6156712, 47936, 580403824, 260},
	{PFLD_MOBILENET_V1, 0.25, 256, 218544, 475544, 5472, 40774272, 135},
	{PFLD_MOBILENET_V1, 0.5, 512, 829536, 1342536, 10944, 148985088, 135},
	{PFLD_MOBILENET_V1, 0.75, 768, 1832976, 2601976, 16416, 324632448, 135},
	{PFLD_MOBILENET_V1, 1, 1024, 3228864, 4253864, 21888, 567716352, 135},
	{PFLD_SQUEEZENET, 0, 512, 722496, 1235496, 0, 262623936, 50},
};

START_TEST(counts_are_those_of_keras)
{
	for (int top = 0; top < 2; top++) {
		struct pfld_net *net = pfld_net_create();
		struct pfld_backbone_options options = {.backbone = counts[_i].backbone,
												.alpha = counts[_i].alpha,
												.include_top = top,
												.pooling = PFLD_POOLING_AVG};
		struct pfld_backbone_values values = pfld_model_backbone(net, &options);
		int64_t parameters, statistics, macs;
		ck_pfld(pfld_net_count(net, NULL, &parameters, &statistics, &macs, error));
		ck_assert_int_eq(parameters + statistics, top ? counts[_i].with_top : counts[_i].without_top);
		ck_assert_int_eq(statistics, counts[_i].statistics);
		int32_t h, w, c;
		pfld_net_shape(net, values.output, &h, &w, &c);
		ck_assert(h == 1 && w == 1);
		ck_assert_int_eq(c, top ? 1000 : counts[_i].features);
		if (!top) {
			ck_assert_int_eq(macs, counts[_i].macs);
			ck_assert_int_eq(pfld_net_num_parameters(net), counts[_i].arrays);
		}
		pfld_net_destroy(&net);
	}
}
END_TEST

// ---- sizes and refusals ----

static struct pfld_net *build(const struct pfld_backbone_options *options, int32_t shape[3])
{
	struct pfld_net *net = pfld_net_create();
	struct pfld_backbone_values values = pfld_model_backbone(net, options);
	pfld_net_shape(net, values.output, &shape[0], &shape[1], &shape[2]);
	return net;
}

START_TEST(every_legal_size_builds)
{
	static const struct {
		enum pfld_backbone backbone;
		int32_t height, width, out_h, out_w, channels; // out: of the feature map, as Keras has it
	} rows[] = {
		{PFLD_VGG16, 32, 95, 1, 2, 512},
		{PFLD_VGG19, 0, 0, 7, 7, 512},
		{PFLD_XCEPTION, 71, 107, 3, 4, 2048},
		{PFLD_XCEPTION, 0, 0, 10, 10, 2048},
		{PFLD_INCEPTION_RESNET_V2, 75, 107, 1, 2, 1536},
		{PFLD_INCEPTION_RESNET_V2, 0, 0, 8, 8, 1536},
		{PFLD_MOBILENET_V2, 32, 75, 1, 3, 1280},
		{PFLD_MOBILENET_V1, 32, 75, 1, 2, 1024}, // 38, 19, 9 (odd: as VALID), 4, 2
		{PFLD_MOBILENET_V1, 226, 224, 7, 7, 1024},
		{PFLD_SQUEEZENET, 48, 224, 2, 13, 512},
	};
	for (size_t i = 0; i < PFLD_COUNT(rows); i++) {
		int32_t shape[3];
		struct pfld_backbone_options options = {
			.backbone = rows[i].backbone, .height = rows[i].height, .width = rows[i].width};
		struct pfld_net *net = build(&options, shape);
		ck_pfld(pfld_net_check(net, error));
		ck_assert_msg(shape[0] == rows[i].out_h && shape[1] == rows[i].out_w && shape[2] == rows[i].channels,
					  "row %zu: (%d, %d, %d)", i, shape[0], shape[1], shape[2]);
		pfld_net_destroy(&net);
	}
}
END_TEST

static void refused(const struct pfld_backbone_options *options, const char *text)
{
	int32_t shape[3];
	struct pfld_error error = {0};
	struct pfld_net *net = build(options, shape);
	ck_assert_int_eq(pfld_net_check(net, &error), PFLD_ERR_ARGUMENT);
	ck_assert_msg(strstr(error.message, text) != NULL, "%s", error.message);
	pfld_net_destroy(&net);
}

START_TEST(what_keras_refuses_is_refused)
{
	for (int i = 0; i < PFLD_NUM_BACKBONES; i++) {
		struct pfld_backbone_info info;
		enum pfld_backbone found;
		ck_assert(pfld_backbone_get_info((enum pfld_backbone)i, &info));
		ck_assert(pfld_backbone_from_name(info.name, &found) && found == (enum pfld_backbone)i);
		refused(&(struct pfld_backbone_options){.backbone = found, .height = info.minimum_size - 1}, "at least");
		refused(&(struct pfld_backbone_options){.backbone = found, .width = info.minimum_size - 1}, info.name);
		refused(&(struct pfld_backbone_options){.backbone = found, .width = 4097}, "at most 4096");
		refused(&(struct pfld_backbone_options){.backbone = found, .num_classes = -1}, "classes");
		refused(&(struct pfld_backbone_options){.backbone = found, .alpha = info.has_alpha ? 9 : 0.5}, "alpha");
	}
	enum pfld_backbone found;
	ck_assert(!pfld_backbone_from_name("resnet50", &found) && !pfld_backbone_from_name(NULL, &found));
	refused(&(struct pfld_backbone_options){.backbone = PFLD_NUM_BACKBONES}, "backbone");
}
END_TEST

START_TEST(heads_and_names_are_as_asked)
{
	int32_t shape[3];
	struct pfld_backbone_options options = {
		.backbone = PFLD_VGG16, .height = 64, .include_top = true, .num_classes = 7};
	struct pfld_net *net = build(&options, shape);
	ck_assert(shape[0] == 1 && shape[1] == 1 && shape[2] == 7);
	ck_assert_int_ge(pfld_net_find_param(net, "fc2/kernel"), 0);
	ck_assert_int_ge(pfld_net_find_param(net, "predictions/bias"), 0);
	pfld_net_destroy(&net);
	static const struct {
		enum pfld_backbone backbone;
		const char *name;
	} rows[] = {
		{PFLD_XCEPTION, "block14_sepconv2/pointwise_kernel"}, {PFLD_XCEPTION, "conv2d_3/kernel"},
		{PFLD_INCEPTION_RESNET_V2, "conv2d_202/kernel"},      {PFLD_INCEPTION_RESNET_V2, "block8_10_conv/bias"},
		{PFLD_MOBILENET_V2, "block_16_project_BN/gamma"},     {PFLD_MOBILENET_V1, "conv_pw_13_bn/moving_mean"},
		{PFLD_SQUEEZENET, "fire9/expand3x3/kernel"},
	};
	for (size_t i = 0; i < PFLD_COUNT(rows); i++) {
		net = build(&(struct pfld_backbone_options){.backbone = rows[i].backbone, .pooling = PFLD_POOLING_MAX}, shape);
		ck_assert_msg(pfld_net_find_param(net, rows[i].name) >= 0, "%s", rows[i].name);
		ck_assert(shape[0] == 1 && shape[1] == 1);
		pfld_net_destroy(&net);
	}
}
END_TEST

START_TEST(preprocessing_is_that_of_keras)
{
	static const float expected[PFLD_NUM_PREPROCESSINGS][3] = {{0, 100, 255},
															   {-1, -0.21568627f, 1},
															   {255 - 103.939f, 100 - 116.779f, -123.68f},
															   {-2.117904f, -0.2850140f, 2.64f}};
	for (int i = 0; i < PFLD_NUM_PREPROCESSINGS; i++) {
		float rgb[6] = {0, 100, 255, 0, 100, 255};
		enum pfld_preprocessing kind;
		ck_assert(pfld_preprocessing_from_name(pfld_preprocessing_name((enum pfld_preprocessing)i), &kind));
		pfld_preprocess(kind, rgb, 2);
		for (int c = 0; c < 6; c++) ck_assert_double_eq_tol(rgb[c], expected[i][c % 3], 2e-6 * 128);
	}
}
END_TEST

#endif

// ---- features and gradients ----

static const struct {
	const char *name;
	enum pfld_backbone backbone;
	double alpha;
} golden_nets[] = {
	{"mobilenet_v1_0.5", PFLD_MOBILENET_V1, 0.5},
	{"mobilenet_v2_0.5", PFLD_MOBILENET_V2, 0.5},
	{"xception", PFLD_XCEPTION, 0},
	{"inception_resnet_v2", PFLD_INCEPTION_RESNET_V2, 0},
	{"vgg16", PFLD_VGG16, 0},
	{"vgg19", PFLD_VGG19, 0},
};

struct fixture {
	json_t *golden;
	struct pfld_device *device;
	struct pfld_net *net;
	struct pfld_weights *weights;
	int32_t size, channels;
};

static double number(const json_t *object, const char *key)
{
	const json_t *value = json_object_get(object, key);
	ck_assert_msg(json_is_number(value), "the golden file lacks %s", key);
	return json_number_value(value);
}

// The backbone with average pooling and one unit behind it, "head", without bias: the golden one is 0.
static struct fixture make(int index)
{
	struct fixture f = {0};
	char path[512];
	json_error_t json_error;
	snprintf(path, sizeof path, "%s/keras_backbones.json", golden_folder);
	f.golden = json_load_file(path, 0, &json_error);
	ck_assert_msg(f.golden != NULL, "%s: %s", path, json_error.text);
	const json_t *golden = json_object_get(f.golden, golden_nets[index].name);
	f.size = (int32_t)number(golden, "size");
	ck_pfld(pfld_device_open(&f.device, "cpu", NULL, error));
	f.net = pfld_net_create();
	struct pfld_backbone_values values =
		pfld_model_backbone(f.net, &(struct pfld_backbone_options){.backbone = golden_nets[index].backbone,
																   .alpha = golden_nets[index].alpha,
																   .height = f.size,
																   .width = f.size,
																   .pooling = PFLD_POOLING_AVG});
	pfld_net_shape(f.net, values.output, NULL, NULL, &f.channels);
	pfld_net_output(f.net, values.output, "features");
	pfld_value head =
		pfld_linear(f.net, values.output, &(struct pfld_linear_options){.name = "head", .units = 1, .no_bias = true});
	pfld_net_output(f.net, head, "logit");
	ck_pfld(pfld_weights_create(&f.weights, f.device, f.net, 1, error));
	formula_fill(f.weights);
	return f;
}

static void finish(struct fixture *f)
{
	pfld_weights_destroy(&f->weights);
	pfld_net_destroy(&f->net);
	pfld_device_close(&f->device);
	json_decref(f->golden);
}

static void set_pictures(const struct fixture *f, struct pfld_program *program, int32_t num)
{
	size_t elements = (size_t)num * (size_t)f->size * (size_t)f->size * 3;
	double *pixels = malloc(elements * sizeof *pixels);
	ck_assert_ptr_nonnull(pixels);
	formula_pictures(pixels, num, f->size);
	ck_pfld(pfld_tensor_upload(pfld_program_input(program, "image"), PFLD_F64, pixels, (int64_t)elements, error));
	free(pixels);
}

// How far numbers are from a golden record of first values, sum and l2, in units of the l2.
static double distance(const json_t *golden, const double *ours, size_t num)
{
	double sum = 0, squares = 0, l2 = number(golden, "l2"), first = 0;
	for (size_t i = 0; i < num; i++) {
		sum += ours[i];
		squares += ours[i] * ours[i];
	}
	const json_t *values = json_object_get(golden, "first");
	for (size_t i = 0; i < json_array_size(values); i++)
		first += pow(ours[i] - json_number_value(json_array_get(values, i)), 2);
	// The errors of a sum of num numbers of norm l2 add up to at most sqrt(num) l2.
	double of_sum = fabs(sum - number(golden, "sum")) / sqrt((double)num);
	return fmax(fmax(sqrt(first), of_sum), fabs(sqrt(squares) - l2)) / l2;
}

static double *download(struct pfld_tensor *tensor, size_t *num)
{
	*num = (size_t)pfld_tensor_elements(tensor);
	double *numbers = malloc(*num * sizeof *numbers);
	ck_assert_ptr_nonnull(numbers);
	ck_pfld(pfld_tensor_download(tensor, PFLD_F64, numbers, (int64_t)*num, error));
	return numbers;
}

static double features_distance(const struct fixture *f, const json_t *golden)
{
	const char *outputs[] = {"features"};
	struct pfld_program *program = NULL;
	struct pfld_program_options options = {.batch = 1, .mode = PFLD_INFER, .outputs = outputs, .num_outputs = 1};
	ck_pfld(pfld_program_create(&program, f->weights, &options, error));
	set_pictures(f, program, 1);
	ck_pfld(pfld_program_forward(program, 1, NULL, error));
	size_t num;
	double *features = download(pfld_program_output(program, "features"), &num);
	double found = distance(json_object_get(golden, "features"), features, num);
	free(features);
	pfld_program_destroy(&program);
	return found;
}

static const char vanishing[] = "block_8_project_BN/beta"; // a batch norm follows: no gradient in exact arithmetic

// The largest distance of the gradients, and the loss's in *loss_distance.
static double gradients_distance(const struct fixture *f, const json_t *golden, double *loss_distance)
{
	const char *outputs[] = {"logit"};
	struct pfld_loss_options kind = {.kind = PFLD_LOSS_SIGMOID_CROSS_ENTROPY};
	struct pfld_program_options options = {.batch = 4, .outputs = outputs, .num_outputs = 1, .loss = &kind};
	struct pfld_program *program = NULL;
	ck_pfld(pfld_program_create(&program, f->weights, &options, error));
	set_pictures(f, program, 4);
	ck_pfld(pfld_tensor_upload(pfld_program_input(program, "targets"), PFLD_F64, (double[]){0, 1, 0, 1}, 4, error));
	double loss, largest = 0;
	ck_pfld(pfld_program_forward(program, 4, NULL, error));
	ck_pfld(pfld_program_loss(program, NULL, &loss, error));
	ck_pfld(pfld_program_backward(program, NULL, error));
	*loss_distance = fabs(loss - number(golden, "loss")) / number(golden, "loss");
	const char *name;
	json_t *record;
	json_object_foreach(json_object_get(golden, "gradients"), name, record)
	{
		char own[128];
		struct pfld_tensor *gradient = pfld_program_gradient(program, formula_own_name(f->net, name, own));
		ck_assert_msg(gradient != NULL, "%s has no gradient", own);
		size_t num;
		double *numbers = download(gradient, &num), found;
		if (!strcmp(name, vanishing)) {
			ck_assert_double_lt(number(record, "l2"), 1e-10);
			for (size_t i = 0; i < num; i++) ck_assert_double_lt(fabs(numbers[i]), 1e-5);
			found = 0;
		} else {
			found = distance(record, numbers, num);
		}
		free(numbers);
		if (getenv("PFLD_TEST_VERBOSE")) printf("  %s %.3g\n", own, found);
		largest = fmax(largest, found);
	}
	pfld_program_destroy(&program);
	return largest;
}

START_TEST(features_and_gradients_are_those_of_keras)
{
	struct fixture f = make(_i);
	const json_t *golden = json_object_get(f.golden, golden_nets[_i].name);
	double of_loss, of_features = features_distance(&f, golden);
	double of_gradients = gradients_distance(&f, json_object_get(golden, "step"), &of_loss);
	printf("%s at %d: features within %.2g, loss within %.2g, gradients within %.2g\n", golden_nets[_i].name, f.size,
		   of_features, of_loss, of_gradients);
	bool exact = sizeof(pfld_real) == sizeof(double);
	ck_assert_double_le(of_features, exact ? 1e-10 : 1e-6);
	ck_assert_double_le(of_loss, exact ? 1e-10 : 1e-4);
	// In float some number near 0 falls on the other side of a relu somewhere in the net, and takes the gradient of its
	// pixel with it: thousandths of a batch norm's beta, in other tensors with every instruction set. In double none
	// does.
	ck_assert_double_le(of_gradients, exact ? 1e-10 : 1e-2);
	finish(&f);
}
END_TEST

int main(int argc, char **argv)
{
	if (argc != 2) {
		fprintf(stderr, "usage: %s FOLDER_OF_GOLDEN_VALUES\n", argv[0]);
		return 2;
	}
	golden_folder = argv[1];
	Suite *suite = suite_create("backbones");
	TCase *tcase = tcase_create("backbones");
	tcase_set_timeout(tcase, 300);
#ifdef PFLD_DOUBLE
	// Those with batch norm; without, float tells as much.
	tcase_add_loop_test(tcase, features_and_gradients_are_those_of_keras, 0, 4);
#else
	tcase_add_loop_test(tcase, counts_are_those_of_keras, 0, (int)PFLD_COUNT(counts));
	tcase_add_test(tcase, every_legal_size_builds);
	tcase_add_test(tcase, what_keras_refuses_is_refused);
	tcase_add_test(tcase, heads_and_names_are_as_asked);
	tcase_add_test(tcase, preprocessing_is_that_of_keras);
	tcase_add_loop_test(tcase, features_and_gradients_are_those_of_keras, 0, (int)PFLD_COUNT(golden_nets));
#endif
	suite_add_tcase(suite, tcase);
	SRunner *runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	int failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? 1 : 0;
}
