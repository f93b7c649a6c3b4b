#include "codec/objects/device_table_json.h"

#include <stdio.h>
#include <string.h>

#include "base/map.h"
#include "base/memory.h"
#include "codec/text/json.h"
#include "codec/text/position.h"
#include "codec/text/quantity.h"
#include "codec/text/yaml.h"
#include "core/model/label_syntax.h"
#include "core/model/resources.h"

#define API_VERSION "rayscaler.dev/v1alpha1"
#define TEXT_SIZE_MAX 253
#define MEMORY_UNIT_MAX (INT64_C(1) << 40)

static const struct json_limits limits = {
	.bytes = DEVICE_TABLE_BYTES_MAX,
	.depth = 8,
	.elements = 20000,
	.unique_names = true,
};

/* One reading; failed_path is the path of the first error. */
struct reading {
	struct json_reader reader;
	const char *failed_path;
	struct map names; /* of resources */
	bool is_file;
	VEC(struct device_row) rows;
};

#define FAIL(reading, at, ...)                                                                     \
	((reading)->failed_path = json_path(at), json_fail((at), __VA_ARGS__))

static int expect(struct reading *reading, const struct json_at *at, enum json_type type)
{
	reading->failed_path = json_path(at);
	return json_expect(at, type);
}

static bool is_given(const struct json_at *at)
{
	enum json_type type = json_type(at);

	return type != JSON_MISSING && type != JSON_NULL;
}

/* ---- words ---- */

/* The words of an enum, from 0; "none" is the word of a kind of 0. */
struct words {
	const char *(*name)(unsigned value);
	unsigned count;
	const char *all;
};

static const char *kind_name(unsigned value)
{
	return value == DEVICE_NONE ? "none" : device_kind_name((enum device_kind)value);
}

static const char *share_name(unsigned value)
{
	return device_share_name((enum device_share)value);
}

static const struct words kinds = { kind_name, DEVICE_NPU + 1, "GPU, Neuron, TPU, HPU, NPU, none" };
static const struct words shares = { share_name, DEVICE_QUALIFIER + 1,
				     "whole, slice, turn, memory, qualifier" };

static int word_decode(struct reading *reading, const struct json_at *at, const struct words *words,
		       unsigned *ret_value)
{
	if (expect(reading, at, JSON_STRING))
		return -1;
	for (unsigned i = 0; i < words->count; i++)
		if (strcmp(words->name(i), json_text_value(at)) == 0) {
			*ret_value = i;
			return 0;
		}
	return FAIL(reading, at, "must be one of %s, is \"%.40s\"", words->all,
		    json_text_value(at));
}

/* ---- members ---- */

static int text_decode(struct reading *reading, const struct json_at *row, const char *name,
		       const char **ret_text)
{
	struct json_at member = json_member(row, name);

	*ret_text = "";
	if (!is_given(&member))
		return 0;
	if (expect(reading, &member, JSON_STRING))
		return -1;
	if (strlen(json_text_value(&member)) > TEXT_SIZE_MAX)
		return FAIL(reading, &member, "is longer than %d characters", TEXT_SIZE_MAX);
	*ret_text = arena_strdup(reading->reader.arena, json_text_value(&member));
	return 0;
}

/* A name of an extended resource, which has a domain; `pattern`: or a prefix of one and "*". */
static bool is_resource(struct arena *arena, const char *text, bool pattern)
{
	size_t size = strlen(text);
	char *copy;

	if (strchr(text, '/') == NULL)
		return false;
	if (size == 0 || !pattern || text[size - 1] != '*')
		return label_syntax_key(text);
	copy = arena_strdup(arena, text);
	copy[size - 1] = 'x';
	return label_syntax_key(copy);
}

static int resource_decode(struct reading *reading, const struct json_at *at,
			   struct device_row *row)
{
	struct json_at member = json_member(at, "resource");
	struct arena *arena = reading->reader.arena;

	if (expect(reading, &member, JSON_STRING) ||
	    text_decode(reading, at, "resource", &row->resource))
		return -1;
	if (!is_resource(arena, row->resource, true))
		return FAIL(reading, &member,
			    "must be a name of Kubernetes with a domain, such as "
			    "\"example.com/npu\", or its beginning and \"*\"; is \"%.80s\"",
			    row->resource);
	if (map_get(&reading->names, row->resource))
		return FAIL(reading, &member, "%s is in the list twice; remove one", row->resource);
	map_set(&reading->names, row->resource, row);
	return 0;
}

/* A Kubernetes name in an optional member. */
static int other_resource_decode(struct reading *reading, const struct json_at *at,
				 const char *name, const char **ret_text)
{
	struct json_at member = json_member(at, name);

	if (text_decode(reading, at, name, ret_text))
		return -1;
	if (**ret_text != '\0' && !is_resource(reading->reader.arena, *ret_text, false))
		return FAIL(reading, &member,
			    "must be a name of Kubernetes with a domain, such as "
			    "\"example.com/npu\"; is \"%.80s\"",
			    *ret_text);
	return 0;
}

