#include "feature/repair/ctl/drainer.h"

#include <string.h>

#include "base/map.h"
#include "core/capacity/gpu_count.h"
#include "core/model/identity.h"
#include "core/model/pod_status.h"
#include "ctl/pass/pass.h"
#include "ctl/shared/control.h"
#include "ctl/shared/memory_budgets.h"
#include "ctl/shared/options.h"
#include "ctl/watch/nodes.h"
#include "feature/repair/core/repair.h"
#include "feature/repair/core/repair_grants.h"
#include "feature/repair/core/repair_signal.h"
#include "feature/repair/ctl/drain_requests.h"
#include "feature/repair/ctl/worker_failures.h"
#include "net/loop.h"

struct drainer {
	struct feature_state of; /* clusters: struct repaired */
	struct drain_requests requests;
	/* Of Nodes, for all RayClusters. */
	struct repair_grants grants;
	struct loop_timer *grant_timer; /* NULL: no limit of the fleet, in a sidecar */
	bool grant_timer_runs;
};

/* Of a worker on a Node with a sign. */
enum use { USE_BUSY = 0, USE_IDLE, USE_COUNT };

static const char *const use_names[] = { [USE_BUSY] = "busy", [USE_IDLE] = "idle" };

/* Of a RayCluster: its failed workers, and counts of the last decision. */
struct repaired {
	struct cluster_entry of;
	struct worker_failures failures;
	struct repair_asks asks;
	bool has_nodes; /* with a sign */
	bool has_spec;  /* spec.repair */
	struct {
		int64_t nodes, workers[USE_COUNT];
	} of_state[REPAIR_STATE_COUNT];
	int64_t gpus[USE_COUNT];   /* of these workers, in 1/10000 */
	int64_t gpu_ms[USE_COUNT]; /* their time since the start, in 1/10000 */
	int64_t counted_ms;        /* monotonic: when `gpus` were counted */
};

/* ---- the limit of the fleet ---- */

/* Nodes of worker Pods that have not ended. */
static int64_t used_nodes(const struct drainer *drainer)
{
	AUTO(arena_done) struct arena scratch = ARENA_INIT;
	struct map nodes = MAP_IN(&scratch);
	const struct pod *pod;
	size_t at = 0;

	while ((pod = kube_informer_next(drainer->of.control->pods, &at)))
		if (pod_is_worker(pod) && pod->spec.node_name[0] != '\0' && !pod_has_ended(pod))
			map_set(&nodes, pod->spec.node_name, (void *)(uintptr_t)pod);
	return (int64_t)nodes.count;
}

static void start_grant_timer(struct drainer *drainer, int64_t after_ms)
{
	if (!drainer->grant_timer || drainer->grant_timer_runs)
		return;
	drainer->grant_timer_runs = true;
	loop_timer_start(drainer->grant_timer, after_ms);
}

static struct repaired *repaired_at(const struct drainer *drainer, size_t i)
{
	return drainer->of.clusters.map.entries[i].value;
}

static void renew_grants(void *context)
{
	struct drainer *drainer = context;
	const struct control *control = drainer->of.control;
	AUTO(arena_done) struct arena scratch = ARENA_INIT;
	size_t count = drainer->of.clusters.map.count, asks = 0;
	const struct repair_asks **all = arena_array(&scratch, count, sizeof(struct repair_asks *));
	const struct settings *settings = &control->options->settings;
	bool by_percent = settings->repair_fleet_max_unavailable_percent > 0;

	drainer->grant_timer_runs = false;
	for (size_t i = 0; i < count; i++) {
		all[i] = &repaired_at(drainer, i)->asks;
		asks += all[i]->count;
	}
	(void)repair_grants_renew(&drainer->grants, all, count, settings,
				  asks > 0 && by_percent ? used_nodes(drainer) : 0,
				  loop_monotonic_ms(control->loop));
	for (size_t i = 0; i < count; i++)
		if (repair_grants_may_begin(&drainer->grants, all[i]))
			(void)control_wake(control, repaired_at(drainer, i)->of.namespace_,
					   repaired_at(drainer, i)->of.name);
	if (asks > 0 || drainer->grants.granted.count > 0)
		start_grant_timer(drainer, DRAINER_RENEW_MS);
}

/* ---- failed workers ---- */

