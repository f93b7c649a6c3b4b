/* The lists of a GCS for a recording: what of a row is kept, against a scripted GCS. */
#include "test/support/gcs_bench.h"

#include <math.h>

#include "feature/record/gcs/gcs_work.h"
#include "gcs/gcs_list.h"

#define MS INT64_C(1000000) /* of nanoseconds */

static struct ray_work work;

static void read_list(enum ray_list list, const ProtobufCMessage *reply)
{
	gcs_bench_get_list(list, &gcs_work, reply);
	gcs_bench_run_good();
	work = *gcs_bench.reply.work;
}

static void expect_resource(const struct work_bundle *bundle, size_t index, const char *name,
			    int64_t amount)
{
	assert_true(index < bundle->resources.count);
	assert_string_equal(bundle->resources.at[index].name, name);
	assert_int_equal(bundle->resources.at[index].amount, amount);
}

typedef Ray__TaskInfoEntry__RequiredResourcesEntry task_entry;
typedef Ray__TaskStateUpdate__StateTsNsEntry task_time;

static Ray__TaskEvents *task_of(Ray__TaskType type, const char *name, double amount)
{
	Ray__TaskEvents *events = ARENA_NEW(&gcs_bench.sent, Ray__TaskEvents);
	Ray__TaskInfoEntry *info = ARENA_NEW(&gcs_bench.sent, Ray__TaskInfoEntry);
	Ray__TaskStateUpdate *update = ARENA_NEW(&gcs_bench.sent, Ray__TaskStateUpdate);
	task_entry *entry = ARENA_NEW(&gcs_bench.sent, task_entry);

	ray__task_events__init(events);
	ray__task_info_entry__init(info);
	ray__task_state_update__init(update);
	ray__task_info_entry__required_resources_entry__init(entry);
	events->task_id = BYTES("\xaa\1");
	events->job_id = BYTES("\3\0\0\0");
	events->task_info = info;
	events->state_updates = update;
	info->type = type;
	info->actor_id = BYTES("\xac\1");
	info->required_resources = arena_array(&gcs_bench.sent, 4, sizeof(entry));
	info->required_resources[info->n_required_resources++] = entry;
	entry->key = (char *)name;
	entry->value = amount;
	update->state_ts_ns = arena_array(&gcs_bench.sent, 8, sizeof(task_time *));
	return events;
}

static void add_time(Ray__TaskEvents *events, int32_t state, int64_t ns)
{
	Ray__TaskStateUpdate *update = events->state_updates;
	task_time *time = ARENA_NEW(&gcs_bench.sent, task_time);

	ray__task_state_update__state_ts_ns_entry__init(time);
	time->key = state;
	time->value = ns;
	update->state_ts_ns[update->n_state_ts_ns++] = time;
}

static void add_task_resource(Ray__TaskEvents *events, const char *name, double amount)
{
	Ray__TaskInfoEntry *info = events->task_info;
	task_entry *entry = ARENA_NEW(&gcs_bench.sent, task_entry);

	ray__task_info_entry__required_resources_entry__init(entry);
	entry->key = (char *)name;
	entry->value = amount;
	info->required_resources[info->n_required_resources++] = entry;
}

