// SPDX-License-Identifier: MIT
// The head of the built-in faces as a surface: horizontal sections along a spline, with bumps for nose, sockets,
// lips and chin, moved by the jaw. And the curves of eyes, brows and lips. Nothing random here, nothing drawn.
#include "faces_internal.h"
#include <math.h>

// How far a section is from an ellipse: faces are flat in front.
#define SQUARE 0.10

// The mean head: crown to the underside of the chin.
static const struct pfld_faces_row mean_rows[PFLD_FACES_ROWS] = {
	// y, front z, widest z, back z, half-width
	{-1.27, -0.80, -0.82, -0.84, 0.00}, {-1.22, -0.42, -0.82, -1.28, 0.37}, {-1.06, -0.10, -0.82, -1.62, 0.61},
	{-0.80, 0.10, -0.82, -1.85, 0.75},  {-0.50, 0.195, -0.82, -1.93, 0.81}, {-0.22, 0.235, -0.80, -1.93, 0.82},
	{0.00, 0.195, -0.78, -1.88, 0.81},  {0.25, 0.195, -0.75, -1.76, 0.80},  {0.50, 0.215, -0.69, -1.55, 0.77},
	{0.75, 0.225, -0.58, -1.22, 0.71},  {0.95, 0.195, -0.43, -0.90, 0.62},  {1.13, 0.175, -0.25, -0.62, 0.475},
	{1.26, 0.13, -0.12, -0.42, 0.325},  {1.335, 0.03, -0.09, -0.30, 0.17},  {1.36, -0.12, -0.14, -0.18, 0.00},
};

void pfld_faces_shape_start(struct pfld_faces_shape *shape)
{
	*shape = (struct pfld_faces_shape){
		.mouth = {.y = 0.785, .half = 0.30, .lip_up = 0.075, .lip_low = 0.10, .gap_up = 0.004, .gap_low = 0.006},
		.nose = {.root = -0.02, .tip = 0.42, .base = 0.535, .width = 1, .height = 0.30, .bridge = 0.55},
		.cheekbone = 0.04,
		.chin = 0.06,
		.brow_ridge = 0.035,
		.lips = 0.06,
	};
	for (int k = 0; k < PFLD_FACES_ROWS; k++) shape->rows[k] = mean_rows[k];
	for (int side = 0; side < 2; side++) {
		double x = 0.352;
		shape->eyes[side] =
			(struct pfld_faces_eye){.x = x, .y = 0.0, .half = 0.15, .tilt = -0.008, .up = 0.062, .down = 0.046};
		shape->eyes[side].pupil_x = side ? x : -x;
		shape->brows[side] = (struct pfld_faces_brow){
			.inner = 0.145, .outer = 0.60, .y = -0.175, .arch = 0.055, .tilt = 0.01, .thickness = 0.036};
	}
}

// Catmull-Rom through four values.
static double spline(double a, double b, double c, double d, double u)
{
	return b + 0.5 * u * (c - a + u * (2 * a - 5 * b + 4 * c - d + u * (3 * (b - c) + d - a)));
}

static void row_at(const struct pfld_faces_row *rows, double t, struct pfld_faces_row *out)
{
	int k = (int)pfld_faces_clamp(t, 0, PFLD_FACES_ROWS - 2);
	double u = t - k;
	const struct pfld_faces_row *b = &rows[k], *c = &rows[k + 1];
	const struct pfld_faces_row *a = k > 0 ? &rows[k - 1] : b, *d = k + 2 < PFLD_FACES_ROWS ? &rows[k + 2] : c;
	out->y = spline(a->y, b->y, c->y, d->y, u);
	out->front = spline(a->front, b->front, c->front, d->front, u);
	out->widest = spline(a->widest, b->widest, c->widest, d->widest, u);
	out->back = spline(a->back, b->back, c->back, d->back, u);
	out->half = pfld_faces_clamp(spline(a->half, b->half, c->half, d->half, u), 0, 2);
}

void pfld_faces_section(const struct pfld_faces_shape *shape, double t, struct pfld_faces_section *section)
{
	row_at(shape->rows, t, &section->row);
	row_at(mean_rows, t, &section->mean);
}

