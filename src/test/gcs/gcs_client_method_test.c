/* The requests and replies of each method of the client, against a scripted GCS. */
#include "test/support/gcs_bench.h"

static void test_drain(void **state)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	Ray__DrainNodeReply reply = RAY__DRAIN_NODE_REPLY__INIT;
	const Ray__DrainNodeRequest *request;

	(void)state;
	open_bench();
	bench.gcs.reply = &reply.base;
	reply.rejection_reason_message =
		(char *)"The node to be idle terminated is no longer idle.";
	gcs_client_drain_node(bench.client, 1000, "00ff10", "idle for 61 s", on_drain, NULL);
	run_good();
	assert_false(bench.flag);
	assert_string_equal(bench.text, "The node to be idle terminated is no longer idle.");
	assert_string_equal(bench.gcs.path, "/ray.rpc.autoscaler.AutoscalerStateService/DrainNode");
	request = gcs_message_unpack(&ray__drain_node_request__descriptor, bench.gcs.body.data,
				     bench.gcs.body.size, &arena, NULL);
	assert_int_equal(request->node_id.len, 3);
	assert_memory_equal(request->node_id.data, "\x00\xff\x10", 3);
	assert_int_equal(request->reason, 1);
	assert_string_equal(request->reason_message, "idle for 61 s");
	assert_int_equal(request->deadline_timestamp_ms, 0);
	reply.is_accepted = true;
	gcs_client_drain_node(bench.client, 1000, "00ff10", "", on_drain, NULL);
	run_good();
	assert_true(bench.flag);
	assert_string_equal(bench.text, "");
	close_bench();
}

static void test_drain_of_a_bad_id(void **state)
{
	static const char *const bad[] = { "", "0", "0g", "00FF", "xx" };
	char longest[131];

	(void)state;
	open_bench();
	for (size_t i = 0; i < SUPPORT_COUNT(bad); i++) {
		gcs_client_drain_node(bench.client, 1000, bad[i], "", on_drain, NULL);
		assert_int_equal(bench.ended, i > 0); /* not in the call */
		run_error(ERR_INPUT, "not a Ray node id");
	}
	memset(longest, 'a', sizeof(longest) - 1);
	longest[sizeof(longest) - 1] = '\0';
	gcs_client_drain_node(bench.client, 1000, longest, "", on_drain, NULL);
	run_error(ERR_INPUT, "not a Ray node id");
	assert_int_equal(bench.gcs.server.requests, 0);
	close_bench();
}

static void test_report(void **state)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	struct ray_state seen = { .version = 9, .last_seen_autoscaler_state_version = 5000 };
	struct plan plan = { .cluster_name = "" };
	static const time_ms times[] = { 4000, 4000, 9000, 100 };
	static const int64_t versions[] = { 5001, 5002, 9000, 9001 };

	(void)state;
	open_bench();
	for (size_t i = 0; i < SUPPORT_COUNT(times); i++) {
		const Ray__ReportAutoscalingStateRequest *request;

		gcs_client_report_state(bench.client, 1000, times[i], &seen, &plan, on_plain, NULL);
		run_good();
		request = gcs_message_unpack(&ray__report_autoscaling_state_request__descriptor,
					     bench.gcs.body.data, bench.gcs.body.size, &arena,
					     NULL);
		assert_int_equal(request->autoscaling_state->autoscaler_state_version, versions[i]);
		assert_int_equal(
			request->autoscaling_state->last_seen_cluster_resource_state_version, 9);
	}
	assert_string_equal(bench.gcs.path,
			    "/ray.rpc.autoscaler.AutoscalerStateService/ReportAutoscalingState");
	close_bench();
}

static void test_alive(void **state)
{
	Ray__GcsStatus status = RAY__GCS_STATUS__INIT;
	Ray__CheckAliveReply reply = RAY__CHECK_ALIVE_REPLY__INIT;

	(void)state;
	open_bench();
	reply.status = &status;
	reply.ray_version = (char *)"2.60.0";
	bench.gcs.reply = &reply.base;
	gcs_client_check_alive(bench.client, 1000, on_alive, NULL);
	run_good();
	assert_string_equal(bench.text, "2.60.0");
	status.code = 5;
	status.message = (char *)"not the leader";
	gcs_client_check_alive(bench.client, 1000, on_alive, NULL);
	run_error(ERR_RETRY, "the GCS answered: not the leader (5)");
	close_bench();
}

static void test_kv(void **state)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	Ray__GcsStatus status = RAY__GCS_STATUS__INIT;
	Ray__InternalKVGetReply got = RAY__INTERNAL_KVGET_REPLY__INIT;
	Ray__InternalKVPutReply put = RAY__INTERNAL_KVPUT_REPLY__INIT;
	const Ray__InternalKVPutRequest *request;

	(void)state;
	open_bench();
	got.status = &status;
	got.value = (ProtobufCBinaryData){ .data = (uint8_t *)"abc", .len = 3 };
	bench.gcs.reply = &got.base;
	gcs_client_kv_get(bench.client, 1000, "session", "session_name", on_kv_get, NULL);
	run_good();
	assert_true(bench.has_value);
	assert_string_equal(bench.text, "abc");
	status.code = 17;
	got.value.len = 0;
	gcs_client_kv_get(bench.client, 1000, "", "nothing", on_kv_get, NULL);
	run_good();
	assert_false(bench.has_value);
	put.added = true;
	bench.gcs.reply = &put.base;
	gcs_client_kv_put(bench.client, 1000, "space", "key", "a\0b", 3, on_kv_put, NULL);
	run_good();
	assert_true(bench.flag);
	request = gcs_message_unpack(&ray__internal_kvput_request__descriptor, bench.gcs.body.data,
				     bench.gcs.body.size, &arena, NULL);
	assert_memory_equal(request->value.data, "a\0b", 3);
	assert_memory_equal(request->namespace_.data, "space", 5);
	assert_true(request->overwrite);
	close_bench();
}

