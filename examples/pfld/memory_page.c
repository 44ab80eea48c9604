// SPDX-License-Identifier: MIT
// See memory_page.h.
#include "memory_page.h"

#include <stdio.h>

static double mib(uint64_t bytes)
{
	return (double)bytes / (1 << 20);
}

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

int32_t smaller_image_that_fits(struct pfld_device *device, const struct train_config *config,
								const struct pfld_memory_page *page)
{
	uint64_t room = page->free_bytes + page->taken_bytes; // plans count the weights, which are there
	if (config->trainer.memory_budget_bytes && config->trainer.memory_budget_bytes < room)
		room = config->trainer.memory_budget_bytes;
	for (int32_t size = config->model.net.size - 16; size >= 32; size -= 16) {
		uint64_t bytes = planned_at(device, config, size);
		if (bytes && bytes <= room) return size;
	}
	return 0;
}

static void print_ways(const struct pfld_memory_page *page, const struct memory_ways_out *ways)
{
	fprintf(stderr, "\n  what would fit\n");
	if (page->batch > 0 && page->batch < ways->batch_size)
		fprintf(stderr, "    --batch_size %d\n", (int)page->batch);
	if (page->budget_bytes > 0)
		fprintf(stderr, "    --memory_budget %llu, the same result in %.2f times the time of a step\n",
				(unsigned long long)page->budget_bytes, page->budget_time_ratio);
	if (ways->smaller_image > 0) fprintf(stderr, "    --image_size %d\n", (int)ways->smaller_image);
	if (page->batch == 0 && page->budget_bytes == 0 && ways->smaller_image == 0)
		fprintf(stderr,
				"    nothing of this net: a smaller --width, or more memory (%.1f MiB with this batch, and "
				"--memory_budget)\n",
				mib(page->plan.smallest_budget_bytes));
}

void memory_page_print(const struct pfld_memory_page *page, const struct memory_ways_out *ways)
{
	if (page->plan.budget_bytes > 0 && page->plan.planned_peak_bytes > page->plan.budget_bytes)
		fprintf(stderr, "\nout of memory: training needs %.1f MiB, the budget is %.1f MiB\n",
				mib(page->plan.planned_peak_bytes), mib(page->plan.budget_bytes));
	else
		fprintf(stderr, "\nout of memory: training needs %.1f MiB more than is taken, %.1f MiB are free\n",
				mib(page->needed_bytes), mib(page->free_bytes));
	if (page->limit_bytes > 0) fprintf(stderr, "  limit of the device   %10.1f MiB\n", mib(page->limit_bytes));
	fprintf(stderr, "  taken (weights)       %10.1f MiB\n", mib(page->taken_bytes));
	fprintf(stderr, "\n  planned peak          %10.1f MiB, of which\n", mib(page->plan.planned_peak_bytes));
	for (int i = 0; i < PFLD_MEMORY_NUM_CLASSES; i++)
		if (page->plan.by_class[i] > 0)
			fprintf(stderr, "    %-20s%10.1f MiB\n", pfld_memory_class_name((enum pfld_memory_class)i),
					mib(page->plan.by_class[i]));
	fprintf(stderr, "\n  largest tensors\n");
	for (int i = 0; i < PFLD_PAGE_TENSORS && page->largest[i].bytes > 0; i++)
		fprintf(stderr, "    %-40s%10.1f MiB\n", page->largest[i].name, mib(page->largest[i].bytes));
	print_ways(page, ways);
}
