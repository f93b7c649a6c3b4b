/* The meaning of a Kubernetes Event for capacity, in one table of the reasons that count. Pure.
 * decide() reads it, and ctl keeps only the Events in it. */
#ifndef CORE_MODEL_EVENT_MEANING_H
#define CORE_MODEL_EVENT_MEANING_H

#include "core/model/kubernetes.h"

enum event_meaning {
	EVENT_MEANS_NOTHING = 0,
	EVENT_NODE_COMES, /* on a Pod: a node autoscaler adds a Node for it */
	EVENT_NO_NODE,    /* on a Pod: a node autoscaler will not add one */
	EVENT_NOT_STARTED, /* on a Pod: the kubelet lacks what it needs to start it, and tries again */
	EVENT_OVER_QUOTA,      /* on a Pod: its queue has no quota left, so no Node helps */
	EVENT_POD_NOT_CREATED, /* on a RayCluster: the operator cannot create a worker Pod */
	EVENT_REFUSED,         /* on a RayCluster: the operator refuses it as a whole */
};

/* The reasons of the cluster autoscaler (TriggeredScaleUp, NotTriggerScaleUp), of queues
 * (FEATURE_POD_REFUSALS), of the kubelet about volumes, devices and sandboxes, of Karpenter
 * (Nominated, NoCompatibleInstanceTypes, and its FailedScheduling; the scheduler's event of that
 * name only repeats the Pod's condition), and of KubeRay (FailedToCreateWorkerPod, FailedCreate of
 * others, and InvalidRayCluster... of its validation, which warns with the same reason). */
enum event_meaning event_meaning(const struct event *event);

/* The time at which it was last seen; TIME_NONE when it contains none. */
time_ms event_time(const struct event *event);

#endif
