/* feature/kueue: Workloads as Kueue 0.18 writes them, and on random snapshots: nothing that is admitted is
 * cancelled. */
#include "feature/kueue/codec/kueue_json.h"

#include <string.h>

#include "codec/objects/snapshot_json.h"
#include "core/decide.h"
#include "test/support/codec_support.h"

#define CONDITION(type, status, generation, message)                                               \
	"{\"type\": \"" type "\", \"status\": \"" status "\", \"observedGeneration\": " generation \
	", \"message\": \"" message "\"}"
#define WORKLOAD(name, created, first, second, conditions)                                         \
	"{\"metadata\": {\"name\": \"" name "\", \"generation\": 2, \"creationTimestamp\": "       \
	"\"2026-11-20T10:00:" created "Z\"}, \"spec\": {\"podSets\": [{\"name\": \"head\", "       \
	"\"count\": 1}, {\"name\": \"first\", \"count\": " first "}, {\"name\": \"second\", "      \
	"\"count\": " second "}]}, \"status\": {\"conditions\": [" conditions "]}}"
#define ADMITTED CONDITION("QuotaReserved", "True", "2", "Quota reserved in ClusterQueue all")
#define LIST(...) "{\"metadata\": {\"continue\": \"\"}, \"items\": [" __VA_ARGS__ "]}"

static void make(const char *list, struct arena *arena, struct kueue_workload *ret_workload)
{
	struct kueue_slices slices = { .next_page = "" };
	struct err err;

	if (kueue_slices_add(list, strlen(list), arena, &slices, &err))
		fail_msg("%s", err.text);
	kueue_workload_make(&slices, arena, ret_workload);
}

static void check_set(const struct kueue_workload *workload, size_t index, const char *expected)
{
	const struct kueue_pod_set *set = &workload->pod_sets[index];
	char text[200];

	snprintf(text, sizeof(text), "%s %lld/%lld%s %s %lld", set->name, (long long)set->admitted,
		 (long long)set->pods, set->refused ? " refused" : "", set->resource,
		 (long long)set->lacks);
	assert_string_equal(text, expected);
}

static void test_a_replacement_waits(void **state)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	struct kueue_workload workload;

	(void)state;
	make(LIST(WORKLOAD("old", "01", "1", "0", CONDITION("Finished", "True", "2", "")) ", " //
		  WORKLOAD("new", "30", "2", "3",
			   CONDITION(
				   "QuotaReserved", "False", "2",
				   "couldn't assign flavors to pod set second: insufficient unused "
				   "quota for nvidia.com/gpu in flavor any, 2 more needed")) ", " //
		  WORKLOAD("has", "10", "2", "1", ADMITTED)),
	     &arena, &workload);
	assert_string_equal(workload.name, "new");
	assert_int_equal(workload.pod_set_count, 3);
	check_set(&workload, 0, "head 1/1  0");
	check_set(&workload, 1, "first 2/2  0");
	check_set(&workload, 2, "second 1/3 refused nvidia.com/gpu 20000");
}

static void test_nothing_waits(void **state)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	struct kueue_workload workload;

	(void)state;
	make(LIST(WORKLOAD("has", "10", "2", "1", ADMITTED)), &arena, &workload);
	assert_string_equal(workload.name, "");
	make(LIST(""), &arena, &workload);
	assert_string_equal(workload.name, "");
	/* The evicted one holds its quota for a moment. */
	make(LIST(WORKLOAD("evicted", "10", "2", "1",
			   ADMITTED ", " CONDITION("Evicted", "True", "2", "Preempted"))),
	     &arena, &workload);
	assert_string_equal(workload.name, "");
}

/* The condition is about an older generation, or Kueue preempts others. */
static void test_no_refusal(void **state)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	struct kueue_workload workload;

	(void)state;
	make(LIST(WORKLOAD("new", "30", "2", "3",
			   CONDITION("QuotaReserved", "False", "1",
				     "couldn't assign flavors to pod set second: ..."))),
	     &arena, &workload);
	assert_string_equal(workload.name, "new");
	assert_string_equal(workload.message, "");
	check_set(&workload, 2, "second 0/3  0");
	make(LIST(WORKLOAD(
		     "new", "30", "2", "3",
		     CONDITION("QuotaReserved", "False", "2",
			       "couldn't assign flavors to pod set second: insufficient unused "
			       "quota for cpu in flavor any, 2 more needed. Pending the preemption "
			       "of 1 workload(s)"))),
	     &arena, &workload);
	check_set(&workload, 2, "second 0/3  0");
}

