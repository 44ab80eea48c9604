// SPDX-License-Identifier: MIT
// JSON that every strict reader takes: numbers that are not finite become null, text is made valid UTF-8. Called by the
// commands that print or keep JSON.
#ifndef PFLD_PROGRAM_JSON_OUT_H
#define PFLD_PROGRAM_JSON_OUT_H

#include <jansson.h>
#include <pfld/metrics.h>
#include <stdbool.h>

// New references; NULL when out of memory, which json_object_set_new() and the like take as failure.
json_t *json_finite(double value);
json_t *json_utf8(const char *text);

// "images", "nme", "nme_median", "failure_rate", "auc" into an object. False: out of memory.
bool json_set_metrics(json_t *object, const struct pfld_landmark_metrics *metrics);

// On stdout, indented or in one line, with a newline. False, with the error said, when it cannot be written or when
// `value` is NULL (out of memory). Takes the reference.
bool json_print(const char *command, json_t *value);
bool json_print_line(const char *command, json_t *value);

#endif
