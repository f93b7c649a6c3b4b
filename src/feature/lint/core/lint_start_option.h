/* Values of rayStartParams on which `ray start` of Ray 2.60 ends whatever the group is: ports, flags, words, and what the
 * shell of KubeRay's command makes of them. Only for feature/lint/core/lint_start_param.c. */
#ifndef FEATURE_LINT_CORE_LINT_START_OPTION_H
#define FEATURE_LINT_CORE_LINT_START_OPTION_H

#include "feature/lint/core/lint_subject.h"

/* `path` is that of rayStartParams. */
void lint_start_options_check(struct lint_subject *subject, const char *path);
void lint_start_option_report(struct lint_subject *subject, const char *path, const char *param,
			      const char *why);

#endif
