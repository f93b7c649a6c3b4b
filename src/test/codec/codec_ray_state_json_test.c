#include "codec/objects/ray_state_json.h"

#include <math.h>
#include <string.h>

#include "base/buf.h"
#include "test/support/codec_support.h"
#include "test/support/ray_state_text.h"

static const char full[] =
	"clusterResourceStateVersion: '9223372036854775807'\n"
	"lastSeenAutoscalerStateVersion: 12\n"
	"nodeStates:\n"
	"- nodeId: AQL/\n"
	"  instanceId: p1\n"
	"  rayNodeTypeName: gpu\n"
	"  totalResources: {GPU: 2, CPU: 1.5, memory: 1073741824}\n"
	"  availableResources: {CPU: 0, GPU: '0.5'}\n"
	"  labels: {ray.io/zone: a}\n"
	"  dynamicLabels: {_PG_ab: ''}\n"
	"  status: IDLE\n"
	"  idleDurationMs: '61000'\n"
	"  nodeIpAddress: 10.0.0.5\n"
	"  nodeActivity: [Busy workers]\n"
	"  nodeStateVersion: '3'\n"
	"pendingResourceRequests:\n"
	"- request:\n"
	"    resourcesBundle: {GPU: 0.1, CPU: 1}\n"
	"    placementConstraints: [{antiAffinity: {labelName: _PG_ab}},\n"
	"      {affinity: {labelName: x,\n"
	"      labelValue: y}}]\n"
	"    labelSelectors: [{labelConstraints: [{labelKey: k, operator: LABEL_OPERATOR_NOT_IN,\n"
	"      labelValues: [a, b]}, {labelKey: l, operator: 1, labelValues: [c]}]}, {}]\n"
	"  count: '100000'\n"
	"- {}\n"
	"pendingGangResourceRequests:\n"
	"- {}\n"
	"- details: 'strategy: STRICT_PACK'\n"
	"  requests: [{resourcesBundle: {GPU: 1}}]\n"
	"  bundleSelectors: [{resourceRequests: [{resourcesBundle: {GPU: 1}}]}]\n"
	"clusterResourceConstraints:\n"
	"- resourceRequests: [{request: {resourcesBundle: {CPU: 8}}, count: 2}]\n"
	"- {}\n"
	"clusterSessionName: session_1\n";

static struct ray_state decode_good(const char *text, struct arena *arena)
{
	AUTO(json_done) struct cJSON *tree = codec_tree(text);
	struct ray_state ray;
	struct err err;

	if (ray_state_decode(tree, "rayState", arena, &ray, &err))
		fail_msg("%s", err.text);
	return ray;
}

static void check_node(const struct ray_node *node)
{
	assert_string_equal(node->id, "0102ff");
	assert_string_equal(node->instance_id, "p1");
	assert_string_equal(node->type_name, "gpu");
	assert_string_equal(node->total.at[0].name, "CPU");
	assert_true(node->total.at[0].amount == 15000);
	/* Zero is not absent. */
	assert_int_equal(node->available.count, 2);
	assert_true(resources_amount(&node->available, "CPU", -1) == 0);
	assert_true(resources_amount(&node->available, "GPU", -1) == 5000);
	assert_true(resources_amount(&node->available, "memory", -1) == -1);
	assert_string_equal(labels_value(&node->dynamic_labels, "_PG_ab"), "");
	assert_int_equal(node->status, RAY_NODE_IDLE);
	assert_true(node->idle_duration_ms == 61000);
	assert_string_equal(node->activity.at[0], "Busy workers");
	assert_null(node->problem);
}

static void check_request(const struct ray_request_count *counted)
{
	const struct ray_request *request = &counted->request;

	assert_true(counted->count == 100000);
	assert_string_equal(request->bundle[0].name, "CPU");
	assert_true(request->bundle[1].received == 0.1 && request->bundle[1].amount == 1000);
	assert_true(request->placements[0].has_anti_affinity &&
		    !request->placements[0].has_affinity);
	assert_string_equal(request->placements[0].anti_affinity.key, "_PG_ab");
	assert_string_equal(request->placements[0].anti_affinity.value, "");
	assert_string_equal(request->placements[1].affinity.value, "y");
	assert_int_equal(request->selector_count, 2);
	assert_int_equal(request->selectors[0].constraints[0].operation, LABEL_OPERATOR_NOT_IN);
	assert_string_equal(request->selectors[0].constraints[0].values.at[1], "b");
	assert_int_equal(request->selectors[0].constraints[1].operation, LABEL_OPERATOR_IN);
	assert_int_equal(request->selectors[1].count, 0);
	assert_null(request->problem);
}

