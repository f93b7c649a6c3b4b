#include "feature/record/core/pod_start_time.h"

#include <string.h>

#include "core/model/pod_starts.h"

int64_t pod_start_time_ms(const struct pod *pod)
{
	const struct container_status *ray = pod_ray_container_status(pod);
	const struct condition *ready =
		condition_find(pod->conditions, pod->condition_count, "Ready");

	if (pod->unreadable || !pod_is_worker(pod) || !ray || ray->restart_count > 0 || !ready ||
	    strcmp(ready->status, "True") != 0 || pod->created == TIME_NONE ||
	    ready->last_transition == TIME_NONE || ready->last_transition < pod->created ||
	    ready->last_transition - pod->created > POD_STARTS_MAX_MS)
		return -1;
	return ready->last_transition - pod->created;
}
