// SPDX-License-Identifier: MIT
// The random draw of a built-in face: who it is, how it looks, stands, is lit and covered; and what can be said of it
// without drawing it. Shapes are in faces_model.c, pixels in faces_draw.c.
#include "faces_internal.h"
#include <math.h>

static double between(struct pfld_random *random, double low, double high)
{
	return pfld_random_range(random, low, high);
}

// No expression and no argument list here draws twice: C leaves the order open.

// Draw around `middle` with a deviation.
static double about(struct pfld_random *random, double middle, double deviation)
{
	return middle + deviation * pfld_faces_spread(random);
}

static void set3(float to[3], double r, double g, double b)
{
	to[0] = (float)r;
	to[1] = (float)g;
	to[2] = (float)b;
}

// -1 or 1.
static double sign(struct pfld_random *random)
{
	return pfld_faces_chance(random, 0.5) ? -1 : 1;
}

// Between two colours, then a little off.
static void blend3(struct pfld_random *random, float to[3], const float a[3], const float b[3], double share,
				   double jitter)
{
	for (int k = 0; k < 3; k++) {
		double value = a[k] + share * (b[k] - a[k]);
		to[k] = (float)(value * (1 + jitter * pfld_faces_spread(random)));
	}
}

static void any_colour(struct pfld_random *random, float to[3], double low, double high)
{
	double level = between(random, low, high), vivid = between(random, 0, 0.8);
	for (int k = 0; k < 3; k++) to[k] = (float)(level * (1 - vivid + 2 * vivid * pfld_random_unit(random)));
}

// ---- identity ----

static void draw_head_shape(struct pfld_random *random, struct pfld_faces_shape *shape)
{
	double width = about(random, 1, 0.045), jaw = about(random, 0, 0.055), cheek = about(random, 0, 0.03);
	double length = about(random, 1, 0.045), chin_out = about(random, 0, 0.03), dome = about(random, 1, 0.05);
	double forehead = about(random, 0, 0.03), deep = about(random, 1, 0.04);
	for (int k = 0; k < PFLD_FACES_ROWS; k++) {
		struct pfld_faces_row *row = &shape->rows[k];
		double y = row->y, low = pfld_faces_step(0.3, 1.2, y), middle = pfld_faces_step(-0.3, 0.2, y) - low;
		row->half *= width * (1 + jaw * low + cheek * middle);
		row->y = y > 0 ? y * (1 + (length - 1) * pfld_faces_step(0, 0.9, y)) : y * dome;
		row->front += chin_out * pfld_faces_step(0.85, 1.2, y) + forehead * pfld_faces_step(-0.1, -0.6, y);
		row->back = row->widest + (row->back - row->widest) * deep;
	}
	shape->cheekbone = about(random, 0.04, 0.018);
	shape->chin = about(random, 0.06, 0.022);
	shape->brow_ridge = about(random, 0.03, 0.016);
}

static void draw_features(struct pfld_random *random, struct pfld_faces_shape *shape)
{
	double eye_x = about(random, 0.352, 0.012), eye_y = about(random, 0, 0.012), eye_half = about(random, 0.15, 0.008);
	double tilt = about(random, -0.010, 0.012), up = about(random, 0.062, 0.009), down = about(random, 0.046, 0.006);
	double brow_y = about(random, -0.178, 0.022), arch = about(random, 0.052, 0.02),
		   brow_tilt = about(random, 0.0, 0.02);
	double thick = about(random, 0.034, 0.007), inner = about(random, 0.145, 0.018), outer = about(random, 0.60, 0.02);
	for (int side = 0; side < 2; side++) {
		struct pfld_faces_eye *eye = &shape->eyes[side];
		*eye = (struct pfld_faces_eye){.x = eye_x, .half = eye_half, .tilt = tilt, .up = up, .down = down};
		eye->y = about(random, eye_y, 0.004);
		shape->brows[side] = (struct pfld_faces_brow){.inner = inner, .outer = outer, .arch = arch, .tilt = brow_tilt};
		shape->brows[side].y = about(random, brow_y, 0.006);
		shape->brows[side].thickness = PFLD_MAX(thick, 0.016);
	}
	struct pfld_faces_nose *nose = &shape->nose;
	nose->root = about(random, -0.02, 0.02);
	nose->tip = about(random, 0.42, 0.028);
	nose->base = nose->tip + pfld_faces_clamp(about(random, 0.115, 0.010), 0.085, 1);
	nose->width = about(random, 1, 0.10);
	nose->height = about(random, 0.30, 0.03);
	nose->bridge = about(random, 0.55, 0.2);
	struct pfld_faces_mouth *mouth = &shape->mouth;
	mouth->x = about(random, 0, 0.006);
	mouth->y = nose->base + pfld_faces_clamp(about(random, 0.248, 0.018), 0.19, 1);
	mouth->half = about(random, 0.30, 0.022);
	mouth->lip_up = pfld_faces_clamp(about(random, 0.072, 0.016), 0.035, 1);
	mouth->lip_low = pfld_faces_clamp(about(random, 0.10, 0.017), 0.05, 1);
	mouth->curve = about(random, 0.002, 0.010);
	mouth->skew = about(random, 0, 0.004);
	shape->lips = about(random, 0.06, 0.012);
}

