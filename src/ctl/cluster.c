#include "ctl/cluster.h"

#include <string.h>

#include "base/arena.h"
#include "base/memory.h"
#include "core/decide/gate.h"
#include "core/model/kubernetes.h"
#include "core/model/plan.h"
#include "core/model/reason.h"
#include "ctl/pass/act.h"
#include "ctl/pass/observe.h"
#include "ctl/pass/pass.h"
#include "ctl/pass/patched.h"
#include "ctl/pass/ray_access.h"
#include "ctl/queue/poll_interval.h"
#include "ctl/queue/scan_pace.h"
#include "ctl/queue/spread.h"
#include "ctl/queue/work_queue.h"
#include "ctl/report/driver_log.h"
#include "ctl/report/event_recorder.h"
#include "ctl/report/feature.h"
#include "ctl/report/metrics.h"
#include "ctl/report/registration.h"
#include "ctl/report/status.h"
#include "ctl/report/trouble.h"
#include "ctl/shared/options.h"
#include "ctl/watch/autoscaler_objects.h"
#include "ctl/watch/capacity_watch.h"
#include "ctl/watch/events.h"
#include "ctl/watch/nodes.h"
#include "gcs/gcs_client.h"
#include "kube/kube_informer.h"
#include "net/log.h"
#include "net/loop.h"
#include "net/process.h"

#define HANDS_OFF_INTERVAL_MS 60000 /* of clusters that are not scaled: Ray is not read */
#define ENDING_SHARE 4 /* of the scan interval: work may arrive until a suspended head has ended */
#define SCAN_SLOTS 40  /* in each interval: 25 ms of 1 s */
#define NEVER_MS (INT64_MIN / 2)
/* An earlier change waits for the next scan: of a value that grows with the clock. */
#define CLOCK_CHANGE_MIN_MS (100 + CLOCK_JOIN_MS)
#define REPORT_INTERVAL_MS 5000 /* as often as Ray's own autoscaler reports */
#define AWAKE_MS 30000          /* after the last change of Ray's reply */
/* A change by the clock waits so long: workers whose idle timeouts end one after the other are one
 * patch. */
#define CLOCK_JOIN_MS 100

/* Whether a RayCluster is scaled, by the objects in the caches alone: before a pass, which reads Ray
 * or not. */
enum cluster_gate {
	CLUSTER_SCALED = 0,
	CLUSTER_HANDS_OFF, /* Ray is not read */
	/* This program has suspended it. Its Ray is read as long as it answers: work may have arrived
	 * since the last question. */
	CLUSTER_ENDING,
};

/* view->cluster NULL: HANDS_OFF. Of its Pods only heads are read. */
static enum cluster_gate cluster_gate(const struct observation *view, const struct options *options)
{
	AUTO(arena_done) struct arena scratch = ARENA_INIT;
	struct observation observation = *view;
	struct snapshot snapshot;
	enum reason reason;

	if (!view->cluster)
		return CLUSTER_HANDS_OFF;
	observation.snapshot.settings = options->settings;
	observation.snapshot.device_table = options->device_table;
	observe(&observation, &scratch, &snapshot);
	reason = gate_check(&snapshot, &scratch).reason;
	if (!reason)
		return CLUSTER_SCALED;
	return reason == REASON_SUSPENDED && ray_cluster_suspended_at(view->cluster) ?
		       CLUSTER_ENDING :
		       CLUSTER_HANDS_OFF;
}

/* The listeners of passes: called, in this order, after a final decision, when its patch was
 * accepted, and when the RayCluster is deleted. None may delay a decision; each is a member of
 * struct control, which may be NULL. */
static const struct listener {
	size_t member;
	void (*decided)(void *self, const struct pass_decision *decision);
	void (*patched)(void *self, const char *namespace_, const char *name);
	void (*forget)(void *self, const char *namespace_, const char *name);
} listeners[] = {
#define LISTENER(name) offsetof(struct control, name)
	{ LISTENER(metrics), metrics_decided, NULL, metrics_forget },
	{ LISTENER(features), features_decided, NULL, features_forget },
	{ LISTENER(status), status_decided, NULL, status_forget },
	{ LISTENER(recorder), event_recorder_decided, event_recorder_patched,
	  event_recorder_forget },
	{ LISTENER(autoscalers), autoscaler_objects_decided, autoscaler_objects_patched,
	  autoscaler_objects_forget },
	{ LISTENER(registration), registration_decided, NULL, NULL },
#undef LISTENER
};
#define LISTENER_COUNT (sizeof(listeners) / sizeof(listeners[0]))

