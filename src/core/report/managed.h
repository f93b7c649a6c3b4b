/* Clusters that another autoscaler manages get no RayClusterAutoscaler; an existing one says why. Pure. */
#ifndef CORE_REPORT_MANAGED_H
#define CORE_REPORT_MANAGED_H

#include "core/report/summary.h"

bool managed_by_us(const struct summary *summary);

#endif
