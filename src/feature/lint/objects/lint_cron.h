/* The schedule of a RayCronJob, as KubeRay reads it: ParseStandard of robfig/cron v3, without a time zone. */
#ifndef FEATURE_LINT_OBJECTS_LINT_CRON_H
#define FEATURE_LINT_OBJECTS_LINT_CRON_H

#include "base/arena.h"

/* The problem and its fix as one text, in the arena; NULL: the schedule is accepted. */
const char *lint_cron_problem(const char *text, struct arena *arena);

#endif
