// SPDX-License-Identifier: MIT
// A built-in face becomes a picture: meshes on a larger canvas, things in front of the face, down to the
// picture's size over a background, blur, grain, bytes.
#include "faces_internal.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

// ---- things in front of the face ----

struct capsule {
	double x0, y0, x1, y1, radius; // in the canvas
	float colour[3];
	bool flat; // a board instead of something round
};

static void capsule(const struct pfld_faces_scene *scene, struct pfld_faces_canvas *canvas, const struct capsule *shape)
{
	double dx = shape->x1 - shape->x0, dy = shape->y1 - shape->y0, length = dx * dx + dy * dy + 1e-9;
	int32_t last = canvas->side - 1;
	int32_t left = (int32_t)pfld_faces_clamp(PFLD_MIN(shape->x0, shape->x1) - shape->radius, 0, last);
	int32_t right = (int32_t)pfld_faces_clamp(PFLD_MAX(shape->x0, shape->x1) + shape->radius + 1, 0, last);
	int32_t top = (int32_t)pfld_faces_clamp(PFLD_MIN(shape->y0, shape->y1) - shape->radius, 0, last);
	int32_t bottom = (int32_t)pfld_faces_clamp(PFLD_MAX(shape->y0, shape->y1) + shape->radius + 1, 0, last);
	for (int32_t y = top; y <= bottom; y++) {
		for (int32_t x = left; x <= right; x++) {
			double along = ((x - shape->x0) * dx + (y - shape->y0) * dy) / length;
			if (shape->flat && (along < 0 || along > 1)) continue;
			double t = pfld_faces_clamp(along, 0, 1);
			double ux = (x - shape->x0 - t * dx) / shape->radius, uy = (y - shape->y0 - t * dy) / shape->radius;
			double r2 = ux * ux + uy * uy;
			if (r2 > 1) continue;
			float normal[3] = {(float)ux, (float)uy, (float)sqrt(1 - r2)};
			if (shape->flat) normal[0] = normal[1] = 0, normal[2] = 1;
			float grain = 0.75f + 0.5f * pfld_faces_noise(scene->texture + 41, (float)x * 0.15f, (float)y * 0.15f);
			float colour[3] = {shape->colour[0] * grain, shape->colour[1] * grain, shape->colour[2] * grain};
			size_t at = (size_t)y * (size_t)canvas->side + (size_t)x;
			float light[4];
			pfld_faces_light_spot(&scene->light, normal, light);
			pfld_faces_shade(&scene->light, light, colour, 0.1f, &canvas->colour[3 * at]);
			canvas->depth[at] = 1e9f;
		}
	}
}

static void occlude(const struct pfld_faces_scene *scene, struct pfld_faces_canvas *canvas)
{
	const float *box = scene->sample.box;
	double wide = 1.5 * (box[2] - box[0]), high = 1.5 * (box[3] - box[1]),
		   size = scene->occluder_size * (wide + high) / 2;
	double middle = 0.75 * (box[1] + box[3]);
	double x = 0.75 * (box[0] + box[2]) + scene->occluder_x * wide, y = middle + scene->occluder_y * high;
	double s, c;
	pfld_faces_sincos(scene->occluder_angle, &s, &c);
	struct capsule shape = {.radius = size};
	memcpy(shape.colour, scene->occluder_colour, sizeof shape.colour);
	switch (scene->occluder) {
	case PFLD_OCCLUDER_HAND: { // a palm and four fingers, from below
		y = middle + 0.42 * high;
		double lean = 0.5 * s;
		shape = (struct capsule){x, y + 0.7 * size, x - lean * 4 * size, y + 5 * size, size * 0.8, {0}, false};
		for (int k = 0; k < 3; k++) shape.colour[k] = scene->look.skin[k] * (k ? 0.85f : 0.95f);
		capsule(scene, canvas, &shape);
		for (int k = 0; k < 4; k++) {
			static const double reach[4] = {1.0, 1.3, 1.4, 1.15};
			double root = (k - 1.5) * 0.42 * size;
			shape.x0 = x + root;
			shape.y0 = y + 0.4 * size;
			shape.x1 = x + root * 1.15 + lean * reach[k] * size;
			shape.y1 = y - reach[k] * size;
			shape.radius = size * 0.22;
			capsule(scene, canvas, &shape);
		}
		break;
	}
	case PFLD_OCCLUDER_BAR: // a pole through the picture
		shape.x0 = x - 3 * wide * s, shape.y0 = y - 3 * wide * c;
		shape.x1 = x + 3 * wide * s, shape.y1 = y + 3 * wide * c;
		shape.radius = 0.35 * size;
		capsule(scene, canvas, &shape);
		break;
	case PFLD_OCCLUDER_HEAD: // somebody in front, seen from behind
		for (int k = 0; k < 3; k++) shape.colour[k] = 0.02f + 0.2f * scene->occluder_colour[k];
		shape.radius = 0.42 * wide;
		shape.x0 = shape.x1 = x;
		shape.y0 = middle + 0.62 * high;
		shape.y1 = shape.y0 + high;
		capsule(scene, canvas, &shape);
		break;
	case PFLD_OCCLUDER_BOX: // a book, a phone
		shape.flat = true;
		shape.radius = 0.8 * size;
		shape.x0 = x - size * s, shape.y0 = y - size * c;
		shape.x1 = x + size * s, shape.y1 = y + size * c;
		capsule(scene, canvas, &shape);
		break;
	default: break; // the mask is painted on the face
	}
}

