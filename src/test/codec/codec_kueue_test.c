/* feature/queue: Workloads as Kueue 0.18 and 0.19 write them, and on random snapshots: nothing that is admitted is
 * cancelled, and no place is given up without an alternative. */
#include "feature/queue/codec/kueue_json.h"

#include <string.h>

#include "codec/objects/snapshot_json.h"
#include "core/decide.h"
#include "test/support/codec_support.h"

#define CONDITION(type, status, generation, reason)                                                \
	"{\"type\": \"" type "\", \"status\": \"" status "\", \"observedGeneration\": " generation \
	", \"reason\": \"" reason "\", \"message\": \"words\", \"lastTransitionTime\": "           \
	"\"2026-11-20T10:00:40Z\"}"
#define WORKLOAD(name, created, first, second, conditions)                                         \
	"{\"metadata\": {\"name\": \"" name "\", \"generation\": 2, \"creationTimestamp\": "       \
	"\"2026-11-20T10:00:" created "Z\"}, \"spec\": {\"podSets\": [{\"name\": \"head\", "       \
	"\"count\": 1}, {\"name\": \"first\", \"count\": " first "}, {\"name\": \"second\", "      \
	"\"count\": " second "}]}, \"status\": {\"conditions\": [" conditions "]}}"
#define ADMITTED CONDITION("QuotaReserved", "True", "2", "QuotaReserved")
#define LIST(...) "{\"metadata\": {\"continue\": \"\"}, \"items\": [" __VA_ARGS__ "]}"

static int add_all(const char *list, struct arena *arena, struct kueue_slices *slices,
		   struct err *err)
{
	static const struct json_limits limits = { .bytes = 100000, .depth = 10, .elements = 1000 };
	AUTO(json_done) struct cJSON *json = NULL;
	struct json_reader reader = { .arena = arena, .err = err };
	struct json_at root, items;

	if (json_parse(list, strlen(list), &limits, &json, err))
		return -1;
	root = json_root(json, "", &reader);
	if (json_array(&root, "items", &items))
		return -1;
	for (struct json_at item = json_first(&items); item.json; json_next(&item))
		if (kueue_slices_add(item.json, arena, slices, err))
			return -1;
	return 0;
}

static void make(const char *list, struct arena *arena, struct kueue_workload *ret_workload)
{
	struct kueue_slices slices = { .list = { .at = NULL } };
	struct err err;

	if (add_all(list, arena, &slices, &err))
		fail_msg("%s", err.text);
	kueue_workload_make(&slices, arena, ret_workload);
}

static void check_set(const struct kueue_workload *workload, size_t index, const char *expected)
{
	const struct kueue_pod_set *set = &workload->pod_sets[index];
	char text[200];

	snprintf(text, sizeof(text), "%s %lld/%lld", set->name, (long long)set->admitted,
		 (long long)set->pods);
	assert_string_equal(text, expected);
}

static void test_a_replacement_waits(void **state)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	struct kueue_workload workload;

	(void)state;
	make(LIST(WORKLOAD("old", "01", "1", "0", CONDITION("Finished", "True", "2", "")) ", " //
		  WORKLOAD("new", "30", "2", "3",
			   CONDITION("QuotaReserved", "False", "2", "ExceedsMaxQuota")) ", " //
		  WORKLOAD("has", "10", "2", "1", ADMITTED)),
	     &arena, &workload);
	assert_string_equal(workload.name, "new");
	assert_int_equal(workload.pod_set_count, 3);
	assert_string_equal(workload.reason, "ExceedsMaxQuota");
	assert_string_equal(workload.message, "words");
	assert_int_equal(workload.since, 1795168840000);
	check_set(&workload, 0, "head 1/1");
	check_set(&workload, 1, "first 2/2");
	check_set(&workload, 2, "second 1/3");
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

