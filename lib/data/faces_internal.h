// SPDX-License-Identifier: MIT
// What the files of the built-in faces share; nobody else includes it.
//   faces_math.c    sine, noise, the random draws
//   faces_scene.c   the random draw of everything, and pfld_faces_describe()
//   faces_model.c   the head as a surface; faces_points.c: where its landmarks are
//   faces_mesh.c    head, ears, hair, neck, shoulders and glasses as grids of vertices; faces_raster.c: into the canvas
//   faces_paint.c   the colour of a spot of skin: eyes, brows, lips, hair, beard, mask
//   faces_draw.c    background, occluders, blur, grain, and pfld_faces_render()
//
// Head space: the unit is the distance of the outer eye corners of the mean face; x grows to the picture's right,
// y downwards, z towards the viewer; (0, 0, 0) lies between the eyes. A spot of the head has material coordinates
// (p, q): x and y of the spot on the mean head. Features are curves in (p, q), so what is painted and where the
// landmarks are cannot come apart. `side` 0 is the picture's left, 1 its right.
#ifndef PFLD_DATA_FACES_INTERNAL_H
#define PFLD_DATA_FACES_INTERNAL_H

#include "base/base.h"
#include "base/random.h"
#include "faces.h"

// ---- faces_math.c ----
#define PFLD_FACES_DEGREE 0.017453292519943295
void pfld_faces_sincos(double angle, double *sine, double *cosine); // radians, |angle| <= 2 pi
double pfld_faces_clamp(double x, double low, double high);
double pfld_faces_step(double low, double high, double x); // 0 below low, 1 above high, smooth between
double pfld_faces_bump(double squared_distance);           // 1 at 0, 0 from 1 on, smooth
float pfld_faces_noise(uint32_t seed, float x, float y);   // smooth, 0..1, one feature per unit
double pfld_faces_spread(struct pfld_random *random);      // mean 0, deviation 1, within +-3
bool pfld_faces_chance(struct pfld_random *random, double probability);

// ---- the scene ----
struct pfld_faces_eye {
	double x, y, half;       // middle (x counted outwards) and half the length
	double tilt, up, down;   // outer corner's drop, rise of the upper lid, drop of the lower lid
	double pupil_x, pupil_y; // signed p, and q
};
struct pfld_faces_brow {
	double inner, outer, y, arch, tilt, thickness; // inner and outer end counted outwards
};
struct pfld_faces_mouth {
	double x, y, half, curve, skew; // curve: rise of the corners; skew: drop of the right corner
	double lip_up, lip_low, gap_up, gap_low;
	double jaw; // how far the jaw has dropped
};
struct pfld_faces_nose {
	double root, tip, base; // q of the root, the tip and the base
	double width, height, bridge;
};

#define PFLD_FACES_ROWS 15
struct pfld_faces_row {
	double y, front, widest, back, half; // height; z of the front, the widest place and the back; half the width
};
// The head's surface, after identity and expression.
struct pfld_faces_shape {
	struct pfld_faces_row rows[PFLD_FACES_ROWS];
	struct pfld_faces_eye eyes[2];
	struct pfld_faces_brow brows[2];
	struct pfld_faces_mouth mouth;
	struct pfld_faces_nose nose;
	double cheekbone, cheek_raise, chin, brow_ridge, lips; // heights of bumps
	double smile, frown;                                   // 0..1, for folds
};

enum pfld_faces_hair { PFLD_HAIR_NONE, PFLD_HAIR_SHORT, PFLD_HAIR_LONG, PFLD_HAIR_STYLES };
enum pfld_faces_glasses { PFLD_GLASSES_NONE, PFLD_GLASSES_CLEAR, PFLD_GLASSES_DARK };
enum pfld_faces_occluder {
	PFLD_OCCLUDER_NONE,
	PFLD_OCCLUDER_HAND,
	PFLD_OCCLUDER_BAR,
	PFLD_OCCLUDER_HEAD,
	PFLD_OCCLUDER_MASK,
	PFLD_OCCLUDER_BOX,
	PFLD_OCCLUDER_KINDS
};
struct pfld_faces_look {
	float skin[3], lip[3], hair[3], brow[3], iris[3]; // linear light
	float brow_strength, lash, age, stubble, beard, moustache, freckles;
	float lip_gloss, eye_shadow, shadow_colour[3], liner, blush;
	enum pfld_faces_hair hair_style;
	double hairline, side_line, thickness, fringe, parting, hair_length; // fringe: how far hair hangs into the brow
	enum pfld_faces_glasses glasses;
	float frame[3], lens[3], rim;
	float cloth[3], cloth2[3], mask[3];
	bool collar;
};
struct pfld_faces_light {
	float key[3], fill[3], half[3]; // directions towards the lights, and between the key and the camera; of length 1
	float key_colour[3], fill_colour[3], sky[3], ground[3];
	float exposure, grain, shine;
};
struct pfld_faces_camera {
	double rotation[9]; // head to picture
	double neck[9];     // the same for the neck and what hangs on it
	double scale, x, y; // pixels per unit, where the pivot falls
	double distance;    // of the camera from the pivot, in units
};
struct pfld_faces_background {
	float top[3], bottom[3];
	int32_t num_shapes;
	struct {
		float along[3], across[3]; // u and v of the spot (x, y): a x + b y + c; the picture's side is 1
		float soft;                // width of the edge; the edge is where the distance is 1
		int32_t kind;              // disc, box, stripes
		float colour[3];
	} shapes[8];
	float noise, noise_size;
};
struct pfld_faces_scene {
	struct pfld_faces_shape shape;
	struct pfld_faces_look look;
	struct pfld_faces_light light;
	struct pfld_faces_camera camera;
	struct pfld_faces_background background;
	enum pfld_faces_occluder occluder;
	double occluder_x, occluder_y, occluder_angle, occluder_size; // of the picture's side; radians
	float occluder_colour[3];
	double blur;      // deviation in pixels
	uint32_t texture; // seed of all noise
	struct pfld_faces_sample sample;
};
void pfld_faces_scene_draw(uint64_t seed, enum pfld_faces_split split, uint64_t index, struct pfld_faces_scene *scene);

