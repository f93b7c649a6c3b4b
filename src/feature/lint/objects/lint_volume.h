/* Volumes of a Pod template: paths of a projected volume, directories in memory and in huge pages (Kubernetes 1.34,
 * pkg/apis/core/validation and pkg/volume/emptydir). */
#ifndef FEATURE_LINT_OBJECTS_LINT_VOLUME_H
#define FEATURE_LINT_OBJECTS_LINT_VOLUME_H

#include "feature/lint/core/lint_rule.h"
#include "feature/lint/objects/lint_found.h"

/* `spec` is that of the Pod. */
void lint_volume_check(struct lint_found spec, struct arena *arena, struct lint_findings *findings);

#endif
