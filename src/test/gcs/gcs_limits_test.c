/* Limits of a forged reply: those of gcs_state.h, one by one, and the memory at its peak. */
#include "test/support/gcs_forged.h"

#include "core/model/ray_state.h"
#include "gcs/gcs_reader.h"
#include "gcs/gcs_state.h"
#include "test/support/support.h"

/* ---- memory ---- */

/* Of sanitizer/allocator_interface.h, which gcc does not install. */
size_t __sanitizer_get_current_allocated_bytes(void);
int __sanitizer_install_malloc_and_free_hooks(void (*allocated)(const volatile void *, size_t),
					      void (*freed)(const volatile void *));

static size_t peak_bytes;

static void note_allocation(const volatile void *memory, size_t size)
{
	size_t now = __sanitizer_get_current_allocated_bytes();

	(void)memory;
	(void)size;
	if (now > peak_bytes)
		peak_bytes = now;
}

static void note_free(const volatile void *memory)
{
	(void)memory;
}

struct outcome {
	int status;
	size_t peak_bytes; /* above the initial amount */
	struct err err;
	struct ray_state state;
};

/* Takes the bytes of the state. */
static void decode(struct buf *state, struct arena *arena, struct outcome *ret)
{
	AUTO(buf_done) struct buf reply;
	size_t before;

	forged_reply(state, &reply);
	*ret = (struct outcome){ .status = 0 };
	before = peak_bytes = __sanitizer_get_current_allocated_bytes();
	ret->status = gcs_state_decode(reply.data, reply.size, NULL, arena, &ret->state, &ret->err);
	ret->peak_bytes = peak_bytes - before;
}

static void expect_refused(struct buf *state, size_t peak_bytes_max, const char *text)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	struct outcome outcome;

	decode(state, &arena, &outcome);
	assert_int_equal(outcome.status, -1);
	assert_int_equal(outcome.err.kind, ERR_LIMIT);
	if (!strstr(outcome.err.text, text))
		fail_msg("\"%s\" is not in: %s", text, outcome.err.text);
	if (outcome.peak_bytes > peak_bytes_max)
		fail_msg("%zu bytes of memory, more than %zu, for: %s", outcome.peak_bytes,
			 peak_bytes_max, outcome.err.text);
}

/* ---- the three replies that ended in an OOM kill ---- */

#define REFUSED_PEAK_BYTES ((size_t)64 << 10)

static void test_300000_shapes(void **state)
{
	struct buf message;

	(void)state;
	buf_init(&message, FORGED_CEILING_BYTES);
	forged_shapes(&message, 300000, 1);
	expect_refused(&message, REFUSED_PEAK_BYTES,
		       "clusterResourceState.pendingResourceRequests: 100001 requests, above the "
		       "limit of 100000");
}

static void test_1000000_nodes(void **state)
{
	struct buf message;

	(void)state;
	buf_init(&message, FORGED_CEILING_BYTES);
	forged_nodes(&message, 1000000);
	expect_refused(&message, REFUSED_PEAK_BYTES,
		       "clusterResourceState.nodeStates: 20002 nodes, above the limit of 20001");
}

static void test_60_mib_of_empty_entries(void **state)
{
	static const struct {
		unsigned list;
		const char *text;
	} lists[] = {
		{ FORGED_NODE, "nodeStates: 20002 nodes" },
		{ FORGED_REQUEST, "pendingResourceRequests: 100001 requests" },
		{ FORGED_GANG, "pendingGangResourceRequests: 10001 gangs" },
		{ FORGED_CONSTRAINT, "clusterResourceConstraints: 1001 constraints" },
	};

	(void)state;
	for (size_t i = 0; i < SUPPORT_COUNT(lists); i++) {
		struct buf message;

		buf_init(&message, FORGED_CEILING_BYTES);
		forged_empty(&message, lists[i].list, (size_t)60 << 20);
		expect_refused(&message, REFUSED_PEAK_BYTES, lists[i].text);
	}
}

/* ---- valid replies ---- */

static void test_10000_workers_with_100000_tasks(void **state)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	struct outcome outcome;
	struct buf message;

	(void)state;
	buf_init(&message, FORGED_CEILING_BYTES);
	forged_workers(&message, 10000);
	forged_shapes(&message, 1000, 100);
	forged_gangs(&message, 1000, 100, 50);
	decode(&message, &arena, &outcome);
	assert_int_equal(outcome.status, 0);
	assert_int_equal(outcome.state.node_count, 10000);
	assert_int_equal(outcome.state.request_count, 1000);
	assert_int_equal(outcome.state.gang_count, 1000);
	assert_string_equal(outcome.state.nodes[9999].instance_id,
			    "raycluster-gpu-group-worker-09999");
	assert_string_equal(labels_value(&outcome.state.nodes[77].labels, "ray.io/market-type"),
			    "on-demand");
	assert_true(outcome.peak_bytes < (size_t)24 << 20);
}