static void test_full(void **state)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	struct ray_state ray = decode_good(full, &arena);

	(void)state;
	assert_true(ray.version == INT64_MAX && ray.last_seen_autoscaler_state_version == 12);
	assert_int_equal(ray.node_count, 1);
	check_node(&ray.nodes[0]);
	assert_int_equal(ray.request_count, 2);
	check_request(&ray.requests[0]);
	assert_true(ray.requests[1].count == 0 && ray.requests[1].request.bundle_count == 0);
	assert_int_equal(ray.gang_count, 2);
	assert_true(ray.gangs[0].request_count == 0 && ray.gangs[0].selector_count == 0);
	assert_string_equal(ray.gangs[0].details, "");
	assert_true(ray.gangs[1].selectors[0].requests[0].bundle[0].amount == 10000);
	assert_int_equal(ray.constraint_count, 2);
	assert_true(ray.constraints[0].requests[0].count == 2);
	assert_int_equal(ray.constraints[1].count, 0);
	assert_string_equal(ray.session_name, "session_1");
	assert_int_equal(ray.problems.count, 0);
}

/* Written and read again it is the same; written again it has the same bytes. */
static void test_round_trip(void **state)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	struct ray_state ray = decode_good(full, &arena), again;
	AUTO(buf_done) struct buf first, second;
	struct json_writer writer;

	(void)state;
	buf_init(&first, 1 << 20);
	buf_init(&second, 1 << 20);
	json_write_init(&writer, &first, JSON_STYLE_PRETTY);
	field_write_object(&writer, NULL, ray_state_fields, &ray);
	again = decode_good(buf_string(&first), &arena);
	check_node(&again.nodes[0]);
	check_request(&again.requests[0]);
	assert_true(again.version == INT64_MAX);
	assert_int_equal(again.gang_count, 2);
	assert_int_equal(again.constraint_count, 2);
	json_write_init(&writer, &second, JSON_STYLE_PRETTY);
	field_write_object(&writer, NULL, ray_state_fields, &again);
	assert_string_equal(buf_string(&first), buf_string(&second));
}

static void test_snake_case(void **state)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	struct ray_state ray = decode_good(
		"cluster_resource_state_version: 5\n"
		"node_states: [{node_id: AQ==, ray_node_type_name: g, status: 4,\n"
		"  idle_duration_ms: 7,\n"
		"  total_resources: {CPU: 1}, node_activity: [x]}]\n"
		"pending_resource_requests: [{request: {resources_bundle: {CPU: 1},\n"
		"  label_selectors:\n"
		"  [{label_constraints: [{label_key: a, operator: LABEL_OPERATOR_IN,\n"
		"  label_values: [b]}]\n"
		"  }], placement_constraints: [{anti_affinity: {label_name: n}}]}, count: 3}]\n"
		"pending_gang_resource_requests:\n"
		"- bundle_selectors: [{resource_requests: [{}]}]\n"
		"cluster_resource_constraints: [{resource_requests: [{count: 1}]}]\n"
		"cluster_session_name: s\n",
		&arena);

	(void)state;
	assert_true(ray.version == 5);
	assert_int_equal(ray.nodes[0].status, RAY_NODE_DRAINING);
	assert_true(ray.nodes[0].idle_duration_ms == 7);
	assert_string_equal(ray.nodes[0].activity.at[0], "x");
	assert_string_equal(ray.requests[0].request.selectors[0].constraints[0].key, "a");
	assert_true(ray.requests[0].request.placements[0].has_anti_affinity);
	assert_int_equal(ray.gangs[0].selectors[0].count, 1);
	assert_true(ray.constraints[0].requests[0].count == 1);
	assert_string_equal(ray.session_name, "s");
}

