#include "core/decide/terminate.h"

#include <string.h>

#include "core/decide/disruption_replace.h"
#include "core/decide/release.h"
#include "core/decide/replica.h"
#include "core/decide/target.h"
#include "core/decide/worker.h"
#include "core/model/in_force.h"
#include "core/model/reason.h"

static enum removal removal_of_registered(const struct worker *worker)
{
	if (worker->finished || worker->node->problem)
		return REMOVAL_FORBIDDEN; /* the Pod and Ray disagree, or Ray's data is invalid */
	if (worker->node->status == RAY_NODE_IDLE)
		return worker->do_not_disrupt ? REMOVAL_FORBIDDEN : REMOVAL_DRAIN;
	if (worker->node->status == RAY_NODE_DRAINING && ray_node_is_unused(worker->node))
		return REMOVAL_DELETE;
	return REMOVAL_FORBIDDEN;
}

static enum removal removal_of(const struct offer *offer, const struct worker *worker)
{
	const struct worker_health *own = &offer->health->workers[worker->index];
	if (offer->facts->termination_forbidden || !worker->pod || worker->deleting ||
	    worker->pod->unreadable || worker->group == FACTS_NO_INDEX ||
	    offer->facts->groups[worker->group].frozen)
		return REMOVAL_FORBIDDEN;
	if (worker->registered)
		return removal_of_registered(worker);
	/* A container that fails does not run, so nothing does in it. */
	if (worker->finished || worker_is_expired(own) || own->obstacle == OBSTACLE_FAILED)
		return REMOVAL_DELETE;
	if (worker->raylet_gone) /* within raylet-gone-seconds it may return */
		return REMOVAL_FORBIDDEN;
	return worker->never_started || own->unregistered ? REMOVAL_DELETE : REMOVAL_FORBIDDEN;
}

/* Marks the workers that are removed whatever the packing decides. Deleted ones no longer count
 * against maxReplicas. The idle hosts of a replica that has lost others are drained first, and in a
 * back-off a replica is cancelled with all of its hosts when one cannot start. */
static void mark_going(struct offer *offer, const struct group *group)
{
	const struct group_offer *listed = &offer->groups[group->index];
	const struct replica *replicas = listed->replicas;

	for (size_t i = 0; i < listed->replica_count; i++)
		for (size_t m = 0; m < replicas[i].count; m++) {
			const struct worker *worker =
				&offer->facts->workers[replicas[i].members[m]];
			struct worker_offer *own = &offer->workers[worker->index];

			own->incomplete = replicas[i].broken ?
						  !replicas[i].deletable && replicas[i].removable :
						  replicas[i].starved && replicas[i].deletable;
			own->deleted_now = replicas[i].broken && replicas[i].deletable &&
					   (replicas[i].drained || !worker->raylet_gone);
		}
}

/* Replicas of which Ray drains a host, and that are not removed. */
static int64_t count_draining(const struct offer *offer, const struct group_offer *listed)
{
	int64_t draining = 0;

	ARRAY_EACH(const struct replica, replica, listed->replicas, listed->replica_count) {
		bool any = false;

		for (size_t m = 0; m < replica->count; m++)
			any = any ||
			      offer->facts->workers[replica->members[m]].state == WORKER_DRAINING;
		draining += any && !replica->disrupted && !(replica->broken && replica->deletable);
	}
	return draining;
}

/* Replicas above minReplicas when all that end now have ended. */
static int64_t count_above_minimum(const struct offer *offer, const struct group *group)
{
	const struct group_offer *listed = &offer->groups[group->index];
	int64_t replicas = (group->kept + group->missing) / group->hosts;

	ARRAY_EACH(const struct replica, replica, listed->replicas, listed->replica_count)
		replicas -= replica->broken && replica->deletable && !replica->disrupted;
	if (replicas > group->spec->max_replicas)
		replicas = group->spec->max_replicas;
	return replicas - count_draining(offer, listed) - group->min_replicas;
}

