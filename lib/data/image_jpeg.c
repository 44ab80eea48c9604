// SPDX-License-Identifier: MIT
// JPEG files to pixels and back, over libjpeg-turbo: 8 bits, grey, YCbCr, RGB, CMYK and YCCK, sequential and
// progressive. Pixels equal those of `djpeg` without options. No orientation, no limits of its own (image.c). The codec
// reports through longjmp; what is called between setjmp and it holds nothing that would leak.
#include "image_codec.h"

#include "pfld_config.h"
#include <stdlib.h>
#include <string.h>

#if PFLD_HAVE_JPEG

#include <inttypes.h>
#include <limits.h>
#include <setjmp.h>
#include <stdio.h> // jpeglib.h needs it first
#include <jpeglib.h>
#include <jerror.h>

// Files of real programs have some ten scans. Each scan passes over all coefficients, however few bytes it has, so a
// file could otherwise keep a thread busy for hours.
#define MAX_SCANS 100

// Where a failure of the codec lands. The codec's structs point here through client_data.
struct failure {
	jmp_buf jump;
	int code;           // J_MESSAGE_CODE
	int detail;         // the first number of the message
	bool end_is_damage; // the end of the file costs coefficients, not just the end marker
	bool saw_end;       // the file ended before the end marker
	bool too_many_scans;
	char text[JMSG_LENGTH_MAX];
};

static void on_error(j_common_ptr codec)
{
	struct failure *failure = codec->client_data;
	failure->code = codec->err->msg_code;
	failure->detail = codec->err->msg_parm.i[0];
	codec->err->format_message(codec, failure->text);
	longjmp(failure->jump, 1);
}

// Which warnings (level -1; others are traces) leave the picture whole. All else means that coefficients are missing or
// made up, and is an error:
//   JWRN_EXTRANEOUS_DATA  bytes between segments that nobody asked for; common from cameras and editors
//   JWRN_ADOBE_XFORM      an unknown number in Adobe's marker; the component count says enough
//   JWRN_JFIF_MAJOR       an unknown JFIF version
//   JWRN_NOT_SEQUENTIAL   progressive parameters in a sequential file, which have no effect there
//   JWRN_JPEG_EOF         no end marker; harmless in a file of one Huffman-coded scan, because a decoder that then
//                         lacks even one bit reports JWRN_HIT_MARKER. In a file of several scans some may be missing.
static void on_message(j_common_ptr codec, int level)
{
	struct failure *failure = codec->client_data;
	if (level >= 0) return;
	switch (codec->err->msg_code) {
	case JWRN_EXTRANEOUS_DATA:
	case JWRN_ADOBE_XFORM:
	case JWRN_JFIF_MAJOR:
	case JWRN_NOT_SEQUENTIAL: return;
	case JWRN_JPEG_EOF:
		failure->saw_end = true;
		if (!failure->end_is_damage) return;
		break;
	default: break;
	}
	on_error(codec);
}

static void print_nothing(j_common_ptr codec)
{
}

static void init_errors(struct jpeg_error_mgr *errors)
{
	jpeg_std_error(errors);
	errors->error_exit = on_error;
	errors->emit_message = on_message;
	errors->output_message = print_nothing;
}

// ---- decoding ----

struct reader {
	struct jpeg_decompress_struct codec;
	struct jpeg_error_mgr errors;
	struct jpeg_progress_mgr progress;
	struct failure failure;
};

static void on_progress(j_common_ptr codec)
{
	struct failure *failure = codec->client_data;
	if (((j_decompress_ptr)codec)->input_scan_number <= MAX_SCANS) return;
	failure->too_many_scans = true;
	longjmp(failure->jump, 1);
}

// What a failure of the codec means to the caller.
static enum pfld_status explain(const struct reader *reader, const struct pfld_image_source *source,
                                struct pfld_error *error)
{
	const struct failure *failure = &reader->failure;
	const char *kind = "the JPEG data is damaged";
	enum pfld_status status = PFLD_ERR_DATA;
	if (failure->too_many_scans)
		return pfld_fail(error, PFLD_ERR_DATA, "%s: the JPEG file has more than %d scans.", source->shown, MAX_SCANS);
	switch (failure->code) {
	case JERR_OUT_OF_MEMORY:
		return pfld_fail(error, PFLD_ERR_MEMORY, "%s: out of memory: the JPEG decoder could get no more.",
		                 source->shown);
	case JERR_IMAGE_TOO_BIG:
		status = pfld_image_check_size(source, reader->codec.image_width, reader->codec.image_height, error);
		if (status != PFLD_OK) return status;
		status = PFLD_ERR_UNSUPPORTED;
		break;
	case JERR_BAD_PRECISION:
		// The standard knows 8 and 12 bits, and 2 to 16 in lossless files (refused by their SOF type).
		if (failure->detail == 12) status = PFLD_ERR_UNSUPPORTED;
		break;
#if JPEG_LIB_VERSION < 70 // newer interfaces always come with arithmetic coding
	case JERR_ARITH_NOTIMPL:
#endif
	case JERR_SOF_UNSUPPORTED:
	case JERR_NOT_COMPILED:
	case JERR_CONVERSION_NOTIMPL:
	case JERR_FRACT_SAMPLE_NOTIMPL:
	case JERR_CCIR601_NOTIMPL: status = PFLD_ERR_UNSUPPORTED; break;
	default: break;
	}
	if (status == PFLD_ERR_UNSUPPORTED)
		kind = "a JPEG variant that the decoder lacks";
	else if (failure->saw_end)
		kind = "the JPEG data is truncated";
	return pfld_fail(error, status, "%s: %s: %s.", source->shown, kind, failure->text);
}

