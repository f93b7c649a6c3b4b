/* Idle termination of a pass, against a scripted GCS and a scripted API server: the lists are read
 * only when the time has passed, and each kind of use and of doubt keeps the cluster. */
#include "gcs/gcs_in_use.h"
#include "test/support/pass_bench.h"

#define IDLE_CLUSTER(policy)                                                                       \
	"{'apiVersion': 'ray.io/v1', 'kind': 'RayCluster', 'metadata': {'name': 'demo',"           \
	" 'namespace': 'a', 'generation': 1, 'uid': 'u-1', 'resourceVersion': '7'}, 'spec':"       \
	" {'enableInTreeAutoscaling': true, 'idleTerminationOptions': {'timeoutSeconds': 60,"      \
	" 'policy': '" policy "'}, 'headGroupSpec': {'rayStartParams': {}, 'template': {'spec':"   \
	" {'containers': [{'name': 'ray-head', 'resources': {'limits': {'cpu': '1'}}}]}}},"        \
	" 'workerGroupSpecs': [" GROUP("0") "]}}"
#define SUSPENDED                                                                                  \
	"{'apiVersion': 'ray.io/v1', 'kind': 'RayCluster', 'metadata': {'name': 'demo',"           \
	" 'namespace': 'a', 'generation': 2, 'uid': 'u-1', 'resourceVersion': '8', 'annotations':" \
	" {'rayscaler.dev/suspended-by-idle-termination': '2026-01-01T01:00:00Z'}}, 'spec':"       \
	" {'suspend': true, 'enableInTreeAutoscaling': true, 'headGroupSpec': {'rayStartParams':"  \
	" {}, 'template': {'spec': {'containers': [{'name': 'ray-head'}]}}}, 'workerGroupSpecs':"  \
	" [" GROUP("0") "]}}"
#define READY_HEAD                                                                                  \
	LIST("{'metadata': {'name': 'demo-head', 'namespace': 'a', 'labels': {'ray.io/cluster':"    \
	     " 'demo', 'ray.io/node-type': 'head', 'ray.io/group': 'headgroup'},"                   \
	     " 'ownerReferences': [{'apiVersion': 'ray.io/v1', 'kind': 'RayCluster', 'name':"       \
	     " 'demo', 'uid': 'u-1', 'controller': true}]}, 'spec': {'containers': [{'name':"       \
	     " 'ray-worker'}]}, 'status': {'phase': 'Running', 'podIP': '127.0.0.1', 'conditions':" \
	     " [{'type': 'Ready', 'status': 'True', 'lastTransitionTime':"                          \
	     " '2026-01-01T00:00:00Z'}], 'containerStatuses': [{'name': 'ray-worker', 'state':"     \
	     " {'running': {'startedAt': '2026-01-01T00:00:00Z'}}}]}}")
/* Long before the last use, which the head reports. */
#define MEMORY "{'clusterIdle': [{'key': 'cluster', 'since': '2026-01-01T00:00:00Z'}]}"

static struct lists {
	unsigned asked;
	const char *fails; /* part of a path; NULL: none */
	Ray__GetAllActorInfoReply actors;
	Ray__GetAllPlacementGroupReply groups;
	Ray__GetAllJobInfoReply jobs;
	Ray__InternalKVKeysReply keys;
	Ray__InternalKVMultiGetReply values;
} lists;

static const ProtobufCMessage *list_of(const char *path)
{
	lists.asked++;
	if (lists.fails && strstr(path, lists.fails))
		return NULL;
	if (strstr(path, "GetAllActorInfo"))
		return &lists.actors.base;
	if (strstr(path, "GetAllPlacementGroup"))
		return &lists.groups.base;
	if (strstr(path, "GetAllJobInfo"))
		return &lists.jobs.base;
	return strstr(path, "InternalKVKeys") ? &lists.keys.base : &lists.values.base;
}

