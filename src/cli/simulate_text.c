#include "cli/simulate_text.h"

#include <inttypes.h>
#include <string.h>

#include "base/map.h"
#include "base/memory.h"
#include "cli/shared/report_colour.h"
#include "cli/shared/table.h"
#include "cli/simulate_queue.h"
#include "codec/text/text.h"
#include "core/model/resources.h"

/* Further lines are in the JSON. */
#define NEVER_LINES_MAX 10
#define NEVER_BYTES_MAX ((size_t)1 << 20)

const struct simulate_row *const *simulate_rows(const struct simulate_plan *plan)
{
	const struct simulate_row **rows =
		arena_array(plan->arena, plan->variants.count, sizeof(struct simulate_row *));

	for (size_t i = 0; i < plan->variants.count; i++)
		rows[i] = &plan->variants.at[i].row;
	return rows;
}

size_t simulate_choice_count(const struct simulate_plan *plan)
{
	size_t count = 0;

	while (count < plan->variants.count && plan->variants.at[count].values)
		count++;
	return count;
}

/* ---- text ---- */

static const char *number_text(struct arena *arena, int64_t number)
{
	return arena_printf(arena, "%" PRId64, number);
}

const char *const simulate_column_names[SIMULATE_COLUMNS] = {
	"VARIANT", "GPU-HOURS", "USED",      "IDLE",      "STARTING",  "WAIT P50", "P95",
	"MAX",     "MAKESPAN",  "PEAK GPUS", "SCALE-UPS", "NEVER RAN", "COST",
};

size_t simulate_column_count(const struct simulate_plan *plan)
{
	return plan->prices ? SIMULATE_COLUMNS : SIMULATE_COLUMNS - 1;
}

static const char *cost_text(struct arena *arena, const struct simulate_plan *plan,
			     const struct simulate_row *row)
{
	return arena_printf(arena, "%.2f %s", row->cost, plan->prices->currency);
}

static void set_cells(const struct simulate_plan *plan, const struct simulate_variant *variant,
		      const char **texts)
{
	struct arena *arena = plan->arena;
	const struct simulate_row *row = &variant->row;
	const double hours[] = { row->provisioned, row->used, row->idle, row->starting };
	const int64_t waits[] = { row->waits.p50_ms, row->waits.p95_ms, row->waits.max_ms };

	*texts++ = variant->name;
	for (size_t i = 0; i < sizeof(hours) / sizeof(hours[0]); i++)
		*texts++ = simulate_hours_text(arena, hours[i]);
	for (size_t i = 0; i < sizeof(waits) / sizeof(waits[0]); i++)
		*texts++ = simulate_wait_text(arena, &row->waits, waits[i]);
	*texts++ = simulate_time_text(arena, row->makespan_ms);
	*texts++ = resource_amount_text(arena, row->peak_gpus);
	*texts++ = number_text(arena, row->scale_ups);
	*texts++ = number_text(arena, row->waits.unstarted);
	*texts = plan->prices ? cost_text(arena, plan, row) : "";
}

const struct simulate_cells *simulate_cells_make(const struct simulate_plan *plan)
{
	const struct simulate_row *const *rows = simulate_rows(plan);
	size_t count = plan->variants.count;
	struct simulate_cells *cells = arena_array(plan->arena, count, sizeof(*cells));

	for (size_t i = 0; i < count; i++) {
		cells[i].same = simulate_row_first(rows, count, i) != i;
		cells[i].best = count > 1 && simulate_row_is_starred(rows, count, i);
		set_cells(plan, &plan->variants.at[i], cells[i].texts);
	}
	return cells;
}

static void write_table(const struct simulate_plan *plan, bool colours, struct buf *buf)
{
	const struct simulate_cells *cells = simulate_cells_make(plan);
	struct table_column columns[SIMULATE_COLUMNS];
	size_t count = simulate_column_count(plan);
	struct table table = TABLE_INIT(plan->arena, columns, count);

	for (size_t i = 0; i < count; i++)
		columns[i] = (struct table_column){ simulate_column_names[i], i > 0 };
	columns[0].title = "  VARIANT";
	for (size_t i = 0; i < plan->variants.count; i++) {
		bool never = plan->variants.at[i].row.waits.unstarted > 0;

		table_add(&table, cells[i].best ? TABLE_GOOD : TABLE_PLAIN,
			  arena_printf(plan->arena, "%s %s",
				       cells[i].best ? "*" :
				       cells[i].same ? "=" :
						       " ",
				       cells[i].texts[0]));
		for (size_t k = 1; k < count; k++)
			table_add(&table, never && k == 11 ? TABLE_BAD : TABLE_PLAIN,
				  cells[i].texts[k]);
	}
	table_write(&table, colours, buf);
}

