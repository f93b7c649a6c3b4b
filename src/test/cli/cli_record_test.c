/* `record` against a scripted API server, and its file in `simulate`. */
#include "cli/shared/commands.h"

#include "base/memory.h"
#include "cli/shared/file.h"
#include "feature/record/cli/recorder.h"
#include "test/support/cli_server.h"

#define READY "{'type':'Ready','status':'True','lastTransitionTime':'2026-11-21T09:00:30Z'}"
#define SNAPSHOT                                                                                   \
	"{'apiVersion':'rayscaler.dev/v1alpha1','kind':'Snapshot','now':'2026-11-21T10:00:00Z',"   \
	"'rayCluster':{'apiVersion':'ray.io/v1','metadata':{'namespace':'ray','name':'demo'},"     \
	"'spec':{'enableInTreeAutoscaling':true,'workerGroupSpecs':[{'groupName':'gpu',"           \
	"'replicas':2,'minReplicas':0,'maxReplicas':4,'template':{'spec':{'containers':[{'name':"  \
	"'w','env':[{'name':'A','value':'hunter2'}],'resources':{'limits':{'cpu':'1',"             \
	"'nvidia.com/gpu':'2'}}}]}}}]}},'pods':[{'metadata':{'namespace':'ray','name':'w1','uid':" \
	"'u1','creationTimestamp':'2026-11-21T09:00:10Z','labels':{'ray.io/cluster':'demo',"       \
	"'ray.io/node-type':'worker','ray.io/group':'gpu'}},'spec':{'containers':[{'name':'w'}]}," \
	"'status':{'phase':'Running','conditions':[" READY                                         \
	"],'containerStatuses':[{'name':'w','state':{'running':{}}}]}}],'rayState':{'nodeStates':" \
	"[{'nodeId':'qw==','instanceId':'w1','rayNodeTypeName':'gpu','status':'IDLE'}]}}"
#define TASK                                                                                            \
	"{'kind':'task','id':'a1','job':'01','node':'ab','submitted':'2026-11-21T09:30:00Z','started':" \
	"'2026-11-21T09:30:30Z','ended':'2026-11-21T09:40:30Z','over':true,'bundles':[{"                \
	"'resources':{'GPU':2}}]}"
#define SECOND_TASK                                                                                     \
	"{'kind':'task','id':'a2','job':'01','node':'ab','submitted':'2026-11-21T09:30:00Z','started':" \
	"'2026-11-21T09:40:30Z','ended':'2026-11-21T09:50:30Z','over':true,'bundles':[{"                \
	"'resources':{'GPU':2}}]}"
#define WORK(lists, rows)                                                                          \
	"{'kind':'Work','at':'2026-11-21T10:00:00Z','lists':[" lists                               \
	"],'jobs':[{'id':'01','submissionId':'raysubmit_1\\u001b'}],'podStarts':[{'uid':'u1',"     \
	"'group':'gpu','ready':'2026-11-21T09:00:30Z','milliseconds':20000},{'uid':'u0','group':"  \
	"'gpu','ready':'2026-11-21T08:00:00Z','milliseconds':20500},{'uid':'old','group':'gpu',"   \
	"'ready':'2026-11-20T08:00:00Z','milliseconds':90000},{'uid':'bad','group':'gpu','ready':" \
	"'2026-11-21T08:00:00Z','milliseconds':-1}],'work':[" rows "]}"

#define POOLS                                                                                       \
	LIST("{'metadata':{'name':'shared','uid':'u','resourceVersion':'7'},'spec':{'gpus':2,"      \
	     "'groups':{'resourceName':'nvidia.com/gpu'},'queues':[{'name':'team','maximum':2,"     \
	     "'namespaceSelector':{'matchLabels':{'team':'a'}}}]},'status':{'gpus':2}},"            \
	     "{'metadata':{'name':'other'},'spec':{'gpus':2,'groups':{'resourceName':'amd.com/gpu'" \
	     "},'queues':[]}}")
