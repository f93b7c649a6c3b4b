#include "codec/objects/snapshot_json.h"

#include <string.h>

#include "base/map.h"
#include "base/memory.h"
#include "codec/objects/autoscaler_json.h"
#include "codec/objects/device_table_json.h"
#include "codec/objects/event_json.h"
#include "codec/objects/memory_json.h"
#include "codec/objects/node_json.h"
#include "codec/objects/pod_json.h"
#include "codec/objects/ray_cluster_json.h"
#include "codec/objects/ray_state_json.h"
#include "codec/objects/request_resources.h"
#include "codec/text/number.h"
#include "codec/text/rfc3339.h"
#include "codec/text/yaml.h"
#include "core/model/identity.h"

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

static int list_decode(const struct json_at *at, struct strings *member)
{
	struct arena *arena = at->reader->arena;
	VEC(const char *) strings = { .at = NULL };

	if (json_expect(at, JSON_ARRAY))
		return -1;
	for (struct json_at e = json_first(at); e.json; json_next(&e)) {
		if (json_expect(&e, JSON_STRING))
			return -1;
		VEC_PUSH(arena, &strings, arena_strdup(arena, json_text_value(&e)));
	}
	*member = (struct strings){ .at = strings.at, .count = strings.count };
	return 0;
}

static int setting_decode(const struct json_at *at, struct settings *settings)
{
	const struct settings_row *row = settings_row_find(at->name);
	void *member;

	if (!row)
		return json_fail(at, "is not a setting; the settings are the long flags of "
				     "\"rayscaler run\"");
	member = (char *)settings + row->offset;
	switch (row->kind) {
	case SETTINGS_INTEGER:
		return integer_decode(at, row, member);
	case SETTINGS_CHOICE:
		return choice_decode(at, row, member);
	case SETTINGS_LIST:
		return list_decode(at, member);
	case SETTINGS_BOOLEAN:
		if (json_expect(at, JSON_BOOLEAN))
			return -1;
		*(bool *)member = json_boolean_value(at);
		return 0;
	}
	return -1;
}

static int settings_decode(const struct json_at *root, struct snapshot *ret)
{
	struct json_at object;

	settings_init(&ret->settings);
	if (json_object(root, "settings", &object))
		return -1;
	for (struct json_at e = json_first(&object); e.json; json_next(&e)) {
		if (setting_decode(&e, &ret->settings))
			return -1;
	}
	return 0;
}

/* ---- objects ---- */

/* The member `name` of the root as a list of objects, each through its decoder. */
#define DECODE_OBJECTS(root, name, type, decode, ret_objects, ret_count)                           \
	({                                                                                         \
		VEC(struct type) list_ = { .at = NULL };                                           \
		struct arena *arena_ = (root)->reader->arena;                                      \
		struct json_at array_ = { .json = NULL };                                          \
		int failed_ = json_array((root), (name), &array_);                                 \
                                                                                                   \
		for (struct json_at e = json_first(&array_); !failed_ && e.json; json_next(&e))    \
			failed_ = decode(e.json, json_path(&e), arena_, VEC_ADD(arena_, &list_),   \
					 (root)->reader->err);                                     \
		*(ret_objects) = list_.at;                                                         \
		*(ret_count) = list_.count;                                                        \
		failed_;                                                                           \
	})

/* A duplicate Pod would be counted twice. */
static int names_check(const struct json_at *root, const struct snapshot *snapshot)
{
	AUTO(map_done) struct map names = MAP_INIT;
	struct json_at array = json_member(root, "pods"), e = json_first(&array);

	for (size_t i = 0; i < snapshot->pod_count; i++, json_next(&e)) {
		const struct pod *pod = &snapshot->pods[i];

		if (map_get(&names, pod->name))
			return json_fail(&e, "Pod %s is in the list twice", pod->name);
		map_set(&names, pod->name, (void *)pod);
	}
	return 0;
}

/* True when at least one Pod of the file has owner references: they are then used for all Pods,
 * because a file may be sparse. */
