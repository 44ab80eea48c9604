// SPDX-License-Identifier: MIT
// A plan as a picture: time across, addresses up, one rectangle a tensor that says what it is under the pointer. One
// file that needs no other.
#include "memory_plan.h"

#include <string.h>

enum { WIDTH = 1280, HEIGHT = 760, LEFT = 76, RIGHT = 150, TOP = 64, BOTTOM = 40, MAX_TICKS = 10 };

static const char *const COLOURS[PFLD_MEMORY_NUM_CLASSES] = {
	[PFLD_MEMORY_PARAMETERS] = "#4e79a7",  [PFLD_MEMORY_GRADIENTS] = "#f28e2b", [PFLD_MEMORY_OPTIMIZER] = "#76b7b2",
	[PFLD_MEMORY_ACTIVATIONS] = "#59a14f", [PFLD_MEMORY_WORKSPACE] = "#e15759", [PFLD_MEMORY_BATCH] = "#b07aa1",
	[PFLD_MEMORY_OTHER] = "#9c755f",
};

struct picture {
	FILE *file;
	const struct pfld_plan *plan;
	struct pfld_plan_summary summary;
};

static double x_of(const struct picture *p, int32_t op)
{
	return LEFT + (double)op / (p->summary.num_ops > 0 ? p->summary.num_ops : 1) * (WIDTH - LEFT - RIGHT);
}

static double y_of(const struct picture *p, uint64_t address)
{
	double most = p->summary.planned_peak_bytes > 0 ? (double)p->summary.planned_peak_bytes : 1;
	return HEIGHT - BOTTOM - (double)address / most * (HEIGHT - TOP - BOTTOM);
}

// Text as XML has it.
static void put(FILE *file, const char *text)
{
	for (; *text; text++) {
		const char *name = *text == '&' ? "&amp;" : *text == '<' ? "&lt;" : *text == '>' ? "&gt;" : NULL;
		if (name)
			fputs(name, file);
		else
			putc(*text, file);
	}
}

static void put_text(const struct picture *p, double x, double y, const char *anchor, const char *text)
{
	fprintf(p->file, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">", x, y, anchor);
	put(p->file, text);
	fputs("</text>\n", p->file);
}

// Where a region begins when all lie on top of each other; what lives all the time below, the arena on top.
static uint64_t region_begin(const struct picture *p, int32_t index)
{
	uint64_t below = 0;
	struct pfld_plan_region self, other;
	pfld_plan_region(p->plan, index, &self);
	bool is_arena = self.memory_class == PFLD_MEMORY_ACTIVATIONS;
	for (int32_t i = 0; i < p->summary.num_regions; i++) {
		pfld_plan_region(p->plan, i, &other);
		bool arena = other.memory_class == PFLD_MEMORY_ACTIVATIONS;
		if (i != index && (arena == is_arena ? i < index : is_arena)) below += other.bytes;
	}
	return below;
}

static void draw_tensors(const struct picture *p)
{
	fputs("<g shape-rendering=\"crispEdges\">\n", p->file);
	for (int32_t i = 0; i < p->summary.num_tensors; i++) {
		struct pfld_plan_tensor t;
		pfld_plan_tensor(p->plan, i, &t);
		uint64_t begin = region_begin(p, t.region) + t.offset_bytes;
		double x = x_of(p, t.first_op), top = y_of(p, begin + t.bytes), height = y_of(p, begin) - top;
		fprintf(p->file, "<rect class=\"%c\" x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\"%s><title>",
				'a' + (int)t.memory_class, x, top, x_of(p, t.last_op + 1) - x, height,
				height > 2 ? " stroke=\"#fff\" stroke-width=\"1\"" : "");
		put(p->file, t.name);
		fprintf(p->file, ": %llu bytes (%.2f MiB) %s, op %d ", (unsigned long long)t.bytes, memory_mib(t.bytes),
				pfld_memory_class_name(t.memory_class), (int)t.first_op);
		put(p->file, pfld_plan_op_name(p->plan, t.first_op));
		fprintf(p->file, " to %d ", (int)t.last_op);
		put(p->file, pfld_plan_op_name(p->plan, t.last_op));
		fputs("</title></rect>\n", p->file);
	}
	fputs("</g>\n", p->file);
}

