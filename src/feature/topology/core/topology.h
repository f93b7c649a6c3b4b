/* Placement groups with a topology_strategy (ray 2.60, util/placement_group.py): all bundles on nodes
 * with one value of a label, for example one NVLink domain by "ray.io/gpu-domain". Ray's GCS sends the
 * label as locality_requirement and places by it; Ray's autoscaler ignores it, launches anywhere, and the
 * group may wait for ever. Here such a gang has one choice for each value that nodes or groups have.
 *
 * The value of a group is the one in its labels. A group without it, whose Pods read their labels from a
 * file and are pinned to one clique of NVLink by nodeSelector or required affinity, has the value of its
 * workers, or an unknown one of its own before the first. Other workers count once Ray has reported their
 * value. */
#ifndef FEATURE_TOPOLOGY_CORE_TOPOLOGY_H
#define FEATURE_TOPOLOGY_CORE_TOPOLOGY_H

#include "core/decide/feature.h"

extern const struct decision_feature topology_decisions;

#endif