static int setup(void **state)
{
	int failed = pass_bench_setup(state);

	lists = (struct lists){ .asked = 0 };
	ray__get_all_actor_info_reply__init(&lists.actors);
	ray__get_all_placement_group_reply__init(&lists.groups);
	ray__get_all_job_info_reply__init(&lists.jobs);
	ray__internal_kvkeys_reply__init(&lists.keys);
	ray__internal_kvmulti_get_reply__init(&lists.values);
	ray.lists = list_of;
	ray_nodes[0].status = RAY__NODE_STATUS__IDLE;
	ray_nodes[0].idle_duration_ms = 3600000;
	seen.cluster = api.cluster = IDLE_CLUSTER("Suspend");
	seen.pods = api.pods = READY_HEAD;
	return failed;
}

static void run(const char *memory)
{
	seen.endings = 0;
	run_pass(memory);
}

static void expect_suspended(void)
{
	run(MEMORY);
	assert_int_equal(api.patches, 1);
	assert_string_equal(api.verb, "PATCH");
	assert_non_null(strstr(api.bodies[0], "\"/metadata/uid\", \"value\": \"u-1\""));
	assert_non_null(strstr(api.bodies[0], "\"/metadata/resourceVersion\", \"value\": \"7\""));
	assert_non_null(strstr(api.bodies[0], "~1suspended-by-idle-termination\", \"value\": \"2"));
	assert_non_null(strstr(api.bodies[0], "\"/spec/suspend\", \"value\": true"));
	assert_null(strstr(seen.memory, "clusterIdle"));
}

/* Nothing is written; the text is in the memory, for the condition of the next passes. */
static void expect_kept(const char *why)
{
	run(MEMORY);
	assert_int_equal(api.patches, 0);
	if (!strstr(seen.memory, why))
		fail_msg("%s is not in %s", why, seen.memory);
}

static void test_nothing_uses_it(void **state)
{
	(void)state;
	expect_suspended();
	assert_int_equal(lists.asked, 4);
	assert_int_equal(ray.reads, 2); /* the state is read with the lists again */
}

/* No list is read before the time has passed, also not by a new process. */
static void test_lists_are_not_read_early(void **state)
{
	(void)state;
	run(NULL);
	ray_nodes[0].idle_duration_ms = 59000;
	run(MEMORY);
	assert_int_equal(lists.asked, 0);
	assert_int_equal(api.patches, 0);
}

static void test_actors(void **state)
{
	Ray__ActorTableData actor = RAY__ACTOR_TABLE_DATA__INIT, *rows[] = { &actor };

	(void)state;
	lists.actors.actor_table_data = rows;
	lists.actors.n_actor_table_data = 1;
	actor.class_name = (char *)"Counter";
	actor.actor_id = BYTES("\x0a");
	for (int i = 0; i < RAY__ACTOR_TABLE_DATA__ACTOR_STATE__DEAD; i++) {
		actor.state = (Ray__ActorTableData__ActorState)i;
		expect_kept("actor Counter 0a is alive");
	}
	actor.state = RAY__ACTOR_TABLE_DATA__ACTOR_STATE__DEAD;
	expect_suspended();
}

static void test_placement_groups(void **state)
{
	Ray__PlacementGroupTableData group = RAY__PLACEMENT_GROUP_TABLE_DATA__INIT;
	Ray__PlacementGroupTableData *rows[] = { &group };

	(void)state;
	lists.groups.placement_group_table_data = rows;
	lists.groups.n_placement_group_table_data = 1;
	group.placement_group_id = BYTES("\x0b");
	group.state = RAY__PLACEMENT_GROUP_TABLE_DATA__PLACEMENT_GROUP_STATE__CREATED;
	expect_kept("placement group 0b exists");
	group.state = RAY__PLACEMENT_GROUP_TABLE_DATA__PLACEMENT_GROUP_STATE__REMOVED;
	expect_suspended();
}

static void test_drivers(void **state)
{
	Ray__JobConfig config = RAY__JOB_CONFIG__INIT;
	Ray__JobTableData job = RAY__JOB_TABLE_DATA__INIT, *rows[] = { &job };

	(void)state;
	lists.jobs.job_info_list = rows;
	lists.jobs.n_job_info_list = 1;
	job.job_id = BYTES("\x01");
	job.config = &config;
	config.ray_namespace = (char *)"mine";
	expect_kept("driver 01 is connected");
	config.ray_namespace = (char *)"_ray_internal_dashboard";
	expect_suspended();
}

