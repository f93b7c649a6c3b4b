#include "core/report/decision_event.h"

#include <string.h>

#include "base/check.h"
#include "base/text.h"
#include "core/capacity/capacity.h"
#include "core/decide/demand.h"
#include "core/decide/limits.h"
#include "core/decide/worker.h"
#include "core/model/pod_status.h"
#include "core/report/summary.h"

#define NAMES_MAX 3 /* Pods named in one message */
#define SECRET_WORD "Secret "
/* Shorter than this it may only be the time between two replies of Ray. */
#define FLICKER_MS 5000
#define UNREACHABLE_MS 10000
#define HEAD_STARTS_MS 60000 /* the head is not ready: it starts, or is recreated */
#define VIEW_STALE_MS 60000  /* the API server restarts: all clusters at once */
#define UNSERVED_MS 10000    /* tasks with dependencies are pending only briefly */
#define DRAIN_REFUSED_MS 60000

struct maker {
	const struct snapshot *snapshot;
	const struct plan *plan;
	struct arena *arena;
	struct decision_event_list *list;
	struct strings accelerators;
	int64_t *living; /* per group: Pods that are not on their way out */
	size_t blocked;
};

const char *decision_event_reason_word(enum decision_event_reason reason)
{
	static const char *const words[] = { "",
#define X(identifier, severity, word, meaning, cure) word,
					     REASON_EVENT_TABLE(X)
#undef X
	};
	return reason < DECISION_EVENT_REASON_COUNT ? words[reason] : "";
}

#define SEVERITY_NORMAL false
#define SEVERITY_WARNING true

bool decision_event_is_warning(enum decision_event_reason reason)
{
	static const bool warnings[] = { false,
#define X(identifier, severity, word, meaning, cure) SEVERITY_##severity,
					 REASON_EVENT_TABLE(X)
#undef X
	};
	return reason < DECISION_EVENT_REASON_COUNT && warnings[reason];
}

bool decision_event_is_for_drivers(enum decision_event_reason reason)
{
	return reason == DECISION_EVENT_NOT_TRIGGER_SCALE_UP ||
	       reason == DECISION_EVENT_DRAIN_DEADLINE;
}

static struct decision_event *add(struct maker *m, enum decision_event_reason reason,
				  const char *key, const char *message)
{
	struct decision_event *event = VEC_ADD(m->arena, &m->list->at);
	*event = (struct decision_event){ .reason = reason,
					  .key = key,
					  .subject = "",
					  .message = arena_cut(m->arena, message,
							       DECISION_EVENT_MESSAGE_MAX) };
	return event;
}

/* --- effects of the patch --- */

/* "demo-a, demo-b and 3 more": the workers that the patch deletes. */
static const char *deleted_text(const struct maker *m, const struct plan_group *group,
				int64_t *ret_count)
{
	const char *text = "";
	int64_t count = 0;
	VEC_EACH(const struct plan_termination, end, &group->terminate) {
		if (end->action == TERMINATE_DRAIN)
			continue;
		if (count++ < NAMES_MAX)
			text = arena_printf(m->arena, "%s%s%s", text, count > 1 ? ", " : "",
					    end->pod);
	}
	*ret_count = count;
	if (count > NAMES_MAX)
		text = arena_printf(m->arena, "%s and %lld more", text,
				    (long long)(count - NAMES_MAX));
	return text;
}

static void add_patch_event(struct maker *m, const struct plan_group *group)
{
	int64_t replicas = group->patch_replicas, deleted;
	const char *names = deleted_text(m, group, &deleted);
	bool up = replicas > group->replicas, down = replicas < group->replicas;
	const char *key = group->name, *text;
	enum decision_event_reason reason = up   ? DECISION_EVENT_TRIGGERED_SCALE_UP :
					    down ? DECISION_EVENT_SCALE_DOWN :
						   DECISION_EVENT_WORKER_REPLACED;

	if (!up && !down && deleted == 0)
		return;
	if (up || down) {
		key = arena_printf(m->arena, "%s %lld %lld", group->name,
				   (long long)group->replicas, (long long)replicas);
		text = arena_printf(m->arena, "Group %s from %lld to %lld replicas", group->name,
				    (long long)group->replicas, (long long)replicas);
	} else {
		text = arena_printf(m->arena, "Group %s stays at %s", group->name,
				    worker_count_text(m->arena, replicas, "replica"));
	}
	if (deleted > 0)
		text = arena_printf(m->arena, "%s, deleting %s", text, names);
	text = arena_printf(m->arena, "%s (%s): %s", text, reason_word(group->reason),
			    group->message);
	add(m, reason, key, text)->action = true;
}

