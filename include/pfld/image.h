// SPDX-License-Identifier: MIT
// Pictures: JPEG and PNG files to 8-bit RGB and back, and the little drawing that reports need. Host memory only.
// The format is taken from the content, never from the file name. EXIF orientation is applied: what you get is what a
// viewer shows. Thread safety: any number of threads, each with its own struct pfld_image.
//
// Coordinates everywhere in this library are pixel centres: x grows to the right, y downwards, (0, 0) is the centre
// of the top left pixel, (width - 1, height - 1) of the bottom right one; the mirror image of x is width - 1 - x.
#ifndef PFLD_IMAGE_H
#define PFLD_IMAGE_H

#include <pfld/status.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

// An RGB picture. Start from zeroes ({0}); read and resize calls reuse and grow the buffer; pfld_image_finish() frees.
struct pfld_image {
	uint8_t *pixels; // (height, width, 3), rows without padding
	int32_t width, height;
	size_t capacity_bytes; // of pixels; the buffer grows and is kept
};
PFLD_API void pfld_image_finish(struct pfld_image *image);
// Room for width x height; the content is undefined. PFLD_ERR_MEMORY; PFLD_ERR_ARGUMENT unless both are at least 1.
PFLD_API_STATUS enum pfld_status pfld_image_resize_buffer(struct pfld_image *image, int32_t width, int32_t height,
                                                          struct pfld_error *error);

// Limits, checked before any pixel memory is taken. Zero means the default.
struct pfld_image_limits {
	int64_t max_pixels;     // width x height, default 64 x 2^20
	int32_t max_side;       // default 65535
	int64_t max_file_bytes; // default 256 MiB
};

enum pfld_image_format { PFLD_IMAGE_UNKNOWN, PFLD_IMAGE_JPEG, PFLD_IMAGE_PNG };

// What a file says of itself.
struct pfld_image_info {
	enum pfld_image_format format;
	int32_t width, height; // as shown: orientation applied
	int32_t orientation;   // EXIF 1..8 as stored; 1 when absent or damaged
	int32_t channels;      // stored: 1 grey, 2 grey + alpha, 3 colour, 4 colour + alpha or CMYK
	int32_t bits;          // stored bits per channel
};

// Decode a file. Grey becomes R = G = B; palettes are expanded; 16-bit samples keep their high byte; alpha is dropped,
// gamma and colour profiles are ignored; CMYK and YCCK are taken as inverted (Adobe's way, also without its marker).
// For an animation the default image. PFLD_ERR_DATA names the path and the reason: not an image (and what it is, if
// known: HTML, GIF, BMP, TIFF, WebP, a Git LFS pointer), truncated, damaged, over a limit (with width x height and
// the limit). Truncated or damaged data is never returned as a half grey picture. PFLD_ERR_UNSUPPORTED: this build
// has no decoder for the format, or the file uses a variant that the codec lacks. PFLD_ERR_IO: cannot be read. On
// failure the picture's size is 0 x 0. `info` may be NULL.
PFLD_API_STATUS enum pfld_status pfld_image_read(struct pfld_image *image, const char *path,
                                                 const struct pfld_image_limits *limits, struct pfld_image_info *info,
                                                 struct pfld_error *error);
// The same from memory; `name` is only used in messages.
PFLD_API_STATUS enum pfld_status pfld_image_decode(struct pfld_image *image, const uint8_t *bytes, size_t num_bytes,
                                                   const char *name, const struct pfld_image_limits *limits,
                                                   struct pfld_image_info *info, struct pfld_error *error);

// Write as PNG, whole beside the old file and then renamed. PFLD_ERR_IO names path and reason.
PFLD_API_STATUS enum pfld_status pfld_image_write_png(const struct pfld_image *image, const char *path,
                                                      struct pfld_error *error);
// Encode into a fresh buffer, freed with pfld_free(). JPEG quality 1..100.
PFLD_API_STATUS enum pfld_status pfld_image_encode_png(const struct pfld_image *image, uint8_t **bytes,
                                                       size_t *num_bytes, struct pfld_error *error);
PFLD_API_STATUS enum pfld_status pfld_image_encode_jpeg(const struct pfld_image *image, int32_t quality, uint8_t **bytes,
                                                        size_t *num_bytes, struct pfld_error *error);
// Frees what this library handed out in a plain pointer.
PFLD_API void pfld_free(void *pointer);

// Sample `source` through an affine map: destination pixel (i, j) takes the bilinear value of the source at
// (m[0] i + m[1] j + m[2], m[3] i + m[4] j + m[5]), black outside (a neighbour outside counts as 0). Destination:
// float (size_y, size_x, 3) in 0..255.
PFLD_API void pfld_image_sample(const struct pfld_image *source, const double m[6], float *destination, int32_t size_x,
                                int32_t size_y);
// Bilinear resize with half-pixel centres, edges repeated, no antialiasing (as OpenCV's INTER_LINEAR), rounded to
// nearest. PFLD_ERR_ARGUMENT when source has no pixels or is the destination, or the new size is none; PFLD_ERR_MEMORY.
PFLD_API_STATUS enum pfld_status pfld_image_resize(struct pfld_image *destination, const struct pfld_image *source,
                                                   int32_t width, int32_t height, struct pfld_error *error);

// A filled, antialiased disc about (x, y) in pixel centres; parts outside are left out.
PFLD_API void pfld_image_draw_disc(struct pfld_image *image, double x, double y, double radius, const uint8_t rgb[3]);
// Copy `source` into `image` with its top left pixel at (x, y); parts outside are left out.
PFLD_API void pfld_image_paste(struct pfld_image *image, const struct pfld_image *source, int32_t x, int32_t y);

#ifdef __cplusplus
}
#endif
#endif
