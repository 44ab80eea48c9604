// SPDX-License-Identifier: MIT
// The built-in faces: the same bits for the same (seed, split, index), other faces otherwise; points inside, mirror
// images of each other on the face at rest, in line with the pose recipe, and on what the pixels show.
#include "data/faces_internal.h"
#include <check.h>
#include <math.h>
#include <pfld/data.h>
#include <stdlib.h>
#include <string.h>

#define SEED 20240u
#define EXPECTED_BITS 0xdf0540440dba81b3u

// The linker puts these in place of malloc and its sisters (see meson.build).
void *__real_malloc(size_t num_bytes);
void *__real_calloc(size_t num, size_t num_bytes);
void *__real_realloc(void *pointer, size_t num_bytes);

static long allocations_left = -1; // -1: as many as they like

static bool fails(void)
{
	if (allocations_left > 0) allocations_left--;
	return allocations_left == 0;
}

void *__wrap_malloc(size_t num_bytes)
{
	return fails() ? NULL : __real_malloc(num_bytes);
}

void *__wrap_calloc(size_t num, size_t num_bytes)
{
	return fails() ? NULL : __real_calloc(num, num_bytes);
}

void *__wrap_realloc(void *pointer, size_t num_bytes)
{
	return fails() ? NULL : __real_realloc(pointer, num_bytes);
}

static void draw(enum pfld_faces_split split, uint64_t index, struct pfld_image *image,
				 struct pfld_faces_sample *sample)
{
	struct pfld_error error;
	ck_assert_int_eq(pfld_faces_render(SEED, split, index, image, &error), PFLD_OK);
	pfld_faces_describe(SEED, split, index, sample);
	ck_assert_int_eq(image->width, sample->side);
	ck_assert_int_eq(image->height, sample->side);
}

static uint64_t digest(const void *bytes, size_t num_bytes) // FNV-1a
{
	uint64_t hash = 0xcbf29ce484222325u;
	for (size_t i = 0; i < num_bytes; i++) hash = (hash ^ ((const uint8_t *)bytes)[i]) * 0x100000001b3u;
	return hash;
}

static uint64_t picture_digest(const struct pfld_image *image)
{
	return digest(image->pixels, (size_t)image->width * (size_t)image->height * 3);
}

START_TEST(same_face_same_bits)
{
	struct pfld_image first = {0}, second = {0};
	struct pfld_faces_sample one, two;
	for (uint64_t index = 0; index < 6; index++) {
		draw(PFLD_FACES_TRAIN, index, &first, &one);
		draw(PFLD_FACES_TEST, 1000 + index, &second, &two); // something else in between, in a used buffer
		draw(PFLD_FACES_TRAIN, index, &second, &two);
		ck_assert_int_eq(memcmp(&one, &two, sizeof one), 0);
		ck_assert_uint_eq(picture_digest(&first), picture_digest(&second));
	}
	pfld_image_finish(&first);
	pfld_image_finish(&second);
}
END_TEST

// Whatever the compiler, its level of optimisation and the processor: these bits. Whoever changes what is drawn writes
// the new number down; whoever did not mean to has broken the promise of faces.h.
START_TEST(same_bits_everywhere)
{
	struct pfld_image image = {0};
	struct pfld_faces_sample sample;
	uint64_t hash = 0;
	for (uint64_t index = 0; index < 24; index++) {
		draw(index % 2 ? PFLD_FACES_TEST : PFLD_FACES_TRAIN, index, &image, &sample);
		hash = hash * 31 + picture_digest(&image);
		hash = hash * 31 + digest(sample.points, sizeof sample.points);
		hash = hash * 31 + digest(sample.angles, sizeof sample.angles);
	}
	ck_assert_msg(hash == EXPECTED_BITS, "the bits are 0x%016llx", (unsigned long long)hash);
	pfld_image_finish(&image);
}
END_TEST

