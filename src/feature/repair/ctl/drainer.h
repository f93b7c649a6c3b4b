/* Nodes under repair in the controller: signs of Nodes for the watch of Nodes, the limit of Nodes over all
 * RayClusters, failed workers, DrainRequests, and metrics. Keeps nothing that may not be lost. */
#ifndef FEATURE_REPAIR_CTL_DRAINER_H
#define FEATURE_REPAIR_CTL_DRAINER_H

#include "ctl/report/feature.h"

#define DRAINER_RENEW_MS 2000 /* while a RayCluster asks for Nodes, or has some */
#define DRAINER_FIRST_MS 3000 /* the first Nodes of the fleet are granted after it */

extern const struct feature repair_feature;

#endif
