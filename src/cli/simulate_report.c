#include "cli/simulate_report.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "cli/shared/html.h"
#include "cli/simulate_queue.h"
#include "cli/simulate_text.h"
#include "core/model/resources.h"

static const char head[] =
	"<!DOCTYPE html>\n"
	"<html lang=\"en\"><head><meta charset=\"utf-8\"/>\n"
	"<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n"
	"<title>rayscaler simulate</title>\n"
	"<style>\n"
	":root { --page: #fcfcfb; --text: #1d2127; --faint: #6a717c; --line: #d9dce1;\n"
	"  --provisioned: #a9c8ef; --used: #2d6cc0; --demand: #c4541c; --best: #1a7f4e; }\n"
	"@media (prefers-color-scheme: dark) { :root { --page: #15181d; --text: #e4e7eb;\n"
	"  --faint: #9aa2ae; --line: #363c46; --provisioned: #2f4a6d; --used: #6aa5f2;\n"
	"  --demand: #f0925a; --best: #4cc78a; } }\n"
	"body { background: var(--page); color: var(--text); max-width: 70rem;\n"
	"  margin: 2rem auto; padding: 0 1rem; font: 15px/1.5 system-ui, sans-serif; }\n"
	"h1 { font-size: 1.5rem; } h2 { font-size: 1.15rem; margin: 2.2rem 0 .4rem; }\n"
	"h3 { font-size: .95rem; margin: 1rem 0 .2rem; } p { margin: .4rem 0; }\n"
	".scroll { overflow-x: auto; } table { border-collapse: collapse; width: 100%; }\n"
	"table { font-size: .9rem; } th, td { padding: .25rem .4rem; text-align: right; white-space: nowrap;\n"
	"  border-bottom: 1px solid var(--line); font-variant-numeric: tabular-nums; }\n"
	"th:first-child, td:first-child { text-align: left; white-space: normal; overflow-wrap: anywhere; }\n"
	"tbody, body { counter-reset: row; } tr td:first-child::before, section h2::before {\n"
	"  counter-increment: row; content: counter(row) \"\\a0\\a0\"; color: var(--faint); }\n"
	"th { color: var(--faint); font-weight: 600; font-size: .75rem; white-space: normal; }\n"
	"tr.best td:first-child { color: var(--best); font-weight: 600; }\n"
	".warning { color: var(--demand); font-weight: 600; }\n"
	".faint { color: var(--faint); } pre { white-space: pre-wrap; overflow-wrap: anywhere; font-size: .85rem; }\n"
	"svg { width: 100%; height: auto; display: block; overflow: visible; }\n"
	"svg text { fill: var(--faint); font-size: 12px; }\n"
	".grid { stroke: var(--line); fill: none; } .provisioned { fill: var(--provisioned); }\n"
	".used { fill: var(--used); } .hover { fill: transparent; }\n"
	".demand { fill: none; stroke: var(--demand); stroke-width: 1.5; }\n"
	".mark { fill: var(--demand); } .best { fill: var(--best); } .other { fill: var(--faint); }\n"
	"td:first-child { min-width: 14rem; } tr.best td:first-child::after { content: \"\\a0*\"; } tr.same td:first-child::after { content: \"\\a0=\"; }\n"
	"@media screen and (max-width: 1050px) { thead { display: none; } table, tbody, tr { display: block; }\n"
	"  tr { border-bottom: 1px solid var(--line); padding: .4rem 0; } td:first-child { display: block; min-width: 0; }\n"
	"  td, td:first-child { border: 0; padding: .05rem 0; text-align: left; }\n"
	"  td:not(:first-child) { display: inline-block; width: 5.4rem; }\n"
	"  td:not(:first-child)::before { content: attr(data-name); color: var(--faint); font-size: .7rem;\n"
	"    display: block; line-height: 1.1; padding-top: .2rem; } }\n"
	"@media print { section, svg, tr { break-inside: avoid; } h2, h3 { break-after: avoid; }\n"
	"  body { margin: 0; padding: 0; max-width: none; } .scroll { overflow: visible; }\n"
	"  table { font-size: .62rem; } th { font-size: .55rem; } th, td { padding: .15rem .2rem; } }\n"
	".key span { print-color-adjust: exact; -webkit-print-color-adjust: exact; display: inline-block; width: .8em; height: .8em; margin: 0 .35em 0 1em; }\n"
	"</style></head><body>\n";

static const char key[] =
	"<p class=\"faint key\"><span style=\"background:var(--used)\"></span>used"
	"<span style=\"background:var(--provisioned)\"></span>provisioned"
	"<span style=\"background:var(--demand);height:.2em\"></span>demand; triangles are changes of "
	"replicas; values and reasons are shown on hover</p>\n";