/* Marks the workers that a pool releases with a deadline, as far as minReplicas allows. Those that Ray
 * drains already have been counted. */
static void mark_ends(struct offer *offer, const struct group *group)
{
	const struct group_offer *listed = &offer->groups[group->index];
	int64_t above;

	if (offer->facts->termination_forbidden || group->frozen || !offer->snapshot->pools)
		return;
	above = count_above_minimum(offer, group);
	for (size_t i = 0; i < listed->replica_count && above > 0; i++) {
		const struct replica *replica = &listed->replicas[i];
		struct release_state state = release_state_of(offer, replica);

		if (!state.may_end || state.draining || replica->disrupted)
			continue;
		for (size_t m = 0; m < replica->count; m++)
			offer->workers[replica->members[m]].ends = true;
		above--;
	}
}

void terminate_classify(struct offer *offer)
{
	for (size_t i = 0; i < offer->facts->worker_count; i++)
		offer->workers[i].removal = removal_of(offer, &offer->facts->workers[i]);
	for (size_t g = 0; g < offer->facts->group_count; g++) {
		replica_list(offer, &offer->facts->groups[g]);
		mark_going(offer, &offer->facts->groups[g]);
		mark_ends(offer, &offer->facts->groups[g]);
	}
}

void terminate_delete(struct worker_choice *worker, enum reason reason, const char *message)
{
	*worker = (struct worker_choice){ TERMINATE_DELETE, reason, message, false, TIME_NONE };
}

void terminate_drain_busy(struct worker_choice *worker, enum reason reason, const char *message,
			  time_ms deadline)
{
	*worker = (struct worker_choice){ TERMINATE_DRAIN, reason, message, true, deadline };
}

static void drain_idle(struct worker_choice *worker, enum reason reason, const char *message)
{
	*worker = (struct worker_choice){ TERMINATE_DRAIN, reason, message, false, TIME_NONE };
}

static enum reason broken_reason(const struct choice *choice, const struct worker *worker,
				 const char **ret_message)
{
	if (worker->state == WORKER_DRAINING) {
		*ret_message = "drained, with nothing in use";
		return REASON_DRAINED;
	}
	if (worker->finished || worker->raylet_gone) {
		*ret_message = worker->finished ? "the Pod has ended" :
						  "the Pod runs and its raylet is dead";
		return worker_gone_reason(worker);
	}
	if (worker_is_expired(&choice->health->workers[worker->index])) {
		*ret_message = "its raylet has not registered in time";
		return REASON_START_TIMEOUT;
	}
	*ret_message = "other hosts of its replica were deleted";
	return REASON_REPLICA_INCOMPLETE;
}

static void drain(struct choice *choice, const struct worker *worker, enum reason reason)
{
	const struct worker_offer *own = &choice->offer->workers[worker->index];
	const char *message;

	if (reason == REASON_PART_OF_GANG) {
		drain_idle(&choice->workers[worker->index], reason,
			   choice->packing->workers[worker->index].returned);
		return;
	}
	if (worker->release && reason == REASON_IDLE) {
		drain_idle(&choice->workers[worker->index], REASON_RELEASED_FOR_OTHERS,
			   worker->release->message);
		return;
	}
	if (own->end_reason && reason == REASON_IDLE) {
		drain_idle(&choice->workers[worker->index], own->end_reason, own->end_message);
		return;
	}
	if (worker->planned) {
		drain_idle(&choice->workers[worker->index], reason, worker->disruption_why);
		return;
	}
	message = arena_printf(
		choice->arena, "idle for %lld s, timeout %lld s",
		(long long)(worker->node->idle_duration_ms / MS_PER_SECOND),
		(long long)(choice->health->groups[worker->group].idle_timeout_ms / MS_PER_SECOND));
	drain_idle(&choice->workers[worker->index], reason, message);
}

