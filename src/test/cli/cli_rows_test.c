/* The rows of `status` for several RayClusters: their order, the reason of demand that waits, and
 * the lines below; without a controller, the status of the RayClusterAutoscaler. */
#include <time.h>

#include "cli/shared/commands.h"
#include "codec/text/rfc3339.h"
#include "test/support/cli_server.h"

#define CLUSTER(name)                                                                               \
	"{'apiVersion':'ray.io/v1','kind':'RayCluster','metadata':{'namespace':'ray','name':'" name \
	"','uid':'u-" name "','resourceVersion':'5'},'spec':{"                                      \
	"'enableInTreeAutoscaling':true,'headGroupSpec':{}}}"
#define STATUS(pods, rest, unserved)                                                               \
	"{'status':{'decidedAt':'2026-11-21T10:00:00Z','rayReachable':true,'reason':'r',"          \
	"'groups':[{'name':'gpu','maxReplicas':5,'hostsPerReplica':1,'pods':{" pods "}," rest      \
	"}],'unserved':[" unserved "]}}"
#define AT_MAXIMUM "{'reason':'MaxReplicas','count':3,'message':'group gpu is at maxReplicas 5'}"
#define PAGE "GET " PROXY "/status/ray/"

static const struct route four_clusters[] = {
	{ "GET " NS "/rayclusters", 0,
	  LIST(CLUSTER("a") "," CLUSTER("b") "," CLUSTER("c") "," CLUSTER("d")) },
	{ "GET /api/v1/namespaces/ray/pods", 0, LIST("") },
	CLUSTERS,
	{ "GET /api/v1?", 0, "{'resources':[{'name':'pods'}]}" },
	LEASE,
	LEADER,
	{ PAGE "a", 0, STATUS("'Running':1,'Draining':1", "'targetReplicas':2", "") },
	{ PAGE "b", 0,
	  STATUS("'Running':1,'Starting':2,'Missing':1",
		 "'targetReplicas':5,'reason':'ScaleUpDemand'", "") },
	{ PAGE "c", 0,
	  STATUS("'Running':5", "'targetReplicas':5,'waiting':3,'unservedReason':'MaxReplicas'",
		 AT_MAXIMUM) },
	{ PAGE "d", 0,
	  STATUS("'Idle':5", "'targetReplicas':5,'waiting':3,'unservedReason':'MaxReplicas'",
		 AT_MAXIMUM) },
	{ "GET " PROXY "/status", 0, "{'version':'0.1.0','leader':true}" },
	{ NULL, 0, NULL },
};

static void test_clusters_keep_their_order(void **state)
{
	(void)state;
	cli_server_start(four_clusters);
	CLI_RUN(&result, cli_status, "status");
	assert_string_equal(result.errors, "");
	assert_string_equal(
		result.output,
		"CLUSTER  GROUP  MIN  MAX  READY  STARTING  WAITING  GPUS  IDLE SINCE  REASON\n"
		"a        gpu      0    5    1/2         0        0     -  -           Draining\n"
		"b        gpu      0    5    1/5         3        0     -  -           ScaleUpDemand\n"
		"c        gpu      0    5    5/5         0        3     -  -           MaxReplicas\n"
		"d        gpu      0    5    5/5         0        3     -  -           MaxReplicas\n"
		"ray/c, ray/d: not served now: 3 x MaxReplicas: group gpu is at maxReplicas 5\n"
		"controller: Pod rayscaler-system/rayscaler-0, version 0.1.0\n");
	CLI_RUN(&result, cli_status, "status", "--color=always");
	EXPECT(result.output, "\033[31mMaxReplicas\033[0m");
	EXPECT(result.output, "\033[33m1/5\033[0m");
	cli_server_stop();
}