static void draw_skin_and_hair(struct pfld_random *random, struct pfld_faces_look *look)
{
	static const float tones[5][3] = {{0.72f, 0.47f, 0.36f},
									  {0.60f, 0.36f, 0.25f},
									  {0.44f, 0.24f, 0.145f},
									  {0.26f, 0.13f, 0.075f},
									  {0.115f, 0.058f, 0.036f}};
	static const float hairs[6][3] = {{0.012f, 0.010f, 0.010f}, {0.035f, 0.020f, 0.012f}, {0.10f, 0.055f, 0.03f},
									  {0.34f, 0.22f, 0.10f},    {0.22f, 0.07f, 0.025f},   {0.38f, 0.37f, 0.36f}};
	static const float irises[4][3] = {
		{0.045f, 0.022f, 0.012f}, {0.10f, 0.055f, 0.02f}, {0.10f, 0.17f, 0.26f}, {0.10f, 0.14f, 0.07f}};
	double unit = pfld_random_unit(random), tone = 3.999 * unit * (0.4 + 0.6 * unit);
	int at = (int)tone;
	blend3(random, look->skin, tones[at], tones[at + 1], tone - at, 0.03);
	look->age = (float)pfld_random_unit(random);
	look->age *= look->age;
	// Fair hair and eyes go with fair skin.
	int hair = (int)(tone > 1.8 ? between(random, 0, 2.4) : between(random, 0.6, 5));
	if (pfld_faces_chance(random, 0.6 * look->age)) hair = 5;
	const float *toward = hairs[pfld_random_int(random, 0, 2)];
	blend3(random, look->hair, hairs[hair], toward, between(random, 0, 0.3), 0.08);
	for (int k = 0; k < 3; k++) look->brow[k] = look->hair[k] * 0.45f + look->skin[k] * 0.04f;
	look->brow_strength = (float)between(random, 0.55, 1.0);
	int iris = tone > 1.8 ? (int)between(random, 0, 2) : (int)between(random, 0, 4);
	blend3(random, look->iris, irises[iris], irises[1], between(random, 0, 0.4), 0.1);
	static const float lips[3] = {0.82f, 0.50f, 0.52f};
	for (int k = 0; k < 3; k++) look->lip[k] = look->skin[k] * lips[k];
	look->freckles = tone < 1.2 && pfld_faces_chance(random, 0.2) ? (float)between(random, 0.4, 1) : 0;
}

static void draw_style(struct pfld_random *random, struct pfld_faces_look *look, bool female)
{
	double pick = pfld_random_unit(random);
	if (female)
		look->hair_style = pick < 0.75 ? PFLD_HAIR_LONG : PFLD_HAIR_SHORT;
	else
		look->hair_style = pick < 0.12 ? PFLD_HAIR_NONE : pick < 0.92 ? PFLD_HAIR_SHORT : PFLD_HAIR_LONG;
	look->hairline = about(random, -0.74, 0.06);
	if (!female && pfld_faces_chance(random, 0.3)) look->hairline -= between(random, 0, 0.25); // it thins
	look->side_line = female ? between(random, -0.1, 0.4) : between(random, -0.05, 0.35);
	look->thickness = female ? between(random, 0.08, 0.20) : between(random, 0.025, 0.16);
	look->fringe = pfld_faces_chance(random, female ? 0.3 : 0.12) ? between(random, 0.15, 0.38) : 0;
	look->parting = about(random, 0, 0.07);
	look->hair_length = between(random, 0.9, 2.3);
	look->lash = female ? (float)between(random, 0.5, 1) : (float)between(random, 0, 0.4);
	if (female) return;
	look->stubble = pfld_faces_chance(random, 0.6) ? (float)pfld_random_unit(random) : 0;
	look->beard = pfld_faces_chance(random, 0.2) ? (float)between(random, 0.6, 1) : 0;
	look->moustache = look->beard > 0 || pfld_faces_chance(random, 0.1) ? (float)between(random, 0.6, 1) : 0;
}

