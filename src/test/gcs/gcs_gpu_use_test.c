/* The lists of actors, tasks, placement groups and jobs: requests and replies against a scripted
 * GCS, and forged replies. */
#include "test/support/gcs_bench.h"

#include <math.h>

#include "base/budget.h"
#include "gcs/gcs_gpu_use.h"
#include "gcs/gcs_list.h"

#define GROUP "GPU_group_c29b"
#define GROUP_0 "GPU_group_0_c29b"

static struct gpu_use use;

static void read_list(enum ray_list list, const ProtobufCMessage *reply)
{
	gcs_bench_get_list(list, &gcs_gpu_use, reply);
	gcs_bench_run_good();
	use = *gcs_bench.reply.gpu_use;
}

typedef Ray__ActorTableData__RequiredResourcesEntry actor_entry;

static actor_entry *entry_of(const char *name, double value)
{
	actor_entry *entry = ARENA_NEW(&gcs_bench.sent, actor_entry);

	ray__actor_table_data__required_resources_entry__init(entry);
	entry->key = (char *)name;
	entry->value = value;
	return entry;
}

static Ray__ActorTableData *actor_of(const char *name, double gpus)
{
	Ray__ActorTableData *actor = ARENA_NEW(&gcs_bench.sent, Ray__ActorTableData);

	ray__actor_table_data__init(actor);
	actor->class_name = (char *)name;
	actor->job_id = BYTES("\3\0\0\0");
	actor->node_id = BYTES("\xab\1");
	actor->state = RAY__ACTOR_TABLE_DATA__ACTOR_STATE__ALIVE;
	actor->start_time = 1795398087743;
	actor->required_resources = arena_array(&gcs_bench.sent, 4, sizeof(actor_entry *));
	actor->required_resources[0] = entry_of("GPU", gpus);
	actor->n_required_resources = 1;
	return actor;
}

static void expect_row(size_t index, enum gpu_holder_kind kind, const char *name, int64_t gpus,
		       time_ms since)
{
	assert_true(index < use.row_count);
	assert_int_equal(use.rows[index].kind, kind);
	assert_string_equal(use.rows[index].name, name);
	assert_string_equal(use.rows[index].job, "03000000");
	assert_string_equal(use.rows[index].node, "ab01");
	assert_int_equal(use.rows[index].gpus, gpus);
	assert_int_equal(use.rows[index].since, since);
}

static void test_actors(void **state)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	Ray__GetAllActorInfoReply reply = RAY__GET_ALL_ACTOR_INFO_REPLY__INIT;
	Ray__Address address = RAY__ADDRESS__INIT;
	Ray__ActorTableData *list[] = {
		actor_of("Trainer", 2),       actor_of("Loader", 0),    actor_of("Dead", 1),
		actor_of("Starting", 0.5),    actor_of("Waiting", 1),   actor_of("InGroup", 0),
		actor_of("Odd", (double)NAN), actor_of("Negative", -1),
	};
	const Ray__GetAllActorInfoRequest *request;

	(void)state;
	list[2]->state = RAY__ACTOR_TABLE_DATA__ACTOR_STATE__DEAD;
	list[3]->state = list[4]->state = RAY__ACTOR_TABLE_DATA__ACTOR_STATE__PENDING_CREATION;
	list[3]->node_id.len = list[4]->node_id.len = 0;
	address.node_id = BYTES("\xab\1");
	list[3]->address = &address;
	list[5]->placement_group_id = BYTES("\xc2\x9b");
	list[5]->required_resources[1] = entry_of(GROUP, 1);
	list[5]->required_resources[2] = entry_of(GROUP_0, 1);
	list[5]->n_required_resources = 3;
	list[5]->start_time = UINT64_MAX;
	reply.actor_table_data = list;
	reply.n_actor_table_data = SUPPORT_COUNT(list);
	reply.total = 11;
	read_list(RAY_LIST_ACTORS, &reply.base);
	assert_string_equal(gcs_bench.gcs.path, "/ray.rpc.ActorInfoGcsService/GetAllActorInfo");
	request = gcs_message_unpack(&ray__get_all_actor_info_request__descriptor,
				     gcs_bench.gcs.body.data, gcs_bench.gcs.body.size, &arena,
				     NULL);
	assert_int_equal(request->limit, GCS_GPU_USE_ROWS_MAX);
	assert_int_equal(use.row_count, 3);
	expect_row(0, GPU_HOLDER_ACTOR, "Trainer", 20000, 1795398087743);
	assert_string_equal(use.rows[0].group, "");
	expect_row(1, GPU_HOLDER_ACTOR, "Starting", 5000, TIME_NONE);
	expect_row(2, GPU_HOLDER_ACTOR, "InGroup", 10000, TIME_NONE);
	assert_string_equal(use.rows[2].group, "c29b");
	assert_int_equal(use.missing, 3);
}