static void test_problems(void **state)
{
	static const char *const wanted[] = {
		"rayState.nodeStates[0].nodeId: is not base64",
		"rayState.nodeStates[0].totalResources.CPU: is NaN",
		"rayState.nodeStates[0].status: \"SLEEPING\" is not known",
		"rayState.pendingResourceRequests[0].request.resourcesBundle.CPU: is NaN",
		"rayState.pendingResourceRequests[0].request.resourcesBundle.GPU: is negative",
		"rayState.pendingResourceRequests[0]: count must not be negative, is -5",
		"rayState.pendingResourceRequests[1].request.resourcesBundle[\"a.b\"]: is infinite",
		"rayState.pendingResourceRequests[2].request.resourcesBundle.CPU: is too large",
		("rayState.pendingResourceRequests[2].request.labelSelectors[0].labelConstraints[0]."
		 "operator: \"NEAR\" is not known"),
	};
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	struct ray_state ray = decode_good(
		"nodeStates: [{nodeId: '?', totalResources: {CPU: .nan, GPU: 1},\n"
		"  availableResources:\n"
		"  {GPU: -0.5}, status: SLEEPING}, {status: 77}]\n"
		"pendingResourceRequests:\n"
		"- {count: -5, request: {resourcesBundle: {CPU: NaN, GPU: -1, x: 1}}}\n"
		"- {count: 1, request: {resourcesBundle: {a.b: Infinity}}}\n"
		"- {count: 1, request: {resourcesBundle: {CPU: 1e300}, labelSelectors:\n"
		"    [{labelConstraints: [{operator: NEAR}]}]}}\n",
		&arena);

	(void)state;
	assert_int_equal(ray.problems.count, SUPPORT_COUNT(wanted));
	for (size_t i = 0; i < SUPPORT_COUNT(wanted); i++)
		assert_string_equal(ray.problems.at[i], wanted[i]);
	assert_non_null(ray.nodes[0].problem);
	assert_int_equal(ray.nodes[0].status, RAY_NODE_UNSPECIFIED);
	/* Ray allocates more than it has: that is not a problem, nothing is left. */
	assert_true(resources_amount(&ray.nodes[0].available, "GPU", -1) == 0);
	assert_int_equal(ray.nodes[1].status, RAY_NODE_UNSPECIFIED);
	assert_string_equal(ray.requests[0].request.problem, "CPU is NaN");
	assert_true(ray.requests[0].count == 0);
	assert_true(ray.requests[0].request.bundle[2].amount == 0);
	assert_string_equal(ray.requests[1].request.problem, "a.b is infinite");
	assert_int_equal(ray.requests[2].request.selectors[0].constraints[0].operation, -1);
}

static int decode(const char *text, struct arena *arena, struct err *err)
{
	AUTO(json_done) struct cJSON *tree = codec_tree(text);
	struct ray_state ray;

	return ray_state_decode(tree, "rayState", arena, &ray, err);
}

#define NODE(member) "nodeStates: [{" member "}]"
#define REQUEST(member) "pendingResourceRequests: [{request: {" member "}}]"
#define PN "rayState.nodeStates[0]."
#define PR "rayState.pendingResourceRequests[0].request."