static void test_100000_tasks_all_different(void **state)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	struct outcome outcome;
	struct buf message;

	(void)state;
	buf_init(&message, FORGED_CEILING_BYTES);
	forged_shapes(&message, GCS_STATE_REQUESTS_MAX, 1);
	decode(&message, &arena, &outcome);
	assert_int_equal(outcome.status, 0);
	assert_int_equal(outcome.state.request_count, GCS_STATE_REQUESTS_MAX);
	assert_true(outcome.state.requests[99999].request.bundle[0].amount == 100000);
	assert_true(outcome.peak_bytes < (size_t)40 << 20);
}

/* Equal bundles are stored once: each gang costs itself, not its bundles. The order stays. */
static void test_equal_gangs_share_their_bundles(void **state)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	struct outcome outcome;
	struct buf message;

	(void)state;
	buf_init(&message, FORGED_CEILING_BYTES);
	forged_gangs(&message, 1000, 100, 2);
	decode(&message, &arena, &outcome);
	assert_int_equal(outcome.status, 0);
	assert_int_equal(outcome.state.gang_count, 1000);
	assert_int_equal(outcome.state.gangs[999].selectors[0].count, 100);
	assert_ptr_equal(outcome.state.gangs[1].selectors[0].requests,
			 outcome.state.gangs[999].selectors[0].requests);
	assert_int_equal(outcome.state.gangs[0].selectors[0].requests[0].bundle[0].amount,
			 RESOURCE_UNIT);
	assert_int_equal(outcome.state.gangs[1].selectors[0].requests[0].bundle[0].amount,
			 2 * RESOURCE_UNIT);
	assert_true(outcome.peak_bytes < (size_t)1 << 20);
}

/* Equal requests remain separate entries, because plans name entries by their index. */
static void test_equal_requests_keep_their_places(void **state)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	struct outcome outcome;
	struct buf message;

	(void)state;
	buf_init(&message, FORGED_CEILING_BYTES);
	forged_shapes(&message, 1, 3);
	forged_shapes(&message, 2, 4);
	decode(&message, &arena, &outcome);
	assert_int_equal(outcome.status, 0);
	assert_int_equal(outcome.state.request_count, 3);
	assert_int_equal(outcome.state.requests[0].count, 3);
	assert_int_equal(outcome.state.requests[1].count, 4);
	assert_ptr_equal(outcome.state.requests[0].request.bundle,
			 outcome.state.requests[1].request.bundle);
	assert_ptr_not_equal(outcome.state.requests[0].request.bundle,
			     outcome.state.requests[2].request.bundle);
}

/* ---- the limits inside an entry ---- */

static void init_pair(struct buf *message, struct buf *entry)
{
	buf_init(message, FORGED_CEILING_BYTES);
	buf_init(entry, FORGED_CEILING_BYTES);
}

#define ENTRY_PEAK_BYTES ((size_t)24 << 20)

/* A node with `count` fields of this number, each with nothing in it. */
static void expect_node_refused(unsigned number, size_t count, const char *text)
{
	AUTO(buf_done) struct buf node;
	struct buf message;

	init_pair(&message, &node);
	for (size_t i = 0; i < count; i++)
		forged_text(&node, number, "");
	forged_nodes(&message, 3);
	forged_message(&message, FORGED_NODE, &node);
	expect_refused(&message, ENTRY_PEAK_BYTES, text);
}

static void test_limits_of_a_node(void **state)
{
	AUTO(buf_done) struct buf node, text;
	struct buf message;

	(void)state;
	expect_node_refused(4, 4097, "nodeStates[3].availableResources: 4097 resources, above");
	expect_node_refused(5, 4097, "nodeStates[3].totalResources: 4097 resources, above");
	expect_node_refused(6, 4097, "nodeStates[3].dynamicLabels: 4097 labels, above");
	expect_node_refused(12, 4097, "nodeStates[3].nodeActivity: 4097 texts, above");
	expect_node_refused(13, 4097, "nodeStates[3].labels: 4097 labels, above");
	expect_node_refused(13, 500000, "NodeState: 1000000 bytes of it need more than");
	expect_node_refused(13, 600000, "nodeStates[3]: 1200000 bytes, above the limit of 1048576");
	init_pair(&message, &node);
	buf_init(&text, FORGED_CEILING_BYTES);
	for (size_t i = 0; i < GCS_READER_TEXT_MAX + 1; i++)
		(void)buf_add_char(&text, 'x');
	forged_text(&node, 2, buf_string(&text));
	forged_message(&message, FORGED_NODE, &node);
	expect_refused(&message, ENTRY_PEAK_BYTES,
		       "nodeStates[0]: 16385 bytes in one text, above the limit of 16384");
	buf_init(&message, FORGED_CEILING_BYTES);
	forged_text(&message, 7, buf_string(&text));
	expect_refused(&message, ENTRY_PEAK_BYTES,
		       "clusterResourceState.clusterSessionName: 16385 bytes in one text");
}

