// SPDX-License-Identifier: MIT
// Head pose from landmarks: the digits that OpenCV's solvePnP and decomposeProjectionMatrix give for one face in five
// rotations, poses drawn by an exact projection and found again, and what has no pose.
#include <check.h>
#include <math.h>
#include <pfld/data.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NUM_TRACKED 14
#define DEGREE (3.14159265358979323846 / 180)

static const int tracked_98[NUM_TRACKED] = {33, 38, 50, 46, 60, 64, 68, 72, 55, 59, 76, 82, 85, 16};
static const int tracked_68[NUM_TRACKED] = {17, 21, 22, 26, 36, 39, 42, 45, 31, 35, 48, 54, 57, 8};
static const int tracked_106[NUM_TRACKED] = {43, 46, 97, 101, 35, 75, 89, 93, 77, 83, 52, 61, 53, 0};

// An upright frontal face in shares of the crop, in tracked order.
static const double face[NUM_TRACKED][2] = {
	{.1002, .2855}, {.4147, .2622}, {.5693, .2622}, {.8838, .2855}, {.1975, .3734}, {.3678, .3857}, {.6163, .3857},
	{.7868, .3734}, {.3936, .6701}, {.5907, .6701}, {.3036, .8243}, {.6808, .8243}, {.4921, .9274}, {.4921, .9850},
};

// The generic head of the recipe (the left half; the right one mirrors x).
static const double head[NUM_TRACKED][3] = {
	{6.825897, 6.760612, 4.402142},  {1.330353, 7.122144, 6.903745},  {-1.330353, 7.122144, 6.903745},
	{-6.825897, 6.760612, 4.402142}, {5.311432, 5.485328, 3.987654},  {1.789930, 5.393625, 4.413414},
	{-1.789930, 5.393625, 4.413414}, {-5.311432, 5.485328, 3.987654}, {2.005628, 1.409845, 6.165652},
	{-2.005628, 1.409845, 6.165652}, {2.774015, -2.080775, 5.048531}, {-2.774015, -2.080775, 5.048531},
	{0, -3.116408, 6.097667},        {0, -7.415691, 4.070434},
};

static void place(float *points, const int *tracked, const double seen[NUM_TRACKED][2])
{
	for (int n = 0; n < NUM_TRACKED; n++) {
		points[2 * tracked[n]] = (float)seen[n][0];
		points[2 * tracked[n] + 1] = (float)seen[n][1];
	}
}

// The face rotated about the middle of the crop, counter-clockwise as seen, in pixels of a crop of 112.
static void rotated_face(double degrees, double seen[NUM_TRACKED][2])
{
	double c = cos(degrees * DEGREE), s = sin(degrees * DEGREE);
	for (int n = 0; n < NUM_TRACKED; n++) {
		double x = face[n][0] - .5, y = face[n][1] - .5;
		seen[n][0] = (c * x + s * y + .5) * 112;
		seen[n][1] = (-s * x + c * y + .5) * 112;
	}
}

START_TEST(vectors_of_the_recipe)
{
	static const double expected[][4] = {
		{0, 11.522, -0.208, 0.037},    {15, 11.522, -0.208, -14.963}, {-15, 11.522, -0.208, 15.037},
		{30, 11.522, -0.208, -29.963}, {-30, 11.522, -0.208, 30.037},
	};
	for (size_t i = 0; i < sizeof(expected) / sizeof(expected[0]); i++) {
		double seen[NUM_TRACKED][2];
		float points[196] = {0}, angles[3];
		rotated_face(expected[i][0], seen);
		place(points, tracked_98, seen);
		ck_assert(pfld_pose_from_points(points, NULL, 98, 112, 112, angles));
		for (int j = 0; j < 3; j++) ck_assert_double_eq_tol((double)angles[j], expected[i][1 + j], 1e-3);
	}
}
END_TEST

START_TEST(layouts_share_the_recipe)
{
	double seen[NUM_TRACKED][2];
	float points[212] = {0}, of_98[3], of_68[3], of_106[3];
	rotated_face(7, seen);
	place(points, tracked_98, seen);
	ck_assert(pfld_pose_from_points(points, NULL, 98, 112, 112, of_98));
	place(points, tracked_68, seen);
	ck_assert(pfld_pose_from_points(points, NULL, 68, 112, 112, of_68));
	place(points, tracked_106, seen);
	ck_assert(pfld_pose_from_points(points, NULL, 106, 112, 112, of_106));
	ck_assert_mem_eq(of_98, of_68, sizeof(of_98));
	ck_assert_mem_eq(of_98, of_106, sizeof(of_98));
}
END_TEST

