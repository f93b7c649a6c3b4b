/* The container that KubeRay makes of spec.autoscalerOptions; reported once per RayCluster. */
#include <string.h>

#include "base/text.h"
#include "core/model/autoscaler_container.h"
#include "core/model/network_policy.h"
#include "feature/lint/core/lint_subject.h"

#define PARK_LINES "command: [timeout]\nargs: [infinity, sleep, infinity]\n"
#define RESOURCE_LINES                                                                             \
	"resources:\n"                                                                             \
	"  requests: {cpu: 1m, memory: 4Mi}\n"                                                     \
	"  limits: {cpu: 50m, memory: 16Mi}"

/* A parked container that reserves as much has kept the resources of Ray's autoscaler. */
#define PARKED_CPU_MOST (RESOURCE_UNIT / 5)
#define PARKED_MEMORY_MOST (INT64_C(128) * 1024 * 1024 * RESOURCE_UNIT)

/* The PodSets of a Workload, less that of the head (kueue: MaxPodSets). */
/* Pod sets of a Workload, but for the head's. */
#define KUEUE_GROUPS_OF_0_18 9
#define KUEUE_GROUPS_MAX 17

static bool has_container(const struct lint_subject *subject)
{
	return !subject->group && subject->cluster->enable_in_tree_autoscaling;
}

static bool has_resources(const struct container *options)
{
	return options->limits.count + options->requests.count > 0;
}

/* The time after which the command ends, as "3600" of `sleep 3600`; NULL: never. */
static const char *end_of(const struct container *options)
{
	const struct strings *lists[] = { &options->command, &options->args };
	bool waits = false;

	for (size_t l = 0; l < 2; l++)
		for (size_t i = 0; i < lists[l]->count; i++) {
			const char *word = lists[l]->at[i], *slash = strrchr(word, '/');

			if (waits && text_is_digit(*word))
				return word;
			word = slash ? slash + 1 : word;
			waits = strcmp(word, "sleep") == 0 || strcmp(word, "timeout") == 0;
		}
	return NULL;
}

static void check_end(struct lint_subject *subject)
{
	const struct container *options = &subject->cluster->autoscaler_options;
	const char *end = end_of(options);

	if (end)
		lint_report_finding(
			subject, LINT_RULE_AUTOSCALER_NOT_PARKED, "spec.autoscalerOptions",
			"command: [timeout]\nargs: [infinity, sleep, infinity]",
			"the container autoscaler sleeps for %.20s and ends; with "
			"restartPolicy Never the head Pod is not Ready from then on: write "
			"infinity",
			end)
			->severity = LINT_WARNING;
}

void lint_autoscaler_not_parked(struct lint_subject *subject)
{
	const struct ray_cluster *cluster = subject->cluster;
	const char *fix =
		arena_printf(subject->arena, "%s%s%s", PARK_LINES,
			     autoscaler_may_be_v2(cluster) ? "version: v2\n" : "",
			     has_resources(&cluster->autoscaler_options) ? "" : RESOURCE_LINES);
	const char *path;

	if (has_container(subject) && autoscaler_options_run(cluster) == AUTOSCALER_RUNS_NOTHING)
		check_end(subject);
	if (!has_container(subject) || autoscaler_options_run(cluster) != AUTOSCALER_RUNS_OTHER)
		return;
	path = lint_place(subject, "spec", "autoscalerOptions", cluster->has_autoscaler_options,
			  &fix);
	lint_report_finding(
		subject, LINT_RULE_AUTOSCALER_NOT_PARKED, path, fix,
		"the container autoscaler is not parked, so a rayscaler controller does not scale "
		"the cluster; add these lines (KubeRay 1.7), then delete the head Pod");
}