/* It came and went since the last pass: the time begins again at its end. */
static void test_driver_that_ended(void **state)
{
	Ray__JobTableData job = RAY__JOB_TABLE_DATA__INIT, *rows[] = { &job };

	(void)state;
	lists.jobs.job_info_list = rows;
	lists.jobs.n_job_info_list = 1;
	job.is_dead = true;
	job.end_time = (uint64_t)loop_wall(gcs_bench.loop) - 30000;
	run(MEMORY);
	assert_int_equal(api.patches, 0);
}

static void test_submitted_jobs(void **state)
{
	static const char *const ended[] = { "SUCCEEDED", "FAILED", "STOPPED" };
	ProtobufCBinaryData key = BYTES("_ray_internal_job_info_raysubmit_1");
	Ray__MapFieldEntry entry = RAY__MAP_FIELD_ENTRY__INIT, *entries[] = { &entry };
	static char large[20000];
	char value[100];

	(void)state;
	lists.keys.results = &key;
	lists.keys.n_results = 1;
	lists.values.results = entries;
	lists.values.n_results = 1;
	entry.key = key;
	entry.value = BYTES("{\"status\": \"PENDING\"}");
	expect_kept("Ray job raysubmit_1 is PENDING");
	entry.value = BYTES("{}");
	expect_kept("Ray job raysubmit_1 is ");
	entry.value = BYTES("[");
	expect_kept("the list of submitted Ray jobs is unknown");
	/* Their values are decoded beside the loop. */
	memset(large, ' ', sizeof(large));
	memcpy(large, "{\"status\": \"PENDING\"", strlen("{\"status\": \"PENDING\""));
	large[sizeof(large) - 1] = '}';
	entry.value = (ProtobufCBinaryData){ sizeof(large), (uint8_t *)large };
	expect_kept("Ray job raysubmit_1 is PENDING");
	for (size_t i = 0; i < SUPPORT_COUNT(ended); i++) {
		(void)snprintf(value, sizeof(value), "{\"status\": \"%s\"}", ended[i]);
		entry.value = (ProtobufCBinaryData){ strlen(value), (uint8_t *)value };
		api.patches = 0; /* of the status before */
		expect_suspended();
	}
}

static void test_lists_that_fail(void **state)
{
	static const char *const paths[] = { "GetAllActorInfo", "GetAllPlacementGroup",
					     "GetAllJobInfo", "InternalKVKeys" };

	(void)state;
	for (size_t i = 0; i < SUPPORT_COUNT(paths); i++) {
		lists.fails = paths[i];
		expect_kept("is unknown: ");
	}
	lists.fails = NULL;
	lists.actors.total = 5;
	expect_kept("the list of actors is incomplete: 5 missing");
}

static void test_delete(void **state)
{
	(void)state;
	seen.cluster = api.cluster = IDLE_CLUSTER("Delete");
	run(MEMORY);
	assert_int_equal(api.patches, 1);
	assert_string_equal(api.verb, "DELETE");
	assert_string_equal(api.bodies[0], "{\"preconditions\": {\"uid\": \"u-1\", "
					   "\"resourceVersion\": \"7\"}}");
}

static void test_delete_is_denied(void **state)
{
	char memory[sizeof(seen.memory)];

	(void)state;
	seen.cluster = api.cluster = IDLE_CLUSTER("Delete");
	api.statuses[0] = 403;
	run(MEMORY);
	assert_int_equal(api.patches, 1);
	assert_non_null(strstr(seen.memory, "deleteDenied"));
	assert_non_null(strstr(seen.memory, "delete"));
	memcpy(memory, seen.memory, sizeof(memory));
	run(memory);
	assert_int_equal(api.patches, 1);
}

/* Another writer: the present object is read and decided on. */
static void test_conflict(void **state)
{
	(void)state;
	api.statuses[0] = 409;
	run(MEMORY);
	assert_int_equal(api.patches, 2);
	assert_int_equal(api.gets, 1);
	assert_int_equal(lists.asked, 4);
}

