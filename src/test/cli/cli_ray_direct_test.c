/* Reading a scripted GCS without a controller: lists and state, the token of a Secret, failures. */
#include "feature/record/cli/ray_direct.h"

#include "cli/shared/api_connection.h"
#include "test/support/cli_server.h"
#include "test/support/gcs_bench.h"

static struct bench {
	struct connection *connection;
	struct ray_direct *direct;
	struct arena arena;
	struct snapshot snapshot;
	bool without_tasks, without_state;
	unsigned calls;
} bench;

static void answer_lists(struct h2_stream *stream)
{
	Ray__ActorTableData__RequiredResourcesEntry gpu =
		RAY__ACTOR_TABLE_DATA__REQUIRED_RESOURCES_ENTRY__INIT;
	Ray__ActorTableData__RequiredResourcesEntry *resources = &gpu;
	Ray__ActorTableData actor = RAY__ACTOR_TABLE_DATA__INIT, *actors = &actor;
	Ray__GetAllActorInfoReply reply = RAY__GET_ALL_ACTOR_INFO_REPLY__INIT;
	Ray__GetTaskEventsReply none = RAY__GET_TASK_EVENTS_REPLY__INIT;

	gpu.key = (char *)"GPU";
	gpu.value = 1;
	actor.actor_id = BYTES("a1");
	actor.state = RAY__ACTOR_TABLE_DATA__ACTOR_STATE__ALIVE;
	actor.start_time = 1795168000000;
	actor.required_resources = &resources;
	actor.n_required_resources = 1;
	reply.actor_table_data = &actors;
	reply.n_actor_table_data = 1;
	none.num_status_task_events_dropped = 4;
	gcs_bench.gcs.reply = strstr(stream->path, "GetAllActorInfo") ? &reply.base : NULL;
	if (strstr(stream->path, "GetTaskEvents"))
		gcs_bench.gcs.reply = &none.base;
	fake_gcs_handle(&gcs_bench.gcs.server, stream);
}

static void on_call(struct h2_server *server, struct h2_stream *stream)
{
	Ray__ResourceRequest__ResourcesBundleEntry gpu =
		RAY__RESOURCE_REQUEST__RESOURCES_BUNDLE_ENTRY__INIT;
	Ray__ResourceRequest__ResourcesBundleEntry *bundle = &gpu;
	Ray__ResourceRequest request = RAY__RESOURCE_REQUEST__INIT;
	Ray__ResourceRequestByCount by_count = RAY__RESOURCE_REQUEST_BY_COUNT__INIT;
	Ray__ResourceRequestByCount *requests = &by_count;
	Ray__ClusterResourceConstraint constraint = RAY__CLUSTER_RESOURCE_CONSTRAINT__INIT;
	Ray__ClusterResourceConstraint *constraints = &constraint;
	Ray__ClusterResourceState state = RAY__CLUSTER_RESOURCE_STATE__INIT;
	Ray__GetClusterResourceStateReply reply = RAY__GET_CLUSTER_RESOURCE_STATE_REPLY__INIT;

	bench.calls++;
	gcs_bench.gcs.fault = (struct h2_answer){ .size = 0 };
	if ((bench.without_tasks && strstr(stream->path, "GetTaskEvents")) ||
	    (bench.without_state && strstr(stream->path, "GetClusterResourceState")))
		gcs_bench.gcs.fault = (struct h2_answer){ .grpc_status = GRPC_UNAVAILABLE,
							  .grpc_message = "busy" };
	if (!strstr(stream->path, "GetClusterResourceState")) {
		answer_lists(stream);
		return;
	}
	gpu.key = (char *)"GPU";
	gpu.value = 2;
	request.resources_bundle = &bundle;
	request.n_resources_bundle = 1;
	by_count.request = &request;
	by_count.count = 3;
	constraint.resource_requests = &requests;
	constraint.n_resource_requests = 1;
	state.cluster_resource_constraints = &constraints;
	state.n_cluster_resource_constraints = 1;
	reply.cluster_resource_state = &state;
	gcs_bench.gcs.reply = &reply.base;
	fake_gcs_handle(server, stream);
}

/* The API server has a Secret with the token. */
static const struct route routes[] = {
	{ "GET /api/v1/namespaces/ray/secrets/demo-token", 0,
	  "{'data':{'auth_token':'c2VjcmV0LXRva2Vu'}}" },
	{ NULL, 0, NULL },
};

static int setup(void **state)
{
	struct api_connection_flags flags = { .kubeconfig = NULL };
	struct err err;

	(void)state;
	memset(&bench, 0, sizeof(bench));
	cli_server_start(routes);
	bench.connection = api_connection_new(&flags, &err);
	if (!bench.connection)
		fail_msg("%s", err.text);
	gcs_bench_open_on(api_connection_loop(bench.connection), on_call);
	bench.snapshot.cluster = (struct ray_cluster){ .namespace_ = "ray",
						       .name = "demo",
						       .uid = "u",
						       .auth_mode = "",
						       .auth_secret_name = "",
						       .head_pod_name = "",
						       .head_pod_ip = "" };
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	ray_direct_free(bench.direct);
	arena_done(&bench.arena);
	gcs_bench_close_on();
	api_connection_free(bench.connection);
	cli_server_stop();
	return 0;
}