void lint_parked_without_image(struct lint_subject *subject)
{
	const struct container *options = &subject->cluster->autoscaler_options;
	const char *program = options->command.count > 0 ? options->command.at[0] : "";

	if (!has_container(subject))
		return;
	if (strcmp(program, "rayscaler") == 0 && options->image[0] == '\0')
		lint_report_finding(
			subject, LINT_RULE_PARKED_WITHOUT_IMAGE, "spec.autoscalerOptions",
			PARK_LINES,
			"command rayscaler is not in the image of Ray, which the container "
			"autoscaler has without image: park with sleep, or add the image");
	else if ((strcmp(program, "sleep") == 0 || strcmp(program, "timeout") == 0) &&
		 autoscaler_container_is_ours(options))
		lint_report_finding(
			subject, LINT_RULE_PARKED_WITHOUT_IMAGE, "spec.autoscalerOptions.image", "",
			"the image of rayscaler has no sleep: remove image, and the container "
			"autoscaler has the image of Ray");
}

/* The reserved amount: the request, or the limit where there is none. */
static const struct quantity *reserved(const struct container *options, const char *name)
{
	const struct quantity *request = quantities_find(&options->requests, name);

	return request ? request : quantities_find(&options->limits, name);
}

static bool reserves(const struct container *options, const char *name, int64_t least)
{
	const struct quantity *amount = reserved(options, name);

	return amount && amount->valid && amount->amount >= least;
}

/* KubeRay's default resources, or about as much: the lines of KubeRay's samples. */
void lint_parked_without_resources(struct lint_subject *subject)
{
	const struct container *options = &subject->cluster->autoscaler_options;

	if (!has_container(subject) ||
	    autoscaler_options_run(subject->cluster) != AUTOSCALER_RUNS_NOTHING)
		return;
	if (!has_resources(options))
		lint_report_finding(
			subject, LINT_RULE_PARKED_WITHOUT_RESOURCES, "spec.autoscalerOptions",
			RESOURCE_LINES,
			"KubeRay reserves 500m CPU and 512Mi for the container autoscaler, which sleeps");
	else if (reserves(options, "cpu", PARKED_CPU_MOST) ||
		 reserves(options, "memory", PARKED_MEMORY_MOST))
		lint_report_finding(
			subject, LINT_RULE_PARKED_WITHOUT_RESOURCES,
			"spec.autoscalerOptions.resources", RESOURCE_LINES,
			"the container autoscaler reserves %s CPU and %s of memory in each head Pod, and "
			"sleeps",
			reserved(options, "cpu") ? reserved(options, "cpu")->text : "no",
			reserved(options, "memory") ? reserved(options, "memory")->text : "none");
}

static bool restarts_in_place(const struct pod_template *template)
{
	return strcmp(template->spec.restart_policy, "Never") != 0;
}

/* Where the container is not parked, version is one of the lines that park it. */
void lint_workers_restart_in_place(struct lint_subject *subject)
{
	const struct ray_cluster *cluster = subject->cluster;
	const char *fix = "version: v2", *path;

	if (!has_container(subject) || !autoscaler_may_be_v2(cluster) ||
	    autoscaler_options_run(cluster) == AUTOSCALER_RUNS_OTHER)
		return;
	for (size_t g = 0; g < cluster->group_count; g++) {
		if (!restarts_in_place(&cluster->groups[g].template))
			continue;
		path = lint_place(subject, "spec", "autoscalerOptions",
				  cluster->has_autoscaler_options, &fix);
		lint_report_finding(
			subject, LINT_RULE_WORKERS_RESTART_IN_PLACE, path, fix,
			"without version: v2 KubeRay 1.7 gives Pods no restartPolicy Never: a worker of "
			"group %s that fails starts again in its Pod, and is not replaced",
			cluster->groups[g].name);
		return;
	}
}

