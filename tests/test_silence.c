// SPDX-License-Identifier: MIT
// The library as a guest: whatever it is given, it neither ends its host nor prints, and says what was wrong in the
// error it is handed. Links the shared library alone.
#include "image_maker.h"
#include "watch.h"

#include <check.h>
#include <math.h>
#include <pfld/pfld.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#pragma GCC diagnostic ignored "-Wnonnull" // NULL is what this is about

START_TEST(watch_sees)
{
	begin_watching();
	printf("a");
	fprintf(stderr, "b");
	fflush(stdout);
	struct stat info;
	ck_assert_int_eq(fstat(fileno(watch_caught), &info), 0);
	ck_assert_int_eq(info.st_size, 2);
	rewind(watch_caught);
	ck_assert_int_eq(ftruncate(fileno(watch_caught), 0), 0);
	end_watching();
}
END_TEST

START_TEST(watch_sees_exit)
{
	begin_watching();
	exit(0);
}
END_TEST

START_TEST(watch_sees_abort)
{
	begin_watching();
	abort();
}
END_TEST

// ---- expectations ----

static struct pfld_error error;

// The call fails, with this status (PFLD_OK: any failure) and a sentence.
#define FAILS(expected, call) \
	do { \
		error = (struct pfld_error){0}; \
		enum pfld_status status_ = (call); \
		ck_assert_msg(status_ != PFLD_OK, "%s succeeds", #call); \
		ck_assert_msg((expected) == PFLD_OK || status_ == (expected), "%s: %s: %s", #call, pfld_status_name(status_), \
		              error.message); \
		ck_assert_msg(error.status == status_ && strlen(error.message) > 8, "%s: no reason given", #call); \
	} while (0)
#define REFUSES(call) FAILS(PFLD_ERR_ARGUMENT, call)
#define SUCCEEDS(call) \
	do { \
		enum pfld_status status_ = (call); \
		ck_assert_msg(status_ == PFLD_OK, "%s: %s", #call, error.message); \
	} while (0)

// ---- pictures ----

static void try_picture(const uint8_t *bytes, size_t num_bytes, bool must_fail)
{
	struct pfld_image image = {0};
	error = (struct pfld_error){0};
	enum pfld_status status = pfld_image_decode(&image, bytes, num_bytes, "a picture", NULL, NULL, &error);
	ck_assert_msg(!must_fail || status != PFLD_OK, "a damaged picture of %zu bytes is read", num_bytes);
	if (status) {
		ck_assert_int_eq(error.status, status);
		ck_assert_int_eq(image.width, 0);
		ck_assert_ptr_nonnull(strstr(error.message, "a picture"));
	}
	pfld_image_finish(&image);
}

static void draw(struct pfld_image *image)
{
	SUCCEEDS(pfld_image_resize_buffer(image, 40, 24, &error));
	for (int i = 0; i < 40 * 24 * 3; i++) image->pixels[i] = (uint8_t)(i * i / 7);
}

static uint8_t *find_marker(uint8_t *bytes, size_t num_bytes, uint8_t marker)
{
	for (size_t i = 0; i + 1 < num_bytes; i++)
		if (bytes[i] == 0xff && bytes[i + 1] == marker) return bytes + i;
	return NULL;
}

// Cut at every length, and with a byte changed at many places.
static void damage(uint8_t *bytes, size_t num_bytes)
{
	uint64_t seed = 20240607;
	for (size_t num = 0; num < num_bytes; num += num < 700 ? 1 : 13) try_picture(bytes, num, true);
	for (int i = 0; i < 600; i++) {
		size_t at = i < 300 ? (size_t)i % num_bytes : next_random(&seed) % num_bytes;
		uint8_t before = bytes[at];
		bytes[at] = (uint8_t)next_random(&seed);
		try_picture(bytes, num_bytes, false);
		bytes[at] = before;
	}
}

START_TEST(damaged_jpeg)
{
	struct pfld_image image = {0};
	uint8_t *bytes = NULL;
	size_t num_bytes = 0;
	draw(&image);
	if (pfld_image_encode_jpeg(&image, 90, &bytes, &num_bytes, &error) == PFLD_ERR_UNSUPPORTED) return;
	ck_assert_ptr_nonnull(bytes);
	uint8_t *huffman = find_marker(bytes, num_bytes, 0xc4), *frame = find_marker(bytes, num_bytes, 0xc0);
	ck_assert(huffman && frame);
	begin_watching();
	try_picture(bytes, num_bytes, false);
	damage(bytes, num_bytes);
	uint8_t count = huffman[5];
	huffman[5] = 255; // more codes of one bit than there are: the codec's fatal path
	try_picture(bytes, num_bytes, true);
	huffman[5] = count;
	frame[1] = 0xc9; // arithmetic coding, with Huffman tables
	try_picture(bytes, num_bytes, false);
	frame[1] = 0xc3; // lossless: no codec here reads it
	try_picture(bytes, num_bytes, true);
	end_watching();
	pfld_free(bytes);
	pfld_image_finish(&image);
}
END_TEST

START_TEST(damaged_png)
{
	struct pfld_image image = {0};
	uint8_t *bytes = NULL;
	size_t num_bytes = 0;
	draw(&image);
	if (pfld_image_encode_png(&image, &bytes, &num_bytes, &error) == PFLD_ERR_UNSUPPORTED) return;
	ck_assert_ptr_nonnull(bytes);
	begin_watching();
	damage(bytes, num_bytes);
	bytes[29] ^= 1; // the checksum of IHDR
	try_picture(bytes, num_bytes, true);
	end_watching();
	pfld_free(bytes);
	pfld_image_finish(&image);
}
END_TEST

// ---- NULL where something is needed ----

START_TEST(null_devices_and_tensors)
{
	struct pfld_device *device = NULL;
	struct pfld_tensor *tensor = NULL;
	struct pfld_shape shape = {1, {4}};
	float numbers[4] = {0};
	SUCCEEDS(pfld_device_open(&device, "cpu", NULL, &error));
	SUCCEEDS(pfld_tensor_create(&tensor, device, PFLD_F32, &shape, &error));
	begin_watching();
	REFUSES(pfld_device_open(NULL, "cpu", NULL, &error));
	struct pfld_device *other = NULL;
	REFUSES(pfld_device_open(&other, NULL, NULL, &error));
	ck_assert_ptr_null(other);
	ck_assert_int_eq(pfld_device_open(NULL, NULL, NULL, NULL), PFLD_ERR_ARGUMENT); // no place for the sentence either
	struct pfld_tensor *none = NULL;
	REFUSES(pfld_tensor_create(NULL, device, PFLD_F32, &shape, &error));
	REFUSES(pfld_tensor_create(&none, NULL, PFLD_F32, &shape, &error));
	REFUSES(pfld_tensor_create(&none, device, PFLD_F32, NULL, &error));
	REFUSES(pfld_tensor_view(NULL, tensor, 0, &shape, &error));
	REFUSES(pfld_tensor_view(&none, NULL, 0, &shape, &error));
	REFUSES(pfld_tensor_view(&none, tensor, 0, NULL, &error));
	REFUSES(pfld_tensor_upload(NULL, PFLD_F32, numbers, 4, &error));
	REFUSES(pfld_tensor_upload(tensor, PFLD_F32, NULL, 4, &error));
	REFUSES(pfld_tensor_download(NULL, PFLD_F32, numbers, 4, &error));
	REFUSES(pfld_tensor_download(tensor, PFLD_F32, NULL, 4, &error));
	REFUSES(pfld_tensor_fill(NULL, 0, &error));
	REFUSES(pfld_tensor_save_npy(NULL, "x.npy", &error));
	REFUSES(pfld_tensor_save_npy(tensor, NULL, &error));
	REFUSES(pfld_tensor_load_npy(NULL, device, "x.npy", &error));
	REFUSES(pfld_tensor_load_npy(&none, NULL, "x.npy", &error));
	REFUSES(pfld_tensor_load_npy(&none, device, NULL, &error));
	const char *names[1] = {"a"};
	REFUSES(pfld_tensors_save(NULL, names, &tensor, 1, &error));
	REFUSES(pfld_tensors_save("x.safetensors", NULL, &tensor, 1, &error));
	REFUSES(pfld_tensors_save("x.safetensors", names, NULL, 1, &error));
	REFUSES(pfld_tensors_save("x.safetensors", names, &none, 1, &error));
	REFUSES(pfld_tensor_load(NULL, device, "x.safetensors", "a", &error));
	REFUSES(pfld_tensor_load(&none, NULL, "x.safetensors", "a", &error));
	REFUSES(pfld_tensor_load(&none, device, NULL, "a", &error));
	REFUSES(pfld_tensor_load(&none, device, "x.safetensors", NULL, &error));
	ck_assert_ptr_null(none);
	ck_assert_int_ge(pfld_device_list(NULL, NULL, 0, NULL, 0), 1);
	end_watching();
	pfld_tensor_destroy(&tensor);
	pfld_device_close(&device);
}
END_TEST

static struct pfld_net *make_net(void)
{
	struct pfld_net *net = pfld_net_create();
	pfld_value x = pfld_input(net, "image", 8, 8, 3);
	x = pfld_conv2d(net, x, &(struct pfld_conv2d_options){.filters = 4, .kernel = {3, 3}});
	x = pfld_relu(net, pfld_batch_norm(net, x, NULL), NULL);
	pfld_net_output(net, pfld_linear(net, x, &(struct pfld_linear_options){.units = 2}), "points");
	return net;
}

START_TEST(null_nets)
{
	int64_t parameters, statistics, macs;
	begin_watching();
	// pfld_net_create() gives NULL when memory is out, and building a net needs no check per call.
	pfld_value x = pfld_input(NULL, "image", 8, 8, 3);
	pfld_value two[2] = {{0}, {0}};
	ck_assert_int_eq(x.id, 0);
	ck_assert_int_eq(pfld_conv2d(NULL, x, NULL).id, 0);
	ck_assert_int_eq(pfld_depthwise_conv2d(NULL, x, NULL).id, 0);
	ck_assert_int_eq(pfld_linear(NULL, x, NULL).id, 0);
	ck_assert_int_eq(pfld_batch_norm(NULL, x, NULL).id, 0);
	ck_assert_int_eq(pfld_relu(NULL, x, NULL).id, 0);
	ck_assert_int_eq(pfld_relu6(NULL, x, NULL).id, 0);
	ck_assert_int_eq(pfld_leaky_relu(NULL, x, 0.1, NULL).id, 0);
	ck_assert_int_eq(pfld_prelu(NULL, x, NULL).id, 0);
	ck_assert_int_eq(pfld_sigmoid(NULL, x, NULL).id, 0);
	ck_assert_int_eq(pfld_tanh(NULL, x, NULL).id, 0);
	ck_assert_int_eq(pfld_softmax(NULL, x, NULL).id, 0);
	ck_assert_int_eq(pfld_max_pool(NULL, x, NULL).id, 0);
	ck_assert_int_eq(pfld_avg_pool(NULL, x, NULL).id, 0);
	ck_assert_int_eq(pfld_global_avg_pool(NULL, x, NULL).id, 0);
	ck_assert_int_eq(pfld_global_max_pool(NULL, x, NULL).id, 0);
	ck_assert_int_eq(pfld_add(NULL, two, 2, NULL, NULL).id, 0);
	ck_assert_int_eq(pfld_concat(NULL, two, 2, NULL).id, 0);
	ck_assert_int_eq(pfld_flatten(NULL, x, NULL).id, 0);
	ck_assert_int_eq(pfld_dropout(NULL, x, 0.5, NULL).id, 0);
	ck_assert_int_eq(pfld_model_pfld(NULL, NULL).points.id, 0);
	pfld_net_output(NULL, x, "points");
	REFUSES(pfld_net_check(NULL, &error));
	REFUSES(pfld_net_count(NULL, NULL, &parameters, &statistics, &macs, &error));
	end_watching();

	// Options that are needed, values and names that are none.
	struct pfld_net *net = pfld_net_create();
	begin_watching();
	ck_assert_int_eq(pfld_conv2d(net, pfld_input(net, "image", 8, 8, 3), NULL).id, 0);
	REFUSES(pfld_net_check(net, &error));
	pfld_net_destroy(&net);
	net = pfld_net_create();
	ck_assert_int_eq(pfld_relu(net, (pfld_value){7}, NULL).id, 0);
	REFUSES(pfld_net_check(net, &error));
	pfld_net_destroy(&net);
	net = pfld_net_create();
	ck_assert_int_eq(pfld_add(net, NULL, 2, NULL, NULL).id, 0);
	REFUSES(pfld_net_check(net, &error));
	pfld_net_destroy(&net);
	net = make_net();
	pfld_net_output(net, (pfld_value){1}, NULL);
	REFUSES(pfld_net_check(net, &error));
	end_watching();
	pfld_net_destroy(&net);
}
END_TEST

struct fixture {
	struct pfld_device *device;
	struct pfld_net *net;
	struct pfld_weights *weights;
};

static struct fixture make(void)
{
	struct fixture f = {.net = make_net()};
	SUCCEEDS(pfld_device_open(&f.device, "cpu", &(struct pfld_device_options){.num_threads = 2}, &error));
	SUCCEEDS(pfld_weights_create(&f.weights, f.device, f.net, 1, &error));
	return f;
}

static void finish(struct fixture *f)
{
	pfld_weights_destroy(&f->weights);
	pfld_net_destroy(&f->net);
	pfld_device_close(&f->device);
}

START_TEST(null_weights)
{
	struct fixture f = make();
	struct pfld_weights *none = NULL;
	char hex[65], *value = NULL;
	begin_watching();
	REFUSES(pfld_weights_create(NULL, f.device, f.net, 1, &error));
	REFUSES(pfld_weights_create(&none, NULL, f.net, 1, &error));
	FAILS(PFLD_OK, pfld_weights_create(&none, f.device, NULL, 1, &error));
	ck_assert_ptr_null(none);
	REFUSES(pfld_weights_load(NULL, "x.safetensors", PFLD_LOAD_ALL, NULL, &error));
	REFUSES(pfld_weights_load(f.weights, NULL, PFLD_LOAD_ALL, NULL, &error));
	REFUSES(pfld_weights_save(NULL, "x.safetensors", NULL, 0, &error));
	REFUSES(pfld_weights_save(f.weights, NULL, NULL, 0, &error));
	REFUSES(pfld_weights_save(f.weights, "x.safetensors", NULL, 1, &error));
	REFUSES(pfld_weights_sha256(NULL, hex, &error));
	REFUSES(pfld_weights_sha256(f.weights, NULL, &error));
	ck_assert_ptr_null(pfld_weights_tensor(f.weights, NULL));
	ck_assert_ptr_null(pfld_weights_tensor(f.weights, "no such one"));
	REFUSES(pfld_file_metadata(NULL, "key", &value, &error));
	REFUSES(pfld_file_metadata("x.safetensors", NULL, &value, &error));
	REFUSES(pfld_file_metadata("x.safetensors", "key", NULL, &error));
	end_watching();
	finish(&f);
}
END_TEST

START_TEST(null_programs)
{
	struct fixture f = make();
	struct pfld_program *program = NULL, *none = NULL;
	struct pfld_optimizer *optimizer = NULL, *no_optimizer = NULL;
	struct pfld_program_options options = {.batch = 4, .mode = PFLD_TRAIN};
	struct pfld_optimizer_options adam = {.kind = PFLD_ADAM};
	struct pfld_loss_sums sums;
	SUCCEEDS(pfld_program_create(&program, f.weights, &options, &error));
	SUCCEEDS(pfld_optimizer_create(&optimizer, program, &adam, &error));
	begin_watching();
	REFUSES(pfld_program_create(NULL, f.weights, &options, &error));
	REFUSES(pfld_program_create(&none, NULL, &options, &error));
	REFUSES(pfld_program_create(&none, f.weights, NULL, &error));
	ck_assert_ptr_null(none);
	REFUSES(pfld_program_forward(NULL, 1, NULL, &error));
	REFUSES(pfld_program_loss(NULL, NULL, NULL, &error));
	REFUSES(pfld_program_backward(NULL, NULL, &error));
	REFUSES(pfld_program_loss_sums(NULL, &sums, &error));
	FAILS(PFLD_ERR_STATE, pfld_program_loss_sums(program, &sums, &error));
	REFUSES(pfld_program_reset_loss_sums(NULL, &error));
	REFUSES(pfld_program_find_bad_layer(NULL, &error));
	ck_assert_ptr_null(pfld_program_input(program, NULL));
	ck_assert_ptr_null(pfld_program_output(program, NULL));
	ck_assert_ptr_null(pfld_program_output_gradient(program, NULL));
	ck_assert_ptr_null(pfld_program_gradient(program, NULL));
	REFUSES(pfld_optimizer_create(NULL, program, &adam, &error));
	REFUSES(pfld_optimizer_create(&no_optimizer, NULL, &adam, &error));
	REFUSES(pfld_optimizer_create(&no_optimizer, program, NULL, &error));
	ck_assert_ptr_null(no_optimizer);
	REFUSES(pfld_optimizer_step(NULL, 0.1, 1, NULL, &error));
	REFUSES(pfld_optimizer_step(optimizer, NAN, 1, NULL, &error));
	end_watching();
	pfld_optimizer_destroy(&optimizer);
	pfld_program_destroy(&program);
	finish(&f);
}
END_TEST

START_TEST(null_trainers)
{
	struct fixture f = make();
	struct pfld_trainer *trainer = NULL, *none = NULL;
	struct pfld_plan *plan = NULL;
	struct pfld_trainer_options options = {.batch = 4, .loss.kind = PFLD_LOSS_L2, .optimizer.learning_rate = 0.1};
	float predictions[8];
	SUCCEEDS(pfld_trainer_create(&trainer, f.weights, &options, &error));
	struct pfld_batch *batch = pfld_trainer_slots(trainer, NULL), empty = {.num_samples = 2, .capacity = 4};
	batch->num_samples = 4;
	begin_watching();
	REFUSES(pfld_trainer_create(NULL, f.weights, &options, &error));
	REFUSES(pfld_trainer_create(&none, NULL, &options, &error));
	REFUSES(pfld_trainer_create(&none, f.weights, NULL, &error));
	ck_assert_ptr_null(none);
	REFUSES(pfld_trainer_plan_create(NULL, f.device, f.net, &options, &error));
	REFUSES(pfld_trainer_plan_create(&plan, NULL, f.net, &options, &error));
	FAILS(PFLD_OK, pfld_trainer_plan_create(&plan, f.device, NULL, &options, &error));
	REFUSES(pfld_trainer_plan_create(&plan, f.device, f.net, NULL, &error));
	struct pfld_largest_batch largest;
	REFUSES(pfld_trainer_largest_batch(NULL, f.device, f.net, &options, 1, false, &error));
	REFUSES(pfld_trainer_largest_batch(&largest, NULL, f.net, &options, 1, false, &error));
	REFUSES(pfld_trainer_largest_batch(&largest, f.device, f.net, NULL, 1, false, &error));
	ck_assert_ptr_null(plan);
	REFUSES(pfld_trainer_step(NULL, batch, NULL, &error));
	REFUSES(pfld_trainer_step(trainer, NULL, NULL, &error));
	REFUSES(pfld_trainer_step(trainer, &empty, NULL, &error));
	empty.inputs = batch->inputs;
	REFUSES(pfld_trainer_step(trainer, &empty, NULL, &error)); // no targets
	REFUSES(pfld_trainer_mean_loss(NULL, NULL, NULL, &error));
	REFUSES(pfld_trainer_reset_loss(NULL, &error));
	REFUSES(pfld_trainer_predict(NULL, batch, predictions, &error));
	REFUSES(pfld_trainer_predict(trainer, NULL, predictions, &error));
	REFUSES(pfld_trainer_predict(trainer, batch, NULL, &error));
	REFUSES(pfld_trainer_save(NULL, "x.safetensors", NULL, 0, &error));
	REFUSES(pfld_trainer_save(trainer, NULL, NULL, 0, &error));
	REFUSES(pfld_trainer_load(NULL, "x.safetensors", &error));
	REFUSES(pfld_trainer_load(trainer, NULL, &error));
	end_watching();
	pfld_trainer_destroy(&trainer);
	finish(&f);
}
END_TEST

START_TEST(null_data)
{
	struct pfld_dataset *dataset = NULL, *none = NULL;
	struct pfld_loader *loader = NULL;
	struct pfld_image image = {0};
	struct pfld_face face;
	static float inputs[2 * 112 * 112 * 3];
	float box[4] = {0, 0, 10, 10};
	double map[6];
	int32_t mirror[4];
	struct pfld_batch slot = {.capacity = 2, .inputs = inputs}, no_memory = {.capacity = 2}, *batch;
	struct pfld_landmark_metrics metrics;
	double nme = 0.1;
	SUCCEEDS(pfld_dataset_open(&dataset, "builtin:train:2", NULL, &error));
	pfld_dataset_face(dataset, 0, &face);
	draw(&image);
	begin_watching();
	REFUSES(pfld_dataset_open(NULL, "builtin:train:2", NULL, &error));
	REFUSES(pfld_dataset_open(&none, NULL, NULL, &error));
	ck_assert_ptr_null(none);
	REFUSES(pfld_dataset_image(NULL, 0, &image, &error));
	REFUSES(pfld_dataset_image(dataset, 0, NULL, &error));
	REFUSES(pfld_dataset_image(dataset, 2, &image, &error));
	REFUSES(pfld_mirror_map_read(NULL, 4, mirror, &error));
	REFUSES(pfld_mirror_map_read("x.txt", 4, NULL, &error));
	REFUSES(pfld_loader_open(NULL, dataset, &slot, 1, NULL, &error));
	REFUSES(pfld_loader_open(&loader, NULL, &slot, 1, NULL, &error));
	REFUSES(pfld_loader_open(&loader, dataset, NULL, 1, NULL, &error));
	REFUSES(pfld_loader_open(&loader, dataset, &no_memory, 1, NULL, &error));
	ck_assert_ptr_null(loader);
	REFUSES(pfld_loader_seek(NULL, 1, 0, &error));
	REFUSES(pfld_loader_next(NULL, &batch, &error));
	REFUSES(pfld_loader_skip(NULL, 0, 1, "x", &error));
	REFUSES(pfld_sample_make(NULL, &face, 98, NULL, 1, 1, 0, inputs, NULL, NULL, &error));
	REFUSES(pfld_sample_make(&image, NULL, 98, NULL, 1, 1, 0, inputs, NULL, NULL, &error));
	REFUSES(pfld_sample_make(&image, &face, 98, NULL, 1, 1, 0, NULL, NULL, NULL, &error));
	REFUSES(pfld_sample_box(NULL, box, NULL, inputs, map, &error));
	REFUSES(pfld_sample_box(&image, NULL, NULL, inputs, map, &error));
	REFUSES(pfld_sample_box(&image, box, NULL, NULL, map, &error));
	REFUSES(pfld_prepare(NULL, "x", NULL, NULL, &error));
	REFUSES(pfld_prepare(dataset, NULL, NULL, NULL, &error));
	REFUSES(pfld_landmark_metrics(NULL, 1, 0, &metrics, &error));
	REFUSES(pfld_landmark_metrics(&nme, 1, 0, NULL, &error));
	end_watching();
	pfld_image_finish(&image);
	pfld_dataset_close(&dataset);
}
END_TEST

START_TEST(null_images_and_reports)
{
	struct pfld_image image = {0}, empty = {0}, other = {0};
	struct pfld_report *report = NULL;
	struct pfld_report_epoch epoch = {.epoch = 1};
	uint8_t *bytes = NULL;
	size_t num_bytes;
	draw(&image);
	SUCCEEDS(pfld_report_create(&report, NULL, &error));
	begin_watching();
	REFUSES(pfld_image_resize_buffer(NULL, 1, 1, &error));
	REFUSES(pfld_image_read(NULL, "x.png", NULL, NULL, &error));
	REFUSES(pfld_image_read(&other, NULL, NULL, NULL, &error));
	REFUSES(pfld_image_decode(NULL, (const uint8_t *)"", 0, "x", NULL, NULL, &error));
	REFUSES(pfld_image_decode(&other, NULL, 4, "x", NULL, NULL, &error));
	FAILS(PFLD_ERR_DATA, pfld_image_decode(&other, (const uint8_t *)"GIF8", 4, NULL, NULL, NULL, &error));
	REFUSES(pfld_image_write_png(NULL, "x.png", &error));
	REFUSES(pfld_image_write_png(&empty, "x.png", &error));
	REFUSES(pfld_image_write_png(&image, NULL, &error));
	REFUSES(pfld_image_encode_png(NULL, &bytes, &num_bytes, &error));
	REFUSES(pfld_image_encode_png(&empty, &bytes, &num_bytes, &error));
	REFUSES(pfld_image_encode_png(&image, NULL, &num_bytes, &error));
	REFUSES(pfld_image_encode_png(&image, &bytes, NULL, &error));
	REFUSES(pfld_image_encode_jpeg(NULL, 90, &bytes, &num_bytes, &error));
	REFUSES(pfld_image_encode_jpeg(&empty, 90, &bytes, &num_bytes, &error));
	REFUSES(pfld_image_encode_jpeg(&image, 90, NULL, &num_bytes, &error));
	REFUSES(pfld_image_encode_jpeg(&image, 90, &bytes, NULL, &error));
	REFUSES(pfld_image_encode_jpeg(&image, 0, &bytes, &num_bytes, &error));
	REFUSES(pfld_image_resize(NULL, &image, 2, 2, &error));
	REFUSES(pfld_image_resize(&other, NULL, 2, 2, &error));
	ck_assert_ptr_null(bytes);
	REFUSES(pfld_report_create(NULL, NULL, &error));
	REFUSES(pfld_report_option(NULL, "a", "b", &error));
	REFUSES(pfld_report_option(report, NULL, "b", &error));
	REFUSES(pfld_report_text(NULL, "a", "b", &error));
	REFUSES(pfld_report_number(NULL, "a", 1, &error));
	REFUSES(pfld_report_memory(NULL, 0, 0, NULL, &error));
	REFUSES(pfld_report_memory(report, 0, 0, NULL, &error));
	REFUSES(pfld_report_epoch(NULL, &epoch, &error));
	REFUSES(pfld_report_epoch(report, NULL, &error));
	REFUSES(pfld_report_skips(NULL, NULL, 0, &error));
	REFUSES(pfld_report_skips(report, NULL, 1, &error));
	REFUSES(pfld_report_faces(NULL, NULL, 0, &error));
	REFUSES(pfld_report_faces(report, NULL, 1, &error));
	REFUSES(pfld_report_resume(NULL, "x", 1, &error));
	REFUSES(pfld_report_resume(report, NULL, 1, &error));
	REFUSES(pfld_report_write(NULL, "x", &error));
	REFUSES(pfld_report_write(report, NULL, &error));
	end_watching();
	pfld_report_destroy(&report);
	pfld_image_finish(&image);
	pfld_image_finish(&other);
}
END_TEST

// Every end of life takes NULL and a place that holds NULL.
START_TEST(null_ends)
{
	begin_watching();
#define ENDS(kind, end) \
	do { \
		struct kind *nothing = NULL; \
		end(NULL); \
		end(&nothing); \
	} while (0)
	ENDS(pfld_device, pfld_device_close);
	ENDS(pfld_tensor, pfld_tensor_destroy);
	ENDS(pfld_net, pfld_net_destroy);
	ENDS(pfld_weights, pfld_weights_destroy);
	ENDS(pfld_program, pfld_program_destroy);
	ENDS(pfld_optimizer, pfld_optimizer_destroy);
	ENDS(pfld_plan, pfld_plan_destroy);
	ENDS(pfld_trainer, pfld_trainer_destroy);
	ENDS(pfld_dataset, pfld_dataset_close);
	ENDS(pfld_loader, pfld_loader_close);
	ENDS(pfld_report, pfld_report_destroy);
#undef ENDS
	pfld_image_finish(NULL);
	pfld_image_finish(&(struct pfld_image){0});
	pfld_free(NULL);
	end_watching();
}
END_TEST

// ---- devices that are not there, sizes of nothing ----

START_TEST(no_such_device)
{
	static const char *const names[] = {"opencl:99", "cpu:99", "99", "", "gpu", "opencl:-1", "opencl:99999999999999999999"};
	begin_watching();
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		struct pfld_device *device = NULL;
		FAILS(PFLD_ERR_NO_DEVICE, pfld_device_open(&device, names[i], NULL, &error));
		ck_assert_ptr_null(device);
		ck_assert_ptr_nonnull(strstr(error.message, "cpu")); // what there is
	}
	struct pfld_device *device = NULL;
	REFUSES(pfld_device_open(&device, "cpu", &(struct pfld_device_options){.num_threads = -1}, &error));
	FAILS(PFLD_OK, pfld_device_open(&device, "cpu", &(struct pfld_device_options){.cpu_level = "mmx"}, &error));
	ck_assert_ptr_null(device);
	end_watching();
}
END_TEST

START_TEST(sizes_of_nothing)
{
	struct fixture f = make();
	struct pfld_tensor *tensor = NULL;
	struct pfld_program *program = NULL;
	struct pfld_trainer *trainer = NULL;
	struct pfld_dataset *dataset = NULL;
	struct pfld_loader *loader = NULL;
	struct pfld_image image = {0}, source = {0};
	struct pfld_landmark_metrics metrics = {0};
	float number = 0;
	struct pfld_batch slot = {.inputs = &number};
	draw(&source);
	SUCCEEDS(pfld_dataset_open(&dataset, "builtin:train:2", NULL, &error));
	begin_watching();
	REFUSES(pfld_tensor_create(&tensor, f.device, PFLD_F32, &(struct pfld_shape){2, {3, 0}}, &error));
	REFUSES(pfld_tensor_create(&tensor, f.device, PFLD_F32, &(struct pfld_shape){2, {3, -1}}, &error));
	REFUSES(pfld_tensor_create(&tensor, f.device, PFLD_F32, &(struct pfld_shape){2, {INT64_MAX, INT64_MAX}}, &error));
	REFUSES(pfld_tensor_create(&tensor, f.device, PFLD_F32, &(struct pfld_shape){9, {1}}, &error));
	REFUSES(pfld_program_create(&program, f.weights, &(struct pfld_program_options){.batch = 0}, &error));
	REFUSES(pfld_program_create(&program, f.weights, &(struct pfld_program_options){.batch = -1}, &error));
	REFUSES(pfld_trainer_create(&trainer, f.weights, &(struct pfld_trainer_options){.loss.kind = PFLD_LOSS_L2}, &error));
	REFUSES(pfld_image_resize_buffer(&image, 0, 1, &error));
	REFUSES(pfld_image_resize_buffer(&image, 1, -1, &error));
	REFUSES(pfld_image_resize(&image, &source, 0, 4, &error));
	FAILS(PFLD_ERR_DATA, pfld_image_decode(&image, (const uint8_t *)"", 0, "x", NULL, NULL, &error));
	REFUSES(pfld_loader_open(&loader, dataset, &slot, 1, NULL, &error)); // capacity 0
	slot.capacity = 1;
	REFUSES(pfld_loader_open(&loader, dataset, &slot, 0, NULL, &error));
	FAILS(PFLD_OK, pfld_dataset_open(&(struct pfld_dataset *){NULL}, "builtin:train:0", NULL, &error));
	SUCCEEDS(pfld_landmark_metrics(NULL, 0, 0, &metrics, &error));
	ck_assert_int_eq(metrics.num_images, 0);
	ck_assert(isnan(metrics.nme));
	end_watching();
	SUCCEEDS(pfld_program_create(&program, f.weights, &(struct pfld_program_options){.batch = 2}, &error));
	struct pfld_tensor *input = pfld_program_input(program, "image");
	begin_watching();
	REFUSES(pfld_program_forward(program, 0, NULL, &error));
	REFUSES(pfld_program_forward(program, 3, NULL, &error));
	FAILS(PFLD_ERR_SHAPE, pfld_tensor_upload(input, PFLD_F32, source.pixels, 2 * 8 * 8 * 3 + 1, &error));
	FAILS(PFLD_OK, pfld_tensor_upload(input, PFLD_F32, &number, -1, &error));
	end_watching();
	pfld_program_destroy(&program);
	pfld_dataset_close(&dataset);
	pfld_image_finish(&source);
	finish(&f);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("silence");
	TCase *cases = tcase_create("silence");
	tcase_set_timeout(cases, 60);
	tcase_add_test(cases, watch_sees);
	tcase_add_exit_test(cases, watch_sees_exit, WATCHED_EXIT);
	tcase_add_exit_test(cases, watch_sees_abort, WATCHED_ABORT);
	tcase_add_test(cases, damaged_jpeg);
	tcase_add_test(cases, damaged_png);
	tcase_add_test(cases, null_devices_and_tensors);
	tcase_add_test(cases, null_nets);
	tcase_add_test(cases, null_weights);
	tcase_add_test(cases, null_programs);
	tcase_add_test(cases, null_trainers);
	tcase_add_test(cases, null_data);
	tcase_add_test(cases, null_images_and_reports);
	tcase_add_test(cases, null_ends);
	tcase_add_test(cases, no_such_device);
	tcase_add_test(cases, sizes_of_nothing);
	suite_add_tcase(suite, cases);
	SRunner *runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	int failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
