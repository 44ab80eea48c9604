// SPDX-License-Identifier: MIT
// A training loop of your own with a loss of your own, below the trainer: run the network forward, take its output, say
// how the loss changes with it, run backward, step the optimizer. Nothing in the library needs to know the loss.
//   cc main.c $(pkg-config --cflags --libs libpfld) -lm -o custom_loss && ./custom_loss
//
// The job: find the centre of a bright disc in a noisy picture, where every fifth label of the training set is wrong.
// Squared errors follow the wrong labels; the loss here (Geman and McClure 1985) hardly listens to them.
#include <math.h>
#include <pfld/pfld.h>
#include <stdio.h>
#include <stdlib.h>

enum { SIZE = 24, PIXELS = SIZE * SIZE, BATCH = 32, NUM_STEPS = 300, NUM_TEST_BATCHES = 8 };

static void check(enum pfld_status status, const struct pfld_error *error)
{
	if (status == PFLD_OK) return;
	fprintf(stderr, "custom_loss: %s: %s\n", pfld_status_name(status), error->message);
	exit(EXIT_FAILURE);
}

static float random_number(void) // 0..1
{
	return (float)rand() / (float)RAND_MAX;
}

// A picture (SIZE, SIZE, 1) of a disc, and its centre (x, y) in 0..1 of the picture.
static void draw(float *picture, float centre[2])
{
	centre[0] = 0.2f + 0.6f * random_number();
	centre[1] = 0.2f + 0.6f * random_number();
	for (int i = 0; i < PIXELS; i++) {
		float x = ((float)(i % SIZE) + 0.5f) / SIZE - centre[0], y = ((float)(i / SIZE) + 0.5f) / SIZE - centre[1];
		picture[i] = (x * x + y * y < 0.02f ? 0.8f : 0.2f) + 0.2f * (random_number() - 0.5f);
	}
}

static void draw_batch(float *pictures, float *centres, int lie)
{
	for (int i = 0; i < BATCH; i++) {
		draw(pictures + i * PIXELS, centres + 2 * i);
		if (!lie || rand() % 5) continue;
		centres[2 * i] = random_number();
		centres[2 * i + 1] = random_number();
	}
}

// The mean over the batch of r / (s + r), r the squared distance of a prediction from its label, and the derivative of
// that mean by every number of the output: d/dp = 2 (p - t) s / (s + r)^2.
static double robust_loss(const float *predictions, const float *labels, float *gradient)
{
	const double s = 0.1;
	double loss = 0;
	for (int i = 0; i < BATCH; i++) {
		double dx = predictions[2 * i] - labels[2 * i], dy = predictions[2 * i + 1] - labels[2 * i + 1];
		double r = dx * dx + dy * dy, slope = 2 * s / ((s + r) * (s + r)) / BATCH;
		loss += r / (s + r) / BATCH;
		gradient[2 * i] = (float)(dx * slope);
		gradient[2 * i + 1] = (float)(dy * slope);
	}
	return loss;
}

static pfld_value add_block(struct pfld_net *net, pfld_value x, int filters)
{
	struct pfld_conv2d_options conv = {.filters = filters, .kernel = {3, 3}, .stride = {2, 2}, .padding = PFLD_SAME};
	return pfld_relu(net, pfld_batch_norm(net, pfld_conv2d(net, x, &conv), NULL), NULL);
}

