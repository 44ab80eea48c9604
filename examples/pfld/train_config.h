// SPDX-License-Identifier: MIT
// What `pfld train` is told: its options, the recipes that set several of them at once, and what they mean for the
// library. Called by cmd_train.c; also gives cmd_memory.c its options of net, loss and optimizer.
#ifndef PFLD_PROGRAM_TRAIN_CONFIG_H
#define PFLD_PROGRAM_TRAIN_CONFIG_H

#include "model_file.h"
#include "options.h"

#include <pfld/optimizer.h>
#include <pfld/schedule.h>
#include <pfld/trainer.h>

// The options as given, or their defaults.
struct train_values {
	const char *file_list, *test_list, *list_format, *image_dir, *model_dir, *pretrained_model, *recipe;
	const char *preset, *loss, *optimizer, *schedule, *augment, *crop, *scaling, *channels;
	const char *mirror_map, *device, *cpu_level, *kernel_cache, *trace;
	double max_bad, learning_rate, min_learning_rate, weight_decay, lr_factor, width, momentum, clip_norm;
	int32_t batch_size, image_size, max_epoch, stop_epoch, validation_freq, points, pts_base, accumulate, lr_patience;
	int32_t threads, loader_threads, warmup_steps;
	struct int_list lr_epoch, nme_points;
	uint64_t seed, memory_limit, memory_budget;
	double memory_fraction;
	bool allow_growth, flatten_head, drop_last, resume, debug, test_initial, quiet, json;
};
extern const struct train_values TRAIN_DEFAULTS;
extern const struct option TRAIN_OPTIONS[]; // ends with a name of NULL

// What the values mean for the library, but for what the data decides (number of points, corners, mirror map).
struct train_config {
	struct model model;
	struct pfld_trainer_options trainer;
	struct pfld_schedule schedule;
	enum pfld_augment_kind augment;
	bool as_tensorflow; // decay for kernels only but not the last layer's; its place for epsilon in Adam
};

// A recipe's settings for options that were not given, and the schedule that --lr_epoch implies.
void train_apply_recipe(const struct command *command, const struct arguments *arguments, struct train_values *values);
// False, with the error said, when options do not fit together.
bool train_configure(const char *command, const struct train_values *values, struct train_config *config);
struct pfld_dataset_options train_dataset_options(const char *command, const struct train_values *values);
// A share of bad rows for the library, where 0 means its default: 0 is none at all here.
double share_or_none(double share);

#endif