struct cluster {
	struct cluster_entry of;
	const struct control *control;
	struct ray_access *access;
	struct pass *pass; /* NULL: waiting for the timer, then for its turn */
	struct loop_timer *timer;
	struct turn turn;
	enum pass_cost cost;    /* as of the last pass */
	int64_t cpu_factor;     /* likewise; 0: as 1 */
	enum cluster_gate gate; /* as of the last pass; ENDING: and its Ray has answered */
	bool woken;             /* the next pass comes early, because something changed */
	bool wake_again;        /* something changed during a pass */
	bool resumed;           /* the pace of an earlier process was read */
	bool unread;            /* it waits for its objects */
	int64_t started_ms;
	struct backoff backoff; /* from the API server, when a read or a write failed */
	int64_t not_before_ms;  /* earliest next pass, also for cluster_wake */
	struct poll poll;
	struct arena memory_arena;
	const struct memory_state *memory; /* of the last plan; NULL: none */
	struct patched patched;
	int64_t reported_ms;
	size_t reported_infeasible;
	bool ray_failed;    /* in the present pass, for metrics */
	enum scan scan;     /* as it is counted in control->pace */
	int64_t changed_ms; /* of Ray's reply */
	/* The last decision was made from a reply with this digest and remains valid until then
	 * (loop_boot_ms) unless an object changes; 0: no such decision. */
	uint64_t unchanged_digest;
	uint64_t nodes_seen; /* nodes_changes when no Pod was on a disrupted Node; 0: not looked up */
	int64_t unchanged_until_ms;
	int64_t clock_change_ms; /* when the clock alone changes the last plan; 0: it does not */
	struct log_repeat patch;
	struct trouble trouble;
};

static void pass_is_due(void *context);

static int64_t scan_ms(const struct cluster *cluster)
{
	return cluster->control->options->scan_interval_seconds * MS_PER_SECOND;
}

struct cluster *cluster_make(struct cluster_map *clusters, const struct control *control,
			     const char *namespace_, const char *name)
{
	struct cluster *cluster = cluster_map_make(clusters, namespace_, name);

	if (cluster->control)
		return cluster;
	cluster->control = control;
	cluster->access = ray_access_new(control, cluster->of.namespace_, cluster->of.key);
	cluster->timer = loop_timer_new(control->loop, pass_is_due, cluster);
	cluster->patched.loop = control->loop;
	poll_init(&cluster->poll, loop_monotonic_ms(control->loop));
	trouble_init(&cluster->trouble, loop_monotonic_ms(control->loop));
	cluster->started_ms = NEVER_MS;
	cluster->reported_ms = NEVER_MS;
	cluster->changed_ms = NEVER_MS;
	cluster->backoff = KUBE_BACKOFF;
	loop_timer_start(cluster->timer,
			 spread_ms(cluster->of.key, SPREAD_SCANS, scan_ms(cluster)));
	return cluster;
}

static void set_scan(struct cluster *cluster, enum scan scan)
{
	if (cluster->control->pace)
		scan_pace_move(cluster->control->pace, cluster->scan, scan);
	cluster->scan = scan;
}

/* From the start of one pass to that of the next while the cluster is scaled. */
static int64_t interval_ms(const struct cluster *cluster)
{
	const struct scan_pace *pace = cluster->control->pace;
	int64_t scan = scan_ms(cluster);

	return poll_interval_ms(&cluster->poll,
				pace ? scan_pace_ms(pace, cluster->scan, scan) : scan, scan);
}

static void *listener_self(const struct cluster *cluster, size_t index)
{
	const void *member = (const char *)cluster->control + listeners[index].member;

	return *(void *const *)member;
}

