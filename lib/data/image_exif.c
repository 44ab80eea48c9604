// SPDX-License-Identifier: MIT
// EXIF orientation: finding it in an EXIF block, and applying it to pixels. The codecs say where a file keeps its
// block; no other EXIF field is read. Called by image.c and the codecs.
#include "image_codec.h"

#include <stdlib.h>
#include <string.h>

// Numbers of a TIFF file, which says itself in which order its bytes are.
struct tiff {
	const uint8_t *bytes;
	size_t num_bytes;
	bool big_endian;
};

// The caller has checked that offset + 2 (or + 4) bytes are there.
static uint32_t get_u16(const struct tiff *tiff, size_t offset)
{
	const uint8_t *at = tiff->bytes + offset;
	return tiff->big_endian ? (uint32_t)at[0] << 8 | at[1] : (uint32_t)at[1] << 8 | at[0];
}

static uint32_t get_u32(const struct tiff *tiff, size_t offset)
{
	uint32_t first = get_u16(tiff, offset), second = get_u16(tiff, offset + 2);
	return tiff->big_endian ? first << 16 | second : second << 16 | first;
}

// EXIF 2.3, 4.6.2 and TIFF 6.0: header (order, 42, offset of the first directory); a directory is a count and entries
// of 12 bytes (tag, type, count, value). Orientation is tag 0x0112, one SHORT (3). An entry that lies beyond the end
// ends the search, so a directory that was cut still gives what is left of it.
int32_t pfld_exif_orientation(const uint8_t *bytes, size_t num_bytes)
{
	if (num_bytes < 8) return 1;
	struct tiff tiff = {.bytes = bytes, .num_bytes = num_bytes, .big_endian = bytes[0] == 'M'};
	if (memcmp(bytes, tiff.big_endian ? "MM" : "II", 2) != 0 || get_u16(&tiff, 2) != 42) return 1;
	size_t offset = get_u32(&tiff, 4);
	if (offset > num_bytes || num_bytes - offset < 2) return 1;
	uint32_t num_entries = get_u16(&tiff, offset);
	offset += 2;
	for (uint32_t i = 0; i < num_entries && num_bytes - offset >= 12; i++, offset += 12) {
		if (get_u16(&tiff, offset) != 0x0112) continue;
		uint32_t type = get_u16(&tiff, offset + 2), count = get_u32(&tiff, offset + 4);
		uint32_t value = get_u16(&tiff, offset + 8);
		return type == 3 && count == 1 && value >= 1 && value <= 8 ? (int32_t)value : 1;
	}
	return 1;
}

static void swap_bytes(uint8_t *a, uint8_t *b, size_t num_bytes)
{
	for (size_t i = 0; i < num_bytes; i++) {
		uint8_t kept = a[i];
		a[i] = b[i];
		b[i] = kept;
	}
}

static void mirror_rows(struct pfld_image *image)
{
	size_t row_bytes = (size_t)image->width * 3;
	for (int32_t y = 0; y < image->height; y++) {
		uint8_t *left = image->pixels + (size_t)y * row_bytes, *right = left + row_bytes - 3;
		for (; left < right; left += 3, right -= 3) swap_bytes(left, right, 3);
	}
}

static void flip_rows(struct pfld_image *image)
{
	size_t row_bytes = (size_t)image->width * 3;
	for (int32_t y = 0; y < image->height / 2; y++) {
		uint8_t *upper = image->pixels + (size_t)y * row_bytes;
		swap_bytes(upper, image->pixels + (size_t)(image->height - 1 - y) * row_bytes, row_bytes);
	}
}

// Rows become columns. In strips of some rows, because a whole column would touch a new cache line with every pixel.
static void transpose(uint8_t *destination, const struct pfld_image *image)
{
	enum { STRIP = 32 };
	size_t width = (size_t)image->width, height = (size_t)image->height;
	for (size_t top = 0; top < height; top += STRIP) {
		size_t bottom = PFLD_MIN(top + STRIP, height);
		for (size_t x = 0; x < width; x++) {
			for (size_t y = top; y < bottom; y++)
				memcpy(destination + (x * height + y) * 3, image->pixels + (y * width + x) * 3, 3);
		}
	}
}

// Transposed is 5; the other three follow by mirroring rows, columns or both of it.
enum pfld_status pfld_image_orient(struct pfld_image *image, int32_t orientation, struct pfld_error *error)
{
	if (orientation >= 5) {
		size_t num_bytes = (size_t)image->width * (size_t)image->height * 3;
		uint8_t *pixels = malloc(num_bytes);
		if (!pixels) return pfld_fail_memory(error, num_bytes, "turning a picture");
		transpose(pixels, image);
		free(image->pixels);
		*image = (struct pfld_image){
			.pixels = pixels, .width = image->height, .height = image->width, .capacity_bytes = num_bytes};
	}
	if (orientation == 2 || orientation == 3 || orientation == 6 || orientation == 7) mirror_rows(image);
	if (orientation == 3 || orientation == 4 || orientation == 7 || orientation == 8) flip_rows(image);
	return PFLD_OK;
}
