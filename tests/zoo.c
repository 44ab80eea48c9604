// SPDX-License-Identifier: MIT
#include "zoo.h"

#include "base/random.h"
#include <stdlib.h>

static pfld_value norm_relu(struct pfld_net *net, pfld_value x)
{
	return pfld_relu(net, pfld_batch_norm(net, x, NULL), NULL);
}

struct pfld_net *zoo_net(void)
{
	struct pfld_net *net = pfld_net_create();
	ck_assert_ptr_nonnull(net);
	pfld_value x = pfld_input(net, "image", 8, 8, 3);
	x = pfld_conv2d(net, x,
	                &(struct pfld_conv2d_options){.name = "conv", .filters = 8, .kernel = {3, 3}, .padding = PFLD_SAME, .no_bias = true});
	x = norm_relu(net, x);
	pfld_value grouped = pfld_conv2d(net, x,
	                                 &(struct pfld_conv2d_options){.name = "grouped",
	                                                               .filters = 8,
	                                                               .kernel = {1, 3},
	                                                               .groups = 2,
	                                                               .padding = PFLD_EXPLICIT,
	                                                               .pad = {0, 1}});
	grouped = pfld_leaky_relu(net, pfld_batch_norm(net, grouped, NULL), 0.1, NULL);
	pfld_value depthwise = pfld_depthwise_conv2d(
	    net, x, &(struct pfld_depthwise_options){.name = "depthwise", .kernel = {3, 3}, .padding = PFLD_SAME});
	depthwise = pfld_prelu(net, depthwise, "prelu");
	x = pfld_add(net, (pfld_value[]){x, grouped, depthwise}, 3, (double[]){1, 0.5, 1}, "sum");
	x = pfld_add(net, (pfld_value[]){x, pfld_tanh(net, x, NULL)}, 2, NULL, NULL);
	pfld_value tap = x;
	pfld_value strided = pfld_depthwise_conv2d(net, x,
	                                           &(struct pfld_depthwise_options){.kernel = {3, 3},
	                                                                            .stride = {2, 2},
	                                                                            .padding = PFLD_EXPLICIT,
	                                                                            .pad = {1, 1},
	                                                                            .multiplier = 2});
	pfld_value max = pfld_max_pool(
	    net, x, &(struct pfld_pool_options){.kernel = {3, 3}, .stride = {2, 2}, .padding = PFLD_SAME});
	pfld_value avg = pfld_avg_pool(
	    net, x, &(struct pfld_pool_options){.kernel = {3, 3}, .stride = {2, 2}, .padding = PFLD_SAME});
	x = pfld_concat(net, (pfld_value[]){strided, max, avg}, 3, "concat");
	x = pfld_relu6(net, x, NULL);
	x = pfld_dropout(net, x, 0.25, NULL);
	pfld_value dilated = pfld_conv2d(
	    net, x,
	    &(struct pfld_conv2d_options){.filters = 6, .kernel = {2, 2}, .dilation = {2, 1}, .stride = {1, 2}, .padding = PFLD_VALID});
	pfld_value heads[] = {pfld_global_avg_pool(net, x, NULL), pfld_global_max_pool(net, x, NULL),
	                      pfld_flatten(net, pfld_sigmoid(net, dilated, NULL), NULL)};
	x = pfld_concat(net, heads, 3, "heads");
	x = pfld_linear(net, x, &(struct pfld_linear_options){.name = "fc1", .units = 10});
	x = pfld_softmax(net, x, NULL);
	pfld_net_output(net, pfld_linear(net, x, &(struct pfld_linear_options){.name = "fc2", .units = 6}), "points");
	tap = pfld_linear(net, tap, &(struct pfld_linear_options){.name = "fc3", .units = 3, .no_bias = true});
	pfld_net_output(net, tap, "angles");
	ck_pfld(pfld_net_check(net, error));
	return net;
}