START_TEST(other_faces_differ)
{
	enum { NUM = 24 };
	struct pfld_image image = {0};
	struct pfld_faces_sample sample;
	uint64_t pictures[NUM], shapes[NUM];
	for (int i = 0; i < NUM; i++) {
		enum pfld_faces_split split = i < NUM / 2 ? PFLD_FACES_TRAIN : PFLD_FACES_TEST;
		draw(split, (uint64_t)(i % (NUM / 2)), &image, &sample); // equal indexes in both splits
		pictures[i] = picture_digest(&image);
		struct pfld_faces_scene scene;
		pfld_faces_scene_draw(SEED, split, (uint64_t)(i % (NUM / 2)), &scene);
		shapes[i] = digest(&scene.shape.nose, sizeof scene.shape.nose); // part of who it is
		for (int k = 0; k < i; k++) {
			ck_assert_uint_ne(pictures[i], pictures[k]);
			ck_assert_uint_ne(shapes[i], shapes[k]);
		}
	}
	struct pfld_faces_sample other;
	pfld_faces_describe(SEED, PFLD_FACES_TRAIN, 0, &sample);
	pfld_faces_describe(SEED + 1, PFLD_FACES_TRAIN, 0, &other);
	ck_assert_int_ne(memcmp(sample.points, other.points, sizeof sample.points), 0);
	pfld_image_finish(&image);
}
END_TEST

START_TEST(points_are_inside)
{
	for (uint64_t index = 0; index < 1000; index++) {
		struct pfld_faces_sample sample;
		pfld_faces_describe(SEED, index % 2 ? PFLD_FACES_TEST : PFLD_FACES_TRAIN, index, &sample);
		ck_assert_int_ge(sample.side, PFLD_FACES_MIN_SIDE);
		ck_assert_int_le(sample.side, PFLD_FACES_MAX_SIDE);
		float low[2] = {1e9f, 1e9f}, high[2] = {-1e9f, -1e9f};
		for (int k = 0; k < PFLD_FACES_POINTS; k++) {
			for (int axis = 0; axis < 2; axis++) {
				float value = sample.points[2 * k + axis];
				ck_assert(value >= 0 && value <= (float)(sample.side - 1));
				low[axis] = PFLD_MIN(low[axis], value);
				high[axis] = PFLD_MAX(high[axis], value);
			}
		}
		for (int axis = 0; axis < 2; axis++) {
			ck_assert_float_eq_tol(sample.box[axis], low[axis], 1e-3f);
			ck_assert_float_eq_tol(sample.box[2 + axis], high[axis], 1e-3f);
		}
		float extent = PFLD_MAX(high[0] - low[0], high[1] - low[1]) / (float)sample.side;
		ck_assert(extent > 0.549f && extent < 0.701f);
		ck_assert(sample.angles[0] >= -25 && sample.angles[0] <= 25);
		ck_assert(sample.angles[1] >= -50 && sample.angles[1] <= 50);
		ck_assert(sample.angles[2] >= -25 && sample.angles[2] <= 25);
	}
}
END_TEST

START_TEST(face_at_rest_is_symmetric)
{
	struct pfld_faces_shape shape;
	pfld_faces_shape_start(&shape);
	struct pfld_faces_camera camera = {.rotation = {1, 0, 0, 0, 1, 0, 0, 0, 1}, .scale = 100, .distance = 1000};
	double points[PFLD_FACES_POINTS][2];
	pfld_faces_points(&shape, &camera, points);
	const int32_t *map = pfld_mirror_map(98);
	ck_assert_ptr_nonnull(map);
	for (int k = 0; k < PFLD_FACES_POINTS; k++) {
		ck_assert_double_eq_tol(points[k][0], -points[map[k]][0], 1e-6);
		ck_assert_double_eq_tol(points[k][1], points[map[k]][1], 1e-6);
	}
	// Left to right and top to bottom as faces have it; the unit is the distance of the outer eye corners.
	ck_assert_double_eq_tol(points[72][0] - points[60][0], 100, 5);
	ck_assert(points[60][0] < points[96][0] && points[96][0] < points[64][0] && points[64][0] < points[54][0]);
	ck_assert(points[35][1] < points[62][1] && points[62][1] < points[66][1] && points[66][1] < points[54][1]);
	ck_assert(points[54][1] < points[57][1] && points[57][1] < points[79][1] && points[79][1] < points[90][1]);
	ck_assert(points[90][1] < points[94][1] && points[94][1] < points[85][1] && points[85][1] < points[16][1]);
	for (int k = 0; k < 16; k++) ck_assert(points[k][1] < points[k + 1][1] && points[k][0] < points[32 - k][0]);
}
END_TEST