/* The patch was carried out: the pass ends as with its answer. */
static void test_lost_answer(void **state)
{
	(void)state;
	api.statuses[0] = 504;
	api.cluster = SUSPENDED;
	run(MEMORY);
	assert_int_equal(api.patches, 1);
	assert_int_equal(api.gets, 1);
	assert_true(seen.patched);
	assert_int_equal(seen.err.kind, ERR_NONE);
	assert_non_null(strstr(seen.memory, "{"));
	assert_null(strstr(seen.memory, "clusterIdle"));
}

/* It was not: nothing is decided on the old lists, and the next pass reads new ones. */
static void test_lost_patch(void **state)
{
	(void)state;
	api.statuses[0] = 504;
	run(MEMORY);
	assert_int_equal(api.patches, 1);
	assert_int_equal(api.gets, 1);
	assert_false(seen.patched);
	assert_int_not_equal(seen.err.kind, ERR_NONE);
	assert_string_equal(seen.memory, ""); /* the old one stays */
	run(MEMORY);
	assert_int_equal(api.patches, 2);
	assert_int_equal(lists.asked, 8);
}

static void no_answer(struct exchange *exchange, void *context)
{
	(void)context;
	exchange_answer(exchange, 504, "", "{}");
}

/* Nobody knows: the time begins again, as if it had been carried out. */
static void test_lost_answer_and_no_other(void **state)
{
	(void)state;
	api.all = no_answer;
	run(MEMORY);
	assert_false(seen.patched);
	assert_non_null(strstr(seen.memory, "{"));
	assert_null(strstr(seen.memory, "clusterIdle"));
}

/* ---- a cluster that is suspended, while its head lives ---- */

static void run_ending(void)
{
	seen.cluster = api.cluster = SUSPENDED;
	seen.read_work = true;
	run(MEMORY);
	assert_int_equal(ray.reads, 1);
	assert_int_equal(lists.asked, 4);
	ray.reads = lists.asked = 0;
}

static void expect_resumed(void)
{
	api.patches = 0;
	run_ending();
	assert_int_equal(api.patches, 1);
	assert_non_null(strstr(api.bodies[0], "\"/metadata/uid\", \"value\": \"u-1\""));
	assert_non_null(strstr(api.bodies[0], "\"/spec/suspend\", \"value\": false"));
}

static void test_driver_while_it_ends(void **state)
{
	Ray__JobTableData job = RAY__JOB_TABLE_DATA__INIT, *rows[] = { &job };

	(void)state;
	run_ending();
	assert_int_equal(api.patches, 0);
	lists.jobs.job_info_list = rows;
	lists.jobs.n_job_info_list = 1;
	job.job_id = BYTES("\x01");
	expect_resumed();
	/* The driver that ended meanwhile needs nothing. */
	job.is_dead = true;
	api.patches = 0;
	run_ending();
	assert_int_equal(api.patches, 0);
}

static void test_demand_while_it_ends(void **state)
{
	(void)state;
	set_pending_gpus(1);
	expect_resumed();
}

/* A head that is ending answers with errors. */
static void test_doubt_while_it_ends(void **state)
{
	(void)state;
	lists.fails = "GetAllActorInfo";
	ray_nodes[0].status = RAY__NODE_STATUS__RUNNING;
	run_ending();
	assert_int_equal(api.patches, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, pass_bench_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_nothing_uses_it),
		TEST(test_lists_are_not_read_early),
		TEST(test_actors),
		TEST(test_placement_groups),
		TEST(test_drivers),
		TEST(test_driver_that_ended),
		TEST(test_submitted_jobs),
		TEST(test_lists_that_fail),
		TEST(test_delete),
		TEST(test_delete_is_denied),
		TEST(test_conflict),
		TEST(test_lost_answer),
		TEST(test_lost_patch),
		TEST(test_lost_answer_and_no_other),
		TEST(test_driver_while_it_ends),
		TEST(test_demand_while_it_ends),
		TEST(test_doubt_while_it_ends),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
