/* A metering as one process after another has it: snapshots are read, decided on and counted, and the
 * stored status outlives a restart. For the tests of feature/cost/core/metering. */
#ifndef TEST_SUPPORT_METERING_RUN_H
#define TEST_SUPPORT_METERING_RUN_H

#include <string.h>

#include "base/memory.h"
#include "codec/objects/autoscaler_json.h"
#include "codec/objects/snapshot_json.h"
#include "core/decide.h"
#include "feature/cost/core/metering.h"
#include "test/support/support.h"

#define SECONDS(n) (INT64_C(1000) * (n))
#define HOURS(n) (INT64_C(3600000) * (n))
#define START 1795168800000 /* 2026-11-20T10:00:00Z */
#define MIDNIGHT (START + HOURS(14))
#define GPUS "resources: {limits: {cpu: 2, memory: 1Gi, nvidia.com/gpu: 2}}"
#define GROUP(name)                                                                                \
	"    - {groupName: " name                                                                  \
	", replicas: 9, maxReplicas: 20, template: {spec: {containers:\n"                          \
	"        [{name: w, " GPUS "}]}}}\n"
#define POD_IN(name, group, created, more, state)                                                  \
	"- {metadata: {namespace: team, name: " name ", labels: {ray.io/cluster: demo,\n"          \
	"    ray.io/node-type: worker, ray.io/group: " group "}, creationTimestamp: '" created     \
	"'" more "},\n   spec: {containers: [{name: w, " GPUS "}], nodeName: n},\n   status: "     \
	"{" state "}}\n"
#define RUNS                                                                                       \
	"phase: Running, containerStatuses: [{name: w, state: {running:\n"                         \
	"     {startedAt: '2026-11-20T09:51:00Z'}}}]"
#define POD(name) POD_IN(name, "gpu", "2026-11-20T09:50:00Z", "", RUNS)
#define NODE(name, free)                                                                           \
	"  - {nodeId: " name ", instanceId: " name ", rayNodeTypeName: gpu, status: RUNNING,\n"    \
	"     totalResources: {CPU: 2, GPU: 2}, availableResources: {CPU: 2" free "}}\n"
#define RAY                                                                                        \
	"rayState:\n  clusterSessionName: session_1\n  nodeStates:\n"                              \
	"  - {nodeId: AQE=, instanceId: demo-head, rayNodeTypeName: headgroup, status: RUNNING,\n" \
	"     totalResources: {'node:__internal_head__': 1}}\n"
#define CLUSTER(scaled, groups)                                                                    \
	"apiVersion: rayscaler.dev/v1alpha1\nkind: Snapshot\nnow: '2026-11-20T10:00:00Z'\n"        \
	"rayCluster:\n  apiVersion: ray.io/v1\n"                                                   \
	"  metadata: {namespace: team, name: demo, uid: u1}\n  spec:\n"                            \
	"    enableInTreeAutoscaling: " scaled "\n"                                                \
	"    headGroupSpec: {rayStartParams: {num-cpus: '0'}, template: {spec: {containers:\n"     \
	"      [{name: h, resources: {limits: {memory: 2Gi}}}]}}}\n"                               \
	"    workerGroupSpecs:\n" groups "pods:\n"
#define DEMO CLUSTER("true", GROUP("gpu"))

/* One busy worker with half a GPU free. */
static const char one_worker[] = DEMO POD("AQI=") RAY NODE("AQI=", ", GPU: 0.5");
static const char no_worker[] = DEMO RAY;

/* Pods without a Node and those that have finished cost nothing. */
static const char all_states[] = DEMO POD("AQI=") POD("AQM=") POD(
	"starting") POD_IN("deleted", "gpu", "2026-11-20T09:50:00Z",
			   ", deletionTimestamp: '2026-11-20T09:59:00Z'", RUNS)
	POD_IN("failed", "gpu", "2026-11-20T09:50:00Z", "",
	       "phase: Failed") "- {metadata: {namespace: team, name: pending, labels: {ray.io/cluster: demo,\n"
				"    ray.io/node-type: worker, ray.io/group: gpu}},\n"
				"   spec: {containers: [{name: w, " GPUS
				"}]}, status: {phase: Pending}}\n" RAY NODE("AQI=", ", GPU: 0.5")
					NODE("AQM=", ", GPU: 2");