static int memory_unit_decode(struct reading *reading, const struct json_at *at,
			      struct device_row *row)
{
	struct json_at member = json_member(at, "memoryUnit");
	const char *problem;
	int64_t amount;

	if (!is_given(&member)) {
		if (row->share != DEVICE_MEMORY)
			return 0;
		return FAIL(reading, at,
			    "memoryUnit is required where share is memory: what an amount of 1 is, "
			    "such as 1Gi");
	}
	if (row->share != DEVICE_MEMORY && row->share != DEVICE_QUALIFIER)
		return FAIL(reading, &member, "is for share memory or qualifier, not for %s",
			    device_share_name(row->share));
	if (expect(reading, &member, JSON_STRING))
		return -1;
	if (quantity_parse(json_text_value(&member), &amount, &problem))
		return FAIL(reading, &member, "\"%.40s\" %s; write a text such as 1Gi or 1Mi",
			    json_text_value(&member), problem);
	row->memory_unit_bytes = amount / RESOURCE_UNIT;
	if (row->memory_unit_bytes < 1 || row->memory_unit_bytes > MEMORY_UNIT_MAX)
		return FAIL(reading, &member, "must be 1 to 1Ti bytes, is \"%.40s\"",
			    json_text_value(&member));
	return 0;
}

static int count_resource_decode(struct reading *reading, const struct json_at *at,
				 struct device_row *row)
{
	struct json_at member = json_member(at, "countResource");

	if (other_resource_decode(reading, at, "countResource", &row->count_resource))
		return -1;
	if (*row->count_resource != '\0' && row->share != DEVICE_MEMORY)
		return FAIL(reading, &member, "is for share memory, not for %s",
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

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strcmp(names[i], name) == 0)
			return true;
	return strncmp(name, "node:", 5) == 0;
}

static int ray_resource_decode(struct reading *reading, const struct json_at *at,
			       struct device_row *row)
{
	struct json_at member = json_member(at, "rayResource");

	if (text_decode(reading, at, "rayResource", &row->ray_resource))
		return -1;
	if (is_plain_resource(row->ray_resource))
		return FAIL(reading, &member, "%s is not an accelerator of Ray", row->ray_resource);
	if (*row->ray_resource != '\0' && *default_ray_resource(row) == '\0')
		return FAIL(reading, &member, "is for devices, not for kind none or share %s",
			    device_share_name(DEVICE_QUALIFIER));
	if (*row->ray_resource == '\0')
		row->ray_resource = default_ray_resource(row);
	return 0;
}

/* ---- the document ---- */

static int members_check(struct reading *reading, const struct json_at *object,
			 const char *const *known, size_t count, const char *what)
{
	for (struct json_at e = json_first(object); e.json; json_next(&e)) {
		bool found = false;

		for (size_t i = 0; i < count && !found; i++)
			found = strcmp(known[i], e.name) == 0;
		if (!found)
			return FAIL(reading, &e, "is not a member of %s", what);
	}
	return 0;
}

static int row_decode(struct reading *reading, const struct json_at *at, struct device_row *row)
{
	static const char *const known[] = { "resource",      "kind",    "share",  "memoryUnit",
					     "countResource", "instead", "vendor", "rayResource" };
	struct json_at kind = json_member(at, "kind"), share = json_member(at, "share");
	unsigned kind_value = DEVICE_NONE, share_value = DEVICE_WHOLE;

	if (expect(reading, at, JSON_OBJECT) ||
	    members_check(reading, at, known, sizeof(known) / sizeof(known[0]), "a device") ||
	    resource_decode(reading, at, row) || word_decode(reading, &kind, &kinds, &kind_value) ||
	    (is_given(&share) && word_decode(reading, &share, &shares, &share_value)))
		return -1;
	row->kind = (enum device_kind)kind_value;
	row->share = (enum device_share)share_value;
	if (memory_unit_decode(reading, at, row) || count_resource_decode(reading, at, row) ||
	    other_resource_decode(reading, at, "instead", &row->instead) ||
	    text_decode(reading, at, "vendor", &row->vendor))
		return -1;
	return ray_resource_decode(reading, at, row);
}

static int rows_decode(struct reading *reading, const struct json_at *root)
{
	struct json_at array = json_member(root, "devices");

	if (!is_given(&array) && !reading->is_file)
		return 0;
	if (expect(reading, &array, JSON_ARRAY))
		return -1;
	if (json_count(&array) > DEVICE_TABLE_ROWS_MAX)
		return FAIL(reading, &array, "has %zu devices, more than %d", json_count(&array),
			    DEVICE_TABLE_ROWS_MAX);
	for (struct json_at e = json_first(&array); e.json; json_next(&e)) {
		struct device_row row = { .resource = "" };

		if (row_decode(reading, &e, &row))
			return -1;
		VEC_PUSH(reading->reader.arena, &reading->rows, row);
	}
	return 0;
}

