// SPDX-License-Identifier: MIT
// Weights: memory, initial values, files. The layout is the net's order of parameters, each aligned, with the moving
// statistics behind all others, so that a trainer puts them aside in one piece.
#include "net/weights.h"

#include "base/random.h"
#include "base/sha256.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

size_t pfld_weights_layout(const struct pfld_net *net, size_t alignment_bytes, size_t *offsets)
{
	size_t bytes = 0;
	for (size_t i = 0; i < 2 * net->num_params; i++) {
		const struct pfld_parameter_info *info = &net->params[i % net->num_params].info;
		if (info->is_statistic != (i >= net->num_params)) continue;
		if (offsets) offsets[i % net->num_params] = bytes;
		bytes += pfld_align((size_t)info->elements * sizeof(pfld_real), alignment_bytes);
	}
	return bytes;
}

size_t pfld_weights_statistics_bytes(const struct pfld_net *net, size_t alignment_bytes)
{
	size_t bytes = 0;
	for (size_t i = 0; i < net->num_params; i++) {
		const struct pfld_parameter_info *info = &net->params[i].info;
		if (info->is_statistic) bytes += pfld_align((size_t)info->elements * sizeof(pfld_real), alignment_bytes);
	}
	return bytes;
}

// ---- initial values ----

static double truncated_normal(struct pfld_random *random)
{
	double value;
	do value = pfld_random_normal(random);
	while (fabs(value) > 2);
	return value;
}

static double draw(const struct pfld_init *init, struct pfld_random *random)
{
	double bound;
	switch (init->rule) {
	case PFLD_INIT_DEFAULT:
		bound = 1 / sqrt((double)init->fan_in);
		return pfld_random_range(random, -bound, bound);
	case PFLD_INIT_GLOROT_UNIFORM:
		bound = sqrt(6 / (double)(init->fan_in + init->fan_out));
		return pfld_random_range(random, -bound, bound);
	case PFLD_INIT_HE_NORMAL: return truncated_normal(random) * sqrt(2 / (double)init->fan_in);
	case PFLD_INIT_TRUNCATED_NORMAL: return truncated_normal(random) * (init->deviation > 0 ? init->deviation : 0.01);
	case PFLD_INIT_ZERO: break;
	}
	return init->constant;
}

static enum pfld_status initialise(struct pfld_weights *weights, uint64_t seed, struct pfld_error *error)
{
	for (size_t i = 0; i < weights->net->num_params; i++) {
		const struct pfld_parameter *param = &weights->net->params[i];
		struct pfld_random random = pfld_random_stream(seed, PFLD_RANDOM_INIT, i, 0);
		double chunk[256];
		for (int64_t first = 0; first < param->info.elements; first += (int64_t)PFLD_COUNT(chunk)) {
			size_t num = (size_t)PFLD_MIN((int64_t)PFLD_COUNT(chunk), param->info.elements - first);
			for (size_t j = 0; j < num; j++) chunk[j] = draw(&param->init, &random);
			size_t offset = weights->offsets[i] + (size_t)first * sizeof(pfld_real);
			enum pfld_status status =
			    pfld_device_upload(weights->device, &weights->region, offset, PFLD_F64, chunk, num, error);
			if (status != PFLD_OK) return status;
		}
	}
	return PFLD_OK;
}

// ---- life ----

static enum pfld_status fill_weights(struct pfld_weights *weights, uint64_t seed, struct pfld_error *error)
{
	const struct pfld_net *net = weights->net;
	weights->tensors = pfld_calloc(net->num_params + 1, sizeof *weights->tensors);
	weights->offsets = pfld_calloc(net->num_params + 1, sizeof *weights->offsets);
	if (!weights->tensors || !weights->offsets)
		return pfld_fail_memory(error, net->num_params * sizeof *weights->tensors, "weights");
	size_t bytes = pfld_weights_layout(net, weights->device->limits.alignment_bytes, weights->offsets);
	enum pfld_status status = pfld_device_region_create(weights->device, PFLD_MAX(bytes, 1), PFLD_MEMORY_PARAMETERS,
	                                                    "parameters", &weights->region, error);
	for (size_t i = 0; status == PFLD_OK && i < net->num_params; i++)
		status = pfld_tensor_wrap(&weights->tensors[i], weights->device, &net->params[i].info.shape, &weights->region,
		                          weights->offsets[i], NULL, NULL, error);
	return status == PFLD_OK ? initialise(weights, seed, error) : status;
}

