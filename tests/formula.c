// SPDX-License-Identifier: MIT
// See formula.h.
#include "formula.h"

#include "net/net.h"
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// Uniform in -1..1 from the name and the index alone (FNV-1a, then SplitMix64).
static double uniform(uint64_t hash, size_t index)
{
	uint64_t z = hash + index + 0x9e3779b97f4a7c15u;
	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	z ^= z >> 31;
	return (double)(z >> 11) * 0x1p-52 - 1;
}

static uint64_t hash_of(const char *name)
{
	uint64_t hash = 0xcbf29ce484222325u;
	for (const char *p = name; *p; p++) hash = (hash ^ (unsigned char)*p) * 0x100000001b3u;
	return hash;
}

static bool is_depthwise_layer(const struct pfld_net *net, const struct pfld_parameter_info *info)
{
	char pointwise[160];
	size_t length = (size_t)(strrchr(info->name, '/') - info->name);
	snprintf(pointwise, sizeof pointwise, "%.*s/pointwise_kernel", (int)length, info->name);
	return strstr(info->name, "/depthwise_kernel") && pfld_net_find_param(net, pointwise) < 0;
}

const char *formula_own_name(const struct pfld_net *net, const char *name, char own[128])
{
	snprintf(own, 128, "%s", name);
	const char *slash = strrchr(name, '/');
	if (!strcmp(slash, "/kernel") && pfld_net_find_param(net, name) < 0)
		snprintf(own, 128, "%.*s/depthwise_kernel", (int)(slash - name), name);
	return own;
}

static double value(const char *variable, double u, double fan_in)
{
	if (!strcmp(variable, "gamma")) return 1 + 0.1 * u;
	if (!strcmp(variable, "moving_variance")) return 1 + 0.5 * fabs(u);
	if (strstr(variable, "kernel")) return u * sqrt(6 / fan_in);
	return 0.1 * u;
}

void formula_fill(struct pfld_weights *weights)
{
	const struct pfld_net *net = pfld_weights_net(weights);
	for (int32_t i = 0; i < pfld_net_num_parameters(net); i++) {
		struct pfld_parameter_info info;
		struct pfld_error error = {0};
		char name[160];
		pfld_net_parameter(net, i, &info);
		const char *variable = strrchr(info.name, '/') + 1;
		snprintf(name, sizeof name, "%s", info.name);
		if (is_depthwise_layer(net, &info))
			snprintf(name, sizeof name, "%.*s/kernel", (int)(variable - 1 - info.name), info.name);
		bool depthwise = strstr(variable, "depthwise") != NULL;
		double fan_in = (double)info.shape.dims[0];
		if (info.shape.num_dims == 4) fan_in *= (double)(info.shape.dims[1] * (depthwise ? 1 : info.shape.dims[2]));
		double *numbers = malloc((size_t)info.elements * sizeof *numbers);
		ck_assert_ptr_nonnull(numbers);
		uint64_t hash = hash_of(name);
		for (size_t k = 0; k < (size_t)info.elements; k++) numbers[k] = value(variable, uniform(hash, k), fan_in);
		struct pfld_tensor *tensor = pfld_weights_tensor(weights, info.name);
		ck_assert_msg(!pfld_tensor_upload(tensor, PFLD_F64, numbers, info.elements, &error), "%s", error.message);
		free(numbers);
	}
}

void formula_pictures(double *pixels, int32_t num, int32_t size)
{
	for (int32_t n = 0; n < num; n++)
		for (int32_t y = 0; y < size; y++)
			for (int32_t x = 0; x < size; x++)
				for (int32_t c = 0; c < 3; c++)
					*pixels++ = (7 * y + 13 * x + 29 * c + 53 * n + 3 * n * y * x) % 256 / 127.5 - 1;
}
