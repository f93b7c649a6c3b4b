#include "core/model/event_meaning.h"

#include <string.h>

#include "base/text.h"
#include "feature_model.h"

/* Karpenter runs under other names as well (EKS Auto Mode), its words are the same. */
#define KARPENTER_WORDS "Failed to schedule pod"
/* KubeRay 1.7, raycluster_controller.go: of a restartPolicy that it does not refuse. */
#define KUBERAY_WARNS "RayCluster spec warning"

static enum event_meaning meaning_on_pod(const struct event *event)
{
	static const char promises[] = "TriggeredScaleUp|Nominated";
	static const char refusals[] = "NotTriggerScaleUp|NoCompatibleInstanceTypes";
	/* pkg/kubelet/events and the volume controllers of Kubernetes: the Pod's status says ContainerCreating. */
	static const char failures[] =
		"FailedMount|FailedMapVolume|FailedAttachVolume|FailedCreatePodSandBox|"
		"FailedPrepareDynamicResources|NetworkNotReady";
	static const char *const quotas[] = {
#define X(owner, reason) reason,
		FEATURE_POD_REFUSALS(X)
#undef X
			NULL
	};

	if (text_is_among(event->reason, quotas, sizeof(quotas) / sizeof(quotas[0]) - 1))
		return EVENT_OVER_QUOTA;
	if (text_is_word(event->reason, promises))
		return EVENT_NODE_COMES;
	if (text_is_word(event->reason, failures))
		return EVENT_NOT_STARTED;
	if (text_is_word(event->reason, refusals))
		return EVENT_NO_NODE;
	if (!strcmp(event->reason, "FailedScheduling") &&
	    (!strcmp(event->source, "karpenter") ||
	     !strncmp(event->message, KARPENTER_WORDS, strlen(KARPENTER_WORDS))))
		return EVENT_NO_NODE;
	return EVENT_MEANS_NOTHING;
}

static enum event_meaning meaning_on_cluster(const struct event *event)
{
	static const char failures[] = "FailedToCreateWorkerPod|FailedCreate";
	static const char refusals[] = "InvalidRayClusterSpec|InvalidRayClusterMetadata|"
				       "InvalidRayClusterStatus";

	if (text_is_word(event->reason, failures))
		return EVENT_POD_NOT_CREATED;
	if (text_is_word(event->reason, refusals) &&
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
