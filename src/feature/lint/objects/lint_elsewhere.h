/* Where KubeRay's definitions and rayscaler's objects have a field of a name that is unknown in its place. */
#ifndef FEATURE_LINT_OBJECTS_LINT_ELSEWHERE_H
#define FEATURE_LINT_OBJECTS_LINT_ELSEWHERE_H

#include "base/arena.h"

/* "write it into template.spec.affinity of the head or group", in the arena; `kind`: of the object that has it. NULL: the name
 * is unknown, or too many places have it. */
const char *lint_elsewhere(const char *name, const char *kind, struct arena *arena);

#endif
