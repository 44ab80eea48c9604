// SPDX-License-Identifier: MIT
// Memory that runs out at the n-th request, for every n (in strides where there are many): each call says so, leaves its
// outputs and the files as they were, and gives everything back. Lists have a test of their own (test_lists_memory.c).
#include "failing_memory.h"
#include "pfld_config.h"
#include "scratch.h"
#include "zoo.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST_RUNS = 100, SIZE = 32, BATCH = 3, NUM_POINTS = 98 };
static char folder[] = "alloc_fail_XXXXXX";
static struct pfld_error error;

// What the scenarios work on; those in front of the one that fails are made with all memory there is.
static struct pfld_device *device;
static struct pfld_net *net;
static struct pfld_weights *weights;
static struct pfld_program *program;
static struct pfld_optimizer *optimizer;
static struct pfld_trainer *trainer;
static struct pfld_plan *plan;
static struct pfld_tensor *tensor;
static struct pfld_dataset *dataset;
static struct pfld_loader *loader;
static struct pfld_report *report;
static struct pfld_image image;
static char sha256[65];

#define SUCCEEDS(call) \
	do { \
		enum pfld_status status_ = (call); \
		ck_assert_msg(status_ == PFLD_OK, "%s: %s: %s", #call, pfld_status_name(status_), error.message); \
	} while (0)

static const char *in_folder(const char *name)
{
	static char path[128];
	snprintf(path, sizeof path, "%s/%s", folder, name);
	return path;
}

// ---- what is tried ----

struct scenario {
	const char *name;
	enum pfld_status (*act)(void);
	void (*undo)(void);         // after act, whether it failed or not
	void (*look)(void); // between act and undo
};

// A net that could not be made is NULL, and building on it goes on without harm.
static enum pfld_status check_net(void)
{
	enum pfld_status status = pfld_net_check(net, &error);
	return net ? status : PFLD_ERR_MEMORY;
}

// Every kind of layer that PFLD lacks, and PFLD with its angle net, on one net each.
static enum pfld_status build_layers(void)
{
	net = pfld_net_create();
	pfld_value x = pfld_input(net, "image", 8, 8, 3);
	x = pfld_conv2d(net, x, &(struct pfld_conv2d_options){.filters = 4, .kernel = {3, 3}, .padding = PFLD_SAME});
	x = pfld_prelu(net, pfld_leaky_relu(net, pfld_tanh(net, pfld_sigmoid(net, x, NULL), NULL), 0.1, NULL), NULL);
	x = pfld_max_pool(net, pfld_relu6(net, x, NULL), &(struct pfld_pool_options){.kernel = {2, 2}});
	x = pfld_avg_pool(net, pfld_dropout(net, x, 0.5, NULL), &(struct pfld_pool_options){.kernel = {2, 2}});
	x = pfld_concat(net, (pfld_value[]){x, x}, 2, NULL);
	x = pfld_global_max_pool(net, x, NULL);
	pfld_net_output(net, pfld_softmax(net, x, NULL), "points");
	return check_net();
}

static enum pfld_status build_pfld(void)
{
	net = pfld_net_create();
	pfld_model_pfld(net, &(struct pfld_model_options){.width = 0.0625, .size = SIZE, .angles = true});
	return check_net();
}

static void destroy_net(void)
{
	pfld_net_destroy(&net);
}

static enum pfld_status open_device(void)
{
	return pfld_device_open(&device, "cpu", &(struct pfld_device_options){.num_threads = 3}, &error);
}

static void close_device(void)
{
	pfld_device_close(&device);
}

static enum pfld_status list_devices(void)
{
	struct pfld_device_info infos[4];
	char notes[256] = "";
	memset(&error, 0, sizeof error);
	// Zero devices, with a note, when memory is out.
	if (pfld_device_list(NULL, infos, 4, notes, sizeof notes) > 0) return PFLD_OK;
	snprintf(error.message, sizeof error.message, "%s", notes);
	return PFLD_ERR_MEMORY;
}

static enum pfld_status create_weights(void)
{
	return pfld_weights_create(&weights, device, net, 1, &error);
}

static void destroy_weights(void)
{
	pfld_weights_destroy(&weights);
}

static enum pfld_status create_program(void)
{
	return pfld_program_create(&program, weights, &(struct pfld_program_options){.batch = BATCH}, &error);
}

static enum pfld_status create_unfused(void)
{
	struct pfld_program_options options = {.batch = BATCH, .unfused = true};
	return pfld_program_create(&program, weights, &options, &error);
}

static enum pfld_status create_infer(void)
{
	struct pfld_program_options options = {.batch = BATCH, .mode = PFLD_INFER};
	return pfld_program_create(&program, weights, &options, &error);
}

static void destroy_program(void)
{
	pfld_program_destroy(&program);
}

static enum pfld_status create_optimizer(void)
{
	return pfld_optimizer_create(&optimizer, program, &(struct pfld_optimizer_options){.kind = PFLD_ADAM}, &error);
}

static void destroy_optimizer(void)
{
	pfld_optimizer_destroy(&optimizer);
}

static const struct pfld_trainer_options training = {.batch = BATCH,
                                                     .loss.kind = PFLD_LOSS_PFLD,
                                                     .optimizer = {.kind = PFLD_ADAM, .learning_rate = 1e-3}};

static enum pfld_status create_trainer(void)
{
	return pfld_trainer_create(&trainer, weights, &training, &error);
}

static void destroy_trainer(void)
{
	pfld_trainer_destroy(&trainer);
}

static enum pfld_status create_plan(void)
{
	return pfld_trainer_plan_create(&plan, device, net, &training, &error);
}

static void destroy_plan(void)
{
	pfld_plan_destroy(&plan);
}

static struct pfld_largest_batch largest;

static enum pfld_status find_largest_batch(void)
{
	return pfld_trainer_largest_batch(&largest, device, net, &training, 40 << 20, true, &error);
}

static void forget_largest_batch(void)
{
	largest = (struct pfld_largest_batch){0};
}

static enum pfld_status step(void)
{
	return pfld_trainer_step(trainer, pfld_trainer_slots(trainer, NULL), NULL, &error);
}

static enum pfld_status predict(void)
{
	float predictions[BATCH * 2 * NUM_POINTS];
	return pfld_trainer_predict(trainer, pfld_trainer_slots(trainer, NULL), predictions, &error);
}

static enum pfld_status digest_weights(void)
{
	return pfld_weights_sha256(weights, sha256, &error);
}

static enum pfld_status save_weights(void)
{
	const char *const metadata[2][2] = {{"key", "value"}, {"other", "text"}};
	return pfld_weights_save(weights, in_folder("weights.safetensors"), metadata, 2, &error);
}

static enum pfld_status load_weights(void)
{
	struct pfld_load_report loaded;
	return pfld_weights_load(weights, in_folder("weights.safetensors"), PFLD_LOAD_ALL, &loaded, &error);
}

static enum pfld_status save_keras(void)
{
	return pfld_weights_save_keras(weights, in_folder("weights.h5"), &error);
}

static enum pfld_status load_keras(void)
{
	struct pfld_load_report loaded;
	return pfld_weights_load(weights, in_folder("weights.h5"), PFLD_LOAD_ALL, &loaded, &error);
}

// libhdf5 keeps what it has made for itself; its requests are not among those that fail.
static void look_at_keras(void)
{
	char now[65], digest[65] = "";
	memcpy(digest, sha256, sizeof digest);
	SUCCEEDS(pfld_weights_sha256(weights, now, &error));
	ck_assert_str_eq(now, digest);
}

static enum pfld_status save_trainer(void)
{
	return pfld_trainer_save(trainer, in_folder("trainer.safetensors"), NULL, 0, &error);
}

static enum pfld_status load_trainer(void)
{
	return pfld_trainer_load(trainer, in_folder("trainer.safetensors"), &error);
}

// A save or load that failed has changed neither the weights nor the files, and left no half file beside them.
static void look_at_files(void)
{
	char now[65], digest[65] = "";
	memcpy(digest, sha256, sizeof digest);
	SUCCEEDS(pfld_weights_sha256(weights, now, &error));
	ck_assert_str_eq(now, digest);
	SUCCEEDS(load_weights());
	if (trainer) SUCCEEDS(load_trainer());
	SUCCEEDS(pfld_weights_sha256(weights, now, &error));
	ck_assert_str_eq(now, digest);
	ck_assert_int_eq(unlink(in_folder("weights.safetensors")), 0);
	ck_assert_int_eq(unlink(in_folder("trainer.safetensors")), 0);
	ck_assert_int_eq(rmdir(folder), 0); // nothing else in it
	make_scratch(strcpy(folder, "alloc_fail_XXXXXX"));
	SUCCEEDS(save_weights());
	SUCCEEDS(save_trainer());
}

static enum pfld_status save_tensors(void)
{
	const char *names[1] = {"a"};
	struct pfld_tensor *tensors[1] = {pfld_weights_tensor(weights, "fc/kernel")};
	enum pfld_status status = pfld_tensor_save_npy(tensors[0], in_folder("a.npy"), &error);
	if (!status) status = pfld_tensors_save(in_folder("a.safetensors"), names, tensors, 1, &error);
	return status;
}

static enum pfld_status load_npy(void)
{
	return pfld_tensor_load_npy(&tensor, device, in_folder("a.npy"), &error);
}

static enum pfld_status load_tensor(void)
{
	return pfld_tensor_load(&tensor, device, in_folder("a.safetensors"), "a", &error);
}

static enum pfld_status create_tensor(void)
{
	return pfld_tensor_create(&tensor, device, PFLD_F32, &(struct pfld_shape){2, {100, 300}}, &error);
}

static void destroy_tensor(void)
{
	pfld_tensor_destroy(&tensor);
}

static enum pfld_status open_dataset(void)
{
	return pfld_dataset_open(&dataset, "builtin:train:4", NULL, &error);
}

static void close_dataset(void)
{
	pfld_dataset_close(&dataset);
}

static float inputs[2][2 * SIZE * SIZE * 3];
static struct pfld_batch slots[2];

static enum pfld_status run_loader(void)
{
	for (int i = 0; i < 2; i++) slots[i] = (struct pfld_batch){.slot = i, .capacity = 2, .inputs = inputs[i]};
	struct pfld_loader_options options = {
	    .sample = {.size = SIZE, .augment = PFLD_AUGMENT_DEFAULT}, .num_threads = 2, .shuffle = true, .max_batches = 1};
	enum pfld_status status = pfld_loader_open(&loader, dataset, slots, 2, &options, &error);
	while (!status) {
		struct pfld_batch *batch;
		status = pfld_loader_next(loader, &batch, &error);
		if (!status) pfld_loader_release(loader, batch);
	}
	return status == PFLD_END ? PFLD_OK : status;
}

static void close_loader(void)
{
	pfld_loader_close(&loader);
}

static enum pfld_status draw_face(void)
{
	return pfld_dataset_image(dataset, 1, &image, &error);
}

static enum pfld_status encode_decode(void)
{
	uint8_t *bytes = NULL;
	size_t num_bytes;
	struct pfld_image back = {0};
	enum pfld_status status = pfld_image_encode_png(&image, &bytes, &num_bytes, &error);
	if (!status) status = pfld_image_decode(&back, bytes, num_bytes, "a face", NULL, NULL, &error);
	pfld_free(bytes);
	pfld_image_finish(&back);
	return status;
}

static void finish_image(void)
{
	pfld_image_finish(&image);
}

static enum pfld_status make_report(void)
{
	static const float points[2 * 5] = {1, 1, 2, 2, 3, 3, 4, 4, 5, 5};
	const struct pfld_report_face face = {&image, points, points, 5, 0.1};
	const struct pfld_report_skip skip = {.path = "a.png", .reason = "damaged", .line = 3};
	const struct pfld_report_options options = {.title = "a run", .command = "pfld train"};
	const uint64_t by_class[PFLD_MEMORY_NUM_CLASSES] = {1, 2, 3};
	enum pfld_status status = pfld_report_create(&report, &options, &error);
	if (!status) status = pfld_report_option(report, "loss", "wing", &error);
	if (!status) status = pfld_report_text(report, "device", "cpu", &error);
	if (!status) status = pfld_report_number(report, "threads", 2, &error);
	if (!status) status = pfld_report_memory(report, 3, 3, by_class, &error);
	if (!status) status = pfld_report_epoch(report, &(struct pfld_report_epoch){.epoch = 1, .nme = 0.1}, &error);
	if (!status) status = pfld_report_skips(report, &skip, 1, &error);
	if (!status) status = pfld_report_faces(report, &face, 1, &error);
	if (!status) status = pfld_report_write(report, folder, &error);
	return status;
}

static void destroy_report(void)
{
	pfld_report_destroy(&report);
}

static enum pfld_status measure(void)
{
	const double nmes[4] = {0.05, 0.2, 0.01, 0.07};
	struct pfld_landmark_metrics metrics;
	return pfld_landmark_metrics(nmes, 4, 0, &metrics, &error);
}

static enum pfld_status read_metadata(void)
{
	char *value = NULL;
	enum pfld_status status = pfld_file_metadata(in_folder("weights.safetensors"), "key", &value, &error);
	pfld_free(value);
	return status;
}

// ---- trying ----

static enum pfld_status try_at(const struct scenario *scenario, long n, long *num_requests)
{
	long held = memory_num_held();
	memset(&error, 0, sizeof error);
	memory_fails_at(n);
	enum pfld_status status = scenario->act();
	*num_requests = memory_works_again();
	ck_assert_msg(!status || (status == PFLD_ERR_MEMORY && error.message[0]), "%s: request %ld of memory fails: %s: %s",
	              scenario->name, n, pfld_status_name(status), error.message);
	if (scenario->look) scenario->look();
	if (scenario->undo) scenario->undo();
	ck_assert_msg(memory_num_held() == held, "%s: request %ld of memory fails (%s), and %ld blocks are not given back",
	              scenario->name, n, pfld_status_name(status), memory_num_held() - held);
	return status;
}

static void try_all(const struct scenario *scenario)
{
	long total, num_requests, num_runs = 0, num_failed = 0;
	ck_assert_int_eq(try_at(scenario, 0, &total), PFLD_OK);
	long stride = total / MOST_RUNS + 1;
	for (long n = 1; n <= total; n += stride, num_runs++) num_failed += try_at(scenario, n, &num_requests) != PFLD_OK;
	// A request that is not needed may fail without harm (control groups, for the default number of threads).
	ck_assert_msg(num_failed > 0, "%s: %ld failures made no difference", scenario->name, num_runs);
	ck_assert_int_eq(try_at(scenario, 0, &num_requests), PFLD_OK);
}

static void check_no_request(const struct scenario *scenario)
{
	long num_requests;
	ck_assert_int_eq(try_at(scenario, 0, &num_requests), PFLD_OK);
	ck_assert_msg(num_requests == 0, "%s: %ld requests of memory", scenario->name, num_requests);
}

static void begin(void)
{
	make_scratch(strcpy(folder, "alloc_fail_XXXXXX"));
	SUCCEEDS(open_device());
	SUCCEEDS(build_pfld());
	SUCCEEDS(create_weights());
}

static void end(void)
{
	pfld_trainer_destroy(&trainer);
	pfld_program_destroy(&program);
	pfld_weights_destroy(&weights);
	pfld_net_destroy(&net);
	pfld_device_close(&device);
	remove_tree(folder);
}

START_TEST(nets_and_devices)
{
	try_all(&(struct scenario){"a net of many layers", build_layers, destroy_net, NULL});
	try_all(&(struct scenario){"PFLD", build_pfld, destroy_net, NULL});
	try_all(&(struct scenario){"opening a device", open_device, close_device, NULL});
	try_all(&(struct scenario){"listing devices", list_devices, NULL, NULL});
	try_all(&(struct scenario){"metrics", measure, NULL, NULL});
}
END_TEST

START_TEST(programs)
{
	pfld_weights_destroy(&weights);
	try_all(&(struct scenario){"weights", create_weights, destroy_weights, NULL});
	SUCCEEDS(create_weights());
	try_all(&(struct scenario){"a tensor", create_tensor, destroy_tensor, NULL});
	try_all(&(struct scenario){"a training program", create_program, destroy_program, NULL});
	try_all(&(struct scenario){"an unfused program", create_unfused, destroy_program, NULL});
	try_all(&(struct scenario){"a program for inference", create_infer, destroy_program, NULL});
	SUCCEEDS(create_program());
	try_all(&(struct scenario){"an optimizer", create_optimizer, destroy_optimizer, NULL});
}
END_TEST

// A chain of blocks, of which all but the last can be computed again.
static struct pfld_net *deep_net(void)
{
	struct pfld_net *deep = pfld_net_create();
	pfld_value x = pfld_input(deep, "image", 8, 8, 3);
	for (int i = 0; i < 5; i++) {
		struct pfld_conv2d_options conv = {.filters = 4 + 4 * (i % 2), .kernel = {3, 3}, .padding = PFLD_SAME};
		x = pfld_relu(deep, pfld_batch_norm(deep, pfld_conv2d(deep, x, &conv), NULL), NULL);
	}
	pfld_net_output(deep, pfld_linear(deep, x, &(struct pfld_linear_options){.units = 6}), "points");
	return deep;
}

static uint64_t budget;
static struct pfld_net *budget_net;

static enum pfld_status create_plan_of_budget(void)
{
	struct pfld_trainer_options options = training;
	options.loss = (struct pfld_loss_options){.kind = PFLD_LOSS_L2};
	options.memory_budget_bytes = budget;
	return pfld_trainer_plan_create(&plan, device, budget_net, &options, &error);
}

START_TEST(budgets)
{
	struct pfld_plan_summary summary;
	budget_net = deep_net();
	ck_assert_ptr_nonnull(budget_net);
	budget = 0;
	SUCCEEDS(create_plan_of_budget());
	pfld_plan_summary(plan, &summary);
	pfld_plan_destroy(&plan);
	ck_assert_uint_lt(summary.smallest_budget_bytes, summary.planned_peak_bytes);
	budget = (summary.smallest_budget_bytes + summary.planned_peak_bytes) / 2;
	try_all(&(struct scenario){"a plan that keeps a budget", create_plan_of_budget, destroy_plan, NULL});
	pfld_net_destroy(&budget_net);
}
END_TEST

START_TEST(trainers)
{
	try_all(&(struct scenario){"a plan", create_plan, destroy_plan, NULL});
	try_all(&(struct scenario){"the largest batch", find_largest_batch, forget_largest_batch, NULL});
	try_all(&(struct scenario){"a trainer", create_trainer, destroy_trainer, NULL});
	SUCCEEDS(create_trainer());
	zoo_batch(pfld_trainer_slots(trainer, NULL), net, BATCH, 1);
	check_no_request(&(struct scenario){"a step", step, NULL, NULL});
	check_no_request(&(struct scenario){"a prediction", predict, NULL, NULL});
}
END_TEST

START_TEST(files)
{
	SUCCEEDS(create_trainer());
	try_all(&(struct scenario){"the digest of weights", digest_weights, NULL, NULL});
	SUCCEEDS(save_weights());
	SUCCEEDS(save_trainer());
	try_all(&(struct scenario){"metadata", read_metadata, NULL, NULL});
	try_all(&(struct scenario){"saving weights", save_weights, NULL, look_at_files});
	try_all(&(struct scenario){"loading weights", load_weights, NULL, look_at_files});
	try_all(&(struct scenario){"saving a trainer", save_trainer, NULL, look_at_files});
	try_all(&(struct scenario){"loading a trainer", load_trainer, NULL, look_at_files});
	if (PFLD_HAVE_HDF5) {
		try_all(&(struct scenario){"saving weights for Keras", save_keras, NULL, NULL});
		try_all(&(struct scenario){"loading Keras's weights", load_keras, NULL, look_at_keras});
	}
	try_all(&(struct scenario){"saving tensors", save_tensors, NULL, NULL});
	SUCCEEDS(save_tensors());
	try_all(&(struct scenario){"loading .npy", load_npy, destroy_tensor, NULL});
	try_all(&(struct scenario){"loading a tensor", load_tensor, destroy_tensor, NULL});
}
END_TEST

START_TEST(data_and_reports)
{
	try_all(&(struct scenario){"opening faces", open_dataset, close_dataset, NULL});
	SUCCEEDS(open_dataset());
	try_all(&(struct scenario){"loading faces", run_loader, close_loader, NULL});
	try_all(&(struct scenario){"drawing a face", draw_face, finish_image, NULL});
	SUCCEEDS(pfld_image_resize_buffer(&image, 40, 30, &error));
	memset(image.pixels, 99, 40 * 30 * 3);
	if (pfld_image_encode_png(&image, &(uint8_t *){NULL}, &(size_t){0}, NULL) != PFLD_ERR_UNSUPPORTED)
		try_all(&(struct scenario){"encoding and decoding", encode_decode, NULL, NULL});
	try_all(&(struct scenario){"a report", make_report, destroy_report, NULL});
	finish_image();
	close_dataset();
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("memory that runs out");
	TCase *cases = tcase_create("memory that runs out");
	tcase_set_timeout(cases, 100);
	tcase_add_checked_fixture(cases, begin, end);
	tcase_add_test(cases, nets_and_devices);
	tcase_add_test(cases, programs);
	tcase_add_test(cases, budgets);
	tcase_add_test(cases, trainers);
	tcase_add_test(cases, files);
	tcase_add_test(cases, data_and_reports);
	suite_add_tcase(suite, cases);
	SRunner *runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	int failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
