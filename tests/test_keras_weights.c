// SPDX-License-Identifier: MIT
// Weights in Keras's files: every layout is written here and read back, with names and without, with the numbers that
// several writers gave; damaged, foreign and pickled files are refused and change nothing.
#include "formula.h"
#include "scratch.h"

#include "base/file.h"
#include "io/hdf5.h"
#include "pfld_config.h"
#include "train/keras_match.h"
#include <check.h>
#include <hdf5.h>
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

static char folder[] = "keras-weights-XXXXXX";
static struct pfld_device *device;
static struct pfld_net *net;
static struct pfld_weights *wanted, *weights;
static char wanted_sha[65], fresh_sha[65];

static char *in_folder(const char *name)
{
	static char path[512];
	snprintf(path, sizeof path, "%s/%s", folder, name);
	return path;
}

// Two automatic convolutions around a separable one, every class that Keras's layouts name.
static struct pfld_net *small_net(void)
{
	struct pfld_net *fresh = pfld_net_create();
	pfld_value x = pfld_input(fresh, "image", 8, 8, 3);
	x = pfld_conv2d(fresh, x, &(struct pfld_conv2d_options){.name = "conv2d", .filters = 4, .kernel = {3, 3}});
	x = pfld_batch_norm(fresh, x, &(struct pfld_batch_norm_options){.name = "bn", .no_gamma = true});
	x = pfld_separable_conv2d(fresh, x,
							  &(struct pfld_separable_options){.name = "sep", .filters = 4, .kernel = {3, 3}});
	x = pfld_conv2d(fresh, x,
					&(struct pfld_conv2d_options){.name = "conv2d_1", .filters = 4, .kernel = {1, 1}, .no_bias = true});
	x = pfld_batch_norm(fresh, x, &(struct pfld_batch_norm_options){.name = "bn_last"});
	x = pfld_depthwise_conv2d(fresh, x, &(struct pfld_depthwise_options){.name = "dw", .kernel = {3, 3}});
	x = pfld_linear(fresh, x, &(struct pfld_linear_options){.name = "head", .units = 2});
	pfld_net_output(fresh, x, "logits");
	return fresh;
}

static void setup(void)
{
	make_scratch(folder);
	ck_pfld(pfld_device_open(&device, "cpu", &(struct pfld_device_options){.num_threads = 1}, error));
	net = small_net();
	ck_pfld(pfld_weights_create(&wanted, device, net, 1, error));
	ck_pfld(pfld_weights_create(&weights, device, net, 2, error));
	formula_fill(wanted);
	ck_pfld(pfld_weights_sha256(wanted, wanted_sha, error));
	ck_pfld(pfld_weights_sha256(weights, fresh_sha, error));
	ck_assert_str_ne(wanted_sha, fresh_sha);
}

static void teardown(void)
{
	pfld_weights_destroy(&wanted);
	pfld_weights_destroy(&weights);
	pfld_net_destroy(&net);
	pfld_device_close(&device);
	remove_tree(folder);
}

static void check_sha(const char *sha)
{
	char found[65];
	ck_pfld(pfld_weights_sha256(weights, found, error));
	ck_assert_str_eq(found, sha);
}

static void loads(const char *name, int32_t left_over)
{
	struct pfld_load_report report;
	ck_pfld(pfld_weights_load(weights, in_folder(name), PFLD_LOAD_ALL, &report, error));
	ck_assert_int_eq(report.num_loaded, pfld_net_num_parameters(net));
	ck_assert_int_eq(report.num_left_over, left_over);
	check_sha(wanted_sha);
}

static void refused(const char *name, enum pfld_status status, const char *text)
{
	struct pfld_error error = {0};
	struct pfld_load_report report = {.num_loaded = -1};
	ck_assert_int_eq(pfld_weights_load(weights, in_folder(name), PFLD_LOAD_ALL, &report, &error), status);
	ck_assert_msg(strstr(error.message, text) && strstr(error.message, name), "%s", error.message);
	ck_assert_int_eq(report.num_loaded, -1);
	check_sha(fresh_sha);
}

// ---- files as others write them ----

static struct pfld_io_array array_of(int32_t param, void **data)
{
	struct pfld_parameter_info info;
	pfld_net_parameter(net, param, &info);
	struct pfld_io_array array = {.type = PFLD_IO_F32, .num_dims = info.shape.num_dims};
	memcpy(array.dims, info.shape.dims, sizeof info.shape.dims);
	float *numbers = malloc((size_t)info.elements * sizeof *numbers);
	ck_assert_ptr_nonnull(numbers);
	ck_pfld(pfld_tensor_download(pfld_weights_tensor(wanted, info.name), PFLD_F32, numbers, info.elements, error));
	*data = numbers;
	return array;
}

