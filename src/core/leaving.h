/* Workers that Kubernetes is about to take away: Pods with the condition DisruptionTarget, and Pods on
 * Nodes that are tainted for their end. Their capacity is no place for anything any more, and what runs
 * on them gets a replacement before they are gone. Nothing that is in use is ended here.
 *
 * The operator counts such a Pod until it is gone. So `replicas` is raised above it while a Pod is to
 * be made beside it, and lowered again as soon as that Pod is there (it deletes nothing for that): when the
 * old Pod goes, nobody makes a second one. At maxReplicas there is no room beside it: the replacement
 * waits, and the operator makes it when the old Pod is gone. */
#ifndef CORE_LEAVING_H
#define CORE_LEAVING_H

#include "core/situation.h"

/* What says of a Node that it goes. X(key, prefix: keys that begin so, source) */
#define LEAVING_TAINT_TABLE(X)                                                                     \
	X("node.kubernetes.io/out-of-service", false,                                              \
	  "https://kubernetes.io/docs/reference/labels-annotations-taints/")                       \
	X("node.cloudprovider.kubernetes.io/shutdown", false,                                      \
	  "https://kubernetes.io/docs/reference/labels-annotations-taints/")                       \
	X("cloud.google.com/impending-node-termination", false,                                    \
	  "https://cloud.google.com/kubernetes-engine/docs/concepts/spot-vms")                     \
	X("aws-node-termination-handler/", true,                                                   \
	  "https://github.com/aws/aws-node-termination-handler")                                   \
	X("karpenter.sh/disrupted", false, "https://karpenter.sh/docs/concepts/disruption/")       \
	X("karpenter.sh/disruption", false, "Karpenter before 1.0")                                \
	X("ToBeDeletedByClusterAutoscaler", false,                                                 \
	  "cluster-autoscaler, utils/taints/taints.go; not its DeletionCandidate, which is taken back")

/* The first taint by which the Node ends, NULL for none. */
const struct taint *leaving_taint(const struct node *node);
/* Why the Pod is about to go, NULL: it is not. `node`: its Node, NULL when not known. A Pod that
 * tolerates the taint may be put on such a Node anew, so it does not go for it: its replacement could
 * come there as well, and the next one. */
const char *leaving_why(struct arena *arena, const struct pod *pod, const struct node *node);
/* Marks the workers; before they are counted. Only while Ray is reachable and nothing is malformed. */
void leaving_mark(struct situation *situation, struct worker *workers, size_t count);
/* A replica is whole or nothing: the other hosts of one that goes go with it. */
void leaving_spread(const struct situation *situation, const struct group *group,
		    struct worker *workers);
/* After packing: launches what is in use on such workers and has no free worker to go to. */
void leaving_replace(struct situation *situation);

#endif
