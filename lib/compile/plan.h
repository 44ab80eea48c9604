// SPDX-License-Identifier: MIT
// Laying tensors out, and the plan that tells where everything lies.
#ifndef PFLD_COMPILE_PLAN_H
#define PFLD_COMPILE_PLAN_H

#include "compile/compile.h"

// Lifetimes to offsets: a pure function (layout.c). Tensors that are persistent, or that no op touches, are left alone. Each in
// turn at the lowest offset where it meets no tensor that lives at the same time, in several orders, of which the best is
// kept. The arena comes in pieces of piece_bytes, and no tensor lies across an edge; none is larger than a piece. Writes
// offset_bytes and the bytes in all.
enum pfld_status pfld_plan_layout(struct pfld_emit_tensor *tensors, size_t num_tensors, size_t alignment,
                                  size_t piece_bytes, size_t *arena_bytes, struct pfld_error *error) PFLD_MUST_USE;

// A plan under construction: programs one after the other in one arena, and persistent blocks beside it.
struct pfld_plan *pfld_plan_create_empty(void); // NULL: out of memory
// A region of its own for memory that lives all the time, such as an optimizer's state; it grows with its blocks.
enum pfld_status pfld_plan_add_region(struct pfld_plan *plan, const char *name, enum pfld_memory_class memory_class,
                                      int32_t *region, struct pfld_error *error) PFLD_MUST_USE;
// A block behind those that the region has.
enum pfld_status pfld_plan_add_block(struct pfld_plan *plan, int32_t region, const char *name, size_t bytes,
                                     struct pfld_error *error) PFLD_MUST_USE;
// The ops and tensors of a compiled program. Parameters are counted once, with the first program that is added.
enum pfld_status pfld_plan_add_program(struct pfld_plan *plan, const struct pfld_compiled *compiled, const char *name,
                                       struct pfld_error *error) PFLD_MUST_USE;
// What was asked for; 0: nothing.
void pfld_plan_set_budget(struct pfld_plan *plan, uint64_t budget_bytes);
// Sums and bounds; call when all has been added.
enum pfld_status pfld_plan_close(struct pfld_plan *plan, struct pfld_error *error) PFLD_MUST_USE;

// Plans what the context describes, a program or a trainer, for a batch under a budget (0: none).
typedef enum pfld_status pfld_plan_maker(struct pfld_plan **plan, void *context, int32_t batch, uint64_t budget_bytes,
                                         struct pfld_error *error);
// largest.c: the search for the largest batch; the bytes are those of program.h, trainer.h.
enum { PFLD_MOST_BATCH = 1 << 20 };
enum pfld_status pfld_find_largest_batch(struct pfld_largest_batch *largest, pfld_plan_maker *make, void *context,
                                         uint64_t limit_bytes, bool compute_again, struct pfld_error *error) PFLD_MUST_USE;
// Refused before the first byte is taken: touched pages that do not fit can cost the process its life. `weights` are there.
enum pfld_status pfld_plan_check_room(const struct pfld_plan *plan, const struct pfld_weights *weights, const char *what,
                                      struct pfld_error *error) PFLD_MUST_USE;
// page.c: the out-of-memory page of what `make` plans. `weights` (NULL: not there yet) are in the plan and are taken already.
enum pfld_status pfld_memory_page_fill(struct pfld_memory_page *page, const struct pfld_device *device,
                                       const struct pfld_weights *weights, pfld_plan_maker *make, void *context,
                                       int32_t batch, uint64_t budget_bytes, struct pfld_error *error) PFLD_MUST_USE;

#endif
