#include "core/report/condition_event.h"

#include <string.h>

#include "core/report/summary.h"

/* Shorter than this it may only be the time between two replies of Ray. */
#define FLICKER_MS 5000
#define UNREACHABLE_MS 10000
#define HEAD_STARTS_MS 60000 /* the head is not ready: it starts, or is recreated */
#define VIEW_STALE_MS 60000  /* the API server restarts: all clusters at once */

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

/* Every user who may read the RayCluster can read its Events; access to Secrets is separate. */
static const char *without_secret(const char *message)
{
	if (!strstr(message, "Secret ") && !strstr(message, "secrets"))
		return message;
	return "Ray is unreachable: its token cannot be read from the Secret "
	       "of spec.authOptions; the log of rayscaler gives the reason";
}

/* How long Ray may be unreachable before an Event is sent. A mode that does not support the
 * cluster's authentication is reported sooner: the state does not resolve itself. */
static int64_t unreachable_ms(const struct snapshot *snapshot)
{
	const struct ray_cluster *cluster = &snapshot->cluster;
	if (snapshot->settings.mode != MODE_SIDECAR &&
	    (cluster->auth_kubernetes_tokens || cluster->tls_enabled))
		return FLICKER_MS;
	return head_is_ready(snapshot) ? UNREACHABLE_MS : HEAD_STARTS_MS;
}

/* The Events of conditions that begin. Without a row: AutoscalingDisabled, Unmanaged, ManagedElsewhere
 * and Deleting, where the cluster is not ours; HeadStarting and TooFewReplicas, as every head starts
 * and a minimum is as configured; BackedOff and LintFindings, which have Events of their own. */
static const struct condition_event {
	const char *reason; /* of the condition */
	enum decision_event_reason event;
	enum { KEY_NONE = 0, KEY_MESSAGE, KEY_REASON } key;
	int64_t hold_ms;
	bool once;
} condition_events[] = {
	{ REASON_DEMAND_UNAVAILABLE, DECISION_EVENT_NO_DEMAND, KEY_NONE, 0, false },
	{ REASON_CLUSTER_UNREADABLE, DECISION_EVENT_CLUSTER_UNREADABLE, KEY_NONE, 0, false },
	{ REASON_HEAD_UNCERTAIN, DECISION_EVENT_UNCERTAIN_HEAD, KEY_MESSAGE, UNREACHABLE_MS,
	  false },
	{ REASON_FOREIGN_POD, DECISION_EVENT_FOREIGN_PODS, KEY_MESSAGE, 0, false },
	{ REASON_SECOND_AUTOSCALER, DECISION_EVENT_SECOND, KEY_NONE, 0, false },
	{ REASON_SECOND_CONTROLLER, DECISION_EVENT_TWO_CONTROLLERS, KEY_NONE, 0, false },
	{ REASON_INVALID_REQUEST, DECISION_EVENT_BAD_REQUEST, KEY_MESSAGE, 0, false },
	{ REASON_TEMPLATE_BROKEN, DECISION_EVENT_TEMPLATE_BROKEN, KEY_MESSAGE, 0, false },
	{ REASON_PODS_UNREADABLE, DECISION_EVENT_UNREADABLE, KEY_MESSAGE, 0, false },
	{ REASON_REPLICAS_REVERTED, DECISION_EVENT_REVERTED, KEY_NONE, 0, false },
	{ REASON_TOO_MANY_REPLICAS, DECISION_EVENT_SCALING_LIMITED, KEY_REASON, 0, true },
	{ REASON_PAUSED, DECISION_EVENT_SCALING_INACTIVE, KEY_REASON, 0, true },
	{ REASON_SUSPENDED, DECISION_EVENT_SCALING_INACTIVE, KEY_REASON, 0, true },
	{ REASON_DECISION_TOO_EXPENSIVE, DECISION_EVENT_SCALING_INACTIVE, KEY_REASON, 0, true },
	{ REASON_VIEW_STALE, DECISION_EVENT_SCALING_INACTIVE, KEY_REASON, VIEW_STALE_MS, false },
};

/* The Event of demand, or of an action on the whole cluster, has the same. */
static bool is_said_otherwise(const struct plan *plan, const struct plan_condition *condition)
{
	if (strcmp(condition->reason, REASON_SUSPENDED) == 0)
		return plan->cluster.message != NULL;
	if (strcmp(condition->reason, REASON_TOO_MANY_REPLICAS) != 0)
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
	const struct plan_condition *before =
		summary_condition(object ? object->status : NULL, condition->type);

	return before && strcmp(before->status, condition->status) == 0 &&
	       strcmp(before->reason, condition->reason) == 0;
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
		return arena_printf(arena, "%s: %s", condition->reason, condition->message);
	default:
		return condition->message;
	}
}

bool condition_event_make(const struct snapshot *snapshot, const struct plan *plan,
			  const struct plan_condition *condition, struct arena *arena,
			  struct decision_event *ret_event)
{
	const struct condition_event *row =
		ARRAY_FIND(condition_events, sizeof(condition_events) / sizeof(condition_events[0]),
			   reason, condition->reason);

	if (!row || is_said_otherwise(plan, condition))
		return false;
	const char *message =
		arena_cut(arena, message_of(row, condition, arena), DECISION_EVENT_MESSAGE_MAX);
	*ret_event = (struct decision_event){
		.reason = row->event,
		.key = row->key == KEY_MESSAGE ? condition->message :
		       row->key == KEY_REASON  ? condition->reason :
						 "",
		.subject = "",
		.hold_ms = row->event == DECISION_EVENT_NO_DEMAND ? unreachable_ms(snapshot) :
								    row->hold_ms,
		.once = row->once,
		.known = row->once && is_known(snapshot, condition),
		.message = message,
	};
	return true;
}
