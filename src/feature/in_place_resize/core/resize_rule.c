/* The rule of lint about ray.io/ippr (RESIZE_LINT_RULES). Pure. */
#include "core/capacity/resize_limits.h"
#include "core/model/object_rule.h"
#include "feature/in_place_resize/model/resize_reason.h"

RESIZE_LINT_RULES(OBJECT_RULE_DECLARED, OBJECT_RULE_NONE, OBJECT_RULE_NONE)

/* Once for a RayCluster, with its head. */
void resize_rule_invalid(const struct object_group *group, struct arena *arena,
			 struct object_problems *problems)
{
	static const char path[] = "metadata.annotations[\"" ANNOTATION_RESIZE "\"]";
	const struct resize_limits *limits = group->cluster->resize;

	if (group->group || !limits)
		return;
	if (limits->problem)
		object_problem_add(arena, problems, "", path, "%s", limits->problem);
	for (size_t i = 0; i < limits->group_count; i++) {
		const char *problem =
			resize_limits_problem(group->cluster, &limits->groups[i], arena);

		if (problem)
			object_problem_add(arena, problems, "", path, "%s", problem);
	}
}
