// SPDX-License-Identifier: MIT
// Pictures without regard to the codec: what a file is, limits, buffers, PNG of every kind, sound and damaged, and
// mutated files. JPEG has its own tests (test_image_jpeg.c), sampling and drawing too (test_image_pixels.c).
#define _POSIX_C_SOURCE 200809L // mkdtemp
#include "image_maker.h"

#include "pfld_config.h"
#include <check.h>
#include <pfld/image.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static struct pfld_error error;

// Decode, and on failure hold it to what every failure promises: a message with the name, and a picture of 0 x 0.
static enum pfld_status decode(struct pfld_image *image, const struct bytes *bytes, struct pfld_image_info *info)
{
	error = (struct pfld_error){0};
	enum pfld_status status = pfld_image_decode(image, bytes->data, bytes->num, "the-name", NULL, info, &error);
	if (status != PFLD_OK) {
		ck_assert_int_eq(error.status, status);
		ck_assert_ptr_nonnull(strstr(error.message, "the-name"));
		ck_assert_int_eq(image->width, 0);
		ck_assert_int_eq(image->height, 0);
	}
	return status;
}

static void fill_noise(struct pfld_image *image, int32_t width, int32_t height, uint64_t seed)
{
	ck_assert_int_eq(pfld_image_resize_buffer(image, width, height, &error), PFLD_OK);
	for (size_t i = 0; i < (size_t)width * (size_t)height * 3; i++) image->pixels[i] = (uint8_t)next_random(&seed);
}

START_TEST(buffers_are_kept_and_sizes_checked)
{
	struct pfld_image image = {0};
	ck_assert_int_eq(pfld_image_resize_buffer(&image, 10, 5, &error), PFLD_OK);
	uint8_t *pixels = image.pixels;
	ck_assert_uint_ge(image.capacity_bytes, 150);
	ck_assert_int_eq(pfld_image_resize_buffer(&image, 5, 10, &error), PFLD_OK);
	ck_assert_ptr_eq(image.pixels, pixels);
	ck_assert_int_eq(pfld_image_resize_buffer(&image, 0, 10, &error), PFLD_ERR_ARGUMENT);
	ck_assert_int_eq(pfld_image_resize_buffer(&image, 10, -1, &error), PFLD_ERR_ARGUMENT);
	ck_assert_int_eq(pfld_image_resize_buffer(&image, INT32_MAX, INT32_MAX, &error), PFLD_ERR_MEMORY);
	ck_assert_int_eq(image.width, 5);
	ck_assert_ptr_eq(image.pixels, pixels);
	pfld_image_finish(&image);
	ck_assert_ptr_null(image.pixels);
	pfld_image_finish(&image);
}
END_TEST

START_TEST(formats_are_known_by_content)
{
	static const struct {
		const char *content;
		size_t num_bytes;
		const char *expected;
	} cases[] = {
		{"", 0, "not an image: the file is empty"},
		{"<!DOCTYPE html><html>404</html>", 31, "not an image: an HTML or XML page"},
		{"\xef\xbb\xbf\r\n <html>", 11, "not an image: an HTML or XML page"},
		{"version https://git-lfs.github.com/spec/v1\noid", 46, "Git LFS pointer"},
		{"GIF89a\1\0\1\0", 10, "GIF"},
		{"BM\0\0\0\0", 6, "BMP"},
		{"II*\0\x08\0\0\0", 8, "TIFF"},
		{"MM\0*\0\0\0\x08", 8, "TIFF"},
		{"RIFF\x24\0\0\0WEBPVP8 ", 16, "WebP"},
		{"\0\0\0\x1c"
	     "ftypavif",
	     12, "AVIF"},
		{"P6\n1000000 1000000\n255\n", 23, "PPM"},
		{"\x89PNG\n\x1a\n\0", 8, "text mode"},
		{"x", 1, "not an image: neither"},
		{"\x89PN", 3, "not an image: neither"},
	};
	struct pfld_image image = {0};
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct bytes bytes = {0};
		put(&bytes, cases[i].content, cases[i].num_bytes);
		ck_assert_int_eq(decode(&image, &bytes, NULL), PFLD_ERR_DATA);
		ck_assert_msg(strstr(error.message, cases[i].expected), "case %zu: %s", i, error.message);
		free(bytes.data);
	}
	pfld_image_finish(&image);
}
END_TEST