static void test_tasks(void **state)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	Ray__GetTaskEventsReply reply = RAY__GET_TASK_EVENTS_REPLY__INIT;
	Ray__TaskInfoEntry__LabelSelectorEntry label =
		RAY__TASK_INFO_ENTRY__LABEL_SELECTOR_ENTRY__INIT;
	Ray__TaskInfoEntry__LabelSelectorEntry *labels[] = { &label };
	Ray__TaskEvents *list[] = {
		task_of(RAY__TASK_TYPE__NORMAL_TASK, "GPU", 0.5),
		task_of(RAY__TASK_TYPE__NORMAL_TASK, "GPU_group_c29b", 2),
		task_of(RAY__TASK_TYPE__ACTOR_CREATION_TASK, "GPU", 1),
		task_of(RAY__TASK_TYPE__ACTOR_TASK, "GPU", 1),
		task_of(RAY__TASK_TYPE__NORMAL_TASK, "GPU", (double)NAN),
		task_of(RAY__TASK_TYPE__NORMAL_TASK, "node:10.0.0.1", 0.001),
	};
	const Ray__GetTaskEventsRequest *request;

	(void)state;
	label.key = (char *)"market";
	label.value = (char *)"in(spot)";
	list[0]->task_info->label_selector = labels;
	list[0]->task_info->n_label_selector = 1;
	list[0]->attempt_number = 2;
	list[0]->state_updates->node_id = BYTES("\x0d");
	add_time(list[0], GCS_TASK_PENDING_ARGS, 1000 * MS);
	add_time(list[0], GCS_TASK_PENDING_NODE, 1500 * MS);
	add_time(list[0], GCS_TASK_RUNNING, 2000 * MS);
	add_time(list[0], GCS_TASK_FINISHED, 9000 * MS);
	list[1]->task_info->placement_group_id = BYTES("\xc2\x9b");
	add_task_resource(list[1], "GPU_group_0_c29b", 2);
	add_task_resource(list[1], "bundle_group_c29b", 0.001);
	add_task_resource(list[1], "CPU_group_c29b", 0);
	add_time(list[1], GCS_TASK_PENDING_ARGS, 1000 * MS);
	add_time(list[1], GCS_TASK_RUNNING, -5);
	add_time(list[2], GCS_TASK_PENDING_NODE, 3000 * MS);
	reply.events_by_task = list;
	reply.n_events_by_task = SUPPORT_COUNT(list);
	reply.num_truncated = 7;
	reply.num_status_task_events_dropped = 2;
	read_list(RAY_LIST_TASKS, &reply.base);
	request = gcs_message_unpack(&ray__get_task_events_request__descriptor,
				     gcs_bench.gcs.body.data, gcs_bench.gcs.body.size, &arena,
				     NULL);
	assert_int_equal(request->limit, GCS_WORK_ROWS_MAX);
	assert_int_equal(request->filters->n_state_filters, 0);
	assert_int_equal(work.row_count, 4);
	assert_int_equal(work.missing, 8); /* with the one that is not a number */
	assert_int_equal(work.dropped, 2);
	assert_int_equal(work.rows[0].kind, WORK_TASK);
	assert_string_equal(work.rows[0].id, "aa01.2");
	assert_string_equal(work.rows[0].job, "03000000");
	assert_string_equal(work.rows[0].node, "0d");
	assert_int_equal(work.rows[0].submitted, 1500);
	assert_int_equal(work.rows[0].started, 2000);
	assert_int_equal(work.rows[0].ended, 9000);
	assert_true(work.rows[0].over);
	expect_resource(work.rows[0].bundles, 0, "GPU", 5000);
	assert_string_equal(work.rows[0].bundles->selector.at[0].value, "in(spot)");
	assert_string_equal(work.rows[1].group, "c29b");
	assert_int_equal(work.rows[1].submitted, 1000);
	assert_int_equal(work.rows[1].started, TIME_NONE);
	assert_false(work.rows[1].over);
	assert_int_equal(work.rows[1].bundles->resources.count, 1);
	expect_resource(work.rows[1].bundles, 0, "GPU", 20000);
	assert_int_equal(work.rows[2].kind, WORK_ACTOR);
	assert_string_equal(work.rows[2].id, "ac01");
	assert_int_equal(work.rows[2].submitted, 3000);
	assert_int_equal(work.rows[2].bundle_count, 0);
	assert_int_equal(work.rows[3].bundle_count, 0);
}

static void test_actors(void **state)
{
	Ray__GetAllActorInfoReply reply = RAY__GET_ALL_ACTOR_INFO_REPLY__INIT;
	Ray__ActorTableData actors[2], *list[] = { &actors[0], &actors[1] };
	Ray__ActorTableData__RequiredResourcesEntry gpu =
		RAY__ACTOR_TABLE_DATA__REQUIRED_RESOURCES_ENTRY__INIT;
	Ray__ActorTableData__RequiredResourcesEntry *gpus[] = { &gpu };

	(void)state;
	gpu.key = (char *)"GPU";
	gpu.value = 1;
	for (size_t i = 0; i < 2; i++) {
		ray__actor_table_data__init(&actors[i]);
		actors[i].actor_id = BYTES("\xac\1");
		actors[i].job_id = BYTES("\3\0\0\0");
		actors[i].required_resources = gpus;
		actors[i].n_required_resources = 1;
		actors[i].start_time = 5000;
		actors[i].end_time = 9000;
		actors[i].state = RAY__ACTOR_TABLE_DATA__ACTOR_STATE__ALIVE;
	}
	actors[1].state = RAY__ACTOR_TABLE_DATA__ACTOR_STATE__DEAD;
	actors[1].node_id = BYTES("\x0e");
	reply.actor_table_data = list;
	reply.n_actor_table_data = 2;
	reply.total = 5;
	read_list(RAY_LIST_ACTORS, &reply.base);
	assert_int_equal(work.row_count, 2);
	assert_int_equal(work.missing, 3);
	assert_string_equal(work.rows[0].id, "ac01");
	assert_int_equal(work.rows[0].started, 5000);
	assert_int_equal(work.rows[0].ended, TIME_NONE); /* it was restarted */
	assert_false(work.rows[0].over);
	assert_int_equal(work.rows[1].ended, 9000);
	assert_true(work.rows[1].over);
	assert_string_equal(work.rows[0].node, "");
	assert_string_equal(work.rows[1].node, "0e");
}

