// SPDX-License-Identifier: MIT
// A sample's loss and gradients (formulas: <pfld/loss.h>), and the running sums. Long sums are pairs of numbers, and
// what would lose digits as the formula stands is written otherwise. Host: op_loss.c.

enum { LOSS_NONE, WING, PFLD, PFLD_COMPAT, L1, L2, SMOOTH_L1, SOFTMAX_CROSS_ENTROPY, SIGMOID_CROSS_ENTROPY }; // pfld_loss_kind
enum { NUM_ANGLES = 3, NUM_ATTRIBUTES = 6, MOST_ITEMS = 256 };

// Attributes of a loss, as <pfld/loss.h> names them.
struct loss {
	int kind;
	float wing_w, wing_epsilon, wing_c, point_scale, beta, label_smoothing;
};

// Of a NaN: NaN.
static inline float sign_of(float x)
{
	return x > 0.0f ? 1.0f : x < 0.0f ? -1.0f : x;
}

// The loss of one target and its derivative by the prediction.
static inline float target_loss(const struct loss *loss, float prediction, float target, float *derivative)
{
	float x = prediction - target;
	if (loss->kind == SIGMOID_CROSS_ENTROPY) {
		*derivative = sigmoid_1(prediction) - target;
		return (prediction < 0.0f ? 0.0f : prediction) - prediction * target + log_of_one_plus_1(exp_1(-fabs(prediction)));
	}
	if (loss->kind == L2 || loss->kind == PFLD || loss->kind == PFLD_COMPAT) {
		*derivative = 2.0f * x;
		return x * x;
	}
	x *= loss->point_scale;
	const float size = fabs(x);
	if (loss->kind == WING) {
		const bool outside = size >= loss->wing_w;
		const float slope = outside ? 1.0f : loss->wing_w / (loss->wing_epsilon + size);
		*derivative = sign_of(x) * slope * loss->point_scale;
		return outside ? size - loss->wing_c : loss->wing_w * log_of_one_plus_1(size / loss->wing_epsilon);
	}
	const bool inside = loss->kind == SMOOTH_L1 && size < loss->beta;
	*derivative = (inside ? x / loss->beta : sign_of(x)) * loss->point_scale;
	if (loss->kind == L1) return size;
	return inside ? x * x / (2.0f * loss->beta) : size - 0.5f * loss->beta;
}

// Over the channels of one pixel. mask: NULL where all count.
static inline float cross_entropy(const struct loss *loss, global const float *x, global const float *target,
                                  global const float *mask, int num_channels, float factor, global float *gradient)
{
	const float kept = 1.0f - loss->label_smoothing, spread = loss->label_smoothing / (float)num_channels;
	float largest = -INFINITY, high = 0.0f, low = 0.0f, sum = 0.0f, shares = 0.0f;
	for (int j = 0; j < num_channels; j++) largest = x[j] > largest ? x[j] : largest;
	for (int j = 0; j < num_channels; j++) {
		const float e = exp_1(x[j] - largest);
		ADD_TO_NUMBER_PAIR(high, low, e);
	}
	sum = high + low;
	const float log_sum = log_1(sum);
	high = low = 0.0f;
	for (int j = 0; j < num_channels; j++) {
		if (mask && mask[j] == 0.0f) continue;
		const float share = kept * target[j] + spread, term = share * (log_sum - (x[j] - largest));
		shares += share;
		ADD_TO_NUMBER_PAIR(high, low, term);
	}
	for (int j = 0; j < num_channels; j++) {
		const float share = mask && mask[j] == 0.0f ? 0.0f : kept * target[j] + spread;
		gradient[j] = (shares * (exp_1(x[j] - largest) / sum) - share) * factor;
	}
	return high + low;
}