/* --- lasting states --- */

static void add_backoff_event(struct maker *m, const struct plan_group *group)
{
	const struct memory_backoff *backoff = group->backoff;
	const char *key = arena_printf(m->arena, "%s %s", group->name, reason_word(backoff->cause));
	if (backoff->cause == REASON_NODE_PROVISION_TIMEOUT ||
	    backoff->cause == REASON_RAYLET_START_TIMEOUT ||
	    backoff->cause == REASON_GANG_INCOMPLETE)
		add(m, DECISION_EVENT_SCALE_UP_TIMED_OUT, key,
		    arena_printf(m->arena, "Group %s (%s): %s", group->name,
				 reason_word(backoff->cause), backoff->message));
	add(m, DECISION_EVENT_GROUP_BACK_OFF, key,
	    arena_printf(m->arena, "Nothing is launched in group %s for %lld s (%s): %s",
			 group->name, (long long)backoff->seconds, reason_word(backoff->cause),
			 backoff->message));
}

static const char *demand_text(const struct maker *m, const struct plan_demand *demand)
{
	size_t count;
	const char *kind = demand->kind == DEMAND_CONSTRAINT ? "requested" : "pending";
	if (demand->kind != DEMAND_GANG)
		return arena_printf(m->arena, "%lld %s bundle%s %s", (long long)demand->count, kind,
				    demand->count == 1 ? "" : "s",
				    demand_bundle_text(m->arena, demand->request));
	const struct ray_request *bundles = demand_gang_bundles(demand->gang, 0, &count);
	return arena_printf(m->arena, "%s of %zu bundles, the first %s",
			    worker_count_text(m->arena, demand->count, "placement group"), count,
			    count > 0 ? demand_bundle_text(m->arena, &bundles[0]) : "{}");
}

static void add_infeasible_events(struct maker *m)
{
	for (size_t i = 0; i < m->plan->infeasible.count && i < DECISION_EVENT_KIND_MAX; i++) {
		const struct plan_demand *demand = &m->plan->infeasible.at[i];
		add(m, DECISION_EVENT_INFEASIBLE_DEMAND, demand->message,
		    arena_printf(m->arena, "%s (%s): %s", demand_text(m, demand),
				 reason_word(demand->reason), demand->message))
			->hold_ms = FLICKER_MS;
	}
}

/* Whether an earlier entry than `end` has the same reason and group. */
static bool is_repeated(const struct plan *plan, size_t end)
{
	const struct plan_demand *demand = &plan->unserved.at[end];
	for (size_t i = 0; i < end; i++)
		if (plan->unserved.at[i].reason == demand->reason &&
		    strcmp(plan->unserved.at[i].group, demand->group) == 0)
			return true;
	return false;
}

/* The group's problem, which the Event of the condition InvalidRequest reports. */
static bool is_said_by_condition(const struct plan *plan, const struct plan_demand *demand)
{
	if (demand->reason != REASON_GROUP_INVALID)
		return false;
	for (size_t i = 0; i < plan->conditions.count; i++)
		if (plan->conditions.at[i].reason == REASON_INVALID_REQUEST &&
		    strstr(plan->conditions.at[i].message, demand->message))
			return true;
	return false;
}

/* One Event for each reason and group: the first request, and the number of other shapes with the
 * same reason. */
static void add_unserved_events(struct maker *m)
{
	const struct plan *plan = m->plan;
	size_t said = 0, looked_at = plan->unserved.count;
	if (looked_at > DECISION_EVENT_BLOCKED_MAX)
		looked_at = DECISION_EVENT_BLOCKED_MAX;
	for (size_t i = 0; i < looked_at && said < DECISION_EVENT_KIND_MAX; i++) {
		const struct plan_demand *demand = &plan->unserved.at[i];
		const char *more = "";
		int64_t others = 0;
		if (is_repeated(plan, i) || is_said_by_condition(plan, demand))
			continue;
		for (size_t j = i + 1; j < plan->unserved.count; j++)
			if (plan->unserved.at[j].reason == demand->reason &&
			    strcmp(plan->unserved.at[j].group, demand->group) == 0)
				others++;
		if (others > 0)
			more = arena_printf(m->arena, " and %s",
					    worker_count_text(m->arena, others, "other shape"));
		const char *text = arena_printf(m->arena, "No worker is launched for %s%s (%s): %s",
						demand_text(m, demand), more,
						reason_word(demand->reason), demand->message);
		add(m, DECISION_EVENT_NOT_TRIGGER_SCALE_UP,
		    arena_printf(m->arena, "%s %s", demand->group, reason_word(demand->reason)),
		    text)
			->hold_ms = UNSERVED_MS;
		said++;
	}
}

