// SPDX-License-Identifier: MIT
// JPEG: every kind that is read, every kind of damage, orientation, and that the codec neither ends nor talks for its
// host. The files are made here, with the codec's own encoder where ours does not make that kind.
#define _POSIX_C_SOURCE 200809L // dup, mkstemp
#include "image_maker.h"

#include "pfld_config.h"
#include <check.h>
#include <pfld/image.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct pfld_error error;

static enum pfld_status decode(struct pfld_image *image, const struct bytes *bytes, struct pfld_image_info *info)
{
	error = (struct pfld_error){0};
	enum pfld_status status = pfld_image_decode(image, bytes->data, bytes->num, "the-name", NULL, info, &error);
	if (status != PFLD_OK) {
		ck_assert_int_eq(error.status, status);
		ck_assert_ptr_nonnull(strstr(error.message, "the-name"));
		ck_assert_int_eq(image->width, 0);
	}
	return status;
}

#if PFLD_HAVE_JPEG

#include <jpeglib.h>

enum { WIDTH = 37, HEIGHT = 21 };

// How the codec's encoder shall write WIDTH x HEIGHT samples.
struct kind {
	int channels; // 0: 3
	J_COLOR_SPACE given, stored;
	bool progressive, arithmetic, separate; // separate: one scan per component
	unsigned restart_interval;
	int num_band_scans; // progressive grey: one scan for DC, then so many for bands of one coefficient and one bit
};

static void fill_smooth(uint8_t *samples, int channels)
{
	for (int y = 0; y < HEIGHT; y++) {
		for (int x = 0; x < WIDTH; x++) {
			for (int c = 0; c < channels; c++)
				samples[(y * WIDTH + x) * channels + c] = (uint8_t)(x * (5 - c) + y * (3 + c) + (x * y * 7 + c) % 16);
		}
	}
}

static void plan_scans(struct jpeg_compress_struct *codec, const struct kind *kind, jpeg_scan_info *scans)
{
	if (kind->progressive) jpeg_simple_progression(codec);
	if (kind->separate) {
		for (int c = 0; c < 3; c++)
			scans[c] = (jpeg_scan_info){.comps_in_scan = 1, .component_index = {c}, .Ss = 0, .Se = 63};
		codec->scan_info = scans;
		codec->num_scans = 3;
	}
	if (kind->num_band_scans) {
		scans[0] = (jpeg_scan_info){.comps_in_scan = 1};
		for (int i = 0; i < kind->num_band_scans; i++) {
			int band = 1 + i % 63, refines = i / 63;
			scans[i + 1] = (jpeg_scan_info){
				.comps_in_scan = 1, .Ss = band, .Se = band, .Ah = refines ? 1 : 0, .Al = refines ? 0 : 1};
		}
		codec->scan_info = scans;
		codec->num_scans = kind->num_band_scans + 1;
	}
}

static struct bytes make_jpeg(const struct kind *kind, const uint8_t *samples)
{
	struct jpeg_compress_struct codec;
	struct jpeg_error_mgr errors;
	jpeg_scan_info scans[127];
	unsigned char *data = NULL;
	unsigned long num = 0;
	codec.err = jpeg_std_error(&errors);
	jpeg_create_compress(&codec);
	jpeg_mem_dest(&codec, &data, &num);
	codec.image_width = WIDTH;
	codec.image_height = HEIGHT;
	codec.input_components = kind->channels ? kind->channels : 3;
	codec.in_color_space = kind->channels ? kind->given : JCS_RGB;
	jpeg_set_defaults(&codec);
	jpeg_set_colorspace(&codec, kind->channels ? kind->stored : JCS_YCbCr);
	jpeg_set_quality(&codec, 90, TRUE);
	codec.arith_code = kind->arithmetic;
	codec.restart_interval = kind->restart_interval;
	plan_scans(&codec, kind, scans);
	jpeg_start_compress(&codec, TRUE);
	while (codec.next_scanline < HEIGHT) {
		JSAMPROW row = (JSAMPROW)samples + codec.next_scanline * WIDTH * (unsigned)codec.input_components;
		jpeg_write_scanlines(&codec, &row, 1);
	}
	jpeg_finish_compress(&codec);
	jpeg_destroy_compress(&codec);
	struct bytes bytes = {0};
	put(&bytes, data, num);
	free(data);
	return bytes;
}

