/* How long a Pod took from its creation until Ray was ready in it. */
#ifndef FEATURE_RECORD_CORE_POD_START_TIME_H
#define FEATURE_RECORD_CORE_POD_START_TIME_H

#include <stdint.h>

#include "core/model/kubernetes.h"

/* At most POD_STARTS_MAX_MS. -1: it is the head, is not ready yet, or has restarted, which moves the time of its readiness. */
int64_t pod_start_time_ms(const struct pod *pod);

#endif
