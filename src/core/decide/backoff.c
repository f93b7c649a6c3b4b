#include "core/decide/backoff.h"

#include <string.h>

#include "core/decide/conflict.h"
#include "core/decide/mark.h"
#include "core/decide/progress.h"
#include "core/decide/worker.h"
#include "core/model/event_meaning.h"
#include "core/model/in_force.h"
#include "core/model/pod_status.h"
#include "core/model/reason.h"

/* An event of the operator counts this long; it repeats its tries more often. */
#define OPERATOR_EVENT_MS (120 * MS_PER_SECOND)
#define MESSAGE_MAX 512

/* The operator creates Pods within seconds, also when it restarts. */
#define NO_PODS_MS (180 * MS_PER_SECOND)
/* The API server keeps Events for an hour. */
#define REFUSED_MS (3600 * MS_PER_SECOND)

/* Causes whose back-off is not as the others: it cancels something else than all launches that cannot start, or it
 * ends as soon as the cause does, because nothing is to be probed. */
static const struct cause_rule {
	enum reason cause;
	enum cancels cancels;
	bool ends_with_cause;
} cause_rules[] = { { REASON_REPLICAS_RESET, CANCELS_NOTHING, false },
		    { REASON_SCALE_GATE, CANCELS_ALL, true },
		    { REASON_REFUSED, CANCELS_MISSING, true },
		    { REASON_HELD_BY_DELETION, CANCELS_MISSING, true },
		    { REASON_NO_PODS, CANCELS_MISSING, false },
		    { REASON_QUOTA_GATE, CANCELS_GATED, false } };

static const struct cause_rule *rule_of(enum reason cause)
{
	static const struct cause_rule usual = { REASON_NONE, CANCELS_ALL, false };

	ARRAY_EACH(const struct cause_rule, rule, cause_rules,
		   sizeof(cause_rules) / sizeof(cause_rules[0]))
		if (rule->cause == cause)
			return rule;
	return &usual;
}

struct evidence {
	enum reason cause; /* NONE: none */
	const char *message;
};

/* Of a leader that begins: the back-off that the one before wrote into the status, so that a group that failed for
 * long is not probed with each new leader. NULL: none, or one that no decision made. */
static const struct memory_backoff *inherited(const struct facts *facts, const char *group)
{
	const struct autoscaler_object *object = facts->snapshot->autoscaler;
	const struct memory_backoff *found =
		object ? ARRAY_FIND(object->backoffs, object->backoff_count, group, group) : NULL;

	if (!found || found->seconds <= 0 || found->until == TIME_NONE ||
	    found->seconds > in_force_backoff_max_seconds(facts->snapshot))
		return NULL;
	return found;
}

static const struct memory_backoff *remembered(const struct facts *facts, const char *group)
{
	const struct memory_state *memory = facts->snapshot->memory;

	return memory ? VEC_FIND(&memory->backoffs, group, group) : inherited(facts, group);
}

static enum reason cause_of(const struct worker_health *worker)
{
	switch (worker->obstacle) {
	case OBSTACLE_GATED:
		return worker->gate == GATE_CANCELLED ? REASON_QUOTA_GATE : REASON_NONE;
	case OBSTACLE_NO_NODE:
		return worker->cause ? worker->cause : REASON_NO_NODE;
	case OBSTACLE_NODE_TIMEOUT:
		return worker->cause ? worker->cause : REASON_NODE_PROVISION_TIMEOUT;
	case OBSTACLE_FAILED:
		return REASON_POD_FAILED;
	case OBSTACLE_START_TIMEOUT:
		return REASON_RAYLET_START_TIMEOUT;
	case OBSTACLE_NONE:
	case OBSTACLE_WAITING:
		break;
	}
	return REASON_NONE;
}

/* A Pod that failed before its raylet registered and that the operator deletes. The operator
 * recreates it without success until replicas is lowered. Pods in workersToDelete are excluded. */
