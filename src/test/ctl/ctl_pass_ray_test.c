/* One pass against a GCS that lies, hangs or sends too much: the values that are used, the reasons
 * that are reported, and that no other cluster waits for it. */
#include "ctl/shared/memory_budgets.h"
#include "test/support/pass_bench.h"

#define HUGE_BYTES ((size_t)100 << 20)
#define HANGING 20

static char *huge;
static size_t huge_bytes = HUGE_BYTES;

static void answer_huge(struct h2_server *server, struct h2_stream *stream)
{
	if (!strstr(stream->path, "State")) {
		fake_gcs_handle(server, stream);
		return;
	}
	h2_stream_answer(stream, &(struct h2_answer){ .message = huge, .size = huge_bytes });
}

static void test_reply_of_100_mib_is_refused_with_a_reason(void **state)
{
	(void)state;
	pass_bench_idle_worker();
	options.gcs_timeout_seconds = 60; /* making so much may take its time */
	huge = memory_alloc(HUGE_BYTES);
	gcs_bench.gcs.server.handler = answer_huge;
	run_pass(NULL);
	assert_false(seen.ray_reached);
	assert_int_equal(ray.drains + (unsigned)api.patches, 0);
	assert_non_null(strstr(seen.active, "104857600 bytes, more than the ceiling of 67108864"));
	assert_true(seen.reading.refused);
	/* The next reply is as good as ever. */
	gcs_bench.gcs.server.handler = on_call;
	seen.endings = 0;
	run_pass(NULL);
	assert_true(seen.ray_reached);
	assert_false(seen.reading.refused);
	memory_free(huge);
}

/* A reply below its limit that needs more memory than one pass may use: nothing is known of Ray. */
static void test_reply_above_the_memory_of_a_pass(void **state)
{
	struct memory_budgets memory;
	const struct budget *all;

	(void)state;
	pass_bench_idle_worker();
	options.gcs_timeout_seconds = 60;
	options.max_pass_memory_mib = 4;
	memory_budgets_init(&memory, &options, (size_t)1000 << 20);
	memory.root->measure = NULL; /* without the heap of this test */
	control.memory = &memory;
	all = memory.root;
	huge_bytes = (size_t)8 << 20;
	huge = memory_alloc(huge_bytes);
	gcs_bench.gcs.server.handler = answer_huge;
	run_pass(NULL);
	assert_false(seen.ray_reached);
	assert_int_equal(ray.drains + (unsigned)api.patches, 0);
	assert_non_null(strstr(seen.active, "of the reply's 8388608 bytes: more than the 4 MiB of "
					    "memory for one pass (--max-pass-memory)"));
	assert_null(strstr(seen.active, "unreachable"));
	assert_non_null(strstr(seen.active, "the state of Ray was not read: "));
	assert_true(seen.reading.refused);
	assert_true(all->peak_bytes < (size_t)5 << 20);
	huge_bytes = HUGE_BYTES;
	gcs_bench.gcs.server.handler = on_call;
	seen.endings = 0;
	run_pass(NULL);
	assert_true(seen.ray_reached);
	memory_free(huge);
	pass_free(steal(&seen.pass));
	assert_int_equal(all->used_bytes, 0);
	memory_budgets_done(&memory);
	control.memory = NULL;
}

static void test_state_without_nodes_is_no_empty_cluster(void **state)
{
	(void)state;
	pass_bench_idle_worker();
	cluster_state.n_node_states = 0;
	run_pass(NULL);
	assert_non_null(strstr(seen.active, "no living head node"));
	assert_int_equal(ray.drains + (unsigned)api.patches, 0);
}

static void test_what_a_reading_costs(void **state)
{
	(void)state;
	seen.ray_note = "it is read every 8 s";
	run_pass(NULL);
	assert_in_range(seen.reading.bytes, 50, 1000);
	assert_non_null(strstr(seen.active, "1 node; it is read every 8 s"));
	ray.mute_state = true;
	seen.endings = 0;
	run_pass(NULL);
	assert_int_equal(seen.reading.bytes, 0);
	assert_in_range(seen.reading.took_us, 900000, WAIT_MS * 1000);
	assert_non_null(strstr(seen.active, "still scale up; it is read every 8 s"));
}