/* --- conditions that begin --- */

static bool head_is_ready(const struct snapshot *snapshot)
{
	for (size_t i = 0; i < snapshot->pod_count; i++) {
		const struct pod *pod = snapshot->pods[i];
		const struct condition *ready =
			condition_find(pod->conditions, pod->condition_count, "Ready");
		if (pod_is_head(pod) && !pod->deleting && ready &&
		    strcmp(ready->status, "True") == 0)
			return true;
	}
	return false;
}

/* "Secret NAMESPACE/NAME", or "get secrets NAMESPACE/NAME" of a request. */
static bool names_secret(const char *message)
{
	const char *at = message;

	while ((at = strstr(at, SECRET_WORD))) {
		at += strlen(SECRET_WORD);
		if (memchr(at, '/', strcspn(at, " ")))
			return true;
	}
	return strstr(message, "secrets") != NULL;
}

/* Every user who may read the RayCluster can read its Events; access to Secrets is separate. */
static const char *without_secret(const char *message)
{
	if (!names_secret(message))
		return message;
	return "Ray is unreachable: its credentials cannot be read; the condition and the log of "
	       "rayscaler give the reason";
}

/* How long Ray may be unreachable before an Event is sent. */
static int64_t unreachable_ms(const struct snapshot *snapshot)
{
	return head_is_ready(snapshot) ? UNREACHABLE_MS : HEAD_STARTS_MS;
}

/* The Events of conditions that begin: a row for each reason with TRAIT_EVENT. Others have none because the cluster
 * is not ours, as with Deleting; because they are as configured, as TooFewReplicas; or because they have Events of
 * their own, as BackedOff. */
static const struct condition_event {
	enum decision_event_reason event;
	enum { KEY_NONE = 0, KEY_MESSAGE, KEY_REASON } key;
	int64_t hold_ms;
	bool once;
} condition_events[REASON_UNKNOWN] = {
	[REASON_DEMAND_UNAVAILABLE] = { DECISION_EVENT_NO_DEMAND, KEY_NONE, 0, false },
	[REASON_CLUSTER_UNREADABLE] = { DECISION_EVENT_CLUSTER_UNREADABLE, KEY_NONE, 0, false },
	[REASON_HEAD_UNCERTAIN] = { DECISION_EVENT_UNCERTAIN_HEAD, KEY_MESSAGE, UNREACHABLE_MS,
				    false },
	[REASON_FOREIGN_POD] = { DECISION_EVENT_FOREIGN_PODS, KEY_MESSAGE, 0, false },
	[REASON_SECOND_AUTOSCALER] = { DECISION_EVENT_SECOND, KEY_NONE, 0, false },
	[REASON_SECOND_CONTROLLER] = { DECISION_EVENT_TWO_CONTROLLERS, KEY_NONE, 0, false },
	[REASON_INVALID_REQUEST] = { DECISION_EVENT_BAD_REQUEST, KEY_MESSAGE, 0, false },
	[REASON_TEMPLATE_BROKEN] = { DECISION_EVENT_TEMPLATE_BROKEN, KEY_MESSAGE, 0, false },
	[REASON_PODS_UNREADABLE] = { DECISION_EVENT_UNREADABLE, KEY_MESSAGE, 0, false },
	[REASON_TERMINATING] = { DECISION_EVENT_TERMINATING, KEY_MESSAGE, 0, false },
	[REASON_REPLICAS_REVERTED] = { DECISION_EVENT_REVERTED, KEY_NONE, 0, false },
	[REASON_TOO_MANY_REPLICAS] = { DECISION_EVENT_SCALING_LIMITED, KEY_REASON, 0, true },
	[REASON_PAUSED] = { DECISION_EVENT_SCALING_INACTIVE, KEY_REASON, 0, true },
	[REASON_SUSPENDED] = { DECISION_EVENT_SCALING_INACTIVE, KEY_REASON, 0, true },
	[REASON_DECISION_TOO_EXPENSIVE] = { DECISION_EVENT_SCALING_INACTIVE, KEY_REASON, 0, true },
	[REASON_DEMAND_TOO_LARGE] = { DECISION_EVENT_SCALING_INACTIVE, KEY_REASON, 0, true },
	[REASON_VIEW_STALE] = { DECISION_EVENT_SCALING_INACTIVE, KEY_REASON, VIEW_STALE_MS, false },
};