START_TEST(limits_are_checked_before_pixels)
{
	static const struct {
		uint32_t width, height;
		const char *expected;
	} cases[] = {
		{65537, 65536, "65537 x 65536"},
		{0x7fffffff, 0x7fffffff, "2147483647 x 2147483647"},
		{0, 5, "0 x 5"},
		{20000, 20000, "67108864"},
		{65536, 1, "65535"},
	};
	struct pfld_image image = {0};
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct bytes bytes = {0};
		put_png_header(&bytes, cases[i].width, cases[i].height, 1, PNG_GREY, false);
		put_png_chunk(&bytes, "IEND", NULL, 0);
		enum pfld_status expected = PFLD_HAVE_PNG ? PFLD_ERR_DATA : PFLD_ERR_UNSUPPORTED;
		ck_assert_int_eq(decode(&image, &bytes, NULL), expected);
		if (PFLD_HAVE_PNG) ck_assert_msg(strstr(error.message, cases[i].expected), "%s", error.message);
		free(bytes.data);
	}
	ck_assert_uint_eq(image.capacity_bytes, 0);
	pfld_image_finish(&image);
}
END_TEST

START_TEST(a_picture_that_cannot_be_read_says_why)
{
	struct pfld_image image = {0};
	ck_assert_int_eq(pfld_image_read(&image, "/no/such/file.png", NULL, NULL, &error), PFLD_ERR_IO);
	ck_assert_ptr_nonnull(strstr(error.message, "/no/such/file.png"));
	struct pfld_image_limits negative = {.max_side = -1};
	ck_assert_int_eq(pfld_image_read(&image, "x", &negative, NULL, &error), PFLD_ERR_ARGUMENT);
	ck_assert_int_eq(pfld_image_decode(&image, NULL, 0, NULL, NULL, NULL, &error), PFLD_ERR_DATA);
	ck_assert_int_eq(pfld_image_decode(&image, NULL, 0, NULL, NULL, NULL, NULL), PFLD_ERR_DATA);
	pfld_image_finish(&image);
}
END_TEST

START_TEST(an_empty_picture_is_not_written)
{
	struct pfld_image image = {0};
	uint8_t *bytes = NULL;
	size_t num_bytes = 0;
	enum pfld_status expected = PFLD_HAVE_PNG ? PFLD_ERR_ARGUMENT : PFLD_ERR_UNSUPPORTED;
	ck_assert_int_eq(pfld_image_encode_png(&image, &bytes, &num_bytes, &error), expected);
	ck_assert_int_eq(pfld_image_write_png(&image, "never-written.png", &error), expected);
	ck_assert_ptr_null(bytes);
}
END_TEST

#if PFLD_HAVE_PNG

static void assert_same(const struct pfld_image *a, const struct pfld_image *b)
{
	ck_assert_int_eq(a->width, b->width);
	ck_assert_int_eq(a->height, b->height);
	ck_assert_mem_eq(a->pixels, b->pixels, (size_t)a->width * (size_t)a->height * 3);
}

