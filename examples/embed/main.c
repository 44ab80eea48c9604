// SPDX-License-Identifier: MIT
// libpfld in a program of your own: a small network is defined, trained on arrays made in memory, saved, loaded, asked.
// It tells lying stripes from upright ones. To build: cc main.c $(pkg-config --cflags --libs libpfld) -o embed
#include <pfld/pfld.h>
#include <stdio.h>
#include <stdlib.h>

enum { SIZE = 16, PIXELS = SIZE * SIZE, BATCH = 32, NUM_STEPS = 80, NUM_TESTS = 200 };
static struct pfld_error error;

static void check(enum pfld_status status) // the library never ends or prints for its host; this host does
{
	if (status == PFLD_OK) return;
	fprintf(stderr, "embed: %s: %s\n", pfld_status_name(status), error.message);
	exit(EXIT_FAILURE);
}

static void draw(float *picture, int upright) // (SIZE, SIZE, 1)
{
	int phase = rand() % 8;
	for (int i = 0; i < PIXELS; i++) {
		int across = upright ? i % SIZE : i / SIZE;
		picture[i] = ((across + phase) % 8 < 4 ? -0.2f : 0.2f) + (float)rand() / (float)RAND_MAX;
	}
}

int main(void)
{
	struct pfld_device *device = NULL;
	check(pfld_device_open(&device, "auto", NULL, &error));

	struct pfld_net *net = pfld_net_create(); // errors stay in the net until weights are made of it
	pfld_value x = pfld_input(net, "picture", SIZE, SIZE, 1);
	x = pfld_conv2d(net, x, &(struct pfld_conv2d_options){.filters = 8, .kernel = {3, 3}, .stride = {2, 2}});
	x = pfld_relu(net, pfld_batch_norm(net, x, NULL), NULL); // (N, 7, 7, 8)
	x = pfld_conv2d(net, x, &(struct pfld_conv2d_options){.filters = 16, .kernel = {3, 3}});
	x = pfld_global_avg_pool(net, pfld_relu(net, x, NULL), NULL); // (N, 1, 1, 16)
	pfld_net_output(net, pfld_linear(net, x, &(struct pfld_linear_options){.units = 2}), "classes");

	struct pfld_weights *weights = NULL;
	check(pfld_weights_create(&weights, device, net, 1, &error));
	struct pfld_trainer *trainer = NULL;
	struct pfld_trainer_options options = {.batch = BATCH, .loss.kind = PFLD_LOSS_SOFTMAX_CROSS_ENTROPY};
	options.optimizer = (struct pfld_optimizer_options){.kind = PFLD_ADAM, .learning_rate = 1e-2};
	check(pfld_trainer_create(&trainer, weights, &options, &error));
	struct pfld_batch *batch = pfld_trainer_slots(trainer, NULL); // memory of the trainer, filled by us
	batch->num_samples = BATCH;
	for (int step = 0; step < NUM_STEPS; step++) {
		double loss;
		for (int i = 0; i < BATCH; i++) {
			draw(batch->inputs + i * PIXELS, i % 2);
			batch->targets[2 * i + i % 2] = 1; // shares of the two classes, the other one's is 0
		}
		check(pfld_trainer_step(trainer, batch, &loss, &error));
		if (step % 20 == 0) printf("step %2d: loss %.3f\n", step, loss);
	}
	pfld_trainer_destroy(&trainer);
	check(pfld_weights_save(weights, "stripes.safetensors", NULL, 0, &error));
	pfld_weights_destroy(&weights);

	check(pfld_weights_create(&weights, device, net, 2, &error)); // as another program would: other weights, then these
	check(pfld_weights_load(weights, "stripes.safetensors", PFLD_LOAD_ALL, NULL, &error));
	struct pfld_program *program = NULL;
	check(pfld_program_create(&program, weights, &(struct pfld_program_options){.batch = 1, .mode = PFLD_INFER}, &error));
	int num_right = 0;
	for (int i = 0; i < NUM_TESTS; i++) {
		float picture[PIXELS], classes[2];
		draw(picture, i % 2);
		check(pfld_tensor_upload(pfld_program_input(program, "picture"), PFLD_F32, picture, PIXELS, &error));
		check(pfld_program_forward(program, 1, NULL, &error));
		check(pfld_tensor_download(pfld_program_output(program, "classes"), PFLD_F32, classes, 2, &error));
		num_right += (classes[1] > classes[0]) == (i % 2);
	}
	printf("%d of %d new pictures are told right\n", num_right, NUM_TESTS);
	pfld_program_destroy(&program);
	pfld_weights_destroy(&weights);
	pfld_net_destroy(&net);
	pfld_device_close(&device);
	return num_right >= NUM_TESTS * 9 / 10 ? EXIT_SUCCESS : EXIT_FAILURE;
}
