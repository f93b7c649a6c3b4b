/* Settings that another one overrides or makes void; those of fields that no decoder reads are rows of
 * feature/lint/objects/lint_void.c. */
#include <string.h>

#include "base/text.h"
#include "core/capacity/resize_limits.h"
#include "feature/lint/core/lint_subject.h"

static struct lint_finding *report(struct lint_subject *subject, const char *path, const char *why)
{
	return lint_report_finding(subject, LINT_RULE_SETTING_WITHOUT_EFFECT, path, "", "%s", why);
}

/* ---- the cluster ---- */

enum fact {
	AUTOSCALED = 1 << 0, /* enableInTreeAutoscaling */
	OPTIONS = 1 << 1,    /* autoscalerOptions */
	REQUEST = 1 << 2,    /* the annotation rayscaler.dev/request-resources */
	UNMANAGED = 1 << 3,  /* rayscaler.dev/managed: "false" */
	PARKED = 1 << 4,     /* the container autoscaler sleeps */
	OPTIONS_ENV = 1 << 5,
	FT = 1 << 6, /* fault tolerance of the GCS, by options or annotation */
	FT_NAMESPACE = 1 << 7,
	FT_TIMEOUT = 1 << 8,
	TOKEN = 1 << 9, /* authOptions.mode: token */
	TOKEN_SECRET = 1 << 10,
	SIDECAR_RUNS = 1 << 11, /* the container autoscaler is rayscaler */
};

#define ANNOTATION(name) "metadata.annotations[\"" name "\"]"
#define FT_NAMESPACE_NAME "ray.io/external-storage-namespace"
#define FT_TIMEOUT_NAME "ray.io/gcs-ft-deletion-timeout"
#define NO_FT                                                                                      \
	" has no effect without fault tolerance of the GCS: add gcsFaultToleranceOptions, or "     \
	"remove it"

static const struct {
	unsigned on, off; /* facts that must hold, and that must not */
	const char *path, *why, *fix;
} rows[] = {
	{ OPTIONS, AUTOSCALED, "spec.autoscalerOptions",
	  "autoscalerOptions has no effect without enableInTreeAutoscaling: add it, or remove "
	  "autoscalerOptions",
	  "enableInTreeAutoscaling: true" },
	{ REQUEST, AUTOSCALED, ANNOTATION(ANNOTATION_REQUEST_RESOURCES),
	  ANNOTATION_REQUEST_RESOURCES " has no effect without enableInTreeAutoscaling: add it, or "
				       "remove the annotation",
	  "" },
	{ REQUEST | UNMANAGED, 0, ANNOTATION(ANNOTATION_REQUEST_RESOURCES),
	  ANNOTATION_REQUEST_RESOURCES " has no effect beside " ANNOTATION_MANAGED
				       ": \"false\": remove one of them",
	  "" },
	{ AUTOSCALED | PARKED | OPTIONS_ENV, 0, "spec.autoscalerOptions.env[0]",
	  "env has no effect, as the container autoscaler sleeps: remove it", "" },
	{ FT_NAMESPACE, FT, ANNOTATION(FT_NAMESPACE_NAME), FT_NAMESPACE_NAME NO_FT, "" },
	{ FT_TIMEOUT, FT, ANNOTATION(FT_TIMEOUT_NAME), FT_TIMEOUT_NAME NO_FT, "" },
	{ TOKEN_SECRET, TOKEN, "spec.authOptions.secretName",
	  "secretName has no effect without mode token: add it, or remove secretName",
	  "mode: token" },
};

static unsigned facts_of_options(const struct ray_cluster *cluster)
{
	static const char sleeps[] = "timeout|sleep|/bin/sleep";
	static const char own[] = "rayscaler|/usr/local/bin/rayscaler";
	const struct container *options = &cluster->autoscaler_options;
	const char *command = options->command.count > 0 ? options->command.at[0] : "";
	unsigned facts = cluster->has_autoscaler_options ? OPTIONS : 0;

	facts |= text_is_word(command, sleeps) ? PARKED : 0;
	facts |= text_is_word(command, own) ? SIDECAR_RUNS : 0;
	return facts | (options->env_count > 0 ? OPTIONS_ENV : 0);
}