static int fixed_text_check(struct reading *reading, const struct json_at *root, const char *name,
			    const char *wanted)
{
	struct json_at member = json_member(root, name);

	if (!is_given(&member) && !reading->is_file)
		return 0;
	if (expect(reading, &member, JSON_STRING))
		return -1;
	if (strcmp(json_text_value(&member), wanted) != 0)
		return FAIL(reading, &member, "must be %s, is \"%.80s\"", wanted,
			    json_text_value(&member));
	return 0;
}

static int decode(struct reading *reading, const struct cJSON *json, const char *path,
		  struct device_table *ret_table)
{
	static const char *const known[] = { "apiVersion", "kind", "devices" };
	struct json_at root = json_root(json, path, &reading->reader);
	const struct device_table *builtin = device_table_builtin();
	struct device_row *rows;

	if (expect(reading, &root, JSON_OBJECT) ||
	    members_check(reading, &root, known, sizeof(known) / sizeof(known[0]),
			  "a DeviceTable") ||
	    fixed_text_check(reading, &root, "apiVersion", API_VERSION) ||
	    fixed_text_check(reading, &root, "kind", "DeviceTable") || rows_decode(reading, &root))
		return -1;
	rows = arena_array(reading->reader.arena, builtin->count + reading->rows.count,
			   sizeof(*rows));
	memcpy(rows, builtin->rows, builtin->count * sizeof(*rows));
	if (reading->rows.count > 0)
		memcpy(rows + builtin->count, reading->rows.at,
		       reading->rows.count * sizeof(*rows));
	*ret_table = (struct device_table){ rows, builtin->count + reading->rows.count };
	return 0;
}

int device_table_decode(const struct cJSON *json, const char *path, struct arena *arena,
			struct device_table *ret_table, struct err *err)
{
	struct reading reading = { .reader = { .arena = arena, .err = err }, .names = MAP_INIT };
	int result = decode(&reading, json, path, ret_table);

	map_done(&reading.names);
	return result;
}

/* Decodes the tree and finds the position of the error in the text. */
static int decode_text(const struct cJSON *tree, struct positions *positions, struct arena *arena,
		       struct device_table *ret_table, struct err *err)
{
	struct reading reading = { .reader = { .arena = arena, .err = err },
				   .names = MAP_INIT,
				   .is_file = true };
	int result = decode(&reading, tree, "", ret_table);
	struct position at;

	map_done(&reading.names);
	if (result == 0)
		return 0;
	at = position_find(positions, place_root(tree), reading.failed_path);
	return at.line > 0 ? err_prefix(err, "line %u, column %u", at.line, at.column) : -1;
}

int device_table_read(const char *text, size_t size, struct arena *arena,
		      struct device_table *ret_table, struct err *err)
{
	struct yaml_stream *stream = yaml_stream_new(text, size, &limits);
	struct positions positions = { .arena = arena };
	AUTO(json_done) struct cJSON *tree = NULL;
	AUTO(json_done) struct cJSON *second = NULL;
	struct device_table table;
	int found = yaml_stream_next(stream, &positions, &tree, err), result = -1;

	if (found == 0)
		err_set(err, ERR_INPUT, "line 1, column 1: there is no document");
	if (found == 1 && decode_text(tree, &positions, arena, &table, err) == 0) {
		found = yaml_stream_next(stream, NULL, &second, err);
		if (found == 1)
			err_set(err, ERR_INPUT, "there is a second document; a file has one");
		result = found == 0 ? 0 : -1;
	}
	yaml_stream_free(stream);
	if (result == 0)
		*ret_table = table;
	return result;
}

static void write_text(struct json_writer *writer, const char *name, const char *text)
{
	if (*text != '\0')
		json_write_text(writer, name, text);
}

/* Plain bytes: a quantity without a suffix. */
static void write_memory_unit(struct json_writer *writer, int64_t bytes)
{
	char text[32];

	if (bytes == 0)
		return;
	snprintf(text, sizeof(text), "%lld", (long long)bytes);
	json_write_text(writer, "memoryUnit", text);
}

void device_table_write(struct json_writer *writer, const char *name,
			const struct device_table *table)
{
	struct device_table own = device_table_own(table);

	json_write_object(writer, name);
	json_write_array(writer, "devices");
	for (size_t i = 0; i < own.count; i++) {
		const struct device_row *row = &own.rows[i];

		json_write_object_line(writer, NULL);
		json_write_text(writer, "resource", row->resource);
		json_write_text(writer, "kind", kind_name(row->kind));
		json_write_text(writer, "share", device_share_name(row->share));
		write_memory_unit(writer, row->memory_unit_bytes);
		write_text(writer, "countResource", row->count_resource);
		write_text(writer, "instead", row->instead);
		write_text(writer, "rayResource", row->ray_resource);
		write_text(writer, "vendor", row->vendor);
		json_write_object_end(writer);
	}
	json_write_array_end(writer);
	json_write_object_end(writer);
}
