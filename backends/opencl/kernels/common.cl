// SPDX-License-Identifier: MIT
// In front of every family: how kernels get their operands, and vectors of channels. The host's side is cl.h, launch.c.
// V, the channels that an item takes at once, and HAS_FMA come from the build. Only float, int and 64-bit offsets; no
// atomics. Sums and products round each by itself, so that a formula gives the same bits in every kernel: where a fused
// multiply-add is wanted, say FMA.
#pragma OPENCL FP_CONTRACT OFF

#if V == 16
typedef float16 vec;
typedef int16 vec_int;
#define LOAD_VEC vload16
#define STORE_VEC vstore16
#define VEC_INT_RTE convert_int16_rte
#define AS_VEC as_float16
#define AS_VEC_INT as_int16
#define TO_VEC convert_float16
#elif V == 4
typedef float4 vec;
typedef int4 vec_int;
#define LOAD_VEC vload4
#define STORE_VEC vstore4
#define VEC_INT_RTE convert_int4_rte
#define AS_VEC as_float4
#define AS_VEC_INT as_int4
#define TO_VEC convert_float4
#endif

// Where the device has no fused multiply-add in hardware, emulating one costs more than all the rest.
#if HAS_FMA
#define FMA(a, b, c) fma(a, b, c)
#else
#define FMA(a, b, c) ((a) * (b) + (c))
#endif

// An operand among a kernel's parameters. In the body: AT(x) is its first element, x_stride the elements from one pixel
// (or row) to the next, PRESENT(x) whether there is one at all.
#define INPUT(name) global const float *name##_memory, const ulong name##_first, const int name##_stride
#define OUTPUT(name) global float *name##_memory, const ulong name##_first, const int name##_stride
#define AT(name) (name##_memory + name##_first)
#define PRESENT(name) (name##_stride != 0)

// An operand that may be pending, and what that takes. In the body: SOURCE_OF(x) makes a struct source of it.
#define SOURCE(name) \
	INPUT(name), const int name##_kind, const int name##_act, const float name##_slope, INPUT(name##_scale), \
		INPUT(name##_shift), INPUT(name##_x), INPUT(name##_mean), INPUT(name##_mean_dz), INPUT(name##_slope_x)
#define SOURCE_OF(name) \
	{ \
		AT(name), name##_stride, name##_kind, name##_act, name##_slope, PRESENT(name##_scale), AT(name##_scale), \
			AT(name##_shift), AT(name##_x), name##_x_stride, AT(name##_mean), AT(name##_mean_dz), AT(name##_slope_x) \
	}
enum { IN_MEMORY, PENDING_VALUE, PENDING_GRADIENT }; // kind
struct source {
	global const float *at;
	int stride, kind, act;
	float slope;
	int scaled;
	global const float *scale, *shift, *x;
	int x_stride;
	global const float *mean, *mean_dz, *slope_x;
};

enum { ACT_NONE, ACT_RELU, ACT_RELU6, ACT_LEAKY, ACT_PRELU, ACT_SIGMOID, ACT_TANH }; // enum pfld_act

// `count` channels, the rest of the vector 0; nothing beyond them is touched.
static inline vec load_vec(global const float *at, int count)
{
#if V == 4
	// Drivers load what they cannot prove to be aligned one by one.
	if (count == V && ((ulong)at & 15) == 0) return *(global const vec *)at;
#endif
	if (count == V) return LOAD_VEC(0, at);
	float numbers[V];
	for (int j = 0; j < V; j++) numbers[j] = j < count ? at[j] : 0.0f;
	return LOAD_VEC(0, numbers);
}

static inline void store_vec(vec value, global float *at, int count)
{
#if V == 4
	if (count == V && ((ulong)at & 15) == 0) {
		*(global vec *)at = value;
		return;
	}
#endif
	if (count == V) {
		STORE_VEC(value, 0, at);
		return;
	}
	float numbers[V];
	STORE_VEC(value, 0, numbers);
	for (int j = 0; j < count; j++) at[j] = numbers[j];
}

// A pass over pixels: the item's vector of channels, and its pixels. False: there is nothing left for it.
struct pass {
	int channel, count;
	int pixel, end;
};
static inline bool begin_pass(struct pass *pass, int num_pixels, int num_channels, int pixels_per_item)
{
	const long item = get_global_id(0);
	const int vectors = (num_channels + V - 1) / V;
	const long block = item / vectors;
	pass->channel = (int)(item - block * vectors) * V;
	pass->count = min(num_channels - pass->channel, V);
	if (block * pixels_per_item >= num_pixels) return false;
	pass->pixel = (int)block * pixels_per_item;
	pass->end = min(num_pixels - pass->pixel, pixels_per_item) + pass->pixel;
	return true;
}

// b is added to the pair high + low (Knuth): what rounding takes from high goes to low. Of vectors, and of numbers.
#define ADD_TO_PAIR(high, low, b) ADD_TO_PAIR_OF(vec, high, low, b)
#define ADD_TO_NUMBER_PAIR(high, low, b) ADD_TO_PAIR_OF(float, high, low, b)
#define ADD_TO_PAIR_OF(type, high, low, b) \
	do { \
		const type pair_sum = (high) + (b), pair_back = pair_sum - (high); \
		(low) += ((high) - (pair_sum - pair_back)) + ((b)-pair_back); \
		(high) = pair_sum; \
	} while (0)