static const struct price_row price = { .gpu_model = "", .micros_per_gpu_hour = 3600000 };
static const struct price_table euros = { "EUR", &price, 1 };

/* A process and its clocks; the stored status outlives it. */
struct run {
	struct metering metering;
	struct arena arena, stored_arena;
	struct autoscaler_object object;
	struct summary status;
	const struct price_table *prices;
	/* The labels of its Node; NULL: unknown. */
	const struct labels *(*node_labels)(const struct nodes *nodes, const char *name);
	time_ms wall;
	int64_t monotonic;
	bool has_object, sidecar;
};

static int setup(void **state)
{
	struct run *run = memory_alloc(sizeof(*run));

	run->wall = START;
	run->monotonic = 77;
	run->has_object = true;
	run->prices = &euros;
	*state = run;
	return 0;
}

static int teardown(void **state)
{
	struct run *run = *state;

	metering_done(&run->metering);
	arena_done(&run->arena);
	arena_done(&run->stored_arena);
	memory_free(run);
	return 0;
}

static void decide_on(struct run *run, const char *text)
{
	struct snapshot snapshot;
	const struct plan *plan;
	const struct metering_prices prices = { run->prices, run->node_labels, NULL };
	struct err err;

	arena_done(&run->arena);
	if (snapshot_read(text, strlen(text), &run->arena, &snapshot, &err))
		fail_msg("%s", err.text);
	if (run->sidecar)
		snapshot.settings.mode = MODE_SIDECAR;
	plan = decide(&snapshot, &run->arena);
	snapshot.now = run->wall;
	if (run->has_object)
		snapshot.autoscaler = &run->object;
	metering_count(&run->metering, &snapshot, plan, summary_of(&snapshot, plan, &run->arena),
		       &prices, run->monotonic);
}

static void pass_time(struct run *run, int64_t ms)
{
	run->wall += ms;
	run->monotonic += ms;
}

/* The controller writes the status. */
static void write_status(struct run *run)
{
	const struct autoscaler_metering *status =
		metering_status(&run->metering, "u1", &run->arena);
	struct summary stored = { .parts.metering = status };
	struct arena old = run->stored_arena;

	run->stored_arena = ARENA_INIT;
	field_own(autoscaler_status_fields, &stored, &run->stored_arena);
	run->status.parts.metering = stored.parts.metering;
	run->object.status = &run->status;
	arena_done(&old);
}

/* kill -9, and a process whose monotonic clock has another zero. */
static void restart(struct run *run)
{
	metering_done(&run->metering);
	run->monotonic = 1;
}

static const struct metering_group *group_of(const struct run *run, const char *name)
{
	for (size_t i = 0; i < run->metering.group_count; i++)
		if (strcmp(run->metering.groups[i].name, name) == 0)
			return &run->metering.groups[i];
	return NULL;
}

static void expect(const struct run *run, const char *name, int64_t used, int64_t idle,
		   int64_t starting, int64_t terminating)
{
	const int64_t wanted[METERING_STATE_COUNT] = {
		[METERING_USED] = used,
		[METERING_IDLE] = idle,
		[METERING_STARTING] = starting,
		[METERING_TERMINATING] = terminating,
	};
	const struct metering_group *group = group_of(run, name);

	assert_non_null(group);
	for (size_t s = 0; s < METERING_STATE_COUNT; s++)
		if (s != METERING_REQUESTED && group->seconds[s].whole != wanted[s])
			fail_msg("%s %s: %lld GPU-seconds, not %lld", name,
				 metering_state_name((enum metering_state)s),
				 (long long)group->seconds[s].whole, (long long)wanted[s]);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, setup, teardown)

#endif
