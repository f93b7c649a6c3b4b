/* A device table from a file. Laws: a refusal has a reason; a table that is read has the built-in
 * rows and at most so many more, and is written so that it reads back with as many. */
#include "fuzz.h"

#include <string.h>

#include "base/memory.h"
#include "codec/objects/device_table_json.h"

#define TEXT_BYTES_MAX ((size_t)64 << 20)

static void check_row(const struct device_row *row)
{
	REQUIRE(strchr(row->resource, '/') != NULL);
	REQUIRE(row->kind <= DEVICE_NPU && row->share <= DEVICE_QUALIFIER);
	REQUIRE(row->memory_unit_bytes >= 0 && row->memory_unit_bytes <= INT64_C(1) << 40);
	REQUIRE((row->share == DEVICE_MEMORY) <= (row->memory_unit_bytes > 0));
	REQUIRE(row->count_resource && row->instead && row->ray_resource && row->vendor);
}

static void check_rewritten(const struct device_table *table, struct arena *arena)
{
	AUTO(json_done) struct cJSON *tree = NULL;
	AUTO(buf_done) struct buf text;
	struct json_writer writer;
	struct device_table again;
	struct err err;

	buf_init(&text, TEXT_BYTES_MAX);
	json_write_init(&writer, &text, JSON_STYLE_PRETTY);
	device_table_write(&writer, NULL, table);
	REQUIRE(json_parse(buf_string(&text), text.size, &fuzz_limits, &tree, &err) == 0);
	REQUIRE(device_table_decode(tree, "deviceTable", arena, &again, &err) == 0);
	REQUIRE(again.count == table->count);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	struct err err = { .kind = ERR_NONE };
	struct device_table table, own;

	if (device_table_read((const char *)data, size, &arena, &table, &err)) {
		REQUIRE(err.kind != ERR_NONE && err.text[0] != '\0');
		return 0;
	}
	own = device_table_own(&table);
	REQUIRE(own.count <= DEVICE_TABLE_ROWS_MAX);
	REQUIRE(table.count == device_table_builtin()->count + own.count);
	for (size_t i = 0; i < own.count; i++)
		check_row(&own.rows[i]);
	check_rewritten(&table, &arena);
	return 0;
}
