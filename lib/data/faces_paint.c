// SPDX-License-Identifier: MIT
// The colour of one spot of a built-in face: light on a surface, skin, eyes, brows, lips, teeth, hair, beard, make-up,
// mask and glasses. Shaders for faces_raster.c, and the soft tints that vertices carry.
#include "faces_internal.h"
#include <math.h>

static float stepf(float low, float high, float x)
{
	float t = (x - low) / (high - low);
	t = t < 0 ? 0 : t > 1 ? 1 : t;
	return t * t * (3 - 2 * t);
}

static float absf(float x)
{
	return x < 0 ? -x : x;
}

static void mix(float rgb[3], const float other[3], float share)
{
	for (int k = 0; k < 3; k++) rgb[k] += share * (other[k] - rgb[k]);
}

static void scale(float rgb[3], float factor)
{
	for (int k = 0; k < 3; k++) rgb[k] *= factor;
}

void pfld_faces_light_spot(const struct pfld_faces_light *light, const float normal[3], float out[4])
{
	const float *n = normal;
	float key = 0, fill = 0, glance = 0;
	for (int k = 0; k < 3; k++) {
		key += n[k] * light->key[k];
		fill += n[k] * light->fill[k];
		glance += n[k] * light->half[k];
	}
	glance = glance < 0 || key < -0.1f ? 0 : glance * glance;
	glance *= glance;
	glance *= glance;
	glance *= glance; // 16th power
	float sky = 0.5f - 0.5f * n[1];
	fill = fill < 0 ? 0 : fill;
	// Light creeps round the edge of skin, red more than blue.
	static const float wrap[3] = {0.28f, 0.16f, 0.10f};
	for (int k = 0; k < 3; k++) {
		float direct = (key + wrap[k]) / (1 + wrap[k]);
		direct = direct < 0 ? 0 : direct;
		float ambient = light->ground[k] + sky * (light->sky[k] - light->ground[k]);
		out[k] = light->exposure * (ambient + direct * light->key_colour[k] + fill * light->fill_colour[k]);
	}
	out[3] = light->exposure * light->shine * glance;
}

void pfld_faces_shade(const struct pfld_faces_light *scene_light, const float light[4], const float colour[3],
					  float shine, float out[3])
{
	for (int k = 0; k < 3; k++) out[k] = colour[k] * light[k] + shine * light[3] * scene_light->key_colour[k];
}

// ---- soft tints ----

static float spot(double p, double q, double x, double y, double radius_x, double radius_y)
{
	double u = (p - x) / radius_x, v = (q - y) / radius_y;
	return (float)pfld_faces_bump(u * u + v * v);
}

void pfld_faces_tint(const struct pfld_faces_scene *scene, double p, double q, float rgb[3])
{
	const struct pfld_faces_look *look = &scene->look;
	const struct pfld_faces_shape *shape = &scene->shape;
	double a = p < 0 ? -p : p;
	float pores = pfld_faces_noise(scene->texture + 23, (float)(p * 26), (float)(q * 26)) - 0.5f;
	for (int k = 0; k < 3; k++) rgb[k] = look->skin[k] * (1 + 0.10f * pores);
	if (a > 0.9) return;
	float warm = 0.5f * spot(a, q, 0.45, 0.38, 0.30, 0.28) + 0.45f * spot(p, q, 0, shape->nose.tip, 0.2, 0.2) +
				 0.2f * spot(p, q, 0, 1.18, 0.3, 0.2) + 1.6f * look->blush * spot(a, q, 0.52, 0.32, 0.26, 0.22);
	rgb[0] *= 1 + 0.10f * warm;
	rgb[1] *= 1 - 0.16f * warm;
	rgb[2] *= 1 - 0.10f * warm;
	// Where little light gets in.
	float dark = 0.30f * spot(a, q, 0.19, shape->eyes[0].y, 0.11, 0.13) + 0.22f * spot(a, q, 0.34, -0.04, 0.24, 0.13) +
				 0.16f * (0.5f + look->age) * spot(a, q, 0.33, 0.13, 0.20, 0.09) +
				 0.30f * spot(a, q, shape->nose.width * 0.20, shape->nose.tip + 0.06, 0.085, 0.12) +
				 0.42f * spot(p, q, 0, shape->nose.base - 0.01, 0.20 * shape->nose.width, 0.065) +
				 0.20f * spot(p, q, shape->mouth.x, shape->mouth.y + shape->mouth.gap_low + shape->mouth.lip_low + 0.05,
							  0.22, 0.07) +
				 0.30f * (float)pfld_faces_step(1.24, 1.37, q) + 0.10f * spot(p, q, 0, 0.63, 0.05, 0.1);
	scale(rgb, 1 - PFLD_MIN(dark, 0.7f));
	rgb[1] *= 1 - 0.12f * dark;
	rgb[2] *= 1 - 0.12f * dark;
	if (look->stubble > 0 && q > 0.1) {
		double line = 0.98 - 0.95 * a * a; // where a beard would begin
		float beard = (float)(pfld_faces_step(line - 0.14, line + 0.14, q) + 0.8 * spot(p, q, 0, 0.64, 0.33, 0.13));
		float grey[3] = {look->hair[0] * 0.5f + 0.02f, look->hair[1] * 0.5f + 0.02f, look->hair[2] * 0.5f + 0.03f};
		mix(rgb, grey, 0.45f * look->stubble * PFLD_MIN(beard, 1) * (float)pfld_faces_step(0.9, 0.75, a));
	}
}