static void drain_replica(struct choice *choice, const struct group *group,
			  const struct replica *replica, enum reason reason)
{
	for (size_t i = 0; i < replica->count; i++) {
		const struct worker *worker = &choice->facts->workers[replica->members[i]];
		if (choice->offer->workers[worker->index].removal == REMOVAL_DRAIN)
			drain(choice, worker, reason);
	}
	if (!replica->disrupted) /* such a one is in no target */
		choice->groups[group->index].drained++;
}

/* Whether it is needed, so that its Pod is recreated and replicas stays. */
static bool is_needed(const struct choice *choice, const struct group *group,
		      const struct replica *replica)
{
	const struct group_choice *own = &choice->groups[group->index];
	if (target_base(own) - own->drained - 1 < group->min_replicas)
		return true;
	return replica_is_needed(choice->packing, replica);
}

/* A member of the replica is lost or drained, so the replica cannot serve as it is. */
static void choose_broken(struct choice *choice, const struct group *group,
			  const struct replica *replica)
{
	struct group_choice *own = &choice->groups[group->index];
	if (!replica->deletable) {
		if (replica->removable)
			drain_replica(choice, group, replica, REASON_REPLICA_INCOMPLETE);
		return;
	}
	const struct worker *first = &choice->facts->workers[replica->members[0]];
	bool operator_replaces = replica->count == 1 && first->finished;
	bool needed = !replica->drained && !replica->disrupted && is_needed(choice, group, replica);
	if (needed && operator_replaces)
		return; /* the operator recreates a finished Pod by itself */
	for (size_t i = 0; i < replica->count; i++) {
		const char *message;
		const struct worker *worker = &choice->facts->workers[replica->members[i]];
		enum reason reason = broken_reason(choice, worker, &message);
		terminate_delete(&choice->workers[worker->index], reason, message);
	}
	if (needed) {
		own->recycled++;
	} else if (replica->disrupted) {
		own->disruption_named += (int64_t)replica->count;
	} else {
		target_remove(own, (int64_t)replica->count);
	}
}

static bool is_idle_too_long(const struct choice *choice, const struct worker *worker)
{
	return worker_idle_passed(choice->facts, worker,
				  worker_idle_timeout_ms(choice->health, worker));
}

/* Idle for too long, needed by no demand and not chosen by the packing: minReplicas keeps it. */
static bool is_held(const struct choice *choice, const struct replica *replica)
{
	for (size_t i = 0; i < replica->count; i++) {
		const struct worker *worker = &choice->facts->workers[replica->members[i]];
		if (choice->packing->workers[worker->index].chosen ||
		    choice->offer->workers[worker->index].removal != REMOVAL_DRAIN ||
		    !is_idle_too_long(choice, worker))
			return false;
	}
	return !replica_is_needed(choice->packing, replica);
}

static void choose_idle(struct choice *choice, const struct group *group,
			const struct replica *replica)
{
	struct group_choice *own = &choice->groups[group->index];
	for (size_t i = 0; i < replica->count; i++) {
		const struct worker *worker = &choice->facts->workers[replica->members[i]];
		if (!choice->packing->workers[worker->index].chosen ||
		    choice->packing->workers[worker->index].cause != SCHEDULE_CAUSE_IDLE ||
		    choice->offer->workers[worker->index].removal != REMOVAL_DRAIN ||
		    !is_idle_too_long(choice, worker))
			return;
	}
	if (target_base(own) - own->drained - 1 >= group->min_replicas)
		drain_replica(choice, group, replica, REASON_IDLE);
}

static bool choose_returned(struct choice *choice, const struct group *group,
			    const struct replica *replica)
{
	struct group_choice *own = &choice->groups[group->index];

	if (!choice->packing->workers[replica->members[0]].returned ||
	    target_base(own) - own->drained - 1 < group->min_replicas)
		return false;
	drain_replica(choice, group, replica, REASON_PART_OF_GANG);
	return true;
}

