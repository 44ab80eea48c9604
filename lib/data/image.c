// SPDX-License-Identifier: MIT
// Pictures: the buffer, the limits, and finding out what a file is; the formats themselves are in image_jpeg.c and
// image_png.c, orientation in image_exif.c. Called by the data loader, `pfld predict`, `pfld info` and reports.
#include "base/file.h"
#include "image_codec.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

void pfld_image_finish(struct pfld_image *image)
{
	if (!image) return;
	free(image->pixels);
	*image = (struct pfld_image){0};
}

enum pfld_status pfld_image_resize_buffer(struct pfld_image *image, int32_t width, int32_t height,
                                          struct pfld_error *error)
{
	if (!image) return pfld_fail(error, PFLD_ERR_ARGUMENT, "Pixels need an image.");
	if (width < 1 || height < 1)
		return pfld_fail(error, PFLD_ERR_ARGUMENT, "A picture of %" PRId32 " x %" PRId32 " pixels has no pixels.",
		                 width, height);
	size_t num_bytes;
	if (!pfld_mul_size((size_t)width, (size_t)height, &num_bytes) || !pfld_mul_size(num_bytes, 3, &num_bytes) ||
	    num_bytes > PTRDIFF_MAX)
		return pfld_fail(error, PFLD_ERR_MEMORY,
		                 "out of memory: %" PRId32 " x %" PRId32 " pixels are more than can be addressed", width,
		                 height);
	if (num_bytes > image->capacity_bytes) {
		// Not realloc(): nobody wants the old pixels copied.
		uint8_t *pixels = malloc(num_bytes);
		if (!pixels) return pfld_fail_memory(error, num_bytes, "a picture");
		free(image->pixels);
		image->pixels = pixels;
		image->capacity_bytes = num_bytes;
	}
	image->width = width;
	image->height = height;
	return PFLD_OK;
}

enum pfld_status pfld_image_check_size(const struct pfld_image_source *source, int64_t width, int64_t height,
                                       struct pfld_error *error)
{
	const struct pfld_image_limits *limits = &source->limits;
	// Division instead of a product: sizes from a header may be anything.
	if (width >= 1 && height >= 1 && width <= limits->max_side && height <= limits->max_side &&
	    width <= limits->max_pixels / height)
		return PFLD_OK;
	return pfld_fail(error, PFLD_ERR_DATA,
	                 "%s: %" PRId64 " x %" PRId64 " pixels are outside the limits: 1 to %" PRId32 " a side, %" PRId64
	                 " in all.",
	                 source->shown, width, height, limits->max_side, limits->max_pixels);
}

enum pfld_status pfld_image_check_encode(const struct pfld_image *image, uint8_t *const *bytes, const size_t *num_bytes,
                                         struct pfld_error *error)
{
	if (!image || !bytes || !num_bytes)
		return pfld_fail(error, PFLD_ERR_ARGUMENT, "Encoding needs an image and places for the bytes and their number.");
	if (image->width >= 1 && image->height >= 1) return PFLD_OK;
	return pfld_fail(error, PFLD_ERR_ARGUMENT, "A picture of %" PRId32 " x %" PRId32 " pixels cannot be written.",
	                 image->width, image->height);
}

static enum pfld_status fill_limits(struct pfld_image_limits *filled, const struct pfld_image_limits *limits,
                                    struct pfld_error *error)
{
	*filled = limits ? *limits : (struct pfld_image_limits){0};
	if (filled->max_pixels < 0 || filled->max_side < 0 || filled->max_file_bytes < 0)
		return pfld_fail(error, PFLD_ERR_ARGUMENT, "Limits of pictures cannot be negative.");
	if (filled->max_pixels == 0) filled->max_pixels = INT64_C(64) << 20;
	if (filled->max_side == 0) filled->max_side = 65535;
	if (filled->max_file_bytes == 0) filled->max_file_bytes = INT64_C(256) << 20;
	return PFLD_OK;
}

static bool has_bytes(const struct pfld_image_source *source, size_t offset, const char *bytes, size_t num_bytes)
{
	return source->num_bytes >= offset && source->num_bytes - offset >= num_bytes &&
	       memcmp(source->bytes + offset, bytes, num_bytes) == 0;
}

static enum pfld_image_format sniff(const struct pfld_image_source *source)
{
	if (has_bytes(source, 0, "\xff\xd8", 2)) return PFLD_IMAGE_JPEG;
	if (has_bytes(source, 0, "\x89PNG\r\n\x1a\n", 8)) return PFLD_IMAGE_PNG;
	return PFLD_IMAGE_UNKNOWN;
}

// A page of HTML or XML begins with '<', possibly behind a byte order mark and blanks.
static bool is_markup(const struct pfld_image_source *source)
{
	size_t at = has_bytes(source, 0, "\xef\xbb\xbf", 3) ? 3 : 0;
	while (at < source->num_bytes && memchr(" \t\r\n", source->bytes[at], 4)) at++;
	return has_bytes(source, at, "<", 1);
}