static struct bytes make_smooth_jpeg(const struct kind *kind)
{
	uint8_t samples[WIDTH * HEIGHT * 4];
	fill_smooth(samples, kind->channels ? kind->channels : 3);
	return make_jpeg(kind, samples);
}

// Where the marker 0xff `code` stands.
static size_t find_marker(const struct bytes *bytes, int code)
{
	for (size_t i = 0; i + 1 < bytes->num; i++) {
		if (bytes->data[i] == 0xff && bytes->data[i + 1] == code) return i;
	}
	ck_abort_msg("no marker %02x", (unsigned)code);
	return 0;
}

static const struct kind plain_kind = {0};

START_TEST(round_trip)
{
	struct pfld_image image = {0}, back = {0};
	struct pfld_image_info info = {0};
	struct bytes bytes = {0};
	ck_assert_int_eq(pfld_image_resize_buffer(&image, WIDTH, HEIGHT, &error), PFLD_OK);
	for (int i = 0; i < WIDTH * HEIGHT * 3; i++) image.pixels[i] = (uint8_t)(i / 3 % WIDTH * 4 + i / (3 * WIDTH) * 3);
	ck_assert_int_eq(pfld_image_encode_jpeg(&image, 98, &bytes.data, &bytes.num, &error), PFLD_OK);
	ck_assert_int_eq(decode(&back, &bytes, &info), PFLD_OK);
	for (int i = 0; i < WIDTH * HEIGHT * 3; i++) ck_assert_int_le(abs(image.pixels[i] - back.pixels[i]), 6);
	ck_assert_int_eq(info.format, PFLD_IMAGE_JPEG);
	ck_assert_int_eq(info.width, WIDTH);
	ck_assert_int_eq(info.height, HEIGHT);
	ck_assert_int_eq(info.channels, 3);
	ck_assert_int_eq(info.bits, 8);
	pfld_free(bytes.data);
	bytes.data = NULL;
	ck_assert_int_eq(pfld_image_encode_jpeg(&image, 0, &bytes.data, &bytes.num, &error), PFLD_ERR_ARGUMENT);
	ck_assert_int_eq(pfld_image_encode_jpeg(&image, 101, &bytes.data, &bytes.num, &error), PFLD_ERR_ARGUMENT);
	ck_assert_int_eq(pfld_image_resize_buffer(&image, 65501, 1, &error), PFLD_OK);
	ck_assert_int_eq(pfld_image_encode_jpeg(&image, 50, &bytes.data, &bytes.num, &error), PFLD_ERR_ARGUMENT);
	ck_assert_ptr_nonnull(strstr(error.message, "65501 x 1"));
	// More than one buffer full.
	ck_assert_int_eq(pfld_image_resize_buffer(&image, 300, 200, &error), PFLD_OK);
	uint64_t seed = 3;
	for (int i = 0; i < 300 * 200 * 3; i++) image.pixels[i] = (uint8_t)next_random(&seed);
	ck_assert_int_eq(pfld_image_encode_jpeg(&image, 100, &bytes.data, &bytes.num, &error), PFLD_OK);
	ck_assert_uint_gt(bytes.num, 100000);
	ck_assert_int_eq(decode(&back, &bytes, &info), PFLD_OK);
	pfld_free(bytes.data);
	pfld_image_finish(&image);
	pfld_image_finish(&back);
}
END_TEST

// However the same coefficients are coded, the same pixels come out.
START_TEST(codings_of_the_same_picture_agree)
{
	static const struct kind kinds[] = {
		{.progressive = true}, {.restart_interval = 2},
		{.separate = true},
#ifdef C_ARITH_CODING_SUPPORTED
		{.arithmetic = true},  {.arithmetic = true, .progressive = true},
#endif
	};
	struct bytes plain = make_smooth_jpeg(&plain_kind);
	struct pfld_image expected = {0}, image = {0};
	ck_assert_int_eq(decode(&expected, &plain, NULL), PFLD_OK);
	for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
		struct bytes bytes = make_smooth_jpeg(&kinds[i]);
		ck_assert_msg(decode(&image, &bytes, NULL) == PFLD_OK, "kind %zu: %s", i, error.message);
		ck_assert_mem_eq(image.pixels, expected.pixels, WIDTH * HEIGHT * 3);
		free(bytes.data);
	}
	free(plain.data);
	pfld_image_finish(&expected);
	pfld_image_finish(&image);
}
END_TEST