static void stop_replica(struct choice *choice, const struct group *group,
			 const struct replica *replica, enum reason reason, const char *message)
{
	for (size_t i = 0; i < replica->count; i++)
		choice->workers[replica->members[i]] =
			(struct worker_choice){ TERMINATE_STOP, reason, message, false, TIME_NONE };
	if (replica->disrupted) /* such a one is in no target */
		choice->groups[group->index].disruption_named += (int64_t)replica->count;
	else
		target_remove(&choice->groups[group->index], (int64_t)replica->count);
}

/* The deadline of a planned end that stops the work has passed, and Ray drains every host. */
static bool has_had_its_time(const struct choice *choice, const struct replica *replica)
{
	for (size_t i = 0; i < replica->count; i++) {
		const struct worker *worker = &choice->facts->workers[replica->members[i]];

		if (!worker->planned || !worker->planned->stops ||
		    worker->state != WORKER_DRAINING || worker->ends == TIME_NONE ||
		    !due_reached(choice->facts->due, worker->ends))
			return false;
	}
	return true;
}

/* A disrupted replica serves no demand: minReplicas and demand were covered without it. */
static void choose_disruption(struct choice *choice, const struct group *group,
			      const struct replica *replica)
{
	if (has_had_its_time(choice, replica)) {
		stop_replica(
			choice, group, replica, REASON_LEAVING,
			arena_printf(choice->arena, "%s; the deadline of its work has passed",
				     choice->facts->workers[replica->members[0]].disruption_why));
		return;
	}
	for (size_t i = 0; i < replica->count; i++) {
		const struct worker *worker = &choice->facts->workers[replica->members[i]];
		if (choice->offer->workers[worker->index].removal != REMOVAL_DRAIN ||
		    (worker->planned ? !disruption_may_begin(choice->packing, worker) :
				       !is_idle_too_long(choice, worker)))
			return;
	}
	drain_replica(choice, group, replica, REASON_IDLE);
}

enum way { WAY_DELETE, WAY_DRAIN, WAY_STOP };

static bool is_above_max(const struct choice *choice, const struct group *group,
			 const struct replica *replica)
{
	const struct group_choice *own = &choice->groups[group->index];
	if (replica->broken || choice->workers[replica->members[0]].action != TERMINATE_NONE ||
	    target_base(own) - own->drained <= group->spec->max_replicas)
		return false;
	for (size_t i = 0; i < replica->count; i++) {
		const struct worker *worker = &choice->facts->workers[replica->members[i]];

		if (choice->packing->workers[worker->index].chosen &&
		    choice->packing->workers[worker->index].cause != SCHEDULE_CAUSE_IDLE)
			return true;
	}
	return false;
}

static bool may_stop(const struct choice *choice, const struct replica *replica)
{
	for (size_t i = 0; i < replica->count; i++)
		if (choice->facts->workers[replica->members[i]].do_not_disrupt)
			return false;
	return in_force_stops_busy(choice->snapshot);
}

static void choose_above_max(struct choice *choice, const struct group *group,
			     const struct replica *replica, enum way way)
{
	if (!is_above_max(choice, group, replica))
		return;
	if (way == WAY_DELETE && replica->deletable) {
		for (size_t i = 0; i < replica->count; i++)
			terminate_delete(&choice->workers[replica->members[i]],
					 REASON_ABOVE_MAX_REPLICAS,
					 choice->health->workers[replica->members[i]].unregistered ?
						 "above maxReplicas and not registered with Ray" :
						 "above maxReplicas and has not started");
		target_remove(&choice->groups[group->index], (int64_t)replica->count);
	} else if (way == WAY_DRAIN && replica->removable) {
		drain_replica(choice, group, replica, REASON_ABOVE_MAX_REPLICAS);
	} else if (way == WAY_STOP && may_stop(choice, replica)) {
		stop_replica(choice, group, replica, REASON_ABOVE_MAX_REPLICAS,
			     "above maxReplicas, enforce-max is now");
	}
}

/* Drains a replica that a pool releases with a deadline, with this deadline where it is busy: Ray
 * refuses no such drain. After it the replica is stopped, if Ray drains it. */
