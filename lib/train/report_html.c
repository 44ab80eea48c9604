// SPDX-License-Identifier: MIT
// report.html: one page without outside parts: headline numbers, curves, where time and memory went, test faces with
// true and predicted points, options, skipped files. Called by report.c.
#include "report_parts.h"

#include <math.h>
#include <string.h>

enum { MAX_SKIPS_SHOWN = 200 };

static const char STYLE[] =
	":root{--ink:#1d2430;--soft:#687083;--line:#e3e6ec;--card:#fff;--page:#f5f6f9;--a:#2563c9;--b:#d9661f}"
	"@media(prefers-color-scheme:dark){:root{--ink:#e8eaf0;--soft:#9aa2b4;--line:#2e3442;--card:#1c212c;"
	"--page:#12151c;--a:#6ea3ff;--b:#ff9a5a}}"
	"*{box-sizing:border-box}body{margin:0;background:var(--page);color:var(--ink);"
	"font:15px/1.5 system-ui,-apple-system,'Segoe UI',Roboto,'DejaVu Sans',sans-serif}"
	"main{max-width:1080px;margin:0 auto;padding:32px 20px 64px}h1{font-size:26px;margin:0 0 4px}"
	"h2{font-size:18px;margin:36px 0 12px}p{margin:4px 0}.soft{color:var(--soft)}"
	"code{font:13px/1.5 ui-monospace,'DejaVu Sans Mono',monospace;overflow-wrap:anywhere}"
	".grid2{display:grid;grid-template-columns:repeat(auto-fit,minmax(400px,1fr));gap:16px}"
	".tiles{display:grid;grid-template-columns:repeat(auto-fit,minmax(122px,1fr));gap:12px;margin-top:20px}"
	".tile,figure,.card{background:var(--card);border:1px solid var(--line);border-radius:10px;padding:14px 16px;"
	"margin:0}.tile b{display:block;font-size:23px;font-weight:600}.tile span{color:var(--soft);font-size:13px}"
	"svg{display:block;width:100%;height:auto}svg text{font-size:11px;fill:var(--soft)}"
	"svg .name{font-size:14px;font-weight:600;fill:var(--ink)}svg .legend{font-size:12px;font-weight:600}"
	"svg .legend.a{fill:var(--a)}svg .legend.b{fill:var(--b)}.grid{stroke:var(--line);fill:none}"
	".axis{stroke:var(--soft);fill:none}.line{fill:none;stroke-width:2;stroke-linejoin:round}"
	".line.a,.dots.a{stroke:var(--a)}.line.b,.dots.b{stroke:var(--b)}.dots{stroke-width:5;stroke-linecap:round}"
	".bar{display:flex;height:22px;border-radius:6px;overflow:hidden;margin:8px 0}.bar i{display:block;min-width:1px}"
	".key{display:inline-block;margin-right:18px;white-space:nowrap}"
	".key i{display:inline-block;width:11px;height:11px;border-radius:3px;margin-right:6px}"
	".c0{background:#2563c9}.c1{background:#d9661f}.c2{background:#3c9a5f}.c3{background:#8a5cc2}.c4{background:#"
	"c2a03c}"
	".c5{background:#3ca3b5}.c6{background:#8b93a5}"
	".faces{display:grid;grid-template-columns:repeat(auto-fill,minmax(180px,1fr));gap:12px}"
	".faces figure{padding:0;overflow:hidden}.faces figcaption{padding:6px 10px;font-size:13px;color:var(--soft)}"
	".truth,.guess{fill:none;stroke-linecap:round}.truth{stroke:#2fd65a}.guess{stroke:#ff3b30}"
	"table{border-collapse:collapse;width:100%;font-variant-numeric:tabular-nums}"
	"th,td{text-align:left;padding:4px 12px 4px 0;border-bottom:1px solid var(--line);vertical-align:top}"
	"th{color:var(--soft);font-weight:500}td{overflow-wrap:anywhere}.wide{overflow-x:auto}"
	".wide td,.wide th{text-align:right;white-space:nowrap}summary{cursor:pointer;font-size:18px;font-weight:600}"
	"details{margin-top:32px}";

