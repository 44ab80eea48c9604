// SPDX-License-Identifier: MIT
// The new layout: layers/CLASS_N/vars/0, 1, ... A layer's name is an attribute of vars in new files; else a layer is
// known by its class and its place among those of the class, by the number (text order would put 10 before 2). A model
// that is a layer holds layers of its own.
#include "keras.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_DEPTH = 8, PATH_BYTES = 1024 };

struct counter {
	const char *kind;
	int32_t num;
};
struct walk {
	struct pfld_keras_file *file;
	struct counter *counters; // by class
	size_t num, capacity;
};

// By class, then by number.
static int by_number(const void *a, const void *b)
{
	const char *const *x = a, *const *y = b;
	int64_t number_x, number_y;
	size_t length_x = pfld_keras_split_number(*x, &number_x), length_y = pfld_keras_split_number(*y, &number_y);
	int order = strncmp(*x, *y, PFLD_MIN(length_x, length_y));
	if (order == 0 && length_x != length_y) order = length_x < length_y ? -1 : 1;
	if (order == 0 && number_x != number_y) order = number_x < number_y ? -1 : 1;
	return order ? order : strcmp(*x, *y);
}

// vars/0 before vars/10.
static int by_length(const void *a, const void *b)
{
	const char *const *x = a, *const *y = b;
	size_t length_x = strlen(*x), length_y = strlen(*y);
	return length_x != length_y ? (length_x < length_y ? -1 : 1) : strcmp(*x, *y);
}

static void sort(struct pfld_names *names, int (*compare)(const void *, const void *))
{
	if (names->num) qsort(names->names, names->num, sizeof *names->names, compare);
}

static struct counter *counter_of(struct walk *walk, const char *name)
{
	int64_t number;
	size_t length = pfld_keras_split_number(name, &number);
	for (size_t i = 0; i < walk->num; i++)
		if (!strncmp(walk->counters[i].kind, name, length) && !walk->counters[i].kind[length])
			return &walk->counters[i];
	const char *kind = pfld_keras_keep(walk->file, name, length);
	if (!kind || !pfld_grow(&walk->counters, &walk->capacity, walk->num + 1, sizeof *walk->counters)) return NULL;
	walk->counters[walk->num] = (struct counter){kind, 0};
	return &walk->counters[walk->num++];
}

static bool path_of(char path[PATH_BYTES], const char *parent, const char *name)
{
	int length = snprintf(path, PATH_BYTES, "%s/%s", parent, name);
	return length > 0 && length < PATH_BYTES;
}

// The arrays of one layer; `vars` is the path of its group, `name` that of the layer's.
static enum pfld_status read_vars(struct walk *walk, const char *vars, const char *name, struct pfld_error *error)
{
	struct pfld_names members = {0}, names = {0};
	bool named;
	enum pfld_status status = pfld_hdf5_children(walk->file->hdf5, vars, &members, error);
	if (!status) status = pfld_hdf5_strings(walk->file->hdf5, vars, "name", &names, &named, error);
	struct pfld_keras_entry entry = {.num = (int32_t)members.num};
	if (!status && members.num) {
		struct counter *counter = counter_of(walk, name);
		if (counter) {
			entry.kind = counter->kind;
			entry.rank = counter->num++;
		}
		if (counter && names.num) entry.layer = pfld_keras_keep(walk->file, names.names[0], strlen(names.names[0]));
		if (!counter || (names.num && !entry.layer)) status = pfld_fail_memory(error, 1, "names in a Keras file");
	}
	sort(&members, by_length);
	for (size_t i = 0; !status && i < members.num; i++) {
		char path[PATH_BYTES];
		entry.index = (int32_t)i;
		status = path_of(path, vars, members.names[i])
					 ? pfld_keras_add(walk->file, &entry, path, error)
					 : pfld_fail(error, PFLD_ERR_UNSUPPORTED, "names in a Keras file are too long");
	}
	pfld_names_finish(&members);
	pfld_names_finish(&names);
	return status;
}

static enum pfld_status read_container(struct walk *walk, const char *path, int depth, struct pfld_error *error)
{
	static const char *const containers[] = {"layers", "_layer_checkpoint_dependencies"};
	struct pfld_names members = {0};
	if (depth == MAX_DEPTH)
		return pfld_fail(error, PFLD_ERR_UNSUPPORTED, "more than %d models within models", MAX_DEPTH);
	enum pfld_status status = pfld_hdf5_children(walk->file->hdf5, path, &members, error);
	sort(&members, by_number);
	// Models within come first, as a backbone comes before the head that was put on it.
	for (int layers = 0; layers < 2; layers++)
		for (size_t i = 0; !status && i < members.num; i++) {
			char member[PATH_BYTES], inner[PATH_BYTES];
			if (!path_of(member, path, members.names[i]))
				status = pfld_fail(error, PFLD_ERR_UNSUPPORTED, "names in a Keras file are too long");
			for (size_t c = 0; !status && !layers && c < PFLD_COUNT(containers); c++)
				if (path_of(inner, member, containers[c]) &&
					pfld_hdf5_kind_of(walk->file->hdf5, inner) == PFLD_HDF5_GROUP)
					status = read_container(walk, inner, depth + 1, error);
			if (!status && layers && path_of(inner, member, "vars") &&
				pfld_hdf5_kind_of(walk->file->hdf5, inner) == PFLD_HDF5_GROUP)
				status = read_vars(walk, inner, members.names[i], error);
		}
	pfld_names_finish(&members);
	return status;
}

enum pfld_status pfld_keras_read_v3(struct pfld_keras_file *file, const char *path, struct pfld_error *error)
{
	struct walk walk = {.file = file};
	enum pfld_status status = read_container(&walk, path, 0, error);
	free(walk.counters);
	return status;
}