static void cluster_done(void *one)
{
	struct cluster *cluster = one;

	for (size_t i = 0; i < LISTENER_COUNT; i++)
		if (listeners[i].forget)
			listeners[i].forget(listener_self(cluster, i), cluster->of.namespace_,
					    cluster->of.name);
	set_scan(cluster, SCAN_FIXED);
	work_queue_leave(&cluster->turn);
	pass_free(cluster->pass);
	ray_access_free(cluster->access);
	loop_timer_free(cluster->timer);
	patched_done(&cluster->patched);
	trouble_done(&cluster->trouble);
	log_repeat_done(&cluster->patch);
	arena_done(&cluster->memory_arena);
}

struct cluster_map clusters_new(void)
{
	return CLUSTER_MAP_INIT(struct cluster, cluster_done);
}

/* Sets the timer of the next pass: interval_ms after the start of the last one, and not before the
 * backoff from the API server has passed. */
static void start_timer(struct cluster *cluster, int64_t interval_ms)
{
	int64_t now_ms = loop_monotonic_ms(cluster->control->loop);
	int64_t at_ms = cluster->started_ms + interval_ms;

	if (at_ms < cluster->not_before_ms)
		at_ms = cluster->not_before_ms;
	loop_timer_start(cluster->timer, at_ms > now_ms ? at_ms - now_ms : 0);
}

void cluster_wake(struct cluster *cluster)
{
	int64_t now_ms = loop_monotonic_ms(cluster->control->loop);

	cluster->unchanged_until_ms = 0;
	if (cluster->pass) {
		cluster->wake_again = true;
	} else if (!work_queue_waits(&cluster->turn)) { /* else the pass is about to begin */
		cluster->woken = true;
		start_timer(cluster, poll_wake_ms(&cluster->poll, now_ms));
	}
}

struct trouble_lines *cluster_pod_lines(struct cluster *cluster)
{
	return &cluster->trouble.pod_lines;
}

/* --- objects in the caches --- */

static const struct ray_cluster *current_object(struct cluster *cluster)
{
	return patched_current(&cluster->patched,
			       kube_informer_get(cluster->control->ray_clusters,
						 cluster->of.namespace_, cluster->of.name));
}

/* With all Pods of the cluster. */
static void objects_view(struct cluster *cluster, struct arena *arena, struct observation *ret_view)
{
	ret_view->snapshot.pods = (const struct pod *const *)kube_informer_indexed(
		cluster->control->pods, cluster->of.key, &ret_view->snapshot.pod_count);
	ret_view->cluster = current_object(cluster);
	ret_view->snapshot.autoscaler = autoscaler_objects_get(
		cluster->control->autoscalers, cluster->of.namespace_, cluster->of.name, arena);
}

/* With its head Pods alone: enough to see whether the cluster is ours and where its head is. */
static void heads_view(struct cluster *cluster, struct arena *arena, struct observation *ret_view)
{
	objects_view(cluster, arena, ret_view);
	ret_view->snapshot.pod_count =
		kube_informer_leading(cluster->control->pods, cluster->of.key);
}

/* The memory of these objects. */
static size_t objects_bytes(const struct cluster *cluster)
{
	const struct control *control = cluster->control;
	const char *namespace_ = cluster->of.namespace_, *name = cluster->of.name;

	return kube_informer_indexed_bytes(control->pods, cluster->of.key) +
	       kube_informer_bytes(control->ray_clusters, namespace_, name) +
	       cluster->patched.arena.used_bytes +
	       autoscaler_objects_bytes(control->autoscalers, namespace_, name);
}

/* Why a Pod that is absent in the view may exist; "": it does not. */
static const char *view_problem(const struct cluster *cluster, struct arena *arena)
{
	const char *stale = control_stale(cluster->control, arena);
	const char *lack = kube_informer_incomplete(cluster->control->pods, cluster->of.namespace_);

	if (*stale || !lack)
		return stale;
	return arena_printf(arena, "not all Pods of this namespace are kept: %s", lack);
}

/* The versions that a decision would read if it began now. */
static const struct ray_cluster *current_cluster(void *context)
{
	return current_object(context);
}