/* The Event of demand, or of an action on the whole cluster, has the same. */
static bool is_said_otherwise(const struct plan *plan, const struct plan_condition *condition)
{
	if (condition->reason == REASON_SUSPENDED)
		return plan->cluster.message != NULL;
	if (condition->reason != REASON_TOO_MANY_REPLICAS)
		return false;
	VEC_EACH(const struct plan_demand, demand, &plan->unserved) {
		if (strcmp(demand->message, condition->message) == 0)
			return true;
	}
	return false;
}

/* The object has the condition: an earlier process has reported it. */
static bool is_known(const struct snapshot *snapshot, const struct plan_condition *condition)
{
	const struct autoscaler_object *object = snapshot->autoscaler;
	const struct summary_condition *before =
		summary_condition(object ? object->status : NULL, condition->type);

	return before && strcmp(before->status, condition->status) == 0 &&
	       strcmp(before->reason, reason_word(condition->reason)) == 0;
}

static const char *message_of(const struct condition_event *row,
			      const struct plan_condition *condition, struct arena *arena)
{
	switch (row->event) {
	case DECISION_EVENT_NO_DEMAND:
		return without_secret(condition->message);
	case DECISION_EVENT_CLUSTER_UNREADABLE:
		return arena_printf(arena, "The RayCluster is not scaled: %s", condition->message);
	case DECISION_EVENT_SCALING_INACTIVE:
		return arena_printf(arena, "%s: %s", reason_word(condition->reason),
				    condition->message);
	default:
		return condition->message;
	}
}

static void add_condition_event(struct maker *m, const struct plan_condition *condition)
{
	const struct condition_event *row = &condition_events[condition->reason];
	struct decision_event *event;

	CHECK((row->event != DECISION_EVENT_NONE) == reason_has(condition->reason, TRAIT_EVENT));
	if (condition->event != DECISION_EVENT_NONE) {
		event = add(m, condition->event, reason_word(condition->reason),
			    condition->message);
		event->once = true;
		event->known = is_known(m->snapshot, condition);
		return;
	}
	if (row->event == DECISION_EVENT_NONE || is_said_otherwise(m->plan, condition))
		return;
	event = add(m, row->event,
		    row->key == KEY_MESSAGE ? condition->message :
		    row->key == KEY_REASON  ? reason_word(condition->reason) :
					      "",
		    message_of(row, condition, m->arena));
	event->hold_ms = row->event == DECISION_EVENT_NO_DEMAND ? unreachable_ms(m->snapshot) :
								  row->hold_ms;
	event->once = row->once;
	event->known = row->once && is_known(m->snapshot, condition);
}

/* --- actions on the whole cluster --- */

/* The whole cluster ends, or is resumed. */
static void add_end_event(struct maker *m)
{
	const struct plan_cluster *cluster = &m->plan->cluster;

	if (cluster->event != DECISION_EVENT_NONE)
		add(m, cluster->event, "", cluster->message)->action = true;
}

/* --- workers that stay: docs/REASONS.md describes the rule --- */

static const struct worker_group *find_spec(const struct snapshot *snapshot, const char *name,
					    const struct plan *plan,
					    const struct plan_group **ret_group)
{
	for (size_t g = 0; g < snapshot->cluster.group_count && g < plan->groups.count; g++) {
		*ret_group = &plan->groups.at[g];
		if (strcmp(snapshot->cluster.groups[g].name, name) == 0)
			return &snapshot->cluster.groups[g];
	}
	*ret_group = NULL;
	return NULL;
}

/* None of its accelerators, or, without any, none of its CPUs is in use; *ret_name: which of
 * them. */
static bool is_wasted(const struct maker *m, const struct ray_node *node, const char **ret_name)
{
	bool has = false;
	for (size_t i = 0; i < m->accelerators.count; i++) {
		const char *name = m->accelerators.at[i];
		int64_t total = resources_amount(&node->total, name, 0);
		if (total > resources_amount(&node->available, name, 0))
			return false;
		if (total > 0 && !has) {
			has = true;
			*ret_name = name;
		}
	}
	if (has)
		return true;
	*ret_name = "CPU";
	return resources_amount(&node->total, "CPU", 0) ==
	       resources_amount(&node->available, "CPU", 0);
}

