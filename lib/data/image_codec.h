// SPDX-License-Identifier: MIT
// What image.c, the codecs (image_jpeg.c, image_png.c) and image_exif.c share. Nothing outside these files includes it:
// everyone else reads and writes pictures through <pfld/image.h>.
#ifndef PFLD_DATA_IMAGE_CODEC_H
#define PFLD_DATA_IMAGE_CODEC_H

#include "base/base.h"
#include <pfld/image.h>

// An encoded picture in memory, and what its decoder must keep to.
struct pfld_image_source {
	const uint8_t *bytes;
	size_t num_bytes;
	const char *shown;               // the name for messages, already printable
	struct pfld_image_limits limits; // defaults filled in
};

// PFLD_ERR_DATA, naming width x height and the limits, unless a picture of this size may be decoded.
enum pfld_status pfld_image_check_size(const struct pfld_image_source *source, int64_t width, int64_t height,
                                       struct pfld_error *error) PFLD_MUST_USE;

// Pixels as they are stored (no orientation applied). `info` gets the stored size, and the orientation that the file
// asks for. On failure the picture's content is undefined.
enum pfld_status pfld_jpeg_decode(struct pfld_image *image, const struct pfld_image_source *source,
                                  struct pfld_image_info *info, struct pfld_error *error) PFLD_MUST_USE;
enum pfld_status pfld_png_decode(struct pfld_image *image, const struct pfld_image_source *source,
                                 struct pfld_image_info *info, struct pfld_error *error) PFLD_MUST_USE;

// The orientation 1..8 in an EXIF block (a TIFF header and what follows); 1 when there is none or it is damaged.
int32_t pfld_exif_orientation(const uint8_t *tiff, size_t num_bytes);
// Turn and mirror the stored pixels into what a viewer shows. 5..8 swap width and height and take a second buffer
// (PFLD_ERR_MEMORY: the picture is untouched).
enum pfld_status pfld_image_orient(struct pfld_image *image, int32_t orientation,
                                   struct pfld_error *error) PFLD_MUST_USE;

// PFLD_ERR_ARGUMENT for a picture without pixels, which no format can hold, and where an argument is missing.
enum pfld_status pfld_image_check_encode(const struct pfld_image *image, uint8_t *const *bytes, const size_t *num_bytes,
                                         struct pfld_error *error) PFLD_MUST_USE;

#endif
