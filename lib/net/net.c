// SPDX-License-Identifier: MIT
// The graph: layers, values, parameters and outputs, and what can be asked of them. Not here: layers themselves (one
// file each), ops (emit.c), values of parameters (weights.c).
#include "net/net.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct pfld_net *pfld_net_create(void)
{
	return pfld_calloc(1, sizeof(struct pfld_net));
}

void pfld_net_destroy(struct pfld_net **net)
{
	if (!net || !*net) return;
	for (size_t i = 0; i < (*net)->num_layers; i++) free((*net)->layers[i].name);
	for (size_t i = 0; i < (*net)->num_params; i++) free((char *)(*net)->params[i].info.name);
	for (int32_t i = 0; i < (*net)->num_outputs; i++) free((*net)->outputs[i].name);
	free((*net)->layers);
	free((*net)->values);
	free((*net)->params);
	free(*net);
	*net = NULL;
}

enum pfld_status pfld_net_check(const struct pfld_net *net, struct pfld_error *error)
{
	if (!net) return pfld_fail(error, PFLD_ERR_ARGUMENT, "the net is NULL (out of memory at its creation?)");
	if (net->error.status == PFLD_OK) return PFLD_OK;
	if (error) *error = net->error;
	return net->error.status;
}

pfld_value pfld_net_fail(struct pfld_net *net, const struct pfld_layer *layer, enum pfld_status status,
                         const char *format, ...)
{
	if (net->error.status == PFLD_OK) {
		char text[PFLD_ERROR_MESSAGE_BYTES / 2];
		va_list args;
		va_start(args, format);
		vsnprintf(text, sizeof text, format, args);
		va_end(args);
		if (layer) pfld_fail(&net->error, status, "layer %s (%s): %s", layer->name, layer->kind->name, text);
		else pfld_fail(&net->error, status, "%s", text);
	}
	return (pfld_value){0};
}

const struct pfld_value_info *pfld_net_value(const struct pfld_net *net, int32_t id)
{
	return id >= 1 && (size_t)id <= net->num_values ? &net->values[id - 1] : NULL;
}

static bool name_taken(const struct pfld_net *net, const char *name)
{
	for (size_t i = 0; i < net->num_layers; i++)
		if (!strcmp(net->layers[i].name, name)) return true;
	return false;
}

// "conv2d", "conv2d_1", ...: the first that is free.
static char *fresh_name(const struct pfld_net *net, const char *kind)
{
	if (!name_taken(net, kind)) return pfld_strdup(kind);
	for (size_t number = 1; number <= net->num_layers; number++) {
		char *name = pfld_strprintf("%s_%zu", kind, number);
		if (!name || !name_taken(net, name)) return name;
		free(name);
	}
	return NULL;
}

struct pfld_layer *pfld_net_add_layer(struct pfld_net *net, const struct pfld_layer_kind *kind, const char *name,
                                      const pfld_value *inputs, int32_t num_inputs)
{
	if (!net || net->error.status != PFLD_OK) return NULL;
	struct pfld_layer probe = {.kind = kind, .name = (char *)(name ? name : kind->name)};
	if (num_inputs < 0 || num_inputs > PFLD_LAYER_MAX_INPUTS || (num_inputs && !inputs)) {
		pfld_net_fail(net, &probe, PFLD_ERR_ARGUMENT, "%s%d inputs, at most %d are possible", inputs ? "" : "NULL for ",
		              num_inputs, PFLD_LAYER_MAX_INPUTS);
		return NULL;
	}
	for (int32_t i = 0; i < num_inputs; i++)
		if (!pfld_net_value(net, inputs[i].id)) {
			pfld_net_fail(net, &probe, PFLD_ERR_ARGUMENT, "input %d is not a value of this net", i);
			return NULL;
		}
	if (name && (!*name || strlen(name) > 100 || name_taken(net, name))) {
		pfld_net_fail(net, &probe, PFLD_ERR_ARGUMENT, "a name must be 1 to 100 bytes long and used once");
		return NULL;
	}
	char *own = name ? pfld_strdup(name) : fresh_name(net, kind->name);
	if (!own || !pfld_grow(&net->layers, &net->layers_capacity, net->num_layers + 1, sizeof *net->layers)) {
		free(own);
		pfld_net_fail(net, NULL, PFLD_ERR_MEMORY, "out of memory for layer %s", probe.name);
		return NULL;
	}
	struct pfld_layer *layer = &net->layers[net->num_layers];
	*layer = (struct pfld_layer){.kind = kind, .name = own, .index = (int32_t)net->num_layers, .num_inputs = num_inputs};
	net->num_layers++;
	for (int32_t i = 0; i < num_inputs; i++) {
		layer->inputs[i] = inputs[i].id;
		net->values[inputs[i].id - 1].num_consumers++;
	}
	for (int32_t i = 0; i < PFLD_LAYER_MAX_PARAMS; i++) layer->params[i] = -1;
	return layer;
}

