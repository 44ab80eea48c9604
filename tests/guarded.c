// SPDX-License-Identifier: MIT
// Guarded tensors for tests of kernels; see guarded.h.
#define _DEFAULT_SOURCE // MAP_ANONYMOUS
#include "guarded.h"

#include <check.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static uint32_t random_state = 20240607u;

static double random_value(void)
{
	random_state = random_state * 1664525u + 1013904223u;
	return (double)(random_state >> 8) / (1 << 23) - 1;
}

static void poison(struct buffer *buffer)
{
	memset(buffer->mapped, 0xff, (size_t)(buffer->data - buffer->mapped) + buffer->bytes); // all ones: a NaN
}

struct buffer buffer_create(size_t bytes)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE), whole = (bytes + page - 1) / page * page;
	struct buffer buffer = {.mapped_bytes = whole + 2 * page, .bytes = bytes};
	buffer.mapped = mmap(NULL, buffer.mapped_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ck_assert(buffer.mapped != MAP_FAILED);
	ck_assert_int_eq(mprotect(buffer.mapped + whole + page, page, PROT_NONE), 0);
	buffer.data = buffer.mapped + whole + page - bytes;
	poison(&buffer);
	return buffer;
}

void buffer_destroy(struct buffer *buffer)
{
	for (char *byte = buffer->mapped; byte < buffer->data; byte++)
		if ((unsigned char)*byte != 0xff) ck_abort_msg("written in front of a buffer");
	munmap(buffer->mapped, buffer->mapped_bytes);
}

void tensor_create(struct tensor *tensor, int32_t n, int32_t h, int32_t w, int32_t c, int32_t channel, int32_t behind)
{
	int32_t stride = channel + c + behind;
	size_t elements = (size_t)n * (size_t)h * (size_t)w * (size_t)stride - (size_t)behind;
	tensor->n = n;
	tensor->buffer = buffer_create(elements * sizeof(pfld_real));
	tensor->region = (struct pfld_region){.bytes = tensor->buffer.bytes, .host = tensor->buffer.data};
	tensor->operand = (struct pfld_operand){
		.tensor = 0,
		.h = h,
		.w = w,
		.c = c,
		.pixel_stride = stride,
		.channel = channel,
		.per_sample = true,
		.region = &tensor->region,
		.offset_bytes = (size_t)channel * sizeof(pfld_real),
	};
}

pfld_real *element(const struct tensor *tensor, int32_t s, int32_t y, int32_t x, int32_t c)
{
	const struct pfld_operand *o = &tensor->operand;
	size_t pixel = ((size_t)s * (size_t)o->h + (size_t)y) * (size_t)o->w + (size_t)x;
	return (pfld_real *)tensor->buffer.data + pixel * (size_t)o->pixel_stride + (size_t)o->channel + (size_t)c;
}

void fill_random(struct tensor *tensor)
{
	FOR_EACH(tensor, s, y, x, c) * element(tensor, s, y, x, c) = (pfld_real)random_value();
}

void check_gaps(const struct tensor *tensor)
{
	const struct pfld_operand *o = &tensor->operand;
	size_t num = tensor->buffer.bytes / sizeof(pfld_real);
	for (size_t i = 0; i < num; i++) {
		int32_t channel = (int32_t)(i % (size_t)o->pixel_stride);
		if (channel >= o->channel && channel < o->channel + o->c) continue;
		pfld_real value;
		memcpy(&value, tensor->buffer.data + i * sizeof(value), sizeof(value));
		unsigned char ones[sizeof(value)];
		memset(ones, 0xff, sizeof(ones));
		if (memcmp(&value, ones, sizeof(ones)) != 0) ck_abort_msg("written between the channels at %zu", i);
	}
}

void tensor_destroy(struct tensor *tensor)
{
	check_gaps(tensor);
	buffer_destroy(&tensor->buffer);
}