static void write_param(struct pfld_hdf5_writer *writer, const char *path, int32_t param)
{
	void *data;
	struct pfld_io_array array = array_of(param, &data);
	ck_pfld(pfld_hdf5_writer_array(writer, path, &array, data, error));
	free(data);
}

// The new layout below `root`, "layers" or another container: layer k of a class has number k * step; names or not.
static void write_v3(const char *name, const char *root, int step, bool names)
{
	struct pfld_hdf5_writer *writer = NULL;
	struct pfld_keras_group *groups;
	size_t num;
	ck_pfld(pfld_hdf5_writer_create(&writer, error));
	ck_pfld(pfld_keras_groups(&groups, &num, net, error));
	for (size_t i = 0; i < num; i++) {
		int rank = 0;
		for (size_t j = 0; j < i; j++) rank += !strcmp(groups[j].kind, groups[i].kind);
		char number[16] = "", vars[128], path[160];
		if (rank) snprintf(number, sizeof number, "_%d", rank * step);
		snprintf(vars, sizeof vars, "%s/%s%s/vars", root, groups[i].kind, number);
		for (int32_t v = 0; v < groups[i].num; v++) {
			snprintf(path, sizeof path, "%s/%d", vars, (int)v);
			write_param(writer, path, groups[i].first + v);
		}
		char own[64];
		snprintf(own, sizeof own, "%.*s", (int)groups[i].length, groups[i].name);
		// Another process went on counting.
		if (!strcmp(own, "conv2d"))
			strcpy(own, "conv2d_9");
		else if (!strcmp(own, "conv2d_1"))
			strcpy(own, "conv2d_10");
		if (names) ck_pfld(pfld_hdf5_writer_string(writer, vars, "name", own, error));
	}
	write_param(writer, "optimizer/vars/1", 0);
	ck_pfld(pfld_hdf5_writer_commit(&writer, in_folder(name), error));
	free(groups);
}

START_TEST(our_own_way_and_back)
{
	ck_pfld(pfld_weights_save_keras(wanted, in_folder("own.weights.h5"), error));
	loads("own.weights.h5", 0);
	ck_pfld(pfld_weights_save(wanted, in_folder("own.safetensors"), NULL, 0, error));
	loads("own.safetensors", 0);
}
END_TEST

START_TEST(the_new_layout_with_and_without_names)
{
	write_v3("named.weights.h5", "layers", 1, true);
	loads("named.weights.h5", 0);
	write_v3("nameless.h5", "layers", 1, false);
	loads("nameless.h5", 0);
	write_v3("twice.h5", "_layer_checkpoint_dependencies", 2, false); // Keras 2.12 to 2.14
	loads("twice.h5", 0);
	write_v3("nested.h5", "layers/functional/layers", 1, false);
	loads("nested.h5", 0);
}
END_TEST

// All weights in one group, moving statistics last, as an unfrozen model within a model has them.
START_TEST(a_model_within_a_model_goes_by_names)
{
	struct pfld_hdf5_writer *writer = NULL;
	int32_t num = pfld_net_num_parameters(net), written = 0;
	char(*names)[128] = calloc((size_t)num, sizeof *names), path[256];
	const char **pointers = calloc((size_t)num, sizeof *pointers);
	ck_assert(names && pointers);
	ck_pfld(pfld_hdf5_writer_create(&writer, error));
	for (int statistics = 0; statistics < 2; statistics++)
		for (int32_t i = 0; i < num; i++) {
			struct pfld_parameter_info info;
			pfld_net_parameter(net, i, &info);
			if (info.is_statistic != statistics) continue;
			const char *slash = strrchr(info.name, '/');
			snprintf(names[written], sizeof names[written], "%.*s/%s:0", (int)(slash - info.name), info.name,
					 strcmp(info.name, "dw/depthwise_kernel") ? slash + 1 : "kernel"); // as Keras 3 calls it
			snprintf(path, sizeof path, "model_weights/small/%s", names[written]);
			write_param(writer, path, i);
			pointers[written] = names[written];
			written++;
		}
	ck_pfld(pfld_hdf5_writer_strings(writer, "model_weights/small", "weight_names", pointers, (size_t)num, error));
	ck_pfld(pfld_hdf5_writer_strings(writer, "model_weights", "layer_names", (const char *[]){"input_1", "small"}, 2,
									 error));
	ck_pfld(pfld_hdf5_writer_commit(&writer, in_folder("full.h5"), error));
	loads("full.h5", 0);
	free(names);
	free(pointers);
}
END_TEST