void pfld_report_append_escaped(struct pfld_text *text, const char *string)
{
	size_t left = strlen(string);
	while (left > 0) {
		size_t num = pfld_utf8_bytes(string, left);
		unsigned char c = (unsigned char)*string;
		if (num == 0 || (c < 0x20 && c != '\n' && c != '\t') || c == 0x7f)
			pfld_text_append(text, "&#xfffd;");
		else if (c == '&' || c == '<' || c == '>' || c == '"' || c == '\'')
			pfld_text_printf(text, "&#%u;", (unsigned)c);
		else
			pfld_text_append_bytes(text, string, num);
		num += num == 0;
		string += num;
		left -= num;
	}
}

// "0.0581" or, where the value is missing, a dash.
static void append_value(struct pfld_text *text, double value, int digits)
{
	if (isfinite(value))
		pfld_text_number(text, value, digits);
	else
		pfld_text_append(text, "&ndash;");
}

static void append_percent(struct pfld_text *text, double share)
{
	append_value(text, share * 100, 3);
	if (isfinite(share)) pfld_text_append(text, " %");
}

static void append_bytes(struct pfld_text *text, uint64_t bytes)
{
	pfld_text_number(text, (double)bytes / (1 << 20), 4);
	pfld_text_append(text, " MiB");
}

enum tile_unit { TILE_NUMBER, TILE_PERCENT };

static void append_tile(struct pfld_text *text, const char *name, double value, enum tile_unit unit)
{
	if (!isfinite(value)) return;
	pfld_text_append(text, "<div class=\"tile\"><b>");
	if (unit == TILE_PERCENT)
		append_percent(text, value);
	else
		append_value(text, value, 4);
	pfld_text_printf(text, "</b><span>%s</span></div>", name);
}

// The epoch of the lowest NME, else the last one; NULL when there are none.
static const struct pfld_report_epoch *best_epoch(const struct pfld_report *report)
{
	const struct pfld_report_epoch *best = NULL;
	for (size_t i = 0; i < report->num_epochs; i++) {
		const struct pfld_report_epoch *epoch = &report->epochs[i];
		if (!best || !isfinite(best->nme) || epoch->nme < best->nme) best = epoch;
	}
	return best;
}

static void append_head(struct pfld_text *text, const struct pfld_report *report)
{
	pfld_text_append(text, "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
						   "<meta name=\"viewport\" content=\"width=device-width\"><title>");
	pfld_report_append_escaped(text, report->title);
	pfld_text_printf(text, "</title><style>%s</style></head><body><main>\n<h1>", STYLE);
	pfld_report_append_escaped(text, report->title);
	pfld_text_append(text, "</h1>\n");
	if (report->command[0] != '\0') {
		pfld_text_append(text, "<p class=\"soft\"><code>");
		pfld_report_append_escaped(text, report->command);
		pfld_text_append(text, "</code></p>\n");
	}
}

static void append_tiles(struct pfld_text *text, const struct pfld_report *report)
{
	const struct pfld_report_epoch *best = best_epoch(report);
	if (!best) {
		pfld_text_append(text, "<p class=\"soft\">No epoch has ended yet.</p>\n");
		return;
	}
	pfld_text_append(text, "<div class=\"tiles\">");
	append_tile(text, "mean NME, best epoch", best->nme, TILE_PERCENT);
	append_tile(text, "median NME", best->nme_median, TILE_PERCENT);
	append_tile(text, "failures (NME &gt; 10 %)", best->failure_rate, TILE_PERCENT);
	append_tile(text, "area under the error curve", best->auc, TILE_NUMBER);
	append_tile(text, "best epoch", best->epoch, TILE_NUMBER);
	append_tile(text, "epochs", report->epochs[report->num_epochs - 1].epoch, TILE_NUMBER);
	append_tile(text, "images a second", pfld_report_images_per_second(report), TILE_NUMBER);
	pfld_text_append(text, "</div>\n");
}