START_TEST(png_round_trip_through_a_file)
{
	char folder[] = "/tmp/pfld-image-XXXXXX", path[64];
	ck_assert_ptr_nonnull(mkdtemp(folder));
	snprintf(path, sizeof path, "%s/named.jpg", folder);
	struct pfld_image image = {0}, back = {0};
	struct pfld_image_info info = {0};
	fill_noise(&image, 37, 23, 1);
	ck_assert_int_eq(pfld_image_write_png(&image, path, &error), PFLD_OK);
	ck_assert_int_eq(pfld_image_read(&back, path, NULL, &info, &error), PFLD_OK);
	assert_same(&image, &back);
	ck_assert_int_eq(info.format, PFLD_IMAGE_PNG);
	ck_assert_int_eq(info.width, 37);
	ck_assert_int_eq(info.height, 23);
	ck_assert_int_eq(info.orientation, 1);
	ck_assert_int_eq(info.channels, 3);
	ck_assert_int_eq(info.bits, 8);
	struct stat old;
	ck_assert_int_eq(stat(path, &old), 0);
	struct pfld_image_limits small = {.max_file_bytes = old.st_size - 1};
	ck_assert_int_eq(pfld_image_read(&back, path, &small, NULL, &error), PFLD_ERR_DATA);
	ck_assert_int_eq(back.width, 0);
	struct pfld_image_limits tight = {.max_pixels = 37 * 23, .max_side = 37, .max_file_bytes = old.st_size};
	ck_assert_int_eq(pfld_image_read(&back, path, &tight, NULL, &error), PFLD_OK);
	tight.max_side = 36;
	ck_assert_int_eq(pfld_image_read(&back, path, &tight, NULL, &error), PFLD_ERR_DATA);
	tight = (struct pfld_image_limits){.max_pixels = 37 * 23 - 1};
	ck_assert_int_eq(pfld_image_read(&back, path, &tight, NULL, &error), PFLD_ERR_DATA);
	ck_assert_int_eq(unlink(path), 0);
	ck_assert_int_eq(rmdir(folder), 0); // nothing else was left there
	pfld_image_finish(&image);
	pfld_image_finish(&back);
}
END_TEST

// What a sample becomes, by the promises in image.h.
static uint8_t shown_sample(uint16_t sample, int depth, const uint8_t *palette, int channel)
{
	if (palette) return palette[sample * 3 + channel];
	return (uint8_t)(depth == 16 ? sample >> 8 : sample * 255 / ((1 << depth) - 1));
}

static void check_png_kind(enum png_type type, int depth, bool interlaced, uint64_t seed)
{
	enum { WIDTH = 13, HEIGHT = 11 };
	uint16_t samples[WIDTH * HEIGHT * 4];
	uint8_t palette[256 * 3];
	int channels = png_type_channels(type), num_colours = 1 << (depth > 8 ? 8 : depth);
	for (size_t i = 0; i < sizeof samples / sizeof samples[0]; i++)
		samples[i] = (uint16_t)(next_random(&seed) & ((1u << depth) - 1));
	for (size_t i = 0; i < sizeof palette; i++) palette[i] = (uint8_t)next_random(&seed);
	struct bytes bytes = {0};
	put_png_header(&bytes, WIDTH, HEIGHT, depth, type, interlaced);
	put_png_chunk(&bytes, "gAMA", "\0\1\x11\x70", 4); // gamma 0.7, to be ignored
	if (type == PNG_PALETTE) put_png_chunk(&bytes, "PLTE", palette, (size_t)num_colours * 3);
	if (type == PNG_PALETTE) put_png_chunk(&bytes, "tRNS", "\0", 1);
	if (type == PNG_GREY) put_png_chunk(&bytes, "tRNS", "\0\1", 2);
	if (type == PNG_RGB) put_png_chunk(&bytes, "tRNS", "\0\1\0\1\0\1", 6);
	put_png_samples(&bytes, samples, WIDTH, HEIGHT, depth, type, interlaced);
	put_png_chunk(&bytes, "IEND", NULL, 0);
	struct pfld_image image = {0};
	struct pfld_image_info info;
	ck_assert_msg(decode(&image, &bytes, &info) == PFLD_OK, "type %d depth %d: %s", type, depth, error.message);
	ck_assert_int_eq(image.width, WIDTH);
	ck_assert_int_eq(image.height, HEIGHT);
	ck_assert_int_eq(info.channels, type == PNG_PALETTE ? 3 : channels);
	ck_assert_int_eq(info.bits, depth);
	for (int i = 0; i < WIDTH * HEIGHT; i++) {
		for (int c = 0; c < 3; c++) {
			uint16_t sample = samples[i * channels + (channels >= 3 ? c : 0)];
			ck_assert_int_eq(image.pixels[i * 3 + c],
			                 shown_sample(sample, depth, type == PNG_PALETTE ? palette : NULL, c));
		}
	}
	pfld_image_finish(&image);
	free(bytes.data);
}