static void choose_released(struct choice *choice, const struct group *group,
			    const struct replica *replica)
{
	struct group_choice *own = &choice->groups[group->index];
	const struct release_state state = release_state_of(choice->offer, replica);
	bool above = choice->offer->workers[replica->members[0]].ends;

	if (!state.may_end || (state.draining && !state.passed))
		return;
	if (state.draining)
		above = target_base(own) - own->drained - 1 >= group->min_replicas;
	if (!above) {
		own->held_by_minimum = true;
		return;
	}
	if (state.draining) {
		stop_replica(choice, group, replica, REASON_RELEASED_FOR_OTHERS,
			     state.release->message);
		return;
	}
	for (size_t i = 0; i < replica->count; i++) {
		const struct worker *worker = &choice->facts->workers[replica->members[i]];
		struct worker_choice *worker_choice = &choice->workers[worker->index];

		if (worker->state == WORKER_DRAINING)
			continue;
		if (state.idle)
			drain_idle(worker_choice, REASON_RELEASED_FOR_OTHERS,
				   state.release->message);
		else
			terminate_drain_busy(worker_choice, REASON_RELEASED_FOR_OTHERS,
					     state.release->message, state.release->deadline);
	}
	own->drained++;
}

static void choose_of_group(struct choice *choice, const struct group *group)
{
	const struct replica *replicas = choice->offer->groups[group->index].replicas;
	size_t count = choice->offer->groups[group->index].replica_count;
	for (size_t i = 0; i < count; i++)
		if (replicas[i].broken)
			choose_broken(choice, group, &replicas[i]);
	/* Members that cannot be busy are removed first. */
	for (enum way way = WAY_DELETE; way <= WAY_STOP; way++)
		for (size_t i = 0; i < count; i++)
			choose_above_max(choice, group, &replicas[i], way);
	for (size_t i = 0; i < count; i++) {
		const struct worker_choice *first = &choice->workers[replicas[i].members[0]];

		if (first->action == TERMINATE_NONE && !replicas[i].disrupted)
			choose_released(choice, group, &replicas[i]);
		if (replicas[i].broken || first->action != TERMINATE_NONE)
			continue;
		if (replicas[i].disrupted) {
			choose_disruption(choice, group, &replicas[i]);
			continue;
		}
		if (choose_returned(choice, group, &replicas[i]))
			continue;
		choose_idle(choice, group, &replicas[i]);
		if (is_held(choice, &replicas[i]))
			choice->groups[group->index].held_by_minimum = true;
	}
}

void terminate_choose(struct choice *choice)
{
	if (choice->packing->termination_forbidden)
		return;
	for (size_t g = 0; g < choice->facts->group_count; g++)
		if (!choice->facts->groups[g].frozen)
			choose_of_group(choice, &choice->facts->groups[g]);
}

/* Whether its raylet may register at any moment: it runs, and Ray does not list it or reports it as
 * dead. */
static bool may_register(const struct choice *choice, const struct worker *worker)
{
	return choice->workers[worker->index].action == TERMINATE_DELETE && !worker->registered &&
	       !worker->never_started && !worker->finished;
}

void terminate_write(const struct choice *choice, struct plan *plan)
{
	ARRAY_EACH(const struct worker, worker, choice->facts->workers,
		   choice->facts->worker_count) {
		const struct worker_choice *own = &choice->workers[worker->index];
		if (own->action == TERMINATE_NONE)
			continue;
		struct plan_group *group = &plan->groups.at[worker->group];
		struct plan_termination *item = VEC_ADD(choice->arena, &group->terminate);
		*item = (struct plan_termination){
			.pod = worker->pod_name,
			.ray_node_id = worker->node ? worker->node->id : "",
			.action = own->action,
			.reason = own->reason,
			.message = own->message,
			.busy = own->busy,
			.deadline = own->busy ? own->deadline : TIME_NONE,
			.needs_fresh_state = may_register(choice, worker),
		};
	}
}
