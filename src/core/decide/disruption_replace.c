#include "core/decide/disruption_replace.h"

#include "base/int64.h"
#include "core/decide/mark.h"
#include "core/decide/spare.h"

/* The GCS finds a lost raylet after 30 s (health_check_*), then starts its actors elsewhere. */
#define KEEP_MS (60 * MS_PER_SECOND)

/* Ray takes some seconds to detect a lost worker and to restart its work. Until then the
 * replacement is kept even when it is idle. Returns the number of Pods to replace, including those
 * in use now. */
static int64_t remember(struct packing *packing, const struct group *group, int64_t in_use)
{
	const struct memory_mark *old =
		mark_find(packing->facts, MARK_DISRUPTED, group->spec->name);
	time_ms now = packing->snapshot->now;
	struct memory_mark mark = { MARK_DISRUPTED, group->spec->name, now, in_use, NULL };

	if (old && old->count > in_use && due_reached(packing->facts->due, old->since) &&
	    !due_passed(packing->facts->due, old->since, KEEP_MS))
		mark = *old;
	if (mark.count > 0)
		VEC_PUSH(packing->arena, &packing->memory.marks, mark);
	return mark.count;
}

static int64_t pods_ready(const struct packing *packing, const struct group *group)
{
	int64_t ready = 0;

	for (size_t i = 0; i < group->worker_count; i++) {
		const struct worker *worker = &packing->facts->workers[group->first_worker + i];

		ready += worker->registered && packing->workers[worker->index].replaces_disrupted;
	}
	return ready;
}

void disruption_replace(struct packing *packing)
{
	if (packing->termination_forbidden)
		return;
	ARRAY_EACH(const struct group, group, packing->facts->groups, packing->facts->group_count) {
		struct group_packing *own = &packing->groups[group->index];
		int64_t in_use = 0, drained = 0;
		if (group->disrupted > 0) {
			in_use = spare_pods_in_use(packing, group, SPARE_OF_DISRUPTED);
			drained = spare_pods_in_use(packing, group, SPARE_OF_DRAINED);
		}
		/* A replacement that is idle stays while Ray moves the work, however long that takes; one that has
		 * the work already is not replaced. */
		int64_t wanted = int64_max(remember(packing, group, in_use), in_use + drained);
		int64_t found = spare_keep(packing, group, wanted, SPARE_FOR_DISRUPTION);
		int64_t lack = in_use - found, ready = pods_ready(packing, group);
		own->replacements_ready = ready >= in_use;
		if (lack <= 0)
			continue;
		int64_t below_max = spare_room_below_max(packing, group);
		int64_t launch = spare_launches(packing, group, lack);
		own->launches_for_disruption = launch / group->hosts;
		own->replacements_ready = launch == 0 && ready >= found &&
					  !packing->problem.types[group->index + 1].launch_held;
		own->replacements_waiting = (lack - launch) / group->hosts;
		own->replacements_at_max = lack > below_max;
	}
}

bool disruption_may_begin(const struct packing *packing, const struct worker *worker)
{
	const struct group *group = &packing->facts->groups[worker->group];

	return !worker->planned || (packing->groups[worker->group].replacements_ready &&
				    group->missing == 0 && group->kept == group->registered);
}
