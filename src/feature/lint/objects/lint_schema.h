/* The fields of a RayCluster, RayJob, RayService or RayCronJob as KubeRay defines them, Pod templates included: types, words,
 * required members and unknown names, also of fields that no decoder reads. lint_schema_table.c is made from KubeRay's
 * definitions (e2e/rayscaler_e2e/lint_schema.py). Metadata is not checked. */
#ifndef FEATURE_LINT_OBJECTS_LINT_SCHEMA_H
#define FEATURE_LINT_OBJECTS_LINT_SCHEMA_H

#include "base/arena.h"
#include "feature/lint/core/lint_rule.h"

struct cJSON;

/* Checks `spec` of an object of this kind, except a RayCluster within it. A place with a finding gets no second one.
 * Wrong values are changed as by lint_shape_check. */
void lint_schema_check(const char *kind, struct cJSON *object, struct arena *arena,
		       struct lint_findings *findings);

#endif