/* The condition is about an older generation. */
static void test_no_refusal(void **state)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	struct kueue_workload workload;

	(void)state;
	make(LIST(WORKLOAD("new", "30", "2", "3",
			   CONDITION("QuotaReserved", "False", "1", "ExceedsMaxQuota"))),
	     &arena, &workload);
	assert_string_equal(workload.name, "new");
	assert_string_equal(workload.reason, "");
	assert_string_equal(workload.message, "");
	check_set(&workload, 2, "second 0/3");
}

static void test_invalid(void **state)
{
	static const char *const lists[] = { "{\"items\": [1]}",
					     "{\"items\": [{\"spec\": {\"podSets\": 1}}]}" };

	(void)state;
	for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
		AUTO(arena_done) struct arena arena = ARENA_INIT;
		struct kueue_slices slices = { .list = { .at = NULL } };
		struct err err;

		assert_int_equal(add_all(lists[i], &arena, &slices, &err), -1);
	}
}

/* ---- random snapshots ---- */

#define SEEDS 4000
#define GROUPS 3
#define PODS_MAX 5

struct drawn {
	int admitted, gated, hosts, fresh; /* Pods of a group; replicas */
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

static void add_gates(struct buf *buf, const struct drawn *drawn, int group, unsigned *state)
{
	for (int i = drawn->admitted; i < drawn->admitted + drawn->gated - drawn->fresh; i++)
		buf_printf(buf, "{key: w-%d-%d, since: '2026-11-20T09:59:%02dZ', count: 1}, ",
			   group, i, 10 * below(state, 3));
}

/* All of apis/kueue/v1beta2/workload_types.go (0.19.2), and those of 0.18; from FIRST_WAIT on nothing is refused. */
static const char *const reasons[] = { "ExceedsMaxQuota",   "WaitingForQuota",
				       "NoMatchingFlavor",  "TopologyPlacementFailed",
				       "Pending",           "WaitingForPreemptedWorkloads",
				       "Misconfigured",     "Suspended",
				       "PendingEvaluation", "WaitingForPodsReady",
				       "Inadmissible",      "OnHold" };
#define REASONS (int)(sizeof(reasons) / sizeof(reasons[0]))
#define FIRST_WAIT 5

static int add_workload(struct buf *buf, const struct drawn *drawn, unsigned *state)
{
	int reason = below(state, REASONS);

	buf_printf(
		buf,
		", kueue: {name: new, reason: %s, since: '2026-11-20T09:5%d:59Z', message: refused, "
		"podSets: [{name: head, pods: 1, admitted: 1}",
		reasons[reason], 8 + below(state, 2));
	for (int g = 0; g < GROUPS; g++)
		buf_printf(buf, ", {name: g%d, pods: %d, admitted: %d}", g,
			   drawn[g].admitted + drawn[g].gated, drawn[g].admitted);
	buf_printf(buf, "]}");
	return reason;
}

/* The reason of the Workload; -1: it was not read. */
static int draw(unsigned seed, struct drawn *drawn, struct buf *buf)
{
	unsigned state = seed * 2654435761U;
	bool read = below(&state, 4) > 0;
	int reason = -1;

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
				       .hosts = 1 };
		if (below(&state, 4) == 0) {
			own->hosts = own->admitted + own->gated;
			own->hosts = own->hosts > 0 ? own->hosts : 1;
		}
		own->fresh = below(&state, 3) == 0 ? below(&state, own->gated + 1) : 0;
		buf_printf(
			buf,
			"%s{groupName: g%d, replicas: %d, maxReplicas: %d, numOfHosts: %d, "
			"template: {spec: {containers: [{name: w, resources: {limits: {cpu: '1', "
			"nvidia.com/gpu: '%d'}}}]}}}",
			g > 0 ? ", " : "", g, (own->admitted + own->gated) / own->hosts,
			below(&state, 4) ? (own->admitted + own->gated) / own->hosts : 8,
			own->hosts, 1 + below(&state, 2));
	}
	buf_printf(buf, "]}}, pods: [{metadata: {namespace: a, name: h, labels: {ray.io/cluster: "
			"demo, ray.io/node-type: head}}, spec: {containers: [{name: h}]}, status: "
			"{phase: Running}}");
	for (int g = 0; g < GROUPS; g++)
		add_pods(buf, &drawn[g], g);
	buf_printf(buf, "], rayState: {nodeStates: [{nodeId: AQE=, instanceId: h, status: RUNNING, "
			"totalResources: {'node:__internal_head__': 1}}], pendingResourceRequests: "
			"[{request: {resourcesBundle: {GPU: 1}}, count: '30'}]}");
	buf_printf(buf, ", memory: {");
	if (below(&state, 3) == 0)
		buf_printf(buf,
			   "backoffs: [{group: g%d, until: "
			   "'2026-11-20T10:00:05Z', seconds: 10, cause: QuotaGate}], ",
			   below(&state, GROUPS));
	buf_printf(buf, "gates: [");
	for (int g = 0; g < GROUPS; g++)
		add_gates(buf, &drawn[g], g, &state);
	buf_printf(buf, "]}");
	if (read)
		reason = add_workload(buf, drawn, &state);
	buf_printf(buf, "}");
	return reason;
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

