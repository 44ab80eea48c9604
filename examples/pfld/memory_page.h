// SPDX-License-Identifier: MIT
// The out-of-memory page on standard error: one page, with ways out that then run.
#ifndef PFLD_PROGRAM_MEMORY_PAGE_H
#define PFLD_PROGRAM_MEMORY_PAGE_H

#include "train_config.h"

struct memory_ways_out {
	int32_t batch_size, image_size; // as asked for
	int32_t smaller_image;          // that fits with the batch; 0: none
};
// The largest image size below the one asked for that fits what is free; 0: none.
int32_t smaller_image_that_fits(struct pfld_device *device, const struct train_config *config,
								const struct pfld_memory_page *page);
void memory_page_print(const struct pfld_memory_page *page, const struct memory_ways_out *ways);

#endif