static bool failed_and_replaced(const struct facts *facts, const struct group *group,
				const struct memory_backoff *old, const struct worker *worker)
{
	return facts->ray_reachable && worker->pod && worker->pod->deleting &&
	       strcmp(worker->pod->phase, "Failed") == 0 && !worker->node &&
	       !name_set_contains(&group->disruption_names, worker->pod_name) &&
	       (!old || worker->pod->deletion_time > old->until);
}

static struct evidence evidence_of_pods(const struct health *health, const struct group *group,
					const struct memory_backoff *old)
{
	for (size_t i = 0; i < group->worker_count; i++) {
		const struct worker *worker = &health->facts->workers[group->first_worker + i];
		const struct worker_health *own = &health->workers[worker->index];
		enum reason cause = cause_of(own);
		const char *message = own->obstacle_message;
		if (!cause && failed_and_replaced(health->facts, group, old, worker)) {
			cause = REASON_POD_FAILED;
			message = pod_status_read(worker->pod, health->arena).text;
		}
		if (!cause)
			continue;
		return (struct evidence){ cause,
					  arena_printf(health->arena, "Pod %s: %.*s",
						       worker->pod_name, MESSAGE_MAX, message) };
	}
	return (struct evidence){ REASON_NONE, "" };
}

/* Evidence is fresh when it is newer than the end of the last back-off, or when that end is more
 * than BACKOFF_STALE_MS ago. Kubernetes truncates times to seconds, so an event in the second in
 * which the back-off ended counts as newer: no launch was tried before the end. */
static bool is_fresh(const struct facts *facts, const struct memory_backoff *old, time_ms at)
{
	if (!old || at == TIME_NONE || at + MS_PER_SECOND > old->until)
		return true;
	return due_passed(facts->due, old->until, BACKOFF_STALE_MS + 1);
}

/* The group whose name, between `before` and `after`, occurs in the message; NULL for none. The
 * longest name wins, because "gpu" is also found in "gpu-large". */
static const struct group *named_group(const struct facts *facts, const char *message,
				       const char *before, const char *after)
{
	const struct group *meant = NULL;

	ARRAY_EACH(const struct group, other, facts->groups, facts->group_count) {
		const char *text =
			arena_printf(facts->arena, "%s%s%s", before, other->spec->name, after);

		if (strstr(message, text) &&
		    (!meant || strlen(other->spec->name) > strlen(meant->spec->name)))
			meant = other;
	}
	return meant;
}

/* A message that names a group concerns only that group. A Pod name (KubeRay:
 * <cluster>-<group>-worker-<random>) is better evidence than a bare word, which may be a cluster or
 * a resource. */
static bool speaks_of(const struct facts *facts, const struct group *group, const char *message)
{
	const struct group *meant = named_group(facts, message, "-", "-worker-");

	if (!meant)
		meant = named_group(facts, message, "", "");
	return !meant || meant == group;
}

/* KubeRay reports every failure in this condition; only some concern the creation of workers. */
static bool is_creation_failure(const struct condition *failure)
{
	return failure && strcmp(failure->status, "True") == 0 &&
	       strncmp(failure->reason, "FailedDelete", strlen("FailedDelete")) != 0 &&
	       strcmp(failure->reason, "FailedCreateHeadPod") != 0;
}

/* A Pod of the group that is younger than the failure: the operator creates again. */
static bool created_since(const struct facts *facts, const struct group *group, time_ms at)
{
	for (size_t i = 0; i < group->worker_count; i++) {
		const struct pod *pod = facts->workers[group->first_worker + i].pod;

		if (pod && at != TIME_NONE && pod->created > at)
			return true;
	}
	return false;
}

