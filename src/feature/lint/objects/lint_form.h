/* The forms of texts, numbers and choices in metadata and Pod templates that the API server checks and a definition
 * does not state: names, keys of labels, one source of a volume, one handler of a probe. Rows of a table by the names of the
 * members, for Kubernetes 1.34 (pkg/apis/core/validation). */
#ifndef FEATURE_LINT_OBJECTS_LINT_FORM_H
#define FEATURE_LINT_OBJECTS_LINT_FORM_H

#include "feature/lint/core/lint_rule.h"
#include "feature/lint/objects/lint_found.h"

/* Checks `value`, which is the member `name` of its object, and everything in it. Messages end with "; the API server
 * refuses REFUSED". A place with a finding gets no second one. NULL json is fine. */
void lint_form_check(struct lint_found value, const char *name, enum lint_rule_id rule,
		     const char *refused, struct arena *arena, struct lint_findings *findings);

#endif