pfld_value pfld_net_finish_layer(struct pfld_net *net, struct pfld_layer *layer, int32_t h, int32_t w, int32_t c)
{
	if (net->error.status != PFLD_OK) return (pfld_value){0};
	int64_t elements = (int64_t)h * w;
	if (h < 1 || w < 1 || c < 1 || elements > INT32_MAX || elements * c > INT32_MAX)
		return pfld_net_fail(net, layer, PFLD_ERR_SHAPE, "the output (%d, %d, %d) is empty or too large", h, w, c);
	if (!pfld_grow(&net->values, &net->values_capacity, net->num_values + 1, sizeof *net->values))
		return pfld_net_fail(net, NULL, PFLD_ERR_MEMORY, "out of memory for layer %s", layer->name);
	net->values[net->num_values++] = (struct pfld_value_info){.h = h, .w = w, .c = c, .layer = layer->index};
	layer->output = (int32_t)net->num_values;
	return (pfld_value){layer->output};
}

bool pfld_net_add_param(struct pfld_net *net, struct pfld_layer *layer, int32_t role, const char *name,
                        const struct pfld_shape *shape, const struct pfld_init *init, bool is_statistic)
{
	int64_t elements = 1;
	for (int32_t i = 0; i < shape->num_dims; i++) {
		if (shape->dims[i] < 1 || elements > INT32_MAX / shape->dims[i]) {
			pfld_net_fail(net, layer, PFLD_ERR_SHAPE, "parameter %s is empty or too large", name);
			return false;
		}
		elements *= shape->dims[i];
	}
	char *full = strchr(name, '/') ? pfld_strdup(name) : pfld_strprintf("%s/%s", layer->name, name);
	if (!full || !pfld_grow(&net->params, &net->params_capacity, net->num_params + 1, sizeof *net->params)) {
		free(full);
		pfld_net_fail(net, NULL, PFLD_ERR_MEMORY, "out of memory for parameter %s/%s", layer->name, name);
		return false;
	}
	layer->params[role] = (int32_t)net->num_params;
	net->params[net->num_params++] = (struct pfld_parameter){
	    .info = {.name = full,
	             .shape = *shape,
	             .elements = elements,
	             .is_statistic = is_statistic,
	             .trainable = true,
	             .learning_rate = 1,
	             .weight_decay = -1},
	    .init = *init,
	    .layer = layer->index,
	};
	return true;
}

void pfld_net_output(struct pfld_net *net, pfld_value value, const char *name)
{
	if (!net || net->error.status != PFLD_OK) return;
	if (!name || !*name || pfld_net_find_output(net, name) >= 0) {
		pfld_net_fail(net, NULL, PFLD_ERR_ARGUMENT, "an output needs a name of its own");
	} else if (!pfld_net_value(net, value.id)) {
		pfld_net_fail(net, NULL, PFLD_ERR_ARGUMENT, "output %s is not a value of this net", name);
	} else if (net->num_outputs == PFLD_NET_MAX_OUTPUTS) {
		pfld_net_fail(net, NULL, PFLD_ERR_ARGUMENT, "more than %d outputs", PFLD_NET_MAX_OUTPUTS);
	} else {
		char *own = pfld_strdup(name);
		if (!own) pfld_net_fail(net, NULL, PFLD_ERR_MEMORY, "out of memory for output %s", name);
		else net->outputs[net->num_outputs++] = (struct pfld_net_output){own, value.id};
	}
}

