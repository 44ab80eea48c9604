// SPDX-License-Identifier: MIT
// The kernels of everything that is no convolution, one table per instruction-set level: rows of pixels through
// activations, batch norm and sums, windows of pooling, runs of parameters through an optimizer. Callers: op_*.c, which
// do blocking and threading. No byte beyond the given elements is read or written. What is element by element gives the
// same bits wherever the element lies.
#ifndef PFLD_CPU_KERNELS_ROWS_H
#define PFLD_CPU_KERNELS_ROWS_H

#include "device/op.h"

// y = act(fma(scale, x, shift)) of pixels one after the other.
struct pfld_cpu_apply {
	int64_t num_pixels;
	int32_t num_channels;
	enum pfld_act act;
	pfld_real slope;
	const pfld_real *x; // (num_pixels, num_channels), pixels x_stride apart; may be y
	ptrdiff_t x_stride;
	const pfld_real *scale, *shift; // (num_channels), or both NULL
	const pfld_real *slopes;        // prelu: pixels slopes_stride apart, 0: one row for all
	ptrdiff_t slopes_stride;
	pfld_real *y;
	ptrdiff_t y_stride;
};

// dz = dy act'(z) with z = fma(scale, x, shift), or z = x where shift is NULL; act' from the output where from_output.
struct pfld_cpu_gradient {
	int64_t num_pixels;
	int32_t num_channels;
	enum pfld_act act;
	pfld_real slope;
	bool from_output; // x holds y
	const pfld_real *dy, *x;
	ptrdiff_t dy_stride, x_stride;
	const pfld_real *scale, *shift; // (num_channels), or NULL: 1 and none
	const pfld_real *slopes;        // prelu, as above
	ptrdiff_t slopes_stride;
	const pfld_real *mean; // batch norm's (num_channels)
	pfld_real *dx;
	ptrdiff_t dx_stride;
	bool add; // to what dx holds
};

// y = [y +] scale[0] x[0] + scale[1] x[1] ..., from left to right.
struct pfld_cpu_add {
	int64_t num_pixels;
	int32_t num_channels, num_src;
	const pfld_real *x[PFLD_OP_MAX_ADD];
	ptrdiff_t x_stride[PFLD_OP_MAX_ADD];
	pfld_real scale[PFLD_OP_MAX_ADD];
	pfld_real *y;
	ptrdiff_t y_stride;
	bool add;
};

// One window of pooling, cut to what lies inside the picture.
struct pfld_cpu_window {
	int32_t num_rows, num_columns, num_channels;
	const pfld_real *x; // unused by average_gradient
	ptrdiff_t x_stride, x_row_stride;
	pfld_real *dx; // gradients add to it
	ptrdiff_t dx_stride, dx_row_stride;
};

// A run of parameters with factors in common. Every kind's formula is in <pfld/optimizer.h>.
struct pfld_cpu_step {
	int64_t count;
	pfld_real *p;
	const pfld_real *g;
	pfld_real *state, *second; // as the kind has them
	int32_t kind;              // enum pfld_optimizer_kind
	bool nesterov, epsilon_inside;
	pfld_real gradient_scale, clip_value; // clip_value: infinite when off
	pfld_real weight_decay;               // added to the gradient
	pfld_real keep;                       // p is first multiplied by this: decoupled decay
	pfld_real learning_rate;              // Adam: with the first moment's correction
	pfld_real momentum, beta1, beta2, rho;
	pfld_real beta1_rest, beta2_rest, rho_rest; // 1 - beta1 ...
	pfld_real epsilon, second_correction;       // Adam: sqrt(v) is divided by the latter
};

struct pfld_cpu_row_kernels {
	void (*apply)(const struct pfld_cpu_apply *apply);
	// dx = scale dz
	void (*apply_gradient)(const struct pfld_cpu_gradient *gradient);
	// sums[c] += dy z where z <= 0, of prelu; sums of one pixel sums_stride behind those of the one before.
	void (*slopes_gradient)(const struct pfld_cpu_gradient *gradient, pfld_real *sums, ptrdiff_t sums_stride);

	// Mean and sum of squared distances to it, per channel. pivot: scratch (num_channels).
	void (*bn_statistics)(const pfld_real *x, ptrdiff_t x_stride, int64_t num_pixels, int32_t num_channels,
						  pfld_real *mean, pfld_real *m2, pfld_real *pivot);
	// Sums of dz and of dz (x - mean), per channel. scratch: 2 num_channels.
	void (*bn_gradient_sums)(const struct pfld_cpu_gradient *gradient, pfld_real *sum_dz, pfld_real *sum_dz_x,
							 pfld_real *scratch);
	// dx = scale ((dz - mean_dz) - (x - mean) slope_x); mean_dz, slope_x: (num_channels)
	void (*bn_gradient)(const struct pfld_cpu_gradient *gradient, const pfld_real *mean_dz, const pfld_real *slope_x);

