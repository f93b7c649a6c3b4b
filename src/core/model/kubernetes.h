/* The few fields of Kubernetes and KubeRay objects that this program uses, as plain data. Made only
 * by codec (one decoder per object); owned by the arena of the decoder's caller. Must not be sent
 * back: a foreign object is never round-tripped, only patched.
 *
 * Strings are never NULL: an absent one is "", unless a has_ member or a comment states otherwise.
 * Objects arrive with any content: `problems` lists the errors in fields of the right JSON type
 * ("spec.workerGroupSpecs[0].maxReplicas: ..."); the decoder rejects a wrong JSON type. */
#ifndef CORE_MODEL_KUBERNETES_H
#define CORE_MODEL_KUBERNETES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/time.h"
#include "core/model/calendar.h"
#include "core/model/resources.h"

struct memory_backoff;
struct memory_template;
struct ray_constraint; /* core/model/ray_state.h */
struct summary;

/* One entry of limits, requests, capacity, allocatable or a group's `resources`, in the order
 * of the object (Ray takes the first GPU key, so the order matters). */
struct quantity {
	const char *name;
	const char *text; /* as received; a JSON number in its shortest form */
	bool valid;       /* parsed, not negative, not above RESOURCE_AMOUNT_MAX */
	int64_t amount;   /* 1/10000 units, rounded up; 0 when invalid */
};

struct quantities {
	const struct quantity *at;
	size_t count;
};

/* NULL when absent. */
const struct quantity *quantities_find(const struct quantities *quantities, const char *name);

struct strings {
	const char *const *at;
	size_t count;
};

struct container_port {
	const char *name;
	int64_t port; /* 0: not 1 to 65535 */
};

#define VISIBLE_DEVICES_VARIABLE "NVIDIA_VISIBLE_DEVICES"

struct env_variable {
	const char *name;
	const char *value; /* "" with valueFrom, and of most variables, whose values are not read */
};

/* An entry of a container's resources.claims. */
struct container_claim {
	const char *name;    /* of spec.resourceClaims */
	const char *request; /* "": all requests of the claim */
};

struct container {
	const char *name;
	const char *image;
	struct strings command; /* of the container `autoscaler` alone, as args */
	struct strings args;
	struct quantities limits;
	struct quantities requests;
	const struct container_port *ports;
	size_t port_count;
	const struct env_variable *env;
	size_t env_count;
	/* The first of cpu and memory whose resizePolicy restarts the container; NULL: none. */
	const char *restarts_for;
	const struct container_claim *claims; /* Dynamic Resource Allocation */
	size_t claim_count;
};

struct toleration {
	const char *key, *operation /* Exists, Equal, "" */, *value, *effect;
};

/* requiredDuringScheduling: terms are ORed, the expressions of a term are ANDed. */
struct node_expression {
	const char *key, *operation; /* In, NotIn, Exists, DoesNotExist, Gt, Lt */
	struct strings values;
	bool is_field; /* matchFields instead of matchExpressions */
};

struct node_term {
	const struct node_expression *expressions;
	size_t count;
};

/* An entry of spec.resourceClaims. One of claim and template_ is given. */
struct pod_claim {
	const char *name;
	const char *claim;     /* resourceClaimName: all Pods of the template share it */
	const char *template_; /* resourceClaimTemplateName: each Pod has a claim of its own */
};

/* An entry of a Pod's status.resourceClaimStatuses: the claim that was made from the template. */
struct pod_claim_status {
	const char *name;
	const char *claim; /* "": none was needed */
};

struct container_resources {
	struct quantities limits, requests;
};

struct pod_spec {
	/* Index 0 is the Ray container, as in KubeRay. Behind the first ones only those that ask for
	 * something. */
	const struct container *containers;
	size_t container_count;
	/* Pod-level `resources` (Kubernetes 1.37): of cpu, memory and huge pages they replace the sum of the
	 * containers. Neither KubeRay nor Ray reads them. */
	struct container_resources resources;
	struct labels node_selector;
	const struct node_term *required_node_terms; /* NULL: no required node affinity */
	size_t required_node_term_count;
	struct strings pod_affinity_keys; /* topologyKeys of required affinity to Pods */
	const struct toleration *tolerations;
	size_t toleration_count;
	struct strings scheduling_gates; /* names */
	const char *node_name;
	const char *restart_policy;
	const char *scheduler_name;
	/* The gang of kube-scheduler: its PodGroup (Kubernetes 1.36), or its Workload (1.35). "": none. */
	const char *pod_group, *workload;
	const struct pod_claim *claims;
	size_t claim_count;
	/* Of the Pod's annotations: parts of a GPU beside the limits of the Ray container, such as
	 * gpu-fraction (codec/objects/gpu_annotation). */
	struct quantities gpu_shares;
};

