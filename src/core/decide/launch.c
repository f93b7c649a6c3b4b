#include "core/decide/launch.h"

#include <string.h>

#include "core/decide/limits.h"
#include "core/decide/target.h"
#include "core/decide/terminate.h"
#include "core/decide/unit.h"
#include "core/model/reason.h"

static const struct memory_launch *remembered(const struct situation *s, const struct group *group)
{
	const struct memory_state *memory = s->snapshot->memory;
	for (size_t i = 0; memory != NULL && i < memory->launches.count; i++)
		if (strcmp(memory->launches.at[i].group, group->spec->name) == 0)
			return &memory->launches.at[i];
	return NULL;
}

static int64_t smaller(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

static int64_t not_negative(int64_t value)
{
	return value > 0 ? value : 0;
}

/* Replicas that exist or are requested and of which no host has registered, except disrupted
 * ones. */
static int64_t unjoined_replicas(const struct situation *s, const struct group *group)
{
	size_t count;
	int64_t unjoined = 0;
	struct unit *units = unit_list(s, group, &count);
	for (size_t i = 0; i < count; i++)
		if (units[i].unjoined && !units[i].leaving)
			unjoined++;
	return unjoined + group->missing / group->hosts;
}

/* Splits the replicas that are not registered into launches of this program and of others. Whether
 * a registered replica was launched by this program is unknown, so it is assumed that it was, and
 * launches of others are never cancelled. When another writer lowered replicas, this program's
 * launches are reduced first. */
static void recall_group(const struct situation *s, struct group *group)
{
	const struct memory_launch *old = remembered(s, group);
	int64_t unjoined = unjoined_replicas(s, group);
	group->others = unjoined;
	if (old == NULL || old->replicas <= 0)
		return;
	int64_t others = not_negative(old->unjoined - old->replicas);
	int64_t ours = old->replicas;
	int64_t raised = group->spec->replicas - old->base_replicas;
	if (raised > 0)
		others += raised;
	else
		ours = not_negative(ours + raised);
	if (s->ray_reachable)
		ours = smaller(ours, not_negative(unjoined - others));
	group->ours = ours;
	group->others = s->ray_reachable ? unjoined - ours : others;
}

void launch_recall(struct situation *s)
{
	for (size_t g = 0; g < s->group_count; g++)
		recall_group(s, &s->groups[g]);
}

/* How many replicas may still be removed before minReplicas is reached. */
static int64_t above_minimum(const struct group *group)
{
	return not_negative(target_base(group) - group->drained - group->spec->min_replicas);
}

static int64_t unneeded_missing(const struct situation *s, const struct group *group)
{
	int64_t unneeded = 0, listed = 0;
	for (size_t i = 0; i < group->worker_count; i++) {
		const struct worker *worker = &s->workers[group->first_worker + i];
		if (worker->pod != NULL)
			continue;
		listed++;
		if (!worker->needed_by_demand && !worker->needed_by_request &&
		    !worker->needed_by_leaving)
			unneeded++;
	}
	unneeded += group->missing - listed; /* those beyond SITUATION_MISSING_MAX: not packed */
	return unneeded / group->hosts;
}

static void take_unit(struct situation *s, struct group *group, const struct unit *unit,
		      const char *reason, const char *message)
{
	for (size_t i = 0; i < unit->count; i++)
		terminate_delete(&s->workers[unit->members[i]], reason, message);
	target_remove(group, (int64_t)unit->count);
}

static bool is_free(const struct situation *s, const struct unit *unit)
{
	return s->workers[unit->members[0]].action == TERMINATE_NONE;
}

/* Replicas of the group that bundles of request-resources wait for: at the most one for each bundle
 * that found no place and that an empty worker of the group would serve. */
static int64_t requested_replicas(const struct situation *s, const struct group *group)
{
	const struct capacity *capacity = &group->capacity;
	int64_t count = 0;

	for (size_t c = 0; c < s->constraint_count; c++) {
		int64_t waiting = 0;

		for (size_t i = 0; i < s->packed_constraints[c].count; i++) {
			size_t index = s->packed_constraints[c].index[i];
			int64_t left = s->result->constraints[c][i].count;

			if (left > 0 &&
			    schedule_fits_empty(s->constraints[c].at.at[index].request,
						&capacity->resources, &capacity->labels))
				waiting += smaller(left, group->kept);
		}
		count = waiting > count ? waiting : count;
	}
	return count;
}

/* A group in back-off: cancels its pending replicas, the last ones first. Replicas that minReplicas
 * requires stay, because the operator would only recreate them. */
static void take_back_stuck(struct situation *s, struct group *group)
{
	size_t count;
	int64_t stuck = 0;
	struct unit *units = unit_list(s, group, &count);
	int64_t missing = smaller(group->missing / group->hosts, above_minimum(group));
	group->missing_taken += missing;
	group->backed_off_taken += missing;
	int64_t requested = requested_replicas(s, group);
	for (size_t i = 0; i < count; i++)
		stuck += units[i].stuck && !units[i].leaving ? 1 : 0;
	for (size_t i = count; i > 0 && above_minimum(group) > 0 && stuck > requested; i--) {
		const struct unit *unit = &units[i - 1];
		if (!unit->stuck || unit->leaving || !unit->deletable || !unit->unjoined ||
		    !is_free(s, unit))
			continue;
		take_unit(s, group, unit, REASON_GROUP_BACKED_OFF,
			  "pending in a group that brings no capacity");
		group->backed_off_taken++;
		stuck--;
	}
}

/* How far a launch has progressed; those that are farthest from registering are cancelled first. */
enum stage { STAGE_UNPLACED, STAGE_PLACED, STAGE_STARTED };

static enum stage stage_of(const struct situation *s, const struct unit *unit)
{
	if (!unit->never_started)
		return STAGE_STARTED;
	return s->workers[unit->members[0]].pod->spec.node_name[0] != '\0' ? STAGE_PLACED :
									     STAGE_UNPLACED;
}

static int64_t take_pods(struct situation *s, struct group *group, int64_t wanted, enum stage stage)
{
	size_t count;
	struct unit *units = unit_list(s, group, &count);
	int64_t taken = 0;
	for (size_t i = count; i > 0 && taken < wanted; i--) {
		const struct unit *unit = &units[i - 1];
		if (!unit->unjoined || !unit->cancellable || !unit->deletable || unit->needed ||
		    unit->leaving || !is_free(s, unit) || stage_of(s, unit) != stage)
			continue;
		take_unit(s, group, unit, REASON_LAUNCH_UNNEEDED, "nothing needs it any more");
		taken++;
	}
	return taken;
}

static int64_t count_unneeded(const struct situation *s, const struct group *group)
{
	size_t count;
	int64_t unneeded = unneeded_missing(s, group);
	struct unit *units = unit_list(s, group, &count);
	for (size_t i = 0; i < count; i++)
		if (units[i].unjoined && units[i].cancellable && !units[i].needed &&
		    !units[i].leaving && is_free(s, &units[i]))
			unneeded++;
	return smaller(unneeded, above_minimum(group));
}

static void cancel(struct situation *s, struct group *group, int64_t wanted)
{
	int64_t missing = smaller(wanted, unneeded_missing(s, group));
	group->missing_taken += missing;
	int64_t taken = missing;
	for (enum stage stage = STAGE_UNPLACED; stage <= STAGE_STARTED; stage++)
		taken += take_pods(s, group, wanted - taken, stage);
	group->cancelled = taken;
}

static void cancel_unneeded(struct situation *s, struct group *group)
{
	const struct memory_launch *old = remembered(s, group);
	int64_t unneeded = smaller(group->ours, count_unneeded(s, group));
	group->unneeded = unneeded;
	group->unneeded_since = unneeded > 0 ? s->snapshot->now : TIME_NONE;
	if (unneeded == 0 || old == NULL || old->unneeded_since == TIME_NONE ||
	    old->unneeded <= 0 || old->unneeded_since > s->snapshot->now)
		return;
	/* At most the launches that were unneeded during the whole time. */
	group->unneeded = smaller(unneeded, old->unneeded);
	group->unneeded_since = old->unneeded_since;
	if (s->snapshot->now - old->unneeded_since <
	    s->snapshot->settings.cancel_launch_seconds * MS_PER_SECOND)
		return;
	cancel(s, group, group->unneeded);
	group->unneeded = unneeded - group->cancelled;
	group->unneeded_since = group->unneeded > 0 ? s->snapshot->now : TIME_NONE;
}

void launch_take_back(struct situation *s)
{
	for (size_t g = 0; g < s->group_count; g++) {
		struct group *group = &s->groups[g];
		if (s->termination_forbidden || group->frozen)
			continue;
		if (group->takes_back)
			take_back_stuck(s, group);
		else
			cancel_unneeded(s, group);
	}
}

/* While Ray is unreachable, the need is unknown: the old entry is kept. */
static void remember_as_was(struct situation *s, const struct group *group)
{
	const struct memory_launch *old = remembered(s, group);
	if (old != NULL)
		VEC_PUSH(s->arena, &s->plan->memory.launches, *old);
}

time_ms launch_round(const struct situation *s, const struct group *group)
{
	const struct memory_launch *old = remembered(s, group);
	time_ms now = s->snapshot->now;

	if (old == NULL || old->round == TIME_NONE || old->round > now ||
	    now - old->round >= LAUNCH_ROUND_MS)
		return TIME_NONE;
	return old->round;
}

static time_ms next_round(const struct situation *s, const struct group *group, int64_t launched)
{
	time_ms round = launch_round(s, group);

	if (!limits_is_conservative(s->snapshot))
		return TIME_NONE;
	return round == TIME_NONE && launched > 0 ? s->snapshot->now : round;
}

/* Stores the launches for the next decision: the group's replicas that are not registered, split
 * into those of this program (after cancellations, plus the new launches) and others. While
 * terminations are forbidden or a back-off cancels launches, the time since when they are unneeded
 * is kept. */
void launch_remember(struct situation *s)
{
	for (size_t g = 0; g < s->group_count; g++) {
		const struct group *group = &s->groups[g];
		if (group->frozen) {
			remember_as_was(s, group);
			continue;
		}
		int64_t taken = group->cancelled + group->backed_off_taken;
		int64_t ours = not_negative(group->ours - taken);
		int64_t others = group->others - not_negative(taken - group->ours);
		int64_t base = target_base(group);
		int64_t launched = not_negative(group->wanted_replicas - (base > 0 ? base : 0));
		if (ours + launched == 0)
			continue;
		struct memory_launch *entry = VEC_ADD(s->arena, &s->plan->memory.launches);
		*entry = (struct memory_launch){
			.group = group->spec->name,
			.replicas = ours + launched,
			.base_replicas = group->patch_replicas,
			.unjoined = ours + launched + not_negative(others),
			.unneeded = group->unneeded,
			.unneeded_since = group->unneeded_since,
			.round = next_round(s, group, launched),
		};
		if (s->termination_forbidden || group->takes_back) {
			const struct memory_launch *old = remembered(s, group);
			entry->unneeded = old != NULL ? old->unneeded : 0;
			entry->unneeded_since = old != NULL ? old->unneeded_since : TIME_NONE;
		}
	}
}