enum pfld_status pfld_weights_create(struct pfld_weights **weights, struct pfld_device *device, const struct pfld_net *net,
                                     uint64_t seed, struct pfld_error *error)
{
	if (!weights || !device) return pfld_fail(error, PFLD_ERR_ARGUMENT, "pfld_weights_create() needs a device");
	enum pfld_status status = pfld_net_check(net, error);
	if (status != PFLD_OK) return status;
	struct pfld_weights *fresh = pfld_calloc(1, sizeof *fresh);
	if (!fresh) return pfld_fail_memory(error, sizeof *fresh, "weights");
	fresh->device = device;
	fresh->net = net;
	status = fill_weights(fresh, seed, error);
	if (status != PFLD_OK) {
		pfld_weights_destroy(&fresh);
		return status;
	}
	*weights = fresh;
	return PFLD_OK;
}

void pfld_weights_destroy(struct pfld_weights **weights)
{
	if (!weights || !*weights) return;
	struct pfld_weights *w = *weights;
	for (size_t i = 0; w->tensors && i < w->net->num_params; i++) pfld_tensor_destroy(&w->tensors[i]);
	if (w->region.bytes) pfld_device_region_destroy(w->device, PFLD_MEMORY_PARAMETERS, &w->region);
	free(w->tensors);
	free(w->offsets);
	free(w);
	*weights = NULL;
}

struct pfld_device *pfld_weights_device(const struct pfld_weights *weights)
{
	return weights->device;
}

const struct pfld_net *pfld_weights_net(const struct pfld_weights *weights)
{
	return weights->net;
}

struct pfld_tensor *pfld_weights_tensor(const struct pfld_weights *weights, const char *name)
{
	int32_t index = name ? pfld_net_find_param(weights->net, name) : -1;
	return index < 0 ? NULL : weights->tensors[index];
}

// ---- digest ----

static int by_name(const void *a, const void *b)
{
	const struct pfld_parameter *const *x = a, *const *y = b;
	return strcmp((*x)->info.name, (*y)->info.name);
}

enum pfld_status pfld_weights_sha256(const struct pfld_weights *weights, char hex[65], struct pfld_error *error)
{
	if (!weights || !hex) return pfld_fail(error, PFLD_ERR_ARGUMENT, "pfld_weights_sha256() needs weights and a place for the digest");
	const struct pfld_net *net = weights->net;
	const struct pfld_parameter **order = pfld_calloc(net->num_params + 1, sizeof *order);
	if (!order) return pfld_fail_memory(error, net->num_params * sizeof *order, "the digest of weights");
	for (size_t i = 0; i < net->num_params; i++) order[i] = &net->params[i];
	qsort(order, net->num_params, sizeof *order, by_name);
	struct pfld_sha256 sha;
	pfld_sha256_init(&sha);
	enum pfld_status status = PFLD_OK;
	for (size_t i = 0; status == PFLD_OK && i < net->num_params; i++) {
		float chunk[1024];
		size_t elements = (size_t)order[i]->info.elements, offset = weights->offsets[order[i] - net->params];
		for (size_t first = 0; status == PFLD_OK && first < elements; first += PFLD_COUNT(chunk)) {
			size_t num = PFLD_MIN(PFLD_COUNT(chunk), elements - first);
			status = pfld_device_download(weights->device, &weights->region, offset + first * sizeof(pfld_real), PFLD_F32,
			                              chunk, num, error);
			if (status == PFLD_OK) pfld_sha256_update(&sha, chunk, num * sizeof *chunk);
		}
	}
	free(order);
	if (status == PFLD_OK) pfld_sha256_finish(&sha, hex);
	return status;
}