static void current_view(void *context, struct arena *arena, struct observation *ret_view)
{
	struct cluster *cluster = context;
	struct snapshot *snapshot = &ret_view->snapshot;

	objects_view(cluster, arena, ret_view);
	ret_view->bytes = objects_bytes(cluster);
	snapshot->view_problem = view_problem(cluster, arena);
	snapshot->events_known = events_known(cluster->control->events);
	snapshot->nodes_known = nodes_known(cluster->control->nodes);
	nodes_of_pods(cluster->control->nodes, snapshot->pods, snapshot->pod_count, arena,
		      &snapshot->nodes, &snapshot->node_count);
	capacity_watch_view(cluster->control->capacity_watch, arena, ret_view);
	if (!ret_view->cluster || ret_view->cluster->unreadable)
		return;
	snapshot->second_controller = autoscaler_objects_second(
		cluster->control->autoscalers, cluster->of.namespace_, cluster->of.name);
	features_observe(cluster->control->features, ret_view->cluster, arena, snapshot);
	snapshot->extra_conditions = features_conditions(cluster->control->features,
							 ret_view->cluster, arena,
							 &snapshot->extra_condition_count);
	events_of_cluster(cluster->control->events, ret_view->cluster, arena, &snapshot->events,
			  &snapshot->event_count);
}

/* --- log and reports of a decision --- */

static void report_done(void *context, const struct gcs_reply *reply UNUSED, const struct err *err)
{
	const struct cluster *cluster = context;

	if (!err)
		return;
	metrics_gcs_failed(cluster->control->metrics, err);
	log_debug("report to Ray failed", "cluster", cluster->of.key, "error", err->text, NULL);
}

static void report(struct cluster *cluster, const struct pass_decision *decision,
		   struct gcs_client *gcs)
{
	int64_t now_ms = loop_monotonic_ms(cluster->control->loop);
	size_t infeasible = decision->plan->infeasible.count;
	bool first = cluster->reported_ms == NEVER_MS;

	if (now_ms - cluster->reported_ms < REPORT_INTERVAL_MS &&
	    infeasible == cluster->reported_infeasible && decision->plan->patch.count == 0)
		return;
	cluster->reported_ms = now_ms;
	/* A fleet starts all at once: an offset by name spreads the second reports. */
	if (first)
		cluster->reported_ms -=
			spread_ms(cluster->of.key, SPREAD_REPORTS, REPORT_INTERVAL_MS);
	cluster->reported_infeasible = infeasible;
	gcs_client_report_state(gcs, cluster->control->options->gcs_timeout_seconds * MS_PER_SECOND,
				decision->now, decision->ray_state, decision->plan, report_done,
				cluster);
}

/* It asks for GPUs of the pools, or releases workers for others. */
static bool waits_for_pools(const struct snapshot *snapshot, const struct plan *plan)
{
	return snapshot->pools && (plan->asks.count > 0 || snapshot->pools->release_count > 0);
}

/* A share that other clusters leave to it, or an unknown one, is read again with each pass. */
static bool inputs_are_others(const struct snapshot *snapshot, const struct plan *plan)
{
	return !snapshot->ray_state || (snapshot->has_gpu_budget && plan->unserved.count > 0) ||
	       waits_for_pools(snapshot, plan) ||
	       (snapshot->view_problem && snapshot->view_problem[0]);
}

/* The inputs of the next decision change only with Ray's reply, or with objects that wake the cluster.
 * Events, Nodes, the GPU quota and the pools do not; the first two matter to Pods that are not in Ray
 * yet. */
static bool inputs_wake(const struct snapshot *snapshot, const struct plan *plan)
{
	if (snapshot->event_count > 0 || snapshot->node_count > 0 ||
	    inputs_are_others(snapshot, plan))
		return false;
	VEC_EACH(const struct plan_group, group, &plan->groups)
		if (group->missing != 0)
			return false;
	VEC_EACH(const struct plan_worker, worker, &plan->workers)
		if (worker->state != WORKER_RUNNING && worker->state != WORKER_IDLE)
			return false;
	return true;
}

/* Awake: work runs or waits, workers start or end, or Ray's reply has changed lately. */
static enum scan scan_of(struct cluster *cluster, const struct pass_decision *decision)
{
	const struct ray_state *state = decision->ray_state;

	if (!state || cluster->gate != CLUSTER_SCALED)
		return SCAN_FIXED;
	if (decision->digest != 0 && decision->digest != cluster->unchanged_digest)
		cluster->changed_ms = decision->monotonic_ms;
	if (state->request_count > 0 || state->gang_count > 0 ||
	    decision->monotonic_ms - cluster->changed_ms < AWAKE_MS ||
	    !inputs_wake(decision->snapshot, decision->plan))
		return SCAN_AWAKE;
	VEC_EACH(const struct plan_worker, worker, &decision->plan->workers)
		if (worker->state != WORKER_IDLE)
			return SCAN_AWAKE;
	return SCAN_ASLEEP;
}

