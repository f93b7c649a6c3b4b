/* Every rule of lint, in one place: docs/LINT.md, `rayscaler lint --rules` and SARIF are made from
 * this table. Users write rule names into their own tools, so one is never changed, only added.
 * Must not contain messages: the rules write those with the values of the case. */
#ifndef FEATURE_LINT_CORE_LINT_RULE_H
#define FEATURE_LINT_CORE_LINT_RULE_H

#include <stdbool.h>
#include <stddef.h>

#include "core/model/object_rule.h"
#include "core/model/reason.h"
#include "feature/lint/core/lint_finding.h"

/* X(identifier, severity, name, check, error, what to do)
 * N(identifier, severity, name, error, what to do): rules without a check, for errors that only a decoder can
 * see, for rules of a RayClusterAutoscaler (feature/lint/core/lint_settings.c) and of objects of features
 * (codec/objects/object_kinds.h).
 *
 * severity: the usual one; a rule that can have another states so in its text.
 *
 * T(identifier, severity, name, rule, error, what to do): rules of features about the head or a worker group.
 * S(identifier, severity, name, problem, error, what to do): rules of features about a RayClusterAutoscaler.
 *
 * check: a function in a file feature/lint/core/lint_*.c, which the row declares.
 *
 * rule, problem: an object_group_rule, a lint_problem_function of the feature, which the row declares.
 *
 * Findings of one group are in this order. */
