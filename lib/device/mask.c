// SPDX-License-Identifier: MIT
// Masking: which devices PFLD_VISIBLE_DEVICES and CUDA_VISIBLE_DEVICES leave visible, by the rules of the CUDA driver
// as PyTorch's emulation of it has them: numbers are read like strtoul does (leading digits count), the first invalid
// entry ends the list, a duplicate empties it. A pure function over any list of devices, but for the one that reads the
// environment. Called by device.c and by programs that explain the list.
#include "base/base.h"
#include <pfld/device.h>

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_ENTRY = 128 };

// What is being filled: the devices that stay, and the notes.
struct masking {
	const struct pfld_device_info *infos;
	const int32_t *maskable; // indices of infos that masking is about, in order
	int32_t num_maskable;
	int32_t *order; // kept, as indices of `maskable`
	int32_t num_kept;
	struct pfld_text notes;
};

static void copy_variable(char copy[512], bool *is_set, const char *name)
{
	const char *value = getenv(name);
	*is_set = value != NULL;
	if (!value) return;
	size_t length = strlen(value);
	// A longer value is cut; pfld_device_mask_apply() sees a full buffer and says so.
	length = PFLD_MIN(length, 511);
	memcpy(copy, value, length);
	copy[length] = '\0';
}

void pfld_device_mask_from_env(struct pfld_device_mask *mask)
{
	memset(mask, 0, sizeof *mask);
	copy_variable(mask->visible_devices, &mask->has_visible_devices, "PFLD_VISIBLE_DEVICES");
	copy_variable(mask->cuda_visible_devices, &mask->has_cuda_visible_devices, "CUDA_VISIBLE_DEVICES");
}

// The entry that starts at *text, without blanks around it, cut to MAX_ENTRY; *text moves behind its comma, or becomes
// NULL after the last.
static void next_entry(const char **text, char entry[MAX_ENTRY])
{
	const char *begin = *text, *end = begin + strcspn(begin, ",");
	*text = *end ? end + 1 : NULL;
	while (begin < end && strchr(" \t", *begin)) begin++;
	while (end > begin && strchr(" \t", end[-1])) end--;
	size_t length = (size_t)(end - begin);
	length = PFLD_MIN(length, MAX_ENTRY - 1);
	memcpy(entry, begin, length);
	entry[length] = '\0';
}

static bool is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

// "GPU-8932f937...": letters, a dash, and something behind it.
static bool is_uuid_entry(const char *entry)
{
	size_t length = 0;
	while (is_letter(entry[length])) length++;
	return length > 0 && entry[length] == '-' && entry[length + 1] != '\0';
}

// The number that an entry begins with, as strtoul reads it; -1 when there is none or it is negative.
static int64_t leading_number(const char *entry)
{
	const char *digit = entry + (*entry == '+' || *entry == '-');
	if (*digit < '0' || *digit > '9') return -1;
	int64_t value = 0;
	for (; *digit >= '0' && *digit <= '9'; digit++) {
		if (value < INT32_MAX) value = value * 10 + (*digit - '0');
	}
	return *entry == '-' && value ? -1 : value;
}

// Index of the maskable device whose UUID begins with the entry; -1: none, -2: several.
static int32_t find_uuid(const struct masking *masking, const char *entry)
{
	int32_t found = -1;
	for (int32_t i = 0; i < masking->num_maskable; i++) {
		const char *uuid = masking->infos[masking->maskable[i]].uuid;
		if (strncmp(uuid, entry, strlen(entry)) != 0) continue;
		if (found >= 0) return -2;
		found = i;
	}
	return found;
}

// The device an entry means, or -1 with the reason in words.
static int32_t resolve(const struct masking *masking, const char *entry, bool by_uuid, const char **reason)
{
	if (!*entry) {
		*reason = "is empty";
		return -1;
	}
	if (by_uuid) {
		int32_t found = -1;
		if (!is_uuid_entry(entry))
			*reason = "is not a UUID as the entries before it are";
		else if ((found = find_uuid(masking, entry)) == -1)
			*reason = "begins the UUID of no device";
		else if (found == -2)
			*reason = "begins the UUIDs of several devices";
		return found;
	}
	int64_t number = leading_number(entry);
	if (number < 0) {
		*reason = *entry == '-' ? "is negative" : "is no number";
		return -1;
	}
	if (number >= masking->num_maskable) {
		*reason =
			masking->num_maskable ? "is above the last device's number" : "names a device where there is none to mask";
		return -1;
	}
	return (int32_t)number;
}