#define POLICY_CLUSTER(policy)                                                                     \
	"{'apiVersion': 'ray.io/v1', 'kind': 'RayCluster', 'metadata': {'name': 'demo',"           \
	" 'namespace': 'a', 'generation': 1}, 'spec': {'enableInTreeAutoscaling': true,"           \
	" 'networkPolicy': " policy                                                                \
	", 'headGroupSpec': {'rayStartParams': {}, 'template': {'spec': {'containers':"            \
	" [{'name': 'ray-head', 'resources': {'limits': {'cpu': '1'}}}]}}},"                       \
	" 'workerGroupSpecs': [" GROUP("0") "]}}"

/* Nothing listens at the port. */
static const char *unreachable_with_policy(const char *cluster)
{
	gcs_client_configure(gcs_bench.client, &(struct gcs_config){ .cluster = "a/demo",
								     .host = "127.0.0.1",
								     .port = 1 });
	seen.cluster = api.cluster = cluster;
	seen.endings = 0;
	run_pass(NULL);
	assert_non_null(strstr(seen.active, "cannot connect"));
	return strstr(seen.active, "spec.networkPolicy closes port 6379 of the head: add {from: "
				   "[{namespaceSelector: ");
}

static void test_a_network_policy_that_closes_the_port_is_named(void **state)
{
	(void)state;
	assert_non_null(unreachable_with_policy(POLICY_CLUSTER("{}")));
	assert_null(unreachable_with_policy(POLICY_CLUSTER("{'mode': 'DenyAllEgress'}")));
	assert_null(unreachable_with_policy(POLICY_CLUSTER("null")));
}

static void test_a_network_policy_is_not_blamed_for_a_slow_reply(void **state)
{
	(void)state;
	seen.cluster = api.cluster = POLICY_CLUSTER("{}");
	ray.mute_state = true;
	run_pass(NULL);
	assert_non_null(strstr(seen.active, "no reply within"));
	assert_null(strstr(seen.active, "networkPolicy"));
}

/* --- a GCS that restarts, raylets that are dead, replicas that another writer resets --- */

/* The next pass, with the memory of the last one. */
static void pass_again(void)
{
	char memory[sizeof(seen.memory)];

	memcpy(memory, seen.memory, sizeof(memory));
	seen.endings = 0;
	run_pass(memory);
}

static int changes(void)
{
	return api.patches + (int)ray.drains;
}

/* Its Pod has run for longer than any start may take. */
static void busy_worker(void)
{
	pass_bench_idle_worker();
	ray_nodes[1].status = RAY__NODE_STATUS__RUNNING;
	ray_nodes[1].idle_duration_ms = 0;
	cluster_state.cluster_session_name = (char *)"session_a";
}

static void idle_again(void)
{
	cluster_state.n_node_states = 2;
	ray_nodes[1].status = RAY__NODE_STATUS__IDLE;
	ray_nodes[1].idle_duration_ms = 61000;
}

static void test_a_restarted_gcs_costs_no_worker(void **state)
{
	(void)state;
	busy_worker();
	run_pass(NULL);
	memset(gcs_bench.gcs.cluster_id, 0xb8, sizeof(gcs_bench.gcs.cluster_id));
	cluster_state.cluster_session_name = (char *)"session_b";
	cluster_state.n_node_states = 1;
	for (int i = 0; i < 3; i++) {
		pass_again();
		assert_true(seen.ray_reached);
		assert_int_equal(changes(), 0);
	}
	assert_int_equal(gcs_bench.gcs.refused, 1);
	assert_int_equal(gcs_bench.gcs.id_calls, 2);
	/* The worker is idle; while the head's container shows no restart it is kept, busy or
	 * not. */
	idle_again();
	pass_again();
	assert_int_equal(changes(), 0);
	assert_non_null(strstr(seen.active,
			       "Ray's session changed from session_a to session_b while "
			       "the container of the head Pod demo-head did not restart"));
	/* The container did restart: the worker is terminated as any other. */
	seen.pods = api.pods = LIST(RESTARTED_HEAD_POD "," WORKER_POD);
	pass_again();
	assert_int_equal(ray.drains, 1);
	assert_int_equal(api.patches, 1);
}

/* A GCS that reports another session, in a head that did not restart, and whose workers are
 * idle. */
static void test_another_session_in_the_same_head_terminates_nothing(void **state)
{
	(void)state;
	busy_worker();
	run_pass(NULL);
	cluster_state.cluster_session_name = (char *)"forged";
	idle_again();
	for (int i = 0; i < 3; i++) {
		pass_again();
		assert_true(seen.ray_reached);
		assert_int_equal(changes(), 0);
	}
	cluster_state.cluster_session_name = (char *)"session_a";
	pass_again();
	assert_int_equal(ray.drains, 1);
	assert_int_equal(api.patches, 1);
}