/* Replicas of Ray Serve without a node, by deployment; of more deployments than are listed none. */
static void test_replicas_of_serve_that_wait(void **state)
{
	Ray__GetAllActorInfoReply reply = RAY__GET_ALL_ACTOR_INFO_REPLY__INIT;
	Ray__ActorTableData *list[64];
	size_t count = 0;

	(void)state;
	for (size_t i = 0; i < 5; i++)
		list[count++] = actor_of(i < 3 ? "ServeReplica:app:Model" : "ServeReplica:b:Other",
					 i % 2 ? 0 : 0.5);
	for (size_t i = 0; i < 40; i++)
		list[count++] =
			actor_of(arena_printf(&gcs_bench.sent, "ServeReplica:app:M%zu", i), 1);
	list[count++] = actor_of("ServeController", 0);
	for (size_t i = 1; i < count; i++)
		list[i]->node_id.len = 0;
	list[3]->state = RAY__ACTOR_TABLE_DATA__ACTOR_STATE__DEAD;
	reply.actor_table_data = list;
	reply.n_actor_table_data = count;
	read_list(RAY_LIST_ACTORS, &reply.base);
	assert_int_equal(use.deployment_count, GPU_USE_DEPLOYMENTS_MAX);
	assert_string_equal(use.deployments[0].name, "app:Model");
	assert_int_equal(use.deployments[0].replicas, 2);
	assert_string_equal(use.deployments[1].name, "b:Other");
	assert_int_equal(use.deployments[1].replicas, 1);
}

/* The actor through which Ray Data and Ray Train ask holds nothing, and shows that one of them runs. */
static void test_coordinator_of_the_libraries(void **state)
{
	Ray__GetAllActorInfoReply reply = RAY__GET_ALL_ACTOR_INFO_REPLY__INIT;
	Ray__ActorTableData *list[] = { actor_of("_AutoscalingCoordinatorActor", 0) };

	(void)state;
	reply.actor_table_data = list;
	reply.n_actor_table_data = SUPPORT_COUNT(list);
	read_list(RAY_LIST_ACTORS, &reply.base);
	assert_true(use.libraries);
	assert_int_equal(use.row_count, 0);
	list[0]->state = RAY__ACTOR_TABLE_DATA__ACTOR_STATE__DEAD;
	read_list(RAY_LIST_ACTORS, &reply.base);
	assert_false(use.libraries);
}

/* A reply of this size is decoded on the thread pool. */
static void test_many_actors(void **state)
{
	Ray__GetAllActorInfoReply reply = RAY__GET_ALL_ACTOR_INFO_REPLY__INIT;
	Ray__ActorTableData *list[3000];

	(void)state;
	for (size_t i = 0; i < SUPPORT_COUNT(list); i++)
		list[i] = actor_of(arena_printf(&gcs_bench.sent, "Trainer%zu", i), 1);
	reply.actor_table_data = list;
	reply.n_actor_table_data = SUPPORT_COUNT(list);
	read_list(RAY_LIST_ACTORS, &reply.base);
	assert_true(protobuf_c_message_get_packed_size(&reply.base) > ((size_t)64 << 10));
	assert_int_equal(use.row_count, SUPPORT_COUNT(list));
	expect_row(2999, GPU_HOLDER_ACTOR, "Trainer2999", 10000, 1795398087743);
}

