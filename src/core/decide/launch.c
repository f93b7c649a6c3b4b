#include "core/decide/launch.h"

#include <string.h>

#include "base/int64.h"
#include "core/decide/demand.h"
#include "core/decide/limits.h"
#include "core/decide/replica.h"
#include "core/decide/target.h"
#include "core/decide/terminate.h"
#include "core/model/reason.h"
#include "core/schedule/schedule.h"

static const struct memory_launch *remembered(const struct facts *facts, const struct group *group)
{
	const struct memory_state *memory = facts->snapshot->memory;
	return memory ? VEC_FIND(&memory->launches, group, group->spec->name) : NULL;
}

static int64_t not_negative(int64_t value)
{
	return value > 0 ? value : 0;
}

/* Replicas that exist or are requested and of which no host has registered, except disrupted
 * ones. */
static int64_t not_registered_replicas(const struct offer *offer, const struct group *group)
{
	const struct group_offer *own = &offer->groups[group->index];
	int64_t not_registered = 0;
	for (size_t i = 0; i < own->replica_count; i++)
		if (own->replicas[i].not_registered && !own->replicas[i].disrupted)
			not_registered++;
	return not_registered + group->missing / group->hosts;
}

/* Splits the replicas that are not registered into launches of this program and of others. Whether
 * a registered replica was launched by this program is unknown, so it is assumed that it was, and
 * launches of others are never cancelled. When another writer lowered replicas, this program's
 * launches are reduced first. */
static void recall_group(struct offer *offer, const struct group *group)
{
	struct group_offer *own = &offer->groups[group->index];
	const struct memory_launch *old = remembered(offer->facts, group);
	int64_t not_registered = not_registered_replicas(offer, group);
	own->others = not_registered;
	if (!old || old->replicas <= 0)
		return;
	int64_t others = not_negative(old->not_registered - old->replicas);
	int64_t ours = old->replicas;
	int64_t raised = group->spec->replicas - old->base_replicas;
	if (raised > 0)
		others += raised;
	else
		ours = not_negative(ours + raised);
	if (offer->facts->ray_reachable)
		ours = int64_min(ours, not_negative(not_registered - others));
	own->ours = ours;
	own->others = offer->facts->ray_reachable ? not_registered - ours : others;
}

void launch_recall(struct offer *offer)
{
	for (size_t g = 0; g < offer->facts->group_count; g++)
		recall_group(offer, &offer->facts->groups[g]);
}

/* How many replicas may still be removed before minReplicas, or that of a schedule, is reached. */
static int64_t above_minimum(const struct group_choice *group)
{
	return not_negative(target_base(group) - group->drained - group->group->min_replicas);
}

static int64_t unneeded_missing(const struct packing *packing, const struct group *group)
{
	int64_t unneeded = 0, listed = 0;
	for (size_t i = 0; i < group->worker_count; i++) {
		const struct worker *worker = &packing->facts->workers[group->first_worker + i];
		if (worker->pod)
			continue;
		listed++;
		unneeded += !worker_is_needed(&packing->workers[worker->index]);
	}
	unneeded += group->missing - listed; /* those beyond FACTS_MISSING_MAX: not packed */
	return unneeded / group->hosts;
}

static void take_replica(struct choice *choice, const struct group *group,
			 const struct replica *replica, enum reason reason, const char *message)
{
	for (size_t i = 0; i < replica->count; i++)
		terminate_delete(&choice->workers[replica->members[i]], reason, message);
	target_remove(&choice->groups[group->index], (int64_t)replica->count);
}

static bool is_free(const struct choice *choice, const struct replica *replica)
{
	return choice->workers[replica->members[0]].action == TERMINATE_NONE;
}

/* Replicas of the group that bundles of request-resources wait for: at the most one for each bundle
 * that found no place and that an empty worker of the group would serve. Under a pool those of Ray's
 * SDK wait for one: others of the pool could use what only a request asks for. */