void pfld_net_shape(const struct pfld_net *net, pfld_value value, int32_t *height, int32_t *width, int32_t *channels)
{
	const struct pfld_value_info *info = net ? pfld_net_value(net, value.id) : NULL;
	if (height) *height = info ? info->h : 0;
	if (width) *width = info ? info->w : 0;
	if (channels) *channels = info ? info->c : 0;
}

bool pfld_window(int32_t input, int32_t kernel, int32_t stride, int32_t dilation, enum pfld_padding padding, int32_t pad,
                 int32_t *output, int32_t *pad_before)
{
	if (kernel < 1 || stride < 1 || dilation < 1 || pad < 0) return false;
	int64_t reach = (int64_t)(kernel - 1) * dilation + 1;
	if (padding == PFLD_SAME) {
		*output = (input + stride - 1) / stride;
		int64_t total = (int64_t)(*output - 1) * stride + reach - input;
		*pad_before = total > 0 ? (int32_t)(total / 2) : 0;
		return true;
	}
	int64_t padded = (int64_t)input + (padding == PFLD_EXPLICIT ? 2 * (int64_t)pad : 0);
	if (padded < reach) return false;
	*output = (int32_t)((padded - reach) / stride + 1);
	*pad_before = padding == PFLD_EXPLICIT ? pad : 0;
	return true;
}

// ---- parameters ----

int32_t pfld_net_num_parameters(const struct pfld_net *net)
{
	return net ? (int32_t)net->num_params : 0;
}

void pfld_net_parameter(const struct pfld_net *net, int32_t index, struct pfld_parameter_info *info)
{
	*info = net->params[index].info;
}

int32_t pfld_net_find_param(const struct pfld_net *net, const char *name)
{
	for (size_t i = 0; i < net->num_params; i++)
		if (!strcmp(net->params[i].info.name, name)) return (int32_t)i;
	return -1;
}

int32_t pfld_net_find_output(const struct pfld_net *net, const char *name)
{
	for (int32_t i = 0; i < net->num_outputs; i++)
		if (!strcmp(net->outputs[i].name, name)) return i;
	return -1;
}

// One pattern of `length` bytes, with one point to go back to: the last star.
static bool glob(const char *pattern, size_t length, const char *name)
{
	size_t p = 0, n = 0, star = SIZE_MAX, resume = 0;
	while (name[n]) {
		if (p < length && pattern[p] == '*') {
			star = p++;
			resume = n;
		} else if (p < length && (pattern[p] == '?' || pattern[p] == name[n])) {
			p++;
			n++;
		} else if (star != SIZE_MAX) {
			p = star + 1;
			n = ++resume;
		} else {
			return false;
		}
	}
	while (p < length && pattern[p] == '*') p++;
	return p == length;
}

bool pfld_pattern_matches(const char *patterns, const char *name)
{
	for (const char *p = patterns; p; p = *p ? p + 1 : NULL) {
		size_t length = strcspn(p, ",");
		if (length && glob(p, length, name)) return true;
		p += length;
		if (!*p) break;
	}
	return false;
}

// The next parameter from *index on whose name matches; NULL behind the last.
static struct pfld_parameter_info *next_match(struct pfld_net *net, const char *pattern, size_t *index)
{
	while (net && pattern && *index < net->num_params) {
		struct pfld_parameter_info *info = &net->params[(*index)++].info;
		if (pfld_pattern_matches(pattern, info->name)) return info;
	}
	return NULL;
}

