// SPDX-License-Identifier: MIT
// How fast a whole training step of PFLD is: forward, loss, backward and optimizer on one batch that stays the same, loss
// `pfld` with the angle net. Reports images a second, the share of this machine's peak, the planned memory and the resident.
#include "peak.h"

#include <getopt.h>
#include <pfld/pfld.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

struct options {
	enum pfld_preset preset;
	double width;
	int32_t batch, size, threads, steps;
	const char *device, *level;
	double budget_mib;
	bool unfused, json;
};

static const char usage[] =
    "train_step: time training steps of PFLD (loss pfld, with the angle net, Adam)\n\n"
    "  --preset paper|pt|tf   form of PFLD (pt)\n"
    "  --width W              times every channel count (1)\n"
    "  --batch_size N         (64)\n"
    "  --image_size N         (112)\n"
    "  --threads N            (0: the CPUs of this process)\n"
    "  --steps N              timed steps after one that is not (7)\n"
    "  --device NAME          (cpu)\n"
    "  --cpu_level LEVEL      c or avx2 (best)\n"
    "  --budget_mib X         memory budget in MiB; what does not fit is computed again (0: none)\n"
    "  --unfused              batch norm and activation by themselves, as they once were\n"
    "  --json                 one JSON object\n\n"
    "Examples:\n"
    "  train_step --preset pt --width 1 --batch_size 64\n"
    "  train_step --preset paper --width 0.25 --batch_size 32 --threads 1 --json\n";

static int wrong(const char *what)
{
	fprintf(stderr, "train_step: %s; --help lists the options\n", what);
	return 2;
}

static const struct option long_options[] = {
    {"preset", required_argument, NULL, 'p'},     {"width", required_argument, NULL, 'w'},
    {"batch_size", required_argument, NULL, 'b'}, {"batch-size", required_argument, NULL, 'b'},
    {"image_size", required_argument, NULL, 'i'}, {"image-size", required_argument, NULL, 'i'},
    {"threads", required_argument, NULL, 't'},    {"steps", required_argument, NULL, 's'},
    {"device", required_argument, NULL, 'd'},     {"cpu_level", required_argument, NULL, 'l'},
    {"cpu-level", required_argument, NULL, 'l'},  {"json", no_argument, NULL, 'j'},
    {"budget_mib", required_argument, NULL, 'm'}, {"budget-mib", required_argument, NULL, 'm'},
    {"unfused", no_argument, NULL, 'u'},          {"help", no_argument, NULL, 'h'},
    {NULL, 0, NULL, 0},
};

// -1: go on; else the exit status.
static int read_options(int argc, char **argv, struct options *o)
{
	for (int c; (c = getopt_long(argc, argv, "", long_options, NULL)) != -1;) {
		double number = 0;
		if (strchr("wbitsm", c) && !pfld_parse_number(optarg, &number)) return wrong("a number is expected");
		switch (c) {
		case 'p':
			if (!pfld_preset_from_name(optarg, &o->preset)) return wrong("--preset is paper, pt or tf");
			break;
		case 'w': o->width = number; break;
		case 'b': o->batch = (int32_t)number; break;
		case 'i': o->size = (int32_t)number; break;
		case 't': o->threads = (int32_t)number; break;
		case 's': o->steps = (int32_t)number; break;
		case 'd': o->device = optarg; break;
		case 'l': o->level = optarg; break;
		case 'm': o->budget_mib = number; break;
		case 'u': o->unfused = true; break;
		case 'j': o->json = true; break;
		case 'h': fputs(usage, stdout); return 0;
		default: return 2;
		}
	}
	if (optind < argc) return wrong("an argument too many");
	return o->batch < 2 || o->steps < 1 ? wrong("--batch_size must be at least 2, --steps at least 1") : -1;
}

static int ascending(const void *a, const void *b)
{
	return (*(const double *)a > *(const double *)b) - (*(const double *)a < *(const double *)b);
}

struct result {
	double median_s, min_s, peak_gflops, macs, resident_mib;
	struct pfld_plan_summary plan;
};

static void fill_batch(struct pfld_batch *batch, const struct options *o)
{
	size_t n = (size_t)o->batch, pixels = (size_t)o->size * (size_t)o->size * 3;
	for (size_t i = 0; i < n * pixels; i++) batch->inputs[i] = (float)(i * 2654435761u % 1000) / 1000;
	for (size_t i = 0; i < n * 196; i++) batch->targets[i] = (float)(i * 40503u % 1000) / 1000;
	for (size_t i = 0; i < n * 6; i++) batch->attributes[i] = (float)(i % 5 == 0);
	for (size_t i = 0; i < n * 3; i++) batch->angles[i] = (float)(i % 41) - 20;
	batch->num_samples = o->batch;
}

