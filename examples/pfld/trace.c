// SPDX-License-Identifier: MIT
// Chrome's trace event format: https://chromium.googlesource.com/catapult, "Trace Event Format".
#include "trace.h"
#include "say.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum lane { LANE_FORWARD = 1, LANE_AGAIN, LANE_BACKWARD, LANE_OTHER };

struct trace {
	FILE *file;
	uint64_t first_ns;
	int32_t steps_left;
};

static void name_lane(FILE *file, enum lane lane, const char *name)
{
	fprintf(file, "%s\n{\"name\": \"thread_name\", \"ph\": \"M\", \"pid\": 1, \"tid\": %d, \"args\": {\"name\": \"%s\"}}",
			lane == LANE_FORWARD ? "" : ",", (int)lane, name);
}

enum pfld_status trace_open(struct trace **trace, const char *path, int32_t max_steps, struct pfld_error *error)
{
	char shown[SHOWN_BYTES];
	struct trace *fresh = calloc(1, sizeof(*fresh));
	if (!fresh) return fail(error, PFLD_ERR_MEMORY, "out of memory for a trace");
	fresh->file = fopen(path, "w");
	if (!fresh->file) {
		free(fresh);
		return fail(error, PFLD_ERR_IO, "%s cannot be written: %s", show(shown, path), strerror(errno));
	}
	fresh->steps_left = max_steps;
	fputs("{\"displayTimeUnit\": \"ms\", \"traceEvents\": [", fresh->file);
	name_lane(fresh->file, LANE_FORWARD, "forward and loss");
	name_lane(fresh->file, LANE_AGAIN, "forward again, for the memory budget");
	name_lane(fresh->file, LANE_BACKWARD, "backward");
	name_lane(fresh->file, LANE_OTHER, "test");
	*trace = fresh;
	return PFLD_OK;
}

// Microseconds with three digits behind the mark, whatever the locale.
static void put_time(FILE *file, const char *name, uint64_t ns)
{
	fprintf(file, "\"%s\": %llu.%03u", name, (unsigned long long)(ns / 1000), (unsigned)(ns % 1000));
}

void trace_op(void *context, const struct pfld_op_event *event)
{
	struct trace *trace = context;
	bool trains = strcmp(event->program, "train") == 0;
	if (trace->steps_left < 0) return;
	if (trains && event->index == 0 && --trace->steps_left < 0) return;
	if (!trace->first_ns) trace->first_ns = event->start_ns;
	enum lane lane = !trains ? LANE_OTHER : event->again ? LANE_AGAIN : event->backward ? LANE_BACKWARD : LANE_FORWARD;
	uint64_t start = event->start_ns - trace->first_ns;
	fprintf(trace->file, ",\n{\"name\": \"%s%s%s\", \"cat\": \"%s\", \"ph\": \"X\", \"pid\": 1, \"tid\": %d, ", event->op,
			event->layer[0] ? " " : "", event->layer, event->program, (int)lane);
	put_time(trace->file, "ts", start);
	fputs(", ", trace->file);
	put_time(trace->file, "dur", event->end_ns - event->start_ns);
	fprintf(trace->file, ", \"args\": {\"op\": %d}},\n{\"name\": \"arena\", \"ph\": \"C\", \"pid\": 1, ", (int)event->index);
	put_time(trace->file, "ts", start);
	fprintf(trace->file, ", \"args\": {\"live_bytes\": %llu}}", (unsigned long long)event->live_bytes);
}

bool trace_close(struct trace **trace)
{
	if (!*trace) return true;
	FILE *file = (*trace)->file;
	bool good = fputs("\n]}\n", file) >= 0 && !ferror(file);
	good = fclose(file) == 0 && good;
	free(*trace);
	*trace = NULL;
	return good;
}
