// SPDX-License-Identifier: MIT
// What stands in front of the camera of a built-in face, as grids of vertices: shoulders, neck, long hair, head,
// ears, glasses. Shapes only; colours of spots are in faces_paint.c.
#include "faces_internal.h"
#include <math.h>

static struct pfld_faces_vertex *start_vertex(struct pfld_faces_grid *grid, int32_t column, int32_t row,
											  const struct pfld_faces_scene *scene, const double rotation[9],
											  const double position[3])
{
	double out[3];
	pfld_faces_project(&scene->camera, rotation, position, out);
	int32_t at = row * grid->columns + column;
	struct pfld_faces_vertex *vertex = &grid->vertices[at];
	// Two pixels of the picture are three spots of the canvas; both count from the centre of the first.
	vertex->x = (float)(1.5 * out[0] + 0.25);
	vertex->y = (float)(1.5 * out[1] + 0.25);
	vertex->z = (float)out[2];
	float factor = (float)((scene->camera.distance - out[2]) / (scene->camera.distance * scene->camera.scale));
	grid->places[at][0] = (float)(out[0] - scene->camera.x) * factor;
	grid->places[at][1] = (float)(out[1] - scene->camera.y) * factor;
	grid->places[at][2] = (float)out[2];
	return vertex;
}

static void set_colour(struct pfld_faces_vertex *vertex, const float colour[3], float factor)
{
	for (int k = 0; k < 3; k++) vertex->value[PFLD_V_COLOUR + k] = colour[k] * factor;
}

// Light on every vertex; normals by central differences over the grid.
static void set_light(const struct pfld_faces_scene *scene, struct pfld_faces_grid *grid, bool closed)
{
	int32_t columns = grid->columns, rows = grid->rows;
	for (int32_t j = 0; j < rows; j++) {
		int32_t up = PFLD_MAX(j - 1, 0), down = PFLD_MIN(j + 1, rows - 1);
		int32_t round = PFLD_MIN(PFLD_MAX(j, 1), rows - 2); // the first and last row may be one point
		for (int32_t i = 0; i < columns; i++) {
			int32_t before = i > 0 ? i - 1 : closed ? columns - 2 : 0;
			int32_t after = i + 1 < columns ? i + 1 : closed ? 1 : columns - 1;
			const float *l = grid->places[round * columns + before], *r = grid->places[round * columns + after];
			const float *t = grid->places[up * columns + i], *b = grid->places[down * columns + i];
			float ux = r[0] - l[0], uy = r[1] - l[1], uz = r[2] - l[2];
			float vx = b[0] - t[0], vy = b[1] - t[1], vz = b[2] - t[2];
			float n[3] = {uy * vz - uz * vy, uz * vx - ux * vz, ux * vy - uy * vx};
			float norm = sqrtf(n[0] * n[0] + n[1] * n[1] + n[2] * n[2]) + 1e-12f;
			if (grid->both_sides && n[2] < 0) norm = -norm;
			for (int k = 0; k < 3; k++) n[k] /= norm;
			pfld_faces_light_spot(&scene->light, n, &grid->vertices[j * columns + i].value[PFLD_V_LIGHT]);
		}
	}
}

// ---- head ----

#define HEAD_COLUMNS 63
#define HEAD_ROWS 71

// q above which there is hair, at an angle (degrees) from the front.
static double hairline(const struct pfld_faces_look *look, double angle)
{
	double a = angle < 0 ? -angle : angle;
	double front = look->hairline + look->fringe * pfld_faces_step(60, 20, a) + look->parting * angle / 45 * (a < 60);
	const double knots[8][2] = {
		{0, front},  {40, front + 0.06}, {64, -0.40}, {73, -0.12}, {80, look->side_line}, {100, look->side_line},
		{118, 0.55}, {181, 0.95}};
	int k = 0;
	while (k < 6 && knots[k + 1][0] < a) k++;
	double u = pfld_faces_step(knots[k][0], knots[k + 1][0], a);
	return knots[k][1] + (knots[k + 1][1] - knots[k][1]) * u;
}

