// SPDX-License-Identifier: MIT
// pfld devices: what there is to compute on, what the environment hides of it, and how many threads the CPU gets and
// why.
#include "commands.h"
#include "json_out.h"
#include "say.h"

#include <pfld/device.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_DEVICES = 64, NOTES_BYTES = 8192 };

struct devices_values {
	bool json;
};
static const struct option OPTIONS[] = {
	{"json", OPTION_FLAG, offsetof(struct devices_values, json), .help = "print JSON"},
	{.name = NULL},
};

static const char THREADS_REASON[] = "the CPUs this process may run on, and no more than its cgroup's quota";

static json_t *device_json(const struct pfld_device_info *info)
{
	return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:I, s:I, s:i, s:b, s:b, s:o}", "name", json_utf8(info->name),
					 "description", json_utf8(info->description), "vendor", json_utf8(info->vendor), "driver",
					 json_utf8(info->driver), "uuid", json_utf8(info->uuid), "levels", json_utf8(info->levels),
					 "memory_bytes", (json_int_t)info->memory_bytes, "max_region_bytes",
					 (json_int_t)info->max_region_bytes, "units", (int)info->num_units, "is_cpu", (int)info->is_cpu,
					 "is_accelerator", (int)info->is_accelerator, "unusable", json_utf8(info->unusable));
}

// Lines of text as a list.
static json_t *lines_json(const char *text)
{
	json_t *list = json_array();
	while (*text) {
		size_t length = strcspn(text, "\n");
		char line[NOTES_BYTES];
		snprintf(line, sizeof line, "%.*s", (int)length, text);
		if (length > 0) json_array_append_new(list, json_utf8(line));
		text += length + (text[length] == '\n');
	}
	return list;
}

static json_t *variable_json(bool is_set, const char *value)
{
	return is_set ? json_utf8(value) : json_null();
}

static bool print_json(const struct command *command, const struct pfld_device_mask *mask,
					   const struct pfld_device_info *infos, int32_t num, const char *notes)
{
	json_t *devices = json_array();
	for (int32_t i = 0; i < num; i++) json_array_append_new(devices, device_json(&infos[i]));
	return json_print(command->name,
					  json_pack("{s:o, s:o, s:{s:o, s:o}, s:i, s:s}", "devices", devices, "notes", lines_json(notes),
								"environment", "PFLD_VISIBLE_DEVICES",
								variable_json(mask->has_visible_devices, mask->visible_devices), "CUDA_VISIBLE_DEVICES",
								variable_json(mask->has_cuda_visible_devices, mask->cuda_visible_devices), "threads",
								num > 0 ? (int)infos[0].num_units : 0, "threads_reason", THREADS_REASON));
}

static void print_device(const struct pfld_device_info *info)
{
	printf("%-10s %s", info->name, info->description);
	if (info->vendor[0] != '\0') printf(", %s", info->vendor);
	if (info->driver[0] != '\0') printf(", %s", info->driver);
	bool is_opencl = info->levels[0] == '\0';
	printf("\n           %.1f GiB", (double)info->memory_bytes / (1 << 30));
	if (is_opencl) printf(", %.1f GiB of it in one piece", (double)info->max_region_bytes / (1 << 30));
	if (info->levels[0] != '\0') printf("; instruction sets, best last: %s", info->levels);
	if (is_opencl) printf("; %d compute units", (int)info->num_units);
	if (is_opencl && info->is_cpu) printf("; the CPU itself, used only when it is named");
	printf("\n");
	if (info->uuid[0] != '\0') printf("           UUID %s\n", info->uuid);
	if (info->unusable[0] != '\0') printf("           cannot be used: %s\n", info->unusable);
}

static void print_variable(const char *name, bool is_set, const char *value)
{
	char shown[SHOWN_BYTES];
	if (is_set)
		printf("%s is \"%s\"\n", name, show(shown, value));
	else
		printf("%s is not set\n", name);
}

static void print_text(const struct pfld_device_mask *mask, const struct pfld_device_info *infos, int32_t num,
					   const char *notes)
{
	for (int32_t i = 0; i < num; i++) print_device(&infos[i]);
	if (num > 0) printf("\nthreads by default: %d (%s)\n", (int)infos[0].num_units, THREADS_REASON);
	print_variable("PFLD_VISIBLE_DEVICES", mask->has_visible_devices, mask->visible_devices);
	print_variable("CUDA_VISIBLE_DEVICES", mask->has_cuda_visible_devices, mask->cuda_visible_devices);
	if (notes[0] != '\0') printf("%s%s", notes, notes[strlen(notes) - 1] == '\n' ? "" : "\n");
}

static int run(const struct command *command, int argc, char **argv)
{
	static struct pfld_device_info infos[MAX_DEVICES];
	struct devices_values values = {.json = false};
	struct arguments arguments;
	struct pfld_device_mask mask;
	char notes[NOTES_BYTES] = "";
	int code;
	if (!options_parse(command, argc, argv, &values, &arguments, &code)) return code;
	pfld_device_mask_from_env(&mask);
	int32_t num = pfld_device_list(&mask, infos, MAX_DEVICES, notes, sizeof notes);
	if (num > MAX_DEVICES) num = MAX_DEVICES;
	if (!values.json)
		print_text(&mask, infos, num, notes);
	else if (!print_json(command, &mask, infos, num, notes))
		return EXIT_BAD;
	return EXIT_GOOD;
}

const struct command DEVICES_COMMAND = {
	.name = "devices",
	.summary = "list what there is to compute on, and what is masked by what",
	.operands = "",
	.examples = "  pfld devices\n  CUDA_VISIBLE_DEVICES=-1 pfld devices --json\n",
	.options = OPTIONS,
	.run = run,
};
