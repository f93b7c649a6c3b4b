/* Nodes under repair in the controller: signs of Nodes for the watch of Nodes, metrics, and with
 * --repair-drain-requests the DrainRequests of NVSentinel: each is part of the snapshots of the RayClusters with a
 * worker on its Node, and gets the condition DrainComplete when no Pod of a RayCluster is left there that has not
 * ended, heads included. One request to the API server at a time, looked at every DRAINER_SWEEP_MS while one is not
 * complete; one that failed is sent again after DRAINER_RETRY_MS. Keeps nothing that may not be lost. */
#ifndef FEATURE_REPAIR_CTL_DRAINER_H
#define FEATURE_REPAIR_CTL_DRAINER_H

#include "ctl/report/feature.h"

#define DRAINER_SWEEP_MS 2000
#define DRAINER_RETRY_MS 15000
#define DRAINER_FIRST_MS 3000 /* the first Nodes of the fleet are granted after it */

extern const struct feature repair_feature;

#endif
