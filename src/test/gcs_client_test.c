/* The client of a Ray head against a scripted GCS: what goes over the wire, and every way in which
 * a call can end. */
#include "gcs/gcs_client.h"

#include "gcs/gcs_message.h"
#include "ray.pb-c.h"
#include "test/h2_server.h"

#define TOKEN "secret-token"

struct fake_gcs {
	struct h2_server server;
	unsigned char cluster_id[28];
	bool check_token;
	unsigned id_calls, refused;
	const ProtobufCMessage *reply; /* to all other methods */
	struct h2_answer fault;        /* instead, when it has a status */
	char path[200];
	char headers[2000];
	struct buf body; /* of the last request, without prefix */
	bool mute;
};

struct bench {
	struct loop *loop;
	struct loop_timer *timer;
	struct fake_gcs gcs;
	struct gcs_client *client;
	struct arena arena;
	/* how the last call ended */
	unsigned ended;
	bool failed;
	struct err err;
	const struct ray_state *state;
	bool flag; /* accepted, added */
	bool has_value;
	char text[500];
	const struct ray_constraint *constraint;
};

static struct bench bench;

/* ---- the GCS ---- */

static void answer_message(struct h2_stream *stream, const ProtobufCMessage *message)
{
	AUTO(buf_done) struct buf bytes;
	struct h2_answer answer = { .size = 0 };

	buf_init(&bytes, 1 << 20);
	if (message)
		assert_int_equal(gcs_message_pack(message, &bytes), 0);
	answer.message = bytes.data;
	answer.size = bytes.size;
	h2_stream_answer(stream, &answer);
}

static void refuse(struct h2_stream *stream, const char *message)
{
	h2_stream_answer(stream, &(struct h2_answer){ .grpc_status = GRPC_UNAUTHENTICATED,
						      .grpc_message = message,
						      .trailers_only = true });
}

static bool has_cluster_id(const struct fake_gcs *gcs, const char *headers)
{
	char wanted[100] = "ray_cluster_id: ";
	size_t used = strlen(wanted);

	for (size_t i = 0; i < sizeof(gcs->cluster_id); i++)
		used += (size_t)snprintf(wanted + used, sizeof(wanted) - used, "%02x",
					 gcs->cluster_id[i]);
	return strstr(headers, wanted) != NULL;
}

static void handle(struct h2_server *server, struct h2_stream *stream)
{
	struct fake_gcs *gcs = server->context;
	const char *headers = buf_string(&stream->headers);

	(void)snprintf(gcs->headers, sizeof(gcs->headers), "%s", headers);
	if (gcs->check_token && !strstr(headers, "authorization: Bearer " TOKEN "\n")) {
		refuse(stream, "InvalidAuthToken: Authentication token is missing or incorrect");
		return;
	}
	if (strcmp(stream->path, "/ray.rpc.NodeInfoGcsService/GetClusterId") == 0) {
		Ray__GetClusterIdReply reply = RAY__GET_CLUSTER_ID_REPLY__INIT;

		gcs->id_calls++;
		assert_null(strstr(headers, "ray_cluster_id"));
		reply.cluster_id.data = gcs->cluster_id;
		reply.cluster_id.len = sizeof(gcs->cluster_id);
		answer_message(stream, &reply.base);
		return;
	}
	if (!has_cluster_id(gcs, headers)) {
		gcs->refused++;
		refuse(stream, "WrongClusterID: Perhaps the client is accessing GCS after it has "
			       "restarted.");
		return;
	}
	(void)snprintf(gcs->path, sizeof(gcs->path), "%s", stream->path);
	buf_clear(&gcs->body);
	assert_int_equal(buf_add(&gcs->body, stream->body.data + GRPC_PREFIX_SIZE,
				 stream->body.size - GRPC_PREFIX_SIZE), 0);
	if (gcs->mute)
		return;
	if (gcs->fault.grpc_status)
		h2_stream_answer(stream, &gcs->fault);
	else
		answer_message(stream, gcs->reply);
}

/* ---- the bench ---- */

static void on_deadline(void *context)
{
	(void)context;
	loop_stop(bench.loop);
}

static struct gcs_config config(void)
{
	return (struct gcs_config){ .cluster = "default/demo",
				    .host = "127.0.0.1",
				    .port = bench.gcs.server.port };
}