/* Until plan.next_change, and while Ray's reply stays the same, the next decision is made only when the
 * next report to Ray is due: most clusters of a fleet are unchanged most of the time. Events and Nodes
 * are read again once in a scan interval, however often Ray is read. */
static void keep_unchanged(struct cluster *cluster, const struct pass_decision *decision)
{
	const struct snapshot *snapshot = decision->snapshot;
	int64_t most_ms = inputs_wake(snapshot, decision->plan) ? REPORT_INTERVAL_MS :
								  scan_ms(cluster);
	time_ms next = decision->plan->next_change;
	int64_t left_ms = next == PLAN_NEVER_CHANGES ? INT64_MAX : next - decision->now;

	cluster->clock_change_ms = 0;
	if (left_ms > 0 && left_ms != INT64_MAX) {
		left_ms += CLOCK_JOIN_MS;
		cluster->clock_change_ms = decision->monotonic_ms + left_ms;
	}
	cluster->unchanged_until_ms = 0;
	cluster->nodes_seen = 0;
	if (decision->digest == 0 || left_ms <= 0 || inputs_are_others(snapshot, decision->plan))
		return;
	if (left_ms > most_ms)
		left_ms = most_ms;
	cluster->unchanged_digest = decision->digest;
	cluster->unchanged_until_ms = loop_boot_ms() + left_ms;
}

/* Looked up once for each change of disrupted Nodes: a change of its Pods resets it by keep_unchanged. */
static bool loses_a_node(struct cluster *cluster, struct arena *arena)
{
	uint64_t changes = nodes_changes(cluster->control->nodes);
	size_t pod_count, node_count;
	const struct node *nodes;
	const struct pod *const *pods;

	if (cluster->nodes_seen == changes)
		return false;
	pods = (const struct pod *const *)kube_informer_indexed(cluster->control->pods,
								cluster->of.key, &pod_count);
	nodes_of_pods(cluster->control->nodes, pods, pod_count, arena, &nodes, &node_count);
	if (node_count == 0)
		cluster->nodes_seen = changes;
	return node_count > 0;
}

/* Objects that changed have already reset unchanged_until_ms; checks the remaining conditions. */
static bool is_unchanged(void *context, uint64_t digest)
{
	struct cluster *cluster = context;
	AUTO(arena_done) struct arena scratch = ARENA_INIT;
	int64_t since_ms = loop_monotonic_ms(cluster->control->loop) - cluster->reported_ms;

	return cluster->unchanged_until_ms > loop_boot_ms() &&
	       digest == cluster->unchanged_digest && since_ms < REPORT_INTERVAL_MS &&
	       !view_problem(cluster, &scratch)[0] && !loses_a_node(cluster, &scratch);
}

static void decided(void *context, const struct pass_decision *decision)
{
	struct cluster *cluster = context;
	struct gcs_client *gcs =
		cluster->gate == CLUSTER_SCALED ? ray_access_present(cluster->access) : NULL;
	struct pass_decision with_client = *decision;

	if (decision->ray_err && decision->ray_err->kind == ERR_DENIED)
		ray_access_refused(cluster->access);
	/* That the Ray of a cluster that ends does not answer is not an error. */
	cluster->ray_failed = decision->ray_err && cluster->gate == CLUSTER_SCALED;
	if (!decision->ray_state && cluster->gate == CLUSTER_ENDING)
		cluster->gate = CLUSTER_HANDS_OFF;
	set_scan(cluster, scan_of(cluster, decision));
	keep_unchanged(cluster, decision);
	trouble_conditions(&cluster->trouble, cluster->of.key, decision->plan,
			   decision->monotonic_ms);
	with_client.gcs = gcs;
	for (size_t i = 0; i < LISTENER_COUNT; i++)
		listeners[i].decided(listener_self(cluster, i), &with_client);
	if (decision->ray_state && gcs)
		report(cluster, decision, gcs);
}

/* --- passes --- */

