#include "core/model/autoscaler_problem.h"

#include <string.h>

#define GROUPS_NAMED_MAX 10
#define KUEUE_PREFIX "kueue.x-k8s.io/"
#define LABEL_ORIGIN "ray.io/originated-from-crd" /* KubeRay: the kind that made the RayCluster */

const struct worker_group *autoscaler_problem_group(const struct ray_cluster *cluster,
						    const char *name)
{
	return ARRAY_FIND(cluster->groups, cluster->group_count, name, name);
}

const char *autoscaler_problem_no_group(const struct ray_cluster *cluster, const char *path,
					const char *name, struct arena *arena)
{
	const char *names = "";

	for (size_t g = 0; g < cluster->group_count && g < GROUPS_NAMED_MAX; g++)
		names = arena_printf(arena, "%s%s%.64s", names, g > 0 ? ", " : "",
				     cluster->groups[g].name);
	return arena_printf(arena, "%s: no group %.64s; groups: %s%s", path, name,
			    cluster->group_count > 0 ? names : "none",
			    cluster->group_count > GROUPS_NAMED_MAX ? ", ..." : "");
}

const char *autoscaler_problem_above_max(const char *path, int64_t replicas,
					 const struct worker_group *group, struct arena *arena)
{
	return arena_printf(
		arena,
		"%s: %lld is above maxReplicas %lld of group %.64s; raise maxReplicas or "
		"lower it",
		path, (long long)replicas, (long long)group->max_replicas, group->name);
}

const char *autoscaler_problem_zone(const struct autoscaler_schedule *schedule, const char *why,
				    struct arena *arena)
{
	return arena_printf(arena, "time zone %.64s %s", schedule->time_zone, why);
}

const char *autoscaler_problem_no_zone(const char *path, const struct autoscaler_schedule *schedule,
				       const char *problem, struct arena *arena)
{
	return arena_printf(arena, "%s: %s; %s%.64s launches nothing, and its workers are kept",
			    path, problem, schedule->name[0] != '\0' ? "schedule " : "the schedule",
			    schedule->name);
}

static const char *find_prefix(const struct labels *labels, const char *prefix)
{
	for (size_t i = 0; i < labels->count; i++)
		if (strncmp(labels->at[i].key, prefix, strlen(prefix)) == 0)
			return labels->at[i].key;
	return NULL;
}

const char *autoscaler_problem_owner(const struct ray_cluster *cluster, struct arena *arena)
{
	const char *origin = labels_value(&cluster->labels, LABEL_ORIGIN);
	const char *kueue = find_prefix(&cluster->labels, KUEUE_PREFIX);

	if (!kueue)
		kueue = find_prefix(&cluster->annotations, KUEUE_PREFIX);
	if (cluster->owner_kind)
		return arena_printf(arena, "%.63s %.253s owns the RayCluster", cluster->owner_kind,
				    cluster->owner_name);
	if (origin && strcmp(origin, "RayCluster") != 0)
		return arena_printf(arena, "a %.63s made the RayCluster", origin);
	if (kueue)
		return arena_printf(arena, "Kueue controls spec.suspend (%.100s)", kueue);
	return NULL;
}