// ---- features ----

struct brush {
	const struct pfld_faces_scene *scene;
	float p, q;
	float rgb[3];
	float shine;
	float glow; // added at the end: what an eye reflects
};

static void paint_iris(struct brush *brush, const struct pfld_faces_eye *eye)
{
	const struct pfld_faces_look *look = &brush->scene->look;
	float dx = brush->p - (float)eye->pupil_x, dy = brush->q - (float)eye->pupil_y;
	float d = sqrtf(dx * dx + dy * dy) / 0.068f;
	if (d < 1.1f) {
		float ring = 1 - 0.55f * stepf(0.72f, 0.98f, d);
		float spokes = 0.8f + 0.4f * pfld_faces_noise(brush->scene->texture, dx * 90, dy * 90);
		float iris[3];
		for (int k = 0; k < 3; k++) iris[k] = look->iris[k] * ring * spokes * (d > 0.6f ? 1 : 1.2f);
		static const float black[3] = {0.004f, 0.004f, 0.005f};
		mix(iris, black, 1 - stepf(0.40f, 0.50f, d));
		mix(brush->rgb, iris, 1 - stepf(0.94f, 1.06f, d));
		brush->shine = 0.1f;
	}
	const struct pfld_faces_light *light = &brush->scene->light;
	float gx = dx - 0.030f * light->key[0], gy = dy - 0.030f * light->key[1];
	float glint = (gx * gx + gy * gy) / (0.017f * 0.017f);
	if (glint < 1 && light->key[2] > 0) brush->glow += 0.9f * (1 - glint);
}

static void paint_eye(struct brush *brush, int side)
{
	const struct pfld_faces_scene *scene = brush->scene;
	const struct pfld_faces_look *look = &scene->look;
	const struct pfld_faces_eye *eye = &scene->shape.eyes[side];
	float s = ((side ? brush->p : -brush->p) - (float)eye->x) / (float)eye->half;
	float drop = brush->q - (float)eye->y;
	if (s < -1.5f || s > 1.6f || drop > 0.16f || drop < -0.24f) return;
	float in = s < -1 ? -1 : s > 1 ? 1 : s;
	float top = (float)pfld_faces_lid(eye, in, true), bottom = (float)pfld_faces_lid(eye, in, false);
	float over = absf(s) - 1 > 0 ? (absf(s) - 1) * (float)eye->half : 0; // how far beyond the corners
	float above = top - brush->q, below = brush->q - bottom;
	float fade = over > 0 ? 1 - stepf(0, 0.06f, over) : 1;
	if (look->eye_shadow > 0 && above > -0.02f && above < 0.16f) {
		float strength = look->eye_shadow * stepf(0.15f, 0.03f, above) * (1 - stepf(0.0f, 0.08f, over));
		mix(brush->rgb, look->shadow_colour, strength);
	}
	// The crease of the upper lid, and the bag below.
	float crease = (above - 0.030f - 0.25f * (float)eye->up) / 0.016f;
	scale(brush->rgb, 1 - 0.38f * fade * (float)pfld_faces_bump(crease * crease));
	float bag = (below - 0.075f) / 0.025f;
	scale(brush->rgb, 1 - (0.05f + 0.2f * look->age) * fade * (float)pfld_faces_bump(bag * bag));
	if (above < 0 && below < 0 && over <= 0) {
		float white[3] = {0.62f, 0.58f, 0.55f};
		float corner = stepf(0.65f, 1.0f, absf(s));
		white[1] *= 1 - 0.30f * corner;
		white[2] *= 1 - 0.32f * corner;
		if (s < -0.82f) white[0] *= 0.95f, white[1] *= 0.6f, white[2] *= 0.6f; // the tear duct
		scale(white, 0.55f + 0.45f * stepf(0, 0.05f, -above));
		for (int k = 0; k < 3; k++) brush->rgb[k] = white[k];
		brush->shine = 0.3f;
		paint_iris(brush, eye);
	}
	float thick = 0.010f + 0.010f * look->lash + 0.012f * look->liner + 0.005f * s;
	float lash = fade * (1 - stepf(thick * 0.6f, thick * 1.3f, absf(above - thick * 0.2f)));
	static const float dark[3] = {0.012f, 0.009f, 0.008f};
	mix(brush->rgb, dark, lash * (0.65f + 0.3f * look->lash));
	float lower = fade * (1 - stepf(0.006f, 0.013f, absf(below)));
	float rim[3] = {look->skin[0] * 0.55f, look->skin[1] * 0.40f, look->skin[2] * 0.38f};
	mix(brush->rgb, rim, 0.7f * lower);
	mix(brush->rgb, dark, 0.7f * look->liner * lower);
}