START_TEST(grey_is_equal_red_green_and_blue)
{
	struct kind kind = {.channels = 1, .given = JCS_GRAYSCALE, .stored = JCS_GRAYSCALE};
	uint8_t samples[WIDTH * HEIGHT];
	memset(samples, 100, sizeof samples);
	struct bytes bytes = make_jpeg(&kind, samples);
	struct pfld_image image = {0};
	struct pfld_image_info info;
	ck_assert_int_eq(decode(&image, &bytes, &info), PFLD_OK);
	ck_assert_int_eq(info.channels, 1);
	for (int i = 0; i < WIDTH * HEIGHT * 3; i++) ck_assert_int_eq(image.pixels[i], 100);
	free(bytes.data);
	pfld_image_finish(&image);
}
END_TEST

// Four quarters as printers see them; files hold the complement, whether Adobe's marker says so or not.
START_TEST(cmyk_is_inverted_with_and_without_marker)
{
	static const uint8_t inks[4][4] = {{255, 0, 0, 0}, {0, 255, 0, 0}, {0, 0, 255, 0}, {0, 0, 0, 255}};
	static const uint8_t expected[4][3] = {{0, 255, 255}, {255, 0, 255}, {255, 255, 0}, {0, 0, 0}};
	static const struct kind kinds[] = {{.channels = 4, .given = JCS_CMYK, .stored = JCS_CMYK},
	                                    {.channels = 4, .given = JCS_CMYK, .stored = JCS_YCCK}};
	uint8_t samples[WIDTH * HEIGHT * 4];
	for (int i = 0; i < WIDTH * HEIGHT; i++) {
		int quarter = (i % WIDTH >= 16) + 2 * (i / WIDTH >= 16);
		for (int c = 0; c < 4; c++) samples[i * 4 + c] = (uint8_t)(255 - inks[quarter][c]);
	}
	struct pfld_image image = {0};
	for (int variant = 0; variant < 3; variant++) {
		struct bytes bytes = make_jpeg(&kinds[variant == 2], samples);
		size_t adobe = find_marker(&bytes, 0xee);
		if (variant == 1) {
			size_t num = 2u + bytes.data[adobe + 3];
			memmove(bytes.data + adobe, bytes.data + adobe + num, bytes.num - adobe - num);
			bytes.num -= num;
		}
		struct pfld_image_info info;
		ck_assert_int_eq(decode(&image, &bytes, &info), PFLD_OK);
		ck_assert_int_eq(info.channels, 4);
		for (int quarter = 0; quarter < 4; quarter++) {
			int x = quarter % 2 ? 26 : 6, y = quarter / 2 ? 19 : 6;
			for (int c = 0; c < 3; c++)
				ck_assert_int_le(abs(image.pixels[(y * WIDTH + x) * 3 + c] - expected[quarter][c]), 3);
		}
		free(bytes.data);
	}
	pfld_image_finish(&image);
}
END_TEST

START_TEST(variants_that_the_codec_lacks_are_unsupported)
{
	struct pfld_image image = {0};
	struct bytes bytes = make_smooth_jpeg(&plain_kind);
	size_t frame = find_marker(&bytes, 0xc0);
	bytes.data[frame + 4] = 12;
	enum pfld_status status = decode(&image, &bytes, NULL);
	ck_assert(status == PFLD_ERR_UNSUPPORTED);
	ck_assert_ptr_nonnull(strstr(error.message, "12"));
	bytes.data[frame + 4] = 9;
	ck_assert_int_eq(decode(&image, &bytes, NULL), PFLD_ERR_DATA);
	bytes.data[frame + 4] = 8;
	bytes.data[frame + 1] = 0xc5; // hierarchical
	ck_assert_int_eq(decode(&image, &bytes, NULL), PFLD_ERR_UNSUPPORTED);
	free(bytes.data);
	struct kind two = {.channels = 2, .given = JCS_UNKNOWN, .stored = JCS_UNKNOWN};
	bytes = make_smooth_jpeg(&two);
	ck_assert_int_eq(decode(&image, &bytes, NULL), PFLD_ERR_UNSUPPORTED);
	free(bytes.data);
	pfld_image_finish(&image);
}
END_TEST