static void write_jobs(const struct simulate_plan *plan, bool colours, struct buf *buf)
{
	static const struct table_column columns[] = {
		{ "VARIANT", false }, { "JOB", false }, { "STARTED", true },   { "WAIT P50", true },
		{ "P95", true },      { "MAX", true },  { "NEVER RAN", true },
	};
	struct table table = TABLE_INIT(plan->arena, columns, sizeof(columns) / sizeof(columns[0]));

	VEC_EACH(const struct simulate_variant, variant, &plan->variants) {
		ARRAY_EACH(const struct simulate_job, job, variant->row.jobs,
			   variant->row.job_count) {
			const struct simulate_waits *waits = &job->waits;

			TABLE_ADD_TEXTS(&table, variant->name, job->job,
					number_text(plan->arena, waits->started),
					simulate_wait_text(plan->arena, waits, waits->p50_ms),
					simulate_wait_text(plan->arena, waits, waits->p95_ms),
					simulate_wait_text(plan->arena, waits, waits->max_ms));
			table_add(&table, waits->unstarted > 0 ? TABLE_BAD : TABLE_PLAIN,
				  number_text(plan->arena, waits->unstarted));
		}
	}
	buf_add_char(buf, '\n');
	table_write(&table, colours, buf);
}

static bool has_never(const struct simulate_row *row, const struct simulate_never *never)
{
	ARRAY_EACH(const struct simulate_never, one, row->never, row->never_count)
		if (one->count == never->count && strcmp(one->job, never->job) == 0 &&
		    strcmp(one->message, never->message) == 0)
			return true;
	return false;
}

/* A line for what never ran, unless an earlier row has the same; with the rows that have it. */
static bool add_never(const struct simulate_plan *plan, size_t index,
		      const struct simulate_never *never, struct buf *buf)
{
	size_t count = plan->variants.count, rows = 0;
	const char *where = plan->variants.at[index].name;

	for (size_t i = 0; i < count; i++) {
		bool has = has_never(&plan->variants.at[i].row, never);

		if (has && i < index)
			return false;
		rows += has;
	}
	if (rows > 1)
		where = arena_printf(plan->arena, "%s and %zu other rows", where, rows - 1);
	if (rows == count)
		where = count > 1 ? "every row" : "";
	text_add_line(buf, "  %" PRId64 "%s%s: %s%s%s", never->count, *never->job ? " of job " : "",
		      never->job, never->message, *where ? "; in " : "", where);
	return true;
}

static void write_never(const struct simulate_plan *plan, struct buf *buf)
{
	AUTO(buf_done) struct buf lines = BUF_INIT(NEVER_BYTES_MAX);
	size_t count = 0;

	for (size_t i = 0; i < plan->variants.count; i++) {
		const struct simulate_row *row = &plan->variants.at[i].row;

		for (size_t k = 0; k < row->never_count && count < NEVER_LINES_MAX; k++)
			count += add_never(plan, i, &row->never[k], &lines);
	}
	if (count == 0)
		return;
	buf_add_string(buf, "\nnever ran:\n");
	buf_add_string(buf, buf_string(&lines));
	if (count >= NEVER_LINES_MAX)
		buf_add_string(buf, "  perhaps more; -o json has all\n");
}

/* ---- the cost ---- */

const char *simulate_unpriced_text(const struct simulate_plan *plan)
{
	AUTO(map_done) struct map known = MAP_INIT;
	const char *names = "";

	for (size_t i = 0; i < plan->variants.count; i++) {
		struct simulate_row *row = &plan->variants.at[i].row;

		for (size_t k = 0; k < row->group_count; k++) {
			const struct sim_group *group = &row->groups[k];
			const char *name;

			if (!simulate_row_lacks_price(row, k))
				continue;
			name = arena_printf(plan->arena, "%s/%s", group->cluster, group->name);
			if (map_get(&known, name))
				continue;
			map_set(&known, name, row);
			names = arena_printf(plan->arena, "%s%s%s", names, *names ? ", " : "",
					     name);
		}
	}
	return *names ? arena_printf(plan->arena,
				     "no price: %s; the cost leaves their GPU-hours out, so rows "
				     "are compared by GPU-hours",
				     names) :
			NULL;
}