START_TEST(png_of_every_kind)
{
	static const struct {
		enum png_type type;
		int depth;
	} kinds[] = {
		{PNG_GREY, 1},    {PNG_GREY, 2},       {PNG_GREY, 4},        {PNG_GREY, 8},      {PNG_GREY, 16},
		{PNG_PALETTE, 1}, {PNG_PALETTE, 2},    {PNG_PALETTE, 4},     {PNG_PALETTE, 8},   {PNG_RGB, 8},
		{PNG_RGB, 16},    {PNG_GREY_ALPHA, 8}, {PNG_GREY_ALPHA, 16}, {PNG_RGB_ALPHA, 8}, {PNG_RGB_ALPHA, 16},
	};
	for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
		check_png_kind(kinds[i].type, kinds[i].depth, false, i + 1);
		check_png_kind(kinds[i].type, kinds[i].depth, true, i + 100);
	}
}
END_TEST

// A 3 x 2 RGB picture with chunks of the test's choice before and behind the pixels.
static struct bytes make_png(const struct bytes *before, const struct bytes *behind)
{
	static const uint16_t samples[18] = {255, 0, 0, 0, 255, 0, 0, 0, 255, 10, 20, 30, 40, 50, 60, 70, 80, 90};
	struct bytes bytes = {0};
	put_png_header(&bytes, 3, 2, 8, PNG_RGB, false);
	if (before) put(&bytes, before->data, before->num);
	put_png_samples(&bytes, samples, 3, 2, 8, PNG_RGB, false);
	if (behind) put(&bytes, behind->data, behind->num);
	put_png_chunk(&bytes, "IEND", NULL, 0);
	return bytes;
}

START_TEST(png_exif_is_applied_wherever_it_stands)
{
	struct bytes tiff = {0}, chunk = {0};
	put_exif(&tiff, 6, true);
	put_png_chunk(&chunk, "eXIf", tiff.data, tiff.num);
	struct pfld_image image = {0};
	struct pfld_image_info info;
	for (int behind = 0; behind < 2; behind++) {
		struct bytes png = make_png(behind ? NULL : &chunk, behind ? &chunk : NULL);
		ck_assert_int_eq(decode(&image, &png, &info), PFLD_OK);
		ck_assert_int_eq(info.orientation, 6);
		ck_assert_int_eq(image.width, 2);
		ck_assert_int_eq(image.height, 3);
		// A quarter turn clockwise: the first row becomes the right column.
		ck_assert_mem_eq(image.pixels, "\x0a\x14\x1e\xff\0\0", 6);
		free(png.data);
	}
	chunk.data[chunk.num - 1] ^= 1; // a damaged chunk is no orientation
	struct bytes png = make_png(&chunk, NULL);
	ck_assert_int_eq(decode(&image, &png, &info), PFLD_OK);
	ck_assert_int_eq(info.orientation, 1);
	free(png.data);
	free(tiff.data);
	free(chunk.data);
	pfld_image_finish(&image);
}
END_TEST