// clang-format off
#define SERIES(name, class, field) {name, class, offsetof(struct pfld_report_epoch, field)}
// clang-format on
static void append_curves(struct pfld_text *text, const struct pfld_report *report)
{
	static const struct pfld_report_series LOSS[] = {SERIES("train", "a", train_loss), SERIES("test", "b", test_loss)};
	static const struct pfld_report_series NME[] = {SERIES("mean", "a", nme), SERIES("median", "b", nme_median)};
	static const struct pfld_report_series SHARES[] = {SERIES("failure rate", "a", failure_rate),
													   SERIES("AUC", "b", auc)};
	static const struct pfld_report_series RATE[] = {SERIES("learning rate", "a", learning_rate)};
	if (report->num_epochs == 0) return;
	pfld_text_append(text, "<h2>Curves</h2>\n<div class=\"grid2\">\n");
	pfld_report_append_chart(text, report, "Loss", LOSS, PFLD_COUNT(LOSS));
	pfld_report_append_chart(text, report, "NME", NME, PFLD_COUNT(NME));
	pfld_report_append_chart(text, report, "Failures and area under the curve", SHARES, PFLD_COUNT(SHARES));
	pfld_report_append_chart(text, report, "Learning rate", RATE, PFLD_COUNT(RATE));
	pfld_text_append(text, "</div>\n");
}

struct share {
	const char *name;
	double amount;
};

// A bar of shares and its key; `append` writes an amount.
static void append_bar(struct pfld_text *text, const struct share *shares, size_t num_shares,
					   void (*append)(struct pfld_text *text, double amount))
{
	double sum = 0;
	for (size_t i = 0; i < num_shares; i++) sum += shares[i].amount;
	if (!(sum > 0)) return;
	pfld_text_append(text, "<div class=\"bar\">");
	for (size_t i = 0; i < num_shares; i++) {
		if (!(shares[i].amount > 0)) continue;
		pfld_text_printf(text, "<i class=\"c%zu\" style=\"width:", i);
		pfld_text_number(text, shares[i].amount / sum * 100, 4);
		pfld_text_append(text, "%\"></i>");
	}
	pfld_text_append(text, "</div><p>");
	for (size_t i = 0; i < num_shares; i++) {
		if (!(shares[i].amount > 0)) continue;
		pfld_text_printf(text, "<span class=\"key\"><i class=\"c%zu\"></i>%s ", i, shares[i].name);
		append(text, shares[i].amount);
		pfld_text_append(text, ", ");
		append_percent(text, shares[i].amount / sum);
		pfld_text_append(text, "</span>");
	}
	pfld_text_append(text, "</p>\n");
}

static void append_seconds_amount(struct pfld_text *text, double seconds)
{
	append_value(text, seconds, 4);
	pfld_text_append(text, " s");
}

static void append_bytes_amount(struct pfld_text *text, double bytes)
{
	append_bytes(text, (uint64_t)bytes);
}

static void append_time(struct pfld_text *text, const struct pfld_report *report)
{
	struct share where[] = {{"training", 0}, {"waiting for data", 0}, {"testing", 0}};
	struct share loader[] = {{"decoding", 0}, {"cropping and augmenting", 0}};
	for (size_t i = 0; i < report->num_epochs; i++) {
		const struct pfld_report_epoch *epoch = &report->epochs[i];
		double test = epoch->seconds_test > 0 ? epoch->seconds_test : 0;
		double train = epoch->seconds - test > 0 ? epoch->seconds - test : 0;
		double wait = epoch->data_wait_share > 0 ? train * epoch->data_wait_share : 0;
		where[0].amount += train - wait;
		where[1].amount += wait;
		where[2].amount += test;
		loader[0].amount += epoch->decode_seconds > 0 ? epoch->decode_seconds : 0;
		loader[1].amount += epoch->augment_seconds > 0 ? epoch->augment_seconds : 0;
	}
	if (!(where[0].amount + where[1].amount + where[2].amount > 0)) return;
	pfld_text_append(text, "<h2>Where the time went</h2>\n<div class=\"card\">");
	append_bar(text, where, PFLD_COUNT(where), append_seconds_amount);
	if (loader[0].amount + loader[1].amount > 0) {
		pfld_text_append(text, "<p class=\"soft\">Beside it, in the loader's threads:</p>");
		append_bar(text, loader, PFLD_COUNT(loader), append_seconds_amount);
	}
	pfld_text_append(text, "</div>\n");
}