START_TEST(long_lists_are_split)
{
	enum { NUM = 3000 };
	struct pfld_hdf5_writer *writer = NULL;
	const char **values = calloc(NUM, sizeof *values);
	char(*texts)[32] = calloc(NUM, sizeof *texts);
	ck_assert(values && texts);
	for (int i = 0; i < NUM; i++) {
		snprintf(texts[i], sizeof texts[i], "a_layer_with_some_name_%d", i);
		values[i] = texts[i];
	}
	ck_pfld(pfld_hdf5_writer_create(&writer, error));
	ck_pfld(pfld_hdf5_writer_strings(writer, "", "layer_names", values, NUM, error));
	ck_pfld(pfld_hdf5_writer_commit(&writer, in_folder("long.h5"), error));
	struct pfld_hdf5 *file = NULL;
	struct pfld_names list = {0};
	bool found;
	ck_pfld(pfld_hdf5_open(&file, in_folder("long.h5"), 0, 0, error));
	ck_pfld(pfld_hdf5_strings(file, "", "layer_names", &list, &found, error));
	ck_assert(found && list.num == NUM);
	for (int i = 0; i < NUM; i++) ck_assert_str_eq(list.names[i], texts[i]);
	pfld_names_finish(&list);
	pfld_hdf5_close(&file);
	free(values);
	free(texts);
}
END_TEST

// ---- what is asked for ----

struct seen {
	int32_t outcomes[5];
};

static void see(void *context, const struct pfld_load_tensor *tensor)
{
	struct seen *seen = context;
	seen->outcomes[tensor->outcome]++;
	ck_assert((tensor->parameter != NULL) == (tensor->outcome != PFLD_LOAD_LEFT_OVER));
	if (tensor->outcome == PFLD_LOAD_OTHER_SHAPE) ck_assert_int_ge(tensor->file_shape.num_dims, 1);
}

START_TEST(a_new_head_is_left_alone)
{
	ck_pfld(pfld_weights_save_keras(wanted, in_folder("old_head.h5"), error));
	pfld_weights_destroy(&weights);
	pfld_weights_destroy(&wanted);
	pfld_net_destroy(&net);
	net = pfld_net_create();
	pfld_value x = pfld_input(net, "image", 8, 8, 3);
	x = pfld_conv2d(net, x, &(struct pfld_conv2d_options){.name = "conv2d", .filters = 4, .kernel = {3, 3}});
	x = pfld_linear(net, x, &(struct pfld_linear_options){.name = "head", .units = 7});
	pfld_linear(net, x, &(struct pfld_linear_options){.name = "more", .units = 7});
	ck_pfld(pfld_weights_create(&weights, device, net, 2, error));
	ck_pfld(pfld_weights_sha256(weights, fresh_sha, error));
	refused("old_head.h5", PFLD_ERR_DATA, "more/kernel");
	struct seen seen = {{0}};
	struct pfld_load_options options = {.skip = "head/*,more/*", .tensor = see, .context = &seen};
	ck_pfld(pfld_weights_load_with(weights, in_folder("old_head.h5"), &options, NULL, error));
	ck_assert(seen.outcomes[PFLD_LOADED] == 2 && seen.outcomes[PFLD_LOAD_SKIPPED] == 4);
	ck_assert_int_eq(seen.outcomes[PFLD_LOAD_LEFT_OVER], 15);
	seen = (struct seen){{0}};
	options = (struct pfld_load_options){.mode = PFLD_LOAD_MATCHING, .tensor = see, .context = &seen};
	ck_pfld(pfld_weights_load_with(weights, in_folder("old_head.h5"), &options, NULL, error));
	ck_assert(seen.outcomes[PFLD_LOAD_MISSING] == 2 && seen.outcomes[PFLD_LOAD_OTHER_SHAPE] == 2);
}
END_TEST

// ---- zip files ----

static void put_number(uint8_t *at, uint64_t value, int num_bytes)
{
	for (int i = 0; i < num_bytes; i++) at[i] = (uint8_t)(value >> 8 * i);
}

