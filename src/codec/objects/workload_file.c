#include "codec/objects/workload_file.h"

#include <string.h>

#include "base/memory.h"
#include "codec/objects/pod_starts_json.h"
#include "codec/objects/workload_csv.h"
#include "codec/objects/workload_item.h"
#include "codec/schema/document_head.h"
#include "codec/schema/field.h"
#include "codec/schema/one_document.h"
#include "codec/text/position.h"

static const struct json_limits line_limits = {
	.bytes = 1 << 20,
	.depth = 6,
	.elements = 100000,
	.unique_names = true,
};

/* ---- YAML ---- */

struct file {
	const char *cluster; /* of the items that name none; "": none */
};

static const struct field file_fields[] = {
	FIELD_FIXED("apiVersion", OWN_GROUP_VERSION, .flags = FIELD_REQUIRED),
	FIELD_FIXED("kind", "Workload", .flags = FIELD_REQUIRED),
	FIELD_NAME(struct file, cluster, "cluster"),
	FIELD_HOOK("items"),
	FIELD_END,
};

static int read_document(const struct json_at *root, void *context)
{
	struct workload_builder *builder = context;
	struct file file = { .cluster = "" };
	struct json_at items;

	if (document_head_check(root, "Workload") || field_decode_all(root, file_fields, &file) ||
	    field_check_names(root, file_fields, "a Workload") || json_array(root, "items", &items))
		return -1;
	/* The first item resets the reader's arena. */
	builder->cluster = *file.cluster != '\0' ? arena_strdup(builder->arena, file.cluster) :
						   NULL;
	for (struct json_at e = json_first(&items); e.json; json_next(&e)) {
		if (workload_builder_add(builder, &e))
			return -1;
	}
	return 0;
}

static int read_yaml(struct workload_builder *builder, const char *text, size_t size,
		     struct err *err)
{
	static const struct one_document form = {
		.limits = { .bytes = WORKLOAD_YAML_BYTES_MAX,
			    .depth = 64,
			    .elements = 20000000,
			    .unique_names = true },
		.none = "there is no Workload; write one with items",
		.is_beside = pod_starts_is_beside_work,
		.several = true, /* recordings of several RayClusters, one behind the other */
	};

	if (size > WORKLOAD_YAML_BYTES_MAX)
		return err_set(err, ERR_LIMIT,
			       "has %zu bytes, more than %zu; write JSON lines instead, one item a "
			       "line",
			       size, WORKLOAD_YAML_BYTES_MAX);
	return one_document_read_as(&form, text, size, &builder->scratch, read_document, builder,
				    err);
}

/* ---- JSON lines ---- */

/* The error of a line, read once more with positions: `err` of it and its line in the file. */
static int fail_line(struct workload_builder *builder, const char *line, size_t size, size_t number,
		     struct err *err)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	AUTO(json_done) struct cJSON *tree = NULL;
	struct positions positions = { .arena = &arena };
	struct json_reader reader = { .arena = &builder->scratch, .err = err };
	struct json_at root;
	struct err own = *err;
	const char *text = own.text, *end;

	if (json_parse_positions(line, size, &line_limits, &positions, &tree, &own)) {
		/* "line 1, column 5: ..." of the line itself */
		end = strstr(text, ": ");
		if (positions.failure.line > 0 && end)
			text = end + 2;
		return err_set(err, own.kind, "line %zu, column %u: %s", number,
			       positions.failure.column > 0 ? positions.failure.column : 1, text);
	}
	root = json_root(tree, "", &reader);
	if (workload_builder_add(builder, &root)) {
		struct position at =
			position_find(&positions, place_root(tree), reader.failed_path);

		if (at.line > 0)
			err_prefix(err, "line %zu, column %u", at.line + number - 1, at.column);
	}
	return -1;
}

static int read_line(struct workload_builder *builder, const char *line, size_t size,
		     struct err *err)
{
	AUTO(json_done) struct cJSON *tree = NULL;
	struct json_reader reader = { .arena = &builder->scratch, .err = err };
	struct json_at root;

	if (json_parse(line, size, &line_limits, &tree, err))
		return -1;
	root = json_root(tree, "", &reader);
	return workload_builder_add(builder, &root);
}

static bool is_blank(const char *line, size_t size)
{
	for (size_t i = 0; i < size; i++) {
		if (!strchr(" \t\r", line[i]) || line[i] == '\0')
			return false;
	}
	return true;
}

/* The bytes of the line at `text`, without its end. */
static size_t line_size(const char *text, size_t left)
{
	const char *end = memchr(text, '\n', left);

	return end ? (size_t)(end - text) : left;
}

static int read_lines(struct workload_builder *builder, const char *text, size_t size,
		      struct err *err)
{
	size_t number = 1;

	for (size_t start = 0; start < size; number++) {
		size_t line = line_size(text + start, size - start);

		if (!is_blank(text + start, line) && read_line(builder, text + start, line, err))
			return fail_line(builder, text + start, line, number, err);
		start += line + 1;
	}
	return 0;
}

/* JSON lines: the first line that is not blank is in braces, and is not a whole Workload. */
static bool is_lines(const char *text, size_t size)
{
	size_t line;

	for (; size > 0 && strchr(" \t\r\n", *text) && *text != '\0'; size--)
		text++;
	line = line_size(text, size);
	while (line > 0 && is_blank(text + line - 1, 1))
		line--;
	return line > 1 && text[0] == '{' && text[line - 1] == '}' &&
	       !memmem(text, line, "\"apiVersion\"", strlen("\"apiVersion\""));
}

/* ---- any ---- */

int workload_read(const char *text, size_t size, const char *columns, struct arena *arena,
		  struct workload *ret_workload, struct err *err)
{
	AUTO(workload_builder_done) struct workload_builder builder;
	int failed;

	workload_builder_init(&builder, arena);
	if (size > WORKLOAD_BYTES_MAX)
		return err_set(err, ERR_LIMIT,
			       "has %zu bytes, more than %zu; split it, or join equal items with "
			       "count",
			       size, WORKLOAD_BYTES_MAX);
	if (columns)
		failed = workload_csv_add(&builder, text, size, columns, err);
	else if (is_lines(text, size))
		failed = read_lines(&builder, text, size, err);
	else
		failed = read_yaml(&builder, text, size, err);
	return failed ? -1 : workload_builder_finish(&builder, ret_workload, err);
}