static void append_memory(struct pfld_text *text, const struct pfld_report *report)
{
	struct share classes[PFLD_MEMORY_NUM_CLASSES];
	if (!report->has_memory) return;
	for (int i = 0; i < PFLD_MEMORY_NUM_CLASSES; i++)
		classes[i] = (struct share){pfld_memory_class_name((enum pfld_memory_class)i), (double)report->by_class[i]};
	pfld_text_append(text, "<h2>Memory</h2>\n<div class=\"card\"><p>Planned before the first step: <b>");
	append_bytes(text, report->planned_peak_bytes);
	pfld_text_append(text, "</b>; measured: <b>");
	append_bytes(text, report->measured_peak_bytes);
	pfld_text_append(text, "</b></p>");
	append_bar(text, classes, PFLD_COUNT(classes), append_bytes_amount);
	pfld_text_append(text, "</div>\n");
}

static void append_base64(struct pfld_text *text, const uint8_t *bytes, size_t num_bytes)
{
	static const char DIGITS[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	for (size_t i = 0; i < num_bytes; i += 3) {
		size_t left = num_bytes - i;
		uint32_t group =
			(uint32_t)bytes[i] << 16 | (left > 1 ? (uint32_t)bytes[i + 1] << 8 : 0) | (left > 2 ? bytes[i + 2] : 0u);
		char quad[4] = {DIGITS[group >> 18], DIGITS[group >> 12 & 63], left > 1 ? DIGITS[group >> 6 & 63] : '=',
						left > 2 ? DIGITS[group & 63] : '='};
		pfld_text_append_bytes(text, quad, 4);
	}
}

// Points as one path of round dots. Pixel centres: pixel 0 spans 0..1 in the picture.
static void append_points(struct pfld_text *text, const char *css_class, const float *points, int32_t num_points,
						  double stroke_width)
{
	pfld_text_printf(text, "<path class=\"%s\" stroke-width=\"", css_class);
	pfld_text_number(text, stroke_width, 3);
	pfld_text_append(text, "\" d=\"");
	for (int32_t i = 0; i < num_points; i++) {
		if (!isfinite(points[2 * i]) || !isfinite(points[2 * i + 1])) continue;
		pfld_text_append(text, "M");
		pfld_text_number(text, points[2 * i] + 0.5, 4);
		pfld_text_append(text, " ");
		pfld_text_number(text, points[2 * i + 1] + 0.5, 4);
		pfld_text_append(text, "h0");
	}
	pfld_text_append(text, "\"/>");
}

static void append_faces(struct pfld_text *text, const struct pfld_report *report)
{
	if (report->num_pictures == 0) return;
	pfld_text_append(text, "<h2>Test faces</h2>\n<p><span class=\"key\"><i style=\"background:#2fd65a\"></i>true</span>"
						   "<span class=\"key\"><i style=\"background:#ff3b30\"></i>predicted</span></p>\n"
						   "<div class=\"faces\">\n");
	for (size_t i = 0; i < report->num_pictures; i++) {
		const struct pfld_report_picture *picture = &report->pictures[i];
		pfld_text_printf(
			text, "<figure><svg viewBox=\"0 0 %d %d\"><image width=\"%d\" height=\"%d\" href=\"data:%s;base64,",
			(int)picture->width, (int)picture->height, (int)picture->width, (int)picture->height, picture->media_type);
		append_base64(text, picture->bytes, picture->num_bytes);
		pfld_text_append(text, "\"/>");
		append_points(text, "truth", picture->truth, picture->num_points, picture->width / 62.0);
		append_points(text, "guess", picture->prediction, picture->num_points, picture->width / 75.0);
		pfld_text_append(text, "</svg><figcaption>NME ");
		append_percent(text, picture->nme);
		pfld_text_append(text, "</figcaption></figure>\n");
	}
	pfld_text_append(text, "</div>\n");
}

static void append_epochs(struct pfld_text *text, const struct pfld_report *report)
{
	if (report->num_epochs == 0) return;
	pfld_text_append(text, "<details><summary>Epochs</summary><div class=\"card wide\"><table><tr><th>epoch</th>");
	for (size_t c = 0; c < pfld_report_num_columns; c++) {
		pfld_text_append(text, "<th>");
		for (const char *letter = pfld_report_columns[c].name; *letter; letter++)
			pfld_text_append_bytes(text, *letter == '_' ? " " : letter, 1);
		pfld_text_append(text, "</th>");
	}
	pfld_text_append(text, "</tr>\n");
	for (size_t i = 0; i < report->num_epochs; i++) {
		pfld_text_printf(text, "<tr><td>%d</td>", (int)report->epochs[i].epoch);
		for (size_t c = 0; c < pfld_report_num_columns; c++) {
			pfld_text_append(text, "<td>");
			append_value(text, pfld_report_cell(&report->epochs[i], &pfld_report_columns[c]), 4);
			pfld_text_append(text, "</td>");
		}
		pfld_text_append(text, "</tr>\n");
	}
	pfld_text_append(text, "</table></div></details>\n");
}

static void append_entries(struct pfld_text *text, const char *title, const struct pfld_report_entries *entries)
{
	if (entries->num == 0) return;
	pfld_text_printf(text, "<h2>%s</h2>\n<div class=\"card\"><table>", title);
	for (size_t i = 0; i < entries->num; i++) {
		const struct pfld_report_entry *entry = &entries->items[i];
		pfld_text_append(text, "<tr><th>");
		pfld_report_append_escaped(text, entry->name);
		pfld_text_append(text, "</th><td>");
		if (entry->text)
			pfld_report_append_escaped(text, entry->text);
		else
			append_value(text, entry->number, 6);
		pfld_text_append(text, "</td></tr>\n");
	}
	pfld_text_append(text, "</table></div>\n");
}

static void append_skips(struct pfld_text *text, const struct pfld_report *report)
{
	if (report->num_skips == 0) return;
	pfld_text_printf(text, "<h2>Skipped</h2>\n<div class=\"card\"><p>%zu rows or files were left out.</p><table>",
					 report->num_skips);
	for (size_t i = 0; i < report->num_skips && i < MAX_SKIPS_SHOWN; i++) {
		pfld_text_append(text, "<tr><td><code>");
		pfld_report_append_escaped(text, report->skips[i].path);
		if (report->skips[i].line > 0) pfld_text_printf(text, ":%lld", (long long)report->skips[i].line);
		pfld_text_append(text, "</code></td><td>");
		pfld_report_append_escaped(text, report->skips[i].reason);
		pfld_text_append(text, "</td></tr>\n");
	}
	pfld_text_append(text, "</table>");
	if (report->num_skips > MAX_SKIPS_SHOWN)
		pfld_text_append(text, "<p class=\"soft\">All of them are in run.json.</p>");
	pfld_text_append(text, "</div>\n");
}

void pfld_report_append_html(struct pfld_text *text, const struct pfld_report *report)
{
	append_head(text, report);
	append_tiles(text, report);
	append_curves(text, report);
	append_faces(text, report);
	append_time(text, report);
	append_memory(text, report);
	append_epochs(text, report);
	append_entries(text, "Options", &report->options);
	append_entries(text, "Run", &report->facts);
	append_skips(text, report);
	pfld_text_printf(text, "<p class=\"soft\" style=\"margin-top:36px\">libpfld %s</p>\n</main></body></html>\n",
					 pfld_version());
}
