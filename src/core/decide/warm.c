#include "core/decide/warm.h"

#include <string.h>

#include "core/decide/spare.h"

static int64_t within(int64_t value, int64_t maximum)
{
	return value > 0 && value <= maximum ? value : 0;
}

/* Replicas of the group that should be free; of several entries of a group the largest counts. */
static int64_t wanted_replicas(const struct packing *packing, const struct group *group)
{
	const struct autoscaler_object *object = packing->snapshot->autoscaler;
	int64_t wanted = 0;

	for (size_t i = 0; object && i < object->warm_count; i++) {
		const struct autoscaler_warm *warm = &object->warm_workers[i];
		int64_t count = within(warm->count, AUTOSCALER_WARM_COUNT_MAX);
		int64_t percent = within(warm->percent_of_busy, AUTOSCALER_WARM_PERCENT_MAX);

		if (strcmp(warm->group, group->spec->name) != 0)
			continue;
		if (percent > 0) {
			int64_t busy = spare_pods_in_use(packing, group, false) / group->hosts;

			count = (busy * percent + 99) / 100;
		}
		wanted = count > wanted ? count : wanted;
	}
	return wanted;
}

void warm_keep(struct packing *packing)
{
	for (size_t g = 0; g < packing->facts->group_count; g++) {
		const struct group *group = &packing->facts->groups[g];
		struct group_packing *own = &packing->groups[group->index];
		int64_t wanted = wanted_replicas(packing, group), found;

		if (wanted == 0)
			continue;
		own->warm = wanted;
		found = spare_keep(packing, group, wanted * group->hosts, SPARE_FOR_WARM);
		/* Without Ray's reply it is unknown which workers are free. */
		if (packing->facts->ray_reachable)
			own->launches_for_warm =
				spare_launches(packing, group, wanted * group->hosts - found) /
				group->hosts;
	}
}
