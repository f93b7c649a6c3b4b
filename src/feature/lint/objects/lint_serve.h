/* Texts of YAML within a RayService and a RayJob that Ray reads: the config of Ray Serve (serveConfigV2) and the runtime
 * environment (runtimeEnvYAML): values that Ray 2.60 refuses (ray/serve/schema.py, ray/runtime_env), and names that it
 * ignores. */
#ifndef FEATURE_LINT_OBJECTS_LINT_SERVE_H
#define FEATURE_LINT_OBJECTS_LINT_SERVE_H

#include "base/arena.h"
#include "feature/lint/core/lint.h"

struct cJSON;

/* As the functions of feature/lint/objects/lint_refused.h. A text that is not YAML is left to others. */
void lint_serve_check(const char *kind, const struct cJSON *object, struct arena *arena,
		      struct lint_findings *findings);

#endif