#define AUTOSCALER_STATUS                                                                          \
	"{'metadata':{'namespace':'ray','name':'demo','resourceVersion':'7'},'spec':{'paused':"    \
	"true},'status':{'reason':'NoGroupFits','message':'no group could serve {GPU: 16}',"       \
	"'lastDecisionTime':'%s','summary':{'gpus':'4/8/8'},'gpus':{"                              \
	"'running':'4','starting':'2','target':'8'},'groups':[{'name':'removed'},{'name':'gpu',"   \
	"'targetReplicas':4,'gpusPerWorker':'2','pods':{'running':1,'idle':1,'pending':1,"         \
	"'missing':1,'gone':-1},'backoff':{'until':'%s','cause':"                                  \
	"'NoNode','message':'no Node'}}],'pendingBundles':3,'demand':[{'name':'GPU',"              \
	"'amount':'48'}],'requested':[{'source':'annotation','count':2,'bundle':{'GPU':'1'}}],"    \
	"'infeasible':[{'reason':'NoGroupFits','count':3,'gpus':'48','message':"                   \
	"'no group could serve {GPU: 16}'}],'unserved':[{'reason':'MaxReplicas','count':1,"        \
	"'gpus':'x','message':'at maxReplicas'}],'conditions':[{'type':'PodUnreadable','status':"  \
	"'True','reason':'ObjectLimit','message':'too many'},{'type':'NodesToRepair','status':"    \
	"'True','reason':'RepairBegun','message':'Node n: cordoned'}]}}"

static const char *time_ago(int64_t ago_seconds)
{
	static char texts[4][RFC3339_SIZE];
	static size_t next;
	char *text = texts[next++ % 4];

	rfc3339_print(((time_ms)time(NULL) - ago_seconds) * MS_PER_SECOND, text);
	return text;
}

/* Starts a server whose RayClusterAutoscaler was decided `ago` seconds before, in whose Lease the
 * holder, which has no Pod, was seen `led_ago` seconds before; -1: no Lease. */
static void start_old(int64_t ago, int64_t led_ago)
{
	static char object[4096], list[8192], lease[300];
	static struct route routes[] = {
		{ "GET /apis/rayscaler.dev/v1alpha1/namespaces/ray/rayclusterautoscalers/demo", 0,
		  object },
		{ "GET /apis/rayscaler.dev/v1alpha1/namespaces/ray/rayclusterautoscalers", 0,
		  list },
		{ "GET /apis/rayscaler.dev/v1alpha1", 0,
		  "{'resources':[{'name':'rayclusterautoscalers'}]}" },
		{ "GET /apis/coordination.k8s.io/v1/namespaces/rayscaler-system/leases/rayscaler",
		  0, lease },
		OBJECTS,
		{ NULL, 0, NULL },
	};

	snprintf(object, sizeof(object), AUTOSCALER_STATUS, time_ago(ago), time_ago(ago - 60));
	snprintf(list, sizeof(list), LIST("%s"), object);
	snprintf(
		lease, sizeof(lease),
		"{'metadata':{'name':'rayscaler'},'spec':{'holderIdentity':'gone','leaseDurationSeconds':15,'renewTime':'%s'}}",
		time_ago(led_ago));
	routes[3].status = led_ago < 0 ? 404 : 0;
	cli_server_start(routes);
}

/* Without a controller the last status of the RayClusterAutoscaler is printed, with its age: nothing
 * is decided. */