static bool owners_are_given(const struct json_at *root)
{
	struct json_at array = json_member(root, "pods");

	for (struct json_at e = json_first(&array); e.json; json_next(&e)) {
		struct json_at metadata = json_member(&e, "metadata");
		struct json_at owners = json_member(&metadata, "ownerReferences");

		if (json_type(&owners) == JSON_ARRAY)
			return true;
	}
	return false;
}

static int own_pods_decode(const struct json_at *root, struct snapshot *ret)
{
	struct arena *arena = root->reader->arena;
	struct pod *pods = NULL;
	size_t count = 0;

	if (DECODE_OBJECTS(root, "pods", pod, pod_decode, &pods, &count))
		return -1;
	ret->pods = pods;
	ret->pod_count = count;
	if (names_check(root, ret))
		return -1;
	if (owners_are_given(root))
		ret->pod_count = identity_divide(&ret->cluster, pods, count, arena);
	ret->foreign_pods = count > 0 ? pods + ret->pod_count : NULL;
	ret->foreign_pod_count = count - ret->pod_count;
	return 0;
}

static int pods_decode(const struct json_at *root, struct snapshot *ret)
{
	struct json_at others = json_member(root, "otherPods");

	ret->other_pods_known = json_type(&others) == JSON_ARRAY;
	return own_pods_decode(root, ret) ||
	       DECODE_OBJECTS(root, "otherPods", pod, pod_decode, &ret->other_pods,
			      &ret->other_pod_count);
}

static int nodes_decode(const struct json_at *root, struct snapshot *ret)
{
	struct json_at member = json_member(root, "nodes");

	ret->nodes_known = json_type(&member) == JSON_ARRAY;
	return DECODE_OBJECTS(root, "nodes", node, node_decode, &ret->nodes, &ret->node_count);
}

static int events_decode(const struct json_at *root, struct snapshot *ret)
{
	struct json_at member = json_member(root, "events");

	ret->events_known = json_type(&member) == JSON_ARRAY;
	return DECODE_OBJECTS(root, "events", event, event_decode, &ret->events, &ret->event_count);
}

static int cluster_decode(const struct json_at *root, struct snapshot *ret)
{
	struct json_at member = json_member(root, "rayCluster");

	if (json_expect(&member, JSON_OBJECT) ||
	    ray_cluster_decode(member.json, json_path(&member), root->reader->arena, &ret->cluster,
			       root->reader->err))
		return -1;
	if (*ret->cluster.namespace_ == '\0')
		ret->cluster.namespace_ = "default";
	return 0;
}

/* A time that decisions use must parse. */
static int time_decode(const struct json_at *root, const char *name, time_ms *ret_time)
{
	struct json_at member = json_member(root, name);
	const char *problem;

	if (json_expect(&member, JSON_STRING))
		return -1;
	if (rfc3339_parse(json_text_value(&member), ret_time, &problem))
		return json_fail(&member, "\"%.40s\" %s", json_text_value(&member), problem);
	return 0;
}

static int ray_state_member_decode(const struct json_at *root, struct snapshot *ret)
{
	struct json_at member = json_member(root, "rayState"),
		       time = json_member(root, "rayStateTime");
	enum json_type type = json_type(&member), time_type = json_type(&time);
	struct ray_state *state;

	ret->ray_problem = "";
	ret->ray_state_time = ret->now;
	if (time_type != JSON_MISSING && time_type != JSON_NULL &&
	    time_decode(root, "rayStateTime", &ret->ray_state_time))
		return -1;
	if (type == JSON_MISSING || type == JSON_NULL)
		return 0;
	state = ARENA_NEW(root->reader->arena, struct ray_state);
	ret->ray_state = state;
	return ray_state_decode(member.json, json_path(&member), root->reader->arena, state,
				root->reader->err);
}

static int autoscaler_member_decode(const struct json_at *root, struct snapshot *ret)
{
	struct autoscaler_object *autoscaler;
	struct json_at member;

	if (json_object(root, "autoscaler", &member))
		return -1;
	if (!member.json)
		return 0;
	autoscaler = ARENA_NEW(root->reader->arena, struct autoscaler_object);
	ret->autoscaler = autoscaler;
	return autoscaler_decode(member.json, json_path(&member), root->reader->arena, autoscaler,
				 root->reader->err);
}