// ---- the background ----

static void background_spot(const struct pfld_faces_scene *scene, float x, float y, float out[3])
{
	const struct pfld_faces_background *ground = &scene->background;
	for (int k = 0; k < 3; k++) out[k] = ground->top[k] + y * (ground->bottom[k] - ground->top[k]);
	for (int32_t i = 0; i < ground->num_shapes; i++) {
		const float *along = ground->shapes[i].along, *across = ground->shapes[i].across;
		float u = along[0] * x + along[1] * y + along[2], soft = ground->shapes[i].soft;
		if (u > 2 || u < -2) continue;
		float v = across[0] * x + across[1] * y + across[2], d;
		if (ground->shapes[i].kind == 0)
			d = 0.5f + 0.5f * (u * u + v * v);
		else if (ground->shapes[i].kind == 1)
			d = PFLD_MAX(u < 0 ? -u : u, v < 0 ? -v : v);
		else
			d = u * 3 + 6.5f - (float)(int32_t)(u * 3 + 6);
		if (d > 1 + soft) continue;
		float share = d < 1 - soft ? 1 : 0.5f * (1 + soft - d) / soft;
		for (int k = 0; k < 3; k++) out[k] += share * (ground->shapes[i].colour[k] - out[k]);
	}
	float size = ground->noise_size;
	float noise = 0.6f * pfld_faces_noise(scene->texture + 43, x * size, y * size) +
				  0.4f * pfld_faces_noise(scene->texture + 47, x * size * 2.3f, y * size * 2.3f);
	// The light of the face falls on it, more or less.
	float factor = (1 + ground->noise * (noise - 0.5f) * 2) * (0.5f + 0.5f * scene->light.exposure);
	for (int k = 0; k < 3; k++) out[k] *= factor;
}

// Canvas and background down to the picture: (side, side, 3). An even pixel is one spot and half of the next, an odd
// one the other half and a spot.
static void compose(const struct pfld_faces_scene *scene, const struct pfld_faces_canvas *canvas, float *picture)
{
	static const float shares[2][2] = {{2 / 3.0f, 1 / 3.0f}, {1 / 3.0f, 2 / 3.0f}};
	int32_t side = scene->sample.side;
	float step = 1 / (float)side;
	for (int32_t y = 0; y < side; y++) {
		const float *share_y = shares[y % 2];
		for (int32_t x = 0; x < side; x++) {
			float *out = &picture[3 * ((size_t)y * (size_t)side + (size_t)x)], covered = 0;
			size_t at = (size_t)(3 * y / 2) * (size_t)canvas->side + (size_t)(3 * x / 2);
			float sum[3] = {0, 0, 0};
			for (int k = 0; k < 4; k++) {
				size_t spot = at + (size_t)(k % 2) + (k / 2 ? (size_t)canvas->side : 0);
				if (canvas->depth[spot] == PFLD_FACES_FAR) continue;
				float share = shares[x % 2][k % 2] * share_y[k / 2];
				covered += share;
				for (int c = 0; c < 3; c++) sum[c] += share * canvas->colour[3 * spot + (size_t)c];
			}
			float behind[3] = {0, 0, 0};
			if (covered < 0.999f) background_spot(scene, (float)x * step, (float)y * step, behind);
			for (int c = 0; c < 3; c++) out[c] = sum[c] + (1 - covered) * behind[c];
		}
	}
}

// ---- the lens and the film ----

#define MAX_TAPS 8