static void paint_brow(struct brush *brush, int side)
{
	const struct pfld_faces_scene *scene = brush->scene;
	const struct pfld_faces_brow *brow = &scene->shape.brows[side];
	float a = side ? brush->p : -brush->p;
	float s = (a - (float)brow->inner) / (float)(brow->outer - brow->inner);
	float drop = brush->q - (float)brow->y;
	if (s < -0.08f || s > 1.03f || drop < -0.18f || drop > 0.15f) return;
	double half;
	float in = s < 0 ? 0 : s > 1 ? 1 : s;
	float d = brush->q - (float)pfld_faces_brow_line(brow, in, &half);
	if (absf(d) > 0.1f) return;
	// Hairs slant outwards and up.
	float hairs = pfld_faces_noise(scene->texture + 7, a * 70 + d * 60, d * 22);
	float edge = absf(d) / ((float)half + 0.004f) + 0.5f * (hairs - 0.5f);
	float ends = stepf(-0.08f, 0.06f, s + 0.08f * (hairs - 0.5f));
	float opacity = scene->look.brow_strength * ends * (1 - stepf(0.7f, 1.15f, edge)) * (0.55f + 0.65f * hairs);
	mix(brush->rgb, scene->look.brow, PFLD_MIN(opacity, 1));
}

static void paint_inside_mouth(struct brush *brush, float s, float share, float opening)
{
	const struct pfld_faces_scene *scene = brush->scene;
	float inside[3] = {0.09f, 0.018f, 0.016f};
	float tongue[3] = {0.34f, 0.10f, 0.09f};
	mix(inside, tongue, opening > 0.1f ? 0.8f * stepf(0.55f, 0.8f, share) * (1 - stepf(0.5f, 0.8f, absf(s))) : 0);
	float teeth = PFLD_MIN(1, 0.085f / opening); // share of the opening that the upper teeth fill
	if (opening > 0.02f && share < teeth) {
		float x = absf(s) * (float)scene->shape.mouth.half / 0.062f; // one tooth after the other
		float gap = absf(x - (float)(int32_t)(x + 0.5f));
		float ivory[3] = {0.72f, 0.68f, 0.58f};
		scale(ivory, (1 - 0.25f * (1 - stepf(0.0f, 0.12f, gap))) * (1 - 0.75f * stepf(0.35f, 0.95f, absf(s))));
		scale(ivory, 0.6f + 0.4f * stepf(0, 0.25f, share));
		mix(inside, ivory, 1 - stepf(teeth * 0.88f, teeth, share) * (teeth < 1));
		brush->shine = 0.4f;
	}
	for (int k = 0; k < 3; k++) brush->rgb[k] = inside[k];
}