static void test_status_of_the_object(void **state)
{
	(void)state;
	start_old(12 * 60 + 6, -1);
	CLI_RUN(&result, cli_status, "status");
	assert_int_equal(result.status, 3);
	assert_string_equal(result.errors, "");
	assert_ptr_equal(strstr(result.output, "nothing scales now: the last decision is 12m"),
			 result.output);
	EXPECT(result.output, " old, and so are the figures marked \"ago\"; start ");
	EXPECT(result.output,
	       "demo     gpu      1    4    2/4         2        ?   ?/6  ?           "
	       "12m");
	EXPECT(result.output, "s ago: BackOff:NoNode\nray/demo 12m");
	EXPECT(result.output, "s ago: status of its RayClusterAutoscaler at ");
	EXPECT(result.output, "group could serve {GPU: 16}; GPUs now/target/max 4/8/8\n");
	EXPECT(result.output, "s ago: cannot be read: too many\n");
	EXPECT(result.output, "s ago: to be repaired: Node n: cordoned\n");
	EXPECT(result.output, "s ago: pending in Ray: 3 bundles: 48 GPU\n");
	EXPECT(result.output, "s ago: requested ahead of demand: 2 bundles\n");
	EXPECT(result.output,
	       "s ago: infeasible: 3 x NoGroupFits: no group could serve {GPU: 16}\n");
	EXPECT(result.output, "s ago: not served now: 1 x MaxReplicas: at maxReplicas\n");
	EXPECT(result.output, "s ago: group gpu is in back-off until ");
	EXPECT(result.output, " (60s more), NoNode: ");
	CLI_RUN(&result, cli_status, "status", "-o", "json");
	assert_int_equal(result.status, 3);
	EXPECT(result.output, "\"source\": \"objects\",\n      \"unscaled\": true");
	EXPECT(result.output, "\"decidedAt\": \"20");
	EXPECT(result.output, "{\"running\": null, \"inUse\": null, \"idle\": null, "
			      "\"starting\": 2, \"wanted\": 8, \"maximum\": null}");
	EXPECT(result.output,
	       "\"requested\": [\n        {\"source\": \"annotation\", \"count\": 2, ");
	CLI_RUN(&result, cli_explain, "explain", "demo");
	assert_int_equal(result.status, 3);
	EXPECT(result.output, "\nnothing scales now: the last decision is 12m");
	EXPECT(result.output, "infeasible: 3 x NoGroupFits");
	CLI_RUN(&result, cli_explain, "explain", "demo", "-o", "json");
	assert_int_equal(result.status, 1);
	assert_string_equal(result.output, "");
	EXPECT(result.errors, "no plan: from the API objects");
	cli_server_stop();
}

/* Whether a controller that is not reached runs: the age of its decision, else its Lease. */
static void test_age_of_the_decision_and_of_the_lease(void **state)
{
	static const struct {
		int64_t ago, led_ago;
		int status;
	} table[] = {
		{ 300, -1, 0 },                   /* renewed at least so often */
		{ 370, -1, 3 },   { 370, 2, 3 },  /* it leads, and does not decide */
		{ 200, 2, 0 },    { 200, 70, 0 }, /* a new holder may come, or clocks differ */
		{ 200, 190, 3 },                  /* the Lease has expired since */
		{ 200, 210, 0 },  /* another controller has decided after it expired */
		{ -90, 3600, 0 }, /* a clock that is behind */
	};

	(void)state;
	for (size_t i = 0; i < SUPPORT_COUNT(table); i++) {
		start_old(table[i].ago, table[i].led_ago);
		CLI_RUN(&result, cli_status, "status");
		assert_int_equal(result.status, table[i].status);
		assert_true((strncmp(result.output, "nothing scales now", 18) == 0) ==
			    (table[i].status == 3));
		EXPECT(result.output, " ago: BackOff:NoNode\n");
		cli_server_stop();
	}
}

/* The object of a cluster that is paused has no figures, and any number may be in it. */
static void test_a_status_without_figures(void **state)
{
	static const struct route routes[] = {
		{ "GET /apis/rayscaler.dev/v1alpha1/namespaces/ray/rayclusterautoscalers", 0,
		  LIST("{'metadata':{'namespace':'ray','name':'demo','resourceVersion':'7'},"
		       "'status':{'reason':'Paused','message':'spec.paused is set',"
		       "'summary':{'gpus':'?/0/2'},'gpus':{},'groups':[{'name':'gpu',"
		       "'gpusPerWorker':'90000000000000','pods':{'running':9007199254740991},"
		       "'backoff':{'cause':'x'}}]}}") },
		{ "GET /apis/rayscaler.dev/v1alpha1", 0,
		  "{'resources':[{'name':'rayclusterautoscalers'}]}" },
		OBJECTS,
		{ NULL, 0, NULL },
	};

	(void)state;
	cli_server_start(routes);
	CLI_RUN(&result, cli_status, "status");
	EXPECT(result.output, "status of its RayClusterAutoscaler at an unknown time: Paused: "
			      "spec.paused is set; GPUs\n  now/target/max ?/0/2\n");
	EXPECT(result.output, "?/0         0        ?     ?  ?           -\n");
	cli_server_stop();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_clusters_keep_their_order),
		cmocka_unit_test(test_status_of_the_object),
		cmocka_unit_test(test_age_of_the_decision_and_of_the_lease),
		cmocka_unit_test(test_a_status_without_figures),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