// 1, 2 or 5 times a power of ten, in MiB.
static double tick_step(double most)
{
	double step = 0.001;
	for (int i = 0; most / step > MAX_TICKS; i++) step *= i % 3 == 1 ? 2.5 : 2;
	return step;
}

static void draw_axes(const struct picture *p)
{
	char text[96];
	double step = tick_step(memory_mib(p->summary.planned_peak_bytes));
	for (int i = 0; i <= MAX_TICKS; i++) {
		uint64_t address = (uint64_t)(step * i * (1 << 20));
		if (address > p->summary.planned_peak_bytes) break;
		double y = y_of(p, address);
		fprintf(p->file, "<path d=\"M%d %.1fH%d\" stroke=\"#ddd\"/>\n", LEFT, y, WIDTH - RIGHT);
		snprintf(text, sizeof text, "%g MiB", step * i);
		put_text(p, LEFT - 6, y + 4, "end", text);
	}
	snprintf(text, sizeof text, "op 0 to %d, in the order in which they run; programs one behind the other",
			 (int)p->summary.num_ops - 1);
	put_text(p, LEFT, HEIGHT - BOTTOM + 22, "start", text);
}

static void draw_peak(const struct picture *p)
{
	char text[160];
	double x = x_of(p, p->summary.peak_op);
	fprintf(p->file, "<path d=\"M%.1f %dV%d\" stroke=\"#000\" stroke-dasharray=\"3 3\" pointer-events=\"none\"/>\n", x,
			TOP, HEIGHT - BOTTOM);
	snprintf(text, sizeof text, "peak: op %d, %s", (int)p->summary.peak_op,
			 pfld_plan_op_name(p->plan, p->summary.peak_op));
	put_text(p, x, TOP - 8, x > WIDTH / 2 ? "end" : "start", text);
}

static void draw_legend(const struct picture *p)
{
	int y = TOP + 10;
	char text[64];
	for (int i = 0; i < PFLD_MEMORY_NUM_CLASSES; i++) {
		if (p->summary.by_class[i] == 0) continue;
		fprintf(p->file, "<rect class=\"%c\" x=\"%d\" y=\"%d\" width=\"12\" height=\"12\"/>\n", 'a' + i,
				WIDTH - RIGHT + 12, y);
		put_text(p, WIDTH - RIGHT + 30, y + 10, "start", pfld_memory_class_name((enum pfld_memory_class)i));
		snprintf(text, sizeof text, "%.2f MiB", memory_mib(p->summary.by_class[i]));
		put_text(p, WIDTH - RIGHT + 30, y + 25, "start", text);
		y += 40;
	}
}

bool memory_write_svg(const struct pfld_plan *plan, const char *title, FILE *file)
{
	struct picture p = {.file = file, .plan = plan};
	pfld_plan_summary(plan, &p.summary);
	fprintf(file,
			"<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" font-family=\"sans-serif\" "
			"font-size=\"12\">\n<style>",
			WIDTH, HEIGHT);
	for (int i = 0; i < PFLD_MEMORY_NUM_CLASSES; i++) fprintf(file, ".%c{fill:%s}", 'a' + i, COLOURS[i]);
	fputs(
		"rect:hover{fill:#ffd700}</style>\n<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n<g font-size=\"16\">",
		file);
	put_text(&p, LEFT, 28, "start", title);
	fputs("</g>\n", file);
	draw_axes(&p);
	draw_tensors(&p);
	draw_peak(&p);
	draw_legend(&p);
	fputs("</svg>\n", file);
	return fflush(file) == 0 && !ferror(file);
}
