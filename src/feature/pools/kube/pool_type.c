#include "feature/pools/kube/pool_type.h"

#include <string.h>

#include "feature/pools/codec/gpu_pool_json.h"
#include "feature/pools/codec/kueue_owner_json.h"
#include "kube/kube_type.h"

static int kube_decode_bad_gpu_pool(const struct cJSON *json, const char *problem,
				    struct arena *arena, void *ret_object)
{
	return gpu_pool_decode_unreadable(json, problem, arena, ret_object);
}

KUBE_TYPE(gpu_pool, struct gpu_pool, gpu_pool_decode, .kind = "GPUPool", .plural = "gpupools",
	  .group = "rayscaler.dev", .versions = { "v1alpha1", NULL },
	  .install = "install its definition, crd/gpupools.rayscaler.dev.yaml",
	  .decode_bad = kube_decode_bad_gpu_pool)

static void index_owner(const void *object, struct buf *ret_key)
{
	const struct kueue_owner *owner = object;

	(void)buf_add(ret_key, owner->uid, strlen(owner->uid));
}

KUBE_TYPE(kueue_owner, struct kueue_owner, kueue_owner_decode, .kind = "Workload",
	  .plural = "workloads", .group = "kueue.x-k8s.io",
	  .versions = { "v1beta2", "v1beta1", NULL }, .install = "install Kueue",
	  .index = index_owner)