// A zip file with a small member and then this one, stored; check sums are left out.
static void write_zip(const char *name, const char *member, const uint8_t *bytes, size_t num, int method)
{
	size_t length = strlen(member), first = 30 + 1 + 2, central = first + 30 + length + num;
	uint8_t *zip = calloc(central + 2 * 46 + 1 + length + 22, 1);
	ck_assert_ptr_nonnull(zip);
	struct {
		const char *name;
		const uint8_t *bytes;
		size_t num, at;
	} parts[2] = {{"a", (const uint8_t *)"{}", 2, 0}, {member, bytes, num, first}};
	uint8_t *entry = zip + central;
	for (int i = 0; i < 2; i++) {
		uint8_t *local = zip + parts[i].at;
		size_t name_bytes = strlen(parts[i].name);
		memcpy(local, "PK\3\4", 4);
		put_number(local + 8, (uint64_t)method, 2);
		put_number(local + 18, parts[i].num, 4);
		put_number(local + 22, parts[i].num, 4);
		put_number(local + 26, name_bytes, 2);
		memcpy(local + 30, parts[i].name, name_bytes);
		memcpy(local + 30 + name_bytes, parts[i].bytes, parts[i].num);
		memcpy(entry, "PK\1\2", 4);
		put_number(entry + 10, (uint64_t)method, 2);
		put_number(entry + 20, parts[i].num, 4);
		put_number(entry + 24, parts[i].num, 4);
		put_number(entry + 28, name_bytes, 2);
		put_number(entry + 42, parts[i].at, 4);
		memcpy(entry + 46, parts[i].name, name_bytes);
		entry += 46 + name_bytes;
	}
	memcpy(entry, "PK\5\6", 4);
	put_number(entry + 8, 2, 2);
	put_number(entry + 10, 2, 2);
	put_number(entry + 12, (uint64_t)(entry - zip) - central, 4);
	put_number(entry + 16, central, 4);
	put_bytes(folder, name, zip, (size_t)(entry - zip) + 22);
	free(zip);
}

START_TEST(keras_files_are_read_in_place)
{
	uint8_t *bytes;
	size_t num;
	write_v3("inner.h5", "layers", 1, true);
	ck_pfld(pfld_file_read(in_folder("inner.h5"), 0, &bytes, &num, error));
	write_zip("packed.keras", "model.weights.h5", bytes, num, 8);
	refused("packed.keras", PFLD_ERR_UNSUPPORTED, "packed");
	write_zip("other.keras", "something.h5", bytes, num, 0);
	refused("other.keras", PFLD_ERR_UNSUPPORTED, "without model.weights.h5");
	write_zip("m.keras", "model.weights.h5", bytes, num, 0);
	free(bytes);
	ck_pfld(pfld_file_read(in_folder("m.keras"), 0, &bytes, &num, error));
	put_bytes(folder, "cut.keras", bytes, num - 1);
	refused("cut.keras", PFLD_ERR_DATA, "damaged zip");
	free(bytes);
	loads("m.keras", 0);
}
END_TEST

START_TEST(pickled_files_are_refused)
{
	static const uint8_t pickle[] = {0x80, 0x02, 0x8a, 0x0a, 'l', 0xfc, 0x9c, 'F',
									 0xf9, ' ',  'j',  0xa8, 'P', 0x19, '.',  '.'};
	put_bytes(folder, "old.pth", pickle, sizeof pickle);
	refused("old.pth", PFLD_ERR_UNSUPPORTED, "runs whatever code");
	write_zip("new.safetensors", "archive/data.pkl", pickle, sizeof pickle, 0);
	refused("new.safetensors", PFLD_ERR_UNSUPPORTED, "safetensors.torch.save_file");
}
END_TEST

// ---- foreign and damaged files ----