/* The operator cannot create the Pods of the group (a ResourceQuota, an admission webhook). */
static struct evidence evidence_of_operator(const struct facts *facts, const struct group *group,
					    const struct memory_backoff *old)
{
	const struct ray_cluster *cluster = &facts->snapshot->cluster;
	const struct condition *failure =
		condition_find(cluster->conditions, cluster->condition_count, "ReplicaFailure");
	if (is_creation_failure(failure) && is_fresh(facts, old, failure->last_transition) &&
	    speaks_of(facts, group, failure->message))
		return (struct evidence){ REASON_POD_CREATION_FAILED,
					  arena_strndup(facts->arena, failure->message,
							strnlen(failure->message, MESSAGE_MAX)) };
	ARRAY_EACH(const struct event, event, facts->snapshot->events,
		   facts->snapshot->event_count) {
		time_ms at = event_time(event);
		if (event_meaning(event) != EVENT_POD_NOT_CREATED ||
		    strcmp(event->involved_name, cluster->name) != 0 || !is_fresh(facts, old, at) ||
		    (at != TIME_NONE && due_passed(facts->due, at, OPERATOR_EVENT_MS + 1)) ||
		    !speaks_of(facts, group, event->message) || created_since(facts, group, at))
			continue;
		return (struct evidence){ REASON_POD_CREATION_FAILED,
					  arena_strndup(facts->arena, event->message,
							strnlen(event->message, MESSAGE_MAX)) };
	}
	return (struct evidence){ REASON_NONE, "" };
}

/* The newest Event of the last hour by which the operator refuses the RayCluster; NULL: none. */
static const struct event *newest_refusal(const struct facts *facts)
{
	const struct event *newest = NULL;

	ARRAY_EACH(const struct event, event, facts->snapshot->events,
		   facts->snapshot->event_count) {
		time_ms at = event_time(event);

		if (event_meaning(event) == EVENT_REFUSED &&
		    strcmp(event->involved_name, facts->snapshot->cluster.name) == 0 &&
		    !(at != TIME_NONE && due_passed(facts->due, at, REFUSED_MS)) &&
		    (!newest || at > event_time(newest)))
			newest = event;
	}
	return newest;
}

/* The operator refuses the RayCluster since its last change: it creates nothing. The Event of a refusal stays when a
 * change has ended it, and after each later change it looks like a refusal of that one until the operator has seen
 * the change: MARK_REFUSAL_ENDED tells them apart. */
static struct evidence evidence_of_refusal(struct health *health)
{
	const struct facts *facts = health->facts;
	const struct ray_cluster *cluster = &facts->snapshot->cluster;
	const struct memory_mark *ended = mark_find(facts, MARK_REFUSAL_ENDED, CLUSTER_MARK_KEY);
	const struct event *refusal = newest_refusal(facts);
	time_ms at = refusal ? event_time(refusal) : TIME_NONE;
	bool refuted = cluster->generation > 0 &&
		       cluster->observed_generation >= cluster->generation;

	if (!refusal)
		return (struct evidence){ REASON_NONE, "" };
	for (size_t g = 0; g < facts->group_count; g++)
		refuted = refuted || created_since(facts, &facts->groups[g], at);
	if (refuted || (ended && at <= ended->since)) {
		VEC_PUSH(health->arena, &health->memory.marks,
			 ((struct memory_mark){ MARK_REFUSAL_ENDED, CLUSTER_MARK_KEY,
						at != TIME_NONE ? at : facts->snapshot->now, 0,
						NULL }));
		return (struct evidence){ REASON_NONE, "" };
	}
	return (struct evidence){ REASON_REFUSED,
				  arena_strndup(facts->arena, refusal->message,
						strnlen(refusal->message, MESSAGE_MAX)) };
}

/* Also while no replica lacks a Pod: the next one would wait. */
static struct evidence evidence_of_deletion(const struct health *health, const struct group *group)
{
	if (!group->held_by)
		return (struct evidence){ REASON_NONE, "" };
	return (struct evidence){
		REASON_HELD_BY_DELETION,
		arena_printf(health->arena,
			     "KubeRay creates no Pod until Pod %s is gone, which it deleted: %s",
			     group->held_by->pod_name,
			     pod_deletion_text(group->held_by->pod, health->arena))
	};
}

