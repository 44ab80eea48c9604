// SPDX-License-Identifier: MIT
// Line charts of the report as inline SVG: axes with round ticks, one polyline a series. Called by report_html.c.
#include "report_parts.h"

#include <math.h>
#include <string.h>

enum { WIDTH = 460, HEIGHT = 254, LEFT = 58, RIGHT = 14, TOP = 34, BOTTOM = 34, MAX_DOTS = 40, NUM_TICKS = 5 };

// The range of values shown, on a linear or logarithmic scale.
struct axis {
	double low, high; // log10 of them where `logarithmic`
	bool logarithmic;
};

static double value_of(const struct pfld_report_epoch *epoch, size_t offset)
{
	return pfld_report_cell(epoch, &(struct pfld_report_column){.offset = offset});
}

// Values spread over more than this factor are shown on a logarithmic scale.
static const double LOGARITHMIC_FROM = 25;

static bool find_axis(struct axis *axis, const struct pfld_report *report, const struct pfld_report_series *series,
					  size_t num_series)
{
	double low = INFINITY, high = -INFINITY;
	for (size_t s = 0; s < num_series; s++) {
		for (size_t i = 0; i < report->num_epochs; i++) {
			double value = value_of(&report->epochs[i], series[s].offset);
			if (!isfinite(value)) continue;
			low = PFLD_MIN(low, value);
			high = PFLD_MAX(high, value);
		}
	}
	if (low > high) return false;
	axis->logarithmic = low > 0 && high / low > LOGARITHMIC_FROM;
	if (axis->logarithmic) {
		axis->low = log10(low);
		axis->high = log10(high);
		return true;
	}
	axis->low = low > 0 && low < high * 0.6 ? 0 : low;
	axis->high = high;
	if (axis->high - axis->low <= fabs(high) * 1e-9) {
		axis->low -= fabs(high) * 0.5 + 1e-12;
		axis->high += fabs(high) * 0.5 + 1e-12;
	}
	return true;
}

static double y_of(const struct axis *axis, double value)
{
	double place = axis->logarithmic ? log10(value) : value;
	return HEIGHT - BOTTOM - (place - axis->low) / (axis->high - axis->low) * (HEIGHT - TOP - BOTTOM);
}

static double x_of(const struct pfld_report *report, int32_t epoch)
{
	int32_t first = report->epochs[0].epoch, last = report->epochs[report->num_epochs - 1].epoch;
	double share = last > first ? (double)(epoch - first) / (last - first) : 0.5;
	return LEFT + share * (WIDTH - LEFT - RIGHT);
}

// The next of 1, 2, 5, 10, ... at or above `step`.
static double round_step(double step)
{
	double power = pow(10, floor(log10(step))), digit = step / power;
	return power * (digit <= 1 ? 1 : digit <= 2 ? 2 : digit <= 5 ? 5 : 10);
}

static void append_tick(struct pfld_text *text, const struct axis *axis, double value)
{
	double y = y_of(axis, value);
	if (y < TOP - 0.5 || y > HEIGHT - BOTTOM + 0.5) return;
	pfld_text_printf(text, "<path class=\"grid\" d=\"M%d ", LEFT);
	pfld_text_number(text, y, 5);
	pfld_text_printf(text, "H%d\"/><text x=\"%d\" y=\"", WIDTH - RIGHT, LEFT - 8);
	pfld_text_number(text, y + 3.5, 5);
	pfld_text_append(text, "\" text-anchor=\"end\">");
	pfld_text_number(text, value, 6);
	pfld_text_append(text, "</text>");
}

static void append_value_axis(struct pfld_text *text, const struct axis *axis)
{
	if (!axis->logarithmic) {
		double step = round_step((axis->high - axis->low) / NUM_TICKS);
		double first = ceil(axis->low / step - 1e-9);
		for (int i = 0; i <= NUM_TICKS + 1; i++) {
			double value = (first + i) * step;
			append_tick(text, axis, fabs(value) < step * 1e-6 ? 0 : value);
		}
		return;
	}
	bool wide = axis->high - axis->low > 3;
	for (int power = (int)floor(axis->low); power <= (int)ceil(axis->high); power++) {
		append_tick(text, axis, pow(10, power));
		if (wide) continue;
		append_tick(text, axis, 2 * pow(10, power));
		append_tick(text, axis, 5 * pow(10, power));
	}
}