double pfld_faces_section_at(double q)
{
	int k = 0;
	while (k < PFLD_FACES_ROWS - 2 && mean_rows[k + 1].y <= q) k++;
	double before = mean_rows[PFLD_MAX(k - 1, 0)].y, after = mean_rows[PFLD_MIN(k + 2, PFLD_FACES_ROWS - 1)].y;
	// y grows between two controls, so halving it is; 30 times leave 1e-9.
	double low = 0, high = 1;
	for (int step = 0; step < 30; step++) {
		double middle = 0.5 * (low + high);
		if (spline(before, mean_rows[k].y, mean_rows[k + 1].y, after, middle) < q)
			low = middle;
		else
			high = middle;
	}
	return k + 0.5 * (low + high);
}

// ---- curves ----

double pfld_faces_lid(const struct pfld_faces_eye *eye, double s, bool upper)
{
	double round = PFLD_MAX(0, 1 - s * s);
	double middle = eye->y + eye->tilt * s + 0.006 * (1 - s); // the inner corner lies a little lower
	if (upper) return middle - eye->up * round * (1 - 0.12 * s + 0.25 * s * s);
	return middle + eye->down * round * (1 + 0.22 * s);
}

double pfld_faces_brow_line(const struct pfld_faces_brow *brow, double s, double *half_thickness)
{
	*half_thickness = brow->thickness * (1 - s * s * s) * (0.85 + 0.5 * s * (1 - s));
	double rise = s < 0.62 ? s / 0.62 : (1 - s) / 0.38 * 1.0;
	rise = rise * (2 - rise);
	return brow->y - brow->arch * rise + brow->tilt * s + 0.035 * s * s;
}

double pfld_faces_lip(const struct pfld_faces_mouth *mouth, double s, enum pfld_faces_lip which)
{
	double s2 = s * s, round = PFLD_MAX(0, 1 - s2), inner = PFLD_MAX(0, 1 - s2 / (0.93 * 0.93));
	double line = mouth->y - mouth->curve * s2 + mouth->skew * s;
	switch (which) {
	case PFLD_LIP_INNER_UP: return line - mouth->gap_up * inner;
	case PFLD_LIP_INNER_LOW: return line + mouth->gap_low * inner;
	case PFLD_LIP_OUTER_UP: {
		double bow = round * (0.95 + 0.3 * s2) - 0.17 * pfld_faces_bump(s2 / (0.22 * 0.22));
		return line - mouth->gap_up * round - mouth->lip_up * bow;
	}
	default: return line + mouth->gap_low * round + mouth->lip_low * round * (1 + 0.15 * s2);
	}
}

double pfld_faces_jaw(const struct pfld_faces_mouth *mouth, double p, double q)
{
	double s = (p - mouth->x) / mouth->half;
	double s2 = PFLD_MIN(1.2, s * s);
	double reach = 0.085 + 0.45 * s2 * s2; // the lips part at once in the middle, the cheeks stretch
	double start = mouth->y - mouth->curve * s2 - 0.006;
	return mouth->jaw * pfld_faces_step(start, start + reach, q);
}

// ---- bumps ----

static double spot_bump(double p, double q, double x, double y, double radius_x, double radius_y)
{
	double u = (p - x) / radius_x, v = (q - y) / radius_y;
	return pfld_faces_bump(u * u + v * v);
}

static double nose_bump(const struct pfld_faces_nose *nose, double p, double q)
{
	double along = (q - nose->root) / (nose->tip - nose->root);
	if (along < -0.25 || q > nose->base + 0.06 || p > 0.4 || p < -0.4) return 0;
	double height, half;
	if (along <= 1) {
		double r = PFLD_MAX(0, along);
		height = nose->height * r * (nose->bridge + (1 - nose->bridge) * r);
		half = nose->width * (0.145 + 0.055 * r * r * r);
	} else {
		height = nose->height * (1 - pfld_faces_step(nose->tip - 0.02, nose->base + 0.01, q));
		half = nose->width * 0.20;
	}
	double across = p / half;
	double z = height * pfld_faces_bump(across * across);
	z += 0.025 * spot_bump(p, q, 0, nose->tip - 0.015, 0.11 * nose->width, 0.10);
	double wing = nose->width * 0.125;
	z += 0.095 * spot_bump(p, q, -wing, nose->tip + 0.035, 0.095 * nose->width, 0.09);
	z += 0.095 * spot_bump(p, q, wing, nose->tip + 0.035, 0.095 * nose->width, 0.09);
	return z;
}

