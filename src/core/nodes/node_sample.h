/* The few Nodes that matter to the groups of one RayCluster: those closest to fitting one of its
 * Pods. The messages of capacity_check.h are the same for the sample as for all Nodes. Pure. */
#ifndef CORE_NODES_NODE_SAMPLE_H
#define CORE_NODES_NODE_SAMPLE_H

#include <stddef.h>

#include "core/nodes/node_capacity.h"

/* For each group at most so many Nodes; of a RayCluster with more groups there is no sample. */
#define NODE_SAMPLE_NODES_MAX 8
/* Beside them, of a RayCluster with gangs of kube-scheduler, so many that hold a Pod now, which a step may have. */
#define NODE_SAMPLE_FREE_MAX 256
#define NODE_SAMPLE_GROUPS_MAX 32

/* The Nodes of the sample, by name, each once; 0 when there is none. Nodes that end
 * (core/decide/disruption) are not in it: the watch of such Nodes reports them. pods: of the
 * RayCluster, in any order. */
size_t node_sample(const struct node_capacities *capacities, const struct ray_cluster *cluster,
		   const struct pod *const *pods, size_t pod_count, struct arena *arena,
		   const struct node_capacity ***ret_capacities);
/* The name of the Pod's PodGroup or Workload; "": kube-scheduler places it alone. */
const char *node_sample_gang(const struct pod_spec *spec);
/* Whether the RayCluster needs one: a Pod is Unschedulable, or one or a template is in a gang of kube-scheduler, the steps
 * of which have the size that the Nodes hold. */
bool node_sample_wanted(const struct ray_cluster *cluster, const struct pod *const *pods,
			size_t pod_count);

#endif
