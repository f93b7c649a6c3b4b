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

static int kube_decode_bad_ray_cluster(const struct cJSON *json, const char *problem,
				       struct arena *arena, void *ret_object)
{
	return ray_cluster_decode_unreadable(json, problem, arena, ret_object, NULL);
}

static int kube_decode_bad_pod(const struct cJSON *json, const char *problem, struct arena *arena,
			       void *ret_object)
{
	return pod_decode_unreadable(json, problem, arena, ret_object, NULL);
}

static int kube_decode_bad_gpu_pool(const struct cJSON *json, const char *problem,
				    struct arena *arena, void *ret_object)
{
	return gpu_pool_decode_unreadable(json, problem, arena, ret_object);
}

static int kube_decode_bad_template(const struct cJSON *json, const char *problem,
				    struct arena *arena, void *ret_object)
{
	return claim_template_decode_unreadable(json, problem, arena, ret_object);
}

static int kube_decode_bad_claim(const struct cJSON *json, const char *problem, struct arena *arena,
				 void *ret_object)
{
	return resource_claim_decode_unreadable(json, problem, arena, ret_object);
}

static int decode_named_autoscaler(const struct cJSON *json, const char *path, struct arena *arena,
				   struct autoscaler_object *ret_object, struct err *err)
{
	/* Its problems are listed with those of the RayCluster, so the path names the object. */
	return autoscaler_decode(json, *path ? path : "autoscaler", arena, ret_object, err);
}

static void kube_index_pod(const void *object, struct buf *ret_key)
{
	const struct pod *pod = object;
	const char *cluster = labels_value(&pod->labels, LABEL_CLUSTER);

	if (cluster && *cluster)
		(void)buf_printf(ret_key, "%s/%s", pod->namespace_, cluster);
}

static bool kube_is_head(const void *object)
{
	return pod_is_head(object);
}

/* Kept by ctl and net for each RayCluster: state, metrics, and the connection to its head (22 KiB resident, half of
 * it not in the heap's count). */
#define RAY_CLUSTER_STATE_BYTES ((size_t)12 << 10)

/* A kind: its name in kube_type_NAME, its struct, the function that decodes one, and the other members. */
#define KIND(name, type, decode_one, ...)                                                          \
	static int kube_decode_##name(const struct cJSON *json, const char *path,                  \
				      struct arena *arena, void *ret_object, struct err *err)      \
	{                                                                                          \
		return decode_one(json, path, arena, ret_object, err);                             \
	}                                                                                          \
	const struct kube_type kube_type_##name = { .object_size = sizeof(type),                   \
						    .decode = kube_decode_##name,                  \
						    __VA_ARGS__ };

KIND(ray_cluster, struct ray_cluster, ray_cluster_decode, .kind = "RayCluster",
     .plural = "rayclusters", .group = "ray.io", .versions = { "v1", "v1alpha1", NULL },
     .install = "install KubeRay, or our own definition from crd/",
     .beside_bytes = RAY_CLUSTER_STATE_BYTES, .decode_bad = kube_decode_bad_ray_cluster)

KIND(pod, struct pod, pod_decode, .kind = "Pod", .plural = "pods", .group = "",
     .versions = { "v1", NULL }, .install = "", .decode_bad = kube_decode_bad_pod,
     .index = kube_index_pod, .leads = kube_is_head)

KIND(node, struct node, node_decode, .kind = "Node", .plural = "nodes", .group = "",
     .versions = { "v1", NULL }, .install = "")

KIND(event, struct event, event_decode, .kind = "Event", .plural = "events", .group = "",
     .versions = { "v1", NULL }, .install = "")

KIND(autoscaler, struct autoscaler_object, decode_named_autoscaler, .kind = "RayClusterAutoscaler",
     .plural = "rayclusterautoscalers", .group = "rayscaler.dev", .versions = { "v1alpha1", NULL },
     .install = "install its definition, crd/rayclusterautoscalers.rayscaler.dev.yaml")

KIND(namespace, struct namespace, namespace_decode, .kind = "Namespace", .plural = "namespaces",
     .group = "", .versions = { "v1", NULL }, .install = "")

KIND(gpu_pool, struct gpu_pool, gpu_pool_decode, .kind = "GPUPool", .plural = "gpupools",
     .group = "rayscaler.dev", .versions = { "v1alpha1", NULL },
     .install = "install its definition, crd/gpupools.rayscaler.dev.yaml",
     .decode_bad = kube_decode_bad_gpu_pool)

#define CLAIMS_INSTALL "Kubernetes 1.34 and later serve resource.k8s.io/v1, unless it is turned off"

KIND(resource_slice, struct resource_slice, resource_slice_decode, .kind = "ResourceSlice",
     .plural = "resourceslices", .group = "resource.k8s.io", .versions = { "v1", NULL },
     .install = CLAIMS_INSTALL)

KIND(device_class, struct device_class, device_class_decode, .kind = "DeviceClass",
     .plural = "deviceclasses", .group = "resource.k8s.io", .versions = { "v1", NULL },
     .install = CLAIMS_INSTALL)

KIND(claim_template, struct claim_template, claim_template_decode, .kind = "ResourceClaimTemplate",
     .plural = "resourceclaimtemplates", .group = "resource.k8s.io", .versions = { "v1", NULL },
     .install = CLAIMS_INSTALL, .decode_bad = kube_decode_bad_template)

KIND(resource_claim, struct resource_claim, resource_claim_decode, .kind = "ResourceClaim",
     .plural = "resourceclaims", .group = "resource.k8s.io", .versions = { "v1", NULL },
     .install = CLAIMS_INSTALL, .decode_bad = kube_decode_bad_claim)
