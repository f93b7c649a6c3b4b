#include "core/decide/gate.h"

#include <string.h>

#include "core/model/autoscaler_container.h"
#include "core/model/reason.h"

#define KUBERAY_MANAGER "ray.io/kuberay-operator"

/* The head Pod whose container `autoscaler` runs something else than this mode wants; NULL: none. */
static const struct pod *second_autoscaler(const struct snapshot *snapshot)
{
	enum autoscaler_runs wanted = snapshot->settings.mode == MODE_SIDECAR ?
					      AUTOSCALER_RUNS_SIDECAR :
					      AUTOSCALER_RUNS_NOTHING;
	for (size_t p = 0; p < snapshot->pod_count; p++) {
		const struct pod *pod = snapshot->pods[p];
		if (!pod_is_head(pod))
			continue;
		ARRAY_EACH(const struct container, container, pod->spec.containers,
			   pod->spec.container_count) {
			if (strcmp(container->name, AUTOSCALER_CONTAINER) == 0 &&
			    autoscaler_container_runs(container) != wanted)
				return pod;
		}
	}
	return NULL;
}

static const char *second_autoscaler_fix(const struct snapshot *snapshot, const struct pod *head,
					 struct arena *arena)
{
	const struct ray_cluster *cluster = &snapshot->cluster;
	const char *delete_head = arena_printf(
		arena, "delete the head Pod, which ends its jobs: kubectl delete pod %s -n %s",
		head->name, cluster->namespace_);

	if (snapshot->settings.mode == MODE_SIDECAR)
		return "container autoscaler of the head Pod does not run `rayscaler run`: set "
		       "spec.autoscalerOptions.command and args";
	if (autoscaler_options_run(cluster) == AUTOSCALER_RUNS_NOTHING)
		return arena_printf(
			arena,
			"the head Pod is older than spec.autoscalerOptions, which parks "
			"its container autoscaler; the last step: %s",
			delete_head);
	return arena_printf(
		arena,
		"container autoscaler of the head Pod is not parked, so two autoscalers "
		"would change the same fields: run \"rayscaler adopt %s -n %s --yes\", "
		"which sets spec.autoscalerOptions.command to [timeout] and args to "
		"[infinity, sleep, infinity], then %s",
		cluster->name, cluster->namespace_, delete_head);
}

struct gate gate_check(const struct snapshot *snapshot, struct arena *arena)
{
	const struct ray_cluster *cluster = &snapshot->cluster;
	const char *managed = labels_value(&cluster->annotations, ANNOTATION_MANAGED);
	const struct pod *head;
	if (!cluster->enable_in_tree_autoscaling)
		return (struct gate){ REASON_AUTOSCALING_DISABLED,
				      "spec.enableInTreeAutoscaling is not true" };
	if (managed && strcmp(managed, "false") == 0)
		return (struct gate){ REASON_UNMANAGED,
				      "annotation " ANNOTATION_MANAGED " is \"false\"" };
	/* "no" or "False" most likely means that the cluster is not to be changed. */
	if (managed && strcmp(managed, "true") != 0)
		return (struct gate){ REASON_INVALID_REQUEST,
				      "annotation " ANNOTATION_MANAGED
				      " is neither \"true\" nor \"false\", so nothing is scaled: "
				      "correct or remove it" };
	if (cluster->managed_by[0] != '\0' && strcmp(cluster->managed_by, KUBERAY_MANAGER) != 0)
		return (struct gate){ REASON_MANAGED_ELSEWHERE,
				      "spec.managedBy names another manager than " KUBERAY_MANAGER };
	if (cluster->unreadable)
		return (struct gate){ REASON_CLUSTER_UNREADABLE, cluster->unreadable };
	if (cluster->suspend)
		return (struct gate){ REASON_SUSPENDED, "spec.suspend is true" };
	if (cluster->idle_suspend)
		return (struct gate){ REASON_SUSPENDED, "spec.idleSuspend is true" };
	if (cluster->deleting)
		return (struct gate){ REASON_DELETING, "the RayCluster has a deletionTimestamp" };
	if (snapshot->autoscaler && snapshot->autoscaler->paused)
		return (struct gate){ REASON_PAUSED,
				      "spec.paused of the RayClusterAutoscaler is true" };
	head = second_autoscaler(snapshot);
	if (head)
		return (struct gate){ REASON_SECOND_AUTOSCALER,
				      second_autoscaler_fix(snapshot, head, arena) };
	return (struct gate){ REASON_NONE, "" };
}