static void keep_poll(struct cluster *cluster, const struct poll_reading *reading)
{
	if (!poll_update(&cluster->poll, scan_ms(cluster), reading))
		return;
	if (cluster->poll.text[0])
		log_warning("scan interval is longer than asked for", "cluster", cluster->of.key,
			    "why", cluster->poll.text, NULL);
	else
		log_info("scan interval is as asked for again", "cluster", cluster->of.key, NULL);
}

/* From the start of the last pass to the next one: at most `interval_ms`, and less when the clock
 * changes the plan before. Such a pass is limited as one that a change in Kubernetes triggers. */
static int64_t until_clock_change(struct cluster *cluster, int64_t interval_ms)
{
	int64_t change_ms = cluster->clock_change_ms - cluster->started_ms, least_ms;

	if (change_ms < CLOCK_CHANGE_MIN_MS || change_ms >= interval_ms)
		return interval_ms;
	cluster->woken = true;
	least_ms = poll_wake_ms(&cluster->poll, loop_monotonic_ms(cluster->control->loop));
	return change_ms > least_ms ? change_ms : least_ms;
}

/* Clusters with one interval start at times that are multiples of a part of it, because those that start
 * together share a turn of the loop, and its costs. The nearest one: the mean interval stays. */
static int64_t on_grid(const struct cluster *cluster, int64_t interval_ms)
{
	int64_t slot_ms = interval_ms / SCAN_SLOTS, at_ms = cluster->started_ms + interval_ms;

	return slot_ms > 0 ? interval_ms + slot_ms / 2 - (at_ms + slot_ms / 2) % slot_ms :
			     interval_ms;
}

static void schedule_next(struct cluster *cluster)
{
	int64_t interval = interval_ms(cluster);

	if (cluster->wake_again) {
		cluster->wake_again = false;
		cluster_wake(cluster);
		return;
	}
	if (cluster->gate == CLUSTER_ENDING)
		interval = scan_ms(cluster) / ENDING_SHARE;
	else if (cluster->gate == CLUSTER_HANDS_OFF)
		interval = HANDS_OFF_INTERVAL_MS;
	start_timer(cluster, until_clock_change(cluster, on_grid(cluster, interval)));
}

static void count_pass(const struct cluster *cluster, const struct pass_result *result)
{
	const struct metrics_pass pass = {
		.seconds = (double)result->took_us / 1e6,
		.monotonic_ms = loop_monotonic_ms(cluster->control->loop),
		.scaled = result->scaled,
		.failed = result->err || cluster->ray_failed,
		.undecided = result->undecided,
		.drain_errors = result->drain_errors,
		.scan_interval_ms = interval_ms(cluster),
	};

	metrics_pass_ended(cluster->control->metrics, cluster->of.namespace_, cluster->of.name,
			   &pass);
}

/* Backs off from an API server that fails; the delays of clusters differ by jitter. */
static void keep_off(struct cluster *cluster, const struct pass_result *result)
{
	if (!result->err) {
		cluster->backoff.failures = 0;
		log_repeat_end(&cluster->patch, "cannot change the RayCluster", cluster->of.key);
		return;
	}
	cluster->not_before_ms = loop_monotonic_ms(cluster->control->loop) +
				 backoff_next_ms(&cluster->backoff, result->retry_after_ms);
	log_repeat_error(&cluster->patch, "cannot change the RayCluster", cluster->of.key,
			 result->err->text);
}

static void pass_ended(void *context, const struct pass_result *result)
{
	struct cluster *cluster = context;
	bool suspended = result->scaled && result->scaled->action == CLUSTER_SUSPEND;

	keep_poll(cluster, &result->reading);
	if (result->decided)
		poll_decided(&cluster->poll, scan_ms(cluster), result->undecided);
	cluster->cost = result->cost;
	cluster->turn.small = cluster->cost == PASS_SMALL;
	cluster->cpu_factor = result->cpu_factor;
	count_pass(cluster, result);
	keep_off(cluster, result);
	if (result->memory)
		cluster->memory = memory_state_keep(result->memory, &cluster->memory_arena);
	if (result->patched) {
		patched_keep(&cluster->patched, result->object, result->object_arena);
		for (size_t i = 0; i < LISTENER_COUNT; i++)
			if (listeners[i].patched)
				listeners[i].patched(listener_self(cluster, i),
						     cluster->of.namespace_, cluster->of.name);
		driver_log_add(cluster->control, ray_access_present(cluster->access),
			       result->scaled);
	}
	pass_free(steal(&cluster->pass));
	schedule_next(cluster);
	if (suspended) /* work may have arrived while the patch was under way */
		start_timer(cluster, 0);
}