static void open_direct(void)
{
	AUTO(memory_free_string) char *address = memory_alloc(40);

	(void)snprintf(address, 40, "127.0.0.1:%d", gcs_bench.gcs.server.port);
	bench.direct = ray_direct_new(bench.connection, address);
}

static int read_direct(struct ray_work_page *page, struct err *err)
{
	return ray_direct_read(bench.direct, &bench.snapshot, &bench.arena, page, err);
}

/* A list that fails is named, and the others count. */
static void test_lists_and_requests(void **state)
{
	struct ray_work_page page;
	struct err err;

	(void)state;
	open_direct();
	for (size_t i = 0; i < 2; i++) {
		bench.without_tasks = i == 1;
		if (read_direct(&page, &err))
			fail_msg("%s", err.text);
		assert_int_equal(page.row_count, 1);
		assert_int_equal(page.rows[0].kind, WORK_ACTOR);
		assert_int_equal(page.rows[0].started, 1795168000000);
		assert_int_equal(page.source_count, RAY_LISTS);
		assert_int_equal(page.sources[RAY_LIST_TASKS].dropped, i == 0 ? 4 : 0);
		assert_int_equal(*page.sources[RAY_LIST_TASKS].problem != '\0', i == 1);
		assert_true(page.at > page.rows[0].started);
		assert_int_equal(bench.snapshot.ray_state->constraint_count, 1);
		assert_int_equal(bench.snapshot.ray_state->constraints[0].requests[0].count, 3);
	}
}

static void test_the_token_is_that_of_the_secret(void **state)
{
	struct ray_work_page page;
	struct err err;

	(void)state;
	gcs_bench.gcs.check_token = true;
	bench.snapshot.cluster.auth_mode = "token";
	bench.snapshot.cluster.auth_secret_name = "demo-token";
	open_direct();
	if (read_direct(&page, &err))
		fail_msg("%s", err.text);
	assert_int_equal(page.row_count, 1);
	ray_direct_free(bench.direct);
	open_direct();
	bench.snapshot.cluster.auth_secret_name = "other";
	assert_int_equal(read_direct(&page, &err), -1);
	EXPECT(err.text, "Ray cannot be read: ");
	EXPECT(err.text, "secrets");
}

static void test_the_token_of_the_environment(void **state)
{
	struct ray_work_page page;
	struct err err;

	(void)state;
	gcs_bench.gcs.check_token = true;
	setenv("RAY_AUTH_TOKEN", TOKEN, 1);
	open_direct();
	if (read_direct(&page, &err))
		fail_msg("%s", err.text);
	unsetenv("RAY_AUTH_TOKEN");
	assert_int_equal(page.row_count, 1);
}

static void test_failures(void **state)
{
	struct ray_work_page page;
	struct err err;

	(void)state;
	bench.without_state = true;
	open_direct();
	assert_int_equal(read_direct(&page, &err), -1);
	EXPECT(err.text, "ray/demo");
	ray_direct_free(bench.direct);
	bench.direct = ray_direct_new(bench.connection, RAY_DIRECT_HEAD);
	assert_int_equal(read_direct(&page, &err), -1);
	EXPECT(err.text, "Ray cannot be read: the head Pod does not exist");
}

static void test_addresses(void **state)
{
	static const char *const good[] = { "head", "10.0.0.1:6379", "[::1]:1", "127.0.0.1:65535" };
	static const char *const bad[] = { "",       "Head",           "10.0.0.1", "10.0.0.1:0",
					   "a:6379", "10.0.0.1:65536", "::1:6379", "[10.0.0.1]:1",
					   ":6379",  "[]:1",           "[::1]",    "10.0.0.1:x" };
	struct err err;

	(void)state;
	for (size_t i = 0; i < SUPPORT_COUNT(good); i++)
		assert_int_equal(ray_direct_check(good[i], &err), 0);
	for (size_t i = 0; i < SUPPORT_COUNT(bad); i++) {
		if (ray_direct_check(bad[i], &err) == 0)
			fail_msg("not refused: %s", bad[i]);
		EXPECT(err.text, "like 127.0.0.1:6379, or head");
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_lists_and_requests, setup, teardown),
		cmocka_unit_test_setup_teardown(test_the_token_is_that_of_the_secret, setup,
						teardown),
		cmocka_unit_test_setup_teardown(test_the_token_of_the_environment, setup, teardown),
		cmocka_unit_test_setup_teardown(test_failures, setup, teardown),
		cmocka_unit_test(test_addresses),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
