// SPDX-License-Identifier: MIT
// Clocks, and what the system counts about this process.
#define _POSIX_C_SOURCE 200809L
#include "file.h"
#include "thread.h"

#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

static uint64_t clock_ns(clockid_t clock)
{
	struct timespec now;
	if (clock_gettime(clock, &now) != 0) return 0;
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

uint64_t pfld_now_ns(void)
{
	return clock_ns(CLOCK_MONOTONIC);
}

uint64_t pfld_process_cpu_ns(void)
{
	return clock_ns(CLOCK_PROCESS_CPUTIME_ID);
}

// The number behind `name` at the start of a line of a file of /proc; 0 when it is not there.
static uint64_t proc_number(const char *path, const char *name)
{
	uint8_t *data;
	size_t num_bytes;
	if (pfld_file_read(path, 1 << 16, &data, &num_bytes, NULL)) return 0;
	uint64_t number = 0;
	const char *line = (const char *)data;
	while (line && strncmp(line, name, strlen(name)) != 0) {
		line = strchr(line, '\n');
		if (line) line++;
	}
	if (line) {
		line += strlen(name);
		line += strspn(line, " \t");
		for (; *line >= '0' && *line <= '9'; line++) number = number * 10 + (uint64_t)(*line - '0');
	}
	free(data);
	return number;
}

uint64_t pfld_process_peak_bytes(void)
{
	// Preferred: ru_maxrss also counts what stood in this process's place before exec.
	uint64_t peak_kib = proc_number("/proc/self/status", "VmHWM:");
	struct rusage usage;
	if (peak_kib == 0 && getrusage(RUSAGE_SELF, &usage) == 0) peak_kib = (uint64_t)usage.ru_maxrss;
	return peak_kib * 1024;
}

uint64_t pfld_process_bytes_read(void)
{
	return proc_number("/proc/self/io", "read_bytes:");
}
