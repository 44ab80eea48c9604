// SPDX-License-Identifier: MIT
// What pfld memory plans and prints: the values of its options, a plan from them, and the forms it is shown in. Called
// by cmd_memory.c alone.
#ifndef PFLD_PROGRAM_MEMORY_PLAN_H
#define PFLD_PROGRAM_MEMORY_PLAN_H

#include "model_file.h"

#include <jansson.h>
#include <pfld/trainer.h>
#include <stdio.h>

struct memory_values {
	const char *model, *preset, *loss, *optimizer, *freeze, *mode, *device, *svg;
	double width, alpha;
	int32_t batch_size, image_size, points, classes, accumulate, slots, threads;
	uint64_t memory_budget, memory_limit, fit;
	double memory_fraction;
	bool allow_growth, flatten_head, sweep, all, json;
};

bool memory_trains(const struct memory_values *values);
// The image classifier that --model names; false for pfld.
bool memory_backbone(const struct memory_values *values, enum pfld_backbone *backbone);
// A plan of `batch` pictures of `size`, on a device that is open. Takes no memory of the device.
enum pfld_status memory_plan(struct pfld_plan **plan, struct pfld_device *device, const struct memory_values *values,
							 int32_t batch, int32_t size, struct pfld_error *error);
// The largest batch within --fit.
enum pfld_status memory_largest(struct pfld_largest_batch *largest, struct pfld_device *device,
								const struct memory_values *values, bool compute_again, struct pfld_error *error);

// ---- shown ----
double memory_mib(uint64_t bytes);
void memory_print_plan(const struct pfld_plan *plan, bool all);
// NULL: out of memory.
json_t *memory_plan_json(const struct pfld_plan *plan, bool all);
// Time across, addresses up, one rectangle a tensor. False: it cannot be written.
bool memory_write_svg(const struct pfld_plan *plan, const char *title, FILE *file);

#endif