static double mouth_bump(const struct pfld_faces_shape *shape, double p, double q)
{
	const struct pfld_faces_mouth *mouth = &shape->mouth;
	double s = (p - mouth->x) / (mouth->half * 1.05);
	double z = 0;
	if (s > -1 && s < 1 && q > mouth->y - 0.3 && q < mouth->y + 0.4) {
		double fade = 1 - s * s;
		double top = pfld_faces_lip(mouth, s, PFLD_LIP_OUTER_UP), up = pfld_faces_lip(mouth, s, PFLD_LIP_INNER_UP);
		double low = pfld_faces_lip(mouth, s, PFLD_LIP_INNER_LOW), end = pfld_faces_lip(mouth, s, PFLD_LIP_OUTER_LOW);
		double half_up = 0.5 * (up - top) + 0.025, half_low = 0.5 * (end - low) + 0.03;
		double u = (q - 0.5 * (top + up)) / half_up, v = (q - 0.5 * (low + end)) / half_low;
		z += shape->lips * fade * (pfld_faces_bump(u * u) + 1.1 * pfld_faces_bump(v * v));
	}
	// The muzzle below the nose, and the dent under the lower lip.
	z += 0.04 * spot_bump(p, q, mouth->x, mouth->y, mouth->half * 1.5, 0.32);
	z -= 0.035 * spot_bump(p, q, 0, mouth->y + mouth->gap_low + mouth->lip_low + 0.075, 0.26, 0.085);
	return z;
}

// How far the spot (p, q) of the front stands out of the plain section.
static double relief(const struct pfld_faces_shape *shape, double p, double q)
{
	double z = nose_bump(&shape->nose, p, q);
	if (q > 0.45 && q < 1.3) z += mouth_bump(shape, p, q);
	double a = p < 0 ? -p : p;
	const struct pfld_faces_eye *eye = &shape->eyes[p >= 0];
	if (q > -0.5 && q < 0.3) {
		z -= 0.085 * spot_bump(a, q, eye->x - 0.02, eye->y - 0.01, 0.26, 0.17);
		z -= 0.05 * spot_bump(a, q, 0.19, eye->y, 0.10, 0.11);
		z += 0.06 * spot_bump(a, q, eye->x, eye->y, 0.17, 0.12);
		z += shape->brow_ridge * spot_bump(a, q, 0.28, -0.20, 0.34, 0.13);
	}
	z += shape->cheekbone * spot_bump(a, q, 0.50, 0.30, 0.30, 0.28);
	z += shape->cheek_raise * spot_bump(a, q, 0.42, 0.42, 0.24, 0.22);
	z -= 0.03 * spot_bump(a, q, 0.56, 0.75, 0.22, 0.25);
	z += shape->chin * spot_bump(p, q, 0, 1.17, 0.27, 0.17);
	return z;
}

void pfld_faces_surface(const struct pfld_faces_shape *shape, const struct pfld_faces_section *section, double sine,
						double cosine, double position[3], double pq[2])
{
	double across = sine * (1 + SQUARE * cosine * cosine), along = cosine * (1 + 0.07 * sine * sine);
	const struct pfld_faces_row *row = &section->row;
	double depth = cosine >= 0 ? row->front - row->widest : row->widest - row->back;
	double p = section->mean.half * across, q = section->mean.y;
	position[0] = row->half * across;
	position[1] = row->y;
	position[2] = row->widest + depth * along;
	double edge = p < 0 ? -section->mean.half : section->mean.half;
	double drop = pfld_faces_jaw(&shape->mouth, cosine < 0 ? edge : p, q);
	position[1] += drop;
	position[2] -= 0.25 * drop;
	if (cosine > 0)
		position[2] += relief(shape, p, q) * pfld_faces_step(0, 0.3, cosine);
	else
		p = 2 * edge - p; // go on counting behind the ears
	pq[0] = p;
	pq[1] = q;
}

void pfld_faces_spot(const struct pfld_faces_shape *shape, double p, double q, double position[3])
{
	struct pfld_faces_section section;
	pfld_faces_section(shape, pfld_faces_section_at(q), &section);
	double wanted = pfld_faces_clamp(p / section.mean.half, -1, 1), sine = wanted;
	for (int k = 0; k < 6; k++) { // Newton on across(sine) = wanted
		double value = sine * (1 + SQUARE - SQUARE * sine * sine) - wanted,
			   slope = 1 + SQUARE - 3 * SQUARE * sine * sine;
		sine = pfld_faces_clamp(sine - value / slope, -1, 1);
	}
	double pq[2];
	pfld_faces_surface(shape, &section, sine, sqrt(1 - sine * sine), position, pq);
}
