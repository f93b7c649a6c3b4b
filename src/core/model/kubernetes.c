#include "core/model/kubernetes.h"

#include <string.h>

const struct condition *condition_find(const struct condition *conditions, size_t count,
				       const char *type)
{
	for (size_t i = 0; i < count; i++)
		if (strcmp(conditions[i].type, type) == 0)
			return &conditions[i];
	return NULL;
}

const struct container_status *pod_ray_container_status(const struct pod *pod)
{
	if (pod->spec.container_count == 0)
		return NULL;
	for (size_t i = 0; i < pod->container_status_count; i++)
		if (strcmp(pod->container_statuses[i].name, pod->spec.containers[0].name) == 0)
			return &pod->container_statuses[i];
	return NULL;
}

static bool has_node_type(const struct pod *pod, const char *type)
{
	const char *value = labels_value(&pod->labels, LABEL_NODE_TYPE);

	return value != NULL && strcmp(value, type) == 0;
}

bool pod_is_head(const struct pod *pod)
{
	return has_node_type(pod, "head");
}

bool pod_is_worker(const struct pod *pod)
{
	return has_node_type(pod, "worker");
}
