/* A Workload of Kueue, JSON to struct: which RayCluster it is of, and whether it has quota. */
#ifndef FEATURE_POOLS_CODEC_KUEUE_OWNER_JSON_H
#define FEATURE_POOLS_CODEC_KUEUE_OWNER_JSON_H

#include "base/arena.h"
#include "base/err.h"

struct cJSON;

/* Tenants write neither Workloads nor their statuses. */
struct kueue_owner {
	const char *namespace_, *cluster,
		*uid; /* of the RayCluster; cluster, uid "": another kind */
	bool has_quota;
};

/* As pod_decode. */
int kueue_owner_decode(const struct cJSON *json, const char *path, struct arena *arena,
		       struct kueue_owner *ret_owner, struct err *err);

#endif