static const char *ms_text(struct arena *arena, double at)
{
	return simulate_time_text(arena, (int64_t)at);
}

/* ---- the table ---- */

static void begin_table(const char *const *names, size_t count, struct buf *buf)
{
	buf_add_string(buf, "<div class=\"scroll\"><table><thead><tr>");
	for (size_t i = 0; i < count; i++)
		buf_printf(buf, "<th>%s</th>", names[i]);
	buf_add_string(buf, "</tr></thead>\n<tbody>\n");
}

static const char table_end[] = "</tbody></table></div>\n";

/* The names are shown on narrow screens, where each cell has a line. */
static void add_row(const char *class, const char *const *names, const char *const *texts,
		    size_t count, struct buf *buf)
{
	buf_printf(buf, "<tr%s>", class);
	for (size_t i = 0; i < count; i++) {
		buf_printf(buf, "<td data-name=\"%s\">", names[i]);
		html_add_between(buf, "", texts[i], "</td>");
	}
	buf_add_string(buf, "</tr>\n");
}

static void add_table(const struct simulate_plan *plan, const struct simulate_cells *cells,
		      struct buf *buf)
{
	size_t count = simulate_column_count(plan);

	begin_table(simulate_column_names, count, buf);
	for (size_t i = 0; i < plan->variants.count; i++)
		add_row(cells[i].best ? " class=\"best\"" :
			cells[i].same ? " class=\"same\"" :
					"",
			simulate_column_names, cells[i].texts, count, buf);
	buf_add_string(buf, table_end);
}

static void add_queues(const struct simulate_plan *plan, struct buf *buf)
{
	const struct simulate_queue_rows rows = simulate_queue_rows_make(plan);

	if (rows.at.count == 0)
		return;
	buf_add_string(buf, "<h2>Queues</h2>\n");
	begin_table(simulate_queue_names, SIMULATE_QUEUE_COLUMNS, buf);
	VEC_EACH(const struct simulate_queue_cells, cells, &rows.at)
		add_row("", simulate_queue_names, cells->texts, SIMULATE_QUEUE_COLUMNS, buf);
	buf_add_string(buf, table_end);
}

static void add_notes(const struct simulate_plan *plan, struct buf *buf)
{
	VEC_EACH(const char *const, note, &plan->notes) {
		html_add_between(buf, "<p class=\"warning\">", *note, "</p>\n");
	}
}

static void add_dots(const struct simulate_plan *plan, const struct simulate_cells *cells,
		     struct buf *buf)
{
	size_t count = plan->variants.count;
	struct html_dot *dots = arena_array(plan->arena, count, sizeof(*dots));

	for (size_t i = 0; i < count; i++) {
		const struct simulate_variant *variant = &plan->variants.at[i];

		dots[i] = (struct html_dot){
			.x = simulate_row_spent(&variant->row),
			.y = (double)variant->row.waits.p95_ms / 1000,
			.best = cells[i].best,
			.title = arena_printf(
				plan->arena, "%s: %s GPU-hours%s%s, %s waiting (P95)",
				variant->name, cells[i].texts[1], plan->prices ? ", " : "",
				plan->prices ? cells[i].texts[SIMULATE_COLUMNS - 1] : "",
				simulate_time_text(plan->arena, variant->row.waits.p95_ms)),
		};
	}
	html_dots_write(dots, count,
			plan->prices && plan->by_cost ?
				arena_printf(plan->arena, "cost in %s", plan->prices->currency) :
				"GPU-hours",
			"P95 of the waiting time in seconds, weighted by GPUs", buf);
}

/* ---- one row ---- */

enum { WAIT_SPANS = 7 };

static const struct {
	const char *name;
	int64_t below_ms;
} wait_spans[WAIT_SPANS] = {
	{ "below 1 s", 1000 },        { "1 to 10 s", 10000 },   { "10 to 30 s", 30000 },
	{ "30 to 60 s", 60000 },      { "1 to 5 min", 300000 }, { "5 to 30 min", 1800000 },
	{ "over 30 min", INT64_MAX },
};

/* The ends of the axes: charts of one kind have one scale in all rows. */
struct scales {
	double gpus, hours, cost, waits;
	bool waits_by_gpus; /* else by units: no work has GPUs */
};

static double gpus(int64_t amount)
{
	return (double)amount / (double)RESOURCE_UNIT;
}

