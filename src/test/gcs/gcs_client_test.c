/* The client of a Ray head against a scripted GCS: cluster id, token, and every way in which a call
 * can end. */
#include "base/budget.h"
#include "test/support/gcs_bench.h"

static void test_get_state(void **state)
{
	(void)state;
	gcs_bench_open();
	gcs_bench.gcs.reply = fake_gcs_small_state();
	gcs_bench_get_state();
	assert_int_equal(gcs_bench.ended, 0);
	gcs_bench_run_good();
	assert_int_equal(gcs_bench.state->node_count, 1);
	assert_string_equal(gcs_bench.state->nodes[0].instance_id, "head-pod");
	assert_string_equal(gcs_bench.gcs.path,
			    "/ray.rpc.autoscaler.AutoscalerStateService/GetClusterResourceState");
	/* last_seen_cluster_resource_state_version is 0, in proto3: no bytes at all (T2). */
	assert_int_equal(gcs_bench.gcs.body.size, 0);
	assert_null(strstr(gcs_bench.gcs.headers, "authorization"));
	gcs_bench_get_state();
	gcs_bench_run_good();
	assert_int_equal(gcs_bench.gcs.id_calls, 1);
	assert_int_equal(gcs_bench.gcs.server.connections, 1);
	gcs_bench_close();
}

/* T4: the head was replaced behind the same connection (a proxy), or behind a new one. */
static void test_new_cluster_id(void **state)
{
	(void)state;
	gcs_bench_open();
	gcs_bench.gcs.reply = fake_gcs_small_state();
	gcs_bench_get_state();
	gcs_bench_run_good();
	memset(gcs_bench.gcs.cluster_id, 0x33, sizeof(gcs_bench.gcs.cluster_id));
	gcs_bench_get_state();
	gcs_bench_run_good();
	assert_int_equal(gcs_bench.gcs.refused, 1);
	assert_int_equal(gcs_bench.gcs.id_calls, 2);

	memset(gcs_bench.gcs.cluster_id, 0x44, sizeof(gcs_bench.gcs.cluster_id));
	h2_peer_close(gcs_bench.gcs.server.peers);
	gcs_bench_run_good_again();
	assert_int_equal(gcs_bench.gcs.refused, 1);
	assert_int_equal(gcs_bench.gcs.id_calls, 3);
	gcs_bench_close();
}

static void handle_always_wrong(struct h2_server *server, struct h2_stream *stream)
{
	fake_gcs_handle(server, stream);
	gcs_bench.gcs.cluster_id[0]++;
}

/* An id that is never right is asked for once more, not for ever. */
static void test_cluster_id_that_is_never_right(void **state)
{
	(void)state;
	gcs_bench_open();
	gcs_bench.gcs.server.handler = handle_always_wrong;
	gcs_bench.gcs.reply = fake_gcs_small_state();
	gcs_bench_get_state();
	gcs_bench_run_error(ERR_DENIED, "WrongClusterID");
	assert_int_equal(gcs_bench.gcs.id_calls, 2);
	assert_int_equal(gcs_bench.gcs.refused, 2);
	gcs_bench_close();
}

static void test_token(void **state)
{
	struct gcs_config with_token;

	(void)state;
	gcs_bench_open();
	gcs_bench.gcs.check_token = true;
	gcs_bench.gcs.reply = fake_gcs_small_state();
	gcs_bench_get_state();
	gcs_bench_run_error(ERR_DENIED, "default/demo: GetClusterResourceState: GetClusterId: ");
	assert_non_null(strstr(gcs_bench.err.text, "InvalidAuthToken"));
	assert_non_null(strstr(gcs_bench.err.text, "no token was sent"));
	/* The token of the next call, on the same connection. */
	with_token = gcs_bench_config();
	with_token.token = TOKEN;
	gcs_client_configure(gcs_bench.client, &with_token);
	gcs_bench_get_state();
	gcs_bench_run_good();
	assert_int_equal(gcs_bench.gcs.server.connections, 1);
	with_token.token = "other";
	gcs_client_configure(gcs_bench.client, &with_token);
	gcs_bench_get_state();
	gcs_bench_run_error(ERR_DENIED, "check the token");
	assert_null(strstr(gcs_bench.err.text, "other"));
	with_token.token_source = "sent was that of the environment";
	gcs_client_configure(gcs_bench.client, &with_token);
	gcs_bench_get_state();
	gcs_bench_run_error(ERR_DENIED, "InvalidAuthToken");
	assert_non_null(strstr(gcs_bench.err.text, "sent was that of the environment"));
	gcs_bench_close();
}

static void test_errors_of_the_gcs(void **state)
{
	(void)state;
	gcs_bench_open();
	gcs_bench.gcs.fault =
		(struct h2_answer){ .grpc_status = GRPC_UNIMPLEMENTED, .trailers_only = true };
	gcs_bench_get_state();
	gcs_bench_run_error(ERR_NOT_FOUND, "too old for autoscaler v2");
	gcs_bench.gcs.fault =
		(struct h2_answer){ .grpc_status = GRPC_UNAVAILABLE, .grpc_message = "busy" };
	gcs_bench_get_state();
	gcs_bench_run_error(ERR_RETRY, "default/demo: GetClusterResourceState: 127.0.0.1:");
	assert_non_null(strstr(gcs_bench.err.text, "UNAVAILABLE (14): busy"));
	gcs_bench.gcs.fault.grpc_status = 0;
	gcs_bench.gcs.reply = NULL; /* an empty message */
	gcs_bench_get_state();
	gcs_bench_run_error(ERR_INPUT, "no cluster_resource_state");
	gcs_bench.gcs.mute = true;
	gcs_client_get_state(gcs_bench.client, 150, &gcs_bench.arena, gcs_bench_on_state, NULL);
	gcs_bench_run_error(ERR_TIMEOUT, "no reply within");
	gcs_bench_close();
}