static int64_t requested_replicas(const struct choice *choice, const struct group *group)
{
	const struct capacity *capacity = &choice->offer->groups[group->index].seen_capacity;
	int64_t count = 0;

	for (size_t c = 0; c < choice->facts->constraint_count; c++) {
		int64_t waiting = 0;

		for (size_t i = 0; i < choice->offer->packed_constraints[c].count; i++) {
			size_t index = choice->offer->packed_constraints[c].index[i];
			int64_t left = choice->packing->result->constraints[c][i].count;

			if (left > 0 &&
			    schedule_fits_empty(choice->facts->constraints[c].at.at[index].request,
						&capacity->resources, &capacity->labels))
				waiting += int64_min(left, group->kept);
		}
		if (group->grant && demand_is_of_sdk(&choice->facts->constraints[c]))
			waiting = int64_min(waiting, 1);
		count = waiting > count ? waiting : count;
	}
	return count;
}

/* A group in back-off: cancels its pending replicas, the last ones first. Replicas that minReplicas
 * requires stay, because the operator would only recreate them. */
static void cancel_starved(struct choice *choice, const struct group *group)
{
	struct group_choice *own = &choice->groups[group->index];
	const struct replica *replicas = choice->offer->groups[group->index].replicas;
	size_t count = choice->offer->groups[group->index].replica_count;
	int64_t starved = 0;
	/* Whether a Pod that does not exist yet will be gated is unknown. */
	int64_t missing = own->health->cancels == CANCELS_GATED ?
				  0 :
				  int64_min(group->missing / group->hosts, above_minimum(own));
	own->missing_taken += missing;
	own->backed_off_taken += missing;
	int64_t requested = requested_replicas(choice, group);
	for (size_t i = 0; i < count; i++)
		starved += replicas[i].starved && !replicas[i].disrupted ? 1 : 0;
	for (size_t i = count; i > 0 && above_minimum(own) > 0 && starved > requested; i--) {
		const struct replica *replica = &replicas[i - 1];
		if (!replica->starved || replica->disrupted || !replica->deletable ||
		    !replica->not_registered || !is_free(choice, replica))
			continue;
		take_replica(choice, group, replica, REASON_GROUP_BACKED_OFF,
			     "pending in a group that provides no capacity");
		own->backed_off_taken++;
		starved--;
	}
}

/* How far a launch has progressed; those that are farthest from registering are cancelled first. */
enum stage { STAGE_UNPLACED, STAGE_PLACED, STAGE_STARTED };

static enum stage stage_of(const struct choice *choice, const struct replica *replica)
{
	if (!replica->never_started)
		return STAGE_STARTED;
	return choice->facts->workers[replica->members[0]].pod->spec.node_name[0] != '\0' ?
		       STAGE_PLACED :
		       STAGE_UNPLACED;
}

static int64_t take_pods(struct choice *choice, const struct group *group, int64_t wanted,
			 enum stage stage)
{
	const struct group_offer *own = &choice->offer->groups[group->index];
	int64_t taken = 0;
	for (size_t i = own->replica_count; i > 0 && taken < wanted; i--) {
		const struct replica *replica = &own->replicas[i - 1];
		if (!replica->not_registered || !replica->cancellable || !replica->deletable ||
		    replica_is_needed(choice->packing, replica) || replica->disrupted ||
		    !is_free(choice, replica) || stage_of(choice, replica) != stage)
			continue;
		take_replica(choice, group, replica, REASON_LAUNCH_UNNEEDED,
			     "nothing needs it any more");
		taken++;
	}
	return taken;
}

static int64_t count_unneeded(const struct choice *choice, const struct group *group)
{
	const struct replica *replicas = choice->offer->groups[group->index].replicas;
	int64_t unneeded = unneeded_missing(choice->packing, group);
	for (size_t i = 0; i < choice->offer->groups[group->index].replica_count; i++)
		if (replicas[i].not_registered && replicas[i].cancellable &&
		    !replica_is_needed(choice->packing, &replicas[i]) && !replicas[i].disrupted &&
		    is_free(choice, &replicas[i]))
			unneeded++;
	return int64_min(unneeded, above_minimum(&choice->groups[group->index]));
}

static void cancel(struct choice *choice, const struct group *group, int64_t wanted)
{
	struct group_choice *own = &choice->groups[group->index];
	int64_t missing = int64_min(wanted, unneeded_missing(choice->packing, group));
	own->missing_taken += missing;
	int64_t taken = missing;
	for (enum stage stage = STAGE_UNPLACED; stage <= STAGE_STARTED; stage++)
		taken += take_pods(choice, group, wanted - taken, stage);
	own->cancelled = taken;
}