static void paint_mouth(struct brush *brush)
{
	const struct pfld_faces_scene *scene = brush->scene;
	const struct pfld_faces_mouth *mouth = &scene->shape.mouth;
	const struct pfld_faces_look *look = &scene->look;
	float s = (brush->p - (float)mouth->x) / (float)mouth->half;
	if (absf(s) > 1.12f) return;
	float in = s < -1 ? -1 : s > 1 ? 1 : s, q = brush->q;
	float top = (float)pfld_faces_lip(mouth, in, PFLD_LIP_OUTER_UP),
		  up = (float)pfld_faces_lip(mouth, in, PFLD_LIP_INNER_UP);
	float low = (float)pfld_faces_lip(mouth, in, PFLD_LIP_INNER_LOW),
		  end = (float)pfld_faces_lip(mouth, in, PFLD_LIP_OUTER_LOW);
	if (absf(s) >= 1) { // the corner's shadow
		float u = (absf(s) - 1) / 0.12f, v = (q - up) / 0.02f;
		scale(brush->rgb, 1 - 0.5f * (float)pfld_faces_bump(u * u + v * v));
		return;
	}
	float edge = 0.012f;
	float inside = stepf(-edge, edge, q - top) * stepf(-edge, edge, end - q);
	float lip[3] = {look->lip[0], look->lip[1], look->lip[2]};
	if (q < up)
		scale(lip, 0.72f + 0.16f * stepf(0, 1, (q - top) / (up - top + 1e-4f))); // the upper lip looks down
	else if (q > low)
		scale(lip, 0.95f + 0.12f * (float)pfld_faces_bump(((q - low) / (end - low + 1e-4f) - 0.4f) * 3));
	scale(lip, 0.92f + 0.16f * pfld_faces_noise(scene->texture + 3, brush->p * 60, q * 9));
	mix(brush->rgb, lip, inside);
	brush->shine += inside * (0.35f + look->lip_gloss);
	float opening = (float)(mouth->gap_up + mouth->gap_low + pfld_faces_jaw(mouth, brush->p, low) -
							pfld_faces_jaw(mouth, brush->p, up));
	if (q > up && q < low) {
		float share = (float)((q - up + pfld_faces_jaw(mouth, brush->p, q) - pfld_faces_jaw(mouth, brush->p, up)) /
							  (low - up + opening - mouth->gap_up - mouth->gap_low + 1e-5f));
		paint_inside_mouth(brush, s, share, opening);
	}
	// The dark line between the lips, or along the edges of an open mouth.
	float line = PFLD_MIN(absf(q - up), absf(q - low)) / 0.013f;
	scale(brush->rgb, 1 - 0.6f * (float)pfld_faces_bump(line * line));
}

static void paint_nose(struct brush *brush)
{
	const struct pfld_faces_nose *nose = &brush->scene->shape.nose;
	float a = absf(brush->p), u = (a - 0.078f * (float)nose->width) / (0.052f * (float)nose->width);
	float v = (brush->q - (float)(0.35 * nose->tip + 0.65 * nose->base) - 0.010f) / 0.026f;
	float hole = (float)pfld_faces_bump(u * u + v * v);
	scale(brush->rgb, 1 - 0.9f * PFLD_MIN(1, 1.6f * hole));
	// The crease behind the wing.
	u = (a - 0.185f * (float)nose->width) / 0.022f;
	v = (brush->q - (float)nose->tip - 0.05f) / 0.075f;
	scale(brush->rgb, 1 - 0.35f * (float)pfld_faces_bump(u * u + v * v));
}

static void paint_folds(struct brush *brush)
{
	const struct pfld_faces_scene *scene = brush->scene;
	float a = absf(brush->p), q = brush->q;
	if (q > 0.43f && q < 0.92f) {
		float along = (q - 0.43f) / 0.42f;
		float x = 0.19f + (float)(scene->shape.mouth.half - 0.10) * along * (1.35f - 0.35f * along);
		float depth = (0.10f + 0.28f * scene->look.age + 0.30f * (float)scene->shape.smile) * stepf(0, 0.2f, along) *
					  (1 - stepf(0.75f, 1.15f, along));
		float d = (a - x) / 0.035f;
		scale(brush->rgb, 1 - depth * (float)pfld_faces_bump(d * d));
	}
	if (q < -0.3f && q > -0.75f && a < 0.55f) { // the brow's wrinkles
		float wave = (q + 0.02f * pfld_faces_noise(scene->texture + 5, brush->p * 5, 0)) * 9;
		float d = (wave - (float)(int32_t)(wave - 0.5f)) * 2.2f;
		scale(brush->rgb, 1 - 0.22f * stepf(0.4f, 1, scene->look.age) * (1 - stepf(0.3f, 0.55f, a)) *
								  (float)pfld_faces_bump(d * d));
	}
	if (scene->shape.frown > 0 && a < 0.12f && q > -0.3f && q < 0) {
		float u = (a - 0.055f) / 0.018f, v = (q + 0.15f) / 0.11f;
		scale(brush->rgb, 1 - 0.5f * (float)scene->shape.frown * (float)pfld_faces_bump(u * u + v * v));
	}
}

