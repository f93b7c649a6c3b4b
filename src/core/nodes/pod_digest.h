/* All Pods of a Kubernetes cluster in little memory, for their use of Nodes: each Pod that requests
 * an accelerator or claims devices is kept with a few fields (names, labels of Ray, Node, requests, its devices), and
 * the others are summed, one sum for each Node and RayCluster. A sum is a Pod that counts as
 * several (POD_REQUEST_PODS). The caller owns struct pod_digest; added Pods are copied. Must be
 * used only for node capacity. */
#ifndef CORE_NODES_POD_DIGEST_H
#define CORE_NODES_POD_DIGEST_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/map.h"
#include "core/model/device.h"
#include "core/model/kubernetes.h"

struct pod_digest {
	struct arena arena;
	const struct device_table *devices;
	struct map sums; /* by Node and RayCluster; in the arena */
	VEC(struct pod) kept;
	size_t seen;     /* Pods added */
	size_t most;     /* entries that may be kept */
	bool overflowed; /* there were more: the digest is of no use */
};

/* most: limit of entries, 1 and above. */
void pod_digest_init(struct pod_digest *digest, const struct device_table *devices, size_t most);
void pod_digest_done(struct pod_digest *digest);
void pod_digest_add(struct pod_digest *digest, const struct pod *pod);
/* All of it, by Node and name; nothing may be added afterwards. Lives as long as the digest. */
const struct pod *pod_digest_finish(struct pod_digest *digest, size_t *ret_count);

#endif