START_TEST(sizes_are_checked_before_pixels)
{
	static const struct {
		int width, height;
		enum pfld_status status;
		const char *expected;
	} cases[] = {
		{65500, 65500, PFLD_ERR_DATA, "65500 x 65500"},
		{65535, 65535, PFLD_ERR_DATA, "65535 x 65535"},
		{65535, 1, PFLD_ERR_UNSUPPORTED, "65500"},
		{WIDTH, 0, PFLD_ERR_DATA, "DNL"},
	};
	struct pfld_image image = {0};
	struct bytes bytes = make_smooth_jpeg(&plain_kind);
	uint8_t *size = bytes.data + find_marker(&bytes, 0xc0) + 5;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		uint8_t patch[] = {(uint8_t)(cases[i].height >> 8), (uint8_t)cases[i].height, (uint8_t)(cases[i].width >> 8),
		                   (uint8_t)cases[i].width};
		memcpy(size, patch, 4);
		ck_assert_int_eq(decode(&image, &bytes, NULL), cases[i].status);
		ck_assert_msg(strstr(error.message, cases[i].expected), "%s", error.message);
	}
	ck_assert_uint_eq(image.capacity_bytes, 0);
	free(bytes.data);
}
END_TEST

// ---- damage ----

static void check_every_shortening(const struct kind *kind, bool end_marker_needed)
{
	struct bytes bytes = make_smooth_jpeg(kind);
	struct pfld_image whole = {0}, image = {0};
	ck_assert_int_eq(decode(&whole, &bytes, NULL), PFLD_OK);
	for (size_t num = bytes.num; num-- > 0;) {
		struct bytes shorter = {.data = bytes.data, .num = num};
		enum pfld_status status = decode(&image, &shorter, NULL);
		bool only_end_marker = bytes.num - num <= 2;
		ck_assert_msg(status == (only_end_marker && !end_marker_needed ? PFLD_OK : PFLD_ERR_DATA),
		              "cut to %zu of %zu bytes: %s", num, bytes.num, error.message);
		if (status == PFLD_OK) ck_assert_mem_eq(image.pixels, whole.pixels, WIDTH * HEIGHT * 3);
	}
	free(bytes.data);
	pfld_image_finish(&whole);
	pfld_image_finish(&image);
}

START_TEST(truncated_data_is_never_a_picture)
{
	check_every_shortening(&plain_kind, false);
	check_every_shortening(&(struct kind){.restart_interval = 1}, false);
	check_every_shortening(&(struct kind){.progressive = true}, true);
	check_every_shortening(&(struct kind){.separate = true}, true);
#ifdef C_ARITH_CODING_SUPPORTED
	check_every_shortening(&(struct kind){.arithmetic = true}, true);
#endif
}
END_TEST

START_TEST(rubbish_between_segments_is_harmless)
{
	struct pfld_image expected = {0}, image = {0};
	struct bytes bytes = make_smooth_jpeg(&plain_kind);
	ck_assert_int_eq(decode(&expected, &bytes, NULL), PFLD_OK);
	uint8_t rubbish[65] = {1, 2, 3};
	struct bytes before_table = insert_bytes(&bytes, find_marker(&bytes, 0xdb), rubbish, sizeof rubbish);
	struct bytes before_end = insert_bytes(&bytes, bytes.num - 2, rubbish, sizeof rubbish);
	struct bytes behind = insert_bytes(&bytes, bytes.num, rubbish, sizeof rubbish);
	struct bytes *all[] = {&before_table, &before_end, &behind};
	for (int i = 0; i < 3; i++) {
		ck_assert_msg(decode(&image, all[i], NULL) == PFLD_OK, "%d: %s", i, error.message);
		ck_assert_mem_eq(image.pixels, expected.pixels, WIDTH * HEIGHT * 3);
		free(all[i]->data);
	}
	bytes.data[find_marker(&bytes, 0xe0) + 9] = 9; // JFIF version 9
	ck_assert_int_eq(decode(&image, &bytes, NULL), PFLD_OK);
	free(bytes.data);
	pfld_image_finish(&expected);
	pfld_image_finish(&image);
}
END_TEST

