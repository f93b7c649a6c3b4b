/* What an Event of Kubernetes says of capacity: the one table of the reasons that count. Pure.
 * Read by decide() and by ctl, which keeps no other Events. */
#ifndef CORE_MODEL_EVENT_MEANING_H
#define CORE_MODEL_EVENT_MEANING_H

#include "core/model/kubernetes.h"

enum event_meaning {
	EVENT_MEANS_NOTHING = 0,
	EVENT_NODE_COMES,      /* on a Pod: a node autoscaler makes room for it */
	EVENT_NO_NODE,         /* on a Pod: a node autoscaler will not */
	EVENT_POD_NOT_CREATED, /* on a RayCluster: the operator cannot create a worker Pod */
};

/* The reasons of the cluster autoscaler (TriggeredScaleUp, NotTriggerScaleUp), of Karpenter (Nominated,
 * NoCompatibleInstanceTypes, and its FailedScheduling: the scheduler's own of that name only says what
 * the Pod's condition says), and of KubeRay (FailedToCreateWorkerPod; FailedCreate of others). */
enum event_meaning event_meaning(const struct event *event);

/* When it was last seen; TIME_NONE when it does not tell. */
time_ms event_time(const struct event *event);

#endif
