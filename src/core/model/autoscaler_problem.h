/* Requests of a RayClusterAutoscaler that cannot be met, in the same words for the condition
 * InvalidRequest (core/decide) and for lint. Texts are in the arena and begin with `path`, the field's
 * own or that of its list. */
#ifndef CORE_MODEL_AUTOSCALER_PROBLEM_H
#define CORE_MODEL_AUTOSCALER_PROBLEM_H

#include "base/arena.h"
#include "core/model/kubernetes.h"

#define AUTOSCALER_WARM_WITHOUT_AMOUNT "set one of count and percentOfBusy"
#define AUTOSCALER_WITHOUT_REQUEST                                                                 \
	"a schedule without a request; set groups, bundles or warmWorkers"

/* NULL: the RayCluster has no such group. */
const struct worker_group *autoscaler_problem_group(const struct ray_cluster *cluster,
						    const char *name);
const char *autoscaler_problem_no_group(const struct ray_cluster *cluster, const char *path,
					const char *name, struct arena *arena);
/* `replicas` is above the maximum of the group. */
const char *autoscaler_problem_above_max(const char *path, int64_t replicas,
					 const struct worker_group *group, struct arena *arena);
/* "time zone Mars/Phobos is not in ...": `why` is the problem of struct time_zone. */
const char *autoscaler_problem_zone(const struct autoscaler_schedule *schedule, const char *why,
				    struct arena *arena);
/* The same with its effect. */
const char *autoscaler_problem_no_zone(const char *path, const struct autoscaler_schedule *schedule,
				       const char *problem, struct arena *arena);
/* Why idle termination leaves a RayCluster alone, without a path: something else decides when it runs.
 * NULL: nothing does. */
const char *autoscaler_problem_owner(const struct ray_cluster *cluster, struct arena *arena);

#endif