static void test_reply_that_is_no_state(void **state)
{
	unsigned char id[] = "2.60.0";
	Ray__GetClusterIdReply reply = RAY__GET_CLUSTER_ID_REPLY__INIT;

	(void)state;
	gcs_bench_open();
	reply.cluster_id = (ProtobufCBinaryData){ .data = id, .len = sizeof(id) };
	gcs_bench.gcs.reply = &reply.base;
	gcs_bench_get_state();
	gcs_bench_run_error(ERR_INPUT, "no cluster_resource_state");
	gcs_bench_close();
}

static void test_no_server(void **state)
{
	struct gcs_config elsewhere;

	(void)state;
	gcs_bench_open();
	elsewhere = gcs_bench_config();
	elsewhere.port = 1;
	gcs_client_configure(gcs_bench.client, &elsewhere);
	gcs_bench_get_state();
	gcs_bench_run_error(ERR_RETRY, "127.0.0.1:1: cannot connect: connection refused");
	/* Another address is tried at once, without the backoff. */
	elsewhere = gcs_bench_config();
	gcs_bench.gcs.reply = fake_gcs_small_state();
	gcs_client_configure(gcs_bench.client, &elsewhere);
	gcs_bench_get_state();
	gcs_bench_run_good();
	gcs_bench_close();
}

static void test_configure_ends_calls(void **state)
{
	struct gcs_config other;

	(void)state;
	gcs_bench_open();
	gcs_bench.gcs.mute = true;
	gcs_bench_get_state();
	loop_timer_start(gcs_bench.timer, 50);
	loop_run(gcs_bench.loop);
	other = gcs_bench_config();
	gcs_client_configure(gcs_bench.client, &other); /* nothing differs: nothing happens */
	assert_int_equal(gcs_bench.ended, 0);
	other.reply_ceiling_bytes = 1000;
	gcs_client_configure(gcs_bench.client, &other);
	gcs_bench_run_error(ERR_RETRY, "address or the certificates");
	gcs_bench_close();
}

static void test_cancel_and_free(void **state)
{
	struct gcs_call *call;

	(void)state;
	gcs_bench_open();
	gcs_bench.gcs.mute = true;
	call = gcs_client_get_state(gcs_bench.client, 1000, &gcs_bench.arena, gcs_bench_on_state,
				    NULL);
	gcs_call_cancel(call);
	call = gcs_client_drain_node(gcs_bench.client, 1000, "zz", "", TIME_NONE, gcs_bench_on_done,
				     NULL);
	gcs_call_cancel(call);
	gcs_bench_get_state();
	loop_timer_start(gcs_bench.timer, 50);
	loop_run(gcs_bench.loop);
	gcs_bench_get_state();
	gcs_client_drain_node(gcs_bench.client, 1000, "zz", "", TIME_NONE, gcs_bench_on_done, NULL);
	gcs_bench_close(); /* three calls under way */
	assert_int_equal(gcs_bench.ended, 0);
}

static void on_state_free(void *context, const struct gcs_reply *reply, const struct err *err)
{
	(void)context;
	(void)reply;
	gcs_client_free(gcs_bench.client);
	gcs_bench.client = NULL;
	gcs_bench_note(err);
}

/* Replies are decoded on threads, so the second of two calls may end first, but not after the free. */
static void on_state_unless_freed(void *context, const struct gcs_reply *reply,
				  const struct err *err)
{
	(void)context;
	(void)reply;
	(void)err;
	assert_non_null(gcs_bench.client);
}

static void test_free_inside_a_callback(void **state)
{
	(void)state;
	gcs_bench_open();
	gcs_bench.gcs.reply = fake_gcs_small_state();
	gcs_client_get_state(gcs_bench.client, 1000, &gcs_bench.arena, on_state_free, NULL);
	gcs_client_get_state(gcs_bench.client, 1000, &gcs_bench.arena, on_state_unless_freed, NULL);
	gcs_bench_run_good();
	gcs_bench_close();
	gcs_bench_open();
	gcs_bench.gcs.fault = (struct h2_answer){ .grpc_status = 14, .trailers_only = true };
	gcs_client_get_state(gcs_bench.client, 1000, &gcs_bench.arena, on_state_free, NULL);
	gcs_bench_run_error(ERR_RETRY, "UNAVAILABLE");
	gcs_bench_close();
}

/* The tree of the JSON is on the heap, where no arena charges it. */
static void test_stored_requests_are_charged_before_they_are_parsed(void **state)
{
	struct budget budget = { .name = "replies", .limit_bytes = 64 << 10 };
	AUTO(arena_done) struct arena arena = { .budget = &budget };
	struct ray_constraint constraint;
	char text[2000];
	struct err err;

	(void)state;
	memset(text, ' ', sizeof(text));
	memcpy(text, "[{\"CPU\": 1}]", 12);
	assert_int_equal(gcs_requests_parse(text, sizeof(text) / 2, &arena, &constraint, &err), 0);
	assert_int_equal(gcs_requests_parse(text, sizeof(text), &arena, &constraint, &err), -1);
	assert_int_equal(err.kind, ERR_LIMIT);
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
		cmocka_unit_test(test_no_server),
		cmocka_unit_test(test_configure_ends_calls),
		cmocka_unit_test(test_cancel_and_free),
		cmocka_unit_test(test_free_inside_a_callback),
		cmocka_unit_test(test_stored_requests_are_charged_before_they_are_parsed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