static void draw_clothes(struct pfld_random *random, struct pfld_faces_look *look)
{
	any_colour(random, look->cloth, 0.01, 0.5);
	any_colour(random, look->cloth2, 0.05, 0.8);
	look->collar = pfld_faces_chance(random, 0.5);
	if (pfld_faces_chance(random, 0.16)) look->glasses = PFLD_GLASSES_CLEAR;
	if (pfld_faces_chance(random, 0.3))
		any_colour(random, look->frame, 0.02, 0.3);
	else
		set3(look->frame, 0.012, 0.010, 0.010);
	set3(look->lens, 0.25, 0.27, 0.28);
	look->rim = (float)between(random, 0.012, 0.05);
	static const float masks[3][3] = {{0.35f, 0.55f, 0.68f}, {0.78f, 0.78f, 0.78f}, {0.02f, 0.02f, 0.025f}};
	for (int k = 0; k < 3; k++) look->mask[k] = masks[look->cloth[0] > 0.3f ? 2 : look->cloth[1] > 0.2f][k];
}

static void draw_make_up(struct pfld_random *random, struct pfld_faces_scene *scene, bool female)
{
	struct pfld_faces_look *look = &scene->look;
	bool strong = pfld_faces_chance(random, female ? 0.24 : 0.01);
	double light = female ? pfld_random_unit(random) * 0.35 : 0;
	double much = strong ? between(random, 0.75, 1) : light;
	static const float reds[4][3] = {
		{0.50f, 0.02f, 0.03f}, {0.42f, 0.04f, 0.12f}, {0.55f, 0.12f, 0.14f}, {0.18f, 0.015f, 0.04f}};
	static const float shadows[4][3] = {
		{0.10f, 0.06f, 0.05f}, {0.12f, 0.10f, 0.25f}, {0.05f, 0.05f, 0.05f}, {0.25f, 0.08f, 0.12f}};
	const float *red = reds[pfld_random_int(random, 0, 4)], *shadow = shadows[pfld_random_int(random, 0, 4)];
	for (int k = 0; k < 3; k++) {
		look->lip[k] += (float)(0.9 * much) * (red[k] - look->lip[k]);
		look->shadow_colour[k] = shadow[k];
	}
	look->lip_gloss = (float)(much * between(random, 0, 0.4));
	look->eye_shadow = (float)(much * between(random, 0.5, 0.9));
	look->liner = (float)(much * between(random, 0.5, 1));
	look->blush = (float)(much * between(random, 0.3, 1));
	if (strong) look->lash = 1;
	scene->sample.attributes[3] = strong;
}

// ---- expression, pose ----

static void draw_mouth_expression(struct pfld_random *random, struct pfld_faces_shape *shape, double strength)
{
	struct pfld_faces_mouth *mouth = &shape->mouth;
	double pick = pfld_random_unit(random);
	if (pick < 0.55) { // a smile, with teeth when strong
		shape->smile = strength;
		mouth->half += 0.075 * strength;
		mouth->curve += 0.065 * strength;
		mouth->lip_up *= 1 - 0.3 * strength;
		mouth->lip_low *= 1 - 0.15 * strength;
		shape->cheek_raise = 0.05 * strength;
		if (pfld_faces_chance(random, 0.25 + 0.75 * strength * strength))
			mouth->jaw = between(random, 0.06, 0.06 + 0.10 * strength);
	} else if (pick < 0.8) { // an open mouth
		mouth->jaw = between(random, 0.05, 0.08) + 0.28 * strength;
		mouth->half -= 0.05 * strength;
		mouth->curve -= 0.01 * strength;
	} else if (pick < 0.9) { // a pout
		mouth->half -= 0.10 * strength;
		mouth->lip_up *= 1 + 0.35 * strength;
		mouth->lip_low *= 1 + 0.25 * strength;
		shape->lips += 0.04 * strength;
	} else { // corners down
		mouth->curve -= 0.05 * strength;
		shape->frown = strength;
	}
	double open = pfld_faces_clamp(mouth->jaw / 0.10, 0, 1);
	mouth->gap_low += 0.070 * open;
	mouth->gap_up += 0.018 * open;
}

