/* The requests and replies of each method of the client, against a scripted GCS. */
#include "test/support/gcs_bench.h"

static void test_drain(void **state)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	Ray__DrainNodeReply reply = RAY__DRAIN_NODE_REPLY__INIT;
	const Ray__DrainNodeRequest *request;

	(void)state;
	gcs_bench_open();
	gcs_bench.gcs.reply = &reply.base;
	reply.rejection_reason_message =
		(char *)"The node to be idle terminated is no longer idle.";
	gcs_client_drain_node(gcs_bench.client, 1000, "00ff10", "idle for 61 s", TIME_NONE,
			      gcs_bench_on_done, NULL);
	gcs_bench_run_good();
	assert_false(gcs_bench.flag);
	assert_string_equal(gcs_bench.text, "The node to be idle terminated is no longer idle.");
	assert_string_equal(gcs_bench.gcs.path,
			    "/ray.rpc.autoscaler.AutoscalerStateService/DrainNode");
	request = gcs_message_unpack(&ray__drain_node_request__descriptor, gcs_bench.gcs.body.data,
				     gcs_bench.gcs.body.size, &arena, NULL);
	assert_int_equal(request->node_id.len, 3);
	assert_memory_equal(request->node_id.data, "\x00\xff\x10", 3);
	assert_int_equal(request->reason, 1);
	assert_string_equal(request->reason_message, "idle for 61 s");
	assert_int_equal(request->deadline_timestamp_ms, 0);
	reply.is_accepted = true;
	gcs_client_drain_node(gcs_bench.client, 1000, "00ff10", "", TIME_NONE, gcs_bench_on_done,
			      NULL);
	gcs_bench_run_good();
	assert_true(gcs_bench.flag);
	assert_string_equal(gcs_bench.text, "");
	gcs_client_drain_node(gcs_bench.client, 1000, "00ff10", "released", 1795000000123,
			      gcs_bench_on_done, NULL);
	gcs_bench_run_good();
	request = gcs_message_unpack(&ray__drain_node_request__descriptor, gcs_bench.gcs.body.data,
				     gcs_bench.gcs.body.size, &arena, NULL);
	assert_int_equal(request->reason, RAY__DRAIN_NODE_REASON__DRAIN_NODE_REASON_PREEMPTION);
	assert_int_equal(request->deadline_timestamp_ms, 1795000000123);
	gcs_bench_close();
}

static void on_drains(void *context, const struct gcs_reply *reply, const struct err *err)
{
	assert_int_equal(reply->drain_count, 1);
	assert_string_equal(reply->drains[0].node_id, "00ff10");
	assert_int_equal(reply->drains[0].deadline_ms, 1795000000123);
	gcs_bench_on_done(context, reply, err);
}

static void test_drains(void **state)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	Ray__DrainingNode node = RAY__DRAINING_NODE__INIT, *nodes[2000] = { &node };
	Ray__GetDrainingNodesReply reply = RAY__GET_DRAINING_NODES_REPLY__INIT;

	(void)state;
	gcs_bench_open();
	gcs_bench.gcs.reply = &reply.base;
	node.node_id = (ProtobufCBinaryData){ 3, (uint8_t *)"\x00\xff\x10" };
	node.draining_deadline_timestamp_ms = 1795000000123;
	reply.draining_nodes = nodes;
	reply.n_draining_nodes = 1;
	gcs_client_get_drains(gcs_bench.client, 1000, &arena, on_drains, NULL);
	gcs_bench_run_good();
	assert_string_equal(gcs_bench.gcs.path,
			    "/ray.rpc.NodeResourceInfoGcsService/GetDrainingNodes");
	node.node_id.data = (uint8_t *)"01234567890123456789012345678901";
	node.node_id.len = 32;
	for (size_t i = 0; i < 2000; i++)
		nodes[i] = &node;
	reply.n_draining_nodes = 2000;
	gcs_client_get_drains(gcs_bench.client, 1000, &arena, gcs_bench_on_done, NULL);
	gcs_bench_run_error(ERR_LIMIT, "65536");
	gcs_bench_close();
}

