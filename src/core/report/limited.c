#include "core/report/limited.h"

#include "base/text.h"
#include "core/decide/limits.h"
#include "core/decide/worker.h"
#include "core/model/pod_status.h"
#include "core/model/reason.h"

struct finder {
	const struct choice *choice;
	struct limits found;
};

static void add(struct finder *finder, enum limit_kind kind, enum reason reason,
		const char *message)
{
	VEC_PUSH(finder->choice->arena, &finder->found.at,
		 ((struct limit){ kind, reason, message }));
}

static void add_back_off(struct finder *finder, const struct group *group)
{
	const struct group_health *own = &finder->choice->health->groups[group->index];

	if (own->backed_off)
		add(finder, LIMIT_BACK_OFF, REASON_BACKED_OFF,
		    arena_printf(finder->choice->arena, "group %s provides no capacity (%s): %s",
				 group->spec->name, reason_word(own->backoff->cause),
				 own->backoff->message));
}

static void add_demand(struct finder *finder, const struct plan_demand *demand)
{
	if (reason_has(demand->reason, TRAIT_MAXIMUM))
		add(finder, LIMIT_RANGE, REASON_TOO_MANY_REPLICAS, demand->message);
	else
		add(finder, reason_has(demand->reason, TRAIT_POOL) ? LIMIT_RANGE : LIMIT_OTHER,
		    demand->reason, demand->message);
}

/* Whether the launches of a schedule are held back by something else than its minimum. */
static bool holds_schedule(const struct choice *choice, const struct group *group)
{
	const struct group_choice *own = &choice->groups[group->index];

	return group->schedule && !own->health->backed_off &&
	       own->target_replicas < group->min_replicas &&
	       own->launch_replicas <= own->allowed_replicas;
}

static void add_schedule(struct finder *finder, const struct group *group)
{
	const struct choice *choice = finder->choice;

	if (!holds_schedule(choice, group))
		return;
	if (choice->offer->gpu_ceiling[0] != '\0')
		add(finder, LIMIT_RANGE, REASON_TOO_MANY_REPLICAS,
		    arena_printf(choice->arena, "%s: %s allows %lld of group %s",
				 group->minimum_text, choice->offer->gpu_ceiling,
				 (long long)choice->groups[group->index].target_replicas,
				 group->spec->name));
	else if (choice->packing->problem.types[group->index + 1].has_pool)
		add(finder, LIMIT_RANGE, group->grant->reason, group->grant->message);
}

static void add_bounds(struct finder *finder, const struct group *group)
{
	const struct choice *choice = finder->choice;
	const struct group_choice *own = &choice->groups[group->index];

	add_schedule(finder, group);
	if (group->missing > 0 && !own->health->backed_off)
		add(finder, LIMIT_OTHER, REASON_NO_PODS,
		    arena_printf(
			    choice->arena, "%s of group %s: no Pod yet",
			    worker_count_text(choice->arena,
					      (group->missing + group->hosts - 1) / group->hosts,
					      "replica"),
			    group->spec->name));
	if (own->at_maximum)
		add(finder, LIMIT_RANGE, REASON_TOO_MANY_REPLICAS,
		    arena_printf(choice->arena, "group %s is held at maxReplicas %lld",
				 group->spec->name, (long long)group->spec->max_replicas));
	if (own->at_minimum)
		add(finder, LIMIT_RANGE, REASON_TOO_FEW_REPLICAS,
		    arena_printf(choice->arena, "group %s is held at %s", group->spec->name,
				 group->minimum_text));
	if (own->launch_replicas > own->allowed_replicas)
		add(finder, LIMIT_OTHER, REASON_LAUNCH_LIMIT,
		    arena_printf(choice->arena, "group %s launches %lld of %lld replicas now",
				 group->spec->name, (long long)own->allowed_replicas,
				 (long long)own->launch_replicas));
}

/* Its container fails and is started again. */
static bool add_failing(struct finder *finder, const struct worker *worker)
{
	struct pod_status status;

	if (!worker->pod || worker->registered || worker->raylet_gone || worker->deleting)
		return false;
	status = pod_status_read(worker->pod, finder->choice->arena);
	if (!status.failed)
		return false;
	add(finder, LIMIT_OTHER, REASON_CONTAINER_FAILS, status.text);
	return true;
}

/* A worker that has no Node yet, or whose container fails. */
static void add_waiting(struct finder *finder, const struct group *group)
{
	for (size_t i = group->first_worker; i < group->first_worker + group->worker_count; i++) {
		const struct worker_health *own = &finder->choice->health->workers[i];

		if (own->waiting_reason && own->waiting_reason != REASON_SCHEDULING) {
			add(finder, LIMIT_OTHER, own->waiting_reason, own->obstacle_message);
			return;
		}
		if (add_failing(finder, &finder->choice->facts->workers[i]))
			return;
	}
}

struct limits limits_found(const struct choice *choice, const struct plan *plan)
{
	struct finder finder = { .choice = choice };
	const char *excess = limits_gpu_excess_text(choice->offer);

	ARRAY_EACH(const struct group, group, choice->facts->groups, choice->facts->group_count)
		add_back_off(&finder, group);
	VEC_EACH(const struct plan_demand, demand, &plan->unserved)
		add_demand(&finder, demand);
	if (excess)
		add(&finder, LIMIT_RANGE, REASON_TOO_MANY_REPLICAS, excess);
	ARRAY_EACH(const struct group, group, choice->facts->groups, choice->facts->group_count)
		add_bounds(&finder, group);
	ARRAY_EACH(const struct group, group, choice->facts->groups, choice->facts->group_count)
		add_waiting(&finder, group);
	VEC_EACH(const struct plan_demand, demand, &plan->infeasible)
		add(&finder, LIMIT_OTHER, demand->reason, demand->message);
	return finder.found;
}

const struct limit *limits_first(const struct limits *limits, enum limit_kind kind)
{
	VEC_EACH(const struct limit, limit, &limits->at)
		if (limit->kind == kind)
			return limit;
	return NULL;
}