static void write_notes(const struct simulate_plan *plan, struct buf *buf)
{
	if (plan->notes.count > 0)
		buf_add_char(buf, '\n');
	VEC_EACH(const char *const, note, &plan->notes)
		text_add_line(buf, "%s", *note);
}

/* ---- the best trade ---- */

static const char *figures_text(const struct simulate_plan *plan, size_t index)
{
	const struct simulate_row *row = &plan->variants.at[index].row;

	return arena_printf(plan->arena, "%s GPU-hours%s%s and %s waiting (P95), %s at most",
			    simulate_hours_text(plan->arena, row->provisioned),
			    plan->prices ? " for " : "",
			    plan->prices ? cost_text(plan->arena, plan, row) : "",
			    simulate_time_text(plan->arena, row->waits.p95_ms),
			    simulate_time_text(plan->arena, row->waits.max_ms));
}

/* "0.40 GPU-hours (14 %)" */
static const char *more_text(const struct simulate_plan *plan, const struct simulate_row *row,
			     const struct simulate_row *least)
{
	double more = simulate_row_spent(row) - simulate_row_spent(least);
	double of = simulate_row_spent(least);

	return arena_printf(plan->arena, "%s %s%s", simulate_hours_text(plan->arena, more),
			    plan->by_cost ? plan->prices->currency : "GPU-hours",
			    of > 0 ? arena_printf(plan->arena, " (%.2g %%)", 100 * more / of) : "");
}

static const char *longer_text(const struct simulate_plan *plan, int64_t ms)
{
	return ms == 0 ? "as long" :
			 arena_printf(plan->arena, "%s %s",
				      simulate_time_text(plan->arena, ms < 0 ? -ms : ms),
				      ms < 0 ? "shorter" : "longer");
}

static void write_given_up(const struct simulate_plan *plan, size_t best, struct buf *buf)
{
	const struct simulate_row *const *rows = simulate_rows(plan);
	size_t count = simulate_choice_count(plan);
	size_t thrifty = simulate_row_thrifty(rows, count), fast = simulate_row_fast(rows, count);
	const struct simulate_waits *waits = &rows[best]->waits, *least = &rows[fast]->waits;

	if (simulate_row_spent(rows[thrifty]) < simulate_row_spent(rows[best]))
		text_add_line(buf, "%s: %s, with %s; the best trade takes %s more",
			      plan->by_cost ? "lowest cost" : "fewest GPU-hours",
			      plan->variants.at[thrifty].name, figures_text(plan, thrifty),
			      more_text(plan, rows[best], rows[thrifty]));
	if (fast != best)
		text_add_line(
			buf,
			"shortest waiting: %s, with %s; the best trade waits %s (P95), %s (MAX)",
			plan->variants.at[fast].name, figures_text(plan, fast),
			longer_text(plan, waits->p95_ms - least->p95_ms),
			longer_text(plan, waits->max_ms - least->max_ms));
	else if (thrifty == best)
		text_add_line(buf,
			      "it gives up nothing: it also has the %s and the shortest waiting",
			      plan->by_cost ? "lowest cost" : "fewest GPU-hours");
}

void simulate_trade_write(const struct simulate_plan *plan, struct buf *buf)
{
	const struct simulate_row *const *rows = simulate_rows(plan);
	size_t count = simulate_choice_count(plan), best, choices = 0;

	for (size_t i = 0; i < count; i++)
		choices += simulate_row_first(rows, count, i) == i;
	if (count > 1 && choices < 2)
		text_add_line(buf, "no choice: all variants are equal");
	if (choices < 2)
		return;
	best = simulate_row_trade(rows, count);
	text_add_line(buf, "best trade (least %s and GPU-hours of waiting): %s, with %s",
		      plan->by_cost ? "cost" : "GPU-hours", plan->variants.at[best].name,
		      figures_text(plan, best));
	write_given_up(plan, best, buf);
}