#define NAMESPACE "{'metadata':{'name':'ray','resourceVersion':'8','labels':{'team':'a'}}}"
#define ROUTES(work, code)                                                                         \
	{                                                                                          \
		OBJECTS, LEASE, LEADER, { "GET " PROXY "/snapshot/ray/demo", 0, SNAPSHOT },        \
			{ "GET " PROXY "/work/ray/demo", (code), (work) },                         \
			{ "GET " PROXY "/status", 0, "{'version':'0.1.0','leader':true}" },        \
			{ "GET /apis/rayscaler.dev/v1alpha1/gpupools", 0, POOLS },                 \
			{ "GET /api/v1/namespaces/rayscaler", 404, "{'kind':'Status'}" },          \
			{ "GET /api/v1/namespaces/ray", 0, NAMESPACE },                            \
		{                                                                                  \
			NULL, 0, NULL                                                              \
		}                                                                                  \
	}

static void read_file(const char *path, struct buf *ret)
{
	struct err err;

	buf_init(ret, 1 << 20);
	if (file_read(path, "a recording", ret, &err))
		fail_msg("%s", err.text);
}

static void a_recording_is_simulated(void **state)
{
	static const struct route routes[] =
		ROUTES(WORK("{'list':'tasks','missing':3,'dropped':2},{'list':'actors','problem':"
			    "'UNIMPLEMENTED\\u0007'}",
			    TASK ",{'kind':'task','id':'b','bundles':[{'resources':{'gpu':1}}]}"),
		       0);
	AUTO(memory_free_string) char *path = NULL;
	AUTO(buf_done) struct buf text;
	struct stat info;

	(void)state;
	cli_server_start(routes);
	path = temp_path(cli_server.directory, "recording.yaml");
	CLI_RUN(&result, cli_record, "record", "demo", "-o", path);
	assert_string_equal(result.errors, "");
	assert_int_equal(result.status, 0);
	assert_string_equal(result.output,
			    "1 tasks, 0 actors and 0 placement groups from 2026-11-20T10:00:00Z to "
			    "2026-11-21T10:00:00Z; starts of 2 Pods\n"
			    "a process took 30.00 s to start (median of 1)\n"
			    "actors are unknown: UNIMPLEMENTED?\n"
			    "3 tasks are missing: Ray did not list them\n"
			    "2 tasks are missing: Ray dropped their events\n"
			    "1 are missing: no workload can have them\n");
	read_file(path, &text);
	EXPECT(buf_string(&text), "# 3 tasks are missing: Ray did not list them\n");
	EXPECT(buf_string(&text),
	       "{\"cluster\": \"demo\", \"group\": \"gpu\", \"seconds\": [20.5, 20]}");
	EXPECT(buf_string(&text), "{\"submit\": \"2026-11-21T09:30:00Z\", \"duration\": 600, "
				  "\"resources\": {\"GPU\": 2}, \"job\": \"raysubmit_1\\u001b\"}");
	assert_null(strstr(buf_string(&text), "hunter2"));
	assert_int_equal(stat(path, &info), 0);
	assert_int_equal(info.st_mode & 0777, 0600);
	EXPECT(buf_string(&text), "processSeconds: 30\n");
	/* 1 s until the first pass, 20 s from the Pod's creation to its registration, and 30 s for the
	 * process. */
	CLI_RUN(&result, cli_simulate, "simulate", "-f", path, "-w", path, "-o", "json");
	assert_string_equal(result.errors, "");
	EXPECT(result.output, "\"neverRan\": 0");
	EXPECT(result.output, "\"makespanSeconds\": 651");
	EXPECT(result.output, "process-start is 30.00 s, as recorded");
	CLI_RUN(&result, cli_simulate, "simulate", "-f", path, "-w", path, "-o", "json", "--set",
		"process-start=1s");
	EXPECT(result.output, "\"makespanSeconds\": 622");
	assert_null(strstr(result.output, "as recorded"));
	CLI_RUN(&result, cli_simulate, "simulate", "-f", path, "-w", path, "-o", "json",
		"--pod-start", "50s");
	EXPECT(result.output, "\"makespanSeconds\": 686");
	temp_remove(cli_server.directory, "recording.yaml");
	cli_server_stop();
}

