/* The shape of a RayCluster for Ray's libraries: what its worker groups would have if they ran. Ray Data and Train
 * read it by ray._private.state.get_cluster_config(): Data to ask for groups that have no worker, Train to refuse a
 * job that can never start. Train also refuses what the shape lacks, so it has every key: promised by the templates,
 * seen on workers, and inferred types of accelerators.
 *
 * Amounts are whole numbers there; a fraction is rounded up, as Train would refuse what is rounded down. */
#ifndef FEATURE_REQUESTS_CORE_CLUSTER_SHAPE_H
#define FEATURE_REQUESTS_CORE_CLUSTER_SHAPE_H

#include "core/decide/offer.h"

#define CLUSTER_SHAPE_NO_MAXIMUM (-1)

struct shape_group {
	const char *name;
	struct resources resources; /* of one Pod; amounts above 0 */
	int64_t minimum, maximum;   /* Pods; maximum: CLUSTER_SHAPE_NO_MAXIMUM for none */
};

struct cluster_shape {
	const struct shape_group *groups; /* the head first, as a group of one */
	size_t count;
	int64_t max_gpus; /* 1/10000; -1: no limit on the GPUs of the cluster */
};

/* NULL: not known. Then *ret_why is the reason: the head has not answered, the resources of a group are invalid, or
 * its first worker will show the type of its accelerator. Needs the offer. */
const struct cluster_shape *cluster_shape_make(const struct offer *offer, const char **ret_why);

#endif
