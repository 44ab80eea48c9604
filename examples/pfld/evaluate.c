// SPDX-License-Identifier: MIT
// Measuring a net on a list.
#include "evaluate.h"
#include "say.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { NUM_SLOTS = 2 };

const char *const ATTRIBUTE_NAMES[NUM_ATTRIBUTES] = {"pose",   "expression", "illumination",
													 "makeup", "occlusion",  "blur"};

struct evaluator {
	struct evaluator_options options;
	struct pfld_loader *loader;
	struct pfld_batch slots[NUM_SLOTS];
	float *predictions; // (batch, 2P)
	int32_t num_points, size;
	int64_t num_samples;
	double *nmes;                    // (num_samples), NaN where undefined
	uint8_t *attributes;             // (num_samples): bit per subset
	struct pfld_report_face *shown;  // (num_shown)
	struct pfld_image *shown_images; // (num_shown)
	float *shown_points;             // (num_shown, 2, 2P): truth, prediction
};

static enum pfld_status make_slots(struct evaluator *evaluator, struct pfld_error *error)
{
	size_t batch = (size_t)evaluator->options.batch, size = (size_t)evaluator->size;
	size_t num_targets = (size_t)evaluator->num_points * 2;
	for (int i = 0; i < NUM_SLOTS; i++) {
		struct pfld_batch *slot = &evaluator->slots[i];
		*slot = (struct pfld_batch){.slot = -1,
									.capacity = evaluator->options.batch,
									.inputs = calloc(batch * size * size * 3, sizeof(float)),
									.targets = calloc(batch * num_targets, sizeof(float)),
									.target_mask = calloc(batch * num_targets, sizeof(float)),
									.indices = calloc(batch, sizeof(uint32_t))};
		if (!slot->inputs || !slot->targets || !slot->target_mask || !slot->indices)
			return fail(error, PFLD_ERR_MEMORY, "out of memory for test batches of %d faces", (int)slot->capacity);
	}
	return PFLD_OK;
}

static enum pfld_status make_shown(struct evaluator *evaluator, struct pfld_error *error)
{
	size_t num = (size_t)evaluator->options.num_shown, num_targets = (size_t)evaluator->num_points * 2;
	evaluator->shown = calloc(num + 1, sizeof(*evaluator->shown));
	evaluator->shown_images = calloc(num + 1, sizeof(*evaluator->shown_images));
	evaluator->shown_points = calloc(num * 2 * num_targets + 1, sizeof(*evaluator->shown_points));
	if (!evaluator->shown || !evaluator->shown_images || !evaluator->shown_points)
		return fail(error, PFLD_ERR_MEMORY, "out of memory for %zu faces of the report", num);
	for (size_t i = 0; i < num; i++) {
		enum pfld_status status =
			pfld_image_resize_buffer(&evaluator->shown_images[i], evaluator->size, evaluator->size, error);
		if (status) return status;
	}
	return PFLD_OK;
}

static enum pfld_status open_loader(struct evaluator *evaluator, struct pfld_error *error)
{
	struct pfld_loader_options options = {.sample = evaluator->options.sample,
										  .num_threads = evaluator->options.num_threads,
										  .max_bad = evaluator->options.max_bad,
										  .log = evaluator->options.log};
	return pfld_loader_open(&evaluator->loader, evaluator->options.dataset, evaluator->slots, NUM_SLOTS, &options,
							error);
}

enum pfld_status evaluator_create(struct evaluator **evaluator, const struct evaluator_options *options,
								  struct pfld_error *error)
{
	struct evaluator *fresh = calloc(1, sizeof(*fresh));
	if (!fresh) return fail(error, PFLD_ERR_MEMORY, "out of memory for the evaluation");
	fresh->options = *options;
	fresh->num_points = pfld_dataset_num_points(options->dataset);
	fresh->num_samples = pfld_dataset_size(options->dataset);
	fresh->size = options->sample.size;
	if (fresh->options.num_shown > fresh->num_samples) fresh->options.num_shown = (int32_t)fresh->num_samples;
	fresh->predictions = calloc((size_t)options->batch * (size_t)fresh->num_points * 2, sizeof(float));
	fresh->nmes = calloc((size_t)fresh->num_samples + 1, sizeof(double));
	fresh->attributes = calloc((size_t)fresh->num_samples + 1, 1);
	enum pfld_status status = PFLD_OK;
	if (!fresh->predictions || !fresh->nmes || !fresh->attributes)
		status = fail(error, PFLD_ERR_MEMORY, "out of memory for the evaluation of %lld faces",
					  (long long)fresh->num_samples);
	if (!status) status = make_slots(fresh, error);
	if (!status) status = make_shown(fresh, error);
	if (!status) status = open_loader(fresh, error);
	if (status)
		evaluator_destroy(&fresh);
	else
		*evaluator = fresh;
	return status;
}