static void open_bench(void)
{
	struct gcs_config first;

	memset(&bench, 0, sizeof(bench));
	bench.loop = loop_new();
	bench.timer = loop_timer_new(bench.loop, on_deadline, NULL);
	bench.gcs.server.handler = handle;
	bench.gcs.server.context = &bench.gcs;
	memset(bench.gcs.cluster_id, 0xa7, sizeof(bench.gcs.cluster_id));
	buf_init(&bench.gcs.body, 16u << 20);
	h2_server_start(&bench.gcs.server, bench.loop, 0);
	first = config();
	bench.client = gcs_client_new(bench.loop, &first);
}

static void close_bench(void)
{
	gcs_client_free(bench.client);
	h2_server_stop(&bench.gcs.server);
	buf_done(&bench.gcs.body);
	loop_timer_free(bench.timer);
	arena_done(&bench.arena);
	loop_free(bench.loop);
}

static void note(const struct err *err)
{
	bench.ended++;
	bench.failed = err != NULL;
	if (err)
		bench.err = *err;
	loop_stop(bench.loop);
}

static void run(void)
{
	loop_timer_start(bench.timer, 10000);
	bench.ended = 0;
	loop_run(bench.loop);
	assert_int_equal(bench.ended, 1);
}

static void run_good(void)
{
	run();
	if (bench.failed)
		fail_msg("%s", bench.err.text);
}

static void run_error(enum err_kind kind, const char *why)
{
	run();
	assert_true(bench.failed);
	if (bench.err.kind != kind || !strstr(bench.err.text, why))
		fail_msg("wanted kind %d with \"%s\", got kind %d: %s", kind, why, bench.err.kind,
			 bench.err.text);
}

static void on_state(void *context, const struct ray_state *state, const struct err *err)
{
	(void)context;
	assert_true((state == NULL) == (err != NULL));
	bench.state = state;
	note(err);
}

static void on_drain(void *context, bool accepted, const char *rejection, const struct err *err)
{
	(void)context;
	bench.flag = accepted;
	(void)snprintf(bench.text, sizeof(bench.text), "%s", rejection);
	note(err);
}

static void on_plain(void *context, const struct err *err)
{
	(void)context;
	note(err);
}

static void on_alive(void *context, const char *ray_version, const struct err *err)
{
	(void)context;
	(void)snprintf(bench.text, sizeof(bench.text), "%s", ray_version);
	note(err);
}

static void on_kv_get(void *context, const char *value, size_t size, const struct err *err)
{
	(void)context;
	bench.has_value = value != NULL;
	(void)snprintf(bench.text, sizeof(bench.text), "%.*s", (int)size, value ? value : "");
	note(err);
}

static void on_kv_put(void *context, bool added, const struct err *err)
{
	(void)context;
	bench.flag = added;
	note(err);
}

static void on_requests(void *context, const struct ray_constraint *constraint,
			const struct err *err)
{
	(void)context;
	bench.constraint = constraint;
	note(err);
}

static void get_state(void)
{
	gcs_client_get_state(bench.client, 2000, &bench.arena, on_state, NULL);
}

/* A state with one node. */
static const ProtobufCMessage *small_state(void)
{
	static Ray__NodeState node;
	static Ray__NodeState *nodes[1];
	static Ray__ClusterResourceState cluster;
	static Ray__GetClusterResourceStateReply reply;

	ray__node_state__init(&node);
	ray__cluster_resource_state__init(&cluster);
	ray__get_cluster_resource_state_reply__init(&reply);
	node.instance_id = (char *)"head-pod";
	nodes[0] = &node;
	cluster.node_states = nodes;
	cluster.n_node_states = 1;
	cluster.last_seen_autoscaler_state_version = 41;
	reply.cluster_resource_state = &cluster;
	return &reply.base;
}

/* ---- tests ---- */

static void test_get_state(void **state)
{
	(void)state;
	open_bench();
	bench.gcs.reply = small_state();
	get_state();
	assert_int_equal(bench.ended, 0);
	run_good();
	assert_int_equal(bench.state->node_count, 1);
	assert_string_equal(bench.state->nodes[0].instance_id, "head-pod");
	assert_string_equal(bench.gcs.path,
			    "/ray.rpc.autoscaler.AutoscalerStateService/GetClusterResourceState");
	/* last_seen_cluster_resource_state_version is 0, in proto3: no bytes at all (T2). */
	assert_int_equal(bench.gcs.body.size, 0);
	assert_null(strstr(bench.gcs.headers, "authorization"));
	get_state();
	run_good();
	assert_int_equal(bench.gcs.id_calls, 1);
	assert_int_equal(bench.gcs.server.connections, 1);
	close_bench();
}