static void block(struct maker *m, const struct plan_worker *worker, const char *kind,
		  int64_t hold_ms, const char *message)
{
	struct decision_event *event = add(m, DECISION_EVENT_SCALE_DOWN_BLOCKED,
					   arena_printf(m->arena, "%s %s", worker->group, kind),
					   message);
	event->subject = worker->pod;
	event->hold_ms = hold_ms > FLICKER_MS ? hold_ms : FLICKER_MS;
	m->blocked++;
}

static void add_idle_event(struct maker *m, const struct plan_worker *worker,
			   const struct plan_group *group, const struct worker_group *spec,
			   int64_t timeout_ms)
{
	int64_t idle_ms = worker->node->idle_duration_ms;
	const char *why = worker->message;
	int64_t hold_ms = 0;
	if (reason_has(worker->reason, TRAIT_IDLE)) {
		hold_ms = DRAIN_REFUSED_MS;
		why = "Ray has not accepted its drain";
	} else if (idle_ms <= timeout_ms || !reason_has(worker->reason, TRAIT_BLOCKS)) {
		return;
	}
	/* A multi-host replica that minReplicas or a schedule keeps is as configured. */
	if (worker->reason == REASON_NEEDED_BY_REPLICA && group && spec &&
	    group->target_replicas <= group->min_replicas)
		return;
	block(m, worker, reason_word(worker->reason), hold_ms,
	      arena_printf(m->arena, "Worker %s of group %s is idle for %lld s and stays (%s): %s",
			   worker->pod, worker->group, (long long)(idle_ms / MS_PER_SECOND),
			   reason_word(worker->reason), why));
}

/* Whether the group has more Pods than maxReplicas allows, without those being deleted. */
static bool is_above_max(const struct maker *m, const struct plan_group *group,
			 const struct worker_group *spec)
{
	return group && spec &&
	       m->living[group - m->plan->groups.at] > spec->max_replicas * spec->num_of_hosts;
}

static void add_busy_event(struct maker *m, const struct plan_worker *worker,
			   const struct plan_group *group, const struct worker_group *spec,
			   int64_t timeout_ms)
{
	const char *name;
	if (is_above_max(m, group, spec))
		block(m, worker, "max", timeout_ms,
		      arena_printf(m->arena,
				   "Worker %s is busy and stays though group %s is above "
				   "maxReplicas %lld: %s",
				   worker->pod, worker->group, (long long)spec->max_replicas,
				   worker->message));
	else if (is_wasted(m, worker->node, &name))
		block(m, worker, "unused", timeout_ms,
		      arena_printf(m->arena,
				   "Worker %s of group %s stays, Ray calls it busy though no %s of "
				   "it is in use: %s",
				   worker->pod, worker->group, resource_name_text(m->arena, name),
				   worker->message));
}

/* Those of a group that end at one time are one Event. */
static void add_end_events(struct maker *m)
{
	size_t count = 0;

	VEC_EACH(const struct plan_worker, worker, &m->plan->workers) {
		const char *time;
		struct decision_event *event;

		if (worker->ends == TIME_NONE || count++ == DECISION_EVENT_BLOCKED_MAX)
			continue;
		time = time_text(m->arena, worker->ends);
		event = add(m, DECISION_EVENT_DRAIN_DEADLINE,
			    arena_printf(m->arena, "%s %s", worker->group, time),
			    arena_printf(m->arena,
					 "Worker %s of group %s ends at %s at the latest: %s",
					 worker->pod, worker->group, time, worker->message));
		event->subject = worker->pod;
		event->once = true;
	}
}

static void count_living(struct maker *m)
{
	const struct plan_group *group = NULL;
	m->living = arena_array(m->arena, m->plan->groups.count, sizeof(*m->living));
	VEC_EACH(const struct plan_worker, worker, &m->plan->workers) {
		if (!group || strcmp(group->name, worker->group) != 0)
			find_spec(m->snapshot, worker->group, m->plan, &group);
		if (group && worker->state != WORKER_GONE)
			m->living[group - m->plan->groups.at]++;
	}
}

