// SPDX-License-Identifier: MIT
// Pretrained weights that lie beside the project, in the files that other people wrote: outputs against Keras's in
// double (golden/keras_real_weights.json), on a picture from a formula. Skipped where they are absent.
#include "base/file.h"
#include "pfld_config.h"
#include <check.h>
#include <jansson.h>
#include <math.h>
#include <pfld/pfld.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ck_pfld(call)                                                                                                  \
	do {                                                                                                               \
		struct pfld_error ck_error_ = {0};                                                                             \
		struct pfld_error *error = &ck_error_;                                                                         \
		enum pfld_status ck_status_ = (call);                                                                          \
		ck_assert_msg(ck_status_ == PFLD_OK, "%s: %s", #call, ck_error_.message);                                      \
	} while (0)

enum { SIZE = 224 };
static const char *golden_folder, *folder;

static json_t *golden_of(const char *model, const char *key)
{
	char path[512];
	json_error_t json_error;
	snprintf(path, sizeof path, "%s/keras_real_weights.json", golden_folder);
	json_t *root = json_load_file(path, 0, &json_error);
	ck_assert_msg(root != NULL, "%s: %s", path, json_error.text);
	json_t *record =
		json_object_get(json_object_get(json_object_get(json_object_get(root, "models"), model), key), "synthetic");
	json_incref(record);
	json_decref(root);
	ck_assert_ptr_nonnull(record);
	return record;
}

// The model's output for the picture: fresh numbers.
static float *predict(const struct pfld_backbone_options *options, const char *name, int32_t *num)
{
	struct pfld_device *device = NULL;
	struct pfld_weights *weights = NULL;
	struct pfld_program *program = NULL;
	struct pfld_load_report report;
	struct pfld_backbone_info info;
	char path[512];
	snprintf(path, sizeof path, "%s/%s", folder, name);
	ck_pfld(pfld_device_open(&device, "cpu", NULL, error));
	struct pfld_net *net = pfld_net_create();
	struct pfld_backbone_values values = pfld_model_backbone(net, options);
	pfld_net_output(net, values.output, "output");
	pfld_net_shape(net, values.output, NULL, NULL, num);
	ck_pfld(pfld_weights_create(&weights, device, net, 1, error));
	ck_pfld(pfld_weights_load(weights, path, PFLD_LOAD_ALL, &report, error));
	ck_assert_int_eq(report.num_left_over, 0);
	ck_pfld(
		pfld_program_create(&program, weights, &(struct pfld_program_options){.batch = 1, .mode = PFLD_INFER}, error));
	float *pixels = malloc(SIZE * SIZE * 3 * sizeof *pixels), *at = pixels,
		  *output = malloc((size_t)*num * sizeof *output);
	ck_assert(pixels && output && pfld_backbone_get_info(options->backbone, &info));
	for (int y = 0; y < SIZE; y++)
		for (int x = 0; x < SIZE; x++)
			for (int c = 0; c < 3; c++) *at++ = (float)((7 * y + 13 * x + 29 * c) % 256);
	pfld_preprocess(info.preprocessing, pixels, SIZE * SIZE);
	ck_pfld(pfld_tensor_upload(pfld_program_input(program, "image"), PFLD_F32, pixels, SIZE * SIZE * 3, error));
	ck_pfld(pfld_program_forward(program, 1, NULL, error));
	ck_pfld(pfld_tensor_download(pfld_program_output(program, "output"), PFLD_F32, output, *num, error));
	free(pixels);
	pfld_program_destroy(&program);
	pfld_weights_destroy(&weights);
	pfld_net_destroy(&net);
	pfld_device_close(&device);
	return output;
}

static void check_features(const float *ours, int32_t num, const char *model)
{
	json_t *golden = golden_of(model, "features");
	double l2 = json_number_value(json_object_get(golden, "l2")), squares = 0, sum = 0, distance = 0;
	for (int32_t i = 0; i < num; i++) {
		sum += (double)ours[i];
		squares += (double)ours[i] * (double)ours[i];
	}
	const json_t *first = json_object_get(golden, "first16");
	ck_assert_uint_eq(json_array_size(first), 16);
	for (size_t i = 0; i < 16; i++) distance += pow((double)ours[i] - json_number_value(json_array_get(first, i)), 2);
	double of_sum = fabs(sum - json_number_value(json_object_get(golden, "sum"))) / sqrt(num);
	printf("%s: first 16 within %.2g, sum %.2g, norm %.2g of the norm\n", model, sqrt(distance) / l2, of_sum / l2,
		   fabs(sqrt(squares) / l2 - 1));
	ck_assert_double_le(sqrt(distance), 1e-4 * l2);
	ck_assert_double_le(of_sum, 1e-4 * l2);
	ck_assert_double_le(fabs(sqrt(squares) - l2), 1e-4 * l2);
	json_decref(golden);
}

START_TEST(mobilenet_v2_from_both_files)
{
	struct pfld_backbone_options options = {.backbone = PFLD_MOBILENET_V2, .alpha = 0.35, .pooling = PFLD_POOLING_AVG};
	int32_t num;
	float *features = predict(&options, "mobilenet_v2_0.35_224_notop.safetensors", &num);
	check_features(features, num, "mobilenet_v2_0.35");
	if (PFLD_HAVE_HDF5) {
		float *again = predict(&options, "mobilenet_v2_0.35_224_notop.weights.h5", &num);
		ck_assert_mem_eq(features, again, (size_t)num * sizeof *features);
		free(again);
	}
	free(features);
}
END_TEST

START_TEST(squeezenet_from_its_old_file)
{
	if (!PFLD_HAVE_HDF5) return;
	struct pfld_backbone_options options = {.backbone = PFLD_SQUEEZENET, .pooling = PFLD_POOLING_AVG};
	int32_t num;
	float *features = predict(&options, "squeezenet_1.1_notop.h5", &num);
	check_features(features, num, "squeezenet_1.1");
	free(features);
}
END_TEST

START_TEST(mobilenet_v1_knows_its_classes)
{
	struct pfld_backbone_options options = {.backbone = PFLD_MOBILENET_V1, .alpha = 0.25, .include_top = true};
	int32_t num;
	float *shares = predict(&options, "mobilenet_v1_0.25_224.safetensors", &num);
	ck_assert_int_eq(num, 1000);
	json_t *golden = golden_of("mobilenet_v1_0.25", "top5");
	for (size_t i = 0; i < 5; i++) {
		json_int_t index = json_integer_value(json_array_get(json_object_get(golden, "index"), i));
		double share = json_number_value(json_array_get(json_object_get(golden, "prob"), i));
		ck_assert_double_le(fabs((double)shares[index] - share), 1e-5);
	}
	json_decref(golden);
	free(shares);
}
END_TEST

int main(int argc, char **argv)
{
	if (argc != 3) {
		fprintf(stderr, "usage: %s FOLDER_OF_GOLDEN_VALUES FOLDER_OF_WEIGHTS\n", argv[0]);
		return 2;
	}
	golden_folder = argv[1];
	folder = argv[2];
	if (pfld_path_kind(folder) != PFLD_PATH_FOLDER) {
		printf("%s is absent: skipped\n", folder);
		return 77;
	}
	Suite *suite = suite_create("real_weights");
	TCase *tcase = tcase_create("real_weights");
	tcase_set_timeout(tcase, 60);
	tcase_add_test(tcase, mobilenet_v2_from_both_files);
	tcase_add_test(tcase, squeezenet_from_its_old_file);
	tcase_add_test(tcase, mobilenet_v1_knows_its_classes);
	suite_add_tcase(suite, tcase);
	SRunner *runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	int failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? 1 : 0;
}
