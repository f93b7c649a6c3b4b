#include "cli/simulate_text.h"

#include "codec/schema/document_head.h"
#include "codec/schema/field.h"

/* Members are always written. */
#define TEXT(T, m, n) FIELD_TEXT(T, m, n, .flags = FIELD_ALWAYS)
#define INTEGER(T, m, n) FIELD_INTEGER(T, m, n, .flags = FIELD_ALWAYS)
#define AMOUNT(T, m, n) FIELD_AMOUNT(T, m, n, .flags = FIELD_ALWAYS)
#define LINES(T, m, number, fields, n)                                                             \
	FIELD_LIST(T, m, number, fields, n, .flags = FIELD_ALWAYS | FIELD_LINE)
#define DOUBLE(T, m, ...)                                                                          \
	FIELD_HOOK(__VA_ARGS__, .offset = FIELD_OFFSET(T, m, double), .write = write_double)
/* A span in ms, in seconds. */
#define SECONDS(T, m, n)                                                                           \
	FIELD_HOOK(n, .offset = FIELD_OFFSET(T, m, int64_t), .write = write_seconds)

static void write_double(struct json_writer *writer, const struct field *field, const void *object)
{
	const double *value = field_value_read(field, object);

	json_write_double(writer, field->name, *value);
}

static void write_seconds(struct json_writer *writer, const struct field *field, const void *object)
{
	const int64_t *ms = field_value_read(field, object);

	json_write_double(writer, field->name, (double)*ms / 1000);
}

/* ---- waiting times ---- */

#define WAITS struct simulate_waits
/* Of what started. */
#define WAIT(m, n) FIELD_HOOK(n, .offset = FIELD_OFFSET(WAITS, m, int64_t), .write = write_wait)

static void write_wait(struct json_writer *writer, const struct field *field, const void *object)
{
	const struct simulate_waits *waits = object;

	if (waits->started > 0)
		write_seconds(writer, field, object);
}

static const struct field weighted_fields[] = {
	WAIT(p50_ms, "p50"),
	WAIT(p95_ms, "p95"),
	WAIT(max_ms, "max"),
	FIELD_END,
};

static const struct field unweighted_fields[] = {
	WAIT(item_p50_ms, "p50"),
	WAIT(item_p95_ms, "p95"),
	FIELD_END,
};

static const struct field waits_fields[] = {
	INTEGER(WAITS, started, "started"),
	INTEGER(WAITS, unstarted, "neverRan"),
	FIELD_OBJECT(weighted_fields, "waitingSeconds", .flags = FIELD_ALWAYS | FIELD_LINE),
	FIELD_OBJECT(unweighted_fields, "unweightedWaitingSeconds",
		     .flags = FIELD_ALWAYS | FIELD_LINE),
	DOUBLE(WAITS, waited, "waitedGPUHours"),
	FIELD_END,
};

/* A row of waits_fields among the members of another struct. */
#define WAITS_OF(T)                                                                                \
	FIELD_HOOK("waits", .offset = FIELD_OFFSET(T, waits, WAITS), .write = write_waits)

static void write_waits(struct json_writer *writer, const struct field *field, const void *object)
{
	field_write_all(writer, waits_fields, field_value_read(field, object));
}

/* ---- lists ---- */

#define JOB struct simulate_job
#define NEVER struct simulate_never
#define QUEUE struct simulate_queue
#define POOL struct sim_pool
#define MARK struct sim_mark
#define GROUP struct sim_group

static const struct field job_fields[] = {
	TEXT(JOB, job, "job"),
	WAITS_OF(JOB),
	FIELD_END,
};

static const struct field never_fields[] = {
	TEXT(NEVER, job, "job"),
	INTEGER(NEVER, count, "count"),
	TEXT(NEVER, reason, "reason"),
	TEXT(NEVER, message, "message"),
	FIELD_END,
};

static const struct field queue_fields[] = {
	TEXT(QUEUE, name, "name"),
	DOUBLE(QUEUE, used, "usedGPUHours"),
	DOUBLE(QUEUE, lost, "lostGPUHours"),
	DOUBLE(QUEUE, held, "heldGPUHours"),
	DOUBLE(QUEUE, idle_while_others_waited, "idleWhileOthersWaitedGPUHours"),
	SECONDS(QUEUE, below_guarantee_ms, "belowGuaranteeSeconds"),
	WAITS_OF(QUEUE),
	FIELD_END,
};

