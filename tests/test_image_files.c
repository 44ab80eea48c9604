// SPDX-License-Identifier: MIT
// Real, awkward picture files (argument: their folder, with MANIFEST.csv, which says what other decoders did): each is
// read or refused with a reason, and sizes and orientations agree. Skips (77) where the folder is absent.
#include "pfld_config.h"
#include <pfld/image.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PATH, BYTES, KIND, EXTENSION, SIZE, DETAILS, ORIENTATION, DJPEG, PILLOW, NUM_FIELDS };

// Cut a line into its fields, in place; no field holds a comma. False: not that many.
static int split(char *line, char *fields[NUM_FIELDS])
{
	line[strcspn(line, "\r\n")] = '\0';
	for (int i = 0; i < NUM_FIELDS; i++) {
		fields[i] = line;
		char *comma = strchr(line, ',');
		if (!comma != (i == NUM_FIELDS - 1)) return 0;
		if (comma) *comma = '\0', line = comma + 1;
	}
	return 1;
}

// What must become of the file, as far as the other decoders agree. djpeg is the same codec; a warning of its may be
// damage to us. Pillow overlooks a wrong checksum in one file.
static int is_wrong_status(char *fields[NUM_FIELDS], enum pfld_status status)
{
	if (strcmp(fields[KIND], "jpeg") == 0) {
		if (!PFLD_HAVE_JPEG) return status != PFLD_ERR_UNSUPPORTED;
		if (strcmp(fields[DJPEG], "ok") == 0) return status != PFLD_OK;
		return status != PFLD_OK && status != PFLD_ERR_DATA && status != PFLD_ERR_UNSUPPORTED;
	}
	if (strcmp(fields[KIND], "png") == 0) {
		if (!PFLD_HAVE_PNG) return status != PFLD_ERR_UNSUPPORTED;
		if (strstr(fields[PATH], "crashers/badcrc.png")) return status != PFLD_ERR_DATA;
		if (strncmp(fields[PILLOW], "ok", 2) == 0) return status != PFLD_OK;
		return status != PFLD_OK && status != PFLD_ERR_DATA;
	}
	return status != PFLD_ERR_DATA;
}

static int is_wrong_size(char *fields[NUM_FIELDS], const struct pfld_image *image, const struct pfld_image_info *info)
{
	int orientation = atoi(fields[ORIENTATION]);
	if (orientation < 1 || orientation > 8) orientation = 1;
	int turned = orientation >= 5;
	char size[32];
	snprintf(size, sizeof size, "%dx%d", turned ? image->height : image->width, turned ? image->width : image->height);
	return strcmp(size, fields[SIZE]) != 0 || info->orientation != orientation || info->width != image->width ||
	       info->height != image->height;
}

int main(int argc, char **argv)
{
	char path[4096], line[1024], *fields[NUM_FIELDS];
	const char *folder = argc > 1 ? argv[1] : ".";
	snprintf(path, sizeof path, "%s/MANIFEST.csv", folder);
	FILE *manifest = fopen(path, "r");
	if (!manifest) {
		printf("skipped: no %s\n", path);
		return 77;
	}
	struct pfld_image image = {0};
	int num_files = 0, num_ok = 0, num_wrong = 0;
	if (!fgets(line, sizeof line, manifest)) num_wrong++; // the heading
	while (fgets(line, sizeof line, manifest)) {
		struct pfld_error error = {0};
		struct pfld_image_info info = {0};
		num_files++;
		if (!split(line, fields)) {
			printf("line %d of the manifest is damaged\n", num_files + 1);
			num_wrong++;
			continue;
		}
		snprintf(path, sizeof path, "%s/%s", folder, fields[PATH]);
		enum pfld_status status = pfld_image_read(&image, path, NULL, &info, &error);
		num_ok += status == PFLD_OK;
		int is_wrong = is_wrong_status(fields, status);
		if (status == PFLD_OK)
			is_wrong |= is_wrong_size(fields, &image, &info);
		else
			is_wrong |= image.width != 0 || !strstr(error.message, fields[PATH]) || error.status != status;
		num_wrong += is_wrong;
		if (is_wrong)
			printf("%s: %s, %d x %d, orientation %d; expected %s, %s, djpeg %s, Pillow %s. %s\n", fields[PATH],
			       pfld_status_name(status), info.width, info.height, info.orientation, fields[SIZE],
			       fields[ORIENTATION], fields[DJPEG], fields[PILLOW], error.message);
	}
	fclose(manifest);
	pfld_image_finish(&image);
	printf("%d files: %d read, %d refused, %d wrong\n", num_files, num_ok, num_files - num_ok, num_wrong);
	return num_wrong || num_files == 0;
}
