/* Warm workers, spec.warmWorkers of the RayClusterAutoscaler and those of its schedules within their
 * windows: free workers of a group that stay ready beyond demand; of several entries the largest. A free worker counts whatever else keeps it: minReplicas, request_resources,
 * an idle timeout that has not passed. Those that demand takes are replaced, within maxReplicas and
 * the GPU limits, after all demand has its place. */
#include <string.h>

#include "core/decide/feature.h"
#include "core/decide/spare.h"

/* Reports the first unknown group. */
static void find_groups(struct facts *facts, const char *list, const struct autoscaler_warm *warm,
			size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (facts_note_unknown_group(facts, list, warm[i].group))
			return;
}

static void find(struct facts *facts)
{
	const struct autoscaler_object *object = facts->snapshot->autoscaler;

	if (!object)
		return;
	find_groups(facts, "warmWorkers", object->warm_workers, object->warm_count);
	for (size_t s = 0; s < object->schedule_count; s++)
		find_groups(facts, arena_printf(facts->arena, "schedules[%zu].warmWorkers", s),
			    object->schedules[s].warm_workers, object->schedules[s].warm_count);
}

static int64_t within(int64_t value, int64_t maximum)
{
	return value > 0 && value <= maximum ? value : 0;
}

/* Replicas by one entry; 0 for an entry of another group. */
static int64_t replicas_of(const struct packing *packing, const struct group *group,
			   const struct autoscaler_warm *warm)
{
	int64_t percent = within(warm->percent_of_busy, AUTOSCALER_WARM_PERCENT_MAX);

	if (strcmp(warm->group, group->spec->name) != 0)
		return 0;
	if (percent > 0) {
		int64_t busy = spare_pods_in_use(packing, group, SPARE_OF_ALL) / group->hosts;

		return (busy * percent + 99) / 100;
	}
	return within(warm->count, AUTOSCALER_WARM_COUNT_MAX);
}

static int64_t largest_of(const struct packing *packing, const struct group *group,
			  const struct autoscaler_warm *list, size_t count)
{
	int64_t largest = 0;

	for (size_t i = 0; i < count; i++) {
		int64_t replicas = replicas_of(packing, group, &list[i]);

		largest = replicas > largest ? replicas : largest;
	}
	return largest;
}

/* Replicas of the group that should be free: the largest entry of spec and of the schedules that
 * are active. *ret_kept: with those of which it is unknown whether they are. */
static int64_t wanted_replicas(const struct packing *packing, const struct group *group,
			       int64_t *ret_kept, const struct plan_schedule **ret_schedule)
{
	const struct autoscaler_object *object = packing->snapshot->autoscaler;
	int64_t wanted;

	*ret_kept = 0;
	if (!object)
		return 0;
	*ret_kept = wanted = largest_of(packing, group, object->warm_workers, object->warm_count);
	VEC_EACH(const struct added_spares, added, &packing->facts->added_spares) {
		const struct plan_schedule *state = added->schedule;
		int64_t own = largest_of(packing, group, added->at, added->count);

		if ((state->active || state->problem) && own > *ret_kept)
			*ret_kept = own;
		if (!state->active || own <= wanted)
			continue;
		wanted = own;
		*ret_schedule = state;
	}
	return wanted;
}

static void keep(struct packing *packing)
{
	ARRAY_EACH(const struct group, group, packing->facts->groups, packing->facts->group_count) {
		struct group_packing *own = &packing->groups[group->index];
		int64_t kept, found;

		own->warm = wanted_replicas(packing, group, &kept, &own->warm_schedule);
		if (kept == 0)
			continue;
		found = spare_keep(packing, group, kept * group->hosts, SPARE_FOR_WARM);
		/* Without Ray's reply it is unknown which workers are free. */
		if (packing->facts->ray_reachable)
			own->launches_for_warm =
				spare_launches(packing, group, own->warm * group->hosts - found) /
				group->hosts;
	}
}

const struct decision_feature warm_workers_decisions = { .find = find, .keep = keep };