// A file made by libhdf5 itself, with one dataset where conv2d's kernel should be.
static void write_trap(const char *name, int trap)
{
	hid_t file = H5Fcreate(in_folder(name), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
	hid_t links = H5Pcreate(H5P_LINK_CREATE), creation = H5Pcreate(H5P_DATASET_CREATE);
	hsize_t dims[4] = {3, 3, 3, 4};
	H5Pset_create_intermediate_group(links, 1);
	hid_t space = H5Screate_simple(4, dims, NULL);
	if (trap == 0) H5Pset_external(creation, "/etc/passwd", 0, 3 * 3 * 3 * 4 * 4);
	if (trap == 1) {
		H5Pset_chunk(creation, 4, dims);
		H5Pset_filter(creation, 32000, H5Z_FLAG_OPTIONAL, 0, NULL);
	}
	if (trap < 3)
		H5Dclose(H5Dcreate2(file, "layers/conv2d/vars/0", H5T_IEEE_F32LE, space, links, creation, H5P_DEFAULT));
	else
		H5Lcreate_external("elsewhere.h5", "/x", file, "layers/conv2d/vars/0", links, H5P_DEFAULT);
	H5Sclose(space);
	H5Pclose(links);
	H5Pclose(creation);
	H5Fclose(file);
}

START_TEST(files_that_reach_beyond_themselves_are_refused)
{
	static const char *const texts[] = {"other files", "no tensor of this net", "no tensor of this net",
										"cannot be opened"};
	for (int trap = 0; trap < 4; trap++) {
		write_trap("trap.h5", trap);
		struct pfld_error error = {0};
		enum pfld_status status = pfld_weights_load(weights, in_folder("trap.h5"), PFLD_LOAD_MATCHING, NULL, &error);
		ck_assert_int_eq(status, PFLD_ERR_DATA);
		if (trap == 0 || trap == 3) ck_assert_msg(strstr(error.message, texts[trap]) != NULL, "%s", error.message);
		check_sha(fresh_sha);
	}
	put_file(folder, "text.h5", "no HDF5 at all, but long enough to hold a signature somewhere\n");
	refused("text.h5", PFLD_ERR_DATA, "text.h5");
	struct pfld_hdf5_writer *writer = NULL;
	ck_pfld(pfld_hdf5_writer_create(&writer, error));
	ck_pfld(pfld_hdf5_writer_string(writer, "data", "about", "no weights", error));
	ck_pfld(pfld_hdf5_writer_commit(&writer, in_folder("data.h5"), error));
	refused("data.h5", PFLD_ERR_DATA, "neither layer_names nor layers");
	refused("absent.h5", PFLD_ERR_IO, "absent.h5");
}
END_TEST

// Weights that load are all there; what fails leaves them as they were.
static void attempt(const uint8_t *bytes, size_t num_bytes)
{
	static size_t num_attempts;
	char sha[65];
	struct pfld_load_report report;
	if (num_bytes > 512 && num_attempts++ % 16) return; // of some ten thousand
	put_bytes(folder, "damaged.h5", bytes, num_bytes);
	struct pfld_error error = {0};
	enum pfld_status status = pfld_weights_load(weights, in_folder("damaged.h5"), PFLD_LOAD_ALL, &report, &error);
	if (status) {
		ck_assert(error.message[0] != '\0');
		check_sha(fresh_sha);
		return;
	}
	ck_assert_int_eq(report.num_loaded, pfld_net_num_parameters(net));
	ck_pfld(pfld_weights_sha256(weights, sha, error));
	strcpy(fresh_sha, sha);
}

START_TEST(damaged_files_change_nothing)
{
	pfld_weights_destroy(&weights);
	pfld_weights_destroy(&wanted);
	pfld_net_destroy(&net);
	net = pfld_net_create();
	pfld_value x = pfld_input(net, "image", 4, 4, 1);
	pfld_conv2d(net, x, &(struct pfld_conv2d_options){.name = "conv2d", .filters = 1, .kernel = {1, 1}});
	ck_pfld(pfld_weights_create(&wanted, device, net, 1, error));
	ck_pfld(pfld_weights_create(&weights, device, net, 2, error));
	ck_pfld(pfld_weights_sha256(weights, fresh_sha, error));
	if (_i)
		write_v3("whole.h5", "layers", 1, true);
	else
		ck_pfld(pfld_weights_save_keras(wanted, in_folder("whole.h5"), error));
	damage_file(in_folder("whole.h5"), attempt);
}
END_TEST

// ---- manners ----

static herr_t shout(hid_t stack, void *data)
{
	ck_abort_msg("HDF5 has spoken");
	return 0;
}

START_TEST(hdf5_is_quiet_and_the_host_gets_its_setting_back)
{
	H5E_auto2_t print;
	void *data;
	H5Eset_auto2(H5E_DEFAULT, shout, &print);
	put_bytes(folder, "bad.h5", "\211HDF\r\n\032\n", 8);
	refused("bad.h5", PFLD_ERR_DATA, "damaged");
	H5Eget_auto2(H5E_DEFAULT, &print, &data);
	ck_assert(print == shout && data == &print);
	H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("keras_weights");
	TCase *tcase = tcase_create("keras_weights");
	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_set_timeout(tcase, 120);
	tcase_add_test(tcase, our_own_way_and_back);
	tcase_add_test(tcase, the_new_layout_with_and_without_names);
	tcase_add_test(tcase, a_model_within_a_model_goes_by_names);
	tcase_add_test(tcase, long_lists_are_split);
	tcase_add_test(tcase, a_new_head_is_left_alone);
	tcase_add_test(tcase, keras_files_are_read_in_place);
	tcase_add_test(tcase, pickled_files_are_refused);
	tcase_add_test(tcase, files_that_reach_beyond_themselves_are_refused);
	tcase_add_loop_test(tcase, damaged_files_change_nothing, 0, 2);
	tcase_add_test(tcase, hdf5_is_quiet_and_the_host_gets_its_setting_back);
	suite_add_tcase(suite, tcase);
	SRunner *runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	int failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? 1 : 0;
}