/* T4: the head was replaced behind the same connection (a proxy), or behind a new one. */
static void test_new_cluster_id(void **state)
{
	(void)state;
	open_bench();
	bench.gcs.reply = small_state();
	get_state();
	run_good();
	memset(bench.gcs.cluster_id, 0x33, sizeof(bench.gcs.cluster_id));
	get_state();
	run_good();
	assert_int_equal(bench.gcs.refused, 1);
	assert_int_equal(bench.gcs.id_calls, 2);

	memset(bench.gcs.cluster_id, 0x44, sizeof(bench.gcs.cluster_id));
	h2_peer_close(bench.gcs.server.peers);
	loop_timer_start(bench.timer, 50);
	loop_run(bench.loop);
	get_state();
	run_good();
	assert_int_equal(bench.gcs.refused, 1);
	assert_int_equal(bench.gcs.id_calls, 3);
	close_bench();
}

static void handle_always_wrong(struct h2_server *server, struct h2_stream *stream)
{
	handle(server, stream);
	bench.gcs.cluster_id[0]++;
}

/* An id that is never right is asked for once more, not for ever. */
static void test_cluster_id_that_is_never_right(void **state)
{
	(void)state;
	open_bench();
	bench.gcs.server.handler = handle_always_wrong;
	bench.gcs.reply = small_state();
	get_state();
	run_error(ERR_DENIED, "WrongClusterID");
	assert_int_equal(bench.gcs.id_calls, 2);
	assert_int_equal(bench.gcs.refused, 2);
	close_bench();
}

static void test_token(void **state)
{
	struct gcs_config with_token;

	(void)state;
	open_bench();
	bench.gcs.check_token = true;
	bench.gcs.reply = small_state();
	get_state();
	run_error(ERR_DENIED, "default/demo: GetClusterResourceState: GetClusterId: ");
	assert_non_null(strstr(bench.err.text, "InvalidAuthToken"));
	assert_non_null(strstr(bench.err.text, "check the token"));
	/* The token of the next call, on the same connection. */
	with_token = config();
	with_token.token = TOKEN;
	gcs_client_configure(bench.client, &with_token);
	get_state();
	run_good();
	assert_int_equal(bench.gcs.server.connections, 1);
	with_token.token = "other";
	gcs_client_configure(bench.client, &with_token);
	get_state();
	run_error(ERR_DENIED, "check the token");
	assert_null(strstr(bench.err.text, "other"));
	close_bench();
}

static void test_errors_of_the_gcs(void **state)
{
	(void)state;
	open_bench();
	bench.gcs.fault = (struct h2_answer){ .grpc_status = GRPC_UNIMPLEMENTED, .trailers_only = true };
	get_state();
	run_error(ERR_NOT_FOUND, "too old for autoscaler v2");
	bench.gcs.fault = (struct h2_answer){ .grpc_status = GRPC_UNAVAILABLE, .grpc_message = "busy" };
	get_state();
	run_error(ERR_RETRY, "default/demo: GetClusterResourceState: 127.0.0.1:");
	assert_non_null(strstr(bench.err.text, "UNAVAILABLE (14): busy"));
	bench.gcs.fault.grpc_status = 0;
	bench.gcs.reply = NULL; /* an empty message */
	get_state();
	run_error(ERR_INPUT, "no cluster_resource_state");
	bench.gcs.mute = true;
	gcs_client_get_state(bench.client, 150, &bench.arena, on_state, NULL);
	run_error(ERR_TIMEOUT, "no reply within");
	close_bench();
}

static void test_reply_that_is_no_state(void **state)
{
	Ray__CheckAliveReply reply = RAY__CHECK_ALIVE_REPLY__INIT;

	(void)state;
	open_bench();
	reply.ray_version = (char *)"2.60.0";
	bench.gcs.reply = &reply.base;
	get_state();
	run_error(ERR_INPUT, "no cluster_resource_state");
	close_bench();
}

