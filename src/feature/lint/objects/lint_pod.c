/* A Pod of a RayCluster as KubeRay 1.7 makes it (ray-operator/controllers/ray/common/pod.go), as far as admission
 * reads it: labels, the containers and volumes that KubeRay adds, and their resources. For a request of which
 * nothing is kept (dry-run). */
#include <cjson/cJSON.h>
#include <stdio.h>
#include <string.h>

#include "base/check.h"
#include "core/model/autoscaler_container.h"
#include "feature/lint/objects/lint_check.h"

#define NAME_SIZE 64

/* The JSON of what KubeRay adds. */
#define SMALL                                                                                      \
	"{\"limits\":{\"cpu\":\"200m\",\"memory\":\"256Mi\"},\"requests\":{\"cpu\":\"200m\",\"memory\":\"256Mi\"}}"
#define AUTOSCALER                                                                                 \
	"{\"name\":\"" AUTOSCALER_CONTAINER "\",\"command\":[\"/bin/bash\",\"-c\",\"--\"],"        \
	"\"resources\":{\"limits\":{\"cpu\":\"500m\",\"memory\":\"512Mi\"},"                       \
	"\"requests\":{\"cpu\":\"500m\",\"memory\":\"512Mi\"}}}"
#define WAIT                                                                                          \
	"{\"name\":\"wait-gcs-ready\",\"command\":[\"/bin/bash\",\"-c\",\"--\"],\"resources\":" SMALL \
	"}"
#define SHARED_MEMORY "{\"name\":\"shared-mem\",\"emptyDir\":{\"medium\":\"Memory\"}}"
#define SHARED_MEMORY_MOUNT "{\"name\":\"shared-mem\",\"mountPath\":\"/dev/shm\"}"

static struct cJSON *get(const struct cJSON *object, const char *name)
{
	return cJSON_GetObjectItemCaseSensitive(object, name);
}

static const char *text_of(const struct cJSON *object, const char *name)
{
	const char *text = cJSON_GetStringValue(get(object, name));

	return text ? text : "";
}

/* Appends to a list that may be missing. */
static void append(struct cJSON *object, const char *name, struct cJSON *element)
{
	struct cJSON *list = get(object, name);

	CHECK(element);
	if (!cJSON_IsArray(list)) {
		cJSON_DeleteItemFromObjectCaseSensitive(object, name);
		list = cJSON_AddArrayToObject(object, name);
	}
	CHECK(list && cJSON_AddItemToArray(list, element));
}

static void copy_member(struct cJSON *to, const struct cJSON *from, const char *name)
{
	const struct cJSON *value = get(from, name);

	if (!value || cJSON_IsNull(value))
		return;
	cJSON_DeleteItemFromObjectCaseSensitive(to, name);
	CHECK(cJSON_AddItemToObject(to, name, cJSON_Duplicate(value, true)));
}

static void add_text(struct cJSON *object, const char *name, const char *text)
{
	cJSON_DeleteItemFromObjectCaseSensitive(object, name);
	CHECK(cJSON_AddStringToObject(object, name, text));
}

/* A missing object is made. */
static struct cJSON *need_object(struct cJSON *object, const char *name)
{
	struct cJSON *found = get(object, name);

	if (cJSON_IsObject(found))
		return found;
	cJSON_DeleteItemFromObjectCaseSensitive(object, name);
	found = cJSON_AddObjectToObject(object, name);
	CHECK(found);
	return found;
}

static void add_metadata(struct cJSON *pod, const struct cJSON *cluster, const struct cJSON *group)
{
	const char *name = text_of(get(cluster, "metadata"), "name");
	const char *group_name = group ? text_of(group, "groupName") : "headgroup";
	struct cJSON *metadata = need_object(pod, "metadata"), *labels;
	char start[NAME_SIZE];

	snprintf(start, sizeof(start), "%.40s-%s-", *name != '\0' ? name : "raycluster",
		 group ? "worker" : "head");
	cJSON_DeleteItemFromObjectCaseSensitive(metadata, "name");
	cJSON_DeleteItemFromObjectCaseSensitive(metadata, "namespace");
	add_text(metadata, "generateName", start);
	labels = need_object(metadata, "labels");
	add_text(labels, "ray.io/cluster", name);
	add_text(labels, "ray.io/group", group_name);
	add_text(labels, "ray.io/is-ray-node", "yes");
	add_text(labels, "ray.io/node-type", group ? "worker" : "head");
	add_text(labels, "app.kubernetes.io/created-by", "kuberay-operator");
}

/* The container that waits for the head. */
static void add_wait(struct cJSON *spec, const struct cJSON *ray)
{
	static const char *const copied[] = { "image", "imagePullPolicy", "securityContext",
					      "volumeMounts" };
	struct cJSON *wait = cJSON_Parse(WAIT);

	CHECK(wait);
	for (size_t i = 0; i < sizeof(copied) / sizeof(copied[0]); i++)
		copy_member(wait, ray, copied[i]);
	append(spec, "initContainers", wait);
}

static void add_autoscaler(struct cJSON *spec, const struct cJSON *ray, const struct cJSON *options)
{
	static const char *const copied[] = {
		"image",       "imagePullPolicy", "securityContext", "resources",
		"env",         "envFrom",         "command",         "args",
		"volumeMounts"
	};
	struct cJSON *autoscaler = cJSON_Parse(AUTOSCALER);

	CHECK(autoscaler);
	copy_member(autoscaler, ray, "image");
	for (size_t i = 0; i < sizeof(copied) / sizeof(copied[0]); i++)
		copy_member(autoscaler, options, copied[i]);
	append(spec, "containers", autoscaler);
}

/* Whether an element of the list has this member. */
static bool has(const struct cJSON *object, const char *list, const char *name, const char *text)
{
	const struct cJSON *one;

	cJSON_ArrayForEach(one, get(object, list))
	{
		if (strcmp(text_of(one, name), text) == 0)
			return true;
	}
	return false;
}

static void add_containers(struct cJSON *pod, const struct cJSON *cluster, bool worker)
{
	const struct cJSON *all = get(cluster, "spec"), *options = get(all, "autoscalerOptions");
	struct cJSON *spec = get(pod, "spec"),
		     *ray = cJSON_GetArrayItem(get(spec, "containers"), 0);
	bool scaled = cJSON_IsTrue(get(all, "enableInTreeAutoscaling"));

	if (worker)
		add_wait(spec, ray);
	else if (scaled)
		add_autoscaler(spec, ray, options);
	if (!has(ray, "volumeMounts", "mountPath", "/dev/shm")) {
		if (!has(spec, "volumes", "name", "shared-mem"))
			append(spec, "volumes", cJSON_Parse(SHARED_MEMORY));
		append(ray, "volumeMounts", cJSON_Parse(SHARED_MEMORY_MOUNT));
	}
	if (scaled && strcmp(text_of(options, "version"), "v2") == 0)
		add_text(spec, "restartPolicy", "Never");
}

struct cJSON *lint_pod_make(const struct cJSON *cluster, const struct cJSON *group)
{
	const struct cJSON *of = group ? group : get(get(cluster, "spec"), "headGroupSpec");
	const struct cJSON *template = get(of, "template");
	struct cJSON *pod;

	if (!cJSON_IsObject(cJSON_GetArrayItem(get(get(template, "spec"), "containers"), 0)))
		return NULL;
	pod = cJSON_Duplicate(template, true);
	CHECK(pod);
	add_text(pod, "apiVersion", "v1");
	add_text(pod, "kind", "Pod");
	add_metadata(pod, cluster, group);
	add_containers(pod, cluster, group != NULL);
	return pod;
}