/* With the Nodes that have a sign and on which no Pod of the RayCluster is left. */
static void observe_failures(const struct drainer *drainer, const struct repaired *one,
			     struct arena *arena, struct snapshot *snapshot)
{
	const struct pod *pods[WORKER_FAILURES_MAX];
	const struct node *more;
	size_t count = 0, more_count;

	if (one->failures.count == 0)
		return;
	snapshot->worker_failures = worker_failures_copy(&one->failures, arena);
	snapshot->worker_failure_count = one->failures.count;
	for (size_t i = 0; i < one->failures.count; i++) {
		struct pod *pod = ARENA_NEW(arena, struct pod);

		pod->spec.node_name = snapshot->worker_failures[i].node;
		if (!ARRAY_FIND(snapshot->nodes, snapshot->node_count, name, pod->spec.node_name))
			pods[count++] = pod;
	}
	nodes_of_pods(drainer->of.control->nodes, pods, count, arena, &more, &more_count);
	snapshot->nodes =
		ARENA_JOIN(arena, snapshot->nodes, snapshot->node_count, more, more_count);
	snapshot->node_count += more_count;
}

/* The first version of a Pod that this process reads may be an hour old. */
static void pod_changed(void *self, const struct pod *old, const struct pod *pod)
{
	struct drainer *drainer = self;
	const char *name = pod ? labels_value(&pod->labels, LABEL_CLUSTER) : NULL;
	const struct ray_cluster *cluster =
		old && name ? kube_informer_get(drainer->of.control->ray_clusters, pod->namespace_,
						name) :
			      NULL;
	struct repaired *one;

	if (!cluster || !identity_is_owned(cluster, pod))
		return;
	one = cluster_map_get(&drainer->of.clusters, pod->namespace_, name);
	if (one)
		worker_failures_pod_changed(&one->failures, old, pod,
					    loop_wall(drainer->of.control->loop));
}

/* "its Node node-1: condition SysLogsXIDError: Xid 79, 40 s before". */
static const char *pod_note(const void *self, const struct pod *pod, struct arena *arena)
{
	const struct drainer *drainer = self;
	const struct settings *settings = &drainer->of.control->options->settings;
	time_ms failed_at = pod_status_read(pod, arena).failed_at;
	struct repair_signal signal;
	const struct node *node;
	const char *text;
	size_t count;

	nodes_of_pods(drainer->of.control->nodes, &pod, 1, arena, &node, &count);
	if (count == 0 || !repair_signal_of(settings, node, arena, &signal))
		return "";
	text = arena_printf(arena, "its Node %s: %s", node->name,
			    repair_signal_text(&signal, arena));
	if (failed_at == TIME_NONE)
		failed_at = loop_wall(drainer->of.control->loop);
	return signal.since == TIME_NONE || signal.since > failed_at ?
		       text :
		       arena_printf(arena, "%s, %lld s before", text,
				    (long long)((failed_at - signal.since) / MS_PER_SECOND));
}

static void observe(void *self, const struct ray_cluster *cluster, struct arena *arena,
		    struct snapshot *snapshot)
{
	const struct drainer *drainer = self;
	const struct repaired *one =
		cluster_map_get(&drainer->of.clusters, cluster->namespace_, cluster->name);

	drain_requests_observe(&drainer->requests, arena, snapshot);
	snapshot->repair_grants_known = drainer->grant_timer != NULL;
	if (!one)
		return;
	snapshot->repair_grants = repair_grants_of(&drainer->grants, &one->asks, arena);
	observe_failures(drainer, one, arena, snapshot);
}

static void repaired_done(void *one)
{
	struct repaired *repaired = one;

	repair_asks_done(&repaired->asks);
	worker_failures_done(&repaired->failures);
}

/* ---- settings without effect ---- */

/* One that was chosen; the published taints need none. "": none. */
static const char *chosen_setting(const struct settings *settings, const struct repaired *one)
{
	return one && one->has_spec                  ? "spec.repair" :
	       settings->repair_taints.count > 0     ? "--repair-taints" :
	       settings->repair_conditions.count > 0 ? "--repair-conditions" :
	       settings->repair_cordon_seconds > 0   ? "--repair-cordon-seconds" :
	       settings->repair_deletes              ? "--repair-deletes" :
						       "";
}

