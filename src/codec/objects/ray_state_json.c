#include "codec/objects/ray_state_json.h"

#include <string.h>

#include "base/sort.h"
#include "codec/objects/object_json.h"
#include "codec/objects/proto_json.h"
#include "codec/text/json.h"
#include "codec/text/number.h"

static const struct proto_enum status_table[] = {
	{ "UNSPECIFIED", RAY_NODE_UNSPECIFIED },
	{ "RUNNING", RAY_NODE_RUNNING },
	{ "DEAD", RAY_NODE_DEAD },
	{ "IDLE", RAY_NODE_IDLE },
	{ "DRAINING", RAY_NODE_DRAINING },
	{ NULL, 0 },
};

static const struct proto_enum operator_table[] = {
	{ "LABEL_OPERATOR_UNSPECIFIED", LABEL_OPERATOR_UNSPECIFIED },
	{ "LABEL_OPERATOR_IN", LABEL_OPERATOR_IN },
	{ "LABEL_OPERATOR_NOT_IN", LABEL_OPERATOR_NOT_IN },
	{ NULL, 0 },
};

/* ---- requests ---- */

static int compare_entries(const void *a, const void *b)
{
	const struct bundle_entry *left = a, *right = b;

	return strcmp(left->name, right->name);
}

void ray_request_set_bundle(struct ray_request *request, struct bundle_entry *entries, size_t count,
			    struct arena *arena)
{
	size_t kept = 0;

	sort_stable(entries, count, sizeof(*entries), compare_entries);
	for (size_t i = 0; i < count; i++) {
		struct bundle_entry entry = entries[i];
		const char *problem;

		if (i + 1 < count && strcmp(entry.name, entries[i + 1].name) == 0)
			continue;
		entry.amount = amount_from_double(entry.received, &problem);
		if (problem && !request->problem)
			request->problem = arena_printf(arena, "%s %s", entry.name, problem);
		entries[kept++] = entry;
	}
	for (size_t i = 0; request->problem && i < kept; i++)
		entries[i].amount = 0;
	request->bundle = entries;
	request->bundle_count = kept;
}

static int bundle_decode(const struct json_at *at, struct ray_request *ret)
{
	struct arena *arena = at->reader->arena;
	VEC(struct bundle_entry) entries = { .at = NULL };
	struct json_at map;

	if (proto_object(at, "resourcesBundle", "resources_bundle", &map))
		return -1;
	for (struct json_at e = json_first(&map); e.json; json_next(&e)) {
		struct bundle_entry *entry = VEC_ADD(arena, &entries);
		const char *problem;

		entry->name = arena_strdup(arena, e.name);
		if (proto_double_value(&e, &entry->received))
			return -1;
		amount_from_double(entry->received, &problem);
		if (problem)
			json_problem(&e, "%s", problem);
	}
	ray_request_set_bundle(ret, entries.at, entries.count, arena);
	return 0;
}

static int affinity_decode(const struct json_at *at, const char *camel, const char *snake,
			   bool *ret_has, struct label *ret_label)
{
	struct json_at object;

	*ret_label = (struct label){ .key = "", .value = "" };
	if (proto_object(at, camel, snake, &object))
		return -1;
	*ret_has = object.json != NULL;
	return proto_text(&object, "labelName", "label_name", &ret_label->key) ||
	       proto_text(&object, "labelValue", "label_value", &ret_label->value);
}

static int placements_decode(const struct json_at *at, struct ray_request *ret)
{
	VEC(struct placement_constraint) placements = { .at = NULL };
	struct json_at array;

	if (proto_array(at, "placementConstraints", "placement_constraints", &array))
		return -1;
	for (struct json_at e = json_first(&array); e.json; json_next(&e)) {
		struct placement_constraint *constraint = VEC_ADD(at->reader->arena, &placements);

		if (json_expect(&e, JSON_OBJECT) ||
		    affinity_decode(&e, "antiAffinity", "anti_affinity",
				    &constraint->has_anti_affinity, &constraint->anti_affinity) ||
		    affinity_decode(&e, "affinity", "affinity", &constraint->has_affinity,
				    &constraint->affinity))
			return -1;
	}
	ret->placements = placements.at;
	ret->placement_count = placements.count;
	return 0;
}

static int selector_decode(const struct json_at *at, struct label_selector *ret)
{
	VEC(struct label_constraint) constraints = { .at = NULL };
	struct json_at array;

	if (json_expect(at, JSON_OBJECT) ||
	    proto_array(at, "labelConstraints", "label_constraints", &array))
		return -1;
	for (struct json_at e = json_first(&array); e.json; json_next(&e)) {
		struct label_constraint *constraint = VEC_ADD(at->reader->arena, &constraints);

		if (json_expect(&e, JSON_OBJECT) ||
		    proto_text(&e, "labelKey", "label_key", &constraint->key) ||
		    proto_enum(&e, "operator", "operator", operator_table,
			       &constraint->operation) ||
		    proto_strings(&e, "labelValues", "label_values", &constraint->values))
			return -1;
	}
	ret->constraints = constraints.at;
	ret->count = constraints.count;
	return 0;
}

