// SPDX-License-Identifier: MIT
// PNG files to pixels and back, over libpng: every colour type and depth, interlaced or not; of an animation the
// default image. Every byte of the picture's own chunks must be right (checksums, length); other chunks are not looked
// at, save for EXIF. No orientation (image.c). The codec reports through longjmp; what is called between setjmp and it
// holds nothing that would leak.
#include "image_codec.h"

#include "pfld_config.h"
#include <stdlib.h>
#include <string.h>

#if PFLD_HAVE_PNG

#include <inttypes.h>
#include <png.h>
#include <setjmp.h>
#include <stdio.h>

// Where a failure of the codec lands; the first member of both reader and writer.
struct failure {
	jmp_buf jump;
	bool out_of_memory, truncated;
	char text[160];
};

static void on_error(png_structp png, png_const_charp text)
{
	struct failure *failure = png_get_error_ptr(png);
	snprintf(failure->text, sizeof failure->text, "%s", text);
	longjmp(failure->jump, 1);
}

static void on_warning(png_structp png, png_const_charp text)
{
}

// libpng only says "out of memory" in words.
static png_voidp on_allocate(png_structp png, png_alloc_size_t num_bytes)
{
	void *memory = malloc(num_bytes);
	struct failure *failure = png_get_mem_ptr(png);
	if (!memory) failure->out_of_memory = true;
	return memory;
}

static void on_free(png_structp png, png_voidp memory)
{
	free(memory);
}

// ---- decoding ----

struct reader {
	struct failure failure;
	png_structp png;
	png_infop info;
	const uint8_t *bytes;
	size_t num_bytes, at;
};

static void read_bytes(png_structp png, png_bytep destination, size_t num_bytes)
{
	struct reader *reader = png_get_io_ptr(png);
	if (num_bytes > reader->num_bytes - reader->at) {
		reader->failure.truncated = true;
		png_error(png, "the file ends too early");
	}
	memcpy(destination, reader->bytes + reader->at, num_bytes);
	reader->at += num_bytes;
}

static uint32_t get_u32(const uint8_t *bytes)
{
	return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 | bytes[3];
}

// Before libpng looks at it, because libpng's own message would not say the size.
static enum pfld_status check_header(const struct pfld_image_source *source, struct pfld_error *error)
{
	if (source->num_bytes < 24 || memcmp(source->bytes + 12, "IHDR", 4) != 0) return PFLD_OK;
	return pfld_image_check_size(source, get_u32(source->bytes + 16), get_u32(source->bytes + 20), error);
}

static void start_reading(struct reader *reader, const struct pfld_image_limits *limits)
{
	reader->png = png_create_read_struct_2(PNG_LIBPNG_VER_STRING, &reader->failure, on_error, on_warning,
	                                       &reader->failure, on_allocate, on_free);
	if (reader->png) reader->info = png_create_info_struct(reader->png);
	if (!reader->info) {
		reader->failure.out_of_memory = true;
		longjmp(reader->failure.jump, 1);
	}
	png_structp png = reader->png;
	png_set_read_fn(png, reader, read_bytes);
	png_set_user_limits(png, (png_uint_32)limits->max_side, (png_uint_32)limits->max_side);
	png_set_chunk_cache_max(png, 16);
	png_set_chunk_malloc_max(png, 8 << 20);
	// Nothing but the picture's own chunks: no text or profile is unpacked, and none can be wrong. Transparency is
	// dropped, so tRNS goes too.
	png_set_keep_unknown_chunks(png, PNG_HANDLE_CHUNK_NEVER, NULL, -1);
	png_set_keep_unknown_chunks(png, PNG_HANDLE_CHUNK_NEVER, (png_const_bytep) "tRNS", 1);
	png_set_keep_unknown_chunks(png, PNG_HANDLE_CHUNK_AS_DEFAULT, (png_const_bytep) "eXIf", 1);
}

// Whatever is stored comes out as 8-bit RGB. Gamma is left alone because nobody asks for it.
static void ask_for_rgb(png_structp png)
{
	png_set_expand(png);
	png_set_strip_16(png);
	png_set_strip_alpha(png);
	png_set_gray_to_rgb(png);
}

static void read_orientation(const struct reader *reader, struct pfld_image_info *info)
{
	png_uint_32 num_bytes;
	png_bytep exif;
	bool is_there = png_get_eXIf_1(reader->png, reader->info, &num_bytes, &exif) != 0;
	info->orientation = is_there ? pfld_exif_orientation(exif, num_bytes) : 1;
}

static enum pfld_status read_picture(struct reader *reader, struct pfld_image *image,
                                     const struct pfld_image_source *source, struct pfld_image_info *info,
                                     struct pfld_error *error)
{
	start_reading(reader, &source->limits);
	png_structp png = reader->png;
	png_read_info(png, reader->info);
	png_uint_32 width = png_get_image_width(png, reader->info), height = png_get_image_height(png, reader->info);
	enum pfld_status status = pfld_image_check_size(source, width, height, error);
	if (status != PFLD_OK) return status;
	bool is_palette = png_get_color_type(png, reader->info) == PNG_COLOR_TYPE_PALETTE;
	info->channels = is_palette ? 3 : png_get_channels(png, reader->info);
	info->bits = png_get_bit_depth(png, reader->info);
	ask_for_rgb(png);
	int num_passes = png_set_interlace_handling(png);
	png_read_update_info(png, reader->info);
	if (png_get_rowbytes(png, reader->info) != (size_t)width * 3) png_error(png, "the rows are not RGB");
	status = pfld_image_resize_buffer(image, (int32_t)width, (int32_t)height, error);
	if (status != PFLD_OK) return status;
	for (int pass = 0; pass < num_passes; pass++) {
		for (png_uint_32 y = 0; y < height; y++) png_read_row(png, image->pixels + (size_t)y * width * 3, NULL);
	}
	png_read_end(png, reader->info); // checks the last checksum; EXIF may come behind the pixels
	read_orientation(reader, info);
	return PFLD_OK;
}