static void test_one_reply_that_leaves_a_worker_out_costs_nothing(void **state)
{
	(void)state;
	busy_worker();
	run_pass(NULL);
	cluster_state.n_node_states = 1;
	pass_again();
	assert_true(seen.ray_reached);
	assert_int_equal(changes(), 0);
	idle_again();
	pass_again();
	assert_int_equal(api.patches, 1);
}

static void test_a_dead_raylet_in_a_pod_that_runs(void **state)
{
	(void)state;
	busy_worker();
	ray_nodes[1].status = RAY__NODE_STATUS__DEAD;
	run_pass(NULL);
	assert_int_equal(changes(), 0);
	assert_non_null(strstr(seen.memory, "rayletGone"));
	seen.endings = 0;
	run_pass("{'rayletGone': [{'key': 'demo-worker', 'since': '2026-01-02T00:00:00Z'}]}");
	assert_int_equal(ray.drains, 0);
	assert_int_equal(api.patches, 1);
	assert_non_null(strstr(api.bodies[0], "workersToDelete\", \"value\": [\"demo-worker\"]"));
}

/* --- a controller that starts while Ray drains a worker on a Node that is to be repaired --- */

static Ray__GetDrainingNodesReply draining;
static int64_t drains_asked;

static const ProtobufCMessage *ray_drains(const char *path)
{
	drains_asked += strstr(path, "GetDrainingNodes") != NULL;
	return draining.n_draining_nodes > 0 ? &draining.base : NULL;
}

static void sick_node(void)
{
	static const struct taint taint = {
		.key = "nvidia.com/gpu-xid-error", .value = "", .effect = "NoSchedule", .added = 1
	};
	static const struct node node = {
		.name = "n1", .unschedulable = true, .taints = &taint, .taint_count = 1
	};

	busy_worker();
	ray_nodes[1].status = RAY__NODE_STATUS__DRAINING;
	ray_nodes[1].n_available_resources = 0;
	seen.pods = api.pods =
		LIST(HEAD_POD ",{'metadata': {'name': 'demo-worker', 'namespace': 'a', 'labels': {"
			      "'ray.io/cluster': 'demo', 'ray.io/node-type': 'worker',"
			      " 'ray.io/group': 'gpu'}}, 'spec': {'nodeName': 'n1', 'containers':"
			      " [{'name': 'ray-worker'}]}, 'status': " RUNNING "}");
	seen.node = &node;
	options.settings.repair_deadline_seconds = 600;
	ray.accept = true;
	ray.lists = ray_drains;
	draining.n_draining_nodes = 0;
	drains_asked = 0;
}

/* The list of Ray has a deadline for the worker. */
static void list_deadline(void)
{
	static Ray__DrainingNode of, *list[] = { &of };

	of = (Ray__DrainingNode)RAY__DRAINING_NODE__INIT;
	draining = (Ray__GetDrainingNodesReply)RAY__GET_DRAINING_NODES_REPLY__INIT;
	of.node_id = ray_nodes[1].node_id;
	of.draining_deadline_timestamp_ms = loop_wall(script.loop) + 300 * MS_PER_SECOND;
	draining.draining_nodes = list;
	draining.n_draining_nodes = 1;
}

/* In whole seconds, none of which is before it. */
static void assert_deadline_is_kept(void)
{
	int64_t deadline_ms = draining.draining_nodes[0]->draining_deadline_timestamp_ms;
	char wanted[100];

	assert_int_equal(ray.drains, 0);
	assert_int_equal(drains_asked, 1);
	(void)snprintf(wanted, sizeof(wanted), "\"count\": %lld",
		       (long long)((deadline_ms + MS_PER_SECOND - 1) / MS_PER_SECOND));
	assert_non_null(strstr(seen.memory, "notified"));
	assert_non_null(strstr(seen.memory, wanted));
}

static void test_the_deadline_of_ray_is_kept(void **state)
{
	(void)state;
	sick_node();
	list_deadline();
	run_pass(NULL);
	assert_deadline_is_kept();
	/* It is remembered from here on. */
	pass_again();
	assert_int_equal(ray.drains, 0);
	assert_int_equal(drains_asked, 1);
}