static double correlation(const double *a, const double *b, int num)
{
	double ma = 0, mb = 0, ab = 0, aa = 0, bb = 0;
	for (int i = 0; i < num; i++) {
		ma += a[i] / num;
		mb += b[i] / num;
	}
	for (int i = 0; i < num; i++) {
		ab += (a[i] - ma) * (b[i] - mb);
		aa += (a[i] - ma) * (a[i] - ma);
		bb += (b[i] - mb) * (b[i] - mb);
	}
	return ab / sqrt(aa * bb);
}

START_TEST(pose_follows_the_recipe)
{
	enum { NUM = 200 };
	double drawn[3][NUM], found[3][NUM];
	for (int i = 0; i < NUM; i++) {
		struct pfld_faces_sample sample;
		pfld_faces_describe(SEED, PFLD_FACES_TRAIN, (uint64_t)i, &sample);
		float crop[2 * PFLD_FACES_POINTS], angles[3];
		float extent = 1.2f * PFLD_MAX(sample.box[2] - sample.box[0], sample.box[3] - sample.box[1]);
		for (int k = 0; k < 2 * PFLD_FACES_POINTS; k++) {
			float middle = 0.5f * (sample.box[k % 2] + sample.box[2 + k % 2]);
			crop[k] = 112 * ((sample.points[k] - middle) / extent + 0.5f);
		}
		ck_assert(pfld_pose_from_points(crop, NULL, 98, 112, 112, angles));
		for (int k = 0; k < 3; k++) {
			drawn[k][i] = sample.angles[k];
			found[k][i] = angles[k];
		}
	}
	// Its rigid head cannot tell a nod from a raised brow or an open mouth.
	ck_assert_double_gt(correlation(drawn[0], found[0], NUM), 0.65);
	ck_assert_double_gt(correlation(drawn[1], found[1], NUM), 0.9);
	ck_assert_double_gt(correlation(drawn[2], found[2], NUM), 0.9);
}
END_TEST

// Mean brightness of the pixels about a point, 0..255.
static double brightness(const struct pfld_image *image, double x, double y)
{
	int column = (int)(x + 0.5), row = (int)(y + 0.5);
	const uint8_t *rgb = &image->pixels[3 * ((size_t)row * (size_t)image->width + (size_t)column)];
	return (rgb[0] + rgb[1] + rgb[2]) / 3.0;
}

static double redness(const struct pfld_image *image, double x, double y)
{
	int column = (int)(x + 0.5), row = (int)(y + 0.5);
	const uint8_t *rgb = &image->pixels[3 * ((size_t)row * (size_t)image->width + (size_t)column)];
	return rgb[0] / (1.0 + rgb[1]);
}

static bool is_plain(const struct pfld_faces_scene *scene)
{
	const float *a = scene->sample.attributes;
	return scene->look.glasses == PFLD_GLASSES_NONE && scene->look.moustache == 0 && a[0] == 0 && a[2] == 0 &&
		   a[4] == 0 && a[5] == 0;
}