#define LINT_RULE_TABLE(X, T, N, S)                                                                                                                                                \
	N(CANNOT_BE_READ, ERROR, "cannot-be-read",                                                                                                                                 \
	  "a file is not YAML or JSON, has a duplicate member, or is too large",                                                                                                   \
	  "fix the text at the named line and column")                                                                                                                             \
	N(WRONG_TYPE, ERROR, "wrong-type",                                                                                                                                         \
	  "a field does not have the JSON type of the RayCluster definition",                                                                                                      \
	  "write the type that the message names")                                                                                                                                 \
	N(RAY_START_PARAM_NOT_STRING, ERROR, "ray-start-param-not-string",                                                                                                         \
	  "a value of `rayStartParams` is not a string: the API server refuses the object",                                                                                        \
	  "put the value into quotes")                                                                                                                                             \
	X(FIELD_INVALID, ERROR, RULE_FIELD_INVALID, lint_field_invalid,                                                                                                            \
	  "a number or name is outside the range of its field",                                                                                                                    \
	  "write a value that the message allows")                                                                                                                                 \
	X(CONTAINER_MISSING, ERROR, "container-missing", lint_container_missing,                                                                                                   \
	  "the Pod template has no container: KubeRay refuses the RayCluster",                                                                                                     \
	  "add the container that runs Ray; it is the first one")                                                                                                                  \
	X(QUANTITY_INVALID, ERROR, "quantity-invalid", lint_quantity_invalid,                                                                                                      \
	  "an amount of a resource is not a Kubernetes quantity, is negative, or is larger than any machine",                                                                      \
	  "write a number such as `2`, `500m` or `16Gi`")                                                                                                                          \
	X(RAY_START_PARAM_INVALID, ERROR, "ray-start-param-invalid", lint_ray_start_param_invalid,                                                                                 \
	  "a number of `rayStartParams` or a custom resource is not whole, a port is out of range, `resources` is not an object of numbers: "                                      \
	  "`ray start` fails; or it ignores a name there",                                                                                                                         \
	  "write the line of the message; `memory` is in bytes")                                                                                                                   \
	X(RAY_START_PARAM_UNKNOWN, WARNING, "ray-start-param-unknown",                                                                                                             \
	  lint_ray_start_param_unknown,                                                                                                                                            \
	  "`rayStartParams` has an unknown name, on which `ray start` fails; an error for a resource and for a name near a known one",                                             \
	  "write the line or name of the message")                                                                                                                                 \
	X(RAY_START_PARAM_AND_RESOURCES, ERROR, "ray-start-param-and-resources",                                                                                                   \
	  lint_ray_start_param_and_resources,                                                                                                                                      \
	  "a group has resources both in `resources` and in `rayStartParams`: KubeRay "                                                                                            \
	  "refuses the RayCluster",                                                                                                                                                \
	  "keep those of `resources`")                                                                                                                                             \
	X(LABEL_INVALID, ERROR, "label-invalid", lint_label_invalid,                                                                                                               \
	  "`labels` of a group is not of the syntax of Kubernetes labels, or is in `rayStartParams`, where KubeRay refuses it",                                                    \
	  "write labels into the group's own `labels`")                                                                                                                            \
	X(REQUEST_INVALID, ERROR, "request-invalid", lint_request_invalid,                                                                                                         \
	  "a bundle of the annotation `rayscaler.dev/request-resources` asks for more than one GPU "                                                                               \
	  "and not for whole ones, which Ray refuses; or it has more than 1,000 different bundles, or cannot be read (row B3)",                                                    \
	  "ask for whole GPUs, or for a part of one")                                                                                                                              \
	N(KUBERAY_REFUSES, ERROR, "kuberay-refuses",                                                                                                                               \
	  "KubeRay 1.7 refuses the object: nothing is created or scaled; an info where a feature gate decides",                                                                    \
	  "change the field of the message")                                                                                                                                       \
	X(POD_REFUSED, ERROR, "pod-refused", lint_pod_refused,                                                                                                                     \
	  "the API server or kubelet refuses every Pod of the head or group: a request above its limit, an invalid label or name, "                                                \
	  "a mount without a volume; a warning or info where Node or Namespace decide",                                                                                            \
	  "change the field of the message")                                                                                                                                       \
	N(SERVER_REFUSES, ERROR, "server-refuses",                                                                                                                                 \
	  "with `--server`: the API server refuses the object, or a Pod as KubeRay would make it (validation, admission, quota, policies); a warning where it could not be asked", \
	  "change the field of the message")                                                                                                                                       \
	X(RAY_VERSION_DIFFERS, ERROR, "ray-version-differs", lint_ray_version_differs,                                                                                             \
	  "the images of head and group name different versions of Ray or Python: no worker joins; a warning for `rayVersion` beside the head's image",                            \
	  "write one version")                                                                                                                                                     \
	N(RAY_NOT_STARTED, ERROR, "ray-not-started",                                                                                                                               \
	  "the command of Ray's container does not end, and KubeRay runs `ray start` after it",                                                                                    \
	  "remove the command")                                                                                                                                                    \
	N(START_COMMAND_UNQUOTED, WARNING, "start-command-unquoted",                                                                                                               \
	  "a shell expands `$KUBERAY_GEN_RAY_START_CMD` without its quotes; an error where a value has some",                                                                      \
	  "write `eval \"$KUBERAY_GEN_RAY_START_CMD\"`")                                                                                                                           \
	X(SETTING_WITHOUT_EFFECT, WARNING, RULE_WITHOUT_EFFECT, lint_setting_without_effect,                                                                                       \
	  "another setting overrides this one, or makes it void",                                                                                                                  \
	  "remove one of them, or write the line")                                                                                                                                 \
	N(API_VERSION_OLD, WARNING, "api-version-old",                                                                                                                             \
	  "`ray.io/v1alpha1` has no new fields; KubeRay 1.9 does not serve it",                                                                                                    \
	  "write `ray.io/v1`")                                                                                                                                                     \
	N(GRACE_PERIOD_LONG, WARNING, "grace-period-long",                                                                                                                         \
	  "`terminationGracePeriodSeconds` of half an hour or more: a terminated Pod keeps its Node for so long",                                                                  \
	  "write some minutes")                                                                                                                                                    \
	N(POD_DEADLINE, WARNING, "pod-deadline",                                                                                                                                   \
	  "`activeDeadlineSeconds` of a template ends each Pod after this time, at work or not",                                                                                   \
	  "remove it")                                                                                                                                                             \
	X(RAY_VERSION_OLD, WARNING, "ray-version-old", lint_ray_version_old,                                                                                                       \
	  "the head's image has a Ray before 2.47, with which autoscaling is not supported",                                                                                       \
	  "use a later image")                                                                                                                                                     \
	X(TPU_HOSTS_DIFFER, WARNING, "tpu-hosts-differ", lint_tpu_hosts_differ,                                                                                                    \
	  "`numOfHosts` is not the number of hosts of the TPU topology: Pods of a slice stay Pending, or it is not complete",                                                      \
	  "write the number of the message")                                                                                                                                       \
	N(UNKNOWN_FIELD, WARNING, "unknown-field",                                                                                                                                 \
	  "the RayCluster has no such field: the API server drops or refuses it; an error if it is near one",                                                                      \
	  "correct the name, or remove the line")                                                                                                                                  \
	X(ANNOTATION_INVALID, WARNING, "annotation-invalid", lint_annotation_invalid,                                                                                              \
	  "an annotation `rayscaler.dev/...` or `ray.io/...` is unknown; an error where it is known elsewhere (also labels), or where "                                            \
	  "`rayscaler.dev/managed` is neither `true` nor `false`, or where KAI refuses `gpu-fraction` or `gpu-memory`",                                                            \
	  "correct the name or the value, or remove the line")                                                                                                                     \
	X(GPU_NAME_MISSPELT, WARNING, "gpu-name-misspelt", lint_gpu_name_misspelt,                                                                                                 \
	  "the name of a resource differs in one letter from that of an accelerator",                                                                                              \
	  "write the name of the accelerator")                                                                                                                                     \
	X(CPU_UNDETECTED, WARNING, "cpu-undetected", lint_cpu_undetected,                                                                                                          \
	  "no field says how many CPUs a worker has, so its fit is unknown; an error where autoscaling is on: the group is not scaled",                                            \
	  "give the Ray container a limit of `cpu`, or the group `num-cpus`")                                                                                                      \
	X(MIN_ABOVE_MAX, ERROR, "min-above-max", lint_min_above_max,                                                                                                               \
	  "`minReplicas` of a group is above its `maxReplicas`: KubeRay refuses the RayCluster; a warning for `replicas`",                                                         \
	  "raise `maxReplicas` or lower `minReplicas`")                                                                                                                            \
	X(MAX_UNSET, WARNING, "max-unset", lint_max_unset,                                                                                                                         \
	  "a group that is scaled has no `maxReplicas`, so only the demand limits its cost",                                                                                       \
	  "write the most workers that you want to pay for")                                                                                                                       \
	X(AUTOSCALING_OFF, INFO, "autoscaling-off", lint_autoscaling_off,                                                                                                          \
	  "groups have room between `minReplicas` and `maxReplicas`, and no autoscaler scales them",                                                                               \
	  "set `enableInTreeAutoscaling` if they are to be scaled")                                                                                                                \
	X(AUTOSCALER_NOT_PARKED, INFO, "autoscaler-not-parked", lint_autoscaler_not_parked,                                                                                        \
	  "the container `autoscaler` is not parked: no rayscaler controller scales the cluster",                                                                                  \
	  "add the lines, then delete the head Pod")                                                                                                                               \
	X(PARKED_WITHOUT_IMAGE, WARNING, "parked-without-image", lint_parked_without_image,                                                                                        \
	  "the image lacks the command: `rayscaler` in Ray's image, or `sleep` in rayscaler's",                                                                                    \
	  "park with `sleep` in Ray's image")                                                                                                                                      \
	X(PARKED_WITHOUT_RESOURCES, WARNING, "parked-without-resources",                                                                                                           \
	  lint_parked_without_resources,                                                                                                                                           \
	  "KubeRay reserves 500m CPU and 512Mi for a container that sleeps", "add the lines")                                                                                      \
	X(WORKERS_RESTART_IN_PLACE, INFO, "workers-restart-in-place",                                                                                                              \
	  lint_workers_restart_in_place,                                                                                                                                           \
	  "without `version: v2` KubeRay does not set restartPolicy Never: a worker that fails starts again in its Pod",                                                           \
	  "add the line")                                                                                                                                                          \
	X(NETWORK_POLICY_CLOSED, INFO, "network-policy-closed", lint_network_policy_closed,                                                                                        \
	  "`networkPolicy` closes the GCS port to the controller, unless another NetworkPolicy opens it",                                                                          \
	  "add the rule")                                                                                                                                                          \
	X(KUEUE_REFUSES, ERROR, "kueue-refuses", lint_kueue_refuses,                                                                                                               \
	  "Kueue refuses the RayCluster: no elastic job, a group `head`, more than 17 groups (a warning from 10 on: Kueue 0.18), MultiKueue",                                      \
	  "change the field of the message")                                                                                                                                       \
	X(KAI_ENDS_CLUSTER, WARNING, "kai-ends-cluster", lint_kai_ends_cluster,                                                                                                    \
	  "KAI ends the head and all workers when a worker of a group with `minReplicas` 0 waits for 60 s",                                                                        \
	  "add the annotation, or set `minReplicas`")                                                                                                                              \
	X(GPU_NOT_INTEGER, ERROR, "gpu-not-integer", lint_gpu_not_integer,                                                                                                         \
	  "an amount of an accelerator is not a whole number: the API server refuses the Pods (row "                                                                               \
	  "D2); a warning in the group's own `resources`, which KubeRay rounds up",                                                                                                \
	  "write a whole number; parts of a GPU are asked for in Ray: `num_gpus=0.5`")                                                                                             \
	X(GPU_REQUEST_WITHOUT_LIMIT, ERROR, "gpu-request-without-limit",                                                                                                           \
	  lint_gpu_request_without_limit,                                                                                                                                          \
	  "an accelerator is in `requests` and not in `limits`: the API server refuses the "                                                                                       \
	  "Pods (row D3)",                                                                                                                                                         \
	  "write it into `limits`; `requests` is then the same")                                                                                                                   \
	X(GPU_REQUEST_LIMIT_DIFFER, ERROR, "gpu-request-limit-differ",                                                                                                             \
	  lint_gpu_request_limit_differ,                                                                                                                                           \
	  "`requests` and `limits` of an accelerator differ: the API server refuses the Pods (row "                                                                                \
	  "D3)",                                                                                                                                                                   \
	  "write the same amount, or leave it out of `requests`")                                                                                                                  \
	X(GPU_OBSOLETE_RESOURCE, WARNING, "gpu-obsolete-resource", lint_gpu_obsolete_resource,                                                                                     \
	  "no device plugin advertises the accelerator any more, so the Pods fit on no Node (rows D1, B5)",                                                                        \
	  "write today's name")                                                                                                                                                    \
	X(GPU_IN_SECOND_CONTAINER, WARNING, "gpu-in-second-container",                                                                                                             \
	  lint_gpu_in_second_container,                                                                                                                                            \
	  "a container beside Ray's asks for an accelerator of its own: containers do not share "                                                                                  \
	  "one, and Ray does not count it (row D4)",                                                                                                                               \
	  "ask for it in the first container")                                                                                                                                     \
	X(GPU_UNKNOWN_TO_RAY, WARNING, "gpu-unknown-to-ray", lint_gpu_unknown_to_ray,                                                                                              \
	  "KubeRay does not pass the accelerator to Ray, and the group does not declare it, so no demand starts its workers (rows C1, C2, B5); info for a MIG "                    \
	  "profile, which counts as a GPU",                                                                                                                                        \
	  "declare it with `num-gpus` or `resources`; the fix has the line")                                                                                                       \
	X(GPU_COUNT_MISMATCH, INFO, "gpu-count-mismatch", lint_gpu_count_mismatch,                                                                                                 \
	  "`num-gpus` or `resources` give Ray another number of GPUs than the container has (row "                                                                                 \
	  "A6); Ray takes it as given, GPUs are logical",                                                                                                                          \
	  "nothing, if it is intended")                                                                                                                                            \
	X(GPU_AND_NEURON, WARNING, "gpu-and-neuron", lint_gpu_and_neuron,                                                                                                          \
	  "a worker has GPUs and Neuron cores; Ray refuses tasks that ask for both (row B5)",                                                                                      \
	  "make one group for each kind")                                                                                                                                          \
	X(GPU_TOLERATION_MISSING, INFO, "gpu-toleration-missing", lint_gpu_toleration_missing,                                                                                     \
	  "the Pods tolerate no Node with the accelerator (row A7); reported when the Nodes are known, and a warning for taints of another name",                                  \
                                                                                                                                                                                   \
	  "add the toleration, unless the plugin ExtendedResourceToleration does (GKE, EKS and AKS, which are not reported)")                                                      \
	X(GPU_VISIBLE_WITHOUT_REQUEST, INFO, "gpu-visible-without-request",                                                                                                        \
	  lint_gpu_visible_without_request,                                                                                                                                        \
	  "Pods that ask for no GPU see all GPUs of a GPU Node that may take them (row A8); a warning when a known one does; once for a cluster",                                  \
                                                                                                                                                                                   \
	  "set `NVIDIA_VISIBLE_DEVICES` to `void`")                                                                                                                                \
	X(TPU_SELECTOR_MISSING, WARNING, "tpu-selector-missing", lint_tpu_selector_missing,                                                                                        \
	  "a group with TPUs lacks the node selectors of topology and accelerator, so `TPU-...-head` is not known before a worker lives",                                          \
	  "write both selectors")                                                                                                                                                  \
	X(SELECTOR_MATCHES_NO_NODE, WARNING, "selector-matches-no-node",                                                                                                           \
	  lint_selector_matches_no_node,                                                                                                                                           \
	  "no Node has the labels that `nodeSelector` or the required node affinity ask for (rows "                                                                                \
	  "A9, D5); reported only when the Nodes are known",                                                                                                                       \
	  "write a value that Nodes have; nothing when a node autoscaler makes such Nodes")                                                                                        \
	X(AFFINITY_ANNOTATION_OBSOLETE, WARNING, "affinity-annotation-obsolete",                                                                                                   \
	  lint_affinity_annotation_obsolete,                                                                                                                                       \
	  "the annotation `scheduler.alpha.kubernetes.io/affinity` has no effect since Kubernetes "                                                                                \
	  "1.8 (row D5)",                                                                                                                                                          \
	  "write it as `affinity` of the Pod's spec")                                                                                                                              \
	N(TIME_ZONE_UNKNOWN, WARNING, "time-zone-unknown",                                                                                                                         \
	  "a schedule's time zone is not in the tzdata of this machine",                                                                                                           \
	  "write a name like `Europe/Berlin`")                                                                                                                                     \
	N(GROUP_UNKNOWN, WARNING, "group-unknown",                                                                                                                                 \
	  "the RayCluster in the same files has no such group", "correct the name")                                                                                                \
	N(GROUP_TOO_SMALL, WARNING, "group-too-small",                                                                                                                             \
	  "a minimum or warm count is above the group's `maxReplicas`",                                                                                                            \
	  "raise `maxReplicas`, or lower it")                                                                                                                                      \
	FEATURE_LINT_RULES(T, N, S)