/* Killed just after Ray had accepted the drain: the first reply has the node as running yet. */
static void test_the_deadline_of_ray_is_kept_when_it_reports_late(void **state)
{
	const struct node *node;

	(void)state;
	sick_node();
	node = seen.node;
	seen.node = NULL;
	ray_nodes[1].status = RAY__NODE_STATUS__RUNNING;
	list_deadline();
	run_pass(NULL);
	assert_int_equal(drains_asked, 0);
	seen.node = node;
	ray_nodes[1].status = RAY__NODE_STATUS__DRAINING;
	pass_again();
	assert_deadline_is_kept();
}

/* Also when nothing is to be drained: a pool may have asked for it. */
static void test_deadlines_are_read_once_after_a_start(void **state)
{
	(void)state;
	sick_node();
	seen.node = NULL;
	run_pass(NULL);
	assert_int_equal(drains_asked, 1);
	pass_again();
	assert_int_equal(drains_asked, 1);
	assert_int_equal(ray.drains, 0);
}

static void test_without_the_list_of_ray_the_drain_is_sent_again(void **state)
{
	(void)state;
	sick_node();
	run_pass(NULL);
	assert_int_equal(drains_asked, 1);
	assert_int_equal(ray.drains, 1);
}

#define NO_MORE_ROOM                                                                               \
	"{'apiVersion': 'ray.io/v1', 'kind': 'RayCluster', 'metadata': {'name': 'demo',"           \
	" 'namespace': 'a', 'generation': 1}, 'spec': {'enableInTreeAutoscaling': true,"           \
	" 'headGroupSpec': {'rayStartParams': {}, 'template': {'spec': {'containers':"             \
	" [{'name': 'ray-head', 'resources': {'limits': {'cpu': '1'}}}]}}},"                       \
	" 'workerGroupSpecs': [{'groupName': 'gpu', 'replicas': 0, 'maxReplicas': 0,"              \
	" 'rayStartParams': {}, 'template': {'spec': {'containers': [{'name': 'ray-worker',"       \
	" 'resources': {'limits': {'cpu': '1', 'nvidia.com/gpu': '1'}}}]}}}]}}"
#define NEVER_REGISTERED                                                                           \
	"{'raySessions': [{'key': 'session_a', 'since': '2026-01-01T00:00:00Z'}],"                 \
	" 'unjoined': [{'key': 'demo-worker', 'since': '2026-01-01T00:00:00Z'}]}"

/* It runs, above maxReplicas, and no reply has known it. */
static void unregistered_worker(void)
{
	busy_worker();
	api.cluster = seen.cluster = NO_MORE_ROOM;
	cluster_state.n_node_states = 1;
}

static void test_surplus_that_is_not_registered_is_named(void **state)
{
	(void)state;
	unregistered_worker();
	run_pass(NEVER_REGISTERED);
	assert_int_equal(ray.reads, 2);
	assert_int_equal(api.patches, 1);
	assert_non_null(strstr(api.bodies[0], "workersToDelete\", \"value\": [\"demo-worker\"]"));
}

/* After the first reply, and with work at once. */
static void registers(const char *path)
{
	if (strstr(path, "GetClusterResourceState") && ray.reads > 0)
		cluster_state.n_node_states = 2;
}

static void test_what_registers_before_the_patch_stays(void **state)
{
	(void)state;
	unregistered_worker();
	ray.before = registers;
	run_pass(NEVER_REGISTERED);
	assert_int_equal(ray.reads, 2);
	assert_int_equal(changes(), 0);
}

static void fails(const char *path)
{
	ray.mute_state = strstr(path, "GetClusterResourceState") && ray.reads > 0;
}

static void test_without_a_second_reply_it_stays(void **state)
{
	(void)state;
	unregistered_worker();
	ray.before = fails;
	run_pass(NEVER_REGISTERED);
	assert_int_equal(ray.reads, 2);
	assert_int_equal(changes(), 0);
}

#define FOUGHT                                                                                     \
	"{'apiVersion': 'ray.io/v1', 'kind': 'RayCluster', 'metadata': {'name': 'demo',"           \
	" 'namespace': 'a', 'managedFields': [{'manager': 'argocd-controller', 'time':"            \
	" '2026-01-01T00:00:00Z', 'fieldsV1': {'f:spec': {'f:workerGroupSpecs': {}}}}]},"          \
	" 'spec': {'enableInTreeAutoscaling': true, 'headGroupSpec': {'rayStartParams': {},"       \
	" 'template': {'spec': {'containers': [{'name': 'ray-head', 'resources':"                  \
	" {'limits': {'cpu': '1'}}}]}}}, 'workerGroupSpecs': [" GROUP("0") "]}}"

