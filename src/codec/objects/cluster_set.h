/* RayClusters with their RayClusterAutoscalers and settings from files, pools of Nodes, prices, and
 * variants of them: the objects are kept as trees, changed by a path, and then decoded. For `simulate`.
 * The caller owns a set. */
#ifndef CODEC_OBJECTS_CLUSTER_SET_H
#define CODEC_OBJECTS_CLUSTER_SET_H

#include <stddef.h>

#include "base/arena.h"
#include "base/err.h"
#include "codec/objects/workload_file.h"
#include "core/model/kubernetes.h"
#include "core/model/node_pool.h"
#include "core/model/pod_starts.h"
#include "core/model/price.h"
#include "core/model/settings.h"

/* A recording holds a workload too. */
#define CLUSTER_SET_FILE_BYTES_MAX WORKLOAD_YAML_BYTES_MAX
#define CLUSTER_SET_MAX 1000

struct cJSON;
struct cluster_set;

struct cluster_set_trees {
	struct cJSON *const *at;
	size_t count;
};

struct cluster_setup {
	const char *name; /* of the RayCluster; "namespace/name" where two namespaces have it */
	struct ray_cluster cluster;
	struct autoscaler_object autoscaler; /* if has_autoscaler */
	bool has_autoscaler;
	struct labels namespace_labels; /* of its Namespace, if that is in the files */
};

struct cluster_set *cluster_set_new(void);
void cluster_set_free(struct cluster_set *set); /* NULL is fine */
struct cluster_set *cluster_set_copy(const struct cluster_set *set);

/* Adds the RayClusters, also those in a RayJob, RayCronJob or RayService, RayClusterAutoscalers,
 * Namespaces, PodStarts and objects that a feature reads of a text with YAML documents or lists; other
 * objects are ignored, a document with pools or prices is refused. -1 with line and column, or the path. */
int cluster_set_add(struct cluster_set *set, const char *text, size_t size, struct err *err);

/* A document with pools of Nodes (codec/objects/node_pools_json), and one with prices
 * (codec/objects/price_table_json); a second one replaces the first. */
int cluster_set_add_pools(struct cluster_set *set, const char *text, size_t size, struct err *err);
int cluster_set_add_prices(struct cluster_set *set, const char *text, size_t size, struct err *err);

/* Sets `path` to `value` in each RayCluster (a member of its spec), in each RayClusterAutoscaler (a
 * member of its spec, as idleTimeoutSeconds or groups[gpu].idleTimeoutSeconds; made where it is
 * missing), in an object of a feature (gpuPools[NAME].MEMBER), in the pools (pools[NAME].maxNodes), in the prices (prices[NAME].perGPUHour), or in the
 * settings (a flag of `run`, as packing).
 * ERR_NOT_FOUND: no object has this name or element; ERR_INPUT. */
int cluster_set_change(struct cluster_set *set, const char *path, const char *value,
		       struct err *err);

/* Of PodStarts, in the set: not of a copy. */
struct pod_starts_list cluster_set_starts(const struct cluster_set *set);
int64_t cluster_set_process_ms(const struct cluster_set *set); /* -1: unknown */

/* The objects as structs in the arena. ERR_INPUT: there is no RayCluster, two have the same name, one
 * or a RayClusterAutoscaler is invalid, or the latter has no RayCluster. */
int cluster_set_decode(const struct cluster_set *set, struct arena *arena,
		       const struct cluster_setup **ret_setups, size_t *ret_count,
		       struct settings *ret_settings, struct err *err);
/* The trees of the objects of a kind that a feature has (FEATURE_KEPT_KINDS). */
struct cluster_set_trees cluster_set_trees(const struct cluster_set *set, const char *kind);
/* The pools of Nodes in the arena; none without a document. ERR_INPUT: a changed member is wrong. */
int cluster_set_decode_pools(const struct cluster_set *set, struct arena *arena,
			     struct node_pools *ret_pools, struct err *err);
/* The prices, likewise; *ret_table is NULL without a document. */
int cluster_set_decode_prices(const struct cluster_set *set, struct arena *arena,
			      const struct price_table **ret_table, struct err *err);

#endif
