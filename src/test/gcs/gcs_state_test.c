/* Replies of a real GCS (e2e/record_gcs_replies.py) and broken ones. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/memory.h"
#include "codec/objects/ray_state_json.h"
#include "codec/text/json.h"
#include "gcs/gcs_message.h"
#include "gcs/gcs_state.h"
#include "ray.pb-c.h"
#include "test/support/ray_state_text.h"
#include "test/support/support.h"

#define DATA "src/test/data/gcs/"

static const char *const scenes[] = { "head", "demand", "workers", "dead" };

static void read_file(const char *scene, const char *ending, struct buf *ret_bytes)
{
	char path[200], piece[4096];
	size_t size;
	FILE *file;

	(void)snprintf(path, sizeof(path), DATA "%s.%s", scene, ending);
	file = fopen(path, "rb");
	if (!file)
		fail_msg("cannot open %s; run the tests at the top of the repository", path);
	buf_init(ret_bytes, (size_t)16 << 20);
	while ((size = fread(piece, 1, sizeof(piece), file)) > 0)
		assert_int_equal(buf_add(ret_bytes, piece, size), 0);
	fclose(file);
}

static void print_state(const struct ray_state *state, struct buf *ret_text)
{
	struct json_writer writer;

	buf_init(ret_text, (size_t)16 << 20);
	json_write_init(&writer, ret_text, JSON_STYLE_PRETTY);
	field_write_object(&writer, NULL, ray_state_fields, state);
}

static void decode_scene(const char *scene, struct arena *arena, struct ray_state *ret_state)
{
	AUTO(buf_done) struct buf bytes;
	struct err err;

	read_file(scene, "bin", &bytes);
	if (gcs_state_decode(bytes.data, bytes.size, NULL, arena, ret_state, &err) < 0)
		fail_msg("%s: %s", scene, err.text);
}

/* The bytes and the JSON of the wheel's own protobuf give the same state. */
static void test_same_state_from_bytes_and_json(void **state)
{
	static const struct json_limits limits = { .bytes = 1 << 24,
						   .depth = 50,
						   .elements = 100000 };

	(void)state;
	for (size_t i = 0; i < SUPPORT_COUNT(scenes); i++) {
		AUTO(arena_done) struct arena arena = ARENA_INIT;
		AUTO(buf_done) struct buf json, from_bytes, from_json;
		struct ray_state one, other;
		struct cJSON *tree;
		struct err err;

		decode_scene(scenes[i], &arena, &one);
		read_file(scenes[i], "json", &json);
		assert_int_equal(json_parse(json.data, json.size, &limits, &tree, &err), 0);
		assert_int_equal(ray_state_decode(tree, "", &arena, &other, &err), 0);
		json_free(tree);
		print_state(&one, &from_bytes);
		print_state(&other, &from_json);
		assert_string_equal(buf_string(&from_bytes), buf_string(&from_json));
		assert_true(from_bytes.size > 300);
		assert_int_equal(one.problems.count, 0);
	}
}

static const struct ray_node *find_node(const struct ray_state *state, const char *instance_id)
{
	for (size_t i = 0; i < state->node_count; i++)
		if (strcmp(state->nodes[i].instance_id, instance_id) == 0)
			return &state->nodes[i];
	fail_msg("no node %s", instance_id);
	return NULL;
}

/* The amounts by hand, so that one decoder is not only compared with the other. */
static void test_figures_of_a_real_reply(void **state)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	struct ray_state read;
	const struct ray_node *node;

	(void)state;
	decode_scene("workers", &arena, &read);
	assert_int_equal(read.node_count, 3);
	assert_int_equal(strncmp(read.session_name, "session_", 8), 0);
	node = find_node(&read, "head-pod");
	assert_true(ray_node_is_head(node));
	assert_string_equal(node->type_name, "headgroup");
	assert_int_equal(strlen(node->id), 56);
	assert_string_equal(node->id, labels_value(&node->labels, "ray.io/node-id"));
	assert_int_equal(resources_amount(&node->total, RAY_HEAD_RESOURCE, -1), RESOURCE_UNIT);
	node = find_node(&read, "pod-busy");
	assert_string_equal(node->type_name, "gpu-group");
	assert_int_equal(resources_amount(&node->total, "CPU", -1), RESOURCE_UNIT);
	assert_int_equal(resources_amount(&node->total, "GPU", -1), 2 * RESOURCE_UNIT);
	assert_string_equal(labels_value(&node->labels, "region"), "eu");
	decode_scene("dead", &arena, &read);
	node = find_node(&read, "pod-dead");
	if (node->status != RAY_NODE_DEAD)
		node = find_node(&read, "pod-busy");
	assert_int_equal(node->status, RAY_NODE_DEAD);
	assert_int_equal(node->total.count, 0);
}