// Other formats under the name of a picture: NULL when it is none of these.
static const char *other_picture(const struct pfld_image_source *source)
{
	static const struct {
		size_t offset;
		const char *bytes;
		size_t num_bytes;
		const char *name;
	} formats[] = {
		{0, "GIF8", 4, "GIF"},
		{0, "BM", 2, "BMP"},
		{0, "II*\0", 4, "TIFF"},
		{0, "MM\0*", 4, "TIFF"},
		{8, "WEBP", 4, "WebP"},
		{4, "ftyp", 4, "HEIF, AVIF or MP4"},
		{0, "\0\0\1\0", 4, "ICO"},
		{0, "\0\0\0\x0cjP  ", 8, "JPEG 2000"},
		{0, "\0\0\0\x0cJXL ", 8, "JPEG XL"},
		{0, "\xff\x0a", 2, "JPEG XL"},
		{0, "8BPS", 4, "Photoshop"},
	};
	for (size_t i = 0; i < PFLD_COUNT(formats); i++) {
		if (has_bytes(source, formats[i].offset, formats[i].bytes, formats[i].num_bytes)) return formats[i].name;
	}
	bool is_netpbm = source->num_bytes >= 3 && source->bytes[0] == 'P' && source->bytes[1] >= '1' &&
	                 source->bytes[1] <= '7' && memchr(" \t\r\n", source->bytes[2], 4);
	return is_netpbm ? "PBM, PGM or PPM" : NULL;
}

static const char *describe_no_picture(const struct pfld_image_source *source)
{
	if (source->num_bytes == 0) return "the file is empty";
	if (has_bytes(source, 0, "version https://git-lfs", 23))
		return "a Git LFS pointer, whose picture was never fetched";
	if (has_bytes(source, 0, "\x89PNG", 4)) return "a PNG file damaged as by a transfer in text mode";
	if (has_bytes(source, 0, "%PDF", 4)) return "a PDF file";
	if (is_markup(source)) return "an HTML or XML page";
	return "neither a JPEG nor a PNG file";
}

static enum pfld_status refuse(const struct pfld_image_source *source, struct pfld_error *error)
{
	const char *other = other_picture(source);
	if (other)
		return pfld_fail(error, PFLD_ERR_DATA, "%s: the format is %s; only JPEG and PNG are read.", source->shown,
		                 other);
	return pfld_fail(error, PFLD_ERR_DATA, "%s: not an image: %s.", source->shown, describe_no_picture(source));
}

static enum pfld_status decode_source(struct pfld_image *image, const struct pfld_image_source *source,
                                      struct pfld_image_info *info, struct pfld_error *error)
{
	struct pfld_image_info found = {.format = sniff(source)};
	enum pfld_status status;
	switch (found.format) {
	case PFLD_IMAGE_JPEG: status = pfld_jpeg_decode(image, source, &found, error); break;
	case PFLD_IMAGE_PNG: status = pfld_png_decode(image, source, &found, error); break;
	default: return refuse(source, error);
	}
	if (status == PFLD_OK) status = pfld_image_orient(image, found.orientation, error);
	if (status == PFLD_OK && info) {
		found.width = image->width;
		found.height = image->height;
		*info = found;
	}
	return status;
}

enum pfld_status pfld_image_decode(struct pfld_image *image, const uint8_t *bytes, size_t num_bytes, const char *name,
                                   const struct pfld_image_limits *limits, struct pfld_image_info *info,
                                   struct pfld_error *error)
{
	char shown[PFLD_SHOWN_BYTES];
	if (!image || (!bytes && num_bytes))
		return pfld_fail(error, PFLD_ERR_ARGUMENT, "Decoding needs an image and bytes.");
	struct pfld_image_source source = {
		.bytes = bytes, .num_bytes = num_bytes, .shown = pfld_show(shown, name ? name : "picture", 0)};
	enum pfld_status status = fill_limits(&source.limits, limits, error);
	if (status == PFLD_OK) status = decode_source(image, &source, info, error);
	if (status != PFLD_OK) image->width = image->height = 0;
	return status;
}

enum pfld_status pfld_image_read(struct pfld_image *image, const char *path, const struct pfld_image_limits *limits,
                                 struct pfld_image_info *info, struct pfld_error *error)
{
	if (!image || !path) return pfld_fail(error, PFLD_ERR_ARGUMENT, "Reading needs an image and a path.");
	struct pfld_image_limits filled;
	uint8_t *bytes = NULL;
	size_t num_bytes = 0;
	enum pfld_status status = fill_limits(&filled, limits, error);
	if (status == PFLD_OK) {
		size_t max_bytes = (uint64_t)filled.max_file_bytes < SIZE_MAX ? (size_t)filled.max_file_bytes : SIZE_MAX;
		status = pfld_file_read(path, max_bytes, &bytes, &num_bytes, error);
	}
	if (status != PFLD_OK) {
		image->width = image->height = 0;
		return status;
	}
	status = pfld_image_decode(image, bytes, num_bytes, path, limits, info, error);
	free(bytes);
	return status;
}

enum pfld_status pfld_image_write_png(const struct pfld_image *image, const char *path, struct pfld_error *error)
{
	uint8_t *bytes;
	size_t num_bytes;
	if (!path) return pfld_fail(error, PFLD_ERR_ARGUMENT, "Writing needs a path.");
	enum pfld_status status = pfld_image_encode_png(image, &bytes, &num_bytes, error);
	if (status != PFLD_OK) return status;
	status = pfld_file_replace(path, bytes, num_bytes, error);
	free(bytes);
	return status;
}
