#include "codec/objects/snapshot_json.h"

#include <string.h>

#include "base/check.h"
#include "base/map.h"
#include "base/memory.h"
#include "base/nearest.h"
#include "codec/objects/autoscaler_json.h"
#include "codec/objects/device_table_json.h"
#include "codec/objects/event_json.h"
#include "codec/objects/memory_json.h"
#include "codec/objects/node_json.h"
#include "codec/objects/pod_json.h"
#include "codec/objects/price_table_json.h"
#include "codec/objects/ray_cluster_json.h"
#include "codec/objects/ray_state_json.h"
#include "codec/schema/document_head.h"
#include "codec/text/documents.h"
#include "codec/text/rfc3339.h"
#include "core/model/identity.h"
#include "core/nodes/node_labels.h"
#include "feature_codec.h"

const struct json_limits snapshot_limits = {
	.bytes = SNAPSHOT_BYTES_MAX,
	.depth = 100,
	.elements = 4000000,
	.unique_names = true,
};

/* ---- settings ---- */

static int integer_decode(const struct json_at *at, const struct settings_row *row, int64_t *member)
{
	int64_t value;

	if (json_integer_value(at, &value))
		return -1;
	if (value < row->minimum || value > row->maximum)
		return json_fail(at, "must be %lld to %lld %s, is %lld", (long long)row->minimum,
				 (long long)row->maximum, row->unit, (long long)value);
	*member = value;
	return 0;
}

static int choice_decode(const struct json_at *at, const struct settings_row *row, int *member)
{
	int value;

	if (json_expect(at, JSON_STRING))
		return -1;
	value = settings_choice_value(row, json_text_value(at));
	if (value < 0)
		return json_fail(at, "must be one of %s, is \"%.40s\"", row->unit,
				 json_text_value(at));
	*member = value;
	return 0;
}

static int refuse_setting(const struct json_at *at)
{
	struct nearest nearest = nearest_start(at->name);
	const struct settings_row *rows;
	char hint[NEAREST_HINT_SIZE];
	size_t count;

	rows = settings_rows(&count);
	for (size_t i = 0; i < count; i++)
		nearest_offer(&nearest, rows[i].name);
	return json_fail(at,
			 "is not a setting; the settings are the long flags of \"rayscaler run\"%s",
			 nearest_hint(&nearest, hint));
}

static int setting_decode(const struct json_at *at, struct settings *settings)
{
	const struct settings_row *row = settings_row_find(at->name);
	const struct field list = { .kind = FIELD_KIND_TEXTS, .name = at->name };
	void *member;

	if (!row)
		return refuse_setting(at);
	member = (char *)settings + row->offset;
	switch (row->kind) {
	case SETTINGS_INTEGER:
		return integer_decode(at, row, member);
	case SETTINGS_CHOICE:
		return choice_decode(at, row, member);
	case SETTINGS_LIST:
		return field_decode(at, &list, member);
	case SETTINGS_BOOLEAN:
		if (json_expect(at, JSON_BOOLEAN))
			return -1;
		*(bool *)member = json_boolean_value(at);
		return 0;
	default:
		CHECK(!"a kind of options");
	}
}

int settings_json_decode(const struct json_at *at, struct settings *settings)
{
	for (struct json_at e = json_first(at); e.json; json_next(&e))
		if (setting_decode(&e, settings))
			return -1;
	return 0;
}

static int settings_decode(const struct json_at *member, const struct field *field UNUSED,
			   void *object)
{
	struct snapshot *ret = object;

	return json_optional(member, JSON_OBJECT) || settings_json_decode(member, &ret->settings);
}

static void write_choice(struct json_writer *writer, const struct settings_row *row, int value,
			 struct arena *arena)
{
	size_t size;
	const char *word = settings_choice_word(row, value, &size);

	json_write_text(writer, row->name, arena_strndup(arena, word, size));
}