// ---- hair ----

static void hair_colour(const struct pfld_faces_scene *scene, float p, float q, float out[3])
{
	float strands = pfld_faces_noise(scene->texture + 11, p * 36, q * 2.5f);
	float factor = 0.55f + 0.9f * strands;
	for (int k = 0; k < 3; k++) out[k] = scene->look.hair[k] * factor;
}

static void paint_beard(struct brush *brush)
{
	const struct pfld_faces_scene *scene = brush->scene;
	const struct pfld_faces_look *look = &scene->look;
	const struct pfld_faces_mouth *mouth = &scene->shape.mouth;
	float a = absf(brush->p), q = brush->q;
	if (q < 0.5f && a < 0.6f) return;
	float rough = 0.10f * (pfld_faces_noise(scene->texture + 17, brush->p * 34, q * 20) - 0.5f);
	float cheek = 0.98f - 0.95f * a * a; // hair grows below this line
	float beard = look->beard * stepf(-0.05f, 0.06f, q - cheek + rough) * stepf(0.1f, 0.2f, q);
	float above = (q - (float)mouth->y + 0.125f) / 0.055f, wide = a / (float)(mouth->half * 1.15);
	float moustache = look->moustache * (float)pfld_faces_bump(above * above * 0.6f + wide * wide * wide * wide) * 2;
	float opacity = PFLD_MAX(beard, PFLD_MIN(1, moustache + 4 * rough * moustache));
	if (opacity <= 0) return;
	float hair[3];
	hair_colour(scene, brush->p * 1.5f, q * 2, hair);
	mix(brush->rgb, hair, 0.9f * opacity);
	brush->shine *= 1 - opacity;
}

// ---- shaders ----

static bool paint_mask(struct brush *brush)
{
	const struct pfld_faces_scene *scene = brush->scene;
	if (scene->occluder != PFLD_OCCLUDER_MASK) return false;
	float a = absf(brush->p), q = brush->q;
	bool cloth = q > 0.20f + 0.42f * a * a && q < 1.5f && a < 0.70f;
	bool string = a >= 0.70f && a < 1.0f &&
				  (absf(q - 0.41f + 0.9f * (a - 0.7f)) < 0.012f || absf(q - 0.86f + 1.6f * (a - 0.7f)) < 0.012f);
	if (!cloth && !string) return false;
	float fold = q * 9;
	float d = (fold - (float)(int32_t)fold - 0.5f) * 5;
	for (int k = 0; k < 3; k++) brush->rgb[k] = scene->look.mask[k];
	if (cloth)
		scale(brush->rgb,
			  (1 - 0.18f * (float)pfld_faces_bump(d * d)) * (a > 0.68f || q < 0.23f + 0.42f * a * a ? 0.85f : 1));
	brush->shine = 0;
	return true;
}

void pfld_faces_paint_head(const void *context, const float value[PFLD_V_COUNT], float rgba[4])
{
	const struct pfld_faces_scene *scene = context;
	struct brush brush = {.scene = scene, .p = value[PFLD_V_P], .q = value[PFLD_V_Q], .shine = 0.16f};
	for (int k = 0; k < 3; k++) brush.rgb[k] = value[PFLD_V_COLOUR + k];
	float p = brush.p, q = brush.q, a = absf(p), hair = value[PFLD_V_EXTRA];
	float thin = 0;
	if (hair > 0.12f) {
		thin = 1;
	} else if (hair > -0.12f) {
		float strand = pfld_faces_noise(scene->texture + 19, p * 38, q * 7);
		thin = stepf(-0.02f, 0.05f, hair + 0.10f * (strand - 0.6f));
	}
	if (thin < 1 && !paint_mask(&brush)) {
		if (a < 0.72f && q > -0.30f && q < 0.32f) paint_eye(&brush, p >= 0);
		if (a < 0.72f && q < 0.05f && q > -0.45f) paint_brow(&brush, p >= 0);
		if (a < 0.6f && q > 0.35f && q < 0.65f) paint_nose(&brush);
		if (a < 0.7f) paint_folds(&brush);
		if (scene->look.beard + scene->look.moustache > 0) paint_beard(&brush);
		if (a < 0.5f && q > 0.55f && q < 1.15f) paint_mouth(&brush);
		if (scene->look.freckles > 0 && a < 0.7f) {
			float spots = stepf(0.72f, 0.8f, pfld_faces_noise(scene->texture + 29, p * 34, q * 34));
			scale(brush.rgb, 1 - 0.35f * scene->look.freckles * spots * stepf(0.7f, 0.3f, a));
		}
	}
	if (thin > 0) {
		float colour[3];
		hair_colour(scene, p, q, colour);
		scale(colour, 0.7f + 0.3f * stepf(0, 0.2f, hair));
		mix(brush.rgb, colour, thin);
		brush.shine = brush.shine * (1 - thin) + 0.10f * thin;
		brush.glow *= 1 - thin;
	}
	pfld_faces_shade(&scene->light, &value[PFLD_V_LIGHT], brush.rgb, brush.shine, rgba);
	if (brush.glow > 0) {
		for (int k = 0; k < 3; k++) rgba[k] += brush.glow * scene->light.exposure * scene->light.key_colour[k];
	}
	rgba[3] = 1;
}

