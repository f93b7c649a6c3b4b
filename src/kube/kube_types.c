/* The kinds of objects that are watched: their API groups, decoders and indexes. */
#include "kube/kube_informer.h"

#include "codec/objects/autoscaler_json.h"
#include "codec/objects/device_claim_object.h"
#include "codec/objects/event_json.h"
#include "codec/objects/gpu_pool_object.h"
#include "codec/objects/namespace_json.h"
#include "codec/objects/node_json.h"
#include "codec/objects/pod_json.h"
#include "codec/objects/ray_cluster_json.h"
#include "core/model/kubernetes.h"

static int kube_decode_ray_cluster(const struct cJSON *json, const char *path, struct arena *arena,
				   void *ret_object, struct err *err)
{
	return ray_cluster_decode(json, path, arena, ret_object, err);
}

static int kube_decode_bad_ray_cluster(const struct cJSON *json, const char *problem,
				       struct arena *arena, void *ret_object)
{
	return ray_cluster_decode_unreadable(json, problem, arena, ret_object, NULL);
}

static int kube_decode_pod(const struct cJSON *json, const char *path, struct arena *arena,
			   void *ret_object, struct err *err)
{
	return pod_decode(json, path, arena, ret_object, err);
}

static int kube_decode_bad_pod(const struct cJSON *json, const char *problem, struct arena *arena,
			       void *ret_object)
{
	return pod_decode_unreadable(json, problem, arena, ret_object, NULL);
}

static int kube_decode_node(const struct cJSON *json, const char *path, struct arena *arena,
			    void *ret_object, struct err *err)
{
	return node_decode(json, path, arena, ret_object, err);
}

static int kube_decode_event(const struct cJSON *json, const char *path, struct arena *arena,
			     void *ret_object, struct err *err)
{
	return event_decode(json, path, arena, ret_object, err);
}

static int kube_decode_autoscaler(const struct cJSON *json, const char *path, struct arena *arena,
				  void *ret_object, struct err *err)
{
	/* Its problems are listed with those of the RayCluster, so the path names the object. */
	return autoscaler_decode(json, *path ? path : "autoscaler", arena, ret_object, err);
}

static int kube_decode_namespace(const struct cJSON *json, const char *path, struct arena *arena,
				 void *ret_object, struct err *err)
{
	return namespace_decode(json, path, arena, ret_object, err);
}

static int kube_decode_gpu_pool(const struct cJSON *json, const char *path, struct arena *arena,
				void *ret_object, struct err *err)
{
	return gpu_pool_decode(json, path, arena, ret_object, err);
}

static int kube_decode_bad_gpu_pool(const struct cJSON *json, const char *problem,
				    struct arena *arena, void *ret_object)
{
	return gpu_pool_decode_unreadable(json, problem, arena, ret_object);
}

static int kube_decode_resource_slice(const struct cJSON *json, const char *path,
				      struct arena *arena, void *ret_object, struct err *err)
{
	return resource_slice_decode(json, path, arena, ret_object, err);
}

static int kube_decode_device_class(const struct cJSON *json, const char *path, struct arena *arena,
				    void *ret_object, struct err *err)
{
	return device_class_decode(json, path, arena, ret_object, err);
}

static int kube_decode_claim_template(const struct cJSON *json, const char *path,
				      struct arena *arena, void *ret_object, struct err *err)
{
	return claim_template_decode(json, path, arena, ret_object, err);
}

static int kube_decode_resource_claim(const struct cJSON *json, const char *path,
				      struct arena *arena, void *ret_object, struct err *err)
{
	return resource_claim_decode(json, path, arena, ret_object, err);
}

static void kube_index_pod(const void *object, struct buf *ret_key)
{
	const struct pod *pod = object;
	const char *cluster = labels_value(&pod->labels, LABEL_CLUSTER);

	if (cluster && *cluster)
		(void)buf_printf(ret_key, "%s/%s", pod->namespace_, cluster);
}