/* A value of a Secret in the Pod's namespace; secret "": none. */
struct secret_key {
	const char *secret, *key;
};

/* How Ray in the first container of a head Pod is secured, by its variables and volumes. Never in a
 * snapshot. */
struct ray_auth {
	const char *mode;        /* RAY_AUTH_MODE; "" when not set */
	const char *plain_token; /* RAY_AUTH_TOKEN as a value; "" when it is not */
	/* Of RAY_AUTH_TOKEN, of the file RAY_AUTH_TOKEN_PATH, or of ~/.ray/auth_token. */
	struct secret_key token;
	bool kubernetes_tokens; /* RAY_ENABLE_K8S_TOKEN_AUTH */
	bool tls;               /* RAY_USE_TLS */
	/* Of the files RAY_TLS_SERVER_CERT, RAY_TLS_SERVER_KEY and RAY_TLS_CA_CERT. */
	struct secret_key certificate, private_key, ca;
};

struct pod_template {
	struct labels labels, annotations;
	struct pod_spec spec;
};

struct worker_group {
	const char *name; /* groupName */
	bool has_replicas;
	int64_t replicas;     /* 0 when absent */
	int64_t min_replicas; /* 0 when absent */
	int64_t max_replicas; /* 2147483647 when absent */
	int64_t num_of_hosts; /* 1 when absent */
	bool has_idle_timeout_seconds;
	int64_t idle_timeout_seconds; /* 0 is a valid timeout */
	int64_t priority;             /* 0 when absent */
	bool suspend;
	bool has_resources; /* the group's own `resources` field */
	struct quantities resources;
	struct labels labels; /* the group's own `labels` field */
	struct labels ray_start_params;
	struct pod_template template;
	bool has_scale_strategy, has_workers_to_delete;
	struct strings workers_to_delete;
	const char *scale_gate; /* scaleStrategy.scaleGate as JSON text, "" when absent */
	/* NULL, or the first invalid number or name of this group that is of the right type
	 * (negative, above int32, no groupName, a groupName that an earlier group has): the group
	 * is left unchanged, and the numbers here are clamped to their range. Also in the cluster's
	 * problems. Quantities are not in it: they have their own `valid`. */
	const char *problem;
	/* The first of those numbers, as it was given; member NULL: none. Kept for the file
	 * form. */
	const char *bad_member;
	int64_t bad_value;
};

/* ---- in-place resize, as Ray has it: ANNOTATION_RESIZE ---- */

struct resize_group {
	const char *name;
	int64_t max_cpu, max_memory; /* 1/10000 */
	int64_t timeout_seconds;
};

struct resize_limits {
	const struct resize_group *groups;
	size_t group_count;
	const char *problem; /* NULL, or why the annotation cannot be read: then it has no groups */
};

/* The last resize of a Pod: ANNOTATION_RESIZE_STATUS. */
struct resize_status {
	const char *raylet_id; /* "": unknown */
	int64_t resizing_at;   /* Unix seconds of the request; 0: none is under way */
	int64_t suggested_cpu; /* 1/10000: the largest for which the Node has room; 0: unknown */
	int64_t suggested_memory;
	int64_t wanted_cpu, wanted_memory; /* of the request, not of Ray's form; 0: unknown */
	int64_t last_failed_at;         /* Unix seconds; then it is never resized again; 0: not */
	const char *last_failed_reason; /* "": none */
};

struct condition {
	const char *type, *status, *reason, *message;
	time_ms last_transition; /* TIME_NONE when absent */
};

/* One of the two is NULL. */
struct annotation_request {
	const struct ray_constraint *bundles;
	const char *problem; /* why it cannot be used, with the annotation's name */
};

