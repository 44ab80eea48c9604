// SPDX-License-Identifier: MIT
// A training run as a file that chrome://tracing and Perfetto show: lanes of ops, and what is live in the shared arena.
#ifndef PFLD_PROGRAM_TRACE_H
#define PFLD_PROGRAM_TRACE_H

#include <pfld/pfld.h>

struct trace;
// The first `max_steps` training steps, and what other programs run until then, go into `path`.
enum pfld_status trace_open(struct trace **trace, const char *path, int32_t max_steps, struct pfld_error *error);
// A pfld_observer; context is the trace.
void trace_op(void *context, const struct pfld_op_event *event);
// False: it could not be written; errno says why. NULL is allowed.
bool trace_close(struct trace **trace);

#endif
