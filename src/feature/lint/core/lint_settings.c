/* The rules of a RayClusterAutoscaler. Problems that a decision reports as well have their words from
 * core/model/autoscaler_problem.h. */
#include <string.h>

#include "base/int64.h"
#include "core/model/autoscaler_problem.h"
#include "core/model/time_zone.h"
#include "core/report/overridden.h"
#include "feature/lint/core/lint.h"
#include "feature/lint/core/lint_subject.h"

/* Of one list: as many as the API server accepts. */
#define GROUPS_MAX 1000

static const char *element(const struct lint_subject *subject, const char *path, size_t index)
{
	return arena_printf(subject->arena, "%s[%zu]", path, index);
}

static const char *member(const struct lint_subject *subject, const char *path, size_t index,
			  const char *name)
{
	return arena_printf(subject->arena, "%s[%zu].%s", path, index, name);
}

/* ---- the object alone ---- */

static void check_warm(struct lint_subject *subject, const char *path,
		       const struct autoscaler_warm *list, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if ((list[i].count != 0) == (list[i].percent_of_busy != 0))
			lint_report_finding(subject, LINT_RULE_FIELD_INVALID,
					    element(subject, path, i), "",
					    AUTOSCALER_WARM_WITHOUT_AMOUNT
					    "; the API server refuses the object");
}

static void check_schedules(struct lint_subject *subject, const struct autoscaler_object *object)
{
	for (size_t i = 0; i < object->schedule_count; i++) {
		const struct autoscaler_schedule *schedule = &object->schedules[i];
		const char *path = element(subject, "spec.schedules", i);

		if (schedule->group_count == 0 && !schedule->has_bundles &&
		    schedule->warm_count == 0)
			lint_report_finding(subject, LINT_RULE_FIELD_INVALID, path, "",
					    AUTOSCALER_WITHOUT_REQUEST
					    "; the API server refuses the object");
		check_warm(subject, arena_printf(subject->arena, "%s.warmWorkers", path),
			   schedule->warm_workers, schedule->warm_count);
	}
}

static void check_zones(struct lint_subject *subject, const struct autoscaler_object *object,
			const struct time_zone *zones, size_t count)
{
	for (size_t i = 0; i < object->schedule_count; i++) {
		const struct autoscaler_schedule *schedule = &object->schedules[i];

		for (size_t z = 0; z < count; z++)
			if (zones[z].problem && strcmp(zones[z].name, schedule->time_zone) == 0)
				lint_problem(
					subject, LINT_RULE_TIME_ZONE_UNKNOWN,
					autoscaler_problem_no_zone(
						member(subject, "spec.schedules", i, "timeZone"),
						schedule,
						autoscaler_problem_zone(schedule, zones[z].problem,
									subject->arena),
						subject->arena));
	}
}

static void check_features(struct lint_subject *subject, const struct autoscaler_object *object,
			   const char *owner)
{
	static const struct {
		enum lint_rule_id rule;
		lint_problem_function *problem;
	} rules[] = {
#define N(...)
#define S(identifier, severity, name, problem, ...) { LINT_RULE_##identifier, problem },
		LINT_RULE_TABLE(N, N, N, S){ LINT_RULE_COUNT, NULL },
#undef S
#undef N
	};

	for (size_t i = 0; rules[i].problem; i++) {
		const char *problem = rules[i].problem(object, owner, subject->arena);
		const char *what = problem ? strstr(problem, ": ") : NULL;

		if (what)
			lint_report_finding(subject, rules[i].rule,
					    arena_strndup(subject->arena, problem,
							  (size_t)(what - problem)),
					    "", "%s", what + 2);
	}
}

/* ---- with its RayCluster ---- */

/* `replicas`: 0 for a field without a number. */
static void check_group(struct lint_subject *subject, const char *path, const char *name,
			const char *name_member, int64_t replicas, const char *replicas_member)
{
	const struct worker_group *group = autoscaler_problem_group(subject->cluster, name);

	if (name[0] != '\0' && !group)
		lint_problem(subject, LINT_RULE_GROUP_UNKNOWN,
			     autoscaler_problem_no_group(subject->cluster,
							 lint_path_member(subject->arena, path,
									  name_member),
							 name, subject->arena));
	if (group && replicas > group->max_replicas)
		lint_problem(subject, LINT_RULE_GROUP_TOO_SMALL,
			     autoscaler_problem_above_max(lint_path_member(subject->arena, path,
									   replicas_member),
							  replicas, group, subject->arena));
}