static struct plan_size resized_to;

static void on_resized(void *context, const struct gcs_reply *reply, const struct err *err)
{
	resized_to = reply->size;
	gcs_bench_on_done(context, reply, err);
}

static void test_resize(void **state)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	typedef Ray__ResizeRayletResourceInstancesReply__TotalResourcesEntry entry;
	Ray__ResizeRayletResourceInstancesReply reply =
		RAY__RESIZE_RAYLET_RESOURCE_INSTANCES_REPLY__INIT;
	entry cpu = RAY__RESIZE_RAYLET_RESOURCE_INSTANCES_REPLY__TOTAL_RESOURCES_ENTRY__INIT;
	entry memory = cpu, *entries[] = { &memory, &cpu };
	const Ray__ResizeRayletResourceInstancesRequest *request;
	const struct plan_size size = { 25000, INT64_C(4294967296) * RESOURCE_UNIT };

	(void)state;
	gcs_bench_open();
	gcs_bench.gcs.reply = &reply.base;
	cpu.key = (char *)"CPU";
	cpu.value = 3.5;
	memory.key = (char *)"memory";
	memory.value = 8589934592.0;
	reply.total_resources = entries;
	reply.n_total_resources = 2;
	gcs_client_resize_node(gcs_bench.client, 1000, "00ff10", &size, on_resized, NULL);
	gcs_bench_run_good();
	assert_int_equal(resized_to.cpu, 35000);
	assert_int_equal(resized_to.memory, INT64_C(8589934592) * RESOURCE_UNIT);
	assert_string_equal(
		gcs_bench.gcs.path,
		"/ray.rpc.autoscaler.AutoscalerStateService/ResizeRayletResourceInstances");
	request = gcs_message_unpack(&ray__resize_raylet_resource_instances_request__descriptor,
				     gcs_bench.gcs.body.data, gcs_bench.gcs.body.size, &arena,
				     NULL);
	assert_memory_equal(request->node_id.data, "\x00\xff\x10", 3);
	assert_int_equal(request->n_resources, 2);
	assert_string_equal(request->resources[0]->key, "CPU");
	assert_true(request->resources[0]->value == 2.5);
	assert_string_equal(request->resources[1]->key, "memory");
	assert_true(request->resources[1]->value == 4294967296.0);
	memory.value = -1;
	gcs_client_resize_node(gcs_bench.client, 1000, "00ff10", &size, on_resized, NULL);
	gcs_bench_run_error(ERR_INPUT, "no valid CPU and memory");
	gcs_client_resize_node(gcs_bench.client, 1000, "0g", &size, on_resized, NULL);
	gcs_bench_run_error(ERR_INPUT, "not a Ray node id");
	gcs_bench_close();
}

static void test_drain_of_a_bad_id(void **state)
{
	static const char *const bad[] = { "", "0", "0g", "00FF", "xx" };
	char longest[131];

	(void)state;
	gcs_bench_open();
	for (size_t i = 0; i < SUPPORT_COUNT(bad); i++) {
		gcs_client_drain_node(gcs_bench.client, 1000, bad[i], "", TIME_NONE,
				      gcs_bench_on_done, NULL);
		assert_int_equal(gcs_bench.ended, i > 0); /* not in the call */
		gcs_bench_run_error(ERR_INPUT, "not a Ray node id");
	}
	memset(longest, 'a', sizeof(longest) - 1);
	longest[sizeof(longest) - 1] = '\0';
	gcs_client_drain_node(gcs_bench.client, 1000, longest, "", TIME_NONE, gcs_bench_on_done,
			      NULL);
	gcs_bench_run_error(ERR_INPUT, "not a Ray node id");
	assert_int_equal(gcs_bench.gcs.server.requests, 0);
	gcs_bench_close();
}

