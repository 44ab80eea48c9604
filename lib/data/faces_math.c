// SPDX-License-Identifier: MIT
// Sine, smooth steps, noise and draws for the built-in faces: only + - * /, so every machine gets the same bits.
#include "faces_internal.h"

void pfld_faces_sincos(double angle, double *sine, double *cosine)
{
	// Taylor series of a quarter of the angle (error below 1e-13), then doubled twice.
	double x = angle / 4, x2 = x * x;
	double s = 1, c = 1;
	for (int k = 7; k >= 1; k--) {
		s = 1 - s * x2 / ((2 * k) * (2 * k + 1));
		c = 1 - c * x2 / ((2 * k - 1) * (2 * k));
	}
	s *= x;
	for (int k = 0; k < 2; k++) {
		double twice = 2 * s * c;
		c = c * c - s * s;
		s = twice;
	}
	*sine = s;
	*cosine = c;
}

double pfld_faces_clamp(double x, double low, double high)
{
	return x < low ? low : x > high ? high : x;
}

double pfld_faces_step(double low, double high, double x)
{
	double t = pfld_faces_clamp((x - low) / (high - low), 0, 1);
	return t * t * (3 - 2 * t);
}

double pfld_faces_bump(double squared_distance)
{
	if (squared_distance >= 1) return 0;
	double t = 1 - squared_distance;
	return t * t;
}

static float lattice(uint32_t seed, int32_t x, int32_t y)
{
	uint32_t h = (seed ^ ((uint32_t)x * 0x8da6b343u) ^ ((uint32_t)y * 0xd8163841u)) * 0x2c1b3c6du;
	h = (h ^ (h >> 15)) * 0x297a2d39u;
	return (float)(int32_t)(h >> 8) * (1.0f / 16777216.0f);
}

float pfld_faces_noise(uint32_t seed, float x, float y)
{
	int32_t i = (int32_t)x - (x < 0), j = (int32_t)y - (y < 0);
	float u = x - (float)i, v = y - (float)j;
	u = u * u * (3 - 2 * u);
	v = v * v * (3 - 2 * v);
	float top = lattice(seed, i, j) * (1 - u) + lattice(seed, i + 1, j) * u;
	float bottom = lattice(seed, i, j + 1) * (1 - u) + lattice(seed, i + 1, j + 1) * u;
	return top * (1 - v) + bottom * v;
}

double pfld_faces_spread(struct pfld_random *random)
{
	double a = pfld_random_unit(random), b = pfld_random_unit(random), c = pfld_random_unit(random);
	return 2 * (a + b + c) - 3;
}

bool pfld_faces_chance(struct pfld_random *random, double probability)
{
	return pfld_random_unit(random) < probability;
}
