/* Settings of a RayCluster, RayJob, RayService or RayCronJob that another one overrides or makes void (rule
 * setting-without-effect), and further rows on fields that no decoder reads. Those of decoded fields are in
 * feature/lint/core/lint_override.c. */
#ifndef FEATURE_LINT_OBJECTS_LINT_VOID_H
#define FEATURE_LINT_OBJECTS_LINT_VOID_H

#include "base/arena.h"
#include "feature/lint/core/lint.h"

struct cJSON;

/* As the functions of feature/lint/objects/lint_refused.h. */
void lint_void_object(const char *kind, const struct cJSON *object, struct arena *arena,
		      struct lint_findings *findings);
void lint_void_cluster(const char *kind, const struct cJSON *cluster, struct arena *arena,
		       struct lint_findings *findings);

#endif