static void test_report(void **state)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	struct ray_state seen = { .version = 9, .last_seen_autoscaler_state_version = 5000 };
	struct plan plan = { .cluster_name = "" };
	static const time_ms times[] = { 4000, 4000, 9000, 100 };
	static const int64_t versions[] = { 5001, 5002, 9000, 9001 };

	(void)state;
	gcs_bench_open();
	for (size_t i = 0; i < SUPPORT_COUNT(times); i++) {
		const Ray__ReportAutoscalingStateRequest *request;

		gcs_client_report_state(gcs_bench.client, 1000, times[i], &seen, &plan,
					gcs_bench_on_done, NULL);
		gcs_bench_run_good();
		request = gcs_message_unpack(&ray__report_autoscaling_state_request__descriptor,
					     gcs_bench.gcs.body.data, gcs_bench.gcs.body.size,
					     &arena, NULL);
		assert_int_equal(request->autoscaling_state->autoscaler_state_version, versions[i]);
		assert_int_equal(
			request->autoscaling_state->last_seen_cluster_resource_state_version, 9);
	}
	assert_string_equal(gcs_bench.gcs.path,
			    "/ray.rpc.autoscaler.AutoscalerStateService/ReportAutoscalingState");
	gcs_bench_close();
}

static void test_put_refused(void **state)
{
	Ray__GcsStatus status = RAY__GCS_STATUS__INIT;
	Ray__InternalKVPutReply reply = RAY__INTERNAL_KVPUT_REPLY__INIT;

	(void)state;
	gcs_bench_open();
	reply.status = &status;
	gcs_bench.gcs.reply = &reply.base;
	gcs_client_kv_put(gcs_bench.client, 1000, "", "key", "a", 1, gcs_bench_on_done, NULL);
	gcs_bench_run_good();
	status.code = 5;
	status.message = (char *)"not the leader";
	gcs_client_kv_put(gcs_bench.client, 1000, "", "key", "a", 1, gcs_bench_on_done, NULL);
	gcs_bench_run_error(ERR_RETRY, "the GCS answered: not the leader (5)");
	gcs_bench_close();
}

static void test_put(void **state)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	Ray__InternalKVPutReply put = RAY__INTERNAL_KVPUT_REPLY__INIT;
	const Ray__InternalKVPutRequest *request;

	(void)state;
	gcs_bench_open();
	gcs_bench.gcs.reply = &put.base;
	gcs_client_kv_put(gcs_bench.client, 1000, "space", "key", "a\0b", 3, gcs_bench_on_done,
			  NULL);
	gcs_bench_run_good();
	request = gcs_message_unpack(&ray__internal_kvput_request__descriptor,
				     gcs_bench.gcs.body.data, gcs_bench.gcs.body.size, &arena,
				     NULL);
	assert_memory_equal(request->value.data, "a\0b", 3);
	assert_memory_equal(request->namespace_.data, "space", 5);
	assert_true(request->overwrite);
	gcs_bench_close();
}

static bool leads;

static const char *may_write(void *context)
{
	return *(const bool *)context ? NULL : "this replica does not lead";
}

static void stop_leading_and_handle(struct h2_server *server, struct h2_stream *stream)
{
	leads = leads && !strstr(stream->path, "DrainNode");
	fake_gcs_handle(server, stream);
}

