// SPDX-License-Identifier: MIT
// Devices: enumeration over all backends, opening by name, and running ops through the backend's table with the sticky
// failure checked. Memory and copies: memory.c. Masking rules: mask.c.
#include "device/device.h"
#include "base/float_mode.h"
#include "base/thread.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_THREADS = 4096 };

// A visible device: whose it is, and its index there.
struct visible {
	const struct pfld_backend *backend;
	int32_t index;
	struct pfld_device_info info;
};

// All devices of the first num_backends, in order, as if nothing were masked. NULL: out of memory. Free with free().
static struct visible *list_all(int32_t num_backends, int32_t *num_found)
{
	int32_t num = 0;
	for (int32_t b = 0; b < num_backends; b++) num += pfld_backends[b]->list(NULL, 0);
	struct pfld_device_info *infos = pfld_calloc((size_t)num + 1, sizeof *infos);
	struct visible *found = pfld_calloc((size_t)num + 1, sizeof *found);
	*num_found = 0;
	for (int32_t b = 0; infos && found && b < num_backends; b++) {
		int32_t room = num - *num_found, listed = pfld_backends[b]->list(infos, room);
		for (int32_t i = 0; i < PFLD_MIN(listed, room); i++)
			found[(*num_found)++] = (struct visible){pfld_backends[b], i, infos[i]};
	}
	if (!infos) free(found);
	free(infos);
	return infos ? found : NULL;
}

static int32_t num_backends(void)
{
	int32_t num = 0;
	while (pfld_backends[num]) num++;
	return num;
}

// Backends that must be asked for a device of this name. The first backend needs no other's driver to be loaded.
static int32_t num_asked(const char *name)
{
	return !strcmp(name, pfld_backends[0]->name) ? 1 : num_backends();
}

// "opencl:2" becomes "opencl:0" when it is the first that masking left.
static void renumber(struct visible *visible, int32_t num)
{
	int32_t number = 0;
	for (int32_t i = 0; i < num; i++) {
		char *colon = strchr(visible[i].info.name, ':');
		if (!colon) continue;
		size_t space = sizeof visible[i].info.name - (size_t)(colon + 1 - visible[i].info.name);
		snprintf(colon + 1, space, "%d", (int)number++);
	}
}

// What is missing where a backend found nothing.
static void note_missing(const struct visible *found, int32_t num_found, int32_t num_backends, char *notes,
						 size_t notes_bytes)
{
	for (int32_t b = 0; notes && b < num_backends; b++) {
		const struct pfld_backend *backend = pfld_backends[b];
		bool has_any = false;
		for (int32_t i = 0; i < num_found; i++) has_any = has_any || found[i].backend == backend;
		size_t length = strlen(notes);
		if (has_any || !backend->why_none || length >= notes_bytes) continue;
		snprintf(notes + length, notes_bytes - length, "%s\n", backend->why_none());
	}
}

// The devices of the first backends that the mask leaves, with their names after masking. NULL: out of memory. Free with
// free().
static struct visible *list_visible(const struct pfld_device_mask *mask, int32_t num_backends, int32_t *num_visible,
									char *notes, size_t notes_bytes)
{
	int32_t num_found = 0;
	struct visible *found = list_all(num_backends, &num_found);
	struct pfld_device_info *infos = pfld_calloc((size_t)num_found + 1, sizeof *infos);
	int32_t *order = pfld_calloc((size_t)num_found + 1, sizeof *order);
	struct visible *visible = pfld_calloc((size_t)num_found + 1, sizeof *visible);
	bool complete = found && infos && order && visible;
	if (complete) {
		for (int32_t i = 0; i < num_found; i++) infos[i] = found[i].info;
		if (notes && notes_bytes) notes[0] = '\0';
		*num_visible = pfld_device_mask_apply(mask, infos, num_found, order, notes, notes_bytes);
		for (int32_t i = 0; i < *num_visible; i++) visible[i] = found[order[i]];
		renumber(visible, *num_visible);
		if (notes_bytes) note_missing(found, num_found, num_backends, notes, notes_bytes);
	} else {
		free(visible);
	}
	free(order);
	free(infos);
	free(found);
	return complete ? visible : NULL;
}

