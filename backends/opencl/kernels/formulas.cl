// SPDX-License-Identifier: MIT
// Formulas that must give the same bits wherever they are applied, behind common.cl. Built once for single numbers
// (REAL is float, names end in _1) and once for vectors of V channels (REAL is vec, names end in _v). exp, tanh and the
// like are our own: a device's may differ between widths. A NaN comes out as NaN.

// After Cephes (Moshier), to about one unit in the last place.
static inline REAL NAME(exp)(REAL x)
{
	x = x > (REAL)(89.0f) ? (REAL)(89.0f) : x;
	x = x < (REAL)(-104.0f) ? (REAL)(-104.0f) : x;
	const REAL number = x == x ? x : (REAL)(0.0f); // none becomes an exponent
	const INT k = INT_RTE(number * 1.44269504088896341f), half_k = k / 2;
	const REAL kf = rint(number * 1.44269504088896341f);
	const REAL r = FMA(kf, (REAL)(2.12194440e-4f), FMA(kf, (REAL)(-0.693359375f), x));
	REAL p = FMA((REAL)(1.9875691500e-4f), r, (REAL)(1.3981999507e-3f));
	p = FMA(p, r, (REAL)(8.3334519073e-3f));
	p = FMA(p, r, (REAL)(4.1665795894e-2f));
	p = FMA(p, r, (REAL)(1.6666665459e-1f));
	p = FMA(p, r, (REAL)(5.0000001201e-1f));
	p = FMA(p, r * r, r) + (REAL)(1.0f);
	// In two steps, so that neither factor leaves the normal range.
	return p * AS_REAL((half_k + 127) << 23) * AS_REAL((k - half_k + 127) << 23);
}

// After Cephes, to about one unit in the last place. x is normal and above 0.
static inline REAL NAME(log)(REAL x)
{
	const REAL one = (REAL)(1.0f);
	const INT bits = AS_INT(x), low = AS_INT((REAL)(0.70710678118654752440f));
	// 2^k m, m from the root of a half to that of two.
	const INT k = (bits - low) >> 23;
	const REAL kf = TO_REAL(k), f = AS_REAL(bits - (k << 23)) - one, z = f * f;
	REAL p = FMA((REAL)(7.0376836292e-2f), f, (REAL)(-1.1514610310e-1f));
	p = FMA(p, f, (REAL)(1.1676998740e-1f));
	p = FMA(p, f, (REAL)(-1.2420140846e-1f));
	p = FMA(p, f, (REAL)(1.4249322787e-1f));
	p = FMA(p, f, (REAL)(-1.6668057665e-1f));
	p = FMA(p, f, (REAL)(2.0000714765e-1f));
	p = FMA(p, f, (REAL)(-2.4999993993e-1f));
	p = FMA(p, f, (REAL)(3.3333331174e-1f));
	REAL y = FMA(kf, (REAL)(-2.12194440e-4f), p * f * z);
	y = FMA((REAL)(-0.5f), z, y);
	const REAL value = FMA(kf, (REAL)(0.693359375f), f + y);
	return x < (REAL)(INFINITY) ? value : x; // of a NaN: NaN
}

// log(1 + x) for x >= 0: what the sum's rounding takes is put back.
static inline REAL NAME(log_of_one_plus)(REAL x)
{
	const REAL one = (REAL)(1.0f), sum = one + x, rest = x - (sum - one);
	return x < (REAL)(1e30f) ? NAME(log)(sum) + rest / sum : NAME(log)(x);
}

static inline REAL NAME(sigmoid)(REAL x)
{
	const REAL e = NAME(exp)(-fabs(x));
	return (x < (REAL)(0.0f) ? e : (REAL)(1.0f)) / ((REAL)(1.0f) + e);
}

static inline REAL NAME(tanh)(REAL x)
{
	const REAL z = x * x;
	REAL p = FMA((REAL)(-5.70498872745e-3f), z, (REAL)(2.06390887954e-2f));
	p = FMA(p, z, (REAL)(-5.37397155531e-2f));
	p = FMA(p, z, (REAL)(1.33314422036e-1f));
	p = FMA(p, z, (REAL)(-3.33332819422e-1f));
	const REAL near = FMA(p * z, x, x);
	const REAL far = (REAL)(1.0f) - (REAL)(2.0f) / (NAME(exp)((REAL)(2.0f) * fabs(x)) + (REAL)(1.0f));
	const REAL y = x < (REAL)(0.0f) ? -far : far;
	return fabs(x) < (REAL)(0.625f) ? near : y;
}

