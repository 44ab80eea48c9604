// SPDX-License-Identifier: MIT
// See scratch.h.
#define _XOPEN_SOURCE 700 // mkdtemp, nftw, setenv
#include "scratch.h"
#include "base/file.h"
#include "base/random.h"

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

void damage_file(const char *path, void (*attempt)(const uint8_t *bytes, size_t num_bytes))
{
	uint8_t *bytes;
	size_t num_bytes;
	ck_assert_int_eq(pfld_file_read(path, 0, &bytes, &num_bytes, NULL), PFLD_OK);
	for (size_t length = 0; length <= num_bytes; length++) attempt(bytes, length);
	struct pfld_random random = pfld_random_stream(5, PFLD_RANDOM_TEST, 0, 0); // the seed of all damage is 5
	uint8_t *copy = malloc(num_bytes);
	for (int round = 0; round < 400; round++) {
		memcpy(copy, bytes, num_bytes);
		for (int64_t changes = pfld_random_int(&random, 1, 4); changes > 0; changes--) {
			size_t at = (size_t)pfld_random_int(&random, 0, (int64_t)num_bytes);
			static const char telling[] = "0123456789-.eE\"[]{}:,LTF' \\\xff";
			copy[at] = pfld_random_u32(&random) % 4 ? (uint8_t)telling[pfld_random_int(&random, 0, sizeof telling)]
													: (uint8_t)pfld_random_u32(&random);
		}
		attempt(copy, num_bytes);
	}
	free(copy);
	free(bytes);
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
