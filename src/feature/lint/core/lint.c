#include "feature/lint/core/lint.h"

#include "feature/lint/core/lint_subject.h"

/* Those of features. */
static void run_feature_rules(struct lint_subject *subject)
{
	static const struct {
		enum lint_rule_id id;
		object_group_rule *rule;
	} rules[] = {
#define N(...)
#define T(identifier, severity, name, rule, ...) { LINT_RULE_##identifier, rule },
		LINT_RULE_TABLE(N, T, N, N){ LINT_RULE_COUNT, NULL },
#undef T
#undef N
	};
	const struct object_group group = {
		.cluster = subject->cluster,
		.group = subject->group,
		.path = subject->path,
		.title = subject->title,
		.pod = subject->pod,
		.claims = subject->capacity.claims,
		.devices = subject->context->devices,
		.has_start_params = subject->start_params->count > 0,
		.declares_gpus = lint_declares_gpus(subject),
	};

	for (size_t i = 0; rules[i].rule; i++) {
		struct object_problems problems = { .list = { .at = NULL } };

		rules[i].rule(&group, subject->arena, &problems);
		VEC_EACH(const struct object_problem, problem, &problems.list)
			if (problem->path) {
				lint_add_problem(subject->arena, subject->findings, rules[i].id,
						 problem);
			} else {
				size_t before = subject->findings->list.count;

				lint_problem(subject, rules[i].id, problem->message);
				if (subject->findings->list.count > before)
					subject->findings->list.at[before].decided =
						problem->decided;
			}
	}
}

static void run_rules(struct lint_subject *subject)
{
	static void (*const checks[])(struct lint_subject *) = {
#define X(identifier, severity, name, check, what, cure) check,
#define N(...)
		LINT_RULE_TABLE(X, N, N, N)
#undef N
#undef X
	};
	subject->pod = &subject->template->spec;
	subject->container = subject->pod->container_count > 0 ? &subject->pod->containers[0] :
								 NULL;
	subject->container_path =
		arena_printf(subject->arena, "%s.template.spec.containers[0]", subject->path);
	for (size_t i = 0; i < sizeof(checks) / sizeof(checks[0]); i++)
		checks[i](subject);
	run_feature_rules(subject);
}

static bool has_nvidia(const struct lint_subject *subject, const struct pod_spec *pod)
{
	struct quantities devices = lint_devices(subject, pod);
	for (size_t i = 0; i < devices.count; i++)
		if (lint_is_nvidia(lint_device(subject, &devices.at[i])))
			return true;
	return false;
}

static bool cluster_has_nvidia(const struct lint_subject *subject)
{
	const struct ray_cluster *cluster = subject->cluster;
	for (size_t g = 0; g < cluster->group_count; g++)
		if (has_nvidia(subject, &cluster->groups[g].template.spec))
			return true;
	return has_nvidia(subject, &cluster->head_template.spec);
}

/* The members that the head and all groups have in common. */
#define OF_ALL(from)                                                                               \
	.cluster = (from)->cluster, .context = (from)->context, .arena = (from)->arena,            \
	.findings = (from)->findings, .cluster_has_nvidia = (from)->cluster_has_nvidia

static void lint_head(const struct lint_subject *all)
{
	const struct ray_cluster *cluster = all->cluster;
	struct lint_subject subject = { OF_ALL(all),
					.path = "spec.headGroupSpec",
					.title = "the head",
					.resources = &cluster->head_resources,
					.labels = &cluster->head_labels,
					.start_params = &cluster->head_start_params,
					.template = &cluster->head_template };
	capacity_of_head(cluster, all->context->settings, all->context->devices, all->arena,
			 &subject.capacity);
	run_rules(&subject);
}

static void lint_group(const struct lint_subject *all, size_t index)
{
	const struct worker_group *group = &all->cluster->groups[index];
	struct lint_subject subject = { OF_ALL(all),
					.path = arena_printf(all->arena,
							     "spec.workerGroupSpecs[%zu]", index),
					.title = arena_printf(all->arena, "group %s", group->name),
					.group = group,
					.resources = &group->resources,
					.labels = &group->labels,
					.start_params = &group->ray_start_params,
					.template = &group->template };
	capacity_of_group(all->cluster, index, all->context->settings, all->context->devices,
			  all->arena, &subject.capacity);
	run_rules(&subject);
}

void lint_cluster(const struct ray_cluster *cluster, const struct lint_context *context,
		  struct arena *arena, struct lint_findings *findings)
{
	struct lint_subject subject = {
		.cluster = cluster,
		.context = context,
		.arena = arena,
		.findings = findings,
	};
	subject.cluster_has_nvidia = cluster_has_nvidia(&subject);
	lint_head(&subject);
	for (size_t g = 0; g < cluster->group_count; g++)
		lint_group(&subject, g);
}