static void read_orientation(const struct reader *reader, struct pfld_image_info *info)
{
	info->orientation = 1;
	for (jpeg_saved_marker_ptr marker = reader->codec.marker_list; marker; marker = marker->next) {
		if (marker->data_length < 6 || memcmp(marker->data, "Exif\0\0", 6) != 0) continue;
		info->orientation = pfld_exif_orientation(marker->data + 6, marker->data_length - 6);
		return;
	}
}

// The largest need of the codec is all coefficients of a progressive file, 16 bits each, with edges filled up to whole
// units of at most 32 x 32 samples.
static long max_codec_bytes(const struct reader *reader, const struct pfld_image_source *source)
{
	uint64_t width = (uint64_t)reader->codec.image_width + 32, height = (uint64_t)reader->codec.image_height + 32;
	uint64_t num_bytes = width * height * 8 + source->num_bytes + (UINT64_C(64) << 20);
	return num_bytes < LONG_MAX ? (long)num_bytes : LONG_MAX;
}

// CMYK as all files in practice have it: inverted, with or without Adobe's marker. round(c * k / 255), as in djpeg.
static void convert_cmyk_row(uint8_t *rgb, const uint8_t *cmyk, size_t width)
{
	for (size_t x = 0; x < width; x++, rgb += 3, cmyk += 4) {
		for (int c = 0; c < 3; c++) rgb[c] = (uint8_t)((cmyk[c] * cmyk[3] + 127) / 255);
	}
}

static void read_rows(struct reader *reader, struct pfld_image *image)
{
	j_decompress_ptr codec = &reader->codec;
	size_t width = (size_t)image->width;
	bool is_cmyk = codec->out_color_space == JCS_CMYK;
	JSAMPROW cmyk = NULL; // the codec's memory
	if (is_cmyk) cmyk = codec->mem->alloc_large((j_common_ptr)codec, JPOOL_IMAGE, width * 4);
	while (codec->output_scanline < codec->output_height) {
		uint8_t *rgb = image->pixels + (size_t)codec->output_scanline * width * 3;
		JSAMPROW row = is_cmyk ? cmyk : rgb;
		jpeg_read_scanlines(codec, &row, 1);
		if (is_cmyk) convert_cmyk_row(rgb, cmyk, width);
	}
}

static enum pfld_status read_picture(struct reader *reader, struct pfld_image *image,
                                     const struct pfld_image_source *source, struct pfld_image_info *info,
                                     struct pfld_error *error)
{
	j_decompress_ptr codec = &reader->codec;
	jpeg_create_decompress(codec);
	reader->progress.progress_monitor = on_progress;
	codec->progress = &reader->progress;
	jpeg_save_markers(codec, JPEG_APP0 + 1, 0xffff);
	jpeg_mem_src(codec, source->bytes, (unsigned long)source->num_bytes);
	jpeg_read_header(codec, TRUE);
	reader->failure.end_is_damage = jpeg_has_multiple_scans(codec) || codec->arith_code;
	enum pfld_status status = pfld_image_check_size(source, codec->image_width, codec->image_height, error);
	if (status != PFLD_OK) return status;
	if (codec->num_components != 1 && codec->num_components != 3 && codec->num_components != 4)
		return pfld_fail(error, PFLD_ERR_UNSUPPORTED, "%s: a JPEG file of %d components; 1, 3 and 4 are read.",
		                 source->shown, codec->num_components);
	info->channels = codec->num_components;
	info->bits = codec->data_precision;
	read_orientation(reader, info);
	codec->out_color_space = codec->num_components == 4 ? JCS_CMYK : JCS_RGB;
	codec->dct_method = JDCT_ISLOW;
	codec->mem->max_memory_to_use = max_codec_bytes(reader, source);
	status = pfld_image_resize_buffer(image, (int32_t)codec->image_width, (int32_t)codec->image_height, error);
	if (status != PFLD_OK) return status;
	jpeg_start_decompress(codec);
	read_rows(reader, image);
	// No jpeg_finish_decompress(): it would judge what comes behind the picture.
	return PFLD_OK;
}

static enum pfld_status read_or_explain(struct reader *reader, struct pfld_image *image,
                                        const struct pfld_image_source *source, struct pfld_image_info *info,
                                        struct pfld_error *error)
{
	if (setjmp(reader->failure.jump)) return explain(reader, source, error);
	return read_picture(reader, image, source, info, error);
}