/* Two tasks of 2 GPUs in a pool of 2: one runs after the other, as they did. */
static void a_recording_has_its_pool(void **state)
{
	static const struct route routes[] = ROUTES(WORK("", TASK "," SECOND_TASK), 0);
	AUTO(memory_free_string) char *path = NULL;
	AUTO(buf_done) struct buf text;

	(void)state;
	cli_server_start(routes);
	path = temp_path(cli_server.directory, "recording.yaml");
	CLI_RUN(&result, cli_record, "record", "demo", "-o", path);
	assert_string_equal(result.errors, "");
	read_file(path, &text);
	EXPECT(buf_string(&text), "kind: GPUPool\n");
	assert_null(strstr(buf_string(&text), "amd.com"));
	assert_null(strstr(buf_string(&text), "resourceVersion"));
	CLI_RUN(&result, cli_simulate, "simulate", "-f", path, "-w", path, "-o", "json");
	assert_string_equal(result.errors, "");
	EXPECT(result.output, "\"max\": 651.7}");
	EXPECT(result.output, "\"name\": \"team\"");
	temp_remove(cli_server.directory, "recording.yaml");
	cli_server_stop();
}

static void failures_are_named(void **state)
{
	static const struct route old[] = ROUTES("here are /metrics", 404);
	static const struct route bad[] = ROUTES("{'at':'x'}", 0);
	static const struct route without[] =
		ROUTES("{'at':'2026-11-21T10:00:00Z','problem':'Ray was not read','work':[]}", 0);
	static const struct {
		const struct route *routes;
		const char *text;
	} cases[] = { { old, "404" },
		      { bad, "at: " },
		      { without, "the work is unknown: Ray was not read" },
		      { without_controller, "the work is unknown: no Lease rayscaler" } };

	(void)state;
	for (size_t i = 0; i < SUPPORT_COUNT(cases); i++) {
		AUTO(memory_free_string) char *path = NULL;

		cli_server_start(cases[i].routes);
		path = temp_path(cli_server.directory, "recording.yaml");
		CLI_RUN(&result, cli_record, "record", "demo", "-o", path);
		assert_int_equal(result.status, 1);
		EXPECT(result.errors, cases[i].text);
		assert_int_equal(access(path, F_OK), -1);
		cli_server_stop();
	}
}

static void the_usage_is_checked(void **state)
{
	(void)state;
	CLI_RUN(&result, cli_record, "record", "demo");
	assert_int_equal(result.status, 2);
	EXPECT(result.errors, "-o FILE is required");
	CLI_RUN(&result, cli_record, "record", "demo", "-o", "x", "--since", "yesterday");
	assert_int_equal(result.status, 2);
	EXPECT(result.errors, "--since: \"yesterday\" ");
	CLI_RUN(&result, cli_record, "record", "demo", "-o", "x", "--since", "400d");
	EXPECT(result.errors, "is more than 366d");
}

/* Work that a later answer does not list is kept, and the counts of missing rows are not added
 * again. */
static void later_answers_are_added(void **state)
{
	static const struct resource gpu[] = { { "GPU", 10000 } };
	static const struct work_bundle bundle = { .resources = { gpu, 1 } };
	static const struct ray_work_row rows[] = {
		{ WORK_TASK, "a", "01", "", "", 1000, 2000, 3000, true, 0, &bundle, 1 },
		{ WORK_TASK, "b", "01", "", "", 1500, 2000, TIME_NONE, false, 0, &bundle, 1 },
	};
	static const struct ray_work_row later[] = {
		{ WORK_TASK, "b", "01", "", "", 1500, 2000, 12000, true, 0, &bundle, 1 },
	};
	static const struct ray_work_source source = { RAY_LIST_TASKS, "", 5, 1 };
	static const struct ray_work_source again = { RAY_LIST_TASKS, "", 9, 4 };
	struct snapshot snapshot = { .cluster = { .name = "demo", .namespace_ = "ray" } };
	struct ray_work_page page = { .at = 10000,
				      .problem = "",
				      .sources = &source,
				      .source_count = 1,
				      .rows = rows,
				      .row_count = 2 };
	struct recorder *recorder = recorder_new(60000);
	AUTO(buf_done) struct buf file;
	AUTO(buf_done) struct buf summary;
	struct err err;

	(void)state;
	buf_init(&file, 1 << 20);
	buf_init(&summary, 1 << 20);
	recorder_add(recorder, &snapshot, &page);
	page.at = 20000;
	page.sources = &again;
	page.rows = later;
	page.row_count = 1;
	recorder_add(recorder, &snapshot, &page);
	if (recorder_write(recorder, &snapshot, &file, &summary, &err))
		fail_msg("%s", err.text);
	EXPECT(buf_string(&summary), "2 tasks, 0 actors");
	EXPECT(buf_string(&summary), "from 1969-12-31T23:59:10Z to 1970-01-01T00:00:20Z");
	EXPECT(buf_string(&summary), "5 tasks are missing: Ray did not list them\n"
				     "4 tasks are missing: Ray dropped their events\n");
	assert_null(strstr(buf_string(&summary), "have not ended"));
	EXPECT(buf_string(&file), "\"duration\": 1, ");
	EXPECT(buf_string(&file), "\"duration\": 10, ");
	recorder_free(recorder);
}

