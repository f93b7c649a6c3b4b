/* The deletionStrategy of a RayJob, as KubeRay checks it (validateDeletionConfiguration, 1.7.0): rules that need more than
 * one value each. */
#ifndef FEATURE_LINT_OBJECTS_LINT_DELETION_H
#define FEATURE_LINT_OBJECTS_LINT_DELETION_H

#include "feature/lint/core/lint_rule.h"
#include "feature/lint/objects/lint_found.h"

/* Appends findings of the rule kuberay-refuses. `spec`: that of a RayJob, which may be a part of an object of the
 * kind; its JSON may be NULL. */
void lint_deletion_check(const char *kind, struct lint_found spec, struct arena *arena,
			 struct lint_findings *findings);

#endif
