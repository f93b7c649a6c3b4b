/* The schedules of the RayClusterAutoscaler: within a window the minimum of a group is that of the
 * schedule, if it is above minReplicas, and at most maxReplicas; of several the greatest. It acts as
 * a request, so backoff, GPU limits and limits on starting workers hold it back. The bundles of a
 * schedule are a list of request_resources of their own (demand.h), its warmWorkers further entries
 * of warmWorkers (feature/warm_workers).
 *
 * A schedule that cannot be understood (start, duration or time zone) launches nothing. Whether
 * its workers are wanted now is unknown, so those that exist are kept: up to its minimum and its
 * warm workers, and all of them if it has bundles. Malformed bundles keep all workers within their
 * window. */
#include <string.h>

#include "core/decide/feature.h"
#include "core/model/autoscaler_problem.h"
#include "feature/schedules/core/calendar.h"

static const struct time_zone utc = { .name = "UTC" };

/* Parallel to the schedules of the RayClusterAutoscaler, in a slot of facts. */
struct states {
	struct plan_schedule *at;
	size_t count;
};

extern const struct decision_feature schedules_decisions;

static bool is_utc(const char *name)
{
	return name[0] == '\0' || strcmp(name, utc.name) == 0;
}

static const struct time_zone *find_zone(const struct snapshot *snapshot, const char *name)
{
	if (is_utc(name))
		return &utc;
	return ARRAY_FIND(snapshot->time_zones, snapshot->time_zone_count, name, name);
}

static const char *minimum_text(const struct group *group, struct arena *arena)
{
	const struct plan_schedule *schedule = group->schedule;

	return arena_printf(arena, "schedule %.64s (%lld replica%s%s)", schedule->name,
			    (long long)group->min_replicas, group->min_replicas == 1 ? "" : "s",
			    schedule->problem ? arena_printf(arena, ", as %s", schedule->problem) :
						plan_schedule_until(schedule, arena));
}

/* The decoder has reported an invalid start or duration. */
static const char *problem_of(struct facts *facts, size_t index,
			      const struct autoscaler_schedule *schedule,
			      const struct time_zone *zone)
{
	const char *why = zone ? zone->problem : "is not in timeZones of the snapshot";
	const char *problem;

	if (schedule->invalid)
		return "its start or duration is invalid";
	if (!why)
		return NULL;
	problem = autoscaler_problem_zone(schedule, why, facts->arena);
	VEC_PUSH(facts->arena, &facts->problems,
		 autoscaler_problem_no_zone(arena_printf(facts->arena,
							 "autoscaler.spec.schedules[%zu].timeZone",
							 index),
					    schedule, problem, facts->arena));
	return problem;
}

/* Replicas that exist or are requested. */
static int64_t present(const struct group *group)
{
	return (group->kept + group->missing) / group->hosts;
}

static void raise_minimum(struct group *group, int64_t replicas, const struct plan_schedule *state,
			  struct arena *arena)
{
	if (state->problem && replicas > present(group))
		replicas = present(group);
	if (replicas > group->spec->max_replicas)
		replicas = group->spec->max_replicas;
	if (group->frozen || replicas <= group->min_replicas)
		return;
	group->min_replicas = replicas;
	group->schedule = state;
	group->minimum_text = minimum_text(group, arena);
}

static const char *group_path(const struct facts *facts, size_t schedule, size_t group,
			      const char *member)
{
	return arena_printf(facts->arena, "autoscaler.spec.schedules[%zu].groups[%zu].%s", schedule,
			    group, member);
}

