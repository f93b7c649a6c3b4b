/* The holders of GPUs in explain and in status --gpus, against a scripted API server. */
#include "cli/shared/commands.h"
#include "test/support/cli_server.h"

#define EXPLAINED(holders, code)                                                                   \
	{                                                                                          \
		OBJECTS, LEASE, LEADER, { "GET " PROXY "/status/ray/demo", 0, cluster_status },    \
			{ "GET " PROXY "/gpu-holders/ray/demo", (code), (holders) },               \
			{ "GET " PROXY "/status", 0, "{'version':'0.1.0','leader':true}" },        \
		{                                                                                  \
			NULL, 0, NULL                                                              \
		}                                                                                  \
	}

/* Names of classes and jobs come from tenants: no byte of them may control the terminal. */
static void test_explain_names_the_holders(void **state)
{
	static const struct route routes[] = EXPLAINED(
		"{'kind':'GpuHolders','at':'2026-11-21T10:00:00Z','notes':['5 more actors are not "
		"listed'],'workers':[{'pod':'w1','group':'gpu','gpus':2,'inUse':2,'unnamed':0.5,"
		"'holders':[{'kind':'actor','name':'Trainer','job':'03000000','submissionId':"
		"'raysubmit_1','entrypoint':'python a.py\\u001b[2J','count':1,'gpus':1,'since':"
		"'2026-11-21T06:48:00Z'},{'kind':'placement group','name':'','job':'','count':2,"
		"'gpus':0.5,'since':null}]}]}",
		0);

	(void)state;
	cli_server_start(routes);
	CLI_RUN(&result, cli_explain, "explain", "demo");
	assert_int_equal(result.status, 0);
	expect_clean(result.output);
	EXPECT(result.output,
	       "\nGPU HOLDERS  the work that uses the GPUs of each worker\n"
	       "  worker w1: 2 of 2 GPUs held\n"
	       "    job 03000000, submitted as raysubmit_1 (python a.py?[2J): actor Trainer x1, 1 "
	       "GPU, 3h12m\n"
	       "    job unknown: placement group x2, 0.5 GPUs, starting\n"
	       "    0.5 GPUs by work that Ray's lists do not name\n"
	       "  5 more actors are not listed\n");
	CLI_RUN(&result, cli_explain, "explain", "demo", "-ojson");
	EXPECT(result.output, "\"gpuHolders\": {\n    \"at\": \"2026-11-21T10:00:00Z\"");
	EXPECT(result.output, "{\"kind\": \"actor\", \"name\": \"Trainer\", \"job\": \"03000000\", "
			      "\"submissionId\": \"raysubmit_1\"");
	cli_server_stop();
}

static void test_explain_without_holders(void **state)
{
	static const struct route old[] = EXPLAINED("here are /metrics", 404);
	static const struct route bad[] =
		EXPLAINED("{'at':'2026-11-21T10:00:00Z','workers':[{'gpus':-1}]}", 0);
	static const struct route without[] = EXPLAINED(
		"{'at':'2026-11-21T10:00:00Z','problem':'Ray was not read','workers':[]}", 0);
	static const struct route none[] =
		EXPLAINED("{'at':'2026-11-21T10:00:00Z','workers':[]}", 0);
	static const struct {
		const struct route *routes;
		const char *text;
	} cases[] = { { old, "404" },
		      { bad, "workers[0].gpus: an amount is negative" },
		      { without, "Ray was not read" } };

	(void)state;
	for (size_t i = 0; i < SUPPORT_COUNT(cases); i++) {
		cli_server_start(cases[i].routes);
		CLI_RUN(&result, cli_explain, "explain", "demo");
		assert_int_equal(result.status, 0);
		EXPECT(result.output, "GPU HOLDERS");
		EXPECT(result.output, "\n  unknown: ");
		EXPECT(result.output, cases[i].text);
		CLI_RUN(&result, cli_explain, "explain", "demo", "-ojson");
		assert_int_equal(result.status, 0);
		EXPECT(result.errors, "who holds the GPUs is unknown: ");
		assert_null(strstr(result.output, "gpuHolders"));
		cli_server_stop();
	}
	cli_server_start(none);
	CLI_RUN(&result, cli_explain, "explain", "demo");
	assert_null(strstr(result.output, "GPU HOLDERS"));
	cli_server_stop();
}