static void test_tasks(void **state)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	Ray__GetTaskEventsReply reply = RAY__GET_TASK_EVENTS_REPLY__INIT;
	Ray__TaskInfoEntry__RequiredResourcesEntry gpu =
		RAY__TASK_INFO_ENTRY__REQUIRED_RESOURCES_ENTRY__INIT;
	Ray__TaskInfoEntry__RequiredResourcesEntry *gpus[] = { &gpu };
	Ray__TaskStateUpdate__StateTsNsEntry runs = RAY__TASK_STATE_UPDATE__STATE_TS_NS_ENTRY__INIT;
	Ray__TaskStateUpdate__StateTsNsEntry ended = runs, *times[] = { &runs, &ended };
	Ray__TaskInfoEntry info[4];
	Ray__TaskStateUpdate update[4];
	Ray__TaskEvents events[5], *list[5];
	const Ray__GetTaskEventsRequest *request;

	(void)state;
	gpu.key = (char *)"GPU";
	gpu.value = 1;
	runs.key = 8;
	runs.value = INT64_C(1795398088763353121);
	ended.key = 11;
	for (size_t i = 0; i < 5; i++) {
		ray__task_events__init(&events[i]);
		list[i] = &events[i];
		events[i].job_id = BYTES("\3\0\0\0");
		if (i == 4)
			continue; /* no task_info, as of a driver that has ended */
		ray__task_info_entry__init(&info[i]);
		ray__task_state_update__init(&update[i]);
		info[i].func_or_class_name = (char *)"crunch";
		info[i].required_resources = gpus;
		info[i].n_required_resources = 1;
		update[i].node_id = BYTES("\xab\1");
		update[i].state_ts_ns = times;
		update[i].n_state_ts_ns = 1;
		events[i].task_info = &info[i];
		events[i].state_updates = &update[i];
	}
	update[1].n_state_ts_ns = 2;               /* has ended */
	info[2].type = RAY__TASK_TYPE__ACTOR_TASK; /* its actor holds the GPU */
	update[3].n_state_ts_ns = 0;               /* does not run yet */
	reply.events_by_task = list;
	reply.n_events_by_task = 5;
	reply.num_truncated = 7;
	reply.num_status_task_events_dropped = 2;
	read_list(RAY_LIST_TASKS, &reply.base);
	assert_string_equal(gcs_bench.gcs.path, "/ray.rpc.TaskInfoGcsService/GetTaskEvents");
	request = gcs_message_unpack(&ray__get_task_events_request__descriptor,
				     gcs_bench.gcs.body.data, gcs_bench.gcs.body.size, &arena,
				     NULL);
	assert_int_equal(request->limit, GCS_GPU_USE_ROWS_MAX);
	assert_true(request->filters->exclude_driver);
	assert_int_equal(request->filters->n_state_filters, 6);
	assert_int_equal(request->filters->state_filters[4]->predicate, 1);
	assert_string_equal(request->filters->state_filters[4]->state, "FINISHED");
	assert_int_equal(use.row_count, 1);
	expect_row(0, GPU_HOLDER_TASK, "crunch", 10000, INT64_C(1795398088763));
	assert_int_equal(use.missing, 7);
	assert_int_equal(use.dropped, 2);
}

static void test_groups(void **state)
{
	Ray__GetAllPlacementGroupReply reply = RAY__GET_ALL_PLACEMENT_GROUP_REPLY__INIT;
	Ray__PlacementGroupTableData group = RAY__PLACEMENT_GROUP_TABLE_DATA__INIT, removed;
	Ray__PlacementGroupTableData *list[] = { &group, &removed };
	Ray__Bundle__UnitResourcesEntry gpu = RAY__BUNDLE__UNIT_RESOURCES_ENTRY__INIT;
	Ray__Bundle__UnitResourcesEntry *gpus[] = { &gpu };
	Ray__Bundle placed = RAY__BUNDLE__INIT, unplaced, *bundles[] = { &placed, &unplaced };

	(void)state;
	gpu.key = (char *)"GPU";
	gpu.value = 4;
	placed.unit_resources = gpus;
	placed.n_unit_resources = 1;
	unplaced = placed;
	placed.node_id = BYTES("\xab\1");
	group.name = (char *)"pgx";
	group.placement_group_id = BYTES("\xc2\x9b");
	group.creator_job_id = BYTES("\3\0\0\0");
	group.bundles = bundles;
	group.n_bundles = 2;
	group.placement_group_final_bundle_placement_timestamp_ms = 1795398087861;
	removed = group;
	removed.state = RAY__PLACEMENT_GROUP_TABLE_DATA__PLACEMENT_GROUP_STATE__REMOVED;
	reply.placement_group_table_data = list;
	reply.n_placement_group_table_data = 2;
	read_list(RAY_LIST_GROUPS, &reply.base);
	assert_string_equal(gcs_bench.gcs.path,
			    "/ray.rpc.PlacementGroupInfoGcsService/GetAllPlacementGroup");
	assert_int_equal(use.row_count, 1);
	expect_row(0, GPU_HOLDER_GROUP, "pgx", 40000, 1795398087861);
	assert_string_equal(use.rows[0].group, "c29b");
}