// The picture's edge goes on beyond it.
static void blur_along(const float *picture, float *out, int32_t side, const float *taps, int32_t num_taps, float *line)
{
	size_t row = 3 * (size_t)side, pad = 3 * MAX_TAPS;
	for (int32_t y = 0; y < side; y++) {
		const float *from = picture + (size_t)y * row;
		float *to = out + (size_t)y * row;
		for (size_t i = 0; i < pad; i++) {
			line[i] = from[i % 3];
			line[pad + row + i] = from[row - 3 + i % 3];
		}
		memcpy(line + pad, from, row * sizeof(float));
		for (size_t i = 0; i < row; i++) to[i] = taps[0] * line[pad + i];
		for (size_t d = 1; d < (size_t)num_taps; d++) {
			const float *l = line + pad - 3 * d, *r = line + pad + 3 * d;
			for (size_t i = 0; i < row; i++) to[i] += taps[d] * (l[i] + r[i]);
		}
	}
}

static void blur_down(const float *picture, float *out, int32_t side, const float *taps, int32_t num_taps)
{
	size_t row = 3 * (size_t)side;
	for (int32_t y = 0; y < side; y++) {
		const float *from = picture + (size_t)y * row;
		float *to = out + (size_t)y * row;
		for (size_t i = 0; i < row; i++) to[i] = taps[0] * from[i];
		for (int32_t d = 1; d < num_taps; d++) {
			const float *above = picture + (size_t)PFLD_MAX(y - d, 0) * row;
			const float *below = picture + (size_t)PFLD_MIN(y + d, side - 1) * row;
			for (size_t i = 0; i < row; i++) to[i] += taps[d] * (above[i] + below[i]);
		}
	}
}

// `scratch` has room for another picture and a padded line.
static void blur(float *picture, int32_t side, double deviation, float *scratch)
{
	if (deviation < 0.3) return;
	// (1 - d^2/r^2)^2 with r = sqrt(7) deviations has that deviation, and ends.
	float taps[MAX_TAPS] = {1}, sum = 1;
	int32_t num_taps = 1;
	double r2 = 7 * deviation * deviation;
	while (num_taps < MAX_TAPS && num_taps * num_taps < r2) {
		taps[num_taps] = (float)pfld_faces_bump(num_taps * num_taps / r2);
		sum += 2 * taps[num_taps++];
	}
	for (int32_t k = 0; k < num_taps; k++) taps[k] /= sum;
	float *line = scratch + 3 * (size_t)side * (size_t)side;
	blur_along(picture, scratch, side, taps, num_taps, line);
	blur_down(scratch, picture, side, taps, num_taps);
}

// Light to bytes (gamma 2) with a little grain.
static void develop(const struct pfld_faces_scene *scene, const float *picture, uint8_t *pixels)
{
	size_t num = 3 * (size_t)scene->sample.side * (size_t)scene->sample.side;
	float grain = scene->light.grain * 0.017f;
	uint32_t key[2] = {scene->texture, 97}, counter[4] = {0}, block[4] = {0};
	for (size_t i = 0; i < num; i++) {
		if (i % 16 == 0) {
			counter[0] = (uint32_t)(i / 16);
			pfld_philox(block, counter, key);
		}
		float noise = (float)(int32_t)((block[i / 4 % 4] >> (8 * (i % 4))) & 255) - 127.5f; // a byte for each
		float light = picture[i] > 0 ? picture[i] < 1 ? picture[i] : 1 : 0;
		float byte = 255 * sqrtf(light) + grain * noise + 0.5f;
		pixels[i] = (uint8_t)(int32_t)(byte < 0 ? 0 : byte > 255 ? 255 : byte);
	}
}

enum pfld_status pfld_faces_render(uint64_t seed, enum pfld_faces_split split, uint64_t index, struct pfld_image *image,
								   struct pfld_error *error)
{
	struct pfld_faces_scene scene;
	pfld_faces_scene_draw(seed, split, index, &scene);
	int32_t side = scene.sample.side;
	size_t spots = 9 * (size_t)side * (size_t)side / 4, dots = 3 * (size_t)side * (size_t)side;
	enum pfld_status status = pfld_image_resize_buffer(image, side, side, error);
	if (status) return status;
	size_t bytes = sizeof(struct pfld_faces_grid) + (4 * spots + dots) * sizeof(float);
	struct pfld_faces_grid *grid = malloc(bytes);
	if (!grid) return pfld_fail_memory(error, bytes, "the canvas of a built-in face");
	struct pfld_faces_canvas canvas = {.side = 3 * side / 2, .colour = (float *)(grid + 1)};
	canvas.depth = canvas.colour + 3 * spots;
	float *picture = canvas.depth + spots;
	for (size_t k = 0; k < spots; k++) canvas.depth[k] = PFLD_FACES_FAR;
	pfld_faces_mesh_draw(&scene, &canvas, grid);
	occlude(&scene, &canvas);
	compose(&scene, &canvas, picture);
	blur(picture, side, scene.blur, canvas.colour); // done with: room for more than a picture
	develop(&scene, picture, image->pixels);
	free(grid);
	return PFLD_OK;
}