int32_t pfld_device_list(const struct pfld_device_mask *mask, struct pfld_device_info *infos, int32_t capacity,
						 char *notes, size_t notes_bytes)
{
	int32_t num = 0;
	struct visible *visible = list_visible(mask, num_backends(), &num, notes, notes_bytes);
	if (!visible) {
		if (notes && notes_bytes) snprintf(notes, notes_bytes, "out of memory while listing devices\n");
		return 0;
	}
	for (int32_t i = 0; infos && i < PFLD_MIN(num, capacity); i++) infos[i] = visible[i].info;
	free(visible);
	return num;
}

int32_t pfld_default_num_threads(void)
{
	return pfld_default_threads();
}

// ---- opening ----

static bool is_better(const struct pfld_device_info *a, const struct pfld_device_info *b)
{
	if (a->num_units != b->num_units) return a->num_units > b->num_units;
	return a->memory_bytes > b->memory_bytes;
}

// The one that `name` means, or -1. "auto": the accelerator with the most units, else the first that is never masked.
static int32_t choose(const struct visible *visible, int32_t num, const char *name)
{
	int32_t best = -1;
	bool automatic = !strcmp(name, "auto");
	for (int32_t i = 0; i < num; i++) {
		const struct pfld_device_info *info = &visible[i].info;
		if (!automatic && !strcmp(info->name, name)) return i;
		if (!automatic || info->unusable[0]) continue;
		bool fallback = !strchr(info->name, ':');
		if (!fallback && !info->is_accelerator) continue;
		bool best_is_fallback = best >= 0 && !strchr(visible[best].info.name, ':');
		if (best < 0 || (!fallback && (best_is_fallback || is_better(info, &visible[best].info)))) best = i;
	}
	return best;
}

// Whether this build has the backend that the name begins with.
static bool is_known(const char *name)
{
	size_t length = strcspn(name, ":");
	for (int32_t b = 0; pfld_backends[b]; b++) {
		const char *known = pfld_backends[b]->name;
		if (strlen(known) == length && !strncmp(known, name, length)) return true;
	}
	return false;
}

static enum pfld_status fail_no_device(const struct visible *visible, int32_t num, const char *name, const char *notes,
									   struct pfld_error *error)
{
	char shown[PFLD_SHOWN_BYTES];
	struct pfld_text names = {0};
	for (int32_t i = 0; i < num; i++) {
		pfld_text_printf(&names, "%s%s%s", i ? ", " : "", visible[i].info.name,
						 visible[i].info.unusable[0] ? " (unusable)" : "");
	}
	enum pfld_status status =
		pfld_fail(error, PFLD_ERR_NO_DEVICE, "there is no device \"%s\"; there is: %s%s%s%s", pfld_show(shown, name, 64),
				  names.data && !names.failed ? names.data : "cpu",
				  is_known(name) ? "" : ". This build has no backend of that name", *notes ? ".\n" : "", notes);
	pfld_text_finish(&names);
	return status;
}

static enum pfld_status check_options(const struct pfld_device_options *options, struct pfld_error *error)
{
	if (options->num_threads < 0 || options->num_threads > MAX_THREADS) {
		return pfld_fail(error, PFLD_ERR_ARGUMENT, "num_threads is %d; it must be 0 (default) to %d",
						 (int)options->num_threads, (int)MAX_THREADS);
	}
	if (options->parallel_for && options->num_threads == 0) {
		return pfld_fail(error, PFLD_ERR_ARGUMENT,
						 "num_threads is 0; with parallel_for it must tell how many threads the host brings");
	}
	return PFLD_OK;
}

static enum pfld_status open_visible(struct pfld_device **device, const struct visible *visible,
									 const struct pfld_device_options *options, struct pfld_error *error)
{
	struct pfld_device *opened = pfld_calloc(1, sizeof *opened);
	if (!opened) return pfld_fail_memory(error, sizeof *opened, "a device");
	opened->backend = visible->backend;
	opened->info = visible->info;
	opened->log = options->log;
	enum pfld_status status = opened->backend->open(&opened->state, visible->index, options, error);
	if (status) {
		free(opened);
		return status;
	}
	opened->backend->limits(opened->state, &opened->limits);
	status = pfld_chunks_open(opened, options, error);
	if (status) {
		opened->backend->close(&opened->state);
		free(opened);
		return status;
	}
	*device = opened;
	return PFLD_OK;
}