const char *simulate_legend_text(const struct simulate_plan *plan)
{
	const char *marks =
		plan->variants.count < 2 ?
			"" :
			arena_printf(plan->arena,
				     "* no other row has %s without a longer P95 or MAX, "
				     "or the reverse; = equals an earlier row\n",
				     plan->by_cost ? "a lower cost" : "fewer GPU-hours");

	return arena_printf(plan->arena,
			    "%swaiting is weighted by GPUs, a placement group is one unit: work "
			    "with 95 %% of the GPUs waited at most P95, all work MAX\n%s",
			    marks,
			    plan->variants.at[0].row.pool_count > 0 ? simulate_queue_legend : "");
}

void simulate_text_write(const struct simulate_plan *plan, bool by_job, bool colours,
			 struct buf *buf)
{
	AUTO(buf_done) struct buf text = BUF_INIT(buf->ceiling_bytes);

	write_table(plan, colours, buf);
	simulate_queue_text_write(plan, colours, buf);
	if (by_job)
		write_jobs(plan, colours, buf);
	write_never(plan, &text);
	write_notes(plan, &text);
	buf_printf(&text, "\n%s", simulate_legend_text(plan));
	simulate_trade_write(plan, &text);
	report_colour_add(buf, buf_string(&text), false, table_terminal_width());
}

/* ---- CSV ---- */

static double seconds(int64_t ms)
{
	return (double)ms / 1000;
}

static void add_quoted(struct buf *buf, const char *text)
{
	buf_add_char(buf, '"');
	for (; *text; text++) {
		if (*text == '"')
			buf_add_char(buf, '"');
		buf_add_char(buf, *text);
	}
	buf_add_char(buf, '"');
}

static void add_wait_cells(struct buf *buf, const struct simulate_waits *waits)
{
	buf_printf(buf, ",%" PRId64 ",%" PRId64, waits->started, waits->unstarted);
	if (waits->started > 0)
		buf_printf(buf, ",%.3f,%.3f,%.3f\n", seconds(waits->p50_ms), seconds(waits->p95_ms),
			   seconds(waits->max_ms));
	else
		buf_add_string(buf, ",,,\n");
}

static double unpriced_hours(const struct simulate_row *row)
{
	double hours = 0;

	for (size_t i = 0; i < row->group_count; i++)
		if (simulate_row_lacks_price(row, i))
			hours += simulate_gpu_hours(row->groups[i].provisioned);
	return hours;
}

static void add_csv_row(const struct simulate_variant *variant, bool best, struct buf *buf)
{
	const struct simulate_row *row = &variant->row;
	const double hours[] = { row->provisioned, row->used, row->idle, row->starting,
				 row->terminating };

	add_quoted(buf, variant->name);
	buf_printf(buf, ",%s,%s", sim_policy_name(variant->input.policy), best ? "true" : "false");
	for (size_t i = 0; i < sizeof(hours) / sizeof(hours[0]); i++)
		buf_printf(buf, ",%.6f", hours[i]);
	if (row->has_cost)
		buf_printf(buf, ",%.4f,%.6f", row->cost, unpriced_hours(row));
	else
		buf_add_string(buf, ",,");
	buf_printf(buf, ",%.3f,%.4f,%" PRId64, seconds(row->makespan_ms),
		   (double)row->peak_gpus / RESOURCE_UNIT, row->scale_ups);
	add_wait_cells(buf, &row->waits);
}

static void add_csv_jobs(const struct simulate_variant *variant, struct buf *buf)
{
	for (size_t i = 0; i < variant->row.job_count; i++) {
		add_quoted(buf, variant->name);
		buf_add_char(buf, ',');
		add_quoted(buf, variant->row.jobs[i].job);
		add_wait_cells(buf, &variant->row.jobs[i].waits);
	}
}

void simulate_csv_write(const struct simulate_plan *plan, bool by_job, struct buf *buf)
{
	static const char waits[] =
		"started,never_ran,wait_p50_seconds,wait_p95_seconds,wait_max_seconds\n";
	const struct simulate_row *const *rows = simulate_rows(plan);
	size_t count = plan->variants.count;

	buf_add_string(buf,
		       by_job ? "variant,job," :
				"variant,policy,best,gpu_hours,used,idle,starting,terminating,cost,"
				"unpriced_gpu_hours,"
				"makespan_seconds,peak_gpus,scale_ups,");
	buf_add_string(buf, waits);
	for (size_t i = 0; i < count; i++) {
		if (by_job)
			add_csv_jobs(&plan->variants.at[i], buf);
		else
			add_csv_row(&plan->variants.at[i], simulate_row_is_starred(rows, count, i),
				    buf);
	}
}
