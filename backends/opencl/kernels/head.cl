// SPDX-License-Identifier: MIT
// What stands at a net's end and is small: softmax over the channels of a pixel and its gradient (an item a pixel, one
// number after the other), and dropout. Host: op_head.c.

kernel void softmax(const int num_pixels, OUTPUT(y), INPUT(x), const int num_channels)
{
	const int pixel = get_global_id(0);
	if (pixel >= num_pixels) return;
	global const float *x = AT(x) + (ulong)pixel * x_stride;
	global float *y = AT(y) + (ulong)pixel * y_stride;
	float largest = -INFINITY, high = 0.0f, low = 0.0f;
	for (int j = 0; j < num_channels; j++) largest = x[j] > largest ? x[j] : largest;
	for (int j = 0; j < num_channels; j++) {
		const float e = exp_1(x[j] - largest);
		ADD_TO_NUMBER_PAIR(high, low, e);
	}
	const float sum = high + low;
	for (int j = 0; j < num_channels; j++) y[j] = exp_1(x[j] - largest) / sum;
}

// dx = [dx +] y (dy - sum of dy y)
kernel void softmax_gradient(const int num_pixels, const int add, OUTPUT(dx), INPUT(dy), INPUT(y), const int num_channels)
{
	const int pixel = get_global_id(0);
	if (pixel >= num_pixels) return;
	global const float *dy = AT(dy) + (ulong)pixel * dy_stride, *y = AT(y) + (ulong)pixel * y_stride;
	global float *dx = AT(dx) + (ulong)pixel * dx_stride;
	float high = 0.0f, low = 0.0f;
	for (int j = 0; j < num_channels; j++) {
		const float term = dy[j] * y[j];
		ADD_TO_NUMBER_PAIR(high, low, term);
	}
	const float sum = high + low;
	for (int j = 0; j < num_channels; j++) {
		const float value = y[j] * (dy[j] - sum);
		dx[j] = add ? dx[j] + value : value;
	}
}

// Philox 4x32-10, as lib/base/random.c.
static uint4 philox(uint4 x, uint2 key)
{
	for (int round = 0; round < 10; round++) {
		const uint a_high = mul_hi(0xd2511f53u, x.x), a_low = 0xd2511f53u * x.x;
		const uint b_high = mul_hi(0xcd9e8d57u, x.z), b_low = 0xcd9e8d57u * x.z;
		x = (uint4)(b_high ^ x.y ^ key.x, b_low, a_high ^ x.w ^ key.y, a_low);
		key += (uint2)(0x9e3779b9u, 0xbb67ae85u);
	}
	return x;
}

// y = [y +] factor x where the number drawn for the element is at least `threshold`, else 0. Four elements share a draw.
kernel void dropout(const int num_pixels, const int add, const ulong seed, const ulong step, OUTPUT(y), INPUT(x),
                    const uint stream, const uint threshold, const float factor, const int num_channels,
                    const int pixels_per_item)
{
	struct pass pass;
	if (!begin_pass(&pass, num_pixels, num_channels, pixels_per_item)) return;
	const uint2 key = (uint2)((uint)seed, (uint)(seed >> 32));
	for (int pixel = pass.pixel; pixel < pass.end; pixel++) {
		global const float *x = AT(x) + (ulong)pixel * x_stride + pass.channel;
		global float *y = AT(y) + (ulong)pixel * y_stride + pass.channel;
		const ulong first = (ulong)pixel * num_channels + pass.channel;
		ulong drawn_block = ~0ul;
		uint4 drawn = (uint4)(0);
		for (int j = 0; j < pass.count; j++) {
			const ulong block = (first + j) / 4;
			if (block != drawn_block) {
				const uint high = (uint)(block >> 32) ^ ((uint)(step >> 32) << 16);
				drawn = philox((uint4)((uint)block, (uint)step, high, stream), key);
				drawn_block = block;
			}
			const int place = (int)(first + j - block * 4);
			const uint number = place < 2 ? (place ? drawn.y : drawn.x) : (place == 2 ? drawn.z : drawn.w);
			const float value = number >= threshold ? x[j] * factor : 0.0f;
			y[j] = add ? y[j] + value : value;
		}
	}
}