/* Replicas have no Pod, and none was created for NO_PODS_MS. */
static struct evidence evidence_of_absence(struct health *health, const struct group *group)
{
	time_ms since = mark_since(health->facts, MARK_NO_POD, group->spec->name);

	if (group->missing <= 0)
		return (struct evidence){ REASON_NONE, "" };
	for (size_t i = 0; i < group->worker_count; i++) {
		const struct pod *pod = health->facts->workers[group->first_worker + i].pod;

		if (pod && pod->created > since && pod->created <= health->snapshot->now)
			since = pod->created;
	}
	VEC_PUSH(health->arena, &health->memory.marks,
		 ((struct memory_mark){ MARK_NO_POD, group->spec->name, since, group->missing,
					NULL }));
	if (!due_passed(health->facts->due, since, NO_PODS_MS))
		return (struct evidence){ REASON_NONE, "" };
	return (struct evidence){
		REASON_NO_PODS,
		arena_printf(health->arena, "KubeRay has created no Pod since %s for %s",
			     time_text(health->arena, since),
			     worker_count_text(health->arena, group->missing / group->hosts,
					       "replica"))
	};
}

/* Found by a feature. */
static struct evidence evidence_of_feature(const struct health *health, const struct group *group,
					   const struct memory_backoff *old)
{
	const struct group_health *own = &health->groups[group->index];

	if (!own->cause || !is_fresh(health->facts, old, own->caused_at))
		return (struct evidence){ REASON_NONE, "" };
	return (struct evidence){ own->cause, own->cause_message };
}

/* Another writer reverts replicas. Without a back-off, every pass would raise it again. */
static struct evidence evidence_of_conflict(const struct health *health, const struct group *group)
{
	const struct group_health *own = &health->groups[group->index];
	struct memory_mark conflict = { .key = group->spec->name,
					.count = own->reverts,
					.who = own->reverts_by };

	return (struct evidence){ REASON_REPLICAS_RESET, conflict_text(health->facts, &conflict) };
}

static struct evidence find_evidence(struct health *health, const struct group *group,
				     const struct memory_backoff *old,
				     const struct evidence *refusal)
{
	struct evidence absence = evidence_of_absence(health, group);

	if (refusal->cause)
		return *refusal;
	if (progress_scale_gate(group->spec))
		return (struct evidence){ REASON_SCALE_GATE,
					  arena_printf(health->arena,
						       "scaleStrategy.scaleGate is %.*s",
						       MESSAGE_MAX, group->spec->scale_gate) };
	if (health->groups[group->index].reverts >= CONFLICT_REVERTS_MIN)
		return evidence_of_conflict(health, group);
	struct evidence evidence = evidence_of_pods(health, group, old);
	if (!evidence.cause)
		evidence = evidence_of_feature(health, group, old);
	if (!evidence.cause && group->missing > 0)
		evidence = evidence_of_operator(health->facts, group, old);
	if (!evidence.cause)
		evidence = evidence_of_deletion(health, group);
	return evidence.cause ? evidence : absence;
}

/* A worker that was started after the failure has registered. */
static bool has_recovered(const struct facts *facts, const struct group *group, time_ms failed_at)
{
	for (size_t i = 0; i < group->worker_count; i++) {
		const struct worker *worker = &facts->workers[group->first_worker + i];
		if (!worker->registered || !worker->pod)
			continue;
		const struct container_status *status = pod_ray_container_status(worker->pod);
		time_ms started = status ? status->started_at : TIME_NONE;
		if (started == TIME_NONE)
			started = worker->pod->created;
		if (started > failed_at)
			return true;
	}
	return false;
}

static time_ms failed_at_of(const struct memory_backoff *backoff)
{
	return backoff->until - backoff->seconds * MS_PER_SECOND;
}