static void write_settings(struct json_writer *writer, const struct field *field,
			   const void *object)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	const struct snapshot *snapshot = object;
	size_t count;
	const struct settings_row *rows = settings_rows(&count);

	json_write_object(writer, field->name);
	for (size_t i = 0; i < count; i++) {
		const void *member = (const char *)&snapshot->settings + rows[i].offset;

		switch (rows[i].kind) {
		case SETTINGS_INTEGER:
			json_write_integer(writer, rows[i].name, *(const int64_t *)member);
			break;
		case SETTINGS_BOOLEAN:
			json_write_boolean(writer, rows[i].name, *(const bool *)member);
			break;
		case SETTINGS_CHOICE:
			write_choice(writer, &rows[i], *(const int *)member, &arena);
			break;
		case SETTINGS_LIST:
			if (((const struct strings *)member)->count > 0)
				field_write_texts(writer, rows[i].name, member);
			break;
		default:
			CHECK(!"a kind of options");
		}
	}
	json_write_object_end(writer);
}

/* ---- objects ---- */

/* A duplicate Pod would be counted twice. */
static int names_check(const struct json_at *pods, const struct snapshot *snapshot)
{
	AUTO(map_done) struct map names = MAP_INIT;
	struct json_at e = json_first(pods);

	for (size_t i = 0; i < snapshot->pod_count; i++, json_next(&e)) {
		const struct pod *pod = snapshot->pods[i];

		if (map_get(&names, pod->name))
			return json_fail(&e, "Pod %s is in the list twice", pod->name);
		map_set(&names, pod->name, pod);
	}
	return 0;
}

/* True when at least one Pod of the file has owner references: they are then used for all Pods,
 * because a file may be sparse. */
static bool owners_are_given(const struct json_at *pods)
{
	for (struct json_at e = json_first(pods); e.json; json_next(&e)) {
		struct json_at metadata = json_member(&e, "metadata");
		struct json_at owners = json_member(&metadata, "ownerReferences");

		if (json_type(&owners) == JSON_ARRAY)
			return true;
	}
	return false;
}

struct pod_list {
	struct pod *at;
	size_t count;
};

static int pods_decode(const struct json_at *member, const struct field *field, void *object)
{
	const struct field list_field = FIELD_LIST(struct pod_list, at, count, pod_fields,
						   field->name, FIELD_PROBLEMS(struct pod));
	struct arena *arena = member->reader->arena;
	struct snapshot *ret = object;
	const struct pod **pods;
	struct pod_list list;

	if (field_decode(member, &list_field, &list))
		return -1;
	pods = arena_array(arena, list.count, sizeof(struct pod *));
	for (size_t i = 0; i < list.count; i++)
		pods[i] = &list.at[i];
	ret->pods = pods;
	ret->pod_count = list.count;
	if (names_check(member, ret))
		return -1;
	if (owners_are_given(member))
		ret->pod_count = identity_divide(&ret->cluster, pods, list.count, arena);
	ret->foreign_pods = pods + ret->pod_count;
	ret->foreign_pod_count = list.count - ret->pod_count;
	return 0;
}

static void add_readers(struct node_labels *read, const struct snapshot *snapshot)
{
	for (size_t i = 0; i < snapshot->cluster.group_count; i++)
		node_labels_add_spec(read, &snapshot->cluster.groups[i].template.spec);
	for (size_t i = 0; i < snapshot->pod_count; i++)
		node_labels_add_spec(read, &snapshot->pods[i]->spec);
	FEATURE_SNAPSHOT_LABELS(read, snapshot)
}

/* Without the labels that a decision does not read. */
static void write_nodes(struct json_writer *writer, const struct field *field, const void *object)
{
	AUTO(node_labels_done) struct node_labels read = NODE_LABELS_INIT;
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	const struct snapshot *snapshot = object;

	if (!snapshot->nodes_known)
		return;
	add_readers(&read, snapshot);
	json_write_array(writer, field->name);
	for (size_t i = 0; i < snapshot->node_count; i++) {
		struct node node = snapshot->nodes[i];
		struct label *kept = arena_array(&arena, node.labels.count, sizeof(*kept));
		size_t count = 0;

		for (size_t l = 0; l < node.labels.count; l++)
			if (node_labels_has(&read, node.labels.at[l].key))
				kept[count++] = node.labels.at[l];
		node.labels = (struct labels){ kept, count };
		field_write_object(writer, NULL, node_fields, &node);
	}
	json_write_array_end(writer);
}

