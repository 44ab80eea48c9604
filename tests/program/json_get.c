// SPDX-License-Identifier: MIT
// For the shell tests of the program: json_get FILE [KEY ...] checks that FILE is strict JSON and prints the value that
// the keys lead to (a number leads into a list; "#" counts); strings bare, all else compact. Exit 1 when it is not
// valid, 2 when there is no such value.
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv)
{
	json_error_t reason;
	json_t *root = argc > 1 ? json_load_file(argv[1], JSON_REJECT_DUPLICATES, &reason) : NULL;
	if (!root) {
		fprintf(stderr, "json_get: %s: %s\n", argc > 1 ? argv[1] : "", argc > 1 ? reason.text : "no file");
		return 1;
	}
	const json_t *value = root;
	for (int i = 2; i < argc && value; i++) {
		if (strcmp(argv[i], "#") == 0) {
			printf("%zu\n", json_array_size(value));
			json_decref(root);
			return 0;
		}
		value =
			json_is_array(value) ? json_array_get(value, strtoul(argv[i], NULL, 10)) : json_object_get(value, argv[i]);
	}
	if (json_is_string(value)) {
		puts(json_string_value(value));
	} else if (value && argc > 2) {
		json_dumpf(value, stdout, JSON_COMPACT | JSON_ENCODE_ANY | JSON_REAL_PRECISION(15));
		putchar('\n');
	}
	json_decref(root);
	return value ? 0 : 2;
}