static const struct codec_bad wrong_types[] = {
	{ "[]", "rayState: must be an object" },
	{ "clusterResourceStateVersion: x",
	  "rayState.clusterResourceStateVersion: must be an integer, is \"x\"" },
	{ "clusterResourceStateVersion: '9223372036854775808'",
	  "rayState.clusterResourceStateVersion: must be an integer" },
	{ "clusterResourceStateVersion: 1.5",
	  "rayState.clusterResourceStateVersion: must be an integer, is 1.5" },
	{ "clusterResourceStateVersion: 9007199254740994",
	  "rayState.clusterResourceStateVersion: must be an integer of at most 2^53" },
	{ "last_seen_autoscaler_state_version: []",
	  "rayState.last_seen_autoscaler_state_version: must be an integer" },
	{ "{nodeStates: [], node_states: []}",
	  "rayState.nodeStates: is given twice, also as node_states" },
	{ "nodeStates: {}", "rayState.nodeStates: must be an array" },
	{ "nodeStates: [1]", "rayState.nodeStates[0]: must be an object" },
	{ "node_states: [1]", "rayState.node_states[0]: must be an object" },
	{ NODE("nodeId: 1"), PN "nodeId: must be a string" },
	{ NODE("instanceId: 1"), PN "instanceId: must be a string" },
	{ NODE("rayNodeTypeName: 1"), PN "rayNodeTypeName: must be a string" },
	{ NODE("totalResources: []"), PN "totalResources: must be an object" },
	{ NODE("totalResources: {CPU: x}"), PN "totalResources.CPU: must be a number, is \"x\"" },
	{ NODE("totalResources: {CPU: true}"), PN "totalResources.CPU: must be a number, is a" },
	{ NODE("availableResources: {CPU: {}}"), PN "availableResources.CPU: must be a number" },
	{ NODE("labels: {a: 1}"), PN "labels.a: must be a string" },
	{ NODE("dynamicLabels: []"), PN "dynamicLabels: must be an object" },
	{ NODE("status: true"), PN "status: must be an integer" },
	{ NODE("status: 5000000000"), PN "status: must be a number of an enum" },
	{ NODE("idleDurationMs: soon"), PN "idleDurationMs: must be an integer" },
	{ NODE("nodeIpAddress: 1"), PN "nodeIpAddress: must be a string" },
	{ NODE("nodeActivity: [1]"), PN "nodeActivity[0]: must be a string" },
	{ "pendingResourceRequests: {}", "rayState.pendingResourceRequests: must be an array" },
	{ "pendingResourceRequests: [1]", "rayState.pendingResourceRequests[0]: must be" },
	{ "pendingResourceRequests: [{request: 1}]",
	  "rayState.pendingResourceRequests[0].request: must be an object" },
	{ "pendingResourceRequests: [{count: many}]",
	  "rayState.pendingResourceRequests[0].count: must be an integer, is \"many\"" },
	{ REQUEST("resourcesBundle: []"), PR "resourcesBundle: must be an object" },
	{ REQUEST("resourcesBundle: {CPU: one}"), PR "resourcesBundle.CPU: must be a number" },
	{ REQUEST("resourcesBundle: {CPU: null}"), PR "resourcesBundle.CPU: must be a number" },
	{ REQUEST("placementConstraints: {}"), PR "placementConstraints: must be an array" },
	{ REQUEST("placementConstraints: [{affinity: 1}]"),
	  PR "placementConstraints[0].affinity: must be an object" },
	{ REQUEST("placementConstraints: [{antiAffinity: {labelName: 1}}]"),
	  PR "placementConstraints[0].antiAffinity.labelName: must be a string" },
	{ REQUEST("labelSelectors: {}"), PR "labelSelectors: must be an array" },
	{ REQUEST("labelSelectors: [1]"), PR "labelSelectors[0]: must be an object" },
	{ REQUEST("labelSelectors: [{labelConstraints: {}}]"),
	  PR "labelSelectors[0].labelConstraints: must be an array" },
	{ REQUEST("labelSelectors: [{labelConstraints: [{labelKey: 1}]}]"),
	  PR "labelSelectors[0].labelConstraints[0].labelKey: must be a string" },
	{ REQUEST("labelSelectors: [{labelConstraints: [{labelValues: a}]}]"),
	  PR "labelSelectors[0].labelConstraints[0].labelValues: must be an array" },
	{ "pendingGangResourceRequests: 1", "rayState.pendingGangResourceRequests: must be" },
	{ "pendingGangResourceRequests: [1]", "rayState.pendingGangResourceRequests[0]: must" },
	{ "pendingGangResourceRequests: [{requests: {}}]",
	  "rayState.pendingGangResourceRequests[0].requests: must be an array" },
	{ "pendingGangResourceRequests: [{details: 1}]",
	  "rayState.pendingGangResourceRequests[0].details: must be a string" },
	{ "pendingGangResourceRequests: [{bundleSelectors: [{resourceRequests: [1]}]}]",
	  "rayState.pendingGangResourceRequests[0].bundleSelectors[0].resourceRequests[0]: "
	  "must be an object" },
	{ "clusterResourceConstraints: {}", "rayState.clusterResourceConstraints: must be" },
	{ "clusterResourceConstraints: [{resourceRequests: [{count: []}]}]",
	  "rayState.clusterResourceConstraints[0].resourceRequests[0].count: must be" },
	{ "clusterSessionName: 1", "rayState.clusterSessionName: must be a string" },
};

static void test_wrong_types(void **state)
{
	(void)state;
	codec_check_bad(wrong_types, SUPPORT_COUNT(wrong_types), decode);
}

static void test_set_bundle(void **state)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	struct bundle_entry entries[] = { { .name = "b", .received = 1 },
					  { .name = "a", .received = 2 },
					  { .name = "b", .received = 3 } };
	struct ray_request request = { .bundle = NULL };

	(void)state;
	ray_request_set_bundle(&request, entries, 3, &arena);
	assert_int_equal(request.bundle_count, 2);
	assert_true(request.bundle[0].amount == 20000 && request.bundle[1].received == 3);
	ray_request_set_bundle(&request, NULL, 0, &arena);
	assert_int_equal(request.bundle_count, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_full),        cmocka_unit_test(test_round_trip),
		cmocka_unit_test(test_snake_case),  cmocka_unit_test(test_problems),
		cmocka_unit_test(test_wrong_types), cmocka_unit_test(test_set_bundle),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
