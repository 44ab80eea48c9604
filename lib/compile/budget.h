// SPDX-License-Identifier: MIT
// Keeping a budget: which blocks to compute again, at least predicted time.
#ifndef PFLD_COMPILE_BUDGET_H
#define PFLD_COMPILE_BUDGET_H

#include "compile/compile.h"

// `compiled` keeps everything; on return it keeps the budget (bytes of all homes), where one is given. Fills its smallest_bytes
// and time_ratio. A budget below the smallest is no failure here: the result is then the smallest, and fits is false.
enum pfld_status pfld_keep_budget(struct pfld_compiled *compiled, const struct pfld_program_options *options,
                                  struct pfld_error *error) PFLD_MUST_USE;

#endif
