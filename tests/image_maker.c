// SPDX-License-Identifier: MIT
// Makes picture files byte by byte; see image_maker.h.
#include "image_maker.h"

#include <stdlib.h>
#include <string.h>

void put(struct bytes *bytes, const void *data, size_t num)
{
	if (bytes->num + num > bytes->capacity) {
		bytes->capacity = (bytes->num + num) * 2;
		bytes->data = realloc(bytes->data, bytes->capacity);
		if (!bytes->data) abort();
	}
	if (num) memcpy(bytes->data + bytes->num, data, num);
	bytes->num += num;
}

static void write_u32(uint8_t at[4], uint32_t value)
{
	for (int i = 0; i < 4; i++) at[i] = (uint8_t)(value >> (24 - 8 * i));
}

static uint32_t read_u32(const uint8_t at[4])
{
	return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

void put_u32(struct bytes *bytes, uint32_t value)
{
	uint8_t big_endian[4];
	write_u32(big_endian, value);
	put(bytes, big_endian, 4);
}

struct bytes insert_bytes(const struct bytes *bytes, size_t offset, const void *data, size_t num)
{
	struct bytes longer = {0};
	put(&longer, bytes->data, offset);
	put(&longer, data, num);
	put(&longer, bytes->data + offset, bytes->num - offset);
	return longer;
}

// xorshift64*
uint32_t next_random(uint64_t *state)
{
	*state ^= *state >> 12;
	*state ^= *state << 25;
	*state ^= *state >> 27;
	return (uint32_t)(*state * UINT64_C(2685821657736338717) >> 32);
}

static uint32_t crc32_of(const uint8_t *data, size_t num)
{
	uint32_t crc = 0xffffffffu;
	for (size_t i = 0; i < num; i++) {
		crc ^= data[i];
		for (int bit = 0; bit < 8; bit++) crc = crc & 1 ? crc >> 1 ^ 0xedb88320u : crc >> 1;
	}
	return ~crc;
}

int png_type_channels(enum png_type type)
{
	switch (type) {
	case PNG_RGB: return 3;
	case PNG_GREY_ALPHA: return 2;
	case PNG_RGB_ALPHA: return 4;
	default: return 1;
	}
}

void put_png_chunk(struct bytes *bytes, const char type[4], const void *data, size_t num)
{
	put_u32(bytes, (uint32_t)num);
	put(bytes, type, 4);
	put(bytes, data, num);
	put_u32(bytes, crc32_of(bytes->data + bytes->num - num - 4, num + 4));
}

void put_png_header(struct bytes *bytes, uint32_t width, uint32_t height, int depth, enum png_type type,
                    bool interlaced)
{
	uint8_t header[13] = {0};
	write_u32(header, width);
	write_u32(header + 4, height);
	header[8] = (uint8_t)depth;
	header[9] = (uint8_t)type;
	header[12] = interlaced;
	put(bytes, "\x89PNG\r\n\x1a\n", 8);
	put_png_chunk(bytes, "IHDR", header, sizeof header);
}

// One row: filter 0 and the samples x0, x0 + step, ... packed from the high bits down.
static void put_row(struct bytes *raw, const uint16_t *row, uint32_t width, uint32_t x0, uint32_t step, int depth,
                    int channels)
{
	uint32_t pending = 0;
	int num_bits = 0;
	put(raw, "", 1);
	for (uint32_t x = x0; x < width; x += step) {
		for (int c = 0; c < channels; c++) {
			pending = pending << depth | row[x * (uint32_t)channels + (uint32_t)c];
			num_bits += depth;
			for (; num_bits >= 8; num_bits -= 8) put(raw, &(uint8_t){(uint8_t)(pending >> (num_bits - 8))}, 1);
		}
	}
	if (num_bits) put(raw, &(uint8_t){(uint8_t)(pending << (8 - num_bits))}, 1);
}

// zlib with one stored block (so less than 64 KiB).
static void put_stored(struct bytes *bytes, const struct bytes *raw)
{
	uint32_t low = 1, high = 0;
	for (size_t i = 0; i < raw->num; i++) {
		low = (low + raw->data[i]) % 65521;
		high = (high + low) % 65521;
	}
	uint8_t head[7] = {0x78, 0x01, 1, (uint8_t)raw->num, (uint8_t)(raw->num >> 8)};
	head[5] = (uint8_t)~head[3];
	head[6] = (uint8_t)~head[4];
	put(bytes, head, sizeof head);
	put(bytes, raw->data, raw->num);
	put_u32(bytes, high << 16 | low);
}

void put_png_samples(struct bytes *bytes, const uint16_t *samples, uint32_t width, uint32_t height, int depth,
                     enum png_type type, bool interlaced)
{
	static const struct {
		uint8_t x, y, step_x, step_y;
	} adam7[] = {{0, 0, 8, 8}, {4, 0, 8, 8}, {0, 4, 4, 8}, {2, 0, 4, 4}, {0, 2, 2, 4}, {1, 0, 2, 2}, {0, 1, 1, 2}};
	int channels = png_type_channels(type);
	size_t row_samples = (size_t)width * (size_t)channels;
	struct bytes raw = {0}, packed = {0};
	if (interlaced) {
		for (int pass = 0; pass < 7; pass++) {
			if (adam7[pass].x >= width) continue;
			for (uint32_t y = adam7[pass].y; y < height; y += adam7[pass].step_y)
				put_row(&raw, samples + y * row_samples, width, adam7[pass].x, adam7[pass].step_x, depth, channels);
		}
	} else {
		for (uint32_t y = 0; y < height; y++) put_row(&raw, samples + y * row_samples, width, 0, 1, depth, channels);
	}
	put_stored(&packed, &raw);
	put_png_chunk(bytes, "IDAT", packed.data, packed.num);
	free(raw.data);
	free(packed.data);
}

void repair_png_checksums(struct bytes *bytes)
{
	size_t at = 8;
	while (bytes->num >= 12 && at <= bytes->num - 12) {
		size_t length = read_u32(bytes->data + at);
		if (length > bytes->num - at - 12) return;
		write_u32(bytes->data + at + 8 + length, crc32_of(bytes->data + at + 4, length + 4));
		at += length + 12;
	}
}

void put_exif(struct bytes *bytes, int orientation, bool big_endian)
{
	// Header, then at 8: two entries (ImageWidth = 7 as a decoy, Orientation), no next directory.
	uint16_t words[] = {42, 0, 8, 2, 0x0100, 3, 0, 1, 7, 0, 0x0112, 3, 0, 1, (uint16_t)orientation, 0, 0, 0};
	// The 32-bit numbers among the words stand high word first, which little endian turns round.
	static const uint8_t longs[] = {1, 6, 12, 16};
	put(bytes, big_endian ? "MM" : "II", 2);
	for (size_t i = 0; !big_endian && i < sizeof longs; i++) {
		uint16_t high = words[longs[i]];
		words[longs[i]] = words[longs[i] + 1];
		words[longs[i] + 1] = high;
	}
	for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
		uint8_t pair[2] = {(uint8_t)(words[i] >> 8), (uint8_t)words[i]};
		if (!big_endian) pair[0] = (uint8_t)words[i], pair[1] = (uint8_t)(words[i] >> 8);
		put(bytes, pair, 2);
	}
}

struct bytes jpeg_with_exif(const struct bytes *jpeg, const struct bytes *tiff)
{
	struct bytes segment = {0};
	size_t length = tiff->num + 8;
	put(&segment, (uint8_t[]){0xff, 0xe1, (uint8_t)(length >> 8), (uint8_t)length}, 4);
	put(&segment, "Exif\0\0", 6);
	put(&segment, tiff->data, tiff->num);
	struct bytes with = insert_bytes(jpeg, 2, segment.data, segment.num);
	free(segment.data);
	return with;
}