struct ray_cluster {
	const char *api_version; /* "ray.io/v1" or "ray.io/v1alpha1" */
	const char *namespace_, *name, *uid, *resource_version;
	int64_t generation;
	int64_t observed_generation; /* of status: the last one that KubeRay accepted; 0: unknown */
	bool deleting;               /* deletionTimestamp is set */
	struct labels labels, annotations;
	const struct resize_limits *resize; /* NULL: no annotation */
	/* rayscaler.dev/request-resources, by codec/objects/request_resources; NULL: none */
	const struct annotation_request *request;
	const char *owner_kind, *owner_name; /* of the first owner reference; NULL: none */
	bool enable_in_tree_autoscaling, suspend;
	bool idle_suspend;                               /* Ray's autoscaler suspended it */
	const struct idle_termination *idle_termination; /* NULL: not given */
	const char *managed_by;
	const char *ray_version;
	bool has_idle_timeout_seconds; /* autoscalerOptions.idleTimeoutSeconds */
	int64_t idle_timeout_seconds;
	const char *upscaling_mode, *autoscaler_version; /* of autoscalerOptions */
	/* autoscalerOptions: image, command, args, env and resources; never in a snapshot */
	bool has_autoscaler_options;
	struct container autoscaler_options;
	bool gcs_fault_tolerance; /* gcsFaultToleranceOptions is there */
	/* enable of its activePassiveHead (kuberay#4910), and of activePassiveOptions, as
	 * kuberay#5289 names it */
	bool active_passive_head, active_passive_options;
	const char *auth_mode;        /* authOptions.mode */
	const char *auth_secret_name; /* authOptions.secretName */
	bool auth_kubernetes_tokens;  /* authOptions.enableK8sTokenAuth */
	bool tls_enabled;             /* tlsOptions.enabled */
	/* The port of the GCS, where networkPolicy has no rule that opens it; 0: open. Not in a
	 * snapshot. */
	int64_t closed_gcs_port;
	struct labels head_start_params;
	bool head_has_resources;
	struct quantities head_resources;
	struct labels head_labels;
	struct pod_template head_template;
	const struct worker_group *groups;
	size_t group_count;
	/* The last writer of workerGroupSpecs in metadata.managedFields other than this program; ""
	 * unknown */
	const char *groups_manager;
	const struct condition *conditions; /* status.conditions */
	size_t condition_count;
	const char *head_pod_name, *head_pod_ip; /* of status.head, as the operator wrote it */
	struct strings problems;
	/* Why the object cannot be read; NULL: it can. If set, there are only the metadata, whether
	 * this program scales it, and no groups. */
	const char *unreadable;
};

enum container_state {
	CONTAINER_UNKNOWN = 0,
	CONTAINER_WAITING,
	CONTAINER_RUNNING,
	CONTAINER_TERMINATED
};

/* How a run of a container ended. */
struct container_end {
	const char *reason, *message;
	int64_t exit_code;
	time_ms finished_at; /* TIME_NONE when absent */
};

struct container_status {
	const char *name;
	enum container_state state;
	const char *reason, *message; /* of waiting */
	time_ms started_at;           /* of running, else of terminated; TIME_NONE when absent */
	int64_t restart_count;
	struct container_end end;         /* of terminated */
	const struct container_end *last; /* of lastState; NULL: none */
	/* That it has now; NULL: those of the spec. Only of Pods with a resize_status. */
	const struct container_resources *resources;
};

/* A share of a device that a scheduler for shared GPUs assigned to a Pod
 * (codec/objects/gpushare_json). */
struct device_use {
	int64_t device; /* its index on the Node, 0 and above */
	int64_t amount; /* 1/10000 of the resource's unit; 0: the Pod's whole request */
};

/* The controller among metadata.ownerReferences. */
struct pod_owner {
	const char *api_version, *kind, *name, *uid;
};

struct pod {
	const char *namespace_, *name, *uid, *resource_version;
	const struct pod_owner *owner; /* NULL: no controller; core/model/identity judges it */
	struct labels labels, annotations;
	time_ms created; /* TIME_NONE when absent */
	bool deleting;
	time_ms deletion_time;          /* the end of its grace period */
	int64_t deletion_grace_seconds; /* deletionGracePeriodSeconds; 0 when absent */
	struct pod_spec spec;
	const struct ray_auth *ray_auth; /* NULL: not a head, or nothing of it is set */
	const char *phase;               /* Pending, Running, Succeeded, Failed, Unknown, "" */
	const char *pod_ip;
	const char *reason, *message; /* of status */
	const struct condition *conditions;
	size_t condition_count;
	const struct container_status *container_statuses;
	size_t container_status_count;
	/* Those that have not ended with exit code 0. */
	const struct container_status *init_statuses;
	size_t init_status_count;
	const struct device_use *device_uses;
	size_t device_use_count;
	const struct resize_status *resize; /* NULL: it was never resized */
	const struct pod_claim_status *claim_statuses;
	size_t claim_status_count;
	/* Why the object cannot be read; NULL: it can. If set, there are only names, uid, times of
	 * creation and deletion and the labels of KubeRay, and the Pod counts as present and
	 * busy. */
	const char *unreadable;
	struct strings problems;
};
/* No value is given. */
extern const struct pod pod_empty;