void evaluator_destroy(struct evaluator **evaluator)
{
	struct evaluator *old = *evaluator;
	if (!old) return;
	pfld_loader_close(&old->loader);
	for (int i = 0; i < NUM_SLOTS; i++) {
		free(old->slots[i].inputs);
		free(old->slots[i].targets);
		free(old->slots[i].target_mask);
		free(old->slots[i].indices);
	}
	for (int32_t i = 0; old->shown_images && i < old->options.num_shown; i++) pfld_image_finish(&old->shown_images[i]);
	free(old->shown_images);
	free(old->shown_points);
	free(old->shown);
	free(old->predictions);
	free(old->nmes);
	free(old->attributes);
	free(old);
	*evaluator = NULL;
}

size_t evaluator_skips(const struct evaluator *evaluator, const struct pfld_skipped_sample **skipped)
{
	return pfld_loader_skips(evaluator->loader, skipped);
}

static double or_default(double value, double otherwise)
{
	return value != 0 ? value : otherwise;
}

// The loss of one number that is `distance` off, crop-relative.
static double loss_of(const struct pfld_loss_options *loss, double distance)
{
	double x = fabs(distance) * or_default(loss->point_scale, 1);
	double w = or_default(loss->wing_w, 10), epsilon = or_default(loss->wing_epsilon, 2),
		   beta = or_default(loss->beta, 1);
	switch (loss->kind) {
	case PFLD_LOSS_WING: return x < w ? w * log(1 + x / epsilon) : x - w + w * log(1 + w / epsilon);
	case PFLD_LOSS_L1: return x;
	case PFLD_LOSS_SMOOTH_L1: return x < beta ? x * x / (2 * beta) : x - beta / 2;
	default: // squared distance: l2, and what pfld and pfld_compat weigh
		return distance * distance;
	}
}

static double loss_of_face(const struct pfld_loss_options *loss, const float *prediction, const float *truth,
						   const float *mask, int32_t num_targets)
{
	double sum = 0;
	for (int32_t i = 0; i < num_targets; i++)
		if (mask[i] != 0) sum += loss_of(loss, (double)prediction[i] - truth[i]);
	return sum;
}

// A net's input back to a picture.
static void to_image(struct pfld_image *image, const float *input, const struct pfld_sample_options *sample)
{
	size_t num = (size_t)image->width * (size_t)image->height * 3;
	double scale = sample->scaling == PFLD_SCALE_256      ? 256
				   : sample->scaling == PFLD_SCALE_SIGNED ? 127.5
				   : sample->scaling == PFLD_SCALE_NONE   ? 1
														  : 255;
	double offset = sample->scaling == PFLD_SCALE_SIGNED ? 127.5 : 0;
	for (size_t i = 0; i < num; i++) {
		size_t from = sample->bgr ? i - i % 3 + (2 - i % 3) : i;
		double value = input[from] * scale + offset + 0.5;
		image->pixels[i] = (uint8_t)(value < 0 ? 0 : value > 255 ? 255 : value);
	}
}

// Faces to show are spread evenly over the list: number k stands at index k * num_samples / num_shown.
static int32_t shown_place(const struct evaluator *evaluator, int64_t index)
{
	int64_t num = evaluator->options.num_shown;
	if (num == 0) return -1;
	int64_t place = (index * num + evaluator->num_samples - 1) / evaluator->num_samples;
	return place < num && place * evaluator->num_samples / num == index ? (int32_t)place : -1;
}