/* A Pod that waits keeps its place, or another group has room for what is cancelled. */
static bool has_alternative(const struct snapshot *snapshot, const struct drawn *drawn,
			    const struct plan *plan, int cancelled_group)
{
	int gated = 0;

	for (int g = 0; g < GROUPS; g++) {
		const struct ray_cluster *cluster = &snapshot->cluster;

		gated += drawn[g].gated - (int)plan->groups.at[g].terminate.count;
		if (g != cancelled_group &&
		    plan->groups.at[g].replicas < cluster->groups[g].max_replicas)
			return true;
	}
	return gated > 0;
}

static void check_places(unsigned seed, const struct snapshot *snapshot, const struct drawn *drawn,
			 const struct plan *plan)
{
	for (int g = 0; g < GROUPS; g++)
		if (plan->groups.at[g].terminate.count > 0 &&
		    !has_alternative(snapshot, drawn, plan, g))
			fail_msg("seed %u: g%d gives up its place without an alternative", seed, g);
}

static void test_nothing_admitted_is_cancelled(void **state)
{
	AUTO(buf_done) struct buf buf;
	int cancelled = 0, of_reason[REASONS + 1] = { 0 };

	(void)state;
	buf_init(&buf, 1 << 20);
	for (unsigned seed = 0; seed < SEEDS; seed++) {
		AUTO(arena_done) struct arena arena = ARENA_INIT;
		struct drawn drawn[GROUPS];
		struct snapshot snapshot;
		const struct plan *plan;
		struct err err;
		int before = cancelled, reason;

		buf_clear(&buf);
		reason = draw(seed, drawn, &buf);
		if (snapshot_read(buf_string(&buf), buf.size, &arena, &snapshot, &err) < 0)
			fail_msg("seed %u: %s", seed, err.text);
		plan = decide(&snapshot, &arena);
		check_plan(seed, drawn, plan, &cancelled);
		check_places(seed, &snapshot, drawn, plan);
		of_reason[reason + 1] += cancelled - before;
	}
	for (int i = 0; i < REASONS; i++)
		if ((of_reason[i + 1] > 0) != (i < FIRST_WAIT))
			fail_msg("%s: %d Pods cancelled", reasons[i], of_reason[i + 1]);
	/* Otherwise the test shows nothing. */
	assert_true(cancelled > SEEDS / 4);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_replacement_waits),
		cmocka_unit_test(test_nothing_waits),
		cmocka_unit_test(test_no_refusal),
		cmocka_unit_test(test_invalid),
		cmocka_unit_test(test_nothing_admitted_is_cancelled),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