static void check_message(const char *message, const char *first, const char *second)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	struct kueue_workload workload;
	const char *list = arena_printf(
		&arena,
		"{\"items\": [{\"metadata\": {\"name\": \"new\"}, \"spec\": {\"podSets\": [{\"name\": "
		"\"first\", \"count\": 2}, {\"name\": \"second\", \"count\": 3}]}, \"status\": "
		"{\"conditions\": [{\"type\": \"QuotaReserved\", \"status\": \"False\", \"message\": "
		"\"%s\"}]}}]}",
		message);

	make(list, &arena, &workload);
	check_set(&workload, 0, first);
	check_set(&workload, 1, second);
}

static void test_messages(void **state)
{
	(void)state;
	check_message("couldn't assign flavors to pod set second: insufficient quota for "
		      "nvidia.com/gpu in flavor any, previously considered podsets requests (1) + "
		      "current podset request (3) > maximum capacity (2)",
		      "first 0/2  0", "second 0/3 refused nvidia.com/gpu 20000");
	check_message("couldn't assign flavors to pod set first: insufficient unused quota for "
		      "memory in flavor any, 1Ki more needed; couldn't assign flavors to pod set "
		      "second: insufficient unused quota for cpu in flavor any, 500m more needed",
		      "first 0/2 refused memory 10240000", "second 0/3 refused cpu 5000");
	/* Two quotas, two flavors: it does not fit, and how many do is unknown. */
	check_message(
		"couldn't assign flavors to pod set first: insufficient unused quota for cpu "
		"in flavor a, 1 more needed, insufficient unused quota for cpu in flavor b, 2 "
		"more needed",
		"first 0/2 refused  0", "second 0/3  0");
	check_message("couldn't assign flavors to pod set first: flavor any doesn't match node "
		      "affinity",
		      "first 0/2 refused  0", "second 0/3  0");
	check_message("ClusterQueue all is inactive", "first 0/2  0", "second 0/3  0");
	check_message(
		"couldn't assign flavors to pod set second: insufficient unused quota for cpu "
		"in flavor any, lots more needed",
		"first 0/2  0", "second 0/3 refused  0");
	check_message("couldn't assign flavors to pod set ", "first 0/2  0", "second 0/3  0");
}

static void test_invalid(void **state)
{
	static const char *const lists[] = { "[]", "{", "{\"items\": {}}", "{\"items\": [1]}",
					     "{\"items\": [{\"spec\": {\"podSets\": 1}}]}" };

	(void)state;
	for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
		AUTO(arena_done) struct arena arena = ARENA_INIT;
		struct kueue_slices slices = { .next_page = "" };
		struct err err;

		assert_int_equal(
			kueue_slices_add(lists[i], strlen(lists[i]), &arena, &slices, &err), -1);
	}
}

/* ---- random snapshots ---- */

#define SEEDS 4000
#define GROUPS 3
#define PODS_MAX 5

struct drawn {
	int admitted, gated, hosts, fresh; /* Pods of a group; replicas */
	bool refused;
	int lacks;
};

static int below(unsigned *state, int limit)
{
	*state = *state * 1103515245U + 12345U;
	return (int)(*state / 65536U % (unsigned)limit);
}

static void add_pods(struct buf *buf, const struct drawn *drawn, int group)
{
	int pods = drawn->admitted + drawn->gated;

	for (int i = 0; i < pods; i++)
		buf_printf(buf,
			   ", {metadata: {namespace: a, name: w-%d-%d, creationTimestamp: "
			   "'2026-11-20T09:59:%s', labels: {ray.io/cluster: demo, "
			   "ray.io/node-type: worker, ray.io/group: g%d%s}}, spec: {%scontainers: "
			   "[{name: w}]}, status: {phase: Pending, conditions: [{type: "
			   "PodScheduled, status: 'False', reason: %s}]}}",
			   group, i,
			   i < drawn->admitted || i >= pods - drawn->fresh ? "58Z" : "00Z", group,
			   drawn->hosts > 1 ? ", ray.io/worker-group-replica-name: r" : "",
			   i < drawn->admitted ?
				   "" :
				   "schedulingGates: [{name: kueue.x-k8s.io/elastic-job}], ",
			   i < drawn->admitted ? "Unschedulable" : "SchedulingGated");
}

static void add_workload(struct buf *buf, const struct drawn *drawn, unsigned *state)
{
	buf_printf(buf, ", kueue: {name: new, message: refused, podSets: [{name: head, "
			"pods: 1, admitted: 1}");
	for (int g = 0; g < GROUPS; g++)
		buf_printf(buf,
			   ", {name: g%d, pods: %d, admitted: %d, refused: %s, resource: "
			   "%s, lacks: %d}",
			   g, drawn[g].admitted + drawn[g].gated, drawn[g].admitted,
			   drawn[g].refused ? "true" : "false",
			   below(state, 3) ? "nvidia.com/gpu" : "''", drawn[g].lacks);
	buf_printf(buf, "]}");
}