static void test_groups(void **state)
{
	Ray__GetAllPlacementGroupReply reply = RAY__GET_ALL_PLACEMENT_GROUP_REPLY__INIT;
	Ray__PlacementGroupTableData group = RAY__PLACEMENT_GROUP_TABLE_DATA__INIT, odd, empty;
	Ray__PlacementGroupTableData *list[] = { &group, &odd, &empty };
	Ray__Bundle__UnitResourcesEntry gpu = RAY__BUNDLE__UNIT_RESOURCES_ENTRY__INIT;
	Ray__Bundle__UnitResourcesEntry *gpus[] = { &gpu };
	Ray__Bundle bundle = RAY__BUNDLE__INIT, *bundles[] = { &bundle, &bundle };

	(void)state;
	gpu.key = (char *)"GPU";
	gpu.value = 4;
	bundle.unit_resources = gpus;
	bundle.n_unit_resources = 1;
	group.placement_group_id = BYTES("\xc2\x9b");
	group.creator_job_id = BYTES("\3\0\0\0");
	group.bundles = bundles;
	group.n_bundles = 2;
	group.strategy = RAY__PLACEMENT_STRATEGY__STRICT_PACK;
	group.state = RAY__PLACEMENT_GROUP_TABLE_DATA__PLACEMENT_GROUP_STATE__REMOVED;
	group.placement_group_creation_timestamp_ms = 1000;
	group.placement_group_final_bundle_placement_timestamp_ms = 3000;
	odd = empty = group;
	odd.strategy = (Ray__PlacementStrategy)77;
	empty.n_bundles = 0;
	reply.placement_group_table_data = list;
	reply.n_placement_group_table_data = 3;
	read_list(RAY_LIST_GROUPS, &reply.base);
	assert_int_equal(work.row_count, 1);
	assert_int_equal(work.missing, 2);
	assert_string_equal(work.rows[0].id, "c29b");
	assert_int_equal(work.rows[0].submitted, 1000);
	assert_int_equal(work.rows[0].started, 3000);
	assert_true(work.rows[0].over);
	assert_int_equal(work.rows[0].strategy, PLACEMENT_STRICT_PACK);
	assert_int_equal(work.rows[0].bundle_count, 2);
	expect_resource(&work.rows[0].bundles[1], 0, "GPU", 40000);
}

/* The entrypoint of a job may hold a password. */
static void test_jobs(void **state)
{
	Ray__GetAllJobInfoReply reply = RAY__GET_ALL_JOB_INFO_REPLY__INIT;
	Ray__JobTableData job = RAY__JOB_TABLE_DATA__INIT, *list[] = { &job };

	(void)state;
	job.job_id = BYTES("\3\0\0\0");
	job.end_time = 7000;
	job.entrypoint = (char *)"python a.py --password=x";
	reply.job_info_list = list;
	reply.n_job_info_list = 1;
	read_list(RAY_LIST_JOBS, &reply.base);
	assert_int_equal(work.job_count, 1);
	assert_string_equal(work.jobs[0].id, "03000000");
	assert_string_equal(work.jobs[0].name, "");
	assert_int_equal(work.jobs[0].ended, 7000);
}

static void test_refused(void **state)
{
	static char rows[2 * (GCS_WORK_ROWS_MAX + 1)];
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	struct gcs_reply reply;
	struct err err;

	(void)state;
	for (size_t i = 0; i < sizeof(rows); i += 2)
		rows[i] = 2 << 3 | 2;
	assert_int_equal(gcs_list_decode(&gcs_work, RAY_LIST_TASKS, rows, sizeof(rows) - 2, NULL,
					 &arena, &reply, &err),
			 0);
	assert_int_equal(gcs_list_decode(&gcs_work, RAY_LIST_TASKS, rows, sizeof(rows), NULL,
					 &arena, &reply, &err),
			 -1);
	assert_int_equal(err.kind, ERR_LIMIT);
	assert_non_null(strstr(err.text, "more than the 30000 rows"));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, gcs_bench_setup, gcs_bench_teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_tasks), TEST(test_actors),  TEST(test_groups),
		TEST(test_jobs),  TEST(test_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