static void check_warm_groups(struct lint_subject *subject, const char *path,
			      const struct autoscaler_warm *list, size_t count)
{
	for (size_t i = 0; i < count; i++)
		check_group(subject, element(subject, path, i), list[i].group, "group",
			    list[i].count, "count");
}

static void check_groups(struct lint_subject *subject, const struct autoscaler_object *object)
{
	for (size_t i = 0; i < object->group_count && i < GROUPS_MAX; i++)
		check_group(subject, element(subject, "spec.groups", i), object->groups[i].name,
			    "name", 0, "");
	check_warm_groups(subject, "spec.warmWorkers", object->warm_workers, object->warm_count);
	for (size_t s = 0; s < object->schedule_count; s++) {
		const struct autoscaler_schedule *schedule = &object->schedules[s];
		const char *groups = member(subject, "spec.schedules", s, "groups");

		for (size_t i = 0; i < schedule->group_count && i < GROUPS_MAX; i++)
			check_group(subject, element(subject, groups, i), schedule->groups[i].name,
				    "name", schedule->groups[i].min_replicas, "minReplicas");
		check_warm_groups(subject, member(subject, "spec.schedules", s, "warmWorkers"),
				  schedule->warm_workers, schedule->warm_count);
	}
}

/* ---- settings that others override ---- */

static void check_override(struct lint_subject *subject, const struct snapshot *snapshot,
			   const char *path, const char *setting)
{
	bool counts;
	const char *winner = overridden_by(snapshot, setting, subject->arena, &counts);

	if (winner)
		lint_report_finding(subject, LINT_RULE_SETTING_WITHOUT_EFFECT, path, "",
				    "%s has no effect: %s; remove one of them",
				    lint_shown_path(path), winner);
}

static void check_schedule_minimum(struct lint_subject *subject, const char *path,
				   const struct autoscaler_schedule_group *given)
{
	const struct worker_group *group = autoscaler_problem_group(subject->cluster, given->name);

	if (group && given->min_replicas > 0 && given->min_replicas <= group->min_replicas)
		lint_report_finding(subject, LINT_RULE_SETTING_WITHOUT_EFFECT,
				    lint_path_member(subject->arena, path, "minReplicas"), "",
				    "minReplicas %lld has no effect: group %.63s has minReplicas "
				    "%lld at all times; raise it, or remove it",
				    (long long)given->min_replicas, group->name,
				    (long long)group->min_replicas);
}

static void check_overrides(struct lint_subject *subject, const struct autoscaler_object *object)
{
	struct snapshot *snapshot = ARENA_NEW(subject->arena, struct snapshot);

	snapshot->cluster = *subject->cluster;
	snapshot->autoscaler = object;
	if (object->has_idle_timeout_seconds)
		check_override(subject, snapshot, "spec.idleTimeoutSeconds", "idleTimeoutSeconds");
	if (object->upscaling_mode[0] != '\0')
		check_override(subject, snapshot, "spec.upscalingMode", "upscalingMode");
	for (size_t i = 0; i < object->group_count && i < GROUPS_MAX; i++)
		if (object->groups[i].has_idle_timeout_seconds)
			check_override(subject, snapshot,
				       member(subject, "spec.groups", i, "idleTimeoutSeconds"),
				       arena_printf(subject->arena, "groups[%s].idleTimeoutSeconds",
						    object->groups[i].name));
	for (size_t s = 0; s < object->schedule_count; s++) {
		const struct autoscaler_schedule *schedule = &object->schedules[s];
		const char *groups = member(subject, "spec.schedules", s, "groups");

		for (size_t i = 0; i < schedule->group_count && i < GROUPS_MAX; i++)
			check_schedule_minimum(subject, element(subject, groups, i),
					       &schedule->groups[i]);
	}
}

/* Without the RayCluster. */
static void check_void(struct lint_subject *subject, const struct autoscaler_object *object)
{
	if (object->has_protect_at_most_seconds && object->has_protect_busy_pods &&
	    !object->protect_busy_pods)
		lint_report_finding(subject, LINT_RULE_SETTING_WITHOUT_EFFECT,
				    "spec.protectAtMostSeconds", "protectBusyPods: true",
				    "protectAtMostSeconds has no effect: protectBusyPods is false; "
				    "set it, or remove protectAtMostSeconds");
	for (size_t i = 0; i < object->group_count && i < GROUPS_MAX; i++)
		if (autoscaler_group_is_empty(&object->groups[i]))
			lint_report_finding(subject, LINT_RULE_SETTING_WITHOUT_EFFECT,
					    element(subject, "spec.groups", i), "",
					    "groups[%zu] has no effect: it sets nothing; add "
					    "a setting, or remove it",
					    i);
}

