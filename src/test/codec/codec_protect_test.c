/* Protection of Pods in use over time, and the patches of Pods. */
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "codec/objects/snapshot_json.h"
#include "core/decide.h"
#include "feature/protect_busy_pods/codec/protect_json.h"
#include "test/support/support.h"

#define START INT64_C(1795168800000) /* 2026-11-20T10:00:00Z */
#define HOURS 3
#define WRITES_KEPT 8

/* A worker, and what a writer has made of its annotations. */
struct life {
	bool busy;
	time_ms idle_since;
	char annotations[512];       /* JSON members */
	time_ms writes[WRITES_KEPT]; /* the newest first; 0: none */
	size_t write_count, most_in_a_minute;
};

static const struct snapshot *snapshot_of(const struct life *life, time_ms now, const char *more,
					  struct arena *arena)
{
	const char *text = arena_printf(
		arena,
		"{apiVersion: rayscaler.dev/v1alpha1, kind: Snapshot, now: '%s', settings: "
		"{protect-busy-pods: true}, rayCluster: {metadata: {namespace: a, name: demo}, spec: "
		"{enableInTreeAutoscaling: true, headGroupSpec: {template: {spec: {containers: "
		"[{name: h}]}}}, workerGroupSpecs: [{groupName: g, replicas: 1, minReplicas: 1, "
		"template: {spec: {containers: [{name: w}]}}}]}}, pods: [{metadata: {namespace: a, "
		"name: w1, uid: u-1, resourceVersion: '7', annotations: {%s}, labels: {ray.io/cluster: "
		"demo, ray.io/node-type: worker, ray.io/group: g}}, spec: {nodeName: n, containers: "
		"[{name: w}]}, status: {phase: Running}}], rayState: {nodeStates: [{nodeId: AQE=, "
		"instanceId: h, status: IDLE, idleDurationMs: '900000', totalResources: "
		"{'node:__internal_head__': 1}}, {nodeId: AQI=, instanceId: w1, status: %s, "
		"idleDurationMs: '%lld', totalResources: {GPU: 2}, availableResources: {GPU: 1}}]}%s}",
		time_text(arena, now), life->annotations, life->busy ? "RUNNING" : "IDLE",
		life->busy ? 0LL : (long long)(now - life->idle_since), more);
	struct snapshot *snapshot = ARENA_NEW(arena, struct snapshot);
	struct err err;

	if (snapshot_read(text, strlen(text), arena, snapshot, &err) < 0)
		fail_msg("%s", err.text);
	return snapshot;
}

/* The row of the worker; NULL: there is none. */
static const struct protected_pod *item_of(const struct life *life, time_ms now, const char *more,
					   struct arena *arena)
{
	const struct plan *plan = decide(snapshot_of(life, now, more, arena), arena);

	assert_non_null(plan->protection);
	return plan->protection->pods.count > 0 ? &plan->protection->pods.at[0] : NULL;
}

static void annotate(struct life *life, const char *text)
{
	(void)snprintf(life->annotations, sizeof(life->annotations), "%s", text);
}

static void note_write(struct life *life, time_ms now)
{
	size_t count = 0;

	memmove(&life->writes[1], life->writes, sizeof(life->writes) - sizeof(life->writes[0]));
	life->writes[0] = now;
	life->write_count++;
	for (size_t i = 0; i < WRITES_KEPT; i++)
		count += life->writes[i] != 0 && now - life->writes[i] < 60 * MS_PER_SECOND;
	if (count > life->most_in_a_minute)
		life->most_in_a_minute = count;
}

/* Decides, and carries it out at once. */
static void step(struct life *life, time_ms now)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	const struct protected_pod *item = item_of(life, now, "", &arena);

	if (item && item->action != PROTECT_KEEP) {
		note_write(life, now);
		life->annotations[0] = '\0';
		if (item->action == PROTECT_SET)
			(void)snprintf(life->annotations, sizeof(life->annotations),
				       ANNOTATION_PROTECTED
				       ": '%s', " KARPENTER_ANNOTATION
				       ": 'true', " CLUSTER_AUTOSCALER_ANNOTATION ": 'false'",
				       protect_record_text(&item->record, &arena));
	}
	if (life->busy)
		assert_true(life->annotations[0]);
}

/* Hours of work that begins and ends at random, with a decision on each second: the Pod is written at
 * most twice within any minute, and is protected in each second in which it is in use. */