static void write_pods(struct json_writer *writer, const struct field *field, const void *object)
{
	const struct snapshot *snapshot = object;

	json_write_array(writer, field->name);
	for (size_t i = 0; i < snapshot->pod_count; i++)
		field_write_object(writer, NULL, pod_fields, snapshot->pods[i]);
	for (size_t i = 0; i < snapshot->foreign_pod_count; i++)
		pod_write_foreign(writer, NULL, snapshot->foreign_pods[i]);
	json_write_array_end(writer);
}

static int cluster_decode(const struct json_at *member, const struct field *field, void *object)
{
	struct snapshot *ret = object;

	if (json_expect(member, JSON_OBJECT) || field_decode(member, field, object))
		return -1;
	if (*ret->cluster.namespace_ == '\0')
		ret->cluster.namespace_ = "default";
	return 0;
}

/* A time that decisions use must parse. */
static int time_decode(const struct json_at *member, const struct field *field, void *object)
{
	void *value = field_value(field, object);
	const char *problem;

	if (json_expect(member, JSON_STRING))
		return -1;
	if (rfc3339_parse(json_text_value(member), value, &problem))
		return json_fail(member, "\"%.40s\" %s", json_text_value(member), problem);
	return 0;
}

static int state_time_decode(const struct json_at *member, const struct field *field, void *object)
{
	struct snapshot *ret = object;

	ret->ray_state_time = ret->now;
	return json_is_given(member) ? time_decode(member, field, object) : 0;
}

static void write_state_time(struct json_writer *writer, const struct field *field,
			     const void *object)
{
	const struct snapshot *snapshot = object;

	if (snapshot->ray_state)
		field_write_value(writer, field, object);
}

static int device_table_member_decode(const struct json_at *member,
				      const struct field *field UNUSED, void *object)
{
	struct snapshot *ret = object;
	struct device_table *table;

	if (json_optional(member, JSON_OBJECT))
		return -1;
	if (!json_is_given(member))
		return 0;
	table = ARENA_NEW(member->reader->arena, struct device_table);
	ret->device_table = table;
	return device_table_decode(member->json, json_path(member), member->reader->arena, table,
				   member->reader->err);
}

static void write_device_table(struct json_writer *writer, const struct field *field,
			       const void *object)
{
	const struct snapshot *snapshot = object;

	if (device_table_own(snapshot->device_table).count > 0)
		device_table_write(writer, field->name, snapshot->device_table);
}

static int memory_member_decode(const struct json_at *member, const struct field *field UNUSED,
				void *object)
{
	struct snapshot *ret = object;
	struct memory_state *state;

	if (json_optional(member, JSON_OBJECT))
		return -1;
	if (!json_is_given(member))
		return 0;
	state = ARENA_NEW(member->reader->arena, struct memory_state);
	memory_decode(member->json, member->reader->arena, state);
	ret->memory = state;
	return 0;
}

static void write_memory(struct json_writer *writer, const struct field *field, const void *object)
{
	const struct snapshot *snapshot = object;

	if (snapshot->memory)
		memory_write(writer, field->name, snapshot->memory);
}

/* ---- the snapshot ---- */

#define SNAPSHOT struct snapshot

static const struct event event_initial = { .count = 1 };

#define WORK struct cluster_work

static const struct field cluster_work_fields[] = {
	FIELD_TIME(WORK, begun, "begun", .flags = FIELD_ALWAYS),
	FIELD_TEXT(WORK, problem, "problem"),
	FIELD_TEXT(WORK, in_use, "inUse"),
	FIELD_TIME(WORK, ended, "ended"),
	FIELD_END,
};

