#include "core/decide/terminate.h"

#include "core/decide/target.h"
#include "core/decide/unit.h"
#include "core/model/reason.h"

static enum removal removal_of_joined(const struct worker *worker)
{
	if (worker->finished || worker->node->problem != NULL)
		return REMOVAL_FORBIDDEN; /* the Pod and Ray disagree, or Ray's data is invalid */
	if (worker->node->status == RAY_NODE_IDLE)
		return REMOVAL_DRAIN;
	if (worker->node->status == RAY_NODE_DRAINING && ray_node_is_unused(worker->node))
		return REMOVAL_DELETE;
	return REMOVAL_FORBIDDEN;
}

static enum removal removal_of(const struct situation *s, const struct worker *worker)
{
	if (s->termination_forbidden || worker->pod == NULL || worker->deleting ||
	    worker->pod->unreadable || worker->group == SITUATION_NO_INDEX ||
	    s->groups[worker->group].frozen)
		return REMOVAL_FORBIDDEN;
	if (worker->joined)
		return removal_of_joined(worker);
	if (worker->finished || worker->expired)
		return REMOVAL_DELETE;
	if (worker->raylet_gone) /* within raylet-gone-seconds it may return */
		return REMOVAL_FORBIDDEN;
	return worker->never_started || worker->unregistered ? REMOVAL_DELETE : REMOVAL_FORBIDDEN;
}

/* Marks the workers that are removed whatever the packing decides. Deleted ones no longer count
 * against maxReplicas. The idle hosts of a replica that has lost others are drained first, and in a
 * back-off a replica is cancelled with all of its hosts when one cannot start. */
static void mark_going(struct situation *s, const struct group *group)
{
	size_t count;
	struct unit *units = unit_list(s, group, &count);

	for (size_t i = 0; i < count; i++)
		for (size_t m = 0; m < units[i].count; m++) {
			struct worker *worker = &s->workers[units[i].members[m]];

			worker->dissolves = units[i].broken ?
						    !units[i].deletable && units[i].removable :
						    units[i].stuck && units[i].deletable;
			worker->goes = units[i].broken && units[i].deletable &&
				       (units[i].drained || !worker->raylet_gone);
		}
}

void terminate_classify(struct situation *s)
{
	for (size_t i = 0; i < s->worker_count; i++)
		s->workers[i].removal = removal_of(s, &s->workers[i]);
	for (size_t g = 0; g < s->group_count; g++)
		mark_going(s, &s->groups[g]);
}

void terminate_delete(struct worker *worker, const char *reason, const char *message)
{
	worker->action = TERMINATE_DELETE;
	worker->action_reason = reason;
	worker->action_message = message;
}

static const char *broken_reason(const struct worker *worker, const char **ret_message)
{
	if (worker->state == WORKER_DRAINING) {
		*ret_message = "drained, with nothing in use";
		return REASON_DRAINED;
	}
	if (worker->finished) {
		*ret_message = "the Pod has ended";
		return REASON_POD_FINISHED;
	}
	if (worker->raylet_gone) {
		*ret_message = "the Pod runs and its raylet is dead";
		return REASON_RAYLET_GONE;
	}
	if (worker->expired) {
		*ret_message = "its raylet has not joined in time";
		return REASON_START_TIMEOUT;
	}
	*ret_message = "other hosts of its replica are gone";
	return REASON_REPLICA_INCOMPLETE;
}

static void drain(const struct situation *s, struct worker *worker, const char *reason)
{
	const struct group *group = &s->groups[worker->group];
	worker->action = TERMINATE_DRAIN;
	worker->action_reason = reason;
	worker->action_message =
		arena_printf(s->arena, "idle for %lld s, timeout %lld s",
			     (long long)(worker->node->idle_duration_ms / MS_PER_SECOND),
			     (long long)(group->idle_timeout_ms / MS_PER_SECOND));
}

static void drain_unit(struct situation *s, struct group *group, const struct unit *unit,
		       const char *reason)
{
	for (size_t i = 0; i < unit->count; i++) {
		struct worker *worker = &s->workers[unit->members[i]];
		if (worker->removal == REMOVAL_DRAIN)
			drain(s, worker, reason);
	}
	if (!unit->leaving) /* such a one is in no target */
		group->drained++;
}

/* Whether it is needed, so that its Pod is recreated and replicas stays. */
static bool is_needed(const struct situation *s, const struct group *group, const struct unit *unit)
{
	if (target_base(group) - group->drained - 1 < group->spec->min_replicas)
		return true;
	for (size_t i = 0; i < unit->count; i++) {
		const struct worker *worker = &s->workers[unit->members[i]];
		if (worker->needed_by_demand || worker->needed_by_request ||
		    worker->needed_by_leaving)
			return true;
	}
	return false;
}

/* A member of the replica is lost or drained, so the replica cannot serve as it is. */
static void choose_broken(struct situation *s, struct group *group, const struct unit *unit)
{
	if (!unit->deletable) {
		if (unit->removable)
			drain_unit(s, group, unit, REASON_REPLICA_INCOMPLETE);
		return;
	}
	const struct worker *first = &s->workers[unit->members[0]];
	bool operator_replaces = unit->count == 1 && first->finished;
	bool needed = !unit->drained && !unit->leaving && is_needed(s, group, unit);
	if (needed && operator_replaces)
		return; /* the operator recreates a finished Pod by itself */
	for (size_t i = 0; i < unit->count; i++) {
		const char *message;
		struct worker *worker = &s->workers[unit->members[i]];
		const char *reason = broken_reason(worker, &message);
		terminate_delete(worker, reason, message);
	}
	if (needed) {
		group->recycled++;
	} else if (unit->leaving) {
		group->leaving_named += (int64_t)unit->count;
	} else {
		target_remove(group, (int64_t)unit->count);
	}
}

