#include "cli/simulate_text.h"

#include <inttypes.h>
#include <string.h>

#include "base/memory.h"
#include "cli/table.h"
#include "codec/text/json_write.h"
#include "codec/text/text.h"
#include "core/model/resources.h"

/* Further lines are in the JSON. */
#define NEVER_LINES_MAX 10
#define NEVER_BYTES_MAX ((size_t)1 << 20)

static const struct simulate_row *const *rows_of(const struct simulate_plan *plan)
{
	const struct simulate_row **rows =
		arena_array(plan->arena, plan->variants.count, sizeof(struct simulate_row *));

	for (size_t i = 0; i < plan->variants.count; i++)
		rows[i] = &plan->variants.at[i].row;
	return rows;
}

/* Baselines are behind all others, and are only to compare with: none is a trade. */
static size_t choice_count(const struct simulate_plan *plan)
{
	size_t count = 0;

	while (count < plan->variants.count && plan->variants.at[count].values)
		count++;
	return count;
}

/* ---- text ---- */

static const char *hours_text(struct arena *arena, double hours)
{
	return arena_printf(arena, hours < 100 ? "%.2f" : "%.1f", hours);
}

const char *simulate_time_text(struct arena *arena, int64_t ms)
{
	int64_t seconds = (ms + 500) / 1000;

	if (ms < 60000)
		return arena_printf(arena, "%.1fs", (double)ms / 1000);
	if (seconds < 3600)
		return arena_printf(arena, "%" PRId64 "m%02" PRId64 "s", seconds / 60,
				    seconds % 60);
	return arena_printf(arena, "%" PRId64 "h%02" PRId64 "m", seconds / 3600, seconds / 60 % 60);
}

static const char *number_text(struct arena *arena, int64_t number)
{
	return arena_printf(arena, "%" PRId64, number);
}

static void add_waits(struct table *table, const struct simulate_waits *waits)
{
	const int64_t times[] = { waits->p50_ms, waits->p95_ms, waits->max_ms };

	for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); i++)
		table_add(table, TABLE_PLAIN,
			  waits->started > 0 ? simulate_time_text(table->arena, times[i]) : "");
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
		*texts++ = hours_text(arena, hours[i]);
	for (size_t i = 0; i < sizeof(waits) / sizeof(waits[0]); i++)
		*texts++ = row->waits.started > 0 ? simulate_time_text(arena, waits[i]) : "";
	*texts++ = simulate_time_text(arena, row->makespan_ms);
	*texts++ = resource_amount_text(arena, row->peak_gpus);
	*texts++ = number_text(arena, row->scale_ups);
	*texts++ = number_text(arena, row->waits.unstarted);
	*texts = plan->prices ? cost_text(arena, plan, row) : "";
}

const struct simulate_cells *simulate_cells_make(const struct simulate_plan *plan)
{
	const struct simulate_row *const *rows = rows_of(plan);
	size_t count = plan->variants.count;
	struct simulate_cells *cells = arena_array(plan->arena, count, sizeof(*cells));

	for (size_t i = 0; i < count; i++) {
		cells[i].best = count > 1 && simulate_row_is_best(rows, count, i);
		set_cells(plan, &plan->variants.at[i], cells[i].texts);
	}
	return cells;
}