static void keep_shown(struct evaluator *evaluator, struct evaluation *evaluation, const struct pfld_batch *batch,
					   int32_t sample, double nme)
{
	size_t num_targets = (size_t)evaluator->num_points * 2, pixels = (size_t)evaluator->size * (size_t)evaluator->size;
	int32_t place = evaluation->num_shown++;
	struct pfld_image *image = &evaluator->shown_images[place];
	float *truth = evaluator->shown_points + (size_t)place * 2 * num_targets, *prediction = truth + num_targets;
	to_image(image, batch->inputs + (size_t)sample * pixels * 3, &evaluator->options.sample);
	for (size_t i = 0; i < num_targets; i++) {
		bool there = batch->target_mask[(size_t)sample * num_targets + i] != 0;
		float size = (float)evaluator->size;
		truth[i] = there ? batch->targets[(size_t)sample * num_targets + i] * size - 0.5f : NAN;
		prediction[i] = evaluator->predictions[(size_t)sample * num_targets + i] * size - 0.5f;
	}
	evaluator->shown[place] = (struct pfld_report_face){image, truth, prediction, evaluator->num_points, nme};
}

static uint8_t attribute_bits(const struct evaluator *evaluator, uint32_t index)
{
	struct pfld_face face;
	uint8_t bits = 0;
	pfld_dataset_face(evaluator->options.dataset, index, &face);
	for (int i = 0; i < NUM_ATTRIBUTES; i++) bits |= (uint8_t)((face.attributes[i] != 0) << i);
	return bits;
}

static void add_batch(struct evaluator *evaluator, struct evaluation *evaluation, const struct pfld_batch *batch)
{
	int32_t num_targets = evaluator->num_points * 2;
	for (int32_t i = 0; i < batch->num_samples; i++) {
		const float *prediction = evaluator->predictions + (size_t)i * (size_t)num_targets;
		const float *truth = batch->targets + (size_t)i * (size_t)num_targets;
		const float *mask = batch->target_mask + (size_t)i * (size_t)num_targets;
		double nme = NAN;
		if (evaluator->options.has_corners)
			nme = pfld_nme(prediction, truth, mask, evaluator->num_points, evaluator->options.corners);
		evaluator->nmes[evaluation->num_faces] = nme;
		evaluator->attributes[evaluation->num_faces] = attribute_bits(evaluator, batch->indices[i]);
		evaluation->num_faces++;
		evaluation->loss += loss_of_face(&evaluator->options.loss, prediction, truth, mask, num_targets);
		if (shown_place(evaluator, batch->indices[i]) >= 0) keep_shown(evaluator, evaluation, batch, i, nme);
	}
}

// The metrics over all faces, and over those that carry each attribute.
static enum pfld_status sum_up(const struct evaluator *evaluator, struct evaluation *evaluation,
							   struct pfld_error *error)
{
	enum pfld_status status = pfld_landmark_metrics(evaluator->nmes, evaluation->num_faces, 0, &evaluation->all, error);
	evaluation->loss = evaluation->num_faces > 0 ? evaluation->loss / (double)evaluation->num_faces : NAN;
	evaluation->has_subsets = pfld_dataset_has_attributes(evaluator->options.dataset);
	if (status || !evaluation->has_subsets) return status;
	double *subset = calloc((size_t)evaluation->num_faces + 1, sizeof(*subset));
	if (!subset) return fail(error, PFLD_ERR_MEMORY, "out of memory for %lld errors", (long long)evaluation->num_faces);
	for (int a = 0; a < NUM_ATTRIBUTES && !status; a++) {
		int64_t num = 0;
		for (int64_t i = 0; i < evaluation->num_faces; i++)
			if (evaluator->attributes[i] >> a & 1) subset[num++] = evaluator->nmes[i];
		status = pfld_landmark_metrics(subset, num, 0, &evaluation->subsets[a], error);
	}
	free(subset);
	return status;
}

enum pfld_status evaluator_run(struct evaluator *evaluator, predict_fn *predict, void *context,
							   struct evaluation *evaluation, struct pfld_error *error)
{
	*evaluation = (struct evaluation){.shown = evaluator->shown};
	for (;;) {
		struct pfld_batch *batch;
		enum pfld_status status = pfld_loader_next(evaluator->loader, &batch, error);
		if (status == PFLD_END) return sum_up(evaluator, evaluation, error);
		if (status) return status;
		status = predict(context, batch, evaluator->predictions, error);
		if (!status) add_batch(evaluator, evaluation, batch);
		pfld_loader_release(evaluator->loader, batch);
		if (status) return status;
		if (evaluator->options.stop && *evaluator->options.stop)
			return fail(error, PFLD_ERR_CANCELLED, "interrupted while testing");
	}
}
