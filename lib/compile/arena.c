// SPDX-License-Identifier: MIT
// Arenas: memory that programs of one device share, because only one of them runs at a time. As many pieces as the
// largest allocation of the device makes necessary; layout.c keeps tensors off their edges.
#include "compile/program.h"

#include <stdlib.h>

static void destroy(struct pfld_arena *arena, struct pfld_device *device)
{
	for (size_t i = 0; i < arena->num_pieces; i++)
		pfld_device_region_destroy(device, PFLD_MEMORY_ACTIVATIONS, &arena->pieces[i]);
	free(arena->pieces);
	free(arena);
}

static enum pfld_status take_pieces(struct pfld_arena *arena, struct pfld_device *device, struct pfld_error *error)
{
	size_t piece = pfld_arena_piece_bytes(device), num = (arena->bytes + piece - 1) / piece;
	arena->pieces = pfld_calloc(num, sizeof *arena->pieces);
	if (!arena->pieces) return pfld_fail_memory(error, num * sizeof *arena->pieces, "an arena");
	for (; arena->num_pieces < num; arena->num_pieces++) {
		size_t bytes = PFLD_MIN(piece, arena->bytes - arena->num_pieces * piece);
		enum pfld_status status = pfld_device_region_create(device, bytes, PFLD_MEMORY_ACTIVATIONS,
		                                                    "the arena of activations", &arena->pieces[arena->num_pieces], error);
		if (status != PFLD_OK) return status;
	}
	return PFLD_OK;
}

enum pfld_status pfld_arena_acquire(struct pfld_arena **arena, struct pfld_device *device, size_t bytes,
                                    struct pfld_error *error)
{
	for (struct pfld_arena *a = device->arenas; a; a = a->next)
		if (a->bytes >= bytes) {
			a->num_users++;
			*arena = a;
			return PFLD_OK;
		}
	struct pfld_arena *fresh = pfld_calloc(1, sizeof *fresh);
	if (!fresh) return pfld_fail_memory(error, sizeof *fresh, "an arena");
	fresh->bytes = bytes;
	enum pfld_status status = take_pieces(fresh, device, error);
	if (status != PFLD_OK) {
		destroy(fresh, device);
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
	destroy(a, device);
}