static int selectors_decode(const struct json_at *at, struct ray_request *ret)
{
	VEC(struct label_selector) selectors = { .at = NULL };
	struct json_at array;

	if (proto_array(at, "labelSelectors", "label_selectors", &array))
		return -1;
	for (struct json_at e = json_first(&array); e.json; json_next(&e)) {
		if (selector_decode(&e, VEC_ADD(at->reader->arena, &selectors)))
			return -1;
	}
	ret->selectors = selectors.at;
	ret->selector_count = selectors.count;
	return 0;
}

/* An object; missing and null are an empty request. */
static int request_decode(const struct json_at *at, struct ray_request *ret)
{
	enum json_type type = json_type(at);

	if (type != JSON_MISSING && type != JSON_NULL && json_expect(at, JSON_OBJECT))
		return -1;
	return bundle_decode(at, ret) || placements_decode(at, ret) || selectors_decode(at, ret);
}

/* A member that is a list of ResourceRequest. */
static int requests_decode(const struct json_at *at, const char *camel, const char *snake,
			   const struct ray_request **ret_requests, size_t *ret_count)
{
	VEC(struct ray_request) requests = { .at = NULL };
	struct json_at array;

	if (proto_array(at, camel, snake, &array))
		return -1;
	for (struct json_at e = json_first(&array); e.json; json_next(&e)) {
		if (request_decode(&e, VEC_ADD(at->reader->arena, &requests)))
			return -1;
	}
	*ret_requests = requests.at;
	*ret_count = requests.count;
	return 0;
}

/* A member that is a list of ResourceRequestByCount. */
static int counted_decode(const struct json_at *at, const char *camel, const char *snake,
			  const struct ray_request_count **ret_requests, size_t *ret_count)
{
	VEC(struct ray_request_count) requests = { .at = NULL };
	struct json_at array;

	if (proto_array(at, camel, snake, &array))
		return -1;
	for (struct json_at e = json_first(&array); e.json; json_next(&e)) {
		struct ray_request_count *counted = VEC_ADD(at->reader->arena, &requests);
		struct json_at request = json_member(&e, "request");

		if (json_expect(&e, JSON_OBJECT) || request_decode(&request, &counted->request) ||
		    proto_int64(&e, "count", "count", &counted->count))
			return -1;
		if (counted->count < 0) {
			json_problem(&e, "count must not be negative, is %lld",
				     (long long)counted->count);
			counted->count = 0;
		}
	}
	*ret_requests = requests.at;
	*ret_count = requests.count;
	return 0;
}

/* ---- nodes ---- */

/* A map of amounts. A value that is not an amount is 0 and a problem of the node; a negative
 * `available` is 0 (Ray lends out CPUs of blocked tasks, so that it can fall below 0). */
static int amounts_decode(const struct json_at *at, const char *camel, const char *snake,
			  bool available, struct ray_node *node, struct resources *ret)
{
	struct arena *arena = at->reader->arena;
	VEC(struct resource) amounts = { .at = NULL };
	struct json_at map;

	if (proto_object(at, camel, snake, &map))
		return -1;
	for (struct json_at e = json_first(&map); e.json; json_next(&e)) {
		struct resource *resource = VEC_ADD(arena, &amounts);
		const char *problem;
		double value;

		if (proto_double_value(&e, &value))
			return -1;
		if (available && value < 0)
			value = 0;
		resource->name = arena_strdup(arena, e.name);
		resource->amount = amount_from_double(value, &problem);
		if (!problem)
			continue;
		json_problem(&e, "%s", problem);
		if (!node->problem)
			node->problem = arena_printf(arena, "%s: %s", json_path(&e), problem);
	}
	*ret = resources_sort(amounts.at, amounts.count);
	return 0;
}