int32_t pfld_net_set_trainable(struct pfld_net *net, const char *pattern, bool trainable)
{
	int32_t matched = 0;
	size_t index = 0;
	for (struct pfld_parameter_info *info; (info = next_match(net, pattern, &index)); matched++)
		info->trainable = trainable;
	return matched;
}

int32_t pfld_net_set_learning_rate(struct pfld_net *net, const char *pattern, double factor)
{
	int32_t matched = 0;
	size_t index = 0;
	for (struct pfld_parameter_info *info; (info = next_match(net, pattern, &index)); matched++)
		info->learning_rate = factor;
	return matched;
}

int32_t pfld_net_set_weight_decay(struct pfld_net *net, const char *pattern, double weight_decay)
{
	int32_t matched = 0;
	size_t index = 0;
	for (struct pfld_parameter_info *info; (info = next_match(net, pattern, &index)); matched++)
		info->weight_decay = weight_decay;
	return matched;
}

// ---- reports ----

int32_t pfld_net_num_layers(const struct pfld_net *net)
{
	return net ? (int32_t)net->num_layers : 0;
}

static int64_t layer_macs(const struct pfld_net *net, const struct pfld_layer *layer)
{
	if (layer->kind != &pfld_layer_conv2d && layer->kind != &pfld_layer_depthwise_conv2d && layer->kind != &pfld_layer_linear)
		return 0;
	const struct pfld_value_info *out = pfld_net_value(net, layer->output);
	return out ? net->params[layer->params[0]].info.elements * out->h * out->w : 0;
}

void pfld_net_layer(const struct pfld_net *net, int32_t index, struct pfld_layer_info *info)
{
	const struct pfld_layer *layer = &net->layers[index];
	*info = (struct pfld_layer_info){.name = layer->name, .kind = layer->kind->name, .macs = layer_macs(net, layer)};
	pfld_net_shape(net, (pfld_value){layer->output}, &info->height, &info->width, &info->channels);
	for (int32_t i = 0; i < PFLD_LAYER_MAX_PARAMS; i++) {
		if (layer->params[i] < 0) continue;
		const struct pfld_parameter_info *param = &net->params[layer->params[i]].info;
		*(param->is_statistic ? &info->statistics : &info->parameters) += param->elements;
	}
}

void pfld_net_mark_live(const struct pfld_net *net, bool *live)
{
	for (size_t i = net->num_layers; i-- > 0;) {
		const struct pfld_layer *layer = &net->layers[i];
		for (int32_t j = 0; live[i] && j < layer->num_inputs; j++)
			live[pfld_net_value(net, layer->inputs[j])->layer] = true;
	}
}

enum pfld_status pfld_net_count(const struct pfld_net *net, const char *output, int64_t *parameters,
                                int64_t *statistics, int64_t *macs, struct pfld_error *error)
{
	enum pfld_status status = pfld_net_check(net, error);
	if (status != PFLD_OK) return status;
	int32_t wanted = output ? pfld_net_find_output(net, output) : -1;
	if (output && wanted < 0) return pfld_fail(error, PFLD_ERR_ARGUMENT, "the net has no output named %s", output);
	bool *live = pfld_calloc(net->num_layers + 1, sizeof *live);
	if (!live) return pfld_fail_memory(error, net->num_layers, "counting layers");
	if (output) live[pfld_net_value(net, net->outputs[wanted].value)->layer] = true;
	else memset(live, true, net->num_layers);
	pfld_net_mark_live(net, live);
	int64_t sums[3] = {0};
	for (size_t i = 0; i < net->num_layers; i++) {
		if (!live[i]) continue;
		struct pfld_layer_info info;
		pfld_net_layer(net, (int32_t)i, &info);
		sums[0] += info.parameters;
		sums[1] += info.statistics;
		sums[2] += info.macs;
	}
	free(live);
	if (parameters) *parameters = sums[0];
	if (statistics) *statistics = sums[1];
	if (macs) *macs = sums[2];
	return PFLD_OK;
}