START_TEST(damaged_data_is_an_error)
{
	struct pfld_image image = {0};
	struct kind kind = {.restart_interval = 1};
	struct bytes bytes = make_smooth_jpeg(&kind);
	bytes.data[find_marker(&bytes, 0xd1) + 1] = 0xd5; // a restart out of order
	ck_assert_int_eq(decode(&image, &bytes, NULL), PFLD_ERR_DATA);
	free(bytes.data);
	bytes = make_smooth_jpeg(&plain_kind);
	memset(bytes.data + find_marker(&bytes, 0xc4) + 5, 0xff, 16); // impossible code lengths
	ck_assert_int_eq(decode(&image, &bytes, NULL), PFLD_ERR_DATA);
	free(bytes.data);
	bytes = make_smooth_jpeg(&plain_kind);
	memcpy(bytes.data + find_marker(&bytes, 0xda) + 100, "\xff\xd9", 2); // the end marker amid the data
	ck_assert_int_eq(decode(&image, &bytes, NULL), PFLD_ERR_DATA);
	free(bytes.data);
	pfld_image_finish(&image);
}
END_TEST

START_TEST(many_scans_do_not_hang)
{
	struct kind kind = {.channels = 1, .given = JCS_GRAYSCALE, .stored = JCS_GRAYSCALE};
	struct pfld_image image = {0};
	kind.num_band_scans = 63;
	struct bytes bytes = make_smooth_jpeg(&kind);
	ck_assert_int_eq(decode(&image, &bytes, NULL), PFLD_OK);
	free(bytes.data);
	kind.num_band_scans = 126;
	bytes = make_smooth_jpeg(&kind);
	ck_assert_int_eq(decode(&image, &bytes, NULL), PFLD_ERR_DATA);
	ck_assert_ptr_nonnull(strstr(error.message, "100 scans"));
	free(bytes.data);
	pfld_image_finish(&image);
}
END_TEST

// Every failure path of the codec, with standard output and error in a file: not one byte.
START_TEST(the_codec_is_silent)
{
	char path[] = "/tmp/pfld-silent-XXXXXX";
	int file = mkstemp(path), old_out = dup(1), old_err = dup(2);
	ck_assert_int_ge(file, 0);
	fflush(stdout);
	ck_assert_int_eq(dup2(file, 1), 1);
	ck_assert_int_eq(dup2(file, 2), 2);
	struct pfld_image image = {0};
	struct bytes bytes = make_smooth_jpeg(&(struct kind){.progressive = true});
	size_t num = bytes.num;
	int num_failed = 0;
	for (bytes.num = 2; bytes.num < num; bytes.num++)
		num_failed += pfld_image_decode(&image, bytes.data, bytes.num, "x", NULL, NULL, &error) != PFLD_OK;
	fflush(stdout);
	dup2(old_out, 1);
	dup2(old_err, 2);
	ck_assert_int_eq(num_failed, (int)num - 2);
	ck_assert_int_eq((int)lseek(file, 0, SEEK_END), 0);
	close(file);
	unlink(path);
	free(bytes.data);
	pfld_image_finish(&image);
}
END_TEST

// ---- orientation ----

// The stored pixel that a viewer shows at (x, y); TIFF 6.0, "Orientation". Stored size: WIDTH x HEIGHT.
static int stored_index(int orientation, int x, int y)
{
	int last_x = WIDTH - 1, last_y = HEIGHT - 1;
	int stored[9][2] = {{0, 0}, {x, y},          {last_x - x, y},          {last_x - x, last_y - y}, {x, last_y - y},
	                    {y, x}, {y, last_y - x}, {last_x - y, last_y - x}, {last_x - y, x}};
	return stored[orientation][1] * WIDTH + stored[orientation][0];
}

static void check_orientation(const struct bytes *jpeg, const struct bytes *tiff, int expected)
{
	struct pfld_image stored = {0}, shown = {0};
	struct pfld_image_info info;
	struct bytes with_exif = jpeg_with_exif(jpeg, tiff);
	ck_assert_int_eq(decode(&stored, jpeg, NULL), PFLD_OK);
	ck_assert_int_eq(decode(&shown, &with_exif, &info), PFLD_OK);
	ck_assert_int_eq(info.orientation, expected);
	ck_assert_int_eq(shown.width, expected >= 5 ? HEIGHT : WIDTH);
	ck_assert_int_eq(shown.height, expected >= 5 ? WIDTH : HEIGHT);
	ck_assert_int_eq(info.width, shown.width);
	ck_assert_int_eq(info.height, shown.height);
	for (int i = 0; i < WIDTH * HEIGHT; i++) {
		int from = stored_index(expected, i % shown.width, i / shown.width);
		ck_assert_mem_eq(shown.pixels + i * 3, stored.pixels + from * 3, 3);
	}
	free(with_exif.data);
	pfld_image_finish(&stored);
	pfld_image_finish(&shown);
}