static enum pfld_status measure(struct pfld_trainer *trainer, const struct options *o, double *times, struct result *result,
                                struct pfld_error *error)
{
	struct pfld_batch *batch = pfld_trainer_slots(trainer, NULL);
	struct peak peak;
	fill_batch(batch, o);
	double loss, *peaks = times + o->steps;
	enum pfld_status status = pfld_trainer_step(trainer, batch, &loss, error);
	// The most that this process has held, before looking at the machine's peak takes memory of its own.
	struct rusage usage;
	if (getrusage(RUSAGE_SELF, &usage) == 0) result->resident_mib = (double)usage.ru_maxrss / 1024;
	if (status == PFLD_OK) status = peak_create(&peak, o->threads ? o->threads : pfld_default_num_threads(), error);
	if (status != PFLD_OK) return status;
	for (int32_t i = 0; status == PFLD_OK && i < o->steps; i++) {
		uint64_t start = pfld_now_ns();
		status = pfld_trainer_step(trainer, batch, &loss, error);
		times[i] = (double)(pfld_now_ns() - start) * 1e-9;
		peaks[i] = peak_gflops(&peak);
	}
	peak_destroy(&peak);
	if (status != PFLD_OK) return status;
	qsort(times, (size_t)o->steps, sizeof *times, ascending);
	qsort(peaks, (size_t)o->steps, sizeof *peaks, ascending);
	result->median_s = times[o->steps / 2];
	result->min_s = times[0];
	result->peak_gflops = peaks[o->steps / 2];
	pfld_plan_summary(pfld_trainer_plan(trainer), &result->plan);
	return PFLD_OK;
}

static enum pfld_status run(struct pfld_device *device, struct pfld_net *net, const struct options *o,
                            struct result *result, struct pfld_error *error)
{
	struct pfld_model_options model = {.preset = o->preset, .width = o->width, .size = o->size, .angles = true};
	struct pfld_trainer_options options = {.batch = o->batch,
	                                       .loss = {.kind = PFLD_LOSS_PFLD},
	                                       .optimizer = {.kind = PFLD_ADAM, .learning_rate = 1e-4},
	                                       .num_slots = 1,
	                                       .memory_budget_bytes = (uint64_t)(o->budget_mib * (1 << 20)),
	                                       .unfused = o->unfused};
	struct pfld_weights *weights = NULL;
	struct pfld_trainer *trainer = NULL;
	int64_t macs = 0;
	double *times = pfld_calloc(2 * (size_t)o->steps, sizeof *times);
	enum pfld_status status = times ? PFLD_OK : pfld_fail_memory(error, 1, "times");
	pfld_model_pfld(net, &model);
	if (status == PFLD_OK) status = pfld_net_count(net, NULL, NULL, NULL, &macs, error);
	if (status == PFLD_OK) status = pfld_weights_create(&weights, device, net, 1, error);
	if (status == PFLD_OK) status = pfld_trainer_create(&trainer, weights, &options, error);
	if (status == PFLD_OK) status = measure(trainer, o, times, result, error);
	result->macs = (double)macs;
	pfld_trainer_destroy(&trainer);
	pfld_weights_destroy(&weights);
	free(times);
	return status;
}

static void print(const struct pfld_device *device, const struct options *o, const struct result *r)
{
	// Forward once, each gradient once: three times the multiply-adds, two operations each.
	double gflops = 6 * r->macs * o->batch / r->median_s * 1e-9;
	double plan = (double)r->plan.planned_peak_bytes;
	const char *format =
	    o->json ? "{\"preset\": \"%s\", \"width\": %g, \"batch_size\": %d, \"image_size\": %d, \"threads\": %d, \"level\": \"%s\", "
	              "\"step_s_median\": %.6f, \"step_s_min\": %.6f, \"images_per_s_median\": %.3f, \"images_per_s_best\": %.3f, "
	              "\"gflops\": %.2f, \"peak_gflops\": %.2f, \"share_of_peak\": %.3f, \"planned_peak_bytes\": %.0f, "
	              "\"resident_mib\": %.1f, \"predicted_time_ratio\": %.4f}\n"
	            : "preset %s, width %g, batch %d, image %d, %d threads, level %s\n"
	              "step    %.4f s median, %.4f s best\n"
	              "speed   %.1f images/s median, %.1f best\n"
	              "compute %.1f GFLOP/s, this machine's peak %.1f (share %.2f)\n"
	              "memory  %.0f bytes planned, process %.1f MiB resident at most; predicted time, to a step without a "
	              "budget: %.3f\n";
	printf(format, pfld_preset_name(o->preset), o->width, o->batch, o->size, pfld_device_num_threads(device),
	       pfld_device_level(device), r->median_s, r->min_s, o->batch / r->median_s, o->batch / r->min_s, gflops,
	       r->peak_gflops, gflops / r->peak_gflops, plan, r->resident_mib, r->plan.predicted_time_ratio);
}

int main(int argc, char **argv)
{
	struct options o = {
	    .preset = PFLD_PRESET_PT, .width = 1, .batch = 64, .size = 112, .steps = 7, .device = "cpu"};
	int exit_status = read_options(argc, argv, &o);
	if (exit_status >= 0) return exit_status;
	struct pfld_device *device = NULL;
	struct pfld_net *net = pfld_net_create();
	struct pfld_error error = {0};
	struct result result = {0};
	struct pfld_device_options device_options = {.num_threads = o.threads, .cpu_level = o.level};
	enum pfld_status status = pfld_device_open(&device, o.device, &device_options, &error);
	if (status == PFLD_OK) status = run(device, net, &o, &result, &error);
	if (status == PFLD_OK) print(device, &o, &result);
	else fprintf(stderr, "train_step: %s\n", error.message);
	pfld_net_destroy(&net);
	pfld_device_close(&device);
	return status == PFLD_OK ? 0 : 1;
}