static bool keep_old(const struct facts *facts, const struct group *group,
		     const struct memory_backoff *old, const struct evidence *evidence)
{
	int64_t forget = BACKOFF_FORGET_MS + group->launch.node_ms + group->launch.start_ms;

	if (old->cause == REASON_GANG_INCOMPLETE)
		forget += 2 * (int64_t)facts->group_count * group->launch.hold_ms;
	/* The clock was set back, so the end of the back-off is unknown. */
	if (!due_reached(facts->due, failed_at_of(old)))
		return false;
	/* A worker that registers shows that there is capacity. */
	if (!reason_has(old->cause, TRAIT_OUTLASTS) && facts->ray_reachable &&
	    has_recovered(facts, group, failed_at_of(old)))
		return false;
	/* The operator creates Pods again at once, as when the scale gate is lifted. */
	if (rule_of(old->cause)->ends_with_cause && !evidence->cause)
		return false;
	return !due_passed(facts->due, old->until, forget);
}

static int64_t next_step(const struct facts *facts, const struct memory_backoff *old)
{
	return in_force_backoff_seconds(facts->snapshot, old ? old->seconds : 0);
}

static void enter(struct health *health, const struct group *group,
		  const struct memory_backoff *old, const struct evidence *evidence)
{
	int64_t seconds = next_step(health->facts, old);

	VEC_PUSH(health->arena, &health->memory.backoffs,
		 ((struct memory_backoff){
			 .group = group->spec->name,
			 .until = health->snapshot->now + seconds * MS_PER_SECOND,
			 .seconds = seconds,
			 .cause = evidence->cause,
			 .message = evidence->message,
		 }));
	health->groups[group->index].backed_off = true;
}

static void update_group(struct health *health, const struct group *group,
			 const struct evidence *refusal)
{
	const struct memory_backoff *old = remembered(health->facts, group->spec->name);
	struct evidence evidence = { REASON_NONE, "" };
	if (!group->frozen)
		evidence = find_evidence(health, group, old, refusal);
	if (old && !keep_old(health->facts, group, old, &evidence))
		old = NULL;
	bool active = old && !due_reached(health->facts->due, old->until);
	if (!active && evidence.cause) {
		enter(health, group, old, &evidence);
	} else if (old) {
		VEC_PUSH(health->arena, &health->memory.backoffs, *old);
		health->groups[group->index].backed_off = active;
	}
}

static bool is_starved(const struct health *health, const struct worker *worker)
{
	const struct worker_health *own = &health->workers[worker->index];
	if (worker->deleting || worker->registered)
		return false;
	if (health->groups[worker->group].cancels == CANCELS_GATED)
		return own->obstacle == OBSTACLE_GATED && own->gate == GATE_CANCELLED;
	if (health->groups[worker->group].cancels == CANCELS_MISSING)
		return !worker->pod;
	if (own->gate == GATE_WAITS)
		return false; /* cancelling it gives up its place, and no capacity */
	/* A Pod whose raylet is dead counts once the operator would have to recreate it. */
	if (worker->raylet_gone)
		return worker->finished || own->raylet_expired;
	return own->obstacle != OBSTACLE_NONE;
}

/* The Pods of one replica of several hosts. */
struct hosts {
	int64_t count, cancelled;
	bool started;
};

/* A replica starts or fails as a whole. While none of its hosts has started, an obstacle of one
 * host, or a host that cannot be created, counts for all of them. Where only gated Pods are cancelled,
 * a host that is not cancelled keeps the others. */
static void spread_over_replicas(struct health *health, const struct group *group)
{
	struct hosts *replicas =
		arena_array(health->arena, health->facts->worker_count, sizeof(*replicas));
	const struct worker *workers = &health->facts->workers[group->first_worker];

	for (size_t i = 0; i < group->worker_count; i++) {
		struct hosts *hosts;

		if (workers[i].replica == FACTS_NO_INDEX)
			continue;
		hosts = &replicas[workers[i].replica];
		hosts->count++;
		hosts->cancelled += health->workers[workers[i].index].starved;
		hosts->started = hosts->started || workers[i].registered ||
				 !workers[i].never_started;
	}
	for (size_t i = 0; i < group->worker_count; i++) {
		const struct hosts *hosts;

		if (workers[i].replica == FACTS_NO_INDEX || workers[i].deleting)
			continue;
		hosts = &replicas[workers[i].replica];
		if (health->groups[group->index].cancels == CANCELS_GATED)
			health->workers[workers[i].index].starved = hosts->cancelled ==
								    hosts->count;
		else if (!hosts->started && (hosts->cancelled > 0 ||
					     (hosts->count < group->hosts && group->missing > 0)))
			health->workers[workers[i].index].starved = true;
	}
}

