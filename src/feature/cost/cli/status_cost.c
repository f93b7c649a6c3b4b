/* `status --cost`: GPU time and cost of RayClusters, as their RayClusterAutoscalers have them, so it
 * needs no controller; at most 5 minutes old while one runs. By cluster and in all; with --by instead
 * by namespace or by a label of the RayCluster. Sums in different currencies are kept apart. */
#include <stdio.h>
#include <string.h>

#include "base/sort.h"
#include "cli/shared/status_page.h"
#include "cli/shared/table.h"
#include "cli/shared/unscaled.h"
#include "codec/schema/document_head.h"
#include "codec/schema/field.h"
#include "codec/text/number.h"
#include "codec/text/rfc3339.h"
#include "core/model/price.h"
#include "feature/cost/core/metering.h"

#define MS_PER_DAY INT64_C(86400000)
#define BY_LABEL "label="
#define DATE_SIZE 10

/* A cluster, or several with the same key and currency. */
struct row {
	const char *namespace_, *name; /* "" of several */
	const char *key;               /* of --by */
	const char *currency;          /* "" without prices */
	bool known;
	const struct view_cluster *old; /* nothing scales it now; NULL: not known to be so */
	int64_t gpus;                   /* 1/10000 */
	int64_t today_seconds, seconds; /* of GPUs */
	int64_t requested_seconds;      /* of `seconds`: METERING_REQUESTED */
	/* Of the currency; the last ones of requested_seconds. */
	int64_t hour_micros, today_micros, all_micros, requested_micros;
	time_ms since, until;
};

struct rows {
	VEC(struct row) at;
};

struct costs {
	const char *by; /* "": not given */
	struct rows clusters;
	struct rows sums; /* by key and currency; empty without --by */
	struct rows all;  /* by currency */
};

/* ---- sums ---- */

static struct row row_of(const struct ray_cluster *cluster,
			 const struct autoscaler_metering *metering, const char *by, time_ms now)
{
	struct row row = { cluster->namespace_, cluster->name, "", "", .since = TIME_NONE };
	const char *problem, *label;
	double gpus;

	if (by && strcmp(by, "namespace") == 0)
		row.key = cluster->namespace_;
	else if (by && (label = labels_value(&cluster->labels, by + strlen(BY_LABEL))))
		row.key = label;
	if (!metering || strcmp(metering->cluster_uid, cluster->uid) != 0)
		return row;
	row.known = true;
	row.currency = metering->currency;
	row.since = metering->since;
	row.until = metering->until;
	row.hour_micros = metering->cost_per_hour_micros;
	if (number_parse(metering->gpus, &gpus) == 0)
		row.gpus = amount_from_double(gpus, &problem);
	if (metering->until != TIME_NONE && metering->until / MS_PER_DAY == now / MS_PER_DAY) {
		row.today_seconds = metering->today_gpu_seconds;
		row.today_micros = metering->today_cost_micros;
	}
	for (size_t i = 0; i < metering->group_count; i++) {
		row.all_micros = resource_sum(row.all_micros, metering->groups[i].cost_micros);
		for (size_t s = 0; s < METERING_STATE_COUNT; s++)
			row.seconds = resource_sum(row.seconds, metering->groups[i].gpu_seconds[s]);
		row.requested_seconds = resource_sum(
			row.requested_seconds, metering->groups[i].gpu_seconds[METERING_REQUESTED]);
		row.requested_micros =
			resource_sum(row.requested_micros, metering->groups[i].requested_micros);
	}
	return row;
}

static void add(struct row *sum, const struct row *row)
{
	sum->known = true;
	sum->gpus = resource_sum(sum->gpus, row->gpus);
	sum->hour_micros = resource_sum(sum->hour_micros, row->hour_micros);
	sum->today_seconds = resource_sum(sum->today_seconds, row->today_seconds);
	sum->today_micros = resource_sum(sum->today_micros, row->today_micros);
	sum->seconds = resource_sum(sum->seconds, row->seconds);
	sum->requested_seconds = resource_sum(sum->requested_seconds, row->requested_seconds);
	sum->all_micros = resource_sum(sum->all_micros, row->all_micros);
	sum->requested_micros = resource_sum(sum->requested_micros, row->requested_micros);
	if (sum->since == TIME_NONE || (row->since != TIME_NONE && row->since < sum->since))
		sum->since = row->since;
}

/* Adds the rows that are known to the sum of their currency and, if not `all`, of their key. */
static void sum_rows(const struct rows *rows, bool all, struct arena *arena, struct rows *ret_sums)
{
	VEC_EACH(const struct row, row, &rows->at) {
		const char *key = all ? "" : row->key;
		struct row *sum = NULL;

		VEC_EACH(struct row, each, &ret_sums->at)
			if (strcmp(each->currency, row->currency) == 0 &&
			    strcmp(each->key, key) == 0)
				sum = each;
		if (!row->known)
			continue;
		if (!sum) {
			sum = VEC_ADD(arena, &ret_sums->at);
			*sum = (struct row){ "", "", key, row->currency, .since = TIME_NONE };
		}
		add(sum, row);
	}
}

