// SPDX-License-Identifier: MIT
// Batch norm: partial statistics and sums of slabs, and the numbers per channel that come from what is merged of them
// (merge.cl). Host: op_batch_norm.c, merge.c.

// Pixels of a slab in runs of this many, sums of each by themselves: shorter chains lose less.
#define RUN 32

// A slab's mean and squared distances to it, in two passes over what the first has left in the cache.
kernel void bn_statistics(const int num_pixels, OUTPUT(parts), INPUT(x), const int num_channels, const int pixels_per_slab)
{
	struct pass pass;
	if (!begin_pass(&pass, num_pixels, num_channels, pixels_per_slab)) return;
	const int slab = pass.pixel / pixels_per_slab;
	const float count = pass.end - pass.pixel;
	global const float *x = AT(x) + pass.channel;
	vec sum = (vec)(0.0f), m2 = (vec)(0.0f), rest = (vec)(0.0f);
	for (int first = pass.pixel; first < pass.end; first += RUN) {
		vec part = (vec)(0.0f);
		for (int pixel = first; pixel < min(first + RUN, pass.end); pixel++)
			part += load_vec(x + (ulong)pixel * x_stride, pass.count);
		sum += part;
	}
	const vec pivot = sum / count;
	for (int first = pass.pixel; first < pass.end; first += RUN) {
		vec part = (vec)(0.0f), part_m2 = (vec)(0.0f);
		for (int pixel = first; pixel < min(first + RUN, pass.end); pixel++) {
			const vec distance = load_vec(x + (ulong)pixel * x_stride, pass.count) - pivot;
			part += distance;
			part_m2 = FMA(distance, distance, part_m2);
		}
		rest += part;
		m2 += part_m2;
	}
	// The pivot is the mean but for rounding, which the sum of distances tells.
	m2 -= rest * rest / count;
	global float *row = AT(parts) + (ulong)slab * parts_stride + pass.channel;
	store_vec(pivot + rest / count, row, pass.count);
	store_vec(m2 < (vec)(0.0f) ? (vec)(0.0f) : m2, row + num_channels, pass.count);
}

// A slab's sums of dz and of dz (x - mean).
kernel void bn_gradient_sums(const int num_pixels, OUTPUT(parts), INPUT(dy), INPUT(x), INPUT(scale), INPUT(shift),
                             INPUT(mean), const int act, const float slope, const int num_channels, const int pixels_per_slab)
{
	struct pass pass;
	if (!begin_pass(&pass, num_pixels, num_channels, pixels_per_slab)) return;
	const int slab = pass.pixel / pixels_per_slab;
	const vec scale = load_vec(AT(scale) + pass.channel, pass.count), shift = load_vec(AT(shift) + pass.channel, pass.count);
	const vec mean = load_vec(AT(mean) + pass.channel, pass.count);
	vec sum_dz = (vec)(0.0f), sum_dz_x = (vec)(0.0f);
	for (int first = pass.pixel; first < pass.end; first += RUN) {
		vec part_dz = (vec)(0.0f), part_dz_x = (vec)(0.0f);
		for (int pixel = first; pixel < min(first + RUN, pass.end); pixel++) {
			const vec dy = load_vec(AT(dy) + (ulong)pixel * dy_stride + pass.channel, pass.count);
			const vec x = load_vec(AT(x) + (ulong)pixel * x_stride + pass.channel, pass.count);
			const vec dz = gate_v(act, dy, FMA(scale, x, shift), (vec)(slope), 0);
			part_dz += dz;
			part_dz_x = FMA(dz, x - mean, part_dz_x);
		}
		sum_dz += part_dz;
		sum_dz_x += part_dz_x;
	}
	global float *row = AT(parts) + (ulong)slab * parts_stride + pass.channel;
	store_vec(sum_dz, row, pass.count);
	store_vec(sum_dz_x, row + num_channels, pass.count);
}

// From the sums of all pixels: what the gradient needs, and the gradients of beta and gamma.
kernel void bn_finish_sums(const float count, const int add_dbeta, const int add_dgamma, OUTPUT(mean_dz), OUTPUT(slope_x),
                           OUTPUT(dbeta), OUTPUT(dgamma), INPUT(sums), INPUT(inv_std), const int num_channels)
{
	const int j = get_global_id(0);
	if (j >= num_channels) return;
	const float inv_std = AT(inv_std)[j], sum = AT(sums)[j], sum_xhat = AT(sums)[num_channels + j] * inv_std;
	AT(mean_dz)[j] = sum / count;
	AT(slope_x)[j] = inv_std * sum_xhat / count;
	if (PRESENT(dbeta)) AT(dbeta)[j] = add_dbeta ? AT(dbeta)[j] + sum : sum;
	if (PRESENT(dgamma)) AT(dgamma)[j] = add_dgamma ? AT(dgamma)[j] + sum_xhat : sum_xhat;
}

// scale, shift and inverse deviation of a batch, and moving statistics; or, with count = 0, the same from moving ones:
// m2 then holds variances. move: whether moving statistics do.
kernel void bn_numbers(const float count, const int move, OUTPUT(scale), OUTPUT(shift), OUTPUT(inv_std), OUTPUT(moving_mean),
                       OUTPUT(moving_variance), INPUT(mean), INPUT(m2), INPUT(gamma), INPUT(beta), const float epsilon,
                       const float momentum, const float kept, const int unbiased, const int num_channels)
{
	const int j = get_global_id(0);
	if (j >= num_channels) return;
	const float mean = AT(mean)[j], m2 = AT(m2)[j], variance = count > 0.0f ? m2 / count : m2;
	const float inverse = 1.0f / sqrt(variance + epsilon);
	const float scale = PRESENT(gamma) ? AT(gamma)[j] * inverse : inverse;
	AT(scale)[j] = scale;
	AT(shift)[j] = FMA(-mean, scale, PRESENT(beta) ? AT(beta)[j] : 0.0f);
	if (PRESENT(inv_std)) AT(inv_std)[j] = inverse;
	if (!PRESENT(moving_mean) || !move) return;
	const float moving_count = unbiased && count > 1.0f ? count - 1.0f : count;
	AT(moving_mean)[j] = FMA(kept, AT(moving_mean)[j], momentum * mean);
	AT(moving_variance)[j] = FMA(kept, AT(moving_variance)[j], momentum * (m2 / moving_count));
}