START_TEST(png_damage_outside_the_picture_is_harmless)
{
	struct bytes chunks = {0}, frame = {0};
	put_png_chunk(&chunks, "acTL", "\0\0\0\2\0\0\0\0", 8);
	put_png_chunk(&chunks, "iCCP", "x\0\0not zlib", 11);
	put_png_chunk(&chunks, "tEXt", "no end", 6);
	put_png_chunk(&chunks, "gAMA", "\0", 1);
	put_png_chunk(&chunks, "tIME", "late", 4);
	chunks.data[chunks.num - 1] ^= 1; // and a wrong checksum
	put_png_chunk(&frame, "fdAT", "\0\0\0\1rubbish", 11);
	struct bytes png = make_png(&chunks, &frame);
	struct pfld_image image = {0};
	ck_assert_int_eq(decode(&image, &png, NULL), PFLD_OK);
	ck_assert_mem_eq(image.pixels, "\xff\0\0\0\xff\0\0\0\xff\x0a\x14\x1e\x28\x32\x3c\x46\x50\x5a", 18);
	free(png.data);
	free(chunks.data);
	free(frame.data);
	pfld_image_finish(&image);
}
END_TEST

// Every single changed bit of this file (it has the picture's own chunks only) and every shortening is found.
START_TEST(png_damage_in_the_picture_is_found)
{
	struct bytes png = make_png(NULL, NULL);
	struct pfld_image image = {0};
	size_t num_bytes = png.num;
	for (png.num = 0; png.num < num_bytes; png.num++) ck_assert_int_eq(decode(&image, &png, NULL), PFLD_ERR_DATA);
	for (size_t bit = 0; bit < num_bytes * 8; bit++) {
		png.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
		ck_assert_msg(decode(&image, &png, NULL) == PFLD_ERR_DATA, "bit %zu", bit);
		png.data[bit / 8] ^= (uint8_t)(1 << bit % 8);
	}
	ck_assert_int_eq(decode(&image, &png, NULL), PFLD_OK);
	free(png.data);
	struct bytes chunk = {0};
	put_png_chunk(&chunk, "NEWc", "?", 1); // a critical chunk that nobody knows
	png = make_png(&chunk, NULL);
	ck_assert_int_eq(decode(&image, &png, NULL), PFLD_ERR_DATA);
	free(png.data);
	free(chunk.data);
	pfld_image_finish(&image);
}
END_TEST

#else

START_TEST(png_is_refused_without_the_codec)
{
	struct bytes png = {0};
	struct pfld_image image = {0};
	put_png_header(&png, 3, 2, 8, PNG_RGB, false);
	ck_assert_int_eq(decode(&image, &png, NULL), PFLD_ERR_UNSUPPORTED);
	fill_noise(&image, 3, 2, 1);
	ck_assert_int_eq(pfld_image_write_png(&image, "never-written.png", &error), PFLD_ERR_UNSUPPORTED);
	pfld_image_finish(&image);
	free(png.data);
}
END_TEST

#endif

// ---- mutation ----

#if PFLD_HAVE_PNG || PFLD_HAVE_JPEG

static void mutate(struct bytes *bytes, uint64_t *seed)
{
	static const uint8_t tempting[] = {0, 1, 0x7f, 0x80, 0xff, 0xd8, 0xd9, 0xda, 0xc2};
	uint32_t num_changes = 1 + next_random(seed) % 8;
	for (uint32_t i = 0; i < num_changes; i++) {
		size_t at = 8 + next_random(seed) % (bytes->num - 8);
		switch (next_random(seed) % 3) {
		case 0: bytes->data[at] = (uint8_t)next_random(seed); break;
		case 1: bytes->data[at] ^= (uint8_t)(1 << next_random(seed) % 8); break;
		default: bytes->data[at] = tempting[next_random(seed) % sizeof tempting]; break;
		}
	}
	if (next_random(seed) % 8 == 0) bytes->num -= next_random(seed) % (bytes->num / 2);
}

