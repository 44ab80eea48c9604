// SPDX-License-Identifier: MIT
// JSON that every strict reader takes.
#include "json_out.h"
#include "say.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

json_t *json_finite(double value)
{
	return isfinite(value) ? json_real(value) : json_null();
}

json_t *json_utf8(const char *text)
{
	static const char REPLACEMENT[] = "\xef\xbf\xbd";
	json_t *string = json_string(text);
	if (string) return string;
	size_t length = strlen(text), used = 0;
	char *valid = malloc(3 * length + 1);
	if (!valid) return NULL;
	// Each part that jansson takes is kept; a byte that begins none is replaced.
	for (size_t at = 0; at < length;) {
		size_t num = 1;
		json_t *part = NULL;
		for (; num <= 4 && at + num <= length && !part; num++) part = json_stringn(text + at, num);
		num = part ? num - 1 : 1;
		const char *from = part ? text + at : REPLACEMENT;
		size_t bytes = part ? num : strlen(REPLACEMENT);
		memcpy(valid + used, from, bytes);
		used += bytes;
		at += num;
		json_decref(part);
	}
	string = json_stringn(valid, used);
	free(valid);
	return string;
}

bool json_set_metrics(json_t *object, const struct pfld_landmark_metrics *metrics)
{
	return json_object_set_new(object, "images", json_integer(metrics->num_images)) == 0 &&
		   json_object_set_new(object, "nme", json_finite(metrics->nme)) == 0 &&
		   json_object_set_new(object, "nme_median", json_finite(metrics->nme_median)) == 0 &&
		   json_object_set_new(object, "failure_rate", json_finite(metrics->failure_rate)) == 0 &&
		   json_object_set_new(object, "auc", json_finite(metrics->auc)) == 0;
}

static bool print(const char *command, json_t *value, size_t flags)
{
	bool done = value && json_dumpf(value, stdout, flags | JSON_REAL_PRECISION(15)) == 0 && putchar('\n') != EOF &&
				fflush(stdout) == 0;
	json_decref(value);
	if (!done) say_error(command, "%s", value ? "standard output cannot be written" : "out of memory for JSON");
	return done;
}

bool json_print(const char *command, json_t *value)
{
	return print(command, value, JSON_INDENT(2));
}

bool json_print_line(const char *command, json_t *value)
{
	return print(command, value, JSON_COMPACT);
}
