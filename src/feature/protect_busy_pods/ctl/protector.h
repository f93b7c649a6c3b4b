/* Carries out the protection of a plan (feature/protect_busy_pods/core/protect.h): one merge patch for
 * each change of a Pod, after a decision, never before a patch of the RayCluster. The patch has the
 * Pod's resourceVersion, so a Pod that changed meanwhile waits for the next decision. At most
 * PROTECTOR_WRITES_MAX requests for one Pod in PROTECTOR_SPAN_MS, also those that fail, and for the whole
 * fleet a tenth of --kube-api-qps, at most PROTECTOR_FLEET_PER_SECOND, so that it never delays scaling.
 * Keeps the times of writes, and whether they are forbidden; all of it may be lost. */
#ifndef FEATURE_PROTECT_BUSY_PODS_CTL_PROTECTOR_H
#define FEATURE_PROTECT_BUSY_PODS_CTL_PROTECTOR_H

#include "ctl/report/feature.h"

#define PROTECTOR_WRITES_MAX 2
#define PROTECTOR_SPAN_MS 60000
#define PROTECTOR_FLEET_PER_SECOND 10

extern const struct feature protect_busy_pods_feature;

#endif