/* A request with `count` fields of this number, each with nothing in it. */
static void expect_request_refused(unsigned number, size_t count, const char *text)
{
	AUTO(buf_done) struct buf request, counted;
	struct buf message;

	init_pair(&message, &request);
	buf_init(&counted, FORGED_CEILING_BYTES);
	for (size_t i = 0; i < count; i++)
		forged_text(&request, number, "");
	forged_message(&counted, 1, &request);
	forged_shapes(&message, 2, 1);
	forged_message(&message, FORGED_REQUEST, &counted);
	expect_refused(&message, ENTRY_PEAK_BYTES, text);
}

static void test_limits_of_a_request(void **state)
{
	(void)state;
	expect_request_refused(
		1, 1001, "pendingResourceRequests[2].request.resourcesBundle: 1001 resources");
	expect_request_refused(
		2, 1001, "pendingResourceRequests[2].request.placementConstraints: 1001 constr");
	expect_request_refused(3, 1001,
			       "pendingResourceRequests[2].request.labelSelectors: 1001 selectors");
	expect_request_refused(
		3, 32769, "pendingResourceRequests[2].request: 65538 bytes, above the limit of");
}

static void test_limits_of_a_selector(void **state)
{
	AUTO(buf_done) struct buf constraint, selector, request, counted;
	struct buf message;

	(void)state;
	init_pair(&message, &constraint);
	buf_init(&selector, FORGED_CEILING_BYTES);
	buf_init(&request, FORGED_CEILING_BYTES);
	buf_init(&counted, FORGED_CEILING_BYTES);
	for (size_t i = 0; i < 1001; i++)
		forged_text(&constraint, 3, "");
	forged_message(&selector, 1, &constraint);
	forged_message(&request, 3, &selector);
	forged_message(&counted, 1, &request);
	forged_message(&message, FORGED_REQUEST, &counted);
	expect_refused(&message, ENTRY_PEAK_BYTES, "labelConstraints.labelValues: 1001 values");
	buf_clear(&selector);
	buf_clear(&request);
	buf_clear(&counted);
	buf_init(&message, FORGED_CEILING_BYTES);
	for (size_t i = 0; i < 1001; i++)
		forged_text(&selector, 1, "");
	forged_message(&request, 3, &selector);
	forged_message(&counted, 1, &request);
	forged_message(&message, FORGED_REQUEST, &counted);
	expect_refused(&message, ENTRY_PEAK_BYTES, "labelConstraints: 1001 constraints");
}

static void test_limits_of_gangs(void **state)
{
	AUTO(buf_done) struct buf gang;
	struct buf message;

	(void)state;
	buf_init(&message, FORGED_CEILING_BYTES);
	forged_gangs(&message, 2, 10001, 3);
	expect_refused(&message, ENTRY_PEAK_BYTES,
		       "pendingGangResourceRequests[0]: 10001 bundles in one gang, above the limit "
		       "of 10000");
	buf_init(&message, FORGED_CEILING_BYTES);
	forged_gangs(&message, 300, 1000, 3);
	expect_refused(&message, ENTRY_PEAK_BYTES,
		       "pendingGangResourceRequests[200]: 201000 bundles of all gangs, above the "
		       "limit of 200000");
	init_pair(&message, &gang);
	forged_empty(&gang, FORGED_GANG_SELECTOR, 2002);
	forged_message(&message, FORGED_GANG, &gang);
	expect_refused(&message, ENTRY_PEAK_BYTES,
		       "pendingGangResourceRequests[0].bundleSelectors: 1001 bundle selectors");
}

static void test_limits_of_constraints(void **state)
{
	AUTO(buf_done) struct buf constraint;
	struct buf message;

	(void)state;
	init_pair(&message, &constraint);
	forged_empty(&constraint, 1, 2 * (GCS_STATE_REQUESTS_MAX + 1));
	forged_message(&message, FORGED_CONSTRAINT, &constraint);
	expect_refused(&message, REFUSED_PEAK_BYTES,
		       "clusterResourceConstraints[0].resourceRequests: 100001 requests");
}

/* Requests that differ, in a list of their own each: the limit is for all lists together. */
static void test_limit_of_distinct_requests(void **state)
{
	AUTO(buf_done) struct buf constraint, request, counted;
	struct buf message;

	(void)state;
	init_pair(&message, &constraint);
	buf_init(&request, 1000);
	buf_init(&counted, 1000);
	forged_shapes(&message, 60000, 1);
	for (size_t i = 0; i < 60000; i++) {
		buf_clear(&request);
		buf_clear(&counted);
		forged_amount(&request, 1, "other", (double)i);
		forged_message(&counted, 1, &request);
		forged_message(&constraint, 1, &counted);
	}
	forged_message(&message, FORGED_CONSTRAINT, &constraint);
	expect_refused(&message, (size_t)48 << 20,
		       "clusterResourceConstraints[0].resourceRequests[40000].request: 100001 "
		       "distinct requests, above the limit of 100000");
}

