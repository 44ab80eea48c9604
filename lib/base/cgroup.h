// SPDX-License-Identifier: MIT
// Finds the control groups of this process, for the limits on CPUs (cpus.c) and memory (system.c); nobody else.
#ifndef PFLD_BASE_CGROUP_H
#define PFLD_BASE_CGROUP_H

#include "base.h"

enum pfld_cgroup_version { PFLD_CGROUP_V1 = 1, PFLD_CGROUP_V2 };
// Called with the folder of one group, in which the files of its limits lie (or not).
typedef void pfld_cgroup_fn(void *arg, const char *folder, enum pfld_cgroup_version version);

// Visits the group of this process and its parents in every hierarchy that has the controller ("cpu", "memory"), with
// the root of the file system given: <root>/proc/self/cgroup and <root>/sys/fs/cgroup are looked at. What cannot be
// read is passed over.
void pfld_cgroup_visit(const char *root, const char *controller, pfld_cgroup_fn *visit, void *arg);

// The content of a small file in the folder, to be freed with free(); NULL when it cannot be read.
char *pfld_cgroup_read(const char *folder, const char *name);

#endif
