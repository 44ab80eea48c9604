// SPDX-License-Identifier: MIT
// The out-of-memory page on standard error: one page, with ways out that then run. Called where a net, a program or a
// trainer is made.
#ifndef PFLD_PROGRAM_MEMORY_PAGE_H
#define PFLD_PROGRAM_MEMORY_PAGE_H

#include "train_config.h"

// Of training, also where the weights are not there yet.
void memory_page_of_training(const struct network *network, const struct train_config *config);
// Of inference on `batch` images at a time.
void memory_page_of_inference(const struct network *network, int32_t batch);

#endif