static enum pfld_status read_or_explain(struct reader *reader, struct pfld_image *image,
                                        const struct pfld_image_source *source, struct pfld_image_info *info,
                                        struct pfld_error *error)
{
	if (setjmp(reader->failure.jump) == 0) return read_picture(reader, image, source, info, error);
	if (reader->failure.out_of_memory)
		return pfld_fail(error, PFLD_ERR_MEMORY, "%s: out of memory: the PNG decoder could get no more.",
		                 source->shown);
	return pfld_fail(error, PFLD_ERR_DATA, "%s: the PNG data is %s: %s.", source->shown,
	                 reader->failure.truncated ? "truncated" : "damaged", reader->failure.text);
}

enum pfld_status pfld_png_decode(struct pfld_image *image, const struct pfld_image_source *source,
                                 struct pfld_image_info *info, struct pfld_error *error)
{
	enum pfld_status status = check_header(source, error);
	if (status != PFLD_OK) return status;
	struct reader reader = {.bytes = source->bytes, .num_bytes = source->num_bytes};
	status = read_or_explain(&reader, image, source, info, error);
	png_destroy_read_struct(&reader.png, &reader.info, NULL);
	return status;
}

// ---- encoding ----

struct writer {
	struct failure failure;
	png_structp png;
	png_infop info;
	uint8_t *bytes;
	size_t capacity, num_bytes;
};

static void write_bytes(png_structp png, png_bytep bytes, size_t num_bytes)
{
	struct writer *writer = png_get_io_ptr(png);
	size_t needed;
	if (!pfld_add_size(writer->num_bytes, num_bytes, &needed) ||
	    !pfld_grow(&writer->bytes, &writer->capacity, needed, 1)) {
		writer->failure.out_of_memory = true;
		png_error(png, "out of memory");
	}
	memcpy(writer->bytes + writer->num_bytes, bytes, num_bytes);
	writer->num_bytes = needed;
}

static void flush_nothing(png_structp png)
{
}

static void write_picture(struct writer *writer, const struct pfld_image *image)
{
	writer->png = png_create_write_struct_2(PNG_LIBPNG_VER_STRING, &writer->failure, on_error, on_warning,
	                                        &writer->failure, on_allocate, on_free);
	if (writer->png) writer->info = png_create_info_struct(writer->png);
	if (!writer->info) {
		writer->failure.out_of_memory = true;
		longjmp(writer->failure.jump, 1);
	}
	png_structp png = writer->png;
	png_set_write_fn(png, writer, write_bytes, flush_nothing);
	png_set_user_limits(png, PNG_UINT_31_MAX, PNG_UINT_31_MAX);
	png_set_IHDR(png, writer->info, (png_uint_32)image->width, (png_uint_32)image->height, 8, PNG_COLOR_TYPE_RGB,
	             PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
	png_write_info(png, writer->info);
	for (int32_t y = 0; y < image->height; y++)
		png_write_row(png, image->pixels + (size_t)y * (size_t)image->width * 3);
	png_write_end(png, writer->info);
}

static enum pfld_status write_or_explain(struct writer *writer, const struct pfld_image *image,
                                         struct pfld_error *error)
{
	if (setjmp(writer->failure.jump) == 0) {
		write_picture(writer, image);
		return PFLD_OK;
	}
	if (writer->failure.out_of_memory)
		return pfld_fail(error, PFLD_ERR_MEMORY, "out of memory: the PNG encoder could get no more");
	return pfld_fail(error, PFLD_ERR_ARGUMENT, "%" PRId32 " x %" PRId32 " pixels cannot be written as PNG: %s.",
	                 image->width, image->height, writer->failure.text);
}

enum pfld_status pfld_image_encode_png(const struct pfld_image *image, uint8_t **bytes, size_t *num_bytes,
                                       struct pfld_error *error)
{
	enum pfld_status status = pfld_image_check_encode(image, bytes, num_bytes, error);
	if (status != PFLD_OK) return status;
	struct writer writer = {0};
	status = write_or_explain(&writer, image, error);
	png_destroy_write_struct(&writer.png, &writer.info);
	if (status == PFLD_OK) {
		*bytes = writer.bytes;
		*num_bytes = writer.num_bytes;
	} else {
		free(writer.bytes);
	}
	return status;
}

#else

enum pfld_status pfld_png_decode(struct pfld_image *image, const struct pfld_image_source *source,
                                 struct pfld_image_info *info, struct pfld_error *error)
{
	return pfld_fail(error, PFLD_ERR_UNSUPPORTED, "%s: a PNG file, and this build has no PNG decoder (libpng).",
	                 source->shown);
}

enum pfld_status pfld_image_encode_png(const struct pfld_image *image, uint8_t **bytes, size_t *num_bytes,
                                       struct pfld_error *error)
{
	return pfld_fail(error, PFLD_ERR_UNSUPPORTED, "This build has no PNG encoder (libpng).");
}

#endif
