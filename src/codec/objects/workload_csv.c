#include "codec/objects/workload_csv.h"

#include <stdbool.h>
#include <string.h>

#include "base/memory.h"
#include "codec/objects/workload_item.h"
#include "codec/text/csv.h"
#include "codec/text/duration.h"
#include "codec/text/json_write.h"
#include "codec/text/number.h"
#include "codec/text/position.h"

#define CSV_JSON_BYTES_MAX ((size_t)16 << 20)

/* ---- the columns ---- */

enum target_kind {
	TARGET_TIME, /* of a struct row */
	TARGET_COUNT,
	TARGET_TEXT,
	TARGET_AMOUNT, /* given twice: the product */
	TARGET_LABEL,
};

enum row_time { ROW_SUBMIT, ROW_BEGIN, ROW_END, ROW_DURATION, ROW_TIMES };

static const struct target {
	const char *name;   /* in --columns; with a dot at its end a prefix */
	const char *member; /* of the item, for the position of errors */
	enum target_kind kind;
	unsigned time;        /* of a TIME */
	const char *resource; /* of an AMOUNT; NULL: the rest of the name */
} targets[] = {
	{ "submit", "submit", TARGET_TIME, ROW_SUBMIT, NULL },
	{ "begin", "duration", TARGET_TIME, ROW_BEGIN, NULL },
	{ "end", "duration", TARGET_TIME, ROW_END, NULL },
	{ "duration", "duration", TARGET_TIME, ROW_DURATION, NULL },
	{ "gpus", "resources", TARGET_AMOUNT, 0, "GPU" },
	{ "cpus", "resources", TARGET_AMOUNT, 0, "CPU" },
	{ "memory", "resources", TARGET_AMOUNT, 0, "memory" },
	{ "resource.", "resources", TARGET_AMOUNT, 0, NULL },
	{ "label.", "labelSelector", TARGET_LABEL, 0, NULL },
	{ "bundles", "bundles", TARGET_COUNT, 0, NULL },
	{ "count", "count", TARGET_COUNT, 0, NULL },
	{ "kind", "kind", TARGET_TEXT, 0, NULL },
	{ "strategy", "strategy", TARGET_TEXT, 0, NULL },
	{ "job", "job", TARGET_TEXT, 0, NULL },
	{ "cluster", "cluster", TARGET_TEXT, 0, NULL },
};
#define TARGET_COUNT_ALL (sizeof(targets) / sizeof(targets[0]))

static const char target_names[] =
	"submit, begin, end, duration, gpus, cpus, memory, resource.NAME, label.KEY, bundles, "
	"count, kind, strategy, job and cluster";

/* Of times in seconds, of amounts in units. Division keeps 460 milli the double that 0.46 is. */
static const struct unit {
	const char *name;
	enum target_kind kind;
	double factor, divisor;
} units[] = {
	{ "ms", TARGET_TIME, 1, 1e3 },           { "s", TARGET_TIME, 1, 1 },
	{ "min", TARGET_TIME, 60, 1 },           { "h", TARGET_TIME, 3600, 1 },
	{ "d", TARGET_TIME, 86400, 1 },          { "milli", TARGET_AMOUNT, 1, 1e3 },
	{ "percent", TARGET_AMOUNT, 1, 1e2 },    { "KB", TARGET_AMOUNT, 1e3, 1 },
	{ "MB", TARGET_AMOUNT, 1e6, 1 },         { "GB", TARGET_AMOUNT, 1e9, 1 },
	{ "KiB", TARGET_AMOUNT, 1024, 1 },       { "MiB", TARGET_AMOUNT, 1048576, 1 },
	{ "GiB", TARGET_AMOUNT, 1073741824, 1 },
};

static const char unit_names[] =
	"ms, s, min, h and d for times, milli, percent, KB, MB, GB, KiB, MiB and GiB for amounts";

struct column {
	const struct target *target;
	const char *resource;    /* of an AMOUNT and a LABEL */
	const char *header;      /* the name in the first line */
	const struct unit *unit; /* NULL: none */
	size_t index;            /* of the cell */
};

struct csv {
	struct workload_builder *builder;
	struct csv_rows rows;
	struct arena arena; /* of the columns */
	VEC(struct column) columns;
	size_t header_count;
	struct buf json;
	struct err *err;
};

/* "line 3, column 5 (HEADER): " before the error of this column's cell; NULL: of the row. */
static int fail_column(const struct csv *csv, const struct column *column)
{
	size_t offset = column ? csv->rows.cells.at[column->index].offset : csv->rows.start;
	struct position at = position_of_byte(csv->rows.text, offset);

	return column ? err_prefix(csv->err, "line %u, column %u (%.80s)", at.line, at.column,
				   column->header) :
			err_prefix(csv->err, "line %u, column %u", at.line, at.column);
}

