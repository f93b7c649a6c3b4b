/* The Pods of a RayCluster, and the head among them. A label is only a claim: everyone who may
 * create Pods in the namespace can set it. The rule, for the live form and the file form alike:
 * - A Pod that claims to be head or worker of a RayCluster belongs to it when its controller owner
 *   reference has kind RayCluster, a version of group ray.io, and the uid of the RayCluster.
 *   Otherwise it is foreign: neither worker nor head nor capacity, never named in a patch, only
 *   reported. The same holds for a Pod of a deleted RayCluster of the same name. A RayCluster
 *   without a uid (sparse files; an API server always sets one) is matched by label only.
 * - The head is the Pod of type head that belongs to the cluster and that `status.head.podName` of
 *   the RayCluster names; where that is "" (KubeRay before 1.2), the one with `status.head.podIP`;
 *   where that is "" too, the only one. With a second head that is not being deleted, or with a
 *   head that the status does not name, it is unclear which GCS to trust: no worker is terminated
 *   until that changes.
 * - Active-passive heads (kuberay#4910) are two head Pods that belong to the cluster, which turns
 *   them on in its spec. The readiness probe of the passive one fails. So a second head is left out
 *   while the status names one that runs and is Ready, and no other head is Ready. The passive GCS
 *   does not have the nodes of the cluster: a head that is not Ready is not believed, also when it
 *   is the only one. A sidecar reads the GCS of its own Pod, so it accepts no second head.
 *
 * KubeRay's operator itself counts Pods by label alone. */
#ifndef CORE_MODEL_IDENTITY_H
#define CORE_MODEL_IDENTITY_H

#include "base/arena.h"
#include "core/model/kubernetes.h"

struct snapshot;

/* Has the owner reference of the first rule. cluster NULL (deleted, or cannot be read): that of any
 * RayCluster. */
bool identity_is_owned(const struct ray_cluster *cluster, const struct pod *pod);
/* Claims to be head or worker of this RayCluster without belonging to it. */
bool identity_is_foreign(const struct ray_cluster *cluster, const struct pod *pod);
/* Moves the foreign Pods to the end, in the order they had; returns how many are before them. */
size_t identity_divide(const struct ray_cluster *cluster, const struct pod **pods, size_t count,
		       struct arena *arena);
/* One text for the snapshot's foreign Pods, with names and reasons; NULL: there are none. */
const char *identity_foreign_text(const struct snapshot *snapshot, struct arena *arena);

/* The candidates for the head: a fold over the Pods of a cluster, in any order. Starts zeroed. */
struct identity_heads {
	const struct pod *named; /* by status.head */
	/* The cluster's head Pods: those not being deleted first, then by name. */
	const struct pod *first, *second;
	size_t living, ready; /* not being deleted; Ready */
};

/* Adds a Pod of the cluster of type head; other Pods are ignored. */
void identity_heads_add(struct identity_heads *heads, const struct ray_cluster *cluster,
			const struct pod *pod);
/* The head; NULL: there is none, or none that is trusted. *ret_problem: NULL, or why the reply of
 * its GCS does not allow terminations, with the names of the Pods; it is also set when there is a
 * head and another Pod claims to be it. */
const struct pod *identity_head_of(const struct identity_heads *heads,
				   const struct ray_cluster *cluster, struct arena *arena,
				   const char **ret_problem);

/* The same over the Pods of a snapshot, with the rule of a sidecar. */
const struct pod *identity_head_in(const struct snapshot *snapshot, struct arena *arena,
				   const char **ret_problem);

#endif
