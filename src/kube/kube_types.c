/* The kinds of objects that are watched: their API groups, decoders and indexes. */
#include "kube/kube_type.h"

#include "codec/objects/autoscaler_json.h"
#include "codec/objects/event_json.h"
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

KUBE_TYPE(ray_cluster, struct ray_cluster, ray_cluster_decode, .kind = "RayCluster",
	  .plural = "rayclusters", .group = "ray.io", .versions = { "v1", "v1alpha1", NULL },
	  .install = "install KubeRay, or our own definition from crd/",
	  .beside_bytes = RAY_CLUSTER_STATE_BYTES, .decode_bad = kube_decode_bad_ray_cluster)

KUBE_TYPE(pod, struct pod, pod_decode, .kind = "Pod", .plural = "pods", .group = "",
	  .versions = { "v1", NULL }, .install = "", .decode_bad = kube_decode_bad_pod,
	  .index = kube_index_pod, .leads = kube_is_head)

KUBE_TYPE(node, struct node, node_decode, .kind = "Node", .plural = "nodes", .group = "",
	  .versions = { "v1", NULL }, .install = "")

KUBE_TYPE(event, struct event, event_decode, .kind = "Event", .plural = "events", .group = "",
	  .versions = { "v1", NULL }, .install = "")

KUBE_TYPE(autoscaler, struct autoscaler_object, decode_named_autoscaler,
	  .kind = "RayClusterAutoscaler", .plural = "rayclusterautoscalers",
	  .group = "rayscaler.dev", .versions = { "v1alpha1", NULL },
	  .install = "install its definition, crd/rayclusterautoscalers.rayscaler.dev.yaml")

KUBE_TYPE(namespace, struct namespace, namespace_decode, .kind = "Namespace",
	  .plural = "namespaces", .group = "", .versions = { "v1", NULL }, .install = "")