/* The lead is lost while there is no connection yet, or while another id is asked for. */
static void test_writes_are_asked_again_when_they_would_leave(void **state)
{
	struct ray_state seen = { .version = 9 };
	struct plan plan = { .cluster_name = "" };
	struct gcs_config first;

	(void)state;
	gcs_bench_open();
	first = gcs_bench_config();
	first.may_write = may_write;
	first.may_write_context = &leads;
	gcs_client_free(gcs_bench.client);
	gcs_bench.client = gcs_client_new(gcs_bench.loop, &first);
	gcs_bench.gcs.server.handler = stop_leading_and_handle;
	gcs_bench.gcs.reply = fake_gcs_small_state();
	leads = true;
	gcs_client_drain_node(gcs_bench.client, 1000, "00ff10", "", TIME_NONE, gcs_bench_on_done,
			      NULL);
	leads = false;
	gcs_bench_run_error(ERR_RETRY, "not sent, this replica does not lead");
	assert_int_equal(gcs_bench.gcs.server.requests, 0);
	gcs_bench_get_state();
	gcs_bench_run_good();

	memset(gcs_bench.gcs.cluster_id, 0xb8, sizeof(gcs_bench.gcs.cluster_id));
	leads = true;
	gcs_client_drain_node(gcs_bench.client, 1000, "00ff10", "", TIME_NONE, gcs_bench_on_done,
			      NULL);
	gcs_bench_run_error(ERR_RETRY, "not sent, this replica does not lead");
	assert_int_equal(gcs_bench.gcs.refused, 1);
	gcs_client_kv_put(gcs_bench.client, 1000, "space", "key", "a", 1, gcs_bench_on_done, NULL);
	gcs_bench_run_error(ERR_RETRY, "not sent, this replica does not lead");
	gcs_client_report_state(gcs_bench.client, 1000, 1, &seen, &plan, gcs_bench_on_done, NULL);
	gcs_bench_run_error(ERR_RETRY, "not sent, this replica does not lead");
	assert_string_equal(gcs_bench.gcs.path, "/ray.rpc.autoscaler.AutoscalerStateService/"
						"GetClusterResourceState");
	gcs_bench_close();
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
		fake_gcs_handle(server, stream);
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
	fake_gcs_answer(stream, &reply.base);
}

static void get_requests(void)
{
	gcs_bench.constraint = NULL;
	gcs_client_get_kv_requests(gcs_bench.client, 1000, &gcs_bench.arena, gcs_bench_on_done,
				   NULL);
}

static void test_kv_requests(void **state)
{
	static char large[20000] = "[{\"GPU\": 1}";

	(void)state;
	memset(large + strlen(large), ' ', sizeof(large) - strlen(large) - 2);
	large[sizeof(large) - 2] = ']';
	gcs_bench_open();
	gcs_bench.gcs.server.handler = handle_store;
	store.mark = "1";
	store.requests = "[{\"GPU\": 1}]";
	get_requests();
	gcs_bench_run_good();
	assert_null(gcs_bench.constraint);
	store.mark = NULL;
	get_requests();
	gcs_bench_run_good();
	assert_int_equal(gcs_bench.constraint->count, 1);
	assert_string_equal(gcs_bench.constraint->requests[0].request.bundle[0].name, "GPU");
	store.mark = "0";
	store.requests = "[{\"GPU\": 1}, {\"CPU\": 2}, {\"GPU\": 1.0}]";
	get_requests();
	gcs_bench_run_good();
	assert_int_equal(gcs_bench.constraint->count, 2);
	assert_int_equal(gcs_bench.constraint->requests[0].count, 2);
	store.requests = "[]";
	get_requests();
	gcs_bench_run_good();
	assert_int_equal(gcs_bench.constraint->count, 0);
	store.requests = NULL;
	get_requests();
	gcs_bench_run_good();
	assert_null(gcs_bench.constraint);
	assert_null(loop_work(gcs_bench.loop)->queue);
	store.requests = large;
	get_requests();
	gcs_bench_run_good();
	assert_int_equal(gcs_bench.constraint->count, 1);
	assert_non_null(loop_work(gcs_bench.loop)->queue); /* decoded by a job */
	store.requests = "{\"GPU\"";
	get_requests();
	gcs_bench_run_error(ERR_INPUT, "autoscaler_resource_request");
	gcs_bench_close();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_drain),
		cmocka_unit_test(test_drains),
		cmocka_unit_test(test_resize),
		cmocka_unit_test(test_drain_of_a_bad_id),
		cmocka_unit_test(test_report),
		cmocka_unit_test(test_put_refused),
		cmocka_unit_test(test_put),
		cmocka_unit_test(test_kv_requests),
		cmocka_unit_test(test_writes_are_asked_again_when_they_would_leave),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
