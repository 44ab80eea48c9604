// SPDX-License-Identifier: MIT
// See memory_page.h.
#include "memory_page.h"
#include "predictor.h"

#include <stdio.h>

// What is asked for, in the words of the options.
struct asked {
	const char *what;
	int32_t batch_size;
	int32_t smaller_image; // the largest below the size asked for that fits with the batch; 0: none, or not to be chosen
};

static double mib(uint64_t bytes)
{
	return (double)bytes / (1 << 20);
}

// ---- what would fit ----

// Planned peak of the same training at another image size; 0: it cannot be planned.
static uint64_t planned_at(struct pfld_device *device, const struct train_config *config, int32_t size)
{
	struct pfld_model_options model = config->model.net;
	struct pfld_net *net = pfld_net_create();
	struct pfld_plan *plan = NULL;
	struct pfld_plan_summary summary = {0};
	struct pfld_error ignored;
	model.size = size;
	model.angles = pfld_loss_uses_angles(config->trainer.loss.kind);
	if (!net) return 0;
	pfld_model_pfld(net, &model);
	if (pfld_trainer_plan_create(&plan, device, net, &config->trainer, &ignored) == PFLD_OK) pfld_plan_summary(plan, &summary);
	pfld_plan_destroy(&plan);
	pfld_net_destroy(&net);
	return summary.planned_peak_bytes;
}

static int32_t smaller_image_that_fits(struct pfld_device *device, const struct train_config *config,
									   const struct pfld_memory_page *page)
{
	// Plans count the weights, which may be there.
	uint64_t room = page->room.free_bytes + page->plan.planned_peak_bytes - page->needed_bytes;
	if (config->trainer.memory_budget_bytes && config->trainer.memory_budget_bytes < room)
		room = config->trainer.memory_budget_bytes;
	for (int32_t size = config->model.net.size - 16; size >= 32; size -= 16) {
		uint64_t bytes = planned_at(device, config, size);
		if (bytes && bytes <= room) return size;
	}
	return 0;
}

static void print_ways(const struct pfld_memory_page *page, const struct asked *asked)
{
	fprintf(stderr, "\n  what would fit\n");
	if (page->batch > 0 && page->batch < asked->batch_size)
		fprintf(stderr, "    --batch_size %d\n", (int)page->batch);
	if (page->budget_bytes > 0)
		fprintf(stderr, "    --memory_budget %llu, the same result in %.2f times the time of a step\n",
				(unsigned long long)page->budget_bytes, page->budget_time_ratio);
	if (asked->smaller_image > 0) fprintf(stderr, "    --image_size %d\n", (int)asked->smaller_image);
	if (page->batch == 0 && page->budget_bytes == 0 && asked->smaller_image == 0)
		fprintf(stderr, "    nothing of this net: a smaller one (--width of training), or more memory\n");
}

// ---- the page ----

static void print_bound(const struct pfld_memory_room *room)
{
	static const char *const names[] = {
		[PFLD_BOUND_NONE] = "", [PFLD_BOUND_LIMIT] = "by --memory_limit", [PFLD_BOUND_FRACTION] = "by --memory_fraction",
		[PFLD_BOUND_DEVICE] = "by the memory of the device",
		[PFLD_BOUND_SYSTEM] = "by what the system still gives this process (RAM, control group, ulimit -v), less 192 MiB "
							  "or a quarter of it for all else"};
	if (room->bound == PFLD_BOUND_NONE) return;
	fprintf(stderr, "  free                  %10.1f MiB, bounded %s\n", mib(room->free_bytes), names[room->bound]);
	if (room->limit_bytes > 0) fprintf(stderr, "  limit of the device   %10.1f MiB\n", mib(room->limit_bytes));
}

static void print_classes(const uint64_t by_class[PFLD_MEMORY_NUM_CLASSES])
{
	for (int i = 0; i < PFLD_MEMORY_NUM_CLASSES; i++)
		if (by_class[i] > 0)
			fprintf(stderr, "    %-20s%10.1f MiB\n", pfld_memory_class_name((enum pfld_memory_class)i), mib(by_class[i]));
}

static void print_page(const struct pfld_memory_page *page, const struct asked *asked)
{
	uint64_t taken = 0;
	for (int i = 0; i < PFLD_MEMORY_NUM_CLASSES; i++) taken += page->taken_bytes[i];
	if (page->plan.budget_bytes > 0 && page->plan.planned_peak_bytes > page->plan.budget_bytes)
		fprintf(stderr, "\nout of memory: %s needs %.1f MiB, the budget is %.1f MiB\n", asked->what,
				mib(page->plan.planned_peak_bytes), mib(page->plan.budget_bytes));
	else
		fprintf(stderr, "\nout of memory: %s needs %.1f MiB more than is taken, %.1f MiB are free\n", asked->what,
				mib(page->needed_bytes), mib(page->room.free_bytes));
	print_bound(&page->room);
	fprintf(stderr, "  taken                 %10.1f MiB%s\n", mib(taken), taken > 0 ? ", of which" : "");
	print_classes(page->taken_bytes);
	fprintf(stderr, "\n  planned peak          %10.1f MiB, of which\n", mib(page->plan.planned_peak_bytes));
	print_classes(page->plan.by_class);
	fprintf(stderr, "\n  largest tensors\n");
	for (int i = 0; i < PFLD_PAGE_TENSORS && page->largest[i].bytes > 0; i++)
		fprintf(stderr, "    %-40s%10.1f MiB  %s\n", page->largest[i].name, mib(page->largest[i].bytes),
				pfld_memory_class_name(page->largest[i].memory_class));
	print_ways(page, asked);
}

void memory_page_of_training(const struct network *network, const struct train_config *config)
{
	struct pfld_memory_page page;
	struct pfld_error ignored;
	struct asked asked = {.what = "training", .batch_size = config->trainer.batch};
	if (pfld_trainer_memory_page(&page, network->device, network->net, network->weights, &config->trainer, &ignored)) return;
	asked.smaller_image = smaller_image_that_fits(network->device, config, &page);
	print_page(&page, &asked);
}

void memory_page_of_inference(const struct network *network, int32_t batch)
{
	struct pfld_memory_page page;
	struct pfld_error ignored;
	struct asked asked = {.what = "this net", .batch_size = batch};
	struct pfld_program_options options = inference_options(batch);
	if (pfld_program_memory_page(&page, network->device, network->net, network->weights, &options, &ignored)) return;
	print_page(&page, &asked);
}
