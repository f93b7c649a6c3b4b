#include "core/model/kubernetes.h"

#include <string.h>

#define POD_GRACE_MAX_SECONDS 31536000 /* a larger value is not used */

const struct pod pod_empty = {
	.namespace_ = "",
	.name = "",
	.uid = "",
	.resource_version = "",
	.created = TIME_NONE,
	.deletion_time = TIME_NONE,
	.spec = { .node_name = "",
		  .restart_policy = "",
		  .scheduler_name = "",
		  .pod_group = "",
		  .workload = "" },
	.phase = "",
	.pod_ip = "",
	.reason = "",
	.message = "",
};

const struct quantity *quantities_find(const struct quantities *quantities, const char *name)
{
	return VEC_FIND(quantities, name, name);
}

const struct ray_constraint *ray_cluster_requested(const struct ray_cluster *cluster)
{
	return cluster->request ? cluster->request->bundles : NULL;
}

const char *ray_cluster_suspended_at(const struct ray_cluster *cluster)
{
	return cluster->suspend ? labels_value(&cluster->annotations, ANNOTATION_SUSPENDED) : NULL;
}

const struct condition *condition_find(const struct condition *conditions, size_t count,
				       const char *type)
{
	return ARRAY_FIND(conditions, count, type, type);
}

const struct container_status *pod_ray_container_status(const struct pod *pod)
{
	if (pod->spec.container_count == 0)
		return NULL;
	return ARRAY_FIND(pod->container_statuses, pod->container_status_count, name,
			  pod->spec.containers[0].name);
}

time_ms pod_deletion_asked(const struct pod *pod)
{
	int64_t grace = pod->deletion_grace_seconds;

	if (!pod->deleting || pod->deletion_time == TIME_NONE || grace < 0 ||
	    grace > POD_GRACE_MAX_SECONDS)
		return pod->deletion_time;
	return pod->deletion_time - grace * MS_PER_SECOND;
}

bool container_has_run(const struct container_status *status)
{
	return status->state == CONTAINER_RUNNING || status->state == CONTAINER_TERMINATED ||
	       status->last || status->restart_count > 0;
}

static bool has_node_type(const struct pod *pod, const char *type)
{
	const char *value = labels_value(&pod->labels, LABEL_NODE_TYPE);

	return value && strcmp(value, type) == 0;
}

bool pod_is_head(const struct pod *pod)
{
	return has_node_type(pod, "head");
}

bool pod_is_worker(const struct pod *pod)
{
	return has_node_type(pod, "worker");
}

bool pod_is_protected(const struct pod *pod)
{
	const char *value = labels_value(&pod->annotations, ANNOTATION_DO_NOT_DISRUPT);

	return value && strcmp(value, "false") != 0;
}

bool autoscaler_has_warm_workers(const struct autoscaler_object *object)
{
	bool has = object && object->warm_count > 0;

	if (!object)
		return has;
	for (size_t i = 0; i < object->schedule_count; i++)
		has = has || object->schedules[i].warm_count > 0;
	return has;
}

bool autoscaler_group_is_empty(const struct autoscaler_group *group)
{
	const struct autoscaler_launch *launch = &group->launch;

	return !group->has_idle_timeout_seconds && !launch->has_start && !launch->has_node &&
	       !launch->has_hold && !launch->has_most_starting;
}

bool autoscaler_has_bundles(const struct autoscaler_object *object)
{
	if (!object)
		return false;
	for (size_t i = 0; i < object->schedule_count; i++)
		if (object->schedules[i].bundles)
			return true;
	return false;
}
