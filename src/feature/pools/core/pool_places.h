/* Where the Pods of a pool fit: free amounts on its Nodes now, and soon, when the workers that leave
 * have left. core/share asks by struct share_places before it grants or releases, so that a grant is
 * a place and not only a number. GPUs of the pool that no Node has (spec.gpus is above those of the
 * Nodes) may be on Nodes that a node autoscaler will add: they fit any Pod.
 *
 * A Pod takes the Node with the fewest free GPUs on which it fits, by name where that is equal, so whole
 * Nodes stay free for gangs. Pods that wait for a Node take theirs first. Checked: labels, taints,
 * readiness, requests (core/nodes/node_fit names what is not). Cost: O(N) for each Pod, N Nodes of the
 * pool; a spec that found no Node is not tried again until something is freed. */
#ifndef FEATURE_POOLS_CORE_POOL_PLACES_H
#define FEATURE_POOLS_CORE_POOL_PLACES_H

#include "core/share/share.h"
#include "feature/pools/core/pool_member.h"

/* Nodes and the Pods on them. */
struct pool_nodes {
	const struct node *nodes;
	size_t node_count;
	const struct pod *const *pods; /* those of RayClusters have LABEL_CLUSTER */
	size_t pod_count;
	const struct settings *settings;
	const struct device_table *devices;
};

/* The GPUs on Nodes that match the pool, in 1/10000. */
int64_t pool_nodes_gpus(const struct pool_nodes *nodes, const struct gpu_pool *pool,
			struct arena *scratch);

struct pool_places;

/* A unit or a worker of one member, as core/share numbers them. */
struct pool_places_unit {
	const struct pool_member *member;
	const struct pool_waiting *ask;
};
struct pool_places_worker {
	const struct pool_member *member;
	const struct pool_worker *worker;
};

/* NULL: there is nothing to place. All arguments must live as long. */
struct pool_places *pool_places_make(const struct pool_nodes *nodes, const struct gpu_pool *pool,
				     size_t pool_index, int64_t capacity,
				     const struct pool_places_unit *units, size_t unit_count,
				     const struct pool_places_worker *workers, size_t worker_count,
				     struct arena *arena);
void pool_places_done(struct pool_places *places); /* NULL is fine */
const struct share_places *pool_places_hooks(const struct pool_places *places);
/* For the order of release: the GPUs on the Nodes of this idle worker that stay in use when all idle
 * workers have left; 0: whole Nodes become free. */
int64_t pool_places_beside(const struct pool_places *places, size_t worker);

#endif