// Any outcome but a crash, a leak or an undocumented status is fine. Half of the PNG get right checksums, or libpng
// would look no further.
static void check_mutations(const struct bytes *original, int num_mutations, bool is_png, uint64_t seed)
{
	static const struct pfld_image_limits limits = {.max_pixels = 1 << 20};
	struct pfld_image image = {0};
	int num_ok = 0;
	printf("%s mutations: %d, seed %d\n", is_png ? "PNG" : "JPEG", num_mutations, (int)seed);
	for (int i = 0; i < num_mutations; i++) {
		struct bytes bytes = {0};
		put(&bytes, original->data, original->num);
		mutate(&bytes, &seed);
		if (is_png && i % 2) repair_png_checksums(&bytes);
		error = (struct pfld_error){0};
		enum pfld_status status = pfld_image_decode(&image, bytes.data, bytes.num, "name", &limits, NULL, &error);
		num_ok += status == PFLD_OK;
		ck_assert(status == PFLD_OK || status == PFLD_ERR_DATA || status == PFLD_ERR_UNSUPPORTED);
		ck_assert_int_eq(image.width == 0, status != PFLD_OK);
		ck_assert_int_eq(error.message[0] == '\0', status == PFLD_OK);
		free(bytes.data);
	}
	ck_assert_int_lt(num_ok, num_mutations);
	pfld_image_finish(&image);
}

#endif

#if PFLD_HAVE_PNG

START_TEST(mutated_png_does_no_harm)
{
	struct pfld_image image = {0};
	struct bytes tiff = {0}, chunk = {0}, png = {0};
	fill_noise(&image, 40, 30, 5);
	ck_assert_int_eq(pfld_image_encode_png(&image, &png.data, &png.num, &error), PFLD_OK);
	put_exif(&tiff, 8, false);
	put_png_chunk(&chunk, "eXIf", tiff.data, tiff.num);
	struct bytes with_exif = insert_bytes(&png, 33, chunk.data, chunk.num), small = make_png(&chunk, NULL);
	check_mutations(&with_exif, 400, true, 11);
	check_mutations(&small, 400, true, 12);
	pfld_free(png.data);
	free(tiff.data);
	free(chunk.data);
	free(with_exif.data);
	free(small.data);
	pfld_image_finish(&image);
}
END_TEST

#endif

#if PFLD_HAVE_JPEG

START_TEST(mutated_jpeg_does_no_harm)
{
	struct pfld_image image = {0};
	struct bytes tiff = {0}, jpeg = {0};
	fill_noise(&image, 40, 30, 5);
	ck_assert_int_eq(pfld_image_encode_jpeg(&image, 50, &jpeg.data, &jpeg.num, &error), PFLD_OK);
	put_exif(&tiff, 8, false);
	struct bytes with_exif = jpeg_with_exif(&jpeg, &tiff);
	check_mutations(&with_exif, 800, false, 13);
	pfld_free(jpeg.data);
	free(tiff.data);
	free(with_exif.data);
	pfld_image_finish(&image);
}
END_TEST

#endif

int main(void)
{
	Suite *suite = suite_create("image");
	TCase *any = tcase_create("any format");
	tcase_add_test(any, buffers_are_kept_and_sizes_checked);
	tcase_add_test(any, formats_are_known_by_content);
	tcase_add_test(any, limits_are_checked_before_pixels);
	tcase_add_test(any, a_picture_that_cannot_be_read_says_why);
	tcase_add_test(any, an_empty_picture_is_not_written);
#if PFLD_HAVE_JPEG
	tcase_add_test(any, mutated_jpeg_does_no_harm);
#endif
	tcase_set_timeout(any, 60);
	suite_add_tcase(suite, any);
	TCase *png = tcase_create("PNG");
#if PFLD_HAVE_PNG
	tcase_add_test(png, png_round_trip_through_a_file);
	tcase_add_test(png, png_of_every_kind);
	tcase_add_test(png, png_exif_is_applied_wherever_it_stands);
	tcase_add_test(png, png_damage_outside_the_picture_is_harmless);
	tcase_add_test(png, png_damage_in_the_picture_is_found);
	tcase_add_test(png, mutated_png_does_no_harm);
	tcase_set_timeout(png, 60);
#else
	tcase_add_test(png, png_is_refused_without_the_codec);
#endif
	suite_add_tcase(suite, png);
	SRunner *runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	int num_failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return num_failed ? 1 : 0;
}