struct pfld_net *norm_net(int32_t size)
{
	struct pfld_net *net = pfld_net_create();
	pfld_value x = pfld_input(net, "image", size, size, 3);
	x = pfld_relu(net, pfld_batch_norm(net, x, &(struct pfld_batch_norm_options){.name = "bn1"}), NULL);
	struct pfld_pool_options pool = {.kernel = {3, 3}, .stride = {2, 2}, .padding = PFLD_SAME};
	pfld_value max = pfld_max_pool(net, x, &pool), avg = pfld_avg_pool(net, x, &pool);
	x = pfld_concat(net, (pfld_value[]){max, avg}, 2, NULL);
	x = pfld_leaky_relu(net, pfld_batch_norm(net, x, NULL), 0.1, NULL);
	x = pfld_dropout(net, pfld_prelu(net, x, "prelu"), 0.2, NULL);
	x = pfld_add(net, (pfld_value[]){x, pfld_softmax(net, pfld_tanh(net, x, NULL), NULL)}, 2, NULL, NULL);
	pfld_net_output(net, pfld_global_avg_pool(net, pfld_batch_norm(net, x, NULL), NULL), "points");
	pfld_net_output(net, pfld_global_max_pool(net, pfld_prelu(net, max, "angle"), NULL), "angles");
	ck_pfld(pfld_net_check(net, error));
	return net;
}

struct pfld_net *small_net(void)
{
	struct pfld_net *net = pfld_net_create();
	ck_assert_ptr_nonnull(net);
	pfld_value x = pfld_input(net, "image", 8, 8, 3);
	x = pfld_conv2d(net, x,
	                &(struct pfld_conv2d_options){
	                    .name = "conv", .filters = 5, .kernel = {3, 3}, .stride = {2, 2}, .padding = PFLD_SAME, .no_bias = true});
	x = pfld_relu(net, pfld_batch_norm(net, x, &(struct pfld_batch_norm_options){.name = "bn"}), NULL);
	x = pfld_dropout(net, pfld_global_avg_pool(net, x, NULL), 0.2, NULL);
	pfld_net_output(net, pfld_linear(net, x, &(struct pfld_linear_options){.name = "fc2", .units = 6}), "points");
	ck_pfld(pfld_net_check(net, error));
	return net;
}

struct pfld_device *zoo_device(int32_t num_threads)
{
	struct pfld_device *device = NULL;
	ck_pfld(pfld_device_open(&device, "cpu", &(struct pfld_device_options){.num_threads = num_threads}, error));
	return device;
}

void zoo_numbers(double *numbers, size_t num, uint64_t seed)
{
	struct pfld_random random = pfld_random_stream(seed, PFLD_RANDOM_TEST, 0, 0);
	for (size_t i = 0; i < num; i++) numbers[i] = pfld_random_range(&random, -1, 1);
}

static void fill_floats(float *numbers, size_t num, struct pfld_random *random, double low, double high)
{
	for (size_t i = 0; numbers && i < num; i++) numbers[i] = (float)pfld_random_range(random, low, high);
}

void zoo_batch(struct pfld_batch *batch, const struct pfld_net *net, int32_t num_samples, uint64_t seed)
{
	struct pfld_random random = pfld_random_stream(seed, PFLD_RANDOM_TEST, 1, 0);
	struct pfld_layer_info input;
	pfld_net_layer(net, 0, &input);
	size_t n = (size_t)num_samples, pixels = (size_t)input.height * (size_t)input.width * (size_t)input.channels;
	batch->num_samples = num_samples;
	fill_floats(batch->inputs, n * pixels, &random, 0, 1);
	fill_floats(batch->targets, n * 6, &random, 0, 1);
	fill_floats(batch->angles, n * 3, &random, -30, 30);
	for (size_t i = 0; batch->attributes && i < n * 6; i++)
		batch->attributes[i] = pfld_random_unit(&random) < 0.3 ? 1.0f : 0.0f;
}

void zoo_fill(struct pfld_tensor *tensor, uint64_t seed)
{
	int64_t num = pfld_tensor_elements(tensor);
	double *numbers = calloc((size_t)num, sizeof *numbers);
	ck_assert_ptr_nonnull(numbers);
	zoo_numbers(numbers, (size_t)num, seed);
	ck_pfld(pfld_tensor_upload(tensor, PFLD_F64, numbers, num, error));
	free(numbers);
}