/* True: the last decision of an earlier process took too much; the first one here waits as long. */
static bool resumes_later(struct cluster *cluster, const struct observation *view)
{
	const struct autoscaler_object *object = view->snapshot.autoscaler;
	const struct summary *status = object ? object->status : NULL;

	if (cluster->resumed)
		return false;
	cluster->resumed = true;
	poll_resume(&cluster->poll, status ? status->undecided_seconds : 0);
	return cluster->poll.undecided_ms > 0;
}

/* One of its large objects exists and is not read yet: nothing is decided without it. */
static bool is_unread(const struct cluster *cluster)
{
	const struct control *control = cluster->control;
	const char *namespace_ = cluster->of.namespace_, *name = cluster->of.name;

	return kube_informer_unread(control->ray_clusters, namespace_, name) ||
	       kube_informer_indexed_unread(control->pods, cluster->of.key) ||
	       autoscaler_objects_unread(control->autoscalers, namespace_, name) ||
	       features_unread(control->features, namespace_, name);
}

static bool waits_to_be_read(struct cluster *cluster)
{
	bool waited = cluster->unread;

	cluster->unread = is_unread(cluster);
	if (cluster->unread && !waited)
		log_info("not decided on until its large objects are read", "cluster",
			 cluster->of.key, NULL);
	if (cluster->unread)
		status_unread(cluster->control->status, cluster->of.namespace_, cluster->of.name);
	return cluster->unread;
}

static void start_pass(void *context)
{
	static const struct pass_callbacks functions = { .view = current_view,
							 .current = current_cluster,
							 .unchanged = is_unchanged,
							 .decided = decided,
							 .done = pass_ended };
	struct cluster *cluster = context;
	struct pass_callbacks callbacks = functions;
	struct pass_config config = {
		.control = cluster->control,
		.namespace_ = cluster->of.namespace_,
		.name = cluster->of.name,
		.ray_note = cluster->poll.text,
		.memory = cluster->memory,
		.cost = cluster->cost,
		.cpu_factor = cluster->cpu_factor,
		.small_ms = PASS_SMALL_MS,
		.quick_ms = PASS_QUICK_MS,
		.undecided_ms = poll_undecided_next_ms(&cluster->poll, scan_ms(cluster)),
		.meter = { cluster->control->metrics, metrics_phase, metrics_gcs_failed }
	};
	AUTO(arena_done) struct arena scratch = ARENA_INIT;
	struct observation view = { .snapshot.view_problem = "" };

	cluster->started_ms = loop_monotonic_ms(cluster->control->loop);
	if (cluster->control->pace)
		scan_pace_read(cluster->control->pace, cluster->started_ms, process_cpu_us);
	if (cluster->woken)
		poll_woken(&cluster->poll, cluster->started_ms);
	cluster->woken = false;
	cluster->wake_again = false;
	cluster->ray_failed = false;
	heads_view(cluster, &scratch, &view);
	if (!view.cluster || cluster->unchanged_until_ms == 0)
		cluster->gate = cluster_gate(&view, cluster->control->options);
	if (!view.cluster || waits_to_be_read(cluster) ||
	    (cluster->gate == CLUSTER_SCALED && resumes_later(cluster, &view))) {
		schedule_next(cluster);
		return;
	}
	if (cluster->gate != CLUSTER_HANDS_OFF) {
		config.gcs = ray_access_client(cluster->access, view.cluster, view.snapshot.pods,
					       view.snapshot.pod_count, &config.gcs_problem);
		config.read_kv_requests = ray_access_requests_in_kv(view.cluster);
	}
	config.read_work = cluster->gate == CLUSTER_ENDING;
	if (config.read_work)
		config.meter.gcs_failed = NULL;
	config.api_version = view.cluster->api_version;
	callbacks.context = cluster;
	cluster->pass = pass_new(&config, &callbacks);
}

static void pass_is_due(void *context)
{
	struct cluster *cluster = context;

	work_queue_ask(cluster->control->queue, &cluster->turn, start_pass, cluster);
}