/* The request of the first answer counts from the beginning, the one of the annotation from the answer
 * that has it first; a simulation reads both. */
static void requests_are_recorded(void **state)
{
	static const struct bundle_entry gpu[] = { { "GPU", 1, RESOURCE_UNIT } };
	static const struct bundle_entry half[] = { { "GPU", 0.5, RESOURCE_UNIT / 2 } };
	static const struct ray_request_count two = { { .bundle = gpu, .bundle_count = 1 }, 2 };
	static const struct ray_request_count one = { { .bundle = half, .bundle_count = 1 }, 1 };
	static const struct ray_constraint sdk = { &two, 1 }, annotation = { &one, 1 };
	static const struct annotation_request request = { .bundles = &annotation };
	static const struct ray_state ray = { .constraints = &sdk, .constraint_count = 1 };
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	AUTO(buf_done) struct buf file;
	AUTO(buf_done) struct buf summary;
	AUTO(memory_free_string) char *path = NULL;
	char *directory = temp_directory();
	AUTO(buf_done) struct buf json;
	struct ray_work_page page = { .at = 1795168800000, .problem = "" };
	struct recorder *recorder = recorder_new(60000);
	struct snapshot snapshot;
	struct err err;

	(void)state;
	buf_init(&file, 1 << 20);
	buf_init(&summary, 1 << 20);
	buf_init(&json, 1 << 20);
	buf_add_string(&json, SNAPSHOT);
	for (size_t i = 0; i < json.size; i++)
		json.data[i] = json.data[i] == '\'' ? '"' : json.data[i];
	if (snapshot_read(buf_string(&json), json.size, &arena, &snapshot, &err))
		fail_msg("%s", err.text);
	snapshot.ray_state = &ray;
	recorder_add(recorder, &snapshot, &page);
	page.at += 10000;
	snapshot.cluster.request = &request;
	recorder_add(recorder, &snapshot, &page);
	snapshot.ray_state = NULL; /* unknown: nothing has ended */
	page.at += 10000;
	recorder_add(recorder, &snapshot, &page);
	if (recorder_write(recorder, &snapshot, &file, &summary, &err))
		fail_msg("%s", err.text);
	EXPECT(buf_string(&summary), "3 bundles of request_resources\n"
				     "2 bundles were requested at an unknown time: they count from "
				     "the beginning\n"
				     "3 have not ended: they get the time until now\n");
	EXPECT(buf_string(&file),
	       "{\"submit\": \"2026-11-20T09:59:00Z\", \"duration\": 80, \"kind\": "
	       "\"request_resources\", \"resources\": {\"GPU\": 1}, \"count\": 2}");
	EXPECT(buf_string(&file),
	       "{\"submit\": \"2026-11-20T10:00:10Z\", \"duration\": 10, \"kind\": "
	       "\"request_resources\", \"resources\": {\"GPU\": 0.5}}");
	path = temp_path(directory, "recording.yaml");
	temp_write(directory, "recording.yaml", buf_string(&file));
	CLI_RUN(&result, cli_simulate, "simulate", "-f", path, "-w", path, "-o", "json");
	assert_string_equal(result.errors, "");
	EXPECT(result.output, "\"peakGPUs\": 4");
	temp_done(directory);
	recorder_free(recorder);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_recording_is_simulated),
		cmocka_unit_test(a_recording_has_its_pool),
		cmocka_unit_test(failures_are_named),
		cmocka_unit_test(the_usage_is_checked),
		cmocka_unit_test(later_answers_are_added),
		cmocka_unit_test(requests_are_recorded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