static int gpu_budget_decode(const struct json_at *root, struct snapshot *ret)
{
	struct json_at member = json_member(root, "gpuBudget");
	const char *problem = NULL;
	double value = 0;

	if (json_number(root, "gpuBudget", &ret->has_gpu_budget, &value))
		return -1;
	ret->gpu_budget = amount_from_double(value, &problem);
	if (problem)
		return json_fail(&member, "%s; it must be a number of GPUs, 0 or more", problem);
	return json_text(root, "gpuBudgetOf", &ret->gpu_budget_of);
}

static int device_table_member_decode(const struct json_at *root, struct snapshot *ret)
{
	struct device_table *table;
	struct json_at member;

	ret->device_table = device_table_builtin();
	if (json_object(root, "deviceTable", &member))
		return -1;
	if (!member.json)
		return 0;
	table = ARENA_NEW(root->reader->arena, struct device_table);
	ret->device_table = table;
	return device_table_decode(member.json, json_path(&member), root->reader->arena, table,
				   root->reader->err);
}

static int memory_member_decode(const struct json_at *root, struct snapshot *ret)
{
	struct json_at memory;
	struct memory_state *state;

	if (json_object(root, "memory", &memory))
		return -1;
	if (!memory.json)
		return 0;
	state = ARENA_NEW(root->reader->arena, struct memory_state);
	memory_decode(memory.json, root->reader->arena, state);
	ret->memory = state;
	return 0;
}

/* ---- the snapshot ---- */

static int fixed_text_check(const struct json_at *root, const char *name, const char *wanted)
{
	struct json_at member = json_member(root, name);

	if (json_expect(&member, JSON_STRING))
		return -1;
	if (strcmp(json_text_value(&member), wanted) != 0)
		return json_fail(&member, "must be %s, is \"%.80s\"", wanted,
				 json_text_value(&member));
	return 0;
}

static int members_check(const struct json_at *root)
{
	static const char *const known[] = {
		"apiVersion", "kind",         "now",      "rayCluster",  "pods",        "rayState",
		"events",     "rayStateTime", "settings", "autoscaler",  "deviceTable", "nodes",
		"otherPods",  "gpuBudget",    "memory",   "viewProblem", "gpuBudgetOf",
	};

	for (struct json_at e = json_first(root); e.json; json_next(&e)) {
		bool found = false;

		for (size_t i = 0; i < sizeof(known) / sizeof(known[0]) && !found; i++)
			found = strcmp(known[i], e.name) == 0;
		if (!found)
			return json_fail(&e, "is not a member of a Snapshot");
	}
	return 0;
}

int snapshot_decode(const struct cJSON *json, const char *path, struct arena *arena,
		    struct snapshot *ret_snapshot, struct err *err)
{
	struct json_reader reader = { .arena = arena, .err = err };
	struct json_at root = json_root(json, path, &reader);
	struct snapshot snapshot = { .now = 0 };

	if (json_expect(&root, JSON_OBJECT) ||
	    fixed_text_check(&root, "apiVersion", SNAPSHOT_API_VERSION) ||
	    fixed_text_check(&root, "kind", "Snapshot") || members_check(&root) ||
	    time_decode(&root, "now", &snapshot.now) ||
	    json_text(&root, "viewProblem", &snapshot.view_problem) ||
	    cluster_decode(&root, &snapshot) || pods_decode(&root, &snapshot) ||
	    ray_state_member_decode(&root, &snapshot) || events_decode(&root, &snapshot) ||
	    settings_decode(&root, &snapshot) || autoscaler_member_decode(&root, &snapshot) ||
	    nodes_decode(&root, &snapshot) || gpu_budget_decode(&root, &snapshot) ||
	    device_table_member_decode(&root, &snapshot) || memory_member_decode(&root, &snapshot))
		return -1;
	request_resources_observe(&snapshot, arena);
	*ret_snapshot = snapshot;
	return 0;
}

int snapshot_read(const char *text, size_t size, struct arena *arena, struct snapshot *ret_snapshot,
		  struct err *err)
{
	AUTO(json_done) struct cJSON *tree = NULL;

	if (yaml_or_json_parse(text, size, &snapshot_limits, &tree, err))
		return -1;
	return snapshot_decode(tree, "", arena, ret_snapshot, err);
}