static const struct html_mark *marks_of(const struct sim_group *group, struct arena *arena)
{
	struct html_mark *marks = arena_array(arena, group->mark_count, sizeof(*marks));

	for (size_t i = 0; i < group->mark_count; i++) {
		const struct sim_mark *mark = &group->marks[i];

		marks[i] = (struct html_mark){
			.at = (double)mark->at_ms,
			.up = mark->to > mark->from,
			.title = arena_printf(arena, "%s: %" PRId64 " to %" PRId64 " replicas%s%s",
					      simulate_time_text(arena, mark->at_ms), mark->from,
					      mark->to, *mark->reason ? ": " : "", mark->reason),
		};
	}
	return marks;
}

/* "demo / gpu (spot)" */
static const char *group_text(const struct simulate_row *row, size_t i, struct arena *arena)
{
	enum price_market market = row->costs[i].market;
	bool shown = market == PRICE_SPOT || market == PRICE_RESERVED;

	return arena_printf(arena, "%s / %s%s%s%s", row->groups[i].cluster, row->groups[i].name,
			    shown ? " (" : "", shown ? price_market_name(market) : "",
			    shown ? ")" : "");
}

static void add_group(const struct simulate_variant *variant, size_t index,
		      const struct scales *scales, struct buf *buf)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	const struct sim_group *group = &variant->result->groups[index];
	struct html_point *points = arena_array(&arena, group->point_count, sizeof(*points));
	const struct html_steps chart = { .most = scales->gpus,
					  .names = { "demand", "provisioned", "used" },
					  .points = points,
					  .point_count = group->point_count,
					  .marks = marks_of(group, &arena),
					  .mark_count = group->mark_count,
					  .end = (double)variant->result->end_ms,
					  .time_text = ms_text };

	for (size_t i = 0; i < group->point_count; i++) {
		const struct sim_point *point = &group->points[i];

		points[i] = (struct html_point){ .at = (double)point->at_ms,
						 .values = { gpus(point->demand),
							     gpus(point->provisioned),
							     gpus(point->used) } };
	}
	buf_add_string(buf, "<h3>GPUs of ");
	html_add(buf, group_text(&variant->row, index, &arena));
	if (group->interruptions > 0)
		buf_printf(buf, ", %" PRId64 " interruptions of workers", group->interruptions);
	buf_add_string(buf, "</h3>\n");
	html_steps_write(&chart, &arena, buf);
}

/* ---- waiting times ---- */

struct wait_bar {
	double gpus;
	int64_t units;
};

static void count_waits(const struct sim_result *result, struct wait_bar bars[WAIT_SPANS])
{
	memset(bars, 0, WAIT_SPANS * sizeof(*bars));
	ARRAY_EACH(const struct sim_wait, wait, result->waits, result->wait_count) {
		size_t span = 0;

		while (span + 1 < WAIT_SPANS && wait->wait_ms >= wait_spans[span].below_ms)
			span++;
		bars[span].gpus += gpus(wait->gpus) * (double)wait->count;
		bars[span].units += wait->count;
	}
}

static void add_waits(const struct sim_result *result, const struct scales *scales, struct buf *buf)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	struct html_bar bars[WAIT_SPANS] = { { .value = 0 } };
	struct wait_bar counts[WAIT_SPANS];

	count_waits(result, counts);
	for (size_t i = 0; i < WAIT_SPANS; i++) {
		const char *units = html_number(&arena, (double)counts[i].units);

		bars[i].name = wait_spans[i].name;
		bars[i].value = scales->waits_by_gpus ? counts[i].gpus : (double)counts[i].units;
		bars[i].text = scales->waits_by_gpus ?
				       arena_printf(&arena, "%s GPUs, %s units",
						    html_number(&arena, counts[i].gpus), units) :
				       arena_printf(&arena, "%s units", units);
	}
	buf_add_string(buf, "<h3>Waiting time of work by its GPUs; a task, an actor or a placement "
			    "group is one unit</h3>\n");
	html_bars_write(bars, WAIT_SPANS, scales->waits, buf);
}

/* ---- groups ---- */

/* The cost of each group in the currency; NULL: its GPU-hours. */
static void add_groups(const struct simulate_row *row, const char *currency,
		       const struct scales *scales, struct buf *buf)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	struct html_bar *bars = arena_array(&arena, row->group_count, sizeof(*bars));
	size_t count = 0;

	for (size_t i = 0; i < row->group_count; i++) {
		struct html_bar *bar = &bars[count];

		if (row->groups[i].worker_gpus == 0)
			continue;
		bar->name = group_text(row, i, &arena);
		bar->value = currency ? row->costs[i].cost :
					simulate_gpu_hours(row->groups[i].provisioned);
		bar->text = currency && simulate_row_lacks_price(row, i) ?
				    "no price" :
				    arena_printf(&arena, currency ? "%.2f %s" : "%.2f", bar->value,
						 currency);
		count++;
	}
	if (count == 0)
		return;
	buf_printf(buf, "<h3>%s by group</h3>\n", currency ? "Cost" : "GPU-hours");
	html_bars_write(bars, count, currency ? scales->cost : scales->hours, buf);
}