/* The placement group of a replica waits before its actor exists; other names are no replicas. */
static void test_replicas_of_serve_with_bundles(void **state)
{
	static const char *const names[] = { "SERVE_REPLICA::wide#Model#a1",
					     "SERVE_REPLICA::wide#Model#b2",
					     "SERVE_REPLICA::wide#Model#c3",
					     "SERVE_REPLICA::wide",
					     "SERVE_REPLICA::#",
					     "other" };
	Ray__GetAllPlacementGroupReply reply = RAY__GET_ALL_PLACEMENT_GROUP_REPLY__INIT;
	Ray__PlacementGroupTableData groups[SUPPORT_COUNT(names)], *list[SUPPORT_COUNT(names)];

	(void)state;
	for (size_t i = 0; i < SUPPORT_COUNT(names); i++) {
		ray__placement_group_table_data__init(&groups[i]);
		groups[i].name = (char *)names[i];
		list[i] = &groups[i];
	}
	groups[0].state = RAY__PLACEMENT_GROUP_TABLE_DATA__PLACEMENT_GROUP_STATE__CREATED;
	groups[1].state = RAY__PLACEMENT_GROUP_TABLE_DATA__PLACEMENT_GROUP_STATE__RESCHEDULING;
	reply.placement_group_table_data = list;
	reply.n_placement_group_table_data = SUPPORT_COUNT(names);
	read_list(RAY_LIST_GROUPS, &reply.base);
	assert_int_equal(use.deployment_count, 1);
	assert_string_equal(use.deployments[0].name, "wide:Model");
	assert_int_equal(use.deployments[0].replicas, 2);
}

static void test_jobs(void **state)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	Ray__GetAllJobInfoReply reply = RAY__GET_ALL_JOB_INFO_REPLY__INIT;
	Ray__JobConfig config = RAY__JOB_CONFIG__INIT;
	Ray__JobConfig__MetadataEntry name = RAY__JOB_CONFIG__METADATA_ENTRY__INIT;
	Ray__JobConfig__MetadataEntry id = name, *metadata[] = { &name, &id };
	Ray__JobTableData job = RAY__JOB_TABLE_DATA__INIT, *list[] = { &job };
	const Ray__GetAllJobInfoRequest *request;
	char entrypoint[1000];

	(void)state;
	memset(entrypoint, 'a', sizeof(entrypoint) - 1);
	entrypoint[sizeof(entrypoint) - 1] = '\0';
	name.key = (char *)"job_name";
	id.key = (char *)"job_submission_id";
	id.value = (char *)"raysubmit_1";
	config.metadata = metadata;
	config.n_metadata = 2;
	job.job_id = BYTES("\3\0\0\0");
	job.config = &config;
	job.entrypoint = entrypoint;
	reply.job_info_list = list;
	reply.n_job_info_list = 1;
	read_list(RAY_LIST_JOBS, &reply.base);
	assert_string_equal(gcs_bench.gcs.path, "/ray.rpc.JobInfoGcsService/GetAllJobInfo");
	request = gcs_message_unpack(&ray__get_all_job_info_request__descriptor,
				     gcs_bench.gcs.body.data, gcs_bench.gcs.body.size, &arena,
				     NULL);
	assert_int_equal(request->limit, GCS_GPU_USE_ROWS_MAX);
	assert_true(request->skip_is_running_tasks_field);
	assert_int_equal(use.job_count, 1);
	assert_string_equal(use.jobs[0].id, "03000000");
	assert_string_equal(use.jobs[0].submission, "raysubmit_1");
	assert_true(strlen(use.jobs[0].entrypoint) <= GCS_GPU_USE_ENTRYPOINT_MAX_BYTES);
}