enum lint_rule_id {
#define X(identifier, ...) LINT_RULE_##identifier,
	LINT_RULE_TABLE(X, X, X, X)
#undef X
		LINT_RULE_COUNT
};

struct lint_rule {
	enum lint_severity severity;
	const char *name, *what, *cure;
	bool in_controller; /* a row with a check; the command alone has the others */
};

/* LINT_RULE_COUNT rows in the order of the table. */
const struct lint_rule *lint_rules(void);
/* Appends a finding with the severity of its rule; the strings must live as long as the
 * findings. The result is valid until the next one. */
struct lint_finding *lint_add(struct arena *arena, struct lint_findings *findings,
			      enum lint_rule_id rule, const char *path, const char *message,
			      const char *fix);

/* Appends what a rule of a feature found; `id` LINT_RULE_COUNT: of the row that it names. */
void lint_add_problem(struct arena *arena, struct lint_findings *findings, enum lint_rule_id id,
		      const struct object_problem *problem);

/* The row of a rule's name, which is in the table. */
enum lint_rule_id lint_rule_id(const char *name);

/* "1 error", "2 errors" */
const char *lint_count_text(struct arena *arena, size_t count, const char *what);
const char *lint_severity_name(enum lint_severity severity); /* "info", "warning", "error" */
/* `path` and a member of it: ".name", or ["name"] when the name has other characters than
 * letters, digits, "_" and "-" (so that a path can be read back). */
const char *lint_path_member(struct arena *arena, const char *path, const char *name);
/* The end of a path that lint_path_member() made: "maxReplicas", "[\"nvidia.com/gpu\"]". */
const char *lint_member_name(const char *path);
/* A path for a message: without "spec." at its beginning. */
const char *lint_shown_path(const char *path);

#endif
