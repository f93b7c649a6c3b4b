/* The taints by which a Node is about to end. Pure. */
#ifndef CORE_NODES_DISRUPTION_TAINT_H
#define CORE_NODES_DISRUPTION_TAINT_H

#include <stdbool.h>

#include "core/model/kubernetes.h"

/* Taints that announce the end of a Node. X(key, prefix: keys that begin so, source) */
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

bool disruption_taint_is_final(const struct taint *taint);
/* The first taint by which the Node ends, NULL for none. */
const struct taint *disruption_taint(const struct node *node);

#endif
