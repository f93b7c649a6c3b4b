#include "core/decide/gate.h"

#include <string.h>

#include "core/model/autoscaler_container.h"
#include "core/model/reason.h"

#define KUBERAY_MANAGER "ray.io/kuberay-operator"

static bool second_autoscaler(const struct snapshot *snapshot)
{
	enum autoscaler_runs wanted = snapshot->settings.mode == MODE_SIDECAR ?
					      AUTOSCALER_RUNS_SIDECAR :
					      AUTOSCALER_RUNS_NOTHING;
	for (size_t p = 0; p < snapshot->pod_count; p++) {
		const struct pod *pod = snapshot->pods[p];
		if (!pod_is_head(pod))
			continue;
		for (size_t c = 0; c < pod->spec.container_count; c++) {
			const struct container *container = &pod->spec.containers[c];
			if (strcmp(container->name, AUTOSCALER_CONTAINER) == 0 &&
			    autoscaler_container_runs(container) != wanted)
				return true;
		}
	}
	return false;
}

static const char *second_autoscaler_fix(const struct snapshot *snapshot)
{
	if (snapshot->settings.mode == MODE_SIDECAR)
		return "container autoscaler of the head Pod does not run `rayscaler run`: set "
		       "spec.autoscalerOptions.command and args";
	return "container autoscaler of the head Pod is not parked, so two autoscalers would "
	       "change the same fields: set spec.autoscalerOptions.command to [sleep] and args "
	       "to [infinity], then delete the head Pod";
}

struct gate gate_check(const struct snapshot *snapshot)
{
	const struct ray_cluster *cluster = &snapshot->cluster;
	const char *managed = labels_value(&cluster->annotations, ANNOTATION_MANAGED);
	if (!cluster->enable_in_tree_autoscaling)
		return (struct gate){ REASON_AUTOSCALING_DISABLED,
				      "spec.enableInTreeAutoscaling is not true" };
	if (managed != NULL && strcmp(managed, "false") == 0)
		return (struct gate){ REASON_UNMANAGED,
				      "annotation " ANNOTATION_MANAGED " is \"false\"" };
	/* "no" or "False" most likely means that the cluster is not to be changed. */
	if (managed != NULL && strcmp(managed, "true") != 0)
		return (struct gate){ REASON_INVALID_REQUEST,
				      "annotation " ANNOTATION_MANAGED
				      " is neither \"true\" nor \"false\", so nothing is scaled: "
				      "correct or remove it" };
	if (cluster->managed_by[0] != '\0' && strcmp(cluster->managed_by, KUBERAY_MANAGER) != 0)
		return (struct gate){ REASON_MANAGED_ELSEWHERE,
				      "spec.managedBy names another manager than " KUBERAY_MANAGER };
	if (cluster->unreadable != NULL)
		return (struct gate){ REASON_CLUSTER_UNREADABLE, cluster->unreadable };
	if (cluster->suspend)
		return (struct gate){ REASON_SUSPENDED, "spec.suspend is true" };
	if (cluster->idle_suspend)
		return (struct gate){ REASON_SUSPENDED, "spec.idleSuspend is true" };
	if (cluster->deleting)
		return (struct gate){ REASON_DELETING, "the RayCluster has a deletionTimestamp" };
	if (snapshot->autoscaler != NULL && snapshot->autoscaler->paused)
		return (struct gate){ REASON_PAUSED,
				      "spec.paused of the RayClusterAutoscaler is true" };
	if (second_autoscaler(snapshot))
		return (struct gate){ REASON_SECOND_AUTOSCALER, second_autoscaler_fix(snapshot) };
	return (struct gate){ NULL, "" };
}
