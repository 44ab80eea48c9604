// SPDX-License-Identifier: MIT
// See scratch.h.
#define _XOPEN_SOURCE 700 // mkdtemp, nftw, setenv
#include "scratch.h"

#include <check.h>
#include <errno.h>
#include <ftw.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

void make_scratch(char *name)
{
	ck_assert_msg(mkdtemp(name) != NULL, "mkdtemp: %s", strerror(errno));
}

static int remove_one(const char *path, const struct stat *info, int kind, struct FTW *where)
{
	(void)info, (void)kind, (void)where;
	return remove(path);
}

void remove_tree(const char *path)
{
	ck_assert_int_eq(nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS), 0);
}

void put_bytes(const char *folder, const char *name, const void *bytes, size_t num_bytes)
{
	char path[4096];
	ck_assert_int_lt(snprintf(path, sizeof path, "%s/%s", folder, name), (int)sizeof path);
	for (char *at = path + strlen(folder) + 1; (at = strchr(at, '/')); at++) {
		*at = '\0';
		ck_assert(mkdir(path, 0777) == 0 || errno == EEXIST);
		*at = '/';
	}
	FILE *file = fopen(path, "wb");
	ck_assert_msg(file != NULL, "%s: %s", path, strerror(errno));
	ck_assert_uint_eq(fwrite(bytes, 1, num_bytes, file), num_bytes);
	ck_assert_int_eq(fclose(file), 0);
}

void put_file(const char *folder, const char *name, const char *text)
{
	put_bytes(folder, name, text, strlen(text));
}

bool comma_locale_set(void)
{
	if (setlocale(LC_ALL, "de_DE.UTF-8")) return true;
	char folder[] = "locale-XXXXXX", command[256], full[4096];
	make_scratch(folder);
	snprintf(command, sizeof command, "localedef -i de_DE -f UTF-8 %s/de_DE.UTF-8 >/dev/null 2>&1", folder);
	bool made = system(command) == 0 && realpath(folder, full) && setenv("LOCPATH", full, 1) == 0 &&
				setlocale(LC_ALL, "de_DE.UTF-8");
	remove_tree(folder); // what setlocale() has read stays
	if (!made) fprintf(stderr, "skipped in part: no locale with a decimal comma here, and localedef cannot make one\n");
	return made;
}