START_TEST(orientation_is_applied)
{
	struct bytes jpeg = make_smooth_jpeg(&plain_kind);
	for (int orientation = 0; orientation <= 9; orientation++) {
		for (int big_endian = 0; big_endian < 2; big_endian++) {
			struct bytes tiff = {0};
			put_exif(&tiff, orientation, big_endian);
			check_orientation(&jpeg, &tiff, orientation >= 1 && orientation <= 8 ? orientation : 1);
			free(tiff.data);
		}
	}
	free(jpeg.data);
}
END_TEST

START_TEST(damaged_exif_is_no_orientation)
{
	enum { ENTRY = 22, ENTRY_END = 34 }; // of the orientation, see put_exif()
	static const struct {
		size_t at;
		uint8_t value;
	} patches[] = {
		{0, 'X'}, {2, 43}, {4, 200}, {7, 0x7f}, {7, 0xff}, {ENTRY + 2, 4}, {ENTRY + 4, 2}, {ENTRY + 9, 1},
	};
	struct bytes jpeg = make_smooth_jpeg(&plain_kind), tiff = {0};
	put_exif(&tiff, 6, false);
	for (size_t i = 0; i < sizeof patches / sizeof patches[0]; i++) {
		uint8_t kept = tiff.data[patches[i].at];
		tiff.data[patches[i].at] = patches[i].value;
		check_orientation(&jpeg, &tiff, 1);
		tiff.data[patches[i].at] = kept;
	}
	for (; tiff.num > 0; tiff.num--) check_orientation(&jpeg, &tiff, tiff.num >= ENTRY_END ? 6 : 1);
	free(tiff.data);
	// An APP1 segment that is not EXIF does not hide the one that is.
	tiff = (struct bytes){0};
	put_exif(&tiff, 3, true);
	struct bytes with_exif = jpeg_with_exif(&jpeg, &tiff);
	struct bytes with_both = insert_bytes(&with_exif, 2, "\xff\xe1\0\x08http:/", 10);
	struct pfld_image image = {0};
	struct pfld_image_info info;
	ck_assert_int_eq(decode(&image, &with_both, &info), PFLD_OK);
	ck_assert_int_eq(info.orientation, 3);
	free(tiff.data);
	free(jpeg.data);
	free(with_exif.data);
	free(with_both.data);
	pfld_image_finish(&image);
}
END_TEST

#else

START_TEST(jpeg_is_refused_without_the_codec)
{
	struct bytes bytes = {0};
	struct pfld_image image = {0};
	put(&bytes, "\xff\xd8\xff\xe0", 4);
	ck_assert_int_eq(decode(&image, &bytes, NULL), PFLD_ERR_UNSUPPORTED);
	uint8_t *data = NULL;
	size_t num = 0;
	ck_assert_int_eq(pfld_image_encode_jpeg(&image, 90, &data, &num, &error), PFLD_ERR_UNSUPPORTED);
	free(bytes.data);
}
END_TEST

#endif

int main(void)
{
	Suite *suite = suite_create("image_jpeg");
	TCase *jpeg = tcase_create("JPEG");
#if PFLD_HAVE_JPEG
	tcase_add_test(jpeg, round_trip);
	tcase_add_test(jpeg, codings_of_the_same_picture_agree);
	tcase_add_test(jpeg, grey_is_equal_red_green_and_blue);
	tcase_add_test(jpeg, cmyk_is_inverted_with_and_without_marker);
	tcase_add_test(jpeg, variants_that_the_codec_lacks_are_unsupported);
	tcase_add_test(jpeg, sizes_are_checked_before_pixels);
	tcase_add_test(jpeg, truncated_data_is_never_a_picture);
	tcase_add_test(jpeg, rubbish_between_segments_is_harmless);
	tcase_add_test(jpeg, damaged_data_is_an_error);
	tcase_add_test(jpeg, many_scans_do_not_hang);
	tcase_add_test(jpeg, the_codec_is_silent);
	tcase_add_test(jpeg, orientation_is_applied);
	tcase_add_test(jpeg, damaged_exif_is_no_orientation);
#else
	tcase_add_test(jpeg, jpeg_is_refused_without_the_codec);
#endif
	tcase_set_timeout(jpeg, 60);
	suite_add_tcase(suite, jpeg);
	SRunner *runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	int num_failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return num_failed ? 1 : 0;
}