static bool condition(void *self, const struct ray_cluster *cluster, struct arena *arena,
		      struct extra_condition *ret_condition)
{
	const struct drainer *drainer = self;
	const struct settings *settings = &drainer->of.control->options->settings;
	const char *setting =
		chosen_setting(settings, cluster_map_get(&drainer->of.clusters, cluster->namespace_,
							 cluster->name));
	const char *message = NULL;

	if (settings->repair_drain_requests && !drain_requests_are_read(&drainer->requests))
		message =
			"--repair-drain-requests has no effect: DrainRequests cannot be read; install "
			"NVSentinel's kind, and the chart with config.repairDrainRequests=true";
	else if (nodes_refused(drainer->of.control->nodes) && setting[0] != '\0')
		message = arena_printf(arena,
				       "%s has no effect: Nodes cannot be read; install the chart "
				       "with rbac.readNodes=true",
				       setting);
	if (!message)
		return false;
	*ret_condition = (struct extra_condition){ .type = CONDITION_REPAIR_UNREAD,
						   .reason = REASON_REPAIR_UNREAD,
						   .message = message,
						   .is_true = true,
						   .reported = "" };
	return true;
}

/* ---- the feature ---- */

static void start(void *self)
{
	struct drainer *drainer = self;
	const struct control *control = drainer->of.control;

	if (options_sidecar(control->options))
		return;
	drainer->grant_timer = loop_timer_new(control->loop, renew_grants, drainer);
	if (control->options->settings.repair_drain_requests)
		drain_requests_start(&drainer->requests, control);
}

static void end(void *self)
{
	struct drainer *drainer = self;

	repair_grants_done(&drainer->grants);
	loop_timer_free(drainer->grant_timer);
	drain_requests_end(&drainer->requests);
}

static bool reads_node_sign(const void *self, const struct node *node,
			    const struct condition *condition)
{
	const struct drainer *drainer = self;
	const struct settings *settings = &drainer->of.control->options->settings;
	AUTO(arena_done) struct arena scratch = ARENA_INIT;
	struct repair_signal signal;

	return condition ? repair_reads_condition(settings, condition) :
			   repair_signal_of(settings, node, &scratch, &signal);
}

/* The workers of the last decision have kept their GPUs until this one. */
static void count_time(struct repaired *repaired, int64_t now_ms)
{
	for (enum use use = USE_BUSY; use < USE_COUNT; use++)
		repaired->gpu_ms[use] += repaired->gpus[use] * (now_ms - repaired->counted_ms);
	repaired->counted_ms = now_ms;
}

/* Pods whose Ray node has work. */
static struct map busy_pods(const struct ray_state *ray, struct arena *arena)
{
	struct map busy = MAP_IN(arena);

	ARRAY_EACH(const struct ray_node, node, ray ? ray->nodes : NULL, ray->node_count)
		if (!ray_node_is_unused(node))
			map_set(&busy, node->instance_id, (void *)(uintptr_t)node);
	return busy;
}

static void count_workers(struct repaired *repaired, const struct snapshot *snapshot,
			  const struct plan_repair *repair)
{
	AUTO(arena_done) struct arena scratch = ARENA_INIT;
	struct map sick = MAP_IN(&scratch), busy = busy_pods(snapshot->ray_state, &scratch);

	VEC_EACH(const struct repair_node, node, &repair->nodes) {
		repaired->of_state[node->state].nodes++;
		map_set(&sick, node->node, (void *)(uintptr_t)node);
	}
	for (size_t i = 0; i < snapshot->pod_count; i++) {
		const struct pod *pod = snapshot->pods[i];
		const struct repair_node *node = map_get(&sick, pod->spec.node_name);
		enum use use = map_get(&busy, pod->name) ? USE_BUSY : USE_IDLE;

		if (!node || !pod_is_worker(pod) || pod->deleting ||
		    (node->pods && !name_set_contains(node->pods, pod->name)))
			continue;
		repaired->of_state[node->state].workers[use]++;
		repaired->gpus[use] = resource_sum(
			repaired->gpus[use], gpu_count_of_pod(pod, &snapshot->settings,
							      snapshot->device_table, &scratch));
	}
}