static void write_jain(struct json_writer *writer, const struct field *field, const void *object)
{
	const struct sim_pool *pool = object;

	if (pool->contended_ms > 0)
		json_write_double(writer, field->name, pool->jain);
}

static const struct field pool_fields[] = {
	TEXT(POOL, name, "name"),
	AMOUNT(POOL, gpus, "gpus"),
	AMOUNT(POOL, peak, "peak"),
	SECONDS(POOL, contended_ms, "contendedSeconds"),
	FIELD_HOOK("jain", .write = write_jain),
	FIELD_END,
};

/* Each with its queues. */
static void write_pools(struct json_writer *writer, const struct field *field, const void *object)
{
	const struct simulate_row *row = object;

	if (row->pool_count == 0)
		return;
	json_write_array(writer, field->name);
	for (size_t p = 0; p < row->pool_count; p++) {
		json_write_object(writer, NULL);
		field_write_all(writer, pool_fields, &row->pools[p]);
		json_write_array(writer, "queues");
		for (size_t q = 0; q < row->queue_count; q++)
			if (row->queues[q].pool == p)
				field_write_object(writer, NULL, queue_fields, &row->queues[q]);
		json_write_array_end(writer);
		json_write_object_end(writer);
	}
	json_write_array_end(writer);
}

static const struct field mark_fields[] = {
	SECONDS(MARK, at_ms, "at"),
	INTEGER(MARK, from, "from"),
	INTEGER(MARK, to, "to"),
	TEXT(MARK, reason, "reason"),
	FIELD_END,
};

static const struct field group_fields[] = {
	INTEGER(GROUP, peak_workers, "peakWorkers"),
	INTEGER(GROUP, interruptions, "interruptions"),
	LINES(GROUP, marks, mark_count, mark_fields, "targets"),
	FIELD_COUNT(GROUP, marks_dropped, "targetsOmitted", .flags = FIELD_ALWAYS),
	FIELD_END,
};

static void write_cost(struct json_writer *writer, const struct simulate_row *row, size_t i)
{
	json_write_text(writer, "market", price_market_name(row->costs[i].market));
	if (row->costs[i].has_price)
		json_write_double(writer, "cost", row->costs[i].cost);
	json_write_boolean(writer, "unpriced", simulate_row_lacks_price(row, i));
	json_write_double(writer, "gpuHours", simulate_gpu_hours(row->groups[i].provisioned));
}

/* Each as [second, demand, provisioned, used]: of groups with GPUs, for the page. */
static void write_points(struct json_writer *writer, const struct simulate_series *series)
{
	json_write_array_line(writer, "points");
	ARRAY_EACH(const struct sim_point, point, series->points, series->count) {
		json_write_array_line(writer, NULL);
		json_write_double(writer, NULL, (double)point->at_ms / 1000);
		json_write_amount(writer, NULL, point->demand);
		json_write_amount(writer, NULL, point->provisioned);
		json_write_amount(writer, NULL, point->used);
		json_write_array_end(writer);
	}
	json_write_array_end(writer);
}

static void write_groups(struct json_writer *writer, const struct field *field, const void *object)
{
	const struct simulate_row *row = object;

	json_write_array(writer, field->name);
	for (size_t i = 0; i < row->group_count; i++) {
		const struct sim_group *group = &row->groups[i];

		json_write_object(writer, NULL);
		JSON_WRITE_TEXTS(writer, { "cluster", group->cluster }, { "name", group->name });
		write_cost(writer, row, i);
		field_write_all(writer, group_fields, group);
		if (row->series && row->series[i].count > 0)
			write_points(writer, &row->series[i]);
		json_write_object_end(writer);
	}
	json_write_array_end(writer);
}

/* ---- variants ---- */

#define ROW struct simulate_row
#define SPAN struct simulate_span

static const struct field span_fields[] = {
	TEXT(SPAN, name, "name"),
	DOUBLE(SPAN, gpus, "gpus"),
	INTEGER(SPAN, units, "units"),
	FIELD_END,
};