/* ---- protobuf ---- */

/* The last value of a scalar counts, lists and messages are merged. */
static void test_fields_that_occur_twice(void **state)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	AUTO(buf_done) struct buf one, other, request, counted, reply;
	struct ray_state read;
	struct err err;

	(void)state;
	buf_init(&reply, 1000);
	buf_init(&counted, 1000);
	init_pair(&one, &request);
	buf_init(&other, 1000);
	forged_number(&one, 1, 5);
	forged_number(&one, 1, 6);
	forged_text(&one, 7, "session_a");
	forged_nodes(&one, 1);
	forged_nodes(&other, 2);
	forged_number(&other, 2, 9);
	forged_text(&other, 7, "session_b");
	forged_amount(&request, 1, "GPU", 1);
	forged_message(&counted, 1, &request);
	forged_number(&counted, 2, 3);
	buf_clear(&request);
	forged_amount(&request, 1, "CPU", 2);
	forged_message(&counted, 1, &request);
	forged_number(&counted, 2, 4);
	forged_message(&other, FORGED_REQUEST, &counted);
	forged_text(&other, 99, "a field of the future");
	forged_message(&reply, 1, &one);
	forged_message(&reply, 1, &other);
	assert_int_equal(gcs_state_decode(reply.data, reply.size, NULL, &arena, &read, &err), 0);
	assert_int_equal(read.version, 6);
	assert_int_equal(read.last_seen_autoscaler_state_version, 9);
	assert_string_equal(read.session_name, "session_b");
	assert_int_equal(read.node_count, 3);
	assert_string_equal(read.nodes[2].instance_id, "forged-node-0000001");
	assert_int_equal(read.request_count, 1);
	assert_int_equal(read.requests[0].count, 4);
	assert_int_equal(read.requests[0].request.bundle_count, 2);
	assert_string_equal(read.requests[0].request.bundle[1].name, "GPU");
}

static void test_bytes_that_are_no_message(void **state)
{
	static const struct {
		const char *bytes;
		size_t size;
	} bad[] = {
		{ "\x0a\x02\x1a\x05", 4 },                 /* a node longer than the reply */
		{ "\x0a\x02\x18\x05", 4 },                 /* a node that is a number */
		{ "\x0a\x02\x0a\x00", 4 },                 /* a version that is bytes */
		{ "\x0a\x02\x1b\x1c", 4 },                 /* a group */
		{ "\x0a\x02\x02\x00", 4 },                 /* field number 0 */
		{ "\x08\x01", 2 },                         /* a state that is a number */
		{ "\x0a\x01\x1a", 3 },                     /* no length */
		{ "\x0a\x06\x1a\x80\x80\x80\x80\x80", 8 }, /* a length without an end */
		{ "\x0a\x04\x22\x02\x0a\x01", 6 },         /* a request cut short */
		{ "\x0a\x04\x2a\x02\x1a\x01", 6 },         /* a bundle selector cut short */
	};

	(void)state;
	for (size_t i = 0; i < SUPPORT_COUNT(bad); i++) {
		AUTO(arena_done) struct arena arena = ARENA_INIT;
		struct ray_state read;
		struct err err;

		assert_int_equal(
			gcs_state_decode(bad[i].bytes, bad[i].size, NULL, &arena, &read, &err), -1);
		assert_int_equal(err.kind, ERR_INPUT);
		assert_non_null(strstr(err.text, "are not this message; is this a GCS of Ray?"));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_300000_shapes),
		cmocka_unit_test(test_1000000_nodes),
		cmocka_unit_test(test_60_mib_of_empty_entries),
		cmocka_unit_test(test_10000_workers_with_100000_tasks),
		cmocka_unit_test(test_100000_tasks_all_different),
		cmocka_unit_test(test_equal_gangs_share_their_bundles),
		cmocka_unit_test(test_equal_requests_keep_their_places),
		cmocka_unit_test(test_limits_of_a_node),
		cmocka_unit_test(test_limits_of_a_request),
		cmocka_unit_test(test_limits_of_a_selector),
		cmocka_unit_test(test_limits_of_gangs),
		cmocka_unit_test(test_limits_of_constraints),
		cmocka_unit_test(test_limit_of_distinct_requests),
		cmocka_unit_test(test_fields_that_occur_twice),
		cmocka_unit_test(test_bytes_that_are_no_message),
	};

	__sanitizer_install_malloc_and_free_hooks(note_allocation, note_free);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