/* ---- --columns ---- */

static const struct target *find_target(const char *text, const char **ret_resource)
{
	for (size_t i = 0; i < TARGET_COUNT_ALL; i++) {
		const struct target *target = &targets[i];
		size_t size = strlen(target->name);

		*ret_resource = target->resource;
		if (target->name[size - 1] != '.' && strcmp(target->name, text) == 0)
			return target;
		*ret_resource = text + size;
		if (target->name[size - 1] == '.' && strncmp(target->name, text, size) == 0 &&
		    text[size] != '\0')
			return target;
	}
	return NULL;
}

static const struct unit *find_unit(const char *name, enum target_kind kind)
{
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		if (units[i].kind == kind && strcmp(units[i].name, name) == 0)
			return &units[i];
	}
	return NULL;
}

/* The index of the header; the number of headers if there is none of the name. */
static size_t find_header(const struct csv *csv, const char *name)
{
	size_t i = 0;

	while (i < csv->rows.cells.count && strcmp(csv->rows.cells.at[i].text, name) != 0)
		i++;
	return i;
}

/* HEADER or HEADER:UNIT; a header may contain a colon. */
static int parse_header(const struct csv *csv, char *header, struct column *column)
{
	char *colon = strrchr(header, ':');

	column->header = header;
	column->index = find_header(csv, header);
	if (column->index < csv->rows.cells.count || !colon) {
		if (column->index >= csv->rows.cells.count)
			return err_set(csv->err, ERR_INPUT,
				       "--columns %s=%.80s: the first line of the file has no such "
				       "column",
				       column->target->name, header);
		return 0;
	}
	*colon = '\0';
	column->unit = find_unit(colon + 1, column->target->kind);
	if (!column->unit)
		return err_set(csv->err, ERR_INPUT,
			       "--columns %s=%.80s: unit \"%.40s\" is not known; there are %s",
			       column->target->name, header, colon + 1, unit_names);
	return parse_header(csv, header, column);
}

/* One TARGET=HEADER[:UNIT]. */
static int parse_column(struct csv *csv, char *text)
{
	struct column *column = VEC_ADD(&csv->arena, &csv->columns);
	char *equals = strchr(text, '=');

	if (!equals || equals[1] == '\0')
		return err_set(csv->err, ERR_INPUT,
			       "--columns: \"%.80s\" must be NAME=COLUMN or NAME=COLUMN:UNIT",
			       text);
	*equals = '\0';
	column->target = find_target(text, &column->resource);
	if (!column->target)
		return err_set(csv->err, ERR_INPUT, "--columns: %.80s is not known; there are %s",
			       text, target_names);
	for (size_t i = 0; i + 1 < csv->columns.count; i++) {
		if (csv->columns.at[i].target == column->target &&
		    column->target->kind != TARGET_AMOUNT && column->target->kind != TARGET_LABEL)
			return err_set(csv->err, ERR_INPUT, "--columns: %s is there twice", text);
	}
	return parse_header(csv, equals + 1, column);
}

static bool has_time(const struct csv *csv, enum row_time time)
{
	for (size_t i = 0; i < csv->columns.count; i++) {
		const struct target *target = csv->columns.at[i].target;

		if (target->kind == TARGET_TIME && target->time == (unsigned)time)
			return true;
	}
	return false;
}

static int parse_columns(struct csv *csv, const char *columns)
{
	char *text = arena_strdup(&csv->arena, columns), *rest = text;

	while ((text = strsep(&rest, ",")) != NULL) {
		if (parse_column(csv, text))
			return -1;
	}
	if (!has_time(csv, ROW_SUBMIT))
		return err_set(csv->err, ERR_INPUT,
			       "--columns: submit is missing; add submit=COLUMN");
	if (has_time(csv, ROW_DURATION) == has_time(csv, ROW_END))
		return err_set(csv->err, ERR_INPUT,
			       "--columns: give either duration=COLUMN or end=COLUMN (with begin= "
			       "where work does not begin at submit)");
	return 0;
}

/* ---- rows ---- */

struct amount {
	const char *resource;
	double value;
};

/* The item of one row. */
struct row {
	int64_t times[ROW_TIMES];
	bool has[ROW_TIMES];
	VEC(struct amount) amounts;
	int64_t bundles; /* 0: not given */
	int64_t count;
};

static double scale(const struct column *column, double value)
{
	return column->unit ? value * column->unit->factor / column->unit->divisor : value;
}

