/* Values of a Pod template that the API server refuses together: elements with equal keys, amounts that do not fit each
 * other, members that exclude each other (Kubernetes 1.34, pkg/apis/core/validation). Findings of the rule pod-refused. */
#ifndef FEATURE_LINT_OBJECTS_LINT_TOGETHER_H
#define FEATURE_LINT_OBJECTS_LINT_TOGETHER_H

#include "feature/lint/core/lint_rule.h"
#include "feature/lint/objects/lint_found.h"

struct cJSON;

/* Rows on the templates of a RayCluster, as the functions of feature/lint/objects/lint_refused.h. */
void lint_together_cluster(const char *kind, const struct cJSON *cluster, struct arena *arena,
			   struct lint_findings *findings);
/* `own`: the name of the container that KubeRay adds to the Pods, "" for none. */
void lint_together_check(struct lint_found template, const char *own, struct arena *arena,
			 struct lint_findings *findings);
/* Requests above limits in the member resources of a container that no Pod template has. */
void lint_together_amounts(struct lint_found container, struct arena *arena,
			   struct lint_findings *findings);

#endif
