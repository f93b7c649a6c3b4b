/* The taints by which a Node is about to end. Pure. */
#ifndef CORE_NODES_DISRUPTION_TAINT_H
#define CORE_NODES_DISRUPTION_TAINT_H

#include <stdbool.h>

#include "core/model/kubernetes.h"

#define NOTICE_UNKNOWN (-1)

/* Taints that announce the end of a Node. X(key, prefix: keys that begin so, notice: seconds from the
 * taint until Pods are killed, source). NOTICE_UNKNOWN: whoever sets the taint then evicts the Pods, and
 * their deletionTimestamp has the time. karpenter.sh/disrupted: a NodeClaim with a
 * terminationGracePeriod has its time in an annotation of the NodeClaim, not of the Node, and Karpenter
 * deletes the Pods early enough before it. DeletionCandidateOfClusterAutoscaler is not listed: it is
 * often taken back. */
#define LEAVING_TAINT_TABLE(X)                                                                      \
	X("node.kubernetes.io/out-of-service", false, NOTICE_UNKNOWN,                               \
	  "kubernetes.io/docs/reference/labels-annotations-taints/")                                \
	X("node.cloudprovider.kubernetes.io/shutdown", false, NOTICE_UNKNOWN,                       \
	  "kubernetes.io/docs/reference/labels-annotations-taints/")                                \
	X("cloud.google.com/impending-node-termination", false, 15,                                 \
	  "docs.cloud.google.com/kubernetes-engine/docs/concepts/spot-vms: of 30 s, 15 s for Pods " \
	  "that are not critical")                                                                  \
	X("aws-node-termination-handler/spot-itn", false, 120,                                      \
	  "aws/aws-node-termination-handler pkg/node/node.go; two minutes: "                        \
	  "docs/aemm_interruption_testing.md")                                                      \
	X("aws-node-termination-handler/", true, NOTICE_UNKNOWN,                                    \
	  "aws/aws-node-termination-handler pkg/node/node.go: scheduled-maintenance, "              \
	  "asg-lifecycle-termination, rebalance-recommendation")                                    \
	X("karpenter.sh/disrupted", false, NOTICE_UNKNOWN,                                          \
	  "kubernetes-sigs/karpenter pkg/apis/v1/taints.go")                                        \
	X("karpenter.sh/disruption", false, NOTICE_UNKNOWN, "Karpenter before 1.0")                 \
	X("ToBeDeletedByClusterAutoscaler", false, NOTICE_UNKNOWN,                                  \
	  "kubernetes/autoscaler cluster-autoscaler/utils/taints/taints.go")                        \
	X("ignore-taint.cluster-autoscaler.kubernetes.io/oke-impending-node-termination", false,    \
	  NOTICE_UNKNOWN,                                                                           \
	  "kubernetes/autoscaler "                                                                  \
	  "cluster-autoscaler/cloudprovider/oci/nodepools/consts/annotations.go")                   \
	X("remediator.kubernetes.azure.com/unschedulable", false, NOTICE_UNKNOWN,                   \
	  "learn.microsoft.com/azure/aks/node-auto-drain")

bool disruption_taint_is_final(const struct taint *taint);
/* The first taint by which the Node ends, NULL for none. */
const struct taint *disruption_taint(const struct node *node);
/* When a Node with this final taint ends; TIME_NONE: unknown. */
time_ms disruption_taint_end(const struct taint *taint);

#endif
