#include "feature/repair/ctl/drainer.h"

#include <string.h>

#include "core/model/identity.h"
#include "core/model/pod_status.h"
#include "ctl/pass/pass.h"
#include "ctl/shared/control.h"
#include "ctl/shared/memory_budgets.h"
#include "ctl/shared/options.h"
#include "ctl/watch/nodes.h"
#include "feature/repair/core/repair.h"
#include "net/loop.h"

struct drainer {
	struct feature_state of; /* clusters: struct repaired */
	struct drain_requests requests;
	/* Grants Nodes to all RayClusters. NULL: no limit of the fleet, in a sidecar. */
	struct loop_timer *grant_timer;
	bool grant_timer_runs;
};

/* Of a RayCluster: its failed workers, and counts of the last decision. */
struct repaired {
	struct cluster_entry of;
	struct worker_failures failures;
	struct repair_asks asks;
	bool has_spec; /* spec.repair */
	struct counts {
		bool has_nodes; /* with a sign */
		int64_t nodes[REPAIR_STATE_COUNT], workers[REPAIR_STATE_COUNT][REPAIR_USE_COUNT];
		int64_t gpus[REPAIR_USE_COUNT]; /* of these workers, in 1/10000 */
		int64_t at_ms;                  /* monotonic */
	} counts;
	int64_t gpu_ms[REPAIR_USE_COUNT]; /* their time since the start, in 1/10000 */
};

/* ---- the limit of the fleet ---- */

static void start_grant_timer(struct drainer *drainer, int64_t after_ms)
{
	if (!drainer->grant_timer || drainer->grant_timer_runs)
		return;
	drainer->grant_timer_runs = true;
	loop_timer_start(drainer->grant_timer, after_ms);
}

static void renew_grants(void *context)
{
	struct drainer *drainer = context;
	const struct control *control = drainer->of.control;
	const struct map *clusters = &drainer->of.clusters.map;
	AUTO(arena_done) struct arena scratch = ARENA_INIT;
	struct repair_asks **all = arena_array(&scratch, clusters->count, sizeof(*all));
	bool asks = false;

	drainer->grant_timer_runs = false;
	for (size_t i = 0; i < clusters->count; i++) {
		all[i] = &((struct repaired *)clusters->entries[i].value)->asks;
		asks = asks || all[i]->nodes.count > 0;
	}
	repair_grants_renew(all, clusters->count,
			    control->options->settings.repair_fleet_max_unavailable,
			    loop_monotonic_ms(control->loop));
	for (size_t i = 0; i < clusters->count; i++) {
		const struct repaired *one = clusters->entries[i].value;

		if (repair_grants_may_begin(&one->asks))
			(void)control_wake(control, one->of.namespace_, one->of.name);
	}
	if (asks)
		start_grant_timer(drainer, DRAINER_RENEW_MS);
}

/* ---- failed workers ---- */

/* With the Nodes that have a sign and on which no Pod of the RayCluster is left. */
static void observe_failures(const struct drainer *drainer, const struct repaired *one,
			     struct arena *arena, struct snapshot *snapshot)
{
	VEC(const struct pod *) pods = { .at = NULL };
	const struct node *more;
	size_t count;

	worker_failures_observe(&one->failures, arena, snapshot);
	ARRAY_EACH(const struct worker_failure, failure, snapshot->worker_failures,
		   snapshot->worker_failure_count)
		if (!ARRAY_FIND(snapshot->nodes, snapshot->node_count, name, failure->node))
			VEC_PUSH(arena, &pods,
				 ARENA_PUT(arena, (struct pod){ .spec.node_name = failure->node }));
	nodes_of_pods(drainer->of.control->nodes, pods.at, pods.count, arena, &more, &count);
	snapshot->nodes = ARENA_JOIN(arena, snapshot->nodes, snapshot->node_count, more, count);
	snapshot->node_count += count;
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
	snapshot->repair_grants = repair_grants_of(&one->asks, arena);
	observe_failures(drainer, one, arena, snapshot);
}

static void repaired_done(void *one)
{
	struct repaired *repaired = one;

	repair_asks_done(&repaired->asks);
	worker_failures_done(&repaired->failures);
}

/* ---- settings without effect ---- */

/* The published taints need none. */
static bool is_set(const struct settings *settings, const struct repaired *one)
{
	return (one && one->has_spec) || settings->repair_taints.count > 0 ||
	       settings->repair_conditions.count > 0 || settings->repair_cordon_seconds > 0 ||
	       settings->repair_deletes;
}

static bool condition(void *self, const struct ray_cluster *cluster, struct arena *arena UNUSED,
		      struct extra_condition *ret_condition)
{
	const struct drainer *drainer = self;
	const struct settings *settings = &drainer->of.control->options->settings;
	const char *message = NULL;