static void test_refused(void **state)
{
	Ray__GetAllActorInfoReply reply = RAY__GET_ALL_ACTOR_INFO_REPLY__INIT;
	Ray__ActorTableData *actor = actor_of("Trainer", 2);
	Ray__GcsStatus status = RAY__GCS_STATUS__INIT;
	char id[GCS_LIST_ID_MAX_BYTES + 1] = { 1 };

	(void)state;
	actor->node_id = (ProtobufCBinaryData){ .data = (uint8_t *)id, .len = sizeof(id) };
	reply.actor_table_data = &actor;
	reply.n_actor_table_data = 1;
	gcs_bench_get_list(RAY_LIST_ACTORS, &gcs_gpu_use, &reply.base);
	gcs_bench_run_error(ERR_LIMIT, "row 1: nodeId has 65 bytes, above the limit of 64");
	reply.n_actor_table_data = 0;
	reply.status = &status;
	status.code = 5;
	status.message = (char *)"not now";
	gcs_bench_get_list(RAY_LIST_ACTORS, &gcs_gpu_use, &reply.base);
	gcs_bench_run_error(ERR_RETRY,
			    "default/demo: GetAllActorInfo: the GCS answered: not now (5)");
}

static int decode(const void *data, size_t size, struct arena *arena, struct err *err)
{
	struct gcs_reply reply;

	return gcs_list_decode(&gcs_gpu_use, RAY_LIST_ACTORS, data, size, NULL, arena, &reply, err);
}

/* 8 million empty rows have 16 MiB. */
static void test_too_many_rows(void **state)
{
	static char rows[2 * (GCS_GPU_USE_ROWS_MAX + 1)];
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	struct err err;

	(void)state;
	for (size_t i = 0; i < sizeof(rows); i += 2)
		rows[i] = 2 << 3 | 2;
	assert_int_equal(decode(rows, sizeof(rows) - 2, &arena, &err), 0);
	assert_int_equal(decode(rows, sizeof(rows), &arena, &err), -1);
	assert_int_equal(err.kind, ERR_LIMIT);
	assert_non_null(strstr(err.text, "more than the 10000 rows"));
	assert_int_equal(decode("\x12\x7f", 2, &arena, &err), -1);
	assert_int_equal(err.kind, ERR_INPUT);
}

static void test_budget(void **state)
{
	struct budget budget = { .name = "all answers", .limit_bytes = 4096 };
	AUTO(arena_done) struct arena arena = { .budget = &budget };
	AUTO(buf_done) struct buf bytes;
	Ray__GetAllActorInfoReply reply = RAY__GET_ALL_ACTOR_INFO_REPLY__INIT;
	Ray__ActorTableData *list[100];
	struct err err;

	(void)state;
	for (size_t i = 0; i < SUPPORT_COUNT(list); i++)
		list[i] = actor_of("Trainer", 2);
	reply.actor_table_data = list;
	reply.n_actor_table_data = SUPPORT_COUNT(list);
	buf_init(&bytes, 1 << 20);
	assert_int_equal(gcs_message_pack(&reply.base, &bytes), 0);
	assert_int_equal(decode(bytes.data, bytes.size, &arena, &err), -1);
	assert_int_equal(err.kind, ERR_LIMIT);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, gcs_bench_setup, gcs_bench_teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_actors),
		TEST(test_many_actors),
		TEST(test_tasks),
		TEST(test_actors),
		TEST(test_replicas_of_serve_that_wait),
		TEST(test_coordinator_of_the_libraries),
		TEST(test_replicas_of_serve_with_bundles),
		TEST(test_tasks),
		TEST(test_groups),
		TEST(test_jobs),
		TEST(test_refused),
		TEST(test_too_many_rows),
		TEST(test_budget),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
