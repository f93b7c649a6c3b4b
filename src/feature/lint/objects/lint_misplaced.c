#include "feature/lint/objects/lint_misplaced.h"

#include <stddef.h>
#include <string.h>

/* Names are separated by blanks, and begin and end with one. */
static const struct {
	const char *names, *place;
} places[] = {
	{ " nodeSelector tolerations affinity containers initContainers volumes serviceAccountName "
	  "imagePullSecrets priorityClassName runtimeClassName schedulerName hostNetwork hostIPC hostPID dnsPolicy "
	  "restartPolicy terminationGracePeriodSeconds topologySpreadConstraints resourceClaims nodeName "
	  "automountServiceAccountToken enableServiceLinks schedulingGates overhead activeDeadlineSeconds ",
	  "write it into template.spec of the head or group" },
	{ " image imagePullPolicy command args env envFrom ports volumeMounts livenessProbe readinessProbe "
	  "startupProbe lifecycle workingDir ",
	  "write it into template.spec.containers of the head or group" },
	{ " limits requests claims ", "write it into resources of the container" },
	{ " cpu memory nvidia.com/gpu amd.com/gpu google.com/tpu ephemeral-storage ",
	  "write it into limits and requests there" },
	{ " minWorkers min_workers ", "write minReplicas of the group" },
	{ " maxWorkers max_workers ", "write maxReplicas of the group" },
	{ " initialWorkers initial_workers numWorkers num_workers workers ",
	  "write replicas of the group" },
	{ " idleTimeoutMinutes idle_timeout_minutes ",
	  "write idleTimeoutSeconds, in seconds, into spec.autoscalerOptions" },
	{ " upscalingSpeed upscaling_speed ", "write upscalingMode into spec.autoscalerOptions" },
	{ " idleTimeoutSeconds upscalingMode ", "write it into spec.autoscalerOptions" },
	{ " rayVersion enableInTreeAutoscaling autoscalerOptions headGroupSpec workerGroupSpecs ",
	  "write it into spec of the RayCluster" },
	{ " groupName minReplicas maxReplicas replicas numOfHosts scaleStrategy ",
	  "write it into an element of workerGroupSpecs" },
	{ " num-cpus num-gpus object-store-memory dashboard-host numCpus numGpus num_cpus num_gpus ",
	  "write it into rayStartParams of the head or group, with \"-\" and in quotes" },
	{ " annotations labels ", "write it into metadata or template.metadata" },
	{ " available_node_types head_node_type provider auth ",
	  "this is a file of Ray's cluster launcher: a RayCluster has workerGroupSpecs" },
};

const char *lint_misplaced(const char *name)
{
	size_t size = strlen(name);

	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		const char *at = strstr(places[i].names, name);

		for (; at; at = strstr(at + 1, name))
			if (at > places[i].names && at[-1] == ' ' && at[size] == ' ')
				return places[i].place;
	}
	return NULL;
}
