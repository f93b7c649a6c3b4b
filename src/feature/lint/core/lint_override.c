/* Settings that another one overrides or makes void; those of fields that no decoder reads are rows of
 * feature/lint/objects/lint_void.c. */
#include <string.h>

#include "core/capacity/resize_limits.h"
#include "feature/lint/core/lint_subject.h"

static struct lint_finding *report(struct lint_subject *subject, const char *path, const char *why)
{
	return lint_report_finding(subject, LINT_RULE_SETTING_WITHOUT_EFFECT, path, "", "%s", why);
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
