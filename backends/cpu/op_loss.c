// SPDX-License-Identifier: MIT
// loss and loss_sums. A sample's loss and gradients are computed in double and rounded once; formulas: <pfld/loss.h>.
// Nothing here is large: a few hundred numbers a sample.
#include "cpu/cpu.h"
#include "cpu/math.h"
#include <pfld/loss.h>

#include <math.h>

enum { NUM_ANGLES = 3, NUM_ATTRIBUTES = 6 };

struct job {
	const struct pfld_op *op;
	const struct pfld_run *run;
	double attribute_factors[NUM_ATTRIBUTES];
};

// What a sample's operands are; NULL where absent.
struct sample {
	int64_t num_targets;
	int32_t num_channels;
	const pfld_real *prediction, *target, *mask, *weight, *attributes, *angles, *true_angles;
	pfld_real *loss, *gradient, *angle_gradient;
	double num_counting; // targets that the mask lets count
};

static const pfld_real *source(const struct pfld_operand *operand, int32_t index)
{
	const pfld_real *first = pfld_cpu_at(operand);
	return first ? first + (size_t)index * pfld_operand_elements(operand) : NULL;
}

static pfld_real *result(const struct pfld_operand *operand, int32_t index)
{
	pfld_real *first = pfld_cpu_at(operand);
	return first ? first + (size_t)index * pfld_operand_elements(operand) : NULL;
}

static bool counts(const struct sample *sample, int64_t i)
{
	return !sample->mask || sample->mask[i] != 0;
}

static struct sample sample_at(const struct pfld_op *op, int32_t index)
{
	struct sample sample = {
		.num_targets = (int64_t)pfld_operand_elements(&op->src[0]),
		.num_channels = op->src[0].c,
		.prediction = source(&op->src[0], index),
		.target = source(&op->src[1], index),
		.mask = source(&op->src[2], index),
		.weight = source(&op->src[3], index),
		.attributes = source(&op->src[4], index),
		.angles = source(&op->src[5], index),
		.true_angles = source(&op->src[6], index),
		.loss = result(&op->dst[0], index),
		.gradient = result(&op->dst[1], index),
		.angle_gradient = result(&op->dst[2], index),
	};
	for (int64_t i = 0; i < sample.num_targets; i++) sample.num_counting += counts(&sample, i);
	return sample;
}

// ---- target by target ----

static double sign(double x)
{
	return x > 0 ? 1 : x < 0 ? -1 : x; // of a NaN: NaN
}

// The loss of one target and its derivative by the prediction.
static double target_loss(const struct pfld_loss_attr *attr, double prediction, double target, double *derivative)
{
	double x = prediction - target, size;
	switch ((enum pfld_loss_kind)attr->kind) {
	case PFLD_LOSS_WING:
		x *= attr->point_scale;
		size = fabs(x);
		if (size >= attr->wing_w) {
			*derivative = sign(x) * attr->point_scale;
			return size - attr->wing_c;
		}
		*derivative = sign(x) * attr->wing_w / (attr->wing_epsilon + size) * attr->point_scale;
		return attr->wing_w * pfld_cpu_log(1 + size / attr->wing_epsilon);
	case PFLD_LOSS_L1: *derivative = sign(x) * attr->point_scale; return fabs(x) * attr->point_scale;
	case PFLD_LOSS_SMOOTH_L1:
		x *= attr->point_scale;
		size = fabs(x);
		*derivative = (size < attr->beta ? x / attr->beta : sign(x)) * attr->point_scale;
		return size < attr->beta ? x * x / (2 * attr->beta) : size - attr->beta / 2;
	case PFLD_LOSS_SIGMOID_CROSS_ENTROPY:
		*derivative = pfld_cpu_sigmoid(prediction) - target;
		return (prediction < 0 ? 0 : prediction) - prediction * target +
			   pfld_cpu_log(1 + pfld_cpu_exp(-fabs(prediction)));
	default: // squared distance: L2 and both of PFLD
		*derivative = 2 * x;
		return x * x;
	}
}

// Sum over the targets that count; gradients times factor.
static double sum_targets(const struct pfld_loss_attr *attr, const struct sample *sample, double factor)
{
	double sum = 0;
	for (int64_t i = 0; i < sample->num_targets; i++) {
		double derivative = 0;
		if (counts(sample, i)) sum += target_loss(attr, sample->prediction[i], sample->target[i], &derivative);
		sample->gradient[i] = (pfld_real)(derivative * factor);
	}
	return sum;
}

// ---- softmax cross-entropy ----

// Over the channels of one pixel, from `first` on.
static double cross_entropy(const struct pfld_loss_attr *attr, const struct sample *sample, int64_t first,
							double factor)
{
	const pfld_real *x = sample->prediction + first, *target = sample->target + first;
	double largest = -INFINITY, sum = 0, loss = 0, shares = 0;
	double kept = 1 - attr->label_smoothing, spread = attr->label_smoothing / sample->num_channels;
	for (int32_t j = 0; j < sample->num_channels; j++) largest = x[j] > largest ? x[j] : largest;
	for (int32_t j = 0; j < sample->num_channels; j++) sum += pfld_cpu_exp(x[j] - largest);
	double log_sum = pfld_cpu_log(sum);
	for (int32_t j = 0; j < sample->num_channels; j++) {
		if (!counts(sample, first + j)) continue;
		double share = kept * target[j] + spread;
		shares += share;
		loss += share * (log_sum - (x[j] - largest));
	}
	for (int32_t j = 0; j < sample->num_channels; j++) {
		double share = counts(sample, first + j) ? kept * target[j] + spread : 0;
		double derivative = shares * (pfld_cpu_exp(x[j] - largest) / sum) - share;
		sample->gradient[first + j] = (pfld_real)(derivative * factor);
	}
	return loss;
}