/* A number in the unit, a date or a duration; without a duration nothing runs. */
static int take_time(struct csv *csv, const struct column *column, const char *text,
		     struct row *row)
{
	int64_t *ret_ms = &row->times[column->target->time];
	const char *problem;
	bool absolute;
	double number;

	row->has[column->target->time] = true;
	if (number_parse(text, &number) == 0) {
		if (duration_from_seconds(scale(column, number), ret_ms, &problem) == 0)
			return 0;
	} else if (workload_time_parse(text, ret_ms, &absolute, &problem) == 0) {
		return 0;
	}
	return err_set(csv->err, ERR_INPUT, "%s: \"%.40s\" %s", column->target->name, text,
		       problem);
}

static int take_amount(struct csv *csv, const struct column *column, const char *text,
		       struct row *row)
{
	const char *problem = "is not a number";
	struct amount *amount = NULL;
	double number;

	if (number_parse(text, &number) == 0) {
		number = scale(column, number);
		amount_from_double(number, &problem);
	}
	if (problem)
		return err_set(csv->err, ERR_INPUT, "%s: \"%.40s\" %s", column->target->name, text,
			       problem);
	for (size_t i = 0; i < row->amounts.count; i++) {
		if (strcmp(row->amounts.at[i].resource, column->resource) == 0)
			amount = &row->amounts.at[i];
	}
	if (!amount) {
		amount = VEC_ADD(&csv->rows.arena, &row->amounts);
		*amount = (struct amount){ .resource = column->resource, .value = 1 };
	}
	amount->value *= number;
	return 0;
}

static int take_count(struct csv *csv, const struct column *column, const char *text,
		      struct row *row)
{
	bool bundles = strcmp(column->target->name, "bundles") == 0;
	int64_t *ret_count = bundles ? &row->bundles : &row->count;

	if (number_parse_integer(text, ret_count) || *ret_count < 1 ||
	    *ret_count > (bundles ? WORKLOAD_BUNDLES_MAX : WORKLOAD_COUNT_MAX))
		return err_set(csv->err, ERR_INPUT, "%s: \"%.40s\" is not an integer of 1 to %lld",
			       column->target->name, text,
			       (long long)(bundles ? WORKLOAD_BUNDLES_MAX : WORKLOAD_COUNT_MAX));
	return 0;
}

static int take_cell(struct csv *csv, const struct column *column, struct row *row)
{
	const char *text = csv->rows.cells.at[column->index].text;

	switch (column->target->kind) {
	case TARGET_TIME:
		if (*text == '\0')
			return err_set(csv->err, ERR_INPUT, "%s: the cell is empty; remove the row",
				       column->target->name);
		return take_time(csv, column, text, row);
	case TARGET_AMOUNT:
		return *text == '\0' ? 0 : take_amount(csv, column, text, row);
	case TARGET_COUNT:
		return *text == '\0' ? 0 : take_count(csv, column, text, row);
	case TARGET_TEXT:
	case TARGET_LABEL:
		break;
	}
	return 0;
}

/* With the columns begin and end, the duration is the time between them. */
static int set_duration(struct csv *csv, struct row *row)
{
	int64_t begin = row->times[row->has[ROW_BEGIN] ? ROW_BEGIN : ROW_SUBMIT];

	if (!row->has[ROW_END])
		return 0;
	if (row->times[ROW_END] <= begin)
		return err_set(csv->err, ERR_INPUT, "end: must be after %s",
			       row->has[ROW_BEGIN] ? "begin" : "submit");
	row->times[ROW_DURATION] = row->times[ROW_END] - begin;
	return 0;
}

static void write_amounts(struct json_writer *writer, const char *name, const struct row *row)
{
	json_write_object(writer, name);
	for (size_t i = 0; i < row->amounts.count; i++)
		json_write_double(writer, row->amounts.at[i].resource, row->amounts.at[i].value);
	json_write_object_end(writer);
}

/* "A|B" as in(A, B), the form of alternatives in Alibaba's traces. */
static const char *label_text(struct csv *csv, const char *text)
{
	const char *all = "";

	if (!strchr(text, '|'))
		return text;
	for (size_t size; *text; text += size + (text[size] == '|')) {
		size = strcspn(text, "|");
		all = arena_printf(&csv->rows.arena, "%s%s%.*s", all, *all ? ", " : "", (int)size,
				   text);
	}
	return arena_printf(&csv->rows.arena, "in(%s)", all);
}

static void write_labels(struct csv *csv, struct json_writer *writer)
{
	json_write_object(writer, "labelSelector");
	VEC_EACH(const struct column, column, &csv->columns) {
		const char *text = csv->rows.cells.at[column->index].text;

		if (column->target->kind == TARGET_LABEL && *text != '\0')
			json_write_text(writer, column->resource, label_text(csv, text));
	}
	json_write_object_end(writer);
}