/* Idle for too long, needed by no demand and not chosen by the packing: minReplicas keeps it. */
static bool is_held(const struct situation *s, const struct group *group, const struct unit *unit)
{
	for (size_t i = 0; i < unit->count; i++) {
		const struct worker *worker = &s->workers[unit->members[i]];
		if (worker->chosen || worker->removal != REMOVAL_DRAIN ||
		    worker->node->idle_duration_ms <= group->idle_timeout_ms)
			return false;
	}
	return !unit->needed;
}

static void choose_idle(struct situation *s, struct group *group, const struct unit *unit)
{
	for (size_t i = 0; i < unit->count; i++) {
		const struct worker *worker = &s->workers[unit->members[i]];
		if (!worker->chosen || worker->cause != SCHEDULE_CAUSE_IDLE ||
		    worker->removal != REMOVAL_DRAIN ||
		    worker->node->idle_duration_ms <= group->idle_timeout_ms)
			return;
	}
	if (target_base(group) - group->drained - 1 >= group->spec->min_replicas)
		drain_unit(s, group, unit, REASON_IDLE);
}

/* A disrupted replica serves no demand: minReplicas and demand were covered without it. */
static void choose_leaving(struct situation *s, struct group *group, const struct unit *unit)
{
	for (size_t i = 0; i < unit->count; i++) {
		const struct worker *worker = &s->workers[unit->members[i]];
		if (worker->removal != REMOVAL_DRAIN ||
		    worker->node->idle_duration_ms <= group->idle_timeout_ms)
			return;
	}
	drain_unit(s, group, unit, REASON_IDLE);
}

static void stop_unit(struct situation *s, struct group *group, const struct unit *unit)
{
	for (size_t i = 0; i < unit->count; i++) {
		struct worker *worker = &s->workers[unit->members[i]];
		worker->action = TERMINATE_STOP;
		worker->action_reason = REASON_ABOVE_MAX_REPLICAS;
		worker->action_message = "above maxReplicas, enforce-max is now";
	}
	target_remove(group, (int64_t)unit->count);
}

enum way { WAY_DELETE, WAY_DRAIN, WAY_STOP };

static bool is_above_max(const struct situation *s, const struct group *group,
			 const struct unit *unit)
{
	if (unit->broken || s->workers[unit->members[0]].action != TERMINATE_NONE ||
	    target_base(group) - group->drained <= group->spec->max_replicas)
		return false;
	for (size_t i = 0; i < unit->count; i++) {
		const struct worker *worker = &s->workers[unit->members[i]];

		if (worker->chosen && worker->cause != SCHEDULE_CAUSE_IDLE)
			return true;
	}
	return false;
}

static void choose_above_max(struct situation *s, struct group *group, const struct unit *unit,
			     enum way way)
{
	if (!is_above_max(s, group, unit))
		return;
	if (way == WAY_DELETE && unit->deletable) {
		for (size_t i = 0; i < unit->count; i++)
			terminate_delete(&s->workers[unit->members[i]], REASON_ABOVE_MAX_REPLICAS,
					 s->workers[unit->members[i]].unregistered ?
						 "above maxReplicas and not registered with Ray" :
						 "above maxReplicas and has not started");
		target_remove(group, (int64_t)unit->count);
	} else if (way == WAY_DRAIN && unit->removable) {
		drain_unit(s, group, unit, REASON_ABOVE_MAX_REPLICAS);
	} else if (way == WAY_STOP && s->snapshot->settings.enforce_max == ENFORCE_MAX_NOW) {
		stop_unit(s, group, unit);
	}
}

static void choose_of_group(struct situation *s, struct group *group)
{
	size_t count;
	struct unit *units = unit_list(s, group, &count);
	for (size_t i = 0; i < count; i++)
		if (units[i].broken)
			choose_broken(s, group, &units[i]);
	/* Members that cannot be busy are removed first. */
	for (enum way way = WAY_DELETE; way <= WAY_STOP; way++)
		for (size_t i = 0; i < count; i++)
			choose_above_max(s, group, &units[i], way);
	for (size_t i = 0; i < count; i++) {
		if (units[i].broken || s->workers[units[i].members[0]].action != TERMINATE_NONE)
			continue;
		if (units[i].leaving) {
			choose_leaving(s, group, &units[i]);
			continue;
		}
		choose_idle(s, group, &units[i]);
		if (is_held(s, group, &units[i]))
			group->held_by_minimum = true;
	}
}

void terminate_choose(struct situation *s)
{
	if (s->termination_forbidden)
		return;
	for (size_t g = 0; g < s->group_count; g++)
		if (!s->groups[g].frozen)
			choose_of_group(s, &s->groups[g]);
}

/* Whether its raylet may register at any moment: it runs, and Ray does not list it or reports it as
 * dead. */
static bool may_register(const struct worker *worker)
{
	return worker->action == TERMINATE_DELETE && !worker->joined && !worker->never_started &&
	       !worker->finished;
}

void terminate_write(struct situation *s)
{
	for (size_t i = 0; i < s->worker_count; i++) {
		const struct worker *worker = &s->workers[i];
		if (worker->action == TERMINATE_NONE)
			continue;
		struct plan_group *group = &s->plan->groups.at[worker->group];
		struct plan_termination *item = VEC_ADD(s->arena, &group->terminate);
		*item = (struct plan_termination){
			.pod = worker->pod_name,
			.ray_node_id = worker->node != NULL ? worker->node->id : "",
			.action = worker->action,
			.reason = worker->action_reason,
			.message = worker->action_message,
			.needs_fresh_state = may_register(worker),
		};
	}
}