static inline REAL NAME(act)(int act, REAL z, REAL slope)
{
	const REAL zero = (REAL)(0.0f), six = (REAL)(6.0f);
	switch (act) {
	case ACT_RELU: return z < zero ? zero : z;
	case ACT_RELU6: return z < zero ? zero : (z > six ? six : z);
	case ACT_LEAKY:
	case ACT_PRELU: return z > zero ? z : slope * z;
	case ACT_SIGMOID: return NAME(sigmoid)(z);
	case ACT_TANH: return NAME(tanh)(z);
	}
	return z;
}

// dy act'(z), or with act' taken from the output y = act(z) that `z` then is.
static inline REAL NAME(gate)(int act, REAL dy, REAL z, REAL slope, int from_output)
{
	const REAL zero = (REAL)(0.0f), one = (REAL)(1.0f);
	REAL y = z;
	switch (act) {
	case ACT_RELU: return z > zero ? dy : zero;
	case ACT_RELU6: return z > zero ? (z < (REAL)(6.0f) ? dy : zero) : zero;
	case ACT_LEAKY:
	case ACT_PRELU: return z > zero ? dy : slope * dy;
	case ACT_SIGMOID:
		if (!from_output) y = NAME(sigmoid)(z);
		return dy * (y * (one - y));
	case ACT_TANH:
		if (!from_output) y = NAME(tanh)(z);
		return dy * FMA(-y, y, one);
	}
	return dy;
}

// The numbers of a channel that a pending source needs: load them once, outside the loop over pixels.
struct NAME(numbers) {
	REAL scale, shift, mean, mean_dz, slope_x;
};
static inline struct NAME(numbers) NAME(load_numbers)(const struct source *source, int channel, int count)
{
	struct NAME(numbers) numbers = {(REAL)(1.0f), (REAL)(0.0f), (REAL)(0.0f), (REAL)(0.0f), (REAL)(0.0f)};
	if (source->kind != IN_MEMORY && source->scaled) {
		numbers.scale = LOAD(source->scale + channel, count);
		numbers.shift = LOAD(source->shift + channel, count);
	}
	if (source->kind == PENDING_GRADIENT) {
		numbers.mean = LOAD(source->mean + channel, count);
		numbers.mean_dz = LOAD(source->mean_dz + channel, count);
		numbers.slope_x = LOAD(source->slope_x + channel, count);
	}
	return numbers;
}

// A value of a source that has been read: act(fma(scale, x, shift)).
static inline REAL NAME(pending_value)(const struct source *source, const struct NAME(numbers) *numbers, REAL x)
{
	const REAL z = source->scaled ? FMA(numbers->scale, x, numbers->shift) : x;
	return NAME(act)(source->act, z, (REAL)(source->slope));
}

// scale ((dz - mean_dz) - (x - mean) slope_x)
static inline REAL NAME(pending_gradient)(const struct source *source, const struct NAME(numbers) *numbers, REAL dy, REAL x)
{
	const REAL z = FMA(numbers->scale, x, numbers->shift);
	const REAL dz = NAME(gate)(source->act, dy, z, (REAL)(source->slope), 0);
	return numbers->scale * FMA(-(x - numbers->mean), numbers->slope_x, dz - numbers->mean_dz);
}

// `count` channels of a pixel from `channel` on, pending or not.
static inline REAL NAME(load_source)(const struct source *source, const struct NAME(numbers) *numbers, ulong pixel, int channel,
                                     int count)
{
	const REAL at = LOAD(source->at + pixel * source->stride + channel, count);
	if (source->kind == IN_MEMORY) return at;
	if (source->kind == PENDING_VALUE) return NAME(pending_value)(source, numbers, at);
	return NAME(pending_gradient)(source, numbers, at, LOAD(source->x + pixel * source->x_stride + channel, count));
}