static double sum_pixels(const struct pfld_loss_attr *attr, const struct sample *sample, double factor)
{
	double sum = 0;
	for (int64_t first = 0; first < sample->num_targets; first += sample->num_channels) {
		sum += cross_entropy(attr, sample, first, factor);
	}
	return sum;
}

// ---- PFLD's weights ----

// 1 / share of each attribute in the batch; the number of samples where none has it (times zero).
static void find_attribute_factors(struct job *job)
{
	const struct pfld_operand *attributes = &job->op->src[4];
	if (!pfld_operand_present(attributes)) return;
	int32_t first = job->op->attr.loss.kind == PFLD_LOSS_PFLD_COMPAT; // which leaves out the pose
	for (int32_t j = first; j < NUM_ATTRIBUTES; j++) {
		double sum = 0;
		for (int32_t i = 0; i < job->run->n; i++) sum += source(attributes, i)[j];
		double share = sum / job->run->n;
		job->attribute_factors[j] = share > 0 ? 1 / share : job->run->n;
	}
}

static double attribute_weight(const struct job *job, const struct sample *sample)
{
	if (!sample->attributes) return 1;
	double sum = 0;
	for (int32_t j = 0; j < NUM_ATTRIBUTES; j++) sum += sample->attributes[j] * job->attribute_factors[j];
	return job->op->attr.loss.kind == PFLD_LOSS_PFLD && sum < 1 ? 1 : sum;
}

// Sum over the angles of 1 - cos(a - e), and the sines: pfld_compat takes e, in degrees, as if it were in radians.
static double angle_weight(const struct job *job, const struct sample *sample, double sines[NUM_ANGLES])
{
	double unit = job->op->attr.loss.kind == PFLD_LOSS_PFLD ? 3.14159265358979323846 / 180 : 1, sum = 0;
	for (int32_t k = 0; k < NUM_ANGLES; k++) {
		double cosine;
		pfld_cpu_sincos(sample->angles[k] - sample->true_angles[k] * unit, &sines[k], &cosine);
		sum += 1 - cosine;
	}
	return sum;
}

// ---- samples ----

static void loss_item(void *arg, int32_t item, int32_t worker)
{
	const struct job *job = arg;
	const struct pfld_loss_attr *attr = &job->op->attr.loss;
	struct sample sample = sample_at(job->op, item);
	bool uses_angles = attr->kind == PFLD_LOSS_PFLD || attr->kind == PFLD_LOSS_PFLD_COMPAT;
	double weight = sample.weight ? *sample.weight : 1, angle = 1, sines[NUM_ANGLES] = {0};
	if (attr->mean_over_targets) weight /= PFLD_MAX(sample.num_counting, 1);
	if (uses_angles) {
		weight *= attribute_weight(job, &sample);
		angle = angle_weight(job, &sample, sines);
	}
	double scale = job->run->loss_scale / job->run->n, factor = weight * angle * scale;
	double sum = attr->kind == PFLD_LOSS_SOFTMAX_CROSS_ENTROPY ? sum_pixels(attr, &sample, factor)
															   : sum_targets(attr, &sample, factor);
	*sample.loss = (pfld_real)(weight * angle * sum);
	for (int32_t k = 0; sample.angle_gradient && k < NUM_ANGLES; k++) {
		sample.angle_gradient[k] = (pfld_real)(sines[k] * weight * sum * scale);
	}
}

static void loss(struct pfld_backend_device *device, const struct pfld_op *op, const struct pfld_run *run)
{
	struct job job = {.op = op, .run = run};
	find_attribute_factors(&job);
	pfld_cpu_parallel(device, run->n, loss_item, &job);
}

const struct pfld_cpu_op pfld_cpu_loss = {.enqueue = loss};

// ---- running sums ----

// sum + low += value, where low holds what the rounding of sum left over (Knuth's two-sum).
static void add_compensated(pfld_real *sum, pfld_real *low, pfld_real value)
{
	pfld_real x = value + *low, total = *sum + x, part = total - *sum;
	*low = (*sum - (total - part)) + (x - part);
	*sum = total;
}

// A batch whose loss is not finite leaves the sums alone: they stay those of the good batches.
static void loss_sums(struct pfld_backend_device *device, const struct pfld_op *op, const struct pfld_run *run)
{
	const pfld_real *losses = pfld_cpu_at(&op->src[0]);
	pfld_real *sums = pfld_cpu_at(&op->dst[0]);
	double total = 0;
	for (int32_t i = 0; i < run->n; i++) total += losses[i];
	pfld_real mean = (pfld_real)(total / run->n);
	sums[PFLD_SUMS_BATCH_LOSS] = mean;
	sums[PFLD_SUMS_BAD] = !isfinite(mean);
	if (!isfinite(mean)) return;
	for (int32_t i = 0; i < run->n; i++) {
		add_compensated(&sums[PFLD_SUMS_LOSS], &sums[PFLD_SUMS_LOSS_LOW], losses[i]);
	}
	sums[PFLD_SUMS_SAMPLES] += (pfld_real)run->n;
}

const struct pfld_cpu_op pfld_cpu_loss_sums = {.enqueue = loss_sums};