static void draw_eye_expression(struct pfld_random *random, struct pfld_faces_shape *shape, double strength)
{
	double raise = pfld_faces_chance(random, 0.3) ? 0.07 * strength * pfld_random_unit(random) : 0;
	bool closed = pfld_faces_chance(random, 0.05), wink = pfld_faces_chance(random, 0.02);
	double gaze_x = about(random, 0, 0.018), gaze_y = about(random, 0, 0.008);
	double squeeze = about(random, 1, 0.06) - 0.25 * shape->smile;
	for (int side = 0; side < 2; side++) {
		struct pfld_faces_eye *eye = &shape->eyes[side];
		shape->brows[side].y -= raise;
		if (shape->frown > 0) {
			shape->brows[side].y += 0.03 * shape->frown;
			shape->brows[side].tilt -= 0.05 * shape->frown;
			shape->brows[side].inner -= 0.02 * shape->frown;
		}
		eye->up *= squeeze + 2.5 * raise;
		eye->down *= 1 - 0.3 * shape->smile;
		if (closed || (wink && side == 0)) {
			eye->up = -0.55 * eye->down;
			shape->brows[side].y += 0.01;
		}
		eye->pupil_x = (side ? eye->x : -eye->x) + gaze_x;
		eye->pupil_y = eye->y + 0.004 - 0.4 * (eye->up - eye->down) + gaze_y * (eye->up > 0);
	}
}

static void multiply(const double a[9], const double b[9], double out[9])
{
	for (int i = 0; i < 3; i++) {
		for (int j = 0; j < 3; j++)
			out[3 * i + j] = a[3 * i] * b[j] + a[3 * i + 1] * b[3 + j] + a[3 * i + 2] * b[6 + j];
	}
}

// First yaw, then pitch, then roll; degrees, signs as struct pfld_faces_sample has them.
static void rotation(double pitch, double yaw, double roll, double out[9])
{
	double s, c, turned[9];
	pfld_faces_sincos(yaw * PFLD_FACES_DEGREE, &s, &c);
	const double about_y[9] = {c, 0, -s, 0, 1, 0, s, 0, c};
	pfld_faces_sincos(pitch * PFLD_FACES_DEGREE, &s, &c);
	const double about_x[9] = {1, 0, 0, 0, c, s, 0, -s, c};
	pfld_faces_sincos(roll * PFLD_FACES_DEGREE, &s, &c);
	const double about_z[9] = {c, -s, 0, s, c, 0, 0, 0, 1};
	multiply(about_x, about_y, turned);
	multiply(about_z, turned, out);
}

static void draw_pose(struct pfld_random *random, struct pfld_faces_scene *scene)
{
	bool far = pfld_faces_chance(random, 0.25);
	double yaw = far ? between(random, -50, 50) : about(random, 0, 13);
	double pitch = pfld_faces_clamp(about(random, 0, 8), -25, 25),
		   roll = pfld_faces_clamp(about(random, 0, 8), -25, 25);
	rotation(pitch, yaw, roll, scene->camera.rotation);
	rotation(0.3 * pitch, 0.4 * yaw, 0.45 * roll, scene->camera.neck);
	scene->camera.distance = between(random, 6, 16);
	scene->sample.angles[0] = (float)pitch;
	scene->sample.angles[1] = (float)yaw;
	scene->sample.angles[2] = (float)roll;
	scene->sample.attributes[0] = yaw > 30 || yaw < -30 || pitch > 18 || pitch < -18;
}

// ---- light, background, covers ----

static void unit3(double v[3])
{
	double norm = sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]);
	for (int k = 0; k < 3; k++) v[k] /= norm;
}

