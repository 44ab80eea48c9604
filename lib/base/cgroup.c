// SPDX-License-Identifier: MIT
// See cgroup.h. Formats: cgroups(7), /proc/self/cgroup.
#include "cgroup.h"
#include "file.h"

#include <stdlib.h>
#include <string.h>

char *pfld_cgroup_read(const char *folder, const char *name)
{
	char *path = pfld_path_join(folder, name);
	uint8_t *text = NULL;
	size_t num_bytes;
	if (path && pfld_file_read(path, 1 << 16, &text, &num_bytes, NULL)) text = NULL;
	free(path);
	return (char *)text;
}

// A group and its parents, up to the folder where the hierarchy is mounted: inside a container that folder is the
// container's own group, while the group's name may be one that only the host can see.
static void visit_parents(const char *root, const char *mount, const char *group, enum pfld_cgroup_version version,
						  pfld_cgroup_fn *visit, void *arg)
{
	if (strstr(group, "..")) group = ""; // outside what is mounted here: "/../other"
	char *folder = pfld_strprintf("%s/sys/fs/cgroup%s%s", root, mount, group);
	if (!folder) return;
	char *mounted = folder + strlen(folder) - strlen(group);
	for (;;) {
		if (strcmp(mounted, "/") != 0) visit(arg, folder, version); // "/" comes again as ""
		char *slash = strrchr(mounted, '/');
		if (!slash) break;
		*slash = '\0';
	}
	free(folder);
}

static bool has_word(const char *words, const char *word)
{
	size_t length = strlen(word);
	for (const char *at = words; *at; at += strcspn(at, ","), at += *at == ',') {
		if (strcspn(at, ",") == length && !memcmp(at, word, length)) return true;
	}
	return false;
}

// One line of /proc/self/cgroup, "ID:CONTROLLERS:GROUP"; the line is cut up.
static void visit_line(const char *root, char *line, const char *controller, pfld_cgroup_fn *visit, void *arg)
{
	char *controllers = strchr(line, ':');
	char *group = controllers ? strchr(controllers + 1, ':') : NULL;
	if (!group) return;
	*controllers++ = '\0';
	*group++ = '\0';
	if (!*controllers) {
		visit_parents(root, "", group, PFLD_CGROUP_V2, visit, arg);
		visit_parents(root, "/unified", group, PFLD_CGROUP_V2, visit, arg);
	} else if (has_word(controllers, controller)) {
		const char *const names[2] = {controllers, controller}; // the second is usually a link to the first
		for (int i = 0; i < 2; i++) {
			char *mount = pfld_strprintf("/%s", names[i]);
			if (mount) visit_parents(root, mount, group, PFLD_CGROUP_V1, visit, arg);
			free(mount);
		}
	}
}

void pfld_cgroup_visit(const char *root, const char *controller, pfld_cgroup_fn *visit, void *arg)
{
	char *folder = pfld_strprintf("%s/proc/self", root);
	char *text = folder ? pfld_cgroup_read(folder, "cgroup") : NULL;
	for (char *line = text, *end; line && *line; line = end) {
		end = line + strcspn(line, "\n");
		if (*end) *end++ = '\0';
		visit_line(root, line, controller, visit, arg);
	}
	free(text);
	free(folder);
}