static bool leads;

static const char *may_write(void *context)
{
	return *(const bool *)context ? NULL : "this replica does not lead";
}

static void stop_leading_and_handle(struct h2_server *server, struct h2_stream *stream)
{
	leads = leads && !strstr(stream->path, "DrainNode");
	handle(server, stream);
}

/* The lead is lost while there is no connection yet, or while another id is asked for. */
static void test_writes_are_asked_again_when_they_would_leave(void **state)
{
	struct ray_state seen = { .version = 9 };
	struct plan plan = { .cluster_name = "" };
	struct gcs_config first;

	(void)state;
	open_bench();
	first = config();
	first.may_write = may_write;
	first.may_write_context = &leads;
	gcs_client_free(bench.client);
	bench.client = gcs_client_new(bench.loop, &first);
	bench.gcs.server.handler = stop_leading_and_handle;
	bench.gcs.reply = small_state();
	leads = true;
	gcs_client_drain_node(bench.client, 1000, "00ff10", "", on_drain, NULL);
	leads = false;
	run_error(ERR_RETRY, "not sent, this replica does not lead");
	assert_int_equal(bench.gcs.server.requests, 0);
	get_state();
	run_good();

	memset(bench.gcs.cluster_id, 0xb8, sizeof(bench.gcs.cluster_id));
	leads = true;
	gcs_client_drain_node(bench.client, 1000, "00ff10", "", on_drain, NULL);
	run_error(ERR_RETRY, "not sent, this replica does not lead");
	assert_int_equal(bench.gcs.refused, 1);
	gcs_client_kv_put(bench.client, 1000, "space", "key", "a", 1, on_kv_put, NULL);
	run_error(ERR_RETRY, "not sent, this replica does not lead");
	gcs_client_report_state(bench.client, 1000, 1, &seen, &plan, on_plain, NULL);
	run_error(ERR_RETRY, "not sent, this replica does not lead");
	assert_string_equal(bench.gcs.path, "/ray.rpc.autoscaler.AutoscalerStateService/"
					    "GetClusterResourceState");
	close_bench();
}

/* The two replies of the store: the v2 mark, then the requests. */
static struct {
	const char *mark, *requests; /* NULL: no such key */
} store;

static void handle_store(struct h2_server *server, struct h2_stream *stream)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	Ray__GcsStatus status = RAY__GCS_STATUS__INIT;
	Ray__InternalKVGetReply reply = RAY__INTERNAL_KVGET_REPLY__INIT;
	const Ray__InternalKVGetRequest *request;
	const char *value;

	if (!strstr(stream->path, "InternalKVGet")) {
		handle(server, stream);
		return;
	}
	request = gcs_message_unpack(&ray__internal_kvget_request__descriptor,
				     stream->body.data + GRPC_PREFIX_SIZE,
				     stream->body.size - GRPC_PREFIX_SIZE, &arena, NULL);
	if (request->namespace_.len) {
		assert_memory_equal(request->namespace_.data, "__autoscaler", 12);
		assert_memory_equal(request->key.data, "__autoscaler_v2_enabled", 23);
		value = store.mark;
	} else {
		assert_memory_equal(request->key.data, "autoscaler_resource_request", 27);
		value = store.requests;
	}
	reply.status = &status;
	status.code = value ? 0 : 17;
	if (value)
		reply.value =
			(ProtobufCBinaryData){ .data = (uint8_t *)value, .len = strlen(value) };
	answer_message(stream, &reply.base);
}

static void get_requests(void)
{
	bench.constraint = NULL;
	gcs_client_get_kv_requests(bench.client, 1000, &bench.arena, on_requests, NULL);
}

static void test_kv_requests(void **state)
{
	(void)state;
	open_bench();
	bench.gcs.server.handler = handle_store;
	store.mark = "1";
	store.requests = "[{\"GPU\": 1}]";
	get_requests();
	run_good();
	assert_null(bench.constraint);
	store.mark = NULL;
	get_requests();
	run_good();
	assert_int_equal(bench.constraint->count, 1);
	assert_string_equal(bench.constraint->requests[0].request.bundle[0].name, "GPU");
	store.mark = "0";
	store.requests = "[{\"GPU\": 1}, {\"CPU\": 2}, {\"GPU\": 1.0}]";
	get_requests();
	run_good();
	assert_int_equal(bench.constraint->count, 2);
	assert_int_equal(bench.constraint->requests[0].count, 2);
	store.requests = "[]";
	get_requests();
	run_good();
	assert_int_equal(bench.constraint->count, 0);
	store.requests = NULL;
	get_requests();
	run_good();
	assert_null(bench.constraint);
	store.requests = "{\"GPU\"";
	get_requests();
	run_error(ERR_INPUT, "autoscaler_resource_request");
	close_bench();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_drain),
		cmocka_unit_test(test_drain_of_a_bad_id),
		cmocka_unit_test(test_report),
		cmocka_unit_test(test_alive),
		cmocka_unit_test(test_kv),
		cmocka_unit_test(test_kv_requests),
		cmocka_unit_test(test_writes_are_asked_again_when_they_would_leave),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
