#include "core/capacity/resize_limits.h"

#include <string.h>

const struct resize_group *resize_limits_find(const struct ray_cluster *cluster, const char *group)
{
	if (!cluster->resize)
		return NULL;
	for (size_t i = 0; i < cluster->resize->group_count; i++)
		if (strcmp(cluster->resize->groups[i].name, group) == 0)
			return &cluster->resize->groups[i];
	return NULL;
}

static const char *template_problem(const struct labels *params, const struct pod_spec *spec)
{
	const struct container *container = spec->containers;

	if (labels_value(params, "num-cpus") || labels_value(params, "memory"))
		return "rayStartParams must not have num-cpus or memory: they fix the size";
	if (spec->container_count == 0 || !quantities_find(&container->requests, "cpu") ||
	    !quantities_find(&container->requests, "memory"))
		return "resources.requests of the first container must have cpu and memory: they "
		       "are the least size";
	if (container->restarts_for)
		return "resizePolicy of the first container must be NotRequired for cpu and "
		       "memory: a restart would end its work";
	return NULL;
}

static const char *group_problem(const struct ray_cluster *cluster, const char *name)
{
	if (strcmp(name, HEAD_GROUP_NAME) == 0)
		return template_problem(&cluster->head_start_params, &cluster->head_template.spec);
	for (size_t i = 0; i < cluster->group_count; i++) {
		const struct worker_group *group = &cluster->groups[i];

		if (strcmp(group->name, name) != 0)
			continue;
		if (group->num_of_hosts > 1)
			return "numOfHosts must be 1: the hosts of a replica have one size";
		return template_problem(&group->ray_start_params, &group->template.spec);
	}
	return "the RayCluster has no group of this name";
}

const char *resize_limits_problem(const struct ray_cluster *cluster,
				  const struct resize_group *limits, struct arena *arena)
{
	const char *problem = group_problem(cluster, limits->name);

	return problem ?
		       arena_printf(arena,
				    "metadata.annotations[" ANNOTATION_RESIZE "].groups[%.64s]: %s",
				    limits->name, problem) :
		       NULL;
}