// Sine and cosine of high + low. After Cephes.
static inline float sine_of(float high, float low, float *cosine)
{
	float x = fabs(high) < 1e5f ? high : fmod(high, 6.2831853071795864769f); // of infinity: NaN
	const float quarters = rint(x * 0.63661977236758134308f);
	const int quarter = x == x ? convert_int_rte(quarters) & 3 : 0;
	x = ((x - quarters * 1.5703125f) - quarters * 4.837512969970703125e-4f) - quarters * 7.54978995489188216e-8f + low;
	const float z = x * x;
	const float s = x + x * z * (-1.6666654611e-1f + z * (8.3321608736e-3f + z * -1.9515295891e-4f));
	const float c = 1.0f - 0.5f * z + z * z * (4.166664568298827e-2f + z * (-1.388731625493765e-3f + z * 2.443315711809948e-5f));
	*cosine = quarter == 0 ? c : quarter == 1 ? -s : quarter == 2 ? -c : s;
	return quarter == 0 ? s : quarter == 1 ? c : quarter == 2 ? -s : -c;
}

// Sum over the angles of 1 - cos(a - e) = 2 sin^2((a - e) / 2), and sin(a - e) = 2 sin cos of the half: digits of small
// differences stay. pfld_compat takes e, in degrees, as if it were in radians.
static inline float angle_weight(int kind, global const float *angles, global const float *true_angles, float *sines)
{
	float sum = 0.0f;
	for (int k = 0; k < NUM_ANGLES; k++) {
		const float e = kind == PFLD ? -true_angles[k] * 0.017453292519943295f : -true_angles[k];
		float high = angles[k], low = 0.0f, cosine;
		ADD_TO_NUMBER_PAIR(high, low, e);
		const float sine = sine_of(0.5f * high, 0.5f * low, &cosine);
		sines[k] = 2.0f * sine * cosine;
		sum += 2.0f * sine * sine;
	}
	return sum;
}

// 1 / share of the attribute in the batch; the number of samples where none has it (times zero).
static inline float attribute_factor(global const float *attributes, int attribute, int num_samples)
{
	float high = 0.0f, low = 0.0f;
	for (int i = 0; i < num_samples; i++) ADD_TO_NUMBER_PAIR(high, low, attributes[i * NUM_ATTRIBUTES + attribute]);
	const float sum = high + low;
	return sum > 0.0f ? (float)num_samples / sum : (float)num_samples;
}

// Gradients of the targets that are the item's, and the sum of their losses as high + low.
static inline void sum_targets(const struct loss *loss, global const float *prediction, global const float *target,
                               global const float *mask, int num_targets, int num_channels, float factor,
                               global float *gradient, float *sum_high, float *sum_low)
{
	const bool pixels = loss->kind == SOFTMAX_CROSS_ENTROPY;
	const int item = get_local_id(0), num_items = get_local_size(0), step = pixels ? num_channels : 1;
	float high = 0.0f, low = 0.0f;
	for (int i = item * step; i < num_targets; i += num_items * step) {
		float part = 0.0f, derivative = 0.0f;
		if (pixels) {
			part = cross_entropy(loss, prediction + i, target + i, mask ? mask + i : 0, num_channels, factor, gradient + i);
		} else {
			if (!mask || mask[i] != 0.0f) part = target_loss(loss, prediction[i], target[i], &derivative);
			gradient[i] = derivative * factor;
		}
		ADD_TO_NUMBER_PAIR(high, low, part);
	}
	*sum_high = high;
	*sum_low = low;
}