static void append_epoch_axis(struct pfld_text *text, const struct pfld_report *report)
{
	int32_t first = report->epochs[0].epoch, last = report->epochs[report->num_epochs - 1].epoch;
	int32_t step = (int32_t)round_step(PFLD_MAX((last - first) / 6.0, 1.0));
	for (int32_t epoch = first; epoch <= last; epoch++) {
		if (epoch % step != 0 && epoch != first) continue;
		pfld_text_append(text, "<text x=\"");
		pfld_text_number(text, x_of(report, epoch), 5);
		pfld_text_printf(text, "\" y=\"%d\" text-anchor=\"middle\">%d</text>", HEIGHT - BOTTOM + 16, (int)epoch);
	}
	pfld_text_printf(text, "<path class=\"axis\" d=\"M%d %dH%d\"/>", LEFT, HEIGHT - BOTTOM, WIDTH - RIGHT);
	pfld_text_printf(text, "<text x=\"%d\" y=\"%d\" text-anchor=\"end\">epoch</text>", WIDTH - RIGHT, HEIGHT - 3);
}

static void append_line(struct pfld_text *text, const struct pfld_report *report, const struct axis *axis,
						const struct pfld_report_series *series)
{
	struct pfld_text dots = {0};
	pfld_text_printf(text, "<polyline class=\"line %s\" points=\"", series->css_class);
	for (size_t i = 0; i < report->num_epochs; i++) {
		double value = value_of(&report->epochs[i], series->offset);
		if (!isfinite(value)) continue;
		double x = x_of(report, report->epochs[i].epoch), y = y_of(axis, value);
		pfld_text_number(text, x, 5);
		pfld_text_append(text, ",");
		pfld_text_number(text, y, 5);
		pfld_text_append(text, " ");
		if (report->num_epochs > MAX_DOTS) continue;
		pfld_text_append(&dots, "M");
		pfld_text_number(&dots, x, 5);
		pfld_text_append(&dots, " ");
		pfld_text_number(&dots, y, 5);
		pfld_text_append(&dots, "h0");
	}
	pfld_text_append(text, "\"/>");
	if (dots.length > 0) pfld_text_printf(text, "<path class=\"dots %s\" d=\"%s\"/>", series->css_class, dots.data);
	text->failed |= dots.failed;
	pfld_text_finish(&dots);
}

void pfld_report_append_chart(struct pfld_text *text, const struct pfld_report *report, const char *title,
							  const struct pfld_report_series *series, size_t num_series)
{
	struct axis axis;
	if (report->num_epochs == 0 || !find_axis(&axis, report, series, num_series)) return;
	pfld_text_printf(text, "<figure><svg viewBox=\"0 0 %d %d\" role=\"img\"><title>%s</title>", WIDTH, HEIGHT, title);
	pfld_text_printf(text, "<text class=\"name\" x=\"0\" y=\"14\">%s%s</text>", title,
					 axis.logarithmic ? " (logarithmic)" : "");
	double x = WIDTH - RIGHT;
	for (size_t s = num_series; num_series > 1 && s-- > 0;) {
		pfld_text_append(text, "<text text-anchor=\"end\" y=\"14\" x=\"");
		pfld_text_number(text, x, 5);
		pfld_text_printf(text, "\" class=\"legend %s\">%s</text>", series[s].css_class, series[s].name);
		x -= 7.0 * (double)strlen(series[s].name) + 14;
	}
	append_value_axis(text, &axis);
	append_epoch_axis(text, report);
	for (size_t s = 0; s < num_series; s++) append_line(text, report, &axis, &series[s]);
	pfld_text_append(text, "</svg></figure>\n");
}
