#include "codec/objects/device_table_json.h"

#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "codec/schema/document_head.h"
#include "codec/schema/field.h"
#include "codec/schema/one_document.h"
#include "codec/text/quantity.h"
#include "core/model/label_syntax.h"
#include "core/model/resources.h"

#define MEMORY_UNIT_MAX (INT64_C(1) << 40)
#define ROW struct device_row

/* "none" is the word of a kind of 0. */
static const char *kind_word(unsigned value)
{
	return value == DEVICE_NONE ? "none" : device_kind_name((enum device_kind)value);
}

FIELD_WORDS(device_share, enum device_share)

/* ---- members ---- */

/* A name of an extended resource, which has a domain; `pattern`: or a prefix of one and "*". */
static bool is_resource(struct arena *arena, const char *text, bool pattern)
{
	size_t size = strlen(text);
	char *copy;

	if (!strchr(text, '/'))
		return false;
	if (size == 0 || !pattern || text[size - 1] != '*')
		return label_syntax_key(text);
	copy = arena_strdup(arena, text);
	copy[size - 1] = 'x';
	return label_syntax_key(copy);
}

static int check_resource(const struct json_at *member, const struct field *field UNUSED,
			  void *object)
{
	const struct device_row *row = object;

	if (!is_resource(member->reader->arena, row->resource, true))
		return json_fail(member,
				 "must be a name of Kubernetes with a domain, such as "
				 "\"example.com/npu\", or its beginning and \"*\"; is \"%.80s\"",
				 row->resource);
	for (size_t i = 1; i <= member->parent->index; i++)
		if (strcmp(row[-(ptrdiff_t)i].resource, row->resource) == 0)
			return json_fail(member, "%s is in the list twice; remove one",
					 row->resource);
	return 0;
}

/* A Kubernetes name in an optional member. */
static int check_other(const struct json_at *member, const struct field *field, void *object)
{
	const void *value = field_value(field, object);
	const char *text = *(const char *const *)value;

	if (*text != '\0' && !is_resource(member->reader->arena, text, false))
		return json_fail(member,
				 "must be a name of Kubernetes with a domain, such as "
				 "\"example.com/npu\"; is \"%.80s\"",
				 text);
	return 0;
}

static int memory_unit_decode(const struct json_at *member, const struct field *field UNUSED,
			      void *object)
{
	struct device_row *row = object;
	const char *problem, *text;
	int64_t amount;

	if (!json_is_given(member)) {
		if (row->share != DEVICE_MEMORY)
			return 0;
		return json_fail(member->parent,
				 "memoryUnit is required where share is memory: what an amount "
				 "of 1 is, such as 1Gi");
	}
	if (row->share != DEVICE_MEMORY && row->share != DEVICE_QUALIFIER)
		return json_fail(member, "is for share memory or qualifier, not for %s",
				 device_share_name(row->share));
	if (json_expect(member, JSON_STRING))
		return -1;
	text = json_text_value(member);
	if (quantity_parse(text, &amount, &problem))
		return json_fail(member, "\"%.40s\" %s; write a text such as 1Gi or 1Mi", text,
				 problem);
	row->memory_unit_bytes = amount / RESOURCE_UNIT;
	if (row->memory_unit_bytes < 1 || row->memory_unit_bytes > MEMORY_UNIT_MAX)
		return json_fail(member, "must be 1 to 1Ti bytes, is \"%.40s\"", text);
	return 0;
}

static int check_count(const struct json_at *member, const struct field *field, void *object)
{
	const struct device_row *row = object;

	if (check_other(member, field, object))
		return -1;
	if (*row->count_resource != '\0' && row->share != DEVICE_MEMORY)
		return json_fail(member, "is for share memory, not for %s",
				 device_share_name(row->share));
	return 0;
}

static const char *default_ray_resource(const struct device_row *row)
{
	static const char *const names[] = { "", "GPU", "neuron_cores", "TPU", "HPU", "NPU" };

	return row->share == DEVICE_QUALIFIER ? "" : names[row->kind];
}

/* Demand for CPU or memory must never be taken for demand for an accelerator. */
static bool is_plain_resource(const char *name)
{
	static const char *const names[] = { "CPU", "memory", "object_store_memory" };

	return text_is_among(name, names, sizeof(names) / sizeof(names[0])) ||
	       strncmp(name, "node:", 5) == 0;
}

