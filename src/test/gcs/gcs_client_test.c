/* The client of a Ray head against a scripted GCS: cluster id, token, and every way in which a call
 * can end. */
#include "test/support/gcs_bench.h"

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
	run_good_again();
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
	bench.gcs.fault =
		(struct h2_answer){ .grpc_status = GRPC_UNIMPLEMENTED, .trailers_only = true };
	get_state();
	run_error(ERR_NOT_FOUND, "too old for autoscaler v2");
	bench.gcs.fault =
		(struct h2_answer){ .grpc_status = GRPC_UNAVAILABLE, .grpc_message = "busy" };
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
	/* Another address is tried at once, without the backoff. */
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

/* Replies are decoded on threads, so the second of two calls may end first, but not after the free. */
static void on_state_unless_freed(void *context, const struct ray_state *state,
				  const struct err *err)
{
	(void)context;
	(void)state;
	(void)err;
	assert_non_null(bench.client);
}

static void test_free_inside_a_callback(void **state)
{
	(void)state;
	open_bench();
	bench.gcs.reply = small_state();
	gcs_client_get_state(bench.client, 1000, &bench.arena, on_state_free, NULL);
	gcs_client_get_state(bench.client, 1000, &bench.arena, on_state_unless_freed, NULL);
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
		cmocka_unit_test(test_nobody_there),
		cmocka_unit_test(test_configure_ends_calls),
		cmocka_unit_test(test_cancel_and_free),
		cmocka_unit_test(test_free_inside_a_callback),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