static int compare(const void *a, const void *b)
{
	const struct row *left = a, *right = b;
	int order = strcmp(left->key, right->key);

	if (order == 0)
		order = strcmp(left->namespace_, right->namespace_);
	return order != 0 ? order : strcmp(left->name, right->name);
}

static const struct view_cluster *find_unscaled(const struct view_clusters *clusters,
						const struct ray_cluster *object)
{
	if (clusters->unscaled == 0)
		return NULL;
	for (size_t i = 0; i < clusters->count; i++)
		if (clusters->at[i].unscaled && strcmp(clusters->at[i].name, object->name) == 0 &&
		    strcmp(clusters->at[i].namespace_, object->namespace_) == 0)
			return &clusters->at[i];
	return NULL;
}

static struct costs costs_of(const struct status_page_input *input, struct arena *arena)
{
	const char *by = input->value;
	struct costs costs = { .by = by ? by : "" };
	struct rows *rows = &costs.clusters;
	const struct autoscaler_object *autoscaler;
	const struct ray_cluster *cluster;
	size_t at = 0;

	while ((cluster = view_next(input->view, &at, &autoscaler))) {
		VEC_PUSH(arena, &rows->at,
			 row_of(cluster,
				autoscaler && autoscaler->status ?
					autoscaler->status->parts.metering :
					NULL,
				by, input->now));
		rows->at.at[rows->at.count - 1].old = find_unscaled(input->clusters, cluster);
	}
	if (rows->at.count > 0)
		sort_stable(rows->at.at, rows->at.count, sizeof(*rows->at.at), compare);
	if (by)
		sum_rows(rows, false, arena, &costs.sums);
	sum_rows(rows, true, arena, &costs.all);
	return costs;
}

/* ---- text ---- */

/* "12.34 EUR", or without a currency the GPU time: "3.50 GPU-h". */
static const char *value_text(struct arena *arena, const struct row *row, int64_t micros,
			      double gpu_hours)
{
	if (!row->known)
		return "?";
	return *row->currency != '\0' ?
		       arena_printf(arena, "%.2f %s", (double)micros / (double)PRICE_MICROS,
				    row->currency) :
		       arena_printf(arena, "%.2f GPU-h", gpu_hours);
}

static double hours(int64_t seconds)
{
	return (double)seconds / 3600;
}

static void add_row(struct table *table, const struct row *row, const char *first,
		    const char *second)
{
	struct arena *arena = table->arena;
	char since[RFC3339_SIZE] = "";

	rfc3339_print(row->since, since);
	since[DATE_SIZE] = '\0';
	table_add(table, TABLE_PLAIN, first);
	if (second)
		table_add(table, TABLE_PLAIN, second);
	TABLE_ADD_TEXTS(
		table, row->known ? resource_amount_text(arena, row->gpus) : "?",
		value_text(arena, row, row->hour_micros, (double)row->gpus / (double)RESOURCE_UNIT),
		value_text(arena, row, row->today_micros, hours(row->today_seconds)),
		value_text(arena, row, row->all_micros, hours(row->seconds)),
		value_text(arena, row, row->requested_micros, hours(row->requested_seconds)));
	table_add(table, TABLE_FAINT, arena_strdup(arena, since));
}

static const char *name_text(const struct row *row, struct arena *arena)
{
	return row->old && row->old->age_ms != VIEW_AGE_UNKNOWN ?
		       arena_printf(arena, "%s %s", row->name, unscaled_mark(row->old, "", arena)) :
		       row->name;
}

static void write_text(const struct status_page_input *input, struct arena *arena, struct buf *buf)
{
	const char *by = input->value;
	const struct table_column columns[] = {
		{ "NAMESPACE", false }, { "CLUSTER", false }, { "GPUS", true },
		{ "PER HOUR", true },   { "TODAY", true },    { "TOTAL", true },
		{ "REQUESTED", true },  { "SINCE", false },
	};
	struct table_column by_columns[] = {
		{ "NAMESPACE", false },
		columns[2],
		columns[3],
		columns[4],
		columns[5],
		columns[6],
		columns[7],
	};
	const struct costs costs = costs_of(input, arena);
	const struct rows *shown = by ? &costs.sums : &costs.clusters;
	struct table table =
		by ? TABLE_INIT(arena, by_columns, sizeof(by_columns) / sizeof(by_columns[0])) :
		     TABLE_INIT(arena, columns, sizeof(columns) / sizeof(columns[0]));

	if (by && strcmp(by, "namespace") != 0)
		by_columns[0].title = by + strlen(BY_LABEL);
	for (size_t i = 0; i < shown->at.count; i++)
		add_row(&table, &shown->at.at[i],
			by ? shown->at.at[i].key : shown->at.at[i].namespace_,
			by ? NULL : name_text(&shown->at.at[i], arena));
	for (size_t i = 0; i < costs.all.at.count; i++)
		add_row(&table, &costs.all.at.at[i], "all", by ? NULL : "");
	unscaled_write(input->clusters, !by, input->width, arena, buf);
	table_write(&table, input->colours, buf);
}