static void write_table(const struct simulate_plan *plan, bool colours, struct buf *buf)
{
	const struct simulate_cells *cells = simulate_cells_make(plan);
	struct table_column columns[SIMULATE_COLUMNS];
	size_t count = simulate_column_count(plan);
	struct table table;

	for (size_t i = 0; i < count; i++)
		columns[i] = (struct table_column){ simulate_column_names[i], i > 0 };
	columns[0].title = "  VARIANT";
	table_init(&table, plan->arena, columns, count);
	for (size_t i = 0; i < plan->variants.count; i++) {
		bool never = plan->variants.at[i].row.waits.unstarted > 0;

		table_add(&table, cells[i].best ? TABLE_GOOD : TABLE_PLAIN,
			  arena_printf(plan->arena, "%s %s", cells[i].best ? "*" : " ",
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
	struct table table;

	table_init(&table, plan->arena, columns, sizeof(columns) / sizeof(columns[0]));
	for (size_t i = 0; i < plan->variants.count; i++) {
		const struct simulate_variant *variant = &plan->variants.at[i];

		for (size_t k = 0; k < variant->row.job_count; k++) {
			const struct simulate_job *job = &variant->row.jobs[k];

			table_add(&table, TABLE_PLAIN, variant->name);
			table_add(&table, TABLE_PLAIN, job->job);
			table_add(&table, TABLE_PLAIN,
				  number_text(plan->arena, job->waits.started));
			add_waits(&table, &job->waits);
			table_add(&table, job->waits.unstarted > 0 ? TABLE_BAD : TABLE_PLAIN,
				  number_text(plan->arena, job->waits.unstarted));
		}
	}
	buf_add_char(buf, '\n');
	table_write(&table, colours, buf);
}

static bool same_never(const struct simulate_never *a, const struct simulate_never *b)
{
	return a->count == b->count && strcmp(a->job, b->job) == 0 &&
	       strcmp(a->message, b->message) == 0;
}

static bool has_never(const struct simulate_row *row, const struct simulate_never *never)
{
	for (size_t i = 0; i < row->never_count; i++) {
		if (same_never(&row->never[i], never))
			return true;
	}
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
	text_add_clean(buf, arena_printf(plan->arena, "  %" PRId64 "%s%s: %s%s%s", never->count,
					 *never->job ? " of job " : "", never->job, never->message,
					 *where ? "; in " : "", where));
	buf_add_char(buf, '\n');
	return true;
}

static void write_never(const struct simulate_plan *plan, struct buf *buf)
{
	AUTO(buf_done) struct buf lines;
	size_t count = 0;

	buf_init(&lines, NEVER_BYTES_MAX);
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

/* The row with the fewest GPU-hours (`waits` false) or the shortest waiting among the best rows. */
static size_t extreme(const struct simulate_row *const *rows, size_t count, bool waits)
{
	size_t found = simulate_row_trade(rows, count);

	for (size_t i = 0; i < count; i++) {
		if (!simulate_row_is_best(rows, count, i) ||
		    rows[i]->waits.unstarted > rows[found]->waits.unstarted)
			continue;
		if (waits ? rows[i]->waits.p95_ms < rows[found]->waits.p95_ms :
			    simulate_row_spent(rows[i]) < simulate_row_spent(rows[found]))
			found = i;
	}
	return found;
}

static const char *figures_text(const struct simulate_plan *plan, size_t index)
{
	const struct simulate_row *row = &plan->variants.at[index].row;

	return arena_printf(plan->arena, "%s GPU-hours%s%s and %s waiting (p95)",
			    hours_text(plan->arena, row->provisioned), plan->prices ? " for " : "",
			    plan->prices ? cost_text(plan->arena, plan, row) : "",
			    simulate_time_text(plan->arena, row->waits.p95_ms));
}

void simulate_trade_write(const struct simulate_plan *plan, struct buf *buf)
{
	const struct simulate_row *const *rows = rows_of(plan);
	size_t count = choice_count(plan), best, other[2];
	const char *const names[] = { plan->prices ? "lowest cost" : "fewest GPU-hours",
				      "shortest waiting" };

	if (count < 2)
		return;
	best = simulate_row_trade(rows, count);
	other[0] = extreme(rows, count, false);
	other[1] = extreme(rows, count, true);
	text_add_clean(buf, arena_printf(plan->arena, "best trade: %s, with %s",
					 plan->variants.at[best].name, figures_text(plan, best)));
	buf_add_char(buf, '\n');
	for (size_t i = 0; i < 2; i++) {
		if (other[i] == best)
			continue;
		text_add_clean(buf, arena_printf(plan->arena, "%s: %s, with %s", names[i],
						 plan->variants.at[other[i]].name,
						 figures_text(plan, other[i])));
		buf_add_char(buf, '\n');
	}
}

void simulate_text_write(const struct simulate_plan *plan, bool by_job, bool colours,
			 struct buf *buf)
{
	write_table(plan, colours, buf);
	if (by_job)
		write_jobs(plan, colours, buf);
	write_never(plan, buf);
	if (plan->variants.count < 2)
		return;
	buf_printf(buf,
		   "\n* no other row has %s without a longer waiting time (p95), or the reverse\n",
		   plan->prices ? "a lower cost" : "fewer GPU-hours");
	simulate_trade_write(plan, buf);
}

/* ---- JSON ---- */

static double seconds(int64_t ms)
{
	return (double)ms / 1000;
}

static void write_waits(struct json_writer *writer, const struct simulate_waits *waits)
{
	json_write_integer(writer, "started", waits->started);
	json_write_integer(writer, "neverRan", waits->unstarted);
	json_write_object_line(writer, "waitingSeconds");
	if (waits->started > 0) {
		json_write_double(writer, "p50", seconds(waits->p50_ms));
		json_write_double(writer, "p95", seconds(waits->p95_ms));
		json_write_double(writer, "max", seconds(waits->max_ms));
	}
	json_write_object_end(writer);
}

static void write_lists(struct json_writer *writer, const struct simulate_row *row)
{
	json_write_array(writer, "jobs");
	for (size_t i = 0; i < row->job_count; i++) {
		json_write_object_line(writer, NULL);
		json_write_text(writer, "job", row->jobs[i].job);
		write_waits(writer, &row->jobs[i].waits);
		json_write_object_end(writer);
	}
	json_write_array_end(writer);
	json_write_array(writer, "reasons");
	for (size_t i = 0; i < row->never_count; i++) {
		json_write_object_line(writer, NULL);
		json_write_text(writer, "job", row->never[i].job);
		json_write_integer(writer, "count", row->never[i].count);
		json_write_text(writer, "reason", row->never[i].reason);
		json_write_text(writer, "message", row->never[i].message);
		json_write_object_end(writer);
	}
	json_write_array_end(writer);
}

static void write_groups(struct json_writer *writer, const struct simulate_row *row)
{
	json_write_array(writer, "groups");
	for (size_t i = 0; i < row->group_count; i++) {
		const struct sim_group *group = &row->groups[i];

		json_write_object(writer, NULL);
		json_write_text(writer, "cluster", group->cluster);
		json_write_text(writer, "name", group->name);
		json_write_integer(writer, "peakWorkers", group->peak_workers);
		json_write_integer(writer, "interruptions", group->interruptions);
		json_write_array(writer, "targets");
		for (size_t j = 0; j < group->mark_count; j++) {
			const struct sim_mark *mark = &group->marks[j];

			json_write_object_line(writer, NULL);
			json_write_double(writer, "at", seconds(mark->at_ms));
			json_write_integer(writer, "from", mark->from);
			json_write_integer(writer, "to", mark->to);
			json_write_text(writer, "reason", mark->reason);
			json_write_object_end(writer);
		}
		json_write_array_end(writer);
		json_write_integer(writer, "targetsOmitted", (int64_t)group->marks_dropped);
		json_write_object_end(writer);
	}
	json_write_array_end(writer);
}

static void write_variant(struct json_writer *writer, const struct simulate_plan *plan,
			  const struct simulate_variant *variant, bool best)
{
	const struct simulate_row *row = &variant->row;

	json_write_object(writer, NULL);
	json_write_text(writer, "name", variant->name);
	json_write_object_line(writer, "vary");
	for (size_t i = 0; variant->values && i < plan->axis_count; i++)
		json_write_text(writer, plan->axes[i].path, variant->values[i]);
	json_write_object_end(writer);
	json_write_text(writer, "policy", sim_policy_name(variant->input.policy));
	json_write_boolean(writer, "best", best);
	if (row->has_cost)
		json_write_double(writer, "cost", row->cost);
	json_write_object_line(writer, "gpuHours");
	json_write_double(writer, "provisioned", row->provisioned);
	json_write_double(writer, "used", row->used);
	json_write_double(writer, "idle", row->idle);
	json_write_double(writer, "starting", row->starting);
	json_write_double(writer, "terminating", row->terminating);
	json_write_object_end(writer);
	write_waits(writer, &row->waits);
	json_write_integer(writer, "finished", row->finished);
	json_write_integer(writer, "restarted", row->restarted);
	json_write_double(writer, "makespanSeconds", seconds(row->makespan_ms));
	json_write_double(writer, "endSeconds", seconds(row->end_ms));
	json_write_amount(writer, "peakGPUs", row->peak_gpus);
	json_write_integer(writer, "scaleUps", row->scale_ups);
	json_write_integer(writer, "decisions", row->decisions);
	write_groups(writer, row);
	write_lists(writer, row);
	json_write_object_end(writer);
}

void simulate_json_write(const struct simulate_plan *plan, struct buf *buf)
{
	const struct simulate_row *const *rows = rows_of(plan);
	size_t count = plan->variants.count;
	struct json_writer writer;

	json_write_init(&writer, buf, JSON_STYLE_PRETTY);
	json_write_object(&writer, NULL);
	json_write_text(&writer, "apiVersion", "rayscaler.dev/v1alpha1");
	json_write_text(&writer, "kind", "SimulationResult");
	if (plan->prices)
		json_write_text(&writer, "currency", plan->prices->currency);
	json_write_array(&writer, "variants");
	for (size_t i = 0; i < count; i++)
		write_variant(&writer, plan, &plan->variants.at[i],
			      simulate_row_is_best(rows, count, i));
	json_write_array_end(&writer);
	json_write_text(&writer, "bestTrade",
			plan->variants.at[simulate_row_trade(rows, count)].name);
	json_write_object_end(&writer);
	buf_add_char(buf, '\n');
}

/* ---- CSV ---- */

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
		buf_printf(buf, ",%.4f", row->cost);
	else
		buf_add_char(buf, ',');
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
	const struct simulate_row *const *rows = rows_of(plan);

	buf_add_string(buf,
		       by_job ? "variant,job," :
				"variant,policy,best,gpu_hours,used,idle,starting,terminating,cost,"
				"makespan_seconds,peak_gpus,scale_ups,");
	buf_add_string(buf, waits);
	for (size_t i = 0; i < plan->variants.count; i++) {
		if (by_job)
			add_csv_jobs(&plan->variants.at[i], buf);
		else
			add_csv_row(&plan->variants.at[i],
				    simulate_row_is_best(rows, plan->variants.count, i), buf);
	}
}