// Outwards by the thickness of the hair.
static void puff(double position[3], double thickness)
{
	double x = position[0], y = (position[1] + 0.2) * (position[1] < -0.2), z = position[2] + 0.82;
	double norm = sqrt(x * x + y * y + z * z);
	if (norm < 1e-9) return;
	position[0] += thickness * x / norm;
	position[1] += thickness * y / norm;
	position[2] += thickness * z / norm;
}

static void head(const struct pfld_faces_scene *scene, struct pfld_faces_grid *grid)
{
	const struct pfld_faces_look *look = &scene->look;
	grid->columns = HEAD_COLUMNS;
	grid->rows = HEAD_ROWS;
	grid->both_sides = false;
	double sine[HEAD_COLUMNS], cosine[HEAD_COLUMNS], line[HEAD_COLUMNS];
	for (int32_t i = 0; i < HEAD_COLUMNS; i++) {
		double u = 2.0 * i / (HEAD_COLUMNS - 1) - 1, degrees = 180 * u * (0.45 + 0.55 * u * u); // dense in front
		pfld_faces_sincos(degrees * PFLD_FACES_DEGREE, &sine[i], &cosine[i]);
		line[i] = look->hair_style == PFLD_HAIR_NONE ? -3 : hairline(look, degrees);
	}
	for (int32_t j = 0; j < HEAD_ROWS; j++) {
		double t = j < 12 ? 5.0 * j / 12 : j < 64 ? 5 + 7.0 * (j - 12) / 52 : 12 + 2.0 * (j - 64) / 6;
		struct pfld_faces_section section;
		pfld_faces_section(&scene->shape, t, &section);
		for (int32_t i = 0; i < HEAD_COLUMNS; i++) {
			double position[3], pq[2];
			pfld_faces_surface(&scene->shape, &section, sine[i], cosine[i], position, pq);
			double hair = line[i] - pq[1];
			if (hair > -0.05) puff(position, look->thickness * pfld_faces_step(-0.05, 0.30, hair));
			struct pfld_faces_vertex *vertex = start_vertex(grid, i, j, scene, scene->camera.rotation, position);
			vertex->value[PFLD_V_P] = (float)pq[0];
			vertex->value[PFLD_V_Q] = (float)pq[1];
			vertex->value[PFLD_V_EXTRA] = (float)hair;
			float tint[3];
			pfld_faces_tint(scene, pq[0], pq[1], tint);
			set_colour(vertex, tint, 1);
		}
	}
	set_light(scene, grid, true);
}

// ---- round things ----

struct ellipsoid {
	double middle[3], radius[3];
	double lean; // x gained per unit of z (an ear stands off the head)
	float colour[3];
	bool is_ear;
};

static void ellipsoid(const struct pfld_faces_scene *scene, struct pfld_faces_grid *grid, const double rotation[9],
					  const struct ellipsoid *shape, int32_t columns, int32_t rows)
{
	grid->columns = columns;
	grid->rows = rows;
	grid->both_sides = false;
	for (int32_t j = 0; j < rows; j++) {
		double rs, rc;
		pfld_faces_sincos(180.0 * j / (rows - 1) * PFLD_FACES_DEGREE, &rs, &rc);
		for (int32_t i = 0; i < columns; i++) {
			double s, c;
			pfld_faces_sincos((360.0 * i / (columns - 1) - 180) * PFLD_FACES_DEGREE, &s, &c);
			double unit[3] = {rs * s, -rc, rs * c}, position[3];
			for (int k = 0; k < 3; k++) position[k] = shape->middle[k] + shape->radius[k] * unit[k];
			position[0] += shape->lean * (position[2] - shape->middle[2]);
			struct pfld_faces_vertex *vertex = start_vertex(grid, i, j, scene, rotation, position);
			vertex->value[PFLD_V_P] = (float)(position[0] - shape->middle[0]);
			vertex->value[PFLD_V_Q] = (float)position[1];
			vertex->value[PFLD_V_EXTRA] = 0;
			float dark = 1;
			if (shape->is_ear) { // the hollow of the ear
				double u = unit[1] / 0.62, v = (unit[2] - 0.15) / 0.6;
				dark = 1 - 0.55f * (float)pfld_faces_bump(u * u + v * v);
			}
			set_colour(vertex, shape->colour, dark);
		}
	}
	set_light(scene, grid, true);
}

