// SPDX-License-Identifier: MIT
// Paths as text, what stands at a path, folders made and listed.
#define _POSIX_C_SOURCE 200809L
#include "file.h"
#include "posix.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

char *pfld_path_join(const char *folder, const char *name)
{
	if (!folder || !*folder || name[0] == '/') return pfld_strdup(name);
	size_t length = strlen(folder);
	return pfld_strprintf(folder[length - 1] == '/' ? "%s%s" : "%s/%s", folder, name);
}

const char *pfld_path_base(const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash ? slash + 1 : path;
}

char *pfld_path_folder(const char *path)
{
	size_t length = (size_t)(pfld_path_base(path) - path);
	while (length > 1 && path[length - 1] == '/') length--;
	char *folder = malloc(length + 1);
	if (!folder) return NULL;
	memcpy(folder, path, length);
	folder[length] = '\0';
	return folder;
}

const char *pfld_path_extension(const char *path)
{
	const char *base = pfld_path_base(path);
	const char *dot = strrchr(base, '.');
	return dot && dot != base ? dot + 1 : "";
}

enum pfld_path_kind pfld_path_kind(const char *path)
{
	struct stat info;
	if (!path || stat(path, &info) != 0) return PFLD_PATH_ABSENT;
	if (S_ISREG(info.st_mode)) return PFLD_PATH_FILE;
	return S_ISDIR(info.st_mode) ? PFLD_PATH_FOLDER : PFLD_PATH_OTHER;
}

// One folder whose parent exists. No error when it is there already, whoever made it.
static bool make_one(const char *path)
{
	if (mkdir(path, 0777) == 0) return true;
	int reason = errno;
	if (pfld_path_kind(path) == PFLD_PATH_FOLDER) return true;
	errno = reason;
	return false;
}

enum pfld_status pfld_make_folder(const char *path, struct pfld_error *error)
{
	if (!path || !*path) return pfld_fail(error, PFLD_ERR_ARGUMENT, "no path of a folder to make was given");
	char *part = pfld_strdup(path);
	if (!part) return pfld_fail_memory(error, strlen(path), "a path");
	enum pfld_status status = PFLD_OK;
	for (char *at = part + 1; !status; at++) {
		char kept = *at;
		if (kept != '/' && kept != '\0') continue;
		*at = '\0';
		if (!make_one(part)) status = pfld_fail_path(error, "make the folder", part, errno);
		*at = kept;
		if (!kept) break;
	}
	free(part);
	return status;
}

enum pfld_status pfld_make_private_folder(const char *path, struct pfld_error *error)
{
	struct stat info;
	char shown[PFLD_SHOWN_BYTES];
	if (!path || !*path) return pfld_fail(error, PFLD_ERR_ARGUMENT, "no path of a folder to make was given");
	if (pfld_path_kind(path) == PFLD_PATH_ABSENT) {
		char *folder = pfld_path_folder(path);
		if (!folder) return pfld_fail_memory(error, strlen(path), "a path");
		enum pfld_status status = *folder ? pfld_make_folder(folder, error) : PFLD_OK;
		free(folder);
		if (status) return status;
		if (mkdir(path, 0700) != 0 && errno != EEXIST) return pfld_fail_path(error, "make the folder", path, errno);
	}
	if (stat(path, &info) != 0) return pfld_fail_path(error, "use the folder", path, errno);
	if (!S_ISDIR(info.st_mode)) return pfld_fail_kind(error, "use the folder", path, info.st_mode);
	if (info.st_uid == geteuid() && !(info.st_mode & (S_IWGRP | S_IWOTH))) return PFLD_OK;
	return pfld_fail(error, PFLD_ERR_IO, "cannot use the folder %s: others own it or may write to it",
					 pfld_show(shown, path, 0));
}

static int compare_names(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

// Everything in an open folder, unsorted. Returns 0 or an errno; what was read so far stays in the array.
static int read_names(DIR *folder, char ***names, size_t *num_names)
{
	size_t capacity = 0;
	for (;;) {
		errno = 0;
		const struct dirent *entry = readdir(folder); // a DIR of our own: no thread shares it
		if (!entry) return errno;
		if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, "..")) continue;
		if (!pfld_grow(names, &capacity, *num_names + 1, sizeof **names)) return ENOMEM;
		char *name = pfld_strdup(entry->d_name);
		if (!name) return ENOMEM;
		(*names)[(*num_names)++] = name;
	}
}

enum pfld_status pfld_list_folder(const char *path, char ***names, size_t *num_names, struct pfld_error *error)
{
	if (!path) return pfld_fail(error, PFLD_ERR_ARGUMENT, "no path of a folder to list was given");
	DIR *folder;
	int attempt = 0;
	while (!(folder = opendir(path))) {
		if (!pfld_retry(errno, &attempt)) return pfld_fail_path(error, "open the folder", path, errno);
	}
	char **found = NULL;
	size_t num_found = 0;
	int reason = read_names(folder, &found, &num_found);
	closedir(folder);
	if (reason) {
		pfld_names_destroy(&found, num_found);
		return pfld_fail_path(error, "list the folder", path, reason);
	}
	if (num_found) qsort(found, num_found, sizeof *found, compare_names);
	*names = found;
	*num_names = num_found;
	return PFLD_OK;
}

void pfld_names_destroy(char ***names, size_t num_names)
{
	if (!names || !*names) return;
	for (size_t i = 0; i < num_names; i++) free((*names)[i]);
	free(*names);
	*names = NULL;
}