/* Each patch is reverted to 0 replicas: one launch, two repairs, and no more for a while. */
static void test_no_endless_patching(void **state)
{
	(void)state;
	api.cluster = seen.cluster = FOUGHT;
	set_pending_gpus(1);
	run_pass(NULL);
	for (int i = 0; i < 12; i++)
		pass_again();
	assert_int_equal(api.patches, 3);
	assert_non_null(
		strstr(seen.memory, "argocd-controller set replicas of group gpu back 3 times"));
}

/* --- many heads that hang, and one that does not --- */

static struct fake_gcs hanging;
static int hung_decisions, hung_endings;

static void hung_decided(void *context, const struct pass_decision *decision)
{
	(void)context;
	assert_null(decision->ray_state);
	hung_decisions++;
}

static void hung_ended(void *context, const struct pass_result *result)
{
	struct pass **pass = context;

	assert_true(result->reading.took_us >= 900000);
	hung_endings++;
	pass_free(steal(pass));
}

static bool all_hung_have_ended(void *context)
{
	(void)context;
	return hung_endings == HANGING;
}

static bool all_are_asked(void *context)
{
	(void)context;
	return hanging.server.connections == HANGING && hanging.path[0] != '\0';
}

static void test_heads_that_hang_delay_no_other(void **state)
{
	struct gcs_client *clients[HANGING];
	struct pass *passes[HANGING];
	struct gcs_config gcs = gcs_bench_config();

	(void)state;
	memset(&hanging, 0, sizeof(hanging));
	hung_decisions = hung_endings = 0;
	hanging.server.handler = fake_gcs_handle;
	hanging.server.context = &hanging;
	hanging.mute = true;
	buf_init(&hanging.body, 1u << 20);
	h2_server_start(&hanging.server, gcs_bench.loop, 0);
	gcs.port = hanging.server.port;
	for (size_t i = 0; i < HANGING; i++) {
		struct pass_callbacks callbacks = { .context = &passes[i],
						    .view = pass_bench_view,
						    .current = pass_bench_current,
						    .decided = hung_decided,
						    .done = hung_ended };

		clients[i] = gcs_client_new(gcs_bench.loop, &gcs);
		passes[i] = pass_new(&(struct pass_config){ .control = &control,
							    .namespace_ = "a",
							    .name = "demo",
							    .api_version = "ray.io/v1",
							    .gcs = clients[i] },
				     &callbacks);
	}
	assert_true(loop_wait_until(script.loop, all_are_asked, NULL, WAIT_MS));
	set_pending_gpus(2);
	run_pass(NULL);
	assert_true(seen.patched);
	assert_int_equal(hung_endings, 0);
	assert_true(loop_wait_until(script.loop, all_hung_have_ended, NULL, WAIT_MS));
	assert_int_equal(hung_decisions, HANGING);
	assert_int_equal(api.patches, 1);
	for (size_t i = 0; i < HANGING; i++)
		gcs_client_free(clients[i]);
	h2_server_stop(&hanging.server);
	buf_done(&hanging.body);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, pass_bench_setup, pass_bench_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_reply_of_100_mib_is_refused_with_a_reason),
		TEST(test_reply_above_the_memory_of_a_pass),
		TEST(test_state_without_nodes_is_no_empty_cluster),
		TEST(test_what_a_reading_costs),
		TEST(test_a_network_policy_that_closes_the_port_is_named),
		TEST(test_a_network_policy_is_not_blamed_for_a_slow_reply),
		TEST(test_a_restarted_gcs_costs_no_worker),
		TEST(test_another_session_in_the_same_head_terminates_nothing),
		TEST(test_one_reply_that_leaves_a_worker_out_costs_nothing),
		TEST(test_the_deadline_of_ray_is_kept),
		TEST(test_the_deadline_of_ray_is_kept_when_it_reports_late),
		TEST(test_deadlines_are_read_once_after_a_start),
		TEST(test_without_the_list_of_ray_the_drain_is_sent_again),
		TEST(test_a_dead_raylet_in_a_pod_that_runs),
		TEST(test_surplus_that_is_not_registered_is_named),
		TEST(test_what_registers_before_the_patch_stays),
		TEST(test_without_a_second_reply_it_stays),
		TEST(test_no_endless_patching),
		TEST(test_heads_that_hang_delay_no_other),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