/* T8: a resource that is used up has no key at all. */
static void test_used_up_resource_is_absent(void **state)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	struct ray_state read;
	unsigned busy = 0;

	(void)state;
	decode_scene("workers", &arena, &read);
	for (size_t i = 0; i < read.node_count; i++) {
		const struct ray_node *node = &read.nodes[i];

		if (!resources_find(&node->total, "CPU") || resources_find(&node->available, "CPU"))
			continue;
		busy++;
		assert_int_equal(node->status, RAY_NODE_RUNNING);
		assert_true(node->activity.count > 0);
		assert_false(ray_node_is_unused(node));
	}
	assert_int_equal(busy, 1);
}

static void test_demand_of_a_real_reply(void **state)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	struct ray_state read;
	size_t gangs = 0, empty = 0;

	(void)state;
	decode_scene("demand", &arena, &read);
	assert_int_equal(read.request_count, 2);
	for (size_t i = 0; i < 2; i++) {
		const struct ray_request_count *counted = &read.requests[i];

		if (counted->count == 3) {
			assert_int_equal(counted->request.bundle_count, 2);
			assert_string_equal(counted->request.bundle[1].name, "GPU");
			assert_int_equal(counted->request.bundle[1].amount, RESOURCE_UNIT / 2);
			/* Ray sends an empty selector for a task without one: it matches all. */
			assert_int_equal(counted->request.selector_count, 1);
			assert_int_equal(counted->request.selectors[0].count, 0);
			continue;
		}
		assert_int_equal(counted->count, 1);
		assert_int_equal(counted->request.bundle_count, 3);
		assert_string_equal(counted->request.bundle[2].name, "special");
		assert_int_equal(counted->request.bundle[2].amount, 1);
		assert_int_equal(counted->request.selector_count, 2);
		assert_int_equal(counted->request.selectors[0].count, 2);
		assert_int_equal(counted->request.selectors[1].count, 1);
		assert_string_equal(counted->request.selectors[1].constraints[0].key, "region");
	}
	for (size_t i = 0; i < read.gang_count; i++) {
		gangs += read.gangs[i].selector_count == 1;
		empty += read.gangs[i].selector_count == 0;
	}
	assert_int_equal(gangs, 4);
	assert_int_equal(gangs + empty, read.gang_count);
	assert_int_equal(read.constraint_count, 1);
	assert_int_equal(read.constraints[0].count, 2);
}

/* Every part of a good reply is an error, or another good message: never a crash. */
static void test_cut_replies(void **state)
{
	(void)state;
	for (size_t i = 0; i < SUPPORT_COUNT(scenes); i++) {
		AUTO(buf_done) struct buf bytes;

		read_file(scenes[i], "bin", &bytes);
		for (size_t size = 0; size < bytes.size; size++) {
			AUTO(arena_done) struct arena arena = ARENA_INIT;
			struct ray_state read;
			struct err err;

			/* The whole is one member of the reply: no part of it is a reply. */
			assert_int_equal(
				gcs_state_decode(bytes.data, size, NULL, &arena, &read, &err), -1);
			assert_int_equal(err.kind, ERR_INPUT);
		}
	}
}

static void test_changed_bytes(void **state)
{
	uint64_t seed = 7;

	(void)state;
	for (size_t round = 0; round < 4000; round++) {
		AUTO(buf_done) struct buf bytes;
		AUTO(arena_done) struct arena arena = ARENA_INIT;
		struct ray_state read;
		struct err err;

		read_file(scenes[round % SUPPORT_COUNT(scenes)], "bin", &bytes);
		for (int i = 0; i < 3; i++)
			bytes.data[support_random_below(&seed, bytes.size)] =
				(char)support_random(&seed);
		(void)gcs_state_decode(bytes.data, bytes.size, NULL, &arena, &read, &err);
	}
}

/* ---- messages of our own making ---- */

static int decode_message(Ray__ClusterResourceState *message, struct arena *arena,
			  struct ray_state *ret_state, struct err *err)
{
	Ray__GetClusterResourceStateReply reply = RAY__GET_CLUSTER_RESOURCE_STATE_REPLY__INIT;
	AUTO(buf_done) struct buf bytes;

	buf_init(&bytes, (size_t)64 << 20);
	reply.cluster_resource_state = message;
	assert_int_equal(gcs_message_pack(&reply.base, &bytes), 0);
	return gcs_state_decode(buf_string(&bytes), bytes.size, NULL, arena, ret_state, err);
}

