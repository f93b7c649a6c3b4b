/* Where the Pods of a pool fit: free amounts on its Nodes now, and soon, when the workers that leave
 * have left. core/share asks by struct share_places before it grants or releases, so that a grant is
 * a place and not only a number. GPUs of the pool that no Node has (spec.gpus is above those of the
 * Nodes) may be on Nodes that a node autoscaler will add: they fit any Pod.
 *
 * A Pod takes the Node with the fewest free GPUs on which it fits, by name where that is equal, so whole
 * Nodes stay free for gangs. Pods that wait for a Node take theirs first. Checked: labels, taints,
 * readiness, requests (core/nodes/node_fit names what is not).
 *
 * Groups whose Pods the scheduler places alike (struct pool_group, shape) have one tournament of the
 * Nodes, whose winner is the Node to take. Cost: O(log N) for each Pod that is placed or leaves, N
 * Nodes of the pool, in each shape that is asked for afterwards; at most O(N). */
#ifndef FEATURE_POOLS_CORE_POOL_PLACES_H
#define FEATURE_POOLS_CORE_POOL_PLACES_H

#include "core/share/share_pool.h"
#include "feature/pools/core/pool_member.h"

/* One pool as core/share sees it, with what its clusters, units and workers are. */
struct pool_places_input {
	const struct pool_room *free;
	const struct device_table *devices;
	size_t index; /* of the pool, in the members */
	int64_t capacity;
	const struct pool_member *const *members; /* by cluster */
	size_t cluster_count;
	const struct share_unit *units;
	const struct pool_waiting *const *asks; /* by unit */
	struct share_worker *workers;
	const struct pool_worker *const *held; /* by worker */
	size_t worker_count;
};

/* Sets the order in which workers are released: the GPUs on their Nodes that stay in use when all idle
 * workers have left; 0: whole Nodes become free. All arguments must live as long. */
const struct share_places *pool_places_make(const struct pool_places_input *input,
					    struct arena *arena);

/* Why no Node of the pool has room for a Pod of the unit now: the closest Node with its obstacle, and the devices
 * that Pods outside of RayClusters use there. "": none is known. It holds for units with more Pods than *ret_room:
 * so many have room at once. Reads each Node. */
const char *pool_places_why(const struct pool_places_input *input, size_t unit, struct arena *arena,
			    int64_t *ret_room);
/* Of the unit, of its shape. */
int64_t pool_places_pods(const struct pool_places_input *input, size_t unit);
/* The shape of a Pod of the unit (struct pool_group); units with one shape have one answer. */
const char *pool_places_shape(const struct pool_places_input *input, size_t unit);

#endif
