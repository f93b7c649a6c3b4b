/* The rules of lint about idle termination (IDLE_LINT_RULES): "PATH: what is wrong" in the arena; NULL:
 * nothing. `owner`: autoscaler_problem_owner of the RayCluster, or NULL. */
#ifndef FEATURE_IDLE_TERMINATION_CORE_IDLE_LINT_H
#define FEATURE_IDLE_TERMINATION_CORE_IDLE_LINT_H

#include "base/arena.h"
#include "core/model/kubernetes.h"

const char *idle_delete_problem(const struct autoscaler_object *object, const char *owner,
				struct arena *arena);
const char *idle_owner_problem(const struct autoscaler_object *object, const char *owner,
			       struct arena *arena);

#endif