static int node_decode(const struct json_at *at, struct ray_node *ret)
{
	int32_t status = RAY_NODE_UNSPECIFIED;

	if (json_expect(at, JSON_OBJECT) || proto_bytes_hex(at, "nodeId", "node_id", &ret->id) ||
	    proto_text(at, "instanceId", "instance_id", &ret->instance_id) ||
	    proto_text(at, "rayNodeTypeName", "ray_node_type_name", &ret->type_name) ||
	    amounts_decode(at, "totalResources", "total_resources", false, ret, &ret->total) ||
	    amounts_decode(at, "availableResources", "available_resources", true, ret,
			   &ret->available) ||
	    proto_labels(at, "labels", "labels", &ret->labels) ||
	    proto_labels(at, "dynamicLabels", "dynamic_labels", &ret->dynamic_labels) ||
	    proto_enum(at, "status", "status", status_table, &status) ||
	    proto_int64(at, "idleDurationMs", "idle_duration_ms", &ret->idle_duration_ms) ||
	    proto_text(at, "nodeIpAddress", "node_ip_address", &ret->ip_address) ||
	    proto_strings(at, "nodeActivity", "node_activity", &ret->activity))
		return -1;
	ret->idle_duration_ms = ray_idle_duration_ms(ret->idle_duration_ms);
	if (status >= RAY_NODE_UNSPECIFIED && status <= RAY_NODE_DRAINING)
		ret->status = (enum ray_node_status)status;
	return 0;
}

static int nodes_decode(const struct json_at *root, struct ray_state *ret)
{
	VEC(struct ray_node) nodes = { .at = NULL };
	struct json_at array;

	if (proto_array(root, "nodeStates", "node_states", &array))
		return -1;
	for (struct json_at e = json_first(&array); e.json; json_next(&e)) {
		if (node_decode(&e, VEC_ADD(root->reader->arena, &nodes)))
			return -1;
	}
	ret->nodes = nodes.at;
	ret->node_count = nodes.count;
	return 0;
}

/* ---- gangs, constraints, the state ---- */

static int gang_decode(const struct json_at *at, struct ray_gang *ret)
{
	VEC(struct bundle_selector) selectors = { .at = NULL };
	struct json_at array;

	if (json_expect(at, JSON_OBJECT) ||
	    requests_decode(at, "requests", "requests", &ret->requests, &ret->request_count) ||
	    proto_text(at, "details", "details", &ret->details) ||
	    proto_array(at, "bundleSelectors", "bundle_selectors", &array))
		return -1;
	for (struct json_at e = json_first(&array); e.json; json_next(&e)) {
		struct bundle_selector *selector = VEC_ADD(at->reader->arena, &selectors);

		if (json_expect(&e, JSON_OBJECT) ||
		    requests_decode(&e, "resourceRequests", "resource_requests",
				    &selector->requests, &selector->count))
			return -1;
	}
	ret->selectors = selectors.at;
	ret->selector_count = selectors.count;
	return 0;
}

static int gangs_decode(const struct json_at *root, struct ray_state *ret)
{
	VEC(struct ray_gang) gangs = { .at = NULL };
	struct json_at array;

	if (proto_array(root, "pendingGangResourceRequests", "pending_gang_resource_requests",
			&array))
		return -1;
	for (struct json_at e = json_first(&array); e.json; json_next(&e)) {
		if (gang_decode(&e, VEC_ADD(root->reader->arena, &gangs)))
			return -1;
	}
	ret->gangs = gangs.at;
	ret->gang_count = gangs.count;
	return 0;
}

static int constraints_decode(const struct json_at *root, struct ray_state *ret)
{
	VEC(struct ray_constraint) constraints = { .at = NULL };
	struct json_at array;

	if (proto_array(root, "clusterResourceConstraints", "cluster_resource_constraints", &array))
		return -1;
	for (struct json_at e = json_first(&array); e.json; json_next(&e)) {
		struct ray_constraint *constraint = VEC_ADD(root->reader->arena, &constraints);

		if (json_expect(&e, JSON_OBJECT) ||
		    counted_decode(&e, "resourceRequests", "resource_requests",
				   &constraint->requests, &constraint->count))
			return -1;
	}
	ret->constraints = constraints.at;
	ret->constraint_count = constraints.count;
	return 0;
}

int ray_state_decode(const struct cJSON *json, const char *path, struct arena *arena,
		     struct ray_state *ret_state, struct err *err)
{
	struct json_reader reader = { .arena = arena, .err = err };
	struct json_at root = json_root(json, path, &reader);
	struct ray_state state = { .version = 0 };

	if (json_expect(&root, JSON_OBJECT) ||
	    proto_int64(&root, "clusterResourceStateVersion", "cluster_resource_state_version",
			&state.version) ||
	    proto_int64(&root, "lastSeenAutoscalerStateVersion",
			"last_seen_autoscaler_state_version",
			&state.last_seen_autoscaler_state_version) ||
	    nodes_decode(&root, &state) ||
	    counted_decode(&root, "pendingResourceRequests", "pending_resource_requests",
			   &state.requests, &state.request_count) ||
	    gangs_decode(&root, &state) || constraints_decode(&root, &state) ||
	    proto_text(&root, "clusterSessionName", "cluster_session_name", &state.session_name))
		return -1;
	state.problems = object_problems(&reader);
	*ret_state = state;
	return 0;
}