const struct kube_type kube_type_ray_cluster = {
	.kind = "RayCluster",
	.plural = "rayclusters",
	.group = "ray.io",
	.versions = { "v1", "v1alpha1", NULL },
	.install = "install KubeRay, or our own definition from crd/",
	.object_size = sizeof(struct ray_cluster),
	.decode = kube_decode_ray_cluster,
	.decode_bad = kube_decode_bad_ray_cluster,
};

const struct kube_type kube_type_pod = {
	.kind = "Pod",
	.plural = "pods",
	.group = "",
	.versions = { "v1", NULL },
	.install = "",
	.object_size = sizeof(struct pod),
	.decode = kube_decode_pod,
	.decode_bad = kube_decode_bad_pod,
	.index = kube_index_pod,
};

const struct kube_type kube_type_node = {
	.kind = "Node",
	.plural = "nodes",
	.group = "",
	.versions = { "v1", NULL },
	.install = "",
	.object_size = sizeof(struct node),
	.decode = kube_decode_node,
};

const struct kube_type kube_type_event = {
	.kind = "Event",
	.plural = "events",
	.group = "",
	.versions = { "v1", NULL },
	.install = "",
	.object_size = sizeof(struct event),
	.decode = kube_decode_event,
};

const struct kube_type kube_type_autoscaler = {
	.kind = "RayClusterAutoscaler",
	.plural = "rayclusterautoscalers",
	.group = "rayscaler.dev",
	.versions = { "v1alpha1", NULL },
	.install = "install its definition, crd/rayclusterautoscalers.rayscaler.dev.yaml",
	.object_size = sizeof(struct autoscaler_object),
	.decode = kube_decode_autoscaler,
};

const struct kube_type kube_type_namespace = {
	.kind = "Namespace",
	.plural = "namespaces",
	.group = "",
	.versions = { "v1", NULL },
	.install = "",
	.object_size = sizeof(struct namespace),
	.decode = kube_decode_namespace,
};

const struct kube_type kube_type_gpu_pool = {
	.kind = "GPUPool",
	.plural = "gpupools",
	.group = "rayscaler.dev",
	.versions = { "v1alpha1", NULL },
	.install = "install its definition, crd/gpupools.rayscaler.dev.yaml",
	.object_size = sizeof(struct gpu_pool),
	.decode = kube_decode_gpu_pool,
	.decode_bad = kube_decode_bad_gpu_pool,
};

#define CLAIMS_INSTALL "Kubernetes 1.34 and later serve resource.k8s.io/v1, unless it is turned off"

const struct kube_type kube_type_resource_slice = {
	.kind = "ResourceSlice",
	.plural = "resourceslices",
	.group = "resource.k8s.io",
	.versions = { "v1", NULL },
	.install = CLAIMS_INSTALL,
	.object_size = sizeof(struct resource_slice),
	.decode = kube_decode_resource_slice,
};

const struct kube_type kube_type_device_class = {
	.kind = "DeviceClass",
	.plural = "deviceclasses",
	.group = "resource.k8s.io",
	.versions = { "v1", NULL },
	.install = CLAIMS_INSTALL,
	.object_size = sizeof(struct device_class),
	.decode = kube_decode_device_class,
};

const struct kube_type kube_type_claim_template = {
	.kind = "ResourceClaimTemplate",
	.plural = "resourceclaimtemplates",
	.group = "resource.k8s.io",
	.versions = { "v1", NULL },
	.install = CLAIMS_INSTALL,
	.object_size = sizeof(struct claim_template),
	.decode = kube_decode_claim_template,
};

const struct kube_type kube_type_resource_claim = {
	.kind = "ResourceClaim",
	.plural = "resourceclaims",
	.group = "resource.k8s.io",
	.versions = { "v1", NULL },
	.install = CLAIMS_INSTALL,
	.object_size = sizeof(struct resource_claim),
	.decode = kube_decode_resource_claim,
};
