// SPDX-License-Identifier: MIT
// The list of ops that a net becomes: tensors by number, ops in order, and for every value of the net the operand that
// holds it and, in training, the one that holds its gradient. Layers append to it (forward, backward); lib/compile
// drives them, plans and runs the result. Failures (out of memory, shapes) are kept; later calls do nothing harmful.
#ifndef PFLD_NET_EMIT_H
#define PFLD_NET_EMIT_H

#include "net/net.h"

// A tensor of the list. Places are filled by the planner.
struct pfld_emit_tensor {
	const char *role; // "output", "gradient", "mean", ...: static text
	int32_t layer;    // of the net, -1: none
	int32_t param;    // whose value or gradient it is, -1: none
	enum pfld_memory_class memory_class;
	bool persistent; // outlives a run: not in the arena
	bool per_sample;
	size_t elements;  // per sample, or in all
	size_t bytes;     // elements x batch, or what a workspace asked for
	int32_t first_op, last_op;
	int32_t continues; // tensor that ends where this one begins, in the same memory; -1: none
	struct pfld_region *region;
	size_t offset_bytes;
};

// What a layer's forward leaves for its backward, by the layer's own numbering.
enum { PFLD_EMIT_SAVED = 5 };

struct pfld_emit {
	const struct pfld_net *net;
	bool training; // batch statistics and dropout
	bool unfused;  // nothing is pending
	bool again;    // forward is emitted once more: the numbers of batch norms are there already
	struct pfld_op *ops;
	struct pfld_emit_tensor *tensors;
	size_t num_ops, ops_capacity, num_tensors, tensors_capacity;
	struct pfld_operand *values, *gradients;         // by value id - 1; tensor PFLD_NO_TENSOR: not there (yet)
	struct pfld_operand *params, *param_gradients;   // by parameter
	struct pfld_operand (*saved)[PFLD_EMIT_SAVED];   // by layer
	bool *needs_gradient;                            // by value id - 1
	bool *gradient_done;                             // by value id - 1: its producer's backward has been emitted
	bool *live;                                      // by layer
	int32_t *fused_layer;                            // by layer: activation that melts into it, else -1
	bool *is_fused;                                  // by layer: it has melted into another
	int32_t *folded_norm;                            // by layer: batch norm that is taken into its kernel, else -1
	struct pfld_pending **pendings;                  // all that operands point at
	size_t num_pendings, pendings_capacity;
	struct pfld_op spare_op;                         // written to after a failure
	struct pfld_error error;
};

enum pfld_status pfld_emit_init(struct pfld_emit *emit, const struct pfld_net *net, struct pfld_error *error) PFLD_MUST_USE;
// Nothing more is added: give back what the lists have in reserve.
void pfld_emit_trim(struct pfld_emit *emit);
void pfld_emit_finish(struct pfld_emit *emit);

// A new tensor, as an operand that covers it. layer -1: none.
struct pfld_operand pfld_emit_tensor(struct pfld_emit *emit, int32_t layer, const char *role,
                                     enum pfld_memory_class memory_class, bool per_sample, int32_t h, int32_t w, int32_t c);
// The forward ops of one layer, or what it has melted into.
void pfld_emit_forward(struct pfld_emit *emit, const struct pfld_layer *layer);
// A new op, all operands absent. Valid until the next call.
struct pfld_op *pfld_emit_op(struct pfld_emit *emit, enum pfld_op_kind kind, const struct pfld_layer *layer);

// `operand`, said to be pending as `pending` has it; it must be in memory itself.
struct pfld_operand pfld_emit_pending(struct pfld_emit *emit, const struct pfld_operand *operand,
                                      const struct pfld_pending *pending);
// The op that writes what a pending operand stands for into `dst`, or adds it (gradients only).
void pfld_emit_materialise(struct pfld_emit *emit, const struct pfld_layer *layer, const struct pfld_operand *operand,
                           const struct pfld_operand *dst, bool accumulate);
// The operand in memory: itself, or a new tensor that an op writes when it is pending.
struct pfld_operand pfld_emit_plain(struct pfld_emit *emit, const struct pfld_layer *layer,
                                    const struct pfld_operand *operand);

// ---- for layers ----
// May be pending.
struct pfld_operand pfld_emit_input(const struct pfld_emit *emit, const struct pfld_layer *layer, int32_t input);
// The same as the channels of one pixel, in memory.
struct pfld_operand pfld_emit_input_row(struct pfld_emit *emit, const struct pfld_layer *layer, int32_t input);
// The layer's output as a new tensor.
struct pfld_operand pfld_emit_output(struct pfld_emit *emit, const struct pfld_layer *layer);
// Let the output be the memory of `operand`, in the output's shape (flatten); only in its own shape may it be pending.
void pfld_emit_alias(struct pfld_emit *emit, const struct pfld_layer *layer, const struct pfld_operand *operand);
struct pfld_operand pfld_emit_param(const struct pfld_emit *emit, const struct pfld_layer *layer, int32_t role);
bool pfld_emit_param_trains(const struct pfld_emit *emit, const struct pfld_layer *layer, int32_t role);
// Where a parameter's gradient goes; absent when it is frozen or the layer lacks it.
struct pfld_operand pfld_emit_param_gradient(struct pfld_emit *emit, const struct pfld_layer *layer, int32_t role);
// The gradient of the layer's output, complete; may be pending.
struct pfld_operand pfld_emit_output_gradient(const struct pfld_emit *emit, const struct pfld_layer *layer);
bool pfld_emit_input_needs_gradient(const struct pfld_emit *emit, const struct pfld_layer *layer, int32_t input);
// Where the layer's contribution to an input's gradient goes, and whether it is added to what is there; absent when nobody
// needs it. Call before pfld_emit_op(): it may emit a copy.
struct pfld_operand pfld_emit_input_gradient(struct pfld_emit *emit, const struct pfld_layer *layer, int32_t input,
                                             bool *accumulate);
// The contribution is `gradient` itself (in the input's shape): shared when it is the first one, else added.
void pfld_emit_share_gradient(struct pfld_emit *emit, const struct pfld_layer *layer, int32_t input,
                              const struct pfld_operand *gradient);
// dst = or += scale src, both of one shape; channels may lie apart.
void pfld_emit_copy(struct pfld_emit *emit, const struct pfld_layer *layer, const struct pfld_operand *dst,
                    const struct pfld_operand *src, double scale, bool accumulate);
// The ops of a convolution with parameters kernel (role 0) and bias (1), by attr.conv; as_row: of all numbers of a sample as
// one pixel. conv2d.c.
void pfld_emit_conv2d(struct pfld_emit *emit, const struct pfld_layer *layer, bool as_row);
// The kernel and bias of a convolution with the batch norm in them that is taken in (batch_norm.c); else as they are.
void pfld_emit_fold(struct pfld_emit *emit, const struct pfld_layer *layer, struct pfld_operand *kernel,
                    struct pfld_operand *bias);
void pfld_emit_conv2d_gradient(struct pfld_emit *emit, const struct pfld_layer *layer, bool as_row);
// The activation that this layer applies at its end: that of the layer which has melted into it, or none.
struct pfld_act_attr pfld_emit_fused_act(const struct pfld_emit *emit, const struct pfld_layer *layer);

#endif