static void write_spans(struct json_writer *writer, const struct field *field, const void *object)
{
	const struct simulate_row *row = object;

	if (!row->series)
		return;
	json_write_array(writer, field->name);
	ARRAY_EACH(const struct simulate_span, span, row->spans, SIMULATE_SPANS)
		field_write_object(writer, NULL, span_fields, span);
	json_write_array_end(writer);
}

static const struct field hours_fields[] = {
	DOUBLE(ROW, provisioned, "provisioned"),
	DOUBLE(ROW, used, "used"),
	DOUBLE(ROW, idle, "idle"),
	DOUBLE(ROW, starting, "starting"),
	DOUBLE(ROW, terminating, "terminating"),
	FIELD_END,
};

static void write_head_hours(struct json_writer *writer, const struct field *field,
			     const void *object)
{
	const struct simulate_row *row = object;

	json_write_double(writer, field->name, (double)row->head_ms / 1000 / 3600);
}

static const struct field row_fields[] = {
	DOUBLE(ROW, cost, "cost", .has = FIELD_HAS(ROW, has_cost)),
	FIELD_OBJECT(hours_fields, "gpuHours", .flags = FIELD_ALWAYS | FIELD_LINE),
	WAITS_OF(ROW),
	INTEGER(ROW, finished, "finished"),
	INTEGER(ROW, restarted, "restarted"),
	SECONDS(ROW, makespan_ms, "makespanSeconds"),
	SECONDS(ROW, end_ms, "endSeconds"),
	AMOUNT(ROW, peak_gpus, "peakGPUs"),
	FIELD_HOOK("headHours", .write = write_head_hours),
	INTEGER(ROW, suspensions, "suspensions"),
	INTEGER(ROW, resizes, "resizes"),
	INTEGER(ROW, scale_ups, "scaleUps"),
	INTEGER(ROW, decisions, "decisions"),
	FIELD_HOOK("waits", .write = write_spans),
	FIELD_HOOK("groups", .write = write_groups),
	FIELD_HOOK("gpuPools", .write = write_pools),
	LINES(ROW, jobs, job_count, job_fields, "jobs"),
	LINES(ROW, never, never_count, never_fields, "reasons"),
	FIELD_END,
};

static void write_variant(struct json_writer *writer, const struct simulate_plan *plan,
			  size_t index)
{
	const struct simulate_variant *variant = &plan->variants.at[index];
	const struct simulate_row *const *rows = simulate_rows(plan);
	size_t count = plan->variants.count, first = simulate_row_first(rows, count, index);

	json_write_object(writer, NULL);
	json_write_text(writer, "name", variant->name);
	json_write_object_line(writer, "vary");
	if (variant->values)
		for (size_t i = 0; i < plan->axis_count; i++)
			json_write_text(writer, plan->axes[i].path, variant->values[i]);
	json_write_object_end(writer);
	json_write_text(writer, "policy", sim_policy_name(variant->input.policy));
	json_write_boolean(writer, "best", simulate_row_is_starred(rows, count, index));
	if (first != index)
		json_write_text(writer, "sameAs", plan->variants.at[first].name);
	field_write_all(writer, row_fields, &variant->row);
	json_write_object_end(writer);
}

void simulate_json_write(const struct simulate_plan *plan, struct buf *buf)
{
	const struct simulate_row *const *rows = simulate_rows(plan);
	struct json_writer writer;

	json_write_init(&writer, buf, JSON_STYLE_PRETTY);
	json_write_object(&writer, NULL);
	JSON_WRITE_TEXTS(&writer, { "apiVersion", OWN_GROUP_VERSION },
			 { "kind", "SimulationResult" });
	if (plan->prices)
		json_write_text(&writer, "currency", plan->prices->currency);
	json_write_array_line(&writer, "warnings");
	VEC_EACH(const char *const, note, &plan->notes)
		json_write_text(&writer, NULL, *note);
	json_write_array_end(&writer);
	json_write_array(&writer, "variants");
	for (size_t i = 0; i < plan->variants.count; i++)
		write_variant(&writer, plan, i);
	json_write_array_end(&writer);
	json_write_text(
		&writer, "bestTrade",
		plan->variants.at[simulate_row_trade(rows, simulate_choice_count(plan))].name);
	json_write_object_end(&writer);
	buf_add_char(buf, '\n');
}
