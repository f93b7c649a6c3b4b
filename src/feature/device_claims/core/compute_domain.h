/* Groups whose Pods claim a channel of an NVIDIA ComputeDomain (resource.nvidia.com): multi-node
 * NVLink within one clique of Nodes, by the Node label nvidia.com/gpu.clique. A template names one
 * ResourceClaimTemplate, so all replicas of a group are in one domain, and a second domain needs a
 * second group. Such a group is scaled by whole replicas, as every group with numOfHosts; here its
 * messages get the number of whole replicas for which the cliques have free Nodes. Nothing else
 * depends on it: a node autoscaler may add Nodes. */
#ifndef FEATURE_DEVICE_CLAIMS_CORE_COMPUTE_DOMAIN_H
#define FEATURE_DEVICE_CLAIMS_CORE_COMPUTE_DOMAIN_H

#include "core/decide/feature.h"

extern const struct decision_feature compute_domain_decisions;

#endif