static unsigned facts_of(const struct ray_cluster *cluster)
{
	static const char yes[] = "true|True|TRUE";
	const struct labels *annotations = &cluster->annotations;
	const char *managed = labels_value(annotations, ANNOTATION_MANAGED);
	const char *tolerant = labels_value(annotations, "ray.io/ft-enabled");
	const char *namespace_ = labels_value(annotations, FT_NAMESPACE_NAME);
	const char *timeout = labels_value(annotations, FT_TIMEOUT_NAME);
	unsigned facts = facts_of_options(cluster);

	facts |= cluster->enable_in_tree_autoscaling ? AUTOSCALED : 0;
	facts |= labels_value(annotations, ANNOTATION_REQUEST_RESOURCES) ? REQUEST : 0;
	facts |= managed && strcmp(managed, "false") == 0 ? UNMANAGED : 0;
	facts |= cluster->gcs_fault_tolerance || (tolerant && text_is_word(tolerant, yes)) ? FT : 0;
	facts |= namespace_ && *namespace_ != '\0' ? FT_NAMESPACE : 0;
	facts |= timeout && *timeout != '\0' ? FT_TIMEOUT : 0;
	facts |= strcmp(cluster->auth_mode, "token") == 0 ? TOKEN : 0;
	return facts | (cluster->auth_secret_name[0] != '\0' ? TOKEN_SECRET : 0);
}

static void check_rows(struct lint_subject *subject, unsigned facts)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if ((facts & rows[i].on) == rows[i].on && !(facts & rows[i].off))
			report(subject, rows[i].path, rows[i].why)->fix = rows[i].fix;
}

/* ---- variables and options of `ray start` ---- */

/* Of Ray's autoscaler, ray/autoscaler/_private/constants.py of Ray 2.60. */
static const char *const autoscaler_variables[] = {
	"AUTOSCALER_UPDATE_INTERVAL_S",           "AUTOSCALER_MAX_LAUNCH_BATCH",
	"AUTOSCALER_MAX_CONCURRENT_LAUNCHES",     "AUTOSCALER_MAX_NUM_FAILURES",
	"AUTOSCALER_CONSERVE_GPU_NODES",          "AUTOSCALER_NODE_START_WAIT_S",
	"AUTOSCALER_NODE_TERMINATE_WAIT_S",       "AUTOSCALER_HEARTBEAT_TIMEOUT_S",
	"AUTOSCALER_UTILIZATION_SCORER",          "AUTOSCALER_NODE_AVAILABILITY_MAX_STALENESS_S",
	"AUTOSCALER_UPSCALING_INITIAL_NUM_NODES",
};

static void check_variables(struct lint_subject *subject, const struct container *container,
			    const char *path, const char *why)
{
	for (size_t i = 0; i < container->env_count; i++)
		if (text_is_among(container->env[i].name, autoscaler_variables,
				  sizeof(autoscaler_variables) / sizeof(autoscaler_variables[0])))
			report(subject, arena_printf(subject->arena, "%s.env[%zu]", path, i),
			       arena_printf(subject->arena, "%s %s", container->env[i].name, why));
}

static void check_all_variables(struct lint_subject *subject, unsigned facts)
{
	if (!(facts & AUTOSCALED))
		return;
	if (!subject->group && (facts & SIDECAR_RUNS))
		check_variables(
			subject, &subject->cluster->autoscaler_options, "spec.autoscalerOptions",
			"has no effect on rayscaler: it is of Ray's autoscaler; write a flag of "
			"`rayscaler run` into args");
	if (subject->container)
		check_variables(
			subject, subject->container, subject->container_path,
			facts & PARKED ?
				"has no effect, as Ray's autoscaler does not run: remove it" :
				"has no effect in this container: write it into env of "
				"spec.autoscalerOptions");
}

/* KubeRay writes them. */
static void check_written(struct lint_subject *subject, const char *option, const char *why)
{
	static const char same[] = "true|True|";
	const char *value = labels_value(subject->start_params, option);
	const char *path = lint_path_member(subject->arena, subject->path, "rayStartParams");

	if (value && !text_is_word(value, same))
		report(subject, lint_path_member(subject->arena, path, option),
		       arena_printf(subject->arena, "%s has no effect: %s; remove it", option,
				    why));
}

static void check_idle_timeout(struct lint_subject *subject)
{
	const struct ray_cluster *cluster = subject->cluster;
	size_t own = 0;

	for (size_t g = 0; g < cluster->group_count; g++)
		own += cluster->groups[g].has_idle_timeout_seconds;
	if (cluster->has_idle_timeout_seconds && own > 0 && own == cluster->group_count)
		report(subject, "spec.autoscalerOptions.idleTimeoutSeconds",
		       "idleTimeoutSeconds of autoscalerOptions has no effect: each group has its "
		       "own; remove it");
}

