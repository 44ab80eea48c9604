// SPDX-License-Identifier: MIT
// Rows of partial results become fewer rows: an item merges rows_in_one of them, in their order, for a vector of
// columns. Sums are pairs of numbers, which keep what rounding takes. Host: merge.c.

// out[row] = [out[row] +] the sum of its rows.
kernel void merge_rows(const int num_rows, const int add, OUTPUT(out), INPUT(rows), const int num_columns,
                       const int rows_in_one)
{
	struct pass pass; // whose pixels are rows
	if (!begin_pass(&pass, num_rows, num_columns, rows_in_one)) return;
	vec high = (vec)(0.0f), low = (vec)(0.0f);
	for (int row = pass.pixel; row < pass.end; row++) {
		const vec part = load_vec(AT(rows) + (ulong)row * rows_stride + pass.channel, pass.count);
		ADD_TO_PAIR(high, low, part);
	}
	global float *out = AT(out) + (ulong)(pass.pixel / rows_in_one) * out_stride + pass.channel;
	vec value = high + low;
	if (add) value = load_vec(out, pass.count) + value;
	store_vec(value, out, pass.count);
}

// The pixel at which a slab begins; see struct pfld_cl_slabs.
static long first_pixel(int slab, int slabs_per_picture, int picture_pixels, int pixels_per_slab)
{
	const int picture = slab / slabs_per_picture, inside = slab - picture * slabs_per_picture;
	return (long)picture * picture_pixels + (long)inside * pixels_per_slab;
}

// Means and squared distances to them, by Chan's formula. A row stands for `span` slabs, the last for those that are left.
kernel void merge_statistics(const int num_rows, const int num_slabs, const int slabs_per_picture, const int picture_pixels,
                             OUTPUT(mean), OUTPUT(m2), INPUT(rows), const int num_channels, const int pixels_per_slab,
                             const int span, const int rows_in_one)
{
	struct pass pass;
	if (!begin_pass(&pass, num_rows, num_channels, rows_in_one)) return;
	vec mean = (vec)(0.0f), mean_low = (vec)(0.0f), m2 = (vec)(0.0f), m2_low = (vec)(0.0f);
	float before = 0.0f;
	for (int row = pass.pixel; row < pass.end; row++) {
		const int slab = row * span, end_slab = num_slabs - slab > span ? slab + span : num_slabs;
		const long begin = first_pixel(slab, slabs_per_picture, picture_pixels, pixels_per_slab);
		const long end = first_pixel(end_slab, slabs_per_picture, picture_pixels, pixels_per_slab);
		const long all = (long)(num_slabs / slabs_per_picture) * picture_pixels;
		const float count = min(end, all) - begin, share = count / (before + count);
		global const float *part = AT(rows) + (ulong)row * rows_stride + pass.channel;
		const vec distance = (load_vec(part, pass.count) - mean) - mean_low;
		const vec part_m2 = load_vec(part + num_channels, pass.count);
		const vec step = distance * share, between = distance * distance * (before * share);
		ADD_TO_PAIR(mean, mean_low, step);
		ADD_TO_PAIR(m2, m2_low, part_m2);
		ADD_TO_PAIR(m2, m2_low, between);
		before += count;
	}
	const int out = pass.pixel / rows_in_one;
	store_vec(mean + mean_low, AT(mean) + (ulong)out * mean_stride + pass.channel, pass.count);
	store_vec(m2 + m2_low, AT(m2) + (ulong)out * m2_stride + pass.channel, pass.count);
}