static void expect_problem(double value, const char *problem)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	Ray__ResourceRequest__ResourcesBundleEntry entry =
		RAY__RESOURCE_REQUEST__RESOURCES_BUNDLE_ENTRY__INIT;
	Ray__ResourceRequest__ResourcesBundleEntry *entries[] = { &entry };
	Ray__ResourceRequest request = RAY__RESOURCE_REQUEST__INIT;
	Ray__ResourceRequestByCount counted = RAY__RESOURCE_REQUEST_BY_COUNT__INIT;
	Ray__ResourceRequestByCount *list[] = { &counted };
	Ray__ClusterResourceState message = RAY__CLUSTER_RESOURCE_STATE__INIT;
	struct ray_state read;
	struct err err;

	entry.key = (char *)"CPU";
	entry.value = value;
	request.resources_bundle = entries;
	request.n_resources_bundle = 1;
	counted.request = &request;
	counted.count = 5;
	message.pending_resource_requests = list;
	message.n_pending_resource_requests = 1;
	assert_int_equal(decode_message(&message, &arena, &read, &err), 0);
	assert_int_equal(read.request_count, 1);
	assert_int_equal(read.requests[0].count, 5);
	assert_non_null(read.requests[0].request.problem);
	assert_int_equal(read.requests[0].request.bundle[0].amount, 0);
	assert_int_equal(read.problems.count, 1);
	assert_non_null(strstr(read.problems.at[0],
			       "pendingResourceRequests[0].request.resourcesBundle.CPU: "));
	assert_non_null(strstr(read.problems.at[0], problem));
}

static void test_amounts_that_make_no_sense(void **state)
{
	(void)state;
	expect_problem((double)NAN, "NaN");
	expect_problem((double)INFINITY, "");
	expect_problem(-1, "");
	expect_problem(1e300, "");
}

static void test_empty_replies(void **state)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	Ray__ClusterResourceState message = RAY__CLUSTER_RESOURCE_STATE__INIT;
	struct ray_state read;
	struct err err;

	(void)state;
	/* No bytes at all are a message without a state: not a cluster without nodes. */
	assert_int_equal(gcs_state_decode("", 0, NULL, &arena, &read, &err), -1);
	assert_non_null(strstr(err.text, "no cluster_resource_state"));
	assert_int_equal(decode_message(&message, &arena, &read, &err), 0);
	assert_int_equal(read.node_count + read.request_count + read.gang_count, 0);
	assert_string_equal(read.session_name, "");
}

/* A negative count, an operator and a status of the future, an absent request. */
static void test_odd_values(void **state)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	Ray__NodeState node = RAY__NODE_STATE__INIT;
	Ray__NodeState huge = RAY__NODE_STATE__INIT;
	Ray__NodeState *nodes[] = { &node, &huge };
	Ray__ResourceRequestByCount counted = RAY__RESOURCE_REQUEST_BY_COUNT__INIT;
	Ray__ResourceRequestByCount *list[] = { &counted };
	Ray__ClusterResourceState message = RAY__CLUSTER_RESOURCE_STATE__INIT;
	struct ray_state read;
	struct err err;

	(void)state;
	node.status = (Ray__NodeStatus)9;
	node.idle_duration_ms = INT64_MIN;
	huge.idle_duration_ms = INT64_MAX;
	message.node_states = nodes;
	message.n_node_states = 2;
	counted.count = -7;
	message.pending_resource_requests = list;
	message.n_pending_resource_requests = 1;
	assert_int_equal(decode_message(&message, &arena, &read, &err), 0);
	assert_int_equal(read.nodes[0].status, RAY_NODE_UNSPECIFIED);
	assert_int_equal(read.nodes[0].idle_duration_ms, 0);
	assert_int_equal(read.nodes[1].idle_duration_ms, RAY_IDLE_DURATION_MAX_MS);
	assert_string_equal(read.nodes[0].id, "");
	assert_string_equal(read.nodes[0].instance_id, "");
	assert_string_equal(read.nodes[0].ip_address, "");
	assert_int_equal(read.requests[0].count, 0);
	assert_int_equal(read.requests[0].request.bundle_count, 0);
	assert_int_equal(read.problems.count, 1);
	assert_non_null(strstr(read.problems.at[0], "pendingResourceRequests[0].count"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_same_state_from_bytes_and_json),
		cmocka_unit_test(test_figures_of_a_real_reply),
		cmocka_unit_test(test_used_up_resource_is_absent),
		cmocka_unit_test(test_demand_of_a_real_reply),
		cmocka_unit_test(test_cut_replies),
		cmocka_unit_test(test_changed_bytes),
		cmocka_unit_test(test_amounts_that_make_no_sense),
		cmocka_unit_test(test_empty_replies),
		cmocka_unit_test(test_odd_values),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
