/* The kinds GPUPool and Workload of Kueue. */
#ifndef FEATURE_POOLS_KUBE_POOL_TYPE_H
#define FEATURE_POOLS_KUBE_POOL_TYPE_H

#include "kube/kube_informer.h"

/* struct gpu_pool; a bad one has its error as its only problem. */
extern const struct kube_type kube_type_gpu_pool;
/* struct kueue_owner; index: the uid of the RayCluster. */
extern const struct kube_type kube_type_kueue_owner;

#endif