static void draw_light(struct pfld_random *random, struct pfld_faces_scene *scene)
{
	struct pfld_faces_light *light = &scene->light;
	int strong = pfld_faces_chance(random, 0.22) ? (int)pfld_random_int(random, 1, 5) : 0;
	double side = about(random, 0, 0.5), level = between(random, 0.85, 1.15), ambient = between(random, 0.36, 0.6);
	double key = between(random, 0.5, 0.9), front = 0.8;
	if (strong == 1) { // from the side
		side = sign(random);
		side *= between(random, 1.2, 1.8);
		front = between(random, -0.2, 0.3);
		ambient = between(random, 0.06, 0.16);
		key = between(random, 0.9, 1.3);
	}
	if (strong == 2) level *= between(random, 0.14, 0.3); // dark
	if (strong == 3) level *= between(random, 1.7, 2.3);  // too bright
	double above = strong == 1 ? about(random, -0.3, 0.2) : about(random, -0.5, 0.3);
	double to_key[3] = {side, above, front}, to_fill[3] = {-side, -0.1, 0.5};
	unit3(to_key);
	unit3(to_fill);
	double half[3] = {to_key[0], to_key[1], to_key[2] + 1};
	unit3(half);
	set3(light->key, to_key[0], to_key[1], to_key[2]);
	set3(light->fill, to_fill[0], to_fill[1], to_fill[2]);
	set3(light->half, half[0], half[1], half[2]);
	double warm = about(random, 0, 0.06), green = about(random, 0, 0.02);
	if (strong == 4) { // coloured
		warm = sign(random);
		warm *= between(random, 0.30, 0.45);
		green = about(random, 0, 0.1);
	}
	double fill = strong == 1 ? 0.03 : between(random, 0.05, 0.25);
	set3(light->key_colour, key * (1 + warm), key * (1 + green), key * (1 - warm));
	set3(light->fill_colour, fill * (1 - 0.5 * warm), fill, fill * (1 + 0.5 * warm));
	set3(light->sky, ambient * (1 + 0.5 * warm), ambient * (1 + green), ambient * (1 - 0.7 * warm));
	set3(light->ground, 0.5 * ambient * (1 + warm), 0.47 * ambient * (1 + green), 0.43 * ambient * (1 - warm));
	light->exposure = (float)level;
	light->grain = (float)(strong == 2 ? between(random, 3, 9) : between(random, 0.5, 4));
	light->shine = (float)between(random, 0.4, 1.4);
	scene->sample.attributes[2] = strong > 0;
}

static void draw_background(struct pfld_random *random, struct pfld_faces_scene *scene)
{
	struct pfld_faces_background *ground = &scene->background;
	any_colour(random, ground->top, 0.02, 0.7);
	any_colour(random, ground->bottom, 0.02, 0.7);
	ground->num_shapes = (int32_t)pfld_random_int(random, 0, 9);
	for (int32_t k = 0; k < ground->num_shapes; k++) {
		double sine, cosine, x = between(random, -0.1, 1.1), y = between(random, -0.1, 1.1);
		double radius = between(random, 0.05, 0.4), thin = radius * between(random, 0.3, 1);
		pfld_faces_sincos(between(random, -1.6, 1.6), &sine, &cosine);
		set3(ground->shapes[k].along, cosine / radius, sine / radius, -(cosine * x + sine * y) / radius);
		set3(ground->shapes[k].across, -sine / thin, cosine / thin, (sine * x - cosine * y) / thin);
		ground->shapes[k].soft = pfld_faces_chance(random, 0.5) ? (float)between(random, 0.05, 0.5) : 0.02f;
		ground->shapes[k].kind = (int32_t)between(random, 0, 2.25); // few stripes
		any_colour(random, ground->shapes[k].colour, 0.01, 0.8);
	}
	ground->noise = (float)between(random, 0, 0.6);
	ground->noise_size = (float)between(random, 4, 40);
}