enum pfld_status pfld_device_open(struct pfld_device **device, const char *name,
								  const struct pfld_device_options *options, struct pfld_error *error)
{
	static const struct pfld_device_options defaults;
	if (!options) options = &defaults;
	if (!device || !name)
		return pfld_fail(error, PFLD_ERR_ARGUMENT, "pfld_device_open needs a place for the device, and a name");
	enum pfld_status status = check_options(options, error);
	if (status) return status;
	char notes[768] = "";
	int32_t num = 0;
	struct visible *visible = list_visible(options->mask, num_asked(name), &num, notes, sizeof notes);
	if (!visible) return pfld_fail_memory(error, sizeof *visible, "the list of devices");
	int32_t chosen = choose(visible, num, name);
	if (chosen < 0) {
		status = fail_no_device(visible, num, name, notes, error);
	} else if (visible[chosen].info.unusable[0]) {
		status = pfld_fail(error, PFLD_ERR_NO_DEVICE, "device %s cannot be used: %s", visible[chosen].info.name,
						   visible[chosen].info.unusable);
	} else {
		status = open_visible(device, &visible[chosen], options, error);
	}
	free(visible);
	return status;
}

void pfld_device_close(struct pfld_device **device)
{
	if (!device || !*device) return;
	if ((*device)->num_users > 0) {
		// A leak is better than memory that is used after it was freed.
		pfld_log_write(&(*device)->log, PFLD_LOG_ERROR, "device %s stays open: %d objects made from it still live",
					   (*device)->info.name, (int)(*device)->num_users);
		*device = NULL;
		return;
	}
	pfld_chunks_close(*device);
	(*device)->backend->close(&(*device)->state);
	free(*device);
	*device = NULL;
}

const struct pfld_device_info *pfld_device_get_info(const struct pfld_device *device)
{
	return &device->info;
}

int32_t pfld_device_num_threads(const struct pfld_device *device)
{
	return device->backend->num_threads(device->state);
}

const char *pfld_device_level(const struct pfld_device *device)
{
	return device->backend->level(device->state);
}

void pfld_device_get_limits(const struct pfld_device *device, struct pfld_device_limits *limits)
{
	*limits = device->limits;
}

// ---- ops ----

enum pfld_status pfld_device_check_lost(const struct pfld_device *device, struct pfld_error *error)
{
	if (!device->lost) return PFLD_OK;
	return pfld_fail(error, PFLD_ERR_DEVICE_LOST, "device %s failed before; nothing runs on it any more",
					 device->info.name);
}

enum pfld_status pfld_device_note_status(struct pfld_device *device, enum pfld_status status)
{
	if (status == PFLD_ERR_DEVICE_LOST) device->lost = true;
	return status;
}

bool pfld_device_supports(const struct pfld_device *device, const struct pfld_op *op)
{
	const char *reason;
	return device->backend->supports(device->state, op, &reason);
}

enum pfld_status pfld_device_prepare(struct pfld_device *device, const struct pfld_op *op, int32_t batch,
									 struct pfld_op_state **state, struct pfld_error *error)
{
	enum pfld_status status = pfld_device_check_lost(device, error);
	if (status) return status;
	if (batch < 1) return pfld_fail(error, PFLD_ERR_ARGUMENT, "batch is %d; it must be at least 1", (int)batch);
	status = pfld_op_check(op, error);
	if (status) return status;
	const char *reason = "no reason given";
	if (!device->backend->supports(device->state, op, &reason)) {
		return pfld_fail(error, PFLD_ERR_UNSUPPORTED, "device %s does not do %s: %s", device->info.name,
						 pfld_op_name(op->kind), reason);
	}
	return pfld_device_note_status(device, device->backend->prepare(device->state, op, batch, state, error));
}

void pfld_device_release(struct pfld_device *device, struct pfld_op_state **state)
{
	device->backend->release(device->state, state);
}

enum pfld_status pfld_device_enqueue(struct pfld_device *device, const struct pfld_op *op, struct pfld_op_state *state,
									 const struct pfld_run *run, struct pfld_error *error)
{
	enum pfld_status status = pfld_device_check_lost(device, error);
	if (status) return status;
	struct pfld_float_mode mode;
	pfld_float_mode_enter(&mode);
	status = device->backend->enqueue(device->state, op, state, run, error);
	pfld_float_mode_leave(&mode);
	return pfld_device_note_status(device, status);
}

enum pfld_status pfld_device_finish(struct pfld_device *device, struct pfld_error *error)
{
	enum pfld_status status = pfld_device_check_lost(device, error);
	if (status) return status;
	return pfld_device_note_status(device, device->backend->finish(device->state, error));
}
