// SPDX-License-Identifier: MIT
// See json.h.
#include "json.h"
#include "base/file.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

json_t *pfld_json_number(double value)
{
	return isfinite(value) ? json_real(value) : json_null();
}

json_t *pfld_json_string(const char *text)
{
	if (!text) return json_null();
	if (pfld_is_utf8(text)) return json_string(text);
	struct pfld_text valid = {0};
	for (size_t left = strlen(text); left;) {
		size_t bytes = pfld_utf8_bytes(text, left);
		if (bytes)
			pfld_text_append_bytes(&valid, text, bytes);
		else
			pfld_text_append(&valid, "\xef\xbf\xbd");
		text += bytes ? bytes : 1;
		left -= bytes ? bytes : 1;
	}
	json_t *string = valid.failed ? NULL : json_string(valid.data);
	pfld_text_finish(&valid);
	return string;
}

enum pfld_status pfld_json_write(const char *path, const json_t *value, struct pfld_error *error)
{
	char *json = json_dumps(value, JSON_INDENT(2) | JSON_REAL_PRECISION(15) | JSON_ENCODE_ANY);
	if (!json) return pfld_fail_memory(error, 0, "a JSON text");
	struct pfld_text text = {0};
	pfld_text_append(&text, json);
	pfld_text_append(&text, "\n");
	enum pfld_status status = text.failed ? pfld_fail_memory(error, strlen(json), "a JSON text")
										  : pfld_file_replace(path, text.data, text.length, error);
	pfld_text_finish(&text);
	free(json);
	return status;
}