static void draw_occluder(struct pfld_random *random, struct pfld_faces_scene *scene)
{
	bool sunglasses = pfld_faces_chance(random, 0.05);
	if (sunglasses) {
		scene->look.glasses = PFLD_GLASSES_DARK;
		set3(scene->look.lens, 0.012, 0.012, 0.014);
		scene->look.rim = (float)between(random, 0.02, 0.06);
	}
	if (pfld_faces_chance(random, 0.18))
		scene->occluder = (enum pfld_faces_occluder)pfld_random_int(random, 1, PFLD_OCCLUDER_KINDS);
	// Somewhere over the lower or the side part of the face, of the face's size.
	scene->occluder_x = between(random, -0.5, 0.5);
	scene->occluder_y = between(random, -0.15, 0.5);
	scene->occluder_angle = between(random, -1.5, 1.5);
	scene->occluder_size = between(random, 0.18, 0.34);
	any_colour(random, scene->occluder_colour, 0.02, 0.6);
	scene->sample.attributes[4] = sunglasses || scene->occluder != PFLD_OCCLUDER_NONE;
}

// ---- into the picture ----

static void place(struct pfld_random *random, struct pfld_faces_scene *scene)
{
	struct pfld_faces_sample *sample = &scene->sample;
	double points[PFLD_FACES_POINTS][2], low[2] = {1e30, 1e30}, high[2] = {-1e30, -1e30};
	scene->camera.scale = 1;
	pfld_faces_points(&scene->shape, &scene->camera, points);
	for (int k = 0; k < 2 * PFLD_FACES_POINTS; k++) {
		double value = points[k / 2][k % 2];
		low[k % 2] = PFLD_MIN(low[k % 2], value);
		high[k % 2] = PFLD_MAX(high[k % 2], value);
	}
	double extent = PFLD_MAX(high[0] - low[0], high[1] - low[1]);
	double scale = sample->side * between(random, 0.55, 0.70) / extent, shift[2];
	for (int k = 0; k < 2; k++) {
		double room = (sample->side - scale * (high[k] - low[k])) / 2 - 4; // four pixels stay free
		double wanted = about(random, 0, 0.05) * sample->side + (k == 1 ? 0.03 * sample->side : 0);
		shift[k] = (sample->side - 1) / 2.0 + pfld_faces_clamp(wanted, -room, room) - scale * (low[k] + high[k]) / 2;
		sample->box[k] = (float)(scale * low[k] + shift[k]);
		sample->box[2 + k] = (float)(scale * high[k] + shift[k]);
	}
	for (int k = 0; k < 2 * PFLD_FACES_POINTS; k++)
		sample->points[k] = (float)(scale * points[k / 2][k % 2] + shift[k % 2]);
	scene->camera.scale = scale;
	scene->camera.x = shift[0];
	scene->camera.y = shift[1];
}

void pfld_faces_scene_draw(uint64_t seed, enum pfld_faces_split split, uint64_t index, struct pfld_faces_scene *scene)
{
	struct pfld_random random = pfld_random_stream(seed, PFLD_RANDOM_FACES, split, index);
	*scene = (struct pfld_faces_scene){.texture = pfld_random_u32(&random)};
	struct pfld_faces_sample *sample = &scene->sample;
	sample->side = 2 * (int32_t)pfld_random_int(&random, PFLD_FACES_MIN_SIDE / 2, PFLD_FACES_MAX_SIDE / 2 + 1);
	bool female = pfld_faces_chance(&random, 0.5);
	pfld_faces_shape_start(&scene->shape);
	draw_head_shape(&random, &scene->shape);
	draw_features(&random, &scene->shape);
	draw_skin_and_hair(&random, &scene->look);
	draw_style(&random, &scene->look, female);
	draw_clothes(&random, &scene->look);
	draw_make_up(&random, scene, female);
	bool strong = pfld_faces_chance(&random, 0.2);
	double strength = strong ? between(&random, 0.6, 1) : pfld_random_unit(&random) * 0.45;
	draw_mouth_expression(&random, &scene->shape, strength);
	draw_eye_expression(&random, &scene->shape, strength);
	sample->attributes[1] = strong;
	draw_pose(&random, scene);
	draw_light(&random, scene);
	draw_background(&random, scene);
	draw_occluder(&random, scene);
	bool blurred = pfld_faces_chance(&random, 0.2);
	scene->blur = blurred ? between(&random, 1.6, 3.2) : between(&random, 0, 0.7);
	sample->attributes[5] = blurred;
	place(&random, scene);
}

void pfld_faces_describe(uint64_t seed, enum pfld_faces_split split, uint64_t index, struct pfld_faces_sample *sample)
{
	struct pfld_faces_scene scene;
	pfld_faces_scene_draw(seed, split, index, &scene);
	*sample = scene.sample;
}