/* A sidecar connects inside of the head Pod. */
void lint_network_policy_closed(struct lint_subject *subject)
{
	long long port = subject->cluster->closed_gcs_port;

	if (!has_container(subject) || port == 0 ||
	    autoscaler_options_run(subject->cluster) != AUTOSCALER_RUNS_NOTHING)
		return;
	lint_report_finding(subject, LINT_RULE_NETWORK_POLICY_CLOSED, "spec.networkPolicy",
			    arena_printf(subject->arena,
					 "head:\n  ingressRules:\n  - from: " NETWORK_POLICY_FROM
					 "\n    ports: [{port: %lld}]",
					 port),
			    "no rule of head.ingressRules opens port %lld of the head, so the "
			    "controller cannot read the demand, unless another NetworkPolicy does",
			    port);
}

/* kueue 0.18: pkg/controller/jobs/raycluster/raycluster_webhook.go. */
void lint_kueue_refuses(struct lint_subject *subject)
{
	static const char fix[] = KUEUE_ANNOTATION_ELASTIC_JOB ": \"true\"";
	const struct ray_cluster *cluster = subject->cluster;
	const char *elastic = labels_value(&cluster->annotations, KUEUE_ANNOTATION_ELASTIC_JOB);

	if (!labels_value(&cluster->labels, KUEUE_LABEL_QUEUE))
		return;
	if (subject->group) {
		if (strcmp(subject->group->name, "head") == 0)
			lint_report_finding(
				subject, LINT_RULE_KUEUE_REFUSES, subject->path, "",
				"Kueue keeps the name head for the head: rename the group");
		return;
	}
	if (cluster->enable_in_tree_autoscaling && (!elastic || strcmp(elastic, "true") != 0))
		lint_report_finding(
			subject, LINT_RULE_KUEUE_REFUSES, "metadata.annotations", fix,
			"Kueue admits a RayCluster that is scaled only as an elastic job");
	if (cluster->enable_in_tree_autoscaling &&
	    strcmp(cluster->managed_by, "kueue.x-k8s.io/multikueue") == 0)
		lint_report_finding(subject, LINT_RULE_KUEUE_REFUSES, "spec.managedBy", "",
				    "MultiKueue (Kueue 0.18, 0.19) runs no RayCluster that is "
				    "scaled: remove it, or enableInTreeAutoscaling");
	if (cluster->group_count > KUEUE_GROUPS_OF_0_18)
		lint_report_finding(
			subject, LINT_RULE_KUEUE_REFUSES, "spec.workerGroupSpecs", "",
			"%zu groups; beside the head a Workload has room for %d in Kueue 0.18, %d "
			"from 0.19 on",
			cluster->group_count, KUEUE_GROUPS_OF_0_18, KUEUE_GROUPS_MAX)
			->severity = cluster->group_count > KUEUE_GROUPS_MAX ? LINT_ERROR :
									       LINT_WARNING;
}

/* KAI: ray_grouper.go, and stalegangeviction.go of its scheduler. */
void lint_kai_ends_cluster(struct lint_subject *subject)
{
	static const char grace[] = "kai.scheduler/staleness-grace-period";
	const struct ray_cluster *cluster = subject->cluster;

	if (subject->group || !cluster->enable_in_tree_autoscaling ||
	    labels_value(&cluster->annotations, grace))
		return;
	for (size_t i = 0; i < cluster->group_count; i++) {
		const struct worker_group *group = &cluster->groups[i];

		if (group->min_replicas > 0 || group->max_replicas == 0 ||
		    labels_value(&group->template.annotations, grace) ||
		    (!labels_value(&cluster->labels, "kai.scheduler/queue") &&
		     !text_same(group->template.spec.scheduler_name, "kai-scheduler")))
			continue;
		lint_report_finding(
			subject, LINT_RULE_KAI_ENDS_CLUSTER, "metadata.annotations",
			arena_printf(subject->arena, "%s: \"-1s\"", grace),
			"minReplicas of group %s is 0, so all its replicas are KAI's gang: when one "
			"waits for 60 s, KAI ends the head and all workers (before KAI 0.17: "
			"write minReplicas 1)",
			group->name);
		return;
	}
}