	void (*add)(const struct pfld_cpu_add *add);
	// y[c] of one window. A NaN in the window comes out.
	void (*pool_average)(const struct pfld_cpu_window *window, pfld_real *y);
	void (*pool_max)(const struct pfld_cpu_window *window, pfld_real *y);
	// dx of each pixel += dy / pixels; dx of the first largest += dy.
	void (*pool_average_gradient)(const struct pfld_cpu_window *window, const pfld_real *dy);
	void (*pool_max_gradient)(const struct pfld_cpu_window *window, const pfld_real *dy);

	double (*sum_of_squares)(const pfld_real *x, int64_t count);
	void (*optimizer_step)(const struct pfld_cpu_step *step);
};

// ---- plain C, where other levels have nothing of their own ----
void pfld_cpu_apply_c(const struct pfld_cpu_apply *apply);
void pfld_cpu_apply_gradient_c(const struct pfld_cpu_gradient *gradient);
void pfld_cpu_slopes_gradient_c(const struct pfld_cpu_gradient *gradient, pfld_real *sums, ptrdiff_t sums_stride);
void pfld_cpu_bn_statistics_c(const pfld_real *x, ptrdiff_t x_stride, int64_t num_pixels, int32_t num_channels,
							  pfld_real *mean, pfld_real *m2, pfld_real *pivot);
void pfld_cpu_bn_gradient_sums_c(const struct pfld_cpu_gradient *gradient, pfld_real *sum_dz, pfld_real *sum_dz_x,
								 pfld_real *scratch);
void pfld_cpu_bn_gradient_c(const struct pfld_cpu_gradient *gradient, const pfld_real *mean_dz,
							const pfld_real *slope_x);
void pfld_cpu_add_c(const struct pfld_cpu_add *add);
void pfld_cpu_pool_average_c(const struct pfld_cpu_window *window, pfld_real *y);
void pfld_cpu_pool_max_c(const struct pfld_cpu_window *window, pfld_real *y);
void pfld_cpu_pool_average_gradient_c(const struct pfld_cpu_window *window, const pfld_real *dy);
void pfld_cpu_pool_max_gradient_c(const struct pfld_cpu_window *window, const pfld_real *dy);
double pfld_cpu_sum_of_squares_c(const pfld_real *x, int64_t count);
void pfld_cpu_optimizer_step_c(const struct pfld_cpu_step *step);

#ifndef PFLD_DOUBLE
// ---- AVX2 and FMA ----
void pfld_cpu_apply_avx2(const struct pfld_cpu_apply *apply);
void pfld_cpu_apply_gradient_avx2(const struct pfld_cpu_gradient *gradient);
void pfld_cpu_slopes_gradient_avx2(const struct pfld_cpu_gradient *gradient, float *sums, ptrdiff_t sums_stride);
void pfld_cpu_bn_statistics_avx2(const float *x, ptrdiff_t x_stride, int64_t num_pixels, int32_t num_channels,
								 float *mean, float *m2, float *pivot);
void pfld_cpu_bn_gradient_sums_avx2(const struct pfld_cpu_gradient *gradient, float *sum_dz, float *sum_dz_x,
									float *scratch);
void pfld_cpu_bn_gradient_avx2(const struct pfld_cpu_gradient *gradient, const float *mean_dz, const float *slope_x);
void pfld_cpu_add_avx2(const struct pfld_cpu_add *add);
void pfld_cpu_pool_average_avx2(const struct pfld_cpu_window *window, float *y);
void pfld_cpu_pool_max_avx2(const struct pfld_cpu_window *window, float *y);
void pfld_cpu_pool_average_gradient_avx2(const struct pfld_cpu_window *window, const float *dy);
void pfld_cpu_pool_max_gradient_avx2(const struct pfld_cpu_window *window, const float *dy);
double pfld_cpu_sum_of_squares_avx2(const float *x, int64_t count);
void pfld_cpu_optimizer_step_avx2(const struct pfld_cpu_step *step);
#endif

// ---- parts that all levels share ----
static inline int64_t pfld_cpu_pivot_pixels(int64_t num_pixels)
{
	return PFLD_MIN(num_pixels, PFLD_MAX(num_pixels / 8, 8));
}
// Turns sums of distances to the pivot and of their squares into mean and m2, in place.
static inline void pfld_cpu_finish_statistics(int64_t num_pixels, int32_t num_channels, const pfld_real *pivot,
											  pfld_real *mean, pfld_real *m2)
{
	for (int32_t j = 0; j < num_channels; j++) {
		double sum = mean[j], square = m2[j] - sum * sum / (double)num_pixels;
		mean[j] = (pfld_real)(pivot[j] + sum / (double)num_pixels);
		m2[j] = (pfld_real)(square < 0 ? 0 : square);
	}
}

extern const struct pfld_cpu_row_kernels pfld_cpu_rows_c, pfld_cpu_rows_avx2;

#endif
