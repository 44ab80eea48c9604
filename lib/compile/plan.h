// SPDX-License-Identifier: MIT
// Laying tensors out, and the plan that tells where everything lies.
#ifndef PFLD_COMPILE_PLAN_H
#define PFLD_COMPILE_PLAN_H

#include "compile/compile.h"

// Lifetimes to offsets: a pure function. Tensors that are persistent, or that no op touches, are left alone. Largest first,
// each at the lowest offset where it meets no tensor that lives at the same time. Writes offset_bytes and the bytes in all.
enum pfld_status pfld_plan_layout(struct pfld_emit_tensor *tensors, size_t num_tensors, size_t alignment,
                                  size_t *arena_bytes, struct pfld_error *error) PFLD_MUST_USE;

// A plan under construction: programs one after the other in one arena, and persistent blocks beside it.
struct pfld_plan *pfld_plan_create_empty(void); // NULL: out of memory
// Persistent memory that lives all the time, such as an optimizer's state.
enum pfld_status pfld_plan_add_block(struct pfld_plan *plan, const char *name, enum pfld_memory_class memory_class,
                                     size_t bytes, struct pfld_error *error) PFLD_MUST_USE;
// The ops and tensors of a compiled program. Parameters are counted once, with the first program that is added.
enum pfld_status pfld_plan_add_program(struct pfld_plan *plan, const struct pfld_compiled *compiled, const char *name,
                                       struct pfld_error *error) PFLD_MUST_USE;
// What was asked for; 0: nothing.
void pfld_plan_set_budget(struct pfld_plan *plan, uint64_t budget_bytes);
// Sums and bounds; call when all has been added.
enum pfld_status pfld_plan_close(struct pfld_plan *plan, struct pfld_error *error) PFLD_MUST_USE;

#endif
