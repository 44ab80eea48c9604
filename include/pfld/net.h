// SPDX-License-Identifier: MIT
// Nets: layers in a graph with named parameters. A net knows shapes and no device. Building needs no check per call:
// the first error is kept in the net, with the layer's name and the shapes, later constructors do nothing, and
// pfld_net_check(), pfld_weights_create() and pfld_program_create() return it.
// Thread safety: build in one thread; a net that is not being changed may be read by any number.
#ifndef PFLD_NET_H
#define PFLD_NET_H

#include <pfld/tensor.h>

#ifdef __cplusplus
extern "C" {
#endif

struct pfld_net;

// A handle of one tensor in a net's graph: what layer constructors take and return. id 0: none.
typedef struct pfld_value {
	int32_t id;
} pfld_value;

// NULL when out of memory.
PFLD_API struct pfld_net *pfld_net_create(void);
PFLD_API void pfld_net_destroy(struct pfld_net **net);
// The first error met while building, or PFLD_OK.
PFLD_API_STATUS enum pfld_status pfld_net_check(const struct pfld_net *net, struct pfld_error *error);

// Give a value a name under which programs hand it out. Outputs come in the order of these calls.
PFLD_API void pfld_net_output(struct pfld_net *net, pfld_value value, const char *name);

// Shape of a value per sample; a value without a picture is (1, 1, C). All 0 for an invalid value.
PFLD_API void pfld_net_shape(const struct pfld_net *net, pfld_value value, int32_t *height, int32_t *width,
                             int32_t *channels);

// ---- parameters ----
struct pfld_parameter_info {
	const char *name;         // "conv1/kernel"; belongs to the net
	struct pfld_shape shape;  // kernels (kh, kw, in / groups, out), depthwise (kh, kw, c, multiplier), linear (in, out)
	int64_t elements;
	bool is_statistic;        // a batch norm's moving mean or variance: kept, not trained
	bool trainable;           // statistic: moves in training
	double learning_rate;     // factor on the rate of the step, default 1
	double weight_decay;      // negative: the optimizer's
};
PFLD_API int32_t pfld_net_num_parameters(const struct pfld_net *net); // statistics included
PFLD_API void pfld_net_parameter(const struct pfld_net *net, int32_t index, struct pfld_parameter_info *info);

// Set on every parameter whose name matches `pattern` ('*' any run, '?' one character; several patterns separated by
// commas); return how many matched. Programs take the values at their creation. Freezing a batch norm (its statistics
// match too) makes it use and keep its moving statistics.
PFLD_API int32_t pfld_net_set_trainable(struct pfld_net *net, const char *pattern, bool trainable);
PFLD_API int32_t pfld_net_set_learning_rate(struct pfld_net *net, const char *pattern, double factor);
PFLD_API int32_t pfld_net_set_weight_decay(struct pfld_net *net, const char *pattern, double weight_decay);

// ---- layers, for reports ----
struct pfld_layer_info {
	const char *name, *kind;          // belong to the net
	int32_t height, width, channels;  // of the output
	int64_t parameters;               // trained numbers; statistics not counted
	int64_t statistics;
	int64_t macs;                     // multiply-adds for one sample (convolutions and linear)
};
PFLD_API int32_t pfld_net_num_layers(const struct pfld_net *net);
PFLD_API void pfld_net_layer(const struct pfld_net *net, int32_t index, struct pfld_layer_info *info);
// Sums over the layers that `output` needs (NULL: all).
PFLD_API_STATUS enum pfld_status pfld_net_count(const struct pfld_net *net, const char *output, int64_t *parameters,
                                                int64_t *statistics, int64_t *macs, struct pfld_error *error);

#ifdef __cplusplus
}
#endif
#endif