static void apply_groups(struct facts *facts, size_t index, const struct plan_schedule *state)
{
	const struct autoscaler_schedule *schedule = &facts->snapshot->autoscaler->schedules[index];
	bool unknown = false; /* the first one is reported */

	for (size_t i = 0; i < schedule->group_count; i++) {
		const struct autoscaler_schedule_group *own = &schedule->groups[i];
		struct group *group =
			ARRAY_FIND(facts->groups, facts->group_count, spec->name, own->name);

		if (!group) {
			if (!unknown)
				VEC_PUSH(facts->arena, &facts->problems,
					 autoscaler_problem_no_group(&facts->snapshot->cluster,
								     group_path(facts, index, i,
										"name"),
								     own->name, facts->arena));
			unknown = true;
			continue;
		}
		if (own->min_replicas > group->spec->max_replicas)
			VEC_PUSH(facts->arena, &facts->problems,
				 autoscaler_problem_above_max(
					 group_path(facts, index, i, "minReplicas"),
					 own->min_replicas, group->spec, facts->arena));
		if (state->active || state->problem)
			raise_minimum(group, own->min_replicas, state, facts->arena);
	}
}

/* Without a known list of bundles it is unknown which workers they need. */
static void judge_bundles(struct facts *facts, const struct autoscaler_schedule *schedule,
			  const struct plan_schedule *state)
{
	bool unknown = state->problem || (state->active && !schedule->bundles);

	if (!schedule->has_bundles || !unknown || facts->termination_forbidden)
		return;
	facts->termination_forbidden = true;
	facts->forbidden_why = arena_printf(
		facts->arena,
		"nothing is terminated while the bundles of schedule %.64s are unknown",
		state->name);
}

static void find(struct facts *facts)
{
	const struct autoscaler_object *object = facts->snapshot->autoscaler;
	struct states *own;

	if (!object || object->schedule_count == 0)
		return;
	own = ARENA_NEW(facts->arena, struct states);
	own->count = object->schedule_count;
	own->at = arena_array(facts->arena, own->count, sizeof(*own->at));
	feature_slot_set(&facts->slots, facts->arena, &schedules_decisions, own);
	for (size_t i = 0; i < own->count; i++) {
		const struct autoscaler_schedule *schedule = &object->schedules[i];
		const struct time_zone *zone = find_zone(facts->snapshot, schedule->time_zone);
		struct plan_schedule *state = &own->at[i];
		struct calendar_window window = { false, TIME_NONE };

		state->name = schedule->name;
		state->problem = problem_of(facts, i, schedule, zone);
		if (!state->problem)
			window = calendar_window(&schedule->cron, schedule->duration_ms, zone,
						 facts->snapshot->now);
		state->never_starts = schedule->never_starts;
		state->active = window.active;
		state->next_change = window.next_change;
		if (state->active && !facts->keeps_cluster)
			facts->keeps_cluster =
				arena_printf(facts->arena, "schedule %.64s is %s", state->name,
					     plan_schedule_state(state, facts->arena));
		judge_bundles(facts, schedule, state);
		if (state->active && schedule->bundles)
			VEC_PUSH(facts->arena, &facts->added_requests,
				 ((struct added_requests){
					 schedule->bundles, state,
					 arena_printf(facts->arena,
						      "autoscaler.spec.schedules[%zu].bundles",
						      i) }));
		if (schedule->warm_count > 0)
			VEC_PUSH(facts->arena, &facts->added_spares,
				 ((struct added_spares){ schedule->warm_workers,
							 schedule->warm_count, state }));
	}
}

static void apply(struct facts *facts)
{
	const struct states *own = feature_slot_get(facts->slots, &schedules_decisions);

	if (!own)
		return;
	for (size_t i = 0; i < own->count; i++)
		apply_groups(facts, i, &own->at[i]);
}

static void write_gated(const struct facts *facts, struct plan *plan)
{
	const struct states *own = feature_slot_get(facts->slots, &schedules_decisions);

	if (!own)
		return;
	plan->schedules = own->at;
	plan->schedule_count = own->count;
	ARRAY_EACH(const struct plan_schedule, state, own->at, own->count)
		if (state->next_change != TIME_NONE && state->next_change < plan->next_change)
			plan->next_change = state->next_change;
}

static void write(const struct choice *choice, struct plan *plan)
{
	write_gated(choice->facts, plan);
}

const struct decision_feature schedules_decisions = {
	.find = find, .apply = apply, .write = write, .write_gated = write_gated
};
