// SPDX-License-Identifier: MIT
// The list of layer kinds. The only one.
#include "net/net.h"

const struct pfld_layer_kind *const pfld_layer_kinds[] = {
    &pfld_layer_input,   &pfld_layer_conv2d, &pfld_layer_depthwise_conv2d, &pfld_layer_linear, &pfld_layer_batch_norm,
    &pfld_layer_activation, &pfld_layer_softmax, &pfld_layer_pool,         &pfld_layer_add,    &pfld_layer_concat,
    &pfld_layer_flatten, &pfld_layer_dropout, NULL,
};