static void decided(void *self, const struct pass_decision *decision)
{
	struct drainer *drainer = self;
	struct memory_budgets *memory = drainer->of.control->memory;
	const struct ray_cluster *cluster = &decision->snapshot->cluster;
	const struct plan_repair *repair = decision->plan->repair;
	struct repaired *repaired =
		cluster_map_make(&drainer->of.clusters, cluster->namespace_, cluster->name);

	if (!repaired->failures.budget && memory)
		repaired->failures.budget =
			budget_children_get(&memory->objects, cluster->namespace_);
	worker_failures_decided(&repaired->failures, decision->snapshot, decision->plan);
	repaired->has_nodes = repair != NULL;
	repaired->has_spec = decision->snapshot->autoscaler &&
			     decision->snapshot->autoscaler->repair;
	memset(repaired->of_state, 0, sizeof(repaired->of_state));
	count_time(repaired, decision->monotonic_ms);
	memset(repaired->gpus, 0, sizeof(repaired->gpus));
	if (repair)
		count_workers(repaired, decision->snapshot, repair);
	repair_asks_set(&repaired->asks, repair);
	if (repaired->asks.count >
	    0) /* later, so that those of a new controller have asked as well */
		start_grant_timer(drainer, DRAINER_FIRST_MS);
}

static const struct repaired *repaired_of(const struct drainer *drainer,
					  const struct metrics_cluster *cluster)
{
	return cluster_map_get(&drainer->of.clusters, cluster->of.namespace_, cluster->of.name);
}

static void write_nodes(const void *self, const struct metrics_cluster *cluster,
			struct metrics_family *family)
{
	const struct repaired *repaired = repaired_of(self, cluster);

	if (!repaired || !repaired->has_nodes)
		return;
	for (enum repair_state state = 0; state < REPAIR_STATE_COUNT; state++)
		metrics_text_integer(family,
				     (const char *const[]){ cluster->of.namespace_,
							    cluster->of.name,
							    repair_state_name(state) },
				     repaired->of_state[state].nodes);
}

static void write_workers(const void *self, const struct metrics_cluster *cluster,
			  struct metrics_family *family)
{
	const struct repaired *repaired = repaired_of(self, cluster);

	if (!repaired || !repaired->has_nodes)
		return;
	for (enum repair_state state = 0; state < REPAIR_STATE_COUNT; state++)
		for (enum use use = USE_BUSY; use < USE_COUNT; use++)
			metrics_text_integer(
				family,
				(const char *const[]){ cluster->of.namespace_, cluster->of.name,
						       repair_state_name(state), use_names[use] },
				repaired->of_state[state].workers[use]);
}

static void write_gpu_seconds(const void *self, const struct metrics_cluster *cluster,
			      struct metrics_family *family)
{
	const struct repaired *repaired = repaired_of(self, cluster);

	if (!repaired)
		return;
	for (enum use use = USE_BUSY; use < USE_COUNT; use++)
		metrics_text_integer(family,
				     (const char *const[]){ cluster->of.namespace_,
							    cluster->of.name, use_names[use] },
				     repaired->gpu_ms[use] / RESOURCE_UNIT / MS_PER_SECOND);
}

static const struct feature_metric metrics[] = {
	{ .row = { METRICS_GAUGE, "rayscaler_nodes_to_repair", "namespace,raycluster,state",
		   "Nodes with a sign that they are sick and workers of the RayCluster: Reported, DryRun, "
		   "Lasts, Waits, Begun." },
	  .need = METRICS_SCALED,
	  .write = write_nodes },
	{ .row = { METRICS_GAUGE, "rayscaler_workers_on_nodes_to_repair",
		   "namespace,raycluster,state,use", "Workers there: busy, idle." },
	  .need = METRICS_SCALED,
	  .write = write_workers },
	{ .row = { METRICS_COUNTER, "rayscaler_gpu_seconds_on_nodes_to_repair_total",
		   "namespace,raycluster,use", "Their GPU time; idle is lost." },
	  .need = METRICS_SCALED,
	  .write = write_gpu_seconds },
};

const struct feature repair_feature = {
	.state_size = sizeof(struct drainer),
	.cluster_size = sizeof(struct repaired),
	.cluster_done = repaired_done,
	.start = start,
	.end = end,
	.observe = observe,
	.condition = condition,
	.decided = decided,
	.pod_changed = pod_changed,
	.pod_note = pod_note,
	.reads_node_sign = reads_node_sign,
	.metrics = metrics,
	.metric_count = sizeof(metrics) / sizeof(metrics[0]),
};
