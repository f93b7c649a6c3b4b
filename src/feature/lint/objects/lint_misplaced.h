/* The right place of a name that is a known one elsewhere: a field of a Pod in a group, or a name of Ray's cluster
 * launcher. */
#ifndef FEATURE_LINT_OBJECTS_LINT_MISPLACED_H
#define FEATURE_LINT_OBJECTS_LINT_MISPLACED_H

#include "base/arena.h"

/* "write it into template.spec of the group", or NULL: the name is not known elsewhere. */
const char *lint_misplaced(const char *name, const char *kind, struct arena *arena);

#endif
