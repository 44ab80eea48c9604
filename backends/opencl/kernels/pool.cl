// SPDX-License-Identifier: MIT
// Pooling over windows, and its gradient by gather: a pixel asks each window that it lies in. An item takes some pixels
// (of y, or of dx) of one vector of channels. Host: op_pool.c.

// What windows are, and pictures of so many pixels on both sides. A pixel's place in the batch is row (of all samples'
// rows) and column.
#define WINDOWS \
	const int x_h, const int x_w, const int y_h, const int y_w, const int kernel_h, const int kernel_w, const int stride_h, \
		const int stride_w, const int pad_top, const int pad_left

// y: largest or mean of each window, padding left out. taps: of the largest, where in its window it is (the first of equals,
// the first NaN), as a number; the gradient reads them. Either is absent.
kernel void pool(const int num_pixels, OUTPUT(y), OUTPUT(taps), INPUT(x), const int largest, WINDOWS, const int num_channels,
                 const int pixels_per_item)
{
	struct pass pass;
	if (!begin_pass(&pass, num_pixels, num_channels, pixels_per_item)) return;
	for (int pixel = pass.pixel; pixel < pass.end; pixel++) {
		const int all_rows = pixel / y_w, column = pixel - all_rows * y_w;
		const int sample = all_rows / y_h, row = all_rows - sample * y_h;
		const int top = row * stride_h - pad_top, left = column * stride_w - pad_left;
		const int first_row = max(top, 0), end_row = min(top + kernel_h, x_h);
		const int first_column = max(left, 0), end_column = min(left + kernel_w, x_w);
		const ulong first_pixel = (ulong)sample * (ulong)(x_h * x_w);
		vec total = (vec)(0.0f), best = (vec)(-INFINITY), best_tap = (vec)(-1.0f);
		for (int i = first_row; i < end_row; i++) {
			vec sum = (vec)(0.0f);
			for (int j = first_column; j < end_column; j++) {
				const ulong at = (first_pixel + (ulong)(i * x_w + j)) * x_stride;
				const vec value = load_vec(AT(x) + at + pass.channel, pass.count);
				sum += value;
				if (!largest) continue;
				const vec tap = (vec)((float)((i - top) * kernel_w + j - left));
				// The first pixel is taken whatever it is, a NaN stays.
				const vec_int taken = ((value > best) | (value != value) | (best_tap < (vec)(0.0f))) & (best == best);
				best = taken ? value : best;
				best_tap = taken ? tap : best_tap;
			}
			total += sum;
		}
		const vec mean = total / (float)((end_row - first_row) * (end_column - first_column));
		if (PRESENT(y)) store_vec(largest ? best : mean, AT(y) + (ulong)pixel * y_stride + pass.channel, pass.count);
		if (PRESENT(taps)) store_vec(best_tap, AT(taps) + (ulong)pixel * taps_stride + pass.channel, pass.count);
	}
}

// dx = [dx +] what the windows give back to a pixel, in their order. taps absent: means.
kernel void pool_gradient(const int num_pixels, const int add, OUTPUT(dx), INPUT(dy), INPUT(taps), WINDOWS,
                          const int num_channels, const int pixels_per_item)
{
	struct pass pass;
	if (!begin_pass(&pass, num_pixels, num_channels, pixels_per_item)) return;
	for (int pixel = pass.pixel; pixel < pass.end; pixel++) {
		const int all_rows = pixel / x_w, column = pixel - all_rows * x_w;
		const int sample = all_rows / x_h, row = all_rows - sample * x_h;
		const int behind_top = row + pad_top - kernel_h, behind_left = column + pad_left - kernel_w;
		const int first_row = behind_top < 0 ? 0 : behind_top / stride_h + 1;
		const int first_column = behind_left < 0 ? 0 : behind_left / stride_w + 1;
		const int end_row = min((row + pad_top) / stride_h + 1, y_h);
		const int end_column = min((column + pad_left) / stride_w + 1, y_w);
		vec sum = (vec)(0.0f);
		for (int i = first_row; i < end_row; i++) {
			const int top = i * stride_h - pad_top, rows = min(top + kernel_h, x_h) - max(top, 0);
			for (int j = first_column; j < end_column; j++) {
				const int left = j * stride_w - pad_left, columns = min(left + kernel_w, x_w) - max(left, 0);
				const ulong at = ((ulong)sample * y_h + i) * y_w + j;
				const vec dy = load_vec(AT(dy) + at * dy_stride + pass.channel, pass.count);
				if (!PRESENT(taps)) {
					sum += dy / (float)(rows * columns);
					continue;
				}
				const vec tap = (vec)((float)((row - top) * kernel_w + column - left));
				const vec taken = load_vec(AT(taps) + at * taps_stride + pass.channel, pass.count);
				sum += taken == tap ? dy : (vec)(0.0f);
			}
		}
		global float *dx = AT(dx) + (ulong)pixel * dx_stride + pass.channel;
		if (add) sum = load_vec(dx, pass.count) + sum;
		store_vec(sum, dx, pass.count);
	}
}