/* It orders groups. */
static void check_priority(struct lint_subject *subject)
{
	const struct ray_cluster *cluster = subject->cluster;

	for (size_t g = 1; g < cluster->group_count; g++)
		if (cluster->groups[g].priority != cluster->groups[0].priority)
			return;
	if (cluster->group_count > 1 && cluster->groups[0].priority != 0)
		report(subject, "spec.workerGroupSpecs[0].priority",
		       "priority has no effect: no group has another one; remove it, or give the "
		       "group that starts first a higher one");
}

/* Of `ray start` on a worker, Ray 2.60. Options that end it are in lint_start_param.c. */
static void check_head_options(struct lint_subject *subject)
{
	static const char *const options[] = { "dashboard-port", "dashboard-grpc-port",
					       "ray-client-server-port", "autoscaling-config" };
	const char *path = lint_path_member(subject->arena, subject->path, "rayStartParams");

	for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++)
		if (labels_value(subject->start_params, options[i]))
			report(subject, lint_path_member(subject->arena, path, options[i]),
			       arena_printf(subject->arena,
					    "%s has no effect on a worker: write it into "
					    "rayStartParams of the head, or remove it",
					    options[i]))
				->severity = LINT_INFO;
}

/* A group of one size has no worker to terminate. */
static void check_group(struct lint_subject *subject)
{
	const struct worker_group *group = subject->group;

	if (group->has_idle_timeout_seconds && group->min_replicas == group->max_replicas &&
	    !group->problem)
		report(subject,
		       lint_path_member(subject->arena, subject->path, "idleTimeoutSeconds"),
		       arena_printf(subject->arena,
				    "idleTimeoutSeconds of %s has no effect: minReplicas and "
				    "maxReplicas are both %lld, so no worker is terminated; lower "
				    "minReplicas, or remove it",
				    subject->title, (long long)group->min_replicas));
}

static const struct pod_spec *spec_of(const struct ray_cluster *cluster, const char *group)
{
	if (strcmp(group, HEAD_GROUP_NAME) == 0)
		return &cluster->head_template.spec;
	for (size_t g = 0; g < cluster->group_count; g++)
		if (strcmp(cluster->groups[g].name, group) == 0)
			return &cluster->groups[g].template.spec;
	return NULL;
}

static void check_maximum(struct lint_subject *subject, const struct resize_group *limits,
			  const char *resource, int64_t maximum)
{
	const struct pod_spec *spec = spec_of(subject->cluster, limits->name);
	const struct quantity *request;

	if (!spec || spec->container_count == 0)
		return;
	request = quantities_find(&spec->containers[0].requests, resource);
	if (request->valid && maximum < request->amount)
		report(subject,
		       lint_path_member(subject->arena, "metadata.annotations", ANNOTATION_RESIZE),
		       arena_printf(subject->arena,
				    "max-%s of group %.64s has no effect: its container requests "
				    "%s already; write more than that",
				    resource, limits->name, request->text));
}

static void check_resize(struct lint_subject *subject)
{
	const struct resize_limits *all = subject->cluster->resize;

	if (!all)
		return;
	ARRAY_EACH(const struct resize_group, limits, all->groups, all->group_count) {
		if (resize_limits_problem(subject->cluster, limits, subject->arena))
			continue;
		check_maximum(subject, limits, "cpu", limits->max_cpu);
		check_maximum(subject, limits, "memory", limits->max_memory);
	}
}

void lint_setting_without_effect(struct lint_subject *subject)
{
	unsigned facts = facts_of(subject->cluster);

	check_all_variables(subject, facts);
	check_written(subject, "block", "KubeRay always writes true");
	if (subject->group)
		check_head_options(subject);
	else
		check_rows(subject, facts);
	if (!subject->group && (facts & AUTOSCALED))
		check_written(subject, "no-monitor",
			      "KubeRay writes true, as enableInTreeAutoscaling is set");
	if (!subject->cluster->enable_in_tree_autoscaling)
		return;
	if (subject->group) {
		check_group(subject);
		return;
	}
	check_idle_timeout(subject);
	check_priority(subject);
	check_resize(subject);
}