static void ears(const struct pfld_faces_scene *scene, struct pfld_faces_canvas *canvas, struct pfld_faces_grid *grid)
{
	struct pfld_faces_section section;
	pfld_faces_section(&scene->shape, pfld_faces_section_at(0.1), &section);
	for (int side = -1; side <= 1; side += 2) {
		struct ellipsoid ear = {.middle = {side * (section.row.half + 0.035), 0.17, -0.86},
								.radius = {0.055, 0.27, 0.16},
								.lean = -0.45 * side,
								.is_ear = true};
		for (int k = 0; k < 3; k++) ear.colour[k] = scene->look.skin[k] * (k == 0 ? 0.95f : 0.82f);
		ellipsoid(scene, grid, scene->camera.rotation, &ear, 17, 15);
		pfld_faces_raster(canvas, grid, pfld_faces_paint_plain, scene);
	}
}

static void neck_and_shoulders(const struct pfld_faces_scene *scene, struct pfld_faces_canvas *canvas,
							   struct pfld_faces_grid *grid)
{
	const struct pfld_faces_look *look = &scene->look;
	grid->columns = 25;
	grid->rows = 16;
	grid->both_sides = false;
	for (int32_t j = 0; j < grid->rows; j++) {
		double y = 0.55 + 1.75 * j / (grid->rows - 1);
		double wide = 0.50 + 0.03 * y + 0.35 * pfld_faces_step(1.75, 2.4, y), deep = 0.48;
		double dark = 0.55 + 0.45 * pfld_faces_step(1.15, 1.9, y); // the chin's shadow
		for (int32_t i = 0; i < grid->columns; i++) {
			double s, c;
			pfld_faces_sincos((360.0 * i / (grid->columns - 1) - 180) * PFLD_FACES_DEGREE, &s, &c);
			double position[3] = {wide * s, y, -0.92 - 0.1 * (y - 0.6) + deep * c};
			struct pfld_faces_vertex *vertex = start_vertex(grid, i, j, scene, scene->camera.neck, position);
			vertex->value[PFLD_V_P] = (float)position[0];
			vertex->value[PFLD_V_Q] = (float)y;
			vertex->value[PFLD_V_EXTRA] = (float)(y - 1.72 + 0.25 * s * s);
			set_colour(vertex, look->skin, (float)dark);
		}
	}
	set_light(scene, grid, true);
	pfld_faces_raster(canvas, grid, pfld_faces_paint_neck, scene);
	struct ellipsoid torso = {.middle = {0, 3.15, -1.15}, .radius = {1.95, 1.25, 0.85}};
	for (int k = 0; k < 3; k++) torso.colour[k] = look->cloth[k];
	ellipsoid(scene, grid, scene->camera.neck, &torso, 33, 21);
	pfld_faces_raster(canvas, grid, pfld_faces_paint_plain, scene);
}

