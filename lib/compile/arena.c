// SPDX-License-Identifier: MIT
// Arenas: memory that programs of one device share, because only one of them runs at a time.
#include "compile/program.h"

#include <stdlib.h>

enum pfld_status pfld_arena_acquire(struct pfld_arena **arena, struct pfld_device *device, size_t bytes,
                                    struct pfld_error *error)
{
	for (struct pfld_arena *a = device->arenas; a; a = a->next)
		if (a->region.bytes >= bytes) {
			a->num_users++;
			*arena = a;
			return PFLD_OK;
		}
	struct pfld_arena *fresh = pfld_calloc(1, sizeof *fresh);
	if (!fresh) return pfld_fail_memory(error, sizeof *fresh, "an arena");
	enum pfld_status status =
	    pfld_device_region_create(device, bytes, PFLD_MEMORY_ACTIVATIONS, "the arena of activations", &fresh->region, error);
	if (status != PFLD_OK) {
		free(fresh);
		return status;
	}
	fresh->num_users = 1;
	fresh->next = device->arenas;
	device->arenas = *arena = fresh;
	return PFLD_OK;
}

void pfld_arena_release(struct pfld_arena **arena, struct pfld_device *device, const struct pfld_program *program)
{
	struct pfld_arena *a = *arena;
	*arena = NULL;
	if (!a) return;
	if (a->occupant == program) a->occupant = NULL;
	if (--a->num_users > 0) return;
	for (struct pfld_arena **link = &device->arenas; *link; link = &(*link)->next)
		if (*link == a) {
			*link = a->next;
			break;
		}
	pfld_device_region_destroy(device, PFLD_MEMORY_ACTIVATIONS, &a->region);
	free(a);
}