static void mark_starved(struct health *health, const struct group *group)
{
	if (health->groups[group->index].cancels == CANCELS_NOTHING)
		return;
	for (size_t i = 0; i < group->worker_count; i++) {
		const struct worker *worker = &health->facts->workers[group->first_worker + i];

		health->workers[worker->index].starved = is_starved(health, worker);
	}
	if (group->hosts > 1)
		spread_over_replicas(health, group);
}

time_ms backoff_holds_gangs(const struct health *health, const struct group *group, int64_t failed)
{
	const struct memory_backoff *backoff = health->groups[group->index].backoff;
	time_ms until;

	if (!backoff || backoff->cause != REASON_GANG_INCOMPLETE)
		return TIME_NONE;
	until = failed_at_of(backoff) + (2 * failed - 1) * group->launch.hold_ms;
	return due_reached(health->facts->due, until) ? TIME_NONE : until;
}

static void hold_gangs(struct health *health)
{
	int64_t failed = 0;

	VEC_EACH(const struct memory_backoff, entry, &health->memory.backoffs)
		failed += entry->cause == REASON_GANG_INCOMPLETE;
	for (size_t g = 0; g < health->facts->group_count; g++)
		health->groups[g].gangs_held_until =
			backoff_holds_gangs(health, &health->facts->groups[g], failed);
}

void backoff_update(struct health *health)
{
	struct evidence refusal = evidence_of_refusal(health);

	for (size_t g = 0; g < health->facts->group_count; g++)
		update_group(health, &health->facts->groups[g], &refusal);
	/* The array no longer grows, so groups can now point into it. */
	VEC_EACH(struct memory_backoff, entry, &health->memory.backoffs) {
		for (size_t g = 0; g < health->facts->group_count; g++)
			if (strcmp(health->facts->groups[g].spec->name, entry->group) == 0)
				health->groups[g].backoff = entry;
	}
	for (size_t g = 0; g < health->facts->group_count; g++) {
		struct group_health *group = &health->groups[g];

		if (group->backed_off)
			group->cancels = rule_of(group->backoff->cause)->cancels;
		group->raises_held = group->backed_off && group->cancels == CANCELS_NOTHING;
		mark_starved(health, &health->facts->groups[g]);
	}
	hold_gangs(health);
}

double backoff_recoverable(const struct health *health, const struct group *group)
{
	const struct group_health *own = &health->groups[group->index];
	if (!own->backed_off)
		return 1.0;
	int64_t elapsed = health->snapshot->now - failed_at_of(own->backoff);
	if (!due_passed(health->facts->due, failed_at_of(own->backoff), BACKOFF_FLOOR_MS))
		return 0.0;
	if (due_passed(health->facts->due, failed_at_of(own->backoff), BACKOFF_RECOVERY_MS))
		return 1.0;
	/* The shares of several groups grow, and keep their order. */
	return (double)elapsed / (double)BACKOFF_RECOVERY_MS;
}

double backoff_recency(const struct health *health, const struct group *group)
{
	const struct group_health *own = &health->groups[group->index];
	time_ms newest = TIME_NONE;
	if (!own->backed_off)
		return 1.0;
	ARRAY_EACH(const struct group_health, other, health->groups, health->facts->group_count) {
		if (other->backed_off && failed_at_of(other->backoff) > newest)
			newest = failed_at_of(other->backoff);
	}
	return newest > 0 ? 1.0 - (double)failed_at_of(own->backoff) / (double)newest : 0.0;
}