struct taint {
	const char *key, *value, *effect;
	time_ms added; /* TIME_NONE: unknown */
};

struct node {
	const char *name, *resource_version;
	const char *address; /* its InternalIP; only shown, never part of the file */
	struct labels labels, annotations;
	struct quantities capacity, allocatable;
	const struct taint *taints;
	size_t taint_count;
	bool unschedulable;
	const struct condition *conditions;
	size_t condition_count;
	struct strings problems;
};

struct namespace
{
	const char *name, *resource_version;
	struct labels labels;
};

struct event {
	const char *namespace_, *name;
	const char *involved_kind, *involved_name, *involved_uid;
	const char *reason, *message, *type;
	const char *source; /* source.component or reportingController */
	int64_t count;
	time_ms first_time, last_time; /* TIME_NONE when absent */
};

/* A RayClusterAutoscaler (rayscaler.dev/v1alpha1): the user's settings. */
/* Bounds of launches, of a cluster or of one of its groups. */
struct autoscaler_launch {
	bool has_start, has_node, has_hold, has_most_starting;
	int64_t start_seconds,
		node_seconds;  /* as --start-timeout-seconds and the time for a Node */
	int64_t hold_seconds;  /* as --gang-hold-seconds; 0: no limit */
	int64_t most_starting; /* as --max-starting-workers; 0: none */
};

struct autoscaler_group {
	const char *name;
	bool has_idle_timeout_seconds;
	int64_t idle_timeout_seconds;
	struct autoscaler_launch launch;
};

#define AUTOSCALER_WARM_COUNT_MAX 100000
#define AUTOSCALER_WARM_PERCENT_MAX 1000

/* Free workers to keep ready. One of count and percent_of_busy is given, the other one 0; a value
 * outside of 1 to the maximum counts as not given. */
struct autoscaler_warm {
	const char *group;
	int64_t count;           /* replicas */
	int64_t percent_of_busy; /* of the group's replicas in use, rounded up */
};

struct autoscaler_schedule_group {
	const char *name;
	int64_t min_replicas; /* 0 and above */
};

/* Requests within windows of time: spec.schedules. */
struct autoscaler_schedule {
	const char *name, *time_zone; /* "": UTC */
	const char *start, *duration; /* as given */
	struct cron cron;
	int64_t duration_ms;
	bool invalid;      /* start or duration: see the problems of the object */
	bool never_starts; /* likewise */
	const struct autoscaler_schedule_group *groups;
	size_t group_count;
	bool has_bundles;
	const struct ray_constraint *bundles; /* NULL: none, or malformed */
	const char *bundles_text;             /* JSON, as given, of has_bundles */
	const struct autoscaler_warm *warm_workers;
	size_t warm_count;
};

/* The members of the status that features own (ctl/report/feature.h), each with a struct of its own;
 * NULL: none. They are renewed with the time of the decision. */
struct autoscaler_parts {
	const struct autoscaler_metering *metering;
	const struct requests_kept *requests; /* NULL: none; of feature/requests */
};

struct autoscaler_object {
	const char *namespace_, *name, *uid, *resource_version;
	int64_t generation;
	bool paused;
	bool has_idle_timeout_seconds;
	int64_t idle_timeout_seconds;
	const char *upscaling_mode;
	bool has_max_gpus;
	int64_t max_gpus;         /* 1/10000 GPU; 0 when it does not parse */
	const char *bad_max_gpus; /* then: the given text, kept for the file form; else NULL */
	struct autoscaler_launch launch;
	const struct autoscaler_group *groups;
	size_t group_count;
	const struct autoscaler_warm *warm_workers;
	size_t warm_count;
	const struct autoscaler_schedule *schedules;
	size_t schedule_count;
	const struct idle_termination *idle_termination; /* NULL: not given */
	bool has_protect_busy_pods, protect_busy_pods;
	bool has_protect_at_most_seconds;
	int64_t protect_at_most_seconds; /* 0: no limit */
	bool has_lower_while_suspended, lower_while_suspended;
	const struct repair_spec *repair;     /* NULL: not given */
	const struct requests_spec *requests; /* NULL: not given */
	struct strings problems;
	/* Its last status, core/report/summary.h; NULL: none, or too large. A member of an unknown
	 * form counts as absent. Decisions use only the templates, and without memory the back-offs; ctl/queue/poll_interval uses
	 * undecided_seconds. */
	const struct summary *status;
	/* autoscaler_status_text(status); "" without one, or when a member could not be read. */
	const char *status_text;
	/* The entries of workers seen alive that its status holds; core/decide/template_seen.h. */
	const struct memory_template *templates;
	size_t template_count;
	/* Its groups' back-offs; core/decide/backoff.h. */
	const struct memory_backoff *backoffs;
	size_t backoff_count;
};

