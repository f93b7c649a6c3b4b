#include "codec/objects/workload_csv.h"

#include <stdbool.h>
#include <string.h>

#include "base/memory.h"
#include "codec/objects/workload_column.h"
#include "codec/objects/workload_item.h"
#include "codec/text/csv.h"
#include "codec/text/duration.h"
#include "codec/text/json_write.h"
#include "codec/text/number.h"
#include "codec/text/position.h"
#include "codec/text/utf8.h"

#define CSV_JSON_BYTES_MAX ((size_t)16 << 20)

struct csv {
	struct workload_builder *builder;
	struct csv_rows rows;
	struct arena arena; /* of the columns */
	struct workload_columns columns;
	size_t header_count;
	struct buf json;
	size_t left_out;        /* rows without a time */
	const char *left_where; /* of the first of them */
	struct err *err;
};

/* "line 3, column 5 (HEADER): " before the error of this column's cell; NULL: of the row. */
static int fail_column(const struct csv *csv, const struct workload_column *column)
{
	size_t offset = column ? csv->rows.cells.at[column->index].offset : csv->rows.start;
	struct position at = position_of_byte(csv->rows.text, offset);

	return column ? err_prefix(csv->err, "line %u, column %u (%.80s)", at.line, at.column,
				   column->header) :
			err_prefix(csv->err, "line %u, column %u", at.line, at.column);
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

static double scale(const struct workload_column *column, double value)
{
	return value * column->factor / column->divisor;
}

/* Of a problem of the parsers. */
static const char *cure_of(const char *problem)
{
	return strcmp(problem, "is negative") == 0 ? "; write one above 0, or remove the line" : "";
}

/* A number in the unit, a date or a duration; without a duration nothing runs. */
static int take_time(struct csv *csv, const struct workload_column *column, const char *text,
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
	return err_set(csv->err, ERR_INPUT, "%s: \"%.40s\" %s%s", column->target->name, text,
		       problem, cure_of(problem));
}

static int take_amount(struct csv *csv, const struct workload_column *column, const char *text,
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
		return err_set(csv->err, ERR_INPUT, "%s: \"%.40s\" %s%s", column->target->name,
			       text, problem, cure_of(problem));
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

static int take_count(struct csv *csv, const struct workload_column *column, const char *text,
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

static int take_cell(struct csv *csv, const struct workload_column *column, struct row *row)
{
	const char *text = csv->rows.cells.at[column->index].text;

	switch (column->target->kind) {
	case TARGET_TIME:
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
	VEC_EACH(const struct workload_column, column, &csv->columns) {
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
	VEC_EACH(const struct workload_column, column, &csv->columns) {
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
static const struct workload_column *column_of(const struct csv *csv, const char *path)
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

/* Work that never began, or has not ended, has an empty cell in traces: how long it would run is not
 * known. */
static const struct workload_column *missing_time(const struct csv *csv)
{
	VEC_EACH(const struct workload_column, column, &csv->columns)
		if (column->target->kind == TARGET_TIME &&
		    *csv->rows.cells.at[column->index].text == '\0')
			return column;
	return NULL;
}

static void leave_out(struct csv *csv, const struct workload_column *column)
{
	if (csv->left_out++ == 0)
		csv->left_where =
			arena_printf(&csv->arena, "line %u (no %s in %.80s)",
				     position_of_byte(csv->rows.text, csv->rows.start).line,
				     column->target->name, column->header);
}

static const char *left_out_text(const struct csv *csv, struct arena *arena)
{
	return csv->left_out > 0 ?
		       arena_printf(arena, "%zu row%s without a time left out, the first in %s",
				    csv->left_out, csv->left_out == 1 ? "" : "s", csv->left_where) :
		       NULL;
}

static int add_row(struct csv *csv)
{
	struct row row = { .count = 0 };
	const struct workload_column *missing;

	if (csv->rows.cells.count != csv->header_count) {
		err_set(csv->err, ERR_INPUT,
			"has %zu cells, the first line has %zu; write as many, and put a cell with a comma into quotes",
			csv->rows.cells.count, csv->header_count);
		return fail_column(csv, NULL);
	}
	missing = missing_time(csv);
	if (missing) {
		leave_out(csv, missing);
		return 0;
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

static bool is_utf8(const char *text)
{
	size_t left = strlen(text), size;

	for (; left > 0; text += size, left -= size) {
		size = utf8_length(text, left);
		if (size == 0)
			return false;
	}
	return true;
}

static int read_header(struct csv *csv, const char *columns)
{
	int is = csv_rows_next(&csv->rows, csv->err);

	for (size_t i = 0; is > 0 && i < csv->rows.cells.count; i++)
		if (!is_utf8(csv->rows.cells.at[i].text))
			return err_set(csv->err, ERR_INPUT,
				       "the first line is not UTF-8; write the file as UTF-8");
	if (is == 0)
		err_set(csv->err, ERR_INPUT,
			"the file is empty; its first line must name the columns");
	if (is <= 0)
		return -1;
	csv->header_count = csv->rows.cells.count;
	return workload_columns_parse(columns, &csv->rows, &csv->arena, &csv->columns, csv->err);
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
	builder->left_out = left_out_text(&csv, builder->arena);
	return is;
}