enum pfld_status pfld_jpeg_decode(struct pfld_image *image, const struct pfld_image_source *source,
                                  struct pfld_image_info *info, struct pfld_error *error)
{
	struct reader reader = {0};
	init_errors(&reader.errors);
	reader.codec.err = &reader.errors;
	reader.codec.client_data = &reader.failure;
	enum pfld_status status = read_or_explain(&reader, image, source, info, error);
	jpeg_destroy_decompress(&reader.codec);
	return status;
}

// ---- encoding ----

// libjpeg's own writer to memory loses its buffer when it fails half way, hence this one.
struct writer {
	struct jpeg_compress_struct codec;
	struct jpeg_error_mgr errors;
	struct jpeg_destination_mgr destination;
	struct failure failure;
	uint8_t *bytes;
	size_t capacity, num_bytes;
	bool out_of_memory;
};

static struct writer *writer_of(j_compress_ptr codec)
{
	return (struct writer *)((char *)codec - offsetof(struct writer, codec));
}

static void offer_space(struct writer *writer, size_t num_used)
{
	if (!pfld_grow(&writer->bytes, &writer->capacity, num_used + 4096, 1)) {
		writer->out_of_memory = true;
		longjmp(writer->failure.jump, 1);
	}
	writer->destination.next_output_byte = writer->bytes + num_used;
	writer->destination.free_in_buffer = writer->capacity - num_used;
}

static void start_output(j_compress_ptr codec)
{
	offer_space(writer_of(codec), 0);
}

// The codec calls this with the whole buffer full, whatever free_in_buffer says.
static boolean grow_output(j_compress_ptr codec)
{
	struct writer *writer = writer_of(codec);
	offer_space(writer, writer->capacity);
	return TRUE;
}

static void end_output(j_compress_ptr codec)
{
	struct writer *writer = writer_of(codec);
	writer->num_bytes = writer->capacity - writer->destination.free_in_buffer;
}

static void write_picture(struct writer *writer, const struct pfld_image *image, int32_t quality)
{
	j_compress_ptr codec = &writer->codec;
	jpeg_create_compress(codec);
	writer->destination.init_destination = start_output;
	writer->destination.empty_output_buffer = grow_output;
	writer->destination.term_destination = end_output;
	codec->dest = &writer->destination;
	codec->image_width = (JDIMENSION)image->width;
	codec->image_height = (JDIMENSION)image->height;
	codec->input_components = 3;
	codec->in_color_space = JCS_RGB;
	jpeg_set_defaults(codec);
	jpeg_set_quality(codec, quality, TRUE);
	jpeg_start_compress(codec, TRUE);
	while (codec->next_scanline < codec->image_height) {
		JSAMPROW row = image->pixels + (size_t)codec->next_scanline * (size_t)image->width * 3;
		jpeg_write_scanlines(codec, &row, 1);
	}
	jpeg_finish_compress(codec);
}

static enum pfld_status write_or_explain(struct writer *writer, const struct pfld_image *image, int32_t quality,
                                         struct pfld_error *error)
{
	if (setjmp(writer->failure.jump) == 0) {
		write_picture(writer, image, quality);
		return PFLD_OK;
	}
	if (writer->out_of_memory || writer->failure.code == JERR_OUT_OF_MEMORY)
		return pfld_fail(error, PFLD_ERR_MEMORY, "out of memory: the JPEG encoder could get no more");
	return pfld_fail(error, PFLD_ERR_ARGUMENT, "%" PRId32 " x %" PRId32 " pixels cannot be written as JPEG: %s.",
	                 image->width, image->height, writer->failure.text);
}

enum pfld_status pfld_image_encode_jpeg(const struct pfld_image *image, int32_t quality, uint8_t **bytes,
                                        size_t *num_bytes, struct pfld_error *error)
{
	enum pfld_status status = pfld_image_check_encode(image, bytes, num_bytes, error);
	if (status != PFLD_OK) return status;
	if (quality < 1 || quality > 100)
		return pfld_fail(error, PFLD_ERR_ARGUMENT, "A JPEG quality of %" PRId32 " is not in 1 to 100.", quality);
	struct writer writer = {0};
	init_errors(&writer.errors);
	writer.codec.err = &writer.errors;
	writer.codec.client_data = &writer.failure;
	status = write_or_explain(&writer, image, quality, error);
	jpeg_destroy_compress(&writer.codec);
	if (status == PFLD_OK) {
		*bytes = writer.bytes;
		*num_bytes = writer.num_bytes;
	} else {
		free(writer.bytes);
	}
	return status;
}

#else

enum pfld_status pfld_jpeg_decode(struct pfld_image *image, const struct pfld_image_source *source,
                                  struct pfld_image_info *info, struct pfld_error *error)
{
	return pfld_fail(error, PFLD_ERR_UNSUPPORTED,
	                 "%s: a JPEG file, and this build has no JPEG decoder (libjpeg-turbo).", source->shown);
}

enum pfld_status pfld_image_encode_jpeg(const struct pfld_image *image, int32_t quality, uint8_t **bytes,
                                        size_t *num_bytes, struct pfld_error *error)
{
	return pfld_fail(error, PFLD_ERR_UNSUPPORTED, "This build has no JPEG encoder (libjpeg-turbo).");
}

#endif