static void test_drain(void **state)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	Ray__DrainNodeReply reply = RAY__DRAIN_NODE_REPLY__INIT;
	const Ray__DrainNodeRequest *request;

	(void)state;
	open_bench();
	bench.gcs.reply = &reply.base;
	reply.rejection_reason_message = (char *)"The node to be idle terminated is no longer idle.";
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
		run_error(ERR_INPUT, "no Ray node id");
	}
	memset(longest, 'a', sizeof(longest) - 1);
	longest[sizeof(longest) - 1] = '\0';
	gcs_client_drain_node(bench.client, 1000, longest, "", on_drain, NULL);
	run_error(ERR_INPUT, "no Ray node id");
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
					     bench.gcs.body.data, bench.gcs.body.size, &arena, NULL);
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
	run_error(ERR_RETRY, "the GCS says: not the leader (5)");
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
		reply.value = (ProtobufCBinaryData){ .data = (uint8_t *)value, .len = strlen(value) };
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

static void test_nobody_there(void **state)
{
	struct gcs_config elsewhere;

	(void)state;
	open_bench();
	elsewhere = config();
	elsewhere.port = 1;
	gcs_client_configure(bench.client, &elsewhere);
	get_state();
	run_error(ERR_RETRY, "127.0.0.1:1: cannot connect: connection refused");
	/* Another address is tried at once, back-off or not. */
	elsewhere = config();
	bench.gcs.reply = small_state();
	gcs_client_configure(bench.client, &elsewhere);
	get_state();
	run_good();
	close_bench();
}

static void test_configure_ends_calls(void **state)
{
	struct gcs_config other;

	(void)state;
	open_bench();
	bench.gcs.mute = true;
	get_state();
	loop_timer_start(bench.timer, 50);
	loop_run(bench.loop);
	other = config();
	gcs_client_configure(bench.client, &other); /* nothing differs: nothing happens */
	assert_int_equal(bench.ended, 0);
	other.reply_ceiling_bytes = 1000;
	gcs_client_configure(bench.client, &other);
	run_error(ERR_RETRY, "address or the certificates");
	close_bench();
}

static void test_cancel_and_free(void **state)
{
	struct gcs_call *call;

	(void)state;
	open_bench();
	bench.gcs.mute = true;
	call = gcs_client_get_state(bench.client, 1000, &bench.arena, on_state, NULL);
	gcs_call_cancel(call);
	call = gcs_client_drain_node(bench.client, 1000, "zz", "", on_drain, NULL);
	gcs_call_cancel(call);
	get_state();
	loop_timer_start(bench.timer, 50);
	loop_run(bench.loop);
	get_state();
	gcs_client_drain_node(bench.client, 1000, "zz", "", on_drain, NULL);
	close_bench(); /* three calls under way */
	assert_int_equal(bench.ended, 0);
}

static void on_state_free(void *context, const struct ray_state *state, const struct err *err)
{
	(void)context;
	(void)state;
	gcs_client_free(bench.client);
	bench.client = NULL;
	note(err);
}

static void test_free_inside_a_callback(void **state)
{
	(void)state;
	open_bench();
	bench.gcs.reply = small_state();
	gcs_client_get_state(bench.client, 1000, &bench.arena, on_state_free, NULL);
	get_state();
	run_good();
	close_bench();
	open_bench();
	bench.gcs.fault = (struct h2_answer){ .grpc_status = 14, .trailers_only = true };
	gcs_client_get_state(bench.client, 1000, &bench.arena, on_state_free, NULL);
	run_error(ERR_RETRY, "UNAVAILABLE");
	close_bench();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_get_state),
		cmocka_unit_test(test_new_cluster_id),
		cmocka_unit_test(test_cluster_id_that_is_never_right),
		cmocka_unit_test(test_token),
		cmocka_unit_test(test_errors_of_the_gcs),
		cmocka_unit_test(test_reply_that_is_no_state),
		cmocka_unit_test(test_drain),
		cmocka_unit_test(test_drain_of_a_bad_id),
		cmocka_unit_test(test_report),
		cmocka_unit_test(test_alive),
		cmocka_unit_test(test_kv),
		cmocka_unit_test(test_kv_requests),
		cmocka_unit_test(test_nobody_there),
		cmocka_unit_test(test_configure_ends_calls),
		cmocka_unit_test(test_cancel_and_free),
		cmocka_unit_test(test_free_inside_a_callback),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
