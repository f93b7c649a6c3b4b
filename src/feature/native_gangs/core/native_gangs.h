/* The size of a step of kube-scheduler, which places the Pods of one PodGroup (KEP-4671) together: what the free Nodes hold,
 * where they hold some of it; the next one begins when its Pods have Nodes. feature/queue has the wait of a step. Pure. */
#ifndef FEATURE_NATIVE_GANGS_CORE_NATIVE_GANGS_H
#define FEATURE_NATIVE_GANGS_CORE_NATIVE_GANGS_H

#include "core/decide/feature.h"

extern const struct decision_feature native_gangs_decisions;

#endif