static int ray_resource_decode(const struct json_at *member, const struct field *field,
			       void *object)
{
	struct device_row *row = object;

	if (field_decode(member, field, object))
		return -1;
	if (is_plain_resource(row->ray_resource))
		return json_fail(member, "%s is not an accelerator of Ray", row->ray_resource);
	if (*row->ray_resource != '\0' && *default_ray_resource(row) == '\0')
		return json_fail(member, "is for devices, not for kind none or share %s",
				 device_share_name(DEVICE_QUALIFIER));
	if (*row->ray_resource == '\0')
		row->ray_resource = default_ray_resource(row);
	return 0;
}

/* ---- the document ---- */

/* memoryUnit is written as plain bytes: a quantity without a suffix. */
static const struct field row_fields[] = {
	FIELD_NAME(ROW, resource, "resource", .flags = FIELD_GIVEN, .check = check_resource),
	FIELD_WORD(ROW, kind, enum device_kind, kind_word, "kind", .limit = DEVICE_NPU + 1,
		   .flags = FIELD_ALWAYS | FIELD_REQUIRED),
	FIELD_WORD(ROW, share, enum device_share, device_share_word, "share",
		   .limit = DEVICE_QUALIFIER + 1, .flags = FIELD_ALWAYS),
	FIELD_INTEGER(ROW, memory_unit_bytes, "memoryUnit", .flags = FIELD_QUOTED,
		      .read = memory_unit_decode),
	FIELD_NAME(ROW, count_resource, "countResource", .check = check_count),
	FIELD_NAME(ROW, instead, "instead", .check = check_other),
	FIELD_NAME(ROW, ray_resource, "rayResource", .read = ray_resource_decode),
	FIELD_NAME(ROW, vendor, "vendor"),
	FIELD_NAME(ROW, driver, "driver"),
	FIELD_NAME(ROW, device_type, "deviceType"),
	FIELD_NAME(ROW, device_class, "deviceClass"),
	FIELD_END,
};

static const struct field table_fields[] = {
	FIELD_FIXED("apiVersion", OWN_GROUP_VERSION, .flags = FIELD_REQUIRED | FIELD_UNWRITTEN),
	FIELD_FIXED("kind", "DeviceTable", .flags = FIELD_REQUIRED | FIELD_UNWRITTEN),
	FIELD_LIST(struct device_table, rows, count, row_fields, "devices", .strict = "a device",
		   .flags = FIELD_ALWAYS | FIELD_LINE, .limit = DEVICE_TABLE_ROWS_MAX),
	FIELD_END,
};

/* A file must have every member. */
static int decode(const struct json_at *root, bool is_file, struct device_table *ret_table)
{
	const struct device_table *builtin = device_table_builtin();
	struct device_table own = { .rows = NULL };

	if ((is_file && document_head_check(root, "DeviceTable")) ||
	    field_check_names(root, table_fields, "a DeviceTable"))
		return -1;
	for (const struct field *field = table_fields; field->name; field++) {
		struct json_at member = json_member(root, field->name);
		bool is_list = field->kind == FIELD_KIND_LIST;

		if (!is_file && !json_is_given(&member))
			continue;
		if (json_expect(&member, is_list ? JSON_ARRAY : JSON_STRING) ||
		    field_decode(&member, field, &own))
			return -1;
	}
	*ret_table = (struct device_table){
		.rows = ARENA_JOIN(root->reader->arena, builtin->rows, builtin->count, own.rows,
				   own.count),
		.count = builtin->count + own.count,
	};
	return 0;
}

int device_table_decode(const struct cJSON *json, const char *path, struct arena *arena,
			struct device_table *ret_table, struct err *err)
{
	struct json_reader reader = { .arena = arena, .err = err };
	struct json_at root = json_root(json, path, &reader);

	return decode(&root, false, ret_table);
}

static int decode_file(const struct json_at *root, void *ret_table)
{
	return decode(root, true, ret_table);
}

int device_table_read(const char *text, size_t size, struct arena *arena,
		      struct device_table *ret_table, struct err *err)
{
	struct device_table table;

	if (one_document_read(text, size, arena, decode_file, &table, err))
		return -1;
	*ret_table = table;
	return 0;
}

void device_table_write(struct json_writer *writer, const char *name,
			const struct device_table *table)
{
	struct device_table own = device_table_own(table);

	field_write_object(writer, name, table_fields, &own);
}
