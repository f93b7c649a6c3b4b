#include <string.h>

#include "core/lint_subject.h"

/* The decoder writes "spec.workerGroupSpecs[0].maxReplicas: must be ...", with what its caller calls
 * the object before it. */
void lint_field_invalid(struct lint_subject *subject)
{
	const struct strings *problems = &subject->cluster->problems;
	if (subject->group != NULL)
		return;
	for (size_t i = 0; i < problems->count; i++) {
		const char *text = problems->at[i], *start = strstr(text, "spec.");
		const char *end = strstr(text, ": ");
		if (start == NULL || end == NULL || start > end)
			start = text;
		if (end == NULL)
			end = start;
		lint_say(subject, LINT_RULE_FIELD_INVALID,
			 arena_strndup(subject->arena, start, (size_t)(end - start)), "", "%s",
			 end[0] == ':' ? end + 2 : end);
	}
}

void lint_min_above_max(struct lint_subject *subject)
{
	const struct worker_group *group = subject->group;
	if (group == NULL || group->min_replicas <= group->max_replicas)
		return;
	lint_say(
		subject, LINT_RULE_MIN_ABOVE_MAX,
		lint_path_member(subject->arena, subject->path, "maxReplicas"),
		arena_printf(subject->arena, "maxReplicas: %lld", (long long)group->min_replicas),
		"group %s has minReplicas %lld above maxReplicas %lld; KubeRay refuses the RayCluster",
		subject->name, (long long)group->min_replicas, (long long)group->max_replicas);
}