// A curtain behind and beside the face, from the crown to where the hair ends.
static void long_hair(const struct pfld_faces_scene *scene, struct pfld_faces_canvas *canvas,
					  struct pfld_faces_grid *grid)
{
	const struct pfld_faces_look *look = &scene->look;
	grid->columns = 33;
	grid->rows = 30;
	grid->both_sides = true;
	for (int32_t j = 0; j < grid->rows; j++) {
		double y = -0.9 + (look->hair_length + 0.9) * j / (grid->rows - 1);
		struct pfld_faces_section section;
		pfld_faces_section(&scene->shape, pfld_faces_section_at(PFLD_MIN(y, 0.3)), &section);
		double half = section.row.half + look->thickness * (1 + 0.5 * pfld_faces_step(-0.6, 0.8, y));
		double depth = section.row.widest - section.row.back + look->thickness;
		double open = 74 + 14 * pfld_faces_step(-0.3, 0.6, y); // where the curtain ends, from the front
		for (int32_t i = 0; i < grid->columns; i++) {
			double s, c, degrees = open + (360 - 2 * open) * i / (grid->columns - 1);
			pfld_faces_sincos(degrees * PFLD_FACES_DEGREE, &s, &c);
			double wave = 0.05 * (pfld_faces_noise(scene->texture, (float)i * 0.7f, (float)(y * 2.5)) - 0.5);
			double position[3] = {(half + wave) * s, y, section.row.widest + (depth + wave) * c * (c > 0 ? 0.8 : 1)};
			struct pfld_faces_vertex *vertex = start_vertex(grid, i, j, scene, scene->camera.rotation, position);
			vertex->value[PFLD_V_P] = (float)(degrees * 0.02);
			vertex->value[PFLD_V_Q] = (float)y;
			vertex->value[PFLD_V_EXTRA] = 1;
			set_colour(vertex, look->hair, 1);
		}
	}
	set_light(scene, grid, false);
	pfld_faces_raster(canvas, grid, pfld_faces_paint_hair, scene);
}

// One bent sheet: lenses and rims in front, temples along the sides. p runs along it, q down.
static void glasses(const struct pfld_faces_scene *scene, struct pfld_faces_canvas *canvas,
					struct pfld_faces_grid *grid)
{
	struct pfld_faces_section section;
	pfld_faces_section(&scene->shape, pfld_faces_section_at(0), &section);
	double wide = section.row.half / section.mean.half;
	grid->columns = 49;
	grid->rows = 7;
	grid->both_sides = true;
	for (int32_t j = 0; j < grid->rows; j++) {
		for (int32_t i = 0; i < grid->columns; i++) {
			double p = -1.6 + 3.2 * i / (grid->columns - 1), a = p < 0 ? -p : p;
			double beyond = PFLD_MAX(0, a - 0.68);
			double x = (a - beyond + 0.17 * pfld_faces_step(-0.3, 0.7, beyond)) * wide * 1.02;
			double z = 0.34 - 0.52 * (a - beyond) * (a - beyond) - beyond;
			double position[3] = {p < 0 ? -x : x, -0.22 + 0.5 * j / (grid->rows - 1), z};
			struct pfld_faces_vertex *vertex = start_vertex(grid, i, j, scene, scene->camera.rotation, position);
			vertex->value[PFLD_V_P] = (float)p;
			vertex->value[PFLD_V_Q] = (float)position[1];
			vertex->value[PFLD_V_EXTRA] = 0;
			set_colour(vertex, scene->look.frame, 1);
		}
	}
	set_light(scene, grid, false);
	pfld_faces_raster(canvas, grid, pfld_faces_paint_glasses, scene);
}

void pfld_faces_mesh_draw(const struct pfld_faces_scene *scene, struct pfld_faces_canvas *canvas,
						  struct pfld_faces_grid *grid)
{
	head(scene, grid);
	pfld_faces_raster(canvas, grid, pfld_faces_paint_head, scene);
	if (scene->look.hair_style == PFLD_HAIR_LONG) long_hair(scene, canvas, grid);
	ears(scene, canvas, grid);
	neck_and_shoulders(scene, canvas, grid);
	if (scene->look.glasses != PFLD_GLASSES_NONE) glasses(scene, canvas, grid);
}
