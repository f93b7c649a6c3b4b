#include "feature/idle_termination/core/idle_lint.h"

#include <string.h>

#include "base/memory.h"
#include "feature/idle_termination/model/idle_termination.h"

const char *idle_delete_problem(const struct autoscaler_object *object, const char *owner UNUSED,
				struct arena *arena UNUSED)
{
	const struct idle_termination *idle = object->idle_termination;

	if (!idle || strcmp(idle->action, IDLE_ACTION_DELETE) != 0)
		return NULL;
	return "spec.idleTermination.action: action Delete needs the right to delete RayClusters, "
	       "which only the chart value idleTermination.allowDelete gives the controller";
}

const char *idle_owner_problem(const struct autoscaler_object *object, const char *owner,
			       struct arena *arena)
{
	if (!object->idle_termination || !owner)
		return NULL;
	return arena_printf(arena,
			    "spec.idleTermination: the RayCluster is not terminated while idle: %s",
			    owner);
}