// ---- faces_model.c ----
void pfld_faces_shape_start(struct pfld_faces_shape *shape); // the mean face, at rest
// Section of the head at the control coordinate t in [0, PFLD_FACES_ROWS - 1]: of this head and of the mean one.
struct pfld_faces_section {
	struct pfld_faces_row row, mean;
};
void pfld_faces_section(const struct pfld_faces_shape *shape, double t, struct pfld_faces_section *section);
double pfld_faces_section_at(double q); // t of the section at height q of the mean head
// The spot at an angle from the front (0) over the right (+) to the back (+-pi). Where (p, q) ends up is `position`.
void pfld_faces_surface(const struct pfld_faces_shape *shape, const struct pfld_faces_section *section, double sine,
						double cosine, double position[3], double pq[2]);
// The spot (p, q) of the front.
void pfld_faces_spot(const struct pfld_faces_shape *shape, double p, double q, double position[3]);
// Curves of features as q over s: -1 inner (left for the mouth) to 1 outer (right) end; a brow runs from 0 to 1.
double pfld_faces_lid(const struct pfld_faces_eye *eye, double s, bool upper);
double pfld_faces_brow_line(const struct pfld_faces_brow *brow, double s, double *half_thickness);
enum pfld_faces_lip { PFLD_LIP_OUTER_UP, PFLD_LIP_INNER_UP, PFLD_LIP_INNER_LOW, PFLD_LIP_OUTER_LOW };
double pfld_faces_lip(const struct pfld_faces_mouth *mouth, double s, enum pfld_faces_lip which);
double pfld_faces_jaw(const struct pfld_faces_mouth *mouth, double p, double q); // how far the jaw moves the spot down

// ---- faces_points.c ----
void pfld_faces_project(const struct pfld_faces_camera *camera, const double rotation[9], const double position[3],
						double out[3]); // x, y in pixels, depth
void pfld_faces_points(const struct pfld_faces_shape *shape, const struct pfld_faces_camera *camera,
					   double points[PFLD_FACES_POINTS][2]);

// ---- faces_raster.c ----
// One and a half times the picture's side each way. A spot is covered or not; edges get smooth on the way down.
struct pfld_faces_canvas {
	int32_t side;
	float *colour; // (side, side, 3)
	float *depth;  // (side, side): larger is nearer, PFLD_FACES_FAR where nothing is
};
#define PFLD_FACES_FAR (-1e30f)
// p and q; the light that falls here r g b, and how much of the key light is mirrored; the colour of the surface r g b;
// one number that the shader knows. The grids are fine enough to light vertices rather than spots.
enum {
	PFLD_V_P,
	PFLD_V_Q,
	PFLD_V_LIGHT,
	PFLD_V_GLEAM = PFLD_V_LIGHT + 3,
	PFLD_V_COLOUR,
	PFLD_V_EXTRA = PFLD_V_COLOUR + 3,
	PFLD_V_COUNT
};
struct pfld_faces_vertex {
	float x, y, z; // in the canvas
	float value[PFLD_V_COUNT];
};
// A shader turns interpolated values into colour and opacity (0: not there).
typedef void pfld_faces_shader(const void *context, const float value[PFLD_V_COUNT], float rgba[4]);
// Room for one grid at a time. Columns go to the right and rows down, seen from outside.
#define PFLD_FACES_MAX_VERTICES 4480
struct pfld_faces_grid {
	struct pfld_faces_vertex vertices[PFLD_FACES_MAX_VERTICES];
	float places[PFLD_FACES_MAX_VERTICES][3]; // turned to the picture's axes, in units
	int32_t columns, rows;
	bool both_sides; // can be seen from inside, too
};
void pfld_faces_raster(struct pfld_faces_canvas *canvas, const struct pfld_faces_grid *grid, pfld_faces_shader *shader,
					   const void *context);

// ---- faces_paint.c ----
// Shaders take the scene as context.
// Light on a surface with this normal (length 1): what falls on it, r g b, and how much of the key light is mirrored.
void pfld_faces_light_spot(const struct pfld_faces_light *light, const float normal[3], float out[4]);
// The light that a surface sends back: `light` as above.
void pfld_faces_shade(const struct pfld_faces_light *scene_light, const float light[4], const float colour[3],
					  float shine, float out[3]);
void pfld_faces_tint(const struct pfld_faces_scene *scene, double p, double q, float rgb[3]); // soft colours of skin
pfld_faces_shader pfld_faces_paint_head, pfld_faces_paint_plain, pfld_faces_paint_neck, pfld_faces_paint_hair,
	pfld_faces_paint_glasses;

// ---- faces_mesh.c ----
void pfld_faces_mesh_draw(const struct pfld_faces_scene *scene, struct pfld_faces_canvas *canvas,
						  struct pfld_faces_grid *grid);

#endif
