#include "feature/pools/kube/pool_type.h"

#include "feature/pools/codec/gpu_pool_json.h"
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