// Own loop: everything that pfld_trainer_step() would do, with the loss between forward and backward.
static void train(struct pfld_weights *weights)
{
	static float pictures[BATCH * PIXELS], labels[BATCH * 2], predictions[BATCH * 2], gradient[BATCH * 2];
	struct pfld_error error;
	struct pfld_program *program = NULL;
	struct pfld_program_options training = {.batch = BATCH, .mode = PFLD_TRAIN}; // .loss is NULL: ours comes from here
	check(pfld_program_create(&program, weights, &training, &error), &error);
	struct pfld_optimizer *optimizer = NULL;
	struct pfld_optimizer_options adam = {.kind = PFLD_ADAM};
	check(pfld_optimizer_create(&optimizer, program, &adam, &error), &error);
	// Handles of the program's tensors; they belong to it.
	struct pfld_tensor *input = pfld_program_input(program, "picture");
	struct pfld_tensor *output = pfld_program_output(program, "centre");
	struct pfld_tensor *output_gradient = pfld_program_output_gradient(program, "centre");

	for (int step = 0; step < NUM_STEPS; step++) {
		draw_batch(pictures, labels, 1);
		check(pfld_tensor_upload(input, PFLD_F32, pictures, BATCH * PIXELS, &error), &error);
		check(pfld_program_forward(program, BATCH, NULL, &error), &error);
		check(pfld_tensor_download(output, PFLD_F32, predictions, BATCH * 2, &error), &error);
		double loss = robust_loss(predictions, labels, gradient);
		check(pfld_tensor_upload(output_gradient, PFLD_F32, gradient, BATCH * 2, &error), &error);
		check(pfld_program_backward(program, NULL, &error), &error);
		double learning_rate = 1e-2 * (1 - (double)step / NUM_STEPS);
		check(pfld_optimizer_step(optimizer, learning_rate, 1, NULL, &error), &error);
		if (step % 100 == 0) printf("step %3d: loss %.3f\n", step, loss);
	}
	pfld_optimizer_destroy(&optimizer);
	pfld_program_destroy(&program);
}

// Mean distance of prediction and truth on new pictures, in pixels.
static double test(struct pfld_weights *weights)
{
	static float pictures[BATCH * PIXELS], truth[BATCH * 2], predictions[BATCH * 2];
	struct pfld_error error;
	struct pfld_program *program = NULL;
	struct pfld_program_options infer = {.batch = BATCH, .mode = PFLD_INFER};
	check(pfld_program_create(&program, weights, &infer, &error), &error);
	double sum = 0;
	for (int batch = 0; batch < NUM_TEST_BATCHES; batch++) {
		draw_batch(pictures, truth, 0);
		check(pfld_tensor_upload(pfld_program_input(program, "picture"), PFLD_F32, pictures, BATCH * PIXELS, &error), &error);
		check(pfld_program_forward(program, BATCH, NULL, &error), &error);
		check(pfld_tensor_download(pfld_program_output(program, "centre"), PFLD_F32, predictions, BATCH * 2, &error), &error);
		for (int i = 0; i < BATCH; i++)
			sum += SIZE * hypot(predictions[2 * i] - truth[2 * i], predictions[2 * i + 1] - truth[2 * i + 1]);
	}
	pfld_program_destroy(&program);
	return sum / (NUM_TEST_BATCHES * BATCH);
}

int main(void)
{
	struct pfld_error error;
	struct pfld_device *device = NULL;
	check(pfld_device_open(&device, "auto", NULL, &error), &error);
	struct pfld_net *net = pfld_net_create();
	pfld_value x = pfld_input(net, "picture", SIZE, SIZE, 1);
	x = add_block(net, add_block(net, x, 8), 16); // (N, 6, 6, 16)
	x = pfld_relu(net, pfld_linear(net, x, &(struct pfld_linear_options){.units = 32}), NULL);
	pfld_net_output(net, pfld_linear(net, x, &(struct pfld_linear_options){.units = 2}), "centre");
	struct pfld_weights *weights = NULL;
	check(pfld_weights_create(&weights, device, net, 1, &error), &error);

	printf("before: the centre is missed by %.2f of %d pixels\n", test(weights), SIZE);
	train(weights);
	double missed = test(weights);
	printf("after: by %.2f pixels\n", missed);

	pfld_weights_destroy(&weights);
	pfld_net_destroy(&net);
	pfld_device_close(&device);
	return missed < 1 ? EXIT_SUCCESS : EXIT_FAILURE;
}
