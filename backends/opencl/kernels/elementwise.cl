// SPDX-License-Identifier: MIT
// Passes over pixels that go element by element: sums of sources (pending or not), activations, their gradients. An item
// takes some pixels of one vector of channels. Results may lie where a source does. Host: op_add.c, op_apply.c.

// y = [y +] a_scale a [+ b_scale b]. Also the way by which what is pending comes into memory.
kernel void sum(const int num_pixels, const int add, OUTPUT(y), SOURCE(a), SOURCE(b), const float a_factor,
                const float b_factor, const int num_channels, const int pixels_per_item)
{
	struct pass pass;
	if (!begin_pass(&pass, num_pixels, num_channels, pixels_per_item)) return;
	const struct source a = SOURCE_OF(a), b = SOURCE_OF(b);
	const struct numbers_v a_numbers = load_numbers_v(&a, pass.channel, pass.count);
	struct numbers_v b_numbers = a_numbers;
	if (PRESENT(b)) b_numbers = load_numbers_v(&b, pass.channel, pass.count);
	for (int pixel = pass.pixel; pixel < pass.end; pixel++) {
		global float *y = AT(y) + (ulong)pixel * y_stride + pass.channel;
		vec value = a_factor * load_source_v(&a, &a_numbers, pixel, pass.channel, pass.count);
		if (add) value = load_vec(y, pass.count) + value;
		if (PRESENT(b)) value += b_factor * load_source_v(&b, &b_numbers, pixel, pass.channel, pass.count);
		store_vec(value, y, pass.count);
	}
}

#define TERM(x) \
	if (PRESENT(x)) value += x##_factor * load_vec(AT(x) + (ulong)pixel * x##_stride + pass.channel, pass.count)

// The same for up to eight sources, none of which is pending, from left to right.
kernel void sum_of_many(const int num_pixels, const int add, OUTPUT(y), INPUT(a), const float a_factor, INPUT(b),
                        const float b_factor, INPUT(c), const float c_factor, INPUT(d), const float d_factor, INPUT(e),
                        const float e_factor, INPUT(f), const float f_factor, INPUT(g), const float g_factor, INPUT(h),
                        const float h_factor, const int num_channels, const int pixels_per_item)
{
	struct pass pass;
	if (!begin_pass(&pass, num_pixels, num_channels, pixels_per_item)) return;
	for (int pixel = pass.pixel; pixel < pass.end; pixel++) {
		global float *y = AT(y) + (ulong)pixel * y_stride + pass.channel;
		vec value = a_factor * load_vec(AT(a) + (ulong)pixel * a_stride + pass.channel, pass.count);
		if (add) value = load_vec(y, pass.count) + value;
		TERM(b);
		TERM(c);
		TERM(d);
		TERM(e);
		TERM(f);
		TERM(g);
		TERM(h);
		store_vec(value, y, pass.count);
	}
}

// y = act(fma(scale, x, shift)) of PReLU: slopes of channels (slope_pixels = 0), or of the elements of a sample of so many
// pixels.
kernel void prelu(const int num_pixels, OUTPUT(y), INPUT(x), INPUT(scale), INPUT(shift), INPUT(slopes),
                  const int slope_pixels, const int num_channels, const int pixels_per_item)
{
	struct pass pass;
	if (!begin_pass(&pass, num_pixels, num_channels, pixels_per_item)) return;
	const vec scale = PRESENT(scale) ? load_vec(AT(scale) + pass.channel, pass.count) : (vec)(1.0f);
	const vec shift = PRESENT(scale) ? load_vec(AT(shift) + pass.channel, pass.count) : (vec)(0.0f);
	for (int pixel = pass.pixel; pixel < pass.end; pixel++) {
		const int row = slope_pixels ? pixel - pixel / slope_pixels * slope_pixels : 0;
		const vec slopes = load_vec(AT(slopes) + (ulong)row * num_channels + pass.channel, pass.count);
		const vec x = load_vec(AT(x) + (ulong)pixel * x_stride + pass.channel, pass.count);
		const vec z = PRESENT(scale) ? FMA(scale, x, shift) : x;
		store_vec(act_v(ACT_PRELU, z, slopes), AT(y) + (ulong)pixel * y_stride + pass.channel, pass.count);
	}
}