	if (settings->repair_drain_requests && drainer->of.control->options->namespace_[0] != '\0')
		message =
			"--repair-drain-requests has no effect with --namespace, which hides the Pods of "
			"other namespaces on the Node; run one controller for all namespaces";
	else if (settings->repair_drain_requests && !drain_requests_are_read(&drainer->requests))
		message =
			"--repair-drain-requests has no effect: DrainRequests cannot be read; install "
			"NVSentinel's kind, and the chart with config.repairDrainRequests=true";
	else if (nodes_refused(drainer->of.control->nodes) &&
		 is_set(settings,
			cluster_map_get(&drainer->of.clusters, cluster->namespace_, cluster->name)))
		message =
			"the settings of repair have no effect: Nodes cannot be read; install the "
			"chart with rbac.readNodes=true";
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

/* Others may be of the user's own. */
static void hint_at_conditions(const struct strings *entries)
{
	char hint[NEAREST_HINT_SIZE];

	for (size_t i = 0; i < entries->count; i++)
		if (*repair_condition_hint(entries->at[i], hint))
			log_warning("--repair-conditions names a condition that is not published",
				    "condition", entries->at[i], "hint", &hint[2], NULL);
}

static void start(void *self)
{
	struct drainer *drainer = self;
	const struct control *control = drainer->of.control;

	hint_at_conditions(&control->options->settings.repair_conditions);

	if (options_sidecar(control->options))
		return;
	drainer->grant_timer = loop_timer_new(control->loop, renew_grants, drainer);
	/* Else a Node would be let go under the Pods of other namespaces. */
	if (control->options->settings.repair_drain_requests &&
	    control->options->namespace_[0] == '\0')
		drain_requests_start(&drainer->requests, control);
}

static void end(void *self)
{
	struct drainer *drainer = self;

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

/* ---- metrics ---- */

/* The workers of the last decision have kept their GPUs until this one. */
static void count(struct repaired *repaired, const struct plan_repair *repair, int64_t now_ms)
{
	struct counts counts = { .has_nodes = repair != NULL, .at_ms = now_ms };

	for (enum repair_use use = 0; use < REPAIR_USE_COUNT; use++)
		repaired->gpu_ms[use] +=
			repaired->counts.gpus[use] * (now_ms - repaired->counts.at_ms);
	ARRAY_EACH(const struct repair_node, node, repair ? repair->nodes.at : NULL,
		   repair->nodes.count) {
		counts.nodes[node->state]++;
		for (enum repair_use use = 0; use < REPAIR_USE_COUNT; use++) {
			counts.workers[node->state][use] += node->used[use];
			counts.gpus[use] = resource_sum(counts.gpus[use], node->gpus[use]);
		}
	}
	repaired->counts = counts;
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
	repaired->has_spec = decision->snapshot->autoscaler &&
			     decision->snapshot->autoscaler->repair;
	count(repaired, repair, decision->monotonic_ms);
	repair_asks_set(&repaired->asks, repair);
	/* Later, so that those of a new controller have asked as well. */
	if (repaired->asks.nodes.count > 0)
		start_grant_timer(drainer, DRAINER_FIRST_MS);
}

static const char *const uses[] = { [REPAIR_BUSY] = "busy", [REPAIR_IDLE] = "idle" };

#define LABELS(...) ((const char *const[]){ cluster->of.namespace_, cluster->of.name, __VA_ARGS__ })

/* NULL: no Node has a sign. */
static const struct repaired *repaired_of(const struct drainer *drainer,
					  const struct metrics_cluster *cluster)
{
	const struct repaired *repaired =
		cluster_map_get(&drainer->of.clusters, cluster->of.namespace_, cluster->of.name);

	return repaired && repaired->counts.has_nodes ? repaired : NULL;
}

static void write_nodes(const void *self, const struct metrics_cluster *cluster,
			struct metrics_family *family)
{
	const struct repaired *repaired = repaired_of(self, cluster);

	if (!repaired)
		return;
	for (enum repair_state state = 0; state < REPAIR_STATE_COUNT; state++)
		metrics_text_integer(family, LABELS(repair_state_name(state)),
				     repaired->counts.nodes[state]);
}

static void write_workers(const void *self, const struct metrics_cluster *cluster,
			  struct metrics_family *family)
{
	const struct repaired *repaired = repaired_of(self, cluster);

	if (!repaired)
		return;
	for (enum repair_state state = 0; state < REPAIR_STATE_COUNT; state++)
		for (enum repair_use use = 0; use < REPAIR_USE_COUNT; use++)
			metrics_text_integer(family, LABELS(repair_state_name(state), uses[use]),
					     repaired->counts.workers[state][use]);
}

static void write_gpu_seconds(const void *self, const struct metrics_cluster *cluster,
			      struct metrics_family *family)
{
	const struct drainer *drainer = self;
	const struct repaired *repaired =
		cluster_map_get(&drainer->of.clusters, cluster->of.namespace_, cluster->of.name);

	if (!repaired)
		return;
	for (enum repair_use use = 0; use < REPAIR_USE_COUNT; use++)
		metrics_text_integer(family, LABELS(uses[use]),
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
