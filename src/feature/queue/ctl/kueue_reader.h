/* Reads the Workload of a RayCluster while a Pod of it waits for Kueue, for the snapshot of its next
 * decision: lists by the label of the RayCluster's uid, KUEUE_READER_PAGES pages at most, with the
 * deadline of every request. At once when the wait begins or the spec of the RayCluster changes, then after
 * KUEUE_READER_FIRST_MS, doubling up to KUEUE_READER_LAST_MS; the fleet together a tenth of
 * --kube-api-qps, at most KUEUE_READER_FLEET_PER_SECOND. Without the right, or without Kueue's
 * kinds, the message of the Pod says what to grant, and it is tried again every KUEUE_READER_REFUSED_MS.
 * A RayCluster without such a Pod has no state here, and costs no request. */
#ifndef FEATURE_QUEUE_CTL_KUEUE_READER_H
#define FEATURE_QUEUE_CTL_KUEUE_READER_H

#include "ctl/report/feature.h"

#define KUEUE_READER_PAGES 20
#define KUEUE_READER_PAGE 50 /* Workloads */
#define KUEUE_READER_FIRST_MS 1000
#define KUEUE_READER_LAST_MS 60000
#define KUEUE_READER_REFUSED_MS 300000
#define KUEUE_READER_FLEET_PER_SECOND 10

extern const struct feature kueue_feature;

#endif