static void cancel_unneeded(struct choice *choice, const struct group *group)
{
	struct group_choice *own = &choice->groups[group->index];
	const struct memory_launch *old = remembered(choice->facts, group);
	int64_t unneeded = int64_min(own->offer->ours, count_unneeded(choice, group));
	own->unneeded = unneeded;
	own->unneeded_since = unneeded > 0 ? choice->snapshot->now : TIME_NONE;
	if (unneeded == 0 || !old || old->unneeded_since == TIME_NONE || old->unneeded <= 0 ||
	    !due_reached(choice->facts->due, old->unneeded_since))
		return;
	/* At most the launches that were unneeded during the whole time. */
	own->unneeded = int64_min(unneeded, old->unneeded);
	own->unneeded_since = old->unneeded_since;
	if (!due_passed(choice->facts->due, old->unneeded_since,
			choice->snapshot->settings.cancel_launch_seconds * MS_PER_SECOND))
		return;
	cancel(choice, group, own->unneeded);
	own->unneeded = unneeded - own->cancelled;
	own->unneeded_since = own->unneeded > 0 ? choice->snapshot->now : TIME_NONE;
}

/* Whether demand can be compared with the group: not while the devices that it claims cannot be
 * counted, as without the right to read the claims. */
static bool is_counted(const struct group *group)
{
	const struct pod_claims *claims = group->template_capacity.claims;
	return !claims || !claims->problem;
}

void launch_cancel(struct choice *choice)
{
	ARRAY_EACH(const struct group, group, choice->facts->groups, choice->facts->group_count) {
		if (choice->packing->termination_forbidden || group->frozen)
			continue;
		if (choice->health->groups[group->index].cancels != CANCELS_NOTHING)
			cancel_starved(choice, group);
		else if (is_counted(group))
			cancel_unneeded(choice, group);
	}
}

/* While Ray is unreachable, the need is unknown: the old entry is kept. */
static void remember_as_was(struct choice *choice, const struct group *group)
{
	const struct memory_launch *old = remembered(choice->facts, group);
	if (old)
		VEC_PUSH(choice->arena, &choice->memory.launches, *old);
}

static time_ms next_round(const struct choice *choice, const struct group *group, int64_t launched)
{
	time_ms round = limits_launch_round(choice->facts, group);

	if (!limits_is_conservative(choice->snapshot))
		return TIME_NONE;
	return round == TIME_NONE && launched > 0 ? choice->snapshot->now : round;
}

/* Stores the launches for the next decision: the group's replicas that are not registered, split
 * into those of this program (after cancellations, plus the new launches) and others. While
 * terminations are forbidden or a back-off cancels launches, the time since when they are unneeded
 * is kept. */
void launch_remember(struct choice *choice)
{
	ARRAY_EACH(const struct group, group, choice->facts->groups, choice->facts->group_count) {
		struct group_choice *own = &choice->groups[group->index];
		if (group->frozen) {
			remember_as_was(choice, group);
			continue;
		}
		int64_t taken = own->cancelled + own->backed_off_taken;
		int64_t ours = not_negative(own->offer->ours - taken);
		int64_t others = own->offer->others - not_negative(taken - own->offer->ours);
		int64_t base = target_base(own);
		int64_t launched = not_negative(own->wanted_replicas - (base > 0 ? base : 0));
		if (ours + launched == 0)
			continue;
		struct memory_launch *entry = VEC_ADD(choice->arena, &choice->memory.launches);
		*entry = (struct memory_launch){
			.group = group->spec->name,
			.replicas = ours + launched,
			.base_replicas = own->patch_replicas,
			.not_registered = ours + launched + not_negative(others),
			.unneeded = own->unneeded,
			.unneeded_since = own->unneeded_since,
			.round = next_round(choice, group, launched),
		};
		if (choice->packing->termination_forbidden ||
		    own->health->cancels != CANCELS_NOTHING) {
			const struct memory_launch *old = remembered(choice->facts, group);
			entry->unneeded = old ? old->unneeded : 0;
			entry->unneeded_since = old ? old->unneeded_since : TIME_NONE;
		}
	}
}
