/* Fields of the Pod templates of a RayCluster that no decision reads: what makes the API server refuse each Pod of
 * a group (rule pod-refused: labels, names, images, volume mounts, claims; ValidatePodSpec of Kubernetes 1.34), and a
 * start command that a shell splits (start-command-unquoted). */
#ifndef FEATURE_LINT_OBJECTS_LINT_TEMPLATE_H
#define FEATURE_LINT_OBJECTS_LINT_TEMPLATE_H

#include "base/arena.h"
#include "feature/lint/core/lint.h"

struct cJSON;

/* `cluster`: with metadata and spec of a RayCluster. Findings in the order of the head and the groups. */
void lint_template_check(const struct cJSON *cluster, struct arena *arena,
			 struct lint_findings *findings);

#endif
