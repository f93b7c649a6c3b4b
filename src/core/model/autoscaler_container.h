/* Classifies the container `autoscaler` of a head Pod by the structure of its command and args.
 * Comments, quotes, variables and lists of commands make a shell command unknown: it then counts as
 * an autoscaler. Reads only the container. */
#ifndef CORE_MODEL_AUTOSCALER_CONTAINER_H
#define CORE_MODEL_AUTOSCALER_CONTAINER_H

#include "core/model/kubernetes.h"

#define AUTOSCALER_CONTAINER "autoscaler"
/* KubeRay's command and args of the container; older versions have other options of the shell, up
 * to 1.1 `ray` itself (docs/internals/compatibility.md). */
#define KUBERAY_AUTOSCALER_COMMAND "kuberay-autoscaler"
/* Variable of the container: the mode of our image when KubeRay's command starts it. */
#define AUTOSCALER_MODE_VARIABLE "RAYSCALER_MODE"
#define AUTOSCALER_MODE_PARK "park"

enum autoscaler_runs {
	AUTOSCALER_RUNS_OTHER = 0, /* Ray's autoscaler, or a command that is not understood */
	AUTOSCALER_RUNS_NOTHING,   /* parked */
	AUTOSCALER_RUNS_SIDECAR,   /* `rayscaler run` */
};

enum autoscaler_runs autoscaler_container_runs(const struct container *container);
/* The same for the container that KubeRay makes of spec.autoscalerOptions. */
enum autoscaler_runs autoscaler_options_run(const struct ray_cluster *cluster);
/* autoscalerOptions.version is not given and may be v2: only then KubeRay gives the Pods restartPolicy Never, so that a
 * failed worker is replaced instead of started again in its Pod. It refuses v2 beside another restartPolicy, and beside
 * the head's variable RAY_enable_autoscaler_v2. */
bool autoscaler_may_be_v2(const struct ray_cluster *cluster);
/* True when the last part of the image's name, without tag and digest, contains "rayscaler". */
bool autoscaler_container_is_ours(const struct container *container);

#endif
