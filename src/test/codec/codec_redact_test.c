/* A written snapshot has no secret, and gives the same plan. */
#include "codec/objects/redact.h"

#include <string.h>

#include "base/memory.h"
#include "codec/objects/plan_json.h"
#include "codec/objects/snapshot_json.h"
#include "core/decide.h"
#include "test/support/support.h"

#define SECRET "hunter2"

static void expect(const char *text, const char *wanted)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	bool next_is_secret = false;

	assert_string_equal(redact_command(text, &next_is_secret, &arena), wanted);
}

static void test_words(void **state)
{
	(void)state;
	expect("", "");
	expect("rayscaler park", "rayscaler park");
	expect("--token=x", "--token=REDACTED");
	expect("--auth-token x --port 1", "--auth-token REDACTED --port 1");
	expect("export API_KEY='x'; exec rayscaler park",
	       "export API_KEY='REDACTED'; exec rayscaler park");
	expect("API_KEY=\"x y 'z\" rayscaler park", "API_KEY=\"REDACTED\" rayscaler park");
	expect("--password 'x y' run", "--password 'REDACTED' run");
	expect("MY_PASSWORD=x rayscaler park", "MY_PASSWORD=REDACTED rayscaler park");
	expect("--token --port=1", "--token --port=1");
	expect("--name=x --token=", "--name=x --token=");
}

static const char secrets[] =
	"apiVersion: rayscaler.dev/v1alpha1\nkind: Snapshot\nnow: '2026-11-20T10:00:00Z'\n"
	"rayCluster:\n"
	"  apiVersion: ray.io/v1\n"
	"  metadata: {namespace: team, name: demo, annotations: {\n"
	"    kubectl.kubernetes.io/last-applied-configuration: '{\"password\": \"" SECRET "\"}',\n"
	"    example.com/token: " SECRET ",\n"
	"    rayscaler.dev/request-resources: '[{\"GPU\": 1}]'}}\n"
	"  spec:\n"
	"    enableInTreeAutoscaling: true\n"
	"    headGroupSpec:\n"
	"      rayStartParams: {redis-password: " SECRET ", redis-username: "
	"ray,\n"
	"        num-cpus: '0'}\n"
	"      template:\n"
	"        metadata: {annotations: {vault/token: " SECRET "}}\n"
	"        spec:\n"
	"          containers:\n"
	"          - {name: ray-head, command: [sh, -c, 'X=" SECRET " ray start'],\n"
	"             args: [--token=" SECRET
	"], env: [{name: AWS_SECRET_ACCESS_KEY, value: " SECRET
	"}], resources: {limits: {memory: 2Gi}}}\n"
	"          - {name: autoscaler, command: [rayscaler], args: [park, --token, " SECRET "]}\n"
	"    workerGroupSpecs:\n"
	"    - groupName: gpu\n"
	"      replicas: 0\n"
	"      maxReplicas: 3\n"
	"      rayStartParams: {some-secret: " SECRET "}\n"
	"      template: {spec: {containers: [{name: w, env: [{name: HF_TOKEN, value: " SECRET
	"}],\n"
	"        resources: {limits: {cpu: 1, nvidia.com/gpu: 1}}}]}}\n"
	"pods:\n"
	"- metadata: {namespace: team, name: demo-head, labels: {ray.io/cluster: demo,\n"
	"    ray.io/node-type: head}, annotations: {vault/token: " SECRET "}}\n"
	"  spec:\n"
	"    containers:\n"
	"    - {name: ray-head, env: [{name: REDIS_PASSWORD, value: " SECRET "}]}\n"
	"    - {name: autoscaler, command: [/bin/sh, -c], args: ['exec /usr/bin/rayscaler park --api-key " SECRET
	"'],\n"
	"       env: [{name: RAY_AUTH_TOKEN, value: " SECRET "}]}\n"
	"  status: {phase: Running, podIP: 10.0.0.1}\n"
	"rayState:\n"
	"  nodeStates:\n"
	"  - {nodeId: AQE=, instanceId: demo-head, rayNodeTypeName: headgroup, status: RUNNING,\n"
	"     totalResources: {'node:__internal_head__': 1}}\n"
	"  pendingResourceRequests: [{request: {resourcesBundle: {GPU: 1}}, count: '2'}]\n";

static void read_and_plan(const char *text, size_t size, struct arena *arena,
			  struct snapshot *ret_snapshot, struct buf *plan)
{
	struct err err;

	if (snapshot_read(text, size, arena, ret_snapshot, &err) < 0 ||
	    plan_write(decide(ret_snapshot, arena), true, plan, &err) < 0)
		fail_msg("%s", err.text);
}

static void test_no_secret_and_the_same_plan(void **state)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	AUTO(buf_done) struct buf written, before, after;
	struct snapshot snapshot;
	struct err err;

	(void)state;
	buf_init(&written, 1 << 20);
	buf_init(&before, 1 << 20);
	buf_init(&after, 1 << 20);
	read_and_plan(secrets, sizeof(secrets) - 1, &arena, &snapshot, &before);
	/* The plan acts, although secrets are missing in the snapshot. */
	assert_non_null(strstr(buf_string(&before), "\"targetReplicas\": 2"));
	assert_int_equal(snapshot_write(&snapshot, &written, &err), 0);
	if (strstr(buf_string(&written), SECRET))
		fail_msg("a secret in %s", strstr(buf_string(&written), SECRET));
	read_and_plan(buf_string(&written), written.size, &arena, &snapshot, &after);
	assert_string_equal(buf_string(&before), buf_string(&after));
}

/* A reader of one RayCluster may have no right to see Nodes. */
static void test_labels_of_nodes_that_no_decision_reads(void **state)
{
	static const char text[] =
		"apiVersion: rayscaler.dev/v1alpha1\nkind: Snapshot\nnow: '2026-11-20T10:00:00Z'\n"
		"rayCluster: {metadata: {namespace: team, name: demo}, spec: {workerGroupSpecs: [\n"
		"  {groupName: g, template: {spec: {nodeSelector: {rack: a}, affinity: {nodeAffinity: {\n"
		"    requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [\n"
		"    {matchExpressions: [{key: zone, operator: Exists}]}]}}}, containers: []}}}]}}\n"
		"rayState: null\n"
		"nodes: [{metadata: {name: n, labels: {rack: kept-1, zone: kept-2, owner: " SECRET
		",\n"
		"  " SECRET ": x, nvidia.com/gpu.product: kept-3},\n"
		"  annotations: {example.com/owner: " SECRET "}}}]\n";
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	AUTO(buf_done) struct buf written = BUF_INIT(1 << 20);
	struct snapshot snapshot;
	struct err err;

	(void)state;
	if (snapshot_read(text, strlen(text), &arena, &snapshot, &err) < 0)
		fail_msg("%s", err.text);
	assert_int_equal(snapshot_write(&snapshot, &written, &err), 0);
	assert_non_null(strstr(written.data, "kept-1"));
	assert_non_null(strstr(written.data, "kept-2"));
	assert_non_null(strstr(written.data, "kept-3"));
	assert_null(strstr(written.data, SECRET));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_words),
		cmocka_unit_test(test_no_secret_and_the_same_plan),
		cmocka_unit_test(test_labels_of_nodes_that_no_decision_reads),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