void pfld_faces_paint_plain(const void *context, const float value[PFLD_V_COUNT], float rgba[4])
{
	const struct pfld_faces_scene *scene = context;
	float colour[3];
	float weave = 0.9f + 0.2f * pfld_faces_noise(scene->texture + 31, value[PFLD_V_P] * 30, value[PFLD_V_Q] * 30);
	for (int k = 0; k < 3; k++) colour[k] = value[PFLD_V_COLOUR + k] * weave;
	pfld_faces_shade(&scene->light, &value[PFLD_V_LIGHT], colour, 0.06f, rgba);
	rgba[3] = 1;
}

void pfld_faces_paint_neck(const void *context, const float value[PFLD_V_COUNT], float rgba[4])
{
	const struct pfld_faces_scene *scene = context;
	bool covered = scene->look.collar && value[PFLD_V_EXTRA] > 0;
	pfld_faces_shade(&scene->light, &value[PFLD_V_LIGHT], covered ? scene->look.cloth2 : &value[PFLD_V_COLOUR],
					 covered ? 0.02f : 0.08f, rgba);
	rgba[3] = 1;
}

void pfld_faces_paint_hair(const void *context, const float value[PFLD_V_COUNT], float rgba[4])
{
	const struct pfld_faces_scene *scene = context;
	float colour[3];
	hair_colour(scene, value[PFLD_V_P], value[PFLD_V_Q], colour);
	pfld_faces_shade(&scene->light, &value[PFLD_V_LIGHT], colour, 0.10f, rgba);
	rgba[3] = 1;
}

void pfld_faces_paint_glasses(const void *context, const float value[PFLD_V_COUNT], float rgba[4])
{
	const struct pfld_faces_scene *scene = context;
	const struct pfld_faces_look *look = &scene->look;
	float a = absf(value[PFLD_V_P]), q = value[PFLD_V_Q];
	float u = (a - 0.37f) / 0.255f, v = (q - 0.045f) / 0.185f;
	float r = u * u * u * u + v * v * v * v, outer = 1 + 3.2f * look->rim; // of the rounded square
	bool bridge = a < 0.16f && absf(q + 0.045f + 0.8f * a * a) < 0.5f * look->rim + 0.008f;
	bool temple = a > 0.62f && absf(q + 0.06f) < 0.5f * look->rim + 0.012f && r > 1;
	rgba[3] = 0;
	if ((r >= 1 && r < outer * outer) || bridge || temple) {
		pfld_faces_shade(&scene->light, &value[PFLD_V_LIGHT], look->frame, 0.7f, rgba);
		rgba[3] = 1;
	} else if (r < 1) {
		bool dark = look->glasses == PFLD_GLASSES_DARK;
		pfld_faces_shade(&scene->light, &value[PFLD_V_LIGHT], look->lens, dark ? 0.5f : 0.25f, rgba);
		// A sheen across the lens.
		float sheen = (u + v + 0.4f) / 0.35f;
		for (int k = 0; k < 3; k++)
			rgba[k] += 0.10f * scene->light.exposure * scene->light.sky[k] * (float)pfld_faces_bump(sheen * sheen);
		rgba[3] = dark ? 0.93f : 0.10f;
	}
}
