// SPDX-License-Identifier: MIT
// Where the 98 landmarks of a built-in face are, in the order of WFLW: jaw 0..32 from the picture's left, brows
// 33..41 and 42..50, nose 51..59, eyes 60..67 and 68..75, lips 76..87 and 88..95, pupils 96 and 97.
#include "faces_internal.h"
#include <math.h>

void pfld_faces_project(const struct pfld_faces_camera *camera, const double rotation[9], const double position[3],
						double out[3])
{
	// The pivot: where the neck holds the head.
	double x = position[0], y = position[1] - 0.55, z = position[2] + 0.75, turned[3];
	for (int k = 0; k < 3; k++) turned[k] = rotation[3 * k] * x + rotation[3 * k + 1] * y + rotation[3 * k + 2] * z;
	double factor = camera->scale * camera->distance / (camera->distance - turned[2]);
	out[0] = camera->x + factor * turned[0];
	out[1] = camera->y + factor * turned[1];
	out[2] = turned[2];
}

#define JAW_STEPS 64

// The 17 heights of one side of the jaw, ear to chin, evenly along its outline.
static void jaw_sections(const struct pfld_faces_shape *shape, double t[17])
{
	double start = pfld_faces_section_at(-0.05), end = pfld_faces_section_at(1.345);
	double length[JAW_STEPS + 1], x = 0, y = 0;
	for (int k = 0; k <= JAW_STEPS; k++) {
		struct pfld_faces_section section;
		pfld_faces_section(shape, start + (end - start) * k / JAW_STEPS, &section);
		double nx = k == JAW_STEPS ? 0 : section.row.half, ny = section.row.y; // the chin's middle ends it
		length[k] = k ? length[k - 1] + sqrt((nx - x) * (nx - x) + (ny - y) * (ny - y)) : 0;
		x = nx;
		y = ny;
	}
	int k = 0;
	for (int i = 0; i < 17; i++) {
		double wanted = length[JAW_STEPS] * i / 16;
		while (k < JAW_STEPS - 1 && length[k + 1] < wanted) k++;
		double share = (wanted - length[k]) / (length[k + 1] - length[k]);
		t[i] = start + (end - start) * (k + share) / JAW_STEPS;
	}
}

// On one section, the spot of this side that stands out farthest in the picture: what an annotator calls the outline.
static void outline_spot(const struct pfld_faces_shape *shape, const struct pfld_faces_camera *camera,
						 const struct pfld_faces_section *section, double direction, double point[2])
{
	// Outwards in the picture: across the face's upright axis.
	double ux = camera->rotation[4], uy = -camera->rotation[1];
	double norm = sqrt(ux * ux + uy * uy);
	ux *= direction / norm;
	uy *= direction / norm;
	double low = 15, high = 90, best = -1e30;
	for (int round = 0; round < 3; round++) {
		double found = low, step = (high - low) / 8;
		for (int k = 0; k <= 8; k++) {
			double sine, cosine, position[3], pq[2], out[3], angle = low + step * k;
			pfld_faces_sincos(direction * angle * PFLD_FACES_DEGREE, &sine, &cosine);
			pfld_faces_surface(shape, section, sine, PFLD_MAX(cosine, 0), position, pq);
			pfld_faces_project(camera, camera->rotation, position, out);
			double reach = out[0] * ux + out[1] * uy;
			if (reach <= best && !(round == 0 && k == 0)) continue;
			best = reach;
			found = angle;
			point[0] = out[0];
			point[1] = out[1];
		}
		low = PFLD_MAX(15, found - step);
		high = PFLD_MIN(90, found + step);
	}
}

static void put(const struct pfld_faces_shape *shape, const struct pfld_faces_camera *camera, double p, double q,
				double point[2])
{
	double position[3], out[3];
	pfld_faces_spot(shape, p, q, position);
	pfld_faces_project(camera, camera->rotation, position, out);
	point[0] = out[0];
	point[1] = out[1];
}