/* ---- JSON ---- */

static void write_hours(struct json_writer *writer, const struct field *field, const void *object)
{
	const int64_t *seconds = field_value_read(field, object);

	json_write_double(writer, field->name, hours(*seconds));
}

static void write_micros(struct json_writer *writer, const struct field *field, const void *object)
{
	const int64_t *micros = field_value_read(field, object);

	json_write_double(writer, field->name, (double)*micros / (double)PRICE_MICROS);
}

#define ROW(kind, m, n) FIELD_##kind(struct row, m, n, .flags = FIELD_ALWAYS)
#define SCALED(m, n, hook)                                                                         \
	FIELD_HOOK(n, .offset = FIELD_OFFSET(struct row, m, int64_t), .write = (hook))

/* Saturated amounts in 1/10000. */
static const struct field figure_fields[] = {
	ROW(TEXT, currency, "currency"),
	ROW(AMOUNT, gpus, "gpus"),
	SCALED(today_seconds, "gpuHoursToday", write_hours),
	SCALED(seconds, "gpuHours", write_hours),
	SCALED(requested_seconds, "gpuHoursRequested", write_hours),
	SCALED(hour_micros, "costPerHour", write_micros),
	SCALED(today_micros, "costToday", write_micros),
	SCALED(all_micros, "cost", write_micros),
	SCALED(requested_micros, "costRequested", write_micros),
	ROW(TIME, since, "since"),
	FIELD_END,
};

static void write_figures(struct json_writer *writer, const struct field *field UNUSED,
			  const void *object)
{
	field_write_all(writer, figure_fields, object);
}

static const struct field until_field = ROW(TIME, until, "until");

static void write_known(struct json_writer *writer, const struct field *field, const void *object)
{
	if (!((const struct row *)object)->known)
		return;
	write_figures(writer, field, object);
	field_write_value(writer, &until_field, object);
}

static void write_unscaled(struct json_writer *writer, const struct field *field,
			   const void *object)
{
	json_write_boolean(writer, field->name, ((const struct row *)object)->old != NULL);
}

static const struct field cluster_fields[] = {
	ROW(TEXT, namespace_, "namespace"),
	ROW(TEXT, name, "name"),
	FIELD_HOOK("unscaled", .write = write_unscaled),
	ROW(BOOLEAN, known, "known"),
	FIELD_HOOK("figures", .write = write_known),
	FIELD_END,
};

static const struct field sum_fields[] = {
	ROW(TEXT, key, "key"),
	FIELD_HOOK("figures", .write = write_figures),
	FIELD_END,
};

#define ROWS(m, fields, n)                                                                         \
	FIELD_VEC(struct costs, m, (fields), n, .flags = FIELD_ALWAYS | FIELD_LINE)

static const struct field page_fields[] = {
	FIELD_FIXED("apiVersion", OWN_GROUP_VERSION),
	FIELD_FIXED("kind", "CostList"),
	ROWS(clusters.at, cluster_fields, "clusters"),
	FIELD_TEXT(struct costs, by, "by", .flags = FIELD_ALWAYS),
	ROWS(sums.at, sum_fields, "sums"),
	ROWS(all.at, figure_fields, "totals"),
	FIELD_END,
};

static void write_json(const struct status_page_input *input, struct arena *arena, struct buf *buf)
{
	const struct costs costs = costs_of(input, arena);

	field_write_page(page_fields, &costs, buf);
}

static int check_by(const char *by, struct err *err)
{
	if (strcmp(by, "namespace") == 0 ||
	    (strncmp(by, BY_LABEL, strlen(BY_LABEL)) == 0 && by[strlen(BY_LABEL)] != '\0'))
		return 0;
	return err_set(err, ERR_INPUT,
		       "--by takes namespace or label=KEY, such as label=owner; is \"%s\"", by);
}

const struct status_page status_cost_page = {
	.flag = "--cost",
	.value_flag = "--by",
	.value_of_all = "namespace",
	.usage = "       @ status --cost [--by namespace|label=KEY] [CLUSTER] [-n NS | -A]\n",
	.description = "With --cost: GPUs on Nodes, and their cost or GPU-hours (docs/COST.md).\n",
	.flags = "  --cost                        per hour, today (UTC) and in total\n"
		 "  --by KEY                      with --cost: sums by namespace (of all of them\n"
		 "                                without -n), or by label=KEY of RayClusters\n",
	.check_value = check_by,
	.write_text = write_text,
	.write_json = write_json,
};
