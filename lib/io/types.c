// SPDX-License-Identifier: MIT
// Sizes and names of element types, and their conversion to float and double.
#include "types.h"

#include <string.h>

static const struct {
	const char *name;
	uint8_t bytes;
	bool is_float;
} types[PFLD_IO_NUM_TYPES] = {
	[PFLD_IO_F32] = {"F32", 4, true},    [PFLD_IO_F64] = {"F64", 8, true},  [PFLD_IO_F16] = {"F16", 2, true},
	[PFLD_IO_BF16] = {"BF16", 2, true},  [PFLD_IO_I64] = {"I64", 8, false}, [PFLD_IO_I32] = {"I32", 4, false},
	[PFLD_IO_I16] = {"I16", 2, false},   [PFLD_IO_I8] = {"I8", 1, false},   [PFLD_IO_U64] = {"U64", 8, false},
	[PFLD_IO_U32] = {"U32", 4, false},   [PFLD_IO_U16] = {"U16", 2, false}, [PFLD_IO_U8] = {"U8", 1, false},
	[PFLD_IO_BOOL] = {"BOOL", 1, false},
};

size_t pfld_io_type_bytes(enum pfld_io_type type)
{
	return types[type].bytes;
}

const char *pfld_io_type_name(enum pfld_io_type type)
{
	return types[type].name;
}

bool pfld_io_type_is_float(enum pfld_io_type type)
{
	return types[type].is_float;
}

bool pfld_io_array_size(const struct pfld_io_array *array, uint64_t *num_elements, uint64_t *num_bytes)
{
	if (array->num_dims < 0 || array->num_dims > PFLD_IO_MAX_DIMS) return false;
	// A dimension of 0 makes the array empty, but must not hide that the others overflow.
	uint64_t most = (uint64_t)INT64_MAX / types[array->type].bytes, product = 1;
	bool empty = false;
	for (int32_t i = 0; i < array->num_dims; i++) {
		uint64_t dim = (uint64_t)array->dims[i];
		if (array->dims[i] < 0 || (dim && product > most / dim)) return false;
		if (dim)
			product *= dim;
		else
			empty = true;
	}
	if (empty) product = 0;
	if (num_elements) *num_elements = product;
	if (num_bytes) *num_bytes = product * types[array->type].bytes;
	return true;
}

static float float_of_bits(uint32_t bits)
{
	float value;
	memcpy(&value, &bits, sizeof value);
	return value;
}

static float float_of_half(uint16_t half)
{
	uint32_t sign = (uint32_t)(half & 0x8000) << 16, exponent = half >> 10 & 31, fraction = half & 1023;
	if (exponent == 31) return float_of_bits(sign | 0x7f800000 | fraction << 13);
	if (exponent) return float_of_bits(sign | (exponent + 112) << 23 | fraction << 13);
	float value = (float)fraction * 0x1p-24f; // subnormal there, exact here
	return sign ? -value : value;
}

// Element `index` of an array of a float type; exact.
static double load(const uint8_t *from, enum pfld_io_type type, size_t index)
{
	from += index * types[type].bytes;
	if (type == PFLD_IO_F64) {
		double value;
		memcpy(&value, from, sizeof value);
		return value;
	}
	if (type == PFLD_IO_F32) {
		float value;
		memcpy(&value, from, sizeof value);
		return (double)value;
	}
	uint16_t bits;
	memcpy(&bits, from, sizeof bits);
	return (double)(type == PFLD_IO_F16 ? float_of_half(bits) : float_of_bits((uint32_t)bits << 16));
}

bool pfld_io_convert(void *to, enum pfld_io_type to_type, const void *from, enum pfld_io_type from_type, size_t num)
{
	if ((to_type != PFLD_IO_F32 && to_type != PFLD_IO_F64) || !types[from_type].is_float) return false;
	if (to_type == from_type) {
		if (num) memmove(to, from, num * types[to_type].bytes);
		return true;
	}
	uint8_t *at = to;
	for (size_t i = 0; i < num; i++) {
		double value = load(from, from_type, i);
		float rounded = (float)value;
		if (to_type == PFLD_IO_F64)
			memcpy(at + i * sizeof value, &value, sizeof value);
		else
			memcpy(at + i * sizeof rounded, &rounded, sizeof rounded);
	}
	return true;
}