static void eye_and_brow(const struct pfld_faces_shape *shape, const struct pfld_faces_camera *camera, int side,
						 double points[PFLD_FACES_POINTS][2])
{
	// WFLW goes left to right along the top and back along the bottom, on both sides of the picture.
	static const double along[8] = {1, 0.5, -0.03, -0.55, -1, -0.55, -0.03, 0.5};
	static const double brow_along[9] = {1, 0.76, 0.5, 0.25, 0, 0, 0.25, 0.5, 0.76};
	static const int eye_index[2][8] = {{60, 61, 62, 63, 64, 65, 66, 67}, {72, 71, 70, 69, 68, 75, 74, 73}};
	static const int brow_index[2][9] = {{33, 34, 35, 36, 37, 38, 39, 40, 41}, {46, 45, 44, 43, 42, 50, 49, 48, 47}};
	const struct pfld_faces_eye *eye = &shape->eyes[side];
	const struct pfld_faces_brow *brow = &shape->brows[side];
	double sign = side ? 1 : -1;
	for (int k = 0; k < 8; k++) {
		double s = along[k];
		put(shape, camera, sign * (eye->x + s * eye->half), pfld_faces_lid(eye, s, k <= 4), points[eye_index[side][k]]);
	}
	for (int k = 0; k < 9; k++) {
		double half, s = brow_along[k], q = pfld_faces_brow_line(brow, s, &half);
		double p = sign * (brow->inner + s * (brow->outer - brow->inner));
		put(shape, camera, p, k < 5 ? q - half : q + half, points[brow_index[side][k]]);
	}
	put(shape, camera, eye->pupil_x, eye->pupil_y, points[96 + side]);
}

static void nose_and_mouth(const struct pfld_faces_shape *shape, const struct pfld_faces_camera *camera,
						   double points[PFLD_FACES_POINTS][2])
{
	const struct pfld_faces_nose *nose = &shape->nose;
	for (int k = 0; k < 4; k++) put(shape, camera, 0, nose->root + (nose->tip - nose->root) * k / 3, points[51 + k]);
	for (int k = -2; k <= 2; k++) {
		int a = k < 0 ? -k : k;
		double q = nose->base - (a == 2 ? 0.038 : a == 1 ? 0.013 : 0);
		put(shape, camera, 0.087 * k * nose->width, q, points[57 + k]);
	}
	static const double outer[12] = {-1, -0.62, -0.21, 0, 0.21, 0.62, 1, 0.72, 0.4, 0, -0.4, -0.72};
	static const double inner[8] = {-0.93, -0.5, 0, 0.5, 0.93, 0.5, 0, -0.5};
	const struct pfld_faces_mouth *mouth = &shape->mouth;
	for (int k = 0; k < 12; k++) {
		double q = pfld_faces_lip(mouth, outer[k], k <= 6 ? PFLD_LIP_OUTER_UP : PFLD_LIP_OUTER_LOW);
		put(shape, camera, mouth->x + outer[k] * mouth->half, q, points[76 + k]);
	}
	for (int k = 0; k < 8; k++) {
		double q = pfld_faces_lip(mouth, inner[k], k <= 4 ? PFLD_LIP_INNER_UP : PFLD_LIP_INNER_LOW);
		put(shape, camera, mouth->x + inner[k] * mouth->half, q, points[88 + k]);
	}
}

void pfld_faces_points(const struct pfld_faces_shape *shape, const struct pfld_faces_camera *camera,
					   double points[PFLD_FACES_POINTS][2])
{
	double t[17];
	jaw_sections(shape, t);
	for (int i = 0; i < 17; i++) {
		struct pfld_faces_section section;
		pfld_faces_section(shape, t[i], &section);
		if (i == 16) {
			double position[3], pq[2], out[3];
			pfld_faces_surface(shape, &section, 0, 1, position, pq);
			pfld_faces_project(camera, camera->rotation, position, out);
			points[16][0] = out[0];
			points[16][1] = out[1];
			break;
		}
		outline_spot(shape, camera, &section, -1, points[i]);
		outline_spot(shape, camera, &section, 1, points[32 - i]);
	}
	eye_and_brow(shape, camera, 0, points);
	eye_and_brow(shape, camera, 1, points);
	nose_and_mouth(shape, camera, points);
}