const struct field snapshot_fields[] = {
	FIELD_FIXED("apiVersion", OWN_GROUP_VERSION, .flags = FIELD_REQUIRED),
	FIELD_FIXED("kind", "Snapshot", .flags = FIELD_REQUIRED),
	FIELD_TIME(SNAPSHOT, now, "now", .flags = FIELD_ALWAYS, .read = time_decode),
	FIELD_PART(SNAPSHOT, cluster, ray_cluster_fields, "rayCluster", .flags = FIELD_ALWAYS,
		   .read = cluster_decode, FIELD_PROBLEMS(struct ray_cluster)),
	FIELD_HOOK("pods", .read = pods_decode, .write = write_pods, .members = pod_fields),
	FIELD_TEXT(SNAPSHOT, view_problem, "viewProblem"),
	FIELD_POINTER(SNAPSHOT, ray_state, ray_state_fields, "rayState",
		      .flags = FIELD_ALWAYS | FIELD_PROTO, FIELD_PROBLEMS(struct ray_state)),
	FIELD_TIME(SNAPSHOT, ray_state_time, "rayStateTime", .read = state_time_decode,
		   .write = write_state_time),
	FIELD_LIST(SNAPSHOT, events, event_count, event_fields, "events", .initial = &event_initial,
		   .has = FIELD_HAS(SNAPSHOT, events_known)),
	FIELD_HOOK("settings", .read = settings_decode, .write = write_settings),
	FIELD_POINTER(SNAPSHOT, autoscaler, autoscaler_fields, "autoscaler",
		      FIELD_PROBLEMS(struct autoscaler_object)),
	FIELD_LIST(SNAPSHOT, nodes, node_count, node_fields, "nodes", .write = write_nodes,
		   .initial = &node_initial, .has = FIELD_HAS(SNAPSHOT, nodes_known),
		   FIELD_PROBLEMS(struct node)),
	FIELD_LIST(SNAPSHOT, other_pods, other_pod_count, pod_fields, "otherPods",
		   .has = FIELD_HAS(SNAPSHOT, other_pods_known), FIELD_PROBLEMS(struct pod)),
	FIELD_HOOK("deviceTable", .read = device_table_member_decode, .write = write_device_table),
	FIELD_POINTER(SNAPSHOT, price_table, price_table_fields, "priceTable"),
	FIELD_AMOUNT(SNAPSHOT, gpu_budget, "gpuBudget", .has = FIELD_HAS(SNAPSHOT, has_gpu_budget)),
	FIELD_TEXT(SNAPSHOT, gpu_budget_of, "gpuBudgetOf"),
	FEATURE_SNAPSHOT_ROWS(SNAPSHOT)
		FIELD_HOOK("memory", .read = memory_member_decode, .write = write_memory),
	FIELD_POINTER(SNAPSHOT, cluster_work, cluster_work_fields, "clusterWork",
		      .flags = FIELD_LINE),
	FIELD_END,
};

void snapshot_table_changed(struct snapshot *snapshot UNUSED, struct arena *arena UNUSED)
{
	FEATURE_SNAPSHOT_TABLES(snapshot, arena)
}

int snapshot_decode(const struct cJSON *json, const char *path, struct arena *arena,
		    struct snapshot *ret_snapshot, struct err *err)
{
	struct json_reader reader = { .arena = arena, .err = err };
	struct json_at root = json_root(json, path, &reader);
	struct snapshot snapshot = { .ray_problem = "", .device_table = device_table_builtin() };

	settings_init(&snapshot.settings);
	/* Another kind of object is refused by its kind, not by its first member. */
	if (document_head_check(&root, "Snapshot") ||
	    field_check_names(&root, snapshot_fields, "a Snapshot") ||
	    field_decode_all(&root, snapshot_fields, &snapshot))
		return -1;
	FEATURE_SNAPSHOT_DECODED(&snapshot, arena)
	*ret_snapshot = snapshot;
	return 0;
}

int snapshot_read(const char *text, size_t size, struct arena *arena, struct snapshot *ret_snapshot,
		  struct err *err)
{
	AUTO(json_done) struct cJSON *tree = NULL;

	if (document_parse(text, size, &snapshot_limits, &tree, err))
		return -1;
	return snapshot_decode(tree, "", arena, ret_snapshot, err);
}

int snapshot_write(const struct snapshot *snapshot, struct buf *buf, struct err *err)
{
	struct json_writer writer;

	json_write_init(&writer, buf, JSON_STYLE_PRETTY);
	field_write_object(&writer, NULL, snapshot_fields, snapshot);
	buf_add_char(buf, '\n');
	if (buf->overflowed)
		return err_set(err, ERR_LIMIT, "the snapshot has more than %zu bytes",
			       buf->ceiling_bytes);
	return 0;
}