static void add_worker_events(struct maker *m)
{
	count_living(m);
	for (size_t i = 0; i < m->plan->workers.count && m->blocked < DECISION_EVENT_BLOCKED_MAX;
	     i++) {
		const struct plan_worker *worker = &m->plan->workers.at[i];
		const struct plan_group *group;
		if (!worker->node ||
		    (worker->state != WORKER_IDLE && worker->state != WORKER_RUNNING))
			continue;
		const struct worker_group *spec =
			find_spec(m->snapshot, worker->group, m->plan, &group);
		int64_t timeout_ms =
			spec ? limits_idle_timeout_ms(m->snapshot, spec) :
			       m->snapshot->settings.idle_timeout_seconds * MS_PER_SECOND;
		if (worker->state == WORKER_IDLE)
			add_idle_event(m, worker, group, spec, timeout_ms);
		else if (worker->reason == REASON_BUSY)
			add_busy_event(m, worker, group, spec, timeout_ms);
	}
}

/* If the object's condition contains the text, an earlier process has already reported it. */
static void add_extra_event(struct maker *m, const struct extra_condition *extra)
{
	const struct autoscaler_object *object = m->snapshot->autoscaler;
	const struct summary_condition *before =
		summary_condition(object ? object->status : NULL, extra->type);
	struct decision_event *event;

	if (extra->reported[0] == '\0')
		return;
	event = add(m, extra->event, extra->reported,
		    arena_printf(m->arena, "%s; %s", extra->reported, extra->cure));
	event->once = true;
	event->known = before &&
		       strncmp(before->message, extra->reported, strlen(extra->reported)) == 0;
}

/* Whether the cluster was not scaled: then the plan has only ScalingActive and those of features. */
static bool is_gated(const struct plan *plan)
{
	return plan->conditions.count == 1 ||
	       strcmp(plan->conditions.at[1].type, "AbleToScale") != 0;
}

bool decision_event_of_pod(const struct pod *old, const struct pod *pod, struct arena *arena,
			   struct decision_event *ret_event)
{
	const char *group = labels_value(&pod->labels, LABEL_GROUP), *text;

	/* The containers of a Pod that is deleted are ended. */
	if (pod->deleting || pod->unreadable || !pod_status_is_news(old, pod))
		return false;
	text = arena_printf(arena, "%s %s%s%s: %s", pod_is_head(pod) ? "Head" : "Worker", pod->name,
			    group && !pod_is_head(pod) ? " of group " : "",
			    group && !pod_is_head(pod) ? group : "",
			    pod_status_read(pod, arena).text);
	*ret_event = (struct decision_event){ .reason = DECISION_EVENT_POD_FAILED,
					      .key = pod->name,
					      .subject = "",
					      .action = true,
					      .message = arena_cut(arena, text,
								   DECISION_EVENT_MESSAGE_MAX) };
	return true;
}

void decision_event_note(struct decision_event *event, const char *note, struct arena *arena)
{
	size_t size = strlen(note), most = DECISION_EVENT_MESSAGE_MAX - 1;

	if (size == 0)
		return;
	note = arena_cut(arena, note, most / 2);
	event->message = arena_printf(arena, "%s%s",
				      arena_cut(arena, event->message, most - strlen(note)), note);
}

void decision_event_make(const struct snapshot *snapshot, const struct plan *plan,
			 struct arena *arena, struct decision_event_list *ret_list)
{
	struct maker m = {
		.snapshot = snapshot,
		.plan = plan,
		.arena = arena,
		.list = ret_list,
	};

	*ret_list = (struct decision_event_list){ .at = { .at = NULL } };
	VEC_EACH(const struct plan_condition, condition, &plan->conditions) {
		add_condition_event(&m, condition);
	}
	add_end_event(&m);
	if (is_gated(plan))
		return;
	m.accelerators = capacity_accelerators(&snapshot->settings, snapshot->device_table, arena);
	for (size_t g = 0; g < plan->groups.count; g++) {
		add_patch_event(&m, &plan->groups.at[g]);
		if (plan->groups.at[g].backoff)
			add_backoff_event(&m, &plan->groups.at[g]);
	}
	for (size_t i = 0; i < snapshot->extra_condition_count; i++)
		add_extra_event(&m, &snapshot->extra_conditions[i]);
	add_infeasible_events(&m);
	add_unserved_events(&m);
	add_worker_events(&m);
	add_end_events(&m);
	CHECK(m.blocked <= DECISION_EVENT_BLOCKED_MAX);
	for (size_t i = 0; i < ret_list->at.count; i++) {
		CHECK(ret_list->at.at[i].key);
		CHECK(ret_list->at.at[i].message[0] != '\0');
	}
}
