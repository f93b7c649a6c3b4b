#include "codec/objects/workload_column.h"

#include <stdbool.h>
#include <string.h>

#include "base/nearest.h"

static const struct workload_target targets[] = {
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

#define NAMES_MAX 30 /* of columns in an error */

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

struct parser {
	const struct csv_rows *header;
	struct arena *arena;
	VEC(struct workload_column) columns;
	struct err *err;
};

static const struct workload_target *find_target(const char *text, const char **ret_resource)
{
	ARRAY_EACH(const struct workload_target, target, targets, TARGET_COUNT_ALL) {
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

/* The index of the header from `i` on; the number of headers if there is none of the name. */
static size_t find_header(const struct parser *parser, const char *name, size_t i)
{
	while (i < parser->header->cells.count &&
	       strcmp(parser->header->cells.at[i].text, name) != 0)
		i++;
	return i;
}

/* "a, b, c": of the first line of the file. */
static const char *header_names(const struct parser *parser)
{
	const char *names = "";

	for (size_t i = 0; i < parser->header->cells.count && i < NAMES_MAX; i++)
		names = arena_printf(parser->arena, "%s%s%.60s", names, i > 0 ? ", " : "",
				     parser->header->cells.at[i].text);
	return parser->header->cells.count > NAMES_MAX ?
		       arena_printf(parser->arena, "%s, ...", names) :
		       names;
}

static int fail_header(const struct parser *parser, const char *target, const char *header)
{
	const struct csv_rows *rows = parser->header;
	const char *separator = rows->cells.count == 1 ? strpbrk(rows->cells.at[0].text, ";\t|") :
							 NULL;

	if (separator)
		return err_set(
			parser->err, ERR_INPUT,
			"--columns %s=%.80s: the columns of the file are not separated by commas "
			"but by %s; write commas",
			target, header,
			*separator == '\t' ? "tabs" :
			*separator == ';'  ? "\";\"" :
					     "\"|\"");
	return err_set(
		parser->err, ERR_INPUT,
		"--columns %s=%.80s: the first line of the file has no such column; it has %s",
		target, header, header_names(parser));
}

/* HEADER or HEADER:UNIT; a header may contain a colon. */
static int parse_header(const struct parser *parser, char *header, struct workload_column *column)
{
	char *colon = strrchr(header, ':');
	const struct unit *unit;

	column->header = header;
	column->index = find_header(parser, header, 0);
	if (find_header(parser, header, column->index + 1) < parser->header->cells.count)
		return err_set(parser->err, ERR_INPUT,
			       "--columns %s=%.80s: the first line of the file has this column "
			       "twice; rename one",
			       column->target->name, header);
	if (column->index < parser->header->cells.count || !colon) {
		if (column->index >= parser->header->cells.count)
			return fail_header(parser, column->target->name, header);
		return 0;
	}
	*colon = '\0';
	unit = find_unit(colon + 1, column->target->kind);
	if (!unit)
		return err_set(parser->err, ERR_INPUT,
			       "--columns %s=%.80s: unit \"%.40s\" is not known; there are %s",
			       column->target->name, header, colon + 1, unit_names);
	column->factor = unit->factor;
	column->divisor = unit->divisor;
	return parse_header(parser, header, column);
}

static int fail_target(const struct parser *parser, const char *name)
{
	struct nearest nearest = nearest_start(name);
	char hint[NEAREST_HINT_SIZE];

	ARRAY_EACH(const struct workload_target, target, targets, TARGET_COUNT_ALL)
		nearest_offer(&nearest, target->name);
	return err_set(parser->err, ERR_INPUT,
		       "--columns: %.80s is not known%s it must be one of %s", name,
		       nearest.word ? nearest_hint(&nearest, hint) : ";", target_names);
}

/* One TARGET=HEADER[:UNIT]. */
static int parse_column(struct parser *parser, char *text)
{
	struct workload_column *column = VEC_ADD(parser->arena, &parser->columns);
	char *equals = strchr(text, '=');

	if (!equals || equals[1] == '\0')
		return err_set(parser->err, ERR_INPUT,
			       "--columns: \"%.80s\" must be NAME=COLUMN or NAME=COLUMN:UNIT",
			       text);
	*equals = '\0';
	column->factor = column->divisor = 1;
	column->target = find_target(text, &column->resource);
	if (!column->target)
		return fail_target(parser, text);
	for (size_t i = 0; i + 1 < parser->columns.count; i++) {
		if (parser->columns.at[i].target == column->target &&
		    column->target->kind != TARGET_AMOUNT && column->target->kind != TARGET_LABEL)
			return err_set(parser->err, ERR_INPUT,
				       "--columns: %s is there twice; remove one", text);
	}
	return parse_header(parser, equals + 1, column);
}

static bool has_time(const struct parser *parser, enum row_time time)
{
	for (size_t i = 0; i < parser->columns.count; i++) {
		const struct workload_target *target = parser->columns.at[i].target;

		if (target->kind == TARGET_TIME && target->time == (unsigned)time)
			return true;
	}
	return false;
}

int workload_columns_parse(const char *text, const struct csv_rows *header, struct arena *arena,
			   struct workload_columns *ret_columns, struct err *err)
{
	struct parser parser = { .header = header, .arena = arena, .err = err };
	char *rest = arena_strdup(arena, text), *word;

	while ((word = strsep(&rest, ","))) {
		if (parse_column(&parser, word))
			return -1;
	}
	if (!has_time(&parser, ROW_SUBMIT))
		return err_set(err, ERR_INPUT, "--columns: submit is missing; add submit=COLUMN");
	if (has_time(&parser, ROW_DURATION) == has_time(&parser, ROW_END))
		return err_set(err, ERR_INPUT,
			       "--columns: give either duration=COLUMN or end=COLUMN (with begin= "
			       "where work does not begin at submit)");
	*ret_columns = (struct workload_columns){ parser.columns.at, parser.columns.count };
	return 0;
}