START_TEST(points_are_on_what_is_drawn)
{
	struct pfld_image image = {0};
	double pupil = 0, white = 0, brow = 0, above_brow = 0, lip = 0, chin = 0;
	int num = 0, darker_pupils = 0, darker_brows = 0, redder_lips = 0;
	for (uint64_t index = 0; num < 40; index++) {
		struct pfld_faces_scene scene;
		pfld_faces_scene_draw(SEED, PFLD_FACES_TRAIN, index, &scene);
		if (!is_plain(&scene) || scene.shape.eyes[0].up < 0.05 || scene.look.fringe > 0) continue;
		struct pfld_faces_sample sample;
		draw(PFLD_FACES_TRAIN, index, &image, &sample);
		const float *p = sample.points;
		double here = brightness(&image, p[2 * 96], p[2 * 96 + 1]) + brightness(&image, p[2 * 97], p[2 * 97 + 1]);
		// The white lies half-way from the iris to a corner: to the farther corner, wherever the eye looks.
		double there = 0;
		for (int side = 0; side < 2; side++) {
			const float *eye = &p[2 * (96 + side)], *left = &p[2 * (side ? 68 : 60)], *right = &p[2 * (side ? 72 : 64)];
			const float *corner = eye[0] - left[0] > right[0] - eye[0] ? left : right;
			there += brightness(&image, 0.4 * eye[0] + 0.6 * corner[0], 0.4 * eye[1] + 0.6 * corner[1]);
		}
		// The middle of a brow against the skin above it, as far up as the brow is from the eye.
		double bx = 0.5 * (p[2 * 35] + p[2 * 40]), by = 0.5 * (p[2 * 35 + 1] + p[2 * 40 + 1]);
		double hair = brightness(&image, bx, by);
		double skin = brightness(&image, bx + 0.7 * (bx - p[2 * 62]), by + 0.7 * (by - p[2 * 62 + 1]));
		// The middle of the lower lip against the chin below it.
		double lx = 0.5 * (p[2 * 94] + p[2 * 85]), ly = 0.5 * (p[2 * 94 + 1] + p[2 * 85 + 1]);
		double cx = 0.5 * (p[2 * 85] + p[2 * 16]), cy = 0.5 * (p[2 * 85 + 1] + p[2 * 16 + 1]);
		double red = redness(&image, lx, ly), pale = redness(&image, cx, cy);
		pupil += here, white += there, brow += hair, above_brow += skin, lip += red, chin += pale;
		darker_pupils += here < there;
		darker_brows += hair < skin;
		redder_lips += red > pale;
		num++;
	}
	ck_assert_double_lt(pupil, 0.8 * white);
	ck_assert_double_lt(brow, 0.8 * above_brow);
	ck_assert_double_gt(lip, 1.1 * chin);
	ck_assert_int_ge(darker_pupils, 36);
	ck_assert_int_ge(darker_brows, 36);
	ck_assert_int_ge(redder_lips, 36);
	pfld_image_finish(&image);
}
END_TEST

START_TEST(attributes_have_sensible_rates)
{
	enum { NUM = 2000 };
	double rates[6] = {0};
	int none = 0;
	for (int i = 0; i < NUM; i++) {
		struct pfld_faces_sample sample;
		pfld_faces_describe(SEED, PFLD_FACES_TRAIN, (uint64_t)i, &sample);
		float any = 0;
		for (int k = 0; k < 6; k++) {
			ck_assert(sample.attributes[k] == 0 || sample.attributes[k] == 1);
			rates[k] += sample.attributes[k] / NUM;
			any += sample.attributes[k];
		}
		none += any == 0;
	}
	// Each often enough to be learned and measured, none the rule.
	for (int k = 0; k < 6; k++) ck_assert(rates[k] > 0.08 && rates[k] < 0.35);
	ck_assert(none > NUM / 10 && none < NUM / 2);
}
END_TEST

START_TEST(out_of_memory)
{
	long enough = 1;
	struct pfld_image image = {0};
	for (;; enough++) {
		struct pfld_error error = {0};
		pfld_image_finish(&image);
		allocations_left = enough;
		enum pfld_status status = pfld_faces_render(SEED, PFLD_FACES_TEST, 3, &image, &error);
		allocations_left = -1;
		if (!status) break;
		ck_assert_int_eq(status, PFLD_ERR_MEMORY);
		ck_assert(error.message[0] != 0);
	}
	ck_assert_int_eq(enough, 3); // the picture and the canvas
	pfld_image_finish(&image);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("faces");
	TCase *cases = tcase_create("faces");
	tcase_set_timeout(cases, 110);
	tcase_add_test(cases, same_face_same_bits);
	tcase_add_test(cases, same_bits_everywhere);
	tcase_add_test(cases, other_faces_differ);
	tcase_add_test(cases, points_are_inside);
	tcase_add_test(cases, face_at_rest_is_symmetric);
	tcase_add_test(cases, pose_follows_the_recipe);
	tcase_add_test(cases, points_are_on_what_is_drawn);
	tcase_add_test(cases, attributes_have_sensible_rates);
	tcase_add_test(cases, out_of_memory);
	suite_add_tcase(suite, cases);
	SRunner *runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	int failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