// rotation = Rz(roll) Ry(yaw) Rx(pitch) in the convention of the decomposition.
static void rotation_of(const double angles[3], double r[3][3])
{
	double cx = cos(angles[0] * DEGREE), sx = sin(angles[0] * DEGREE), cy = cos(angles[1] * DEGREE),
		   sy = sin(angles[1] * DEGREE), cz = cos(angles[2] * DEGREE), sz = sin(angles[2] * DEGREE);
	double result[3][3] = {
		{cz * cy, cz * sy * sx - sz * cx, cz * sy * cx + sz * sx},
		{sz * cy, sz * sy * sx + cz * cx, sz * sy * cx - cz * sx},
		{-sy, cy * sx, cy * cx},
	};
	memcpy(r, result, sizeof(result));
}

static double draw(uint32_t *state, double limit)
{
	*state = *state * 1664525u + 1013904223u;
	return limit * (2.0 * (*state >> 8) / 0x1000000 - 1);
}

START_TEST(poses_are_found_again)
{
	uint32_t state = 20;
	for (int round = 0; round < 500; round++) {
		double angles[3] = {draw(&state, 50), draw(&state, 70), draw(&state, 80)}, r[3][3], seen[NUM_TRACKED][2];
		double shift[3] = {draw(&state, 2), draw(&state, 2), -20 + draw(&state, 3)}, side = 112 + draw(&state, 40);
		double focal = side / 2 / tan(30 * DEGREE);
		rotation_of(angles, r);
		for (int n = 0; n < NUM_TRACKED; n++) {
			double x[3];
			for (int i = 0; i < 3; i++)
				x[i] = r[i][0] * head[n][0] + r[i][1] * head[n][1] + r[i][2] * head[n][2] + shift[i];
			seen[n][0] = focal * x[0] / x[2] + side / 2;
			seen[n][1] = focal * x[1] / x[2] + side / 2;
		}
		float points[196] = {0}, found[3];
		place(points, tracked_98, seen);
		ck_assert(pfld_pose_from_points(points, NULL, 98, side, side, found));
		for (int j = 0; j < 3; j++)
			ck_assert_msg(fabs((double)found[j] - angles[j]) < 2e-3, "round %d: angle %d", round, j);
	}
}
END_TEST

START_TEST(what_has_no_pose)
{
	double seen[NUM_TRACKED][2];
	float points[212] = {0}, angles[3] = {1, 2, 3};
	uint8_t present[98];
	memset(present, 1, sizeof(present));
	ck_assert(!pfld_pose_from_points(points, NULL, 98, 112, 112, angles)); // all in one place
	rotated_face(0, seen);
	place(points, tracked_98, seen);
	present[0] = 0;
	float unused[3];
	ck_assert(pfld_pose_from_points(points, present, 98, 112, 112, unused)); // point 0 is not needed
	present[16] = 0;
	ck_assert(!pfld_pose_from_points(points, present, 98, 112, 112, angles));
	ck_assert(!pfld_pose_from_points(points, NULL, 29, 112, 112, angles));
	ck_assert(!pfld_pose_from_points(points, NULL, 98, 0, 112, angles));
	ck_assert(!pfld_pose_from_points(NULL, NULL, 98, 112, 112, angles));
	points[2 * 33] = NAN;
	ck_assert(!pfld_pose_from_points(points, NULL, 98, 112, 112, angles));
	ck_assert(angles[0] == 1 && angles[1] == 2 && angles[2] == 3);
}
END_TEST

// Points from anywhere give finite angles or none.
START_TEST(wild_points)
{
	uint32_t state = 7;
	for (int round = 0; round < 300; round++) {
		float points[196], angles[3];
		double limit = round % 3 == 0 ? 1e6 : round % 3 == 1 ? 100 : 1e-3;
		for (int i = 0; i < 196; i++) points[i] = (float)draw(&state, limit);
		if (!pfld_pose_from_points(points, NULL, 98, 112, 112, angles)) continue;
		for (int j = 0; j < 3; j++) ck_assert(isfinite(angles[j]) && fabsf(angles[j]) <= 180);
	}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("pose");
	TCase *cases = tcase_create("pose");
	tcase_set_timeout(cases, 60);
	tcase_add_test(cases, vectors_of_the_recipe);
	tcase_add_test(cases, layouts_share_the_recipe);
	tcase_add_test(cases, poses_are_found_again);
	tcase_add_test(cases, what_has_no_pose);
	tcase_add_test(cases, wild_points);
	suite_add_tcase(suite, cases);
	SRunner *runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	int failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
