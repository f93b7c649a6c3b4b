/* How long a Pod took from its creation until Ray was ready in it. */
#ifndef CORE_REPORT_POD_START_TIME_H
#define CORE_REPORT_POD_START_TIME_H

#include <stdint.h>

#include "core/model/kubernetes.h"

#define POD_START_TIME_MAX_MS (INT64_C(86400) * 1000)

/* -1: it is the head, is not ready yet, or has restarted, which moves the time of its readiness. */
int64_t pod_start_time_ms(const struct pod *pod);

#endif
