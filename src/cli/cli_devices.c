#include "cli/shared/commands.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "base/memory.h"
#include "cli/shared/device_file.h"
#include "cli/shared/file.h"
#include "cli/shared/flags.h"
#include "cli/shared/help.h"
#include "cli/shared/table.h"
#include "codec/text/json_write.h"

#define OUTPUT_BYTES_MAX ((size_t)16 << 20)
#define MIB (INT64_C(1) << 20)

static const char help[] =
	"usage: @ devices [--device-table FILE] [-o text|json]\n"
	"Shows the resource names of accelerators, the meaning of an amount of 1, Ray's\n"
	"name as passed by KubeRay, and the declaration where KubeRay passes none.\n" DEVICE_FILE_HELP
	"  -o, --output FORMAT  text (default) or json\n"
	"exit status: 0 it was shown, 1 the file is wrong, 2 wrong usage\n";

/* A later row with the same name replaces it. */
static bool is_replaced(const struct device_table *table, size_t index)
{
	const struct device_row *row = &table->rows[index];

	return ARRAY_FIND(row + 1, table->count - index - 1, resource, row->resource) != NULL;
}

/* The name in Ray; for a prefix that of a MIG profile below it, which KubeRay knows. */
static const char *declared(const struct device_row *row, struct arena *arena)
{
	size_t size = strlen(row->resource);
	const char *name = row->resource, *resource;

	if (size > 0 && name[size - 1] == '*')
		name = arena_printf(arena, "%.*s1g.5gb", (int)size - 1, name);
	resource = device_ray_resource(name);
	return resource ? resource : "";
}

static const char *kind_name(const struct device_row *row)
{
	return row->kind == DEVICE_NONE ? "none" : device_kind_name(row->kind);
}

static const char *share_text(const struct device_row *row, struct arena *arena)
{
	const char *share = device_share_name(row->share);

	if (row->memory_unit_bytes == 0)
		return share;
	if (row->memory_unit_bytes % MIB != 0)
		return arena_printf(arena, "%s, %lld B", share, (long long)row->memory_unit_bytes);
	return arena_printf(arena, "%s, %lld MiB", share,
			    (long long)(row->memory_unit_bytes / MIB));
}

static const char *note(const struct device_row *row, struct arena *arena)
{
	if (*row->instead != '\0')
		return arena_printf(arena, "obsolete: use %s", row->instead);
	if (*row->count_resource != '\0')
		return arena_printf(arena, "a Node's devices: %s", row->count_resource);
	return "";
}

static void write_text(const struct device_table *table, struct arena *arena, struct buf *buf)
{
	static const struct table_column columns[] = { { .title = "RESOURCE" },
						       { .title = "KIND" },
						       { .title = "AN AMOUNT OF 1 IS" },
						       { .title = "RAY IS TOLD" },
						       { .title = "DECLARE" },
						       { .title = "VENDOR" },
						       { .title = "NOTE" } };
	struct table text = TABLE_INIT(arena, columns, sizeof(columns) / sizeof(columns[0]));

	for (size_t i = 0; i < table->count; i++) {
		const struct device_row *row = &table->rows[i];

		if (is_replaced(table, i))
			continue;
		TABLE_ADD_TEXTS(&text, row->resource, kind_name(row), share_text(row, arena),
				declared(row, arena), row->ray_resource, row->vendor,
				note(row, arena));
	}
	table_write(&text, false, buf);
	buf_add_string(buf,
		       "any other name that ends in \"gpu\" is a GPU and is declared to Ray\n");
}

static void write_json(const struct device_table *table, struct arena *arena, struct buf *buf)
{
	size_t built_in = table->count - device_table_own(table).count;
	struct json_writer writer;

	json_write_init(&writer, buf, JSON_STYLE_PRETTY);
	json_write_array(&writer, NULL);
	for (size_t i = 0; i < table->count; i++) {
		const struct device_row *row = &table->rows[i];

		if (is_replaced(table, i))
			continue;
		json_write_object_line(&writer, NULL);
		JSON_WRITE_TEXTS(&writer, { "resource", row->resource }, { "kind", kind_name(row) },
				 { "share", device_share_name(row->share) });
		json_write_integer(&writer, "memoryUnitBytes", row->memory_unit_bytes);
		JSON_WRITE_TEXTS(&writer, { "countResource", row->count_resource },
				 { "instead", row->instead }, { "told", declared(row, arena) },
				 { "rayResource", row->ray_resource }, { "vendor", row->vendor });
		json_write_boolean(&writer, "builtIn", i < built_in);
		json_write_object_end(&writer);
	}
	json_write_array_end(&writer);
	buf_add_char(buf, '\n');
}

static int show(const char *file, bool json, struct err *err)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	AUTO(buf_done) struct buf output = BUF_INIT(OUTPUT_BYTES_MAX);
	const struct device_table *table;

	if (device_file_read(file, &arena, &table, err))
		return -1;
	if (json)
		write_json(table, &arena, &output);
	else
		write_text(table, &arena, &output);
	return file_print(&output, err);
}

int cli_devices(int argc, char **argv)
{
	const char *file = NULL;
	int output = OUTPUT_TEXT, status;
	const struct flag table[] = {
		{ NULL, "--device-table", .value = &file },
		{ "-o", "--output", .words = flags_outputs, .word = &output },
	};
	struct flags flags = FLAGS(table);
	struct err err;

	if (!help_begin(&flags, help, argc, argv, &status))
		return status;
	return show(file, output == OUTPUT_JSON, &err) ? help_failed("devices", &err) : EXIT_DONE;
}
