// SPDX-License-Identifier: MIT
// Makes picture files byte by byte for the tests of pictures: PNG of any kind, damaged or not, without libpng.
#ifndef PFLD_TESTS_IMAGE_MAKER_H
#define PFLD_TESTS_IMAGE_MAKER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Growing bytes; start from {0}, free(bytes.data).
struct bytes {
	uint8_t *data;
	size_t num, capacity;
};
void put(struct bytes *bytes, const void *data, size_t num);
void put_u32(struct bytes *bytes, uint32_t value); // big endian
// A copy with `num` bytes of `data` inserted at `offset`.
struct bytes insert_bytes(const struct bytes *bytes, size_t offset, const void *data, size_t num);

// Repeatable numbers for tests.
uint32_t next_random(uint64_t *state);

enum png_type { PNG_GREY = 0, PNG_RGB = 2, PNG_PALETTE = 3, PNG_GREY_ALPHA = 4, PNG_RGB_ALPHA = 6 };
int png_type_channels(enum png_type type);
void put_png_header(struct bytes *bytes, uint32_t width, uint32_t height, int depth, enum png_type type,
                    bool interlaced);
void put_png_chunk(struct bytes *bytes, const char type[4], const void *data, size_t num);
// IDAT of samples (height, width, channels), each below 2^depth.
void put_png_samples(struct bytes *bytes, const uint16_t *samples, uint32_t width, uint32_t height, int depth,
                     enum png_type type, bool interlaced);
// Make the checksums of all chunks right again.
void repair_png_checksums(struct bytes *bytes);

// An APP1 segment with EXIF: one directory with the orientation, in either byte order.
void put_exif(struct bytes *bytes, int orientation, bool big_endian); // the TIFF block alone
struct bytes jpeg_with_exif(const struct bytes *jpeg, const struct bytes *tiff);

#endif