/* ---- maxGPUs against what other settings keep at all times ---- */

const int64_t *lint_gpus_of_groups(const struct ray_cluster *cluster,
				   const struct lint_context *context, struct arena *arena)
{
	int64_t *gpus = arena_array(arena, cluster->group_count, sizeof(*gpus));

	for (size_t g = 0; g < cluster->group_count; g++) {
		struct capacity capacity;

		capacity_of_group(cluster, g, context->settings, context->devices, arena,
				  &capacity);
		gpus[g] = resources_amount(&capacity.resources, "GPU", 0) *
			  cluster->groups[g].num_of_hosts;
	}
	return gpus;
}

static int64_t warm_of(const struct autoscaler_warm *list, size_t count, const char *group)
{
	int64_t most = 0;

	for (size_t i = 0; i < count; i++)
		if (strcmp(list[i].group, group) == 0 && list[i].count > most)
			most = list[i].count;
	return most;
}

static int64_t minimum_of(const struct autoscaler_schedule *schedule, const char *group)
{
	int64_t most = 0;

	for (size_t i = 0; i < schedule->group_count && i < GROUPS_MAX; i++)
		if (strcmp(schedule->groups[i].name, group) == 0)
			most = int64_max(most, schedule->groups[i].min_replicas);
	return most;
}

/* Of all groups without work, in a window of the schedule or, NULL, outside of all. As double, so that no sum is too
 * large. */
static double gpus_kept(const struct lint_known *known, const struct autoscaler_object *object,
			const struct autoscaler_schedule *schedule)
{
	double sum = 0;

	for (size_t g = 0; g < known->cluster.group_count; g++) {
		const struct worker_group *group = &known->cluster.groups[g];
		int64_t replicas =
			int64_max(group->min_replicas,
				  warm_of(object->warm_workers, object->warm_count, group->name));

		if (schedule)
			replicas = int64_max(replicas, warm_of(schedule->warm_workers,
							       schedule->warm_count, group->name));
		if (schedule)
			replicas = int64_max(replicas, minimum_of(schedule, group->name));
		sum += (double)replicas * (double)known->gpus[g] / RESOURCE_UNIT;
	}
	return sum;
}

static void check_max_gpus(struct lint_subject *subject, const struct lint_known *known,
			   const struct autoscaler_object *object)
{
	double max = (double)object->max_gpus / RESOURCE_UNIT;

	if (!object->has_max_gpus || object->bad_max_gpus || !known->gpus)
		return;
	if (gpus_kept(known, object, NULL) > max) {
		lint_report_finding(
			subject, LINT_RULE_GROUP_TOO_SMALL, "spec.maxGPUs", "",
			"maxGPUs %g is below the %g GPUs of minReplicas and warmWorkers: "
			"raise it, or lower them",
			max, gpus_kept(known, object, NULL));
		return;
	}
	for (size_t s = 0; s < object->schedule_count; s++)
		if (gpus_kept(known, object, &object->schedules[s]) > max)
			lint_report_finding(
				subject, LINT_RULE_GROUP_TOO_SMALL, "spec.maxGPUs", "",
				"maxGPUs %g is below the %g GPUs of schedule %.63s: raise "
				"it, or lower minReplicas or warmWorkers there",
				max, gpus_kept(known, object, &object->schedules[s]),
				object->schedules[s].name);
}

void lint_settings(const struct autoscaler_object *object, const struct lint_known *known,
		   const struct lint_context *context, struct arena *arena,
		   struct lint_findings *findings)
{
	struct lint_subject subject = {
		.cluster = known ? &known->cluster : NULL,
		.context = context,
		.arena = arena,
		.findings = findings,
	};

	for (size_t i = 0; i < object->problems.count; i++)
		lint_problem(&subject, LINT_RULE_FIELD_INVALID, object->problems.at[i]);
	check_warm(&subject, "spec.warmWorkers", object->warm_workers, object->warm_count);
	check_schedules(&subject, object);
	if (context->time_zones) {
		size_t count;
		const struct time_zone *zones =
			context->time_zones(context->zones, object, arena, &count);

		check_zones(&subject, object, zones, count);
	}
	check_features(&subject, object, known ? known->owner : NULL);
	check_void(&subject, object);
	if (known) {
		check_groups(&subject, object);
		check_max_gpus(&subject, known, object);
		check_overrides(&subject, object);
	}
}