#define GPU_POD(name, cluster)                                                                     \
	"{'metadata':{'namespace':'ray','name':'" name "','resourceVersion':'2','labels':{"        \
	"'ray.io/cluster':'" cluster "','ray.io/group':'gpu'}},'spec':{'nodeName':'n',"            \
	"'containers':[{'name':'c','resources':{'limits':{'nvidia.com/gpu':'1'}}}]},'status':{"    \
	"'phase':'Running'}}"
#define INVENTORY                                                                                  \
	{ "GET /api/v1/nodes", 0,                                                                  \
	  LIST("{'metadata':{'name':'n','resourceVersion':'1'},'status':{'capacity':{"             \
	       "'nvidia.com/gpu':'4'},'allocatable':{'nvidia.com/gpu':'4'}}}") },                  \
		{ "GET /api/v1/pods", 0,                                                           \
		  LIST(GPU_POD("v", "demo") "," GPU_POD("w", "demo") "," GPU_POD("x", "gone")) },  \
	{                                                                                          \
		"GET /api/v1?", 0, "{'resources':[{'name':'pods'},{'name':'nodes'}]}"              \
	}

static void test_gpus_names_the_holders(void **state)
{
	static const struct route routes[] = {
		INVENTORY,
		LEASE,
		LEADER,
		{ "GET " PROXY "/status", 0, "{'version':'0.1.0','leader':true}" },
		{ "GET " PROXY "/gpu-holders/ray/demo", 0,
		  "{'at':'2026-11-21T10:00:00Z','notes':['a note\\u0007'],'workers':[{'pod':'v',"
		  "'group':'gpu','gpus':1,'inUse':1,'unnamed':0,'holders':[{'kind':'task','name':"
		  "'crunch\\u001b','job':'03000000','count':2,'gpus':1,'since':"
		  "'2026-11-21T09:59:00Z'}]},{'pod':'w','group':'gpu','gpus':1,'inUse':0,"
		  "'unnamed':0,'holders':[]}]}" },
		{ "GET " PROXY "/gpu-holders/ray/gone", 404, "no RayCluster ray/gone is seen" },
		{ NULL, 0, NULL },
	};

	(void)state;
	cli_server_start(routes);
	CLI_RUN(&result, cli_status, "status", "--gpus");
	assert_int_equal(result.status, 0);
	expect_clean(result.output);
	EXPECT(result.output, "RAYCLUSTER  GROUP  HELD BY\n");
	EXPECT(result.output,
	       "v    demo        gpu    task crunch? x2 (1 GPU, 60s, job 03000000)\n");
	EXPECT(result.output, "w    demo        gpu    nothing\n");
	EXPECT(result.output, "x    gone        gpu    ?\n");
	EXPECT(result.output, "ray/demo: a note?\n");
	EXPECT(result.output, "ray/gone: HELD BY is unknown: ");
	CLI_RUN(&result, cli_status, "status", "--gpus", "-o", "json");
	EXPECT(result.output, "\"pod\": \"v\", \"rayCluster\": \"demo\"");
	EXPECT(result.output, "\"heldBy\": [");
	EXPECT(result.output, "\"name\": \"crunch\\u001b\", \"job\": \"03000000\", \"count\": 2");
	EXPECT(result.output, "\"heldBy\": null");
	cli_server_stop();
}

static void test_gpus_without_a_controller(void **state)
{
	static const struct route routes[] = {
		INVENTORY,
		{ "GET /api/v1/namespaces/rayscaler-system/pods?labelSelector="
		  "app.kubernetes.io%2Fname%3Drayscaler",
		  0, LIST("") },
		{ NULL, 0, NULL },
	};

	(void)state;
	cli_server_start(routes);
	CLI_RUN(&result, cli_status, "status", "--gpus");
	assert_int_equal(result.status, 0);
	EXPECT(result.output, "v    demo        gpu    ?\n");
	EXPECT(result.output, "HELD BY is unknown: no Lease rayscaler");
	CLI_RUN(&result, cli_status, "status", "--gpus", "--controller-url", "http://127.0.0.1:1");
	assert_int_equal(result.status, 1);
	EXPECT(result.errors, "--controller-url: no controller answers");
	cli_server_stop();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_explain_names_the_holders),
		cmocka_unit_test(test_explain_without_holders),
		cmocka_unit_test(test_gpus_names_the_holders),
		cmocka_unit_test(test_gpus_without_a_controller),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
