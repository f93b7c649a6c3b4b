/* Which Pods a RayCluster has, and which of them is its head. A label is only a claim: everyone who may
 * create Pods in the namespace can set it. The rule, for the live form and the file form alike:
 *
 * - A Pod that claims to be head or worker of a RayCluster is its own when its controller owner reference
 *   has kind RayCluster, a version of group ray.io, and the uid of the RayCluster. Otherwise it is foreign:
 *   neither worker nor head nor capacity, never named in a patch, only reported. So is a Pod of a deleted
 *   RayCluster of the same name. A RayCluster without a uid (sparse files; an API server always sets one)
 *   goes by the label alone.
 * - The head is the own Pod of type head that `status.head.podName` of the RayCluster names; where that is
 *   "" (KubeRay before 1.2) the one with `status.head.podIP`; where that is "" too, the only one there is.
 *   A second one that is not being deleted, or a head that the status does not name, leaves it open whose
 *   GCS is believed: nothing is terminated until it is settled.
 *
 * KubeRay's operator itself counts Pods by label alone. */
#ifndef CORE_MODEL_IDENTITY_H
#define CORE_MODEL_IDENTITY_H

#include "base/arena.h"
#include "core/model/kubernetes.h"

struct snapshot;

/* Claims to be head or worker of this RayCluster without belonging to it. */
bool identity_is_foreign(const struct ray_cluster *cluster, const struct pod *pod);
/* Moves the foreign Pods to the end, in the order they had; returns how many are before them. */
size_t identity_divide(const struct ray_cluster *cluster, struct pod *pods, size_t count,
		       struct arena *arena);
/* One text for the snapshot's foreign Pods, with names and reasons; NULL: there are none. */
const char *identity_foreign_text(const struct snapshot *snapshot, struct arena *arena);

/* The candidates for the head: a fold over the Pods of a cluster, in any order. Starts zeroed. */
struct identity_heads {
	const struct pod *named; /* by status.head */
	/* Of the own head Pods, those that stay before those being deleted, then by name. */
	const struct pod *first, *second;
};

/* Foreign Pods and others than heads add nothing. */
void identity_heads_add(struct identity_heads *heads, const struct ray_cluster *cluster,
			const struct pod *pod);
/* The head, NULL: there is none, or none that is believed. *ret_problem: NULL, or why nothing may be
 * terminated on what its GCS says, with the names of the Pods; it is set too when there is a head and
 * another Pod claims to be it. */
const struct pod *identity_head_of(const struct identity_heads *heads,
				   const struct ray_cluster *cluster, struct arena *arena,
				   const char **ret_problem);

/* The same over the Pods of a snapshot. */
const struct pod *identity_head_in(const struct snapshot *snapshot, struct arena *arena,
				   const char **ret_problem);

#endif