/* The item as JSON into csv->json. */
static void write_row(struct csv *csv, const struct row *row)
{
	struct json_writer writer;
	bool kind = false;

	buf_clear(&csv->json);
	json_write_init(&writer, &csv->json, JSON_STYLE_LINE);
	json_write_object(&writer, NULL);
	json_write_double(&writer, "submit", (double)row->times[ROW_SUBMIT] / 1000);
	json_write_double(&writer, "duration", (double)row->times[ROW_DURATION] / 1000);
	VEC_EACH(const struct column, column, &csv->columns) {
		const char *text = csv->rows.cells.at[column->index].text;

		if (column->target->kind != TARGET_TEXT || *text == '\0')
			continue;
		json_write_text(&writer, column->target->name, text);
		kind = kind || strcmp(column->target->name, "kind") == 0;
	}
	if (row->count > 0)
		json_write_integer(&writer, "count", row->count);
	if (row->bundles > 0 && !kind)
		json_write_text(&writer, "kind", "placement_group");
	if (row->bundles > 0) {
		json_write_array(&writer, "bundles");
		for (int64_t i = 0; i < row->bundles; i++)
			write_amounts(&writer, NULL, row);
		json_write_array_end(&writer);
	} else {
		write_amounts(&writer, "resources", row);
	}
	write_labels(csv, &writer);
	json_write_object_end(&writer);
}

/* The column whose cell is the cause of an error at this path; NULL: the row. */
static const struct column *column_of(const struct csv *csv, const char *path)
{
	size_t size = strcspn(path, ".[");

	for (size_t i = 0; i < csv->columns.count; i++) {
		const char *member = csv->columns.at[i].target->member;

		if (strlen(member) == size && strncmp(member, path, size) == 0)
			return &csv->columns.at[i];
	}
	return NULL;
}

static int add_item(struct csv *csv)
{
	static const struct json_limits limits = {
		.bytes = CSV_JSON_BYTES_MAX, .depth = 6, .elements = 100000000, .unique_names = true
	};
	AUTO(json_done) struct cJSON *tree = NULL;
	struct json_reader reader = { .arena = &csv->builder->scratch, .err = csv->err };
	struct json_at root;

	if (csv->json.overflowed) {
		err_set(csv->err, ERR_LIMIT, "the bundles of this row are too large");
		return fail_column(csv, NULL);
	}
	if (json_parse(buf_string(&csv->json), csv->json.size, &limits, &tree, csv->err))
		return fail_column(csv, NULL);
	root = json_root(tree, "", &reader);
	if (workload_builder_add(csv->builder, &root))
		return fail_column(csv, column_of(csv, reader.failed_path));
	return 0;
}

static int add_row(struct csv *csv)
{
	struct row row = { .count = 0 };

	if (csv->rows.cells.count != csv->header_count) {
		err_set(csv->err, ERR_INPUT, "has %zu cells, the first line has %zu",
			csv->rows.cells.count, csv->header_count);
		return fail_column(csv, NULL);
	}
	for (size_t i = 0; i < csv->columns.count; i++) {
		if (take_cell(csv, &csv->columns.at[i], &row))
			return fail_column(csv, &csv->columns.at[i]);
	}
	if (set_duration(csv, &row))
		return fail_column(csv, column_of(csv, "duration"));
	write_row(csv, &row);
	return add_item(csv);
}

static int read_header(struct csv *csv, const char *columns)
{
	int is = csv_rows_next(&csv->rows, csv->err);

	if (is == 0)
		err_set(csv->err, ERR_INPUT,
			"the file is empty; its first line must name the columns");
	if (is <= 0)
		return -1;
	csv->header_count = csv->rows.cells.count;
	return parse_columns(csv, columns);
}

static void csv_done(struct csv *csv)
{
	arena_done(&csv->arena);
	csv_rows_done(&csv->rows);
	buf_done(&csv->json);
}

int workload_csv_add(struct workload_builder *builder, const char *text, size_t size,
		     const char *columns, struct err *err)
{
	AUTO(csv_done) struct csv csv = { .builder = builder, .err = err };
	int is;

	csv_rows_init(&csv.rows, text, size);
	buf_init(&csv.json, CSV_JSON_BYTES_MAX);
	builder->numbers_absolute = true;
	if (read_header(&csv, columns))
		return -1;
	while ((is = csv_rows_next(&csv.rows, err)) > 0) {
		bool blank = csv.rows.cells.count == 1 && *csv.rows.cells.at[0].text == '\0';

		if (!blank && add_row(&csv))
			return -1;
	}
	return is;
}
