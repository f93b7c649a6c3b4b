#include "core/model/event_meaning.h"

#include <string.h>

#include "feature_model.h"

/* Karpenter runs under other names as well (EKS Auto Mode), its words are the same. */
#define KARPENTER_WORDS "Failed to schedule pod"
/* KubeRay 1.7, raycluster_controller.go: of a restartPolicy that it does not refuse. */
#define KUBERAY_WARNS "RayCluster spec warning"

static bool is_one_of(const char *text, const char *const *words)
{
	for (; *words; words++)
		if (!strcmp(text, *words))
			return true;
	return false;
}

static enum event_meaning meaning_on_pod(const struct event *event)
{
	static const char *const promises[] = { "TriggeredScaleUp", "Nominated", NULL };
	static const char *const refusals[] = { "NotTriggerScaleUp", "NoCompatibleInstanceTypes",
						NULL };
	/* pkg/kubelet/events and the volume controllers of Kubernetes: the Pod's status says ContainerCreating. */
	static const char *const failures[] = { "FailedMount",
						"FailedMapVolume",
						"FailedAttachVolume",
						"FailedCreatePodSandBox",
						"FailedPrepareDynamicResources",
						"NetworkNotReady",
						NULL };
	static const char *const quotas[] = {
#define X(owner, reason) reason,
		FEATURE_POD_REFUSALS(X)
#undef X
			NULL
	};

	if (is_one_of(event->reason, quotas))
		return EVENT_OVER_QUOTA;
	if (is_one_of(event->reason, promises))
		return EVENT_NODE_COMES;
	if (is_one_of(event->reason, failures))
		return EVENT_NOT_STARTED;
	if (is_one_of(event->reason, refusals))
		return EVENT_NO_NODE;
	if (!strcmp(event->reason, "FailedScheduling") &&
	    (!strcmp(event->source, "karpenter") ||
	     !strncmp(event->message, KARPENTER_WORDS, strlen(KARPENTER_WORDS))))
		return EVENT_NO_NODE;
	return EVENT_MEANS_NOTHING;
}

static enum event_meaning meaning_on_cluster(const struct event *event)
{
	static const char *const failures[] = { "FailedToCreateWorkerPod", "FailedCreate", NULL };
	static const char *const refusals[] = { "InvalidRayClusterSpec",
						"InvalidRayClusterMetadata",
						"InvalidRayClusterStatus", NULL };

	if (is_one_of(event->reason, failures))
		return EVENT_POD_NOT_CREATED;
	if (is_one_of(event->reason, refusals) &&
	    strncmp(event->message, KUBERAY_WARNS, strlen(KUBERAY_WARNS)) != 0)
		return EVENT_REFUSED;
	return EVENT_MEANS_NOTHING;
}

enum event_meaning event_meaning(const struct event *event)
{
	if (!strcmp(event->involved_kind, "Pod"))
		return meaning_on_pod(event);
	if (!strcmp(event->involved_kind, "RayCluster"))
		return meaning_on_cluster(event);
	return EVENT_MEANS_NOTHING;
}

time_ms event_time(const struct event *event)
{
	return event->last_time > event->first_time ? event->last_time : event->first_time;
}
