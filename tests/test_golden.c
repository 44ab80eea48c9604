// SPDX-License-Identifier: MIT
// Whole nets against PyTorch's double-precision run (golden/make_pfld.py made the values): the double build must equal
// it, the float build stay as near to it as PyTorch's own float runs do.
#include "base/base.h"
#include "io/safetensors.h"
#include <check.h>
#include <math.h>
#include <pfld/pfld.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BATCH = 8, SIZE = 64, POINTS = 98, STEPS = 20 };
static const char *golden_folder;

#define ck_pfld(call) \
	do { \
		struct pfld_error ck_error_ = {0}; \
		struct pfld_error *error = &ck_error_; \
		enum pfld_status ck_status_ = (call); \
		ck_assert_msg(ck_status_ == PFLD_OK, "%s: %s", #call, ck_error_.message); \
	} while (0)

// ---- the formulas of make_pfld.py ----

// Uniform in -1..1 from the name and the index alone (FNV-1a, then SplitMix64).
static void values(const char *name, double *out, size_t count, double scale)
{
	uint64_t hash = 0xcbf29ce484222325u;
	for (const char *p = name; *p; p++) hash = (hash ^ (unsigned char)*p) * 0x100000001b3u;
	for (size_t i = 0; i < count; i++) {
		uint64_t z = hash + (i + 1) * 0x9e3779b97f4a7c15u;
		z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
		z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
		z ^= z >> 31;
		out[i] = ((double)(z >> 11) * 0x1p-52 - 1) * scale;
	}
}

static double *fresh(size_t num)
{
	double *numbers = calloc(num, sizeof *numbers);
	ck_assert_ptr_nonnull(numbers);
	return numbers;
}

static void pictures(double *out)
{
	const double pi = 3.14159265358979323846;
	double waves[BATCH][3][4][4];
	values("waves", &waves[0][0][0][0], BATCH * 3 * 4 * 4, 1);
	for (int n = 0; n < BATCH; n++)
		for (int y = 0; y < SIZE; y++)
			for (int x = 0; x < SIZE; x++)
				for (int c = 0; c < 3; c++) {
					double sum = 0.5;
					for (int k = 0; k < 4; k++) {
						const double *w = waves[n][c][k];
						double u = (double)x / SIZE, v = (double)y / SIZE;
						sum += 0.12 * w[0] * sin(2 * pi * (3 * w[1] * u + 3 * w[2] * v + w[3]));
					}
					*out++ = sum;
				}
}

// ---- one net ----

struct fixture {
	struct pfld_device *device;
	struct pfld_net *net;
	struct pfld_weights *weights;
	struct pfld_program *program;
	struct pfld_optimizer *optimizer;
	struct pfld_safetensors *golden;
};

static void set_weights(struct fixture *f)
{
	for (int32_t i = 0; i < pfld_net_num_parameters(f->net); i++) {
		struct pfld_parameter_info info;
		pfld_net_parameter(f->net, i, &info);
		if (info.is_statistic || strstr(info.name, "_bn/")) continue;
		// The fan in: all dimensions of the kernel but the last; a bias has its kernel's.
		char kernel[128];
		snprintf(kernel, sizeof kernel, "%.*skernel", (int)(strrchr(info.name, '/') + 1 - info.name), info.name);
		struct pfld_tensor *tensor = pfld_weights_tensor(f->weights, info.name), *k = pfld_weights_tensor(f->weights, kernel);
		const struct pfld_shape *shape = pfld_tensor_shape(k ? k : tensor);
		double fan_in = 1;
		for (int32_t d = 0; d + 1 < shape->num_dims; d++) fan_in *= (double)shape->dims[d];
		if (!k) fan_in /= (double)shape->dims[2]; // depthwise: (kh, kw, c, 1)
		double *numbers = fresh((size_t)info.elements);
		values(info.name, numbers, (size_t)info.elements, 1 / sqrt(fan_in));
		ck_pfld(pfld_tensor_upload(tensor, PFLD_F64, numbers, info.elements, error));
		free(numbers);
	}
}

static void set_input(struct fixture *f, const char *name, double scale, double offset, bool sign)
{
	struct pfld_tensor *tensor = pfld_program_input(f->program, name);
	size_t num = (size_t)pfld_tensor_elements(tensor);
	double *numbers = fresh(num);
	values(!strcmp(name, "angles_truth") ? "angles" : name, numbers, num, 1);
	for (size_t i = 0; i < num; i++) numbers[i] = sign ? numbers[i] > 0 : offset + scale * numbers[i];
	ck_pfld(pfld_tensor_upload(tensor, PFLD_F64, numbers, (int64_t)num, error));
	free(numbers);
}

static struct fixture make(enum pfld_preset preset, const char *level, bool unfused)
{
	struct fixture f = {0};
	char path[512];
	snprintf(path, sizeof path, "%s/pfld_%s.safetensors", golden_folder, pfld_preset_name(preset));
	ck_pfld(pfld_safetensors_open(&f.golden, path, error));
	ck_pfld(pfld_device_open(&f.device, "cpu", &(struct pfld_device_options){.cpu_level = level}, error));
	f.net = pfld_net_create();
	pfld_model_pfld(f.net, &(struct pfld_model_options){.preset = preset, .width = 0.25, .size = SIZE, .angles = true});
	ck_pfld(pfld_weights_create(&f.weights, f.device, f.net, 1, error));
	struct pfld_loss_options loss = {.kind = PFLD_LOSS_PFLD};
	struct pfld_program_options options = {.batch = BATCH, .loss = &loss, .unfused = unfused};
	ck_pfld(pfld_program_create(&f.program, f.weights, &options, error));
	ck_pfld(pfld_optimizer_create(&f.optimizer, f.program, &(struct pfld_optimizer_options){.kind = PFLD_ADAM}, error));
	set_weights(&f);
	double *image = fresh(BATCH * SIZE * SIZE * 3);
	pictures(image);
	ck_pfld(pfld_tensor_upload(pfld_program_input(f.program, "image"), PFLD_F64, image, BATCH * SIZE * SIZE * 3, error));
	free(image);
	set_input(&f, "targets", 0.3, 0.5, false);
	set_input(&f, "attributes", 0, 0, true);
	set_input(&f, "angles_truth", 30, 0, false);
	return f;
}

static void finish(struct fixture *f)
{
	pfld_optimizer_destroy(&f->optimizer);
	pfld_program_destroy(&f->program);
	pfld_weights_destroy(&f->weights);
	pfld_net_destroy(&f->net);
	pfld_device_close(&f->device);
	pfld_safetensors_close(&f->golden);
}

static double *golden(struct fixture *f, const char *name, size_t *num)
{
	const struct pfld_safetensors_entry *entry = pfld_safetensors_find(f->golden, name);
	ck_assert_msg(entry != NULL, "the golden file lacks %s", name);
	*num = (size_t)(entry->num_bytes / sizeof(double));
	double *numbers = fresh(*num);
	ck_pfld(pfld_safetensors_read_as(f->golden, entry, PFLD_IO_F64, numbers, error));
	return numbers;
}

static double forward_backward(struct fixture *f)
{
	double loss;
	ck_pfld(pfld_program_forward(f->program, BATCH, NULL, error));
	ck_pfld(pfld_program_loss(f->program, NULL, &loss, error));
	ck_pfld(pfld_program_backward(f->program, NULL, error));
	return loss;
}

// |gradient - golden| / |golden|; for names in `zero` only |gradient| / the largest norm of all.
static double gradient_distance(struct fixture *f, const char *name, bool zero)
{
	char full[160];
	size_t num;
	snprintf(full, sizeof full, "gradient/%s", name);
	double *exact = golden(f, full, &num), *ours = fresh(num), distance = 0, norm = 0, size = 0;
	struct pfld_tensor *gradient = pfld_program_gradient(f->program, name);
	ck_assert_msg(gradient && (size_t)pfld_tensor_elements(gradient) == num, "%s", name);
	ck_pfld(pfld_tensor_download(gradient, PFLD_F64, ours, (int64_t)num, error));
	for (size_t i = 0; i < num; i++) {
		distance += (ours[i] - exact[i]) * (ours[i] - exact[i]);
		norm += exact[i] * exact[i];
		size += ours[i] * ours[i];
	}
	free(exact);
	free(ours);
	return zero ? sqrt(size) : sqrt(distance / norm);
}

// The next of a text's words into `word`; false behind the last.
static bool next_word(const char **text, char word[128])
{
	size_t length = strcspn(*text, " ");
	if (!length) return false;
	snprintf(word, 128, "%.*s", (int)length, *text);
	*text += length + ((*text)[length] == ' ');
	return true;
}

// Largest relative difference of the loss over the steps.
static double train(struct fixture *f, double first)
{
	size_t num;
	double *losses = golden(f, "losses", &num), largest = 0, loss = first;
	ck_assert_uint_eq(num, STEPS);
	for (size_t i = 0; i < num; i++) {
		if (i) loss = forward_backward(f);
		largest = fmax(largest, fabs(loss - losses[i]) / losses[i]);
		ck_pfld(pfld_optimizer_step(f->optimizer, 1e-4, 0, NULL, error));
	}
	free(losses);
	return largest;
}

static const enum pfld_preset presets[] = {PFLD_PRESET_PT, PFLD_PRESET_PAPER};

#ifdef PFLD_DOUBLE
START_TEST(double_equals_pytorch)
{
	struct fixture f = make(presets[_i], NULL, false);
	double first = forward_backward(&f);
	char name[128];
	double largest = 0;
	int32_t num_trained = 0, num_checked = 0;
	for (const char *text = pfld_safetensors_metadata(f.golden, "names"); next_word(&text, name); num_checked++) {
		double distance = gradient_distance(&f, name, false);
		ck_assert_msg(distance <= 1e-8, "%s: %g", name, distance);
		largest = fmax(largest, distance);
	}
	for (const char *text = pfld_safetensors_metadata(f.golden, "zero"); next_word(&text, name); num_checked++)
		ck_assert_double_le(gradient_distance(&f, name, true), 1e-12);
	for (int32_t i = 0; i < pfld_net_num_parameters(f.net); i++) {
		struct pfld_parameter_info info;
		pfld_net_parameter(f.net, i, &info);
		num_trained += !info.is_statistic;
	}
	ck_assert_int_eq(num_checked, num_trained);
	double loss = train(&f, first);
	printf("%s: gradients within %.2g, losses within %.2g\n", pfld_preset_name(presets[_i]), largest, loss);
	ck_assert_double_le(loss, 1e-9);
	finish(&f);
}
END_TEST
#else
static int ascending(const void *a, const void *b)
{
	return (*(const double *)a > *(const double *)b) - (*(const double *)a < *(const double *)b);
}

static double median(double *numbers, size_t num)
{
	qsort(numbers, num, sizeof *numbers, ascending);
	return num % 2 ? numbers[num / 2] : (numbers[num / 2 - 1] + numbers[num / 2]) / 2;
}

static void check_float(enum pfld_preset preset, const char *level)
{
	struct fixture f = make(preset, level, false);
	size_t num, num_runs, count = 0;
	double *theirs = golden(&f, "distance", &num), *runs = golden(&f, "loss_distance", &num_runs), *ours = fresh(num);
	double first = forward_backward(&f);
	char name[128];
	for (const char *text = pfld_safetensors_metadata(f.golden, "names"); next_word(&text, name); count++) {
		ck_assert_uint_lt(count, num);
		ours[count] = gradient_distance(&f, name, false);
	}
	ck_assert_uint_eq(count, num);
	double loss = train(&f, first), most = 0;
	for (size_t i = 0; i < num_runs; i++) most = fmax(most, runs[i]);
	double medians[] = {median(ours, num), median(theirs, num)}, largest[] = {ours[num - 1], theirs[num - 1]};
	printf("%s %s: median %.3g (PyTorch %.3g), largest %.3g (%.3g), loss %.3g (%.3g)\n", pfld_preset_name(preset), level,
	       medians[0], medians[1], largest[0], largest[1], loss, most);
	ck_assert_double_le(medians[0], 2 * medians[1]);
	ck_assert_double_le(largest[0], 4 * largest[1]);
	ck_assert_double_le(loss, 2 * most);
	free(theirs);
	free(runs);
	free(ours);
	finish(&f);
}

// Fusing costs no digits: of every gradient but those that are zero in exact arithmetic ("zero" in the golden file).
static void check_fused(enum pfld_preset preset, const char *level)
{
	struct fixture fused = make(preset, level, false), unfused = make(preset, level, true);
	double largest = 0;
	char name[128], worst[128] = "";
	forward_backward(&fused);
	forward_backward(&unfused);
	for (const char *text = pfld_safetensors_metadata(fused.golden, "names"); next_word(&text, name);) {
		double ratio = gradient_distance(&fused, name, false) / gradient_distance(&unfused, name, false);
		if (ratio > largest) strcpy(worst, name);
		largest = fmax(largest, ratio);
	}
	printf("%s %s: fused at most %.3g times as far from double as unfused (%s)\n", pfld_preset_name(preset), level, largest,
	       worst);
	ck_assert_double_le(largest, 2);
	finish(&fused);
	finish(&unfused);
}

static void for_all_levels(void (*check)(enum pfld_preset preset, const char *level), enum pfld_preset preset)
{
	struct pfld_device *device = NULL;
	ck_pfld(pfld_device_open(&device, "cpu", NULL, error));
	const char *levels = pfld_device_get_info(device)->levels;
	char level[128];
	while (next_word(&levels, level)) check(preset, level);
	pfld_device_close(&device);
}

START_TEST(fused_stays_near_unfused)
{
	for_all_levels(check_fused, presets[_i]);
}
END_TEST

START_TEST(float_stays_near)
{
	for_all_levels(check_float, presets[_i]);
}
END_TEST
#endif

int main(int argc, char **argv)
{
	if (argc != 2) {
		fprintf(stderr, "usage: %s FOLDER_OF_GOLDEN_VALUES\n", argv[0]);
		return 2;
	}
	golden_folder = argv[1];
	Suite *suite = suite_create("golden");
	TCase *tcase = tcase_create("golden");
	tcase_set_timeout(tcase, 300);
#ifdef PFLD_DOUBLE
	tcase_add_loop_test(tcase, double_equals_pytorch, 0, 2);
#else
	tcase_add_loop_test(tcase, float_stays_near, 0, 2);
	tcase_add_loop_test(tcase, fused_stays_near_unfused, 0, 2);
#endif
	suite_add_tcase(suite, tcase);
	SRunner *runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	int failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? 1 : 0;
}
