// SPDX-License-Identifier: MIT
// Grids of vertices into the canvas of the built-in faces: triangles, a depth buffer, interpolated values. What a
// spot looks like is the shader's business.
#include "faces_internal.h"

struct corner {
	const struct pfld_faces_vertex *vertex;
	float a, b, c; // weight at (x, y): a x + b y + c
	float inverse; // 1 / a, 0 where a is 0
};

static int32_t up(float x) // x >= 0
{
	int32_t whole = (int32_t)x;
	return whole + (x > (float)whole);
}

static void shade_spot(struct pfld_faces_canvas *canvas, size_t at, const struct corner corners[3],
					   const float weight[3], float z, pfld_faces_shader *shader, const void *context)
{
	float value[PFLD_V_COUNT], rgba[4];
	for (int k = 0; k < PFLD_V_COUNT; k++) {
		value[k] = weight[0] * corners[0].vertex->value[k] + weight[1] * corners[1].vertex->value[k] +
				   weight[2] * corners[2].vertex->value[k];
	}
	shader(context, value, rgba);
	float opacity = rgba[3];
	if (opacity <= 0) return;
	float *colour = &canvas->colour[3 * at];
	if (opacity >= 1) {
		canvas->depth[at] = z;
		for (int k = 0; k < 3; k++) colour[k] = rgba[k];
	} else if (canvas->depth[at] != PFLD_FACES_FAR) { // nothing shines through onto the background: it comes later
		for (int k = 0; k < 3; k++) colour[k] += opacity * (rgba[k] - colour[k]);
	}
}

static void triangle(struct pfld_faces_canvas *canvas, const struct pfld_faces_vertex *v0,
					 const struct pfld_faces_vertex *v1, const struct pfld_faces_vertex *v2, bool both_sides,
					 pfld_faces_shader *shader, const void *context)
{
	float area = (v1->x - v0->x) * (v2->y - v0->y) - (v2->x - v0->x) * (v1->y - v0->y);
	if (area == 0 || (area < 0 && !both_sides)) return;
	float limit = (float)(canvas->side - 1);
	float left = PFLD_MAX(0, PFLD_MIN(v0->x, PFLD_MIN(v1->x, v2->x)));
	float right = PFLD_MIN(limit, PFLD_MAX(v0->x, PFLD_MAX(v1->x, v2->x)));
	float top = PFLD_MAX(0, PFLD_MIN(v0->y, PFLD_MIN(v1->y, v2->y)));
	float bottom = PFLD_MIN(limit, PFLD_MAX(v0->y, PFLD_MAX(v1->y, v2->y)));
	if (!(left <= right && top <= bottom)) return;
	struct corner corners[3] = {{.vertex = v0}, {.vertex = v1}, {.vertex = v2}};
	float scale = 1 / area;
	for (int k = 0; k < 3; k++) {
		const struct pfld_faces_vertex *from = corners[(k + 1) % 3].vertex, *to = corners[(k + 2) % 3].vertex;
		corners[k].a = (from->y - to->y) * scale;
		corners[k].b = (to->x - from->x) * scale;
		corners[k].c = (from->x * to->y - to->x * from->y) * scale;
		corners[k].inverse = corners[k].a != 0 ? 1 / corners[k].a : 0;
	}
	for (int32_t y = up(top); y <= (int32_t)bottom; y++) {
		// Where along this line all weights are positive; a hair's breadth more, so that neighbours leave no gap.
		float from = left, to = right;
		for (int k = 0; k < 3; k++) {
			float a = corners[k].a, rest = corners[k].b * (float)y + corners[k].c + 1e-3f;
			float edge = -rest * corners[k].inverse;
			if (a > 0)
				from = PFLD_MAX(from, edge);
			else if (a < 0)
				to = PFLD_MIN(to, edge);
			else if (rest < 0)
				to = -1;
		}
		if (from > to) continue;
		for (int32_t x = up(from); x <= (int32_t)to; x++) {
			float weight[3];
			for (int k = 0; k < 3; k++) weight[k] = corners[k].a * (float)x + corners[k].b * (float)y + corners[k].c;
			float z = weight[0] * v0->z + weight[1] * v1->z + weight[2] * v2->z;
			size_t at = (size_t)y * (size_t)canvas->side + (size_t)x;
			if (z > canvas->depth[at]) shade_spot(canvas, at, corners, weight, z, shader, context);
		}
	}
}

void pfld_faces_raster(struct pfld_faces_canvas *canvas, const struct pfld_faces_grid *grid, pfld_faces_shader *shader,
					   const void *context)
{
	for (int32_t j = 0; j + 1 < grid->rows; j++) {
		const struct pfld_faces_vertex *upper = &grid->vertices[j * grid->columns], *lower = upper + grid->columns;
		for (int32_t i = 0; i + 1 < grid->columns; i++) {
			triangle(canvas, &upper[i], &upper[i + 1], &lower[i], grid->both_sides, shader, context);
			triangle(canvas, &upper[i + 1], &lower[i + 1], &lower[i], grid->both_sides, shader, context);
		}
	}
}