/* Labels and annotations that KubeRay and this program agree on. */
#define RAY_API_VERSION "ray.io/v1"
#define RAY_SUSPEND_PATH "/spec/suspend"
#define LABEL_CLUSTER "ray.io/cluster"
/* Of Kueue: the LocalQueue of a workload; an annotation of one that changes its size, and the gate of its Pods. */
#define KUEUE_LABEL_QUEUE "kueue.x-k8s.io/queue-name"
#define KUEUE_ANNOTATION_ELASTIC_JOB "kueue.x-k8s.io/elastic-job"
/* The field manager of our writes, in the query, or as the API server derives it from our User-Agent. */
#define FIELD_MANAGER "rayscaler"
#define LABEL_NODE_TYPE "ray.io/node-type" /* head, worker, redis-cleanup, ... */
#define LABEL_GROUP "ray.io/group"
#define LABEL_REPLICA_NAME "ray.io/worker-group-replica-name"
#define LABEL_REPLICA_INDEX "ray.io/worker-group-replica-index"
#define LABEL_HOST_INDEX "ray.io/replica-host-index"
/* Of NVIDIA's GPU feature discovery and DRA driver: the NVLink domain of a Node. */
#define LABEL_CLIQUE "nvidia.com/gpu.clique"
/* Of Alibaba's gpushare scheduler, on Pods. */
#define GPUSHARE_ANNOTATION_INDEX "ALIYUN_COM_GPU_MEM_IDX"
#define GPUSHARE_ANNOTATION_ALLOCATION "scheduler.framework.gpushare.allocation"
/* Of node autoscalers, on Pods. */
#define KARPENTER_ANNOTATION "karpenter.sh/do-not-disrupt"
#define CLUSTER_AUTOSCALER_ANNOTATION "cluster-autoscaler.kubernetes.io/safe-to-evict"
#define ANNOTATION_REQUEST_RESOURCES "rayscaler.dev/request-resources"
#define ANNOTATION_MANAGED "rayscaler.dev/managed"
#define ANNOTATION_DO_NOT_DISRUPT "rayscaler.dev/do-not-disrupt" /* of a worker Pod */
/* RFC 3339 time at which this program set spec.suspend because the RayCluster was idle. Written and
 * removed together with it: a suspended RayCluster without it was suspended by another client, and is
 * never resumed. */
#define ANNOTATION_SUSPENDED "rayscaler.dev/suspended-by-idle-termination"
/* Ray's limits for in-place resize, on the RayCluster, and what was done, on a Pod. */
#define ANNOTATION_RESIZE "ray.io/ippr"
#define ANNOTATION_RESIZE_STATUS "ray.io/ippr-status"
#define HEAD_GROUP_NAME "headgroup"

/* The bundles of the annotation rayscaler.dev/request-resources; NULL: none, or it cannot be used. */
const struct ray_constraint *ray_cluster_requested(const struct ray_cluster *cluster);
/* The value of ANNOTATION_SUSPENDED when this program has suspended the RayCluster; else NULL. */
const char *ray_cluster_suspended_at(const struct ray_cluster *cluster);
/* NULL when absent. */
const struct condition *condition_find(const struct condition *conditions, size_t count,
				       const char *type);
/* Of spec and its schedules; false for NULL. */
bool autoscaler_has_warm_workers(const struct autoscaler_object *object);
bool autoscaler_has_bundles(const struct autoscaler_object *object);
/* It sets nothing. */
bool autoscaler_group_is_empty(const struct autoscaler_group *group);
/* The status of container 0 of the spec (by its name), NULL when absent. */
const struct container_status *pod_ray_container_status(const struct pod *pod);
/* When the deletion of a Pod that is deleted was asked for. */
time_ms pod_deletion_asked(const struct pod *pod);
/* By its state, lastState or restartCount. */
bool container_has_run(const struct container_status *status);
bool pod_is_head(const struct pod *pod);
bool pod_is_worker(const struct pod *pod);
bool pod_is_protected(const struct pod *pod); /* do-not-disrupt, with another value than false */

#endif