static void raise_to(double *most, double value)
{
	*most = value > *most ? value : *most;
}

static void measure_group(const struct simulate_variant *variant, size_t index,
			  struct scales *scales)
{
	const struct sim_group *group = &variant->result->groups[index];

	for (size_t i = 0; i < group->point_count; i++) {
		raise_to(&scales->gpus, gpus(group->points[i].demand));
		raise_to(&scales->gpus, gpus(group->points[i].provisioned));
	}
	raise_to(&scales->hours, simulate_gpu_hours(group->provisioned));
	raise_to(&scales->cost, variant->row.costs[index].cost);
}

static struct scales measure(const struct simulate_plan *plan)
{
	struct scales scales = { .gpus = 0 };
	double most_units = 0;

	VEC_EACH(const struct simulate_variant, variant, &plan->variants) {
		struct wait_bar bars[WAIT_SPANS];

		for (size_t i = 0; i < variant->result->group_count; i++)
			measure_group(variant, i, &scales);
		count_waits(variant->result, bars);
		for (size_t i = 0; i < WAIT_SPANS; i++) {
			raise_to(&scales.waits, bars[i].gpus);
			raise_to(&most_units, (double)bars[i].units);
		}
	}
	scales.waits_by_gpus = scales.waits > 0;
	scales.waits = scales.waits_by_gpus ? scales.waits : most_units;
	return scales;
}

/* ---- rows ---- */

/* Groups without GPUs have no charts. */
static void add_variant(const struct simulate_plan *plan, const struct simulate_variant *variant,
			const struct scales *scales, struct buf *buf)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	const struct sim_result *result = variant->result;
	const char *without = "";

	html_add_between(buf, "<section><h2>", variant->name, "</h2>\n");
	buf_add_string(buf, key);
	for (size_t i = 0; i < result->group_count; i++) {
		if (result->groups[i].worker_gpus > 0)
			add_group(variant, i, scales, buf);
		else
			without = arena_printf(&arena, "%s%s%s", without, *without ? ", " : "",
					       group_text(&variant->row, i, &arena));
	}
	if (*without) {
		html_add_between(buf, "<p class=\"faint\">without GPUs: ", without, "</p>\n");
	}
	add_groups(&variant->row, NULL, scales, buf);
	if (plan->prices)
		add_groups(&variant->row, plan->prices->currency, scales, buf);
	add_waits(result, scales, buf);
	buf_add_string(buf, "</section>\n");
}

static void add_sources(const struct simulate_source *sources, size_t count, struct buf *buf)
{
	buf_add_string(buf, "<h2>Inputs</h2>\n");
	for (size_t i = 0; i < count; i++) {
		html_add_between(buf, "<details><summary>", sources[i].name, "</summary><pre>");
		html_add_lines(buf, sources[i].text);
		buf_add_string(buf, "</pre></details>\n");
	}
}

void simulate_report_write(const struct simulate_plan *plan, const char *command,
			   const struct simulate_source *sources, size_t count, struct buf *buf)
{
	const struct simulate_cells *cells = simulate_cells_make(plan);
	const struct scales scales = measure(plan);
	AUTO(buf_done) struct buf trade = BUF_INIT((size_t)1 << 20);

	simulate_trade_write(plan, &trade);
	buf_add_string(buf, head);
	html_add_between(buf, "<h1>Simulation of RayClusters</h1>\n<pre class=\"faint\">", command,
			 "</pre>\n");
	add_table(plan, cells, buf);
	add_notes(plan, buf);
	buf_add_string(buf, "<pre class=\"faint\">");
	html_add_lines(buf, simulate_legend_text(plan));
	buf_add_string(buf, "</pre>\n");
	add_queues(plan, buf);
	if (plan->variants.count > 1) {
		buf_add_string(buf, "<h2>Cost and waiting</h2>\n<pre>");
		html_add_lines(buf, buf_string(&trade));
		buf_add_string(buf, "</pre>\n");
		add_dots(plan, cells, buf);
	}
	for (size_t i = 0; i < plan->variants.count; i++)
		add_variant(plan, &plan->variants.at[i], &scales, buf);
	add_sources(sources, count, buf);
	buf_add_string(buf, "</body></html>\n");
}