static void test_two_writes_in_a_minute(void **state)
{
	struct life life = { .idle_since = START - 90 * MS_PER_SECOND };
	uint64_t random = 1;

	(void)state;
	for (time_ms now = START; now < START + HOURS * 3600 * MS_PER_SECOND;
	     now += MS_PER_SECOND) {
		random = random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
		if ((random >> 40) % (life.busy ? 10 : 40) == 0) {
			life.busy = !life.busy;
			life.idle_since = now;
		}
		step(&life, now);
	}
	assert_int_equal(life.most_in_a_minute, 2);
	assert_in_range(life.write_count, 40, 2 * 60 * HOURS);
}

static const char *body_of(const struct life *life, time_ms now, const char *more,
			   struct arena *arena)
{
	const struct protected_pod *item = item_of(life, now, more, arena);

	assert_non_null(item);
	assert_int_not_equal(item->action, PROTECT_KEEP);
	return protect_patch_body(item, arena);
}

/* Only annotations, guarded by uid and resourceVersion. */
static void test_bodies(void **state)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	struct life life = { .busy = true };

	(void)state;
	assert_string_equal(body_of(&life, START, "", &arena),
			    "{\"metadata\": {\"uid\": \"u-1\", \"resourceVersion\": \"7\", "
			    "\"annotations\": {\"karpenter.sh/do-not-disrupt\": \"true\", "
			    "\"cluster-autoscaler.kubernetes.io/safe-to-evict\": \"false\", "
			    "\"rayscaler.dev/protected\": \"2026-11-20T10:00:00Z "
			    "karpenter.sh/do-not-disrupt "
			    "cluster-autoscaler.kubernetes.io/safe-to-evict\"}}}");
	/* A key that the user has set stays out, a key that the user has changed since stays. */
	annotate(&life, "karpenter.sh/do-not-disrupt: 30m");
	assert_string_equal(body_of(&life, START, "", &arena),
			    "{\"metadata\": {\"uid\": \"u-1\", \"resourceVersion\": \"7\", "
			    "\"annotations\": {\"cluster-autoscaler.kubernetes.io/safe-to-evict\": "
			    "\"false\", \"rayscaler.dev/protected\": \"2026-11-20T10:00:00Z "
			    "cluster-autoscaler.kubernetes.io/safe-to-evict\"}}}");
	annotate(&life, "karpenter.sh/do-not-disrupt: 'true', "
			"cluster-autoscaler.kubernetes.io/safe-to-evict: 'true', "
			"rayscaler.dev/protected: '2026-11-20T09:00:00Z "
			"karpenter.sh/do-not-disrupt "
			"cluster-autoscaler.kubernetes.io/safe-to-evict'");
	assert_string_equal(
		body_of(&life, START,
			", autoscaler: {metadata: {name: demo}, spec: {protectAtMostSeconds: 60}}",
			&arena),
		"{\"metadata\": {\"uid\": \"u-1\", \"resourceVersion\": \"7\", \"annotations\": "
		"{\"karpenter.sh/do-not-disrupt\": null, \"rayscaler.dev/protected\": "
		"\"2026-11-20T09:00:00Z ended\"}}}");
	life.busy = false;
	life.idle_since = START - PROTECT_IDLE_MS;
	assert_string_equal(body_of(&life, START, "", &arena),
			    "{\"metadata\": {\"uid\": \"u-1\", \"resourceVersion\": \"7\", "
			    "\"annotations\": {\"karpenter.sh/do-not-disrupt\": null, "
			    "\"rayscaler.dev/protected\": null}}}");
}

/* The end of each wait is next_change of the plan, so that a cluster at rest decides then. */
static void test_next_change(void **state)
{
	AUTO(arena_done) struct arena arena = ARENA_INIT;
	struct life life = { .idle_since = START - 10 * MS_PER_SECOND };
	const struct plan *plan;

	(void)state;
	annotate(&life, "karpenter.sh/do-not-disrupt: 'true', rayscaler.dev/protected: "
			"'2026-11-20T09:00:00Z karpenter.sh/do-not-disrupt'");
	plan = decide(snapshot_of(&life, START, "", &arena), &arena);
	assert_int_equal(plan->next_change, START + 20 * MS_PER_SECOND);
	life.busy = true;
	plan = decide(snapshot_of(&life, START,
				  ", autoscaler: {metadata: {name: demo}, spec: "
				  "{protectAtMostSeconds: 3700}}",
				  &arena),
		      &arena);
	assert_int_equal(plan->next_change, START + 100 * MS_PER_SECOND);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_two_writes_in_a_minute),
		cmocka_unit_test(test_bodies),
		cmocka_unit_test(test_next_change),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
