// SPDX-License-Identifier: MIT
// Exponential, logarithm, sine, cosine, tanh and the like of our own: the C library picks its code by processor, so its
// last bits differ between machines. In double precision, after fdlibm (Sun Microsystems, 1993) and Cephes (Moshier),
// to about one unit in the last place; callers that hold floats round the result. Nothing here is vectorised: these are
// for losses, heads and schedules, not for the bulk of a net.
#ifndef PFLD_CPU_MATH_H
#define PFLD_CPU_MATH_H

#include "base/base.h"

#include <math.h>
#include <string.h>

static inline pfld_real pfld_cpu_fma(pfld_real a, pfld_real b, pfld_real c)
{
#ifdef PFLD_DOUBLE
	return fma(a, b, c);
#else
	return fmaf(a, b, c);
#endif
}

static inline pfld_real pfld_cpu_sqrt(pfld_real x)
{
#ifdef PFLD_DOUBLE
	return sqrt(x);
#else
	return sqrtf(x);
#endif
}

// 2^k for normal results.
static inline double pfld_cpu_power_of_two(int k)
{
	uint64_t bits = (uint64_t)(k + 1023) << 52;
	double value;
	memcpy(&value, &bits, sizeof value);
	return value;
}

static inline double pfld_cpu_exp(double x)
{
	if (x != x) return x;
	if (x > 709.782712893383973096) return INFINITY;
	if (x < -745.13321910194110842) return 0;
	double k = floor(x * 1.44269504088896338700e+00 + 0.5);
	double high = x - k * 6.93147180369123816490e-01, low = k * 1.90821492927058770002e-10;
	double r = high - low, t = r * r;
	double c = r - t * (1.66666666666666019037e-01 +
						t * (-2.77777777770155933842e-03 +
							 t * (6.61375632143793436117e-05 +
								  t * (-1.65339022054652515390e-06 + t * 4.13813679705723846039e-08))));
	double y = 1 - ((low - (r * c) / (2 - c)) - high);
	// In two steps, so that neither factor leaves the normal range.
	int half = (int)k / 2;
	return y * pfld_cpu_power_of_two(half) * pfld_cpu_power_of_two((int)k - half);
}

static inline double pfld_cpu_log(double x)
{
	if (x != x || x < 0) return NAN;
	if (x == 0) return -INFINITY;
	if (x > 1.7976931348623157e308) return x;
	int exponent;
	double m = frexp(x, &exponent); // in 0.5 .. 1, exact
	if (m < 0.70710678118654752440) {
		m *= 2;
		exponent--;
	}
	double f = m - 1, s = f / (2 + f), z = s * s, w = z * z, k = exponent;
	double even = w * (3.999999999940941908e-01 + w * (2.222219843214978396e-01 + w * 1.531383769920937332e-01));
	double odd = z * (6.666666666666735130e-01 +
					  w * (2.857142874366239149e-01 + w * (1.818357216161805012e-01 + w * 1.479819860511658591e-01)));
	double square = 0.5 * f * f;
	return s * (square + (even + odd)) + k * 1.90821492927058770002e-10 - square + f + k * 6.93147180369123816490e-01;
}

// sin and cos of x at once. Angles of more than some 10^5 turns lose accuracy, but stay in -1 .. 1.
static inline void pfld_cpu_sincos(double x, double *sine, double *cosine)
{
	if (!(fabs(x) < 1e5)) x = fmod(x, 6.283185307179586476925); // inf and NaN become NaN
	double turns = floor(x * 6.36619772367581382433e-01 + 0.5); // quarter turns
	double r = (x - turns * 1.57079632673412561417e+00) - turns * 6.07710050650619224932e-11, z = r * r;
	double s = r + z * r *
					   (-1.66666666666666324348e-01 +
						z * (8.33333333332248946124e-03 +
							 z * (-1.98412698298579493134e-04 +
								  z * (2.75573137070700676789e-06 +
									   z * (-2.50507602534068634195e-08 + z * 1.58969099521155010221e-10)))));
	double p = z * (4.16666666666666019037e-02 +
					z * (-1.38888888888741095749e-03 +
						 z * (2.48015872894767294178e-05 +
							  z * (-2.75573143513906633035e-07 +
								   z * (2.08757232129817482790e-09 + z * -1.13596475577881948265e-11)))));
	double w = 1 - 0.5 * z, c = w + (((1 - w) - 0.5 * z) + z * p);
	int quarter = turns == turns ? (int)(turns - 4 * floor(turns / 4)) : 0;
	*sine = quarter == 0 ? s : quarter == 1 ? c : quarter == 2 ? -s : -c;
	*cosine = quarter == 0 ? c : quarter == 1 ? -s : quarter == 2 ? -c : s;
}

static inline double pfld_cpu_sigmoid(double x)
{
	double e = pfld_cpu_exp(-fabs(x));
	return x >= 0 ? 1 / (1 + e) : e / (1 + e);
}

static inline double pfld_cpu_tanh(double x)
{
	if (fabs(x) >= 0.625) {
		double y = 1 - 2 / (pfld_cpu_exp(2 * fabs(x)) + 1);
		return x < 0 ? -y : y;
	}
	double z = x * x;
	double p = (-9.64399179425052238628e-1 * z - 9.92877231001918586564e1) * z - 1.61468768441708447952e3;
	double q = ((z + 1.12811678491632931402e2) * z + 2.23548839060100448583e3) * z + 4.84406305325125486048e3;
	return x + x * z * p / q;
}

// base^exponent by repeated squaring.
static inline double pfld_cpu_power(double base, uint64_t exponent)
{
	double result = 1;
	for (; exponent; exponent >>= 1, base *= base) {
		if (exponent & 1) result *= base;
	}
	return result;
}

#endif