// A group a sample: its items take targets (or pixels, of softmax cross-entropy) in turn. scale: of gradients.
kernel void loss(const int num_samples, const float scale, OUTPUT(loss), OUTPUT(dprediction), OUTPUT(dangles), INPUT(prediction),
                 INPUT(target), INPUT(mask), INPUT(weights), INPUT(attributes), INPUT(angles), INPUT(true_angles), const int kind,
                 const float wing_w, const float wing_epsilon, const float wing_c, const float point_scale, const float beta,
                 const float label_smoothing, const int mean_over_targets, const int num_targets, const int num_channels)
{
	local float counting[MOST_ITEMS], highs[MOST_ITEMS], lows[MOST_ITEMS], factors[NUM_ATTRIBUTES];
	const int sample = get_group_id(0), item = get_local_id(0), num_items = get_local_size(0);
	const struct loss loss = {kind, wing_w, wing_epsilon, wing_c, point_scale, beta, label_smoothing};
	const ulong first = (ulong)sample * num_targets;
	global const float *prediction = AT(prediction) + first, *target = AT(target) + first;
	global const float *mask = PRESENT(mask) ? AT(mask) + first : 0;

	int count = 0;
	for (int i = item; i < num_targets; i += num_items) count += !mask || mask[i] != 0.0f;
	counting[item] = (float)count;
	for (int j = item; j < NUM_ATTRIBUTES && PRESENT(attributes); j += num_items) {
		factors[j] = kind == PFLD_COMPAT && j == 0 ? 0.0f : attribute_factor(AT(attributes), j, num_samples); // it leaves out the pose
	}
	barrier(CLK_LOCAL_MEM_FENCE);

	float weight = PRESENT(weights) ? AT(weights)[sample] : 1.0f, angle = 1.0f, sines[NUM_ANGLES], num_counting = 0.0f;
	for (int i = 0; i < num_items; i++) num_counting += counting[i];
	if (mean_over_targets) weight /= num_counting > 1.0f ? num_counting : 1.0f;
	if (kind == PFLD || kind == PFLD_COMPAT) {
		float sum = PRESENT(attributes) ? 0.0f : 1.0f;
		for (int j = 0; j < NUM_ATTRIBUTES && PRESENT(attributes); j++)
			sum += AT(attributes)[sample * NUM_ATTRIBUTES + j] * factors[j];
		weight *= kind == PFLD && sum < 1.0f ? 1.0f : sum;
		angle = angle_weight(kind, AT(angles) + sample * NUM_ANGLES, AT(true_angles) + sample * NUM_ANGLES, sines);
	}
	const float factor = weight * angle * scale;
	float high, low;
	sum_targets(&loss, prediction, target, mask, num_targets, num_channels, factor, AT(dprediction) + first, &high, &low);
	highs[item] = high;
	lows[item] = low;
	barrier(CLK_LOCAL_MEM_FENCE);

	if (item != 0) return;
	for (int i = 1; i < num_items; i++) {
		ADD_TO_NUMBER_PAIR(high, low, highs[i]);
		low += lows[i];
	}
	const float sum = high + low;
	AT(loss)[sample] = weight * angle * sum;
	for (int k = 0; k < NUM_ANGLES && PRESENT(dangles); k++)
		AT(dangles)[sample * NUM_ANGLES + k] = sines[k] * weight * sum * scale;
}

enum { SUM_LOSS, SUM_LOSS_LOW, SUM_SAMPLES, SUM_BATCH_LOSS, SUM_BAD }; // PFLD_SUMS_...

// A batch whose loss is not finite leaves the sums alone: they stay those of the good batches. One item.
kernel void loss_sums(const int num_samples, OUTPUT(sums), INPUT(loss))
{
	if (get_global_id(0) != 0) return;
	global float *sums = AT(sums);
	float high = 0.0f, low = 0.0f;
	for (int i = 0; i < num_samples; i++) ADD_TO_NUMBER_PAIR(high, low, AT(loss)[i]);
	const float mean = (high + low) / (float)num_samples;
	const bool bad = !(fabs(mean) < INFINITY);
	sums[SUM_BATCH_LOSS] = mean;
	sums[SUM_BAD] = bad ? 1.0f : 0.0f;
	if (bad) return;
	high = sums[SUM_LOSS];
	low = sums[SUM_LOSS_LOW];
	for (int i = 0; i < num_samples; i++) {
		// What is left over goes in again, so that it stays small beside the sum.
		const float value = AT(loss)[i] + low;
		low = 0.0f;
		ADD_TO_NUMBER_PAIR(high, low, value);
	}
	sums[SUM_LOSS] = high;
	sums[SUM_LOSS_LOW] = low;
	sums[SUM_SAMPLES] += (float)num_samples;
}