// PFLD_VISIBLE_DEVICES=`value` over all maskable devices.
static void apply_visible(struct masking *masking, const char *value)
{
	char entry[MAX_ENTRY], shown[PFLD_SHOWN_BYTES];
	int32_t number = 0;
	bool by_uuid = false;
	masking->num_kept = 0;
	if (!value[strspn(value, " \t")]) {
		pfld_text_append(&masking->notes, "PFLD_VISIBLE_DEVICES is empty: it hides all devices but cpu\n");
		return;
	}
	for (const char *rest = value; rest;) {
		const char *reason = NULL;
		next_entry(&rest, entry);
		number++;
		if (number == 1) by_uuid = is_uuid_entry(entry);
		int32_t device = resolve(masking, entry, by_uuid, &reason);
		if (device < 0) {
			pfld_text_printf(&masking->notes,
							 "PFLD_VISIBLE_DEVICES: entry %d, \"%s\", %s: the list ends before it, with %d device%s\n",
							 (int)number, pfld_show(shown, entry, 64), reason, (int)masking->num_kept,
							 masking->num_kept == 1 ? "" : "s");
			return;
		}
		for (int32_t i = 0; i < masking->num_kept; i++) {
			if (masking->order[i] != device) continue;
			pfld_text_printf(&masking->notes,
							 "PFLD_VISIBLE_DEVICES: entry %d, \"%s\", names the device of entry %d again: a duplicate "
							 "leaves no device\n",
							 (int)number, pfld_show(shown, entry, 64), (int)(i + 1));
			masking->num_kept = 0;
			return;
		}
		masking->order[masking->num_kept++] = device;
	}
}

static void note_hidden(struct masking *masking)
{
	for (int32_t i = 0; i < masking->num_maskable; i++) {
		bool kept = false;
		for (int32_t k = 0; k < masking->num_kept; k++) kept |= masking->order[k] == i;
		const struct pfld_device_info *info = &masking->infos[masking->maskable[i]];
		if (!kept) {
			pfld_text_printf(&masking->notes, "PFLD_VISIBLE_DEVICES hides %s (%s)\n", info->name, info->description);
		}
	}
}

// CUDA_VISIBLE_DEVICES over what is left.
static void apply_cuda(struct masking *masking, const char *value)
{
	char entry[MAX_ENTRY], shown[PFLD_SHOWN_BYTES];
	const char *rest = value;
	next_entry(&rest, entry);
	pfld_show(shown, value, 64);
	if (rest || (*entry && strcmp(entry, "-1") != 0)) {
		pfld_text_printf(&masking->notes,
						 "CUDA_VISIBLE_DEVICES is \"%s\": left to the NVIDIA driver, nothing hidden here\n", shown);
		return;
	}
	int32_t num_kept = 0;
	for (int32_t i = 0; i < masking->num_kept; i++) {
		const struct pfld_device_info *info = &masking->infos[masking->maskable[masking->order[i]]];
		if (info->is_accelerator) {
			pfld_text_printf(&masking->notes, "CUDA_VISIBLE_DEVICES is \"%s\": it hides %s (%s)\n", shown, info->name,
							 info->description);
		} else {
			masking->order[num_kept++] = masking->order[i];
		}
	}
	if (num_kept == masking->num_kept) {
		pfld_text_printf(&masking->notes,
						 "CUDA_VISIBLE_DEVICES is \"%s\": it hides GPUs and accelerators, and there is none to hide\n",
						 shown);
	}
	masking->num_kept = num_kept;
}

static void apply_mask(struct masking *masking, const struct pfld_device_mask *mask)
{
	if (mask->has_visible_devices) {
		if (strlen(mask->visible_devices) == sizeof mask->visible_devices - 1) {
			pfld_text_append(&masking->notes, "PFLD_VISIBLE_DEVICES is longer than 510 bytes: the rest is not read\n");
		}
		apply_visible(masking, mask->visible_devices);
		note_hidden(masking);
	}
	if (mask->has_cuda_visible_devices) apply_cuda(masking, mask->cuda_visible_devices);
}

static void write_notes(struct pfld_text *text, char *notes, size_t notes_bytes)
{
	if (notes && notes_bytes) {
		size_t length = PFLD_MIN(text->length, notes_bytes - 1);
		if (length) memcpy(notes, text->data, length);
		notes[length] = '\0';
	}
	pfld_text_finish(text);
}

// A device that is never masked has a name without ':' ("cpu").
static bool is_maskable(const struct pfld_device_info *info)
{
	return strchr(info->name, ':') != NULL;
}

int32_t pfld_device_mask_apply(const struct pfld_device_mask *mask, const struct pfld_device_info *infos,
							   int32_t num_infos, int32_t *order, char *notes, size_t notes_bytes)
{
	int32_t num = 0;
	int32_t *scratch = pfld_calloc(2 * (size_t)num_infos + 1, sizeof *scratch);
	struct masking masking = {.infos = infos, .maskable = scratch};
	for (int32_t i = 0; i < num_infos; i++) {
		if (!is_maskable(&infos[i]))
			order[num++] = i;
		else if (scratch)
			scratch[masking.num_maskable++] = i;
	}
	if (!scratch) {
		pfld_text_append(&masking.notes, "out of memory while masking devices: only cpu is listed\n");
		write_notes(&masking.notes, notes, notes_bytes);
		return num;
	}
	masking.order = scratch + num_infos;
	masking.num_kept = masking.num_maskable;
	for (int32_t i = 0; i < masking.num_maskable; i++) masking.order[i] = i;
	if (mask) apply_mask(&masking, mask);
	for (int32_t i = 0; i < masking.num_kept; i++) order[num++] = scratch[masking.order[i]];
	write_notes(&masking.notes, notes, notes_bytes);
	free(scratch);
	return num;
}