static void draw(unsigned seed, struct drawn *drawn, struct buf *buf)
{
	unsigned state = seed * 2654435761U;
	bool read = below(&state, 4) > 0;

	buf_printf(
		buf,
		"{apiVersion: rayscaler.dev/v1alpha1, kind: Snapshot, now: "
		"'2026-11-20T10:00:00Z', rayCluster: {metadata: {namespace: a, name: demo}, spec: "
		"{enableInTreeAutoscaling: true, headGroupSpec: {template: {spec: {containers: "
		"[{name: h}]}}}, workerGroupSpecs: [");
	for (int g = 0; g < GROUPS; g++) {
		struct drawn *own = &drawn[g];

		*own = (struct drawn){ .admitted = below(&state, PODS_MAX),
				       .gated = below(&state, PODS_MAX),
				       .hosts = 1,
				       .refused = below(&state, 2) > 0,
				       .lacks = below(&state, PODS_MAX) };
		if (below(&state, 4) == 0) {
			own->hosts = own->admitted + own->gated;
			own->hosts = own->hosts > 0 ? own->hosts : 1;
		}
		own->fresh = below(&state, 3) == 0 ? below(&state, own->gated + 1) : 0;
		buf_printf(
			buf,
			"%s{groupName: g%d, replicas: %d, maxReplicas: 8, numOfHosts: %d, "
			"template: {spec: {containers: [{name: w, resources: {limits: {cpu: '1', "
			"nvidia.com/gpu: '%d'}}}]}}}",
			g > 0 ? ", " : "", g, (own->admitted + own->gated) / own->hosts, own->hosts,
			1 + below(&state, 2));
	}
	buf_printf(buf, "]}}, pods: [{metadata: {namespace: a, name: h, labels: {ray.io/cluster: "
			"demo, ray.io/node-type: head}}, spec: {containers: [{name: h}]}, status: "
			"{phase: Running}}");
	for (int g = 0; g < GROUPS; g++)
		add_pods(buf, &drawn[g], g);
	buf_printf(buf, "], rayState: {nodeStates: [{nodeId: AQE=, instanceId: h, status: RUNNING, "
			"totalResources: {'node:__internal_head__': 1}}], pendingResourceRequests: "
			"[{request: {resourcesBundle: {GPU: 1}}, count: '30'}]}");
	if (below(&state, 3) == 0)
		buf_printf(buf,
			   ", memory: {backoffs: [{group: g%d, until: "
			   "'2026-11-20T10:00:05Z', seconds: 10, cause: KueueQuota}]}",
			   below(&state, GROUPS));
	if (read)
		add_workload(buf, drawn, &state);
	buf_printf(buf, "}");
}

/* In addition to the invariants of decide(): none of the Pods that are admitted ends, and replicas stays
 * at least as high. */
static void check_plan(unsigned seed, const struct drawn *drawn, const struct plan *plan,
		       int *cancelled)
{
	for (int g = 0; g < GROUPS; g++) {
		const struct plan_group *group = &plan->groups.at[g];

		if (group->patch_replicas * drawn[g].hosts < drawn[g].admitted)
			fail_msg("seed %u: g%d has %lld replicas, %d Pods are admitted", seed, g,
				 (long long)group->patch_replicas, drawn[g].admitted);
		VEC_EACH(const struct plan_termination, item, &group->terminate) {
			int index = strrchr(item->pod, '-')[1] - '0'; /* at most 2 * PODS_MAX - 2 */

			if (index < drawn[g].admitted)
				fail_msg("seed %u: %s is admitted", seed, item->pod);
			(*cancelled)++;
		}
	}
}

static void test_nothing_admitted_is_cancelled(void **state)
{
	AUTO(buf_done) struct buf buf;
	int cancelled = 0;

	(void)state;
	buf_init(&buf, 1 << 20);
	for (unsigned seed = 0; seed < SEEDS; seed++) {
		AUTO(arena_done) struct arena arena = ARENA_INIT;
		struct drawn drawn[GROUPS];
		struct snapshot snapshot;
		struct err err;

		buf_clear(&buf);
		draw(seed, drawn, &buf);
		if (snapshot_read(buf_string(&buf), buf.size, &arena, &snapshot, &err) < 0)
			fail_msg("seed %u: %s", seed, err.text);
		check_plan(seed, drawn, decide(&snapshot, &arena), &cancelled);
	}
	/* Otherwise the test shows nothing. */
	assert_true(cancelled > SEEDS / 4);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_replacement_waits),
		cmocka_unit_test(test_nothing_waits),
		cmocka_unit_test(test_no_refusal),
		cmocka_unit_test(test_messages),
		cmocka_unit_test(test_invalid),
		cmocka_unit_test(test_nothing_admitted_is_cancelled),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
