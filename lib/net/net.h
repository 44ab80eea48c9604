// SPDX-License-Identifier: MIT
// Inside of nets: layers, values and parameters, for the layer files here and for lib/compile. Not here: ops (emit.h).
#ifndef PFLD_NET_NET_H
#define PFLD_NET_NET_H

#include "device/device.h"
#include <pfld/layers.h>

enum { PFLD_LAYER_MAX_INPUTS = 8, PFLD_LAYER_MAX_PARAMS = 4, PFLD_NET_MAX_OUTPUTS = 16 };

struct pfld_emit;
struct pfld_layer;

// One constant table per kind of layer; layers.c lists them all.
struct pfld_layer_kind {
	const char *name;
	// Ops that compute the layer's output from its inputs.
	void (*forward)(struct pfld_emit *emit, const struct pfld_layer *layer);
	// Ops that pass the output's gradient on to inputs and parameters. NULL: nothing to pass on.
	void (*backward)(struct pfld_emit *emit, const struct pfld_layer *layer);
};

// How a parameter starts.
struct pfld_init {
	enum pfld_initializer rule;
	double deviation, constant; // constant: used by PFLD_INIT_ZERO (its value), gamma 1, ...
	int64_t fan_in, fan_out;
};

struct pfld_parameter {
	struct pfld_parameter_info info; // info.name belongs to the net
	struct pfld_init init;
	int32_t layer;
};

struct pfld_layer {
	const struct pfld_layer_kind *kind;
	char *name;
	int32_t index;                          // in the net
	int32_t inputs[PFLD_LAYER_MAX_INPUTS];  // value ids
	int32_t num_inputs;
	int32_t output;                         // value id
	int32_t params[PFLD_LAYER_MAX_PARAMS];  // by role, -1: none
	union {
		struct pfld_conv_attr conv;
		struct pfld_bn_attr bn;
		struct pfld_act_attr act;
		struct pfld_pool_attr pool;
		struct pfld_add_attr add;
		struct pfld_dropout_attr dropout;
	} attr;
};

struct pfld_value_info {
	int32_t h, w, c;
	int32_t layer;         // that produces it
	int32_t num_consumers; // layers that read it
};

struct pfld_net_output {
	char *name;
	int32_t value;
};

struct pfld_net {
	struct pfld_layer *layers;
	struct pfld_value_info *values; // id - 1
	struct pfld_parameter *params;
	size_t num_layers, layers_capacity, num_values, values_capacity, num_params, params_capacity;
	struct pfld_net_output outputs[PFLD_NET_MAX_OUTPUTS];
	int32_t num_outputs;
	struct pfld_error error; // the first one
};

// ---- for layer constructors ----
// A layer of `kind` named `name` (or kind_N) reading num values; NULL when the net has an error already or gets one
// here (invalid value, name taken, out of memory).
struct pfld_layer *pfld_net_add_layer(struct pfld_net *net, const struct pfld_layer_kind *kind, const char *name,
                                      const pfld_value *inputs, int32_t num_inputs);
// Keep the net's first error, "layer NAME (KIND): ..."; returns the invalid value.
pfld_value pfld_net_fail(struct pfld_net *net, const struct pfld_layer *layer, enum pfld_status status,
                         const char *format, ...) PFLD_PRINTF(4, 5);
// Finish the layer with an output of this shape.
pfld_value pfld_net_finish_layer(struct pfld_net *net, struct pfld_layer *layer, int32_t h, int32_t w, int32_t c);
// Parameter "layer/name" in `role`; a name with a slash is the whole name (two layers that share one layer's parameters).
// False: the net has an error now.
bool pfld_net_add_param(struct pfld_net *net, struct pfld_layer *layer, int32_t role, const char *name,
                        const struct pfld_shape *shape, const struct pfld_init *init, bool is_statistic);
// NULL when the id is invalid or of another net.
const struct pfld_value_info *pfld_net_value(const struct pfld_net *net, int32_t id);
// Position of a window along one axis: output size, and padding before. False when nothing fits.
bool pfld_window(int32_t input, int32_t kernel, int32_t stride, int32_t dilation, enum pfld_padding padding, int32_t pad,
                 int32_t *output, int32_t *pad_before);

// live (one per layer) holds the layers wanted; marks also all that they need.
void pfld_net_mark_live(const struct pfld_net *net, bool *live);
int32_t pfld_net_find_param(const struct pfld_net *net, const char *name); // -1: none
int32_t pfld_net_find_output(const struct pfld_net *net, const char *name);
// '*' and '?' patterns, several separated by commas.
bool pfld_pattern_matches(const char *patterns, const char *name);

// Every kind of layer; ends with NULL.
extern const struct pfld_layer_kind *const pfld_layer_kinds[];
extern const struct pfld_layer_kind pfld_layer_input, pfld_layer_conv2d, pfld_layer_depthwise_conv2d, pfld_layer_linear,
    pfld_layer_batch_norm, pfld_layer_activation, pfld_layer_softmax, pfld_layer_pool, pfld_layer_add, pfld_layer_concat,
    pfld_layer_flatten, pfld_layer_dropout;

#endif
