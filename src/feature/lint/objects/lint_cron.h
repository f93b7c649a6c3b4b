/* The schedule of a RayCronJob, as KubeRay reads it: ParseStandard of robfig/cron v3, without a time zone. */
#ifndef FEATURE_LINT_OBJECTS_LINT_CRON_H
#define FEATURE_LINT_OBJECTS_LINT_CRON_H

#include "base/arena.h"

/* What is wrong and what to write, in the arena; NULL: it is accepted. */
const char *lint_cron_problem(const char *text, struct arena *arena);

#endif