// dx = [dx +] scale dz. Absent: scale (1), shift (z is x), slopes (all but PReLU), x (without activation).
kernel void apply_gradient(const int num_pixels, const int add, OUTPUT(dx), INPUT(dy), INPUT(x), INPUT(scale),
                           INPUT(shift), INPUT(slopes), const int act, const float slope, const int from_output,
                           const int slope_pixels, const int num_channels, const int pixels_per_item)
{
	struct pass pass;
	if (!begin_pass(&pass, num_pixels, num_channels, pixels_per_item)) return;
	const vec scale = PRESENT(scale) ? load_vec(AT(scale) + pass.channel, pass.count) : (vec)(1.0f);
	const vec shift = PRESENT(shift) ? load_vec(AT(shift) + pass.channel, pass.count) : (vec)(0.0f);
	for (int pixel = pass.pixel; pixel < pass.end; pixel++) {
		vec z = (vec)(0.0f), slopes = (vec)(slope);
		if (PRESENT(x)) z = load_vec(AT(x) + (ulong)pixel * x_stride + pass.channel, pass.count);
		if (PRESENT(shift)) z = FMA(scale, z, shift);
		if (PRESENT(slopes)) {
			const int row = slope_pixels ? pixel - pixel / slope_pixels * slope_pixels : 0;
			slopes = load_vec(AT(slopes) + (ulong)row * num_channels + pass.channel, pass.count);
		}
		const vec dy = load_vec(AT(dy) + (ulong)pixel * dy_stride + pass.channel, pass.count);
		vec value = gate_v(act, dy, z, slopes, from_output);
		if (PRESENT(scale)) value = scale * value;
		global float *dx = AT(dx) + (ulong)pixel * dx_stride + pass.channel;
		if (add) value = load_vec(dx, pass.count) + value;
		store_vec(value, dx, pass.count);
	}
}

// Of PReLU: dy z where z is not positive, summed. Slopes of channels: a row of the result is the sum over the row_pixels
// pixels of a slab (step 1). Slopes of elements: a row is a pixel of a sample, summed over samples (step: pixels of one).
kernel void slopes_gradient(const int num_rows, const int num_pixels, const int add, OUTPUT(sums), INPUT(dy), INPUT(x),
                            INPUT(scale), INPUT(shift), const int row_pixels, const int step, const int num_channels)
{
	struct pass pass;
	if (!begin_pass(&pass, num_rows, num_channels, 1)) return;
	const vec scale = PRESENT(scale) ? load_vec(AT(scale) + pass.channel, pass.count) : (vec)(1.0f);
	const vec shift = PRESENT(scale) ? load_vec(AT(shift) + pass.channel, pass.count) : (vec)(0.0f);
	vec high = (vec)(0.0f), low = (vec)(0.0f);
	// With step 1 a row is a run of row_pixels; else it goes through all pixels.
	const long first = step == 1 ? (long)pass.pixel * row_pixels : pass.pixel;
	const long end = step == 1 ? min(first + row_pixels, (long)num_pixels) : num_pixels;
	for (long pixel = first; pixel < end; pixel += step) {
		const vec x = load_vec(AT(x) + (ulong)pixel * x_stride + pass.channel, pass.count);
		const vec z = PRESENT(scale) ? FMA(scale, x, shift) : x;
		const vec dy = load_vec(AT(dy) + (ulong)pixel * dy_stride + pass.channel, pass.count);
		const vec term = z > (vec)(0.0f) ? (vec)(0.0f) : dy * z;
		ADD_TO_PAIR(high, low, term);
	}
	global float *sums = AT(sums) + (ulong)pass.pixel * sums_stride + pass.channel;
	vec value = high + low;
	if (add) value = load_vec(sums, pass.count) + value;
	store_vec(value, sums, pass.count);
}

// A batch norm taken into the convolution before it: the kernel's elements, then the biases.
kernel void fold(OUTPUT(folded_kernel), OUTPUT(folded_bias), INPUT(weights), INPUT(bias), INPUT(scale), INPUT(shift),
                 const int num_weights, const int num_filters)
{
	const int item = get_global_id(0);
	if (item < num_weights) {
		const int filter = item - item / num_filters * num_filters;
		AT(folded_kernel)[item] = AT(weights)[item] * AT(scale)[filter];
	} else if (item - num_weights < num_filters) {
		const int filter = item - num_weights;
		AT(folded_bias)[filter] = FMA(AT(scale)[filter], PRESENT(bias) ? AT(bias)[filter] : 0.0f, AT(shift)[filter]);
	}
}
